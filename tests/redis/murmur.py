"""murmur.py - strings that MurmurHash64A hashes alike, whatever its seed

The hash mixes 8-byte blocks: h = (h ^ T(k)) * m, with a bijection T.  A difference in the highest
bit of T(k) stays in the highest bit of h, for m is odd, and the next block can take it away
again.  So each pair of blocks has a twin, and n pairs have 2^n strings with one hash.  Anybody
can compute them, which is why a filter whose hash has no secret can be attacked.
"""
import struct

_M = 0xC6A4A7935BD1E995
_MASK = (1 << 64) - 1
_INVERSE = pow(_M, -1, 1 << 64)
_TOP = 1 << 63


def _mix(k):
    k = k * _M & _MASK
    k ^= k >> 47
    return k * _M & _MASK


def _unmix(t):
    t = t * _INVERSE & _MASK
    t ^= t >> 47
    return t * _INVERSE & _MASK


def murmur64a(data, seed):
    h = (seed ^ len(data) * _M) & _MASK
    whole = len(data) // 8 * 8
    for (k,) in struct.iter_unpack("<Q", data[:whole]):
        h = (h ^ _mix(k)) * _M & _MASK
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h ^= h >> 47
    h = h * _M & _MASK
    return h ^ h >> 47


def twins(pairs, salt=0):
    """2^pairs different strings of one hash."""
    blocks = [(salt * 1000003 + i) * 0x9E3779B97F4A7C15 & _MASK for i in range(2 * pairs)]
    found = []
    for choice in range(1 << pairs):
        out = b""
        for pair in range(pairs):
            a, b = blocks[2 * pair:2 * pair + 2]
            if choice >> pair & 1:
                a, b = _unmix(_mix(a) ^ _TOP), _unmix(_mix(b) ^ _TOP)
            out += struct.pack("<QQ", a, b)
        found.append(out)
    return found

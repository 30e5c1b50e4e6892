"""siphash.py - SipHash-2-4, for the checksum of a filter's header: with a key of zeros, so that
a test that changes a header can repair it."""
import struct

_MASK = (1 << 64) - 1


def _turn(x, bits):
    return (x << bits | x >> 64 - bits) & _MASK


def _round(a, b, c, d):
    a = (a + b) & _MASK
    b = _turn(b, 13) ^ a
    a = _turn(a, 32)
    c = (c + d) & _MASK
    d = _turn(d, 16) ^ c
    a = (a + d) & _MASK
    d = _turn(d, 21) ^ a
    c = (c + b) & _MASK
    b = _turn(b, 17) ^ c
    return a, b, _turn(c, 32), d


def siphash(data):
    state = (0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573)
    whole = len(data) - len(data) % 8
    last = int.from_bytes(data[whole:], "little") | (len(data) & 255) << 56
    for word in struct.unpack("<%dQ" % (whole // 8), data[:whole]) + (last,):
        a, b, c, d = _round(*_round(*state[:3], state[3] ^ word))
        state = (a ^ word, b, c, d)
    state = (*state[:2], state[2] ^ 255, state[3])
    for _ in range(4):
        state = _round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def reseal(header):
    """A header whose last eight bytes are right again."""
    return header[:-8] + struct.pack("<Q", siphash(header[:-8]))

"""redisbloom.py - headers of RedisBloom filters of any size, for BF.LOADCHUNK and CF.LOADCHUNK

The filters are empty; BF.MADD and CF.INSERT fill them.
"""
import math
import struct


def bloom_header(capacity, error):
    """An empty filter of one sub-filter; it scales."""
    per_entry = -math.log(error) / math.log(2) ** 2
    size = (int(capacity * per_entry) + 63) // 64 * 8
    hashes = math.ceil(math.log(2) * per_entry)
    options = 1 | 4  # sizes are not rounded up to powers of two; hashes of 64 bits
    return struct.pack("<QIII", 0, 1, options, 2) + struct.pack(
        "<QQQddIQB", size, size * 8, 0, error, per_entry, hashes, capacity, 0)


def cuckoo_header(buckets, bucket_size=2, iterations=20, expansion=1):
    """An empty filter of one sub-filter; `buckets` is a power of two."""
    return struct.pack("<QQQQHHH", 0, buckets, 0, 1, bucket_size, iterations, expansion)


def load(client, key, capacity):
    """Creates the keys KEY-bf and KEY-cf, RedisBloom filters for `capacity` items."""
    client.do("BF.LOADCHUNK", key + "-bf", "1", bloom_header(capacity, 0.01))
    buckets = 1 << max(1, (capacity // 2 - 1).bit_length())
    client.do("CF.LOADCHUNK", key + "-cf", "1", cuckoo_header(buckets))

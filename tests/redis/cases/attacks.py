"""Attacks that have worked on other modules, and must not on this one.

Each test has the name of an attack.  The server survives, its neighbours are untouched, nobody
without the filter's secret does better than chance, and no command eats memory or time.
"""
import random
import struct
import time

from chance import absent
from dump import parse, payload, seal, unseal
from hostile import SLOWEST_SECONDS, Attacked, chunks, exercise, refused
from murmur import twins
from replicate import seen
from resp import Error
from servers import Server, Skip, caught_up, follow
from siphash import reseal
from sizes import some

BIG = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**61, 2**62, 2**63 - 1]


# ---- chunks

def _cuckoo(client, key, items=50):
    client.do("CF.RESERVE", key, "1000")
    client.do("CF.INSERT", key, "ITEMS", *["%s-%d" % (key, i) for i in range(items)])


def _bloom(client, key, items=50):
    client.do("BF.RESERVE", key, "0.01", "1000")
    client.do("BF.MADD", key, *["%s-%d" % (key, i) for i in range(items)])


def _bad_positions(length, size):
    """Positions of a chunk of `length` bytes that is not wholly inside `size` bytes."""
    positions = [0, -1, -length, -(2**63), length - 1, 2, size + 2, size + 1 + length,
                 size + 1 + length + 1, 10 * size] + BIG + [2**63 - length]
    return [p for p in positions if not (length + 1 <= p <= size + 1)]


def test_cf_loadchunk_heap_overflow():
    with Attacked() as (_, c):
        _cuckoo(c, "k")
        before = c.do("DUMP", "k")
        size = sum(len(d) for _, d in chunks(c, "CF", "k")[1:])
        for length in (1, 7, 100, size, size + 1, 4096):
            for position in _bad_positions(length, size):
                reply = c.call("CF.LOADCHUNK", "k", str(position), b"\xff" * length)
                assert isinstance(reply, Error), (position, length)
        assert c.do("DUMP", "k") == before


def test_bf_loadchunk_heap_overflow():
    with Attacked() as (_, c):
        _bloom(c, "k")
        before = c.do("DUMP", "k")
        size = sum(len(d) for _, d in chunks(c, "BF", "k")[1:])
        for length in (1, 7, 100, size, size + 1, 4096):
            for position in _bad_positions(length, size):
                reply = c.call("BF.LOADCHUNK", "k", str(position), b"\xff" * length)
                assert isinstance(reply, Error), (position, length)
        assert c.do("DUMP", "k") == before


def test_scandump_oob_read():
    with Attacked() as (_, c):
        _bloom(c, "b")
        _cuckoo(c, "c")
        for verb, key in (("BF", "b"), ("CF", "c")):
            size = sum(len(d) for _, d in chunks(c, verb, key)[1:])
            for position in [-1, -(2**63), size, size + 1, size + 2] + BIG + list(range(2, size, 37)):
                reply = c.call(verb + ".SCANDUMP", key, str(position))
                if not isinstance(reply, Error):
                    assert len(reply[1] or b"") <= max(0, size - (position - 1)), (position, reply)


def _bloom_header(size=0, filters=1, options=5, growth=2, link=None, links=1):
    fields = dict(bytes=144, bits=1152, size=0, error=0.005, bpe=11.0, hashes=8, entries=100, n2=0)
    fields.update(link or {})
    one = struct.pack("<QQQddIQB", *(fields[n] for n in (
        "bytes", "bits", "size", "error", "bpe", "hashes", "entries", "n2")))
    return struct.pack("<QIII", size, filters, options, growth) + one * links


def test_bf_loadchunk_header_alloc():
    """A header of 73 bytes must not make the server take more than it sends."""
    with Attacked() as (server, c):
        for big in (2**31, 2**33, 2**40, 2**50, 2**60, 2**61 - 1, 2**64 - 1):
            for link in ({"bytes": big}, {"bits": big}, {"bytes": big, "bits": big * 8 % 2**64},
                         {"bytes": big % 2**61, "bits": big % 2**61 * 8}, {"entries": big}):
                if c.call("BF.LOADCHUNK", "target", "1", _bloom_header(link=link)) == "OK":
                    c.call("BF.MADD", "target", *["i%d" % i for i in range(40)])
                    assert server.used_memory() < 64 << 20, link
                exercise(c, "target", False)
        for filters in (0, 2, 1000, 2**31, 2**32 - 1):
            assert isinstance(c.call("BF.LOADCHUNK", "target", "1", _bloom_header(filters=filters)),
                              Error), filters
        for big in (2**20, 2**31, 2**40, 2**60, 2**63, 2**64 - 1):
            header = struct.pack("<QQQQHHH", 0, big, 0, 1, 2, 20, 1)
            c.call("CF.LOADCHUNK", "target", "1", header)
            exercise(c, "target", True)
            header = struct.pack("<QQQQHHH", 0, 512, 0, big, 2, 20, 1)
            assert isinstance(c.call("CF.LOADCHUNK", "target", "1", header), Error), big
        assert server.used_memory() < 64 << 20


def test_loadchunk_header_fuzz():
    """Every bit of a good header flipped, and then the filter used."""
    with Attacked() as (_, c):
        _bloom(c, "b")
        _cuckoo(c, "c")
        headers = [("BF", chunks(c, "BF", "b")[0][1]), ("CF", chunks(c, "CF", "c")[0][1]),
                   ("BF", _bloom_header()), ("CF", struct.pack("<QQQQHHH", 9, 512, 0, 1, 2, 20, 1))]
        for verb, header in headers:
            for bit in range(8 * len(header)):
                changed = bytearray(header)
                changed[bit // 8] ^= 1 << bit % 8
                reply = c.call(verb + ".LOADCHUNK", "target", "1", bytes(changed))
                if reply == "OK" and c.do("MEMORY", "USAGE", "target") < 1 << 22:
                    c.do("RESTORE", "again", "0", c.do("DUMP", "target"), "REPLACE")
                exercise(c, "target", verb == "CF")
            for end in range(len(header)):
                reply = c.call(verb + ".LOADCHUNK", "target", "1", header[:end])
                assert isinstance(reply, Error), (verb, end)


def _can_be_read_again(c, key):
    """What is accepted stays what can be read: else the server would not load its own file."""
    c.do("RESTORE", "again", "0", c.do("DUMP", key), "REPLACE")
    assert c.do("DUMP", "again") == c.do("DUMP", key)
    c.do("DEL", "again", key)


def test_headers_whose_chunks_never_come():
    """A filter of RedisBloom that counts more items than it has, as one does whose chunks were lost."""
    with Attacked() as (_, c):
        for items, tables in ((8, 1), (24, 3), (2**64 - 1, 1), (2**64 - 1, 3)):
            header = struct.pack("<QQQQHHH", items, 8, 0, tables, 1, 20, 1)
            for command in (["CF.ADD", "k", "x"], ["CF.DEL", "k", "x"], ["CF.COMPACT", "k"]):
                c.do("CF.LOADCHUNK", "k", "1", header)
                c.do(*command)
                reported = c.do("CF.INFO", "k")
                c.do("DEBUG", "RELOAD")
                assert c.do("CF.INFO", "k") == reported
                _can_be_read_again(c, "k")


def test_links_of_too_few_bits():
    """What RESTORE does not believe BF.LOADCHUNK does not either."""
    with Attacked() as (_, c):
        for entries in (100, 104, 105, 110, 111, 1000, 10**9):  # of 1152 bits
            link = dict(entries=entries)
            reply = c.call("BF.LOADCHUNK", "k", "1", _bloom_header(link=link))
            assert (reply == "OK") == (entries <= 110), (entries, reply)
            if reply == "OK":
                _can_be_read_again(c, "k")


def test_tables_beyond_all_files():
    """The tables together are no larger than what is read."""
    with Attacked() as (_, c):
        c.do("CF.LOADCHUNK", "k", "1", struct.pack("<QQQQHHH", 0, 1 << 20, 0, 1, 1, 1, 4))
        while not isinstance(c.call("CF.ADD", "k", "x"), Error):
            pass
        size = dict(zip(*[iter(c.do("CF.INFO", "k"))] * 2))["Size"]
        assert size < 2**36, size


def test_endless_subfilters():
    """2^60 of them, which all have a slot: CF.COMPACT would count them down one by one."""
    with Attacked() as (_, c):
        c.do("CF.RESERVE", "k", "2", "BUCKETSIZE", "1")
        header = bytearray(parse(c.do("DUMP", "k"))[2][2])
        struct.pack_into("<QQQQ", header, 48, 1, 2**60, 1, 2**60 - 1)
        c.call("CF.LOADCHUNK", "target", "1", reseal(bytes(header)))
        exercise(c, "target", True)


def test_links_beyond_all_numbers():
    """What is accepted stays what can be read: else the server would not load its own file."""
    links, most = 72, 2**55 - 1  # the first is where they are in the header
    with Attacked() as (_, c):
        for expansion in ("1", "2", "32768"):
            c.do("BF.RESERVE", "k", "0.01", "10", "EXPANSION", expansion)
            c.do("BF.MADD", "k", *["%d" % i for i in range(25)])
            (_, good), *pieces = chunks(c, "BF", "k")
            before, last = struct.unpack_from("<QQ", good, links + 8)
            for numbers in ((2**64 - 1, before, last, last), (before + 1, before, last, last),
                            (2, before, most, most), (2, most, last, last), (2, most, most, most),
                            (3, before, 2**54, 2**54)):
                header = bytearray(good)
                struct.pack_into("<4Q", header, links, *numbers)
                struct.pack_into("<Q", header, 0, numbers[1] + numbers[3])
                reply = c.call("BF.LOADCHUNK", "target", "1", reseal(bytes(header)))
                for at, piece in pieces if reply == "OK" else []:
                    c.do("BF.LOADCHUNK", "target", str(at), piece)
                c.call("BF.MADD", "target", *["more-%d" % i for i in range(5)])
                if reply == "OK":
                    c.do("RESTORE", "again", "0", c.do("DUMP", "target"), "REPLACE")
                    exercise(c, "target", False)
            c.do("DEL", "k")


def test_generations_without_end():
    """As many as a filter may have, all of now: a turn of the window would make it one more."""
    chains = 72  # where they are in the header
    with Attacked() as (_, c):
        c.do("BF.RESERVE", "k", "0.01", "100", "WINDOW", "1", "GENERATIONS", "64")
        header = c.do("BF.SCANDUMP", "k", "0")[1]
        one, guest = header[chains:-8], bytearray(header[chains:-8])
        guest[48] = 1
        for more in (one * 127, bytes(guest) * 127):
            many = bytearray(header[:chains]) + one + more + bytes(8)
            struct.pack_into("<I", many, 64, 128)
            reply = c.call("BF.LOADCHUNK", "target", "1", reseal(bytes(many)))
            time.sleep(0.1)
            exercise(c, "target", False)
            assert isinstance(reply, Error), more[48]


def test_items_before_their_slots():
    """A RedisBloom header counts items whose slots arrive later; other items may be added first."""
    with Attacked() as (_, c):
        for items in (7, 8, 2**64 - 1):
            header = struct.pack("<QQQQHHH", items, 4, 0, 1, 2, 20, 1)
            c.do("CF.LOADCHUNK", "target", "1", header)
            exercise(c, "target", True)


def test_tables_beyond_all_memory():
    """One more would make all of them longer than what is read."""
    with Attacked() as (_, c):
        header = struct.pack("<QQQQHHH", 0, 2**12, 0, 2, 1, 20, 2**12)
        c.do("CF.LOADCHUNK", "target", "1", header)
        c.do("CF.LOADCHUNK", "target", str(1 + 2**12), b"\xff" * 2**12)
        c.do("CF.LOADCHUNK", "target", str(1 + 2**12 + 2**24), b"\xff" * 2**24)
        assert isinstance(c.call("CF.ADD", "target", "x"), Error)
        exercise(c, "target", True)


def test_merge_into_all_bits():
    """A saturated table reports no key as new, and its number of keys is unknown."""
    with Attacked() as (_, c):
        c.do("BF.RESERVE", "k", "0.01", "100")
        c.do("BF.MADD", "k", *["%d" % i for i in range(5)])
        (_, header), (at, piece) = chunks(c, "BF", "k")
        full = b"\xff" * (len(piece) - 9) + piece[-9:-8] + bytes(8)  # but for how to read it
        c.do("BF.LOADCHUNK", "target", "1", header)
        c.do("BF.LOADCHUNK", "target", str(at), reseal(full))
        for source in ("k", "target"):
            c.do("BF.MERGE", "target", source)
            c.do("BF.MERGE", "copy", "target", source)
        assert (c.do("BF.CARD", "target"), c.do("BF.CARD", "copy")) == (5, 5)
        exercise(c, "target", False)


def test_header_of_many_segments():
    """Two megabytes that claim 16 million segments, all of them missing."""
    layer = struct.pack("<IIQQd", 1, 2048, 2**32, 0, 0.001) + bytes(256)
    with Attacked() as (_, c):
        for first, layers in ((100, 64), (2**30, 64), (2**30, 9)):
            chain = struct.pack("<7Q", 1, 0, first, 0, first, 0, 0) + bytes(16) + struct.pack(
                "<dQII", 0.01, 0, 1, layers) + layer * layers
            header = struct.pack("<QQ8sdQIIQQII", 0, 0, b"tmisBF1\1", 0.01, 100, 2, 0, 0, 0, 128, 0)
            reply = c.call("BF.LOADCHUNK", "target", "1", reseal(header + chain * 128 + bytes(8)))
            assert isinstance(reply, Error), (first, layers)


def test_colliding_counts():
    """Counts of hashes that a table would put in one place."""
    with Attacked() as (_, c):
        c.do("CF.RESERVE", "k", "100")
        c.do("CF.INSERT", "k", "ITEMS", *["x"] * 5, *["%d" % i for i in range(60)])
        header, slot, segment, counts = parse(c.do("DUMP", "k"))[2][2:6]
        for shift in (0, 32, 44):
            piece = b"".join(struct.pack("<Qq", i << shift, 1) for i in range(1, 60001))
            c.do("CF.LOADCHUNK", "target", "1", header)
            c.do("CF.LOADCHUNK", "target", str(slot + 2), segment)
            c.do("CF.LOADCHUNK", "target", str(counts + 2), piece)  # within SLOWEST_SECONDS
            exercise(c, "target", True)
        # And of more items than are counted where there are few.
        c.do("DEL", "k")
        c.do("CF.INSERT", "k", "ITEMS", *["x"] * 5)
        header, counts = parse(c.do("DUMP", "k"))[2][2:4]
        c.do("CF.LOADCHUNK", "target", "1", header)
        c.do("CF.LOADCHUNK", "target", str(counts + 2), piece)
        exercise(c, "target", True)


def test_few_in_many_tables():
    """As many items as are counted where there are few, in the 256 tables that many would have, of
    which the first is not there."""
    shards = 92  # where the header has their number, and a bit for each
    with Attacked() as (_, c):
        c.do("CF.RESERVE", "k", "100")
        header = bytearray(parse(c.do("DUMP", "k"))[2][2])
        bits = sum(1 << i for i in range(1, 49))
        struct.pack_into("<Q", header, 0, 48)
        struct.pack_into("<I32s", header, shards, 256, bits.to_bytes(32, "little"))
        c.do("CF.LOADCHUNK", "target", "1", reseal(bytes(header)))
        for i in range(1, 49):
            c.do("CF.LOADCHUNK", "target", str(i + 3), struct.pack("<Qq", i << 56, 1))
        exercise(c, "target", True)


# ---- sizes

def test_cf_reserve_assert():
    with Attacked() as (_, c):
        for words in (["BUCKETSIZE", "0"], ["BUCKETSIZE", "256"], ["BUCKETSIZE", "65536"],
                      ["BUCKETSIZE", "65538"], ["BUCKETSIZE", "-1"], ["MAXITERATIONS", "0"],
                      ["MAXITERATIONS", "65536"], ["MAXITERATIONS", "131072"],
                      ["MAXITERATIONS", "-1"], ["EXPANSION", "-1"], ["EXPANSION", "32769"],
                      ["EXPANSION", "65536"], ["EXPANSION", "65537"], ["EXPANSION", "4294967296"]):
            for capacity in ("4", "1000"):
                reply = c.call("CF.RESERVE", "k", capacity, *words)
                assert isinstance(reply, Error), words
                assert c.do("EXISTS", "k") == 0
        for capacity in BIG[1:] + [0, -1, 3]:
            assert isinstance(c.call("CF.RESERVE", "k", str(capacity)), Error), capacity


def test_size_overflow():
    with Attacked() as (_, c):
        for capacity in BIG[1:] + [2**30 + 1, 0, -1]:
            assert isinstance(c.call("BF.RESERVE", "k", "0.01", str(capacity)), Error), capacity
            reply = c.call("BF.INSERT", "k", "CAPACITY", str(capacity), "ITEMS", "x")
            assert isinstance(reply, Error), capacity
            reply = c.call("CF.INSERT", "k", "CAPACITY", str(capacity), "ITEMS", "x")
            assert isinstance(reply, Error), capacity
        assert c.do("EXISTS", "k") == 0
        # A rate that no filter can have, or only an enormous one.
        for rate in ("1e-300", "5e-324", "1e-100"):
            c.call("BF.RESERVE", "k", rate, "1000000")
            c.call("BF.ADD", "k", "x")
            c.call("DEL", "k")


def test_growth_overflow():
    """capacity x expansion at the next stage is out of every bound."""
    with Attacked() as (server, c):
        for expansion in ("32768", "30000"):
            c.do("BF.RESERVE", "k", "0.01", "10", "EXPANSION", expansion)
            for part in range(some(200, 4000)):
                items = ["%d-%d" % (part, i) for i in range(100)]
                c.call("BF.MADD", "k", *items)
                replies = c.do("BF.MEXISTS", "k", *items)
                if part < 30:
                    assert all(replies)
            c.do("DEL", "k")
            c.do("CF.RESERVE", "k", "8", "EXPANSION", expansion)
            for part in range(some(100, 2000)):
                c.call("CF.INSERT", "k", "ITEMS", *["%d-%d" % (part, i) for i in range(100)])
            c.do("DEL", "k")
        assert server.used_memory() < 200 << 20


# ---- RESTORE

def _bloom_fields(size=0, filters=1, options=5, growth=2, links=None):
    """As RedisBloom's encoding 4 has them."""
    link = dict(entries=100, error=0.005, hashes=8, bpe=11.0278, bits=1152, n2=0,
                data=b"\0" * 144, size=0)
    fields = [size, filters, options, growth]
    for change in links if links is not None else [{}]:
        now = dict(link, **change)
        fields += [now[n] for n in ("entries", "error", "hashes", "bpe", "bits", "n2", "data",
                                    "size")]
    return fields


BAD_BLOOMS = {
    "no filters": dict(filters=0),
    "more filters than links": dict(filters=2),
    "2^32 filters": dict(filters=2**32),
    "2^64-1 filters": dict(filters=2**64 - 1),
    "fewer filters than links": dict(filters=1, links=[{}, {}]),
    "bits beyond the data": dict(links=[dict(bits=1153)]),
    "bits far beyond": dict(links=[dict(bits=2**40)]),
    "bits 2^64-1": dict(links=[dict(bits=2**64 - 1)]),
    "no bits": dict(links=[dict(bits=0)]),
    "no data": dict(links=[dict(data=b"")]),
    "one byte less": dict(links=[dict(data=b"\0" * 143)]),
    "no data, no bits": dict(links=[dict(data=b"", bits=0)]),
    "no hashes": dict(links=[dict(hashes=0)]),
    "2^31 hashes": dict(links=[dict(hashes=2**31)]),
    "2^32+8 hashes": dict(links=[dict(hashes=2**32 + 8)]),
    "2^64-1 hashes": dict(links=[dict(hashes=2**64 - 1)]),
    "a million hashes": dict(links=[dict(hashes=1000000)]),
    "bpe NaN": dict(links=[dict(bpe=float("nan"))]),
    "bpe infinite": dict(links=[dict(bpe=float("inf"))]),
    "bpe negative": dict(links=[dict(bpe=-1.0)]),
    "error NaN": dict(links=[dict(error=float("nan"))]),
    "error infinite": dict(links=[dict(error=float("inf"))]),
    "error 0": dict(links=[dict(error=0.0)]),
    "error negative": dict(links=[dict(error=-0.5)]),
    "error 2": dict(links=[dict(error=2.0)]),
    "n2 64": dict(links=[dict(n2=64)]),
    "n2 255": dict(links=[dict(n2=255)]),
    "n2 beyond the data": dict(links=[dict(n2=12)]),
    "no entries": dict(links=[dict(entries=0)]),
    "2^63 entries": dict(links=[dict(entries=2**63)]),
    "growth 2^31": dict(growth=2**31),
    "growth 2^40": dict(growth=2**40),
    "bad second link": dict(filters=2, links=[{}, dict(bits=2**40)]),
    "NaN in the second": dict(filters=2, links=[{}, dict(error=float("nan"))]),
    "link larger than all": dict(links=[dict(size=2**63)]),
}


def test_restore_bloom():
    with Attacked() as (_, c):
        good = payload("MBbloom--", 4, _bloom_fields())
        assert c.call("RESTORE", "good", "0", good) == "OK"
        assert parse(c.do("DUMP", "good")) == parse(good)
        for what, change in BAD_BLOOMS.items():
            refused(c, payload("MBbloom--", 4, _bloom_fields(**change)), what, False)
        fields = _bloom_fields()
        for i, field in enumerate(fields):  # another kind of field in its place
            for other in (7, 0.5, b"bytes"):
                if type(other) is not type(field):
                    changed = fields[:i] + [other] + fields[i + 1:]
                    refused(c, payload("MBbloom--", 4, changed), "field %d" % i, False)
        refused(c, payload("MBbloom--", 4, fields + [1]), "one field more", False)
        refused(c, payload("MBbloom--", 4, fields[:-1]), "one field less", False)


def _cuckoo_fields(filters=1, buckets=512, items=0, deletes=0, bucket=2, iterations=20,
                   expansion=1, tables=None):
    fields = [filters, buckets, items, deletes, bucket, iterations, expansion]
    for size, data in tables if tables is not None else [(512, b"\0" * 1024)]:
        fields += [size, data]
    return fields


BAD_CUCKOOS = {
    "no filters": dict(filters=0),
    "more filters than tables": dict(filters=2),
    "2^32 filters": dict(filters=2**32),
    "2^64-1 filters": dict(filters=2**64 - 1),
    "65537 filters": dict(filters=65537),
    "no buckets": dict(buckets=0),
    "buckets no power of two": dict(buckets=500, tables=[(500, b"\0" * 1000)]),
    "2^40 buckets": dict(buckets=2**40),
    "2^63 buckets": dict(buckets=2**63),
    "no slots in a bucket": dict(bucket=0, tables=[(512, b"")]),
    "256 slots in a bucket": dict(bucket=256, tables=[(512, b"\0" * 131072)]),
    "65536 slots": dict(bucket=65536),
    "2^32+2 slots": dict(bucket=2**32 + 2),
    "no iterations": dict(iterations=0),
    "65536 iterations": dict(iterations=65536),
    "expansion 65536": dict(expansion=65536),
    "expansion 3": dict(expansion=3),
    "one byte less": dict(tables=[(512, b"\0" * 1023)]),
    "one byte more": dict(tables=[(512, b"\0" * 1025)]),
    "no data": dict(tables=[(512, b"")]),
    "a table of no buckets": dict(tables=[(0, b"")]),
    "a table of 2^63 buckets": dict(tables=[(2**63, b"\0" * 1024)]),
}


def test_restore_cuckoo():
    with Attacked() as (_, c):
        good = payload("MBbloomCF", 4, _cuckoo_fields())
        assert c.call("RESTORE", "good", "0", good) == "OK"
        assert parse(c.do("DUMP", "good")) == parse(good)
        for what, change in BAD_CUCKOOS.items():
            refused(c, payload("MBbloomCF", 4, _cuckoo_fields(**change)), what, True)
        fields = _cuckoo_fields()
        for i, field in enumerate(fields):
            for other in (7, 0.5, b"bytes"):
                if type(other) is not type(field):
                    changed = fields[:i] + [other] + fields[i + 1:]
                    refused(c, payload("MBbloomCF", 4, changed), "field %d" % i, True)
        refused(c, payload("MBbloomCF", 4, fields + [1]), "one field more", True)


def _payloads(c):
    """A payload of each kind of value that the module has."""
    _bloom(c, "b")
    _cuckoo(c, "c")
    made = {"b": c.do("DUMP", "b"), "c": c.do("DUMP", "c"),
            "old b": payload("MBbloom--", 4, _bloom_fields()),
            "old c": payload("MBbloomCF", 4, _cuckoo_fields())}
    c.do("DEL", "b", "c")
    return made


def test_restore_truncated_everywhere():
    with Attacked() as (_, c):
        for what, good in _payloads(c).items():
            body, version = unseal(good)
            step = 1 if len(body) < 1200 else len(body) // 800
            # The server lets a module read on into the ten bytes of version and checksum: with
            # less than that missing it can be right by chance.
            for end in range(0, len(body) - 12, step):
                for data in (body[:end], body[:end] + b"\0"):
                    reply = c.call("RESTORE", "target", "0", seal(data, version), "REPLACE")
                    assert isinstance(reply, Error), (what, end)
            assert c.do("EXISTS", "target") == 0


def test_restore_encver():
    """Versions of the encoding that are not ours."""
    with Attacked() as (_, c):
        for what, good in _payloads(c).items():
            name, own, fields = parse(good)
            for version in range(0, 1024, 1 if what.startswith("old") else 7):
                if version == own:
                    continue
                reply = c.call("RESTORE", "target", "0", payload(name, version, fields), "REPLACE")
                if reply == "OK":
                    exercise(c, "target", name == "MBbloomCF")
                c.do("DEL", "target")


# ---- without the secret

def test_bloom_forged_false_positive():
    """1023 strings with the public hash of an item that was added."""
    with Attacked() as (_, c):
        family = twins(10)
        c.do("BF.RESERVE", "k", "0.01", "10000")
        c.do("BF.ADD", "k", family[0])
        c.do("BF.MADD", "k", *["other%d" % i for i in range(9000)])
        positives = sum(c.do("BF.MEXISTS", "k", *family[1:]))
        assert positives < 40, positives
        c.do("CF.RESERVE", "q", "10000")
        c.do("CF.ADD", "q", family[0])
        positives = sum(c.do("CF.MEXISTS", "q", *family[1:]))
        assert positives < 40, positives


def test_cuckoo_collision_flood():
    with Attacked() as (_, c):
        c.do("CF.RESERVE", "k", "100000")
        replies = c.do("CF.INSERT", "k", "ITEMS", *twins(8))
        assert replies == [1] * 256, replies
        info = c.do("CF.INFO", "k")
        assert info[info.index("Number of filters") + 1] <= 2, info


def test_cuckoo_forged_delete():
    with Attacked() as (_, c):
        stolen = 0
        for victim in range(32):
            family = twins(4, salt=victim + 1)
            c.do("CF.RESERVE", "k", "10000")
            c.do("CF.ADD", "k", family[0])
            for twin in family[1:]:
                c.call("CF.DEL", "k", twin)
            stolen += c.do("CF.EXISTS", "k", family[0]) == 0
            c.do("DEL", "k")
        assert stolen <= 6, stolen


def test_advisory_secret_seed():
    """The same items give other bits in every filter: nothing can be worked out beforehand."""
    with Attacked() as (_, c):
        _bloom(c, "a")
        _cuckoo(c, "b")
        first = c.do("DUMP", "a"), c.do("DUMP", "b")
        c.do("DEL", "a", "b")
        _bloom(c, "a")
        _cuckoo(c, "b")
        assert c.do("DUMP", "a") != first[0]
        assert c.do("DUMP", "b") != first[1]
        # ... and each filter has other false positives
        c.do("BF.RESERVE", "x", "0.2", "1000")
        c.do("BF.RESERVE", "y", "0.2", "1000")
        items = ["i%d" % i for i in range(1000)]
        others = ["o%d" % i for i in range(1000)]
        for key in "xy":
            c.do("BF.MADD", key, *items)
        assert c.do("BF.MEXISTS", "x", *others) != c.do("BF.MEXISTS", "y", *others)


def _shown(server, monitor):
    """All that MONITOR and SLOWLOG have shown."""
    server.client().do("ECHO", "the end")
    lines = [monitor.read()]
    while "the end" not in lines[-1]:
        lines.append(monitor.read())
    log = server.client().do("SLOWLOG", "GET", "1000")
    return "\n".join(lines) + "\n".join(str(entry) for entry in log)


def test_secret_is_not_shown():
    """What MONITOR and SLOWLOG show, of the commands that replicas get too, has no secret in it."""
    hexadecimal = "00112233445566778899aabbccddeeff"
    options = ["--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000"]
    with Server(options=options + ["--appendonly", "yes"]) as primary, \
            Server(options=options) as replica:
        follow(replica, primary)
        monitors = [(s, s.client()) for s in (primary, replica)]
        for _, monitor in monitors:
            monitor.do("MONITOR")
        c = primary.client()
        _bloom(c, "b")
        _cuckoo(c, "c")
        for verb, key in (("BF", "b"), ("CF", "c")):
            header = c.do(verb + ".SCANDUMP", key, "0")[1]
            c.do(verb + ".LOADCHUNK", key + "1", "1", header)
            for wrong in "x", "0", "1":
                assert isinstance(c.call(verb + ".LOADCHUNK", key, wrong, header), Error)
            c.many([["MULTI"], [verb + ".LOADCHUNK", key + "2", "1", header], ["EXEC"]])
            c.do("EVAL", "return redis.call(ARGV[1], KEYS[1], '1', redis.call(ARGV[2], KEYS[2], 0)[2])",
                 "2", key + "3", key, verb + ".LOADCHUNK", verb + ".SCANDUMP")
        c.call("TAMIS.LOAD", "t", "0", "9", "no filter", "SECRET", hexadecimal)
        c.call("TAMIS.LOAD", "t", "0", "9", "no filter", "SECRET", hexadecimal, "and more")
        c.do("TAMIS.LOAD", "t", "0", "9", "no", "SECRET", hexadecimal)
        caught_up(primary)
        for server, monitor in monitors:
            shown = _shown(server, monitor)
            assert "LOADCHUNK" in shown and "TAMIS.LOAD" in shown and "(redacted)" in shown
            for secret in ("tmisBF1", "tmisCF1", hexadecimal):
                assert secret not in shown, secret
        before = [c.do("DEBUG", "DIGEST-VALUE", key) for key in ("b", "b3", "c", "c2", "t")]
        primary.restart()
        c = primary.client()
        assert [c.do("DEBUG", "DIGEST-VALUE", k) for k in ("b", "b3", "c", "c2", "t")] == before


# ---- memory

def test_cf_same_item_flood():
    with Attacked() as (server, c):
        before, computed = server.used_memory(), server.cpu_seconds()
        for _ in range(50):
            c.call("CF.INSERT", "k", "ITEMS", *["same"] * 100)
        for _ in range(5000):
            c.call("CF.ADD", "j", "same")
        assert server.cpu_seconds() - computed < SLOWEST_SECONDS
        assert server.used_memory() - before < 256 << 20
        for key in "kj":
            assert c.do("CF.EXISTS", key, "same") == 1
            assert c.do("CF.COUNT", key, "same") >= 1
        # A counter that has wrapped, or a copy that was dropped, would deny it now.
        for _ in range(300):
            c.call("CF.DEL", "j", "same")
        assert c.do("CF.EXISTS", "j", "same") == 1


def test_reserve_over_maxmemory():
    with Attacked(options=["--maxmemory", "64mb"]) as (server, c):
        for command in (["BF.RESERVE", "k", "0.000001", "1000000000"],
                        ["CF.RESERVE", "k", "1073741824"],
                        ["BF.INSERT", "k", "CAPACITY", "1000000000", "ITEMS", "x"],
                        ["CF.INSERT", "k", "CAPACITY", "1073741824", "ITEMS", "x"]):
            reply = c.call(*command)
            assert isinstance(reply, Error), command
            assert c.do("EXISTS", "k") == 0
        assert server.used_memory() < 64 << 20
        # Growing is no way round.
        c.do("BF.RESERVE", "g", "0.01", "100000", "EXPANSION", "32768")
        for part in range(some(1100, 3000)):
            c.call("BF.MADD", "g", *["%d-%d" % (part, i) for i in range(100)])
        assert server.used_memory() < 80 << 20, server.used_memory()


def test_restore_over_maxmemory():
    """A few bytes that announce a file of 64 GiB would have the server evict all that it has."""
    with Server() as server:
        c = server.client()
        if isinstance(c.call("TAMIS.LOAD", "k", "0", str(2**36), "x"), Error):
            raise Skip("no address space for 64 GiB here")
        announced = c.do("DUMP", "k")
    options = ["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-random"]
    with Attacked(options=options) as (server, c):
        for n in range(1000):
            c.do("SET", "n%d" % n, "x")
        keys = c.do("DBSIZE")
        assert isinstance(c.call("RESTORE", "k", "0", announced), Error)
        assert isinstance(c.call("TAMIS.LOAD", "k", "0", str(2**36), "x"), Error)
        c.do("PING")
        assert c.do("DBSIZE") == keys


# ---- words and effects

def test_option_words():
    """Whole words, and nothing but words."""
    with Attacked() as (_, c):
        for command in (["BF.RESERVE", "k", "0.01", "10", "EXPAND", "2"],
                        ["BF.RESERVE", "k", "0.01", "10", "NON"],
                        ["BF.RESERVE", "k", "0.01", "10", "NONSCALINGX"],
                        ["BF.RESERVE", "k", "0.01", "10", "NONSENSE"],
                        ["BF.RESERVE", "k", "0.01", "10", "EXPANSION", "2", "NONSENSE"],
                        ["BF.INSERT", "k", "N", "ITEMS", "a"], ["BF.INSERT", "k", "C", "5", "ITEMS", "a"],
                        ["BF.INSERT", "k", "E", "0.1", "ITEMS", "a"], ["BF.INSERT", "k", "I", "a", "b"],
                        ["BF.INSERT", "k", "CAPACITYX", "5", "ITEMS", "a"],
                        ["BF.INSERT", "k", "NOCREATEX", "ITEMS", "a"],
                        ["BF.INSERT", "k", "ITEMSX", "a", "b"],
                        ["BF.INSERT", "k", "ITEMS\0", "a", "b"], ["BF.INSERT", "k", "", "ITEMS", "a"],
                        ["CF.RESERVE", "k", "100", "BUCKET", "4"], ["CF.RESERVE", "k", "100", "B", "4"],
                        ["CF.RESERVE", "k", "100", "BUCKETSIZEX", "4"],
                        ["CF.RESERVE", "k", "100", "NONSENSE", "4"],
                        ["CF.INSERT", "k", "C", "50", "ITEMS", "a"], ["CF.INSERT", "k", "N", "ITEMS", "a"],
                        ["CF.INSERT", "k", "I", "a", "b"], ["CF.INSERTNX", "k", "", "ITEMS", "a"]):
            reply = c.call(*command)
            assert isinstance(reply, Error), command
            assert c.do("EXISTS", "k") == 0, command
        assert isinstance(c.call("BF.INFO", "neighbour-bf", "CAP"), Error)
        assert isinstance(c.call("BF.INFO", "neighbour-bf", "CAPACITYX"), Error)


def test_failed_leaves_nothing():
    with Attacked() as (server, c):
        keys = c.do("DBSIZE")
        for command in (["BF.RESERVE", "k", "2", "10"], ["BF.RESERVE", "k", "0.01", "0"],
                        ["BF.RESERVE", "k", "0.01", "10", "EXPANSION", "-1"],
                        ["BF.INSERT", "k", "CAPACITY", "0", "ITEMS", "a"],
                        ["BF.INSERT", "k", "ERROR", "7", "ITEMS", "a"],
                        ["BF.INSERT", "k", "NOCREATE", "ITEMS", "a"],
                        ["BF.LOADCHUNK", "k", "1", "nonsense"], ["BF.LOADCHUNK", "k", "5", "x"],
                        ["CF.RESERVE", "k", "1"], ["CF.RESERVE", "k", "100", "BUCKETSIZE", "0"],
                        ["CF.INSERT", "k", "CAPACITY", "1", "ITEMS", "a"],
                        ["CF.INSERT", "k", "NOCREATE", "ITEMS", "a"],
                        ["CF.LOADCHUNK", "k", "1", "nonsense"], ["CF.LOADCHUNK", "k", "5", "x"],
                        ["CF.DEL", "k", "a"], ["CF.COMPACT", "k"], ["BF.INFO", "k"],
                        ["BF.EXISTS", "k", "a"], ["CF.EXISTS", "k", "a"], ["CF.COUNT", "k", "a"]):
            c.call(*command)
            assert c.do("DBSIZE") == keys, command
        dirty, other = server.info("rdb_changes_since_last_save"), absent(c, "CF", "neighbour-cf")
        for command in (["BF.EXISTS", "neighbour-bf", "x"], ["BF.INFO", "neighbour-bf"],
                        ["BF.ADD", "neighbour-bf", "n1"], ["BF.MADD", "neighbour-bf", "n2", "n3"],
                        ["CF.ADDNX", "neighbour-cf", "n1"], ["CF.DEL", "neighbour-cf", other],
                        ["CF.INSERTNX", "neighbour-cf", "ITEMS", "n1", "n2"],
                        ["BF.RESERVE", "neighbour-bf", "0.01", "10"],
                        ["CF.RESERVE", "neighbour-cf", "10"]):
            c.call(*command)
        # Nothing was changed, so there is nothing to save or to replicate.
        assert server.info("rdb_changes_since_last_save") == dirty


def test_compact_is_write():
    with Attacked() as (_, c):
        flags = {f.lower() for f in c.do("COMMAND", "INFO", "cf.compact")[0][2]}
        assert "write" in flags and "readonly" not in flags, flags
        for command in ("bf.exists", "bf.mexists", "bf.info", "bf.card", "bf.scandump",
                        "cf.exists", "cf.mexists", "cf.count", "cf.info", "cf.scandump"):
            flags = {f.lower() for f in c.do("COMMAND", "INFO", command)[0][2]}
            assert "readonly" in flags and "write" not in flags, command
        for command in ("bf.reserve", "bf.add", "bf.madd", "bf.insert", "bf.loadchunk",
                        "cf.reserve", "cf.add", "cf.addnx", "cf.insert", "cf.insertnx",
                        "cf.loadchunk"):
            flags = {f.lower() for f in c.do("COMMAND", "INFO", command)[0][2]}
            assert "write" in flags and "denyoom" in flags, command


# ---- replicas

def test_replica_loadchunk():
    with Attacked() as (primary, c), Server() as replica:
        follow(replica, primary)
        _bloom(c, "b", 300)
        _cuckoo(c, "c", 300)
        for verb, key in (("BF", "b"), ("CF", "c")):
            for at, data in chunks(c, verb, key):
                c.do(verb + ".LOADCHUNK", "copy-" + key, str(at), data)
        caught_up(primary)
        r = replica.client()
        for key in ("b", "c", "copy-b", "copy-c"):
            assert seen(r, key) == seen(c, key), key
        assert c.do("BF.MEXISTS", "copy-b", *["b-%d" % i for i in range(300)]) == [1] * 300
        assert c.do("CF.MEXISTS", "copy-c", *["c-%d" % i for i in range(300)]) == [1] * 300


def test_replica_config_drift():
    """A filter that is made by its first item is the same on a replica with other defaults."""
    others = ["bf-initial-size", "5000", "bf-error-rate", "0.2", "cf-max-expansions", "3"]
    with Attacked() as (primary, c), Server(module_arguments=others) as replica:
        follow(replica, primary)
        random.seed(1)
        c.do("BF.ADD", "a", "x")
        c.do("BF.MADD", "b", *["m%d" % i for i in range(500)])
        c.do("BF.INSERT", "i", "ITEMS", *["m%d" % i for i in range(500)])
        c.do("CF.ADD", "c", "x")
        c.do("CF.ADDNX", "cn", "x")
        c.do("CF.INSERT", "d", "ITEMS", *["m%d" % i for i in range(3000)])
        c.do("CF.INSERTNX", "dn", "ITEMS", *["m%d" % i for i in range(3000)])
        c.do("EVAL", "return redis.call('BF.ADD', KEYS[1], 'x')", "1", "lua")
        caught_up(primary)
        r = replica.client()
        for key in ("a", "b", "i", "c", "cn", "d", "dn", "lua"):
            assert seen(r, key) == seen(c, key), key

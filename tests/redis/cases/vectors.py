"""Filters made by RedisBloom: DUMP payloads, SCANDUMP chunks, an .rdb file.

Each loads, answers every probe as RedisBloom did, contains all of its keys, and is written as it
was read.
"""
import csv
import os
import shutil
import struct
import tempfile

from dump import parse
from servers import VECTORS, Server, Skip, until


def _rows():
    path = os.path.join(VECTORS, "redisbloom", "manifest.tsv")
    if not os.path.exists(path):
        raise Skip("no redisbloom/manifest.tsv in TAMIS_VECTORS")
    with open(path) as file:
        rows = list(csv.DictReader((l for l in file if not l.startswith("#")), delimiter="\t",
                                   quoting=csv.QUOTE_NONE))
    assert rows
    return rows


def _bytes(name):
    with open(os.path.join(VECTORS, name), "rb") as file:
        return file.read()


def _keys(name):
    lines = _bytes(name).split(b"\n")
    if lines and lines[-1] == b"":
        lines.pop()
    return [bytes.fromhex(l.decode()) for l in lines] if name.endswith(".hex") else lines


def _answers(client, row, key):
    probes = _keys(row["probes"])
    found = []
    for i in range(0, len(probes), 500):
        found += client.do(row["type"] + ".MEXISTS", key, *probes[i:i + 500])
    return found


def _check(client, row, key):
    recorded = [int(line) for line in _bytes(row["answers"]).split()]
    assert _answers(client, row, key) == recorded, "%s: other answers" % row["id"]
    if "del" in row["mode"] or int(row["n_added"]) < int(row["n_keys"]):
        return
    keys = _keys(row["keys"])
    for i in range(0, len(keys), 500):
        part = keys[i:i + 500]
        assert client.do(row["type"] + ".MEXISTS", key, *part) == [1] * len(part), row["id"]


def _use(client, row, key):
    """It takes more, as far as it may."""
    verb = row["type"]
    for i in range(20):
        reply = client.call(verb + ".ADD", key, "new-%d" % i)
        if reply in (0, 1):
            assert client.do(verb + ".EXISTS", key, "new-%d" % i) == 1, row["id"]


def _value(dump):
    """Without the server's own version and checksum."""
    return dump[:-10]


def test_dumps():
    with Server() as server:
        c = server.client()
        for row in _rows():
            payload = _bytes(row["dump"])
            c.do("RESTORE", "k", "0", payload)
            _check(c, row, "k")
            assert _value(c.do("DUMP", "k")) == _value(payload), "%s: other bytes" % row["id"]
            c.do("DEBUG", "RELOAD")
            assert _value(c.do("DUMP", "k")) == _value(payload), "%s: after a reload" % row["id"]
            _use(c, row, "k")
            c.do("DEL", "k")


def _chunks(row):
    """(iterator, bytes) as SCANDUMP gave them: the header, then pieces of the data."""
    data, at, found = _bytes(row["data"]), 0, []
    for piece in row["chunk_iters"].split(","):
        iterator, length = (int(n) for n in piece.split(":"))
        if iterator == 1:
            found.append((1, _bytes(row["header"])))
        else:
            found.append((iterator, data[at:at + length]))
            at += length
    assert at == len(data), row["id"]
    return found


def test_chunks():
    with Server() as server:
        c = server.client()
        loaded = 0
        for row in _rows():
            if not row["chunk_iters"] or not _bytes(row["header"]):
                continue  # an empty cuckoo filter has no chunks
            verb, given = row["type"], _chunks(row)
            for iterator, data in given:
                c.do(verb + ".LOADCHUNK", "k", str(iterator), data)
            _check(c, row, "k")
            at, back = 0, []
            while True:
                at, data = c.do(verb + ".SCANDUMP", "k", str(at))
                if at == 0:
                    break
                back.append((at, data))
            assert b"".join(d for _, d in back) == b"".join(d for _, d in given), row["id"]
            # The same value as its DUMP.
            assert parse(c.do("DUMP", "k")) == parse(_bytes(row["dump"])), row["id"]
            _use(c, row, "k")
            c.do("DEL", "k")
            loaded += 1
        assert loaded > 10, loaded


def test_rdb_file():
    path = os.path.join(VECTORS, "redisbloom", "dump.rdb")
    if not os.path.exists(path):
        raise Skip("no dump.rdb in TAMIS_VECTORS")
    directory = tempfile.mkdtemp(prefix="tamis-redis.")
    try:
        shutil.copyfile(path, os.path.join(directory, "dump.rdb"))
        with Server(directory=directory) as server:
            c = server.client()
            keys = sorted(c.do("KEYS", "*"))
            types = [c.do("TYPE", key) for key in keys]
            assert {"MBbloom--", "MBbloomCF"} <= set(types), types
            before = {key: c.do("DUMP", key) for key in keys}
            c.do("DEBUG", "RELOAD")
            assert {key: c.do("DUMP", key) for key in keys} == before
            server.restart(save=True)
            c = server.client()
            assert {key: c.do("DUMP", key) for key in keys} == before
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def test_made_as_they_make_them():
    """A loaded filter that is copied, migrated or put in an AOF is still RedisBloom's."""
    with Server(options=["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]) as server:
        c = server.client()
        before = {}
        for row in _rows()[::7]:
            c.do("RESTORE", row["id"], "0", _bytes(row["dump"]))
            c.do("COPY", row["id"], "copy")
            assert _value(c.do("DUMP", "copy")) == _value(_bytes(row["dump"])), row["id"]
            c.do("DEL", "copy")
            before[row["id"]] = parse(_bytes(row["dump"]))
        c.do("BGREWRITEAOF")
        until(lambda: server.info("aof_rewrite_in_progress") == "0" and
              server.info("aof_rewrite_scheduled") == "0", what="the rewrite")
        server.kill()
        server.start()
        c = server.client()
        for key, value in before.items():
            assert parse(c.do("DUMP", key)) == value, key


def _tables(c, key, buckets, size, *tables):
    """A cuckoo filter of RedisBloom's with these tables in it."""
    slots = b"".join(tables)
    items = len(slots) - slots.count(0)
    header = struct.pack("<QQQQHHH", items, buckets, 0, len(tables), size, 20, 1)
    c.do("CF.LOADCHUNK", key, "1", header)
    at = 1
    for table in tables:
        at += len(table)
        c.do("CF.LOADCHUNK", key, str(at), table)


def test_small_cuckoo_filters():
    """What RedisBloom does to tables of a bucket or two."""
    with Server() as server:
        c = server.client()
        # Even fingerprints have but one bucket of two.  The newest table cannot be emptied:
        # CF.COMPACT goes on to the one before.
        _tables(c, "k", 2, 1, b"\2\0", b"\2\4", b"\2\0")
        c.do("CF.COMPACT", "k")
        assert [c.do("CF.SCANDUMP", "k", at)[1] for at in "135"] == [b"\2\4", b"\2\0", b"\2\0"]
        # A bucket that is both of an item's is counted twice.
        _tables(c, "one", 1, 4, b"\0\0\0\0")
        c.do("CF.INSERT", "one", "ITEMS", "x", "x")
        assert c.do("CF.COUNT", "one", "x") == 4


def _fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def test_rounded_chains_grow():
    """Sub-filters of a filter without NOROUND are powers of two.  Recorded from RedisBloom 2.8.20."""
    link = struct.pack("<QQQddIQB", 32, 256, 0, 0.005, 11.027753418256411, 8, 23, 8)
    assert link.hex()[48:80] == "7b14ae47e17a743fe9862fb2350e2640"
    with Server() as server:
        c = server.client()
        for options, items, expected in ((0, 149, 0x639259005D0BB9F8), (4, 148, 0x9FACD56B3F714B13)):
            c.do("BF.LOADCHUNK", "k", "1", struct.pack("<QIII", 0, 1, options, 2) + link)
            for i in range(150):
                c.do("BF.ADD", "k", "key-%d" % i)
            assert c.do("BF.CARD", "k") == items
            found, at = b"", 0
            while True:
                at, data = c.do("BF.SCANDUMP", "k", str(at))
                if at == 0:
                    break
                found += data
            assert _fnv(found) == expected, options
            c.do("DEL", "k")

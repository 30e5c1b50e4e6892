"""What survives: DEBUG RELOAD, restarts from RDB and from AOF, DUMP and RESTORE, COPY, MIGRATE."""
import glob
import math
import struct
import time

from chance import absent
from resp import Error, encode
from servers import PRELOAD, Server, Skip, until
from sizes import some

ITEMS = ["item-%d" % i for i in range(3000)]
OTHERS = ["other-%d" % i for i in range(3000)]


def fill(c):
    """Filters of all kinds and in all states."""
    c.do("BF.RESERVE", "bf", "0.01", "5000")
    c.do("BF.MADD", "bf", *ITEMS)
    c.do("BF.RESERVE", "bf-empty", "0.001", "100")
    c.do("BF.RESERVE", "bf-grown", "0.01", "100")
    c.do("BF.MADD", "bf-grown", *ITEMS)
    c.do("BF.RESERVE", "bf-fixed", "0.0001", "10", "NONSCALING")
    c.call("BF.MADD", "bf-fixed", *ITEMS[:12])
    c.do("BF.ADD", "bf-default", "")
    c.do("BF.RESERVE", "bf-large", "0.0001", str(some(1000000, 20000000)))
    c.do("BF.MADD", "bf-large", *ITEMS)
    c.do("CF.RESERVE", "cf", "5000")
    c.do("CF.INSERT", "cf", "ITEMS", *ITEMS)
    c.do("CF.INSERT", "cf", "ITEMS", *ITEMS[:100])
    for item in ITEMS[2000:2100]:
        c.do("CF.DEL", "cf", item)
    c.do("CF.RESERVE", "cf-empty", "100")
    c.do("CF.RESERVE", "cf-grown", "64", "EXPANSION", "2")
    c.do("CF.INSERT", "cf-grown", "ITEMS", *ITEMS)
    c.do("CF.ADD", "cf-default", "\0")
    c.do("EXPIRE", "bf-default", "10000")
    c.do("SET", "string", "x")


BLOOMS = ["bf", "bf-empty", "bf-grown", "bf-fixed", "bf-default", "bf-large"]
CUCKOOS = ["cf", "cf-empty", "cf-grown", "cf-default"]


def state(c):
    """All that can be seen of them."""
    seen = {}
    for key in BLOOMS:
        seen[key] = [c.do("BF.MEXISTS", key, *ITEMS), c.do("BF.MEXISTS", key, *OTHERS),
                     c.do("BF.INFO", key), c.do("BF.CARD", key), c.do("DUMP", key)]
    for key in CUCKOOS:
        seen[key] = [c.do("CF.MEXISTS", key, *ITEMS), c.do("CF.MEXISTS", key, *OTHERS),
                     [c.do("CF.COUNT", key, item) for item in ITEMS[:200]], c.do("CF.INFO", key),
                     c.do("DUMP", key)]
    seen["ttl"] = c.do("TTL", "bf-default") > 0
    return seen


def same(before, after):
    for key, parts in before.items():
        for i, part in enumerate(parts if isinstance(parts, list) else [parts]):
            now = after[key][i] if isinstance(parts, list) else after[key]
            assert now == part, "%s has changed in part %d" % (key, i)


def go_on(c):
    """They are not only the same, they can be used on."""
    for key in ("bf", "bf-grown", "bf-large", "bf-empty"):
        c.do("BF.MADD", key, *["more-%d" % i for i in range(500)])
        assert c.do("BF.MEXISTS", key, *["more-%d" % i for i in range(500)]) == [1] * 500
    for key in CUCKOOS:
        assert c.do("CF.INSERT", key, "ITEMS", *["more-%d" % i for i in range(500)]) == [1] * 500
        assert c.do("CF.MEXISTS", key, *["more-%d" % i for i in range(500)]) == [1] * 500
        assert c.do("CF.DEL", key, "more-7") == 1


def test_debug_reload():
    with Server() as server:
        c = server.client()
        fill(c)
        before = state(c)
        c.do("DEBUG", "RELOAD")
        same(before, state(c))
        go_on(c)


def test_rdb_restart():
    with Server() as server:
        fill(server.client())
        before = state(server.client())
        server.restart(save=True)
        same(before, state(server.client()))
        go_on(server.client())


def test_rdb_background():
    """BGSAVE while the filters are written to: the file is of one moment."""
    with Server() as server:
        c = server.client()
        fill(c)
        before = state(c)
        c.do("BGSAVE")
        c.do("BF.MADD", "bf-large", *["later-%d" % i for i in range(1000)])
        c.do("CF.INSERT", "cf-grown", "ITEMS", *["later-%d" % i for i in range(1000)])
        until(lambda: server.info("rdb_bgsave_in_progress") == "0", what="the save")
        assert server.info("rdb_last_bgsave_status") == "ok"
        server.kill()
        server.start()
        same(before, state(server.client()))


def _aof(*more):
    return ["--appendonly", "yes", "--appendfsync", "always", *more]


def test_aof_restart():
    """What was appended, replayed: every filter as it was, secrets and all."""
    for preamble in ("yes", "no"):
        with Server(options=_aof("--aof-use-rdb-preamble", preamble)) as server:
            fill(server.client())
            before = state(server.client())
            server.kill()
            server.start()
            same(before, state(server.client()))
            go_on(server.client())


def test_aof_rewrite():
    """The same after the file was written anew: as commands (no preamble) and as RDB."""
    for preamble in ("no", "yes"):
        with Server(options=_aof("--aof-use-rdb-preamble", preamble)) as server:
            c = server.client()
            fill(c)
            c.do("BGREWRITEAOF")
            until(lambda: server.info("aof_rewrite_in_progress") == "0" and
                  server.info("aof_rewrite_scheduled") == "0", what="the rewrite")
            assert server.info("aof_last_bgrewrite_status") == "ok"
            c.do("BF.MADD", "bf", *["after-%d" % i for i in range(100)])
            before = state(c)
            server.kill()
            server.start()
            c = server.client()
            after = state(c)
            if preamble == "no":  # the bytes may be laid out otherwise, but not what they say
                for part in (before, after):
                    for key in BLOOMS + CUCKOOS:
                        part[key].pop()
            same(before, after)
            assert all(c.do("BF.MEXISTS", "bf", *["after-%d" % i for i in range(100)]))
            go_on(c)


def test_aof_of_a_large_filter():
    """RedisBloom's filters may have grown beyond what a client may bring in chunks."""
    entries, error = 1 << 30, 0.01
    per_entry = -math.log(error) / math.log(2) ** 2
    size = (int(entries * per_entry) + 63) // 64 * 8
    header = struct.pack("<QIII", 0, 1, 5, 2) + struct.pack(
        "<QQQddIQB", size, 8 * size, 0, error, per_entry, 7, entries, 0)
    cuckoo = struct.pack("<QQQQHHH", 0, 1 << 30, 0, 1, 2, 20, 1)
    commands = [["BF.LOADCHUNK", "b", "1", header], ["CF.LOADCHUNK", "c", "1", cuckoo]]
    with Server(options=_aof()) as server:
        assert all(isinstance(server.client().call(*c), Error) for c in commands)
        server.stop()
        with open(glob.glob(server.directory + "/appendonlydir/*.incr.aof")[0], "ab") as file:
            file.write(b"".join(encode(c) for c in commands))
        server.start()
        c = server.client()
        assert c.do("BF.INFO", "b", "CAPACITY") == [entries]
        assert c.do("CF.INFO", "c")[3] == 1 << 30


def test_aof_no_change():
    """What changes nothing is not written."""
    with Server(options=_aof()) as server:
        c = server.client()
        c.do("BF.MADD", "k", "a", "b")
        c.do("CF.ADDNX", "q", "a")
        size = int(server.info("aof_current_size"))
        for _ in range(100):
            c.do("BF.ADD", "k", "a")
            c.do("BF.MADD", "k", "a", "b")
            c.do("BF.INSERT", "k", "ITEMS", "a", "b")
            c.do("CF.ADDNX", "q", "a")
            c.do("CF.INSERTNX", "q", "ITEMS", "a")
            c.do("CF.DEL", "q", "no such")
            c.do("CF.COMPACT", "q")
        assert int(server.info("aof_current_size")) == size


def test_dump_restore():
    with Server() as one, Server() as two:
        c, d = one.client(), two.client()
        fill(c)
        for key in BLOOMS + CUCKOOS:
            d.do("RESTORE", key, "0", c.do("DUMP", key))
        d.do("EXPIRE", "bf-default", "10000")
        same(state(c), state(d))
        go_on(d)
        assert isinstance(d.call("RESTORE", "bf", "0", c.do("DUMP", "bf")), Error)


def test_copy():
    with Server() as server:
        c = server.client()
        fill(c)
        before = state(c)
        for key in BLOOMS + CUCKOOS:
            assert c.do("COPY", key, "copy-" + key) == 1
            assert c.do("DUMP", "copy-" + key) == c.do("DUMP", key)
            assert c.do("COPY", key, "copy-" + key) == 0
            assert c.do("COPY", key, key, "DB", "3") == 1
        # A copy is its own.
        c.do("BF.MADD", "copy-bf", *OTHERS)
        c.do("BF.MADD", "copy-bf-large", *OTHERS)
        c.do("CF.INSERT", "copy-cf", "ITEMS", *OTHERS)
        for item in ITEMS[:500]:
            c.do("CF.DEL", "copy-cf", item)
        same(before, state(c))
        for key in BLOOMS + CUCKOOS:
            c.do("DEL", key)
        assert c.do("BF.MEXISTS", "copy-bf", *ITEMS, *OTHERS) == [1] * 6000
        c.do("SELECT", "3")
        c.do("EXPIRE", "bf-default", "10000")
        same(before, state(c))


def test_migrate():
    with Server() as one, Server() as two:
        c, d = one.client(), two.client()
        fill(c)
        before = state(c)
        for key in BLOOMS + CUCKOOS:
            assert c.do("MIGRATE", "127.0.0.1", str(two.port), key, "0", "30000") == "OK"
        assert c.do("DBSIZE") == 1
        same(before, state(d))
        go_on(d)


def test_digest_tells():
    """DEBUG DIGEST-VALUE: equal values alike, others not."""
    with Server() as server:
        c = server.client()
        fill(c)
        for key in ("bf", "cf"):
            verb = key.upper()
            c.do("COPY", key, "copy", "REPLACE")
            one, two = c.do("DEBUG", "DIGEST-VALUE", key, "copy")
            assert one == two
            assert c.do(verb + ".ADD", "copy", absent(c, verb, "copy")) == 1
            assert c.do("DEBUG", "DIGEST-VALUE", "copy")[0] != one
        digests = c.do("DEBUG", "DIGEST-VALUE", *BLOOMS, *CUCKOOS)
        assert len(set(digests)) == len(digests)


def test_expire_and_free():
    """Keys go as keys do: by time, by UNLINK, by FLUSHALL; and their memory with them."""
    with Server() as server:
        c = server.client()
        before = server.used_memory()
        fill(c)
        c.do("PEXPIRE", "bf", "50")
        c.do("PEXPIRE", "cf", "50")
        time.sleep(0.2)
        assert c.do("EXISTS", "bf", "cf") == 0
        assert c.do("UNLINK", "bf-large", "cf-grown") == 2
        c.do("FLUSHALL")
        until(lambda: server.used_memory() < before + (1 << 20), what="the end of the memory")


def test_memory_usage():
    """MEMORY USAGE is near what the server really takes."""
    if PRELOAD:
        raise Skip("under a sanitizer the memory is not the server's")
    with Server() as server:
        c = server.client()
        for verb, make in (("BF", ["BF.RESERVE", "k", "0.01", "1000000"]),
                           ("CF", ["CF.RESERVE", "k", "1000000"])):
            server.settle()
            before = server.used_memory()
            c.do(*make)
            for part in range(100):
                items = ["%d-%d" % (part, i) for i in range(5000)]
                c.do(*(["BF.MADD", "k"] if verb == "BF" else ["CF.INSERT", "k", "ITEMS"]), *items)
            real = server.used_memory() - before
            reported = c.do("MEMORY", "USAGE", "k")
            info = c.do(verb + ".INFO", "k")
            size = info[info.index("Size") + 1]
            # The server's allocator rounds up by as much as a quarter.
            assert 0.75 * real - 100000 < reported < 1.05 * real + 10000, (verb, reported, real)
            assert abs(size - reported) < 0.02 * reported + 5000, (verb, size, reported)
            c.do("DEL", "k")

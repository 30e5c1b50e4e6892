"""No command holds the server up: at a capacity of 100 million each is bounded.

What is done to whole filters is counted: the bytes of tables that the server's own thread has copied,
united or freed (INFO: bf_table_bytes_in_commands), which must not grow with the filter.  For all
else, measured is the time that the server's main thread computes for a command (as the scheduler counts
it, in nanoseconds): on a machine of its own that is how long all other clients wait, and on a
shared one it does not count what others do.
"""
import os
import tempfile
import time

import redisbloom
from resp import Error
from servers import PRELOAD, Server, Skip, tamis
from sizes import some

CAPACITY = "100000000"
# A few milliseconds are meant; each thing is tried on new keys until it keeps to the limit, and the
# best counts, since memory is shared with others as well: on a guest whose host has to find the
# pages first, fresh ones cost 6 ms a megabyte.
WORST_MS = 20.0
TRIES = 20


def _computed(server):
    """Milliseconds that the main thread has computed so far."""
    with open("/proc/%d/schedstat" % server.process.pid) as file:
        return int(file.read().split()[0]) / 1e6


def _worst(server, commands):
    """The longest that one of the commands takes, and the replies."""
    client, worst, replies = server.client(), 0.0, []
    for command in commands:
        before = _computed(server)
        reply = client.call(*command)
        worst = max(worst, _computed(server) - before)
        assert not isinstance(reply, Error), (command[:2], reply)
        replies.append(reply)
    return worst, replies


def _within(server, limit, what, measured):
    """measured() returns milliseconds; it starts with a server without keys."""
    best = 1e9
    for _ in range(TRIES):
        best = min(best, measured())
        server.client().do("FLUSHALL")
        if best < limit:
            break
    print("         %-28s %6.2f ms at worst" % (what, best))
    assert best < limit, "%s: %.1f ms" % (what, best)


def _best(server, what, prepare, commands):
    def measured():
        server.client().many(prepare)
        return _worst(server, commands)[0]

    _within(server, WORST_MS, what, measured)


def _able():
    if PRELOAD:
        raise Skip("not under a sanitizer")
    try:
        open("/proc/self/schedstat").close()
    except OSError:
        raise Skip("this kernel does not tell how long a thread has computed") from None


def test_bounded():
    _able()
    bloom, cuckoo = ["BF.RESERVE", "b", "0.01", CAPACITY], ["CF.RESERVE", "c", CAPACITY]
    items = ["i%d" % i for i in range(100)]
    madds = [["BF.MADD", "b"] + ["%d-%s" % (n, i) for i in items] for n in range(200)]
    inserts = [["CF.INSERT", "c", "ITEMS"] + ["%d-%s" % (n, i) for i in items] for n in range(200)]
    with Server() as server:
        _best(server, "BF.RESERVE", [], [bloom])
        _best(server, "CF.RESERVE", [], [cuckoo])
        _best(server, "BF.MADD of 100", [bloom], madds)
        _best(server, "CF.INSERT of 100", [cuckoo], inserts)
        _best(server, "BF.MEXISTS of 100", [bloom] + madds,
              [["BF.MEXISTS"] + words[1:] for words in madds])
        _best(server, "INFO, DEBUG", [bloom, cuckoo] + madds[:9] + inserts[:9],
              [["BF.INFO", "b"], ["CF.INFO", "c"], ["BF.DEBUG", "b"], ["CF.DEBUG", "c"]] * 20)
        _best(server, "MEMORY USAGE", [bloom, cuckoo] + madds[:9] + inserts[:9],
              [["MEMORY", "USAGE", "b"], ["MEMORY", "USAGE", "c"]] * 20)
        _best(server, "UNLINK", [bloom, cuckoo] + madds + inserts, [["UNLINK", "b", "c"]])


def test_growing():
    """The step to the next stage, fifty times as large."""
    _able()
    count = some(200000, 2000000)
    commands = [["BF.RESERVE", "b", "0.01", str(count), "EXPANSION", "50"],
                ["CF.RESERVE", "c", str(count), "EXPANSION", "32"]]
    for n in range(count // 1000 + 50):
        items = ["%d-%d" % (n, i) for i in range(1000)]
        commands += [["BF.MADD", "b"] + items, ["CF.INSERT", "c", "ITEMS"] + items]
    with Server() as server:
        def measured():
            worst, _ = _worst(server, commands)
            info = server.client().do("BF.INFO", "b")
            assert info[info.index("Number of filters") + 1] >= 2, info
            return worst

        _within(server, 2 * WORST_MS, "growing, 1,000 at a time", measured)


def _through_chunks(server):
    c = server.client()
    c.do("BF.RESERVE", "b", "0.001", str(some(5000000, 30000000)))
    for n in range(300):
        c.do("BF.MADD", "b", *["%d-%d" % (n, i) for i in range(1000)])
    at, parts, dumped = 0, [], 0.0
    while True:
        took, [[at, data]] = _worst(server, [["BF.SCANDUMP", "b", str(at)]])
        dumped = max(dumped, took)
        if at == 0:
            break
        parts.append((at, data))
    loaded, _ = _worst(server, [["BF.LOADCHUNK", "copy", str(at), d] for at, d in parts])
    assert max(len(d) for _, d in parts) <= 16 << 20
    assert all(c.do("BF.MEXISTS", "copy", *["7-%d" % i for i in range(1000)]))
    return max(dumped, loaded)


def test_chunks():
    """A large filter leaves and enters in pieces."""
    _able()
    with Server() as server:
        # A chunk of at most 16 MB is read from, or written to, the socket as well.
        _within(server, 4 * WORST_MS, "chunks", lambda: _through_chunks(server))


def _unlinked(server):
    c = server.client()
    c.do("BF.RESERVE", "b", "0.0001", str(some(20000000, 100000000)))
    for n in range(200):
        c.do("BF.MADD", "b", *["%d-%d" % (n, i) for i in range(1000)])
    worst, _ = _worst(server, [["UNLINK", "b"]])
    end = time.monotonic() + 20
    while int(server.info("lazyfree_pending_objects")) and time.monotonic() < end:
        time.sleep(0.05)
    return worst


def test_free():
    """What is deleted in the background does not hold up anybody either."""
    _able()
    with Server() as server:
        _within(server, WORST_MS, "UNLINK of a full one", lambda: _unlinked(server))


# ---- whole filters

LARGE = some(20000000, 100000000)
WORK_MAX = 12 << 20  # bytes; a segment has up to 3.4 MB, and BF.MERGE copies and unites one
TOUCHED = some(200000, 1000000)  # items: enough to bring all pages of the tables into memory


def _fill(c, command, count, prefix):
    for start in range(0, count, 50000):
        c.many([command + ["%s-%d" % (prefix, i) for i in range(at, at + 1000)]
                for at in range(start, min(count, start + 50000), 1000)])


def _at_most(server, what, *commands, settle=True):
    """Runs the commands; none of them may have the server do more than WORK_MAX."""
    client, worst, most = server.client(), 0.0, 0
    if settle:
        server.settle()
    for command in commands:
        work = int(server.info("bf_table_bytes_in_commands"))
        before = _computed(server)
        reply = client.call(*command)
        worst = max(worst, _computed(server) - before)
        assert not isinstance(reply, Error), (command[:2], reply)
        most = max(most, int(server.info("bf_table_bytes_in_commands")) - work)
    print("         %-38s %6.2f ms, %5.1f MB at worst" % (what, worst, most / 1e6))
    assert most <= WORK_MAX, (what, most)


def _whole(server, verb, key, add, ask):
    """All that is done to a whole filter, and what comes right behind it."""
    more = [["%s-%d" % (n, i) for i in range(100)] for n in ("x", "y", "z")]
    _at_most(server, "COPY of a " + verb, ["COPY", key, "copy"])
    _at_most(server, "100 items after it", add + more[0])
    _at_most(server, "COPY, and at once 100 items", ["COPY", key, "copy", "REPLACE"],
             [add[0], "copy"] + add[2:] + more[1], add + more[2])
    _at_most(server, "COPY, and at once one item", ["COPY", key, "copy2", "REPLACE"],
             [add[0], "copy2"] + add[2:] + ["1"], ask + ["1"], add + ["1"])
    _at_most(server, "DEL, UNLINK at once", ["DEL", "copy2"], ["UNLINK", "copy"])
    for n, command in enumerate((["PEXPIRE", "e", "0"], ["SET", "e", "x"], ["RENAME", "s", "e"],
                                 ["FLUSHDB", "SYNC"])):
        server.client().many([["SET", "s", "x"], ["COPY", key, "e", "REPLACE"],
                              ["COPY", key, "e", "DB", "1", "REPLACE"]])
        server.settle()
        _at_most(server, "COPY gone by " + command[0], *([["SELECT", "1"]] * (n == 3)), command)


def _merges(server, key):
    c = server.client()
    c.do("COPY", key, "copy")
    for name in ("copy", key):  # no table is that of both
        _fill(c, ["BF.MADD", name], 20000, name)
    _at_most(server, "BF.MERGE, alike", ["BF.MERGE", "copy", key])
    _fill(c, ["BF.MADD", "copy"], 20000, "more")
    _at_most(server, "BF.MERGE into a new one", ["BF.MERGE", "new", "copy", key])
    _at_most(server, "and at once 100 queries", ["BF.MERGE", "new", "copy", key],
             ["BF.MEXISTS", "new"] + ["x-%d" % i for i in range(100)], settle=False)
    _at_most(server, "and at once 100 items", ["BF.MERGE", "new2", "copy", key],
             ["BF.MADD", "new2"] + ["x-%d" % i for i in range(100)], settle=False)
    _at_most(server, "and at once BF.MERGE", ["BF.MERGE", "new3", "copy", key],
             ["BF.MERGE", "new3", "new2"], ["BF.CARD", "new3"], ["BF.INFO", "new3"], settle=False)
    _at_most(server, "and at once DEL", ["BF.MERGE", "new4", "copy", key], ["DEL", "new4", "new3"],
             settle=False)


def test_whole_filters():
    _able()
    with Server() as server:
        c = server.client()
        for key, make, add in (("b", ["BF.RESERVE", "b", "0.01", str(LARGE)], ["BF.MADD", "b"]),
                               ("c", ["CF.RESERVE", "c", str(LARGE)], ["CF.INSERT", "c", "ITEMS"])):
            c.do(*make)
            _fill(c, add, TOUCHED, key)
            verb = add[0][:2]
            _whole(server, verb, key, add, [verb + ".EXISTS", key])
        _merges(server, "b")
        c.do("BF.RESERVE", "other", "0.01", str(LARGE))
        _fill(c, ["BF.MADD", "other"], TOUCHED, "other")
        _at_most(server, "BF.MERGE of another", ["BF.MERGE", "guests", "b", "other"])
        _at_most(server, "CF.COMPACT", ["CF.COMPACT", "c"])
        _at_most(server, "FLUSHALL", ["FLUSHALL", "SYNC"])


def test_whole_legacy_filters():
    """Those of RedisBloom as well."""
    _able()
    with Server() as server:
        c = server.client()
        redisbloom.load(c, "l", LARGE)
        for verb, add in (("BF", ["BF.MADD", "l-bf"]), ("CF", ["CF.INSERT", "l-cf", "ITEMS"])):
            _fill(c, add, TOUCHED, verb)
            _whole(server, verb + " of RedisBloom", add[1], add, [verb + ".EXISTS", add[1]])
        _merges(server, "l-bf")
        _at_most(server, "FLUSHALL", ["FLUSHALL", "SYNC"])


def test_whole_counts():
    """Items that come again and again are counted in tables beside the filter."""
    _able()
    with Server() as server:
        c = server.client()
        c.do("CF.RESERVE", "c", "2000000")
        for _ in range(3):
            _fill(c, ["CF.INSERT", "c", "ITEMS"], some(300000, 2000000), "c")
        _whole(server, "CF of many counts", "c", ["CF.INSERT", "c", "ITEMS"], ["CF.EXISTS", "c"])


def test_whole_served_files():
    """A file is checked, copied and freed behind."""
    _able()
    with tempfile.TemporaryDirectory(prefix="tamis-redis.") as directory, Server() as server:
        path = os.path.join(directory, "f.tamis")
        tamis("build", "-q", "-k", "bloom", "-p", "1%", "-n", str(LARGE), "-o", path,
              data=b"".join(b"%d\n" % i for i in range(1000)))
        with open(path, "rb") as file:
            data = file.read()
        chunks = [["TAMIS.LOAD", "k", str(at), str(len(data)), data[at:at + (1 << 20)]]
                  for at in range(0, len(data), 1 << 20)]
        _at_most(server, "TAMIS.LOAD", *chunks)
        _at_most(server, "TAMIS.LOAD of another", *chunks)
        _at_most(server, "TAMIS.INFO", ["TAMIS.INFO", "k"])
        _at_most(server, "COPY of a file", ["COPY", "k", "k2"])
        _at_most(server, "DEL of files", ["DEL", "k2"], ["DEL", "k"])
        server.client().many(chunks[:-1])
        _at_most(server, "TAMIS.LOAD ... ABORT", ["TAMIS.LOAD", "k", "ABORT"])

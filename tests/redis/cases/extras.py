"""What RedisBloom has not: merging, windows, limits, rates for cuckoo filters, served filters,
notifications; and the module's own configuration."""
import os
import tempfile
import time

from chance import upper_bound
from hostile import chunks
from resp import Error
from servers import PATIENCE, PRELOAD, Server, Skip, caught_up, follow, tamis, until
from sizes import some

ITEMS = ["item-%d" % i for i in range(2000)]
OTHERS = ["other-%d" % i for i in range(5000)]


# ---- BF.MERGE

def test_merge():
    with Server() as server:
        c = server.client()
        for n, key in enumerate("abc"):
            c.do("BF.RESERVE", key, "0.01", str(1000 * (n + 1)))
            c.do("BF.MADD", key, *ITEMS[600 * n:600 * (n + 1)])
        assert c.do("BF.MERGE", "all", "a", "b", "c") == "OK"
        assert c.do("BF.MEXISTS", "all", *ITEMS[:1800]) == [1] * 1800
        assert sum(c.do("BF.MEXISTS", "all", *OTHERS)) < 0.04 * len(OTHERS)
        # into one that is there, which then goes on
        assert c.do("BF.MERGE", "a", "b") == "OK"
        assert c.do("BF.MEXISTS", "a", *ITEMS[:1200]) == [1] * 1200
        c.do("BF.MADD", "a", *OTHERS[:1000])
        assert c.do("BF.MEXISTS", "a", *ITEMS[:1200], *OTHERS[:1000]) == [1] * 2200
        # sources are as they were
        assert sum(c.do("BF.MEXISTS", "b", *ITEMS[:600])) < 30
        # with itself
        assert c.do("BF.MERGE", "c", "c") == "OK"
        assert c.do("BF.MEXISTS", "c", *ITEMS[1200:1800]) == [1] * 600
        # one that expires goes on expiring
        c.do("EXPIRE", "c", "1000")
        assert c.do("BF.MERGE", "c", "a") == "OK"
        assert 500 < c.do("TTL", "c") <= 1000


def test_merge_again():
    """A source that has not changed since adds nothing: not a filter more, nor to the rate."""
    shapes = {"low": ["0.001", "1000"], "grown": ["0.01", "100"], "full": ["0.01", "600"],
              "fixed": ["0.01", "600", "NONSCALING"]}
    with Server() as server:
        c = server.client()
        for name, shape in shapes.items():
            c.do("BF.RESERVE", name, *shape)
            c.do("BF.MADD", name, *ITEMS[:600])
            c.do("BF.ADD", "all " + name, "its own")
            c.do("BF.MERGE", "all " + name, name)
        seen = {n: (c.do("BF.INFO", n), c.do("BF.INFO", n, "ERROR")) for n in
                ["all " + name for name in shapes]}
        for restart in False, True:
            if restart:  # nothing is shared any more
                server.restart(save=True)
                c = server.client()
            for name in shapes:
                for _ in range(150):
                    assert c.do("BF.MERGE", "all " + name, name) == "OK"
        for name, reported in seen.items():
            assert (c.do("BF.INFO", name), c.do("BF.INFO", name, "ERROR")) == reported, name
        # One that has changed is kept anew, or united.
        for name in shapes:
            c.call("BF.MADD", name, *ITEMS[600:700])
            there = c.do("BF.MEXISTS", name, *ITEMS[:700])
            c.do("BF.MERGE", "all " + name, name)
            both = c.do("BF.MEXISTS", "all " + name, *ITEMS[:700])
            assert all(b >= t for b, t in zip(both, there)), name


def test_merge_refusals():
    with Server() as server:
        c = server.client()
        c.do("BF.MADD", "a", *ITEMS[:100])
        c.do("CF.ADD", "c", "x")
        c.do("SET", "s", "x")
        before = c.do("DUMP", "a")
        for command in (["BF.MERGE", "a"], ["BF.MERGE", "a", "none"], ["BF.MERGE", "a", "c"],
                        ["BF.MERGE", "s", "a"], ["BF.MERGE", "new", "a", "none"],
                        ["BF.MERGE", "new", "a", "s"]):
            assert isinstance(c.call(*command), Error), command
        # One with a window, or that is not complete, is not copied either.
        c.do("BF.RESERVE", "w", "0.01", "100", "WINDOW", "10")
        c.do("BF.LOADCHUNK", "part", "1", c.do("BF.SCANDUMP", "a", "0")[1])
        for command in (["BF.MERGE", "new", "w"], ["BF.MERGE", "w", "a"], ["BF.MERGE", "a", "w"],
                        ["BF.MERGE", "new", "part"], ["BF.MERGE", "part", "a"]):
            assert isinstance(c.call(*command), Error), command
        assert c.do("DUMP", "a") == before
        assert c.do("EXISTS", "new") == 0


def test_merge_survives():
    """A union is saved, replicated and rewritten like any other filter."""
    with Server(options=["--appendonly", "yes", "--appendfsync", "always"]) as primary, \
            Server() as replica:
        follow(replica, primary)
        c = primary.client()
        for n in range(6):
            c.do("BF.MADD", "s%d" % n, *ITEMS[300 * n:300 * (n + 1)])
            c.do("BF.MERGE", "all", "s%d" % n)
        caught_up(primary)
        assert replica.client().do("BF.MEXISTS", "all", *ITEMS[:1800]) == [1] * 1800
        wrong = c.do("BF.MEXISTS", "all", *OTHERS)
        assert replica.client().do("BF.MEXISTS", "all", *OTHERS) == wrong
        c.do("DEBUG", "RELOAD")
        assert c.do("BF.MEXISTS", "all", *OTHERS) == wrong
        primary.kill()
        primary.start()
        c = primary.client()
        assert c.do("BF.MEXISTS", "all", *ITEMS[:1800]) == [1] * 1800
        assert c.do("BF.MEXISTS", "all", *OTHERS) == wrong


# ---- windows

CLOCKS_DIFFER = 0.002  # seconds that the clocks of test and server may drift apart in a window


class Adds:
    """Items added to a filter with a window, in which each stays for `least` to `most` seconds.

    The server adds an item between the times `before` and `after`, and a query runs between `sent`
    and `received`.  So, however long a process waits for a processor, an item is present if the
    reply was received within `least` after `before`, and absent if the query was sent later than
    `most` after `after`."""

    def __init__(self, client, least, most):
        self.c, self.least, self.most = client, least - CLOCKS_DIFFER, most + CLOCKS_DIFFER
        self.before, self.after = {}, {}

    def add(self, *items):
        before = time.monotonic()
        replies = self.c.do("BF.MADD", "w", *items)
        for item in items:
            self.before[item], self.after[item] = before, time.monotonic()
        return replies

    def found(self, *items, client=None):
        """Queries the items and checks the replies; returns the number of items that had to be
        present, and the replies."""
        sent = time.monotonic()
        replies = (client or self.c).do("BF.MEXISTS", "w", *items)
        received, present = time.monotonic(), 0
        for item, reply in zip(items, replies):
            if received - self.before[item] < self.least:
                present += 1
                assert reply == 1, "%s is gone after %.3f s" % (item, received - self.before[item])
            elif sent - self.after[item] > self.most:
                assert reply == 0, "%s stays for %.3f s" % (item, sent - self.after[item])
        return present, replies


def test_window():
    """An item stays for the window and is gone after it."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "w", "0.001", "1000", "WINDOW", "2", "GENERATIONS", "4")
        adds, late = Adds(c, 2, 2.5), []
        assert adds.add(*ITEMS[:50]) == [1] * 50
        while adds.found(ITEMS[0])[1] == [1]:
            adds.found(*ITEMS[:50], *late)
            if len(late) < 18:
                late.append("late-%d" % len(late))
                adds.add(late[-1])
            time.sleep(0.1)
        assert sum(adds.found(*ITEMS[:50])[1]) == 0
        assert c.do("BF.CARD", "w") <= len(late)
        # An item that is added again stays longer.
        start, present = time.monotonic(), 0
        while present < 8 or time.monotonic() - start < 3:
            adds.add("kept")
            time.sleep(0.4)
            present += adds.found("kept")[0]


def test_window_is_not_turned_ahead():
    """A client that turned a window to a time to come would make it stand still until then."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "w", "0.01", "100", "WINDOW", "1")
        adds, present = Adds(c, 1, 1.25), 0
        while present == 0:  # a busy machine may not manage that within the window
            adds.add("x")
            for epoch in (int(time.time() * 4) + 4 * PATIENCE, 1 << 59, (1 << 59) + 1, "x", "-1"):
                assert c.call("TAMIS.TURN", "w", str(epoch)) == "ERR bad epoch", epoch
            present = adds.found("x")[0]
        until(lambda: adds.found("x")[1] == [0], what="the end of the window")
        assert adds.add("y") == [1]
        until(lambda: adds.found("y")[1] == [0], what="the end of the next window")


def test_window_of_uneven_steps():
    """64 steps of a second are no whole milliseconds; an item stays for a second all the same."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "w", "0.0001", "1000", "WINDOW", "1", "GENERATIONS", "64")
        adds = Adds(c, 1, 1.04)
        for item in ITEMS[:some(2, 50)]:
            adds.add(item)
            while adds.found(item)[1] == [1]:
                pass


def _largest(c, seconds, first):
    """The most memory that the filter takes while items are added for some time."""
    end, size, n = time.monotonic() + seconds, 0, first
    while time.monotonic() < end:
        c.do("BF.MADD", "w", *["%d-%d" % (n, i) for i in range(50)])
        n += 1
        size = max(size, c.do("MEMORY", "USAGE", "w"))
        time.sleep(0.03)
    return size


def test_window_is_bounded():
    """However long it goes on, the filter does not grow."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "w", "0.01", "2000", "WINDOW", "1", "GENERATIONS", "4")
        # On a busy machine a period may have pauses, and fewer items than the next.  If the filter
        # grew by the same amount in each, the ratios would be 2, 3/2 and 4/3.
        sizes = [_largest(c, some(2.5, 10), 0)]
        for period in range(1, 4):
            sizes.append(_largest(c, some(2.5, 10), period * 10000))
            if sizes[-1] <= 1.3 * sizes[-2]:
                return
        raise AssertionError("the filter grows: %s bytes" % sizes)


def test_window_comes_in_chunks():
    """Time goes on while they come, and somebody adds: what the chunks are numbered by stays."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "w", "0.001", "1000", "WINDOW", "40", "GENERATIONS", "64")
        c.do("BF.MADD", "w", *ITEMS[:50])
        (_, header), *pieces = chunks(c, "BF", "w")
        c.do("BF.LOADCHUNK", "again", "1", header)
        time.sleep(0.7)  # a step is 625 ms
        assert isinstance(c.call("BF.ADD", "again", "new"), Error)
        c.do("TAMIS.TURN", "again", str(int(time.time() / 0.625)))
        for at, piece in pieces:
            c.do("BF.LOADCHUNK", "again", str(at), piece)
        assert 1 in c.do("BF.MADD", "again", *OTHERS[:5])  # some may be false positives
        assert c.do("BF.MEXISTS", "again", *ITEMS[:50]) == [1] * 50


def _added_to_both(primary, adds, client, *items):
    """Adds items to a primary until its replica reports them within the window."""
    present = 0
    while present < len(items):
        adds.add(*items)
        caught_up(primary)
        present = adds.found(*items, client=client)[0]


def test_window_on_replica():
    with Server() as primary, Server() as replica:
        follow(replica, primary)
        c, r = primary.client(), replica.client()
        c.do("BF.RESERVE", "w", "0.001", "1000", "WINDOW", "1", "GENERATIONS", "2")
        adds = Adds(c, 1, 1.5)
        _added_to_both(primary, adds, r, *ITEMS[:50])
        time.sleep(2.2)
        _added_to_both(primary, adds, r, "new")
        for client in (c, r):
            assert sum(adds.found(*ITEMS[:50], client=client)[1]) == 0
            adds.found("new", client=client)


# ---- limits and rates

def test_memory_limit():
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "b", "0.01", "1000", "MAXMEMORY", "100000")
        refused = 0
        for n in range(400):
            replies = c.do("BF.MADD", "b", *["%d-%d" % (n, i) for i in range(1000)])
            refused += isinstance(replies[-1], Error)
        assert refused > 100
        assert c.do("MEMORY", "USAGE", "b") < 110000
        assert c.do("BF.MEXISTS", "b", *["0-%d" % i for i in range(1000)]) == [1] * 1000
        # A union is no way round.
        c.do("BF.RESERVE", "large", "0.01", "100000")
        c.do("BF.RESERVE", "small", "0.01", "10", "MAXMEMORY", "4000")
        assert isinstance(c.call("BF.MERGE", "small", "large"), Error)
        assert c.do("MEMORY", "USAGE", "small") < 4000
        c.do("CF.RESERVE", "c", "1000", "MAXMEMORY", "100000")
        refused = 0
        for n in range(200):
            replies = c.call("CF.INSERT", "c", "ITEMS", *["%d-%d" % (n, i) for i in range(1000)])
            refused += isinstance(replies, Error) or -1 in replies
        assert refused > 50
        assert c.do("MEMORY", "USAGE", "c") < 110000
        for command in (["BF.RESERVE", "x", "0.01", "1000000", "MAXMEMORY", "1000"],
                        ["CF.RESERVE", "x", "1000000", "MAXMEMORY", "1000"]):
            assert isinstance(c.call(*command), Error), command


def test_cuckoo_rate():
    with Server() as server:
        c = server.client()
        wrong = {}
        for rate in ("0.05", "0.001", "0.00001"):
            c.do("CF.RESERVE", "c", "20000", "ERROR", rate)
            for part in range(0, 20000, 1000):
                items = ["in-%d" % i for i in range(part, part + 1000)]
                assert c.do("CF.INSERT", "c", "ITEMS", *items) == [1] * 1000
            wrong[rate] = sum(sum(c.do("CF.MEXISTS", "c", *["out-%d" % i for i in range(p, p + 1000)]))
                              for p in range(0, 100000, 1000))
            assert wrong[rate] <= upper_bound(100000, float(rate)), wrong
            c.do("DEL", "c")
        assert wrong["0.05"] > 10 * wrong["0.001"], wrong
        for rate in ("0", "1", "2", "nan", "x", ""):
            assert isinstance(c.call("CF.RESERVE", "c", "100", "ERROR", rate), Error), rate


def test_finest_rates():
    """Rates below the limit of the hash are raised to it, also when a filter is loaded."""
    with Server() as server:
        c = server.client()
        for n, rate in enumerate(("5e-324", "1e-300", "1e-20", "1e-14", "1e-10", "1e-8")):
            keys = [kind + str(n) for kind in ("b", "f", "w", "c", "l", "m")]
            c.do("BF.RESERVE", keys[0], rate, "100")
            c.do("BF.RESERVE", keys[1], rate, "100", "NONSCALING")
            c.do("BF.RESERVE", keys[2], rate, "100", "WINDOW", "1000", "GENERATIONS", "64")
            c.do("CF.RESERVE", keys[3], "100", "ERROR", rate, "EXPANSION", "2")
            c.do("BF.RESERVE", keys[4], rate, "3000000")  # of more than one segment
            c.do("BF.RESERVE", keys[5], rate, "3000000", "NONSCALING")
            real = float(c.do("BF.INFO", keys[0], "ERROR")[0])
            assert real >= 2.0**-48, rate
            for key in (keys[0], keys[2], keys[4], keys[5]):
                wrong = c.do("BF.MADD", key, *ITEMS).count(0)
                assert wrong <= upper_bound(len(ITEMS), real), (key, rate, wrong)
            for part in range(0, 20000, 1000):  # grown beyond any part of the rate
                items = ["in-%d" % i for i in range(part, part + 1000)]
                assert c.do("CF.INSERT", keys[3], "ITEMS", *items) == [1] * 1000, (part, rate)
            for key in keys:
                c.do("RESTORE", "again", "0", c.do("DUMP", key), "REPLACE")
            c.do("DEL", *keys)


# ---- served filters

def _build(kind, *words):
    """A .tamis file of ITEMS."""
    handle, path = tempfile.mkstemp(suffix=".tamis")
    os.close(handle)
    try:
        tamis("build", "-q", "-f", "-k", kind, "-o", path, *words,
              data="".join(i + "\n" for i in ITEMS).encode())
        with open(path, "rb") as file:
            return file.read()
    finally:
        os.unlink(path)


def _load(c, key, data, size, *more):
    for at in range(0, len(data), size):
        reply = c.do("TAMIS.LOAD", key, str(at), str(len(data)), data[at:at + size], *more)
        assert reply == min(len(data), at + size)


def _served(c, key):
    return c.do("TAMIS.MEXISTS", key, *ITEMS), c.do("TAMIS.MEXISTS", key, *OTHERS)


def test_served_filters():
    with Server() as server:
        c = server.client()
        for kind in ("fuse", "ribbon", "xor", "bloom", "block", "cuckoo", "counting", "growing"):
            data = _build(kind, "-p", "0.1%")
            for size in (len(data), 1000, 77):
                _load(c, kind, data, size)
            inside, outside = _served(c, kind)
            assert inside == [1] * len(ITEMS), kind
            assert sum(outside) < 30, (kind, sum(outside))
            assert c.do("TAMIS.EXISTS", kind, ITEMS[0]) == 1
            info = c.do("TAMIS.INFO", kind)
            assert info[info.index("Kind") + 1] == kind, info
            assert info[info.index("File size") + 1] == len(data)
        before = {k: _served(c, k) for k in ("fuse", "ribbon")}
        c.do("DEBUG", "RELOAD")
        assert {k: _served(c, k) for k in before} == before
        c.do("COPY", "fuse", "copy")
        assert _served(c, "copy") == before["fuse"]


def test_served_secret():
    with Server() as server:
        c = server.client()
        with tempfile.NamedTemporaryFile("w", suffix=".key") as file:
            file.write("00112233445566778899aabbccddeeff\n")
            file.flush()
            data = _build("fuse", "--key-file", file.name)
        for more in ([], ["SECRET", "ff112233445566778899aabbccddeeff"], ["SECRET", "12"]):
            assert isinstance(c.call("TAMIS.LOAD", "k", "0", str(len(data)), data, *more), Error)
            assert c.do("EXISTS", "k") == 0
        _load(c, "k", data, len(data), "SECRET", "00112233445566778899aabbccddeeff")
        inside, outside = _served(c, "k")
        assert all(inside) and sum(outside) < 150
        c.do("DEBUG", "RELOAD")
        assert _served(c, "k") == (inside, outside)


def test_served_is_careful():
    """What is missing, incomplete or damaged is an error; "no" is a promise."""
    with Server() as server:
        c = server.client()
        data = _build("fuse")
        total = str(len(data))
        assert isinstance(c.call("TAMIS.EXISTS", "none", "x"), Error)
        assert isinstance(c.call("TAMIS.MEXISTS", "none", "x"), Error)
        c.do("TAMIS.LOAD", "k", "0", total, data[:500])
        assert isinstance(c.call("TAMIS.EXISTS", "k", ITEMS[0]), Error)
        for offset, part in (("400", data[500:]), ("501", data[501:]), ("500", data[500:] + b"x"),
                             ("-1", b"x"), ("9223372036854775807", b"x"), ("x", b"x"), ("500", b"")):
            reply = c.call("TAMIS.LOAD", "k", offset, total, part)
            assert isinstance(reply, Error), offset
        c.do("DEL", "k")
        for n in range(0, len(data), max(1, len(data) // 300)):
            changed = bytearray(data)
            changed[n] ^= 1 << n % 8
            reply = c.call("TAMIS.LOAD", "k", "0", total, bytes(changed))
            assert isinstance(reply, Error), n
            assert c.do("EXISTS", "k") == 0, n
        for size in (2**40, 2**62, 2**63 - 1):
            c.call("TAMIS.LOAD", "k", "0", str(size), data)
            c.call("DEL", "k")
        assert server.used_memory() < 64 << 20
        # A bad upload leaves the filter that is there.
        _load(c, "k", data, 1000)
        before = _served(c, "k")
        c.call("TAMIS.LOAD", "k", "0", total, data[:-1] + bytes([data[-1] ^ 1]))
        assert _served(c, "k") == before
        c.do("TAMIS.LOAD", "k", "0", total, data[:500])
        assert _served(c, "k") == before
        assert c.do("TAMIS.LOAD", "k", "ABORT") == "OK"
        assert _served(c, "k") == before
        for command in (["BF.ADD", "k", "x"], ["CF.ADD", "k", "x"], ["BF.LOADCHUNK", "k", "1", "x"]):
            assert str(c.call(*command)).startswith("WRONGTYPE"), command


def test_served_begins_again():
    """An upload that was given up leaves its room to the next, whatever is left besides."""
    if PRELOAD:
        raise Skip("under a sanitizer the memory is not the server's")
    with Server(options=["--maxmemory", "60mb"]) as server:
        c = server.client()
        c.do("SET", "other", "x")
        for total in (40 << 20, 40 << 20, (40 << 20) + 1000, 30 << 20, 45 << 20):
            assert c.do("TAMIS.LOAD", "k", "0", str(total), b"x" * 1000) == 1000, total
            assert server.used_memory() < 60 << 20
        assert isinstance(c.call("TAMIS.LOAD", "k", "0", str(70 << 20), b"x"), Error)
        assert c.do("TAMIS.LOAD", "k", "1000", str(45 << 20), b"x") == 1001  # it goes on
        data = _build("fuse")
        _load(c, "k", data, 1000)
        assert all(_served(c, "k")[0]) and c.do("GET", "other") == b"x"


def test_served_replicates():
    with Server(options=["--appendonly", "yes", "--appendfsync", "always"]) as primary, \
            Server() as replica:
        follow(replica, primary)
        c = primary.client()
        _load(c, "k", _build("ribbon"), 700)
        caught_up(primary)
        before = _served(c, "k")
        assert _served(replica.client(), "k") == before
        # What changed nothing is not written.
        size = primary.info("aof_current_size")
        assert isinstance(c.call("TAMIS.LOAD", "k", "5", "100", "x"), Error)
        assert c.do("TAMIS.LOAD", "k", "ABORT") == "OK"
        assert primary.info("aof_current_size") == size
        primary.kill()
        primary.start()
        assert _served(primary.client(), "k") == before


# ---- the server's own things

def test_notifications():
    with Server() as server:
        c, listener = server.client(), server.client()
        c.do("CONFIG", "SET", "notify-keyspace-events", "KEA")
        listener.do("PSUBSCRIBE", "__keyspace@0__:*")

        def heard():
            return tuple(part.decode() for part in listener.read()[2:])

        for command, event in ((["BF.RESERVE", "b", "0.01", "100"], "bf.reserve"),
                               (["BF.ADD", "b", "x"], "bf.add"), (["BF.MADD", "b", "y"], "bf.add"),
                               (["BF.INSERT", "b", "ITEMS", "z"], "bf.add"),
                               (["BF.MERGE", "m", "b"], "bf.merge"),
                               (["CF.RESERVE", "c", "100"], "cf.reserve"),
                               (["CF.ADD", "c", "x"], "cf.add"), (["CF.DEL", "c", "x"], "cf.del")):
            c.do(*command)
            assert heard() == ("__keyspace@0__:" + command[1], event), command
        for command in (["BF.ADD", "b", "x"], ["BF.EXISTS", "b", "x"], ["CF.DEL", "c", "none"],
                        ["BF.MERGE", "b", "b"], ["BF.MERGE", "m", "b"]):
            c.do(*command)  # nothing changed: no event
        c.do("DEL", "b")
        assert heard() == ("__keyspace@0__:b", "del")


def test_info_section():
    with Server() as server:
        c = server.client()
        c.do("BF.ADD", "b", "x")
        c.do("BF.ADD", "b2", "x")
        c.do("CF.ADD", "c", "x")
        text = c.do("INFO", "everything").decode()
        assert "bf_bloom:2" in text and "bf_cuckoo:1" in text
        c.do("FLUSHALL")
        assert "bf_bloom:0" in c.do("INFO", "everything").decode()


def test_access_control():
    """Commands can be granted one by one, and a reader cannot write."""
    with Server() as server:
        c = server.client()
        c.do("ACL", "SETUSER", "reader", "on", ">p", "~*", "+bf.exists", "+bf.mexists", "+cf.exists")
        c.do("BF.ADD", "b", "x")
        reader = server.client()
        reader.do("AUTH", "reader", "p")
        assert reader.do("BF.EXISTS", "b", "x") == 1
        for command in (["BF.ADD", "b", "y"], ["BF.RESERVE", "n", "0.1", "1"], ["BF.INFO", "b"],
                        ["CF.ADD", "c", "y"], ["CF.COMPACT", "c"], ["TAMIS.LOAD", "k", "ABORT"]):
            assert str(reader.call(*command)).startswith("NOPERM"), command


def test_access_to_keys():
    """Who may only write may add, as with RedisBloom; who may only read may not."""
    with Server() as server:
        c = server.client()
        adding = (["BF.RESERVE", "r", "0.1", "1"], ["BF.ADD", "b", "x"], ["BF.MADD", "b", "x"],
                  ["BF.INSERT", "b", "ITEMS", "x"], ["CF.RESERVE", "s", "10"], ["CF.ADD", "c", "x"],
                  ["CF.ADDNX", "c", "x"], ["CF.INSERT", "c", "ITEMS", "x"],
                  ["CF.INSERTNX", "c", "ITEMS", "x"], ["CF.DEL", "c", "x"], ["CF.COMPACT", "c"])
        asking = (["BF.EXISTS", "b", "x"], ["BF.CARD", "b"], ["BF.SCANDUMP", "b", "0"],
                  ["BF.MERGE", "d", "b"], ["CF.COUNT", "c", "x"])
        for keys, may, may_not in (("%W~*", adding, asking), ("%R~*", asking[:3], adding)):
            c.do("ACL", "SETUSER", "user", "on", "nopass", "+@all", "resetkeys", keys)
            user = server.client()
            user.do("AUTH", "user", "p")
            for command in may:
                user.do(*command)
            for command in may_not:
                assert str(user.call(*command)).startswith("NOPERM"), (keys, command)


def test_command_docs():
    with Server() as server:
        c = server.client()
        docs = c.do("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")
        names = sorted(n.decode() for n in docs)
        assert len(names) >= 30, names
        for name in names:
            reported = c.do("COMMAND", "DOCS", name)[1]
            fields = dict(zip(reported[::2], reported[1::2]))
            assert fields[b"summary"] and fields[b"complexity"].startswith(b"O("), name
            tells = name.split(".")[1] in ("info", "debug", "scandump")
            assert c.do("COMMAND", "INFO", name)[0][7] == ([b"dont_cache"] if tells else []), name
            has_key = name != "tamis.answers"  # then it is the first word
            assert c.do("COMMAND", "INFO", name)[0][3] == has_key, name


def test_configuration():
    with Server() as server:
        c = server.client()
        defaults = {"bf-error-rate": "0.01", "bf-initial-size": "100", "bf-expansion-factor": "2",
                    "cf-bucket-size": "2", "cf-initial-size": "1024", "cf-max-iterations": "20",
                    "cf-expansion-factor": "1", "cf-max-expansions": "32"}
        for name, value in defaults.items():
            assert c.do("CONFIG", "GET", "bf." + name)[1].decode() == value, name
        for name, bad in (("bf-error-rate", "0"), ("bf-error-rate", "1"), ("bf-error-rate", "x"),
                          ("bf-initial-size", "0"), ("bf-initial-size", "1073741825"),
                          ("bf-expansion-factor", "32769"), ("cf-bucket-size", "0"),
                          ("cf-bucket-size", "256"), ("cf-initial-size", "1"),
                          ("cf-max-iterations", "0"), ("cf-max-iterations", "65536"),
                          ("cf-expansion-factor", "32769"), ("cf-max-expansions", "0"),
                          ("cf-max-expansions", "65537")):
            reply = c.call("CONFIG", "SET", "bf." + name, bad)
            assert isinstance(reply, Error), (name, bad)
            assert c.do("CONFIG", "GET", "bf." + name)[1].decode() == defaults[name]
        c.do("CONFIG", "SET", "bf.bf-error-rate", "0.3")
        assert c.do("CONFIG", "GET", "bf.bf-error-rate")[1] == b"0.25"
        c.do("CONFIG", "SET", "bf.bf-initial-size", "777")
        c.do("CONFIG", "SET", "bf.cf-bucket-size", "4")
        c.do("BF.ADD", "b", "x")
        c.do("CF.ADD", "c", "x")
        assert c.do("BF.INFO", "b", "CAPACITY") == [777]
        info = c.do("CF.INFO", "c")
        assert info[info.index("Bucket size") + 1] == 4


def test_configuration_of_two_that_fit():
    """Set together they fit in any order; what fails leaves all as they were."""
    with Server() as server:
        c = server.client()
        size, bucket, rate = "bf.cf-initial-size", "bf.cf-bucket-size", "bf.bf-error-rate"
        for words in ((size, "4", bucket, "2"), (bucket, "200", size, "400")):
            c.do("CONFIG", "SET", *words)
        before = c.do("CONFIG", "GET", "bf.*")
        for words, wrong in (((bucket, "2", size, "4", rate, "7"), "`bf-error-rate`"),
                             ((size, "4", bucket, "2", rate, "7"), "`bf-error-rate`"),
                             ((rate, "0.2", size, "399"), "`cf-initial-size` must be in the range [400"),
                             ((bucket, "201"), "`cf-bucket-size` must be in the range [1, 200]")):
            assert wrong in c.call("CONFIG", "SET", *words), words
            assert c.do("CONFIG", "GET", "bf.*") == before, words


def test_load_arguments():
    for words, capacity in ((["bf-initial-size", "200", "bf-error-rate", "0.02"], 200),
                            (["INITIAL_SIZE", "300", "ERROR_RATE", "0.02", "CF_MAX_EXPANSIONS", "9"],
                             300), (["initial_size", "400"], 400)):
        with Server(module_arguments=words) as server:
            c = server.client()
            c.do("BF.ADD", "b", "x")
            assert c.do("BF.INFO", "b", "CAPACITY") == [capacity], words
    # What CONFIG REWRITE has put into the configuration goes before them.
    with Server(module_arguments=["ERROR_RATE", "0.05", "INITIAL_SIZE", "300"],
                options=["--bf.bf-error-rate", "0.02"]) as server:
        c = server.client()
        for name, value in (("error-rate", b"0.02"), ("initial-size", b"300"),
                            ("expansion-factor", b"2")):
            assert c.do("CONFIG", "GET", "bf.bf-" + name)[1] == value, name
    # Two that must fit together, in any order, and beside others that they do not fit with.
    size, bucket = ["cf-initial-size"], ["cf-bucket-size"]
    for words, options in ((size + ["2"] + bucket + ["1"], []), (bucket + ["1"] + size + ["2"], []),
                           (size + ["4"], ["--bf.cf-initial-size", "400",
                                           "--bf.cf-bucket-size", "200"])):
        with Server(module_arguments=words, options=options) as server:
            c = server.client()
            c.do("CF.ADD", "c", "x")
            assert isinstance(c.call("CONFIG", "SET", "bf.cf-bucket-size", "201" if options else "2"),
                              Error)
    for words in (["bf-initial-size"], ["nonsense", "1"], ["bf-initial-size", "0"],
                  ["bf-error-rate", "7"], ["bf-error-rate", "x"], ["cf-max-expansions", "0"],
                  ["cf-initial-size", "3"], ["cf-initial-size", "100", "cf-bucket-size", "51"]):
        try:
            with Server(module_arguments=words):
                accepted = True
        except AssertionError:
            accepted = False
        assert not accepted, words


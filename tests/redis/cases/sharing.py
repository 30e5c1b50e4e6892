"""Copies share their tables, and unions are made in the background: clients must not notice.

A copy and its origin go their own ways; a union answers as one that was made at once; and what is
saved, replicated or queried in the midst of the work is what it would be at its end.
"""
import os
import random
import resource
import select
import tempfile
import threading
import time

import redisbloom
from resp import Broken, Error, encode
from servers import PATIENCE, PRELOAD, Cluster, Server, Skip, caught_up, follow, tamis, until
from sizes import some

# Two segments of 1.3 MB, or three blocks of a megabyte: large enough to be copied behind.
CAPACITY = 2200000


def _items(prefix, count):
    return ["%s-%d" % (prefix, i) for i in range(count)]


def _digests(c, keys):
    return dict(zip(keys, c.do("DEBUG", "DIGEST-VALUE", *keys)))


def _make(c, verb):
    """A filter of this kind at `k`."""
    if verb == "BF":
        c.do("BF.RESERVE", "k", "0.01", str(CAPACITY))
    elif verb == "CF":
        c.do("CF.RESERVE", "k", str(CAPACITY))
    else:
        redisbloom.load(c, "l", CAPACITY)
        c.do("RENAME", "l-" + verb[1:].lower(), "k")
        c.do("DEL", "l-bf", "l-cf")


class Keys:
    """Filters of one kind, and what each must hold at least."""

    def __init__(self, server, verb):
        self.server, self.c, self.verb = server, server.client(), verb[-2:]
        _make(self.c, verb)
        self.held = {"k": set()}
        self.digest = {}
        self.serial = 0

    def _add(self, key):
        self.serial += 1
        items = _items(str(self.serial), random.choice((1, 2, 40, 300)))
        command = ["BF.MADD", key] if self.verb == "BF" else ["CF.INSERT", key, "ITEMS"]
        self.c.do(*command, *items)
        self.held[key] = self.held[key] | set(items)

    def _copy(self, key):
        to = "k%d" % random.randrange(6)
        if to != key:
            self.c.do("COPY", key, to, "REPLACE")
            self.held[to] = self.held[key]
            self.digest.pop(to, None)
            if key in self.digest:
                self.digest[to] = self.digest[key]

    def _leave(self, key):
        if len(self.held) > 1:
            self.c.do(random.choice(("DEL", "UNLINK")), key)
            del self.held[key]
            self.digest.pop(key, None)

    def _merge(self, key):
        other = random.choice(list(self.held))
        reply = self.c.call("BF.MERGE", key, other)
        if not isinstance(reply, Error):  # those of RedisBloom must have room for the sum
            self.held[key] = self.held[key] | self.held[other]

    def _remove(self, key):
        gone = random.sample(sorted(self.held[key]), min(30, len(self.held[key])))
        assert self.c.many([["CF.DEL", key, i] for i in gone]) == [1] * len(gone)
        self.held[key] = self.held[key] - set(gone)

    def step(self):
        key = random.choice(list(self.held))
        change = self._merge if self.verb == "BF" else self._remove
        act = random.choice((self._add, self._add, self._copy, self._copy, self._leave, change))
        if act in (self._add, change):
            self.digest.pop(key, None)
        act(key)
        if random.random() < 0.2:
            self.check()

    def check(self):
        """Those that were not changed are what they were; all hold what they must."""
        now = _digests(self.c, sorted(self.held))
        for key, digest in self.digest.items():
            assert now[key] == digest, key
        self.digest = now
        for key, items in self.held.items():
            if items:
                assert all(self.c.do(self.verb + ".MEXISTS", key, *items)), key


def _apart(verb):
    with Server() as server:
        keys = Keys(server, verb)
        for _ in range(some(150, 1000)):
            keys.step()
        keys.check()
        for key in sorted(keys.held):
            keys.c.do("DEL", key)
        server.settle()
        assert "bf_bloom:0" in keys.c.do("INFO", "everything").decode()
        until(lambda: server.used_memory() < 8 << 20, what="the end of the memory")  # UNLINK


def test_copies_are_apart_bloom():
    _apart("BF")


def test_copies_are_apart_cuckoo():
    _apart("CF")


def test_copies_are_apart_legacy():
    _apart("LBF")
    _apart("LCF")


def _counts(c, key, items):
    return c.many([["CF.COUNT", key, item] for item in items])


def test_copies_of_counts():
    """The numbers beside a cuckoo filter are shared as well."""
    with Server() as server:
        c = server.client()
        items = _items("i", 40000)
        c.do("CF.RESERVE", "a", "200000")
        for _ in range(4):
            for at in range(0, len(items), 1000):
                c.do("CF.INSERT", "a", "ITEMS", *items[at:at + 1000])
        c.do("COPY", "a", "b")
        before, counts = _digests(c, ["a"]), _counts(c, "a", items[:3000])
        # Two items with one fingerprint are copies of each other, and count as 5: one in 700.
        assert min(counts) == 4 and counts.count(4) > 2900, counts
        c.do("CF.INSERT", "b", "ITEMS", *items[:1000])
        c.many([["CF.DEL", "b", i] for i in items[1000:2000]])
        assert _digests(c, ["a"]) == before and _counts(c, "a", items[:3000]) == counts
        more = [b - a for a, b in zip(counts, _counts(c, "b", items[:3000]))]
        assert more == [1] * 1000 + [-1] * 1000 + [0] * 1000, more


# ---- unions

def _origin(c, capacity=CAPACITY):
    """Two filters of one origin, each with items that the other has not, and what both hold."""
    c.do("BF.RESERVE", "a", "0.01", str(capacity))
    c.do("BF.MADD", "a", *_items("both", 20000))
    c.do("COPY", "a", "b")
    c.do("BF.MADD", "a", *_items("a", 30000))
    c.do("BF.MADD", "b", *_items("b", 30000))


def test_union_is_the_union():
    """Bit by bit that of a filter which got the items of both one by one: all answers alike."""
    with Server() as server:
        c = server.client()
        for capacity in (CAPACITY, 200000):
            _origin(c, capacity)
            c.do("COPY", "a", "one-by-one")
            c.do("BF.MADD", "one-by-one", *_items("b", 30000))
            c.do("BF.MERGE", "new", "a", "b")
            probes = _items("b", 200) + _items("out", 20000)
            assert c.do("BF.MEXISTS", "new", *probes) == c.do("BF.MEXISTS", "one-by-one", *probes)
            server.settle()
            assert c.do("BF.MEXISTS", "new", *probes) == c.do("BF.MEXISTS", "one-by-one", *probes)
            # How many there are is estimated, from one segment.
            cards = [c.do("BF.CARD", k) for k in ("new", "one-by-one")]
            assert abs(cards[0] - cards[1]) < 0.02 * cards[1], cards
            # What both have is counted once, what only one has is all counted.
            c.do("BF.MERGE", "new", "a")
            c.do("BF.MERGE", "new", "b", "a", "new")
            assert abs(c.do("BF.CARD", "new") - cards[1]) < 0.02 * cards[1]
            c.do("FLUSHALL")


def test_union_that_adds_nothing():
    """One has all of the other's: the number of items is known, also with a sample of few of them."""
    with Server() as server:
        c = server.client()
        for _ in range(5):
            c.do("BF.RESERVE", "a", "0.01", str(10 * CAPACITY))
            c.do("BF.MADD", "a", *_items("a", 9000))
            c.do("COPY", "a", "b")
            c.do("BF.MADD", "b", *_items("b", 1000))
            number = c.do("BF.CARD", "b")
            c.do("BF.MERGE", "ab", "a", "b")
            c.do("BF.MERGE", "ba", "b", "a")
            c.do("BF.MERGE", "b", "a")
            cards = [c.do("BF.CARD", k) for k in ("ab", "ba", "b")]
            assert cards == [number] * 3, (number, cards)
            c.do("FLUSHALL")


def test_union_that_is_too_much():
    """United they would exceed the rate: the union keeps them as merged filters, and reports it."""
    with Server() as server:
        c, capacity = server.client(), some(200000, CAPACITY)
        c.do("BF.RESERVE", "a", "0.01", str(capacity), "NONSCALING")
        c.do("COPY", "a", "b")
        for key in "ab":
            for start in range(0, capacity * 3 // 4, 50000):
                c.many([["BF.MADD", key] + ["%s-%d" % (key, i) for i in range(at, at + 1000)]
                        for at in range(start, start + 50000, 1000)])
        c.do("BF.MERGE", "new", "a", "b")
        assert float(c.do("BF.INFO", "new", "ERROR")[0]) == 0.02
        outside = c.do("BF.MEXISTS", "new", *_items("out", 20000))
        assert sum(outside) < 0.02 * 20000


def test_seen_in_the_midst():
    """A union that is still to be made is dumped, saved and rewritten as one that is."""
    with Server(options=["--appendonly", "yes"]) as server:
        c = server.client()
        _origin(c)
        c.do("BF.MERGE", "early", "a", "b")
        dump = c.do("DUMP", "early")
        server.settle()
        assert c.do("DUMP", "early") == dump
        chunks, at = [], 0
        c.do("BF.MERGE", "again", "a", "b")
        while True:
            at, data = c.do("BF.SCANDUMP", "again", str(at))
            if at == 0:
                break
            chunks.append((at, data))
        for at, data in chunks:
            c.do("BF.LOADCHUNK", "loaded", str(at), data)
        keys = ["a", "b", "early", "again", "loaded"]
        for save in (["BGREWRITEAOF"], ["BGSAVE"], ["DEBUG", "RELOAD"]):
            c.do("DEL", "new")
            server.settle()
            c.do("BF.MERGE", "new", "a", "b")
            c.do("COPY", "new", "new2", "REPLACE")
            c.do("BF.ADD", "new2", save[0])
            c.do(*save)
            before = _digests(c, keys + ["new", "new2"])
            assert len({before[k] for k in ("early", "again", "loaded", "new")}) == 1, before
            until(lambda: server.info("aof_rewrite_in_progress") == "0"
                  and server.info("rdb_bgsave_in_progress") == "0", what="the save")
            assert server.info("aof_last_bgrewrite_status") == "ok"
            server.restart()
            c = server.client()
            assert _digests(c, keys + ["new", "new2"]) == before, save


# ---- commands that wait

def test_waiting_is_replicated():
    """What was done after a wait is in the AOF and on the replica, once."""
    with Server(options=["--appendonly", "yes", "--appendfsync", "always"]) as primary, \
            Server() as replica:
        follow(replica, primary)
        c = primary.client()
        _origin(c)
        c.do("CF.RESERVE", "c", str(CAPACITY))
        c.do("CF.INSERT", "c", "ITEMS", *_items("c", 20000))
        keys, n = ["a", "b", "c", "u", "a1", "c1"], 0
        # On a busy machine the worker may be done before a command needs its tables.
        while n < some(10, 100) or n < 1000 and primary.info("bf_commands_waited") == "0":
            n += 1
            replies = c.many([["COPY", "a", "a1", "REPLACE"], ["COPY", "c", "c1", "REPLACE"],
                              ["BF.MADD", "a1"] + _items("n%d" % n, 300),
                              ["CF.INSERT", "c1", "ITEMS"] + _items("n%d" % n, 300),
                              ["BF.MERGE", "u", "b", "a1"], ["BF.MERGE", "u", "a"],
                              ["BF.INSERT", "u", "ITEMS"] + _items("u%d" % n, 300),
                              ["BF.MADD", "a"] + _items("a%d" % n, 100),
                              ["CF.INSERTNX", "c", "ITEMS"] + _items("n%d" % n, 100),
                              ["CF.DEL", "c1", "n%d-7" % n],
                              ["BF.MEXISTS", "u"] + _items("n%d" % n, 300)])
            assert not any(isinstance(r, Error) for r in replies), replies
            assert replies[-1] == [1] * 300 and replies[-2] == 1
        assert int(primary.info("bf_commands_waited")) > 0
        before = _digests(c, keys)
        caught_up(primary)
        assert _digests(replica.client(), keys) == before
        c.do("DEBUG", "RELOAD")
        assert _digests(c, keys) == before
        primary.kill()
        primary.start()
        assert _digests(primary.client(), keys) == before


def test_where_nobody_waits():
    """A transaction and a script go through at once."""
    with Server() as server:
        c = server.client()
        _origin(c)
        items, before = _items("t", 300), server.info("bf_commands_waited")
        c.many([["MULTI"], ["COPY", "a", "a1"], ["BF.MADD", "a1"] + items, ["BF.MERGE", "u", "a", "b"],
                ["BF.MEXISTS", "u"] + _items("b", 300), ["EXEC"]])
        script = ("redis.call('COPY', 'a', 'a2'); redis.call('BF.MERGE', 'v', 'a', 'b'); "
                  "redis.call('BF.MADD', 'a2', unpack(ARGV)); "
                  "return redis.call('BF.MEXISTS', 'v', unpack(ARGV))")
        c.do("EVAL", script, "0", *items)
        assert len(set(_digests(c, ["a1", "a2"]).values())) == 1
        assert len(set(_digests(c, ["u", "v"]).values())) == 1
        server.settle()
        assert c.do("BF.MEXISTS", "a1", *items) == [1] * 300
        assert server.info("bf_commands_waited") == before


def test_those_who_go():
    """Clients that go while they wait, and keys that go while somebody waits for them."""
    with Server() as server:
        c = server.client()
        _origin(c)
        for n in range(some(20, 200)):
            going = server.client()
            going.send(b"".join(encode(command) for command in (
                ["COPY", "a", "a%d" % n], ["BF.MADD", "a%d" % n] + _items("g", 300))))
            if n % 2:
                going.close()
            c.do(random.choice(("DEL", "UNLINK")), "a%d" % n)
            if n % 2 == 0:
                going.read()
                assert len(going.read()) == 300  # of a new filter, if the copy was gone
        c.do("FLUSHALL")
        server.settle()
        until(lambda: server.used_memory() < 16 << 20, what="the end of the memory")


def _pause_waiting(primary, n, *pause):
    """Pauses the clients while one of them waits to change a copy, and another to query a union,
    which gets its reply.  Returns the first; None if its change was made before the pause."""
    c, adding, reading = primary.client(), primary.client(), primary.client()
    number = adding.do("CLIENT", "ID")
    adding.send(encode(["COPY", "a", "to%s" % n])
                + encode(["BF.MADD", "to%s" % n] + _items("x", 300)))
    reading.send(encode(["BF.MERGE", "u%s" % n, "a", "b"])
                 + encode(["BF.MEXISTS", "u%s" % n] + _items("b", 300)))
    assert adding.read() == 1 and reading.read() == "OK"
    # The server runs a pipeline in one go: nothing happens between the two commands.
    state, paused = c.many([["CLIENT", "LIST", "ID", number], ["CLIENT", "PAUSE", *pause]])
    assert paused == "OK"
    assert reading.read() == [1] * 300  # a query changes nothing
    if b" flags=b " in state:
        return adding
    primary.client().do("CLIENT", "UNPAUSE")
    assert adding.read() == [1] * 300
    return None


def _waits_in_pause(primary, n, *pause):
    """Repeats that until the change waits: on a busy machine the worker may be done before the
    pause.  Returns the client, and the time before the pause."""
    for turn in range(100):
        begun = time.monotonic()
        adding = _pause_waiting(primary, "%d-%d" % (n, turn), *pause)
        if adding is not None:
            return adding, begun
        primary.client().do("DEL", "to%d-%d" % (n, turn), "u%d-%d" % (n, turn))
        primary.settle()
    raise AssertionError("no command waits")


def test_pause():
    """Nothing changes while clients are paused, which the server requires of its modules: a change
    that has waited waits for the end of the pause, in an AOF and on a replica as well."""
    with Server(options=["--appendonly", "yes", "--appendfsync", "always"]) as primary, \
            Server() as replica:
        follow(replica, primary)
        c = primary.client()
        _origin(c, 10 * CAPACITY)
        primary.settle()
        adding, _ = _waits_in_pause(primary, 0, str(PATIENCE * 1000), "WRITE")
        primary.settle()
        assert select.select([adding.socket], [], [], 0.3)[0] == []
        c.do("CLIENT", "UNPAUSE")
        assert adding.read() == [1] * 300
        adding, begun = _waits_in_pause(primary, 1, "600", "ALL")
        assert adding.read() == [1] * 300
        assert time.monotonic() - begun > 0.55
        assert int(primary.info("bf_commands_waited")) >= 2
        # A replica takes over meanwhile: the client gets an error.
        adding.send(encode(["COPY", "a", "to2"]) + encode(["BF.MADD", "to2"] + _items("x", 300)))
        assert adding.read() == 1
        c.do("FAILOVER", "TO", "127.0.0.1", str(replica.port))
        until(lambda: primary.info("role") == "slave" and replica.info("role") == "master"
              and primary.info("master_link_status") == "up", what="the failover")
        reply = adding.read()
        assert str(reply).startswith("UNBLOCKED") or reply == [1] * 300, reply
        caught_up(replica)
        keys = sorted(primary.client().do("KEYS", "*"))
        assert len(keys) == 7, keys
        before = _digests(primary.client(), keys)
        assert _digests(replica.client(), keys) == before
        primary.restart()
        assert _digests(primary.client(), keys) == before


def test_waiting_for_more():
    """What others note to be united while a command waits is not left to that command either."""
    with Server() as server:
        c, merging = server.client(), server.client()
        c.do("BF.RESERVE", "a", "0.01", str(10 * CAPACITY))
        c.do("BF.MADD", "a", *_items("a", 5000))
        for key in ("b1", "b2", "b3"):
            c.do("COPY", "a", key)
            c.do("BF.MADD", key, *_items(key, 5000))
        server.settle()
        done = int(server.info("bf_table_bytes_in_commands"))
        merging.send(b"".join(encode(["BF.MERGE", "a", key]) for key in ("b1", "b2", "b3")))
        assert merging.read() == "OK"
        c.do("BF.MADD", "a", *_items("new", 300))
        assert [merging.read() for _ in range(2)] == ["OK"] * 2
        done = int(server.info("bf_table_bytes_in_commands")) - done
        # Each union has made its sample, one segment of eleven, and copied that before.
        assert done < 3 * 2 * 2.8e6, done


def _done_in_commands(server, copy, command, turn):
    """Bytes of tables that the server's thread makes for 100 commands of one item after a copy."""
    c = server.client()
    c.do("DEL", copy[2] if copy[0] == "COPY" else copy[1])
    server.settle()
    before = int(server.info("bf_table_bytes_in_commands"))
    replies = c.many([copy] + [command + [item] for item in _items("x%d" % turn, 100)])
    assert len(set(replies[1:])) == 1, command  # all were new, or all are there
    return int(server.info("bf_table_bytes_in_commands")) - before


def test_pipeline_of_single_items():
    """One command makes the table that it needs; a hundred of them would make all, in one go."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "b", "0.01", str(10 * CAPACITY))
        c.do("BF.MADD", "b", *_items("b", 5000))
        c.do("CF.RESERVE", "c", str(10 * CAPACITY))
        c.do("CF.INSERT", "c", "ITEMS", *_items("c", 5000))
        for copy, command in ((["COPY", "b", "b1"], ["BF.ADD", "b1"]),
                              (["COPY", "b", "b2"], ["BF.ADD", "b"]),
                              (["BF.MERGE", "u", "b1", "b"], ["BF.EXISTS", "u"]),
                              (["COPY", "c", "c1"], ["CF.ADD", "c1"])):
            # Of 28 MB to copy, or of 56 to copy and unite: a few, and on a busy machine some more,
            # where a table may take longer than the time between two of them.
            limit = 45e6 if copy[0] == "BF.MERGE" else 22e6
            done = min(_done_in_commands(server, copy, command, turn) for turn in range(3))
            assert done < limit, (command, done)


def test_looked_up_once():
    """Events and INFO count a lookup once, whether its client waits or not."""
    with Server(options=["--notify-keyspace-events", "KEAm"]) as server:
        c, subscriber = server.client(), server.client()
        _origin(c, 10 * CAPACITY)
        c.do("CF.RESERVE", "c", str(CAPACITY))
        subscriber.do("PSUBSCRIBE", "__keyevent@0__:*")

        def reported(*first):
            """The events and counts of some commands after others."""
            looked = [int(server.info("keyspace_" + what)) for what in ("hits", "misses")]
            c.many([*first, ["BF.EXISTS", "none", "x"], ["BF.ADD", "new", "x"],
                    ["BF.MERGE", "union", "new"], ["BF.SCANDUMP", "union", "0"],
                    ["BF.MERGE", "union", "none"], ["CF.DEL", "none", "x"],
                    ["CF.ADD", "new-c", "x"], ["BF.EXISTS", "a", "a-1"],
                    ["DEL", "new", "union", "new-c"]])
            busy = int(server.info("bf_background_jobs"))
            c.do("PUBLISH", "__keyevent@0__:end", "")
            events = [subscriber.read()[2:] for _ in range(len(first))]
            while not events or not events[-1][0].endswith(b":end"):
                events.append(subscriber.read()[2:])
            now = [int(server.info("keyspace_" + what)) for what in ("hits", "misses")]
            return busy, events[len(first):], [n - b for n, b in zip(now, looked)]

        server.settle()
        _, events, looked = reported()
        for _ in range(100):  # on a busy machine the worker may be done before the end of them
            busy, events_behind, looked_behind = reported(["COPY", "a", "to1"], ["COPY", "b", "to2"])
            assert events_behind == events, (events_behind, events)
            looked_behind[0] -= 2  # by COPY
            assert looked_behind == looked, (looked_behind, looked)
            if busy > 0:
                break
            c.do("DEL", "to1", "to2")
            server.settle()
        assert busy > 0


def test_key_that_moves():
    """A key moves to another node of a cluster while a command waits for it: the client gets
    TRYAGAIN, and nothing is left behind."""
    with Cluster() as cluster:
        slot = cluster.servers[0].client().do("CLUSTER", "KEYSLOT", "{k}a")
        source = cluster.owner(slot)
        target = next(p for p in cluster.primaries() if p is not source)
        c, waiting = source.client(), source.client()
        for key in ("{k}a", "{k}b"):
            c.do("BF.RESERVE", key, "0.01", str(10 * CAPACITY))
            c.do("BF.MADD", key, *_items("i", 50000))
        name = {s: s.client().do("CLUSTER", "MYID").decode() for s in (source, target)}
        target.client().do("CLUSTER", "SETSLOT", str(slot), "IMPORTING", name[source])
        source.client().do("CLUSTER", "SETSLOT", str(slot), "MIGRATING", name[target])
        source.settle()
        waiting.send(encode(["COPY", "{k}a", "{k}b", "REPLACE"])
                     + encode(["BF.MADD", "{k}b"] + _items("x", 300)))
        assert waiting.read() == 1
        c.do("MIGRATE", "127.0.0.1", str(target.port), "{k}b", "0", "60000", "REPLACE")
        reply = waiting.read()
        source.settle()
        assert str(reply).startswith("TRYAGAIN") or len(reply) == 300, reply
        assert c.do("CLUSTER", "GETKEYSINSLOT", str(slot), "10") == [b"{k}a"]
        # A union that is to be made has not gone, but was not there before.
        c.do("CLUSTER", "SETSLOT", str(slot), "STABLE")
        for k in range(100):  # on a busy machine the worker may be done before the command comes
            copy, union, other = ("{k}%s%d" % (name, k) for name in "cuv")
            c.many([["COPY", "{k}a", copy], ["BF.MADD", copy] + _items("c%d" % k, 3000),
                    ["BF.MADD", "{k}a"] + _items("a%d" % k, 3000)])
            source.settle()
            before = int(source.info("bf_commands_waited"))
            replies = c.many([["BF.MERGE", union, "{k}a", copy], ["BF.MERGE", other, union]])
            assert replies == ["OK", "OK"], replies
            waited = int(source.info("bf_commands_waited")) > before
            if waited:
                break
            c.do("DEL", copy, union, other)
        assert waited


def test_all_at_once():
    """Clients that copy, unite, change and drop the same filters, by DEL and by UNLINK."""
    with Server() as server:
        _origin(server.client())
        end, wrong = time.monotonic() + some(3, 60), []

        def go(number):
            try:
                c, key = server.client(), "t%d" % number
                while time.monotonic() < end and not wrong:
                    replies = c.many([["COPY", "a", key, "REPLACE"], ["BF.MADD", key, "x%d" % number],
                                      ["BF.MADD", key] + _items(key, 200), ["BF.MERGE", key, "b"],
                                      ["BF.MADD", "a", str(random.random())],
                                      ["BF.MEXISTS", key] + _items(key, 200) + _items("b", 200),
                                      ["UNLINK" if number % 2 else "DEL", key]])
                    if replies[-2] != [1] * 400:
                        wrong.append(replies)
            except (Broken, AssertionError) as error:
                wrong.append(error)

        threads = [threading.Thread(target=go, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        saver = server.client()
        while time.monotonic() < end:
            saver.call("BGSAVE")
            time.sleep(0.2)
        for thread in threads:
            thread.join()
        assert not wrong, wrong[:1]


# ---- files

class Upload:
    """A file of some megabytes whose last chunk waits for the check."""

    def __init__(self, server, data):
        self.server, self.c, self.data = server, server.client(), data
        self.chunks = [["TAMIS.LOAD", "k", str(at), str(len(data)), data[at:at + (1 << 20)]]
                       for at in range(0, len(data), 1 << 20)]

    def wait(self):
        """All is sent, the last chunk by a client of its own, which waits."""
        assert not any(isinstance(r, Error) for r in self.c.many(self.chunks[:-1]))
        waiting = self.server.client()
        before = int(self.server.info("bf_commands_waited"))
        waiting.send(encode(self.chunks[-1]))
        until(lambda: int(self.server.info("bf_commands_waited")) > before, what="the wait")
        return waiting

    def serves(self, key="k"):
        return self.c.do("TAMIS.MEXISTS", key, "1", "2", "nowhere") == [1, 1, 0]


def test_file_that_is_checked():
    """Whatever is done to a key while its file is checked finds an upload without its last chunk."""
    with tempfile.TemporaryDirectory(prefix="tamis-redis.") as directory, \
            Server(options=["--appendonly", "yes", "--appendfsync", "always",
                            "--auto-aof-rewrite-percentage", "0"]) as server, \
            Server() as replica:
        path = os.path.join(directory, "f.tamis")
        tamis("build", "-q", "-k", "bloom", "-p", "1%", "-n", "20000000", "-o", path, data=b"1\n2\n")
        with open(path, "rb") as file:
            u = Upload(server, file.read())
        follow(replica, server)
        c = u.c
        waiting = u.wait()
        assert waiting.read() == len(u.data) and u.serves()
        # A copy, and an end, in the midst.
        waiting = u.wait()
        replies = c.many([["COPY", "k", "copy"], ["TAMIS.LOAD", "k", "ABORT"]])
        assert replies == [1, "OK"]
        assert isinstance(waiting.read(), (Error, int)) and u.serves() and u.serves("copy")
        # The key goes.
        waiting = u.wait()
        c.do("DEL", "k")
        waiting.read()
        assert c.do("EXISTS", "k") == 0
        # Another upload begins.
        waiting = u.wait()
        c.do(*u.chunks[0])
        waiting.read()
        assert [r for r in c.many(u.chunks[1:]) if isinstance(r, Error)] == [] and u.serves()
        # Another last chunk, which is wrong, comes second; or first, if it comes between the end of
        # the check and the turn of the client that waits for it: then there is nothing to end.
        waiting = u.wait()
        wrong = u.chunks[-1][:4] + [bytes(len(u.chunks[-1][4]))]
        second, first = c.call(*wrong), waiting.read()
        assert isinstance(second, Error) and u.serves(), second
        assert first == len(u.data) or first.startswith("ERR chunks must come in order"), first
        # The client goes; the chunk comes again, unless it was in time.
        u.wait().close()
        server.settle()
        again, info = c.call(*u.chunks[-1]), c.do("TAMIS.INFO", "k")
        assert isinstance(again, (int, Error)) and info[info.index("Bytes expected") + 1] == 0
        assert u.serves()
        # It is saved in the midst.
        c.do("DEL", "copy")
        waiting = u.wait()
        c.do("BGREWRITEAOF")
        assert waiting.read() == len(u.data)
        before = _digests(c, ["k"])
        caught_up(server)
        assert _digests(replica.client(), ["k"]) == before
        until(lambda: server.info("aof_rewrite_in_progress") == "0", what="the rewrite")
        server.restart()
        assert _digests(server.client(), ["k"]) == before


# ---- memory

def _able():
    if PRELOAD:
        raise Skip("under a sanitizer the memory is not the server's")


def test_memory_is_counted():
    """A copy counts as a filter of its own, which it becomes; what is dropped comes back."""
    _able()
    with Server() as server:
        c = server.client()
        _origin(c)
        size = c.do("MEMORY", "USAGE", "a")
        c.do("COPY", "a", "c")
        assert abs(c.do("MEMORY", "USAGE", "c") - size) < 100
        server.settle()
        used = server.used_memory()
        c.do("BF.MADD", "c", *_items("x", 1000))
        server.settle()
        assert abs(server.used_memory() - used) < 1 << 20  # it was there
        c.do("COPY", "a", "d")
        server.settle()
        c.do("DEL", "d")
        server.settle()
        assert abs(server.used_memory() - used) < 1 << 20, (used, server.used_memory())


def test_eviction_stops():
    """A server at its limit gets its memory at once: it must not evict more than it needs."""
    _able()
    with Server() as server:
        c = server.client()
        for n in range(10):
            c.do("BF.RESERVE", "k%d" % n, "0.01", "1500000")
            c.do("BF.ADD", "k%d" % n, "x")
            c.do("EXPIRE", "k%d" % n, "10000")
        server.settle()
        c.do("CONFIG", "SET", "maxmemory-policy", "volatile-random")  # filters, not the strings
        c.do("CONFIG", "SET", "maxmemory", str(server.used_memory() + (1 << 20)))
        for n in range(20):
            c.do("SET", "s%d" % n, "x" * 100000)
        left = sum(c.do("EXISTS", "k%d" % n) for n in range(10))
        assert 7 <= left <= 9, left


def test_eviction_of_copies():
    """Copies that go to make room make some, though others have their tables too."""
    _able()
    for lazy in "no", "yes":
        _evict_copies(lazy)


def _evict_copies(lazy):
    with Server(options=["--lazyfree-lazy-eviction", lazy]) as server:
        c = server.client()
        c.do("BF.RESERVE", "k", "0.01", "8000000")
        c.do("BF.MADD", "k", *_items("k", 1000))
        for n in range(6):
            c.do("COPY", "k", "k%d" % n)
            c.do("EXPIRE", "k%d" % n, str(1000 + n))
        server.settle()
        c.do("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
        c.do("CONFIG", "SET", "maxmemory", str(server.used_memory() + (1 << 20)))
        for n in range(50):
            c.do("SET", "s%d" % n, "x" * 100000)
        left = sum(c.do("EXISTS", "k%d" % n) for n in range(6))
        # Each gives back as much as is needed, of the copies that were made ahead.
        assert left >= 4 and c.do("BF.MEXISTS", "k5", *_items("k", 1000)) == [1] * 1000, left


def test_union_that_does_not_fit():
    """All that is merged must fit in the server's memory, though nothing of it is taken at once."""
    _able()
    with Server() as server:
        c = server.client()
        for key in "abc":
            c.do("BF.RESERVE", key, "0.01", "4000000")
            c.do("BF.MADD", key, *_items(key, 1000))
        size = c.do("MEMORY", "USAGE", "a")
        c.do("CONFIG", "SET", "maxmemory", str(server.used_memory() + size * 5 // 2))
        assert c.call("BF.MERGE", "u", "a", "b", "c") == "ERR Insufficient memory"
        assert c.call("BF.MERGE", "a", "b", "c") == "OK"  # which is there already
        server.settle()
        assert int(server.info("maxmemory")) > server.used_memory()
        assert c.do("EXISTS", "u") == 0 and c.do("BF.ADD", "a", "x") == 1
        # For the union with a small one there is room enough, though not for the destination again.
        c.do("BF.MADD", "small", "y", "z")
        c.do("CONFIG", "SET", "maxmemory", str(server.used_memory() + size // 2))
        assert c.call("BF.MERGE", "u", "a") == "ERR Insufficient memory"
        assert c.call("BF.MERGE", "a", "small") == "OK"
        server.settle()
        assert int(server.info("maxmemory")) > server.used_memory()
        assert c.do("BF.MEXISTS", "a", "x", "y", "z") == [1, 1, 1]


def _room(server, more=None):
    """Limits the address space of the process to this many more bytes; None: no limit."""
    with open("/proc/%d/statm" % server.process.pid) as file:
        bytes_now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limit = resource.RLIM_INFINITY if more is None else bytes_now + more
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def _dumped(c, more):
    """A dump without memory for its chunks, of 2.7 MB here, fails; it does not end early."""
    for verb, key in ("BF", "b"), ("CF", "c"):
        at, chunks = 0, 0
        while True:
            reply = c.call(verb + ".SCANDUMP", key, str(at))
            if isinstance(reply, Error):
                assert "memory" in str(reply), reply
                break
            at, chunks = reply[0], chunks + 1
            if at == 0:
                assert chunks > 20, (verb, more, chunks)
                break


def test_no_memory():
    """Where the system has no more memory tables are not made, copied or united, which is an error
    and not the end of the server; what was accepted is there."""
    if PRELOAD:
        raise Skip("a sanitizer takes addresses as it likes")
    for more in (4 << 20, 16 << 20, 64 << 20):
        with Server() as server:
            c = server.client()
            c.do("BF.RESERVE", "b", "0.01", "50000000")
            c.do("CF.RESERVE", "c", "50000000")
            c.do("BF.MADD", "b", *_items("b", 1000))
            c.do("CF.INSERT", "c", "ITEMS", *_items("c", 1000))
            _room(server, more)
            refused = 0
            for n in range(3):
                c.call("COPY", "b", "b2", "REPLACE")
                c.call("COPY", "c", "c2", "REPLACE")
                bloom = c.call("BF.MADD", "b2", *_items("new", 100))
                cuckoo = c.call("CF.INSERT", "c2", "ITEMS", *_items("new", 100))
                refused += isinstance(bloom[-1], Error) + (-1 in cuckoo)
                c.call("BF.RESERVE", "r%d" % n, "0.01", "2000000")
                c.call("BF.MERGE", "u", "b", "b2")
            assert refused != 0
            _dumped(c, more)
            server.check()
            _room(server)
            server.settle()
            assert all(c.do("BF.MEXISTS", "u", *_items("b", 1000)))
            for key in "b", "b2":
                assert all(c.do("BF.MEXISTS", key, *_items("b", 1000)))
            for key in "c", "c2":
                assert all(c.do("CF.MEXISTS", key, *_items("c", 1000)))
            added = [i for i, reply in zip(_items("new", 100), cuckoo) if reply == 1]
            assert not added or all(c.do("CF.MEXISTS", "c2", *added))
            assert c.do("BF.MADD", "b2", *_items("last", 100)).count(0) < 50


def _fill(c, least):
    """Fills the memory with blocks of `least` bytes or more, for uploads that never complete;
    returns their keys, the smallest first."""
    size, files = 64 << 20, []
    while size >= least:
        key = "file%d" % len(files)
        if isinstance(c.call("TAMIS.LOAD", key, "0", str(size), "x"), Error):
            size //= 2
        else:
            files.insert(0, key)
    return files


def test_no_memory_to_unite():
    """An item is not reported as known because its table cannot be united."""
    if PRELOAD:
        raise Skip("a sanitizer takes addresses as it likes")
    items, refused = _items("new", 100), 0
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "b", "0.01", "50000000")
        c.do("BF.MADD", "b", *_items("b", 1000))
        c.do("COPY", "b", "b2")
        c.do("BF.MADD", "b2", *_items("b2", 1000))
        server.settle()
        for blocks in range(1, 11):  # of memory that is left: for the first union, not for all
            _room(server, 1 << 20)
            c.do("DEL", *_fill(c, 2 << 20)[:blocks])
            c.do("BF.MERGE", "united", "b", "b2")
            c.do("COPY", "united", "shared")
            c.do("BF.ADD", "guest", "x")
            c.do("BF.MERGE", "guest", "united")
            replies = {key: c.many([["BF.ADD", key, item] for item in items])
                       for key in ("shared", "guest", "united")}
            _room(server)
            server.settle()
            for key, reported in replies.items():
                added = [i for i, reply in zip(items, reported) if not isinstance(reply, Error)]
                refused += len(items) - len(added)
                assert not added or all(c.do("BF.MEXISTS", key, *added)), (blocks, key)
                assert all(c.do("BF.MEXISTS", key, *_items("b", 1000), *_items("b2", 1000)))
            c.do("DEL", *replies, *c.do("KEYS", "file*"))
    assert refused != 0


def test_no_memory_for_chunks_of_unions():
    """Without memory to unite what a chunk is made of it is an error, and nothing made up."""
    if PRELOAD:
        raise Skip("a sanitizer takes addresses as it likes")
    with Server() as server:
        c = server.client()
        for key in "a", "b":
            redisbloom.load(c, key, 25000000)
            c.do("BF.MADD", key + "-bf", *_items(key, 1000))
        c.do("TAMIS.LOAD", "room", "0", str(20 << 20), "x")
        _room(server, 1 << 20)
        _fill(c, 2 << 20)
        c.do("BF.MERGE", "d", "a-bf", "b-bf")
        server.settle()
        c.do("DEL", "room")  # for the chunk, not for what is still to be united
        scarce = c.call("BF.SCANDUMP", "d", "1")
        _room(server)
        assert isinstance(scarce, Error) or scarce == c.do("BF.SCANDUMP", "d", "1")


def test_no_memory_to_save():
    """A child that has no memory to save a filter whole does not put a part in the place of the
    file that is there."""
    if PRELOAD:
        raise Skip("a sanitizer takes addresses as it likes")
    with Server(options=["--rdbcompression", "no"]) as server:
        c = server.client()
        c.do("BF.RESERVE", "b", "0.01", "20000000")
        c.do("BF.MADD", "b", *_items("b", 1000))
        assert c.do("SAVE") == "OK"
        _room(server, 1 << 20)
        _fill(c, 2 << 20)
        c.do("BGSAVE")
        until(lambda: server.info("rdb_bgsave_in_progress") == "0", what="the end of the child")
        assert server.info("rdb_last_bgsave_status") == "err"
        assert "Out of memory: cannot allocate" in server.log()
        server.kill()
        server.start()
        c = server.client()
        assert all(c.do("BF.MEXISTS", "b", *_items("b", 1000)))
        assert c.do("BF.MADD", "b", *_items("new", 100)).count(1) > 50

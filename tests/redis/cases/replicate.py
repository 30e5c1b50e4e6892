"""A primary and its replicas: the same filters, whatever was done and however it arrived."""
import random

from chance import absent
from servers import Server, caught_up, follow, until
from sizes import some

ITEMS = ["item-%d" % i for i in range(4000)]


def _work(c, rounds):
    """All that can be done to a filter."""
    for n in range(rounds):
        b, q = "b%d" % (n % 7), "c%d" % (n % 7)
        items = random.sample(ITEMS, 40)
        c.call("BF.RESERVE", "r%d" % (n % 50), "0.01", "50", *random.choice(
            [[], ["NONSCALING"], ["EXPANSION", "4"]]))
        c.call("BF.MADD", "r%d" % (n % 50), *items)
        c.call("BF.ADD", b, items[0])
        c.call("BF.INSERT", b, "CAPACITY", "100", "ITEMS", *items)
        c.call("CF.ADD", q, items[1])
        c.call("CF.ADDNX", q, items[2])
        c.call("CF.INSERT", q, "CAPACITY", "64", "ITEMS", *items[:10])
        c.call("CF.INSERTNX", q, "ITEMS", *items)
        for item in items[:15]:
            c.call("CF.DEL", q, item)
        if n % 10 == 9:
            c.call("CF.COMPACT", q)
            c.call("COPY", b, "copy", "REPLACE")
            c.call("RENAME", q, "c%d" % random.randrange(7))
            c.call("EVAL", "redis.call('BF.ADD', KEYS[1], ARGV[1]) "
                           "return redis.call('BF.MADD', KEYS[1], ARGV[1], ARGV[2])",
                   "1", "lua", items[3], items[4])
            c.many([["MULTI"], ["BF.ADD", "multi", items[5]], ["CF.ADD", "multic", items[5]],
                    ["EXEC"]])


def seen(c, key):
    """The observable state of a filter: its digest, its INFO, and its answers,
    false positives included.  (DUMP also has the number of repeated adds, which are not
    replicated, and Size includes counts, which stay wider after they were higher.)"""
    verb = "CF" if c.do("TYPE", key) == "MBbloomCF" else "BF"
    info = c.do(verb + ".INFO", key)
    reported = [pair for pair in zip(info[::2], info[1::2]) if pair[0] != "Size"]
    return (c.do("DEBUG", "DIGEST-VALUE", key), reported, c.do(verb + ".MEXISTS", key, *ITEMS))


def _same(primary, replica):
    caught_up(primary)
    c, r = primary.client(), replica.client()
    keys = sorted(c.do("KEYS", "*"))
    assert keys and sorted(r.do("KEYS", "*")) == keys
    for key in keys:
        assert seen(r, key) == seen(c, key), key


def test_refused_items():
    """Those that a filter at its limit of memory does not take are nowhere."""
    with Server() as primary, Server() as replica:
        follow(replica, primary)
        c = primary.client()
        for n, (capacity, limit) in enumerate(((1024, 3000), (1024, 4500), (100, 3000))):
            c.do("CF.RESERVE", "c%d" % n, str(capacity), "MAXMEMORY", str(limit))
            c.do("BF.RESERVE", "b%d" % n, "0.001", str(capacity), "MAXMEMORY", str(limit))
            for at in range(0, len(ITEMS), 400):
                c.call("CF.INSERT", "c%d" % n, "ITEMS", *ITEMS[at:at + 400])
                c.call("BF.MADD", "b%d" % n, *ITEMS[at:at + 400])
            for item in ITEMS[:50]:
                c.call("CF.ADD", "c%d" % n, item)
            # Copies of a present item may still be counted, and a false positive is one.
            more = [str(c.call("CF.ADD", "c%d" % n, "one more %d" % i)) for i in range(5)]
            assert sum("limit" in reply for reply in more) >= 3, more
        _same(primary, replica)


def test_room_of_once():
    """A primary that was loaded anew has room again where its replica's tables are still wide."""
    with Server() as primary, Server() as replica:
        follow(replica, primary)
        c = primary.client()
        items = ITEMS[:250]
        for limit in range(3500, 13000, 1000):
            key = "c%d" % limit
            c.do("CF.RESERVE", key, "1000", "MAXMEMORY", str(limit))
            for _ in range(3):
                c.call("CF.INSERT", key, "ITEMS", *items)
            for item in items:
                while c.do("CF.COUNT", key, item) > 2:
                    c.do("CF.DEL", key, item)
        c.do("DEBUG", "RELOAD")
        until(lambda: replica.info("master_link_status") == "up", what="the link")
        for key in c.do("KEYS", "*"):
            c.call("CF.INSERT", key, "ITEMS", *items[:10])
        _same(primary, replica)


def test_room_for_unions():
    """The same of BF.MERGE; and what a filter takes does not depend on when it was loaded."""
    with Server() as primary, Server() as replica:
        follow(replica, primary)
        c = primary.client()
        for key in ("one", "other"):
            c.do("BF.RESERVE", key, "0.01", "20000")
            c.do("BF.MADD", key, *[key + item for item in ITEMS])
        c.do("BF.RESERVE", "none", "0.01", "20000")
        limits = ["d%d" % limit for limit in range(145000, 205000, 10000)]
        for key in limits:
            c.do("BF.RESERVE", key, "0.01", "90000", "MAXMEMORY", key[1:])
            c.do("BF.MERGE", key, "one")
            c.call("BF.MERGE", key, "none")
        size = [c.do("MEMORY", "USAGE", key) for key in limits]
        c.do("DEBUG", "RELOAD")
        again = [c.do("MEMORY", "USAGE", key) for key in limits]
        assert all(b >= 0.8 * a for a, b in zip(size, again)), (size, again)
        until(lambda: replica.info("master_link_status") == "up", what="the link")
        for key in limits:
            c.call("BF.MERGE", key, "other")
        _same(primary, replica)


def test_union_with_nothing():
    """A filter without items, of a kind that is not united bit by bit, is in the union once,
    whether that was made or read."""
    with Server() as primary, Server() as replica:
        c = primary.client()
        for n in range(3):
            c.do("BF.RESERVE", "none%d" % n, "0.0001", "100000")
            c.do("BF.ADD", "d", "item %d" % n)
            c.do("BF.MERGE", "d", "none%d" % n)
        follow(replica, primary)
        c.do("BF.ADD", "other", "x")
        c.do("BF.MERGE", "d", "none0", "none1", "none2", "other")
        _same(primary, replica)
        size = c.do("BF.INFO", "d", "FILTERS")
        c.do("DEBUG", "RELOAD")
        c.do("BF.MERGE", "d", "none0", "none1", "none2", "other")
        assert c.do("BF.INFO", "d", "FILTERS") == size


def _leave_alone_in_tally(c, key):
    """A cuckoo filter whose only item is counted beside the table, which is empty again; returns
    the item: it looked like one that was there twice."""
    c.do("CF.RESERVE", key, "100", "ERROR", "0.25")
    c.do("CF.INSERT", key, "ITEMS", *ITEMS[:60], ITEMS[0])
    alike = next(i for i in map(str, range(1000000)) if c.do("CF.COUNT", key, i) == 2)
    c.do("CF.ADD", key, alike)
    for item in ITEMS[:60] + [ITEMS[0]]:
        assert c.do("CF.DEL", key, item) == 1
    assert c.do("CF.EXISTS", key, alike) == 1
    return alike


def test_empty_tables():
    """What becomes of a cuckoo filter does not depend on whether its empty table was read or is
    left from items that have gone."""
    with Server() as primary, Server() as replica:
        c, r = primary.client(), replica.client()
        alone = [_leave_alone_in_tally(c, key) for key in ("few", "many")]
        follow(replica, primary)
        for key, item, count in (("few", alone[0], 40), ("many", alone[1], 90)):
            added = [i for i in ITEMS[100:100 + count] if c.do("CF.ADDNX", key, i) == 1]
            _same(primary, replica)
            for gone in added[::2]:
                c.do("CF.DEL", key, gone)
            _same(primary, replica)
            assert all(r.do("CF.MEXISTS", key, item, *added[1::2]))


def test_stream():
    """The replica is there from the beginning."""
    with Server() as primary, Server() as replica:
        follow(replica, primary)
        _work(primary.client(), some(200, 3000))
        _same(primary, replica)


def test_full_sync():
    """It comes later, and gets an RDB first; diskless and by a file."""
    for diskless in ("yes", "no"):
        with Server(options=["--repl-diskless-sync", diskless]) as primary, Server() as replica:
            _work(primary.client(), 100)
            follow(replica, primary)
            _work(primary.client(), 100)
            _same(primary, replica)


def test_other_configuration():
    """A replica with other defaults, and a primary whose settings change at run time."""
    others = ["bf-initial-size", "7000", "bf-error-rate", "0.2", "cf-max-expansions", "5",
              "cf-bucket-size", "200"]
    with Server() as primary, Server(module_arguments=others) as replica:
        follow(replica, primary)
        c = primary.client()
        _work(c, 50)
        for name, value in (("bf-initial-size", "300"), ("bf-error-rate", "0.001"),
                            ("bf-expansion-factor", "4"), ("cf-initial-size", "200"),
                            ("cf-bucket-size", "4"), ("cf-max-iterations", "50"),
                            ("cf-expansion-factor", "2")):
            c.do("CONFIG", "SET", "bf." + name, value)
        for n in range(20):
            c.do("BF.MADD", "made-b%d" % n, *random.sample(ITEMS, 400))
            c.do("CF.INSERT", "made-c%d" % n, "ITEMS", *random.sample(ITEMS, 400))
        _same(primary, replica)


def test_less_memory():
    """A replica whose maxmemory is smaller takes what the primary has, and loads its own AOF."""
    limit = ["--maxmemory", "3mb", "--appendonly", "yes"]
    with Server() as primary, Server(options=limit) as replica:
        follow(replica, primary)
        c = primary.client()
        for key in "ab":
            c.do("BF.RESERVE", key, "0.01", "2000000")
            c.do("BF.ADD", key, key)
        c.do("BF.MERGE", "union", "a", "b")
        _same(primary, replica)
        c.do("TAMIS.LOAD", "coming", "0", "10000000", "x")
        c.do("RESTORE", "restored", "0", c.do("DUMP", "coming"))
        caught_up(primary)
        replica.client().do("REPLICAOF", "NO", "ONE")
        for _ in range(2):
            r = replica.client()
            assert r.do("BF.MEXISTS", "union", "a", "b", "c") == [1, 1, 0]
            assert r.do("EXISTS", "coming", "restored") == 2
            replica.restart()


def test_chain_and_failover():
    """A replica of a replica; then the middle one becomes the primary and is written to."""
    with Server() as first, Server() as second, Server() as third:
        follow(second, first)
        follow(third, second)
        _work(first.client(), 60)
        _same(first, second)
        second.client().do("REPLICAOF", "NO", "ONE")
        _work(second.client(), 60)
        _same(second, third)


def test_only_what_was_done():
    """The stream has nothing for what changed nothing."""
    with Server() as primary, Server() as replica:
        follow(replica, primary)
        c = primary.client()
        c.do("BF.MADD", "b", *ITEMS[:100])
        c.do("CF.INSERTNX", "c", "ITEMS", *ITEMS[:100])
        c.do("COPY", "b", "part")
        c.do("BF.MADD", "b", *ITEMS[100:200])
        c.do("BF.MADD", "other", *ITEMS[:100])
        c.do("BF.MERGE", "b", "part", "other")
        c.do("BF.RESERVE", "large", "0.01", "10000000")
        c.do("BF.MADD", "large", *ITEMS[:100])
        c.do("COPY", "large", "same")
        caught_up(primary)

        def bytes_for(command):
            """What 200 of them put into the stream (pings of the primary are a few bytes)."""
            before = int(primary.info("master_repl_offset"))
            for _ in range(200):
                c.do(*command)
            return int(primary.info("master_repl_offset")) - before

        for command in (["BF.ADD", "b", ITEMS[0]], ["BF.MADD", "b", *ITEMS[:100]],
                        ["BF.INSERT", "b", "ITEMS", *ITEMS[:50]], ["CF.ADDNX", "c", ITEMS[0]],
                        ["CF.INSERTNX", "c", "ITEMS", *ITEMS[:100]], ["CF.DEL", "c", "no such"],
                        ["BF.EXISTS", "b", "x"], ["CF.COUNT", "c", "x"], ["BF.MERGE", "b", "b"],
                        ["BF.MERGE", "b", "part"], ["BF.MERGE", "b", "other", "part", "b"],
                        ["BF.MERGE", "large", "same"]):
            assert bytes_for(command) < 1000, command[:3]
        # What one of them lacks is a change.
        another = absent(c, "BF", "part", "b")
        assert c.do("BF.ADD", "part", another) == 1
        before = int(primary.info("master_repl_offset"))
        assert c.do("BF.MERGE", "b", "part") == "OK" and c.do("BF.EXISTS", "b", another) == 1
        assert int(primary.info("master_repl_offset")) > before
        _same(primary, replica)


def test_replica_is_read_only():
    with Server() as primary, Server() as replica:
        primary.client().do("BF.ADD", "b", "x")
        primary.client().do("CF.ADD", "c", "x")
        follow(replica, primary)
        r = replica.client()
        for command in (["BF.ADD", "b", "y"], ["BF.RESERVE", "n", "0.1", "5"],
                        ["BF.MADD", "b", "y"], ["BF.INSERT", "b", "ITEMS", "y"],
                        ["CF.ADD", "c", "y"], ["CF.DEL", "c", "x"], ["CF.COMPACT", "c"],
                        ["CF.INSERT", "c", "ITEMS", "y"], ["BF.LOADCHUNK", "n", "1", "x"],
                        ["CF.LOADCHUNK", "n", "1", "x"]):
            assert str(r.call(*command)).startswith("READONLY"), command
        assert r.do("BF.EXISTS", "b", "x") == 1
        assert r.do("CF.EXISTS", "c", "x") == 1

"""Memory and rates, as promised, measured on the server itself.

A million items at 1 %: what the key takes (MEMORY USAGE) and what is wrongly said to be there.
"""
import redisbloom
from chance import upper_bound
from resp import Error
from servers import Server, Skip, until
from sizes import some

COUNT = 1000000
PROBES = some(200000, 1000000)


def _add(c, command, count, prefix="in"):
    for start in range(0, count, 10000):
        batch = [command + ["%s-%d" % (prefix, i) for i in range(at, at + 1000)]
                 for at in range(start, min(count, start + 10000), 1000)]
        for reply in c.many(batch):
            assert isinstance(reply, list) and len(reply) == 1000, reply


def _rate(c, verb, key="k", promised=0.01):
    """The measured false positive rate, which is not above the promised one."""
    wrong = 0
    for start in range(0, PROBES, 10000):
        for reply in c.many([[verb + ".MEXISTS", key] + ["out-%d" % i for i in range(at, at + 1000)]
                             for at in range(start, start + 10000, 1000)]):
            wrong += sum(reply)
    assert wrong <= upper_bound(PROBES, promised), (key, wrong)
    return wrong / PROBES


def _none_missing(c, verb, count, key="k"):
    for start in range(0, count, 10000):
        for reply in c.many([[verb + ".MEXISTS", key] + ["in-%d" % i for i in range(at, at + 1000)]
                             for at in range(start, start + 10000, 1000)]):
            assert all(reply)


def _bits(c, key="k", count=COUNT):
    return 8 * c.do("MEMORY", "USAGE", key, "SAMPLES", "0") / count


def _report(what, bits, rate):
    print("         %s: %.2f bits an item, %.3f %% wrong" % (what, bits, 100 * rate))


def test_bloom():
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "k", "0.01", str(COUNT))
        _add(c, ["BF.MADD", "k"], COUNT)
        bits, rate = _bits(c), _rate(c, "BF")
        _report("BF", bits, rate)
        _none_missing(c, "BF", COUNT)
        assert bits <= 10.3


def test_bloom_large():
    """More items than a segment holds: another kind of filter, with less of the rate to spare."""
    count = some(2100000, 4200000)
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "k", "0.01", "2100000")
        _add(c, ["BF.MADD", "k"], count)
        bits, rate = _bits(c, count=count), _rate(c, "BF")
        _report("BF of %d in 2,100,000" % count, bits, rate)
        _none_missing(c, "BF", count)
        assert bits <= some(10.3, 15)


def test_bloom_grown():
    """Reserved for a tenth of what came."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "k", "0.01", str(COUNT // 10))
        _add(c, ["BF.MADD", "k"], COUNT)
        bits, rate = _bits(c), _rate(c, "BF")
        _report("BF from 100,000", bits, rate)
        _none_missing(c, "BF", COUNT)
        assert bits <= 15


def test_cuckoo():
    with Server() as server:
        c = server.client()
        c.do("CF.RESERVE", "k", str(COUNT))
        _add(c, ["CF.INSERT", "k", "ITEMS"], COUNT)
        bits, rate = _bits(c), _rate(c, "CF")
        _report("CF", bits, rate)
        _none_missing(c, "CF", COUNT)
        assert bits <= 13


def test_cuckoo_grown():
    with Server() as server:
        c = server.client()
        c.do("CF.RESERVE", "k", str(COUNT // 10))
        _add(c, ["CF.INSERT", "k", "ITEMS"], COUNT)
        bits, rate = _bits(c), _rate(c, "CF")
        _report("CF from 100,000", bits, rate)
        _none_missing(c, "CF", COUNT)


def test_small_rates():
    """The rate holds where it is small, and for filters made by their first item."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "fine", "0.0001", "100000")
        _add(c, ["BF.MADD", "fine"], 100000)
        _rate(c, "BF", "fine", 0.0001)
        _add(c, ["BF.MADD", "default"], 200000)
        rate = _rate(c, "BF", "default")
        _report("BF of defaults at 200,000", _bits(c, "default", 200000), rate)


def test_deleted_items_leave():
    """A cuckoo filter that is filled and emptied again and again does not grow."""
    with Server() as server:
        c = server.client()
        c.do("CF.RESERVE", "k", "10000")
        for turn in range(some(10, 50)):
            items = ["%d-%d" % (turn, i) for i in range(8000)]
            assert c.do("CF.INSERT", "k", "ITEMS", *items) == [1] * 8000
            assert c.many([["CF.DEL", "k", i] for i in items]) == [1] * 8000
        info = c.do("CF.INFO", "k")
        assert info[info.index("Number of filters") + 1] <= 2, info
        assert info[info.index("Number of items inserted") + 1] == 0, info
        assert sum(c.do("CF.MEXISTS", "k", *items)) == 0


def _make_kinds(c, name):
    """A filter of each kind, and strings in between that will leave holes."""
    redisbloom.load(c, name, 100)
    c.do("BF.RESERVE", name + "-window-bf", "0.01", "100", "WINDOW", "1000")
    c.do("BF.RESERVE", name + "-large-bf", "0.01", "10000")
    c.do("CF.RESERVE", name + "-few-cf", "100")
    for verb, add in (("bf", ["BF.ADD"]), ("cf", ["CF.ADD"])):
        for kind in ("", "-window", "-large", "-few", "-first"):
            c.call(*add, name + kind + "-" + verb, "x")
    c.do("SET", name + "-string", "y" * 400)


def test_defragmentation():
    """The server moves what lies in sparse pages, and every filter stays what it is."""
    with Server() as server:
        c = server.client()
        if isinstance(c.call("CONFIG", "SET", "activedefrag", "yes"), Error):
            raise Skip("this server cannot move memory")
        for name, value in (("ignore-bytes", "1"), ("threshold-lower", "0"), ("cycle-min", "60"),
                            ("cycle-max", "75")):
            c.do("CONFIG", "SET", "active-defrag-" + name, value)
        for n in range(1000):
            _make_kinds(c, "k%d" % n)
        c.do("DEL", *[key for key in c.do("KEYS", "*") if not key.startswith((b"k1", b"k7"))],
             *["k%d-string" % n for n in range(1000)])
        until(lambda: int(server.info("active_defrag_key_hits")) > 100, what="a move")
        for key in c.do("KEYS", "*"):
            verb = "CF" if key.endswith(b"-cf") else "BF"
            assert c.do(verb + ".EXISTS", key, "x") == 1, key

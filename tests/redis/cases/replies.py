"""Replies, letter by letter, in both protocols: see golden.py."""
import glob
import os
import random

import golden
from resp import encode
from servers import Server

_FILES = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "..", "replies", "*.txt")))


def _play(protocol):
    assert len(_FILES) >= 5, "where are the files?"
    wrong = []
    with Server() as server:
        for path in _FILES:
            wrong += golden.play(server.client(protocol), protocol, path)
    assert not wrong, "%d replies:\n%s" % (len(wrong), "\n".join(wrong))


def test_resp2():
    _play(2)


def test_resp3():
    _play(3)


def _rows(c, kind):
    """Results of all patterns, queried together and one by one; `kind` is their type."""
    assert c.do("FLUSHALL") == "OK"
    # So large, and at such a rate, that there is no false positive.
    c.do("BF.RESERVE", "b", "0.01", "1000000")
    c.do("CF.RESERVE", "c", "1000000", "ERROR", "0.000000001")
    for width in (*range(1, 41), 100, 127, 128, 129, 137, 300):
        words = ["%d-%d" % (width, i) for i in range(width)]
        known = [w for w in words if random.random() < 0.5] or words[:1]
        for key, add, insert, ask in (("b", "BF.ADD", ["BF.INSERT", "b", "ITEMS"], "BF.EXISTS"),
                                      ("c", "CF.ADD", ["CF.INSERTNX", "c", "ITEMS"], "CF.EXISTS")):
            there = [c.do(add, key, w) for w in known]
            singly = [c.do(ask, key, w) for w in words]
            together = c.do(ask.replace(".", ".M"), key, *words)
            assert there and together == singly, (ask, width)
            assert all(type(x) is kind for x in together), (ask, together)
            added = c.do(*insert, *words)
            assert added == [not x for x in singly], (insert, width)
            one = int if insert[0] == "CF.INSERTNX" else kind
            assert all(type(x) is one for x in added), (insert, added)
        again = c.do("CF.INSERT", "c", "ITEMS", *words)
        assert again == [1] * width and all(type(x) is kind for x in again), again
        assert c.do("BF.MADD", "b", *words) == [0] * width


def test_rows():
    with Server() as server:
        _rows(server.client(2), int)
        _rows(server.client(3), bool)


def test_rows_elsewhere():
    """In a transaction, in a script, and to a client that wants no replies."""
    with Server() as server:
        for protocol in (2, 3):
            c = server.client(protocol)
            c.do("FLUSHALL")
            c.do("BF.RESERVE", "b", "0.000000001", "10000")  # without false positives
            words = ["w%d" % i for i in range(50)]
            c.do("MULTI")
            c.do("BF.MADD", "b", *words)
            c.do("BF.MEXISTS", "b", *words)
            assert c.do("EXEC") == [[1] * 50, [1] * 50]
            script = "return redis.call('BF.MEXISTS', KEYS[1], unpack(ARGV))"
            assert c.do("EVAL", script, "1", "b", *words, "no") == [1] * 50 + [0]
            c.send(encode(["CLIENT", "REPLY", "OFF"]) + encode(["BF.MEXISTS", "b", *words]) +
                   encode(["CLIENT", "REPLY", "ON"]))
            assert c.read() == "OK" and c.do("PING") == "PONG"


def test_rows_are_not_for_clients():
    with Server() as server:
        c = server.client()
        assert str(c.call("TAMIS.ANSWERS")) == "ERR this command is internal to the module"
        assert str(c.call("TAMIS.ANSWERS", "x")).startswith("ERR wrong number of arguments")
        assert c.do("PING") == "PONG"

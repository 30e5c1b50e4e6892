"""tamis redis on one server: the verbs, their output and exit codes, and the scheme itself."""
import json
import os
import random
import socket
import subprocess
import threading
import time
import zlib

from chance import upper_bound
from servers import COMMAND, PATIENCE, Server, Skip, has_redis_command, tamis, until


class On:
    """A server and the command that talks to it."""

    def __init__(self, **options):
        if not COMMAND or not has_redis_command():
            raise Skip("the command was built without hiredis")
        self.server = Server(**options)

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *what):
        return self.server.__exit__(*what)

    def __call__(self, verb, *words, **options):
        return tamis("redis", verb, *words, "-s", "127.0.0.1:%d" % self.server.port, **options)


def _lines(*items):
    return b"".join(i.encode() + b"\n" for i in items)


def shard_of(item, shards):
    """The scheme in one line, as the header has it."""
    return (zlib.crc32(item) * 0x9E3779B1 % 2**32) * shards >> 32


def test_load_and_query():
    with On() as redis:
        redis("reserve", "seen", "-n", "1000")
        done = redis("load", "seen", data=_lines("a", "b", "c", "a"))
        assert b"loaded 4 keys, 3 of them new" in done.stderr, done.stderr
        assert redis("query", "seen", data=_lines("a", "x", "c", "y")).stdout == b"a\nc\n"
        assert redis("query", "-v", "seen", data=_lines("a", "x", "c", "y")).stdout == b"x\ny\n"
        assert redis("query", "-c", "seen", data=_lines("a", "x", "c")).stdout == b"2\n"
        assert redis("query", "-n", "seen", data=_lines("x", "b", "c")).stdout == b"2:b\n3:c\n"
        assert redis("query", "-q", "seen", data=_lines("x", "b")).stdout == b""
        redis("reserve", "one", "-n", "10")
        done = redis("load", "one", data=_lines("a"))
        assert b"loaded 1 key, 1 of them new; now 1 key in" in done.stderr, done.stderr
        redis("query", "seen", data=_lines("x", "y"), check=(1,))
        redis("query", "-q", "seen", data=b"", check=(1,))
        redis("query", "-q", "seen", "-", "/nowhere", data=_lines("b"))
        redis("query", "-q", "seen", "/nowhere", "-", data=_lines("b"))
        done = redis("query", "-q", "seen", "-", "/nowhere", data=_lines("x"), check=(2,))
        assert b"cannot open '/nowhere'" in done.stderr, done.stderr
        assert redis("query", "seen", data=b"x\na").stdout == b"a"
        assert redis("query", "seen", data=b"a\nb").stdout == b"a\nb"


def test_keys():
    with On() as redis:
        redis("reserve", "-q", "seen", "-n", "1000")
        redis("load", "-q", "-t", ",", "-F", "2", "seen", data=b"1,alpha\n2,beta\n")
        assert redis("query", "seen", data=_lines("alpha", "1")).stdout == b"alpha\n"
        redis("load", "-q", "--hex", "seen", data=b"00ff\n")
        assert redis("query", "-0", "seen", data=b"\x00alpha\x00").stdout == b"alpha\x00"
        assert redis("query", "--hex", "seen", data=b"00FF\n").stdout == b"00FF\n"
        redis("load", "-q", "--fold-case", "--strip-cr", "seen", data=b"MiXed\r\n")
        assert redis("query", "seen", data=_lines("mixed", "MiXed")).stdout == b"mixed\n"
        redis("load", "-q", "seen", data=b"\n")  # the empty record is a key
        assert redis("query", "seen", data=b"\n").stdout == b"\n"
        done = redis("query", "--hex", "seen", data=b"00ff\nxyz!\n", check=(2,))
        assert done.stdout == b"00ff\n" and b"line 2" in done.stderr
        for words in (["--prehashed"], ["--key-file", "/dev/null"]):
            redis("load", *words, "seen", data=b"", check=(2,))


def test_refusals_are_reported():
    """An operation that the server denies is not done, and is reported as denied."""
    with On() as redis:
        c = redis.server.client()
        redis("reserve", "-q", "seen", "-n", "1000")
        redis("load", "-q", "seen", data=_lines("a"))
        c.do("ACL", "SETUSER", "guest", "on", ">pw", "~*", "+@all", "-unlink", "-hsetnx")
        guest = {"environment": {"REDISCLI_AUTH": "pw"}, "check": (2,)}
        assert b"NOPERM" in redis("drop", "seen", "--user", "guest", **guest).stderr
        assert b"NOPERM" in redis("reserve", "new", "-n", "9", "--user", "guest", **guest).stderr
        c.do("SET", "text", "x")
        assert b"already exists" in redis("reserve", "text", "-n", "9", check=(2,)).stderr
        c.do("CONFIG", "SET", "maxmemory", "1")
        assert b"OOM" in redis("reserve", "new", "-n", "9", check=(2,)).stderr
        c.do("CONFIG", "SET", "maxmemory", "0")
        c.do("REPLICAOF", "127.0.0.1", "1")
        assert b"READONLY" in redis("drop", "seen", check=(2,)).stderr
        assert b"READONLY" in redis("reserve", "new", "-n", "9", check=(2,)).stderr
        assert redis("query", "seen", data=_lines("a")).stdout == b"a\n"


def test_rate_that_is_not_kept():
    """Other modules accept ERROR of CF.RESERVE and ignore it, so it is not sent to them."""
    with On(module="") as redis:
        done = redis("reserve", "seen", "-n", "1000", "-k", "cuckoo", "-p", "0.1%", check=(2,))
        assert b"the tamis module" in done.stderr, done.stderr
        assert redis.server.client().do("DBSIZE") == 0


def test_for_hardly_any():
    """A filter for one key can be had of either kind."""
    with On() as redis:
        for kind in ("bloom", "cuckoo"):
            for shards in ("1", "16"):
                name = kind + shards
                redis("reserve", "-q", name, "-n", "1", "-k", kind, "--shards", shards)
                redis("load", "-q", name, data=_lines("a", "b", "c", "d", "e"))
                assert redis("query", "-c", name, data=_lines("a", "b", "e")).stdout == b"3\n"


def test_scheme():
    """Each item is in the shard of the formula and in no other."""
    with On() as redis:
        c = redis.server.client()
        items = ["item-%d" % i for i in range(3000)] + ["", "{x}", "\u00e9"]
        for name, kind, shards in (("b", "bloom", 7), ("c", "cuckoo", 16)):
            redis("reserve", name, "-n", "3000", "-k", kind, "--shards", str(shards))
            redis("load", "-q", name, data=_lines(*items))
            verb = "BF" if kind == "bloom" else "CF"
            for i in range(shards):
                own = [x for x in items if shard_of(x.encode(), shards) == i]
                key = "%s:{%d}" % (name, i)
                assert own and all(c.do(verb + ".MEXISTS", key, *own)), key
                info = c.do(verb + ".INFO", key)
                count = info[info.index("Number of items inserted") + 1]
                new = len(own) - upper_bound(len(own), 0.01)  # the others are false positives
                assert new <= count <= len(own), (key, count, len(own))
            fields = c.do("HGETALL", name)
            stored = dict(zip(fields[::2], fields[1::2]))
            assert stored[b"format"] == b"tamis-shards-1"
            assert stored[b"shards"] == str(shards).encode()
            assert stored[b"kind"] == kind.encode()


def test_balance():
    """No shard has much more than its part, for keys of all sorts."""
    random.seed(5)
    families = {"numbers": [b"%d" % i for i in range(50000)],
                "padded": [b"user:%08d" % i for i in range(50000)],
                "urls": [b"https://example.org/a/%d?x=%d" % (i // 100, i) for i in range(50000)],
                "binary": [i.to_bytes(8, "little") for i in range(50000)],
                "binary, big-endian": [(i << 20).to_bytes(8, "big") for i in range(50000)],
                "random": [random.randbytes(12) for _ in range(50000)]}
    for shards in (3, 16, 64):
        for what, items in families.items():
            counts = [0] * shards
            for item in items:
                counts[shard_of(item, shards)] += 1
            mean = len(items) / shards
            assert max(counts) < mean + 5 * mean**0.5, (what, shards, max(counts), mean)


def test_many():
    """More than a window of keys, in one file, in order."""
    with On() as redis:
        redis("reserve", "-q", "seen", "-n", "200000", "-p", "0.1%")
        inside = ["k%d" % i for i in range(100000)]
        redis("load", "-q", "seen", data=_lines(*inside))
        mixed = [x for i in range(100000) for x in ("k%d" % i, "no%d" % i)]
        out = redis("query", "seen", data=_lines(*mixed)).stdout.decode().split()
        assert [x for x in out if x[0] == "k"] == inside
        wrong = [x for x in out if x[0] == "n"]
        assert len(wrong) < 200, len(wrong)
        reported = json.loads(redis("info", "--json", "seen").stdout)
        assert reported["shards"] == 16 and reported["nodes"] == 1 and reported["kind"] == "bloom"
        assert 99500 <= reported["keys"] <= 100000 and reported["reserved"] == 200000
        assert reported["stages"] == 16
        assert b"16 on 1 node" in redis("info", "seen").stdout


def test_cuckoo_rate():
    with On() as redis:
        redis("reserve", "-q", "members", "-n", "20000", "-k", "cuckoo", "-p", "0.01%")
        redis("load", "-q", "members", data=_lines(*["k%d" % i for i in range(20000)]))
        others = _lines(*["no%d" % i for i in range(50000)])
        wrong = int(redis("query", "-c", "members", data=others, check=(0, 1)).stdout)
        assert wrong <= upper_bound(50000, 0.0001), wrong
        assert redis("query", "-v", "-c", "members", check=(1,),
                     data=_lines(*["k%d" % i for i in range(20000)])).stdout == b"0\n"


def test_growth():
    """A filter grows far beyond what it was reserved for, of either kind."""
    keys = _lines(*["k%d" % i for i in range(50000)])
    with On() as redis:
        for kind in ("bloom", "cuckoo"):
            redis("reserve", "-q", kind, "-n", "10", "-k", kind, "--shards", "2")
            redis("load", "-q", kind, data=keys)
            assert redis("query", "-v", "-c", kind, data=keys, check=(1,)).stdout == b"0\n"


def test_plain_filters():
    """A BF or CF key that anybody has made."""
    with On() as redis:
        c = redis.server.client()
        c.do("BF.RESERVE", "bf", "0.01", "100")
        c.do("CF.RESERVE", "cf", "100")
        for key in ("bf", "cf"):
            redis("load", "-q", key, data=_lines("a", "b"))
            assert redis("query", key, data=_lines("b", "z")).stdout == b"b\n"
            assert json.loads(redis("info", "--json", key).stdout)["sharded"] is False
        redis("drop", "bf")
        assert c.do("EXISTS", "bf") == 0


def test_refusals():
    with On() as redis:
        c = redis.server.client()
        c.do("SET", "string", "x")
        c.do("HSET", "hash", "a", "b")
        c.do("SET", "way:{3}", "x")
        redis("reserve", "-q", "seen", "-n", "100")
        for words, why in ((["load", "none"], b"there is no filter 'none'"),
                           (["query", "string"], b"is a string, not a filter"),
                           (["info", "hash"], b"not of a filter"),
                           (["reserve", "seen", "-n", "5"], b"'seen' already exists"),
                           (["reserve", "way", "-n", "5"], b"'way:{3}' already exists"),
                           (["reserve", "a{b}", "-n", "5"], b"cannot contain braces"),
                           (["reserve", "x"], b"missing -n N"),
                           (["reserve", "x", "-n", "5", "-k", "fuse"], b"bloom or cuckoo"),
                           (["load"], b"missing NAME")):
            done = redis(*words, data=b"a\n", check=(2,))
            assert why in done.stderr, (words, done.stderr)
        assert c.do("EXISTS", "way", "x", "none") == 0
        assert c.do("GET", "way:{3}") == b"x"


def test_password():
    with On(options=["--requirepass", "secret"]) as redis:
        pass_it = {"REDISCLI_AUTH": "secret"}
        redis("reserve", "seen", "-n", "100", environment=pass_it)
        redis("load", "-q", "seen", data=b"a\n", environment=pass_it)
        done = redis("query", "--patience", "1", "seen", data=b"a\n", check=(2,))
        assert b"NOAUTH" in done.stderr, done.stderr
        done = redis("query", "seen", data=b"a\n", check=(2,),
                     environment={"REDISCLI_AUTH": "wrong"})
        assert b"WRONGPASS" in done.stderr, done.stderr
        done = redis("info", "--user", "somebody", "seen", check=(2,))
        assert b"--user somebody: missing password" in done.stderr, done.stderr


def test_user_who_may_not():
    """A denied reply is not taken for a missing filter."""
    with On() as redis:
        redis("reserve", "-q", "seen", "-n", "100")
        redis.server.client().do("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "-hgetall")
        for verb in ("info", "query", "load", "drop"):
            done = redis(verb, "seen", "--user", "u", data=b"a\n", check=(2,),
                         environment={"REDISCLI_AUTH": "p"})
            assert b"'seen': NOPERM" in done.stderr, (verb, done.stderr)
        assert redis("query", "-v", "seen", data=b"a\n").stdout == b"a\n"


def test_reserve_that_cannot_be_undone():
    """Shards that are left from a reserve that failed still have their hash, so that a drop finds
    them."""
    with On() as redis:
        c = redis.server.client()
        c.do("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "-bf.reserve", "-unlink",
             "(+bf.reserve ~x:{0} ~x:{1})", "(+unlink ~x)")
        done = redis("reserve", "x", "-n", "100", "--shards", "3", "--user", "u", check=(2,),
                     environment={"REDISCLI_AUTH": "p"})
        assert b"'x:{2}': NOPERM" in done.stderr, done.stderr
        assert c.do("EXISTS", "x:{0}", "x:{1}") == 2
        redis("drop", "x")
        redis("reserve", "-q", "x", "-n", "100", "--shards", "3")


def _talk(listener):
    """A reply that does not end is an error."""
    client, _ = listener.accept()
    try:
        client.sendall(b"$1000000\r\n")
        while True:
            time.sleep(0.5)
            client.sendall(b"x")
    except OSError:
        client.close()


def test_answer_without_end():
    """A server that sends bytes without completing a reply times out."""
    if not COMMAND or not has_redis_command():
        raise Skip("the command was built without hiredis")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_talk, args=(listener,), daemon=True).start()
        done = tamis("redis", "info", "x", "-s", "127.0.0.1:%d" % listener.getsockname()[1],
                     "--patience", "1", check=(2,), timeout=PATIENCE)
        assert b"did not reply in time" in done.stderr, done.stderr


def test_no_server():
    if not COMMAND or not has_redis_command():
        raise Skip("the command was built without hiredis")
    done = tamis("redis", "query", "x", "-s", "127.0.0.1:1", data=b"", check=(2,))
    assert b"127.0.0.1:1: Connection refused" in done.stderr, done.stderr
    done = tamis("redis", "query", "x", "-s", "nonsense", data=b"", check=(2,))
    assert b"'nonsense' is not a server" in done.stderr, done.stderr
    done = tamis("redis", "info", "f", "-s", "", check=(2,))
    assert b"'' is not a server: use HOST:PORT" in done.stderr, done.stderr


def test_lost_connection():
    """The server goes away and comes back while a load waits for more input."""
    with On(options=["--appendonly", "yes", "--appendfsync", "always"]) as redis:
        redis("reserve", "-q", "seen", "-n", "1000")
        port, shard = redis.server.port, "seen:{%d}" % shard_of(b"before", 16)
        load = subprocess.Popen([COMMAND, "redis", "load", "seen", "-s", "127.0.0.1:%d" % port],
                                stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        load.stdin.write(b"before\n")
        load.stdin.flush()
        until(lambda: redis.server.state("BF.EXISTS", shard, "before") == 1, what="the first key")
        redis.server.kill()
        redis.server.revive()
        load.stdin.write(b"after\n")
        load.stdin.close()
        assert load.wait(PATIENCE) == 0, load.stderr.read()
        assert redis("query", "seen", data=b"before\nafter\n").stdout == b"before\nafter\n"


def test_memory_refused():
    """To the client, at any moment: see client.c."""
    program = os.environ.get("TAMIS_CLIENT_TEST")
    if not program:
        raise Skip("the test of the client was not built")
    with Server() as server:
        place = dict(os.environ, TAMIS_REDIS="127.0.0.1:%d" % server.port)
        done = subprocess.run([program], env=place, capture_output=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

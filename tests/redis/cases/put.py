"""tamis redis put: files to keys, on one server and on a cluster, and what comes in between.

An upload is caught in the middle by stopping its process (SIGSTOP) as soon as the server reports
that some bytes have arrived and many have not.
"""
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

from servers import COMMAND, PATIENCE, Cluster, Server, Skip, has_redis_command, tamis, until

KEYS = ["key-%d" % i for i in range(2000)]
OTHERS = ["other-%d" % i for i in range(2000)]
OLD = ["old-%d" % i for i in range(500)]
SECRET = "00112233445566778899aabbccddeeff"
# Twice what a client sends before it reads the replies (client/put.c).  If more than that is
# missing, the bytes in the buffers of the system do not complete the file.
MISSING_MIN = 16 << 20


def _lines(items):
    return "".join(i + "\n" for i in items).encode()


def _build(directory, name, keys, *options, check=(0,)):
    path = os.path.join(directory, name)
    tamis("build", "-q", "-f", "-o", path, *options, data=_lines(keys), check=check)
    return path


def _large(directory):
    """A filter of some hundred chunks, of few keys: only its table is large."""
    return _build(directory, "large.tamis", KEYS, "-k", "bloom", "-n", "60M", "-p", "0.1%")


@contextlib.contextmanager
def _files():
    if not COMMAND or not has_redis_command():
        raise Skip("the command was built without hiredis")
    with tempfile.TemporaryDirectory(prefix="tamis-put.") as directory:
        yield directory


class To:
    """The command with the addresses of the servers."""

    def __init__(self, *ports):
        self.where = ["-s", ",".join("127.0.0.1:%d" % port for port in ports)]

    def __call__(self, verb, *words, **options):
        return tamis("redis", verb, *words, *self.where, **options)

    def start(self, *words):
        return subprocess.Popen([COMMAND, "redis", *words, *self.where], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))

    def stopped(self, server, name, *words):
        """An upload to `name` that is stopped in the middle.  On a busy machine an upload may end
        before this process runs again: then it restores the key and starts another."""
        client = server.client()
        large = _is_large(client, name)  # the same file: there is nothing to put back
        before = None if large else client.do("DUMP", name)
        for _ in range(50):
            process = self.start("put", name, *words)
            if _stop_midway(process, client, name):
                return process
            _finish(process)
            if not large:
                client.do("DEL", name)
            if before is not None:
                client.do("RESTORE", name, "0", before)
        raise AssertionError("every upload ends before it can be stopped")


def _stop_midway(process, client, name):
    """Stops the process in the middle of its upload; False if that has ended."""
    while process.poll() is None:
        if not _is_midway(client, name):
            continue
        process.send_signal(signal.SIGSTOP)
        until(lambda: _is_still(process), what="the stop")
        if _is_midway(client, name):
            return True
        process.send_signal(signal.SIGCONT)
    return False


def _is_midway(client, name):
    expected, received = _upload(client, name)
    return 0 < received < expected - MISSING_MIN


def _is_still(process):
    """Is the process stopped, or has it ended?"""
    if process.poll() is not None:
        return True
    with open("/proc/%d/stat" % process.pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def _is_large(client, name):
    """Is the filter there that _large builds?"""
    return _info(client, name).get("File size", 0) > 1 << 20


def _info(client, name):
    fields = client.call("TAMIS.INFO", name)
    return dict(zip(fields[::2], fields[1::2])) if isinstance(fields, list) else {}


def _upload(client, name):
    fields = _info(client, name)
    return fields.get("Bytes expected", 0), fields.get("Bytes received", 0)


def _finish(process, code=0):
    out, error = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == code, (process.returncode, out, error)
    return error


def _serves(to, name, keys, others=OTHERS):
    """All of the keys, and hardly any of the others."""
    assert to("query", "-v", "-c", name, data=_lines(keys), check=(1,)).stdout == b"0\n"
    wrong = int(to("query", "-c", name, data=_lines(others), check=(0, 1)).stdout)
    assert wrong < len(others) // 20, wrong


# ---- one server

def test_kinds():
    """Every kind that tamis builds, an empty one, and one after the other in the same place."""
    with _files() as directory, Server() as server:
        to = To(server.port)
        for kind in ("bloom", "block", "counting", "cuckoo", "xor", "fuse", "ribbon", "growing"):
            said = to("put", "k", _build(directory, kind, KEYS, "-k", kind)).stderr
            assert b"k: put %s, " % kind.encode() in said, said
            _serves(to, "k", KEYS)
            reported = json.loads(to("info", "--json", "k").stdout)
            assert reported["kind"] == kind and reported["static"] and not reported["sharded"], reported
            assert abs(reported["keys"] - 2000) < 100 and reported["upload_bytes"] == 0, reported
        assert b"fuse, static" in (to("put", "-q", "k", directory + "/fuse"),
                                   to("info", "k"))[1].stdout
        assert b"0 keys" in to("put", "empty", _build(directory, "0", [], "-k", "fuse")).stderr
        assert to("query", "-c", "empty", data=_lines(KEYS), check=(1,)).stdout == b"0\n"
        to("drop", "k")
        assert server.client().do("EXISTS", "k") == 0
        to("query", "k", data=b"x\n", check=(2,))


def test_keyed():
    with _files() as directory, Server() as server:
        to, secret, wrong = To(server.port), directory + "/secret", directory + "/wrong"
        for path, text in ((secret, SECRET), (wrong, SECRET[::-1])):
            with open(path, "w") as file:
                file.write(text + "\n")
        keyed = _build(directory, "keyed", KEYS, "-k", "fuse", "--key-file", secret)
        said = to("put", "k", keyed, check=(2,)).stderr
        assert b"is keyed: give its secret with --key-file" in said, said
        said = to("put", "k", keyed, "--key-file", wrong, check=(2,)).stderr
        assert b"built with another secret" in said, said
        assert server.client().do("EXISTS", "k") == 0
        to("put", "k", keyed, "--key-file", secret)
        _serves(to, "k", KEYS)
        assert json.loads(to("info", "--json", "k").stdout)["keyed"]
        # A secret for a filter that has none is not sent.
        to("put", "plain", _build(directory, "plain", KEYS, "-k", "fuse"), "--key-file", secret)
        assert not json.loads(to("info", "--json", "plain").stdout)["keyed"]


def _sparse(path, size):
    with open(path, "wb") as file:
        file.truncate(size)
    return path


def test_bad_files():
    """They are refused here, with a sentence: nothing is sent."""
    with _files() as directory, Server() as server:
        to, text = To(server.port), directory + "/text"
        with open(text, "wb") as file:
            file.write(_lines(KEYS))
        good = _build(directory, "good", KEYS, "-k", "fuse")
        with open(good, "rb") as file:
            data = bytearray(file.read())
        for name, bytes_ in (("cut", data[:-1]), ("flip", data[:900] + b"\0\0" + data[902:]),
                             ("nothing", b"")):
            with open(os.path.join(directory, name), "wb") as file:
                file.write(bytes_)
        for words, why in (
                ([text], b"is not a filter of a known format"),
                ([directory + "/cut"], b"cannot read"), ([directory + "/flip"], b"checksum"),
                ([directory + "/nothing"], b"is not a filter of a known format"),
                ([directory + "/none"], b"No such file"), ([directory], b"is a directory"),
                ([], b"missing FILE"), ([good, good], b"too many operands"),
                ([_sparse(directory + "/vast", (64 << 30) + 1)], b"larger than the 64"),
                ([_build(directory, "g", KEYS, "--to", "guava")],
                 b"has the format guava: 'tamis convert'"),
                ([_build(directory, "h", ["%016x" % (i * 0x9E3779B97F4A7C15 % 2**64)
                                          for i in range(50)], "--prehashed")],
                 b"not plain bytes"),
                ([_build(directory, "f", KEYS, "--fold-case")], b"not plain bytes"),
                ([_build(directory, "n", ["1", "2"], "--as", "i64")], b"not plain bytes")):
            said = to("put", "k", *words, check=(2,)).stderr
            assert why in said and said.count(b"\n") == 1, (words, said)
        client = server.client()
        assert client.do("EXISTS", "k") == 0
        assert b"tamis.load" not in client.do("INFO", "commandstats")


def test_place():
    """What is in the way stays; a static filter takes no keys."""
    with _files() as directory, Server() as server:
        to, client = To(server.port), server.client()
        path = _build(directory, "f", KEYS, "-k", "fuse")
        client.do("SET", "string", "x")
        client.do("BF.ADD", "bf", "x")
        client.do("CF.ADD", "cf", "x")
        client.do("HSET", "hash", "a", "b")
        to("reserve", "-q", "sharded", "-n", "100")
        for name, why in (("string", b"is a string, not a filter"), ("hash", b"not of a filter"),
                          ("bf", b"'bf' is a Bloom filter: drop it first"),
                          ("cf", b"'cf' is a cuckoo filter: drop it first"),
                          ("sharded", b"is a Bloom filter: drop it first"),
                          ("x" * 600, b"the name is too long")):
            before = client.call("DUMP", name)
            said = to("put", name, path, check=(2,)).stderr
            assert why in said, said
            assert client.call("DUMP", name) == before
        to("put", "{tag}k", path)  # no shards, so braces may be
        _serves(to, "{tag}k", KEYS)
        said = to("load", "{tag}k", data=b"new\n", check=(2,)).stderr
        assert b"is static" in said, said
        to("put", "k", path)
        assert b"'k' already exists" in to("reserve", "k", "-n", "5", check=(2,)).stderr
    with _files() as directory, Server(module="") as server:
        said = To(server.port)("put", "k", _build(directory, "f", KEYS), check=(2,)).stderr
        assert b"has not loaded the tamis module" in said, said


def test_no_memory():
    with _files() as directory, Server() as server:
        to = To(server.port)
        to("put", "k", _build(directory, "old", OLD, "-k", "fuse"))
        server.client().do("CONFIG", "SET", "maxmemory", "40mb")
        said = to("put", "k", _large(directory), check=(2,)).stderr
        assert b"Insufficient memory; the old filter stays in use" in said, said
        _serves(to, "k", OLD)


def test_killed():
    """kill -9 in the middle: the old filter answers, and the next upload does not mind."""
    with _files() as directory, Server() as server:
        to, client, large = To(server.port), server.client(), _large(directory)
        process = to.stopped(server, "fresh", large)
        process.kill()
        process.wait()
        said = to("query", "fresh", data=b"x\n", check=(2,)).stderr
        assert b"'fresh' is incomplete" in said, said
        assert b"upload" in to("info", "fresh").stdout
        to("drop", "fresh")
        to("put", "k", _build(directory, "old", OLD, "-k", "fuse"))
        process = to.stopped(server, "k", large)
        process.kill()
        process.wait()
        _serves(to, "k", OLD)
        assert _upload(client, "k")[0] == os.path.getsize(large)
        to("put", "k", _build(directory, "new", KEYS, "-k", "ribbon"))
        _serves(to, "k", KEYS, OLD)
        assert _upload(client, "k") == (0, 0)


def test_interrupted():
    """A signal in the middle: what has come is forgotten, and the process dies of the signal."""
    with _files() as directory, Server() as server:
        to, client, large = To(server.port), server.client(), _large(directory)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = to.stopped(server, "fresh", large)
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            assert b"stopped; there is no filter yet" in _finish(process, -number)
            assert client.do("EXISTS", "fresh") == 0
        to("put", "k", _build(directory, "old", OLD, "-k", "fuse"))
        process = to.stopped(server, "k", large)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        assert b"stopped; the old filter stays in use" in _finish(process, -signal.SIGINT)
        assert _upload(client, "k") == (0, 0)
        _serves(to, "k", OLD)
        # Also while no server replies.
        process = to.stopped(server, "k", large)
        server.kill()
        process.send_signal(signal.SIGCONT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert b"stopped" in _finish(process, -signal.SIGINT)
        assert time.monotonic() - began < 30  # half of its patience
        server.revive()


def test_lost_connections():
    """Connections that break all the time: it goes on from where it was."""
    with _files() as directory, Server() as server:
        to, client, large = To(server.port), server.client(), _large(directory)
        for _ in range(3):
            process = to.stopped(server, "k", large)
            client.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            process.send_signal(signal.SIGCONT)
            for _ in range(3):
                time.sleep(0.01)
                client.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            _finish(process)
            _serves(to, "k", KEYS)
        assert _upload(client, "k") == (0, 0)


def test_server_comes_back():
    """The server dies and comes back: from its log, or with nothing at all."""
    for options in (["--appendonly", "yes"], []):
        with _files() as directory, Server(options=options) as server:
            to, large = To(server.port), _large(directory)
            process = to.stopped(server, "k", large)
            server.kill()
            server.revive()
            process.send_signal(signal.SIGCONT)
            _finish(process)
            _serves(to, "k", KEYS)


def test_two_at_once():
    """Two files to one place: one of them is there in the end, whole."""
    with _files() as directory, Server() as server:
        to = To(server.port)
        one = _build(directory, "one", KEYS, "-k", "bloom", "-n", "20M", "-p", "0.1%")
        two = _build(directory, "two", OLD, "-k", "bloom", "-n", "20M", "-p", "0.1%")
        won = 0
        for _ in range(50):
            processes = [to.start("put", "k", path) for path in (one, two)]
            for process in processes:
                said = process.communicate(timeout=2 * PATIENCE)[1]
                assert process.returncode == 0 or b"another client is uploading" in said, said
            # Each gives up after some attempts.  On a busy machine both may.
            won += any(process.returncode == 0 for process in processes)
            if won == 3:
                break
        assert won == 3, won
        found = to("query", "-c", "k", data=_lines(KEYS), check=(0, 1)).stdout
        _serves(to, "k", *((KEYS, OLD) if found == b"2000\n" else (OLD, KEYS)))


# ---- a cluster

def _slot(server, name):
    return server.client().do("CLUSTER", "KEYSLOT", name)


def test_cluster():
    """Slots move during an upload, and a primary dies."""
    with _files() as directory, Cluster() as cluster:
        to, large = To(*(s.port for s in cluster.servers[:2])), _large(directory)
        slot = _slot(cluster.servers[0], "k")
        source = cluster.owner(slot)
        target = next(p for p in cluster.primaries() if p is not source)
        to("put", "k", _build(directory, "old", OLD, "-k", "fuse"))
        _serves(to, "k", OLD)

        # The whole move while the upload stands still: MOVED.
        process = to.stopped(source, "k", large)
        for _ in cluster.move_slot(slot, target):
            pass
        assert _upload(target.client(), "k")[1] > 0  # the half that was there has moved as well
        process.send_signal(signal.SIGCONT)
        _finish(process)
        _serves(to, "k", KEYS)

        # The upload ends while the key is migrating: ASK.
        process = to.stopped(target, "k", large)
        move = cluster.move_slot(slot, source)
        assert [next(move), next(move)] == ["open", "moved"]
        process.send_signal(signal.SIGCONT)
        _finish(process)
        list(move)
        _serves(to, "k", KEYS)

        # Slots move all the time.  (From the beginning of the upload: a client does not connect to
        # servers that are blocked for seconds, as two are by a move.)
        process, client = to.start("put", "k", large), source.client()
        until(lambda: process.poll() is not None or _upload(client, "k")[1] > 0, what="the upload")
        while process.poll() is None:
            for to_node in (target, source):
                list(cluster.move_slot(slot, to_node))
        _finish(process)
        _serves(to, "k", KEYS)

        # The primary dies.  What its replica has may be less than what it had.
        to("drop", "k")
        to("put", "k", _build(directory, "old", OLD, "-k", "fuse"), "--replicas", "1")
        process = to.stopped(cluster.owner(slot), "k", large, "--replicas", "1")
        victim = cluster.owner(slot)
        cluster.fail(victim)
        _serves(to, "k", OLD)
        process.send_signal(signal.SIGCONT)
        # Its primary has no replica any more: enough to be there, not to be confirmed.
        victim.revive()
        _finish(process)
        _serves(to, "k", KEYS)

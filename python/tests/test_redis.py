"""tamis.redis on real servers: one server, and a cluster of three primaries and three replicas.

TAMIS_MODULE is the Redis module and TAMIS the command; by default those of build/.  Without
redis-server or the module the tests are skipped, and those of the command without the command.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

redis = pytest.importorskip("redis", reason="redis-py is not installed: pip install redis")

from tamis.redis import (  # noqa: E402
    ExistsError,
    NotFoundError,
    ShardedFilter,
    ShardError,
    shard_of,
)

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("TAMIS_MODULE", str(ROOT / "build" / "redis" / "tamis.so"))
COMMAND = os.environ.get("TAMIS", str(ROOT / "build" / "tamis"))


def _servers() -> Any:
    """The servers of the tests of the Redis module."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    if not os.path.exists(os.environ["TAMIS_MODULE"]):
        pytest.skip("TAMIS_MODULE does not name the Redis module (target tamis_redis)")
    if not (ROOT / "tests" / "redis" / "servers.py").exists():
        pytest.skip("tests/redis of the repository is not here")
    sys.path.insert(0, str(ROOT / "tests" / "redis"))
    try:
        return importlib.import_module("servers")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with _servers().Server() as server:
        yield server


@pytest.fixture(params=["RESP2", "RESP3", "text", "modules"])
def client(server: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of each protocol, one that decodes replies, and one that converts those of BF."""
    options: dict[str, Any] = {"decode_responses": request.param == "text"}
    if request.param == "RESP3":
        pytest.importorskip("redis", "5.0", reason="redis-py speaks RESP3 from version 5 on")
        options["protocol"] = 3
    with redis.Redis(port=server.port, **options) as client:
        client.flushall()
        if request.param == "modules":
            client.bf()
            client.cf()
        yield client


@pytest.fixture
def plain_client(server: Any) -> Iterator[Any]:
    with redis.Redis(port=server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def command(server: Any) -> Callable[..., str]:
    return _command_for([f"127.0.0.1:{server.port}"])


def _command_for(addresses: list[str]) -> Callable[..., str]:
    """Runs `tamis redis` with these servers."""
    if not os.path.exists(COMMAND):
        pytest.skip("TAMIS does not name the command")
    words = [COMMAND, "redis", "info", "x", "-s", "127.0.0.1:1", "--patience", "1"]
    if "without hiredis" in subprocess.run(words, stderr=subprocess.PIPE, text=True).stderr:
        pytest.skip("the command was built without hiredis")

    def run(verb: str, *words: str, data: str = "") -> str:
        done = subprocess.run(
            [COMMAND, "redis", verb, *words, "-s", ",".join(addresses)],
            input=data,
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run


def absent(*filters: ShardedFilter) -> str:
    """A key that none of the filters reports.  Each has a random secret: a key that was never added
    is a false positive in some runs and not in others."""
    for key in (f"absent-{i}" for i in range(100)):
        if not any(key in filter for filter in filters):
            return key
    raise AssertionError("all keys are reported")


@pytest.mark.parametrize("kind", ["bloom", "cuckoo"])
def test_add_and_query(client: Any, kind: str) -> None:
    seen = ShardedFilter.create(client, "seen", capacity=10000, kind=kind, shards=5)
    keys = [f"key-{i}" for i in range(5000)]
    fresh = seen.add_many(keys)
    assert sum(fresh) > 4800
    assert not any(seen.add_many(keys[:100]))
    assert all(seen.contains_many(iter(keys)))
    assert sum(seen.contains_many(f"no-{i}" for i in range(5000))) < 120
    new = absent(seen)
    assert seen.add(new) and new in seen and new.encode() in seen
    assert memoryview(new.encode()) in seen and not seen.add(new)
    assert seen.add_many([]) == [] and seen.contains_many([]) == []

    info = seen.info()
    assert info.shards == 5 and info.kind == kind and info.reserved == 10000
    assert 4800 < info.items <= 5001 and info.stages == 5
    assert info.capacity >= 10000 and info.nbytes > 5000
    assert 800 < info.items_min <= info.items_max < 1300

    again = ShardedFilter.open(client, "seen")
    assert (again.kind, again.shards, again.capacity) == (kind, 5, 10000)
    assert again.fpr == (0.01 if kind == "bloom" else 0)
    assert "key-7" in again
    seen.delete()
    assert client.dbsize() == 0


def test_scheme(plain_client: Any) -> None:
    """Each item is in the shard of the documented formula and in no other."""
    seen = ShardedFilter.create(plain_client, "seen", capacity=3000, shards=7, fpr=1e-12)
    items = [b"item-%d" % i for i in range(3000)] + [b"", b"{x}", "\u00e9".encode()]
    assert all(seen.add_many(items))
    counts = [0] * 7
    for item in items:
        shard = (zlib.crc32(item) * 0x9E3779B1 % 2**32) * 7 >> 32
        assert shard_of(item, 7) == shard
        counts[shard] += 1
    inserted = "Number of items inserted"
    for shard, count in enumerate(counts):
        info = plain_client.execute_command("BF.INFO", f"seen:{{{shard}}}")
        if not isinstance(info, dict):
            info = dict(zip(info[::2], info[1::2]))
        assert info.get(inserted, info.get(inserted.encode())) == count


def test_with_the_command(plain_client: Any, command: Callable[..., str]) -> None:
    """The command reads and extends a filter of Python, and the other way round."""
    for kind in ("bloom", "cuckoo"):
        ours = ShardedFilter.create(
            plain_client, f"ours-{kind}", capacity=1000, kind=kind, fpr=0.001, shards=3
        )
        ours.add_many(["a", "b"])
        other = absent(ours)
        assert command("query", ours.name, data=f"a\n{other}\nb\n") == "a\nb\n"
        command("load", "-q", ours.name, data="c\n")
        assert ours.contains_many(["a", "b", "c", absent(ours)]) == [True, True, True, False]

        command("reserve", "-q", f"theirs-{kind}", "-n", "1000", "-k", kind, "-p", "0.1%")
        command("load", "-q", f"theirs-{kind}", data="a\nb\n")
        theirs = ShardedFilter.open(plain_client, f"theirs-{kind}")
        assert (theirs.kind, theirs.shards, theirs.fpr) == (kind, 16, 0.001)
        assert theirs.contains_many(["a", absent(theirs), "b"]) == [True, False, True]
        theirs.add("c")
        assert command("query", theirs.name, data=f"c\n{absent(theirs)}\n") == "c\n"
        assert ShardedFilter.drop(plain_client, theirs.name)
        command("drop", ours.name)
    assert plain_client.dbsize() == 0


def test_static_file(plain_client: Any, command: Callable[..., str], tmp_path: Path) -> None:
    path = str(tmp_path / "blocked.tamis")
    subprocess.run([COMMAND, "build", "-k", "fuse", "-o", path], input=b"a\nb\n", check=True)
    command("put", "blocked", path)
    blocked = ShardedFilter.open(plain_client, "blocked")
    assert blocked.contains_many(["a", "b", "x"]) == [True, True, False]
    assert blocked.info().items == 2 and blocked.info().fpr > 0
    with pytest.raises(TypeError, match="is static"):
        blocked.add("c")
    assert ShardedFilter.drop(plain_client, "blocked")


def test_filter_of_one_key(client: Any) -> None:
    client.execute_command("BF.RESERVE", "one", "0.01", "100")
    one = ShardedFilter.open(client, "one")
    assert one.add("a") and "a" in one and one.shards == 1 and one.info().items == 1
    client.delete("one")
    with pytest.raises(ShardError, match="'one' is missing"):
        one.contains_many(["a"])


@pytest.mark.parametrize("kind", ["bloom", "cuckoo"])
def test_missing_shard_is_an_error(client: Any, kind: str) -> None:
    """Never "definitely not in the set"."""
    seen = ShardedFilter.create(client, "seen", capacity=100, kind=kind, shards=3)
    calls: list[Callable[[], object]] = [
        lambda: "a" in seen,
        lambda: seen.add("a"),
        seen.info,
        lambda: ShardedFilter.open(client, "seen"),
    ]
    shard = f"seen:{{{shard_of('a', 3)}}}"
    client.delete(shard)
    for call in calls:
        with pytest.raises(ShardError, match="is missing"):
            call()
    client.set(shard, "text")
    for call in calls:
        with pytest.raises(ShardError, match="not the filter that was created"):
            call()
    assert ShardedFilter.drop(client, "seen")


def test_refusals(client: Any) -> None:
    client.set("string", "x")
    client.hset("hash", "a", "b")
    client.set("way:{3}", "x")
    ShardedFilter.create(client, "seen", capacity=100)
    with pytest.raises(NotFoundError, match="there is no filter 'none'"):
        ShardedFilter.open(client, "none")
    for name in ("string", "hash"):
        with pytest.raises(ShardError, match="filter"):
            ShardedFilter.open(client, name)
    for name in ("seen", "string", "way"):
        with pytest.raises(ExistsError, match="already exists"):
            ShardedFilter.create(client, name, capacity=100)
    assert not client.exists("way") and client.exists("way:{3}")
    assert not ShardedFilter.drop(client, "none")
    client.hset("unfinished", mapping={"owner": "x", "shards": 2})
    with pytest.raises(NotFoundError, match="never completed"):
        ShardedFilter.open(client, "unfinished")
    assert ShardedFilter.drop(client, "unfinished") and not client.exists("unfinished")


def test_arguments(plain_client: Any) -> None:
    seen = ShardedFilter.create(plain_client, "seen", capacity=100)
    for call in (seen.add_many, seen.contains_many):
        with pytest.raises(TypeError, match="pass a list of keys"):
            call("text")
    for key, why in ((5, "str"), (None, "NoneType"), (1.5, "float")):
        with pytest.raises(TypeError, match=why):
            seen.add(key)  # type: ignore[arg-type]
    refused: list[dict[str, Any]] = [
        {"name": "a{b}"},
        {"name": ""},
        {"kind": "fuse"},
        {"shards": 0},
        {"capacity": 0},
        {"fpr": 1},
    ]
    for options in refused:
        with pytest.raises(ValueError):
            ShardedFilter.create(plain_client, **{"name": "x", "capacity": 5, **options})
    with pytest.raises(TypeError):
        ShardedFilter.create(plain_client, b"x", capacity=5)  # type: ignore[arg-type]

    async def open_with_asyncio() -> None:
        import redis.asyncio

        ShardedFilter.open(redis.asyncio.Redis(), "seen")

    with pytest.raises(TypeError, match=r"redis\.asyncio"):
        asyncio.run(open_with_asyncio())


def test_denied_commands_raise(server: Any, plain_client: Any) -> None:
    """A denied reply is not taken for a missing filter; a creation that fails is undone."""
    seen = ShardedFilter.create(plain_client, "seen", capacity=100)
    seen.add("a")
    plain_client.execute_command("ACL SETUSER u on >p ~* +@all -bf.reserve -bf.mexists")
    denied = redis.Redis(port=server.port, username="u", password="p")
    with pytest.raises(redis.exceptions.NoPermissionError):
        ShardedFilter.open(denied, "seen").contains_many(["a"])
    with pytest.raises(redis.exceptions.NoPermissionError):
        ShardedFilter.create(denied, "new", capacity=100)
    assert not plain_client.exists("new")


def test_growth(plain_client: Any) -> None:
    """Far beyond the capacity, for each kind."""
    keys = [str(i) for i in range(40000)]
    for kind in ("bloom", "cuckoo"):
        tiny = ShardedFilter.create(plain_client, kind, capacity=10, kind=kind, shards=2)
        tiny.add_many(keys)
        assert all(tiny.contains_many(keys))
        assert tiny.info().stages > 2


# ---- a cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    if shutil.which("redis-cli") is None:
        pytest.skip("redis-cli is not installed")
    with _servers().Cluster() as cluster:
        yield cluster


@pytest.fixture(params=[2, 3])
def cluster_client(cluster: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    port = cluster.servers[0].port
    with redis.RedisCluster("127.0.0.1", port, protocol=request.param) as client:
        yield client
        for name in ("seen", "theirs"):
            ShardedFilter.drop(client, name)


@pytest.mark.parametrize("kind", ["bloom", "cuckoo"])
def test_cluster(cluster: Any, cluster_client: Any, kind: str) -> None:
    seen = ShardedFilter.create(cluster_client, "seen", capacity=50000, kind=kind)
    keys = [f"user-{i}" for i in range(50000)]  # more than a window
    assert sum(seen.add_many(keys)) > 48000
    mixed = [key for i in range(20000) for key in (f"user-{i}", f"no-{i}")]
    answers = seen.contains_many(mixed)
    assert all(answers[::2]) and sum(answers[1::2]) < 20000 * 0.04
    assert seen.info().items > 48000
    loaded = [s for s in cluster.primaries() if s.state("DBSIZE") > 0]
    assert len(loaded) == 3


def test_cluster_with_the_command(cluster: Any, cluster_client: Any) -> None:
    command = _command_for(cluster.addresses())
    ShardedFilter.create(cluster_client, "seen", capacity=1000).add_many(["a", "b"])
    assert command("query", "seen", data="a\nx\nb\n") == "a\nb\n"
    command("reserve", "-q", "theirs", "-n", "1000")
    command("load", "-q", "theirs", data="a\nb\n")
    theirs = ShardedFilter.open(cluster_client, "theirs")
    assert theirs.contains_many(["a", "x", "b"]) == [True, False, True]


def test_slots_that_move(cluster: Any, cluster_client: Any) -> None:
    """Redirections are followed, and no key is lost."""
    seen = ShardedFilter.create(cluster_client, "seen", capacity=20000)
    keys = [f"user-{i}" for i in range(20000)]
    stop, failures = threading.Event(), []

    def move() -> None:
        try:
            for shard in (1, 6, 11):
                slot = cluster_client.keyslot(f"seen:{{{shard}}}")
                target = next(s for s in cluster.primaries() if s is not cluster.owner(slot))
                for _ in cluster.move_slot(slot, target):
                    time.sleep(0.05)
        except Exception as error:  # reported by the waiting thread
            failures.append(error)
        finally:
            stop.set()

    thread = threading.Thread(target=move)
    thread.start()
    while not stop.is_set():
        seen.add_many(keys)
        assert all(seen.contains_many(keys))
    thread.join()
    assert not failures
    assert all(seen.contains_many(keys))

"""Builder and build()."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import KINDS, SECRET, STATIC

import tamis

KEYS = [f"key-{i}" for i in range(5000)]
BUFFERED = 200_000  # keys that need more than the smallest `memory`


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: Any) -> None:
    with tamis.Builder(fpr=0.001, kind=kind) as builder:
        builder.update(KEYS[:3000], iter(KEYS[3000:4000]))
        for key in KEYS[4000:]:
            builder.add(key)
        assert len(builder) == len(KEYS)
        f = builder.finish()
    assert f.kind == kind
    assert f.info().distinct == pytest.approx(len(KEYS), rel=0.05)
    assert all(key in f for key in KEYS)
    assert sum(f"other-{i}" in f for i in range(10_000)) < 50


@pytest.mark.parametrize("kind", KINDS)
def test_build_is_builder(kind: Any) -> None:
    builder = tamis.Builder(fpr=0.01, kind=kind)
    builder.update(KEYS)
    assert tamis.build(KEYS, 0.01, kind).to_bytes() == builder.finish().to_bytes()


def test_kind_is_static_by_default() -> None:
    assert tamis.build(KEYS).kind in STATIC
    assert tamis.build(KEYS, needs="add").kind not in STATIC
    assert tamis.build(KEYS, needs=["remove", "merge"]).kind == "counting"


def test_order_and_repeats_do_not_count() -> None:
    f = tamis.build(KEYS, seed=7)
    g = tamis.build([*reversed(KEYS), *KEYS], seed=7)
    assert f.info().distinct == g.info().distinct == len(KEYS)
    assert [key in g for key in KEYS] == [True] * len(KEYS)
    assert g.info().adds == 2 * len(KEYS)


def test_every_type_of_key() -> None:
    keys: list[Any] = [
        "text",
        b"bytes",
        bytearray(b"array"),
        memoryview(b"view"),
        7,
        -7,
        2**64 - 1,
        True,
    ]
    tuples: list[Any] = [("GET", 404), (1, 2.5, b"x"), ()]
    builder = tamis.Builder(fpr=1e-6)
    for key in [*keys, *tuples]:
        builder.add(key)
    assert len(builder) == len(keys) + len(tuples)
    f = builder.finish()
    assert all(key in f for key in [*keys, *tuples])
    assert ("GET", 405) not in f


@pytest.mark.parametrize("key", [None, 1.5, {"a": 1}, ["list"], (1, None), ("a", ("b",))])
def test_wrong_keys(key: Any) -> None:
    builder = tamis.Builder()
    with pytest.raises(TypeError):
        builder.add(key)
    with pytest.raises(TypeError):
        builder.update(["a", key])
    for large in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError):
            builder.add(large)
    builder.add(("b", 1.5))  # a wrong tuple leaves nothing behind
    f = builder.finish()
    assert ("b", 1.5) in f
    assert ("b",) not in f


@pytest.mark.parametrize("keys", ["text", b"bytes", 5, None])
def test_one_key_is_not_many(keys: Any) -> None:
    with pytest.raises(TypeError):
        tamis.build(keys)
    with pytest.raises(TypeError):
        tamis.Builder().update(keys)


def test_options() -> None:
    f = tamis.build(KEYS, secret=SECRET)
    assert f.keyed
    assert tamis.build(KEYS, kind="fuse", arity=3).info().hashes == 3
    assert tamis.build(KEYS, kind="bloom", bits=1 << 20, hashes=5).info().table_bytes == 1 << 17
    assert tamis.build(KEYS, bytes=8192).nbytes <= 8192
    assert tamis.build(KEYS, kind="growing", stage="bloom").kind == "growing"
    assert tamis.build(KEYS, seed=11).seed == 11
    assert tamis.build(KEYS, check=True, threads=2) == tamis.build(KEYS)
    assert tamis.build(["Ada"], fold_case=True).info().key_options == "--fold-case"
    assert 1 in tamis.build([1, 2], key_type="i32")


def test_hashes() -> None:
    f = tamis.build(KEYS)
    hashes = [f.hash(key) for key in KEYS]
    g = tamis.build(hashes, hashed=True)
    assert g == f
    builder = tamis.Builder(prehashed=True)
    builder.update(hashes[:10])
    builder.add(hashes[10])
    assert hashes[10] in builder.finish()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"fpr": 0.0}, tamis.ArgumentError),
        ({"fpr": 1.5}, tamis.ArgumentError),
        ({"kind": "sieve"}, tamis.ArgumentError),
        ({"fpr": 1e-30, "kind": "fuse"}, tamis.ArgumentError),
        ({"kind": "fuse", "arity": 5}, ValueError),
        ({"kind": "xor", "bits": 64}, ValueError),
        ({"capacity": -1}, ValueError),
        ({"threads": -1}, ValueError),
        ({"threads": 2**32}, ValueError),
        ({"memory": "1G"}, TypeError),
        ({"temporary": 5}, TypeError),
        ({"progress": 5}, TypeError),
        ({"secret": b"short"}, ValueError),
        ({"needs": "fly"}, ValueError),
        ({"format": "leveldb-table"}, tamis.Error),
        ({"shared": True}, TypeError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_wrong_options(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        tamis.Builder(**arguments)
    with pytest.raises(error):
        tamis.build(["a"], **arguments)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="keys"):
        tamis.build()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        tamis.build(["a"], 0.1, "fuse", 5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="multiple"):
        tamis.Builder(5, capacity=5)  # type: ignore[misc]
    with pytest.raises(TypeError, match="unexpected"):
        tamis.Builder().update(["a"], hash=True)  # type: ignore[call-arg]
    with pytest.raises(tamis.ArgumentError, match="so low"):
        tamis.Builder(fpr=1e-30, kind="fuse")


@pytest.mark.parametrize("form", [form for form in tamis.FORMATS if not form.endswith("-table")])
def test_formats(form: str) -> None:
    keys = range(1000)  # some formats take nothing else
    f = tamis.build(keys, format=form)
    assert f.format == form
    assert all(key in f for key in keys)
    builder = tamis.Builder(format=form)
    for key in keys:
        builder.add(key)
    assert builder.finish() == f
    if form != "libbloom1":  # whose bytes do not have its parameters
        g = tamis.Filter.from_bytes(f.to_bytes(), format=form)
        assert all(key in g for key in keys)


def test_formats_have_no_composite_keys() -> None:
    with pytest.raises(TypeError, match="tuple"):
        tamis.Builder(format="guava").add(("a", 1))


def test_life() -> None:
    builder = tamis.Builder()
    builder.add("a")
    assert repr(builder) == "<tamis.Builder keys=1>"
    assert "a" in builder.finish()
    assert repr(builder) == "<tamis.Builder finished>"
    for call in (
        lambda: builder.add("b"),
        lambda: builder.update(["b"]),
        lambda: builder.update(),
        builder.finish,
        lambda: len(builder),
        builder.__enter__,
    ):
        with pytest.raises(ValueError, match="the builder is finished"):
            call()
    builder.close()
    closed = tamis.Builder()
    closed.close()
    closed.close()
    assert repr(closed) == "<tamis.Builder closed>"
    with pytest.raises(ValueError, match="the builder is closed"):
        closed.finish()


def test_with_block_closes_without_building() -> None:
    with tamis.Builder() as builder:
        builder.add("a")
    with pytest.raises(ValueError, match="the builder is closed"):
        builder.add("b")
    with pytest.raises(KeyError), tamis.Builder() as builder:
        raise KeyError


def test_empty() -> None:
    f = tamis.build([])
    assert len(f) == 0
    assert "a" not in f
    assert "a" not in tamis.Builder(kind="bloom").finish()


# ---- progress


def test_progress() -> None:
    seen: list[int] = []
    f = tamis.build(map(str, range(100_000)), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 100_000
    assert len(seen) > 2
    assert len(f) == 100_000


def test_progress_at_the_end_of_finish() -> None:
    seen: list[int] = []
    builder = tamis.Builder(progress=seen.append)
    builder.add("a")
    assert seen == []
    builder.finish()
    assert seen == [1]


def test_progress_raises() -> None:
    class Stop(Exception):
        pass

    def stop(keys: int) -> None:
        if keys > 50_000:
            raise Stop(keys)

    builder = tamis.Builder(progress=stop)
    with pytest.raises(Stop):
        builder.update(map(str, range(1_000_000)))
    assert 50_000 < len(builder) < 1_000_000
    with pytest.raises(Stop):
        builder.finish()
    with pytest.raises(ValueError, match="finished"):
        builder.finish()


def test_progress_is_collected() -> None:
    class Watcher:
        builder: tamis.Builder | None = None

        def __call__(self, keys: int) -> None:
            pass

    watcher = Watcher()
    watcher.builder = tamis.Builder(progress=watcher)
    gone = weakref.ref(watcher)
    del watcher
    gc.collect()
    assert gone() is None


# ---- calls within calls, and threads


def test_keys_may_come_from_code_that_adds() -> None:
    builder = tamis.Builder()

    def keys() -> Iterator[str]:
        for i in range(10):
            builder.add(f"inner-{i}")
            yield f"outer-{i}"

    builder.update(keys())
    assert len(builder) == 20


def test_no_end_while_keys_are_added() -> None:
    builder = tamis.Builder()

    def keys() -> Iterator[str]:
        for end in (builder.finish, builder.close):
            with pytest.raises(RuntimeError, match="in use"):
                end()
        yield "a"

    builder.update(keys())
    assert "a" in builder.finish()


def test_an_iterator_that_raises() -> None:
    builder = tamis.Builder()

    def keys() -> Iterator[str]:
        yield "a"
        raise KeyError("b")

    with pytest.raises(KeyError, match="b"):
        builder.update(keys())
    builder.add("c")
    assert "c" in builder.finish()


def test_threads_add_at_once() -> None:
    builder = tamis.Builder()

    def adds(number: int) -> None:
        for i in range(2000):
            builder.add(f"{number} {i}")
            builder.add((number, i))
        builder.update(f"{number} {i}" for i in range(2000, 4000))

    threads = [threading.Thread(target=adds, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builder) == 4 * 6000
    f = builder.finish()
    assert all(f"{n} {i}" in f for n in range(4) for i in range(4000))
    assert all((n, i) in f for n in range(4) for i in range(2000))


# ---- keys on disk


def test_memory(tmp_path: Path) -> None:
    keys = [str(i) for i in range(BUFFERED)]
    limited = tamis.Builder(memory=1 << 20, temporary=tmp_path)
    limited.update(keys[:-10])
    for key in keys[-10:]:
        limited.add(key)
    assert limited.finish() == tamis.build(keys)


def test_temporary_directory_is_missing(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError):
        tamis.build(map(str, range(BUFFERED)), memory=1 << 20, temporary=missing)


def test_help() -> None:
    """The signatures are those that inspect can read."""
    code = "import inspect, tamis\nprint(inspect.signature(tamis.build))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("(keys, fpr=None, kind=None, *, capacity=0")

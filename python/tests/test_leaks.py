"""Memory does not grow with the number of objects, adds, queries and errors."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import times

import tamis

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the memory is read from /proc, as on Linux"
)

ALLOWED = 4 << 20  # bytes of growth that caches explain


def resident() -> int:
    """Bytes of memory that the process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def check_growth(action: Callable[[], object], count: int) -> None:
    """Repeats an action; the memory must not grow after the first tenth."""
    for _ in range(count // 10):
        action()
    before = resident()
    blocks = sys.getallocatedblocks()
    for _ in range(count):
        action()
    assert resident() - before < ALLOWED
    gc.collect()
    assert sys.getallocatedblocks() - blocks < max(200, count // 10)


def test_filters() -> None:
    check_growth(lambda: tamis.Filter(100, kind="bloom"), times(1_000_000))


def test_large_filters() -> None:
    check_growth(lambda: tamis.Filter(1_000_000, kind="bloom"), times(300))


def test_adds() -> None:
    f = tamis.Filter(2_000_000, kind="block")
    keys = iter(range(10**9))
    check_growth(lambda: f.add(next(keys)), times(1_000_000))


def test_keys_of_all_types() -> None:
    f = tamis.Filter(100_000, kind="bloom")
    number = iter(range(10**9))

    def action() -> None:
        n = next(number)
        f.add((n, str(n), b"x", 1.5))
        _ = f"{n} {n}" in f
        _ = bytearray(b"key") in f
        _ = memoryview(b"key") in f
        _ = f.hash(n)

    check_growth(action, times(50_000))


def test_converted_keys() -> None:
    f = tamis.Filter(1000, kind="bloom", key_type="utf16", fold_case=True)
    check_growth(lambda: f.add("Ångström " * 20), times(50_000))


def test_batches() -> None:
    f = tamis.Filter(10_000, kind="bloom")
    keys: list[Any] = ["a", b"b", 3, ("c", 4)] * 50

    def action() -> None:
        f.contains_many(keys)
        f.hash_many(keys, result="list")
        f.update(iter(keys))

    check_growth(action, times(2000))


def test_copies_and_pickles() -> None:
    f = tamis.build(map(str, range(1000)))

    def action() -> None:
        copy = f.copy()
        assert copy == f
        tamis.Filter.from_bytes(f.to_bytes())
        copy.info()
        memoryview(copy)
        copy.close()

    check_growth(action, times(5000))


def test_builders() -> None:
    def action() -> None:
        builder = tamis.Builder()
        builder.update(["a", "b"])
        builder.finish()
        tamis.Builder().add("abandoned")

    check_growth(action, times(10_000))


def test_errors() -> None:
    f = tamis.Filter(10, kind="bloom")
    numbers = tamis.Filter(10, kind="bloom", key_type="i32")

    def action() -> None:
        calls: list[tuple[Callable[[Any], object], Any]] = [
            (f.add, None),
            (f.add, 2**64),
            (f.add, "\ud800"),
            (f.add, ("a", None)),
            (f.remove, "a"),
            (numbers.add, "x" * 100),
            (f.update, "keys"),
            (f.update, [1, None]),
            (tamis.Filter.from_bytes, b"no filter"),
            (tamis.Filter.open, "/no/such/file"),
        ]
        for call, argument in calls:
            try:
                call(argument)
            except Exception:
                continue
            raise AssertionError(argument)

    check_growth(action, times(5000))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.build(map(str, range(1000))).save(path)

    def action() -> None:
        with tamis.Filter.open(path) as f:
            assert "1" in f
        tamis.Filter.open(path, map=False)

    check_growth(action, times(2000))


def test_reference_counts() -> None:
    """Keys and arguments are released, whatever becomes of the call."""
    f = tamis.Filter(100, kind="bloom")
    key, keys = "a key of its own".upper(), ["x".upper() + "y", object()]
    before = sys.getrefcount(key), sys.getrefcount(keys), sys.getrefcount(keys[1])
    for _ in range(100):
        f.add(key)
        _ = key in f
        f.add((key, key))
        with pytest.raises(TypeError):
            f.update(keys)  # type: ignore[arg-type]
    assert (sys.getrefcount(key), sys.getrefcount(keys), sys.getrefcount(keys[1])) == before

"""Everything that a Filter does: arguments, keys, errors, comparison, copies, pickles, buffers."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import locale
import math
import multiprocessing
import pickle
import random
import struct
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import DYNAMIC, INTERSECTABLE, KINDS, REMOVABLE, SECRET, STATIC, UNITABLE

import tamis

# ---- creating


def test_names() -> None:
    assert set(tamis.KINDS) == set(KINDS)
    assert tamis.FORMATS[0] == "tamis"
    assert {"guava", "leveldb", "rocksdb", "parquet", "redisbloom"} <= set(tamis.FORMATS)
    assert tamis.__version__.count(".") == 2


def test_defaults() -> None:
    f = tamis.Filter()
    assert (f.kind, f.fpr, f.format, f.seed) == ("growing", 0.01, "tamis", 0)
    assert not f.keyed
    assert not f.closed
    assert f.name is None
    assert tamis.Filter(1000).capacity == 1000
    assert tamis.Filter(1000, 0.001).fpr == 0.001
    assert tamis.Filter(capacity=1000, fpr=0.5, kind="cuckoo").kind == "cuckoo"
    assert tamis.Filter(1000, seed=2**64 - 1).seed == 2**64 - 1


@pytest.mark.parametrize("kind", DYNAMIC)
def test_kinds(kind: Any) -> None:
    f = tamis.Filter(1000, 0.01, kind)
    assert f.kind == kind
    assert f.nbytes == len(f.to_bytes())
    assert f.info().kind == kind


def test_sizes() -> None:
    f = tamis.Filter(50_000, bytes=100_000)
    assert 0.8 * 100_000 <= f.nbytes <= 100_000
    assert tamis.Filter(kind="bloom", bits=1000, hashes=5).info().hashes == 5
    assert tamis.Filter(1000, bytes=10_000).fpr < tamis.Filter(1000, bytes=1000).fpr


@pytest.mark.parametrize(
    ("needs", "able"),
    [
        ("remove", lambda f: f.kind in REMOVABLE),
        (["remove", "merge"], lambda f: f.kind == "counting"),
        ("merge", lambda f: f.kind in UNITABLE),
        ("grow", lambda f: f.kind == "growing"),
        (("add",), lambda f: f.kind in DYNAMIC),
    ],
)
def test_needs(needs: Any, able: Callable[[tamis.Filter], bool]) -> None:
    assert able(tamis.Filter(1000, needs=needs))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"fpr": 0}, ValueError),
        ({"fpr": 1}, ValueError),
        ({"fpr": -0.5}, ValueError),
        ({"fpr": math.nan}, ValueError),
        ({"fpr": "1%"}, TypeError),
        ({"capacity": -1}, ValueError),
        ({"capacity": 2**64}, ValueError),
        ({"capacity": 1.5}, TypeError),
        ({"capacity": "many"}, TypeError),
        ({"capacity": 2**63}, (ValueError, MemoryError)),
        ({"kind": "quotient"}, ValueError),
        ({"kind": "fuse"}, TypeError),
        ({"kind": 3}, TypeError),
        ({"capacity": 0, "kind": "bloom"}, ValueError),
        ({"capacity": 0, "bytes": 1000}, ValueError),
        ({"capacity": 0, "bytes": 1000, "kind": "growing"}, ValueError),
        ({"fpr": 1e-300, "kind": "block"}, ValueError),
        ({"needs": "speed"}, ValueError),
        ({"needs": ["remove", 3]}, ValueError),
        ({"needs": 3}, TypeError),
        ({"secret": b"short"}, ValueError),
        ({"secret": "0123456789abcdef"}, TypeError),
        ({"seed": -1}, ValueError),
        ({"key_type": "i8"}, ValueError),
        ({"key_type": 3}, TypeError),
        ({"format": "no such format"}, ValueError),
        ({"format": "guava\0"}, ValueError),
        ({"kind": "cuckoo", "shared": True}, TypeError),
        ({"kind": "cuckoo", "bits": 100}, ValueError),
        ({"stage": "no kind"}, ValueError),
        ({"no_such_argument": 1}, TypeError),
    ],
)
def test_wrong_arguments(
    arguments: dict[str, Any], error: type[BaseException] | tuple[type[BaseException], ...]
) -> None:
    with pytest.raises(error) as caught:
        tamis.Filter(**{"capacity": 100, **arguments})
    assert str(caught.value)


def test_positional_arguments() -> None:
    with pytest.raises(TypeError):
        tamis.Filter(1, 0.1, "bloom", "add")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        tamis.Filter(1, capacity=1)  # type: ignore[misc]
    f = tamis.Filter(1, 0.1, "bloom")
    with pytest.raises(TypeError):
        f.__init__(1, 0.1)  # type: ignore[misc]
    assert f.add("a")


def test_errors_have_a_status() -> None:
    with pytest.raises(tamis.ArgumentError) as caught:
        tamis.Filter(100, 2.0)
    assert caught.value.status == "E_FPR"
    assert isinstance(caught.value, (tamis.Error, ValueError))
    assert "false positive rate" in str(caught.value)
    with pytest.raises(tamis.UnsupportedError) as unsupported:
        tamis.build(["a"], kind="fuse").add("b")
    assert unsupported.value.status == "E_STATIC"
    full = tamis.Filter(10, kind="cuckoo")
    with pytest.raises(tamis.FullError) as overflow:
        for i in range(10_000):
            full.add(i)
    assert overflow.value.status == "E_FULL"
    assert isinstance(overflow.value, OverflowError)


# ---- keys


class Index:
    """Something that is an integer by its __index__."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


SAME_KEYS: list[list[Any]] = [
    ["apple", b"apple", bytearray(b"apple"), memoryview(b"apple"), memoryview(b"<apple>")[1:-1]],
    ["", b"", memoryview(b"")],
    ["Ångström \U0001f600", "Ångström \U0001f600".encode()],
    ["a\0b", b"a\0b"],
    [1, True, Index(1), (1).to_bytes(8, "little")],
    [0, False, bytes(8)],
    [-1, 2**64 - 1, b"\xff" * 8],
    [-(2**63), 2**63, b"\0\0\0\0\0\0\0\x80"],
    [memoryview(struct.pack("<4i", 1, 2, 3, 4)).cast("i"), struct.pack("<4i", 1, 2, 3, 4)],
]


@pytest.mark.parametrize("same", SAME_KEYS, ids=lambda same: repr(same[0])[:20])
@pytest.mark.parametrize("kind", DYNAMIC)
def test_keys(kind: Any, same: list[Any]) -> None:
    f = tamis.Filter(1000, 1e-6, kind)
    hashes = {f.hash(key) for key in same}
    assert len(hashes) == 1
    assert same[0] not in f
    assert f.add(same[-1]) is True
    assert f.add(same[0]) is False
    assert all(key in f for key in same)
    assert f.contains_many(same, result="list") == [True] * len(same)
    assert f.hash_many(same, result="list") == list(hashes) * len(same)


def test_str_subclasses() -> None:
    class Word(str):
        pass

    class Number(int):
        pass

    class Data(bytes):
        pass

    f = tamis.Filter()
    f.add(Word("a"))
    f.add(Number(7))
    f.add(Data(b"d"))
    assert "a" in f
    assert 7 in f
    assert b"d" in f


@pytest.mark.parametrize(
    ("key", "error", "advice"),
    [
        (None, TypeError, "str"),
        (1.5, TypeError, "f64"),
        ([1], TypeError, "update"),
        ({"a"}, TypeError, "str"),
        (object(), TypeError, "str"),
        (1j, TypeError, "str"),
        (2**64, OverflowError, "str"),
        (-(2**63) - 1, OverflowError, "str"),
        (Index(2**70), OverflowError, "str"),
        ("\ud800", ValueError, "surrogate"),
        (("a", None), TypeError, "str"),
        (("a", ("b",)), TypeError, "tuple"),
        (("a", 2**64), OverflowError, "str"),
        (memoryview(b"abcdef")[::2], (BufferError, TypeError, ValueError), "contiguous"),
    ],
)
def test_what_is_no_key(key: Any, error: type[BaseException], advice: str) -> None:
    f = tamis.Filter(10)
    before = f.to_bytes()
    calls: list[Callable[[], Any]] = [
        lambda: f.add(key),
        lambda: key in f,
        lambda: f.hash(key),
        lambda: f.count(key),
        lambda: f.update([key]),
        lambda: f.contains_many([key]),
        lambda: f.add_many(iter([key])),
    ]
    for call in calls:
        with pytest.raises(error, match=advice):
            call()
    assert f.to_bytes() == before


def test_an_index_that_raises() -> None:
    class Bad:
        def __index__(self) -> int:
            raise ZeroDivisionError

    f = tamis.Filter(10)
    for call in (f.add, f.count, f.hash, lambda key: f.update([1, key])):
        with pytest.raises(ZeroDivisionError):
            call(Bad())


def test_tuples() -> None:
    f = tamis.Filter(1000, 1e-6)
    keys: list[Any] = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        (),
        (1, "1"),
        ("1", 1),
        (1,),
        (1.0,),
        (b"1",),
        ("a\0b",),
        (2**64 - 1,),
        (math.inf, -0.5),
    ]
    assert len({f.hash(key) for key in keys}) == len(keys)
    for key in keys:
        assert f.add(key)
        assert key in f
    assert ("c", "ab") not in f
    assert all(f.contains_many(keys, result="list"))
    assert f.hash(("a", Index(3), memoryview(b"x"))) == f.hash(("a", 3, b"x"))


def test_a_tuple_whose_field_uses_the_filter() -> None:
    f = tamis.Filter(1000, 1e-6)

    class Nested:
        def __index__(self) -> int:
            f.add(("inner", 1))
            return 7

    f.add(("outer", Nested()))
    assert ("outer", 7) in f
    assert ("inner", 1) in f


def test_keys_that_change_the_filter_meanwhile() -> None:
    """A key or an iterable may run any code, also such that uses or closes the filter."""
    f = tamis.Filter(1000, 1e-6, "bloom")

    def keys() -> Iterator[str]:
        for i in range(1000):
            f.add(("inner", i))
            assert ("inner", i) in f
            yield str(i)

    f.update(keys())
    assert all(f.contains_many([("inner", i) for i in range(1000)], result="list"))
    assert all(f.contains_many(map(str, range(1000)), result="list"))

    class Closes:
        def __init__(self, f: tamis.Filter) -> None:
            self.f = f

        def __index__(self) -> int:
            self.f.close()
            return 1

    def closes(f: tamis.Filter) -> Iterator[str]:
        yield "a"
        f.close()
        yield "b"

    calls: list[Callable[[tamis.Filter], Any]] = [
        lambda f: f.add(Closes(f)),
        lambda f: f.add(("a", Closes(f))),
        lambda f: Closes(f) in f,
        lambda f: f.hash(("a", Closes(f))),
        lambda f: f.count(Closes(f)),
        lambda f: f.update([1, Closes(f), 2]),
        lambda f: f.contains_many([1, ("a", Closes(f)), 2]),
        lambda f: f.add_many(closes(f)),
        lambda f: f.contains_many(closes(f)),
        lambda f: f.hash_many(closes(f)),
    ]
    for call in calls:
        for batch in (1, 5000):
            f = tamis.Filter(100, kind="bloom")
            f.update(str(i) for i in range(batch))
            with pytest.raises((ValueError, RuntimeError, BufferError)):
                call(f)


def test_a_list_that_changes_meanwhile() -> None:
    f = tamis.Filter(1000)
    keys: list[Any] = []

    class Clears:
        def __index__(self) -> int:
            keys.clear()
            gc.collect()
            return 7

    for call in (f.update, f.contains_many, f.add_many, f.hash_many):
        keys[:] = ["a" * 100, Clears(), *("b" * i for i in range(100))]
        with contextlib.suppress(RuntimeError):
            call(keys)


def test_a_key_is_not_many_keys() -> None:
    f = tamis.Filter()
    for key in ("abc", b"abc"):
        for call in (f.update, f.contains_many, f.add_many, f.hash_many, tamis.build):
            with pytest.raises(TypeError, match="list"):
                call(key)
    for keys in (None, 3, 1.5):
        with pytest.raises(TypeError):
            f.update(keys)  # type: ignore[arg-type]


def test_iterables() -> None:
    f = tamis.Filter(1000)
    f.update(["a"], ("b",), {"c"}, {"d": 1}, iter("ef"), (str(i) for i in range(3)), range(3))
    for key in ("a", "b", "c", "d", "e", "f", "0", "2", 2):
        assert key in f
    f.update()
    f.update([])
    assert f.contains_many([], result="list") == []

    def fails() -> Iterator[str]:
        yield "first"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        f.update(fails())


def test_results() -> None:
    f = tamis.Filter(1000, 1e-9)
    assert f.add_many(["a", "b", "a"], result="list") == [True, True, False]
    assert f.contains_many(["a", "x", "b"]) == [True, False, True]
    assert f.contains_many(key for key in "ab") == [True, True]
    with pytest.raises((ValueError, TypeError)):
        f.contains_many(["a"], result="tuple")  # type: ignore[call-overload]
    hashes = f.hash_many(["a", "x"], result="list")
    assert hashes == [f.hash("a"), f.hash("x")]
    assert f.contains_many(hashes, hashed=True, result="list") == [True, False]
    g = tamis.Filter(1000, 1e-9)
    assert g.add_many(hashes, hashed=True, result="list") == [True, True]
    assert "x" in g


def test_arrow_results() -> None:
    f = tamis.build(["a", "b"], 1e-6)
    found = f.contains_many(["a", "x"], result="arrow")
    assert isinstance(found, tamis.Array)
    assert (len(found), found.null_count) == (2, 0)
    assert found.tolist() == [True, False]
    assert found[0] is True
    assert found[-1] is False
    assert found[:1] == [True]
    assert list(found) == [True, False]
    assert len(found.__arrow_c_array__()) == 2
    with pytest.raises(IndexError):
        found[2]


@pytest.mark.parametrize("kind", REMOVABLE)
def test_remove(kind: Any) -> None:
    f = tamis.Filter(1000, 1e-6, kind)
    f.update(["a", "a", "b"])
    assert f.count("a") == 2
    f.remove("a")
    assert f.count("a") == 1
    assert f.discard("a") is True
    assert f.discard("a") is False
    with pytest.raises(KeyError) as caught:
        f.remove("a")
    assert caught.value.args == ("a",)
    assert f.discard_many(["b", "b", "x"], result="list") == [True, False, False]
    assert not f


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in REMOVABLE])
def test_kinds_that_cannot_remove(kind: Any) -> None:
    f = tamis.build(["a"], kind=kind)
    for call in (f.remove, f.discard):
        with pytest.raises(tamis.UnsupportedError):
            call("a")
    assert "a" in f


# ---- forms of keys


def test_key_types() -> None:
    i32 = tamis.Filter(100, 1e-9, "bloom", key_type="i32")
    i32.add("-5")
    assert -5 in i32
    assert b"-5" in i32
    plain = tamis.Filter(100, 1e-9, "bloom")
    assert i32.hash(-5) == plain.hash(struct.pack("<i", -5))
    for key in (2**31, -(2**31) - 1, "x", "", "1.5", "5 "):
        with pytest.raises(ValueError, match="i32"):
            i32.add(key)
    u64 = tamis.Filter(100, key_type="u64")
    assert u64.hash(2**64 - 1) == u64.hash(str(2**64 - 1)) == plain.hash(b"\xff" * 8)
    with pytest.raises(ValueError, match="u64"):
        u64.add(-1)
    i64 = tamis.Filter(100, key_type="i64")
    assert i64.hash(-1) == i64.hash("-1") == plain.hash(b"\xff" * 8)
    with pytest.raises(ValueError, match="i64"):
        i64.add(2**63)
    utf16 = tamis.Filter(100, key_type="utf16")
    text = "Ångström \U0001f600"
    assert utf16.hash(text) == plain.hash(text.encode("utf-16-le"))
    with pytest.raises(ValueError, match="UTF-8"):
        utf16.add(b"\xff")
    with pytest.raises(ValueError, match="str"):
        utf16.add(3)


def test_floats() -> None:
    plain = tamis.Filter(100)
    f64 = tamis.Filter(100, 1e-9, "bloom", key_type="f64")
    f32 = tamis.Filter(100, 1e-9, "bloom", key_type="f32")
    for value in (0.0, 1.5, -0.1, 1e300, math.inf, -math.inf, 5e-324, math.nan):
        assert f64.hash(value) == plain.hash(struct.pack("<d", value))
        if not math.isnan(value):
            assert f64.hash(value) == f64.hash(repr(value))
    for value in (0.1, 16777217.0, -math.inf):
        assert f32.hash(value) == plain.hash(struct.pack("<f", value)) == f32.hash(repr(value))
    assert f64.hash(3) == f64.hash(3.0) == f64.hash("3")
    assert f32.hash(2**24 + 1) == f32.hash(2.0**24)
    with pytest.raises(ValueError, match="f32"):
        f32.add(1e300)
    for text in ("1,5", "0x10", "", " 1", "1e999"):
        with pytest.raises(ValueError, match="f64"):
            f64.add(text)


def test_numbers_in_other_locales() -> None:
    f = tamis.Filter(100, key_type="f64")
    expected = f.hash(0.5)
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        break
    else:
        pytest.skip("no locale with a decimal comma is installed")
    try:
        assert f.hash("0.5") == expected
        with pytest.raises(ValueError, match="f64"):
            f.hash("0,5")
        assert locale.localeconv()["decimal_point"] == ","
    finally:
        locale.setlocale(locale.LC_ALL, before)


def test_fold_case() -> None:
    f = tamis.Filter(100, 1e-9, "bloom", fold_case=True)
    f.add("Straße ABC")
    assert "straße abc" in f
    assert b"STRA\xc3\x9fE abc" in f
    assert "STRASSE ABC" not in f
    assert f.contains_many(["sTRAßE aBC", "x"], result="list") == [True, False]
    wide = tamis.Filter(100, fold_case=True, key_type="utf16")
    assert wide.hash("ABC") == tamis.Filter(100).hash("abc".encode("utf-16-le"))


def test_prehashed() -> None:
    f = tamis.Filter(100, 1e-9, "bloom", prehashed=True)
    h = tamis.hash_integer(42)
    assert f.add(h)
    assert h in f
    assert f.hash(h) == h
    assert f"{h:016x}" in f
    assert f.contains_many([h, 7], result="list") == [True, False]
    with pytest.raises(ValueError, match="16 hexadecimal digits"):
        f.add("apple")
    g = tamis.Filter.from_bytes(f.to_bytes())
    assert h in g
    assert g.hash(h) == h


def test_hash_integer() -> None:
    assert tamis.hash_integer(0) != tamis.hash_integer(1)
    assert tamis.hash_integer(-1) == tamis.hash_integer(2**64 - 1)
    assert len({tamis.hash_integer(i) for i in range(10_000)}) == 10_000
    with pytest.raises(TypeError):
        tamis.hash_integer("1")  # type: ignore[arg-type]


# ---- keyed filters


def test_keyed(tmp_path: Path) -> None:
    f = tamis.Filter(1000, 1e-6, "bloom", secret=SECRET)
    assert f.keyed
    f.update(["a", ("b", 1)])
    assert f.hash("a") != tamis.Filter(1000).hash("a")
    data = f.to_bytes()
    assert SECRET not in data
    g = tamis.Filter.from_bytes(data, secret=bytearray(SECRET))
    assert "a" in g
    assert ("b", 1) in g
    assert g == f
    for secret in (None, bytes(16)):
        with pytest.raises(tamis.SecretError) as caught:
            tamis.Filter.from_bytes(data, secret=secret)
        assert caught.value.status == ("E_SECRET" if secret is None else "E_WRONG_SECRET")
    with pytest.raises(ValueError, match="16"):
        tamis.Filter.from_bytes(data, secret=SECRET[:-1])
    f.save(tmp_path / "keyed.tamis")
    with pytest.raises(tamis.SecretError, match=r"keyed\.tamis"):
        tamis.open(tmp_path / "keyed.tamis")
    with tamis.open(tmp_path / "keyed.tamis", secret=SECRET) as h:
        assert "a" in h
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(f)
    assert "a" in f.copy()
    assert f.info().keyed
    assert SECRET.hex() not in repr(f) + str(f.info())


# ---- as a set


def test_bool_and_len() -> None:
    for kind in DYNAMIC:
        f = tamis.Filter(10_000, 0.001, kind)
        assert not f
        assert len(f) == 0
        f.add("a")
        assert f
        assert len(f) == 1
        f.update(str(i) for i in range(5000))
        assert abs(len(f) - 5001) < 100
        assert bool(f) == (len(f) != 0)
    for kind in STATIC:
        assert not tamis.build([], kind=kind)
        assert len(tamis.build(["a", "b", "a"], kind=kind)) == 2


def test_equality() -> None:
    a, b = tamis.Filter(100, kind="bloom"), tamis.Filter(100, kind="bloom")
    assert a == b
    assert (a != b) is False
    a.update(["x", "y"])
    assert a != b
    b.update(["y", "x"])
    assert a == b
    b.add("x")  # is there already
    assert a == b
    assert a != tamis.Filter(100, kind="bloom", seed=1)
    assert a != "x"
    assert a != None  # noqa: E711
    with pytest.raises(TypeError):
        hash(a)
    with pytest.raises(TypeError):
        _ = a < b  # type: ignore[operator]


@pytest.mark.parametrize("kind", UNITABLE)
def test_union(kind: Any) -> None:
    a, b = tamis.Filter(100, 1e-6, kind), tamis.Filter(100, 1e-6, kind)
    a.update(["a", "both"])
    b.update(["b", "both"])
    union = a | b
    assert union.contains_many(["a", "b", "both", "x"], result="list") == [True, True, True, False]
    assert "b" not in a
    same = a
    a |= b
    assert a is same
    assert a == union
    a |= a
    assert "a" in a


@pytest.mark.parametrize("kind", INTERSECTABLE)
def test_intersection(kind: Any) -> None:
    a, b = tamis.Filter(100, 1e-6, kind), tamis.Filter(100, 1e-6, kind)
    a.update(["a", "both"])
    b.update(["b", "both"])
    both = a & b
    assert both.contains_many(["a", "b", "both"], result="list") == [False, False, True]
    a &= b
    assert a == both


@pytest.mark.parametrize("kind", INTERSECTABLE)
def test_bool_agrees_with_len(kind: Any) -> None:
    f, g = tamis.Filter(10_000, 0.001, kind), tamis.Filter(10_000, 0.001, kind)
    f.add("a")
    g.add("b")
    both = f & g
    assert (len(both), bool(both)) == (0, False)


def test_merges_that_fail() -> None:
    a = tamis.Filter(100, kind="bloom")
    before = a.to_bytes()
    others = [
        tamis.Filter(1000, kind="bloom"),
        tamis.Filter(100, kind="bloom", seed=1),
        tamis.Filter(100, kind="bloom", secret=SECRET),
        tamis.Filter(100, kind="block"),
    ]
    for other in others:
        with pytest.raises(tamis.MismatchError):
            _ = a | other
        with pytest.raises(tamis.MismatchError):
            a &= other
    with pytest.raises(tamis.UnsupportedError):
        _ = tamis.Filter(100, kind="cuckoo") | tamis.Filter(100, kind="cuckoo")
    with pytest.raises(TypeError):
        _ = a | {"x"}  # type: ignore[operator]
    with pytest.raises(TypeError):
        a |= ["x"]  # type: ignore[arg-type]
    assert a.to_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_copies(kind: Any) -> None:
    f = tamis.build(["a", "b"], 1e-6, kind, seed=3)
    for other in (f.copy(), copy.copy(f), copy.deepcopy(f), copy.deepcopy([f])[0]):
        assert other == f
        assert other is not f
        assert other.to_bytes() == f.to_bytes()
        if kind in DYNAMIC:
            other.add("c")
            assert "c" in other
            assert "c" not in f


def test_convert() -> None:
    f = tamis.Filter(1000, 0.01, "counting")
    f.update(["a", "b"])
    g = f.convert("bloom")
    assert (g.kind, "a" in g) == ("bloom", True)
    assert g.nbytes < f.nbytes
    with pytest.raises(tamis.UnsupportedError):
        g.convert("cuckoo")
    with pytest.raises(ValueError, match="kind"):
        g.convert("no kind")  # type: ignore[arg-type]
    guava = tamis.Filter(100, 0.03, format="guava")
    guava.add("a")
    stored = guava.convert(format="tamis")
    assert stored.format == "tamis"
    assert stored.convert(format="guava").to_bytes() == guava.to_bytes()
    with pytest.raises(tamis.UnsupportedError):
        f.convert(format="guava")


# ---- other protocols


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", KINDS)
def test_pickle(kind: Any, protocol: int) -> None:
    f = tamis.build(["a", "b"], 1e-6, kind)
    g = pickle.loads(pickle.dumps(f, protocol))
    assert g == f
    assert type(g) is tamis.Filter
    assert g.to_bytes() == f.to_bytes()


def test_pickle_keeps_what_the_bytes_do_not_have() -> None:
    f = tamis.Filter(1000, 0.01, "bloom", key_type="i32")
    f.add(7)
    assert 7 in pickle.loads(pickle.dumps(f))
    guava = tamis.Filter(100, 0.03, format="guava32")
    guava.add("a")
    restored = pickle.loads(pickle.dumps(guava))
    assert (restored.format, "a" in restored) == ("guava32", True)


def contains(f: tamis.Filter, key: str) -> tuple[bool, tamis.Filter]:
    """What another process does with a filter."""
    return key in f, f


def test_pickle_to_another_process() -> None:
    f = tamis.build(["a", "b"], 1e-9)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.starmap(contains, [(f, "a"), (f, "x")]) == [(True, f), (False, f)]


def test_subclasses() -> None:
    class Named(tamis.Filter):
        """A filter with a label."""

        def __init__(self, label: str, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            self.label = label

    f = Named("mine", 100, kind="bloom")
    f.add("a")
    assert f.label == "mine"
    assert "a" in f
    assert isinstance(f.copy(), tamis.Filter)
    assert isinstance(f | tamis.Filter(100, kind="bloom"), tamis.Filter)
    assert f == f.copy()


def test_weak_references() -> None:
    f = tamis.Filter(100)
    reference = weakref.ref(f)
    del f
    gc.collect()
    assert reference() is None


def test_repr() -> None:
    f = tamis.Filter(1000, 0.01, "cuckoo")
    f.add("a")
    assert repr(f) == "<tamis.Filter kind='cuckoo' keys=1 fpr=0.01>"
    assert "keyed" in repr(tamis.Filter(1, secret=SECRET))
    assert "guava" in repr(tamis.Filter(1, format="guava"))
    f.close()
    assert "closed" in repr(f)
    for value in (tamis.Builder(), f, tamis.Filter):
        assert "tamis" in repr(value)


def test_close() -> None:
    f = tamis.build(["a"])
    with f as entered:
        assert entered is f
    assert f.closed
    f.close()
    calls: list[Callable[[], Any]] = [
        lambda: f.add("a"),
        lambda: "a" in f,
        lambda: len(f),
        lambda: bool(f),
        lambda: f.info(),
        lambda: f.kind,
        lambda: f.copy(),
        lambda: f.to_bytes(),
        lambda: memoryview(f),
        lambda: f.contains_many(["a"]),
        lambda: f.update(["a"]),
        lambda: f | f,
        lambda: f.save("unused"),
        lambda: pickle.dumps(f),
        lambda: f.__enter__(),
        lambda: f.hash(("a", 1)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(ZeroDivisionError), tamis.build(["a"]):
        raise ZeroDivisionError


def test_without_init() -> None:
    f = tamis.Filter.__new__(tamis.Filter)
    with pytest.raises(ValueError, match="closed"):
        f.add("a")
    assert repr(f)
    del f


@pytest.mark.parametrize("kind", KINDS)
def test_buffer(kind: Any, tmp_path: Path) -> None:
    f = tamis.build(["a", "b"], kind=kind)
    view = memoryview(f)
    assert view.readonly
    assert view == f.to_bytes()
    assert bytes(f) == f.to_bytes()
    stream = io.BytesIO()
    stream.write(f)
    assert stream.getvalue() == f.to_bytes()
    assert tamis.Filter.from_bytes(view) == f
    with pytest.raises((BufferError, TypeError)):
        view[0] = 1
    view.release()

    path = tmp_path / "f.tamis"
    f.save(path)
    mapped = tamis.open(path)
    view = memoryview(mapped)
    with pytest.raises(BufferError):
        mapped.close()
    assert view == f.to_bytes()
    view.release()
    mapped.close()
    assert mapped.closed


def test_a_buffer_outlives_its_filter() -> None:
    view = memoryview(tamis.build(["a"]))
    gc.collect()
    assert "a" in tamis.Filter.from_bytes(view)


def test_garbage_collection_of_cycles() -> None:
    class Node(tamis.Filter):
        """A filter that can refer to itself."""

    f = Node(10)
    f.me = f  # type: ignore[attr-defined]
    reference = weakref.ref(f)
    del f
    gc.collect()
    assert reference() is None


# ---- facts


@pytest.mark.parametrize("kind", KINDS)
def test_info(kind: Any) -> None:
    f = tamis.build(map(str, range(1000)), 0.01, kind, seed=5)
    info = f.info()
    assert (info.kind, info.format, info.seed, info.keyed) == (kind, "tamis", 5, False)
    assert info.file is None
    assert info.bytes == f.nbytes == len(f.to_bytes())
    assert info.fpr_target == f.fpr == 0.01
    assert 0 < info.fpr_now < 0.012
    assert abs(info.keys - 1000) < 50
    assert not info.over_capacity
    assert info.hasher == "xxh3"
    assert info.checksum == "ok"
    assert info.key_options == ""
    assert info == f.info()


def test_info_of_key_options() -> None:
    f = tamis.Filter(10, key_type="i32", fold_case=True)
    assert f.info().key_options == "--fold-case --as i32"


def test_over_capacity() -> None:
    f = tamis.Filter(100, 0.01, "bloom")
    f.update(range(1000))
    assert f.info().over_capacity
    assert f.info().fpr_now > 0.01


def test_plan() -> None:
    plan = tamis.plan(1_000_000, 0.01)
    assert plan.choice in KINDS
    assert plan.why
    assert (plan.n, plan.fpr) == (1_000_000, 0.01)
    assert {sizing.kind for sizing in plan.families} == set(KINDS)
    for sizing in plan.families:
        assert sizing.static is (sizing.kind in STATIC)
        assert sizing.remove is (sizing.kind in REMOVABLE)
        assert sizing.bits_per_key > 6
    assert tamis.plan(1000, bytes=2000).size == 2000
    assert tamis.plan(1000, needs="remove").choice in REMOVABLE
    with pytest.raises(ValueError, match="false positive rate"):
        tamis.plan(1000, 2.0)


# ---- builders


@pytest.mark.parametrize("kind", KINDS)
def test_builder(kind: Any) -> None:
    builder = tamis.Builder(kind=kind)
    builder.add("a")
    builder.add(("b", 1))
    builder.update(["c", 4], hashed=False)
    assert len(builder) == 4
    f = builder.finish()
    assert f.kind == kind
    for key in ("a", ("b", 1), "c", 4):
        assert key in f
    for call in (builder.finish, lambda: builder.add("x"), lambda: builder.update(["x"])):
        with pytest.raises(ValueError, match=r"finished|closed"):
            call()


def test_builder_as_context() -> None:
    with tamis.Builder() as builder:
        builder.add("a")
    with pytest.raises(ValueError, match="closed"):
        builder.add("b")
    builder.close()


def test_build_arguments(tmp_path: Path) -> None:
    keys = [str(i) for i in range(10_000)]
    f = tamis.build(keys, 0.01, "fuse", seed=1)
    assert f == tamis.build(reversed(keys), 0.01, "fuse", seed=1, threads=2, check=True)
    spilled = tamis.build(keys, 0.01, "fuse", seed=1, memory=1, temporary=tmp_path)
    assert spilled == f
    assert list(tmp_path.iterdir()) == []
    assert tamis.build(keys, 0.01, "fuse", arity=3).nbytes > f.nbytes
    assert tamis.build(keys, capacity=20_000, kind="bloom").capacity == 20_000
    hashes = [tamis.hash_integer(i) for i in range(100)]
    assert all(tamis.build(hashes, hashed=True).contains_many(hashes, hashed=True, result="list"))
    assert tamis.build([], 0.01).kind in STATIC
    for arguments in ({"fpr": 7}, {"kind": "x"}, {"arity": 9}, {"threads": -1}, {"x": 1}):
        with pytest.raises((ValueError, TypeError)):
            tamis.build(keys, **arguments)


def test_progress() -> None:
    calls: list[int] = []
    keys = (str(i) for i in range(300_000))
    f = tamis.build(keys, progress=calls.append)
    assert calls
    assert calls == sorted(calls)
    assert len(f) == 300_000

    def stops(count: int) -> None:
        raise InterruptedError(count)

    with pytest.raises(InterruptedError):
        tamis.build((str(i) for i in range(300_000)), progress=stops)


def test_progress_that_uses_the_builder() -> None:
    builder: tamis.Builder

    def closes(count: int) -> None:
        builder.close()

    builder = tamis.Builder(progress=closes)
    with contextlib.suppress(ValueError, RuntimeError):
        builder.update(str(i) for i in range(300_000))
    with contextlib.suppress(ValueError, RuntimeError):
        builder.finish()


def test_random_bytes_are_found(rng: random.Random) -> None:
    for kind in KINDS:
        keys = [rng.randbytes(rng.randrange(300)) for _ in range(1000)]
        f = tamis.build(keys, 0.01, kind)
        assert all(key in f for key in keys)
        assert all(f.contains_many(keys, result="list"))


def test_compatible_formats() -> None:
    for name in tamis.FORMATS:
        try:
            f = tamis.build([i.to_bytes(8, "little") for i in range(100)], format=name)
        except (tamis.Error, ValueError) as error:
            assert str(error)
            continue
        assert f.format == name
        assert all(i.to_bytes(8, "little") in f for i in range(100))
        form = "libbloom1:entries=1000,error=0.01" if name == "libbloom1" else name
        assert tamis.Filter.from_bytes(f.to_bytes(), format=form) == f
        assert pickle.loads(pickle.dumps(f)) == f
        if name != "tamis":
            with pytest.raises(TypeError, match="compatible"):
                f.add(("a", 1))

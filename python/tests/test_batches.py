"""Batches: keys from lists, iterables, buffers, NumPy, Arrow, pandas and polars."""

from __future__ import annotations

import array
import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import pytest

import tamis

WORDS = ["apple", "", "a\0b", "naïve", "日本語", "🙂" * 5, "x" * 13, "y" * 5000]
KINDS: list[Any] = ["block", "bloom", "cuckoo", "counting", "growing"]


def filter_of(keys: Iterable[Any], **options: Any) -> tamis.Filter:
    """A filter to which the keys were added one by one."""
    made = tamis.Filter(100_000, 0.0001, **options)
    for key in keys:
        made.add(key)
    return made


def hashes_of(filter: tamis.Filter, keys: Iterable[Any]) -> list[int]:
    """What hash_many must return."""
    return [filter.hash(key) for key in keys]


# ---- lists and iterables


@pytest.mark.parametrize("kind", KINDS)
def test_every_call_does_what_the_calls_for_one_key_do(kind: Any) -> None:
    keys: list[Any] = [*WORDS, b"bytes", 5, -1, 2**64 - 1, bytearray(b"array"), memoryview(b"view")]
    one, many = tamis.Filter(1000, 0.0001, kind), tamis.Filter(1000, 0.0001, kind)
    assert many.add_many(keys) == [one.add(key) for key in keys]
    assert many == one
    assert many.contains_many([*keys, "absent"]) == [key in one for key in [*keys, "absent"]]
    assert many.hash_many(keys) == hashes_of(one, keys)


def test_discard_many() -> None:
    filter = filter_of(WORDS, kind="cuckoo")
    assert filter.discard_many(["apple", "absent"]) == [True, False]
    assert filter.contains_many(["apple", "naïve"]) == [False, True]


@pytest.mark.parametrize("make", [list, tuple, set, iter, dict.fromkeys])
def test_any_iterable(make: Callable[[list[str]], Iterable[str]]) -> None:
    keys = [str(i) for i in range(40_000)]
    filter = tamis.Filter(40_000)
    filter.update(make(keys))
    assert filter.contains_many(make(keys)) == [True] * 40_000


def test_no_keys() -> None:
    filter = tamis.Filter(10)
    assert filter.contains_many([]) == filter.add_many(iter(())) == filter.hash_many(()) == []


def test_tuples_are_composite_keys_beside_others() -> None:
    keys: list[Any] = ["plain", ("Ada", 1815), b"bytes", ("Ada", "1815"), 7, (b"a", -1, 2.5)]
    filter = tamis.Filter(100)
    filter.update(keys[:3])
    assert filter.contains_many(keys) == [True, True, True, False, False, False]
    assert filter.hash_many(keys) == hashes_of(filter, keys)


def test_objects_of_an_iterator_are_kept_alive() -> None:
    def make() -> Iterator[bytes]:
        for i in range(50_000):
            yield b"%08d" % i

    filter = filter_of(make())
    assert all(filter.contains_many(make()))


def test_large_keys_of_an_iterator_come_in_small_slabs() -> None:
    keys = (bytes([i]) * 1_000_000 for i in range(30))
    assert sum(tamis.Filter(100, 0.0001).add_many(keys)) == 30


def test_a_generator_may_use_the_filter() -> None:
    filter = filter_of(["old"])
    filter.update(key for key in ["old", "new"] if key not in filter)
    assert "new" in filter


def test_the_error_of_a_generator_passes() -> None:
    def fail() -> Iterator[str]:
        yield "a"
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        tamis.Filter(10).update(fail())


def test_a_list_may_change_meanwhile() -> None:
    class Clearing:
        def __index__(self) -> int:
            keys.clear()
            return 3

    keys: list[Any] = [Clearing(), *range(50_000)]
    found = tamis.Filter(10).contains_many(keys)
    assert len(found) <= 50_001


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        (["a", None], TypeError, r"keys\[1\]: .*NoneType"),
        (["a", 2**64], OverflowError, r"keys\[1\]"),
        (iter(["a", "b", 1.5]), TypeError, r"keys\[2\]: .*float"),
        (["\ud800"], UnicodeEncodeError, "surrogate"),
        (["a"] * 20_000 + [[]], TypeError, r"keys\[20000\]"),
        ("text", TypeError, "pass a list of keys"),
        (b"text", TypeError, "pass a list of keys"),
        (bytearray(b"text"), TypeError, "pass a list of keys"),
        (memoryview(b"text"), TypeError, "pass a list of keys"),
        (5, TypeError, "keys must be a list"),
        (None, TypeError, "keys must be a list"),
    ],
)
def test_what_is_not_many_keys(keys: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tamis.Filter(10).contains_many(keys)


def test_arguments() -> None:
    filter: Any = tamis.Filter(10)
    assert filter.contains_many(keys=["a"], threads=2, hashed=False, result=None) == [False]
    with pytest.raises(TypeError, match="unexpected keyword argument 'thread'"):
        filter.contains_many(["a"], thread=1)
    with pytest.raises(TypeError, match="hashed"):
        filter.hash_many([1], hashed=True)
    with pytest.raises(TypeError, match="one positional argument"):
        filter.add_many()
    with pytest.raises(TypeError, match="one positional argument"):
        filter.add_many(["a"], ["b"])
    with pytest.raises(ValueError, match="result must be"):
        filter.add_many(["a"], result="table")
    with pytest.raises(ValueError, match="threads"):
        filter.add_many(["a"], threads=-1)


def test_hashed() -> None:
    filter = filter_of(WORDS)
    hashes = filter.hash_many(WORDS)
    assert all(filter.contains_many(hashes, hashed=True))
    signed = [value - 2**64 if value >= 2**63 else value for value in hashes]
    assert all(filter.contains_many(array.array("q", signed), hashed=True))
    other = tamis.Filter(100)
    other.add_many(hashes, hashed=True)
    assert all(other.contains_many(WORDS))


def test_hashed_where_the_format_has_other_hashes() -> None:
    filter = tamis.Filter(100, format="guava")
    with pytest.raises(tamis.UnsupportedError):
        filter.contains_many([1, 2], hashed=True)


def test_a_full_filter_reports_how_many_keys_were_added() -> None:
    filter = tamis.Filter(50, kind="cuckoo")
    with pytest.raises(tamis.FullError, match=r"the filter is full: \d+ of 5000 keys") as caught:
        filter.add_many(list(range(5000)))
    assert caught.value.status == "E_FULL"
    added = int(str(caught.value).split(": ")[1].split()[0])
    assert all(filter.contains_many(range(added)))


def test_a_closed_filter() -> None:
    filter = tamis.Filter(10)
    filter.close()
    with pytest.raises(ValueError, match="closed"):
        filter.contains_many(["a"])


def test_keys_are_converted_as_the_filter_says() -> None:
    folding = filter_of(["Apple"], fold_case=True)
    assert folding.contains_many(["APPLE", b"aPPle", "pear"]) == [True, True, False]
    typed = filter_of([1, 2], key_type="i32")
    assert typed.contains_many([1, "2", 3]) == [True, True, False]
    with pytest.raises(ValueError, match=r"keys\[1\]"):
        typed.contains_many([1, 2**40])


def test_build() -> None:
    keys = [str(i) for i in range(100_000)]
    built = tamis.build(keys, 0.001)
    assert all(built.contains_many(keys, threads=2))
    assert tamis.build(iter(keys), 0.001, threads=3) == built
    hashes = built.hash_many(keys)
    assert all(tamis.build(hashes, 0.001, hashed=True).contains_many(keys))


# ---- buffers


@pytest.mark.parametrize("code", list("bhilqBHILQ"))
def test_integers_of_the_standard_library(code: str) -> None:
    values = array.array(code, [0, 1, 127, -1 if code.islower() else 255])
    filter = filter_of(values.tolist())
    assert filter.contains_many(values) == [True] * 4
    assert filter.hash_many(values) == hashes_of(filter, values)
    if code != "B":
        assert filter.contains_many(memoryview(values)[::2]) == [True] * 2
    values.append(5)  # the buffer has been released


def test_other_buffers() -> None:
    filter = filter_of([1, 2])
    assert filter.contains_many((ctypes.c_int * 3)(1, 2, 3)) == [True, True, False]
    with pytest.raises(TypeError, match="floats are keys only"):
        filter.contains_many(array.array("d", [1.0]))
    floats = filter_of([0.5], key_type="f64")
    assert floats.contains_many(array.array("f", [0.5, 0.25])) == [True, False]


@pytest.mark.parametrize("format", ["3i", "3b", "2?", "1i", "q", "0i", "2d", "99999999999999999s"])
def test_elements_of_several_numbers(format: str) -> None:
    """An element has one number, and the size of its letter."""

    class View(ctypes.Structure):
        _fields_ = (
            ("buf", ctypes.c_void_p),
            ("obj", ctypes.c_void_p),
            ("len", ctypes.c_ssize_t),
            ("itemsize", ctypes.c_ssize_t),
            ("readonly", ctypes.c_int),
            ("ndim", ctypes.c_int),
            ("format", ctypes.c_char_p),
            ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
            ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
            ("suboffsets", ctypes.c_void_p),
            ("internal", ctypes.c_void_p),
        )

    data = ctypes.create_string_buffer(12)
    shape = (ctypes.c_ssize_t * 1)(1)
    view = View(ctypes.addressof(data), None, 12, 12, 1, 1, format.encode(), shape, None)
    view.strides = (ctypes.c_ssize_t * 1)(12)
    make = ctypes.pythonapi.PyMemoryView_FromBuffer
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    with pytest.raises(TypeError, match="are not keys"):
        tamis.Filter(10).contains_many(make(ctypes.addressof(view)))


# ---- NumPy

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u8", "<i4", "?"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numpy_integers(dtype: str) -> None:
    np = pytest.importorskip("numpy")
    keys = np.array([0, 1, 1, 0, 1], dtype)
    if "i" in dtype:
        keys[2] = -1
    elif "u" in dtype:
        keys[2] = np.iinfo(dtype).max
    filter = filter_of(keys.tolist())
    for view in (keys, keys[::2], keys[::-1], keys[:0]):
        found = filter.contains_many(view)
        assert isinstance(found, np.ndarray) and found.dtype == bool and found.all()
        hashes = filter.hash_many(view)
        assert hashes.dtype == "uint64" and hashes.tolist() == hashes_of(filter, view.tolist())


def test_numpy_integers_that_are_not_aligned() -> None:
    np = pytest.importorskip("numpy")
    packed = np.zeros(100, dtype=[("a", "u1"), ("b", "i8")])
    packed["b"] = range(100)
    filter = filter_of(range(100))
    assert filter.contains_many(packed["b"]).all()
    hashes = np.zeros(100, dtype=[("a", "u1"), ("b", "u8")])
    hashes["b"] = filter.hash_many(packed["b"])
    assert filter.contains_many(hashes["b"], hashed=True).all()


def test_numpy_strings() -> None:
    np = pytest.importorskip("numpy")
    words = [word for word in WORDS if "\0" not in word]
    filter = filter_of(words)
    text = np.array(words)
    for keys in (text, text.astype(text.dtype.newbyteorder()), text[::-1], text.astype(object)):
        assert filter.contains_many(keys).all()
    encoded = np.char.encode(text, "utf-8")
    assert filter.contains_many(encoded).all() and filter.contains_many(encoded[::2]).all()
    assert filter.contains_many(np.array(["absent"])).tolist() == [False]
    with pytest.raises(ValueError, match=r"keys\[1\]: U\+D800"):
        filter.contains_many(np.array(["a", "\ud800"]))
    wide = np.array(["a" * 100_000, "b"])  # few keys fit into a group
    assert filter_of(wide.tolist()).contains_many(np.tile(wide, 20)).all()


def test_numpy_string_dtype() -> None:
    np = pytest.importorskip("numpy", "2.0")
    filter = filter_of(WORDS)
    keys = np.array([*WORDS, "absent"], dtype=np.dtypes.StringDType())
    expected = [True] * len(WORDS) + [False]
    assert filter.contains_many(keys).tolist() == expected
    assert filter.contains_many(keys[::-1]).tolist() == expected[::-1]
    many = np.array(WORDS * 20_000, dtype=np.dtypes.StringDType())  # NumPy 2.0 cannot tile
    assert filter.contains_many(many, threads=2).all()
    nulls = np.array(["apple", None, ""], dtype=np.dtypes.StringDType(na_object=None))
    assert filter.contains_many(nulls).tolist() == [True, False, True]
    assert filter.contains_many(nulls, result="list") == [True, None, True]
    with pytest.raises(ValueError, match="a null has no hash"):
        filter.hash_many(nulls)
    keys[0] = "written after the batch"  # the strings are no longer locked


def test_numpy_subclasses() -> None:
    """What a subclass overrides does not count."""
    np = pytest.importorskip("numpy", "2.0")

    class Long(np.ndarray):  # type: ignore[misc,name-defined]
        """An array that pretends to be long."""

        shape = strides = (10**9,)
        ndim = 1
        __array_interface__: ClassVar[Any] = {"data": (8, False)}

        def __len__(self) -> int:
            return 10**9

    for keys in (np.array(WORDS, dtype=np.dtypes.StringDType()), np.array(WORDS), np.arange(8)):
        filter = filter_of(keys.tolist())
        assert filter.contains_many(keys.view(Long)).tolist() == [True] * 8


def test_numpy_floats() -> None:
    np = pytest.importorskip("numpy")
    keys = np.array([0.5, -1.25, 1e30])
    filter = filter_of(keys.tolist(), key_type="f64")
    assert filter.contains_many(keys).all()
    assert filter.contains_many(keys.astype(">f8")).all()
    assert filter.contains_many(keys[:2].astype("f4")).all()
    assert filter_of([3], key_type="f64").contains_many(np.array([3])).all()


def test_numpy_keys_are_converted_as_the_filter_says() -> None:
    np = pytest.importorskip("numpy")
    folding = filter_of(["Apple", "Pear"], fold_case=True)
    for dtype in ("U9", "S9", object):
        assert folding.contains_many(np.array(["aPPLE", "pEAR"] * 700, dtype)).all()
    typed = filter_of([1, 2], key_type="i32")
    assert typed.contains_many(np.array([1, 2], "u1")).all()
    with pytest.raises(ValueError, match=r"keys\[2\]"):
        typed.contains_many(np.array([1, 2, 2**40]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda np: np.zeros((2, 2), int), ValueError, "one dimension"),
        (lambda np: np.array(5), ValueError, "one dimension"),
        (lambda np: np.array([1.5]), TypeError, "floats are keys only"),
        (lambda np: np.array(["2020"], "M8[D]"), TypeError, r"a\.view\('int64'\)"),
        (lambda np: np.array([1j]), TypeError, "convert them"),
        (lambda np: np.array([1.5], "e"), TypeError, "convert them"),
        (lambda np: np.array([1.5], "g"), TypeError, "convert them"),
        (lambda np: np.zeros(2, [("a", "i4"), ("b", "i4")]), TypeError, "convert them"),
        (lambda np: np.array([1, None], object), TypeError, r"keys\[1\]"),
        (lambda np: np.ma.array([1, 2], mask=[0, 1]), TypeError, "compressed"),
        (lambda np: np.int64(5), TypeError, "keys must be a list"),
    ],
)
def test_numpy_arrays_that_are_not_keys(
    make: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    np = pytest.importorskip("numpy")
    with pytest.raises(error, match=message):
        tamis.Filter(10).contains_many(make(np))


def test_numpy_results_of_lists() -> None:
    np = pytest.importorskip("numpy")
    filter = filter_of(["a"])
    found = filter.contains_many(["a", "b"], result="numpy")
    assert found.dtype == bool and found.tolist() == [True, False]
    found[0] = False  # it is writable
    assert filter.contains_many(np.array(["a"]), result="list") == [True]
    assert filter.contains_many([], result="numpy").tolist() == []


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads(threads: int) -> None:
    np = pytest.importorskip("numpy")
    keys = np.arange(300_001)
    for shared in (False, True):
        filter = tamis.Filter(300_000, kind="block", shared=shared)
        assert filter.add_many(keys, threads=threads)[0]
        assert filter.contains_many(keys, threads=threads).all()
        absent = filter.contains_many(keys + 10**9, threads=threads)
        assert absent.sum() < 10_000
        assert (filter.hash_many(keys, threads=threads) == filter.hash_many(keys)).all()
    with pytest.raises(ValueError, match=r"keys\[299999\]"):
        keys[299_999] = 2**40
        filter_of([], key_type="i32").contains_many(keys, threads=threads)


def test_queries_and_changes_at_once() -> None:
    np = pytest.importorskip("numpy")
    keys = np.arange(100_000)
    filter = tamis.Filter(100_000)
    filter.update(keys)
    failures: list[str] = []

    def query() -> None:
        for _ in range(5):
            if not filter.contains_many(keys, threads=2).all():
                failures.append("a key is missing")

    def change() -> None:
        for _ in range(5):
            filter.update(keys)

    threads = [threading.Thread(target=act) for act in (query, query, change)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# ---- Arrow

ARROW_STRINGS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]


def arrow_of(pa: Any, values: list[Any], name: str) -> Any:
    """An array of a type that older versions of pyarrow may not have."""
    if not hasattr(pa, name):
        pytest.skip(f"pyarrow has no {name}")
    if "binary" in name:
        values = [None if value is None else value.encode() for value in values]
    return pa.array(values, getattr(pa, name)())


@pytest.mark.parametrize("name", ARROW_STRINGS)
def test_arrow_strings(name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    filter = filter_of(WORDS)
    keys = arrow_of(pa, [*WORDS, None, "absent"] * 300, name)
    expected = ([True] * len(WORDS) + [None, False]) * 300
    found = filter.contains_many(keys)
    assert isinstance(found, tamis.Array)
    assert found.tolist() == expected and found.null_count == 300
    assert pa.array(found).to_pylist() == expected
    for start, stop in ((0, 0), (1, 9), (5, 2000), (2999, 3000)):
        assert filter.contains_many(keys[start:stop]).tolist() == expected[start:stop]
    assert filter.contains_many(pa.chunked_array([keys[3:70], keys[:5]])).tolist() == (
        expected[3:70] + expected[:5]
    )
    assert filter.hash_many(keys[:10]).tolist() == [
        None if word is None else filter.hash(word) for word in [*WORDS, None, "absent"]
    ]


@pytest.mark.parametrize(
    "name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_arrow_integers(name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    low = 0 if name.startswith("u") else -5
    keys = pa.array([low, None, 100, 7], getattr(pa, name)())
    filter = filter_of([low, 100])
    assert filter.contains_many(keys).tolist() == [True, None, True, False]
    assert filter.contains_many(keys[2:]).tolist() == [True, False]
    assert filter.hash_many(keys).tolist()[::2] == hashes_of(filter, [low, 100])


def test_arrow_hashes_are_keys_again() -> None:
    pa = pytest.importorskip("pyarrow")
    keys = pa.array(["a", None, "b"])
    filter = filter_of(["a"])
    hashes = filter.hash_many(keys)
    assert pa.array(hashes).type == pa.uint64()
    assert filter.contains_many(hashes, hashed=True).tolist() == [True, None, False]


def test_arrow_values_of_fixed_size_and_floats() -> None:
    pa = pytest.importorskip("pyarrow")
    fixed = pa.array([b"ab\0", b"cd\0", None], pa.binary(3))
    assert filter_of([b"ab\0"]).contains_many(fixed[:]).tolist() == [True, False, None]
    assert filter_of([b""]).contains_many(pa.array([b"", None], pa.binary(0))).tolist() == [
        True,
        None,
    ]
    floats = filter_of([0.5], key_type="f32")
    for name in ("float32", "float64"):
        keys = pa.array([0.5, None, 0.25], getattr(pa, name)())
        assert floats.contains_many(keys).tolist() == [True, None, False]
    assert filter_of([]).contains_many(pa.array([None, None])).tolist() == [None, None]


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
def test_arrow_dictionaries(index: str) -> None:
    pa = pytest.importorskip("pyarrow")
    filter = filter_of(["a", "b"])
    indices = pa.array([0, 1, None, 2, 3, 0] * 200, getattr(pa, index)())
    keys = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "x", None, "b"]))
    expected = [True, False, None, None, True, True] * 200
    assert filter.contains_many(keys).tolist() == expected
    assert filter.contains_many(keys[2:1100]).tolist() == expected[2:1100]
    other = tamis.Filter(100)
    other.update(keys)
    assert other.contains_many(["a", "x", "b", "y"]) == [True, True, True, False]


def test_arrow_tables() -> None:
    pa = pytest.importorskip("pyarrow")
    filter = filter_of(["a"])
    table = pa.table({"k": pa.chunked_array([["a", None], ["x"], []], pa.string())})
    assert filter.contains_many(table).tolist() == [True, None, False]
    assert filter.contains_many(table.to_batches()[0]).tolist() == [True, None]
    assert table.filter(pa.array(filter.contains_many(table))).num_rows == 1
    with pytest.raises(TypeError, match="select one column"):
        filter.contains_many(pa.table({"a": [1], "b": [2]}))
    structs = pa.array([{"k": "a"}, None, {"k": "x"}, {"k": None}, {"k": "a"}])
    expected = [True, None, False, None, True]
    assert filter.contains_many(structs).tolist() == expected
    assert filter.contains_many(structs[1:]).tolist() == expected[1:]


def test_arrow_nulls_are_not_added() -> None:
    pa = pytest.importorskip("pyarrow")
    filter = tamis.Filter(100)
    assert filter.add_many(pa.array(["a", None, "a"])).tolist() == [True, None, False]
    assert "" not in filter
    counting = filter_of(["a", "b"], kind="counting")
    assert counting.discard_many(pa.array([None, "a", "x"])).tolist() == [None, True, False]
    built = tamis.build(pa.array(["a", None]), 0.0001)
    assert built.contains_many(["a", ""]) == [True, False]


@pytest.mark.parametrize("threads", [1, 3])
def test_arrow_with_many_rows(threads: int) -> None:
    pa = pytest.importorskip("pyarrow")
    values = [None if i % 1000 == 7 else str(i) for i in range(200_000)]
    keys = pa.array(values)
    filter = tamis.Filter(200_000, shared=True, kind="block")
    filter.update(keys, threads=threads)
    assert filter.contains_many(keys, threads=threads).tolist() == [
        None if value is None else True for value in values
    ]
    built = tamis.build(keys, threads=threads)
    assert pa.array(built.contains_many(keys, threads=threads)).null_count == 200


def test_arrow_keys_are_converted_as_the_filter_says() -> None:
    pa = pytest.importorskip("pyarrow")
    folding = filter_of(["Apple"], fold_case=True)
    for keys in (pa.array(["APPLE", None, "x" * 3000]), pa.array(["APPLE"]).dictionary_encode()):
        assert folding.contains_many(keys).tolist()[0] is True
    large = pa.array(["A" * 700_000, None, "B" * 700_000, "Apple"])  # more than a group holds
    assert folding.contains_many(large).tolist() == [False, None, False, True]
    with pytest.raises(ValueError, match=r"keys\[1\]"):
        filter_of([], key_type="i32").contains_many(pa.array([1, 2**40]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda pa: pa.array([1.5]), "floats are keys only"),
        (lambda pa: pa.array([True]), "int8"),
        (lambda pa: pa.array([[1]]), "string or integer"),
        (lambda pa: pa.array([1], pa.timestamp("us")), "int64"),
        (lambda pa: pa.array([1], pa.date32()), "int64"),
        (lambda pa: pa.array([None], pa.decimal128(5)), "string or integer"),
        (lambda pa: pa.array([1.5]).dictionary_encode(), "floats are keys only"),
    ],
)
def test_arrow_types_that_are_not_keys(make: Callable[[Any], Any], message: str) -> None:
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match=message):
        tamis.Filter(10).contains_many(make(pa))


def test_arrow_streams_that_fail() -> None:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema([("k", pa.string())])

    def batches() -> Iterator[Any]:
        yield pa.record_batch([pa.array(["a"])], schema=schema)
        raise RuntimeError("mine")

    filter = tamis.Filter(10)
    with pytest.raises((OSError, ValueError), match="the Arrow stream failed"):
        filter.add_many(pa.RecordBatchReader.from_batches(schema, batches()))
    assert "a" in filter


def test_what_returns_no_capsules() -> None:
    class Wrong:
        def __init__(self, value: object) -> None:
            self.value = value

        def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
            return self.value

    for value in (None, (), (1, 2), "ab"):
        with pytest.raises((TypeError, ValueError)):
            tamis.Filter(10).contains_many(Wrong(value))


def test_a_capsule_is_used_once() -> None:
    class Again:
        def __init__(self, pair: tuple[object, object]) -> None:
            self.pair = pair

        def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
            return self.pair

    filter = filter_of(["a"])
    result: Any = filter.contains_many(["a"], result="arrow")
    hashes: Any = filter.hash_many(["a"], result="arrow")
    keys = Again(hashes.__arrow_c_array__())
    assert filter.contains_many(keys, hashed=True).tolist() == [True]
    with pytest.raises(ValueError, match="released"):
        filter.contains_many(keys, hashed=True)
    with pytest.raises(TypeError, match="int8"):
        filter.contains_many(result)


def test_nothing_of_arrow_is_leaked() -> None:
    pa = pytest.importorskip("pyarrow")
    filter = filter_of(["a"])
    gc.collect()
    before = pa.total_allocated_bytes()
    for _ in range(10):
        keys = pa.array(["a", None] * 1000)
        filter.contains_many(keys)
        filter.contains_many(pa.table({"k": keys}))
        with pytest.raises(TypeError):
            filter.contains_many(pa.table({"k": keys, "l": keys}))
        with pytest.raises(ValueError, match=r"keys\[0\]"):
            filter_of([], key_type="i32").contains_many(keys)
    del keys
    gc.collect()
    assert pa.total_allocated_bytes() == before


# Structures of the C data interface, for arrays that no library would make.


class Schema(ctypes.Structure):
    """struct ArrowSchema."""


class Chunk(ctypes.Structure):
    """struct ArrowArray."""


RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
Chunk._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class Forged:
    """An Arrow array with any content, which counts how often it is released."""

    def __init__(self, format: bytes, buffers: list[bytes | None], **fields: int) -> None:
        self.released: list[str] = []
        self.callbacks = [RELEASE(self.release_schema), RELEASE(self.release_array)]
        addresses = [ctypes.cast(call, ctypes.c_void_p).value for call in self.callbacks]
        self.bytes = [None if b is None else ctypes.create_string_buffer(b) for b in buffers]
        pointers = [None if b is None else ctypes.addressof(b) for b in self.bytes]
        self.pointers = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        self.schema = Schema(format=format, release=addresses[0])
        self.array = Chunk(release=addresses[1], buffers=self.pointers)
        for name, value in {"n_buffers": len(buffers), **fields}.items():
            setattr(self.array, name, value)

    def release_schema(self, address: int) -> None:
        self.released.append("schema")
        Schema.from_address(address).release = None

    def release_array(self, address: int) -> None:
        self.released.append("array")
        Chunk.from_address(address).release = None

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return (
            new(ctypes.addressof(self.schema), b"arrow_schema", None),
            new(ctypes.addressof(self.array), b"arrow_array", None),
        )


def words(*values: int, size: int = 4) -> bytes:
    """Integers in native byte order."""
    return b"".join(value.to_bytes(size, sys.byteorder, signed=True) for value in values)


def test_a_forged_array_that_is_valid() -> None:
    keys = Forged(b"u", [b"\x05", words(0, 1, 1, 2), b"ab"], length=3, null_count=-1)
    assert filter_of(["a"]).contains_many(keys).tolist() == [True, None, False]
    assert sorted(keys.released) == ["array", "schema"]


@pytest.mark.parametrize(
    ("format", "buffers", "fields"),
    [
        (b"u", [None, words(0, 2, 1), b"ab"], {"length": 2}),
        (b"u", [None, words(-1, 2), b"ab"], {"length": 1}),
        (b"u", [None, words(0, 2), None], {"length": 1}),
        (b"U", [None, words(0, -5, size=8), b"ab"], {"length": 1}),
        (b"u", [None, None, b"ab"], {"length": 1}),
        (b"u", [None, words(0, 1)], {"length": 1}),
        (b"u", [], {"length": 1}),
        (b"l", [None, None], {"length": 1}),
        (b"l", [None, words(1, size=8)], {"length": -1}),
        (b"l", [None, words(1, size=8)], {"length": 1, "offset": -1}),
        (b"l", [None, words(1, size=8)], {"length": 2**62}),
        (b"vu", [None, words(13, 0, 0, 0), b"x" * 12, words(12, size=8)], {"length": 1}),
        (b"vu", [None, words(13, 0, 1, 0), b"x" * 20, words(20, size=8)], {"length": 1}),
        (b"vu", [None, words(13, 0, 0, -1), b"x" * 20, words(20, size=8)], {"length": 1}),
        (b"vu", [None, words(-1, 0, 0, 0), b"x" * 20, words(20, size=8)], {"length": 1}),
        (b"vu", [None, words(13, 0, 0, 0), b"x" * 20, None], {"length": 1}),
        (b"vu", [None, words(13, 0, 0, 0), words()], {"length": 1}),
    ],
)
def test_forged_arrays_that_are_invalid(
    format: bytes, buffers: list[bytes | None], fields: dict[str, int]
) -> None:
    keys = Forged(format, buffers, **fields)
    with pytest.raises(ValueError, match="the Arrow array is invalid"):
        tamis.Filter(10).contains_many(keys)
    assert sorted(keys.released) == ["array", "schema"]


@pytest.mark.parametrize("format", [b"", b"+r", b"w:", b"w:99999999999", b"w:x", b"uu", b"tdD"])
def test_forged_formats(format: bytes) -> None:
    keys = Forged(format, [None, None], length=0)
    with pytest.raises(TypeError, match="are not keys"):
        tamis.Filter(10).contains_many(keys)
    assert sorted(keys.released) == ["array", "schema"]


# ---- Array


def test_array() -> None:
    result: Any = filter_of(["a"]).contains_many(["a", "b", "c"], result="arrow")
    assert isinstance(result, tamis.Array)
    assert len(result) == 3 and list(result) == [True, False, False]
    assert result[0] is True and result[-1] is False and result[1:] == [False, False]
    assert result[::-2] == [False, True]
    assert result.index(False) == 1 and result.count(False) == 2 and False in result
    assert result.index(False, 2) == result.tolist().index(False, 2)
    assert result.index(False, -9, 9) == 1
    with pytest.raises(ValueError):
        result.index(False, 2, 2)
    assert result.null_count == 0 and "True, False, False" in repr(result)
    with pytest.raises(IndexError):
        result[3]
    with pytest.raises(IndexError):
        result[-4]
    with pytest.raises(TypeError):
        tamis.Array()  # type: ignore[call-arg, unused-ignore]


def test_array_for_numpy() -> None:
    np = pytest.importorskip("numpy", "2.0")
    filter = filter_of(["a"])
    found = np.asarray(filter.contains_many(["a", "b"], result="arrow"))
    assert found.dtype == bool and found.tolist() == [True, False]
    hashes = np.asarray(filter.hash_many(["a"], result="arrow"))
    assert hashes.dtype == "uint64" and hashes[0] == filter.hash("a")
    assert np.asarray(filter.contains_many(["a"], result="arrow"), "int8").tolist() == [1]
    assert np.asarray(filter.contains_many([], result="arrow")).tolist() == []
    strings = np.dtypes.StringDType(na_object=None)
    nulls = filter.contains_many(np.array(["a", None], strings), result="arrow")
    assert np.asarray(nulls).tolist() == [True, None]


def test_array_outlives_its_export() -> None:
    pa = pytest.importorskip("pyarrow")
    filter = filter_of(["a"])
    exported = pa.array(filter.contains_many(pa.array(["a", None] * 1000)))
    gc.collect()
    assert exported.to_pylist() == [True, None] * 1000
    filter.contains_many(["a"], result="arrow").__arrow_c_array__()  # capsules that nobody uses


# ---- data frames


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    np = pytest.importorskip("numpy")
    filter = filter_of(["a", 5])
    frame = pd.DataFrame({"word": ["a", "x", "a"], "number": [5, 6, 5]})
    for column in ("word", "number"):
        assert len(frame[filter.contains_many(frame[column])]) == 2
        found = filter.contains_many(frame[column])
        assert isinstance(found, np.ndarray) and found.dtype == bool
    frame["flag"] = filter.contains_many(frame["word"])
    assert frame["flag"].tolist() == [True, False, True]
    assert filter.contains_many(frame["word"].astype("category")).tolist() == [True, False, True]
    assert filter.contains_many(pd.Index(["a", "x"])).tolist() == [True, False]
    assert filter.contains_many(frame["number"].astype("Int64")).tolist() == [True, False, True]
    with pytest.raises(TypeError, match="select one column"):
        filter.contains_many(frame)
    with pytest.raises(TypeError, match="view"):
        filter.contains_many(pd.Series(pd.to_datetime(["2020-01-01"])))


def test_pandas_nulls_are_false() -> None:
    pd = pytest.importorskip("pandas", "3.0")
    pytest.importorskip("pyarrow")
    words = pd.Series(["a", None, "x"])
    assert filter_of(["a"]).contains_many(words).tolist() == [True, False, False]


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    filter = filter_of(["a", 5])
    frame = pl.DataFrame({"word": ["a", "x", None], "number": [5, 6, None]})
    for column in ("word", "number"):
        found = pl.Series(filter.contains_many(frame[column]))
        assert found.dtype == pl.Boolean and found.to_list() == [True, False, None]
        assert frame.filter(found).height == 1
    assert filter.contains_many(frame.select("word")).tolist() == [True, False, None]
    assert filter.contains_many(frame["word"].cast(pl.Categorical)).tolist() == [True, False, None]
    assert filter.contains_many(pl.concat([frame["word"], frame["word"]])).tolist()[3] is True
    with pytest.raises(TypeError, match="select one column"):
        filter.contains_many(frame)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    keys = duckdb.sql("select 'k' || range as k from range(5000)")
    filter = tamis.Filter(5000)
    filter.update(keys)
    assert all(filter.contains_many(keys))

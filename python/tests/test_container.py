"""Container: files of several filters that LevelDB, RocksDB and DuckDB wrote."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tamis


@pytest.fixture
def parquet(vectors: Path) -> Path:
    """Five row groups with the columns a, b, c and d; c has no filter."""
    return vectors / "parquet" / "duckdb-multi.parquet"


@pytest.fixture
def table(vectors: Path) -> Path:
    return vectors / "leveldb" / "db-small.ldb"


def test_facts(parquet: Path) -> None:
    c = tamis.Container.open(parquet)
    assert c.format == "parquet"
    assert c.name == str(parquet)
    assert not c.closed
    assert repr(c) == f"<tamis.Container format='parquet' parts={len(c)}>"
    assert tamis.Container.open(bytes(parquet)).name == str(parquet)
    assert tamis.Container.from_bytes(parquet.read_bytes()).name is None


def test_parts(parquet: Path, table: Path) -> None:
    with tamis.Container.open(parquet) as c:
        parts = c.parts()
        assert list(c) == parts
        assert len(c) == len(parts) > 4
        assert [part.name for part in parts[:4]] == ["0/a", "0/b", "0/c", "0/d"]
        assert [part.row_group for part in parts[:5]] == [0, 0, 0, 0, 1]
        assert parts[0] == tamis.Part("0/a", "parquet", parts[0].offset, parts[0].bytes, 0)
        assert parts[2].bytes == 0
        with pytest.raises(AttributeError):
            parts[0].name = "b"  # type: ignore[misc]
    with tamis.Container.open(table) as c:
        assert [part.row_group for part in c] == [None]


def test_filter(parquet: Path, table: Path) -> None:
    with tamis.Container.open(parquet) as c:
        f = c.filter("0/b")
        assert f.format == "parquet"
        assert f == c.filter(1) == c.filter(1 - len(c))
        assert f.info().bytes == c.parts()[1].bytes
        for index in (len(c), -len(c) - 1, 2**70):
            with pytest.raises(IndexError):
                c.filter(index)
        with pytest.raises(TypeError):
            c.filter(1.5)  # type: ignore[arg-type]
    with tamis.Container.open(table) as c:
        assert c.filter("0") == c.filter(0)
    assert len(f) > 0  # a copy: the file may be closed


def test_names(parquet: Path, vectors: Path) -> None:
    with tamis.Container.open(parquet) as c:
        for name in ("a", "9/none", "", "0"):  # five parts are named a
            with pytest.raises(tamis.PartError, match="such as '0/a', '0/b', '0/d'") as caught:
                c.filter(name)
            assert caught.value.status == "E_PART"
            assert str(parquet) in str(caught.value)
            assert isinstance(caught.value, LookupError)
        for part in ("0/c", 2):
            with pytest.raises(tamis.PartError, match="'0/c' has no filter"):
                c.filter(part)
        for name in ("a\0", "none"):
            with pytest.raises((ValueError, LookupError)):
                c.contains("x", part=name)
        with pytest.raises(tamis.PartError, match="not 'none'"):
            c.contains_many(["x"], part="none")
        with pytest.raises(TypeError):
            c.contains("x", part=3)  # type: ignore[arg-type]
    one = tamis.Container.open(vectors / "parquet" / "duckdb-small-varchar-p0.5.parquet")
    assert one.filter("k") == one.filter("0/k")


def test_lookups(vectors: Path) -> None:
    keys = (vectors / "keys" / "small.txt").read_text().splitlines()
    with tamis.Container.open(vectors / "parquet" / "duckdb-small-varchar-p0.01.parquet") as c:
        assert all(key in c for key in keys)
        assert all(c.contains(key) and c.contains(key, "k") for key in keys)
        assert c.contains_many(keys, part="0/k") == [True] * len(keys)
        absent = [f"absent-{i}" for i in range(1000)]
        found = c.contains_many(absent)
        assert found == [key in c for key in absent]
        assert sum(found) < 50
        assert c.contains(keys[0].encode()) is True


def test_where_there_is_no_filter(parquet: Path) -> None:
    with tamis.Container.open(parquet) as c:
        assert c.contains("anything", part="c")
        assert "anything" in c


def test_keys(parquet: Path) -> None:
    with tamis.Container.open(parquet) as c:
        for key in (None, 1.5, ("a", 1), ["a"]):
            with pytest.raises(TypeError):
                _ = key in c  # type: ignore[operator]
        with pytest.raises(TypeError):
            c.contains_many("one")
        assert c.contains(1, part="a") in (True, False)


def test_bytes(parquet: Path) -> None:
    data = parquet.read_bytes()
    with tamis.Container.open(parquet) as opened:
        parts = opened.parts()
    for form in (data, bytearray(data), memoryview(data)):
        assert tamis.Container.from_bytes(form).parts() == parts
    changing = bytearray(data)
    c = tamis.Container.from_bytes(changing)
    changing.clear()  # it was copied
    assert c.filter(0).format == "parquet"


def test_bytes_that_are_not_constant(parquet: Path) -> None:
    """A view may be read-only, and its bytes change."""
    for make in (lambda data: memoryview(data).toreadonly(), lambda data: memoryview(data)):
        changing = bytearray(parquet.read_bytes())
        c = tamis.Container.from_bytes(make(changing))
        f = tamis.Filter.from_bytes(make(bytearray(c.filter(0).convert(format="tamis").to_bytes())))
        changing[:] = bytes(len(changing))
        changing.clear()  # nothing refers to it
        assert c.filter(0).convert(format="tamis") == f
    with pytest.raises(TypeError, match="bytes-like"):
        tamis.Container.from_bytes([80, 65, 82, 49])  # type: ignore[arg-type]


def test_parts_are_complete_while_they_are_made(parquet: Path) -> None:
    """The garbage collector must not show a list or tuple with missing items."""
    code = (
        "import gc, sys, tamis\n"
        "class Cycle:\n"
        "    def __init__(self): self.me = self\n"
        "    def __del__(self):\n"
        "        for o in gc.get_objects():\n"
        "            if type(o) in (list, tuple) and len(o) < 100: list(o), repr(o)[:0]\n"
        "from tamis import _info\n"
        "old = _info.Sizing.__init__, _info.Part.__init__\n"
        "def hooked(init):\n"
        "    def made(*a, **k):\n"
        "        Cycle(); gc.collect(); init(*a, **k)\n"
        "    return made\n"
        "_info.Sizing.__init__, _info.Part.__init__ = map(hooked, old)\n"
        "tamis.plan(1000)\n"
        "tamis.Container.open(sys.argv[1]).parts()\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(parquet)], timeout=60)
    assert run.returncode == 0


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"PAR1" * 10])
def test_wrong_bytes(data: bytes) -> None:
    with pytest.raises(tamis.Error) as caught:
        tamis.Container.from_bytes(data)
    assert isinstance(caught.value, ValueError)


def test_wrong_inputs(parquet: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        tamis.Container.open(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none")
    single = tmp_path / "single.tamis"
    tamis.build(["a"]).save(single)
    with pytest.raises(tamis.FormatError, match=r"single\.tamis: .*use Filter\.open"):
        tamis.Container.open(single)
    with pytest.raises(tamis.FormatError):
        tamis.Container.open(parquet, format="leveldb-table")
    assert tamis.Container.open(parquet, format="parquet").format == "parquet"
    for wrong in (None, 5, 1.5):
        with pytest.raises(TypeError):
            tamis.Container.open(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tamis.Container.from_bytes("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Container\.open"):
        tamis.Container()


def test_every_truncation(table: Path) -> None:
    data = table.read_bytes()
    for length in range(0, len(data), 7):
        with pytest.raises(tamis.Error):
            tamis.Container.from_bytes(data[:length])


def test_closed(parquet: Path) -> None:
    c = tamis.Container.open(parquet)
    parts = iter(c)
    c.close()
    c.close()
    assert c.closed
    assert repr(c) == "<tamis.Container closed>"
    assert next(parts).name == "0/a"
    assert c.name == str(parquet)
    for call in (
        lambda: "a" in c,
        lambda: c.contains("a"),
        lambda: c.contains_many(["a"]),
        c.parts,
        lambda: iter(c),
        lambda: len(c),
        lambda: c.filter(0),
        lambda: c.format,
        c.__enter__,
    ):
        with pytest.raises(ValueError, match="the container is closed"):
            call()


def test_no_close_during_a_lookup(parquet: Path) -> None:
    c = tamis.Container.open(parquet)

    def keys() -> Iterator[str]:
        with pytest.raises(RuntimeError, match="in use"):
            c.close()
        yield "a"

    c.contains_many(keys())
    c.close()
    assert c.closed


def test_open_any(parquet: Path) -> None:
    with tamis.open(parquet) as c:
        assert isinstance(c, tamis.Container)
        assert c.name == str(parquet)
        assert len(c) > 0


def test_subclass(parquet: Path) -> None:
    class Orders(tamis.Container):
        pass

    with Orders.open(parquet) as c:
        assert type(c) is Orders
        assert len(c.parts()) == len(c)

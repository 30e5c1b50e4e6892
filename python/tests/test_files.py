"""Files: opened, mapped, damaged, replaced, updated in place, locked."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import KINDS, SECRET, times

import tamis

NAMES = [f"key-{i}" for i in range(2000)]

# ---- opening and saving


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"map": False},
        {"verify": "all"},
        {"verify": "touched"},
        {"verify": "later"},
        {"threads": 2},
        {"update": True},
    ],
)
def test_open(tmp_path: Path, kind: Any, how: dict[str, Any]) -> None:
    f = tamis.build(NAMES, 0.01, kind)
    path = tmp_path / "f.tamis"
    f.save(path)
    for opens, name in ((tamis.open, path), (tamis.Filter.open, str(path))):
        with opens(name, **how) as opened:
            assert isinstance(opened, tamis.Filter)
            assert opened.name == str(path)
            assert opened.info().file == str(path)
            assert all(opened.contains_many(NAMES, result="list"))
            opened.verify()
            assert opened == f
            assert opened.to_bytes() == path.read_bytes() == f.to_bytes()


def test_names_of_files(tmp_path: Path) -> None:
    f = tamis.build(["a"])
    for name in ("plain", "with space", "ünïcödé", "new\nline"):
        path = tmp_path / name
        f.save(path)
        for form in (path, str(path), os.fsencode(path)):
            assert "a" in tamis.open(form)
    raw = os.fsencode(tmp_path) + b"/not utf-8 \xff"
    f.save(raw)
    assert "a" in tamis.open(raw)
    assert "a" in tamis.open(os.fsdecode(raw))
    with pytest.raises(ValueError, match="null"):
        f.save("a\0b")
    for wrong in (3.5, None, object()):
        with pytest.raises(TypeError):
            tamis.open(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            f.save(wrong)  # type: ignore[arg-type]


def test_system_errors(tmp_path: Path) -> None:
    f = tamis.build(["a"])
    with pytest.raises(FileNotFoundError) as caught:
        tamis.open(tmp_path / "absent")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(tmp_path / "absent")
    with pytest.raises(OSError, match="directory") as directory:
        tamis.open(tmp_path)
    assert directory.value.filename == str(tmp_path)
    with pytest.raises(FileNotFoundError):
        f.save(tmp_path / "no directory" / "f")
    path = tmp_path / "f.tamis"
    f.save(path)
    with pytest.raises(FileExistsError) as exists:
        f.save(path, replace=False)
    assert exists.value.filename == str(path)
    f.save(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_permissions(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.build(["a"]).save(path)
    path.chmod(0)
    with pytest.raises(PermissionError):
        tamis.open(path)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", None),
        (b"no filter, just text", "E_FORMAT"),
        (b"\0" * 1000, None),
    ],
)
def test_files_that_are_no_filters(tmp_path: Path, data: bytes, status: str | None) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    with pytest.raises(tamis.FormatError) as caught:
        tamis.open(path)
    assert str(path) in str(caught.value)
    assert status is None or caught.value.status == status
    with pytest.raises(tamis.FormatError):
        tamis.Filter.from_bytes(data)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"verify": "never"}, ValueError),
        ({"wait": -1}, ValueError),
        ({"wait": "long"}, TypeError),
        ({"threads": -1}, (ValueError, OverflowError)),
        ({"secret": b"short"}, ValueError),
        ({"part": 3}, TypeError),
        ({"unknown": 3}, TypeError),
    ],
)
def test_wrong_arguments(
    tmp_path: Path,
    arguments: dict[str, Any],
    error: type[BaseException] | tuple[type[BaseException], ...],
) -> None:
    path = tmp_path / "f.tamis"
    tamis.build(["a"]).save(path)
    with pytest.raises(error):
        tamis.open(path, **arguments)


def test_a_mapped_filter_is_read_only(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    f = tamis.Filter(100, kind="bloom")
    f.add("a")
    f.save(path)
    with tamis.open(path) as mapped:
        with pytest.raises(tamis.UnsupportedError) as caught:
            mapped.add("b")
        assert caught.value.status == "E_READONLY"
        with pytest.raises(tamis.UnsupportedError):
            mapped |= f
        copy = mapped.copy()
        copy.add("b")
        assert "b" in copy
    assert "a" in copy
    with tamis.open(path, map=False) as read:
        assert read.add("b")
    with tamis.open(path, shared=True) as shared:
        assert shared.add("c")


def test_only_regular_files(tmp_path: Path) -> None:
    """Opening a pipe would wait without end, and saving would replace it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    opens: list[Callable[[Path], object]] = [
        tamis.open,
        tamis.Filter.open,
        tamis.Container.open,
        lambda path: tamis.open(path, map=False),
        lambda path: tamis.open(path, update=True),
    ]
    for call in opens:
        with pytest.raises(tamis.ArgumentError, match="not a regular file; read it and") as caught:
            call(path)
        assert str(path) in str(caught.value)
        with pytest.raises(IsADirectoryError):
            call(tmp_path)
    f = tamis.build(["a"])
    with pytest.raises(tamis.ArgumentError, match="not a regular file; write to_bytes"):
        f.save(path)
    with pytest.raises(FileExistsError):
        f.save(path, replace=False)
    with pytest.raises(IsADirectoryError):
        f.save(tmp_path)
    assert path.is_fifo()


def test_save_follows_symlinks(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "f.tamis", tmp_path / "link"
    tamis.build(["old"], 1e-9).save(target)
    link.symlink_to(target)
    new = tamis.build(["new"], 1e-9)
    new.save(link)
    assert link.is_symlink()
    assert target.read_bytes() == new.to_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link.unlink()
    link.symlink_to(pipe)
    with pytest.raises(tamis.ArgumentError, match="not a regular file"):
        new.save(link)
    assert pipe.is_fifo()


def test_from_bytes() -> None:
    data = tamis.build(["a"]).to_bytes()
    for form in (data, bytearray(data), memoryview(data), memoryview(b"x" + data)[1:]):
        f = tamis.Filter.from_bytes(form)
        assert "a" in f
    changing = bytearray(data)
    f = tamis.Filter.from_bytes(changing)
    changing[:] = bytes(len(changing))
    assert "a" in f
    for wrong in ("text", 3, None, [1]):
        with pytest.raises(TypeError):
            tamis.Filter.from_bytes(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        tamis.Filter.from_bytes(b"other data", format="no such format")
    with pytest.raises(tamis.FormatError) as caught:
        tamis.Filter.from_bytes(data + b"x")
    assert caught.value.status == "E_TRAILING"
    with pytest.raises(tamis.FormatError) as caught:
        tamis.Filter.from_bytes(data[:-1])
    assert caught.value.status == "E_TRUNCATED"


def test_other_objects_write_files(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    f = tamis.build(["a"])
    with open(path, "wb") as stream:
        stream.write(f)
    assert tamis.open(path) == f


# ---- damage


def mutate(rng: random.Random, data: bytes) -> bytes:
    """The bytes with some change."""
    changed = bytearray(data)
    how = rng.randrange(6)
    at = rng.randrange(len(changed)) if changed else 0
    if not changed or how == 0:
        return bytes(changed[:at])
    if how == 1:
        changed[at] ^= 1 << rng.randrange(8)
    elif how == 2:
        # Headers are at the beginning; footers at the end.
        at = min(at, rng.randrange(64)) if rng.random() < 0.7 else len(changed) - 1 - at % 64
        changed[max(at, 0)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    elif how == 3:
        extreme = rng.choice([b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f", rng.randbytes(8)])
        changed[at : at + 8] = extreme[: len(changed) - at]
    elif how == 4:
        changed += rng.randbytes(rng.randrange(1, 100))
    else:
        other = rng.randrange(len(changed))
        length = rng.randrange(1, 40)
        changed[at : at + length] = changed[other : other + length]
    return bytes(changed)


def originals(vectors: Path) -> list[tuple[str, bytes]]:
    """Small files of all kinds and formats."""
    found = [("tamis", tamis.build(NAMES[:100], 0.01, kind).to_bytes()) for kind in KINDS]
    found.append(("tamis", tamis.build(NAMES[:9], 0.01, "bloom", secret=SECRET).to_bytes()))
    patterns = {
        "guava": ("guava/*.guava", 3),
        "spark1": ("spark/v1*.sparkbloom", 2),
        "spark2": ("spark/v2*.sparkbloom", 2),
        "leveldb": ("leveldb/*.bloom", 3),
        "leveldb-table": ("leveldb/*.ldb", 4),
        "rocksdb": ("rocksdb/*.filter", 6),
        "rocksdb-table": ("rocksdb/*.sst", 2),
        "parquet": ("parquet/*.parquet", 6),
        "redisbloom-dump": ("redisbloom/*.dump", 8),
        "dcso": ("dcso/*.bloom", 3),
        "libbloom": ("libbloom/*.libbloom2", 2),
        "xor8": ("fastfilter/xor8*.ser", 2),
        "fuse16": ("fastfilter/fuse16*.ser", 2),
        "fuse8-pack": ("fastfilter/fuse8*.pack", 2),
        "seiflotfy": ("seiflotfy_cuckoo/*.cuckoo", 3),
    }
    for form, (pattern, count) in patterns.items():
        paths = sorted(vectors.glob(pattern), key=lambda path: path.stat().st_size)
        assert paths, pattern
        step = max(1, len(paths) // count // 2)  # the smaller half
        found += [(form, path.read_bytes()) for path in paths[::step][:count]]
    chunks = sorted(vectors.glob("redisbloom/*small*.hdr"))
    for path in chunks[:4]:
        found.append(("redisbloom", path.read_bytes() + path.with_suffix(".data").read_bytes()))
    return found


def use(opened: Any) -> None:
    """Calls what reads all of a filter or container."""
    keys = [b"\x01" * 8, b"\xfe" * 8]
    if isinstance(opened, tamis.Container):
        opened.contains_many(keys)
        for part in opened.parts()[:4]:
            if part.bytes:
                use(opened.filter(part.name))
        return
    opened.contains_many(keys)
    _ = b"absent!!" in opened
    opened.info()
    len(opened)
    repr(opened)
    opened.copy().to_bytes()


SENTENCES = (tamis.Error, KeyError, MemoryError, OSError, ValueError)


def check_damaged(opens: Callable[[], Any]) -> bool:
    """Opens and uses something damaged; any failure must be an exception with a sentence."""
    try:
        opened = opens()
        if isinstance(opened, tamis.Filter) and opened.keyed:
            return True
        use(opened)
    except SENTENCES as error:
        assert str(error) or isinstance(error, MemoryError)
        return False
    return True


def test_damaged_bytes(vectors: Path, rng: random.Random) -> None:
    """Damaged filters and containers are refused or work; none ends the process."""
    files = originals(vectors)
    worked = 0
    for i in range(times(8000)):
        form, data = files[i % len(files)]
        damaged = mutate(rng, data)
        tamis.detect(damaged)
        reader = tamis.Container if form.endswith("table") or form == "parquet" else tamis.Filter
        worked += check_damaged(
            lambda: reader.from_bytes(damaged, format=form)  # noqa: B023
        )
    assert worked > 0


@pytest.mark.parametrize("verify", [None, "all", "touched", "later"])
def test_damaged_files(vectors: Path, rng: random.Random, tmp_path: Path, verify: Any) -> None:
    files = originals(vectors)
    path = tmp_path / "damaged"
    for i in range(times(1500)):
        form, data = files[i % len(files)]
        path.unlink(missing_ok=True)
        path.write_bytes(mutate(rng, data))
        check_damaged(lambda: tamis.open(path, verify=verify, format=form))  # noqa: B023
        check_damaged(lambda: tamis.open(path, map=False))


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_never_a_wrong_no(tmp_path: Path, rng: random.Random, kind: Any) -> None:
    """A query of a damaged file raises, or its answer is right."""
    f = tamis.build(NAMES, 0.01, kind)
    data = bytearray(f.to_bytes())
    path = tmp_path / "f.tamis"
    found = 0
    for _ in range(times(40)):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data) // 4, len(data))] ^= 1 << rng.randrange(8)
        path.unlink(missing_ok=True)
        path.write_bytes(damaged)
        try:
            with tamis.open(path, verify="touched") as opened:
                for name in rng.sample(NAMES, 50):
                    assert name in opened
                assert all(opened.contains_many(NAMES, result="list"))
        except tamis.FormatError as error:
            assert error.status in ("E_CHECKSUM", "E_CORRUPT")
            assert str(path) in str(error)
            found += 1
        with pytest.raises(tamis.FormatError):
            tamis.open(path, verify="all")
    assert found > 0


def test_damage_found_by_verify(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.build(NAMES, 0.01, "bloom").save(path)
    data = bytearray(path.read_bytes())
    data[-1 - len(data) // 3] ^= 1
    path.write_bytes(data)
    for first in ("verify", "copy", "to_bytes"):
        with tamis.open(path, verify="later") as f:
            later = (f.verify, f.copy, f.to_bytes, lambda f=f: f.save(tmp_path / "copy"))
            for call in (getattr(f, first), *later):
                with pytest.raises(tamis.FormatError) as caught:
                    call()
                assert caught.value.status == "E_CHECKSUM"
    assert not (tmp_path / "copy").exists()


def damaged_file(path: Path) -> Path:
    """A file with a damaged table, whose header is intact."""
    tamis.build(NAMES, 0.01, "bloom").save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    path.write_bytes(data)
    return path


def test_nothing_is_answered_after_a_failed_verify(tmp_path: Path) -> None:
    path = damaged_file(tmp_path / "f.tamis")
    other = tamis.Filter(len(NAMES), kind="bloom")
    f = tamis.open(path, verify="later")
    with pytest.raises(tamis.FormatError):
        f.verify()
    calls: list[Callable[[], object]] = [
        f.verify,
        f.copy,
        f.info,
        f.to_bytes,
        f.convert,
        f.__enter__,
        lambda: "key-1" in f,
        lambda: f.count("key-1"),
        lambda: f.hash("key-1"),
        lambda: f.hash(("key-1",)),
        lambda: f.contains_many(NAMES),
        lambda: f.kind,
        lambda: len(f),
        lambda: bool(f),
        lambda: memoryview(f),
        lambda: f.save(tmp_path / "copy"),
        lambda: f == other,
        lambda: f | other,
        lambda: other.__ior__(f),
    ]
    for call in calls:
        with pytest.raises(tamis.FormatError) as caught:
            call()
        assert caught.value.status == "E_CHECKSUM"
        assert str(path) in str(caught.value)
    assert "damaged" in repr(f)
    f.close()
    assert "closed" in repr(f)
    with pytest.raises(ValueError, match="closed"):
        f.verify()


@pytest.mark.parametrize("verify", ["touched", "later"])
def test_counting_verifies_first(tmp_path: Path, verify: Any) -> None:
    path = damaged_file(tmp_path / "f.tamis")
    for call in (len, bool, lambda f: f.info()):
        with tamis.open(path, verify=verify) as f:
            assert repr(f).startswith("<tamis.Filter kind='bloom' damaged fpr=0.01")
        with tamis.open(path, verify=verify) as f, pytest.raises(tamis.FormatError):
            call(f)


# ---- changes of files


@pytest.mark.parametrize("kind", ["bloom", "block", "counting", "cuckoo", "growing"])
@pytest.mark.parametrize("capacity", [1000, 10_000_000])
def test_update(tmp_path: Path, kind: Any, capacity: int) -> None:
    """Small files are replaced; large ones of some kinds are changed in place."""
    if capacity > 1000 and kind not in ("bloom", "block"):
        pytest.skip("written as a whole, as small ones are")
    path = tmp_path / "f.tamis"
    f = tamis.Filter(3 * capacity, 0.01, kind)
    f.update(NAMES)
    f.save(path)
    with tamis.open(path, update=True) as g:
        assert g.add("new") is ("new" not in f)
        g.update(["newer", "newest"])
        written = g.commit()
        assert written > 0
        with pytest.raises(ValueError, match=r"closed|commit"):
            g.add("too late")
    if capacity > 1000:
        assert written < path.stat().st_size / 8
    with tamis.open(path) as h:
        assert all(h.contains_many([*NAMES, "new", "newer", "newest"], result="list"))
        h.verify()
    assert list(tmp_path.iterdir()) == [path]


def test_update_in_a_with_statement(tmp_path: Path) -> None:
    """The end of the block commits; an exception or close() discards the changes."""
    path = tmp_path / "f.tamis"
    f = tamis.Filter(1000, 1e-6, "bloom")
    f.save(path)
    with pytest.raises(ZeroDivisionError), tamis.open(path, update=True) as g:
        g.add("a")
        raise ZeroDivisionError
    closed = tamis.open(path, update=True)
    closed.add("a")
    closed.close()
    assert path.read_bytes() == f.to_bytes()
    with tamis.open(path, update=True) as g:
        g.add("a")
    assert g.closed
    with tamis.open(path) as h:
        assert "a" in h


def test_commit_needs_an_update(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.Filter(1000).save(path)
    with pytest.raises(ValueError, match="update=True"):
        tamis.open(path, map=False).commit()


def test_two_writers(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.Filter(1000, 1e-6, "bloom").save(path)
    first = tamis.open(path, update=True)
    for wait in (0, 0.05):
        with pytest.raises(tamis.BusyError) as caught:
            tamis.open(path, update=True, wait=wait)
        assert caught.value.status == "E_BUSY"
        assert isinstance(caught.value, TimeoutError)
    # Readers do not wait.
    with tamis.open(path, wait=0) as reader:
        assert "a" not in reader

    def commits() -> None:
        first.add("a")
        first.commit()

    later = threading.Timer(0.2, commits)
    later.start()
    with tamis.open(path, update=True, wait=30) as second:
        assert "a" in second
        second.add("b")
        second.commit()
    later.join()
    with tamis.open(path) as reader:
        assert "a" in reader
        assert "b" in reader


def test_a_signal_interrupts_the_wait(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.Filter(1000).save(path)
    first = tamis.open(path, update=True)
    code = (
        "import signal, sys, tamis\n"
        "signal.signal(signal.SIGALRM, lambda *_: sys.exit(3))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        f"tamis.open({str(path)!r}, update=True, wait=30)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=20).returncode == 3
    first.close()


def test_a_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    old, new = tamis.build(["old"], 1e-9), tamis.build(["new"], 1e-9)
    old.save(path)
    mapped = tamis.open(path)
    new.save(path)
    # The mapped file exists until it is closed.
    assert "old" in mapped
    assert "new" not in mapped
    with tamis.open(path) as opened:
        assert "new" in opened


def test_a_file_replaced_during_an_update(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.Filter(1000, kind="bloom").save(path)
    update = tamis.open(path, update=True)
    other = tamis.Filter(1000, kind="bloom", seed=7)
    other.save(path)
    update.add("a")
    for _ in range(2):
        with pytest.raises(OSError) as caught:
            update.commit()
        assert caught.value.errno == errno.ESTALE
    assert tamis.open(path) == other
    # The changes are not lost.
    assert not update.closed
    update.save(tmp_path / "rescued")
    assert "a" in tamis.open(tmp_path / "rescued")
    update.close()
    with pytest.raises(OSError), tamis.open(path, update=True) as later:
        later.add("b")
        other.save(path)
    assert "b" in later
    later.close()


def test_processes_share_a_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    tamis.build(NAMES).save(path)
    code = f"import tamis; print('key-7' in tamis.open({str(path)!r}))"
    with tamis.open(path) as f:
        output = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=30
        )
        assert output.stdout == "True\n", output.stderr
        assert "key-7" in f


# ---- containers


def test_containers(vectors: Path, tmp_path: Path) -> None:
    source = vectors / "parquet/duckdb-multi.parquet"
    path = tmp_path / "copy.parquet"
    path.write_bytes(source.read_bytes())
    with tamis.Container.open(path) as c:
        assert c.name == str(path)
        assert (c.format, c.closed) == ("parquet", False)
        part = next(part for part in c if part.bytes)
        f = c.filter(part.name)
        assert f == tamis.Filter.open(path, part=part.name)
        assert f == c.filter(c.parts().index(part))
        assert c.contains(b"x", part.name) == (b"x" in f)
        assert c.filter(-1) == c.filter(len(c) - 1)
        for wrong in ("none", 10**6, -(10**6)):
            with pytest.raises((tamis.PartError, IndexError)):
                c.filter(wrong)
    assert c.closed
    c.close()
    for call in (c.parts, lambda: b"x" in c, lambda: c.filter(0), lambda: len(c), lambda: list(c)):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert f.contains_many([b"x"], result="list") is not None
    with pytest.raises(tamis.FormatError):
        tamis.Container.from_bytes(b"no container at all")
    with pytest.raises(tamis.FormatError):
        tamis.Container.from_bytes(tamis.build(["a"]).to_bytes())

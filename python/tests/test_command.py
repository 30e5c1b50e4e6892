"""The module and the command make the same file, byte for byte, from the same keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import DYNAMIC, KINDS, SECRET, Command

import tamis

WORDS = [f"Key-{i}" for i in range(500)] + ["Ångström", "Straße", "a b", "\U0001f600"]


def lines(keys: list[Any]) -> bytes:
    """The keys as the records of the command."""
    return "".join(f"{key}\n" for key in keys).encode()


def made_by_command(command: Command, path: Path, *arguments: str, text: bytes) -> bytes:
    """The file that `tamis build` writes."""
    done = command("build", "-o", str(path), *arguments, text=text)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fpr", ["0.01", "0.0001"])
def test_kinds(command: Command, tmp_path: Path, kind: Any, fpr: str) -> None:
    path = tmp_path / "f.tamis"
    data = made_by_command(command, path, "-k", kind, "-p", fpr, text=lines(WORDS))
    f = tamis.build(WORDS, float(fpr), kind)
    assert f.to_bytes() == data
    assert tamis.open(path) == f


def test_the_default_kind(command: Command, tmp_path: Path) -> None:
    data = made_by_command(command, tmp_path / "f.tamis", text=lines(WORDS))
    assert tamis.build(WORDS).to_bytes() == data


@pytest.mark.parametrize("kind", DYNAMIC)
def test_capacity_and_seed(command: Command, tmp_path: Path, kind: Any) -> None:
    arguments = ("-k", kind, "-n", "5000", "--seed", "77")
    data = made_by_command(command, tmp_path / "f.tamis", *arguments, text=lines(WORDS))
    assert tamis.build(WORDS, kind=kind, capacity=5000, seed=77).to_bytes() == data


INTEGERS = [*range(-300, 300), 2**31 - 1, -(2**31)]
FLOATS = [i / 8 for i in range(-400, 400)] + [0.1, 1e-30, 1e30, 3.0e38]
KEY_TYPES: list[tuple[str, list[Any]]] = [
    ("bytes", WORDS),
    ("utf16", WORDS),
    ("i32", INTEGERS),
    ("i64", [*INTEGERS, 2**63 - 1, -(2**63)]),
    ("u64", [*range(600), 2**64 - 1]),
    ("f32", FLOATS),
    ("f64", [*FLOATS, 1e300, 5e-324]),
]


@pytest.mark.parametrize(("key_type", "keys"), KEY_TYPES, ids=[name for name, _ in KEY_TYPES])
def test_key_types(command: Command, tmp_path: Path, key_type: Any, keys: list[Any]) -> None:
    data = made_by_command(
        command, tmp_path / "f.tamis", "-k", "fuse", "--as", key_type, text=lines(keys)
    )
    assert tamis.build(keys, kind="fuse", key_type=key_type).to_bytes() == data
    text = [str(key) for key in keys]
    assert tamis.build(text, kind="fuse", key_type=key_type).to_bytes() == data
    assert tamis.build([word.encode() for word in text], kind="fuse", key_type=key_type) == (
        tamis.Filter.from_bytes(data)
    )


def test_fold_case(command: Command, tmp_path: Path) -> None:
    data = made_by_command(
        command, tmp_path / "f.tamis", "-k", "bloom", "--fold-case", text=lines(WORDS)
    )
    f = tamis.build(WORDS, kind="bloom", fold_case=True)
    assert f.to_bytes() == data
    assert all(word.upper() in f for word in WORDS if word.isascii())


def test_prehashed(command: Command, tmp_path: Path) -> None:
    hashes = [tamis.hash_integer(i) for i in range(500)]
    text = "".join(f"{h:016x}\n" for h in hashes).encode()
    data = made_by_command(command, tmp_path / "f.tamis", "-k", "fuse", "--prehashed", text=text)
    assert tamis.build(hashes, kind="fuse", prehashed=True).to_bytes() == data
    f = tamis.Filter.from_bytes(data)
    assert all(h in f for h in hashes)
    assert all(f.contains_many(hashes, result="list"))


def test_secret(command: Command, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET.hex())
    (tmp_path / "key").chmod(0o600)
    arguments = ("-k", "bloom", "--key-file", str(tmp_path / "key"))
    data = made_by_command(command, tmp_path / "f.tamis", *arguments, text=lines(WORDS))
    assert tamis.build(WORDS, kind="bloom", secret=SECRET).to_bytes() == data


@pytest.mark.parametrize("form", ["guava", "guava32", "leveldb", "rocksdb", "redisbloom", "dcso"])
def test_formats(command: Command, tmp_path: Path, form: str) -> None:
    path = tmp_path / "f"
    arguments = ("--to", form, "-n", "1000")
    data = made_by_command(command, path, *arguments, text=lines(WORDS))
    f = tamis.build(WORDS, capacity=1000, format=form)
    assert f.to_bytes() == data


@pytest.mark.parametrize(
    ("options", "records"),
    [
        (("--hex",), [word.encode().hex() for word in WORDS]),
        (("-t", ",", "-F", "2"), [f"1,{word},3" for word in WORDS]),
        (("--strip-cr",), [f"{word}\r" for word in WORDS]),
        (("--fold-case", "--strip-cr"), [f"{word}\r" for word in WORDS]),
    ],
)
def test_forms_that_only_the_command_makes(
    command: Command, tmp_path: Path, options: tuple[str, ...], records: list[str]
) -> None:
    """The module opens the command's filters; a key is the text of the field."""
    path = tmp_path / "f.tamis"
    made_by_command(command, path, "-p", "1e-6", *options, text=lines(records))
    with tamis.open(path) as f:
        keys = [word.encode().hex() for word in WORDS] if options == ("--hex",) else WORDS
        assert set(f.info().key_options.split()) == set(options)
        assert all(f.contains_many(keys, result="list"))
        assert all(key in f for key in keys)
        if options == ("--hex",):
            for key in ("no digits", "abc"):
                with pytest.raises(ValueError, match="hexadecimal"):
                    f.__contains__(key)
            with pytest.raises(ValueError, match="str"):
                f.__contains__(3)


def test_errors_are_those_of_the_command(command: Command, tmp_path: Path) -> None:
    """Without the advice that is about the command."""
    f = tamis.Filter(10, key_type="i32")
    done = command("build", "--as", "i32", "-o", str(tmp_path / "f"), text=b"12\r\n")
    assert done.returncode != 0
    assert b"use --strip-cr" in done.stderr
    with pytest.raises(ValueError, match=r"'12\\x0d' is not of type i32$"):
        f.add("12\r")


def test_the_command_reads_what_the_module_writes(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "f.tamis"
    for kind in KINDS:
        tamis.build(WORDS, 1e-6, kind).save(path)
        done = command("query", str(path), text=lines([*WORDS[:3], "absent"]))
        assert done.stdout == lines(WORDS[:3])
        info = json.loads(command("info", "--json", str(path)).stdout)
        ours = tamis.open(path).info()
        for name in ("kind", "bytes", "capacity", "hashes", "seed", "keyed", "fpr_target"):
            if name in info:
                assert info[name] == getattr(ours, name), name


def test_plan(command: Command) -> None:
    done = command("plan", "--json", "-n", "1000000", "-p", "0.01")
    theirs = json.loads(done.stdout)
    ours = tamis.plan(1_000_000, 0.01)
    assert theirs["choice"] == ours.choice
    assert [row["kind"] for row in theirs["families"]] == [row.kind for row in ours.families]
    assert [row["bytes"] for row in theirs["families"]] == [row.bytes for row in ours.families]

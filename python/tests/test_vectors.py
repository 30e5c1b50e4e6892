"""Filters that other systems wrote, with those systems' own answers.

See tests/vectors/README.md of the repository.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import FACTOR, SECRET

import tamis

Row = dict[str, str]


def table(path: Path) -> list[Row]:
    """The rows of a file of tab-separated columns."""
    lines = [line for line in path.read_text().split("\n") if line and not line.startswith("#")]
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t") + [""] * len(names))) for line in lines[1:]]


def encode(line: bytes, ending: str) -> bytes:
    """The key that a line stands for."""
    if ending == ".hex":
        return bytes.fromhex(line.decode())
    if ending == ".i32":
        return struct.pack("<i", int(line))
    if ending in (".i64", ".u64"):
        return struct.pack("<Q", int(line) % 2**64)
    return line


def read_keys(vectors: Path, names: str) -> list[bytes]:
    """The keys of a file, or of several that are joined by "+"."""
    keys: list[bytes] = []
    for name in names.split("+"):
        path = vectors / name
        lines = path.read_bytes().split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        keys += [encode(line, path.suffix) for line in lines]
    return keys


def check_answers(
    vectors: Path, answers: str, got: list[bool | None], one_by_one: Iterator[bool]
) -> None:
    """Compares the answers with those of the other system."""
    if answers in ("", "-"):
        return
    expected = (vectors / answers).read_text().split()
    assert len(got) == len(expected)
    assert all(e == "-" or a == (e == "1") for a, e in zip(got, expected))
    assert list(one_by_one) == got


def check_filter(
    vectors: Path,
    data: bytes,
    form: str,
    keys: list[bytes],
    probes: list[bytes],
    answers: str,
) -> tamis.Filter:
    """Opens the bytes; looks up the keys and the probes; writes the bytes again."""
    f = tamis.Filter.from_bytes(data, format=form)
    assert f.format == form.split(":")[0]
    assert all(f.contains_many(keys, result="list"))
    got = f.contains_many(probes, result="list")
    check_answers(vectors, answers, got, (probe in f for probe in probes))
    return f


def check_row(vectors: Path, row: Row, form: str, column: str = "filter") -> tamis.Filter:
    """The usual row of a manifest."""
    keys = read_keys(vectors, row["keys"])
    probes = read_keys(vectors, row["probes"])
    data = (vectors / row[column]).read_bytes()
    f = check_filter(vectors, data, form, keys, probes, row["answers"])
    assert f.to_bytes() == data
    return f


def test_native(native: Path) -> None:
    keys = (native / "keys.txt").read_bytes().split(b"\n")
    probes = (native / "probes.txt").read_bytes().split(b"\n")[:-1]
    for row in table(native / "manifest.tsv"):
        keyed = row["keyed"] == "1"
        data = (native / row["file"]).read_bytes()
        f = tamis.Filter.from_bytes(data, secret=SECRET if keyed else None)
        assert (f.kind, f.format, f.keyed) == (row["kind"], "tamis", keyed), row["file"]
        assert f.fpr == float(row["rate"])
        if not keyed:
            assert f.seed == int(row["seed"])
        assert all(f.contains_many(keys[: int(row["keys"])], result="list")), row["file"]
        hits = f.contains_many(probes, result="list").count(True)
        assert hits == int(row["probe_hits"]), row["file"]
        assert f.to_bytes() == data
        if keyed:
            with pytest.raises(tamis.SecretError):
                tamis.Filter.from_bytes(data)
            with pytest.raises(tamis.SecretError):
                tamis.Filter.from_bytes(data, secret=bytes(16))


def test_large_native(native: Path) -> None:
    """Sets that are large enough for other layouts; of their files there is the checksum."""
    checksum = tamis.Filter(1)  # XXH3-64 with seed 0
    for row in table(native / "large.tsv"):
        count = int(row["keys"])
        if count > 100_000 * FACTOR:
            continue
        options: dict[str, Any] = {
            "kind": row["kind"],
            "capacity": int(row["capacity"]),
            "fpr": float(row["rate"]),
        }
        if row["stage"] != "-":
            options["stage"] = row["stage"]
        hashes = [tamis.hash_integer(i) for i in range(count)]
        if row["how"] == "build":
            f = tamis.build(hashes, hashed=True, arity=int(row["arity"]), **options)
        else:
            f = tamis.Filter(**options)
            f.add_many(hashes, hashed=True)
        assert f.nbytes == int(row["bytes"])
        assert checksum.hash(f.to_bytes()) == int(row["xxh3"]), row


def funnelled(keys: list[bytes], funnel: str) -> list[bytes]:
    """The bytes that a funnel of Guava makes of keys."""
    if funnel.startswith("person-"):
        keys = [key.replace(b"\t", b"") for key in keys]
    if funnel in ("unencoded-chars", "person-chars"):
        keys = [key.decode().encode("utf-16-le") for key in keys]
    return keys


def test_guava(vectors: Path) -> None:
    for row in table(vectors / "guava/manifest.tsv"):
        form = "guava32" if row["strategy"] == "32" else "guava"
        data = (vectors / row["filter"]).read_bytes()
        keys = funnelled(read_keys(vectors, row["keys"]), row["funnel"])
        probes = funnelled(read_keys(vectors, row["probes"]), row["funnel"])
        f = check_filter(vectors, data, form, keys, probes, row["answers"])
        assert f.to_bytes() == data
        made = tamis.Filter(int(row["expected_insertions"]), float(row["fpp"]), format=form)
        made.update(keys)
        assert made.to_bytes() == data, row["id"]


def as_long(key: bytes) -> bytes:
    """Spark hashes every integer as a long."""
    return struct.pack("<q", struct.unpack("<i", key)[0]) if len(key) == 4 else key


def test_spark(vectors: Path) -> None:
    for row in table(vectors / "spark/manifest.tsv"):
        keys, probes = read_keys(vectors, row["keys"]), read_keys(vectors, row["probes"])
        if row["item_type"] == "long":
            keys, probes = [as_long(key) for key in keys], [as_long(key) for key in probes]
        data = (vectors / row["filter"]).read_bytes()
        f = check_filter(vectors, data, f"spark{row['version']}", keys, probes, row["answers"])
        assert f.to_bytes() == data


def test_leveldb(vectors: Path) -> None:
    for row in table(vectors / "leveldb/manifest.tsv"):
        check_row(vectors, row, "leveldb")


def test_rocksdb(vectors: Path) -> None:
    for row in table(vectors / "rocksdb/manifest.tsv"):
        check_row(vectors, row, "rocksdb")


def test_seiflotfy(vectors: Path) -> None:
    for row in table(vectors / "seiflotfy_cuckoo/manifest.tsv"):
        data = (vectors / row["filter"]).read_bytes()
        probes = read_keys(vectors, row["probes"])
        f = check_filter(vectors, data, "seiflotfy", [], probes, row["answers"])
        assert f.to_bytes() == data


def test_dcso(vectors: Path) -> None:
    for row in table(vectors / "dcso/manifest.tsv"):
        check_row(vectors, row, "dcso")


def test_libbloom(vectors: Path) -> None:
    for row in table(vectors / "libbloom/manifest_1.6.tsv"):
        check_row(vectors, row, f"libbloom1:entries={row['entries']},error={row['error']}")
    for row in table(vectors / "libbloom/manifest_2.0.tsv"):
        keys = read_keys(vectors, row["keys"])
        probes = read_keys(vectors, row["probes"])
        data = (vectors / row["filter"]).read_bytes()
        check_filter(vectors, data, "libbloom", keys, probes, row["answers"])


def test_fastfilter(vectors: Path) -> None:
    for row in table(vectors / "fastfilter/manifest.tsv"):
        for column, suffix in (("serialized", ""), ("packed", "-pack")):
            if row[column] in ("", "-"):
                continue
            f = check_row(vectors, row, row["type"] + suffix, column)
            # The keys are integers: an int is the same key as its 8 bytes.
            keys = [struct.unpack("<Q", key)[0] for key in read_keys(vectors, row["keys"])]
            assert all(key in f for key in keys)
            with pytest.raises(ValueError, match="8"):
                f.__contains__("text")


def holds_all(row: Row) -> bool:
    """Were all keys added, and none removed?"""
    arguments = row["reserve_args"]
    partial = ("NONSCALING", "EXPANSION 0", "BUCKETSIZE 1")
    return row["mode"] != "add+del" and not any(word in arguments for word in partial)


def test_redisbloom(vectors: Path) -> None:
    for row in table(vectors / "redisbloom/manifest.tsv"):
        keys = read_keys(vectors, row["keys"]) if holds_all(row) else []
        probes = read_keys(vectors, row["probes"])
        dump = (vectors / row["dump"]).read_bytes()
        f = check_filter(vectors, dump, "redisbloom-dump", keys, probes, row["answers"])
        chunks = (vectors / row["header"]).read_bytes() + (vectors / row["data"]).read_bytes()
        if not chunks:
            continue
        g = check_filter(vectors, chunks, "redisbloom", keys, probes, row["answers"])
        assert g.to_bytes() == chunks
        assert f.convert(format="redisbloom").to_bytes() == chunks, row["id"]


def typed(keys: list[bytes], sql_type: str) -> list[bytes]:
    """Integers as a column of another type holds them."""
    code = {"FLOAT": "<f", "DOUBLE": "<d"}.get(sql_type)
    if code is None:
        return keys
    return [struct.pack(code, struct.unpack("<i", key)[0]) for key in keys]


def test_parquet(vectors: Path) -> None:
    for row in table(vectors / "parquet/manifest.tsv"):
        keys = typed(read_keys(vectors, row["keys"]), row["sql_type"])
        probes = typed(read_keys(vectors, row["probes"]), row["sql_type"])
        with tamis.Container.open(vectors / row["file"]) as c:
            assert c.format == "parquet"
            if row["bloom_offset"].startswith("-"):
                assert all(c.contains_many(probes, result="list"))
                continue
            part = c.parts()[0]
            assert part.name == f"0/{row['column']}"
            assert part.offset == int(row["bloom_offset"])
            assert part.bytes == int(row["bloom_length"])
            assert all(c.contains_many(keys, part=row["column"], result="list"))
            got = c.contains_many(probes, part=row["column"], result="list")
            check_answers(vectors, row["answers"], got, (probe in c for probe in probes))
            f = c.filter(part.name)
            assert f.contains_many(probes, result="list") == got


def test_parquet_of_several_columns(vectors: Path) -> None:
    path = vectors / "parquet/duckdb-multi.parquet"
    meta = table(vectors / "parquet/duckdb-multi.meta.tsv")
    with pytest.raises(tamis.PartError):
        tamis.Filter.open(path)
    with tamis.open(path) as c:
        assert isinstance(c, tamis.Container)
        assert len(c) == len(meta)
        assert list(c) == c.parts()
        for part, row in zip(c, meta):
            assert part.name == f"{row['row_group']}/{row['column']}"
            if row["bloom_length"] == "-":
                assert part.bytes == 0
            else:
                assert part.offset == int(row["bloom_offset"])
                assert part.bytes == int(row["bloom_length"])
            assert part.row_group == int(row["row_group"])
        for row in table(vectors / "parquet/duckdb-multi.probes.tsv"):
            column, value = row["column"], row["value"]
            key = struct.pack("<i", int(value)) if column[0] == "a" else value.encode()
            name = f"{row['row_group']}/{column}"
            assert c.contains(key, name) == (row["may_contain"] == "1"), (name, value)
        with pytest.raises(tamis.PartError):
            c.filter("9/none")


@pytest.mark.parametrize(
    ("directory", "form"), [("leveldb", "leveldb-table"), ("rocksdb", "rocksdb-table")]
)
def test_tables(vectors: Path, directory: str, form: str) -> None:
    for row in table(vectors / directory / "sst_manifest.tsv"):
        keys = read_keys(vectors, row["keys"])
        probes = read_keys(vectors, row["probes"])
        c = tamis.Container.from_bytes((vectors / row["sst"]).read_bytes())
        assert c.format == form
        assert all(c.contains_many(keys, result="list"))
        got = c.contains_many(probes, result="list")
        check_answers(vectors, row["answers"], got, (probe in c for probe in probes))


@pytest.mark.parametrize("form", ["guava", "dcso"])
def test_malformed_files(vectors: Path, form: str) -> None:
    """What the other system refuses is refused; what it accepts may be refused as well."""
    for row in table(vectors / form / "malformed.tsv"):
        data = (vectors / row["file"]).read_bytes()
        try:
            f = tamis.Filter.from_bytes(data, format=form)
        except tamis.Error as error:
            assert str(error)
        else:
            assert row["result"] == "accepted", row["id"]
            assert b"a" in f or b"a" not in f


@pytest.mark.parametrize(("form", "shortest"), [("leveldb", 2), ("rocksdb", 6)])
def test_odd_filters(vectors: Path, form: str, shortest: int) -> None:
    """Filters that no version writes give the other system's answers, or are refused."""
    keys = [bytes.fromhex(key) for key in ("", "61", "68656c6c6f", "6b657930303031", "7979")]
    keys.append(bytes.fromhex("e4b8ad"))
    for row in table(vectors / form / "malformed.tsv"):
        data = bytes.fromhex(row["filter_hex"])
        try:
            f = tamis.Filter.from_bytes(data, format=form)
        except tamis.Error:
            assert len(data) < shortest
        else:
            assert f.contains_many(keys, result="list") == [a == "1" for a in row["answers"]]
            assert f.to_bytes() == data


def test_detect(native: Path, vectors: Path) -> None:
    """Every format with a magic number is detected."""
    assert tamis.detect((native / "bloom-10.tamis").read_bytes()) == ["tamis"]
    for name, pattern in {"parquet": "*.parquet", "redisbloom": "*.dump"}.items():
        for path in sorted((vectors / name).glob(pattern))[:5]:
            assert any(name in form for form in tamis.detect(path.read_bytes())), path

"""Filter.info() and plan(), compared with what the command prints with --json."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import KINDS, SECRET, Command

import tamis

KEYS = [f"key-{i}" for i in range(1000)]


def parsed(command: Command, *arguments: str) -> dict[str, Any]:
    """What the command prints with --json."""
    done = command(*arguments, "--json")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def rounded(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with the 9 digits that the command prints of computed numbers."""
    return {
        name: float(f"{value:.9g}") if isinstance(value, float) else value
        for name, value in facts.items()
    }


def check_info(command: Command, path: Path, *arguments: str, **options: Any) -> None:
    with tamis.open(path, **options) as f:
        info = dataclasses.asdict(f.info())
    printed = parsed(command, "info", *arguments, str(path))
    printed.setdefault("note", None)
    assert rounded(info) == printed
    assert list(info) == list(printed)  # in the same order


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_info_is_that_of_the_command(
    command: Command, tmp_path: Path, kind: Any, count: int
) -> None:
    path = tmp_path / "f.tamis"
    tamis.build(KEYS[:count], 0.001, kind).save(path)
    check_info(command, path)


@pytest.mark.parametrize("kind", ["bloom", "block", "counting", "growing"])
def test_info_over_capacity(command: Command, tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "f.tamis"
    f = tamis.Filter(50, 0.01, kind)
    f.update(KEYS)
    assert f.info().over_capacity is (kind != "growing")
    assert f.info().keys == 1000
    f.save(path)
    check_info(command, path)


@pytest.mark.parametrize(
    "options",
    [
        {"secret": SECRET},
        {"seed": 2**64 - 1},
        {"fold_case": True},
        {"key_type": "utf16"},
        {"format": "guava"},
        {"format": "leveldb"},
    ],
)
def test_info_of_options(command: Command, tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "f"
    arguments: list[str] = []
    how: dict[str, Any] = {}
    if "secret" in options:
        (tmp_path / "key").write_text(SECRET.hex())
        arguments = ["--key-file", str(tmp_path / "key")]
        how = {"secret": SECRET}
    if "format" in options:
        arguments = ["--from", options["format"]]
        how = options
    tamis.build(KEYS, **options).save(path)
    check_info(command, path, *arguments, **how)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-t", ",", "-F", "2"],
        ["-t", "\\t", "-F", "1", "--strip-cr", "--fold-case"],
        ["-t", "=>\\x01", "-F", "1"],
        ["--hex"],
        ["--prehashed"],
        ["--as", "f64"],
    ],
)
def test_info_of_key_options(command: Command, tmp_path: Path, arguments: list[str]) -> None:
    path = tmp_path / "f.tamis"
    record = {"--hex": "00ff", "--prehashed": "0123456789abcdef", "--as": "1.5"}
    text = record.get(arguments[0], "a,b")
    done = command("build", *arguments, "-o", str(path), text=f"{text}\n".encode())
    assert done.returncode == 0, done.stderr
    check_info(command, path)


def test_info_in_memory() -> None:
    f = tamis.Filter(1000, 0.01)
    assert f.info().file is None
    assert f.info().note is None
    assert f.info().keys == 0
    assert f.info().capacity == f.capacity == 1000
    f.add("a")
    assert f.info().keys == 1


def test_info_of_a_closed_filter() -> None:
    f = tamis.Filter(10)
    f.close()
    with pytest.raises(ValueError, match="closed"):
        f.info()


# ---- plan


def check_plan(command: Command, capacity: int, *arguments: str, **options: Any) -> tamis.Plan:
    plan = tamis.plan(capacity, **options)
    printed = parsed(command, "plan", "-n", str(capacity), *arguments)
    printed.pop("command", None)  # for a shell
    values = rounded(json.loads(json.dumps(dataclasses.asdict(plan))))
    values["families"] = [rounded(family) for family in values["families"]]
    assert plan.choice is not None or printed["choice"] == ""
    if plan.choice is None:
        printed["choice"] = None
    for name in ("size", "classic_bits", "classic_hashes", "bound_bits_per_key"):
        printed.setdefault(name, None)
    assert values == printed
    return plan


@pytest.mark.parametrize("capacity", [0, 1, 1000, 10**6, 10**10])
@pytest.mark.parametrize("fpr", [0.3, 0.01, 1e-6, 1e-15])
def test_plan_is_that_of_the_command(command: Command, capacity: int, fpr: float) -> None:
    plan = check_plan(command, capacity, "-p", str(fpr), fpr=fpr)
    assert plan.choice is not None
    assert {sizing.kind for sizing in plan.families} <= set(KINDS)


@pytest.mark.parametrize("size", [1000, 10**6, 10**9])
def test_plan_of_a_size(command: Command, size: int) -> None:
    plan = check_plan(command, 500, "-M", str(size), bytes=size)
    assert plan.size == size
    assert plan.classic_bits is None
    assert all(sizing.bytes <= size for sizing in plan.families)


@pytest.mark.parametrize("need", ["add", "remove", "grow", "merge", "static"])
def test_plan_of_needs(command: Command, need: Any) -> None:
    check_plan(command, 10**6, "-p", "0.01", "--need", need, fpr=0.01, needs=need)
    if need != "static":
        check_plan(command, 10**6, "--need", need, "--need", "add", needs=[need, "add"])


def test_plan_without_a_choice(command: Command) -> None:
    plan = check_plan(
        command, 1000, "--need", "static", "--need", "remove", needs=["static", "remove"]
    )
    assert plan.choice is None
    assert plan.why
    assert plan.families
    plan = tamis.plan(10**6, bytes=100)
    assert plan.choice is None
    assert "fits" in plan.why
    assert plan.families == ()
    assert plan.fpr == 0
    assert tamis.plan(10**6, 1e-18, needs="static").choice is None
    assert tamis.plan(2**63).choice is None


def test_plan_is_what_build_does() -> None:
    assert tamis.plan(len(KEYS), 0.001).choice == tamis.build(KEYS, 0.001).kind


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((), {}, TypeError),
        ((1, 0.1, 5), {}, TypeError),
        ((1,), {"capacity": 1}, TypeError),
        ((1,), {"unknown": 1}, TypeError),
        (("1",), {}, TypeError),
        ((-1,), {}, ValueError),
        ((1, 0.0), {}, tamis.ArgumentError),
        ((1, 1.0), {}, tamis.ArgumentError),
        ((1, "x"), {}, TypeError),
        ((1, 0.1), {"bytes": 100}, ValueError),
        ((1,), {"needs": "fly"}, ValueError),
        ((1,), {"needs": 5}, TypeError),
    ],
)
def test_wrong_arguments(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        tamis.plan(*arguments, **options)


# ---- the dataclasses


def test_dataclasses() -> None:
    info = tamis.build(KEYS).info()
    plan = tamis.plan(1000)
    assert isinstance(info, tamis.Info)
    assert isinstance(plan, tamis.Plan)
    assert isinstance(plan.families[0], tamis.Sizing)
    for made in (info, plan):
        assert pickle.loads(pickle.dumps(made)) == made
        assert copy.deepcopy(made) == made
        assert hash(made) == hash(copy.copy(made))
        with pytest.raises(AttributeError):
            made.fpr = 1  # type: ignore[union-attr, misc]


def test_dataclasses_are_imported_when_they_are_needed() -> None:
    """The module dataclasses would take most of the import time."""
    code = (
        "import sys, tamis\n"
        "assert 'dataclasses' not in sys.modules and 'tamis._info' not in sys.modules\n"
        "tamis.Filter(10).info()\n"
        "assert 'tamis._info' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

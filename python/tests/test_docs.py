"""The examples in the docstrings and in README.md give what they show."""

from __future__ import annotations

import doctest
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tamis

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
READMES = [Path(__file__).resolve().parents[i] / "README.md" for i in (1, 2)]


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path: Path) -> Iterator[None]:
    """Examples write files."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)


def public_objects() -> Iterator[tuple[str, object]]:
    """Everything that the package exports, and the members of its types."""
    for name in sorted(vars(tamis)):
        value = getattr(tamis, name)
        if name.startswith("_") or isinstance(value, ModuleType):
            continue
        yield f"tamis.{name}", value
        if inspect.isclass(value):
            for member in sorted(vars(value)):
                if not member.startswith("_"):
                    yield f"tamis.{name}.{member}", getattr(value, member)


OBJECTS = [pytest.param(name, value, id=name) for name, value in public_objects()]
EXAMPLES = [
    pytest.param(name, value, id=name)
    for name, value in [("tamis", tamis), *public_objects()]
    if ">>>" in (inspect.getdoc(value) or "")
]


def run(name: str, text: str, path: str) -> None:
    """Runs the examples of a text."""
    test = doctest.DocTestParser().get_doctest(text, {"tamis": tamis}, name, path, 0)
    output: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=output.append)
    assert result.failed == 0, "".join(output)


@pytest.mark.parametrize(("name", "value"), EXAMPLES)
def test_examples(name: str, value: object) -> None:
    run(name, inspect.getdoc(value) or "", name)


@pytest.mark.parametrize("readme", READMES, ids=["package", "repository"])
def test_readme(readme: Path) -> None:
    if not readme.exists():
        pytest.skip("README.md is not installed")
    text = readme.read_text(encoding="utf-8")
    assert ">>>" in text
    for package in ("numpy", "pandas", "pyarrow", "polars"):
        if f"import {package}" in text:
            pytest.importorskip(package, reason=f"an example uses {package}")
    run("README.md", "\n".join(line for line in text.split("\n") if line != "```"), str(readme))


@pytest.mark.parametrize(("name", "value"), OBJECTS)
def test_everything_is_documented(name: str, value: object) -> None:
    if callable(value) or isinstance(value, property) or inspect.isgetsetdescriptor(value):
        assert (inspect.getdoc(value) or "").strip(), f"{name} has no docstring"


def test_signatures() -> None:
    """help() and editors show the arguments of every function."""
    for name, value in public_objects():
        if inspect.isroutine(value) and getattr(value, "__text_signature__", "") is None:
            raise AssertionError(f"{name} has no signature")


def test_stubs_and_module_agree() -> None:
    """Every public name of the module is in its stub, and the other way round."""
    stub_path = Path(tamis.__file__).with_name("_tamis.pyi")
    stub = stub_path.read_text(encoding="utf-8")
    from tamis import _tamis

    for name in dir(_tamis):
        if not name.startswith("_"):
            assert name in stub, name
    for name in ("Filter", "Builder", "Container", "Array"):
        for member in dir(getattr(_tamis, name)):
            if not member.startswith("_"):
                assert f" {member}(" in stub or f" {member}:" in stub, f"{name}.{member}"

"""Fixtures and constants of all tests.

Environment:
    TAMIS_VECTORS       the directory of the vectors (default: tests/vectors of the repository)
    TAMIS_COMMAND       the command tamis (default: ``python -m tamis``)
    TAMIS_TEST_SEED     the seed of the tests that choose at random (default 1)
    TAMIS_TEST_FACTOR   how many times as much they try (default 1)
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Callable

import pytest

if TYPE_CHECKING:
    from tamis._tamis import Kind

SEED = int(os.environ.get("TAMIS_TEST_SEED", "1"))
FACTOR = float(os.environ.get("TAMIS_TEST_FACTOR", "1"))
ROOT = Path(__file__).resolve().parents[2]

DYNAMIC: tuple[Kind, ...] = ("bloom", "block", "counting", "cuckoo", "growing")
STATIC: tuple[Kind, ...] = ("xor", "fuse", "ribbon")
KINDS = DYNAMIC + STATIC
REMOVABLE = ("counting", "cuckoo")
UNITABLE = ("bloom", "block", "counting")
INTERSECTABLE = ("bloom", "block")
SECRET = bytes(range(16))

Command = Callable[..., "subprocess.CompletedProcess[bytes]"]


def times(count: int) -> int:
    """A number of attempts, scaled by TAMIS_TEST_FACTOR."""
    return max(1, int(count * FACTOR))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers that depend on the test and on TAMIS_TEST_SEED alone."""
    return random.Random(f"{SEED} {request.node.nodeid}")


@pytest.fixture(scope="session")
def native() -> Path:
    """The directory of the filters of our own format, which TAMIS_VECTORS may lack."""
    path = ROOT / "tests" / "vectors" / "native"
    if not path.is_dir():
        pytest.skip("the vectors of tests/vectors/native are not here")
    return path


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The directory of the filters that other systems wrote."""
    path = Path(os.environ.get("TAMIS_VECTORS", ROOT / "tests" / "vectors"))
    if not (path / "keys").is_dir():
        pytest.skip("the vectors are not here: set TAMIS_VECTORS to their directory")
    return path


@pytest.fixture(scope="session")
def command() -> Command:
    """Runs the command tamis with arguments and an input."""
    given = os.environ.get("TAMIS_COMMAND")
    words = shlex.split(given) if given else [sys.executable, "-m", "tamis"]

    def run(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*words, *arguments], input=text, capture_output=True, timeout=60, check=False
        )

    if run("--version").returncode != 0:
        pytest.skip("the command tamis is not installed: set TAMIS_COMMAND to it")
    return run

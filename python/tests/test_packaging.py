"""The installed package: its files, its version, its command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

import tamis
from tamis import _tamis

PACKAGE = Path(tamis.__file__).parent
COMMAND = PACKAGE / "_command"
RUN = [sys.executable, "-m", "tamis"]

contains_command = pytest.mark.skipif(
    not COMMAND.exists(), reason="the package was built with TAMIS_SYSTEM, without the command"
)


def installed_files() -> set[str]:
    """The files of the distribution, relative to site-packages."""
    files = metadata.files("tamis")
    if not files or not any(file.name == "py.typed" for file in files):
        pytest.skip("the package is not installed, or is editable")
    return {str(file) for file in files}


def test_the_version_is_that_of_the_library() -> None:
    assert tamis.__version__ == metadata.version("tamis")


def test_the_version_is_that_of_the_header() -> None:
    header = Path(__file__).resolve().parents[2] / "include" / "tamis.h"
    if not header.exists():
        pytest.skip("the header is not here")
    numbers = re.findall(r"#define TAMIS_VERSION_[A-Z]+ (\d+)", header.read_text())
    assert tamis.__version__ == ".".join(numbers)


def test_files() -> None:
    files = installed_files()
    assert {"tamis/py.typed", "tamis/_tamis.pyi", "tamis/__main__.py"} <= files
    names = [Path(file).name for file in files if ".dist-info/" in file]
    assert "LICENSE" in names
    assert not [file for file in files if file.endswith((".c", ".h", ".o"))]


@contains_command
def test_the_license_of_xxhash_is_included() -> None:
    names = [Path(file).name for file in installed_files()]
    if "direct_url.json" in names and not any("xxhash" in name for name in names):
        pytest.skip("the package was not built from an sdist")
    assert "LICENSE.xxhash" in names


def test_one_binary_for_all_versions() -> None:
    name = Path(_tamis.__file__).name
    one = sys.version_info >= (3, 11) and not (
        sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_DEBUG")
    )
    assert name == ("_tamis.abi3.so" if one else "_tamis" + sysconfig.get_config_var("EXT_SUFFIX"))


def test_nothing_but_tamis_is_required() -> None:
    assert not metadata.requires("tamis")


@contains_command
def test_help_is_that_of_the_command() -> None:
    for arguments in (["--help"], ["build", "--help"], ["--version"]):
        ours = subprocess.run([*RUN, *arguments], capture_output=True)
        theirs = subprocess.run([COMMAND, *arguments], capture_output=True)
        assert (ours.returncode, ours.stdout) == (0, theirs.stdout)


@contains_command
def test_the_console_script_is_the_command() -> None:
    [script] = [e for e in metadata.distribution("tamis").entry_points if e.name == "tamis"]
    assert script.value == "tamis.__main__:main"


@contains_command
def test_exit_codes(tmp_path: Path) -> None:
    path = str(tmp_path / "f.tamis")
    assert subprocess.run([*RUN, "build", "-q", "-o", path], input=b"a\n").returncode == 0
    assert subprocess.run([*RUN, "query", "-q", path], input=b"a\n").returncode == 0
    assert subprocess.run([*RUN, "nothing"], capture_output=True).returncode == 2


def run_installed(directory: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m tamis --version` of a package that contains no command.

    The directory is PATH; the script, if any, is the command there.
    """
    program = (
        "import sys, tamis.__main__ as m\n"
        "m.__file__ = sys.argv.pop(1)\n"  # a directory without _command
        "m.main()\n"
    )
    installed = directory / "tamis"
    if script:
        installed.write_text(f"#!/bin/sh\n{script}\n")
        installed.chmod(0o755)
    arguments = [sys.executable, "-c", program, str(directory / "__main__.py"), "--version"]
    environment = {**os.environ, "PATH": str(directory)}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True)


def test_without_a_command(tmp_path: Path) -> None:
    done = run_installed(tmp_path, "")
    assert done.returncode == 2
    assert done.stderr.startswith("tamis: the command is not installed")
    done = run_installed(tmp_path, 'echo "installed $*"')
    assert (done.returncode, done.stdout) == (0, "installed --version\n")


@pytest.mark.parametrize("name", ["PIPE", "INT", "TERM"])
def test_signals_have_their_default_action(tmp_path: Path, name: str) -> None:
    done = run_installed(tmp_path, f"kill -{name} $$; exit 5")
    assert done.returncode == -getattr(signal, f"SIG{name}")

"""Finds xxhash.h, the one file that the library needs from elsewhere.

An sdist contains it.  In a checkout it is the compiler's (Debian: libxxhash-dev), or it is
downloaded with pip as part of the sdist of the Python package xxhash.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
BUNDLED = HERE / "vendor" / "xxhash" / "xxhash.h"
DOWNLOADED = HERE / "build" / "xxhash" / "xxhash.h"

# To read the metadata of an sdist, pip runs its setup.py.  The hash determines which code that is.
PACKAGE = "xxhash==3.6.0"
SHA256 = "f0162a78b13a0d7617b2845b90c763339d1f1d82bb04a4b07f4ab535cc5e05d6"
MEMBER = "/deps/xxhash/xxhash.h"

MISSING = "missing xxhash.h: install it (Debian: libxxhash-dev), or allow pip to download xxhash"


def uses_system_library() -> bool:
    """Return whether the installed libtamis is linked: then nothing needs xxhash.h."""
    return os.environ.get("TAMIS_SYSTEM", "0") not in ("", "0")


def header_of_compiler() -> Path | None:
    """Return the header that #include <xxhash.h> finds, or None."""
    variables = os.environ
    command = shlex.split(variables.get("CC") or sysconfig.get_config_var("CC") or "cc")
    command += shlex.split(variables.get("CPPFLAGS", "")) + shlex.split(variables.get("CFLAGS", ""))
    try:
        # -M prints a rule of make with the names of all headers.
        result = subprocess.run([*command, "-M", "-x", "c", "-"], input="#include <xxhash.h>\n",
                                capture_output=True, text=True)
    except OSError:
        return None
    for name in result.stdout.replace("\\\n", " ").split():
        if name.endswith("/xxhash.h") and result.returncode == 0:
            return Path(name)
    return None


def header_present() -> Path | None:
    """Return the header if nothing must be downloaded."""
    for path in (BUNDLED, DOWNLOADED):
        if path.is_file():
            return path
    return header_of_compiler()


def requirements() -> list[str]:
    """Return the packages that header() needs."""
    return [] if uses_system_library() or header_present() else ["pip"]


def download() -> Path:
    """Download the header with pip."""
    with tempfile.TemporaryDirectory() as directory:
        wanted = Path(directory, "requirements.txt")
        wanted.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
               "--retries", "1", "--no-deps", "--no-binary", "xxhash", "--require-hashes",
               "--dest", directory, "--requirement", str(wanted)]
        if subprocess.run(pip, stdin=subprocess.DEVNULL).returncode != 0:
            sys.exit(MISSING)
        [archive] = Path(directory).glob("*.tar.gz")
        with tarfile.open(archive) as files:
            [member] = [m for m in files.getmembers() if m.name.endswith(MEMBER)]
            stream = files.extractfile(member)
            assert stream is not None
            DOWNLOADED.parent.mkdir(parents=True, exist_ok=True)
            DOWNLOADED.write_bytes(stream.read())
    return DOWNLOADED


def header() -> Path:
    """Return the header; download it if there is none."""
    return header_present() or download()


def license_of(text: str) -> str:
    """Return the copyright notice, the comment at the top of the header."""
    comment = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    assert comment is not None
    return re.sub(r"(?m)^ \* ?", "", comment[1]).strip() + "\n"


def bundle(directory: Path) -> None:
    """Copy the header and its license into an sdist."""
    text = header().read_text()
    target = directory / BUNDLED.relative_to(HERE)
    target.parent.mkdir(parents=True)
    target.write_text(text)
    # setuptools adds every LICENSE* to the wheel.
    (directory / "LICENSE.xxhash").write_text(license_of(text))

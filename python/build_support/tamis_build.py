"""The commands of setup.py.

build_ext compiles the library once and links it into the extension and into the command; sdist adds
the sources of the library, which are outside this directory.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import tamis_xxhash
from setuptools import Extension
from setuptools.command.build_ext import build_ext as setuptools_build_ext
from setuptools.command.sdist import sdist as setuptools_sdist

HERE = tamis_xxhash.HERE
SYSTEM = tamis_xxhash.uses_system_library()

# The library is the directory above a checkout's python/, and a part of an sdist.
BUNDLED = HERE / "library"
LIBRARY = BUNDLED if BUNDLED.is_dir() else HERE.parent
PARTS = ("include", "src", "cli", "plot")
# Files of the command that the extension uses too: key types, UTF-8.
SHARED = ("form.c", "utf8.c")

# As in cmake/compile.cmake.  No fused multiply-add: the bytes of a filter are the same on every
# machine.
FLAGS = ["-std=c11", "-pthread", "-fvisibility=hidden", "-ffp-contract=off"]
MACROS = [("NDEBUG", None), ("_FILE_OFFSET_BITS", "64")]
# The extension contains the library, and the library xxHash.
LIBRARY_MACROS = [("TAMIS_BUILDING", None), ("TAMIS_STATIC", None), ("XXH_INLINE_ALL", None)]
LIMITED_API = "0x030b0000"

# What a build needs besides its own files, and what to do if the compiler does not find it.
HEADERS = {
    "stdlib.h": "install the headers of the C library (Debian: libc6-dev)",
    "Python.h": "install the headers of Python (Debian: python3-dev)",
    "tamis.h": "set PKG_CONFIG_PATH to find the installed libtamis, or unset TAMIS_SYSTEM",
}


def version() -> str:
    """Return the version that include/tamis.h defines."""
    text = (LIBRARY / "include" / "tamis.h").read_text()
    parts = [re.search(rf"#define TAMIS_VERSION_{name} (\d+)", text) for name in
             ("MAJOR", "MINOR", "PATCH")]
    return ".".join(part[1] for part in parts if part)


def limited() -> bool:
    """Return whether one binary serves this and all later versions of Python."""
    variant = sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_DEBUG")
    cpython = sys.implementation.name == "cpython"
    return cpython and sys.version_info >= (3, 11) and not variant


def options() -> dict[str, dict[str, str]]:
    """Return options of other commands: the tag of the wheel."""
    return {"bdist_wheel": {"py_limited_api": "cp311"}} if limited() else {}


def scripts() -> list[str]:
    """Return the console scripts: with TAMIS_SYSTEM, `tamis` is the installed command."""
    return [] if SYSTEM else ["tamis = tamis.__main__:main"]


def optimization() -> list[str]:
    """Return -O3 without debug information, where CFLAGS do not choose."""
    chosen = shlex.split(os.environ.get("CFLAGS", ""))
    return [flag for flag in ("-O3", "-g0") if not any(c.startswith(flag[:2]) for c in chosen)]


def system_flags(what: str) -> list[str]:
    """Return what pkg-config (or $PKG_CONFIG) prints about the installed libtamis, or []."""
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), what, "tamis"]
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return []
    return shlex.split(result.stdout)


def extension() -> Extension:
    """Return the extension with the sources of its own; build_ext adds those of the library."""
    macros = MACROS + ([] if SYSTEM else LIBRARY_MACROS)
    flags = FLAGS + optimization()
    directories = [LIBRARY / "src", LIBRARY / "cli", LIBRARY / "plot"]
    link = ["-pthread"]
    if SYSTEM:
        flags += system_flags("--cflags")
        link += system_flags("--libs") or ["-ltamis"]
    else:
        directories.append(LIBRARY / "include")
    if limited():
        macros = [*macros, ("Py_LIMITED_API", LIMITED_API)]
    return Extension(
        "tamis._tamis",
        sources=sorted(str(path.relative_to(HERE)) for path in HERE.glob("src/*.c")),
        include_dirs=[str(path) for path in directories],
        define_macros=macros,
        extra_compile_args=flags,
        extra_link_args=link,
        libraries=["m"],
        py_limited_api=limited(),
    )


class build_ext(setuptools_build_ext):
    """Compiles on all processors, and only what has changed."""

    def build_extension(self, ext: Extension) -> None:
        """Build the extension and, unless the installed library is used, the command."""
        self.check_headers(ext)
        own = sorted((HERE / "src").glob("*.c"))
        shared = [LIBRARY / "cli" / name for name in SHARED]
        library, command = [], []
        if not SYSTEM:
            ext.include_dirs.append(str(tamis_xxhash.header().parent))
            library = sorted(LIBRARY.glob("src/**/*.c"))
            command = sorted(LIBRARY.glob("cli/*.c")) + sorted(LIBRARY.glob("plot/*.c"))
        self.directory = self.objects_directory(ext)
        self.compile_all(ext, sorted({*own, *shared, *library, *command}))
        # What an earlier build with other settings has left there would be part of the wheel.
        package = Path(self.build_lib, "tamis")
        for path in [*package.glob("_tamis*.so"), self.command_path()]:
            path.unlink(missing_ok=True)
        self.compiler.link_shared_object(
            self.objects([*own, *shared, *library]), self.get_ext_fullpath(ext.name),
            libraries=self.get_libraries(ext), library_dirs=ext.library_dirs,
            extra_postargs=ext.extra_link_args, export_symbols=self.get_export_symbols(ext),
            debug=self.debug, build_temp=self.build_temp, target_lang="c")
        if command:
            # Unlike an extension, a program is linked without LDFLAGS by setuptools.  Not all
            # compilers make a position-independent executable by default.
            flags = ["-pie", *ext.extra_link_args, *shlex.split(os.environ.get("LDFLAGS", ""))]
            path = self.command_path()
            self.compiler.link_executable(
                self.objects([*library, *command]), path.name, output_dir=str(path.parent),
                libraries=ext.libraries, extra_postargs=flags, debug=self.debug)

    def check_headers(self, ext: Extension) -> None:
        """Exit with one sentence if the compiler or a header is missing."""
        command = [*self.compiler.compiler_so, *ext.extra_compile_args, "-M", "-x", "c", "-"]
        command += [f"-I{path}" for path in [*ext.include_dirs, *self.include_dirs]]
        for header, advice in HEADERS.items():
            try:
                done = subprocess.run(command, input=f"#include <{header}>\n",
                                      capture_output=True, text=True)
            except OSError:
                sys.exit(f"missing the C compiler '{command[0]}': install it (Debian: gcc "
                         "libc6-dev), or set CC to another one")
            if done.returncode != 0:
                sys.exit(f"{done.stderr}missing {header}: {advice}")

    def objects(self, sources: list[Path]) -> list[str]:
        """Return the names of the object files."""
        names: list[str] = self.compiler.object_filenames(
            [str(path) for path in sources], output_dir=self.directory)
        return names

    def objects_directory(self, ext: Extension) -> str:
        """Return a directory for objects of this compiler, these flags and this Python."""
        settings = [self.compiler.compiler_so, ext.define_macros, ext.include_dirs,
                    ext.extra_compile_args, sysconfig.get_path("include")]
        return str(Path(self.build_temp, hashlib.sha256(repr(settings).encode()).hexdigest()[:8]))

    def compile_all(self, ext: Extension, sources: list[Path]) -> None:
        """Compile the files that are newer than their objects, or all if a header is newer."""
        directories = [HERE / "src", HERE / "build_support", *(LIBRARY / part for part in PARTS)]
        common = [path for directory in directories for path in directory.rglob("*")
                  if path.suffix in (".h", ".def", ".py")]
        newest = max(path.stat().st_mtime for path in common)

        def is_old(source: Path, target: str) -> bool:
            try:
                compiled = os.stat(target).st_mtime
            except FileNotFoundError:
                return True
            return compiled <= max(newest, source.stat().st_mtime)

        old = [str(source) for source, target in zip(sources, self.objects(sources))
               if self.force or is_old(source, target)]
        compile_one = partial(
            self.compiler.compile, output_dir=self.directory,
            macros=ext.define_macros, include_dirs=ext.include_dirs, debug=self.debug,
            extra_postargs=ext.extra_compile_args)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for _ in pool.map(compile_one, ([source] for source in old)):
                pass

    def command_path(self) -> Path:
        """Return the command, which __main__.py runs."""
        return Path(self.build_lib, "tamis", "_command")

    def get_outputs(self) -> list[str]:
        """Return all files that build_ext makes."""
        return [*super().get_outputs(), *([] if SYSTEM else [str(self.command_path())])]

    def copy_extensions_to_source(self) -> None:
        """Copy the extension and the command into the package, for an editable installation."""
        super().copy_extensions_to_source()
        command = HERE / "tamis" / "_command"
        command.unlink(missing_ok=True)
        if not SYSTEM:
            self.copy_file(str(self.command_path()), str(command))


class sdist(setuptools_sdist):
    """Adds the library and xxhash.h; the same files are the same archive."""

    def make_release_tree(self, base_dir: str, files: Any) -> None:
        """Copy the files of the sdist into a directory."""
        super().make_release_tree(base_dir, files)
        if LIBRARY == BUNDLED:
            return  # the sdist of an sdist: MANIFEST.in names both
        for part in PARTS:
            shutil.copytree(LIBRARY / part, Path(base_dir, BUNDLED.name, part))
        tamis_xxhash.bundle(Path(base_dir))

    def make_archive(self, base_name: str, format: str, root_dir: Any = None, base_dir: Any = None,
                     owner: Any = None, group: Any = None) -> str:
        """Make an archive that depends on the files and SOURCE_DATE_EPOCH, not on user or umask."""
        if format != "gztar":
            made: str = super().make_archive(base_name, format, root_dir, base_dir, owner, group)
            return made
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        seconds = int(epoch) if epoch else None

        def normalized(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            member.mtime = int(member.mtime) if seconds is None else seconds
            return member

        path = base_name + ".tar.gz"
        self.mkpath(os.path.dirname(path))
        with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, seconds) as stream, \
                tarfile.open(fileobj=stream, mode="w") as archive:
            archive.add(base_dir, filter=normalized)
        return path

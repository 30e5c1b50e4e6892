"""Builds the package tamis: the extension tamis._tamis and the command that `tamis` runs.

Environment variables:
  TAMIS_SYSTEM=1  links the installed libtamis (by pkg-config, otherwise -ltamis) instead of
                  compiling the library; the command is then the installed one
  CC, CFLAGS, CPPFLAGS, LDFLAGS  as usual
"""

import sys
from importlib.util import find_spec
from pathlib import Path

from setuptools import __version__, setup

# Earlier versions cannot read pyproject.toml, or make no editable installation.
if int(__version__.split(".")[0]) < 64:
    sys.exit(f"setuptools {__version__} is too old: install setuptools 64 or later")
# Without build isolation, nobody has installed wheel, which setuptools contains since 70.1.
if {"bdist_wheel", "dist_info"}.intersection(sys.argv) and not (
        find_spec("wheel") or find_spec("setuptools.command.bdist_wheel")):
    sys.exit("missing the Python package wheel: install it (Debian: python3-wheel, for a virtual "
             "environment with --system-site-packages)")
sys.path.insert(0, str(Path(__file__).resolve().parent / "build_support"))
import tamis_build

setup(
    version=tamis_build.version(),
    license="Apache-2.0",
    entry_points={"console_scripts": tamis_build.scripts()},
    ext_modules=[tamis_build.extension()],
    cmdclass={"build_ext": tamis_build.build_ext, "sdist": tamis_build.sdist},
    options=tamis_build.options(),
)

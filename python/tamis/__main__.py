"""Runs the command: `python -m tamis`, and the script `tamis`.

The package contains the command as an executable; if it was built with TAMIS_SYSTEM=1, it runs the
installed one.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn


def find() -> str | None:
    """Return the path of the command, or None."""
    contained = Path(__file__).with_name("_command")
    if contained.is_file():
        return str(contained)
    installed = shutil.which("tamis")
    # The script `tamis` of this package would run itself.
    if installed is None or os.path.realpath(installed) == os.path.realpath(sys.argv[0]):
        return None
    return installed


def main() -> NoReturn:
    """Replace this process by the command, with the same arguments."""
    command = find()
    if command is None:
        print("tamis: the command is not installed: install tamis, or this package without "
              "TAMIS_SYSTEM", file=sys.stderr)
        sys.exit(2)
    # Python ignores these signals, and the command would inherit that.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execv(command, ["tamis", *sys.argv[1:]])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares tamis with other Python libraries: speed, size, false positives, import time.

    python3 python/bench/run.py              writes results.md, speed.svg and README's table
    python3 python/bench/run.py --json FILE  writes the numbers too

It installs the libraries and this checkout's tamis into a virtual environment (build/python-bench).
Exit code 77: the package index cannot be reached.  Run it while the machine does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

REQUIREMENTS = [
    "setuptools",
    "wheel",
    "numpy",
    "pyarrow",
    "rbloom",
    "fastbloom-rs",
    "pybloom-live",
    "pyfusefilter",
    "xxhash<4",  # pyfusefilter passes str, which version 4 refuses
]
UNREACHABLE = ("Failed to establish", "Temporary failure", "Connection", "timed out", "ProxyError")


def say(words: str) -> None:
    print(f"bench: {words}", file=sys.stderr, flush=True)


def install(directory: Path, *words: str) -> None:
    """Runs pip of the virtual environment; what setuptools builds is not left in python/."""
    python, configuration = directory / "bin" / "python", directory / "setuptools.cfg"
    configuration.write_text(f"[build]\nbuild_base = {directory / 'build'}\n")
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "DIST_EXTRA_CONFIG": str(configuration)},
    )
    if done.returncode == 0:
        return
    if any(word in done.stderr for word in UNREACHABLE):
        say("skipped: the package index cannot be reached")
        sys.exit(77)
    sys.exit(f"bench: {' '.join(command)} failed:\n{done.stderr[-3000:]}")


def environment(directory: Path) -> Path:
    """A virtual environment with everything in it; returns its Python."""
    python = directory / "bin" / "python"
    if not python.exists():
        say(f"creating {directory}")
        venv.create(directory, with_pip=True)
    say("installing " + ", ".join(REQUIREMENTS) + " and tamis")
    install(directory, *REQUIREMENTS)
    install(
        directory, "--no-build-isolation", "--no-deps", "--force-reinstall", str(ROOT / "python")
    )
    return python


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--output", type=Path, default=HERE, help="directory of the results")
    parser.add_argument("--venv", type=Path, default=ROOT / "build" / "python-bench")
    parser.add_argument("--here", action="store_true", help="use the packages of this Python")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if not options.here:
        python = environment(options.venv.resolve())
        words = [str(python), str(Path(__file__).resolve()), *sys.argv[1:], "--here"]
        return subprocess.run(words).returncode
    import measure
    import report

    results = measure.run(options.keys, options.rounds, say)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    report.write(results, options.output)
    say(f"wrote {options.output / 'results.md'} and speed.svg")
    lost = [name for name, facts in results["filters"].items() if facts["lost"]]
    if lost:
        say("members are denied by: " + ", ".join(lost))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

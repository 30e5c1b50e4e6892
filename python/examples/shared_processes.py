"""Eight processes query one filter, which is in memory once.

The filter is a file that every process maps.  The pages are those of the system's cache: the second
process that opens the file finds them there, and none of them has a copy.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from pathlib import Path

import tamis

KEYS, PROCESSES = 4_000_000, 8

blocked: tamis.Filter
at_first: int  # bytes of this process before it opened the filter


def open_filter(path: str) -> None:
    """Runs once in each process.  Pass the path, not the filter: pickling a filter copies it."""
    global blocked, at_first
    at_first = private_bytes()
    blocked = tamis.open(path)


def private_bytes() -> int:
    """Memory of this process alone, without the pages of mapped files."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) * 1024
    return 0


def query(start: int) -> tuple[int, int]:
    """Queries half members and half others; returns the number found, and the bytes that
    this process has taken since it opened the filter."""
    keys = list(range(start, start + 20_000)) + list(range(-20_000 - start, -start))
    found = sum(blocked.contains_many(keys))
    return found, private_bytes() - at_first


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "blocked.tamis")
        tamis.build(range(KEYS), fpr=1e-6, kind="fuse").save(path)
        size = os.path.getsize(path)
        context = multiprocessing.get_context("spawn")
        with context.Pool(PROCESSES, open_filter, (path,)) as pool:
            results = pool.map(query, range(0, 64 * 20_000, 20_000), chunksize=1)
        found = sum(result[0] for result in results)
        taken = max(result[1] for result in results)
        print(f"filter: {size / 1e6:.1f} MB for {KEYS} keys, mapped by {PROCESSES} processes")
        print(f"queries: {len(results) * 40_000}, members found: {found}")
        print(f"copies of the filter in a process: {'none' if taken < size else 'at least one'}")


if __name__ == "__main__":
    main()

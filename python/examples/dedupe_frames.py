"""Drops repeated rows of a file that does not fit in memory, chunk by chunk.

An exact set of the keys takes more than 100 bytes per string in Python.  The filter takes 2 to 5,
because it grows by stages.  The price: of the distinct rows, at most about one in a thousand is
taken for a repeat and dropped.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pandas as pd

import tamis

ROWS, DISTINCT, CHUNK = 300_000, 100_000, 20_000


def write_log(path: Path) -> None:
    """A CSV file in which every URL occurs three times on average."""
    random.seed(1)
    with path.open("w") as file:
        file.write("url,status\n")
        for _ in range(ROWS):
            file.write(f"https://example.org/{random.randrange(DISTINCT)},200\n")


def dedupe(source: Path, target: Path) -> int:
    """Copies the first row of each URL; returns the number of rows copied."""
    # Without a capacity the filter grows, and keeps its false positive rate.
    seen = tamis.Filter(fpr=0.001)
    kept = 0
    for i, chunk in enumerate(pd.read_csv(source, chunksize=CHUNK)):
        # add_many reads the column without making Python objects of its strings, where it is an
        # Arrow column (pandas 3, Polars).  Its result is True for keys that were not in the filter
        # before, which includes the rows above in the same chunk: a mask for the frame.
        fresh = seen.add_many(chunk["url"], result="numpy")
        first = chunk[fresh]
        first.to_csv(target, mode="a", header=i == 0, index=False)
        kept += len(first)
    # With Polars the loop is the same: frame.filter(pl.Series(seen.add_many(frame["url"])))
    print(f"filter: {seen.nbytes / kept:.2f} bytes per distinct URL")
    return kept


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory, "log.csv"), Path(directory, "once.csv")
        write_log(source)
        kept = dedupe(source, target)
        exact = pd.read_csv(source)["url"].nunique()
        print(f"{ROWS} rows, {exact} distinct, {kept} kept")
        print(f"distinct rows dropped: {(exact - kept) / exact:.3%}")
        assert not pd.read_csv(target)["url"].duplicated().any()


if __name__ == "__main__":
    main()

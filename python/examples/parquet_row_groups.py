"""Reads only those row groups of a Parquet file that may contain a key.

Writers store Bloom filters per column and row group.  Not every reader uses them; here they
select the row groups, before any page is read.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tamis

ROWS, GROUP = 200_000, 10_000


def write_users(path: Path) -> list[str]:
    """Names in random order, so that the minimum and maximum of a row group exclude nothing."""
    random.seed(2)
    names = [f"user-{i:08}" for i in range(ROWS)]
    random.shuffle(names)
    pq.write_table(
        pa.table({"name": names, "score": range(ROWS)}),
        path,
        row_group_size=GROUP,
        bloom_filter_options={"name": {"ndv": GROUP, "fpp": 0.01}},
    )
    return names


def groups_with(filters: tamis.Container, column: str, key: str) -> list[int]:
    """The row groups that may contain the key.  Parts are named ROWGROUP/COLUMN; for a row group
    without a filter the answer is True."""
    groups = sorted({part.row_group for part in filters if part.row_group is not None})
    return [group for group in groups if filters.contains(key, f"{group}/{column}")]


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "users.parquet")
        names = write_users(path)
        # A file with several filters opens as a container; the file is mapped, and only its index
        # is read.
        with tamis.open(path) as filters, pq.ParquetFile(path) as file:
            total = file.num_row_groups
            read, found = 0, 0
            for name in [*random.sample(names, 50), *(f"nobody-{i}" for i in range(50))]:
                groups = groups_with(filters, "name", name)
                table = file.read_row_groups(groups, columns=["name"])
                found += name in table["name"].to_pylist()
                read += len(groups)
        print(f"100 lookups in {total} row groups: {found} names found")
        print(f"row groups read: {read} instead of {100 * total}")


if __name__ == "__main__":
    main()

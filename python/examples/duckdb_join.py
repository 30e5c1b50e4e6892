"""Prunes the large side of a join in DuckDB with a filter of the small side's keys.

It pays where rows cost something before they reach the join: a table in another system, an
aggregation or a sort in between, a join that spills to disk.  (For a plain join of two local tables
DuckDB already pushes bounds of the keys into the scan.)
"""

from __future__ import annotations

import duckdb
import pyarrow as pa

import tamis

ORDERS, CUSTOMERS = 1_000_000, 5_000


def main() -> None:
    db = duckdb.connect()
    db.execute(
        "CREATE TABLE orders AS SELECT hash(i) % 500000 AS customer, i % 100 AS amount "
        f"FROM range({ORDERS}) t(i)"
    )
    # A part of the customers, spread over the whole range, so that bounds would not help.
    db.execute(
        f"CREATE TABLE vip AS SELECT (i * 97) % 500000 AS customer FROM range({CUSTOMERS}) t(i)"
    )

    # DuckDB exports the keys as Arrow: they are hashed without becoming Python objects.  A static
    # filter (here binary fuse) is the smallest for keys that are known in advance.
    vip = tamis.build(db.sql("SELECT customer::BIGINT FROM vip"), fpr=0.001, kind="fuse")

    def maybe_vip(customer: pa.ChunkedArray) -> pa.Array:
        # Called with some thousand rows at a time.  The GIL is released in contains_many.
        return pa.array(vip.contains_many(customer))

    db.create_function("maybe_vip", maybe_vip, ["BIGINT"], "BOOLEAN", type="arrow")

    join = """SELECT count(*), sum(o.amount) FROM ({orders}) o JOIN vip USING (customer)"""
    every = "SELECT * FROM orders"
    pruned = "SELECT * FROM orders WHERE maybe_vip(customer::BIGINT)"
    [exact] = db.execute(join.format(orders=every)).fetchall()
    [result] = db.execute(join.format(orders=pruned)).fetchall()
    # False positives pass the filter and are dropped by the join: the result is exact.
    assert result == exact, (result, exact)

    [left] = db.execute(f"SELECT count(*) FROM ({pruned})").fetchall()
    print(f"filter: {vip.nbytes} bytes for {CUSTOMERS} keys")
    print(f"rows that reach the join: {left[0]} of {ORDERS}, of which {exact[0]} match")


if __name__ == "__main__":
    main()

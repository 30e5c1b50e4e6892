"""million.py EXTENSION: a million keys aggregated and queried from Python, and damaged BLOBs"""
import json
import random
import sqlite3
import sys

db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])

KEYS = 1_000_000
db.execute("CREATE TABLE user(name TEXT)")
db.executemany("INSERT INTO user VALUES (?)", ((f"user{i}",) for i in range(KEYS)))

# Build in one pass; the filter is a bytes object.
(seen,) = db.execute("SELECT tamis_build(name, 0.01, 'ribbon') FROM user").fetchone()
assert isinstance(seen, bytes) and len(seen) * 8 < 7.2 * KEYS, len(seen)
facts = json.loads(db.execute("SELECT tamis_info(?)", (seen,)).fetchone()[0])
assert facts["keys"] == KEYS and facts["kind"] == "ribbon", facts

# Query a million rows in one statement, with the filter as a parameter.
(found,) = db.execute("SELECT count(*) FROM user WHERE tamis_contains(?, name)", (seen,)).fetchone()
assert found == KEYS, found
(wrong,) = db.execute("SELECT count(*) FROM user WHERE tamis_contains(?, '-' || name)", (seen,)).fetchone()
assert wrong < 0.01 * KEYS + 500, wrong

# Python's types as keys.
for key in ("text", b"bytes", 42, -1, 0.5, "", "\N{GREEK SMALL LETTER ALPHA}"):
    (filter_,) = db.execute("SELECT tamis_build(?, 1e-6)", (key,)).fetchone()
    assert db.execute("SELECT tamis_contains(?, ?)", (filter_, key)).fetchone() == (1,), key
    assert db.execute("SELECT tamis_contains(?, ?)", (filter_, "other")).fetchone() == (0,), key
assert db.execute("SELECT tamis_contains(?, NULL)", (seen,)).fetchone() == (None,)

# Ten thousand damaged copies of a filter: each is an error.
(small,) = db.execute("SELECT tamis_build(name) FROM (SELECT name FROM user LIMIT 500)").fetchone()
chance = random.Random(7)
for _ in range(10_000):
    bad = bytearray(small)
    for _ in range(chance.randint(1, 3)):
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
    if chance.random() < 0.1:
        del bad[chance.randrange(len(bad)) :]
    if bytes(bad) == small:
        continue
    try:
        answer = db.execute("SELECT tamis_contains(?, 'user1')", (bytes(bad),)).fetchone()
    except sqlite3.OperationalError:
        continue
    raise AssertionError(f"a damaged filter answered {answer}")

print(f"{KEYS} keys, {len(seen)} bytes, {wrong} false positives of {KEYS}; 10000 damaged BLOBs rejected")

#!/usr/bin/env python3
"""races.py TAMIS STRANGER [--full] [--count=N]: files that another user changes while the command reads them

The stranger owns a filter, its journal, a dump of RedisBloom or a table, and changes numbers in it (counts,
lengths, piece numbers, stages), truncates it and replaces it, while root and another user query it,
describe it and add to it.  The stranger may break its own file: the command reports that.  It must
not die by a signal, hang, or print anything but one sentence.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(sys.path[0], "..", "..", "redis"))
sys.dont_write_bytecode = True

import dump  # noqa: E402
import users  # noqa: E402

MANY, SOME = 60000, 200  # keys
VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "vectors")


class Target:
    """A file under attack: its content, the ranges that are changed, and what is beside it."""

    def __init__(self, name, attacked, ranges, files):
        self.name, self.attacked, self.ranges, self.files = name, attacked, ranges, files


def build(session, place, name, *options, count=MANY):
    path = os.path.join(place, name)
    done = session.run(0, "build", "-q", "-f", *options, "-o", path, input=users.keys(0, count))
    assert done is not None and done.returncode in (0, 3), done
    return users.read(path)


def journal_target(session, place):
    """A table of 8 MiB of which every piece is in the journal: checking it takes a while."""
    options = ["-k", "block", "-n", "7000000"]
    before = build(session, place, "before", *options, count=10)
    after = build(session, place, "after", *options, count=20000)
    path = os.path.join(place, "journal")
    words = [session.stranger, "journal", os.path.join(place, "before"),
             os.path.join(place, "after"), path]
    assert os.spawnv(os.P_WAIT, session.stranger, words) == 0
    journal = users.read(path)
    count = struct.unpack_from("<Q", journal, 32)[0]
    assert count > 20, "the journal has %d pieces only" % count
    # Length of the file, count, header of the file, numbers of the pieces.
    ranges = ["32-40"] * 40 + ["16-24", "32-40", "40-232"]
    ranges += ["%d-%d" % (232 + 16 * i, 240 + 16 * i) for i in range(count)]
    return Target("journal", "f.journal", ranges, {"f": before, "f.journal": journal})


def bomb_target(session, place):
    """A string that is plain or, by another length in front, compressed: then 88 times as large."""
    payload = build(session, place, "bomb", "--to", "redisbloom-dump:nonscaling", "-n", "100000",
                    count=10)
    name, version, fields = dump.parse(payload)
    table = next(i for i, field in enumerate(fields) if isinstance(field, bytes))
    size = len(fields[table]) - 6 # the compressed string has another length in front of it
    literals = next(i for i in (1, 2, 3) if (size - 2 * i) % 3 == 0)
    copies = (size - 2 * literals) // 3
    fields[table] = bytes(6) + b"\x00A" * literals + b"\xe0\xff\x00" * copies
    at = len(dump.body(name, version, fields[:table], end=False)) + 1
    lengths = b"\xc3\x80%b\x80%b" % (struct.pack(">I", size),
                                     struct.pack(">I", literals + 264 * copies))
    return Target("redisbloom-dump", "f", ["%d:%s" % (at, lengths.hex())],
                  {"f": dump.payload(name, version, fields)})


def dump_targets(session, place):
    """Three hundred sub-filters: every field of each is a length or decides one."""
    options = ["-n", "20", "-p", "0.1"]
    payload = build(session, place, "dump", "--to", "redisbloom-dump:expansion=1", *options,
                    count=6000)
    name, version, fields = dump.parse(payload)
    ranges, at = [], len(dump.body(name, version, [], end=False))
    for field in fields:
        size = len(dump.body(name, version, [field], end=False)) - 10
        ranges.append("%d-%d" % (at, at + min(size, 6)))
        at += size
    assert len(ranges) > 1500, "only %d fields" % len(ranges)
    yield Target("redisbloom-dump", "f", ranges[:4000], {"f": payload})
    yield bomb_target(session, place)
    chunks = build(session, place, "chunks", "--to", "redisbloom:expansion=1", *options,
                   count=6000)
    yield Target("redisbloom", "f", ["0-20", "20-%d" % min(len(chunks), 53 * 300)], {"f": chunks})


def native_targets(session, place):
    growing = build(session, place, "growing", "-k", "growing", "-n", "100", "-p", "0.001")
    stages = struct.unpack_from("<Q", growing, 112)[0]
    yield Target("growing", "f", ["8-192", "192-%d" % (192 + 128 * stages)], {"f": growing})
    for kind in ("bloom", "cuckoo", "fuse", "ribbon"):
        data = build(session, place, kind, "-k", kind)
        yield Target(kind, "f", ["8-192", "192-256", "192-%d" % len(data)], {"f": data})


def container_targets():
    """Files with several filters: the index at the end has offsets and lengths of all."""
    for name in ("parquet/duckdb-multi.parquet", "leveldb/tb-bin.ldb",
                 "rocksdb/sst-bloom10-small.sst"):
        data = users.read(os.path.join(VECTORS, name))
        ranges = ["%d-%d" % (max(0, len(data) - n), len(data)) for n in (60, 1000, 5000)]
        yield Target(os.path.basename(name), "f", ranges, {"f": data})


def commands(target, more):
    """What the victim runs, in turn."""
    from_format = ["--from", target.name] if target.name.startswith("redisbloom") else []
    return [["query", "-c", *from_format, "f", more],
            ["info", *from_format, "f"],
            ["add", "-q", *from_format, "f", more],
            ["query", "-v", "-c", *from_format, "f", more]]


def race(session, target, runs, what):
    place = session.place("theirs", 0o755, users.STRANGER)
    pristine = os.path.join(place, "pristine")
    session.put(pristine, target.files[target.attacked], users.STRANGER)
    more = os.path.join(session.directory, "more")
    session.put(more, users.keys(0, SOME), 0)
    attacked = os.path.join(place, target.attacked)
    for name, data in target.files.items():
        session.put(os.path.join(place, name), data, users.STRANGER, 0o666)
    flipper = session.start_stranger("flip", pristine, attacked, *target.ranges)
    outcomes = {}
    for i in range(runs):
        words = commands(target, more)[i % 4]
        words = [os.path.join(place, w) if w == "f" else w for w in words]
        victim = users.VICTIM_ROOT if i % 3 != 2 else users.VICTIM
        for name, data in target.files.items():
            if words[0] == "add" or i % 4 == 3 or not os.path.exists(os.path.join(place, name)):
                session.put(os.path.join(place, name), data, users.STRANGER, 0o666)
        done = session.run(victim, *words)
        session.check_ended(done, "%s: %s as user %d" % (target.name, words[0], victim))
        code = None if done is None else done.returncode
        outcomes[code] = outcomes.get(code, 0) + 1
        session.count(what)
    session.check(flipper.poll() is None, "%s: the stranger's program has ended", target.name)
    session.end_stranger(flipper)
    print("races: %s: %d runs, by exit code: %s" % (target.name, runs, ", ".join(
        "%s: %d" % item for item in sorted(outcomes.items(), key=str))), flush=True)


def test(session):
    runs = session.pick(40, 1000)
    place = session.place("made", 0o700)
    race(session, journal_target(session, place), runs, "journal runs")
    for what, targets in (("dump runs", list(dump_targets(session, place))),
                          ("native runs", list(native_targets(session, place))),
                          ("container runs", list(container_targets()))):
        for target in targets:
            race(session, target, -(-runs // len(targets)), what)


if __name__ == "__main__":
    sys.exit(users.main("races", test))

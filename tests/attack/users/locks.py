#!/usr/bin/env python3
"""locks.py TAMIS STRANGER [--full]: another user holds a lock on the file

A user who may only read a file can hold a read lock on it, and the owner of a file a write lock, for
ever.  A command that needs the file waits for the time of --wait and no longer.  It then ends with
exit code 2 and a sentence that names the process (to root: other users may not see it), and has
changed nothing.
A command that does not need the lock does its work.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import users  # noqa: E402

OLD, NEW = users.keys(0, 100, "old"), users.keys(0, 100, "new")
WAIT = 1  # second
# The normal run: each command that waits waits once.
SHORT = {(users.VICTIM_ROOT, "posix", "read", "add"), (users.VICTIM, "ofd", "read", "uniq"),
         (users.VICTIM_ROOT, "ofd", "read", "query"), (users.VICTIM_ROOT, "posix", "write", "query"),
         (users.VICTIM, "ofd", "write", "remove"), (users.VICTIM_ROOT, "flock", "read", "add"),
         (users.VICTIM_ROOT, "posix", "read", "build -f")}


def commands(path):
    """Name, words, input, whether it waits for a read lock and for a write lock of another user."""
    wait = ["--wait", str(WAIT)]
    return [
        ("query", ["query", "-c", *wait, path], OLD, False, True),
        ("info", ["info", *wait, path], b"", False, True),
        ("add", ["add", "-q", *wait, path], NEW, True, True),
        ("remove", ["remove", "-q", *wait, path], OLD, True, True),
        ("uniq", ["uniq", "-q", "-c", "--save", path, *wait], NEW, True, True),
        ("build -f", ["build", "-q", "-f", "-k", "counting", "-o", path], NEW, False, False),
    ]


def attack(session, data, victim, way, kind, command, large):
    name, words, given, waits_read, waits_write = command
    what = "%s%s with a %s lock (%s), as user %d" % (name, " in place" if large else "", kind, way,
                                                    victim)
    alone = kind == "write"
    place = session.place("theirs" if alone else "shared", 0o777 if alone else 0o1777,
                          users.STRANGER if alone else 0)
    path = os.path.join(place, "f")
    session.put(path, data, users.STRANGER if alone else victim, 0o666 if alone else 0o644)
    before = users.state(path)
    holder = session.start_stranger("lock", path, way, kind)
    start = time.monotonic()
    done = session.run(victim, *words, input=given)
    seconds = time.monotonic() - start
    session.count("locked files")
    if session.check_ended(done, what):
        # flock is another kind of lock: the command does not use it on its files.
        waits = way != "flock" and (waits_write if alone else waits_read)
        text = done.stderr.decode(errors="replace")
        if waits:
            session.check(done.returncode == 2, "%s: exit code %d", what, done.returncode)
            session.check(users.state(path) == before, "%s: the file changed", what)
            session.check(seconds >= WAIT, "%s: did not wait (%.1f s): %s", what, seconds, text)
            session.check("lock" in text, "%s: no reason: %s", what, text)
            named = "process %d " % holder.pid in text
            session.check(named or victim != 0 and "another user" in text,
                          "%s: does not name process %d: %s", what, holder.pid, text)
            session.count("waits that ended")
        else:
            session.check(done.returncode == 0, "%s: exit code %d: %s", what, done.returncode,
                          text)
    session.end_stranger(holder)
    left = sorted(set(os.listdir(place)) - {"f"})
    session.check(not left, "%s: %s is left", what, left)


def build(session, options):
    made = os.path.join(session.place("made", 0o700), "f")
    done = session.run(0, "build", "-q", "-k", "counting", *options, "-o", made, input=OLD)
    assert done is not None and done.returncode == 0, done
    return users.read(made)


def test(session):
    small = build(session, ["-n", "1000"])
    place = {"read": "shared", "write": "theirs"}
    for victim in (users.VICTIM_ROOT, users.VICTIM):
        for way in ("posix", "ofd", "flock"):
            for kind in ("read", "write"):
                path = os.path.join(session.directory, place[kind], "f")
                for command in commands(path):
                    if session.full or (victim, way, kind, command[0]) in SHORT:
                        attack(session, small, victim, way, kind, command, False)
    if session.full:
        large = build(session, ["-n", "4000000"])
        assert len(large) > 16 << 20
        for kind in ("read", "write"):
            path = os.path.join(session.directory, place[kind], "f")
            for command in commands(path):
                attack(session, large, users.VICTIM_ROOT, "ofd", kind, command, True)


if __name__ == "__main__":
    sys.exit(users.main("locks", test))

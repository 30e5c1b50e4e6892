#!/usr/bin/env python3
"""planted.py TAMIS STRANGER [--full] [--count=N]: what another user puts where the command writes

In a directory where everybody may create files, the stranger plants a link to the victim's file, a
pipe, a directory, or a file of its own at the names that the command could use: FILE.part,
FILE.journal, names in $TMPDIR.  The command must neither follow nor write to nor publish any of
them, and it must do its work.  The output belongs to the victim.  In a directory of its own the
stranger replaces every temporary file by a link while the command works.

--full repeats it with the protections of the kernel turned off (fs.protected_regular, ...), and
restores them.
"""
import contextlib
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import users  # noqa: E402

PROTECTIONS = ["/proc/sys/fs/protected_" + name
               for name in ("regular", "symlinks", "hardlinks", "fifos")]
OLD, NEW = users.keys(0, 100, "old"), users.keys(0, 100, "new")


@contextlib.contextmanager
def without_protections():
    """Yields whether they are off."""
    before = {path: users.read(path) for path in PROTECTIONS if os.path.exists(path)}

    def write(values):
        for path, value in values.items():
            with open(path, "wb") as file:
                file.write(value)
    try:
        try:
            write({path: b"0\n" for path in before})
            off = True
        except OSError:
            off = False
        yield off
    finally:
        with contextlib.suppress(OSError):
            write(before)


# ---- what is planted

def as_stranger(function, *arguments):
    """Calls the function as the stranger; False if the system does not permit it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            users.Session.become(users.STRANGER)()
            os.umask(0)
            function(*arguments)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def plant_file(path, _precious):
    with open(path, "xb") as file:
        file.write(b"planted")
    os.chmod(path, 0o666)


def plant_empty(path, _precious):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o666))


PLANTS = {
    "link": lambda path, precious: os.symlink(precious, path),
    "dangling link": lambda path, precious: os.symlink(precious + ".new", path),
    "hard link": lambda path, precious: os.link(precious, path),
    "pipe": lambda path, _precious: os.mkfifo(path, 0o666),
    "directory": lambda path, _precious: os.mkdir(path),
    "file": plant_file,
    "empty file": plant_empty,
    "locked file": plant_file,
}


# ---- what the victim does

def commands(place):
    """Name, words, the kind of the file that must exist before (None: none)."""
    path = os.path.join(place, "f")
    return [
        ("build", ["build", "-q", "-o", path], None),
        ("build -f", ["build", "-q", "-f", "-o", path], "bloom"),
        ("add", ["add", "-q", path], "bloom"),
        ("remove", ["remove", "-q", path], "counting"),
        ("uniq", ["uniq", "-q", "-c", "--save", path], "bloom"),
        ("uniq, new", ["uniq", "-q", "-c", "--save", path], None),
        ("spill", ["build", "-q", "-k", "fuse", "--memory", "64Ki", "-o", path], None),
        ("plan", ["plan", "-n", "1000", "--svg", path], None),
        ("add in place", ["add", "-q", path], "large"),
    ]


class Table:
    """Files that the commands begin with, made once."""

    def __init__(self, session):
        place = session.place("made", 0o700)
        self.data = {}
        for name, options in (("bloom", ["-k", "bloom", "-n", "1000"]),
                              ("counting", ["-k", "counting", "-n", "1000"]),
                              ("large", ["-k", "block", "-n", "15000000"])):
            path = os.path.join(place, name)
            done = session.run(0, "build", "-q", *options, "-o", path, input=OLD + NEW)
            assert done is not None and done.returncode == 0, done
            self.data[name] = users.read(path)
        assert len(self.data["large"]) > 16 << 20


def attack(session, table, place, command, victim, plant, suffix):
    """One command with one thing planted at one name."""
    name, words, begin = command
    what = "%s with a %s at f%s, as user %d" % (name, plant, suffix, victim)
    path = os.path.join(place, "f")
    planted = path + suffix
    precious = os.path.join(session.place("mine", 0o755, victim), "precious")
    session.put(precious, b"precious", victim)
    if begin is not None:
        session.put(path, table.data[begin], victim, 0o640)
    if not as_stranger(PLANTS[plant], planted, precious):
        return # the kernel prevents it
    locker = None
    if plant == "locked file":
        locker = session.start_stranger("lock", planted, "flock", "write")
    before = users.state(precious), users.state(planted)
    done = session.run(victim, *words, input=NEW * (500 if name == "spill" else 1),
                       env={"TMPDIR": place}, umask=0o022, limit=15)
    if locker is not None:
        session.end_stranger(locker)
    session.count("planted names")
    check(session, what, done, before, (precious, planted), path, victim, begin)


def check(session, what, done, before, names, path, victim, begin):
    if not session.check(done is not None, "%s: did not end", what):
        return
    session.check(done.returncode == 0, "%s: exit code %d: %s", what, done.returncode,
                  done.stderr.decode(errors="replace")[:200])
    for name, state in zip(names, before):
        now = users.state(name)
        gone_journal = now is None and name.endswith(".journal")
        session.check(now == state or gone_journal, "%s: %s changed", what, name)
    session.check(not os.path.exists(names[0] + ".new"), "%s: a link was followed", what)
    try:
        st = os.lstat(path)
    except FileNotFoundError:
        session.check(done.returncode != 0, "%s: no output", what)
        return
    session.check(stat.S_ISREG(st.st_mode) and st.st_nlink == 1, "%s: the output is a link", what)
    session.check(st.st_uid == victim, "%s: the output belongs to user %d", what, st.st_uid)
    mode = stat.S_IMODE(st.st_mode)
    session.check(mode == (0o644 if begin is None else 0o640), "%s: mode %o", what, mode)
    place = os.path.dirname(path)
    left = sorted(set(os.listdir(place)) - {"f", os.path.basename(names[1])})
    session.check(not left, "%s: %s is left", what, left)


def planted_names(session, table, share):
    """Every command with everything at every name: the normal run does one combination in `share`."""
    place = os.path.join(session.directory, "shared")
    combinations = [(victim, plant, suffix, command)
                    for victim in (users.VICTIM_ROOT, users.VICTIM) for plant in PLANTS
                    for suffix in (".part", ".journal") for command in commands(place)
                    if command[2] != "large" or suffix == ".journal"]
    for victim, plant, suffix, command in combinations[::share]:
        attack(session, table, session.place("shared", 0o1777), command, victim, plant, suffix)


# ---- forged journals

def forged_journal(session, victim):
    """A journal of the stranger that would empty the victim's filter."""
    place = session.place("shared", 0o1777)
    path, forged = os.path.join(place, "f"), os.path.join(place, "f.journal")
    made = session.place("made", 0o755)
    options = ["build", "-q", "-k", "block", "-n", "100000", "-o"]
    for name, keys in (("before", OLD), ("after", b"")):
        done = session.run(0, *options, os.path.join(made, name), input=keys)
        assert done is not None and done.returncode == 0, done
    subprocess.run([session.stranger, "journal", os.path.join(made, "before"),
                    os.path.join(made, "after"), os.path.join(made, "journal")], check=True)
    journal = users.read(os.path.join(made, "journal"))
    for owner, obeyed in ((users.STRANGER, False), (victim, True)):
        session.put(path, users.read(os.path.join(made, "before")), victim)
        session.put(forged, journal, owner)
        for words in (["query", "-c", path], ["add", "-q", path], ["query", "-c", path]):
            done = session.run(victim, *words, input=OLD if words[0] == "query" else b"")
            if not session.check_ended(done, "forged journal: %s" % words[0]):
                continue
            if words[0] == "query":
                expected = b"0" if obeyed else b"100"
                session.check(done.stdout.strip() == expected,
                              "journal of user %d for a file of user %d: %s keys", owner, victim,
                              done.stdout.strip().decode())
        session.count("forged journals")


# ---- temporary files that are replaced

def swapped(session, victim, runs):
    """In its own directory the stranger may replace the output, but nothing else."""
    place = session.place("theirs", 0o777, users.STRANGER)
    precious = os.path.join(session.place("mine", 0o755, victim), "precious")
    session.put(precious, b"precious", victim)
    before = users.state(precious)
    swapper = session.start_stranger("swap", place, precious, "f")
    links = 0
    for i in range(runs):
        path = os.path.join(place, "f")
        words = [["build", "-q", "-f", "-o", path], ["uniq", "-q", "-c", "--save", path],
                 ["build", "-q", "-f", "--memory", "64Ki", "-o", path],
                 ["plan", "-n", "1000", "--svg", path]]
        words = words[i % (4 if session.full else 3)] # plan takes a while
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path) # a link by now, which the command would follow, as documented
        done = session.run(victim, *words, input=NEW, env={"TMPDIR": place})
        session.check_ended(done, "swapped: %s as user %d" % (words[0], victim))
        session.check(users.state(precious) == before, "swapped: %s as user %d: a link was "
                      "followed", words[0], victim)
        links += os.path.islink(path)
        session.count("swapped runs")
    session.end_stranger(swapper)
    print("planted: swapped: %d of %d temporary files were replaced" % (links, runs))
    session.count("replaced temporary files", links)


def test(session):
    table = Table(session)
    if session.full:
        with without_protections() as off:
            print("planted: the protections of the kernel are %s" % (
                "off" if off else "as they are: they cannot be changed"))
            planted_names(session, table, 1)
    planted_names(session, table, 1 if session.full else 11)
    for victim in (users.VICTIM_ROOT, users.VICTIM):
        forged_journal(session, victim)
        swapped(session, victim, session.pick(12, 500))


if __name__ == "__main__":
    sys.exit(users.main("planted", test))

"""users.py - two users, their directories, and runs of the command as one of them

    VICTIM_ROOT, VICTIM   run the command: root, and a user without privileges
    STRANGER              owns files that the command reads, or the directory around them

The users have numbers that no account of the machine should have.  Only root can become both, so
the tests are skipped for other users.
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time

VICTIM_ROOT, VICTIM, STRANGER = 0, 60001, 60002
LIMIT = 30  # seconds: a command that takes longer hangs
# A sanitizer reports with an exit code that the command does not have.
SANITIZERS = {name + "_OPTIONS": os.environ.get(name + "_OPTIONS", "") + ":exitcode=99"
              for name in ("ASAN", "UBSAN", "TSAN", "LSAN")}


class Session:
    """One run of a test: its directory, its processes, its counts and its failures."""

    def __init__(self, name, words):
        self.name = name
        self.full = "--full" in words
        self.runs = [int(w[8:]) for w in words if w.startswith("--count=")] or [None]
        words = [w for w in words if not w.startswith("--")]
        if len(words) != 2:
            raise SystemExit("usage: %s TAMIS STRANGER [--full] [--count=N]" % name)
        self.tamis, self.stranger = map(os.path.abspath, words)
        self.counts = {}
        self.failures = 0
        self.start = time.monotonic()
        self.processes = []
        if os.geteuid() != 0:
            print("skipped: only root can run programs as two other users")
            sys.exit(77)
        self.directory = tempfile.mkdtemp(prefix="tamis-users-")
        os.chmod(self.directory, 0o755)
        self.need_programs()

    def need_programs(self):
        """The users must be able to run the programs: copies, since a home may be closed."""
        for name in ("tamis", "stranger"):
            copy = os.path.join(self.directory, name)
            shutil.copy(getattr(self, name), copy)
            os.chmod(copy, 0o755)
            setattr(self, name, copy)
        if self.run(VICTIM, "--help").returncode != 0:
            print("skipped: another user cannot run a program in %s" % self.directory)
            self.close()
            sys.exit(77)

    def pick(self, normal, full):
        """The number of runs: as --count gives it, or by the size of the run."""
        return self.runs[0] or (full if self.full else normal)

    # ---- files

    def place(self, name, mode, owner=0):
        """A directory of that mode and owner."""
        path = os.path.join(self.directory, name)
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def put(self, path, data, owner, mode=0o644):
        """Replaces the file as a whole."""
        new = path + ".put"
        with open(new, "wb") as file:
            file.write(data)
        os.chown(new, owner, owner)
        os.chmod(new, mode)
        os.rename(new, path)

    # ---- processes

    @staticmethod
    def become(user):
        def change():
            if user != 0:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
        return change

    def run(self, user, *words, **options):
        """Runs the command; a result of None: it did not end."""
        environment = dict(os.environ, **SANITIZERS, **options.pop("env", {}))
        try:
            return subprocess.run([self.tamis, *map(str, words)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=options.pop("limit", LIMIT),
                                  preexec_fn=self.become(user), cwd=self.directory,
                                  input=options.pop("input", b""), check=False,
                                  env=environment, **options)
        except subprocess.TimeoutExpired:
            return None

    def start_stranger(self, *words, user=STRANGER):
        """Starts the stranger's program and waits until it works."""
        process = subprocess.Popen([self.stranger, *map(str, words)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, preexec_fn=self.become(user),
                                   cwd=self.directory)
        self.processes.append(process)
        line = process.stdout.readline()
        assert line == b"started\n", "the stranger's program printed %r" % line
        return process

    def end_stranger(self, process):
        process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()
        self.processes.remove(process)

    # ---- checks

    def count(self, what, number=1):
        self.counts[what] = self.counts.get(what, 0) + number

    def check(self, holds, text, *values):
        if not holds:
            self.failures += 1
            if self.failures <= 20:
                print("FAILED " + text % values, flush=True)
        return holds

    def check_ended(self, done, what):
        """No signal, an exit code of the manual, and one sentence for an error."""
        if not self.check(done is not None, "%s: did not end in %d s", what, LIMIT):
            return False
        text = done.stderr.decode(errors="replace")
        if not self.check(0 <= done.returncode <= 4, "%s: exit code %d: %s", what, done.returncode,
                          text[:300]):
            return False
        if done.returncode in (2, 4):
            return self.check(text.startswith("tamis") and text.count("\n") == 1,
                              "%s: not one sentence: %r", what, text[:300])
        return True

    def close(self):
        for process in list(self.processes):
            self.end_stranger(process)
        shutil.rmtree(self.directory, ignore_errors=True)

    def end(self):
        self.close()
        counts = "".join("%d %s, " % (n, what) for what, n in self.counts.items())
        print("attack %s: %s%d failures, %.1f s" % (self.name, counts, self.failures,
                                                    time.monotonic() - self.start))
        return 1 if self.failures or not self.counts else 0


def keys(first, last, prefix="key"):
    """Records from one number to another."""
    return "".join("%s-%d\n" % (prefix, i) for i in range(first, last)).encode()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def state(path):
    """What must not change: type, owner, permissions, identity, content."""
    try:
        st = os.lstat(path)
    except FileNotFoundError:
        return None
    content = None
    if stat.S_ISREG(st.st_mode):
        content = read(path)
    elif stat.S_ISLNK(st.st_mode):
        content = os.readlink(path)
    return (stat.S_IFMT(st.st_mode), st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode), st.st_dev,
            st.st_ino, content)


def main(name, test):
    """Runs `test` and removes what it leaves in any case."""
    session = Session(name, sys.argv[1:])
    try:
        test(session)
        return session.end()
    finally:
        session.close()

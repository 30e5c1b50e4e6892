"""servers.py - real redis-servers with the module loaded, in directories that go away

    with Server() as server:
        server.client().do("BF.ADD", "k", "x")

A server listens on a free port of the loopback, saves only on request, and dies with the test
whatever happens to that.  Leaving the `with` fails the test if the server crashed, or if a
sanitizer complained.  Cluster is three primaries and three replicas, as redis-cli makes them.
"""
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from resp import Broken, Client, Error


class Skip(Exception):
    """The test cannot run here, for this reason."""


MODULE = os.environ.get("TAMIS_MODULE", "")
COMMAND = os.environ.get("TAMIS", "")
VECTORS = os.environ.get("TAMIS_VECTORS") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "vectors")
PRELOAD = os.environ.get("TAMIS_REDIS_PRELOAD", "")  # the sanitizer's library
READY = "Ready to accept connections"  # in the log of a server
PATIENCE = 120  # seconds: a process may wait long for a processor on a busy machine
_libc = ctypes.CDLL(None)


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skip("%s is not installed" % program)


def _die_with_parent():
    _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


_reserved = []  # sockets that reserve ports, until the process ends


def _reserve(port):
    """Reserves a port among all tests on this machine, also while its server is down."""
    token = socket.socket(socket.AF_UNIX)
    try:
        token.bind("\0tamis-redis-port-%d" % port)  # abstract: no file remains
    except OSError:
        token.close()
        return False
    _reserved.append(token)
    return True


def free_port():
    """A port for this process alone, and its cluster bus port (+ 10000).  Both are below the range
    from which the system takes ports for outgoing connections.  The generator is not that of the
    tests, whose seed may be the same in several processes."""
    while True:
        port = random.SystemRandom().randrange(12000, 22000)
        if _is_free(port) and _is_free(port + 10000) and _reserve(port):
            return port


class Server:
    def __init__(self, module_arguments=(), options=(), module=None, directory=None):
        need("redis-server")
        self.module = MODULE if module is None else module
        self.module_arguments = list(module_arguments)
        self.options = list(options)
        self.own_directory = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="tamis-redis.")
        self.process = None
        self.clients = []
        self.control = None  # a connection for the state of the server itself
        self.port = 0
        self.starts = 0  # of servers in this directory that were ready

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def __exit__(self, kind, value, trace):
        try:
            self.stop(check=kind is None)
        finally:
            if self.own_directory:
                shutil.rmtree(self.directory, ignore_errors=True)
        return False

    # ---- its life

    def start(self, wait=True):
        """Starts it (again) on a new port, with whatever is in its directory."""
        for _ in range(20):
            self.port = free_port()
            self._spawn()
            if not wait or self._ready():
                return self
            if "Address already in use" not in self.log():
                break
        raise AssertionError("redis-server did not start:\n" + self.log()[-2000:])

    def _spawn(self):
        words = ["redis-server", "--port", str(self.port), "--dir", self.directory,
                 "--bind", "127.0.0.1", "--save", "", "--logfile", "log",
                 "--enable-debug-command", "yes", "--enable-module-command", "yes",
                 "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]
        words += self.options
        if self.module:
            words += ["--loadmodule", self.module] + self.module_arguments
        environment = dict(os.environ)
        if PRELOAD:
            environment["LD_PRELOAD"] = PRELOAD
            environment.setdefault("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=1:"
                                   "allocator_may_return_null=1")
        self.starts = self.log().count(READY)
        with open(os.path.join(self.directory, "out"), "ab") as out:
            self.process = subprocess.Popen(words, stdout=out, stderr=out, env=environment,
                                            preexec_fn=_die_with_parent)

    def _ready(self):
        """Waits until the process accepts commands.  The log shows that the port is its own, and
        not that of another server."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return False
            time.sleep(0.02)
            if self.log().count(READY) == self.starts:
                continue
            try:
                client = Client(self.port)
                reply = client.call("PING")
                client.close()
                if not isinstance(reply, Error) or reply.startswith("NOAUTH"):
                    return True
            except (OSError, Broken):
                pass
        return False

    def kill(self):
        """As a power cut would."""
        self.process.kill()
        self.process.wait()
        self._forget_clients()

    def _forget_clients(self):
        for client in self.clients:
            client.close()
        self.clients = []
        self.control = None

    def stop(self, check=True, save=False):
        if self.process is None:
            return
        if check:
            self.check()
        if self.process.poll() is None:
            if save:
                assert self.client().call("SAVE") == "OK"
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._forget_clients()
        self.process = None

    def revive(self):
        """After a kill: back on the same port, with what is in its directory."""
        self._spawn()
        if not self._ready():
            raise AssertionError("redis-server did not start again:\n" + self.log()[-2000:])

    def restart(self, save=False):
        self.stop(save=save)
        return self.start()

    # ---- state

    def log(self):
        text = ""
        for name in ("out", "log"):
            try:
                with open(os.path.join(self.directory, name), errors="replace") as file:
                    text += file.read()
            except OSError:
                pass
        return text

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def check(self):
        """The server runs, answers, and no sanitizer has complained."""
        log = self.log()
        for word in ("ERROR: AddressSanitizer", "runtime error:", "REDIS BUG REPORT"):
            if word in log:
                raise AssertionError("the server says %s:\n%s" % (word, _around(log, word)))
        if not self.alive():
            raise AssertionError("the server has died:\n" + log[-3000:])
        fresh = Client(self.port)
        reply = fresh.call("PING")
        if reply != "PONG" and not reply.startswith("NOAUTH"):
            raise AssertionError("the server does not answer")
        fresh.close()

    def client(self, protocol=2, timeout=PATIENCE):
        client = Client(self.port, protocol, timeout)
        self.clients.append(client)
        return client

    def state(self, *command):
        """The reply to a command about the server, on a connection that is kept for that."""
        try:
            if self.control is None:
                self.control = self.client()
            return self.control.call(*command)
        except Broken:  # CLIENT KILL
            self.control = self.client()
            return self.control.call(*command)

    def info(self, field):
        for line in self.state("INFO", "everything").decode(errors="replace").splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1]
        return None

    def used_memory(self):
        return int(self.info("used_memory"))

    def settle(self):
        """Waits until the module has done what it does behind: copies, unions, frees."""
        until(lambda: self.info("bf_background_jobs") == "0", what="the end of the work behind")

    def cpu_seconds(self):
        """User and system time of the process: clock_getcpuclockid(3)."""
        return time.clock_gettime(~self.process.pid << 3 | 2)


def _around(text, word):
    at = text.index(word)
    return text[max(0, at - 500):at + 3000]


def happens(condition, seconds):
    """Waits for the condition to become true; returns whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def until(condition, what="it"):
    """Waits for the condition to become true."""
    if not happens(condition, PATIENCE):
        raise AssertionError("%s did not happen within %d seconds" % (what, PATIENCE))


def follow(replica, primary):
    """Makes one server the replica of another and waits until it has everything."""
    replica.client().do("REPLICAOF", "127.0.0.1", str(primary.port))
    until(lambda: replica.info("master_link_status") == "up", what="the link")
    if primary.info("role") == "master":
        caught_up(primary)


def caught_up(primary, replicas=1):
    """Waits until all writes of the primary are on its replicas.  (WAIT is about the writes of its
    own connection, so there is one.)"""
    client = primary.client()
    client.do("SET", "caught-up", "1")
    client.do("DEL", "caught-up")
    if client.do("WAIT", str(replicas), str(PATIENCE * 900)) < replicas:
        raise AssertionError("the replica does not keep up")
    client.close()


# A node that does not reply to the others for this long counts as failed, and its replica takes
# over.  MIGRATE of 200 MB blocks two nodes for seconds, on a busy machine for many.
NODE_TIMEOUT_MS = 1000 * PATIENCE
SHORT_TIMEOUT_MS = 5000  # after a primary was killed


class Cluster:
    """Three primaries and three replicas."""

    def __init__(self, module=None, options=()):
        need("redis-server", "redis-cli")
        self.servers = [Server(module=module, options=[
            "--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MS),
            "--cluster-replica-validity-factor", "0",
            # A replica that lags behind by a large key is not disconnected.
            "--client-output-buffer-limit", "replica", "0", "0", "0", *options])
            for _ in range(6)]

    def __enter__(self):
        try:
            for server in self.servers:
                server.start()
            self._join()
        except BaseException:
            self.__exit__(RuntimeError, None, None)
            raise
        return self

    def __exit__(self, kind, value, trace):
        failure = None
        for server in self.servers:
            try:
                server.stop(check=kind is None and server.alive())
            except AssertionError as error:
                failure = error
            shutil.rmtree(server.directory, ignore_errors=True)
        if failure is not None:
            raise failure
        return False

    def addresses(self):
        return ["127.0.0.1:%d" % server.port for server in self.servers]

    def _join(self):
        self.cli("--cluster", "create", *self.addresses(), "--cluster-replicas", "1",
                 "--cluster-yes")
        until(lambda: all(self._settled(s) for s in self.servers), what="the cluster")

    @staticmethod
    def _settled(server):
        nodes, state = server.state("CLUSTER", "NODES"), server.state("CLUSTER", "INFO")
        if isinstance(nodes, Error) or isinstance(state, Error):
            return False  # it loads
        lines, state = nodes.decode().splitlines(), state.decode()
        slaves = sum(" slave " in line or "myself,slave " in line for line in lines)
        link = server.info("master_link_status")
        return "cluster_state:ok" in state and slaves == 3 and link in (None, "up")

    def cli(self, *words, check=True):
        done = subprocess.run(["redis-cli", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if check and done.returncode != 0:
            raise AssertionError("redis-cli %s:\n%s" % (" ".join(words[:3]), done.stdout[-2000:]))
        return done.stdout

    def primaries(self):
        return [s for s in self.servers if s.alive() and s.info("role") == "master"]

    def owner(self, slot, seen_by=None):
        """The server that has the slot, by the map of a node; None if that has no map now."""
        slots = (seen_by or self.primaries()[0]).state("CLUSTER", "SLOTS")
        for start, end, primary, *_ in [] if isinstance(slots, Error) else slots:
            if start <= slot <= end:
                return next(s for s in self.servers if s.port == primary[1])
        return None

    def fail(self, victim):
        """Kills a primary and waits until its replica has taken over."""
        victim.kill()
        self._set_timeout(SHORT_TIMEOUT_MS)
        alive = [s for s in self.servers if s.alive()]
        until(lambda: all(self._is_without(victim, s) for s in alive), what="the failover")
        self._set_timeout(NODE_TIMEOUT_MS)

    @staticmethod
    def _is_without(victim, server):
        """Are all slots those of others than the victim, by the map of this server?"""
        slots = server.state("CLUSTER", "SLOTS")
        if isinstance(slots, Error):
            return False
        return all(primary[1] != victim.port for _, _, primary, *_ in slots)

    def _set_timeout(self, milliseconds):
        for server in self.servers:
            if server.alive():
                assert server.state("CONFIG", "SET", "cluster-node-timeout", milliseconds) == "OK"

    def hand_over(self, replica):
        """Makes a replica take over from its primary.  On a busy machine the server may give up
        after some seconds: then once more."""
        def is_primary():
            return replica.info("role") == "master"

        for _ in range(8):
            if is_primary():
                return
            replica.state("CLUSTER", "FAILOVER")
            if happens(is_primary, PATIENCE / 8):
                return
        raise AssertionError("the replica does not take over")

    def move_slot(self, slot, target):
        """As redis-cli moves one, with the steps apart so that a test can stand between them."""
        source = self.owner(slot)
        if source is target:
            return
        name = {s: s.client().do("CLUSTER", "MYID").decode() for s in (source, target)}
        target.client().do("CLUSTER", "SETSLOT", str(slot), "IMPORTING", name[source])
        source.client().do("CLUSTER", "SETSLOT", str(slot), "MIGRATING", name[target])
        yield "open"
        client = source.client()
        while True:
            keys = client.do("CLUSTER", "GETKEYSINSLOT", str(slot), "10")
            if not keys:
                break
            for key in keys:
                client.do("MIGRATE", "127.0.0.1", str(target.port), key, "0", "60000")
                yield "moved"
        for server in [target, source] + [p for p in self.primaries()
                                          if p not in (source, target)]:
            server.client().do("CLUSTER", "SETSLOT", str(slot), "NODE", name[target])
        # On a busy machine late messages have nodes point to each other for a while, and a client
        # that follows them gives up.
        alive = [s for s in self.servers if s.alive()]
        until(lambda: all(self.owner(slot, s) is target for s in alive),
              what="all to agree on slot %d" % slot)


def tamis(*words, data=None, check=(0,), timeout=300, environment=None):
    """Runs the command; returns its output."""
    if not COMMAND:
        raise Skip("TAMIS is not set: which command?")
    # A run that ends in an error leaves its memory to the system: that is not a leak.
    leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if 2 in check else {}
    done = subprocess.run([COMMAND, *words], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout,
                          env=dict(os.environ, **leaks, **(environment or {})))
    if done.returncode not in check:
        raise AssertionError("tamis %s: exit code %d\n%s" % (
            " ".join(words), done.returncode, done.stderr.decode(errors="replace")[-2000:]))
    return done


def has_redis_command():
    """Was the command built with hiredis?"""
    done = tamis("redis", "info", "x", "-s", "127.0.0.1:1", "--patience", "1", check=(2,))
    return b"without hiredis" not in done.stderr


if sys.version_info < (3, 7):
    raise SystemExit(77)

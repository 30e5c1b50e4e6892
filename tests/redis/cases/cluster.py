"""A cluster of three primaries and three replicas: moved slots, a killed primary, no key lost.

The command `tamis redis` and redis-py's cluster client load and ask while it happens.
"""
import logging
import os
import subprocess
import tempfile
import threading
import time

from servers import COMMAND, PATIENCE, Cluster, Skip, has_redis_command, tamis, until
from sizes import some


def _need_command():
    if not COMMAND or not has_redis_command():
        raise Skip("the command was built without hiredis")


def _keys(count, prefix):
    """A file of keys, one on a line."""
    file = tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False)
    with file:
        file.writelines("%s-%d\n" % (prefix, i) for i in range(count))
    return file.name


def _redis(cluster, verb, *words, **options):
    return tamis("redis", verb, "-s", ",".join(cluster.addresses()), *words, **options)


def _none_lost(cluster, name, path):
    done = _redis(cluster, "query", "-v", "-c", name, path, check=(0, 1))
    assert done.stdout == b"0\n", "%s keys are lost" % done.stdout.decode().strip()


def _rate(cluster, name, count, limit):
    others = _keys(count, "certainly-not")
    try:
        wrong = int(_redis(cluster, "query", "-c", name, others, check=(0, 1)).stdout)
        assert wrong <= limit * count, "%d of %d" % (wrong, count)
    finally:
        os.unlink(others)


def _moving(cluster, stop, moved):
    """Moves the slots of the shards in turn until it is stopped."""
    targets = cluster.primaries()
    turn = 0
    while not stop.is_set():
        for shard in range(16):
            slot = _slot(str(shard))
            target = targets[(turn + shard) % 3]
            for _ in cluster.move_slot(slot, target):
                time.sleep(0.01)  # between the steps, so that ASK occurs, too
            moved[0] += 1
            if stop.is_set():
                return
        turn += 1


def _slot(tag):
    crc = 0
    for byte in tag.encode():
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc % 16384


def _while_moving(cluster, work, enough=8):
    """Repeats the work until this number of slots has moved meanwhile."""
    stop, moved, failure = threading.Event(), [0], []

    def run():
        try:
            _moving(cluster, stop, moved)
        except Exception as error:  # noqa: BLE001: reported by the waiting thread
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    end = time.monotonic() + 2 * PATIENCE
    try:
        while moved[0] < enough and not failure:
            assert time.monotonic() < end, "only %d slots have moved" % moved[0]
            work()
    finally:
        stop.set()
        thread.join()
    assert not failure, failure


def test_live_reshard():
    """Slots move while keys are loaded, and again while they are queried."""
    _need_command()
    count = some(200000, 3000000)
    path = _keys(count, "user")
    try:
        with Cluster() as cluster:
            for name, kind in (("seen", "bloom"), ("members", "cuckoo")):
                _redis(cluster, "reserve", name, "-n", str(count), "-k", kind)
            _while_moving(cluster, lambda: [
                _redis(cluster, "load", "-q", name, path) for name in ("seen", "members")])
            for name in ("seen", "members"):
                _none_lost(cluster, name, path)

            _while_moving(cluster, lambda: [
                _none_lost(cluster, name, path) for name in ("seen", "members")])
            _rate(cluster, "seen", 100000, 0.0115)
    finally:
        os.unlink(path)


def test_killed_primary():
    """With --replicas 1 a key that was loaded survives the death of its primary."""
    _need_command()
    count = some(1500000, 6000000)
    path = _keys(count, "user")
    try:
        with Cluster() as cluster:
            victim = cluster.owner(_slot("3"))
            load = _load_in_progress(cluster, victim, count, path)
            # Its replica takes over, and is alone: nothing counts as written until the dead one
            # is back, as a replica now.
            cluster.fail(victim)
            victim.revive()
            error = load.communicate(timeout=2 * PATIENCE)[1]
            assert load.returncode == 0, error.decode()
            _none_lost(cluster, "seen", path)
            assert victim not in cluster.primaries()
    finally:
        os.unlink(path)


def _load_in_progress(cluster, server, count, path):
    """A process that loads keys and has sent some of them to this server."""
    for _ in range(20):
        _redis(cluster, "reserve", "--replicas", "1", "seen", "-n", str(count))
        server.state("CONFIG", "RESETSTAT")
        load = subprocess.Popen([COMMAND, "redis", "load", "--replicas", "1", "-s",
                                 ",".join(cluster.addresses()), "seen", path],
                                stderr=subprocess.PIPE)
        until(lambda: _started(server) or load.poll() is not None, what="the load")
        if load.poll() is None:
            return load
        # On a busy machine it may end before this process runs again.
        assert load.returncode == 0, load.stderr.read().decode()
        _redis(cluster, "drop", "seen")
    raise AssertionError("the load always ends before anything can happen")


def _started(server):
    commands = server.state("INFO", "commandstats").decode()
    line = next((l for l in commands.splitlines() if l.startswith("cmdstat_bf.insert:")), "")
    return line and int(line.split("calls=")[1].split(",")[0]) > 60


def test_failover_of_those_who_wait():
    """A load whose commands wait behind a COPY goes on at the replica that takes over."""
    _need_command()
    path = _keys(60000, "user")
    try:
        with Cluster() as cluster:
            _redis(cluster, "reserve", "large", "-n", "60000000", "--shards", "1")
            primary = cluster.owner(_slot("0"))
            c = primary.client()
            c.do("BF.MADD", "large:{0}", *["item-%d" % i for i in range(2000)])
            primary.settle()
            replica = next(s for s in cluster.servers
                           if s.info("role") == "slave" and s.info("master_port") == str(primary.port))
            c.do("COPY", "large:{0}", "copy:{0}")
            load = subprocess.Popen([COMMAND, "redis", "load", "-q", "-s",
                                     ",".join(cluster.addresses()), "large", path],
                                    stderr=subprocess.PIPE)
            until(lambda: primary.info("bf_commands_waited") != "0" or load.poll() is not None,
                  what="the wait")
            cluster.hand_over(replica)
            error = load.communicate(timeout=2 * PATIENCE)[1]
            assert load.returncode == 0, error.decode()
            _none_lost(cluster, "large", path)
    finally:
        os.unlink(path)


def test_redis_cli_reshard():
    """As an administrator would: redis-cli moves a thousand slots with filters in them."""
    with Cluster() as cluster:
        c = [s.client() for s in cluster.primaries()]
        keys = {}
        for i in range(60):
            key = "filter-%d" % i
            owner = next(k for k in c if not str(k.call("BF.ADD", key, "x")).startswith("MOVED"))
            assert owner.do("BF.MADD", key, *["%d-%d" % (i, n) for n in range(500)])
            keys[key] = ["%d-%d" % (i, n) for n in range(500)]
        source = cluster.primaries()[0]
        name = source.client().do("CLUSTER", "MYID").decode()
        target = cluster.primaries()[1].client().do("CLUSTER", "MYID").decode()
        cluster.cli("--cluster", "reshard", cluster.addresses()[0], "--cluster-from", name,
                    "--cluster-to", target, "--cluster-slots", str(some(300, 3000)),
                    "--cluster-yes", "--cluster-pipeline", "100")
        for key, items in keys.items():
            for client in (s.client() for s in cluster.primaries()):
                replies = client.call("BF.MEXISTS", key, *items)
                if not str(replies).startswith("MOVED"):
                    assert replies == [1] * 500, key
                    break
            else:
                raise AssertionError("nobody has " + key)


def test_redis_py_cluster():
    """An independent client finds every shard."""
    try:
        from redis.cluster import RedisCluster
    except ImportError:
        raise Skip("python3-redis is not installed") from None
    logging.disable(logging.CRITICAL)  # it logs every redirection
    with Cluster() as cluster:
        client = RedisCluster(host="127.0.0.1", port=cluster.servers[0].port)
        for i in range(40):
            client.execute_command("BF.MADD", "k%d" % i, *range(100))
        for shard in range(16):
            for _ in cluster.move_slot(_slot("k%d" % shard), cluster.primaries()[shard % 3]):
                assert client.execute_command("BF.EXISTS", "k%d" % shard, 7) == 1
        for i in range(40):
            assert client.execute_command("BF.MEXISTS", "k%d" % i, *range(100)) == [1] * 100
        client.close()


def test_shard_that_is_gone():
    """A lost shard is an error, never an empty one."""
    _need_command()
    path = _keys(5000, "user")
    try:
        with Cluster() as cluster:
            _redis(cluster, "reserve", "seen", "-n", "5000")
            _redis(cluster, "load", "-q", "seen", path)
            owner = cluster.owner(_slot("5"))
            owner.client().do("DEL", "seen:{5}")
            for verb in ("query", "load"):
                done = _redis(cluster, verb, "seen", path, check=(2,))
                assert b"seen:{5}" in done.stderr and b"is missing" in done.stderr, done.stderr
                assert done.stdout == b""
            # BF.MEXISTS of a key that is something else denies all; that is no answer either.
            for other in (["SET", "seen:{5}", "x"], ["CF.RESERVE", "seen:{5}", "100"]):
                owner.client().do("DEL", "seen:{5}")
                owner.client().do(*other)
                done = _redis(cluster, "query", "seen", path, check=(2,))
                assert b"not the filter that was reserved" in done.stderr, done.stderr
                assert done.stdout == b""
            _redis(cluster, "drop", "seen")
            _redis(cluster, "drop", "seen", check=(1,))
            assert all(s.client().do("DBSIZE") == 0 for s in cluster.primaries())
    finally:
        os.unlink(path)


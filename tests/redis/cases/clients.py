"""Independent clients: redis-py's bf() and cf(), node-redis' bf and cf, redis-cli."""
import os
import shutil
import subprocess
import tempfile

from chance import upper_bound
from servers import PATIENCE, Server, Skip, need

HERE = os.path.dirname(os.path.abspath(__file__))


def _redis_py(server):
    try:
        import redis
    except ImportError:
        raise Skip("python3-redis is not installed") from None
    return redis.Redis(host="127.0.0.1", port=server.port, decode_responses=True), redis


def test_redis_py_bloom():
    with Server() as server:
        client, redis = _redis_py(server)
        bf = client.bf()
        assert bf.create("k", 0.01, 1000)
        assert bf.add("k", "a") == 1 and bf.add("k", "a") == 0
        assert bf.madd("k", "a", "b", "c") == [0, 1, 1]
        assert bf.exists("k", "b") == 1 and bf.exists("k", "z") == 0
        assert bf.mexists("k", "a", "z", "c") == [1, 0, 1]
        assert bf.insert("made", ["x", "y"], capacity=500, error=0.001, expansion=4) == [1, 1]
        info = bf.info("made")
        assert info.capacity == 500 and info.insertedNum == 2 and info.filterNum == 1
        assert info.expansionRate == 4 and info.size > 0
        try:
            bf.insert("none", ["x"], noCreate=True)
            raise AssertionError("it was made")
        except redis.exceptions.ResponseError as error:
            assert str(error) == "not found", error
        assert bf.create("fixed", 0.01, 2, noScale=True)
        assert bf.info("fixed").expansionRate is None
        assert bf.create("grows", 0.01, 10, expansion=3)
        assert bf.card("k") == 3 if hasattr(bf, "card") else True
        # The loop of its documentation.
        binary = redis.Redis(host="127.0.0.1", port=server.port)
        chunks, at = [], 0
        while True:
            at, data = binary.execute_command("BF.SCANDUMP", "k", at)
            if at == 0:
                break
            chunks.append((at, data))
        for at, data in chunks:
            assert binary.bf().loadchunk("copy", at, data)
        assert bf.mexists("copy", "a", "b", "c", "z") == [1, 1, 1, 0]
        client.close()


def test_redis_py_cuckoo():
    with Server() as server:
        client, redis = _redis_py(server)
        cf = client.cf()
        assert cf.create("k", 1000, bucket_size=4, max_iterations=10, expansion=2)
        assert cf.add("k", "a") == 1 and cf.add("k", "a") == 1
        assert cf.addnx("k", "a") == 0 and cf.addnx("k", "b") == 1
        assert cf.insert("k", ["c", "d"]) == [1, 1]
        assert cf.insertnx("k", ["c", "e"]) == [0, 1]
        assert cf.exists("k", "a") == 1 and cf.exists("k", "z") == 0
        assert cf.count("k", "a") == 2 and cf.count("k", "z") == 0
        assert cf.delete("k", "a") == 1 and cf.count("k", "a") == 1
        assert cf.delete("k", "z") == 0
        assert cf.insert("made", ["x"], capacity=4000) == [1]
        info = cf.info("k")
        assert info.insertedNum == 5 and info.deletedNum == 1 and info.filterNum == 1
        assert info.bucketSize == 4 and info.expansionRate == 2 and info.maxIteration == 10
        try:
            cf.delete("none", "x")
            raise AssertionError("it was there")
        except redis.exceptions.ResponseError as error:
            assert str(error) == "Not found", error
        client.close()


def test_redis_py_pipeline():
    with Server() as server:
        client, _ = _redis_py(server)
        pipe = client.pipeline(transaction=True)
        for i in range(1000):
            pipe.execute_command("BF.ADD", "k", i)
        assert sum(pipe.execute()) >= 1000 - upper_bound(1000, 0.01)
        assert client.bf().mexists("k", *range(1000)) == [1] * 1000
        client.close()


def test_redis_cli():
    need("redis-cli")
    with Server() as server:
        def cli(*words, data=None):
            done = subprocess.run(["redis-cli", "-p", str(server.port), *words], text=True,
                                  input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return done.stdout

        assert cli("BF.RESERVE", "k", "0.01", "100") == "OK\n"
        assert cli("BF.MADD", "k", "a", "b", "a") == "1\n1\n0\n"
        assert cli("-3", "BF.EXISTS", "k", "a").strip() in ("true", "(true)", "1")
        assert cli("--no-raw", "BF.EXISTS", "k", "a") == "(integer) 1\n"
        assert cli("-3", "--no-raw", "BF.EXISTS", "k", "z") == "(false)\n"
        assert cli("-3", "--no-raw", "BF.INFO", "k", "ITEMS") == \
            "1# Number of items inserted => (integer) 2\n"
        assert cli("CF.ADD", "c", "x") == "1\n"
        assert cli("BF.ADD", "k") == \
            "ERR wrong number of arguments for 'bf.add' command\n\n"
        # --pipe: the protocol in bulk
        script = "".join("*3\r\n$6\r\nBF.ADD\r\n$1\r\nm\r\n$6\r\n%06d\r\n" % i for i in range(5000))
        assert "errors: 0, replies: 5000" in cli("--pipe", data=script)
        assert cli("BF.EXISTS", "m", "004321") == "1\n"


def _node_modules():
    """node-redis, installed once into a directory beside the build."""
    need("node", "npm")
    place = os.environ.get("TAMIS_NODE", os.path.join(tempfile.gettempdir(), "tamis-node-redis"))
    if not os.path.isdir(os.path.join(place, "node_modules", "redis")):
        os.makedirs(place, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", place,
                               "redis@5"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode != 0:
            shutil.rmtree(os.path.join(place, "node_modules"), ignore_errors=True)
            raise Skip("npm could not install node-redis: " + done.stdout.strip()[-200:])
    return os.path.join(place, "node_modules")


def test_node_redis():
    modules = _node_modules()
    with Server() as server:
        for protocol in ("2", "3"):
            server.client().do("FLUSHALL")
            done = subprocess.run(
                ["node", os.path.join(HERE, "..", "node_redis.js"), modules, str(server.port),
                 protocol], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=PATIENCE)
            assert done.returncode == 0, "RESP%s: %s" % (protocol, done.stdout[-2000:])

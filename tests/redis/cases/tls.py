"""tamis redis --tls: to real servers, with certificates made here.

The servers keep their port without TLS for the test's own queries.
"""
import contextlib
import os
import socket
import subprocess
import tempfile

from resp import Error
from servers import (COMMAND, PATIENCE, Cluster, Server, Skip, free_port, has_redis_command, need,
                     tamis)

KEYS = ["key-%d" % i for i in range(1000)]


def _lines(items):
    return "".join(i + "\n" for i in items).encode()


def _openssl(directory, *words):
    subprocess.run(["openssl", *words], cwd=directory, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def _authority(directory, name):
    _openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=" + name, "-keyout", name + ".key",
             "-out", name + ".crt")


def _certificate(directory, name, authority, subject):
    """NAME.crt and NAME.key, signed by the authority."""
    _openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-subj", "/CN=" + subject, "-addext", "subjectAltName=DNS:" + subject,
             "-keyout", name + ".key", "-out", name + ".csr")
    _openssl(directory, "x509", "-req", "-in", name + ".csr", "-CA", authority + ".crt",
             "-CAkey", authority + ".key", "-CAcreateserial", "-days", "2", "-copy_extensions",
             "copy", "-out", name + ".crt")


class Papers:
    """A directory of certificates, and the words that name them."""

    def __init__(self, directory):
        self.directory = directory
        for authority in ("ca", "stranger"):
            _authority(directory, authority)
        _certificate(directory, "server", "ca", "localhost")
        _certificate(directory, "client", "ca", "somebody")
        _certificate(directory, "imposter", "stranger", "somebody")

    def path(self, name):
        return os.path.join(self.directory, name)

    def server(self, port, clients="no"):
        return ["--tls-port", str(port), "--tls-cert-file", self.path("server.crt"),
                "--tls-key-file", self.path("server.key"), "--tls-ca-cert-file",
                self.path("ca.crt"), "--tls-auth-clients", clients]

    def client(self, authority="ca", name=None):
        words = ["--tls", "--cacert", self.path(authority + ".crt")]
        if name is not None:
            words += ["--cert", self.path(name + ".crt"), "--key", self.path(name + ".key")]
        return words


@contextlib.contextmanager
def _papers():
    need("openssl", "redis-server")
    if not COMMAND or not has_redis_command():
        raise Skip("the command was built without hiredis")
    said = tamis("redis", "info", "x", "--tls", "-s", "127.0.0.1:1", check=(2,)).stderr
    if b"built without TLS" in said:
        raise Skip("the command was built without TLS")
    with tempfile.TemporaryDirectory(prefix="tamis-tls.") as directory:
        yield Papers(directory)


@contextlib.contextmanager
def _server(papers, **options):
    port = free_port()
    server = Server(options=papers.server(port, **options))
    server.tls_port = port
    with server:
        yield server


def _ask(server, verb, *words, host="127.0.0.1", **options):
    return tamis("redis", verb, *words, "-s", "%s:%d" % (host, server.tls_port), **options)


def test_single():
    """Every verb, and more bytes than fit into the buffers of either side."""
    with _papers() as papers, _server(papers) as server:
        trust = papers.client()
        _ask(server, "reserve", "seen", "-n", "300000", *trust)
        many = ["k%d" % i for i in range(200000)]
        _ask(server, "load", "-q", "seen", *trust, data=_lines(many))
        missing = _ask(server, "query", "-v", "-c", "seen", *trust, data=_lines(many), check=(1,))
        assert missing.stdout == b"0\n"
        large = papers.path("large.tamis")
        tamis("build", "-q", "-o", large, "-k", "bloom", "-n", "20M", "-p", "0.1%",
              data=_lines(KEYS))
        _ask(server, "put", "k", large, *trust)
        out = _ask(server, "query", "k", *trust, data=_lines(KEYS)).stdout
        assert out == _lines(KEYS)
        assert b"bloom" in _ask(server, "info", "k", *trust).stdout
        _ask(server, "drop", "seen", *trust)
        assert server.client().do("KEYS", "*") == [b"k"]


def test_password():
    with _papers() as papers, _server(papers) as server:
        server.client().do("CONFIG", "SET", "requirepass", "secret")
        _ask(server, "reserve", "seen", "-n", "10", *papers.client(),
             environment={"REDISCLI_AUTH": "secret"})


def test_trust():
    """A server with the wrong certificate is rejected before anything is sent to it."""
    with _papers() as papers, _server(papers) as server:
        _ask(server, "reserve", "seen", "-n", "10", *papers.client())
        untrusted = b"the server's certificate is not trusted: "
        for words, why in (
                (papers.client("stranger"), untrusted + b"self-signed certificate in certificate chain"),
                (["--tls"], untrusted),  # the system does not know our authority
                (["--tls", "--cacert", papers.path("none")], b"none: No such file"),
                (["--tls", "--cacert", papers.path("ca.key")], b"ca.key: "),
                (papers.client() + ["--cert", papers.path("client.crt"), "--key",
                                    papers.path("server.key")], b"server.key: key values mismatch"),
                (papers.client() + ["--cert", papers.path("client.crt")], b"go together"),
                (papers.client()[1:], b"need --tls")):
            done = _ask(server, "info", "seen", *words, check=(2,))
            assert why in done.stderr, (words, done.stderr)


def test_host():
    """By the system's authorities a certificate is good for the host that it names."""
    try:
        socket.getaddrinfo("localhost", None)
    except OSError:
        raise Skip("localhost does not resolve here") from None
    with _papers() as papers, _server(papers) as server:
        system = {"SSL_CERT_FILE": papers.path("ca.crt"), "SSL_CERT_DIR": papers.directory}
        _ask(server, "reserve", "seen", "-n", "10", "--tls", host="localhost", environment=system)
        done = _ask(server, "info", "seen", "--tls", environment=system, check=(2,))
        assert b"not trusted: IP address mismatch" in done.stderr, done.stderr
        # With an authority of one's own the name does not matter.
        _ask(server, "info", "seen", *papers.client())


def test_client_certificate():
    with _papers() as papers, _server(papers, clients="yes") as server:
        _ask(server, "reserve", "seen", "-n", "10", *papers.client(name="client"))
        for name in (None, "imposter"):
            done = _ask(server, "info", "seen", *papers.client(name=name), check=(2,))
            assert b"TLS: " in done.stderr and b"alert" in done.stderr, done.stderr


def test_wrong_port():
    """TLS to a port without, and the other way round: an error, at once."""
    with _papers() as papers, _server(papers) as server:
        done = tamis("redis", "info", "x", *papers.client(), "-s", "127.0.0.1:%d" % server.port,
                     check=(2,), timeout=50)  # less than its patience
        # It waits for a line, or finds one in what we say: that is up to chance.
        assert b"is it a TLS port?" in done.stderr, done.stderr
        done = _ask(server, "info", "x", check=(2,), timeout=50)
        assert b"closed the connection without a reply: is it a TLS port?" in done.stderr, done.stderr


def _break_connections(client, upload):
    """Closes the connections of an upload to `k`, up to five times; returns how often."""
    killed = 0
    while killed < 5 and upload.poll() is None:
        if not isinstance(client.call("TAMIS.INFO", "k"), Error):
            client.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            killed += 1
    return killed


def test_lost_connection():
    """An upload over connections that break."""
    with _papers() as papers, _server(papers) as server:
        client, trust = server.client(), papers.client()
        large = papers.path("large.tamis")
        tamis("build", "-q", "-o", large, "-k", "bloom", "-n", "60M", "-p", "0.1%",
              data=_lines(KEYS))
        words = [COMMAND, "redis", "put", "k", large, *trust, "-s",
                 "127.0.0.1:%d" % server.tls_port]
        for _ in range(50):  # on a busy machine an upload may end before its key is seen
            client.do("DEL", "k")
            upload = subprocess.Popen(words, stderr=subprocess.PIPE)
            killed = _break_connections(client, upload)
            assert upload.wait(PATIENCE) == 0, upload.stderr.read()
            if killed > 0:
                break
        assert killed > 0
        assert _ask(server, "query", "k", *trust, data=_lines(KEYS)).stdout == _lines(KEYS)


def test_cluster():
    """All nodes are contacted over TLS: the slot map has their TLS ports."""
    with _papers() as papers:
        cluster = Cluster()
        for server in cluster.servers:
            server.tls_port = free_port()
            server.options += papers.server(server.tls_port) + ["--tls-cluster", "yes",
                                                                "--tls-replication", "yes"]
        with cluster:
            trust = papers.client()
            server = cluster.servers[0]
            _ask(server, "reserve", "seen", "-n", "10000", *trust)
            _ask(server, "load", "-q", "seen", *trust, "--replicas", "1", data=_lines(KEYS))
            out = _ask(server, "query", "seen", *trust, data=_lines(KEYS)).stdout
            assert out == _lines(KEYS)
            assert b"3 nodes" in _ask(server, "info", "seen", *trust).stdout
            slot = server.client().do("CLUSTER", "KEYSLOT", "k")
            source = cluster.owner(slot)
            path = papers.path("k.tamis")
            tamis("build", "-q", "-o", path, "-k", "fuse", data=_lines(KEYS))
            for name in ("k", "another", "third", "fourth"):
                _ask(source, "put", name, path, *trust)
                assert _ask(server, "query", name, *trust, data=_lines(KEYS)).stdout == _lines(KEYS)
            # MOVED has the TLS port, too: every node redirects some of them.
            for node in cluster.primaries():
                assert _ask(node, "query", "k", *trust, data=_lines(KEYS)).stdout == _lines(KEYS)

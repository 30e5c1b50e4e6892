"""hostile.py - what attack tests share: a server with neighbours, and how a filter is exercised

A neighbour is a filter, or a string, beside the one that is attacked: whatever happens to that,
it must stay as it is.
"""
from resp import Broken, Client, Error
from servers import PATIENCE, Server

# Processor time that no command may exceed, whatever is in a payload or a chunk.  (By the clock a
# command may take longer on a busy machine, where the server waits for a processor.)
SLOWEST_SECONDS = 5.0
MEMORY_LIMIT = 256 << 20
RESTORED_MAX = 64 << 20  # bytes of a payload that is given back


class Bounded(Client):
    """A client whose commands, or pipelines, must not take the server long."""

    def __init__(self, server):
        super().__init__(server.port, timeout=PATIENCE)
        self.server = server

    def _bounded(self, run, *arguments):
        before = self.server.cpu_seconds()
        reply = run(*arguments)
        took = self.server.cpu_seconds() - before
        assert took < SLOWEST_SECONDS, "%.40r took %.1f s" % (arguments[0], took)
        return reply

    def call(self, *arguments):
        return self._bounded(super().call, *arguments)

    def many(self, commands):
        return self._bounded(super().many, commands)


class Attacked:
    """with Attacked() as (server, client): ... the neighbours are compared at the end."""

    def __init__(self, **options):
        self.server = Server(**options)

    def __enter__(self):
        self.server.__enter__()
        self.client = Bounded(self.server)
        self.server.clients.append(self.client)
        c = self.client
        self.items = ["n%d" % i for i in range(200)]
        c.do("BF.RESERVE", "neighbour-bf", "0.001", "1000")
        c.do("BF.MADD", "neighbour-bf", *self.items)
        c.do("CF.RESERVE", "neighbour-cf", "1000")
        c.do("CF.INSERT", "neighbour-cf", "ITEMS", *self.items)
        c.do("SET", "neighbour-string", "x" * 5000)
        self.before = self._state(c)
        return self.server, self.client

    def _state(self, client):
        return [client.do("DUMP", "neighbour-bf"), client.do("DUMP", "neighbour-cf"),
                client.do("GET", "neighbour-string"),
                client.do("BF.MEXISTS", "neighbour-bf", *self.items),
                client.do("CF.MEXISTS", "neighbour-cf", *self.items)]

    def __exit__(self, kind, value, trace):
        if kind is Broken:
            self.server.process.wait(10) if not self.server.alive() else None
            print(self.server.log()[-3000:])
        try:
            if kind is None:
                self.server.check()
                assert self._state(self.server.client()) == self.before, "a neighbour has changed"
                assert self.server.used_memory() < MEMORY_LIMIT, "memory has blown up"
        finally:
            self.server.__exit__(kind, value, trace)
        return False


def queries(key, cuckoo):
    """Commands that read and write every part of a filter."""
    if cuckoo:
        return [["CF.INFO", key], ["CF.DEBUG", key], ["CF.EXISTS", key, "a"],
                ["CF.COUNT", key, "b"], ["CF.ADD", key, "new"], ["CF.DEL", key, "new"],
                ["CF.INSERT", key, "ITEMS"] + ["i%d" % i for i in range(40)],
                ["CF.INSERTNX", key, "ITEMS", "a", "b"], ["CF.COMPACT", key],
                ["CF.SCANDUMP", key, "0"], ["CF.SCANDUMP", key, "1"], ["CF.SCANDUMP", key, "7"],
                ["DUMP", key], ["MEMORY", "USAGE", key], ["COPY", key, "copy", "REPLACE"],
                ["DEBUG", "DIGEST-VALUE", key]]
    return [["BF.INFO", key], ["BF.DEBUG", key], ["BF.CARD", key], ["BF.EXISTS", key, "a"],
            ["BF.MADD", key] + ["i%d" % i for i in range(40)], ["BF.ADD", key, "new"],
            ["BF.SCANDUMP", key, "0"], ["BF.SCANDUMP", key, "1"], ["BF.SCANDUMP", key, "7"],
            ["DUMP", key], ["MEMORY", "USAGE", key], ["COPY", key, "copy", "REPLACE"],
            ["DEBUG", "DIGEST-VALUE", key]]


def exercise(client, key, cuckoo):
    """Runs every command on a hostile filter: the server must survive, and must be able to load
    what it saves; otherwise it would not start again."""
    for command in queries(key, cuckoo):
        reply = client.call(*command)
        if command[0] == "DUMP" and reply is not None and len(reply) < RESTORED_MAX:
            client.do("RESTORE", "copy", "0", reply, "REPLACE")
    client.do("DEL", key, "copy")


def refused(client, payload, what, cuckoo):
    """RESTORE replies `Bad data format` and leaves no key."""
    reply = client.call("RESTORE", "target", "0", payload, "REPLACE")
    if reply == "OK":
        exercise(client, "target", cuckoo)
    assert isinstance(reply, Error) and "Bad data format" in reply, "%s: %s" % (what, reply)
    assert client.do("EXISTS", "target") == 0, what


def chunks(client, verb, key):
    """[iterator, bytes] of a whole SCANDUMP."""
    found, at = [], 0
    while True:
        at, data = client.do(verb + ".SCANDUMP", key, str(at))
        if at == 0:
            return found
        found.append((at, data))

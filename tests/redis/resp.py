"""resp.py - a client of the Redis protocol that hides nothing

Replies keep their wire types (a simple string is no bulk string, a boolean is no integer), so
that tests can tell RESP2 from RESP3 and compare errors letter by letter.  `show` writes a reply
on one line, as the files in replies/ have it.
"""
import socket


class Status(str):
    """A simple string."""


class Error(str):
    """An error: returned, not raised, for most tests want to see it."""


class Map(list):
    """A RESP3 map, as pairs in the order they came."""


class Broken(Exception):
    """The connection is gone, or what came is not the protocol."""


def encode(arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        if isinstance(argument, str):
            argument = argument.encode()
        elif isinstance(argument, (int, float)):
            argument = str(argument).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(argument), argument))
    return b"".join(parts)


class Client:
    def __init__(self, port, protocol=2, timeout=120.0, host="127.0.0.1"):
        self.port = port
        self.socket = socket.create_connection((host, port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.at = 0
        if protocol == 3:
            self.call("HELLO", "3")

    def close(self):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Broken(str(error)) from error

    def call(self, *arguments):
        """Sends one command and returns its reply; errors are returned as Error."""
        self.send(encode(arguments))
        return self.read()

    def do(self, *arguments):
        """The same, but an error ends the test."""
        reply = self.call(*arguments)
        if isinstance(reply, Error):
            raise AssertionError("%s: %s" % (arguments[:3], reply))
        return reply

    def many(self, commands):
        """A pipeline: the replies of all commands."""
        self.send(b"".join(encode(c) for c in commands))
        return [self.read() for _ in commands]

    # ---- parsing

    def _more(self):
        try:
            data = self.socket.recv(1 << 18)
        except OSError as error:
            raise Broken(str(error)) from error
        if not data:
            raise Broken("the server closed the connection")
        self.buffer = self.buffer[self.at:] + data
        self.at = 0

    def _line(self):
        while True:
            end = self.buffer.find(b"\r\n", self.at)
            if end >= 0:
                line = self.buffer[self.at:end]
                self.at = end + 2
                return line
            self._more()

    def _bytes(self, count):
        while len(self.buffer) - self.at < count + 2:
            self._more()
        data = self.buffer[self.at:self.at + count]
        self.at += count + 2
        return data

    def read(self):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return Status(rest.decode("latin-1"))
        if kind == b"-":
            return Error(rest.decode("latin-1"))
        if kind == b":":
            return int(rest)
        if kind in (b"$", b"="):
            return None if rest == b"-1" else self._bytes(int(rest))
        if kind in (b"*", b"~", b">"):
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return Map([(self.read(), self.read()) for _ in range(int(rest))])
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        if kind == b"_":
            return None
        raise Broken("not the protocol: %r" % line)


def _quoted(data):
    text = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else "\\x%02x" % b for b in data)
    return '"%s"' % text


def show(reply):
    """A reply on one line."""
    if reply is None:
        return "nil"
    if isinstance(reply, bool):
        return "#t" if reply else "#f"
    if isinstance(reply, Status):
        return "+" + reply
    if isinstance(reply, Error):
        return "-" + reply
    if isinstance(reply, int):
        return ":%d" % reply
    if isinstance(reply, float):
        return ",%r" % reply
    if isinstance(reply, bytes):
        return _quoted(reply)
    if isinstance(reply, Map):
        return "{" + ", ".join("%s = %s" % (show(k), show(v)) for k, v in reply) + "}"
    return "[" + ", ".join(show(r) for r in reply) + "]"

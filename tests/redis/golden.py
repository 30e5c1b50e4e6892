"""golden.py - files of commands and the replies that they must get

    # a comment
    > BF.ADD k x          a command; words as redis-cli reads them: "a\\x00b" is one
    = :1                  the reply, in both protocols;
    2 :1                  or that of RESP2
    3 #t                  and that of RESP3

In a reply * stands for anything.  The replies are those of RedisBloom 8.x, recorded by `record`,
but for those after a comment that begins with "# ours:".

Each filter has a random secret.  A filter that reports an item as absent is nearly empty or has a
rate of 1e-9, so that a false positive changes a reply in less than one of 10^9 runs.
"""
import fnmatch
import re

from resp import show

_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"|(\S+)')
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})|\\(.)")


def words_of(line):
    words = []
    for quoted, plain in _WORD.findall(line.encode()):
        if plain:
            words.append(plain)
        else:
            words.append(_ESCAPE.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], quoted))
    return words


def entries(path):
    """(line number, command line, {2: reply, 3: reply}) for each command of the file."""
    found = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("> "):
                found.append((number, line[2:], {}))
            elif line[:2] == "= ":
                found[-1][2].update({2: line[2:], 3: line[2:]})
            elif line[:2] in ("2 ", "3 "):
                found[-1][2][int(line[0])] = line[2:]
    return found


def matches(pattern, text):
    literal = pattern.replace("[", "[[]")
    return fnmatch.fnmatchcase(text, literal)


def play(client, protocol, path):
    """Runs the file; returns the differences."""
    wrong = []
    client.do("FLUSHALL")
    for number, line, replies in entries(path):
        got = show(client.call(*words_of(line)))
        want = replies.get(protocol, "?")
        if not matches(want, got):
            wrong.append("%s:%d: RESP%d: %s\n    want %s\n    got  %s" % (
                path.rsplit("/", 1)[-1], number, protocol, line, want, got))
    return wrong

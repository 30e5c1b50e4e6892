"""Changed RESTORE payloads with repaired checksums: only the module stands in the way.

Payloads of every kind are changed field by field (numbers to limits, doubles to nonsense, tables
cut and grown, our headers with their own checksum repaired) and byte by byte; what is accepted is
then used in every way.  The server must
live, answer in time and keep its memory and its neighbours.
"""
import glob
import os
import random
import struct

from dump import parse, payload, seal, unseal
from hostile import Attacked, queries
from resp import Broken
from servers import PRELOAD, VECTORS
from siphash import reseal
from sizes import some

NUMBERS = [0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 255, 256, 1023, 1024, 32767, 32768, 65535, 65536,
           65537, 2**20, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**61,
           2**62, 2**63 - 1, 2**63, 2**64 - 1]
DOUBLES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, 1e300, float("inf"), float("-inf"),
           float("nan"), 0.01, 10.0, 64.0]
HEADERS = (b"tmisBF1\1", b"tmisCF1\1")


def _seeds(c):
    """Payloads to begin with: ours in all states, and RedisBloom's."""
    items = ["i%d" % i for i in range(300)]
    c.do("BF.RESERVE", "a", "0.01", "200")
    c.do("BF.MADD", "b", *items)
    c.do("BF.RESERVE", "n", "0.01", "50", "NONSCALING")
    c.call("BF.MADD", "n", *items[:50])
    c.do("CF.RESERVE", "c", "64")
    c.do("CF.INSERT", "d", "ITEMS", *items)
    c.do("CF.RESERVE", "g", "8", "EXPANSION", "2")
    c.do("CF.INSERT", "g", "ITEMS", *items[:100])
    c.call("BF.RESERVE", "w", "0.01", "100", "WINDOW", "100", "GENERATIONS", "3")
    c.call("BF.MADD", "w", *items[:100])
    c.call("BF.MERGE", "m", "a", "b")
    found = []
    for key in "abncdgwm":
        data = c.do("DUMP", key)
        if data is not None:
            found.append(data)
            assert parse(data)[2][2] == reseal(parse(data)[2][2])
        c.do("DEL", key)
    root = os.path.join(VECTORS, "redisbloom")
    for path in sorted(glob.glob(os.path.join(root, "*.dump")))[::5]:
        with open(path, "rb") as file:
            data = file.read()
        if len(data) < 4000:
            found.append(data)
    return found


def _change_header(header):
    """One number of it, or two; all of them are in their places."""
    data = bytearray(header)
    for _ in range(random.choice([1, 1, 2])):
        at = 4 * random.randrange((len(data) - 8) // 4)
        kind = random.choice("QQIdd" if at + 16 <= len(data) else "I")
        value = struct.unpack_from("<" + kind, data, at)[0]
        value = _change_field(value) if kind != "I" else random.choice(NUMBERS)
        if kind != "d":
            value %= 1 << 8 * struct.calcsize(kind)
        struct.pack_into("<" + kind, data, at, value)
    return reseal(bytes(data))


def _change_field(field):
    if isinstance(field, int):
        return random.choice(NUMBERS + [field + 1, max(0, field - 1), field * 2, field // 2,
                                        field ^ 1 << random.randrange(64)])
    if isinstance(field, float):
        bits = struct.unpack("<Q", struct.pack("<d", field))[0] ^ 1 << random.randrange(64)
        return random.choice(DOUBLES + [field * 2, struct.unpack("<d", struct.pack("<Q", bits))[0]])
    if field[16:24] in HEADERS and random.random() < 0.7:
        return _change_header(field)
    data = bytearray(field)
    choice = random.randrange(6)
    if choice == 0:
        return bytes(data[:random.randrange(len(data) + 1)])
    if choice == 1:
        return bytes(data) + os.urandom(random.choice([1, 7, 8, 64]))
    if choice == 2:
        return b""
    for _ in range(random.choice([1, 1, 2, 8, 100])):
        if data:
            at = random.randrange(min(len(data), 200) if choice < 5 else len(data))
            data[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1 << random.randrange(8)])
    if choice == 3 and len(data) >= 8:
        at = random.randrange(min(len(data) - 7, 200))
        data[at:at + 8] = struct.pack("<Q", random.choice(NUMBERS))
    return bytes(data)


def _change(data):
    body, version = unseal(data)
    choice = random.random()
    if choice < 0.65:
        name, encver, fields = parse(data)
        for _ in range(random.choice([1, 1, 1, 2, 3])):
            action = random.random()
            at = random.choice([min(2, len(fields) - 1), random.randrange(len(fields))])
            if action < 0.85:
                fields[at] = _change_field(fields[at])
            elif action < 0.9:
                del fields[at]
            elif action < 0.95:
                fields.insert(at, random.choice(fields))
            else:
                fields[at] = random.choice([5, 0.5, b"x"])
            if not fields:
                break
        if random.random() < 0.03:
            encver = random.randrange(8)
        return payload(name, encver, fields, end=random.random() > 0.02)
    body = bytearray(body)
    for _ in range(random.choice([1, 1, 2, 4])):
        action = random.random()
        if len(body) < 3:
            break
        at = random.randrange(1, len(body))
        if action < 0.7:
            body[at] = random.choice([body[at] ^ 1 << random.randrange(8), random.randrange(256)])
        elif action < 0.8:
            del body[at:at + random.randrange(1, 9)]
        elif action < 0.9:
            body[at:at] = os.urandom(random.randrange(1, 9))
        else:
            body = body[:max(2, at)]
    return seal(bytes(body), version)


def _queries(key):
    """As a cuckoo and as a Bloom filter; it stays there."""
    return [q for q in queries(key, True) + queries(key, False) if q[0] != "DEL"]


def _batch(c, payloads):
    """All of them, restored and used, in one pipeline.  Returns how many were accepted."""
    keys = ["t%d" % i for i in range(len(payloads))]
    replies = c.many([["RESTORE", k, "0", p, "REPLACE"] for k, p in zip(keys, payloads)])
    good = [k for k, reply in zip(keys, replies) if reply == "OK"]
    c.many([q for key in good for q in _queries(key)])
    _read_again(c, good, payloads)
    c.do("FLUSHDB")
    return len(good)


def _read_again(c, keys, payloads):
    """What was accepted, and used, can be read: else the server would not load its own file."""
    dumps = c.many([["DUMP", key] for key in keys])
    replies = c.many([["RESTORE", "again", "0", dump, "REPLACE"] for dump in dumps])
    for key, reply in zip(keys, replies):
        assert reply == "OK", (reply, payloads[int(key[1:])].hex())


def test_changed_payloads():
    count = some(2000, 100000)
    with Attacked() as (server, c):
        c.do("SELECT", "1")
        seeds = _seeds(c)
        accepted = done = 0
        while done < count:
            batch = [_change(random.choice(seeds)) for _ in range(20)]
            try:
                accepted += _batch(c, batch)
            except (Broken, OSError):
                path = os.path.join(os.getcwd(), "restore-failure.hex")
                with open(path, "w") as file:
                    file.write("\n".join(p.hex() for p in batch))
                raise AssertionError("one of the payloads in %s ended or stopped the server:\n%s"
                                     % (path, server.log()[-3000:])) from None
            done += len(batch)
        print("         %d payloads of %d accepted and used%s" % (
            accepted, done, ", under the sanitizer" if PRELOAD else ""))
        assert 0 < accepted < done

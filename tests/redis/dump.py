"""dump.py - DUMP payloads taken apart and put together

    7 | id of the type | (2 number | 4 double | 5 string)... | 0 | version of the RDB | CRC-64

Numbers, lengths and the id are written as RDB writes lengths.  A payload becomes a list of fields
which a test can change; `payload` repairs the checksum, so that only the module stands between
the server and what is in it.
"""
import struct

_POLYNOMIAL = 0x95AC9329AC4BC9B5  # Jones, reflected


def _table():
    table = []
    for i in range(256):
        crc = i
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _table()


def crc64(data):
    crc = 0
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def seal(body, version=10):
    """The body with a version and a right checksum."""
    body = body + struct.pack("<H", version)
    return body + struct.pack("<Q", crc64(body))


def unseal(payload):
    assert crc64(payload[:-8]) == struct.unpack("<Q", payload[-8:])[0], "a wrong checksum"
    return payload[:-10], struct.unpack("<H", payload[-10:-8])[0]


# ---- lengths

def length(number):
    number &= (1 << 64) - 1
    if number < 64:
        return bytes([number])
    if number < 16384:
        return bytes([0x40 | number >> 8, number & 0xFF])
    if number < 1 << 32:
        return b"\x80" + struct.pack(">I", number)
    return b"\x81" + struct.pack(">Q", number)


def _read_length(data, at):
    first = data[at]
    if first >> 6 == 0:
        return first & 63, at + 1
    if first >> 6 == 1:
        return (first & 63) << 8 | data[at + 1], at + 2
    if first == 0x80:
        return struct.unpack(">I", data[at + 1:at + 5])[0], at + 5
    if first == 0x81:
        return struct.unpack(">Q", data[at + 1:at + 9])[0], at + 9
    raise ValueError("not a length: %#x" % first)


def _unpack_lzf(data, size):
    out = bytearray()
    at = 0
    while at < len(data):
        control = data[at]
        at += 1
        if control < 32:
            out += data[at:at + control + 1]
            at += control + 1
            continue
        count = control >> 5
        if count == 7:
            count += data[at]
            at += 1
        back = len(out) - ((control & 31) << 8 | data[at]) - 1
        at += 1
        for i in range(count + 2):
            out.append(out[back + i])
    assert len(out) == size
    return bytes(out)


def _read_string(data, at):
    first = data[at]
    if first == 0xC3:
        packed, at = _read_length(data, at + 1)
        size, at = _read_length(data, at)
        return _unpack_lzf(data[at:at + packed], size), at + packed
    if first >> 6 == 3:
        size = {0xC0: 1, 0xC1: 2, 0xC2: 4}[first]
        number = int.from_bytes(data[at + 1:at + 1 + size], "little", signed=True)
        return str(number).encode(), at + 1 + size
    size, at = _read_length(data, at)
    return data[at:at + size], at + size


# ---- types and fields

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def type_id(name, encver):
    number = 0
    for letter in name:
        number = number << 6 | _LETTERS.index(letter)
    return number << 10 | encver


def type_name(number):
    version = number & 1023
    number >>= 10
    name = "".join(_LETTERS[number >> 6 * i & 63] for i in range(8, -1, -1))
    return name, version


def body(name, encver, fields, end=True):
    """Fields are ints, floats and bytes."""
    out = bytearray(b"\x07" + length(type_id(name, encver)))
    for field in fields:
        if isinstance(field, int):
            out += b"\x02" + length(field)
        elif isinstance(field, float):
            out += b"\x04" + struct.pack("<d", field)
        else:
            out += b"\x05" + length(len(field)) + field
    return bytes(out) + (b"\x00" if end else b"")


def payload(name, encver, fields, end=True):
    return seal(body(name, encver, fields, end))


def parse(data):
    """The type's name, its encoding version and the fields of a payload."""
    data, _ = unseal(data)
    assert data[0] == 7, "not a module's value"
    number, at = _read_length(data, 1)
    fields = []
    while True:
        code, at = _read_length(data, at)
        if code == 0:
            break
        if code == 2:
            value, at = _read_length(data, at)
        elif code == 4:
            value = struct.unpack("<d", data[at:at + 8])[0]
            at += 8
        elif code == 5:
            value, at = _read_string(data, at)
        else:
            raise ValueError("field of kind %d" % code)
        fields.append(value)
    assert at == len(data), "something follows"
    name, encver = type_name(number)
    return name, encver, fields

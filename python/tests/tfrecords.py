# SPDX-License-Identifier: Apache-2.0
"""Writes TFRecords of tf.train.Example, from their specification: an oracle that shares no code with the reader."""
import struct


def reversed_bits(value, bits):
    return int(f"{value:0{bits}b}"[::-1], 2)


def make_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (reversed_bits(0x1EDC6F41, 32) if crc & 1 else 0)
        table.append(crc)
    return table


TABLE = make_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


# ---- protobuf ----


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


class Unpacked(list):
    """Numbers to be stored unpacked, one by one."""


def feature(values):
    """Returns a Feature of bytes or str, int, float, or a list of one of them; None: a Feature without a list."""
    if values is None:
        return b""
    one_by_one = isinstance(values, Unpacked)
    values = values if isinstance(values, list) else [values]
    if values and isinstance(values[0], (bytes, str)):
        return field(1, b"".join(field(1, value.encode() if isinstance(value, str) else value) for value in values))
    if values and isinstance(values[0], float):
        numbers = [struct.pack("<f", value) for value in values]
        return field(2, b"".join(b"\x0d" + number for number in numbers) if one_by_one else field(1, b"".join(numbers)))
    numbers = [varint(value) for value in values]
    return field(3, b"".join(b"\x08" + number for number in numbers) if one_by_one else field(1, b"".join(numbers)) if values else b"")


def features(values):
    return b"".join(field(1, field(1, key.encode()) + field(2, feature(value))) for key, value in values.items())


def example(values):
    return field(1, features(values))


def sequence_example(context, lists):
    """Returns a SequenceExample. `lists`: the steps of each key."""
    steps = b"".join(
        field(1, field(1, key.encode()) + field(2, b"".join(field(1, feature(step)) for step in values))) for key, values in lists.items()
    )
    return field(1, features(context)) + field(2, steps)


def write(path, samples):
    """Writes records. `samples`: dicts, or messages."""
    with open(path, "wb") as file:
        for sample in samples:
            file.write(record(sample if isinstance(sample, bytes) else example(sample)))
    return path

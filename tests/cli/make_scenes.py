#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make_scenes.py: writes scenes.tfrecord, four grey images of 96 x 96 pixels, each with boxes,
points, labels and a mask."""
import struct
import zlib


def png(color, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 96, 96, 8, color, 0, 0, 0)
    lines = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def part(tag, data):
    return bytes([tag << 3 | 2]) + varint(len(data)) + data


def feature(name, kind, data):
    return part(1, part(1, name.encode()) + part(2, part(kind, data)))


with open("scenes.tfrecord", "wb") as file:
    for number in range(4):
        grey = [bytes([100, 100, 100]) * 96] * 96
        mask = [bytes([1] * 48 + [0] * 48)] * 48 + [bytes([2] * 48 + [255] * 48)] * 48
        boxes = struct.pack("<8f", 24, 24, 48, 36, 60, 60, 30, 30)
        points = struct.pack("<9f", 30.5, 30.5, 2, 80.5, 14.5, 2, 50, 50, 0)
        example = part(1, b"".join([
            feature("image", 1, part(1, png(2, grey))), feature("seg", 1, part(1, png(0, mask))),
            feature("boxes", 2, part(1, boxes)), feature("points", 2, part(1, points)),
            feature("labels", 3, part(1, bytes([7, 3]))),
        ]))  # fmt: skip
        length = struct.pack("<Q", len(example))
        file.write(length + crc32c(length) + example + crc32c(example))

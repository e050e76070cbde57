# SPDX-License-Identifier: Apache-2.0
"""An oracle made from the FFCV specification: it writes .beton files of version 2 and shares no code with the reader."""
# The file is: header {u16 version, u16 fields, u32 page size, u64 samples, u64 table offset}; 1041 bytes a field {u8
# type, 16 bytes name, 1024 bytes arguments}; one row of metadata a sample; from the next multiple of the page size on,
# pages of data; the table, rows of {u64 sample, u64 pointer, u64 size}. All numbers are little-endian, pointers are
# offsets in the file, and the data of one sample lies in one page.
import json
import struct

import numpy as np

VERSION = 2
PAGE = 1 << 21  # the smallest page that the real writer accepts; its default is 1 << 23
TYPES = {"float": 0, "int": 1, "rgb": 2, "bytes": 3, "ndarray": 4, "json": 5, "tensor": 6, "custom": 255}
# The values of a field in a row: a struct format, and its alignment there. A structure that numpy packed has alignment 1.
ROWS = {"float": ("<d", 8), "int": ("<q", 8), "rgb": ("<BHHQ", 1), "bytes": ("<QQ", 1), "json": ("<QQ", 1),
        "ndarray": ("<Q", 8), "tensor": ("<Q", 8), "custom": ("<Q", 8)}


def layout(kinds):
    """The offset of every field in a row, and the size of a row, as numpy's aligned structures have them."""
    offsets, at, widest = [], 0, 1
    for kind in kinds:
        form, align = ROWS[kind.partition(":")[0]]
        at = -(-at // align) * align
        offsets.append(at)
        at += struct.calcsize(form)
        widest = max(widest, align)
    return offsets, -(-at // widest) * widest


def jpeg_size(data):
    """Width and height from the frame header of a JPEG."""
    at = 2
    while data[at] == 0xFF:
        marker, length = struct.unpack_from(">BH", data, at + 1)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length
    raise ValueError("no frame header in the JPEG")


def _array_type(kind):
    _, dtype, shape = kind.split(":")
    return np.dtype(dtype), tuple(int(d) for d in shape.split(","))


def _descriptor(name, kind):
    base, arguments = kind.partition(":")[0], b""
    if base in ("ndarray", "tensor"):
        dtype, shape = _array_type(kind)
        text = json.dumps(dtype.descr).encode("ascii")
        arguments = struct.pack("<33Q", *shape, *[0] * (32 - len(shape)), len(text)) + text
    return struct.pack("<B16s1024s", TYPES[base], name.encode("ascii"), arguments)


class _Worker:
    """One writing process: it fills its own pages, and keeps the table rows that it made."""

    def __init__(self, file, start, page_size, claim):
        self.file, self.start, self.page_size, self.claim = file, start, page_size, claim
        self.page, self.used, self.rows = -1, 0, []

    def sample(self, number, blobs):
        """Puts the blobs of one sample into one page. Returns their pointers."""
        for _ in range(2):
            first = len(self.rows)
            for blob in blobs:
                size = len(blob)
                if size > (self.page_size - self.used if self.page >= 0 else 0):
                    self.page, self.used = self.claim(), 0
                    if len(self.rows) > first:  # abandons the blobs written to the previous page: their bytes stay, unused
                        del self.rows[first:]
                        break
                if size > self.page_size:
                    raise ValueError("%d bytes in a page of %d" % (size, self.page_size))
                # No bytes before the first page: the real writer's pointer is then one page before the first.
                self.rows.append((number, self.start + self.page * self.page_size + self.used, size))
                self.used += size
                if size:
                    self.file.seek(self.rows[-1][1])
                    self.file.write(blob)
            else:
                return [row[1] for row in self.rows[first:]]
        raise ValueError("sample %d does not fit a page of %d" % (number, self.page_size))


def _blob(kind, value):
    """Returns (the row's values before the pointer, the bytes in the page or None, the row's values after it)."""
    base = kind.partition(":")[0]
    if base in ("float", "int"):
        return (value,), None, ()
    if base == "rgb":
        if isinstance(value, bytes):
            return (0, *jpeg_size(value)), value, ()
        value = np.ascontiguousarray(value, "u1")
        if value.ndim != 3 or value.shape[2] != 3:
            raise ValueError("not an RGB picture: %r" % (value.shape,))
        return (1, value.shape[1], value.shape[0]), value.tobytes(), ()
    if base in ("ndarray", "tensor"):
        dtype, shape = _array_type(kind)
        value = np.asarray(value, dtype)
        if value.shape != shape:
            raise ValueError("%s cannot hold %r" % (kind, value.shape))
        return (), value.tobytes(), ()
    if base == "json":
        value = json.dumps(value).encode() + b"\0"
    value = bytes(value)
    return (), value, () if base == "custom" else (len(value),)


def write(path, fields, samples, *, page_size=PAGE, workers=1, chunk=100, version=VERSION):
    """Writes a file. Returns the rows of the table (sample, pointer, size).

    fields: name -> 'float', 'int', 'rgb', 'bytes', 'json', 'ndarray:float32:3,4', 'tensor:uint8:5' (a torch tensor) or
    'custom' (type 255; here a pointer to bytes, without a size), in this order. samples: a list of name -> value; for
    rgb, bytes are a JPEG (mode 0), and an array h x w x 3 of u8 is written raw (mode 1).
    page_size: a power of 2; the real writer requires at least 1 << 21. workers: number of workers that take turns,
    chunk samples at a time, each with its own page; the table has the rows of one worker after those of the other."""
    if page_size & (page_size - 1) or not 0 < page_size < 1 << 32:
        raise ValueError("a page size is a power of 2 below 2^32")
    samples, kinds = list(samples), list(fields.values())
    offsets, width = layout(kinds)
    meta = 24 + 1041 * len(fields)
    start = -(-(meta + width * len(samples)) // page_size) * page_size
    rows, pages = bytearray(width * len(samples)), 0

    def claim():
        nonlocal pages
        pages += 1
        return pages - 1

    with open(path, "wb") as f:
        crew = [_Worker(f, start, page_size, claim) for _ in range(workers)]
        for number, sample in enumerate(samples):
            values = [_blob(kind, sample[name]) for name, kind in fields.items()]
            blobs = [blob for _, blob, _ in values if blob is not None]
            pointers = iter(crew[number // chunk % workers].sample(number, blobs))
            for kind, offset, (before, blob, after) in zip(kinds, offsets, values):
                pointer = () if blob is None else (next(pointers),)
                form = ROWS[kind.partition(":")[0]][0]
                struct.pack_into(form, rows, number * width + offset, *before, *pointer, *after)
        table = [row for worker in crew for row in worker.rows]
        end = start + pages * page_size if pages else meta + len(rows)
        f.seek(0)
        f.write(struct.pack("<HHIQQ", version, len(fields), page_size, len(samples), end))
        f.writelines(_descriptor(name, kind) for name, kind in fields.items())
        f.write(rows)
        f.truncate(end)
        f.seek(end)
        f.writelines(struct.pack("<QQQ", *row) for row in table)
    return table

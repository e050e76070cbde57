# SPDX-License-Identifier: Apache-2.0
"""An oracle made from the dmlc RecordIO and MXNet specifications: it writes .rec, .idx and .lst, and shares no code with the reader."""
# A record is u32 magic, u32 flag << 29 | length, the bytes, then zeros up to a multiple of 4. If the record's bytes
# have the magic at a multiple of 4, those 4 bytes are dropped and a new part begins: flag 1 is the first part, 2 a
# middle part, 3 the last one, 0 a record in one part. All numbers are little-endian.
import numbers
import os
import struct

import numpy as np

MAGIC = 0xCED7230A
MAGIC_BYTES = struct.pack("<I", MAGIC)
LIMIT = 1 << 29


def _part(flag, data):
    return MAGIC_BYTES + struct.pack("<I", flag << 29 | len(data)) + data + bytes(-len(data) % 4)


def frame(data):
    """Returns the bytes of one record in the file."""
    data = bytes(data)
    if len(data) >= LIMIT:
        raise ValueError("a record of %d bytes; RecordIO has less than 2^29" % len(data))
    cells = np.frombuffer(data[:len(data) // 4 * 4], "<u4")
    at = [0] + [4 * int(i) + 4 for i in np.flatnonzero(cells == MAGIC)]
    parts = [data[a:b - 4] for a, b in zip(at, at[1:])] + [data[at[-1]:]]
    flags = [0] if len(parts) == 1 else [1] + [2] * (len(parts) - 2) + [3]
    return b"".join(map(_part, flags, parts))


def image(label, payload, key=0, key2=0, *, header_label=None):
    """An image record: IRHeader {u32 flag, f32 label, u64 id, u64 id2}, labels, payload.

    A number as label makes flag 0; a list of n makes flag n (one label as a list: flag 1), and the label in the header
    is then header_label: 0 from the Python tool, the first label from the C++ tool."""
    if isinstance(label, numbers.Number):
        flag, first, more = 0, float(label), b""
    else:
        more = np.asarray(label, "<f4").ravel().tobytes()
        flag, first = len(more) // 4, float(header_label or 0)
    return struct.pack("<IfQQ", flag, first, key, key2) + more + bytes(payload)


def write(rec, records, *, idx=True, lst=None, keys=None, labels=None, paths=None):
    """Writes the records (bytes each, made by image() or not). Returns their offsets.

    idx: True for the file beside rec, a path, or False; a line is "key<TAB>offset". lst: the same, default False;
    a line is "key<TAB>label...<TAB>path". keys: default 0, 1, 2... in the order of the file; labels and paths: one per
    record, for lst only (a label may be a number, a list, or a string that is written unchanged)."""
    records = list(records)
    keys = list(range(len(records))) if keys is None else list(keys)
    offsets, at = [], 0
    with open(rec, "wb") as f:
        for record in records:
            data = frame(record)
            f.write(data)
            offsets.append(at)
            at += len(data)
    stem = os.path.splitext(rec)[0]
    if idx:
        write_idx(stem + ".idx" if idx is True else idx, zip(keys, offsets))
    if lst:
        labels = [0] * len(records) if labels is None else labels
        paths = ["%08d.jpg" % k for k in keys] if paths is None else paths
        write_lst(stem + ".lst" if lst is True else lst, zip(keys, labels, paths))
    return offsets


def write_idx(path, rows):
    with open(path, "w", newline="") as f:
        f.writelines("%s\t%d\n" % row for row in rows)


def write_lst(path, rows):
    """Writes rows of (key, label or labels, path); numbers are formatted as Python prints them (older tools wrote "%f")."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        for key, label, name in rows:
            label = list(label) if isinstance(label, (list, tuple, np.ndarray)) else [label]
            f.write("\t".join(map(str, [key, *label, name])) + "\n")

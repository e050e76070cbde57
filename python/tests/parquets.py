# SPDX-License-Identifier: Apache-2.0
"""Small Parquet files for tests, written from the format's specification alone (no other library's code).

    write("x.parquet", {"image": Column("image", [{"bytes": b"...", "path": "a.jpg"}, None]),
                        "label": Column("int64", [3, 4], optional=False)}, rows_per_group=100, page_index=True)

A kind is a leaf of KINDS, `fixed[N]`, `list<KIND>`, `struct<name:KIND,...>` or `image`, which is
`struct<bytes:binary,path:string>`. Values are Python's own: None is null at any level, a list a list, a dict a struct.
"""
import ctypes
import json
import math
import struct
import subprocess
import zlib
from itertools import cycle
from types import SimpleNamespace

# Thrift compact protocol: type codes of fields and of list elements.
BOOL, I8, I16, I32, I64, BINARY, LIST, STRUCT = 1, 3, 4, 5, 6, 8, 9, 12

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
REQUIRED, OPTIONAL, REPEATED = range(3)
ENCODINGS = {"PLAIN": 0, "PLAIN_DICTIONARY": 2, "RLE": 3, "DELTA_BINARY_PACKED": 5, "DELTA_LENGTH_BYTE_ARRAY": 6,
             "DELTA_BYTE_ARRAY": 7, "RLE_DICTIONARY": 8, "BYTE_STREAM_SPLIT": 9}
CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "LZ4": 5, "ZSTD": 6, "LZ4_RAW": 7,
          "LZ4 frame": 5, "LZ4 block": 5}     # writers have also called these LZ4
LEGAL = {"RLE": {BOOLEAN}, "DELTA_BINARY_PACKED": {INT32, INT64}, "DELTA_LENGTH_BYTE_ARRAY": {BYTE_ARRAY},
         "DELTA_BYTE_ARRAY": {BYTE_ARRAY, FIXED}, "BYTE_STREAM_SPLIT": {INT32, INT64, FLOAT, DOUBLE, FIXED}}
STATISTICS_LIMIT = 4096     # longer minima and maxima are omitted, and with them the column index
UTF8_TYPE, LIST_TYPE = 0, 3  # converted types


# ---- Thrift ----

def varint(number):
    """Unsigned LEB128."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number):
    """Signed number of at most 64 bits as a zigzag varint."""
    return varint((number << 1) ^ (number >> 63))


def element(kind, value):
    """Returns one Thrift value without a field header; a struct's value is its bytes, a list's is (kind, values)."""
    if kind in (I16, I32, I64):
        return zigzag(value)
    if kind == I8:
        return struct.pack("b", value)
    if kind == BOOL:
        return b"\1" if value else b"\2"
    if kind == STRUCT:
        return value
    if kind == LIST:
        inner, values = value
        size = len(values)
        head = bytes([size << 4 | inner]) if size < 15 else bytes([0xF0 | inner]) + varint(size)
        return head + b"".join(element(inner, item) for item in values)
    data = value.encode() if isinstance(value, str) else value
    return varint(len(data)) + data


def thrift(*fields):
    """Returns a struct of fields (number, kind, value); a field whose value is None is omitted."""
    out, last = bytearray(), 0
    for number, kind, value in fields:
        if value is None:
            continue
        code = kind if kind != BOOL else 1 if value else 2
        near = 0 < number - last < 16
        out += bytes([number - last << 4 | code]) if near else bytes([code]) + zigzag(number)
        out += b"" if kind == BOOL else element(kind, value)
        last = number
    return bytes(out) + b"\0"


def union(number, value=b"\0"):
    """A union, or the empty struct inside it."""
    return thrift((number, STRUCT, value))


# ---- kinds and schema ----

def _integer(bits, signed, converted):
    return INT32 if bits < 64 else INT64, converted, union(10, thrift((1, I8, bits), (2, BOOL, signed)))


KINDS = {   # kind: (physical type, converted type, logical type)
    "boolean": (BOOLEAN, None, None), "int32": (INT32, None, None), "int64": (INT64, None, None),
    "int96": (INT96, None, None), "float": (FLOAT, None, None), "double": (DOUBLE, None, None),
    "binary": (BYTE_ARRAY, None, None), "string": (BYTE_ARRAY, UTF8_TYPE, union(1)),
    "json": (BYTE_ARRAY, 19, union(12)), "enum": (BYTE_ARRAY, 4, union(4)), "date": (INT32, 6, union(6)),
    "timestamp_us": (INT64, 10, union(8, thrift((1, BOOL, True), (2, STRUCT, union(2))))),
    "uint8": _integer(8, False, 11), "uint16": _integer(16, False, 12), "uint32": _integer(32, False, 13),
    "uint64": _integer(64, False, 14), "INT_8": _integer(8, True, 15), "INT_16": _integer(16, True, 16),
    "INT_32": _integer(32, True, 17), "INT_64": _integer(64, True, 18),
}
KINDS.update({"UINT_8": KINDS["uint8"], "UINT_16": KINDS["uint16"], "UINT_32": KINDS["uint32"],
              "UINT_64": KINDS["uint64"], "bool": KINDS["boolean"], "int8": KINDS["INT_8"], "int16": KINDS["INT_16"]})


class Column:
    """A column's kind, values and layout.

    optional, item_optional, field_optional: whether the column, list items and struct fields may be null.
    lists: "three" (group, repeated group, element), "two" (group, repeated element) or "bare" (repeated field).
    names: the names of the two inner levels of a three-level list; old pyarrow wrote ("list", "item").
    encoding: of pages without a dictionary; one name, or a dict of leaf path ("image.bytes") to name.
    annotate: "both", "converted" (as old writers), "logical" or "none".
    """

    def __init__(self, kind, values, optional=True, *, encoding="PLAIN", lists="three", names=("list", "element"),
                 item_optional=True, field_optional=True, annotate="both"):
        self.kind, self.values, self.optional, self.encoding = kind, list(values), optional, encoding
        self.lists, self.names, self.annotate = lists, names, annotate
        self.item_optional, self.field_optional = item_optional, field_optional


class Node:
    """One element of the schema tree; a leaf has a physical type, and the slots (repetition, definition, value)."""

    def __init__(self, parent, name, repetition, converted=None, logical=None, passes=False):
        self.name, self.repetition, self.converted, self.logical = name, repetition, converted, logical
        self.passes = passes        # a group of a list: its value is its only child's value
        self.path = parent.path + [name] if parent else []
        self.repetitions = (parent.repetitions if parent else 0) + (repetition == REPEATED)
        self.definitions = (parent.definitions if parent else 0) + (repetition not in (REQUIRED, None))
        self.children, self.physical, self.length, self.slots = [], None, None, []
        if parent:
            parent.children.append(self)

    def leaves(self):
        """The leaves at and below this element, depth first."""
        return [self] if self.physical is not None else [leaf for child in self.children for leaf in child.leaves()]

    def thrift(self):
        """SchemaElements of this subtree, depth first."""
        own = thrift((1, I32, self.physical), (2, I32, self.length), (3, I32, self.repetition), (4, BINARY, self.name),
                     (5, I32, len(self.children) if self.physical is None else None), (6, I32, self.converted),
                     (10, STRUCT, self.logical))
        return [own] + [item for child in self.children for item in child.thrift()]

    def shred(self, value, repetition=0, definition=0):
        """Append the slots of one value to the leaves below."""
        if self.repetition == REPEATED and value:
            for index, item in enumerate(value):
                self._inside(item, self.repetitions if index else repetition, definition + 1)
        elif self.repetition == REPEATED or (self.repetition == OPTIONAL and value is None):
            for leaf in self.leaves():
                leaf.slots.append((repetition, definition, None))
        else:
            self._inside(value, repetition, definition + (self.repetition == OPTIONAL))

    def _inside(self, value, repetition, definition):
        if value is None and not (self.passes and self.repetition == REPEATED):
            raise ValueError(f"null in the required {'.'.join(self.path)}")
        if self.physical is not None:
            self.slots.append((repetition, definition, value))
        elif self.passes:
            self.children[0].shred(value, repetition, definition)
        else:
            for child in self.children:
                child.shred(value.get(child.name), repetition, definition)


def split_fields(text):
    """Split the inside of struct<...> at its outermost commas."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip().split(":", 1) for part in parts]


def build(parent, name, kind, repetition, column):
    """Add the schema of `kind` to `parent`."""
    kind = "struct<bytes:binary,path:string>" if kind == "image" else kind
    converted = column.annotate in ("both", "converted")
    logical = column.annotate in ("both", "logical")
    if kind.startswith("list<"):
        if column.lists == "bare":
            return build(parent, name, kind[5:-1], REPEATED, column)
        outer = Node(parent, name, repetition, LIST_TYPE if converted else None, union(3) if logical else None, True)
        if column.lists == "two":
            return build(outer, "array", kind[5:-1], REPEATED, column)
        middle = Node(outer, column.names[0], REPEATED, passes=True)
        return build(middle, column.names[1], kind[5:-1], OPTIONAL if column.item_optional else REQUIRED, column)
    if kind.startswith("struct<"):
        group = Node(parent, name, repetition)
        for field, inner in split_fields(kind[7:-1]):
            build(group, field, inner, OPTIONAL if column.field_optional else REQUIRED, column)
        return group
    leaf = Node(parent, name, repetition)
    if kind.startswith("fixed["):
        leaf.physical, leaf.length, leaf.unsigned = FIXED, int(kind[6:-1]), False
    else:
        leaf.physical, leaf.converted, leaf.logical = KINDS[kind]
        leaf.unsigned = 11 <= (leaf.converted or 0) <= 14
        leaf.converted = leaf.converted if converted else None
        leaf.logical = leaf.logical if logical else None
    return leaf


# ---- encodings ----

def plain_one(leaf, value):
    """One value in PLAIN, byte arrays without their length; not for booleans."""
    if leaf.physical in (INT32, INT64):
        size = 4 if leaf.physical == INT32 else 8
        return int(value).to_bytes(size, "little", signed=not leaf.unsigned)
    if leaf.physical in (FLOAT, DOUBLE):
        return struct.pack("<f" if leaf.physical == FLOAT else "<d", value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    size = {FIXED: leaf.length, INT96: 12}.get(leaf.physical, len(data))
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes in a field of {size}")
    return data


def plain(leaf, values):
    """Values in PLAIN."""
    if leaf.physical == BOOLEAN:
        return pack([int(value) for value in values], 1)
    parts = [plain_one(leaf, value) for value in values]
    if leaf.physical == BYTE_ARRAY:
        parts = [struct.pack("<I", len(part)) + part for part in parts]
    return b"".join(parts)


def pack(values, width):
    """Unsigned numbers of `width` bits, least significant bit first, padded with zeros to whole bytes."""
    out = bytearray()
    for at in range(0, len(values), 8):
        group = values[at:at + 8]
        total = sum(value << index * width for index, value in enumerate(group))
        out += total.to_bytes((len(group) * width + 7) // 8, "little")
    return bytes(out)


def hybrid(values, width, style="mixed"):
    """RLE/bit-packed hybrid; style "mixed" as real writers do, "rle" (runs only) or "packed" (one long run)."""
    out, at, count = bytearray(), 0, len(values)

    def run(start):
        end = start
        while end < count and values[end] == values[start]:
            end += 1
        return end - start

    while at < count:
        length = run(at)
        if style == "rle" or (style == "mixed" and length >= 8):
            out += varint(length << 1) + values[at].to_bytes((width + 7) // 8, "little")
            at += length
            continue
        end = at + 8
        while end < count and (style == "packed" or (end - at < 504 and run(end) < 8)):
            end += 8
        padded = values[at:end] + [0] * (end - min(end, count))
        out += varint((end - at) // 8 << 1 | 1) + pack(padded, width)
        at = end
    return bytes(out)


def delta_binary_packed(numbers, bits=32):
    """Blocks of 128 in 4 miniblocks; differences wrap around at `bits`."""
    def signed(number):
        number &= (1 << bits) - 1
        return number - (1 << bits) if number >> bits - 1 else number

    out = varint(128) + varint(4) + varint(len(numbers)) + zigzag(signed(numbers[0]) if numbers else 0)
    deltas = [signed(after - before) for before, after in zip(numbers, numbers[1:])]
    for at in range(0, len(deltas), 128):
        block = deltas[at:at + 128]
        least = min(block)
        minis = [[delta - least & (1 << bits) - 1 for delta in block[i:i + 32]] for i in range(0, len(block), 32)]
        widths = [max(mini).bit_length() for mini in minis]
        out += zigzag(least) + bytes(widths + [0] * (4 - len(minis)))
        out += b"".join(pack(mini + [0] * (32 - len(mini)), width) for mini, width in zip(minis, widths))
    return out


def delta_length_byte_array(parts):
    """The lengths, then the bytes."""
    return delta_binary_packed([len(part) for part in parts]) + b"".join(parts)


def delta_byte_array(parts):
    """Lengths of prefixes shared with the value before, then the suffixes."""
    prefixes, suffixes, last = [], [], b""
    for part in parts:
        shared = 0
        while shared < min(len(part), len(last)) and part[shared] == last[shared]:
            shared += 1
        prefixes.append(shared)
        suffixes.append(part[shared:])
        last = part
    return delta_binary_packed(prefixes) + delta_length_byte_array(suffixes)


def encode(leaf, encoding, values):
    """Returns the values section of a page without a dictionary."""
    if encoding == "PLAIN":
        return plain(leaf, values)
    if leaf.physical not in LEGAL[encoding]:
        raise ValueError(f"{encoding} does not suit {'.'.join(leaf.path)}")
    if encoding == "RLE":
        body = hybrid([int(value) for value in values], 1)
        return struct.pack("<I", len(body)) + body
    if encoding == "DELTA_BINARY_PACKED":
        return delta_binary_packed([int(value) for value in values], 32 if leaf.physical == INT32 else 64)
    parts = [plain_one(leaf, value) for value in values]
    if encoding == "BYTE_STREAM_SPLIT":
        joined, size = b"".join(parts), len(parts[0]) if parts else 0
        return b"".join(joined[byte::size] for byte in range(size))
    return delta_length_byte_array(parts) if encoding == "DELTA_LENGTH_BYTE_ARRAY" else delta_byte_array(parts)


# ---- compression ----

def alike(data, one, other):
    """Returns the number of equal bytes from two offsets on; `other` is the later one."""
    length, step = 0, 1 << 16
    while step:
        if other + length + step <= len(data) and data[one + length:one + length + step] == data[other + length:other + length + step]:
            length += step
        else:
            step >>= 1
    return length


def snappy(data):
    """Snappy's raw format: literals and copies of all three kinds."""
    out, seen, at, start = bytearray(varint(len(data))), {}, 0, 0

    def literal(piece):
        if piece:
            top = len(piece) - 1
            size = 0 if top < 60 else (top.bit_length() + 7) // 8
            out.append((59 + size if size else top) << 2)
            out.extend((top.to_bytes(size, "little") if size else b"") + piece)

    def copy(offset, length):
        while length:
            piece = length if length <= 64 else 60      # leaves at least four
            if 4 <= piece <= 11 and offset < 2048:
                out.extend([offset >> 8 << 5 | piece - 4 << 2 | 1, offset & 255])
            else:
                wide = offset >> 16 > 0
                out.extend(bytes([piece - 1 << 2 | 2 + wide]) + offset.to_bytes(4 if wide else 2, "little"))
            length -= piece

    while at + 4 <= len(data):
        key = data[at:at + 4]
        before = seen.get(key)
        seen[key] = at
        if before is None:
            at += 1
            continue
        length = 4
        while length < 16 and at + length < len(data) and data[before + length] == data[at + length]:
            length += 1
        length += alike(data, before + length, at + length) if length == 16 else 0
        literal(data[start:at])
        copy(at - before, length)
        at += length
        start = at
    literal(data[start:])
    return bytes(out)


def zstd(data, level=3):
    """Returns a Zstandard frame, made by the shared library or else the command; RuntimeError if both are missing."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        try:
            return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
        except FileNotFoundError:
            raise RuntimeError("no Zstandard here") from None
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    buffer = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(buffer, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), level)
    if size > room:
        raise RuntimeError("Zstandard failed")
    return buffer.raw[:size]


def gzip(data):
    """Returns one member, or two if the data's length is odd."""
    def member(part):
        maker = zlib.compressobj(6, zlib.DEFLATED, 31)
        return maker.compress(part) + maker.flush()

    half = len(data) // 2 if len(data) % 2 else len(data)
    return member(data[:half]) + (member(data[half:]) if half < len(data) else b"")


def shared(name):
    """Loads a shared library; RuntimeError if it is missing."""
    try:
        return ctypes.CDLL(name)
    except OSError:
        raise RuntimeError(f"no {name} here") from None


def brotli(data):
    """Returns a Brotli stream, made by the shared library."""
    library = shared("libbrotlienc.so.1")
    size = ctypes.c_size_t(len(data) + len(data) // 2 + 1024)
    buffer = ctypes.create_string_buffer(size.value)
    if library.BrotliEncoderCompress(5, 22, 0, ctypes.c_size_t(len(data)), data, ctypes.byref(size), buffer) != 1:
        raise RuntimeError("Brotli failed")
    return buffer.raw[:size.value]


def lz4_block(data):
    """Returns an LZ4 block, made by the shared library."""
    library = shared("liblz4.so.1")
    room = library.LZ4_compressBound(len(data))
    buffer = ctypes.create_string_buffer(room)
    size = library.LZ4_compress_default(data, buffer, len(data), room)
    if size <= 0:
        raise RuntimeError("LZ4 failed")
    return buffer.raw[:size]


def lz4_frame(data):
    """Returns an LZ4 frame, made by the shared library."""
    library = shared("liblz4.so.1")
    library.LZ4F_compressFrameBound.restype = library.LZ4F_compressFrame.restype = ctypes.c_size_t
    room = library.LZ4F_compressFrameBound(ctypes.c_size_t(len(data)), None)
    buffer = ctypes.create_string_buffer(room)
    size = library.LZ4F_compressFrame(buffer, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), None)
    if size > room:
        raise RuntimeError("LZ4 failed")
    return buffer.raw[:size]


def lz4_hadoop(data):
    """Returns Hadoop's framing: parts made of blocks of at most 50000 bytes, each with its size."""
    out = b""
    for at in range(0, len(data), 70_000):
        part = data[at:at + 70_000]
        out += struct.pack(">I", len(part))
        for begin in range(0, len(part), 50_000):
            block = lz4_block(part[begin:begin + 50_000])
            out += struct.pack(">I", len(block)) + block
    return out


def have(codec):
    """True if `codec` can be written on this machine."""
    try:
        compress(codec, b"")
    except RuntimeError:
        return False
    return True


def compress(codec, data):
    """Returns `data` compressed with one of CODECS."""
    how = {"UNCOMPRESSED": bytes, "SNAPPY": snappy, "GZIP": gzip, "BROTLI": brotli, "ZSTD": zstd, "LZ4": lz4_hadoop,
           "LZ4_RAW": lz4_block, "LZ4 frame": lz4_frame, "LZ4 block": lz4_block}
    return how[codec](data)


# ---- statistics ----

class Bounds:
    """Minimum, maximum and counts of the values of some slots."""

    def __init__(self, leaf, slots):
        values = [value for _, definition, value in slots if definition == leaf.definitions]
        self.leaf, self.nulls, self.nans, self.empty = leaf, len(slots) - len(values), None, not values
        if leaf.physical in (FLOAT, DOUBLE):
            kept = [value for value in values if not math.isnan(value)]
            self.nans, values = len(values) - len(kept), kept
        elif leaf.physical in (BYTE_ARRAY, FIXED, INT96):
            values = [plain_one(leaf, value) for value in values]
        self.low, self.high = (min(values), max(values)) if values and leaf.physical != INT96 else (None, None)
        if leaf.physical in (FLOAT, DOUBLE) and values:     # a bound that is zero may have either sign
            self.low, self.high = self.low or -0.0, self.high or 0.0
        if self.low is not None:
            self.lows, self.highs = self._bytes(self.low), self._bytes(self.high)
        self.known = self.low is not None and max(len(self.lows), len(self.highs)) <= STATISTICS_LIMIT

    def _bytes(self, value):
        return bytes([bool(value)]) if self.leaf.physical == BOOLEAN else plain_one(self.leaf, value)

    def thrift(self, old=False):
        """Returns the Statistics struct; `old` writes only the deprecated fields."""
        low, high = (self.lows, self.highs) if self.known else (None, None)
        if old:
            numeric = self.leaf.physical not in (BYTE_ARRAY, FIXED) and not self.leaf.unsigned
            return thrift((1, BINARY, high if numeric else None), (2, BINARY, low if numeric else None),
                          (3, I64, self.nulls))
        exact = self.known or None
        return thrift((3, I64, self.nulls), (5, BINARY, high), (6, BINARY, low), (7, BOOL, exact), (8, BOOL, exact),
                      (9, I64, self.nans))


def column_index(bounds):
    """Returns the ColumnIndex of a chunk's pages, or None if bounds are missing."""
    if any(not (bound.known or bound.empty) for bound in bounds):
        return None
    real = [bound for bound in bounds if not bound.empty]
    pairs = list(zip(real, real[1:]))
    order = 1 if all(a.low <= b.low and a.high <= b.high for a, b in pairs) else \
        2 if all(a.low >= b.low and a.high >= b.high for a, b in pairs) else 0
    return thrift((1, LIST, (BOOL, [bound.empty for bound in bounds])),
                  (2, LIST, (BINARY, [b"" if bound.empty else bound.lows for bound in bounds])),
                  (3, LIST, (BINARY, [b"" if bound.empty else bound.highs for bound in bounds])),
                  (4, I32, order), (5, LIST, (I64, [bound.nulls for bound in bounds])))


# ---- the file ----

class Layout:
    """Result of write().

    pages: one dict per page: leaf, group, type, offset (of the header), header (its size), size and raw_size (of the
    body, compressed and not), values, first_row, rows, encoding.
    spans: leaf path -> for each slot (offset, length) of its bytes in the file; None if null, encoded or compressed."""

    def __init__(self):
        self.pages, self.spans = [], {}


def pick(option, leaf, default):
    """Returns an option's value: one value for all, or a dict by leaf path or column name."""
    if isinstance(option, dict):
        return option.get(".".join(leaf.path), option.get(leaf.path[0], default))
    return option


def pieces(total, sizes):
    """Cuts `total` into (start, end) by one size or a repeated sequence of sizes; None: one piece."""
    sizes = [total] if sizes is None else [sizes] if isinstance(sizes, int) else list(sizes)
    if total and not any(size > 0 for size in sizes):
        raise ValueError("a size above zero is needed")
    out, at, turn = [], 0, cycle(sizes)
    while at < total or (not out and sizes[0] == 0 and total == 0):
        size = next(turn)
        out.append((at, min(at + size, total)))
        at += size
    return out


class Chunk:
    """Writes one column chunk: an optional dictionary page, then data pages."""

    def __init__(self, out, leaf, column, options, group, layout):
        self.out, self.leaf, self.options, self.group, self.layout = out, leaf, options, group, layout
        self.name = ".".join(leaf.path)
        self.codec = pick(options.codec, leaf, "UNCOMPRESSED")
        encoding = column.encoding
        self.encoding = encoding.get(self.name, "PLAIN") if isinstance(encoding, dict) else encoding
        wanted = options.dictionary
        wanted = wanted if isinstance(wanted, bool) else bool({self.name, leaf.path[0]} & set(wanted))
        self.entries = {} if wanted and leaf.physical != BOOLEAN else None
        self.start = self.data = out.tell()
        self.raw = 0
        self.counts = {}        # (page type, encoding) -> pages
        self.locations, self.bounds = [], []
        self.write()

    def page(self, kind, header, levels, section, encoding, **place):
        """Writes one page; `header(compressed)` makes its kind's struct. Returns the offset of the values, if uncompressed."""
        raw = len(levels) + len(section)
        packed = True
        if kind == 3:
            small = compress(self.codec, section)
            packed = self.codec != "UNCOMPRESSED" and len(small) < len(section)
            body = levels + (small if packed else section)
        else:
            body = compress(self.codec, levels + section)
        crc = zlib.crc32(body) if self.options.crc else None
        crc = crc - (1 << 32) if crc is not None and crc >> 31 else crc
        number = {0: 5, 2: 7, 3: 8}[kind]
        head = thrift((1, I32, kind), (2, I32, raw), (3, I32, len(body)), (4, I32, crc),
                      (number, STRUCT, header(packed)))
        offset = self.out.tell()
        self.out.write(head + body)
        self.raw += len(head) + raw
        key = kind, ENCODINGS[encoding]
        self.counts[key] = self.counts.get(key, 0) + 1
        self.layout.pages.append({"leaf": self.name, "group": self.group, "type": kind, "offset": offset,
                                  "header": len(head), "size": len(body), "raw_size": raw, "encoding": encoding,
                                  **place})
        clear = self.codec == "UNCOMPRESSED" or (kind == 3 and not packed)
        return offset + len(head) + len(levels) if clear else None

    def plan(self):
        """Cuts the slots into pages (start, end, first row, rows)."""
        slots, options = self.leaf.slots, self.options
        starts = [index for index, slot in enumerate(slots) if slot[0] == 0] + [len(slots)]
        if options.values_per_page:
            row = 0
            for start, end in pieces(len(slots), options.values_per_page):
                rows = sum(slot[0] == 0 for slot in slots[start:end])
                yield start, end, row, rows
                row += rows
        else:
            for first, last in pieces(len(starts) - 1, pick(options.rows_per_page, self.leaf, None)):
                yield starts[first], starts[last], first, last - first

    def indices(self, values):
        """Returns indices into the dictionary; None, from then on, once it would exceed its limit."""
        if self.entries is None or self.full:
            return None
        new = dict(self.entries)
        found = [new.setdefault(plain_one(self.leaf, value), len(new)) for value in values]
        if self.options.dictionary_limit is not None and len(new) > self.options.dictionary_limit:
            self.full = True
            return None
        self.entries = new
        return found

    def write(self):
        leaf, options, pages = self.leaf, self.options, []
        self.full = False
        for start, end, row, rows in self.plan():
            slots = leaf.slots[start:end]
            values = [value for _, definition, value in slots if definition == leaf.definitions]
            indices = self.indices(values)
            if indices is None:
                pages.append((slots, row, rows, values, self.encoding, encode(leaf, self.encoding, values)))
                continue
            bits = options.dictionary_bits
            width = max(len(self.entries) - 1, 0).bit_length() if bits is None else bits
            section = bytes([width]) + hybrid(indices, width, options.runs)
            pages.append((slots, row, rows, values, options.dictionary_encoding, section))
        if self.entries is not None and any(page[4] == options.dictionary_encoding for page in pages):
            old = options.dictionary_encoding == "PLAIN_DICTIONARY"
            encoding = "PLAIN_DICTIONARY" if old else "PLAIN"
            size = len(self.entries)
            head = thrift((1, I32, size), (2, I32, ENCODINGS[encoding]), (3, BOOL, False))
            body = b"".join((struct.pack("<I", len(key)) if leaf.physical == BYTE_ARRAY else b"") + key
                            for key in self.entries)
            self.page(2, lambda _: head, b"", body, encoding, values=size, first_row=None, rows=None)
            self.data = self.out.tell()
        for page in pages:
            self.data_page(*page)

    def data_page(self, slots, row, rows, values, encoding, section):
        leaf, options = self.leaf, self.options
        bounds = Bounds(leaf, slots)
        statistics = bounds.thrift() if options.statistics == "page" else None
        tops = leaf.repetitions, leaf.definitions
        levels = [hybrid([slot[which] for slot in slots], top.bit_length(), options.runs) if top else b""
                  for which, top in enumerate(tops)]
        code, count, number = ENCODINGS[encoding], len(slots), len(self.locations)

        def header_v1(_):
            return thrift((1, I32, count), (2, I32, code), (3, I32, 3), (4, I32, 3), (5, STRUCT, statistics))

        def header_v2(packed):      # "compressed" is the default: every second page omits it
            said = None if packed and number % 2 else packed
            return thrift((1, I32, count), (2, I32, count - len(values)), (3, I32, rows), (4, I32, code),
                          (5, I32, len(levels[1])), (6, I32, len(levels[0])), (7, BOOL, said), (8, STRUCT, statistics))

        offset = self.out.tell()
        if options.data_page_version == 1:
            joined = b"".join(struct.pack("<I", len(part)) + part for part, top in zip(levels, tops) if top)
            at = self.page(0, header_v1, joined, section, encoding, values=count, first_row=row, rows=rows)
        else:
            at = self.page(3, header_v2, b"".join(levels), section, encoding, values=count, first_row=row, rows=rows)
        self.locations.append(thrift((1, I64, offset), (2, I32, self.out.tell() - offset), (3, I64, row)))
        self.bounds.append(bounds)
        spans = self.layout.spans.setdefault(self.name, [])
        direct = at is not None and encoding == "PLAIN" and leaf.physical in (BYTE_ARRAY, FIXED)
        for _, definition, value in slots:
            if definition != leaf.definitions or not direct:
                spans.append(None)
                continue
            at += 4 * (leaf.physical == BYTE_ARRAY)
            spans.append((at, len(plain_one(leaf, value))))
            at += spans[-1][1]

    def thrift(self, places):
        """The ColumnChunk; `places` is (offset index offset, length, column index offset, length)."""
        leaf, options = self.leaf, self.options
        stats = Bounds(leaf, self.slots).thrift(options.statistics == "old") if options.statistics else None
        used = sorted({code for _, code in self.counts} | {3})
        counts = [thrift((1, I32, kind), (2, I32, code), (3, I32, count))
                  for (kind, code), count in self.counts.items()]
        paged = self.data != self.start
        meta = thrift((1, I32, leaf.physical), (2, LIST, (I32, used)), (3, LIST, (BINARY, leaf.path)),
                      (4, I32, CODECS[self.codec]), (5, I64, len(self.slots)), (6, I64, self.raw),
                      (7, I64, self.size), (9, I64, self.data if options.dictionary_offset else self.start),
                      (11, I64, self.start if paged and options.dictionary_offset else None),
                      (12, STRUCT, stats), (13, LIST, (STRUCT, counts)))
        return thrift((2, I64, 0), (3, STRUCT, meta), (4, I64, places[0]), (5, I32, places[1]), (6, I64, places[2]),
                      (7, I32, places[3]))


def write(path, columns, *, metadata=None, rows_per_group=None, rows_per_page=None, values_per_page=None,
          codec="UNCOMPRESSED", dictionary=False, dictionary_limit=None, dictionary_encoding="RLE_DICTIONARY",
          dictionary_bits=None, dictionary_offset=True, data_page_version=1, page_index=False, statistics="chunk",
          crc=False, runs="mixed", created_by="fixtures version 1.0.0"):
    """Write a file of `columns` (name -> Column); returns its Layout.

    metadata: dict for key_value_metadata; a pair whose value is None has no value field.
    rows_per_group: rows of a row group, or a sequence of such counts, repeated; None: all rows (0 in a sequence: empty).
    rows_per_page: the same for pages; or a dict by column name or leaf path.
    values_per_page: cuts pages by slots instead, also inside rows (version 1 without page index only).
    codec: a name of CODECS, or a dict by column name or leaf path (the others are UNCOMPRESSED).
    dictionary: True, False, or a set of column names or leaf paths; never for booleans.
    dictionary_limit: entries; from the first page that would need more, a chunk continues in the column's encoding.
    dictionary_encoding: "RLE_DICTIONARY" or the old "PLAIN_DICTIONARY" (then also of the dictionary page).
    dictionary_bits: width of the indices; None: the smallest that the dictionary needs so far.
    dictionary_offset: False omits dictionary_page_offset; data_page_offset then points at the dictionary page.
    page_index: True, or "offset" for the offset index alone.
    statistics: "chunk", "page" (also in page headers), "old" (deprecated fields alone) or False.
    runs: packing of levels and indices: "mixed", "rle" or "packed"."""
    options = SimpleNamespace(**locals())
    if values_per_page and (page_index or data_page_version == 2):
        raise ValueError("pages that split rows need version 1 and no page index")
    if len({len(column.values) for column in columns.values()}) > 1:
        raise ValueError("columns of different lengths")
    total = max((len(column.values) for column in columns.values()), default=0)
    root, layout, groups = Node(None, "schema", None), Layout(), []
    for name, column in columns.items():
        build(root, name, column.kind, OPTIONAL if column.optional else REQUIRED, column)
    tops = dict(zip(columns, root.children))
    with open(path, "wb") as out:
        out.write(b"PAR1")
        for group, (start, end) in enumerate(pieces(total, rows_per_group)):
            chunks = []
            for name, column in columns.items():
                for leaf in tops[name].leaves():
                    leaf.slots = []
                for value in column.values[start:end]:
                    tops[name].shred(value)
                for leaf in tops[name].leaves():
                    chunk = Chunk(out, leaf, column, options, group, layout)
                    chunk.size, chunk.slots = out.tell() - chunk.start, leaf.slots
                    chunks.append(chunk)
            groups.append((chunks, end - start))
        every = [chunk for chunks, _ in groups for chunk in chunks]
        places = {chunk: [None] * 4 for chunk in every}
        for at, wanted in ((2, page_index is True), (0, bool(page_index))):     # column indices come first
            for chunk in every if wanted else ():
                body = thrift((1, LIST, (STRUCT, chunk.locations))) if at == 0 else column_index(chunk.bounds)
                if body and chunk.locations:
                    places[chunk][at:at + 2] = out.tell(), len(body)
                    out.write(body)
        rows = []
        for ordinal, (chunks, count) in enumerate(groups):
            rows.append(thrift((1, LIST, (STRUCT, [chunk.thrift(places[chunk]) for chunk in chunks])),
                               (2, I64, sum(chunk.raw for chunk in chunks)), (3, I64, count),
                               (5, I64, chunks[0].start if chunks else None),
                               (6, I64, sum(chunk.size for chunk in chunks)), (7, I16, ordinal)))
        pairs = [thrift((1, BINARY, key), (2, BINARY, value)) for key, value in (metadata or {}).items()]
        orders = [union(1)] * len(root.leaves())
        footer = thrift((1, I32, data_page_version), (2, LIST, (STRUCT, root.thrift())), (3, I64, total),
                        (4, LIST, (STRUCT, rows)), (5, LIST, (STRUCT, pairs) if pairs else None),
                        (6, BINARY, created_by), (7, LIST, (STRUCT, orders)))
        out.write(footer + struct.pack("<I", len(footer)) + b"PAR1")
    return layout


# ---- Hugging Face ----

def feature(spec):
    """Returns one feature: "image", a dtype, a tuple of class names, [spec] for a list, or a dict that is used unchanged."""
    if isinstance(spec, list):
        return [feature(spec[0])]
    if isinstance(spec, tuple):
        return {"names": list(spec), "_type": "ClassLabel"}
    if isinstance(spec, dict):
        return spec
    return {"_type": "Image"} if spec == "image" else {"dtype": spec, "_type": "Value"}


def features_json(**specs):
    """Returns the value of the key "huggingface": features_json(image="image", label=("cat", "dog"), text="string")."""
    return json.dumps({"info": {"features": {name: feature(spec) for name, spec in specs.items()}}})

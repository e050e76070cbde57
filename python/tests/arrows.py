# SPDX-License-Identifier: Apache-2.0
"""Small Arrow IPC streams, files and `datasets` folders for tests, written from the specification alone.

    write_stream("x.arrow", {"image": Column("image", [{"bytes": b"...", "path": "a.jpg"}, None]),
                             "label": Column("int64", [3, 4])}, rows_per_batch=1)

A kind is a leaf of LEAVES, `null`, `fixed[N]`, `list<KIND>`, `large_list<KIND>`, `fixed_list[N]<KIND>`,
`struct<name:KIND,...>`, `dictionary[INDEX]<KIND>` (INDEX an integer kind) or `image`, which is
`struct<bytes:binary,path:string>`. Values are Python's own: None is null at any level, a list a list, a dict a struct.
"""
import json
import os
import struct

from parquets import feature, features_json, have, lz4_frame, pieces, split_fields, zstd

__all__ = ["Column", "Layout", "features_json", "have", "save_cache", "save_dict", "save_to_disk", "write_file",
           "write_stream"]

V4, V5 = 3, 4
SCHEMA, DICTIONARY, BATCH = 1, 2, 3     # message headers


class Kept(int):
    """A scalar that is written even if its value is 0, unlike a default."""

    def __bool__(self):
        return True


INTEGERS = {f"{sign}int{bits}": (bits, not sign) for sign in ("", "u") for bits in (8, 16, 32, 64)}
FORMATS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
           "uint64": "Q", "float16": "e", "float": "f", "double": "d", "date": "i", "timestamp_us": "q"}
BYTES = {"string": "i", "binary": "i", "large_string": "q", "large_binary": "q"}     # format of the offsets
LEAVES = {  # kind: (number in the union Type, fields of its table)
    **{kind: (2, [(0, "i", bits), (1, "B", signed)]) for kind, (bits, signed) in INTEGERS.items()},
    "float16": (3, []), "float": (3, [(0, "h", 1)]), "double": (3, [(0, "h", 2)]), "binary": (4, []),
    "string": (5, []), "bool": (6, []), "date": (8, [(0, "h", Kept(0))]), "timestamp_us": (10, [(0, "h", 2)]),
    "large_binary": (19, []), "large_string": (20, []), "null": (1, []),
}


# ---- flatbuffers ----

class Flat:
    """A flatbuffer written front to back: each object, then its children; the offsets are filled in afterwards.

    A table is a list of fields (slot, format, value): a scalar with its struct format, or "o" and a child, which is a
    table (list), a string (str), a vector of tables ("tables", [...]), of numbers (format, [...]) or of structs with
    8-byte alignment ("structs", [bytes, ...]). Like real writers, it leaves out scalars of value 0."""

    def __init__(self, root):
        self.out = bytearray(4)
        self.link(0, root)

    def link(self, place, child):
        """Write a child and the offset that leads to it."""
        struct.pack_into("<I", self.out, place, self.child(child) - place)

    def align(self, size, short=0):
        """Pad so that the end plus `short` is a multiple of `size`."""
        self.out += bytes(-(len(self.out) + short) % size)

    def child(self, child):
        if isinstance(child, list):
            return self.table(child)
        if isinstance(child, str):
            self.align(4)
            start, data = len(self.out), child.encode()
            self.out += struct.pack("<I", len(data)) + data + b"\0"
            return start
        kind, items = child
        if kind == "structs":
            self.align(8, 4)
            start = len(self.out)
            self.out += struct.pack("<I", len(items)) + b"".join(items)
            return start
        if kind != "tables":
            self.align(8, 4)
            start = len(self.out)
            self.out += struct.pack(f"<I{len(items)}{kind}", len(items), *items)
            return start
        self.align(4)
        start = len(self.out)
        self.out += struct.pack("<I", len(items)) + bytes(4 * len(items))
        for index, item in enumerate(items):
            self.link(start + 4 + 4 * index, item)
        return start

    def table(self, fields):
        fields = [field for field in fields if field[2] is not None and not (field[1] != "o" and not field[2])]
        slots = max((field[0] for field in fields), default=-1) + 1
        places, at = [0] * slots, 4         # the table starts 4 short of 8, so large fields come first
        widths = {field[0]: 4 if field[1] == "o" else struct.calcsize(field[1]) for field in fields}
        ordered = sorted(fields, key=lambda field: -widths[field[0]])
        for slot, _, _ in ordered:
            places[slot], at = at, at + widths[slot]
        self.align(8, 4 + 2 * slots + 4)
        size = 4 + 2 * slots
        self.out += struct.pack(f"<{slots + 2}H", size, at, *places)
        start = len(self.out)
        self.out += struct.pack("<i", size) + bytes(at - 4)
        for slot, form, value in ordered:
            if form != "o":
                struct.pack_into("<" + form, self.out, start + places[slot], value)
        for slot, form, value in fields:
            if form == "o":
                self.link(start + places[slot], value)
        return start


def key_values(pairs):
    """Returns custom_metadata, or None if it is empty."""
    return ("tables", [[(0, "o", key), (1, "o", value)] for key, value in pairs.items()]) if pairs else None


# ---- schema ----

class Column:
    """A column's kind and values. `metadata` is the field's own; every level except the top one is nullable."""

    def __init__(self, kind, values, optional=True, *, metadata=None):
        self.kind, self.values, self.optional, self.metadata = kind, list(values), optional, metadata


class Field:
    """One field of the schema tree; children come from its kind, dictionaries number themselves."""

    def __init__(self, name, kind, numbers, nullable=True, metadata=None, path=None):
        kind = {"image": "struct<bytes:binary,path:string>", "boolean": "bool"}.get(kind, kind)
        self.name, self.kind, self.nullable, self.metadata = name, kind, nullable, metadata
        self.path, self.children, self.size, self.dictionary, self.index = path or name, [], 0, None, None
        head, _, rest = kind.partition("<")
        head, _, inside = head.partition("[")
        self.head = head
        if head == "dictionary":
            self.index, self.dictionary = inside[:-1], len(numbers)
            numbers.append(self)
            self.inner = Field(name, rest[:-1], numbers, path=self.path)
        elif head == "struct":
            self.children = [Field(key, inner, numbers, path=f"{self.path}.{key}")
                             for key, inner in split_fields(rest[:-1])]
        elif head in ("list", "large_list", "fixed_list"):
            self.children = [Field("item", rest[:-1], numbers, path=self.path)]
        if head in ("fixed", "fixed_list"):
            self.size = int(inside[:-1])

    def type(self):
        """Number in the union Type, and the type's table."""
        nested = {"list": (12, []), "struct": (13, []), "fixed": (15, [(0, "i", self.size)]),
                  "fixed_list": (16, [(0, "i", self.size)]), "large_list": (21, [])}
        return nested.get(self.head) or LEAVES[self.head]

    def table(self):
        """The Field table."""
        source, coding = self, None
        if self.dictionary is not None:
            source, coding = self.inner, [(0, "q", self.dictionary), (1, "o", LEAVES[self.index][1])]
        number, fields = source.type()
        children = [child.table() for child in source.children]
        return [(0, "o", self.name), (1, "B", self.nullable), (2, "B", number), (3, "o", fields), (4, "o", coding),
                (5, "o", ("tables", children)), (6, "o", key_values(self.metadata))]


# ---- arrays ----

def bitmap(bits):
    """Bits, least significant first."""
    out = bytearray((len(bits) + 7) // 8)
    for index, bit in enumerate(bits):
        out[index >> 3] |= bool(bit) << (index & 7)
    return bytes(out)


class Arrays:
    """The nodes and buffers of arrays, depth first; `spans` are (path, buffer, positions of the values in it)."""

    def __init__(self, options, entries):
        self.options, self.entries = options, entries
        self.nodes, self.buffers, self.spans = [], [], []

    def add(self, field, values):
        """Appends one array; fails on a null in a field that is not nullable."""
        nulls = sum(value is None for value in values)
        if nulls and not field.nullable:
            raise ValueError(f"null in the required {field.path}")
        self.nodes.append(struct.pack("<qq", len(values), nulls))
        if field.head == "null":
            return
        plain = nulls == 0 and self.options["validity"] != "always"
        self.buffers.append(b"" if plain else bitmap([value is not None for value in values]))
        if field.dictionary is not None:
            known = self.entries[field.dictionary]
            found = [None if value is None else known.setdefault(value, len(known)) for value in values]
            self.numbers(FORMATS[field.index], found)
        elif field.head in FORMATS:
            self.numbers(FORMATS[field.head], values)
        elif field.head == "bool":
            self.buffers.append(bitmap(values))
        elif field.head in BYTES:
            self.bytes(field, values)
        elif field.head == "fixed":
            self.spans.append((field.path, len(self.buffers), [
                None if value is None else (index * field.size, field.size) for index, value in enumerate(values)]))
            self.buffers.append(b"".join(bytes(field.size) if value is None else value for value in values))
        elif field.head == "struct":
            for child in field.children:
                self.add(child, [None if value is None else value.get(child.name) for value in values])
        elif field.head == "fixed_list":
            self.add(field.children[0], [item for value in values for item in value or [None] * field.size])
        else:
            slack = self.options["slack"]
            offsets = self.offsets("q" if field.head == "large_list" else "i", [len(value or ()) for value in values])
            self.buffers.append(offsets)
            self.add(field.children[0], [None] * slack + [item for value in values for item in value or ()])

    def numbers(self, form, values):
        self.buffers.append(struct.pack(f"<{len(values)}{form}", *[value or 0 for value in values]))

    def offsets(self, form, lengths):
        """Returns the offsets of values of these lengths, the first one after the slack."""
        out = [self.options["slack"]]
        for length in lengths:
            out.append(out[-1] + length)
        return struct.pack(f"<{len(out)}{form}", *out)

    def bytes(self, field, values):
        parts = [value.encode() if isinstance(value, str) else value or b"" for value in values]
        self.buffers.append(self.offsets(BYTES[field.head], [len(part) for part in parts]))
        at, places = self.options["slack"], []
        for value, part in zip(values, parts):
            places.append(None if value is None else (at, len(part)))
            at += len(part)
        self.spans.append((field.path, len(self.buffers), places))
        self.buffers.append(b"?" * self.options["slack"] + b"".join(parts))

    def message(self):
        """Returns the RecordBatch table without its length, the body, and the start of each buffer in it."""
        body, table, starts = bytearray(), [], []
        for buffer in self.buffers:
            if self.options["codec"] and buffer:
                small = zstd(buffer) if self.options["codec"] == "ZSTD" else lz4_frame(buffer)
                gain = len(small) < len(buffer)
                buffer = struct.pack("<q", len(buffer) if gain else -1) + (small if gain else buffer)
            starts.append(len(body))
            table.append(struct.pack("<qq", len(body), len(buffer)))
            body += buffer
            body += bytes(-len(body) % self.options["alignment"])
        coded = [(0, "b", int(self.options["codec"] == "ZSTD"))] if self.options["codec"] else None    # each buffer separately
        return [(1, "o", ("structs", self.nodes)), (2, "o", ("structs", table)), (3, "o", coded)], bytes(body), starts


# ---- streams and files ----

class Layout:
    """Positions of everything that was written.

    batches, dictionaries: (offset of the message, its metadata's size with the prefix, its body's size).
    spans: path ("image.bytes"; items have their list's path) -> for each slot of the leaf's arrays, batch after batch,
    (offset, length) of its bytes in the file, or None for null; empty if bodies are compressed."""

    def __init__(self):
        self.batches, self.dictionaries, self.spans = [], [], {}


class Writer:
    """Appends encapsulated messages to an open file."""

    def __init__(self, out, options):
        self.out, self.options, self.layout = out, options, Layout()
        self.version = V4 if options["legacy"] else V5

    def message(self, kind, header, body=b""):
        """Writes one message. Returns its position."""
        data = Flat([(0, "h", self.version), (1, "B", kind), (2, "o", header), (3, "q", len(body))]).out
        prefix = b"" if self.options["legacy"] else b"\xff" * 4
        data += bytes(-(len(prefix) + 4 + len(data)) % 8)
        offset = self.out.tell()
        self.out.write(prefix + struct.pack("<i", len(data)) + data + body)
        return offset, len(prefix) + 4 + len(data), len(body)

    def dictionary(self, field, keys, delta):
        """A dictionary batch of one field."""
        arrays = Arrays(self.options, None)
        arrays.add(field.inner, keys)
        fields, body, _ = arrays.message()
        header = [(0, "q", field.dictionary), (1, "o", [(0, "q", len(keys))] + fields), (2, "B", delta)]
        self.layout.dictionaries.append(self.message(DICTIONARY, header, body))

    def batch(self, arrays, rows):
        """A record batch."""
        fields, body, starts = arrays.message()
        place = self.message(BATCH, [(0, "q", rows)] + fields, body)
        self.layout.batches.append(place)
        for path, buffer, slots in arrays.spans if not self.options["codec"] else ():
            base = place[0] + place[1] + starts[buffer]
            self.layout.spans.setdefault(path, []).extend(slot and (base + slot[0], slot[1]) for slot in slots)

    def table(self, columns, metadata):
        """Writes the schema, dictionaries, batches and the end marker. Returns the Schema table."""
        numbers, options = [], self.options
        tops = [Field(name, column.kind, numbers, column.optional, column.metadata) for name, column in columns.items()]
        schema = [(1, "o", ("tables", [top.table() for top in tops])), (2, "o", key_values(metadata))]
        self.message(SCHEMA, schema)
        lengths = {len(column.values) for column in columns.values()}
        if len(lengths) > 1:
            raise ValueError("columns of different lengths")
        ranges = pieces(max(lengths, default=0), options["rows_per_batch"])
        mode, entries, sent, batches = options["dictionaries"], [{} for _ in numbers], [0] * len(numbers), []

        def send(delta):
            for field in numbers:
                keys = list(entries[field.dictionary])
                start = sent[field.dictionary] if delta else 0
                if len(keys) > start or not delta:
                    self.dictionary(field, keys[start:], delta)
                sent[field.dictionary] = len(keys)

        for index, (start, end) in enumerate(ranges):
            if mode == "replace":
                entries = [{} for _ in numbers]
            arrays = Arrays(options, entries)
            for top, column in zip(tops, columns.values()):
                arrays.add(top, column.values[start:end])
            if mode == "whole":
                batches.append((arrays, end - start))
                continue
            send(mode == "delta" and index > 0)
            self.batch(arrays, end - start)
        if mode == "whole":
            send(False)
            for arrays, rows in batches:
                self.batch(arrays, rows)
        if options["end"]:
            self.out.write((b"" if options["legacy"] else b"\xff" * 4) + bytes(4))
        return schema


def _options(file, rows_per_batch=None, codec=None, dictionaries="whole", validity="needed", alignment=8, slack=0,
             legacy=False, end=True):
    if codec not in (None, "ZSTD", "LZ4") or alignment % 8 or (file and dictionaries == "replace"):
        raise ValueError("options that the format does not have")
    return {"rows_per_batch": rows_per_batch, "codec": codec, "dictionaries": dictionaries, "validity": validity,
            "alignment": alignment, "slack": slack, "legacy": legacy, "end": end}


def write_stream(path, columns, *, metadata=None, **options):
    """Write the stream format; returns its Layout.

    metadata: dict for the schema's custom_metadata.
    rows_per_batch: rows of a record batch, or a sequence of such counts, repeated; None: all rows.
    codec: None, "ZSTD" or "LZ4" (frames), for each buffer separately; a buffer that does not shrink stays uncompressed.
    dictionaries: "whole" (before the first batch), "delta" (as they grow) or, in streams, "replace" (one per batch).
    validity: "needed" omits the bitmap if there are no nulls; "always" writes it.
    alignment: alignment of the buffers in a body, a multiple of 8.
    slack: bytes or items before the first value of variable-length arrays, so that offsets do not begin at 0.
    legacy: version V4 without continuation markers, as before Arrow 0.15.
    end: True if the end marker is written; a stream may also just stop."""
    with open(path, "wb") as out:
        writer = Writer(out, _options(False, **options))
        writer.table(columns, metadata)
    return writer.layout


def write_file(path, columns, *, metadata=None, **options):
    """Write the file format, with a footer; options and result as for write_stream."""
    with open(path, "wb") as out:
        writer = Writer(out, _options(True, **options))
        out.write(b"ARROW1\0\0")
        schema = writer.table(columns, metadata)
        blocks = [("structs", [struct.pack("<qi4xq", *place) for place in places])
                  for places in (writer.layout.dictionaries, writer.layout.batches)]
        footer = Flat([(0, "h", writer.version), (1, "o", schema), (2, "o", blocks[0]), (3, "o", blocks[1])]).out
        out.write(footer + struct.pack("<i", len(footer)) + b"ARROW1")
    return writer.layout


# ---- Hugging Face ----

def _shards(folder, pattern, columns, features, shards, options):
    """Stream files of consecutive rows; returns their names and Layouts."""
    total = max((len(column.values) for column in columns.values()), default=0)
    names, layouts = [], []
    for shard in range(shards):
        start, end = total * shard // shards, total * (shard + 1) // shards
        part = {name: Column(column.kind, column.values[start:end], column.optional, metadata=column.metadata)
                for name, column in columns.items()}
        names.append(pattern.format(shard=shard, shards=shards))
        layouts.append(write_stream(os.path.join(folder, names[-1]), part,
                                    metadata={"huggingface": features_json(**features)}, **options))
    return names, layouts


def _json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        json.dump(value, out, indent=2, sort_keys=True)


def _info(features, **more):
    return {"citation": "", "description": "", "homepage": "", "license": "",
            "features": {name: feature(spec) for name, spec in features.items()}, **more}


def save_to_disk(folder, columns, features, shards=2, indices=None, *, split="train",
                 indices_key="_indices_data_files", **options):
    """Write the folder that Dataset.save_to_disk makes; returns the Layouts of its shards.

    features: as for features_json. indices: row numbers; state.json then names, under `indices_key`, a stream with the
    single column "indices" (uint64), as versions 1.x wrote it. The other options are write_stream's."""
    os.makedirs(folder, exist_ok=True)
    names, layouts = _shards(folder, "data-{shard:05d}-of-{shards:05d}.arrow", columns, features, shards, options)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0123456789abcdef",
             "_format_columns": None, "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False,
             "_split": split}
    if indices is not None:
        write_stream(os.path.join(folder, "indices.arrow"), {"indices": Column("uint64", indices)})
        state[indices_key] = [{"filename": "indices.arrow"}]
    _json(folder, "state.json", state)
    _json(folder, "dataset_info.json", _info(features))
    return layouts


def save_dict(folder, splits, features, **options):
    """Write the folder that DatasetDict.save_to_disk makes from {split: columns}; returns {split: Layouts}."""
    os.makedirs(folder, exist_ok=True)
    _json(folder, "dataset_dict.json", {"splits": list(splits)})
    return {split: save_to_disk(os.path.join(folder, split), columns, features, split=split, **options)
            for split, columns in splits.items()}


def save_cache(folder, name, columns, features, split="train", shards=1, **options):
    """Write the files of one split in the library's cache: NAME-SPLIT.arrow, or several with numbers."""
    os.makedirs(folder, exist_ok=True)
    number = "-{shard:05d}-of-{shards:05d}" if shards > 1 else ""
    names, layouts = _shards(folder, f"{name}-{split}{number}.arrow", columns, features, shards, options)
    total = max((len(column.values) for column in columns.values()), default=0)
    size = sum(os.path.getsize(os.path.join(folder, file)) for file in names)
    _json(folder, "dataset_info.json", _info(features, splits={split: {
        "name": split, "num_bytes": size, "num_examples": total, "dataset_name": name}}))
    return layouts

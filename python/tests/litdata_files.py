# SPDX-License-Identifier: Apache-2.0
"""An oracle made from the LitData specification: it writes chunks and index.json, and shares no code with the reader."""
# A chunk is u32 n, u32 offsets[n + 1] from the start of the file, then the items. An item is one u32 size a leaf, for
# all leaves, then the bytes of the leaves; a TokensLoader item is the bytes of its one leaf alone. All numbers are
# little-endian, except the header of a 'tensor' leaf, which is big-endian since LitData 0.2.57.
import json
import os
import pickle
import struct
import time

import numpy as np

import zstds

# The number of a type in a leaf or a data_format. Some torch types have two numbers (0 and 1 are float32): the
# writer uses the higher one, a reader must accept both.
TORCH = {"float32": 1, "float64": 3, "complex64": 5, "complex128": 7, "float16": 9, "bfloat16": 10, "uint8": 11,
         "int8": 12, "int16": 14, "int32": 16, "int64": 18, "bool": 19, "uint16": 20}
NUMPY = {"int8": 0, "int16": 1, "int32": 2, "int64": 3, "uint8": 4, "uint16": 5, "uint32": 6, "uint64": 7,
         "float16": 8, "float32": 9, "float64": 10, "complex64": 11, "complex128": 12, "bool": 13}
LEAF = {"type": None, "context": None, "children_spec": []}


def _array(value):
    value = np.asarray(value)
    return value.dtype.name, value.shape, value.astype(value.dtype.newbyteorder("<")).tobytes()


def full_name(form, value):
    """Returns the name of a leaf in data_format: 'no_header_tensor' and 'no_header_numpy' get the number of their type."""
    numbers = {"no_header_tensor": TORCH, "no_header_numpy": NUMPY}.get(form)
    return "%s:%d" % (form, numbers[np.asarray(value).dtype.name]) if numbers else form


def encode(form, value, tensor_order=">"):
    """Returns the bytes of one leaf. Bytes are stored unchanged; 'jpeg', 'bytes', 'file:x' and the like accept nothing else."""
    base = form.partition(":")[0]
    if isinstance(value, bytes):
        return value
    if base == "int":
        return struct.pack("<q", value)
    if base == "float":
        return struct.pack("<d", value)
    if base == "bool":
        return b"\1" if value else b"\0"
    if base in ("str", "text"):
        return value.encode()
    if base in ("no_header_tensor", "no_header_numpy"):
        return _array(value)[2]
    if base in ("tensor", "numpy"):
        name, shape, data = _array(value)
        number, order = (TORCH[name], tensor_order) if base == "tensor" else (NUMPY[name], "<")
        return struct.pack("%s%dI" % (order, 2 + len(shape)), number, len(shape), *shape) + data
    if base == "pil":
        if not isinstance(value, tuple):
            value = np.ascontiguousarray(value, "u1")
            mode = {2: "L", 3: {3: "RGB", 4: "RGBA"}.get(value.shape[-1])}[value.ndim]
            value = mode, value.shape[1], value.shape[0], value.tobytes()
        mode, width, height, raw = value
        return struct.pack("<III", width, height, len(mode)) + mode.encode() + raw
    if base == "jpeg_array":
        return struct.pack("<%dI" % (1 + len(value)), len(value), *map(len, value)) + b"".join(value)
    if base == "pickle":
        return pickle.dumps(value)
    raise ValueError("no %s in format %s" % (type(value).__name__, form))


def spec(tree):
    """Returns the schema of a tree; a dict keeps the order of its keys, and anything but a dict, list or tuple is a leaf."""
    if isinstance(tree, dict):
        children = [spec(child) for child in tree.values()]
        return {"type": "builtins.dict", "context": json.dumps(list(tree)), "children_spec": children}
    if isinstance(tree, (list, tuple)):
        name = "builtins.list" if isinstance(tree, list) else "builtins.tuple"
        return {"type": name, "context": "null", "children_spec": [spec(child) for child in tree]}
    return LEAF


def leaves(tree):
    if isinstance(tree, (dict, list, tuple)):
        return [x for child in (tree.values() if isinstance(tree, dict) else tree) for x in leaves(child)]
    return [tree]


def dump(schema):
    """Returns config.data_spec: a JSON text of [1, schema], which is a string in index.json."""
    return json.dumps([1, schema])


def write(folder, formats, samples, *, data_spec=None, chunk_samples=None, chunk_bytes=None, compression=None,
          item_loader="PyTreeLoader", rank=0, tensor_order=">", updated_at=True, keep_raw=False, old_chunk_bytes=False):
    """Write a data set; returns the object in index.json.

    formats: one name per leaf ('jpeg', 'int', 'str', 'no_header_tensor', 'image:png'...). samples: for each one a list of
    the leaves' values in that order. data_spec: an example of a sample with anything as leaves, {'image': 0, 'label':
    0}, or the text itself; default: a list of leaves. A chunk ends after chunk_samples items, or before the item that
    would make the items alone exceed chunk_bytes; without either there is one chunk. With the TokensLoader the
    count is in tokens, and the one leaf is 'no_header_tensor' or 'no_header_numpy'.
    compression: None, 'zstd' (level 4) or 'zstd:7'; a colon also appears in the chunks' names. keep_raw keeps the
    uncompressed chunk as well. tensor_order: '<' writes 'tensor' headers as before 0.2.57. updated_at: a number,
    True for the clock, False to omit the key, as before 0.2.23. old_chunk_bytes: chunk_bytes without the chunk's own
    header, as before 0.2.40. item_loader: None omits the key, as in the first releases."""
    os.makedirs(folder, exist_ok=True)
    tokens = item_loader == "TokensLoader"
    names = [full_name(f, v) for f, v in zip(formats, samples[0])] if samples else list(formats)
    if data_spec is None:
        data_spec = [0] * len(formats)
    if not isinstance(data_spec, str):
        if len(leaves(data_spec)) != len(formats):
            raise ValueError("data_spec has not one leaf a format")
        data_spec = dump(spec(data_spec))
    chunks, items, size, count = [], [], 0, 0

    def flush(items):
        start = 4 + 4 * (len(items) + 1)
        ends = np.cumsum([start] + [len(data) for data, _ in items])
        raw = np.array([len(items), *ends], "<u4").tobytes() + b"".join(data for data, _ in items)
        name = "chunk-%d-%d.%sbin" % (rank, len(chunks), compression + "." if compression else "")
        data = raw
        if compression:
            data = zstds.compress(raw, int(compression.partition(":")[2] or 4))
            if keep_raw:
                with open(os.path.join(folder, name.replace("." + compression, "")), "wb") as f:
                    f.write(raw)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        chunks.append({"chunk_bytes": len(raw) - start * old_chunk_bytes, "chunk_size": len(items), "filename": name,
                       "dim": sum(n for _, n in items) if tokens and items[0][1] else None})

    for sample in samples:
        if len(sample) != len(names):
            raise ValueError("%d values for %d leaves" % (len(sample), len(names)))
        parts = [encode(f, v, tensor_order) for f, v in zip(names, sample)]
        item = parts[0] if tokens else np.array([len(p) for p in parts], "<u4").tobytes() + b"".join(parts)
        items.append((item, np.asarray(sample[0]).shape[0] if tokens else 1))
        size, count = size + len(item), count + (items[-1][1] or 1)
        if (chunk_bytes and size > chunk_bytes) or (chunk_samples and count > chunk_samples):
            flush(items[:-1] or items)
            items = items[-1:] if len(items) > 1 else []
            size, count = sum(len(data) for data, _ in items), sum(n or 1 for _, n in items)
    if items:
        flush(items)
    index = {"chunks": chunks, "config": {
        "compression": compression, "chunk_size": chunk_samples, "chunk_bytes": chunk_bytes, "data_format": names,
        "data_spec": data_spec, "encryption": None, "item_loader": item_loader}}
    if item_loader is None:
        del index["config"]["item_loader"]
    if updated_at:
        index["updated_at"] = str(time.time() if updated_at is True else updated_at)
    with open(os.path.join(folder, "index.json"), "w") as f:
        json.dump(index, f, sort_keys=True)
    return index

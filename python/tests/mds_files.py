# SPDX-License-Identifier: Apache-2.0
"""An oracle made from the MosaicML MDS specification: it writes shards and index.json, and shares no code with the reader."""
# A shard is u32 n, u32 offsets[n + 1] from the start of the file, a JSON text of its settings, then the samples. A
# sample is one u32 size for each column whose size varies, then the bytes of all columns; columns go in the order of
# their names. All numbers are little-endian.
import bz2
import ctypes
import gzip
import hashlib
import json
import os
import pickle

import numpy as np

import parquets
import zstds

SCALARS = {"int": "<i8", **{k: np.dtype(k).newbyteorder("<").str for k in (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")}}
ARRAYS = {"uint8": 8, "int8": 9, "uint16": 16, "int16": 17, "float16": 18, "uint32": 32, "int32": 33, "float32": 34,
          "uint64": 64, "int64": 65, "float64": 66}
LEVELS = {"zstd": 3, "gz": 9, "bz2": 9, "br": 5, "snappy": 0}


def _u32(*values):
    return np.array(values, "<u4").tobytes()


def _array_type(encoding):
    """'ndarray[:dtype[:shape]]' -> (dtype or None, shape or None)."""
    parts = [p for p in encoding.split(":")[1:] if p]
    if len(parts) > 2 or (parts and parts[0] not in ARRAYS):
        raise ValueError("no such array encoding: " + encoding)
    shape = tuple(int(d) for d in parts[1].split(",")) if len(parts) == 2 else None
    return (parts[0] if parts else None), shape


def _array(encoding, value):
    """[dtype code] [ndim << 2 | log2 of a dimension's width] [dimensions] values, without the parts that the encoding fixes."""
    dtype, shape = _array_type(encoding)
    value = np.asarray(value)
    if value.size == 0 or value.ndim == 0 or value.ndim > 63:
        raise ValueError("MDS has no array of shape %r" % (value.shape,))
    if (dtype or value.dtype.name) != value.dtype.name or (shape or value.shape) != value.shape:
        raise ValueError("%s cannot hold %s%r" % (encoding, value.dtype.name, value.shape))
    head = b"" if dtype else bytes([ARRAYS[value.dtype.name]])
    if shape is None:
        width = next(i for i in range(4) if max(value.shape) < 1 << (8 << i))
        head += bytes([value.ndim << 2 | width]) + np.array(value.shape, "<u%d" % (1 << width)).tobytes()
    return head + value.astype(value.dtype.newbyteorder("<")).tobytes()


def _pil(value):
    """An array of bytes (h x w, h x w x 3 or 4), or (mode, width, height, raw bytes) for any other mode."""
    if not isinstance(value, tuple):
        value = np.ascontiguousarray(value, "u1")
        mode = {2: "L", 3: {3: "RGB", 4: "RGBA"}.get(value.shape[-1])}[value.ndim]
        value = mode, value.shape[1], value.shape[0], value.tobytes()
    mode, width, height, raw = value
    return _u32(width, height, len(mode.encode())) + mode.encode() + raw


def encode(encoding, value):
    """Returns the bytes of one column of one sample; bytes are stored unchanged for any encoding, as in the real writer."""
    if isinstance(value, bytes):
        return value
    if encoding in SCALARS:
        return np.array(value, SCALARS[encoding]).tobytes()
    if encoding == "ndarray" or encoding.startswith("ndarray:"):
        return _array(encoding, value)
    if encoding in ("jpeg_array", "jpegarray"):
        return _u32(len(value), *map(len, value)) + b"".join(value)
    if encoding in ("list[jpeg]", "list[png]", "list[pil]"):
        value = [encode(encoding[5:-1], v) for v in value]
        return _u32(0, len(value), *map(len, value)) + b"".join(value)
    if encoding == "pil":
        return _pil(value)
    if encoding == "json":
        return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value).encode()
    if encoding in ("str", "str_int", "str_float", "str_decimal"):
        return str(value).encode()
    if encoding == "pkl":
        return pickle.dumps(value)
    raise ValueError("no %s in encoding %s" % (type(value).__name__, encoding))


def fixed_size(encoding):
    """Returns the byte size of every value of this encoding, or None if it varies."""
    if encoding in SCALARS:
        return np.dtype(SCALARS[encoding]).itemsize
    if encoding.startswith("ndarray:"):
        dtype, shape = _array_type(encoding)
        return int(np.prod(shape)) * np.dtype(dtype).itemsize if shape else None
    return None


def encode_sample(columns, sample):
    names = sorted(columns)
    values = [encode(columns[n], sample[n]) for n in names]
    sizes = []
    for name, value in zip(names, values):
        size = fixed_size(columns[name])
        if size is None:
            sizes.append(len(value))
        elif size != len(value):
            raise ValueError("column %s: %d bytes where %s has %d" % (name, len(value), columns[name], size))
    return _u32(*sizes) + b"".join(values)


def encode_shard(config, samples):
    text = json.dumps(config, sort_keys=True).encode()
    start = 4 + 4 * (len(samples) + 1) + len(text)
    ends = np.cumsum([start] + [len(s) for s in samples])
    return _u32(len(samples), *ends) + text + b"".join(samples)


def snappy(data):
    """Compresses one block with libsnappy1v5; RuntimeError if the library is missing."""
    library = parquets.shared("libsnappy.so.1")
    library.snappy_max_compressed_length.restype = ctypes.c_size_t
    size = ctypes.c_size_t(library.snappy_max_compressed_length(ctypes.c_size_t(len(data))))
    room = ctypes.create_string_buffer(size.value)
    if library.snappy_compress(data, ctypes.c_size_t(len(data)), room, ctypes.byref(size)) != 0:
        raise RuntimeError("Snappy failed")
    return room.raw[:size.value]


def squeeze(compression, data):
    """Compresses a whole shard: 'zstd', 'zstd:7', 'gz', 'gz:1', 'bz2', 'br', 'snappy'. RuntimeError if the codec is missing."""
    name, _, level = compression.partition(":")
    if name not in LEVELS:
        raise ValueError("no writer for compression " + compression)
    level = int(level or LEVELS[name])
    if name == "zstd":
        return zstds.compress(data, level)
    if name in ("br", "snappy"):
        return parquets.brotli(data) if name == "br" else snappy(data)
    return bz2.compress(data, level) if name == "bz2" else gzip.compress(data, level, mtime=0)


def write(folder, columns, samples, *, shard_bytes=1 << 26, samples_per_shard=None, compression=None, hashes=None,
          version=2, keep_raw=False):
    """Write a data set; returns the object in index.json.

    columns: name -> encoding; samples: a list of name -> value. A shard ends before the sample that would make the file
    (before compression) larger than shard_bytes (None: no limit), or after samples_per_shard samples. keep_raw keeps
    the uncompressed shard beside the compressed one, as a reader's cache does."""
    os.makedirs(folder, exist_ok=True)
    names, hashes = sorted(columns), list(hashes or [])
    config = {"version": version, "format": "mds", "compression": compression, "hashes": hashes,
              "size_limit": shard_bytes, "column_names": names, "column_encodings": [columns[n] for n in names],
              "column_sizes": [fixed_size(columns[n]) for n in names]}
    shards, cached = [], []
    empty = size = len(encode_shard(config, []))

    def info(basename, data):
        digests = {h: hashlib.new(h, data).hexdigest() for h in hashes}
        return {"basename": basename, "bytes": len(data), "hashes": digests}

    def put(basename, data):
        with open(os.path.join(folder, basename), "wb") as f:
            f.write(data)
        return info(basename, data)

    def flush():
        base, raw, zipped = "shard.%05d.mds" % len(shards), encode_shard(config, cached), None
        if compression:
            zipped = put(base + "." + compression.partition(":")[0], squeeze(compression, raw))
        raw = put(base, raw) if keep_raw or not compression else info(base, raw)
        shards.append({"samples": len(cached), "raw_data": raw, "zip_data": zipped, **config})

    for sample in samples:
        data = encode_sample(columns, sample)
        # The real writer does not treat a first sample above the limit specially: it writes an empty shard before it.
        if (shard_bytes and size + 4 + len(data) > shard_bytes) or len(cached) == samples_per_shard:
            flush()
            cached, size = [], empty
        cached.append(data)
        size += 4 + len(data)
    if cached:
        flush()
    index = {"version": version, "shards": shards}
    with open(os.path.join(folder, "index.json"), "w") as f:
        json.dump(index, f, sort_keys=True)
    return index


def merge(folder, parts):
    """Merges the data sets in sub-folders of folder into one index.json: base names get their folder, keys are not sorted."""
    shards = []
    for part in parts:
        with open(os.path.join(folder, part, "index.json")) as f:
            more = json.load(f)["shards"]
        for info in (s[k] for s in more for k in ("raw_data", "zip_data") if s[k]):
            info["basename"] = os.path.basename(part) + "/" + info["basename"]
        shards += more
    index = {"version": 2, "shards": shards}
    with open(os.path.join(folder, "index.json"), "w") as f:
        json.dump(index, f)
    return index

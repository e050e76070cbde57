# SPDX-License-Identifier: Apache-2.0
"""An oracle made from the usual LMDB conventions: it writes databases through python3-lmdb, and shares no code with the reader."""
# The LMDB library writes the container. The values are made by hand as people store them: Caffe's Datum,
# images by key, the text-recognition keys, msgpack, pickles. Every function returns the dict of keys and values
# that it wrote.
import os
import pickle
import struct

import lmdb
import numpy as np


def put(path, items, *, folder=True, db=None, txn_size=1000, lock_file=False, integer_keys=False, several=False,
        churn=0):
    """Write pairs of bytes (a dict or a list of pairs).

    folder: data.mdb and lock.mdb in a directory; False: a single file of that name (and name-lock). db: the name of a
    sub-database, which can be added to an existing file. txn_size: pairs per transaction. integer_keys: the keys
    are native u64, given as int (MDB_INTEGERKEY); several: a key may have several values (MDB_DUPSORT); both in a
    sub-database only. churn: number of other pairs that are written first and deleted half-way, to leave free pages
    and reused ones."""
    path = os.fspath(path)
    pairs = list(items.items() if isinstance(items, dict) else items)
    if integer_keys:
        pairs = [(struct.pack("=Q", k), v) for k, v in pairs]
    size = sum(len(k) + len(v) + 64 for k, v in pairs) + churn * 10000
    here = os.path.join(path, "data.mdb") if folder else path
    size += os.path.getsize(here) if os.path.exists(here) else 0
    env = lmdb.open(path, map_size=(4 * size + (4 << 20)) // 4096 * 4096, subdir=folder, max_dbs=16,
                    sync=False)
    try:
        table = env.open_db(db.encode() if db else None, integerkey=integer_keys, dupsort=several)
        junk = [b"\0churn%d" % i for i in range(churn)]
        with env.begin(write=True, db=table) as txn:
            for i, key in enumerate(junk):
                txn.put(key, b"x" * (100, 9000)[i % 2])
        for at in range(0, len(pairs) + 1, txn_size):
            with env.begin(write=True, db=table) as txn:
                for key, value in pairs[at:at + txn_size]:
                    txn.put(key, value)
            if at + txn_size > len(pairs) // 2:
                with env.begin(write=True, db=table) as txn:
                    while junk:
                        txn.delete(junk.pop())
    finally:
        env.close()
    lock = os.path.join(path, "lock.mdb") if folder else path + "-lock"
    if not lock_file and os.path.exists(lock):
        os.remove(lock)
    return dict(pairs)


def _varint(value):
    value &= (1 << 64) - 1  # a negative int32 takes ten bytes
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def datum(data=None, label=None, *, channels=None, height=None, width=None, encoded=None, float_data=None,
          packed=False):
    """A Caffe Datum: 1 channels, 2 height, 3 width, 4 data, 5 label, 6 float_data, 7 encoded; None is left out.

    float_data has a tag for every value, as proto2 does; packed makes one field of them."""
    out = b"".join(_varint(n << 3) + _varint(v) for n, v in ((1, channels), (2, height), (3, width)) if v is not None)
    if data is not None:
        out += _varint(4 << 3 | 2) + _varint(len(data)) + bytes(data)
    if label is not None:
        out += _varint(5 << 3) + _varint(label)
    if float_data is not None:
        values = [struct.pack("<f", v) for v in float_data]
        if packed:
            out += _varint(6 << 3 | 2) + _varint(4 * len(values)) + b"".join(values)
        else:
            out += b"".join(_varint(6 << 3 | 5) + v for v in values)
    return out if encoded is None else out + _varint(7 << 3) + _varint(int(encoded))


def picture(value, label):
    """Returns a Datum as convert_imageset makes it: bytes of a JPEG or PNG are stored encoded, without a size; an array of u8, h x w
    or h x w x 3 in RGB order, is stored raw, as planes, and those of a colour image in the order blue, green, red."""
    if isinstance(value, bytes):
        return datum(value, label, encoded=True)
    value = np.asarray(value, "u1")
    planes = value[None] if value.ndim == 2 else value[:, :, ::-1].transpose(2, 0, 1)
    channels, height, width = planes.shape
    return datum(planes.tobytes(), label, channels=channels, height=height, width=width, encoded=False)


def caffe(path, samples, *, names=None, **how):
    """Writes Datums by '00000000' or, with names, '00000000_name'; samples: (image, label) pairs, or ready Datums."""
    keys = ["%08d" % i + ("_" + names[i] if names else "") for i in range(len(samples))]
    return put(path, {k.encode(): s if isinstance(s, bytes) else picture(*s) for k, s in zip(keys, samples)}, **how)


def pictures(path, files, *, meta=None, **how):
    """Writes image files by key (a dict of str or bytes to bytes). meta: (height, width, channels) by key for the text file
    meta_info.txt that super-resolution tools put into the folder, 'key.png (h,w,c) compression level'."""
    done = put(path, {k if isinstance(k, bytes) else k.encode(): v for k, v in files.items()}, **how)
    if meta:
        with open(os.path.join(path, "meta_info.txt"), "w", encoding="utf-8") as f:
            f.writelines("%s.png (%d,%d,%d) 1\n" % (key, *shape) for key, shape in meta.items())
    return done


def recognition(path, samples, *, count=None, **how):
    """Writes text recognition: 'num-samples' in decimal, then 'image-000000001', 'label-000000001' etc.; (file bytes, text) pairs.

    count: overrides num-samples. A text or an image that is None has no key."""
    items = {b"num-samples": b"%d" % (len(samples) if count is None else count)}
    for i, (image, text) in enumerate(samples, 1):
        if image is not None:
            items[b"image-%09d" % i] = image
        if text is not None:
            items[b"label-%09d" % i] = text.encode()
    return put(path, items, **how)


def _msgpack(value):
    """The shortest msgpack of None, bool, int, float (64 bit), str, bytes, list and dict."""
    def head(n, fix, codes):
        if fix is not None and n < fix[1]:
            return bytes([fix[0] | n])
        code, form = next((c, f) for c, f in codes if n < 1 << 8 * struct.calcsize(">" + f))
        return struct.pack(">B" + form, code, n)

    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        if value >= 0:
            return head(value, (0, 0x80), ((0xCC, "B"), (0xCD, "H"), (0xCE, "I"), (0xCF, "Q")))
        if value >= -32:
            return struct.pack("b", value)
        code, form = next(cf for cf in ((0xD0, "b"), (0xD1, "h"), (0xD2, "i"), (0xD3, "q"))
                          if value >= -1 << 8 * struct.calcsize(">" + cf[1]) - 1)
        return struct.pack(">B" + form, code, value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        value = value.encode()
        return head(len(value), (0xA0, 32), ((0xD9, "B"), (0xDA, "H"), (0xDB, "I"))) + value
    if isinstance(value, bytes):
        return head(len(value), None, ((0xC4, "B"), (0xC5, "H"), (0xC6, "I"))) + value
    if isinstance(value, (list, tuple)):
        return head(len(value), (0x90, 16), ((0xDC, "H"), (0xDD, "I"))) + b"".join(map(_msgpack, value))
    parts = b"".join(_msgpack(k) + _msgpack(v) for k, v in value.items())
    return head(len(value), (0x80, 16), ((0xDE, "H"), (0xDF, "I"))) + parts


def _listed(path, samples, dumps, width, with_length, how):
    keys = [b"%0*d" % (width, i) for i in range(len(samples))]
    items = dict(zip(keys, map(dumps, samples)))
    items[b"__keys__"] = dumps(keys)
    if with_length:
        items[b"__len__"] = dumps(len(keys))
    return put(path, items, **how)


def messages(path, samples, **how):
    """Writes msgpack by '00000000', with the list of the keys under '__keys__', as tensorpack does."""
    return _listed(path, samples, _msgpack, 8, False, how)


def pickled(path, samples, **how):
    """Writes pickles by '0', '1'..., with '__keys__' and '__len__' pickled, too: a reader must reject them, not run them."""
    return _listed(path, samples, pickle.dumps, 1, True, how)


def integers(path, values, *, text=False, **how):
    """Writes plain numbers by '00000000': eight bytes, little-endian, or their decimal text."""
    return put(path, {b"%08d" % i: b"%d" % v if text else struct.pack("<q", v) for i, v in enumerate(values)}, **how)


def tables(path, named, *, folder=True, **how):
    """Writes several sub-databases into one file: name -> {key: value}. The main database then has their names as keys."""
    return {name: put(path, items, folder=folder, db=name, **how) for name, items in named.items()}

# SPDX-License-Identifier: Apache-2.0
"""Files of the chunk cache, written from the description of their layout (src/cache/chunk_file.h), not by the library.

    python3 chunk_files.py FOLDER ADDRESS BYTES [CHUNK ...]

keeps these chunks (all, if none are given) of an object of BYTES zero bytes in FOLDER, and prints the names of the files.
"""
import ctypes
import ctypes.util
import os
import struct
import sys

CHUNK = 8 << 20
ETAG = '"etag"'


def checksum(data):
    """XXH3-64; None: the library is not installed."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        return None
    function = ctypes.CDLL(name).XXH3_64bits
    function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    return function(data, len(data))


def file_name(address, size, chunk):
    key = address.encode() + b"\0" + ETAG.encode() + b"\0" + struct.pack("<Q", size)
    return f"{checksum(key):016x}-{chunk:x}"


def file_bytes(address, size, chunk, data):
    texts = address.encode() + ETAG.encode()
    footer = struct.pack("<8sIIIIQQQQ", b"SLCHUNK", 1, len(address.encode()), len(ETAG), 0, chunk, len(data), size, checksum(data))
    return data + texts + footer + struct.pack("<Q", checksum(texts + footer))


def keep(folder, address, size, chunk, data=None):
    """Writes a chunk's file. Returns its path."""
    data = bytes(min(CHUNK, size - chunk * CHUNK)) if data is None else data
    chunks = os.path.join(folder, "chunks-1")
    os.makedirs(chunks, mode=0o700, exist_ok=True)
    path = os.path.join(chunks, file_name(address, size, chunk))
    with open(path, "wb") as file:
        file.write(file_bytes(address, size, chunk, data))
    return path


if __name__ == "__main__":
    if checksum(b"") is None:
        sys.exit(77)
    to, of, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for number in [int(given) for given in sys.argv[4:]] or range(-(-count // CHUNK)):
        print(keep(to, of, count, number))

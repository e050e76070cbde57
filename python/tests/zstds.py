# SPDX-License-Identifier: Apache-2.0
"""Zstandard for the oracles: one whole frame through the system library, or through the zstd command."""
import ctypes
import ctypes.util
import shutil
import subprocess


class Absent(RuntimeError):
    """This machine has neither the zstd library nor the zstd command."""


def _library():
    for name in ("libzstd.so.1", ctypes.util.find_library("zstd")):
        try:
            lib = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if lib is not None:
            break
    else:
        return None
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    lib.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    lib.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    lib.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return lib


def compress(data, level=3, *, known_size=True):
    """Returns one frame; known_size=False omits the content size from the frame header, like a stream writer."""
    data = bytes(data)
    lib = _library() if known_size else None
    if lib is not None:
        out = ctypes.create_string_buffer(lib.ZSTD_compressBound(len(data)))
        size = lib.ZSTD_compress(out, len(out), data, len(data), level)
        if lib.ZSTD_isError(size):
            raise RuntimeError("zstd could not compress %d bytes at level %d" % (len(data), level))
        return out.raw[:size]
    tool = shutil.which("zstd")
    if tool is None:
        raise Absent("neither libzstd.so.1 nor the zstd command is here")
    size = ["--stream-size=%d" % len(data)] if known_size and data else []
    return subprocess.run([tool, "-q", "-c", "--no-check", "--ultra", "-%d" % level, *size], input=data,
                          stdout=subprocess.PIPE, check=True).stdout

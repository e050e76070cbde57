# SPDX-License-Identifier: Apache-2.0
"""Sources of a pack with `map`: samples of a dataset, or lines of JSON; both are cut into chunks.

A source has `units` (its length: samples, or bytes of files), `unit` (their name), `fingerprint` (a
text that changes with the files), `chunks()` and `read(chunk)`, which yields (place, units, sample,
error). A place is two integers that `where` describes; `units` counts those of the chunk before it;
an error replaces a sample that cannot be read. Chunks depend on the source alone, never on the
number of processes. A source can be pickled; one thread at a time reads it.
"""
from __future__ import annotations

import os

from . import _check, _sluice
from ._addresses import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._types import Paths

# Samples or bytes per chunk: (for a small source, usually, at most). A chunk costs about 4 ms of CPU and eight syncs.
SAMPLES, BYTES = (4, 256, 1 << 20), (16 << 10, 1 << 20, 1 << 28)
FEW, MANY = 32, 1024  # number of chunks of a small source (enough for many processes) and of a large one (a kill loses one)
LINE_MOST = 2**31 - 1
PLAIN, PACKED = (".jsonl", ".ndjson"), (".jsonl.gz", ".ndjson.gz")


def _chunk_units(units, limits):
    least, usual, most = limits
    return min(max(-(-units // MANY), min(usual, max(least, -(-units // FEW)))), most)


class Samples:
    """The samples of a dataset. A chunk is (first, end)."""

    unit = " samples"

    def __init__(self, data):
        if data.front_to_back:
            raise _sluice.InvalidError(
                f"{shown(data.paths[0])}: map reads samples in parallel, and these files are compressed as a whole: "
                "open them with sluice.Dataset(path, unpacked_dir=folder)"
            )
        self.data, self.units, self.fingerprint = data, len(data), f"{data.fingerprint:016x}"
        self.fields, self.classes = data.fields, data.classes

    def __reduce__(self):
        return _opened_again, (self.data, self.fingerprint)

    def chunks(self):
        size = _chunk_units(self.units, SAMPLES)
        return [(first, min(first + size, self.units)) for first in range(0, self.units, size)]

    def read(self, chunk):
        first, end = chunk
        for index in range(first, end):
            try:
                sample, error = self.data[index], None
            except _sluice.Error as found:
                sample, error = None, found
            yield (index, 0), index - first, sample, error

    def length(self, chunk):
        return chunk[1] - chunk[0]

    def where(self, place):
        """Returns (key, {"sample", "file", "offset"}) of a place. For a sample too damaged to have a
        key, its number is the key.
        """
        try:
            found = self.data.sample(place[0])
        except _sluice.Error as error:
            found = {"key": None, "file": error.file, "offset": error.offset}
        return found["key"] or str(place[0]), {"sample": place[0], "file": found["file"], "offset": found["offset"]}


def _opened_again(data, fingerprint):
    source = Samples(data)
    if source.fingerprint != fingerprint:
        raise _sluice.IOError(f"{shown(data.paths[0])}: the files were changed while they were read")
    return source


class JsonLines:
    """Lines of JSON, as the source of a sluice.pack with `map`: each line is a sample, a JSON object.

    The function gets a dict for each line. Blank lines are skipped. Other compressed files
    (`.jsonl.zst`, ...) are an error: unpack them first. A `.gz` is read by one process. A line that
    is not a JSON object in UTF-8, or has more than 2^31 - 1 bytes, is a bad sample (`on_bad_sample`
    of pack). pack raises IOError if the size or time of a file changes.

    Args:
        path: a `*.jsonl` or `*.ndjson` file, also with `.gz`; a folder with such files, at any
            depth; or a list of paths.

    Raises:
        IOError: a file cannot be read.
        ValueError: there is no such file.

    Example:
        >>> made = sluice.pack(sluice.JsonLines("lines.jsonl"), "mapped", map=dict, progress=False)
        >>> made.mapped, made.samples
        (3, 3)
    """

    unit = " bytes"
    fields: dict[str, Any] = {}
    classes: list[str] = []
    paths: list[str]
    files: list[str]
    sizes: list[int]
    units: int
    fingerprint: str

    def __init__(self, path: Paths) -> None:
        paths = path if isinstance(path, (list, tuple)) else [path]
        self.paths = [os.path.abspath(os.fsdecode(_check.path("path", one))) for one in paths]
        self.files = [file for one in self.paths for file in _files_of(one)]
        if not self.files:
            raise ValueError(f"{', '.join(self.paths)}: no file with a name that ends in {', '.join(PLAIN + PACKED)}")
        self._look()

    def _look(self):
        import hashlib

        found, self.sizes, self._times, start = hashlib.sha256(), [], [], len(os.path.commonpath([os.path.dirname(file) for file in self.files]))
        for file in self.files:
            try:
                status = os.stat(file)
            except OSError as error:
                raise failed(_sluice.IOError, error, file) from error
            self.sizes.append(status.st_size)
            self._times.append(status.st_mtime_ns)
            found.update(f"{file[start:]}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
        self.units, self.fingerprint = sum(self.sizes), found.hexdigest()

    def chunks(self) -> list[Any]:
        """Cuts the files into chunks.

        Returns:
            Chunks: lists of (number of the file, first byte, end). A line belongs to the range in
            which it begins.
        """
        size = _chunk_units(self.units, BYTES)
        chunks, chunk, space = [], [], size
        for number, length in enumerate(self.sizes):
            at = 0
            while at < length:
                end = length if self.files[number].endswith(PACKED) else min(length, at + space)
                chunk.append((number, at, end))
                space -= end - at
                at = end
                if space <= 0:
                    chunks.append(chunk)
                    chunk, space = [], size
        return chunks + [chunk] if chunk else chunks

    def length(self, chunk: Any) -> int:
        """Counts the bytes of a chunk.

        Args:
            chunk: a chunk of chunks().

        Returns:
            The number of bytes.
        """
        return sum(end - first for _, first, end in chunk)

    def read(self, chunk: Any) -> Iterator[Any]:
        """Reads the lines of a chunk.

        Args:
            chunk: a chunk of chunks().

        Returns:
            An iterator of (place, bytes of the chunk before it, sample, error).
        """
        import json

        before = 0
        for number, first, end in chunk:
            for at, line in self._lines(number, first, end):
                sample, error = None, None
                try:
                    if len(line) > LINE_MOST:
                        raise ValueError("the line is too long: at most 2^31 - 1 bytes")
                    if not line.strip():
                        continue
                    sample = json.loads(line.decode("utf-8"))
                    if not isinstance(sample, dict):
                        raise ValueError(f"expected a JSON object in the line, found {type(sample).__name__}")
                except (ValueError, RecursionError) as found:
                    error = self._bad((number, at), str(found))
                yield (number, at), before + min(at, end) - first, sample, error
            before += end - first

    def _lines(self, number, first, end):
        """Yields (offset, line) of the lines that begin in the range; for a .gz, of its unpacked
        bytes.
        """
        name = self.files[number]
        try:
            with open(name, "rb") as file:
                self._check_unchanged(number, file)
                if name.endswith(PACKED):
                    import gzip

                    with gzip.GzipFile(fileobj=file) as unpacked:
                        yield from _lines_of(unpacked, 0, None)
                else:
                    if first > 0:
                        file.seek(first - 1)
                        first += _skip_line(file) - 1
                    yield from _lines_of(file, first, end)
                self._check_unchanged(number, file)
        except _sluice.Error:
            raise
        except (OSError, EOFError) as error:  # also raised for a damaged .gz
            raise failed(_sluice.IOError, error, name) from error
        except Exception as error:
            if type(error).__module__ == "zlib":
                raise failed(_sluice.CorruptError, error, name) from error
            raise

    def _check_unchanged(self, number, file):
        status = os.fstat(file.fileno())
        if (status.st_size, status.st_mtime_ns) != (self.sizes[number], self._times[number]):
            raise failed(_sluice.IOError, OSError("the file was changed after it was opened"), self.files[number])

    def _bad(self, place, reason):
        key, found = self.where(place)
        error = _sluice.CorruptError(f"{key}: {reason}")
        error.file, error.offset, error.reason, error.status = found["file"], found["offset"], reason, "corrupt"
        return error

    def where(self, place: Any) -> tuple[str, dict[str, Any]]:
        """Names a place.

        Args:
            place: (number of the file, offset of the line).

        Returns:
            (text, {"sample", "file", "offset"}).
        """
        file = self.files[place[0]]
        return f"{file}:{place[1]}", {"sample": None, "file": file, "offset": place[1]}

    def __repr__(self) -> str:
        return f"sluice.JsonLines({self.paths}, {len(self.files)} files, {self.units} bytes)"


def _lines_of(file, at, end):
    while end is None or at < end:
        line = file.readline(LINE_MOST + 1)
        if not line:
            return
        length = len(line)
        if length > LINE_MOST and not line.endswith(b"\n"):
            length += _skip_line(file)
        yield at, line.removeprefix(b"\xef\xbb\xbf") if at == 0 else line
        at += length


def _skip_line(file):
    """Reads to the end of a line, in little memory. Returns the number of bytes."""
    length = 0
    while True:
        line = file.readline(1 << 20)
        length += len(line)
        if not line or line.endswith(b"\n"):
            return length


def _files_of(path):
    if not os.path.isdir(path):
        if not path.endswith(PLAIN + PACKED):
            raise ValueError(f"{path}: expected a folder, or a name that ends in {', '.join(PLAIN + PACKED)}")
        return [path]
    found = []
    for folder, below, names in os.walk(path, onerror=_raise):
        below[:] = sorted(name for name in below if not name.startswith((".", "__MACOSX")))
        for name in below:
            if os.path.islink(os.path.join(folder, name)):
                raise ValueError(f"{os.path.join(folder, name)}: a link to a folder, which may be one that is read already: name the folders to read")
        for name in sorted(names):
            if name.startswith("."):
                continue
            if name.endswith(PLAIN + PACKED):
                found.append(os.path.join(folder, name))
            elif any(f"{ending}." in name for ending in PLAIN):
                raise ValueError(f"{os.path.join(folder, name)}: expected .jsonl or .jsonl.gz: unpack the file, or name the files to read")
    return found


def _raise(error):
    raise failed(_sluice.IOError, error, error.filename) from error


def failed(kind, error, file):
    """Returns an exception of the library for one of Python's."""
    made = kind(f"{file}: {error.strerror if getattr(error, 'strerror', None) else error}")
    made.file, made.errno, made.reason = file, getattr(error, "errno", None), str(error)
    made.status = "io" if kind is _sluice.IOError else "corrupt"
    return made

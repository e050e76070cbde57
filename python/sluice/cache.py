# SPDX-License-Identifier: Apache-2.0
"""sluice.cache: the cache of remote data on a local disk.

    import sluice

    sluice.cache.fill("s3://bucket/train")           # before a run
    for entry in sluice.cache.list():
        print(entry.address, entry.kept_bytes)
    sluice.cache.empty(prefix="s3://bucket/train/")  # after it

Other processes may use the cache at the same time.
"""
from __future__ import annotations

import os
from collections import namedtuple

from . import _check, _sluice
from .dataset import argument_hints, opened
from .packing import progress_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import list as List
    from typing import NamedTuple, NoReturn

    from ._types import Progress, Source
    from .dataset import Dataset

    class Entry(NamedTuple):
        address: str
        object_bytes: int
        kept_bytes: int
        chunks: int
        used_s: int

    class Verified(NamedTuple):
        chunks: int
        bytes: int
        damaged: int
        damaged_bytes: int

    class Filled(NamedTuple):
        chunks: int
        bytes: int
        fetched_bytes: int
        left_bytes: int

    class Emptied(NamedTuple):
        chunks: int
        bytes: int

else:
    Entry = namedtuple("Entry", ["address", "object_bytes", "kept_bytes", "chunks", "used_s"])
    Entry.__doc__ = """A remote object with chunks in the cache.

    Attributes:
        address: address of the object.
        object_bytes: size of the object.
        kept_bytes: bytes that the cache keeps.
        chunks: number of chunks.
        used_s: latest use, seconds since 1970.
    """
    Verified = namedtuple("Verified", ["chunks", "bytes", "damaged", "damaged_bytes"])
    Verified.__doc__ = """Result of sluice.cache.verify.

    Attributes:
        chunks: good chunks.
        bytes: their size.
        damaged: damaged chunks, which were removed.
        damaged_bytes: their size.
    """
    Filled = namedtuple("Filled", ["chunks", "bytes", "fetched_bytes", "left_bytes"])
    Filled.__doc__ = """Result of sluice.cache.fill: what the cache has of a dataset.

    Attributes:
        chunks: chunks in the cache.
        bytes: their size.
        fetched_bytes: bytes that were read now.
        left_bytes: bytes that are not kept, because there is no space.
    """
    Emptied = namedtuple("Emptied", ["chunks", "bytes"])
    Emptied.__doc__ = """Result of sluice.cache.empty.

    Attributes:
        chunks: chunks that were removed.
        bytes: their size.
    """

__all__ = ["Emptied", "Entry", "Filled", "Verified", "empty", "fill", "list", "verify"]


def __getattr__(name: str) -> NoReturn:
    raise _check.missing_name(__name__, name, __all__)


def _named(function):
    return _check.named(function, hints=argument_hints(f"sluice.cache.{function.__name__}"))


def _folder(folder):
    return None if folder is None else _check.path("folder", folder)


@_named
def list(folder: str | os.PathLike[str] | None = None) -> List[Entry]:
    """Lists the objects in the cache, in the order of their addresses.

    Two versions of one address are two entries.

    Args:
        folder: the cache's folder [that of sluice.remote.configure, or SLUICE_REMOTE_CACHE].

    Returns:
        A list of Entry.

    Raises:
        InvalidError: no cache is configured.

    Example:
        >>> sluice.cache.list("cache")
        []
    """
    return [Entry(*found) for found in _sluice.cache_list(_folder(folder))]


@_named
def verify(folder: str | os.PathLike[str] | None = None, *, progress: Progress = True) -> Verified:
    """Checks the checksum of every chunk, and removes damaged chunks.

    Args:
        folder: the cache's folder [that of sluice.remote.configure, or SLUICE_REMOTE_CACHE].
        progress: True shows a bar where tqdm is installed; or a function of (done, total), in bytes
            [True].

    Returns:
        Verified.

    Raises:
        InvalidError: no cache is configured.

    Example:
        >>> sluice.cache.verify("cache", progress=False).damaged
        0
    """
    with progress_of(progress, "verify", "B") as show:
        return Verified(*_sluice.cache_verify(_folder(folder), show))


@_named
def fill(dataset: Dataset | Source, *, progress: Progress = True) -> Filled:
    """Reads all remote files of a dataset into the cache, as far as space allows.

    Files that the cache has are not read again.

    Files without an ETag are not kept.

    Args:
        dataset: a sluice.Dataset, or a path that one is opened from.
        progress: True shows a bar where tqdm is installed; or a function of (done, total), in bytes
            [True].

    Returns:
        Filled.

    Raises:
        InvalidError: no cache is configured, or no file of the dataset can be kept.
        IOError: the store or the disk fails.

    Example:
        >>> sluice.cache.fill(data)  # files of this machine need no cache
        Traceback (most recent call last):
        ...
        sluice.InvalidError: ...
    """
    found = opened("dataset", dataset)
    with progress_of(progress, "fill", "B") as show:
        return Filled(*_sluice.cache_fill(found._handle, show))


@_named
def empty(folder: str | os.PathLike[str] | None = None, *, prefix: str = "", progress: Progress = False) -> Emptied:
    """Removes all chunks, or those of addresses that begin with `prefix`.

    Args:
        folder: the cache's folder [that of sluice.remote.configure, or SLUICE_REMOTE_CACHE].
        prefix: beginning of the addresses to remove ['': all].
        progress: True shows a bar where tqdm is installed; or a function of (done, total), in bytes
            [False].

    Returns:
        Emptied.

    Raises:
        InvalidError: no cache is configured.

    Example:
        >>> sluice.cache.empty("cache").chunks
        0
    """
    with progress_of(progress, "empty", "B") as show:
        return Emptied(*_sluice.cache_empty(_folder(folder), _check.text("prefix", prefix), show))

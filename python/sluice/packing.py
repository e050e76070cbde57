# SPDX-License-Identifier: Apache-2.0
"""sluice.pack, sluice.unpack, and progress."""
from __future__ import annotations

import os
from collections import namedtuple
from contextlib import contextmanager

from . import _sluice
from ._names import choice
from .dataset import Dataset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import PackResult as PackResult, Paths, Progress, UnpackResult as UnpackResult


if not TYPE_CHECKING:
    PackResult = namedtuple("PackResult", [
        "path", "samples", "rejected", "shards", "bytes", "resumed_samples", "jpegs_retiled", "jpegs_kept",
        "jpeg_bytes_before", "jpeg_bytes_after", "decoded", "resized", "was_complete", "complete",
    ])  # fmt: skip
    PackResult.__doc__ = "What a pack came to. `rejected`: bad samples left out, listed in rejected.tsv of the folder. \
`complete`: the folder is a dataset; False: other parts are not all there."
    UnpackResult = namedtuple("UnpackResult", [
        "path", "samples", "rejected", "archives", "files", "bytes", "renamed", "renamed_classes", "labels_differ",
    ])  # fmt: skip
    UnpackResult.__doc__ = "What an unpack came to. `renamed`: samples whose files are not called by their key."


@contextmanager
def progress_of(progress, what):
    """A function of (done, total) for True (a bar by tqdm, where that is installed), a callable, or None."""
    if callable(progress) or not progress:
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(unit=" samples", desc=what, disable=None) as bar:

        def show(done, total):
            bar.total = total
            bar.update(done - bar.n)

        yield show


def pack(
    source: Dataset | Paths, path: str | os.PathLike[str], *, workers: int | None = None, overwrite: bool = False,
    on_bad_sample: str = "fail", keep_order: bool = False, keep_bytes: bool = False, raw: bool = False, seed: int = 0,
    zstd: str | int = "auto", shard_bytes: int = 0, metadata: str = "keep", verify: bool = True,
    progress: Progress = True, max_side: int | None = None, quality: int | None = None, raw_share: float = 0.0,
    part: tuple[int, int] | None = None, append: bool = False,
) -> PackResult:  # fmt: skip
    """Packs a dataset, with all its fields, into shards in the folder `path`.

    source: a sluice.Dataset, or what one is opened from (a path).
    workers: threads [one for each processor].
    overwrite: remove what an earlier pack left in the folder, instead of going on with it.
    on_bad_sample: 'fail', or 'skip': leave it out and list it in rejected.tsv.
    keep_order: the dataset's order instead of a shuffled one (`seed`); always so where archives are compressed.
    keep_bytes: store JPEGs as they are instead of re-tiling them without loss. raw: store pixels.
    metadata: 'keep' or 'drop' EXIF, ICC profiles and comments of re-tiled JPEGs.
    max_side: make pictures smaller whose longer side has more pixels, and code them anew, as JPEGs of `quality` [90]:
        not without loss. raw_share: store pixels of this share of the samples, 0 to 1, drawn by their numbers.
    zstd: as in sluice.Writer. shard_bytes: about the size of a shard [256 MiB]. verify: read back what was written.
    append: add to the packed dataset in the folder, of the same fields and classes; it stays what it was until all is
        added, and the same call again adds nothing.
    part: (i, n): only part i of n, from 0: n processes, on machines that see the same folder, call this alike but for
        i, in any order; the last one joins the parts (PackResult.complete). `sluice.ranks()` gives what a launcher
        says; nothing is taken from it unasked.
    progress: True (a bar where tqdm is installed), or a function of (done, total).

    A run that was interrupted, also by Ctrl-C, is continued by the same call. Raises CorruptError or
    UnsupportedError for a bad sample, StateError where the folder holds something else, IOError.
    """
    dataset = source if isinstance(source, Dataset) else Dataset(source)
    options = {
        "workers": workers or 0,
        "overwrite": int(overwrite),
        "on_bad": choice("on_bad_sample", on_bad_sample, {"fail": 0, "skip": 1}),
        "keep_order": int(keep_order),
        "keep_bytes": int(keep_bytes),
        "raw": int(raw),
        "seed": seed,
        "zstd_level": {"auto": 0, "off": -1}.get(zstd, zstd),
        "shard_bytes": shard_bytes,
        "jpeg_metadata": choice("metadata", metadata, {"keep": 0, "drop": 1}),
        "skip_verify": int(not verify),
        "max_side": max_side or 0,
        "quality": quality or 0,
        "raw_share": float(raw_share),
        "append": int(append),
        **part_options(part),
    }
    with progress_of(progress, "pack") as show:
        made = _sluice.pack(dataset._handle, os.fspath(path), options, show)
    return PackResult(path=os.fspath(path), **made)


def part_options(part):
    """Of the library: part and parts."""
    index, parts = part or (0, 1)
    if not 0 <= index < parts:
        raise ValueError(f"part={part!r}: (i, n) with i from 0 to n - 1")
    return {"part": index, "parts": parts}


def pack_join(path: str | os.PathLike[str]) -> PackResult:
    """Joins the parts of a pack in the folder `path`: where their processes saw other folders, whose files were
    brought together there, or the last one was killed before it did. Reads no samples; joined already: does nothing.

    Raises StateError where a part is missing, unfinished, or of another pack.
    """
    return PackResult(path=os.fspath(path), **_sluice.pack_join(os.fspath(path)))


def unpack(
    source: Dataset | Paths, path: str | os.PathLike[str], *, tar: bool = False, shard_bytes: int = 0,
    shard_samples: int = 0, workers: int | None = None, overwrite: bool = False, on_bad_sample: str = "fail",
    progress: Progress = True,
) -> UnpackResult:  # fmt: skip
    """Makes ordinary files of a dataset: a folder that torchvision's ImageFolder reads, or WebDataset's tars.

    source: a sluice.Dataset, or what one is opened from (a path).
    path: a folder, new or empty; it appears when all is there. What files are called: docs/formats.md.
    tar: tars shard-000000.tar, ... of at most shard_bytes [256 MiB] and shard_samples [any number] each.
    workers: threads [one for each processor].
    overwrite: replace the folder that an earlier unpack made, with all that is in it.
    on_bad_sample: 'fail', or 'skip': leave it out and list it in rejected.tsv.
    progress: True (a bar where tqdm is installed), or a function of (done, total).

    Raises CorruptError or UnsupportedError for a bad sample, StateError where the folder holds something, IOError.
    """
    dataset = source if isinstance(source, Dataset) else Dataset(source)
    options = {
        "form": int(tar),
        "workers": workers or 0,
        "overwrite": int(overwrite),
        "on_bad": choice("on_bad_sample", on_bad_sample, {"fail": 0, "skip": 1}),
        "shard_bytes": shard_bytes,
        "shard_samples": shard_samples,
    }
    with progress_of(progress, "unpack") as show:
        made = _sluice.unpack(dataset._handle, os.fspath(path), options, show)
    return UnpackResult(path=os.fspath(path), **made)

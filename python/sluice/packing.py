# SPDX-License-Identifier: Apache-2.0
"""sluice.pack, sluice.unpack, and progress."""
from __future__ import annotations

import os
from collections import namedtuple
from contextlib import contextmanager

from . import _check, _sluice
from ._map_source import JsonLines
from ._names import values
from .dataset import argument_hints, labels_of, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .dataset import Dataset
    from ._types import Labels, Map, PackResult as PackResult, Part, Progress, Source, UnpackResult as UnpackResult


if not TYPE_CHECKING:
    PackResult = namedtuple("PackResult", [
        "path", "samples", "rejected", "shards", "bytes", "resumed_samples", "jpegs_retiled", "jpegs_kept",
        "jpeg_bytes_before", "jpeg_bytes_after", "decoded", "resized", "was_complete", "complete", "mapped", "left_out",
    ], defaults=(0, 0))  # fmt: skip
    PackResult.__doc__ = "What a pack came to. `rejected`: bad samples left out, listed in rejected.tsv of the folder. \
`complete`: the folder is a dataset; False: other parts are not all there. `mapped`: samples of the source that `map` was called for, \
or that could not be read; `left_out`: those of them for which it returned None."
    UnpackResult = namedtuple("UnpackResult", [
        "path", "samples", "rejected", "archives", "files", "bytes", "renamed", "renamed_classes", "labels_differ",
    ])  # fmt: skip
    UnpackResult.__doc__ = "What an unpack came to. `renamed`: samples whose files are not called by their key."


@contextmanager
def progress_of(progress, what, unit=" samples"):
    """A function of (done, total) for True (a bar by tqdm, where that is installed), a callable, or None."""
    if progress is not None and not isinstance(progress, bool):
        yield _check.function("progress", progress)
        return
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(unit=unit, unit_scale=unit != " samples", desc=what, disable=None) as bar:

        def show(done, total):
            bar.total = total
            bar.update(done - bar.n)

        yield show


def _named(function):
    return _check.named(function, hints=argument_hints(f"sluice.{function.__name__}"))


@_named
def pack(
    source: Dataset | Source | JsonLines, path: str | os.PathLike[str], *, workers: int | None = None,
    overwrite: bool = False, on_bad_sample: str = "fail", keep_order: bool = False, keep_bytes: bool = False, raw: bool = False, seed: int = 0,
    zstd: str | int = "auto", shard_bytes: int = 0, metadata: str = "keep", verify: bool = True,
    progress: Progress = True, max_side: int | None = None, quality: int | None = None, raw_share: float = 0.0,
    part: Part | None = None, append: bool = False, max_sample_bytes: int = 0, labels: Labels = "same",
    allow_case_duplicates: bool = False, map: Map | None = None, processes: int = 1,
    map_version: int | str | None = None, map_fields: Mapping[str, Any] | None = None,
) -> PackResult:  # fmt: skip
    """Packs a dataset, with all its fields, into shards in the folder `path`.

    source: a sluice.Dataset, or what one is opened from (a path); with `map` also sluice.JsonLines.
    workers: threads [one for each processor].
    overwrite: remove what an earlier pack left in the folder, instead of going on with it. With `map`, results that an interrupted
        run of the same call left are kept (docs/mapping.md).
    on_bad_sample: 'fail', or 'skip': leave it out and list it in rejected.tsv. What cannot be read, though it may be good
        (an I/O error that stays after some tries, no permission), raises IOError also then; 'skip_all' leaves it out, too.
    keep_order: the dataset's order instead of a shuffled one (`seed`); always so where archives are compressed.
    keep_bytes: store JPEGs as they are instead of re-tiling them without loss. raw: store pixels.
    metadata: 'keep' or 'drop' EXIF, ICC profiles and comments of re-tiled JPEGs.
    max_side: make pictures smaller whose longer side has more pixels, and code them anew, as JPEGs of `quality` [90]:
        not without loss. raw_share: store pixels of this share of the samples, 0 to 1, drawn by their numbers.
    zstd: as in sluice.Writer. shard_bytes: about the size of a shard [256 MiB; with `part` less, so that each has one]. verify: read back what was written.
    max_sample_bytes: a larger sample is a bad one [2^31 - 1, which is the most].
    append: add to the packed dataset in the folder, of the same fields and classes; it stays what it was until all is
        added, and the same call again adds nothing.
    labels: with append, as of sluice.concat: how classes are joined that are not the same ones. Those that are there keep
        their numbers, new ones come behind them; a dict renames those that are added, and a list of names is refused.
        Of versions of sluice that do not know this such a dataset is refused. allow_case_duplicates: as of concat.
    part: (i, n): only part i of n, from 0: n processes, on machines that see the same folder, call this alike but for
        i, in any order; the last one joins the parts (PackResult.complete). `sluice.ranks()` gives what a launcher
        says; nothing is taken from it unasked. 'auto': the part of this job of an array, as the variables of Slurm, Kubernetes,
        AWS Batch, LSF, SGE, PBS or Torque say; ('auto', n) where they do not say how many jobs there are (docs/distributed.md).
        InvalidError where there is no array, they contradict each other, or a launcher started several processes.
        Without `part`, each job of an array packs everything: a UserWarning; (0, 1) says that this is meant.
    progress: True (a bar where tqdm is installed), or a function of (done, total).
    map: a function that gets each sample, a dict as data[i], and returns what is packed instead: a dict of fields, a list of dicts,
        or None to leave the sample out. Fields that it does not return are not packed. If it raises, pack raises MapError; with
        on_bad_sample='skip' the sample is listed in map.rejected.tsv. A sample may be passed more than once (docs/mapping.md).
    processes: number of processes that call `map` [1, this one]. The dataset is the same for any number, byte for byte. Other
        processes are spawned: `map` must be a function of a module, or a picklable object, and the program needs
        `if __name__ == "__main__":`.
    map_version: an int or a text that a continued run compares to know `map` again [its name, its text, and the values bound to it].
    map_fields: the fields that `map` returns, as in sluice.Writer [found in its first results; lists of ints become int32].

    A run that was interrupted, also by Ctrl-C, is continued by the same call. Raises CorruptError or
    UnsupportedError for a bad sample, StateError where the folder holds something else, IOError.
    """
    given = locals()
    path = _check.path("path", path)
    if part is None:
        _warn_of_array()
    options = {
        **values(pack, "pack", given | {"zstd": _check.zstd_level(zstd)}),
        "skip_verify": int(not _check.flag("verify", verify)),
        "labels": labels_of(labels, allow_case_duplicates),
        **part_options(part),
    }
    if map is not None:
        return _pack_mapped(given, path, options)
    for name, default in (("processes", 1), ("map_version", None), ("map_fields", None)):
        if given[name] != default:
            raise _sluice.InvalidError(f"{name}={given[name]!r}: only with map=")
    if isinstance(source, JsonLines):
        raise _sluice.InvalidError("source=sluice.JsonLines: only with map=, a function of a dict for each line")
    dataset = opened("source", source)
    with progress_of(progress, "pack") as show:
        made = _sluice.pack(dataset._handle, path, options, show)
    return PackResult(path=path, **made)


def _pack_mapped(given, path, options):
    """pack with `map`, of its arguments."""
    from ._map_pack import Request, mapped, source_of
    from ._map_workers import refuse_in_worker

    _check.function("map", given["map"])
    processes = _check.integer("processes", given["processes"], 1, 1024)
    version, part = given["map_version"], options["parts"] > 1
    if version is not None and (isinstance(version, bool) or not isinstance(version, (int, str))):
        raise _check.wrong("map_version", version, "an int or a text")
    if options["append"] or options["labels"] is not None:
        raise _sluice.InvalidError(
            "append and labels: not with map=: pack to a folder of its own, and add that one with sluice.pack(folder, path, append=True)"
        )
    if options["overwrite"] and part:
        raise _sluice.InvalidError("overwrite: not with part=: remove the folder before the parts begin")
    if processes > 1:
        refuse_in_worker()
    request = Request(source_of(given["source"]), path, given["map"], version, given["map_fields"], options)

    def bars(unit, what):
        return progress_of(given["progress"], what, unit)

    return PackResult(path=path, **mapped(request, given["on_bad_sample"], processes, bars))


def sample_limit(max_sample_bytes):
    """As the library takes it; 0: what it says of itself."""
    return _check.integer("max_sample_bytes", max_sample_bytes, 0, 2**31 - 1)


def _warn_of_array():
    from ._ranks import ranks

    variable, parts = _sluice.look_for_job_array()
    if variable and parts != 1:
        auto = "'auto'" if parts else "('auto', n)"
        if ranks().world_size > 1:  # with which 'auto' is refused
            auto = "(i, n), as sluice.ranks() has them,"
        _check.warn(
            f"{variable} is set: each job of the array does all of the work; write part={auto} to give each job a part, "
            "or part=(0, 1) if each is to do all"
        )


def _part_of_array(part, parts):
    """Of the job of an array that this is; 0 parts: as many as the scheduler says."""
    from ._ranks import ranks

    index, parts, variable = _sluice.find_job_array(parts)
    if not variable:
        raise _sluice.InvalidError(
            f"part={part!r}: this is not a job of an array: no variable of Slurm (SLURM_ARRAY_TASK_ID), Kubernetes (JOB_COMPLETION_INDEX), "
            "AWS Batch, LSF, SGE, PBS or Torque has an index; write part=(i, n)"
        )
    found = ranks()
    if found.world_size > 1:
        raise _sluice.InvalidError(
            f"part={part!r}: {variable} is set, and a launcher started {found.world_size} processes ({found.source}): start one process "
            "in each job, or write part=(i, n)"
        )
    return {"part": index, "parts": parts}


def part_options(part):
    """Of the library: part and parts."""
    wanted = "(i, n) with i from 0 to n - 1, 'auto', or ('auto', n)"
    if part is None:
        return {"part": 0, "parts": 1}
    if isinstance(part, str) and part == "auto":
        return _part_of_array(part, 0)
    if isinstance(part, (tuple, list)) and len(part) == 2 and isinstance(part[0], str) and part[0] == "auto":
        return _part_of_array(part, _check.integer("part", part[1], 1, 65535))
    if not isinstance(part, (tuple, list)) or len(part) != 2 or not all(hasattr(one, "__index__") for one in part):
        raise _check.wrong("part", part, wanted)
    index, parts = part
    if not 0 <= index < parts:
        raise ValueError(f"part={part!r}: {wanted}")
    return {"part": index, "parts": parts}


def pack_join(path: str | os.PathLike[str]) -> PackResult:
    """Joins the parts of a pack in the folder `path`: where their processes saw other folders, whose files were
    brought together there, or the last one was killed before it did. Reads no samples; joined already: does nothing.

    Raises StateError where a part is missing, unfinished, or of another pack.
    """
    path = _check.path("path", path)
    return PackResult(path=path, **_sluice.pack_join(path))


@_named
def unpack(
    source: Dataset | Source, path: str | os.PathLike[str], *, tar: bool = False, shard_bytes: int = 0,
    shard_samples: int = 0, workers: int | None = None, overwrite: bool = False, on_bad_sample: str = "fail",
    progress: Progress = True, max_sample_bytes: int = 0,
) -> UnpackResult:  # fmt: skip
    """Makes ordinary files of a dataset: a folder that torchvision's ImageFolder reads, or WebDataset's tars.

    source: a sluice.Dataset, or what one is opened from (a path).
    path: a folder, new or empty; it appears when all is there. What files are called: docs/formats.md.
    tar: tars shard-000000.tar, ... of at most shard_bytes [256 MiB] and shard_samples [any number] each.
    workers: threads [one for each processor].
    overwrite: replace the folder that an earlier unpack made, with all that is in it.
    on_bad_sample: 'fail', or 'skip': leave it out and list it in rejected.tsv. What cannot be read, though it may be good
        (an I/O error that stays after some tries, no permission), raises IOError also then; 'skip_all' leaves it out, too.
    progress: True (a bar where tqdm is installed), or a function of (done, total).
    max_sample_bytes: a larger sample is a bad one [1 GiB; 2^31 - 1 at most].

    Raises CorruptError or UnsupportedError for a bad sample, StateError where the folder holds something, IOError.
    """
    given = locals()
    path = _check.path("path", path)
    dataset = opened("source", source)
    options = {**values(unpack, "unpack", given), "form": int(_check.flag("tar", tar))}
    with progress_of(progress, "unpack") as show:
        made = _sluice.unpack(dataset._handle, path, options, show)
    return UnpackResult(path=path, **made)

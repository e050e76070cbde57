# SPDX-License-Identifier: Apache-2.0
"""sluice.pack, sluice.pack_join, sluice.unpack, and progress."""
from __future__ import annotations

import os
from collections import namedtuple
from contextlib import contextmanager

from . import _check, _sluice
from ._joining import labels_of
from ._map_source import JsonLines
from ._names import values
from .dataset import argument_hints, opened

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
    PackResult.__doc__ = """Result of sluice.pack.

    Attributes:
        path: the output folder.
        samples: samples of the dataset.
        rejected: bad samples that were left out, listed in rejected.tsv of the folder.
        shards: number of shards.
        bytes: size of the shards.
        resumed_samples: samples that an earlier, interrupted run had packed.
        jpegs_retiled: JPEGs that were re-tiled without loss.
        jpegs_kept: JPEGs that were stored unchanged.
        jpeg_bytes_before: size of all JPEGs of this run in the source.
        jpeg_bytes_after: their size in the shards.
        decoded: images that this run stored as pixels.
        resized: images that this run downscaled to `max_side`.
        was_complete: True if the dataset was finished before this call.
        complete: True if the folder is a dataset; False: other parts are missing.
        mapped: samples of the source that `map` was called for, or that could not be read.
        left_out: samples for which `map` returned None.
    """
    UnpackResult = namedtuple("UnpackResult", [
        "path", "samples", "rejected", "archives", "files", "bytes", "renamed", "renamed_classes", "labels_differ",
    ])  # fmt: skip
    UnpackResult.__doc__ = """Result of sluice.unpack.

    Attributes:
        path: the output folder.
        samples: samples that were written.
        rejected: bad samples that were left out, listed in rejected.tsv.
        archives: number of tars.
        files: number of files.
        bytes: size of the files.
        renamed: samples whose files have other names than their keys.
        renamed_classes: class folders whose names differ from their class.
        labels_differ: True if ImageFolder, which numbers folders in their order, gives other
            labels than the dataset.
    """


@contextmanager
def progress_of(progress, what, unit=" samples"):
    """Yields a function of (done, total) for True (a bar by tqdm, where it is installed) or a
    callable; else None.
    """
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

    The same call resumes an interrupted run, also after Ctrl-C.

    Args:
        source: a sluice.Dataset, or a path or torch dataset that one is opened from; with `map`
            also sluice.JsonLines.
        path: the output folder.
        workers: number of threads [available CPUs].
        overwrite: True removes an earlier pack's output in the folder instead of resuming it. With
            `map`, results of an interrupted run of the same call are kept (docs/mapping.md)
            [False].
        on_bad_sample: 'fail'; 'skip' leaves a bad sample out and lists it in rejected.tsv;
            'skip_all' also leaves out samples that cannot be read though they may be good (an I/O
            error that persists after some retries, no permission), for which 'skip' raises IOError
            ['fail'].
        keep_order: True writes in the dataset's order (always, for compressed archives); False
            shuffles [False].
        keep_bytes: True stores JPEGs unchanged instead of re-tiling them without loss [False].
        raw: True stores pixels [False].
        seed: seed of the shuffle [0].
        zstd: as in sluice.Writer ['auto'].
        shard_bytes: approximate size of a shard [256 MiB; less with `part`, so that each part has
            one].
        metadata: 'keep' or 'drop' EXIF, ICC profiles and comments of re-tiled JPEGs ['keep'].
        verify: True reads back and checks the written samples [True].
        progress: True shows a bar where tqdm is installed; or a function of (done, total) [True].
        max_side: images whose longer side exceeds this many pixels are downscaled and re-encoded as
            JPEGs, with loss [off].
        quality: JPEG quality of re-encoded images, 1 to 100 [90].
        raw_share: fraction of samples that are stored as pixels, 0 to 1, drawn by their numbers
            [0].
        part: (i, n) packs only part i of n, from 0. The n processes, on machines that share the
            folder, make the same call with different i, in any order; the last one joins the parts
            (PackResult.complete). 'auto' takes the part from the job array of Slurm, Kubernetes,
            AWS Batch, LSF, SGE, PBS or Torque; ('auto', n) if the scheduler does not say how many
            jobs there are. Without `part`, each job of an array packs everything, with a
            UserWarning; (0, 1) confirms that (docs/distributed.md) [None].
        append: True adds to the packed dataset in the folder, which has the same fields and
            classes. It stays unchanged until everything is added; repeating the call adds nothing
            [False].
        max_sample_bytes: largest accepted sample [2^31 - 1, the maximum].
        labels: with append, how to join different classes, as in sluice.concat. Existing classes
            keep their numbers, new ones follow. A dict renames classes of the added samples; a list
            of names is an error. Older versions of sluice cannot read such a dataset ['same'].
        allow_case_duplicates: as in sluice.concat [False].
        map: function that gets each sample, a dict like data[i], and returns its replacement: a
            dict of fields, a list of dicts, or None to leave the sample out. Fields that it does
            not return are not packed. If it raises, pack raises MapError; with on_bad_sample='skip'
            the sample is listed in map.rejected.tsv. A sample may be passed more than once
            (docs/mapping.md) [None].
        processes: number of processes that call `map`; the output is the same for any number. More
            than one are spawned: `map` must be a function of a module, or a picklable object, and
            the program needs `if __name__ == "__main__":` [1: this process].
        map_version: int or text by which a resumed run recognises `map` [its name, its source, and
            the values bound to it].
        map_fields: fields that `map` returns, as in sluice.Writer [found in its first results;
            lists of ints become int32].

    Returns:
        PackResult.

    Raises:
        CorruptError: a sample is damaged.
        UnsupportedError: a sample uses a feature that the library lacks, or is too large.
        StateError: the folder holds something else.
        IOError: reading or writing failed.
        InvalidError: arguments contradict each other, or 'auto' finds no array.
        MapError: `map` failed.

    Example:
        >>> sluice.pack("photos", "packed", progress=False).samples
        12
        >>> sluice.Dataset("packed").classes
        ['bird', 'cat', 'dog']
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
            raise _sluice.InvalidError(f"{name}={given[name]!r} works only with map=")
    if isinstance(source, JsonLines):
        raise _sluice.InvalidError("source=sluice.JsonLines works only with map=, a function of a dict for each line")
    dataset = opened("source", source)
    with progress_of(progress, "pack") as show:
        made = _sluice.pack(dataset._handle, path, options, show)
    return PackResult(path=path, **made)


def _pack_mapped(given, path, options):
    """Packs with `map`, from the arguments of pack."""
    from ._map_pack import Request, mapped, source_of
    from ._map_workers import refuse_in_worker

    _check.function("map", given["map"])
    processes = _check.integer("processes", given["processes"], 1, 1024)
    version, part = given["map_version"], options["parts"] > 1
    if version is not None and (isinstance(version, bool) or not isinstance(version, (int, str))):
        raise _check.wrong("map_version", version, "an int or a text")
    if options["append"] or options["labels"] is not None:
        raise _sluice.InvalidError(
            "append and labels do not work with map=: pack to a separate folder, and add it with sluice.pack(folder, path, append=True)"
        )
    if options["overwrite"] and part:
        raise _sluice.InvalidError("overwrite does not work with part=: remove the folder before the parts begin")
    if processes > 1:
        refuse_in_worker()
    request = Request(source_of(given["source"]), path, given["map"], version, given["map_fields"], options)

    def bars(unit, what):
        return progress_of(given["progress"], what, unit)

    return PackResult(path=path, **mapped(request, given["on_bad_sample"], processes, bars))


def sample_limit(max_sample_bytes: Any) -> int:
    """Returns the limit in the library's form; 0: the library's default."""
    return _check.integer("max_sample_bytes", max_sample_bytes, 0, 2**31 - 1)


def _warn_of_array():
    from ._ranks import ranks

    variable, parts = _sluice.look_for_job_array()
    if variable and parts != 1:
        auto = "'auto'" if parts else "('auto', n)"
        if ranks().world_size > 1:  # 'auto' is an error there
            auto = "(i, n), as sluice.ranks() has them,"
        _check.warn(
            f"{variable} is set: each job of the array does all of the work; write part={auto} to give each job a part, "
            "or part=(0, 1) if each is to do all"
        )


def _part_of_array(part, parts):
    """Returns the part of this job of an array. 0 parts: as many as the scheduler says."""
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


def part_options(part: Any) -> dict[str, int]:
    """Returns the library's options part and parts."""
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
    """Joins the parts of a pack in the folder `path`.

    Needed if the processes wrote to different folders whose files were then collected in one, or if
    the last process was killed before it joined them. Reads no samples. Does nothing if they are
    joined already.

    Args:
        path: the folder with all parts.

    Returns:
        PackResult.

    Raises:
        StateError: a part is missing, unfinished, or of another pack.

    Example:
        >>> for i in (0, 1):
        ...     result = sluice.pack("photos", "parts", part=(i, 2), progress=False)
        >>> result.complete, sluice.pack_join("parts").samples
        (True, 12)
    """
    path = _check.path("path", path)
    return PackResult(path=path, **_sluice.pack_join(path))


@_named
def unpack(
    source: Dataset | Source, path: str | os.PathLike[str], *, tar: bool = False, shard_bytes: int = 0,
    shard_samples: int = 0, workers: int | None = None, overwrite: bool = False, on_bad_sample: str = "fail",
    progress: Progress = True, max_sample_bytes: int = 0,
) -> UnpackResult:  # fmt: skip
    """Writes a dataset as files: a folder for torchvision's ImageFolder, or WebDataset's tars.

    Args:
        source: a sluice.Dataset, or a path or torch dataset that one is opened from.
        path: a folder, new or empty, which appears when everything is written. File names:
            docs/formats/reading.md.
        tar: True writes tars shard-000000.tar, ... [False].
        shard_bytes: largest size of a tar [256 MiB].
        shard_samples: maximum number of samples per tar [any].
        workers: number of threads [available CPUs].
        overwrite: True replaces the folder of an earlier unpack, with everything in it [False].
        on_bad_sample: 'fail', 'skip' or 'skip_all', as in pack ['fail'].
        progress: True shows a bar where tqdm is installed; or a function of (done, total) [True].
        max_sample_bytes: largest accepted sample [1 GiB; at most 2^31 - 1].

    Returns:
        UnpackResult.

    Raises:
        CorruptError: a sample is damaged.
        UnsupportedError: a sample uses a feature that the library lacks, or is too large.
        StateError: the folder holds something.
        IOError: reading or writing failed.

    Example:
        >>> sluice.unpack("photos", "files", progress=False).files
        12
    """
    given = locals()
    path = _check.path("path", path)
    dataset = opened("source", source)
    options = {**values(unpack, "unpack", given), "form": int(_check.flag("tar", tar))}
    with progress_of(progress, "unpack") as show:
        made = _sluice.unpack(dataset._handle, path, options, show)
    return UnpackResult(path=path, **made)

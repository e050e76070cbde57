# SPDX-License-Identifier: Apache-2.0
"""sluice.pack with `map`: several processes call the user's function for each sample, and its results are packed.

There are two stages. The first cuts the source into chunks, regardless of the number of processes,
and makes a folder of shards for each (_map_chunk.py), in the folder `PATH.map` beside the output
folder. The second packs those folders, in their order, with the library's packer, which shuffles,
encodes, checks and resumes as usual. So the bytes of the dataset depend only on the source, the
function and the options. Both stages resume where an interrupted run stopped. Results are never
sent between processes, and shuffling, codecs, checks and resuming are implemented once. The cost is
disk space for both copies while the second stage runs. Workers cannot write the final shards: a
shuffle over all results needs their number, which is only known at the end.

Workers read, call the function and write (with one process, this process does); the caller's thread distributes chunks and packs.
`PATH.map` (_map_folder.py) is removed when the dataset is complete. The dataset then has two more files: map.json (the arguments,
the result, and the checksum of the manifest) and, if bad samples were left out, map.rejected.tsv.
Parts: each makes the chunks of a range; a part that finds all chunks made packs. Two that do so at once write the same bytes.
"""
from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
import time

from . import _check, _map_chunk, _sluice
from ._addresses import is_address, shown
from ._map_chunk import DATA, NAME, Job
from ._map_folder import ASKED, Folder, compare, goes_on_replacing, read_json, remove_left
from ._map_identity import identity_of
from ._map_source import JsonLines, Samples, failed
from ._map_workers import TICK_S, Workers
from .dataset import Dataset, opened
from .writer import Writer, _field

HEADING = "key\tstatus\toffset\treason\n"
FORMAT = 1
REJECTED, MANIFEST = "map.rejected.tsv", "manifest.sluice"
SHARD_BYTES = 256 << 20
PLAIN = ("workers", "skip_verify", "on_bad", "part", "parts", "overwrite", "append", "labels")  # these do not change the output


def source_of(source):
    """Returns the source to read, from the argument `source` of pack."""
    if isinstance(source, JsonLines):
        return source
    try:
        return Samples(opened("source", source))
    except _sluice.Error as error:
        if isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith((".jsonl", ".ndjson")):
            raise type(error)(f"{error}; for lines of text, write sluice.JsonLines({os.fspath(source)!r})") from error
        raise


class Request:
    """The arguments of pack that determine the result."""

    def __init__(self, source, path, function, version, fields, options):
        if is_address(path):
            raise _sluice.InvalidError(f"{shown(path)}: object stores are read-only: write to a local folder, and upload it")
        self.source, self.path = source, os.path.abspath(os.fsdecode(path))  # absolute, because the function may change the working folder
        self.folder = f"{self.path}.map"
        self.function, self.options = function, options
        self.fields = _fields(fields)
        self.chunks = list(enumerate(source.chunks()))
        self.asked = {
            "format": FORMAT, "source": source.fingerprint, "units": source.units, "chunks": len(self.chunks), **identity_of(function, version),
            "fields": json.loads(json.dumps(self.fields, default=str)),
        }  # fmt: skip
        self.packing = {name: value for name, value in sorted(options.items()) if name not in PLAIN}
        self.replaces = options["overwrite"] or goes_on_replacing(self)  # whether to replace the dataset at the path
        self.was_finished = _is_finished(self)  # before this call

    def part_chunks(self):
        part, parts = self.options["part"], self.options["parts"]
        return self.chunks[len(self.chunks) * part // parts : len(self.chunks) * (part + 1) // parts]


def _fields(fields):
    """Returns the fields in the form that sluice.Writer takes, checked."""
    if fields is None:
        return None
    _check.mapping("map_fields", fields, "a dict of types by name")
    if not fields:
        raise ValueError("map_fields: a sample has at least one field")
    for name, what in fields.items():
        _field(name, what)
    return dict(fields)


# ---- the folder's contents ----


def _manifest_sum(path):
    try:
        with open(os.path.join(path, MANIFEST), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_finished(request):
    """Returns True if the dataset at the path has the same function and source."""
    there = _manifest_sum(request.path)
    try:
        found = read_json(os.path.join(request.path, ASKED)) if there is not None else None
        return found is not None and (found["manifest"], found["asked"]) == (there, request.asked)
    except (_sluice.StateError, KeyError, TypeError):
        return False


def _finished(request, on_bad):
    """Returns the result of an earlier run that made this dataset, or None. Raises CorruptError if it left out bad samples and on_bad does not."""
    if request.replaces:
        return None
    there = _manifest_sum(request.path)
    found = read_json(os.path.join(request.path, ASKED)) if there is not None else None
    if found is None or found["manifest"] != there:
        return None
    compare(request.path, found["asked"], request.asked)
    compare(request.path, found["packing"], request.packing)
    if found["result"]["rejected"] and on_bad == "fail":
        raise _rejected_before(request, found["result"])
    return {**found["result"], "was_complete": True}


def _rejected_before(request, result):
    """Returns the error of a dataset that is finished without its bad samples."""
    first = ""
    for name in ("rejected.tsv", REJECTED):  # the last one found counts: the map stage ran first
        try:
            with open(os.path.join(request.path, name), encoding="utf-8", errors="surrogateescape") as file:
                key, _, _, reason = file.readlines()[1].rstrip("\n").split("\t")
        except (OSError, IndexError, ValueError):
            continue
        first = f", the first: {key}: {reason} (in {name})"
    return _sluice.CorruptError(
        f"{request.path}: the dataset is finished, but an earlier run left out bad samples ({result['rejected']} of {result['mapped']}){first}: "
        "on_bad_sample='skip' accepts it; to make it again, repair them and write overwrite=True"
    )


def _check_path(request):
    """Checks, before hours of work, that the folder can be packed to."""
    if os.path.lexists(request.path) and not os.path.isdir(request.path):
        raise _sluice.StateError(f"{request.path}: not a folder: pack to another path")
    if request.replaces or not os.path.isdir(request.path):
        return
    names = os.listdir(request.path)
    if MANIFEST in names and not os.path.isdir(request.folder):
        raise _sluice.StateError(f"{request.path}: the folder holds another dataset: overwrite=True to replace it")
    if names and not os.path.isdir(request.folder):
        raise _sluice.StateError(f"{request.path}: the folder is not empty: it holds {names[0]!r}")


def _packer_options(request):
    return {**request.options, "shard_bytes": request.options["shard_bytes"] or SHARD_BYTES, "overwrite": int(request.replaces)}


@functools.lru_cache(16)
def _check_options(options):
    """Checks, before hours of work, that the packer accepts the options (pairs), by packing one small sample."""
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
            source, path = os.path.join(folder, "source"), os.path.join(folder, "packed")
            with Writer(source, {"x": "text"}) as writer:
                writer.add(x="")
            _sluice.pack(Dataset(source)._handle, path, {**dict(options), "part": 0, "parts": 1}, None)
    except _sluice.InvalidError:
        raise
    except (OSError, _sluice.Error):  # concerns the temporary folder or the small sample only
        pass


# ---- the stages ----


def mapped(request, on_bad, processes, bars):
    """Runs both stages and returns the members of a PackResult. bars(unit, what): a context with a function of (done, total), or None."""
    done = _finished(request, on_bad)
    if done is not None:
        remove_left(request)
        return done
    _check_path(request)
    _check_options(tuple(_packer_options(request).items()))
    try:
        return _run(request, on_bad, processes, bars)
    except (OSError, _sluice.Error):
        done = _finished(request, on_bad) if request.options["parts"] > 1 else None  # another part finished first and removed the chunks
        if done is None:
            raise
        remove_left(request)
        return done


def _run(request, on_bad, processes, bars):
    folder = Folder(request)
    try:
        done = _finished(request, on_bad)
        if done is None:
            _map(request, folder, on_bad, processes, bars)
            counts = [folder.counts(number) for number, _ in request.chunks]
            done = _finished(request, on_bad) if None in counts else _pack(request, folder, counts, bars)
        if done is None:
            return _result_of([counts[number] for number, _ in request.part_chunks()], complete=False)
        folder.remove()
        return done
    except BaseException as error:
        folder.drop_empty()
        if isinstance(error, OSError) and not isinstance(error, _sluice.Error):
            raise failed(_sluice.IOError, error, error.filename or request.folder) from error
        raise
    finally:
        folder.close()


def _map(request, folder, on_bad, processes, bars):
    job = Job(request.source, request.function, on_bad, folder.path, folder.tag)
    done, wanted = 0, []
    for number, chunk in request.part_chunks():
        counts = folder.counts(number)
        if counts is not None and counts["rejected"] and on_bad == "fail" and request.options["overwrite"]:
            folder.drop(number)
            counts = None
        if counts is None:
            wanted.append((number, chunk))
            continue
        done += request.source.length(chunk)
        if counts["rejected"] and on_bad == "fail":
            raise _sluice.CorruptError(
                f"{counts['rejected'][0]}: rejected by an earlier run: resume with on_bad_sample='skip', or repair it and write overwrite=True"
            )
    if not wanted:
        return
    total = sum(request.source.length(chunk) for _, chunk in request.part_chunks())
    with bars(request.source.unit, "map") as show:
        bar = _Bar(show, done, total)
        if processes == 1:
            _make_here(request, job, wanted, bar)
        else:
            _make_there(request, job, wanted, bar, min(processes, len(wanted)))
        bar.tick(always=True)


def _settle_fields(request, job, find):
    job.fields = request.fields or find()
    has_labels = any(name in job.fields and name in request.source.fields for name in ("label", "labels"))
    job.classes = request.source.classes if has_labels else []


def _make_here(request, job, wanted, bar):
    def report(place, units):
        bar.under_way = units
        bar.tick()

    _settle_fields(request, job, lambda: _map_chunk.find_fields(job, report))
    for number, chunk in wanted:
        _map_chunk.run_chunk(job, number, chunk, report)
        bar.add(request.source.length(chunk))


def _make_there(request, job, wanted, bar, processes):
    with Workers(job, processes, bar.tick) as workers:
        _settle_fields(request, job, workers.find_fields)
        bar.more = workers.units
        workers.make(wanted, lambda counts, units: bar.add(units))


class _Bar:
    """Progress of the map stage. done: units of finished chunks; under_way, more(): units of chunks in progress."""

    def __init__(self, show, done, total):
        self._show, self.done, self._total, self.under_way, self.more = show, done, total, 0, None
        self._at, self._shown = time.monotonic(), -1

    def add(self, units):
        self.done += units
        self.under_way = 0

    def tick(self, always=False):
        if self._show is None or (not always and time.monotonic() - self._at < TICK_S):
            return
        self._at = time.monotonic()
        at = min(self._total, self.done + self.under_way + (self.more() if self.more is not None and not always else 0))
        if at >= self._shown:  # a chunk may be made again
            self._shown = at
            self._show(at, self._total)


_PACKED = ("jpegs_retiled", "jpegs_kept", "jpeg_bytes_before", "jpeg_bytes_after", "decoded", "resized")


def _result_of(counts, made=None, complete=True):
    rejected = sum(len(one["rejected"]) for one in counts)
    made = made or {"samples": sum(one["samples"] for one in counts), "rejected": 0, "shards": 0, "bytes": 0, "resumed_samples": 0,
                    "was_complete": False, **dict.fromkeys(_PACKED, 0)}  # fmt: skip
    return {
        **made, "rejected": made["rejected"] + rejected, "complete": complete, "mapped": sum(one["mapped"] for one in counts),
        "left_out": sum(one["left_out"] for one in counts),
    }  # fmt: skip


def _pack(request, folder, counts, bars):
    folders = [os.path.join(request.folder, NAME.format(number), DATA) for number, _ in request.chunks if counts[number]["samples"] > 0]
    if not folders:
        raise _map_chunk.nothing_made(sum(one["mapped"] for one in counts), [line for one in counts for line in one["rejected"]])
    data = Dataset(folders)
    parts = 1 if request.options["parts"] == 1 else 2  # so that two processes can pack at the same time
    with bars(" samples", "pack") as show:
        packed = [_sluice.pack(data._handle, request.path, {**_packer_options(request), "part": part, "parts": parts}, show) for part in range(parts)]
    made = packed[-1]
    if not made["was_complete"]:  # otherwise it counts both parts
        made = {**made, **{name: sum(one[name] for one in packed) for name in ("rejected", "shards", "bytes", "resumed_samples", *_PACKED)}}
    result = _result_of(counts, {**made, "samples": len(data) - made["rejected"], "was_complete": False})
    folder.replaced()
    _finish(request, counts, result)
    return result


def _finish(request, counts, result):
    lines = [line for one in counts for line in one["rejected"]]
    if lines:
        _map_chunk.write_whole(os.path.join(request.path, REJECTED), HEADING + "".join(f"{line}\n" for line in lines), request.folder)
    later = {**result, **dict.fromkeys(_PACKED, 0), "resumed_samples": result["samples"]}  # of a later run, which finds the dataset complete
    done = {"asked": request.asked, "packing": request.packing, "manifest": _manifest_sum(request.path), "result": later}
    _map_chunk.write_json(os.path.join(request.path, ASKED), done, request.folder)
    _map_chunk.sync_folder(request.path)

# SPDX-License-Identifier: Apache-2.0
"""One chunk of a pack with `map`: reads its samples, calls the function, and writes the results to a
folder.

The folder of a chunk (`NNNNNN`, in the folder of the map stage) appears whole or not at all. It has
shards of the results in `data`, in the order of the samples, uncompressed and unchanged, and
`chunk.json`, which counts the samples and lists the rejected ones. Its bytes depend on the chunk,
the function and the fields only. Runs in a worker process, or in the caller's with one process.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import traceback

from . import _sluice
from ._map_error import MapError
from ._map_fields import Finder, results_of
from .writer import Writer

NAME, DATA, COUNTS = "{:06}", "data", "chunk.json"


class Job:
    """The job of a worker process. tag: part of the names of unfinished chunks, unique to this run."""

    def __init__(self, source, function, on_bad, folder, tag):
        self.source, self.function, self.on_bad, self.folder, self.tag = source, function, on_bad, folder, tag
        self.in_worker = False
        self.fields = self.classes = None  # of the results; fields are found before any chunk is made


def map_error(key, where, error, text=""):
    """Returns a MapError about a sample. error: the function's exception, or a text."""
    reason = error if isinstance(error, str) else f"{type(error).__name__}: {_text_of(error)}".rstrip(": ")
    text = _SURROGATE.sub(_escaped, text)
    at = f"sample {where['sample']} ({key})" if where["sample"] is not None else key
    shown = _SURROGATE.sub(_escaped, reason)  # since surrogates cannot be printed
    made = MapError(f"map failed on {at}: {shown}" + (f"\n\n{text}" if text else ""))
    made.sample, made.file, made.offset, made.reason, made.traceback = where["sample"], where["file"], where["offset"], reason, text
    made.status, made.stage = "invalid", "map"
    return made


def _text_of(error):
    try:
        return str(error)
    except Exception as another:
        return f"its text cannot be shown ({type(another).__name__})"


def _own_traceback(error):
    """Returns the traceback as Python shows it, without the calls of this package."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        at = at.tb_next
    return "".join(traceback.format_exception(type(error), error, at)).rstrip() if at is not None else ""


def call(job, place, sample):
    """Returns the results of a sample. Raises MapError if the function raised, or returned something
    else.
    """
    try:
        return results_of(job.function(sample))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not job.in_worker:
            raise  # Ctrl-C; workers ignore it
        raise map_error(*job.source.where(place), error, _own_traceback(error)) from error


def nothing_made(mapped, rejected):
    """Returns a StateError. rejected: lines of rejected samples."""
    bad = f", {len(rejected)} of them rejected, the first: {rejected[0]}" if rejected else ""
    return _sluice.StateError(f"map left out all {mapped} samples: nothing is packed{bad}")


def find_fields(job, report):
    """Returns the fields of the results, from the first ones in the order of the source. Raises
    StateError if there are no results.
    """
    finder, mapped, rejected = Finder(job.source.fields), 0, []
    for chunk in job.source.chunks():
        for place, units, sample, error in job.source.read(chunk):
            report(place, 0)
            mapped += 1
            try:
                if error is not None:
                    raise error
                for result in call(job, place, sample):
                    _look(job, finder, place, result)
            except _sluice.Error as found:
                if not _is_left_out(job, found):
                    raise
                rejected.append(_line(job, place, found))
            if finder.done:
                return finder.fields()
    try:
        finder.end()
    except TypeError as error:
        raise _sluice.InvalidError(str(error)) from error
    if not finder.fields():
        raise nothing_made(mapped, rejected)
    return finder.fields()


def _look(job, finder, place, result):
    try:
        finder.look(result)
    except (TypeError, ValueError) as error:
        raise map_error(*job.source.where(place), error) from error


def _is_left_out(job, error):
    """Returns True if `on_bad_sample` leaves the sample out. A function that ran out of memory, or
    exits, says nothing about the sample.
    """
    cause = error.__cause__ if isinstance(error, MapError) else None
    if job.on_bad == "fail" or isinstance(error, _sluice.OutOfMemoryError) or isinstance(cause, (MemoryError, SystemExit, KeyboardInterrupt)):
        return False
    if isinstance(error, _sluice.IOError) and error.errno != 2:  # the sample may be good, but cannot be read
        return job.on_bad == "skip_all"
    return True


def run_chunk(job, number, chunk, report):
    """Makes the folder of a chunk and returns its counts. report(place, units): called before each
    sample.
    """
    name = os.path.join(job.folder, NAME.format(number))
    unfinished, bad = f"{name}.{job.tag}.tmp", {}
    while True:
        shutil.rmtree(unfinished, ignore_errors=True)
        os.mkdir(unfinished)
        known = len(bad)
        try:
            counts = _write(job, chunk, unfinished, bad, report)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        if len(bad) == known:
            break
    write_json(os.path.join(unfinished, COUNTS), counts)
    _publish(unfinished, name)
    return counts


def _write(job, chunk, folder, bad, report):
    """Writes the results. bad: errors, by place, of samples whose second or a later result is bad.
    If one is new, the chunk has to be made again without them, because earlier results of the
    sample are written already.
    """
    counts = {"mapped": 0, "left_out": 0, "samples": 0, "rejected": []}
    writer = Writer(os.path.join(folder, DATA), job.fields, classes=job.classes, keep_bytes=True, zstd="off")
    try:
        for place, units, sample, error in job.source.read(chunk):
            report(place, units)
            try:
                error = error or bad.get(place)
                if error is not None:
                    raise error
                added = _add(job, writer, place, call(job, place, sample), bad)
                counts["samples"] += added
                counts["left_out"] += added == 0
            except _sluice.Error as found:
                if not _is_left_out(job, found):
                    raise
                counts["rejected"].append(_line(job, place, found))
            counts["mapped"] += 1
        if counts["samples"] > 0:
            writer.finish()
        else:
            writer.abort()
            shutil.rmtree(os.path.join(folder, DATA), ignore_errors=True)
    except BaseException:
        writer.abort()
        raise
    return counts


def _add(job, writer, place, results, bad):
    for number, result in enumerate(results):
        try:
            writer.add(**result)
        except (_sluice.IOError, _sluice.StateError, MemoryError, ImportError):
            raise  # the disk is full, numpy is missing, ...
        except Exception as error:
            failed = map_error(*job.source.where(place), _refusal(job, result, error))
            failed.__cause__ = error
            if number > 0 and _is_left_out(job, failed):
                bad[place] = failed
            raise failed from error
    return len(results)


def _refusal(job, result, error):
    """Returns the reason why the writer rejects a result."""
    unknown = [name for name in result if name not in job.fields]
    if unknown:
        return f"it returned a field {unknown[0]!r} that its first result lacks: map_fields= names all fields and their types"
    fields = ", ".join(f"{name}: {what}" for name, what in job.fields.items())
    return f"{type(error).__name__}: {error}; the fields are {{{fields}}}, which map_fields= can change"


def _line(job, place, error):
    """Returns a line of the list of rejected samples, in the format of rejected.tsv: key, status,
    offset, reason.
    """
    key, where = job.source.where(place)
    offset = where["offset"] if error.offset is None else error.offset
    reason = _LONE.sub(_escaped, error.reason or str(error))
    return "\t".join((_CONTROL.sub(_escaped, key), error.status, str(-1 if offset is None else offset), reason))


_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_LONE = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")  # with lone surrogates, which stand for bytes of file names in keys


def _escaped(found):
    code = ord(found[0])
    return f"\\u{code:04X}" if code > 0xFF else f"\\x{code:02X}"


def write_json(path, what, beside=None):
    write_whole(path, json.dumps(what, indent=1) + "\n", beside)


def write_whole(path, text, beside=None):
    """Writes a file that is complete and durable once it has its name. Several processes may write the
    same one.

    beside: the folder where it is made [that of the path]; the packer removes unfinished files from
    its own.
    """
    folder, name = os.path.split(path)
    unfinished = os.path.join(beside or folder, f"{name}.{os.urandom(8).hex()}.tmp")
    with open(unfinished, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def sync_folder(path):
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    except OSError:  # a file system without this operation
        pass
    finally:
        os.close(folder)


def _publish(unfinished, name):
    sync_folder(unfinished)
    try:
        os.rename(unfinished, name)
    except OSError:
        if not os.path.exists(os.path.join(name, COUNTS)):
            raise
        shutil.rmtree(unfinished, ignore_errors=True)  # another process of the same pack was faster
    sync_folder(os.path.dirname(name))

# SPDX-License-Identifier: Apache-2.0
"""The folder of the map stage, `PATH.map`: its locks, its contents and its removal.

Names in it: map.json (the arguments of the call; the first run writes it), a folder for each
finished chunk, lock files, slots of workers, and *.tmp for everything that is unfinished or half
removed. A folder with other names was not made by sluice and is never touched. Locks: all.lock,
exclusive without parts and shared among parts; and one for each part. Everything here is done under
them. Lock files are removed last and map.json before them, so a kill at any moment leaves a folder
that the next run accepts.
"""
from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket

from . import _map_chunk, _sluice
from ._map_chunk import COUNTS, NAME
from ._map_source import failed

ASKED, ALL = "map.json", "all.lock"
_OURS = re.compile(r"\d{6,}|map\.json(\..+)?|(all|part-\d+-of-\d+)\.lock|slots\..+|(\d{6,}|map\.rejected\.tsv)\..+\.tmp|\.nfs\w+")  # last: NFS's names of removed files
_WORDS = {
    "format": "the version of sluice", "source": "the source", "units": "the source", "chunks": "the source", "map": "the function",
    "map_version": "map_version", "source_text": "the source of the function", "fields": "map_fields",
    "bound": "a value that is bound to the function (an argument of functools.partial, a default, a variable of an enclosing function)",
}  # fmt: skip


def read_json(path):
    """Returns the contents of a JSON file; None: it does not exist."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise _sluice.StateError(f"{path}: not valid JSON ({error}): overwrite=True to start over") from error


def compare(path, there, asked):
    """Raises StateError if another call made the contents of the folder."""
    for name in dict.fromkeys(("map_version", *there, *asked)):
        if there.get(name) != asked.get(name):
            what = _WORDS.get(name, f"{name}=")
            hint = "" if name not in ("source_text", "bound") else "; to resume although it changed, give both runs the same map_version="
            raise _sluice.StateError(
                f"{path}: made by another call of pack: {what} differs ({there.get(name)!r:.60} there, {asked.get(name)!r:.60} now): "
                f"overwrite=True to start over{hint}"
            )


def _note_of(path):
    """Returns (arguments of the call, True if a dataset at PATH is replaced) of a folder; (None,
    False): it has no note.
    """
    note = read_json(os.path.join(path, ASKED))
    if note is None:
        return None, False
    if not isinstance(note, dict):
        raise _foreign(path, ASKED)
    return {name: value for name, value in note.items() if name != "replaces"}, note.get("replaces", False)


def _foreign(path, name):
    return _sluice.StateError(f"{path}: the folder was not made by sluice.pack: it contains {name!r}: remove it, or pack to another path")


def _check_ours(path):
    names = os.listdir(path)
    others = [name for name in names if not _OURS.fullmatch(name)]
    if not others and names and not any(name.endswith(".lock") for name in names):
        note = read_json(os.path.join(path, ASKED))
        others = [] if isinstance(note, dict) and "format" in note else names
    if others:
        raise _foreign(path, others[0])


def goes_on_replacing(request):
    """Returns True if an interrupted run with overwrite=True, otherwise of the same call, left its
    work in the folder.
    """
    try:
        _check_ours(request.folder)
        asked, replaces = _note_of(request.folder)
    except (OSError, _sluice.Error):
        return False
    return replaces and asked == request.asked and request.options["parts"] == 1


def remove_left(request):
    """Removes the folder that a run of the same request left when it was killed at the end, unless
    another process uses it.
    """
    with contextlib.suppress(OSError, _sluice.Error):
        if os.listdir(request.folder) and _is_of(request):
            with contextlib.closing(Folder(request, alone=True, begins=False)) as folder:
                if _is_of(request):
                    folder.remove()


def _is_of(request):
    return _note_of(request.folder)[0] in (None, request.asked)


class Folder:
    """`PATH.map`, locked while it is in use: exclusively without parts, else for each part. begins:
    write the note, and empty the folder.
    """

    def __init__(self, request, alone=False, begins=True):
        self.request, self.path, self._locks = request, request.folder, []
        part, parts = request.options["part"], request.options["parts"]
        self.is_alone = alone or parts == 1
        self.tag = f"part-{part}-of-{parts}.{socket.gethostname()}-{os.getpid()}"
        try:
            os.makedirs(self.path, exist_ok=True)
            _check_ours(self.path)
            self._lock(ALL, self.is_alone)
            self._lock(f"part-{part}-of-{parts}.lock", True)
            if begins:
                if request.options["overwrite"] and not self._is_kept():
                    self._empty()
                self._note()
                self._tidy("" if parts == 1 else f".part-{part}-of-{parts}.")
        except BaseException as error:
            self.close()
            if isinstance(error, OSError) and not isinstance(error, _sluice.Error):
                raise failed(_sluice.IOError, error, self.path) from error
            raise

    def _lock(self, name, alone):
        """Takes a lock on a file that still has its name then: the previous owner may have removed it,
        and the folder.
        """
        path = os.path.join(self.path, name)
        while True:
            if name == ALL:
                os.makedirs(self.path, exist_ok=True)
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                self._flock(lock, alone)
                is_there = os.path.samestat(os.fstat(lock), os.stat(path))
            except FileNotFoundError:
                is_there = False
            except BaseException:
                os.close(lock)
                raise
            if is_there:
                self._locks.append(lock)
                return
            os.close(lock)

    def _flock(self, lock, alone):
        import fcntl

        try:
            fcntl.flock(lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _sluice.StateError(f"{self.path}: another process is packing to this path") from None
        except OSError:  # a file system without locks
            pass

    def _is_kept(self):
        """Returns True if overwrite=True resumes here: an interrupted run of the same call made the
        chunks, not the one that finished the dataset.
        """
        try:
            asked, replaces = _note_of(self.path)
        except _sluice.StateError:
            return False
        return asked == self.request.asked and (replaces or not self.request.was_finished)

    def _note(self):
        """Writes the arguments of the call in the first run, and compares them in others. Without
        chunks there is nothing to resume.
        """
        name = os.path.join(self.path, ASKED)
        has_chunks = self._has_chunks()  # checked before the note, which is written first
        if self.is_alone and not (has_chunks and os.path.exists(name)):
            self._empty()
        elif has_chunks and not os.path.exists(name):
            raise _foreign(self.path, "chunks without map.json")
        if not os.path.exists(name):
            mine = f"{name}.{self.tag}.tmp"
            _map_chunk.write_json(mine, {**self.request.asked, "replaces": self.request.replaces})
            try:
                os.link(mine, name)
                os.remove(mine)
            except FileExistsError:
                os.remove(mine)
            except OSError:  # no hard links: if two parts begin at once, the later one's note stays
                os.rename(mine, name)
        elif self.request.options["overwrite"]:  # the note is from the same call, perhaps without overwrite
            _map_chunk.write_json(name, {**self.request.asked, "replaces": True})
        compare(self.path, _note_of(self.path)[0], self.request.asked)

    def replaced(self):
        """Records that the dataset at PATH is the requested one: no later run replaces it."""
        if self.request.replaces:
            _map_chunk.write_json(os.path.join(self.path, ASKED), self.request.asked)

    def _tidy(self, whose):
        """Removes unfinished files of a killed run."""
        for name in os.listdir(self.path):
            if (name.endswith(".tmp") and whose in name) or (self.is_alone and name.startswith("slots.")):
                _remove(os.path.join(self.path, name))

    def _has_chunks(self):
        return any(name.isdigit() for name in os.listdir(self.path))

    def _empty(self):
        """Removes everything except lock files. A chunk disappears at once, by its name; the note is
        removed last.
        """
        for name in os.listdir(self.path):
            if name == ASKED or name.endswith(".lock") or name.startswith(".") or not _OURS.fullmatch(name):
                continue
            if not name.isdigit():
                _remove(os.path.join(self.path, name))
            else:
                self._rename_away(name)
        for name in os.listdir(self.path):
            if name.endswith(".tmp"):
                _remove(os.path.join(self.path, name))
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(self.path, ASKED))

    def _rename_away(self, name):
        """Renames a chunk, so that it disappears at once."""
        unfinished = os.path.join(self.path, f"{name}.{os.urandom(8).hex()}.tmp")
        try:
            os.rename(os.path.join(self.path, name), unfinished)
        except FileNotFoundError:  # another part removes it as well
            _remove(os.path.join(self.path, name))
        return unfinished

    def drop(self, number):
        """Removes a chunk that has to be made again."""
        _remove(self._rename_away(NAME.format(number)))

    def remove(self):
        """Removes the folder, as far as possible."""
        with contextlib.suppress(OSError):
            self._empty()
            for name in os.listdir(self.path):
                if name.endswith(".lock"):
                    _remove(os.path.join(self.path, name))
            self.close()  # on NFS, a removed file has a name while it is open
            os.rmdir(self.path)

    def drop_empty(self):
        """Removes the folder if no chunk was made."""
        if self.is_alone and not self._has_chunks():
            self.remove()

    def counts(self, number):
        """Returns the counts of a finished chunk, or None."""
        return read_json(os.path.join(self.path, NAME.format(number), COUNTS))

    def close(self):
        for lock in self._locks:
            os.close(lock)
        self._locks = []


def _remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.remove(path)

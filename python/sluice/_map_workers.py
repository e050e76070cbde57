# SPDX-License-Identifier: Apache-2.0
"""Worker processes of a pack with `map`: they make chunks, which the caller's thread distributes.

Processes are spawned, never forked: threads of the library and of others may hold locks. Each gets
the job once, pickled, and then one chunk at a time, so a process needs memory for one sample, and a
slow worker delays no other. Workers ignore SIGINT, because the caller kills them. The kernel kills
them if the caller dies. `Slots` is a file that workers map: each writes the sample that it is at,
for the error if it dies, and its progress. A worker's exceptions are returned as errors of the
library, which can be pickled.
"""
from __future__ import annotations

import mmap
import os
import pickle
import signal
import struct
import time
import traceback

from . import _map_chunk, _sluice
from ._map_error import MapError
from ._map_source import failed

TICK_S = 0.2
_SLOT = struct.Struct("<QQQQ")  # 1 if at a sample, its place (two numbers), units of the chunk before it


class Slots:
    """A slot for each worker, in a file of the folder of the map stage."""

    def __init__(self, path, count=None):
        with open(path, "r+b" if count is None else "w+b") as file:
            if count is not None:
                file.truncate(max(1, count) * _SLOT.size)
            self._map = mmap.mmap(file.fileno(), 0)

    def write(self, number, place, units):
        _SLOT.pack_into(self._map, number * _SLOT.size, 1, *place, units)

    def clear(self, number):
        _SLOT.pack_into(self._map, number * _SLOT.size, 0, 0, 0, 0)

    def read(self, number):
        """Returns (place or None, units)."""
        at, first, second, units = _SLOT.unpack_from(self._map, number * _SLOT.size)
        return ((first, second) if at else None), units


# ---- the worker ----


def serve(connection, pickled, slots_path, number, parent):
    """Runs in a worker process: answers ("find",) and ("make", chunk number, chunk, fields, classes) until it receives None."""
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        slots = Slots(slots_path)
        try:
            job = pickle.loads(pickled)
            job.in_worker = True
        except _sluice.Error:
            raise
        except BaseException as error:
            raise MapError(
                f"map cannot be loaded in a worker process: {type(error).__name__}: {error}; define it in a module (a .py file) that the "
                f"processes can import, or write processes=1\n\n{traceback.format_exc().rstrip()}"
            ) from None
        connection.send(("ready",))
        for order in iter(connection.recv, None):
            connection.send(_answer(job, order, lambda place, units: slots.write(number, place, units)))
            slots.clear(number)
    except EOFError:  # the caller has died
        pass
    except _sluice.Error as error:
        connection.send(("failed", error))
    except OSError as error:
        connection.send(("failed", failed(_sluice.IOError, error, error.filename or slots_path)))
    except BaseException as error:
        connection.send(("failed", MapError(f"{type(error).__name__}: {error}\n\n{traceback.format_exc().rstrip()}")))


def _answer(job, order, report):
    if order[0] == "find":
        return "found", _map_chunk.find_fields(job, report)
    _, number, chunk, job.fields, job.classes = order
    return "made", number, _map_chunk.run_chunk(job, number, chunk, report)


def _die_with(parent):
    """Makes the kernel kill this process when the caller's thread ends, for whatever reason."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


# ---- the caller ----


class Workers:
    """The worker processes. Leaving the `with` block ends them. on_tick: called a few times a second."""

    def __init__(self, job, count, on_tick):
        self._job, self._on_tick, self._workers = job, on_tick, []
        self._pickled = _pickled(job)
        self._path = os.path.join(job.folder, f"slots.{job.tag}")
        self._slots = Slots(self._path, count)
        try:
            for number in range(count):
                self._workers.append(self._start(number))
        except BaseException:
            self._end()
            raise

    def _start(self, number):
        import multiprocessing
        from multiprocessing import resource_tracker

        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        resource_tracker.ensure_running()  # starting it unblocks SIGINT
        process = context.Process(
            target=serve, args=(theirs, self._pickled, self._path, number, os.getpid()), daemon=True, name=f"sluice-map-{number}"
        )
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return _Worker(number, process, ours)

    def find_fields(self):
        """Runs the probe in the first worker."""
        worker = self._workers[0]
        worker.order = ("find",)
        worker.send()
        while True:
            for _, answer in self._wait():
                if answer[0] == "found":
                    return answer[1]

    def make(self, chunks, on_made):
        """Makes all chunks, pairs (number, chunk). on_made(counts, units): called for each when it is finished."""
        waiting, left = iter(chunks), len(chunks)
        for worker in self._workers:
            self._deal(worker, waiting)
        while left > 0:
            for worker, answer in self._wait():
                if answer[0] == "made":
                    on_made(answer[2], self._job.source.length(worker.chunk))
                    left -= 1
                    self._deal(worker, waiting)

    def units(self):
        """Returns the units done of chunks in progress."""
        return sum(self._slots.read(worker.number)[1] for worker in self._workers if worker.busy)

    def _deal(self, worker, waiting):
        number, worker.chunk = next(waiting, (None, None))
        if worker.chunk is not None:
            worker.order = ("make", number, worker.chunk, self._job.fields, self._job.classes)
            worker.send()

    def _wait(self):
        """Yields the workers' answers as they arrive. Sends an order to a worker that has become ready."""
        from multiprocessing.connection import wait

        answered = wait([worker.connection for worker in self._workers], TICK_S)
        for worker in self._workers:
            if worker.connection not in answered:
                if worker.process.exitcode is not None and not worker.connection.poll():
                    raise self._died(worker)
                continue
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                raise self._died(worker) from None
            if answer[0] == "failed":
                raise answer[1]
            worker.answered(answer)
            yield worker, answer
        self._on_tick()

    def _died(self, worker):
        worker.process.join(10)
        code = worker.process.exitcode
        how = f"ended with exit status {code}" if code is None or code >= 0 else f"was killed by {_signal_name(-code)}"
        place, _ = self._slots.read(worker.number)
        if place is not None:
            error = _map_chunk.map_error(*self._job.source.where(place), f"its worker process {worker.process.pid} {how}")
            return error
        if not worker.ready:
            return MapError(f"worker process {worker.process.pid} {how} before it had loaded the program: {_GUARD}")
        return MapError(f"worker process {worker.process.pid} {how} between two samples")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self._end(kind is None)

    def _end(self, in_peace=False):
        if in_peace:
            for worker in self._workers:
                worker.tell_end()
        deadline = time.monotonic() + (10 if in_peace else 0)
        for worker in self._workers:
            if in_peace:
                worker.process.join(max(0, deadline - time.monotonic()))
            worker.process.kill()
        for worker in self._workers:
            worker.process.join(5)  # one that waits for hung storage ends later
            worker.connection.close()
        if os.path.exists(self._path):
            os.remove(self._path)


class _Worker:
    """A worker process. order: the current one, or the first one, sent when the process is ready."""

    def __init__(self, number, process, connection):
        self.number, self.process, self.connection = number, process, connection
        self.ready, self.order, self.chunk, self.busy = False, None, None, False

    def send(self):
        if self.ready and self.order is not None:
            self.busy = True
            try:
                self.connection.send(self.order)
            except OSError:  # it died; _wait reports it
                pass

    def answered(self, answer):
        if answer[0] == "ready":
            self.ready = True
            self.send()
        else:
            self.order, self.busy = None, False

    def tell_end(self):
        try:
            self.connection.send(None)
        except OSError:
            pass


def refuse_in_worker():
    """Raises StateError while a spawned process imports the program that packs, and in processes that may not start others."""
    import multiprocessing

    if multiprocessing.current_process().daemon:
        raise _sluice.StateError("sluice.pack with processes=: this is a daemonic process of multiprocessing, which may not start others: write processes=1")
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise _sluice.StateError(f"sluice.pack with processes= was called while a worker process imported the program: {_GUARD}")


_GUARD = "a program that calls it needs the line if __name__ == \"__main__\": before the call"


def _signal_name(number):
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return name + (" (the system may be out of memory)" if number == signal.SIGKILL else "")


def _pickled(job):
    try:
        return pickle.dumps(job)
    except Exception as error:
        name = getattr(job.function, "__qualname__", type(job.function).__name__)
        raise TypeError(
            f"map={name}: it cannot be sent to worker processes ({type(error).__name__}: {error}): define the function at the top of a module, "
            "or write processes=1"
        ) from error

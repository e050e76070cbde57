# SPDX-License-Identifier: Apache-2.0
"""The thread of a loader's batch_hook (batch_hook_thread=True), which runs one batch ahead of the
loop.

Threads: one worker for each iteration. It makes a batch only when the loop has asked, so it owns
the inner iterator, and the loader's place in the epoch, between `ask` and the answer; `idle` is set
otherwise. The worker holds no reference to the loop's iterator, so that a `break` drops that
iterator, which joins the worker. A batch that is ahead holds a slot of the loader. A state has the
place of the last batch that the loop received. The loader and the iteration share it as the only
member of a list, `_shown`: set_epoch() of another thread gives the loader a new list, and an
iteration that is over writes to the old one.
"""
from __future__ import annotations

import atexit
import os
import threading
import weakref
from queue import SimpleQueue

from . import _sluice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .loader import Batches, Loader

BATCH, END, ERROR, STOPPED = range(4)
EXIT_SECONDS = 10  # for a hook that still runs when the program ends

_running: weakref.WeakSet[Ahead] = weakref.WeakSet()
_here = threading.local()  # loader: that of a worker's thread


class Worker:
    """Data of the thread: the inner iterator, and two queues."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.wanted: SimpleQueue[Any] = SimpleQueue()  # contexts of the batches to make; None: end
        self.ready: SimpleQueue[tuple[int, Any, Any]] = SimpleQueue()
        self.idle = threading.Event()
        self.idle.set()

    def run(self) -> None:
        _here.loader = self.batches._loader
        for context in iter(self.wanted.get, None):
            self.ready.put(self._made(context))  # not in a local variable, which would keep the batch until the next one
        del _here.loader
        self.ready.put((STOPPED, None, None))  # for a loop that asked too late

    def _made(self, context):
        """Returns (kind, value, the loader's place after it)."""
        try:
            with context:
                return self._taken()
        finally:
            self.idle.set()

    def _taken(self):
        try:
            return BATCH, next(self.batches), self.batches._loader._place_made()
        except StopIteration:
            return END, None, None
        except BaseException as error:
            return ERROR, error, self._place()

    def _place(self):
        try:
            return self.batches._loader._place_made()
        except _sluice.Error:  # the loader is closed
            return None


class Ahead:
    """The iterator of a loader whose hook has a thread. It ends as loader.Batches does."""

    def __init__(self, batches: Batches) -> None:
        self._batches, self._worker, self._shown = batches, Worker(batches), batches._loader._shown
        self._thread: threading.Thread | None = None
        self._is_asked = self._over = False
        self._lock, self._owner = threading.Lock(), 0

    def __iter__(self) -> Ahead:
        return self

    def __next__(self) -> Any:
        self._batches._loader._check_process()
        me = threading.get_ident()
        if me == self._owner or self._is_worker():
            raise _sluice.StateError("this thread is taking a batch of this loader already: batch_hook and signal handlers cannot take another")
        with self._lock:
            self._owner = me
            try:
                return self._next(self._batches._loader)
            finally:
                self._owner = 0

    def _next(self, loader: Loader) -> Any:
        self._end_if_elsewhere(loader)
        if self._over:
            raise StopIteration
        if not self._is_asked:
            self._shown[0] = loader._place_made()
            self._ask(loader)
        kind, value, place = self._worker.ready.get()
        self._is_asked = False
        if kind == ERROR and isinstance(value, _sluice.CanceledError):  # the loader was closed: raised as without the thread
            try:
                raise value
            finally:
                del value  # its traceback refers to this frame
        self._end_if_elsewhere(loader)
        if kind == STOPPED:
            self._over = True
            raise _sluice.StateError("this iteration is over: another thread began another iteration of this loader, or closed it")
        self._shown[0] = place
        if kind == END:
            self._end()
            raise StopIteration
        if kind == ERROR:
            try:
                raise value
            finally:
                del value  # as above
        self._ask(loader)
        return value

    def _ask(self, loader):
        if self._thread is None:
            self._thread = threading.Thread(target=self._worker.run, name="sluice batch_hook", daemon=True)
            self._thread.start()
            _running.add(self)
        self._worker.idle.clear()
        self._is_asked = True
        self._worker.wanted.put(loader._hook_context())

    def _is_over(self):
        """Returns True if the iteration is over, as loader.Batches does."""
        self._end_if_elsewhere(self._batches._loader)
        return self._over

    def _end_if_elsewhere(self, loader):
        """Ends the iteration if set_epoch, another iteration or close() ended it: the batch that is
        ahead belongs to the old place.
        """
        if not self._over and self._batches._turn != loader._turn:
            self._end()
            self._batches._over = False
            self._batches._is_over()  # raises if that is an error

    def _end(self):
        self._over = True
        self.stop()

    def _is_worker(self):
        return threading.current_thread() is self._thread

    def settle(self) -> None:
        """Waits until the worker has made the batch that was asked for, so that it does not move the
        loader. A forked child has no worker.
        """
        if not self._is_worker() and self._batches._loader._process == os.getpid():
            self._worker.idle.wait()

    def stop(self, timeout: float | None = None) -> None:
        """Ends the worker and joins it."""
        thread = self._thread
        if thread is None:
            return
        self._worker.wanted.put(None)
        if thread is not threading.current_thread():
            thread.join(timeout)
            self._thread = None

    def __del__(self) -> None:
        self.stop()


def refuse_worker(loader: Loader) -> None:
    """Raises StateError if this thread runs the loader's hook: its iteration would start a thread that
    begins another one, and so on.
    """
    if getattr(_here, "loader", None) is loader:
        raise _sluice.StateError("batch_hook cannot iterate its own loader: open another loader for the hook")


@atexit.register
def _stop_all() -> None:
    """Stops the workers before Python stops daemon threads at an arbitrary point."""
    for ahead in list(_running):
        ahead.stop(EXIT_SECONDS)

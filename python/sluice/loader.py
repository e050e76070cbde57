# SPDX-License-Identifier: Apache-2.0
"""sluice.Loader."""
from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from _weakref import proxy

from . import _assign, _buckets, _check, _loader_options as _options, _seeds, _sluice
from ._loader_columns import Contents, views
from ._loader_options import integer
from ._names import choice, keywords, seconds
from .batch import FACTS, Batch, made_of, named, parts_of
from .dataset import argument_hints, opened
from .functions import Conversion, called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, NoReturn, Self

    from ._types import Columns, Dtype, Hook, Source, Steps
    from .dataset import Dataset

STATE_VERSION = 1
BEGINNING = (0, 0, b"")

# Attributes that programs read from a loader: its constructor sets them.
ATTRIBUTES = frozenset((
    "dataset", "rank", "world_size", "batch_size", "batch_hook", "batch_hook_thread", "num_workers", "prefetch_factor", "drop_last",
    "sampler", "batch_sampler", "collate_fn", "pin_memory", "timeout", "persistent_workers", "generator", "worker_init_fn", "multiprocessing_context",
))  # fmt: skip


def _warn(handle):
    """Warns about the columns, at the user's line that opened the loader."""
    for text in iter(handle.warning, None):
        _check.warn(text)


class Sampler:
    """Stand-in for a DataLoader's sampler, which programs look for."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Sets the loader's epoch.

        Args:
            epoch: number of the epoch.
        """
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Returns the rows of an epoch on this rank, without rows that fill up its last batch."""
        return self._loader._handle.rows

    def __iter__(self) -> NoReturn:
        raise TypeError("the library decides the order: batch['index'] has the numbers of a batch's samples")


class Batches:
    """One iteration of a loader. Ends with the epoch, and when set_epoch() or load_state_dict() moves
    the loader. Raises StateError once another iteration has begun or the loader is closed.
    """

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader, self._turn, self._over = loader, turn, False

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        loader = self._loader
        loader._check_process()
        batch = loader._next_of(self)
        if batch is None:
            raise StopIteration
        batch = loader._given(batch)
        hook = loader.batch_hook
        return batch if hook is None else called(hook, batch)

    def _is_over(self):
        loader = self._loader
        if not self._over and self._turn != loader._turn:
            self._over = True
            if loader._why:
                raise _sluice.StateError(f"this iteration is over: {loader._why}")
        return self._over


class Loader:
    """Batches of a dataset, made ahead of the loop by threads of the library.

    `for batch in loader` is one epoch; the next loop is the next epoch. set_epoch() and
    load_state_dict() choose where the next loop begins. A loader has one iteration at a time: a new
    one ends the previous one. Several threads may share an iterator.

    Args:
        dataset: a sluice.Dataset, or the path of one; or torch's Subset, ConcatDataset,
            ImageFolder, CocoDetection or VOCDetection, whose files are read directly
            (docs/datasets.md).
        batch_size: rows of this rank's batches, 1 to 65536 [1].
        shuffle: False, True or 'full' (permutes all samples), 'block' (keeps neighbours together,
            for disks with slow random reads), 'shards' (whole files in random order, for compressed
            archives) [False].
        num_workers: decoding threads [None or 0: the available CPUs].
        transform: sluice.transforms for the dataset's images, or a dict of them by field.
        columns: contents of a batch: a dict of sluice.columns by name [the default columns].
        drop_last, last_batch: handling of a partial last batch: 'drop', 'short' (drop_last chooses
            between these), 'pad' (empty rows), 'repeat' or 'wrap' (the epoch's first samples;
            'wrap' puts them after all ranks' rows, as accelerate expects). The 'mask' of added rows
            is 0.
        seed: seed of order and augmentation. The same seed, epoch and batch_size give the same
            batches. None draws one (`loader.seed`); several ranks need the same number [0].
        dtype, layout: of images: 'uint8' or a floating type; 'NHWC' or 'NCHW'.
        device: 'cpu', 'cuda', 'cuda:N' or 'auto' (a GPU if there is one) ['cpu'].
        on_bad_sample: 'fail' (later batches raise, too), 'replace' (takes another sample) or 'mask'
            (a zero row, its mask 0) ['fail'].
        rank, world_size: of data-parallel ranks [sluice.ranks()].
        prefetch_factor: batches in memory, including those in use [4; more if they are small].
        order, limits, io: dicts of arguments for order, memory and time, and reading:
            order={"weights": w}. io="uring" sets only the backend.
        rare: other arguments, including the members of these dicts: help(sluice.Loader.__init__)
            lists them.

    Raises:
        TypeError: an argument is unknown, of the wrong type, or one of torch's that has another
            name here.
        ValueError: an argument is out of range; InvalidError, a ValueError: the arguments
            contradict the dataset.

    Example:
        >>> with sluice.Loader("photos", batch_size=4, transform=T.RandomResizedCrop(32)) as loader:
        ...     for images, labels in loader:
        ...         pass  # images.numpy(): uint8, 4 x 32 x 32 x 3
    """

    _more: Mapping[str, Any] = {}
    dataset: Dataset
    rank: int
    world_size: int
    batch_size: int
    batch_hook: Hook | None
    batch_hook_thread: bool
    num_workers: int
    prefetch_factor: int | None
    drop_last: bool
    sampler: Sampler
    batch_sampler: None
    collate_fn: None
    pin_memory: bool
    timeout: int
    persistent_workers: bool
    generator: Any
    worker_init_fn: Any
    multiprocessing_context: None

    def __init__(
        self, dataset: Dataset | Source, batch_size: int = 1, shuffle: bool | str = False, *,
        num_workers: int | None = None, transform: Steps | Mapping[str, Steps] | None = None,
        columns: Columns | None = None, drop_last: bool = False, last_batch: str | None = None, seed: int | None = 0,
        ignore_index: int = -1, dtype: Dtype = None, layout: str | None = None, device: Any = None, on_bad_sample: str = "fail",
        quarantine: str | os.PathLike[str] | None = None, rank: int | None = None, world_size: int | None = None,
        prefetch_factor: int | None = None, exact: bool = False, exif: bool | str = "auto", batch_hook: Hook | None = None,
        batch_hook_thread: bool = False, hold: str | None = None, hold_timeout: float | None = 30.0, stall_warn: float | None = None, stall_fail: float | None = None,
        io: str | Mapping[str, Any] = "auto", page_cache: str = "auto", block_samples: int = 0, window_blocks: int = 0, io_depth: int = 0,
        io_threads: int = 0, read_buffer_bytes: int = 0, max_sample_bytes: int = 0, max_pixels: int = 0,
        memory_bytes: int = 0, resident_bytes: int = 0, whole_samples: bool = False, any_numa_node: bool = False,
        device_slots: int = 0, model_parallel: int = 1, window_bytes: int = 0, partners: str | Sequence[str] | None = None,
        classes: Sequence[int] | None = None, buckets: Sequence[Sequence[int]] | None = None, sizes: Any = None,
        episode: Sequence[int] | None = None, episodes: int = 0, weights: Any = None, num_samples: int = 0, lengths: Any = None,
        length_groups: int = 0, repeats: int = 0, level: bool = False, order: Mapping[str, Any] | None = None, limits: Mapping[str, Any] | None = None,
        pin_memory: Any = None, persistent_workers: Any = None, pin_memory_device: Any = None, timeout: Any = None, multiprocessing_context: Any = None,
        sampler: None = None, batch_sampler: None = None, collate_fn: None = None, worker_init_fn: Any = None,
        generator: Any = None,
    ) -> None:  # fmt: skip
        given = locals()
        _options.refuse(given)
        _check.flag("batch_hook_thread", batch_hook_thread)
        copies = choice("hold", "copy" if hold is None else hold, _options.HOLDS)
        self.dataset = opened("dataset", dataset)
        self.rank, self.world_size = _options.choose_ranks(rank, world_size, model_parallel)
        given["seed"], self._seed_is_derived = _seeds.choose(given, self._derive_seed, self.world_size)
        numbers = _options.number_arrays(given, "lengths", "weights")
        options = _options.library_options(Loader.__init__, given | {"rank": self.rank, "world_size": self.world_size}, copies)
        self.batch_size, self.batch_hook, self.batch_hook_thread = options["batch_size"], batch_hook, bool(batch_hook_thread)
        table = None if sizes is None else _buckets.table(sizes, len(self.dataset))
        contents = Contents(self.dataset, self._layout)
        self._functions, kept = contents.functions, views(self.dataset, columns)
        recipe, columns = contents.chosen(transform, columns, dtype, layout, options)
        natural = self.dataset._natural_columns().values() if columns is None else ()
        self._requested = {column["name"] for column in columns or ()} | {name for _, name in natural}  # others are parts
        self._about = self.dataset, columns, recipe  # for the HTML of batches
        self._opened = (options, recipe, columns, _options.class_numbers(classes), table, numbers)
        hold_ms = round(min(seconds("hold_timeout", 1e9 if hold_timeout is None else hold_timeout), 1e9) * 1000)
        self._holds = (hold_ms, kept, bool(copies))
        self._open()
        if hold == "copy" and not self._copies_on_device and self._handle.on_device:
            self._handle.close()
            raise ValueError("hold='copy' on a device: only sluice.torch.DataLoader copies there")
        _warn(self._handle)
        # Beginning of the next iteration: (epoch, samples before it on all ranks, cursor of a loaded state).
        # None: the library is in an epoch and has returned a batch of it, so it knows.
        self._start = BEGINNING
        self._turn = 0  # number of the current iteration: older ones end
        self._untouched = False  # True if no batch of the iteration has been requested yet
        self._again = False  # True: begins again at _start with the next request
        self._why = ""  # error of an older iteration; "": it ends without one
        self._closed_turn = self._closed_at = None  # turn and place at close(); None: open, or no place is known
        self._shown = [None]  # with batch_hook_thread: place of the last batch that the loop received, written by the loop
        self._ahead = None  # with batch_hook_thread: weak reference to the iterator
        self._lock = allocate_lock()  # held while taking a batch or beginning an iteration
        self._process = os.getpid()  # a forked child must not wait for a lock that a thread of the parent holds
        self._convert = Conversion(self._functions) if self._functions else None
        self._kind = None  # class of its batches, set with the first one
        # Attributes that programs read from a DataLoader.
        self.num_workers, self.prefetch_factor = options.get("workers", 0), options.get("prefetch") or None
        self.drop_last = options["last_batch"] == 0
        self.sampler, self.batch_sampler, self.collate_fn = self._own_sampler(), None, None
        self.pin_memory, self.timeout, self.persistent_workers = bool(pin_memory), 0, False
        self.generator, self.worker_init_fn, self.multiprocessing_context = generator, worker_init_fn, None

    if not TYPE_CHECKING:
        __init__ = _check.named(
            __init__, more=keywords("loader"), hints=argument_hints("sluice.Loader") | _options.HINTS, groups=_options.GROUPS, shown=_options.shown,
        )  # fmt: skip

    _batch: type[Batch] = Batch
    _copies_on_device = False
    _layout = "NHWC"  # for Image columns without a layout

    if not TYPE_CHECKING:  # otherwise type checkers would accept any name

        def __setattr__(self, name, value):
            """AttributeError: the assignment would have no effect. batch_hook has one."""
            if not name.startswith("_"):  # the loader's own, assigned several times per batch
                _assign.check(self, Loader, name, ATTRIBUTES, ("batch_hook",), Loader.__init__.names, _assign.LOADER)
                if name == "batch_hook" and value is not None and not callable(value):
                    raise ValueError(f"batch_hook={value!r}: expected a callable")
            object.__setattr__(self, name, value)

    _derive_seed = staticmethod(_seeds.random)

    def _own_sampler(self):
        return Sampler(proxy(self))

    def _open(self):
        options, recipe, columns, *tables = self._opened
        self._handle = _sluice.Loader(self.dataset._handle, options, recipe, columns, *self._holds, *tables)
        if not self._copies_on_device and self._handle.on_device:
            self._handle.copies = False

    def _reseed(self, seed):
        """Opens the library's loader again if the seed differs. Returns the previous (handle,
        options).
        """
        before = (self._handle, self._opened)
        if seed != self.seed:
            self._opened = (self._opened[0] | {"seed": seed}, *self._opened[1:])
            self._open()
        return before

    # ---- iterating ----

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch at once: the next one, or the one that set_epoch() or load_state_dict()
        chose.
        """
        self._check_process()
        return self._new_iteration()

    def _new_iteration(self):
        self._refuse_closed()
        self._refuse_itself()
        if self.batch_hook_thread:
            from ._hooking import refuse_worker

            refuse_worker(self)
        self._stop_ahead()
        with self._lock:
            if self._start is None:
                self._start = (self._handle.epoch + 1, 0, b"")
            self._untouched, self._again, self._shown = True, False, [None]
            self._begin()
            self._end_iteration("another iteration of this loader has begun")
            return self._iterator(Batches(self, self._turn))

    def _iterator(self, batches):
        """Returns the loop's iterator: the batches, or those of a thread that runs ahead."""
        if not self.batch_hook_thread:
            return batches
        from weakref import ref

        from ._hooking import Ahead

        ahead = Ahead(batches)
        self._ahead = ref(ahead)
        return ahead

    def _stop_ahead(self):
        ahead = self._ahead and self._ahead()
        if ahead is not None:
            ahead.stop()

    def _hook_context(self):
        """Returns the context in which the hook's thread makes a batch for the calling thread."""
        from contextlib import nullcontext

        return nullcontext()

    def _next_of(self, batches):
        """Returns the next batch of an iteration; None at its end. Threads that share a loader take
        turns.
        """
        self._refuse_itself()
        with self._lock:
            batch = None if batches._is_over() else self._take()
            ended = batches._is_over()  # raises if another thread has closed the loader
            if batch is None or ended:
                batches._over = True
                return None
            return batch

    def _refuse_itself(self):
        """Raises StateError if this thread holds the lock: a signal handler runs while it does, and
        would wait for itself.
        """
        frame = sys._getframe(2) if self._lock.locked() else None
        while frame is not None:
            if frame.f_code in LOCKED and frame.f_locals.get("self") is self:
                raise _sluice.StateError(
                    "this thread is taking a batch of this loader already, and a signal handler cannot take another one: "
                    "set a flag in the handler, and check it between batches"
                )
            frame = frame.f_back

    def _refuse_closed(self):
        if self._closed_turn is not None:
            raise _sluice.StateError("the loader is closed")

    def _check_process(self):
        if self._process != os.getpid():
            self._handle.restore(None)  # raises StateError

    def _begin(self):
        """Starts the epoch in the library, at the loaded state if there is one."""
        epoch, _, cursor = self._start
        self._handle.restore(cursor or None)
        self._handle.start(epoch)

    def _end_iteration(self, why=""):
        self._turn += 1
        self._why = why

    def _leave(self):
        """Ends an iteration in progress. One that has returned no batch yet will begin at the new
        place: frameworks (Lightning) take an iterator before they set the epoch.
        """
        ahead = self._ahead and self._ahead()
        if ahead is not None:
            ahead.settle()
        self._again = self._untouched
        if self._untouched:
            self._shown[0] = None
        else:
            self._shown = [None]
            self._end_iteration()

    def _take(self):
        """Returns the next batch; None: the epoch is over."""
        turn = self._turn
        if self._untouched:  # assigning costs a call of __setattr__, so only what changes is assigned
            self._untouched = False
        if self._again:
            self._begin()
            self._again = False
        batch = self._handle.next(self._convert)
        if turn != self._turn:  # another thread or a signal handler called set_epoch() meanwhile
            return None
        if batch is None:
            self._start = (self._handle.epoch + 1, 0, b"")
        elif self._start is not None:
            self._start = None
        return batch

    def _given(self, batch):
        """Returns the Batch of one of the library's batches."""
        if self._kind is None:
            names = batch.keys()[: -len(FACTS)]
            self._kind = named(self._batch, tuple(name for name in names if name in self._requested))
            self._parts = parts_of(names, self._kind._names)
        self._handle.settle(batch)
        return made_of(self._kind, batch, self._parts, self._about)

    def __len__(self) -> int:
        """Returns the number of batches of an epoch, on this rank."""
        return self._handle.steps

    @property
    def remaining(self) -> int:
        """Batches that are left of the epoch in progress.

        Off by one if a state of another batch_size or world_size resumes in the middle of a batch.
        """
        rows = self.batch_size * self.world_size
        return max(0, len(self) + -self._place()[1] // rows)

    @property
    def seed(self) -> int:
        """The seed of order and augmentation: the argument, or the derived one."""
        return self._opened[0]["seed"]

    @property
    def epoch(self) -> int:
        """The epoch in progress; between two epochs, the next one; after close(), the last one."""
        shown = self._closed_at or self._shown[0]
        if shown is not None:
            return shown[0]
        return self._handle.epoch if self._start is None else self._start[0]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration.

        If load_state_dict restored the same epoch, it resumes where it was saved. Ends an iteration
        in progress; one that has returned no batch yet moves to this epoch.

        Args:
            epoch: number of the epoch, from 0.

        Raises:
            StateError: the loader is closed.

        Example:
            >>> loader.set_epoch(3)
            >>> next(iter(loader)).epoch
            3
        """
        epoch = integer("epoch", epoch)
        self._refuse_closed()
        if self._start and self._start[2] and epoch == self._start[0]:
            return
        self._leave()
        self._start = (epoch, 0, b"")

    def _place(self):
        """Returns (epoch, its samples that were taken on all ranks, cursor)."""
        shown = self._closed_at or self._shown[0]
        if shown is None:
            return self._place_made()
        self._check_process()  # raises, like the library
        return shown

    def _place_at_end(self):
        """Returns the place for state_dict() after close(). A forked child cannot ask the library for
        it.
        """
        try:
            return self._with_cursor(self._place()) if self._process == os.getpid() else (self.epoch, 0, b"")
        except _sluice.Error:
            return None

    def _place_made(self):
        """Returns the place after the batches that were made; the loop may not have received the last
        one.
        """
        return self._start or self._handle.place()

    # ---- state ----

    def state_dict(self) -> dict[str, int | str]:
        """Returns the loader's place, from which load_state_dict() resumes.

        Every batch that was returned counts as consumed. After close(), it is the place at that time.

        Another loader of the same dataset, seed and shuffle can resume from it, also with another
        batch_size or number of ranks. These must stay the same: with shuffle='shards', the number
        of ranks, and batch_size if samples are dropped; with buckets or lengths, batch_size times
        ranks, and lengths and length_groups; with repeats, that product, repeats and num_samples;
        with weights, weights and num_samples; with episode, episode, episodes and classes; with
        several samples per row, their number, partners and classes. A state saved between epochs
        has the same conditions; if one has changed, set_epoch(state["epoch"]) begins that epoch.

        Returns:
            A dict of ints and strings, the same on every rank. It includes the seed if the loader
            was opened with seed=None or generator=; load_state_dict of such a loader adopts that
            seed.

        Raises:
            StateError: this process is a forked child of the loader's process.

        Example:
            >>> sorted(loader.state_dict())
            ['cursor', 'epoch', 'samples', 'sluice']
        """
        return self._state(self._place())

    def _state(self, place):
        epoch, samples, cursor = self._with_cursor(place)
        derived = {"seed": self.seed} if self._seed_is_derived else {}
        return {"sluice": STATE_VERSION, "epoch": epoch, "samples": samples, "cursor": cursor.hex()} | derived

    def _with_cursor(self, place):
        """Returns the place. One between epochs gets the cursor of its epoch's beginning, which
        identifies the loader. Raises StateError in a forked child, which cannot ask the library.
        """
        epoch, samples, cursor = place
        if cursor:
            return place
        self._check_process()
        if self._handle.closed:
            return place
        try:
            return epoch, samples, self._handle.cursor(epoch, 0)
        except _sluice.InvalidError:  # a mix has fewer epochs
            return place

    def state_at(self, epoch: int, batches: int) -> dict[str, int | str]:
        """Returns the state_dict() after `batches` batches of an epoch.

        load_state_dict(state_at(3, 100)) skips 100 batches of epoch 3, which are neither read nor
        decoded.

        Args:
            epoch: number of the epoch, from 0.
            batches: number of batches.

        Returns:
            The state.

        Raises:
            ValueError: the epoch has fewer batches.

        Example:
            >>> loader.state_at(3, 2)["samples"]
            8
        """
        epoch, batches = integer("epoch", epoch), integer("batches", batches)
        return self._state((epoch, batches * self.batch_size * self.world_size, self._handle.cursor(epoch, batches)))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes from `state` at the next iteration.

        Ends an iteration in progress; one that has returned no batch yet resumes from `state`, too.

        Args:
            state: a state from state_dict() or state_at().

        Raises:
            ValueError: the state is not from such a loader; nothing changes.
            StateError: the loader is closed.

        Example:
            >>> loader.load_state_dict(loader.state_at(3, 2))
            >>> next(iter(loader)).index
            2
        """
        if not isinstance(state, dict) or state.get("sluice") != STATE_VERSION:
            raise ValueError(f"not a state from state_dict() of this version: {str(state):.80}")
        missing = {"epoch", "samples", "cursor"} - state.keys()
        if missing:
            raise ValueError(f"the state is damaged: it lacks {sorted(missing)[0]!r}")
        epoch = integer("the state's epoch", state["epoch"])
        samples = integer("the state's samples", state["samples"])
        try:
            cursor = bytes.fromhex(state["cursor"])
        except (TypeError, ValueError):
            raise ValueError("the state is damaged: its cursor is not hexadecimal") from None
        if self._handle.closed:
            raise _sluice.StateError("the loader is closed: open another one for this state")
        before = self._reseed(_seeds.of_state(state, self.seed, self._seed_is_derived))
        try:
            # Checks that the cursor is from such a loader, and gets its epoch; __iter__ uses the cursor.
            if cursor and self._handle.restore(cursor) != epoch:
                raise ValueError(f"the state is damaged: its cursor is of another epoch than {epoch}")
        except BaseException:
            self._handle, self._opened = before
            raise
        if before[0] is not self._handle:
            before[0].close()
        self._leave()
        self._start = (epoch, samples if cursor else 0, cursor)

    # ---- statistics and close ----

    def stats(self) -> dict[str, Any]:
        """Returns statistics since the loader was opened.

        Returns:
            A dict. The fields of sluice_loader_stats (sluice/loader.h), times in nanoseconds:
            workers, slots, samples (decoded, including those made ahead), batches (returned),
            bytes_read, reads, bad_samples, replaced_samples, memory_bytes, host_wait_ns (waiting
            for batches), first_batch_ns, io_backend, device, device_slots, near_device, pinning,
            pinning_reason, ... "python": calls, samples and seconds of transforms.Python, by
            column. "operations": estimated seconds by image operation, summed over threads; steps
            consist of such operations (box_blur, erase, geometry).

        Example:
            >>> loader.stats()["bad_samples"]
            0
        """
        return self._handle.stats() | {
            "operations": self._handle.operations(),
            "python": {name: of.cost() for name, of in self._functions.items()},
        }

    def describe(self) -> str:
        """Describes what the loader is doing.

        The text names the next batch, and the row, queue or read that it waits for.

        Call it from another thread, or a debugger, when a loop seems to hang. A read in flight is
        named with its file, offset and age. Ctrl-C in a wait of more than a second for a batch
        writes this text to sys.stderr.

        Returns:
            One line of text, whose wording may change.

        Example:
            >>> isinstance(loader.describe(), str)
            True
        """
        return self._handle.describe()

    def close(self) -> None:
        """Ends the threads.

        Batches, tensors and state_dict() stay readable; everything that needs the threads raises
        StateError. `del` and `with` close the loader, too. A loop of another thread raises
        CanceledError if it waits for a batch, else StateError at its next one.

        Example:
            >>> loader.close()
        """
        if self._closed_turn is None:
            self._closed_at, self._closed_turn = self._place_at_end(), self._turn
        self._end_iteration("the loader was closed")
        self._handle.close()
        self._stop_ahead()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loader has threads and cannot be pickled: pickle its dataset and state_dict()")

    def __repr__(self) -> str:
        rank = f", rank={self.rank}, world_size={self.world_size}" if self.world_size > 1 else ""
        return f"{type(self).__name__}({self.dataset!r}, batch_size={self.batch_size}, epoch={self.epoch}{rank})"

    def _repr_html_(self) -> str:
        from .notebook import page

        return page(self)


LOCKED = (Loader._new_iteration.__code__, Loader._next_of.__code__)  # functions that take a loader's lock

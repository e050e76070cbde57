# SPDX-License-Identifier: Apache-2.0
"""Why a training loop waits for data, and marks for `sluice idle`."""
from __future__ import annotations

import os
import time
from collections import namedtuple
from contextlib import contextmanager

from . import _check, _sluice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .loader import Loader

READ, DECODE, AUGMENT, UPLOAD = range(4)

# As in `sluice bench`: a stage busy for more than BUSY of the time is the limit, a loop that waits
# less than FED gets enough data, and a queue empty more often than STARVED starves the next stage.
BUSY, FED, STARVED = 0.85, 0.02, 0.5
LEAST = 10  # batches needed for a verdict: with fewer, batches in flight at either end change fractions by over a tenth


if TYPE_CHECKING:
    from typing import NamedTuple

    class Store(NamedTuple):
        host: str
        p50: float
        p99: float
        requests: int
        per_epoch: float
        price: float | None

else:
    Store = namedtuple("Store", ["host", "p50", "p99", "requests", "per_epoch", "price"])
    Store.__doc__ = """Requests to object stores: see Profile.store.

    Attributes:
        host: the host that most bytes came from.
        p50: median seconds to the first byte of its answers, since the process began.
        p99: 99th percentile of these.
        requests: requests of all kinds in this time, from the whole process.
        per_epoch: the same for one epoch of the loader.
        price: price of an epoch's requests, in the currency of price_get; None without one.
    """


class Profile:
    """How a loader spent its time between two moments.

    sluice.profile makes it; str() is the verdict in a sentence.

    Args:
        loader: the loader.
        price_get: price of 1,000 requests to the dataset's object store [none].

    Example:
        >>> with sluice.profile(loader) as profile:
        ...     batches = sum(1 for batch in loader)
        >>> profile.batches == batches, profile.limit
        (True, 'unknown')
    """

    def __init__(self, loader: Loader, price_get: float | None = None) -> None:
        if not hasattr(loader, "_handle") or not hasattr(loader, "_functions"):
            raise _check.wrong("loader", loader, "a sluice.Loader")
        self._loader = loader
        self._price = None if price_get is None else _check.number("price_get", price_get)
        if self._price is not None and not 0 <= self._price < 1e6:
            raise ValueError(f"price_get={price_get!r}: expected the price of 1,000 requests, 0 or more")
        self._start = self._take()
        self._end = None

    def _take(self):
        handle, now = self._loader._handle, time.perf_counter()
        functions = sum(of.nanoseconds for of in self._loader._functions.values()) / 1e9
        numbers = handle.stats() | {"python_seconds": functions, "operations": handle.operations()}
        if numbers.get("io_backend") == "remote":
            numbers["remote"] = _sluice.remote_stats()
        return now, numbers, [handle.stage(stage) for stage in range(4)]

    def __enter__(self) -> Profile:
        self._start, self._end = self._take(), None
        return self

    def __exit__(self, *exception: Any) -> None:
        self._end = None if self._loader._handle.closed else self._take()

    def _between(self):
        (before, first, stages), (after, last, later) = self._start, self._end or self._take()
        numbers = {name: last[name] - first[name] for name in ("host_wait_ns", "batches", "samples", "python_seconds")}
        busy = [b[0] - a[0] for a, b in zip(stages, later)]
        depth = [b - a for a, b in zip(stages[DECODE][2], later[DECODE][2])]
        return max(after - before, 1e-9), numbers, busy, depth, last["workers"]

    @property
    def seconds(self) -> float:
        """Length of the time in seconds."""
        return self._between()[0]

    @property
    def batches(self) -> int:
        """Batches that were taken."""
        return self._between()[1]["batches"]

    @property
    def samples(self) -> int:
        """Samples that were decoded."""
        return self._between()[1]["samples"]

    @property
    def waiting(self) -> float:
        """Fraction of the time that the loop waited for a batch, 0 to 1."""
        seconds, numbers, *_ = self._between()
        return min(1.0, numbers["host_wait_ns"] / 1e9 / seconds)

    @property
    def workers_busy(self) -> float:
        """Fraction of the workers' time in which they decoded or augmented."""
        seconds, _, busy, _, workers = self._between()
        return (busy[DECODE] + busy[AUGMENT]) / 1e9 / (workers * seconds)

    @property
    def reads_busy(self) -> float:
        """Fraction of the time with a read in flight."""
        seconds, _, busy, *_ = self._between()
        return min(1.0, busy[READ] / 1e9 / seconds)

    @property
    def queue_empty(self) -> float:
        """Fraction of the samples after which a worker found the queue empty."""
        depth = self._between()[3]
        return depth[0] / sum(depth) if sum(depth) else 0.0

    @property
    def python(self) -> float:
        """Fraction of the time spent in functions of transforms.Python."""
        seconds, numbers, *_ = self._between()
        return min(1.0, numbers["python_seconds"] / seconds)

    @property
    def operations(self) -> dict[str, float]:
        """Seconds by image operation ("gaussian_blur"), largest first, summed over threads."""
        before, after = self._start[1]["operations"], (self._end or self._take())[1]["operations"]
        spent = {name: seconds - before.get(name, 0.0) for name, seconds in after.items()}
        return dict(sorted(spent.items(), key=lambda item: -item[1]))

    @property
    def store(self) -> Store | None:
        """A profiling.Store if the dataset is in an object store, else None."""
        before, after = self._start[1].get("remote"), (self._end or self._take())[1].get("remote")
        if after is None or before is None:
            return None
        requests = after["requests"] - before["requests"]
        per_epoch = requests * len(self._loader) / max(self.batches, 1)
        price = None if self._price is None else per_epoch * self._price / 1000
        return Store(after["host"], after["p50_ns"] / 1e9, after["p99_ns"] / 1e9, requests, per_epoch, price)

    @property
    def limit(self) -> str:
        """The limit: 'loop', 'decode', 'augment', 'copy', 'read', 'none', or 'unknown'.

        'unknown': fewer than 10 batches were taken.
        """
        seconds, numbers, busy, _, _ = self._between()
        if numbers["batches"] < LEAST:
            return "unknown"
        if self.waiting < FED:
            return "loop"
        if self.workers_busy >= BUSY:
            return "decode" if busy[DECODE] >= busy[AUGMENT] else "augment"
        if busy[UPLOAD] / 1e9 / seconds >= BUSY:
            return "copy"
        return "read" if self.queue_empty >= STARVED else "none"

    def __str__(self) -> str:
        if self.batches == 0:
            return "no batch was taken in this time"
        dataset = self._loader.dataset
        pictures = any(field.type == "image" for field in dataset.fields.values())
        packed = not pictures or dataset.format in ("shards", "mixed")
        pack = "" if packed else ", and packing (sluice.pack) makes decoding cheaper"
        advice = dataset.description.partition("; ")[2]
        stored = f"; the dataset is {advice}" if advice else ""
        files = " or packing (sluice.pack), for longer reads," if dataset._info["shards"] == 0 else ""
        store = self.store
        faster = "faster storage" if store is None else "more bandwidth, or a cache on a local disk (sluice.remote.configure),"
        asked = "" if store is None else (
            f"; {store.host} answers after {store.p50 * 1e3:.1f} ms (p50) to {store.p99 * 1e3:.1f} ms (p99), "
            f"{store.per_epoch:.0f} requests an epoch" + ("" if store.price is None else f" cost {store.price:.4g}"))
        spent = next(iter(self.operations.items()), None)
        most = f", {spent[0]} for {spent[1]:.3g} s of it" if spent else ""
        said = {
            "loop": f"the loop is the limit: it waited for data {self.waiting:.1%} of the time",
            "decode": f"decoding is the limit: workers were busy {self.workers_busy:.0%} of the time; more cores "
            f"(num_workers) would help{pack}{stored}",
            "augment": f"augmenting is the limit: workers were busy {self.workers_busy:.0%} of the time{most}; more "
            "cores (num_workers), uint8 images or a GPU that converts them would help",
            "copy": "copies to the GPU are the limit: uint8 images that the GPU converts are a quarter of float32",
            "read": f"reading is the limit: workers found nothing to do {self.queue_empty:.0%} of the times that they "
            f"asked; {faster}{files} would help{stored}",
            "none": f"nothing is at its limit: workers were busy {self.workers_busy:.0%} of the time",
            "unknown": f"too few steps for a verdict: {self.batches} of {LEAST}",
        }[self.limit]
        waited = "" if self.limit == "loop" else f"; the loop waited for data {self.waiting:.0%} of the time"
        functions = f"; functions of transforms.Python took {self.python:.0%} of it" if self.python >= FED else ""
        return said + waited + functions + asked

    def __repr__(self) -> str:
        return f"<sluice.Profile of {self.seconds:.1f} s: {self}>"


def profile(loader: Loader, *, price_get: float | None = None) -> Profile:
    """Reports why a loop waits for data, if it does.

        with sluice.profile(loader) as profile:
            for batch in loader:
                step(batch)
        print(profile)          # "decoding is the limit: workers were busy 97% of the time; ..."

    Without `with`, it measures from the call on. It costs nothing, because the loader always keeps
    these statistics.

    Args:
        loader: the loader.
        price_get: price of 1,000 requests to the dataset's object store (S3: 0.0004 USD), to report
            the price of an epoch [none].

    Returns:
        Profile.

    Raises:
        TypeError: `loader` is not a sluice loader.

    Example:
        >>> print(sluice.profile(loader))
        no batch was taken in this time
    """
    return Profile(loader, price_get)


class Marks:
    """Records for `sluice idle` when a program waits for data from any loader. sluice.marks makes it."""

    def __init__(self) -> None:
        folder = os.environ.get("SLUICE_IDLE_DIR")
        self._process = os.getpid()
        # Unbuffered, because a forked child would write the contents of its copy of the buffer.
        self._file = open(f"{folder}/marks.{self._process}", "ab", buffering=0) if folder else None

    def _mark(self, *words):
        if self._file and os.getpid() == self._process:
            self._file.write(b"%s\n" % " ".join(map(str, words)).encode())

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Marks a block that waits for the next batch.

        Returns:
            A context manager.

        Example:
            >>> batches = iter(loader)
            >>> with sluice.marks() as marks, marks.waiting():
            ...     batch = next(batches)
        """
        start = time.monotonic_ns()
        try:
            yield
        finally:
            self._mark("wait", start, time.monotonic_ns())

    def step(self) -> None:
        """Marks the end of a training step, as far as the host knows.

        Example:
            >>> with sluice.marks() as marks:
            ...     marks.step()
        """
        self._mark("step", time.monotonic_ns())

    def batches(self, loader: Iterable[Any]) -> Iterator[Any]:
        """Returns the batches of any loader, and marks the wait and the step of each.

        Args:
            loader: a loader of sluice, torch, or anything else that can be iterated.

        Returns:
            An iterator of the batches.

        Raises:
            TypeError: `loader` cannot be iterated.

        Example:
            >>> with sluice.marks() as marks:
            ...     for batch in marks.batches(loader):
            ...         pass
        """
        if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
            raise _check.wrong("loader", loader, "an iterable")
        iterator = iter(loader)
        while True:
            with self.waiting():
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
            yield batch
            self.step()

    def close(self) -> None:
        """Closes the file of marks.

        Example:
            >>> sluice.marks().close()
        """
        if self._file:
            self._file.close()
            self._file = None

    def __enter__(self) -> Marks:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def marks() -> Marks:
    """Makes marks for `sluice idle -- python train.py`; without that command they have no effect.

    Returns:
        Marks.

    Example:
        >>> with sluice.marks() as marks:
        ...     for batch in marks.batches(loader):
        ...         pass
    """
    return Marks()

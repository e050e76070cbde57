# SPDX-License-Identifier: Apache-2.0
"""Keras 3, on every backend: model.fit(sluice.keras.feed(loader, 1), epochs=9, shuffle=False).

docs/trainers.md has a complete program.
"""
from __future__ import annotations

import threading

from . import _check, _seats

try:
    import keras
except ModuleNotFoundError as _error:
    if _error.name != "keras":
        raise
    raise _seats.needed("sluice.keras", "Keras 3", "keras") from None
if not hasattr(keras, "config"):
    raise ImportError(f"sluice.keras needs Keras 3, this is {keras.__version__}: pip install -U keras", name="keras")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from .loader import Loader

__all__ = ["Feed", "feed"]

FEED = "sluice.keras.feed"
KEPT = 2  # most batches that Keras reads to learn their shapes; the next pass returns them again
REPEATS = 2  # how often Keras does so: once to learn the shapes, once to build the model


def feed(
    loader: Loader, epochs: int | None = None, *, inputs: str | Sequence[str] | None = None, targets: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
) -> Feed:  # fmt: skip
    """Makes batches for fit, evaluate and predict from a loader.

        fit(feed(train, 1), validation_data=feed(val, 1), epochs=9, shuffle=False)

    Args:
        loader: a sluice.Loader or sluice.torch.DataLoader. Batches become numpy arrays; torch
            tensors stay so on Keras's torch backend.
        epochs: the loader's epochs in one epoch of Keras; fit then needs shuffle=False. Without it,
            fit needs steps_per_epoch and validation_steps, and evaluate needs steps [endless].
        inputs: name of the input column; a list of names makes a dict of arrays [the first column].
        targets: name of the target column, or a list of names [the second column].
        sample_weight: name of a column; 'mask' gives rows without a sample of their own the weight
            0 [none].

    Returns:
        Feed.

    Raises:
        ValueError: a batch has more than two columns and nothing names their roles; Keras asks for
            batches in another order; `epochs` is given and the loader is inside an epoch.
        KeyError: a name is not a column's.
        StateError: the loader belongs to another feed, or another trainer, or is closed.
    """
    loader = _seats.loader_of(FEED, loader)
    if epochs is not None:
        epochs = _check.integer("epochs", epochs, 1, 2**63 - 1)
    parts = [_part("inputs", inputs), _part("targets", targets), None]
    if sample_weight is not None:
        parts[2] = _check.text("sample_weight", sample_weight)
    if inputs is None and (targets is not None or sample_weight is not None):
        raise ValueError("inputs= names the columns of the model's inputs: it is needed where targets= or sample_weight= is given")
    if targets is None and sample_weight is not None:
        raise ValueError("sample_weight= needs targets=")
    if epochs is not None:
        _check_whole(loader)
    made = Feed(loader, epochs, parts)
    _seats.take(FEED, loader, made)
    return made


def _part(name, part):
    """Checks the name of a column, or a list of them."""
    return part if part is None or isinstance(part, str) else _check.texts(name, part, "the name of a column, or a list of names")


def _stands_inside(loader):
    return loader.remaining not in (0, len(loader))


def _check_whole(loader):
    """Raises ValueError if the loader is inside an epoch."""
    if _stands_inside(loader):
        epoch = loader.epoch
        raise ValueError(
            f"the loader is inside epoch {epoch}, and feed(loader, epochs) needs whole epochs: write loader.set_epoch({epoch + 1}), or "
            f"loader.load_state_dict(loader.state_at({epoch}, 0)) for epoch {epoch} from its beginning"
        )


class Feed(keras.utils.PyDataset):
    """Batches of a loader, by their index in a pass. feed() makes it.

    Keras begins a pass for fit and one for each evaluation, and asks for batch 0, 1, 2 and so on,
    on one thread at a time. Each pass begins with the next epoch, or where set_epoch or
    load_state_dict moved the loader. If Keras leaves a pass after its first one or two batches,
    which it reads to learn their shapes, the next pass has these batches again, up to two times. So
    repeated calls of fit(steps_per_epoch=2) over an endless feed train three times on the same
    batches: loader.set_epoch(n) before each fit prevents that.

    Args:
        loader: the loader.
        epochs: as in feed.
        parts: columns of the inputs, the targets and the sample weights.
    """

    def __init__(self, loader: Loader, epochs: int | None, parts: list[Any]) -> None:
        super().__init__(workers=1, use_multiprocessing=False)
        self.loader = loader
        self._parts, self._convert, self._lock = parts, _converter(), threading.Lock()
        self._batches: Any = None  # the iterator of the epoch in progress
        self._length = None if epochs is None else epochs * len(loader)
        self._at = 0  # index that Keras must request next
        self._taken = 0  # batches of the pass that the loader returned
        self._kept: list[Any] = []  # the first KEPT of them
        self._turn = 0  # the loader's turn at the last of them; differs if something else moved or closed the loader
        self._repeats = 0  # how many later passes began with them

    @property
    def num_batches(self) -> int | None:
        """Batches of a pass. None: it is endless."""
        return self._length

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        """Returns batch `index` of the pass; index 0 begins one."""
        with self._lock:
            try:
                return self._batch(index)
            except Exception:
                _seats.release(self.loader)  # another feed may use it
                raise

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yields the batches of a pass."""
        index = 0
        while index == 0 or index != self._length:
            yield self[index]
            index += 1

    def _batch(self, index):
        if index == 0:
            self._begin_pass()
        if index != self._at:
            raise ValueError(f"{FEED}: Keras requests batch {index} instead of {self._at}: write shuffle=False in fit")
        if self._is_moved():
            self._taken = index
            del self._kept[index:]
        self._at += 1
        if index < self._taken:
            return self._kept[index]
        made = self._converted(self._take(), copies=index < KEPT)
        self._taken += 1
        if index < KEPT:
            self._kept.append(made)
        if self._taken == self._length:
            next(self._batches, None)  # ends the epoch
            self._batches = None
            _seats.release(self.loader)
        return made

    def _begin_pass(self):
        loader, is_moved = self.loader, self._is_moved()
        self._at = 0
        if not is_moved and 0 < self._taken <= KEPT and self._taken != self._length and self._repeats < REPEATS:
            self._repeats += 1
            return
        _seats.take(FEED, loader, self)
        if self._taken and not is_moved and _stands_inside(loader):
            loader.set_epoch(loader.epoch + 1)
            is_moved = True
        if is_moved:
            self._batches = None
        if self._length is not None:
            _check_whole(loader)
        self._taken, self._repeats, self._kept = 0, 0, []

    def _is_moved(self):
        """Returns True if set_epoch, load_state_dict, close or another loop moved the loader since the
        last batch of this pass.
        """
        return self._taken > 0 and self._turn != self.loader._turn

    def _take(self):
        """Returns the loader's next batch, of the next epoch where one ends."""
        for _ in range(2):
            if self._batches is None:
                self._batches = iter(self.loader)
            self._turn = self.loader._turn  # before the batch: another thread may move the loader then
            batch = next(self._batches, None)
            if batch is not None:
                return batch
            self._batches = None
        raise ValueError(f"{FEED}: an epoch of the loader has no batch")

    def _converted(self, batch, copies):
        convert = self._convert
        return tuple({name: convert(column, copies) for name, column in part.items()} if isinstance(part, dict) else convert(part, copies)
                     for part in _tuple(batch, self._parts))  # fmt: skip


def _tuple(batch, parts):
    """Returns (inputs,), (inputs, targets) or (inputs, targets, sample_weight), each a column or a
    dict of columns.
    """
    if parts[0] is not None:
        return tuple(_named(batch, part) for part in parts if part is not None)
    if len(batch) > 2:
        names = ", ".join(map(repr, batch.keys()))
        raise ValueError(f"a batch has the columns {names}: write feed(loader, inputs='image', targets='label'), with these names")
    return tuple(batch.values()) if isinstance(batch, dict) else tuple(batch)


def _named(batch, part):
    return batch[part] if isinstance(part, str) else {name: batch[name] for name in part}


def _converter():
    """Returns a function (column, copies) for Keras's backend."""
    if keras.config.backend() == "torch":
        return lambda column, copies: column.clone() if copies and hasattr(column, "clone") else _array(column, copies)
    return _array


def _array(column, copies):
    """Returns a column as a numpy array. Other values, such as a list of texts, are returned
    unchanged.
    """
    if not hasattr(column, "numpy"):
        return column
    if hasattr(column, "clone"):  # a torch tensor
        if keras.config.backend() == "torch":
            return column
        column = column.detach().cpu()
    array = column.numpy()
    return array.copy() if copies else array

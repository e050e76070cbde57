# SPDX-License-Identifier: Apache-2.0
"""Keras 3, on every backend: model.fit(sluice.keras.feed(loader), steps_per_epoch=len(loader))."""
from __future__ import annotations

from . import _check, _seats

try:
    import keras
except ModuleNotFoundError as error:
    if error.name != "keras":
        raise
    raise _seats.needed("sluice.keras", "Keras 3", "keras") from None
if not hasattr(keras, "config"):
    raise ImportError(f"sluice.keras needs Keras 3, this is {keras.__version__}: pip install -U keras", name="keras")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from .loader import Loader

__all__ = ["feed"]

FEED = "sluice.keras.feed"
PEEKED = 2  # batches that Keras takes to learn their shapes, and keeps as long as it trains


def feed(
    loader: Loader, epochs: int | None = None, *, inputs: str | Sequence[str] | None = None, targets: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """A generator of batches for fit, evaluate and predict, which need the number of steps as well:
    fit(feed(train), steps_per_epoch=len(train), validation_data=feed(val), validation_steps=len(val), epochs=9).

    loader: a sluice.Loader or sluice.torch.DataLoader. Batches become numpy arrays; torch tensors stay so on Keras's torch backend.
    epochs: epochs to give out [endless, as fit wants it].
    inputs, targets: names of columns; a list of names makes a dict of arrays [the first column; the second].
    sample_weight: name of a column; 'mask' gives rows without a sample of their own the weight 0 [none].

    ValueError: a batch has more than two columns and nothing says which are what; a name is not a column's. StateError: the
    loader belongs to another feed, or another trainer, or is closed.
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
    generator = _batches(loader, epochs, parts)
    _seats.take(FEED, loader, generator)
    return generator


def _part(name, part):
    """Checked."""
    return part if part is None or isinstance(part, str) else _check.texts(name, part, "the name of a column, or a list of names")


def _batches(loader, epochs, parts):
    convert = _converter()
    given = done = 0
    try:
        while epochs is None or done < epochs:
            for batch in loader:
                made = _tuple(batch, parts)
                copies = given < PEEKED
                yield tuple({name: convert(column, copies) for name, column in part.items()} if isinstance(part, dict) else convert(part, copies)
                            for part in made)  # fmt: skip
                given += 1
            done += 1
    finally:  # also after an error, which a generator does not survive
        _seats.release(loader)


def _tuple(batch, parts):
    """(inputs,), (inputs, targets) or (inputs, targets, sample_weight) of columns, each one or a dict of them."""
    if parts[0] is not None:
        return tuple(_named(batch, part) for part in parts if part is not None)
    if len(batch) > 2:
        names = ", ".join(map(repr, batch.keys()))
        raise ValueError(f"a batch has the columns {names}: write feed(loader, inputs='image', targets='label'), with these names")
    return tuple(batch)


def _named(batch, part):
    return batch[part] if isinstance(part, str) else {name: batch[name] for name in part}


def _converter():
    """A function (column, copies) for Keras's backend."""
    if keras.config.backend() == "torch":
        return lambda column, copies: column.clone() if copies and hasattr(column, "clone") else _array(column, copies)
    return _array


def _array(column, copies):
    """A numpy array of a column; what is none, such as a list of texts, stays."""
    if not hasattr(column, "numpy"):
        return column
    if hasattr(column, "clone"):  # torch's
        if keras.config.backend() == "torch":
            return column
        column = column.detach().cpu()
    array = column.numpy()
    return array.copy() if copies else array

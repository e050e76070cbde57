# SPDX-License-Identifier: Apache-2.0
"""The texts of a batch's byte column, for Batch.texts."""
from __future__ import annotations

from . import _sluice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .batch import Batch


def texts(batch: Batch, name: str, errors: str) -> list[str]:
    """Returns the result of Batch.texts."""
    made = []
    for row, data in enumerate(_rows(batch, name)):
        try:
            made.append(data.decode("utf-8", errors))
        except UnicodeDecodeError as error:
            raise _explained(error, batch, name, row) from None
    return made


def _rows(batch: Batch, name: str) -> Iterator[bytes]:
    column = batch[name]
    ends, lengths = batch.get(f"{name}.offsets"), batch.get(f"{name}.lengths")
    is_bytes = str(getattr(column, "dtype", "")).rpartition(".")[2] == "uint8"
    if not is_bytes or column.ndim != (2 if ends is None else 1) or ends is lengths:
        is_of = f"{column.dtype}, shape {tuple(column.shape)}" if hasattr(column, "dtype") else type(column).__name__
        raise TypeError(f"{name!r} has no texts (it is {is_of}): expected a columns.Ragged or Padded of a text or bytes field")
    data = _bytes(column)
    if ends is not None:
        places = ends.tolist()
        return (data[begin:end] for begin, end in zip(places, places[1:]))
    width = column.shape[1]
    return (data[row * width : row * width + length] for row, length in enumerate(lengths.tolist()))


def _bytes(column: Any) -> bytes:
    if isinstance(column, _sluice.Tensor):
        return bytes(memoryview(column) if column.device == "cpu" else column.torch().cpu().numpy())
    if hasattr(column, "cpu"):
        column = column.cpu().numpy()
    return column.tobytes()


def _explained(error: UnicodeDecodeError, batch: Batch, name: str, row: int) -> UnicodeDecodeError:
    """Returns the same error, with the row and its sample. A text cut at its maximum length may end
    inside a character.
    """
    index = batch.get("index")
    sample = "" if index is None else f" (sample {int(index[row])})"
    is_cut = error.reason == "unexpected end of data"
    why = " (too_long='truncate' cuts at a byte, maybe inside a character)" if is_cut else ""
    advice = f"{error.reason}, in row {row}{sample} of {name!r}{why}; errors='replace' or 'ignore' decodes it anyway"
    return UnicodeDecodeError(error.encoding, error.object, error.start, error.end, advice)

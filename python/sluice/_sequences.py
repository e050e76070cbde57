# SPDX-License-Identifier: Apache-2.0
"""Packed sequences: statistics of packing documents into rows of one length."""
from __future__ import annotations

from array import array
from collections import namedtuple

from . import _check, _sluice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import PackedRows as PackedRows, Values

CUTS = {"none": 0, "long": 1, "split": 2}


if not TYPE_CHECKING:  # at run time as in _types.py: the typing module takes long to import

    class PackedRows(namedtuple("PackedRows", [
        "documents", "tokens", "targets", "rows", "pieces", "align_padding", "end_padding", "cut", "empty", "closed",
        "longest", "longest_document", "most_documents", "length",
    ])):  # fmt: skip
        """Statistics of packed rows: every token is in a row.

        Attributes:
            documents: number of documents.
            tokens: number of tokens.
            targets: tokens that have a next one in their document.
            rows: number of rows.
            pieces: pieces of documents, in all rows.
            align_padding: elements after pieces, up to a multiple of `align`.
            end_padding: elements after the last piece of each row.
            cut: documents in more than one piece.
            empty: documents without tokens, which are in no row.
            closed: rows with space left that have max_documents pieces.
            longest: tokens of the longest document.
            longest_document: number of that document.
            most_documents: largest number of pieces in a row.
            length: elements of a row.
        """

        __slots__ = ()

        @property
        def padding(self) -> float:
            """Fraction of all rows that is padding, 0 to 1."""
            return (self.align_padding + self.end_padding) / (self.rows * self.length)


@_check.named
def packed_rows(
    lengths: Values, length: int, *, max_documents: int = 32, align: int = 1, cut: str = "none", unit: int = 1,
    window: int = 8192, seed: int = 0,
) -> PackedRows:  # fmt: skip
    """Computes how documents of these lengths would be packed into rows, without reading a document.

    Takes about 0.15 s of CPU time for a million documents.

    Args:
        lengths: tokens of each document, as data.lengths("tokens") returns them.
        length: elements of a row, 1 to 2**24, a multiple of `align`.
        max_documents: maximum number of pieces of documents per row, 1 to 65536 [32].
        align: pieces are padded to a multiple of it [1].
        cut: 'none' (a document longer than a row is an error), 'long' (cuts such documents into
            whole rows and a rest) or 'split' (concatenates documents and cuts at the ends of rows)
            ['none'].
        unit: number of consecutive documents that share a row, such as 2 for pairs [1].
        window: number of documents that are packed together, 1 to 65536 [8192].
        seed: seed of the documents' order [0].

    Returns:
        PackedRows.

    Raises:
        ValueError: an argument is out of range, a document or unit does not fit into a row, a unit
            is partly empty, or there are no tokens at all.

    Example:
        >>> rows = sluice.packed_rows([3, 5, 7, 2], length=10)
        >>> rows.rows, rows.padding
        (2, 0.15)
    """
    numbers = array("Q")
    if hasattr(lengths, "dtype") and getattr(lengths, "ndim", 0) == 1 and lengths.dtype.kind in "iu":
        if len(lengths) and lengths.min() < 0:
            raise ValueError(f"lengths contains {lengths.min()}: expected the number of tokens of each document")
        numbers.frombytes(lengths.astype("uint64").tobytes())
    else:
        wanted = "the number of tokens of each document"
        numbers.extend(_check.integer("lengths", one) for one in _check.series("lengths", lengths, wanted))
    if not isinstance(cut, str) or cut not in CUTS:
        raise ValueError(f"cut={cut!r}: expected 'none', 'long' or 'split'{_check.near(cut, list(CUTS))}")
    most = 2**32 - 1
    made = _sluice.packing_count(
        numbers.tobytes(), _check.integer("length", length, 1), _check.integer("max_documents", max_documents, 1, most),
        _check.integer("align", align, 1, most), _check.integer("unit", unit, 1, most), _check.integer("window", window, 1, most),
        CUTS[cut], _check.integer("seed", seed, 0, 2**64 - 1),
    )  # fmt: skip
    return PackedRows(**made, length=length)


def lengths_of(data: Any, field: str, limit: int) -> Any:
    """Returns Dataset.lengths: a numpy array, or without numpy an array.array."""
    found = array("q", _sluice.lengths(data._handle, field, limit)[0])
    try:
        import numpy
    except ModuleNotFoundError:
        return found
    return numpy.asarray(found)

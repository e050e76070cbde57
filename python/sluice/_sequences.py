# SPDX-License-Identifier: Apache-2.0
"""Packed sequences: what packing documents into rows of one length gives."""
from __future__ import annotations

from array import array
from collections import namedtuple

from . import _check, _sluice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import PackedRows as PackedRows, Values

CUTS = {"none": 0, "long": 1, "split": 2}


if not TYPE_CHECKING:  # else as _types.py has it: the typing module takes long to import

    class PackedRows(namedtuple("PackedRows", [
        "documents", "tokens", "targets", "rows", "pieces", "align_padding", "end_padding", "cut", "empty", "closed",
        "longest", "longest_document", "most_documents", "length",
    ])):  # fmt: skip
        """What packing gives: of documents, tokens and rows how many there are; every token is in a row.

        targets: tokens that have a next one in their document. pieces: of documents, in all rows. align_padding, end_padding:
        elements of rows behind pieces, up to a multiple of `align`, and behind each row's last piece. cut: documents in more
        than one piece. empty: documents without tokens, which are in no row. closed: rows with space left that have
        max_documents pieces. longest, longest_document: the longest document's tokens, and its number. most_documents: pieces
        in the row that has the most. length: elements of a row. padding: the share of all rows that is padding, 0 to 1.
        """

        __slots__ = ()

        @property
        def padding(self) -> float:
            return (self.align_padding + self.end_padding) / (self.rows * self.length)


@_check.named
def packed_rows(
    lengths: Values, length: int, *, max_documents: int = 32, align: int = 1, cut: str = "none", unit: int = 1,
    window: int = 8192, seed: int = 0,
) -> PackedRows:  # fmt: skip
    """Packs documents of these lengths into rows, and says what comes of it; no document is read.

    lengths: tokens of each document, as `data.lengths("tokens")` has them. length: elements of a row, 1 to 2**24, a multiple of
    `align`. max_documents: most pieces of documents in a row, at most 65536; a row that has so many ends. align: each piece is
    padded to a multiple of it. cut: 'none' (a document longer than a row is a ValueError that says how long), 'long' (those are
    cut into whole rows and a rest) or 'split' (documents are concatenated, and cut where a row ends). unit: consecutive documents
    that share a row, as 2 for pairs. window: documents that are packed together, at most 65536. seed: draws their order.

    Takes about 0.15 s of CPU time for a million documents. ValueError: an argument out of range, a document or a unit that does
    not fit into a row, a unit in which some documents are empty, no token at all.
    """
    numbers = array("Q")
    if hasattr(lengths, "dtype") and getattr(lengths, "ndim", 0) == 1 and lengths.dtype.kind in "iu":
        if len(lengths) and lengths.min() < 0:
            raise ValueError(f"lengths has a negative one, {lengths.min()}: expected the number of tokens of each document")
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
    """Dataset.lengths: a numpy array, or without numpy an array.array."""
    found = array("q", _sluice.lengths(data._handle, field, limit)[0])
    try:
        import numpy
    except ModuleNotFoundError:
        return found
    return numpy.asarray(found)

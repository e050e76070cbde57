# SPDX-License-Identifier: Apache-2.0
"""Columns of windows and packed rows, which the loader counts instead of samples."""
from __future__ import annotations

from . import _check
from ._column import TINY, Column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import Dtype


class Window(Column):
    """Windows of a long tensor: `length` elements, every `stride` elements.

    The loader then counts and shuffles windows instead of samples.

    Args:
        field: tensor field of any length [the column's name].
        length: elements of a window.
        stride: distance between the beginnings of windows [length].
        offset: distance from the window's beginning to the column's first element: a second column
            with offset=1 has the targets [0].
        dtype: dtype of the elements [as stored].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].

    Example:
        >>> columns = {
        ...     "input": sluice.columns.Window("tokens", length=4),
        ...     "target": sluice.columns.Window("tokens", length=4, offset=1),
        ... }
        >>> with sluice.Loader("corpus", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["target"].tolist()
        [[1, 2, 3, 4], [5, 6, 7, 8]]
    """

    _kind = "window"

    def __init__(
        self, field: str | None = None, *, length: int, stride: int | None = None, offset: int = 0,
        dtype: Dtype = None, missing: str = "bad",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        self._set_dtype(dtype)
        for name, value in {"length": length, "stride": 0 if stride is None else stride, "offset": offset}.items():
            self._set(name, value)


class FIM:
    """Fill-in-the-middle for Packed(fim=): moves the middle of documents to their end.

    A model then learns to fill gaps.

    Like Megatron-LM's GPTFIMDataset, splits a document at two places into prefix P, middle M and
    suffix S; each may be empty. Rows have `prefix P suffix S middle M` (PSM) or `prefix suffix S
    middle P M` (SPM), three elements more. The loader's seed and the document decide, once for all
    epochs, which documents are transformed. The two places, each uniform, and the form are drawn
    again in each epoch (for a mix: each time all rows of the dataset have been used). Does not
    check whether documents already contain these ids.

    Args:
        rate: fraction of documents that are transformed, 0 to 1.
        prefix: id before the prefix.
        middle: id before the middle.
        suffix: id before the suffix; the three must differ.
        spm: fraction of transformed documents with the suffix first, 0 to 1 [0.5].

    Example:
        >>> sluice.columns.FIM(0.5, prefix=101, middle=102, suffix=103)
        sluice.columns.FIM(rate=0.5, prefix=101, middle=102, suffix=103, spm=0.5)
    """

    _given: dict[str, float]
    _values: dict[str, Any]

    def __init__(self, rate: float, prefix: int, middle: int, suffix: int, spm: float = 0.5) -> None:
        shares = {"rate": _check.number("rate", rate), "spm": _check.number("spm", spm)}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise ValueError(f"{name}={share!r}: expected a fraction, 0 to 1")
        ids = {"prefix": prefix, "middle": middle, "suffix": suffix}
        ids = {name: _check.integer(name, number, -(2**53), 2**53) for name, number in ids.items()}
        if len(set(ids.values())) < len(ids):
            raise ValueError(f"prefix={prefix}, middle={middle}, suffix={suffix}: expected three different ids")
        self._given = ids | shares
        self._values = {}  # with rate 0, no document is transformed
        if shares["rate"] > 0:
            self._values = {"fim_rate": shares["rate"], "fim_spm": shares["spm"] or TINY}
            self._values |= {f"fim_{name}": number for name, number in ids.items()}

    def __repr__(self) -> str:
        return "sluice.columns.FIM(rate={rate}, prefix={prefix}, middle={middle}, suffix={suffix}, spm={spm})".format(**self._given)


class Packed(Column):
    """Documents of any length, packed into rows of `length` elements.

    The loader then counts, shuffles and splits rows, and a batch has no other columns. Every epoch
    has the same rows in another order. Which documents share a row depends on their lengths, these
    arguments and the loader's seed: best fit decreasing in windows of 8192 documents. Empty
    documents are in no row. A bad document masks its whole row (on_bad_sample='mask') or raises
    ('fail'); 'replace' is an error. Each dataset of a sluice.mix is packed on its own; its weights
    are fractions of rows, and epoch_samples counts rows. docs/sequences.md shows a row.

    Besides NAME (rows x length), the batch has these arrays by name. NAME.targets (rows x length):
    the next element of the document; ignore_index of the loader at its end and on padding.
    NAME.loss_mask (uint8, rows x length): 1 where NAME.targets is a target. NAME.positions and
    NAME.documents (int32, rows x length): the element's number in its piece of the document, and
    the piece's number in the row; padding is document NAME.count, with positions from 0.
    NAME.lengths (int32, rows x max_documents). NAME.cu_seqlens and NAME.cu_seqlens_padded (int32,
    rows x (max_documents + 1)): sums of lengths, and of lengths rounded up to align; the last one
    repeats. NAME.count and NAME.max_seqlen (int32, rows). NAME.samples (int64, rows x
    max_documents): the number of each document in the dataset; -1 after the last. With media also
    NAME.media (the patches of all rows back to back), NAME.media_offsets (int64, rows + 1: row i
    has patches offsets[i] to offsets[i + 1]) and NAME.media_lengths (int32, rows x max_documents).

    Args:
        field: tensor field [any] of ints, such as tokens [the column's name].
        length: elements of a row, 1 to 2**24, a multiple of `align`.
        max_documents: maximum number of documents per row, 1 to 1024 [32].
        align: documents begin at multiples of it [1].
        cut: 'none' (a document longer than a row fails when the loader is opened), 'long' (cuts
            such a document into whole rows and a rest) or 'split' (concatenates documents and cuts
            at the ends of rows) ['none'].
        unit: number of consecutive documents that stay in one row, such as 2 for preference pairs;
            not with 'split' [1].
        pad: element that fills padding [0].
        dtype: 'int64' or 'int32' ['int64'].
        bos: id before each document [none]. `bos` and `eos` count as elements when documents are
            packed and cut. A document that already begins with bos, or ends with eos, is a bad
            sample.
        eos: id after each document, the target of its last token [none].
        mask: field that says which tokens are trained: one int or bool per token, 0 if it is not;
            or a tensor [any, 2] of ints with ordered, separate ranges (begin, end) of trained
            tokens. NAME.targets has ignore_index for other tokens; eos counts as the document's
            last token. A mask of another length, wrong ranges and a missing field are bad samples.
            With a mask, each piece of a document reads the whole document [all are trained].
        fim: a FIM, which transforms some documents before they are cut [none].
        media: second tensor field [n, ...] of the same documents, where n differs by sample, such
            as the patches of their images; needs cut='none'. Documents without tokens but with
            patches fail when the loader is opened [none].
        per_token: number of patches that take the space of one token: a row's tokens, plus ceil(n /
            per_token) for each document, are at most `length` [0: patches take no space, because
            tokens have placeholders].
        media_length: maximum number of patches per row, which determines the memory; a row with
            more is bad [length * per_token, or length].

    Raises:
        ValueError: an argument is out of range, or media is combined with `cut`.

    Example:
        >>> columns = {"tokens": sluice.columns.Packed(length=10, max_documents=4)}
        >>> with sluice.Loader("tokens", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["tokens.targets"].shape
        (2, 10)
    """

    _kind = "packed"

    def __init__(
        self, field: str | None = None, *, length: int, max_documents: int = 32, align: int = 1, cut: str = "none",
        unit: int = 1, pad: int = 0, dtype: Dtype = None, bos: int | None = None, eos: int | None = None,
        mask: str | None = None, fim: FIM | None = None, media: str | None = None, per_token: int = 0, media_length: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(field)
        self._set_dtype(dtype)
        if media is not None:
            self._values["media"] = _check.text("media", media)
            if cut != "none":
                raise ValueError(f"cut={cut!r} does not work with media=, whose patches cannot be cut: leave cut='none'")
            for name, value in {"per_token": per_token, "media_length": media_length}.items():
                self._set(name, value)
        elif per_token != 0 or media_length != 0:
            raise ValueError("per_token and media_length need media=, a field of the dataset: name it, or leave them out")
        for name, value in {"length": length, "max_documents": max_documents, "align": align, "unit": unit}.items():
            _check.integer(name, value, 1)
        values = {"length": length, "max_documents": max_documents, "align": align, "cut": cut, "unit": unit, "pad": pad}
        for name, value in values.items():
            self._set(name, value)
        for name, value in {"bos": bos, "eos": eos}.items():
            if value is not None:
                self._set(name, value)
        if mask is not None:
            self._values["mask"] = _check.text("mask", mask)
        if fim is not None and not isinstance(fim, FIM):
            raise _check.wrong("fim", fim, "a sluice.columns.FIM(rate, prefix, middle, suffix)")
        if fim is not None:
            self._values.update(fim._values)

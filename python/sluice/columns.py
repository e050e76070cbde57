# SPDX-License-Identifier: Apache-2.0
"""Columns of a batch, each made of a field of the dataset.

    sluice.Loader(data, columns={
        "view1": sluice.columns.Image("image", transform=strong),
        "view2": sluice.columns.Image("image", transform=weak, dtype="uint8"),
        "caption": sluice.columns.Ragged(length=512),
        "label": sluice.columns.OneHot(1000),
    })

The key is the column's name; `field` names the dataset's field and defaults to the same name.

Masks, boxes and points follow an image: every crop, resize, flip, pad or warp moves them, too.

    sluice.Loader(data, columns={
        "image": sluice.columns.Image(transform=recipe),
        "segmentation": sluice.columns.Mask("mask", fill=255),
        "boxes": sluice.columns.Boxes(),
        "labels": sluice.columns.Ragged(),
    })

What the dataset knows of a field (data.fields[name].meaning) is the default: the format and
coordinates of boxes and points, the boxes that labels belong to, and the orientation in which an
image was annotated. An argument that contradicts it wins, with a warning.
"""
from __future__ import annotations

import functools

from . import _check
from . import transforms as _transforms
from ._names import TABLES as _TABLES
from ._names import dtype_number as _dtype_number
from ._names import layout_number as _layout_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._types import Dtype, Size, Steps

__all__ = [
    "Boxes", "FIM", "Geometry", "Image", "Instances", "Mask", "Number", "OneHot", "Packed", "Padded", "Points", "Ragged", "Tensor", "Window",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name):
        raise _check.missing_name(__name__, name, __all__)



_RELATIVE = {None: "auto", True: "relative", False: "pixels"}


def _remembered(init):
    """Wraps a constructor so that the object keeps its arguments; inspect sees the signature of the
    original.
    """

    @functools.wraps(init)
    def __init__(self, *arguments, **named):
        if self._given is None:
            self._given = arguments, named
        init(self, *arguments, **named)

    return __init__


class Column:
    """Base class of columns.

    Args:
        field: field of the dataset [the column's name].
        missing: action when the field is missing: 'bad' (the sample is a bad one) or 'blank' (its
            row is zero, empty, or -1) ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample (`partners` of the
            loader). Columns that follow this one read the same sample [0].
    """

    _kind = ""
    _given: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # the arguments, for repr
    field: str | None
    _functions: list[Any]
    _values: dict[str, Any]

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls):
            cls.__init__ = _remembered(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, field: str | None = None, *, missing: str = "bad", partner: int = 0) -> None:
        self.field = None if field is None else _check.text("field", field)
        self._functions = []
        self._values = {"kind": self._kind}
        self._set("missing", missing)
        if partner != 0:
            self._values["partner"] = _check.integer("partner", partner, 0, 31)

    def _set(self, name, value):
        self._values[name] = _TABLES["column"][name].value(value)

    def _set_dtype(self, dtype):
        if dtype is not None:
            self._values["dtype"] = _dtype_number(dtype)

    def _set_follows(self, follows):
        if follows is not None:
            self._values["follows"] = _check.text("follows", follows)

    def _set_length(self, length):
        if length is not None:
            self._set("length", length)

    def _set_orientation(self, orientation):
        self._set("orientation", orientation)

    def _set_relative(self, relative):
        """Sets the coordinates. None: as the field says; True: fractions; False: pixels; or the
        library's words.
        """
        flag = relative is None or isinstance(relative, bool)
        self._set("relative", _RELATIVE[relative] if flag else relative)

    def _dict(self, name):
        return {"field": self.field or name, "name": name, **self._values}

    def __repr__(self) -> str:
        arguments, named = self._given or ((), {})
        given = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in named.items())]
        return f"sluice.columns.{type(self).__name__}({', '.join(given)})"


class Image(Column):
    """Images through a transform: rows x height x width x 3, or rows x 3 x height x width.

    A MixUp or CutMix here mixes images only: leave its num_classes out, and mix labels with
    OneHot(classes, mixes=NAME, smoothing=...). With MixUpPartner, the batch also has NAME.share,
    the fraction of the row's own image. Images of several samples (Mosaic, MixUpPartner, CopyPaste)
    must all exist.

    Args:
        field: image field of the dataset [the column's name].
        transform: transform of sluice.transforms, or a list of them; needed unless `sizes` allows
            variable sizes [None].
        dtype: 'uint8', 'float32', 'float16' or 'bfloat16' [the transform's; 'float32' if it
            normalizes, else 'uint8'].
        layout: 'NHWC' or 'NCHW' ['NHWC'; with sluice.torch.DataLoader 'NCHW'].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample [0].
        sizes: 'one': all images have the transform's size. 'padded' or 'ragged': each image keeps
            the size that the transform leaves, or its original size with transform=None; padded
            with zeros on the right and below to the batch's largest, or back to back with
            NAME.offsets. NAME.sizes has their heights and widths, and batch.pictures(NAME) lists
            the images ['one'].
        max_size: capacity of a row with sizes='padded' or 'ragged': (height, width), or one int for
            both, 1 to 65535. A higher or wider image ('ragged': one with more pixels) is a bad
            sample. Unused space takes no memory [the transform's output for the largest image, if
            the transform has a limit or the dataset knows its sizes (packed shards, COCO, VOC);
            otherwise required].

    Raises:
        TypeError: neither `transform` nor `sizes` says what a row is, or `max_size` has no effect.
        ValueError: the transform has no fixed output size, or mixes labels.

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.CenterCrop(32), layout="NCHW")}
        >>> with sluice.Loader(data, batch_size=4, columns=columns) as loader:
        ...     next(iter(loader))["image"].shape
        (4, 3, 32, 32)
    """

    _kind = "image"
    _is_alone = True  # no column of labels is made for it

    def __init__(
        self, field: str | None = None, *, transform: Steps | None = None, dtype: Dtype = None, layout: str | None = None,
        missing: str = "bad", partner: int = 0, sizes: str = "one", max_size: Size | None = None,
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing, partner=partner)
        self._set("sizes", sizes)
        several = self._values["sizes"] != 0
        if transform is None and not several:
            raise TypeError("images differ in size: give transform=sluice.transforms.RandomResizedCrop(224), or sizes='padded'")
        if max_size is not None and not several:
            raise TypeError("max_size=(height, width) needs sizes='padded' or 'ragged'")
        if max_size is not None:
            sides = _check.items("max_size", max_size, "(height, width)") if not isinstance(max_size, int) else [max_size] * 2
            if len(sides) != 2:
                raise ValueError(f"max_size={max_size!r}: expected (height, width)")
            for name, side in zip(("max_height", "max_width"), sides):
                self._values[name] = _check.integer("max_size", side, 1, 65535)
        recipe = _transforms.recipe([] if transform is None else transform, several)
        if self._is_alone and recipe.mixing is not None:
            _refuse_labels(recipe.mixing)
        self._functions = recipe.functions
        self._values["recipe"] = recipe.steps
        if layout is not None:
            self._values["layout"] = _layout_number(layout)
        self._set_dtype(recipe.dtype if dtype is None else dtype)


class MixedImage(Image):
    """An Image that a loader makes together with its labels, as the transform says."""

    _is_alone = False


def _refuse_labels(mixing):
    """Raises ValueError if a mixing step in a column sets labels, which it would ignore."""
    classes, smoothing = mixing.num_classes, mixing._smoothing
    said = {"num_classes": classes, "label_smoothing": smoothing or None}
    wrong = [name for name, value in said.items() if value is not None]
    if not wrong:
        return
    instead = f"OneHot({classes or 'classes'}, \"label\", mixes=NAME{f', smoothing={smoothing:g}' if smoothing else ''})"
    unset = ", ".join("label_smoothing=0" if name == "label_smoothing" else f"{name}=None" for name in wrong)
    raise ValueError(
        f"{type(mixing).__name__}: {' and '.join(wrong)} cannot be set in a column, which has images only: set {unset} "
        f"and add sluice.columns.{instead}, where NAME is this column"
    )


class Number(Column):
    """Numbers: one per row, from an int or float field.

    Args:
        field: int or float field of the dataset [the column's name].
        dtype: 'int64', 'int32', 'float64' or 'float32' ['int64'; for float fields 'float64'].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample [0].

    Example:
        >>> with sluice.Loader(data, batch_size=4, columns={"label": sluice.columns.Number()}) as loader:
        ...     next(iter(loader))["label"].tolist()
        [0, 0, 0, 0]
    """

    _kind = "number"

    def __init__(self, field: str | None = None, *, dtype: Dtype = None, missing: str = "bad", partner: int = 0) -> None:
        super().__init__(field, missing=missing, partner=partner)
        self._set_dtype(dtype)


class Tensor(Column):
    """Tensors of one shape, whole or a part of each; or PNG images as stored.

    PNGs hold label masks or depth maps. PNGs with a palette give the palette indices; 1, 2 and 4-bit grey is not scaled to 0..255;
    16-bit grey keeps all bits. The column does not follow the crop or flip of an Image column: use
    Mask for that.

    Args:
        field: tensor field of the dataset, or image field of PNGs [the column's name].
        shape: shape of a row, needed for PNGs, (height, width) or (height, width, channels), and
            for a part [the field's].
        part: 'whole', 'center' or 'random': the part of larger tensors; columns of one sample draw
            the same part ['whole'].
        dtype: for PNGs 'uint8' (up to 8 bits), 'uint16' (16 bits), or 'int32', 'int64' and floating
            types (both) [as stored].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample [0].

    Example:
        >>> columns = {"classes": sluice.columns.Tensor("mask", shape=(60, 80))}
        >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["classes"].shape
        (2, 60, 80)
    """

    _kind = "tensor"

    def __init__(
        self, field: str | None = None, *, shape: Sequence[int] | None = None, part: str | None = None,
        dtype: Dtype = None, missing: str = "bad", partner: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing, partner=partner)
        self._set_dtype(dtype)
        if part is not None:
            self._set("part", part)
        if shape is not None:
            self._values["shape"] = _check.shape("shape", shape)


class Window(Column):
    """Windows of a long tensor: `length` elements, every `stride` elements.

    The loader then counts and shuffles windows instead of samples.

    Args:
        field: tensor field of any length [the column's name].
        length: elements of a window.
        stride: distance of windows [length].
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

    A document is split at two places into prefix P, middle M and suffix S, any of which may be
    empty, like Megatron-LM's GPTFIMDataset. Rows have `prefix P suffix S middle M` (PSM) or `prefix
    suffix S middle P M` (SPM), three elements more. The loader's seed and the document decide, once
    for all epochs, which documents are transformed. The two places, each uniform, and the form are
    drawn again in each epoch (for a mix: each time all rows of the dataset have come). Ids that
    documents already contain are not searched for.

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
        self._values = {}  # of no document, nothing
        if shares["rate"] > 0:
            self._values = {"fim_rate": shares["rate"], "fim_spm": shares["spm"] or _TINY}
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

    Besides NAME (rows x length), the batch has these by name. NAME.targets (rows x length): the
    next element of the document; ignore_index of the loader at its end and on padding.
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
        max_documents: most documents of a row, 1 to 1024 [32].
        align: documents begin at multiples of it [1].
        cut: 'none' (a document longer than a row fails when the loader is opened), 'long' (cuts
            such a document into whole rows and a rest) or 'split' (concatenates documents and cuts
            at the ends of rows) ['none'].
        unit: number of consecutive documents that stay in one row, such as 2 for preference pairs;
            not with 'split' [1].
        pad: element on padding [0].
        dtype: 'int64' or 'int32' ['int64'].
        bos: id before each document [none]. `bos` and `eos` count as elements when documents are
            packed and cut. A document that already begins with bos, or ends with eos, is a bad
            sample.
        eos: id after each document, the target of its last token [none].
        mask: field that says which tokens are trained: one int or bool per token, 0 where it is
            not; or a tensor [any, 2] of ints with ordered, separate ranges (begin, end) of trained
            tokens. NAME.targets has ignore_index for other tokens; eos counts as the document's
            last token. A mask of another length, wrong ranges and a missing field are bad samples.
            Each piece of a document then reads the whole document [all are trained].
        fim: a FIM, which transforms some documents before they are cut [none].
        media: second tensor field [n, ...] of the same documents, n differing by sample, such as
            the patches of their images; needs cut='none'. Documents without tokens but with patches
            fail when the loader is opened [none].
        per_token: number of patches that take the space of one token: a row's tokens and, for each
            document, ceil(n / per_token) are together at most `length` [0: patches take no space,
            because tokens have placeholders].
        media_length: most patches of a row, which sets the memory; a row with more is a bad one
            [length * per_token, or length].

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
                raise ValueError(f"cut={cut!r}: with media= no document is cut, since its patches cannot be: leave cut='none'")
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


class Ragged(Column):
    """Bytes, UTF-8 texts, or tensors of variable length, back to back.

    NAME.offsets has the beginning of each row along the first dimension. batch.texts(NAME) is a
    list of str.

    Args:
        field: bytes, text or tensor field of the dataset [the column's name].
        length: maximum size of a row along the first dimension [that of the boxes that it follows;
            otherwise required].
        dtype: dtype of the elements [as stored].
        too_long: 'bad' (the sample is a bad one) or 'truncate' (cuts texts at that byte) ['bad'].
        follows: a box column; the field has one value per box (label, area), and values of dropped
            boxes are dropped [the box column before it, if the dataset says that the field has one
            value per box].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample [0].

    Example:
        >>> columns = {"labels": sluice.columns.Ragged(length=8)}
        >>> with sluice.Loader("detection", batch_size=3, columns=columns) as loader:
        ...     next(iter(loader))["labels"].offsets.tolist()
        [0, 0, 1, 3]
    """

    _kind = "ragged"

    def __init__(
        self, field: str | None = None, *, length: int | None = None, dtype: Dtype = None, too_long: str = "bad",
        follows: str | None = None, missing: str = "bad", partner: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing, partner=partner)
        self._set_dtype(dtype)
        self._set_length(length)
        self._set("too_long", too_long)
        self._set_follows(follows)


class Padded(Ragged):
    """As Ragged, with each row padded with zeros, and NAME.lengths.

    Its shape is rows x length (x other dimensions).

    Args:
        field: bytes, text or tensor field of the dataset [the column's name].
        length: size of a row along the first dimension, as of Ragged.
        dtype: dtype of the elements [as stored].
        too_long: 'bad' or 'truncate' ['bad'].
        follows: as of Ragged.
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample [0].

    Example:
        >>> columns = {"labels": sluice.columns.Padded(length=3)}
        >>> with sluice.Loader("detection", batch_size=3, columns=columns) as loader:
        ...     next(iter(loader))["labels"].tolist()
        [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    """

    _kind = "padded"


class OneHot(Column):
    """An int field k as a row of `classes` numbers, 1 at position k.

    Args:
        classes: number of classes.
        field: int field of the dataset [the column's name].
        dtype: 'uint8', 'int64', 'float32', ... ['float32'].
        mixes: Image column whose MixUp or CutMix the labels follow; rows are then class weights
            that sum to 1. Needs a floating dtype [none].
        smoothing: label smoothing s: each number is s / classes, plus 1 - s at k. Needs a floating
            dtype [0].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        partner: 0 reads the row's own sample, 1 to 31 that partner sample [0].

    Example:
        >>> with sluice.Loader(data, batch_size=2, columns={"label": sluice.columns.OneHot(3)}) as loader:
        ...     next(iter(loader))["label"].tolist()
        [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """

    _kind = "one_hot"

    def __init__(
        self, classes: int, field: str | None = None, *, dtype: Dtype = "float32", mixes: str | None = None,
        smoothing: float = 0.0, missing: str = "bad", partner: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing, partner=partner)
        self._set_dtype(dtype)
        self._values["length"] = _check.integer("classes", classes)
        if mixes is not None:
            self._values["mixes"] = _check.text("mixes", mixes)
        if _check.number("smoothing", smoothing) != 0:
            self._values["smoothing"] = _check.number("smoothing", smoothing)


class Mask(Column):
    """A value for each pixel of an image, which follows the image.

    Its shape is rows x height x width (x channels), with the size of the image's transform.

    The field holds PNGs or tensors [height, width (, channels)] of the image's size, or a text of
    shapes, as Instances reads it, which becomes a class map. If the image has sizes=, the mask is
    padded with `fill` or ragged in the same way (batch.pictures).

    If the dataset leaves the orientation to the size (a folder of masks) and the EXIF orientation
    keeps the size (a half turn, a square), the sample is a bad one.

    Args:
        field: image, tensor or text field of the dataset [the column's name].
        fill: value outside the image; often 255, for a loss that ignores it [0].
        interpolation: 'nearest' (classes, ids: every value is a stored one, or `fill`) or
            'bilinear' (maps such as depth, with dtype 'float32'; not antialiased) ['nearest'].
        channels: number of channels [1].
        labels: for shapes: tensor field of ints with the class of each shape [none].
        crowds: for shapes: field that is not 0 for crowds (COCO's 'iscrowd'), which become `ignore`
            where no other shape is [none].
        background: for shapes: value that no shape covers [0].
        ignore: for shapes: value of crowds and, with overlap='ignore', of overlaps [255].
        overlap: for shapes: 'last' (the later shape wins) or 'ignore', as in torchvision's
            segmentation reference ['last'].
        dtype: dtype of the values ['uint8' for PNGs; for shapes, one that fits all values; else as
            stored].
        follows: the Image column [the only one before it].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        orientation: orientation of the image when it was annotated: 'stored' or 'upright'; the mask
            is rotated if the image is decoded differently ['auto': the dataset's, or by the sizes].

    Example:
        >>> columns = {
        ...     "image": sluice.columns.Image(transform=T.RandomResizedCrop(32)),
        ...     "classes": sluice.columns.Mask("mask"),
        ... }
        >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["classes"].shape
        (2, 32, 32)
    """

    _kind = "mask"

    def __init__(
        self, field: str | None = None, *, fill: float = 0, interpolation: str = "nearest", channels: int = 1,
        labels: str | None = None, crowds: str | None = None, background: float = 0, ignore: float = 255,
        overlap: str = "last", dtype: Dtype = None, follows: str | None = None, missing: str = "bad",
        orientation: str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        self._set_dtype(dtype)
        self._set_orientation(orientation)
        for name, value in {"interpolation": interpolation, "channels": channels, "overlap": overlap}.items():
            self._set(name, value)
        for name, other in {"labels": labels, "crowds": crowds}.items():
            if other is not None:
                self._values[name] = _check.text(name, other)
        self._values |= {"fill": _check.number("fill", fill), "background": _check.number("background", background)}
        if _check.number("ignore", ignore) != 255:
            self._values["ignore"] = ignore or _TINY
        self._set_follows(follows)


_TINY = 1e-30  # the library's 0 is its default

# Rules of other libraries for boxes to keep. ultralytics' applies to boxes scaled like the image, with strict comparisons.
_KEEPS = {
    "torchvision": {"min_size": 1.0, "min_area": 1.0, "min_visibility": 0.0, "max_aspect": 0.0},
    "coco-visible": {"min_size": 1.0, "min_area": 1.0, "min_visibility": 0.3, "max_aspect": 0.0},
    "yolo": {"min_size": 2.0, "min_area": 4.0, "min_visibility": 0.1, "max_aspect": 100.0},
}


class Boxes(Column):
    """Boxes in an image, which follow the image: float32 [boxes, 4] back to back, and NAME.offsets.

    All steps move a box at once; then it is clipped once to the visible image, and one rule decides
    whether it is kept: at least `min_size` wide and high, of at least `min_area`, with at least the
    fraction `min_visibility` of its unclipped area visible, and at most `max_aspect` times as long
    as wide. With `padded`, rows x length x 4, zeros after the boxes, and NAME.lengths.

    Args:
        field: tensor field [any, 4] of the dataset [the column's name].
        length: most boxes of a row, including dropped crowds, and the boxes of all samples of a
            Mosaic or CopyPaste [1024 per sample; required with `padded`].
        format: stored format: 'xyxy', 'xywh', 'cxcywh' or 'auto' (the dataset's, which is an error
            if it is unknown; else 'xyxy') ['auto'].
        relative: stored coordinates: True or 'relative' (fractions of the image's width and
            height), False or 'pixels', None or 'auto' (the dataset's, else pixels) [None].
        out_format: format in the batch ['xyxy'].
        out_relative: True returns fractions of the output's width and height [False].
        padded: True pads rows to `length` [False].
        keep: rule for values that are not given: 'torchvision' (min_size 1, min_area 1,
            min_visibility 0), 'coco-visible' (1, 1, 0.3) or 'yolo' (2, 4, 0.1, max_aspect 100)
            ['torchvision'].
        min_size: smallest width and height in pixels [by `keep`].
        min_area: smallest area in pixels [by `keep`].
        min_visibility: smallest visible fraction, 0 to 1 [by `keep`].
        max_aspect: largest length over width; 0: any [by `keep`].
        at_least_one: True draws the transform of a sample again, up to 20 times, if it has boxes
            but none is left [False].
        too_long: 'bad' or 'truncate' ['bad'].
        shapes: text field with a shape per box, as Instances reads it ('segmentation'). Boxes are
            rebuilt from the visible part of the moved shape, which is exact, whereas a moved box
            grows; `min_visibility` then refers to the box around the whole shape. Boxes without a
            shape are moved [none].
        crowds: field that is not 0 for crowds (COCO's 'iscrowd'), which are dropped, as in
            torchvision's detection reference [none].
        follows: the Image column [the only one before it].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        orientation: orientation of the image when it was annotated: 'stored', 'upright' or 'auto'
            (the dataset's, else as decoded) ['auto'].

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.Resize((30, 40))), "boxes": sluice.columns.Boxes()}
        >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["boxes"].tolist()
        [[5.0, 5.0, 20.0, 20.0]]
    """

    _kind = "boxes"

    def __init__(
        self, field: str | None = None, *, length: int | None = None, format: str = "auto",
        relative: bool | str | None = None, out_format: str = "auto", out_relative: bool = False, padded: bool = False, keep: str = "torchvision",
        min_size: float | None = None, min_area: float | None = None, min_visibility: float | None = None,
        max_aspect: float | None = None, at_least_one: bool = False, too_long: str = "bad",
        shapes: str | None = None, crowds: str | None = None, follows: str | None = None, missing: str = "bad",
        orientation: str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        words = {"box_format": format, "out_format": out_format, "too_long": too_long}
        flags = {"out_relative": out_relative, "padded": padded, "at_least_one": at_least_one}
        self._set_length(length)
        self._set_relative(relative)
        self._set_orientation(orientation)
        for name, value in (words | flags).items():
            self._set(name, value.lower() if name.endswith("format") and isinstance(value, str) else value)
        if keep not in _KEEPS:
            raise ValueError(f"keep={keep!r}: expected one of {', '.join(map(repr, _KEEPS))}{_check.near(keep, _KEEPS)}")
        given = {"min_size": min_size, "min_area": min_area, "min_visibility": min_visibility, "max_aspect": max_aspect}
        for name, preset in _KEEPS[keep].items():
            value = preset if given[name] is None else _check.number(name, given[name])
            tiny = value == 0 and name in ("min_size", "min_area")
            self._set(name, _TINY if tiny else value)
        for name, other in {"shapes": shapes, "crowds": crowds}.items():
            if other is not None:
                self._values[name] = _check.text(name, other)
        self._set_follows(follows)


class Points(Column):
    """Points in an image, which follow the image.

    They are float32 in the stored layout: [any, 2], [any, 3], or COCO's keypoints [any, 3 K].

    Args:
        field: tensor field of the dataset [the column's name].
        length: most points (rows of the tensor) of a row, as of Boxes.
        point_values: numbers of a point: 2 (x, y), or 3 with COCO's visibility; all three become 0
            when the point is not visible any more [3 if the field's rows have multiples of three].
        mirror: for each point of a row, the point whose place it takes when the image is mirrored
            (left and right eye) [none].
        relative: as of Boxes; also 'indices': pixel numbers, as COCO's, which a flip turns into W -
            1 - x [the dataset's, else pixels].
        out_relative: True returns fractions of the output's width and height [False].
        padded: True pads rows to `length` [False].
        too_long: 'bad' or 'truncate' ['bad'].
        follows: an Image column, or a box column, with whose boxes points are dropped [the box
            column before it, if the dataset says that the field has points per box].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        orientation: as of Boxes ['auto'].

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.Resize((30, 40))), "points": sluice.columns.Points(length=8)}
        >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["points"].tolist()
        [[10.0, 5.0]]
    """

    _kind = "points"

    def __init__(
        self, field: str | None = None, *, length: int | None = None, point_values: int | None = None,
        mirror: Sequence[int] | None = None, relative: bool | str | None = None, out_relative: bool = False,
        padded: bool = False, too_long: str = "bad", follows: str | None = None, missing: str = "bad",
        orientation: str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        values = {"out_relative": out_relative, "padded": padded}
        self._set_length(length)
        self._set_relative(relative)
        self._set_orientation(orientation)
        for name, value in (values | {"too_long": too_long}).items():
            self._set(name, value)
        if point_values is not None:
            self._set("point_values", point_values)
        if mirror is not None:
            numbers = _check.items("mirror", mirror, "a permutation of 0, 1, ...")
            self._values["mirror"] = tuple(_check.integer("mirror", number) for number in numbers)
        self._set_follows(follows)


class Instances(Column):
    """A mask for each shape in an image.

    The masks are uint8 [instances, height, width], 1 inside the shape, back to back with
    NAME.offsets.

    The field is a text of polygons and run lengths, as in COCO's 'segmentation'. Polygons are moved
    point by point and then drawn by the rule of COCO's tools, so enlarged shapes have sharp edges;
    run lengths are sampled. For variable-size images or buckets, all pixels are back to back, and
    NAME.shapes is int32 [rows, 3]: batch.pictures(NAME) lists arrays n x height x width. With
    `padded`, rows x length x height x width, zeros after the instances, and NAME.lengths.

    Args:
        field: text field of the dataset [the column's name].
        length: most instances of a sample; the loader has memory for as many in every row.
        padded: True pads rows to `length` [False].
        too_long: 'bad' or 'truncate' ['bad'].
        follows: a box column, with whose boxes instances are dropped, or an Image column [the box
            column before it, if the dataset says that the field has a shape per box, else the only
            Image].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        orientation: as of Boxes ['auto'].

    Example:
        >>> columns = {
        ...     "image": sluice.columns.Image(transform=T.Resize((30, 40))),
        ...     "masks": sluice.columns.Instances("segmentation", length=4),
        ... }
        >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["masks"].shape
        (1, 30, 40)
    """

    _kind = "instances"

    def __init__(
        self, field: str | None = None, *, length: int, padded: bool = False, too_long: str = "bad",
        follows: str | None = None, missing: str = "bad", orientation: str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(field, missing=missing)
        self._set_orientation(orientation)
        for name, value in {"length": length, "padded": padded, "too_long": too_long}.items():
            self._set(name, value)
        self._set_follows(follows)


class Geometry(Column):
    """The transform's geometry for each row. Reads no field.

    NAME: float64 [rows, 3, 3], maps (x, y, 1) of the image to (x' w, y' w, w) of the output; its
    inverse maps predictions back. NAME.size: int64 [rows, 2], height and width of the decoded image
    (exif=). NAME.box: float32 [rows, 4], the visible part of the image, XYXY. NAME.scale: float32
    [rows, 2], output pixels per image pixel, across and down, in the centre of that part.
    NAME.flip: uint8 [rows, 2], 1 if flips mirrored the image across, and down; a rotation is not a
    flip.

    Args:
        follows: the Image column [the only one before it].

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.Resize((30, 40))), "map": sluice.columns.Geometry()}
        >>> with sluice.Loader(data, batch_size=1, columns=columns) as loader:
        ...     next(iter(loader))["map"].tolist()
        [[[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1.0]]]
    """

    _kind = "geometry"

    def __init__(self, *, follows: str | None = None) -> None:
        super().__init__()
        self._set_follows(follows)

    def _dict(self, name):
        return {"name": name, **self._values}

# SPDX-License-Identifier: Apache-2.0
"""What a batch holds: columns, each made of a field of the dataset.

    sluice.Loader(data, columns={
        "view1": sluice.columns.Image("image", transform=strong),
        "view2": sluice.columns.Image("image", transform=weak, dtype="uint8"),
        "caption": sluice.columns.Ragged(length=512),
        "label": sluice.columns.OneHot(1000),
    })

The key is the column's name; `field` is the dataset's, and the same name where it is not given.

Masks, boxes, points follow a picture: whatever crops, resizes, flips, pads or warps it moves them alike.

    sluice.Loader(data, columns={
        "image": sluice.columns.Image(transform=recipe),
        "segmentation": sluice.columns.Mask("mask", fill=255),
        "boxes": sluice.columns.Boxes(),
        "labels": sluice.columns.Ragged(),
    })

What the dataset knows of a field (data.fields[name].meaning) is the default: the format and the coordinates of boxes and
points, the boxes that labels belong to, and the way up of the image that all was annotated in. An argument that
contradicts it wins, with a warning.
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
    """A constructor that keeps its arguments; inspect sees the signature of the original."""

    @functools.wraps(init)
    def __init__(self, *arguments, **named):
        if self._given is None:
            self._given = arguments, named
        init(self, *arguments, **named)

    return __init__


class Column:
    """One column. `missing`: 'bad' (a sample without the field is a bad one) or 'blank' (its row is
    zero, empty, or -1). `partner`: 0, of the row's own sample, or 1 to 31, of that partner of it, another sample of the
    dataset (partners= of the loader); what follows a column is of its sample."""

    _kind = ""
    _given: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # the arguments, for repr

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
        """None: as the field says; True: shares; False: pixels; or the library's words."""
        flag = relative is None or isinstance(relative, bool)
        self._set("relative", _RELATIVE[relative] if flag else relative)

    def _dict(self, name):
        return {"field": self.field or name, "name": name, **self._values}

    def __repr__(self):
        arguments, named = self._given or ((), {})
        given = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in named.items())]
        return f"sluice.columns.{type(self).__name__}({', '.join(given)})"


class Image(Column):
    """Pictures through a transform: rows x height x width x 3, or rows x 3 x height x width.

    transform: of sluice.transforms. dtype: 'uint8' unless it normalises or says otherwise, then
    'float32'; also 'float16', 'bfloat16'. layout: 'NHWC' or 'NCHW' ['NHWC'; with
    sluice.torch.DataLoader 'NCHW']. What mixes a batch (MixUp, CutMix) says
    nothing of labels here, so no num_classes: OneHot(classes, mixes=NAME, smoothing=...) does. With MixUpPartner
    the batch has NAME.share, of the row's own picture; of several samples (Mosaic, MixUpPartner, CopyPaste) none may be missing.
    sizes: 'one', that of the transform; or each picture has its own, as the transform leaves it, or as it is stored
        (transform=None): 'padded', with zeros right and below to the largest of the batch, or 'ragged', back to back with
        NAME.offsets. NAME.sizes has height and width of each, and batch.pictures(NAME) is a list of them.
    max_size: (height, width), or a number for both: the space of each row with sizes='padded' and 'ragged' [what the
        transform makes of the largest image, where the transform has a limit or the dataset knows its sizes: packed
        shards, COCO, VOC; else it has to be given]. An image that is higher or wider ('ragged': has
        more pixels than these two make) is a bad sample. Space that images do not use takes no memory.
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
            raise TypeError("pictures differ in size: transform=sluice.transforms.RandomResizedCrop(224), or sizes='padded', says what a row is")
        if max_size is not None and not several:
            raise TypeError("max_size=(height, width) is for sizes='padded' and 'ragged'")
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
    """One that a loader makes together with its labels, as the transform says."""

    _is_alone = False


def _refuse_labels(mixing):
    """Mixing in a column is of its pictures only: what it says of labels would be passed over."""
    classes, smoothing = mixing.num_classes, mixing._smoothing
    said = {"num_classes": classes, "label_smoothing": smoothing or None}
    wrong = [name for name, value in said.items() if value is not None]
    if not wrong:
        return
    instead = f"OneHot({classes or 'classes'}, \"label\", mixes=NAME{f', smoothing={smoothing:g}' if smoothing else ''})"
    unset = ", ".join("label_smoothing=0" if name == "label_smoothing" else f"{name}=None" for name in wrong)
    raise ValueError(
        f"{type(mixing).__name__}: {' and '.join(wrong)} cannot be said in a column, which has pictures only. Set {unset} "
        f"and add sluice.columns.{instead}, NAME being this column's"
    )


class Number(Column):
    """An int or float field: one number a row. dtype: 'int64' ('float64' of floats), 'int32', 'float32'."""

    _kind = "number"

    def __init__(self, field: str | None = None, *, dtype: Dtype = None, missing: str = "bad", partner: int = 0) -> None:
        super().__init__(field, missing=missing, partner=partner)
        self._set_dtype(dtype)


class Tensor(Column):
    """A tensor field, whole, or with `shape` a part of it: part='center' or 'random' ['whole'].

    Or an image field of PNGs, as they are stored: label masks, depth maps. shape=(height, width), or
    (height, width, channels); with `part` a part of larger ones, the same as that of other such columns of the
    sample. Palettes give the pixels' numbers, grey of 1, 2 and 4 bits is not spread over 0..255, grey of 16 bits is
    whole. dtype: 'uint8' (up to 8 bits), 'uint16' (16 bits); 'int32', 'int64' and floating ones take both. Such a
    column does not follow the crop or the flip of an Image column: a Mask does.
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
    """`length` elements of a long tensor, every `stride` (default: `length`) of them.

    The loader counts and shuffles windows then. `offset`: from the window's beginning to the column's
    first element, so that targets are a second column with offset=1.
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
    """Filling in the middle, for Packed(fim=): documents with their middle at the end, so that a model learns to fill gaps.

    rate: the share of documents that are transformed, 0 to 1. prefix, middle, suffix: the ids in front of each part, three
    different ones. spm: the share of transformed documents that have the suffix first, 0 to 1.

    A document is split at two places into prefix P, middle M and suffix S, any of which may be empty, as Megatron-LM's
    GPTFIMDataset does it. Rows have `prefix P suffix S middle M` (PSM) or `prefix suffix S middle P M` (SPM): three elements more.
    Which documents are transformed is drawn by the loader's seed and the document, once for all epochs; the two places, each
    evenly of all, and the form are drawn again in each epoch (of a mix: each time that all rows of the dataset have come). Ids that stand in documents already are not looked for.
    """

    def __init__(self, rate: float, prefix: int, middle: int, suffix: int, spm: float = 0.5) -> None:
        shares = {"rate": _check.number("rate", rate), "spm": _check.number("spm", spm)}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise ValueError(f"{name}={share!r}: expected a share, 0 to 1")
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
    """Documents of any length (a tensor field [any] of ints, such as tokens), packed into rows of `length` elements.

    The loader counts, shuffles and splits rows then, and a batch has no other columns. Every epoch has the same rows, in
    another order; which documents share a row depends on their lengths, these arguments and the loader's seed. Best fit
    decreasing in windows of 8192 documents. Documents of no elements stand in no row. docs/sequences.md shows a row.
    Each dataset of a sluice.mix is packed by itself; its weights are shares of rows, and epoch_samples counts rows.

    length: elements of a row, 1 to 2**24, a multiple of align. max_documents: the most documents of a row, up to 1024 [32].
    align: each document begins at a multiple of it. cut: 'none' (a document longer than a row is an error when the loader
    is opened), 'long' (such a one is cut into rows and a rest) or 'split' (documents are concatenated, and cut where a row
    ends). unit: so many consecutive documents, such as the pairs of preference data, stay in one row; not with 'split'. pad: the element where
    a row has no document. dtype: 'int64' or 'int32'.

    bos, eos: ids that rows have in front of each document and behind it [none]. They count like any element: a document is that
    much longer when it is packed and cut. The target of a document's last token is eos. A document that already begins with
    bos, or ends with eos, is a bad sample.

    mask: a field of the same samples that says which tokens are trained: a tensor with one int or bool for each token, 0 where
    it is not; or a tensor [any, 2] of ints with the runs (begin, end) of tokens that are, in order and apart [all are trained].
    NAME.targets has ignore_index in place of tokens that are not trained; eos goes by the document's last token. A mask of another
    length, runs out of order or outside of the document, and a sample without the field are bad samples. Each piece of a
    document reads the whole document then.

    fim: a FIM: some documents are transformed for filling in the middle, before they are cut [none].

    Besides NAME (rows x length) the batch has, by name, NAME.targets (rows x length: the next element of the document; the
    loader's ignore_index at its end and on padding); as int32 NAME.positions and NAME.documents (rows x length: the
    element's number in its piece of the document, and the piece's in the row; padding is document NAME.count, with positions from 0),
    NAME.lengths (rows x max_documents), NAME.cu_seqlens and NAME.cu_seqlens_padded (rows x (max_documents + 1): sums of
    lengths, and of lengths rounded up to align; the last one repeats), NAME.count and NAME.max_seqlen (rows); as uint8
    NAME.loss_mask (rows x length: 1 where NAME.targets is a target, else 0); as int64 NAME.samples (rows x max_documents: the
    number of each document in the dataset; -1 behind count).
    A bad document masks its whole row (on_bad_sample='mask') or raises ('fail'); 'replace' is refused.

    media: a second tensor field of the same documents, [n, ...], of which n differs from sample to sample, such as the patches of
    their pictures [none]. The batch then also has NAME.media (the patches of all rows back to back, total x ..., as stored),
    NAME.media_offsets (int64, rows + 1: row i has patches offsets[i] to offsets[i + 1]) and NAME.media_lengths (int32, rows x
    max_documents). per_token: so many patches take the space of one token of a row [0: none do, as the tokens have placeholders].
    A row's tokens, ids included, and, of each document, ceil(n / per_token) are at most `length` then; the arrays of tokens stay as they are.
    media_length: the most patches of a row, which memory is set aside for; a row with more is a bad one [length * per_token, or
    length]. With media, cut is 'none'; documents without tokens that have patches raise an error when the loader is opened.
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
            raise ValueError("per_token and media_length are about media=, a field of the dataset: name it, or leave them out")
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
    """Bytes, texts (as UTF-8), or tensors whose first dimension differs, back to back; NAME.offsets says where
    each row's begin, along the first dimension. batch.texts(NAME) is a list of str.

    length: the most that a row may have, in the first dimension [that of the boxes that it follows; else it has to be
    given]. too_long: 'bad', or 'truncate', which cuts texts at that byte. follows: a column of boxes, of each of which
    the field has a value (a label, an area): those are left whose boxes are [the column of boxes before it, where the
    dataset says that the field has a value for each box].
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
    """The same, each row followed by zeros: rows x length (x other dimensions), and NAME.lengths."""

    _kind = "padded"


class OneHot(Column):
    """An int field k as a row of `classes` numbers, 1 at k. dtype: 'uint8', 'int64', 'float32', ...

    mixes: the Image column of the batch whose mixing (MixUp, CutMix) it follows: shares of classes, which add to 1.
    smoothing: s / classes is at each number, 1 - s more at k. Both need a floating dtype.
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
    """A value for each pixel of a picture, which follows it: rows x height x width (x channels) of its transform.

    field: an image field of PNGs, or a tensor [height, width] or [height, width, channels], of the picture's size.
    interpolation: 'nearest' (classes, ids: every value is a stored one, or `fill`), or 'bilinear' between the four
    about a place, for maps such as depth (dtype 'float32'; not antialiased). fill: what there is beside the picture;
    255 where a loss is to leave it out. dtype: 'uint8' of PNGs, else as stored; wider ones as of Tensor. follows: the
    Image column [the only one before it]; of one with sizes= it is as that, padded with `fill`, or ragged (batch.pictures).

    field: or a text of shapes, as Instances reads it: a map of classes. labels: the field of the class of each shape, a
    tensor [any] of ints; what a moved shape covers has its class. background: what none covers [0]. overlap: where
    shapes cover one another 'last' has the later one, 'ignore' the value `ignore` [255], as torchvision's reference
    of segmentation. crowds: a field that is not 0 where a shape is a crowd (COCO's 'iscrowd'), which is `ignore` where
    no other shape is. dtype: 'uint8', or what else all these numbers fit in.

    orientation: the way up of the image that it was annotated in, 'stored' or 'upright' [of shapes what the dataset says;
    else its own size says it]; it is turned where the image is decoded the other way up. Where the dataset leaves it to
    the size (a folder of masks) and the EXIF orientation keeps that (a half turn, a square), the sample is a bad one.
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

# What is kept of boxes, by the rules of others. ultralytics' are of boxes scaled as the picture is, and strict.
_KEEPS = {
    "torchvision": {"min_size": 1.0, "min_area": 1.0, "min_visibility": 0.0, "max_aspect": 0.0},
    "coco-visible": {"min_size": 1.0, "min_area": 1.0, "min_visibility": 0.3, "max_aspect": 0.0},
    "yolo": {"min_size": 2.0, "min_area": 4.0, "min_visibility": 0.1, "max_aspect": 100.0},
}


class Boxes(Column):
    """A tensor [any, 4] of boxes in a picture, which follow it: float32 [boxes, 4] back to back and NAME.offsets; with
    `padded` rows x length x 4, zeros behind, and NAME.lengths.

    length: the most that a row has, crowds that are left out too; of several samples (Mosaic, CopyPaste) all of theirs
    [1024 for each sample of a row; with `padded` it has to be given].
    format: as stored, 'xyxy', 'xywh', 'cxcywh', or 'auto', what the dataset says (refused where it has boxes of an unknown format), else 'xyxy'. relative: True
    ('relative'), as shares of the image's width and height; False ('pixels'); None ('auto'), what the dataset says, else
    pixels. orientation: the way up of the image that they were annotated in, 'stored', 'upright', or 'auto', what the
    dataset says, else the way up that it is decoded.
    out_format ['xyxy'], out_relative: in the batch. Boxes are moved by
    all steps at once, then clipped once to what is seen, and dropped by one rule: kept are those at least `min_size`
    wide and high, of `min_area`, of the share `min_visibility` of what they would be unclipped, at most `max_aspect`
    times as long as wide. keep: the rule of 'torchvision' (1, 1, 0, any), 'coco-visible' (1, 1, 0.3, any) or 'yolo'
    (2, 4, 0.1, 100), for what is not given. at_least_one: where a sample has boxes and none is left, its transform is
    drawn again, up to 20 times. too_long: 'bad' or 'truncate'. follows: the Image column [the only one before it].
    shapes: a text field of a shape for each box, as Instances reads it ('segmentation'): each box is made anew of what
    is seen of its moved shape, and is exact, where a moved box grows; what is kept goes by that box then, and
    `min_visibility` by the box about the whole shape. Boxes without a shape are moved [all are]. crowds: a field that is
    not 0 where a box is about a crowd (COCO's 'iscrowd'): those are left out, as torchvision's reference of detection does.
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
    """Points in a picture, which follow it: float32, as stored: [any, 2], [any, 3], or as COCO's keypoints [any, 3 K].

    point_values: numbers of a point: 2, x and y, or 3, with COCO's visibility, which becomes 0, and with it x and y,
    where a point is not to be seen any more [3, if rows are of threes]. mirror: for each point of a row the one whose
    place it takes where the picture is mirrored (left and right eyes). relative: as of Boxes, or 'indices': numbers of
    pixels, as COCO's are, which a flip makes W - 1 - x [what the dataset says, else pixels]. out_relative, padded, length,
    orientation, too_long: as of Boxes. follows: an Image column, or a column of boxes, with which the points of one are
    left out [the column of boxes before it, where the dataset says that the field has points for each box].
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
    """A mask of each shape in a picture: uint8 [instances, height, width] back to back, 1 where it is, and NAME.offsets;
    with `padded` rows x length x height x width, zeros behind, and NAME.lengths. Of pictures of several sizes, or of
    buckets, all pixels back to back, and NAME.shapes, int32 [rows, 3]: batch.pictures(NAME) is a list of n x height x width.

    field: a text of polygons and run lengths, as COCO's 'segmentation' is read. Polygons are moved point by point and
    then drawn by the rule of COCO's tools, so that what is enlarged has sharp edges; run lengths are sampled. length:
    the most that a sample has; the loader has memory for as many in every row. follows: a column of boxes, whose
    instances are left where they are, or an Image column [the column of boxes before it, where the dataset says that the
    field has a shape for each box, else the only Image]. orientation: as of Boxes. too_long: 'bad' or 'truncate'.
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
    """Where the transform took a picture, of no field.

    NAME: float64 [rows, 3, 3], takes (x, y, 1) of the picture to (x' w, y' w, w) of the output; its inverse takes
    predictions back. NAME.size: int64 [rows, 2], the picture's height and width, as it is decoded (exif=). NAME.box: float32 [rows, 4], the part
    of the picture that is shown, XYXY. NAME.scale: float32 [rows, 2], pixels of the output for one of the picture,
    across and down, in the middle of that part. NAME.flip: uint8 [rows, 2], whether flips mirrored it, across and
    down; a rotation is not a flip. follows: the Image column [the only one before it].
    """

    _kind = "geometry"

    def __init__(self, *, follows: str | None = None) -> None:
        super().__init__()
        self._set_follows(follows)

    def _dict(self, name):
        return {"name": name, **self._values}

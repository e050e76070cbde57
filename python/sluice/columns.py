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

The meaning of a field (data.fields[name].meaning) sets the defaults: the format and coordinates of
boxes and points, the boxes that labels belong to, and the orientation in which an image was
annotated. An argument that contradicts it takes precedence, with a warning.
"""
from __future__ import annotations

from . import _check
from . import transforms as _transforms
from ._column import Column
from ._columns_of_images import Boxes, Geometry, Instances, Mask, Points
from ._columns_of_tokens import FIM, Packed, Window
from ._names import layout_number as _layout_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._types import Dtype, Size, Steps

__all__ = [
    "Boxes", "FIM", "Geometry", "Image", "Instances", "Mask", "Number", "OneHot", "Packed", "Padded", "Points", "Ragged", "Tensor", "Window",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name):
        raise _check.missing_name(__name__, name, __all__)


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
        TypeError: neither `transform` nor `sizes` determines the size of a row, or `max_size` has
            no effect.
        ValueError: the transform has no fixed output size, or mixes labels.

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.CenterCrop(32), layout="NCHW")}
        >>> with sluice.Loader(data, batch_size=4, columns=columns) as loader:
        ...     next(iter(loader))["image"].shape
        (4, 3, 32, 32)
    """

    _kind = "image"
    _is_alone = True  # has no column of labels

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
    """Like Ragged, with each row padded with zeros, and NAME.lengths.

    Its shape is rows x length (x other dimensions).

    Args:
        field: bytes, text or tensor field of the dataset [the column's name].
        length: size of a row along the first dimension, as in Ragged.
        dtype: dtype of the elements [as stored].
        too_long: 'bad' or 'truncate' ['bad'].
        follows: as in Ragged.
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

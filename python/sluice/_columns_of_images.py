# SPDX-License-Identifier: Apache-2.0
"""Columns that follow an image: every crop, resize, flip, pad or warp moves them, too."""
from __future__ import annotations

from . import _check
from ._column import TINY, Column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._types import Dtype


class Mask(Column):
    """A label or other value for each pixel of an image. Follows the image.

    Its shape is rows x height x width (x channels), with the size of the image's transform.

    The field holds PNGs or tensors [height, width (, channels)] of the image's size, or a text of
    shapes, as Instances reads it, which becomes a class map. If the image has sizes=, the mask is
    padded with `fill` or ragged in the same way (batch.pictures).

    A sample is bad if the dataset determines the mask's orientation by its size (a folder of masks)
    and the image's EXIF orientation keeps the size (a half turn, or a square image).

    Args:
        field: image, tensor or text field of the dataset [the column's name].
        fill: value outside the image; often 255, for a loss that ignores it [0].
        interpolation: 'nearest' (classes, ids: every value is a stored one, or `fill`) or
            'bilinear' (maps such as depth, with dtype 'float32'; not antialiased) ['nearest'].
        channels: number of channels [1].
        labels: for shapes: tensor field of ints with the class of each shape [none].
        crowds: for shapes: field that is not 0 for crowds (COCO's 'iscrowd'), which become `ignore`
            where no other shape covers them [none].
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
            self._values["ignore"] = ignore or TINY
        self._set_follows(follows)


# Rules of other libraries for boxes to keep. ultralytics' applies to boxes scaled like the image, with strict comparisons.
_KEEPS = {
    "torchvision": {"min_size": 1.0, "min_area": 1.0, "min_visibility": 0.0, "max_aspect": 0.0},
    "coco-visible": {"min_size": 1.0, "min_area": 1.0, "min_visibility": 0.3, "max_aspect": 0.0},
    "yolo": {"min_size": 2.0, "min_area": 4.0, "min_visibility": 0.1, "max_aspect": 100.0},
}


class Boxes(Column):
    """Boxes that follow an image: float32 [boxes, 4] back to back, and NAME.offsets.

    All steps move a box at once; then it is clipped once to the visible image, and one rule decides
    whether it is kept: at least `min_size` wide and high, of at least `min_area`, with at least the
    fraction `min_visibility` of its unclipped area visible, and at most `max_aspect` times as long
    as wide. With `padded`, rows x length x 4, zeros after the boxes, and NAME.lengths.

    Args:
        field: tensor field [any, 4] of the dataset [the column's name].
        length: maximum number of boxes per row, including dropped crowds, and the boxes of all
            samples of a Mosaic or CopyPaste [1024 per sample; required with `padded`].
        format: stored format: 'xyxy', 'xywh', 'cxcywh' or 'auto' (the dataset's, which is an error
            if it is unknown; else 'xyxy') ['auto'].
        relative: stored coordinates: True or 'relative' (fractions of the image's width and
            height), False or 'pixels', None or 'auto' (the dataset's, else pixels) [None].
        out_format: format in the batch ['xyxy'].
        out_relative: True returns fractions of the output's width and height [False].
        padded: True pads rows to `length` [False].
        keep: rule for the four values below that are not given: 'torchvision' (min_size 1, min_area
            1, min_visibility 0), 'coco-visible' (1, 1, 0.3) or 'yolo' (2, 4, 0.1, max_aspect 100)
            ['torchvision'].
        min_size: smallest width and height in pixels [by `keep`].
        min_area: smallest area in pixels [by `keep`].
        min_visibility: smallest visible fraction, 0 to 1 [by `keep`].
        max_aspect: largest length over width; 0: any [by `keep`].
        at_least_one: True draws the transform of a sample again, up to 20 times, if it has boxes
            but none remains [False].
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
            self._set(name, TINY if tiny else value)
        for name, other in {"shapes": shapes, "crowds": crowds}.items():
            if other is not None:
                self._values[name] = _check.text(name, other)
        self._set_follows(follows)


class Points(Column):
    """Points that follow an image.

    They are float32 in the stored layout: [any, 2], [any, 3], or COCO's keypoints [any, 3 K].

    Args:
        field: tensor field of the dataset [the column's name].
        length: maximum number of points (rows of the tensor) per row, as in Boxes.
        point_values: numbers of a point: 2 (x, y), or 3 with COCO's visibility; all three become 0
            when the point is no longer visible [3 if the field's rows have multiples of three].
        mirror: for each point of a row, the point that it becomes when the image is mirrored (left
            and right eye) [none].
        relative: as in Boxes; also 'indices': pixel numbers, as in COCO, which a flip turns into W
            - 1 - x [the dataset's, else pixels].
        out_relative: True returns fractions of the output's width and height [False].
        padded: True pads rows to `length` [False].
        too_long: 'bad' or 'truncate' ['bad'].
        follows: an Image column, or a box column: points of dropped boxes are dropped [the box
            column before it, if the dataset says that the field has points per box].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        orientation: as in Boxes ['auto'].

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
        length: maximum number of instances per sample; every row has memory for this many.
        padded: True pads rows to `length` [False].
        too_long: 'bad' or 'truncate' ['bad'].
        follows: a box column (instances of dropped boxes are dropped), or an Image column [the box
            column before it, if the dataset says that the field has a shape per box, else the only
            Image].
        missing: action when the field is missing: 'bad' or 'blank' ['bad'].
        orientation: as in Boxes ['auto'].

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

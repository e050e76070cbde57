# SPDX-License-Identifier: Apache-2.0
"""Sizes and crops of recipes for detection and segmentation, as torchvision's references and v2, and YOLO, have them."""
from __future__ import annotations

from .. import _check
from . import _values
from ._base import Transform
from ._geometry import LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import Fill, Size, Values

SIZES = _values.LISTS["random_shortest_size"]
OPTIONS = _values.LISTS["random_iou_crop"]
POSITIONS = ("center", "top-left")


class RandomShortestSize(Transform):
    """The shorter side to `min_size`, or to one of several, drawn; the longer one in proportion, and at most `max_size`.

    min_size: an int, or up to 14 of them. max_size: of the longer side, for which both become smaller; None: no limit.
    Sides are int(side * r), r = min(min_size / shorter side, max_size / longer side). A step behind it gives pictures one
    size: FixedSizeCrop. Source: v2.RandomShortestSize, which is that of references/detection/transforms.py.
    """

    _name = "random_shortest_size"

    def __init__(
        self, min_size: int | Sequence[int], max_size: int | None = None, interpolation: Any = "bilinear", antialias: Any = True
    ) -> None:
        wanted = f"an int, or 1 to {SIZES} of them"
        sizes = _check.items("min_size", min_size, wanted) if _values.is_numbers(min_size) else [min_size]
        self.min_size = tuple(_check.integer("min_size", size, 1, LIMIT) for size in sizes)
        if not 1 <= len(self.min_size) <= SIZES:
            raise ValueError(f"min_size={min_size!r:.80}: expected {wanted}")
        self.max_size = None if max_size is None else _check.integer("max_size", max_size, 1, LIMIT)
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        return (self._name, self.max_size or 0, self.interpolation, *self.min_size)


class ScaleJitter(Transform):
    """Resized to fit into `target_size`, times a factor: large scale jitter.

    target_size: int or (height, width). scale_range: the least and the most factor, above 0 and up to 1000.
    Sides are int(side * r), r = min(target height / height, target width / width) * U(scale_range), and at least 1.
    FixedSizeCrop(target_size) behind it gives pictures one size. Source: "Simple Copy-Paste" (arXiv 2012.07177),
    v2.ScaleJitter, which takes the first number of target_size for the width.
    """

    _name = "scale_jitter"

    def __init__(
        self, target_size: Size, scale_range: Values = (0.1, 2.0), interpolation: Any = "bilinear", antialias: Any = True
    ) -> None:
        self.target_size, self.scale_range = _values.pair(target_size, "target_size"), _values.ends("scale_range", scale_range)
        most = _values.LIMITS[self._name, "scale_max"][1]
        if not (self.scale_range[0] > 0 and self.scale_range[1] <= most):
            raise ValueError(f"scale_range={scale_range!r}: expected factors above 0 and up to {most:g}")
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        height, width = self.target_size
        return (self._name, width, height, *self.scale_range, self.interpolation)


class FixedSizeCrop(Transform):
    """A random window of `size`; what a smaller picture has not is added right and below.

    size: int or (height, width). fill, padding_mode: as of Pad. One number is drawn for both axes: the window begins at
    int(max(side - size, 0) * r). Source: references/detection/transforms.py of torchvision.
    """

    _name = "fixed_size_crop"

    def __init__(self, size: Size, fill: Fill = 0, padding_mode: str = "constant") -> None:
        self.size, self.fill, self._fill = _values.pair(size), fill, _values.fill(fill)
        self.padding_mode = _values.word("padding_mode", padding_mode, _values.PADDINGS)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, self.padding_mode, *self._fill)


class LetterBox(Transform):
    """Resized to fit into `size`, in its proportions, with `fill` on what is left. It draws nothing: for evaluation, too.

    size: int or (height, width). enlarge: whether a smaller picture becomes larger (ultralytics' scaleup). position:
    'center', where the odd pixel is right and below, or 'top-left'. Sides are round(side * r), r = min(height of size /
    height, width of size / width). Source: data/augment.py of ultralytics; pixels are Pillow's, not OpenCV's.
    """

    _name = "letter_box"

    def __init__(
        self, size: Size, fill: Fill = 114, enlarge: bool = True, position: str = "center", interpolation: Any = "bilinear",
        antialias: Any = True,
    ) -> None:  # fmt: skip
        self.size, self.fill, self._fill = _values.pair(size), fill, _values.fill(fill)
        self.enlarge, self.position = _check.flag("enlarge", enlarge), _values.word("position", position, POSITIONS)
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, *self._fill, int(self.enlarge), self.position, self.interpolation)


class RandomZoomOut(Transform):
    """At a random place of a canvas of `fill`, with probability `p`: small objects.

    side_range: the least and the most of the canvas' sides over the picture's, 1 to 1000, drawn. With a resize behind it
    the canvas is made in full, of 4 times the sides 16 times the pixels. A step behind it gives pictures one size.
    Source: SSD (arXiv 1512.02325), v2.RandomZoomOut.
    """

    _name = "random_zoom_out"

    def __init__(self, fill: Fill = 0, side_range: Values = (1.0, 4.0), p: float = 0.5) -> None:
        self.fill, self._fill = fill, _values.fill(fill)
        self.side_range, self.p = _values.ends("side_range", side_range), _values.probability(p)
        least, most = _values.LIMITS[self._name, "side_min"]
        if not (self.side_range[0] >= least and self.side_range[1] <= most):
            raise ValueError(f"side_range={side_range!r}: expected factors from {least:g} to {most:g}")

    def _step(self):
        return (self._name, *self.side_range, self.p, *self._fill)


class Mosaic(Transform):
    """The pictures of 4 samples, or of 9, around a random point, on a canvas of 2 size x 2 size: the first step.

    A row is made of its own sample and of partners of it, other samples of the dataset (partners= of the loader says
    which; 'any' by default); boxes, masks, points and what follows them come from all of them, in their order. grid=2:
    each is fitted into size x size (its longer side is size) and stands with a corner at a point, drawn from the middle
    half of the canvas. grid=3: they stand in the cells of a 3 x 3 grid, next to the one in the middle; a window of it is
    drawn. fill: what is between them. p: how often; else, and from epoch `end_epoch` on, the row's own picture is
    letter-boxed in the middle of the canvas, and from then on no other sample is read. So
    [Mosaic(s), RandomAffine(...), CenterCrop(s)] is YOLO's mosaic with its RandomPerspective, whose `translate` is a share
    of s, half of which is that of the canvas. Source: data/augment.py of ultralytics; the grid of 9 is in cells, where
    theirs goes by the sizes of the pictures.
    """

    _name = "mosaic"

    def __init__(
        self, size: int, grid: int = 2, fill: Fill = 114, p: float = 1.0, end_epoch: int | None = None,
        interpolation: Any = "bilinear", antialias: Any = True,
    ) -> None:  # fmt: skip
        self.size, self.grid = _check.integer("size", size, 1, LIMIT // 2), _check.integer("grid", grid, 2, 3)
        self.fill, self._fill, self.p = fill, _values.fill(fill), _values.probability(p)
        self.end_epoch = None if end_epoch is None else _check.integer("end_epoch", end_epoch, 1, 2**32 - 1)
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        return (self._name, self.size, self.grid, *self._fill, self.p, self.end_epoch or 0, self.interpolation)


class RandomIoUCrop(Transform):
    """A random window that has enough of one box of the picture; a picture without boxes stays as it is.

    min_scale, max_scale: parts of the sides, above 0, up to 1, drawn for each. min_aspect_ratio, max_aspect_ratio: of width
    over height. sampler_options: up to 11 least overlaps (intersection over union of the window and a box whose centre is
    in it), of which one is drawn; 1 and above: the picture as it is; None: (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1). trials: windows
    for each option, 1 to 500. After 50 options without a window the picture stays as it is (torchvision's goes on for
    ever); so it does when 262144 boxes were compared. Boxes that reach outside of the window are cut off, and
    dropped by the rule of their column, not by their centre. Source: SSD (arXiv 1512.02325), v2.RandomIoUCrop.
    """

    _name = "random_iou_crop"

    def __init__(
        self, min_scale: float = 0.3, max_scale: float = 1.0, min_aspect_ratio: float = 0.5, max_aspect_ratio: float = 2.0,
        sampler_options: Values | None = None, trials: int = 40,
    ) -> None:  # fmt: skip
        self.min_scale, self.max_scale = _check.number("min_scale", min_scale), _check.number("max_scale", max_scale)
        if not 0 < self.min_scale <= self.max_scale <= 1:
            raise ValueError(f"min_scale={min_scale!r}, max_scale={max_scale!r}: expected parts of the sides, above 0 and up to 1, the least first")
        self.min_aspect_ratio = _check.number("min_aspect_ratio", min_aspect_ratio)
        self.max_aspect_ratio = _check.number("max_aspect_ratio", max_aspect_ratio)
        if not 0 < self.min_aspect_ratio <= self.max_aspect_ratio < float("inf"):
            raise ValueError(
                f"min_aspect_ratio={min_aspect_ratio!r}, max_aspect_ratio={max_aspect_ratio!r}: expected ratios above 0, the least first"
            )
        options = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0) if sampler_options is None else sampler_options
        wanted = f"1 to {OPTIONS} overlaps, 0 or more"
        self.sampler_options = tuple(_check.number("sampler_options", option) for option in _check.items("sampler_options", options, wanted))
        if not (1 <= len(self.sampler_options) <= OPTIONS and all(option >= 0 for option in self.sampler_options)):
            raise ValueError(f"sampler_options={sampler_options!r:.80}: expected {wanted}")
        self.trials = _values.whole(self._name, "trials", trials)

    def _step(self):
        options = [min(option, 1.0) for option in self.sampler_options]
        scales, ratios = (self.min_scale, self.max_scale), (self.min_aspect_ratio, self.max_aspect_ratio)
        return (self._name, *scales, *ratios, self.trials, *options)

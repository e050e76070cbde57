# SPDX-License-Identifier: Apache-2.0
"""Sizes and crops of detection and segmentation recipes: torchvision's references and v2, and YOLO."""
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
    """Resizes the shorter side to `min_size`, the longer side in proportion and at most to `max_size`.

    Sides are int(side * r), with r = min(min_size / shorter side, max_size / longer side). A
    FixedSizeCrop after it gives images one size. Source: v2.RandomShortestSize, which is that of
    references/detection/transforms.py.

    Args:
        min_size: size of the shorter side in pixels, 1 to 16384, or up to 14 sizes to draw from.
        max_size: limit for the longer side, 1 to 16384, to which both sides shrink [none].
        interpolation: as in RandomResizedCrop ['bilinear'].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> T.RandomShortestSize(30, max_size=36)(image).shape
        (27, 36, 3)
    """

    _name = "random_shortest_size"
    min_size: tuple[int, ...]
    max_size: int | None
    interpolation: str

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
    """Resizes the image to fit into `target_size`, times a random factor: large scale jitter.

    Sides are int(side * r), at least 1, with r = min(target height / height, target width / width)
    * U(scale_range). A FixedSizeCrop(target_size) after it gives images one size. Source: "Simple
    Copy-Paste" (arXiv 2012.07177) and v2.ScaleJitter, which takes the first number of target_size
    as the width.

    Args:
        target_size: (height, width) in pixels, 1 to 16384, or one int for both.
        scale_range: (lowest, highest) factor, above 0 and up to 1000 [0.1, 2.0].
        interpolation: as in RandomResizedCrop ['bilinear'].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> T.Compose([T.ScaleJitter(64, (0.5, 1.5)), T.FixedSizeCrop(64)])(image).shape
        (64, 64, 3)
    """

    _name = "scale_jitter"
    target_size: tuple[int, int]
    scale_range: tuple[float, float]
    interpolation: str

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
    """Crops a random window of `size`; pads an image that is smaller on the right and below.

    One number is drawn for both axes: the window begins at int(max(side - size, 0) * r). Source:
    references/detection/transforms.py of torchvision.

    Args:
        size: (height, width) in pixels, 1 to 16384, or one int for both.
        fill: value of the added pixels, 0 to 255, or three for R, G and B [0].
        padding_mode: 'constant', 'edge', 'reflect' or 'symmetric' ['constant'].

    Example:
        >>> T.FixedSizeCrop(64)(image).shape
        (64, 64, 3)
    """

    _name = "fixed_size_crop"
    size: tuple[int, int]
    fill: Fill
    padding_mode: str

    def __init__(self, size: Size, fill: Fill = 0, padding_mode: str = "constant") -> None:
        self.size, self.fill, self._fill = _values.pair(size), fill, _values.fill(fill)
        self.padding_mode = _values.word("padding_mode", padding_mode, _values.PADDINGS)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, self.padding_mode, *self._fill)


class LetterBox(Transform):
    """Resizes the image to fit into `size` and fills the rest.

    The aspect ratio stays. Nothing is random.

    Sides are round(side * r), with r = min(height of size / height, width of size / width). Source:
    data/augment.py of ultralytics; pixels are Pillow's, not OpenCV's.

    Args:
        size: (height, width) in pixels, 1 to 16384, or one int for both.
        fill: value of the added pixels, 0 to 255, or three for R, G and B [114].
        enlarge: True enlarges an image that is smaller than `size` (ultralytics' scaleup) [True].
        position: place of the image: 'center', with an odd pixel on the right and below, or
            'top-left' ['center'].
        interpolation: as in RandomResizedCrop ['bilinear'].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> T.LetterBox(64)(image).shape
        (64, 64, 3)
    """

    _name = "letter_box"
    size: tuple[int, int]
    fill: Fill
    enlarge: bool
    position: str
    interpolation: str

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
    """Places the image at random on a larger canvas, with probability `p`, which makes objects small.

    If a resize follows, the whole canvas is made: at 4 times the sides, it has 16 times the pixels.
    A step after it must give images one size. Source: SSD (arXiv 1512.02325) and v2.RandomZoomOut.

    Args:
        fill: value of the canvas, 0 to 255, or three for R, G and B [0].
        side_range: (smallest, largest) side of the canvas over the image's side, 1 to 1000 [1.0,
            4.0].
        p: probability, 0 to 1 [0.5].

    Example:
        >>> T.Compose([T.RandomZoomOut(p=1), T.Resize((64, 64))])(image).shape
        (64, 64, 3)
    """

    _name = "random_zoom_out"
    fill: Fill
    side_range: tuple[float, float]
    p: float

    def __init__(self, fill: Fill = 0, side_range: Values = (1.0, 4.0), p: float = 0.5) -> None:
        self.fill, self._fill = fill, _values.fill(fill)
        self.side_range, self.p = _values.ends("side_range", side_range), _values.probability(p)
        least, most = _values.LIMITS[self._name, "side_min"]
        if not (self.side_range[0] >= least and self.side_range[1] <= most):
            raise ValueError(f"side_range={side_range!r}: expected factors from {least:g} to {most:g}")

    def _step(self):
        return (self._name, *self.side_range, self.p, *self._fill)


class Mosaic(Transform):
    """Joins the images of 4 or 9 samples on a canvas of 2 size x 2 size. Must be the first step.

    A row combines its own sample with partner samples of the dataset, chosen by the loader's
    `partners` ('any' by default). Boxes, masks, points and the columns that follow them come from
    all samples, in their order. When the mosaic is off (by `p` or `end_epoch`), the row's own image
    is letter-boxed in the centre of the canvas.

    [Mosaic(s), RandomAffine(...), CenterCrop(s)] is YOLO's mosaic with its RandomPerspective. That
    step's `translate` is a fraction of s; half of it is the same fraction of the canvas. Source:
    data/augment.py of ultralytics; its grid of 9 depends on the images' sizes, whereas this one has
    equal cells.

    Args:
        size: half of the canvas' side in pixels, 1 to 8192.
        grid: 2 fits each image into size x size with one corner at a common point, drawn from the
            central half of the canvas; 3 fills the cells of a 3 x 3 grid and draws a window of it
            [2].
        fill: value between the images, 0 to 255, or three for R, G and B [114].
        p: probability of a mosaic, 0 to 1 [1].
        end_epoch: first epoch without a mosaic, from which no partner samples are read [none].
        interpolation: as in RandomResizedCrop ['bilinear'].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=[T.Mosaic(32), T.CenterCrop(48)])}
        >>> with sluice.Loader(data, batch_size=4, columns=columns) as loader:
        ...     next(iter(loader))["image"].shape
        (4, 48, 48, 3)
    """

    _name = "mosaic"
    size: int
    grid: int
    fill: Fill
    p: float
    end_epoch: int | None
    interpolation: str

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
    """Crops a random window that overlaps one box of the image enough.

    An image without boxes stays unchanged.

    Boxes that reach beyond the window are clipped, then dropped by the rule of their column, not by
    their centre. The image stays unchanged after 50 options without a window (torchvision's tries
    forever), or after 262144 comparisons with boxes. Source: SSD (arXiv 1512.02325) and
    v2.RandomIoUCrop.

    Args:
        min_scale: smallest side of the window, as a fraction of the image's, above 0 [0.3].
        max_scale: largest such fraction, up to 1 [1.0].
        min_aspect_ratio: lowest width over height, above 0 [0.5].
        max_aspect_ratio: highest width over height [2.0].
        sampler_options: 1 to 11 minimum overlaps to draw from: the intersection over union of the
            window and a box whose centre is inside; 1 and above leave the image unchanged [0, 0.1,
            0.3, 0.5, 0.7, 0.9, 1].
        trials: windows tried per option, 1 to 500 [40].

    Example:
        >>> crop = T.Compose([T.RandomIoUCrop(), T.Resize((32, 32))])
        >>> columns = {"image": sluice.columns.Image(transform=crop), "boxes": sluice.columns.Boxes()}
        >>> with sluice.Loader("detection", batch_size=2, columns=columns) as loader:
        ...     next(iter(loader))["image"].shape
        (2, 32, 32, 3)
    """

    _name = "random_iou_crop"
    min_scale: float
    max_scale: float
    min_aspect_ratio: float
    max_aspect_ratio: float
    sampler_options: tuple[float, ...]
    trials: int

    def __init__(
        self, min_scale: float = 0.3, max_scale: float = 1.0, min_aspect_ratio: float = 0.5, max_aspect_ratio: float = 2.0,
        sampler_options: Values | None = None, trials: int = 40,
    ) -> None:  # fmt: skip
        self.min_scale, self.max_scale = _check.number("min_scale", min_scale), _check.number("max_scale", max_scale)
        if not 0 < self.min_scale <= self.max_scale <= 1:
            raise ValueError(f"min_scale={min_scale!r}, max_scale={max_scale!r}: expected fractions of the sides, above 0 and up to 1, the smallest first")
        self.min_aspect_ratio = _check.number("min_aspect_ratio", min_aspect_ratio)
        self.max_aspect_ratio = _check.number("max_aspect_ratio", max_aspect_ratio)
        if not 0 < self.min_aspect_ratio <= self.max_aspect_ratio < float("inf"):
            raise ValueError(
                f"min_aspect_ratio={min_aspect_ratio!r}, max_aspect_ratio={max_aspect_ratio!r}: expected ratios above 0, the lowest first"
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

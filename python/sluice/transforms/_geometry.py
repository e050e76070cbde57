# SPDX-License-Identifier: Apache-2.0
"""Crops, sizes, padding, flips, rotations, affine maps, perspectives, elastic fields."""
from __future__ import annotations

from .. import _check
from . import _values
from ._base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import Fill, Size, Values

LIMIT = 16384  # of a side


class RandomResizedCrop(Transform):
    """A random part of the picture, resized to `size`.

    size: int or (height, width) of the result.
    scale: smallest and largest part of the area.
    ratio: smallest and largest width over height.
    interpolation: 'nearest', 'bilinear', 'bicubic', 'lanczos', torchvision's InterpolationMode or Pillow's number.
    """

    _name = "random_resized_crop"

    def __init__(
        self, size: Size, scale: Values = (0.08, 1.0), ratio: Values = (3 / 4, 4 / 3), interpolation: Any = "bilinear",
        antialias: Any = True,
    ) -> None:  # fmt: skip
        self.size, self.scale, self.ratio = _values.pair(size), _values.ends("scale", scale), _values.ends("ratio", ratio)
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, *self.scale, *self.ratio, self.interpolation)


class Resize(Transform):
    """To `size`: (height, width), or an int: the shorter side, the longer one in proportion.

    Pictures have one size behind the first; behind the second a CenterCrop or RandomCrop has to give them one.
    max_size: of the longer side, when `size` is an int: the picture becomes smaller still.
    """

    _name = "resize"

    def __init__(
        self, size: Size, interpolation: Any = "bilinear", max_size: int | None = None, antialias: Any = True
    ) -> None:
        if size is None:
            raise ValueError("size=None: to bring the longer side to max_size, say size=max_size - 1 as well")
        if not isinstance(size, int):
            sides = tuple(_check.integer("size", side, 1, LIMIT) for side in _check.items("size", size, "an int or (height, width)"))
            if len(sides) not in (1, 2):
                raise ValueError(f"size={size!r}: expected an int, the shorter side's, or (height, width)")
            size = sides if len(sides) == 2 else sides[0]
        else:
            size = _check.integer("size", size, 1, LIMIT)
        if max_size is not None:
            if not isinstance(size, int):
                raise ValueError("max_size goes with a size that is one int, the shorter side's")
            max_size = _check.integer("max_size", max_size, size + 1, LIMIT)
        self.size, self.max_size, self.interpolation = size, max_size, _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        if isinstance(self.size, int):
            return ("resize_shorter", self.size, self.max_size or 0, self.interpolation)
        height, width = self.size
        return (self._name, width, height, self.interpolation)


class RandomResize(Transform):
    """The shorter side to a random size, from `min_size` to below `max_size`; the longer one in proportion."""

    _name = "random_resize"

    def __init__(self, min_size: int, max_size: int, interpolation: Any = "bilinear", antialias: Any = True) -> None:
        self.min_size = _check.integer("min_size", min_size, 1, LIMIT)
        self.max_size = _check.integer("max_size", max_size, self.min_size, LIMIT)
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        return (self._name, self.min_size, self.max_size, self.interpolation)


class CenterCrop(Transform):
    """The middle, `size` large; black around a picture that is smaller."""

    _name = "center_crop"

    def __init__(self, size: Size) -> None:
        self.size = _values.pair(size)

    def _step(self):
        height, width = self.size
        return (self._name, width, height)


class BucketCrop(Transform):
    """Resized to cover the size of the batch's bucket, aspect ratio kept, then a window of that size.

    For Loader(buckets=), which says what sizes there are. position: 'random', anywhere along the side that is longer than
    the bucket's, or 'center'. One side becomes the bucket's, the other is rounded to a whole number of pixels. Where the
    window was is in a column of sluice.columns.Geometry.
    """

    _name = "bucket_crop"

    def __init__(self, position: str = "random", interpolation: Any = "bilinear", antialias: Any = True) -> None:
        self.position = _values.word("position", position, ("random", "center"))
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        return (self._name, self.position, self.interpolation)


class Pad(Transform):
    """Pixels around the picture.

    padding: of all sides, of (left and right, top and bottom), or of (left, top, right, bottom).
    fill: a number of 0 to 255, or three. padding_mode: 'constant', 'edge', 'reflect' or 'symmetric'.
    """

    _name = "pad"

    def __init__(self, padding: Size, fill: Fill = 0, padding_mode: str = "constant") -> None:
        self.padding, self._fill = _values.padding(padding), _values.fill(fill)
        self.fill, self.padding_mode = fill, _values.word("padding_mode", padding_mode, _values.PADDINGS)

    def _step(self):
        return (self._name, *self.padding, self.padding_mode, *self._fill)


class RandomCrop(Transform):
    """A random window of the picture, padded; nothing is resized.

    padding, fill, padding_mode: as of Pad. pad_if_needed: a picture that is smaller than the window is padded by what
    is missing, on both sides; without it such a picture is a bad sample.
    """

    _name = "random_crop"

    def __init__(
        self, size: Size, padding: Size | None = None, pad_if_needed: bool = False, fill: Fill = 0,
        padding_mode: str = "constant",
    ) -> None:  # fmt: skip
        self.size, self.padding = _values.pair(size), (0,) * 4 if padding is None else _values.padding(padding)
        self.pad_if_needed, self.fill = _check.flag("pad_if_needed", pad_if_needed), fill
        self.padding_mode, self._fill = _values.word("padding_mode", padding_mode, _values.PADDINGS), _values.fill(fill)

    def _steps(self, walk):
        height, width = self.size
        one = self.padding[0] if len({*self.padding}) == 1 else 0
        pad = [] if one == self.padding[0] else [("pad", *self.padding, self.padding_mode, *self._fill)]
        return [*pad, (self._name, width, height, one, self.padding_mode, int(self.pad_if_needed), *self._fill)]


class RandomGridCrop(Transform):
    """A window at a random place of a grid of `grid` pixels: DINOv3's small views, cut out of a large one on its patches.

    Of (side - size) // grid places, one at least: 0, grid, 2 grid, ... (data/augmentations.py of facebookresearch/dinov3: the last
    one that there would be is not drawn). A smaller picture is a bad sample.
    """

    _name = "random_grid_crop"

    def __init__(self, size: Size, grid: int = 16) -> None:
        self.size, self.grid = _values.pair(size), _check.integer("grid", grid, 1, LIMIT)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, self.grid)


class RandomHorizontalFlip(Transform):
    """Mirrored left to right, with probability `p`."""

    _name = "random_flip"

    def __init__(self, p: float = 0.5) -> None:
        self.p = _values.probability(p)

    def _step(self):
        return (self._name, self.p)


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrored top to bottom, with probability `p`."""

    _name = "random_vertical_flip"


class RandomRotation(Transform):
    """Turned about its middle, counterclockwise; the size stays, corners are cut off.

    degrees: the least and the most, or x for -x to x. interpolation: 'nearest', 'bilinear' or 'bicubic'.
    """

    _name = "random_rotation"

    def __init__(
        self, degrees: float | Sequence[float], interpolation: Any = "nearest", expand: bool = False, center: None = None,
        fill: Fill = 0,
    ) -> None:  # fmt: skip
        _values.only("expand", expand, False, instead=": the rows of a batch have one size; Pad before it keeps the corners")
        _values.only("center", center, None, instead=": the picture's middle")
        self.degrees = _values.around("degrees", degrees)
        self.interpolation = _values.interpolation(interpolation, _values.WARPED, "nearest")
        self.fill, self._fill = fill, _values.fill(fill)

    def _step(self):
        return (self._name, *self.degrees, self.interpolation, *self._fill)


class RandomAffine(Transform):
    """Turned, moved, scaled and sheared about its middle.

    degrees: as of RandomRotation; 0: not turned. translate: (a, b), moved by at most a widths and b heights.
    scale: the least and the most. shear: degrees along x, x for -x to x, or (least, most), or these of x and of y, four.
    """

    _name = "random_affine"

    def __init__(
        self, degrees: float | Sequence[float], translate: Values | None = None, scale: Values | None = None,
        shear: float | Sequence[float] | None = None, interpolation: Any = "nearest", fill: Fill = 0, center: None = None,
    ) -> None:  # fmt: skip
        _values.only("center", center, None, instead=": the picture's middle")
        self.degrees = _values.around("degrees", degrees)
        wanted = "two numbers, parts of the width and of the height"
        self.translate = (0.0, 0.0) if translate is None else _values.numbers("translate", translate, wanted, 2)
        if not all(0 <= part <= 1 for part in self.translate):
            raise ValueError(f"translate={translate!r}: expected {wanted}, 0 to 1; of pixels, divide them by the size")
        self.scale = (1.0, 1.0) if scale is None else _values.ends("scale", scale)
        self.shear = self._of_shear(shear)
        self.interpolation = _values.interpolation(interpolation, _values.WARPED, "nearest")
        self.fill, self._fill = fill, _values.fill(fill)

    @staticmethod
    def _of_shear(shear):
        if shear is None:
            return (0.0,) * 4
        if not _values.is_numbers(shear):
            return (*_values.around("shear", shear), 0.0, 0.0)
        made = _values.numbers("shear", shear, "a number, two of x, or four of x and y", 2, 4)
        return (*_values.ends("shear", made[:2]), *(_values.ends("shear", made[2:]) if made[2:] else (0.0, 0.0)))

    def _step(self):
        return (self._name, *self.degrees, *self.translate, *self.scale, *self.shear, self.interpolation, *self._fill)


class RandomPerspective(Transform):
    """Seen from a random direction, with probability `p`: corners move inwards by up to `distortion_scale` of half a side."""

    _name = "random_perspective"

    def __init__(
        self, distortion_scale: float = 0.5, p: float = 0.5, interpolation: Any = "bilinear", fill: Fill = 0
    ) -> None:
        self.distortion_scale, self.p = _values.probability(distortion_scale, "distortion_scale"), _values.probability(p)
        self.interpolation = _values.interpolation(interpolation, _values.WARPED)
        self.fill, self._fill = fill, _values.fill(fill)

    def _step(self):
        return (self._name, self.distortion_scale, self.p, self.interpolation, *self._fill)


class ElasticTransform(Transform):
    """Each pixel moved by a smooth random field, as if seen through moving water.

    alpha: strength, 0 to 100000; a number, or (across, down) [50]. sigma: smoothness in pixels of the gaussian that blurs the
        field, 0 to 100; a number, or (across, down); 0: not blurred [5].
    interpolation: 'nearest' or 'bilinear'. fill: of pixels from outside of the image, 0 to 255, or three.

    The displacement is torchvision's: noise of -1 to 1, blurred, times alpha / 2 pixels of a square image. Of others it divides
    alpha across by the height and alpha down by the width, so that a wide image moves more across. Masks of nearest pixels
    follow. Boxes, points, shapes, geometry and bilinear masks are refused, and so are RandomIoUCrop and CopyPaste behind it.
    """

    _name = "elastic_transform"

    def __init__(
        self, alpha: float | Sequence[float] = 50.0, sigma: float | Sequence[float] = 5.0, interpolation: Any = "bilinear", fill: Fill = 0,
    ) -> None:  # fmt: skip
        self.alpha, self.sigma = self._both("alpha", alpha), self._both("sigma", sigma)
        if (self.sigma[0] > 0) != (self.sigma[1] > 0):
            raise ValueError(f"sigma={sigma!r}: expected both numbers above 0, or both 0")
        self.interpolation = _values.interpolation(interpolation, _values.RESIZED[:2])
        self.fill, self._fill = fill, _values.fill(fill)

    def _both(self, name, given):
        wanted = "a number, or two: across and down"
        made = _values.numbers(name, given, wanted, 1, 2) if _values.is_numbers(given) else (_check.number(name, given),)
        least, most = _values.LIMITS[self._name, f"{name}_x"]
        if not all(least <= value <= most for value in made):
            raise ValueError(f"{name}={given!r}: expected numbers from {least:g} to {most:g}")
        return made if len(made) == 2 else made * 2

    def _step(self):
        return (self._name, *self.alpha, *self.sigma, self.interpolation, *self._fill)

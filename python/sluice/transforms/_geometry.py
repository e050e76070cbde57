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
    """Crops a random part of the image and resizes it.

    Args:
        size: (height, width) of the result in pixels, 1 to 16384, or one int for both.
        scale: (smallest, largest) area of the crop, as a fraction of the image's [0.08, 1.0].
        ratio: (lowest, highest) width over height [3/4, 4/3].
        interpolation: 'nearest', 'bilinear', 'bicubic' or 'lanczos', torchvision's
            InterpolationMode, or Pillow's number ['bilinear'].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> T.RandomResizedCrop(32)(image, seed=1).shape
        (32, 32, 3)
    """

    _name = "random_resized_crop"
    size: tuple[int, int]
    scale: tuple[float, float]
    ratio: tuple[float, float]
    interpolation: str

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
    """Resizes the image.

    With one int, images keep different sizes: a CenterCrop or RandomCrop after it gives them one
    size.

    Args:
        size: (height, width) in pixels, 1 to 16384, or one int for the shorter side; the longer
            side keeps the proportion.
        interpolation: as in RandomResizedCrop ['bilinear'].
        max_size: limit for the longer side, above `size`, when `size` is one int; the image shrinks
            further to meet it [none].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> T.Resize(30)(image).shape
        (30, 40, 3)
    """

    _name = "resize"
    size: int | tuple[int, int]
    max_size: int | None
    interpolation: str

    def __init__(
        self, size: Size, interpolation: Any = "bilinear", max_size: int | None = None, antialias: Any = True
    ) -> None:
        if size is None:
            raise ValueError("size=None: to resize the longer side to max_size, also write size=max_size - 1")
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
    """Resizes the shorter side to a random size; the longer side keeps the proportion.

    Args:
        min_size: smallest size of the shorter side in pixels, 1 to 16384.
        max_size: upper bound, exclusive, at least `min_size`.
        interpolation: as in RandomResizedCrop ['bilinear'].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> min(T.RandomResize(30, 40)(image).shape[:2]) in range(30, 40)
        True
    """

    _name = "random_resize"
    min_size: int
    max_size: int
    interpolation: str

    def __init__(self, min_size: int, max_size: int, interpolation: Any = "bilinear", antialias: Any = True) -> None:
        self.min_size = _check.integer("min_size", min_size, 1, LIMIT)
        self.max_size = _check.integer("max_size", max_size, self.min_size, LIMIT)
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        return (self._name, self.min_size, self.max_size, self.interpolation)


class CenterCrop(Transform):
    """Crops the centre; pads an image that is smaller with black.

    Args:
        size: (height, width) in pixels, 1 to 16384, or one int for both.

    Example:
        >>> T.CenterCrop((32, 48))(image).shape
        (32, 48, 3)
    """

    _name = "center_crop"
    size: tuple[int, int]

    def __init__(self, size: Size) -> None:
        self.size = _values.pair(size)

    def _step(self):
        height, width = self.size
        return (self._name, width, height)


class BucketCrop(Transform):
    """Resizes to cover the batch's bucket, then crops a window of its size.

    The aspect ratio stays.

    Needs Loader(buckets=), which lists the sizes. One side becomes the bucket's, the other is
    rounded to whole pixels. A column sluice.columns.Geometry has the position of the window.

    Args:
        position: 'random', anywhere along the side that exceeds the bucket's, or 'center'
            ['random'].
        interpolation: as in RandomResizedCrop ['bilinear'].
        antialias: for torchvision's signature; reductions are always antialiased [True].

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.BucketCrop())}
        >>> sizes = [(60, 80)] * len(data)
        >>> with sluice.Loader(data, batch_size=4, columns=columns, buckets=[(30, 40), (40, 30)], sizes=sizes) as loader:
        ...     next(iter(loader))["image"].shape
        (4, 30, 40, 3)
    """

    _name = "bucket_crop"
    position: str
    interpolation: str

    def __init__(self, position: str = "random", interpolation: Any = "bilinear", antialias: Any = True) -> None:
        self.position = _values.word("position", position, ("random", "center"))
        self.interpolation = _values.interpolation(interpolation)
        _values.antialias(antialias, self.interpolation)

    def _step(self):
        return (self._name, self.position, self.interpolation)


class Pad(Transform):
    """Adds pixels around the image.

    Args:
        padding: pixels on every side, 0 to 16384; or (left and right, top and bottom), or (left,
            top, right, bottom).
        fill: value of the added pixels, 0 to 255, or three for R, G and B [0].
        padding_mode: 'constant', 'edge', 'reflect' or 'symmetric' ['constant'].

    Example:
        >>> T.Pad((4, 2))(image).shape
        (64, 88, 3)
    """

    _name = "pad"
    padding: tuple[int, ...]
    fill: Fill
    padding_mode: str

    def __init__(self, padding: Size, fill: Fill = 0, padding_mode: str = "constant") -> None:
        self.padding, self._fill = _values.padding(padding), _values.fill(fill)
        self.fill, self.padding_mode = fill, _values.word("padding_mode", padding_mode, _values.PADDINGS)

    def _step(self):
        return (self._name, *self.padding, self.padding_mode, *self._fill)


class RandomCrop(Transform):
    """Crops a random window of the padded image, without resizing.

    Args:
        size: (height, width) in pixels, 1 to 16384, or one int for both.
        padding: pixels added before cropping, as in Pad [none].
        pad_if_needed: True pads an image that is smaller than the window on both sides; False makes
            it a bad sample [False].
        fill: value of the added pixels, 0 to 255, or three for R, G and B [0].
        padding_mode: 'constant', 'edge', 'reflect' or 'symmetric' ['constant'].

    Example:
        >>> T.RandomCrop(32, padding=4)(image).shape
        (32, 32, 3)
    """

    _name = "random_crop"
    size: tuple[int, int]
    padding: tuple[int, ...]
    pad_if_needed: bool
    fill: Fill
    padding_mode: str

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
    """Crops a window at a random position of a grid.

    DINOv3 cuts its local views out of a global one this way, on its patches.

    Positions are 0, grid, 2 grid, ..., max(1, (side - size) // grid) of them: like
    data/augmentations.py of facebookresearch/dinov3, the last possible position is never drawn. An
    image smaller than the window is a bad sample.

    Args:
        size: (height, width) in pixels, 1 to 16384, or one int for both.
        grid: distance of positions in pixels, 1 to 16384 [16].

    Example:
        >>> T.RandomGridCrop(32, grid=8)(image).shape
        (32, 32, 3)
    """

    _name = "random_grid_crop"
    size: tuple[int, int]
    grid: int

    def __init__(self, size: Size, grid: int = 16) -> None:
        self.size, self.grid = _values.pair(size), _check.integer("grid", grid, 1, LIMIT)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, self.grid)


class RandomHorizontalFlip(Transform):
    """Mirrors the image left to right, with probability `p`.

    Args:
        p: probability, 0 to 1 [0.5].

    Example:
        >>> bool((T.RandomHorizontalFlip(p=1)(image) == numpy.asarray(image)[:, ::-1]).all())
        True
    """

    _name = "random_flip"
    p: float

    def __init__(self, p: float = 0.5) -> None:
        self.p = _values.probability(p)

    def _step(self):
        return (self._name, self.p)


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrors the image top to bottom, with probability `p`.

    Args:
        p: probability, 0 to 1 [0.5].

    Example:
        >>> bool((T.RandomVerticalFlip(p=1)(image) == numpy.asarray(image)[::-1]).all())
        True
    """

    _name = "random_vertical_flip"


class RandomRotation(Transform):
    """Rotates the image counterclockwise about its centre; the size stays, so corners are cut off.

    Args:
        degrees: x for -x to x, or (lowest, highest), -360 to 360.
        interpolation: 'nearest', 'bilinear' or 'bicubic', torchvision's InterpolationMode, or
            Pillow's number ['nearest'].
        expand: must be False: rows of a batch have one size. To keep the corners, Pad first
            [False].
        center: must be None: the image's centre [None].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [0].

    Example:
        >>> T.RandomRotation(15, "bilinear")(image).shape
        (60, 80, 3)
    """

    _name = "random_rotation"
    degrees: tuple[float, float]
    interpolation: str
    fill: Fill

    def __init__(
        self, degrees: float | Sequence[float], interpolation: Any = "nearest", expand: bool = False, center: None = None,
        fill: Fill = 0,
    ) -> None:  # fmt: skip
        _values.only("expand", expand, False, instead=": rows of a batch have one size; Pad before it keeps the corners")
        _values.only("center", center, None, instead=", the centre of the image")
        self.degrees = _values.around("degrees", degrees)
        self.interpolation = _values.interpolation(interpolation, _values.WARPED, "nearest")
        self.fill, self._fill = fill, _values.fill(fill)

    def _step(self):
        return (self._name, *self.degrees, self.interpolation, *self._fill)


class RandomAffine(Transform):
    """Rotates, moves, scales and shears the image about its centre.

    Args:
        degrees: x for -x to x, or (lowest, highest), -360 to 360; 0: no rotation.
        translate: (a, b), 0 to 1: moves by at most a widths and b heights [none].
        scale: (lowest, highest) factor, up to 1000 [1].
        shear: degrees along x: s for -s to s, or (lowest, highest); four numbers for x and y; -89
            to 89 [none].
        interpolation: 'nearest', 'bilinear' or 'bicubic', torchvision's InterpolationMode, or
            Pillow's number ['nearest'].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [0].
        center: must be None: the image's centre [None].

    Example:
        >>> T.RandomAffine(10, translate=(0.1, 0.1), scale=(0.8, 1.2))(image).shape
        (60, 80, 3)
    """

    _name = "random_affine"
    degrees: tuple[float, float]
    translate: tuple[float, ...]
    scale: tuple[float, float]
    shear: tuple[float, ...]
    interpolation: str
    fill: Fill

    def __init__(
        self, degrees: float | Sequence[float], translate: Values | None = None, scale: Values | None = None,
        shear: float | Sequence[float] | None = None, interpolation: Any = "nearest", fill: Fill = 0, center: None = None,
    ) -> None:  # fmt: skip
        _values.only("center", center, None, instead=", the centre of the image")
        self.degrees = _values.around("degrees", degrees)
        wanted = "two numbers, fractions of the width and height"
        self.translate = (0.0, 0.0) if translate is None else _values.numbers("translate", translate, wanted, 2)
        if not all(0 <= part <= 1 for part in self.translate):
            raise ValueError(f"translate={translate!r}: expected {wanted}, 0 to 1; divide pixels by the size")
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
    """Views the image from a random direction, with probability `p`.

    Args:
        distortion_scale: largest movement of corners inwards, as a fraction of half a side, 0 to 1
            [0.5].
        p: probability, 0 to 1 [0.5].
        interpolation: 'nearest', 'bilinear' or 'bicubic', torchvision's InterpolationMode, or
            Pillow's number ['bilinear'].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [0].

    Example:
        >>> T.RandomPerspective(p=1)(image).shape
        (60, 80, 3)
    """

    _name = "random_perspective"
    distortion_scale: float
    p: float
    interpolation: str
    fill: Fill

    def __init__(
        self, distortion_scale: float = 0.5, p: float = 0.5, interpolation: Any = "bilinear", fill: Fill = 0
    ) -> None:
        self.distortion_scale, self.p = _values.probability(distortion_scale, "distortion_scale"), _values.probability(p)
        self.interpolation = _values.interpolation(interpolation, _values.WARPED)
        self.fill, self._fill = fill, _values.fill(fill)

    def _step(self):
        return (self._name, self.distortion_scale, self.p, self.interpolation, *self._fill)


class ElasticTransform(Transform):
    """Moves each pixel by a smooth random field, as if seen through moving water.

    The displacement is torchvision's: noise of -1 to 1, blurred, times alpha / 2 pixels for a
    square image. For other images it divides alpha across by the height and alpha down by the
    width, so a wide image moves more across. Only masks with nearest interpolation follow. Boxes,
    points, shapes, geometry and bilinear masks raise an error, and so do RandomIoUCrop and
    CopyPaste after this step.

    Args:
        alpha: strength, 0 to 100000, or (across, down) [50].
        sigma: standard deviation in pixels of the Gaussian that blurs the field, 0 to 100, or
            (across, down); 0: not blurred [5].
        interpolation: 'nearest' or 'bilinear' ['bilinear'].
        fill: value of pixels from outside the image, 0 to 255, or three for R, G and B [0].

    Example:
        >>> T.ElasticTransform(alpha=40.0)(image).shape
        (60, 80, 3)
    """

    _name = "elastic_transform"
    alpha: tuple[float, ...]
    sigma: tuple[float, ...]
    interpolation: str
    fill: Fill

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

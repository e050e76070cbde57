# SPDX-License-Identifier: Apache-2.0
"""Operations on pixels and their neighbours, and what is put in their place."""
from __future__ import annotations

from .. import _check
from . import _values
from ._base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import Size, Values


class GaussianBlur(Transform):
    """torchvision's: a kernel of so many pixels, odd, an int or (across, down); `sigma`, or the least and the most."""

    _name = "gaussian_blur"

    def __init__(self, kernel_size: Size, sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        sides = _values.pair(kernel_size, "kernel_size", "(across, down)")
        least, most = map(int, _values.LIMITS[self._name, "kernel_x"])
        if not all(least <= side <= most and side % 2 for side in sides):
            raise ValueError(f"kernel_size={kernel_size!r}: expected odd numbers, {least} to {most}")
        self.kernel_size, self.sigma = sides, _values.ends_or_one("sigma", sigma)
        if not self.sigma[0] > 0:
            raise ValueError(f"sigma={sigma!r}: expected pixels, above 0")

    def _step(self):
        return (self._name, *self.kernel_size, *self.sigma)


class PillowGaussianBlur(Transform):
    """Pillow's ImageFilter.GaussianBlur (three box blurs), which DINO and DeiT III use: `radius`, or the least and the most."""

    _name = "pillow_blur"

    def __init__(self, radius: float | Sequence[float] = (0.1, 2.0)) -> None:
        self.radius = _values.ends_or_one("radius", radius)
        if not self.radius[0] >= 0:
            raise ValueError(f"radius={radius!r}: expected pixels, 0 or more")

    def _step(self):
        return (self._name, *self.radius)


class RandomAdjustSharpness(Transform):
    """Smoothed by a factor below 1, sharpened by one above it, with probability `p`."""

    _name = "random_sharpness"

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        self.sharpness_factor, self.p = _check.number("sharpness_factor", sharpness_factor), _values.probability(p)
        if not self.sharpness_factor >= 0:
            raise ValueError(f"sharpness_factor={sharpness_factor!r}: expected 0 or more")

    def _step(self):
        return (self._name, self.sharpness_factor, self.p)


class JPEG(Transform):
    """Compressed as a JPEG of that quality, 1 to 100, or one of (least, most), and decoded."""

    _name = "jpeg"

    def __init__(self, quality: int | Sequence[int]) -> None:
        ends = _check.items("quality", quality, "an int, or two") if _values.is_numbers(quality) else [quality] * 2
        if len(ends) != 2:
            raise ValueError(f"quality={quality!r}: expected an int, or two: the least and the most")
        least, most = (_values.whole(self._name, "quality", end, "quality_min") for end in ends)
        if least > most:
            raise ValueError(f"quality={quality!r}: expected the least value first")
        self.quality = least, most

    def _step(self):
        return (self._name, *self.quality)


class RandomErasing(Transform):
    """A random rectangle of `value`, with probability `p`.

    scale: the least and the most part of the area. ratio: of height over width.
    value: what the rectangle becomes, one number, or three, for R, G and B; or 'random', for N(0, 1) of each pixel.

    The numbers are those that pixels have at that place of the list: 0 to 255; behind ToDtype(..., scale=True) or
    ToTensor() 0 to 1; behind Normalize what it makes of them: there 0 is the mean colour. The library erases 8-bit
    pixels, so that a number becomes the nearest that they can have (as all of the picture's are), and one that
    none of them comes to is refused. 'random' is for behind Normalize only. It has the deviation that
    Normalize makes 1, and ends where 8 bits do.
    """

    _name = "random_erasing"
    _place = "erasing"

    def __init__(
        self, p: float = 0.5, scale: Values = (0.02, 0.33), ratio: Values = (0.3, 3.3),
        value: float | Sequence[float] | str = 0.0, inplace: bool = False,
    ) -> None:  # fmt: skip
        self.p, self.scale, self.ratio = _values.probability(p), _values.ends("scale", scale), _values.ends("ratio", ratio)
        if isinstance(value, str) and value != "random":
            raise ValueError(f"value={value!r}: expected numbers or 'random'")
        wanted = "a number, three, or 'random'"
        if not isinstance(value, str):
            made = _values.numbers("value", value, wanted, 1, 3) if _values.is_numbers(value) else (_check.number("value", value),)
            value = made[0] if len(made) == 1 else made
        _check.flag("inplace", inplace)  # rows are the loader's own
        self.value = value
        self._counts = (1, 1)

    @classmethod
    def timm(
        cls, probability: float = 0.5, min_area: float = 0.02, max_area: float = 1 / 3, min_aspect: float = 0.3,
        max_aspect: float | None = None, mode: str = "const", min_count: int = 1, max_count: int | None = None,
        num_splits: int = 0, device: Any = None,
    ) -> RandomErasing:  # fmt: skip
        """timm's, behind Normalize: `min_count` to `max_count` rectangles, which share the area; mode 'const' (0) or
        'pixel' (N(0, 1) of each pixel)."""
        _values.word("mode", mode, ("const", "pixel"), "; one random colour a rectangle, 'rand', the library has not")
        min_aspect = _check.number("min_aspect", min_aspect)
        if not min_aspect > 0:
            raise ValueError(f"min_aspect={min_aspect!r}: expected a ratio, above 0")
        if num_splits:
            raise ValueError("num_splits: a batch is not split here: for clean rows use a column of its own without it")
        area = _check.number("min_area", min_area), _check.number("max_area", max_area)
        aspect = min_aspect, 1 / min_aspect if max_aspect is None else _check.number("max_aspect", max_aspect)
        if not 0 < area[0] <= area[1] <= 1:
            wanted = "parts of the picture's area, above 0 and up to 1, the least first"
            raise ValueError(f"min_area={min_area!r}, max_area={max_area!r}: expected {wanted}")
        if not aspect[0] <= aspect[1]:
            raise ValueError(f"min_aspect={min_aspect!r}, max_aspect={aspect[1]!r}: expected the least ratio first")
        made = cls(_values.probability(probability, "probability"), area, aspect, "random" if mode == "pixel" else 0.0)
        least = _values.whole(cls._name, "min_count", min_count, "count_min")
        most = least if max_count is None else _values.whole(cls._name, "max_count", max_count, "count_max")
        if least > most:
            raise ValueError(f"max_count={max_count!r}: expected min_count={min_count!r} or more")
        made._counts = least, most
        return made

    def _steps(self, walk):
        noise = self.value == "random"
        if noise and walk.normal is None:
            raise ValueError("value='random' is N(0, 1) of normalised pixels: put RandomErasing behind Normalize")
        colour = (-1, -1, -1) if noise else self._colour(walk)
        return [(self._name, self.p, *self.scale, *self.ratio, *colour, int(noise), *self._counts)]

    def _colour(self, walk):
        """The 8-bit numbers that become `value`; -1: what becomes 0."""
        values = self.value if isinstance(self.value, tuple) else (self.value,) * 3
        if walk.normal is not None and not any(values):
            return -1, -1, -1
        made = []
        for channel, value in enumerate(values):
            mean, std = (0.0, 1.0) if walk.normal is None else (walk.normal.mean[channel], walk.normal.std[channel])
            unit = 255.0 if walk.floats else 1.0
            pixel = round(unit * (value * std + mean), 6)
            if not 0 <= pixel <= 255 or (unit == 1.0 and pixel != int(pixel)):
                raise ValueError(f"value={self.value!r}: {self._said(walk, channel)}")
            made.append(round(pixel))
        return tuple(made)

    @staticmethod
    def _said(walk, channel):
        if walk.normal is not None:
            mean, std = walk.normal.mean[channel], walk.normal.std[channel]
            least, most = -mean / std, (1 - mean) / std
            return f"behind this Normalize pixels are {least:.3f} to {most:.3f} in channel {channel}; 0 is the mean colour"
        if walk.floats:
            return "behind ToDtype pixels are 0 to 1 (0.5 is a middle grey); behind Normalize 0 is the mean colour"
        return "pixels are 0 to 255 here, whole numbers; behind ToDtype(..., scale=True) they are 0 to 1"

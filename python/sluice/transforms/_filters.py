# SPDX-License-Identifier: Apache-2.0
"""Operations on pixels and their neighbours, and erasing."""
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
    """Blurs with a Gaussian kernel, as torchvision's GaussianBlur.

    Args:
        kernel_size: odd size of the kernel in pixels, 1 to 255, or (across, down).
        sigma: standard deviation in pixels, above 0 and up to 1000, or (lowest, highest), from
            which it is drawn [0.1, 2.0].

    Example:
        >>> T.GaussianBlur(9, sigma=(0.1, 2.0))(image).shape
        (60, 80, 3)
    """

    _name = "gaussian_blur"
    kernel_size: tuple[int, int]
    sigma: tuple[float, float]

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
    """Blurs as Pillow's ImageFilter.GaussianBlur (three box blurs), which DINO and DeiT III use.

    Args:
        radius: radius in pixels, 0 to 1000, or (lowest, highest), from which it is drawn [0.1,
            2.0].

    Example:
        >>> T.PillowGaussianBlur(1.5)(image).shape
        (60, 80, 3)
    """

    _name = "pillow_blur"
    radius: tuple[float, float]

    def __init__(self, radius: float | Sequence[float] = (0.1, 2.0)) -> None:
        self.radius = _values.ends_or_one("radius", radius)
        if not self.radius[0] >= 0:
            raise ValueError(f"radius={radius!r}: expected pixels, 0 or more")

    def _step(self):
        return (self._name, *self.radius)


class RandomAdjustSharpness(Transform):
    """Smooths with a factor below 1, or sharpens with a factor above 1, with probability `p`.

    Args:
        sharpness_factor: factor, 0 to 1000.
        p: probability, 0 to 1 [0.5].

    Example:
        >>> T.RandomAdjustSharpness(2)(image).shape
        (60, 80, 3)
    """

    _name = "random_sharpness"
    sharpness_factor: float
    p: float

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        self.sharpness_factor, self.p = _check.number("sharpness_factor", sharpness_factor), _values.probability(p)
        if not self.sharpness_factor >= 0:
            raise ValueError(f"sharpness_factor={sharpness_factor!r}: expected 0 or more")

    def _step(self):
        return (self._name, self.sharpness_factor, self.p)


class JPEG(Transform):
    """Compresses the image as a JPEG and decodes it again.

    Args:
        quality: JPEG quality, 1 to 100, or (lowest, highest), from which it is drawn.

    Example:
        >>> T.JPEG((30, 90))(image).shape
        (60, 80, 3)
    """

    _name = "jpeg"
    quality: tuple[int, int]

    def __init__(self, quality: int | Sequence[int]) -> None:
        ends = _check.items("quality", quality, "an int, or two") if _values.is_numbers(quality) else [quality] * 2
        if len(ends) != 2:
            raise ValueError(f"quality={quality!r}: expected an int, or two: the lowest and the highest")
        least, most = (_values.whole(self._name, "quality", end, "quality_min") for end in ends)
        if least > most:
            raise ValueError(f"quality={quality!r}: expected the lowest value first")
        self.quality = least, most

    def _step(self):
        return (self._name, *self.quality)


class RandomErasing(Transform):
    """Fills a random rectangle, with probability `p`.

    `value` is in the units that pixels have at this place of the list: 0 to 255; after ToDtype(...,
    scale=True) or ToTensor(), 0 to 1; after Normalize, normalized values, where 0 is the mean
    colour. The library erases 8-bit pixels: it takes the nearest 8-bit value, and raises ValueError
    if none corresponds.

    Args:
        p: probability, 0 to 1 [0.5].
        scale: (lowest, highest) area of the rectangle, as a fraction of the image's [0.02, 0.33].
        ratio: (lowest, highest) height over width [0.3, 3.3].
        value: one number, or three for R, G and B; or 'random', for noise of N(0, 1) per pixel,
            limited to the range of 8 bits; only after Normalize [0].
        inplace: for torchvision's signature; has no effect [False].

    Example:
        >>> T.RandomErasing(p=1, value=(124, 116, 104))(image).shape
        (60, 80, 3)
    """

    _name = "random_erasing"
    _place = "erasing"
    p: float
    scale: tuple[float, float]
    ratio: tuple[float, float]
    value: float | tuple[float, ...] | str

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
        """Erases as timm's RandomErasing does, after Normalize.

        Args:
            probability: probability, 0 to 1 [0.5].
            min_area: smallest fraction of the area that all rectangles erase together, above 0
                [0.02].
            max_area: largest such fraction, up to 1 [1/3].
            min_aspect: lowest height over width, above 0 [0.3].
            max_aspect: highest height over width [1 / min_aspect].
            mode: 'const' fills with the mean colour, 'pixel' with noise of N(0, 1) per pixel
                ['const'].
            min_count: least number of rectangles, 1 to 8 [1].
            max_count: largest number of rectangles, 1 to 8 [min_count].
            num_splits: must be 0: batches are not split [0].
            device: for timm's signature; has no effect.

        Returns:
            The transform.

        Raises:
            ValueError: a value is out of range, or `mode` is 'rand', which the library lacks.

        Example:
            >>> normalize = T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
            >>> T.Compose([T.CenterCrop(32), normalize, T.RandomErasing.timm(0.25, mode="pixel")])(image).shape
            (32, 32, 3)
        """
        _values.word("mode", mode, ("const", "pixel"), "; 'rand', one random colour per rectangle, is not supported")
        min_aspect = _check.number("min_aspect", min_aspect)
        if not min_aspect > 0:
            raise ValueError(f"min_aspect={min_aspect!r}: expected a ratio, above 0")
        if num_splits:
            raise ValueError("num_splits: batches are not split here: for clean rows, use a column without this step")
        area = _check.number("min_area", min_area), _check.number("max_area", max_area)
        aspect = min_aspect, 1 / min_aspect if max_aspect is None else _check.number("max_aspect", max_aspect)
        if not 0 < area[0] <= area[1] <= 1:
            wanted = "fractions of the image's area, above 0 and up to 1, the lowest first"
            raise ValueError(f"min_area={min_area!r}, max_area={max_area!r}: expected {wanted}")
        if not aspect[0] <= aspect[1]:
            raise ValueError(f"min_aspect={min_aspect!r}, max_aspect={aspect[1]!r}: expected the lowest ratio first")
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
            raise ValueError("value='random' is N(0, 1) of normalized pixels: put RandomErasing after Normalize")
        colour = (-1, -1, -1) if noise else self._colour(walk)
        return [(self._name, self.p, *self.scale, *self.ratio, *colour, int(noise), *self._counts)]

    def _colour(self, walk):
        """Returns the 8-bit numbers that become `value`; -1: the number that becomes 0."""
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
            return f"after this Normalize pixels are {least:.3f} to {most:.3f} in channel {channel}; 0 is the mean colour"
        if walk.floats:
            return "after ToDtype pixels are 0 to 1 (0.5 is a middle grey); after Normalize 0 is the mean colour"
        return "expected whole numbers, 0 to 255; after ToDtype(..., scale=True) they are 0 to 1"

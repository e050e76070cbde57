# SPDX-License-Identifier: Apache-2.0
"""Operations on single pixels: colours and values."""
from __future__ import annotations

from .. import _check
from . import _values
from ._base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Values


def _factors(name, value):
    """Returns the (lowest, highest) value that ColorJitter draws."""
    hue = name == "hue"
    center = 0.0 if hue else 1.0
    least, most = _values.LIMITS["color_jitter_ranges", f"{name}_min"]
    wanted = f"one number, 0 to {most - center:g}, or two, the lowest and the highest {'rotation' if hue else 'factor'}, {least:g} to {most:g}"
    if value is None:
        return center, center
    if _values.is_numbers(value):
        made = _values.ends(name, value, wanted)
        good = least <= made[0] and made[1] <= most
    else:
        number = _check.number(name, value)
        made = max(least, center - number), center + number
        good = 0 <= number <= most - center
    if not good:
        raise ValueError(f"{name}={value!r}: expected {wanted}")
    return made


class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in a random order.

    Args:
        brightness: x, for factors of max(0, 1 - x) to 1 + x, or (lowest, highest) factor, 0 to 1000
            [unchanged].
        contrast: as `brightness` [unchanged].
        saturation: as `brightness` [unchanged].
        hue: x, 0 to 0.5, for a rotation of -x to x of the colour circle, or (lowest, highest), -0.5
            to 0.5 [unchanged].

    Example:
        >>> T.ColorJitter(brightness=0.4, hue=0.1)(image).shape
        (60, 80, 3)
    """

    _name = "color_jitter"

    def __init__(
        self, brightness: float | Sequence[float] | None = None, contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None, hue: float | Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        given = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
        self._ends = [_factors(name, value) for name, value in given.items()]
        for name, value in given.items():
            several = _values.is_numbers(value)
            setattr(self, name, tuple(value) if several else 0.0 if value is None else float(value))

    def _step(self):
        values = [self.brightness, self.contrast, self.saturation, self.hue]
        if not any(isinstance(value, tuple) for value in values):
            return (self._name, *values)
        return ("color_jitter_ranges", *(end for ends in self._ends for end in ends))

    brightness: float | tuple[float, ...]
    contrast: float | tuple[float, ...]
    saturation: float | tuple[float, ...]
    hue: float | tuple[float, ...]


class RandomPhotometricDistort(Transform):
    """Distorts colours as SSD's training does.

    Each of brightness, contrast, saturation, hue and channel order changes with probability `p`.

    Contrast comes before or after saturation and hue, equally often.

    Args:
        brightness: (lowest, highest) factor [0.875, 1.125].
        contrast: (lowest, highest) factor [0.5, 1.5].
        saturation: (lowest, highest) factor [0.5, 1.5].
        hue: (lowest, highest) rotation, as a fraction of the colour circle, -0.5 to 0.5 [-0.05,
            0.05].
        p: probability of each change, 0 to 1 [0.5].

    Example:
        >>> T.RandomPhotometricDistort(p=0.8)(image).shape
        (60, 80, 3)
    """

    _name = "color_jitter_ranges"
    brightness: tuple[float, float]
    contrast: tuple[float, float]
    saturation: tuple[float, float]
    hue: tuple[float, float]
    p: float

    def __init__(
        self, brightness: Values = (0.875, 1.125), contrast: Values = (0.5, 1.5), saturation: Values = (0.5, 1.5),
        hue: Values = (-0.05, 0.05), p: float = 0.5,
    ) -> None:  # fmt: skip
        self.brightness, self.contrast, self.saturation = (
            _factors(name, _values.ends(name, values))
            for name, values in (("brightness", brightness), ("contrast", contrast), ("saturation", saturation))
        )
        self.hue, self.p = _factors("hue", _values.ends("hue", hue)), _values.probability(p)

    def _steps(self, walk):
        ranges = [self.brightness, self.contrast, self.saturation, self.hue]
        nothing = [(1.0, 1.0)] * 3 + [(0.0, 0.0)]

        def maybe(*steps):
            return ("random_apply", (self.p,), steps)

        def one(which):
            ends = [ranges[i] if i == which else nothing[i] for i in range(4)]
            return maybe((self._name, *(end for pair in ends for end in pair)))

        brightness, contrast, saturation, hue = map(one, range(4))
        orders = (("sequence", (), (contrast, saturation, hue)), ("sequence", (), (saturation, hue, contrast)))
        return [brightness, ("random_choice", (1, 1), orders), maybe(("random_channel_permutation",))]


class RandomHsv(Transform):
    """Rotates the hue and scales saturation and value at random: RandomHSV of the YOLO family.

    Follows ultralytics (data/augment.py since 8.3.79, which rotates the hue instead of scaling it),
    on OpenCV 4.6's 8-bit HSV (cv2.cvtColor). The defaults are its hsv_h, hsv_s and hsv_v. Pixels
    equal OpenCV's, except the last ones of rows whose length is not a multiple of 32: OpenCV rounds
    those differently, by at most 1. With all three arguments 0, nothing changes.

    Args:
        hue: x, 0 to 1, for a rotation of -x to x of the circle, in whole steps of 2 degrees
            [0.015].
        saturation: x, 0 to 1, for factors of 1 - x to 1 + x [0.7].
        value: as `saturation` [0.4].

    Example:
        >>> T.RandomHsv(hue=0.02)(image).shape
        (60, 80, 3)
    """

    _name = "random_hsv"
    hue: float
    saturation: float
    value: float

    def __init__(self, hue: float = 0.015, saturation: float = 0.7, value: float = 0.4) -> None:
        given = {"hue": hue, "saturation": saturation, "value": value}
        self.hue, self.saturation, self.value = (_check.number(name, part) for name, part in given.items())
        for name, part in given.items():
            if not 0 <= part <= 1:
                raise ValueError(f"{name}={part!r}: expected 0 to 1, the largest relative change")

    def _step(self):
        return (self._name, self.hue, self.saturation, self.value)


class Grayscale(Transform):
    """Makes the image grey, in three equal channels.

    Args:
        num_output_channels: must be 3. The default, torchvision's, raises ValueError, because
            images always have three channels [1].

    Example:
        >>> T.Grayscale(3)(image).shape
        (60, 80, 3)
    """

    _name = "random_grayscale"

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels != 3:
            raise ValueError(f"num_output_channels={num_output_channels!r}: images have three channels here: write 3")
        self.num_output_channels = 3

    def _step(self):
        return (self._name, 1.0)


class _WithProbability(Transform):
    p: float

    def __init__(self, p: float = 0.5) -> None:
        self.p = _values.probability(p)

    def _step(self):
        return (self._name, self.p)


class RandomGrayscale(_WithProbability):
    """Makes the image grey, in three equal channels, with probability `p`.

    Args:
        p: probability, 0 to 1 [0.1].

    Example:
        >>> T.RandomGrayscale(p=0.2)(image).shape
        (60, 80, 3)
    """

    _name = "random_grayscale"

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)


class RandomAutocontrast(_WithProbability):
    """Stretches each channel to the range 0 to 255, with probability `p`.

    Args:
        p: probability, 0 to 1 [0.5].

    Example:
        >>> int(T.RandomAutocontrast(p=1)(image).max())
        255
    """

    _name = "random_autocontrast"


class RandomEqualize(_WithProbability):
    """Flattens each channel's histogram, with probability `p`.

    Args:
        p: probability, 0 to 1 [0.5].

    Example:
        >>> T.RandomEqualize()(image).shape
        (60, 80, 3)
    """

    _name = "random_equalize"


class RandomInvert(_WithProbability):
    """Replaces each value by 255 minus the value, with probability `p`.

    Args:
        p: probability, 0 to 1 [0.5].

    Example:
        >>> bool((T.RandomInvert(p=1)(image) == 255 - numpy.asarray(image)).all())
        True
    """

    _name = "random_invert"


class RandomPosterize(Transform):
    """Keeps only the upper bits of each value, with probability `p`.

    Args:
        bits: number of bits to keep, 0 to 8.
        p: probability, 0 to 1 [0.5].

    Example:
        >>> bool(T.RandomPosterize(bits=4, p=1)(image).max() <= 240)
        True
    """

    _name = "random_posterize"
    bits: int
    p: float

    def __init__(self, bits: int, p: float = 0.5) -> None:
        self.bits, self.p = _values.whole(self._name, "bits", bits), _values.probability(p)

    def _step(self):
        return (self._name, self.bits, self.p)


class RandomSolarize(Transform):
    """Inverts values at or above a threshold, with probability `p`.

    Args:
        threshold: lowest value that is inverted, 0 to 256.
        p: probability, 0 to 1 [0.5].

    Example:
        >>> bool(T.RandomSolarize(threshold=128, p=1)(image).max() < 128)
        True
    """

    _name = "random_solarize"
    threshold: float
    p: float

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        self.threshold, self.p = _check.number("threshold", threshold), _values.probability(p)
        if not 0 <= self.threshold <= 256:
            raise ValueError(f"threshold={threshold!r}: expected 0 to 256: pixels are 0 to 255")

    def _step(self):
        return (self._name, self.threshold, self.p)


class RandomSolarizeAdd(Transform):
    """Adds a number to values below a threshold, with probability `p`.

    This is timm's operation, which torchvision lacks.

    Args:
        add: number to add, 0 to 255.
        threshold: lowest value that stays unchanged, 0 to 256 [128].
        p: probability, 0 to 1 [0.5].

    Example:
        >>> T.RandomSolarizeAdd(add=40)(image).shape
        (60, 80, 3)
    """

    _name = "random_solarize_add"
    add: int
    threshold: int
    p: float

    def __init__(self, add: int, threshold: int = 128, p: float = 0.5) -> None:
        self.add, self.threshold = (_values.whole(self._name, *given) for given in (("add", add), ("threshold", threshold)))
        self.p = _values.probability(p)

    def _step(self):
        return (self._name, self.add, self.threshold, self.p)


class RandomChannelPermutation(Transform):
    """Puts the channels in a random order.

    Example:
        >>> T.RandomChannelPermutation()(image).shape
        (60, 80, 3)
    """

    _name = "random_channel_permutation"

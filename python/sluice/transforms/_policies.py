# SPDX-License-Identifier: Apache-2.0
"""Published augmentation policies: torchvision's, and timm's by their strings. They are never
combined.
"""
from __future__ import annotations

from .. import _check, _sluice
from . import _values
from ._base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Fill

POLICIES = ("imagenet", "cifar10", "svhn")
TIMM = {"RandAugment": ("rand",), "AugMix": ("augmix",), "AutoAugment": ("original", "originalr", "v0", "v0r", "3a")}


class TimmAugment(Transform):
    """A policy that timm names by a string.

    RandAugment.timm, AutoAugment.timm and AugMix.timm make it.

    Levels, ranges and probabilities are timm's, which differ from torchvision's.

    Args:
        config_str: timm's string, such as 'rand-m9-mstd0.5-inc1'.
        interpolation: 'nearest', 'bilinear' or 'bicubic' [drawn for each operation, bilinear or
            bicubic].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [ImageNet's mean colour,
            as in timm's create_transform].
    """

    _name = "timm_augment"
    config_str: str
    interpolation: Any
    fill: Fill

    def __init__(self, config_str: str, interpolation: Any = None, fill: Fill = None) -> None:
        self.config_str = _check.text("config_str", config_str)
        numbers = _sluice.timm_numbers(self.config_str)
        self.interpolation, self.fill = interpolation, fill
        if interpolation is not None:
            numbers["interpolation"] = _values.WARPED.index(_values.interpolation(interpolation, _values.WARPED))
        if fill is not None:
            numbers.update(zip(("fill_r", "fill_g", "fill_b"), _values.fill(fill)))
        self._numbers = None if interpolation is None and fill is None else tuple(numbers.values())

    def _step(self):
        return ("timm", self.config_str) if self._numbers is None else (self._name, *self._numbers)


def _refuse_timm(name, number):
    """Raises ValueError for timm's string in the place of torchvision's first number."""
    if isinstance(number, str) and number.partition("-")[0] in {kind for kinds in TIMM.values() for kind in kinds}:
        raise ValueError(f"{name}({number!r}) is timm's way to write it: {name}.timm({number!r})")


class _Policy(Transform):
    _default = "nearest"  # interpolation
    interpolation: str
    fill: Fill

    def _take(self, interpolation, fill):
        self.interpolation = _values.interpolation(interpolation, _values.WARPED, self._default)
        self.fill, self._fill = fill, _values.fill(fill)

    @classmethod
    def timm(cls, config_str: str, interpolation: Any = None, fill: Fill = None) -> TimmAugment:
        """Makes the policy that timm's string names.

        Examples are "rand-m9-mstd0.5-inc1", "augmix-m5-w4-d2", "original-mstd0.5", "v0r" and "3a".

        Args:
            config_str: timm's string.
            interpolation: 'nearest', 'bilinear' or 'bicubic'; DeiT uses 'bicubic' [drawn for each
                operation, bilinear or bicubic].
            fill: value of uncovered pixels, 0 to 255, or three for R, G and B [ImageNet's mean
                colour].

        Returns:
            The transform.

        Raises:
            ValueError: the string names a policy of another class.

        Example:
            >>> T.RandAugment.timm("rand-m9-mstd0.5-inc1")(image).shape
            (60, 80, 3)
        """
        kind = _check.text("config_str", config_str).partition("-")[0]
        of = next((name for name, kinds in TIMM.items() if kind in kinds), cls.__name__)
        if of != cls.__name__:
            raise ValueError(f"{config_str!r} is timm's {of}: {of}.timm({config_str!r})")
        return TimmAugment(config_str, interpolation, fill)


class RandAugment(_Policy):
    """Applies `num_ops` of 14 operations, all at one magnitude, as torchvision's RandAugment.

    For timm's, use RandAugment.timm("rand-m9-mstd0.5-inc1").

    Args:
        num_ops: number of operations, 1 to 16 [2].
        magnitude: magnitude, 0 to num_magnitude_bins - 1 [9].
        num_magnitude_bins: number of magnitudes, 2 to 1000 [31].
        interpolation: 'nearest', 'bilinear' or 'bicubic' ['nearest'].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [black].

    Example:
        >>> T.RandAugment(num_ops=2, magnitude=9)(image).shape
        (60, 80, 3)
    """

    _name = "rand_augment"
    num_ops: int
    magnitude: int
    num_magnitude_bins: int

    def __init__(
        self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31, interpolation: Any = "nearest",
        fill: Fill = None,
    ) -> None:  # fmt: skip
        _refuse_timm("RandAugment", num_ops)
        self.num_ops = _values.whole(self._name, "num_ops", num_ops)
        self.num_magnitude_bins = _values.whole(self._name, "num_magnitude_bins", num_magnitude_bins)
        self.magnitude = _check.integer("magnitude", magnitude, 0, self.num_magnitude_bins - 1)
        self._take(interpolation, fill)

    def _step(self):
        return (self._name, self.num_ops, self.magnitude, self.num_magnitude_bins, self.interpolation, *self._fill)


class TrivialAugmentWide(_Policy):
    """Applies one of 14 operations at a random magnitude, as torchvision's TrivialAugmentWide.

    Args:
        num_magnitude_bins: number of magnitudes, 2 to 1000 [31].
        interpolation: 'nearest', 'bilinear' or 'bicubic' ['nearest'].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [black].

    Example:
        >>> T.TrivialAugmentWide()(image).shape
        (60, 80, 3)
    """

    _name = "trivial_augment_wide"
    num_magnitude_bins: int

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Any = "nearest", fill: Fill = None) -> None:
        self.num_magnitude_bins = _values.whole(self._name, "num_magnitude_bins", num_magnitude_bins)
        self._take(interpolation, fill)

    def _step(self):
        return (self._name, self.num_magnitude_bins, self.interpolation, *self._fill)


class AutoAugment(_Policy):
    """Applies one of 25 learnt pairs of operations, as torchvision's AutoAugment.

    timm's policies are AutoAugment.timm("original"), "originalr", "v0", "v0r" and "3a".

    Args:
        policy: 'imagenet', 'cifar10' or 'svhn', or torchvision's AutoAugmentPolicy ['imagenet'].
        interpolation: 'nearest', 'bilinear' or 'bicubic' ['nearest'].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [black].

    Example:
        >>> T.AutoAugment("cifar10")(image).shape
        (60, 80, 3)
    """

    _name = "auto_augment"
    policy: str

    def __init__(self, policy: Any = "imagenet", interpolation: Any = "nearest", fill: Fill = None) -> None:
        name = getattr(policy, "value", policy)
        timm = isinstance(name, str) and name in TIMM["AutoAugment"]
        self.policy = _values.word("policy", name, POLICIES, f"; timm's is AutoAugment.timm({name!r})" if timm else "")
        self._take(interpolation, fill)

    def _step(self):
        return (self._name, self.policy, self.interpolation, *self._fill)


class AugMix(_Policy):
    """Mixes the image with chains of operations applied to it, as torchvision's AugMix.

    Args:
        severity: strength of the operations, 1 to 10 [3].
        mixture_width: number of chains, 1 to 8 [3].
        chain_depth: operations per chain, up to 8; -1 draws one to three [-1].
        alpha: parameter of the distributions of the mixing weights, 0.001 to 1000 [1.0].
        all_ops: True includes brightness, contrast, color and sharpness [True].
        interpolation: 'nearest', 'bilinear' or 'bicubic' ['bilinear'].
        fill: value of uncovered pixels, 0 to 255, or three for R, G and B [black].

    Example:
        >>> T.AugMix()(image).shape
        (60, 80, 3)
    """

    _name = "aug_mix"
    _default = "bilinear"
    severity: int
    mixture_width: int
    chain_depth: int
    alpha: float
    all_ops: bool

    def __init__(
        self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1, alpha: float = 1.0, all_ops: bool = True,
        interpolation: Any = "bilinear", fill: Fill = None,
    ) -> None:  # fmt: skip
        _refuse_timm("AugMix", severity)
        self.severity = _values.whole(self._name, "severity", severity)
        self.mixture_width = _values.whole(self._name, "mixture_width", mixture_width)
        self.chain_depth = _values.whole(self._name, "chain_depth", chain_depth)
        self.alpha, self.all_ops = _check.number("alpha", alpha), _check.flag("all_ops", all_ops)
        self._take(interpolation, fill)

    def _step(self):
        numbers = (self.severity, self.mixture_width, self.chain_depth, self.alpha, int(self.all_ops))
        return (self._name, *numbers, self.interpolation, *self._fill)

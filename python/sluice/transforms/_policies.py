# SPDX-License-Identifier: Apache-2.0
"""Several operations, as a published rule draws them: torchvision's, and timm's by their names. Never a mixture."""
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
    """A policy that timm names by a string; RandAugment.timm, AutoAugment.timm and AugMix.timm make it.

    Levels, ranges and probabilities are timm's, which are not torchvision's; interpolation is drawn for each
    operation, bilinear or bicubic, and what is uncovered is ImageNet's mean colour, as timm's create_transform has it,
    unless `interpolation` ('nearest', 'bilinear', 'bicubic') or `fill` say otherwise.
    """

    _name = "timm_augment"

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
    """timm's string where torchvision has its first number."""
    if isinstance(number, str) and number.partition("-")[0] in {kind for kinds in TIMM.values() for kind in kinds}:
        raise ValueError(f"{name}({number!r}) is timm's way to write it: {name}.timm({number!r})")


class _Policy(Transform):
    _default = "nearest"  # interpolation

    def _take(self, interpolation, fill):
        self.interpolation = _values.interpolation(interpolation, _values.WARPED, self._default)
        self.fill, self._fill = fill, _values.fill(fill)

    @classmethod
    def timm(cls, config_str: str, interpolation: Any = None, fill: Fill = None) -> TimmAugment:
        """What timm means by the string, as "rand-m9-mstd0.5-inc1", "augmix-m5-w4-d2", "original-mstd0.5", "v0r", "3a".

        interpolation: drawn for each operation if None; DeiT has 'bicubic'. fill: ImageNet's mean colour if None.
        """
        kind = _check.text("config_str", config_str).partition("-")[0]
        of = next((name for name, kinds in TIMM.items() if kind in kinds), cls.__name__)
        if of != cls.__name__:
            raise ValueError(f"{config_str!r} is timm's {of}: {of}.timm({config_str!r})")
        return TimmAugment(config_str, interpolation, fill)


class RandAugment(_Policy):
    """torchvision's: `num_ops` of 14 operations, all at one magnitude. timm's is RandAugment.timm("rand-m9-mstd0.5-inc1").

    interpolation: 'nearest', 'bilinear' or 'bicubic'. fill: what is uncovered, None: black.
    """

    _name = "rand_augment"

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
    """torchvision's: one of 14 operations, at a random magnitude."""

    _name = "trivial_augment_wide"

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Any = "nearest", fill: Fill = None) -> None:
        self.num_magnitude_bins = _values.whole(self._name, "num_magnitude_bins", num_magnitude_bins)
        self._take(interpolation, fill)

    def _step(self):
        return (self._name, self.num_magnitude_bins, self.interpolation, *self._fill)


class AutoAugment(_Policy):
    """torchvision's: one of 25 pairs of operations that were learnt, policy 'imagenet', 'cifar10' or 'svhn' (or
    torchvision's AutoAugmentPolicy). timm's are AutoAugment.timm("original"), "originalr", "v0", "v0r", "3a"."""

    _name = "auto_augment"

    def __init__(self, policy: Any = "imagenet", interpolation: Any = "nearest", fill: Fill = None) -> None:
        name = getattr(policy, "value", policy)
        timm = isinstance(name, str) and name in TIMM["AutoAugment"]
        self.policy = _values.word("policy", name, POLICIES, f"; timm's is AutoAugment.timm({name!r})" if timm else "")
        self._take(interpolation, fill)

    def _step(self):
        return (self._name, self.policy, self.interpolation, *self._fill)


class AugMix(_Policy):
    """torchvision's: `mixture_width` chains of up to `chain_depth` operations (-1: one to three), mixed with the picture."""

    _name = "aug_mix"
    _default = "bilinear"

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

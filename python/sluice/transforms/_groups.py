# SPDX-License-Identifier: Apache-2.0
"""Transforms of transforms, and what is made of others."""
from __future__ import annotations

from .. import _check
from . import _color, _filters, _geometry, _values
from ._base import Compose, Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import Size, Steps, Values

CHOICES = _values.LISTS["random_choice"]


def _taken(transforms):
    taken = [transforms] if isinstance(transforms, Transform) else _check.items("transforms", transforms, "a list of steps")
    if not taken:
        raise ValueError("transforms=[]: there is nothing to draw from")
    return taken


class RandomApply(Transform):
    """All of `transforms` with probability `p`, or none of them."""

    _name = "random_apply"
    _place = "group"  # what is in it has places

    def __init__(self, transforms: Steps, p: float = 0.5) -> None:
        self.transforms, self.p = _taken(transforms), _values.probability(p)

    def _steps(self, walk):
        return [(self._name, (self.p,), tuple(walk.steps(self.transforms, type(self).__name__)))]


class Shared(Transform):
    """All of `transforms`, which draw the same in all columns of a batch that have a Shared of that `key`, 0 to 255.

    So views of a picture can have one jitter, or be crops of one crop: a step of it draws what the step that is as far in
    the other's, of its kind, does; in a column without one all draws are its own. With what else is drawn (groups in it,
    boxes that are drawn again, at_least_one) these stay as they are: so at_least_one is refused where all random crops
    are in it. Columns that share a RandomIoUCrop need boxes of the same field. Not in another Shared.
    """

    _name = "shared"
    _place = "group"

    def __init__(self, transforms: Steps, key: int = 0) -> None:
        self.transforms, self.key = _taken(transforms), _check.integer("key", key, 0, 255)

    def _steps(self, walk):
        return [(self._name, (self.key,), tuple(walk.steps(self.transforms, type(self).__name__)))]


class _Members(Transform):
    """Whose members are drawn one by one: one that is a list is one member."""

    _place = "group"

    def _members(self, walk):
        members = []
        for member in self.transforms:
            steps = walk.steps(member, type(self).__name__)
            members.append(steps[0] if len(steps) == 1 else ("sequence", (), tuple(steps)))
        return tuple(members)

    transforms: list[Any]


class RandomChoice(_Members):
    """One of `transforms`, each as often as the others, or by weights `p`. One that is a list, or Compose, is done whole."""

    _name = "random_choice"

    def __init__(self, transforms: Sequence[Any], p: Values | None = None) -> None:
        self.transforms = _taken(transforms)
        count = len(self.transforms)
        if count > CHOICES:
            raise ValueError(f"RandomChoice of {count}: {CHOICES} at most; choices of choices are possible")
        self.p = (1.0,) * count if p is None else _values.numbers("p", p, f"{count} weights, one of each transform", count)
        if not all(0 <= weight < float("inf") for weight in self.p) or not sum(self.p) > 0:
            raise ValueError(f"p={p!r}: expected weights of 0 or more, not all of them 0")

    def _steps(self, walk):
        return [(self._name, self.p, self._members(walk))]


class RandomOrder(_Members):
    """All of `transforms`, in a random order. One that is a list, or Compose, is done whole."""

    _name = "random_order"

    def __init__(self, transforms: Sequence[Any]) -> None:
        self.transforms = _taken(transforms)

    def _steps(self, walk):
        return [(self._name, (), self._members(walk))]


class ThreeAugment(Compose):
    """3-Augment of DeiT III (Touvron, Cord, Jegou 2022; augment.py of facebookresearch/deit): a crop and a flip, one of
    grey, solarize and Pillow's blur, and jitter.

    simple_crop: instead of a RandomResizedCrop (bicubic) the shorter side to `size` (bicubic) and a window of the
    picture with 4 pixels mirrored around it, as for ImageNet-21k. color_jitter: of brightness, contrast and
    saturation; 0: none.
    """

    def __init__(
        self, size: Size = 224, simple_crop: bool = False, color_jitter: float = 0.3, scale: Values = (0.08, 1.0)
    ) -> None:
        height, width = _values.pair(size)
        if not _check.flag("simple_crop", simple_crop):
            crop: list[Transform] = [_geometry.RandomResizedCrop((height, width), scale, interpolation="bicubic")]
        elif height == width:
            crop = [
                _geometry.Resize(height, "bicubic"),
                _geometry.RandomCrop(height, padding=4, padding_mode="reflect"),
            ]
        else:
            raise ValueError(f"size={size!r}: a simple crop is as high as wide: say one int")
        grey, solarize = _color.Grayscale(3), _color.RandomSolarize(128, p=1)
        steps = [*crop, _geometry.RandomHorizontalFlip(), RandomChoice([grey, solarize, _filters.PillowGaussianBlur((0.1, 2.0))])]
        if _check.number("color_jitter", color_jitter):
            steps.append(_color.ColorJitter(color_jitter, color_jitter, color_jitter))
        super().__init__(steps)

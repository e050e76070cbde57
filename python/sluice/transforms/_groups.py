# SPDX-License-Identifier: Apache-2.0
"""Transforms that contain other transforms."""
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
        raise ValueError("transforms=[]: expected at least one transform")
    return taken


class RandomApply(Transform):
    """Applies all of `transforms` with probability `p`, or none of them.

    Args:
        transforms: one transform, or a list of them.
        p: probability, 0 to 1 [0.5].

    Example:
        >>> T.RandomApply([T.GaussianBlur(5), T.RandomInvert(1)], p=0.3)(image).shape
        (60, 80, 3)
    """

    _name = "random_apply"
    _place = "group"  # its members have positions
    transforms: list[Any]
    p: float

    def __init__(self, transforms: Steps, p: float = 0.5) -> None:
        self.transforms, self.p = _taken(transforms), _values.probability(p)

    def _steps(self, walk):
        return [(self._name, (self.p,), tuple(walk.steps(self.transforms, type(self).__name__)))]


class Shared(Transform):
    """Applies `transforms` with the same random draws in several columns of a batch.

    These are the columns whose Shared has the same `key`.

    Views of one image can so share one jitter, or be crops of one crop. A step draws the same as
    the step at the same position, of the same kind, in the other columns' groups. Groups inside it
    and boxes with at_least_one, which are drawn again, draw independently: at_least_one raises an
    error if all random crops are inside a Shared. Columns that share a RandomIoUCrop need boxes of
    the same field.

    Args:
        transforms: one transform, or a list of them; not another Shared.
        key: number of the group, 0 to 255 [0].

    Example:
        >>> crop = T.Shared(T.RandomResizedCrop(32))
        >>> views = {"plain": [crop], "blurred": [crop, T.GaussianBlur(5)]}
        >>> columns = {name: sluice.columns.Image("image", transform=steps) for name, steps in views.items()}
        >>> with sluice.Loader(data, batch_size=4, columns=columns) as loader:
        ...     next(iter(loader)).keys()
        ['plain', 'blurred']
    """

    _name = "shared"
    _place = "group"
    transforms: list[Any]
    key: int

    def __init__(self, transforms: Steps, key: int = 0) -> None:
        self.transforms, self.key = _taken(transforms), _check.integer("key", key, 0, 255)

    def _steps(self, walk):
        return [(self._name, (self.key,), tuple(walk.steps(self.transforms, type(self).__name__)))]


class _Members(Transform):
    """Base of groups whose members are drawn individually. A member that is a list counts as one."""

    _place = "group"

    def _members(self, walk):
        members = []
        for member in self.transforms:  # type: ignore[attr-defined]
            steps = walk.steps(member, type(self).__name__)
            members.append(steps[0] if len(steps) == 1 else ("sequence", (), tuple(steps)))
        return tuple(members)


class RandomChoice(_Members):
    """Applies one of `transforms`, drawn evenly or by weight.

    Args:
        transforms: the choices; one that is a list, or a Compose, is applied as a whole.
        p: one weight for each choice, 0 or more, not all 0 [equal].

    Example:
        >>> T.RandomChoice([T.GaussianBlur(5), [T.RandomInvert(1), T.JPEG(50)]], p=[2, 1])(image).shape
        (60, 80, 3)
    """

    _name = "random_choice"
    transforms: list[Any]
    p: tuple[float, ...]

    def __init__(self, transforms: Sequence[Any], p: Values | None = None) -> None:
        self.transforms = _taken(transforms)
        count = len(self.transforms)
        if count > CHOICES:
            raise ValueError(f"RandomChoice of {count}: at most {CHOICES} choices; they may be choices themselves")
        self.p = (1.0,) * count if p is None else _values.numbers("p", p, f"{count} weights, one of each transform", count)
        if not all(0 <= weight < float("inf") for weight in self.p) or not sum(self.p) > 0:
            raise ValueError(f"p={p!r}: expected weights of 0 or more, not all of them 0")

    def _steps(self, walk):
        return [(self._name, self.p, self._members(walk))]


class RandomOrder(_Members):
    """Applies all of `transforms`, in a random order.

    Args:
        transforms: the transforms; one that is a list, or a Compose, is applied as a whole.

    Example:
        >>> T.RandomOrder([T.GaussianBlur(5), T.RandomSolarize(128)])(image).shape
        (60, 80, 3)
    """

    _name = "random_order"
    transforms: list[Any]

    def __init__(self, transforms: Sequence[Any]) -> None:
        self.transforms = _taken(transforms)

    def _steps(self, walk):
        return [(self._name, (), self._members(walk))]


class ThreeAugment(Compose):
    """Applies the 3-Augment of DeiT III.

    It is a crop, a flip, one of grey, solarize and Pillow's blur, and colour jitter.

    Source: Touvron, Cord, Jegou 2022; augment.py of facebookresearch/deit.

    Args:
        size: (height, width) of the result in pixels, 1 to 16384, or one int for both [224].
        simple_crop: True resizes the shorter side to `size` (bicubic) and crops a window, with 4
            mirrored pixels around the image, as for ImageNet-21k, instead of a bicubic
            RandomResizedCrop; needs one int [False].
        color_jitter: strength of brightness, contrast and saturation changes; 0: none [0.3].
        scale: (smallest, largest) area of the RandomResizedCrop, as a fraction of the image's
            [0.08, 1.0].

    Example:
        >>> T.ThreeAugment(32)(image).shape
        (32, 32, 3)
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
            raise ValueError(f"size={size!r}: a simple crop is square: write one int")
        grey, solarize = _color.Grayscale(3), _color.RandomSolarize(128, p=1)
        steps = [*crop, _geometry.RandomHorizontalFlip(), RandomChoice([grey, solarize, _filters.PillowGaussianBlur((0.1, 2.0))])]
        if _check.number("color_jitter", color_jitter):
            steps.append(_color.ColorJitter(color_jitter, color_jitter, color_jitter))
        super().__init__(steps)

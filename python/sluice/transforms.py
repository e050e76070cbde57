# SPDX-License-Identifier: Apache-2.0
"""What happens to each picture, under the names that torchvision.transforms.v2 has for it.

They are descriptions: the library's threads do the work, on 8-bit pixels, with torchvision's draws
and Pillow's arithmetic. Whatever the order in which they are given, a geometry step comes first, then
flip, jitter, normalisation, cast and layout; an order that would mean something else is refused.
What the library has not is Python(f): the slow way, and it says what it costs.
"""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

from . import _check, _sluice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Dtype, Size, Values

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "Normalize",
    "Python",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToDtype",
    "ToTensor",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        raise _check.missing_name(__name__, name, __all__)


def _pair(size, name="size"):
    """(height, width), as torchvision takes sizes."""
    if isinstance(size, int):
        return size, size
    if not isinstance(size, Sequence) or isinstance(size, (bytes, bytearray)):
        raise ValueError(f"{name}={size!r}: expected an int or (height, width)")
    size = tuple(size)
    if len(size) == 1:
        size *= 2
    if len(size) != 2 or not all(isinstance(side, int) for side in size):
        raise ValueError(f"{name}={size!r}: expected an int or (height, width)")
    return size


def _range(name, values):
    made = tuple(_check.number(name, value) for value in _check.items(name, values, "two numbers"))
    if len(made) != 2:
        raise ValueError(f"{name}={values!r}: expected two numbers")
    return made


def _only(name, value, *allowed):
    if not any(value is one or value == one for one in allowed):
        raise ValueError(f"{name}={value!r}: the library has {' or '.join(map(repr, allowed))} only")


def _is_bilinear(interpolation):
    name = getattr(interpolation, "value", interpolation)
    if name not in (2, "bilinear", None):
        raise ValueError(f"interpolation={interpolation!r}: the library has bilinear (antialiased) only")


# In the order in which they are done: the stages of the library's steps, and what is between and behind.
_STAGES = ("geometry", "flip", "color", "dtype", "normalize", "Python")
_STEPS = {name: stage for name, stage, _, _ in _sluice.steps()}


class Transform:
    """One step."""

    _name = None  # of the library's step that it is
    _stage = "geometry"

    def __init_subclass__(cls):
        cls._stage = _STEPS[cls._name] if cls._name else cls._stage

    def __repr__(self):
        values = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({values})"


class RandomResizedCrop(Transform):
    """A random part of the picture, resized to `size`.

    size: int or (height, width) of the result.
    scale: smallest and largest part of the area.
    ratio: smallest and largest width over height.
    """

    _name = "random_resized_crop"

    def __init__(
        self, size: Size, scale: Values = (0.08, 1.0), ratio: Values = (3 / 4, 4 / 3), interpolation: Any = "bilinear",
        antialias: Any = True,
    ) -> None:  # fmt: skip
        _is_bilinear(interpolation)
        _only("antialias", antialias, True, "warn", None)
        self.size, self.scale, self.ratio = _pair(size), _range("scale", scale), _range("ratio", ratio)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, *self.scale, *self.ratio)


class Resize(Transform):
    """The shorter side is resized to `size`; a CenterCrop has to follow."""

    def __init__(
        self, size: Size, interpolation: Any = "bilinear", max_size: None = None, antialias: Any = True
    ) -> None:
        _is_bilinear(interpolation)
        _only("max_size", max_size, None)
        _only("antialias", antialias, True, "warn", None)
        if not isinstance(size, int):
            sides = _check.items("size", size, "one int, that of the shorter side")
            if len(sides) != 1:
                raise ValueError("size must be one int, that of the shorter side")
            (size,) = sides
        self.size = _check.integer("size", size)


class CenterCrop(Transform):
    """The middle, `size` large; behind Resize."""

    _name = "resize_center_crop"

    def __init__(self, size: Size) -> None:
        self.size = _pair(size)


class RandomCrop(Transform):
    """A random window of the picture with black `padding` on each side; nothing is resized."""

    _name = "random_crop"

    def __init__(
        self, size: Size, padding: Size | None = 0, pad_if_needed: bool = False, fill: int = 0,
        padding_mode: str = "constant",
    ) -> None:  # fmt: skip
        _only("pad_if_needed", pad_if_needed, False)
        _only("fill", fill, 0)
        _only("padding_mode", padding_mode, "constant")
        if padding is not None and not isinstance(padding, int):
            sides = _check.items("padding", padding, "an int, or one for each side")
            if not sides or any(side != sides[0] for side in sides):
                raise ValueError("padding must be the same on all sides")
            padding = sides[0]
        self.size, self.padding = _pair(size), 0 if padding is None else _check.integer("padding", padding)

    def _step(self):
        height, width = self.size
        return (self._name, width, height, self.padding)


class RandomHorizontalFlip(Transform):
    """Mirrored left to right, with probability `p`."""

    _name = "random_flip"

    def __init__(self, p: float = 0.5) -> None:
        self.p = _check.number("p", p)

    def _step(self):
        return (self._name, self.p)


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrored top to bottom, with probability `p`."""

    _name = "random_vertical_flip"


class ColorJitter(Transform):
    """Brightness, contrast and saturation by factors of [max(0, 1-x), 1+x], in a random order."""

    _name = "color_jitter"

    def __init__(
        self, brightness: float = 0.0, contrast: float = 0.0, saturation: float = 0.0, hue: float | None = 0.0
    ) -> None:
        _only("hue", hue, 0, None)
        for name, value in (("brightness", brightness), ("contrast", contrast), ("saturation", saturation)):
            if isinstance(value, Sequence):
                raise ValueError(f"{name} must be one number: the factor is drawn from [max(0, 1-x), 1+x]")
            setattr(self, name, 0.0 if value is None else _check.number(name, value))

    def _step(self):
        return (self._name, self.brightness, self.contrast, self.saturation)


class ToDtype(Transform):
    """As torchvision's: the dtype of the result; with `scale`, floating values are those / 255.

    The library always scales: `scale=False` is for "uint8" only.
    """

    _stage = "dtype"

    def __init__(self, dtype: Dtype, scale: bool = False) -> None:
        from ._names import dtype_number

        self.dtype, self.scale = dtype, _check.flag("scale", scale)
        if dtype_number(dtype) != 0 and not scale:
            raise ValueError("floating pictures are scaled to [0, 1]: say scale=True")


class ToTensor(ToDtype):
    """float32, [0, 1], as torchvision's."""

    def __init__(self) -> None:
        super().__init__("float32", scale=True)


class Normalize(Transform):
    """(value - mean) / std for each channel, value being scaled to [0, 1]; makes floating pictures."""

    _name = "normalize"

    def __init__(self, mean: Values, std: Values, inplace: bool = False) -> None:
        self.mean, self.std = (
            tuple(_check.number(name, value) for value in _check.items(name, values, "three numbers, for R, G and B"))
            for name, values in (("mean", mean), ("std", std))
        )
        if len(self.mean) != 3 or len(self.std) != 3:
            raise ValueError("mean and std have three values, for R, G and B")

    def _step(self):
        return (self._name, *self.mean, *self.std)


class Python(Transform):
    """A function of your own, for what the library has not. It comes last, and it is the slow way.

    function: called with the column as the loop would get it (a numpy array, rows x height x width x 3;
        under sluice.torch a torch tensor; of batches on a device a sluice.Tensor), which it may change;
        what it returns, of as many rows, takes the column's place.
    per_sample: it is called with each row, and the results are stacked to a new array. Much slower
        still; a RuntimeWarning says what it came to.

    It runs on the thread that takes batches, when the column is first asked for, with the GIL: all its
    time is added to the step. Loader.stats()["python"] has that time, and sluice.profile says it. Rows
    of bad samples that are masked (zeros) are given to it, too.
    """

    _stage = "Python"

    def __init__(self, function: Callable[[Any], Any], per_sample: bool = False) -> None:
        self.function, self.per_sample = _check.function("function", function), _check.flag("per_sample", per_sample)


class Compose(Transform):
    """Steps one after another."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = _check.items("transforms", transforms, "a list of steps")


def _flatten(transform):
    if isinstance(transform, Compose):
        return [step for inner in transform.transforms for step in _flatten(inner)]
    if isinstance(transform, (list, tuple)):
        return [step for inner in transform for step in _flatten(inner)]
    if not isinstance(transform, Transform):
        raise TypeError(_advice(transform))
    return [transform]


def _advice(transform):
    """What to use for a transform of torchvision, or of the user's."""
    import difflib

    name = getattr(transform, "__name__", None) or type(transform).__name__
    near = difflib.get_close_matches(name, __all__, 1, 0.6)
    if name in __all__:
        return f"{name} of another library: sluice.transforms.{name} is the same, done by the library's threads"
    nearest = f"the nearest is sluice.transforms.{near[0]}; " if near else ""
    return (
        f"the library has no {name}: {nearest}sluice.transforms.Python(f), as the last step, calls a function of "
        "your own with each batch of pictures, on the thread that takes it, whose time it costs"
    )


Recipe = namedtuple("Recipe", ["steps", "dtype", "functions"])
Recipe.__doc__ = "What a transform comes to: steps for the library, the pictures' dtype, functions of Python."


def recipe(transform):
    """The Recipe of a transform, or of a list of them."""
    steps, dtype, functions, stage, resize = [], None, [], -1, None
    for step in _flatten(transform):
        if _STAGES.index(step._stage) < stage:
            raise ValueError(f"{step!r} comes too late: the order is geometry, flip, jitter, dtype, normalisation, Python")
        stage = _STAGES.index(step._stage)
        if isinstance(step, ToDtype):
            dtype = step.dtype
        elif isinstance(step, Python):
            functions.append(step)
        elif isinstance(step, Resize):
            resize = step
        elif isinstance(step, CenterCrop):
            if resize is None:
                raise ValueError("CenterCrop needs a Resize before it: pictures differ in size")
            steps.append((step._name, resize.size, step.size[1], step.size[0]))
            resize = None
        else:
            steps.append(step._step())
    if resize is not None:
        raise ValueError("Resize needs a CenterCrop behind it: the rows of a batch have one size")
    if dtype is None:
        dtype = "float32" if any(_STEPS[step[0]] == "normalize" for step in steps) else "uint8"
    return Recipe(steps, dtype, functions)

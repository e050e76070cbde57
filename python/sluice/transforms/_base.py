# SPDX-License-Identifier: Apache-2.0
"""What transforms are, and those that are no step of the library: lists, dtypes, functions."""
from __future__ import annotations

from collections.abc import Mapping

from .. import _check
from ._values import LIMITS, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._types import Dtype, Steps, Values


WIDTH = 100  # of a repr on one line


def _lines(transforms):
    """A list of steps, one a line, where it is too long for one; a member that is a list likewise."""
    made = []
    for step in transforms:
        shown = repr(step)
        if isinstance(step, (list, tuple)) and (len(shown) > WIDTH or "\n" in shown):
            shown = _lines(step)
        made.append("    " + shown.replace("\n", "\n    ") + ",\n")
    return f"[\n{''.join(made)}]"


def one_line(step: Any) -> str:
    """The repr of a step for an error."""
    return " ".join(line.strip() for line in repr(step).splitlines()).replace("[ ", "[").replace(", ]", "]")


class Transform:
    """One step of a recipe, which a loader's threads carry out.

    transform(image, seed=0) tries it on one image: the first row of a loader over that image with this seed, bit for bit.
    image: a PIL image, a numpy array (uint8, height x width x 3), a torch tensor (uint8, 3 x height x width), or the bytes of
        a JPEG, PNG or WebP.
    seed: of what is drawn; the same seed gives the same result.
    The result is a numpy array, height x width x 3; of a torch tensor a torch tensor, 3 x height x width. It is uint8, or
    floating where the recipe normalises or has a dtype. A step alone keeps the size that it makes: nothing is padded.
    Steps of several samples (Mosaic, MixUp, CutMix, CopyPaste) and BucketCrop are refused. A call takes tens of milliseconds, since it
    opens a loader: for a whole dataset, give the transform to one.
    """

    _name: str | None = None  # of the library's step that it is
    _place = "pixels"  # where in a list it can be: _recipe.py

    def __repr__(self) -> str:
        shown = {key: value for key, value in vars(self).items() if key[0] != "_"}
        line = f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in shown.items())})"
        if (len(line) <= WIDTH and "\n" not in line) or not isinstance(shown.get("transforms"), (list, tuple)):
            return line
        rest = "".join(f", {key}={value!r}" for key, value in shown.items() if key != "transforms")
        return f"{type(self).__name__}(transforms={_lines(shown['transforms'])}{rest})"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"

    def __call__(self, image: Any, *, seed: int = 0) -> Any:
        from ._call import call

        return call(self, image, seed)

    def _steps(self, walk):
        """What the library is asked for: tuples of a step's name and its arguments, or of a group's name, its
        arguments and what is in it. `walk` knows what comes before it (_recipe.py)."""
        return [self._step()]

    def _step(self):
        return (self._name,)


class Compose(Transform):
    """Steps one after another."""

    def __init__(self, transforms: Steps) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else _check.items("transforms", transforms, "a list of steps")


class ToDtype(Transform):
    """As torchvision's: the dtype of the result; with `scale`, floating values are those / 255.

    The library always scales: `scale=False` is for "uint8" only.
    """

    _place = "dtype"

    def __init__(self, dtype: Dtype, scale: bool = False) -> None:
        from .._names import picture_dtype_number

        if isinstance(dtype, Mapping):
            raise TypeError(f"dtype={dtype!r:.80}: give the images' dtype; masks and other columns have a dtype= of their own (sluice.columns)")
        self.dtype, self.scale = dtype, _check.flag("scale", scale)
        self._floats = picture_dtype_number(dtype) != 0
        if self._floats and not scale:
            raise ValueError("floating pictures are scaled to [0, 1]: say scale=True")


class ToTensor(ToDtype):
    """float32, [0, 1], as torchvision's."""

    def __init__(self) -> None:
        super().__init__("float32", scale=True)


class Normalize(Transform):
    """(value - mean) / std for each channel, value being scaled to [0, 1]; makes floating pictures.

    Numbers are those that float32 has, and `std` is above 0. Whether results fit the pictures' dtype nobody looks: with a
    very small `std` they become infinite, or NaN (float16 ends at 65504, so below about 1.5e-5).
    """

    _name = "normalize"
    _place = "normalize"

    def __init__(self, mean: Values, std: Values, inplace: bool = False) -> None:
        wanted = "three numbers, for R, G and B"
        self.mean, self.std = numbers("mean", mean, wanted, 3), numbers("std", std, wanted, 3)
        least, most = LIMITS[self._name, "mean_r"]
        if not all(least <= value <= most for value in self.mean):
            raise ValueError(f"mean={mean!r}: expected numbers from {least:.4g} to {most:.4g}, as float32 has them")
        if not all(2.0**-150 < value <= most for value in self.std):  # half of the least above 0
            raise ValueError(f"std={std!r}: expected numbers above 0, from 1.401e-45 to {most:.4g}, as float32 has them")

    def _step(self):
        return (self._name, *self.mean, *self.std)


class Python(Transform):
    """A function of your own, for what the library has not. It comes last, and it is the slow way.

    function: called with the column as the loop would get it (a numpy array, rows x height x width x 3;
        under sluice.torch a torch tensor; of batches on a device a sluice.Tensor), which it may change;
        what it returns, of as many rows, takes the column's place.
    per_sample: it is called with each row, and the results are stacked to a new array. Much slower
        still; a RuntimeWarning says, once, what it cost. Native calls compiled code on the workers instead.

    It runs on the thread that takes batches, when the column is first asked for, with the GIL: all its
    time is added to the step. Loader.stats()["python"] has that time, and sluice.profile says it. Rows
    of bad samples that are masked (zeros) are given to it, too.
    """

    _place = "Python"

    def __init__(self, function: Callable[[Any], Any], per_sample: bool = False) -> None:
        if isinstance(function, Transform):
            raise TypeError(f"function={function!r:.80}: it is a step of the library: put it into the list, before functions of Python")
        self.function, self.per_sample = _check.function("function", function), _check.flag("per_sample", per_sample)

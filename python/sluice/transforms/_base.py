# SPDX-License-Identifier: Apache-2.0
"""The base class of transforms, and those that are not steps of the library: lists, dtypes, functions."""
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
    """Returns a list of steps as text, one per line. Members that are lists are split if they are too long."""
    made = []
    for step in transforms:
        shown = repr(step)
        if isinstance(step, (list, tuple)) and (len(shown) > WIDTH or "\n" in shown):
            shown = _lines(step)
        made.append("    " + shown.replace("\n", "\n    ") + ",\n")
    return f"[\n{''.join(made)}]"


def one_line(step: Any) -> str:
    """Returns the repr of a step for an error."""
    return " ".join(line.strip() for line in repr(step).splitlines()).replace("[ ", "[").replace(", ]", "]")


class Transform:
    """One step of a recipe, which a loader's threads carry out.

    `transform(image, seed=0)` tries the step on one image. Constructors raise TypeError for an
    argument of the wrong type and ValueError for a value out of range; both name the argument and
    the expected values.
    """

    _name: str | None = None  # name of the library's step
    _place = "pixels"  # possible positions in a list: _recipe.py

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
        """Applies the transform to one image: the first row of a loader over that image with this
        seed, bit for bit.

        Opens a loader, so a call takes tens of milliseconds. Give the transform to a loader for a
        whole dataset. A transform without a fixed output size returns the size that it makes,
        without padding.

        Args:
            image: PIL image, numpy array (uint8, height x width x 3), torch tensor (uint8, 3 x
                height x width), or the bytes of a JPEG, PNG or WebP.
            seed: seed of the random draws, 0 to 2^64 - 1; the same seed gives the same result [0].

        Returns:
            A numpy array, height x width x 3; for a torch tensor, a torch tensor, 3 x height x
            width. Its dtype is uint8, or floating if the transform normalizes or sets a dtype.

        Raises:
            TypeError: `image` is not one of these.
            ValueError: the image has another shape or dtype, or the transform needs more than one
                image (Mosaic, MixUp, MixUpPartner, CutMix, CopyPaste, BucketCrop).

        Example:
            >>> T.CenterCrop(32)(image).shape
            (32, 32, 3)
        """
        from ._call import call

        return call(self, image, seed)

    def _steps(self, walk):
        """Returns the library's steps: tuples of a step's name and its arguments, or of a group's
        name, its arguments and its members. `walk`: the steps before it (_recipe.py)."""
        return [self._step()]

    def _step(self):
        return (self._name,)


class Compose(Transform):
    """Applies transforms one after another.

    Args:
        transforms: one transform, or a list of them; members may be lists.

    Example:
        >>> T.Compose([T.Resize((32, 48)), T.RandomHorizontalFlip()])(image).shape
        (32, 48, 3)
    """

    transforms: list[Any]

    def __init__(self, transforms: Steps) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else _check.items("transforms", transforms, "a list of steps")


class ToDtype(Transform):
    """Sets the dtype of the images, as torchvision's ToDtype.

    Floating values are always divided by 255, so a floating dtype needs `scale=True`.

    Args:
        dtype: 'uint8', 'float32', 'float16' or 'bfloat16', or the dtype object of numpy or torch.
        scale: True divides floating values by 255 [False].

    Raises:
        ValueError: `dtype` is floating and `scale` is False.

    Example:
        >>> T.Compose([T.Resize((32, 32)), T.ToDtype("float16", scale=True)])(image).dtype
        dtype('float16')
    """

    _place = "dtype"
    dtype: Dtype
    scale: bool

    def __init__(self, dtype: Dtype, scale: bool = False) -> None:
        from .._names import picture_dtype_number

        if isinstance(dtype, Mapping):
            raise TypeError(f"dtype={dtype!r:.80}: give the images' dtype; masks and other columns have a dtype= of their own (sluice.columns)")
        self.dtype, self.scale = dtype, _check.flag("scale", scale)
        self._floats = picture_dtype_number(dtype) != 0
        if self._floats and not scale:
            raise ValueError("floating images are scaled to [0, 1]: write scale=True")


class ToTensor(ToDtype):
    """Makes float32 images with values of 0 to 1, as torchvision's ToTensor.

    Example:
        >>> T.Compose([T.Resize((32, 32)), T.ToTensor()])(image).dtype
        dtype('float32')
    """

    def __init__(self) -> None:
        super().__init__("float32", scale=True)


class Normalize(Transform):
    """Computes (value - mean) / std for each channel; makes floating images.

    Values are first scaled to 0 to 1.

    Results are not checked against the images' dtype: a very small `std` makes them infinite or
    NaN. In float16, which ends at 65504, this happens below a `std` of about 1.5e-5.

    Args:
        mean: three numbers, for R, G and B, that float32 can represent.
        std: three numbers above 0, likewise.
        inplace: for torchvision's signature; has no effect [False].

    Example:
        >>> normalize = T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
        >>> T.Compose([T.CenterCrop(32), normalize])(image).dtype
        dtype('float32')
    """

    _name = "normalize"
    _place = "normalize"
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __init__(self, mean: Values, std: Values, inplace: bool = False) -> None:
        wanted = "three numbers, for R, G and B"
        self.mean, self.std = numbers("mean", mean, wanted, 3), numbers("std", std, wanted, 3)
        least, most = LIMITS[self._name, "mean_r"]
        if not all(least <= value <= most for value in self.mean):
            raise ValueError(f"mean={mean!r}: expected numbers from {least:.4g} to {most:.4g}, as float32 has them")
        if not all(2.0**-150 < value <= most for value in self.std):  # half of the smallest float32 above 0
            raise ValueError(f"std={std!r}: expected numbers above 0, from 1.401e-45 to {most:.4g}, as float32 has them")

    def _step(self):
        return (self._name, *self.mean, *self.std)


class Python(Transform):
    """Applies your own function, for operations the library lacks. Must come last, and is slow.

    The function runs with the GIL on the thread that takes batches, when the column is first read,
    so its time is added to every training step. `Loader.stats()["python"]` and sluice.profile
    report that time. Masked rows of bad samples (zeros) are passed to the function, too.

    Args:
        function: called with the column as the loop would get it, which it may change: a numpy
            array, rows x height x width x 3; with sluice.torch, a torch tensor; for batches on a
            device, a sluice.Tensor. Its result replaces the column and must have as many rows.
        per_sample: True calls the function once per row and stacks the results in a new array. This
            is much slower still; a RuntimeWarning reports the cost once. Native calls compiled code
            on the workers instead [False].

    Raises:
        TypeError: `function` cannot be called, or is a transform of the library.

    Example:
        >>> invert = T.Python(lambda images: 255 - images)
        >>> T.Compose([T.CenterCrop(32), invert])(image).shape
        (32, 32, 3)
    """

    _place = "Python"
    function: Callable[[Any], Any]
    per_sample: bool

    def __init__(self, function: Callable[[Any], Any], per_sample: bool = False) -> None:
        if isinstance(function, Transform):
            raise TypeError(f"function={function!r:.80}: it is a step of the library: put it in the list, before functions of Python")
        self.function, self.per_sample = _check.function("function", function), _check.flag("per_sample", per_sample)

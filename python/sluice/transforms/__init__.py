# SPDX-License-Identifier: Apache-2.0
"""Image transforms, with the names and arguments of torchvision.transforms.v2.

Transforms are descriptions: the library's threads carry them out, on 8-bit pixels, with
torchvision's random draws and Pillow's arithmetic, in the order of the list. ToDtype and Normalize
come after the steps on pixels; only RandomErasing, MixUp and CutMix may follow them. A list in an
order that torchvision would read differently raises ValueError.

`presets` has published recipes. Native(f) calls your own compiled function on the library's
threads. Python(f) calls a Python function, which is slow. `transform(image, seed=0)` tries a
transform on one image.
"""
from __future__ import annotations

from .. import _check
from ._base import Compose, Normalize, Python, ToDtype, ToTensor, Transform
from ._color import (
    ColorJitter,
    Grayscale,
    RandomAutocontrast,
    RandomChannelPermutation,
    RandomEqualize,
    RandomGrayscale,
    RandomHsv,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
    RandomSolarizeAdd,
)
from ._conversions import (
    ANSWERS as _ANSWERS,
    RGB,
    AutoAugmentPolicy,
    ConvertImageDtype,
    Identity,
    InterpolationMode,
    PILToTensor,
    ToImage,
    ToPILImage,
    ToPureTensor,
)
from ._detection import FixedSizeCrop, LetterBox, Mosaic, RandomIoUCrop, RandomShortestSize, RandomZoomOut, ScaleJitter
from ._filters import JPEG, GaussianBlur, PillowGaussianBlur, RandomAdjustSharpness, RandomErasing
from ._geometry import (
    BucketCrop,
    CenterCrop,
    ElasticTransform,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomGridCrop,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResize,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
)
from ._groups import RandomApply, RandomChoice, RandomOrder, Shared, ThreeAugment
from ._mixing import CopyPaste, CutMix, MixUp, MixUpPartner, TimmMixup
from ._native import Native
from ._policies import AugMix, AutoAugment, RandAugment, TimmAugment, TrivialAugmentWide
from ._recipe import Recipe, recipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import presets

__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "BucketCrop",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "CopyPaste",
    "CutMix",
    "ElasticTransform",
    "FixedSizeCrop",
    "GaussianBlur",
    "Grayscale",
    "Identity",
    "InterpolationMode",
    "JPEG",
    "LetterBox",
    "MixUp",
    "MixUpPartner",
    "Mosaic",
    "Native",
    "Normalize",
    "PILToTensor",
    "Pad",
    "PillowGaussianBlur",
    "Python",
    "RGB",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomGridCrop",
    "RandomHorizontalFlip",
    "RandomHsv",
    "RandomInvert",
    "RandomIoUCrop",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomSolarizeAdd",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "ScaleJitter",
    "Shared",
    "ThreeAugment",
    "TimmAugment",
    "TimmMixup",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "TrivialAugmentWide",
    "presets",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        if name == "presets":
            import importlib

            return importlib.import_module(".presets", __name__)
        if name in _ANSWERS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {_ANSWERS[name]}")
        raise _check.missing_name(__name__, name, __all__)

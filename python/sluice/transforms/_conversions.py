# SPDX-License-Identifier: Apache-2.0
"""Names of torchvision that change no pixels here: conversions between containers, and enums.

ANSWERS maps names that the library lacks to what to write instead. The package's __getattr__ and
recipes with such torchvision objects raise errors with these texts.
"""
from __future__ import annotations

import enum

from ._base import ToDtype, Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Dtype


class InterpolationMode(enum.Enum):
    """torchvision's enum of interpolations.

    Every `interpolation=` accepts its members, torchvision's own members, Pillow's numbers, and the
    words. BOX and HAMMING exist so that a program that names them fails where it uses them: the
    library supports neither.
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


class AutoAugmentPolicy(enum.Enum):
    """torchvision's enum of policies.

    AutoAugment(policy=) accepts its members, torchvision's own members, and the words.
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class ConvertImageDtype(ToDtype):
    """Sets the images' dtype and scales: ToDtype(dtype, scale=True).

    torchvision's references use this name.

    Args:
        dtype: as in ToDtype ['float32'].

    Example:
        >>> T.Compose([T.CenterCrop(32), T.ConvertImageDtype("float32")])(image).dtype
        dtype('float32')
    """

    def __init__(self, dtype: Dtype = "float32") -> None:
        super().__init__(dtype, scale=True)


class _Unchanged(Transform):
    """Changes nothing: a loader's images are 8-bit RGB arrays from the start, and tensors with
    sluice.torch.
    """

    _place = "anywhere"

    def _steps(self, walk):
        return [("pad", 0, 0, 0, 0)] if walk.grouped else []  # a group needs a member: a border without width


class Identity(_Unchanged):
    """Changes nothing: for a RandomChoice that may leave the image unchanged.

    Example:
        >>> T.RandomChoice([T.Identity(), T.GaussianBlur(5)])(image).shape
        (60, 80, 3)
    """

    _place = "end"


class RGB(_Unchanged):
    """Changes nothing: images are RGB already.

    Example:
        >>> T.RGB()(image).shape
        (60, 80, 3)
    """


class ToImage(_Unchanged):
    """Changes nothing: images are arrays already. Keeps the dtype, as torchvision's ToImage does.

    Example:
        >>> T.Compose([T.ToImage(), T.CenterCrop(32)])(image).shape
        (32, 32, 3)
    """


class ToPureTensor(_Unchanged):
    """Changes nothing: with sluice.torch, batches hold plain tensors.

    Example:
        >>> T.Compose([T.CenterCrop(32), T.ToPureTensor()])(image).shape
        (32, 32, 3)
    """

    _place = "end"


class PILToTensor(_Unchanged):
    """Changes nothing: images are uint8 arrays already.

    After ToTensor, ToDtype or Normalize it raises ValueError, as torchvision's does.

    Example:
        >>> T.Compose([T.PILToTensor(), T.CenterCrop(32)])(image).dtype
        dtype('uint8')
    """

    def _steps(self, walk):
        if walk.floats:
            raise ValueError("PILToTensor() takes 8-bit images, and after dtype and normalization they are floating: leave it out")
        return super()._steps(walk)


class ToPILImage(_Unchanged):
    """Changes nothing before other steps, where torchvision's recipes have it.

    As the last step it raises ValueError, because batches hold arrays. After ToTensor, ToDtype or
    Normalize it raises ValueError, because it would make 8-bit images again.

    Args:
        mode: None or 'RGB' [None].

    Example:
        >>> T.Compose([T.ToPILImage(), T.CenterCrop(32)])(image).shape
        (32, 32, 3)
    """

    mode: str | None

    def __init__(self, mode: str | None = None) -> None:
        if mode not in (None, "RGB"):
            raise ValueError(f"mode={mode!r}: images are RGB here; expected None or 'RGB'")
        self.mode = mode

    def _steps(self, walk):
        if walk.floats:
            raise ValueError("ToPILImage() would make floating images 8-bit ones again: put it before dtype and normalization")
        return super()._steps(walk)


_FUNCTION = "sluice.transforms.Python(f), as the last step, calls a function of your own with each batch of images"
_BOXES = "columns do that: sluice.columns.Boxes(follows=...) moves boxes with the image"
_POINTS = "columns do that: sluice.columns.Points(follows=...) moves points with the image"
_ONE_IMAGE = "a transform here describes what the library's threads do; call it with an image to try it: T.CenterCrop(224)(image)"

ANSWERS = {
    "ClampBoundingBoxes": f"{_BOXES}, and cuts them off at its edges",
    "ClampKeyPoints": f"{_POINTS}; with point_values=3 those outside of it get visibility 0",
    "ConvertBoundingBoxFormat": "sluice.columns.Boxes(format='xywh') names the stored format, and out_format= that of the batch",
    "FiveCrop": f"{_FUNCTION}; f may return rows x 5 x height x width x 3",
    "GaussianNoise": _FUNCTION,
    "Lambda": f"{_FUNCTION}; batch_hook= of the loader is called with all of its columns",
    "LinearTransformation": _FUNCTION,
    "RandomSizedCrop": "it is now RandomResizedCrop",
    "SanitizeBoundingBoxes": f"{_BOXES}, and drops those that become too small, with their labels (min_size=, min_area=)",
    "SanitizeKeyPoints": f"{_POINTS}; with point_values=3 those outside of it get visibility 0",
    "Scale": "it is now Resize",
    "SetClampingMode": f"{_BOXES}, and always cuts them off at its edges",
    "TenCrop": f"{_FUNCTION}; f may return rows x 10 x height x width x 3",
    "UniformTemporalSubsample": "the library has no videos; sluice.columns.Window takes every n-th element of a long tensor",
    "autoaugment": "AutoAugment, RandAugment, TrivialAugmentWide and AugMix are in sluice.transforms itself",
    "check_type": _ONE_IMAGE,
    "functional": _ONE_IMAGE,
    "functional_pil": _ONE_IMAGE,
    "functional_tensor": _ONE_IMAGE,
    "get_bounding_boxes": "boxes are a column of the batch: batch['boxes']",
    "get_keypoints": "points are a column of the batch: batch['points']",
    "has_all": _ONE_IMAGE,
    "has_any": _ONE_IMAGE,
    "query_chw": "the shape of batch['image'] has it",
    "query_size": "the shape of batch['image'] has it",
    "transforms": "its names are in sluice.transforms itself",
    "v2": "its names are in sluice.transforms itself",
}

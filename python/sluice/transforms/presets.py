# SPDX-License-Identifier: Apache-2.0
"""Published recipes, as transforms. Print one to see its steps, or use its `.transforms`.

simclr, dino, dinov2, dinov3 and ibot make several views of each image: dicts of columns, for
Loader(columns=).

Your program supplies the rest of a recipe, such as label smoothing of the loss and schedules;
repeated augmentation is the loader's `repeats`. With `num_classes`, labels become rows of class
weights, mixed as the images are (transforms.MixUp); None leaves mixing out.
"""
from __future__ import annotations

from .. import _check
from . import _values
from ._base import Compose, Normalize, ToTensor, Transform
from ._color import RandomHsv
from ._detection import FixedSizeCrop, LetterBox, Mosaic, RandomShortestSize, ScaleJitter
from ._filters import RandomErasing
from ._geometry import LIMIT, CenterCrop, RandomAffine, RandomHorizontalFlip, RandomResizedCrop, Resize
from ._groups import RandomChoice, ThreeAugment
from ._mixing import CutMix, MixUp, TimmMixup
from ._policies import AugMix, AutoAugment, RandAugment, TrivialAugmentWide
from ._views import dino, dinov2, dinov3, ibot, simclr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Size, Values

__all__ = [
    "deit3",
    "deit3_eval",
    "dino",
    "dinov2",
    "dinov3",
    "ibot",
    "large_scale_jitter",
    "large_scale_jitter_eval",
    "mae",
    "mae_eval",
    "resnet_strikes_back",
    "resnet_strikes_back_eval",
    "simclr",
    "torchvision_vit",
    "torchvision_vit_eval",
    "yolo",
    "yolo_eval",
]


def __dir__() -> list[str]:
    return __all__  # for completion


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's
MEAN_COLOUR = (123, 117, 104)  # fill value of torchvision's detection references

# Procedure: (size, RandAugment's magnitude, alpha of mixup, label smoothing)
STRIKES_BACK = {"A1": (224, 7, 0.2, 0.1), "A2": (224, 7, 0.1, 0.0), "A3": (160, 6, 0.1, 0.0)}
# Model: (auto_augment, random_erase)
VITS = {"vit_b_16": ("ra", 0.0), "vit_b_32": ("imagenet", 0.0), "vit_l_16": ("ta_wide", 0.1), "vit_l_32": ("ra", 0.0)}


def _of(table, name, value):
    return table[_values.word(name, value, table)]


def _tensor(mean, std):
    return [ToTensor(), Normalize(mean, std)]


def _shorter(size, crop_ratio):
    """Returns the size to which the shorter side is resized for a central crop of `size`."""
    return int(_check.integer("size", size, 1, LIMIT) / crop_ratio)


def _evaluation(size, shorter, mean, std, interpolation="bicubic"):
    return Compose([Resize(shorter, interpolation), CenterCrop(size), *_tensor(mean, std)])


def resnet_strikes_back(
    procedure: str = "A2", *, size: int | None = None, num_classes: int | None = None, mean: Values = MEAN, std: Values = STD
) -> Compose:
    """Makes the training recipe of "ResNet strikes back", procedures A1, A2 and A3.

    RandomResizedCrop, flip, and timm's RandAugment with deviation 0.5, increasing: magnitude 7 (A3:
    6). Mixup 0.2 (A2, A3: 0.1) or cutmix 1.0, equally often; label smoothing 0.1 (A1 only). No
    erasing, no jitter. The paper does not give the crop's interpolation: it is drawn here, bilinear
    or bicubic, which is timm's default. Source: Wightman, Touvron, Jegou 2021, arXiv 2110.00476,
    table 2.

    Args:
        procedure: 'A1', 'A2' or 'A3' ['A2'].
        size: side of the result in pixels [224; A3: 160].
        num_classes: number of classes; None leaves mixing out [None].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.resnet_strikes_back("A3", size=32)(image).shape
        (32, 32, 3)
    """
    own, magnitude, alpha, smoothing = _of(STRIKES_BACK, "procedure", procedure)
    size = own if size is None else size
    steps: list[Transform] = [
        RandomChoice([RandomResizedCrop(size, interpolation=way) for way in ("bilinear", "bicubic")]),
        RandomHorizontalFlip(),
        RandAugment.timm(f"rand-m{magnitude}-mstd0.5-inc1"),
        *_tensor(mean, std),
    ]
    if num_classes is not None:
        steps.append(TimmMixup(alpha, 1.0, label_smoothing=smoothing, num_classes=num_classes))
    return Compose(steps)


def resnet_strikes_back_eval(size: int = 224, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Makes the evaluation of resnet_strikes_back: a crop ratio of 0.95, bicubic.

    Args:
        size: side of the result in pixels, for all three procedures [224].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.resnet_strikes_back_eval(32)(image).shape
        (32, 32, 3)
    """
    return _evaluation(size, _shorter(size, 0.95), mean, std)


def deit3(
    size: int = 224, simple_crop: bool = False, *, num_classes: int | None = None, mean: Values = MEAN, std: Values = STD
) -> Compose:
    """Makes the training recipe of DeiT III.

    3-Augment with a jitter of 0.3, without label smoothing or erasing.

    For ImageNet-1k: RandomResizedCrop, mixup 0.8 or cutmix 1.0. For ImageNet-21k: simple_crop=True,
    cutmix 1.0 only. Source: Touvron, Cord, Jegou 2022, arXiv 2204.07118; augment.py and
    README_revenge.md of facebookresearch/deit.

    Args:
        size: side of the result in pixels [224].
        simple_crop: as in ThreeAugment [False].
        num_classes: number of classes; None leaves mixing out [None].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.deit3(32)(image).shape
        (32, 32, 3)
    """
    steps: list[Transform] = [ThreeAugment(size, simple_crop), *_tensor(mean, std)]
    if num_classes is not None:
        steps.append(TimmMixup(0.0 if simple_crop else 0.8, 1.0, label_smoothing=0.0, num_classes=num_classes))
    return Compose(steps)


def deit3_eval(size: int = 224, crop_ratio: float = 1.0, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Makes the evaluation of deit3 (datasets.py).

    Resizes the shorter side to size / crop_ratio, bicubic, and crops the centre.

    Args:
        size: side of the result in pixels [224].
        crop_ratio: side of the crop over the shorter side, above 0; the recipe's --eval-crop-ratio
            is 1.0 [1.0].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.deit3_eval(32)(image).shape
        (32, 32, 3)
    """
    if not _check.number("crop_ratio", crop_ratio) > 0:
        raise ValueError(f"crop_ratio={crop_ratio!r}: expected a fraction of the side, above 0")
    return _evaluation(size, _shorter(size, crop_ratio), mean, std)


def mae(size: int = 224, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Makes the pre-training recipe of MAE.

    A bicubic RandomResizedCrop of 0.2 to 1 of the area, and a flip.

    Source: He et al. 2022; main_pretrain.py of facebookresearch/mae.

    Args:
        size: side of the result in pixels [224].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.mae(32)(image).shape
        (32, 32, 3)
    """
    crop = RandomResizedCrop(size, scale=(0.2, 1.0), interpolation="bicubic")
    return Compose([crop, RandomHorizontalFlip(), *_tensor(mean, std)])


def mae_eval(size: int = 224, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Makes the evaluation of MAE's classifiers (util/datasets.py).

    A crop ratio of 224/256 up to size 224, of 1 above it; bicubic.

    Args:
        size: side of the result in pixels [224].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.mae_eval(32)(image).shape
        (32, 32, 3)
    """
    same = _shorter(size, 1)
    return _evaluation(size, _shorter(size, 224 / 256) if same <= 224 else same, mean, std)


def torchvision_vit(
    model: str = "vit_b_16", *, size: int = 224, auto_augment: str | None = None, random_erase: float | None = None,
    num_classes: int | None = None, mean: Values = MEAN, std: Values = STD,
) -> Compose:  # fmt: skip
    """Makes the training recipe of torchvision's ViTs.

    A bilinear RandomResizedCrop and a flip; RandAugment(2, 9) for vit_b_16 and vit_l_32,
    AutoAugment for vit_b_32, TrivialAugmentWide and erasing with probability 0.1 for vit_l_16;
    mixup 0.2 or cutmix 1.0, equally often. Label smoothing (0.11; vit_l_16: 0.1) belongs to the
    loss. Source: references/classification of pytorch/vision, README.md and presets.py.

    Args:
        model: 'vit_b_16', 'vit_b_32', 'vit_l_16' or 'vit_l_32' ['vit_b_16'].
        size: side of the result in pixels [224].
        auto_augment: another policy: 'ra', 'ta_wide', 'augmix', 'imagenet', 'cifar10' or 'svhn'
            [the model's].
        random_erase: another probability of erasing, 0 to 1 [the model's].
        num_classes: number of classes; None leaves mixing out [None].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.torchvision_vit("vit_l_16", size=32)(image).shape
        (32, 32, 3)
    """
    own, erasing = _of(VITS, "model", model)
    auto_augment = own if auto_augment is None else auto_augment
    erasing = erasing if random_erase is None else _values.probability(random_erase, "random_erase")
    policies: dict[str, Transform] = {
        "ra": RandAugment(interpolation="bilinear"),
        "ta_wide": TrivialAugmentWide(interpolation="bilinear"),
        "augmix": AugMix(interpolation="bilinear"),
        **{name: AutoAugment(name, interpolation="bilinear") for name in ("imagenet", "cifar10", "svhn")},
    }
    policy = _of(policies, "auto_augment", auto_augment)
    steps: list[Transform] = [RandomResizedCrop(size), RandomHorizontalFlip(), policy, *_tensor(mean, std)]
    if erasing > 0:
        steps.append(RandomErasing(erasing))
    if num_classes is not None:
        steps.append(RandomChoice([MixUp(alpha=0.2, num_classes=num_classes), CutMix(alpha=1.0, num_classes=num_classes)]))
    return Compose(steps)


def torchvision_vit_eval(size: int = 224, resize_size: int = 256, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Makes the evaluation of torchvision_vit.

    Resizes the shorter side to `resize_size`, bilinear, and crops the centre.

    Args:
        size: side of the result in pixels [224].
        resize_size: size of the shorter side in pixels; vit_l_16 has 232 [256].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.torchvision_vit_eval(32, 36)(image).shape
        (32, 32, 3)
    """
    return _evaluation(size, resize_size, mean, std, "bilinear")


def large_scale_jitter(
    size: Size = 1024, scale_range: Values = (0.1, 2.0), *, mean: Values = MEAN, std: Values = STD
) -> Compose:
    """Makes the training recipe of detectors with large scale jitter.

    ScaleJitter, FixedSizeCrop and a flip.

    Images are padded with ImageNet's mean colour and normalized like torchvision's detectors do
    themselves: give those mean=(0, 0, 0), std=(1, 1, 1). Source: "Simple Copy-Paste", Ghiasi et al.
    2021, arXiv 2012.07177.

    Args:
        size: (height, width) of the result in pixels, or one int for both [1024].
        scale_range: (lowest, highest) factor; standard scale jitter has (0.8, 1.25) [0.1, 2.0].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.large_scale_jitter(64)(image).shape
        (64, 64, 3)
    """
    steps = [ScaleJitter(size, scale_range), FixedSizeCrop(size, MEAN_COLOUR), RandomHorizontalFlip()]
    return Compose([*steps, *_tensor(mean, std)])


def large_scale_jitter_eval(size: int = 1024, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Makes the evaluation of large_scale_jitter.

    The longer side becomes `size`, and the square is filled on the right and below. Nothing is
    random.

    Args:
        size: side of the result in pixels [1024].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].

    Returns:
        The transform.

    Example:
        >>> T.presets.large_scale_jitter_eval(64)(image).shape
        (64, 64, 3)
    """
    return Compose([RandomShortestSize(size, size), FixedSizeCrop(size, MEAN_COLOUR), *_tensor(mean, std)])


def yolo(size: int = 640, end_epoch: int | None = None, *, translate: float = 0.1, scale: float = 0.5) -> Compose:
    """Makes the training recipe of YOLO models.

    Mosaic, an affine map, changes of hue, saturation and value, and a flip.

    Values are 0 to 1, not normalized. For boxes use columns.Boxes("boxes", keep="yolo"); the
    dataset knows their format. Not included: its Albumentations (each with probability 0.01), and
    steps that are off by default (rotations, MixUp, copy-paste). Source: ultralytics, v8_transforms
    of data/augment.py with the defaults of cfg/default.yaml.

    Args:
        size: side of the result in pixels, 1 to 8192 [640].
        end_epoch: first epoch without Mosaic: the number of epochs minus ultralytics' close_mosaic
            of 10 [none].
        translate: largest movement, as a fraction of `size` [0.1].
        scale: x, for scale factors of 1 - x to 1 + x [0.5].

    Returns:
        The transform.

    Example:
        >>> columns = {"image": sluice.columns.Image(transform=T.presets.yolo(32))}
        >>> with sluice.Loader(data, batch_size=4, columns=columns) as loader:
        ...     next(iter(loader))["image"].shape
        (4, 32, 32, 3)
    """
    part = _check.number("translate", translate) / 2  # a fraction of the mosaic's canvas, which is twice as large
    scale = _check.number("scale", scale)
    affine = RandomAffine(0, (part, part), (1 - scale, 1 + scale), interpolation="bilinear", fill=114)
    return Compose([Mosaic(size, end_epoch=end_epoch), affine, CenterCrop(size), RandomHsv(), RandomHorizontalFlip(), ToTensor()])


def yolo_eval(size: Size = 640, enlarge: bool = False) -> Compose:
    """Makes the evaluation of YOLO models: LetterBox, values of 0 to 1, not normalized.

    Nothing is random.

    Source: ultralytics, data/augment.py.

    Args:
        size: (height, width) of the result in pixels, or one int for both [640].
        enlarge: True enlarges images that are smaller than `size`, as ultralytics' predictor does
            [False].

    Returns:
        The transform.

    Example:
        >>> T.presets.yolo_eval(64)(image).shape
        (64, 64, 3)
    """
    return Compose([LetterBox(size, enlarge=enlarge), ToTensor()])

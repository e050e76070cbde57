# SPDX-License-Identifier: Apache-2.0
"""Recipes of papers, as lists of transforms: look at one with print, or take it apart (`.transforms`).
simclr, dino, dinov2, dinov3 and ibot are several views of each picture: dicts of columns, for Loader(columns=).

What they have beside transforms (label smoothing of the loss, schedules) is the program's own; repeated augmentation is the
loader's repeats=.
`num_classes`: labels become rows of shares, mixed as the pictures are (transforms.MixUp); None leaves mixing out.
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


def __dir__():
    return __all__  # of completion


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet
MEAN_COLOUR = (123, 117, 104)  # what torchvision's references fill with, in detection

# Procedure: (size, RandAugment's magnitude, alpha of mixup, label smoothing)
STRIKES_BACK = {"A1": (224, 7, 0.2, 0.1), "A2": (224, 7, 0.1, 0.0), "A3": (160, 6, 0.1, 0.0)}
# Model: (auto_augment, random_erase)
VITS = {"vit_b_16": ("ra", 0.0), "vit_b_32": ("imagenet", 0.0), "vit_l_16": ("ta_wide", 0.1), "vit_l_32": ("ra", 0.0)}


def _of(table, name, value):
    return table[_values.word(name, value, table)]


def _tensor(mean, std):
    return [ToTensor(), Normalize(mean, std)]


def _shorter(size, crop_ratio):
    """What the shorter side is resized to for a middle of `size`."""
    return int(_check.integer("size", size, 1, LIMIT) / crop_ratio)


def _evaluation(size, shorter, mean, std, interpolation="bicubic"):
    return Compose([Resize(shorter, interpolation), CenterCrop(size), *_tensor(mean, std)])


def resnet_strikes_back(
    procedure: str = "A2", *, size: int | None = None, num_classes: int | None = None, mean: Values = MEAN, std: Values = STD
) -> Compose:
    """"ResNet strikes back" (Wightman, Touvron, Jegou 2021, arXiv 2110.00476), table 2: A1, A2 or A3.

    RandomResizedCrop to 224 (A3: 160), flip, timm's RandAugment of magnitude 7 (A3: 6) and deviation 0.5, increasing;
    mixup 0.2 (A2, A3: 0.1) or cutmix 1.0, one as often as the other; label smoothing 0.1 (A1 only). No erasing, no jitter.
    Of the crop the paper does not say the interpolation: here it is drawn, bilinear or bicubic, timm's default.
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
    """Its evaluation, at 224 for all three: a crop ratio of 0.95, bicubic."""
    return _evaluation(size, _shorter(size, 0.95), mean, std)


def deit3(
    size: int = 224, simple_crop: bool = False, *, num_classes: int | None = None, mean: Values = MEAN, std: Values = STD
) -> Compose:
    """DeiT III (Touvron, Cord, Jegou 2022, arXiv 2204.07118; augment.py and README_revenge.md of facebookresearch/deit).

    3-Augment with a jitter of 0.3. On ImageNet-1k: RandomResizedCrop, mixup 0.8 or cutmix 1.0. On ImageNet-21k:
    simple_crop=True, cutmix 1.0 only. No label smoothing, no erasing.
    """
    steps: list[Transform] = [ThreeAugment(size, simple_crop), *_tensor(mean, std)]
    if num_classes is not None:
        steps.append(TimmMixup(0.0 if simple_crop else 0.8, 1.0, label_smoothing=0.0, num_classes=num_classes))
    return Compose(steps)


def deit3_eval(size: int = 224, crop_ratio: float = 1.0, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Its evaluation (datasets.py): the shorter side to size / crop_ratio, bicubic; --eval-crop-ratio 1.0 is the recipe's."""
    if not _check.number("crop_ratio", crop_ratio) > 0:
        raise ValueError(f"crop_ratio={crop_ratio!r}: expected a part of the side, above 0")
    return _evaluation(size, _shorter(size, crop_ratio), mean, std)


def mae(size: int = 224, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Pre-training of MAE (He et al. 2022; main_pretrain.py of facebookresearch/mae): RandomResizedCrop of 0.2 to 1 of
    the area, bicubic, and a flip."""
    crop = RandomResizedCrop(size, scale=(0.2, 1.0), interpolation="bicubic")
    return Compose([crop, RandomHorizontalFlip(), *_tensor(mean, std)])


def mae_eval(size: int = 224, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Evaluation of its classifiers (util/datasets.py): a crop ratio of 224/256 up to 224, of 1 above it; bicubic."""
    same = _shorter(size, 1)
    return _evaluation(size, _shorter(size, 224 / 256) if same <= 224 else same, mean, std)


def torchvision_vit(
    model: str = "vit_b_16", *, size: int = 224, auto_augment: str | None = None, random_erase: float | None = None,
    num_classes: int | None = None, mean: Values = MEAN, std: Values = STD,
) -> Compose:  # fmt: skip
    """Training of torchvision's ViTs (references/classification of pytorch/vision: README.md, presets.py).

    RandomResizedCrop and flip; vit_b_16, vit_l_32: RandAugment(2, 9); vit_b_32: AutoAugment; vit_l_16:
    TrivialAugmentWide and erasing with p 0.1; bilinear. mixup 0.2 or cutmix 1.0, one as often as the other. auto_augment:
    another one, 'ra', 'ta_wide', 'augmix', 'imagenet', 'cifar10', 'svhn'. random_erase: another probability. Label
    smoothing (0.11, vit_l_16: 0.1) is the loss's.
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
    """Its evaluation: the shorter side to 256 (vit_l_16: 232), bilinear."""
    return _evaluation(size, resize_size, mean, std, "bilinear")


def large_scale_jitter(
    size: Size = 1024, scale_range: Values = (0.1, 2.0), *, mean: Values = MEAN, std: Values = STD
) -> Compose:
    """Training of detectors by large scale jitter ("Simple Copy-Paste", Ghiasi et al. 2021, arXiv 2012.07177).

    ScaleJitter of 0.1 to 2 (standard scale jitter: 0.8 to 1.25), FixedSizeCrop, a flip; the mean colour where the picture
    ends. Normalised as torchvision's detectors do by themselves: give them mean=(0, 0, 0), std=(1, 1, 1).
    """
    steps = [ScaleJitter(size, scale_range), FixedSizeCrop(size, MEAN_COLOUR), RandomHorizontalFlip()]
    return Compose([*steps, *_tensor(mean, std)])


def large_scale_jitter_eval(size: int = 1024, *, mean: Values = MEAN, std: Values = STD) -> Compose:
    """Its evaluation: the longer side to `size`, the rest of the square filled, right and below. It draws nothing."""
    return Compose([RandomShortestSize(size, size), FixedSizeCrop(size, MEAN_COLOUR), *_tensor(mean, std)])


def yolo(size: int = 640, end_epoch: int | None = None, *, translate: float = 0.1, scale: float = 0.5) -> Compose:
    """Training of YOLO models (ultralytics: data/augment.py, v8_transforms with the defaults of cfg/default.yaml).

    Mosaic until `end_epoch` (its close_mosaic: the number of epochs less 10; None: in all), moved by up to `translate` of
    `size`, scaled by 1 - scale to 1 + scale, hue, saturation and value changed, a flip; [0, 1], not normalised. Boxes:
    columns.Boxes("boxes", keep="yolo"); the dataset knows their format. Left out: its Albumentations (each p 0.01), and
    what is off there (turns, MixUp, copy-paste).
    """
    part = _check.number("translate", translate) / 2  # of the mosaic's canvas, which is twice as large
    scale = _check.number("scale", scale)
    affine = RandomAffine(0, (part, part), (1 - scale, 1 + scale), interpolation="bilinear", fill=114)
    return Compose([Mosaic(size, end_epoch=end_epoch), affine, CenterCrop(size), RandomHsv(), RandomHorizontalFlip(), ToTensor()])


def yolo_eval(size: Size = 640, enlarge: bool = False) -> Compose:
    """Evaluation of YOLO models (ultralytics, data/augment.py): LetterBox, [0, 1], not normalised. It draws nothing.

    enlarge: whether pictures smaller than `size` become larger, as they do in its predictor.
    """
    return Compose([LetterBox(size, enlarge=enlarge), ToTensor()])

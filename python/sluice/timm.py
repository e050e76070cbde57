# SPDX-License-Identifier: Apache-2.0
"""timm.data.create_loader over a folder or shards.

Arguments, defaults and batches are the same, but not the random draws. This module does not import timm.
"""
from __future__ import annotations

import math

import torch

from . import _check, transforms as T
from .torch import DataLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._types import Paths
    from .dataset import Dataset

__all__ = ["Loader", "create_loader", "create_transform"]

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROP_PCT = 0.875
BLUR_KERNEL = 23  # timm's
DTYPES = ("float32", "float16", "bfloat16")

# Unsupported arguments of create_loader: the accepted values, and what to write instead.
REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "re_split": ((False,), "a batch is not split: leave re_split out"),
    "train_crop_mode": ((None, "rrc"), "only 'rrc' is supported: leave train_crop_mode out"),
    "num_aug_repeats": ((0,), "leave num_aug_repeats out, and give repeats=3 for DeiT's repeated augmentation"),
    "num_aug_splits": ((0,), "augmentation splits are not supported: leave num_aug_splits out"),
    "crop_mode": ((None, "center", "squash"), "only 'center' and 'squash' are supported"),
    "crop_border_pixels": ((None, 0), "borders are not trimmed: leave crop_border_pixels out"),
    "tf_preprocessing": ((False,), "leave tf_preprocessing out"),
    "input_size_choices": ((None,), "all batches have one size: leave input_size_choices out (train.py: --train-img-sizes)"),
    "collate_fn": (
        (None,),
        "FastCollateMixup mixes in worker processes: run train.py with --no-prefetcher, which mixes the batch, or open "
        "sluice.torch.DataLoader with T.MixUp.timm(...) behind sluice.timm.create_transform(...)",
    ),
}


class Loader(DataLoader):
    """A loader with batches (images, labels) like those of timm's PrefetchLoader.

    Images are normalized and on the device. create_loader makes it.

    Args:
        dataset: as in sluice.torch.DataLoader.
        batch_size: as in sluice.torch.DataLoader [1].
        shuffle: as in sluice.torch.DataLoader [False].
        memory_format: as in sluice.torch.DataLoader.
        layout: as in sluice.torch.DataLoader.
        ignore_index: as in sluice.torch.DataLoader [-100].
        sampler: as in sluice.torch.DataLoader [None].
        arguments: all other arguments of sluice.Loader.

    Attributes:
        mean: tensor of shape 1 x 3 x 1 x 1, values 0..255, with the dtype and on the device of the
            images, as timm's.
        std: likewise.
    """

    mean: torch.Tensor
    std: torch.Tensor

    @property
    def mixup_enabled(self) -> bool:
        """False: this loader does not mix."""
        return False

    @mixup_enabled.setter
    def mixup_enabled(self, value: bool) -> None:
        """False: this loader does not mix. Setting True raises ValueError."""
        if value:
            raise ValueError("mixup_enabled=True: this loader does not mix: " + REFUSED["collate_fn"][1])


def create_loader(
    dataset: Dataset | Paths, input_size: int | Sequence[int], batch_size: int, is_training: bool = False, no_aug: bool = False,
    re_prob: float = 0.0, re_mode: str = "const", re_count: int = 1, re_split: bool = False, train_crop_mode: str | None = None,
    scale: Sequence[float] | None = None, ratio: Sequence[float] | None = None, hflip: float = 0.5, vflip: float = 0.0,
    color_jitter: Any = 0.4, color_jitter_prob: float | None = None, grayscale_prob: float | None = 0.0, gaussian_blur_prob: float | None = 0.0,
    auto_augment: str | None = None, num_aug_repeats: int = 0, num_aug_splits: int = 0, interpolation: str = "bilinear",
    mean: Sequence[float] = MEAN, std: Sequence[float] = STD, num_workers: int = 1, distributed: bool = False,
    crop_pct: float | None = None, crop_mode: str | None = None, crop_border_pixels: int | None = None, collate_fn: Any = None,
    pin_memory: bool = False, fp16: bool = False, img_dtype: Any = None, device: Any = None, use_prefetcher: bool = True,
    use_multi_epochs_loader: bool = False, persistent_workers: bool = True, worker_seeding: Any = "all", tf_preprocessing: bool = False,
    input_size_choices: Any = None, batch_size_choices: Any = None, batch_choice_weights: Any = None, batch_choice_seed: Any = 0,
    batch_choice_schedule: Any = "constant", batch_schedule_epochs: Any = None, batch_schedule_spread: Any = 0.65,
    batch_schedule_random_mix: Any = 0.1, num_batches: Any = None, **more: Any,
) -> Loader:  # fmt: skip
    """Opens a loader as timm's create_loader does.

    Training shuffles and drops the last batch; evaluation is in order and complete.

    Args:
        dataset: a sluice.Dataset or a path, instead of timm's create_dataset(...).
        input_size: side, (height, width) or (3, height, width), in pixels.
        batch_size: rows of this rank's batches.
        is_training: True augments, shuffles and drops the last batch [False].
        no_aug: True trains without augmentation [False].
        re_prob: probability of random erasing, 0 to 1 [0].
        re_mode: 'const' or 'pixel', as in T.RandomErasing.timm ['const'].
        re_count: maximum number of erased rectangles [1].
        re_split: not supported: must be False.
        train_crop_mode: None or 'rrc'; others are not supported.
        scale: (smallest, largest) area of the random crop, as a fraction of the image's [0.08, 1].
        ratio: (lowest, highest) width over height of the random crop [3/4, 4/3].
        hflip: probability of a horizontal flip [0.5].
        vflip: probability of a vertical flip [0].
        color_jitter: strength of the colour jitter, or three or four numbers; None: none. With
            auto_augment only for '3a' [0.4].
        color_jitter_prob: probability of the colour jitter [1].
        grayscale_prob: probability of grey; None: 0 [0].
        gaussian_blur_prob: probability of a blur; None: 0 [0].
        auto_augment: timm's string of a policy, such as 'rand-m9-mstd0.5-inc1' [none].
        num_aug_repeats: not supported: must be 0; give repeats=3 instead.
        num_aug_splits: not supported: must be 0.
        interpolation: 'bilinear', 'bicubic', ... or, for training, 'random' ['bilinear'].
        mean: mean of values of 0 to 1, for R, G and B [ImageNet's].
        std: standard deviation, likewise [ImageNet's].
        num_workers: threads; the default is timm's and low: give more [1].
        distributed: True takes this rank's share of the samples; evaluation repeats samples to fill
            batches [False].
        crop_pct: size of the evaluation crop over the resized side [0.875].
        crop_mode: evaluation crop: None, 'center' or 'squash'.
        crop_border_pixels: not supported: must be None or 0.
        collate_fn: not supported: must be None.
        pin_memory: accepted, without effect.
        fp16: True makes float16 images [False].
        img_dtype: torch.float32, float16 or bfloat16 [float32].
        device: device of batches ['auto': a GPU if there is one].
        use_prefetcher: accepted, without effect: batches are always normalized floats.
        use_multi_epochs_loader: accepted, without effect.
        persistent_workers: accepted, without effect.
        worker_seeding: accepted, without effect.
        tf_preprocessing: not supported: must be False.
        input_size_choices: not supported: must be None.
        batch_size_choices: accepted, without effect, as in timm without input_size_choices.
        batch_choice_weights: likewise.
        batch_choice_seed: likewise.
        batch_choice_schedule: likewise.
        batch_schedule_epochs: likewise.
        batch_schedule_spread: likewise.
        batch_schedule_random_mix: likewise.
        num_batches: likewise.
        more: other arguments of sluice.torch.DataLoader, such as seed= or drop_last=.

    Returns:
        Loader.

    Raises:
        ValueError: an unsupported argument differs from its default; the text says what to write.
        TypeError: an argument has the wrong type, such as is_training="False".

    Example:
        >>> with sluice.timm.create_loader("photos", 32, batch_size=4, device="cpu") as loader:
        ...     images, labels = next(iter(loader))
        >>> images.shape, images.dtype
        (torch.Size([4, 3, 32, 32]), torch.float32)
    """
    given = locals()
    for name, (allowed, words) in REFUSED.items():
        if given[name] not in allowed:
            raise ValueError(f"create_loader: {name}={given[name]!r:.60}: {words}")
    if not isinstance(dataset, str) and hasattr(dataset, "reader"):
        raise TypeError("create_loader: dataset= is timm's: give the folder itself, or sluice.Dataset(folder)")
    names = (
        "is_training", "no_aug", "re_prob", "re_mode", "re_count", "scale", "ratio", "hflip", "vflip", "color_jitter",
        "color_jitter_prob", "grayscale_prob", "gaussian_blur_prob", "auto_augment", "interpolation", "mean", "std", "crop_pct", "crop_mode",
    )  # fmt: skip
    transform = create_transform(input_size, **{name: given[name] for name in names})
    dtype = "float16" if _check.flag("fp16", fp16) else _dtype(img_dtype)
    ranks = {} if _check.flag("distributed", distributed) else {"rank": 0, "world_size": 1}
    last = {} if "drop_last" in more else {"last_batch": "drop" if is_training else "repeat" if distributed else "short"}
    loader = Loader(
        dataset, batch_size, bool(is_training), transform=transform, num_workers=num_workers, dtype=dtype,
        device="auto" if device is None else device, **last | ranks | more,
    )  # fmt: skip
    loader.mean, loader.std = (_channels(values, dtype, _place(loader)) for values in (mean, std))
    return loader


def _place(loader):
    """Returns the device of the loader's batches."""
    return torch.device(loader.stats()["device"] if loader._handle.on_device else "cpu")


def _channels(values, dtype, device):
    """Returns one number for each channel, as timm's PrefetchLoader has them."""
    return torch.tensor([255 * x for x in values], dtype=getattr(torch, dtype), device=device).view(1, 3, 1, 1)


def create_transform(
    input_size: int | Sequence[int] = 224, is_training: bool = False, no_aug: bool = False, *, re_prob: float = 0.0, re_mode: str = "const",
    re_count: int = 1, scale: Sequence[float] | None = None, ratio: Sequence[float] | None = None, hflip: float = 0.5, vflip: float = 0.0,
    color_jitter: Any = 0.4, color_jitter_prob: float | None = None, grayscale_prob: float | None = 0.0, gaussian_blur_prob: float | None = 0.0,
    auto_augment: str | None = None, interpolation: str = "bilinear", mean: Sequence[float] = MEAN, std: Sequence[float] = STD,
    crop_pct: float | None = None, crop_mode: str | None = None,
) -> T.Compose:  # fmt: skip
    """Makes timm's transform from sluice.transforms, with ToTensor, Normalize and erasing at the end.

    Args:
        input_size: side, (height, width) or (3, height, width), in pixels [224].
        is_training: True augments [False].
        no_aug: as in create_loader [False].
        re_prob: as in create_loader [0].
        re_mode: as in create_loader ['const'].
        re_count: as in create_loader [1].
        scale: as in create_loader [0.08, 1].
        ratio: as in create_loader [3/4, 4/3].
        hflip: as in create_loader [0.5].
        vflip: as in create_loader [0].
        color_jitter: as in create_loader [0.4].
        color_jitter_prob: as in create_loader [1].
        grayscale_prob: as in create_loader [0].
        gaussian_blur_prob: as in create_loader [0].
        auto_augment: as in create_loader [none].
        interpolation: as in create_loader ['bilinear'].
        mean: as in create_loader [ImageNet's].
        std: as in create_loader [ImageNet's].
        crop_pct: as in create_loader [0.875].
        crop_mode: as in create_loader [None].

    Returns:
        The transform.

    Raises:
        ValueError: an argument is out of range or not supported.

    Example:
        >>> sluice.timm.create_transform(32)(image).shape
        (32, 32, 3)
    """
    size = _size(input_size)
    probabilities = {"re_prob": re_prob, "hflip": hflip, "vflip": vflip, "grayscale_prob": grayscale_prob or 0}
    for name, p in (probabilities | {"gaussian_blur_prob": gaussian_blur_prob or 0}).items():
        _check.number(name, p)
    end = [T.ToTensor(), T.Normalize(mean, std)]
    if not _check.flag("is_training", is_training):
        return T.Compose([*_evaluation(size, _check.number("crop_pct", crop_pct or CROP_PCT), crop_mode, interpolation), *end])
    if _check.flag("no_aug", no_aug):
        way = "bilinear" if interpolation == "random" else interpolation
        return T.Compose([T.Resize(size if size[0] != size[1] else size[0], way), T.CenterCrop(size), *end])
    steps = [_crop(size, scale, ratio, interpolation)]
    steps += [kind(p) for kind, p in ((T.RandomHorizontalFlip, hflip), (T.RandomVerticalFlip, vflip)) if p > 0]
    if auto_augment:
        steps.append(_policy(auto_augment, interpolation, mean))
    if color_jitter is not None and (not auto_augment or "3a" in auto_augment):
        steps.append(_jitter(color_jitter, color_jitter_prob))
    if grayscale_prob:
        steps.append(T.RandomGrayscale(grayscale_prob))
    if gaussian_blur_prob:
        steps.append(T.RandomApply([T.GaussianBlur(BLUR_KERNEL)], gaussian_blur_prob))
    if re_prob > 0:
        end.append(T.RandomErasing.timm(re_prob, mode=re_mode, max_count=re_count))
    return T.Compose(steps + end)


def _size(input_size):
    """Returns (height, width)."""
    wanted = "a side, (height, width) or (3, height, width)"
    given = [input_size] * 2 if hasattr(input_size, "__index__") else _check.items("input_size", input_size, wanted)
    size = tuple(_check.integer("input_size", side, 1, 65535) for side in given)
    if len(size) not in (2, 3):
        raise ValueError(f"input_size={size!r}: expected {wanted}")
    if len(size) == 3 and size[0] != 3:
        raise ValueError(f"input_size={size!r}: images have 3 channels")
    return size[-2:]


def _pair(name, value, default):
    """Returns (lowest, highest)."""
    numbers = tuple(_check.number(name, number) for number in _check.items(name, value or default, "two numbers"))
    if len(numbers) != 2:
        raise ValueError(f"{name}={value!r}: expected two numbers")
    return numbers


def _dtype(img_dtype):
    """Returns the name of a torch.dtype or a text; None: float32."""
    named = "float32" if img_dtype is None else str(img_dtype).removeprefix("torch.")
    if named not in DTYPES:
        raise ValueError(f"img_dtype={img_dtype!r}: expected {', '.join(f'torch.{name}' for name in DTYPES)}")
    return named


def _crop(size, scale, ratio, interpolation):
    scale, ratio = _pair("scale", scale, (0.08, 1.0)), _pair("ratio", ratio, (3 / 4, 4 / 3))
    ways = ("bilinear", "bicubic") if interpolation == "random" else (interpolation,)
    crops = [T.RandomResizedCrop(size, scale, ratio, interpolation=way) for way in ways]
    return crops[0] if len(crops) == 1 else T.RandomChoice(crops)


def _policy(name, interpolation, mean):
    _check.text("auto_augment", name)
    kind = T.RandAugment if name.startswith("rand") else T.AugMix if name.startswith("augmix") else T.AutoAugment
    fill = None if tuple(mean) == MEAN else tuple(min(255, round(255 * x)) for x in mean)
    return kind.timm(name, None if interpolation == "random" else interpolation, fill)


def _jitter(values, p):
    values = values if isinstance(values, (list, tuple)) else (values,) * 3
    jitter = T.ColorJitter(*(_check.number("color_jitter", value) for value in values))
    return jitter if p is None else T.RandomApply([jitter], p)


def _evaluation(size, crop_pct, crop_mode, interpolation):
    larger = tuple(math.floor(side / crop_pct) for side in size)
    if crop_mode != "squash":
        if larger[0] != larger[1]:
            raise ValueError(f"input_size={size!r} is not square: write crop_mode='squash'")
        larger = larger[0]
    return [T.Resize(larger, interpolation), T.CenterCrop(size)]

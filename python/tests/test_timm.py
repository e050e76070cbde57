# SPDX-License-Identifier: Apache-2.0
"""sluice.timm.create_loader: the calls of timm's train.py, its pixels compared with torchvision's, and its transforms by name."""
import pathlib
import runpy
import sys
import types

import numpy
import pytest
import training
from PIL import Image

import sluice
from sluice import transforms as T

torch = pytest.importorskip("torch")
import sluice.timm  # noqa: E402

create = sluice.timm.create_loader
MEAN = (0.485, 0.456, 0.406)


def test_what_train_py_does(data):
    """The calls of an epoch of training and one of validation."""
    loader = create(data, (3, 32, 32), 8, is_training=True, num_workers=1, re_prob=0.2, auto_augment="rand-m9-mstd0.5-inc1", device="cpu", seed=3)
    if loader.mixup_enabled:
        raise AssertionError
    loader.mixup_enabled = False
    seen = []
    for epoch in range(2):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        for number, (images, labels) in enumerate(loader):
            assert images.shape == (8, 3, 32, 32) and images.dtype == torch.float32 and labels.dtype == torch.int64
            seen += labels.tolist()
        assert number == len(loader) - 1 == 3
    assert len(seen) == 64 and loader.mean.shape == (1, 3, 1, 1) and loader.mean[0, 0, 0, 0] == torch.tensor(255 * MEAN[0])
    val = create(data, 32, 8, num_workers=1, device="cpu", img_dtype=torch.float16)
    assert sum(len(labels) for _, labels in val) == len(data) and next(iter(val))[0].dtype == torch.float16
    assert [labels.tolist() for _, labels in val][0] == data.targets[:8]
    with pytest.raises(ValueError, match="this loader does not mix: FastCollateMixup mixes in worker processes: run train.py with --no-prefetcher"):
        loader.mixup_enabled = True


def test_what_train_py_passes(data):
    """The defaults of its options. After 1.0.28, these are those of --train-img-sizes, too, and it sets the epoch with one process."""
    loader = create(
        data, mean=MEAN, std=(0.229, 0.224, 0.225), pin_memory=False, img_dtype=torch.float32, distributed=False, use_prefetcher=True, no_aug=False,
        re_prob=0.0, re_mode="pixel", re_count=1, re_split=False, train_crop_mode=None, scale=[0.08, 1.0], ratio=[3 / 4, 4 / 3], hflip=0.5, vflip=0.0,
        color_jitter=0.4, color_jitter_prob=None, grayscale_prob=None, gaussian_blur_prob=None, auto_augment=None, num_aug_repeats=0,
        num_aug_splits=0, interpolation="random", num_workers=1, worker_seeding="all", collate_fn=None, use_multi_epochs_loader=False, input_size=(3, 32, 32), input_size_choices=None, batch_size_choices=None, batch_choice_weights=None, batch_choice_seed=42,
        batch_choice_schedule="constant", batch_schedule_epochs=None, batch_schedule_spread=0.65, batch_schedule_random_mix=0.1,
        num_batches=None, batch_size=8, is_training=True, device=torch.device("cpu"),
    )  # fmt: skip
    assert not hasattr(loader.dataset, "set_epoch") and not hasattr(loader.batch_sampler, "set_epoch")
    loader.sampler.set_epoch(3)
    assert len(loader) == 4 and next(iter(loader)).epoch == 3


def test_mean_and_std_are_as_the_images(data):
    for arguments, dtype in (({}, torch.float32), ({"fp16": True}, torch.float16), ({"img_dtype": torch.bfloat16}, torch.bfloat16)):
        loader = create(data, 32, 8, device="cpu", **arguments)
        images, _ = next(iter(loader))
        assert {tensor.dtype for tensor in (images, loader.mean, loader.std)} == {dtype}
        assert {tensor.device.type for tensor in (images, loader.mean, loader.std)} == {"cpu"}
    there = types.SimpleNamespace(_handle=types.SimpleNamespace(on_device=True), stats=lambda: {"device": "cuda:1"})
    assert sluice.timm._place(there) == torch.device("cuda:1")
    assert sluice.timm._channels(MEAN, "float16", torch.device("meta")).device.type == "meta"


def test_the_example(tmp_path, monkeypatch, capsys):
    """It learns two classes that differ in colour."""
    training.colours(tmp_path, "train", 16)
    training.colours(tmp_path, "val", 6)
    program = pathlib.Path(__file__).parents[2] / "examples" / "timm_train.py"
    monkeypatch.setattr(sys, "argv", [str(program), str(tmp_path / "train"), str(tmp_path / "val"), "--size", "32", "--epochs", "8"])
    runpy.run_path(str(program), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8 and lines[-1] == "epoch 7: 12 of 12 right"


def test_evaluation_is_torchvisions(data):
    vision = pytest.importorskip("torchvision.transforms")
    theirs = vision.Compose([vision.Resize(36), vision.CenterCrop(32), vision.ToTensor(), vision.Normalize(MEAN, (0.229, 0.224, 0.225))])
    images = next(iter(create(data, 32, 8, device="cpu", exact=True)))[0]
    for i, image in enumerate(images):
        assert (theirs(Image.open(data.samples[i][0]).convert("RGB")) - image).abs().max() < 0.05
    squashed = next(iter(create(data, (24, 32), 8, crop_pct=1.0, crop_mode="squash", device="cpu")))[0]
    assert squashed.shape == (8, 3, 24, 32)


def test_transforms():
    make = lambda **arguments: [type(step).__name__ for step in sluice.timm.create_transform(32, True, **arguments).transforms]
    end = ["ToTensor", "Normalize"]
    assert make() == ["RandomResizedCrop", "RandomHorizontalFlip", "ColorJitter", *end]
    assert make(auto_augment="rand-m9", re_prob=0.1) == ["RandomResizedCrop", "RandomHorizontalFlip", "TimmAugment", *end, "RandomErasing"]
    assert make(auto_augment="3a", color_jitter=0.3, interpolation="random")[:4] == ["RandomChoice", "RandomHorizontalFlip", "TimmAugment", "ColorJitter"]
    assert make(hflip=0.0, vflip=0.5, color_jitter=None, grayscale_prob=0.2, gaussian_blur_prob=0.1, mean=(0.5,) * 3, std=(0.5,) * 3) == [
        "RandomResizedCrop", "RandomVerticalFlip", "RandomGrayscale", "RandomApply", *end]  # fmt: skip
    assert make(color_jitter=(0.1, 0.2, 0.3, 0.1), color_jitter_prob=0.8)[2] == "RandomApply" and make(no_aug=True) == ["Resize", "CenterCrop", *end]
    assert make(auto_augment="augmix-m5-w4-d2", mean=(0.5,) * 3, interpolation="bicubic")[2] == "TimmAugment"
    assert make(auto_augment="original-mstd0.5")[2] == "TimmAugment"
    assert isinstance(T.Compose(sluice.timm.create_transform(32).transforms), T.Compose)


def test_ranks(data, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert create(data, 32, 8, device="cpu").world_size == 1
    val = create(data, 32, 8, distributed=True, device="cpu")
    assert (val.rank, val.world_size) == (1, 2) and [len(labels) for _, labels in val] == [8, 8, 8]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"collate_fn": print}, "run train.py with --no-prefetcher"),
        ({"num_aug_repeats": 3}, "num_aug_repeats=3: leave num_aug_repeats out, and give repeats=3"),
        ({"num_aug_splits": 3}, "leave num_aug_splits out"),
        ({"re_split": True}, "leave re_split out"),
        ({"train_crop_mode": "rkrc"}, "only 'rrc'"),
        ({"crop_mode": "border"}, "only 'center' and 'squash'"),
        ({"crop_border_pixels": 2}, "leave crop_border_pixels out"),
        ({"tf_preprocessing": True}, "leave tf_preprocessing out"),
        ({"is_training": True, "input_size_choices": [32, 64]}, "leave input_size_choices out"),
        ({"input_size": (1, 32, 32)}, "images have 3 channels"),
        ({"input_size": (24, 32)}, "write crop_mode='squash'"),
        ({"is_training": True, "re_prob": 0.1, "re_mode": "rand"}, "mode"),
        ({"input_size": (3, 3, 32, 32)}, r"expected a side, \(height, width\) or \(3, height, width\)"),
        ({"img_dtype": torch.int8}, "img_dtype=torch.int8: expected torch.float32, torch.float16, torch.bfloat16"),
        ({"is_training": True, "ratio": (1, 2, 3)}, r"ratio=\(1, 2, 3\): expected two numbers"),
    ],
)
def test_what_is_refused(data, arguments, words):
    with pytest.raises(ValueError, match=words):
        create(data, **{"input_size": 32, "batch_size": 8, "device": "cpu"} | arguments)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"input_size": "32"}, "expected a side, "),
        ({"is_training": "False"}, "is_training='False': expected True or False"),
        ({"fp16": "yes"}, "fp16='yes': expected True or False"),
        ({"crop_pct": "0.9"}, "crop_pct='0.9': expected a number"),
        ({"is_training": True, "hflip": "0.5"}, "hflip='0.5': expected a number"),
        ({"is_training": True, "scale": 0.5}, "scale=0.5: expected two numbers"),
        ({"is_training": True, "color_jitter": "0.4"}, "color_jitter='0.4': expected a number"),
        ({"is_training": True, "auto_augment": 7}, "auto_augment=7: expected a text"),
    ],
)
def test_another_type(data, arguments, words):
    with pytest.raises(TypeError, match=words):
        create(data, **{"input_size": 32, "batch_size": 8, "device": "cpu"} | arguments)


def test_drop_last(data):
    assert len(create(data, 32, 8, device="cpu", drop_last=True)) == 4 and len(create(data, 32, 8, True, device="cpu", drop_last=False)) == 5


def test_a_loader_is_no_dataset(data):
    with pytest.raises(TypeError, match="expected a sluice.Dataset, a path or a list of paths"):
        create(create(data, 32, 8, device="cpu"), 32, 8)


def test_a_dataset_of_timm():
    with pytest.raises(TypeError, match="give the folder itself"):
        create(types.SimpleNamespace(reader=numpy), 32, 8)

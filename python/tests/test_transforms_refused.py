# SPDX-License-Identifier: Apache-2.0
"""Invalid transforms: arguments, their ranges and types, and the texts of the errors."""
import inspect

import numpy
import pytest

import sluice
from sluice import transforms as T


def steps(*transforms):
    return T.recipe(T.Compose(transforms))[:2]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: T.RandomResizedCrop(3, interpolation="box"), "interpolation='box': expected 'nearest'"),
        (lambda: T.RandomResizedCrop(3, interpolation="bicubik"), "mean 'bicubic'"),
        (lambda: T.RandomResizedCrop(3, interpolation="random"), "RandomChoice"),
        (lambda: T.RandomResizedCrop(3, antialias=False), "antialiased"),
        (lambda: T.RandomRotation(3, "lanczos"), "for a warp, expected"),
        (lambda: T.RandomRotation(3, expand=True), "Pad before"),
        (lambda: T.RandomRotation(3, center=(1, 1)), "expected None, the centre of the image"),
        (lambda: T.RandomRotation(-3), "two"),
        (lambda: T.RandomRotation((3, 2)), "lowest value first"),
        (lambda: T.RandomAffine(0, (2, 0)), "divide"),
        (lambda: T.RandomAffine(0, shear=(1, 2, 3)), "four"),
        (lambda: T.Resize(3, max_size=3), "4 to"),
        (lambda: T.Resize((3, 4), max_size=9), "one int"),
        (lambda: T.Resize(None, max_size=9), "longer side"),
        (lambda: T.RandomCrop(3, padding=(1, 2, 3)), "left"),
        (lambda: T.RandomCrop(3, fill=0.5), "8-bit"),
        (lambda: T.RandomCrop(3, fill=(1, 2)), "three"),
        (lambda: T.RandomCrop(3, padding_mode="mirror"), "'reflect'"),
        (lambda: T.RandomShortestSize([]), "1 to 14"),
        (lambda: T.RandomShortestSize(range(1, 16)), "1 to 14"),
        (lambda: T.RandomShortestSize([8, 0]), "min_size=0"),
        (lambda: T.RandomShortestSize(8, 20000), "max_size=20000"),
        (lambda: T.ScaleJitter(8, (2, 1)), "lowest value first"),
        (lambda: T.ScaleJitter(8, (0, 1)), "scale_range=.*above 0"),
        (lambda: T.ScaleJitter(8, (1, 1001)), "scale_range=.*1000"),
        (lambda: T.ScaleJitter(8, (float("nan"), 1)), "scale_range=.*first"),
        (lambda: T.ScaleJitter((1, 2, 3)), "target_size=.*height"),
        (lambda: T.FixedSizeCrop(8, padding_mode="mirror"), "'reflect'"),
        (lambda: T.LetterBox(8, position="middle"), "'top-left'"),
        (lambda: T.LetterBox(8, fill=256), "8-bit"),
        (lambda: T.RandomZoomOut(side_range=(0.5, 2)), "side_range=.*from 1 to 1000"),
        (lambda: T.RandomZoomOut(side_range=(1, float("inf"))), "side_range=.*from 1 to 1000"),
        (lambda: T.RandomZoomOut(p=2), "probability"),
        (lambda: T.RandomIoUCrop(0.5, 0.4), "min_scale=0.5, max_scale=0.4"),
        (lambda: T.RandomIoUCrop(max_scale=1.5), "max_scale=1.5"),
        (lambda: T.RandomIoUCrop(max_aspect_ratio=float("nan")), "max_aspect_ratio=nan"),
        (lambda: T.RandomIoUCrop(sampler_options=[]), "1 to 11"),
        (lambda: T.RandomIoUCrop(sampler_options=[-0.1]), "1 to 11 overlaps, 0 or more"),
        (lambda: T.RandomIoUCrop(trials=501), "trials=501: expected an integer, 1 to 500"),
        (lambda: T.ColorJitter((0, 1001)), "to 1000"),
        (lambda: T.ColorJitter(hue=0.6), "0.5"),
        (lambda: T.ColorJitter((1.5, 0.5)), "lowest value first"),
        (lambda: T.RandomHsv(1.1), "hue=1.1: expected 0 to 1"),
        (lambda: T.RandomHsv(0, -0.1), "saturation=-0.1"),
        (lambda: T.RandomHsv(value=float("nan")), "value=nan"),
        (lambda: T.Grayscale(), "write 3"),
        (lambda: T.GaussianBlur(4), "odd"),
        (lambda: T.GaussianBlur(3, 0), "above 0"),
        (lambda: T.RandomGrayscale(1.5), "probability"),
        (lambda: T.RandomSolarize(300), "256"),
        (lambda: T.RandomErasing(value="pixel"), "'random'"),
        (lambda: T.RandomErasing.timm(mode="rand"), "'pixel'"),
        (lambda: T.AutoAugment("original"), "AutoAugment.timm"),
        (lambda: T.RandAugment.timm("augmix-m5"), "AugMix.timm"),
        (lambda: T.RandAugment.timm("rand-m9-foo"), "foo"),
        (lambda: T.RandAugment(magnitude=31), "0 to 30"),
        (lambda: T.RandomChoice([]), "expected at least one transform"),
        (lambda: T.RandomChoice([T.JPEG(3)] * 17), "16"),
        (lambda: T.RandomChoice([T.JPEG(3)] * 2, p=[1]), "2 weights"),
        (lambda: T.RandomChoice([T.JPEG(3)] * 2, p=[0, 0]), "not all"),
        (lambda: T.ThreeAugment((3, 4), simple_crop=True), "one int"),
        (lambda: T.MixUp(alpha=0), "above 0"),
        (lambda: T.MixUp.timm(mode="element"), "'elem'"),
        (lambda: T.presets.resnet_strikes_back("B1"), "'A1'"),
        (lambda: T.presets.torchvision_vit("vit_h_14"), "'vit_b_16'"),
        (lambda: T.Normalize([1], [1]), "three"),
        (lambda: T.ToDtype("float32"), "scale=True"),
        (lambda: T.RandomResizedCrop((1, 2, 3)), "height"),
        (lambda: T.RandomResizedCrop(8.5), "height"),
    ],
)
def test_what_there_is_not(make, words):
    with pytest.raises(ValueError, match=words):
        make()
    with pytest.raises(TypeError, match="changes images only"):
        T.Pad(3, fill={int: 3})


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: T.RandAugment(0), "num_ops=0: expected an integer, 1 to 16"),
        (lambda: T.RandAugment(17), "num_ops=17: expected an integer, 1 to 16"),
        (lambda: T.RandAugment(num_magnitude_bins=1001), "num_magnitude_bins=1001: expected an integer, 2 to 1000"),
        (lambda: T.TrivialAugmentWide(1), "num_magnitude_bins=1: expected an integer, 2 to 1000"),
        (lambda: T.AugMix(3, 0), "mixture_width=0: expected an integer, 1 to 8"),
        (lambda: T.AugMix(3, 3, -2), "chain_depth=-2: expected an integer, -1 to 8"),
        (lambda: T.AugMix(11), "severity=11: expected an integer, 1 to 10"),
        (lambda: T.RandomPosterize(9), "bits=9: expected an integer, 0 to 8"),
        (lambda: T.JPEG(101), "quality=101: expected an integer, 1 to 100"),
        (lambda: T.JPEG((9, 8)), r"quality=\(9, 8\): expected the lowest value first"),
        (lambda: T.RandomErasing.timm(min_count=9), "min_count=9: expected an integer, 1 to 8"),
        (lambda: T.RandomErasing.timm(min_count=3, max_count=2), "max_count=2: expected min_count=3 or more"),
        (lambda: T.ColorJitter(-1), "brightness=-1: expected one number, 0 to 999, or two, the lowest and the highest factor, 0 to 1000"),
        (lambda: T.ColorJitter(hue=-0.1), "hue=-0.1: expected one number, 0 to 0.5, or two, the lowest and the highest rotation, -0.5 to 0.5"),
        (lambda: T.ColorJitter(hue=(-0.6, 0)), r"hue=\(-0.6, 0\): expected one number, 0 to 0.5"),
        (lambda: T.ColorJitter(saturation=float("nan")), "saturation=nan: expected one number, 0 to 999"),
        (lambda: T.Normalize([1e300] * 3, [1] * 3), r"mean=.*: expected numbers from -3.403e\+38 to 3.403e\+38"),
        (lambda: T.Normalize([float("nan")] * 3, [1] * 3), "mean=.*: expected numbers from"),
        (lambda: T.Normalize([0] * 3, [1, 1, 1e-46]), r"std=.*: expected numbers above 0, from 1.401e-45 to 3.403e\+38"),
        (lambda: T.Normalize([0] * 3, [1, 0, 1]), "std=.*: expected numbers above 0"),
    ],
)
def test_ranges_are_the_librarys(make, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        make()


def test_ends_of_ranges_are_in_them(data):
    jitter = T.ColorJitter(999, (0, 1000), hue=(-0.5, 0.5))
    erasing = T.RandomErasing.timm(min_count=8)
    ends = [jitter, T.ColorJitter(999, hue=0.5), T.RandAugment(1, 0, 2), T.RandAugment(16, 999, 1000), T.AugMix(10, 8, 8), T.AugMix(1, 1, -1), T.JPEG(100), T.RandomPosterize(8)]
    least = T.Normalize([-3.4e38] * 3, [1e-45] * 3)
    for one in [*ends, least, T.Compose([T.Normalize([0] * 3, [3.4e38] * 3), erasing])]:
        sluice.Loader(data, transform=[T.RandomCrop(8, 9), one]).close()


@pytest.mark.parametrize("dtype", ["float64", "", "int64", numpy.int8, 3, "fp16"])
def test_dtypes_that_pictures_cannot_have(data, dtype):
    said = "images can be uint8, float32, float16, bfloat16(; did you mean '.*'.)?$"
    with pytest.raises(ValueError, match=f"^unknown dtype {dtype!r}: {said}"):
        T.ToDtype(dtype, scale=True)
    for mixing in ([], [T.MixUp(num_classes=3)]):
        with pytest.raises(ValueError, match=said):
            sluice.Loader(data, transform=[T.RandomCrop(8), *mixing], dtype=dtype)
    assert T.ToDtype(numpy.float16, scale=True).dtype is numpy.float16


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda: T.MixUp(0.2), TypeError, r"MixUp\(0.2\): .* MixUp\(alpha=0.2\)"),
        (lambda: T.CutMix(1), TypeError, r"CutMix\(1\): .* CutMix\(alpha=1\)"),
        (lambda: T.GaussianBlur((3, 5, 7)), ValueError, r"kernel_size=\(3, 5, 7\): expected an int or \(across, down\)"),
        (lambda: T.GaussianBlur(257), ValueError, "kernel_size=257: expected odd numbers, 1 to 255"),
        (lambda: T.RandomErasing.timm(min_area=0.5), ValueError, "min_area=0.5, max_area=0.33.*: expected fractions of the image's area"),
        (lambda: T.RandomErasing.timm(max_area=1.5), ValueError, "min_area=0.02, max_area=1.5: expected fractions of the image's area"),
        (lambda: T.RandomErasing.timm(max_aspect=0.1), ValueError, "min_aspect=0.3, max_aspect=0.1: expected the lowest"),
        (lambda: steps("random_flip"), TypeError, r"'random_flip' is of type str: expected .*RandomHorizontalFlip\(...\) does 'random_flip'"),
        (lambda: steps("CenterCrops"), TypeError, "'CenterCrops' is of type str: expected .*did you mean 'CenterCrop'"),
        (lambda: steps(T.RandomCrop(3), None), TypeError, "transform: None is of type NoneType: expected .*list of them$"),
        (lambda: steps([T.RandomCrop(3), 224]), TypeError, "transform: 224 is of type int: expected "),
        (lambda: steps(T.CenterCrop), TypeError, r"CenterCrop is a class: expected an instance, CenterCrop\(...\)"),
        (lambda: steps(T.presets.mae), TypeError, r"presets.mae is a function: write presets.mae\("),
        (lambda: T.MixUp(p=0.5), TypeError, "MixUp has no argument 'p': the arguments are alpha, num_classes, labels_getter, end_epoch; "),
        (lambda: T.presets.mae_eval((32, 32)), TypeError, r"size=\(32, 32\): expected an integer, 1 to 16384"),
        (lambda: T.presets.resnet_strikes_back_eval("a"), TypeError, "size='a': expected an integer"),
        (lambda: T.presets.deit3_eval(224, 0), ValueError, "crop_ratio=0: expected"),
        (lambda: T.presets.deit3_eval(224, "a"), TypeError, "crop_ratio='a': expected a number"),
    ],
)
def test_errors_name_what_was_given(make, kind, words):
    with pytest.raises(kind, match=words):
        make()
    assert str(inspect.signature(T.MixUp)).startswith("(*, alpha: 'float' = 1.0, num_classes")  # as shown by help()
    assert T.presets.mae_eval(256).transforms[0].size == 256 and T.presets.mae_eval(224).transforms[0].size == 256


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: T.RandAugment.timm("rand-m9\0-n3"), r"'rand-m9\\x00-n3' contains a NUL character"),
        (lambda: T.RandAugment.timm("rand-m9\0-n3", fill=3), "a NUL"),
        (lambda: T.RandomResizedCrop(True), r"size=True: expected an int or \(height, width\)"),
        (lambda: T.CenterCrop((8, True)), r"size=\(8, True\): expected an int or"),
        (lambda: T.GaussianBlur(True), "kernel_size=True: expected an int or"),
        (lambda: T.MixUp(labels_getter=""), "labels_getter='': expected the name"),
        (lambda: T.MixUp(labels_getter="", num_classes=3), "labels_getter='': expected the name"),
        (lambda: T.CutMix(labels_getter="nothing"), "labels_getter='nothing': labels are mixed only with num_classes="),
    ],
)
def test_what_was_taken_without_a_word(data, make, words):
    with pytest.raises(ValueError, match=words):
        make()
    for step in (("timm", "rand-m9\0-n3"), ("random_flip\0", 1), ("random_crop", 9, 9, 0, "edge\0")):
        with pytest.raises(ValueError, match="a NUL"):
            sluice._sluice.Loader(data._handle, {}, [("random_crop", 8, 8), step], None, 0, (), False)

# SPDX-License-Identifier: Apache-2.0
"""Transforms: from torchvision's names to the library's steps, and errors."""
import functools

import numpy
import pytest

import sluice
from sluice import transforms as T


def steps(*transforms):
    return T.recipe(T.Compose(transforms))[:2]


def step(transform):
    """Returns the step of a transform after a crop."""
    return steps(T.RandomCrop(8), transform)[0][1]


def test_steps():
    crop = ("random_resized_crop", 224, 224, 0.08, 1.0, 0.75, 4 / 3, "bilinear")
    assert steps(T.RandomResizedCrop(224)) == ([crop], "uint8")
    assert steps(T.RandomResizedCrop((20, 30), (0.1, 0.5)))[0][0][:5] == ("random_resized_crop", 30, 20, 0.1, 0.5)
    assert steps(T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(0.3))[0] == [
        ("random_crop", 32, 32, 4, "constant", 0, 0, -1, -1),
        ("random_flip", 0.3),
    ]
    made, dtype = steps(T.RandomCrop(8), T.ColorJitter(0.4, 0.3, 0.2), T.ToDtype("float16", scale=True))
    assert made[1] == ("color_jitter", 0.4, 0.3, 0.2, 0.0) and dtype == "float16"
    assert steps(T.RandomCrop(8), T.ToTensor(), T.Normalize([1, 2, 3], [4, 5, 6]))[0][1] == ("normalize", 1, 2, 3, 4, 5, 6)


def test_resizes():
    shorter = ("resize_shorter", 200, 0, "bicubic")
    assert steps(T.Resize(256), T.CenterCrop(224))[0] == [("resize_center_crop", 256, 224, 224, "bilinear")]
    assert steps(T.Resize([200], 3), T.CenterCrop(224))[0] == [shorter, ("center_crop", 224, 224)]
    assert steps(T.Resize(200, 3), T.RandomGrayscale(), T.CenterCrop(99))[0][0] == shorter
    assert steps(T.Resize(200, max_size=300), T.RandomCrop(9))[0][0] == ("resize_shorter", 200, 300, "bilinear")
    assert steps(T.Resize((3, 4), "lanczos"))[0] == [("resize", 4, 3, "lanczos")]
    assert steps(T.RandomResize(3, 9), T.RandomCrop(2))[0][0] == ("random_resize", 3, 9, "bilinear")


def test_interpolations():
    class Mode:  # torchvision's
        value = "nearest-exact"

    for given, word in (("Bicubic", "bicubic"), (3, "bicubic"), (0, "nearest"), (1, "lanczos"), (Mode, "nearest"), (None, "bilinear")):
        assert T.RandomResizedCrop(3, interpolation=given).interpolation == word
    assert T.RandomResizedCrop(3, interpolation="nearest", antialias=False)
    assert T.RandomRotation(3, None).interpolation == "nearest" and T.RandomAffine(0, interpolation=2).interpolation == "bilinear"


@pytest.mark.parametrize(
    "transform, expected",
    [
        (T.Pad(3), ("pad", 3, 3, 3, 3, "constant", 0, -1, -1)),
        (T.Pad((1, 2), 7), ("pad", 1, 2, 1, 2, "constant", 7, -1, -1)),
        (T.Pad([1, 2, 3, 4], (5, 6, 7), "reflect"), ("pad", 1, 2, 3, 4, "reflect", 5, 6, 7)),
        (T.RandomRotation(30), ("random_rotation", -30, 30, "nearest", 0, -1, -1)),
        (T.RandomRotation((10, 20), 2, fill=None), ("random_rotation", 10, 20, "bilinear", 0, -1, -1)),
        (T.RandomAffine(0), ("random_affine", 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, "nearest", 0, -1, -1)),
        (
            T.RandomAffine((1, 2), (0.1, 0.2), (0.5, 2), 10, "bicubic", [9]),
            ("random_affine", 1, 2, 0.1, 0.2, 0.5, 2, -10, 10, 0, 0, "bicubic", 9, -1, -1),
        ),
        (T.RandomAffine(0, shear=(1, 2)), ("random_affine", 0, 0, 0, 0, 1, 1, 1, 2, 0, 0, "nearest", 0, -1, -1)),
        (T.RandomAffine(0, shear=(1, 2, 3, 4)), ("random_affine", 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, "nearest", 0, -1, -1)),
        (T.RandomPerspective(), ("random_perspective", 0.5, 0.5, "bilinear", 0, -1, -1)),
        (T.FixedSizeCrop((9, 7)), ("fixed_size_crop", 7, 9, "constant", 0, -1, -1)),
        (T.FixedSizeCrop(7, (1, 2, 3), "edge"), ("fixed_size_crop", 7, 7, "edge", 1, 2, 3)),
        (T.LetterBox((9, 7)), ("letter_box", 7, 9, 114, -1, -1, 1, "center", "bilinear")),
        (T.LetterBox(7, 0, False, "top-left", 3), ("letter_box", 7, 7, 0, -1, -1, 0, "top-left", "bicubic")),
        (T.ColorJitter(hue=0.1), ("color_jitter", 0, 0, 0, 0.1)),
        (T.ColorJitter(0.5, (0.1, 2), hue=(-0.1, 0.2)), ("color_jitter_ranges", 0.5, 1.5, 0.1, 2, 1, 1, -0.1, 0.2)),
        (T.ColorJitter((2, 2)), ("color_jitter_ranges", 2, 2, 1, 1, 1, 1, 0, 0)),
        (T.ColorJitter(3, saturation=(1, 1)), ("color_jitter_ranges", 0, 4, 1, 1, 1, 1, 0, 0)),
        (T.RandomHsv(), ("random_hsv", 0.015, 0.7, 0.4)),
        (T.RandomHsv(0, value=1), ("random_hsv", 0, 0.7, 1)),
        (T.Grayscale(3), ("random_grayscale", 1)),
        (T.RandomGrayscale(), ("random_grayscale", 0.1)),
        (T.RandomPosterize(3), ("random_posterize", 3, 0.5)),
        (T.RandomSolarize(128, 1), ("random_solarize", 128, 1)),
        (T.RandomSolarizeAdd(30), ("random_solarize_add", 30, 128, 0.5)),
        (T.RandomChannelPermutation(), ("random_channel_permutation",)),
        (T.GaussianBlur(5), ("gaussian_blur", 5, 5, 0.1, 2)),
        (T.GaussianBlur((3, 7), 1), ("gaussian_blur", 3, 7, 1, 1)),
        (T.PillowGaussianBlur(2), ("pillow_blur", 2, 2)),
        (T.RandomAdjustSharpness(2), ("random_sharpness", 2, 0.5)),
        (T.JPEG(50), ("jpeg", 50, 50)),
        (T.JPEG((5, 50)), ("jpeg", 5, 50)),
        (T.RandAugment(3, 5, fill=[1, 2, 3]), ("rand_augment", 3, 5, 31, "nearest", 1, 2, 3)),
        (T.AutoAugment("svhn"), ("auto_augment", "svhn", "nearest", 0, -1, -1)),
        (T.AugMix(), ("aug_mix", 3, 3, -1, 1, 1, "bilinear", 0, -1, -1)),
        (T.RandAugment.timm("rand-m9-mstd0.5-inc1"), ("timm", "rand-m9-mstd0.5-inc1")),
        (
            T.RandAugment.timm("rand-m9-mstd0.5-inc1", "bicubic", fill=(1, 2, 3)),
            ("timm_augment", 0, 1, 2, 9, 10, 0.5, 0.5, 3, 0, 1, 0, 0.45, 2, 1, 2, 3),
        ),
        (T.RandomApply([T.JPEG(5), T.Grayscale(3)], 0.2), ("random_apply", (0.2,), (("jpeg", 5, 5), ("random_grayscale", 1)))),
        (T.RandomApply(T.JPEG(5)), ("random_apply", (0.5,), (("jpeg", 5, 5),))),
        (
            T.RandomChoice([T.Grayscale(3), T.Compose([T.JPEG(5), T.JPEG(9)])], p=[1, 3]),
            ("random_choice", (1, 3), (("random_grayscale", 1), ("sequence", (), (("jpeg", 5, 5), ("jpeg", 9, 9))))),
        ),
        (T.MixUpPartner(), ("mixup_partner", 32, 1, 0)),
        (T.MixUpPartner(0.2, 0.5, 90), ("mixup_partner", 0.2, 0.5, 90)),
        (T.RandomOrder([T.JPEG(5), [T.JPEG(9)]]), ("random_order", (), (("jpeg", 5, 5), ("jpeg", 9, 9)))),
    ],
)
def test_steps_of_each(data, transform, expected):
    assert step(transform) == expected
    sluice.Loader(data, transform=[T.RandomCrop(8, 9), transform]).close()  # the library accepts it


@pytest.mark.parametrize(
    "transform, expected",
    [
        (T.RandomShortestSize(9), ("random_shortest_size", 0, "bilinear", 9)),
        (T.RandomShortestSize(range(9, 12), 20, "nearest"), ("random_shortest_size", 20, "nearest", 9, 10, 11)),
        (T.ScaleJitter((9, 7)), ("scale_jitter", 7, 9, 0.1, 2, "bilinear")),
        (T.ScaleJitter(9, [1, 3], "bicubic"), ("scale_jitter", 9, 9, 1, 3, "bicubic")),
        (T.RandomZoomOut(), ("random_zoom_out", 1, 4, 0.5, 0, -1, -1)),
        (T.RandomZoomOut((1, 2, 3), (2, 3), 1), ("random_zoom_out", 2, 3, 1, 1, 2, 3)),
        (T.RandomIoUCrop(), ("random_iou_crop", 0.3, 1, 0.5, 2, 40, 0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)),
        (T.RandomIoUCrop(0.5, 0.6, 1, 3, [0.2, 7], 3), ("random_iou_crop", 0.5, 0.6, 1, 3, 3, 0.2, 1)),
        (T.RandomApply([T.RandomZoomOut()], 0.2), ("random_apply", (0.2,), (("random_zoom_out", 1, 4, 0.5, 0, -1, -1),))),
    ],
)
def test_steps_that_leave_the_size_open(data, transform, expected):
    assert steps(transform, T.FixedSizeCrop(8))[0][0] == expected
    sluice.Loader(data, transform=[transform, T.FixedSizeCrop(8)]).close()
    name = expected[0]
    if name != "random_apply":
        with pytest.raises(ValueError, match=f"add random_resized_crop, .*fixed_size_crop, letter_box, .*behind {name}"):
            sluice.Loader(data, transform=[T.RandomCrop(8, 9), transform])
    with pytest.raises(ValueError, match=r"FixedSizeCrop \(after ScaleJitter\), LetterBox"):
        sluice.Loader(data, transform=transform)


def test_a_random_crop_with_different_sides():
    assert steps(T.RandomCrop(8, (1, 2), True, 9, "edge"))[0] == [
        ("pad", 1, 2, 1, 2, "edge", 9, -1, -1),
        ("random_crop", 8, 8, 0, "edge", 1, 9, -1, -1),
    ]


def classes():
    return [value for value in vars(T).values() if isinstance(value, type) and issubclass(value, T.Transform)]


def test_each_step_of_the_library_has_a_class():
    """A failure means that a step in the library's table has no class yet."""
    named = {value._name for value in classes() if value._name}
    within = {"resize_shorter", "resize_center_crop", "sequence"}  # Resize, with CenterCrop; a list in RandomChoice
    assert named | within == {name for name, *_ in sluice._sluice.steps()}
    assert all(getattr(T, value.__name__) is value for value in classes())
    assert all(value.__name__ in T.__all__ for value in classes() if value is not T.Transform)
    assert sorted(T.__all__) == T.__all__ and all(hasattr(T, name) for name in T.__all__)


REQUIRED = {
    "random_resized_crop": T.RandomResizedCrop(8),
    "random_crop": T.RandomCrop(8),
    "center_crop": T.CenterCrop(8),
    "resize": T.Resize((8, 8)),
    "random_resize": T.RandomResize(8, 9),
    "pad": T.Pad(0),
    "random_shortest_size": T.RandomShortestSize(8),
    "scale_jitter": T.ScaleJitter(8),
    "fixed_size_crop": T.FixedSizeCrop(8),
    "letter_box": T.LetterBox(8),
    "random_grid_crop": T.RandomGridCrop(8, 4),
    "mosaic": T.Mosaic(8),
    "random_rotation": T.RandomRotation(0),
    "random_affine": T.RandomAffine(0),
    "random_grayscale": T.RandomGrayscale(),
    "random_posterize": T.RandomPosterize(1),
    "random_solarize": T.RandomSolarize(1),
    "random_solarize_add": T.RandomSolarizeAdd(1),
    "gaussian_blur": T.GaussianBlur(1),
    "random_sharpness": T.RandomAdjustSharpness(1),
    "jpeg": T.JPEG(1),
    "normalize": T.Normalize([1] * 3, [1] * 3),
    "color_jitter_ranges": T.ColorJitter((1, 1)),
    "random_erasing": T.Compose([T.Normalize([1] * 3, [1] * 3), T.RandomErasing()]),
    "mixup": T.MixUp(),
    "cutmix": T.CutMix(),
    "timm_mix": T.MixUp.timm(),
}
OTHER_PRESETS = {"mixup": {"partner": "previous"}, "cutmix": {"partner": "previous"}}  # differ from the library's


def test_what_gives_a_size_alone():
    """The library decides this: Python has no list of its own."""
    sized = {name for name, _, _, gives_size, _ in sluice._sluice.steps() if gives_size}
    assert {"random_grid_crop", "mosaic", "resize"} <= sized and "resize_shorter" not in sized
    for one in (T.RandomGridCrop(96), T.Mosaic(64), T.BucketCrop(), T.Resize((8, 9))):
        assert steps(one)[0]
    for one in (T.Resize(8), T.Pad(3), T.RandomIoUCrop(), T.RandomHorizontalFlip()):
        with pytest.raises(ValueError, match="RandomResizedCrop, RandomCrop, RandomGridCrop, CenterCrop") as caught:
            steps(one)
        assert all(name in str(caught.value) for name in ("LetterBox", "Mosaic", "Resize((height, width))"))


def test_presets_are_those_of_the_library():
    """Each argument's default equals the library's default for an omitted argument."""
    for name, *_, arguments in sluice._sluice.steps():
        of = REQUIRED.get(name) or next((value for value in classes() if value._name == name), None)
        if of is None or of in (T.TimmAugment,) or name in ("random_apply", "random_choice", "random_order", "shared"):
            continue
        made = [one for one in steps(T.RandomCrop(8), of() if isinstance(of, type) else of)[0] if one[0] == name][-1]
        if arguments and arguments[-1][-1]:  # a list, after the others
            made = (*made[: len(arguments)], made[len(arguments) :])
        for (argument, preset, *_), value in zip(arguments, made[1:]):
            if preset is not None and value != OTHER_PRESETS.get(name, {}).get(argument):
                words = ("nearest", "bilinear", "bicubic"), ("constant",), ("center",), ("random", "center"), ("imagenet",), ("batch",), ("reversed",)
                number = next((word.index(value) for word in words if value in word), value)
                assert number == preset, (name, argument)
        assert len(made) - 1 == len(arguments), name


@pytest.mark.parametrize("numbers", [(8,), (8, 8, 4, 1, 1, 1, 1, 1, 1), (8.5, 8, 0), (float("nan"), 8, 0), (8, 8, -1), (8, 0, 0), (8, 8, 0, "mirror")])
def test_numbers_that_the_library_refuses(data, numbers):
    with pytest.raises(ValueError, match="random_crop: "):
        sluice._sluice.Loader(data._handle, {}, [("random_crop", *numbers)], None, 0, (), False)
    refused = ("random_crop", ("random_krop", 1), (1, 2), (), ("random_crop", 8, 8, [])), 3
    groups = ("random_apply", (3,), ()), ("random_apply", (0.5,), ()), ("random_apply", (), (3,)), ("random_crop", (8, 8), ())
    for step in (*refused, *groups, ("timm", 3), ("timm", "rand-x"), ("random_apply", ("a",), (("jpeg", 3, 3),))):
        with pytest.raises((TypeError, ValueError)):
            sluice._sluice.Loader(data._handle, {}, [("random_crop", 8, 8), step], None, 0, (), False)


def test_groups_too_deep(data):
    deep = T.JPEG(5)
    for _ in range(2000):
        deep = T.RandomApply([deep])
    with pytest.raises((sluice.StateError, RecursionError)):
        loader_of(data, deep)
    nested = ("jpeg", 5, 5)
    for _ in range(100000):
        nested = ("sequence", (), (nested,))
    with pytest.raises(sluice.StateError, match="deep"):
        sluice._sluice.Loader(data._handle, {}, [("random_crop", 8, 8), nested], None, 0, (), False)
    while len(nested) == 3 and nested[0] == "sequence":  # python's own cleanup of it would be deep, too
        nested = nested[2][0]


def test_what_there_is_no_room_for_is_named():
    distort = T.RandomPhotometricDistort()
    with pytest.raises(ValueError, match=r"^RandomPhotometricDistort\(.*, step 4 of transform, needs 19 .* 40, 16 of them random_apply: a recipe can have .*15"):
        steps(T.RandomCrop(8), distort, T.RandomHorizontalFlip(), distort)
    with pytest.raises(ValueError, match=r"^JPEG\(.*, step 17 of transform, needs 1 of the library's steps, which makes 17, 16 of them jpeg: "):
        steps(T.Compose([T.RandomCrop(8), [T.JPEG(5)] * 15]), T.JPEG(9), NORMAL)
    with pytest.raises(ValueError, match="^RandomApply.*, step 2 of transform, .* deep"):
        steps(T.RandomCrop(8), functools.reduce(lambda inner, _: T.RandomApply([inner]), range(7), T.JPEG(5)))
    with pytest.raises(ValueError, match="^AugMix.*, step 3 of transform, .* 128"):
        steps(T.RandomCrop(8), T.AugMix(3, 8, 8), T.AugMix(3, 8, 8))
    assert len(steps(T.RandomCrop(8), [T.JPEG(5)] * 15, [T.RandomInvert()] * 15, [T.RandomHorizontalFlip()] * 15, NORMAL)[0]) == 47


NORMAL = T.Normalize((0.5, 0.4, 0.25), (0.5, 0.2, 0.25))


def test_orders():
    """Steps run in the order of the list; erasing may follow the conversion to floats."""
    made = steps(T.RandomCrop(3), T.JPEG(5), T.RandomHorizontalFlip(), T.JPEG(6), T.RandomCrop(2), T.ToTensor(), NORMAL, T.RandomErasing())
    assert [one[0] for one in made[0]] == ["random_crop", "jpeg", "random_flip", "jpeg", "random_crop", "normalize", "random_erasing"]
    assert steps(T.ToDtype("uint8"), T.RandomCrop(3), NORMAL, T.ToDtype("float16", scale=True))[1] == "float16"
    assert steps(T.RandomCrop(3), NORMAL, T.RandomApply([T.RandomErasing(1)], 0.3))[0][2][0] == "random_apply"


@pytest.mark.parametrize(
    "before, value, expected",
    [
        ([], 0, (0, 0, 0)),
        ([], (3, 4, 255), (3, 4, 255)),
        ([T.ToTensor()], 0, (0, 0, 0)),
        ([T.ToTensor()], (0.5, 1, 0.0039), (128, 255, 1)),
        ([NORMAL], 0, (-1, -1, -1)),
        ([T.ToTensor(), NORMAL], (0, 0, 0), (-1, -1, -1)),
        ([NORMAL], (1, 3, -1), (255, 255, 0)),
        ([NORMAL], (0, 1, 0.5), (128, 153, 96)),
    ],
)
def test_what_erasing_leaves(before, value, expected):
    made = steps(T.RandomCrop(3), *before, T.RandomErasing(value=value))[0][-1]
    assert made[6:] == (*expected, 0, 1, 1)


@pytest.mark.parametrize(
    "before, value, words",
    [
        ([], 0.5, "expected whole numbers, 0 to 255;"),
        ([], 256, "expected whole numbers, 0 to 255;"),
        ([T.ToTensor()], 2, "0 to 1"),
        ([NORMAL], (0, 0, 4), r"-1.000 to 3.000 in channel 2"),
        ([T.ToTensor()], "random", "after Normalize"),
    ],
)
def test_what_erasing_cannot_leave(before, value, words):
    with pytest.raises(ValueError, match=words):
        steps(T.RandomCrop(3), *before, T.RandomErasing(value=value))


def test_timms_erasing():
    made = steps(T.RandomCrop(3), NORMAL, T.RandomErasing.timm(0.25, mode="pixel", max_count=3))[0][-1]
    assert made == ("random_erasing", 0.25, 0.02, 1 / 3, 0.3, 1 / 0.3, -1, -1, -1, 1, 1, 3)
    assert steps(T.RandomCrop(3), NORMAL, T.RandomErasing.timm())[0][-1][6:] == (-1, -1, -1, 0, 1, 1)


@pytest.mark.parametrize(
    "transforms, words",
    [
        ([T.Resize(3)], "no fixed output size"),
        ([T.RandomHorizontalFlip()], "no fixed output size"),
        ([T.RandomCrop(3), T.Python(len), T.Normalize([1] * 3, [1] * 3)], "too late"),
        ([T.RandomCrop(3), T.ToTensor(), T.RandomHorizontalFlip()], "too late: it works on 8-bit"),
        ([T.RandomCrop(3), NORMAL, NORMAL], "normalized already"),
        ([T.RandomCrop(3), NORMAL, T.ToDtype("uint8")], "too late"),
        ([T.RandomCrop(3), T.RandomApply([NORMAL])], "part of RandomApply"),
        ([T.RandomCrop(3), T.RandomChoice([T.Python(len), T.JPEG(5)])], "part of RandomChoice"),
        ([T.RandomCrop(3), T.MixUp(), T.RandomErasing()], "last step"),
        ([T.RandomCrop(3), T.MixUp(), T.CutMix()], "last step"),
        ([T.RandomCrop(3), T.Python(len), T.CutMix()], "too late"),
        ([T.RandomCrop(3), T.RandomOrder([T.MixUp()])], "part of RandomOrder"),
        ([T.RandomCrop(3), T.RandomChoice([T.MixUp(), T.JPEG(3)])], "one MixUp and one CutMix"),
        ([T.RandomCrop(3), T.RandomChoice([T.MixUp(num_classes=3), T.CutMix()])], "of both must be equal"),
    ],
)
def test_orders_that_would_mean_something_else(transforms, words):
    with pytest.raises(ValueError, match=words):
        steps(*transforms)


@pytest.mark.parametrize("make", [
    *(lambda name=name: T.presets.resnet_strikes_back(name) for name in ("A1", "A2", "A3")), T.presets.resnet_strikes_back_eval,
    T.presets.deit3, lambda: T.presets.deit3(32, True), T.presets.deit3_eval, T.presets.mae, T.presets.mae_eval,
    *(lambda name=name: T.presets.torchvision_vit(name, size=32) for name in ("vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32")),
    T.presets.torchvision_vit_eval, lambda: T.presets.large_scale_jitter(32), lambda: T.presets.large_scale_jitter_eval(32),
    lambda: T.presets.yolo_eval(32), lambda: T.presets.yolo(32, 3),
])  # fmt: skip
def test_presets(data, make):
    loader = sluice.Loader(data, batch_size=8, transform=make(), shuffle=True, on_bad_sample="fail")
    images, _ = next(iter(loader))
    assert images.dtype == "float32" and images.shape[1] == images.shape[2] and images.shape[1] in (32, 160, 224)


def test_presets_have_their_numbers():
    A1 = T.presets.resnet_strikes_back("A1", num_classes=10).transforms
    assert A1[2].config_str == "rand-m7-mstd0.5-inc1" and A1[-1].label_smoothing == 0.1 and A1[-1].mixup_alpha == 0.2
    assert steps(T.presets.resnet_strikes_back_eval())[0][0][:4] == ("resize_center_crop", 235, 224, 224)
    assert steps(T.presets.mae())[0][0] == ("random_resized_crop", 224, 224, 0.2, 1, 3 / 4, 4 / 3, "bicubic")
    assert T.presets.deit3(simple_crop=True, num_classes=10).transforms[-1].mixup_alpha == 0
    vit = T.recipe(T.presets.torchvision_vit(num_classes=10))
    assert vit.steps[2] == ("rand_augment", 2, 9, 31, "bilinear", 0, -1, -1)
    assert steps(T.presets.large_scale_jitter())[0][:2] == [
        ("scale_jitter", 1024, 1024, 0.1, 2, "bilinear"), ("fixed_size_crop", 1024, 1024, "constant", 123, 117, 104),
    ]  # fmt: skip
    assert steps(T.presets.yolo(end_epoch=90)) == (
        [
            ("mosaic", 640, 2, 114, -1, -1, 1, 90, "bilinear"),
            ("random_affine", 0, 0, 0.05, 0.05, 0.5, 1.5, 0, 0, 0, 0, "bilinear", 114, -1, -1),
            ("center_crop", 640, 640), ("random_hsv", 0.015, 0.7, 0.4), ("random_flip", 0.5),
        ], "float32",
    )  # fmt: skip
    assert steps(T.presets.yolo_eval()) == ([("letter_box", 640, 640, 114, -1, -1, 0, "center", "bilinear")], "float32")
    assert vit.steps[-1] == ("timm_mix", 0.2, 1, 0, 0, 1, 0.5, "batch", 1, "previous", 0) and vit.mixing.num_classes == 10


def test_the_nearest_is_named():
    class RandomHorizontalFlipp:
        pass

    class CenterCrop:
        __module__ = "torchvision.transforms"

    with pytest.raises(TypeError, match="sluice.transforms.RandomHorizontalFlip;"):
        steps(RandomHorizontalFlipp())
    with pytest.raises(TypeError, match="use sluice.transforms.CenterCrop, the same"):
        steps(CenterCrop())
    with pytest.raises(TypeError, match=r"sluice.transforms.Python\(f\), as the last"):
        steps(lambda picture: picture)


def loader_of(data, *transforms, **options):
    return sluice.Loader(data, batch_size=4, transform=[T.RandomResizedCrop(16), *transforms], **options)


def pictures(data, *transforms, dtype=None, **options):
    """Returns the images of two epochs in the dataset's order."""
    options.setdefault("shuffle", False)
    loader = sluice.Loader(data, batch_size=8, transform=[*transforms], dtype=dtype, **options)
    return numpy.concatenate([batch["image"].numpy().copy() for _ in range(2) for batch in loader])


CROPS = (T.RandomResizedCrop((16, 23)), [T.Resize(40), T.CenterCrop((17, 31))], T.RandomCrop((30, 21), padding=40))


@pytest.mark.parametrize("crop", CROPS)
@pytest.mark.parametrize("dtype", ["uint8", "float16"])
def test_vertical_flips_are_numpys(data, crop, dtype):
    jitter = T.ColorJitter(0.3, 0.3, 0.3)
    for behind in ([], [jitter]):
        plain = pictures(data, crop, *behind, dtype=dtype)
        flipped = pictures(data, crop, T.RandomVerticalFlip(1), *behind, dtype=dtype)
        both = pictures(data, crop, T.RandomHorizontalFlip(1), T.RandomVerticalFlip(1), *behind, dtype=dtype)
        assert (flipped == plain[:, ::-1]).all() and (both == plain[:, ::-1, ::-1]).all() and (flipped != plain).any()
        assert (pictures(data, crop, T.RandomVerticalFlip(0), *behind, dtype=dtype) == plain).all()
    planes = pictures(data, crop, T.RandomVerticalFlip(1), dtype=dtype, layout="NCHW")
    assert (planes.transpose(0, 2, 3, 1) == pictures(data, crop, dtype=dtype)[:, ::-1]).all()


def flips_of(made, plain):
    """Returns which of the images are flipped; each must be flipped or unflipped."""
    flips = (made == plain[:, ::-1]).all((1, 2, 3))
    assert ((made == plain).all((1, 2, 3)) != flips).all()
    return flips


def test_vertical_flips_as_often_as_asked_for(data):
    crop, seen = T.RandomResizedCrop(8), []
    for seed in range(30):
        plain = pictures(data, crop, T.RandomHorizontalFlip(), seed=seed)
        steps = (crop, T.RandomHorizontalFlip(), T.RandomVerticalFlip(0.3))
        made = pictures(data, *steps, seed=seed)
        seen.append(flips_of(made, plain))
        assert (made == pictures(data, *steps, seed=seed, num_workers=3)).all()
    assert abs(numpy.mean(seen) - 0.3) < 0.04  # of 1,980 draws: four deviations
    assert len({tuple(flips) for flips in seen}) == 30 and (seen[0][:33] != seen[0][33:]).any()


def test_vertical_flips_go_on_where_they_were(data):
    def loader():
        return sluice.Loader(data, batch_size=4, shuffle=True, seed=5, transform=[T.RandomResizedCrop(8), T.RandomVerticalFlip()])

    whole, interrupted, resumed = loader(), loader(), loader()
    expected = [batch["image"].numpy().copy() for batch in whole]
    iterator = iter(interrupted)
    for _ in range(4):
        next(iterator)
    resumed.load_state_dict(interrupted.state_dict())
    rest = [batch["image"].numpy().copy() for batch in resumed]
    assert len(rest) == len(expected) - 4 and all((a == b).all() for a, b in zip(rest, expected[4:]))


def test_functions_on_a_batch(data):
    plain = [batch["image"].numpy().copy() for batch in loader_of(data)]
    loader = loader_of(data, T.Python(lambda images: 255 - images), T.Python(lambda images: images.mean((1, 2))))
    made = [images.copy() for images, _ in loader]
    assert all((a == (255 - b).mean((1, 2))).all() for a, b in zip(made, plain)) and len(made) == len(plain)
    cost = loader.stats()["python"]["image"]
    assert cost["calls"] == len(plain) and cost["samples"] == 33 and cost["seconds"] > 0
    assert loader_of(data).stats()["python"] == {}
    batch = next(iter(loader))
    assert batch["image"] is batch["image"]  # called once per batch
    assert loader.stats()["python"]["image"]["calls"] == len(plain) + 1


def test_functions_on_a_sample_say_what_they_cost(data):
    sizes = []

    def darker(picture):
        sizes.append(picture.shape)
        return picture // 2

    plain = [batch["image"].numpy().copy() for batch in loader_of(data)]
    with pytest.warns(RuntimeWarning, match=r"column 'image' takes \d+ us per sample, \d+\.\d ms per batch") as warned:
        made = [images for images, _ in loader_of(data, T.Python(darker, per_sample=True))]
    assert len(warned) == 1 and sizes == [(16, 16, 3)] * 33
    assert all((a == b // 2).all() for a, b in zip(made, plain))


def test_functions_in_columns(data):
    def first(*transforms):
        columns = {
            "a": sluice.columns.Image("image", transform=[T.RandomResizedCrop(16), *transforms]),
            "b": sluice.columns.Image("image", transform=T.RandomResizedCrop(16)),
        }
        a, b = next(iter(sluice.Loader(data, batch_size=4, columns=columns)))
        return numpy.asarray(a).copy(), b.numpy().copy()

    (a, b), (plain, same) = first(T.Python(lambda images: images.astype("int16") - 128)), first()
    assert a.dtype == "int16" and (a + 128 == plain).all() and (b == same).all()


def test_functions_that_fail(data):
    for function, words in ((lambda images: None, "returned NoneType"), (lambda images: "abcd", "returned str"), (lambda images: 3, "returned int"), (lambda images: images[1:], "3 rows: expected 4")):
        with pytest.raises(ValueError, match=words):
            next(iter(loader_of(data, T.Python(function))))["image"]
    with pytest.raises(ZeroDivisionError):
        next(iter(loader_of(data, T.Python(lambda images: 1 / 0))))["image"]
    with pytest.raises(TypeError, match="expected a callable"):
        T.Python(3)


def test_they_show_themselves():
    assert repr(T.Pad(4)) == "Pad(padding=(4, 4, 4, 4), fill=0, padding_mode='constant')"

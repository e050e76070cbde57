# SPDX-License-Identifier: Apache-2.0
"""The names of torchvision.transforms, v1 and v2: each exists, or the error suggests a replacement."""
import numpy
import pytest

import sluice
from sluice import transforms as T

# torchvision 0.14 to 0.24: the public names of torchvision.transforms, then those that v2 adds.
V1 = """
AugMix AutoAugment AutoAugmentPolicy CenterCrop ColorJitter Compose ConvertImageDtype ElasticTransform FiveCrop GaussianBlur
Grayscale InterpolationMode Lambda LinearTransformation Normalize PILToTensor Pad RandAugment RandomAdjustSharpness RandomAffine
RandomApply RandomAutocontrast RandomChoice RandomCrop RandomEqualize RandomErasing RandomGrayscale RandomHorizontalFlip
RandomInvert RandomOrder RandomPerspective RandomPosterize RandomResizedCrop RandomRotation RandomSolarize RandomVerticalFlip
Resize TenCrop ToPILImage ToTensor TrivialAugmentWide autoaugment functional functional_pil functional_tensor transforms v2
"""
V2 = """
ClampBoundingBoxes ClampKeyPoints ConvertBoundingBoxFormat CutMix GaussianNoise Identity JPEG MixUp RGB
RandomChannelPermutation RandomIoUCrop RandomPhotometricDistort RandomResize RandomShortestSize RandomZoomOut
SanitizeBoundingBoxes SanitizeKeyPoints ScaleJitter SetClampingMode ToDtype ToImage ToPureTensor Transform
UniformTemporalSubsample check_type get_bounding_boxes get_keypoints has_all has_any query_chw query_size
"""
EARLIER = "RandomSizedCrop Scale"
CROP = T.RandomResizedCrop(8)


def found(name):
    """Returns whether the name exists; otherwise the error must suggest a replacement."""
    try:
        return getattr(T, name) is not None
    except AttributeError as error:
        words = str(error).partition(f"has no attribute {name!r}: ")[2]
        assert len(words) > 15 and "did you mean" not in words, error
        return False


@pytest.mark.parametrize("names", [V1, V2, EARLIER], ids=["v1", "v2", "earlier"])
def test_each_name_exists_or_is_answered(names):
    missing = {name for name in names.split() if not found(name)}
    assert missing <= T._ANSWERS.keys() and not missing & {*T.__all__}


def test_each_name_of_the_installed_one():
    torchvision = pytest.importorskip("torchvision")
    public = {name for name in dir(torchvision.transforms) if name[0] != "_"}
    assert public <= {*V1.split(), *V2.split()}
    for name in public:
        found(name)


def test_answers_are_of_names_that_are_missing():
    assert not T._ANSWERS.keys() & {*T.__all__} and not hasattr(T, "Lambda")
    with pytest.raises(AttributeError, match=r"Lambda.*transforms\.Python\(f\), as the last step"):
        T.Lambda
    with pytest.raises(AttributeError, match="did you mean 'RandomResizedCrop'"):
        T.RandomResizeCrop


def made(*steps):
    return T.recipe(T.Compose(steps))


RECIPES = [  # without conversions, and with those of torchvision's own recipes
    ([CROP, T.ToTensor()], [T.ToPILImage(), CROP, T.ToTensor()]),
    ([CROP, T.ToTensor()], [CROP, T.PILToTensor(), T.ConvertImageDtype("float32")]),
    ([CROP, T.ToTensor()], [T.PILToTensor(), CROP, T.ConvertImageDtype(), T.ToPureTensor()]),
    ([CROP, T.ToTensor()], [T.ToImage(), T.ToDtype("uint8", scale=True), CROP, T.ToDtype("float32", scale=True)]),
    ([CROP], [T.RGB(), T.Identity(), CROP, T.ToImage()]),
    ([CROP, T.MixUp()], [T.ToImage(), CROP, T.MixUp(), T.ToPureTensor()]),
]


@pytest.mark.parametrize("plain, copied", RECIPES)
def test_conversions_change_nothing(plain, copied):
    plain, copied = made(*plain), made(*copied)
    assert copied.steps == plain.steps
    assert numpy.dtype(copied.dtype) == plain.dtype


def test_conversions_change_no_batch(photos):
    def batch(*steps):
        return next(iter(sluice.Loader(photos, batch_size=4, num_workers=1, seed=3, transform=steps)))["image"].numpy()

    normal = T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    choice = [T.RandomInvert(1), T.RandomHorizontalFlip()]
    same = [[T.RandomInvert(1), T.ToImage()], [T.RGB(), T.RandomHorizontalFlip()]]
    expected = batch(CROP, T.RandomChoice(choice), T.ToTensor(), normal)
    got = batch(T.ToImage(), T.ToDtype("uint8"), CROP, T.RandomChoice(same), T.ToImage(), T.ConvertImageDtype(), normal, T.Identity())
    assert (got == expected).all()


def test_a_member_that_changes_nothing(photos):
    pixels = [
        next(iter(sluice.Loader(photos, batch_size=16, num_workers=1, transform=[T.CenterCrop(8), *steps])))["image"].numpy()
        for steps in ([], [T.RandomInvert(1)], [T.RandomChoice([T.Identity(), T.RandomInvert(1)])])
    ]
    plain, inverted, chosen = ((one == pixels[2]).all((1, 2, 3)) for one in pixels)
    assert chosen.all() and (plain ^ inverted).all() and plain.any() and inverted.any()


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: made(CROP, T.ToTensor(), T.PILToTensor()), "PILToTensor.*leave it out"),
        (lambda: made(CROP, T.ToTensor(), T.ToPILImage()), "ToPILImage.*put it before dtype"),
        (lambda: made(CROP, T.ToPILImage()), "last step: batches hold arrays"),
        (lambda: made(CROP, T.Python(len), T.ToImage()), "too late"),
        (lambda: T.ToPILImage("L"), "mode='L'"),
        (lambda: T.RandAugment("rand-m9-mstd0.5-inc1"), r"RandAugment\.timm\('rand-m9-mstd0\.5-inc1'\)"),
        (lambda: T.AugMix("augmix-m5-w4"), r"AugMix\.timm"),
        (lambda: T.Resize(8, T.InterpolationMode.BOX), "expected 'nearest'"),
    ],
)
def test_what_would_mean_something_else_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_enums():
    for mode in T.InterpolationMode:
        if mode.value in ("box", "hamming"):
            continue
        assert T.Resize(8, mode).interpolation == T.Resize(8, mode.value).interpolation
    for policy in T.AutoAugmentPolicy:
        assert T.AutoAugment(policy).policy == policy.value


def test_enums_of_torchvision():
    other = pytest.importorskip("torchvision").transforms
    assert {mode.name: mode.value for mode in other.InterpolationMode}.items() <= {mode.name: mode.value for mode in T.InterpolationMode}.items()
    assert {mode.name: mode.value for mode in other.AutoAugmentPolicy} == {mode.name: mode.value for mode in T.AutoAugmentPolicy}
    mode, word = other.InterpolationMode.BICUBIC, "bicubic"
    for make in (
        lambda mode: T.Resize(8, mode), lambda mode: T.RandomResizedCrop(8, interpolation=mode), lambda mode: T.RandomResize(8, 9, mode),
        lambda mode: T.RandomRotation(8, mode), lambda mode: T.RandomAffine(8, interpolation=mode), lambda mode: T.BucketCrop(interpolation=mode),
        lambda mode: T.RandomPerspective(interpolation=mode), lambda mode: T.RandomShortestSize(8, interpolation=mode),
        lambda mode: T.ScaleJitter(8, interpolation=mode), lambda mode: T.LetterBox(8, interpolation=mode), lambda mode: T.Mosaic(8, interpolation=mode),
        lambda mode: T.RandAugment(interpolation=mode), lambda mode: T.TrivialAugmentWide(interpolation=mode),
        lambda mode: T.AutoAugment(other.AutoAugmentPolicy.SVHN, mode), lambda mode: T.AugMix(interpolation=mode),
        lambda mode: T.RandAugment.timm("rand-m9", mode),
    ):  # fmt: skip
        assert make(mode)._step() == make(word)._step()


def test_objects_of_torchvision_are_answered():
    other = pytest.importorskip("torchvision").transforms
    with pytest.raises(TypeError, match=r"no Lambda: sluice\.transforms\.Python\(f\)"):
        made(CROP, other.Lambda(lambda image: image))
    with pytest.raises(TypeError, match=r"use sluice\.transforms\.PILToTensor, the same"):
        made(CROP, other.PILToTensor())


def test_dtypes_by_kind_of_input():
    with pytest.raises(TypeError, match="give the images' dtype; masks and other columns have a dtype= of their own"):
        T.ToDtype({numpy.ndarray: "float32", "others": None}, scale=True)


def test_a_transform_of_ones_own():
    class Own(T.Transform):
        pass

    with pytest.raises(TypeError, match=r"Own: a subclass of Transform is not a step.*transforms\.Python\(f\)"):
        made(CROP, Own())


def test_a_crop_that_is_too_large_says_how_to_pad(photos):
    with pytest.raises(sluice.Error, match="smaller than the window, 4000 x 4000: pad_if_needed pads it"):
        next(iter(sluice.Loader(photos, transform=T.RandomCrop(4000))))


def test_a_mean_of_bytes_is_reported(photos):
    with pytest.warns(UserWarning, match="divide mean and deviation by 255"):
        sluice.Loader(photos, transform=[CROP, T.Normalize((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))]).close()

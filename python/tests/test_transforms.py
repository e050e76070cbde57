# SPDX-License-Identifier: Apache-2.0
"""Transforms: from torchvision's names to the library's steps, and what is refused."""
import pytest

from sluice import transforms as T


def steps(*transforms):
    return T.recipe(T.Compose(transforms))


def test_steps():
    assert steps(T.RandomResizedCrop(224)) == ([("random_resized_crop", 224, 224, 0.08, 1.0, 0.75, 4 / 3)], None)
    assert steps(T.RandomResizedCrop((20, 30), (0.1, 0.5)))[0][0][:5] == ("random_resized_crop", 30, 20, 0.1, 0.5)
    assert steps(T.Resize(256), T.CenterCrop(224))[0] == [("resize_center_crop", 256, 224, 224)]
    assert steps(T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(0.3))[0] == [
        ("random_crop", 32, 32, 4),
        ("random_flip", 0.3),
    ]
    made, dtype = steps(T.RandomCrop(8), T.ColorJitter(0.4, 0.3, 0.2), T.ToDtype("float16", scale=True))
    assert made[1] == ("color_jitter", 0.4, 0.3, 0.2) and dtype == "float16"
    assert steps(T.RandomCrop(8), T.ToTensor(), T.Normalize([1, 2, 3], [4, 5, 6]))[0][1] == ("normalize", 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    "transforms, words",
    [
        ([T.CenterCrop(3)], "Resize before"),
        ([T.Resize(3)], "CenterCrop behind"),
        ([T.RandomHorizontalFlip(), T.RandomCrop(3)], "too late"),
    ],
)
def test_orders_that_would_mean_something_else(transforms, words):
    with pytest.raises(ValueError, match=words):
        steps(*transforms)


@pytest.mark.parametrize(
    "make",
    [
        lambda: T.RandomResizedCrop(3, interpolation="nearest"),
        lambda: T.Resize((3, 4)),
        lambda: T.Resize(3, max_size=9),
        lambda: T.RandomCrop(3, padding=(1, 2)),
        lambda: T.RandomCrop(3, fill=1),
        lambda: T.RandomCrop(3, padding_mode="reflect"),
        lambda: T.ColorJitter(hue=0.1),
        lambda: T.ColorJitter((0.5, 1.5)),
        lambda: T.Normalize([1], [1]),
        lambda: T.ToDtype("float32"),
        lambda: T.RandomResizedCrop((1, 2, 3)),
        lambda: T.RandomResizedCrop(8.5),
    ],
)
def test_what_there_is_not(make):
    with pytest.raises(ValueError):
        make()


def test_the_nearest_is_named():
    class RandomHorizontalFlipp:
        pass

    class CenterCrop:
        __module__ = "torchvision.transforms"

    with pytest.raises(TypeError, match="sluice.transforms.RandomHorizontalFlip;"):
        steps(RandomHorizontalFlipp())
    with pytest.raises(TypeError, match="is the same"):
        steps(CenterCrop())
    with pytest.raises(TypeError, match="batch_hook"):
        steps(lambda picture: picture)


def test_they_show_themselves():
    assert repr(T.RandomCrop(8, 4)) == "RandomCrop(size=(8, 8), padding=4)"

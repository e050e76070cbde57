# SPDX-License-Identifier: Apache-2.0
"""Transforms: from torchvision's names to the library's steps, and what is refused."""
import numpy
import pytest

import sluice
from sluice import transforms as T


def steps(*transforms):
    return T.recipe(T.Compose(transforms))[:2]


def test_steps():
    assert steps(T.RandomResizedCrop(224)) == ([("random_resized_crop", 224, 224, 0.08, 1.0, 0.75, 4 / 3)], "uint8")
    assert steps(T.RandomResizedCrop((20, 30), (0.1, 0.5)))[0][0][:5] == ("random_resized_crop", 30, 20, 0.1, 0.5)
    assert steps(T.Resize(256), T.CenterCrop(224))[0] == [("resize_center_crop", 256, 224, 224)]
    assert steps(T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(0.3))[0] == [
        ("random_crop", 32, 32, 4),
        ("random_flip", 0.3),
    ]
    made, dtype = steps(T.RandomCrop(8), T.ColorJitter(0.4, 0.3, 0.2), T.ToDtype("float16", scale=True))
    assert made[1] == ("color_jitter", 0.4, 0.3, 0.2) and dtype == "float16"
    assert steps(T.RandomCrop(8), T.ToTensor(), T.Normalize([1, 2, 3], [4, 5, 6]))[0][1] == ("normalize", 1, 2, 3, 4, 5, 6)


def test_each_step_of_the_library_has_a_class():
    classes = [value for value in vars(T).values() if isinstance(value, type) and issubclass(value, T.Transform)]
    named = {value._name: value._stage for value in classes if value._name}
    assert named == {name: stage for name, stage, _, _ in sluice._sluice.steps()}
    assert all(getattr(T, value.__name__) is value and value.__name__ in T.__all__ for value in classes if value._name)


def test_presets_are_those_of_the_library():
    presets = {name: dict(arguments) for name, _, _, arguments in sluice._sluice.steps()}
    assert presets["random_resized_crop"]["width"] is None
    for step in (T.RandomResizedCrop(8), T.RandomCrop(8), T.RandomHorizontalFlip(), T.ColorJitter()):
        name, *numbers = step._step()
        expected = list(presets[name].values())
        assert len(numbers) == len(expected) and all(b is None or a == b for a, b in zip(numbers, expected))


@pytest.mark.parametrize("numbers", [(8,), (8, 8, 4, 1), (8.5, 8, 0), (float("nan"), 8, 0), (8, 8, -1), (8, 0, 0)])
def test_numbers_that_the_library_refuses(data, numbers):
    with pytest.raises(ValueError, match="random_crop: "):
        sluice._sluice.Loader(data._handle, {}, [("random_crop", *numbers)], None, 0, (), False)
    for step in ("random_crop", ("random_krop", 1), (1, 2)):
        with pytest.raises((TypeError, ValueError)):
            sluice._sluice.Loader(data._handle, {}, [step], None, 0, (), False)


@pytest.mark.parametrize(
    "transforms, words",
    [
        ([T.CenterCrop(3)], "Resize before"),
        ([T.Resize(3)], "CenterCrop behind"),
        ([T.RandomHorizontalFlip(), T.RandomCrop(3)], "too late"),
        ([T.RandomCrop(3), T.Python(len), T.Normalize([1] * 3, [1] * 3)], "too late"),
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
    with pytest.raises(TypeError, match=r"sluice.transforms.Python\(f\), as the last"):
        steps(lambda picture: picture)


def loader_of(data, *transforms, **options):
    return sluice.Loader(data, batch_size=4, transform=[T.RandomResizedCrop(16), *transforms], **options)


def pictures(data, *transforms, dtype=None, **options):
    """The pictures of two epochs in the dataset's order."""
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
    """Which of the pictures are flipped; each is one or the other."""
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
    assert batch["image"] is batch["image"]  # called once for a batch
    assert loader.stats()["python"]["image"]["calls"] == len(plain) + 1


def test_functions_on_a_sample_say_what_they_cost(data):
    sizes = []

    def darker(picture):
        sizes.append(picture.shape)
        return picture // 2

    plain = [batch["image"].numpy().copy() for batch in loader_of(data)]
    with pytest.warns(RuntimeWarning, match=r"column 'image' takes \d+ us a sample, \d+\.\d ms a batch") as warned:
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
    with pytest.raises(TypeError, match="can be called"):
        T.Python(3)


def test_they_show_themselves():
    assert repr(T.RandomCrop(8, 4)) == "RandomCrop(size=(8, 8), padding=4)"

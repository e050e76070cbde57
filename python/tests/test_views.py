# SPDX-License-Identifier: Apache-2.0
"""Several views of each image: the presets of papers, and that a view equals its column alone."""
import numpy
import pytest

import sluice
from sluice import columns as C
from sluice import transforms as T

LARGE = ("random_resized_crop", 224, 224)


def steps(column):
    return column._values["recipe"]


def probability(column, name):
    """Returns the probability of a step of that name in its own group."""
    return [group[1][0] for group in steps(column) if group[0] == "random_apply" and group[2][0][0] == name]


def test_simclr():
    views = T.presets.simclr()
    assert list(views) == ["view1", "view2"] and len(T.presets.simclr(views=5)) == 5
    crop, flip, jitter, grey, blur, normalize = steps(views["view1"])
    assert crop == (*LARGE, 0.08, 1, 3 / 4, 4 / 3, "bicubic") and flip == ("random_flip", 0.5)
    assert jitter[:2] == ("random_apply", (0.8,)) and jitter[2][0][1:] == pytest.approx((0.8, 0.8, 0.8, 0.2))
    assert grey == ("random_grayscale", 0.2)
    assert blur == ("random_apply", (0.5,), (("gaussian_blur", 23, 23, 0.1, 2),))
    assert normalize == ("normalize", 0, 0, 0, 1, 1, 1)
    half = steps(T.presets.simclr(96, 0.5)["view2"])
    assert half[2][2][0][1:] == pytest.approx((0.4, 0.4, 0.4, 0.1)) and half[4][2][0][1:3] == (9, 9)


@pytest.mark.parametrize(
    "make, large, small, count, blur",
    [
        (T.presets.dino, (0.4, 1), (0.05, 0.4), 8, "pillow_blur"),
        (T.presets.dinov2, (0.32, 1), (0.05, 0.32), 8, "gaussian_blur"),
        (lambda: T.presets.ibot(local_views=10), (0.14, 1), (0.05, 0.4), 10, "pillow_blur"),
    ],
)
def test_multi_crop(make, large, small, count, blur):
    views = make()
    assert list(views) == ["global1", "global2", *(f"local{i + 1}" for i in range(count))]
    for name, column in views.items():
        is_large = name.startswith("global")
        side, scale = (224, large) if is_large else (96, small)
        assert steps(column)[0] == ("random_resized_crop", side, side, *scale, 3 / 4, 4 / 3, "bicubic")
        assert steps(column)[2] == ("random_apply", (0.8,), (("color_jitter", 0.4, 0.4, 0.2, 0.1),))
        assert (("random_solarize", 128, 0.2) in steps(column)) == (name == "global2")
    blurs = [probability(views[name], blur) for name in ("global1", "global2", "local1", "local2")]
    # DINOv2's code passes 1 - p to RandomApply
    assert blurs == ([[0.0], [0.9], [0.5], [0.5]] if blur == "gaussian_blur" else [[1.0], [0.1], [0.5], [0.5]])


def test_dinov2_blurs_as_written():
    views = T.presets.dinov2(blurs=(1, 0.1, 0.5), local_views=1)
    assert [probability(view, "gaussian_blur") for view in views.values()] == [[1], [0.1], [0.5]]
    assert steps(views["global1"])[4][2] == (("gaussian_blur", 9, 9, 0.1, 2),)


def test_dinov3():
    """Its own configurations: the pre-training of the largest model, and the defaults, which equal DINOv2's."""
    views = T.presets.dinov3()
    assert list(views) == ["global1", "global2", *(f"local{i + 1}" for i in range(8))]
    assert steps(views["global1"])[0] == ("random_resized_crop", 256, 256, 0.32, 1, 3 / 4, 4 / 3, "bicubic")
    assert steps(views["local8"])[0] == ("random_resized_crop", 112, 112, 0.05, 0.32, 3 / 4, 4 / 3, "bicubic")
    assert all(step[0] != "random_flip" for view in views.values() for step in steps(view))
    assert [probability(views[name], "gaussian_blur") for name in ("global1", "global2", "local1")] == [[0.0], [0.9], [0.5]]
    same = T.presets.dinov3(224, 96, horizontal_flips=True)
    assert {name: steps(view) for name, view in same.items()} == {name: steps(view) for name, view in T.presets.dinov2().items()}


def test_ibot_has_two_large_views():
    assert list(T.presets.ibot()) == ["global1", "global2"]
    views = T.presets.ibot(global_views=3)
    assert ("random_solarize", 128, 0.2) in steps(views["global3"]) and ("random_solarize", 128, 0.2) not in steps(views["global1"])


@pytest.mark.parametrize("make", [T.presets.simclr, T.presets.dino, T.presets.dinov2, T.presets.ibot])
def test_batches(data, make):
    columns = {**make(), "label": C.Number()}
    batch = next(iter(sluice.Loader(data, batch_size=4, columns=columns, on_bad_sample="fail")))
    assert len(batch) == len(columns)
    for name, images in batch.items():
        if name in columns and name != "label":
            side = 96 if name.startswith("local") else 224
            assert images.shape == (4, 3, side, side) and images.dtype == "float32"
            assert numpy.isfinite(images.numpy()).all()
    if make is T.presets.simclr:
        assert 0 <= batch["view1"].numpy().min() and batch["view1"].numpy().max() <= 1
        assert (batch["view1"].numpy() != batch["view2"].numpy()).any()


def test_first_view_is_the_column_alone(data):
    """Draws depend on a column's number among image columns: the first one equals that of a loader with this column alone."""
    views = T.presets.dino(48, 16)
    several = sluice.Loader(data, batch_size=8, columns=views, seed=5, on_bad_sample="fail")
    alone = sluice.Loader(data, batch_size=8, columns={"global1": views["global1"]}, seed=5, on_bad_sample="fail")
    for a, b in zip(several, alone):
        assert numpy.array_equal(a["global1"].numpy(), b["global1"].numpy())


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: T.presets.simclr("a"), TypeError, "size='a': expected an integer"),
        (lambda: T.presets.simclr(strength=3), ValueError, "strength=3: expected 0 to 2.5"),
        (lambda: T.presets.simclr(strength="a"), TypeError, "strength='a': expected a number"),
        (lambda: T.presets.simclr(views=0), ValueError, "views=0: expected an integer, 1 to 64"),
        (lambda: T.presets.dino(local_views=-1), ValueError, "local_views=-1: expected an integer, 0 to 64"),
        (lambda: T.presets.dino(local_scale=(2, 1)), ValueError, "scale"),
        (lambda: T.presets.dinov2(blurs=(1, 0)), ValueError, "expected three probabilities"),
        (lambda: T.presets.dinov2(blurs=3), ValueError, "expected three probabilities"),
        (lambda: T.presets.dinov2(blurs=(1, 0, 3)), ValueError, "p=3"),
        (lambda: T.presets.dinov3(blurs=(1, 0)), ValueError, "expected three probabilities"),
        (lambda: T.presets.dinov3(horizontal_flips="no"), TypeError, "horizontal_flips='no'"),
        (lambda: T.presets.ibot(global_views=0), ValueError, "global_views=0"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_preset_of_views_is_no_transform(data):
    with pytest.raises(TypeError, match="give it as columns="):
        sluice.Loader(data, transform=sluice.transforms.presets.simclr(32))

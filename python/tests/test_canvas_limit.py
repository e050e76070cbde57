# SPDX-License-Identifier: Apache-2.0
"""Limits on the canvas size: thin images that a recipe enlarges are bad samples instead of taking gigabytes."""
import io
import resource

import pytest
from PIL import Image

import sluice
from sluice import transforms as T


@pytest.fixture(scope="module")
def thin(tmp_path_factory):
    """Images of 1 x 2000, 2000 x 1, 1 x 60000, 60000 x 1, and a usual one."""
    folder = tmp_path_factory.mktemp("thin")
    (folder / "a").mkdir()
    for i, size in enumerate([(1, 2000), (2000, 1), (1, 60000), (60000, 1), (64, 48)]):
        made = io.BytesIO()
        Image.new("L", size, 77).save(made, "PNG")
        (folder / "a" / f"{i}.png").write_bytes(made.getvalue())
    return folder


def statuses(folder, steps, **options):
    with sluice.Loader(folder, 5, shuffle=False, on_bad_sample="mask", num_workers=1, transform=steps, **options) as loader:
        return next(iter(loader))["status"].tolist()


LARGE = {
    "jitter": ([T.Resize(640), T.ColorJitter(0.4), T.CenterCrop(640)], 4),
    "autocontrast": ([T.Resize(640), T.RandomAutocontrast(1), T.CenterCrop(640)], 4),
    "blur": ([T.Resize(640), T.GaussianBlur(9), T.RandomCrop(640)], 4),
    "policy": ([T.Resize(640), T.RandAugment(), T.CenterCrop(640)], 4),
    "several": ([T.Resize(64), T.GaussianBlur(3), T.Resize(4000), T.GaussianBlur(3), T.CenterCrop(64)], 4),
    "border": ([T.Pad(9000, padding_mode="edge"), T.Resize((64, 64))], 5),
    "zoom": ([T.RandomZoomOut(0, (90, 90), 1), T.GaussianBlur(3), T.Resize((64, 64))], 2),
    "shortest": ([T.RandomShortestSize(800), T.GaussianBlur(3), T.CenterCrop(64)], 4),
    "mosaic": ([T.Mosaic(64), T.RandomZoomOut(0, (900, 900), 1), T.GaussianBlur(3), T.Resize((64, 64))], 5),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_canvases_are_bad_samples(thin, name):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    steps, bad = LARGE[name]
    found = statuses(thin, steps)
    assert sum(status != 0 for status in found) == bad, found
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # KiB


@pytest.mark.parametrize("steps", [
    [T.Resize(640), T.CenterCrop(640)],
    [T.Resize(640), T.CenterCrop(640), T.ColorJitter(0.4), T.GaussianBlur(5)],
    [T.CenterCrop(64), T.ColorJitter(0.4), T.GaussianBlur(5)],
    [T.RandomResizedCrop(224), T.RandAugment()],
    [T.RandomZoomOut(0, (20, 20), 1), T.Resize((64, 64))],
    [T.LetterBox((640, 640)), T.GaussianBlur(5)],
    [T.Mosaic(64), T.ColorJitter(0.4)],
])  # fmt: skip
def test_what_is_cropped_first_needs_none(thin, steps):
    assert statuses(thin, steps) == [0] * 5


def test_the_error_says_what_to_do(thin):
    """It names either of the two images, as their reading order is not defined."""
    with sluice.Loader(thin, 5, shuffle=False, num_workers=1, transform=LARGE["jitter"][0]) as loader:
        with pytest.raises(sluice.Error, match="canvas of (640 x 1280000 of a picture of 1 x 2000|1280000 x 640 of a picture of 2000 x 1): 819200000 pixels, "
                           "the limit is 100000000 .*max_pixels.*; crop before other steps, or raise it"):
            next(iter(loader))


def test_the_limit_is_max_pixels(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("L", (100, 100)).save(tmp_path / "a" / "0.png")
    steps = [T.Resize(4200), T.RandomAutocontrast(1), T.CenterCrop(8)]  # 17,640,000
    of_recipe = [T.Resize((4200, 4200)), T.RandomAutocontrast(1), T.CenterCrop(8)]

    def status(steps, max_pixels):
        with sluice.Loader(tmp_path, 1, num_workers=1, on_bad_sample="mask", transform=steps, max_pixels=max_pixels) as loader:
            return next(iter(loader))["status"].tolist()[0]

    assert status(steps, 17_640_000) == 0
    assert status(steps, 17_639_999) != 0
    assert status(of_recipe, 10_000) == 0
    assert status([T.Resize(4000), *steps[1:]], 10_000) == 0  # 2^24 pixels are always allowed

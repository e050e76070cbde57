# SPDX-License-Identifier: Apache-2.0
"""docs/transforms.png shows every transform with the library's current output."""
import pathlib
import sys

import numpy
import pytest
from PIL import Image, ImageOps

from sluice import transforms as T

ROOT = pathlib.Path(__file__).parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "docs/sheet"))
import scenes  # noqa: E402
import transforms_sheet  # noqa: E402

TILES = [tile for _, tiles in transforms_sheet.SHEET for tile in tiles]
SAME_PIXELS = {"ToTensor", "ToDtype"}  # only the dtype differs
UNSHOWN = {"Native", "AutoAugmentPolicy", "ConvertImageDtype", "Identity", "InterpolationMode", "PILToTensor", "RGB", "ToImage", "ToPILImage", "ToPureTensor"}


@pytest.fixture(scope="module")
def images():
    if not pathlib.Path(scenes.SANS).with_name("DejaVuSansCondensed.ttf").exists():
        pytest.skip("no DejaVu Sans Condensed (fonts-dejavu-extra)")
    return transforms_sheet.make_images()


def test_every_transform_has_a_tile():
    assert sorted(tile.name for tile in TILES) == sorted({*T.__all__} - UNSHOWN)


@pytest.mark.parametrize("tile", TILES, ids=[tile.name for tile in TILES])
def test_a_call_makes_its_transform(tile):
    made = eval(tile.call, {"T": T, "numpy": numpy})
    assert tile.call.startswith(f"T.{tile.name}")
    assert tile.name == "presets" or type(made) is getattr(T, tile.name)


def test_tiles_are_what_pillow_makes(images):
    picture = scenes.draw_scenes()[0][0]
    expected = {"RandomHorizontalFlip": ImageOps.mirror, "RandomVerticalFlip": ImageOps.flip, "RandomInvert": ImageOps.invert}
    expected |= {"RandomEqualize": ImageOps.equalize, "ToTensor": lambda image: image, "RandomPosterize": lambda image: ImageOps.posterize(image, 2)}
    for name, make in expected.items():
        assert images[name].tobytes() == make(picture).tobytes(), name


def test_every_tile_shows_a_change(images):
    plain = scenes.draw_scenes()[0][0]
    unchanged = {name for name, image in images.items() if image.size == plain.size and image.tobytes() == plain.tobytes()}
    assert unchanged == SAME_PIXELS


def test_the_committed_sheet_is_up_to_date(images):
    committed = numpy.asarray(Image.open(ROOT / "docs/transforms.png").convert("RGB")).astype(int)
    _, places = transforms_sheet.lay_out(None, images)
    for name, (x, y) in places.items():
        tile = committed[y : y + scenes.HEIGHT, x : x + scenes.WIDTH]
        difference = abs(tile - numpy.asarray(transforms_sheet.fit(images[name])))
        # Letters in the image may depend slightly on Pillow's version.
        assert difference.mean() < 1, f"{name} changed; look at it and run docs/sheet/transforms_sheet.py docs/transforms.png"

# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/transforms.md run; each example of a step makes the pixels of its tile in tests/data/steps.png.

These pixels are those of the examples of the command line (tool_transforms_test, which says how the tiles are laid out).
"""
import pathlib
import re

import numpy
import pages
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

ROOT = pathlib.Path(__file__).parents[2]
FRAME, TILE, COLUMNS, GAP, EPOCH = 240, 80, 7, 8, 5
ROWS = re.findall(r"^\| `(\w+)` \| `[^|]+` \| [^|]+ \| `(\w*T\.[^|]+)` \|$", (ROOT / "docs/transforms.md").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def sheet():
    return numpy.asarray(Image.open(ROOT / "tests/data/steps.png").convert("RGB"))


def tile(sheet, number):
    x, y = (GAP + place * (TILE + GAP) for place in (number % COLUMNS, number // COLUMNS))
    return sheet[y : y + TILE, x : x + TILE]


def draw(steps):
    frame = [T.CenterCrop(FRAME), T.Resize((TILE, TILE))]
    behind = [step for step in steps if isinstance(step, (T.Normalize, T.MixUp, T.CutMix, T.TimmMixup))]
    for step in behind:
        if isinstance(step, T.TimmMixup):
            step.num_classes, step._smoothing = None, 0.0  # the two images have no labels
    steps = [*(step for step in steps if step not in behind), *frame, *behind]
    loader = sluice.Loader(ROOT / "tests/data/scenes", batch_size=2, num_workers=1, transform=steps)
    loader.set_epoch(EPOCH)
    made = next(iter(loader))["image"].numpy()[0]
    if made.dtype == numpy.float32:
        values = numpy.float32(53.5) * (made + numpy.float32(2.12))
        made = numpy.rint(numpy.clip(values, 0, 255)).astype(numpy.uint8)
    return made


def test_the_sheet_has_all_of_them(sheet):
    assert len(ROWS) >= 41
    assert (tile(sheet, 0) == draw([])).all()


@pytest.mark.parametrize("number, name, code", [(i, *row) for i, row in enumerate(ROWS, 1)], ids=[name for name, _ in ROWS])
def test_an_example(sheet, number, name, code):
    steps = eval(f"[{code}]", {"T": T})
    assert (tile(sheet, number) == draw(steps)).all(), f"{name}: {code} is not what the sheet shows"


def test_the_page_begins_with_a_program(photos, monkeypatch):
    torch = pytest.importorskip("torch")
    (block,) = re.findall(r"^```python\n(.*?)^```", (pages.DOCS / "transforms.md").read_text().partition("\n## ")[0], re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(photos.parent)
    names = {}
    exec(compile(block, "transforms.md", "exec"), names)
    assert names["images"].shape[1:] == (3, 224, 224) and names["images"].dtype == torch.float32
    assert names["labels"].dtype == torch.int64


def test_views_share_draws(photos, monkeypatch):
    names = pages.run("transforms.md", "Several views", photos.parent, monkeypatch)
    assert [names[view].shape[1:] for view in ("student", "teacher", "patches")] == [(224, 224, 3), (224, 224, 3), (96, 96, 3)]

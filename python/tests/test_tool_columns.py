# SPDX-License-Identifier: Apache-2.0
"""The columns that the tool shows for a dataset are those of a loader, and a sheet shows the columns that follow the image."""
import json
import os
import pathlib
import subprocess
import sys

import layouts
import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

DATASETS = {
    "classes": "photos",
    "coco": "coco/annotations/instances_train2017.json",
    "voc": "VOC2012",
    "yolo": "coco128.yaml",
    "masks": "scenes",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("datasets")
    layouts.classes(root, "photos", 2, 3)
    layouts.coco(root)
    layouts.voc2012(root)
    layouts.coco128(root)
    for number in range(3):
        for folder, mode in (("images", "RGB"), ("masks", "L")):
            (root / "scenes" / folder).mkdir(parents=True, exist_ok=True)
            pixels = numpy.zeros((40, 60) + (3,) * (mode == "RGB"), "uint8")
            pixels[10:30, 20:50] = 1 if mode == "L" else 200
            Image.fromarray(pixels, mode).save(root / "scenes" / folder / f"{number}.png")
    return root


def tool(*arguments):
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(sluice.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "sluice", *map(str, arguments)], capture_output=True, text=True, env=environment)
    if "without libyaml" in done.stderr or "without libexpat" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "masks"])
def test_info_lists_the_columns_of_a_loader(root, name):
    listed = [column["name"] for column in tool("info", root / DATASETS[name], "--json")["columns"]]
    loader = sluice.Loader(root / DATASETS[name], batch_size=2, transform=[T.RandomResizedCrop(16)])
    assert listed == [column for column in next(iter(loader)).keys() if column not in ("index", "mask", "status")]


@pytest.mark.parametrize("name", DATASETS)
def test_a_sheet_of_anything(root, name, tmp_path):
    """Without column options: boxes, labels and masks are shown, in colours that gray images lack."""
    sheet = tmp_path / "sheet.png"
    shown = tool("view", root / DATASETS[name], "--samples", 2, "--draws", 2, "--pipeline", "eval", "-o", sheet, "--json")
    image = numpy.asarray(Image.open(sheet).convert("RGB"))
    drawn = False
    for sample in shown["samples"]:
        assert not sample["bad"]
        for tile in sample["tiles"]:
            part = image[tile["top"] : tile["top"] + tile["height"], tile["left"] : tile["left"] + tile["width"]].astype(int)
            drawn = drawn or bool((abs(part[..., 0] - part[..., 1]) > 100).any())
    assert drawn == (name != "classes")
    assert all(("labels" in sample["values"]) == (name in ("coco", "voc", "yolo")) for sample in shown["samples"])


def test_asked_for_or_augmented(root, tmp_path):
    """Shows the requested columns, and no others."""
    path = root / DATASETS["coco"]
    for options in (["--column", "image:image"], ["--augment", "mixup:0.2"]):
        shown = tool("view", path, "--samples", 1, "--draws", 1, *options, "-o", tmp_path / "sheet.png", "--json")
        assert "labels" not in shown["samples"][0]["values"]

# SPDX-License-Identifier: Apache-2.0
"""Batches and datasets in a notebook: their images with boxes and masks."""
import json
import re

import numpy
import pytest
from PIL import Image
from test_notebook import pictures

import sluice
from sluice import columns as C
from sluice import transforms as T
from sluice._pictures import COLOURS

SIDE = 64
BOX = [10, 20, 30, 25]  # x, y, width, height


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    """Gray images, each with a box whose shape is the box; the third has no box."""
    folder = tmp_path_factory.mktemp("coco")
    images = [{"id": i, "file_name": f"{i}.png", "width": SIDE, "height": SIDE} for i in range(3)]
    for image in images:
        Image.new("RGB", (SIDE, SIDE), (100, 100, 100)).save(folder / image["file_name"])
    x, y, w, h = BOX
    shape = [[x, y, x + w, y, x + w, y + h, x, y + h]]
    objects = [{"id": i, "image_id": i, "category_id": 1, "bbox": BOX, "area": 9, "iscrowd": 0, "segmentation": shape} for i in range(2)]
    (folder / "a.json").write_text(json.dumps({"images": images, "annotations": objects, "categories": [{"id": 1, "name": "a<b"}]}))
    names = ["image", "boxes", "labels", "segmentation", "image_id"]
    return sluice.Dataset(folder / "a.json", fields={name: name for name in names})


def frame(colour=COLOURS[0], pixels=100):
    """Returns the expected image, with a box."""
    made = numpy.full((SIDE, SIDE, 3), pixels, "uint8")
    x, y, w, h = BOX
    made[[y, y + h], x : x + w + 1] = colour
    made[y : y + h + 1, [x, x + w]] = colour
    return made


STEPS = {
    "uint8": [T.Resize((SIDE, SIDE))],
    "normalised": [T.Resize((SIDE, SIDE)), T.ToTensor(), T.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.1])],
}


def kinds():
    return ["Loader", "DataLoader"]


def open_loader(kind, *arguments, **options):
    if kind == "Loader":
        return sluice.Loader(*arguments, **options)
    return pytest.importorskip("sluice.torch").DataLoader(*arguments, **options)


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("out", [{}, {"out_format": "xywh"}, {"out_format": "cxcywh", "out_relative": True}, {"padded": True, "length": 3}])
def test_a_batch_shows_its_boxes(coco, kind, steps, out):
    columns = {"image": C.Image(transform=STEPS[steps]), "boxes": C.Boxes(**out), "image_id": C.Number()}
    loader = open_loader(kind, coco, 3, columns=columns)
    (batch,) = loader
    page = batch._repr_html_()
    shown = pictures(page)
    assert [picture.shape for picture in shown] == [(SIDE, SIDE, 3)] * 3 and "image_id: 2" in page and "rows=3" in page
    assert all((picture == frame()).all() for picture in shown[:2]) and (shown[2] == 100).all()
    assert all((a == b).all() for a, b in zip(pictures(loader._repr_html_()), shown))  # the loader's page, too
    batch.release()
    assert "released" in batch._repr_html_()


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("sizes", ["one", "padded", "ragged"])
def test_a_batch_shows_its_masks(coco, kind, sizes):
    image = C.Image(transform=STEPS["uint8"], sizes=sizes)
    x, y, w, h = BOX
    expected = numpy.full((SIDE, SIDE, 3), 100, "uint8")
    expected[y : y + h, x : x + w] = (numpy.array(COLOURS[0]) + 100) // 2
    for columns in (
        {"boxes": C.Boxes(), "masks": C.Instances("segmentation", length=2)},
        {"boxes": C.Boxes(), "classes": C.Mask("segmentation", labels="labels")},
    ):
        (batch,) = open_loader(kind, coco, 3, columns={"image": image, **columns})
        shown = pictures(batch._repr_html_())
        inner = shown[0][y + 1 : y + h, x + 1 : x + w]  # inside the box's frame
        assert (inner == expected[y + 1 : y + h, x + 1 : x + w]).all() and (shown[0][: y - 1] == 100).all()
        assert (shown[2] == 100).all()


def test_texts_labels_and_batches_of_columns(data):
    loader = sluice.Loader(data, 2, columns={"image": C.Image(transform=T.RandomResizedCrop(8)), "label": C.Number(), "key": C.Ragged(length=300)})
    batch = next(iter(loader))
    page = batch._repr_html_()
    assert f"label: {batch['label'][0]} class" in page and "key: " in page and len(pictures(page)) == 2
    (large,) = sluice.Loader(data[:1], 1, transform=T.Resize((300, 600)))
    assert [picture.shape for picture in pictures(large._repr_html_())] == [(60, 120, 3)]
    assert pictures(sluice.Batch({"a": 1})._repr_html_()) == []
    mixed = next(iter(sluice.Loader(data, 4, transform=[T.RandomResizedCrop(8), T.MixUp()])))
    assert len(pictures(mixed._repr_html_())) == 4


def test_a_dataset_shows_its_images(coco, data, tmp_path):
    page = coco._repr_html_()
    shown = pictures(page)
    assert len(shown) == 3 and (shown[0] == frame()).all() and (shown[2] == 100).all()
    assert "a&lt;b" in page and re.search(r"field boxes.*tensor float32 \[0, 4\]", page) and "samples" in page
    page = data._repr_html_()
    assert len(pictures(page)) == 12 and "#0 0 class0" in page and "class2" in page
    numpy.save(tmp_path / "x.npy", numpy.zeros((4, 3), "float32"))
    assert pictures(sluice.Dataset(tmp_path / "x.npy")._repr_html_()) == []
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.jpg").write_bytes(b"nothing")
    assert "cannot be shown" in sluice.Dataset(tmp_path / "bad")._repr_html_()

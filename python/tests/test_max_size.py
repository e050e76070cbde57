# SPDX-License-Identifier: Apache-2.0
"""The default of max_size: what the transform makes of the dataset's largest image."""
import json

import numpy
import pytest
from PIL import Image

import sluice
from sluice import _largest
from sluice import columns as C
from sluice import transforms as T

SHAPES = [(40, 90), (64, 48), (51, 33), (80, 80), (30, 70)]
LARGE = 700


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coco")
    images = []
    for number, (height, width) in enumerate(SHAPES):
        pixels = numpy.random.RandomState(number).randint(0, 256, (height, width, 3)).astype("uint8")
        Image.fromarray(pixels).save(folder / f"{number}.jpg")
        images.append({"id": number, "file_name": f"{number}.jpg", "width": width, "height": height})
    boxes = [{"id": i, "image_id": i, "category_id": 1, "bbox": [2, 2, 20, 20], "area": 400, "iscrowd": 0} for i in range(len(SHAPES))]
    (folder / "a.json").write_text(json.dumps({"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "a"}]}))
    return sluice.Dataset(folder / "a.json")


@pytest.fixture(scope="module")
def packed(coco, tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "p"
    sluice.pack(coco, path)
    return sluice.Dataset(path)


STEPS = {
    "nothing": None,
    "flips": [T.RandomHorizontalFlip(), T.RandomRotation(9), T.ColorJitter(0.1)],
    "shorter": [T.Resize(50)],
    "shorter, with a limit": [T.Resize(50, max_size=80)],
    "zoom": [T.RandomZoomOut(side_range=(1, 3), p=1.0), T.RandomIoUCrop()],
    "shortest": [T.RandomZoomOut(), T.RandomShortestSize([20, 60, 40], 100)],
    "random": [T.RandomResize(20, 61), T.Pad((1, 2, 3, 4))],
    "groups": [T.RandomApply([T.Pad(9), T.Pad(3)], 0.5), T.RandomChoice([T.Pad(1), [T.Pad(9), T.Pad(4)], T.Resize(90)])],
    "jitter": [T.ScaleJitter((60, 60), (0.5, 2))],
}


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
@pytest.mark.parametrize("steps", STEPS)
def test_all_images_fit(coco, packed, steps, sizes):
    """The same batches as with ample space, and without much space that none needs."""
    for data in (coco, packed):
        largest = [0, 0]
        made = []
        for max_size in (LARGE, None):
            column = C.Image(transform=STEPS[steps], sizes=sizes, max_size=max_size)
            loader = sluice.Loader(data, 5, columns={"image": column}, seed=3)
            made.append([batch["image"].numpy().copy() for _ in range(12) for batch in loader])
            loader.set_epoch(0)
            for batch in loader:
                largest = numpy.maximum(largest, batch["image"].sizes.numpy().max(0))
        assert all((a == b).all() for a, b in zip(*made, strict=True))
        bound = loader._opened[2][0]
        assert (largest <= [bound["max_height"], bound["max_width"]]).all() and max(bound["max_height"], bound["max_width"]) <= 330


def test_a_limit_is_enough_where_sizes_are_not_known(photos):
    def bound(steps, **options):
        loader = sluice.Loader(photos, 2, columns={"image": C.Image(transform=steps, sizes="padded")}, **options)
        return loader._opened[2][0]["max_height"], loader._opened[2][0]["max_width"]

    assert bound([T.RandomHorizontalFlip(), T.RandomShortestSize([20, 30], 50)]) == (50, 50)
    assert bound([T.Resize((20, 30))]) == (20, 30) and bound([T.ScaleJitter((60, 50), (0.5, 2))]) == (120, 100)
    for steps, why in (
        (None, "does not say how large"), ([T.Resize(20)], "does not say"), ([T.RandomZoomOut()], "does not say"),
        ([T.RandomApply([T.Resize(20, max_size=30)])], "does not say"), ([T.RandomOrder([T.Pad(3), T.Resize(9)]), T.Pad(1)], "'random_order'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"columns\['image'\]: sizes= needs max_size=\(height, width\).*{why}"):
            bound(steps)


def test_images_turned_by_exif_fit(coco):
    def bound(**options):
        loader = sluice.Loader(coco, 2, columns={"image": C.Image(sizes="padded")}, **options)
        return loader._opened[2][0]["max_height"], loader._opened[2][0]["max_width"]

    assert bound() == (90, 90) and bound(exif="ignore") == (80, 90)


def test_annotations_that_lie_make_bad_samples_that_name_max_size(coco, tmp_path):
    listed = json.loads(open(coco.paths[0]).read())
    for image in listed["images"]:
        image["width"] = image["height"] = 10
    for name in range(len(SHAPES)):
        (tmp_path / f"{name}.jpg").write_bytes(coco.read(name, "image"))
    (tmp_path / "a.json").write_text(json.dumps(listed))
    with pytest.raises(sluice.UnsupportedError, match="choose larger max_size="):
        list(sluice.Loader(tmp_path / "a.json", 1, columns={"image": C.Image(sizes="padded")}, exif="ignore"))


def test_an_image_without_a_size(tmp_path):
    with sluice.Writer(tmp_path / "p", {"image": "image", "other": "image"}) as writer:
        file = tmp_path / "a.png"
        Image.new("RGB", (9, 8)).save(file)
        writer.add(image=file.read_bytes(), other=file.read_bytes())
    with pytest.raises(ValueError, match="max_size"):  # the index has the size of one of them
        sluice.Loader(tmp_path / "p", 1, columns={"other": C.Image(sizes="padded")})


def test_an_elastic_step_keeps_the_size(coco):
    column = C.Image("image", transform=[T.ElasticTransform(9.0)], sizes="padded")
    with sluice.Loader(coco, len(SHAPES), columns={"image": column}) as loader:
        assert next(iter(loader))["image"].shape[1:3] == (80, 90)


def test_steps_that_keep_a_size_exist():
    assert _largest.KEEP | set(_largest.LIMITS) <= {step[0] for step in sluice._sluice.steps()} | {"native"}

# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/follow.md, several.md, orders.md and buckets.md, each run alone and unchanged, on miniatures of the named datasets."""
import re
import warnings

import layouts
import numpy
import pages
import pytest

import sluice

torch = pytest.importorskip("torch")

PAGES = ("follow.md", "several.md")
BLOCKS = [(page, heading, number) for page in PAGES for heading, blocks in pages.sections(page) for number in range(len(blocks))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("datasets")
    layouts.coco128(root)
    layouts.coco(root)
    layouts.voc2012(root)
    (root / "VOCdevkit").symlink_to(root)
    layouts.classes(root, "photos", 4, 16)
    layouts.classes(root, "miniImageNet/train", 6, 20)
    with sluice.Writer(root / "sentences", {"tokens": ("tensor", "int32", (0,))}) as writer:
        for length in range(1, 61):
            writer.add(tokens=numpy.arange(length, dtype="int32"))
    return root


@pytest.mark.parametrize("page", PAGES)
def test_an_example_comes_first(page):
    text = (pages.DOCS / page).read_text()
    assert text.index("```python") < text.index("\n|")
    assert text.count("```python") == sum(block[0] == page for block in BLOCKS) >= 6


@pytest.mark.parametrize("page, heading, number", BLOCKS, ids=[", ".join(map(str, block)) for block in BLOCKS])
def test_an_example(folder, monkeypatch, page, heading, number):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            names = pages.run(page, heading, folder, monkeypatch, number)
        except sluice.UnsupportedError as error:
            assert "without libyaml" in str(error)
            return
    if "targets" in names:
        check_targets(names["images"], names["targets"])
    if "classes" in names:
        check_classes(names["images"], names["classes"])
    if "loss" in names:
        assert torch.isfinite(names["loss"])
    if "middle" in names:
        height, width = names["batch"]["geometry.size"].numpy()[0]
        assert numpy.allclose(names["middle"], (width / 2, height / 2), atol=0.51)
    if "anchors" in names:
        assert names["anchors"].shape == names["positives"].shape == names["negatives"].shape


@pytest.mark.parametrize("heading", [heading for heading, blocks in pages.sections("orders.md") if blocks])
def test_an_order(folder, monkeypatch, heading):
    names = pages.run("orders.md", heading, folder, monkeypatch, 0)
    assert len(list(names["loader"])) == len(names["loader"]) > 0


def test_buckets(folder, monkeypatch):
    monkeypatch.chdir(folder)
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", (pages.DOCS / "buckets.md").read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, "buckets.md", "exec"), names)
    assert names["height"] * names["width"] <= 1024 * 1024
    assert names["original_size"].shape == names["crop_top_left"].shape == (names["rows"], 2)


def test_datasets_of_torch(folder, monkeypatch):
    pytest.importorskip("torchvision")
    names = pages.run("datasets.md", "Datasets of torch", folder, monkeypatch, before="import sluice.torch, torch\nT = sluice.transforms\n")
    assert len(list(names["loader"])) == 12 and len(names["data"]) == 16


@pytest.mark.parametrize("path", ["coco/annotations/instances_train2017.json", "coco128.yaml", "VOC2012", "VOCdevkit/VOC2012"])
@pytest.mark.parametrize("page, heading", [("follow.md", "Train a detector"), ("several.md", "Train YOLO with mosaics")])
def test_another_dataset(folder, monkeypatch, page, heading, path):
    """The same columns, as the pages promise."""
    try:
        names = pages.run(page, heading, folder, monkeypatch, path=path)
    except sluice.UnsupportedError as error:
        assert "without libyaml" in str(error)
        return
    assert str(names["loader"].dataset.paths[0]).endswith(path)
    check_targets(names["images"], names["targets"])


def test_several_processes(folder, monkeypatch):
    """Rank 1 of 4 gets its share of 64 images."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    names = pages.run("distributed.md", "Train on several GPUs", folder, monkeypatch)
    assert (names["loader"].rank, names["loader"].world_size) == (1, 4) and len(names["images"]) == 16


def test_the_recipe_is_the_preset(folder, monkeypatch):
    preset = sluice.transforms.presets.yolo(640, end_epoch=90)
    assert repr(sluice.transforms.Compose(pages.run("several.md", "Mosaics", folder, monkeypatch)["yolo"])) == repr(preset)


def check_targets(images, targets):
    """Every box is as bright as the brightest pixel of its image: only the squares are bright, so boxes follow them."""
    assert len(images) == len(targets) > 0 and sum(len(target["boxes"]) for target in targets) > 0
    for image, target in zip(images, targets):
        assert all(len(values) == len(target["boxes"]) for values in target.values())
        height, width = image.shape[-2:]
        for number, (left, top, right, bottom) in enumerate(target["boxes"].tolist()):
            assert -0.01 < left < right < width + 0.01 and -0.01 < top < bottom < height + 0.01
            if right - left > 6 and bottom - top > 6:
                inside = (slice(round(top + 2), round(bottom - 2)), slice(round(left + 2), round(right - 2)))
                assert image[:, *inside].median() > 0.8 * image.max()
                if "masks" in target:
                    assert target["masks"][number][inside].float().mean() > 0.5
            if "keypoints" in target:
                x, y, seen = target["keypoints"][number, 0].tolist()
                assert not seen or (left <= x <= right and top <= y <= bottom)


def check_classes(images, classes):
    """Squares are bright, and have a class; all other pixels are dark, and have class 0."""
    assert classes.dtype == torch.int64 and classes.shape == (len(images), *images.shape[2:])
    assert set(classes.unique().tolist()) <= {0, 1, 2, 3, 255}
    known = classes != 255
    assert ((images.mean(1) > 0.45) == (classes > 0))[known].float().mean() > 0.95

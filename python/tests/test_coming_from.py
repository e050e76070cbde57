# SPDX-License-Identifier: Apache-2.0
"""docs/coming-from.md: all code in the right columns of its tables, and below them, runs on miniatures of the named datasets."""
import ast
import re
import warnings

import layouts
import pages
import pytest

import sluice
from sluice import columns as C, transforms as T

torch = pytest.importorskip("torch")
import sluice.torch  # noqa: E402

CLASSES, BOXES, MASKS = "photos", "coco/annotations/instances_train2017.json", "VOC2012/ImageSets/Segmentation/train.txt"
DATA = {
    "torchvision: references/classification": CLASSES, "torchvision: references/detection": BOXES, "torchvision: references/segmentation": MASKS,
    "timm: train.py": CLASSES, "yolov5, ultralytics": "coco128.yaml", "mmdetection": BOXES, "detectron2": BOXES,
}  # fmt: skip
IN_A_LOOP = ("sluice.torch.targets", "batch.pictures", "for epoch in")  # code that needs a batch
ALONE = re.compile(r"(sizes|shapes|buckets)=(\"padded\")?$")  # an argument's name in a sentence


def rows():
    """Yields (heading, option, code) for each piece of code in a right column, and for each block."""
    for text in re.split(r"^## ", (pages.DOCS / "coming-from.md").read_text(), flags=re.MULTILINE)[1:]:
        heading = text.partition("\n")[0]
        yield from ((heading, "block", code) for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        for line in text.splitlines():
            cells = line.strip("| ").split(" | ")
            if line.startswith("|") and len(cells) == 2 and cells[1] != "here" and "---" not in line:
                yield from ((heading, cells[0], code) for code in re.findall(r"`([^`]+)`", cells[1]))


ROWS = [row for row in rows() if not row[2].startswith(IN_A_LOOP) and not ALONE.match(row[2]) and row[2] != "sluice pack"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("datasets")
    layouts.coco(root)
    layouts.coco128(root)
    layouts.voc2012(root)
    for name in ("photos", "imagenet/train", "imagenet/val"):
        layouts.classes(root, name, 4, 4)
    return root


@pytest.fixture(scope="module")
def datasets(folder):
    return {path: sluice.Dataset(folder / path) for path in set(DATA.values())}


def is_arguments(code):
    call = ast.parse(f"f({code})", mode="eval").body
    return len(call.keywords) > 0 and not call.args


def what_to_load(path, image):
    """Returns a batch's content around an image column, or steps for one."""
    if not isinstance(image, C.Image):
        if path == CLASSES:
            return {"transform": image}
        image = C.Image(transform=image)
    if path == MASKS:
        return {"columns": {"image": image, "classes": C.Mask("mask", fill=255)}}
    return {"columns": {"image": image} if path == CLASSES else {"image": image, "boxes": C.Boxes(), "labels": C.Ragged("labels")}}


def test_the_page():
    assert {heading for heading, _, _ in ROWS} == DATA.keys() and len(ROWS) > 130
    assert len((pages.DOCS / "coming-from.md").read_text().splitlines()) < 300


@pytest.mark.parametrize("heading, option, code", ROWS)
def test_a_row(folder, datasets, monkeypatch, heading, option, code):
    monkeypatch.chdir(folder)
    path = DATA[heading]
    names = {"sluice": sluice, "torch": torch, "T": T, "C": C, "data": datasets[path], "MEAN": (0.485, 0.456, 0.406), "STD": (0.229, 0.224, 0.225)}
    options, made = {}, [T.Resize((32, 32))]
    if is_arguments(code):
        options = eval(f"dict({code})", names)
    else:
        made = eval(code, names)
    if isinstance(made, (list, T.Compose, C.Image)) and made != datasets[path].classes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about boxes that such small images lose
            loader = sluice.torch.DataLoader(datasets[path], **{"batch_size": 2} | what_to_load(path, made) | options)
        with loader:
            assert len(loader) > 0 and (not isinstance(made, list) or next(iter(loader)).rows > 0)
    else:
        assert made is not None

# SPDX-License-Identifier: Apache-2.0
"""Miniatures of public datasets, with the folders of the originals: bright squares on dark images."""
import json

import numpy
from PIL import Image

IMAGES, TURNED = 8, 5  # image 5 is stored sideways, with an EXIF orientation
NAMES = ("person", "bicycle", "car")


def _draw(number):
    """Draws an upright image. Returns it, its boxes (left, top, width, height) and their classes."""
    width, height = 96 + number, 72
    pixels = numpy.full((height, width, 3), 20, "uint8")
    boxes = [(8 + number, 10, 24, 20), (60, 40, 30, 28)]
    for left, top, wide, high in boxes:
        pixels[top : top + high, left : left + wide] = 220
    return pixels, boxes, [number % 3, 1]


def _save(path, pixels, number):
    path.parent.mkdir(parents=True, exist_ok=True)
    image, exif = Image.fromarray(pixels), Image.Exif()
    if number == TURNED:
        exif[0x112] = 6  # a viewer rotates it clockwise
        image = image.transpose(Image.ROTATE_90)
    image.save(path, quality=95, exif=exif)


def coco128(root):
    """The layout of ultralytics: coco128.yaml, coco128/images/train2017, coco128/labels/train2017."""
    (root / "coco128/labels/train2017").mkdir(parents=True)
    for number in range(IMAGES):
        pixels, boxes, labels = _draw(number)
        _save(root / f"coco128/images/train2017/{number:012}.jpg", pixels, number)
        height, width, _ = pixels.shape
        lines = [f"{c} {(x + w / 2) / width} {(y + h / 2) / height} {w / width} {h / height}\n" for c, (x, y, w, h) in zip(labels, boxes)]
        (root / f"coco128/labels/train2017/{number:012}.txt").write_text("".join(lines))
    names = "".join(f"  {number}: {name}\n" for number, name in enumerate(NAMES))
    (root / "coco128.yaml").write_text(f"path: ../datasets/coco128\ntrain: images/train2017\nval: images/train2017\ntest:\n\nnames:\n{names}")


def coco(root):
    """The layout of cocodataset.org: coco/train2017, and coco/annotations with instances and person_keypoints."""
    images, objects = [], []
    for number in range(IMAGES):
        pixels, boxes, labels = _draw(number)
        name = f"{number:012}.jpg"
        _save(root / "coco/train2017" / name, pixels, number)
        images.append({"id": number, "file_name": name, "height": pixels.shape[0], "width": pixels.shape[1]})
        for (x, y, w, h), label in zip(boxes, labels):
            objects.append({
                "id": len(objects), "image_id": number, "category_id": label + 1, "iscrowd": 0, "bbox": [x, y, w, h], "area": w * h,
                "segmentation": [[x, y, x + w, y, x + w, y + h, x, y + h]],
            })  # fmt: skip
    categories = [{"id": number, "name": name} for number, name in enumerate(NAMES, 1)]
    (root / "coco/annotations").mkdir()
    tree = {"info": {}, "images": images, "annotations": objects, "categories": categories}
    (root / "coco/annotations/instances_train2017.json").write_text(json.dumps(tree))
    for each in objects:
        x, y, w, h = each["bbox"]
        each |= {"category_id": 1, "num_keypoints": 17, "keypoints": [x + w // 2, y + h // 2, 2] * 17}
    (root / "coco/annotations/person_keypoints_train2017.json").write_text(json.dumps(tree | {"categories": categories[:1]}))


def voc2012(root):
    """The layout of the challenge: VOC2012 with Annotations, ImageSets, JPEGImages and SegmentationClass."""
    folder, names = root / "VOC2012", []
    for part in ("Annotations", "ImageSets/Main", "ImageSets/Segmentation", "SegmentationClass", "SegmentationObject"):
        (folder / part).mkdir(parents=True)
    for number in range(IMAGES):
        pixels, boxes, labels = _draw(number)
        names.append(f"2008_{number:06}")
        _save(folder / f"JPEGImages/{names[-1]}.jpg", pixels, 0)
        objects = "".join(
            f"<object><name>{NAMES[c]}</name><bndbox><xmin>{x + 1}</xmin><ymin>{y + 1}</ymin><xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>"
            for c, (x, y, w, h) in zip(labels, boxes)
        )
        size = f"<size><width>{pixels.shape[1]}</width><height>{pixels.shape[0]}</height><depth>3</depth></size>"
        (folder / f"Annotations/{names[-1]}.xml").write_text(f"<annotation><filename>{names[-1]}.jpg</filename>{size}{objects}</annotation>")
        mask = numpy.zeros(pixels.shape[:2], "uint8")
        for (x, y, w, h), label in zip(boxes, labels):
            mask[y : y + h, x : x + w] = label + 1
        for kind in ("SegmentationClass", "SegmentationObject"):
            Image.fromarray(mask).save(folder / kind / f"{names[-1]}.png")
    for kind in ("Main", "Segmentation"):
        (folder / f"ImageSets/{kind}/train.txt").write_text("\n".join(names) + "\n")


def classes(root, folder, count, each):
    """A folder of class folders."""
    for label in range(count):
        for number in range(each):
            pixels, _, _ = _draw(number)
            _save(root / folder / f"class{label:02}/{number:03}.jpg", pixels, number)


def scenes(root):
    """Images and label masks of the same names: scenes/images/train, scenes/masks/train, and of val. A class is a colour."""
    random = numpy.random.default_rng(0)
    for split, count in (("train", 16), ("val", 4)):
        for number in range(count):
            pixels, mask = numpy.full((96, 128 + number, 3), 40, "uint8"), numpy.zeros((96, 128 + number), "uint8")
            for label in range(1, 4):
                left, top = random.integers(0, 80), random.integers(0, 56)
                pixels[top : top + 40, left : left + 48] = numpy.eye(3)[label - 1] * 200 + 20
                mask[top : top + 40, left : left + 48] = label
            _save(root / f"scenes/images/{split}/{number:03}.jpg", pixels, 0)
            path = root / f"scenes/masks/{split}/{number:03}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask).save(path)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""follow.py PHOTOS [--rounds 5] [--epochs 4] [--size 224] [--keep FOLDER] [--json]: what masks and boxes cost beside their pictures.

The photos (folders of JPEGs) are packed with a mask each, a PNG of the picture's size: a label map of 21 classes in blocks of 8 to 64
pixels with ragged edges, as annotators' are; and 20 boxes. CPU ms a sample (user and system time of this process) of one loader with
one worker, batches of 32, RandomResizedCrop(SIZE) and a flip, uint8: the picture alone, with its mask, with its boxes and their labels,
and the picture resized to fit with its boxes and without. Arms take turns, ROUNDS times; medians and (min..max), and the median of the
ratios to the picture alone within a round. Run it on a machine that does nothing else.
"""
import argparse
import io
import json
import pathlib
import statistics
import tempfile
import time

import numpy
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

CLASSES, BOXES = 21, 20


def mask_of(width, height, random):
    """A Voronoi diagram of some sites, of which each has a class, with noise along the borders."""
    sites = random.rand(12, 2) * [height, width]
    classes = random.randint(0, CLASSES, len(sites)).astype("uint8")
    y, x = numpy.mgrid[0:height, 0:width] + random.normal(0, 1, (2, height, width))
    nearest = numpy.argmin([(y - site[0]) ** 2 + (x - site[1]) ** 2 for site in sites], axis=0)
    made = io.BytesIO()
    Image.fromarray(classes[nearest]).save(made, "PNG")
    return made.getvalue()


def boxes_of(width, height, random):
    corners = numpy.sort(random.rand(BOXES, 2, 2) * [width - 2, height - 2], axis=1)
    return numpy.concatenate([corners[:, 0], corners[:, 1] + 2], axis=1).astype("float32")


def pack(photos, path):
    random, count, mask_bytes = numpy.random.RandomState(0), 0, 0
    fields = {"image": "image", "mask": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    with sluice.Writer(path, fields) as writer:
        for file in sorted(pathlib.Path(photos).rglob("*")):
            if file.suffix.lower() not in (".jpg", ".jpeg"):
                continue
            width, height = Image.open(file).size
            mask = mask_of(width, height, random)
            writer.add(image=file.read_bytes(), mask=mask, boxes=boxes_of(width, height, random), labels=numpy.arange(BOXES))
            count, mask_bytes = count + 1, mask_bytes + len(mask)
    return count, mask_bytes / count


def arms(size):
    crop = [T.RandomResizedCrop(size), T.RandomHorizontalFlip()]
    fit = [T.Resize((size, size))]
    boxes = {"boxes": C.Boxes(length=BOXES), "labels": C.Ragged(length=BOXES, follows="boxes")}
    return {
        "picture": {"image": C.Image(transform=crop)},
        "picture, mask": {"image": C.Image(transform=crop), "seg": C.Mask("mask", fill=255)},
        "picture, boxes": {"image": C.Image(transform=crop), **boxes},
        "resized": {"image": C.Image(transform=fit)},
        "resized, boxes": {"image": C.Image(transform=fit), **boxes},
        "resized, mask": {"image": C.Image(transform=fit), "seg": C.Mask("mask", fill=255)},
    }


def cpu_ms(data, columns, epochs):
    """A sample, behind an epoch that is not counted."""
    with sluice.Loader(data, batch_size=32, columns=columns, num_workers=1, seed=1) as loader:
        for _ in loader:
            pass
        begin, samples = time.process_time(), 0
        for _ in range(epochs):
            for batch in loader:
                samples += len(batch["index"])
        return (time.process_time() - begin) / samples * 1000


def summary(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f}..{max(values):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--keep", help="a folder where the packed photos stay")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(arguments.keep or folder) / "packed"
        if not path.exists():
            print("{} photos, masks of {:.0f} bytes".format(*pack(arguments.photos, path)))
        made = arms(arguments.size)
        times = {name: [] for name in made}
        for _ in range(arguments.rounds):
            for name, columns in made.items():
                times[name].append(cpu_ms(path, columns, arguments.epochs))
    if arguments.json:
        print(json.dumps(times))
        return
    print("CPU ms a sample, and of the same without followers")
    for name, values in times.items():
        base = times[name.split(",")[0]]
        print(f"{name:16s} {summary(values)}   x {summary([a / b for a, b in zip(values, base)])}")


if __name__ == "__main__":
    main()

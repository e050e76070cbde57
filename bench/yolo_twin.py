#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""yolo_twin.py FOLDER PACKED [SECONDS [RUNS]] [--no-mosaic] [--arms A,B]: measures CPU time of YOLO's training pipeline.
yolo_twin.py --make PHOTOS FOLDER

FOLDER is a YOLO dataset (images/, labels/), PACKED the same after `sluice pack`. The first form runs these in separate
processes, RUNS [5] times in turn for SECONDS [5], after a warm-up of one epoch:

  buffer   OpenCV, like ultralytics (data/base.py, data/augment.py, 8.3): cv2.imread, resized to a longer side of 640,
           a mosaic with three of the last 128 images, kept in memory, random_perspective by cv2.warpAffine,
           HSV by tables, a flip, to CHW. One thread, no OpenCV threads
  all      the same with three partners from the whole dataset, each read and decoded, as in sluice
  folder   sluice.Loader on FOLDER, one worker: Mosaic, RandomAffine, CenterCrop, RandomHsv, RandomHorizontalFlip
  packed   the same on PACKED

All return boxes with labels, in batches of 16 of 640 x 640 x 3 bytes. --no-mosaic: one image each, as in the last epochs.
Prints CPU ms per sample (user and system of the process and its children), medians (min..max); the ratio of each OpenCV arm
to each sluice arm in the same round; and boxes per sample, to verify that the arms do the same.

--make writes FOLDER: the photos with a longer side of 640, like COCO's (quality 92), each with 1 to 14 random boxes.
Needs OpenCV (python3-opencv), numpy, and the sluice package in PYTHONPATH; --make needs Pillow.
"""
import argparse
import json
import math
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import time

import numpy

SIZE, BATCH, BUFFER, FILL = 640, 16, 128, 114
TRANSLATE, SCALE, HSV = 0.1, 0.5, (0.015, 0.7, 0.4)
ARMS = {"buffer": "twin", "all": "twin", "folder": "sluice", "packed": "sluice"}


# ---- the twin: boxes are rows of label, x1, y1, x2, y2 in pixels ----


def read_labels(picture):
    """Returns the label and the box, from 0 to 1, of each line."""
    path = pathlib.Path(str(picture).replace("/images/", "/labels/")).with_suffix(".txt")
    rows = numpy.array([line.split() for line in path.read_text().splitlines()], numpy.float32).reshape(-1, 5)
    center, half = rows[:, 1:3], rows[:, 3:5] / 2
    return numpy.hstack([rows[:, :1], center - half, center + half])


class Twin:
    """Samples as ultralytics makes them: index to image and boxes."""

    def __init__(self, folder, mosaic, buffered):
        import cv2

        cv2.setNumThreads(0)
        self.cv2, self.mosaic, self.buffered = cv2, mosaic, buffered
        self.paths = sorted((pathlib.Path(folder) / "images").rglob("*.jpg"))
        self.labels = [read_labels(path) for path in self.paths]
        self.kept, self.order = {}, []

    def load(self, index):
        """Returns the image with a longer side of SIZE; does not reread one that is still kept."""
        if index in self.kept:
            return self.kept[index]
        picture = self.cv2.imread(str(self.paths[index]))
        height, width = picture.shape[:2]
        ratio = SIZE / max(height, width)
        if ratio != 1:
            size = min(math.ceil(width * ratio), SIZE), min(math.ceil(height * ratio), SIZE)
            picture = self.cv2.resize(picture, size, interpolation=self.cv2.INTER_LINEAR)
        if self.mosaic and self.buffered:
            self.kept[index] = picture
            self.order.append(index)
            if len(self.order) > BUFFER:
                del self.kept[self.order.pop(0)]
        return picture

    def boxes(self, index, picture, left, top):
        height, width = picture.shape[:2]
        return self.labels[index] * numpy.array([1, width, height, width, height], numpy.float32) + (0, left, top, left, top)

    def tiles(self, index):
        first = self.load(index)
        known = self.order if self.buffered else range(len(self.paths))
        yield index, first
        for partner in random.choices(known, k=3):
            yield partner, self.load(partner)

    def make_mosaic(self, index):
        canvas = numpy.full((2 * SIZE, 2 * SIZE, 3), FILL, numpy.uint8)
        y, x = (int(random.uniform(SIZE / 2, 2 * SIZE - SIZE / 2)) for _ in range(2))
        rows = []
        for place, (tile, picture) in enumerate(self.tiles(index)):
            height, width = picture.shape[:2]
            left = x - width if place % 2 == 0 else x
            top = y - height if place < 2 else y
            x1, y1, x2, y2 = max(left, 0), max(top, 0), min(left + width, 2 * SIZE), min(top + height, 2 * SIZE)
            canvas[y1:y2, x1:x2] = picture[y1 - top : y2 - top, x1 - left : x2 - left]
            rows.append(self.boxes(tile, picture, left, top))
        rows = numpy.concatenate(rows)
        rows[:, 1:] = rows[:, 1:].clip(0, 2 * SIZE)
        return canvas, rows[(rows[:, 3] > rows[:, 1]) & (rows[:, 4] > rows[:, 2])]

    def make_letter_box(self, index):
        picture = self.load(index)
        height, width = picture.shape[:2]
        left, top = round((SIZE - width) / 2 - 0.1), round((SIZE - height) / 2 - 0.1)
        right, bottom = SIZE - width - left, SIZE - height - top
        fill = self.cv2.BORDER_CONSTANT
        canvas = self.cv2.copyMakeBorder(picture, top, bottom, left, right, fill, value=(FILL,) * 3)
        return canvas, self.boxes(index, picture, left, top)

    def affine(self, canvas, rows):
        """random_perspective without rotation and shear; SIZE x SIZE of it is visible."""
        center, matrix, moved = numpy.eye(3), numpy.eye(3), numpy.eye(3)
        center[0, 2], center[1, 2] = -canvas.shape[1] / 2, -canvas.shape[0] / 2
        scale = random.uniform(1 - SCALE, 1 + SCALE)
        matrix[:2] = self.cv2.getRotationMatrix2D(angle=0, center=(0, 0), scale=scale)
        for axis in range(2):
            moved[axis, 2] = random.uniform(0.5 - TRANSLATE, 0.5 + TRANSLATE) * SIZE
        matrix = moved @ matrix @ center
        picture = self.cv2.warpAffine(canvas, matrix[:2], dsize=(SIZE, SIZE), borderValue=(FILL,) * 3)
        corners = numpy.ones((len(rows) * 4, 3))
        corners[:, :2] = rows[:, [1, 2, 3, 4, 1, 4, 3, 2]].reshape(-1, 2)
        corners = (corners @ matrix.T)[:, :2].reshape(-1, 4, 2)
        made = numpy.hstack([corners.min(1), corners.max(1)]).clip(0, SIZE)
        return picture, self.candidates(rows, made, scale)

    @staticmethod
    def candidates(rows, made, scale):
        before = (rows[:, 3:] - rows[:, 1:3]) * scale
        after = made[:, 2:] - made[:, :2]
        longer = numpy.maximum(after[:, 0] / (after[:, 1] + 1e-16), after[:, 1] / (after[:, 0] + 1e-16))
        kept = (after > 2).all(1) & (after.prod(1) / (before.prod(1) + 1e-16) > 0.1) & (longer < 100)
        return numpy.hstack([rows[kept, :1], made[kept]])

    def hsv(self, picture):
        hue, saturation, value = numpy.random.uniform(-1, 1, 3) * HSV
        x = numpy.arange(256, dtype=numpy.float64)
        tables = (x + hue * 180) % 180, (x * (saturation + 1)).clip(0, 255), (x * (value + 1)).clip(0, 255)
        planes = self.cv2.split(self.cv2.cvtColor(picture, self.cv2.COLOR_BGR2HSV))
        changed = self.cv2.merge([self.cv2.LUT(plane, table.astype(numpy.uint8)) for plane, table in zip(planes, tables)])
        self.cv2.cvtColor(changed, self.cv2.COLOR_HSV2BGR, dst=picture)

    def sample(self, index):
        picture, rows = self.affine(*(self.make_mosaic if self.mosaic else self.make_letter_box)(index))
        self.hsv(picture)
        if random.random() < 0.5:
            picture = numpy.fliplr(picture)
            rows[:, [1, 3]] = SIZE - rows[:, [3, 1]]
        return numpy.ascontiguousarray(picture.transpose(2, 0, 1)[::-1]), rows

    def epoch(self):
        """Yields batches: images, and the number of boxes."""
        order = random.sample(range(len(self.paths)), len(self.paths))
        for at in range(0, len(order) - BATCH + 1, BATCH):
            pictures, rows = zip(*map(self.sample, order[at : at + BATCH]))
            yield numpy.stack(pictures), len(numpy.concatenate(rows))


# ---- sluice ----


def sluice_steps(mosaic):
    from sluice import transforms as T

    # The canvas has twice the size, so half the translation.
    first = [T.Mosaic(SIZE, fill=FILL)] if mosaic else [T.LetterBox(SIZE, FILL)]
    part = TRANSLATE / 2 if mosaic else TRANSLATE
    affine = T.RandomAffine(0, (part, part), (1 - SCALE, 1 + SCALE), interpolation="bilinear", fill=FILL)
    return [*first, affine, T.CenterCrop(SIZE), T.RandomHsv(*HSV), T.RandomHorizontalFlip()]


class Sluice:
    def __init__(self, path, mosaic):
        import sluice
        from sluice import columns as C

        columns = {
            "image": C.Image(transform=sluice_steps(mosaic), layout="NCHW"),
            "boxes": C.Boxes(length=100, format="cxcywh", relative=True, keep="yolo"),
            "labels": C.Ragged(length=100, follows="boxes"),
        }
        self.loader = sluice.Loader(path, batch_size=BATCH, shuffle=True, num_workers=1, drop_last=True, columns=columns)

    def epoch(self):
        for batch in self.loader:
            yield batch["image"].numpy(), len(batch["boxes"].numpy())


# ---- measuring ----


def cpu_seconds():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(arm, path, mosaic, seconds):
    made = Twin(path, mosaic, arm == "buffer") if ARMS[arm] == "twin" else Sluice(path, mosaic)
    for _ in made.epoch():
        pass
    samples = boxes = 0
    cpu, start = cpu_seconds(), time.perf_counter()
    while time.perf_counter() - start < seconds:
        for pictures, count in made.epoch():
            assert pictures.shape == (BATCH, 3, SIZE, SIZE)
            samples, boxes = samples + BATCH, boxes + count
    print(json.dumps([(cpu_seconds() - cpu) / samples * 1e3, boxes / samples]))


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})"


def compare(arguments):
    arms = arguments.arms.split(",")
    rounds = []
    for _ in range(arguments.runs):
        made = {}
        for arm in arms:
            path = arguments.packed if arm == "packed" else arguments.folder
            command = [sys.executable, __file__, path, arm, str(arguments.seconds), "--measure"]
            command += ["--no-mosaic"] * (not arguments.mosaic)
            made[arm] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        rounds.append(made)
    print("| arm | CPU ms per sample | boxes per sample |\n|---|---|---|")
    for arm in arms:
        print(f"| {arm} | {spread([one[arm][0] for one in rounds])} | {statistics.median(one[arm][1] for one in rounds):.1f} |")
    for twin in (arm for arm in arms if ARMS[arm] == "twin"):
        for ours in (arm for arm in arms if ARMS[arm] == "sluice"):
            print(f"{twin} / {ours}: {spread([one[twin][0] / one[ours][0] for one in rounds])}")


def make(photos, folder):
    from PIL import Image

    draw = numpy.random.default_rng(1)
    for kind in ("images", "labels"):
        (folder / kind).mkdir(parents=True)
    for path in sorted(pathlib.Path(photos).rglob("*.[jJ][pP]*[gG]")):
        with Image.open(path) as picture:
            ratio = SIZE / max(picture.size)
            size = [max(1, round(side * ratio)) for side in picture.size]
            picture.convert("RGB").resize(size, Image.LANCZOS).save(folder / "images" / f"{path.stem}.jpg", quality=92)
        sides = draw.uniform(0.05, 0.6, (draw.integers(1, 15), 2))
        centers = draw.uniform(sides / 2, 1 - sides / 2)
        rows = zip(draw.integers(0, 80, len(sides)), centers, sides)
        text = "".join(f"{label} {x:.6f} {y:.6f} {width:.6f} {height:.6f}\n" for label, (x, y), (width, height) in rows)
        (folder / "labels" / f"{path.stem}.txt").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("packed")
    parser.add_argument("seconds", type=float, nargs="?", default=5)
    parser.add_argument("runs", type=int, nargs="?", default=5)
    parser.add_argument("--no-mosaic", dest="mosaic", action="store_false")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.folder, pathlib.Path(arguments.packed))
    elif arguments.measure:
        measure(arguments.packed, arguments.folder, arguments.mosaic, arguments.seconds)
    else:
        compare(arguments)


if __name__ == "__main__":
    main()

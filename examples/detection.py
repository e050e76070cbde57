#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Detects discs and squares with torchvision's RetinaNet.

    detection.py [--steps N]

Draws shapes on noise, packs images with their boxes and labels, and trains on scaled and flipped crops; boxes follow.
Held-out images are resized to one size. The inverse of the `where` column's matrix maps detections back to the stored
image, where they are compared. Prints the fraction of shapes that were found.
"""
import argparse
import io
import itertools
import pathlib
import tempfile

import numpy
import torch
from PIL import Image, ImageDraw
from torch import nn
from torchvision.models.detection import RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.ops import box_iou

import sluice.torch
from sluice import columns as C
from sluice import transforms as T

SIDE, BATCH, MOST = 64, 8, 8


def draw(random):
    """Draws an image of random size with one to three separate shapes; returns it, their boxes and labels (1: disc, 2: square)."""
    size = random.integers(80, 130, 2)
    picture = Image.new("RGB", tuple(size.tolist()), tuple(random.integers(40, 110, 3).tolist()))
    boxes, labels = [], []
    for _ in range(random.integers(1, 4)):
        radius = random.uniform(10, 20)
        center = random.uniform(radius, size - radius)
        box = [*(center - radius).round(), *(center + radius).round()]
        if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in boxes):
            continue
        labels.append(int(random.integers(1, 3)))
        boxes.append(box)
        pen, colour = ImageDraw.Draw(picture), tuple(random.integers(150, 256, 3).tolist())
        inside = (box[0], box[1], box[2] - 1, box[3] - 1)  # Pillow draws the last pixel too
        (pen.ellipse if labels[-1] == 1 else pen.rectangle)(inside, colour)
    return picture, numpy.array(boxes, "float32"), numpy.array(labels)


def pack(path, seed, count):
    random = numpy.random.default_rng(seed)
    fields = {"image": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    with sluice.Writer(path, fields) as writer:
        for _ in range(count):
            picture, boxes, labels = draw(random)
            file = io.BytesIO()
            picture.save(file, "JPEG", quality=92)
            writer.add(image=file.getvalue(), boxes=boxes, labels=labels)


def open_loader(path, transform, boxes, **options):
    columns = {
        "image": C.Image(transform=[*transform, T.ToTensor()]),
        "boxes": boxes,
        "labels": C.Ragged(length=MOST, follows="boxes"),
        "where": C.Geometry(),
    }
    return sluice.torch.DataLoader(path, batch_size=BATCH, seed=3, columns=columns, **options)


def make_model():
    layers = []
    for before, after in itertools.pairwise((3, 16, 32, 64)):
        layers += [nn.Conv2d(before, after, 3, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
    backbone = nn.Sequential(*layers)
    backbone.out_channels = 64
    anchors = AnchorGenerator(((12, 18, 26),), ((1.0,),))
    size = {"min_size": SIDE, "max_size": SIDE}  # the images already have this size
    return RetinaNet(backbone, 3, anchor_generator=anchors, detections_per_img=MOST, score_thresh=0.15, **size)


def train(loader, model, steps):
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    epochs = itertools.chain.from_iterable(itertools.repeat(loader))
    for step, batch in enumerate(itertools.islice(epochs, steps), 1):
        loss = sum(model(list(batch["image"]), sluice.torch.targets(batch)).values())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        if step % 50 == 0 or step == 1:
            print(f"step {step}: loss {loss:.2f}", flush=True)


def moved(matrix, boxes):
    """Maps corners by a matrix without rotation or flip."""
    corners = torch.cat([boxes.reshape(-1, 2), torch.ones(2 * len(boxes), 1)], 1).double() @ matrix.T
    return (corners[:, :2] / corners[:, 2:]).reshape(-1, 4)


@torch.no_grad()
def found(loader, model):
    """Returns the fraction of stored boxes that a detection of the same class overlaps by at least half."""
    model.eval()
    hits = count = 0
    for batch in loader:
        for row, (output, target) in enumerate(zip(model(list(batch["image"])), sluice.torch.targets(batch))):
            back = torch.linalg.inv(batch["where"][row])
            overlaps = box_iou(moved(back, target["boxes"]), moved(back, output["boxes"]))
            same = target["labels"][:, None] == output["labels"][None]
            hits += int(((overlaps > 0.5) & same).any(1).sum())
            count += len(target["boxes"])
    return hits / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        seen, held_out = pathlib.Path(folder) / "seen", pathlib.Path(folder) / "held out"
        pack(seen, seed=1, count=400)
        pack(held_out, seed=2, count=64)
        model = make_model()
        crops = [T.RandomResizedCrop(SIDE, (0.4, 1)), T.RandomHorizontalFlip(), T.ColorJitter(0.2, 0.2)]
        boxes = C.Boxes(length=MOST, min_visibility=0.4, at_least_one=True)
        train(open_loader(seen, crops, boxes, shuffle=True, drop_last=True), model, arguments.steps)
        share = found(open_loader(held_out, [T.Resize((SIDE, SIDE))], C.Boxes(length=MOST)), model)
    print(f"found {share:.1%} of the shapes")
    return 0 if share > 0.4 else "that is hardly better than chance"


if __name__ == "__main__":
    raise SystemExit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The YOLO pipeline: mosaics of four images, shifted, scaled, colour-jittered and flipped, with their boxes.

    yolo.py [--epochs N] [--close N]

Draws shapes as a YOLO dataset (images/, labels/, data.yaml), reads it in place, and trains a small anchor-free one-stage
detector: each cell of a grid predicts whether it contains the centre of a shape, its class, and the positions of its sides.
The last epochs have no mosaics, like ultralytics' close_mosaic. Prints the loss of each epoch, and the fraction of held-out
shapes that were found.
"""
import argparse
import pathlib
import tempfile

import numpy
import torch
from PIL import Image, ImageDraw
from torch import nn
from torch.nn import functional as F
from torchvision.ops import box_iou, generalized_box_iou_loss

import sluice.torch
from sluice import columns as C
from sluice import transforms as T

SIZE, BATCH, STRIDE, CLASSES = 96, 16, 8, ("disc", "square")


def draw(random):
    """Draws an image with one to three shapes; returns it and its YOLO label lines: class, centre and size from 0 to 1."""
    side = numpy.array([random.integers(80, 130), random.integers(80, 130)])
    picture = Image.new("RGB", tuple(side.tolist()), tuple(random.integers(40, 110, 3).tolist()))
    lines, seen = [], []
    for _ in range(random.integers(1, 4)):
        radius = random.uniform(10, 20)
        middle = random.uniform(radius, side - radius)
        if any(numpy.abs(middle - other).max() < radius + more for other, more in seen):
            continue
        seen.append((middle, radius))
        label = int(random.integers(len(CLASSES)))
        box = [*(middle - radius), *(middle + radius)]
        pen, colour = ImageDraw.Draw(picture), tuple(random.integers(150, 256, 3).tolist())
        (pen.ellipse if label == 0 else pen.rectangle)(box, colour)
        lines.append(f"{label} " + " ".join(f"{value:.6f}" for value in (*(middle / side), *(2 * radius / side))))
    return picture, lines


def write(folder, split, seed, count):
    random = numpy.random.default_rng(seed)
    for kind in ("images", "labels"):
        (folder / kind / split).mkdir(parents=True)
    for number in range(count):
        picture, lines = draw(random)
        picture.save(folder / "images" / split / f"{number:04}.jpg", quality=92)
        (folder / "labels" / split / f"{number:04}.txt").write_text("\n".join(lines))
    (folder / "data.yaml").write_text(f"train: images/train\nval: images/val\nnames: [{', '.join(CLASSES)}]\n")


def open_loader(path, steps, **options):
    columns = {
        "image": C.Image(transform=[*steps, T.ToTensor()]),
        "boxes": C.Boxes(keep="yolo"),
        "labels": C.Ragged(),
    }
    return sluice.torch.DataLoader(path, batch_size=BATCH, seed=5, columns=columns, **options)


def train_steps(epochs, close):
    """Returns the steps of ultralytics' v8_transforms; `translate` refers to a canvas of twice the size."""
    return [
        T.Mosaic(SIZE, end_epoch=max(1, epochs - close)),
        T.RandomAffine(0, translate=(0.05, 0.05), scale=(0.6, 1.4), interpolation="bilinear", fill=114),
        T.CenterCrop(SIZE), T.RandomHsv(), T.RandomHorizontalFlip(),
    ]  # fmt: skip


class Detector(nn.Module):
    """Predicts for each cell: the probability of a shape, its sides (in cells, from the cell's centre), class scores."""

    def __init__(self):
        super().__init__()
        layers = []
        for before, after, stride in ((3, 16, 2), (16, 32, 2), (32, 64, 2), (64, 64, 1), (64, 64, 1)):
            layers += [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.SiLU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(64, 5 + len(CLASSES), 1))
        nn.init.constant_(self.layers[-1].bias[0], -4.0)  # few cells contain a shape
        cells = (torch.arange(SIZE // STRIDE) + 0.5) * STRIDE
        self.register_buffer("middles", torch.stack(torch.meshgrid(cells, cells, indexing="xy"), -1).reshape(-1, 2))

    def forward(self, pictures):
        made = self.layers(pictures).flatten(2).transpose(1, 2)
        sides = F.softplus(made[..., 1:5]) * STRIDE
        boxes = torch.cat([self.middles - sides[..., :2], self.middles + sides[..., 2:]], -1)
        return made[..., 0], boxes, made[..., 5:]


def loss_of(model, batch):
    there, boxes, classes = model(batch["image"])
    rows = torch.repeat_interleave(torch.arange(BATCH), batch["boxes"].offsets.diff())
    middles = (batch["boxes"][:, :2] + batch["boxes"][:, 2:]) / 2
    column, row = (middles / STRIDE).long().clamp(0, SIZE // STRIDE - 1).unbind(1)
    cells = row * (SIZE // STRIDE) + column
    wanted = torch.zeros_like(there)
    wanted[rows, cells] = 1
    count = max(1, len(rows))
    loss = F.binary_cross_entropy_with_logits(there, wanted, reduction="sum")
    loss = loss + 2 * generalized_box_iou_loss(boxes[rows, cells], batch["boxes"], reduction="sum")
    return (loss + F.cross_entropy(classes[rows, cells], batch["labels"], reduction="sum")) / count


def train(loader, model, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=epochs * len(loader))
    for epoch in range(epochs):
        loader.set_epoch(epoch)
        losses = []
        for batch in loader:
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {numpy.mean(losses):.3f}, {len(batch['boxes']) / BATCH:.1f} boxes per image", flush=True)


@torch.no_grad()
def found(loader, model):
    """Returns the fraction of boxes that the most confident cell over them matches, by at least half and in class."""
    model.eval()
    hits = count = 0
    for batch in loader:
        there, boxes, classes = model(batch["image"])
        for row, target in enumerate(sluice.torch.targets(batch)):
            sure = there[row] > 0
            same = target["labels"][:, None] == classes[row, sure].argmax(1)[None]
            overlaps = box_iou(target["boxes"], boxes[row, sure])
            hits += int(((overlaps > 0.5) & same).any(1).sum())
            count += len(target["boxes"])
    return hits / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--close", type=int, default=3, help="number of last epochs without mosaics")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        write(root, "train", seed=1, count=256)
        write(root, "val", seed=2, count=64)
        model = Detector()
        steps = train_steps(arguments.epochs, arguments.close)
        loader = open_loader(root / "images/train", steps, shuffle=True, drop_last=True)
        train(loader, model, arguments.epochs)
        share = found(open_loader(root / "images/val", [T.LetterBox(SIZE)]), model)
    print(f"found {share:.1%} of the shapes")
    return 0 if share > 0.4 else "that is hardly better than chance"


if __name__ == "__main__":
    raise SystemExit(main())

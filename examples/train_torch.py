#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on generated images, and compares data loaders.

    train_torch.py [--loader torch|sluice|resident]... [--epochs N] [--device cpu|cuda]

Makes several hundred labelled images (stripes of four directions), trains on them with each loader in turn,
and prints the time per step, the fraction of it spent waiting for data, images per second and the accuracy.
torch: torch.utils.data.DataLoader with Pillow; sluice: sluice.torch.DataLoader; resident: one batch, reused,
which shows the speed without waiting (its accuracy is meaningless).
"""
import argparse
import itertools
import math
import os
import pathlib
import sys
import tempfile
import time

import numpy
import torch
from PIL import Image

import sluice.torch
from sluice import transforms as T

CLASSES, SIDE, BATCH = 4, 32, 32
MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)


def make_pictures(root, count):
    """Draws stripes at 0, 45, 90 and 135 degrees, of random phase, colour and width, on noise."""
    random = numpy.random.default_rng(0)
    for number in range(count):
        label = number % CLASSES
        folder = root / f"angle{label * 45:03}"
        folder.mkdir(parents=True, exist_ok=True)
        height, width = random.integers(96, 160, 2)
        y, x = numpy.mgrid[:height, :width]
        angle = label * math.pi / 4
        wave = numpy.sin((x * math.cos(angle) + y * math.sin(angle)) * random.uniform(0.2, 0.4) + random.uniform(0, 6))
        pixels = 128 + wave[..., None] * random.uniform(20, 60, 3) + random.normal(0, 25, (height, width, 3))
        Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8)).save(folder / f"{number:04}.jpg", quality=90)


class Pillow(torch.utils.data.Dataset):
    """The same images and transforms, written without sluice."""

    def __init__(self, root):
        self.files = sorted(root.rglob("*.jpg"))
        self.labels = {name: label for label, name in enumerate(sorted({path.parent.name for path in self.files}))}

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        path = self.files[number]
        picture = Image.open(path).convert("RGB")
        width, height = picture.size
        side = int(min(width, height) * float(torch.empty(1).uniform_(0.7, 1)))
        left = int(torch.randint(0, width - side + 1, ()))
        top = int(torch.randint(0, height - side + 1, ()))
        picture = picture.resize((SIDE, SIDE), Image.BILINEAR, box=(left, top, left + side, top + side))
        pixels = torch.from_numpy(numpy.array(picture)).permute(2, 0, 1).float() / 255
        return (pixels - 0.5) / 0.25, self.labels[path.parent.name]


def open_loader(kind, root, workers, device):
    if kind == "torch":
        return torch.utils.data.DataLoader(Pillow(root), BATCH, shuffle=True, drop_last=True, num_workers=workers)
    loader = sluice.torch.DataLoader(
        root, batch_size=BATCH, shuffle=True, drop_last=True, num_workers=workers, device=device,
        transform=T.Compose([T.RandomResizedCrop(SIDE, (0.5, 1)), T.Normalize(MEAN, STD)]),
    )  # fmt: skip
    if kind == "resident":
        images, labels = next(iter(loader))
        return [(images.clone(), labels.clone())] * len(loader)
    return loader


def make_model():
    layers = []
    for channels, after in itertools.pairwise([3, 16, 32, 32]):
        layers += [torch.nn.Conv2d(channels, after, 3, stride=2, padding=1), torch.nn.BatchNorm2d(after), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, CLASSES))


def train(loader, epochs, device):
    """Returns the seconds per step, the fraction spent waiting, and the accuracy in the last epoch."""
    torch.manual_seed(0)
    model = make_model().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    waited, steps, right, seen = 0.0, 0, 0, 0
    start = time.perf_counter()
    for epoch in range(epochs):
        right = seen = 0
        asked = time.perf_counter()
        for images, labels in loader:
            waited += time.perf_counter() - asked
            images, labels = images.to(device), labels.to(device)
            scores = model(images)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores, labels).backward()
            optimizer.step()
            right += int((scores.argmax(1) == labels).sum())
            seen += len(labels)
            steps += 1
            asked = time.perf_counter()
    seconds = time.perf_counter() - start
    return seconds / steps, waited / seconds, right / seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loader", choices=["torch", "sluice", "resident"], action="append")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--pictures", type=int, default=640)
    parser.add_argument("--workers", type=int, default=min(4, len(os.sched_getaffinity(0))))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    worst = 1.0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "stripes"
        make_pictures(root, arguments.pictures)
        print(f"{'loader':9} {'ms/step':>10} {'waiting':>8} {'images/s':>11} {'accuracy':>9}")
        for kind in arguments.loader or ["torch", "sluice", "resident"]:
            loader = open_loader(kind, root, arguments.workers, arguments.device)
            seconds, waiting, accuracy = train(loader, arguments.epochs, arguments.device)
            print(f"{kind:9} {seconds * 1e3:10.2f} {waiting:8.1%} {BATCH / seconds:11.0f} {accuracy:9.1%}", flush=True)
            if kind != "resident":
                worst = min(worst, accuracy)
    return 0 if worst > 0.5 else f"an accuracy of {worst:.1%} is hardly better than chance"


if __name__ == "__main__":
    sys.exit(main())

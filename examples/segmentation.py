#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Segmentation: classifies each pixel as disc, square, triangle or background.

    segmentation.py [--steps N]

Draws shapes on noise, packs images (JPEG) and masks (PNG), and trains a small network on rotated, scaled and
flipped crops, each with its mask. Pixels outside the image are 255 in the mask, and the loss ignores them. Prints
the mean intersection over union of the classes in held-out images, and fails if it is low.
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

import sluice.torch
from sluice import columns as C
from sluice import transforms as T

SIDE, BATCH, CLASSES, IGNORE = 48, 16, 4, 255
COLOURS = [(190, 90, 90), (90, 180, 100), (100, 100, 200)]


def draw(random):
    """Draws an image of random size and its mask: two or three shapes; later ones hide earlier ones."""
    size = tuple(random.integers(64, 110, 2).tolist())
    picture, mask = Image.new("RGB", size, tuple(random.integers(70, 130, 3).tolist())), Image.new("L", size)
    for kind in random.integers(1, CLASSES, random.integers(2, 4)).tolist():
        radius = random.uniform(9, 18)
        x, y = (random.uniform(radius, side - radius) for side in size)
        for image, colour in ((picture, COLOURS[kind - 1]), (mask, kind)):
            pen, box = ImageDraw.Draw(image), (x - radius, y - radius, x + radius, y + radius)
            if kind == 1:
                pen.ellipse(box, colour)
            elif kind == 2:
                pen.rectangle(box, colour)
            else:
                pen.polygon([(x, box[1]), (box[0], box[3]), (box[2], box[3])], colour)
    noise = numpy.asarray(picture) + random.normal(0, 10, (size[1], size[0], 3))
    return Image.fromarray(noise.clip(0, 255).astype("uint8")), mask


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pack(path, seed, count):
    random = numpy.random.default_rng(seed)
    with sluice.Writer(path, {"image": "image", "mask": "image"}) as writer:
        for _ in range(count):
            picture, mask = draw(random)
            writer.add(image=encoded(picture, "JPEG", quality=92), mask=encoded(mask, "PNG"))


def open_loader(path, *transforms, **options):
    recipe = [*transforms, T.Normalize((0.4,) * 3, (0.25,) * 3)]
    return sluice.torch.DataLoader(
        path, batch_size=BATCH, seed=3, **options,
        columns={
            "image": C.Image(transform=recipe),
            "classes": C.Mask("mask", fill=IGNORE, dtype="int64"),
        },
    )  # fmt: skip


class Network(nn.Module):
    """Downsamples twice and upsamples again, with skip connections."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = block(3, 16), block(16, 32), block(32, 32)
        self.up, self.last, self.head = block(64, 32), block(48, 16), nn.Conv2d(16, CLASSES, 1)

    def forward(self, image):
        fine = self.first(image)
        middle = self.second(nn.functional.max_pool2d(fine, 2))
        coarse = self.third(nn.functional.max_pool2d(middle, 2))
        middle = self.up(torch.cat([middle, nn.functional.interpolate(coarse, scale_factor=2)], 1))
        return self.head(self.last(torch.cat([fine, nn.functional.interpolate(middle, scale_factor=2)], 1)))


def block(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


def train(loader, network, steps):
    optimizer = torch.optim.Adam(network.parameters(), 4e-3)
    epochs = itertools.chain.from_iterable(itertools.repeat(loader))
    for step, (image, classes) in enumerate(itertools.islice(epochs, steps), 1):
        loss = nn.functional.cross_entropy(network(image), classes, ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == 1:
            print(f"step {step}: loss {loss:.2f}", flush=True)


@torch.no_grad()
def intersection_over_union(loader, network):
    both, any_of = torch.zeros(CLASSES), torch.zeros(CLASSES)
    network.eval()
    for image, classes in loader:
        found = network(image).argmax(1)
        for kind in range(CLASSES):
            both[kind] += ((found == kind) & (classes == kind)).sum()
            any_of[kind] += ((found == kind) | (classes == kind)).sum()
    return (both / any_of).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=120)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        seen, held_out = pathlib.Path(folder) / "seen", pathlib.Path(folder) / "held out"
        pack(seen, seed=1, count=320)
        pack(held_out, seed=2, count=64)
        network = Network()
        turned = T.RandomAffine(20, scale=(0.8, 1.2), interpolation="bilinear")
        steps = [turned, T.RandomResizedCrop(SIDE, (0.3, 1)), T.RandomHorizontalFlip(), T.ColorJitter(0.2, 0.2, 0.2)]
        train(open_loader(seen, *steps, shuffle=True, drop_last=True), network, arguments.steps)
        shares = intersection_over_union(open_loader(held_out, T.Resize(64), T.CenterCrop(64)), network)
    print("intersection over union:", ", ".join(f"{share:.1%}" for share in shares), f"mean {sum(shares) / CLASSES:.1%}")
    return 0 if min(shares) > 0.4 else "that is hardly better than chance"


if __name__ == "__main__":
    raise SystemExit(main())

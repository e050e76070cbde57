#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images and captions: trains two small towers until each finds its counterpart.

    clip_pairs.py [--steps N]

Draws coloured shapes at different positions, packs them with captions ("a red ring at the top left"), and
trains on batches of images and padded bytes with the symmetric contrastive loss. Then it looks up held-out
images by caption, and captions by image; the captions of a batch differ. Prints how often the right one
comes first (recall@1), and fails if that is not far above chance.
"""
import argparse
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

SIDE, BATCH, WIDTH, HASHES, LENGTH = 32, 32, 64, 4096, 48
COLOURS = {"red": (220, 40, 40), "green": (40, 190, 60), "blue": (50, 80, 230), "yellow": (230, 210, 40)}
SHAPES = ("disc", "ring", "square", "triangle")
PLACES = {"top left": (0, 0), "top right": (1, 0), "bottom left": (0, 1), "bottom right": (1, 1)}
CAPTIONS = list(itertools.product(COLOURS, SHAPES, PLACES))


def draw(random, colour, shape, place):
    """Draws 64 x 64 pixels: a shape in its quarter, of random size and shade, on noise."""
    picture = Image.new("RGB", (64, 64), tuple(random.integers(60, 120, 3).tolist()))
    radius = random.uniform(8, 13)
    x, y = (32 * part + random.uniform(radius, 32 - radius) for part in PLACES[place])
    box, pen = (x - radius, y - radius, x + radius, y + radius), ImageDraw.Draw(picture)
    if shape == "disc":
        pen.ellipse(box, COLOURS[colour])
    elif shape == "ring":
        pen.ellipse(box, None, COLOURS[colour], 4)
    elif shape == "square":
        pen.rectangle(box, COLOURS[colour])
    else:
        pen.polygon([(x, box[1]), (box[0], box[3]), (box[2], box[3])], COLOURS[colour])
    return (numpy.asarray(picture) + random.normal(0, 12, (64, 64, 3))).clip(0, 255).astype(numpy.uint8)


def pack(path, seed, times):
    """Packs each caption `times` times, with an image as pixels; JPEG bytes would also work."""
    random = numpy.random.default_rng(seed)
    with sluice.Writer(path, {"image": "image", "caption": "text"}) as writer:
        for colour, shape, place in CAPTIONS * times:
            writer.add(image=draw(random, colour, shape, place), caption=f"a {colour} {shape} at the {place}")


def open_loader(path, *transforms):
    view = [*transforms, T.Normalize((0.4,) * 3, (0.25,) * 3)]
    return sluice.torch.DataLoader(
        path, batch_size=BATCH, shuffle=True, drop_last=True, seed=3,
        columns={"image": C.Image(transform=view), "caption": C.Padded(length=LENGTH)},
    )  # fmt: skip


class Texts(nn.Module):
    """Sums the embeddings of all groups of three consecutive bytes."""

    def __init__(self):
        super().__init__()
        self.meanings, self.head = nn.Embedding(HASHES, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, text, lengths):
        first, second, third = (text[:, i : LENGTH - 2 + i].long() for i in range(3))
        inside = torch.arange(LENGTH - 2) < lengths[:, None] - 2
        return self.head((self.meanings((first * 961 + second * 31 + third) % HASHES) * inside[..., None]).sum(1))


class Pictures(nn.Sequential):
    def __init__(self):
        channels = (3, 16, 32, 32)
        steps = [(nn.Conv2d(before, after, 3, 2, 1), nn.ReLU()) for before, after in itertools.pairwise(channels)]
        super().__init__(*itertools.chain(*steps), nn.Flatten(), nn.Linear(32 * (SIDE // 8) ** 2, WIDTH))


def similarities(pictures, texts, batch):
    """Returns a score for each image (row) and caption (column)."""
    image, text = batch
    return nn.functional.normalize(pictures(image)) @ nn.functional.normalize(texts(text, text.lengths)).T


def train(loader, pictures, texts, steps):
    sharpness = nn.Parameter(torch.tensor(2.0))
    optimizer = torch.optim.Adam([*pictures.parameters(), *texts.parameters(), sharpness], 2e-3)
    target = torch.arange(BATCH)
    epochs = itertools.chain.from_iterable(itertools.repeat(loader))  # epoch after epoch, endless
    for step, batch in enumerate(itertools.islice(epochs, steps), 1):
        scores = similarities(pictures, texts, batch) * sharpness.exp()
        loss = (nn.functional.cross_entropy(scores, target) + nn.functional.cross_entropy(scores.T, target)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0 or step == 1:
            print(f"step {step}: loss {loss:.2f}", flush=True)


@torch.no_grad()
def recall(loader, pictures, texts):
    """Returns the fractions of captions and of images whose counterpart is the nearest in the batch."""
    right, target = torch.zeros(2), torch.arange(BATCH)
    for batch in loader:
        scores = similarities(pictures, texts, batch)
        right += torch.stack([(scores.argmax(1) == target).sum(), (scores.argmax(0) == target).sum()])
    return (right / (BATCH * len(loader))).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        seen, held_out = pathlib.Path(folder) / "seen", pathlib.Path(folder) / "held out"
        pack(seen, seed=1, times=12)
        pack(held_out, seed=2, times=1)
        pictures, texts = Pictures(), Texts()
        # No flip: captions mention left and right.
        loader = open_loader(seen, T.RandomResizedCrop(SIDE, (0.8, 1)), T.ColorJitter(0.2))
        train(loader, pictures, texts, arguments.steps)
        found = recall(open_loader(held_out, T.Resize(SIDE), T.CenterCrop(SIDE)), pictures, texts)
    print(f"recall@1: captions {found[0]:.1%}, images {found[1]:.1%}, chance {1 / BATCH:.1%}")
    return 0 if min(found) > 10 / BATCH else "that is hardly better than chance"


if __name__ == "__main__":
    raise SystemExit(main())

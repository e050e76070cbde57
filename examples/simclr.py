#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SimCLR: a network learns to match two views of each image, which is decoded once.

    simclr.py [--steps N]

Draws textures of stripes and spots, packs them as JPEGs without labels, and trains on pairs of views with the loss of the
paper (arXiv 2002.05709). For held-out textures with two views each, prints how often the nearest view is the other view of
the same texture, and fails if that is not far above chance.
"""
import argparse
import io
import itertools
import pathlib
import tempfile

import numpy
import torch
from PIL import Image
from torch import nn

import sluice.torch
from sluice.transforms import presets

SIDE, BATCH, WIDTH = 32, 64, 32


def draw(random):
    """Draws 72 x 72 pixels: stripes of random direction and spots of random distance, between two colours."""
    y, x = numpy.mgrid[0:72, 0:72]
    turn, pitch, share = random.uniform(0, numpy.pi), random.uniform(4, 14), random.uniform(0, 1)
    along = x * numpy.cos(turn) + y * numpy.sin(turn)
    across = y * numpy.cos(turn) - x * numpy.sin(turn)
    wave = numpy.sin(2 * numpy.pi * along / pitch) * (share + (1 - share) * numpy.sin(2 * numpy.pi * across / pitch))
    low, high = random.uniform(20, 235, (2, 3))
    pixels = low + (high - low) * (wave[..., None] / 2 + 0.5) + random.normal(0, 6, (72, 72, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def pack(path, seed, count):
    random = numpy.random.default_rng(seed)
    with sluice.Writer(path, {"image": "image"}) as writer:
        for _ in range(count):
            file = io.BytesIO()
            draw(random).save(file, "JPEG", quality=92)
            writer.add(image=file.getvalue())


def open_loader(path):
    return sluice.torch.DataLoader(path, batch_size=BATCH, shuffle=True, drop_last=True, seed=3, columns=presets.simclr(SIDE, strength=0.3))


class Network(nn.Sequential):
    def __init__(self):
        channels = (3, 16, 32, 64)
        steps = [
            (nn.Conv2d(before, after, 3, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU())
            for before, after in itertools.pairwise(channels)
        ]
        super().__init__(*itertools.chain(*steps), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, WIDTH))


def similarities(network, batch):
    """Returns the similarities of all views: the first of each image, then the second. A view is never similar to itself."""
    views = nn.functional.normalize(network(torch.cat(list(batch)[:2])))
    return (views @ views.T).fill_diagonal_(-torch.inf)


PARTNERS = torch.arange(2 * BATCH).roll(BATCH)


def train(loader, network, steps):
    optimizer = torch.optim.Adam(network.parameters(), 4e-3)
    epochs = itertools.chain.from_iterable(itertools.repeat(loader))
    for step, batch in enumerate(itertools.islice(epochs, steps), 1):
        loss = nn.functional.cross_entropy(similarities(network, batch) / 0.2, PARTNERS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == 1:
            print(f"step {step}: loss {loss:.2f}", flush=True)


@torch.no_grad()
def found(loader, network):
    network.eval()
    hits = [(similarities(network, batch).argmax(1) == PARTNERS).float().mean() for batch in loader]
    return float(torch.stack(hits).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=250)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        seen, held_out = pathlib.Path(folder) / "seen", pathlib.Path(folder) / "held out"
        pack(seen, seed=1, count=1024)
        pack(held_out, seed=2, count=256)
        network = Network()
        train(open_loader(seen), network, arguments.steps)
        share = found(open_loader(held_out), network)
    print(f"the other view is the nearest: {share:.1%}, by chance {1 / (2 * BATCH - 1):.1%}")
    return 0 if share > 0.1 else "that is hardly better than chance"


if __name__ == "__main__":
    raise SystemExit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""augment_recipes.py PHOTOS [--rounds 5] [--seconds 3] [--size 224] [--only NAME] [--json]: measures the cost of recipes of papers.

Alternates recipes, ROUNDS times, and measures CPU ms per image (user and system time of this process) of sluice.Loader
with one worker over PHOTOS in shards, and of torchvision's transforms on fully decoded Pillow images, as in torch (one
process, no workers, no copies between processes: less than a DataLoader needs). Both produce normalised float32,
3 x SIZE x SIZE, in batches of 64. timm is not needed: Pillow calls do the operations of its auto_augment.py. Each round
also measures a full decode by libjpeg-turbo with `sluice bench`, the reference of "of a decode". Prints medians and
spreads. Run it on an idle machine.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from torchvision import transforms as V
from torchvision.transforms import InterpolationMode

import sluice
from sluice import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FILL = tuple(round(255 * value) for value in MEAN)
BATCH, CLASSES = 64, 1000


# ---- timm's rand-m9-mstd0.5-inc1, by Pillow ----


def sign(value):
    return -value if random.random() > 0.5 else value


def affine(picture, matrix, way):
    return picture.transform(picture.size, Image.AFFINE, matrix, resample=way, fillcolor=FILL)


def enhanced(kind):
    return lambda picture, level, way: kind(picture).enhance(max(0.1, 1 + sign(level / 10 * 0.9)))


def solarize_add(picture, level, way, add=110, threshold=128):
    table = [min(255, i + int(level / 10 * add)) if i < threshold else i for i in range(256)]
    return picture.point(table * 3)


TIMM = [
    lambda p, m, way: ImageOps.autocontrast(p),
    lambda p, m, way: ImageOps.equalize(p),
    lambda p, m, way: ImageOps.invert(p),
    lambda p, m, way: p.rotate(sign(m / 10 * 30), resample=way, fillcolor=FILL),
    lambda p, m, way: ImageOps.posterize(p, max(1, 4 - int(m / 10 * 4))),
    lambda p, m, way: ImageOps.solarize(p, 256 - min(256, int(m / 10 * 256))),
    solarize_add,
    enhanced(ImageEnhance.Color),
    enhanced(ImageEnhance.Contrast),
    enhanced(ImageEnhance.Brightness),
    enhanced(ImageEnhance.Sharpness),
    lambda p, m, way: affine(p, (1, sign(m / 10 * 0.3), 0, 0, 1, 0), way),
    lambda p, m, way: affine(p, (1, 0, 0, sign(m / 10 * 0.3), 1, 0), way),
    lambda p, m, way: affine(p, (1, 0, sign(m / 10 * 0.45) * p.size[0], 0, 1, 0), way),
    lambda p, m, way: affine(p, (1, 0, 0, 0, 1, sign(m / 10 * 0.45) * p.size[1]), way),
]


def timm_rand(picture):
    for operation in random.choices(TIMM, k=2):
        if random.random() < 0.5:
            level = min(10, max(0, random.gauss(9, 0.5)))
            picture = operation(picture, level, random.choice((Image.BILINEAR, Image.BICUBIC)))
    return picture


def timm_erase(probability):
    return V.RandomErasing(probability, (0.02, 1 / 3), (0.3, 1 / 0.3), "random")


def mixed(images, labels):
    """timm's Mixup of a batch: mixup 0.8, cutmix 1.0."""
    rows = torch.nn.functional.one_hot(labels, CLASSES).float()
    if random.random() < 0.5:
        share = random.betavariate(0.8, 0.8)
        images = images.mul(share).add_(images.flip(0).mul_(1 - share))
    else:
        side = images.shape[2]
        half = int(side * (1 - random.betavariate(1, 1)) ** 0.5) // 2
        x, y = random.randrange(side), random.randrange(side)
        x0, x1, y0, y1 = max(0, x - half), min(side, x + half), max(0, y - half), min(side, y + half)
        images[:, :, y0:y1, x0:x1] = images.flip(0)[:, :, y0:y1, x0:x1]
        share = 1 - (x1 - x0) * (y1 - y0) / side**2
    return images, rows * share + rows.flip(0) * (1 - share)


# ---- recipes: (sluice, torchvision, batch step of torchvision) ----


def recipes(size):
    bicubic = InterpolationMode.BICUBIC
    ends, tensor = [T.ToTensor(), T.Normalize(MEAN, STD)], [V.ToTensor(), V.Normalize(MEAN, STD)]
    timm = [T.RandomResizedCrop(size, interpolation="bicubic"), T.RandomHorizontalFlip(), T.RandAugment.timm("rand-m9-mstd0.5-inc1")]
    timm += [*ends, T.RandomErasing.timm(0.25, mode="pixel")]
    timm_there = [V.RandomResizedCrop(size, interpolation=bicubic), V.RandomHorizontalFlip(), timm_rand, *tensor, timm_erase(0.25)]
    grey, blur = V.Grayscale(3), lambda picture: picture.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))
    three = V.RandomChoice([grey, ImageOps.solarize, blur])
    crop, crop_there = [T.RandomResizedCrop(size), T.RandomHorizontalFlip()], [V.RandomResizedCrop(size), V.RandomHorizontalFlip()]
    bicubic_there = [V.RandomResizedCrop(size, interpolation=bicubic), V.RandomHorizontalFlip()]
    made = {
        "crop and flip": ([*crop, *ends], [*crop_there, *tensor], None),
        "RandAugment(2, 9)": ([*crop, T.RandAugment(2, 9), *ends], [*crop_there, V.RandAugment(2, 9), *tensor], None),
        "timm rand-m9, erasing": (timm, timm_there, None),
        "timm rand-m9, erasing, mixup": ([*timm, T.MixUp.timm(0.8, 1.0, label_smoothing=0.0, num_classes=CLASSES)], timm_there, mixed),
        "3-Augment": ([T.ThreeAugment(size), *ends], [*bicubic_there, three, V.ColorJitter(0.3, 0.3, 0.3), *tensor], None),
        "AugMix": ([*crop, T.AugMix(), *ends], [*crop_there, V.AugMix(), *tensor], None),
    }
    if "timm_mix" not in {name for name, *_ in sluice._sluice.steps()}:
        del made["timm rand-m9, erasing, mixup"]
    return made


class Here:
    """sluice: whole epochs, so that no work happens before the clock starts."""

    def __init__(self, packed, steps):
        self.loader = sluice.Loader(
            packed, batch_size=BATCH, shuffle=True, drop_last=True, num_workers=1, layout="NCHW", transform=steps
        )
        self.epoch()

    def epoch(self):
        return sum(len(labels) for _, labels in self.loader)

    def measure(self, seconds):
        images, start, cpu = 0, time.monotonic(), time.process_time()
        while time.monotonic() < start + seconds:
            images += self.epoch()
        return (time.process_time() - cpu) / images * 1e3


class There:
    """torchvision on Pillow images."""

    def __init__(self, paths, steps, after):
        self.paths, self.steps, self.after, self.at = paths, V.Compose(steps), after, 0

    def batch(self):
        made = []
        for _ in range(BATCH):
            with open(self.paths[self.at % len(self.paths)], "rb") as file:
                made.append(self.steps(Image.open(file).convert("RGB")))
            self.at += 1
        made = torch.stack(made)
        return made if self.after is None else self.after(made, torch.zeros(BATCH, dtype=torch.int64))

    def measure(self, seconds):
        images, start, cpu = 0, time.monotonic(), time.process_time()
        while time.monotonic() < start + seconds:
            self.batch()
            images += BATCH
        return (time.process_time() - cpu) / images * 1e3


def full_decode(packed):
    """Returns the ms of libjpeg-turbo for a full decode to RGB."""
    command = [sys.executable, "-m", "sluice", "bench", "--json", "--workers", "1", "--seconds", "2", packed]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["full_decode_cpu_ms_per_image"]


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f}..{max(values):.3f})"


def run(arguments, packed):
    paths = sorted(str(path) for path in pathlib.Path(arguments.photos).rglob("*") if path.is_file())
    random.Random(1).shuffle(paths)
    torch.set_num_threads(1)
    cases = {name: value for name, value in recipes(arguments.size).items() if arguments.only in name}
    sides = {name: (Here(packed, here), There(paths, there, after)) for name, (here, there, after) in cases.items()}
    found = {name: ([], []) for name in cases}
    decodes = []
    for _ in range(arguments.rounds):
        decodes.append(full_decode(packed))
        for name, both in sides.items():
            for side, values in zip(both, found[name]):
                values.append(side.measure(arguments.seconds))
    return decodes, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--only", default="", help="only recipes whose name contains this")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        packed = f"{folder}/packed"
        sluice.pack(arguments.photos, packed, progress=None)
        decodes, found = run(arguments, packed)
    if arguments.json:
        print(json.dumps({"full_decode_ms": decodes, "recipes": found}))
        return
    decode = statistics.median(decodes)
    print(f"full decode, ms: {spread(decodes)}")
    print("| recipe | sluice, CPU ms per image | of a decode | torchvision, CPU ms per image | times as much |\n|---|---|---|---|---|")
    for name, (here, there) in found.items():
        ratio = [b / a for a, b in zip(here, there)]
        print(f"| {name} | {spread(here)} | {statistics.median(here) / decode:.2f} | {spread(there)} | {spread(ratio)} |")


if __name__ == "__main__":
    main()

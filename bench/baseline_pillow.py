#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of an image with Pillow, called like PyTorch's usual pipeline.

bench/baseline_pillow.py PHOTOS [--size 224] [--seconds 4] [--dtype u8|f32] [--draft] [--seed 0]

Opens, decodes to RGB, draws a RandomResizedCrop (area 0.08..1, ratio 3/4..4/3, like torchvision),
crops, resizes (bilinear, antialiased) and flips randomly. The result is copied into a batch in NumPy
memory; for f32 it is also scaled, normalised and transposed to NCHW. Uses one process without workers,
queues or copies between processes: less than a DataLoader needs. --draft lets libjpeg decode at a
smaller scale if the image has at least twice the needed size, which torchvision does not do.

Prints one JSON object: images, cpu_ms_per_image (user and system time of the process), versions.
"""
import argparse
import json
import math
import pathlib
import random
import time

import numpy
import PIL
from PIL import Image, features

AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
MEAN = numpy.array([0.485, 0.456, 0.406], numpy.float32)
DEVIATION = numpy.array([0.229, 0.224, 0.225], numpy.float32)
BATCH = 256


def draw_box(generator, width, height):
    """torchvision.transforms.RandomResizedCrop.get_params."""
    for _ in range(10):
        area = width * height * generator.uniform(*AREA)
        ratio = math.exp(generator.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        box_width, box_height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < box_width <= width and 0 < box_height <= height:
            left = generator.randint(0, width - box_width)
            top = generator.randint(0, height - box_height)
            return left, top, left + box_width, top + box_height
    box_width = min(width, round(height * RATIO[1]))
    box_height = min(height, round(width / RATIO[0]))
    left, top = (width - box_width) // 2, (height - box_height) // 2
    return left, top, left + box_width, top + box_height


def load(path, size, generator, draft):
    with open(path, "rb") as file:
        picture = Image.open(file)
        full_width = picture.width
        box = draw_box(generator, picture.width, picture.height)
        if draft:
            least = min(box[2] - box[0], box[3] - box[1])
            factor = max(1, least // size)
            picture.draft("RGB", (picture.width // factor, picture.height // factor))
            box = tuple(round(side * picture.width / full_width) for side in box)
        picture = picture.convert("RGB")
    picture = picture.crop(box).resize((size, size), Image.BILINEAR)
    if generator.random() < 0.5:
        picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
    return numpy.asarray(picture)


def store(batch, row, pixels):
    if batch.dtype == numpy.uint8:
        batch[row] = pixels
        return
    scaled = (pixels.astype(numpy.float32) / 255 - MEAN) / DEVIATION
    batch[row] = scaled.transpose(2, 0, 1)


def measure(paths, arguments):
    size = arguments.size
    shape = (size, size, 3) if arguments.dtype == "u8" else (3, size, size)
    batch = numpy.zeros((BATCH, *shape), numpy.uint8 if arguments.dtype == "u8" else numpy.float32)
    generator = random.Random(arguments.seed)
    images, start, cpu = 0, time.monotonic(), time.process_time()
    while time.monotonic() - start < arguments.seconds:
        path = paths[generator.randrange(len(paths))]
        store(batch, images % BATCH, load(path, size, generator, arguments.draft))
        images += 1
    return images, (time.process_time() - cpu) * 1e3 / images


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--dtype", choices=("u8", "f32"), default="u8")
    parser.add_argument("--draft", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    paths = sorted(path for path in arguments.photos.glob("*/*") if path.is_file())
    for path in paths:
        path.read_bytes()  # into the page cache, as for the other loaders
    images, milliseconds = measure(paths, arguments)
    print(json.dumps({
        "images": images,
        "cpu_ms_per_image": milliseconds,
        "pillow": PIL.__version__,
        "libjpeg_turbo": features.version("libjpeg_turbo"),
        "numpy": numpy.__version__,
    }))


if __name__ == "__main__":
    main()

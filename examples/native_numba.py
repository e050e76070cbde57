#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Your own Python step, compiled by numba: salt and pepper noise on the loader's threads, without the GIL.

    native_numba.py [DATASET]

Without DATASET, it draws some images. Prints the CPU microseconds per image without the step, with it, and with the same
function as transforms.Python(per_sample=True). Needs numba (Debian: python3-numba).
"""
import io
import pathlib
import sys
import tempfile
import time

import numba
import numpy
from numba import types
from PIL import Image

import sluice
from sluice import transforms as T

SIDE, SHARE, EPOCHS = 64, 0.02, 4
SIGNATURE = types.int32(types.CPointer(types.uint8), types.uint32, types.uint32, types.uintp, types.uint64, types.voidptr)


@numba.njit
def next_bits(state):
    """SplitMix64, like sluice_native_random; returns 64 random bits and the next state."""
    state = numpy.uint64(state + numpy.uint64(0x9E3779B97F4A7C15))
    mixed = (state ^ (state >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> numpy.uint64(31)), state


@numba.cfunc(SIGNATURE)
def salt_and_pepper(pixels, width, height, stride, seed, user_data):
    """Makes a fraction of the pixels, user_data[0], black or white."""
    share = numba.carray(user_data, 1, numpy.float64)[0]
    image = numba.carray(pixels, (height, stride))
    spots = int(share * width * height)
    state = seed
    for _ in range(spots):
        bits, state = next_bits(state)
        y = (bits >> numpy.uint64(32)) % height
        x = ((bits >> numpy.uint64(8)) & numpy.uint64(0xFFFFFF)) % width
        for channel in range(3):
            image[y, x * numpy.uint64(3) + numpy.uint64(channel)] = 255 * (bits & numpy.uint64(1))
    return 0


def slow(picture):
    """Does the same in numpy, with other random numbers."""
    count = int(SHARE * picture.shape[0] * picture.shape[1])
    y, x = numpy.random.randint(0, picture.shape[0], count), numpy.random.randint(0, picture.shape[1], count)
    picture[y, x] = numpy.random.randint(0, 2, (count, 1)) * 255
    return picture


def draw(path):
    """Draws smooth images of 96 x 96 pixels."""
    random = numpy.random.default_rng(1)
    with sluice.Writer(path, {"image": "image"}) as writer:
        for _ in range(256):
            file = io.BytesIO()
            small = random.integers(60, 200, (4, 4, 3), dtype=numpy.uint8)
            Image.fromarray(small).resize((96, 96), Image.BICUBIC).save(file, "JPEG")
            writer.add(image=file.getvalue())


def cost(data, *steps):
    """Returns the CPU microseconds per image and the images of the last epoch."""
    with sluice.Loader(data, batch_size=32, seed=1, transform=[T.RandomCrop(SIDE), *steps], num_workers=1) as loader:
        for _ in loader:
            pass
        start, rows = time.process_time(), 0
        for _ in range(EPOCHS):
            images = [numpy.array(batch["image"]) for batch in loader]
            rows += sum(map(len, images))
        return (time.process_time() - start) / rows * 1e6, numpy.concatenate(images)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(folder, "drawn"))
        if len(sys.argv) == 1:
            draw(path)
        data = sluice.Dataset(path)
        plain, before = cost(data)
        native, after = cost(data, T.Native(salt_and_pepper, numpy.array([SHARE]), "salt and pepper"))
        python, _ = cost(data, T.Python(slow, per_sample=True))
        changed = (before != after).any(-1).mean()
        print(f"plain {plain:.1f}, Native {native:.1f}, Python {python:.1f} us of CPU per image")
        print(f"{changed:.2%} of the pixels changed")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""decoders.py CODEC_BENCH FOLDER [ROUNDS]: measures decoding of whole images, also with Pillow and OpenCV.

In each round, Pillow (to RGB, like torchvision's ImageFolder), OpenCV if it is installed, and CODEC_BENCH
(build/.../bench/codec_bench) decode all files below FOLDER in turn. Prints the median, minimum and maximum
of the CPU milliseconds per image. `decoders.py --make PHOTOS FOLDER` makes such folders from up to 60
photos: FOLDER/photos.png, FOLDER/graphics.png and FOLDER/photos.webp.
"""
import io
import pathlib
import random
import statistics
import subprocess
import sys
import time

from PIL import Image, ImageDraw

try:
    import cv2
    import numpy
    cv2.setNumThreads(1)
except ImportError:
    cv2 = None


def graphic(number):
    """Draws lines, boxes and text; every other image has a palette."""
    chosen = random.Random(number)
    width, height = chosen.randint(400, 900), chosen.randint(300, 700)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for step in range(60):
        x, y = chosen.randrange(width), chosen.randrange(height)
        colour = tuple(chosen.randrange(0, 256, 51) for _ in range(3))
        if step % 3 == 0:
            draw.rectangle([x, y, x + chosen.randrange(100), y + chosen.randrange(80)], fill=colour)
        elif step % 3 == 1:
            draw.line([x, y, chosen.randrange(width), chosen.randrange(height)], fill=colour, width=2)
        else:
            draw.text((x, y), f"text {step} of a figure", fill=colour)
    return image.quantize(64) if number % 2 else image


def make(photos, folder):
    for kind in ("photos.png", "graphics.png", "photos.webp"):
        (folder / kind / "class").mkdir(parents=True)
    for number, path in enumerate(sorted(photos.rglob("*.JPEG"))[:60]):
        photo = Image.open(path).convert("RGB")
        photo.save(folder / f"photos.png/class/{number}.png")
        photo.save(folder / f"photos.webp/class/{number}.webp")
        graphic(number).save(folder / f"graphics.png/class/{number}.png")


def milliseconds(function, files):
    start = time.process_time()
    for data in files:
        function(data)
    return (time.process_time() - start) * 1e3 / len(files)


def measure(bench, folder, rounds):
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    found = {}
    for _ in range(rounds):
        took = milliseconds(lambda data: Image.open(io.BytesIO(data)).convert("RGB"), files)
        found.setdefault("Pillow", []).append(took)
        if cv2:
            took = milliseconds(lambda data: cv2.imdecode(numpy.frombuffer(data, numpy.uint8), 1), files)
            found.setdefault("OpenCV", []).append(took)
        lines = subprocess.run([bench, folder, "1"], check=True, capture_output=True, text=True).stdout
        for name, took in map(str.split, lines.splitlines()):
            found.setdefault(name, []).append(float(took))
    for name, took in found.items():
        print(f"{name:8} {statistics.median(took):.3f} ({min(took):.3f}..{max(took):.3f})")


if sys.argv[1] == "--make":
    make(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
else:
    measure(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 9)

# SPDX-License-Identifier: Apache-2.0
"""Answers a test's questions about blur, sharpness and JPEG's artefacts with Pillow.

stencil_oracle.py --check    exits 0 if Pillow is installed
stencil_oracle.py FOLDER     answers the batch (canvas_make.h) of FOLDER/input0 and FOLDER/input1, whose
                             lines are WIDTH HEIGHT and one of

  gaussian RADIUS    ImageFilter.GaussianBlur
  box RADIUS         ImageFilter.BoxBlur
  sharpness FACTOR   ImageEnhance.Sharpness
  jpeg QUALITY       saved as a JPEG and opened again
"""
import io
import sys

try:
    from PIL import Image, ImageEnhance, ImageFilter
except ImportError:
    sys.exit(1)


def jpeg(image, quality):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=int(quality))
    return Image.open(file).convert("RGB")


QUESTIONS = {
    "gaussian": lambda image, radius: image.filter(ImageFilter.GaussianBlur(radius)),
    "box": lambda image, radius: image.filter(ImageFilter.BoxBlur(radius)),
    "sharpness": lambda image, factor: ImageEnhance.Sharpness(image).enhance(factor),
    "jpeg": jpeg,
}


def main():
    if sys.argv[1] == "--check":
        return
    folder = sys.argv[1]
    with open(f"{folder}/input1", encoding="ascii") as lines, open(
        f"{folder}/input0", "rb"
    ) as pixels, open(f"{folder}/answer0", "wb") as answer:
        for line in lines:
            width, height, kind, value = line.split()
            size = int(width), int(height)
            image = Image.frombytes("RGB", size, pixels.read(size[0] * size[1] * 3))
            answer.write(QUESTIONS[kind](image, float(value)).tobytes())


main()

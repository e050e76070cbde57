# SPDX-License-Identifier: Apache-2.0
"""Answers a test's questions with Pillow.

pillow_oracle.py --check    exits 0 when Pillow is there
pillow_oracle.py FOLDER     answers each line of FOLDER/questions into FOLDER/answer<line>:

  resize INPUT W H D  X Y BW BH  OW OH  WX WY WW WH  FLIP
      raw RGB of W x H: crop the box, its numbers divided by D; resize it to OW x OH (bilinear), cut
      the window, mirror
  jitter INPUT W H  KIND FACTOR ...
      raw RGB: ImageEnhance steps in the order given (brightness, contrast, saturation)
  decode INPUT TURN
      an encoded picture to RGB, turned upright by its EXIF orientation when TURN is 1; of grey of 16
      bits the upper 8, where Pillow's own conversion makes everything above 255 white

INPUT is the number n of FOLDER/input<n>.
"""
import sys

try:
    from PIL import Image, ImageEnhance, ImageOps
except ImportError:
    sys.exit(1)

ENHANCERS = {
    "brightness": ImageEnhance.Brightness,
    "contrast": ImageEnhance.Contrast,
    "saturation": ImageEnhance.Color,
}


def load(folder, number, width, height):
    with open(f"{folder}/input{number}", "rb") as file:
        return Image.frombytes("RGB", (width, height), file.read())


def resize(folder, words):
    numbers = [int(word) for word in words]
    source, width, height, divisor = numbers[0:4]
    x, y, box_width, box_height = numbers[4:8]
    virtual = tuple(numbers[8:10])
    window_x, window_y, window_width, window_height, flip = numbers[10:15]
    image = load(folder, source, width, height)
    box = [edge // divisor for edge in (x, y, x + box_width, y + box_height)]
    image = image.crop(box).resize(virtual, Image.BILINEAR)
    image = image.crop((window_x, window_y, window_x + window_width, window_y + window_height))
    return ImageOps.mirror(image) if flip else image


def jitter(folder, words):
    image = load(folder, int(words[0]), int(words[1]), int(words[2]))
    for kind, factor in zip(words[3::2], words[4::2]):
        image = ENHANCERS[kind](image).enhance(float(factor))
    return image


def decode(folder, words):
    image = Image.open(f"{folder}/input{words[0]}")
    if words[1] == "1":
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):
        image = Image.frombytes("L", image.size, bytes(value >> 8 for value in image.getdata()))
    return image.convert("RGB")


QUESTIONS = {"resize": resize, "jitter": jitter, "decode": decode}


def main():
    if sys.argv[1] == "--check":
        return
    folder = sys.argv[1]
    with open(f"{folder}/questions", encoding="ascii") as questions:
        for number, line in enumerate(questions):
            kind, *words = line.split()
            image = QUESTIONS[kind](folder, words)
            with open(f"{folder}/answer{number}", "wb") as answer:
                answer.write(image.tobytes())


main()

# SPDX-License-Identifier: Apache-2.0
"""Answers a test's questions with Pillow.

pillow_oracle.py --check    exits 0 if Pillow is installed
pillow_oracle.py FOLDER     answers each line of FOLDER/questions into FOLDER/answer<line>:

  resize INPUT W H D  X Y BW BH  OW OH  WX WY WW WH  FLIP  FILTER
      raw RGB of W x H: crop the box, with its numbers divided by D; resize it to OW x OH (FILTER
      defaults to bilinear), cut the window, mirror
  jitter INPUT W H  KIND FACTOR ...
      raw RGB: steps in the given order, each with a number (0 if it takes none): ImageEnhance's
      brightness, contrast, saturation; ImageOps' posterize, solarize, invert, autocontrast, equalize;
      timm's solarize_add below 128, grey, torchvision's hue, and permute (201: blue, red, green). After
      a "/", other steps for the same image follow; the answers are concatenated
  warp INPUT W H  OW OH  KIND FILTER  RED GREEN BLUE  NUMBER ...
      raw RGB: Image.transform to OW x OH, KIND affine or perspective, with its 6 or 8 numbers (C's %a)
  decode INPUT TURN
      decode an image to RGB, with its EXIF orientation applied if TURN is 1; for 16-bit grey, take the
      upper 8 bits, because Pillow's own conversion makes everything above 255 white
  samples INPUT DEPTH
      a PNG's samples as stored, in the machine's byte order, one or two bytes each: Pillow's if
      available, with its scaling of grey below 8 bits undone; for 16-bit colours, which Pillow reduces
      to 8 bits, the file's own samples, which must be neither filtered nor interlaced

INPUT: the number n of FOLDER/input<n>.
"""
import struct
import sys
import zlib
from array import array

try:
    from PIL import Image, ImageEnhance, ImageOps
except ImportError:
    sys.exit(1)


def solarize_add(image, add):
    return image.point([min(255, i + int(add)) if i < 128 else i for i in range(256)] * 3)


def shift_hue(image, factor):
    hue, saturation, value = image.convert("HSV").split()
    shifted = hue.point([(i + int(factor * 255)) % 256 for i in range(256)])
    return Image.merge("HSV", (shifted, saturation, value)).convert("RGB")


STEPS = {
    "brightness": lambda image, factor: ImageEnhance.Brightness(image).enhance(factor),
    "contrast": lambda image, factor: ImageEnhance.Contrast(image).enhance(factor),
    "saturation": lambda image, factor: ImageEnhance.Color(image).enhance(factor),
    "posterize": lambda image, bits: ImageOps.posterize(image, int(bits)),
    "solarize": ImageOps.solarize,
    "solarize_add": solarize_add,
    "invert": lambda image, _: ImageOps.invert(image),
    "autocontrast": lambda image, _: ImageOps.autocontrast(image),
    "equalize": lambda image, _: ImageOps.equalize(image),
    "grey": lambda image, _: image.convert("L").convert("RGB"),
    "hue": shift_hue,
    "permute": lambda image, order: Image.merge("RGB", [image.getchannel(int(c)) for c in f"{int(order):03}"]),
}

FILTERS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}


def load(folder, number, width, height):
    with open(f"{folder}/input{number}", "rb") as file:
        return Image.frombytes("RGB", (width, height), file.read())


def resize(folder, words):
    numbers = [int(word) for word in words[:15]]
    source, width, height, divisor = numbers[0:4]
    x, y, box_width, box_height = numbers[4:8]
    virtual = tuple(numbers[8:10])
    window_x, window_y, window_width, window_height, flip = numbers[10:15]
    image = load(folder, source, width, height)
    box = [edge // divisor for edge in (x, y, x + box_width, y + box_height)]
    image = image.crop(box).resize(virtual, FILTERS[words[15]] if words[15:] else Image.BILINEAR)
    image = image.crop((window_x, window_y, window_x + window_width, window_y + window_height))
    return ImageOps.mirror(image) if flip else image


def jitter(folder, words):
    given = load(folder, int(words[0]), int(words[1]), int(words[2]))
    rows = " ".join(words[3:]).split("/")
    answers = Image.new("RGB", (given.width, given.height * len(rows)))
    for number, row in enumerate(rows):
        image, steps = given, row.split()
        for kind, factor in zip(steps[0::2], steps[1::2]):
            image = STEPS[kind](image, float(factor))
        answers.paste(image, (0, given.height * number))
    return answers


def warp(folder, words):
    image = load(folder, *[int(word) for word in words[0:3]])
    size = (int(words[3]), int(words[4]))
    kind = {"affine": Image.AFFINE, "perspective": Image.PERSPECTIVE}[words[5]]
    fill = tuple(int(word) for word in words[7:10])
    matrix = [float.fromhex(word) for word in words[10:]]
    return image.transform(size, kind, matrix, FILTERS[words[6]], fillcolor=fill)


def decode(folder, words):
    image = Image.open(f"{folder}/input{words[0]}")
    if words[1] == "1":
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):
        image = Image.frombytes("L", image.size, bytes(value >> 8 for value in image.getdata()))
    return image.convert("RGB")


def unfiltered(path, width):
    """Returns the 16-bit samples of rows whose filter bytes are 0."""
    with open(path, "rb") as file:
        data = file.read()
    packed, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    rows = zlib.decompress(packed)
    step = {2: 3, 4: 2, 6: 4}[data[25]] * 2 * width + 1
    assert len(rows) % step == 0 and not any(rows[::step])
    made = array("H", b"".join(rows[i + 1 : i + step] for i in range(0, len(rows), step)))
    if sys.byteorder == "little":
        made.byteswap()
    return made


def samples(folder, words):
    path, depth = f"{folder}/input{words[0]}", int(words[1])
    image = Image.open(path)
    if image.mode.startswith("I"):
        return array("H", image.getdata())
    if depth == 16:
        return unfiltered(path, image.width)
    if image.mode in ("1", "L"):
        return array("B", [value // (255 // (2**depth - 1)) for value in image.getdata()])
    return image


QUESTIONS = {"resize": resize, "jitter": jitter, "warp": warp, "decode": decode, "samples": samples}


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

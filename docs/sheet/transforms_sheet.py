#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/transforms.png: each transform of sluice.transforms, applied by a Loader to a drawn picture.

    PYTHONPATH=build/release/python /usr/bin/python3 docs/sheet/transforms_sheet.py docs/transforms.png

python/tests/test_transforms_sheet.py checks that no transform is missing and that the committed sheet is up to date.
Needs numpy, Pillow and DejaVu Sans (Debian: python3-numpy, python3-pil, fonts-dejavu-extra).
"""
import json
import pathlib
import re
import sys
import tempfile
import typing

import numpy
import scenes
from PIL import Image, ImageDraw, ImageFont

import sluice
from sluice import columns as C, transforms as T


class Tile(typing.NamedTuple):
    name: str  # of sluice.transforms
    call: str
    seed: int = 0  # chosen so that the draw shows what the transform does
    note: str = ""


SHEET = [
    ("Sizes", [
        Tile("Resize", "T.Resize((90, 180))"),
        Tile("RandomResize", "T.RandomResize(75, 150)", 2),
        Tile("RandomShortestSize", "T.RandomShortestSize([75, 100, 125])", 1),
        Tile("ScaleJitter", "T.ScaleJitter(150, (0.5, 1))", 3),
        Tile("LetterBox", "T.LetterBox(150)"),
        Tile("Pad", 'T.Pad(25, padding_mode="symmetric")'),
        Tile("RandomZoomOut", "T.RandomZoomOut(114, (1.2, 1.6), p=1)"),
        Tile("FixedSizeCrop", "T.FixedSizeCrop((150, 170), fill=114)", 2),
        Tile("BucketCrop", "T.BucketCrop()", 0, "buckets 128 x 192, 150 x 150"),
    ]),
    ("Crops", [
        Tile("CenterCrop", "T.CenterCrop(110)"),
        Tile("RandomCrop", 'T.RandomCrop(150, padding=30, padding_mode="reflect")', 4),
        Tile("RandomGridCrop", "T.RandomGridCrop(96, 16)", 1),
        Tile("RandomResizedCrop", "T.RandomResizedCrop(150, scale=(0.1, 0.4))", 1),
        Tile("RandomIoUCrop", "T.RandomIoUCrop(0.3, 1)", 0, "boxes follow"),
    ]),
    ("Geometry", [
        Tile("RandomHorizontalFlip", "T.RandomHorizontalFlip(p=1)"),
        Tile("RandomVerticalFlip", "T.RandomVerticalFlip(p=1)"),
        Tile("RandomRotation", 'T.RandomRotation(30, "bilinear", fill=114)'),
        Tile("RandomAffine", 'T.RandomAffine(10, shear=25, interpolation="bilinear")'),
        Tile("RandomPerspective", "T.RandomPerspective(0.5, p=1)", 6),
        Tile("ElasticTransform", "T.ElasticTransform(300.0, 6.0)"),
    ]),
    ("Colour", [
        Tile("ColorJitter", "T.ColorJitter(0.4, 0.4, 0.4, 0.2)", 1),
        Tile("RandomPhotometricDistort", "T.RandomPhotometricDistort(p=1)", 1),
        Tile("RandomHsv", "T.RandomHsv(0.3, 0.7, 0.4)", 1),
        Tile("Grayscale", "T.Grayscale(3)"),
        Tile("RandomGrayscale", "T.RandomGrayscale(p=0.5)", 1, "with probability 0.5"),
    ]),
    ("Values", [
        Tile("RandomChannelPermutation", "T.RandomChannelPermutation()", 1),
        Tile("RandomInvert", "T.RandomInvert(p=1)"),
        Tile("RandomPosterize", "T.RandomPosterize(2, p=1)"),
        Tile("RandomSolarize", "T.RandomSolarize(128, p=1)"),
        Tile("RandomSolarizeAdd", "T.RandomSolarizeAdd(64, p=1)"),
        Tile("RandomAutocontrast", "T.RandomAutocontrast(p=1)", 0, "of a picture of half the contrast"),
        Tile("RandomEqualize", "T.RandomEqualize(p=1)"),
        Tile("ToTensor", "T.ToTensor()", 0, "float32, 0 to 1"),
        Tile("ToDtype", "T.ToDtype(numpy.float16, scale=True)", 0, "float16, 0 to 1"),
        Tile("Normalize", "T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))", 0, "float32, shown from 0 to 1"),
    ]),
    ("Blur, sharpness, damage", [
        Tile("GaussianBlur", "T.GaussianBlur(9, (1.5, 2))"),
        Tile("PillowGaussianBlur", "T.PillowGaussianBlur((1.5, 2))"),
        Tile("RandomAdjustSharpness", "T.RandomAdjustSharpness(8, p=1)"),
        Tile("JPEG", "T.JPEG((4, 8))"),
        Tile("RandomErasing", "T.RandomErasing(p=1, scale=(0.05, 0.2))"),
    ]),
    ("Policies", [
        Tile("AutoAugment", 'T.AutoAugment("imagenet")', 2),
        Tile("RandAugment", "T.RandAugment(2, 15)", 7),
        Tile("TrivialAugmentWide", "T.TrivialAugmentWide()", 5),
        Tile("AugMix", "T.AugMix(5)", 6),
        Tile("TimmAugment", 'T.TimmAugment("rand-m9-mstd0.5-inc1")', 6),
    ]),
    ("Groups", [
        Tile("Compose", "T.Compose([T.RandomHorizontalFlip(1), T.RandomInvert(1)])"),
        Tile("RandomApply", "T.RandomApply([T.ColorJitter(0.8, 0.8)], p=0.8)", 3),
        Tile("RandomChoice", "T.RandomChoice([T.Grayscale(3), T.RandomInvert(1)])"),
        Tile("RandomOrder", "T.RandomOrder([T.RandomPosterize(2, 1), T.RandomInvert(1)])"),
        Tile("Shared", "T.Shared([T.RandomRotation(30)])", 2, "the same in several columns"),
    ]),
    ("Several samples", [
        Tile("Mosaic", "T.Mosaic(150)", 5),
        Tile("MixUpPartner", "T.MixUpPartner()", 4),
        Tile("CopyPaste", "T.CopyPaste(share=1)", 4),
    ]),
    ("Recipes of papers", [
        Tile("ThreeAugment", "T.ThreeAugment(150)", 1),
        Tile("presets", "T.presets.dino(local_views=4)", 1, "two large views, four small ones"),
    ]),
    ("The whole batch", [
        Tile("MixUp", "T.MixUp(alpha=20)"),
        Tile("CutMix", "T.CutMix(alpha=5)"),
        Tile("TimmMixup", "T.TimmMixup(cutmix_alpha=1, switch_prob=1)", 3),
    ]),
    ("Your own", [
        Tile("Python", "T.Python(lambda rows: rows[..., ::-1])", 0, "any function of the batch"),
    ]),
]  # fmt: skip

COLUMNS, GAP, MARGIN, HEADING, LINE, BASELINE, INDENT, PANEL = 5, 16, 24, 38, 19, 14, 12, 4
PAPER, FRAME, INK, FADED, ACCENT = (246, 247, 249), (224, 228, 233), (31, 35, 40), (101, 109, 118), (9, 105, 218)
ONE_SIZE, OWN_SIZE = ("CopyPaste", "CutMix", "MixUp", "MixUpPartner", "Python", "TimmMixup"), ("BucketCrop", "Mosaic")
FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
BUCKETS = [(128, 192), (150, 150)]
OUTLINES = [(255, 210, 0), (0, 200, 255), (255, 80, 200)]


def font(name, size):
    return ImageFont.truetype(str(FONTS / name), size)


def write_dataset(folder):
    """The pictures as a dataset of COCO's format, which has boxes and outlines."""
    images, objects, names = [], [], []
    for number, (image, shapes) in enumerate(scenes.draw_scenes()):
        image.save(folder / f"{number}.png")
        images.append({"id": number, "file_name": f"{number}.png", "width": image.width, "height": image.height})
        for name, outline in shapes:
            xs, ys = zip(*outline)
            names.append(name)
            objects.append({
                "id": len(objects) + 1, "image_id": number, "category_id": len(names), "iscrowd": 0,
                "bbox": [min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)], "area": (max(xs) - min(xs)) * (max(ys) - min(ys)),
                "segmentation": [[value for point in outline for value in point]],
            })  # fmt: skip
    categories = [{"id": number, "name": name} for number, name in enumerate(names, 1)]
    (folder / "scenes.json").write_text(json.dumps({"images": images, "annotations": objects, "categories": categories}))
    return folder / "scenes.json"


def columns_of(tile, step):
    """The columns of the loader that makes a tile. Pictures keep the size that the step gives them; a step over several pictures needs one size."""
    if tile.name == "presets":
        return step
    if tile.name in ONE_SIZE:
        columns = {"image": C.Image(transform=[T.Resize((scenes.HEIGHT, scenes.WIDTH)), step])}
    elif tile.name in OWN_SIZE:
        columns = {"image": C.Image(transform=step)}
    else:
        pale = [T.ColorJitter(contrast=(0.5, 0.5))] if tile.name == "RandomAutocontrast" else []
        columns = {"image": C.Image(transform=[*pale, step], sizes="padded", max_size=400)}
    if tile.name in ("RandomIoUCrop", "CopyPaste"):
        columns["boxes"] = C.Boxes(shapes="segmentation")
    return columns


def as_bytes(pixels):
    pixels = numpy.asarray(pixels)
    if pixels.dtype != numpy.uint8:
        pixels = numpy.rint(numpy.clip(pixels.astype("float32"), 0, 1) * 255).astype("uint8")
    return Image.fromarray(pixels)


def lay_out_views(batch):
    """Large views above, small ones below, as far as they fit into a tile."""
    mean, std = numpy.array((0.485, 0.456, 0.406), "float32"), numpy.array((0.229, 0.224, 0.225), "float32")
    views = [as_bytes(numpy.moveaxis(batch[name].numpy()[0], 0, -1) * std + mean) for name in batch.keys() if batch[name].numpy().ndim == 4]
    board = Image.new("RGB", (scenes.WIDTH, scenes.HEIGHT), FRAME)
    large, small = [view for view in views if view.width == views[0].width], [view for view in views if view.width != views[0].width]
    for row, top, side in ((large, 3, 94), (small, 101, 46)):
        gap = (scenes.WIDTH - len(row) * side) / (len(row) + 1)
        for number, view in enumerate(row):
            board.paste(view.resize((side, side), Image.LANCZOS), (round(gap + number * (side + gap)), top))
    return board


def draw_tile(data, tile):
    """What the loader makes of the first picture."""
    step = eval(tile.call, {"T": T, "numpy": numpy})
    if tile.name == "TimmMixup":
        step.num_classes, step._smoothing = None, 0.0  # the pictures have no labels to mix
    options = {"buckets": BUCKETS} if tile.name == "BucketCrop" else {}
    loader = sluice.Loader(data, batch_size=1 if options else 4, num_workers=1, seed=tile.seed, columns=columns_of(tile, step), **options)
    batch = next(iter(loader))
    if tile.name == "presets":
        return lay_out_views(batch)
    image = as_bytes(numpy.asarray(batch["image"])[0] if tile.name in ONE_SIZE + OWN_SIZE else batch.pictures("image")[0])
    if tile.name == "RandomIoUCrop":
        drawn = ImageDraw.Draw(image)
        for number, box in enumerate(batch["boxes"].numpy()[: batch["boxes.offsets"].numpy()[1]]):
            drawn.rectangle([round(float(value)) for value in box], outline=OUTLINES[number % len(OUTLINES)], width=2)
    return image


def fit(image):
    """The picture in the middle of a tile, pixel for pixel; a larger one is made smaller."""
    panel = Image.new("RGB", (scenes.WIDTH, scenes.HEIGHT), FRAME)
    shrink = min(1, scenes.WIDTH / image.width, scenes.HEIGHT / image.height)
    if shrink < 1:
        image = image.resize((round(image.width * shrink), round(image.height * shrink)), Image.LANCZOS)
    panel.paste(image, ((scenes.WIDTH - image.width) // 2, (scenes.HEIGHT - image.height) // 2))
    return panel


def rows_of_groups():
    """Groups in rows of tiles: those that fit stand side by side, with a heading each. Rows are lists of (heading or "", tiles)."""
    rows, free = [], 0
    for heading, tiles in SHEET:
        for first in range(0, len(tiles), COLUMNS):
            part = tiles[first : first + COLUMNS]
            if first or len(part) > free or len(tiles) > free:
                rows.append([])
                free = COLUMNS
            rows[-1].append(("" if first else heading, part))
            free -= len(part)
    return rows


def wrap(call, plain):
    """Lines of (piece, font), broken behind the bracket of the call and behind commas, but not within a tuple: the transform's name is bold."""
    name, _, rest = call.partition("(")
    bold = next(style for style in (font("DejaVuSansCondensed-Bold.ttf", size) for size in (14, 13, 12, 11)) if style.getlength(name + "()") <= scenes.WIDTH)
    pieces = re.findall(r"(?:\([\d., ]+\)|[^,])*(?:, |$)", rest)
    lines, width = [[(name, bold), ("(", plain)]], bold.getlength(name + "(")
    for piece in pieces:
        if width + plain.getlength(piece.rstrip()) > scenes.WIDTH:
            lines.append([])
            width = INDENT
        lines[-1].append((piece, plain))
        width += plain.getlength(piece)
    return lines


def put_text(draw, x, y, tile, image):
    plain, small = font("DejaVuSansCondensed.ttf", 14), font("DejaVuSansCondensed.ttf", 13)
    lines = wrap(tile.call, plain)
    for number, line in enumerate(lines):
        at = x + (INDENT if number else 0)
        for piece, style in line:
            draw.text((at, y + BASELINE), piece, fill=INK, font=style, anchor="ls")
            at += style.getlength(piece)
        y += LINE
    note = tile.note or (f"{image.height} x {image.width}" if image.size != (scenes.WIDTH, scenes.HEIGHT) else "")
    if note:
        draw.text((x, y), note, fill=FADED, font=small)
    return len(lines) + bool(note)


def put_head(draw, sheet):
    """The title, the picture and, smaller, the others of the batch. Gives where it ends."""
    text = font("DejaVuSansCondensed.ttf", 16)
    draw.text((MARGIN, MARGIN - 6), "sluice.transforms", fill=INK, font=font("DejaVuSans-Bold.ttf", 28))
    draw.text((MARGIN + 310, MARGIN + 6), "Each transform as a Loader applies it to the first of four pictures. Sizes are height x width.", fill=FADED, font=text)
    top, x = MARGIN + 46, MARGIN
    for number, (image, _) in enumerate(scenes.draw_scenes()):
        small = image if number == 0 else image.resize((scenes.WIDTH * 2 // 3, scenes.HEIGHT * 2 // 3), Image.BOX)
        if sheet is not None:
            sheet.paste(small, (x, top + scenes.HEIGHT - small.height))
        if number < 2:
            words = f"the picture, {image.height} x {image.width}" if number == 0 else "the other pictures, which some transforms mix in"
            draw.text((x, top + scenes.HEIGHT + PANEL), words, fill=INK, font=text)
        x += small.width + GAP
    return top + scenes.HEIGHT + PANEL + LINE + GAP


def lay_out(sheet, images):
    """Draws the sheet, or with None only measures it: gives its height, and the place of each tile."""
    draw = ImageDraw.Draw(sheet if sheet is not None else Image.new("RGB", (8, 8)))
    y, places = put_head(draw, sheet), {}
    for row in rows_of_groups():
        if any(heading for heading, _ in row):
            y += HEADING
        column, most = 0, 0
        for heading, tiles in row:
            x = MARGIN + column * (scenes.WIDTH + GAP)
            if heading:
                wide = len(tiles) * (scenes.WIDTH + GAP) - GAP
                draw.text((x, y - HEADING + 2), heading, fill=ACCENT, font=font("DejaVuSans-Bold.ttf", 18))
                draw.line([(x, y - 9), (x + wide - 1, y - 9)], fill=ACCENT, width=2)
            for number, tile in enumerate(tiles):
                at = (x + number * (scenes.WIDTH + GAP), y)
                places[tile.name] = at
                image = images[tile.name]
                if sheet is not None:
                    sheet.paste(fit(image), at)
                most = max(most, put_text(draw, at[0], y + scenes.HEIGHT + PANEL, tile, image))
            column += len(tiles)
        y += scenes.HEIGHT + PANEL + most * LINE + GAP
    return y + MARGIN - GAP, places


def make_images():
    with tempfile.TemporaryDirectory() as folder:
        names = ("image", "boxes", "labels", "segmentation")
        data = sluice.Dataset(write_dataset(pathlib.Path(folder)), fields={name: name for name in names})
        return {tile.name: draw_tile(data, tile) for _, tiles in SHEET for tile in tiles}


def make_sheet():
    """The sheet, and where each transform's tile is in it."""
    images = make_images()
    height, places = lay_out(None, images)
    sheet = Image.new("RGB", (2 * MARGIN + COLUMNS * (scenes.WIDTH + GAP) - GAP, height), PAPER)
    lay_out(sheet, images)
    return sheet, places


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: transforms_sheet.py FILE.png")
    make_sheet()[0].save(sys.argv[1], optimize=True)

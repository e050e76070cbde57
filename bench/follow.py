#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""follow.py PHOTOS [--fit [--enlarge 1] | --paste] [--rounds 5] [--epochs 4] [--size 224] [--keep FOLDER] [--json]: measures the cost of masks and boxes.

Packs the photos (folders of JPEGs) with a mask each, a PNG of the same size: a label map of 21 classes in blocks of 8 to 64 pixels with
ragged edges, like hand annotations; and with 20 boxes. Measures CPU ms per sample (user and system time of this process) of one loader
with one worker, batches of 32, RandomResizedCrop(SIZE) and a flip, uint8: the image alone, with its mask, with its boxes and labels, and
the image resized to fit with and without its boxes. Arms alternate, ROUNDS times. Prints medians and (min..max), and the median of the
ratios to the image alone within a round. Run it on an idle machine.

--fit: uses detection images instead: larger ones made of the photos (side by side, each ENLARGE times as wide and high, JPEGs of quality
90), 16 of each of three sizes, packed with boxes. The shorter side becomes 800, the longer one at most 1333, on a canvas of 1344 x 1344.
Prints CPU ms per image with its boxes, with `exact` (decoded at full size), and the decode ratio: relative to a plain decode of the same
JPEGs to RGB (Pillow's libjpeg-turbo, one thread; half of a round before the loader, half after it).

--paste: measures copy-paste of objects with large scale jitter at 640 and 1024: the photos packed with 1 to 13 polygons each, larger numbers
rarer. Prints CPU ms per sample of the image with its boxes; of two images, the second from a partner; with copy-paste; both with masks; and
of a twin that does the same with OpenCV on one thread: decodes and jitters two images, chooses and pastes objects, cuts masks, makes boxes.
"""
import argparse
import io
import json
import pathlib
import statistics
import tempfile
import time

import numpy
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

CLASSES, BOXES = 21, 20


def mask_of(width, height, random):
    """Returns a Voronoi diagram of some sites, each with a class, with noisy borders."""
    sites = random.rand(12, 2) * [height, width]
    classes = random.randint(0, CLASSES, len(sites)).astype("uint8")
    y, x = numpy.mgrid[0:height, 0:width] + random.normal(0, 1, (2, height, width))
    nearest = numpy.argmin([(y - site[0]) ** 2 + (x - site[1]) ** 2 for site in sites], axis=0)
    made = io.BytesIO()
    Image.fromarray(classes[nearest]).save(made, "PNG")
    return made.getvalue()


def boxes_of(width, height, random):
    corners = numpy.sort(random.rand(BOXES, 2, 2) * [width - 2, height - 2], axis=1)
    return numpy.concatenate([corners[:, 0], corners[:, 1] + 2], axis=1).astype("float32")


def pack(photos, path):
    random, count, mask_bytes = numpy.random.RandomState(0), 0, 0
    fields = {"image": "image", "mask": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    with sluice.Writer(path, fields) as writer:
        for file in sorted(pathlib.Path(photos).rglob("*")):
            if file.suffix.lower() not in (".jpg", ".jpeg"):
                continue
            width, height = Image.open(file).size
            mask = mask_of(width, height, random)
            writer.add(image=file.read_bytes(), mask=mask, boxes=boxes_of(width, height, random), labels=numpy.arange(BOXES))
            count, mask_bytes = count + 1, mask_bytes + len(mask)
    return count, mask_bytes / count


def arms(size):
    crop = [T.RandomResizedCrop(size), T.RandomHorizontalFlip()]
    fit = [T.Resize((size, size))]
    boxes = {"boxes": C.Boxes(length=BOXES), "labels": C.Ragged(length=BOXES, follows="boxes")}
    return {
        "picture": {"image": C.Image(transform=crop)},
        "picture, mask": {"image": C.Image(transform=crop), "seg": C.Mask("mask", fill=255)},
        "picture, boxes": {"image": C.Image(transform=crop), **boxes},
        "resized": {"image": C.Image(transform=fit)},
        "resized, boxes": {"image": C.Image(transform=fit), **boxes},
        "resized, mask": {"image": C.Image(transform=fit), "seg": C.Mask("mask", fill=255)},
    }


def cpu_ms(data, columns, epochs, batch_size=32, **options):
    """Returns CPU ms per sample, after an epoch that is not counted."""
    with sluice.Loader(data, batch_size=batch_size, columns=columns, num_workers=1, seed=1, **options) as loader:
        for _ in loader:
            pass
        begin, samples = time.process_time(), 0
        for _ in range(epochs):
            for batch in loader:
                samples += len(batch["index"])
        return (time.process_time() - begin) / samples * 1000


# ---- images for detection ----

FIT, SIDES, CANVAS = 16, ((1600, 1200), (3000, 2000), (4800, 3600)), 1344


def large_picture(photos, enlarge, width, height, random):
    """Makes images of photos side by side."""
    made = Image.new("RGB", (width, height))
    y = 0
    while y < height:
        x, lowest = 0, height
        while x < width:
            photo = Image.open(photos[random.randint(len(photos))]).convert("RGB")
            photo = photo.resize((int(enlarge * photo.width), int(enlarge * photo.height)), Image.BICUBIC)
            made.paste(photo, (x, y))
            x, lowest = x + photo.width, min(lowest, photo.height)
        y += lowest
    data = io.BytesIO()
    made.save(data, "JPEG", quality=90)
    return data.getvalue()


def pack_large(photos, enlarge, path, width, height):
    random = numpy.random.RandomState(width)
    files = sorted(f for f in pathlib.Path(photos).rglob("*") if f.suffix.lower() in (".jpg", ".jpeg"))
    pictures = [large_picture(files, enlarge, width, height, random) for _ in range(FIT)]
    fields = {"image": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    with sluice.Writer(path, fields, overwrite=True) as writer:
        for picture in pictures:
            writer.add(image=picture, boxes=boxes_of(width, height, random), labels=numpy.arange(BOXES))
    return pictures


def fit_columns():
    steps = [T.RandomShortestSize(800, 1333), T.FixedSizeCrop(CANVAS)]
    return {"image": C.Image(transform=steps), "boxes": C.Boxes(length=BOXES), "labels": C.Ragged(length=BOXES, follows="boxes")}


def plain_ms(pictures):
    begin = time.process_time()
    for picture in pictures:
        Image.open(io.BytesIO(picture)).load()
    return (time.process_time() - begin) / len(pictures) * 1000


def measure_fit(photos, enlarge, folder, rounds, epochs):
    times = {}
    for width, height in SIDES:
        path = folder / f"{width}x{height}"
        pictures = pack_large(photos, enlarge, path, width, height)
        size = sum(map(len, pictures)) / FIT / (width * height)
        arm = times[f"{width} x {height}, {size:.2f} bytes a pixel"] = {"plain": [], "fit": [], "exact": []}
        for _ in range(rounds):
            for name in ("fit", "exact"):
                before = plain_ms(pictures)
                arm[name].append(cpu_ms(path, fit_columns(), epochs, batch_size=4, exact=name == "exact"))
                arm["plain"].append((before + plain_ms(pictures)) / 2)
    return times


def print_fit(times):
    print("CPU ms per image, and relative to a plain decode")
    for name, arm in times.items():
        print(f"{name}: plain {summary(arm['plain'])}")
        for k, which in enumerate(("fit", "exact")):
            ratios = [a / b for a, b in zip(arm[which], arm["plain"][k::2])]
            print(f"    {which:6s} {summary(arm[which])}   decode ratio {summary(ratios)}")


# ---- copy-paste ----

PASTE_SIDES, FILL = (640, 1024), 105


def polygons_of(width, height, random):
    made = []
    for _ in range(random.randint(1, 14)):
        middle, radius = random.rand(2) * [width, height], (0.03 + 0.25 * random.rand() ** 2) * min(width, height)
        count = random.randint(15, 60)
        turn = numpy.sort(random.rand(count)) * 2 * numpy.pi
        points = middle + radius * (0.7 + 0.3 * random.rand(count, 1)) * numpy.stack([numpy.cos(turn), numpy.sin(turn)], 1)
        made.append(points.clip(0, [width, height]).round(2))
    return made


def pack_objects(photos, path):
    random, samples = numpy.random.RandomState(0), []
    fields = {"image": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,)), "shapes": "text"}
    with sluice.Writer(path, fields, overwrite=True) as writer:
        for file in sorted(pathlib.Path(photos).rglob("*")):
            if file.suffix.lower() not in (".jpg", ".jpeg"):
                continue
            polygons = polygons_of(*Image.open(file).size, random)
            boxes = numpy.array([[*points.min(0), *points.max(0)] for points in polygons], "float32")
            shapes = json.dumps([[points.ravel().tolist()] for points in polygons])
            samples.append((file.read_bytes(), polygons))
            writer.add(image=samples[-1][0], boxes=boxes, labels=numpy.arange(len(polygons)), shapes=shapes)
    return samples


def paste_arms(side):
    jitter = [T.ScaleJitter(side), T.FixedSizeCrop(side, FILL), T.RandomHorizontalFlip()]
    paste = [*jitter, T.CopyPaste()]
    boxes = {"boxes": C.Boxes(length=40, shapes="shapes", follows="image"), "labels": C.Ragged(length=40, follows="boxes")}
    masks = {"masks": C.Instances("shapes", length=40, follows="boxes")}
    return {
        "boxes": {"image": C.Image(transform=jitter), **boxes},
        "boxes, two pictures": {"image": C.Image(transform=jitter), **boxes, "other": C.Image("image", transform=jitter, partner=1)},
        "boxes, copy-paste": {"image": C.Image(transform=paste), **boxes},
        "masks": {"image": C.Image(transform=jitter), **boxes, **masks},
        "masks, copy-paste": {"image": C.Image(transform=paste), **boxes, **masks},
    }


def twin_jittered(cv2, sample, side, random):
    """Returns the image and the masks of its visible objects, n x side x side."""
    data, polygons = sample
    image = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)
    height, width = image.shape[:2]
    ratio = min(side / height, side / width) * random.uniform(0.1, 2.0)
    new = max(int(width * ratio), 1), max(int(height * ratio), 1)
    image = cv2.resize(image, new, interpolation=cv2.INTER_AREA if ratio < 1 else cv2.INTER_LINEAR)
    x, y = (int(max(new[i] - side, 0) * random.rand()) for i in (0, 1))
    canvas = numpy.full((side, side, 3), FILL, numpy.uint8)
    part = image[y : y + side, x : x + side]
    canvas[: part.shape[0], : part.shape[1]] = part
    flips, masks = random.rand() < 0.5, []
    canvas = cv2.flip(canvas, 1) if flips else canvas
    for points in polygons:
        points = points * [new[0] / width, new[1] / height] - [x, y]
        points = numpy.stack([side - points[:, 0], points[:, 1]], 1) if flips else points
        mask = numpy.zeros((side, side), numpy.uint8)
        cv2.fillPoly(mask, [points.round().astype(numpy.int32)], 1)
        if mask.any():
            masks.append(mask)
    return canvas, masks


def twin_row(cv2, samples, number, side, random):
    image, masks = twin_jittered(cv2, samples[number], side, random)
    other, theirs = twin_jittered(cv2, samples[random.randint(len(samples))], side, random)
    theirs = [mask for mask in theirs if random.rand() < 0.5]
    if theirs:
        over = numpy.bitwise_or.reduce(theirs)
        cv2.copyTo(other, over, image)
        masks = [mask for mask in (mask & ~over for mask in masks) if mask.any()]
    boxes = [cv2.boundingRect(mask) for mask in masks + theirs]
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB), masks + theirs, boxes


def twin_ms(cv2, samples, side):
    random, begin = numpy.random.RandomState(1), time.process_time()
    for number in range(len(samples)):
        twin_row(cv2, samples, number, side, random)
    return (time.process_time() - begin) / len(samples) * 1000


def measure_paste(photos, path, rounds, epochs):
    import cv2

    cv2.setNumThreads(1)
    samples, times = pack_objects(photos, path), {}
    for side in PASTE_SIDES:
        arm = times[str(side)] = {name: [] for name in [*paste_arms(side), "masks, OpenCV twin"]}
        for _ in range(rounds):
            for name, columns in paste_arms(side).items():
                arm[name].append(cpu_ms(path, columns, epochs, batch_size=16, shuffle=True))
            arm["masks, OpenCV twin"].append(twin_ms(cv2, samples, side))
    return times


def print_paste(times):
    print("CPU ms per sample, and relative to the same without partner images")
    for side, arm in times.items():
        for name, values in arm.items():
            base = arm[name.split(",")[0]]
            print(f"{side:5s} {name:20s} {summary(values)}   x {summary([a / b for a, b in zip(values, base)])}")


def summary(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f}..{max(values):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--keep", help="folder to keep the packed photos in")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--enlarge", type=float, default=1)
    parser.add_argument("--paste", action="store_true")
    parser.add_argument("--arms", nargs="+", choices=list(arms(224)), help="only these, such as \"picture, mask\"; the first is the reference")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.fit:
            times = measure_fit(arguments.photos, arguments.enlarge, pathlib.Path(arguments.keep or folder), arguments.rounds, arguments.epochs)
            print(json.dumps(times)) if arguments.json else print_fit(times)
            return
        if arguments.paste:
            times = measure_paste(arguments.photos, pathlib.Path(arguments.keep or folder) / "objects", arguments.rounds, arguments.epochs)
            print(json.dumps(times)) if arguments.json else print_paste(times)
            return
        path = pathlib.Path(arguments.keep or folder) / "packed"
        if not path.exists():
            print("{} photos, masks of {:.0f} bytes".format(*pack(arguments.photos, path)))
        made = arms(arguments.size)
        if arguments.arms:
            made = {name: made[name] for name in arguments.arms}
        times = {name: [] for name in made}
        for _ in range(arguments.rounds):
            for name, columns in made.items():
                times[name].append(cpu_ms(path, columns, arguments.epochs))
    if arguments.json:
        print(json.dumps(times))
        return
    print("CPU ms per sample, and relative to the image alone")
    for name, values in times.items():
        base = times[name.split(",")[0]]
        print(f"{name:16s} {summary(values)}   x {summary([a / b for a, b in zip(values, base)])}")


if __name__ == "__main__":
    main()

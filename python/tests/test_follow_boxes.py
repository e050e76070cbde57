# SPDX-License-Identifier: Apache-2.0
"""Boxes follow an image like those of torchvision v2, whose rules are repeated here (transforms/v2/functional/_geometry.py,
release 0.20: each kernel moves XYXY boxes and clamps them to its canvas; SanitizeBoundingBoxes drops small ones). If at most one
step rotates a box, clamping after each step equals clipping once; except for boxes that begin outside, which are clamped at the start here."""
import math

import numpy
import pytest
from following import SMALL

import sluice
from sluice import columns as C
from sluice import transforms as T

CHAINS, COUNT, BOXES = 120, 6, 8
FINAL = (83, 61)


def sample(number):
    random = numpy.random.RandomState(number)
    height, width = random.randint(20, 150, 2)
    corners = numpy.sort(random.uniform(-10, 1, (BOXES, 2, 2)) + random.rand(BOXES, 2, 2) * [width + 15, height + 15], axis=1)
    return numpy.zeros((height, width, 3), "uint8"), corners.reshape(BOXES, 4).astype("float32")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("follow_boxes") / "packed"
    fields = {"image": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    with sluice.Writer(path, fields) as writer:
        for number in range(COUNT):
            image, boxes = sample(number)
            writer.add(image=image, boxes=boxes, labels=numpy.arange(BOXES))
    return sluice.Dataset(path)


# ---- torchvision's kernels: boxes and canvas (height, width) to the same ----


def clamp(boxes, canvas):
    return boxes.clip(0, [canvas[1], canvas[0]] * 2), canvas


def resize(boxes, canvas, size):
    height, width = size
    return clamp(boxes * ([width / canvas[1], height / canvas[0]] * 2), size)


def resize_shorter(boxes, canvas, side):
    height, width = canvas
    long = int(side * max(canvas) / min(canvas))
    return resize(boxes, canvas, (side, long) if height <= width else (long, side))


def crop(boxes, canvas, top, left, size):
    return clamp(boxes - [left, top, left, top], size)


def pad(boxes, canvas, left, top, right, bottom):
    return clamp(boxes + [left, top, left, top], (canvas[0] + top + bottom, canvas[1] + left + right))


def center_crop(boxes, canvas, size):
    more = [max(0, wanted - have) for wanted, have in zip(size, canvas)]
    boxes, canvas = pad(boxes, canvas, more[1] // 2, more[0] // 2, (more[1] + 1) // 2, (more[0] + 1) // 2)
    top, left = (int(round((have - wanted) / 2.0)) for have, wanted in zip(canvas, size))
    return crop(boxes, canvas, top, left, size)


def flip(boxes, canvas):
    return numpy.stack([canvas[1] - boxes[:, 2], boxes[:, 1], canvas[1] - boxes[:, 0], boxes[:, 3]], axis=1), canvas


def flip_upside_down(boxes, canvas):
    return numpy.stack([boxes[:, 0], canvas[0] - boxes[:, 3], boxes[:, 2], canvas[0] - boxes[:, 1]], axis=1), canvas


def turn(boxes, canvas, matrix):
    """Rotates about the centre; then takes the box around the corners."""
    center = numpy.array([canvas[1] / 2, canvas[0] / 2])
    corners = numpy.stack([boxes[:, [0, 1]], boxes[:, [2, 1]], boxes[:, [2, 3]], boxes[:, [0, 3]]], axis=1)
    moved = (corners - center) @ numpy.array(matrix).T + center
    return clamp(numpy.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1), canvas)


def rotate(boxes, canvas, degrees):
    """Counterclockwise, with an axis that points down."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return turn(boxes, canvas, [[c, s], [-s, c]])


def affine(boxes, canvas, degrees, scale, shear):
    """_get_inverse_affine_matrix with inverted=False: clockwise."""
    rot, sx, sy = math.radians(degrees), math.radians(shear[0]), math.radians(shear[1])
    a, c = math.cos(rot - sy) / math.cos(sy), math.sin(rot - sy) / math.cos(sy)
    return turn(boxes, canvas, numpy.array([[a, -a * math.tan(sx) - math.sin(rot)], [c, -c * math.tan(sx) + math.cos(rot)]]) * scale)


def sanitize(boxes, min_size=1.0, min_area=1.0):
    size = boxes[:, 2:] - boxes[:, :2]
    return (size >= min_size).all(axis=1) & (size.prod(axis=1) >= min_area)


# ---- chains ----


def upright(random):
    """Returns a step, and the kernel that does the same."""
    size = tuple(int(side) for side in random.randint(15, 130, 2))
    side, edges = int(random.randint(15, 130)), [int(edge) for edge in random.randint(0, 30, 4)]
    return [
        (T.Resize(size), lambda b, c: resize(b, c, size)),
        (T.Resize(side), lambda b, c: resize_shorter(b, c, side)),
        (T.CenterCrop(size), lambda b, c: center_crop(b, c, size)),
        (T.Pad(edges), lambda b, c: pad(b, c, *edges)),
        (T.RandomHorizontalFlip(1.0), flip),
        (T.RandomVerticalFlip(1.0), flip_upside_down),
    ][random.randint(6)]


def warp(random):
    degrees, scale, shear = float(random.uniform(-180, 180)), float(random.uniform(0.5, 2)), [float(s) for s in random.uniform(-30, 30, 2)]
    return [
        (T.RandomRotation((degrees, degrees)), lambda b, c: rotate(b, c, degrees)),
        (
            T.RandomAffine((degrees, degrees), None, (scale, scale), (shear[0], shear[0], shear[1], shear[1])),
            lambda b, c: affine(b, c, degrees, scale, shear),
        ),
    ][random.randint(2)]


def chain(seed):
    random = numpy.random.RandomState(seed)
    made = [upright(random) for _ in range(random.randint(1, 5))]
    if seed % 4 != 0:
        made.insert(random.randint(len(made) + 1), warp(random))
    return [*made, (T.Resize(FINAL), lambda b, c: resize(b, c, FINAL))]


@pytest.mark.parametrize("exact", [False, True])
def test_boxes_are_torchvisions(data, exact):
    compared = dropped = 0
    for seed in range(CHAINS):
        steps = chain(seed)
        columns = {
            "image": C.Image(transform=[step for step, _ in steps]), "boxes": C.Boxes(length=BOXES, padded=True),
            "labels": C.Padded(length=BOXES, follows="boxes"),
        }  # fmt: skip
        with sluice.Loader(data, batch_size=COUNT, columns=columns, shuffle=False, exact=exact, num_workers=1, **SMALL) as loader:
            for batch in loader:
                arrays = {name: batch[name].numpy().copy() for name in ("boxes", "boxes.lengths", "labels")}
        for number in range(COUNT):
            image, stored = sample(number)
            want, canvas = clamp(stored.astype(float), image.shape[:2])
            empty = (want[:, 2:] <= want[:, :2]).any(axis=1)
            for _, kernel in steps:
                want, canvas = kernel(want, canvas)
                empty |= (want[:, 2:] - want[:, :2] <= 1e-9).any(axis=1)  # a rotated line does not become a box again
            assert canvas == FINAL
            length = arrays["boxes.lengths"][number]
            got = dict(zip(arrays["labels"][number][:length].tolist(), arrays["boxes"][number]))
            # exactly on the bound, rounding decides
            sure = sanitize(want + [1e-3, 1e-3, -1e-3, -1e-3]) & ~empty
            never = empty | ~sanitize(want + [-1e-3, -1e-3, 1e-3, 1e-3])
            for k in range(BOXES):
                assert k not in got if never[k] else k in got or not sure[k], (seed, number, k)
                if k in got:
                    assert numpy.abs(got[k] - want[k]).max() < 1e-3, (seed, number, k, got[k], want[k])
                compared, dropped = compared + (k in got), dropped + never[k]
    assert compared > CHAINS * COUNT and dropped > CHAINS

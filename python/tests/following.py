# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of columns that follow an image: samples whose pixels encode their position, random geometry, and rows of a loader."""
import io

import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

# A loader of few small samples spends most of its time on its read buffer and on epochs that it reads ahead in vain.
SMALL = {"read_buffer_bytes": 1 << 20, "prefetch_factor": 1}
COUNT, BOXES = 12, 9
NEAREST, BILINEAR = "nearest", "bilinear"


def png(array):
    made = io.BytesIO()
    Image.fromarray(array).save(made, "PNG")
    return made.getvalue()


def sample(number):
    """An image whose red channel is the mask; boxes, each painted in its own layer; the position of each pixel."""
    random = numpy.random.RandomState(number)
    height, width = random.randint(60, 140, 2)
    labels = random.randint(0, 256, (height, width)).astype("uint8")
    y, x = numpy.mgrid[0:height, 0:width].astype("float32") + 0.5
    corners = numpy.sort(random.randint(0, 1 << 16, (BOXES, 2, 2)) % [width, height], axis=1)
    boxes = numpy.concatenate([corners[:, 0], corners[:, 1] + 1], axis=1).astype("float32")
    layers = numpy.stack([(x > b[0]) & (x < b[2]) & (y > b[1]) & (y < b[3]) for b in boxes], axis=-1).astype("uint8")
    points = (random.rand(BOXES, 4, 3) * [width, height, 3]).astype("float32")
    points[:, :, 2] = numpy.floor(points[:, :, 2])
    return {
        "image": numpy.stack([labels, 255 - labels, labels // 2], axis=-1), "mask": labels,
        "depth": random.randint(0, 1 << 16, (height, width)).astype("uint16"), "places": numpy.stack([x, y], axis=-1),
        "boxes": boxes, "layers": layers, "points": points.reshape(BOXES, 12), "labels": numpy.arange(BOXES),
    }  # fmt: skip


@pytest.fixture(scope="module")
def samples():
    return [sample(number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def data(samples, tmp_path_factory):
    path = tmp_path_factory.mktemp("follow") / "packed"
    fields = {
        "image": "image", "mask": "image", "depth": "image", "places": ("tensor", "float32", (0, 0, 2)),
        "boxes": ("tensor", "float32", (0, 4)), "layers": ("tensor", "uint8", (0, 0, BOXES)),
        "points": ("tensor", "float32", (0, 12)), "labels": ("tensor", "int64", (0,)),
    }  # fmt: skip
    with sluice.Writer(path, fields) as writer:
        for s in samples:
            writer.add(**{name: png(s[name]) if kind == "image" else s[name] for name, kind in fields.items()})
    return path


def rows(data, columns, epochs=1, last_batch="short", **options):
    """Returns (sample, {column: its row}) of all rows; rows of ragged columns are cut out of the batch."""
    with sluice.Loader(data, batch_size=5, last_batch=last_batch, columns=columns, **SMALL | options) as loader:
        for _ in range(epochs):
            for batch in loader:
                arrays = {name: batch[name].numpy().copy() for name in [*batch.keys(), *batch.parts(), "index", "mask"]}
                for row, index in enumerate(arrays["index"].tolist()):
                    yield index, {
                        name: array[arrays[f"{name}.offsets"][row] : arrays[f"{name}.offsets"][row + 1]]
                        if f"{name}.offsets" in arrays
                        else array[row]
                        for name, array in arrays.items()
                        if not name.endswith(".offsets")
                    }


def recipe(random, interpolation):
    """A random geometry, with steps in any order and a resize at the end; steps that change pixel values only lie in between."""
    fill = int(random.randint(0, 256))
    pool = [
        lambda: T.RandomHorizontalFlip(0.5), lambda: T.RandomVerticalFlip(0.5),
        lambda: T.Pad(int(random.randint(0, 30)), fill=fill),
        lambda: T.RandomRotation(int(random.randint(0, 180)), interpolation=interpolation, fill=fill),
        lambda: T.RandomAffine(30, (0.2, 0.2), (0.5, 1.5), 10, interpolation=interpolation, fill=fill),
        lambda: T.RandomPerspective(0.4, 0.7, interpolation=interpolation, fill=fill),
        lambda: T.Resize((int(random.randint(30, 150)), int(random.randint(30, 150))), interpolation=interpolation),
        lambda: T.RandomResizedCrop(int(random.randint(30, 100)), (0.1, 1), interpolation=interpolation),
        lambda: T.RandomCrop(40, padding=10, pad_if_needed=True, fill=fill),
        lambda: T.CenterCrop(20),
        lambda: T.Pad(5, padding_mode=["edge", "reflect", "symmetric"][random.randint(3)]),
        lambda: T.RandomApply([T.RandomRotation(20, interpolation=interpolation, fill=fill)], 0.5),
    ]  # fmt: skip
    steps = [pool[random.randint(len(pool))]() for _ in range(random.randint(1, 6))]
    return [*steps, T.Resize((37, 53), interpolation=interpolation)], fill


def reflects(steps):
    """True if the image appears several times in the output."""
    return any(isinstance(step, T.Pad) and step.padding_mode != "constant" for step in steps)


def moved(matrix, points):
    at = matrix @ numpy.concatenate([points.T, numpy.ones((1, len(points)))])
    return (at[:2] / at[2]).T, at[2]

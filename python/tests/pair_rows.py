# SPDX-License-Identifier: Apache-2.0
"""
Samples for testing pairs of features, and the rows that loaders make from them.

Every pixel encodes its origin: red and green are twice x and y, blue is the sample; the sample's boxes, points, shapes, masks
and labels all encode the same.
"""
import ctypes
import functools
import io
import json
import os
import pathlib

import numpy
from PIL import Image

import sluice

COUNT, CLASSES, BOXES, BAD, LACKING, SIZE, SEED = 20, 4, 3, 5, 7, 40, 3
FILL = 251  # fill value of masks
MOST = 64  # the most boxes of a row
FEW, LARGE = 4, 9  # boxes of a truncated row; the minimum side of boxes that are not small
CROWD = 1  # the index of a sample's box around a crowd
NEAREST = "nearest"


def blue(sample):
    return 20 + 10 * (sample % COUNT)


def sample_of(colour):
    """Returns the sample of a blue value, or -1: a border's colour."""
    near = numpy.rint((numpy.asarray(colour, float) - 20) / 10).astype(int)
    return numpy.where((numpy.abs(20 + 10 * near - colour) <= 3) & (near >= 0) & (near < COUNT), near, -1)


def png(array):
    made = io.BytesIO()
    Image.fromarray(array).save(made, "PNG")
    return made.getvalue()


def turned_jpeg(array):
    """Returns a JPEG that is stored sideways."""
    made, exif = io.BytesIO(), Image.Exif()
    exif[0x112] = 6
    Image.fromarray(array).transpose(Image.Transpose.ROTATE_90).save(made, "JPEG", quality=100, subsampling=0, exif=exif)
    return made.getvalue()


def size_of(sample):
    random = numpy.random.RandomState(sample)
    return tuple(int(side) for side in random.randint(50, 90, 2))


@functools.lru_cache(None)
def parts_of(sample):
    height, width = size_of(sample)
    random = numpy.random.RandomState(1000 + sample)
    corners = numpy.stack([random.randint(0, width - 24, BOXES), random.randint(0, height - 24, BOXES)], axis=1)
    boxes = numpy.concatenate([corners, corners + 16 + random.randint(0, 8, (BOXES, 2))], axis=1).astype("float32")
    points = numpy.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, numpy.full((BOXES, 1), 2)], axis=1).astype("float32")
    return boxes, points


def class_of(sample):
    return sample % COUNT % CLASSES


def length_of(sample):
    return sample % COUNT * 7 % COUNT


def weight_of(sample):
    """Returns 0 for one sample of three, which is never drawn."""
    return sample % COUNT % 3


FIELDS = {
    "image": "image", "mask": "image", "boxes": ("tensor", "float32", (0, 4)), "points": ("tensor", "float32", (0, 3)), "seg": "text",
    "labels": ("tensor", "int64", (0,)), "crowd": ("tensor", "int64", (0,)), "label": "int", "grid": ("tensor", "int32", (4,)), "tokens": ("tensor", "int32", (0,)),
}  # fmt: skip


def write(path, encode, bad=False, lacks=False):
    """Writes the samples. `bad`: a byte of sample BAD is changed, so that its checksum differs. `lacks`: sample LACKING has no image."""
    with sluice.Writer(path, FIELDS) as writer:
        for i in range(COUNT):
            height, width = size_of(i)
            y, x = numpy.mgrid[0:height, 0:width]
            picture = numpy.stack([2 * x, 2 * y, numpy.full_like(x, blue(i))], axis=-1).astype("uint8")
            boxes, points = parts_of(i)
            shapes = [[[float(v) for v in (b[0], b[1], b[2], b[1], b[2], b[3], b[0], b[3])]] for b in boxes]
            image = {} if lacks and i == LACKING else {"image": encode(picture)}
            writer.add(
                mask=png(picture[:, :, 2].copy()), boxes=boxes, points=points, seg=json.dumps(shapes), labels=numpy.arange(BOXES) + BOXES * i + 1,
                label=class_of(i), crowd=(numpy.arange(BOXES) == CROWD).astype("int64"), grid=numpy.arange(4, dtype="int32") + 4 * i, tokens=numpy.arange(16, dtype="int32") + 16 * i, **image,
            )  # fmt: skip
    if bad:
        place = sluice.Dataset(path).sample(BAD)
        content = bytearray(pathlib.Path(place["file"]).read_bytes())
        content[place["offset"] + place["bytes"] // 2] ^= 255
        pathlib.Path(place["file"]).write_bytes(content)
    return path


def write_tokens(path):
    """Writes tokens uncompressed, so that windows can be read from them."""
    with sluice.Writer(path, {"tokens": ("tensor", "int32", (0,))}, zstd="off") as writer:
        for i in range(COUNT):
            writer.add(tokens=numpy.arange(16, dtype="int32") + 16 * i)
    return path


class Row:
    """One row of a batch: each array under its column's name."""

    def __init__(self, values, number, plan):
        self.number, self.values, self.plan = number, values, plan
        self.index, self.used, self.status = (int(values[name][number]) for name in ("index", "mask", "status"))

    def has(self, name):
        return name in self.values

    def of(self, name):
        value = self.values[name]
        offsets, sizes, lengths = (self.values.get(f"{name}.{part}") for part in ("offsets", "sizes", "lengths"))
        value = value[self.number] if offsets is None else value[offsets[self.number] : offsets[self.number + 1]]
        planes = name == "image" and self.plan.image.get("layout") == "NCHW"
        if sizes is not None:
            height, width = sizes[self.number]
            if offsets is not None:
                value = value.reshape(*((3, height, width) if planes else (height, width, *value.shape[1:])))
            value = value[:, :height, :width] if planes else value[:height, :width]
        value = value if lengths is None or lengths.ndim > 1 else value[: lengths[self.number]]  # lengths of packed rows belong to documents
        return value.transpose(1, 2, 0) if planes else value

    @property
    def content(self):
        return self.index, self.used, self.status, {name: (str(self.of(name).dtype), self.of(name).tobytes()) for name in self.names}

    @property
    def names(self):
        """Returns the row's columns, without those that only say where its values are stored."""
        parts = "offsets", "lengths", "sizes", "shapes"
        return {name for name in self.values if name not in ("index", "mask", "status") and name.rsplit(".", 1)[-1] not in parts}

    @property
    def is_empty(self):
        """True if the row has no sample: it is masked, or padding."""
        return self.status in (2, 3)

    @property
    def has_image(self):
        return not self.is_empty and not (self.plan.lacks and self.sample == LACKING)

    @property
    def sample(self):
        return self.index % COUNT

    @functools.cached_property
    def picture(self):
        """Returns the image in 8 bits; undoes the inversion of the shared draw, which the twin shows."""
        made = self.of("image")
        made = numpy.rint(255 * made).astype(int) if made.dtype == numpy.float32 else made.astype(int)
        return 255 - made if self.inverted else made

    @functools.cached_property
    def inverted(self):
        return self.has("twin") and sample_of(numpy.median(self.of("twin")[..., 2])) != self.sample

    @functools.cached_property
    def owners(self):
        """Returns the sample that each pixel shows, or -1."""
        return sample_of(self.picture[..., 2])

    @functools.cached_property
    def members(self):
        """Returns the samples of the row's own image and those of the image that is blended in or pasted."""
        count = sum(name.startswith("of.") for name in self.values)
        samples = [self.sample, *(int(self.of(f"of.{j}")[0]) // 4 for j in range(1, count + 1))]
        own = self.plan.tiles
        return samples[:own], samples[own:]

    @property
    def is_several(self):
        """True if the row may have more than its own sample."""
        return bool(self.plan.first or self.plan.layers)

    @property
    def is_blended(self):
        shares = [self.values[name][self.number] for name in ("image.share", "image.weight") if name in self.values]
        return any(share != 1 for share in shares)

    @property
    def masks(self):
        """Returns the masks of C.Instances: objects x height x width."""
        shapes = self.values.get("masks.shapes")
        return self.of("masks") if shapes is None else self.of("masks").reshape(shapes[self.number])


def content_of(batches):
    """Returns all content of the rows, for comparison."""
    return [[row.content for row in batch] for batch in batches]


DRIVER = os.environ.get("SLUICE_CUDA_DRIVER")


@functools.cache
def driver_and_context():
    """Returns the driver, and the device's primary context, which stays: a real driver takes a tenth of a second to make another."""
    driver, context = ctypes.CDLL(DRIVER), ctypes.c_void_p()
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    return driver, context


def array(tensor):
    """Returns the values as an array, wherever they are stored."""
    if not str(tensor.device).startswith("cuda"):
        return tensor.numpy().copy()
    driver, context = driver_and_context()
    made, stream = numpy.empty(tensor.shape, tensor.dtype), ctypes.c_void_p(1)
    assert driver.cuCtxPushCurrent_v2(context) == 0
    tensor.__dlpack__(stream=1)
    if made.nbytes:
        address, bytes_ = ctypes.c_uint64(tensor.data_ptr), ctypes.c_size_t(tensor.nbytes)
        assert driver.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(made.ctypes.data), address, bytes_, stream) == 0
    assert driver.cuStreamSynchronize(stream) == 0 and driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())) == 0
    return made


def rows_of(loader, plan):
    """Returns the rows of each batch of an epoch."""
    batches = []
    for batch in loader:
        values = {name: array(value) for name, value in batch.items()}
        values |= {name: array(batch[name]) for name in (*batch.parts(), "index", "mask", "status")}
        batches.append([Row(values, number, plan) for number in range(len(values["index"]))])
    return batches


def used(batches):
    """Returns the rows that a training loop uses, except those without an image."""
    return [row for batch in batches for row in batch if row.used and row.has_image]

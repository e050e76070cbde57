# SPDX-License-Identifier: Apache-2.0
"""Calls a transform on one image, through a loader over a dataset of that image, so the result has the
loader's bits.

The image is written to a folder of its own in the temporary directory, as a packed dataset, and
removed before the call returns. Pixels are stored as pixels, files byte for byte. A call takes tens
of milliseconds: it is for trying a recipe out.
"""
from __future__ import annotations

import tempfile

from .. import _check, _sluice

EXPECTED = (
    "a PIL image, uint8 pixels (numpy height x width x 3, torch 3 x height x width), or the bytes of a JPEG, PNG or WebP"
)
SIDE_MAX = 16384
MARGIN = 1 << 24  # stored images up to this many bytes fit the default limit; larger ones get a limit of their size plus this
# Steps that make a row of several samples, or take its size from the batch, and the reason in the error.
NOT_ALONE = {
    "mosaic": "Mosaic takes other samples of the dataset",
    "mixup_partner": "MixUpPartner takes another sample of the dataset",
    "copy_paste": "CopyPaste takes another sample of the dataset",
    "bucket_crop": "BucketCrop takes the size of the batch's bucket",
}
LOADER = "open sluice.Loader(data, batch_size=8, transform=...) and look at a batch"


def _is_torch(image):
    return type(image).__module__.partition(".")[0] == "torch" and hasattr(image, "permute")


def _of_torch(image):
    if str(image.dtype) != "torch.uint8" or image.ndim != 3 or image.shape[0] != 3:
        shape = " x ".join(map(str, image.shape))
        raise ValueError(f"image: a torch tensor of {shape}, {image.dtype}: expected 3 x height x width, torch.uint8")
    return image.detach().cpu().permute(1, 2, 0).contiguous().numpy()


def _of_array(image):
    import numpy

    array = numpy.asarray(image)
    if array.dtype != numpy.uint8 or array.ndim != 3 or array.shape[2] != 3:
        shape = " x ".join(map(str, array.shape))
        raise ValueError(f"image: an array of {shape}, {array.dtype}: expected height x width x 3, uint8")
    if array.size == 0:
        raise ValueError(f"image: an array of {' x '.join(map(str, array.shape))} has no pixels")
    return numpy.ascontiguousarray(array)


def _stored(image):
    """Returns the value that a Writer stores: bytes of a file, or pixels."""
    if isinstance(image, (bytes, bytearray)) or (isinstance(image, memoryview) and image.ndim == 1):
        return bytes(image)
    if callable(getattr(image, "convert", None)):  # Pillow's
        if image.mode.partition(";")[0] in ("I", "F"):
            raise ValueError(f"image: a PIL image of mode {image.mode!r}, whose values Pillow would clip at 255: give the bytes of the file")
        return _of_array(image.convert("RGB"))
    if _is_torch(image):
        return _of_torch(image)
    if hasattr(image, "__array__") or hasattr(image, "__array_interface__") or isinstance(image, memoryview):
        return _of_array(image)
    path = "; of a file, open(path, 'rb').read()" if isinstance(image, str) or hasattr(image, "__fspath__") else ""
    raise TypeError(f"image={image!r:.80}: expected {EXPECTED}{path}")


def _refuse_several(recipe, names):
    """Raises ValueError for steps that need more than one image."""
    if recipe.mixing is not None:
        raise ValueError(f"{recipe.mixing!r} mixes the images of a batch, and a call has one image: leave it out here, or {LOADER}")
    for name, what in NOT_ALONE.items():
        if name in names:
            raise ValueError(f"{what}, and a call has one image: leave it out here, or {LOADER}")


def _first(data, column, seed, is_torch, limits):
    """Returns the first row of a loader over the dataset, in its own memory."""
    if is_torch:
        from ..torch import DataLoader as Loader
    else:
        from ..loader import Loader
    with Loader(data, columns={"image": column}, seed=seed, num_workers=1, rank=0, world_size=1, io="pread", **limits) as loader:
        row = next(iter(loader))["image"]
        return row[0].clone() if is_torch else _copied(row)


def _copied(row):
    import numpy

    return numpy.array(numpy.asarray(row)[0])


def _sides(shape, sized):
    """Yields the values of max_size to try: a result of unknown size needs a limit, which is doubled
    until it is enough.
    """
    if sized:
        yield None
        return
    side = max(shape()[:2])
    while side < SIDE_MAX:
        yield side
        side *= 2
    yield max(side, SIDE_MAX)


def call(transform, image, seed):
    """Returns the row that a loader with this seed makes of the image, in its first epoch."""
    from ..columns import Image
    from ..dataset import Dataset
    from ..writer import Writer
    from ._recipe import SIZED, names_of, recipe

    seed = _check.integer("seed", seed, 0, 2**64 - 1)
    made = recipe(transform, any_size=True)
    names = set(names_of(made.steps))
    _refuse_several(made, names)
    stored, is_torch = _stored(image), _is_torch(image)
    with tempfile.TemporaryDirectory(prefix="sluice-call-") as folder:
        with Writer(f"{folder}/image", {"image": "image"}, keep_bytes=True) as writer:
            writer.add(image=stored)
        data = Dataset(f"{folder}/image")
        size = getattr(stored, "nbytes", 0)
        limits = {"max_sample_bytes": min(size + MARGIN, 2**31 - 1)} if size > MARGIN else {}
        shape = (lambda: stored.shape) if size else (lambda: data.decode(0).shape)
        for side in _sides(shape, not names.isdisjoint(SIZED)):
            sizes = {} if side is None else {"sizes": "padded", "max_size": side}  # the batch has one image, so padding adds nothing
            column = Image("image", transform=transform, layout="NCHW" if is_torch else "NHWC", **sizes)
            try:
                return _first(data, column, seed, is_torch, limits)
            except _sluice.UnsupportedError as error:
                if side is None or side >= SIDE_MAX or "has space for" not in str(error):
                    raise

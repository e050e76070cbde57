# SPDX-License-Identifier: Apache-2.0
"""Checks of training on any dataset of images with labels, for the tests of formats."""
import numpy
from PIL import Image

import sluice
from sluice import transforms as T

PHOTOS, PER_CLASS = 24, 8


def make_photos(tmp_path):
    """Writes 24 JPEGs of different sizes in three class folders of tmp_path/photos. Returns their paths, in order."""
    paths = []
    for number in range(PHOTOS):
        folder = tmp_path / "photos" / f"c{number // PER_CLASS}"
        folder.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(numpy.random.default_rng(number).integers(0, 255, (4, 5, 3), dtype=numpy.uint8))
        paths.append(folder / f"{number:02}.jpg")
        picture.resize((50 + number, 40)).save(paths[-1])
    return paths


def colours(folder, split, count):
    """Writes class folders red and blue in folder/split, of `count` images each, which differ in colour."""
    for number in range(2 * count):
        name = folder / split / ("red", "blue")[number % 2] / f"{number}.png"
        name.parent.mkdir(parents=True, exist_ok=True)
        pixels = numpy.random.default_rng(number).integers(0, 60, (80, 80, 3), "uint8")
        pixels[..., 2 * (number % 2)] += 160
        Image.fromarray(pixels).save(name)


def loader(source):
    columns = {"image": sluice.columns.Image(transform=T.RandomResizedCrop(16)), "label": sluice.columns.Number()}
    return sluice.Loader(source, batch_size=5, shuffle=True, seed=3, num_workers=2, columns=columns)


def batches(source):
    return [[batch[name].numpy().tobytes() for name in ("image", "label", "index")] for batch in source]


def check(source, tmp_path):
    """Checks that batches equal those of make_photos' folder, from which `source` was made; resumed; packed, with the images
    unchanged and as pack makes them. Returns the packed dataset."""
    whole = batches(loader(source))
    assert whole == batches(loader(tmp_path / "photos")) and len(whole) == 5
    begun = loader(source)
    iterator = iter(begun)
    next(iterator), next(iterator)
    state = begun.state_dict()
    assert batches(iterator) == whole[2:]
    other = loader(source)
    other.load_state_dict(state)
    assert batches(other) == whole[2:]
    assert sluice.Dataset(source).verify(decode=True, progress=None)[2] == []
    sluice.pack(source, tmp_path / "kept", keep_order=True, keep_bytes=True, progress=None)
    assert batches(loader(tmp_path / "kept")) == whole
    sluice.pack(source, tmp_path / "packed", keep_order=True, progress=None)
    packed, data = sluice.Dataset(tmp_path / "packed"), sluice.Dataset(source)
    assert packed.verify(decode=True, progress=None)[2] == []
    assert [sample["label"] for sample in packed] == [i // PER_CLASS for i in range(PHOTOS)]
    assert all(packed.decode(i).tobytes() == data.decode(i).tobytes() for i in range(PHOTOS))
    return packed

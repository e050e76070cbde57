# SPDX-License-Identifier: Apache-2.0
"""close() takes effect while workers process samples that take very long: the loader is closed after 0.3 s, with each kind of sample.
It should take under a second; busy machines and sanitizer builds get five, and the work itself would take much longer."""
import json
import struct
import threading
import time
import zlib

import numpy
import pytest
import stopwatch

import sluice
from sluice import columns as C, transforms as T

BEFORE, MOST = 0.3, 5.0
RESIZE = T.Resize((64, 64))


# ---- samples ----


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, stream=None, colour=0, depth=8):
    stream = zlib.compress(bytes((width * (3 if colour == 2 else 1) * depth // 8 + 1) * height)) if stream is None else stream
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", stream) + chunk(b"IEND", b"")


def zeros(gib, level=9):
    """Returns GiB of zeros in one deflate stream, made by repeating blocks that each start afresh."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (64 * gib)


def png_behind(gib):
    """A small image with more data after its last row."""
    packer = zlib.compressobj(9)
    return png(8, 8, packer.compress(bytes(9 * 8)) + packer.flush(zlib.Z_FULL_FLUSH) + zeros(gib))


def pictures(folder, *data):
    (folder / "a").mkdir(parents=True)
    for number, one in enumerate(data):
        (folder / "a" / f"{number}.png").write_bytes(one)
    return folder


def packed(path, fields, *samples):
    path.parent.mkdir(parents=True, exist_ok=True)
    with sluice.Writer(path, fields) as writer:
        for sample in samples:
            writer.add(**sample)
    return path


def run_lengths(side, count):
    return "[" + ",".join(['{"size":[%d,%d],"counts":[0,%d]}' % (side, side, side * side)] * count) + "]"


def polygons(side, count, corners=4):
    turn = numpy.linspace(0, 2 * numpy.pi, corners, endpoint=False)
    ring = numpy.stack([side / 2 + side * numpy.cos(turn * 7) / 2, side / 2 + side * numpy.sin(turn * 3) / 2], 1).ravel().round(1)
    return "[" + ",".join(["[" + json.dumps(ring.tolist()) + "]"] * count) + "]"


def shapes(path, text, count, side=600):
    fields = {"image": "image", "seg": "text", "labels": ("tensor", "uint8", (0,)), "boxes": ("tensor", "float32", (0, 4))}
    sample = {"image": png(side, side), "seg": text, "labels": bytes(count), "boxes": numpy.tile(numpy.float32([1, 1, side - 1, side - 1]), (count, 1))}
    return packed(path, fields, sample, sample, sample)


# ---- loaders ----


def behind_the_rows(path):
    return sluice.Loader(pictures(path, *[png_behind(2)] * 3), batch_size=1, num_workers=1, transform=RESIZE)


def behind_the_rows_stored(path):
    """Read by a column that takes values as stored."""
    data = packed(path / "d", {"image": "image"}, *[{"image": png_behind(2)}] * 2)
    return sluice.Loader(data, batch_size=1, num_workers=1, columns={"image": C.Tensor(shape=(8, 8))})


def thin(path):
    steps = [T.Resize(640), T.ColorJitter(0.4), T.CenterCrop(640)]
    return sluice.Loader(pictures(path, *[png(1, 2000)] * 6), batch_size=2, num_workers=2, transform=steps, max_pixels=100_000_000)


def large_pictures(path):
    return sluice.Loader(pictures(path, *[png(9900, 9900)] * 4), batch_size=4, num_workers=2, transform=[T.GaussianBlur(63, 20), RESIZE])


def class_map_of_run_lengths(path):
    data = shapes(path / "d", run_lengths(600, 8000), 8000)
    columns = {"image": C.Image(transform=T.Resize((600, 600))), "m": C.Mask("seg", labels="labels")}
    return sluice.Loader(data, batch_size=1, num_workers=1, columns=columns)


def class_map_of_polygons(path):
    data = shapes(path / "d", polygons(600, 4000, 40), 4000)
    columns = {"image": C.Image(transform=T.Resize((600, 600))), "m": C.Mask("seg", labels="labels", overlap="ignore")}
    return sluice.Loader(data, batch_size=1, num_workers=1, columns=columns)


def polygons_of_many_corners(path):
    data = shapes(path / "d", polygons(600, 20, 20000), 20)
    columns = {"image": C.Image(transform=T.Resize((600, 600))), "m": C.Mask("seg", labels="labels")}
    return sluice.Loader(data, batch_size=1, num_workers=1, columns=columns)


def instances(path):
    data = shapes(path / "d", run_lengths(600, 200), 200)
    columns = {"image": C.Image(transform=[T.RandomAffine(30), T.Resize((600, 600))]), "m": C.Instances("seg", length=200)}
    return sluice.Loader(data, batch_size=1, num_workers=1, prefetch_factor=2, columns=columns)


def boxes_of_shapes(path):
    data = shapes(path / "d", run_lengths(600, 6000), 6000)
    columns = {"image": C.Image(transform=[T.RandomAffine(30), T.Resize((600, 600))]), "boxes": C.Boxes("boxes", length=6000, shapes="seg")}
    return sluice.Loader(data, batch_size=1, num_workers=1, columns=columns)


def mosaics_of_large_pictures(path):
    data = pictures(path, *[png(6000, 6000)] * 20)
    return sluice.Loader(data, batch_size=8, num_workers=2, transform=[T.Mosaic(2000, grid=3), T.CenterCrop(64)])


def bad_samples_without_end(path):
    """Each is replaced by others that are bad, too."""
    data = pictures(path, *[png(3000, 3000, zlib.compress(bytes(3001 * 3000))[:-9])] * 40)
    return sluice.Loader(data, batch_size=16, num_workers=2, transform=RESIZE, on_bad_sample="replace")


KINDS = [
    behind_the_rows,
    behind_the_rows_stored,
    thin,
    large_pictures,
    class_map_of_run_lengths,
    class_map_of_polygons,
    polygons_of_many_corners,
    instances,
    boxes_of_shapes,
    mosaics_of_large_pictures,
    bad_samples_without_end,
]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_close(tmp_path, make):
    loader = make(tmp_path / "x")
    taken = []

    def take():
        try:
            taken.extend(1 for _ in loader)
        except sluice.Error as error:
            taken.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    time.sleep(BEFORE)
    watch = stopwatch.Stopwatch()
    loader.close()
    took = watch.seconds()
    thread.join()
    stopwatch.check(took, MOST, "close()")

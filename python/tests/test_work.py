# SPDX-License-Identifier: Apache-2.0
"""The cost of a row's shapes: hostile ones are soon bad samples, and a loader can be closed during a long row."""
import json
import threading
import time

import numpy
import pytest
import stopwatch
from following import png

import sluice
from sluice import columns as C
from sluice import transforms as T

SIDE = 512
MOST = 15  # seconds of CPU: about 3 on an idle machine; other programs on the same cores raise that to 5
WHOLE = {"size": [SIDE, SIDE], "counts": [0, SIDE * SIDE]}
# Every other pixel: as many runs as pixels.
COMB = {"size": [SIDE, SIDE], "counts": [1] * (SIDE * SIDE)}
AROUND = [[0, 0, 9999, 0, 9999, 9999, 0, 9999]]


PHOTO = (800, 1333)
WHOLE_PHOTO = {"size": [*PHOTO], "counts": [0, PHOTO[0] * PHOTO[1]]}


def json_of(shapes):
    """Returns the shapes as JSON; a shape object that repeats is converted once."""
    texts = {number: json.dumps(shape) for number, shape in {id(shape): shape for shape in shapes}.items()}
    return f"[{', '.join(texts[id(shape)] for shape in shapes)}]"


def write(path, shapes, side=SIDE, others=0, size=None):
    """Writes a sample with these shapes, and `others` without any."""
    fields = {"image": "image", "seg": "text", "labels": ("tensor", "uint8", (0,)), "boxes": ("tensor", "float32", (0, 4))}
    with sluice.Writer(path, fields) as writer:
        for some in [shapes] + [[]] * others:
            writer.add(
                image=png(numpy.zeros(size or (side, side), "uint8")), seg=json_of(some), labels=numpy.ones(len(some), "uint8"),
                boxes=numpy.tile(numpy.array([[0, 0, (size or [side])[-1], (size or [side])[0]]], "float32"), (len(some), 1)),
            )  # fmt: skip
    return path


def boxes(length):
    return C.Boxes("boxes", length=length, shapes="seg")


# Columns that draw shapes, or compute boxes from them.
USES = {
    "map": lambda n: {"m": C.Mask("seg", labels="labels")},
    "ignore": lambda n: {"m": C.Mask("seg", labels="labels", overlap="ignore")},
    "boxes": lambda n: {"b": boxes(n)},
    "instances of few": lambda n: {"b": boxes(n), "m": C.Instances("seg", length=8, follows="b", too_long="truncate")},
}
TURNED = [T.RandomRotation(45), T.Resize((SIDE, SIDE))]


@pytest.mark.parametrize("shape, count", [(AROUND, 300), (WHOLE_PHOTO, 100)], ids=["300 polygons", "100 masks"])
def test_honest_rows_are_made(tmp_path, shape, count):
    """As many objects as in LVIS, each covering a whole photo, and each used twice."""
    data = write(tmp_path / "d", [shape] * count, size=PHOTO)
    columns = {"image": C.Image("image", transform=[T.Resize(PHOTO)]), "b": boxes(count), "m": C.Mask("seg", labels="labels", overlap="ignore")}
    with sluice.Loader(data, batch_size=1, num_workers=1, columns=columns) as loader:
        (batch,) = loader
    assert batch["b"].shape == (count, 4) and (numpy.asarray(batch["m"]) == 255).all()


HOSTILE = {"runs": (WHOLE, 20000), "polygons": (AROUND, 20000), "comb": (COMB, 30)}


@pytest.fixture(scope="module", params=HOSTILE)
def hostile(request, tmp_path_factory):
    shape, count = HOSTILE[request.param]
    return write(tmp_path_factory.mktemp("hostile") / "d", [shape] * count), count


# Each shape as a map and as boxes or instances; each use with two shapes, or with one if it adds little to another use's code.
MET = [("runs", "map"), ("runs", "instances of few"), ("polygons", "ignore"), ("polygons", "boxes"), ("comb", "map"), ("comb", "boxes")]


@pytest.mark.parametrize(("hostile", "use"), MET, indirect=["hostile"])
def test_hostile_shapes_take_no_time(hostile, use):
    """Each shape is valid, but there are many: they take about a second, and give either the row or its error."""
    data, count = hostile
    start = time.process_time()
    columns = {"image": C.Image("image", transform=TURNED)} | USES[use](count)
    with sluice.Loader(data, batch_size=1, num_workers=1, columns=columns, max_sample_bytes=1 << 28) as loader:
        try:
            assert len(list(loader)) == 1
        except sluice.UnsupportedError as error:
            assert "too much work" in str(error) and "64 times" in str(error)
    assert time.process_time() - start < MOST


def test_pasted_shapes(tmp_path):
    data = write(tmp_path / "d", [WHOLE] * 4000, others=0)
    columns = {"image": C.Image("image", transform=[T.Resize((SIDE, SIDE)), T.CopyPaste()]), "b": boxes(9000)}
    start = time.process_time()
    with pytest.raises(sluice.UnsupportedError, match="too much work"), sluice.Loader(data, batch_size=1, columns=columns) as loader:
        list(loader)
    assert time.process_time() - start < MOST


def test_others_go_on(tmp_path):
    """Only that sample is bad."""
    data = write(tmp_path / "d", [WHOLE] * 20000, others=5)
    columns = {"image": C.Image("image", transform=TURNED), "m": C.Mask("seg", labels="labels", background=7)}
    with sluice.Loader(data, batch_size=3, columns=columns, on_bad_sample="mask", shuffle=False) as loader:
        batches = [(b["mask"].numpy().tolist(), b["m"].numpy().copy()) for b in loader]
    assert [mask for mask, _ in batches] == [[0, 1, 1], [1, 1, 1]]
    assert (batches[1][1] <= 7).all()


def test_many_small_ones_are_fine(tmp_path):
    """As many as a map can hold: the drawn pixels matter, not the number of shapes."""
    count = 65536
    some = [{"size": [SIDE, SIDE], "counts": [i * 4, 2, SIDE * SIDE - i * 4 - 2]} for i in range(count)]
    data = write(tmp_path / "d", some)
    columns = {"image": C.Image("image", transform=T.Resize((SIDE, SIDE))), "m": C.Mask("seg", labels="labels")}
    with sluice.Loader(data, batch_size=1, columns=columns) as loader:
        (batch,) = (b["m"].numpy().copy() for b in loader)
    at = numpy.arange(SIDE * SIDE).reshape(SIDE, SIDE).T  # column by column
    assert (batch[0] == (at % 4 < 2)).all()


def test_close_within_a_second(tmp_path):
    """A valid row that takes some seconds."""
    side = 3000
    data = write(tmp_path / "d", [{"size": [side, side], "counts": [0, side * side]}] * 60, side)
    columns = {"image": C.Image("image", transform=[T.RandomRotation((30, 30)), T.Resize((side, side))])} | USES["map"](1)
    loader = sluice.Loader(data, batch_size=1, num_workers=1, prefetch_factor=1, columns=columns)

    def take():
        try:
            next(iter(loader))
        except sluice.Error:
            pass

    taker = threading.Thread(target=take)
    taker.start()
    time.sleep(0.5)
    assert taker.is_alive()
    watch = stopwatch.Stopwatch()
    loader.close()
    closed = watch.seconds()
    taker.join()
    stopwatch.check(closed, 1, "close()")

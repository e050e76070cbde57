# SPDX-License-Identifier: Apache-2.0
"""Instance masks follow an image: moved polygons against the even-odd rule at pixel centres, run lengths against masks."""
import io
import json

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT, SHAPES = 10, 6


def png(array):
    made = io.BytesIO()
    Image.fromarray(array).save(made, "PNG")
    return made.getvalue()


def runs(bits):
    """COCO's uncompressed counts: column by column, alternating 0 and 1."""
    flat = bits.T.ravel().astype(int)
    edges = numpy.flatnonzero(numpy.diff(flat)) + 1
    counts = numpy.diff([0, *edges, len(flat)]).tolist()
    return {"size": list(bits.shape), "counts": counts if flat[0] == 0 else [0, *counts]}


def sample(number):
    random = numpy.random.RandomState(number)
    height, width = (int(side) for side in random.randint(60, 120, 2))
    shapes, boxes = [], []
    bits = numpy.zeros((SHAPES, height, width), "uint8")
    for i in range(SHAPES):
        center, turns = random.rand(2) * [width, height], numpy.sort(random.rand(random.randint(3, 9))) * 2 * numpy.pi
        radius = 8 + 30 * random.rand(len(turns), 1)
        points = center + radius * numpy.stack([numpy.cos(turns), numpy.sin(turns)], axis=1)
        boxes.append([*points.min(axis=0), *points.max(axis=0)])
        if i % 3 == 2:
            bits[i] = random.rand(height // 8 + 1, width // 8 + 1).repeat(8, 0).repeat(8, 1)[:height, :width] < 0.4
            shapes.append(runs(bits[i]))
        else:
            shapes.append([points.ravel().round(2).tolist()])
    return {"image": numpy.zeros((height, width, 3), "uint8"), "shapes": shapes, "boxes": numpy.array(boxes, "float32"), "bits": bits}


@pytest.fixture(scope="module")
def samples():
    return [sample(number) for number in range(COUNT)]


def write(path, samples, **options):
    fields = {"image": "image", "shapes": "text", "boxes": ("tensor", "float32", (0, 4)), "bits": ("tensor", "uint8", (0, 0, SHAPES)), "numbers": ("tensor", "int64", (0,))}
    with sluice.Writer(path, fields, **options) as writer:
        for s in samples:
            text = s["shapes"] if isinstance(s["shapes"], str) else json.dumps(s["shapes"])
            writer.add(image=png(s["image"]), shapes=text, boxes=s["boxes"], numbers=numpy.arange(len(s["boxes"])), bits=numpy.ascontiguousarray(s["bits"].transpose(1, 2, 0)))
    return path


@pytest.fixture(scope="module")
def data(samples, tmp_path_factory):
    return write(tmp_path_factory.mktemp("instances") / "packed", samples)


def even_odd(points, x, y):
    """Returns which positions are inside, and the distance of all from the boundary."""
    inside, near = numpy.zeros(x.shape, bool), numpy.full(x.shape, numpy.inf)
    for (ax, ay), (bx, by) in zip(points, numpy.roll(points, -1, axis=0)):
        if ay != by:
            inside ^= ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
        length = max((bx - ax) ** 2 + (by - ay) ** 2, 1e-12)
        along = numpy.clip(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length, 0, 1)
        near = numpy.minimum(near, numpy.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay)))
    return inside, near


RECIPES = [
    [T.Resize((90, 110))],
    [T.RandomResizedCrop(80, (0.1, 1)), T.RandomHorizontalFlip()],
    [T.RandomRotation(180), T.Resize((70, 100))],
    [T.CenterCrop(50), T.Pad(20), T.RandomAffine(30, (0.1, 0.1), (0.7, 1.3), 10)],
    [T.RandomPerspective(0.4, 1.0), T.Resize((64, 64)), T.RandomVerticalFlip()],
]


@pytest.mark.parametrize("steps", RECIPES)
@pytest.mark.parametrize("padded", [False, True])
def test_shapes(data, samples, steps, padded):
    columns = {
        "image": C.Image(transform=steps), "i": C.Instances("shapes", length=SHAPES, padded=padded), "g": C.Geometry(),
        "bits": C.Mask(channels=SHAPES), "all": C.Mask("bits", channels=SHAPES, fill=1),
    }  # fmt: skip
    with sluice.Loader(data, batch_size=5, columns=columns, seed=4) as loader:
        for batch in loader:
            arrays = {name: batch[name].numpy() for name in ("i", "g", "bits", "all", "index")}
            ends = batch["i.lengths" if padded else "i.offsets"].numpy()
            assert ends.tolist() == ([SHAPES] * 5 if padded else list(range(0, SHAPES * 5 + 1, SHAPES)))
            for row, index in enumerate(arrays["index"].tolist()):
                masks = arrays["i"][row] if padded else arrays["i"][ends[row] : ends[row + 1]]
                check(masks, samples[index], arrays["g"][row], arrays["bits"][row], arrays["all"][row])


def check(masks, s, matrix, bits, everything):
    height, width = bits.shape[:2]
    y, x = numpy.mgrid[0:height, 0:width] + 0.5
    hidden = (everything == 1).all(axis=-1) & (bits == 0).all(axis=-1)  # outside the image
    for i, shape in enumerate(s["shapes"]):
        assert masks[i].max() <= 1
        if isinstance(shape, dict):
            assert (masks[i] != bits[:, :, i]).mean() < 0.03  # positions half-way between pixels
            continue
        points = numpy.array(shape[0]).reshape(-1, 2)
        at = matrix @ numpy.stack([*points.T, numpy.ones(len(points))])
        inside, near = even_odd((at[:2] / at[2]).T, x, y)
        clear = (near > 1) & ~near_to(hidden)
        assert ((masks[i] == 1) == (inside & ~hidden))[clear].all()
        assert clear.mean() > 0.3


def near_to(hidden):
    wide = numpy.pad(hidden, 2, mode="edge")
    h, w = hidden.shape
    shifts = [wide[dy : dy + h, dx : dx + w] for dy in range(5) for dx in range(5)]
    return numpy.any(shifts, axis=0) & ~numpy.all(shifts, axis=0)


def test_with_boxes(data):
    """Only masks of kept boxes remain."""
    columns = {
        "image": C.Image(transform=[T.RandomResizedCrop(64, (0.05, 0.3))]), "boxes": C.Boxes(length=SHAPES),
        "i": C.Instances("shapes", length=SHAPES, follows="boxes"), "every": C.Instances("shapes", length=SHAPES),
        "n": C.Boxes("boxes", length=SHAPES, min_size=0, min_area=0),
    }  # fmt: skip
    fewer = 0
    for batch in sluice.Loader(data, batch_size=5, columns=columns):
        boxes, ends = batch["boxes.offsets"].numpy(), batch["i.offsets"].numpy()
        assert (boxes == ends).all()
        fewer += int(ends[-1]) < 5 * SHAPES
        every = {mask.tobytes() for mask in batch["every"].numpy()}
        assert {mask.tobytes() for mask in batch["i"].numpy()} <= every
    assert fewer


BAD = [
    ('[[[1, 2, 3, 4, 5, 6]]', "annotation 1|offset"),
    ('[[[1, 2, 3, 4, 5]]]', "annotation 0"),
    ('[{"size": [5, 5], "counts": [1, 2]}]', "annotation 0"),
    ('{"a": 1}', "shapes"),
    ("[[[1, 2, 3, 4, 5, 6]], null, null, null]", '"shapes" is too long: length 4, the column holds at most 3'),
]  # fmt: skip


@pytest.mark.parametrize("text, what", BAD)
def test_bad_samples(tmp_path, samples, text, what):
    good = samples[0] | {"shapes": "[null, [], [[1, 2, 3, 4, 5, 6.5]]]"}
    data = write(tmp_path / "d", [good, good | {"shapes": text}])
    columns = {"image": C.Image(transform=T.Resize((8, 8))), "i": C.Instances("shapes", length=3)}
    with pytest.raises(sluice.Error, match=what) as caught:
        list(sluice.Loader(data, batch_size=1, shuffle=False, columns=columns))
    assert "sample 1" in str(caught.value) and "shapes" in str(caught.value)
    with sluice.Loader(data, batch_size=2, shuffle=False, columns=columns, on_bad_sample="mask") as loader:
        (batch,) = loader
        assert batch["i.offsets"].tolist() == [0, 3, 3] and batch["mask"].tolist() == [1, 0]


def test_refused(data):
    image = {"image": C.Image(transform=T.Resize((8, 8)))}
    for columns, text in [
        ({"i": C.Instances("shapes", length=3)}, "no image column is before it"),
        ({**image, "i": C.Instances("bits", length=3)}, 'the field "bits" cannot be used by a column of kind instances'),
    ]:
        with pytest.raises(sluice.Error, match=text):
            sluice.Loader(data, columns=columns)

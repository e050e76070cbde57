# SPDX-License-Identifier: Apache-2.0
"""Boxes and class maps made of moved shapes: compared with brute force over edges, and over positions between pixels."""
import numpy
import pytest
from following import SMALL
from test_follow_instances import RECIPES, SHAPES, even_odd, png, sample, write

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT = 8


@pytest.fixture(scope="module")
def samples():
    return [sample(100 + number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def data(samples, tmp_path_factory):
    return write(tmp_path_factory.mktemp("shapes") / "packed", samples)


def rows(data, columns, **options):
    with sluice.Loader(data, batch_size=4, columns=columns, **SMALL | options) as loader:
        for batch in loader:
            arrays = {name: batch[name].numpy() for name in [*columns, "index"]}
            for row, index in enumerate(arrays["index"].tolist()):
                ends = {name: batch[f"{name}.offsets"].numpy() for name in columns if f"{name}.offsets" in batch}
                yield index, {name: array[ends[name][row] : ends[name][row + 1]] if name in ends else array[row] for name, array in arrays.items()}


BLOCK = 8  # block size of the samples' run lengths


def pieces(s, number):
    """Returns polygons, and squares of run lengths, as stored."""
    shape = s["shapes"][number]
    if not isinstance(shape, dict):
        return [numpy.array(part).reshape(-1, 2) for part in shape]
    height, width = s["bits"][number].shape
    y, x = numpy.nonzero(s["bits"][number][::BLOCK, ::BLOCK])
    right, bottom = numpy.minimum(x * BLOCK + BLOCK, width), numpy.minimum(y * BLOCK + BLOCK, height)
    return [numpy.array([[a, b], [c, b], [c, d], [a, d]], float) for a, b, c, d in zip(x * BLOCK, y * BLOCK, right, bottom)]


def moved(matrix, points):
    to = matrix @ numpy.stack([*points.T, numpy.ones(len(points))])
    return (to[:2] / to[2]).T


def edges(points, steps):
    share = numpy.linspace(0, 1, steps)[:, None]
    return numpy.concatenate([a + share * (b - a) for a, b in zip(points, numpy.roll(points, -1, axis=0))])


def inside(points, width, height):
    return ((points >= -1e-9) & (points <= numpy.array([width, height]) + 1e-9)).all(axis=1)


def bounds_of_edges(s, number, matrix, width, height):
    """Bounds of many positions on the shape's edges that are in the image and in the output, and of covered positions on the edges of these two."""
    parts, (high, wide) = pieces(s, number), s["image"].shape[:2]
    run_lengths = isinstance(s["shapes"][number], dict)
    picture, output = (numpy.array([[0, 0], [w, 0], [w, h], [0, h]], float) for w, h in ((wide, high), (width, height)))
    borders = numpy.concatenate([edges(picture, 4000), moved(numpy.linalg.inv(matrix), edges(output, 4000))])
    if run_lengths:
        borders = borders[inside(borders, wide, high)]
        at = numpy.minimum(borders.astype(int), [wide - 1, high - 1])
        borders = borders[s["bits"][number][at[:, 1], at[:, 0]] == 1]
    else:
        borders = borders[numpy.any([even_odd(part, *borders.T)[0] for part in parts], axis=0)]
    places = numpy.concatenate([borders, *(edges(part, 400 if run_lengths else 4000) for part in parts)])
    places = moved(matrix, places[inside(places, wide, high)])
    places = places[inside(places, width, height)]
    return numpy.array([*places.min(axis=0), *places.max(axis=0)]) if len(places) else None


def stored_columns(steps, **rule):
    """Columns for each stored box alone, with its number as label."""
    return {
        "image": C.Image(transform=steps), "boxes": C.Boxes(length=SHAPES, shapes="shapes", min_size=0, min_area=0, **rule), "g": C.Geometry(),
        "numbers": C.Ragged("numbers", length=SHAPES, follows="boxes"), "i": C.Instances("shapes", length=SHAPES, follows="boxes"),
    }  # fmt: skip


CROPS = [
    [T.RandomResizedCrop((60, 90), (0.05, 0.6)), T.RandomHorizontalFlip()],
    [T.RandomCrop(50), T.RandomVerticalFlip(), T.Resize((70, 40))],
    [T.RandomRotation(180), T.CenterCrop(56)],
    [T.RandomAffine(40, (0.2, 0.2), (0.6, 1.6), 15), T.Resize((64, 64))],
    [T.RandomPerspective(0.3, 1.0), T.CenterCrop(48)],
]


@pytest.mark.parametrize("steps", CROPS)
def test_boxes_of_edges(data, samples, steps):
    compared = cut = 0
    for index, row in rows(data, stored_columns(steps)):
        assert len(row["boxes"]) == len(row["numbers"]) == len(row["i"])
        height, width = row["image"].shape[:2]
        found = dict(zip(row["numbers"].tolist(), row["boxes"]))
        for number in range(SHAPES):
            want = bounds_of_edges(samples[index], number, row["g"], width, height)
            if want is None or (want[2:] - want[:2]).min() < 0.2:
                assert want is not None or number not in found
                continue
            assert numpy.abs(found[number] - want).max() < 0.15
            compared, cut = compared + 1, cut + ((want <= 0) | (want >= [width, height, width, height])).any()
    assert compared > 25 and cut > 4


@pytest.mark.parametrize("steps", RECIPES)
def test_boxes_are_about_what_is_drawn(data, steps):
    """Parts cut off by earlier steps no longer count, just as in masks of the same shapes. Drawn large, since thin tips cover no pixels."""
    far = []
    for _, row in rows(data, stored_columns([*steps, T.Resize((800, 800))]), seed=7):
        for box, mask in zip(row["boxes"], row["i"]):
            y, x = numpy.flatnonzero(mask.any(axis=1)), numpy.flatnonzero(mask.any(axis=0))
            if len(x) > 20 and len(y) > 20:
                beyond = numpy.array([x[0], y[0], -x[-1] - 1, -y[-1] - 1]) - box * [1, 1, -1, -1]
                assert (beyond > -8).all()  # run lengths are drawn by whole pixels of the image
                far.append(beyond)
    assert len(far) > 20 and (numpy.array(far) < 16).mean() > 0.95


def test_boxes_are_smaller_than_hulls(data):
    """They are never larger: the box of a rotated shape is not the box around its rotated corners."""
    columns = stored_columns([T.RandomRotation((45, 45))] + [T.Resize((80, 80))])
    columns |= {"hulls": C.Boxes("boxes", length=SHAPES, min_size=0, min_area=0), "hull_numbers": C.Ragged("numbers", length=SHAPES, follows="hulls")}
    less = []
    for _, row in rows(data, columns):
        hulls = dict(zip(row["hull_numbers"].tolist(), row["hulls"]))
        for number, box in zip(row["numbers"].tolist(), row["boxes"]):
            if number % 3 != 2:  # their boxes surround their polygons
                assert (box[:2] >= hulls[number][:2] - 0.01).all() and (box[2:] <= hulls[number][2:] + 0.01).all()
                less.append(numpy.prod(box[2:] - box[:2]) / numpy.prod(hulls[number][2:] - hulls[number][:2]))
    assert len(less) > 20 and numpy.median(less) < 0.9


def test_what_is_kept(data, samples):
    """Decided by the recomputed box, and its fraction of the box around the whole shape."""
    steps, seen = [T.RandomResizedCrop(60, (0.2, 0.7))], [0, 0]
    for index, row in rows(data, stored_columns(steps, min_visibility=0.5)):
        for number in range(SHAPES):
            want = bounds_of_edges(samples[index], number, row["g"], 60, 60)
            whole = numpy.concatenate([moved(row["g"], piece) for piece in pieces(samples[index], number)])
            share = 0 if want is None else numpy.prod(want[2:] - want[:2]) / numpy.prod(whole.max(axis=0) - whole.min(axis=0))
            if abs(share - 0.5) > 0.02:
                assert (number in row["numbers"]) == (share > 0.5)
                seen[int(share > 0.5)] += 1
    assert min(seen) > 10


def test_at_least_one(data):
    """Drawn again until a shape is visible, and not just its box."""
    columns = stored_columns([T.RandomResizedCrop(40, (0.002, 0.003))])
    columns["boxes"] = C.Boxes(length=SHAPES, shapes="shapes", at_least_one=True)
    plain = stored_columns([T.RandomResizedCrop(40, (0.002, 0.003))])
    assert any(len(row["boxes"]) == 0 for seed in range(3) for _, row in rows(data, plain, seed=seed))
    assert all(len(row["boxes"]) > 0 for seed in range(3) for _, row in rows(data, columns, seed=seed))


def test_without_shapes(tmp_path, samples):
    """A box whose object has no shape is moved itself; if the numbers of shapes and boxes differ, the sample is bad."""
    s = samples[0] | {"shapes": [None, [], *samples[0]["shapes"][2:]]}
    data = write(tmp_path / "d", [s])
    columns = stored_columns([T.Resize((77, 55))]) | {"moved": C.Boxes("boxes", length=SHAPES, min_size=0, min_area=0)}
    ((_, row),) = rows(data, columns | {"image": C.Image(transform=[T.Resize((77, 55))])}, last_batch="short")
    assert (row["boxes"][:2] == row["moved"][:2]).all() and len(row["boxes"]) == SHAPES
    for text, what in [("[null]", '"shapes" has length 1, but there are 6 boxes'), ("[[1]]", "annotation 0")]:
        bad = write(tmp_path / text, [s, s | {"shapes": text}])
        with pytest.raises(sluice.Error, match=what) as caught:
            list(rows(bad, stored_columns([T.Resize((8, 8))]), shuffle=False, last_batch="short"))
        assert "sample 1" in str(caught.value) and "shapes" in str(caught.value)


def test_missing_shapes(tmp_path, samples):
    fields = {"image": "image", "boxes": ("tensor", "float32", (0, 4)), "shapes": "text"}
    with sluice.Writer(tmp_path / "d", fields) as writer:
        writer.add(image=png(samples[0]["image"]), boxes=samples[0]["boxes"])
    columns = {"image": C.Image(transform=[T.Resize((50, 50))]), "boxes": C.Boxes(length=SHAPES, shapes="shapes")}
    with pytest.raises(sluice.Error, match='the sample has no "shapes"'):
        list(rows(tmp_path / "d", columns, last_batch="short"))
    columns["boxes"] = C.Boxes(length=SHAPES, shapes="shapes", missing="blank")
    columns["plain"] = C.Boxes("boxes", length=SHAPES)
    ((_, row),) = rows(tmp_path / "d", columns, last_batch="short")
    assert (row["boxes"] == row["plain"]).all() and len(row["boxes"])


def test_packed_text(tmp_path, samples):
    """A text in a zstd frame is unpacked beside the image, which stays as stored."""
    s = samples[0] | {"shapes": [samples[0]["shapes"][0] * 40, *samples[0]["shapes"][1:]]}
    columns = stored_columns([T.RandomResizedCrop(60, (0.3, 0.9))])
    got = {}
    for zstd in ("off", 19):
        data = write(tmp_path / str(zstd), [s] * 4, zstd=zstd)
        got[zstd] = {index: [row[name].tobytes() for name in ("image", "boxes", "numbers", "i")] for index, row in rows(data, columns)}
    assert got["off"] == got[19] and len(got[19]) == 4
    assert sum(f.stat().st_size for f in (tmp_path / "19").rglob("*")) < sum(f.stat().st_size for f in (tmp_path / "off").rglob("*"))


def test_refused(data):
    image = {"image": C.Image(transform=T.Resize((8, 8)))}
    for shapes, text in [("bits", "shapes must be a text"), ("nothing", 'the dataset has no field "nothing"')]:
        with pytest.raises(sluice.Error, match=text):
            sluice.Loader(data, columns={**image, "boxes": C.Boxes(length=3, shapes=shapes)})
    with pytest.raises(TypeError, match="shapes=3"):
        C.Boxes(length=3, shapes=3)

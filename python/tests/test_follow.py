# SPDX-License-Identifier: Apache-2.0
"""Masks, boxes and points follow a picture: Pillow's calls on masks, and brute force over pixels for the rest."""
import io

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT, BOXES = 12, 9
NEAREST, BILINEAR = "nearest", "bilinear"


def png(array):
    made = io.BytesIO()
    Image.fromarray(array).save(made, "PNG")
    return made.getvalue()


def sample(number):
    """A picture whose red is the mask; boxes, each painted in a layer of its own; where each pixel is."""
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


def rows(data, columns, epochs=1, **options):
    """(sample, {column: its row}) of all rows; of ragged columns what is the row's."""
    with sluice.Loader(data, batch_size=5, last_batch="short", columns=columns, **options) as loader:
        for _ in range(epochs):
            for batch in loader:
                arrays = {name: batch[name].numpy().copy() for name in [*batch.keys(), "index", "mask"]}
                arrays |= {name + ".offsets": batch[name + ".offsets"].numpy().copy() for name in arrays if name + ".offsets" in batch}
                for row, index in enumerate(arrays["index"].tolist()):
                    yield index, {
                        name: array[arrays[f"{name}.offsets"][row] : arrays[f"{name}.offsets"][row + 1]]
                        if f"{name}.offsets" in arrays
                        else array[row]
                        for name, array in arrays.items()
                        if not name.endswith(".offsets")
                    }


# ---- masks ----

FIXED = [
    ([T.Resize((50, 70)), T.CenterCrop(48)], lambda m: crop_center(m.resize((70, 50), 0), 48)),
    ([T.Resize((31, 57)), T.RandomHorizontalFlip(1.0)], lambda m: m.resize((57, 31), 0).transpose(0)),
    ([T.Resize((64, 64)), T.RandomVerticalFlip(1.0), T.Pad(7)], lambda m: pad(m.resize((64, 64), 0).transpose(1), 7)),
    ([T.Resize((40, 60)), T.RandomRotation((33, 33))], lambda m: m.resize((60, 40), 0).rotate(33, 0, fillcolor=9)),
    (
        [T.CenterCrop(60), T.RandomRotation((-75, -75)), T.Resize((90, 30)), T.RandomRotation((12, 12))],
        lambda m: crop_center(m, 60).rotate(-75, 0, fillcolor=9).resize((30, 90), 0).rotate(12, 0, fillcolor=9),
    ),
    ([T.Resize((40, 60)), T.Pad(5, padding_mode="reflect")], lambda m: reflected(m.resize((60, 40), 0), 5)),
]  # fmt: skip


def crop_center(mask, size):
    left, top = round((mask.width - size) / 2), round((mask.height - size) / 2)
    return mask.crop((left, top, left + size, top + size))


def pad(mask, by):
    wide = Image.new(mask.mode, (mask.width + 2 * by, mask.height + 2 * by), 9)
    wide.paste(mask, (by, by))
    return wide


def reflected(mask, by):
    return Image.fromarray(numpy.pad(numpy.asarray(mask), by, mode="reflect"))


@pytest.mark.parametrize("steps, pillow", FIXED)
def test_masks_are_pillows(data, samples, steps, pillow):
    columns = {"image": C.Image(transform=steps), "seg": C.Mask("mask", fill=9)}
    seen = 0
    for index, row in rows(data, columns, exact=True):
        want = numpy.asarray(pillow(Image.fromarray(samples[index]["mask"])))
        assert (row["seg"] == want).all()
        seen += 1
    assert seen == COUNT


def recipe(random, interpolation):
    """Any geometry, in any order, and a size at the end; what changes pixels only between."""
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


@pytest.mark.parametrize("exact", [True, False])
def test_masks_are_what_pictures_are(data, exact):
    """With nearest everywhere, and pictures that are masks; not exact, warps and resizes of pictures are composed alike."""
    for seed in range(40):
        steps, fill = recipe(numpy.random.RandomState(seed), NEAREST)
        columns = {"image": C.Image(transform=steps), "seg": C.Mask("mask", fill=fill)}
        for _, row in rows(data, columns, exact=exact, seed=seed):
            assert (row["seg"] == row["image"][:, :, 0]).all(), seed


def test_colours_leave_masks(data):
    """The same with what changes pixels only between, before and behind the rest."""
    for seed in range(20):
        steps, fill = recipe(numpy.random.RandomState(500 + seed), BILINEAR)
        colours = [T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.GaussianBlur(3), T.RandomGrayscale(0.5), T.RandomErasing(1.0), T.JPEG((30, 60))]
        mixed = [step for pair in zip(steps, colours * 2) for step in pair]
        got = [
            {(index, row["seg"].tobytes()) for index, row in rows(data, {"image": C.Image(transform=s), "seg": C.Mask("mask", fill=fill)}, seed=seed, exact=True)}
            for s in (steps, mixed)
        ]
        assert got[0] == got[1], seed


def test_dtypes_and_channels(data, samples):
    """Byte by byte, whatever the width of a value."""
    steps = [T.RandomResizedCrop(40, (0.1, 1)), T.RandomRotation(40)]
    columns = {
        "image": C.Image(transform=steps), "a": C.Mask("mask", fill=7), "b": C.Mask("mask", fill=7, dtype="int64"),
        "c": C.Mask("mask", fill=7, dtype="float32"), "d": C.Mask("depth", fill=7, dtype="uint16"),
        "e": C.Mask("depth", fill=7, dtype="float64"), "p": C.Mask("places", fill=7, channels=2), "q": C.Mask("layers", fill=7, channels=BOXES),
    }  # fmt: skip
    for index, row in rows(data, columns, seed=3):
        s, places = samples[index], row["p"]
        outside = (places == 7).all(axis=-1)
        x, y = (numpy.where(outside, 0, places[..., axis]).astype(int) for axis in (0, 1))
        for name, field in {"a": "mask", "b": "mask", "c": "mask", "d": "depth", "e": "depth", "q": "layers"}.items():
            gone = outside[..., None] if name == "q" else outside
            assert (row[name] == numpy.where(gone, 7, s[field][y, x])).all(), name
        assert row["b"].dtype == numpy.int64 and row["q"].shape == (40, 40, BOXES)


def test_bilinear_maps(data, samples):
    """Of what is linear, a map is what it is at the place; at the edges of the picture the value on the edge."""
    steps = [T.RandomAffine(30, (0.1, 0.1), (0.7, 1.4), 10, interpolation=BILINEAR), T.Resize((44, 41))]
    columns = {"image": C.Image(transform=steps), "places": C.Mask(interpolation=BILINEAR, channels=2, fill=-1), "g": C.Geometry()}
    for index, row in rows(data, columns, seed=5):
        height, width = samples[index]["mask"].shape
        y, x = numpy.mgrid[0:44, 0:41] + 0.5
        at = numpy.linalg.inv(row["g"]) @ numpy.stack([x.ravel(), y.ravel(), numpy.ones(x.size)])
        at = (at[:2] / at[2]).T.reshape(44, 41, 2)
        inside = ((at >= 0) & (at < [width, height])).all(axis=-1)
        clear = (numpy.minimum(at, [width, height] - at) > 1e-6).all(axis=-1)
        want = numpy.clip(at, 0.5, numpy.array([width, height]) - 0.5)
        assert numpy.abs(row["places"] - want)[inside & clear].max() < 1e-3
        assert (row["places"][~inside & (numpy.minimum(at, [width, height] - at) < -1e-6).any(axis=-1)] == -1).all()


# ---- where the picture went ----


def moved(matrix, points):
    at = matrix @ numpy.concatenate([points.T, numpy.ones((1, len(points)))])
    return (at[:2] / at[2]).T, at[2]


def test_geometry_is_where_pixels_are(data):
    """A mask of places says where each output pixel comes from: there its matrix takes it back."""
    for seed in range(40):
        steps, _ = recipe(numpy.random.RandomState(1000 + seed), NEAREST)
        columns = {"image": C.Image(transform=steps), "places": C.Mask(channels=2, fill=-1), "g": C.Geometry()}
        for _, row in rows(data, columns, seed=seed):
            y, x = numpy.nonzero(row["places"][..., 0] >= 0)
            if len(x) == 0 or reflects(steps):
                continue
            places = row["places"][y, x].astype(float)
            to, weight = moved(row["g"], places)
            assert (weight > 0).all()
            # the nearest pixel of each of up to six steps: half a pixel of each, at its scale
            back, _ = moved(numpy.linalg.inv(row["g"]), numpy.stack([x + 0.5, y + 0.5], axis=-1))
            off = numpy.minimum(numpy.abs(back - places).max(axis=-1), numpy.abs(to - [*zip(x + 0.5, y + 0.5)]).max(axis=-1))
            assert numpy.median(off) <= 1.2, seed
            box = row["g.box"]
            assert (places >= box[:2] - 2).all() and (places <= box[2:] + 2).all(), seed


def reflects(steps):
    """Then the picture is to be seen several times."""
    return any(isinstance(step, T.Pad) and step.padding_mode != "constant" for step in steps)


def upright(random):
    size = int(random.randint(30, 90))
    return [
        [T.RandomHorizontalFlip(0.5), T.RandomResizedCrop(size, (0.05, 1)), T.RandomVerticalFlip(0.5)],
        [T.Pad(int(random.randint(0, 40))), T.RandomCrop(size, pad_if_needed=True), T.Resize((61, 33))],
        [T.CenterCrop(int(random.randint(20, 50))), T.Pad(15), T.Resize((77, 90)), T.RandomCrop(40)],
        [T.Resize(70), T.CenterCrop(int(random.randint(30, 200)))],
    ][random.randint(4)]


def test_boxes_under_crops(data, samples):
    """Upright, a box is what its layer of pixels shows, but for what is thinner than a pixel of either picture."""
    kept = 0
    for seed in range(30):
        steps = upright(numpy.random.RandomState(seed))
        columns = {
            "image": C.Image(transform=steps), "layers": C.Mask(channels=BOXES), "boxes": C.Boxes(length=BOXES),
            "labels": C.Ragged(length=BOXES, follows="boxes"), "g": C.Geometry(),
        }  # fmt: skip
        for index, row in rows(data, columns, seed=seed):
            assert len(row["boxes"]) == len(row["labels"])
            by_label = dict(zip(row["labels"].tolist(), row["boxes"]))
            scale = numpy.abs(numpy.diag(row["g"])[:2])
            for number in range(BOXES):
                y, x = numpy.nonzero(row["layers"][..., number])
                box = by_label.get(number)
                if box is None:
                    # nothing to be seen, or less than a pixel of the output
                    assert len(x) == 0 or numpy.ptp(x) < 1 + 2 * scale[0] or numpy.ptp(y) < 1 + 2 * scale[1]
                    continue
                kept += 1
                assert (box[2:] - box[:2] >= 1).all()
                if len(x):
                    hull = numpy.array([x.min(), y.min(), x.max() + 1, y.max() + 1])
                    assert (numpy.abs(box - hull) <= 1 + numpy.tile(scale, 2)).all(), (seed, index, number)
            if not any(isinstance(step, T.Pad) for step in steps):  # the shown part of the picture fills the output
                want = numpy.clip(expected(row["g"], samples[index]["boxes"]), 0, numpy.tile(row["image"].shape[1::-1], 2))
                for number, box in by_label.items():
                    assert numpy.abs(want[number] - box).max() < 2e-3
    assert kept > 300


def expected(matrix, boxes):
    a, _ = moved(matrix, boxes[:, :2].astype(float))
    b, _ = moved(matrix, boxes[:, 2:].astype(float))
    return numpy.concatenate([numpy.minimum(a, b), numpy.maximum(a, b)], axis=1)


def test_boxes_under_warps(data, samples):
    """A box holds all that is to be seen of what was in it, and lies in the box about its moved corners."""
    kept = 0
    for seed in range(30):
        steps, _ = recipe(numpy.random.RandomState(2000 + seed), NEAREST)
        if reflects(steps):
            continue
        columns = {
            "image": C.Image(transform=steps), "layers": C.Mask(channels=BOXES), "boxes": C.Boxes(length=BOXES, min_size=0, min_area=0),
            "labels": C.Ragged(length=BOXES, follows="boxes"), "g": C.Geometry(),
        }  # fmt: skip
        for index, row in rows(data, columns, seed=seed, exact=True):
            by_label = dict(zip(row["labels"].tolist(), row["boxes"].astype(float)))
            for number, stored in enumerate(samples[index]["boxes"].astype(float)):
                x0, y0, x1, y1 = stored
                corners, weights = moved(row["g"], numpy.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]))
                y, x = numpy.nonzero(row["layers"][..., number])
                box = by_label.get(number)
                if box is None:
                    continue
                kept += 1
                slack = 1 + 4 * max(1, numpy.abs(row["g"][:2, :2]).max())
                if (weights > 0).all():
                    assert (box[:2] >= corners.min(axis=0) - 1e-3).all() and (box[2:] <= corners.max(axis=0) + 1e-3).all()
                if len(x):
                    assert (box[:2] <= [x.min() + slack, y.min() + slack]).all(), (seed, index, number)
                    assert (box[2:] >= [x.max() + 1 - slack, y.max() + 1 - slack]).all(), (seed, index, number)
                assert (box[:2] >= 0).all() and (box[2:] <= [53, 37]).all()
    assert kept > 300


def test_what_a_turn_leaves(tmp_path):
    """By hand: a quarter turn of 40 x 20, and a crop before it, which stays cut off."""
    with sluice.Writer(tmp_path / "d", {"image": "image", "boxes": ("tensor", "float32", (0, 4))}) as writer:
        writer.add(image=png(numpy.zeros((20, 40, 3), "uint8")), boxes=numpy.array([[10, 5, 30, 15], [0, 0, 40, 20]], "float32"))
    turn = T.RandomRotation((90, 90))
    boxes = C.Boxes(length=4)
    (_, row), = rows(tmp_path / "d", {"image": C.Image(transform=[turn, T.Resize((20, 40))]), "boxes": boxes})
    assert numpy.allclose(row["boxes"], [[15, 0, 25, 20], [10, 0, 30, 20]], atol=1e-4)
    steps = [T.CenterCrop(10), T.Pad(10), turn, T.Resize((30, 30))]
    (_, row), = rows(tmp_path / "d", {"image": C.Image(transform=steps), "boxes": boxes})
    assert numpy.allclose(row["boxes"], [[10, 10, 20, 20]] * 2, atol=1e-4)


# ---- rules ----


def test_formats(data, samples):
    """One box in every format, in and out, in pixels and in shares."""
    steps = [T.RandomResizedCrop(48, (0.3, 1)), T.RandomHorizontalFlip()]
    columns = {"image": C.Image(transform=steps), "g": C.Geometry(), "boxes": C.Boxes(length=BOXES)}
    columns |= {f: C.Boxes("boxes", length=BOXES, out_format=f) for f in ("xywh", "cxcywh")}
    columns |= {"shares": C.Boxes("boxes", length=BOXES, out_format="cxcywh", out_relative=True, padded=True)}
    for _, row in rows(data, columns):
        box = row["boxes"]
        size = box[:, 2:] - box[:, :2]
        assert numpy.allclose(row["xywh"], numpy.concatenate([box[:, :2], size], axis=1))
        center = numpy.concatenate([(box[:, :2] + box[:, 2:]) / 2, size], axis=1)
        assert numpy.allclose(row["cxcywh"], center)
        assert row["shares"].shape == (BOXES, 4) and row["shares.lengths"] == len(box)
        assert numpy.allclose(row["shares"][: len(box)] * 48, center, atol=1e-4) and (row["shares"][len(box) :] == 0).all()


def test_stored_formats(tmp_path, samples):
    fields = {"image": "image", **{name: ("tensor", "float64", (0, 4)) for name in ("xyxy", "xywh", "cxcywh", "yolo")}}
    with sluice.Writer(tmp_path / "d", fields) as writer:
        for s in samples:
            a, b = s["boxes"][:, :2].astype(float), s["boxes"][:, 2:].astype(float)
            center = numpy.concatenate([(a + b) / 2, b - a], axis=1)
            writer.add(
                image=png(s["image"]), xyxy=numpy.concatenate([a, b], axis=1), xywh=numpy.concatenate([a, b - a], axis=1),
                cxcywh=center, yolo=center / numpy.tile(s["mask"].shape[::-1], 2),
            )  # fmt: skip
    columns = {"image": C.Image(transform=T.RandomResizedCrop(64))}
    columns |= {f: C.Boxes(length=BOXES, format=f.upper()) for f in ("xyxy", "xywh", "cxcywh")}
    columns |= {"yolo": C.Boxes(length=BOXES, format="cxcywh", relative=True)}
    for _, row in rows(tmp_path / "d", columns):
        for name in ("xywh", "cxcywh", "yolo"):
            assert len(row[name]) == len(row["xyxy"]) and numpy.allclose(row[name], row["xyxy"], atol=1e-3)


def test_which_are_kept(data):
    """By hand, from all that are moved."""
    steps = [T.RandomResizedCrop(64, (0.02, 0.5))]
    every = C.Boxes("boxes", length=BOXES, min_size=0, min_area=0)
    rules = {
        "small": {"min_size": 12}, "area": {"min_area": 300}, "aspect": {"max_aspect": 1.5}, "seen": {"min_visibility": 0.4},
        "yolo": {"keep": "yolo"}, "coco": {"keep": "coco-visible"},
    }  # fmt: skip
    columns = {"image": C.Image(transform=steps), "every": every, "numbers": C.Ragged("labels", length=BOXES, follows="every"), "g": C.Geometry()}
    for name, rule in rules.items():
        columns[name] = C.Boxes("boxes", length=BOXES, **rule)
        columns[name + ".labels"] = C.Padded("labels", length=BOXES, follows=name)
    left = dict.fromkeys(rules, 0)
    for index, row in rows(data, columns, epochs=4):
        whole = expected(row["g"], sample(index)["boxes"])[row["numbers"]]
        size = row["every"][:, 2:].astype(float) - row["every"][:, :2]
        area, long = size.prod(axis=1), size.max(axis=1) / size.min(axis=1)
        part = area / (whole[:, 2:] - whole[:, :2]).prod(axis=1) + 1e-6  # a row's numbers are rounded, the share is not
        usual = (size >= 1).all(axis=1) & (area >= 1)
        want = {
            "small": (size >= 12).all(axis=1), "area": usual & (area >= 300), "aspect": usual & (long <= 1.5), "seen": usual & (part >= 0.4),
            "yolo": (size >= 2).all(axis=1) & (area >= 4) & (part >= 0.1) & (long <= 100), "coco": usual & (part >= 0.3),
        }  # fmt: skip
        for name, keeps in want.items():
            assert (row[name] == row["every"][keeps]).all(), name
            labels = row[name + ".labels"]
            assert row[name + ".labels.lengths"] == keeps.sum()
            assert labels.tolist() == row["numbers"][keeps].tolist() + [0] * (BOXES - keeps.sum())
            left[name] += int((~keeps).sum())
    assert all(left.values())


def test_at_least_one(data, samples):
    """Draws that leave no box are drawn again: the same at every run, and those that leave one stay."""
    steps = [T.RandomResizedCrop(32, (0.01, 0.05))]
    rule = {"length": BOXES, "min_visibility": 0.5}
    once = {"image": C.Image(transform=steps), "boxes": C.Boxes(**rule), "g": C.Geometry()}
    again = {"image": C.Image(transform=steps), "boxes": C.Boxes(**rule, at_least_one=True), "g": C.Geometry()}
    empty = redrawn = 0
    first, second, third = (list(rows(data, columns, epochs=6, num_workers=n)) for columns, n in ((once, 1), (again, 1), (again, 4)))
    for (index, a), (other, b), (_, c) in zip(first, second, third):
        assert index == other and (b["image"] == c["image"]).all() and (b["boxes"] == c["boxes"]).all()
        empty += len(a["boxes"]) == 0
        redrawn += len(a["boxes"]) == 0 and len(b["boxes"]) > 0
        if len(a["boxes"]):
            assert (a["image"] == b["image"]).all() and (a["g"] == b["g"]).all()
    assert empty > 20 and redrawn > empty // 2


def test_crops_by_overlap(data, samples):
    """RandomIoUCrop knows the boxes: of an option the largest overlap with a box whose centre is inside is at least that."""
    columns = {"image": C.Image(transform=[T.RandomIoUCrop(sampler_options=[0.4]), T.Resize((64, 64), interpolation=NEAREST)]), "g": C.Geometry()}
    alone = [row["g.box"].tolist() for _, row in rows(data, columns)]
    sizes = [row["g.size"].tolist() for _, row in rows(data, columns)]
    assert alone == [[0, 0, width, height] for height, width in sizes]  # without boxes it leaves pictures as they are
    columns |= {"boxes": C.Boxes(length=BOXES), "seg": C.Mask("mask")}
    cropped = 0
    for index, row in rows(data, columns, epochs=3):
        crop, boxes = row["g.box"].astype(float), samples[index]["boxes"].astype(float)
        height, width = row["g.size"]
        assert (row["seg"] == row["image"][:, :, 0]).all()
        if crop.tolist() == [0, 0, width, height]:
            continue
        cropped += 1
        center = (boxes[:, :2] + boxes[:, 2:]) / 2
        inside = ((center > crop[:2]) & (center < crop[2:])).all(axis=1)
        both = (numpy.minimum(boxes[:, 2:], crop[2:]) - numpy.maximum(boxes[:, :2], crop[:2])).clip(0).prod(axis=1)
        union = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) + (crop[2:] - crop[:2]).prod() - both
        assert (both / union)[inside].max() >= 0.4 - 1e-6
    assert cropped > 20


def test_points(data, samples):
    """Each goes where the matrix takes it; what is not to be seen has visibility 0, and is 0."""
    mirror = [1, 0, 3, 2]
    seen = hidden = flipped = 0
    for seed in range(40):
        steps, _ = recipe(numpy.random.RandomState(3000 + seed), NEAREST)
        steps = [T.RandomHorizontalFlip(), *steps]
        columns = {
            "image": C.Image(transform=steps), "points": C.Points(length=BOXES), "places": C.Mask(channels=2, fill=-1),
            "hands": C.Points("points", length=BOXES, mirror=mirror, padded=True), "two": C.Points("points", length=BOXES, point_values=2), "g": C.Geometry(),
        }  # fmt: skip
        for index, row in rows(data, columns, seed=seed):
            stored = samples[index]["points"].reshape(BOXES, 4, 3).astype(float)
            to, weights = moved(row["g"], stored[:, :, :2].reshape(-1, 2))
            to = to.reshape(BOXES, 4, 2)
            made = row["points"].reshape(BOXES, 4, 3)
            shown = made[:, :, 2] > 0
            assert numpy.abs(made[:, :, :2] - to)[shown].max(initial=0) < 1e-2
            assert (made[shown][:, :2] >= 0).all() and (made[shown][:, :2] < [53, 37]).all()
            assert (made[:, :, 2][shown] == stored[:, :, 2][shown]).all()
            gone = ~shown & (stored[:, :, 2] > 0)
            assert (made[gone] == 0).all()
            if not any(isinstance(step, (T.Pad, T.RandomApply, T.RandomCrop, T.RandomAffine, T.RandomRotation, T.RandomPerspective, T.CenterCrop)) for step in steps):
                outside = (to < 0).any(axis=-1) | (to >= [53, 37]).any(axis=-1)  # nothing but crops of the picture itself
                close = (numpy.abs(to) < 1e-2).any(axis=-1) | (numpy.abs(to - [53, 37]) < 1e-2).any(axis=-1)
                assert (gone == (outside & (stored[:, :, 2] > 0)))[~close].all()
            mirrored = numpy.linalg.det(row["g"][:2, :2]) < 0
            if not any(isinstance(step, T.RandomPerspective) for step in steps):
                assert (row["hands"].reshape(BOXES, 4, 3) == (made[:, mirror] if mirrored else made)).all()
            flipped, seen, hidden = flipped + mirrored, seen + shown.sum(), hidden + gone.sum()
    assert seen > 500 and hidden > 500 and flipped > 50


def test_points_of_boxes(data, samples):
    steps = [T.RandomResizedCrop(64, (0.1, 0.5))]
    columns = {
        "image": C.Image(transform=steps), "boxes": C.Boxes(length=BOXES, min_visibility=0.5), "all": C.Points("points", length=BOXES),
        "labels": C.Ragged(length=BOXES, follows="boxes"), "points": C.Points(length=BOXES, follows="boxes"),
    }  # fmt: skip
    fewer = 0
    for _, row in rows(data, columns):
        assert (row["points"] == row["all"][row["labels"]]).all() and len(row["points"]) == len(row["boxes"])
        fewer += len(row["points"]) < BOXES
    assert fewer


def test_fewer_than_there_are(data):
    """A column that is shorter than its boxes' has the first of them, or a bad sample."""
    columns = {"image": C.Image(transform=[T.Resize((64, 64))]), "boxes": C.Boxes(length=BOXES), "all": C.Ragged("labels", length=BOXES, follows="boxes")}
    short = {"labels": C.Ragged(length=2, follows="boxes", too_long="truncate"), "points": C.Points(length=2, follows="boxes", too_long="truncate")}
    seen = 0
    for _, row in rows(data, columns | short):
        assert row["labels"].tolist() == row["all"].tolist()[:2] and len(row["points"]) == min(2, len(row["all"]))
        seen += len(row["all"]) > 2
    assert seen
    with pytest.raises(sluice.Error, match='"labels" has a length of ., the column holds 2'):
        list(rows(data, columns | {"labels": C.Ragged(length=2, follows="boxes")}))


def test_two_groups(data):
    """Columns of two pictures of one field go by their own; names say which."""
    columns = {
        "a": C.Image("image", transform=[T.RandomResizedCrop(32, interpolation=NEAREST)]), "a.mask": C.Mask("mask", follows="a"),
        "b": C.Image("image", transform=[T.RandomResizedCrop(48, interpolation=NEAREST)]), "b.mask": C.Mask("mask", follows="b"),
    }  # fmt: skip
    for _, row in rows(data, columns):
        assert (row["a"][:, :, 0] == row["a.mask"]).all() and (row["b"][:, :, 0] == row["b.mask"]).all()


def followers(steps):
    return {
        "image": C.Image(transform=steps), "seg": C.Mask("mask", fill=255), "boxes": C.Boxes(length=BOXES, at_least_one=True),
        "labels": C.Padded(length=BOXES, follows="boxes"), "points": C.Points(length=BOXES, follows="boxes"), "g": C.Geometry(),
    }  # fmt: skip


def same(left, right):
    return len(left) == len(right) and all(
        i == k and a.keys() == b.keys() and all((a[name] == b[name]).all() for name in a) for (i, a), (k, b) in zip(left, right)
    )


def test_the_same_whoever_makes_it(data):
    """By any number of workers, kept in memory or read again, and from a state on."""
    steps = [T.RandomIoUCrop(), T.RandomAffine(20), T.RandomResizedCrop(40, (0.1, 1)), T.RandomHorizontalFlip()]
    whole = list(rows(data, followers(steps), epochs=3, num_workers=1, resident_bytes=1))
    assert same(whole, list(rows(data, followers(steps), epochs=3, num_workers=4)))
    parts = [list(rows(data, followers(steps), rank=rank, world_size=2, num_workers=2)) for rank in (0, 1)]
    first = {index: row for index, row in whole[:COUNT]}
    assert sorted(index for part in parts for index, _ in part) == sorted(first)
    for index, row in parts[0] + parts[1]:
        assert all((row[name] == first[index][name]).all() for name in row)
    with sluice.Loader(data, batch_size=5, last_batch="short", columns=followers(steps)) as loader:
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
    with sluice.Loader(data, batch_size=5, last_batch="short", columns=followers(steps)) as loader:
        loader.load_state_dict(state)
        rest = [batch["g"].numpy().copy() for batch in loader]
    assert (numpy.concatenate(rest) == numpy.stack([row["g"] for _, row in whole[5:COUNT]])).all()


def test_mixed_pictures_leave_what_follows(data):
    steps = [T.RandomResizedCrop(32), T.RandomHorizontalFlip()]
    plain, mixed = (
        {row["index"].item(): (row["seg"].tobytes(), row["boxes"].tobytes()) for _, row in rows(data, followers(s), drop_last=True)}
        for s in (steps, [*steps, T.MixUp(alpha=1.0, num_classes=None)])
    )
    assert plain == mixed


@pytest.mark.parametrize("policy", [T.RandAugment(2, 9), T.TrivialAugmentWide(), T.AutoAugment()])
def test_policies(data, policy):
    """torchvision's take the nearest pixel, so what they move is the mask's, where they leave colours alone."""
    steps = [T.Resize((60, 60), interpolation=NEAREST), policy]
    turned = 0
    for seed in range(6):
        columns = {"image": C.Image(transform=steps), "seg": C.Mask("mask"), "g": C.Geometry(), "places": C.Mask(channels=2, fill=-1)}
        for index, row in rows(data, columns, seed=seed, exact=True):
            turned += bool(numpy.abs(row["g"][:2, :2] - numpy.diag(numpy.diag(row["g"])[:2])).max() > 1e-6)
            y, x = numpy.nonzero(row["places"][..., 0] >= 0)
            to, _ = moved(row["g"], row["places"][y, x].astype(float))
            assert len(x) == 0 or numpy.median(numpy.abs(to - [*zip(x + 0.5, y + 0.5)]).max(axis=-1)) < 2
            stored = sample(index)["mask"]
            at = row["places"][y, x].astype(int)
            assert (row["seg"][y, x] == stored[at[:, 1], at[:, 0]]).all()
    assert turned > 5


def test_aug_mix_moves_nothing(data, samples):
    columns = {"image": C.Image(transform=[T.Resize((60, 60)), T.AugMix()]), "seg": C.Mask("mask"), "boxes": C.Boxes(length=BOXES), "g": C.Geometry()}
    for index, row in rows(data, columns, exact=True):
        s = samples[index]
        assert (row["seg"] == numpy.asarray(Image.fromarray(s["mask"]).resize((60, 60), 0))).all()
        assert (row["g.scale"] == numpy.array([60 / s["mask"].shape[1], 60 / s["mask"].shape[0]], "float32")).all()


def test_upright_by_exif(tmp_path):
    """Coordinates are of the picture as its transform gets it."""
    made = io.BytesIO()
    exif = Image.Exif()
    exif[0x112] = 6  # turned by a quarter
    Image.new("RGB", (40, 20)).save(made, "JPEG", exif=exif)
    with sluice.Writer(tmp_path / "d", {"image": "image", "mask": "image"}) as writer:
        writer.add(image=made.getvalue(), mask=png(numpy.zeros((40, 20), "uint8")))
    columns = {"image": C.Image(transform=T.Resize((8, 8))), "seg": C.Mask("mask"), "g": C.Geometry()}
    (_, row), = rows(tmp_path / "d", columns, exif=True)
    assert row["g.size"].tolist() == [40, 20]
    with pytest.raises(sluice.Error, match="40 x 20"):
        list(rows(tmp_path / "d", columns))


# ---- what is refused ----

BAD = {
    "mask": (png(numpy.zeros((10, 11), "uint8")), '"mask" is 10 x 11 .* and "image", whose pixels it is for, 10 x 10'),
    "boxes": (numpy.array([[1, 1, 5, 5], [1, numpy.nan, 5, 5]], "float32"), 'box 1 of "boxes" is not of finite numbers'),
    "boxes ": (numpy.array([[4, 1, 2, 5]], "float32"), 'box 0 of "boxes" has its right or lower edge before the other'),
    "boxes  ": (numpy.zeros((4, 4), "float32"), '"boxes" has a length of 4, the column holds 3'),
    "labels": (numpy.zeros(2, "int64"), '"labels" has a length of 2, and there are 1 boxes'),
    "points": (numpy.array([[1, numpy.inf, 2]], "float32"), 'number 1 of "points" is not finite'),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_samples(tmp_path, name):
    """Each is one bad sample, named; the next one is as good as ever."""
    good = {
        "image": png(numpy.zeros((10, 10, 3), "uint8")), "mask": png(numpy.zeros((10, 10), "uint8")), "boxes": numpy.array([[1, 1, 5, 5]], "float32"),
        "labels": numpy.zeros(1, "int64"), "points": numpy.zeros((1, 3), "float32"),
    }  # fmt: skip
    fields = {
        "image": "image", "mask": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,)),
        "points": ("tensor", "float32", (0, 3)),
    }  # fmt: skip
    with sluice.Writer(tmp_path / "d", fields) as writer:
        writer.add(**good)
        writer.add(**good | {name.strip(): BAD[name][0]})
    columns = {
        "image": C.Image(transform=T.Resize((8, 8))), "seg": C.Mask("mask"), "boxes": C.Boxes(length=3), "labels": C.Ragged(length=3, follows="boxes"),
        "points": C.Points(length=3),
    }  # fmt: skip
    with pytest.raises(sluice.Error, match=BAD[name][1]) as caught:
        list(rows(tmp_path / "d", columns, shuffle=False))
    assert name.strip() in str(caught.value) and "sample 1" in str(caught.value)
    first, second = [row for _, row in rows(tmp_path / "d", columns, shuffle=False, on_bad_sample="mask")]
    assert first["mask"] == 1 and len(first["boxes"]) == 1
    assert second["mask"] == 0 and len(second["boxes"]) == 0 and not second["seg"].any()


def test_missing(tmp_path):
    """A sample without a picture has nothing that follows one; one without boxes has none."""
    fields = {"image": "image", "mask": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    image, mask = png(numpy.zeros((10, 10, 3), "uint8")), png(numpy.full((10, 10), 5, "uint8"))
    boxes, labels = numpy.array([[1, 1, 5, 5]], "float32"), numpy.array([3])
    with sluice.Writer(tmp_path / "d", fields) as writer:
        writer.add(image=image, mask=mask, boxes=boxes, labels=labels)
        writer.add(mask=mask, boxes=boxes, labels=labels)
        writer.add(image=image, mask=mask)
    blank = {"missing": "blank"}
    columns = {
        "image": C.Image(transform=T.Resize((8, 8)), **blank), "seg": C.Mask("mask", **blank), "boxes": C.Boxes(length=2, **blank),
        "labels": C.Ragged(length=2, follows="boxes", **blank), "g": C.Geometry(),
    }  # fmt: skip
    got = [row for _, row in rows(tmp_path / "d", columns, shuffle=False)]
    assert [len(row["boxes"]) for row in got] == [1, 0, 0] and [len(row["labels"]) for row in got] == [1, 0, 0]
    assert [int(row["seg"].max()) for row in got] == [5, 0, 5] and [row["g"].any() for row in got] == [True, False, True]


def image_column(name="image"):
    return {name: C.Image("image", transform=T.Resize((8, 8)))}


REFUSED = [
    ({"seg": C.Mask("mask")}, "it follows a picture, and there is no image column before it"),
    ({"seg": C.Mask("mask"), **image_column()}, "no image column before it"),
    ({**image_column(), **image_column("b"), "seg": C.Mask("mask")}, "there are several pictures before it: say which it follows"),
    ({**image_column(), "seg": C.Mask("mask", follows="picture")}, 'it follows "picture", and there is no such column before it'),
    ({**image_column(), "boxes": C.Boxes(length=3), "seg": C.Mask("mask", follows="boxes")}, 'follows "boxes", which is no column of pictures'),
    ({**image_column(), "labels": C.Ragged(length=3, follows="image")}, "it can follow a column of boxes only"),
    ({**image_column(), "boxes": C.Boxes("labels", length=3)}, r"boxes are a tensor \[any, 4\]"),
    ({**image_column(), "seg": C.Mask("mask", fill=256)}, "fill 256 is no u8"),
    ({**image_column(), "seg": C.Mask("mask", fill=0.5)}, "fill 0.5 is no u8"),
    ({**image_column(), "seg": C.Mask("mask", interpolation="bilinear")}, "with bilinear interpolation its dtype is f32"),
    ({**image_column(), "seg": C.Mask("layers")}, "a mask of 1 channel is a tensor height x width"),
    ({**image_column(), "seg": C.Mask("places", channels=3)}, "a mask of 3 channels is a tensor height x width x channels"),
    ({**image_column(), "p": C.Points("points", length=3, point_values=2, mirror=[1, 0])}, 'mirror has 2 numbers, and a row of "points" 6 points'),
    ({**image_column(), "p": C.Points("points", length=3, mirror=[1, 1])}, "mirror must be a permutation"),
    ({**image_column(), "p": C.Points("points", length=3, mirror=list(range(300)))}, "mirror must be a permutation"),
]  # fmt: skip


@pytest.mark.parametrize("columns, text", REFUSED)
def test_refused_at_open(data, columns, text):
    with pytest.raises(sluice.Error, match=text):
        sluice.Loader(data, columns=columns)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: C.Boxes(length=3, format="ltrb"), "format='ltrb'"),
        (lambda: C.Boxes(length=3, keep="yolov8"), "keep='yolov8': expected one of 'torchvision', .*; did you mean 'yolo'"),
        (lambda: C.Mask(fill="255"), "fill='255'"),
        (lambda: C.Boxes(length=3, min_size="a"), "min_size='a'"),
        (lambda: C.Points(length=3, mirror="ab"), "mirror='ab'"),
    ],
)
def test_refused_when_made(make, text):
    with pytest.raises((ValueError, TypeError), match=text):
        make()


@pytest.mark.parametrize("option", [{"min_visibility": 2}, {"min_visibility": float("nan")}, {"max_aspect": 0.5}, {"min_size": -1}])
def test_ranges(data, option):
    with pytest.raises(sluice.Error, match=f"{next(iter(option))}.* is .*, out of its range"):
        sluice.Loader(data, columns={**image_column(), "boxes": C.Boxes(length=3, **option)})

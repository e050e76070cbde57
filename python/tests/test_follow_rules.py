# SPDX-License-Identifier: Apache-2.0
"""Boxes follow an image, compared with brute force over pixels; box formats, and which boxes are kept."""
import numpy
from following import BOXES, NEAREST, data, moved, png, recipe, reflects, rows, sample, samples  # noqa: F401

import sluice
from sluice import columns as C
from sluice import transforms as T


def upright(random):
    size = int(random.randint(30, 90))
    return [
        [T.RandomHorizontalFlip(0.5), T.RandomResizedCrop(size, (0.05, 1)), T.RandomVerticalFlip(0.5)],
        [T.Pad(int(random.randint(0, 40))), T.RandomCrop(size, pad_if_needed=True), T.Resize((61, 33))],
        [T.CenterCrop(int(random.randint(20, 50))), T.Pad(15), T.Resize((77, 90)), T.RandomCrop(40)],
        [T.Resize(70), T.CenterCrop(int(random.randint(30, 200)))],
    ][random.randint(4)]


def test_boxes_under_crops(data, samples):
    """Without rotation, a box is the visible part of its layer, except parts thinner than a pixel of either image."""
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
                    # nothing is visible, or less than a pixel of the output
                    assert len(x) == 0 or numpy.ptp(x) < 1 + 2 * scale[0] or numpy.ptp(y) < 1 + 2 * scale[1]
                    continue
                kept += 1
                assert (box[2:] - box[:2] >= 1).all()
                if len(x):
                    hull = numpy.array([x.min(), y.min(), x.max() + 1, y.max() + 1])
                    assert (numpy.abs(box - hull) <= 1 + numpy.tile(scale, 2)).all(), (seed, index, number)
            if not any(isinstance(step, T.Pad) for step in steps):  # the visible part of the image fills the output
                want = numpy.clip(expected(row["g"], samples[index]["boxes"]), 0, numpy.tile(row["image"].shape[1::-1], 2))
                for number, box in by_label.items():
                    assert numpy.abs(want[number] - box).max() < 2e-3
    assert kept > 300


def expected(matrix, boxes):
    a, _ = moved(matrix, boxes[:, :2].astype(float))
    b, _ = moved(matrix, boxes[:, 2:].astype(float))
    return numpy.concatenate([numpy.minimum(a, b), numpy.maximum(a, b)], axis=1)


def test_boxes_under_warps(data, samples):
    """A box contains the whole visible part of its content, and lies in the box around its moved corners."""
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
    """By hand: a quarter turn of 40 x 20, after a crop, which stays cut off."""
    with sluice.Writer(tmp_path / "d", {"image": "image", "boxes": ("tensor", "float32", (0, 4))}) as writer:
        writer.add(image=png(numpy.zeros((20, 40, 3), "uint8")), boxes=numpy.array([[10, 5, 30, 15], [0, 0, 40, 20]], "float32"))
    turn = T.RandomRotation((90, 90))
    boxes = C.Boxes(length=4)
    (_, row), = rows(tmp_path / "d", {"image": C.Image(transform=[turn, T.Resize((20, 40))]), "boxes": boxes})
    assert numpy.allclose(row["boxes"], [[15, 0, 25, 20], [10, 0, 30, 20]], atol=1e-4)
    steps = [T.CenterCrop(10), T.Pad(10), turn, T.Resize((30, 30))]
    (_, row), = rows(tmp_path / "d", {"image": C.Image(transform=steps), "boxes": boxes})
    assert numpy.allclose(row["boxes"], [[10, 10, 20, 20]] * 2, atol=1e-4)


def test_formats(data, samples):
    """One box in every format, in and out, in pixels and in fractions."""
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
    """Computed by hand, from all moved boxes."""
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
        part = area / (whole[:, 2:] - whole[:, :2]).prod(axis=1) + 1e-6  # a row's numbers are rounded, the fraction is not
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
    """Draws that leave no box are drawn again: reproducibly, and draws that leave one do not change."""
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
    """RandomIoUCrop knows the boxes: the largest overlap with a box whose centre is inside is at least the chosen option."""
    columns = {"image": C.Image(transform=[T.RandomIoUCrop(sampler_options=[0.4]), T.Resize((64, 64), interpolation=NEAREST)]), "g": C.Geometry()}
    alone = [row["g.box"].tolist() for _, row in rows(data, columns)]
    sizes = [row["g.size"].tolist() for _, row in rows(data, columns)]
    assert alone == [[0, 0, width, height] for height, width in sizes]  # without boxes it leaves images unchanged
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

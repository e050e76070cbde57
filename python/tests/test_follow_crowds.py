# SPDX-License-Identifier: Apache-2.0
"""Crowd boxes are dropped: the result equals that of samples that never had them, in every step that uses boxes."""
import json

import numpy
import pytest
from following import BOXES, COUNT, png, rows, sample

import sluice
from sluice import columns as C
from sluice import transforms as T

FIELDS = {
    "image": "image", "mask": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,)),
    "points": ("tensor", "float32", (0, 12)), "shapes": "text", "iscrowd": ("tensor", "uint8", (0,)), "wide": ("tensor", "int64", (0,)),
}  # fmt: skip


def write(path, crowds_of, keeps):
    with sluice.Writer(path, FIELDS) as writer:
        for number in range(COUNT):
            s = sample(number)
            shapes = [[[b[0], b[1], b[2], b[1], b[2], b[3]]] for b in s["boxes"].tolist()]
            crowds = crowds_of(number)
            keep = numpy.flatnonzero(crowds == 0) if not keeps else numpy.arange(BOXES)
            writer.add(
                image=png(s["image"]), mask=png(s["mask"]), boxes=s["boxes"][keep], labels=s["labels"][keep], points=s["points"][keep],
                shapes=json.dumps([shapes[i] for i in keep]), iscrowd=crowds[keep].astype("uint8"), wide=crowds[keep].astype("int64") * -(2**40),
            )  # fmt: skip
    return path


def crowds_of(number):
    """Marks crowds; in some samples all boxes are crowds."""
    return (numpy.random.RandomState(number).rand(BOXES) < 0.4 if number % 4 else numpy.ones(BOXES)).astype(int)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    path = tmp_path_factory.mktemp("crowds")
    return write(path / "with", crowds_of, True), write(path / "without", crowds_of, False)


def columns(crowds, steps, shapes, **options):
    return {
        "image": C.Image(transform=steps), "seg": C.Mask("mask"), "boxes": C.Boxes(length=BOXES, shapes=shapes, crowds=crowds, **options),
        "labels": C.Ragged(length=BOXES, follows="boxes"), "padded": C.Padded("labels", length=BOXES, follows="boxes"),
        "points": C.Points(length=BOXES, follows="boxes"), "masks": C.Instances("shapes", length=BOXES, follows="boxes"),
    }  # fmt: skip


RECIPES = {
    "looks": [T.RandomIoUCrop(), T.RandomAffine(20), T.Resize((60, 50))],
    "cut": [T.RandomCrop(30, pad_if_needed=True), T.RandomHorizontalFlip()],
}


@pytest.mark.parametrize("crowds", ["iscrowd", "wide"])
@pytest.mark.parametrize("at_least_one", [False, True])
@pytest.mark.parametrize("shapes", [None, "shapes"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_as_if_they_were_not_there(both, recipe, shapes, at_least_one, crowds):
    given = columns(crowds, RECIPES[recipe], shapes, at_least_one=at_least_one, min_area=30)
    wanted = columns(None, RECIPES[recipe], shapes, at_least_one=at_least_one, min_area=30)
    counts = []
    for (index, row), (other, want) in zip(rows(both[0], given, 3), rows(both[1], wanted, 3), strict=True):
        assert index == other
        for name in row:
            assert row[name].shape == want[name].shape and (row[name] == want[name]).all(), name
        counts.append(len(row["boxes"]))
    assert len(counts) == 3 * COUNT and counts.count(0) >= 3 * COUNT / 4 and max(counts) > 3


def test_boxes_that_may_have_no_crowds(tmp_path):
    """With missing="blank", a sample without the field has no crowds."""
    fields = {name: FIELDS[name] for name in ("image", "boxes", "iscrowd")}
    with sluice.Writer(tmp_path / "packed", fields) as writer:
        for number in range(4):
            s = sample(number)
            writer.add(image=png(s["image"]), boxes=s["boxes"], **({} if number % 2 else {"iscrowd": numpy.ones(BOXES, "uint8")}))
    columns = {"image": C.Image(transform=T.Resize((60, 60))), "boxes": C.Boxes(length=BOXES, crowds="iscrowd", missing="blank", min_size=0, min_area=0)}
    assert [len(row["boxes"]) for _, row in rows(tmp_path / "packed", columns)] == [0, BOXES, 0, BOXES]


def test_they_are_not_pasted(both):
    steps = [T.Resize((60, 50)), T.CopyPaste(share=1.0)]
    made = columns("iscrowd", steps, "shapes") | {"partner": C.Padded("iscrowd", length=BOXES, partner=1)}
    for name in ("labels", "padded", "points", "masks"):
        made.pop(name)
    made |= {"boxes": C.Boxes(length=2 * BOXES, shapes="shapes", crowds="iscrowd"), "labels": C.Ragged("labels", length=2 * BOXES, follows="boxes")}
    pasted = 0
    for index, row in rows(both[0], made, 2, shuffle=True):
        crowds = crowds_of(index)
        allowed = {int(i) for i in numpy.flatnonzero(row["partner"][:BOXES] == 0)}
        labels = row["labels"].tolist()
        own = [i for i in range(len(labels) + 1) if sorted(set(labels[:i])) == labels[:i] and all(crowds[label] == 0 for label in labels[:i])]
        assert any(set(labels[i:]) <= allowed for i in own)
        assert len(labels) <= (crowds == 0).sum() + len(allowed)
        pasted += len(labels) > (crowds == 0).sum()
    assert pasted > COUNT / 2


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [("iscrowd", numpy.zeros(BOXES - 1, "uint8"), '"iscrowd" has length 8, but there are 9 boxes'), ("iscrowd", None, 'no "iscrowd"')],
)
def test_bad_samples(tmp_path, field, value, why):
    s = sample(1)
    made = {"image": png(s["image"]), "boxes": s["boxes"], field: value}
    with sluice.Writer(tmp_path / "packed", {name: FIELDS[name] for name in made}) as writer:
        writer.add(**{name: value for name, value in made.items() if value is not None})
    with pytest.raises(sluice.Error, match=why):
        list(rows(tmp_path / "packed", {"image": C.Image(transform=T.Resize((9, 9))), "boxes": C.Boxes(length=BOXES, crowds="iscrowd")}))


@pytest.mark.parametrize(("crowds", "why"), [("boxes", "tensor .any. of ints"), ("shapes", "tensor .any. of ints"), ("no", 'no field "no"'), (3, "crowds")])
def test_refused(both, crowds, why):
    with pytest.raises((sluice.Error, TypeError, ValueError), match=why):
        sluice.Loader(both[0], 2, columns={"image": C.Image(transform=T.Resize((9, 9))), "boxes": C.Boxes(length=BOXES, crowds=crowds)})

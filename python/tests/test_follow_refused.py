# SPDX-License-Identifier: Apache-2.0
"""Columns that follow an image: bad samples, missing fields, and errors."""
import numpy
import pytest
from following import data, png, rows, samples  # noqa: F401

import sluice
from sluice import columns as C
from sluice import transforms as T

BAD = {
    "mask": (png(numpy.zeros((10, 11), "uint8")), '"mask" is 10 x 11 .* but its image "image" is 10 x 10'),
    "boxes": (numpy.array([[1, 1, 5, 5], [1, numpy.nan, 5, 5]], "float32"), 'box 1 of "boxes" contains a number that is not finite'),
    "boxes ": (numpy.array([[4, 1, 2, 5]], "float32"), 'box 0 of "boxes" has its right edge left of the left one, or its lower edge above the upper one: it is 4, 1, 2, 5 .xyxy.; if that is left, .* write format=.xywh'),
    "boxes  ": (numpy.zeros((4, 4), "float32"), '"boxes" is too long: length 4, the column holds at most 3'),
    "labels": (numpy.zeros(2, "int64"), '"labels" has length 2, but there are 1 boxes'),
    "points": (numpy.array([[1, numpy.inf, 2]], "float32"), 'number 1 of "points" is not finite'),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_samples(tmp_path, name):
    """Each is one bad sample, named; the next one is unaffected."""
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
    """A sample without an image has no following values; one without boxes has no boxes."""
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
    ({"seg": C.Mask("mask")}, "it follows an image, but no image column is before it"),
    ({"seg": C.Mask("mask"), **image_column()}, "no image column is before it"),
    ({**image_column(), **image_column("b"), "seg": C.Mask("mask")}, "several image columns are before it: choose the one it follows"),
    ({**image_column(), "seg": C.Mask("mask", follows="picture")}, 'it follows "picture", but no column of that name is before it'),
    ({**image_column(), "boxes": C.Boxes(length=3), "seg": C.Mask("mask", follows="boxes")}, 'follows "boxes", which is not a column of images'),
    ({**image_column(), "labels": C.Ragged(length=3, follows="image")}, "it can follow only a column of boxes"),
    ({**image_column(), "boxes": C.Boxes("labels", length=3)}, r"boxes need a tensor \[any, 4\]"),
    ({**image_column(), "seg": C.Mask("mask", fill=256)}, "fill 256 does not fit u8"),
    ({**image_column(), "seg": C.Mask("mask", fill=0.5)}, "fill 0.5 does not fit u8"),
    ({**image_column(), "seg": C.Mask("mask", interpolation="bilinear")}, "bilinear interpolation needs dtype f32"),
    ({**image_column(), "seg": C.Mask("layers")}, "a mask of 1 channel needs a tensor height x width"),
    ({**image_column(), "seg": C.Mask("places", channels=3)}, "a mask of 3 channels needs a tensor height x width x channels"),
    ({**image_column(), "p": C.Points("points", length=3, point_values=2, mirror=[1, 0])}, 'mirror has 2 numbers, but a row of "points" has 6 points'),
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
    with pytest.raises(sluice.Error, match=f"{next(iter(option))}.* is out of range: .*, expected"):
        sluice.Loader(data, columns={**image_column(), "boxes": C.Boxes(length=3, **option)})

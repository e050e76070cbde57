# SPDX-License-Identifier: Apache-2.0
"""Class maps made of moved shapes: compared with numpy's, computed from the masks of the same shapes."""
import json

import numpy
import pytest
from test_follow_instances import RECIPES, SHAPES, near_to, png, runs, sample
from test_follow_shapes import CROPS, rows

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT = 8


def labels_of(number, count=SHAPES):
    return numpy.random.RandomState(number).randint(1, 250, count)


def write(path, samples, dtype="int64"):
    fields = {
        "image": "image", "shapes": "text", "labels": ("tensor", dtype, (0,)), "iscrowd": ("tensor", "uint8", (0,)),
        "bits": ("tensor", "uint8", (0, 0, 1)),
    }  # fmt: skip
    with sluice.Writer(path, fields) as writer:
        for s in samples:
            ones = numpy.ones((*s["image"].shape[:2], 1), "uint8")
            writer.add(image=png(s["image"]), shapes=json.dumps(s["shapes"]), labels=s["labels"].astype(dtype), iscrowd=s["iscrowd"], bits=ones)
    return path


@pytest.fixture(scope="module")
def samples():
    return [
        sample(200 + n) | {"labels": labels_of(n), "iscrowd": (numpy.random.RandomState(n).rand(SHAPES) < 0.3).astype("uint8")} for n in range(COUNT)
    ]


@pytest.fixture(scope="module")
def data(samples, tmp_path_factory):
    return write(tmp_path_factory.mktemp("maps") / "packed", samples)


def expected(masks, labels, crowds, background, ignore, overlap):
    """Computed from instance masks [n, height, width], like torchvision's reference."""
    made = numpy.full(masks.shape[1:], background, "float64")
    for i in numpy.flatnonzero(crowds):
        made[masks[i] == 1] = ignore
    others = numpy.flatnonzero(crowds == 0)
    for i in others:
        made[masks[i] == 1] = labels[i]
    if overlap == "ignore":
        made[masks[others].sum(axis=0) > 1] = ignore
    return made


MAPS = [
    ({}, ("uint8", 0, 255, "last")),
    ({"dtype": "uint16", "background": 1000, "ignore": 65535, "overlap": "ignore"}, ("uint16", 1000, 65535, "ignore")),
    ({"dtype": "int64", "background": -1, "ignore": -100, "overlap": "ignore", "fill": -7}, ("int64", -1, -100, "ignore")),
    ({"dtype": "int32", "background": 255, "ignore": 0}, ("int32", 255, 0, "last")),
    ({"dtype": "float32", "background": 0.5}, ("float32", 0.5, 255, "last")),
]


@pytest.mark.parametrize("options, want", MAPS)
@pytest.mark.parametrize("crowds", [True, False])
def test_maps(data, samples, options, want, crowds):
    dtype, background, ignore, overlap = want
    over = 0
    for steps in RECIPES + CROPS:
        columns = {
            "image": C.Image(transform=steps), "i": C.Instances("shapes", length=SHAPES), "seen": C.Mask("bits"),
            "map": C.Mask("shapes", labels="labels", crowds="iscrowd" if crowds else None, **options),
        }  # fmt: skip
        for index, row in rows(data, columns, seed=3):
            s = samples[index]
            assert row["map"].dtype == dtype
            want = expected(row["i"], s["labels"], s["iscrowd"] * crowds, background, ignore, overlap)
            hidden = row["seen"] == 0
            want[hidden & ~row["i"].any(axis=0)] = options.get("fill", 0)
            clear = ~near_to(hidden) | row["i"].any(axis=0)  # the nearest pixel, and the visible part, may differ at edges of the image
            assert (row["map"] == want)[clear].all() and clear.mean() > 0.7
            over += (row["i"].sum(axis=0) > 1).sum()
    assert over > 10000


def test_labels_of_any_ints(tmp_path, samples):
    columns = {"image": C.Image(transform=T.Resize((50, 60))), "map": C.Mask("shapes", labels="labels", dtype="int32")}
    made = [
        {index: row["map"].tobytes() for index, row in rows(write(tmp_path / dtype, samples, dtype), columns)}
        for dtype in ("int64", "uint8", "int32", "uint16", "uint64")
    ]
    assert all(other == made[0] for other in made)


def test_more_shapes_than_a_byte(tmp_path):
    """Drawn 255 at a time, in order."""
    random = numpy.random.RandomState(5)
    at = random.randint(0, 80, (700, 2))
    size = random.randint(3, 40, (700, 2))
    shapes = [[[x, y, x + w, y, x + w, y + h, x, y + h]] for (x, y), (w, h) in zip(at.tolist(), size.tolist())]
    crowds = (random.rand(700) < 0.2).astype("uint8")
    s = {"image": numpy.zeros((120, 120, 3), "uint8"), "shapes": shapes, "labels": numpy.arange(700) + 1, "iscrowd": crowds}
    data = write(tmp_path / "d", [s])
    for overlap in ("last", "ignore"):
        columns = {
            "image": C.Image(transform=T.Resize((120, 120))), "map": C.Mask("shapes", labels="labels", crowds="iscrowd", dtype="uint16", ignore=9999, overlap=overlap),
            "i": C.Instances("shapes", length=700),
        }  # fmt: skip
        with sluice.Loader(data, batch_size=1, columns=columns) as loader:
            (batch,) = loader
            assert (batch["map"].numpy()[0] == expected(batch["i"].numpy(), s["labels"], crowds, 0, 9999, overlap)).all()


BAD = [
    ({"labels": numpy.array([1, 2])}, '"labels" has length 2, but there are 3 shapes'),
    ({"labels": numpy.array([1, 300, 3])}, 'label 300 of "labels" does not fit u8'),
    ({"labels": numpy.array([1, -1, 3])}, 'label -1 of "labels" does not fit u8'),
    ({"iscrowd": numpy.zeros(4, "uint8")}, '"iscrowd" has length 4, but there are 3 shapes'),
    ({"shapes": [[[1, 2]], [[1]], None]}, "annotation 1"),
]


@pytest.mark.parametrize("change, what", BAD)
def test_bad_samples(tmp_path, change, what):
    good = {
        "image": numpy.zeros((20, 30, 3), "uint8"), "shapes": [[[2, 2, 9, 2, 9, 9]], None, runs(numpy.eye(20, 30))],
        "labels": numpy.array([5, 6, 7]), "iscrowd": numpy.zeros(3, "uint8"),
    }  # fmt: skip
    data = write(tmp_path / "d", [good, good | change])
    columns = {"image": C.Image(transform=T.Resize((20, 30))), "map": C.Mask("shapes", labels="labels", crowds="iscrowd", fill=9)}
    with pytest.raises(sluice.Error, match=what) as caught:
        list(rows(data, columns, shuffle=False, last_batch="short"))
    assert "sample 1" in str(caught.value) and next(iter(change)) in str(caught.value)
    first, second = [row for _, row in rows(data, columns, shuffle=False, last_batch="short", on_bad_sample="mask")]
    assert sorted(set(first["map"].ravel().tolist())) == [0, 5, 7] and (first["map"] == 7).sum() >= 18


def test_missing(tmp_path, samples):
    fields = {"image": "image", "shapes": "text", "labels": ("tensor", "int64", (0,))}
    picture = png(samples[0]["image"])
    with sluice.Writer(tmp_path / "d", fields) as writer:
        writer.add(image=picture, shapes="[[[1, 1, 50, 1, 50, 50]]]", labels=numpy.array([3]))
        writer.add(image=picture, labels=numpy.array([3]))
    columns = {"image": C.Image(transform=T.Resize((20, 30))), "map": C.Mask("shapes", labels="labels", background=8, missing="blank")}
    first, second = [row["map"] for _, row in rows(tmp_path / "d", columns, shuffle=False, last_batch="short")]
    assert set(first.ravel()) == {3, 8} and not second.any()
    with sluice.Writer(tmp_path / "e", fields) as writer:
        writer.add(image=picture, shapes="[[[1, 1, 50, 1, 50, 50]]]")
    with pytest.raises(sluice.Error, match='the sample has no "labels"'):
        list(rows(tmp_path / "e", columns, last_batch="short"))


REFUSED = [
    (C.Mask("shapes"), "a mask of shapes needs the class of each shape"),
    (C.Mask("shapes", labels="bits"), r"labels must be a tensor \[any\] of ints"),
    (C.Mask("shapes", labels="shapes"), r"labels must be a tensor \[any\] of ints"),
    (C.Mask("shapes", labels="labels", crowds="bits"), r"crowds must be a tensor \[any\] of ints"),
    (C.Mask("shapes", labels="classes"), 'the dataset has no field "classes"'),
    (C.Mask("shapes", labels="labels", channels=2), "a mask of shapes must have one channel and no interpolation"),
    (C.Mask("shapes", labels="labels", interpolation="bilinear"), "a mask of shapes must have one channel and no interpolation"),
    (C.Mask("shapes", labels="labels", background=256), "background 256 does not fit u8"),
    (C.Mask("shapes", labels="labels", ignore=-1), "ignore -1 does not fit u8"),
    (C.Mask("shapes", labels="labels", fill=0.5), "fill 0.5 does not fit u8"),
    (C.Mask("bits", labels="labels"), "labels, crowds, background, ignore and overlap need shapes, but its field is not a text"),
    (C.Mask("bits", overlap="ignore"), "need shapes, but its field is not a text"),
]


@pytest.mark.parametrize("column, text", REFUSED)
def test_refused(data, column, text):
    with pytest.raises(sluice.Error, match=text):
        sluice.Loader(data, columns={"image": C.Image(transform=T.Resize((8, 8))), "map": column})
    with pytest.raises(ValueError, match="overlap='first'"):
        C.Mask("shapes", labels="labels", overlap="first")

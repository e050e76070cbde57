# SPDX-License-Identifier: Apache-2.0
"""Rows without a sample: the fill value of each column, in batches of fixed and variable size: padded, ragged and bucketed."""
import json

import numpy
import pytest
from following import png

import sluice
from sluice import columns as C
from sluice import transforms as T

SHAPE = json.dumps([[[2, 2, 20, 2, 20, 20, 2, 20]]])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Three samples: the first has an invalid box, the third lacks its mask and its shapes."""
    path = tmp_path_factory.mktemp("blank") / "packed"
    fields = {
        "image": "image", "mask": "image", "seg": "text", "label": "int", "labels": ("tensor", "uint8", (0,)), "boxes": ("tensor", "float32", (0, 4)),
        "points": ("tensor", "float32", (0, 3)),
    }  # fmt: skip
    with sluice.Writer(path, fields) as writer:
        for i in range(3):
            picture = png(numpy.full((30, 40), 90, "uint8"))
            sample = {
                "image": picture, "label": 3, "labels": numpy.array([7], "uint8"),
                "boxes": numpy.array([[50 if i == 0 else 0, 0, 40, 30]], "float32"), "points": numpy.array([[5, 5, 2]], "float32"),
            }  # fmt: skip
            if i < 2:
                sample |= {"mask": png(numpy.full((30, 40), 5, "uint8")), "seg": SHAPE}
            writer.add(**sample)
    return path


SIZES = {
    "one size": ({"transform": [T.Resize((20, 24))]}, {}),
    "padded": ({"transform": [T.RandomShortestSize([20], 30)], "sizes": "padded", "max_size": (40, 40)}, {}),
    "ragged": ({"transform": [T.RandomShortestSize([20], 30)], "sizes": "ragged", "max_size": (40, 40)}, {}),
    "buckets": ({"transform": [T.BucketCrop()]}, {"buckets": [(20, 24)], "sizes": [(30, 40)] * 3}),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype, fill, ignore", [("int64", 255, 250), ("uint8", 9, 255), ("float32", -1.5, 77), ("int32", 0, 9)])
def test_rows_without_a_sample(data, size, dtype, fill, ignore):
    image, options = SIZES[size]
    columns = {
        "image": C.Image("image", **image), "classes": C.Mask("mask", fill=fill, dtype=dtype, missing="blank"), "label": C.Number(),
        "map": C.Mask("seg", labels="labels", fill=fill, ignore=ignore, dtype=dtype, missing="blank"), "boxes": C.Boxes(length=4),
        "points": C.Points(length=4), "masks": C.Instances("seg", length=2, missing="blank"), "at": C.Geometry(),
    }  # fmt: skip
    with sluice.Loader(
        data, batch_size=4, shuffle=False, last_batch="pad", on_bad_sample="mask", ignore_index=-7, columns=columns, **options
    ) as loader:
        (batch,) = loader
        made = {name: batch[name].numpy().copy() for name in [*batch.keys(), *batch.parts(), "mask"]}
        assert made["mask"].tolist() == [0, 1, 1, 0]
        assert made["label"].tolist() == [-7, 3, 3, -7]
        for name in ("boxes", "points"):
            assert numpy.diff(batch[name + ".offsets"].numpy()).tolist() == [0, 1, 1, 0]
        for name, value in made.items():
            if name.startswith("at"):
                assert (value[[0, 3]] == 0).all() and (name == "at.flip" or (value[1:3] != 0).any())
        if size == "ragged":
            for name in ("classes", "map"):
                offsets, sizes = batch[name + ".offsets"].numpy(), batch[name + ".sizes"].numpy()
                assert sizes[[0, 3]].tolist() == [[0, 0]] * 2 and offsets[1] == 0 and offsets[3] == offsets[4]
                assert (made[name][offsets[2] : offsets[3]] == fill).all()
            return
    assert (made["image"][[0, 3]] == 0).all() and (made["image"][1:3] == 90).any()
    assert made["classes"].dtype == dtype == made["map"].dtype
    for name in ("classes", "map"):
        assert (made[name][[0, 2, 3]] == fill).all(), name
        assert (made[name][1] != fill).any()


def test_a_row_smaller_than_the_batch(tmp_path):
    """A map has its fill value outside the image, and also in a row without an image."""
    with sluice.Writer(tmp_path / "d", {"image": "image", "seg": "text", "labels": ("tensor", "uint8", (0,))}) as writer:
        for height, width in ((30, 40), (20, 25)):
            writer.add(image=png(numpy.zeros((height, width), "uint8")), seg=SHAPE, labels=numpy.array([7], "uint8"))
    columns = {"image": C.Image("image", sizes="padded", max_size=(40, 40)), "map": C.Mask("seg", labels="labels", fill=9, ignore=8, background=1)}
    with sluice.Loader(tmp_path / "d", batch_size=3, shuffle=False, last_batch="pad", columns=columns) as loader:
        (batch,) = loader
        made = batch["map"].numpy().copy()
    assert made.shape == (3, 30, 40) and (made[2] == 9).all() and set(made[0].ravel()) == {1, 7}
    assert (made[1, 20:] == 9).all() and (made[1, :, 25:] == 9).all() and set(made[1, :20, :25].ravel()) == {1, 7}

# SPDX-License-Identifier: Apache-2.0
"""Batches of variable-size images: padded, ragged, or original size."""
import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C, transforms as T

ROOM = (90, 90)  # for conftest's photos: 40 to 89 pixels a side


def batches(data, batch=5, last="short", **options):
    column = C.Image("image", max_size=options.pop("max_size", ROOM), **options.pop("column"))
    return sluice.Loader(data, batch, True, columns={"image": column, **options.pop("columns", {})}, last_batch=last, **options)


def stored(data, index):
    return numpy.asarray(data.decode(int(index)))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "bfloat16"])
@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_pictures_as_they_are(data, sizes, dtype, layout):
    torch = pytest.importorskip("torch") if dtype == "bfloat16" else None
    seen = 0
    if torch:
        from sluice.torch import DataLoader as Loader
    else:
        Loader = sluice.Loader
    column = C.Image("image", sizes=sizes, max_size=ROOM, dtype=dtype, layout=layout)
    for batch in Loader(data, 5, True, columns={"image": column, "label": C.Number("label")}, last_batch="short"):
        index = batch["index"].numpy()
        wanted = [stored(data, i) for i in index]
        shapes = [picture.shape[:2] for picture in wanted]
        assert [tuple(size) for size in batch["image.sizes"].numpy()] == shapes
        assert batch["image.sizes"].numpy().dtype == numpy.int32
        whole = batch["image"]
        height, width = (max(shape[axis] for shape in shapes) for axis in (0, 1))
        if sizes == "padded":
            assert tuple(whole.shape) == ((len(index), height, width, 3) if layout == "NHWC" else (len(index), 3, height, width))
        else:
            pixels = numpy.cumsum([0] + [h * w for h, w in shapes])
            assert tuple(whole.shape) == ((pixels[-1], 3) if layout == "NHWC" else (3 * pixels[-1],))
            assert (batch["image.offsets"].numpy() == pixels * (1 if layout == "NHWC" else 3)).all()
        for row, (picture, expected) in enumerate(zip(batch.pictures(), wanted, strict=True)):
            picture = picture.float().numpy() * 255 if torch else picture * (255 if dtype == "float32" else 1)
            picture = picture if layout == "NHWC" else picture.transpose(1, 2, 0)
            assert picture.shape == expected.shape
            assert abs(picture - expected.astype(float)).max() <= (1 if torch else 1e-4)
            if sizes == "padded":
                rest = (whole[row].float().numpy() if torch else whole.numpy()[row]).copy()
                rest = rest if layout == "NHWC" else rest.transpose(1, 2, 0)
                rest[: expected.shape[0], : expected.shape[1]] = 0
                assert not rest.any()
        seen += len(index)
    assert seen == len(data)


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_recipes_that_leave_the_size_open(data, sizes):
    """torchvision's reference for detection: each image keeps its own size, and boxes are in its pixels."""
    steps = [T.RandomHorizontalFlip(), T.RandomShortestSize([20, 30], 50)]
    columns = {"from": C.Geometry(follows="image")}
    for batch in batches(data, column={"transform": steps, "sizes": sizes}, max_size=(50, 50), columns=columns, exact=True):
        for index, picture, scale, flip in zip(
            batch["index"].numpy(), batch.pictures(), batch["from.scale"].numpy(), batch["from.flip"].numpy(), strict=True
        ):
            original = stored(data, index)
            height, width = original.shape[:2]
            ratios = [min(size / min(height, width), 50 / max(height, width)) for size in (20, 30)]
            assert picture.shape[:2] in [(int(height * ratio), int(width * ratio)) for ratio in ratios]
            assert abs(scale - (picture.shape[1] / width, picture.shape[0] / height)).max() < 1e-4
            wanted = Image.fromarray(original[:, :: -1 if flip[0] else 1]).resize(picture.shape[1::-1], Image.BILINEAR)
            assert abs(picture.astype(int) - numpy.asarray(wanted)).max() <= 1


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_boxes_are_in_pixels_of_their_own_picture(data, tmp_path, sizes):
    with sluice.Writer(tmp_path / "boxed", {"image": "image", "boxes": ("tensor", "float32", (0, 4))}) as writer:
        for number in range(len(data)):
            height, width = stored(data, number).shape[:2]
            writer.add(image=data.read(number, "image"), boxes=numpy.array([[0, 0, width, height], [5, 6, 20, 30]], "float32"))
    boxed = sluice.Dataset(tmp_path / "boxed")
    steps = [T.RandomShortestSize([100], 140), T.RandomHorizontalFlip(1)]
    columns = {"boxes": C.Boxes(length=4)}
    for batch in batches(boxed, column={"transform": steps, "sizes": sizes}, max_size=(140, 140), columns=columns):
        offsets = batch["boxes.offsets"].numpy()
        for row, (picture, index) in enumerate(zip(batch.pictures(), batch["index"].numpy(), strict=True)):
            boxes = batch["boxes"].numpy()[offsets[row] : offsets[row + 1]]
            height, width = picture.shape[:2]
            across, down = width / boxed.decode(int(index)).shape[1], height / boxed.decode(int(index)).shape[0]
            wanted = [[0, 0, width, height], [width - 20 * across, 6 * down, width - 5 * across, 30 * down]]
            assert abs(boxes - wanted).max() < 1e-3


def test_one_size_among_several(data):
    """Images of equal size are not moved."""
    for sizes in ("padded", "ragged"):
        for batch in batches(data, column={"transform": T.Resize((7, 9)), "sizes": sizes}, max_size=(7, 9)):
            assert all(picture.shape == (7, 9, 3) for picture in batch.pictures())


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_what_there_is_no_room_for_is_bad(data, sizes):
    shapes = [stored(data, i).shape for i in range(len(data))]
    room = (60, 70)
    fits = {i for i, (h, w, _) in enumerate(shapes) if (h <= 60 and w <= 70 if sizes == "padded" else h * w <= 60 * 70)}
    assert 0 < len(fits) < len(data)
    own = batches(data, column={"sizes": sizes}, max_size=room, on_bad_sample="mask")
    rows = [(int(i), int(mask), size) for b in own for i, mask, size in zip(b["index"].numpy(), b["mask"].numpy(), b["image.sizes"].numpy().tolist())]
    assert {i for i, mask, _ in rows if mask} == fits
    assert all(size == list(shapes[i][:2]) if mask else size == [0, 0] for i, mask, size in rows)
    with pytest.raises(sluice.UnsupportedError, match=r"becomes \d+ x \d+ .*has space for 70 x 60.*: choose larger max_size=.height, width."):
        list(batches(data, column={"sizes": sizes}, max_size=room))


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_rows_without_a_sample(photos, sizes):
    data = sluice.Dataset(photos)[:4]
    for rank in range(2):
        (batch,) = sluice.Loader(
            data, 6, columns={"image": C.Image(sizes=sizes, max_size=ROOM)}, last_batch="pad", rank=rank, world_size=2
        )
        assert len(batch.pictures()) == 6 and [picture.size > 0 for picture in batch.pictures()] == [True] * 2 + [False] * 4
    (empty,) = sluice.Loader(data[:1], 2, columns={"image": C.Image(sizes=sizes, max_size=ROOM)}, last_batch="pad", rank=0, world_size=2)
    assert [picture.size for picture in empty.pictures()] == [0, 0]


def test_two_columns_of_one_picture(data):
    columns = {
        "image": C.Image(sizes="padded", max_size=ROOM),
        "small": C.Image("image", transform=T.RandomShortestSize([10]), sizes="ragged", max_size=(10, 40)),
        "fixed": C.Image("image", transform=T.Resize((8, 9))),
    }
    for batch in sluice.Loader(data, 5, True, columns=columns, drop_last=True):
        assert batch["fixed"].shape == (5, 8, 9, 3)
        for index, whole, small in zip(batch["index"].numpy(), batch.pictures(), batch.pictures("small")):
            assert (whole == stored(data, index)).all()
            assert min(small.shape[:2]) in (9, 10)  # floor(side * (10 / side)), as in torchvision


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_as_many_as_a_batch_can_have(data, sizes):
    column = C.Image("image", max_size=ROOM, sizes=sizes)
    sluice.Loader(data, 2, True, columns={f"p{i}": column for i in range(16)}).close()
    with pytest.raises(sluice.InvalidError, match="p16.*at most 16 ragged columns and image columns of buckets"):
        sluice.Loader(data, 2, True, columns={f"p{i}": column for i in range(17)})


def test_threads_change_nothing(data):
    made = []
    for workers in (1, 4):
        own = batches(data, column={"transform": T.RandomShortestSize([20, 30]), "sizes": "padded"}, num_workers=workers)
        made.append([batch["image"].numpy().tobytes() for batch in own])
    assert made[0] == made[1]


def test_targets_of_torch(data):
    torch = pytest.importorskip("torch")
    from sluice.torch import DataLoader, targets

    columns = {"image": C.Image(sizes="ragged", max_size=ROOM, layout="NCHW", dtype="float32"), "label": C.Number("label")}
    for batch in DataLoader(data, 5, columns=columns):
        rows = targets(batch, "image", "label")
        assert [tuple(row["image"].shape[1:]) for row in rows] == [tuple(size) for size in batch["image.sizes"].tolist()]
        assert all(row["image"].is_contiguous() and row["image"].dtype == torch.float32 for row in rows)


@pytest.mark.parametrize(
    "arguments, error, why",
    [
        ({}, TypeError, "images differ in size"),
        ({"transform": T.Resize((8, 8)), "max_size": 9}, TypeError, "needs sizes='padded' or 'ragged'"),
        ({"sizes": "several", "max_size": 9}, ValueError, "sizes='several'"),
        ({"sizes": "padded", "max_size": (9,)}, ValueError, "expected \\(height, width\\)"),
        ({"sizes": "padded", "max_size": (0, 9)}, ValueError, "1 to 65535"),
        ({"sizes": "ragged", "max_size": (9, 65536)}, ValueError, "1 to 65535"),
    ],
)
def test_columns_that_are_refused(arguments, error, why):
    with pytest.raises(error, match=why):
        C.Image("image", **arguments)


@pytest.mark.parametrize(
    "transform, options, why",
    [
        ([T.RandomCrop(8), T.MixUp()], {}, "or of variable-size images cannot be mixed"),
        (T.BucketCrop(), {"buckets": [(8, 8)]}, "choose sizes one"),
    ],
)
def test_recipes_that_are_refused(data, transform, options, why):
    with pytest.raises(ValueError, match=why):
        batches(data, column={"transform": transform, "sizes": "padded"}, **options)

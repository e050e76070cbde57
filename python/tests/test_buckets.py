# SPDX-License-Identifier: Apache-2.0
"""Buckets of aspect ratio: sizes, order, images, states, errors."""
import math

import bucket_model
import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C, transforms as T

BUCKETS = [(32, 32), (24, 40), (40, 24)]  # height, width


@pytest.fixture(scope="module")
def sizes(photos):
    data = sluice.Dataset(photos)
    return [data.decode(number).shape[:2] for number in range(len(data))]


@pytest.fixture(scope="module")
def bucket_of(sizes):
    of = [bucket_model.nearest(size, BUCKETS) for size in sizes]
    assert min(of.count(bucket) for bucket in range(3)) >= 4
    return of


def loader(data, batch=4, shuffle=True, position="random", **options):
    return sluice.Loader(data, batch, shuffle, transform=options.pop("transform", T.BucketCrop(position)), buckets=BUCKETS, **options)


def taken(batches):
    """Returns [(bucket, samples)] of batches; None for a padding row."""
    made = []
    for batch in batches:
        rows, height, width, channels = batch["image"].shape
        assert channels == 3 and rows == len(batch["index"])
        made.append((BUCKETS.index((height, width)), [None if i < 0 else i for i in batch["index"].numpy().tolist()]))
    return made


# ---- the order ----


@pytest.mark.parametrize("last", ["drop", "short", "pad", "repeat"])
@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_are_those_of_the_model(photos, bucket_of, world, last, shuffle):
    batch = 4 if world == 1 else 2
    by_rank = []
    for rank in range(world):
        with loader(photos, batch, shuffle, last_batch=last, seed=5, rank=rank, world_size=world) as own:
            epochs = [taken(own) for _ in range(3)]
            for number, got in enumerate(epochs):
                assert got == bucket_model.steps(bucket_of, 3, batch, rank, world, shuffle, last, 5, number)
                assert len(got) == len(own)
        by_rank.append(epochs)
    for ranks in zip(*by_rank):  # the guarantee, stated again: one size per step, every sample once
        assert all(len({bucket for bucket, _ in step}) == 1 for step in zip(*ranks))
        samples = [sample for steps in ranks for _, rows in steps for sample in rows if sample is not None]
        if last in ("short", "pad"):
            assert sorted(samples) == list(range(len(bucket_of)))
        elif last == "drop":
            left = sum(bucket_of.count(bucket) % (batch * world) for bucket in range(3))
            assert len(samples) == len(set(samples)) == len(bucket_of) - left
        else:
            assert set(samples) == set(range(len(bucket_of)))
    assert not shuffle or by_rank[0][0] != by_rank[0][1]


def test_masks_of_last_batches(photos, bucket_of):
    for last in ("drop", "short", "pad", "repeat"):
        for rank in range(3):
            with loader(photos, 2, last_batch=last, rank=rank, world_size=3) as own:
                assert len(own.sampler) == sum(int(batch["mask"].numpy().sum()) for batch in own)
    for last in ("pad", "repeat"):
        for batch in loader(photos, 5, last_batch=last):
            mask, index = batch["mask"].numpy(), batch["index"].numpy()
            if last == "pad":
                assert ((index >= 0) == (mask == 1)).all() and not batch["image"].numpy()[mask == 0].any()
            assert batch["image"].shape[0] == 5


def test_threads_and_reading_ahead_change_nothing(photos):
    made = []
    for workers, prefetch in ((1, 2), (4, 8)):
        with loader(photos, 3, seed=9, num_workers=workers, prefetch_factor=prefetch, last_batch="short") as own:
            made.append([(batch["index"].numpy().tolist(), batch["image"].numpy().tobytes()) for _ in range(2) for batch in own])
    assert made[0] == made[1]


def test_a_state_goes_on_exactly(photos, bucket_of):
    for last in ("drop", "short", "repeat"):
        whole = [taken([batch])[0] for batch in loader(photos, 3, seed=2, last_batch=last)]
        for stop in range(len(whole) + 1):
            first = loader(photos, 3, seed=2, last_batch=last)
            batches = iter(first)
            begun = taken(next(batches) for _ in range(stop))
            state, left = first.state_dict(), first.remaining
            other = loader(photos, 3, seed=2, last_batch=last, num_workers=1)
            other.load_state_dict(state)
            assert other.remaining == left == len(whole) - stop
            assert begun + (taken(other) if stop < len(whole) else []) == whole


def test_a_state_goes_on_with_the_same_global_batch(photos):
    one = loader(photos, 4, seed=2, last_batch="pad")
    batches = iter(one)
    next(batches), next(batches)
    state = one.state_dict()
    rest = taken(batches)
    halves = []
    for rank in range(2):
        half = loader(photos, 2, seed=2, last_batch="pad", rank=rank, world_size=2)
        half.load_state_dict(state)
        halves.append(taken(half))
    for (bucket, rows), (left, first), (right, second) in zip(rest, *halves, strict=True):
        assert bucket == left == right
        assert [row for row in rows if row is not None] == [row for row in first + second if row is not None]
    with pytest.raises(ValueError, match="batch_size x world_size"):
        loader(photos, 3, seed=2).load_state_dict(state)
    with pytest.raises(ValueError, match="buckets"):
        sluice.Loader(photos, 4, True, seed=2, transform=T.CenterCrop(8)).load_state_dict(state)
    with pytest.raises(ValueError, match="buckets"):
        sluice.Loader(photos, 4, True, seed=2, transform=T.BucketCrop(), buckets=BUCKETS[:2]).load_state_dict(state)
    plain = sluice.Loader(photos, 4, True, seed=2, transform=T.CenterCrop(8))
    next(iter(plain))
    with pytest.raises(ValueError, match="buckets"):
        one.load_state_dict(plain.state_dict())


def test_a_state_of_a_small_dataset_many_epochs_ahead(photos):
    """Epochs of one step: many of them are in flight at once."""
    few = sluice.Dataset(photos)[:5]
    with loader(few, 5, last_batch="short", prefetch_factor=16) as own:
        for _ in range(40):
            assert sorted(sample for _, rows in taken(own) for sample in rows) == list(range(5))


# ---- sizes ----


def test_sizes_of_a_table_and_of_headers_are_the_same(photos, sizes, bucket_of):
    expected = taken(loader(photos, 4, seed=1, last_batch="short"))
    for table in (sizes, numpy.array(sizes), numpy.array(sizes, "uint16")):
        assert taken(loader(photos, 4, seed=1, last_batch="short", sizes=table)) == expected


def test_the_table_is_what_counts(photos, sizes):
    turned = [(width, height) for height, width in sizes]
    of = [bucket_model.nearest(size, BUCKETS) for size in turned]
    got = taken(loader(photos, 4, seed=1, last_batch="short", sizes=turned))
    assert got == bucket_model.steps(of, 3, 4, 0, 1, True, "short", 1, 0)


def test_packed_shards(photos, tmp_path, sizes):
    sluice.pack(photos, tmp_path / "packed")
    packed = sluice.Dataset(tmp_path / "packed")
    of = [bucket_model.nearest(packed.decode(number).shape[:2], BUCKETS) for number in range(len(packed))]
    for resident in (0, 1):  # in memory, whose rows are taken without a read; or not
        with loader(packed, 4, last_batch="repeat", resident_bytes=resident) as own:
            for number in range(6):
                assert taken(own) == bucket_model.steps(of, 3, 4, 0, 1, True, "repeat", 0, number)


def test_pictures_larger_than_what_is_read_first(tmp_path):
    """A header after 64 KiB of comments; and a PNG, which must be read entirely."""
    folder = tmp_path / "many"
    folder.mkdir()
    noise = numpy.random.default_rng(2).integers(0, 255, (200, 400, 3), dtype=numpy.uint8)
    Image.fromarray(noise).save(folder / "a.png")
    assert (folder / "a.png").stat().st_size > 65536
    Image.fromarray(noise[:, :120]).save(folder / "b.jpg", quality=100)
    plain = (folder / "b.jpg").read_bytes()
    comment = b"\xff\xfe" + (65000).to_bytes(2, "big") + b" " * 64998
    (folder / "b.jpg").write_bytes(plain[:2] + 2 * comment + plain[2:])
    assert taken(loader(folder, 1, False)) == [(1, [0]), (2, [1])]


def test_pictures_are_upright_with_exif(tmp_path):
    picture = Image.new("RGB", (60, 30))
    exif = picture.getexif()
    exif[0x0112] = 6
    (tmp_path / "one").mkdir()
    picture.save(tmp_path / "one" / "a.jpg", exif=exif)
    assert taken(loader(tmp_path / "one", 1)) == [(1, [0])]
    assert taken(loader(tmp_path / "one", 1, exif=True)) == [(2, [0])]


def test_ties(tmp_path):
    """Square images are equally far from 3 : 2 and 2 : 3: the larger area wins, then the first one."""
    (tmp_path / "one").mkdir()
    Image.new("RGB", (50, 50)).save(tmp_path / "one" / "a.jpg")
    for buckets, expected in (
        ([(20, 30), (30, 20)], 0), ([(30, 20), (20, 30)], 0), ([(20, 30), (60, 40)], 1), ([(16, 16), (32, 32), (8, 8)], 1),
    ):  # fmt: skip
        batch = next(iter(sluice.Loader(tmp_path / "one", 1, transform=T.BucketCrop(), buckets=buckets)))
        assert batch["image"].shape[1:3] == buckets[expected]


def test_the_index_knows_sizes(tmp_path):
    """With COCO's json, sizes come from the index, not from the images: an image of another size goes into the bucket of its indexed size."""
    import json

    for number in range(4):
        Image.new("RGB", (64, 32)).save(tmp_path / f"{number}.jpg")
    images = [{"id": n, "file_name": f"{n}.jpg", "width": 64 if n < 2 else 30, "height": 32 if n < 2 else 60} for n in range(4)]
    (tmp_path / "a.json").write_text(json.dumps({"images": images, "annotations": [], "categories": []}))
    data = sluice.Dataset(tmp_path / "a.json")
    columns = {"image": C.Image(transform=T.BucketCrop())}
    got = sorted(taken(sluice.Loader(data, 2, columns=columns, buckets=BUCKETS, on_bad_sample="mask")))
    assert [bucket for bucket, _ in got] == ([1, 2] if {"width", "height"} <= data.fields.keys() else [1, 1])


# ---- images ----


def covered(picture, height, width):
    """Resizes and crops with Pillow."""
    if picture.width * height > picture.height * width:
        size = (int(picture.width * height / picture.height + 0.5), height)
    else:
        size = (width, int(picture.height * width / picture.width + 0.5))
    return picture.resize(size, Image.BILINEAR)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_pixels_are_pillows(data, dtype, layout):
    for batch in loader(data, 3, False, "center", exact=True, last_batch="short", dtype=dtype, layout=layout):
        rows = batch["image"].numpy()
        rows = rows if layout == "NHWC" else rows.transpose(0, 2, 3, 1)
        rows = rows if dtype == "uint8" else rows * 255
        height, width = rows.shape[1:3]
        for row, index in zip(rows, batch["index"].numpy()):
            resized = covered(Image.fromarray(numpy.asarray(data.decode(int(index)))), height, width)
            left, top = round((resized.width - width) / 2), round((resized.height - height) / 2)
            wanted = numpy.asarray(resized.crop((left, top, left + width, top + height)))
            assert abs(row.astype(float) - wanted).max() <= 1.01


def test_windows_are_random_and_geometry_tells_them(data, sizes):
    """SDXL's conditioning: the image's size, and the position of the window in the resized image."""
    columns = {"image": C.Image(transform=[T.BucketCrop(), T.RandomHorizontalFlip()]), "from": C.Geometry()}
    corners = set()
    for epoch in range(6):
        own = sluice.Loader(data, 3, True, columns=columns, buckets=BUCKETS, last_batch="short", exact=True)
        own.set_epoch(epoch)
        for batch in own:
            rows = batch["image"].numpy()
            height, width = rows.shape[1:3]
            corner = (batch["from.box"].numpy()[:, [1, 0]] * batch["from.scale"].numpy()[:, [1, 0]]).round().astype(int)
            for row, index, size, (top, left), flip in zip(
                rows, batch["index"].numpy(), batch["from.size"].numpy(), corner, batch["from.flip"].numpy()
            ):
                assert tuple(size) == sizes[index]
                resized = covered(Image.fromarray(numpy.asarray(data.decode(int(index)))), height, width)
                assert 0 <= top <= resized.height - height and 0 <= left <= resized.width - width
                corners.add((index, top, left))
                wanted = numpy.asarray(resized.crop((left, top, left + width, top + height)))
                assert abs(row[:, :: -1 if flip[0] else 1].astype(int) - wanted).max() <= 1
    assert len(corners) > 2 * len(sizes)


def test_two_columns_of_one_picture_and_one_of_its_own_size(data):
    columns = {
        "image": C.Image(transform=T.BucketCrop()),
        "small": C.Image("image", transform=[T.BucketCrop("center"), T.RandomHorizontalFlip(1)], dtype="float32", layout="NCHW"),
        "fixed": C.Image("image", transform=T.Resize((8, 9))),
        "label": C.Number("label"),
    }
    for batch in sluice.Loader(data, 3, True, columns=columns, buckets=BUCKETS):
        height, width = batch["image"].shape[1:3]
        rows = len(batch["label"])
        assert batch["small"].shape == (rows, 3, height, width) and batch["fixed"].shape == (rows, 8, 9, 3)
        assert (height, width) in BUCKETS


def test_torch_tensors(photos):
    torch = pytest.importorskip("torch")
    from sluice.torch import DataLoader

    shapes = set()
    for images, labels in DataLoader(photos, 3, True, transform=T.BucketCrop(), buckets=BUCKETS):
        assert images.is_contiguous() and isinstance(images, torch.Tensor)
        shapes.add(tuple(images.shape[2:]))
    assert shapes <= set(BUCKETS) and len(shapes) > 1


def test_what_is_kept_stays(data):
    """Batches that a program keeps are copied, each at its own size."""
    own = loader(data, 3, seed=4, prefetch_factor=3)
    with pytest.warns(RuntimeWarning, match="are copies"):
        kept = [(batch["index"].numpy().copy(), batch["image"].numpy()) for batch in own]
    for (index, image), batch in zip(kept, loader(data, 3, seed=4), strict=True):
        assert (index == batch["index"].numpy()).all() and (image == batch["image"].numpy()).all()


# ---- bad samples ----


@pytest.fixture
def damaged(tmp_path, sizes, photos):
    """The first image is truncated; the second is not an image."""
    import shutil

    shutil.copytree(photos, tmp_path / "damaged")
    first, second = sorted((tmp_path / "damaged").glob("*/*.jpg"))[:2]
    first.write_bytes(first.read_bytes()[:-200])
    second.write_bytes(b"no picture")
    return tmp_path / "damaged"


def test_a_bad_sample_is_replaced_by_one_of_its_bucket(damaged, bucket_of):
    seen = set()
    for seed in range(4):
        for batch in loader(damaged, 3, seed=seed, on_bad_sample="replace", last_batch="short"):
            bucket = BUCKETS.index(tuple(batch["image"].shape[1:3]))
            index = batch["index"].numpy().tolist()
            assert all(bucket_of[i] == bucket for i in index) and not {0, 1} & set(index)
            seen |= set(index)
    assert len(seen) == len(bucket_of) - 2


def test_a_bad_sample_fails_or_is_masked_in_its_turn(damaged):
    own = loader(damaged, 3, on_bad_sample="mask", last_batch="short")  # opens, although one image has no header
    masked = [int(index) for batch in own for index, mask in zip(batch["index"].numpy(), batch["mask"].numpy()) if not mask]
    assert sorted(masked) == [0, 1]
    with pytest.raises(sluice.CorruptError):
        list(loader(damaged, 3, last_batch="short"))


def test_a_bucket_of_one_bad_sample(tmp_path):
    """No sample can replace it."""
    folder = tmp_path / "few"
    folder.mkdir()
    for number in range(3):
        Image.new("RGB", (40, 40)).save(folder / f"{number}.jpg")
    Image.new("RGB", (80, 40)).save(folder / "3.jpg", quality=95)
    whole = (folder / "3.jpg").read_bytes()
    (folder / "3.jpg").write_bytes(whole[: len(whole) - 40])
    own = loader(folder, 2, on_bad_sample="replace", last_batch="short")
    rows = [(int(index), int(mask)) for batch in own for index, mask in zip(batch["index"].numpy(), batch["mask"].numpy())]
    assert sorted(rows) == [(0, 1), (1, 1), (2, 1), (3, 0)]


# ---- errors ----


@pytest.mark.parametrize(
    "options, why",
    [
        ({"buckets": []}, "buckets=.*not an empty one"),
        ({"buckets": [(0, 8)]}, "buckets=0: expected an integer, 1 to 16384"),
        ({"buckets": [(8, 16385)]}, "1 to 16384"),
        ({"buckets": [(8, 8, 8)]}, "expected \\(height, width\\)"),
        ({"buckets": [(8, 8), (9, 9), (8, 8)]}, '"8x8": this size occurs twice'),
        ({"buckets": [(8 + i, 8) for i in range(65)]}, "must be at most 64 sizes"),
        ({"buckets": [(8, 8)], "sizes": [(8, 8)]}, "sizes has 1 rows, and the dataset 33 samples"),
        ({"buckets": [(8, 8)], "sizes": [(8, 8)] * 34}, "sizes has 34 rows, and the dataset 33 samples"),
        ({"buckets": [(8, 8)], "sizes": [(8, 0)] * 33}, "sizes=0"),
        ({"buckets": [(8, 8)], "sizes": numpy.zeros((33, 2), int)}, "sizes: 0: expected sides"),
        ({"buckets": [(8, 8)], "sizes": numpy.zeros((33, 3), int)}, "expected integers, 33 x 2"),
        ({"buckets": [(8, 8)], "sizes": numpy.ones((33, 2))}, "expected integers, 33 x 2"),
        ({"sizes": [(8, 8)] * 33}, "option sizes needs option buckets"),
        ({}, "bucket_crop.*give the sizes in option buckets"),
        ({"buckets": [(8, 8)], "transform": T.Resize((8, 8))}, "no column's recipe goes by the size of a bucket"),
        ({"buckets": [(8, 8)], "transform": [T.BucketCrop(), T.MixUp()]}, "cannot be mixed"),
        ({"buckets": [(8, 8)], "batch_size": 40}, "no bucket has as many samples as one global batch of 40"),
    ],
)
def test_what_is_refused(photos, options, why):
    given = {"transform": T.BucketCrop(), "batch_size": 4, "drop_last": True} | options
    with pytest.raises(ValueError, match=why):
        sluice.Loader(photos, **given)


@pytest.mark.parametrize(
    "options, why", [({"shuffle": "block"}, "choose shuffle full or none"), ({"shuffle": "shards"}, "choose")]
)
def test_what_is_not_supported(photos, options, why):
    with pytest.raises(sluice.UnsupportedError, match=why):
        loader(photos, 4, **options)


def test_mixes_are_not_supported(photos):
    data = sluice.Dataset(photos)
    with pytest.raises(sluice.UnsupportedError, match="a mix has its own order"):
        loader(sluice.mix([data, data], [1, 2]), 4)


def test_types_of_arguments(photos):
    with pytest.raises(TypeError, match="buckets="):
        sluice.Loader(photos, 4, transform=T.BucketCrop(), buckets=3)
    with pytest.raises(ValueError, match="position='middle'"):
        T.BucketCrop("middle")


def test_steps_behind_it(photos, bucket_of):
    """Steps that keep the size, and one that changes it: the batch still has the size of its bucket."""
    steps = [T.BucketCrop(), T.ColorJitter(0.2), T.RandomErasing(1)]
    assert {tuple(batch["image"].shape[1:3]) for batch in loader(photos, 4, transform=steps)} == set(BUCKETS)
    with pytest.raises(ValueError, match="bucket_crop.*give the sizes in option buckets"):
        sluice.Loader(photos, 4, transform=[*steps, T.CenterCrop(20)])
    for batch in loader(photos, 4, transform=[*steps, T.CenterCrop(20)]):
        assert batch["image"].shape[1:3] == (20, 20)
        assert len({bucket_of[i] for i in batch["index"].numpy()}) == 1
    with pytest.raises(ValueError, match="has no fixed output size"):
        loader(photos, 4, transform=[*steps, T.Pad(3)])


# ---- lists of sizes ----


def test_lists_of_sizes():
    """sd-scripts' make_bucket_resolutions((1024, 1024), 512, 2048, 64), which limits sides instead of ratios."""
    expected = {(1024, 1024)}
    for width in range(512, 2049, 64):
        height = min(2048, 1024 * 1024 // width // 64 * 64)
        if height >= 512:
            expected |= {(width, height), (height, width)}
    found = sluice.buckets()
    assert set(found) == expected and len(found) == len(expected)
    assert found == sorted(found, key=lambda size: size[1] / size[0]) and found[0] == (2048, 512)
    assert sluice.buckets(512 * 512, 64, 1) == [(512, 512)]
    for height, width in sluice.buckets(768 * 512, 16, 2):
        assert height % 16 == width % 16 == 0 and height * width <= 768 * 512 and max(height, width) <= 2 * min(height, width)
    for arguments, why in (((100,), "0 sizes"), ((2**20, 8, 4), "sizes, expected 1 to 64"), ((2**20, 64, 0.5), "max_ratio=0.5")):
        with pytest.raises(ValueError, match=why):
            sluice.buckets(*arguments)
    assert math.isclose(sluice.buckets()[-1][1] / sluice.buckets()[-1][0], 4)

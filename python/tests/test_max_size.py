# SPDX-License-Identifier: Apache-2.0
"""The default of max_size: the size of the dataset's largest image after the transform."""
import io
import json
import pathlib
import shutil
import struct

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

SHAPES = [(40, 90), (64, 48), (51, 33), (80, 80), (30, 70)]
LARGE = 700


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coco")
    images = []
    for number, (height, width) in enumerate(SHAPES):
        pixels = numpy.random.RandomState(number).randint(0, 256, (height, width, 3)).astype("uint8")
        Image.fromarray(pixels).save(folder / f"{number}.jpg")
        images.append({"id": number, "file_name": f"{number}.jpg", "width": width, "height": height})
    boxes = [{"id": i, "image_id": i, "category_id": 1, "bbox": [2, 2, 20, 20], "area": 400, "iscrowd": 0} for i in range(len(SHAPES))]
    (folder / "a.json").write_text(json.dumps({"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "a"}]}))
    return sluice.Dataset(folder / "a.json")


@pytest.fixture(scope="module")
def packed(coco, tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "p"
    sluice.pack(coco, path)
    return sluice.Dataset(path)


STEPS = {
    "nothing": None,
    "flips": [T.RandomHorizontalFlip(), T.RandomRotation(9), T.ColorJitter(0.1)],
    "shorter": [T.Resize(50)],
    "shorter, with a limit": [T.Resize(50, max_size=80)],
    "zoom": [T.RandomZoomOut(side_range=(1, 3), p=1.0), T.RandomIoUCrop()],
    "shortest": [T.RandomZoomOut(), T.RandomShortestSize([20, 60, 40], 100)],
    "random": [T.RandomResize(20, 61), T.Pad((1, 2, 3, 4))],
    "groups": [T.RandomApply([T.Pad(9), T.Pad(3)], 0.5), T.RandomChoice([T.Pad(1), [T.Pad(9), T.Pad(4)], T.Resize(90)])],
    "jitter": [T.ScaleJitter((60, 60), (0.5, 2))],
}


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
@pytest.mark.parametrize("steps", STEPS)
def test_all_images_fit(coco, packed, steps, sizes):
    """Batches equal those with ample space."""
    for data in (coco, packed):
        made = []
        for max_size in (LARGE, None):
            column = C.Image(transform=STEPS[steps], sizes=sizes, max_size=max_size)
            loader = sluice.Loader(data, 5, columns={"image": column}, seed=3)
            made.append([batch["image"].numpy().copy() for _ in range(12) for batch in loader])
        assert all((a == b).all() for a, b in zip(*made, strict=True))


def row_bytes(data, column, **options):
    """Returns the bytes of a row, taken from a loader's error about too little memory for its slots."""
    with pytest.raises(sluice.OutOfMemoryError, match="has [0-9]+ bytes in each row") as caught:
        sluice.Loader(data, 8192, columns={"image": column}, memory_bytes=16 << 20, num_workers=1, **options)
    return int(str(caught.value).split(" bytes in each row")[0].split()[-1])


def test_a_limit_is_enough_where_sizes_are_not_known(photos):
    for steps, size in (
        ([T.RandomHorizontalFlip(), T.RandomShortestSize([20, 30], 50)], (50, 50)), ([T.Resize((20, 30))], (20, 30)),
        ([T.ScaleJitter((60, 50), (0.5, 2))], (120, 100)),
    ):  # fmt: skip
        given = C.Image(transform=steps, sizes="padded", max_size=size)
        assert row_bytes(photos, C.Image(transform=steps, sizes="padded")) == row_bytes(photos, given)
    for steps, why in (
        (None, "does not say how large"), ([T.Resize(20)], "does not say"), ([T.RandomZoomOut()], "does not say"),
        ([T.RandomApply([T.Resize(20, max_size=30)])], "does not say"), ([T.RandomOrder([T.Pad(3), T.Resize(9)]), T.Pad(1)], "random_order has no bound"),
    ):  # fmt: skip
        with pytest.raises(sluice.InvalidError, match=rf'column "image" needs max_size=\(height, width\).*{why}'):
            sluice.Loader(photos, 2, columns={"image": C.Image(transform=steps, sizes="padded")})


def test_images_turned_by_exif_fit(coco, packed):
    def wanted(height, width):
        return row_bytes(packed, C.Image(sizes="padded", max_size=(height, width)))

    for data in (coco, packed):
        assert row_bytes(data, C.Image(sizes="padded")) == wanted(90, 90)
    assert row_bytes(packed, C.Image(sizes="padded"), exif="ignore") == wanted(80, 90) < wanted(90, 90)


@pytest.mark.parametrize("exif", ["apply", "ignore"])
def test_annotations_may_be_of_images_turned_or_not(coco, tmp_path, exif):
    listed = json.loads(open(coco.paths[0]).read())
    turned = Image.Exif()
    turned[0x112] = 6
    for image, (height, width) in zip(listed["images"], SHAPES, strict=True):
        image["width"], image["height"] = height, width  # as with exif="apply"
        Image.new("RGB", (width, height)).save(tmp_path / image["file_name"], exif=turned)
    (tmp_path / "a.json").write_text(json.dumps(listed))
    with sluice.Loader(tmp_path / "a.json", len(SHAPES), columns={"image": C.Image(sizes="padded")}, exif=exif) as loader:
        assert next(iter(loader))["image"].shape[1:3] == ((80, 90) if exif == "ignore" else (90, 80))


def test_annotations_that_lie_make_bad_samples_that_name_max_size(coco, tmp_path):
    listed = json.loads(open(coco.paths[0]).read())
    for image in listed["images"]:
        image["width"] = image["height"] = 10
    for name in range(len(SHAPES)):
        (tmp_path / f"{name}.jpg").write_bytes(coco.read(name, "image"))
    (tmp_path / "a.json").write_text(json.dumps(listed))
    with pytest.raises(sluice.UnsupportedError, match="choose larger max_size="):
        list(sluice.Loader(tmp_path / "a.json", 1, columns={"image": C.Image(sizes="padded")}, exif="ignore"))


def test_each_image_of_a_sample_has_a_size(tmp_path):
    with sluice.Writer(tmp_path / "p", {"image": "image", "other": "image"}) as writer:
        for name, size in (("a", (9, 8)), ("b", (30, 20))):
            Image.new("RGB", size).save(tmp_path / f"{name}.png")
        writer.add(image=(tmp_path / "a.png").read_bytes(), other=(tmp_path / "b.png").read_bytes())
    columns = {name: C.Image(sizes="padded") for name in ("image", "other")}
    with sluice.Loader(tmp_path / "p", 1, columns=columns) as loader:
        batch = next(iter(loader))
    assert batch["image"].shape[1:3] == (8, 9) and batch["other"].shape[1:3] == (20, 30)


def test_bad_samples_and_missing_images_do_not_count(tmp_path):
    with sluice.Writer(tmp_path / "p", {"image": "image"}) as writer:
        Image.new("RGB", (9, 8)).save(tmp_path / "a.png")
        writer.add(image=(tmp_path / "a.png").read_bytes())
        writer.add(image=None)
    with sluice.Loader(tmp_path / "p", 2, columns={"image": C.Image(sizes="padded", missing="blank")}) as loader:
        assert next(iter(loader))["image"].sizes.numpy().tolist() == [[8, 9], [0, 0]]


def noise(seed, width=150, height=100):
    """An image that does not compress: about 45 kB."""
    file = io.BytesIO()
    Image.fromarray(numpy.random.RandomState(seed).randint(0, 256, (height, width, 3)).astype("uint8")).save(file, "PNG")
    return file.getvalue()


def read_bytes(data, **options):
    """Returns the bytes read by opening a loader over both fields."""
    def count():
        return int(pathlib.Path("/proc/self/io").read_text().partition("rchar: ")[2].split()[0])

    sluice.Loader(data, 2, columns={"image": C.Image(sizes="padded", max_size=9)}, num_workers=1).close()  # imports the modules in advance
    columns = {name: C.Image(sizes="padded") for name in ("image", "other")}
    before = count()
    sluice.Loader(data, 2, columns=columns, num_workers=1, **options).close()
    return count() - before


def test_heads_are_read(tmp_path):
    """They are read once for both fields, and only in the first sample of each size; also through a subset and joined datasets."""
    with sluice.Writer(tmp_path / "p", {"image": "image", "note": "text", "other": "image"}) as writer:
        for number in range(60):
            writer.add(image=noise(number), note="x" * number, other=noise(number, *((150, 100) if number < 50 else (100, 150))))
    with sluice.Writer(tmp_path / "q", {"other": "image", "image": "image"}) as writer:
        for number in range(10):
            writer.add(image=noise(number, 120, 140), other=noise(number))
    whole = sum(file.stat().st_size for file in (tmp_path / "p").glob("shard*"))
    assert whole > 60 * 80_000
    opening = read_bytes(sluice.Dataset(tmp_path / "p"), exif="ignore") - 2 * whole / 60
    assert 0 <= opening < whole / 10
    subset = sluice.Dataset(tmp_path / "p").subset(range(60))
    assert read_bytes(subset) < whole / 6 and read_bytes(subset) < whole / 50  # known since the first reading
    for parts, size in (("pq", (140, 150)), ("qp", (140, 150))):
        both = sluice.concat([sluice.Dataset(tmp_path / part) for part in parts], fields=["image", "other"])
        assert read_bytes(both) < whole / 5
        for name, wanted in (("image", size), ("other", (150, 150))):
            made, given = (C.Image(name, sizes="padded", max_size=value) for value in (None, wanted))
            assert row_bytes(both, made, exif="ignore") == row_bytes(both, given, exif="ignore")


@pytest.mark.parametrize("at", range(8))
def test_a_damaged_head_is_a_bad_sample(tmp_path, at):
    """A record's sizes are not trusted without its checksum: flips the highest bit of each byte of width and height."""
    with sluice.Writer(tmp_path / "p", {"image": "image"}) as writer:
        for number in range(3):
            writer.add(image=noise(number))
    shard = next((tmp_path / "p").glob("shard*"))
    content = bytearray(shard.read_bytes())
    record = content.index(struct.pack("<II", 150, 100), 4096 + 60)  # the second sample's
    content[record + at] ^= 0x80
    shard.write_bytes(content)
    given, made = (C.Image(sizes="padded", max_size=size) for size in ((100, 150), None))
    data, options = sluice.Dataset(tmp_path / "p"), {"exif": "ignore", "on_bad_sample": "mask"}
    assert row_bytes(data, made, **options) == row_bytes(data, given, **options)
    with sluice.Loader(data, 3, columns={"image": made}, **options) as loader:
        assert next(iter(loader))["mask"].numpy().tolist() == [1, 0, 1]


@pytest.mark.parametrize("on_bad_sample", ["fail", "mask"])
def test_the_reason_is_named_where_no_sample_can_be_read(tmp_path, on_bad_sample):
    with sluice.Writer(tmp_path / "p", {"image": "image"}) as writer:
        writer.add(image=noise(0))
    shard, data = next((tmp_path / "p").glob("shard*")), sluice.Dataset(tmp_path / "p")
    shard.write_bytes(shard.read_bytes()[:-1000])
    with pytest.raises(sluice.CorruptError, match="the file has .* bytes instead of"):
        sluice.Loader(data, 1, columns={"image": C.Image(sizes="padded")}, on_bad_sample=on_bad_sample, num_workers=1)


def test_memory_is_refused_before_heads_are_read(tmp_path):
    with sluice.Writer(tmp_path / "p", {"image": "image", "x": ("tensor", "float32", (1000,))}) as writer:
        writer.add(image=noise(0), x=[0] * 1000)
    columns = {"image": C.Image(sizes="padded"), "x": C.Tensor()}
    for shard in (data := sluice.Dataset(tmp_path / "p")) and (tmp_path / "p").glob("shard*"):
        shard.unlink()
    with pytest.raises(sluice.OutOfMemoryError, match="need at least 131072000 bytes besides images, but memory_bytes is 104857600"):
        sluice.Loader(data, 8192, columns=columns, memory_bytes=100 << 20, num_workers=1)


def test_samples_that_cannot_be_read_end_opening_only_where_they_end_an_epoch(packed, tmp_path):
    lost = shutil.copytree(packed.paths[0], tmp_path / "lost")
    both = sluice.concat([packed, sluice.Dataset(lost)])
    for shard in lost.glob("shard*"):
        shard.unlink()
    columns = {"image": C.Image(sizes="padded")}
    with sluice.Loader(both, 2, columns=columns, on_bad_sample="mask", num_workers=1) as loader:
        assert max(batch["image"].shape[2] for batch in loader) == 90
        assert loader.stats()["bad_samples"] >= len(SHAPES)
    with pytest.raises(sluice.IOError, match="shard"):
        sluice.Loader(both, 2, columns=columns, num_workers=1)


def test_sizes_are_read_only_where_they_are_needed_and_once(packed, tmp_path):
    lost = shutil.copytree(packed.paths[0], tmp_path / "lost")
    data = sluice.Dataset(lost)
    known = sluice.Dataset(lost)
    padded = C.Image(sizes="padded")
    sluice.Loader(known, 2, columns={"image": padded}, num_workers=1).close()
    for shard in lost.glob("shard*"):
        shard.unlink()
    sluice.Loader(known, 2, columns={"image": padded, "view": C.Image("image", sizes="ragged")}, num_workers=1).close()
    for fixed in (T.RandomCrop(32, pad_if_needed=True), T.Resize((20, 30))):
        sluice.Loader(data, 2, columns={"image": C.Image(transform=fixed, sizes="padded")}, num_workers=1).close()
    with pytest.raises(ValueError, match="labell"):
        sluice.Loader(data, 2, columns={"image": padded, "typo": C.Number("labell")}, num_workers=1)
    with pytest.raises(sluice.IOError, match="shard"):
        sluice.Loader(data, 2, columns={"image": padded}, num_workers=1)


def test_a_size_that_no_image_can_have_is_that_of_a_bad_sample(coco, tmp_path):
    listed = json.loads(open(coco.paths[0]).read())
    listed["images"][0]["width"] = 70000
    for name in range(len(SHAPES)):
        (tmp_path / f"{name}.jpg").write_bytes(coco.read(name, "image"))
    (tmp_path / "a.json").write_text(json.dumps(listed))
    columns = {"image": C.Image(sizes="padded")}
    with sluice.Loader(tmp_path / "a.json", 1, columns=columns, on_bad_sample="mask") as loader:
        assert max(batch["image"].shape[1] for batch in loader) == 80
    with pytest.raises(sluice.OutOfMemoryError, match=r"in each row, by max_size=\(height, width\), or their default"):
        sluice.Loader(coco, 8192, columns=columns, memory_bytes=16 << 20, num_workers=1)


def test_an_elastic_step_keeps_the_size(coco):
    column = C.Image("image", transform=[T.ElasticTransform(9.0)], sizes="padded")
    with sluice.Loader(coco, len(SHAPES), columns={"image": column}) as loader:
        assert next(iter(loader))["image"].shape[1:3] == (80, 90)

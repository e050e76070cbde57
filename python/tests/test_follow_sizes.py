# SPDX-License-Identifier: Apache-2.0
"""Masks, class maps and instances of images with variable sizes, or bucket sizes, in a batch: pixels encode
their origin, so the images judge the masks."""
import json

import numpy
import pytest
from following import SMALL
from test_mosaic import COUNT, FILL, NEAREST, label_of, png, sample, write

import sluice
from sluice import columns as C
from sluice import transforms as T

MAX = 200
LENGTH = 9


@pytest.fixture(scope="module")
def samples():
    return [sample(number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def data(samples, tmp_path_factory):
    return write(tmp_path_factory.mktemp("sizes") / "packed", samples)


def columns(image, **more):
    return {
        "image": image, "seg": C.Mask("mask", fill=FILL), "wide": C.Mask("wide", fill=-1),
        "boxes": C.Boxes(length=LENGTH, min_size=0, min_area=0), "labels": C.Ragged(length=LENGTH, follows="boxes"),
        "masks": C.Instances("shapes", length=LENGTH, follows="boxes"),
        "classes": C.Mask("shapes", labels="labels", background=3, fill=7, dtype="int64"), **more,
    }  # fmt: skip


def fixed(data, row, steps):
    """Returns the values of a sample when all images have the size that this one was resized to, without random draws."""
    one = sluice.Dataset(data).subset([row])
    with sluice.Loader(one, batch_size=1, columns=columns(C.Image(transform=steps)), exact=True, num_workers=1, **SMALL) as loader:
        (batch,) = loader
        return {name: batch[name].numpy().copy() for name in ("image", "seg", "wide", "masks", "classes", "labels", "boxes")}


RECIPES = {
    "as they are": None,
    "shorter": [T.Resize(40, NEAREST)],
    "cut": [T.RandomHorizontalFlip(1.0), T.RandomShortestSize([30], 50, NEAREST), T.Pad(3, FILL)],
}


def size_and_steps(recipe, picture):
    height, width = picture.shape[:2]
    if recipe == "as they are":
        return (height, width), [T.Resize((height, width))]
    if recipe == "shorter":
        size = (40, int(40 * width / height)) if height <= width else (int(40 * height / width), 40)
        return size, [T.Resize(size, NEAREST)]
    ratio = min(30 / min(height, width), 50 / max(height, width))
    inner = int(height * ratio), int(width * ratio)
    return (inner[0] + 6, inner[1] + 6), [T.RandomHorizontalFlip(1.0), T.Resize(inner, NEAREST), T.Pad(3, FILL)]


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_masks_have_the_sizes_of_their_pictures(data, samples, recipe, sizes):
    image = C.Image("image", transform=RECIPES[recipe], sizes=sizes, max_size=MAX)
    seen = 0
    with sluice.Loader(data, batch_size=7, shuffle=True, last_batch="short", columns=columns(image), exact=True, seed=4) as loader:
        for batch in loader:
            index = batch["index"].tolist()
            pictures, boxes = batch.pictures(), numpy.split(batch["boxes"].numpy(), batch["boxes.offsets"].tolist()[1:-1])
            rows = {name: batch.pictures(name) for name in ("seg", "wide", "classes", "masks")}
            for name in ("seg", "wide", "classes"):
                assert (batch[f"{name}.sizes"].numpy() == batch["image.sizes"].numpy()).all()
            largest = tuple(batch["image.sizes"].numpy().max(axis=0))
            if sizes == "padded":
                assert batch["seg"].shape == batch["classes"].shape == (len(index), *largest)
                for row, (height, width) in enumerate(batch["image.sizes"].tolist()):
                    for name, fill in (("seg", FILL), ("wide", -1), ("classes", 7)):
                        rest = batch[name].numpy()[row].copy()
                        rest[:height, :width] = fill
                        assert (rest == fill).all(), name
            else:
                pixels = numpy.cumsum([0, *batch["image.sizes"].numpy().prod(axis=1)])
                assert (batch["seg.offsets"].numpy() == pixels).all() and batch["wide"].shape == (pixels[-1],)
            for row, number in enumerate(index):
                size, steps = size_and_steps(recipe, samples[number]["image"])
                assert pictures[row].shape == (*size, 3) and rows["seg"][row].shape == rows["wide"][row].shape == size
                filled = (pictures[row] == FILL).all(axis=-1)
                wanted = label_of(pictures[row])
                assert (rows["seg"][row] == numpy.where(filled, FILL, wanted)).all()
                assert (rows["wide"][row] == numpy.where(filled, -1, wanted.astype("int64") + (1 << 40))).all()
                alone = fixed(data, number, steps)
                assert (rows["classes"][row] == alone["classes"][0]).all() and (boxes[row] == alone["boxes"]).all()
                assert rows["masks"][row].shape == alone["masks"].shape == (len(boxes[row]), *size)
                assert (rows["masks"][row] == alone["masks"]).all() and (alone["masks"] == 1).any()
            seen += len(index)
    assert seen == COUNT


@pytest.mark.parametrize("exact", [True, False])
def test_masks_have_the_size_of_the_bucket(data, exact):
    buckets = [(48, 32), (32, 48), (40, 40)]
    image = C.Image("image", transform=[T.BucketCrop(interpolation=NEAREST), T.RandomHorizontalFlip()])
    sizes = set()
    with sluice.Loader(data, 5, True, columns=columns(image), buckets=buckets, last_batch="short", exact=exact) as loader:
        for batch in loader:
            size = batch["image"].shape[1:3]
            assert batch["seg"].shape[1:] == batch["wide"].shape[1:] == batch["classes"].shape[1:] == size
            pictures = batch["image"].numpy()
            assert (batch["seg"].numpy() == label_of(pictures)).all()
            assert (batch["wide"].numpy() == label_of(pictures).astype("int64") + (1 << 40)).all()
            masks, labels = batch.pictures("masks"), numpy.split(batch["labels"].numpy(), batch["labels.offsets"].tolist()[1:-1])
            for row, of in enumerate(masks):
                assert of.shape == (len(labels[row]), *size)
                drawn = numpy.full(size, 3)
                for mask, label in zip(of, labels[row]):
                    drawn[mask != 0] = label
                assert (batch["classes"].numpy()[row] == drawn).all()
            sizes.add(size)
    assert sizes == set(buckets)


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_bad_samples_have_no_masks(samples, tmp_path, sizes):
    path = write(tmp_path / "packed", samples[:8], broken=(2, 5))
    image = C.Image("image", sizes=sizes, max_size=MAX)
    bad = 0
    for batch in sluice.Loader(path, 4, columns=columns(image), on_bad_sample="mask"):
        for row, good in enumerate(batch["mask"].tolist()):
            shape = batch.pictures("seg")[row].shape
            assert (shape != (0, 0)) == good and batch.pictures("masks")[row].shape[1:] == (shape if len(batch.pictures("masks")[row]) else (0, 0))
            bad += not good
            if not good and sizes == "padded":
                assert (batch["seg"].numpy()[row] == FILL).all()
    assert bad == 2


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_pictures_without_objects_have_no_masks_of_their_size(samples, tmp_path, sizes):
    some = [dict(s) for s in samples[:6]]
    for s in some[::2]:
        s |= {"boxes": s["boxes"][:0], "labels": s["labels"][:0], "shapes": "[]", "points": s["points"][:0]}
    path = write(tmp_path / "packed", some)
    for batch in sluice.Loader(path, 3, columns=columns(C.Image("image", sizes=sizes, max_size=MAX))):
        for row, index in enumerate(batch["index"].tolist()):
            shape = some[index]["image"].shape[:2]
            assert batch.pictures("masks")[row].shape == (0 if index % 2 == 0 else 5, *shape) and batch.pictures("classes")[row].shape == shape


@pytest.mark.parametrize("sizes", ["padded", "ragged"])
def test_masks_that_may_be_missing(samples, tmp_path, sizes):
    """Zeros of the image's size: the largest image has no mask."""
    some = sorted((dict(s) for s in samples[:5]), key=lambda s: -s["image"].shape[0] * s["image"].shape[1])
    path = tmp_path / "packed"
    with sluice.Writer(path, {"image": "image", "mask": "image", "shapes": "text"}) as writer:
        for number, s in enumerate(some):
            writer.add(image=png(s["image"]), **({"mask": png(s["mask"]), "shapes": s["shapes"]} if number else {}))
    made = {"image": C.Image("image", sizes=sizes, max_size=MAX), "seg": C.Mask("mask", missing="blank"), "m": C.Instances("shapes", length=9, missing="blank")}
    (batch,) = sluice.Loader(path, 5, columns=made)
    for row, s in enumerate(some):
        shape = s["image"].shape[:2]
        assert batch.pictures("seg")[row].shape == shape and (batch.pictures("seg")[row] == (s["mask"] if row else 0)).all()
        assert batch.pictures("m")[row].shape == (5 if row else 0, *shape)


def test_masks_of_another_size_than_their_picture(samples, tmp_path):
    """Run lengths, which cannot be scaled like shapes."""
    s = dict(samples[0])
    height, width = s["image"].shape[:2]
    for size, good in (([height, width], True), ([height, width + 1], False), ([width, height], height == width)):
        counts = [1, 3, size[0] * size[1] - 4]
        s["shapes"] = json.dumps([{"size": size, "counts": counts}] * 5)
        path = write(tmp_path / f"{size[0]}x{size[1]}", [s])
        for name, column in (
            ("m", C.Instances("shapes", length=9)), ("map", C.Mask("shapes", labels="labels", dtype="int64")), ("b", C.Boxes("boxes", length=9, shapes="shapes")),
        ):  # fmt: skip
            loader = sluice.Loader(path, 1, columns={"image": C.Image(transform=T.Resize((20, 20))), name: column})
            if good:
                list(loader)
            else:
                with pytest.raises(sluice.Error, match=f"shape 0 is a mask of {size[0]} x {size[1]} .height x width., but its image is {height} x {width}"):
                    list(loader)


def test_depth_is_between_pixels(data):
    """Bilinear interpolation of floats."""
    steps = [T.RandomShortestSize([25], 60)]
    image = C.Image("image", transform=steps, sizes="padded", max_size=60)
    for batch in sluice.Loader(data, 6, columns={"image": image, "map": C.Mask("mask", interpolation="bilinear", dtype="float32", fill=-2)}):
        for row, (height, width) in enumerate(batch["image.sizes"].tolist()):
            own = batch["map"].numpy()[row]
            assert (own[:height, :width] >= 0).all() and (own[height:] == -2).all() and (own[:, width:] == -2).all()


def test_targets_of_torch(data):
    pytest.importorskip("torch")
    from sluice.torch import DataLoader, targets

    image = C.Image("image", transform=[T.RandomShortestSize([30], 60)], sizes="padded", max_size=60, layout="NCHW", dtype="float32")
    for batch in DataLoader(data, 5, columns=columns(image)):
        for picture, target in zip(batch.pictures(), targets(batch, "boxes", "labels", "masks"), strict=True):
            assert tuple(target["masks"].shape) == (len(target["boxes"]), *picture.shape[1:]) and len(target["labels"]) == len(target["boxes"])


def test_more_masks_than_there_is_space_for(data):
    image = C.Image("image", sizes="ragged", max_size=MAX)
    few = {"image": image, "masks": C.Instances("shapes", length=3)}
    with pytest.raises(sluice.Error, match='"shapes" is too long: length 5, the column holds at most 3'):
        list(sluice.Loader(data, 4, columns=few))
    few["masks"] = C.Instances("shapes", length=3, too_long="truncate")
    for batch in sluice.Loader(data, 4, columns=few):
        assert [len(masks) for masks in batch.pictures("masks")] == [3] * len(batch["index"])


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"padded": C.Instances("shapes", length=3, padded=True)}, "masks must be ragged"),
        ({f"m{i}": C.Mask("mask") for i in range(16)}, "16 ragged"),
    ],
)
def test_refused(data, more, why):
    with pytest.raises(ValueError, match=why):
        sluice.Loader(data, 2, columns={"image": C.Image("image", sizes="padded", max_size=MAX), **more})

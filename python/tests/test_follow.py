# SPDX-License-Identifier: Apache-2.0
"""Masks and points follow an image: compared with Pillow's calls on masks, and with brute force over pixels."""
import io

import numpy
import pytest
from following import BILINEAR, BOXES, COUNT, NEAREST, data, moved, png, recipe, reflects, rows, sample, samples  # noqa: F401
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

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


@pytest.mark.parametrize("exact", [True, False])
def test_masks_are_what_pictures_are(data, exact):
    """With nearest everywhere, and images that are masks; without exact, warps and resizes of images are composed in the same way."""
    for seed in range(40):
        steps, fill = recipe(numpy.random.RandomState(seed), NEAREST)
        columns = {"image": C.Image(transform=steps), "seg": C.Mask("mask", fill=fill)}
        for _, row in rows(data, columns, exact=exact, seed=seed):
            assert (row["seg"] == row["image"][:, :, 0]).all(), seed


def test_colours_leave_masks(data):
    """The same with steps that change pixel values only, between, before and after the others."""
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
    """Compared byte by byte, regardless of the width of a value."""
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
    """For linear data, a map has the exact value at each position; at the edges of the image, the value on the edge."""
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


# ---- where image positions move ----


def test_geometry_is_where_pixels_are(data):
    """A mask of positions shows the source of each output pixel: the geometry's matrix must map back to it."""
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
            # the nearest pixel in each of up to six steps: half a pixel of each, at its scale
            centres = numpy.stack([x + 0.5, y + 0.5], axis=-1)
            back, _ = moved(numpy.linalg.inv(row["g"]), centres)
            off = numpy.minimum(numpy.abs(back - places).max(axis=-1), numpy.abs(to - centres).max(axis=-1))
            assert numpy.median(off) <= 1.2, seed
            box = row["g.box"]
            assert (places >= box[:2] - 2).all() and (places <= box[2:] + 2).all(), seed


# Perspectives with a border after them: the output's corner is beyond the horizon.
BORDERS = [[T.RandomZoomOut(0, (4, 4), 1)], [T.Pad(100)], [T.LetterBox((200, 100))], []]


@pytest.mark.parametrize("border", BORDERS)
def test_a_perspective_mirrors_nothing(data, samples, border):
    """`mirror`, `.flip` and `.scale`, judged by where the matrix maps positions near the middle."""
    exchanged = 0
    for flip in (0.0, 0.5):
        steps = [T.RandomHorizontalFlip(flip), T.RandomPerspective(0.6, 1), *border, T.Resize((120, 130))]
        columns = {
            "image": C.Image(transform=steps), "points": C.Points(length=BOXES, point_values=3),
            "hands": C.Points("points", length=BOXES, mirror=[1, 0, 3, 2]), "g": C.Geometry(),
        }  # fmt: skip
        for _, row in rows(data, columns, epochs=4, seed=6):
            middle = (row["g.box"][:2] + row["g.box"][2:]).astype(float) / 2
            about, weights = moved(row["g"], middle + [[-0.01, 0], [0.01, 0], [0, -0.01], [0, 0.01]])
            across, down = (about[1] - about[0]) / 0.02, (about[3] - about[2]) / 0.02
            if (weights <= 0).any():  # the box around the visible part reaches beyond the horizon
                assert (row["g.scale"] == 0).all()
                continue
            turned = across[0] * down[1] - across[1] * down[0] < 0
            assert row["g.flip"].tolist() == [turned, 0] and (flip or not turned)
            assert numpy.allclose(row["g.scale"], [numpy.hypot(*across), numpy.hypot(*down)], rtol=1e-3)
            made = row["points"].reshape(BOXES, 4, 3)
            assert (row["hands"].reshape(BOXES, 4, 3) == (made[:, [1, 0, 3, 2]] if turned else made)).all()
            exchanged += turned
    assert 10 < exchanged < 86


def test_a_turn_is_no_flip(data):
    """At any angle; flips of a rotated image count as they do alone."""
    for degrees in (90, 100, 135, 170, 180, 270):
        for want, flips in (
            ([0, 0], []), ([1, 0], [T.RandomHorizontalFlip(1)]), ([0, 1], [T.RandomVerticalFlip(1)]),
            ([1, 1], [T.RandomHorizontalFlip(1), T.RandomVerticalFlip(1)]), ([0, 0], [T.RandomHorizontalFlip(1)] * 2),
        ):  # fmt: skip
            for steps in ([T.RandomRotation((degrees, degrees)), *flips], [*flips, T.RandomRotation((degrees, degrees))]):
                columns = {"image": C.Image(transform=[*steps, T.Resize((80, 80))]), "g": C.Geometry()}
                assert all(row["g.flip"].tolist() == want for _, row in rows(data, columns))


def test_points(data, samples):
    """Each moves as the matrix says; points that are not visible have visibility 0, and are 0."""
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
                outside = (to < 0).any(axis=-1) | (to >= [53, 37]).any(axis=-1)  # only crops of the image itself
                close = (numpy.abs(to) < 1e-2).any(axis=-1) | (numpy.abs(to - [53, 37]) < 1e-2).any(axis=-1)
                assert (gone == (outside & (stored[:, :, 2] > 0)))[~close].all()
            mirrored = numpy.linalg.det(row["g"]) < 0
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
    """A column shorter than its box column has the first values, or a bad sample."""
    columns = {"image": C.Image(transform=[T.Resize((64, 64))]), "boxes": C.Boxes(length=BOXES), "all": C.Ragged("labels", length=BOXES, follows="boxes")}
    short = {"labels": C.Ragged(length=2, follows="boxes", too_long="truncate"), "points": C.Points(length=2, follows="boxes", too_long="truncate")}
    seen = 0
    for _, row in rows(data, columns | short):
        assert row["labels"].tolist() == row["all"].tolist()[:2] and len(row["points"]) == min(2, len(row["all"]))
        seen += len(row["all"]) > 2
    assert seen
    with pytest.raises(sluice.Error, match='"labels" is too long: length ., the column holds at most 2'):
        list(rows(data, columns | {"labels": C.Ragged(length=2, follows="boxes")}))


def test_two_groups(data):
    """Columns of two images of one field follow their own image; names say which."""
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
    """Regardless of the number of workers, in memory or read again, and when resumed from a state."""
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
        {row["index"].item(): (row["seg"].tobytes(), row["boxes"].tobytes()) for _, row in rows(data, followers(s), last_batch="drop")}
        for s in (steps, [*steps, T.MixUp(alpha=1.0, num_classes=None)])
    )
    assert plain == mixed


@pytest.mark.parametrize("policy", [T.RandAugment(2, 9), T.TrivialAugmentWide(), T.AutoAugment()])
def test_policies(data, policy):
    """torchvision's use nearest, so the mask moves like the image if colours stay unchanged."""
    steps = [T.Resize((60, 60), interpolation=NEAREST), policy]
    turned = 0
    for seed in range(6):
        columns = {"image": C.Image(transform=steps), "seg": C.Mask("mask"), "g": C.Geometry(), "places": C.Mask(channels=2, fill=-1)}
        for index, row in rows(data, columns, seed=seed, exact=True):
            turned += bool(numpy.abs(row["g"][:2, :2] - numpy.diag(numpy.diag(row["g"])[:2])).max() > 1e-6)
            y, x = numpy.nonzero(row["places"][..., 0] >= 0)
            to, _ = moved(row["g"], row["places"][y, x].astype(float))
            assert len(x) == 0 or numpy.median(numpy.abs(to - numpy.stack([x + 0.5, y + 0.5], axis=-1)).max(axis=-1)) < 2
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
    """Coordinates refer to the image as its transform receives it."""
    made = io.BytesIO()
    exif = Image.Exif()
    exif[0x112] = 6  # rotated by a quarter turn
    Image.new("RGB", (40, 20)).save(made, "JPEG", exif=exif)
    with sluice.Writer(tmp_path / "d", {"image": "image", "mask": "image"}) as writer:
        writer.add(image=made.getvalue(), mask=png(numpy.zeros((40, 20), "uint8")))
    columns = {"image": C.Image(transform=T.Resize((8, 8))), "seg": C.Mask("mask"), "g": C.Geometry()}
    (_, row), = rows(tmp_path / "d", columns, exif=True)
    assert row["g.size"].tolist() == [40, 20]
    (_, row), = rows(tmp_path / "d", columns)  # the mask, which belongs to the upright image, is rotated back with it
    assert row["g.size"].tolist() == [20, 40]

# SPDX-License-Identifier: Apache-2.0
"""MixUp with partners: the result equals numpy's blend of the two images with the returned share."""
import numpy
import pytest
from PIL import Image, ImageEnhance
from test_mosaic import COUNT, FILL, NEAREST, following, members, rows, same_every_time, sample, write

import sluice
from sluice import columns as C
from sluice import transforms as T

SIZE = 40, 50


@pytest.fixture(scope="module")
def samples():
    return [sample(number) for number in range(COUNT)]


@pytest.fixture(scope="module")
def data(samples, tmp_path_factory):
    return write(tmp_path_factory.mktemp("mixup") / "packed", samples)


def blend(share, own, other):
    """Blends in binary32: the exact product, held in a double, plus a rounded one; rounded to nearest even."""
    share = numpy.float32(share)
    rest = (numpy.float32(1) - share) * other.astype("float32")
    return numpy.rint((float(share) * own + rest).astype("float32")).astype("uint8")


SHARP = T.RandomAdjustSharpness(2, p=1.0)
BEFORE = {
    "resized": [T.Resize(SIZE)],
    "inverted": [T.Resize(SIZE), T.RandomInvert(1.0)],
    "sharp": [T.Resize(SIZE), SHARP],
    "sharper": [T.Resize(SIZE), SHARP, T.RandomInvert(1.0), SHARP],
    "from a larger one": [T.Resize((90, 70)), SHARP, T.Resize(SIZE), T.RandomSolarize(90, 1.0)],
    "moved": [T.Pad(3, FILL), T.Resize(SIZE), T.RandomHorizontalFlip(1.0)],
}
BEHIND = {
    "nothing": ([], lambda picture: picture),
    "flipped": ([T.RandomHorizontalFlip(1.0)], lambda picture: picture[:, ::-1]),
    "inverted": ([T.RandomInvert(1.0)], lambda picture: 255 - picture),
    "sharp": ([SHARP], lambda picture: numpy.asarray(ImageEnhance.Sharpness(Image.fromarray(picture)).enhance(2))),
    "cut": ([T.RandomInvert(1.0), T.CenterCrop(30), T.RandomVerticalFlip(1.0)], lambda picture: 255 - picture[34:4:-1, 10:40]),
    "resized": ([T.Resize((20, 25), NEAREST)], lambda picture: numpy.asarray(Image.fromarray(picture).resize((25, 20), Image.NEAREST))),
}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("before", BEFORE)
def test_pictures_are_blended(data, before, behind, exact):
    steps, then = BEHIND[behind]
    columns = {
        "image": C.Image(transform=[*BEFORE[before], T.MixUpPartner(0.5), *steps]),
        "own": C.Image("image", transform=BEFORE[before]), "other": C.Image("image", transform=BEFORE[before], partner=1),
        **members(2),
    }  # fmt: skip
    pairs = 0
    for _, row in rows(data, columns, exact=exact):
        assert 0 <= row["image.share"] <= 1 and row["index"] == row["id0"]
        assert (row["image"] == then(blend(row["image.share"], row["own"], row["other"]))).all()
        pairs += row["id0"] != row["id1"]
    assert pairs > COUNT / 2


def test_a_loss_has_all_it_needs(data):
    """Normalised, channels first, with the labels of both."""
    columns = {
        "image": C.Image(transform=[T.Resize(SIZE), T.MixUpPartner(0.2), T.Normalize([0.5] * 3, [0.25] * 3)], layout="NCHW"),
        "own": C.Image("image", transform=T.Resize(SIZE)), "other": C.Image("image", transform=T.Resize(SIZE), partner=1),
        "label": C.Number("class"), "other_label": C.Number("class", partner=1),
    }  # fmt: skip
    for _, row in rows(data, columns):
        made = blend(row["image.share"], row["own"], row["other"]).transpose(2, 0, 1).astype("float64")
        assert numpy.abs(row["image"] - (made / 255 - 0.5) / 0.25).max() < 1e-5
        assert row["image.share"].dtype == numpy.float32 and row["label"] == row["own"][0, 0, 2] // 8 % 4 and row["other_label"] == row["other"][0, 0, 2] // 8 % 4


@pytest.mark.parametrize("alpha", [0.5, 1.0, 4.0, 32.0])
def test_shares_are_of_a_beta_distribution(data, alpha):
    """Kolmogorov-Smirnov: with x = sin(t)^2 its density is (sin t cos t)^(2 alpha - 1)."""
    steps = [T.Resize((1, 1)), T.MixUpPartner(alpha)]
    shares = numpy.sort([row["image.share"] for _, row in rows(data, {"image": C.Image(transform=steps)}, range(40))])
    assert len(set(shares.tolist())) > 0.99 * len(shares) == 0.99 * 40 * COUNT
    t = (numpy.arange(200000) + 0.5) / 200000 * numpy.pi / 2
    total = numpy.cumsum((numpy.sin(t) * numpy.cos(t)) ** (2 * alpha - 1))
    expected = numpy.interp(numpy.arcsin(numpy.sqrt(shares)), t, total / total[-1])
    steps = numpy.arange(len(shares) + 1) / len(shares)
    distance = max(numpy.abs(expected - steps[1:]).max(), numpy.abs(expected - steps[:-1]).max())
    assert distance < 1.95 / len(shares) ** 0.5  # exceeded once in a thousand


def test_what_is_before_is_drawn_for_each(data):
    """Either image may be mirrored: four equally likely cases."""
    columns = {
        "image": C.Image(transform=[T.Resize(SIZE), T.RandomHorizontalFlip(), T.MixUpPartner(), T.RandomVerticalFlip()]),
        "own": C.Image("image", transform=T.Resize(SIZE)), "other": C.Image("image", transform=T.Resize(SIZE), partner=1),
    }  # fmt: skip
    seen = numpy.zeros(8, int)
    for _, row in rows(data, columns, range(10)):
        cases = [
            (blend(row["image.share"], row["own"][:, :: 1 - 2 * a], row["other"][:, :: 1 - 2 * b])[:: 1 - 2 * c] == row["image"]).all()
            for a in (0, 1)
            for b in (0, 1)
            for c in (0, 1)
        ]
        assert sum(cases) >= 1
        seen[cases.index(True)] += 1
    assert seen.min() > 15 and seen.sum() == 10 * COUNT


@pytest.mark.parametrize("tiles", [1, 4])
def test_the_rows_own_layer_stays(data, tiles):
    """A row that is not mixed equals one without the step, and reports it."""
    steps = [T.Mosaic(24, fill=FILL)] if tiles > 1 else []
    steps = [*steps, T.RandomAffine(20, (0.1, 0.1), (0.6, 1.4), fill=FILL), T.RandomResizedCrop(33), T.ColorJitter(0.4, 0.4, 0.4, 0.1)]
    behind = [T.RandomHorizontalFlip(), T.ColorJitter(0.2)]

    def made(*mixing, **options):
        columns = {"image": C.Image(transform=[*steps, *mixing, *behind]), **{k: v for k, v in following(steps).items() if k in ("boxes", "labels", "points", "geometry")}}
        return {(epoch, int(row["index"])): row for epoch, row in rows(data, columns, (0, 1, 2), exact=True, **options)}

    alone, half, never, ended = made(), made(T.MixUpPartner(p=0.5)), made(T.MixUpPartner(p=0)), made(T.MixUpPartner(end_epoch=1))
    mixed = {key for key in half if half[key]["image.share"] < 1}
    assert 0.3 < len(mixed) / len(half) < 0.7
    for key, row in alone.items():
        for other, same in ((half, key not in mixed), (never, True), (ended, key[0] >= 1)):
            assert (other[key]["image.share"] == 1) == same
            count = len(row["labels"])
            assert (other[key]["labels"][:count] == row["labels"]).all() and (other[key]["boxes"][:count] == row["boxes"]).all()
            assert (other[key]["points"][:count] == row["points"]).all() and (other[key]["geometry"] == row["geometry"]).all()
            if same:
                assert len(other[key]["labels"]) == count and (other[key]["image"] == row["image"]).all()


def test_what_belongs_to_both_follows(data, samples):
    steps = [T.Resize(SIZE), T.MixUpPartner(), T.RandomHorizontalFlip(1.0)]
    columns = {name: column for name, column in following(steps).items() if name not in ("seg", "wide", "classes")} | members(2)
    for _, row in rows(data, columns, exact=True):
        boxes, labels, points = [], [], []
        for number in (int(row["id0"]), int(row["id1"])):
            stored = samples[number]
            scale = numpy.array([SIZE[1] / stored["image"].shape[1], SIZE[0] / stored["image"].shape[0]])
            moved = stored["boxes"].astype("float64") * numpy.tile(scale, 2)
            boxes.append(numpy.stack([SIZE[1] - moved[:, 2], moved[:, 1], SIZE[1] - moved[:, 0], moved[:, 3]], 1).clip(0, [50, 40, 50, 40]))
            keep = (boxes[-1][:, 2:] - boxes[-1][:, :2] >= 1).all(axis=1)  # as the column keeps them
            boxes[-1] = boxes[-1][keep]
            labels.append(stored["labels"][keep])
            points.append((stored["points"][:, :2] * scale * [-1, 1] + [SIZE[1], 0])[keep])
        assert row["labels"].tolist() == numpy.concatenate(labels).tolist()
        assert numpy.abs(row["boxes"] - numpy.concatenate(boxes)).max() < 1e-3
        seen = row["points"][:, 2] > 0
        assert seen.mean() > 0.5 and numpy.abs(row["points"][seen, :2] - numpy.concatenate(points)[seen]).max() < 1e-3
        for box, shape in zip(row["boxes"], row["shapes"]):  # of a rectangle
            y, x = numpy.nonzero(shape)
            assert numpy.abs([x.min() - box[0], y.min() - box[1], x.max() + 1 - box[2], y.max() + 1 - box[3]]).max() <= 1
        assert (row["geometry"][:, 2] == [SIZE[1], 0, 1]).all()  # the row's own image


@pytest.mark.parametrize("grid", [2, 3])
@pytest.mark.parametrize("exact", [True, False])
def test_mosaics_are_blended(data, grid, exact):
    """Blue encodes the sample: the mosaic blended into the row's own consists of the next partners' images, with its own random draw."""
    count = grid * grid
    steps = [T.Mosaic(48, grid, FILL, interpolation=NEAREST), T.RandomAffine(0, (0.05, 0.05), (0.7, 1.3), fill=FILL), T.CenterCrop(48)]
    follows = {"boxes": C.Boxes(length=200), "labels": C.Ragged(length=200, follows="boxes"), "shapes": C.Instances(length=200, follows="boxes")}
    alone = {int(row["index"]): row for _, row in rows(data, {"image": C.Image(transform=steps), **follows}, exact=exact)}
    differ = both = 0
    for _, row in rows(data, {"image": C.Image(transform=[*steps, T.MixUpPartner()]), **follows, **members(2 * count)}, exact=exact):
        ids = [int(row[f"id{j}"]) for j in range(2 * count)]
        own, share = alone[int(row["index"])], float(row["image.share"])
        blue = (row["image"][..., 2] - share * own["image"][..., 2]) / (1 - share)
        known = numpy.array([FILL, *(8 * number for number in ids[count:])])
        assert numpy.abs(blue[..., None] - known).min(axis=-1).max() <= 0.51 / (1 - share)
        here = len(own["labels"])
        assert (row["labels"][:here] == own["labels"]).all() and (row["boxes"][:here] == own["boxes"]).all()
        assert (row["shapes"][:here] == own["shapes"]).all() and len(row["shapes"]) == len(row["labels"])
        assert {int(label) // 100 for label in row["labels"][here:]} <= set(ids[count:])
        for label, box in zip(row["labels"][here:], row["boxes"][here:]):  # where its image is
            inside = numpy.abs(blue - 8 * (label // 100)) <= 0.51 / (1 - share)
            both += inside[int(box[1]) : int(numpy.ceil(box[3])), int(box[0]) : int(numpy.ceil(box[2]))].any()
            differ += 1
    assert differ > 2 * COUNT and both == differ


def everything(data, **options):
    steps = [T.Mosaic(24, fill=FILL), T.RandomAffine(10, (0.1, 0.1), (0.6, 1.4), fill=FILL), T.CenterCrop(24)]
    columns = {
        "image": C.Image(transform=[*steps, T.ColorJitter(0.4), T.MixUpPartner(p=0.6), T.RandomHorizontalFlip(), T.GaussianBlur(3)]),
        "boxes": C.Boxes(length=90), "labels": C.Ragged(length=90, follows="boxes"), "view": C.Image("image", transform=[T.Resize(9), T.RandomCrop(9), T.MixUpPartner(1)]),
        **members(8),
    }  # fmt: skip
    found = {}
    for epoch, row in rows(data, columns, (0, 1), **options):
        found[epoch, int(row["index"])] = b"".join(row[name].tobytes() for name in sorted(row) if name not in ("mask", "status"))
    return found


def test_batches_are_the_same_every_time(data):
    wanted = same_every_time(everything, data)
    ranks = {}
    for rank in range(3):
        ranks |= everything(data, rank=rank, world_size=3)
    assert ranks == wanted


def test_bad_partners(samples, tmp_path):
    bad = {4, 17}
    data = write(tmp_path / "packed", samples, bad)
    columns = {"image": C.Image(transform=[T.Resize(SIZE), T.MixUpPartner()]), "boxes": C.Boxes(length=90), **members(2)}
    whole = {int(row["index"]): {int(row[f"id{j}"]) for j in range(2)} for _, row in rows(data, members(2))}
    lost = {}
    for _, row in rows(data, columns, on_bad_sample="mask"):
        lost[int(row["index"])] = row["mask"] == 0
        assert row["mask"] == 1 or (row["image.share"] == 1 and not row["image"].any() and len(row["boxes"]) == 0)
    assert lost == {index: bool(ids & bad) for index, ids in whole.items()}
    for _, row in rows(data, columns, on_bad_sample="replace"):
        assert not {int(row["id0"]), int(row["id1"])} & bad and row["mask"] == 1
    with pytest.raises(sluice.Error, match="sample (4|17)"):
        list(rows(data, columns))


def test_partners_by_class(data, samples):
    classes = numpy.array([s["class"] for s in samples])
    columns = {"image": C.Image(transform=[T.Resize((1, 1)), T.MixUpPartner()]), "a": C.Number("class"), "b": C.Number("class", partner=1)}
    for _, row in rows(data, columns, partners="other_class", classes=classes):
        assert row["a"] != row["b"] and row["image.share"] < 1


def test_at_least_one_box_counts_those_of_both(data):
    """Boxes are small enough to be lost; boxes of an image that is not blended in do not count."""
    steps = [T.RandomResizedCrop(16, (0.05, 0.1)), T.MixUpPartner(p=0.5)]
    found = {}
    for wanted in (False, True):
        columns = {"image": C.Image(transform=steps), "boxes": C.Boxes(length=9, min_visibility=0.3, at_least_one=wanted)}
        found[wanted] = sum(len(row["boxes"]) == 0 for _, row in rows(data, columns, range(4)))
    assert found[False] > 20 and found[True] < found[False] / 4


REFUSED = [
    ([T.MixUpPartner(), T.Resize((8, 8))], "steps before it must have a fixed output size"),
    ([T.ScaleJitter(9), T.MixUpPartner(), T.CenterCrop(8)], "steps before it must have a fixed output size"),
    ([T.Resize((8, 8)), T.MixUpPartner(), T.MixUpPartner()], "one of mixup_partner and copy_paste"),
    ([T.Resize((8, 8)), T.RandomApply([T.MixUpPartner()])], "cannot be in a group"),
    ([T.Resize((8, 8)), T.MixUpPartner(), T.RandomIoUCrop(), T.Resize((8, 8))], "boxes of one image"),
    ([T.Resize((8, 8)), T.MixUpPartner(), T.MixUp(alpha=1)], "rows are mixed once"),
]


@pytest.mark.parametrize("steps, reason", REFUSED)
def test_recipes_that_are_refused(data, steps, reason):
    with pytest.raises((sluice.Error, ValueError), match=reason):
        sluice.Loader(data, batch_size=2, columns={"image": C.Image(transform=steps)})


def test_columns_that_are_refused(data):
    steps = [T.Resize((8, 8)), T.MixUpPartner()]
    for columns, reason in (
        ({"image": C.Image(transform=steps), "seg": C.Mask("mask")}, "two labels of a pixel cannot be blended"),
        ({"image": C.Image(transform=steps), "map": C.Mask("shapes", labels="labels", dtype="int64")}, "two labels of a pixel cannot be blended"),
        ({"image": C.Image(transform=steps, partner=1)}, "cannot use a partner sample itself"),
        ({"image": C.Image(transform=steps, missing="blank")}, "none of them may be missing"),
        ({"image": C.Image(transform=steps), "image.share": C.Number("id")}, "two columns are named"),
    ):
        with pytest.raises((sluice.Error, ValueError), match=reason):
            sluice.Loader(data, batch_size=2, columns=columns)
    for wrong in ({"alpha": 0}, {"alpha": 2e9}, {"alpha": float("nan")}, {"p": 2}, {"end_epoch": 0}):
        with pytest.raises(ValueError):
            T.MixUpPartner(**wrong)


def test_a_window_by_boxes_before_it(data):
    """Each layer uses the boxes of its own image."""
    steps = [T.RandomIoUCrop(), T.Resize(SIZE), T.MixUpPartner()]
    columns = {"image": C.Image(transform=steps), "boxes": C.Boxes(length=20), "labels": C.Ragged(length=20, follows="boxes"), **members(2)}
    both = 0
    for _, row in rows(data, columns):
        found = [int(label) // 100 for label in row["labels"]]
        assert set(found) <= {int(row["id0"]), int(row["id1"])}
        both += len(set(found)) == 2
    assert both > COUNT / 2

# SPDX-License-Identifier: Apache-2.0
"""Copy-paste: labels show which objects were pasted; a model in numpy judges everything else, from the images,
masks, boxes and points of the row's sample and of its partner alone."""
import json
import re

import numpy
import pytest
from test_mosaic import BOXES, COUNT, FILL, NEAREST, label_of, members, rows, same_every_time, write
from test_mosaic import sample as sample_of_boxes

import sluice
from sluice import columns as C
from sluice import transforms as T

SIZE = 60, 70
LENGTH = 40


def run_lengths(random, height, width):
    """An ellipse, as COCO's uncompressed run lengths."""
    y, x = numpy.mgrid[0:height, 0:width]
    middle, radius = random.rand(2) * [height, width], 3 + random.rand(2) * [height, width] / 4
    inside = (((y - middle[0]) / radius[0]) ** 2 + ((x - middle[1]) / radius[1]) ** 2 < 1).T.ravel()
    ends = numpy.concatenate([numpy.flatnonzero(inside[1:] != inside[:-1]) + 1, [inside.size]])
    counts = numpy.diff(numpy.concatenate([[0], ends])).tolist()
    return {"size": [int(height), int(width)], "counts": [0, *counts] if inside[0] else counts}


def sample(number):
    """Polygons of three to seven corners, one in two parts and a small one, an ellipse of run lengths, and no shape."""
    random = numpy.random.RandomState(1000 + number)
    made = sample_of_boxes(number)
    height, width = made["image"].shape[:2]
    shapes = [[(random.rand(random.randint(3, 8), 2) * [width, height]).ravel().tolist()] for _ in range(BOXES - 2)]
    shapes[0].append((random.rand(3, 2) * [width, height]).ravel().tolist())
    shapes[1] = [(random.rand(2) * [width - 6, height - 6] + random.rand(4, 2) * 6).ravel().tolist()]
    made["shapes"] = json.dumps([*shapes, run_lengths(random, height, width), None])
    return made


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("paste") / "packed", [sample(number) for number in range(COUNT)])


def group(image, prefix="", **boxes):
    """The columns that follow an image; their names begin with `prefix`."""
    name = prefix or "image"
    return {
        name: image,
        f"{prefix}seg": C.Mask("mask", follows=name, fill=FILL), f"{prefix}wide": C.Mask("wide", follows=name, fill=-1),
        f"{prefix}boxes": C.Boxes("boxes", length=LENGTH, follows=name, shapes="shapes", **boxes),
        f"{prefix}labels": C.Ragged("labels", length=LENGTH, follows=f"{prefix}boxes"),
        f"{prefix}padded": C.Padded("labels", length=LENGTH, follows=f"{prefix}boxes"),
        f"{prefix}points": C.Points("points", length=LENGTH, follows=f"{prefix}boxes"),
        f"{prefix}masks": C.Instances("shapes", length=LENGTH, follows=f"{prefix}boxes"),
        f"{prefix}classes": C.Mask("shapes", follows=name, labels="labels", background=3, fill=FILL, dtype="int64"),
    }  # fmt: skip


def columns_of(before, paste, behind, **boxes):
    alone = [*before, *behind]
    return {
        **group(C.Image(transform=[*before, paste, *behind]), **boxes), **group(C.Image("image", transform=alone), "own", **boxes),
        **group(C.Image("image", transform=alone, partner=1), "other", **boxes), **members(2),
    }  # fmt: skip


def left_of(mask, over, box, rule):
    """Returns the rest of an object's box; None if it is gone."""
    if not (mask & over).any():
        return box
    y, x = numpy.nonzero(mask & ~over)
    if len(x) == 0:
        return None
    left = numpy.array([max(box[0], x.min()), max(box[1], y.min()), min(box[2], x.max() + 1), min(box[3], y.max() + 1)], "float32")
    size = left[2:] - left[:2]
    return left if (size >= rule.get("min_size", 1)).all() and size.prod() >= rule.get("min_area", 1) else None


def pairs(*arguments, **options):
    """Yields rows whose partner is another sample, according to the labels."""
    return [row for _, row in rows(*arguments, **options) if row["id0"] != row["id1"]]


def pasted_of(row):
    """Returns which of the partner's objects were pasted, according to the labels."""
    partners = set(row["labels"][row["labels"] // 100 == row["id1"]].tolist())
    return [i for i, label in enumerate(row["otherlabels"].tolist()) if label in partners]


def expected(row, rule):
    """Returns the expected columns of a row, computed from those of its own sample and of its partner alone."""
    pasted = pasted_of(row)
    over = numpy.zeros(row["image"].shape[:2], bool)
    wanted = {"boxes": [], "labels": [], "points": [], "masks": []}
    for i in pasted:
        over |= row["othermasks"][i] != 0
    for i, mask in enumerate(row["ownmasks"]):
        box = left_of(mask != 0, over, row["ownboxes"][i], rule)
        if box is None:
            continue
        point = row["ownpoints"][i].copy()
        x, y = int(point[0]), int(point[1])
        if point[2] == 2 and over[y, x]:
            point[2] = 1
        for name, value in (("boxes", box), ("labels", row["ownlabels"][i]), ("points", point), ("masks", (mask != 0) & ~over)):
            wanted[name].append(value)
    wanted["classes"] = row["ownclasses"].copy()
    for i in pasted:
        for name in ("boxes", "labels", "points", "masks"):
            wanted[name].append(row[f"other{name}"][i])
        wanted["classes"][row["othermasks"][i] != 0] = row["otherlabels"][i]
    for name, own, other in (("image", "own", "other"), ("seg", "ownseg", "otherseg"), ("wide", "ownwide", "otherwide")):
        where = over[..., None] if name == "image" else over
        wanted[name] = numpy.where(where, row[other], row[own])
    return pasted, over, wanted


BEFORE = {
    "resized": [T.Resize(SIZE, NEAREST)],
    "mirrored": [T.Resize((90, 50)), T.RandomHorizontalFlip(1.0), T.Pad(4, FILL), T.Resize(SIZE)],
    "cut": [T.Resize((90, 100)), T.CenterCrop(SIZE), T.RandomInvert(1.0), T.RandomVerticalFlip(1.0)],
    "small": [T.Resize((40, 40)), T.FixedSizeCrop(SIZE, FILL)],
    "turned": [T.Resize(SIZE), T.RandomRotation((6, 6), fill=FILL)],
    "half turned": [T.Resize(SIZE), T.RandomRotation((43, 43), fill=FILL)],
    "sheared": [T.Resize(SIZE), T.RandomAffine((20, 20), None, (1.3, 1.3), (25, 25), fill=FILL)],
}
RULES = {"torchvision": {}, "all": {"min_size": 0, "min_area": 0}, "large": {"min_size": 12, "min_area": 300}}
# Each geometry with each rule, alternating exact: so each geometry and each rule runs with both.
CASES = [(before, rule, bool((i + j) % 2)) for i, before in enumerate(BEFORE) for j, rule in enumerate(RULES)]


@pytest.mark.parametrize(("before", "rule", "exact"), CASES)
def test_objects_are_pasted(data, before, rule, exact):
    rule = RULES[rule]
    columns = columns_of(BEFORE[before], T.CopyPaste(), [], **rule)
    seen = numpy.zeros(4, int)
    for row in pairs(data, columns, range(2 if before in ("small", "cut") else 4), exact=exact):
        pasted, over, wanted = expected(row, rule)
        for name, value in wanted.items():
            value = numpy.asarray(value).reshape(row[name].shape)
            assert (row[name] == value).all(), name
        assert row["padded"].tolist() == [*row["labels"].tolist(), *[0] * (LENGTH - len(row["labels"]))]
        assert row["padded.lengths"] == len(row["labels"])
        assert not numpy.isin(row["labels"], 100 * row["id1"] + BOXES - 1).any()  # it has no shape
        seen += [len(pasted) > 0, over.any(), len(row["ownlabels"]) > len(row["labels"]) - len(pasted), (row["points"][:, 2] == 1).any()]
    assert (seen > [COUNT, COUNT, 2, 2]).all(), seen


BEHIND = {
    "flipped": [T.RandomHorizontalFlip(1.0)],
    "cut": [T.RandomInvert(1.0), T.CenterCrop(40)],
    "wider": [T.Pad(5, FILL), T.RandomVerticalFlip(1.0)],
    "turned": [T.RandomRotation((90, 90), fill=FILL)],
    "halved": [T.Resize((30, 35), NEAREST)],
}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("behind", BEHIND)
def test_what_is_behind_moves_all(data, behind, exact):
    """Shapes are drawn after all steps, but the image was pasted before them: equal except at edges, and for slivers."""
    columns = columns_of([T.Resize(SIZE, NEAREST)], T.CopyPaste(), BEHIND[behind])
    differ = total = 0
    for row in pairs(data, columns, exact=exact):
        _, over, wanted = expected(row, {})
        near = numpy.pad(over, 2, "edge")
        near = [near[y : y + over.shape[0], x : x + over.shape[1]] for y in range(5) for x in range(5)]
        inside = numpy.min(near, axis=0) == numpy.max(near, axis=0)
        differ += (row["image"] != wanted["image"]).any(axis=-1)[inside].sum()
        total += inside.sum()
        for name in ("labels", "boxes", "points", "masks", "classes", "seg", "wide"):
            assert (row[name] == numpy.asarray(wanted[name]).reshape(row[name].shape)).all(), name
    assert total > 10000 and differ < total / 1000


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_each_object_has_the_chance(data, share):
    """The objects are independent: two are both pasted with the square of the chance."""
    columns = columns_of([T.Resize(SIZE)], T.CopyPaste(share=share), [], min_size=0, min_area=0)
    columns = {name: column for name, column in columns.items() if re.fullmatch("(own|other)?(boxes|labels)?|image|id.", name)}
    one = two = tries = both = 0
    for row in pairs(data, columns, range(12)):
        pasted = set(pasted_of(row))
        known = [i for i, label in enumerate(row["otherlabels"]) if label % 100 != BOXES - 1]
        tries += len(known)
        one += len(pasted)
        both += len(known) - 1
        two += sum(a in pasted and b in pasted for a, b in zip(known, known[1:]))
    assert abs(one / tries - share) <= 5 * (share * (1 - share) / tries) ** 0.5
    assert abs(two / both - share**2) <= 7 * (share**2 * (1 - share**2) / both) ** 0.5


def alone_and(data, paste, epochs, **options):
    """Returns rows with and without copy-paste: {(epoch, sample): both}."""
    steps = [T.RandomAffine(20, (0.1, 0.1), (0.6, 1.4), fill=FILL), T.RandomResizedCrop(33, (0.3, 1)), T.ColorJitter(0.4, 0.4, 0.4, 0.1)]
    behind = [T.RandomHorizontalFlip(), T.ColorJitter(0.2)]
    made = []
    for pasting in ([], [paste]):
        columns = group(C.Image(transform=[*steps, *pasting, *behind]))
        made.append({(epoch, int(row["index"])): row for epoch, row in rows(data, columns, epochs, **options)})
    assert made[0].keys() == made[1].keys()
    return {key: (made[0][key], made[1][key]) for key in made[0]}


@pytest.mark.parametrize("exact", [True, False])
def test_the_rows_own_layer_stays(data, exact):
    """Drawn values equal those without the step; in label masks, two passes may pick the other of two equally near pixels."""

    def same(both):
        names = [name for name in group(None) if exact or name not in ("seg", "wide")]
        return all(both[0][name].shape == both[1][name].shape and (both[0][name] == both[1][name]).all() for name in names)

    always, half, never = (alone_and(data, T.CopyPaste(p), (0, 1), exact=exact) for p in (1.0, 0.5, 0.0))
    ended = alone_and(data, T.CopyPaste(end_epoch=1), (0, 1), exact=exact)
    assert all(same(both) for both in never.values())
    assert all(same(both) for key, both in ended.items() if key[0] == 1)
    shares = [numpy.mean([not same(both) for both in made.values()]) for made in (always, half)]
    assert shares[0] > 0.8 and 0.3 < shares[1] < 0.7


@pytest.mark.parametrize(("exact", "grid"), [(True, 2), (False, 2), (True, 3)])
def test_mosaics_meet(data, grid, exact):
    """Blue encodes the sample: of the partners' images, only the pixels in their masks are visible."""
    count = grid * grid
    steps = [T.Mosaic(48, grid, FILL, interpolation=NEAREST), T.CenterCrop(64)]
    epochs = range(2 if grid == 2 else 12)
    wanted = {(epoch, int(row["index"])): row for epoch, row in rows(data, group(C.Image(transform=steps)), epochs, exact=exact)}
    seen = numpy.zeros(4, int)
    for epoch, row in rows(data, group(C.Image(transform=[*steps, T.CopyPaste(share=0.4)])) | members(2 * count), epochs, exact=exact):
        own = wanted[epoch, int(row["index"])]
        partners = {int(row[f"id{j}"]) for j in range(count, 2 * count)}
        if partners & {int(row[f"id{j}"]) for j in range(count)}:
            continue  # the owner of an object is ambiguous
        pasted = numpy.isin(row["labels"] // 100, list(partners))
        masks = row["masks"] != 0
        over = masks[pasted].any(axis=0)
        assert pasted.tolist() == sorted(pasted) and len(row["masks"]) == len(row["labels"]) == len(row["boxes"]) == len(row["points"])
        assert (row["image"] == own["image"])[~over].all() and (row["seg"] == own["seg"])[~over].all()
        inside = over & (row["image"] != FILL).any(axis=-1)
        assert numpy.isin(row["image"][inside][:, 2], 8 * (row["labels"][pasted] // 100)).all()
        assert (row["seg"][inside] == label_of(row["image"])[inside]).all()
        assert (row["classes"] == own["classes"])[~over].all() and numpy.isin(row["classes"][over], row["labels"][pasted]).all()
        left = [left_of(mask != 0, over, box, {}) for mask, box in zip(own["masks"], own["boxes"])]
        stay = [i for i, box in enumerate(left) if box is not None]
        assert row["labels"][~pasted].tolist() == own["labels"][stay].tolist()
        assert (row["boxes"][~pasted] == [left[i] for i in stay]).all() and (masks[~pasted] == (own["masks"][stay] != 0) & ~over).all()
        seen += [1, over.any(), len(stay) < len(left), len(set(row["labels"][pasted] // 100)) > 1]
    assert (seen > [8, 8, 2, 4]).all(), seen


def everything(data, **options):
    steps = [T.ScaleJitter(SIZE), T.FixedSizeCrop(SIZE, FILL), T.RandomHorizontalFlip(), T.CopyPaste(0.8), T.ColorJitter(0.3)]
    found = {}
    for epoch, row in rows(data, group(C.Image(transform=steps)), (0, 1), **options):
        found[epoch, int(row["index"])] = b"".join(row[name].tobytes() for name in sorted(row))
    return found


def test_batches_are_the_same_every_time(data):
    same_every_time(everything, data)


def test_one_box_is_left_at_least(data):
    """If neither the row's own boxes nor the pasted ones leave one, the row is drawn again."""
    steps = [T.Resize(SIZE), T.RandomCrop(12), T.CopyPaste(share=1.0)]
    counts = {}
    for wanted in (False, True):
        columns = {"image": C.Image(transform=steps), "boxes": C.Boxes(length=LENGTH, shapes="shapes", min_area=60, at_least_one=wanted)}
        counts[wanted] = [len(row["boxes"]) for _, row in rows(data, columns, range(4))]
    assert counts[False].count(0) > 3 and counts[True].count(0) == 0


@pytest.mark.parametrize("paste", [T.CopyPaste(p=0.0), T.CopyPaste(share=1.0)])
def test_one_box_is_left_where_crowds_are_not(tmp_path, paste):
    """Only boxes that are not dropped count; otherwise a row is not drawn again."""
    samples = [sample(number) for number in range(12)]
    for s in samples:  # the last two of five are crowds
        s["labels"] = numpy.array([0, 0, 0, 1, 1])
    path = write(tmp_path / "packed", samples)
    steps = [T.Resize(SIZE), T.RandomCrop(14), paste]
    counts = {}
    for wanted in (False, True):
        boxes = C.Boxes(length=LENGTH, shapes="shapes", min_area=60, at_least_one=wanted, crowds="labels")
        counts[wanted] = [len(row["boxes"]) for _, row in rows(path, {"image": C.Image(transform=steps), "boxes": boxes}, range(6))]
    assert counts[False].count(0) > 3 and counts[True].count(0) <= 1


@pytest.mark.parametrize(("length", "fails"), [(5, True), (6, True), (14, False)])
def test_more_than_there_is_space_for(tmp_path, length, fails):
    """Also if the row's own objects fill it: the overflow is reported, not silently dropped."""
    path = write(tmp_path / "packed", [sample(number) for number in range(8)])
    steps = [T.Resize(SIZE), T.CopyPaste(share=1.0)]
    columns = {"image": C.Image(transform=steps), "boxes": C.Boxes(length=length, shapes="shapes", min_size=0, min_area=0)}
    if fails:
        with pytest.raises(sluice.Error, match=f"more than {length} boxes"):
            list(rows(path, columns))
        columns["boxes"] = C.Boxes(length=length, shapes="shapes", min_size=0, min_area=0, too_long="truncate")
        assert max(len(row["boxes"]) for _, row in rows(path, columns)) <= length
    else:
        assert max(len(row["boxes"]) for _, row in rows(path, columns)) > 5


def test_what_is_in_shares_of_the_output(data):
    steps = [T.Resize(SIZE), T.CopyPaste()]
    follows = {"boxes": C.Boxes(length=LENGTH, shapes="shapes"), "points": C.Points(length=LENGTH, follows="boxes")}
    relative = {
        "boxes": C.Boxes(length=LENGTH, shapes="shapes", out_relative=True), "points": C.Points(length=LENGTH, follows="boxes", out_relative=True),
    }  # fmt: skip
    made = [[row for _, row in rows(data, {"image": C.Image(transform=steps), **columns}, range(3))] for columns in (follows, relative)]
    ones = 0
    for row, other in zip(*made):
        assert numpy.allclose(row["boxes"] / numpy.tile([SIZE[1], SIZE[0]], 2), other["boxes"], atol=1e-6)
        assert (row["points"][:, 2] == other["points"][:, 2]).all()
        ones += (row["points"][:, 2] == 1).sum()
    assert ones > 10


IMAGE = C.Image(transform=[T.Resize(SIZE), T.CopyPaste()])
BOX = C.Boxes(length=LENGTH, shapes="shapes")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"image": IMAGE}, "column of boxes"),
        ({"image": IMAGE, "boxes": C.Boxes(length=9)}, "shapes"),
        ({"image": IMAGE, "boxes": BOX, "more": C.Boxes("boxes", length=9, shapes="shapes")}, "two"),
        ({"image": IMAGE, "boxes": BOX, "shapes": C.Instances(length=9)}, "follow their boxes"),
        ({"image": IMAGE, "boxes": BOX, "points": C.Points(length=9)}, "follow their boxes"),
        ({"image": C.Image(transform=[T.RandomShortestSize(20), T.CopyPaste()], sizes="ragged", max_size=99), "boxes": BOX}, "one size"),
        ({"image": C.Image(transform=[T.Resize(SIZE), T.CopyPaste(), T.MixUpPartner()]), "boxes": BOX}, "one of mixup_partner and copy_paste"),
        ({"image": C.Image(transform=[T.Resize(SIZE), T.CopyPaste(), T.CutMix()]), "boxes": BOX}, "rows are mixed once"),
        ({"image": C.Image(transform=[T.Resize(SIZE), T.RandomApply([T.CopyPaste()])]), "boxes": BOX}, "cannot be in a group"),
        ({"image": IMAGE, "boxes": BOX, "seg": C.Mask("mask", missing="blank")}, "none of them may lack it"),
        ({"image": IMAGE, "boxes": BOX, "labels": C.Ragged(length=9, follows="boxes", missing="blank")}, "no sample may lack it"),
        ({"image": C.Image(transform=[T.CopyPaste(), T.Resize(SIZE)]), "boxes": BOX}, "fixed output size"),
        ({"image": C.Image(transform=[T.Resize(SIZE), T.CopyPaste(), T.RandomIoUCrop()]), "boxes": BOX}, "boxes of one image"),
    ],
)
def test_what_does_not_go_together_is_refused(data, columns, why):
    with pytest.raises((ValueError, sluice.Error), match=why):
        sluice.Loader(data, batch_size=4, columns=columns)


def test_its_arguments():
    for transform, step in ((T.CopyPaste(), (1, 0.5, 0)), (T.CopyPaste(0.5, 0.3, 90), (0.5, 0.3, 90))):
        assert T.recipe(T.Compose([T.Resize(SIZE), transform]))[0][1] == ("copy_paste", *step)


@pytest.mark.parametrize("share", [0, -0.1, 1.5, "half", None])
def test_shares_out_of_range(share):
    with pytest.raises((ValueError, TypeError), match="share"):
        T.CopyPaste(share=share)


def test_a_partner_with_broken_shapes_is_a_bad_sample(tmp_path):
    samples = [sample(number) for number in range(8)]
    samples[3]["shapes"] = "[[[1, 2, 3"
    path = write(tmp_path / "packed", samples)
    with pytest.raises(sluice.Error, match="shapes"):
        everything(path)
    found = [row for _, row in rows(path, group(IMAGE) | members(2), on_bad_sample="mask")]
    bad = [row for row in found if not row["mask"]]
    assert len(found) == 8 and 1 <= len(bad) <= 2 and 3 in {int(row["index"]) for row in bad}
    assert all(3 not in (row["id0"], row["id1"]) and len(row["labels"]) > 0 for row in found if row["mask"])
    assert all(len(row["labels"]) == len(row["masks"]) == 0 and not row["image"].any() for row in bad)

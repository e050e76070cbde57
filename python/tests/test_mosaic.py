# SPDX-License-Identifier: Apache-2.0
"""Rows of several images: each pixel encodes its sample and its position in it, so the pixels judge the columns that follow
the images."""
import io
import json

import numpy
import pytest
from following import SMALL
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT, BOXES, SIDE, FILL = 30, 5, 48, 255
NEAREST = "nearest"


def png(array):
    made = io.BytesIO()
    Image.fromarray(array).save(made, "PNG")
    return made.getvalue()


def label_of(picture):
    """Returns the mask values at pixels of these colours."""
    return (picture[..., 0] * 7 + picture[..., 1] * 13 + picture[..., 2] * 3).astype("uint8") % 200


def sample(number):
    """Red and green encode the pixel's position, blue the sample."""
    random = numpy.random.RandomState(number)
    height, width = random.randint(20, 100, 2)
    y, x = numpy.mgrid[0:height, 0:width]
    picture = numpy.stack([x, y, numpy.full_like(x, 8 * number)], axis=-1).astype("uint8")
    corners = numpy.sort(random.rand(BOXES, 2, 2) * [width, height], axis=1)
    boxes = numpy.concatenate([corners[:, 0], corners[:, 1] + 1], axis=1).astype("float32")
    points = numpy.concatenate([random.rand(BOXES, 2) * [width, height], numpy.full((BOXES, 1), 2)], axis=1).astype("float32")
    polygons = [[[b[0], b[1], b[2], b[1], b[2], b[3], b[0], b[3]]] for b in boxes.tolist()]
    return {
        "image": picture, "mask": label_of(picture), "wide": label_of(picture).astype("int64") + (1 << 40), "id": number,
        "class": number % 4, "boxes": boxes, "labels": numpy.arange(BOXES) + 100 * number, "points": points,
        "shapes": json.dumps(polygons),
    }  # fmt: skip


@pytest.fixture(scope="module")
def samples():
    return [sample(number) for number in range(COUNT)]


FIELDS = {
    "image": "image", "mask": "image", "wide": ("tensor", "int64", (0, 0)), "id": "int", "class": "int",
    "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,)), "points": ("tensor", "float32", (0, 3)),
    "shapes": "text",
}  # fmt: skip


def write(path, samples, broken=(), lacking=()):
    """`lacking`: pairs of a sample and a field that it lacks."""
    with sluice.Writer(path, FIELDS) as writer:
        for s in samples:
            fields = {name: png(s[name]) if kind == "image" else s[name] for name, kind in FIELDS.items() if (s["id"], name) not in lacking}
            if s["id"] in broken:
                fields["boxes"] = -s["boxes"]
            writer.add(**fields)
    return path


@pytest.fixture(scope="module")
def data(samples, tmp_path_factory):
    return write(tmp_path_factory.mktemp("mosaic") / "packed", samples)


def members(count):
    return {f"id{j}": C.Number("id", partner=j) for j in range(count)}


def following(steps, **boxes):
    return {
        "image": C.Image(transform=steps), "seg": C.Mask("mask", fill=FILL), "wide": C.Mask("wide", fill=-1),
        "boxes": C.Boxes(length=90, **boxes), "labels": C.Ragged(length=90, follows="boxes"),
        "points": C.Points(length=90, follows="boxes"), "shapes": C.Instances(length=90, follows="boxes"),
        "classes": C.Mask("shapes", labels="labels", background=3, fill=FILL, dtype="int64"),
        "anew": C.Boxes("boxes", length=90, shapes="shapes", min_size=0, min_area=0), "anew.labels": C.Ragged("labels", length=90, follows="anew"),
        "geometry": C.Geometry(),
    }  # fmt: skip


def rows(data, columns, epochs=(0,), **options):
    """Returns (epoch, {column: its row}) of all rows; rows of ragged columns are cut out of the batch."""
    with sluice.Loader(data, batch_size=7, shuffle=True, last_batch="short", columns=columns, **SMALL | options) as loader:
        for epoch in epochs:
            loader.set_epoch(epoch)
            for batch in loader:
                arrays = {name: batch[name].numpy().copy() for name in [*batch.keys(), *batch.parts(), "index", "mask", "status"]}
                for row in range(len(arrays["index"])):
                    yield epoch, {
                        name: array[arrays[f"{name}.offsets"][row] : arrays[f"{name}.offsets"][row + 1]]
                        if f"{name}.offsets" in arrays
                        else array[row]
                        for name, array in arrays.items()
                        if not name.endswith(".offsets")
                    }


RECIPES = {
    "mosaic": [],
    "yolo": [T.RandomAffine(0, (0.05, 0.05), (0.5, 1.5), fill=FILL), T.CenterCrop(SIDE), T.RandomHorizontalFlip()],
    "turned": [T.RandomAffine(40, (0.1, 0.1), (0.6, 1.4), 10, fill=FILL), T.CenterCrop(SIDE), T.RandomVerticalFlip()],
    "perspective": [T.RandomPerspective(0.3, 1, NEAREST, fill=FILL), T.Resize((60, 50), NEAREST)],
    "resized": [T.RandomHorizontalFlip(1.0), T.Resize((50, 77), NEAREST), T.RandomRotation(20, fill=FILL)],
    "cropped": [T.RandomResizedCrop(40, (0.3, 1), interpolation=NEAREST), T.RandomVerticalFlip(), T.Pad(4, fill=FILL)],
}


def pixels_of(row, number):
    """Returns where the row shows sample `number`, and the positions in it."""
    image = row["image"]
    shown = (image[..., 2] == 8 * number) & (image != FILL).any(axis=-1)
    return shown, image[..., :2].astype("float32") + 0.5


def core(inside):
    """Returns the pixels with neighbours on all sides."""
    wide = numpy.pad(inside, 1)
    return numpy.min([wide[y : y + inside.shape[0], x : x + inside.shape[1]] for y in range(3) for x in range(3)], axis=0)


# Each recipe with each grid, with and without exact, and each grid with both.
FOLLOWED = [(name, exact, 2 + (i + exact) % 2) for i, name in enumerate(RECIPES) for exact in (True, False)]


@pytest.mark.parametrize(("name", "exact", "grid"), FOLLOWED)
def test_what_follows_is_where_the_pictures_are(data, samples, name, exact, grid):
    steps = [T.Mosaic(SIDE, grid, FILL, interpolation=NEAREST), *RECIPES[name]]
    count = grid * grid
    seen = numpy.zeros(3, int)
    for _, row in rows(data, {**following(steps, keep="yolo"), **members(count)}, (0, 1), exact=exact, seed=3):
        ids = [int(row[f"id{j}"]) for j in range(count)]
        image = row["image"]
        filled = (image == FILL).all(axis=-1)
        assert ids[0] == row["index"]
        assert set((image[~filled][:, 2] // 8).tolist()) <= set(ids)
        assert (row["seg"][~filled] == label_of(image[~filled].astype(int))).all() and (row["seg"][filled] == FILL).all()
        assert (row["wide"][~filled] == row["seg"][~filled].astype("int64") + (1 << 40)).all() and (row["wide"][filled] == -1).all()
        assert len(row["labels"]) == len(row["boxes"]) == len(row["points"]) == len(row["shapes"])
        if len(set(ids)) < count:
            continue  # the owner of a pixel is ambiguous
        assert [label // 100 for label in row["labels"]] == sorted((label // 100 for label in row["labels"]), key=ids.index)
        anew = {int(label): box for label, box in zip(row["anew.labels"], row["anew"])}
        for number in ids:  # each pixel of the class map belongs to its own image
            shown, at = pixels_of(row, number)
            found = set(row["classes"][core(shown)].tolist())
            assert found <= {3, *(100 * number + k for k in range(BOXES))}
        for label, box, point, shape in zip(row["labels"], row["boxes"], row["points"], row["shapes"]):
            number, which = divmod(int(label), 100)
            stored = samples[number]
            shown, at = pixels_of(row, number)
            low, high = stored["boxes"][which][:2], stored["boxes"][which][2:]
            inside = shown & (at > low + 0.5).all(axis=-1) & (at < high - 0.5).all(axis=-1)
            y, x = numpy.nonzero(inside)
            if len(y) > 0:  # every pixel that surely belongs to it is inside its box and its shape
                assert x.min() >= box[0] - 1.01 and x.max() + 1 <= box[2] + 1.01
                assert y.min() >= box[1] - 1.01 and y.max() + 1 <= box[3] + 1.01
                assert shape[core(inside)].all()
                assert (anew[int(label)][:2] >= box[:2] - 1.01).all() and (anew[int(label)][2:] <= box[2:] + 1.01).all()
                seen[0] += 1
            y, x = numpy.nonzero(shown & (at > low - 2).all(axis=-1) & (at < high + 2).all(axis=-1))
            if name in ("mosaic", "yolo", "cropped") and len(y) > 20:  # and the box is not larger than that
                assert box[0] >= x.min() - 2.5 and box[1] >= y.min() - 2.5 and box[2] <= x.max() + 3.5 and box[3] <= y.max() + 3.5
                seen[1] += 1
            if point[2] > 0:
                px, py = int(point[0]), int(point[1])
                if shown[py, px]:
                    assert numpy.abs(at[py, px] - stored["points"][which][:2]).max() <= (6 if exact else 3.5)
                    seen[2] += 1
    assert seen[0] > 60 and seen[2] > 20 and (seen[1] > 60 or name not in ("mosaic", "yolo", "cropped"))


def test_tiles_are_pillows(data, samples):
    """A mosaic alone, exact: each image is resized as by Pillow, and everything on the canvas is kept."""
    checked = 0
    for _, row in rows(data, {"image": C.Image(transform=[T.Mosaic(64)]), **members(4), "geometry": C.Geometry()}, exact=True):
        ids = [int(row[f"id{j}"]) for j in range(4)]
        matrix = row["geometry"]
        stored = samples[ids[0]]["image"]
        height, width = stored.shape[:2]
        ratio = 64 / max(height, width)
        size = min(int(numpy.ceil(width * ratio)), 64), min(int(numpy.ceil(height * ratio)), 64)
        left, top = round(matrix[0, 2]), round(matrix[1, 2])
        assert (matrix == [[size[0] / width, 0, left], [0, size[1] / height, top], [0, 0, 1]]).all()
        tile = numpy.asarray(Image.fromarray(stored).resize(size, Image.BILINEAR)).astype(int)
        shown = row["image"][max(top, 0) : top + size[1], max(left, 0) : left + size[0]]
        wanted = tile[max(-top, 0) :, max(-left, 0) :]
        assert shown.shape == wanted.shape and numpy.abs(shown.astype(int) - wanted).max() <= 1
        corner = left + size[0], top + size[1]  # where the four meet
        assert all(32 <= at < 96 for at in corner)
        for number, (x, y) in zip(ids[1:], [(0, -1), (-1, 0), (0, 0)]):
            at = corner[1] + y, corner[0] + x
            assert row["image"][at][2] == 8 * number
            checked += 1
    assert checked == 3 * COUNT


def test_the_last_epochs_are_without(data, samples):
    steps = [T.Mosaic(SIDE, fill=FILL, end_epoch=2), T.RandomAffine(0, (0.05, 0.05), (0.5, 1.5), fill=FILL), T.CenterCrop(SIDE)]
    alone = [T.LetterBox(SIDE, FILL), T.RandomAffine(0, (0.1, 0.1), (0.5, 1.5), fill=FILL)]
    seen = {}
    for epoch, row in rows(data, following(steps, min_visibility=0.2), (1, 2, 3)):
        seen.setdefault(epoch, []).append(len({int(label) // 100 for label in row["labels"]}))
    assert max(seen[1]) >= 3 and max(seen[2]) == max(seen[3]) == 1
    wanted = {row["index"]: row for _, row in rows(data, {"image": C.Image(transform=[T.Mosaic(SIDE, fill=FILL, end_epoch=1), T.CenterCrop(SIDE)])}, (1,), exact=True)}
    for _, row in rows(data, {"image": C.Image(transform=alone[:1])}, exact=True):
        assert (row["image"] == wanted[row["index"]]["image"]).all()


def test_a_share_is_without(data):
    one = [int(row["id1"]) in row["labels"] // 100 for _, row in rows(data, {**following([T.Mosaic(SIDE, p=0.5)]), **members(2)}, range(6))]
    assert 0.3 < sum(one) / len(one) < 0.7


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", RECIPES)
def test_masks_follow_a_picture_alone(data, name, exact, p):
    steps = [T.Mosaic(SIDE, fill=FILL, p=p, interpolation=NEAREST), *RECIPES[name]]
    alone = 0
    for _, row in rows(data, following(steps), exact=exact):
        filled = (row["image"] == FILL).all(axis=-1)
        wanted = label_of(row["image"])
        assert (row["seg"] == numpy.where(filled, FILL, wanted)).all()
        assert (row["wide"] == numpy.where(filled, -1, wanted.astype("int64") + (1 << 40))).all()
        alone += len(numpy.unique(row["image"][~filled][:, 2])) <= 1
    assert alone >= COUNT * (1 - p) / 2


def test_padded_values_follow_too(data):
    columns = {
        "image": C.Image(transform=[T.Mosaic(SIDE, fill=FILL), *RECIPES["yolo"]]), "boxes": C.Boxes(length=90), "labels": C.Ragged(length=90, follows="boxes"),
        "same": C.Padded("labels", length=90, follows="boxes"), "places": C.Boxes("boxes", length=90, padded=True), "seen": C.Points("points", length=90, padded=True, follows="boxes"),
    }  # fmt: skip
    for _, row in rows(data, columns):
        count = len(row["labels"])
        assert count > 0 and row["same.lengths"] == row["places.lengths"] == row["seen.lengths"] == count
        assert row["same"].tolist() == [*row["labels"].tolist(), *[0] * (90 - count)]
        assert (row["places"][:count] == row["boxes"]).all() and not row["places"][count:].any()


def everything(data, **options):
    steps = [T.Mosaic(SIDE, fill=FILL), *RECIPES["yolo"]]
    found = {}
    for epoch, row in rows(data, {**following(steps), **members(4)}, (0, 1), **options):
        found[epoch, int(row["index"])] = b"".join(row[name].tobytes() for name in sorted(row))
    return found


def same_every_time(everything, data):
    """Checks that the result does not depend on workers, backends and buffers. Returns it."""
    wanted = everything(data, num_workers=1, resident_bytes=1)
    assert len(wanted) == 2 * COUNT
    for options in ({"num_workers": 5}, {"num_workers": 3, "io": "pread"}, {"resident_bytes": 1 << 30, "prefetch_factor": 2}):
        assert everything(data, **options) == wanted
    return wanted


def test_batches_are_the_same_every_time(data):
    same_every_time(everything, data)


def test_each_sample_is_partner_once(data):
    found = {j: [] for j in range(4)}
    for rank in range(3):
        for _, row in rows(data, members(4), rank=rank, world_size=3):
            for j in range(4):
                found[j].append(int(row[f"id{j}"]))
    assert all(sorted(ids) == list(range(COUNT)) for ids in found.values())
    assert len({tuple(ids) for ids in found.values()}) == 4


def test_a_run_goes_on_where_it_was(data):
    with sluice.Loader(data, batch_size=4, shuffle=True, columns=members(3), seed=1) as loader:
        batches = [[batch[f"id{j}"].numpy().tolist() for j in range(3)] for batch in loader]
    with sluice.Loader(data, batch_size=4, shuffle=True, columns=members(3), seed=1) as loader:
        for number, _ in enumerate(loader):
            if number == 2:
                break
        state = loader.state_dict()
    with sluice.Loader(data, batch_size=4, shuffle=True, columns=members(3), seed=1) as loader:
        loader.load_state_dict(state)
        assert [[batch[f"id{j}"].numpy().tolist() for j in range(3)] for batch in loader] == batches[3:]


@pytest.mark.parametrize("shuffle", [True, "block", False])
def test_classes(data, samples, shuffle):
    classes = numpy.array([s["class"] for s in samples])
    columns = {f"{name}{j}": C.Number(field, partner=j) for j in range(4) for name, field in (("id", "id"), ("class", "class"))}
    options = {"partners": ["same_class", "other_class", "any"], "classes": classes, "seed": 4}
    partners = set()
    with sluice.Loader(data, batch_size=6, shuffle=shuffle, columns=columns, **options) as loader:
        for _ in range(4):
            for batch in loader:
                row = {name: batch[name].numpy() for name in columns}
                assert (row["class1"] == row["class0"]).all() and (row["id1"] != row["id0"]).all()
                assert (row["class2"] != row["class0"]).all()
                partners |= set(zip(row["id0"].tolist(), row["id1"].tolist()))
    assert len(partners) > 2 * COUNT


def test_bad_partners(samples, tmp_path):
    bad = {4, 17}
    data = write(tmp_path / "packed", samples, bad)
    columns = {**following([T.Mosaic(SIDE)]), **members(4)}
    lost = {}
    for _, row in rows(data, columns, on_bad_sample="mask"):
        lost[int(row["index"])] = row["mask"] == 0
    whole = {int(row["index"]): {int(row[f"id{j}"]) for j in range(4)} for _, row in rows(data, members(4))}
    assert lost == {index: bool(ids & bad) for index, ids in whole.items()}
    replaced = 0
    for _, row in rows(data, columns, on_bad_sample="replace"):
        ids = {int(row[f"id{j}"]) for j in range(4)}
        assert not ids & bad and row["mask"] == 1
        replaced += row["status"] != 0
    assert replaced == sum(lost.values())
    with pytest.raises(sluice.Error, match="sample (4|17)"):
        list(rows(data, columns))


def test_a_box_is_wanted(data, samples):
    """All boxes are small enough to be lost."""
    steps = [T.Mosaic(SIDE, fill=FILL), T.RandomResizedCrop(16, (0.02, 0.04))]
    wanting = sum(len(row["boxes"]) == 0 for _, row in rows(data, following(steps, min_visibility=0.5), range(4)))
    found = sum(len(row["boxes"]) == 0 for _, row in rows(data, following(steps, min_visibility=0.5, at_least_one=True), range(4)))
    assert wanting > 20 and found < wanting / 4


def test_what_is_too_much(data):
    with pytest.raises(sluice.Error, match="more than 6 boxes"):
        list(rows(data, {"image": C.Image(transform=[T.Mosaic(SIDE)]), "boxes": C.Boxes(length=6)}))
    columns = {
        "image": C.Image(transform=[T.Mosaic(SIDE)]), "boxes": C.Boxes(length=6, too_long="truncate"),
        "labels": C.Ragged(length=6, follows="boxes"), "points": C.Points(length=6, follows="boxes"),
    }  # fmt: skip
    lengths = [(len(row["boxes"]), len(row["labels"]), len(row["points"])) for _, row in rows(data, columns)]
    assert max(lengths) == (6, 6, 6) and all(a == b == c for a, b, c in lengths)


REFUSED = [
    ({"image": C.Image(transform=[T.Mosaic(8)], sizes="padded", max_size=64)}, {}, "output must have one size"),
    ({"image": C.Image(transform=[T.Mosaic(8)], partner=1)}, {}, "cannot use a partner sample itself"),
    ({"image": C.Image(transform=[T.Mosaic(8)]), "d": C.Mask("mask", interpolation="bilinear", dtype="float32")}, {}, "interpolation must be nearest"),
    ({"id": C.Number("id", partner=1)}, {"partners": "some"}, "\"some\" is not any, same_class or other_class"),
    ({"id": C.Number("id", partner=1)}, {"partners": ["any", "any"]}, "partner 2, but no column uses that partner"),
    ({"id": C.Number("id", partner=1)}, {"partners": "same_class"}, "need the classes"),
    ({"id": C.Number("id", partner=1)}, {"partners": "same_class", "classes": [0] * 3}, "option classes has 3 samples, but the dataset has 30"),
    ({"id": C.Number("id", partner=1)}, {"shuffle": "shards"}, "rows of several samples"),
    ({"image": C.Image(transform=[T.Resize((8, 8))], partner=1), "boxes": C.Boxes(length=9)}, {}, None),
]  # fmt: skip


@pytest.mark.parametrize("columns, options, reason", REFUSED)
def test_what_is_refused(data, columns, options, reason):
    def load():
        with sluice.Loader(data, batch_size=2, columns=columns, **{"shuffle": True, **options}) as loader:
            return next(iter(loader))

    if reason is None:
        load()
        return
    with pytest.raises((sluice.Error, ValueError), match=reason):
        load()


def test_recipes_that_are_refused(data):
    for steps, reason in (
        ([T.RandomHorizontalFlip(), T.Mosaic(8)], "must be the first step"),
        ([T.Mosaic(8), T.RandomIoUCrop()], "boxes of one image"),
        ([T.RandomApply([T.Mosaic(8)])], "must be the first step and in no group"),
    ):
        with pytest.raises((sluice.Error, ValueError), match=reason):
            sluice.Loader(data, columns={"image": C.Image(transform=[*steps, T.Resize((8, 8))])})
    for wrong in ({"size": 0}, {"size": 8193}, {"size": 8, "grid": 4}, {"size": 8, "p": 2}, {"size": 8, "end_epoch": 0}):
        with pytest.raises((ValueError, TypeError)):
            T.Mosaic(**wrong)


@pytest.mark.parametrize("steps", [[T.Mosaic(32), T.Resize(32)], [T.Resize((32, 32)), T.MixUpPartner()]], ids=["mosaic", "mixup_partner"])
@pytest.mark.parametrize("names", [["labels"], ["points"], ["shapes"], ["boxes", "labels", "points", "shapes"]], ids=" ".join)
def test_a_sample_without_values_for_its_boxes(data, samples, tmp_path, names, steps):
    """With missing="blank", the next sample's labels would otherwise follow the boxes of this one. So the sample must lack its boxes, too;
    a row that consists of such a sample alone is tested elsewhere."""
    count = 4 if isinstance(steps[0], T.Mosaic) else 2
    blank = {"length": 90, "missing": "blank"}
    columns = {
        "image": C.Image(transform=steps), "boxes": C.Boxes(**blank), "labels": C.Ragged(follows="boxes", **blank), "padded": C.Padded("labels", follows="boxes", **blank),
        "points": C.Points(follows="boxes", **blank), "shapes": C.Instances(follows="boxes", **blank), **members(count),
    }  # fmt: skip
    lacking = write(tmp_path / "packed", samples, lacking={(4, name) for name in names})
    whole = {int(row["index"]): row for _, row in rows(data, columns)}
    met = 0
    for _, row in rows(lacking, columns, on_bad_sample="mask"):
        wanted = whole[int(row["index"])]
        has = 4 in {int(wanted[f"id{j}"]) for j in range(count)}
        met += has
        if has and "boxes" not in names:
            assert row["status"] == 2 and len(row["boxes"]) == len(row["labels"]) == 0
            continue
        left = wanted["labels"] // 100 != 4 if "boxes" in names else numpy.ones(len(wanted["labels"]), bool)
        for name in ("boxes", "labels", "points", "shapes"):
            assert row[name].shape == wanted[name][left].shape and (row[name] == wanted[name][left]).all()
        assert row["padded"][: left.sum()].tolist() == row["labels"].tolist() and row["padded.lengths"] == left.sum()
    assert met >= count


def test_an_epoch_without_mosaics(samples, tmp_path):
    """A row of one sample may lack the fields that follow its boxes."""
    lacking = write(tmp_path / "packed", samples, lacking={(4, "labels")})
    columns = {
        "image": C.Image(transform=[T.Mosaic(32, end_epoch=1), T.Resize(32)]), "boxes": C.Boxes(length=90),
        "labels": C.Ragged(follows="boxes", length=90, missing="blank"),
    }  # fmt: skip
    loader = sluice.Loader(lacking, batch_size=1, columns=columns, on_bad_sample="mask")
    bad = [sum(int(batch["status"][0]) == 2 for batch in loader) for _ in range(2)]
    assert bad[0] > 0 and bad[1] == 0

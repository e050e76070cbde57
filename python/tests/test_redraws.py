# SPDX-License-Identifier: Apache-2.0
"""at_least_one draws one image's recipe again, and nothing else; combinations with shared draws are consistent, or rejected."""
import numpy
import pytest
from following import png

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT = 32


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("redraws") / "packed"
    fields = {"image": "image", "boxes": ("tensor", "float32", (0, 4)), "others": ("tensor", "float32", (0, 4)), "seg": "text"}
    with sluice.Writer(path, fields) as writer:
        for i in range(COUNT):
            x, y = numpy.meshgrid(numpy.arange(90), numpy.arange(70))
            picture = numpy.stack([x * 2, y * 3, (x * 5 + y * 3 + i * 17) % 256], axis=-1).astype("uint8")
            corner = [[3 + i % 5, 3, 8, 8]]
            writer.add(image=png(picture), boxes=numpy.array(corner, "float32"), others=numpy.array([[40, 30, 20, 20]], "float32"), seg="[[[3,3,11,3,11,11]]]")
    return path


def batches(data, columns, **options):
    with sluice.Loader(data, batch_size=8, seed=5, columns=columns, **options) as loader:
        for batch in loader:
            yield {name: batch[name].numpy().copy() for name in (*batch.keys(), *batch.parts(), "index")}


VIEW = C.Image("image", transform=[T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ColorJitter(0.4)])
SMALL = T.RandomResizedCrop(16, (0.02, 0.1))
RECIPES = {
    "mosaic": [T.Mosaic(40), SMALL], "mixup_partner": [SMALL, T.MixUpPartner(p=0.5)], "alone": [SMALL],
    "copy_paste": [T.Resize((60, 60)), T.CopyPaste(), SMALL],
}  # fmt: skip


def boxes(recipe, **options):
    shapes = {"shapes": "seg"} if recipe == "copy_paste" else {}
    return C.Boxes("boxes", length=40, format="xywh", at_least_one=True, **shapes, **options)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_redraw_is_of_its_picture_alone(data, recipe):
    """Another view, and one that is drawn again for its own boxes, do not change."""
    again = {"w": C.Image("image", transform=[SMALL]), "c": boxes("alone", follows="w")}
    both = {"v": VIEW, **again, "o": C.Image("image", transform=RECIPES[recipe]), "b": boxes(recipe, follows="o")}
    alone = {**batch_of(data, {"v": VIEW}), **batch_of(data, {"unused": VIEW, **again}, "w", "c")}
    made = batch_of(data, both, "v", "w", "c")
    for name in ("v", "w", "c"):
        assert (alone[name] == made[name]).all(), name
    none = {**both, "b": C.Boxes("boxes", length=40, format="xywh", follows="o", **({"shapes": "seg"} if recipe == "copy_paste" else {}))}
    assert (batch_of(data, none, "o")["o"] != batch_of(data, both, "o")["o"]).any()  # it is drawn again, now and then


def batch_of(data, columns, *names):
    seen = {}
    for batch in batches(data, columns):
        for name in names or columns:
            seen.setdefault(name, []).append(batch[name])
    return {name: numpy.concatenate(rows) for name, rows in seen.items()}


def test_several_that_want_a_box(data):
    """Each of two mosaics is drawn as often as it is alone."""
    one = {"a": C.Image("image", transform=RECIPES["mosaic"]), "of a": boxes("mosaic", follows="a")}
    other = {"b": C.Image("image", transform=[T.Mosaic(60), T.RandomResizedCrop(16, (0.01, 0.05))]), "of b": boxes("mosaic", follows="b")}
    one, other = ({name.replace(" ", "_"): c for name, c in columns.items()} for columns in (one, other))
    first = {"first": VIEW}
    both = batch_of(data, {**one, **other}, "a", "b")
    assert (both["a"] == batch_of(data, one, "a")["a"]).all()
    assert (batch_of(data, {**first, **other}, "b")["b"] == batch_of(data, {"first": C.Image("image", transform=T.Resize((4, 4))), **other}, "b")["b"]).all()


REFUSED = [
    [T.Shared([SMALL])], [T.Shared([SMALL, T.RandomHorizontalFlip()]), T.ColorJitter()], [T.RandomHorizontalFlip(), T.Shared([T.RandomCrop(12)])],
    [T.Shared([T.RandomIoUCrop()]), T.LetterBox(40)], [T.RandomRotation(3), T.RandomApply([T.RandomInvert()]), T.Shared([T.RandomCrop(11)])],
]  # fmt: skip


@pytest.mark.parametrize("steps", REFUSED, ids=range(len(REFUSED)))
def test_what_is_shared_is_not_drawn_again(data, steps):
    columns = {"image": C.Image(transform=steps), "boxes": boxes("alone")}
    with pytest.raises(sluice.InvalidError, match='column "boxes": at_least_one draws the recipe of "image" again, but not its random_.*shared group'):
        sluice.Loader(data, batch_size=8, columns=columns)
    columns["boxes"] = C.Boxes(length=4, format="xywh")
    sluice.Loader(data, batch_size=8, columns=columns).close()


@pytest.mark.parametrize("steps", [[T.Shared([T.RandomCrop(40)]), T.RandomCrop(12)], [T.Shared([T.ColorJitter(), T.Resize((40, 40))])], [SMALL, T.Shared([T.RandomHorizontalFlip()])]])
def test_what_else_is_shared_is_fine(data, steps):
    assert len(batch_of(data, {"image": C.Image(transform=steps), "boxes": boxes("alone")}, "image")["image"]) == COUNT


CUT = [T.RandomIoUCrop(), T.LetterBox(40)]


def iou(student, teacher, **more):
    return {"student": C.Image("image", transform=student), "teacher": C.Image("image", transform=teacher), **more}


def of(name, field="boxes", **options):
    return C.Boxes(field, **{"length": 9, "format": "xywh", "follows": name, **options})


def test_shared_looks_at_the_same_boxes(data):
    shared = [T.Shared(CUT, 1)]
    for before in ([], [T.CenterCrop(60)], [T.ColorJitter()]):
        made = batch_of(data, iou([*before, *shared], [*before, *shared, T.RandomInvert(0.0)], a=of("student"), b=of("teacher", min_size=3)), "student", "teacher")
        if not any(isinstance(step, T.ColorJitter) for step in before):
            assert (made["student"] == made["teacher"]).all()
    sizes = [T.Shared([T.RandomShortestSize([30, 40]), *CUT], 1)]  # after a list of variable length
    made = batch_of(data, iou(sizes, sizes, a=of("student"), b=of("teacher")), "student", "teacher")
    assert (made["student"] == made["teacher"]).all()
    made = batch_of(data, iou(shared, shared), "student", "teacher")  # neither has boxes
    assert (made["student"] == made["teacher"]).all()
    keys = batch_of(data, iou([T.Shared(CUT, 1)], [T.Shared(CUT, 2)], a=of("student")), "student", "teacher")
    assert (keys["student"] != keys["teacher"]).any()


@pytest.mark.parametrize("more", [
    {"a": of("student")}, {"a": of("teacher")}, {"a": of("student"), "b": of("teacher", "others")}, {"a": of("student"), "b": of("teacher", format="xyxy")},
    {"a": of("student"), "b": of("teacher", length=3)}, {"a": of("student", out_format="cxcywh"), "b": of("student", "others"), "c": of("teacher", "others")},
], ids=range(6))  # fmt: skip
def test_shared_looks_at_other_boxes(data, more):
    with pytest.raises(sluice.InvalidError, match='"teacher": it shares its random_iou_crop with "student", which uses other boxes'):
        sluice.Loader(data, batch_size=8, columns=iou([T.Shared(CUT, 1)], [T.Shared(CUT, 1)], **more))


@pytest.mark.parametrize("student, teacher", [
    ([T.RandomHorizontalFlip()], [T.RandomHorizontalFlip()]), ([T.CenterCrop(60)], []), ([T.CenterCrop(60)], [T.CenterCrop(50)]),
    ([T.RandomApply([T.RandomVerticalFlip(1.0)])], [T.RandomApply([T.RandomVerticalFlip(1.0)])]), ([T.Shared([T.RandomHorizontalFlip()], 2)], [T.RandomAffine(3)]),
], ids=range(5))  # fmt: skip
def test_shared_looks_at_moved_boxes(data, student, teacher):
    with pytest.raises(sluice.InvalidError, match="other steps move the boxes before"):
        sluice.Loader(data, batch_size=8, columns=iou([*student, T.Shared(CUT, 1)], [*teacher, T.Shared(CUT, 1)], a=of("student"), b=of("teacher")))

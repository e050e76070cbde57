# SPDX-License-Identifier: Apache-2.0
"""Draws that columns share, and DINOv3's views, which are made from them."""
import io

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNT = 24


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Images in which all pixels differ; and images of one colour, which a jitter changes, regardless of the crop."""
    path = tmp_path_factory.mktemp("shared") / "packed"
    def png(array):
        made = io.BytesIO()
        Image.fromarray(array.astype("uint8")).save(made, "PNG")
        return made.getvalue()

    with sluice.Writer(path, {"image": "image", "plain": "image", "boxes": ("tensor", "float32", (0, 4))}) as writer:
        for number in range(COUNT):
            random = numpy.random.RandomState(number)
            height, width = random.randint(80, 160, 2)
            plain = numpy.empty((height, width, 3), "uint8")
            plain[:] = random.randint(40, 216, 3)
            boxes = numpy.array([[5, 5, 40, 40]], "float32")
            writer.add(image=png(random.randint(0, 256, (height, width, 3))), plain=png(plain), boxes=boxes)
    return path


def batches(data, columns, epochs=(0,), **options):
    with sluice.Loader(data, batch_size=6, shuffle=True, columns=columns, **options) as loader:
        for epoch in epochs:
            loader.set_epoch(epoch)
            for batch in loader:
                yield {name: batch[name].numpy().copy() for name in (*batch.keys(), *batch.parts(), "index")}


CUT = [T.RandomResizedCrop(32, (0.2, 1)), T.RandomHorizontalFlip(), T.RandomAffine(20, (0.1, 0.1))]
JITTER = [T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8), T.RandomGrayscale(0.3), T.RandomOrder([T.RandomInvert(0.3), T.RandomSolarize(128, 0.5)])]


def test_what_is_shared_is_the_same_in_all_columns(data):
    """Regardless of the steps before or after it."""
    columns = {
        "a": C.Image("image", transform=T.Shared([*CUT, *JITTER], 3)), "b": C.Image("image", transform=T.Shared([*CUT, *JITTER], 3)),
        "c": C.Image("image", transform=[T.RandomHorizontalFlip(0.0), T.ColorJitter(), T.Shared([*CUT, *JITTER], 3), T.RandomInvert(0.0)]),
        "other key": C.Image("image", transform=T.Shared([*CUT, *JITTER], 4)), "alone": C.Image("image", transform=[*CUT, *JITTER]),
    }  # fmt: skip
    columns = {name.replace(" ", "_"): column for name, column in columns.items()}
    seen = []
    for batch in batches(data, columns, (0, 1), exact=True):
        assert (batch["a"] == batch["b"]).all() and (batch["a"] == batch["c"]).all()
        for name in ("other_key", "alone"):
            assert all((one != other).any() for one, other in zip(batch["a"], batch[name]))
        seen += [(int(index), row.tobytes()) for index, row in zip(batch["index"], batch["a"])]
    assert len(set(seen)) == 2 * COUNT  # another one in each epoch


def test_what_is_not_shared_is_as_without(data):
    """A column's own steps have the same draws before and after an empty group of shared steps."""
    nothing = T.Shared([T.RandomHorizontalFlip(0.0), T.ColorJitter()], 7)
    columns = [{"a": C.Image("image", transform=steps)} for steps in ([*CUT, *JITTER], [nothing, *CUT, nothing, *JITTER])]
    for one, other in zip(*(batches(data, made, exact=True) for made in columns)):
        assert (one["a"] == other["a"]).all()


def test_one_jitter_for_all_views(data):
    views = [[*cut, T.Shared(JITTER)] for cut in ([T.RandomResizedCrop(32)], [T.RandomResizedCrop(8, (0.05, 0.3))], [T.CenterCrop(5)])]
    apart = [[*cut, *JITTER] for cut in ([T.RandomResizedCrop(32)], [T.RandomResizedCrop(8, (0.05, 0.3))])]
    columns = {f"v{i}": C.Image("plain", transform=steps) for i, steps in enumerate(views + apart)}
    colours, differ = set(), 0
    for batch in batches(data, columns):
        for i in range(len(batch["index"])):
            shared = {tuple(colour) for view in range(3) for colour in batch[f"v{view}"][i].reshape(-1, 3).tolist()}
            assert len(shared) == 1
            colours |= shared
            differ += (batch["v3"][i][0, 0] != batch["v4"][i][0, 0]).any()
    assert len(colours) > COUNT / 2 and differ > COUNT / 2


def test_boxes_that_are_drawn_again_do_not_change_it(data):
    """at_least_one draws a column's own steps again, but not the shared ones."""
    steps = [T.Shared([T.RandomCrop(40)]), T.RandomCrop(12)]
    columns = {
        "image": C.Image(transform=steps), "boxes": C.Boxes(length=1, at_least_one=True, follows="image"), "at": C.Geometry(follows="image"),
        "large": C.Image("image", transform=steps[:1]), "large.at": C.Geometry(follows="large"),
    }  # fmt: skip
    counts = []
    for batch in batches(data, columns, range(10)):
        for i in range(len(batch["index"])):
            x, y = (batch["large.at"][i, :2, 2] - batch["at"][i, :2, 2]).astype(int)
            assert (batch["large"][i, y : y + 12, x : x + 12] == batch["image"][i]).all()
        counts += numpy.diff(batch["boxes.offsets"]).tolist()
    assert 0 < counts.count(1) < len(counts)


@pytest.mark.parametrize("exact", [True, False])
def test_windows_of_a_grid(data, exact):
    """(side - size) / grid equally likely positions, as with numpy's randint, vertical and horizontal ones independent."""
    columns = {
        "large": C.Image("image", transform=T.Shared([T.RandomResizedCrop((72, 96)), T.RandomHorizontalFlip()], 1)),
        "small": C.Image("image", transform=[T.Shared([T.RandomResizedCrop((72, 96)), T.RandomHorizontalFlip()], 1), T.RandomGridCrop((24, 32), 16)]),
        "large.at": C.Geometry(follows="large"), "small.at": C.Geometry(follows="small"),
    }  # fmt: skip
    places = numpy.zeros((3, 4), int)
    for batch in batches(data, columns, range(40), exact=exact):
        at = batch["large.at"][:, :2, 2] - batch["small.at"][:, :2, 2]
        assert numpy.abs(at - at.round()).max() < 1e-9 and (at.round() % 16 == 0).all()
        for i, (x, y) in enumerate(at.round().astype(int).tolist()):
            assert (batch["small"][i] == batch["large"][i, y : y + 24, x : x + 32]).all()
            places[y // 16, x // 16] += 1
    expected = places.sum() / 12
    assert ((places - expected) ** 2 / expected).sum() < 31.3  # chi-square with 11 degrees: exceeded once in a thousand


def test_a_grid_of_one_place(data):
    steps = [T.Resize(24), T.CenterCrop(24), T.RandomGridCrop(24, 16)]
    for batch in batches(data, {"a": C.Image("image", transform=steps), "b": C.Image("image", transform=steps[:2])}):
        assert (batch["a"] == batch["b"]).all()
    with pytest.raises(sluice.Error, match="is smaller than the window"):
        list(batches(data, {"a": C.Image("image", transform=[T.CenterCrop(20), T.RandomGridCrop(24)])}))


def test_all_of_dinov3(data):
    """The Gram teacher's and the teacher's crops equal the large views; small ones are cut out of these."""
    views = T.presets.dinov3(
        64, 32, local_views=4, horizontal_flips=True, share_color_jitter=True, teacher_no_color_jitter=True,
        gram_teacher_crops_size=128, local_crops_subset_of_global_crops=True, patch_size=8,
    )  # fmt: skip
    views |= {f"{name}.at": C.Geometry(follows=name) for name in ("teacher1", "teacher2", "gram1", "gram2")}
    pictures = [name for name in views if not name.endswith(".at")]
    assert pictures == ["global1", "global2", "local1", "local2", "local3", "local4", "teacher1", "teacher2", "gram1", "gram2"]
    cuts = set()
    for batch in batches(data, views, range(3)):
        for i in (1, 2):
            large = batch[f"global{i}.at"]
            assert batch[f"gram{i}"].shape == (6, 3, 128, 128) and batch[f"teacher{i}"].shape == (6, 3, 64, 64)
            assert (batch[f"teacher{i}.at"] == large).all()
            assert numpy.abs(batch[f"gram{i}.at"][:, :2] - 2 * large[:, :2]).max() < 1e-6
            for j in (2 * i - 1, 2 * i):
                at = large[:, :2, 2] - batch[f"local{j}.at"][:, :2, 2]
                assert numpy.abs(large[:, :2, :2] - batch[f"local{j}.at"][:, :2, :2]).max() < 1e-9
                assert numpy.isin(at.round(9), [0, 8, 16, 24]).all() and batch[f"local{j}"].shape == (6, 3, 32, 32)
                cuts |= {tuple(one) for one in at.round().astype(int).tolist()}
        assert (batch["global1.at"] != batch["global2.at"]).any() and (batch["local1"] != batch["local2"]).any()
    assert len(cuts) == 16


def test_dinov3_views_that_share_nothing_are_as_before(data):
    views = T.presets.dinov3(64, 32, local_views=2)
    shared = T.presets.dinov3(64, 32, local_views=2, gram_teacher_crops_size=64)
    assert list(shared) == [*views, "gram1", "gram2"]
    for one, other in zip(batches(data, {"v": views["local1"]}), batches(data, {"v": shared["local1"]})):
        assert (one["v"] == other["v"]).all()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: T.Shared([], 1), ValueError, "expected at least one transform"),
        (lambda: T.Shared([T.CenterCrop(3)], 256), ValueError, "key=256"),
        (lambda: T.Shared([T.CenterCrop(3)], "a"), TypeError, "key='a'"),
        (lambda: T.RandomGridCrop(3, 0), ValueError, "grid=0"),
        (lambda: T.RandomGridCrop(0), ValueError, "width must be a whole number from 1"),
        (lambda: T.presets.dinov3(local_views=3, local_crops_subset_of_global_crops=True), ValueError, "even"),
        (lambda: T.presets.dinov3(96, 112, local_crops_subset_of_global_crops=True), ValueError, "local_size=112"),
        (lambda: T.presets.dinov3(patch_size=0), ValueError, "patch_size=0"),
        (lambda: T.presets.dinov3(gram_teacher_crops_size=0), ValueError, "gram_teacher_crops_size=0"),
        (lambda: T.presets.dinov3(share_color_jitter="no"), TypeError, "share_color_jitter"),
    ],
)
def test_refused(make, error, words, data):
    with pytest.raises(error, match=words):
        made = make()
        sluice.Loader(data, 2, columns={"image": C.Image(transform=[made, T.Resize(4)])})


def test_one_in_another_is_refused(data):
    with pytest.raises(sluice.Error, match="already shares its draws"):
        sluice.Loader(data, 2, columns={"image": C.Image(transform=[T.Shared([T.RandomApply([T.Shared([T.RandomCrop(3)])], p=1.0)])])})

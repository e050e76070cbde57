# SPDX-License-Identifier: Apache-2.0
"""ElasticTransform: columns that follow it, errors, and that its draw is a function of the seed. test_torchvision.py compares
pixels and fields with torchvision."""
import io

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C, transforms as T

HEIGHT, WIDTH, ROWS = 50, 60, 6


def png(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Images whose red is the column and whose green is the row; the mask is the row, plus 200 in the left half."""
    x, y = numpy.arange(WIDTH) + 0 * numpy.arange(HEIGHT)[:, None], 0 * numpy.arange(WIDTH) + numpy.arange(HEIGHT)[:, None]
    image = numpy.dstack([x, y, 0 * x + 9]).astype(numpy.uint8)
    path = tmp_path_factory.mktemp("elastic") / "data"
    fields = {"image": "image", "classes": "image", "depth": ("tensor", "float32", (0, 0)), "boxes": ("tensor", "float32", (0, 4), {"role": "boxes", "of": "image", "box_format": "xyxy"}),
              "points": ("tensor", "float32", (0, 2))}  # fmt: skip
    with sluice.Writer(path, fields) as writer:
        for _ in range(ROWS):
            writer.add(image=png(image), classes=png((y + 200 * (x < WIDTH // 2)).astype(numpy.uint8)), depth=y.astype("float32"),
                       boxes=[[1, 2, 30, 40]], points=[[3, 4]])  # fmt: skip
    return sluice.Dataset(path)


def first(data, columns, **options):
    with sluice.Loader(data, batch_size=ROWS, columns=columns, **{"num_workers": 1, "seed": 4, **options}) as loader:
        batch = next(iter(loader))
        return {name: numpy.array(numpy.asarray(batch[name])) for name in columns}


ELASTIC = T.ElasticTransform(300.0, 4.0, "nearest")
RECIPES = {
    "alone": [T.CenterCrop((HEIGHT, WIDTH)), ELASTIC],
    "among others": [T.RandomCrop(45), ELASTIC, T.RandomHorizontalFlip(0.5), T.CenterCrop((40, 50))],
    "of several samples": [T.Mosaic(60, interpolation="nearest"), ELASTIC, T.CenterCrop(80)],
}


@pytest.mark.parametrize("transform", RECIPES.values(), ids=RECIPES)
def test_masks_follow(data, transform):
    batch = first(data, {"image": C.Image(transform=transform), "classes": C.Mask(fill=255)})
    column, row, there = batch["image"][..., 0].astype(int), batch["image"][..., 1].astype(int), batch["image"][..., 2] == 9
    assert (~there).any() and there.mean() > 0.5
    assert (batch["classes"] == numpy.where(there, row + 200 * (column < WIDTH // 2), 255)).all()
    assert abs(numpy.diff(row, axis=2))[there[:, :, 1:] & there[:, :, :-1]].max() > 1
    assert len({image.tobytes() for image in batch["image"]}) == ROWS  # each row has its own field


def test_the_draw_is_of_the_seed(data):
    columns = {"image": C.Image(transform=[T.CenterCrop(40), T.ElasticTransform()])}
    expected = first(data, columns)["image"]
    assert (first(data, columns, num_workers=3)["image"] == expected).all()
    assert (first(data, columns, exact=True)["image"] == expected).all()
    assert (first(data, columns, seed=5)["image"] != expected).any()


def test_shared_fields(data):
    steps = [T.CenterCrop(40), T.Shared([T.ElasticTransform(200.0)])]
    batch = first(data, {"a": C.Image("image", transform=steps), "b": C.Image("image", transform=[*steps, T.RandomInvert(1)])})
    assert (batch["a"] == 255 - batch["b"]).all()


@pytest.mark.parametrize(
    "name, column",
    [("boxes", C.Boxes(length=9)), ("points", C.Points(length=9)), ("at", C.Geometry()),
     ("depth", C.Mask(interpolation="bilinear", dtype="float32"))],
)  # fmt: skip
def test_what_goes_by_a_matrix_is_refused(data, name, column):
    transform = [T.CenterCrop(40), T.RandomApply([T.ElasticTransform()])]
    with pytest.raises(sluice.InvalidError, match=f'column "{name}": it cannot follow the step elastic_transform of its image'):
        first(data, {"image": C.Image(transform=transform), name: column})


@pytest.mark.parametrize("step", [T.RandomIoUCrop(), T.CopyPaste()])
def test_steps_that_go_by_boxes_are_refused_behind_it(data, step):
    with pytest.raises((ValueError, sluice.Error), match="cannot follow the elastic transform before it: add it first"):
        sluice.Loader(data, columns={"image": C.Image(transform=[T.ElasticTransform(), step, T.CenterCrop(8)])})
    T.recipe([T.RandomIoUCrop(), T.ElasticTransform(), T.CenterCrop(8)])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: T.ElasticTransform(-1.0), "alpha=-1.0: expected numbers from 0 to 100000"),
        (lambda: T.ElasticTransform((1, 2, 3)), "across and down"),
        (lambda: T.ElasticTransform(sigma=101), "sigma=101: expected numbers from 0 to 100"),
        (lambda: T.ElasticTransform(sigma=(0, 5)), "both numbers above 0, or both 0"),
        (lambda: T.ElasticTransform(interpolation="bicubic"), "for a warp, expected 'nearest', 'bilinear'"),
        (lambda: T.ElasticTransform(fill=300), "8-bit"),
    ],
)
def test_arguments(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_thin_images():
    for shape in ((1, 1, 3), (1, 30, 3), (30, 1, 3)):
        image = numpy.full(shape, 7, numpy.uint8)
        for sigma in (0, 5):
            assert T.ElasticTransform(0.0, sigma)(image).tolist() == image.tolist()
            assert T.ElasticTransform(3.0, sigma, "nearest", 7)(image).tolist() == image.tolist()

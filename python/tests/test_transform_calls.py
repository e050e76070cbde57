# SPDX-License-Identifier: Apache-2.0
"""Calling a transform on an image gives the same result as in a loader, bit for bit."""
import os
import tempfile

import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

NORMAL = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
STEPS = [  # steps that fix the size of images, and others
    T.RandomResizedCrop(24),
    T.Compose([T.ToImage(), T.RandomResizedCrop(24), T.RandAugment(), T.ToDtype("float32", scale=True), NORMAL, T.RandomErasing(1)]),
    T.Compose([T.Resize(32), T.CenterCrop(24), T.ToTensor()]),
    T.Compose([T.CenterCrop(24), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.Python(lambda images: 255 - images)]),
    T.presets.mae(24),
]
OPEN = [T.RandomAffine(20), T.Pad(50), T.RandomZoomOut(p=1), T.Resize(20), T.Compose([T.RandomPosterize(3, 1), T.ToTensor()])]


@pytest.fixture(scope="module")
def picture():
    x, y = numpy.arange(91), numpy.arange(60)[:, None]
    return numpy.dstack([x * 2 + 0 * y, y * 4 + 0 * x, (x * y) % 256]).astype(numpy.uint8)


@pytest.fixture(scope="module")
def files(picture, tmp_path_factory):
    """Writes the image in a class folder, as a PNG and as a JPEG."""
    root = tmp_path_factory.mktemp("one")
    for kind in ("png", "jpg"):
        (root / kind / "class").mkdir(parents=True)
        Image.fromarray(picture).save(root / kind / f"class/0.{kind}", quality=95)
    return root


def by_loader(path, transform, seed, **options):
    with sluice.Loader(path, transform=transform, seed=seed, num_workers=1, **options) as loader:
        return numpy.array(numpy.asarray(next(iter(loader))["image"])[0])


@pytest.mark.parametrize("transform", STEPS, ids=lambda step: type(step).__name__)
def test_pixels_are_the_loaders(picture, files, transform):
    for seed in (0, 7):
        expected = by_loader(files / "png", transform, seed)
        for given in (picture, Image.fromarray(picture), (files / "png/class/0.png").read_bytes()):
            got = transform(given, seed=seed)
            assert got.dtype == expected.dtype and got.shape == expected.shape and (got == expected).all()
    assert (transform(picture) == transform(picture, seed=0)).all()


def test_bytes_of_a_jpeg(files):
    transform = T.RandomResizedCrop(24, scale=(0.5, 1))
    assert (transform((files / "jpg/class/0.jpg").read_bytes(), seed=3) == by_loader(files / "jpg", transform, 3)).all()


@pytest.mark.parametrize("transform", OPEN, ids=lambda step: type(step).__name__)
def test_a_step_alone_keeps_its_size(picture, files, transform):
    column = sluice.columns.Image("image", transform=transform, sizes="padded", max_size=400)
    with sluice.Loader(files / "png", columns={"image": column}, seed=5, num_workers=1) as loader:
        batch = next(iter(loader))
        expected = numpy.asarray(batch["image"])[0]
        height, width = numpy.asarray(batch["image.sizes"])[0]
    got = transform(picture, seed=5)
    assert got.shape == (height, width, 3) and (got == expected[:height, :width]).all()
    assert (transform(picture, seed=5) == got).all()


def test_seeds_draw_different_things(picture):
    crop = T.RandomResizedCrop(16)
    assert len({crop(picture, seed=seed).tobytes() for seed in range(4)}) == 4


def test_torch_tensors(picture):
    torch = pytest.importorskip("torch")
    transform = T.Compose([T.RandomResizedCrop(24), T.Python(lambda images: images.flip(0)), T.ToPureTensor()])
    got = transform(torch.from_numpy(picture.transpose(2, 0, 1).copy()), seed=2)
    assert isinstance(got, torch.Tensor) and got.shape == (3, 24, 24)
    assert (got.numpy().transpose(1, 2, 0) == T.RandomResizedCrop(24)(picture, seed=2)).all()
    for wrong in (torch.zeros(60, 91, 3, dtype=torch.uint8), torch.zeros(3, 60, 91)):
        with pytest.raises(ValueError, match="a torch tensor of .*: expected 3 x height x width, torch.uint8"):
            transform(wrong)


def test_what_is_decoded_can_be_given(picture, files):
    data = sluice.Dataset(files / "png")
    assert (T.CenterCrop(30)(data.decode(0)) == picture[15:45, 30:60]).all()
    grey = Image.fromarray(picture[..., 0])
    assert (T.CenterCrop(30)(grey) == numpy.asarray(grey)[15:45, 30:60, None]).all()


@pytest.mark.parametrize(
    "transform, words",
    [
        (T.Mosaic(32), "Mosaic takes other samples.*leave it out here, or open sluice.Loader"),
        (T.Compose([T.CenterCrop(8), T.MixUp()]), "MixUp.* mixes the images of a batch"),
        (T.Compose([T.CenterCrop(8), T.MixUpPartner()]), "MixUpPartner takes another sample"),
        (T.Compose([T.CenterCrop(8), T.CopyPaste()]), "CopyPaste takes another sample"),
        (T.BucketCrop(), "size of the batch's bucket"),
    ],
)
def test_steps_of_several_samples_are_refused(picture, transform, words):
    with pytest.raises(ValueError, match=words):
        transform(picture)


def test_what_is_no_image_is_refused(picture):
    crop = T.CenterCrop(8)
    for given, kind, words in (
        ("cat.jpg", TypeError, r"open\(path, 'rb'\)\.read\(\)"),
        (3, TypeError, "image=3: expected a PIL image"),
        ([picture], TypeError, "expected a PIL image"),
        (picture[..., 0], ValueError, "an array of 60 x 91, uint8: expected height x width x 3, uint8"),
        (picture.astype("float32"), ValueError, "float32: expected height x width x 3, uint8"),
        (picture[:0], ValueError, "an array of 0 x 91 x 3 has no pixels"),
        (Image.new("I;16", (8, 8)), ValueError, "mode 'I;16', whose values Pillow would clip at 255"),
        (b"no image", sluice.CorruptError, "not an image"),
    ):
        with pytest.raises(kind, match=words):
            crop(given)
    with pytest.raises(ValueError, match="seed"):
        crop(picture, seed=-1)
    with pytest.raises(sluice.UnsupportedError, match="pad_if_needed"):
        T.RandomCrop(200)(picture)
    with pytest.raises(TypeError, match="it is a step of the library"):
        T.Python(crop)


def test_pixels_may_be_many():
    """More than the default limit for a sample of a dataset."""
    assert (T.Resize((2, 3))(numpy.full((5000, 4600, 3), 7, "uint8")) == 7).all()


def test_nothing_is_left(picture, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    T.CenterCrop(8)(picture)
    with pytest.raises(sluice.CorruptError):
        T.CenterCrop(8)(b"no image")
    assert os.listdir(tmp_path) == []

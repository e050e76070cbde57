# SPDX-License-Identifier: Apache-2.0
"""Mixing over a batch, from Python: labels and images compared with the columns that describe the mix."""
import numpy
import pytest

import sluice
from sluice import columns as C
from sluice import transforms as T

CROP = T.RandomResizedCrop(16)


def batches(data, *steps, **options):
    return list(sluice.Loader(data, batch_size=8, transform=[CROP, T.ToTensor(), *steps], **options))


STEPS = [T.MixUp, T.CutMix, lambda **given: T.RandomChoice([T.MixUp(alpha=0.2, **given), T.CutMix(**given)])]


@pytest.mark.parametrize("make", STEPS)
def test_labels_become_shares_of_classes(data, make):
    plain, mixed = batches(data), batches(data, make(num_classes=3))
    shares = 0
    for (images, labels), batch in zip(plain, mixed):
        pictures, rows = batch
        assert batch.keys() == ["image", "label"] and rows.shape == (len(labels), 3) and rows.dtype == "float32"
        partner, weight = batch["image.mixed_with"].numpy(), batch["image.weight"].numpy()
        before = numpy.roll(numpy.arange(len(labels)), 1)
        assert ((partner == before) | (partner == numpy.arange(len(labels)))).all()
        one_hot = numpy.eye(3, dtype="float32")[labels.numpy()]
        expected = weight[:, None] * one_hot + (1 - weight[:, None]) * one_hot[partner]
        assert numpy.abs(rows.numpy() - expected).max() < 1e-6
        shares += (weight < 1).sum()
        assert (pictures.numpy() != images.numpy()).any() or len(labels) == 1  # the last row is its own partner
    assert shares > 20


def test_pictures_of_mixup_are_shares(data):
    for (images, _), batch in zip(batches(data), batches(data, T.MixUp(num_classes=3))):
        own, weight = images.numpy(), batch["image.weight"].numpy()[:, None, None, None]
        expected = weight * own + (1 - weight) * own[batch["image.mixed_with"].numpy()]
        assert numpy.abs(batch["image"].numpy() - expected).max() < 1e-6


def test_pictures_of_cutmix_are_parts(data):
    for (images, _), batch in zip(batches(data), batches(data, T.CutMix(num_classes=3))):
        own, weight, partner = images.numpy(), batch["image.weight"].numpy(), batch["image.mixed_with"].numpy()
        from_other = (batch["image"].numpy() != own).any(3)
        assert ((batch["image"].numpy() == own) | (batch["image"].numpy() == own[partner])).all()
        assert (from_other.mean((1, 2)) <= 1 - weight + 1e-6).all()


def test_without_classes_labels_stay_numbers(data):
    images, labels = batches(data, T.MixUp())[0]
    partner, weight = images.mixed_with, images.weight
    assert labels.dtype == "int64" and partner.dtype == "int64" and weight.dtype == "float32"
    assert (partner.numpy() == numpy.roll(numpy.arange(8), 1)).all()


def test_timms(data):
    step = T.MixUp.timm(0.8, 1.0, label_smoothing=0.1, num_classes=3, mode="elem")
    (_, labels), batch = batches(data)[0], batches(data, step)[0]
    partner, weight = batch["image.mixed_with"].numpy(), batch["image.weight"].numpy()[:, None]
    assert set(partner[weight[:, 0] < 1]) <= set(range(8)) and (partner + numpy.arange(8) == 7)[weight[:, 0] < 1].all()
    smooth = numpy.eye(3)[labels.numpy()] * 0.9 + 0.1 / 3
    assert numpy.abs(batch["label"].numpy() - (weight * smooth + (1 - weight) * smooth[partner])).max() < 1e-6


def test_columns_that_follow(data):
    columns = {
        "views": C.Image("image", transform=[CROP, T.ToTensor(), T.MixUp()]),
        "soft": C.OneHot(3, "label", mixes="views", smoothing=0.2),
        "label": C.Number("label"),
    }
    batch = next(iter(sluice.Loader(data, batch_size=8, columns=columns)))
    assert batch.keys() == ["views", "soft", "label"] and batch.parts() == ["views.mixed_with", "views.weight"]
    weight = batch["views.weight"].numpy()[:, None]
    smooth = numpy.eye(3)[batch["label"].numpy()] * 0.8 + 0.2 / 3
    assert numpy.abs(batch["soft"].numpy() - (weight * smooth + (1 - weight) * smooth[batch["views.mixed_with"].numpy()])).max() < 1e-6


TIMM = T.MixUp.timm


@pytest.mark.parametrize(
    "step, words",
    [
        (T.MixUp(num_classes=3), r"MixUp: num_classes cannot .* set num_classes=None and .*OneHot\(3, \"label\", mixes=NAME\)"),
        (T.CutMix(num_classes=3), r"CutMix: num_classes cannot"),
        (TIMM(0.8), r"num_classes and label_smoothing .* label_smoothing=0 and .*OneHot\(1000, .*mixes=NAME, smoothing=0\.1\)"),
        (TIMM(0.8, label_smoothing=0), "set num_classes=None and"),
        (TIMM(0.8, num_classes=None, label_smoothing=0.2), r"TimmMixup: label_smoothing .*OneHot\(classes, .*smoothing=0\.2\)"),
        (T.RandomChoice([T.MixUp(num_classes=3), T.CutMix(num_classes=3)]), "num_classes=None"),
    ],
)
def test_labels_are_said_in_a_column_of_their_own(step, words):
    with pytest.raises(ValueError, match=words):
        C.Image("image", transform=[CROP, T.ToTensor(), step])


def test_smoothing_needs_labels(data):
    with pytest.raises(ValueError, match="TimmMixup.*label_smoothing=0"):
        sluice.Loader(data, batch_size=8, transform=[CROP, TIMM(0.8, num_classes=None)])
    assert "image.weight" in next(iter(sluice.Loader(data, batch_size=8, transform=[CROP, TIMM(0.8, label_smoothing=0, num_classes=None)])))


def test_columns_of_timms(data):
    step = TIMM(0.8, label_smoothing=0, num_classes=None)
    columns = {"image": C.Image(transform=[CROP, T.ToTensor(), step]), "label": C.OneHot(3, mixes="image", smoothing=0.1)}
    alone = batches(data, TIMM(0.8, label_smoothing=0.1, num_classes=3))
    for one, other in zip(alone, sluice.Loader(data, batch_size=8, columns=columns)):
        assert all((one[name].numpy() == other[name].numpy()).all() for name in ("image", "label", "image.weight"))


def test_torch_tensors_and_copies(data):
    torch = pytest.importorskip("torch")
    import pickle

    import sluice.torch

    loader = sluice.torch.DataLoader(data, batch_size=8, transform=T.presets.torchvision_vit(size=32, num_classes=3))
    batch = next(iter(loader))
    images, shares = batch
    assert images.shape == (8, 3, 32, 32) and shares.dtype == torch.float32 and shares.sum(1).allclose(torch.ones(8))
    other = pickle.loads(pickle.dumps(batch))
    assert (other["image.weight"] == batch["image.weight"]).all() and other.keys() == ["image", "label"]
    assert "image.mixed_with" in batch.to("cpu") and "image.mixed_with" in batch
    for made in (batch, batch.to("cpu")):
        with pytest.raises(KeyError, match="'image.partner' is now 'image.mixed_with'"):
            made["image.partner"]


def test_the_same_again(data):
    steps = T.presets.resnet_strikes_back("A1", size=16, num_classes=3)
    one, other = (list(sluice.Loader(data, batch_size=8, transform=steps, num_workers=n, seed=3)) for n in (1, 3))
    assert all((a[i].numpy() == b[i].numpy()).all() for a, b in zip(one, other) for i in range(2))


@pytest.mark.parametrize(
    "columns, words",
    [
        ({"image": C.Image(transform=CROP), "soft": C.OneHot(3, "label", mixes="image")}, "soft|mixes"),
        ({"image": C.Image(transform=[CROP, T.MixUp()]), "soft": C.OneHot(3, "label", mixes="picture")}, "picture"),
        ({"image": C.Image(transform=[CROP, T.MixUp()]), "soft": C.OneHot(3, "label", mixes="image", dtype="int64")}, "soft|dtype"),
        ({"soft": C.OneHot(3, "label", smoothing=1.5)}, "smoothing"),
    ],
)
def test_what_cannot_be(data, columns, words):
    with pytest.raises(ValueError, match=words):
        sluice.Loader(data, batch_size=8, columns=columns)


def test_labels_that_are_not_there(data):
    with pytest.raises(ValueError, match="labels_getter= must be one of"):
        batches(data, T.MixUp(num_classes=3, labels_getter="klass"))
    with pytest.raises(TypeError, match="the name of the field"):
        T.MixUp(num_classes=3, labels_getter=len)
    with pytest.raises(ValueError):
        sluice.Loader(data, batch_size=1, transform=[CROP, T.MixUp()])


ENDS = [
    (T.MixUp, 0), (T.CutMix, 0), (lambda **given: T.RandomChoice([T.MixUp(alpha=0.2, **given), T.CutMix(**given)]), 0),
    (lambda **given: T.MixUp.timm(0.8, 1.0, **given), 0.1),
]  # fmt: skip


@pytest.mark.parametrize("make, smoothing", ENDS)
@pytest.mark.parametrize("crop", [[CROP], [CROP, T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)]], ids=["uint8", "float32"])
def test_mixing_ends(data, make, smoothing, crop):
    """From end_epoch on, images equal those without mixing, bit for bit, and labels belong to single rows; earlier epochs do not change."""
    def run(*steps):
        loader = sluice.Loader(data, batch_size=8, shuffle=True, seed=4, transform=[*crop, *steps])
        return [[{name: batch[name].numpy().copy() for name in batch.keys()} for batch in loader] for _ in range(4)]

    plain, mixed, ended = run(), run(make(num_classes=3)), run(make(num_classes=3, end_epoch=2))
    for epoch in range(4):
        for own, always, batch in zip(plain[epoch], mixed[epoch], ended[epoch]):
            wanted = own if epoch >= 2 else always
            assert batch["image"].tobytes() == wanted["image"].tobytes()
            if epoch < 2:
                assert batch["label"].tobytes() == always["label"].tobytes()
            else:
                assert numpy.abs(batch["label"] - (numpy.eye(3)[own["label"]] * (1 - smoothing) + smoothing / 3)).max() < 1e-6
    assert any((a["image"] != b["image"]).any() for a, b in zip(plain[1], ended[1]))


def test_ends_that_are_refused(data):
    for end_epoch in (0, -1, 1.5, "2"):
        with pytest.raises((TypeError, ValueError), match="end_epoch"):
            T.MixUp(end_epoch=end_epoch)
    with pytest.raises(ValueError, match="end_epoch of both must be equal"):
        batches(data, T.RandomChoice([T.MixUp(end_epoch=3), T.CutMix(end_epoch=4)]))

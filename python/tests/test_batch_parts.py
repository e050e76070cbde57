# SPDX-License-Identifier: Apache-2.0
"""A batch is exactly the requested columns; offsets, lengths and sizes belong to their columns."""
import copy
import io
import pickle

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

COUNTS = [2, 0, 3, 1]  # boxes of each sample
TEXTS = ["a dog", "", "ein Ü", "犬"]
PARTS = ["image.sizes", "boxes.offsets", "labels.offsets", "seg.sizes", "caption.lengths"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "p"
    fields = {"image": "image", "seg": "image", "caption": "text", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    with sluice.Writer(path, fields) as writer:
        for number, (count, text) in enumerate(zip(COUNTS, TEXTS)):
            pixels, file, mask = numpy.full((20 + number, 30, 3), 50 * number, "uint8"), io.BytesIO(), io.BytesIO()
            Image.fromarray(pixels).save(file, "PNG")
            Image.fromarray(pixels[..., 0]).save(mask, "PNG")
            boxes = [[i, i, i + 10, i + 10] for i in range(count)]
            writer.add(image=file.getvalue(), seg=mask.getvalue(), caption=text, boxes=boxes, labels=list(range(count)))
    return sluice.Dataset(path)


def columns():
    return {
        "image": C.Image(sizes="padded", max_size=64), "boxes": C.Boxes(format="xyxy"), "labels": C.Ragged(follows="boxes"),
        "seg": C.Mask(), "caption": C.Padded(length=20),
    }  # fmt: skip


def kinds():
    yield sluice.Loader
    try:
        from sluice.torch import DataLoader
    except ModuleNotFoundError:
        return
    yield DataLoader


@pytest.mark.parametrize("kind", kinds())
def test_a_batch_is_the_requested_columns(data, kind):
    (batch,) = kind(data, batch_size=4, columns=columns())
    image, boxes, labels, seg, caption = batch
    assert len(batch) == 5 and batch.keys() == list(dict(batch)) == list(columns()) and batch.parts() == PARTS
    assert batch.values() == list(batch) and [name for name, _ in batch.items()] == batch.keys()
    assert boxes.offsets.tolist() == labels.offsets.tolist() == [0, 2, 2, 5, 6]
    assert image.sizes.tolist() == seg.sizes.tolist() == [[20 + i, 30] for i in range(4)]
    assert caption.lengths.tolist() == [len(text.encode()) for text in TEXTS]
    for name in PARTS:
        owner, part = name.split(".")
        assert name in batch and batch[name] is getattr(batch[owner], part) is batch.get(name)
    assert "boxes.lengths" not in batch and not hasattr(boxes, "lengths")
    with pytest.raises(KeyError, match="'boxes.ofsets'.*did you mean 'boxes.offsets'"):
        batch["boxes.ofsets"]


@pytest.mark.parametrize("kind", kinds())
def test_parts_stay_when_the_batch_is_gone(data, kind):
    loader = kind(data, batch_size=2, columns=columns(), hold="wait")
    kept = [batch["boxes"] for batch in loader]
    assert [boxes.offsets.tolist() for boxes in kept] == [[0, 2, 2], [0, 3, 4]] and loader._handle.held == 0
    (first, _) = list(loader)
    boxes = first["boxes"]
    first.release()
    assert boxes.offsets.tolist() == [0, 2, 2]
    with pytest.raises(sluice.StateError, match="released"):
        first.parts()


def test_mixed_rows_belong_to_the_image(data):
    images, text = next(iter(sluice.Loader(data, batch_size=4, columns={
        "image": C.Image(transform=[T.RandomResizedCrop(8), T.MixUp()]), "caption": C.Ragged(length=20)})))  # fmt: skip
    assert images.mixed_with.shape == images.weight.shape == (4,) and text.offsets.shape == (5,)


def test_geometry_has_parts_by_name(data):
    columns = {"image": C.Image(transform=T.RandomResizedCrop(8)), "at": C.Geometry()}
    (batch,) = sluice.Loader(data, batch_size=4, columns=columns)
    assert batch.keys() == ["image", "at"] and batch.parts() == ["at.size", "at.box", "at.scale", "at.flip"]
    assert batch["at.size"].tolist() == [[20 + i, 30] for i in range(4)]


def test_batches_of_columns_have_the_parts_they_are_given(data):
    (batch,) = sluice.Loader(data, batch_size=4, columns=columns())
    again = type(batch)({**batch, "boxes.offsets": 7, "mask": 1})
    assert again.keys() == batch.keys() and again["boxes.offsets"] == 7 and again["mask"] == 1
    batch["boxes.offsets"] = 3
    assert batch["boxes.offsets"] == 3 and type(batch)(batch)["boxes.offsets"] == 3
    again = type(batch)([None] * 5)
    with pytest.raises(KeyError, match="'boxes.offsets': this batch was made from columns and lacks it"):
        again["boxes.offsets"]
    made = sluice.Batch({"a": 1, "a.offsets": 2, "b.offsets": 3})
    assert made.keys() == ["a", "b.offsets"] and made["a.offsets"] == 2
    with pytest.raises(TypeError, match="expected a sluice.Tensor without parts"):
        batch["boxes"]._attach("offsets", batch["boxes"])


def test_batches_of_torch_keep_parts_where_they_go(data):
    torch = pytest.importorskip("torch")
    import sluice.torch

    (batch,) = sluice.torch.DataLoader(data, batch_size=4, columns=columns())
    assert type(batch["boxes"]) is torch.Tensor
    moved = batch.to("meta")
    assert moved["boxes"].offsets.device.type == moved["boxes.offsets"].device.type == "meta" and moved.parts() == PARTS
    for again in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), batch.to("cpu")):
        assert again["boxes"].offsets.tolist() == again["boxes.offsets"].tolist() == [0, 2, 2, 5, 6]
    assert [len(target["boxes"]) for target in sluice.torch.targets(batch)] == COUNTS
    assert [tuple(picture.shape[-2:]) for picture in batch.pictures("seg")] == [(20 + i, 30) for i in range(4)]


@pytest.mark.parametrize("kind", kinds())
def test_without_columns_a_batch_is_the_natural_ones(data, kind, tmp_path):
    for number in range(3):
        folder = tmp_path / "photos" / str(number)
        folder.mkdir(parents=True)
        (folder / "a.png").write_bytes(data.read(number, "image"))
    for step in (T.RandomHorizontalFlip(), T.MixUp(), T.MixUp(num_classes=3)):
        loader = kind(tmp_path / "photos", batch_size=3, transform=[T.RandomResizedCrop(8), step])
        for image, label in loader:
            assert len(image) == len(label) == 3
        mixed = [] if isinstance(step, T.RandomHorizontalFlip) else ["image.mixed_with", "image.weight"]
        assert next(iter(loader)).parts() == mixed

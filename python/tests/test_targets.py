# SPDX-License-Identifier: Apache-2.0
"""sluice.torch.targets: the arguments of torchvision's detection models, from ragged and from padded columns."""
import io

import numpy
import pytest
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

torch = pytest.importorskip("torch")
import sluice.torch  # noqa: E402
pytest.importorskip("torchvision")


def png(array):
    made = io.BytesIO()
    Image.fromarray(array).save(made, "PNG")
    return made.getvalue()


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """Bright squares on noise; their boxes, and a sample without any."""
    path = tmp_path_factory.mktemp("shapes") / "packed"
    fields = {"image": "image", "boxes": ("tensor", "float32", (0, 4)), "labels": ("tensor", "int64", (0,))}
    random = numpy.random.RandomState(1)
    with sluice.Writer(path, fields) as writer:
        for number in range(8):
            image = random.randint(0, 60, (96, 128, 3)).astype("uint8")
            boxes = numpy.array([[20 * i + 4, 10 + 5 * i, 20 * i + 18, 40 + 5 * i] for i in range(number % 4)], "float32").reshape(-1, 4)
            for left, top, right, bottom in boxes.astype(int):
                image[top:bottom, left:right] = 255
            writer.add(image=png(image), boxes=boxes, labels=numpy.arange(len(boxes)) + 1)
    return path


@pytest.mark.parametrize("padded", [False, True])
def test_dicts(shapes, padded):
    columns = {
        "image": C.Image(transform=[T.Resize((64, 64)), T.ToTensor()], layout="NCHW"), "boxes": C.Boxes(length=5, padded=padded),
        "labels": (C.Padded if padded else C.Ragged)(length=5, follows="boxes"),
    }  # fmt: skip
    for batch in sluice.torch.DataLoader(shapes, batch_size=3, drop_last=False, columns=columns):
        targets = sluice.torch.targets(batch, "boxes", "labels", "index")
        assert len(targets) == batch.rows == len(batch["image"])
        for image, target in zip(batch["image"], targets):
            count = int(target["index"]) % 4
            assert target["boxes"].shape == (count, 4) and target["labels"].tolist() == list(range(1, count + 1))
            for left, top, right, bottom in target["boxes"].round().int().tolist():
                inside = image[:, top + 1 : bottom - 1, left + 1 : right - 1]
                assert inside.min() > 0.9


def test_a_model_takes_them(shapes):
    from torchvision.models.detection import retinanet_resnet50_fpn

    torch.manual_seed(0)
    model = retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=4, min_size=64, max_size=64, trainable_backbone_layers=0)
    columns = {
        "image": C.Image(transform=[T.RandomResizedCrop(64, (0.5, 1)), T.RandomHorizontalFlip(), T.ToTensor()], layout="NCHW"),
        "boxes": C.Boxes(length=5), "labels": C.Ragged(length=5, follows="boxes"),
    }  # fmt: skip
    batch = next(iter(sluice.torch.DataLoader(shapes, batch_size=4, columns=columns)))
    losses = model(list(batch["image"]), sluice.torch.targets(batch))
    assert set(losses) == {"classification", "bbox_regression"} and all(torch.isfinite(loss) for loss in losses.values())


def packed(path, fields, *samples):
    with sluice.Writer(path, {"image": "image", "boxes": ("tensor", "float32", (0, 4)), **fields}) as writer:
        for sample in samples:
            writer.add(image=png(numpy.zeros((32, 32, 3), "uint8")), **sample)
    return path


def test_rows_of_unequal_lengths_are_refused(tmp_path):
    boxes = numpy.array([[0, 0, 4, 4], [10, 10, 30, 30]], "float32")
    path = packed(tmp_path / "p", {"labels": ("tensor", "int64", (0,)), "text": "text"}, {"boxes": boxes, "labels": numpy.arange(2), "text": "abc"})
    columns = {"image": C.Image(transform=T.CenterCrop(20)), "boxes": C.Boxes(), "labels": C.Ragged(length=5), "text": C.Ragged(length=9)}
    batch = next(iter(sluice.torch.DataLoader(path, columns=columns)))
    with pytest.raises(ValueError, match="row 0 has 1 'boxes' and 2 'labels': write follows='boxes' in column 'labels'"):
        sluice.torch.targets(batch)
    (target,) = sluice.torch.targets(batch, "boxes", "text", "index")
    assert target["boxes"].shape == (1, 4) and bytes(target["text"].tolist()) == b"abc"


def test_keypoints_are_of_points(tmp_path):
    """In the form that Keypoint R-CNN takes."""
    boxes = numpy.array([[0, 0, 30, 30], [1, 1, 9, 9]], "float32")
    points = numpy.arange(12, dtype="float32").reshape(2, 6)
    none = {"boxes": boxes[:0], "keypoints": points[:0]}
    path = packed(tmp_path / "p", {"keypoints": ("tensor", "float32", (0, 6))}, {"boxes": boxes, "keypoints": points}, none)
    columns = {"image": C.Image(transform=T.Resize((32, 32))), "boxes": C.Boxes(), "keypoints": C.Points(follows="boxes")}
    batch = next(iter(sluice.torch.DataLoader(path, batch_size=2, columns=columns)))
    first, second = sluice.torch.targets(batch, "boxes", "keypoints")
    assert first["keypoints"].tolist() == points.reshape(2, 2, 3).tolist() and second["keypoints"].shape == (0, 2, 3)

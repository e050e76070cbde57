# SPDX-License-Identifier: Apache-2.0
"""Datasets and their samples."""
import copy
import json
import pickle
import sys

import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T


def test_a_folder(data, photos):
    files = sorted(photos.rglob("*.jpg"))
    assert len(data) == len(files) == 33 and data.format == "folder"
    assert data.classes == ["class0", "class1", "class2"] and data.class_to_idx["class2"] == 2
    assert data.fields["image"].type == "image" and data.fields["label"].dtype == "int64"
    for index in (0, 14, 32, -1):
        sample = data[index]
        assert sample["image"] == files[index].read_bytes()
        assert sample["label"] == int(files[index].parent.name[-1])
        assert sample["key"] == str(files[index].relative_to(photos))
        assert data.sample(index)["file"] == str(files[index])
    with pytest.raises(TypeError):
        data["image"]
    with pytest.raises(TypeError, match="path=3"):
        sluice.Dataset(3)
    for index in (33, -34):
        with pytest.raises(IndexError):
            data[index]
    assert [sample["label"] for sample in data] == [0] * 11 + [1] * 11 + [2] * 11


def test_decoded_pictures(data, photos, tmp_path):
    files = sorted(photos.rglob("*.jpg"))
    for index in (0, 14, -1):
        pixels = data.decode(index)
        assert isinstance(pixels, numpy.ndarray) and pixels.dtype == "uint8" and pixels.flags.writeable
        assert Image.fromarray(pixels).size == pixels.shape[1::-1]
        expected = numpy.asarray(Image.open(files[index]).convert("RGB"))
        assert numpy.asarray(pixels).shape == expected.shape and (numpy.asarray(pixels) == expected).all()
    turned = Image.open(files[0])
    turned.getexif()[274] = 6
    (tmp_path / "class").mkdir()
    turned.save(tmp_path / "class" / "turned.jpg", exif=turned.getexif(), quality=95)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numpy", None)
        assert isinstance(data.decode(0), memoryview) and data.decode(0).shape == data.decode(0).shape
    upright = sluice.Dataset(tmp_path)
    assert upright.decode(0).shape == (turned.height, turned.width, 3)
    assert upright.decode(0, exif=True).shape == (turned.width, turned.height, 3)
    with sluice.Writer(tmp_path / "packed", {"number": "int", "photo": "image"}) as writer:
        writer.add(number=1, photo=numpy.arange(30, dtype=numpy.uint8).reshape(5, 2, 3))
        writer.add(number=2)
    packed = sluice.Dataset(tmp_path / "packed")
    assert bytes(packed.decode(0)) == bytes(range(30)) and packed.decode(1, "photo") is None
    with pytest.raises(sluice.InvalidError, match="number"):
        packed.decode(0, "number")
    (tmp_path / "class" / "turned.jpg").write_bytes(b"no picture")
    with pytest.raises(sluice.CorruptError) as caught:
        upright.decode(0)
    assert caught.value.file.endswith("turned.jpg") and caught.value.sample == 0


def test_paths_of_all_kinds(photos):
    for path in (photos, str(photos), bytes(photos), [photos]):
        assert len(sluice.Dataset(path)) == 33


def test_flat_files(tmp_path):
    values = numpy.arange(60, dtype=numpy.float32).reshape(5, 3, 4)
    values.tofile(tmp_path / "a.bin")
    values.tofile(tmp_path / "b.bin")
    data = sluice.Dataset([tmp_path / "a.bin", tmp_path / "b.bin"], flat=("float32", (3, 4)))
    assert len(data) == 10 and data.format == "flat"
    assert (numpy.asarray(data[6]["tensor"]) == values[1]).all()
    loader = sluice.Loader(data, batch_size=10)
    assert (next(iter(loader))["tensor"].numpy() == numpy.concatenate([values, values])).all()


def test_token_windows(tmp_path):
    tokens = numpy.arange(1000, dtype=numpy.uint16)
    tokens.tofile(tmp_path / "tokens.bin")
    data = sluice.Dataset(tmp_path / "tokens.bin", flat=("uint16", (1000,)))
    window = sluice.columns.Window
    loader = sluice.Loader(
        data,
        batch_size=4,
        shuffle=True,
        columns={
            "input": window("tensor", length=64, dtype="int32"),
            "target": window("tensor", length=64, offset=1, dtype="int32"),
        },
    )
    seen = []
    for inputs, targets in loader:
        assert inputs.dtype == "int32" and (inputs.numpy() + 1 == targets.numpy()).all()
        seen += inputs.numpy()[:, 0].tolist()
    assert sorted(seen) == list(range(0, 960, 64))


@pytest.mark.parametrize("kind", ["missing", "empty", "file", "forbidden"])
def test_what_is_no_dataset(tmp_path, kind):
    path = tmp_path / kind
    if kind == "empty":
        path.mkdir()
    elif kind == "file":
        path.write_text("hello")
    with pytest.raises(sluice.Error) as caught:
        sluice.Dataset(path)
    assert caught.value.file and str(path) in str(caught.value) and caught.value.reason


def test_errors_are_pythons_own(tmp_path):
    with pytest.raises(OSError) as caught:
        sluice.Dataset(tmp_path / "missing")
    assert caught.value.errno == 2
    for name, builtin in (
        ("InvalidError", ValueError), ("StateError", RuntimeError), ("OutOfMemoryError", MemoryError),
        ("IOError", OSError), ("CorruptError", ValueError),
    ):  # fmt: skip
        kind = getattr(sluice, name)
        assert issubclass(kind, builtin) and issubclass(kind, sluice.Error) and kind.__doc__


def test_class_folders_that_are_refused(tmp_path, photos):
    import shutil

    shutil.copytree(photos, tmp_path / "photos")
    (tmp_path / "photos" / "empty").mkdir()
    with pytest.raises(sluice.InvalidError, match="empty"):
        sluice.Dataset(tmp_path / "photos")
    assert len(sluice.Dataset(tmp_path / "photos", allow_empty_classes=True).classes) == 4


def test_paths_hold_after_a_change_of_folder(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(photos.parent)
    data = sluice.Dataset("photos")
    monkeypatch.chdir(tmp_path)
    assert data[3]["image"] and pickle.loads(pickle.dumps(data))[3] == data[3]
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset("photos")
    assert caught.value.file == "photos"


def test_exceptions_travel(tmp_path):
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset(tmp_path / "none")
    for error in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(error) is sluice.IOError and str(error) == str(caught.value)
        assert (error.errno, error.file, error.status, error.stage) == (2, str(tmp_path / "none"), "io", "dataset")
    own = sluice.CorruptError("mine")
    assert str(own) == "mine" and own.file is own.sample is own.errno is None and own.reason == ""


def test_samples_without_objects_and_keypoints_have_their_shapes(tmp_path):
    counts, images, objects = [0, 1, 2], [], []
    for number in counts:
        Image.new("RGB", (40, 20 + number)).save(tmp_path / f"{number}.jpg")
        images.append({"id": number, "file_name": f"{number}.jpg", "width": 40, "height": 20 + number})
        objects += [{"id": 10 * number + k, "image_id": number, "category_id": 1, "bbox": [1, 1, 5, 5 + k], "area": 25, "iscrowd": 0,
                     "keypoints": [k, 2, 2] * 4, "num_keypoints": 4} for k in range(number)]  # fmt: skip
    listed = {"images": images, "annotations": objects, "categories": [{"id": 1, "name": "a", "keypoints": [*"abcd"], "skeleton": []}]}
    (tmp_path / "person_keypoints_val.json").write_text(json.dumps(listed))
    data = sluice.Dataset(tmp_path / "person_keypoints_val.json")
    with sluice.Writer(tmp_path / "w", data.fields) as writer:
        for sample in data:  # unconverted, and as numpy arrays
            writer.add(**sample)
            writer.add(**sample | {"keypoints": numpy.asarray(sample["keypoints"])})
    written = sluice.Dataset(tmp_path / "w")
    for number in counts:
        for sample in (data[number], written[2 * number], written[2 * number + 1]):
            boxes, points = numpy.asarray(sample["boxes"]), numpy.asarray(sample["keypoints"])
            assert boxes.shape == (number, 4) and points.shape == (number, 4, 3) and boxes.dtype == points.dtype == "float32"
            assert (boxes[:, 2:] + boxes[:, :2]).tolist() == [[6, 6 + k] for k in range(number)]
            assert points.tolist() == [[[k, 2, 2]] * 4 for k in range(number)]
            assert numpy.asarray(sample["labels"]).shape == (number,)


def test_a_transform_over_a_dataset_without_images(tmp_path):
    with sluice.Writer(tmp_path / "bytes", {"image": "bytes", "label": "int"}) as writer:
        writer.add(image=b"x", label=1)
    numpy.save(tmp_path / "x.npy", numpy.zeros((4, 3), "float32"))
    with sluice.Writer(tmp_path / "numbers", {"label": "int"}) as writer:
        writer.add(label=1)
    for name, said in (
        ("bytes", r"its fields are 'image' \(bytes\), 'label' \(int\); if 'image' holds encoded images, .*fields=\{'image': 'image:image', ...\}"),
        ("x.npy", r"\(tensor\).*; tensors are columns=\{'.*': sluice.columns.Tensor\(\), ...\}"), ("numbers", r"'label' \(int\)$"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="transform= is for images, and the dataset has none.*" + said):
            sluice.Loader(tmp_path / name, 1, transform=T.RandomResizedCrop(8))

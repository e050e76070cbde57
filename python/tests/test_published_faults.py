# SPDX-License-Identifier: Apache-2.0
"""Malformed files of the kinds fixed in other loaders (DALI's changes of 2026 to RecordIO, TFRecord, npy, COCO and wds indexes): an
impossible file is rejected by name, and an impossible index changes no sample."""
import io
import json
import struct
import tarfile

import numpy
import pytest
import recordios
import tfrecords
from PIL import Image

import sluice


@pytest.fixture(autouse=True)
def no_kept_index(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def jpeg(number=0):
    made = io.BytesIO()
    Image.fromarray(numpy.random.default_rng(number).integers(0, 255, (8, 8, 3), "uint8")).save(made, "JPEG")
    return made.getvalue()


def everything(path, fields=None):
    """Returns all samples of the dataset, as bytes."""
    def plain(value):
        return value.tobytes() if isinstance(value, numpy.ndarray) else value

    return [{name: plain(value) for name, value in sample.items()} for sample in sluice.Dataset(path, fields=fields)]


def refused(path, name):
    with pytest.raises(sluice.Error) as error:
        everything(path)
    assert name in str(error.value)


# ---- RecordIO ----


def recordio_length(data):
    return data[:4] + struct.pack("<I", (1 << 29) - 1) + data[8:]


def recordio_labels(data):
    return data[:8] + struct.pack("<I", 1 << 30) + data[12:]  # more labels than the record has bytes


def recordio_part(data):
    length = struct.unpack_from("<I", data, 4)[0]
    return data[:4] + struct.pack("<I", 1 << 29 | length) + data[8:]  # the first of parts that never end


@pytest.mark.parametrize("damage", [recordio_length, recordio_labels, recordio_part])
def test_recordio(tmp_path, damage):
    path = tmp_path / "a.rec"
    recordios.write(path, [recordios.image(number, jpeg(number)) for number in range(3)], idx=False)
    path.write_bytes(damage(path.read_bytes()))
    refused(path, "a.rec")


@pytest.mark.parametrize("offset", ["-1", "7", "999999999", "18446744073709551615", "18446744073709551616", "nan"])
def test_an_index_of_recordio(tmp_path, offset):
    path = tmp_path / "a.rec"
    recordios.write(path, [recordios.image(number, jpeg(number)) for number in range(3)])
    whole = everything(path)
    lines = path.with_suffix(".idx").read_text().splitlines()
    lines[1] = f"1\t{offset}"
    path.with_suffix(".idx").write_text("\n".join(lines) + "\n")
    try:
        assert everything(path) == whole
    except sluice.Error as error:
        assert "a.idx" in str(error) or "a.rec" in str(error)


# ---- TFRecord ----


@pytest.mark.parametrize("length", [0, 1, 1 << 20, 1 << 31, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - 16])
def test_tfrecord(tmp_path, length):
    """The length matches its checksum, but the file is shorter, or the record is not an Example."""
    path = tmp_path / "a.tfrecord"
    record = tfrecords.record(tfrecords.example({"image/encoded": [jpeg()], "image/class/label": [1]}))
    head = struct.pack("<Q", length)
    path.write_bytes(record + head + tfrecords.masked(head) + record[12:])
    refused(path, "a.tfrecord")


@pytest.mark.parametrize("bytes_left", [1, 8, 11, 12, 15])
def test_a_record_shorter_than_its_frame(tmp_path, bytes_left):
    path = tmp_path / "a.tfrecord"
    record = tfrecords.record(tfrecords.example({"image/encoded": [jpeg()], "image/class/label": [1]}))
    path.write_bytes(record + record[:bytes_left])
    refused(path, "a.tfrecord")


# ---- npy ----


def npy(header, data=b"\0" * 64, length=None):
    text = header.encode("latin1").ljust(118) if length is None else header.encode("latin1")
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text) if length is None else length) + text + data


SHAPE = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"


@pytest.mark.parametrize(
    "content",
    [
        npy(SHAPE % "4, 4", length=60000),
        npy(SHAPE % "4294967296, 4294967296"),
        npy(SHAPE % "2305843009213693952, 2"),
        npy(SHAPE % "2, 18446744073709551615"),
        npy(SHAPE % "-1, 4"),
        npy(SHAPE % "4, 5"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (4, 4), }"),
        npy("{'descr': '<f4', 'shape': (4, 4), }"),
        npy("", b""),
        b"\x93NUMPY\1\0",
        b"\x93NUMPY\2\0\xff\xff\xff\xff",
    ],
)
def test_npy(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    refused(tmp_path / "a.npy", "a.npy")


# ---- COCO ----


def coco(tmp_path, **annotation):
    (tmp_path / "images").mkdir()
    for number in (1, 2):
        (tmp_path / "images" / f"{number}.jpg").write_bytes(jpeg(number))
    given = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0, "segmentation": [[1, 1, 5, 1, 5, 5]]}
    one = {name: value for name, value in (given | annotation).items() if value is not None}
    images = [{"id": number, "file_name": f"images/{number}.jpg", "width": 8, "height": 8} for number in (1, 2)]
    path = tmp_path / "instances.json"
    path.write_text(json.dumps({"images": images, "annotations": [one], "categories": [{"id": 1, "name": "cat"}]}))
    return path


@pytest.mark.parametrize(
    "annotation",
    [
        {"category_id": 9},
        {"bbox": [1, 1, 4]},
        {"bbox": ["a", 1, 4, 4]},
        {"segmentation": [[1, 1, 5, 1, 5]]},
        {"segmentation": {"size": [8, 8], "counts": [60, 60]}, "iscrowd": 1},
        {"segmentation": {"size": [8, 8], "counts": [-1, 65]}, "iscrowd": 1},
        {"segmentation": {"size": [8, 8], "counts": "~~~~~~~~"}, "iscrowd": 1},
        {"segmentation": {"size": [1 << 31, 1 << 31], "counts": [0, 1]}, "iscrowd": 1},
        {"segmentation": {"size": [8], "counts": [64]}, "iscrowd": 1},
    ],
)
def test_coco(tmp_path, annotation):
    path = coco(tmp_path, **annotation)
    with pytest.raises(sluice.Error) as error:
        everything(path, {"image": "image", "shapes": "segmentation", "boxes": "bbox", "labels": "category_id"})
    assert "instances.json" in str(error.value)


def test_coco_of_other_images(tmp_path):
    """Annotations of images that are not listed are left out, with a warning that counts them."""
    with pytest.warns(UserWarning, match="instances.json: 1 left out"):
        assert len(everything(coco(tmp_path, image_id=7))) == 2


# ---- an index of a tar ----


@pytest.mark.parametrize(
    "line",
    ["jpg -1 300 a.jpg", "jpg 512 -5 a.jpg", "jpg 999999999999 300 a.jpg", "jpg 18446744073709551615 1 a.jpg", "jpg 513 18446744073709551615 a.jpg",
     "jpg 512", "jpg", "", "jpg nan 3 a.jpg"],
)  # fmt: skip
def test_an_index_of_a_tar(tmp_path, line):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for number in range(3):
            for name, content in ((f"{number}.jpg", jpeg(number)), (f"{number}.cls", b"%d" % number)):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    whole = everything(path)
    path.with_suffix(".idx").write_text(f"v1.2 3\n{line}\n{line}\n{line}\n")
    try:
        assert everything(path) == whole
    except sluice.Error as error:
        assert "a.idx" in str(error) or "a.tar" in str(error)

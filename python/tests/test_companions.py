# SPDX-License-Identifier: Apache-2.0
"""Files that cannot be read without another one beside them: the message names the missing one."""
import io
import json
import tarfile

import numpy
import parquets
import pytest
from PIL import Image

import sluice

PAIRS = [
    ("shard.00000.mds", "index.json", "an MDS shard"),
    ("shard.00000.mds.zstd", "index.json", "an MDS shard"),
    ("chunk-0-0.bin", "index.json", "a LitData chunk"),
    ("data_text_document.bin", "data_text_document.idx", "Megatron-LM"),
    ("train.idx", "train.bin", "an index"),
    ("train.idx", "train.rec", "an index"),
    ("train.tfindex", "train.tfrecord", "an index of TFRecord files"),
    ("state.json", "data-00000-of-00001.arrow", "a saved dataset"),
    ("lock.mdb", "data.mdb", "LMDB"),
    ("00000_stats.json", "00000.tar", "img2dataset"),
    ("a.tar.sluice-index", "a.tar", "an index kept by sluice"),
]


@pytest.mark.parametrize("name, missing, what", PAIRS)
def test_the_other_file_is_named(tmp_path, name, missing, what):
    (tmp_path / name).write_bytes(bytes(range(1, 200)))
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(sluice.InvalidError, match=f'"{name}" is .*{what}.* and .*{missing}.* is missing: '):
            sluice.Dataset(path)


def test_a_file_that_is_complete(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\1" * 100)
    (tmp_path / "a.idx").write_bytes(b"\1" * 100)
    for path in (tmp_path, tmp_path / "a.bin"):
        with pytest.raises(sluice.InvalidError) as caught:
            sluice.Dataset(path)
        assert "is missing" not in str(caught.value)


def test_pointers_come_first(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n")
    with pytest.raises(sluice.InvalidError, match="Git LFS pointer"):
        sluice.Dataset(tmp_path / "a.bin")


def test_arrays_that_cannot_be_fields(tmp_path):
    numpy.savez(tmp_path / "a.npz", x=numpy.arange(6.0).reshape(3, 2), y=numpy.arange(3), meta=numpy.array(["a", "b", "c"]))
    with pytest.raises(sluice.UnsupportedError, match=r'column "meta": .*choose the fields to read \(fields={...}\) among the others: x, y'):
        sluice.Dataset(tmp_path)
    assert list(sluice.Dataset(tmp_path, fields={"x": "x", "y": "y"}).fields) == ["x", "y"]


def img2dataset(folder, numbers=("00000", "00001")):
    image = io.BytesIO()
    Image.new("RGB", (8, 6)).save(image, "JPEG")
    for number in numbers:
        with tarfile.open(folder / f"{number}.tar", "w") as archive:
            for name, data in ((f"{number}0000.jpg", image.getvalue()), (f"{number}0000.txt", b"a caption"), (f"{number}0000.json", b"{}")):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        parquets.write(folder / f"{number}.parquet", {"url": parquets.Column("string", ["x"])})
        (folder / f"{number}_stats.json").write_text(json.dumps({"count": 1}))


def test_notes_beside_archives(tmp_path):
    img2dataset(tmp_path)
    data = sluice.Dataset(tmp_path)
    assert data.format == "tar" and [sample["txt"] for sample in data] == ["a caption"] * 2
    assert [(left.reason, left.count) for left in data.left_out] == [("notes of img2dataset beside its archives", 4)]


@pytest.mark.parametrize("extra", ["00002.parquet", "other.parquet", "b.tar"])
def test_notes_that_are_none(tmp_path, extra):
    """A table not named like an archive may be the dataset."""
    img2dataset(tmp_path)
    if extra.endswith(".tar"):
        (tmp_path / "00001.tar").rename(tmp_path / extra)
    else:
        (tmp_path / "00001.parquet").rename(tmp_path / extra)
    with pytest.raises(sluice.InvalidError, match='"tar" and one of "parquet"'):
        sluice.Dataset(tmp_path)

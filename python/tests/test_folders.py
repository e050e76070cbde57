# SPDX-License-Identifier: Apache-2.0
"""Meanings of folders: folders as people have them on disk, created by short programs and opened."""
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import warnings

import betons
import numpy
import pytest
import recordios
from PIL import Image
from test_arrays import write_megatron

import sluice
import sluice.transforms as T

INVALID, IO = sluice.InvalidError, OSError


def photo(path, number=0, size=(24, 20)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (9 * number % 255, 50, 3 * number % 255)).save(path, quality=90)


def text(path, content=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def refused(path, *words, error=INVALID):
    """Returns the error for a path that is not a dataset."""
    with pytest.raises(error) as told:
        sluice.Dataset(path)
    said = str(told.value)
    for word in words:
        assert word in said, said
    return said


def company(folder):
    """Files that lie beside data, and are not part of them."""
    for name in ("README.md", "LICENSE", "notes.txt", "dataset_info.json", "_SUCCESS", "md5sums", ".DS_Store", "Thumbs.db"):
        text(folder / name, "{}")


def everything(data):
    """Returns all samples; keys lack the folder that an archive may have before them."""
    return [{name: bytes(value) if isinstance(value, memoryview) else value for name, value in sample.items()} for sample in data]


# ---- files of one format ----


def same(sample, row):
    return numpy.array_equal(numpy.asarray(sample["tensor"]), row)


def test_arrays(tmp_path):
    rows = numpy.arange(60, dtype="float32").reshape(20, 3)
    numpy.save(tmp_path / "rows.npy", rows)
    company(tmp_path)
    data = sluice.Dataset(tmp_path)
    assert data.format == "npy" and len(data) == 20 and same(data[7], rows[7])
    numpy.save(tmp_path / "more.npy", -rows)
    data = sluice.Dataset(tmp_path)  # in name order
    assert len(data) == 40 and same(data[7], -rows[7]) and same(data[27], rows[7])
    assert data.fingerprint == sluice.Dataset([tmp_path / "more.npy", tmp_path / "rows.npy"]).fingerprint
    batches = [batch["tensor"].numpy() for batch in sluice.Loader(tmp_path, batch_size=8, columns={"tensor": sluice.columns.Tensor()})]
    assert (numpy.concatenate(batches) == numpy.concatenate([-rows, rows])).all()
    (tmp_path / "more.npy").rename(tmp_path / "MORE.NPY")
    assert len(sluice.Dataset(tmp_path)) == 40
    os.rename(tmp_path, tmp_path.with_name("named.npy"))  # a folder named like a file
    assert len(sluice.Dataset(tmp_path.with_name("named.npy"))) == 40


def test_arrays_that_cannot_be_joined(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.ones((5, 3), "f4"))
    numpy.save(tmp_path / "b.npy", numpy.ones((5, 4), "f4"))
    refused(tmp_path, "b.npy", "dtype or shape of its rows differs from that of", "a.npy")


@pytest.mark.parametrize("names", [("train", "val"), ("x_train", "x_test"), ("cifar-train-0", "cifar-dev-0"), ("data", "data_test"),
                                   ("trainSet", "TestSet")])  # fmt: skip
def test_splits_are_not_joined(tmp_path, names):
    for name in names:
        numpy.save(tmp_path / f"{name}.npy", numpy.ones((5, 3), "f4"))
    refused(tmp_path, "belong to different splits", f"{names[0]}.npy", f"{names[1]}.npy")
    assert len(sluice.Dataset(tmp_path / f"{names[0]}.npy")) == 5
    os.remove(tmp_path / f"{names[1]}.npy")
    assert len(sluice.Dataset(tmp_path)) == 5


def test_words_that_only_look_like_splits(tmp_path):
    for name in ("contest", "protest", "latest", "trainer", "value"):
        numpy.save(tmp_path / f"{name}.npy", numpy.ones((5, 3), "f4"))
    assert len(sluice.Dataset(tmp_path)) == 25


def test_betons(tmp_path):
    fields = {"image": "rgb", "label": "int"}
    samples = [{"image": numpy.full((8, 8, 3), i, "u1"), "label": i} for i in range(6)]
    betons.write(tmp_path / "part0.beton", fields, samples[:4])
    company(tmp_path)
    assert [sample["label"] for sample in sluice.Dataset(tmp_path)] == [0, 1, 2, 3]
    betons.write(tmp_path / "part1.beton", fields, samples[4:])
    assert [sample["label"] for sample in sluice.Dataset(tmp_path)] == [0, 1, 2, 3, 4, 5]
    (tmp_path / "part0.beton").rename(tmp_path / "train.beton")
    (tmp_path / "part1.beton").rename(tmp_path / "val.beton")
    refused(tmp_path, "splits", "train.beton", "val.beton")


def test_megatron(tmp_path):
    sequences = [numpy.arange(i, i + 4) for i in range(9)]
    write_megatron(tmp_path / "data_text_document", sequences[:6])
    company(tmp_path)
    assert len(sluice.Dataset(tmp_path)) == 6
    write_megatron(tmp_path / "more_text_document", sequences[6:])
    data = sluice.Dataset(tmp_path)
    assert data.format == "megatron" and len(data) == 9 and list(data[7]["tokens"]) == list(sequences[7])
    text(tmp_path / "other.bin")
    assert len(sluice.Dataset(tmp_path)) == 9
    os.remove(tmp_path / "data_text_document.bin")
    assert len(sluice.Dataset(tmp_path)) == 3  # incomplete pairs do not count


def test_lmdb(tmp_path):
    pytest.importorskip("lmdb", reason="there is no python3-lmdb here")
    import lmdbs

    items = {b"%04d" % i: b"value %d" % i for i in range(5)}
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    lmdbs.put(tmp_path / "one/a.lmdb", items, folder=False, lock_file=True)
    data = sluice.Dataset(tmp_path / "one")
    assert data.format == "lmdb" and len(data) == 5
    lmdbs.put(tmp_path / "two/train_lmdb", items)
    refused(tmp_path / "two", "no dataset in it", '"train_lmdb" (lmdb)')


def test_recordio(tmp_path):
    records = [recordios.image(float(i), b"\xff\xd8\xff" + bytes(20), i) for i in range(4)]
    recordios.write(tmp_path / "a.rec", records)
    text(tmp_path / "a.lst", "0\t0\ta.jpg\n")
    company(tmp_path)
    data = sluice.Dataset(tmp_path)
    assert data.format == "recordio" and len(data) == 4 and (tmp_path / "a.idx").exists()


def test_several_folders(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        numpy.save(tmp_path / name / "x.npy", numpy.ones((5, 3), "f4"))
    assert len(sluice.Dataset([tmp_path / "a", tmp_path / "b"])) == 10
    assert len(sluice.Dataset([tmp_path / "a/x.npy", tmp_path / "b"])) == 10
    (tmp_path / "c").mkdir()
    with pytest.raises(INVALID, match="contains no .npy files"):
        sluice.Dataset([tmp_path / "a", tmp_path / "c"])


def test_table(tmp_path):
    for i in range(3):
        photo(tmp_path / f"pictures/{i}.jpg", i)
    text(tmp_path / "list/list.csv", "file,label\n" + "".join(f"../pictures/{i}.jpg,{i}\n" for i in range(3)))
    company(tmp_path / "list")
    assert len(sluice.Dataset(tmp_path / "list", allow_outside=True)) == 3
    text(tmp_path / "list/other.csv", "name,size\na,1\n")  # not a list of images
    assert len(sluice.Dataset(tmp_path / "list", allow_outside=True)) == 3
    shutil.copy(tmp_path / "list/list.csv", tmp_path / "list/again.csv")
    refused(tmp_path / "list", "several tables", "again.csv", "list.csv")
    os.remove(tmp_path / "list/again.csv")
    os.remove(tmp_path / "list/list.csv")
    refused(tmp_path / "list", "no column has a usual name for image files", "other.csv")


# ---- ambiguous folders ----


def test_two_formats(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.ones((5, 3), "f4"))
    samples = [{"image": numpy.zeros((8, 8, 3), "u1"), "label": 0}]
    betons.write(tmp_path / "b.beton", {"image": "rgb", "label": "int"}, samples)
    refused(tmp_path, "a.npy", "b.beton", "name the files of one of them")
    os.remove(tmp_path / "b.beton")
    with tarfile.open(tmp_path / "c.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("x.txt"))
    refused(tmp_path, "a.npy", "c.tar")
    os.remove(tmp_path / "c.tar")
    photo(tmp_path / "d.jpg")
    refused(tmp_path, "a.npy", "d.jpg")
    os.remove(tmp_path / "d.jpg")
    numpy.savez(tmp_path / "e.npz", x=numpy.ones(3))
    refused(tmp_path, "a.npy", "e.npz")
    os.remove(tmp_path / "e.npz")
    (tmp_path / "logs").mkdir()
    refused(tmp_path, "a.npy", "1 folder (logs)")
    (tmp_path / "logs").rmdir()
    text(tmp_path / "list.csv", "path\nd.jpg\n")
    refused(tmp_path, "a.npy", "list.csv")


def test_refusals_name_what_is_there(tmp_path):
    refused(tmp_path, "empty")
    for name in ("a.log", "b.yaml", "model.pt"):
        text(tmp_path / name)
    (tmp_path / "ckpt").mkdir()
    refused(tmp_path, "no dataset in it: 3 files (a.log, b.yaml, model.pt), 1 folder (ckpt)")
    for i in range(50):
        text(tmp_path / f"x{i:02}.log")
    refused(tmp_path, "53 files (a.log, b.yaml, model.pt, x00.log, x01.log, x02.log and 47 more)")
    said = refused(tmp_path)
    assert len(said) < 1000
    text(tmp_path / "\x1b[31m\nred")
    assert "\x1b" not in refused(tmp_path)


def test_a_dataset_one_folder_below(tmp_path):
    text(tmp_path / "README.md")
    for split in ("test", "train"):
        (tmp_path / split).mkdir()
        numpy.save(tmp_path / split / "x.npy", numpy.ones((2, 2), "f4"))
    refused(tmp_path, '"test" (npy), "train" (npy)', "open one of them")


UNKNOWN = {
    "a.zip": (b"PK\x03\x04" + bytes(40), "a ZIP archive: unpack it"),
    "a.h5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file"),
    "a.pkl": (b"\x80\x04\x95" + bytes(40), "a Python pickle: pickles are never executed"),
    "a.mp4": (b"\0\0\0\x20ftypisom" + bytes(40), "a video or audio file (MP4)"),
    "a.avif": (b"\0\0\0\x20ftypavif" + bytes(40), "an image (AVIF): convert it"),
    "a.jpg": (b"\xff\xd8\xff\xe0" + bytes(40), "an image (JPEG): open its folder"),
    "a.gz": (b"\x1f\x8b\x08" + bytes(40), "compressed by gzip"),
    "a.yaml": (b"epochs: 3\n", "it is text"),
    "list.txt": (b"\na/0.jpg 3\na/1.jpg 4\n", "labels: write it as a table NAME.tsv"),
    "files.list": (b"a/0.jpg\na/1.jpg\n", "without labels: write it as a table"),
    "chat.json": (b' [{"id": 1, "image": "0.jpg"}]', "a JSON array: write one line per sample"),
    "page.json": (b"\n<!DOCTYPE HTML>\n<html>", "an HTML page: the download failed"),
    "wide.txt": ("path label\n".encode("utf-16"), "text in UTF-16, by its byte order mark"),
    "marked.txt": ("path label\n".encode("utf-8-sig"), "byte order mark (the bytes EF BB BF)"),
    "a.safetensors": (b"\x40" + bytes(7) + b'{"a":1}', "safetensors"),
    "a.raw": (bytes(range(1, 30)), "begins with the bytes 01 02 03"),
    "empty": (b"", "it is empty"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_files(tmp_path, name):
    content, words = UNKNOWN[name]
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, "unknown format", words)


def test_the_list_of_formats_ends_with_a_word(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"epochs: 3\n")
    with pytest.raises(INVALID) as told:
        sluice.Dataset(tmp_path / "a.yaml")
    assert str(told.value).endswith(", ...")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
POINTERS = ("a.tar", "a.tar.gz", "a.parquet", "a.arrow", "a.npy", "a.npz", "a.tfrecord", "a.rec", "a.csv", "a.tsv", "a.jsonl",
            "a.json", "a.beton", "a.sluice")


@pytest.mark.parametrize("name", POINTERS)
def test_readers_name_what_is_no_file_of_theirs(tmp_path, name):
    (tmp_path / name).write_bytes(POINTER)
    with pytest.raises(sluice.Error, match="Git LFS pointer, not the file itself: run `git lfs pull`"):
        sluice.Dataset(tmp_path / name)
    (tmp_path / name).write_bytes(b"<!DOCTYPE html><html><body>404</body></html>\n" * 40)
    with pytest.raises(sluice.Error, match="an HTML page: the download failed"):
        sluice.Dataset(tmp_path / name)


def test_a_folder_of_pointers_says_so(tmp_path):
    (tmp_path / "index.json").write_bytes(POINTER)
    refused(tmp_path, "1 file (index.json)", "index.json is a Git LFS pointer", "git lfs pull")
    (tmp_path / "data.zip").write_bytes(b"PK\3\4" + bytes(40))
    os.remove(tmp_path / "index.json")
    refused(tmp_path, "data.zip is a ZIP archive: unpack it")


def test_a_list_that_is_a_pointer(tmp_path):
    for i in range(3):
        photo(tmp_path / f"{i}.jpg", i)
    (tmp_path / "train.csv").write_bytes(POINTER)
    with pytest.warns(UserWarning, match="train.csv: it is beside the images and cannot be read"):
        sluice.Dataset(tmp_path)


def test_a_picture_that_is_a_pointer(tmp_path):
    photo(tmp_path / "a/0.jpg")
    (tmp_path / "a/1.jpg").write_bytes(POINTER)
    with pytest.raises(sluice.Error, match="not an image: it is a Git LFS pointer"):
        sluice.Dataset(tmp_path).decode(1)


def test_unknown_files_of_real_programs(tmp_path):
    sqlite3.connect(tmp_path / "a.db").executescript("create table x (y)")
    refused(tmp_path / "a.db", "an SQLite database")
    stream = io.BytesIO()
    numpy.savez(stream, a=numpy.ones(3))
    (tmp_path / "arrays").write_bytes(stream.getvalue())
    refused(tmp_path / "arrays", "call it NAME.npz")
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.ones(3)}, tmp_path / "model.pt")
    refused(tmp_path / "model.pt", "saved by PyTorch", "never executed")


# ---- images ----


def test_pictures_without_class_folders_have_no_label(tmp_path):
    for i in range(4):
        photo(tmp_path / f"{i}.jpg", i)
    company(tmp_path)
    data = sluice.Dataset(tmp_path)
    assert list(data.fields) == ["image", "key"] and data.classes == [] and "without labels" in data.description
    for (images,) in sluice.Loader(data, batch_size=2, transform=T.RandomResizedCrop(16)):
        assert images.shape == (2, 16, 16, 3)
    with pytest.raises(INVALID, match="label"):
        sluice.Loader(data, columns={"label": sluice.columns.Number()})


def test_class_folders(tmp_path):
    for name in ("cat", "dog"):
        for i in range(2):
            photo(tmp_path / f"{name}/{i}.jpg", i)
    text(tmp_path / "classes.csv", "name\ncat\ndog\n")
    numpy.save(tmp_path / "embeddings.npy", numpy.ones((4, 3)))
    data = sluice.Dataset(tmp_path)
    assert data.classes == ["cat", "dog"] and len(data) == 4
    photo(tmp_path / "example.jpg")
    data = sluice.Dataset(tmp_path)
    assert len(data) == 4 and "without the 1 beside them (example.jpg)" in data.description
    for i in range(4):
        photo(tmp_path / f"beside{i}.jpg", i)
    refused(tmp_path, "5: beside0.jpg", "4: cat, dog", "skipped")


def left_out(data):
    return {entry.reason: (entry.count, entry.images, entry.example) for entry in data.left_out}


SYSTEM = (".ipynb_checkpoints", "__MACOSX", "@eaDir", "$RECYCLE.BIN", "System Volume Information", "lost+found", "__pycache__", ".git")


def test_hidden_and_system_folders_are_no_classes(tmp_path):
    """Unlike in torchvision, where each of them shifts the labels by one."""
    for i in range(30):
        photo(tmp_path / f"a/{i:02}.jpg", i)
        photo(tmp_path / f"b/{i:02}.jpg", i)
    for name in SYSTEM:
        photo(tmp_path / name / "x.jpg")
        photo(tmp_path / "a" / name / "x.jpg")
    for name in (".DS_Store", "Thumbs.db", "desktop.ini", "a/._00.jpg", "b/._00.jpg", "._a"):
        text(tmp_path / name, "\0\5\x16\7")
    with pytest.warns(UserWarning, match="16 left out: hidden and system folders"):
        data = sluice.Dataset(tmp_path)
    assert data.classes == ["a", "b"] and len(data) == 60 and {sample["label"] for sample in data} == {0, 1}
    folders, files = left_out(data).values()
    assert folders[:2] == (16, False) or files[:2] == (16, False), left_out(data)
    assert {folders[0], files[0]} == {16, 6}
    photo(tmp_path / "__background__/0.jpg")  # a class like any other
    assert len(sluice.Dataset(tmp_path).classes) == 3


def test_pictures_of_other_extensions_are_counted(tmp_path):
    for i in range(30):
        photo(tmp_path / f"a/{i}.jpg", i)
    for name in ("x.gif", "y.MPO", "z.heic", "w.jfif", "v.avif"):
        text(tmp_path / "a" / name)
    text(tmp_path / "a/notes.txt")
    photo(tmp_path / "beside.jpg")
    text(tmp_path / "README.md")
    with pytest.warns(UserWarning) as warned:
        data = sluice.Dataset(tmp_path)
    said = " ".join(str(one.message) for one in warned)
    assert "5 left out: images with an extension" in said and "1 left out: images beside" in said and "not images" not in said
    counts = sorted((count, images) for count, images, _ in left_out(data).values())
    assert len(data) == 30 and counts == [(1, True), (2, False), (5, True)]
    flat = tmp_path / "flat"
    photo(flat / "0.jpg")
    text(flat / "1.heic")
    text(flat / "empty/2.heic")
    with pytest.warns(UserWarning, match="2 left out: images with an extension"):
        assert len(sluice.Dataset(flat)) == 1


def test_splits_are_no_classes(tmp_path):
    for split in ("train", "val"):
        for name in ("cat", "dog"):
            photo(tmp_path / split / name / "0.jpg")
    refused(tmp_path, "splits, not classes (train, val)", f"{tmp_path}/train")
    assert sluice.Dataset(tmp_path / "train").classes == ["cat", "dog"]
    shutil.rmtree(tmp_path / "val")
    refused(tmp_path, '"train"', "2 image folders (cat, dog)", f"open {tmp_path}/train")
    photo(tmp_path / "bus/0.jpg")  # as in CIFAR-100
    shutil.rmtree(tmp_path / "train")
    photo(tmp_path / "train/0.jpg")
    assert sluice.Dataset(tmp_path).classes == ["bus", "train"]


SPLITS = (("train", "val", "test"), ("seg_train", "seg_test"), ("training", "validation"), ("Train", "Val"), ("Training_set", "Test_set"),
          ("train2017", "val2017"), ("images_train", "images_val", "images_test"), ("asl_alphabet_train", "asl_alphabet_test"))


@pytest.mark.parametrize("splits", SPLITS, ids=lambda splits: splits[0])
def test_splits_in_many_spellings(tmp_path, splits):
    for number, split in enumerate(splits):
        for name in ("cat", "dog"):
            photo(tmp_path / split / name / "0.jpg", number)
    refused(tmp_path, "splits, not classes", splits[0], "split")
    for split in splits:
        data = sluice.Dataset(tmp_path, split=split)
        assert data.classes == ["cat", "dog"] and bytes(data[0]["image"]) == (tmp_path / split / "cat/0.jpg").read_bytes()
    assert len(sluice.Dataset(tmp_path, split="train" if "rain" in splits[0] else splits[0])) == 2
    with pytest.raises(INVALID, match="no such split: the splits are"):
        sluice.Dataset(tmp_path, split="extra")
    photo(tmp_path / "sample/cat/0.jpg")  # regardless of other folders beside it
    refused(tmp_path, "splits, not classes", splits[0])


def labels_of(data):
    """Returns the labels of each class, by the folders of the images."""
    found = {}
    for sample in data:
        found.setdefault(sample["key"].split("/")[0], set()).add(sample["label"])
    return found


def test_folders_beside_the_only_one_of_pictures(tmp_path):
    """The error says what to open: kohya's img beside log and model; CelebA's archive unpacked into a folder of the same name."""
    for i in range(3):
        photo(tmp_path / f"kohya/img/10_sks dog/{i}.jpg")
        photo(tmp_path / f"celeba/img_align_celeba/img_align_celeba/{i}.jpg")
        photo(tmp_path / f"mixed/img/img/{i}.jpg")
    text(tmp_path / "kohya/log/events.out.tfevents.1", "x")
    (tmp_path / "kohya/model").mkdir()
    text(tmp_path / "celeba/Anno/list.doc", "x")
    photo(tmp_path / "mixed/img/other.jpg")
    (tmp_path / "mixed/none").mkdir()
    for folder, inner, others in (
        ("kohya", "img", '"log" and 1 more'), ("celeba", "img_align_celeba/img_align_celeba", '"Anno"'), ("mixed", "img", '"none"'),
    ):  # fmt: skip
        path = tmp_path / folder
        refused(path, f'all its images are in "{inner}", and none in {others}: open {path / inner} (allow_empty_classes')
        assert len(sluice.Dataset(path / inner)) >= 3
    assert len(sluice.Dataset(tmp_path / "kohya", allow_empty_classes=True).classes) == 3


def test_splits_in_the_only_folder(tmp_path):
    """data/train and data/test, as repositories of Hugging Face have them: the split must be named."""
    for split in ("test", "train"):
        for kind in ("cat", "dog"):
            photo(tmp_path / f"hf/data/{split}/{kind}/0.jpg")
    inner = tmp_path / "hf/data/train"
    refused(tmp_path / "hf", f'all its images are in "data", whose folders are splits (test, train): choose one (split "train"), or open it ({inner})')
    assert len(sluice.Dataset(tmp_path / "hf", split="train")) == len(sluice.Dataset(inner)) == 2


def test_splits_number_their_classes_alike(tmp_path):
    """Labels number one sorted list of the class names of all splits."""
    splits = {"train": "bcd", "val": "ace", "test": "bd"}
    for split, names in splits.items():
        for name in names:
            photo(tmp_path / split / name / "deeper/0.jpg")
    photo(tmp_path / "unlabeled/x/0.jpg")  # shares no class
    text(tmp_path / "val/aa/notes.txt")  # no image, no class
    text(tmp_path / "val/.cache/0.jpg")
    union = sorted(set("".join(splits.values())))
    with pytest.raises(INVALID, match='no image in the class folder "aa"'):
        sluice.Dataset(tmp_path, split="val")
    shutil.rmtree(tmp_path / "val/aa")
    for split, names in splits.items():
        lacking = sorted(set(union) - set(names))
        with pytest.warns(UserWarning, match=rf"{len(lacking)} of the 5 classes have no images in this split \({', '.join(lacking)}\)"):
            data = sluice.Dataset(tmp_path, split=split)
        assert data.classes == union and labels_of(data) == {name: {union.index(name)} for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = sluice.Dataset(tmp_path / "test")  # by its own path it is opened like torchvision's ImageFolder
        assert data.classes == ["b", "d"] and labels_of(data) == {"b": {0}, "d": {1}}
    sluice.pack(sluice.Dataset(tmp_path, split="test"), tmp_path / "packed", progress=False)
    packed = sluice.Dataset(tmp_path / "packed")
    assert packed.classes == union and labels_of(packed) == {"b": {1}, "d": {3}}


@pytest.mark.parametrize("other", ["test/images", "test/all_images", "test/0", "test/_all", "test/unknown", "train_masks/all"])
def test_a_split_of_other_folders_numbers_nothing(tmp_path, other):
    """Images without labels are often in an arbitrarily named folder: it is not a class of the other splits."""
    for folder in ("train/cat", "train/dog", "val/dog", "val/owl", other):
        photo(tmp_path / folder / "0.jpg")
    with pytest.warns(UserWarning, match="owl"):
        assert list(sluice.Dataset(tmp_path, split="train").classes) == ["cat", "dog", "owl"]
    with pytest.warns(UserWarning, match="cat"):
        assert list(sluice.Dataset(tmp_path, split="val").classes) == ["cat", "dog", "owl"]


def test_splits_are_joined_by_way_of_another(tmp_path):
    for folder in ("train/b", "train/d", "val/a", "val/d", "test/a", "test/c"):
        photo(tmp_path / folder / "0.jpg")
    for split in ("train", "val", "test"):
        with pytest.warns(UserWarning):
            assert list(sluice.Dataset(tmp_path, split=split).classes) == ["a", "b", "c", "d"]


def test_splits_of_the_same_classes_are_as_their_folders(tmp_path):
    for split in ("seg_train", "seg_test"):
        for name in "ab":
            photo(tmp_path / split / split / name / "0.jpg")
    photo(tmp_path / "seg_pred/seg_pred/c/0.jpg")  # not the name of a split: its new classes come last
    photo(tmp_path / "seg_pred/seg_pred/b/0.jpg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = sluice.Dataset(tmp_path, split="train")
    assert data.fingerprint == sluice.Dataset(tmp_path / "seg_train/seg_train").fingerprint
    with pytest.warns(UserWarning, match=r"1 of the 3 classes have no images in this split \(a\)"):
        assert labels_of(sluice.Dataset(tmp_path, split="seg_pred")) == {"b": {1}, "c": {2}}
    (tmp_path / "seg_pred/seg_pred/c").rename(tmp_path / "seg_pred/seg_pred/_")
    with pytest.warns(UserWarning):
        assert sluice.Dataset(tmp_path, split="seg_pred").classes == ["a", "b", "_"]


def test_classes_of_splits_that_differ_in_case(tmp_path):
    for path in "train/Cat", "train/dog", "test/cat", "test/dog":
        photo(tmp_path / path / "0.jpg")
    with pytest.raises(INVALID, match='"Cat" and "cat" differ only in case'):
        sluice.Dataset(tmp_path, split="test")
    with pytest.warns(UserWarning, match="Cat"):
        data = sluice.Dataset(tmp_path, split="test", allow_case_duplicates=True)
    assert data.classes == ["Cat", "cat", "dog"]


def test_a_split_without_class_folders_adds_none(tmp_path):
    for name in "ab":
        photo(tmp_path / "train" / name / "0.jpg")
    for number in range(3):
        photo(tmp_path / f"test/{number}.jpg")
    (tmp_path / "test/empty").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sluice.Dataset(tmp_path, split="train").classes == ["a", "b"]
        assert list(sluice.Dataset(tmp_path, split="test").fields) == ["image", "key"]


def test_a_split_within_a_folder_of_its_name(tmp_path):
    for split in ("seg_train", "seg_test", "seg_pred"):
        photo(tmp_path / split / split / "sea/0.jpg")
        photo(tmp_path / split / split / "glacier/0.jpg")
    refused(tmp_path, "splits, not classes (seg_test, seg_train)")
    assert sluice.Dataset(tmp_path, split="train").classes == ["glacier", "sea"]
    assert sluice.Dataset(tmp_path, split="seg_pred").classes == ["glacier", "sea"]
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "seg_test/seg_test/sea/0.jpg", "0.jpg")
    shutil.rmtree(tmp_path / "seg_test")
    (tmp_path / "seg_test").mkdir()
    (tmp_path / "a.tar").rename(tmp_path / "seg_test/a.tar")
    assert sluice.Dataset(tmp_path, split="test").format == "tar"  # any format


def test_classes_that_are_called_as_splits(tmp_path):
    """A split needs a second one like it."""
    for name in ("cat", "dog", "test"):
        photo(tmp_path / "one" / name / "0.jpg")
    for name in ("train", "test tube", "bus"):
        photo(tmp_path / "two" / name / "0.jpg")
    assert sluice.Dataset(tmp_path / "one").classes == ["cat", "dog", "test"]
    assert sluice.Dataset(tmp_path / "two").classes == ["bus", "test tube", "train"]
    photo(tmp_path / "none/cat/0.jpg")
    with pytest.raises(INVALID, match="has no splits to choose from"):
        sluice.Dataset(tmp_path / "none", split="train")


@pytest.mark.parametrize("name", ["train", "Test", "test1", "val2017", "trainA", "fold_1"])
def test_a_single_split_is_no_class(tmp_path, name):
    """Its images have no label, or that of a folder within."""
    photo(tmp_path / name / "cat.0.jpg")
    photo(tmp_path / name / "dog.0.jpg")
    refused(tmp_path, f'in "{name}", a split', f"open {tmp_path}/{name}", f'"{name}"')
    for data in sluice.Dataset(tmp_path / name), sluice.Dataset(tmp_path, split=name):
        assert len(data) == 2 and "label" not in data.fields
    text(tmp_path / "labels.csv", f"file,label\n{name}/cat.0.jpg,cat\n{name}/dog.0.jpg,dog\n")
    assert sluice.Dataset(tmp_path).classes == ["cat", "dog"]  # classes come from a list
    (tmp_path / "labels.csv").unlink()
    (tmp_path / name / "cat").mkdir()
    for file in "cat.0.jpg", "dog.0.jpg":
        (tmp_path / name / file).rename(tmp_path / name / "cat" / file)
    refused(tmp_path, f'in "{name}", a split')
    assert sluice.Dataset(tmp_path, split=name).classes == ["cat"]


PARTS = (("train", "holdout"), ("train", "extra"), ("train", "unlabeled"), ("train", "unsup"), ("train", "dev"), ("train", "eval"),
         ("train", "public_test", "private_test"), ("Training", "PublicTest", "PrivateTest"), ("train", "hold-out", "extra"),
         ("train_1", "labeled", "unlabeled"), ("bounding_box_train", "bounding_box_test", "query"), ("trainA", "trainB"),
         ("trainA", "trainB", "testA", "testB"), ("train_a", "train_b"), ("fold1", "fold2"), ("Fold 1", "Fold 2", "Fold 3"),
         ("subset0", "subset1"), ("fold-1", "fold-2", "test"), ("split1", "split2"))  # fmt: skip


@pytest.mark.parametrize("names", PARTS, ids=" ".join)
@pytest.mark.parametrize("inner", ["", "cat/"])
def test_splits_of_other_names(tmp_path, names, inner):
    for number, name in enumerate(names):
        photo(tmp_path / name / f"{inner}0.jpg", number)
        photo(tmp_path / name / f"{inner}1.jpg", number)
    refused(tmp_path, "splits, not classes", *names, f'"{min(names)}"')
    for name in names:
        data = sluice.Dataset(tmp_path, split=name)
        assert len(data) == 2 and data.classes == (["cat"] if inner else [])
        assert bytes(data[0]["image"]) == (tmp_path / name / f"{inner}0.jpg").read_bytes()


CLASSES = (("cat", "dog", "test"), ("bus", "train"), ("extra", "holdout"), ("query", "gallery"), ("train", "extra", "bus"), ("test tube", "blind"),
           ("fold", "unfold"), ("fold1", "cat"), ("class1", "class2"), ("A", "B"), ("train station", "bus station"),
           ("public", "private"), ("test", "query"), ("split", "strike"), ("trainer", "training shoe"))  # fmt: skip


@pytest.mark.parametrize("names", CLASSES, ids=" ".join)
def test_classes_that_are_nearly_called_as_splits(tmp_path, names):
    for name in names:
        photo(tmp_path / name / "0.jpg")
    assert sluice.Dataset(tmp_path).classes == sorted(names)


def test_a_folder_around_the_class_folders(tmp_path):
    for name in ("cat", "dog"):
        photo(tmp_path / "archive/photos" / name / "0.jpg")
    refused(tmp_path, '"archive/photos"', "cat, dog", f"open {tmp_path}/archive/photos")
    assert sluice.Dataset(tmp_path / "archive/photos").classes == ["cat", "dog"]
    for i in range(3):
        photo(tmp_path / f"faces/all/{i}.jpg", i)
    data = sluice.Dataset(tmp_path / "faces")  # one class, since its folder was named
    assert data.classes == ["all"] and "one class folder" in data.description


# ---- an unpacked WebDataset ----


def unpacked(root, count=12, folder="", extensions=("cls", "txt", "json"), leave=()):
    for i in range(count):
        key = root / folder.format(i // 5) / f"{i:06}"
        photo(key.with_suffix(".jpg"), i)
        contents = {"cls": f"{i % 7}\n", "txt": f"caption «{i}»", "json": json.dumps({"i": i})}
        for extension in extensions:
            if (i, extension) not in leave:
                text(key.with_suffix(f".{extension}"), contents[extension])
    return root


def archive(root, path):
    """Makes an archive with GNU tar, with names relative to the folder."""
    subprocess.run(["tar", "--sort=name", "-cf", path, "-C", root, *sorted(os.listdir(root))], check=True)
    return path


def batches(source, **options):
    options = {"batch_size": 5, "shuffle": True, "seed": 3, "transform": T.RandomResizedCrop(16), "num_workers": 2, **options}
    return [[column.numpy().tobytes() for column in batch] for batch in sluice.Loader(source, **options)]


@pytest.mark.parametrize("folder", ["", "part-{:05}", "{}", "shard_{}/more"])
def test_samples_are_those_of_the_archive(tmp_path, folder):
    root = unpacked(tmp_path / "data", folder=folder, leave={(3, "txt"), (4, "cls")})
    data, tar = sluice.Dataset(root), sluice.Dataset(archive(root, tmp_path / "a.tar"))
    assert "unpacked WebDataset" in data.description
    assert data.fields == tar.fields and list(data.fields) == ["image", "label", "json", "txt", "key"]
    assert everything(data) == everything(tar)
    assert data[3]["txt"] == tar[3]["txt"] != data[2]["txt"] and data[5]["label"] == 5
    assert batches(data, on_bad_sample="mask") == batches(tar, on_bad_sample="mask")
    assert data.verify(decode=True, progress=None)[2] == []


def test_names_around_the_dot(tmp_path):
    """GNU tar sorts by whole names, including the dot."""
    for name in ("a", "a-b", "a0", "A", "é", "b c"):
        photo(tmp_path / f"data/{name}.jpg")
        text(tmp_path / f"data/{name}.txt", name)
        text(tmp_path / f"data/{name}.seg.PNG", name)
    shutil.move(tmp_path / "data/a.jpg", tmp_path / "data/a.JPG")
    root = tmp_path / "data"
    archive(root, tmp_path / "a.tar")
    data, tar = sluice.Dataset(root), sluice.Dataset(tmp_path / "a.tar")
    assert data.fields == tar.fields
    assert everything(data) == everything(tar) and len(data) == 6


def test_img2dataset(tmp_path):
    root = unpacked(tmp_path / "out", folder="{:05}", extensions=("txt", "json"))
    for i in range(3):
        text(root / f"{i:05}_stats.json", "{}")
        (root / f"{i:05}.parquet").write_bytes(b"PAR1" + bytes(8) + b"PAR1")
    data = sluice.Dataset(root)
    assert list(data.fields) == ["image", "json", "txt", "key"] and len(data) == 12
    assert data[7]["txt"] == "caption «7»" and data[7]["key"] == "00001/000007"
    assert "6 other files" in data.description


def test_class_numbers_in_folders_of_words(tmp_path):
    """Keys of an archive often contain the class."""
    for i in range(8):
        key = tmp_path / "data" / ("cat", "dog")[i % 2] / f"{i}"
        photo(key.with_suffix(".jpg"), i)
        text(key.with_suffix(".cls"), str(i % 2))
    data = sluice.Dataset(tmp_path / "data")
    assert [sample["label"] for sample in data] == [0] * 4 + [1] * 4 and "unpacked" in data.description


def test_captions_in_class_folders_are_left_alone(tmp_path):
    for i in range(8):
        key = tmp_path / ("cat", "dog")[i % 2] / f"{i}"
        photo(key.with_suffix(".jpg"), i)
        text(key.with_suffix(".txt"), "a box")
    assert sluice.Dataset(tmp_path).classes == ["cat", "dog"]


def test_a_list_among_pictures_makes_no_samples(tmp_path):
    for i in range(6):
        photo(tmp_path / f"{i}.jpg", i)
    text(tmp_path / "0.txt")
    text(tmp_path / "classes.txt")
    text(tmp_path / "2.json", "{}")
    assert list(sluice.Dataset(tmp_path).fields) == ["image", "key"]
    text(tmp_path / "1.txt")  # now half of the images have such a file
    assert list(sluice.Dataset(tmp_path).fields) == ["image", "json", "txt", "key"]


def test_recordings_and_arrays(tmp_path):
    for i in range(4):
        text(tmp_path / f"sound/{i}.flac", "fLaC")
        text(tmp_path / f"sound/{i}.txt", f"words {i}")
        (tmp_path / "arrays").mkdir(exist_ok=True)
        numpy.save(tmp_path / f"arrays/{i}.npy", numpy.full((2, 2), i))
        text(tmp_path / f"arrays/{i}.cls", f"{i}")
    assert [sample["txt"] for sample in sluice.Dataset(tmp_path / "sound")] == [f"words {i}" for i in range(4)]
    data = sluice.Dataset(tmp_path / "arrays")
    assert [sample["label"] for sample in data] == [0, 1, 2, 3] and data.fields["npy"].type == "bytes"


def test_parts_that_are_bad(tmp_path):
    root = unpacked(tmp_path / "data", count=8, extensions=("cls",))
    text(root / "000002.cls", "two")
    with pytest.raises(sluice.CorruptError, match="not a whole number") as told:
        sluice.Dataset(root)[2]
    assert told.value.file == str(root / "000002.cls")
    shutil.copy(root / "000003.jpg", root / "000003.JPG")
    with pytest.raises(sluice.CorruptError, match="two files"):
        sluice.Dataset(root)[3]
    os.remove(root / "000003.JPG")
    data = sluice.Dataset(root)
    os.remove(root / "000004.cls")
    with pytest.raises(IO) as told:
        data[4]
    assert told.value.file == str(root / "000004.cls")
    (root / "000005.jpg").write_bytes(b"\xff\xd8\xff none")
    os.remove(root / "000006.cls")
    os.mkfifo(root / "000006.cls")
    loader = sluice.Loader(data, batch_size=8, on_bad_sample="mask", quarantine=tmp_path / "bad", transform=T.RandomResizedCrop(8))
    assert sum(batch["mask"].numpy().sum() for batch in loader) == 4
    bad = (tmp_path / "bad").read_text()
    for name in ("000002.cls", "000004.cls", "000005.jpg", "000006.cls"):
        assert str(root / name) in bad


def test_what_is_packed_of_it(tmp_path):
    root = unpacked(tmp_path / "data")
    sluice.pack(root, tmp_path / "packed", keep_order=True, keep_bytes=True, progress=None)
    assert everything(sluice.Dataset(tmp_path / "packed")) == everything(sluice.Dataset(root))
    joined = sluice.concat([sluice.Dataset(root), sluice.Dataset(root).subset([1, 3])])
    assert everything(joined)[-1] == everything(sluice.Dataset(root))[3]
    assert [sample["label"] for sample in sluice.Dataset(root).filter(lambda numbers: numbers["label"] == 3)] == [3, 3]


# ---- COCO's folders ----


@pytest.fixture
def coco(tmp_path):
    for split in ("train", "val"):
        images = []
        for i in range(3):
            photo(tmp_path / f"{split}2017/{i:012}.jpg", i)
            images.append({"id": i, "file_name": f"{i:012}.jpg", "height": 20, "width": 24})
        for kind in ("instances", "captions"):
            text(tmp_path / f"annotations/{kind}_{split}2017.json", json.dumps({"images": images, "annotations": [], "categories": []}))
    return tmp_path


def test_coco(coco):
    refused(coco, "annotations/instances_train2017.json (boxes and classes)", "annotations/captions_val2017.json (captions)")
    refused(coco / "annotations", "instances_train2017.json (boxes and classes)")
    for name in ("instances_train2017", "captions_train2017", "captions_val2017"):
        assert len(sluice.Dataset(coco / f"annotations/{name}.json")) == 3
        os.remove(coco / f"annotations/{name}.json")
    data = sluice.Dataset(coco)
    assert data.format == "coco" and len(data) == 3 and data.fingerprint == sluice.Dataset(coco / "annotations").fingerprint
    shutil.rmtree(coco / "annotations")
    refused(coco, "splits, not classes (train2017, val2017)")


def test_coco_beside_its_pictures(coco):
    """As exported by Roboflow."""
    shutil.move(coco / "annotations/instances_val2017.json", coco / "val2017/_annotations.coco.json")
    shutil.rmtree(coco / "annotations")
    data = sluice.Dataset(coco / "val2017")
    assert data.format == "coco" and len(data) == 3
    refused(coco, "splits")


# ---- hostile ----


def test_what_else_lies_in_folders(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.ones((5, 3), "f4"))
    os.mkfifo(tmp_path / "pipe")
    os.symlink("nowhere", tmp_path / "link.json")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "__MACOSX").mkdir()
    assert len(sluice.Dataset(tmp_path)) == 5
    os.symlink("nowhere", tmp_path / "link.npy")
    refused(tmp_path, "link.npy", error=IO)
    os.remove(tmp_path / "link.npy")
    os.mkfifo(tmp_path / "pipe.npy")
    refused(tmp_path, "pipe.npy", error=IO)
    os.remove(tmp_path / "pipe.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:100])
    refused(tmp_path, "cut.npy", error=sluice.CorruptError)


def test_a_folder_that_cannot_be_listed(run_python):
    program = "import os, sluice, sys; os.getuid() or os.setuid(65534); sluice.Dataset(sys.argv[1])"
    with tempfile.TemporaryDirectory() as folder:  # a folder that others can write to
        os.chmod(folder, 0o755)
        text(pathlib.Path(folder, "locked/a.jpg"))
        os.chmod(f"{folder}/locked", 0)
        ended = run_python(program, f"{folder}/locked")
        os.chmod(f"{folder}/locked", 0o755)
    assert ended.returncode != 0 and "cannot list the folder" in ended.stderr, ended.stderr

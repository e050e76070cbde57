# SPDX-License-Identifier: Apache-2.0
"""Parquet files in folders named KEY=VALUE, whose keys are columns, as Hive, Spark and pandas write them."""
import urllib.parse

import parquets
import pytest
from parquets import Column

import sluice

NOTHING = "__HIVE_DEFAULT_PARTITION__"


def write(root, folder, numbers, name="data_0.parquet", **columns):
    (root / folder).mkdir(parents=True, exist_ok=True)
    parquets.write(root / folder / name, {"n": Column("int64", list(numbers)), **columns})


def rows(data, *names):
    return [tuple(sample[name] for name in ("n", *names)) for sample in data]


def test_labels_are_classes(tmp_path):
    names = ["zebra", "Cat", "a dog", "ünï", "50%", "a/b"]
    for i, name in enumerate(names):
        write(tmp_path, f"label={urllib.parse.quote(name, safe='')}", [i, i + 10])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".label.crc").touch()
    data = sluice.Dataset(tmp_path)
    assert data.classes == sorted(names) and list(data.fields) == ["n", "label"] and data.left_out == []
    assert sorted((n, data.classes[label]) for n, label in rows(data, "label")) == sorted(
        (n, name) for i, name in enumerate(names) for n in (i, i + 10))  # fmt: skip
    assert data.verify(progress=None).findings == []
    sluice.pack(data, tmp_path / "packed", progress=None)
    assert sluice.Dataset(tmp_path / "packed").classes == data.classes


def test_names_that_are_no_utf_8(tmp_path):
    for name in (b"\xff", b"%FE", b"%GG%4", b"a%00b", b""):
        folder = tmp_path / ("label=" + name.decode("utf-8", "surrogateescape"))
        write(tmp_path, folder.name, [1])
    data = sluice.Dataset(tmp_path)
    assert [name.encode("utf-8", "surrogateescape") for name in data.classes] == [b"", b"%GG%4", b"a%00b", b"\xfe", b"\xff"]
    assert rows(data, "label") == [(1, 0), (1, 3), (1, 1), (1, 2), (1, 4)]  # in path order


def test_several_keys(tmp_path):
    write(tmp_path, "year=2020/country=de", [1, 2])
    write(tmp_path, "year=2020/country=fr", [3], name="b.parquet")
    write(tmp_path, "year=2020/country=fr", [4], name="a.parquet")
    write(tmp_path, f"year=-7/country={NOTHING}", [5])
    write(tmp_path, f"year={NOTHING}/country=007", [6])
    data = sluice.Dataset(tmp_path)
    assert [(field.name, field.type) for field in data.fields.values()] == [("n", "int"), ("year", "int"), ("country", "text")]
    assert sorted(rows(data, "year", "country")) == [
        (1, 2020, "de"), (2, 2020, "de"), (3, 2020, "fr"), (4, 2020, "fr"), (5, -7, ""), (6, None, "007")]  # fmt: skip
    assert [n for n, in rows(sluice.Dataset(tmp_path, fields={"n": "n"}))] == [n for n, in rows(data)]
    assert sluice.Dataset(tmp_path, fields={"where": "country"})[0]["where"] == ""


def test_labels_that_are_numbers(tmp_path):
    for label in (3, 10, 9):
        write(tmp_path, f"label={label}", [label])
    data = sluice.Dataset(tmp_path)
    assert data.classes == [] and sorted(rows(data, "label")) == [(3, 3), (9, 9), (10, 10)]


def test_large_columns(tmp_path):
    pictures = {label: [bytes([i]) * 400_000 for i in range(4)] for label in (1, 2)}
    for label, made in pictures.items():
        write(tmp_path, f"label=c{label}", range(4), x=Column("binary", made))
    data = sluice.Dataset(tmp_path)
    assert [(sample["label"], bytes(sample["x"])) for sample in data] == [
        (label - 1, made) for label, all in pictures.items() for made in all]  # fmt: skip


def test_splits(tmp_path):
    for i, (split, label) in enumerate([("train", "cat"), ("train", "dog"), ("test", "cat"), ("validation", "dog")]):
        write(tmp_path, f"split={split}/label={label}", [i])
    with pytest.raises(sluice.InvalidError, match='several splits: test, train, validation: choose one .split "test"'):
        sluice.Dataset(tmp_path)
    data = sluice.Dataset(tmp_path, split="train")
    assert data.classes == ["cat", "dog"] and rows(data, "label", "split") == [(0, 0, "train"), (1, 1, "train")]
    assert [(left.reason, left.count) for left in data.left_out] == [("files of other splits", 2)]
    assert rows(sluice.Dataset(tmp_path, split="val"), "label") == [(3, 1)]  # the classes of all splits
    with pytest.raises(sluice.InvalidError, match='split "dev2": no such split: the splits are test, train, validation'):
        sluice.Dataset(tmp_path, split="dev2")
    write(tmp_path / "b", "label=cat", [1], name="train-0.parquet")
    write(tmp_path / "b", "label=dog", [2], name="test-0.parquet")
    write(tmp_path / "b", "label=dog", [3], name="train-0.parquet")
    with pytest.raises(sluice.InvalidError, match="several splits: train, test"):
        sluice.Dataset(tmp_path / "b")
    assert rows(sluice.Dataset(tmp_path / "b", split="train"), "label") == [(1, 0), (3, 1)]


def test_other_orders_of_columns(tmp_path):
    write(tmp_path, "label=a", [1], m=Column("int64", [2]))
    (tmp_path / "label=b").mkdir()
    parquets.write(tmp_path / "label=b" / "x.parquet", {"m": Column("int64", [4]), "n": Column("int64", [3])})
    assert rows(sluice.Dataset(tmp_path), "m", "label") == [(1, 2, 0), (3, 4, 1)]


@pytest.mark.parametrize("files, words", [
    (["label=a/x.parquet", "y.parquet"], 'the folder contains the file "y.parquet" and the folder "label=a"'),
    (["label=a/x.parquet", "label=b/split=c/y.parquet"], "its folders have different keys from those of"),
    (["label=a/x.parquet", "other=b/y.parquet"], "its folders have different keys from those of"),
    (["label=a/x.parquet", "more/y.parquet"], "more: not named KEY=VALUE"),
    (["n=a/x.parquet"], 'column "n" is in the file, but its folder is named n=... too'),
    (["/".join(f"k{i}=v" for i in range(9)) + "/x.parquet"], "more than 8 deep"),
])  # fmt: skip
def test_folders_that_do_not_fit(tmp_path, files, words):
    for i, name in enumerate(files):
        folder, _, file = name.rpartition("/")
        write(tmp_path, folder, [i], name=file)
    with pytest.raises(sluice.Error, match=words):
        sluice.Dataset(tmp_path)


def test_folders_of_classes_are_no_keys(tmp_path):
    from PIL import Image

    for name in ("x=1", "x=2"):
        (tmp_path / name).mkdir()
        Image.new("RGB", (8, 8)).save(tmp_path / name / "0.jpg")
    assert sluice.Dataset(tmp_path).classes == ["x=1", "x=2"]

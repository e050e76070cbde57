# SPDX-License-Identifier: Apache-2.0
"""LMDB files written by liblmdb (through lmdbs.py, which shares no code with the reader), compared with liblmdb's own reading."""
import io
import os
import random
import struct

import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

lmdb = pytest.importorskip("lmdb", reason="there is no python3-lmdb here")
import lmdbs as db  # noqa: E402


def picture(number=0, size=(20, 16), kind="JPEG"):
    made = io.BytesIO()
    noise = numpy.random.default_rng(number).integers(0, 255, (*size[::-1], 3), "u1")
    Image.fromarray(noise).save(made, kind)
    return made.getvalue()


def as_liblmdb(path, **how):
    """Returns all pairs, read by liblmdb itself."""
    with lmdb.open(str(path), readonly=True, lock=False, **how) as env, env.begin() as txn:
        return [(bytes(key), bytes(value)) for key, value in txn.cursor()]


def keys(data):
    return [data.sample(number)["key"] for number in range(len(data))]


def check_bytes(path, **how):
    """Checks that every value, and every key that is text, equals liblmdb's."""
    data = sluice.Dataset(path, fields={"data": "data:bytes"})
    pairs = as_liblmdb(path, **how)
    assert data.format == "lmdb" and len(data) == len(pairs)
    for number, (key, value) in enumerate(pairs):
        assert (data[number]["data"] or b"") == value, key
    assert keys(data) == [key.decode() for key, _ in pairs]


@pytest.mark.parametrize("txn_size", [7, 1000])
@pytest.mark.parametrize("churn", [0, 60])
@pytest.mark.parametrize("folder", [True, False])
def test_all_sizes(tmp_path, folder, churn, txn_size):
    """Values in leaves and in separate pages, around each boundary, in a file with free pages and reused ones."""
    sizes = [0, 1, 100, 2000, 2023, 2024, 2025, 2026, 2039, 2040, 4079, 4080, 4081, 8176, 8177, 30000]
    random.seed(folder + 2 * churn + txn_size)
    items = {b"k%05d" % number: random.randbytes(sizes[number % len(sizes)]) for number in range(400)}
    path = str(tmp_path / "x")
    db.put(path, items, folder=folder, churn=churn, txn_size=txn_size)
    check_bytes(path, subdir=folder)


def test_many_levels(tmp_path):
    """A tree of several levels, written in random order and partly deleted again."""
    random.seed(3)
    path = str(tmp_path / "x")
    order = random.sample(range(20000), 20000)
    with lmdb.open(path, map_size=1 << 28, sync=False) as env:
        with env.begin(write=True) as txn:
            for number in order:
                txn.put(b"%0200d" % number, b"%d" % number)
        with env.begin(write=True) as txn:
            for number in order[::3]:
                txn.delete(b"%0200d" % number)
        assert env.stat()["depth"] >= 4
    kept = sorted(set(order) - set(order[::3]))
    data = sluice.Dataset(path)
    assert data.fields["data"].type == "text" and len(data) == len(kept)
    some = range(0, len(kept), 37)
    assert [data[number]["data"] for number in some] == [str(kept[number]) for number in some]
    assert data.sample(len(kept) - 1)["key"] == "%0200d" % kept[-1]


@pytest.mark.parametrize("writemap", [False, True])
def test_what_was_written_in_other_ways(tmp_path, writemap):
    path, copy = str(tmp_path / "x"), tmp_path / "copy"
    items = {b"%d" % number: os.urandom(number * 37 % 9000) for number in range(300)}
    with lmdb.open(path, map_size=1 << 25, writemap=writemap, sync=False) as env:
        for key, value in items.items():
            with env.begin(write=True) as txn:
                txn.put(key, value)
        copy.mkdir()
        env.copy(str(copy), compact=True)
    check_bytes(path)
    check_bytes(str(copy))


def test_a_reader_sees_the_last_transaction(tmp_path):
    path = str(tmp_path / "x")
    with lmdb.open(path, map_size=1 << 20, sync=False) as env:
        for number in range(20):
            with env.begin(write=True) as txn:
                txn.put(b"k%02d" % number, b"%d" % number)
            assert len(sluice.Dataset(path)) == number + 1


# ---- types of values ----


def test_datums_of_pictures(tmp_path):
    files = [picture(number, kind=("JPEG", "PNG")[number % 2]) for number in range(9)]
    db.caffe(tmp_path / "x", list(zip(files, range(-1, 8))), names=[f"a/{number}.jpg" for number in range(9)])
    data = sluice.Dataset(tmp_path / "x")
    assert {name: field.type for name, field in data.fields.items()} == {"image": "image", "label": "int"}
    assert [bytes(sample["image"]) for sample in data] == files
    assert [sample["label"] for sample in data] == list(range(-1, 8))
    assert data.sample(3)["key"] == "00000003_a/3.jpg"
    transform = T.Compose([T.Resize(16), T.CenterCrop(16), T.ToTensor()])
    (batch,) = sluice.Loader(data, batch_size=9, transform=transform, shuffle=False)
    assert batch["image"].shape == (9, 16, 16, 3) and batch["label"].numpy().tolist() == list(range(-1, 8))


@pytest.mark.parametrize("channels", [1, 3])
def test_datums_of_pixels(tmp_path, channels):
    arrays = numpy.random.default_rng(0).integers(0, 255, (70, 5, 6, channels), "u1")
    db.caffe(tmp_path / "x", [(array.squeeze(), number) for number, array in enumerate(arrays)])
    data = sluice.Dataset(tmp_path / "x")
    assert data.fields["data"].shape == (channels, 5, 6) and data.fields["data"].dtype == "uint8"
    planes = arrays[..., ::-1].transpose(0, 3, 1, 2)  # blue, green, red
    batch = next(iter(sluice.Loader(data, batch_size=70, shuffle=False)))
    assert (batch["data"].numpy() == planes).all() and batch["label"].numpy().tolist() == list(range(70))


def test_datums_of_several_shapes(tmp_path):
    arrays = [numpy.full((4, 3 + number, 3), number, "u1") for number in range(5)]
    db.caffe(tmp_path / "x", [(array, 0) for array in arrays])
    data = sluice.Dataset(tmp_path / "x")
    assert data.fields["data"].shape == (3, 4, 0)
    assert [numpy.asarray(sample["data"]).shape for sample in data] == [(3, 4, 3 + number) for number in range(5)]


def test_datums_that_are_refused(tmp_path):
    db.caffe(tmp_path / "floats", [db.datum(float_data=[1, 2.5], label=2, channels=2, height=1, width=1)] * 3)
    with pytest.raises(sluice.UnsupportedError, match="float_data"):
        sluice.Dataset(tmp_path / "floats")
    assert sluice.Dataset(tmp_path / "floats", fields={"y": "label"})[1]["y"] == 2
    db.caffe(tmp_path / "packed", [db.datum(float_data=[1, 2.5], packed=True)])
    with pytest.raises(sluice.UnsupportedError, match="float_data"):
        sluice.Dataset(tmp_path / "packed")
    db.caffe(tmp_path / "mixed", [(picture(), 1), (numpy.zeros((2, 2, 3), "u1"), 1)])
    with pytest.raises(sluice.UnsupportedError, match="encoded images, others pixels"):
        sluice.Dataset(tmp_path / "mixed")


def test_a_datum_unlike_those_looked_at(tmp_path):
    samples = [(numpy.zeros((2, 2, 3), "u1"), 1)] * 100
    file, wide = sorted(set(range(100)) - {99 * number // 63 for number in range(64)})[4:6]  # not sampled when fields are detected
    samples[file] = (picture(), 1)
    samples[wide] = (numpy.zeros((2, 3, 3), "u1"), 1)
    db.caffe(tmp_path / "x", samples)
    data = sluice.Dataset(tmp_path / "x")
    assert data.fields["data"].shape == (3, 2, 2)
    with pytest.raises(sluice.CorruptError, match="contains no pixels"):
        data[file]
    with pytest.raises(sluice.CorruptError, match="shape of its Caffe Datum differs"):
        data[wide]
    assert data[wide - 1]["label"] == 1


def test_labels_that_are_left_out(tmp_path):
    """Protobuf omits a 0 if its writer does."""
    db.caffe(tmp_path / "some", [db.datum(picture(), number or None, encoded=True) for number in range(4)])
    assert [sample["label"] for sample in sluice.Dataset(tmp_path / "some")] == [0, 1, 2, 3]
    db.caffe(tmp_path / "none", [db.datum(picture(), encoded=True)] * 3)
    assert list(sluice.Dataset(tmp_path / "none").fields) == ["image"]


def test_pictures(tmp_path):
    files = {f"cls/{number:04}": picture(number) for number in range(30)}
    db.pictures(tmp_path / "x", files, meta={"cls/0000": (16, 20, 3)})
    data = sluice.Dataset(tmp_path / "x")
    assert list(data.fields) == ["image"] and keys(data) == list(files)
    assert [bytes(sample["image"]) for sample in data] == list(files.values())
    assert (numpy.asarray(data.decode(3)) == numpy.asarray(Image.open(io.BytesIO(files["cls/0003"])))).all()
    assert data.verify(decode=True)


def test_text_recognition(tmp_path):
    samples = [(picture(number), f"wört {number}") for number in range(12)]
    samples[3] = (samples[3][0], None)
    samples[4] = (samples[4][0], "")
    samples[5] = (None, "a text without a picture")
    samples[6] = (samples[6][0], "long " * 1000)
    db.recognition(tmp_path / "x", samples, count=5)
    data = sluice.Dataset(tmp_path / "x")
    wanted = [(file, text or "") for file, text in samples if file is not None]  # a missing label is an empty text
    assert {name: field.type for name, field in data.fields.items()} == {"image": "image", "label": "text"}
    assert [(bytes(sample["image"]), sample["label"]) for sample in data] == wanted
    assert keys(data)[5] == "image-000000007"


def test_text_recognition_without_texts(tmp_path):
    db.recognition(tmp_path / "x", [(picture(number), None) for number in range(4)])
    data = sluice.Dataset(tmp_path / "x")
    assert list(data.fields) == ["image"] and len(data) == 4


def test_what_is_never_unpickled(tmp_path):
    db.pickled(tmp_path / "x", [(picture(), number) for number in range(5)])
    with pytest.raises(sluice.UnsupportedError, match=r"pickled.*sluice\.Writer"):
        sluice.Dataset(tmp_path / "x")


def test_bytes_that_look_pickled(tmp_path):
    """Some other bytes happen to begin and end like a pickle."""
    arrays = [numpy.arange(number, number + 4, dtype="<u4") for number in range(20)]
    arrays[7] = numpy.frombuffer(b"\x80\x04" + bytes(13) + b".", "<u4")
    db.put(tmp_path / "x", {b"%02d" % number: array.tobytes() for number, array in enumerate(arrays)})
    with pytest.raises(sluice.UnsupportedError, match="some of its values look like pickled.*data=data:bytes"):
        sluice.Dataset(tmp_path / "x")
    data = sluice.Dataset(tmp_path / "x", fields={"x": "data:u32[4]"})
    assert [sample["x"].tolist() for sample in data] == [array.tolist() for array in arrays]
    assert sluice.Dataset(tmp_path / "x", fields={"x": "data:bytes"})[7]["x"] == arrays[7].tobytes()
    db.pickled(tmp_path / "y", list(range(5)))
    with pytest.raises(sluice.InvalidError, match="pickled Python objects, which are never loaded"):
        sluice.Dataset(tmp_path / "y", fields={"x": "data:bytes"})


def test_other_bytes(tmp_path):
    files = [picture(number) for number in range(3)]
    db.messages(tmp_path / "messages", [[file, 7] for file in files])
    data = sluice.Dataset(tmp_path / "messages")
    assert len(data) == 3 and data.fields["data"].type == "bytes" and files[1] in data[1]["data"]  # no __keys__
    db.integers(tmp_path / "numbers", [1, -1, 2**63 - 1])
    data = sluice.Dataset(tmp_path / "numbers", fields={"n": "data:i64[1]"})
    assert [int(sample["n"][0]) for sample in data] == [1, -1, 2**63 - 1]
    db.integers(tmp_path / "texts", [5, -6], text=True)
    assert [sample["data"] for sample in sluice.Dataset(tmp_path / "texts")] == ["5", "-6"]


# ---- files that open, and files that do not ----


def test_named_databases(tmp_path):
    files = {"a": picture(1), "b": picture(2)}
    db.pictures(tmp_path / "one", files, db="train")
    assert [bytes(sample["image"]) for sample in sluice.Dataset(tmp_path / "one")] == list(files.values())
    db.tables(tmp_path / "two", {"images": {b"k": b"v"}, "labels": {b"k": b"w"}})
    with pytest.raises(sluice.UnsupportedError, match="named databases"):
        sluice.Dataset(tmp_path / "two")
    db.put(str(tmp_path / "dup"), [(b"a", b"1"), (b"a", b"2")], several=True, db="n")
    with pytest.raises(sluice.UnsupportedError, match="MDB_DUPSORT"):
        sluice.Dataset(tmp_path / "dup")
    db.put(str(tmp_path / "numbers"), {300: b"c", 2: b"b", 1: b"a"}, integer_keys=True, db="n")
    data = sluice.Dataset(tmp_path / "numbers")
    assert [sample["data"] for sample in data] == ["a", "b", "c"] and keys(data) == ["", "", ""]


def test_several(tmp_path):
    for number in range(3):
        files = {f"{number}-{k}": picture(10 * number + k) for k in range(4)}
        db.pictures(tmp_path / f"{number}", files, folder=number != 1)
    data = sluice.Dataset([tmp_path / "2", tmp_path / "1", tmp_path / "0"])
    assert keys(data) == [f"{number}-{k}" for number in (2, 1, 0) for k in range(4)]
    db.recognition(tmp_path / "text", [(picture(), "a")])
    with pytest.raises(sluice.InvalidError, match="image-N"):
        sluice.Dataset([tmp_path / "0", tmp_path / "text"])


def test_empty(tmp_path):
    db.put(str(tmp_path / "x"), {})
    with pytest.raises(sluice.InvalidError, match="no sample"):
        sluice.Dataset(tmp_path / "x")
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "data.mdb").write_bytes(b"x" * 9000)
    with pytest.raises(sluice.CorruptError, match="not a meta page"):
        sluice.Dataset(tmp_path / "y")


def test_packed(tmp_path):
    db.recognition(tmp_path / "x", [(picture(number), f"text {number}") for number in range(20)])
    sluice.pack(tmp_path / "x", tmp_path / "packed")
    packed = sluice.Dataset(tmp_path / "packed")
    assert sorted(sample["label"] for sample in packed) == sorted(f"text {number}" for number in range(20))


def test_damage(tmp_path):
    """Random damage never ends the process, unlike in readers that map a file and trust it."""
    path = tmp_path / "x"
    db.put(str(path), {b"%04d" % number: os.urandom(number * 29 % 5000) for number in range(200)}, churn=20)
    sound = (path / "data.mdb").read_bytes()
    random.seed(5)
    for _ in range(300):
        made = bytearray(sound)
        page = 4096 * random.randrange(len(made) // 4096)
        for _ in range(random.randrange(1, 4)):
            number = random.choice([0, 1, 0xFFFF, random.randrange(1 << 16)])
            struct.pack_into("<H", made, page + 2 * random.randrange(60), number)
        (path / "data.mdb").write_bytes(made)
        try:
            data = sluice.Dataset(path)
            for number in range(len(data)):
                data.sample(number)
        except sluice.Error as error:
            assert error.args[0]


def test_nothing_of_it_is_written(tmp_path):
    path = tmp_path / "x"
    db.pictures(path, {"a": picture()})
    before = (path / "data.mdb").read_bytes()
    os.chmod(path / "data.mdb", 0o400)
    assert len(sluice.Dataset(path)) == 1
    assert sorted(os.listdir(path)) == ["data.mdb"] and (path / "data.mdb").read_bytes() == before

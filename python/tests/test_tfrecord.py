# SPDX-License-Identifier: Apache-2.0
"""TFRecords of tf.train.Example, written by the tests' own writer (tfrecords.py) and by protobuf."""
import io
import math
import os
import pathlib
import random
import shutil
import struct

import numpy
import pytest
import tfrecords as tf
import training
from PIL import Image

import sluice


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(folder / "made"))
    return folder / "made"


def jpeg(number=0, size=(20, 16)):
    made = io.BytesIO()
    Image.new("RGB", size, (number * 9 % 256, 80, 160)).save(made, "JPEG")
    return made.getvalue()


def plain(value):
    """Returns the value as the writer received it: a tensor as a list."""
    return value.tolist() if isinstance(value, memoryview) else value


def check(source, samples, names=None, **options):
    """Checks that the dataset holds the samples, with and without a cached index. `names`: of fields, by key."""
    for _ in range(2):
        data = sluice.Dataset(source, **options)
        assert data.format == "tfrecord" and len(data) == len(samples)
        for found, wanted in zip(data, samples):
            wanted = {(names or {}).get(key, key): value for key, value in wanted.items() if value is not None}
            for name in data.fields:
                assert (plain(found[name]) or None) == (wanted.get(name) or None), name  # empty and missing are the same
    return data


def imagenet(count=6, first=0):
    """The keys of TF-Slim's ImageNet."""
    for number in range(first, first + count):
        boxes = number % 3
        yield {
            "image/encoded": jpeg(number), "image/height": 16, "image/width": 20, "image/class/label": number % 1000 + 1,
            "image/class/synset": "n01440764", "image/class/text": "tench, Tinca «tinca»", "image/filename": f"{number}.JPEG",
            "image/format": "JPEG", "image/object/bbox/xmin": [0.25 * box for box in range(boxes)],
            "image/object/bbox/label": [number] * boxes, "weight": number / 2, "embedding": b"\0\xff\1" * 3,
        }  # fmt: skip


NAMES = {"image/encoded": "image", "image/class/label": "label"}


def test_imagenet(tmp_path):
    samples = list(imagenet())
    path = tf.write(tmp_path / "train-00000-of-00001", samples)
    data = check(path, samples, NAMES)
    assert list(data.fields)[:2] == ["image", "label"] and list(data.fields)[2:] == sorted(list(data.fields)[2:])
    kinds = {name: (field.type, field.dtype, field.shape) for name, field in data.fields.items() if field.type != "text"}
    assert kinds == {
        "image": ("image", "uint8", (0, 0, 3)), "label": ("int", "int64", ()), "embedding": ("bytes", "uint8", (0,)),
        "image/height": ("int", "int64", ()), "image/width": ("int", "int64", ()), "weight": ("float", "float64", ()),
        "image/object/bbox/xmin": ("tensor", "float32", (0,)), "image/object/bbox/label": ("tensor", "int64", (0,)),
    }  # fmt: skip
    assert data.decode(2).shape == (16, 20, 3) and data.sample(1)["label"] == 2
    columns = {"image/width": sluice.columns.Number(), "boxes": sluice.columns.Ragged("image/object/bbox/label", length=9, missing="blank")}
    (batch,) = sluice.Loader(data, batch_size=6, columns=columns)
    assert batch["image/width"].numpy().tolist() == [20] * 6 and batch["boxes"].numpy().tolist() == [1, 2, 2, 4, 5, 5]


def test_numbers(tmp_path):
    integers = [0, 1, -1, 127, 128, 300, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**56, 5]
    floats = [0.0, -0.0, 1.5, -2.25, 3.0e38, 1e-45, math.inf, -math.inf]
    samples = [
        {"one": value, "list": integers[:number], "single": tf.Unpacked(integers[: number + 1]), "f": [*floats, 1.0][:number],
         "g": tf.Unpacked([*floats, 1.0][: number + 1]), "x": floats[number % 8], "many": integers * (20 * number)}
        for number, value in enumerate(integers)
    ]  # fmt: skip
    samples = [{key: value for key, value in sample.items() if value != []} for sample in samples]
    path = tf.write(tmp_path / "a.tfrecord", samples)

    def as_floats(values):
        return [struct.unpack("<f", struct.pack("<f", value))[0] for value in values]

    for sample in samples:
        for key in ("f", "g"):
            if key in sample:
                sample[key] = as_floats(sample[key])
        sample["x"] = as_floats([sample["x"]])[0]
    check(path, samples)
    loader = sluice.Loader(path, batch_size=12, columns={"many": sluice.columns.Ragged(length=3000, missing="blank")})
    (batch,) = loader
    assert batch["many"].numpy().tolist() == [value for sample in samples for value in sample.get("many", [])]


def test_by_protobuf(tmp_path):
    """Written by another implementation: maps in any order, its own choices of encoding."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2", reason="there is no protobuf for Python here")
    from google.protobuf import descriptor_pool, message_factory

    F = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for number, (field, kind, label, of) in enumerate(fields, 1):
            made.field.add(name=field, number=number, type=kind, label=label, type_name=of)
        return made

    message("BytesList", ("value", F.TYPE_BYTES, F.LABEL_REPEATED, None))
    message("FloatList", ("value", F.TYPE_FLOAT, F.LABEL_REPEATED, None))
    message("Int64List", ("value", F.TYPE_INT64, F.LABEL_REPEATED, None))
    one = F.LABEL_OPTIONAL
    feature = message("Feature", ("bytes_list", F.TYPE_MESSAGE, one, ".t.BytesList"), ("float_list", F.TYPE_MESSAGE, one, ".t.FloatList"),
                      ("int64_list", F.TYPE_MESSAGE, one, ".t.Int64List"))  # fmt: skip
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = message("Features", ("feature", F.TYPE_MESSAGE, F.LABEL_REPEATED, ".t.Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=one)
    entry.field.add(name="value", number=2, type=F.TYPE_MESSAGE, label=one, type_name=".t.Feature")
    message("Example", ("features", F.TYPE_MESSAGE, one, ".t.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("t.Example")
    Example = message_factory.MessageFactory(pool).GetPrototype(descriptor)

    chance = random.Random(5)
    samples, records = [], []
    for number in range(40):
        example, sample = Example(), {}
        example.features.feature["picture"].bytes_list.value.append(jpeg(number))
        example.features.feature["caption"].bytes_list.value.append(f"«{number}»".encode())
        example.features.feature["label"].int64_list.value.append(number - 20)
        sample |= {"picture": jpeg(number), "caption": f"«{number}»", "label": number - 20}
        for key in chance.sample([f"k{i}" for i in range(12)], 6):
            values = [chance.randrange(-(2**63), 2**63) >> chance.randrange(64) for _ in range(chance.randrange(2, 40))]
            example.features.feature[key].int64_list.value.extend(values)
            sample[key] = values
        numbers = [float(chance.randrange(-99, 99)) / 8 for _ in range(chance.randrange(2, 30))]
        example.features.feature["vector"].float_list.value.extend(numbers)
        sample["vector"] = numbers
        samples.append(sample)
        records.append(example.SerializeToString())
        copy = Example.FromString(tf.example({"caption": "ä", "n": [1, 2**40], "f": tf.Unpacked([0.5])}))
        assert list(copy.features.feature["n"].int64_list.value) == [1, 2**40]  # the tests' writer is right, too
    check(tf.write(tmp_path / "a.tfrecord", records), samples)


def test_what_protobuf_allows(tmp_path):
    """Unknown fields, duplicate keys, entries in any order, features in two pieces."""
    unknown = b"\x78\x05" + b"\x7d1234" + b"\x7912345678" + tf.field(15, b"x")
    entries = [
        tf.field(1, tf.field(1, b"label") + tf.field(2, tf.feature(1))),
        unknown,
        tf.field(1, unknown + tf.field(2, unknown + tf.feature(2) + unknown) + tf.field(1, b"label")),
        tf.field(1, tf.field(1, b"empty")),
        tf.field(1, tf.field(1, b"none") + tf.field(2, b"")),
    ]
    message = unknown + tf.field(1, b"".join(entries)) + tf.field(1, tf.features({"text": "later"})) + unknown
    path = tf.write(tmp_path / "a.tfrecord", [message, message])
    data = check(path, [{"label": 2, "text": "later"}] * 2)
    assert list(data.fields) == ["label", "text"]


def test_fields_that_are_not_in_all(tmp_path):
    samples = [{"a": number, "b": "text" if number % 2 else None, "text": f"{number}"} for number in range(5)]
    records = [{key: value for key, value in sample.items() if value is not None} for sample in samples]
    data = check(tf.write(tmp_path / "a.tfrecord", records), [dict(sample, b=sample["b"] and b"text") for sample in samples])
    assert data.fields["b"].type == "bytes" and data.fields["text"].type == "text"


def test_names(tmp_path):
    long = "a/very/long/key/of/somebody/" + "x" * 20
    sample = {long: 1, "image": jpeg(), "image/encoded": jpeg(1), "label": 3, "image/class/label": 4, "y" * 40: 2, "words": ["a", "b"]}
    data = sluice.Dataset(tf.write(tmp_path / "a.tfrecord", [sample] * 2))
    assert set(data.fields) == {"image", "image/encoded", "label", "image/class/label", "somebody/" + "x" * 20, "y" * 31}
    tf.write(tmp_path / "b.tfrecord", [{"a/" + "y" * 40: 1, "b/" + "y" * 40: 2}])
    with pytest.raises(sluice.UnsupportedError, match="two keys.*fields="):
        sluice.Dataset(tmp_path / "b.tfrecord")
    assert sluice.Dataset(tmp_path / "b.tfrecord", fields={"y": "b/" + "y" * 40})[0]["y"] == 2
    tf.write(tmp_path / "c.tfrecord", [{f"k{number}": number for number in range(65)}])
    with pytest.raises(sluice.UnsupportedError, match="more than 64 keys"):
        sluice.Dataset(tmp_path / "c.tfrecord")
    assert sluice.Dataset(tmp_path / "c.tfrecord", fields={"a": "k64"})[0]["a"] == 64


def test_fields_that_are_chosen(tmp_path):
    samples = [
        {"image/encoded": jpeg(i), "label": i, "box": [0.5, 1.0, 2.0, float(i)] * (i % 3), "raw": bytes(range(12)), "ids": list(range(i)),
         "time:int": 5}
        for i in range(6)
    ]  # fmt: skip
    path = tf.write(tmp_path / "a.tfrecord", samples)
    fields = {"x": "label", "pixels": ("raw", "u8[2,2,3]"), "raw": "raw:bytes", "boxes": "box:f32[0,4]", "ids": ("ids", "i64[]"),
              "t": "time:int:int", "half": "raw:u16[6]"}  # fmt: skip
    data = sluice.Dataset(path, fields=fields)
    assert list(data.fields) == list(fields)
    assert data.fields["pixels"].shape == (2, 2, 3) and data.fields["boxes"].shape == (0, 4)
    sample = data[5]
    assert sample["x"] == 5 and sample["t"] == 5 and sample["raw"] == bytes(range(12))
    assert sample["pixels"].tolist() == numpy.arange(12).reshape(2, 2, 3).tolist() and sample["half"].shape == (6,)
    assert sample["boxes"].tolist() == [[0.5, 1.0, 2.0, 5.0]] * 2 and sample["ids"].tolist() == [0, 1, 2, 3, 4]
    loader = sluice.Loader(data, batch_size=6, columns={"pixels": sluice.columns.Tensor(), "x": sluice.columns.Number()})
    (batch,) = loader
    assert batch["pixels"].numpy().shape == (6, 2, 2, 3) and batch["x"].numpy().tolist() == list(range(6))
    with pytest.raises(sluice.InvalidError, match="NAME=KEY"):
        sluice.Dataset(path, fields={"n" * 32: "label"})
    wrong = {"label:f32[]": "dtype must be i64", "box:i64[]": "dtype must be f32", "box:int": "does not contain integers", "label:float": "does not contain floats",
             "box:text": "numbers", "none": "read at opening has that key", "label:f32[": "DTYPE", "label:x9[3]": "DTYPE",
             "raw:u8[4,0]": "DTYPE", "": "1 to 255"}  # fmt: skip
    for key, words in wrong.items():
        with pytest.raises(sluice.InvalidError, match=words):
            sluice.Dataset(path, fields={"a": key})
    fixed = sluice.Dataset(path, fields={"ids": "ids:i64[3]"})
    assert fixed[3]["ids"].tolist() == [0, 1, 2]
    with pytest.raises(sluice.CorruptError, match='field "ids": the number of its values does not match'):
        fixed[4]
    (tmp_path / "photos" / "a").mkdir(parents=True)
    (tmp_path / "photos" / "a" / "0.jpg").write_bytes(jpeg())
    with pytest.raises(sluice.InvalidError, match="cannot choose fields"):
        sluice.Dataset(tmp_path / "photos", fields={"x": "label"})


def test_many_files(tmp_path, cache):
    samples = []
    for number in range(5):
        part = list(imagenet(4, number * 4))
        tf.write(tmp_path / f"train-{number:05}-of-00006", part)
        samples += part
    (tmp_path / "train-00005-of-00006").write_bytes(b"")
    (tmp_path / "readme.txt").write_text("no record")
    samples = [{key: value for key, value in sample.items() if value != []} for sample in samples]
    paths = sorted(tmp_path.glob("train*"))
    for given in (tmp_path, str(tmp_path) + "/train-{00000..00005}-of-00006", paths, [str(tmp_path) + "/train-{00000..00002}-of-00006", *paths[3:]]):
        check(given, samples, NAMES)
    assert len(list(cache.iterdir())) == 6
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset(str(tmp_path) + "/train-{00004..00006}-of-00006")
    assert caught.value.file.endswith("train-00006-of-00006")


def test_training(tmp_path):
    photos = training.make_photos(tmp_path)
    for shard in range(3):
        samples = [{"image/encoded": path.read_bytes(), "label": shard} for path in photos[8 * shard : 8 * shard + 8]]
        tf.write(tmp_path / f"{shard}.tfrecord", samples)
    training.check(str(tmp_path / "{0..2}.tfrecord"), tmp_path)


def test_packing_whatever_there_is(tmp_path):
    samples = [{key: value for key, value in sample.items() if value != []} for sample in imagenet(9)]
    path = tf.write(tmp_path / "a.tfrecord", samples)
    assert sluice.Dataset(path).verify(decode=True, progress=None)[2] == []
    sluice.pack(path, tmp_path / "packed", keep_order=True, keep_bytes=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert packed.verify(decode=True, progress=None)[2] == []
    for before, after in zip(sluice.Dataset(path), packed):
        assert {name: plain(value) for name, value in before.items()} == {name: plain(value) for name, value in after.items()}


# ---- errors ----


def test_cut_short_anywhere(tmp_path):
    path = tf.write(tmp_path / "a.tfrecord", [{"label": number, "text": "t" * 20} for number in range(3)])
    whole = path.read_bytes()
    ends = {len(whole) // 3 * number for number in range(4)}
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size == 0:
            with pytest.raises(sluice.InvalidError, match="empty"):
                sluice.Dataset(path)
        elif size in ends:
            assert len(sluice.Dataset(path)) == size // (len(whole) // 3)  # nothing in a TFRecord marks its end
        else:
            with pytest.raises(sluice.CorruptError, match="truncated") as caught:
                sluice.Dataset(path)
            assert caught.value.file == str(path) and 0 <= caught.value.offset <= size


def test_damaged_bytes(tmp_path):
    path = tf.write(tmp_path / "a.tfrecord", [{"label": number, "text": "t" * 20} for number in range(5)])
    whole = path.read_bytes()
    size = len(whole) // 5
    for at in range(2 * size, 3 * size):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :])
        if at < 2 * size + 12:
            with pytest.raises(sluice.CorruptError, match="checksum of a record's length") as caught:
                sluice.Dataset(path)
            assert caught.value.file == str(path) and caught.value.offset == 2 * size
            continue
        data = sluice.Dataset(path)
        with pytest.raises(sluice.CorruptError, match="checksum of the record's bytes") as caught:
            data[2]
        assert caught.value.sample == 2 and caught.value.offset == 2 * size + 12
        assert data[1]["label"] == 1 and data[3]["label"] == 3


def head(length):
    return struct.pack("<Q", length) + tf.masked(struct.pack("<Q", length))


@pytest.mark.parametrize(
    "data, kind, words",
    [
        (b"x" * 100, sluice.CorruptError, "does not begin"),
        (bytes(100), sluice.CorruptError, "all zero bytes"),
        (b"x" * 11, sluice.CorruptError, "truncated"),
        (head(2**63) + bytes(100), sluice.CorruptError, "longer than the rest of the file"),
        (head(2**64 - 1) + bytes(100), sluice.CorruptError, "longer than the rest of the file"),
        (head(2**64 - 16) + bytes(100), sluice.CorruptError, "longer than the rest of the file"),
        (head(85) + bytes(88), sluice.CorruptError, "longer than the rest of the file"),
        (b"\x1f\x8b\x08" + bytes(100), sluice.UnsupportedError, "gzip.*unpack it|gzip.*gunzip"),
        (b"\x78\x9c" + bytes(100), sluice.UnsupportedError, "zlib"),
        (b"\x78\x01" + bytes(100), sluice.UnsupportedError, "zlib"),
        (tf.record(b""), sluice.UnsupportedError, "messages other than"),
        (tf.record(b"\x08\x01"), sluice.CorruptError, "not a valid tf.train.Example"),
        (tf.record(b"no protobuf at all"), sluice.CorruptError, "not a valid tf.train.Example"),
        (tf.record(tf.field(2, b"abc")), sluice.CorruptError, "not a valid tf.train.Example"),
        (tf.record(tf.field(1, b"\x0b\x0c")), sluice.CorruptError, "not a valid tf.train.Example"),
        (tf.record(tf.example({"a": None, "words": ["a", "b"]})), sluice.UnsupportedError, "messages other than"),
        (tf.record(tf.example({"a": 1})) + tf.record(tf.example({"a": 1.0})), sluice.UnsupportedError, "several kinds"),
    ],
)
def test_files_that_are_none(tmp_path, data, kind, words):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(data)
    with pytest.raises(kind, match=words) as caught:
        sluice.Dataset(path)
    assert caught.value.file == str(path)


def test_samples_that_are_bad_alone(tmp_path):
    good = {"label": 1, "text": "a", "list": [1, 2]}
    entry = tf.field(1, b"label")
    bad = [
        (b"", None), (b"\xff" * 20, "not a valid tf.train.Example"), (tf.example(good)[:-3], "not a valid tf.train.Example"),
        (tf.example({"label": [1, 2]}), '"label": it has several values'), (tf.example({"text": ["a", "b"]}), '"text": it has several'),
        (tf.example({"label": "1"}), '"label": its values have a different type'), (tf.example({"list": 0.5}), '"list": its values have a different type'),
        (tf.field(1, tf.field(1, entry + tf.field(2, tf.feature(1) + tf.feature(2)))), "two lists"),
        (tf.field(1, tf.field(1, entry + tf.field(2, tf.field(3, b"\x0a\x02\x01")))), '"label": its list of values is damaged'),
        (tf.field(1, tf.field(1, entry + tf.field(2, tf.field(3, tf.field(1, b"\xff" * 10 + b"\1"))))), "damaged"),
        (tf.field(1, tf.field(1, entry + tf.field(2, b"\x18\x01"))), "not a valid tf.train.Example"),
        (tf.field(1, tf.field(1, entry + b"\x10\x01")), "not a valid tf.train.Example"),
        (tf.field(1, b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "not a valid tf.train.Example"),
    ]  # fmt: skip
    records = [good] * 200
    places = {3 + 7 * number: message for number, (message, _) in enumerate(bad)}
    records = [places.get(number, record) for number, record in enumerate(records)]
    paths = tf.write(tmp_path / "a.tfrecord", records)
    fields = {"label": "label:int", "text": "text:text", "list": "list:i64[]"}
    data = sluice.Dataset(paths, fields=fields)
    for number, (_, words) in enumerate(bad):
        if words is None:
            assert data[3]["label"] is None and len(data[3]["list"]) == 0  # an empty Example
            continue
        with pytest.raises(sluice.CorruptError, match=words) as caught:
            data[3 + 7 * number]
        assert caught.value.sample == 3 + 7 * number and caught.value.offset >= data.sample(0)["bytes"]
    loader = sluice.Loader(data, batch_size=200, on_bad_sample="mask", columns={"label": sluice.columns.Number()})
    (batch,) = loader
    wanted = [0 if number in places else 1 for number in range(200)]
    assert batch["mask"].numpy().tolist() == wanted


def test_files_that_change(tmp_path):
    path = tf.write(tmp_path / "a.tfrecord", [{"label": number, "text": "aaaa"} for number in range(4)])
    data = sluice.Dataset(path)
    size = path.stat().st_size
    before = data.fingerprint
    tf.write(path, [{"label": 10 + number, "text": "bbbb"} for number in range(4)])
    assert path.stat().st_size == size and sluice.Dataset(path)[1]["label"] == 11  # another modification time
    assert data[1]["text"] == "bbbb"  # every record has its checksum
    tf.write(path, [{"label": 1, "text": "a" * 7}, {"label": 1, "text": "a"}, *[{"label": 5, "text": "aaaa"}] * 2])
    assert path.stat().st_size == size
    for number in (0, 1):
        with pytest.raises(sluice.CorruptError, match="file was modified|checksum"):
            data[number]
    assert sluice.Dataset(path).fingerprint != before
    os.truncate(path, size - 10)
    for look in (lambda: data[3], lambda: sluice.Dataset(path)):
        with pytest.raises(sluice.CorruptError):
            look()
    path.unlink()
    with pytest.raises(sluice.IOError):
        sluice.Dataset(path)


def test_indexes_that_are_kept(tmp_path, cache):
    path = tf.write(tmp_path / "a.tfrecord", [{"label": number} for number in range(4)])
    assert len(sluice.Dataset(path)) == 4
    (index,) = cache.iterdir()
    good = index.read_bytes()
    for wrong in (b"", good[:40], good[:-1], good + b"x", bytes(len(good)), good[:44] + b"\0" + good[45:]):
        index.write_bytes(wrong)
        assert [sample["label"] for sample in sluice.Dataset(path)] == [0, 1, 2, 3]
        assert index.read_bytes() == good  # rebuilt
    index.unlink()
    pathlib.Path(str(path) + ".sluice-index").write_bytes(good)
    assert len(sluice.Dataset(path)) == 4 and not list(cache.iterdir())


@pytest.mark.parametrize("place", ["a.tfrecord.idx", "a.idx", "idx/a.tfrecord.idx", "idx_files/a.idx"])
def test_indexes_of_dali(tmp_path, cache, place):
    samples = [{"label": number, "text": "t" * number} for number in range(9)]
    path = tf.write(tmp_path / "a.tfrecord", samples)
    at, lines = 0, []
    for sample in samples:
        size = len(tf.record(tf.example(sample)))
        lines.append(f"{at} {size}\n")
        at += size
    index = tmp_path / place
    index.parent.mkdir(exist_ok=True)
    good = "".join(lines)
    index.write_text(good)
    check(path, samples)
    check(tmp_path, samples)
    assert not cache.exists()  # nothing had to be walked
    wrong = ["", "".join(lines[:-1]), "".join(lines[1:]), good.replace(" ", " x"), good + lines[-1], lines[0] + good, "0 99999999999\n", f"0 {at}\n",
             good.replace("\n", " 1\n"), "0 15\n", f"0 {at - 20}\n{at - 20} 20\n"]  # fmt: skip
    for text in wrong:
        index.write_text(text)
        check(path, samples)
        assert cache.exists(), text  # walked
        shutil.rmtree(cache)
    index.write_text(good)
    os.utime(index, (1, 1))  # older than the records
    check(path, samples)
    assert cache.exists()


def test_folders_that_are_ambiguous(tmp_path):
    tf.write(tmp_path / "a.tfrecord", [{"label": 1}])
    (tmp_path / "n0001").mkdir()
    with pytest.raises(sluice.InvalidError, match='folder "n0001": name the files'):
        sluice.Dataset(tmp_path)
    assert len(sluice.Dataset(tmp_path / "a.tfrecord")) == 1
    (tmp_path / "n0001").rmdir()
    (tmp_path / "a.tar").write_bytes(bytes(10240))
    with pytest.raises(sluice.InvalidError, match='format "tar" and one of "tfrecord"'):
        sluice.Dataset(tmp_path)
    (tmp_path / "a.tar").unlink()
    (tmp_path / "b.tfrecord.gz").write_bytes(b"\x1f\x8b" + bytes(2000))
    with pytest.raises(sluice.UnsupportedError, match="gzip") as caught:
        sluice.Dataset(tmp_path)
    assert caught.value.file.endswith("b.tfrecord.gz")


def test_other_names(tmp_path):
    for name in ("no-suffix", "a.tfrecords", "a.tfrec", "a.tfrecord-00000-of-01024", "validation-00001-of-00128"):
        assert sluice.Dataset(tf.write(tmp_path / name, [{"label": 1}])).format == "tfrecord"
    for name in ("x-0-of-1", "-of-01024", "00000-of-01024", "x-00000-of-01024.txt"):
        (tmp_path / name).write_bytes(b"no record at all")
        with pytest.raises(sluice.InvalidError, match="TFRecords"):
            sluice.Dataset(tmp_path / name)

# SPDX-License-Identifier: Apache-2.0
"""MDS shards, written by the tests' own writer (mds_files.py)."""
import io
import json
import shutil
import struct
import subprocess

import mds_files as mds
import numpy
import pytest
import training
from PIL import Image

import sluice

CORRUPT, INVALID, UNSUPPORTED = sluice.CorruptError, sluice.InvalidError, sluice.UnsupportedError


def encoded(number=0, kind="JPEG", size=(20, 16)):
    made = io.BytesIO()
    pixels = numpy.random.default_rng(number).integers(0, 255, (4, 5, 3), dtype=numpy.uint8)
    Image.fromarray(pixels).resize((size[0] + number % 7, size[1])).save(made, kind)
    return made.getvalue()


def plain(value):
    """Returns the value as the writer received it."""
    return numpy.asarray(value) if isinstance(value, memoryview) else value


COLUMNS = {
    "picture": "jpeg", "png": "png", "class": "int", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16", "f32": "float32", "f64": "float64",
    "blob": "bytes", "text": "str", "digits": "str_int", "decimal": "str_decimal", "point": "str_float", "tree": "json",
    "fixed": "ndarray:float32:2,3", "open": "ndarray:int16", "any": "ndarray", "other": "ndarray:",
}  # fmt: skip


def sample_of(number):
    sign = (-1) ** number
    return {
        "picture": encoded(number), "png": encoded(number, "PNG"), "class": sign * number, "u8": 255 - number,
        "u16": 2**16 - 1 - number,
        "u32": 2**32 - 1 - number, "u64": 2**63 - 1 - number, "i8": -128 + number, "i16": -(2**15) + number,
        "i32": -(2**31) + number,
        "i64": -(2**63) + number, "f16": sign * number / 8, "f32": number / 16, "f64": number / 10,
        "blob": bytes(range(number)),
        "text": "«ä» " * (number % 3), "digits": 10**number, "decimal": number, "point": number / 2,
        "tree": {"n": [number, None]},
        "fixed": numpy.full((2, 3), number, "f4"), "open": numpy.arange(2 * (number + 1), dtype="i2").reshape(2, -1),
        "any": numpy.full((number * 20 + 1,), number, "f8"), "other": numpy.full((1, 300, number + 1), number, "u1"),
    }  # fmt: skip


def check(data, samples, columns):
    assert data.format == "mds" and len(data) == len(samples)
    names = {"picture": "image" if "png" not in columns else "picture", "class": "label"}
    for found, wanted in zip(data, samples):
        assert set(found) == {names.get(name, name) for name in columns}
        for name, encoding in columns.items():
            value, given = plain(found[names.get(name, name)]), wanted[name]
            if encoding.startswith("ndarray"):
                several = data.fields[name].shape.count(0) > 1  # flat in that case
                assert value.dtype == given.dtype and value.shape == ((given.size,) if several else given.shape), name
                assert (value.ravel() == given.ravel()).all(), name
            elif encoding in ("json", "str_int", "str_float", "str_decimal"):
                assert value == (json.dumps(given) if encoding == "json" else str(given)), name
            else:
                assert (value or None) == (given or None), name


def raw_of(folder, number=0):
    return folder / f"shard.{number:05}.mds"


def change(folder, edit):
    """Writes another index.json."""
    index = json.loads((folder / "index.json").read_text())
    index = edit(index) or index
    (folder / "index.json").write_text(json.dumps(index))


def test_every_encoding(tmp_path):
    samples = [sample_of(number) for number in range(17)]
    mds.write(tmp_path, COLUMNS, samples, samples_per_shard=5, hashes=["sha1"])
    for path in (tmp_path, tmp_path / "index.json"):
        check(sluice.Dataset(path), samples, COLUMNS)
    data = sluice.Dataset(tmp_path)
    tensors = [field for field in data.fields.values() if field.type == "tensor"]
    kinds = {field.name: (field.type, field.dtype, field.shape) for field in tensors}
    assert kinds == {
        "fixed": ("tensor", "float32", (2, 3)), "open": ("tensor", "int16", (0, 0)), "any": ("tensor", "float64", (0,)),
        "other": ("tensor", "uint8", (0, 0, 0)),
    }  # fmt: skip
    assert {data.fields[name].type for name in ("text", "digits", "decimal", "point", "tree")} == {"text"}
    assert [data.fields[name].type for name in ("u64", "f16", "blob")] == ["int", "float", "bytes"]
    assert data.verify(decode=True, progress=None)[2] == []
    sluice.pack(data, tmp_path / "packed", keep_order=True, keep_bytes=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert packed.verify(decode=True, progress=None)[2] == []
    for before, after in zip(data, packed):
        assert [(name, str(plain(value))) for name, value in before.items()] == [
            (name, str(plain(value))) for name, value in after.items()
        ]


def test_arrays_of_several_shapes(tmp_path):
    arrays = [numpy.arange(2 * n + 2, dtype="f4").reshape(2, -1) + n for n in (2, 2, 1, 3)]
    mds.write(tmp_path, {"x": "ndarray:float32"}, [{"x": array} for array in arrays])
    loader = sluice.Loader(tmp_path, batch_size=4, on_bad_sample="mask",
        columns={"x": sluice.columns.Tensor(shape=(2, 3))})
    (batch,) = loader
    assert batch["mask"].numpy().tolist() == [1, 1, 0, 0]
    assert (batch["x"].numpy()[:2] == numpy.stack(arrays[:2])).all()


def test_raw_pictures(tmp_path):
    pixels = [numpy.random.default_rng(n).integers(0, 255, (3 + n, 5, 3), dtype=numpy.uint8) for n in range(4)]
    mds.write(tmp_path, {"a": "pil", "n": "int"}, [{"a": value, "n": number} for number, value in enumerate(pixels)])
    data = sluice.Dataset(tmp_path)
    assert list(data.fields) == ["image", "n"]
    for number, wanted in enumerate(pixels):
        assert (numpy.asarray(data.decode(number)) == wanted).all()
    stored = sluice.Dataset(tmp_path, fields={"a": ("a", "bytes")})[1]["a"]
    assert stored == struct.pack("<III", 5, 4, 3) + b"RGB" + pixels[1].tobytes()  # as stored


def test_training(tmp_path):
    samples = [{"image": path.read_bytes(), "label": i // 8} for i, path in enumerate(training.make_photos(tmp_path))]
    mds.write(tmp_path / "mds", {"image": "jpeg", "label": "int"}, samples, samples_per_shard=7)
    training.check(tmp_path / "mds", tmp_path)


def test_each_sample_once(tmp_path):
    mds.write(tmp_path, {"n": "int32", "t": "str"}, [{"n": n, "t": "x" * n} for n in range(100)], samples_per_shard=9)
    loader = sluice.Loader(tmp_path, batch_size=7, shuffle=True, columns={"n": sluice.columns.Number()})
    assert sorted(n for batch in loader for n in batch["n"].numpy().tolist()) == list(range(100))


def test_several_folders(tmp_path):
    for part in range(3):
        mds.write(tmp_path / f"p{part}", {"n": "int"}, [{"n": 10 * part + n} for n in range(4)], samples_per_shard=3)
    joined = sluice.Dataset([tmp_path / "p2", tmp_path / "p0" / "index.json"])
    assert [sample["n"] for sample in joined] == [20, 21, 22, 23, 0, 1, 2, 3]
    assert len(sluice.Dataset(str(tmp_path / "p{0..2}"))) == 12
    with pytest.raises(INVALID, match='has no index.json, but its folder "p[0-2]" has one: name the folders'):
        sluice.Dataset(tmp_path)
    mds.merge(tmp_path, [tmp_path / f"p{part}" for part in range(3)])
    merged = sluice.Dataset(tmp_path)
    assert [sample["n"] for sample in merged] == [10 * part + n for part in range(3) for n in range(4)]
    assert len({merged.fingerprint, joined.fingerprint, sluice.Dataset(tmp_path / "p0").fingerprint}) == 3
    mds.write(tmp_path / "p3", {"n": "int", "m": "int"}, [{"n": 1, "m": 1}])
    with pytest.raises(UNSUPPORTED, match="entry 0 of its list: its columns differ from those of the first"):
        sluice.Dataset([tmp_path / "p0", tmp_path / "p3"])


def test_empty_shards(tmp_path):
    index = mds.write(tmp_path, {"b": "bytes"}, [{"b": b"x" * 900}, {"b": b"y"}, {"b": b"z" * 900}], shard_bytes=800)
    assert 0 in [shard["samples"] for shard in index["shards"]]
    assert [sample["b"][:1] for sample in sluice.Dataset(tmp_path)] == [b"x", b"y", b"z"]
    change(tmp_path, lambda index: {"version": 2, "shards": []})
    with pytest.raises(INVALID, match="no samples"):
        sluice.Dataset(tmp_path)


def test_fields_that_are_chosen(tmp_path):
    tokens = numpy.arange(12, dtype="<i4")
    mds.write(tmp_path, {"tokens": "bytes", "obj": "pkl", "a": "int"},
        [{"tokens": tokens.tobytes(), "obj": {1}, "a": 5}])
    with pytest.raises(UNSUPPORTED, match='column "obj": pickled objects, which are never loaded'):
        sluice.Dataset(tmp_path)
    sample = sluice.Dataset(tmp_path, fields={"x": ("tokens", "i32[]"), "y": ("tokens", "i32[0,4]"), "z": "a"})[0]
    assert (plain(sample["x"]) == tokens).all() and sample["z"] == 5
    assert (plain(sample["y"]) == tokens.reshape(3, 4)).all()
    wrong = [({"x": "nothing"}, "no column has this name"), ({"x": ("a", "text")}, "the column has a different type"),
        ({"x": "obj"}, "never")]
    for fields, words in wrong:
        with pytest.raises(INVALID, match=words):
            sluice.Dataset(tmp_path, fields=fields)


LISTS = {"jpeg_array": [b"a"], "jpegarray": [b"a"], "list[jpeg]": [b"a", b"b"], "list[png]": [], "list[pil]": []}


@pytest.mark.parametrize("encoding, value", LISTS.items())
def test_lists_of_pictures(tmp_path, encoding, value):
    mds.write(tmp_path, {"a": encoding, "n": "int"}, [{"a": value, "n": 3}])
    with pytest.raises(UNSUPPORTED, match='column "a": lists of images'):
        sluice.Dataset(tmp_path)
    assert sluice.Dataset(tmp_path, fields={"n": "n"})[0] == {"n": 3}


@pytest.mark.parametrize("encoding", ["video", "jpeg:", "jpeg:x", "jpeg:90%", "jpeg:-1", "png:9"])
def test_encodings_that_are_not_known(tmp_path, encoding):
    mds.write(tmp_path, {"a": "bytes", "n": "int"}, [{"a": b"x", "n": 3}])
    change(tmp_path, lambda index: index["shards"][0].update(column_encodings=[encoding, "int"]))
    with pytest.raises(UNSUPPORTED, match='column "a": unknown encoding'):
        sluice.Dataset(tmp_path)
    assert sluice.Dataset(tmp_path, fields={"n": "n"})[0] == {"n": 3}


def test_pictures_that_say_their_quality(tmp_path):
    mds.write(tmp_path, {"a": "bytes", "n": "int"}, [{"a": encoded(n), "n": n} for n in range(5)])
    change(tmp_path, lambda index: index["shards"][0].update(column_encodings=["jpeg:90", "int"]))
    data = sluice.Dataset(tmp_path)
    assert data.fields["image"].type == "image" and [bytes(sample["image"]) for sample in data] == [encoded(n) for n in range(5)]


def test_fingerprints(tmp_path):
    def made(columns, *samples, **options):
        mds.write(tmp_path, columns, [dict(zip(columns, sample)) for sample in samples], **options)
        return sluice.Dataset(tmp_path).fingerprint

    found = [
        made({"a": "str", "n": "int32"}, ("a", 1), ("bcd", 2)), made({"a": "str", "n": "int32"}, ("abc", 1), ("d", 2)),
        made({"b": "str", "n": "int32"}, ("a", 1), ("bcd", 2)), made({"a": "str", "n": "uint32"}, ("a", 1), ("bcd", 2)),
        made({"a": "bytes", "n": "int32"}, (b"a", 1), (b"bcd", 2)),
        made({"a": "str", "n": "int32"}, ("a", 1), ("bcd", 2), hashes=["sha1"]),
        made({"a": "str", "n": "int32"}, ("a", 1), ("xyz", 2), hashes=["sha1"]),
    ]  # fmt: skip
    assert len(set(found)) == len(found) and made({"a": "str", "n": "int32"}, ("a", 1), ("bcd", 2)) == found[0]


def test_compressed_in_another_way(tmp_path):
    """Supported compressions: test_packed_shards.py."""
    mds.write(tmp_path, {"n": "int"}, [{"n": n} for n in range(9)], samples_per_shard=4, compression="bz2:1")
    with pytest.raises(UNSUPPORTED, match="compressed by an unsupported method.*bunzip2") as caught:
        sluice.Dataset(tmp_path)
    assert caught.value.file.startswith(str(raw_of(tmp_path)))
    if shutil.which("bunzip2") is None:
        pytest.skip("there is no program that unpacks it")
    line = str(caught.value).partition("as it is: ")[2]
    subprocess.run(line, shell=True, cwd=tmp_path, check=True, capture_output=True)
    assert [sample["n"] for sample in sluice.Dataset(tmp_path)] == list(range(9))


# ---- errors ----


def test_samples_that_are_bad_alone(tmp_path):
    columns = {"a": "ndarray", "b": "uint64", "c": "pil", "d": "ndarray:float32"}
    good = {"a": numpy.ones((2, 2), "i4"), "b": 7, "c": numpy.zeros((2, 3, 3), "u1"), "d": numpy.ones(3, "f4")}
    pixels = struct.pack("<III", 3, 2, 3) + b"RGB" + bytes(18)
    bad = [
        ({"a": numpy.ones((2, 2), "i8")}, '"a".*dtype or number of dimensions'), ({"a": numpy.ones(4, "i4")}, '"a".*dtype or number of dimensions'),
        ({"a": b""}, "truncated within its header"), ({"a": b"\x07\x04"}, "the dtype of its array is not supported"),
        ({"a": b"\x21\x08\x02"}, "truncated within its header"),
        ({"a": b"\x21\x28" + bytes(10)}, "more than 8 dimensions"),
        ({"a": b"\x21\x08\xff\xff" + bytes(16)}, "does not match the array's shape"),
        ({"a": b"\x21\x08\x02\x02" + bytes(15)}, "does not match the array's shape"),
        ({"a": b"\x21\x08\x02\x02" + bytes(17)}, "does not match"),
        ({"a": b"\x21\x0b" + b"\xff" * 16}, "does not match the array's shape"), ({"d": b"\x06\x03\0\0\0"}, "does not match the array's shape"),
        ({"b": 2**63}, '"b": its number is above'), ({"c": ("L", 3, 2, bytes(6))}, '"image".*mode of its image is not RGB'),
        ({"c": ("RGBA", 3, 2, bytes(24))}, "is not RGB"), ({"c": ("RGB", 3, 2, bytes(17))}, "width and height"),
        ({"c": ("RGB", 0, 0, b"")}, "width and height"), ({"c": ("RGB", 2**31, 2**31, b"")}, "width and height"),
        ({"c": pixels[:11]}, "truncated"), ({"c": pixels[:8] + b"\xff\xff\xff\xff" + pixels[12:]}, "truncated"),
    ]  # fmt: skip
    samples = [good] + [{**good, **change} for change, _ in bad]
    mds.write(tmp_path, columns, samples)
    data = sluice.Dataset(tmp_path)
    assert list(data.fields) == ["a", "b", "image", "d"]
    for number, (_, words) in enumerate(bad):
        with pytest.raises((CORRUPT, UNSUPPORTED), match=words) as caught:
            data[1 + number]
        assert caught.value.sample == 1 + number and caught.value.file == str(raw_of(tmp_path))
    loader = sluice.Loader(data, batch_size=len(samples), on_bad_sample="mask", columns={"b": sluice.columns.Number()})
    (batch,) = loader
    assert batch["mask"].numpy().tolist() == [1] + [0 if "b" in change else 1 for change, _ in bad]


def test_sizes_that_lie(tmp_path):
    """The sizes before the columns of a sample."""
    mds.write(tmp_path, {"a": "str", "b": "bytes", "n": "int"}, [{"a": "abc", "b": b"defg", "n": 5}] * 3)
    good = raw_of(tmp_path).read_bytes()
    (begin,) = struct.unpack_from("<I", good, 8)  # the second sample's
    for at, size in ((0, 4), (0, 2), (0, 2**32 - 1), (4, 3), (4, 5), (4, 2**32 - 4), (4, 2**31)):
        data = bytearray(good)
        struct.pack_into("<I", data, begin + at, size)
        raw_of(tmp_path).write_bytes(data)
        dataset = sluice.Dataset(tmp_path)
        assert dataset[0]["n"] == dataset[2]["n"] == 5
        with pytest.raises(CORRUPT, match="extends beyond|longer than") as caught:
            dataset[1]
        assert caught.value.sample == 1 and begin <= caught.value.offset < begin + 24
        checked = dataset.verify(progress=None)[2]
        assert [finding.sample for finding in checked] == [1]


def test_tables_that_lie(tmp_path):
    mds.write(tmp_path, {"a": "str"}, [{"a": "x" * n} for n in range(1, 6)])
    good = raw_of(tmp_path).read_bytes()
    table = list(struct.unpack_from("<7I", good))
    before, behind = "before the end", "beyond the end"
    wrong = [
        (0, 4, "has 4 samples, but its index says 5"), (0, 2**32 - 1, "samples, but its index says 5"), (1, 27, before), (1, 0, before),
        (3, table[2] - 1, before), (4, len(good) + 1, behind), (6, 2**32 - 1, behind), (2, 2**31, behind),
    ]  # fmt: skip
    for place, value, words in wrong:
        data = bytearray(good)
        struct.pack_into("<I", data, 4 * place, value)
        raw_of(tmp_path).write_bytes(data)
        with pytest.raises(CORRUPT, match=words) as caught:
            sluice.Dataset(tmp_path)
        assert caught.value.file == str(raw_of(tmp_path)) and caught.value.offset in (4 * place, 4 * place + 4)
    data = bytearray(good)
    struct.pack_into("<I", data, 12, table[2])  # the second sample has no bytes
    raw_of(tmp_path).write_bytes(data)
    with pytest.raises(CORRUPT, match="the sample is empty") as caught:
        sluice.Dataset(tmp_path)[1]
    assert caught.value.offset == 8
    loader = sluice.Loader(tmp_path, batch_size=5, on_bad_sample="mask",
        columns={"a": sluice.columns.Ragged(length=20)})
    assert next(iter(loader))["mask"].numpy().tolist() == [1, 0, 0, 1, 1]


def test_cut_short_anywhere(tmp_path):
    mds.write(tmp_path, {"a": "str"}, [{"a": "x" * n} for n in range(1, 6)])
    good = raw_of(tmp_path).read_bytes()
    for size in range(len(good)):
        raw_of(tmp_path).write_bytes(good[:size])
        with pytest.raises(CORRUPT, match=f"the file has {size} bytes, but its index says {len(good)}"):
            sluice.Dataset(tmp_path)
        if size > 300 and size % 10:
            continue
        change(tmp_path, lambda index, size=size: index["shards"][0]["raw_data"].update(bytes=size))
        with pytest.raises(CORRUPT, match="too short|too small|before the end|beyond the end"):
            sluice.Dataset(tmp_path)
        change(tmp_path, lambda index: index["shards"][0]["raw_data"].update(bytes=len(good)))
    raw_of(tmp_path).write_bytes(good)
    assert len(sluice.Dataset(tmp_path)) == 5
    data = sluice.Dataset(tmp_path)
    raw_of(tmp_path).write_bytes(good[:-1])
    with pytest.raises(CORRUPT):
        data[4]
    raw_of(tmp_path).unlink()
    with pytest.raises(sluice.IOError):
        sluice.Dataset(tmp_path)


def shard(index, **changes):
    index["shards"][0].update(changes)


@pytest.mark.parametrize(
    "edit, kind, words",
    [
        (lambda i: i.update(version=3), UNSUPPORTED, "unsupported version"),
        (lambda i: i.pop("version"), UNSUPPORTED, "unsupported version"),
        (lambda i: shard(i, version=1), UNSUPPORTED, "entry 0 of its list: unsupported version"),
        (lambda i: shard(i, format="json"), UNSUPPORTED, 'its format is not "mds"'),
        (lambda i: shard(i, format=None), UNSUPPORTED, 'its format is not "mds"'),
        (lambda i: i["shards"].append(7), UNSUPPORTED, 'entry 1 of its list: its format is not "mds"'),
        (lambda i: shard(i, samples=-1), CORRUPT, "its file is not named"),
        (lambda i: shard(i, samples="9"), CORRUPT, "its file is not named"),
        (lambda i: shard(i, samples=2**30), CORRUPT, "its number of samples in the index is out of range"),
        (lambda i: shard(i, samples=2**62), CORRUPT, "its number of samples in the index is out of range"),
        (lambda i: shard(i, samples=2**29), CORRUPT, "too small for the table"),
        (lambda i: shard(i, raw_data=None), CORRUPT, "its file is not named"),
        (lambda i: shard(i, raw_data={"basename": "../a", "bytes": 9}), INVALID,
            'file: "../a" is outside.*allow_outside'),
        (lambda i: shard(i, raw_data={"basename": "x/..", "bytes": 9}), sluice.IOError, "cannot open"),
        (lambda i: shard(i, raw_data={"basename": "/etc/passwd", "bytes": 9}), INVALID, '"/etc/passwd" is outside'),
        (lambda i: shard(i, raw_data={"basename": "", "bytes": 9}), CORRUPT, 'contains an empty file name'),
        (lambda i: shard(i, raw_data={"basename": "x" * 5000, "bytes": 9}), INVALID, "path is too long"),
        (lambda i: shard(i, column_names=[]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_names=["a", 5]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_names=["a"]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_sizes=[None, -8]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_sizes=[None, 2**40]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_sizes=[None, 0]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_sizes=[None, 8.0]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_sizes=[None, "8"]), CORRUPT, "its columns are missing or not valid"),
        (lambda i: shard(i, column_names=["a", "n" * 256]), UNSUPPORTED, "more than 255 bytes"),
        (lambda i: shard(i, column_names=["a", "a"]), UNSUPPORTED, "another column has the same field name"),
        (lambda i: shard(i, column_names=["a"] * 2000, column_encodings=["int"] * 2000, column_sizes=[8] * 2000),
            UNSUPPORTED, "more than 1024"),
        (lambda i: shard(i, column_encodings=["str", "ndarray:bool"]), UNSUPPORTED, "unknown encoding"),
        (lambda i: shard(i, column_encodings=["str", "ndarray:int8:"]), UNSUPPORTED, "arrays of an unsupported shape"),
        (lambda i: shard(i, column_encodings=["str", "ndarray:int8:0"]), UNSUPPORTED, "arrays of an unsupported shape"),
        (lambda i: shard(i, column_encodings=["str", "ndarray:int8:" + "9," * 8 + "9"]), UNSUPPORTED,
            "arrays of an unsupported shape"),
        (lambda i: shard(i, column_encodings=["str", "ndarray:int8:99999,99999"]), UNSUPPORTED,
            "arrays of an unsupported shape"),
        (lambda i: shard(i, column_encodings=["str", "ndarray::4"]), UNSUPPORTED, "unknown encoding"),
    ],
)  # fmt: skip
def test_indexes_that_are_none(tmp_path, edit, kind, words):
    mds.write(tmp_path, {"a": "str", "n": "int"}, [{"a": "x", "n": 5}])
    change(tmp_path, lambda index: edit(index) and None)
    with pytest.raises(kind, match=words):
        sluice.Dataset(tmp_path)


def test_columns_of_another_size(tmp_path):
    """Sizes come from the index, not from the encoding."""
    mds.write(tmp_path, {"a": "bytes", "n": "bytes"}, [{"a": b"12345678", "n": bytes([7]) + bytes(7)}] * 2)
    change(tmp_path, lambda index: shard(index, column_encodings=["bytes", "int"]))
    assert sluice.Dataset(tmp_path)[1]["n"] == 7  # each sample stores its size
    change(tmp_path, lambda index: shard(index, column_encodings=["bytes", "int32"]))
    with pytest.raises(CORRUPT, match="does not match the number's type"):
        sluice.Dataset(tmp_path)[1]
    change(tmp_path, lambda index: shard(index, column_sizes=[8, 8]))
    with pytest.raises(CORRUPT, match="longer than its columns"):
        sluice.Dataset(tmp_path)[1]


NONE = "unknown format|no dataset in it"


def test_what_is_in_an_index(tmp_path):
    path = tmp_path / "index.json"
    for text, kind, words in (("", INVALID, NONE), ('{"shards": [', CORRUPT, "not valid JSON, line 1"),
                              ('{"shards": {}}', INVALID, NONE), ("[1]", INVALID, NONE),
                              ('["shards":[', CORRUPT, "not valid JSON"),
                              ('{"a": {"shards": [1]}}', INVALID, 'has no list "shards"')):  # fmt: skip
        path.write_text(text)
        for source in (path, tmp_path):
            with pytest.raises(kind, match=words):
                sluice.Dataset(source)
    mds.write(tmp_path, {"n": "int"}, [{"n": 1}])
    path.write_text(" \n" + json.dumps(json.loads(path.read_text()), indent=4))
    assert len(sluice.Dataset(tmp_path)) == 1
    (tmp_path / "a.tar").write_bytes(bytes(10240))
    with pytest.raises(INVALID, match='format "tar" and one of "mds"'):
        sluice.Dataset(tmp_path)
    assert len(sluice.Dataset(path)) == 1


def test_pictures_beside_an_index(tmp_path, photos):
    """A folder of images keeps its meaning, regardless of other files in it."""
    shutil.copytree(photos, tmp_path / "photos")
    (tmp_path / "photos" / "index.json").write_text('{"pictures": []}')
    assert sluice.Dataset(tmp_path / "photos").format == "folder"

# SPDX-License-Identifier: Apache-2.0
"""FFCV's .beton files, written by the tests' own writer (betons.py)."""
import io
import itertools
import json
import math
import struct

import betons
import numpy
import pytest
from PIL import Image

import sluice
from sluice import transforms as T

PAGE = 1 << 14  # the real writer uses at least 2^21, which makes files large
ROW = {"float": "<f8", "int": "<i8", "rgb": [("m", "<u1"), ("w", "<u2"), ("h", "<u2"), ("p", "<u8")], "bytes": [("p", "<u8"), ("s", "<u8")],
       "json": [("p", "<u8"), ("s", "<u8")], "ndarray:int16:2,3": "<u8", "tensor:uint8:5": "<u8"}  # fmt: skip


def jpeg(number=0):
    made = io.BytesIO()
    noise = numpy.random.default_rng(number).integers(0, 255, (4, 5, 3), dtype=numpy.uint8)
    Image.fromarray(noise).resize((40 + number % 9, 32)).save(made, "JPEG")
    return made.getvalue()


def raw(number=0):
    return numpy.random.default_rng(number).integers(0, 255, (6 + number % 4, 5 + number % 3, 3), dtype=numpy.uint8)


MAKE = {
    "float": lambda i: [0.5 * i, -0.0, math.inf, 1e-300][i % 4], "int": lambda i: [i, -i, 2**63 - 1, -(2**63)][i % 4],
    "rgb": lambda i: jpeg(i) if i % 3 else raw(i), "bytes": lambda i: bytes(range(i % 40)), "json": lambda i: {"a": [i, None], "ä": "x" * (i % 9)},
    "ndarray:int16:2,3": lambda i: numpy.arange(6, dtype="i2").reshape(2, 3) - i, "tensor:uint8:5": lambda i: numpy.full(5, i % 256, "u1"),
}  # fmt: skip


def make(kinds, count, first=0):
    return [{name: MAKE[kind](i) for name, kind in kinds.items()} for i in range(first, first + count)]


def same(kind, found, value):
    if kind == "json":
        return json.loads(found) == value
    if kind == "rgb":
        return bytes(found) == (value if isinstance(value, bytes) else value.tobytes())
    if kind == "bytes":
        return bytes(found) == value
    if kind in ("float", "int"):
        return found == value
    return found.tolist() == value.tolist() and found.shape == value.shape


def check(source, kinds, samples, names=None, **options):
    data = sluice.Dataset(source, **options)
    assert data.format == "beton" and len(data) == len(samples)
    for found, wanted in zip(data, samples):
        for name, kind in kinds.items():
            assert same(kind, found[(names or {}).get(name, name)], wanted[name]), name
    return data


ALL = {"image": "rgb", "label": "int", "weight": "float", "raw": "bytes", "text": "json", "box": "ndarray:int16:2,3", "vector": "tensor:uint8:5"}


@pytest.mark.parametrize("workers", [1, 3])
def test_every_kind(tmp_path, workers):
    samples = make(ALL, 60)
    betons.write(tmp_path / "a.beton", ALL, samples, page_size=PAGE, workers=workers, chunk=7)
    data = check(tmp_path / "a.beton", ALL, samples)
    types = {name: (field.type, field.dtype, field.shape) for name, field in data.fields.items() if field.type == "tensor"}
    assert types == {"box": ("tensor", "int16", (2, 3)), "vector": ("tensor", "uint8", (5,))}
    for i, sample in enumerate(samples):
        picture = sample["image"]
        picture = picture if isinstance(picture, numpy.ndarray) else numpy.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
        assert (numpy.asarray(data.decode(i)) == picture).all()
    assert data.verify(decode=True, progress=None)[2] == [] and data.verify(progress=None)[2] == []


@pytest.mark.parametrize("length", [1, 2, 3])
def test_rows_as_numpy_lays_them_out(tmp_path, length):
    path = tmp_path / "a.beton"
    for kinds in list(itertools.product(ROW, repeat=length))[:: 5 if length == 3 else 1]:
        row = numpy.dtype([("", numpy.dtype(ROW[kind])) for kind in kinds], align=True)
        fields = {f"f{i}": kind for i, kind in enumerate(kinds)}
        assert betons.layout(kinds) == ([row.fields[name][1] for name in row.names], row.itemsize)
        samples = make(fields, 4)
        betons.write(path, fields, samples, page_size=1 << 13)
        names = {"f%d" % kinds.index("rgb"): "image"} if kinds.count("rgb") == 1 else {}
        check(path, fields, samples, names)


def test_numbers_alone(tmp_path):
    kinds = {"x": "float", "y": "int"}
    samples = make(kinds, 50)
    betons.write(tmp_path / "a.beton", kinds, samples)
    data = check(tmp_path / "a.beton", {"x": "float", "y": "int"}, samples, {"y": "label"})
    assert data.verify(decode=True, progress=None)[2] == []
    loader = sluice.Loader(data, batch_size=50, columns={"label": sluice.columns.Number(), "x": sluice.columns.Number(dtype="float64")})
    (batch,) = loader
    assert batch["label"].numpy().tolist() == [sample["y"] for sample in samples]
    assert batch["x"].numpy().tobytes() == numpy.array([sample["x"] for sample in samples]).tobytes()


def test_nothing_in_it(tmp_path):
    """Pointers of empty values may lead anywhere, also before the pages."""
    kinds = {"a": "bytes", "image": "rgb", "b": "bytes"}
    samples = [{"a": b"", "image": jpeg(i), "b": b"" if i % 2 else b"x"} for i in range(30)]
    rows = betons.write(tmp_path / "a.beton", kinds, samples, page_size=PAGE)
    check(tmp_path / "a.beton", kinds, samples)
    whole = (tmp_path / "a.beton").read_bytes()
    table = b"".join(struct.pack("<QQQ", *row) for row in reversed(rows))  # empty values come after the others
    (tmp_path / "a.beton").write_bytes(whole[: -len(table)] + table)
    check(tmp_path / "a.beton", kinds, samples)
    samples = [{"a": b"", "b": b"y" if i == 7 else b""} for i in range(30)]
    betons.write(tmp_path / "b.beton", {"a": "bytes", "b": "bytes"}, samples, page_size=PAGE)
    data = check(tmp_path / "b.beton", {"a": "bytes", "b": "bytes"}, samples)
    (batch,) = sluice.Loader(data, batch_size=30, columns={"b": sluice.columns.Ragged(length=4)})
    assert batch["b"].numpy().tobytes() == b"y"


def test_names(tmp_path):
    kinds = {"sixteen_letters_": "int", "covariate_longer_than_that": "rgb", "y z": "float"}
    samples = make(kinds, 3)
    betons.write(tmp_path / "a.beton", kinds, samples, page_size=PAGE)
    data = sluice.Dataset(tmp_path / "a.beton")
    assert list(data.fields) == ["sixteen_letters_", "image", "y_z"]
    same_names = {"a_name_of_sixteen": "int", "a_name_of_sixteex": "int"}
    betons.write(tmp_path / "b.beton", same_names, make(same_names, 2))
    with pytest.raises(sluice.UnsupportedError, match="same field name"):
        sluice.Dataset(tmp_path / "b.beton")


def test_fields_that_are_chosen(tmp_path):
    samples = make(ALL, 40)
    betons.write(tmp_path / "a.beton", ALL, samples, page_size=PAGE, workers=2, chunk=5)
    path = tmp_path / "a.beton"
    data = sluice.Dataset(path, fields={"v": "vector", "t": "text", "y": "label"})
    assert list(data.fields) == ["v", "t", "y"]
    for found, sample in zip(data, samples):
        assert found["y"] == sample["label"] and json.loads(found["t"]) == sample["text"] and found["v"].tolist() == sample["vector"].tolist()
    assert data.sample(1)["bytes"] < sluice.Dataset(path).sample(1)["bytes"]
    data = sluice.Dataset(path, fields={"one": "image", "two": "image", "text": "text:bytes"})
    assert all(sample["one"] == sample["two"] and bytes(sample["text"])[-1:] == b"}" for sample in data)
    photos = [{"a": jpeg(i)} for i in range(5)]
    betons.write(tmp_path / "b.beton", {"a": "bytes"}, photos, page_size=PAGE)
    data = sluice.Dataset(tmp_path / "b.beton", fields={"image": "a:image"})
    assert data.verify(decode=True, progress=None)[2] == [] and bytes(data[2]["image"]) == photos[2]["a"]
    for wrong in ({"x": "none"}, {"x": "label:float"}, {"x": "vector:text"}, {"v": "vector:bytes"}, {"x": "box:i16[6]"}):
        with pytest.raises(sluice.InvalidError):
            sluice.Dataset(path, fields=wrong)


def test_several_files_and_ranks(tmp_path):
    samples = []
    for number in range(3):
        part = make(ALL, 11, 11 * number)
        for i, sample in enumerate(part):
            sample["label"] = 11 * number + i
        betons.write(tmp_path / f"{number}.beton", ALL, part, page_size=PAGE << number)
        samples += part
    check(str(tmp_path / "{0..2}.beton"), ALL, samples)
    seen = []
    for rank in range(2):
        loader = sluice.Loader(str(tmp_path / "{0..2}.beton"), batch_size=4, shuffle=True, seed=1, rank=rank, world_size=2,
                               columns={"label": sluice.columns.Number()}, drop_last=False, num_workers=2)  # fmt: skip
        seen += [int(key) for batch in loader for key, mask in zip(batch["label"].numpy(), batch["mask"].numpy()) if mask]
    assert set(seen) == set(range(33)) and len(seen) <= 34
    other = {**ALL, "vector": "tensor:uint8:4"}
    betons.write(tmp_path / "3.beton", other, [{**samples[0], "vector": numpy.zeros(4, "u1")}], page_size=PAGE)
    with pytest.raises(sluice.InvalidError, match="its fields differ"):
        sluice.Dataset(str(tmp_path / "{2..3}.beton"))


def test_training(tmp_path):
    """Batches equal those of a folder with the same images, and those of a packed copy."""
    pictures = []
    for number in range(24):
        folder = tmp_path / "photos" / f"c{number // 8}"
        folder.mkdir(parents=True, exist_ok=True)
        pictures.append({"covariate": jpeg(number), "y": number // 8})
        (folder / f"{number:02}.jpg").write_bytes(pictures[-1]["covariate"])
    betons.write(tmp_path / "a.beton", {"covariate": "rgb", "y": "int"}, pictures, page_size=PAGE, workers=2, chunk=3)

    def batches(source):
        columns = {"image": sluice.columns.Image(transform=T.RandomResizedCrop(16)), "label": sluice.columns.Number()}
        made = sluice.Loader(source, batch_size=5, shuffle=True, seed=3, num_workers=2, columns=columns)
        return [[batch[name].numpy().tobytes() for name in ("image", "label")] for batch in made]

    whole = batches(tmp_path / "a.beton")
    assert whole == batches(tmp_path / "photos") and len(whole) == 5
    betons.write(tmp_path / "b.beton", ALL, make(ALL, 20), page_size=PAGE)
    for name in ("a", "b"):
        sluice.pack(tmp_path / f"{name}.beton", tmp_path / name, keep_order=True, keep_bytes=True, progress=None)
        packed = sluice.Dataset(tmp_path / name)
        assert packed.verify(decode=True, progress=None)[2] == []
        assert len(packed) == len(sluice.Dataset(tmp_path / f"{name}.beton"))
        for before, after in zip(sluice.Dataset(tmp_path / f"{name}.beton"), packed):
            for key, value in before.items():
                assert (value.tolist() if isinstance(value, memoryview) else value) == (
                    after[key].tolist() if isinstance(value, memoryview) else after[key]
                )
    assert batches(tmp_path / "a") == whole


# ---- errors ----


def test_cut_short_anywhere(tmp_path):
    path = tmp_path / "a.beton"
    betons.write(path, {"image": "rgb", "label": "int"}, [{"image": jpeg(i), "label": i} for i in range(3)], page_size=1 << 13)
    whole = path.read_bytes()
    table = len(whole) - 3 * 24
    for size in [*range(0, 3000, 7), *range(24, 30), *range(24 + 1041, 24 + 1041 + 9), *range(table - 3, len(whole))]:
        path.write_bytes(whole[:size])
        with pytest.raises(sluice.CorruptError, match="truncated|fewer rows|bytes early") as caught:
            sluice.Dataset(path)
        assert caught.value.file == str(path)


def poke(data, at, form, *values):
    made = bytearray(data)
    struct.pack_into(form, made, at, *values)
    return bytes(made)


def test_wrong_words(tmp_path):
    path = tmp_path / "a.beton"
    kinds = {"image": "rgb", "label": "int", "raw": "bytes", "box": "ndarray:int16:2,3"}
    betons.write(path, kinds, [{"image": jpeg(i), "label": i, "raw": b"abc", "box": numpy.zeros((2, 3), "i2")} for i in range(3)], page_size=1 << 13)
    whole = path.read_bytes()
    rows = 24 + 4 * 1041
    offsets, width = betons.layout(kinds.values())
    (table,) = struct.unpack_from("<Q", whole, 16)
    box = 24 + 3 * 1041 + 17
    far = [0, 100, rows, len(whole), 2**32, 2**63, 2**64 - 1]
    cases = [
        (0, "<H", [0, 1, 3, 0x0200], "version 2"), (2, "<H", [0, 1025, 65535], "number of fields"), (2, "<H", [3, 2, 1, 5, 6], "outside the pages"),
        (4, "<I", [0], "page size"), (4, "<I", [1, 7], "one page"),
        (8, "<Q", [0], "no sample"), (8, "<Q", [10**6, 2**32, 2**61, 2**63, 2**64 - 1], "more samples|fewer rows"),
        (16, "<Q", [0], "the file is incomplete"), (16, "<Q", [len(whole) + 24, 2**63, 2**64 - 1], "truncated"), (16, "<Q", [24, table + 1], "impossible offset"),
        (16, "<Q", [table + 24 * 9], "fewer rows|truncated"), (16, "<Q", [len(whole)], "fewer rows"),
        (24, "<B", [255], "custom type"), (24, "<B", [7, 100, 254], "unknown type"),
        (rows + offsets[0] + 5, "<Q", [*far[:3], *far[4:]], "outside the pages"),
        (rows + width + offsets[0] + 5, "<Q", [1 << 13], "no row|outside"),
        (rows + offsets[2], "<Q", far, "outside the pages"), (rows + offsets[2] + 8, "<Q", far[3:], "a size in its allocation table"),
        (rows + offsets[3], "<Q", far, "outside the pages"), (table, "<Q", [3, 2**63], "a sample out of range"), (table, "<Q", [1, 2], "no row in the allocation table"),
        (table + 8, "<Q", [1, 2**63], "no row in the allocation table"), (table + 16, "<Q", [0], "no row in the allocation table"), (table + 16, "<Q", [2**32, 2**64 - 1], "out of range of any page"),
        (table + 16, "<Q", [1 << 13, 2**31], "one page|outside|overlap"),
        (box, "<Q", [0], "number of dimensions|1 to"), (box, "<Q", [2**31, 2**63, 2**64 - 1], "2\\^31"),
        (box + 256, "<Q", [0, 5], "not in numpy's form"), (box + 256, "<Q", [2**63, 761], "its dtype is missing"),
        (box + 264, "<12s", [b"[" * 12], "not in numpy's form"), (box + 264, "<12s", [b'[["", ">i2"]'], "big-endian"),
        (box + 264, "<12s", [b'[["", "|O8"]'], "pickled"), (box + 264, "<12s", [b'[["", "<f4"]', b'[["", "|u1"]'], "a size in its allocation table"),
    ]  # fmt: skip
    for at, form, values, words in cases:
        for value in values:
            path.write_bytes(poke(whole, at, form, value))
            with pytest.raises(sluice.Error, match=words) as caught:
                list(sluice.Dataset(path))
            assert caught.value.file == str(path)
    path.write_bytes(poke(whole, box + 264, "<12s", b'[["", "<f2"]'))  # of the same size: undetectable
    assert sluice.Dataset(path).fields["box"].dtype == "float16"
    path.write_bytes(poke(whole, box, "<9Q", *[1] * 9))
    with pytest.raises(sluice.UnsupportedError, match='"box".*number of dimensions'):
        sluice.Dataset(path)
    assert list(sluice.Dataset(path, fields={"image": "image"}).fields) == ["image"]  # the others can be omitted


def test_kinds_that_cannot_be(tmp_path):
    path = tmp_path / "a.beton"
    betons.write(path, {"label": "int", "x": "custom"}, [{"label": i, "x": b"abc"} for i in range(3)], page_size=PAGE)
    for options in ({}, {"fields": {"label": "label"}}):
        with pytest.raises(sluice.UnsupportedError, match="has a custom type"):
            sluice.Dataset(path, **options)
    for dtype in (">i2", "c8", "S3"):
        betons.write(path, {"label": "int", "x": f"ndarray:{dtype}:2"}, [{"label": i, "x": numpy.zeros(2, dtype)} for i in range(3)], page_size=PAGE)
        with pytest.raises(sluice.UnsupportedError, match='"x"'):
            sluice.Dataset(path)
        assert [sample["label"] for sample in sluice.Dataset(path, fields={"label": "label"})] == [0, 1, 2]


def test_samples_that_are_bad_alone(tmp_path):
    path = tmp_path / "a.beton"
    kinds = {"image": "rgb", "text": "json"}
    betons.write(path, kinds, [{"image": raw(i), "text": {"a": i}} for i in range(20)], page_size=PAGE)
    whole = path.read_bytes()
    rows = 24 + 2 * 1041
    width = betons.layout(kinds.values())[1]
    changed = poke(whole, rows + 3 * width, "<B", 2)
    changed = poke(changed, rows + 5 * width + 1, "<H", 1000)
    (at, size) = struct.unpack_from("<QQ", whole, rows + 7 * width + 13)
    changed = poke(changed, at + size - 1, "<B", 33)
    path.write_bytes(changed)
    data = sluice.Dataset(path)
    for sample, words in {3: "neither a JPEG nor raw", 5: "width and height", 7: "NUL-terminated"}.items():
        with pytest.raises(sluice.CorruptError, match=words) as caught:
            data[sample]
        assert caught.value.sample == sample
    columns = {"image": sluice.columns.Image(transform=T.RandomResizedCrop(8)), "text": sluice.columns.Ragged(length=20)}
    (batch,) = sluice.Loader(data, batch_size=20, on_bad_sample="mask", columns=columns)
    assert batch["mask"].numpy().tolist() == [0 if i in (3, 5, 7) else 1 for i in range(20)]


def test_files_that_change(tmp_path):
    path = tmp_path / "a.beton"
    betons.write(path, ALL, make(ALL, 5), page_size=PAGE)
    data = sluice.Dataset(path)
    betons.write(path, ALL, make(ALL, 6, 3), page_size=PAGE)
    with pytest.raises(sluice.Error):
        list(data)
    assert sluice.Dataset(path).fingerprint != data.fingerprint


def test_sparse_files(tmp_path):
    """A header that claims much costs no memory."""
    path = tmp_path / "a.beton"
    for kind in ("rgb", "bytes", "int"):
        betons.write(path, {"x": kind}, [{"x": MAKE[kind](1)}], page_size=PAGE)
        whole = path.read_bytes()
        with open(path, "wb") as file:
            file.write(poke(whole[: 24 + 1041], 8, "<QQ", 1 << 35, 1 << 41))
            file.truncate((1 << 41) + (24 << 35))
        with pytest.raises((sluice.OutOfMemoryError, sluice.CorruptError)):
            sluice.Dataset(path)

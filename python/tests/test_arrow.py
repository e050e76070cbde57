# SPDX-License-Identifier: Apache-2.0
"""Arrow files and folders of Hugging Face's datasets, written by the tests' own writer (arrows.py, from the
specification) and by other libraries (foreign/)."""
import array
import io
import itertools
import json
import math
import os
import pathlib
import random
import shutil
import struct

import arrows
import numpy
import parquets
import pytest
from arrows import Column
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T

FOREIGN = pathlib.Path(__file__).parent / "foreign"


def jpeg(number=0, size=(20, 16)):
    made = io.BytesIO()
    Image.new("RGB", size, (number * 9 % 256, 80, 160)).save(made, "JPEG")
    return made.getvalue()


def plain(value):
    """Returns the value as the writer received it: a tensor as lists."""
    return value.tolist() if isinstance(value, memoryview) else value


def same(found, wanted):
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(found)
    return (plain(found) or None) == (wanted or None) if not isinstance(wanted, (int, float)) else found == wanted


def picture(value):
    return value["bytes"] if value is not None else None


def check(data, columns, rows=None):
    """Checks that the dataset holds these columns' values, in this row order."""
    values = {name: [picture(v) for v in column.values] if column.kind == "image" else column.values
              for name, column in columns.items()}
    rows = rows if rows is not None else range(len(next(iter(values.values()))))
    assert data.format == "arrow" and len(data) == len(rows) and list(data.fields) == list(columns)
    for sample, row in zip(data, rows):
        for name in columns:
            assert same(sample[name], values[name][row]), (name, row, plain(sample[name]), values[name][row])
    return data


def photos(count, first=0):
    """Images, labels and captions, some of them null."""
    numbers = range(first, first + count)
    return {
        "image": Column("image", [{"bytes": jpeg(n), "path": f"{n}.jpg"} if n % 7 != 3 else None for n in numbers]),
        "label": Column("int64", [n % 3 for n in numbers]),
        "caption": Column("string", [f"number {n} «ä»" if n % 5 != 2 else None for n in numbers]),
        "score": Column("double", [n / 8 for n in numbers]),
    }


FEATURES = {"image": "image", "label": ("cat", "dog", "eel"), "caption": "string", "score": "float64"}


# ---- reading ----


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize("rows", [None, 1, (7, 0, 12)])
def test_photos(tmp_path, file, rows):
    path, columns = tmp_path / "a.arrow", photos(40)
    write = arrows.write_file if file else arrows.write_stream
    write(path, columns, metadata={"huggingface": arrows.features_json(**FEATURES)}, rows_per_batch=rows)
    data = check(sluice.Dataset(path), columns)
    assert [field.type for field in data.fields.values()] == ["image", "int", "text", "float"]
    assert data.classes == ["cat", "dog", "eel"]
    assert data.decode(5).shape == (16, 20, 3) and data.sample(4)["label"] == 1
    assert data.verify(decode=True, progress=None)[2] == []


def test_samples_are_one_read(tmp_path):
    """Each sample's byte range is that of its image alone."""
    path, columns = tmp_path / "a.arrow", photos(40)
    layout = arrows.write_stream(path, columns, rows_per_batch=9)
    data = sluice.Dataset(path)
    for index, span in enumerate(layout.spans["image.bytes"]):
        place = data.sample(index)
        assert (place["offset"], place["bytes"]) == (span or (0, 8))
    assert data.nbytes == sum(span[1] if span else 8 for span in layout.spans["image.bytes"])


NUMBERS = {
    "int8": [0, 1, -1, 127, -128], "uint8": [0, 255], "int16": [-(2**15), 2**15 - 1], "uint16": [2**16 - 1, 3],
    "int32": [-(2**31), 2**31 - 1], "uint32": [2**32 - 1], "int64": [-(2**63), 2**63 - 1], "uint64": [0, 2**63 - 1],
    "bool": [True, False, False, True], "float16": [0.0, -0.0, 1.5, -65504.0, 2.0**-24, math.inf, -math.inf, math.nan],
    "float": [0.5, -2.0**100, math.inf, math.nan], "double": [0.1, -1e300, 5e-324, math.nan],
    "timestamp_us": [-5, 2**60],
    "date": [-5, 2**31 - 1],
}  # fmt: skip


@pytest.mark.parametrize("validity", ["needed", "always"])
@pytest.mark.parametrize("file", [False, True])
def test_numbers(tmp_path, validity, file):
    columns = {}
    for kind, values in NUMBERS.items():
        columns[kind] = Column(kind, [values[i % len(values)] for i in range(50)])
        columns[kind + "_null"] = Column(kind, [None if i % 3 == 1 else values[i % len(values)] for i in range(50)])
    write = arrows.write_file if file else arrows.write_stream
    write(tmp_path / "a.arrow", columns, rows_per_batch=(11, 1, 17), validity=validity)
    data = check(sluice.Dataset(tmp_path / "a.arrow"), columns)
    assert {field.type for name, field in data.fields.items() if name.startswith(("float", "double"))} == {"float"}
    (batch,) = sluice.Loader(data, batch_size=50, columns={"int32": sluice.columns.Number(),
        "double": sluice.columns.Number()})
    assert batch["int32"].numpy().tolist() == columns["int32"].values


@pytest.mark.parametrize("kind", ["string", "binary", "large_string", "large_binary", "fixed[3]",
    "dictionary[int8]<string>", "dictionary[uint16]<large_string>"])
@pytest.mark.parametrize("size", [1, 50])  # in memory, and read with each sample
@pytest.mark.parametrize("options", [{}, {"slack": 5}, {"rows_per_batch": 7, "alignment": 64},
    {"legacy": True, "rows_per_batch": 7}, {"end": False}])
def test_texts_and_bytes(tmp_path, kind, size, options):
    values = ["" if n % 4 == 0 else None if n % 4 == 1 else f"«{n}»" * n for n in range(30)]
    size = size if "[" not in kind else 1
    values = [value and value * size for value in values]
    if "binary" in kind:
        values = [value if value is None else value.encode() for value in values]
    elif kind == "fixed[3]":
        values = [None if n % 4 == 1 else b"%03d" % n for n in range(30)]
    columns = {"it": Column(kind, values), "number": Column("int32", range(30))}
    for write in (arrows.write_stream, arrows.write_file):
        layout = write(tmp_path / "a.arrow", columns, **options)
        data = check(sluice.Dataset(tmp_path / "a.arrow"), columns)
        assert data.fields["it"].type == ("text" if "string" in kind else "bytes")
        if size > 1:
            assert [(data.sample(i)["offset"], data.sample(i)["bytes"]) for i in range(30) if values[i]] == [
                span for span, value in zip(layout.spans["it"], values) if value]  # fmt: skip


@pytest.mark.parametrize("kind, dtype, shape", [
    ("list<int32>", "int32", (0,)), ("large_list<float>", "float32", (0,)), ("list<uint8>", "uint8", (0,)),
    ("list<double>", "float64", (0,)),
    ("list<int64>", "int64", (0,)), ("fixed_list[4]<int16>", "int16", (4,)),
    ("fixed_list[2]<fixed_list[3]<float>>", "float32", (2, 3)),
    ("list<fixed_list[2]<int8>>", "int8", (0, 2)),
])  # fmt: skip
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("options", [{}, {"slack": 3, "rows_per_batch": 4}, {"validity": "always"}])
def test_lists(tmp_path, kind, dtype, shape, large, options):
    def value(number):
        flat = [(number * 7 + i) % 100 for i in range(6)]
        return {(4,): flat[:4], (2, 3): [flat[:3], flat[3:]],
            (0, 2): [flat[:2], flat[2:4], flat[4:]][: number % 4]}.get(
            shape, flat[: number % 7] * (40 if large else 1))  # fmt: skip

    values = [None if n % 5 == 3 else value(n) for n in range(23)]
    columns = {"it": Column(kind, values), "number": Column("int32", range(23))}
    for write in (arrows.write_stream, arrows.write_file):
        write(tmp_path / "a.arrow", columns, **options)
        data = sluice.Dataset(tmp_path / "a.arrow")
        assert (data.fields["it"].type, data.fields["it"].dtype, data.fields["it"].shape) == ("tensor", dtype, shape)
        check(data, columns)
        assert (data.nbytes > 23 * 8) == (large and shape == (0,))


def test_arrays_of_a_shape_that_is_known(tmp_path):
    """Array2D and Array3D of Hugging Face: lists of lists."""
    values = [[[n + i + j for j in range(5)] for i in range(4)] for n in range(20)]
    tall = [[[n] * 3 for _ in range(n % 4)] for n in range(20)]
    columns = {"it": Column("list<list<int32>>", values), "tall": Column("list<list<uint8>>", tall),
        "other": Column("list<list<int8>>", tall)}
    features = {"it": {"_type": "Array2D", "shape": [4, 5], "dtype": "int32"},
        "tall": {"_type": "Array2D", "shape": [None, 3], "dtype": "uint8"}}

    def write(**more):
        metadata = {"huggingface": json.dumps({"info": {"features": features | more}})}
        arrows.write_stream(tmp_path / "a.arrow", columns, metadata=metadata, rows_per_batch=6, slack=2)
        return sluice.Dataset(tmp_path / "a.arrow")

    data = write()
    assert {name: field.shape for name, field in data.fields.items()} == {"it": (4, 5),
        "tall": (0, 3)}  # the length of "other" is unknown
    check(data, {name: columns[name] for name in ("it", "tall")})
    values[7][2] = [1, 2]
    columns["it"].values[9] = values[9][:3]
    data = write()
    for number in (7, 9):
        with pytest.raises(sluice.UnsupportedError, match='"it": the number of elements of its list does not match'):
            data[number]
    assert plain(data[8]["it"]) == values[8]
    with pytest.raises(sluice.InvalidError, match='"other": it contains lists of variable-length lists'):
        sluice.Dataset(tmp_path / "a.arrow", fields={"other": "other"})


def test_what_is_left_out(tmp_path):
    kinds = {"list<string>": ["a"], "list<list<int32>>": [[1]], "list<struct<a:int32>>": [{"a": 1}],
        "list<image>": [{"bytes": b"a", "path": "b"}],
             "null": None, "list<bool>": [True], "dictionary[int8]<int32>": 5}  # fmt: skip
    columns = {f"c{i}": Column(kind.replace("image", "struct<bytes:binary,path:string>"), [value] * 5)
               for i, (kind, value) in enumerate(kinds.items())}
    columns["number"] = Column("int32", range(5))
    arrows.write_stream(tmp_path / "a.arrow", columns)
    data = sluice.Dataset(tmp_path / "a.arrow")
    assert list(data.fields) == ["c2.a", "number"] and data.fields["c2.a"].shape == (0,)
    found = ["lists of texts", "lists of variable-length lists", None, None, "nulls", "lists of values that are not numbers",
             "dictionary values that are not texts"]  # fmt: skip
    assert {left.reason: left.example for left in data.left_out} == {
        f"columns that cannot be read: c{i} ({what[:36]})": f"c{i}" for i, what in enumerate(found) if what}  # fmt: skip
    for i, what in enumerate(found):
        with pytest.raises(sluice.Error, match=f'column "c{i}": (it contains {what}, which cannot be a field|no field type fits its contents|no column has this name)'):
            sluice.Dataset(tmp_path / "a.arrow", fields={"x": f"c{i}"})


BOXES = [[[1, 2, 3, 4], [5, 6, 7, 8.5]], [], None, [[0, 0, 1, 1]], [[1, 2, 3]], [[1, 2, 3, 4], None], [[2, 2, 2, 2]]]
OBJECTS = {
    "lists": ("struct<id:list<int64>,bbox:list<list<float>>,category:list<int64>,name:list<string>,poly:list<list<float>>>",
              lambda boxes: None if boxes is None else
              {"id": [7] * len(boxes), "bbox": boxes, "category": [*range(len(boxes))], "name": ["x"] * len(boxes),
               "poly": [[1] * i for i in range(len(boxes))]}),
    "structs": ("list<struct<id:int64,bbox:list<float>,category:int64,name:string,poly:list<float>>>",
                lambda boxes: None if boxes is None else
                [{"id": 7, "bbox": box, "category": i, "name": "x", "poly": [1] * i} for i, box in enumerate(boxes)]),
    "fixed": ("large_list<struct<id:int64,bbox:fixed_list[4]<float>,category:int64,name:string,poly:list<float>>>",
              lambda boxes: None if boxes is None else
              [{"id": 7, "bbox": box, "category": i, "name": "x", "poly": [1] * i} for i, box in enumerate(boxes)]),
}  # fmt: skip


@pytest.mark.parametrize("layout", OBJECTS)
@pytest.mark.parametrize("options", [{}, {"rows_per_batch": 2, "slack": 3, "codec": "ZSTD"}])
def test_objects_in_pictures(tmp_path, layout, options):
    kind, made = OBJECTS[layout]
    rows = [boxes for boxes in BOXES if layout != "fixed" or boxes is None or all(box is None or len(box) == 4 for box in boxes)]
    inner = {"id": {"dtype": "int64", "_type": "Value"}, "category": {"names": ["a", "b"], "_type": "ClassLabel"}}
    features = {name: {"feature": spec, "_type": "Sequence"} for name, spec in inner.items()} if layout == "lists" else [inner]
    arrows.write_stream(tmp_path / "a.arrow", {"objects": Column(kind, [made(boxes) for boxes in rows])},
                        metadata={"huggingface": arrows.features_json(objects=features)}, **options)  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.arrow")
    assert {name: (field.dtype, field.shape, field.meaning) for name, field in data.fields.items()} == {
        "objects.id": ("int64", (0,), {"per_box": True, "of": "objects.bbox"}), "objects.bbox": ("float32", (0, 4), {"role": "boxes"}),
        "objects.category": ("int64", (0,), {"per_box": True, "of": "objects.bbox"})}  # fmt: skip
    assert data.classes == ["a", "b"]
    assert [left.example for left in data.left_out] == ["objects.name", "objects.poly"]
    for i, boxes in enumerate(rows):
        if boxes and any(box is None or len(box) != 4 for box in boxes):
            with pytest.raises(sluice.UnsupportedError, match=f'a.arrow.*sample {i}: field "objects.bbox": (the number of elements of its list does not match|its list contains a null)'):
                data.read(i, "objects.bbox")
            continue
        assert struct.unpack(f"<{4 * len(boxes or [])}f", data.read(i, "objects.bbox")) == tuple(n for box in boxes or [] for n in box)
        assert struct.unpack(f"<{len(boxes or [])}q", data.read(i, "objects.category")) == tuple(range(len(boxes or [])))


def test_texts_that_are_no_utf_8(tmp_path):
    texts = [b"\xff\xfec\0a\0f\0", b"caf\xe9", b"\xed\xa0\x80", "é".encode(), b""]
    for kind in ("string", "large_string", "dictionary[int8]<string>"):
        arrows.write_stream(tmp_path / "a.arrow", {"t": Column(kind, texts)})
        data = sluice.Dataset(tmp_path / "a.arrow")
        assert data.fields["t"].type == "text" and [bytes(data.read(i, "t")) for i in range(5)] == texts


def test_structures(tmp_path):
    rows = [None if n % 5 == 4 else {"width": n, "name": None if n % 3 == 1 else f"n{n}" * 70,
        "in": {"size": [n] * n, "word": "ab"[n % 2]}} for n in range(20)]
    kind = "struct<width:int16,name:string,in:struct<size:list<int32>,word:dictionary[int8]<string>>>"
    columns = {"box": Column(kind, rows), "label": Column("int8", range(20))}
    arrows.write_stream(tmp_path / "a.arrow", columns, rows_per_batch=6)
    data = sluice.Dataset(tmp_path / "a.arrow")
    assert list(data.fields) == ["box.width", "box.name", "box.in.size", "box.in.word", "label"] and data.nbytes > 1000
    for sample, row in zip(data, rows):
        row = row or {"width": None, "name": None, "in": {"size": None, "word": None}}
        assert sample["box.width"] == row["width"] and (sample["box.name"] or None) == row["name"]
        assert same(sample["box.in.size"], row["in"]["size"]) and same(sample["box.in.word"], row["in"]["word"])
    data = sluice.Dataset(tmp_path / "a.arrow", fields={"w": "box.width:int", "s": "box.in.size"})
    assert data[7]["w"] == 7 and data[7]["s"].tolist() == [7] * 7


def types(path):
    return {name: field.type for name, field in sluice.Dataset(path).fields.items()}


def test_pictures_that_nobody_says_are_any(tmp_path):
    some = [None if n == 0 else jpeg(n) for n in range(9)]
    columns = {"struct": Column("image", [{"bytes": value, "path": None} for value in some]),
        "number": Column("int8", range(9))}
    arrows.write_stream(tmp_path / "a.arrow", columns, rows_per_batch=1)
    assert types(tmp_path / "a.arrow") == {"image": "image", "number": "int"}
    columns = {"binary": Column("binary", some), "sound": Column("image",
        [{"bytes": b"RIFF" + bytes(n), "path": "x"} for n in range(9)])}
    arrows.write_file(tmp_path / "a.arrow", columns)
    data = sluice.Dataset(tmp_path / "a.arrow")
    assert {name: field.type for name, field in data.fields.items()} == {"image": "image", "sound": "bytes"}
    assert data[3]["image"] == some[3] and data[0]["image"] is None and data[4]["sound"] == b"RIFF" + bytes(4)
    features = arrows.features_json(binary={"_type": "Audio"}, sound={"_type": "Image"})
    arrows.write_file(tmp_path / "a.arrow", columns, metadata={"huggingface": features})
    assert types(tmp_path / "a.arrow") == {"binary": "bytes", "image": "image"}


def test_fields_that_are_chosen(tmp_path):
    columns = photos(20) | {"raw": Column("binary", [bytes([n, 0, n + 1, 0]) for n in range(20)])}
    arrows.write_stream(tmp_path / "a.arrow", columns, rows_per_batch=6)
    data = sluice.Dataset(tmp_path / "a.arrow", fields={"n": "label:int", "a": "image", "b": ("image", "bytes"),
        "r": ("raw", "u16[2]")})
    assert {name: field.type for name, field in data.fields.items()} == {"n": "int", "a": "image", "b": "bytes",
        "r": "tensor"}
    for number, sample in enumerate(data):
        wanted = picture(columns["image"].values[number])
        assert sample["a"] == wanted and (sample["b"] or None) == wanted and plain(sample["r"]) == [number, number + 1]
    for fields, words in (({"a": "nothing"}, "no column has this name"), ({"a": "label:f32[]"}, "the column has a different type")):
        with pytest.raises(sluice.InvalidError, match=words):
            sluice.Dataset(tmp_path / "a.arrow", fields=fields)


@pytest.mark.parametrize("mode", ["whole", "delta", "replace"])
def test_dictionaries(tmp_path, mode):
    values = [None if n % 9 == 4 else f"word {n * n % 17}" for n in range(60)]
    columns = {"word": Column("dictionary[int16]<string>", values),
        "bytes": Column("dictionary[int32]<binary>", [b"%d" % (n % 5) for n in range(60)])}
    arrows.write_stream(tmp_path / "a.arrow", columns, rows_per_batch=13, dictionaries=mode)
    check(sluice.Dataset(tmp_path / "a.arrow"), columns)
    if mode != "replace":
        arrows.write_file(tmp_path / "a.arrow", columns, rows_per_batch=13, dictionaries=mode)
        check(sluice.Dataset(tmp_path / "a.arrow"), columns)


@pytest.mark.parametrize("codec", ["ZSTD", "LZ4"])
def test_compressed(tmp_path, codec):
    if not parquets.have({"LZ4": "LZ4_RAW"}.get(codec, codec)):
        pytest.skip(f"there is no library to write {codec} with")
    """Small enough to be kept in memory."""
    columns = photos(30) | {"list": Column("list<int32>", [[n] * 50 for n in range(30)]),
        "word": Column("dictionary[int8]<string>", ["abc" * 30] * 30)}
    for write in (arrows.write_stream, arrows.write_file):
        write(tmp_path / "a.arrow", columns, codec=codec, rows_per_batch=11)
        try:
            data = check(sluice.Dataset(tmp_path / "a.arrow"), columns)
        except sluice.UnsupportedError as error:
            assert codec == "LZ4" and "built without liblz4 (Debian: liblz4-dev)" in str(error)
            pytest.skip("this library was built without liblz4")
        assert data.nbytes == 30 * 8


@pytest.mark.parametrize("path", sorted(FOREIGN.glob("*.arrow")), ids=lambda path: path.stem)
def test_files_of_other_libraries(path):
    told = json.loads((FOREIGN / ("polars_uncompressed.json" if "polars" in path.stem
        else "arrowjs_file.json")).read_text())

    def value(stored):
        return bytes.fromhex(stored["hex"]) if isinstance(stored, dict) and "hex" in stored else stored

    columns = {name: [value(one) for one in values] for name, values in told["columns"].items()}
    lists = columns.pop("images")
    for k in range(0 if "polars" in path.stem else max(len(row or []) for row in lists)):  # declared as images
        columns[f"images.{k}"] = [row[k] if row and k < len(row) else None for row in lists]
    data = sluice.Dataset(path)
    assert set(data.fields) == set(columns) - {"tags"}  # lists of texts, and of structures that are not images
    for row in range(told["rows"]):
        numbers = columns["nums"][row]
        wanted = {name: columns[name][row] for name in data.fields}
        paths = []
        for name in [name for name in wanted if name.startswith("images.")]:
            picture = wanted[name] or {"bytes": None, "path": None}
            wanted[name] = value(picture["bytes"])
            paths.append(picture["path"] and wanted[name] is None)
        wanted["image"] = value((wanted["image"] or {"bytes": None})["bytes"])
        elsewhere = columns["image"][row] and columns["image"][row]["path"] and not wanted["image"]
        if (numbers and None in numbers) or elsewhere or any(paths):
            words = '"nums": its list contains a null|"image.*": .* only its path'
            with pytest.raises(sluice.UnsupportedError, match=words):
                data[row]
            continue
        sample = data[row]
        for name in data.fields:
            assert same(sample[name], wanted[name]), (name, row)
    chosen = sluice.Dataset(path, fields={name: name for name in ("id", "text", "data")})
    assert [sample["id"] for sample in chosen] == columns["id"]
    assert [sample["text"] or None for sample in chosen] == [text or None for text in columns["text"]]
    if "polars" not in path.stem:
        assert data.classes == ["cat", "dog", "eel"]


# ---- folders ----


@pytest.mark.parametrize("shards", [1, 3])
def test_saved_datasets(tmp_path, shards):
    columns = photos(40)
    arrows.save_to_disk(tmp_path / "d", columns, FEATURES, shards=shards, rows_per_batch=7)
    data = check(sluice.Dataset(tmp_path / "d"), columns)
    assert data.classes == ["cat", "dog", "eel"]
    assert sluice.Dataset(str(tmp_path / "d") + "/").fingerprint == data.fingerprint
    (tmp_path / "d" / "extra.arrow").write_bytes(b"not named by state.json")
    check(sluice.Dataset(tmp_path / "d"), columns)


def test_classes_are_those_of_the_folder(tmp_path):
    """They come from dataset_info.json, which the library itself uses."""
    arrows.save_to_disk(tmp_path / "d", photos(9), FEATURES)
    info = json.loads((tmp_path / "d" / "dataset_info.json").read_text())
    info["features"]["label"]["names"] = ["x", "y", "z"]
    (tmp_path / "d" / "dataset_info.json").write_text(json.dumps(info))
    assert sluice.Dataset(tmp_path / "d").classes == ["x", "y", "z"]
    (tmp_path / "d" / "dataset_info.json").write_text("no JSON")
    assert sluice.Dataset(tmp_path / "d").classes == ["cat", "dog", "eel"]


def test_tables_of_row_numbers(tmp_path):
    columns, chance = photos(40), random.Random(3)
    for name, rows in (("filter", range(1, 40, 3)), ("shuffle", chance.sample(range(40), 40)),
            ("repeat", [5, 5, 0, 39, 5]), ("one", [17])):
        arrows.save_to_disk(tmp_path / name, columns, FEATURES, shards=3, indices=list(rows), rows_per_batch=7)
        data = check(sluice.Dataset(tmp_path / name), columns, list(rows))
        assert data.fingerprint != sluice.Dataset(list(map(str, sorted((tmp_path / name).glob("data-*"))))).fingerprint
    both = sluice.Dataset([tmp_path / "one", tmp_path / "filter"])
    check(both, {name: Column(column.kind, column.values * 2) for name, column in columns.items()},
        [17, *range(41, 80, 3)])
    arrows.save_to_disk(tmp_path / "whole", columns, FEATURES, shards=1)
    both = sluice.Dataset([tmp_path / "one", tmp_path / "whole"])
    check(both, {name: Column(column.kind, column.values * 2) for name, column in columns.items()},
        [17, *range(40, 80)])
    for wrong, words in (([3, 40], "entry 1 of its row list is out of range: there are 40 rows"), ([2**63], "out of range: there are 40"),
            ([], "no row numbers")):
        arrows.save_to_disk(tmp_path / "wrong", columns, FEATURES, indices=wrong)
        with pytest.raises(sluice.Error, match=words) as caught:
            sluice.Dataset(tmp_path / "wrong")
        assert caught.value.file.endswith("indices.arrow")
    for numbers in (photos(3), {"indices": Column("string", ["a"])}):
        arrows.save_to_disk(tmp_path / "wrong", columns, FEATURES, indices=[1])
        arrows.write_stream(tmp_path / "wrong" / "indices.arrow", numbers)
        with pytest.raises(sluice.CorruptError, match="not a table of row numbers"):
            sluice.Dataset(tmp_path / "wrong")


def test_splits(tmp_path):
    arrows.save_dict(tmp_path / "d", {"train": photos(20), "test": photos(5)}, FEATURES)
    with pytest.raises(sluice.InvalidError, match='train, test: choose one .split "train".*d/train'):
        sluice.Dataset(tmp_path / "d")
    check(sluice.Dataset(tmp_path / "d", split="train"), photos(20))
    test = sluice.Dataset(tmp_path / "d", split="test")
    check(test, photos(5))
    assert [(found.reason, found.count, found.example) for found in test.left_out] == [("other splits", 1, "train")]
    with pytest.raises(sluice.InvalidError, match='d: split "val": no such split: the splits are train, test'):
        sluice.Dataset(tmp_path / "d", split="val")
    with pytest.raises(sluice.InvalidError, match='split "train": it is a saved dataset without splits'):
        sluice.Dataset(tmp_path / "d" / "test", split="train")
    file = next((tmp_path / "d" / "test").glob("*.arrow"))
    with pytest.raises(sluice.InvalidError, match='split "train": it is a file'):
        sluice.Dataset(file, split="train")
    assert len(sluice.Dataset(tmp_path / "d" / "test")) == 5
    arrows.save_cache(tmp_path / "c", "pets", photos(20), FEATURES, split="train", shards=3)
    check(sluice.Dataset(tmp_path / "c"), photos(20))
    arrows.save_cache(tmp_path / "c", "pets", photos(5), FEATURES, split="test")
    with pytest.raises(sluice.InvalidError, match='several splits: pets-test, pets-train: choose one .split "pets-test"'):
        sluice.Dataset(tmp_path / "c")
    check(sluice.Dataset(tmp_path / "c", split="train"), photos(20))
    check(sluice.Dataset(tmp_path / "c" / "pets-test.arrow"), photos(5))
    check(sluice.Dataset(str(tmp_path / "c" / "pets-train-{00000..00002}-of-00003.arrow")), photos(20))
    (tmp_path / "c" / "pets-test.arrow").unlink()
    (tmp_path / "c" / "folder").mkdir()
    with pytest.raises(sluice.InvalidError, match='the folder "folder"'):
        sluice.Dataset(tmp_path / "c")


def test_splits_of_files_with_a_hash(tmp_path):
    for name, rows in (("train-00000-of-00002-a09b74b3ef9c3b56", 4), ("train-00001-of-00002-c5d8b8b1a6b4e0a1", 3),
                       ("test-00000-of-00001-00112233445566ff", 2), ("dev-a", 1), ("dev-b", 1)):  # fmt: skip
        arrows.write_stream(tmp_path / f"{name}.arrow", photos(rows))
    assert [len(sluice.Dataset(tmp_path, split=split)) for split in ("train", "test", "dev", "dev-b")] == [7, 2, 2, 1]


def test_splits_of_a_cache(tmp_path):
    for split, rows in (("train", 20), ("test", 5), ("validation", 3)):
        arrows.save_cache(tmp_path, "pets", photos(rows), FEATURES, split=split, shards=2 if split == "train" else 1)
        check(sluice.Dataset(tmp_path, split=split), photos(rows))
    arrows.write_stream(tmp_path / "cache-0123456789abcdef.arrow", photos(2))
    arrows.write_stream(tmp_path / "cache-0123456789abcdef_00000_of_00002.arrow", photos(2))
    with pytest.raises(sluice.InvalidError, match='its files belong to several splits: pets-test, pets-train, pets-validation: choose one .split "pets-test"'):
        sluice.Dataset(tmp_path)
    data = sluice.Dataset(tmp_path, split="val")
    check(data, photos(3))
    assert {found.reason: found.count for found in data.left_out} == {
        "files of other splits": 3, "cached results of datasets (cache-*.arrow)": 2}  # fmt: skip
    check(sluice.Dataset(tmp_path, split="pets-test"), photos(5))
    for file in tmp_path.glob("pets-t*"):
        file.unlink()
    check(sluice.Dataset(tmp_path), photos(3))
    for file in tmp_path.glob("pets-*"):
        file.unlink()
    check(sluice.Dataset(tmp_path / "cache-0123456789abcdef.arrow"), photos(2))


@pytest.mark.parametrize("state, words", [
    ({"_data_files": [{"filename": "../d/data-00000-of-00001.arrow"}]}, "is not beside it"),
    ({"_data_files": [{"filename": "/etc/passwd"}]}, "is not beside it"),
    ({"_data_files": [{}]}, "is not beside it"), ({"_data_files": [5]}, "is not beside it"),
    ({"_data_files": [{"filename": "none.arrow"}]}, "cannot open"), ({"_data_files": []}, "the dataset is empty"),
    ({"_data_files": [{"filename": "data-00000-of-00001.arrow", "skip": 2, "take": 3}]}, "parts of files"),
])  # fmt: skip
def test_states_that_are_wrong(tmp_path, state, words):
    arrows.save_to_disk(tmp_path / "d", photos(9), FEATURES, shards=1)
    (tmp_path / "d" / "state.json").write_text(json.dumps(state))
    with pytest.raises(sluice.Error, match=words):
        sluice.Dataset(tmp_path / "d")
    (tmp_path / "d" / "state.json").write_text('{"of": "something else"}')
    check(sluice.Dataset(tmp_path / "d"), photos(9))
    (tmp_path / "d" / "state.json").write_text("{")
    with pytest.raises(sluice.CorruptError, match="not valid JSON"):
        sluice.Dataset(tmp_path / "d")


def test_files_that_do_not_fit(tmp_path):
    arrows.write_stream(tmp_path / "part-0.arrow", photos(5))
    arrows.write_stream(tmp_path / "part-1.arrow", {"label": Column("int32", [1])})
    with pytest.raises(sluice.InvalidError, match="its columns differ from those of"):
        sluice.Dataset(tmp_path)
    empty = {name: Column(column.kind, []) for name, column in photos(1).items()}
    arrows.write_stream(tmp_path / "part-1.arrow", empty)
    check(sluice.Dataset(tmp_path), photos(5))
    with pytest.raises(sluice.InvalidError, match="no rows"):
        sluice.Dataset(tmp_path / "part-1.arrow")


def test_names_that_tell_nothing(tmp_path):
    arrows.write_file(tmp_path / "a", photos(5))
    arrows.write_stream(tmp_path / "b", photos(5))
    twice = {name: Column(column.kind, column.values * 2) for name, column in photos(5).items()}
    check(sluice.Dataset([tmp_path / "a", tmp_path / "b"]), twice)


# ---- training ----


def test_training(tmp_path):
    """The batches equal those of a packed copy, on each rank; each sample appears once; states resume."""
    columns = photos(60)
    columns["image"] = Column("image", [{"bytes": jpeg(n, (50 + n, 40)), "path": None} for n in range(60)])
    arrows.save_to_disk(tmp_path / "d", columns, FEATURES, shards=4, rows_per_batch=9,
        indices=[n * 7 % 60 for n in range(60)])
    data = sluice.Dataset(tmp_path / "d")
    sluice.pack(data, tmp_path / "packed", keep_order=True, keep_bytes=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert packed.verify(decode=True, progress=None)[2] == [] and packed.classes == data.classes
    for before, after in zip(data, packed):
        assert {name: plain(value) for name, value in before.items()} == {name: plain(v) for name, v in after.items()}
    columns = {"image": sluice.columns.Image(transform=T.RandomResizedCrop(16)), "label": sluice.columns.Number(),
        "caption": sluice.columns.Ragged(length=40, missing="blank")}

    def batches(source, **options):
        loader = sluice.Loader(source, batch_size=6, shuffle=True, seed=3, num_workers=2, columns=columns, **options)
        return [{name: batch[name].numpy().tobytes() for name in ("image", "label", "caption", "index")}
            for batch in loader]

    seen = []
    for rank in range(2):
        found = batches(data, rank=rank, world_size=2)
        assert found == batches(packed, rank=rank, world_size=2)
        seen += [number for batch in found for number in array.array("q", batch["index"])]
    assert sorted(seen) == list(range(60))


def test_windows_of_tokens(tmp_path):
    values = [None if n == 4 else [(n * 31 + i) % 5000 for i in range(n * 13)] for n in range(40)]
    columns = {"input_ids": Column("list<int32>", values), "types": Column("list<int8>",
        [[1] * min(n, 9) for n in range(40)])}
    arrows.save_to_disk(tmp_path / "d", columns, {}, shards=2, rows_per_batch=7)
    data = sluice.Dataset(tmp_path / "d")
    loader = sluice.Loader(data, batch_size=3, columns={"input_ids": sluice.columns.Window(length=32, stride=16)},
        drop_last=False)
    found = [row.tolist() for batch in loader for row in batch["input_ids"].numpy()]
    assert found == [value[i : i + 32] for value in values if value for i in range(0, len(value) - 31, 16)]
    with pytest.raises(sluice.UnsupportedError, match="columns of large values"):
        sluice.Loader(data, batch_size=3, columns={"types": sluice.columns.Window(length=2, stride=1)})


# ---- errors ----


def test_bad_samples(tmp_path):
    columns = photos(12)
    columns["label"].values[5] = 3
    columns["label"].values[6] = -1
    columns["label"].values[7] = None
    columns["big"] = Column("uint64", [2**63 if n == 8 else n for n in range(12)])
    columns["list"] = Column("list<int32>", [[1, None] if n == 9 else [n] for n in range(12)])
    columns["image"].values[10] = {"bytes": None, "path": "pictures/x.jpg"}
    arrows.save_to_disk(tmp_path / "d", columns, FEATURES, rows_per_batch=5)
    data = sluice.Dataset(tmp_path / "d")
    for number, words in ((5, '"label": label out of range'), (8, '"big": its number is above'),
            (9, '"list": its list contains a null'), (10, '"image": it is not in the file')):
        with pytest.raises(sluice.Error, match=words) as caught:
            data[number]
        assert caught.value.sample == number and "data-0000" in caught.value.file
    assert data[6]["label"] == -1 and data[7]["label"] is None and data[11]["list"].tolist() == [11]
    (batch,) = sluice.Loader(data, batch_size=12, on_bad_sample="mask",
        columns={name: sluice.columns.Number(missing="blank") for name in ("label", "big")})
    assert batch["mask"].numpy().tolist() == [0 if n in (5, 8) else 1 for n in range(12)]
    columns["image"] = Column("image", [{"bytes": None, "path": "x.jpg"}] * 12)
    arrows.save_to_disk(tmp_path / "d", columns, FEATURES, rows_per_batch=5)
    with pytest.raises(sluice.UnsupportedError, match="of its images: it is not in the file.*save_to_disk"):
        sluice.Dataset(tmp_path / "d")


def test_lists_with_nulls_that_are_read(tmp_path):
    values = [[n] * 100 for n in range(9)]
    values[4] = [1] * 99 + [None]
    arrows.write_stream(tmp_path / "a.arrow", {"it": Column("list<int64>", values)})
    data = sluice.Dataset(tmp_path / "a.arrow")
    with pytest.raises(sluice.UnsupportedError, match='"it": its list contains a null'):
        data[4]
    assert data[5]["it"].tolist() == values[5] and data.nbytes > 6000


def test_two_columns_of_large_values(tmp_path):
    """Both are read per sample if both are large overall; otherwise one stays in memory."""
    columns = {"a": Column("binary", [bytes(5000)] * 20), "b": Column("binary", [b"x" * 6000] * 20)}
    arrows.write_stream(tmp_path / "a.arrow", columns)
    data = check(sluice.Dataset(tmp_path / "a.arrow"), columns)
    assert data.nbytes == 20 * 6000
    noise = random.Random(1).randbytes(66 << 20)
    rows = [noise[i << 20 : (i + 1) << 20] for i in range(66)]
    columns = {"a": Column("binary", [*rows[:65], b""]), "b": Column("binary", rows), "c": Column("int8", range(66))}
    arrows.write_stream(tmp_path / "a.arrow", columns)
    data = check(sluice.Dataset(tmp_path / "a.arrow"), columns)
    assert data.nbytes == (66 + 65 << 20) + 8  # a few bytes are read for the empty one
    data = sluice.Dataset(tmp_path / "a.arrow", fields={"a": "a", "c": "c"})
    assert data[65] == {"a": b"", "c": 65} and data[3]["a"] == rows[3]
    arrows.write_stream(tmp_path / "a.arrow", {"a": Column("binary", rows)}, codec="ZSTD")
    with pytest.raises(sluice.UnsupportedError, match="compressed.*uncompressed"):
        sluice.Dataset(tmp_path / "a.arrow")


def test_several_columns_of_large_values(tmp_path):
    """Up to four are read per sample, beside those kept in memory; batches equal those of a packed copy."""
    def noise(n):
        return random.Random(n).randbytes(30_000 + n)

    pictures = [{"bytes": jpeg(n) + noise(n), "path": None} if n % 7 != 3 else None for n in range(60)]
    columns = photos(60) | {"other": Column("image", pictures), "sound": Column("large_binary", [noise(n) for n in range(60)]),
                            "tokens": Column("list<int64>", [[n] * (4000 + n) for n in range(60)])}  # fmt: skip
    columns["image"] = Column("image", [pictures[(n + 5) % 60] for n in range(60)])
    for i, file in enumerate((False, True)):
        (arrows.write_file if file else arrows.write_stream)(tmp_path / f"{i}.arrow", columns, rows_per_batch=17)
    data = check(sluice.Dataset(tmp_path / "0.arrow"), columns)
    check(sluice.Dataset(tmp_path / "1.arrow"), columns)
    assert not data.verify(progress=None).findings
    assert data[60 - 1]["tokens"].tolist() == [59] * 4059
    both = sluice.Dataset(tmp_path)
    asked = {"image": C.Image(transform=T.RandomResizedCrop(16), missing="blank"), "label": C.Number(),
             "other": C.Image(transform=T.RandomResizedCrop(16), missing="blank"), "sound": C.Ragged(length=40_000)}  # fmt: skip
    sluice.pack(both, tmp_path / "packed", keep_bytes=True, keep_order=True, progress=None)
    two = [sluice.Loader(of, 8, True, seed=4, columns=asked) for of in (both, sluice.Dataset(tmp_path / "packed"))]
    rows = 0
    for one, other in itertools.zip_longest(*two):
        for name in asked:
            assert one[name].numpy().tobytes() == other[name].numpy().tobytes()
        rows += one.rows
    assert rows == 120
    windows = sluice.Loader(data, 4, columns={"x": C.Window("tokens", length=1000)})
    assert all(len(set(row)) == 1 for batch in windows for row in batch["x"].numpy())
    more = {name: Column("binary", [noise(n) for n in range(40)]) for name in "abcde"}
    arrows.write_stream(tmp_path / "more.arrow", more)
    with pytest.raises(sluice.UnsupportedError, match="more than 4 of its columns are large.*fields="):
        sluice.Dataset(tmp_path / "more.arrow")


def picture_lists(rows=40):
    """Rows of 0 to 3 images, or a null list; some images are null."""
    lists = [[{"bytes": jpeg(100 * n + k) + bytes(n), "path": f"{n}-{k}.jpg"} for k in range(n * 7 % 4)] for n in range(rows)]
    return [None if n % 9 == 8 else [*row[:-1], None] if n % 5 == 1 and row else row for n, row in enumerate(lists)]


IMAGES = "struct<bytes:binary,path:string>"


@pytest.mark.parametrize("kind", [f"list<{IMAGES}>", f"large_list<{IMAGES}>", "list<struct<bytes:large_binary,path:large_string>>",
                                  "fixed_list"])  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"rows_per_batch": 7, "slack": 3}, {"validity": "always"}])
@pytest.mark.parametrize("file", [False, True])
def test_lists_of_pictures(tmp_path, kind, options, file):
    """Each position of the list is a field; positions that a row lacks are missing values."""
    lists = picture_lists()
    if kind == "fixed_list":
        kind = f"fixed_list[3]<{IMAGES}>"
        lists = [None if row is None else (row + [None] * 3)[:3] for row in lists]
    columns = {"images": Column(kind, lists), "n": Column("int32", range(40))}
    (arrows.write_file if file else arrows.write_stream)(tmp_path / "a.arrow", columns, **options)
    data = sluice.Dataset(tmp_path / "a.arrow")
    assert list(data.fields) == ["images.0", "images.1", "images.2", "n"]
    for n in [*range(40), 3, 22]:
        row = (lists[n] or []) + [None] * 3
        assert [data[n][f"images.{k}"] for k in range(3)] == [picture(row[k]) for k in range(3)] and data[n]["n"] == n
    one = sluice.Dataset(tmp_path / "a.arrow", fields={"second": "images.1"})
    for n in range(40):
        wanted = picture(((lists[n] or []) + [None] * 2)[1])
        assert one[n]["second"] == wanted and (wanted is None or one.sample(n)["bytes"] == len(wanted))
    assert not data.verify(progress=None).findings


def test_lists_of_pictures_that_are_not_there(tmp_path):
    lists = [[{"bytes": None, "path": "a.jpg"}, {"bytes": jpeg(1), "path": None}], [{"bytes": jpeg(2), "path": None}]]
    told = {"info": {"features": {"images": {"_type": "List", "feature": {"_type": "Image"}}}}}
    arrows.write_stream(tmp_path / "a.arrow", {"images": Column(f"list<{IMAGES}>", lists)},
                        metadata={"huggingface": json.dumps(told)})  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.arrow")
    with pytest.raises(sluice.UnsupportedError, match='"images.0".*only its path'):
        data[0]
    assert data[1] == {"images.0": jpeg(2), "images.1": None}
    arrows.write_stream(tmp_path / "b.arrow", {"images": Column(f"list<{IMAGES}>", lists)}, codec="ZSTD",
                        metadata={"huggingface": json.dumps(told)})  # fmt: skip
    with pytest.raises(sluice.UnsupportedError, match="compressed.*images.0"):
        sluice.Dataset(tmp_path / "b.arrow")
    with pytest.raises(sluice.InvalidError, match="by position"):
        sluice.Dataset(tmp_path / "a.arrow", fields={"images": "images"})


def small():
    return {"text": Column("string", ["t" * 70 * n for n in range(5)]), "label": Column("int32", [0, None, 2, 3, 4])}


@pytest.mark.parametrize("file", [False, True])
def test_cut_short_anywhere(tmp_path, file):
    path = tmp_path / "a.arrow"
    layout = (arrows.write_file if file else arrows.write_stream)(path, small(), rows_per_batch=2)
    whole = path.read_bytes()
    ends = {offset + metadata + body: number + 1 for number, (offset, metadata, body) in enumerate(layout.batches)}
    for size in reversed(range(len(whole))):
        os.truncate(path, size)
        if not file and size in ends:
            assert len(sluice.Dataset(path)) == min(5, 2 * ends[size])  # nothing in a stream marks its end
            continue
        if not file and size == layout.batches[0][0]:
            with pytest.raises(sluice.InvalidError, match="no rows"):
                sluice.Dataset(path)
            continue
        with pytest.raises(sluice.CorruptError, match="truncated|does not begin|damaged") as caught:
            sluice.Dataset(path)
        assert caught.value.file == str(path) and 0 <= caught.value.offset <= size


@pytest.mark.parametrize("file", [False, True])
def test_damage_anywhere(tmp_path, file):
    """Changes one byte at a time: each gives an error or values from the file; never anything else."""
    path = tmp_path / "a.arrow"
    (arrows.write_file if file else arrows.write_stream)(path, small(), rows_per_batch=3)
    whole = path.read_bytes()
    descriptor = os.open(path, os.O_RDWR)
    for at in range(0, len(whole), 2):
        os.pwrite(descriptor, bytes([whole[at] ^ (0xFF, 0x01, 0x80)[at // 2 % 3]]), at)
        try:
            data = sluice.Dataset(path)
            assert len(data) <= 8 * len(whole)
            for number in range(min(len(data), 3)):
                data[number]
        except sluice.Error as error:
            assert error.file == str(path)
        os.pwrite(descriptor, whole[at : at + 1], at)
    os.close(descriptor)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("data, words", [
    (b"", "truncated"), (b"ARROW1\0\0", "truncated"), (b"ARROW1\0\0" + bytes(30), "footer"),
        (b"ARROW1\0\0" + bytes(8) + struct.pack("<I", 2**31) + b"ARROW1", "footer"),
    (b"ARROW1\0\0" + bytes(8) + struct.pack("<I", 8) + b"ARROW1", "damaged"),
    (b"\xff\xff\xff\xff" + bytes(4), "damaged"), (b"\xff\xff\xff\xff\xff\xff\xff\x7f", "truncated"),
    (b"FEA1" + bytes(50), "unsupported Feather version 1"), (b"PK\3\4" + bytes(100), "a ZIP archive: unpack it"), (bytes(100), "all zero bytes"),
    (b"\xff\xff\xff\xff\x10\0\0\0" + bytes(16), "damaged"),
])  # fmt: skip
def test_files_that_are_none(tmp_path, data, words):
    path = tmp_path / "a.arrow"
    path.write_bytes(data)
    with pytest.raises(sluice.Error, match=words) as caught:
        sluice.Dataset(path)
    assert caught.value.file == str(path)


def test_offsets_that_lie(tmp_path):
    path = tmp_path / "a.arrow"
    values = ["x" * 100, "y" * 200, "z" * 300]
    for kind, form in (("string", "<I"), ("large_string", "<Q")):
        layout = arrows.write_stream(path, {"it": Column(kind, values)})
        whole = path.read_bytes()
        begin = whole.index(struct.pack(form, 100) + struct.pack(form, 300)) - struct.calcsize(form)
        assert layout.spans["it"][0][0] > begin
        for number, wrong in ((0, 101), (1, 301), (2, 99), (3, 601), (3, 299), (1, 2**31), (2, 2**32 - 1),
                (3, 2**31 - 1)):
            at = begin + number * struct.calcsize(form)
            path.write_bytes(whole[:at] + struct.pack(form, wrong) + whole[at + struct.calcsize(form) :])
            with pytest.raises(sluice.CorruptError, match='column "it".*: the offsets'):
                sluice.Dataset(path)


@pytest.mark.parametrize("kind, width", [("string", 4), ("large_string", 8)])
def test_lengths_of_dictionaries_that_lie(tmp_path, kind, width):
    """So many entries that the size of their offsets wraps around to 0."""
    path = tmp_path / "a.arrow"
    words = ["one", "two", "three", "four", "five"]
    layout = arrows.write_stream(path, {"it": Column(f"dictionary[int16]<{kind}>", words)})
    offset, head, _ = layout.dictionaries[0]
    whole = path.read_bytes()
    message = whole[offset : offset + head]
    array = struct.pack("<QQ", len(words), 0)
    assert message.count(array) == 1
    for wrong in (2**64 // width + 2, 2**64 // width - 1, 2**63 - 1, 2**31):
        lying = message.replace(array, struct.pack("<QQ", wrong, 0))
        path.write_bytes(whole[:offset] + lying + whole[offset + head :])
        with pytest.raises(sluice.CorruptError, match="impossible length|the length of a column differs|shorter than its array"):
            sluice.Dataset(path)
    path.write_bytes(whole)
    assert [sample["it"] for sample in sluice.Dataset(path)] == words


def test_joined_streams(tmp_path):
    arrows.write_stream(tmp_path / "a.arrow", photos(5))
    whole = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(whole + whole)
    with pytest.raises(sluice.CorruptError, match="split concatenated streams"):
        sluice.Dataset(tmp_path / "a.arrow")
    arrows.write_stream(tmp_path / "a.arrow", photos(5), end=False)
    whole = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(whole + whole)
    with pytest.raises(sluice.CorruptError, match="second schema"):
        sluice.Dataset(tmp_path / "a.arrow")


def test_files_that_change(tmp_path):
    arrows.write_stream(tmp_path / "a.arrow", photos(20))
    data = sluice.Dataset(tmp_path / "a.arrow")
    arrows.write_stream(tmp_path / "a.arrow", photos(10))
    with pytest.raises(sluice.CorruptError):
        data[15]
    (tmp_path / "a.arrow").unlink()
    with pytest.raises(sluice.IOError):
        sluice.Dataset(tmp_path / "a.arrow")


def test_folders_that_are_ambiguous(tmp_path):
    arrows.write_stream(tmp_path / "a.arrow", photos(5))
    (tmp_path / "a.tar").write_bytes(bytes(10240))
    with pytest.raises(sluice.InvalidError, match='format "tar" and one of "arrow"'):
        sluice.Dataset(tmp_path)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    with pytest.raises(sluice.Error):
        sluice.Dataset(tmp_path)

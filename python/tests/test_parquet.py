# SPDX-License-Identifier: Apache-2.0
"""Parquet files, written by parquets.py from their specification, and read without conversion."""
import io
import itertools
import json
import pathlib
import struct
import subprocess
import sys

import numpy
import parquets
import pytest
from parquets import Column
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T


FOREIGN = pathlib.Path(__file__).parent / "foreign"


def jpeg(number, size=(40, 30)):
    out = io.BytesIO()
    Image.fromarray(numpy.random.default_rng(number).integers(0, 255, (*size[::-1], 3), "uint8")).save(out, "JPEG")
    return out.getvalue()


def large(count):
    """JPEGs followed by so much data that their column is read per sample instead of kept in memory."""
    return [jpeg(i) + bytes([i % 251]) * (2_000_000 // count) for i in range(count)]


ROWS = 60
IMAGES = large(ROWS)
LABELS = [i % 7 for i in range(ROWS)]
CAPTIONS = [f"caption {i} ä" if i % 5 else "" for i in range(ROWS)]
NAMES = tuple(f"class {i}" for i in range(7))


def columns(images=IMAGES):
    return {
        "image": Column("image", [None if image is None else {"bytes": image, "path": f"{i}.jpg"}
                                  for i, image in enumerate(images)]),
        "label": Column("int64", LABELS),
        "caption": Column("string", [None if i % 11 == 3 else text for i, text in enumerate(CAPTIONS)]),
    }  # fmt: skip


FEATURES = {"huggingface": parquets.features_json(image="image", label=NAMES, caption="string")}


def write(folder, name="train-0.parquet", images=IMAGES, **how):
    how = {"metadata": FEATURES, "rows_per_group": 25, "rows_per_page": 7} | how
    return parquets.write(folder / name, columns(images), **how)


def check_rows(data):
    assert len(data) == ROWS
    for i in range(ROWS):
        sample = data[i]
        assert sample["image"] == IMAGES[i] and sample["label"] == LABELS[i]
        assert sample["caption"] == ("" if i % 11 == 3 else CAPTIONS[i])


LAYOUTS = {
    "plain": {},
    "page index": {"page_index": True},
    "version 2": {"data_page_version": 2},
    "snappy": {"codec": "SNAPPY"},
    "snappy, version 2": {"codec": "SNAPPY", "data_page_version": 2},
    "zstd": {"codec": "ZSTD"},
    "zstd, version 2": {"codec": "ZSTD", "data_page_version": 2},
    "gzip": {"codec": "GZIP"},
    "gzip, version 2": {"codec": "GZIP", "data_page_version": 2},
    "dictionaries, gzip": {"dictionary": True, "codec": "GZIP"},
    "dictionaries": {"dictionary": True},
    "dictionaries that end": {"dictionary": True, "dictionary_limit": 12},
    "dictionaries, snappy": {"dictionary": True, "codec": "SNAPPY"},
    "dictionaries that end, snappy": {"dictionary": True, "dictionary_limit": 12, "codec": "SNAPPY"},
    "old dictionaries": {"dictionary": True, "dictionary_encoding": "PLAIN_DICTIONARY", "dictionary_offset": False},
    "one page": {"rows_per_page": None, "rows_per_group": None},
    "a row a page": {"rows_per_page": 1, "rows_per_group": 3},
    "statistics": {"statistics": "page"},
    "checksums": {"crc": True},
    "empty groups": {"rows_per_group": [0, 20, 0, 5]},
    "runs": {"runs": "rle"},
    "packed levels": {"runs": "packed"},
    "as datasets writes it": {"codec": {"label": "SNAPPY", "caption": "SNAPPY"}, "dictionary": {"label", "caption"},
                              "page_index": True},
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows(tmp_path, layout):
    how = LAYOUTS[layout]
    if "ZSTD" in str(how) and not parquets.have("ZSTD"):
        pytest.skip("there is no zstd to write with")
    write(tmp_path, **how)
    data = sluice.Dataset(tmp_path / "train-0.parquet")
    assert [(name, field.type) for name, field in data.fields.items()] == [
        ("image", "image"), ("label", "int"), ("caption", "text")]  # fmt: skip
    check_rows(data)
    assert data.classes == list(NAMES)


def need(codec):
    """Skips the test if `codec` cannot be written, or not be read."""
    library = {"BROTLI": "libbrotlidec", "LZ4": "liblz4", "LZ4_RAW": "liblz4"}
    if not parquets.have(codec):
        pytest.skip(f"there is no library to write {codec} with")
    return library.get(codec.split()[0])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("codec", ["BROTLI", "LZ4", "LZ4 frame", "LZ4 block", "LZ4_RAW"])
def test_codecs_that_may_be_missing(tmp_path, codec, version):
    library = need(codec)
    write(tmp_path, codec=codec, data_page_version=version, dictionary={"caption"})
    try:
        data = sluice.Dataset(tmp_path)
    except sluice.UnsupportedError as error:
        assert f"built without {library} (Debian: " in str(error)
        pytest.skip(f"this library was built without {library}")
    check_rows(data)
    loader = sluice.Loader(data, 10, "block", transform=T.RandomResizedCrop(16))
    assert sum(batch.rows for batch in loader) == ROWS


@pytest.mark.parametrize("codec", ["SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4", "LZ4_RAW"])
def test_pages_that_are_damaged(tmp_path, codec):
    """Changes bytes of compressed pages: each gives an error or a value; and a page that claims to be huge is rejected."""
    need(codec)
    write(tmp_path, "a.parquet", images=[image[:1500] * 20 for image in IMAGES], codec=codec)
    whole = (tmp_path / "a.parquet").read_bytes()
    footer = len(whole) - 8 - struct.unpack("<I", whole[-8:-4])[0]
    random = numpy.random.default_rng(2)
    refused = 0
    for _ in range(20):
        bytes_ = bytearray(whole)
        bytes_[int(random.integers(4, footer))] ^= int(random.integers(1, 256))
        (tmp_path / "b.parquet").write_bytes(bytes_)
        try:
            data = sluice.Dataset(tmp_path / "b.parquet")
        except sluice.UnsupportedError as error:
            if "built without" in str(error):
                pytest.skip(str(error))
            refused += 1
            continue
        except sluice.Error:
            refused += 1
            continue
        for i in range(0, ROWS, 9):
            try:
                data[i]
            except sluice.Error:
                refused += 1
    assert codec != "GZIP" or refused > 0  # gzip has a checksum
    if codec == "ZSTD":
        parquets.write(tmp_path / "c.parquet", {"x": Column("binary", [bytes(70_000_000)])}, codec=codec, statistics=False)
        with pytest.raises(sluice.CorruptError, match="1024 times"):
            sluice.Dataset(tmp_path / "c.parquet")[0]


def test_places_are_exact(tmp_path):
    layout = write(tmp_path)
    data = sluice.Dataset(tmp_path)
    for i, (offset, size) in enumerate(layout.spans["image.bytes"]):
        place = data.sample(i)  # includes the length prefix
        assert place["offset"] + 4 == offset and place["bytes"] - 4 == size


def test_training(tmp_path):
    """Each sample appears once in an epoch, for any number of ranks; batches equal those of a packed copy."""
    for i in range(3):
        write(tmp_path, f"train-{i}.parquet", codec=("UNCOMPRESSED", "SNAPPY", "UNCOMPRESSED")[i])
    data = sluice.Dataset(tmp_path)
    assert len(data) == 3 * ROWS
    seen = []
    for rank in range(2):
        loader = sluice.Loader(data, 7, True, seed=5, rank=rank, world_size=2, transform=T.RandomResizedCrop(16))
        seen += [int(i) for batch in loader for i in batch["index"].numpy()]
    assert sorted(seen) == list(range(3 * ROWS))
    sluice.pack(data, tmp_path / "packed", keep_order=True, keep_bytes=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert list(packed.fields) == list(data.fields)
    two = [sluice.Loader(of, 9, "block", seed=3, transform=T.RandomResizedCrop(16)) for of in (data, packed)]
    for one, other in itertools.zip_longest(*two):
        assert one["image"].numpy().tobytes() == other["image"].numpy().tobytes()
        assert one["label"].numpy().tolist() == other["label"].numpy().tolist()


@pytest.mark.parametrize("shuffle", [False, "block", "full"])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("resident", [0, 1])
def test_rows_that_share_pages(tmp_path, shuffle, workers, resident):
    """Rows of one page are decoded together; batches equal those of reading each row separately."""
    batches = []
    for codec in ("UNCOMPRESSED", "ZSTD"):
        (tmp_path / codec).mkdir()
        for i in range(2):
            write(tmp_path / codec, f"train-{i}.parquet", codec=codec)
        data = sluice.Dataset(tmp_path / codec)
        options = {"seed": 8, "num_workers": workers, "transform": T.RandomResizedCrop(16)}
        if resident == 0:
            options |= {"page_cache": "drop"}  # no copy in memory
        found = []
        with sluice.Loader(data.subset(range(5, 2 * ROWS)), 19, shuffle, **options) as loader:
            for _ in range(3):
                found += [[batch[name].numpy().tobytes() for name in ("image", "label", "index")] for batch in loader]
        batches.append(found)
    assert batches[0] == batches[1] and len(batches[0]) == 3 * 7


def test_nulls(tmp_path):
    images = [None if i % 4 == 1 else image for i, image in enumerate(IMAGES)]
    for how in ({}, {"dictionary": True}, {"codec": "SNAPPY", "dictionary": True}, {"codec": "SNAPPY"}):
        write(tmp_path, images=images, **how)
        data = sluice.Dataset(tmp_path / "train-0.parquet")
        for i in range(ROWS):
            assert data[i]["image"] == images[i]
        loader = sluice.Loader(data, 10, transform=T.RandomResizedCrop(16), on_bad_sample="mask")
        assert sum(int((batch["mask"].numpy() == 0).sum()) for batch in loader) == 15


KINDS = {
    "boolean": ([True, False, None], "int"),
    "int8": ([-128, None, 127], "int"),
    "uint16": ([0, 65535, None], "int"),
    "int32": ([-(2**31), 2**31 - 1, None], "int"),
    "uint32": ([2**32 - 1, None, 5], "int"),
    "int64": ([-(2**63), None, 2**63 - 1], "int"),
    "uint64": ([2**63 - 1, 1, None], "int"),
    "float": ([0.5, None, -1e30], "float"),
    "double": ([0.1, None, -1e300], "float"),
    "string": (["", "ä", None], "text"),
    "json": (["{}", None, "[1]"], "text"),
    "binary": ([b"", b"\0\1", None], "bytes"),
    "fixed[3]": ([b"abc", b"\0\1\2", None], "bytes"),
    "list<int32>": ([[1, -2], [], None], "tensor"),
    "list<uint8>": ([[255], None, [0, 1]], "tensor"),
    "list<float>": ([[0.5, -1.0], [], [3.0]], "tensor"),
    "list<double>": ([[0.1], [], None], "tensor"),
    "list<int64>": ([[2**62], [-1] * 9, []], "tensor"),
    "list<boolean>": ([[True, False], None, []], "tensor"),
}
ENCODINGS = {
    "DELTA_BINARY_PACKED": ["int8", "int32", "uint32", "int64", "list<int64>"],
    "DELTA_LENGTH_BYTE_ARRAY": ["string", "binary"],
    "DELTA_BYTE_ARRAY": ["string", "binary", "fixed[3]"],
    "RLE": ["boolean"],
    "BYTE_STREAM_SPLIT": ["float", "double", "int32", "int64", "fixed[3]"],
}
CASES = [(kind, "PLAIN", flag) for kind in KINDS for flag in (False, True)]
CASES += [(kind, encoding, False) for encoding, kinds in ENCODINGS.items() for kind in kinds]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind, encoding, dictionary", CASES)
def test_kinds(tmp_path, kind, encoding, dictionary, version):
    values, type_ = KINDS[kind]
    values = values * 50
    for lists in ("three", "two") if kind.startswith("list") else ("three",):
        parquets.write(tmp_path / "a.parquet", {"x": Column(kind, values, encoding=encoding, lists=lists)},
                       rows_per_group=40, rows_per_page=13, dictionary=dictionary, data_page_version=version,
                       codec="SNAPPY" if version == 2 else "UNCOMPRESSED")  # fmt: skip
        data = sluice.Dataset(tmp_path / "a.parquet")
        assert data.fields["x"].type == type_ and len(data) == len(values)
        for i, value in enumerate(values):
            found = data[i]["x"]
            if value is None:
                assert found is None if type_ in ("int", "float") else len(found) == 0
            elif type_ == "tensor":
                assert list(found) == value
            else:
                assert found == (int(value) if kind == "boolean" else
                                 struct.unpack("f", struct.pack("f", value))[0] if kind == "float" else value)


# The largest column is read per sample if it is stored unencoded; sizes in the file.
READ = {
    "string": lambda i: "ä" * (i % 90 + 30), "binary": lambda i: bytes([i]) * (i * 37 % 200), "fixed[90]": lambda i: bytes([i]) * 90,
    "list<int32>": lambda i: [i * 1000 + k for k in range(i * 13 % 60)], "list<uint32>": lambda i: [2**32 - 1 - i] * (i % 50),
    "list<int64>": lambda i: [i - 2**40] * (i % 30), "list<float>": lambda i: [i / 4] * (i % 60), "list<double>": lambda i: [i / 3] * (i % 30),
}  # fmt: skip
ITEM = {"string": 1, "binary": 1, "fixed[90]": 1, "list<int32>": 4, "list<uint32>": 4, "list<int64>": 8, "list<float>": 4,
        "list<double>": 8}  # fmt: skip


@pytest.mark.parametrize("layout", ["plain", "version 2", "one page", "a row a page", "runs", "packed levels", "empty groups"])
@pytest.mark.parametrize("kind", READ)
def test_values_that_are_read(tmp_path, kind, layout):
    """The values equal those of a compressed copy, which is kept in memory."""
    values = [None if i % 7 == 3 else READ[kind](i) for i in range(80)]
    columns = {"x": Column(kind, values), "label": Column("int64", range(80))}
    how = {"rows_per_group": 30, "rows_per_page": 9} | LAYOUTS[layout]
    parquets.write(tmp_path / "a.parquet", columns, **how)
    parquets.write(tmp_path / "b.parquet", columns, **how | {"codec": "SNAPPY"})
    data, kept = sluice.Dataset(tmp_path / "a.parquet"), sluice.Dataset(tmp_path / "b.parquet")
    prefix = 4 if kind in ("string", "binary") else 0
    for i in [*range(80), 5, 79]:
        sample, other = data[i], kept[i]
        bytes_ = 0 if values[i] is None else prefix + ITEM[kind] * len(values[i].encode() if kind == "string" else values[i])
        assert data.sample(i)["bytes"] == (bytes_ or 4) and kept.sample(i)["bytes"] == 4
        assert list(sample["x"]) == list(other["x"]) == list(values[i] or []) and sample["label"] == other["label"] == i
    assert not data.verify(progress=None).findings


@pytest.mark.parametrize("kind, how", [
    ("list<int16>", {}), ("list<uint8>", {}), ("list<boolean>", {}),  # stored in more bytes than their values need
    ("list<int32>", {"values_per_page": 7}),  # lists that continue in the next page
    ("list<int32>", {"dictionary": True}), ("string", {"dictionary": True}), ("list<int32>", {"codec": "GZIP"}),
])  # fmt: skip
def test_values_that_cannot_be_read_alone(tmp_path, kind, how):
    values = [None if i % 5 == 4 else "text" * (i % 40 + 20) if kind == "string" else [i % 2] * (i * 7 % 90) for i in range(50)]
    parquets.write(tmp_path / "a.parquet", {"x": Column(kind, values)}, **how)
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert data.sample(7)["bytes"] == 4
    assert all(list(data[i]["x"]) == list(value or []) for i, value in enumerate(values))
    if kind != "string":
        with pytest.raises(sluice.UnsupportedError, match="columns of large values"):
            sluice.Loader(data, 3, columns={"x": C.Window(length=2)})


def test_the_largest_column_is_read(tmp_path):
    """Other columns are not read per sample, unless they are large themselves; nor are columns with less than 64 bytes per row."""
    columns = {"a": Column("binary", [b"a" * 100] * 40), "b": Column("binary", [b"b" * 200] * 40), "c": Column("int64", range(40))}
    parquets.write(tmp_path / "a.parquet", columns)
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert data.sample(3)["bytes"] == 204 and data[3] == {"a": b"a" * 100, "b": b"b" * 200, "c": 3}
    data = sluice.Dataset(tmp_path / "a.parquet", fields={"a": "a", "c": "c"})
    assert data.sample(3)["bytes"] == 104 and data[3] == {"a": b"a" * 100, "c": 3}
    columns["b"] = Column("binary", [b"b" * 50] * 40)
    del columns["a"]
    parquets.write(tmp_path / "b.parquet", columns)
    assert sluice.Dataset(tmp_path / "b.parquet").sample(3)["bytes"] == 4
    columns["b"] = Column("binary", [b"b" * 5000 * (i % 20) for i in range(40)])
    columns["d"] = Column("fixed[40000]", [bytes([i]) * 40000 for i in range(40)])
    parquets.write(tmp_path / "c.parquet", columns)
    data = sluice.Dataset(tmp_path / "c.parquet")
    assert data.sample(3)["bytes"] == 15004 + 40000
    assert data[39]["d"] == bytes([39]) * 40000 and len(data[39]["b"]) == 95000


@pytest.mark.parametrize("version", [1, 2])
def test_windows_of_tokens(tmp_path, version):
    """Windows of lists, and of bytes chosen as a tensor; a list that contains a null has no windows, and is a bad sample."""
    values = [None if n == 4 else [(n * 31 + i) % 5000 for i in range(n * 13)] for n in range(40)]
    packed = [value and struct.pack(f"<{len(value)}i", *value) for value in values]
    parquets.write(tmp_path / "a.parquet", {"ids": Column("list<int32>", values)}, rows_per_group=15, rows_per_page=4,
                   data_page_version=version)  # fmt: skip
    parquets.write(tmp_path / "b.parquet", {"packed": Column("binary", packed)}, rows_per_group=15, rows_per_page=4,
                   data_page_version=version)  # fmt: skip
    for data in (sluice.Dataset(tmp_path / "a.parquet"), sluice.Dataset(tmp_path / "b.parquet", fields={"ids": "packed:i32[]"})):
        loader = sluice.Loader(data, 3, columns={"ids": C.Window(length=32, stride=16)}, drop_last=False)
        found = [row.tolist() for batch in loader for row in batch["ids"].numpy()]
        assert found == [value[i : i + 32] for value in values if value for i in range(0, len(value) - 31, 16)]
    values[20][3] = None
    parquets.write(tmp_path / "a.parquet", {"ids": Column("list<int32>", values)}, rows_per_page=4, data_page_version=version)
    data = sluice.Dataset(tmp_path / "a.parquet")
    with pytest.raises(sluice.UnsupportedError, match='"ids".*null'):
        data[20]
    assert list(data[21]["ids"]) == values[21] and list(data[19]["ids"]) == values[19]
    loader = sluice.Loader(data, 3, columns={"ids": C.Window(length=32, stride=16)}, drop_last=False)
    found = [row.tolist() for batch in loader for row in batch["ids"].numpy()]
    assert found == [value[i : i + 32] for n, value in enumerate(values) if value and n != 20 for i in range(0, len(value) - 31, 16)]


def test_windows_of_what_is_compressed(tmp_path):
    """Large values in compressed pages are read together with others, and have no byte range to cut a window from."""
    rows = [bytes([i]) * 60000 for i in range(40)]
    parquets.write(tmp_path / "a.parquet", {"ids": Column("binary", rows)}, rows_per_page=5, codec="SNAPPY")
    data = sluice.Dataset(tmp_path / "a.parquet", fields={"ids": "ids:u8[]"})
    assert bytes(data[7]["ids"]) == rows[7]
    with pytest.raises(sluice.UnsupportedError, match="stored in place"):
        sluice.Loader(data, 3, columns={"ids": C.Window(length=10)})


def test_parts_of_tensors(tmp_path):
    """Parts of values that are read separately equal those of a copy in shards, and fewer bytes are read."""
    rows = [numpy.random.default_rng(i).integers(0, 2**15, (64, 80, 16), "int16") for i in range(6)]
    parquets.write(tmp_path / "a.parquet", {"x": Column("binary", [row.tobytes() for row in rows])}, rows_per_page=2)
    data = sluice.Dataset(tmp_path / "a.parquet", fields={"x": "x:i16[64,80,16]"})
    sluice.pack(data, tmp_path / "packed", keep_order=True, progress=None)
    found = []
    for of in (data, sluice.Dataset(tmp_path / "packed")):
        columns = {"x": C.Tensor(shape=(8, 16, 16), part="random")}
        with sluice.Loader(of, 2, columns=columns, seed=5, page_cache="buffered") as loader:
            found.append([batch["x"].numpy().tobytes() for batch in loader])
            stats = loader.stats()
            assert of is not data or stats["bytes_read"] / stats["reads"] < rows[0].nbytes / 2
    assert found[0] == found[1]


def test_texts_that_are_no_utf_8(tmp_path):
    texts = [b"\xff\xfec\0a\0f\0", b"caf\xe9", b"\xed\xa0\x80", "é".encode(), b""]
    for dictionary in (False, True):
        parquets.write(tmp_path / "a.parquet", {"t": Column("string", texts)}, dictionary=dictionary)
        data = sluice.Dataset(tmp_path / "a.parquet")
        assert data.fields["t"].type == "text" and [bytes(data.read(i, "t")) for i in range(5)] == texts
        assert [sample["t"].encode("utf-8", "surrogateescape") for sample in data] == texts


def test_rows_that_are_refused(tmp_path):
    parquets.write(tmp_path / "a.parquet", {"n": Column("uint64", [1, 2**63, 3]),
                                            "l": Column("list<int32>", [[1], [2], [3, None]])})  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert data[0]["n"] == 1
    with pytest.raises(sluice.UnsupportedError, match='field "n".*2\\^63'):
        data[1]
    with pytest.raises(sluice.UnsupportedError, match='field "l".*null'):
        data[2]


def test_what_is_left_out(tmp_path):
    parquets.write(tmp_path / "a.parquet", {
        "x": Column("int32", [1, 2]), "tags": Column("list<string>", [["a"], []]),
        "deep": Column("list<list<int32>>", [[[1]], []]), "when": Column("int96", [b"0" * 12] * 2),
        "box": Column("struct<w:int32,h:int32>", [{"w": 1, "h": 2}, None]),
        "pictures": Column("list<image>", [[{"bytes": b"x", "path": None}], []])})  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert list(data.fields) == ["x", "deep", "box.w", "box.h"] and data.fields["deep"].shape == (0, 1)
    assert left_out(data) == {
        "columns that cannot be read: tags (lists of texts)": (1, "tags"),
        "columns that cannot be read: when (timestamps of 96 bits)": (1, "when")}  # fmt: skip
    with pytest.raises(sluice.InvalidError, match='column "tags": it contains lists of texts, which cannot be a field'):
        sluice.Dataset(tmp_path / "a.parquet", fields={"tags": "tags"})


def left_out(data):
    return {found.reason: (found.count, found.example) for found in data.left_out}


BOXES = [[[1, 2, 3, 4], [5, 6, 7, 8.5]], [], None, [[0, 0, 1, 1]]]
CATEGORIES = [[3, 1], [], None, [2]]
OBJECTS = {  # both layouts of Hugging Face's detection datasets
    "lists": ("struct<id:list<int64>,bbox:list<list<float>>,category:list<int64>,name:list<string>>",
              lambda boxes, labels: None if boxes is None else
              {"id": [0] * len(boxes), "bbox": boxes, "category": labels, "name": ["x"] * len(boxes)}),
    "structs": ("list<struct<id:int64,bbox:list<float>,category:int64,name:string>>",
                lambda boxes, labels: None if boxes is None else
                [{"id": 0, "bbox": box, "category": label, "name": "x"} for box, label in zip(boxes, labels)]),
}  # fmt: skip


@pytest.mark.parametrize("layout", OBJECTS)
@pytest.mark.parametrize("how", [{}, {"data_page_version": 2, "rows_per_page": 2}, {"values_per_page": 3, "rows_per_group": 3}])
def test_objects_in_pictures(tmp_path, layout, how):
    kind, made = OBJECTS[layout]
    inner = {"id": "int64", "bbox": {"feature": parquets.feature("float32"), "length": 4, "_type": "Sequence"},
             "category": ("a", "b", "c", "d"), "name": "string"}  # fmt: skip
    inner = {name: parquets.feature(spec) for name, spec in inner.items()}
    if layout == "lists":
        feature = {name: {"feature": spec, "_type": "Sequence"} for name, spec in inner.items()}
    else:
        feature = [inner]
    parquets.write(tmp_path / "a.parquet", {
        "image": Column("image", [{"bytes": jpeg(i), "path": "x"} for i in range(4)]),
        "objects": Column(kind, [made(*row) for row in zip(BOXES, CATEGORIES)])},
        metadata={"huggingface": parquets.features_json(image="image", objects=feature)}, **how)  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert list(data.fields) == ["image", "objects.id", "objects.bbox", "objects.category"]
    boxes = data.fields["objects.bbox"]
    assert (boxes.type, boxes.dtype, boxes.shape, boxes.meaning) == ("tensor", "float32", (0, 4), {"role": "boxes"})
    assert data.fields["objects.category"].meaning == {"per_box": True, "of": "objects.bbox"}
    assert data.classes == ["a", "b", "c", "d"]
    assert left_out(data) == {"columns that cannot be read: objects.name (lists of texts)": (1, "objects.name")}
    for i in range(4):
        found = numpy.frombuffer(data.read(i, "objects.bbox"), "<f4").reshape(-1, 4)
        assert found.tolist() == (BOXES[i] or [])
        assert numpy.frombuffer(data.read(i, "objects.category"), "<i8").tolist() == (CATEGORIES[i] or [])
    sluice.pack(data, tmp_path / "packed", keep_order=True, progress=None)
    assert bytes(sluice.Dataset(tmp_path / "packed").read(0, "objects.bbox")) == bytes(data.read(0, "objects.bbox"))


@pytest.mark.parametrize("layout", OBJECTS)
def test_boxes_that_are_none(tmp_path, layout):
    kind, made = OBJECTS[layout]
    rows = [[[1, 2, 3, 4]], [[1, 2, 3]], [[1, 2, 3, 4], []], [[1, 2, None, 4]], [[1, 2, 3, 4], None], [[1, 2], [3, 4, 5, 6, 7, 8]], [[4, 3, 2, 1]]]
    parquets.write(tmp_path / "a.parquet", {"objects": Column(kind, [made(boxes, [0] * len(boxes)) for boxes in rows])}, rows_per_group=3)
    data = sluice.Dataset(tmp_path / "a.parquet")
    for i, why in enumerate([None, "4 numbers", "4 numbers", "null", "null", "4 numbers", None]):
        if why is None:
            assert numpy.frombuffer(data.read(i, "objects.bbox"), "<f4").tolist() == rows[i][0]
            continue
        with pytest.raises(sluice.UnsupportedError, match=f'a.parquet.*sample {i}: field "objects.bbox": .*{why}'):
            data.read(i, "objects.bbox")


def test_lists_of_lists(tmp_path):
    parquets.write(tmp_path / "a.parquet", {
        "pairs": Column("list<list<int16>>", [[[1, 2], [3, 4]], [[5, 6]], []]),
        "ragged": Column("list<list<int16>>", [[[1, 2], [3]], [[5, 6]], []]),
        "late": Column("list<list<int16>>", [[[1, 2]], [[5, 6]], [[7]]]),
        "empty": Column("list<list<int16>>", [[[]], [], None]),
        "deepest": Column("list<list<list<int16>>>", [[[[1]]], [], []]),
        "bboxes": Column("list<list<double>>", [[[1, 2, 3, 4]], [], []])}, rows_per_group=2)  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert {name: field.shape for name, field in data.fields.items()} == {"pairs": (0, 2), "bboxes": (0, 4)}
    assert data.fields["bboxes"].meaning == {"role": "boxes"} and data.fields["pairs"].meaning == {}
    assert numpy.frombuffer(data.read(0, "pairs"), "<i2").tolist() == [1, 2, 3, 4]
    different = "(inner lists of different lengths)"
    assert left_out(data) == {
        f"columns that cannot be read: ragged {different}": (1, "ragged"),
        f"columns that cannot be read: late {different}": (1, "late"),
        f"columns that cannot be read: empty {different}": (1, "empty"),
        "columns that cannot be read: deepest (lists of lists of lists)": (1, "deepest")}  # fmt: skip


def test_pictures_are_known_by_their_bytes(tmp_path):
    """In a column of bytes, or in a structure without a description."""
    parquets.write(tmp_path / "a.parquet", {
        "jpg": Column("binary", [jpeg(1), jpeg(2)]), "sound": Column("image", [{"bytes": b"RIFF", "path": None}] * 2)})  # fmt: skip
    fields = sluice.Dataset(tmp_path / "a.parquet").fields
    assert fields["image"].type == "image" and fields["sound"].type == "bytes"


def test_fields_that_are_chosen(tmp_path):
    write(tmp_path)
    data = sluice.Dataset(tmp_path, fields={"picture": "image", "n": "label:int"})
    assert list(data.fields) == ["picture", "n"] and data[3]["picture"] == IMAGES[3] and data[3]["n"] == 3
    with pytest.raises(sluice.InvalidError, match='"nothing".*no column has this name'):
        sluice.Dataset(tmp_path, fields={"x": "nothing"})


def test_labels_are_classes(tmp_path):
    rows = {"x": Column("int32", [1, 2, 3, 4]), "label": Column("int64", [0, -1, 1, 2])}
    parquets.write(tmp_path / "a.parquet", rows,
                   metadata={"huggingface": parquets.features_json(x="int32", label=("cat", "dog"))})  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert [data[i]["label"] for i in range(3)] == [0, -1, 1]
    with pytest.raises(sluice.CorruptError, match="label out of range"):
        data[3]


PAIRS = {
    "plain": {},
    "snappy": {"codec": "SNAPPY"},
    "one of them": {"codec": {"left": "SNAPPY"}, "dictionary": {"right"}},
}


@pytest.mark.parametrize("layout", PAIRS)
def test_several_large_columns(tmp_path, layout):
    """A sample is stored in several byte ranges: each is read once, and all of them are one sample."""
    right = [None if i % 9 == 4 else jpeg(1000 + i) + bytes(30_000 + 10 * i) for i in range(ROWS)]
    parquets.write(tmp_path / "a.parquet", {
        "left": Column("image", [{"bytes": image, "path": None} for image in IMAGES]), "label": Column("int64", LABELS),
        "right": Column("image", [image and {"bytes": image, "path": None} for image in right]),
        "sound": Column("binary", [b"%05d" % i * 4000 for i in range(ROWS)])},
        rows_per_group=25, rows_per_page=7, **PAIRS[layout])  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    for i in list(range(ROWS)) + [3, 50, 4]:
        sample = data[i]
        assert sample["left"] == IMAGES[i] and sample["right"] == right[i] and sample["label"] == LABELS[i]
        assert sample["sound"] == b"%05d" % i * 4000
    assert not data.verify(progress=None).findings
    both = sluice.Dataset(tmp_path / "a.parquet") + data
    for i in (3, ROWS + 3, 5, ROWS + 6, 6):  # the same pages, in two datasets
        assert both[i]["left"] == IMAGES[i % ROWS] and both[i]["sound"] == b"%05d" % (i % ROWS) * 4000
    some = both[5:70]
    assert some[1]["left"] == IMAGES[6] and some[64]["sound"] == b"%05d" % 9 * 4000
    asked = {
        "left": sluice.columns.Image(transform=T.RandomResizedCrop(16)), "label": sluice.columns.Number(),
        "sound": sluice.columns.Ragged(length=20000)}  # fmt: skip
    chosen = sluice.Dataset(tmp_path / "a.parquet", fields={"left": "left", "label": "label", "sound": "sound"})
    sluice.pack(chosen, tmp_path / "packed", keep_bytes=True, keep_order=True, progress=None)
    two = [sluice.Loader(of, 8, True, seed=4, columns=asked) for of in (chosen, sluice.Dataset(tmp_path / "packed"))]
    count = 0
    for one, other in itertools.zip_longest(*two):
        for name in ("left", "label", "sound"):
            assert one[name].numpy().tobytes() == other[name].numpy().tobytes()
        count += one.rows
    assert count == ROWS // 8 * 8 or count == ROWS


def picture_lists(rows=40, most=4):
    """Rows of 0 to `most` images, or a null list; some images are null, or have no bytes."""
    lists = []
    for i in range(rows):
        count = (i * 7 + 3) % (most + 1)
        row = [{"bytes": jpeg(100 * i + k) + bytes([k + 1]) * (i * 37 % 900), "path": f"{i}-{k}.jpg"} for k in range(count)]
        if i % 6 == 1 and row:
            row[-1] = None
        if i % 6 == 2 and row:
            row[0] = {"bytes": None, "path": "elsewhere.jpg"}
        lists.append(None if i % 9 == 8 else row)
    return lists


def picture_at(row, k):
    return row[k]["bytes"] if row is not None and k < len(row) and row[k] is not None else None


LIST_LAYOUTS = {name: how for name, how in LAYOUTS.items() if name != "as datasets writes it"} | {
    "two levels": {"lists": "two"}, "bare": {"lists": "bare"}, "a value a page": {"values_per_page": 1},
    "pages that cut rows": {"values_per_page": 3}, "pages that cut rows, snappy": {"values_per_page": 3, "codec": "SNAPPY"},
    "pages that cut rows, dictionaries": {"values_per_page": 3, "codec": "SNAPPY", "dictionary": True, "dictionary_limit": 20},
}  # fmt: skip


@pytest.mark.parametrize("layout", LIST_LAYOUTS)
def test_lists_of_pictures(tmp_path, layout):
    """Each position of the list is a field; positions that a row lacks are missing values."""
    how = {"rows_per_group": 13, "rows_per_page": 4} | LIST_LAYOUTS[layout]
    if how.get("codec") == "ZSTD" and not parquets.have("ZSTD"):
        pytest.skip("there is no zstd to write with")
    lists = picture_lists()
    kind = how.pop("lists", "three")
    if kind != "three":  # these kinds have no null elements
        lists = [row and [picture or {"bytes": None, "path": None} for picture in row] for row in lists]
    if kind == "bare":  # nor null lists
        lists = [row or [] for row in lists]
    texts = [f"<image> {i}" for i in range(len(lists))]
    parquets.write(tmp_path / "a.parquet", {"images": Column("list<image>", lists, lists=kind),
                                            "text": Column("string", texts)}, **how)  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert [(name, field.type) for name, field in data.fields.items()] == [
        *((f"images.{k}", "image") for k in range(4)), ("text", "text")]  # fmt: skip
    for i in [*range(len(lists)), 3, 17, 2]:
        sample = data[i]
        assert [sample[f"images.{k}"] for k in range(4)] == [picture_at(lists[i], k) for k in range(4)], i
        assert sample["text"] == texts[i]
    assert not data.verify(progress=None).findings
    some = sluice.Dataset(tmp_path / "a.parquet", fields={"third": "images.2", "second": "images.1"})
    for i, row in enumerate(lists):
        assert some[i]["third"] == picture_at(row, 2) and some[i]["second"] == picture_at(row, 1)


def test_lists_are_read_in_one_piece(tmp_path):
    """Fields that are not chosen are not read, before or after them."""
    lists = [[{"bytes": jpeg(10 * i + k), "path": None} for k in range(3)] for i in range(20)]
    layout = parquets.write(tmp_path / "a.parquet", {"images": Column("list<image>", lists)}, rows_per_page=5)
    spans = layout.spans["images.list.element.bytes"]
    data = sluice.Dataset(tmp_path / "a.parquet")
    one = sluice.Dataset(tmp_path / "a.parquet", fields={"image": "images.1"})
    for i in range(20):
        offset, end = spans[3 * i][0] - 4, sum(spans[3 * i + 2])
        assert (data.sample(i)["offset"], data.sample(i)["bytes"]) == (offset, end - offset)
        assert (one.sample(i)["offset"] + 4, one.sample(i)["bytes"] - 4) == spans[3 * i + 1]
        assert one[i]["image"] == lists[i][1]["bytes"]


def test_training_on_lists_of_pictures(tmp_path):
    lists = picture_lists(60, 2)
    lists[0] = lists[0] or [{"bytes": jpeg(1), "path": None}]
    write = {"images": Column("list<image>", lists), "label": Column("int64", LABELS),
             "caption": Column("string", CAPTIONS), "image2": Column("image", [{"bytes": i, "path": None} for i in IMAGES])}
    feature = {"info": {"features": {"images": {"feature": {"_type": "Image"}, "_type": "Sequence"}}}}
    parquets.write(tmp_path / "a.parquet", write, rows_per_group=25, rows_per_page=7,
                   metadata={"huggingface": json.dumps(feature)})  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert list(data.fields) == ["images.0", "images.1", "label", "caption", "image2"]
    asked = {name: C.Image(transform=T.RandomResizedCrop(16), missing="blank") for name in ("images.0", "images.1", "image2")}
    sluice.pack(data, tmp_path / "packed", keep_bytes=True, keep_order=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    two = [sluice.Loader(of, 8, True, seed=4, columns=asked) for of in (data, packed)]
    rows = 0
    for one, other in itertools.zip_longest(*two):
        for name in asked:
            assert one[name].numpy().tobytes() == other[name].numpy().tobytes()
        rows += one.rows
    assert rows >= 56
    blank = {f"images.{k}": [i for i, row in enumerate(lists) if picture_at(row, k) is None] for k in range(2)}
    for batch in sluice.Loader(data, 60, columns=asked, seed=1):
        for name, empty in blank.items():
            black = {int(i) for i, picture in zip(batch["index"].numpy(), batch[name].numpy()) if not picture.any()}
            assert set(empty) == black


def test_lists_that_are_too_long(tmp_path):
    lists = [[{"bytes": jpeg(k), "path": None} for k in range(70)], []]
    parquets.write(tmp_path / "a.parquet", {"images": Column("list<image>", lists)})
    with pytest.raises(sluice.UnsupportedError, match="more than 64 columns"):
        sluice.Dataset(tmp_path / "a.parquet")
    data = sluice.Dataset(tmp_path / "a.parquet", fields={"a": "images.0", "b": "images.63"})
    assert data[0]["a"] == lists[0][0]["bytes"] and data[0]["b"] == lists[0][63]["bytes"] and data[1]["b"] is None
    with pytest.raises(sluice.InvalidError, match="by position"):
        sluice.Dataset(tmp_path / "a.parquet", fields={"a": "images"})


def test_lists_of_other_things(tmp_path):
    """Sounds, and images that are not in the file; lists without any image."""
    sounds = [[{"bytes": b"RIFF....WAVE", "path": "a.wav"}], []]
    elsewhere = [[{"bytes": None, "path": "a.jpg"}], []]
    parquets.write(tmp_path / "a.parquet", {"s": Column("list<image>", sounds), "x": Column("int32", [1, 2])})
    assert list(sluice.Dataset(tmp_path / "a.parquet").fields) == ["x"]
    parquets.write(tmp_path / "b.parquet", {"s": Column("list<image>", [[], None]), "x": Column("int32", [1, 2])})
    assert list(sluice.Dataset(tmp_path / "b.parquet").fields) == ["x"]
    feature = {"info": {"features": {"images": [{"_type": "Image"}]}}}
    parquets.write(tmp_path / "c.parquet", {"images": Column("list<image>", elsewhere)},
                   metadata={"huggingface": json.dumps(feature)})  # fmt: skip
    with pytest.raises(sluice.UnsupportedError, match="only their paths"):
        sluice.Dataset(tmp_path / "c.parquet")


@pytest.mark.parametrize("path", sorted(FOREIGN.glob("*.parquet")), ids=lambda path: path.stem)
def test_files_of_other_libraries(path):
    """Files of parquet-wasm (arrow-rs): all its codecs, pages of both versions, and lists of images."""
    told = json.loads((FOREIGN / "arrowjs_file.json").read_text())["columns"]

    def value(stored):
        if isinstance(stored, dict) and "bytes" in stored:
            return value(stored["bytes"])
        return bytes.fromhex(stored["hex"]) if isinstance(stored, dict) else stored

    lists = told.pop("images")
    most = max(len(row or []) for row in lists)
    columns = {name: [value(one) for one in values] for name, values in told.items() if name != "tags"}
    for k in range(most):
        columns[f"images.{k}"] = [value(row[k]) if row and k < len(row) else None for row in lists]
    try:
        data = sluice.Dataset(path)
    except sluice.UnsupportedError as error:
        assert "built without" in str(error)
        pytest.skip(str(error))
    assert set(data.fields) == set(columns) and most == 3
    for row in [*range(len(data)), 7, 31]:
        numbers = columns["nums"][row]
        if numbers and None in numbers:
            with pytest.raises(sluice.UnsupportedError, match='"nums".*null'):
                data[row]
            continue
        sample = data[row]
        for name, values in columns.items():
            found = sample[name]
            found = list(found) if name == "nums" and found is not None else found
            assert (found or None) == (values[row] or None), (name, row)


def test_splits_are_not_joined(tmp_path):
    write(tmp_path, "train-00000-of-00001.parquet")
    write(tmp_path, "test-00000-of-00001.parquet")
    with pytest.raises(sluice.InvalidError, match='its files belong to several splits: test, train: choose one .split "test"'):
        sluice.Dataset(tmp_path)
    check_rows(sluice.Dataset(tmp_path / "test-00000-of-00001.parquet"))
    write(tmp_path, "train-00001-of-00001.parquet")
    (tmp_path / "README.md").write_text("splits")
    train = sluice.Dataset(tmp_path, split="train")
    assert len(train) == 2 * ROWS and left_out(train) == {"files of other splits": (1, str(tmp_path / "test-00000-of-00001.parquet"))}
    check_rows(sluice.Dataset(tmp_path, split="test"))
    with pytest.raises(sluice.InvalidError, match='split "validation": no such split: the splits are test, train'):
        sluice.Dataset(tmp_path, split="validation")


def test_splits_of_shards_with_a_hash(tmp_path):
    """Named as by datasets' push_to_hub; all open, in order."""
    names = ["data/train-00000-of-00002-a09b74b3ef9c3b56.parquet", "data/train-00001-of-00002-c5d8b8b1a6b4e0a1.parquet",
             "data/test-00000-of-00001-0123456789abcdef.parquet"]  # fmt: skip
    (tmp_path / "data").mkdir()
    for number, name in enumerate(names):
        parquets.write(tmp_path / name, {"x": Column("int64", [10 * number, 10 * number + 1])})
    for path in tmp_path, tmp_path / "data":
        data = sluice.Dataset(path, split="train")
        assert [sample["x"] for sample in data] == [0, 1, 10, 11]
        assert [sample["x"] for sample in sluice.Dataset(path, split="test")] == [20, 21]
        with pytest.raises(sluice.InvalidError, match="the splits are test, train$"):
            sluice.Dataset(path, split="val")
    with pytest.raises(sluice.InvalidError, match="belong to several splits: test, train: choose"):
        sluice.Dataset(tmp_path / "data")


def test_splits_of_several_files(tmp_path):
    """A split's name opens all of its files; a full name opens that file only."""
    for number, name in enumerate(("train-a", "train-b", "eval-a", "train2017-00000-of-00001")):
        parquets.write(tmp_path / f"{name}.parquet", {"x": Column("int64", [number])})

    def rows(split):
        return [sample["x"] for sample in sluice.Dataset(tmp_path, split=split)]

    assert rows("train") == [0, 1, 3] and rows("val") == rows("eval") == rows("eval-a") == [2]
    assert rows("train-b") == [1] and rows("train2017") == [3]
    parquets.write(tmp_path / "train.parquet", {"x": Column("int64", [4])})
    assert rows("train") == [4]
    for name in ("cats-dev", "dogs-dev"):
        parquets.write(tmp_path / f"{name}.parquet", {"x": Column("int64", [0])})
    with pytest.raises(sluice.InvalidError, match='"val" may mean cats-dev, dogs-dev, eval-a: write one'):
        rows("val")
    long = "train" + "-of-the-first-half" * 5
    parquets.write(tmp_path / f"{long}.parquet", {"x": Column("int64", [7])})
    with pytest.raises(sluice.InvalidError, match=long):
        rows("nothing")
    assert rows(long) == [7]


def test_splits_of_configurations(tmp_path):
    """A repository's files may be in a folder for each configuration."""
    for number, folder in enumerate(("one/plain_text/{}-00000-of-00001", "two/default/{}/0000", "some/en/{}/0000", "some/fr/{}-00000-of-00001")):
        for split in ("test", "train"):
            path = tmp_path / f"{folder.format(split)}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            parquets.write(path, {"x": Column("int64", [2 * number + (split == "train")])})
    (tmp_path / "one/README.md").write_text("a card")
    for number, name in enumerate(("one", "two", "some/en", "some/fr")):
        assert [sluice.Dataset(tmp_path / name, split=split)[0]["x"] for split in ("test", "train")] == [2 * number, 2 * number + 1]
    with pytest.raises(sluice.InvalidError, match='one/plain_text: split "val": no such split: the splits are test, train'):
        sluice.Dataset(tmp_path / "one", split="val")
    words = r'some: split "train": it has no splits itself, but its folders have some: "en" .*, "fr" \(parquet\): open one of them'
    with pytest.raises(sluice.InvalidError, match=words):
        sluice.Dataset(tmp_path / "some", split="train")
    (tmp_path / "one/scripts").mkdir()
    with pytest.raises(sluice.InvalidError, match=r'but its folder has some: "plain_text" \(parquet\): open that'):
        sluice.Dataset(tmp_path / "one", split="train")


def test_files_of_spark(tmp_path):
    parquets.write(tmp_path / "part-00000-0a1b-c000.snappy.parquet", {"x": Column("int64", [1])})
    for name in ("_SUCCESS", "_metadata", "_common_metadata", ".part-0.crc", "README.md", "notes.txt"):
        (tmp_path / name).write_text("x")
    data = sluice.Dataset(tmp_path)
    assert len(data) == 1 and left_out(data) == {"files beside those of the dataset": (1, str(tmp_path / "notes.txt"))}


def test_splits_of_a_repository(tmp_path):
    """As on Hugging Face's hub: files in data/, or a folder for each split."""
    for folder, name in (("a/data", "train-00000-of-00001.parquet"), ("a/data", "validation-00000-of-00001.parquet"),
                         ("b/train", "0000.parquet"), ("b/test", "0000.parquet")):  # fmt: skip
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        write(tmp_path / folder, name)
        (tmp_path / folder[0] / "README.md").write_text("a card")
    check_rows(sluice.Dataset(tmp_path / "a", split="train"))
    check_rows(sluice.Dataset(tmp_path / "a", split="val"))
    check_rows(sluice.Dataset(tmp_path / "b", split="test"))
    with pytest.raises(sluice.InvalidError, match="data"):
        sluice.Dataset(tmp_path / "a")
    with pytest.raises(sluice.InvalidError, match="train"):
        sluice.Dataset(tmp_path / "b")
    parquets.write(tmp_path / "a" / "part-00000-c000.snappy.parquet", {"x": Column("int64", [1])})
    with pytest.raises(sluice.InvalidError, match='split "train": none of its files is named like a split|folder "data"'):
        sluice.Dataset(tmp_path / "a", split="train")

@pytest.mark.parametrize("columns, words", [
    ({"label": Column("int64", [1])}, 'it lacks column "text", which ".*a.parquet" has'),
    ({"label": Column("int64", [1]), "text": Column("string", ["x"]), "new": Column("int8", [1])},
     'its column "new" is not in ".*a.parquet"'),
    ({"label": Column("int32", [1]), "text": Column("string", ["x"])}, 'its column "label" contains int32, but that of ".*a.parquet" contains int64'),
    ({"label": Column("int64", [1]), "text": Column("list<string>", [["x"]])},
     'its column "text" contains lists of text, but that of ".*a.parquet" contains text'),
])  # fmt: skip
def test_other_columns(tmp_path, columns, words):
    parquets.write(tmp_path / "a.parquet", {"label": Column("int64", [1]), "text": Column("string", ["x"])})
    parquets.write(tmp_path / "b.parquet", columns)
    with pytest.raises(sluice.InvalidError, match=f"b.parquet: {words}"):
        sluice.Dataset(tmp_path)


@pytest.mark.parametrize("how", [{}, {"codec": "SNAPPY", "rows_per_group": 3}])
def test_columns_in_another_order(tmp_path, how):
    """They are matched by name, in reading and in every check."""
    made = {
        "image": Column("image", [{"bytes": jpeg(i) + bytes(200_000 * (i % 2)), "path": None} for i in range(8)]),
        "label": Column("int64", list(range(8))), "other": Column("int64", [-i for i in range(8)]),
        "text": Column("string", [f"text {i}" for i in range(8)]), "nums": Column("list<int32>", [[i] * i for i in range(8)])}  # fmt: skip
    orders = [list(made), list(reversed(made)), ["text", "nums", "image", "other", "label"]]
    for number, order in enumerate(orders):
        parquets.write(tmp_path / f"{number}.parquet", {name: made[name] for name in order}, crc=True, **how)
    data, one = sluice.Dataset(tmp_path), sluice.Dataset(tmp_path / "0.parquet")
    assert len(data) == 24 and data.fields == one.fields
    for i in range(24):
        assert all(bytes(data.read(i, name)) == bytes(one.read(i % 8, name)) for name in ("image", "text", "nums"))
        assert (data[i]["label"], data[i]["other"]) == (i % 8, -(i % 8))
    assert data.verify(progress=None).findings == []
    file = tmp_path / "2.parquet"
    damaged = bytearray(file.read_bytes())
    damaged[damaged.index(b"text 5") + 5] ^= 1
    file.write_bytes(damaged)
    if not how:
        assert 'column "text"' in str(sluice.Dataset(tmp_path).verify(progress=None).findings)


def test_pictures_that_are_elsewhere(tmp_path):
    parquets.write(tmp_path / "a.parquet", {"image": Column("image", [{"bytes": None, "path": "a.jpg"}] * 4)},
                   metadata={"huggingface": parquets.features_json(image="image")})  # fmt: skip
    with pytest.raises(sluice.UnsupportedError, match="only their paths"):
        sluice.Dataset(tmp_path / "a.parquet")


def test_damage(tmp_path):
    """Cut or changed anywhere, a file gives an error or its rows, and nothing else."""
    small = {"image": Column("binary", [jpeg(i) for i in range(9)]), "label": Column("int64", list(range(9))),
             "t": Column("list<int32>", [[1, 2]] * 9)}  # fmt: skip
    path, changed = tmp_path / "a.parquet", tmp_path / "b.parquet"
    parquets.write(path, small, codec={"t": "SNAPPY"}, dictionary={"label"}, rows_per_page=4)
    whole = path.read_bytes()
    for size in itertools.chain(range(0, 200), range(200, len(whole), 97), range(len(whole) - 40, len(whole))):
        changed.write_bytes(whole[:size])
        with pytest.raises(sluice.Error):
            sluice.Dataset(changed)
    footer = len(whole) - 8 - struct.unpack("<I", whole[-8:-4])[0]
    random = numpy.random.default_rng(1)
    for _ in range(400):
        bytes_ = bytearray(whole)
        bytes_[int(random.integers(footer, len(whole)))] = int(random.integers(0, 256))
        changed.write_bytes(bytes_)
        try:
            data = sluice.Dataset(changed)
            for i in range(min(len(data), 9)):
                data[i]
        except sluice.Error:
            pass


def test_what_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(parquets, "snappy", lambda data: data)
    monkeypatch.setitem(parquets.CODECS, "SNAPPY", 3)  # LZO
    write(tmp_path, "lzo.parquet", codec="SNAPPY")
    with pytest.raises(sluice.UnsupportedError, match="an unsupported compression"):
        sluice.Dataset(tmp_path / "lzo.parquet")
    (tmp_path / "no.parquet").write_bytes(b"")
    with pytest.raises(sluice.CorruptError, match="too short"):
        sluice.Dataset(tmp_path / "no.parquet")
    (tmp_path / "no.parquet").write_bytes(b"PAR1" + bytes(20) + b"PARE")
    with pytest.raises(sluice.UnsupportedError, match="encrypted"):
        sluice.Dataset(tmp_path / "no.parquet")
    parquets.write(tmp_path / "none.parquet", {"x": Column("int32", [])})
    with pytest.raises(sluice.InvalidError, match="no row"):
        sluice.Dataset(tmp_path / "none.parquet")


def test_many_files_with_few_descriptors(tmp_path):
    for i in range(80):
        parquets.write(tmp_path / f"{i:03}.parquet", {"a": parquets.Column("int64", [i])})
    few = "import resource, sys, sluice; resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48)); print(len(sluice.Dataset(sys.argv[1])))"
    done = subprocess.run([sys.executable, "-c", few, tmp_path], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("80\n", "")

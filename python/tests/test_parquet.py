# SPDX-License-Identifier: Apache-2.0
"""Parquet files, written by parquets.py from their specification, and read as they lie."""
import io
import itertools
import struct

import numpy
import parquets
import pytest
from parquets import Column
from PIL import Image

import sluice
from sluice import columns as C
from sluice import transforms as T


def jpeg(number, size=(40, 30)):
    out = io.BytesIO()
    Image.fromarray(numpy.random.default_rng(number).integers(0, 255, (*size[::-1], 3), "uint8")).save(out, "JPEG")
    return out.getvalue()


def large(count):
    """JPEGs with so much behind them that their column is read, and not kept in memory."""
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


def test_places_are_exact(tmp_path):
    layout = write(tmp_path)
    data = sluice.Dataset(tmp_path)
    for i, (offset, size) in enumerate(layout.spans["image.bytes"]):
        place = data.sample(i)  # with the length in front
        assert place["offset"] + 4 == offset and place["bytes"] - 4 == size


def test_training(tmp_path):
    """Each sample once in an epoch, by any number of ranks; the same batches as of a packed copy."""
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


def test_nulls(tmp_path):
    images = [None if i % 4 == 1 else image for i, image in enumerate(IMAGES)]
    for how in ({}, {"dictionary": True}, {"codec": "SNAPPY", "dictionary": True}, {"codec": "SNAPPY"}):
        write(tmp_path, images=images, **how)
        data = sluice.Dataset(tmp_path / "train-0.parquet")
        for i in range(ROWS):
            if i % 4 != 1:
                assert data[i]["image"] == images[i]
            elif how == {"codec": "SNAPPY"}:  # whether it is there only its page tells
                with pytest.raises(sluice.CorruptError, match="null"):
                    data[i]
            else:
                assert data[i]["image"] is None
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
    assert list(sluice.Dataset(tmp_path / "a.parquet").fields) == ["x", "box.w", "box.h"]


def test_pictures_are_known_by_their_bytes(tmp_path):
    """Of a column that is bytes, or a structure that nothing is said of."""
    parquets.write(tmp_path / "a.parquet", {
        "jpg": Column("binary", [jpeg(1), jpeg(2)]), "sound": Column("image", [{"bytes": b"RIFF", "path": None}] * 2)})  # fmt: skip
    fields = sluice.Dataset(tmp_path / "a.parquet").fields
    assert fields["image"].type == "image" and fields["sound"].type == "bytes"


def test_fields_that_are_chosen(tmp_path):
    write(tmp_path)
    data = sluice.Dataset(tmp_path, fields={"picture": "image", "n": "label:int"})
    assert list(data.fields) == ["picture", "n"] and data[3]["picture"] == IMAGES[3] and data[3]["n"] == 3
    with pytest.raises(sluice.InvalidError, match='"nothing".*there is none'):
        sluice.Dataset(tmp_path, fields={"x": "nothing"})


def test_labels_are_classes(tmp_path):
    rows = {"x": Column("int32", [1, 2, 3, 4]), "label": Column("int64", [0, -1, 1, 2])}
    parquets.write(tmp_path / "a.parquet", rows,
                   metadata={"huggingface": parquets.features_json(x="int32", label=("cat", "dog"))})  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    assert [data[i]["label"] for i in range(3)] == [0, -1, 1]
    with pytest.raises(sluice.CorruptError, match="none of the classes"):
        data[3]


PAIRS = {
    "plain": {},
    "snappy": {"codec": "SNAPPY"},
    "one of them": {"codec": {"left": "SNAPPY"}, "dictionary": {"right"}},
}


@pytest.mark.parametrize("layout", PAIRS)
def test_several_large_columns(tmp_path, layout):
    """A sample lies in as many places: each is read once, and all of them are one sample."""
    right = [None if i % 9 == 4 else jpeg(1000 + i) + bytes(30_000 + 10 * i) for i in range(ROWS)]
    parquets.write(tmp_path / "a.parquet", {
        "left": Column("image", [{"bytes": image, "path": None} for image in IMAGES]), "label": Column("int64", LABELS),
        "right": Column("image", [image and {"bytes": image, "path": None} for image in right]),
        "sound": Column("binary", [b"%05d" % i * 4000 for i in range(ROWS)])},
        rows_per_group=25, rows_per_page=7, **PAIRS[layout])  # fmt: skip
    data = sluice.Dataset(tmp_path / "a.parquet")
    for i in list(range(ROWS)) + [3, 50, 4]:
        if layout == "snappy" and right[i] is None:
            continue
        sample = data[i]
        assert sample["left"] == IMAGES[i] and sample["right"] == right[i] and sample["label"] == LABELS[i]
        assert sample["sound"] == b"%05d" % i * 4000
    assert len(data.verify(progress=None).findings) == (sum(image is None for image in right) if layout == "snappy" else 0)
    both = sluice.Dataset(tmp_path / "a.parquet") + data
    for i in (3, ROWS + 3, 5, ROWS + 6, 6):  # the same pages, of two datasets
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


def test_splits_are_not_joined(tmp_path):
    write(tmp_path, "train-00000-of-00001.parquet")
    write(tmp_path, "test-00000-of-00001.parquet")
    with pytest.raises(sluice.InvalidError, match="splits"):
        sluice.Dataset(tmp_path)
    check_rows(sluice.Dataset(tmp_path / "test-00000-of-00001.parquet"))


def test_other_columns(tmp_path):
    write(tmp_path, "train-0.parquet")
    parquets.write(tmp_path / "train-1.parquet", {"label": Column("int64", [1])})
    with pytest.raises(sluice.InvalidError, match="train-1.parquet.*columns are not those"):
        sluice.Dataset(tmp_path)


def test_pictures_that_are_elsewhere(tmp_path):
    parquets.write(tmp_path / "a.parquet", {"image": Column("image", [{"bytes": None, "path": "a.jpg"}] * 4)},
                   metadata={"huggingface": parquets.features_json(image="image")})  # fmt: skip
    with pytest.raises(sluice.UnsupportedError, match="only their paths"):
        sluice.Dataset(tmp_path / "a.parquet")


def test_damage(tmp_path):
    """Wherever a file is cut or changed, there is an error or the rows, and nothing else."""
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


def test_what_cannot_be_read(tmp_path):
    write(tmp_path, "gzip.parquet", codec="GZIP")
    with pytest.raises(sluice.UnsupportedError, match="number 2 of Parquet's codecs"):
        sluice.Dataset(tmp_path / "gzip.parquet")
    (tmp_path / "no.parquet").write_bytes(b"")
    with pytest.raises(sluice.CorruptError, match="too short"):
        sluice.Dataset(tmp_path / "no.parquet")
    (tmp_path / "no.parquet").write_bytes(b"PAR1" + bytes(20) + b"PARE")
    with pytest.raises(sluice.UnsupportedError, match="encrypted"):
        sluice.Dataset(tmp_path / "no.parquet")
    parquets.write(tmp_path / "none.parquet", {"x": Column("int32", [])})
    with pytest.raises(sluice.InvalidError, match="no row"):
        sluice.Dataset(tmp_path / "none.parquet")

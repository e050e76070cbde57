# SPDX-License-Identifier: Apache-2.0
"""LitData's chunks, written by the tests' own writer (litdata_files.py)."""
import io
import json
import struct

import litdata_files as lit
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


def rows(data):
    return [{name: plain(value) for name, value in sample.items()} for sample in data]


FORMATS = [
    "jpeg", "image:png", "int", "float", "bool", "str", "text", "bytes", "file:mp4", "video:mp4", "tensor", "numpy",
    "no_header_tensor", "no_header_numpy", "tifffile", "file:jpeg",
]  # fmt: skip


def leaves_of(number):
    return [
        encoded(number), encoded(number, "PNG"), number * 10**15 - 2**62, number / 10, number % 2 == 0, "ä" * number,
        f"text {number}", bytes(range(number)), b"mp4" * number, b"mp4", numpy.full((2, number + 1), number, "i8"),
        numpy.full((1, 2, 300 + number), number, "u2"),
        numpy.arange(number, dtype="f8"), numpy.arange(2 * number + 1, dtype="i4"), b"II*\0", encoded(number + 1),
    ]  # fmt: skip


TYPES = "image image int float int text text bytes bytes bytes tensor tensor tensor tensor bytes image".split()


def chunk_of(folder, number=0):
    return folder / f"chunk-0-{number}.bin"


def change(folder, edit):
    """Writes another index.json."""
    index = json.loads((folder / "index.json").read_text())
    edit(index)
    (folder / "index.json").write_text(json.dumps(index))


def config(folder, **changes):
    change(folder, lambda index: index["config"].update(changes))


def check(data, samples, names):
    assert data.format == "litdata" and len(data) == len(samples) and list(data.fields) == names
    for found, wanted in zip(data, samples):
        for name, given in zip(names, wanted):
            value = plain(found[name])
            if isinstance(given, numpy.ndarray):
                several = data.fields[name].shape.count(0) > 1  # flat in that case
                assert value.dtype == given.dtype and value.shape == ((given.size,) if several else given.shape), name
                assert (value.ravel() == given.ravel()).all(), name
            else:
                assert (value or None) == (given or None), name


@pytest.mark.parametrize("tensor_order", [">", "<"])
def test_every_format(tmp_path, tensor_order):
    samples = [leaves_of(number) for number in range(17)]
    lit.write(tmp_path, FORMATS, samples, chunk_samples=5, tensor_order=tensor_order)
    names = [str(number) for number in range(len(FORMATS))]
    data = sluice.Dataset(tmp_path)
    check(data, samples, names)
    check(sluice.Dataset(tmp_path / "index.json"), samples, names)
    assert [field.type for field in data.fields.values()] == TYPES
    assert data.fields["10"] == ("10", "tensor", "int64", (0, 0))
    assert data.fields["13"] == ("13", "tensor", "int32", (0,))
    assert data.verify(decode=True, progress=None)[2] == []
    sluice.pack(data, tmp_path / "packed", keep_order=True, keep_bytes=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    assert packed.verify(decode=True, progress=None)[2] == []
    for before, after in zip(rows(data), rows(packed)):
        assert [(name, str(value)) for name, value in before.items()] == [(name, str(value)) for name,
            value in after.items()]


TREE = {"image": 0, "meta": {"id": 0, "boxes": [0, (0,)]}, 7: 0}


@pytest.mark.parametrize(
    "tree, names",
    [
        ({"image": 0, "class": 0}, ["image", "label"]), ([0, 0], ["0", "1"]), ((0, 0), ["0", "1"]), (0, ["0"]),
        (TREE, ["image", "meta.id", "meta.boxes.0", "meta.boxes.1.0", "7"]),
        ([[0, 0], {"a": 0}], ["0.0", "0.1", "1.a"]),
        ({"b": 0, "a": 0}, ["b", "a"]), ({"": 0, "ä b": 0}, ["0", "___b"]), ({"x": [], "k": 0}, ["k"]),
    ],
)  # fmt: skip
def test_names(tmp_path, tree, names):
    values = list(range(len(names)))
    lit.write(tmp_path, ["int"] * len(names), [values], data_spec=tree)
    data = sluice.Dataset(tmp_path)
    assert list(data.fields) == names and list(data[0].values()) == values


def test_other_containers(tmp_path):
    lit.write(tmp_path, ["int", "int"], [[5, 6]])

    def spec(kind, context):
        config(tmp_path, data_spec=lit.dump({"type": kind, "context": context, "children_spec": [lit.LEAF] * 2}))
        return list(sluice.Dataset(tmp_path).fields)

    keys = {"default_factory_module": "builtins", "default_factory_name": "int", "dict_context": ["b", "a"]}
    assert spec("collections.OrderedDict", '["b", "a"]') == ["b", "a"]
    assert spec("collections.defaultdict", keys) == ["b", "a"]
    assert spec("collections.deque", "null") == spec("collections.namedtuple", '"my.Pair"') == ["0", "1"]
    for context in ("no JSON", None, '["b"'):
        assert spec("builtins.dict", context) == ["0", "1"]
    assert spec("builtins.dict", '["b"]') == ["b", "1"]
    config(tmp_path, data_spec=None)
    assert list(sluice.Dataset(tmp_path).fields) == ["0", "1"]


@pytest.mark.parametrize(
    "spec, words",
    [
        ([1, {}], "not a tree"), ([1, 5], "not a tree"),
        ([1, {"type": "builtins.list", "context": "null", "children_spec": [lit.LEAF] * 2}], "more leaves"),
        ([1, {"type": "builtins.list", "context": "null", "children_spec": []}], "fewer leaves"),
        ([1, {"type": "builtins.dict", "context": json.dumps(["x" * 256]), "children_spec": [lit.LEAF]}],
            "more than 255"),
    ],
)  # fmt: skip
def test_trees_that_are_none(tmp_path, spec, words):
    lit.write(tmp_path, ["int"], [[5]])
    config(tmp_path, data_spec=json.dumps(spec))
    with pytest.raises((CORRUPT, UNSUPPORTED), match=words):
        sluice.Dataset(tmp_path)


def test_deep_trees(tmp_path):
    tree = 0
    for _ in range(32):
        tree = [tree]
    lit.write(tmp_path, ["int"], [[5]], data_spec=tree)
    assert list(sluice.Dataset(tmp_path).fields) == [("0" + ".0" * 31)[-31:]]
    lit.write(tmp_path, ["int"], [[5]], data_spec=[tree])
    with pytest.raises(CORRUPT, match="at most 32 levels"):
        sluice.Dataset(tmp_path)
    config(tmp_path, data_spec="[1, " + '{"type": "l", "context": null, "children_spec": [' * 1900)
    assert list(sluice.Dataset(tmp_path).fields) == ["0"]  # not JSON
    config(tmp_path, data_spec="[1, " + '{"type": "l", "context": null, "children_spec": [' * 900 + "]}" * 900 + "]")
    with pytest.raises(CORRUPT, match="at most 32 levels"):
        sluice.Dataset(tmp_path)


def test_raw_pictures(tmp_path):
    pixels = [numpy.random.default_rng(n).integers(0, 255, (3 + n, 5, 3), dtype=numpy.uint8) for n in range(4)]
    lit.write(tmp_path, ["pil", "int"], [[value, n] for n, value in enumerate(pixels)], data_spec={"a": 0, "n": 0})
    data = sluice.Dataset(tmp_path)
    assert list(data.fields) == ["image", "n"]
    for number, wanted in enumerate(pixels):
        assert (numpy.asarray(data.decode(number)) == wanted).all()


@pytest.mark.parametrize("name", sorted(set(lit.TORCH) | set(lit.NUMPY)))
def test_dtypes(tmp_path, name):
    size = {"bfloat16": 2, "bool": 1}.get(name) or int("".join(c for c in name if c.isdigit())) // 8
    raw = bytes(range(3 * size)) if name != "bool" else b"\0\1\1"
    for form, numbers in (("tensor", lit.TORCH), ("numpy", lit.NUMPY)):
        if name not in numbers:
            continue
        head = struct.pack((">" if form == "tensor" else "<") + "4I", numbers[name], 2, 3, 1)
        lit.write(tmp_path, ["bytes", "bytes"], [[raw, head + raw]], data_spec={"a": 0, "b": 0})
        config(tmp_path, data_format=[f"no_header_{form}:{numbers[name]}", form])
        if name.startswith("complex"):
            with pytest.raises(UNSUPPORTED, match="dtype"):
                sluice.Dataset(tmp_path)
            continue
        data = sluice.Dataset(tmp_path)
        assert data.fields["a"].dtype == data.fields["b"].dtype == name
        assert data.fields["a"].shape == (0,) and data.fields["b"].shape == (0, 0)
        assert bytes(data[0]["a"]) == bytes(data[0]["b"]) == raw


def test_scalars_and_nothing(tmp_path):
    values = [[numpy.array(2.5, "f4"), numpy.zeros((0, 3), "i8"), numpy.zeros(0, "u1")]] * 2
    lit.write(tmp_path, ["tensor", "tensor", "no_header_numpy"], values)
    data = sluice.Dataset(tmp_path)
    assert data.fields["0"].shape == () and plain(data[1]["0"]) == 2.5
    assert len(data[1]["1"]) == 0 and len(data[1]["2"]) == 0


def test_training(tmp_path):
    samples = [[path.read_bytes(), i // 8] for i, path in enumerate(training.make_photos(tmp_path))]
    lit.write(tmp_path / "lit", ["jpeg", "int"], samples, data_spec={"image": 0, "label": 0}, chunk_samples=7)
    training.check(tmp_path / "lit", tmp_path)


def test_each_sample_once(tmp_path):
    lit.write(tmp_path, ["int", "str"], [[n, "x" * n] for n in range(100)], data_spec={"n": 0, "t": 0}, chunk_bytes=500)
    assert len(list(tmp_path.glob("*.bin"))) > 5
    loader = sluice.Loader(tmp_path, batch_size=7, shuffle=True, columns={"n": sluice.columns.Number()})
    assert sorted(n for batch in loader for n in batch["n"].numpy().tolist()) == list(range(100))


def test_several_folders(tmp_path):
    for part in range(3):
        samples = [[10 * part + n] for n in range(4)]
        lit.write(tmp_path / f"p{part}", ["int"], samples, chunk_samples=3,
            item_loader=None if part else "PyTreeLoader")
    joined = sluice.Dataset([tmp_path / "p2", tmp_path / "p1"])
    assert [sample["0"] for sample in joined] == [20, 21, 22, 23, 10, 11, 12, 13]
    for order in ((0, 1, 2), (2, 1, 0)):  # releases that name their item_loader, and those that do not
        joined = sluice.Dataset([tmp_path / f"p{part}" for part in order])
        assert [sample["0"] for sample in joined] == [10 * part + n for part in order for n in range(4)]
    with pytest.raises(INVALID, match='has no index.json, but its folder "p[0-2]" has one: name the folders'):
        sluice.Dataset(tmp_path)
    lit.write(tmp_path / "p3", ["float"], [[1.0]])
    with pytest.raises(UNSUPPORTED, match="its samples differ from those of the first"):
        sluice.Dataset([tmp_path / "p0", tmp_path / "p3"])


def test_fingerprints(tmp_path):
    def made(formats, samples, **options):
        lit.write(tmp_path, formats, samples, **options)
        return sluice.Dataset(tmp_path).fingerprint

    found = [
        made(["str", "int"], [["a", 1], ["bcd", 2]]), made(["str", "int"], [["abc", 1], ["d", 2]]),
        made(["bytes", "int"], [[b"a", 1], [b"bcd", 2]]), made(["str", "float"], [["a", 1], ["bcd", 2]]),
        made(["str", "int"], [["a", 1], ["bcd", 2]], data_spec={"x": 0, "y": 0}),
        made(["str", "int"], [["a", 1], ["bcd", 2]], data_spec={"x": 0, "z": 0}),
    ]  # fmt: skip
    assert len(set(found)) == len(found) and made(["str", "int"], [["a", 1], ["bcd", 2]]) == found[0]


RELEASES = [{"old_chunk_bytes": True}, {"updated_at": False}, {"item_loader": None}, {"rank": 3}]


@pytest.mark.parametrize("options", RELEASES)
def test_other_releases(tmp_path, options):
    lit.write(tmp_path, ["int", "str"], [[n, "x" * n] for n in range(7)], chunk_samples=3, **options)
    assert [sample["0"] for sample in sluice.Dataset(tmp_path)] == list(range(7))


# ---- tokens ----


TOKENS = [("no_header_tensor", "int32"), ("no_header_numpy", "uint16"), ("no_header_tensor", "int64")]


@pytest.mark.parametrize("form, dtype", TOKENS)
def test_tokens(tmp_path, form, dtype):
    """Blocks as in the original: they span texts, but never chunks."""
    texts = [numpy.arange(100 * n, 100 * n + 5 + 13 * n % 40).astype(dtype) for n in range(30)]
    samples = [[text] for text in texts]
    index = lit.write(tmp_path, [form], samples, data_spec=0, chunk_samples=200, item_loader="TokensLoader")
    data = sluice.Dataset(tmp_path)
    assert data.format == "litdata" and data.fields["tokens"] == ("tokens", "tensor", dtype, (0,))
    assert len(data) == len(index["chunks"]) > 2
    chunks = [plain(sample["tokens"]) for sample in data]
    assert [len(chunk) for chunk in chunks] == [chunk["dim"] for chunk in index["chunks"]]
    assert (numpy.concatenate(chunks) == numpy.concatenate(texts)).all()
    columns = {"x": sluice.columns.Window("tokens", length=16, dtype="int64")}
    blocks = [chunk[at : at + 16].tolist() for chunk in chunks for at in range(0, len(chunk) - 15, 16)]
    loader = sluice.Loader(data, batch_size=1, columns=columns)
    assert [batch["x"].numpy()[0].tolist() for batch in loader] == blocks
    loader = sluice.Loader(data, batch_size=1, columns=columns, shuffle=True, seed=1)
    shuffled = [batch["x"].numpy()[0].tolist() for batch in loader]
    assert shuffled != blocks and sorted(shuffled) == sorted(blocks)
    assert data.verify(progress=None)[2] == []
    sluice.pack(data, tmp_path / "packed", keep_order=True, zstd="off", progress=None)
    loader = sluice.Loader(tmp_path / "packed", batch_size=1, columns=columns)
    assert [batch["x"].numpy()[0].tolist() for batch in loader] == blocks
    typed = f"{dtype[0]}{dtype[-2:]}[]"
    assert list(sluice.Dataset(tmp_path, fields={"t": "tokens", "u": ("tokens", typed)}).fields) == ["t", "u"]


def test_tokens_that_are_none(tmp_path):
    texts = [[numpy.zeros(0, "i4")], [numpy.arange(5, dtype="i4")]]
    lit.write(tmp_path, ["no_header_tensor"], texts, data_spec={"ids": 0}, item_loader="TokensLoader")
    assert plain(sluice.Dataset(tmp_path)[0]["ids"]).tolist() == [0, 1, 2, 3, 4]
    config(tmp_path, data_format=["no_header_tensor:18"])
    with pytest.raises(CORRUPT, match="not a multiple"):
        sluice.Dataset(tmp_path)
    config(tmp_path, data_format=["tensor"])
    with pytest.raises(UNSUPPORTED, match="something other than one tensor"):
        sluice.Dataset(tmp_path)
    lit.write(tmp_path, ["no_header_tensor"], [[numpy.zeros(0, "i4")]], item_loader="TokensLoader")
    with pytest.raises(INVALID, match="no tokens"):
        sluice.Dataset(tmp_path)
    change(tmp_path, lambda index: index.update(chunks=[]))
    with pytest.raises(INVALID, match="no tokens"):
        sluice.Dataset(tmp_path)


# ---- errors ----


REFUSED = {
    "pickle": "never loaded", "file:pickle": "never loaded", "graph": "never loaded", "graph:pickle": "never loaded",
    "jpeg_array": "lists of images", "my_own": "unknown", "": "unknown", "no_header_tensor": "unknown",
    "no_header_tensor:4": "dtype", "no_header_tensor:21": "dtype", "no_header_tensor:": "dtype",
    "no_header_numpy:1x": "dtype", "no_header_numpy:99999999999999999999": "dtype",
}  # fmt: skip


@pytest.mark.parametrize("form, words", REFUSED.items())
def test_leaves_that_are_refused(tmp_path, form, words):
    lit.write(tmp_path, ["bytes", "int"], [[b"abc", 3]], data_spec={"a": 0, "n": 0})
    config(tmp_path, data_format=[form, "int"])
    with pytest.raises(UNSUPPORTED, match=f'column "a": .*{words}'):
        sluice.Dataset(tmp_path)
    assert sluice.Dataset(tmp_path, fields={"n": "n"})[0] == {"n": 3}


def test_other_compressions(tmp_path):
    lit.write(tmp_path, ["int"], [[1]])
    for name in ("zstd; rm x", "lz4", "zstd:", "zstd:7x", "zstdx"):
        config(tmp_path, compression=name)
        with pytest.raises(UNSUPPORTED, match="compressed by an unsupported method") as caught:
            sluice.Dataset(tmp_path)
        assert " -d " not in str(caught.value)
    for name in ("", "x" * 100):
        config(tmp_path, compression=name)
        with pytest.raises(UNSUPPORTED, match="unknown compression"):
            sluice.Dataset(tmp_path)


@pytest.mark.parametrize(
    "edit, kind, words",
    [
        (lambda i: i["config"].update(encryption={"algorithm": "fernet"}), UNSUPPORTED, "encrypted"),
        (lambda i: i["config"].update(item_loader="ParquetLoader"), UNSUPPORTED, "Parquet files"),
        (lambda i: i["config"].update(item_loader="Mine"), UNSUPPORTED, "unknown item_loader"),
        (lambda i: i["config"].update(data_format=[]), CORRUPT, "config.data_format"),
        (lambda i: i["config"].update(data_format=None), CORRUPT, "config.data_format"),
        (lambda i: i["config"].update(data_format=["int", 5]), CORRUPT, "config.data_format"),
        (lambda i: i["config"].update(data_format=["int"] * 2000), UNSUPPORTED, "more than 1024"),
        (lambda i: i.pop("config"), CORRUPT, "config.data_format"),
        (lambda i: i.update(chunks=[]), INVALID, "no samples"),
        (lambda i: i["chunks"].append(5), CORRUPT, "entry 1 of its list: its file is not named"),
        (lambda i: i["chunks"][0].update(chunk_size=-1), CORRUPT, "its file is not named"),
        (lambda i: i["chunks"][0].update(chunk_size=2**40), CORRUPT, "its number of samples in the index is out of range"),
        (lambda i: i["chunks"][0].update(chunk_size=2), CORRUPT, "has 3 samples, but its index says 2"),
        (lambda i: i["chunks"][0].update(chunk_bytes=7), CORRUPT, "bytes, but its index says 7"),
        (lambda i: i["chunks"][0].update(filename="../x"), INVALID, "outside.*allow_outside"),
        (lambda i: i["chunks"][0].update(filename=None), CORRUPT, "its file is not named"),
        (lambda i: i["chunks"][0].update(filename="nothing.bin"), sluice.IOError, "cannot open"),
    ],
)  # fmt: skip
def test_indexes_that_are_none(tmp_path, edit, kind, words):
    lit.write(tmp_path, ["int"], [[n] for n in range(3)])
    change(tmp_path, edit)
    with pytest.raises(kind, match=words):
        sluice.Dataset(tmp_path)


def test_samples_that_are_bad_alone(tmp_path):
    good = [numpy.ones((2, 2), "f4"), 7, True, numpy.ones(3, "i4")]
    bad = [
        (0, numpy.ones((2, 2), "f8"), "dtype or number of dimensions"), (0, numpy.ones((2, 2, 1), "f4"), "dtype or number of dimensions"),
        (0, b"", "truncated within its header"),
        (0, b"\0\0\0\1\0\0\0\2\0\0\0\2", "truncated within its header"),
        (0, b"\0\0\0\1\xff\xff\xff\xff", "more than 8 dimensions"),
        (0, b"\0\0\0\1\0\0\0\2\0\0\0\2\0\0\0\2" + bytes(15), "does not match the array's shape"),
        (0, b"\0\0\0\4\0\0\0\0", "the dtype of its array is not supported"),
        (0, b"\0\0\0\1\0\0\0\2\xff\xff\xff\xff\xff\xff\xff\xff" + bytes(16), "does not match the array's shape"),
        (1, b"1234567", "does not match the"),
        (2, b"", "does not match the"), (2, b"12", "does not match the"), (3, b"12345", "does not match"),
    ]  # fmt: skip
    samples = [good] + [[value if at == place else kept for at, kept in enumerate(good)] for place, value, _ in bad]
    tree = {"a": 0, "b": 0, "c": 0, "d": 0}
    lit.write(tmp_path, ["tensor", "int", "bool", "no_header_tensor"], samples, data_spec=tree)
    data = sluice.Dataset(tmp_path)
    for number, (place, _, words) in enumerate(bad):
        with pytest.raises((CORRUPT, UNSUPPORTED), match=f'"{"abcd"[place]}": .*{words}') as caught:
            data[1 + number]
        assert caught.value.sample == 1 + number and caught.value.file == str(chunk_of(tmp_path))
    loader = sluice.Loader(data, batch_size=len(samples), on_bad_sample="mask", columns={"b": sluice.columns.Number()})
    assert next(iter(loader))["mask"].numpy().tolist() == [0 if place == 1 else 1 for place, *_ in [(0,), *bad]]


def test_cut_short_anywhere(tmp_path):
    lit.write(tmp_path, ["str"], [["x" * n] for n in range(1, 6)])
    good = chunk_of(tmp_path).read_bytes()
    for size in range(len(good)):
        chunk_of(tmp_path).write_bytes(good[:size])
        with pytest.raises(CORRUPT, match=f"the file has {size} bytes, but its index says {len(good)}"):
            sluice.Dataset(tmp_path)
        change(tmp_path, lambda index, size=size: index["chunks"][0].update(chunk_bytes=size))
        with pytest.raises(CORRUPT, match="too short|too small|before the end|beyond the end"):
            sluice.Dataset(tmp_path)
        change(tmp_path, lambda index: index["chunks"][0].update(chunk_bytes=len(good)))
    chunk_of(tmp_path).write_bytes(good)
    assert len(sluice.Dataset(tmp_path)) == 5


def test_sizes_that_lie(tmp_path):
    lit.write(tmp_path, ["str", "int"], [["abc", 5]] * 3, data_spec={"a": 0, "n": 0})
    good = chunk_of(tmp_path).read_bytes()
    (begin,) = struct.unpack_from("<I", good, 8)
    for at, size in ((0, 4), (0, 2), (0, 2**32 - 1), (4, 7), (4, 9), (4, 2**32 - 4)):
        data = bytearray(good)
        struct.pack_into("<I", data, begin + at, size)
        chunk_of(tmp_path).write_bytes(data)
        dataset = sluice.Dataset(tmp_path)
        assert dataset[0]["n"] == dataset[2]["n"] == 5
        with pytest.raises(CORRUPT, match="extends beyond|longer than"):
            dataset[1]
        assert [finding.sample for finding in dataset.verify(progress=None)[2]] == [1]


def test_folders_that_are_ambiguous(tmp_path):
    lit.write(tmp_path, ["int"], [[1]])
    (tmp_path / "a.tar").write_bytes(bytes(10240))
    with pytest.raises(INVALID, match='format "tar" and one of "litdata"'):
        sluice.Dataset(tmp_path)
    assert sluice.Dataset(tmp_path / "index.json")[0] == {"0": 1}

# SPDX-License-Identifier: Apache-2.0
"""numpy's .npy files and Megatron-LM's indexed datasets, as numpy and the formats' descriptions write them."""
import struct

import numpy
import pytest

import sluice
from sluice import columns as C

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


def rows_of(data):
    return numpy.stack([numpy.frombuffer(data.read(i, "tensor"), data.fields["tensor"].dtype) for i in range(len(data))])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 3), (5, 2, 3, 4), (1, 1), (9, 1, 1, 1, 1, 1, 1, 2)])
def test_rows(tmp_path, dtype, shape):
    array = numpy.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    numpy.save(tmp_path / "a.npy", array)
    data = sluice.Dataset(tmp_path / "a.npy")
    assert data.format == "npy" and len(data) == shape[0]
    assert data.fields["tensor"].dtype == dtype and data.fields["tensor"].shape == shape[1:]
    assert (rows_of(data).reshape(shape) == array).all()
    (batch,) = sluice.Loader(data, batch_size=shape[0])
    assert batch["tensor"].shape == shape and (batch["tensor"].numpy() == array).all()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions_of_the_format(tmp_path, version):
    array = numpy.arange(12, dtype=numpy.int32).reshape(4, 3)
    with open(tmp_path / "a.npy", "wb") as file:
        numpy.lib.format.write_array(file, array, version=version)
    assert (rows_of(sluice.Dataset(tmp_path / "a.npy")) == array).all()


def test_files_are_joined(tmp_path):
    arrays = [numpy.random.default_rng(i).random((rows, 2, 5)) for i, rows in enumerate((3, 0, 8, 1))]
    for number, array in enumerate(arrays):
        numpy.save(tmp_path / f"{number}.npy", array)
    data = sluice.Dataset(str(tmp_path) + "/{0..3}.npy")
    assert len(data) == 12 and (rows_of(data).reshape(12, 2, 5) == numpy.concatenate(arrays)).all()
    seen = numpy.concatenate([batch["tensor"].numpy().copy() for batch in sluice.Loader(data, batch_size=5, shuffle=True)])
    assert sorted(map(bytes, seen)) == sorted(map(bytes, numpy.concatenate(arrays)))
    sluice.pack(data, tmp_path / "packed", keep_order=True, progress=None)
    assert (rows_of(sluice.Dataset(tmp_path / "packed")).reshape(12, 2, 5) == numpy.concatenate(arrays)).all()


def test_a_series_and_its_windows(tmp_path):
    tokens = numpy.arange((1 << 20) + 5000, dtype=numpy.uint32)
    numpy.save(tmp_path / "tokens.npy", tokens)
    data = sluice.Dataset(tmp_path / "tokens.npy")
    assert len(data) == 2 and data.fields["tensor"].shape == (0,)
    assert data[0]["tensor"].shape == (1 << 20,) and data[1]["tensor"].tolist() == tokens[1 << 20 :].tolist()
    loader = sluice.Loader(data, batch_size=8, shuffle=True, columns={"x": C.Window("tensor", length=512, dtype="int64")})
    seen = sorted(row[0] for batch in loader for row in batch["x"].numpy() if (numpy.diff(row) == 1).all())
    assert seen == [*range(0, 1 << 20, 512), *range(1 << 20, (1 << 20) + 5000 - 511, 512)]


def test_fortran_order_where_it_is_no_order(tmp_path):
    for shape in ((6, 1), (1, 6), (6, 1, 1)):
        numpy.save(tmp_path / "a.npy", numpy.asfortranarray(numpy.arange(6.0).reshape(shape)))
        assert (rows_of(sluice.Dataset(tmp_path / "a.npy")).ravel() == numpy.arange(6.0)).all()
    numpy.save(tmp_path / "a.npy", numpy.asfortranarray(numpy.ones((2, 3))))
    with pytest.raises(sluice.UnsupportedError, match="ascontiguousarray"):
        sluice.Dataset(tmp_path / "a.npy")


@pytest.mark.parametrize(
    "array, words",
    [
        (numpy.array([{}, []], dtype=object), "pickled"),
        (numpy.ones((2, 3), ">f4"), "newbyteorder"),
        (numpy.ones((2, 3), "complex64"), "neither numbers"),
        (numpy.array(["a", "bc"]), "neither numbers"),
        (numpy.array([b"a", b"bc"]), "neither numbers"),
        (numpy.ones(3, "M8[s]"), "neither numbers"),
        (numpy.ones(3, [("a", "f4"), ("b", "i2")]), "structured"),
        (numpy.array(3.0), "0 dimensions"),
        (numpy.ones((1,) * 9), "9 dimensions"),
    ],
)
def test_arrays_that_are_not_taken(tmp_path, array, words):
    numpy.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(sluice.UnsupportedError, match=words) as caught:
        sluice.Dataset(tmp_path / "a.npy")
    assert caught.value.file == str(tmp_path / "a.npy")


def npy(text, data=b"", version=1):
    header = text.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


GOOD = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }\n"


@pytest.mark.parametrize(
    "content, kind",
    [
        (b"\x93NUMPY", sluice.InvalidError),
        (npy(GOOD, bytes(7)), sluice.CorruptError),
        (npy(GOOD, bytes(9)), sluice.CorruptError),
        (npy(GOOD)[:40], sluice.CorruptError),
        (npy(GOOD, bytes(8), version=4), sluice.UnsupportedError),
        (npy(GOOD, bytes(8))[:8] + b"\xff\xff" + bytes(100), sluice.CorruptError),
        (npy(GOOD[:30], bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("{", "["), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("False", "None"), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("'shape': (2, 2), ", ""), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("shape", "shapes"), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("(2, 2)", "(2, -2)"), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("(2, 2)", "(2, 99999999999999999999)"), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("(2, 2)", "(4611686018427387904, 2)"), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("(2, 2)", "(" + "1, " * 40 + ")"), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("'<i2'", "__import__('os')"), bytes(8)), sluice.CorruptError),
        (npy(GOOD.replace("(2, 2)", "(0, 2)")), sluice.InvalidError),
        (npy(GOOD.replace("(2, 2)", "(2, 0)")), sluice.InvalidError),
        (npy(GOOD.replace("{", "{'descr': '<i2', "), bytes(8)), sluice.CorruptError),
    ],
)
def test_files_that_are_damaged(tmp_path, content, kind):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(kind) as caught:
        sluice.Dataset(tmp_path / "a.npy")
    assert caught.value.file == str(tmp_path / "a.npy")


def test_headers_as_others_write_them(tmp_path):
    for text in (GOOD, GOOD.replace("'", '"'), GOOD.replace("(2, 2)", "(2L, 2L)"), " " + GOOD.replace(", }", "}"), GOOD + " " * 50):
        (tmp_path / "a.npy").write_bytes(npy(text, struct.pack("<4h", 1, -2, 3, 4)))
        assert rows_of(sluice.Dataset(tmp_path / "a.npy")).tolist() == [[1, -2], [3, 4]]


def test_files_that_do_not_fit_together(tmp_path):
    numpy.save(tmp_path / "0.npy", numpy.ones((3, 2)))
    for other in (numpy.ones((3, 3)), numpy.ones((3, 2), "f4"), numpy.ones(3), numpy.ones((3, 2, 1))):
        numpy.save(tmp_path / "1.npy", other)
        with pytest.raises(sluice.InvalidError, match="dtype or shape of its rows differs"):
            sluice.Dataset(str(tmp_path) + "/{0..1}.npy")
    (tmp_path / "1.npy").write_bytes(b"no array at all")
    with pytest.raises(sluice.CorruptError, match="unlike the others"):
        sluice.Dataset([tmp_path / "0.npy", tmp_path / "1.npy"])


def test_a_file_that_changes(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.ones((300, 200)))
    data = sluice.Dataset(tmp_path / "a.npy")
    numpy.save(tmp_path / "a.npy", numpy.ones((200, 200)))
    with pytest.raises(sluice.CorruptError):
        data[0]


# ---- Megatron ----

CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float64": 6, "float32": 7, "uint16": 8}


def write_megatron(prefix, sequences, dtype="uint16", modes=False):
    """Writes like the writer in indexed_dataset.py."""
    arrays = [numpy.asarray(sequence, dtype) for sequence in sequences]
    prefix.with_suffix(".bin").write_bytes(b"".join(array.tobytes() for array in arrays))
    sizes = numpy.array([len(array) for array in arrays], numpy.int32)
    pointers = numpy.concatenate([[0], numpy.cumsum(sizes[:-1].astype(numpy.int64) * numpy.dtype(dtype).itemsize)]).astype(numpy.int64)
    documents = numpy.arange(len(arrays) + 1, dtype=numpy.int64)
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, CODES[dtype], len(arrays), len(documents))
    index = head + sizes.tobytes() + pointers[: len(arrays)].tobytes() + documents.tobytes()
    prefix.with_suffix(".idx").write_bytes(index + bytes(len(arrays) if modes else 0))
    return prefix.with_suffix(".bin")


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("modes", [False, True])
def test_sequences(tmp_path, dtype, modes):
    sequences = [list(range(n % 100)) for n in (5, 1, 99, 40, 3)]
    path = write_megatron(tmp_path / "set", sequences, dtype, modes)
    for given in (path, path.with_suffix(".idx")):
        data = sluice.Dataset(given)
        assert data.format == "megatron" and data.fields["tokens"].dtype == dtype
        assert [numpy.frombuffer(data.read(i, "tokens"), dtype).tolist() for i in range(5)] == sequences
    (batch,) = sluice.Loader(data, batch_size=5, columns={"tokens": C.Ragged(length=100)})
    ends = batch["tokens.offsets"].numpy()
    assert [batch["tokens"].numpy()[a:b].tolist() for a, b in zip(ends, ends[1:])] == sequences


def test_windows_of_sequences(tmp_path):
    chance = numpy.random.default_rng(2)
    sequences, first = [], 0
    for _ in range(200):
        length = int(chance.integers(0, 300))
        sequences.append(numpy.arange(first, first + length))
        first += length
    write_megatron(tmp_path / "a", sequences[:120], "int32")
    write_megatron(tmp_path / "b", sequences[120:], "int32")
    data = sluice.Dataset([tmp_path / "a.bin", tmp_path / "b.bin"])
    assert len(data) == sum(len(sequence) > 0 for sequence in sequences)
    loader = sluice.Loader(data, batch_size=7, shuffle=True, columns={"x": C.Window("tokens", length=32, stride=16)})
    seen = sorted(tuple(row) for batch in loader for row in batch["x"].numpy())
    wanted = sorted(tuple(s[at : at + 32]) for s in sequences for at in range(0, len(s) - 31, 16))
    assert seen == wanted


def test_indexes_that_are_damaged(tmp_path):
    path = write_megatron(tmp_path / "set", [[1, 2, 3], [4, 5]])
    index = path.with_suffix(".idx")
    good = index.read_bytes()

    def changed(at, form, value):
        return good[:at] + struct.pack(form, value) + good[at + struct.calcsize(form) :]

    wrong = [good[:-1], good + b"x", changed(9, "<Q", 2), changed(17, "<B", 0), changed(17, "<B", 9), changed(18, "<Q", 1 << 62),
             changed(26, "<Q", 1 << 60), changed(34, "<i", -1), changed(34, "<i", 6), changed(42, "<q", -2), changed(50, "<q", 8)]  # fmt: skip
    for content in wrong:
        index.write_bytes(content)
        with pytest.raises((sluice.CorruptError, sluice.UnsupportedError)) as caught:
            sluice.Dataset(path)
        assert caught.value.file == str(index)
    for size in range(len(good)):
        index.write_bytes(good[:size])
        with pytest.raises(sluice.Error):
            sluice.Dataset(path)
    index.write_bytes(good)
    path.write_bytes(bytes(8))
    with pytest.raises(sluice.CorruptError, match="outside the .bin file"):
        sluice.Dataset(path)
    path.unlink()
    with pytest.raises(sluice.IOError):
        sluice.Dataset(index)
    write_megatron(tmp_path / "set", [[], []])
    with pytest.raises(sluice.InvalidError, match="all sequences are empty"):
        sluice.Dataset(path)
    write_megatron(tmp_path / "other", [[1]], "int32")
    write_megatron(tmp_path / "set", [[1]])
    with pytest.raises(sluice.InvalidError, match="its dtype differs"):
        sluice.Dataset([path, tmp_path / "other.bin"])

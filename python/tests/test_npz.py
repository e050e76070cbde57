# SPDX-License-Identifier: Apache-2.0
"""numpy's .npz files, as samples and by rows, compared with numpy; and damaged zip archives."""
import io
import os
import struct
import zipfile
import zlib

import numpy
import pytest

import sluice
from sluice import columns as C

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]
SAVE = [numpy.savez, numpy.savez_compressed]


def value_of(data, index, name):
    field = data.fields[name]
    if field.type in ("int", "float"):
        return data[index][name]
    return numpy.frombuffer(data.read(index, name), field.dtype)


def check(path, samples, **options):
    """Checks that the dataset holds these dicts of arrays; an array that a sample lacks is empty."""
    data = sluice.Dataset(path, **options)
    assert data.format == "npz" and len(data) == len(samples)
    for index, arrays in enumerate(samples):
        for name in data.fields:
            if name in arrays:
                found = value_of(data, index, name)
                assert (numpy.asarray(found) == numpy.asarray(arrays[name]).ravel()).all(), (index, name)
            else:
                assert not data[index][name]
    return data


def folder_of(tmp_path, samples, save=numpy.savez):
    (tmp_path / "set").mkdir()
    for number, arrays in enumerate(samples):
        save(tmp_path / "set" / f"{number:04}.npz", **arrays)
    return tmp_path / "set"


def volumes(count=5):
    chance = numpy.random.default_rng(1)
    for number in range(count):
        shape = (1, *chance.integers(6, 14, 3))
        yield {"x": chance.random(shape, dtype="float32"), "y": chance.integers(0, 3, shape, dtype="uint8"), "case": numpy.int64(number)}


@pytest.mark.parametrize("save", SAVE)
def test_volumes_of_different_shapes(tmp_path, save):
    samples = list(volumes())
    data = check(folder_of(tmp_path, samples, save), samples)
    kinds = {name: (field.type, field.dtype, field.shape) for name, field in data.fields.items()}
    assert kinds == {"x": ("tensor", "float32", (1, 0, 0, 0)), "y": ("tensor", "uint8", (1, 0, 0, 0)), "case": ("int", "int64", ())}
    assert not data.verify().findings


@pytest.mark.parametrize("save", SAVE)
@pytest.mark.parametrize("part", ["random", "center"])
def test_parts_of_volumes(tmp_path, save, part):
    """The same part of image and mask, cut from tensors whose dimensions all differ."""
    chance = numpy.random.default_rng(3)
    samples = []
    for _ in range(6):
        shape = tuple(chance.integers(5, 12, 4))
        at = numpy.arange(numpy.prod(shape)).reshape(shape)
        samples.append({"x": at.astype("float32"), "y": (at % 251).astype("uint8")})
    path = folder_of(tmp_path, samples, save)
    assert sluice.Dataset(path).fields["x"].shape == (0, 0, 0, 0)
    columns = {name: C.Tensor(name, shape=(4, 5, 3, 5), part=part) for name in "xy"}
    seen = set()
    for epoch in range(3):
        loader = sluice.Loader(path, batch_size=2, columns=columns, seed=epoch)
        for batch in loader:
            for x, y, index in zip(batch["x"].numpy(), batch["y"].numpy(), batch["index"].numpy()):
                whole = samples[index]["x"]
                begin = numpy.unravel_index(int(x.flat[0]), whole.shape)
                cut = tuple(slice(a, a + n) for a, n in zip(begin, x.shape))
                assert (whole[cut] == x).all() and (samples[index]["y"][cut] == y).all()
                if part == "center":
                    assert begin == tuple((a - n) // 2 for a, n in zip(whole.shape, x.shape))
                seen.add((index, begin))
    assert part == "center" or len(seen) > 12


def test_parts_larger_than_the_volume(tmp_path):
    path = folder_of(tmp_path, list(volumes()))
    columns = {"x": C.Tensor("x", shape=(1, 10, 10, 10), part="random")}
    with pytest.raises(sluice.UnsupportedError, match="the column wants 10"):
        for _ in sluice.Loader(path, batch_size=5, columns=columns):
            pass


@pytest.mark.parametrize("save", SAVE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_numbers(tmp_path, save, dtype):
    array = numpy.random.default_rng(2).integers(0, 2, (2, 3, 4)).astype(dtype)
    samples = [{"a": array, "n": array[0, 0, 0], "empty": array[:0]}, {"a": array + array, "n": array[1, 2, 3], "empty": array[:0]}]
    data = check(folder_of(tmp_path, samples, save), samples)
    assert data.fields["n"].type == ("float" if dtype in ("float16", "float32", "float64") else "int")
    assert data.fields["empty"].shape == (0, 3, 4) and data.fields["a"].dtype == dtype
    (batch,) = sluice.Loader(data, batch_size=2, columns={"a": C.Tensor("a")})
    assert (batch["a"].numpy() == numpy.stack([sample["a"] for sample in samples])).all()


def test_numbers_at_their_ends(tmp_path):
    ends = [numpy.int8(-128), numpy.int16(-(1 << 15)), numpy.int32(-(1 << 31)), numpy.int64(-(1 << 63)), numpy.uint32((1 << 32) - 1)]
    for number, value in enumerate(ends):
        numpy.savez(tmp_path / "a.npz", n=value, x=numpy.ones(3))
        assert sluice.Dataset(tmp_path / "a.npz")[0]["n"] == int(value)
    numpy.savez(tmp_path / "a.npz", n=numpy.uint64(1 << 63), x=numpy.ones(3))
    with pytest.raises(sluice.UnsupportedError, match='field "n": a number is above'):
        sluice.Dataset(tmp_path / "a.npz")[0]


@pytest.mark.parametrize("save", SAVE)
def test_packed_and_shuffled(tmp_path, save):
    samples = list(volumes())
    path = folder_of(tmp_path, samples, save)
    sluice.pack(path, tmp_path / "packed", keep_order=True, progress=None)
    packed = sluice.Dataset(tmp_path / "packed")
    for index, arrays in enumerate(samples):
        for name in arrays:
            assert (numpy.asarray(value_of(packed, index, name)) == arrays[name].ravel()).all()


@pytest.mark.parametrize("save", SAVE)
def test_lists_of_points(tmp_path, save):
    samples = [{"points": numpy.random.default_rng(i).random((3 * i, 4)), "n": numpy.int8(i)} for i in range(9)]
    path = folder_of(tmp_path, samples, save)
    columns = {"points": C.Ragged("points", length=30), "n": C.Number("n")}
    for batch in sluice.Loader(path, batch_size=3, shuffle=True, columns=columns):
        ends = batch["points.offsets"].numpy()
        for row, number in enumerate(batch["n"].numpy()):
            assert (batch["points"].numpy()[ends[row] : ends[row + 1]] == samples[number]["points"]).all()


def test_what_files_lack_and_have_besides(tmp_path):
    samples = [{"a": numpy.ones(3), "b": numpy.zeros((2, 2))}, {"a": numpy.ones(3)}, {"c": numpy.ones(1), "a": numpy.zeros(3)}]
    data = check(folder_of(tmp_path, samples), samples)
    assert list(data.fields) == ["a", "b", "c"]
    data = check(tmp_path / "set", [{"image": sample["a"]} for sample in samples], fields={"image": "a"})
    assert list(data.fields) == ["image"]


# ---- one file ----


def test_rows_of_one_file(tmp_path):
    chance = numpy.random.default_rng(4)
    x = chance.integers(0, 255, (50, 8, 8, 3), dtype="uint8")
    y, weight = chance.integers(0, 10, 50), chance.random(50, dtype="float32")
    box = chance.random((50, 4))
    numpy.savez(tmp_path / "a.npz", y=y, x=x, weight=weight, box=box)
    data = check(tmp_path / "a.npz", [{"x": x[i], "label": y[i], "weight": weight[i], "box": box[i]} for i in range(50)])
    assert data.fields["x"].shape == (8, 8, 3) and data.fields["label"].type == "int" and data.fields["weight"].type == "float"
    assert not data.verify().findings
    for batch in sluice.Loader(data, batch_size=10, shuffle=True):
        index = batch["index"].numpy()
        assert (batch["x"].numpy() == x[index]).all() and (batch["label"].numpy() == y[index]).all()
        assert (batch["box"].numpy() == box[index]).all()
    check(tmp_path / "a.npz", [{"x": x[i]} for i in range(50)], fields={"x": "x"})
    assert len(sluice.Dataset([tmp_path / "a.npz", tmp_path / "a.npz"])) == 2  # several files: each is a sample
    assert len(sluice.Dataset(tmp_path)) == 1 and len(sluice.Dataset(tmp_path / "a.npz")) == 50


def test_rows_of_chosen_arrays(tmp_path):
    """Keras's mnist.npz has two parts of different lengths: by default it is one sample; with chosen fields, rows."""
    arrays = {f"{name}_{part}": numpy.arange(n * k).reshape((n, k) if k > 1 else (n,)) for part, n in (("train", 6), ("test", 4))
              for name, k in (("x", 5), ("y", 1))}  # fmt: skip
    numpy.savez(tmp_path / "mnist.npz", **arrays)
    check(tmp_path / "mnist.npz", [arrays])
    train = {"x": arrays["x_train"], "label": arrays["y_train"]}
    check(tmp_path / "mnist.npz", [{k: v[i] for k, v in train.items()} for i in range(6)], fields={"x": "x_train", "label": "y_train"})


def test_one_array(tmp_path):
    numpy.savez(tmp_path / "a.npz", tokens=numpy.arange(3000, dtype="uint16"))
    data = sluice.Dataset(tmp_path / "a.npz")
    loader = sluice.Loader(data, batch_size=4, columns={"x": C.Window("tokens", length=100)})
    assert sorted(int(row[0]) for batch in loader for row in batch["x"].numpy()) == list(range(0, 3000, 100))
    x = numpy.random.default_rng(5).random((7, 3, 2))
    numpy.savez(tmp_path / "a.npz", x=x)
    check(tmp_path / "a.npz", [{"x": row} for row in x])


def test_windows_of_rows(tmp_path):
    x = numpy.arange(40 * 64, dtype="int32").reshape(40, 64)
    numpy.savez(tmp_path / "a.npz", x=x, n=numpy.arange(40))
    loader = sluice.Loader(tmp_path / "a.npz", batch_size=8, columns={"x": C.Window("x", length=16)})
    assert sorted(int(row[0]) for batch in loader for row in batch["x"].numpy()) == list(range(0, 40 * 64, 16))
    with pytest.raises(sluice.InvalidError):
        sluice.Loader(tmp_path / "a.npz", batch_size=8, columns={"n": C.Window("n", length=1)})


def test_one_volume_is_a_sample(tmp_path):
    for arrays in ({"x": numpy.ones((1, 4, 4)), "y": numpy.ones((1, 4, 4), "uint8")}, {"x": numpy.ones((3, 2)), "y": numpy.ones((2, 2))},
                   {"x": numpy.ones((3, 2)), "n": numpy.int32(4)}):  # fmt: skip
        numpy.savez(tmp_path / "a.npz", **arrays)
        check(tmp_path / "a.npz", [arrays])


def test_rows_that_are_compressed(tmp_path):
    x, y = numpy.random.default_rng(6).random((9, 5)), numpy.arange(9)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:  # the small one is allowed
        for name, array, how in (("x", x, zipfile.ZIP_STORED), ("y", y, zipfile.ZIP_DEFLATED)):
            archive.writestr(f"{name}.npy", npy(array), how)
    check(tmp_path / "a.npz", [{"x": x[i], "label": y[i]} for i in range(9)])
    numpy.savez_compressed(tmp_path / "a.npz", x=x, y=y)
    with pytest.raises(sluice.UnsupportedError, match="save it with numpy.savez"):
        sluice.Dataset(tmp_path / "a.npz")
    check([tmp_path / "a.npz", tmp_path / "a.npz"], [{"x": x, "y": y}] * 2)


# ---- unsupported files ----


@pytest.mark.parametrize("save", SAVE)
@pytest.mark.parametrize(
    "array, words",
    [
        (numpy.array([{}, []], dtype=object), "pickled"),
        (numpy.ones((2, 3), ">f4"), "newbyteorder"),
        (numpy.ones((2, 3), "complex64"), "neither numbers"),
        (numpy.array(["a", "bc"]), "neither numbers"),
        (numpy.ones(3, [("a", "f4"), ("b", "i2")]), "structured"),
        (numpy.asfortranarray(numpy.ones((2, 3))), "ascontiguousarray"),
        (numpy.ones((1,) * 9), "8 dimensions"),
    ],
)
def test_arrays_that_are_not_taken(tmp_path, save, array, words):
    good = numpy.arange(3)
    path = folder_of(tmp_path, [{"good": good, "bad": array}] * 2, save)
    for given in (path, path / "0000.npz"):
        with pytest.raises(sluice.UnsupportedError, match=f'column "bad": .*{words}') as caught:
            sluice.Dataset(given)
        assert caught.value.file == str(path / "0000.npz")
    check(path, [{"good": good}] * 2, fields={"good": "good"})


def npy(array):
    made = io.BytesIO()
    numpy.save(made, array)
    return made.getvalue()


def write_zip(path, members, **how):
    with zipfile.ZipFile(path, "w", **how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_members_that_are_no_arrays(tmp_path):
    write_zip(tmp_path / "a.npz", {"x.npy": npy(numpy.arange(6.0)), "readme.txt": "hello", "folder/": "", "folder/y.npy": npy(numpy.ones(2))})
    with pytest.raises(sluice.UnsupportedError, match='column "readme.txt": not an array'):
        sluice.Dataset(tmp_path / "a.npz")
    check(tmp_path, [{"x": numpy.arange(6.0), "y": numpy.ones(2)}], fields={"x": "x", "y": "folder/y"})
    write_zip(tmp_path / "a.npz", {"x.npy": b"no array at all"})
    with pytest.raises(sluice.UnsupportedError, match="not an array"):
        sluice.Dataset(tmp_path / "a.npz")


def test_other_compression(tmp_path):
    write_zip(tmp_path / "a.npz", {"x.npy": npy(numpy.arange(600))}, compression=zipfile.ZIP_LZMA)
    with pytest.raises(sluice.UnsupportedError, match="other than deflate"):
        sluice.Dataset(tmp_path / "a.npz")


def test_archives_as_others_write_them(tmp_path):
    x, y = numpy.arange(60.0).reshape(4, 15), numpy.arange(7)
    members = {"x.npy": npy(x), "y.npy": npy(y)}
    path = tmp_path / "a.npz"
    wanted = [{"x": x, "y": y}]
    with zipfile.ZipFile(path, "w") as archive:  # zip64 sizes
        for name, content in members.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(content)
    check(path, wanted)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"written by hand: PK\5\6" * 300
    check(path, wanted)
    stream = Unseekable()
    write_zip(stream, members, compression=zipfile.ZIP_DEFLATED)  # data descriptors, no sizes in local headers
    path.write_bytes(stream.made)
    check(path, wanted)
    path.write_bytes(with_zip64_end(stream.made))
    check(path, wanted)


class Unseekable(io.RawIOBase):
    made = b""

    def writable(self):
        return True

    def write(self, data):
        self.made += bytes(data)
        return len(data)


def with_zip64_end(content):
    end = content.rindex(b"PK\5\6")
    members, size, offset = struct.unpack_from("<HII", content, end + 10)
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, members, members, size, offset)
    locator = struct.pack("<IIQI", 0x07064B50, 0, end, 1)
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return content[:end] + record + locator + tail


# ---- damage ----


def good_bytes(save=numpy.savez, **arrays):
    made = io.BytesIO()
    save(made, **(arrays or {"x": numpy.arange(40.0), "y": numpy.arange(9, dtype="uint8")}))
    return made.getvalue()


def attempt(path, content):
    """Returns None, or the error of opening or reading this content."""
    path.write_bytes(content)
    try:
        data = sluice.Dataset(path)
        return None if [data[i] for i in range(len(data))] else None
    except sluice.Error as error:
        assert error.file == str(path), error
        assert str(error), error
        return error


@pytest.mark.parametrize("save", SAVE)
def test_cut_short_anywhere(tmp_path, save):
    good = good_bytes(save)
    for content, step in ((good, 5), (with_zip64_end(good), 3)):
        assert attempt(tmp_path / "a.npz", content) is None
        for size in range(0, len(content), step):
            assert isinstance(attempt(tmp_path / "a.npz", content[:size]), (sluice.CorruptError, sluice.InvalidError, sluice.IOError)), size
        for begin in range(1, 60):
            assert attempt(tmp_path / "a.npz", content[begin:]) is not None, begin
        assert attempt(tmp_path / "a.npz", b"#!" + content) is not None


@pytest.mark.parametrize("save", SAVE)
def test_any_byte_that_is_wrong(tmp_path, save):
    """It is found, or harmless: it never gives other numbers."""
    arrays = {"x": numpy.arange(12.0), "y": numpy.arange(9, dtype="uint8")}
    good = good_bytes(save, **arrays)
    path = tmp_path / "a.npz"
    for at in range(len(good)):
        content = bytearray(good)
        content[at] ^= (0x01, 0x80, 0xFF)[at % 3]
        if attempt(path, bytes(content)) is None:
            data = sluice.Dataset(path)
            for name, array in zip(data.fields, arrays.values()):
                assert data[0][name].tolist() == array.tolist(), at


@pytest.mark.parametrize("save", SAVE)
def test_checksums_of_samples_and_rows(tmp_path, save):
    path = folder_of(tmp_path, list(volumes(4)), save)
    bad = path / "0002.npz"
    with zipfile.ZipFile(bad) as archive:
        member = archive.getinfo("x.npy")
    content = bytearray(bad.read_bytes())
    at = member.header_offset + 30 + len("x.npy") + 20 + member.compress_size // 2
    content[at : at + 4] = b"\x55\xaa\x55\xaa"
    bad.write_bytes(content)
    data = sluice.Dataset(path)
    with pytest.raises(sluice.CorruptError) as caught:
        data.read(2, "x")
    assert caught.value.file == str(bad)
    assert len(data.read(2, "y")) > 0 and len(data.read(1, "x")) > 0
    findings = data.verify(decode=True).findings
    assert len(findings) == 1 and "0002.npz" in str(findings[0])
    columns = {"x": C.Tensor("x", shape=(1, 6, 6, 6), part="center")}
    status = [list(batch["status"].numpy()) for batch in sluice.Loader(path, batch_size=4, columns=columns, on_bad_sample="mask")]
    assert [row for rows in status for row in rows].count(0) == 3


def test_checksum_of_rows_is_found_by_verify(tmp_path):
    x = numpy.random.default_rng(8).random((30, 10))
    numpy.savez(tmp_path / "a.npz", x=x, y=numpy.arange(30))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.index(x[12].tobytes())] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    data = sluice.Dataset(tmp_path / "a.npz")
    assert len(data.verify().findings) == 1
    content = bytearray(good_bytes(x=x, y=numpy.arange(30)))
    content[content.index(numpy.arange(30).tobytes()) + 8] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(sluice.CorruptError, match="CRC-32"):
        sluice.Dataset(tmp_path / "a.npz")


def forge(content, name, **fields):
    """Changes numbers in a member's directory entry, and in its local header."""
    places = {"flags": (8, "<H"), "method": (10, "<H"), "crc": (16, "<I"), "packed": (20, "<I"), "bytes": (24, "<I"), "header": (42, "<I")}
    made = bytearray(content)
    at = -1
    while made[at + 46 : at + 46 + len(name)] != name:
        at = made.index(b"PK\1\2", at + 1)
    for field, value in fields.items():
        offset, form = places[field]
        struct.pack_into(form, made, at + offset, value)
    return bytes(made)


def test_sizes_and_places_that_lie(tmp_path):
    path = tmp_path / "a.npz"
    good = good_bytes()
    for change in (
        {"packed": 1 << 30}, {"packed": 10}, {"bytes": 10}, {"bytes": 0xFFFFFFFF}, {"packed": 0xFFFFFFFF}, {"header": 0xFFFFFFFF},
        {"header": 1 << 31}, {"header": 1}, {"crc": 1}, {"method": 8}, {"method": 99}, {"flags": 1}, {"packed": 0, "bytes": 0},
    ):  # fmt: skip
        error = attempt(path, forge(good, b"x.npy", **change))
        assert isinstance(error, (sluice.CorruptError, sluice.UnsupportedError)), change
    second = good.index(b"PK\3\4", 10)
    assert "header of a zip member differs" in str(attempt(path, forge(good, b"y.npy", header=0)))
    assert "is not before" in str(attempt(path, forge(good, b"x.npy", header=second)))
    assert attempt(path, forge(good, b"x.npy", flags=1)).status != 0
    twice = io.BytesIO()
    with pytest.warns(UserWarning), zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("x.npy", npy(numpy.ones(3)))
        archive.writestr("x.npy", npy(numpy.ones(3)))
    assert "duplicate" in str(attempt(path, twice.getvalue()))


def deflated(content):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def make_zip(name, packed, content_bytes, crc):
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, crc, len(packed), content_bytes, len(name), 0) + name + packed
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, crc, len(packed), content_bytes, len(name), 0, 0, 0, 0, 0, 0) + name
    return local + entry + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(entry), len(local), 0)


def test_bombs(tmp_path):
    path = tmp_path / "a.npz"
    header = npy(numpy.zeros((1, 10)))[:-80]
    array = bytes(80)
    whole = header + array
    assert attempt(path, make_zip(b"x.npy", deflated(whole), len(whole), zlib.crc32(whole))) is None
    much = header + bytes(50_000_000)  # more than the header claims
    error = attempt(path, make_zip(b"x.npy", deflated(much), len(whole), zlib.crc32(whole)))
    assert isinstance(error, sluice.CorruptError) and "does not unpack to" in str(error)
    huge = npy(numpy.zeros((1, 10)))[:-80].replace(b"(1, 10)", b"(1, 260000000)").replace(b" " * 10, b" ", 1)
    assert struct.unpack_from("<H", huge, 8)[0] + 10 >= len(huge)
    size = len(huge) + 8 * 260_000_000
    error = attempt(path, make_zip(b"x.npy", deflated(huge + bytes(100)), size, 0))
    assert isinstance(error, sluice.CorruptError)
    less = whole[:-1]
    assert isinstance(attempt(path, make_zip(b"x.npy", deflated(less), len(whole), zlib.crc32(less))), sluice.CorruptError)
    assert isinstance(attempt(path, make_zip(b"x.npy", deflated(whole) + b"x", len(whole), zlib.crc32(whole))), sluice.CorruptError)


def test_one_of_many_is_damaged(tmp_path):
    path = folder_of(tmp_path, list(volumes(6)))
    (path / "0003.npz").write_bytes(b"no archive")
    (path / "0004.npz").write_bytes(b"")
    data = sluice.Dataset(path)
    assert len(data) == 6 and len(data.verify().findings) == 2
    for number in range(6):
        (path / f"{number:04}.npz").write_bytes(b"no archive")
    with pytest.raises(sluice.CorruptError, match="0000.npz"):
        sluice.Dataset(path)


def test_files_that_do_not_fit_together(tmp_path):
    for other in (numpy.ones(3, "float32"), numpy.ones((3, 1)), numpy.float64(3)):
        (tmp_path / "set").mkdir(exist_ok=True)
        numpy.savez(tmp_path / "set" / "a.npz", x=numpy.ones(3), y=numpy.ones(2))
        numpy.savez(tmp_path / "set" / "b.npz", x=other, y=numpy.ones(2))
        with pytest.raises(sluice.UnsupportedError, match='column "x": its dtype or number of dimensions'):
            sluice.Dataset(tmp_path / "set")
        check(tmp_path / "set", [{"y": numpy.ones(2)}] * 2, fields={"y": "y"})


def test_a_file_that_changes(tmp_path):
    path = folder_of(tmp_path, [{"x": numpy.ones(30)}] * 3)
    data = sluice.Dataset(path)
    numpy.savez(path / "0001.npz", x=numpy.ones(31))
    with pytest.raises(sluice.CorruptError):
        data[1]
    numpy.savez(path / "0001.npz", x=numpy.zeros(30))
    with pytest.raises(sluice.IOError, match="changed since it was opened"):
        data[1]
    times = (path / "0002.npz").stat()
    numpy.savez(path / "0002.npz", x=numpy.zeros(30, "int64"))
    os.utime(path / "0002.npz", ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(sluice.CorruptError, match="dtype or number of dimensions differs"):
        data[2]


def test_paths(tmp_path):
    path = folder_of(tmp_path, [{"x": numpy.full(4, i)} for i in range(12)])
    assert [sluice.Dataset(str(path) + "/{0003..0007}.npz")[i]["x"][0] for i in range(5)] == [3, 4, 5, 6, 7]
    os.mkdir(path / "more")
    with pytest.raises(sluice.InvalidError, match="name the files"):
        sluice.Dataset(path)
    os.rmdir(path / "more")
    numpy.savez(path / "0012.npz", **{f"array{i}": numpy.ones(1) for i in range(70)})
    with pytest.raises(sluice.UnsupportedError, match="64"):
        sluice.Dataset(path)
    check(path, [{}] * 12 + [{"b": numpy.ones(1)}], fields={"b": "array69"})

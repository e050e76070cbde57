# SPDX-License-Identifier: Apache-2.0
"""Members of .npz files: many of them, and headers that contradict the directory."""
import io
import zipfile
import zlib

import numpy
import pytest
from test_npz import SAVE, Unseekable, attempt, deflated, folder_of, make_zip, npy, write_zip

import sluice


def by_zipfile(path):
    """Returns the content according to Python's zipfile and numpy; None if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: numpy.load(io.BytesIO(archive.read(name))).tolist() for name in archive.namelist()}
    except Exception:  # noqa: BLE001: they raise any exception
        return None


def without_sizes(path, **arrays):
    """Writes as to an unseekable stream: sizes and checksums follow the bytes."""
    stream = Unseekable()
    write_zip(stream, {name + ".npy": npy(array) for name, array in arrays.items()})
    path.write_bytes(stream.made)


@pytest.mark.parametrize("save", [*SAVE, without_sizes], ids=["stored", "deflated", "described"])
def test_any_byte_that_is_wrong_among_others(tmp_path, save):
    """Opening or verify reports it whenever the sample changes, also if only the name of an array changes."""
    arrays = {"x": numpy.arange(5.0), "y": numpy.arange(3, dtype="uint8")}
    path = folder_of(tmp_path, [arrays] * 2)
    damaged = path / "0001.npz"
    save(damaged, **arrays)
    good, wanted = damaged.read_bytes(), {name: array.tolist() for name, array in arrays.items()}
    assert by_zipfile(damaged) == {name + ".npy": value for name, value in wanted.items()}
    entries = [at for at in range(len(good)) if good[at : at + 4] == b"PK\1\2"]
    tried = [False] * len(good)
    names = [at + 46 + i for at in entries for i in range(len("x.npy"))]
    for at in [*range(len(good)), *names]:
        content = bytearray(good)
        content[at] ^= 0x20 if at in names and tried[at] else 1
        tried[at] = True
        damaged.write_bytes(content)
        try:
            data = sluice.Dataset(path)
        except sluice.UnsupportedError:
            continue
        found = data.verify(workers=1, decode=True).findings
        assert all("0001.npz" in str(finding) for finding in found)
        if not found:
            assert {name: data[1][name].tolist() for name in data.fields} == wanted, at
        if at in names:
            assert found and by_zipfile(damaged) != by_zipfile(path / "0000.npz"), at


@pytest.mark.parametrize("place", [14, 18, 22, 26, 8])
def test_headers_that_contradict_the_directory(tmp_path, place):
    """Checksum, sizes, length of the name, method: changed in the local header only."""
    array = npy(numpy.arange(9)[None])
    for with_sizes in (True, False):
        if with_sizes:
            content = bytearray(make_zip(b"x.npy", deflated(array), len(array), zlib.crc32(array)))
        else:
            without_sizes(tmp_path / "made", x=numpy.arange(9)[None])
            content = bytearray((tmp_path / "made").read_bytes())
        assert attempt(tmp_path / "a.npz", bytes(content)) is None
        content[place] ^= 1
        error = attempt(tmp_path / "a.npz", bytes(content))
        if with_sizes or place in (8, 26):
            assert isinstance(error, sluice.CorruptError) and "header of a zip member" in str(error)
        else:
            assert error is None  # these fields are not read


def test_many_members(tmp_path):
    """In another order in each file, with one missing in each."""
    names = [f"n{i}" for i in range(1000)]
    (tmp_path / "set").mkdir()
    for file in range(4):
        order = names[file * 250 :] + names[: file * 250]
        members = {f"{name}.npy": npy(numpy.full(2, int(name[1:]) * 10 + file)) for name in order if name != f"n{file}"}
        write_zip(tmp_path / "set" / f"{file}.npz", members)
    for chosen in (names[:64], names[-64:], names[::-17]):
        data = sluice.Dataset(tmp_path / "set", fields={name: name for name in chosen})
        assert list(data.fields) == chosen
        for file in range(4):
            sample = data[file]
            for name in chosen:
                wanted = [] if name == f"n{file}" else [int(name[1:]) * 10 + file] * 2
                assert numpy.asarray(sample[name]).tolist() == wanted, (file, name)
    write_zip(tmp_path / "set" / "4.npz", {f"m{i}.npy": npy(numpy.zeros(2)) for i in range(24)})
    assert len(sluice.Dataset(tmp_path / "set", fields={"m": "m23"})) == 5
    write_zip(tmp_path / "set" / "5.npz", {"one_more.npy": npy(numpy.zeros(2))})
    with pytest.raises(sluice.UnsupportedError, match="more than 1024 different arrays"):
        sluice.Dataset(tmp_path / "set", fields={"m": "m23"})


def test_twice_or_in_the_same_place(tmp_path):
    """Far apart in the directory."""
    members = [(f"n{i}.npy", npy(numpy.full(2 if i else 40, i))) for i in range(300)]
    with pytest.warns(UserWarning), zipfile.ZipFile(tmp_path / "twice", "w") as archive:
        for name, content in [*members, members[3]]:
            archive.writestr(name, content)
    assert 'member "n3": duplicate member' in str(attempt(tmp_path / "a.npz", (tmp_path / "twice").read_bytes()))
    with zipfile.ZipFile(tmp_path / "made", "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
        places = [info.header_offset for info in archive.infolist()]
    content = bytearray((tmp_path / "made").read_bytes())
    # a separate header, inside the bytes of the first member
    local = bytes(content[places[200] : places[200] + 30 + len("n200.npy")])
    inside = places[0] + 30 + len("n0.npy") + 128 + 16
    content[inside : inside + len(local)] = local
    entry = content.rindex(b"n200.npy") - 46
    content[entry + 42 : entry + 46] = inside.to_bytes(4, "little")
    assert "it overlaps another member" in str(attempt(tmp_path / "a.npz", bytes(content)))

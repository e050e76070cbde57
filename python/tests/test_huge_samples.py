# SPDX-License-Identifier: Apache-2.0
"""Samples above the maximum size, 2^31 - 1 bytes, in sparse files: reported when the file is indexed, and never read."""
import gzip
import struct
import tarfile

import arrows
import pytest
import tfrecords
import zstds
from arrows import Column

import sluice

MOST = 2**31 - 1
BLOCK = 512


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(folder / "made"))
    return folder / "made"


def padded(size):
    return -(-size // BLOCK) * BLOCK


def tar(path, members, format=tarfile.USTAR_FORMAT, pax_size=False):
    """The members are holes. Returns the start of each."""
    begins = []
    with open(path, "wb") as file:
        for name, size in members:
            begins.append(file.tell())
            member = tarfile.TarInfo(name)
            member.size = size
            if pax_size:
                member.pax_headers = {"size": str(size)}
                member.size = 0
            file.write(member.tobuf(format))
            file.seek(padded(size), 1)
        file.truncate(file.tell() + 2 * BLOCK)
    return begins


def refused(path, offset, *words):
    with pytest.raises(sluice.UnsupportedError, match="(more|larger) than 2\\^31 - 1 bytes") as told:
        sluice.Dataset(path)
    assert told.value.file == str(path) and told.value.offset == offset
    for word in words:
        assert word in str(told.value)


@pytest.mark.parametrize(
    "size,format,pax",
    [
        (MOST - BLOCK + 1, tarfile.USTAR_FORMAT, False),  # its header belongs to the sample, too
        (MOST + 1, tarfile.GNU_FORMAT, False),
        (2**32 - 1, tarfile.USTAR_FORMAT, False),
        (2**32 + 7, tarfile.USTAR_FORMAT, False),
        (2**33 + 5, tarfile.GNU_FORMAT, False),  # base 256
        (2**33 + 5, tarfile.PAX_FORMAT, False),
        (MOST + 1, tarfile.PAX_FORMAT, True),
        (2**40, tarfile.PAX_FORMAT, True),
    ],
)
def test_one_member(tmp_path, size, format, pax):
    path = tmp_path / "a.tar"
    begins = tar(path, [("0.bin", 10), ("1.bin", size), ("2.bin", 10)], format, pax)
    refused(path, begins[1], '"1.bin"')


def test_several_members(tmp_path):
    path = tmp_path / "a.tar"
    begins = tar(path, [("0.a", 2**30), ("0.b", 2**29), ("0.c", 2**29), ("1.a", 5)])
    refused(path, begins[2], '"0.c"')
    # data between them are read with them
    begins = tar(path, [("0.a", 10), ("README", 2**31), ("0.b", 10)])
    refused(path, begins[2], '"0.b"')
    tar(path, [("0.a", 10), ("README", 2**33), ("1.b", 10)], tarfile.GNU_FORMAT)
    assert len(sluice.Dataset(path)) == 2


def test_as_large_as_can_be(tmp_path):
    path = tmp_path / "a.tar"
    tar(path, [("0.bin", MOST - BLOCK), ("1.a", 2**30), ("1.b", 2**30 - 1 - 2 * BLOCK)])
    assert len(sluice.Dataset(path)) == 2


def zeros(size, kind):
    """Returns compressed zeros, as members or frames of 64 MiB."""
    part = bytes(2**26)
    compress = {"gz": lambda data: gzip.compress(data, 1), "zst": zstds.compress}[kind]
    return compress(part) * (size // len(part)) + compress(bytes(size % len(part)))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_compressed(tmp_path, kind):
    tar(tmp_path / "head", [("0.bin", 10)])
    head = (tmp_path / "head").read_bytes()[: 2 * BLOCK]
    member = tarfile.TarInfo("1.bin")
    member.size = 2**31
    compress = {"gz": gzip.compress, "zst": zstds.compress}[kind]
    path = tmp_path / f"a.tar.{kind}"
    path.write_bytes(compress(head + member.tobuf(tarfile.USTAR_FORMAT)) + zeros(2**31 + 2 * BLOCK, kind))
    refused(path, len(head), '"1.bin"')


def test_tars_with_indexes(tmp_path, cache):
    """DALI's index replaces a walk, and reports the same."""
    path = tmp_path / "a.tar"
    tar(path, [("0.bin", 10), ("1.bin", 2**31)])
    with tarfile.open(path) as archive:
        lines = [f"bin {member.offset_data} {member.size} {member.name}\n" for member in archive]
    (tmp_path / "a.idx").write_text("v1.2 2\n" + "".join(lines))
    refused(path, 2 * BLOCK)
    assert not cache.exists()


@pytest.mark.parametrize("size", [MOST - 15, 2**32 + 7])
def test_tfrecords(tmp_path, size):
    """A good sample before it and one after it: no reader reaches them."""
    path = tmp_path / "a.tfrecord"
    good = tfrecords.record(tfrecords.example({"n": [1]}))
    with open(path, "wb") as file:
        length = struct.pack("<Q", size)
        file.write(good + length + tfrecords.masked(length))
        file.seek(size + 4, 1)
        file.write(good)
    refused(path, len(good))


@pytest.mark.parametrize("size", [2**31, 2**32 + 5])
def test_arrow(tmp_path, size):
    """One bad sample among good ones: the others can be read."""
    path = tmp_path / "a.arrow"
    arrows.write_stream(path, {"n": Column("int64", [4, 5]), "a": Column("large_binary", [b"12345", bytes(5003)])}, end=False)
    data = bytearray(path.read_bytes())
    body = 16 + 24 + 5008
    assert data.count(struct.pack("<q", body)) == 1 and data.count(struct.pack("<q", 5008)) == 2
    total = size + 5
    for old, new in ((body, 40 + total + -total % 8), (5008, total)):
        data = data.replace(struct.pack("<q", old), struct.pack("<q", new))
    path.write_bytes(data[:-5000])
    with open(path, "r+b") as file:
        file.truncate(len(data) - 5008 + total + -total % 8)
    data = sluice.Dataset(path)
    assert (data[0]["n"], data[0]["a"]) == (4, b"12345")
    with pytest.raises(sluice.UnsupportedError, match="(more|larger) than 2\\^31 - 1 bytes"):
        data[1]

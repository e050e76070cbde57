# SPDX-License-Identifier: Apache-2.0
"""MDS shards and LitData chunks that are compressed as a whole: packing them gives the same result as packing them unpacked."""
import gzip
import hashlib
import json
import pathlib
import random

import litdata_files as lit
import mds_files as mds
import numpy
import pytest
from test_mds import COLUMNS, sample_of

import sluice
from sluice import columns as C

CORRUPT, INVALID, UNSUPPORTED = sluice.CorruptError, sluice.InvalidError, sluice.UnsupportedError
WAYS = ["zstd", "zstd:7", "zstd:19", "gz", "gz:1", "br", "br:3", "snappy"]


def made(write, folder, *arguments, **options):
    """Skips a test if the compression library is missing."""
    try:
        return write(folder, *arguments, **options)
    except RuntimeError as why:
        pytest.skip(str(why))


def write_mds(folder, compression, *, count=60, size=70000, keep_raw=False, **options):
    """Writes samples of some bytes to some 10 kB; some compress well."""
    chance = random.Random(count)
    samples = []
    for number in range(count):
        bytes_of = chance.choice([0, 10, 3000, size])
        samples.append({"blob": chance.randbytes(bytes_of) if number % 3 else bytes(bytes_of), "class": number})
    made(mds.write, folder, {"blob": "bytes", "class": "int"}, samples, samples_per_shard=17, compression=compression,
         keep_raw=keep_raw, **options)  # fmt: skip
    return samples


def without_raw(folder):
    """Removes the unpacked shards. Returns their content."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".mds" or (path.suffix == ".bin" and path.stem.count(".") == 0):
            found[path.name] = path.read_bytes()
            path.unlink()
    return found


def files_of(folder):
    return {path.name: hashlib.sha1(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def pack(source, folder, **options):
    sluice.pack(source, folder, **{"progress": False, "keep_bytes": True, "keep_order": True} | options)
    return files_of(folder)


def compare(tmp_path, folder):
    """Compares the dataset with its unpacked form, packed by one thread and several."""
    plain = sluice.Dataset(folder)
    assert not plain.front_to_back
    wanted = pack(plain, tmp_path / "wanted")
    assert without_raw(folder)
    data = sluice.Dataset(folder)
    assert data.front_to_back and data.fingerprint == plain.fingerprint and len(data) == len(plain)
    assert data.nbytes == plain.nbytes and data.description.startswith(("compressed", "LitData compressed"))
    for workers in (1, 5):
        assert pack(data, tmp_path / f"packed-{workers}", workers=workers) == wanted
    found = data.verify(decode=True, progress=None)
    assert found.samples == len(data) and found.findings == [] and found.unchecked == plain.verify(progress=None).unchecked
    return data, wanted


@pytest.mark.parametrize("compression", WAYS)
def test_mds(tmp_path, compression):
    samples = write_mds(tmp_path / "mds", compression, keep_raw=True, hashes=["md5", "sha1"])
    data, _ = compare(tmp_path, tmp_path / "mds")
    packed = list(sluice.Dataset(tmp_path / "packed-1"))
    assert [bytes(s["blob"]) for s in packed] == [s["blob"] for s in samples]
    assert [s["label"] for s in packed] == list(range(60)) and data.numbers("label") == list(range(60))
    sluice.unpack(data, tmp_path / "files", tar=True, progress=False)
    assert len(sluice.Dataset(tmp_path / "files")) == 60


def test_every_encoding(tmp_path):
    """Fields that are detected by looking at samples are also detected in compressed ones."""
    made(mds.write, tmp_path / "mds", COLUMNS, [sample_of(number) for number in range(17)], samples_per_shard=5,
         compression="zstd", keep_raw=True)  # fmt: skip
    plain = sluice.Dataset(tmp_path / "mds").fields
    assert compare(tmp_path, tmp_path / "mds")[0].fields == plain


@pytest.mark.parametrize("compression", ["zstd", "zstd:7"])
def test_litdata(tmp_path, compression):
    chance = random.Random(1)
    samples = [[number, chance.randbytes(number * 100), "text" * (number % 5)] for number in range(50)]
    made(lit.write, tmp_path / "lit", ["int", "bytes", "str"], samples, chunk_samples=20, compression=compression, keep_raw=True)
    compare(tmp_path, tmp_path / "lit")
    packed = list(sluice.Dataset(tmp_path / "packed-5"))
    assert [[s["0"], bytes(s["1"]), s["2"]] for s in packed] == samples


def test_litdata_of_old_releases(tmp_path):
    """Their sizes do not include the table of offsets."""
    made(lit.write, tmp_path / "lit", ["int"], [[n] for n in range(50)], chunk_samples=20, compression="zstd", keep_raw=True)

    def edit(index):
        for chunk in index["chunks"]:
            chunk["chunk_bytes"] -= 4 * (chunk["chunk_size"] + 2)

    change(tmp_path / "lit", edit)
    compare(tmp_path, tmp_path / "lit")


def test_litdata_tokens(tmp_path):
    tokens = [numpy.arange(n * 7, n * 7 + 900, dtype="u2") for n in range(9)]
    made(lit.write, tmp_path / "lit", ["no_header_numpy:4"], [[t] for t in tokens], chunk_samples=4, compression="zstd", keep_raw=True)
    change(tmp_path / "lit", lambda index: index["config"].update(item_loader="TokensLoader"))
    data, _ = compare(tmp_path, tmp_path / "lit")
    assert "tokens" in data.fields and len(data) == 3


def test_some_lie_unpacked(tmp_path):
    """If an unpacked shard exists, it is used, for each shard separately."""
    write_mds(tmp_path / "mds", "zstd", keep_raw=True)
    wanted = pack(sluice.Dataset(tmp_path / "mds"), tmp_path / "wanted")
    raw = without_raw(tmp_path / "mds")
    for name in ("shard.00001.mds", "shard.00003.mds"):
        (tmp_path / "mds" / name).write_bytes(raw[name])
        (tmp_path / "mds" / (name + ".zstd")).write_bytes(b"no zstd")
    data = sluice.Dataset(tmp_path / "mds")
    assert data.front_to_back and pack(data, tmp_path / "packed") == wanted


def test_refused_where_order_matters(tmp_path):
    write_mds(tmp_path, "gz")
    data = sluice.Dataset(tmp_path)
    for what in (lambda: data[0], lambda: data.read(0, "blob"), lambda: data[::-1],
                 lambda: sluice.Loader(data, 4, True, columns={"label": C.Number()})):  # fmt: skip
        with pytest.raises(UNSUPPORTED, match="front to back.* pack"):
            what()


def rows(data, **options):
    columns = {"label": C.Number(), "blob": C.Ragged(length=70000)}
    with sluice.Loader(data, 7, last_batch="short", columns=columns, **options) as loader:
        found = []
        for batch in loader:
            ends = batch["blob.offsets"].tolist()
            found += [(label, bytes(batch["blob"][ends[i] : ends[i + 1]])) for i, label in enumerate(batch["label"].tolist())]
        assert loader.stats()["unpack_restarts"] == 0
    return found


@pytest.mark.parametrize("compression", ["zstd:19", "gz", "br", "snappy"])
def test_loaded_as_they_are(tmp_path, compression):
    """In the order of the same shards uncompressed, sequential and shuffled, and over ranks."""
    samples = write_mds(tmp_path / "mds", compression, keep_raw=True, hashes=["sha1"])
    given = ({}, {"shuffle": "shards"}, {"shuffle": "shards", "rank": 1, "world_size": 2}, {"rank": 1, "world_size": 3})
    plain = [rows(tmp_path / "mds", **options) for options in given]
    assert without_raw(tmp_path / "mds") and sluice.Dataset(tmp_path / "mds").front_to_back
    assert [rows(tmp_path / "mds", **options) for options in given] == plain
    assert plain[0] == [(sample["class"], sample["blob"]) for sample in samples]
    assert sorted(plain[1]) == sorted(plain[0]) and plain[1] != plain[0]


# ---- errors ----


def change(folder, edit):
    """Writes another index.json."""
    index = json.loads((folder / "index.json").read_text())
    index = edit(index) or index
    (folder / "index.json").write_text(json.dumps(index))


def packed_path(folder, number=1, compression="zstd"):
    return folder / f"shard.{number:05}.mds.{compression}"


def replace(folder, content, number=1, compression="zstd"):
    """Replaces a compressed shard and its entry in the index."""
    packed_path(folder, number, compression).write_bytes(content)
    change(folder, lambda i: i["shards"][number]["zip_data"].update(bytes=len(content), hashes={}))


def refused(tmp_path, folder, words, path):
    """Every reader fails and produces nothing."""
    data = sluice.Dataset(folder)
    found = data.verify(progress=None)
    assert found.findings and {finding.file for finding in found.findings if finding.file} == {str(path)}
    for source in (data, data[:40]):
        with pytest.raises(CORRUPT, match=words) as caught:
            pack(source, tmp_path / "out", overwrite=True, on_bad_sample="skip_all")
        assert caught.value.file == str(path) and not (tmp_path / "out" / "manifest.sluice").exists()
        with pytest.raises(CORRUPT, match=words):
            sluice.unpack(source, tmp_path / "files", progress=False, on_bad_sample="skip_all")
        assert not (tmp_path / "files").exists()
    return found


@pytest.mark.parametrize("compression", ["zstd", "gz", "br", "snappy"])
def test_cut_short(tmp_path, compression):
    folder = tmp_path / "mds"
    write_mds(folder, compression, hashes=["sha1"])
    path = packed_path(folder, 1, compression)
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) * 2 // 3):
        path.write_bytes(whole[:size])
        with pytest.raises(CORRUPT, match=f"has {size} bytes, but its index says {len(whole)}"):
            sluice.Dataset(folder)
        replace(folder, whole[:size], 1, compression)
        refused(tmp_path, folder, "truncated|unpacks to|damaged|ends here", path)
        change(folder, lambda i: i["shards"][1]["zip_data"].update(bytes=len(whole)))
    for size in (0, 3, 20):
        replace(folder, whole[:size], 1, compression)
        with pytest.raises(CORRUPT) as caught:
            sluice.Dataset(folder)
        assert caught.value.file == str(path)


@pytest.mark.parametrize("compression", ["zstd", "gz", "br", "snappy"])
def test_of_another_size_than_told(tmp_path, compression):
    folder = tmp_path / "mds"
    write_mds(folder, compression, keep_raw=True)
    raw = without_raw(folder)["shard.00001.mds"]
    path = packed_path(folder, 1, compression)
    for content, words in ((raw + b"x", f"more than the {len(raw)} bytes"), (raw + bytes(1 << 20), f"more than the {len(raw)} bytes")):
        replace(folder, mds.squeeze(compression, content), 1, compression)
        refused(tmp_path, folder, words, path)
    replace(folder, mds.squeeze(compression, raw[:-1]), 1, compression)
    refused(tmp_path, folder, "ends here|unpacks to", path)
    change(folder, lambda i: i["shards"][1]["raw_data"].update(bytes=len(raw) - 1))
    with pytest.raises(CORRUPT, match="beyond the end of the file"):
        sluice.Dataset(folder)


def test_hashes(tmp_path):
    """Hashes of the stored and the unpacked bytes are both checked, and the error names the wrong one."""
    folder = tmp_path / "mds"
    write_mds(folder, "gz", keep_raw=True, hashes=["sha1", "sha256"])
    raw = without_raw(folder)["shard.00002.mds"]
    assert sluice.Dataset(folder).verify(progress=None).findings == []
    changed = bytearray(raw)
    changed[-1] ^= 1
    packed = gzip.compress(bytes(changed), mtime=0)
    packed_path(folder, 2, "gz").write_bytes(packed)
    change(folder, lambda i: i["shards"][2]["zip_data"].update(bytes=len(packed)))
    found = sluice.Dataset(folder).verify(progress=None)
    assert len(found.findings) == 4 and all("does not match its hash" in str(f) for f in found.findings)
    digest = {"sha1": hashlib.sha1(packed).hexdigest(), "sha256": hashlib.sha256(packed).hexdigest()}
    change(folder, lambda i: i["shards"][2]["zip_data"].update(hashes=digest))
    found = sluice.Dataset(folder).verify(progress=None)
    assert [str(f).rpartition("(")[2] for f in found.findings] == ["sha1)", "sha256)"]
    assert all(f.file == str(packed_path(folder, 2, "gz")) for f in found.findings)


def peak():
    """Returns the peak memory of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


def test_claims_and_bombs(tmp_path):
    """Small files that contain, or claim to contain, gigabytes."""
    folder = tmp_path / "mds"
    write_mds(folder, "gz", keep_raw=True)
    raw = without_raw(folder)["shard.00001.mds"]
    zeros = gzip.compress(bytes(32 << 20), 1) * 40  # 1.3 GB
    begin = peak()
    replace(folder, gzip.compress(raw) + zeros, 1, "gz")
    refused(tmp_path, folder, "more than the", packed_path(folder, 1, "gz"))
    assert peak() - begin < 160 << 20  # two windows of 32 MiB, and the packer
    replace(folder, gzip.compress(b"\xff\xff\xff\x0f") + zeros, 1, "gz")
    for samples, bytes_of, kind, words in (
        (2**28 - 1, 2**31, UNSUPPORTED, "is too small for the"),
        (2**24, 2**20, CORRUPT, "too small for the table"),
        (2**22, 2**31, CORRUPT, "268435455 samples, but its index says 4194304"),
    ):
        begin = peak()
        change(folder, lambda i: (i["shards"][1].update(samples=samples), i["shards"][1]["raw_data"].update(bytes=bytes_of)) and None)
        with pytest.raises(kind, match=words):
            sluice.Dataset(folder)
        assert peak() - begin < 64 << 20


def test_what_is_no_such_data(tmp_path):
    folder = tmp_path / "mds"
    write_mds(folder, "zstd")
    for content, words in ((b"", "truncated|ends here"), (b"no zstd at all" * 100, "damaged"), (gzip.compress(b"x" * 999), "damaged"),
                           (b"\x28\xb5\x2f\xfd\x00\x98\x29\x00\x00hello", "128 MiB")):  # fmt: skip
        replace(folder, content)
        with pytest.raises((CORRUPT, UNSUPPORTED), match=words) as caught:
            sluice.Dataset(folder)
        assert caught.value.file == str(packed_path(folder))
    packed_path(folder).unlink()
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset(folder)
    assert caught.value.file == str(folder / "shard.00001.mds")


def test_a_link_that_leads_out(tmp_path):
    folder = tmp_path / "mds"
    write_mds(folder, "gz")
    packed_path(folder, 1, "gz").rename(tmp_path / "outside")
    packed_path(folder, 1, "gz").symlink_to(tmp_path / "outside")
    with pytest.raises(INVALID, match="allow_outside"):
        sluice.Dataset(folder)
    assert len(sluice.Dataset(folder, allow_outside=True)) == 60


def test_compressions_that_are_not_known(tmp_path):
    write_mds(tmp_path, "gz")
    for name in ("bz2", "xz", "", "gz:", "gz:x", "zstdx", 7, None):
        change(tmp_path, lambda i: [shard.update(compression=name) for shard in i["shards"]] and None)
        with pytest.raises(UNSUPPORTED, match="compressed by an unsupported method"):
            sluice.Dataset(tmp_path)


def test_changed_after_it_was_opened(tmp_path):
    write_mds(tmp_path / "mds", "gz")
    data = sluice.Dataset(tmp_path / "mds")
    path = packed_path(tmp_path / "mds", 1, "gz")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(sluice.IOError, match="changed since it was opened") as caught:
        pack(data, tmp_path / "out")
    assert caught.value.file == str(path)

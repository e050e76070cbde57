# SPDX-License-Identifier: Apache-2.0
"""verify's checks of each format, and its report of everything that it could not check."""
import ctypes
import functools
import gzip
import hashlib
import io
import json
import pickle
import shutil
import struct
import tarfile
import zlib

import arrows
import betons
import litdata_files
import lmdbs
import mds_files
import numpy
import parquets
import pytest
import recordios
import tfrecords
import zstds
from PIL import Image

import sluice


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def encoded(kind="PNG", number=0, size=(40, 30), **options):
    made = io.BytesIO()
    noise = numpy.random.default_rng(number).integers(0, 255, (size[1], size[0], 3), dtype=numpy.uint8)
    Image.fromarray(noise).save(made, kind, **options)
    return made.getvalue()


def tar(path, members):
    with tarfile.open(path, "w") as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


# ---- containers of images: each takes a list of them ----


def in_folder(path, pictures):
    (path / "class").mkdir(parents=True)
    for number, data in enumerate(pictures):
        (path / "class" / f"{number}.{'png' if data[:4] == PNG[:4] else 'jpg'}").write_bytes(data)
    return path


def in_tar(path, pictures):
    return tar(path.with_suffix(".tar"), [(f"{number}.png", data) for number, data in enumerate(pictures)])


def in_tfrecord(path, pictures):
    return tfrecords.write(path.with_suffix(".tfrecord"), [{"image": [data]} for data in pictures])


def in_recordio(path, pictures):
    path = path.with_suffix(".rec")
    recordios.write(path, [recordios.image(0, data, number) for number, data in enumerate(pictures)])
    return path


def in_parquet(path, pictures, **options):
    path = path.with_suffix(".parquet")
    parquets.write(path, {"image": parquets.Column("binary", pictures)}, **options)
    return path


def in_arrow(path, pictures):
    path = path.with_suffix(".arrow")
    arrows.write_stream(path, {"image": arrows.Column("binary", pictures)})
    return path


def in_mds(path, pictures, **options):
    mds_files.write(path, {"image": "png"}, [{"image": data} for data in pictures], **options)
    return path


def in_litdata(path, pictures):
    litdata_files.write(path, ["image"], [[data] for data in pictures])
    return path


def in_lmdb(path, pictures):
    lmdbs.pictures(path, {f"{number:04}": data for number, data in enumerate(pictures)})
    return path


def in_table(path, pictures):
    in_folder(path, pictures)
    lines = [f"class/{number}.png" for number in range(len(pictures))]
    (path / "table.csv").write_text("\n".join(["file", *lines]))
    return path / "table.csv"


def in_coco(path, pictures):
    in_folder(path, pictures)
    images = [{"id": number, "file_name": f"class/{number}.png"} for number in range(len(pictures))]
    (path / "instances_x.json").write_text(json.dumps({"images": images, "annotations": [], "categories": []}))
    return path / "instances_x.json"


def in_shards(path, pictures):
    with sluice.Writer(path, fields={"image": "image"}) as writer:
        for data in pictures:
            writer.add(image=data)
    return path


PNG = encoded()
CONTAINERS = [in_folder, in_tar, in_tfrecord, in_recordio, in_parquet, in_arrow, in_mds, in_litdata, in_lmdb, in_table, in_coco]

SAID = {
    in_folder: "", in_tar: "tars have no checksums", in_tfrecord: "", in_recordio: "RecordIO has no checksums",
    in_arrow: "Arrow files have no checksums", in_litdata: "LitData chunks have no checksums",
    in_lmdb: "LMDB has no checksums", in_table: "tables have no checksums", in_coco: "annotations have no checksums",
    in_shards: "",
}  # fmt: skip


@pytest.mark.parametrize("container", SAID)
def test_what_has_no_checksum_is_said(tmp_path, container):
    found = sluice.Dataset(container(tmp_path / "x", [encoded(number=n) for n in range(5)])).verify(progress=None)
    assert found == (5, found.bytes, [], SAID[container])
    assert sluice.Dataset(in_folder(tmp_path / "y", [PNG])).verify(progress=None).unchecked == ""


def test_pictures_that_are_files_have_none(tmp_path):
    """In any container: in class folders, or listed by a table."""
    of_pictures = "images other than PNG have no checksums"
    folder = in_folder(tmp_path / "x", [PNG, encoded("JPEG", quality=90)])
    assert sluice.Dataset(folder).verify(progress=None).unchecked == of_pictures
    assert sluice.Dataset(folder)[:1].verify(progress=None).unchecked == ""
    (tmp_path / "x" / "a.csv").write_text("file\nclass/1.jpg\n")
    found = sluice.Dataset(tmp_path / "x" / "a.csv").verify(progress=None, workers=1)
    assert found.unchecked == "tables have no checksums; " + of_pictures


def test_that_pixels_were_not_read_is_said(tmp_path):
    """Counted for images in any container, but not for raw pixels, which need no decoding."""
    folder = in_folder(tmp_path / "x", [PNG, encoded("JPEG", quality=90), encoded("JPEG", quality=80)])
    data = sluice.Dataset(folder)
    found = data.verify(progress=None)
    assert found.undecoded == 3 and "undecoded=3" in repr(found) and len(found) == 4
    assert pickle.loads(pickle.dumps(found)).undecoded == 3
    assert data.verify(decode=True, progress=None).undecoded == 0
    assert sum(data.verify(part=(i, 2), progress=None).undecoded for i in range(2)) == 3
    for raw, undecoded in ((False, 3), (True, 0)):
        sluice.pack(data, tmp_path / f"packed{raw}", raw=raw, progress=False)
        assert sluice.Dataset(tmp_path / f"packed{raw}").verify(progress=None).undecoded == undecoded


def test_other_formats(tmp_path):
    betons.write(tmp_path / "a.beton", {"x": "int"}, [{"x": 1}])
    assert sluice.Dataset(tmp_path / "a.beton").verify(progress=None).unchecked == ".beton files have no checksums"
    numpy.save(tmp_path / "a.npy", numpy.zeros((3, 2)))
    of_arrays = "files of arrays have no checksums"
    assert sluice.Dataset(tmp_path / "a.npy").verify(progress=None).unchecked == of_arrays
    (tmp_path / "flat.bin").write_bytes(bytes(24))
    flat = sluice.Dataset(tmp_path / "flat.bin", flat=("float32", (2,)))
    assert flat.verify(progress=None).unchecked == of_arrays
    numpy.arange(5, dtype="u2").tofile(tmp_path / "m.bin")
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQiqqq", 1, 8, 1, 2, 5, 0, 0, 1)
    (tmp_path / "m.idx").write_bytes(index)
    megatron = sluice.Dataset(tmp_path / "m.bin")
    assert megatron.verify(progress=None).unchecked == "Megatron-LM's files have no checksums"


def test_joined_ones_say_each_once(tmp_path):
    a = sluice.Dataset(in_tar(tmp_path / "a", [PNG]))
    b = sluice.Dataset(in_lmdb(tmp_path / "b", [PNG]))
    shards = sluice.Dataset(in_shards(tmp_path / "c", [PNG]))
    joined = sluice.concat([a, shards, b, a, sluice.Dataset(in_tar(tmp_path / "d", [PNG]))], fields=["image"])
    both = "tars have no checksums; LMDB has no checksums"
    assert joined.verify(progress=None).unchecked == both and len(joined) == 5
    assert joined[1:4].verify(progress=None).unchecked == both
    assert sluice.concat([shards, shards]).verify(progress=None).unchecked == ""


# ---- PNG ----


def chunks(data):
    """Returns (offset, type, whole chunk), each with the right checksum."""
    at, found = 8, []
    while at < len(data):
        size = struct.unpack(">I", data[at : at + 4])[0]
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        found.append((at, kind))
        at += 12 + size
    return found


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def with_text(data):
    """Returns a PNG with an ancillary chunk after its header."""
    body = b"tEXtComment\0" + b"words"
    return data[:33] + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) + data[33:]


@pytest.mark.parametrize("container", CONTAINERS)
def test_checksums_of_png(tmp_path, container):
    """Without decoding, in any chunk: the image's data and optional chunks."""
    good = with_text(PNG)
    found = {kind for _, kind in chunks(good)}
    assert {b"IHDR", b"tEXt", b"IDAT", b"IEND"} <= found
    for number, (at, kind) in enumerate(chunks(good)):
        bad = flipped(good, at + 8 if kind != b"IEND" else at + 9)  # its first byte, or one of the checksum
        data = sluice.Dataset(container(tmp_path / f"{number}", [good, good, bad, good]))
        result = data.verify(progress=None)
        assert [finding.sample for finding in result.findings] == [2], kind
        assert "checksum" in str(result.findings[0]) or kind == b"IHDR"
        assert result.samples == 4


def test_a_damaged_png_is_not_packed(tmp_path):
    """A sample that verify finds bad in shards was bad before packing: pack reports it."""
    bad = flipped(PNG, dict((kind, at) for at, kind in chunks(PNG))[b"IDAT"] + 20)
    source = sluice.Dataset(in_folder(tmp_path / "x", [PNG, bad, PNG]))
    with pytest.raises(sluice.CorruptError, match="checksum of chunk IDAT is wrong"):
        sluice.pack(source, tmp_path / "packed", progress=None)
    report = sluice.pack(source, tmp_path / "skipped", progress=None, on_bad_sample="skip")
    assert report.rejected == 1
    assert sluice.Dataset(tmp_path / "skipped").verify(progress=None)[::2] == (2, [])
    with sluice.Writer(tmp_path / "written", fields={"image": "image"}) as writer:
        writer.add(image=PNG)
        with pytest.raises(sluice.CorruptError):
            writer.add(image=bad)


# ---- arrays ----


@pytest.mark.parametrize("arrays", [["x"], ["x", "y"]])
def test_checksums_of_npz_rows(tmp_path, arrays):
    """Also with a single array, which is read like a file of arrays."""
    made = {"x": numpy.random.default_rng(1).random((30, 10)), "y": numpy.arange(30)}
    numpy.savez(tmp_path / "a.npz", **{name: made[name] for name in arrays})
    found = sluice.Dataset(tmp_path / "a.npz").verify(progress=None)
    assert found[2:] == ([], "")
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(flipped(content, content.index(made["x"][12].tobytes())))
    data = sluice.Dataset(tmp_path / "a.npz")
    (finding,) = data.verify(progress=None).findings
    assert "CRC-32" in str(finding) and finding.file == str(tmp_path / "a.npz")
    some = data[:4].verify(progress=None)
    assert some[2:] == ([], "checksums of whole files, since only some of their samples are read")


@pytest.mark.parametrize("decode", [False, True])
def test_checksums_of_deflated_arrays(tmp_path, decode):
    """Checksums of the unpacked bytes: every flip that numpy notices is found, also without --decode."""
    (tmp_path / "set").mkdir()
    path = tmp_path / "set" / "0.npz"
    numpy.savez_compressed(path, x=numpy.random.default_rng(1).integers(0, 9, 400, "uint8"))
    data = path.read_bytes()
    body, noticed = 30 + len("x.npy") + int.from_bytes(data[28:30], "little"), 0
    for at in range(body, body + 200, 3):
        path.write_bytes(flipped(data, at))
        try:
            found = sluice.Dataset(tmp_path / "set").verify(decode=decode, progress=None)
        except sluice.Error:  # in the array's header
            continue
        assert len(found.findings) == 1 and found.findings[0].file == str(path), at
        noticed += 1
    assert noticed > 20
    path.write_bytes(data)
    assert sluice.Dataset(tmp_path / "set").verify(decode=decode, progress=None)[2:] == ([], "")


# ---- Parquet ----

NO_CRC = "Parquet pages without a CRC"


@functools.lru_cache
def noise(number):
    return encoded("JPEG", number, size=(200, 160), quality=95)


def rows(count=24):
    return {
        "image": parquets.Column("binary", [noise(number) for number in range(count)]), "label": parquets.Column("int64", list(range(count))),
        "text": parquets.Column("string", [f"text {number % 3}" if number != 5 else None for number in range(count)]),
    }  # fmt: skip


CODECS = ["UNCOMPRESSED", "SNAPPY", "ZSTD", "GZIP"]


# Both layouts and both versions with each codec, combined the other way round for every other codec.
@pytest.mark.parametrize(("codec", "repeated", "version"), [(codec, n, 1 + (i + n) % 2) for i, codec in enumerate(CODECS) for n in (1, 4)])
def test_crc_of_every_page(tmp_path, version, codec, repeated):
    """Damage anywhere in any page is found: in images in memory and read per sample, in dictionaries, in numbers."""
    path = tmp_path / "a.parquet"
    columns = rows(24)
    columns["image"].values = [data + bytes(30000 * (repeated - 1)) for data in columns["image"].values]
    layout = parquets.write(path, columns, rows_per_page=7, rows_per_group=13, codec=codec, dictionary={"text"}, crc=True,
                            data_page_version=version)  # fmt: skip
    good = path.read_bytes()
    found = sluice.Dataset(path).verify(progress=None)
    assert found == (24, found.bytes, [], "")
    bodies = sum(page["size"] + page["header"] for page in layout.pages)
    assert found.bytes >= bodies
    if repeated == 1 and codec != "UNCOMPRESSED":  # everything is in memory
        assert found.bytes == bodies + 24 * 4
    kinds = set()
    for number, page in enumerate(layout.pages):
        at = page["offset"] + page["header"]
        for where in (at, at + page["size"] // 2, at + page["size"] - 1):
            path.write_bytes(flipped(good, where))
            try:
                data = sluice.Dataset(path)
            except sluice.CorruptError:
                continue  # the damage prevents opening
            findings = data.verify(progress=None).findings
            kinds.add((page["leaf"], page["type"]))
            crcs = [finding for finding in findings if "checksum (CRC-32)" in str(finding)]
            assert [(finding.file, finding.offset, finding.sample) for finding in crcs] == [(str(path), at, None)]
            assert f'column "{page["leaf"]}"' in str(crcs[0])
    data_page = 0 if version == 1 else 3
    # damaged gzip fails when the file is opened, or its sample reports it, too
    assert codec == "GZIP" or {("image", data_page), ("label", data_page), ("text", 2), ("text", data_page)} <= kinds


def test_pages_without_crc_are_said(tmp_path):
    path = tmp_path / "a.parquet"
    for options in ({}, {"codec": "ZSTD"}, {"codec": "GZIP", "data_page_version": 2}, {"codec": "SNAPPY", "dictionary": True}):
        parquets.write(path, rows(), **options)
        found = sluice.Dataset(path).verify(progress=None)
        assert found[2:] == ([], NO_CRC)
    parquets.write(path, rows(), codec="GZIP")  # gzip has a checksum itself
    assert sluice.Dataset(path).verify(progress=None)[2:] == ([], "")
    layout = parquets.write(path, rows(), codec="ZSTD", rows_per_page=5, crc=True)
    (tmp_path / "b").mkdir()
    parquets.write(tmp_path / "b" / "0.parquet", rows(), crc=True)
    parquets.write(tmp_path / "b" / "1.parquet", rows())
    assert sluice.Dataset(tmp_path / "b").verify(progress=None)[2:] == ([], NO_CRC)
    assert sluice.Dataset(tmp_path / "b" / "0.parquet").verify(progress=None)[2:] == ([], "")
    # a column that is not chosen does not belong to the dataset
    page = next(page for page in layout.pages if page["leaf"] == "text")
    content = path.read_bytes()
    path.write_bytes(flipped(content, page["offset"] + page["header"] + page["size"] // 2))
    some = sluice.Dataset(path, fields={"image": "image", "label": "label"})
    assert some.verify(progress=None)[2:] == ([], "")
    assert some[:5].verify(progress=None).unchecked == "checksums of whole files, since only some of their samples are read"


def test_bytes_of_parquet_are_counted(tmp_path):
    """Counts the bytes read, whether columns are in memory or not, and whether pages have a CRC."""
    for codec in ("UNCOMPRESSED", "ZSTD"):
        for crc in (False, True):
            path = tmp_path / "a.parquet"
            parquets.write(path, rows(), codec=codec, crc=crc)
            size = path.stat().st_size
            # pages of values that are read one by one are read again for their checksums
            most = 2 * size if crc and codec == "UNCOMPRESSED" else size
            assert most > sluice.Dataset(path).verify(progress=None).bytes > most * 0.9


# ---- compressed tars ----


def summed(data):
    """Returns a zstd frame of raw blocks, with a checksum, made by hand: RFC 8878."""
    blocks = [data[at : at + 65536] for at in range(0, len(data), 65536)]
    frame = b"\x28\xb5\x2f\xfd\xe4" + struct.pack("<Q", len(data))
    for number, block in enumerate(blocks):
        frame += struct.pack("<I", len(block) << 3 | (number == len(blocks) - 1))[:3] + block
    return frame + bytes.fromhex(xxhash("xxh64", data)[8:])[::-1]


def test_what_compressed_tars_have(tmp_path):
    """gzip always has a checksum, a zstd frame optionally; plain archives beside them have none."""
    plain = in_tar(tmp_path / "a", [encoded("JPEG", number) for number in range(5)]).read_bytes()
    without = "zstd frames without a checksum"

    def said(*files):
        shutil.rmtree(tmp_path / "x", ignore_errors=True)
        (tmp_path / "x").mkdir()
        for number, (suffix, data) in enumerate(files):
            (tmp_path / "x" / f"{number}.tar{suffix}").write_bytes(data)
        found = sluice.Dataset(tmp_path / "x").verify(progress=None)
        assert found.samples == 5 * len(files) and found.findings == []
        return found.unchecked

    half = len(plain) // 2
    assert said((".gz", gzip.compress(plain))) == ""
    assert said((".zst", summed(plain))) == ""
    assert said((".zst", zstds.compress(plain))) == without
    assert said((".zst", summed(plain[:half]) + summed(plain[half:]))) == ""
    assert said((".zst", summed(plain[:half]) + zstds.compress(plain[half:]))) == without
    assert said((".zst", zstds.compress(plain[:half]) + summed(plain[half:]))) == without
    three = [(".gz", gzip.compress(plain)), (".zst", zstds.compress(plain)), (".zst", summed(plain))]
    assert said(*three) == without
    assert said(*three, ("", plain)) == "tars have no checksums; " + without


# ---- MDS ----


class Xxh128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxhash(name, data):
    """Computes a hash with the system's library."""
    library = ctypes.CDLL("libxxhash.so.0")
    if name in ("xxh128", "xxh3_128"):
        library.XXH3_128bits.restype = Xxh128
        made = library.XXH3_128bits(data, ctypes.c_size_t(len(data)))
        return f"{made.high:016x}{made.low:016x}"
    if name == "xxh3_64":
        library.XXH3_64bits.restype = ctypes.c_uint64
        return f"{library.XXH3_64bits(data, ctypes.c_size_t(len(data))):016x}"
    function, kind = (library.XXH32, ctypes.c_uint32) if name == "xxh32" else (library.XXH64, ctypes.c_uint64)
    function.restype = kind
    return f"{function(data, ctypes.c_size_t(len(data)), kind(0)):0{ctypes.sizeof(kind) * 2}x}"


def digest(name, data):
    return xxhash(name, data) if name.startswith("xxh") else hashlib.new(name, data).hexdigest()


# The hashes of streaming.base.hashing: xxhash's algorithms, and those of hashlib except shake.
XXHASH = ["xxh32", "xxh64", "xxh3_64", "xxh128", "xxh3_128"]
HASHLIB = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s"]


def in_hashed_mds(path, pictures, hashes, **changes):
    """Writes a dataset. `changes`: name -> digits of the first shard, None to omit it."""
    index = mds_files.write(path, {"image": "png"}, [{"image": data} for data in pictures], samples_per_shard=2)
    for number, shard in enumerate(index["shards"]):
        raw = shard["raw_data"]
        data = (path / raw["basename"]).read_bytes()
        raw["hashes"] = {name: digest(name, data) for name in hashes}
        if number == 0:
            raw["hashes"] = {name: text for name, text in (raw["hashes"] | changes).items() if text is not None}
    (path / "index.json").write_text(json.dumps(index))
    return path


@pytest.mark.parametrize("name", XXHASH + HASHLIB)
def test_each_hash_of_mds(tmp_path, name):
    pictures = [encoded("JPEG", number, quality=95) for number in range(7)]
    path = in_hashed_mds(tmp_path / "x", pictures, [name])
    found = sluice.Dataset(path).verify(progress=None)
    if "libcrypto" in found.unchecked:
        assert name in HASHLIB and found[2:] == ([], f"hash {name} of MDS shards (built without libcrypto)")
        pytest.skip("the library was built without libcrypto")
    assert found == (7, found.bytes, [], "")
    shard = path / "shard.00001.mds"
    content = shard.read_bytes()
    shard.write_bytes(flipped(content, len(content) - 300))
    (finding,) = sluice.Dataset(path).verify(progress=None).findings
    assert (finding.file, finding.sample, finding.reason) == (
        str(shard), None, f"the file does not match its hash in index.json ({name})")  # fmt: skip
    assert sluice.Dataset(path)[:1].verify(progress=None)[2:] == (
        [], "checksums of whole files, since only some of their samples are read")  # fmt: skip


def test_several_hashes_of_mds(tmp_path):
    """All supported hashes are checked; the others are named."""
    pictures = [encoded(number=number) for number in range(6)]
    both = ["sha1", "xxh64"]

    def findings(**changes):
        shutil.rmtree(tmp_path / "x", ignore_errors=True)
        found = sluice.Dataset(in_hashed_mds(tmp_path / "x", pictures, both, **changes)).verify(progress=None, workers=1)
        libcrypto = "hash sha1 of MDS shards (built without libcrypto)"
        said = [phrase for phrase in found.unchecked.split("; ") if phrase not in ("", libcrypto)]
        wrong = [finding.reason for finding in found.findings]
        assert all(reason.startswith("the file does not match its hash in index.json (") for reason in wrong)
        return [reason.split("(")[1][:-1] for reason in wrong if "sha1" not in reason], said

    assert findings() == ([], [])
    assert findings(xxh64=None, sha1=None) == ([], ["MDS shards without a hash in index.json"])
    assert findings(xxh64="0" * 16) == (["xxh64"], [])
    for digits in ("", "12", "not digits at all", "0" * 400, "0 " * 8, "1=2"):
        assert findings(xxh64=digits) == (["xxh64"], [])
    content = digest("xxh64", (tmp_path / "x" / "shard.00000.mds").read_bytes())
    assert findings(xxh64=content.upper()) == ([], [])
    assert findings(whirlpool="12") == ([], ["hash whirlpool of MDS shards (unknown here)"])
    assert findings(**{"a; b\n": "12"}) == ([], ["hash without a name of MDS shards (unknown here)"])
    assert findings(md4=12) == ([], ["hash md4 of MDS shards (not a string)"])
    assert findings(xxh32="123", xxh3_64="456") == (["xxh32", "xxh3_64"], []) or findings(
        xxh32="123", xxh3_64="456") == (["xxh3_64", "xxh32"], [])  # fmt: skip

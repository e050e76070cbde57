# SPDX-License-Identifier: Apache-2.0
"""Compressed tars, made by gzip, zstd, GNU tar, bsdtar and Python: packing them gives the same result as packing plain ones."""
import gzip
import os
import pathlib
import random
import shutil
import subprocess
import tarfile

import pytest
import zstds
from test_tar import add, expected, jpeg, usual, without_missing, write

import sluice
from sluice import columns as C


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(folder / "made"))
    return folder / "made"


def zstd(data, *options):
    if shutil.which("zstd") is None:
        return zstds.compress(data)
    return subprocess.run(["zstd", "-qc", *options], input=data, capture_output=True, check=True).stdout


def chunks_of(data, count):
    size = -(-len(data) // count)
    return [data[at : at + size] for at in range(0, len(data), size)]


def members(data):
    """Returns gzip members as pigz and bgzip make them: one after the other, with an empty one at the end."""
    return b"".join(gzip.compress(part, 6) for part in chunks_of(data, 7)) + gzip.compress(b"")


def frames(data):
    skipped = b"\x53\x2a\x4d\x18\x04\x00\x00\x00skip"
    return skipped + skipped.join(zstd(part, "--check", "-3") for part in chunks_of(data, 5))


KINDS = {
    ".tar.gz": gzip.compress,
    ".tgz": members,
    ".tar.zst": zstd,
    ".tzst": frames,
    ".stored.tar.gz": lambda data: gzip.compress(data, 0),
    ".padded.tar.gz": lambda data: gzip.compress(data) + bytes(3000),
    "-without-a-name-that-tells.tar": members,
}


def packed(tmp_path, source, name="packed", **options):
    folder = tmp_path / name
    options = {"progress": False, "keep_bytes": True, "overwrite": True} | options
    sluice.pack(source, folder, **options)
    return sluice.Dataset(folder)


def check(tmp_path, paths, plain):
    """Checks every value, in the order of the archives, with an index and without, regardless of the number of threads."""
    wanted = [without_missing(sample) for sample in expected([str(path) for path in plain])]
    for workers in (1, 7):
        data = sluice.Dataset(paths)
        assert data.format == "tar" and len(data) == len(wanted) and data.front_to_back
        assert [without_missing(sample) for sample in packed(tmp_path, data, workers=workers)] == wanted
    looked_at, _, findings, _ = data.verify(progress=False)
    assert looked_at == len(wanted) and not findings
    return data


def many(tmp_path, count=30, name="plain.tar"):
    """Writes samples of some bytes to some 100 kB; a few compress well."""
    chance = random.Random(count)

    def all_of():
        for number in range(count):
            size = chance.choice([0, 10, 3000, 70000, 200000])
            payload = chance.randbytes(size) if number % 3 else bytes(size)
            yield f"dir/{number:04}.bin", payload
            yield f"dir/{number:04}.cls", str(number).encode()

    return write(tmp_path / name, all_of())


@pytest.mark.parametrize("suffix", KINDS)
def test_kinds(tmp_path, suffix):
    plain = many(tmp_path)
    path = tmp_path / ("a" + suffix)
    path.write_bytes(KINDS[suffix](plain.read_bytes()))
    data = check(tmp_path, path, [plain])
    assert "compressed" in data.description and "pack" in data.description


def test_tools_of_other_people(tmp_path):
    (tmp_path / "in").mkdir()
    for name, data in usual(40):
        (tmp_path / "in" / name).write_bytes(data)
    names = sorted(os.listdir(tmp_path / "in"))
    made = [("gnu.tar.gz", ["tar", "-czf"]), ("gnu.tar.zst", ["tar", "--zstd", "-cf"]), ("bsd.tgz", ["bsdtar", "-czf"]),
            ("bsd.tar.zst", ["bsdtar", "--zstd", "-cf"])]  # fmt: skip
    tried = 0
    subprocess.run(["tar", "-cf", tmp_path / "plain.tar", *names], cwd=tmp_path / "in", check=True)
    for name, command in made:
        run = shutil.which(command[0]) and subprocess.run([*command, tmp_path / name, *names], cwd=tmp_path / "in", capture_output=True)
        if run and run.returncode == 0:
            check(tmp_path, tmp_path / name, [tmp_path / "plain.tar"])
            tried += 1
    with tarfile.open(tmp_path / "python.tar.gz", "w:gz") as archive:
        for name in names:
            archive.add(tmp_path / "in" / name, name)
    check(tmp_path, tmp_path / "python.tar.gz", [tmp_path / "plain.tar"])
    assert tried > 0


def test_folders_and_ranges_of_all_kinds(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    plain = []
    for number, suffix in enumerate([".tar", ".tar.gz", ".tar.zst", ".tar", ".tgz", ".tzst"]):
        plain.append(write(tmp_path / f"{number}.tar", usual(9, first=number * 100)))
        (folder / f"{number}{suffix}").write_bytes(KINDS.get(suffix, bytes)(plain[-1].read_bytes()))
    check(tmp_path, folder, plain)
    for number in range(5):
        (tmp_path / f"r-{number}.tar.gz").write_bytes(gzip.compress(plain[number].read_bytes()))
    check(tmp_path, str(tmp_path / "r-{0..4}.tar.gz"), plain[:5])
    joined = sluice.Dataset(tmp_path / "r-2.tar.gz") + sluice.Dataset(plain[0])
    assert joined.front_to_back and not sluice.Dataset(plain[0]).front_to_back
    assert [s["key"] for s in packed(tmp_path, joined)] == [f"{n:04}" for n in (*range(200, 209), *range(9))]


def test_names_over_boundaries(tmp_path):
    """Long names (GNU's and pax) at the boundaries of the walk's windows and the stream's chunks."""
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        names = [("n" * 200 + f"/{'x' * (number * 37 % 3000)}{number:03}.txt", b"t" * (number * 1021 % 70000)) for number in range(60)]
        plain = write(tmp_path / "plain.tar", names, format=format)
        for suffix in (".tar.gz", ".tzst"):
            (tmp_path / f"a{suffix}").write_bytes(KINDS[suffix](plain.read_bytes()))
            check(tmp_path, tmp_path / f"a{suffix}", [plain])


def load(data):
    return sluice.Loader(data, 4, True, columns={"label": C.Number()})


def test_refused_where_order_matters(tmp_path):
    plain = write(tmp_path / "plain.tar", usual(20))
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    data = sluice.Dataset(path)
    for what in (lambda: data[0], lambda: data.read(0, "txt"), lambda: data.decode(0), lambda: load(data),
                 lambda: load(data + sluice.Dataset(plain)), lambda: load(data[3:9]), lambda: data[::-1]):  # fmt: skip
        with pytest.raises(sluice.UnsupportedError, match="front to back.* pack"):
            what()
    with pytest.raises(sluice.UnsupportedError) as caught:
        load(data)
    assert caught.value.file == str(path)
    assert data.numbers("label") == list(range(20))
    assert [s["label"] for s in packed(tmp_path, data.where("label > 4"))] == list(range(5, 20))
    assert [s["label"] for s in packed(tmp_path, data.subset([1, 1, 7, 19]))] == [1, 1, 7, 19]
    assert data.sample(7)["key"] == "0007" and data.sample(2)["key"] == "0002"
    sluice.unpack(data, tmp_path / "files", tar=True, progress=False)
    tars = sluice.Dataset(tmp_path / "files")
    assert [s["label"] for s in tars] == list(range(20)) and not tars.front_to_back


def test_a_seed_changes_nothing(tmp_path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "plain.tar", usual(30)).read_bytes()))
    orders = [[s["label"] for s in packed(tmp_path, path, seed=seed)] for seed in (0, 1)]
    assert orders == [list(range(30))] * 2


def test_cut_short_anywhere(tmp_path):
    plain = write(tmp_path / "plain.tar", [("a.txt", b"hello"), ("b.txt", random.Random(1).randbytes(700))])
    for suffix in (".tar.gz", ".tzst"):
        whole = KINDS[suffix](plain.read_bytes())
        path = tmp_path / f"cut{suffix}"
        for size in (*range(40), *range(40, len(whole) - 60, 13), *range(len(whole) - 60, len(whole))):
            path.write_bytes(whole[:size])
            try:
                data = sluice.Dataset(path)
            except (sluice.CorruptError, sluice.InvalidError) as error:
                assert error.file == str(path)
            else:  # between two frames, after the archive's end mark: undetectable
                assert suffix == ".tzst" and len(data) == 2 and size > len(whole) * 0.8
        path.write_bytes(whole)
        assert len(sluice.Dataset(path)) == 2


def test_damaged(tmp_path):
    data = write(tmp_path / "plain.tar", usual(10)).read_bytes()
    whole = gzip.compress(data)
    bad = {
        "last CRC": (whole[:-6] + bytes([whole[-6] ^ 1]) + whole[-5:], "checksum of a gzip member is wrong"),
        "length": (whole[:-1] + b"\1", "incorrect length check"),
        "CRC of a member": (whole[:-8] + b"\0\0\0\0" + whole[-4:] + gzip.compress(b""), "checksum of a gzip member is wrong"),
        "garbage": (whole + b"garbage", "after the last gzip member"),
        "second archive": (gzip.compress(data) + gzip.compress(data), "data after the end-of-archive mark"),
        "no mark": (gzip.compress(data.rstrip(b"\0") + bytes(-len(data.rstrip(b"\0")) % 512)), "no end-of-archive mark"),
        "no tar": (gzip.compress(b"no tar" * 1000), "no tar|not a tar|checksum"),
        "nothing": (gzip.compress(b""), "too short"),
        "zstd of nothing": (zstd(b""), "too short"),
        "window": (b"\x28\xb5\x2f\xfd\x00\x98\x29\x00\x00hello", "128 MiB"),
    }
    for what, (content, why) in bad.items():
        path = tmp_path / "bad.tar.gz"
        path.write_bytes(content)
        with pytest.raises((sluice.CorruptError, sluice.UnsupportedError), match=why):
            sluice.Dataset(path)
            pytest.fail(what)
    for name, content in (("a.tar.bz2", b"BZh9"), ("a.tar.xz", b"\xfd7zXZ\0"), ("a.tar.lz4", b"\x04\x22\x4d\x18")):
        (tmp_path / name).write_bytes(content + bytes(2000))
        with pytest.raises(sluice.UnsupportedError, match="unpack it first"):
            sluice.Dataset(tmp_path / name)


def test_claims_and_zeros_without_end(tmp_path):
    """A member of nearly 4 EiB, and 200 MB of zeros in 200 kB, before and after the samples."""
    path = tmp_path / "a.tar.gz"
    for name, kind, words in (
        ("no sample's", sluice.CorruptError, "truncated"),
        ("a.bin", sluice.UnsupportedError, "2\\^31 - 1"),
    ):
        header = tarfile.TarInfo(name)
        header.size = (1 << 62) - 513
        path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
        with pytest.raises(kind, match=words):
            sluice.Dataset(path)
    zeros = gzip.compress(bytes(20 << 20), 1) * 5
    header.size = 100 << 20
    small = write(tmp_path / "small.tar", [("b.txt", b"text")]).read_bytes()
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT)) + zeros + gzip.compress(small) + zeros)
    begin = memory()
    data = sluice.Dataset(path)
    assert len(data) == 2 and memory() - begin < 8 << 20
    assert data.sample(1)["key"] == "b" and memory() - begin < 48 << 20


def memory():
    """Returns the peak memory of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


def test_changed_after_it_was_opened(tmp_path):
    for how in ("touched", "longer", "another"):
        plain = many(tmp_path, 40)
        path = tmp_path / "a.tar.gz"
        path.write_bytes(gzip.compress(plain.read_bytes(), 1))
        data = sluice.Dataset(path)
        if how == "touched":
            os.utime(path, (1, 1))
        elif how == "longer":
            path.write_bytes(path.read_bytes() + bytes(1))
        else:
            path.write_bytes(gzip.compress(many(tmp_path, 41).read_bytes(), 1))
        with pytest.raises(sluice.IOError, match="changed since it was opened") as caught:
            packed(tmp_path, data)
        assert caught.value.file == str(path)
        assert len(packed(tmp_path, path)) == (41 if how == "another" else 40)


def keep_index(path, cache):
    """Moves the index beside the file, where it applies to any file with the same size, time and ends."""
    assert len(sluice.Dataset(path)) > 0
    (index,) = cache.iterdir()
    shutil.copy(index, str(path) + ".sluice-index")
    shutil.rmtree(cache)


def replace(path, content):
    """Replaces a file in place and keeps its times, like bit rot."""
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]


def checked_zstd(data):
    return zstd(data, "--check", "-3")


ROTTING = {".tar.gz": gzip.compress, ".stored.tar.gz": KINDS[".stored.tar.gz"], ".tar.zst": checked_zstd}


@pytest.mark.parametrize("suffix", ROTTING)
def test_rot_behind_a_kept_index(tmp_path, cache, suffix):
    """Reading a sample of such a file reads the file to its end, so damage anywhere affects all of it."""
    if suffix == ".tar.zst" and shutil.which("zstd") is None:
        pytest.skip("no zstd to make checksums with")
    path = tmp_path / ("a" + suffix)
    good = ROTTING[suffix](many(tmp_path, 40).read_bytes())
    path.write_bytes(good)
    keep_index(path, cache)
    chance = random.Random(5)
    for at in sorted(chance.randrange(4100, len(good) // 2 - 4100) for _ in range(12)):
        replace(path, flipped(good, at))
        data = sluice.Dataset(path)
        assert not cache.exists()  # it was not walked
        findings = data.verify(progress=False).findings
        assert findings and all(isinstance(finding, sluice.CorruptError) for finding in findings)
        assert all(finding.sample is None for finding in findings) and findings[0].file == str(path)
        for source in (data, data[:3], data.subset([0])):
            out = tmp_path / "out"
            with pytest.raises(sluice.CorruptError) as caught:
                sluice.pack(source, out, progress=False, on_bad_sample="skip_all", overwrite=True)
            assert caught.value.sample is None and not (out / "manifest.sluice").exists()
            with pytest.raises(sluice.CorruptError):
                sluice.unpack(source, tmp_path / "files", progress=False, on_bad_sample="skip_all")
            assert not (tmp_path / "files").exists()
        with pytest.raises(sluice.CorruptError):
            data.numbers("label")
    replace(path, good)
    assert not sluice.Dataset(path).verify(progress=False)[2]


def test_an_index_of_another_time(tmp_path, cache):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "plain.tar", usual(5)).read_bytes()))
    assert len(sluice.Dataset(path)) == 5
    kept = list(cache.iterdir())
    assert len(kept) == 1 and kept[0].name.startswith("a.tar.gz")
    assert len(sluice.Dataset(path)) == 5
    # the same bytes uncompressed, beside a cached index of the compressed file
    path.write_bytes(gzip.compress(write(tmp_path / "plain.tar", usual(6)).read_bytes()))
    assert len(sluice.Dataset(path)) == 6
    shutil.copy(tmp_path / "plain.tar", path)
    assert not sluice.Dataset(path).front_to_back and sluice.Dataset(path)[5]["label"] == 5


def test_resumed(tmp_path):
    """Stopped in the middle and resumed, packing writes the same shards."""
    plain = many(tmp_path, 120)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(plain.read_bytes(), 1))

    class Stop(Exception):
        pass

    def stop(done, total):
        if done > 60:
            raise Stop

    options = {"shard_bytes": 1 << 20, "keep_bytes": True, "workers": 3}
    with pytest.raises(Stop):
        sluice.pack(path, tmp_path / "out", progress=stop, **options)
    sluice.pack(path, tmp_path / "out", progress=False, **options)
    sluice.pack(path, tmp_path / "whole", progress=False, **options)
    names = sorted(name.name for name in (tmp_path / "whole").iterdir())
    assert len(names) > 3 and names == sorted(name.name for name in (tmp_path / "out").iterdir())
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()

# SPDX-License-Identifier: Apache-2.0
"""Compressed datasets that are kept unpacked in a folder: read in any order, they equal the same ones unpacked."""
import gzip
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time

import litdata_files as lit
import mds_files as mds
import numpy
import pytest
import zstds
from test_packed_shards import change, made, packed_path, peak, replace, without_raw, write_mds
from test_tar import usual, write

import sluice
from sluice import columns as C

CORRUPT, INVALID, UNSUPPORTED = sluice.CorruptError, sluice.InvalidError, sluice.UnsupportedError


@pytest.fixture(autouse=True)
def indexes(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path_factory.mktemp("indexes")))


def kept(folder):
    """Returns the kept files, except locks: their bytes, by name of the source."""
    return {path.parent.name.rpartition("-")[0]: path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "lock"}


def epoch(data, **options):
    """Returns every batch of a shuffled epoch as bytes."""
    columns = options.pop("columns", {"blob": C.Padded(length=70000, dtype="uint8"), "label": C.Number()})
    loader = sluice.Loader(data, 7, shuffle=True, seed=3, columns=columns, drop_last=False, **options)
    return [{name: batch[name].numpy().tobytes() for name in columns} for batch in loader]


@pytest.mark.parametrize("compression", ["zstd", "gz", "br", "snappy"])
def test_mds(tmp_path, compression):
    folder, store = tmp_path / "mds", tmp_path / "made" / "store"
    samples = write_mds(folder, compression, keep_raw=True, hashes=["sha1"])
    plain = sluice.Dataset(folder)
    wanted = epoch(plain)
    raw = without_raw(folder)
    data = sluice.Dataset(folder, unpacked_dir=store)
    assert not data.front_to_back and data.fingerprint == plain.fingerprint and data.nbytes == plain.nbytes
    assert data.description == plain.description
    assert epoch(data) == wanted and bytes(data[31]["blob"]) == samples[31]["blob"]
    files = kept(store)
    assert {name: path.read_bytes() for name, path in files.items()} == {f"{n}.{compression}": b for n, b in raw.items()}
    for path in files.values():
        assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert store.stat().st_mode & 0o777 == 0o700
    before = {path: path.stat() for path in [*files.values(), *[path.parent for path in files.values()]]}
    again = sluice.Dataset(folder, unpacked_dir=str(store))
    assert epoch(again) == wanted and {path: path.stat() for path in before} == before  # ctime, too: nothing is written
    assert again.verify(decode=True, progress=None).findings == []
    assert sluice.Dataset(folder).front_to_back


def test_litdata(tmp_path):
    folder, store = tmp_path / "lit", tmp_path / "store"
    chance = random.Random(1)
    samples = [[number, chance.randbytes(number * 100)] for number in range(50)]
    made(lit.write, folder, ["int", "bytes"], samples, chunk_samples=20, compression="zstd:7", keep_raw=True,
         data_spec={"label": 0, "blob": 0})  # fmt: skip
    for old in (False, True):
        if old:  # sizes without the table, as releases before 0.2.40 wrote them
            change(folder, lambda i: [c.update(chunk_bytes=c["chunk_bytes"] - 4 * (c["chunk_size"] + 2)) for c in i["chunks"]] and None)
        plain = sluice.Dataset(folder)
        wanted = epoch(plain)
        raw = without_raw(folder)
        data = sluice.Dataset(folder, unpacked_dir=store)
        assert data.fingerprint == plain.fingerprint and epoch(data) == wanted
        assert sorted(path.read_bytes() for path in kept(store).values()) == sorted(raw.values())
        for name, content in raw.items():
            (folder / name).write_bytes(content)


def test_litdata_tokens(tmp_path):
    folder = tmp_path / "lit"
    tokens = [numpy.arange(n * 7, n * 7 + 900, dtype="u2") for n in range(9)]
    made(lit.write, folder, ["no_header_numpy:4"], [[t] for t in tokens], chunk_samples=4, compression="zstd", keep_raw=True)
    change(folder, lambda index: index["config"].update(item_loader="TokensLoader"))
    columns = {"x": C.Window("tokens", length=128)}
    wanted = epoch(sluice.Dataset(folder), columns=columns)
    without_raw(folder)
    assert epoch(sluice.Dataset(folder, unpacked_dir=tmp_path / "store"), columns=columns) == wanted


PLAIN = {".tar": "1.tar", ".tar.gz": "2.tar", ".tgz": "3.tar", ".tar.zst": "4.tar", ".tzst": "5.tar"}


def test_tars(tmp_path):
    """Also mixed with plain ones; they are named as by gunzip."""
    folder, plain, store = tmp_path / "packed", tmp_path / "plain", tmp_path / "store"
    folder.mkdir(), plain.mkdir()
    for number, suffix in enumerate(PLAIN, 1):
        made_of = write(plain / f"{number}.tar", usual(12, first=100 * number)).read_bytes()
        pack = {".tar": bytes, ".tar.gz": gzip.compress, ".tgz": gzip.compress}.get(suffix, zstds.compress)
        (folder / f"{number}{suffix}").write_bytes(pack(made_of))
    columns = {"label": C.Number(), "txt": C.Padded(length=100, dtype="uint8")}
    data, wanted = sluice.Dataset(folder, unpacked_dir=store), sluice.Dataset(plain)
    assert not data.front_to_back and data.fingerprint == wanted.fingerprint and epoch(data, columns=columns) == epoch(wanted, columns=columns)
    assert sorted(kept(store)) == [f"{n}{s}" for n, s in enumerate(PLAIN, 1) if s != ".tar"]
    assert [data.sample(i)["key"] for i in range(60)] == [wanted.sample(i)["key"] for i in range(60)]
    (folder / "list.json").write_text(json.dumps({"wids_version": 1, "shardlist": [
        {"url": f"{n}{s}", "nsamples": 12} for n, s in enumerate(PLAIN, 1)]}))  # fmt: skip
    assert epoch(sluice.Dataset(folder / "list.json", unpacked_dir=store), columns=columns) == epoch(wanted, columns=columns)
    broken = gzip.compress(b"no tar" * 1000)
    (folder / "2.tar.gz").write_bytes(broken)
    with pytest.raises((CORRUPT, INVALID)) as caught:
        sluice.Dataset(folder, unpacked_dir=store)
    assert caught.value.file == str(folder / "2.tar.gz")


def test_what_is_not_compressed(tmp_path):
    """No folder is made if nothing needs unpacking."""
    mds.write(tmp_path / "mds", {"n": "int"}, [{"n": 1}])
    write(tmp_path / "a.tar", usual(3))
    for path in ("mds", "a.tar"):
        assert len(sluice.Dataset(tmp_path / path, unpacked_dir=tmp_path / "store")) > 0
    assert not (tmp_path / "store").exists()
    with pytest.raises(INVALID, match="unpacked_dir is empty"):
        sluice.Dataset(tmp_path / "mds", unpacked_dir="")
    with pytest.raises(TypeError, match="unpacked_dir"):
        sluice.Dataset(tmp_path / "mds", unpacked_dir=5)


def test_a_state_goes_on(tmp_path):
    """A state of the unpacked dataset resumes in the one that is kept unpacked."""
    folder = tmp_path / "mds"
    write_mds(folder, "gz", keep_raw=True)
    options = {"columns": {"label": C.Number()}, "shuffle": True, "seed": 5}
    loader = sluice.Loader(sluice.Dataset(folder), 4, **options)
    batches = iter(loader)
    head = [next(batches)["label"].numpy().tolist() for _ in range(5)]
    state = loader.state_dict()
    without_raw(folder)
    other = sluice.Loader(sluice.Dataset(folder, unpacked_dir=tmp_path / "store"), 4, **options)
    other.load_state_dict(state)
    rest = [batch["label"].numpy().tolist() for batch in other]
    assert sorted(sum(head + rest, [])) == sorted(set(sum(head + rest, []))) and len(head + rest) == 15


def test_pickled_and_elsewhere(tmp_path, monkeypatch):
    write_mds(tmp_path / "mds", "gz")
    monkeypatch.chdir(tmp_path)
    data = sluice.Dataset("mds", unpacked_dir="store")
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(data))
    assert not again.front_to_back and again[5]["label"] == 5 and len(kept(tmp_path / "store")) == 4


def test_a_source_that_changed(tmp_path):
    folder, store = tmp_path / "mds", tmp_path / "store"
    write_mds(folder, "gz")
    sluice.Dataset(folder, unpacked_dir=store)
    first = kept(store)
    os.utime(packed_path(folder, 1, "gz"))  # unchanged, but its time differs
    sluice.Dataset(folder, unpacked_dir=store)
    second = kept(store)
    assert len(second) == 4 and {n for n in first if first[n] != second[n]} == {"shard.00001.mds.gz"}
    samples = write_mds(folder, "gz", size=500)
    data = sluice.Dataset(folder, unpacked_dir=store)
    assert len(kept(store)) == 4 and [bytes(s["blob"]) for s in data] == [s["blob"] for s in samples]
    # The hash in the index counts, too: the unpacked file was checked against it.
    change(folder, lambda i: i["shards"][1]["raw_data"].update(hashes={"sha1": "0" * 40}))
    with pytest.raises(CORRUPT, match="does not match the hash in index.json .sha1"):
        sluice.Dataset(folder, unpacked_dir=store)


def test_kept_files_that_are_not_right(tmp_path):
    """Written to, truncated, owned by others, or not files: they are unpacked again, or opening fails."""
    folder, store = tmp_path / "mds", tmp_path / "store"
    samples = write_mds(folder, "gz")
    sluice.Dataset(folder, unpacked_dir=store)
    (wanted,) = [path for name, path in kept(store).items() if "00001" in name]
    good = wanted.read_bytes()

    def damage(how):
        return lambda: (how(), time.sleep(0.002))

    def link():
        wanted.rename(tmp_path / "elsewhere")
        wanted.symlink_to(tmp_path / "elsewhere")

    for how in (damage(lambda: wanted.write_bytes(bytes(len(good)))), damage(lambda: os.truncate(wanted, 100)),
                lambda: wanted.chmod(0o666), link, wanted.unlink):  # fmt: skip
        how()
        data = sluice.Dataset(folder, unpacked_dir=store)
        assert [bytes(s["blob"]) for s in data] == [s["blob"] for s in samples]
        assert wanted.read_bytes() == good and not wanted.is_symlink() and wanted.stat().st_mode & 0o777 == 0o600
    wanted.unlink()
    wanted.mkdir()
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset(folder, unpacked_dir=store)
    assert caught.value.file == str(wanted)


# ---- errors ----


def nothing_is_kept(store, but=()):
    return {name for name in kept(store)} <= set(but) and not list(store.rglob("*.part"))


@pytest.mark.parametrize("compression", ["zstd", "gz", "br", "snappy"])
def test_damaged(tmp_path, compression):
    folder, store = tmp_path / "mds", tmp_path / "store"
    write_mds(folder, compression, keep_raw=True)
    raw = without_raw(folder)["shard.00001.mds"]
    whole = packed_path(folder, 1, compression).read_bytes()
    others = {f"shard.{n:05}.mds.{compression}" for n in (0, 2, 3)}
    for content, words in (
        (whole[: len(whole) * 2 // 3], "truncated|damaged|unpacks to"), (whole[:10], "truncated|unpacks to|damaged"), (b"", "truncated"),
        (mds.squeeze(compression, raw + b"x"), f"more than the {len(raw)} bytes"),
        (mds.squeeze(compression, raw[:-1]), f"unpacks to {len(raw) - 1} bytes, but its index says {len(raw)}"),
        (mds.squeeze(compression, raw + bytes(64 << 20)), f"more than the {len(raw)} bytes"),
    ):  # fmt: skip
        replace(folder, content, 1, compression)
        with pytest.raises(CORRUPT, match=words) as caught:
            sluice.Dataset(folder, unpacked_dir=store)
        assert caught.value.file == str(packed_path(folder, 1, compression)) and nothing_is_kept(store, others)
    replace(folder, whole, 1, compression)
    assert len(sluice.Dataset(folder, unpacked_dir=store)) == 60


def test_hashes(tmp_path):
    folder, store = tmp_path / "mds", tmp_path / "store"
    write_mds(folder, "gz", keep_raw=True, hashes=["sha1", "sha256"])
    raw = bytearray(without_raw(folder)["shard.00002.mds"])
    raw[-1] ^= 1
    replace(folder, gzip.compress(bytes(raw)), 2, "gz")
    with pytest.raises(CORRUPT, match="does not match the hash in index.json .sha1") as caught:
        sluice.Dataset(folder, unpacked_dir=store)
    assert caught.value.file == str(packed_path(folder, 2, "gz")) and nothing_is_kept(store, {f"shard.{n:05}.mds.gz" for n in (0, 1, 3)})


def test_bombs(tmp_path):
    """A small file of gigabytes takes neither memory nor disk space beyond the size in the index."""
    folder, store = tmp_path / "mds", tmp_path / "store"
    write_mds(folder, "gz", keep_raw=True)
    raw = without_raw(folder)["shard.00001.mds"]
    begin = peak()
    replace(folder, gzip.compress(raw) + gzip.compress(bytes(32 << 20), 1) * 100, 1, "gz")
    with pytest.raises(CORRUPT, match="more than the"):
        sluice.Dataset(folder, unpacked_dir=store)
    assert peak() - begin < 96 << 20 and sum(path.stat().st_size for path in kept(store).values()) < 2 << 20
    for claim, shards in ((1 << 60, 1), ((1 << 63) - 1, 3)):  # the sum of the latter exceeds 2^64
        change(folder, lambda i: [shard["raw_data"].update(bytes=claim) for shard in i["shards"][:shards]] and None)
        with pytest.raises(sluice.IOError, match=r"needs \d{19,} bytes here, but only \d+ are free") as caught:
            sluice.Dataset(folder, unpacked_dir=store)
        assert caught.value.file == str(store) and caught.value.errno == 28
    before = sorted(store.rglob("*"))
    for claim in (0, 1, 60):  # less than the table of its samples; 0: no size
        change(folder, lambda i: [shard["raw_data"].update(bytes=claim) for shard in i["shards"]] and None)
        with pytest.raises(CORRUPT, match="too small for the table") as caught:
            sluice.Dataset(folder, unpacked_dir=store)
        assert caught.value.file == str(packed_path(folder, 0, "gz")) and sorted(store.rglob("*")) == before


def test_a_folder_among_the_archives(tmp_path):
    """The folder may be among the archives, but must not be their own folder."""
    folder = tmp_path / "tars"
    folder.mkdir()
    (folder / "a.tar.gz").write_bytes(gzip.compress(write(tmp_path / "a.tar", usual(12)).read_bytes()))
    for _ in range(2):
        assert len(sluice.Dataset(folder, unpacked_dir=folder / "unpacked")) == 12
    with pytest.raises(INVALID, match="choose another"):
        sluice.Dataset(folder, unpacked_dir=folder)
    with pytest.raises(INVALID, match='the folder "unpacked"'):
        sluice.Dataset(folder)


def test_a_link_among_the_kept_files(tmp_path):
    store, other = tmp_path / "store", tmp_path / "other"
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "a.tar", usual(12)).read_bytes()))
    sluice.Dataset(path, unpacked_dir=store)
    (link,) = store.iterdir()
    shutil.rmtree(link)
    other.mkdir()
    (other / "mine.unpacked").write_text("mine")
    (other / "mine.part").write_text("mine")
    link.symlink_to(other)
    with pytest.raises(sluice.IOError, match="Not a directory"):
        sluice.Dataset(path, unpacked_dir=store)
    assert sorted(p.name for p in other.iterdir()) == ["mine.part", "mine.unpacked"]


def test_a_folder_that_cannot_be_used(tmp_path):
    write_mds(tmp_path / "mds", "gz")
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below", "/proc/none", "/dev/null/x"):
        with pytest.raises(sluice.IOError) as caught:
            sluice.Dataset(tmp_path / "mds", unpacked_dir=path)
        assert str(path) in str(caught.value)
    with pytest.raises(INVALID, match="too long"):
        sluice.Dataset(tmp_path / "mds", unpacked_dir="/tmp/" + "x/" * 3000)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_others(tmp_path):
    write_mds(tmp_path / "mds", "gz")
    store = tmp_path / "store"
    store.mkdir(mode=0o500)
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset(tmp_path / "mds", unpacked_dir=store)
    assert caught.value.errno == 13


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
@pytest.mark.parametrize("how", [lambda folder: os.chown(folder, 65534, 65534), lambda folder: folder.chmod(0o777), lambda folder: folder.chmod(0o770)])
def test_folders_that_others_can_write_to(tmp_path, how):
    """Another user could exchange its files between two checks, so opening fails instead of using it."""
    folder, store = tmp_path / "mds", tmp_path / "store"
    write_mds(folder, "gz")
    sluice.Dataset(folder, unpacked_dir=store)
    files = {path: path.stat().st_mtime_ns for path in kept(store).values()}
    entry = next(iter(files)).parent
    how(entry)
    for _ in range(2):
        with pytest.raises(sluice.IOError, match="belongs to another user, or others may write to it: remove it") as caught:
            sluice.Dataset(folder, unpacked_dir=store)
        assert caught.value.file == str(entry)
    assert {path: path.stat().st_mtime_ns for path in kept(store).values()} == files
    shutil.rmtree(entry)
    assert len(sluice.Dataset(folder, unpacked_dir=store)) and entry.stat().st_mode & 0o777 == 0o700


def test_what_no_gzip_ends_with_is_no_size(tmp_path):
    """Bytes after a gzip that claim an impossible size: the file is read, and rejected for its actual fault."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "a.tar", usual(12)).read_bytes()) + b"\xff" * 20)
    with pytest.raises(sluice.Error) as caught:
        sluice.Dataset(path, unpacked_dir=tmp_path / "store")
    assert "bytes here" not in str(caught.value)


OPEN = """
import sys, resource
limit = int(sys.argv[3]) if len(sys.argv) > 3 else None
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import sluice
try:
    data = sluice.Dataset(sys.argv[1], unpacked_dir=sys.argv[2])
except sluice.Error as error:
    print(type(error).__name__, error.errno, error)
else:
    written = [line for line in open("/proc/self/io") if line.startswith("wchar")]
    print("open", len(data), data.front_to_back, *written)
"""


def opening(*arguments):
    """Starts another process that opens the dataset."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen([sys.executable, "-c", OPEN, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": paths})  # fmt: skip


def test_files_that_may_not_be_so_large(tmp_path):
    folder, store = tmp_path / "mds", tmp_path / "store"
    write_mds(folder, "gz", size=300000)
    said = opening(folder, store, 100000).communicate()[0]
    assert said.startswith("IOError 27 ") and "no space left for the" in said and "unpacks to" in said and nothing_is_kept(store)
    assert opening(folder, store).communicate()[0].startswith("open 60 False")


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True).returncode != 0:
        pytest.skip("may not mount a tmpfs here")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk(tmp_path, small_disk):
    """Unpacking does not start if an index, or the size in a gzip or zstd, shows that the result does not fit. For concatenated
    gzips only the size of the last one is known: everything is removed again."""
    folder, store = tmp_path / "mds", small_disk / "store"
    samples = [{"blob": bytes(500000)} for _ in range(12)]
    mds.write(folder, {"blob": "bytes"}, samples, samples_per_shard=3, compression="gz")
    with pytest.raises(sluice.IOError, match=r"unpacking 4 files .*shard.00000.mds.gz. needs 6\d{6} bytes here, but") as caught:
        sluice.Dataset(folder, unpacked_dir=store)
    assert caught.value.errno == 28 and caught.value.file == str(store) and not list(store.iterdir())
    raw = write(tmp_path / "a.tar", [("a.bin", bytes(6 << 20))]).read_bytes()
    for name, packed in (("a.tar.gz", gzip.compress(raw)), ("a.tar.zst", zstds.compress(raw))):
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(sluice.IOError, match=rf"{name}. needs 62\d{{5}} bytes here, but") as caught:
            sluice.Dataset(tmp_path / name, unpacked_dir=store)
        assert caught.value.errno == 28 and not list(store.iterdir())
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(write(tmp_path / "b.tar", usual(12)).read_bytes()))  # both archives together
    with pytest.raises(sluice.IOError, match=r"unpacking 2 files .* bytes here, but only"):
        sluice.Dataset([tmp_path / "b.tar.gz", tmp_path / "a.tar.gz"], unpacked_dir=store)
    assert not list(store.iterdir())
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(raw[: 5 << 20]) + gzip.compress(raw[5 << 20 :]))
    with pytest.raises(sluice.IOError, match="no space left for the contents of .*a.tar.gz, more than") as caught:
        sluice.Dataset(path, unpacked_dir=store)
    assert caught.value.errno == 28 and nothing_is_kept(store)
    mds.write(folder, {"blob": "bytes"}, samples[:6], samples_per_shard=3, compression="gz")
    assert len(sluice.Dataset(folder, unpacked_dir=store)) == 6


# ---- several ----


def large(folder, shards=12, size=4 << 20):
    chance = random.Random(3)
    samples = [{"blob": chance.randbytes(size // 8) + bytes(size * 7 // 8)} for _ in range(shards)]
    mds.write(folder, {"blob": "bytes"}, samples, samples_per_shard=1, compression="gz:1", keep_raw=True, hashes=["sha1"])
    return without_raw(folder)


def test_processes_share_the_work(tmp_path):
    folder, store = tmp_path / "mds", tmp_path / "store"
    raw = large(folder)
    said = [process.communicate()[0].split() for process in [opening(folder, store) for _ in range(4)]]
    assert [words[:3] for words in said] == [["open", "12", "False"]] * 4
    total = sum(map(len, raw.values()))
    assert total <= sum(int(words[-1]) for words in said) < total * 1.05  # each was written once
    assert {path.read_bytes() for path in kept(store).values()} == set(raw.values())


def test_killed_in_the_middle(tmp_path):
    folder, store = tmp_path / "mds", tmp_path / "store"
    raw = large(folder)
    seen = 0
    for _ in range(6):
        process = opening(folder, store)
        end = time.monotonic() + 300
        while process.poll() is None and not list(store.rglob("*.part")) and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        seen += len(list(store.rglob("*.part")))
        for path in store.rglob("*.unpacked"):
            assert path.read_bytes() in raw.values()
    assert seen > 0
    assert len(sluice.Dataset(folder, unpacked_dir=store)) == 12
    assert {path.read_bytes() for path in kept(store).values()} == set(raw.values()) and len(kept(store)) == 12


def test_threads_of_one_process(tmp_path):
    """Two datasets with the same files, and the same file twice in one."""
    from concurrent.futures import ThreadPoolExecutor

    folder, store = tmp_path / "mds", tmp_path / "store"
    raw = large(folder, 6)
    with ThreadPoolExecutor() as pool:
        opened = list(pool.map(lambda paths: sluice.Dataset(paths, unpacked_dir=store), [[folder], [folder, folder], [folder]]))
    assert [len(data) for data in opened] == [6, 12, 6] and len(kept(store)) == 6
    assert {path.read_bytes() for path in kept(store).values()} == set(raw.values())


def test_removed_under_it(tmp_path):
    folder, store = tmp_path / "mds", tmp_path / "store"
    write_mds(folder, "gz")
    data = sluice.Dataset(folder, unpacked_dir=store)
    shutil.rmtree(store)
    with pytest.raises(sluice.IOError):
        [sample for sample in data]
    assert len(list(sluice.Dataset(folder, unpacked_dir=store))) == 60

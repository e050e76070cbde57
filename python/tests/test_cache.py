# SPDX-License-Identifier: Apache-2.0
"""sluice.cache over files written by another program, and over data that it reads from a server itself."""
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time

import chunk_files
import pytest
from remote_servers import fault_server  # noqa: F401 a fixture

import sluice

if chunk_files.checksum(b"") is None:
    pytest.skip("libxxhash is not installed", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Returns the cache's folder, the same for the whole process: the environment is read once."""
    path = tmp_path_factory.mktemp("cache", numbered=True)
    os.environ["SLUICE_REMOTE_CACHE"] = str(path)
    return path


@pytest.fixture(autouse=True)
def emptied(folder):
    yield
    sluice.cache.empty()


def test_objects_are_listed(folder):
    assert sluice.cache.list() == sluice.cache.list(folder) == []
    chunk_files.keep(folder, "s3://b/é", 20_000_000, 2)
    chunk_files.keep(folder, "s3://b/a", 300, 0)
    chunk_files.keep(folder, "s3://b/é", 20_000_000, 0)
    first, second = sluice.cache.list(str(folder))
    assert first[:4] == ("s3://b/a", 300, 300, 1) and first.used_s > 1_600_000_000
    assert second[:4] == ("s3://b/é", 20_000_000, 20_000_000 - (8 << 20), 2)
    assert repr(second).startswith("Entry(address='s3://b/é', object_bytes=20000000, kept_bytes=11611392, chunks=2")


def test_damaged_chunks_are_removed(folder):
    good = chunk_files.keep(folder, "s3://b/a", 300, 0)
    bad = chunk_files.keep(folder, "s3://b/b", 300, 0)
    with open(bad, "r+b") as file:
        file.seek(7)
        file.write(b"x")
    seen = []
    size = os.path.getsize(bad)
    assert sluice.cache.verify(progress=lambda done, total: seen.append((done, total))) == (1, 300, 1, size)
    assert seen[-1] == (2 * size, 2 * size)
    assert os.path.exists(good) and not os.path.exists(bad)
    assert sluice.cache.verify(folder, progress=None) == (1, 300, 0, 0)


def test_a_prefix_is_emptied(folder):
    for name in ("train/a", "train/b", "val/a"):
        chunk_files.keep(folder, f"s3://b/{name}", 300, 0)
    assert sluice.cache.empty(prefix="s3://b/train/").chunks == 2
    assert [entry.address for entry in sluice.cache.list()] == ["s3://b/val/a"]
    assert sluice.cache.empty() == (1, 300 + len("s3://b/val/a") + len(chunk_files.ETAG) + 64)


def test_wrong_arguments_are_refused(folder):
    with pytest.raises(TypeError, match="folder=3: expected a path"):
        sluice.cache.list(3)
    with pytest.raises(TypeError, match="prefix=None: expected a text"):
        sluice.cache.empty(prefix=None)
    with pytest.raises(sluice.InvalidError, match="no cache folder is set"):
        sluice.cache.verify("")
    with pytest.raises(sluice.IOError, match="cannot open the cache folder"):
        sluice.cache.list(folder / "nowhere")
    with pytest.raises(AttributeError, match="fil"):
        sluice.cache.fil
    with pytest.raises(ZeroDivisionError):
        chunk_files.keep(folder, "s3://b/a", 300, 0)
        sluice.cache.verify(progress=lambda done, total: 1 / 0)


# ---- filling ----


@pytest.fixture
def tar(tmp_path):
    """A tar slightly larger than two chunks, whose samples are bytes."""
    rows = [os.urandom(70_000) for _ in range(250)]
    with tarfile.open(tmp_path / "x.tar", "w") as file:
        for number, row in enumerate(rows):
            info = tarfile.TarInfo(f"{number:03}.bin")
            info.size = len(row)
            file.addfile(info, io.BytesIO(row))
    return rows


def test_a_dataset_is_filled_and_read_without_the_store(fault_server, tmp_path, tar):
    server = fault_server(tmp_path)
    address, size = f"{server.url}/x.tar", os.path.getsize(tmp_path / "x.tar")
    assert size > 2 * (8 << 20)
    seen = []
    data = sluice.Dataset(address)
    assert sluice.cache.fill(data, progress=lambda done, total: seen.append((done, total))) == (3, size, size, 0)
    assert seen[-1] == (size, size)
    (entry,) = sluice.cache.list()
    assert entry[:4] == (address, size, size, 3)
    assert sluice.cache.verify() == (3, size, 0, 0)
    assert sluice.cache.fill(address, progress=None) == (3, size, 0, 0)

    data = sluice.Dataset(address)
    before = server.counts()["bytes"]
    assert [bytes(data[i]["bin"]) for i in range(len(data))] == tar
    assert server.counts()["bytes"] - before < size / 10


def test_nothing_of_a_local_dataset_is_kept(tmp_path, tar):
    with pytest.raises(sluice.InvalidError, match="no file of the dataset can be kept"):
        sluice.cache.fill(tmp_path / "x.tar")
    assert sluice.cache.list() == []


def test_a_store_that_fails_is_an_error(fault_server, tmp_path, tar):
    server = fault_server(tmp_path)
    data = sluice.Dataset(f"{server.url}/x.tar")
    server.rules("kind=get status=403")
    with pytest.raises(sluice.IOError, match="bytes could not be read from the store"):
        sluice.cache.fill(data)
    assert sluice.cache.list() == []
    server.rules()
    assert sluice.cache.fill(data).left_bytes == 0


# ---- several processes ----


def filling(folder, address):
    return subprocess.Popen([sys.executable, "-m", "sluice", "cache", "fill", address, "-c", folder, "--json"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def test_processes_download_a_dataset_once(fault_server, folder, tmp_path, tar):
    server = fault_server(tmp_path)
    address, size = f"{server.url}/x.tar", os.path.getsize(tmp_path / "x.tar")
    sluice.Dataset(address)
    opening = server.counts()["bytes"]
    processes = [filling(folder, address) for _ in range(3)]
    results = [json.loads(process.communicate(timeout=600)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert all((result["chunks"], result["bytes"], result["left_bytes"]) == (3, size, 0) for result in results)
    assert sum(result["fetched_bytes"] for result in results) == size
    assert server.counts()["bytes"] - opening <= size + 3 * opening


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_filling_is_interrupted(fault_server, folder, tmp_path, tar, how):
    sluice.pack(tmp_path / "x.tar", tmp_path / "packed", zstd="off", progress=None, verify=False)
    (shard,) = (tmp_path / "packed").glob("shard-*")
    server = fault_server(tmp_path)
    address, size = f"{server.url}/packed/{shard.name}", os.path.getsize(shard)
    server.rules("kind=get stall-body=2000000")  # opening needs only small ranges
    process = filling(folder, address)
    until = time.monotonic() + 120
    while not any(name.endswith(".part") for name in os.listdir(folder / "chunks-1")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(how)
    output = process.communicate(timeout=600)[0]
    if how == signal.SIGINT:
        assert process.returncode == 130 and json.loads(output)["interrupted"]
    server.rules()
    filled = sluice.cache.fill(address, progress=None)  # the last chunk is shorter, and may be cached already
    assert (filled.bytes, filled.left_bytes) == (size, 0) and filled.fetched_bytes >= 2 * (8 << 20)
    assert sluice.cache.verify(progress=None).damaged == 0
    assert not any(name.endswith(".part") for name in os.listdir(folder / "chunks-1"))

# SPDX-License-Identifier: Apache-2.0
"""The first epoch over an empty cache: each byte is downloaded once, in any order, even if the cache fails."""
import json
import os
import shutil
import signal
import subprocess
import time

import numpy
import pytest
from remote_reading import fill_or_run
from remote_servers import fault_server  # noqa: F401 a fixture
from test_remote_cached import finish, start
from test_remote_loader import photo

import sluice

COUNT, SAMPLE_BYTES = 384, 1 << 18  # 16 chunks: more than are fetched at once
DATA = COUNT * SAMPLE_BYTES


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "bucket"
    folder.mkdir()
    random = numpy.random.default_rng(3)
    with sluice.Writer(folder / "packed", {"x": ("tensor", "uint8", (SAMPLE_BYTES,))}, shard_bytes=DATA // 4) as writer:
        for _ in range(COUNT):
            writer.add(x=random.integers(0, 256, SAMPLE_BYTES, "uint8"))
    return folder


COUNTERS = ("hedged", "cache_hits", "cache_misses", "cache_hit_bytes", "cache_miss_bytes")


@pytest.fixture
def here(monkeypatch):
    """Does the work of a process of test_remote_cached.start in this process: importing sluice takes longer than most epochs."""

    def do(server, cache, address, runs=(), fill=False, **environment):
        for name, value in {**server.environment(), "SLUICE_REMOTE_CACHE": str(cache), **environment}.items():
            monkeypatch.setenv(name, value)
        sluice.remote.configure()
        before = sluice.remote.stats()
        found = fill_or_run(str(address), runs, fill)
        stats = sluice.remote.stats()
        return found, stats | {name: stats[name] - before[name] for name in COUNTERS}

    yield do
    monkeypatch.undo()
    sluice.remote.configure()


LOCAL = {}


def local(address, runs):
    key = json.dumps([str(address), runs])
    if key not in LOCAL:
        LOCAL[key] = fill_or_run(str(address), runs)
    return LOCAL[key]


def run(here, server, bucket, cache, shuffle=True, **environment):
    """Returns the bytes sent by the server for an epoch, whose batches must equal those of local reading."""
    runs = [{"epochs": [0], "shuffle": shuffle}]
    server.reset()
    found, stats = here(server, cache, "s3://bucket/packed", runs, **environment)
    assert found == local(bucket / "packed", runs)
    return server.counts()["bytes"], stats


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_byte_is_downloaded_once(here, fault_server, bucket, tmp_path, shuffle):
    server = fault_server(bucket.parent)
    server.rules("path=shard rate=16000000")  # a sample alone would arrive much sooner than its chunk
    sent, stats = run(here, server, bucket, tmp_path / "cache", shuffle=shuffle)
    assert DATA <= sent <= 1.03 * DATA + stats["hedged"] * (8 << 20)  # slow requests are sent a second time


def ranges(server):
    """Returns the bytes of each request, by chunk."""
    found = {}
    for _, _, target, asked, _, _, _ in server.log():
        first, last = map(int, asked.removeprefix("bytes=").split("-")) if "/shard-" in target else (0, 0)
        if last + 1 - first > 4096:  # opening reads up to this size
            found.setdefault((target, first >> 23), []).append(last + 1 - first)
    return found


def test_a_cache_of_half_the_data(here, fault_server, bucket, tmp_path):
    """Reads of chunks that do not fit do not wait, and a chunk that is kept is downloaded once."""
    server = fault_server(bucket.parent)
    _, stats = run(here, server, bucket, tmp_path / "cache", SLUICE_REMOTE_CACHE_BYTES="48MiB")
    kept = [requests for requests in ranges(server).values() if max(requests) >= 4 << 20]
    assert kept and sum(len(requests) - 1 for requests in kept) <= stats["hedged"]
    assert stats["cache_kept_bytes"] >= sum(map(max, kept)) and len(kept) < len(ranges(server))


def test_chunks_that_cannot_be_fetched(here, fault_server, bucket, tmp_path):
    """Their samples can be: the reads bypass the cache."""
    server = fault_server(bucket.parent)
    server.rules("path=shard truncate=3000000")
    sent, stats = run(here, server, bucket, tmp_path / "cache")
    assert sent > DATA and stats["cache_kept_bytes"] < 2 << 20  # from short last chunks


PHOTOS = 300


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos") / "bucket" / "photos"
    for number in range(PHOTOS):
        (folder / f"class{number % 5}").mkdir(parents=True, exist_ok=True)
        (folder / f"class{number % 5}" / f"{number:03}.jpg").write_bytes(photo(number))
    return folder


def gets(server):
    return server.counts()["get"]


def test_photos_of_a_folder_are_kept(here, fault_server, photos, tmp_path):
    """One file each: the first epoch sends a request for each, the second one none."""
    server = fault_server(photos.parents[1])
    runs = [{"epochs": [0], "shuffle": True}]
    wanted = local(photos, runs)
    server.reset()
    found, stats = here(server, tmp_path / "cache", "s3://bucket/photos", runs)
    assert found == wanted and gets(server) - stats["hedged"] <= PHOTOS <= gets(server)
    assert stats["cache_kept_bytes"] >= PHOTOS * 4096  # a file takes whole pages
    server.reset()
    found, stats = here(server, tmp_path / "cache", "s3://bucket/photos", runs)
    assert found == wanted and gets(server) == 0
    assert stats["cache_misses"] == 0 and stats["cache_hits"] >= PHOTOS


def test_filling_with_photos(here, fault_server, photos, tmp_path):
    server = fault_server(photos.parents[1])
    filled, _ = here(server, tmp_path / "cache", "s3://bucket/photos", fill=True)
    assert filled["chunks"] == PHOTOS and filled["left_bytes"] == 0
    assert filled["fetched_bytes"] == sum(path.stat().st_size for path in photos.rglob("*.jpg"))
    server.reset()
    runs = [{"epochs": [0, 1], "shuffle": True}]
    found, stats = here(server, tmp_path / "cache", "s3://bucket/photos", runs)
    assert found == local(photos, runs)
    assert gets(server) == 0 and stats["cache_misses"] == 0


def test_a_quota_for_some_photos(here, fault_server, photos, tmp_path):
    """The others are read past the cache, epoch after epoch."""
    server = fault_server(photos.parents[1])
    quota = PHOTOS // 3 * 8192
    runs = [{"epochs": [0, 1], "shuffle": True}]
    found, stats = here(server, tmp_path / "cache", "s3://bucket/photos", runs, SLUICE_REMOTE_CACHE_BYTES=str(quota))
    assert found == local(photos, runs)
    assert 0 < stats["cache_kept_bytes"] <= quota and stats["cache_misses"] > 0 and stats["cache_hits"] > 0


def test_a_photo_that_was_replaced(here, fault_server, photos, tmp_path):
    """The cache serves the file of its listing; a listing of the new file causes a new download."""
    folder = tmp_path / "served" / "bucket" / "photos"
    shutil.copytree(photos, folder)
    server = fault_server(folder.parents[1])
    here(server, tmp_path / "cache", "s3://bucket/photos", fill=True)
    (folder / "class0" / "000.jpg").write_bytes(photo(PHOTOS))
    server.reset()
    runs = [{"epochs": [0], "shuffle": True}]
    found, stats = here(server, tmp_path / "cache", "s3://bucket/photos", runs)
    assert found == local(folder, runs)
    assert gets(server) - stats["hedged"] <= 1 <= gets(server)


def bench(server, address, cache, *options, **environment):
    """Returns bench's cache statistics of one epoch."""
    done = subprocess.run([os.environ["SLUICE_TOOL"], "bench", address, "--json", "--epochs", "1", "-b", "8", *options],
                          env={**os.environ, **server.environment(), "SLUICE_REMOTE_CACHE": str(cache), **environment},
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["cache"]


def test_a_chunk_that_the_epoch_fetched_is_no_hit(here, fault_server, bucket, tmp_path):
    runs = [{"epochs": [0], "shuffle": True, "stop": 20}]
    _, stats = here(fault_server(bucket.parent), tmp_path / "cache", "s3://bucket/packed", runs)
    assert stats["cache_misses"] >= 40
    assert stats["cache_hit_bytes"] <= 0.05 * stats["cache_miss_bytes"]  # hits on indexes, which no plan counts


def test_the_hit_rate_of_bench(fault_server, bucket, tmp_path):
    """With a cache filled by the warm-up, as far as space allows."""
    server = fault_server(bucket.parent)
    columns = ("-c", "x:tensor")
    warm = bench(server, "s3://bucket/packed", tmp_path / "cache", *columns)
    assert warm["hit_rate"] == warm["optimum"] == warm["lru"] == 1
    assert warm["fetched_bytes"] == 0 and warm["here_bytes"] >= DATA
    kept = bench(server, "s3://bucket/packed", tmp_path / "half", *columns, SLUICE_REMOTE_CACHE_BYTES="48MiB")
    assert 0.3 <= kept["hit_rate"] <= kept["optimum"] + 0.02 <= 0.53
    assert kept["lru"] < kept["optimum"] and kept["here_bytes"] <= 48 << 20


def fill(server, cache, *options):
    """Returns the tool's message when filling fails."""
    done = subprocess.run([os.environ["SLUICE_TOOL"], "cache", "fill", "-c", str(cache), *options, "s3://bucket/packed"],
                          env={**os.environ, **server.environment()}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0
    return done.stderr


def test_filling_says_what_the_server_said(fault_server, bucket, tmp_path):
    server = fault_server(bucket.parent)
    server.rules("path=shard-000001 status=403 code=AccessDenied")
    text = fill(server, tmp_path / "cache")
    assert "bytes could not be read from the store: s3://bucket/packed/shard-000001" in text and "403 AccessDenied" in text


def test_a_writer_that_was_stopped(fault_server, bucket, tmp_path):
    server = fault_server(bucket.parent)
    server.rules("path=shard stall-body=1000")
    writer = start(server, tmp_path / "cache", "s3://bucket/packed", fill=True)
    try:
        until = time.monotonic() + 60
        while not list(tmp_path.glob("cache/chunks-1/*.part")):
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(writer.pid, signal.SIGSTOP)
        server.rules()
        assert f"are being written by process {writer.pid}, which makes no progress" in fill(server, tmp_path / "cache", "--stall", "5s")
    finally:
        writer.kill()
        writer.stdout.close()
        writer.wait()


@pytest.mark.parametrize(("world", "options"), [(3, {"shuffle": True, "repeats": 2}), (2, {"shuffle": "block"})])
def test_ranks_and_repeats(fault_server, photos, tmp_path, world, options):
    """Processes that share an empty cache, and begin at once."""
    server = fault_server(photos.parents[1])
    runs = [[{"epochs": [0, 1], "rank": rank, "world_size": world, **options}] for rank in range(world)]
    ranks = [start(server, tmp_path / "cache", "s3://bucket/photos", runs[rank], RANK=str(rank), WORLD_SIZE=str(world),
                   LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world)) for rank in range(world)]  # fmt: skip
    ends = [finish(rank) for rank in ranks]
    assert [found for found, _ in ends] == json.loads(json.dumps([local(photos, run) for run in runs]))
    assert gets(server) - sum(stats["hedged"] for _, stats in ends) <= PHOTOS <= gets(server)

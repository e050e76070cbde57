# SPDX-License-Identifier: Apache-2.0
"""The first epoch over an empty cache: each byte is downloaded once, in any order, and whatever becomes of the cache."""
import json
import os
import shutil
import signal
import subprocess
import time

import numpy
import pytest
from remote_servers import fault_server  # noqa: F401 a fixture
from test_remote_cached import finish, start
from test_remote_loader import photo

import sluice

COUNT, SAMPLE_BYTES = 512, 1 << 18  # 16 chunks: more than are fetched at once
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


def run(server, bucket, cache, shuffle=True, **environment):
    """The bytes that the server sent for an epoch whose batches equal those of local reading."""
    runs = [{"epochs": [0], "shuffle": shuffle}]
    server.reset()
    found, stats = finish(start(server, cache, "s3://bucket/packed", runs, **environment))
    assert found == local(bucket, shuffle, runs)
    return server.counts()["bytes"], stats


LOCAL = {}


def local(bucket, shuffle, runs):
    if shuffle not in LOCAL:
        LOCAL[shuffle] = finish(start(None, "", bucket / "packed", runs))[0]
    return LOCAL[shuffle]


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_byte_is_downloaded_once(fault_server, bucket, tmp_path, shuffle):
    server = fault_server(bucket.parent)
    server.rules("path=shard rate=16000000")  # so that a sample would come much sooner than its chunk
    sent, _ = run(server, bucket, tmp_path / "cache", shuffle=shuffle)
    assert DATA <= sent <= 1.03 * DATA


def ranges(server):
    """The bytes of each request, by chunk."""
    found = {}
    for _, _, target, asked, _, _, _ in server.log():
        first, last = map(int, asked.removeprefix("bytes=").split("-")) if "/shard-" in target else (0, 0)
        if last + 1 - first > 4096:  # opening reads as much
            found.setdefault((target, first >> 23), []).append(last + 1 - first)
    return found


def test_a_cache_of_half_the_data(fault_server, bucket, tmp_path):
    """Reads of chunks without space do not wait, and a chunk that is kept is downloaded once."""
    server = fault_server(bucket.parent)
    _, stats = run(server, bucket, tmp_path / "cache", SLUICE_REMOTE_CACHE_BYTES="64MiB")
    kept = [requests for requests in ranges(server).values() if max(requests) >= 4 << 20]
    assert kept and all(len(requests) == 1 for requests in kept)
    assert stats["cache_kept_bytes"] >= sum(map(sum, kept)) and len(kept) < len(ranges(server))


def test_chunks_that_cannot_be_fetched(fault_server, bucket, tmp_path):
    """Samples can be: the reads go past the cache."""
    server = fault_server(bucket.parent)
    server.rules("path=shard truncate=3000000")
    sent, stats = run(server, bucket, tmp_path / "cache")
    assert sent > DATA and stats["cache_kept_bytes"] < 2 << 20  # of short last chunks


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


def test_photos_of_a_folder_are_kept(fault_server, photos, tmp_path):
    """A file each: the first epoch sends a request for each, the second one none."""
    server = fault_server(photos.parents[1])
    runs = [{"epochs": [0], "shuffle": True}]
    wanted = finish(start(None, "", photos, runs))[0]
    server.reset()
    found, stats = finish(start(server, tmp_path / "cache", "s3://bucket/photos", runs))
    assert found == wanted and gets(server) == PHOTOS
    assert stats["cache_kept_bytes"] >= PHOTOS * 4096  # a file takes whole pages
    server.reset()
    found, stats = finish(start(server, tmp_path / "cache", "s3://bucket/photos", runs))
    assert found == wanted and gets(server) == 0
    assert stats["cache_misses"] == 0 and stats["cache_hits"] >= PHOTOS


def test_filling_with_photos(fault_server, photos, tmp_path):
    server = fault_server(photos.parents[1])
    filled, _ = finish(start(server, tmp_path / "cache", "s3://bucket/photos", fill=True))
    assert filled["chunks"] == PHOTOS and filled["left_bytes"] == 0
    assert filled["fetched_bytes"] == sum(path.stat().st_size for path in photos.rglob("*.jpg"))
    server.reset()
    runs = [{"epochs": [0, 1], "shuffle": True}]
    found, stats = finish(start(server, tmp_path / "cache", "s3://bucket/photos", runs))
    assert found == finish(start(None, "", photos, runs))[0]
    assert gets(server) == 0 and stats["cache_misses"] == 0


def test_a_quota_for_some_photos(fault_server, photos, tmp_path):
    """The rest is read past the cache, epoch after epoch."""
    server = fault_server(photos.parents[1])
    quota = PHOTOS // 3 * 8192
    runs = [{"epochs": [0, 1], "shuffle": True}]
    found, stats = finish(start(server, tmp_path / "cache", "s3://bucket/photos", runs, SLUICE_REMOTE_CACHE_BYTES=str(quota)))
    assert found == finish(start(None, "", photos, runs))[0]
    assert 0 < stats["cache_kept_bytes"] <= quota and stats["cache_misses"] > 0 and stats["cache_hits"] > 0


def test_a_photo_that_was_replaced(fault_server, photos, tmp_path):
    """The cache serves what the listing said; a listing of the new one leads to a new download."""
    folder = tmp_path / "served" / "bucket" / "photos"
    shutil.copytree(photos, folder)
    server = fault_server(folder.parents[1])
    finish(start(server, tmp_path / "cache", "s3://bucket/photos", fill=True))
    (folder / "class0" / "000.jpg").write_bytes(photo(PHOTOS))
    server.reset()
    runs = [{"epochs": [0], "shuffle": True}]
    found, _ = finish(start(server, tmp_path / "cache", "s3://bucket/photos", runs))
    assert found == finish(start(None, "", folder, runs))[0]
    assert gets(server) == 1


def bench(server, address, cache, *options, **environment):
    """What bench reports of the cache in one epoch."""
    done = subprocess.run([os.environ["SLUICE_TOOL"], "bench", address, "--json", "--epochs", "1", "-b", "8", *options],
                          env={**os.environ, **server.environment(), "SLUICE_REMOTE_CACHE": str(cache), **environment},
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["cache"]


def test_a_chunk_that_the_epoch_fetched_is_no_hit(fault_server, bucket, tmp_path):
    runs = [{"epochs": [0], "shuffle": True, "stop": 20}]
    _, stats = finish(start(fault_server(bucket.parent), tmp_path / "cache", "s3://bucket/packed", runs))
    assert stats["cache_hits"] == 0 and stats["cache_misses"] >= 40


def test_the_hit_rate_of_bench(fault_server, bucket, tmp_path):
    """Of a cache that the warm-up has filled, as far as there is space."""
    server = fault_server(bucket.parent)
    columns = ("-c", "x:tensor")
    warm = bench(server, "s3://bucket/packed", tmp_path / "cache", *columns)
    assert warm["hit_rate"] == warm["optimum"] == warm["lru"] == 1
    assert warm["fetched_bytes"] == 0 and warm["here_bytes"] >= DATA
    kept = bench(server, "s3://bucket/packed", tmp_path / "half", *columns, SLUICE_REMOTE_CACHE_BYTES="64MiB")
    assert 0.3 <= kept["hit_rate"] <= kept["optimum"] + 0.02 <= 0.53
    assert kept["lru"] < kept["optimum"] and kept["here_bytes"] <= 64 << 20


def fill(server, cache, *options):
    """What the tool says where filling fails."""
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
        assert f"are being written by process {writer.pid}, which does not go on" in fill(server, tmp_path / "cache", "--stall", "5s")
    finally:
        writer.kill()
        writer.stdout.close()
        writer.wait()


@pytest.mark.parametrize(("world", "options"), [(4, {"shuffle": True}), (1, {"shuffle": True, "repeats": 2}), (3, {"shuffle": "block"})])
def test_ranks_and_repeats(fault_server, photos, tmp_path, world, options):
    """Processes that share an empty cache, and begin at once."""
    server = fault_server(photos.parents[1])

    def read(server, cache, address):
        ranks = [start(server, cache, address, [{"epochs": [0, 1], "rank": rank, "world_size": world, **options}], RANK=str(rank),
                       WORLD_SIZE=str(world), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world)) for rank in range(world)]  # fmt: skip
        return [finish(rank)[0] for rank in ranks]

    assert read(server, tmp_path / "cache", "s3://bucket/photos") == read(None, "", photos)
    assert gets(server) <= 1.03 * PHOTOS

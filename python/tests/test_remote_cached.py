# SPDX-License-Identifier: Apache-2.0
"""Loaders over the cache of remote data: batches equal those of local reading, and a complete cache makes the store unnecessary."""
import json
import os
import shutil
import subprocess
import sys

import numpy
import pytest
from remote_reading import read, read_elsewhere
from remote_servers import fault_server  # noqa: F401 a fixture
from test_remote_loader import write_tar

import sluice

SHARDS = 12
SAMPLES = 5  # per shard
COUNT = SHARDS * SAMPLES

# A separate process: settings, and knowledge from opening, are per process. Reads one JSON object per line.
PROGRAM = """
import json, sys
import sluice
from remote_reading import fill_or_run

print(json.dumps([fill_or_run(**json.load(sys.stdin)), sluice.remote.stats()]))
"""


def start(server, cache, address, runs=(), fill=False, **environment):
    environment = {**os.environ, **(server.environment() if server else {}), "SLUICE_REMOTE_CACHE": str(cache), **environment,
                   "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(json.dumps({"address": str(address), "runs": list(runs), "fill": fill}))
    process.stdin.close()
    return process


def finish(process):
    text = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0
    return json.loads(text)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "bucket"
    folder.mkdir()
    with sluice.Writer(folder / "packed", {"x": ("tensor", "uint8", (200_000,))}, shard_bytes=1 << 20) as writer:
        for number in range(COUNT):
            writer.add(x=numpy.random.default_rng(number).integers(0, 256, 200_000, "uint8"))
    assert len(list((folder / "packed").glob("shard-*"))) == SHARDS
    return folder


def requests(counts):
    return {name: counts[name] for name in ("get", "list", "tree", "resolve", "head") if counts[name]}


def test_a_full_cache_is_all_that_a_new_process_reads(fault_server, bucket, tmp_path):
    server = fault_server(bucket.parent)
    filled, _ = finish(start(server, tmp_path / "cache", "s3://bucket/packed", fill=True))
    assert filled["left_bytes"] == 0 and filled["fetched_bytes"] == filled["bytes"]
    server.reset()
    runs = [{"epochs": [0, 1], "shuffle": True}]
    found, stats = finish(start(server, tmp_path / "cache", "s3://bucket/packed", runs))
    assert requests(server.counts()) == {"list": 1, "get": 1}  # for the folder and the manifest
    assert stats["cache_misses"] == 0 and stats["cache_hits"] > 0
    assert found == finish(start(server, tmp_path / "none", bucket / "packed", runs))[0]


def test_shards_behind_the_first_page_of_a_list(fault_server, bucket, tmp_path):
    """The list is continued only for a cache: it describes each shard, where otherwise one request per shard does."""
    large = tmp_path / "served" / "bucket" / "packed"
    shutil.copytree(bucket / "packed", large)
    for number in range(1000):
        (large / f"rest-{number:03}").touch()
    server = fault_server(large.parents[1])
    for cache, lists in ((tmp_path / "cache", 2), ("", 1)):
        finish(start(server, tmp_path / "cache", "s3://bucket/packed", fill=True))
        server.reset()
        finish(start(server, cache, "s3://bucket/packed", [{"epochs": [0], "shuffle": True}]))
        assert server.counts()["list"] == lists and (server.counts()["get"] == 1 or lists == 1)


def test_compressed_files_come_from_the_cache(fault_server, tmp_path):
    """Each pass opens the file again, which needs no request."""
    folder = tmp_path / "served" / "bucket"
    folder.mkdir(parents=True)
    write_tar(folder / "one.tar.gz", range(40), "w:gz")
    server = fault_server(folder.parent)
    environment = {**server.environment(), "SLUICE_CACHE_DIR": str(tmp_path / "indexes")}
    finish(start(server, tmp_path / "cache", "s3://bucket/one.tar.gz", fill=True, SLUICE_CACHE_DIR=str(tmp_path / "indexes")))
    server.reset()
    found = read_elsewhere({"x": "s3://bucket/one.tar.gz"}, {**environment, "SLUICE_REMOTE_CACHE": str(tmp_path / "cache")})["x"]
    assert len(found["epochs"]) == 64 and found == read(folder / "one.tar.gz")
    assert requests(server.counts()) == {"list": 1, "get": 1}  # from opening


def test_a_hub_is_asked_once_for_each_file(fault_server, tmp_path):
    """A hub limits requests; the storage that it redirects to does not."""
    folder = tmp_path / "datasets" / "o" / "n" / "packed"
    folder.parent.mkdir(parents=True)
    with sluice.Writer(folder, {"x": ("tensor", "uint8", (5_000_000,))}, shard_bytes=40_000_000) as writer:
        for number in range(12):
            writer.add(x=numpy.random.default_rng(number).integers(0, 256, 5_000_000, "uint8"))
    shards = len(list(folder.glob("shard-*")))
    chunks = sum(-(-path.stat().st_size // (8 << 20)) for path in folder.glob("shard-*"))
    assert chunks >= 3 * shards
    server = fault_server(tmp_path)
    filled, _ = finish(start(server, tmp_path / "cache", "hf://datasets/o/n/packed", fill=True, HF_ENDPOINT=server.url))
    assert filled["chunks"] == chunks and filled["left_bytes"] == 0
    assert server.counts()["resolve"] == 1 + shards


def both_ranks(server, cache, address, states=None, **environment):
    """Each rank is a process, which reads some epochs in two orders up to the middle of one, or resumes there."""
    processes = []
    for rank in range(2):
        runs = [{"rank": rank, "world_size": 2, "shuffle": order, "epochs": [3, 4] if states else [0, 1, 2, 3],
                 "stop": None if states else 4, "state": states[rank][number][1] if states else None}
                for number, order in enumerate([True, "block"])]
        processes.append(start(server, cache, address, runs, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank),
                               LOCAL_WORLD_SIZE="2", **environment))
    found = [finish(process) for process in processes]
    return [rank[0] for rank in found], [rank[1] for rank in found]


@pytest.fixture(scope="module")
def local_batches(bucket):
    """Returns the batches up to the middle, the states there, and the remaining batches."""
    first, _ = both_ranks(None, "", bucket / "packed")
    return first, both_ranks(None, "", bucket / "packed", first)[0]


@pytest.mark.parametrize("cache_bytes", ["1GiB", "16MiB"])
def test_two_ranks_that_go_on_in_several_epochs(fault_server, bucket, local_batches, tmp_path, cache_bytes):
    """Both share the cache, which may hold all of the data or a part."""
    server = fault_server(bucket.parent)
    first, stats = both_ranks(server, tmp_path / "cache", "s3://bucket/packed", SLUICE_REMOTE_CACHE_BYTES=cache_bytes)
    assert first == local_batches[0]
    assert all(rank["cache_hits"] > 0 and rank["cache_damaged"] == 0 for rank in stats)
    rest, _ = both_ranks(server, tmp_path / "cache", "s3://bucket/packed", first, SLUICE_REMOTE_CACHE_BYTES=cache_bytes)
    assert rest == local_batches[1]

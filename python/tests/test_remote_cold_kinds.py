# SPDX-License-Identifier: Apache-2.0
"""An empty cache with mixes, partners and other ranks, and folders that fail in the middle: batches equal those of local reading."""
import os
import resource
import shutil

import numpy
import pytest
from remote_servers import fault_server  # noqa: F401 a fixture

import sluice
from sluice import columns as C

COUNT, SAMPLE_BYTES, CLASSES = 96, 80_000, 4
SIZE = COUNT * SAMPLE_BYTES


def write(folder, seed):
    random = numpy.random.default_rng(seed)
    with sluice.Writer(folder, {"x": ("tensor", "uint8", (SAMPLE_BYTES,)), "label": "int"}, shard_bytes=1 << 20) as writer:
        for number in range(COUNT):
            writer.add(x=random.integers(0, 256, SAMPLE_BYTES, "uint8"), label=number % CLASSES)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A server's folder: two datasets in a bucket, and one on a hub."""
    root = tmp_path_factory.mktemp("served")
    (root / "bucket").mkdir()
    for seed, name in enumerate("ab"):
        write(root / "bucket" / name, seed)
    shutil.copytree(root / "bucket" / "a", root / "datasets" / "o" / "n" / "a")
    return root


@pytest.fixture
def server(root, fault_server, monkeypatch):
    server = fault_server(root)
    for name, value in server.environment(STORAGE_EMULATOR_HOST=server.url, HF_ENDPOINT=server.url, GOOGLE_OAUTH_ACCESS_TOKEN="t").items():
        monkeypatch.setenv(name, value)
    yield server
    sluice.remote.configure()


def batches(data, epochs=1, at=None, state=None, **options):
    """Returns all batches, as bytes. `at` is called with the number of each batch."""
    options = {"batch_size": 8, "shuffle": True, "seed": 3, "last_batch": "short", "num_workers": 1, "prefetch_factor": 2} | options
    found = []
    with sluice.Loader(data, **options) as loader:
        if state is not None:
            loader.load_state_dict(state)
        for epoch in range(epochs):
            if state is None:
                loader.set_epoch(epoch)
            for number, batch in enumerate(loader):
                found.append([batch[name].numpy().tobytes() for name in batch.keys()])
                if at is not None:
                    at(number)
    return found


def open_of(place):
    return [sluice.Dataset(f"{place}/{name}") for name in "ab"]


def mix_of(place):
    return sluice.mix(open_of(place), [3, 1]), {}


def concat_of(place):
    return sluice.concat(open_of(place)), {"repeats": 2}


def triplets_of(place):
    """Returns rows of three samples of one dataset."""
    columns = {"x": C.Tensor("x"), **{f"x{j}": C.Tensor("x", partner=j) for j in (1, 2)}}
    classes = [number % CLASSES for number in range(COUNT)]
    return open_of(place)[0], {"columns": columns, "partners": ["same_class", "other_class"], "classes": classes}


@pytest.mark.parametrize(("made", "datasets"), [(mix_of, 2), (concat_of, 2), (triplets_of, 1)])
def test_rows_of_several(server, root, tmp_path, made, datasets):
    sluice.remote.configure(cache=tmp_path / "cache")
    data, options = made("s3://bucket")
    server.reset()
    hedged = sluice.remote.stats()["hedged"]
    found = batches(data, epochs=2, **options)
    hedged = sluice.remote.stats()["hedged"] - hedged  # slow requests that were sent twice, at most a shard each
    assert server.counts()["bytes"] <= 1.03 * datasets * SIZE + hedged * (2 << 20)
    data, options = made(root / "bucket")
    assert found == batches(data, epochs=2, **options)


@pytest.mark.parametrize("world", [1, 3])
def test_going_on_with_another_number_of_ranks(server, root, tmp_path, world):
    """Over an empty cache, or one that was emptied meanwhile."""
    sluice.remote.configure(cache=tmp_path / "cache")
    with sluice.Loader("s3://bucket/a", batch_size=8, shuffle=True, seed=3, rank=1, world_size=2) as loader:
        for number, _ in enumerate(loader):
            if number == 2:
                state = loader.state_dict()
                break
    sluice.remote.configure(cache=tmp_path / "other")
    for rank in range(world):
        rest = [batches(f"{place}/a", state=state, rank=rank, world_size=world) for place in ("s3://bucket", root / "bucket")]
        assert rest[0] == rest[1] and len(rest[0]) >= 48 // world // 8


def wipe(cache):
    shutil.rmtree(cache, ignore_errors=True)


def remove_chunks(cache):
    for path in cache.glob("chunks-1/*"):
        path.unlink(missing_ok=True)


def forbid_writing(cache):
    """Limits files to 4 KiB from now on, so that chunks cannot be written: permissions would not stop root."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))


def replace_by_a_file(cache):
    shutil.rmtree(cache, ignore_errors=True)
    cache.write_bytes(b"")


@pytest.mark.parametrize("lose", [wipe, remove_chunks, forbid_writing, replace_by_a_file])
def test_the_folder_is_lost_in_the_first_epoch(server, root, tmp_path, lose):
    """While the last chunks are being fetched, and reads wait for them."""
    cache = tmp_path / "cache"
    sluice.remote.configure(cache=cache)
    server.rules("path=shard-00000[4-9] rate=1000000")
    try:
        found = batches("s3://bucket/a", epochs=2, shuffle=False, at=lambda number: number == 1 and lose(cache))
        off = sluice.remote.stats()["cache_off"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert found == batches(root / "bucket" / "a", epochs=2, shuffle=False)
    assert ("cannot write to the cache folder" in off) == (lose in (forbid_writing, replace_by_a_file))


def test_a_folder_that_takes_nothing(server, root, tmp_path):
    """From the beginning: no read waits for a chunk."""
    cache = tmp_path / "cache"
    (cache / "chunks-1").mkdir(parents=True, mode=0o700)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        sluice.remote.configure(cache=cache)
        found = batches("s3://bucket/a")
        assert "cannot write to the cache folder" in sluice.remote.stats()["cache_off"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert found == batches(root / "bucket" / "a")


@pytest.mark.parametrize("lie", ["", "status=503", 'etag="other"'])
def test_a_node_in_front_of_google(server, root, fault_server, lie):
    """The node works, is down, or returns answers that do not match."""
    node = fault_server(root)
    node.rules(*([lie] if lie else []))
    sluice.remote.configure(cache_nodes=node.url.removeprefix("http://"))
    assert batches("gs://bucket/a") == batches(root / "bucket" / "a")
    counts = node.counts()
    assert counts["struck"] > 0 if lie else counts["bytes"] >= SIZE


def test_a_hub_is_read_without_nodes(server, root, fault_server):
    """A hub redirects each reader to a different address."""
    node = fault_server(root)
    sluice.remote.configure(cache_nodes=node.url.removeprefix("http://"))
    assert batches("hf://datasets/o/n/a") == batches(root / "bucket" / "a")
    assert node.counts()["get"] == 0

# SPDX-License-Identifier: Apache-2.0
"""Loaders of remote datasets: batches equal those of a local one, for any format, order and server."""
import importlib.util
import io
import os
import tarfile

import numpy
import pytest
from remote_reading import epochs_of
from remote_servers import ROOT, FaultServer, fault_program

import sluice
from sluice import transforms as T

COUNT = 96
FORMATS = ("photos", "packed", "train-{00..03}.tar", "one.tar.gz", "parquet/a.parquet", "mds", "mds_zstd", "npz", "train.csv")


def photo(number):
    from PIL import Image

    out = io.BytesIO()
    pixels = numpy.random.default_rng(number).integers(0, 255, (24 + number % 9, 32, 3), "uint8")
    Image.fromarray(pixels).save(out, "JPEG")
    return out.getvalue()


def write_tar(path, numbers, mode="w"):
    with tarfile.open(path, mode) as tar:
        for number in numbers:
            for name, body in ((f"{number:03}.jpg", photo(number)), (f"{number:03}.cls", b"%d" % (number % 7))):
                info = tarfile.TarInfo(name)
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """A folder whose one folder is a bucket with datasets of many formats."""
    spec = importlib.util.spec_from_file_location("mutate_files", ROOT / "fuzz" / "mutate_files.py")
    mutate_files = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutate_files)
    root = tmp_path_factory.mktemp("served") / "bucket"
    for number in range(COUNT):
        path = root / "photos" / f"class{number % 4}" / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(photo(number))
    for part in range(3):
        sluice.pack(root / "photos", root / "packed", progress=None, part=(part, 3))
    for part in range(4):
        write_tar(root / f"train-{part:02}.tar", range(part * 24, part * 24 + 24))
    write_tar(root / "one.tar.gz", range(40), "w:gz")
    for name in ("parquet", "mds", "mds_zstd"):
        (root / name).mkdir()
        getattr(mutate_files, f"make_{name}")(root / name)
    (root / "npz").mkdir()
    for number in range(12):
        values = numpy.random.default_rng(number).standard_normal((40, 60)).astype("f4")
        numpy.savez(root / "npz" / f"{number}.npz", x=values, label=numpy.int64(number))
    lines = [f"photos/class{number % 4}/{number:03}.jpg,{number % 4},{number}" for number in range(COUNT)]
    (root / "train.csv").write_text("\n".join(["image,label,weight", *lines]) + "\n")
    return root


@pytest.fixture(scope="module")
def running(bucket):
    server = FaultServer(fault_program(), bucket.parent)
    yield server
    server.close()


@pytest.fixture
def server(running, monkeypatch):
    for name, value in running.environment().items():
        monkeypatch.setenv(name, value)
    running.rules()
    running.reset()
    yield running
    counts = running.counts()
    assert counts["head"] == 0 and counts["errors"] == 0


def open_both(bucket, name, **options):
    return [sluice.Dataset(f"{place}/{name}", **options) for place in ("s3://bucket", bucket)]


def batches(data, epochs=1, **options):
    """Returns all batches, as bytes."""
    options = {"batch_size": 8, "shuffle": True, "seed": 3, "last_batch": "short", "transform": T.RandomResizedCrop(16)} | options
    with sluice.Loader(data, **options) as loader:
        found = []
        for epoch in range(epochs):
            loader.set_epoch(epoch)
            found += [[batch[name].numpy().tobytes() for name in batch.keys()] for batch in loader]
        return found, loader.stats()


@pytest.mark.parametrize("name", FORMATS)
def test_formats(server, bucket, name):
    remote, local = open_both(bucket, name)
    shuffle = "shards" if name.endswith(".gz") or name == "mds_zstd" else True
    for seed in (1, 2):
        found = epochs_of(remote, seed=seed, shuffle=shuffle)
        assert len(found) == 64 and found == epochs_of(local, seed=seed, shuffle=shuffle), found


@pytest.mark.parametrize("name, shuffle", [("packed", False), ("packed", True), ("packed", "block"), ("train-{00..03}.tar", "shards")])
def test_orders(server, bucket, name, shuffle):
    remote, local = open_both(bucket, name)
    server.reset()
    found, stats = batches(remote, epochs=2, shuffle=shuffle)
    assert stats["io_backend"] == "remote" and not stats["io_direct"]
    assert found == batches(local, epochs=2, shuffle=shuffle)[0]
    if name == "packed":  # no request opens a shard, an index block is read once, and adjacent samples are read together
        assert server.counts()["get"] < COUNT / 2


def test_few_threads_and_little_memory(server, bucket):
    remote, local = open_both(bucket, "photos")
    tight = {"num_workers": 1, "io_depth": 2, "read_buffer_bytes": 1 << 20, "prefetch_factor": 2}
    assert batches(remote, **tight)[0] == batches(local)[0]


def test_http_needs_no_list(server, bucket):
    """Formats whose file names follow from a known one."""
    for name in ("packed/", "train-{00..03}.tar", "parquet/a.parquet"):
        remote, local = sluice.Dataset(f"{server.url}/bucket/{name}"), sluice.Dataset(f"{bucket}/{name}")
        assert batches(remote)[0] == batches(local)[0]


def test_nothing_shows_what_an_address_keeps_secret(server):
    """The query of an address is its signature; the server does not check it."""
    address = f"{server.url}/bucket/train-00.tar"
    data = sluice.Dataset(f"{address}?X-Amz-Signature=SECRET")
    assert repr(data) == f"sluice.Dataset(['{address}'], 24 samples, tar)" and "SECRET" not in data._repr_html_()
    server.rules("path=train-00 status=403")
    with pytest.raises(sluice.Error) as raised:
        batches(data)
    assert address in str(raised.value) and "SECRET" not in str(raised.value) + repr(raised.value)


def test_local_and_remote_files_in_one_dataset(server, bucket):
    remote, local = open_both(bucket, "packed")
    mixed = sluice.concat([remote, local])
    found, stats = batches(mixed)
    assert found == batches(sluice.concat([local, local]))[0] and stats["io_backend"] == "remote"


def test_a_copy_in_memory_is_made_if_it_is_asked_for(server, bucket):
    remote, local = open_both(bucket, "packed")
    with sluice.Loader(remote, batch_size=8, shuffle=True, seed=3, transform=T.RandomResizedCrop(16), resident_bytes=1 << 28) as loader:
        first = [batch["label"].numpy().tolist() for batch in loader]
        server.reset()
        later = [batch["label"].numpy().tolist() for _ in range(3) for batch in loader]
        assert len(later) == 3 * len(first)
        assert server.counts()["get"] < len(later)  # a sample comes from the copy once it has been read


def test_resume(server, bucket):
    remote, local = open_both(bucket, "packed")
    options = {"batch_size": 8, "shuffle": True, "seed": 9, "transform": T.RandomResizedCrop(16)}
    with sluice.Loader(remote, **options) as loader:
        for number, _ in enumerate(loader):
            if number == 4:
                break
        state = loader.state_dict()
    rest = []
    for data in (remote, local):
        with sluice.Loader(data, **options) as loader:
            loader.load_state_dict(state)
            rest.append([batch["image"].numpy().tobytes() for batch in loader])
    assert rest[0] == rest[1] and len(rest[0]) == COUNT // 8 - 5


def test_bad_samples(server, bucket, tmp_path):
    """Samples that the store does not return are bad, with the address and the reason."""
    remote, _ = open_both(bucket, "photos")
    server.rules("path=/01[37] status=403 code=AccessDenied")
    with pytest.raises(sluice.Error, match="AccessDenied") as raised:
        batches(remote)
    assert "s3://bucket/photos/class" in str(raised.value)
    quarantine = tmp_path / "bad.tsv"
    for policy in ("replace", "mask"):
        found, stats = batches(remote, on_bad_sample=policy, quarantine=quarantine)
        assert len(found) == COUNT // 8 and 2 <= stats["bad_samples"] <= 4  # counted again if drawn as a substitute
    lines = quarantine.read_text().splitlines()
    assert len(lines) >= 4 and all("AccessDenied" in line and ("/013" in line or "/017" in line) for line in lines)


def test_a_stalled_read_is_a_bad_sample(server, bucket):
    remote, _ = open_both(bucket, "photos")
    server.rules("path=/042 stall-body=10")
    found, stats = batches(remote, on_bad_sample="replace", stall_fail=0.4)
    assert len(found) == COUNT // 8 and stats["bad_samples"] >= 1


def test_a_replaced_object_is_not_read(server, bucket):
    server.put("/bucket/own/manifest.sluice", (bucket / "packed" / "manifest.sluice").read_bytes())
    for number in range(3):
        name = f"shard-{number:06}.sluice"
        server.put(f"/bucket/own/{name}", (bucket / "packed" / name).read_bytes())
    remote = sluice.Dataset("s3://bucket/own")
    with sluice.Loader(remote, batch_size=8, shuffle=True, transform=T.RandomResizedCrop(16), read_buffer_bytes=1 << 20) as loader:
        assert len(list(loader)) == COUNT // 8
        server.rules("path=shard-000001 replace")
        with pytest.raises(sluice.Error, match="changed since it was opened") as raised:
            for _ in range(50):  # some may have been read before
                list(loader)
    assert "s3://bucket/own/shard-000001" in str(raised.value)


def test_close_does_not_wait_for_answers(server, bucket):
    remote, _ = open_both(bucket, "photos")
    server.rules("kind=get stall-head")
    loader = sluice.Loader(remote, batch_size=8, transform=T.RandomResizedCrop(16))
    iter(loader)
    loader.close()


def test_busy_stores_are_asked_again(server, bucket):
    remote, local = open_both(bucket, "photos")
    server.rules("kind=get share=0.2 seed=5 status=503 code=SlowDown retry-after=0")
    assert batches(remote)[0] == batches(local)[0]


def test_the_profile_names_the_store(server, bucket):
    remote, _ = open_both(bucket, "packed")
    with sluice.Loader(remote, batch_size=4, transform=T.RandomResizedCrop(16)) as loader:
        with sluice.profile(loader, price_get=0.0004) as profile:
            for _ in range(3):
                for _ in loader:
                    pass
        store = profile.store
        assert store.host == server.url.partition("//")[2] and store.requests > 0 and 0 < store.p50 <= store.p99
        assert store.per_epoch == pytest.approx(store.requests / 3) and store.price == pytest.approx(store.per_epoch * 4e-7)
        assert store.host in str(profile)

# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/remote.md, unchanged except for the addresses of their servers, on miniatures of the named datasets."""
import os
import re
import time

import layouts
import litdata_files
import mds_files
import pages
import parquets
import pytest

from remote_servers import fault_server  # noqa: F401

import sluice

torch = pytest.importorskip("torch")

BLOCKS = [(heading, number) for heading, blocks in pages.sections("remote.md") for number in range(len(blocks))]
CLASSES, EACH = 4, 16


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A folder like a store: buckets, and repositories of the hub."""
    root = tmp_path_factory.mktemp("store")
    bucket, photos = root / "my-bucket", root / "photos"
    layouts.classes(root, "photos", CLASSES, EACH)
    bucket.mkdir()
    sluice.pack(photos, bucket / "train", progress=False)
    jpegs = [(path.read_bytes(), number // EACH) for number, path in enumerate(sorted(photos.rglob("*.jpg")))]
    assert len(jpegs) == CLASSES * EACH
    (bucket / "mds").mkdir()
    mds_files.write(bucket / "mds", {"image": "jpeg", "label": "int"}, [{"image": image, "label": label} for image, label in jpegs], samples_per_shard=20)
    litdata_files.write(bucket / "litdata", ["jpeg", "int"], [list(one) for one in jpegs], chunk_samples=20)
    data = root / "datasets" / "my-team" / "photos" / "data"
    data.mkdir(parents=True)
    parquets.write(data / "train-00000-of-00001.parquet", {
        "image": parquets.Column("image", [{"bytes": image, "path": "a.jpg"} for image, _ in jpegs]),
        "label": parquets.Column("int64", [label for _, label in jpegs]),
    }, metadata={"huggingface": parquets.features_json(image={"_type": "Image"}, label={"names": list("abcd"), "_type": "ClassLabel"})})
    return root


@pytest.fixture
def server(store, fault_server, tmp_path, monkeypatch):  # noqa: F811
    """Sets the environment of a program of the page."""
    started = fault_server(store)
    for name in [name for name in os.environ if name.startswith(("AWS_", "HF_", "SLUICE_REMOTE_"))]:
        monkeypatch.delenv(name)
    for name, value in {**started.environment(), "HF_ENDPOINT": started.url, "HF_TOKEN_PATH": str(tmp_path / "none"), "no_proxy": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    yield started
    sluice.remote.configure()


def program(heading, number, server, folder):
    text = dict(pages.sections("remote.md"))[heading][number]
    text = text.replace("https://minio.example.com:9000", server).replace('"/nvme/sluice"', repr(str(folder / "cache")))
    return re.sub(r"\b500(_000_000_000| << 30)", "200_000_000", text)  # a test has less space


def test_the_page_begins_with_a_program_of_ten_lines():
    (heading, blocks), *_ = pages.sections("remote.md")
    assert heading == "From a bucket to a training loop" and blocks[0].count("\n") <= 10


@pytest.mark.parametrize("heading, number", BLOCKS, ids=[f"{heading}, {number}" for heading, number in BLOCKS])
def test_a_program(server, tmp_path, heading, number):
    names = {}
    text = program(heading, number, server.url, tmp_path)
    exec(compile(text, f"remote.md, {heading}", "exec"), names)
    if "loader" in names:
        images, labels = next(iter(names["loader"]))
        assert len(images) == len(labels) == CLASSES * EACH
        assert sorted(labels.tolist()) == [label for label in range(CLASSES) for _ in range(EACH)]
        assert not torch.equal(images[0], images[1])
    if "data" in names:
        assert len(names["data"]) == CLASSES * EACH
    if "cache=" in text:
        until = time.monotonic() + 60  # the cache is filled while the loader runs, which needs one batch here
        while sluice.remote.stats()["cache_kept_bytes"] <= 50_000 and time.monotonic() < until:
            time.sleep(0.02)
        assert sluice.remote.stats()["cache_kept_bytes"] > 50_000

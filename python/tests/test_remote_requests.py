# SPDX-License-Identifier: Apache-2.0
"""The number of requests that opening sends: each is a round trip, and a store charges for it."""
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile

import parquets
import pytest
from parquets import Column
from remote_servers import fault_server  # noqa: F401

import sluice

FILES = 1000
SHARDS = 12     # 1 MiB each, the minimum; the manifest has a row of 64 bytes for each

OPEN = """
import json, sys
import sluice
data = sluice.Dataset(json.loads(sys.argv[1]))
print(json.dumps([data.format, len(data)]))
"""


def open_elsewhere(server, address, folder, **more):
    """Returns [format, samples] of a dataset, opened by another process, and the counts of its requests."""
    environment = {**os.environ, **server.environment(), "HF_ENDPOINT": server.url, "HF_TOKEN": "hf_secret",
                   "SLUICE_CACHE_DIR": str(folder / "indexes"), **more}
    server.reset()
    done = subprocess.run([sys.executable, "-c", OPEN, json.dumps(address)], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    counts = server.counts()
    assert counts["head"] == 0 and counts["errors"] == 0 and counts["other"] == 0
    return json.loads(done.stdout), counts


def tar_bytes(names):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 5
            tar.addfile(member, io.BytesIO(b"hello"))
    return file.getvalue()


def many_links(folder, first, name):
    """Makes a folder of FILES files that all have the bytes of the first."""
    folder.mkdir(parents=True)
    for i in range(FILES):
        os.link(first, folder / name.format(i))


@pytest.fixture
def bucket(tmp_path):
    folder = tmp_path / "served" / "bucket"
    folder.mkdir(parents=True)
    return folder


def requests(counts):
    return {name: counts[name] for name in ("get", "list", "tree", "resolve") if counts[name]}


def test_tars_with_a_kept_index_take_one_list(fault_server, bucket, tmp_path):
    (tmp_path / "one.tar").write_bytes(tar_bytes(["a.txt", "b.txt", "c.txt"]))
    many_links(bucket / "tars", tmp_path / "one.tar", "{:06}.tar")
    server = fault_server(bucket.parent)
    first, _ = open_elsewhere(server, "s3://bucket/tars", tmp_path)
    again, counts = open_elsewhere(server, "s3://bucket/tars", tmp_path)
    assert first == again == ["tar", 3 * FILES]
    assert requests(counts) == {"list": 1}


def test_parquet_files_with_a_kept_index_take_one_list(fault_server, bucket, tmp_path):
    parquets.write(tmp_path / "one.parquet", {"label": Column("int64", [3, 4], optional=False)})
    many_links(bucket / "table", tmp_path / "one.parquet", "{:06}.parquet")
    server = fault_server(bucket.parent)
    first, _ = open_elsewhere(server, "s3://bucket/table/", tmp_path)
    again, counts = open_elsewhere(server, "s3://bucket/table/", tmp_path)
    assert first == again == ["parquet", 2 * FILES]
    assert requests(counts) == {"list": 1}


def test_packed_shards_take_three_requests(fault_server, bucket, tmp_path):
    with sluice.Writer(bucket / "packed", {"data": "bytes"}, shard_bytes=1 << 20) as writer:
        for _ in range(SHARDS):
            writer.add(data=os.urandom(600_000))
    assert len(list((bucket / "packed").glob("shard-*"))) == SHARDS
    server = fault_server(bucket.parent)
    found, counts = open_elsewhere(server, "s3://bucket/packed", tmp_path)
    assert found[1] == SHARDS
    assert requests(counts) == {"list": 1, "get": 1}
    named, counts = open_elsewhere(server, f"{server.url}/bucket/packed/", tmp_path)
    assert named == found
    assert sum(requests(counts).values()) <= 3


def test_a_table_in_the_root_of_a_bucket(fault_server, bucket, tmp_path):
    """Paths in it have no more slashes than their keys: no file is looked up elsewhere."""
    (bucket / "a").mkdir()
    for number in range(4):
        (bucket / "a" / f"{number}.jpg").write_bytes(b"x")
    (bucket / "train.csv").write_text("image,label\n" + "".join(f"a/{number}.jpg,{number}\n" for number in range(4)))
    server = fault_server(bucket.parent)
    found, counts = open_elsewhere(server, "s3://bucket/train.csv", tmp_path)
    assert found[1] == 4
    assert requests(counts) == {"get": 1, "list": 4}  # the table, and its first files


def test_a_range_of_tars_takes_one_list(fault_server, bucket, tmp_path):
    """The listing page that describes a tar also shows that no index is beside it, and that no name has braces."""
    (tmp_path / "one.tar").write_bytes(tar_bytes(["a.txt", "b.txt", "c.txt"]))
    for number in range(FILES):
        os.link(tmp_path / "one.tar", bucket / f"train-{number:03}.tar")
    server = fault_server(bucket.parent)
    first, counts = open_elsewhere(server, "s3://bucket/train-{000..999}.tar", tmp_path)
    assert counts["list"] == 1
    again, counts = open_elsewhere(server, "s3://bucket/train-{000..999}.tar", tmp_path)
    assert first == again == ["tar", 3 * FILES]
    assert counts["get"] <= 1 and counts["list"] == 1

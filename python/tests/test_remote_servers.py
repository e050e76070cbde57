# SPDX-License-Identifier: Apache-2.0
"""Datasets of all formats from two S3 servers that are independent of each other, and from nginx: the bytes read equal those
uploaded."""
import importlib.util
import io
import os
import pathlib
import subprocess
import tarfile

import pytest
from remote_reading import read, read_elsewhere
from remote_servers import ROOT, fault_server, nginx, radosgw, swift  # noqa: F401 fixtures

import sluice

TOOL = os.environ.get("SLUICE_TOOL") or pathlib.Path(sluice.__file__).parents[2] / "bin" / "sluice"
FEW = ("folder", "shards packed", "tar a.tar", "parquet a.parquet", "mds", "litdata")  # for a slow server
SOME = (*FEW, "arrow a.arrow", "beton a.beton", "lmdb a.lmdb", "mds_zstd", "npz", "recordio a.rec", "tar_gz a.tar.gz", "tfrecord a.tfrecord",
        "wids a.json", "yolo_list train.txt")
ODD = ["k=v/x.tar", "a+b c.tar", "café/日本.tar", "x&y;z.tar", "tilde~star*(p)'!.tar", "//two.tar", "dot/./x/../y.tar", "per%25cent.tar",
       "q?m#h.tar"]


@pytest.fixture(scope="session")
def formats(tmp_path_factory):
    """Writes datasets of all formats. Returns (folder, {name: path in it})."""
    spec = importlib.util.spec_from_file_location("mutate_files", ROOT / "fuzz" / "mutate_files.py")
    mutate_files = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutate_files)
    root = tmp_path_factory.mktemp("formats")
    return root, {f"{name} {part}".strip(): f"{name}/{part}".rstrip("/")
                  for name in mutate_files.make_all(root) for part in mutate_files.OPENED.get(name, ("",))}


def tar_of(number):
    from PIL import Image

    picture, out = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (20 + number, 20), (number * 20, 50, 90)).save(picture, "JPEG")
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, body in ((f"{number}.jpg", picture.getvalue()), (f"{number}.cls", b"%d" % number)):
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return out.getvalue()


def check_formats(store, formats, names):
    root, paths = formats
    prefixes = sorted({paths[name].split("/")[0] for name in names})
    for prefix in prefixes:
        store.put_folder(root / prefix, f"all/{prefix}")
    found = read_elsewhere({name: f"s3://{store.bucket}/all/{paths[name]}" for name in names}, store.environment())
    assert found == {name: read(root / paths[name]) for name in names}


def test_all_formats_from_a_bucket(fault_server, formats):
    root, paths = formats
    server = fault_server(root.parent)
    found = read_elsewhere({name: f"s3://{root.name}/{path}" for name, path in paths.items()}, server.environment())
    assert found == {name: read(root / path) for name, path in paths.items()}
    counts = server.counts()
    assert counts["errors"] == counts["head"] == counts["other"] == 0


def test_radosgw_has_some_formats(radosgw, formats):
    check_formats(radosgw, formats, SOME)


def test_swift_has_a_few_formats(swift, formats):
    check_formats(swift, formats, FEW)


@pytest.mark.parametrize("name", ["radosgw", "swift"])
def test_keys_of_any_characters(request, name, tmp_path):
    store = request.getfixturevalue(name)
    expected = {}
    for number, key in enumerate(ODD):
        body = tar_of(number)
        (tmp_path / "x.tar").write_bytes(body)
        store.put(f"odd {key}", body)
        store.put(f"all odd=+é/{number} &?#%.tar", body)
        expected[key] = read(tmp_path / "x.tar")
    found = read_elsewhere({key: f"s3://{store.bucket}/odd {key}" for key in ODD}, store.environment())
    assert found == expected and all(entry["count"] == 1 for entry in found.values())
    folder = read_elsewhere({"folder": f"s3://{store.bucket}/all odd=+é"}, store.environment())["folder"]
    assert folder.get("count") == len(ODD), folder


@pytest.mark.parametrize("name", ["radosgw", "swift"])
def test_who_may_not_read_is_told_so(request, name):
    store = request.getfixturevalue(name)
    store.put("private.tar", tar_of(1))
    address = f"s3://{store.bucket}/private.tar"
    ways = {
        "wrong secret": {"AWS_SECRET_ACCESS_KEY": "WRONGSECRET"},
        "unknown key": {"AWS_ACCESS_KEY_ID": "NOBODY", "AWS_SECRET_ACCESS_KEY": "WRONGSECRET"},
    }
    for way, wrong in ways.items():
        found = read_elsewhere({"x": address}, store.environment() | wrong)["x"]
        assert found["error"] == "IOError", (way, found)
        assert address in found["text"] and "403" in found["text"], (way, found)
        assert "WRONG" not in found["text"] and store.secret not in found["text"]
    found = read_elsewhere({"x": address}, {"AWS_ENDPOINT_URL": store.url}, anonymous=True)["x"]
    assert found["error"] == "IOError" and "the server answered 40" in found["text"], found  # 403; Swift says 400
    found = read_elsewhere({"x": f"s3://{store.bucket}-none/x.tar"}, store.environment())["x"]
    assert found["error"] == "IOError" and "NoSuchBucket" in found["text"], found


def test_nginx_plain_and_with_tls(nginx, formats):
    root, paths = formats
    server = nginx(root)
    names = [name for name in sorted(paths) if name in FEW and name != "folder" or name.endswith((".gz", ".zst", ".npy", ".arrow", "annotations.json"))]
    expected = {name: read(root / paths[name]) for name in names}
    for base in (server.plain, server.tls):
        addresses = {name: f"{base}/{paths[name]}" + "/" * (root / paths[name]).is_dir() for name in names}
        found = read_elsewhere(addresses, {}, ca_file=server.ca_file)
        assert found == expected
    assert {status for _, _, status, _ in server.requests()} <= {200, 206, 404, 416}
    assert all(bytes_range != "-" or status in (200, 404) for _, bytes_range, status, _ in server.requests())


@pytest.mark.parametrize("bad, word", [("expired", "expired"), ("name", "name"), ("self", "self")])
def test_bad_certificates_are_refused(nginx, tmp_path, bad, word):
    (tmp_path / "x.tar").write_bytes(tar_of(1))
    server = nginx(tmp_path, BAD_TLS=bad)
    found = read_elsewhere({"x": f"{server.tls}/x.tar?sig=SECRET"}, {}, ca_file=server.ca_file)["x"]
    assert found["error"] == "IOError" and "certificate" in found["text"] and word in found["text"], found
    done = subprocess.run([TOOL, "info", f"{server.tls}/x.tar?sig=SECRET", "--ca-file", server.ca_file], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode not in (0, 2) and "certificate" in done.stderr and word in done.stderr, done
    for text in (found["text"], done.stderr):
        assert f"{server.tls}/x.tar" in text and "SECRET" not in text
    good = nginx(tmp_path)
    found = read_elsewhere({"x": f"{good.tls}/x.tar"}, {"AWS_CA_BUNDLE": os.devnull})["x"]
    assert found["error"] == "IOError", found


# Folders of files that no index names.
UNLISTED = {"folder", "unpacked", "lmdb a.lmdb", "npz", "table", "lines", "voc", "masks", "yolo", "yolo images",
            "voc_masks ImageSets/Segmentation/train.txt"}


def test_all_formats_from_a_web_server(fault_server, formats):
    """It has no listing: datasets that need one fail with a suggestion, and nothing is read as another format."""
    root, paths = formats
    server = fault_server(root)
    addresses = {name: f"{server.url}/{path}" + "/" * (root / path).is_dir() for name, path in paths.items()}
    found = read_elsewhere(addresses, {})
    refused = {name for name, what in found.items() if "error" in what}
    assert refused == UNLISTED
    for name in refused:
        text = found[name]["text"]
        assert addresses[name].rstrip("/") in text and "pack the dataset first" in text, text
        assert "https has no listing" in text or "needs a listing of the folders beside it, and https provides none" in text, text
    assert {name: found[name] for name in set(paths) - refused} == {name: read(root / paths[name]) for name in set(paths) - refused}
    assert server.counts()["head"] == server.counts()["errors"] == 0

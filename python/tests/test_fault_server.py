# SPDX-License-Identifier: Apache-2.0
"""http_fault_server serves like an object store, judged by botocore, and misbehaves according to its rules."""
import http.client
import os
import time
import urllib.parse

import pytest

from remote_servers import fault_server  # noqa: F401 a fixture

DATA = os.urandom(300000)
KEYS = ["a/b/c", "a/b+c d=e&f", "a/café", "b", "odd//two", "odd/./x", "odd/%25", "q?m#h"]


@pytest.fixture
def server(fault_server, tmp_path):
    (tmp_path / "bucket" / "sub").mkdir(parents=True)
    (tmp_path / "bucket" / "sub" / "x.bin").write_bytes(DATA)
    return fault_server(tmp_path)


def ask(server, target, bytes_range=None, method="GET", timeout=60, **headers):
    """Returns (status, headers, body) of one request, without raising for errors."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=timeout)
    if bytes_range:
        headers["Range"] = f"bytes={bytes_range}"
    try:
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_objects_as_a_store_has_them(server):
    status, headers, body = ask(server, "/bucket/sub/x.bin")
    assert (status, body, headers["Content-Length"]) == (200, DATA, "300000")
    etag = headers["ETag"]
    status, headers, body = ask(server, "/bucket/sub/x.bin", "1000-1999", **{"If-Match": etag})
    assert (status, body, headers["Content-Range"]) == (206, DATA[1000:2000], "bytes 1000-1999/300000")
    assert ask(server, "/bucket/sub/x.bin", "-10")[2] == DATA[-10:]
    assert ask(server, "/bucket/sub/x.bin", "299990-400000")[2] == DATA[299990:]
    status, headers, _ = ask(server, "/bucket/sub/x.bin", "300000-")
    assert (status, headers["Content-Range"]) == (416, "bytes */300000")
    assert ask(server, "/bucket/sub/x.bin", "0-1", **{"If-Match": '"other"'})[0] == 412
    assert ask(server, "/bucket/sub/none")[0] == 404
    assert ask(server, "/bucket/sub/../sub/x.bin")[0] == 404
    assert ask(server, "/bucket/sub/x.bin", method="HEAD")[0] == 405
    counts = server.counts()
    assert (counts["get"], counts["ranges"], counts["if_match"], counts["head"], counts["errors"]) == (8, 5, 2, 1, 1)


def test_listings_are_those_of_s3(server):
    boto3 = pytest.importorskip("boto3")
    from botocore.config import Config

    s3 = boto3.client("s3", endpoint_url=server.url, aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1",
                      config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}))
    for key in KEYS:
        server.put(f"/odd/{key}", key.encode())
    found = [entry["Key"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket="odd", PaginationConfig={"PageSize": 3})
             for entry in page["Contents"]]
    assert found == sorted(KEYS, key=str.encode)
    for key in KEYS:
        assert s3.get_object(Bucket="odd", Key=key)["Body"].read() == key.encode()
    page = s3.list_objects_v2(Bucket="odd", Prefix="a/", Delimiter="/")
    assert [folder["Prefix"] for folder in page["CommonPrefixes"]] == ["a/b/"]
    assert [entry["Key"] for entry in page["Contents"]] == ["a/b+c d=e&f", "a/café"]
    assert s3.list_objects_v2(Bucket="odd", StartAfter="odd/./x")["KeyCount"] == 2
    server.many("made", 5000, 100, 50)
    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket="made", Delimiter="/", PaginationConfig={"PageSize": 7}))
    assert [folder["Prefix"] for page in pages for folder in page["CommonPrefixes"]] == [f"class{i:05}/" for i in range(50)]
    assert s3.get_object(Bucket="made", Key="class00049/00004999.bin")["Body"].read()[:24] == b"class00049/00004999.bin\n"


def test_the_hub_has_trees_and_addresses_that_end(server):
    server.put("/datasets/o/n/train/a.parquet", b"x" * 5000)
    server.put("/datasets/o/n/README.md", b"small")
    assert b'"path":"train","' not in ask(server, "/api/datasets/o/n/tree/main?recursive=true")[2]
    assert b'{"type":"directory","oid":"0","size":0,"path":"train"}' in ask(server, "/api/datasets/o/n/tree/main")[2]
    assert ask(server, "/datasets/o/n/resolve/main/README.md")[2] == b"small"
    status, headers, _ = ask(server, "/datasets/o/n/resolve/main/train/a.parquet")
    assert (status, headers["X-Linked-Size"]) == (302, "5000")
    where = urllib.parse.urlsplit(headers["Location"])
    assert ask(server, f"{where.path}?{where.query}")[2] == b"x" * 5000
    assert ask(server, f"{where.path}?Expires={int(time.time()) - 1}")[0] == 403


@pytest.mark.parametrize("rule, expected", [
    ("status=503 code=SlowDown retry-after=2", (503, None, False)),
    ("ignore-range", (200, None, False)),
    ("range-off=1", (206, "bytes 11-100/300000", True)),
    ("total-off=3", (206, "bytes 10-99/300003", True)),
    ("no-length", (206, "bytes 10-99/300000", True)),
    ("chunked", (206, "bytes 10-99/300000", True)),
    ("gzip", (206, "bytes 10-99/300000", False)),
    ("shorten=5", (206, "bytes 10-99/300000", False)),
    ("extra=5", (206, "bytes 10-99/300000", False)),
    ("other-bytes", (206, "bytes 10-99/300000", False)),
    ("drip=1", (206, "bytes 10-99/300000", True)),
    ("redirect=file:///etc/passwd", (302, None, False)),
])
def test_an_answer_is_as_its_rule_says(server, rule, expected):
    server.rules(f"path=^/bucket/.*bin$ count=1 {rule}")
    status, headers, body = ask(server, "/bucket/sub/x.bin", "10-99")
    assert (status, headers["Content-Range"], body == DATA[10:100]) == expected
    assert ask(server, "/bucket/sub/x.bin", "10-99")[2] == DATA[10:100]
    assert server.counts()["struck"] == 1


@pytest.mark.parametrize("rule, error", [
    ("truncate=20", http.client.IncompleteRead), ("reset=20", ConnectionResetError), ("garbage", http.client.BadStatusLine),
    ("close", http.client.RemoteDisconnected), ("huge-header=70000", http.client.LineTooLong), ("stall-head", TimeoutError),
    ("stall-body=20", TimeoutError), ("endless-headers", http.client.HTTPException),
])
def test_a_connection_breaks_as_its_rule_says(server, rule, error):
    server.rules(rule)
    with pytest.raises(error):
        ask(server, "/bucket/sub/x.bin", "10-99", timeout=0.5)


def test_which_requests_a_rule_strikes(server):
    server.rules("status=503 skip=2 count=2 every=2")
    assert [ask(server, "/bucket/sub/x.bin", "0-1")[0] for _ in range(8)] == [206, 206, 206, 503, 206, 503, 206, 206]
    server.rules("status=503 share=0.5 seed=3")
    struck = sum(ask(server, "/bucket/sub/x.bin", "0-1")[0] == 503 for _ in range(64))
    assert 16 < struck < 48
    server.rules("path=^/bucket/sub/x.bin$ skip=1 count=1 replace")
    was, _, now = [ask(server, "/bucket/sub/x.bin", "0-9") for _ in range(3)]
    assert was[1]["ETag"] != now[1]["ETag"] and was[2] != now[2]
    server.rules("clock=1200")
    late = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + 1200))
    assert ask(server, "/bucket/sub/x.bin", "0-1", **{"x-amz-date": late})[0] == 206
    soon = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    assert b"RequestTimeTooSkewed" in ask(server, "/bucket/sub/x.bin", "0-1", **{"x-amz-date": soon})[2]
    assert len(server.log()) == server.counts()["requests"]

# SPDX-License-Identifier: Apache-2.0
"""sluice.remote: valid settings, errors that name a setting, and no secrets in errors."""
import http.server
import pathlib
import threading

import pytest
from remote_servers import need_remote

import sluice


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """Removes this machine's settings, and afterwards those of the test."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE",
                 "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_ACCESS_KEY_ID", "SLUICE_REMOTE_CACHE", "SLUICE_REMOTE_CACHE_BYTES",
                 "SLUICE_CACHE_NODES", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield
    monkeypatch.undo()
    sluice.remote.configure()


def test_settings_are_taken(tmp_path):
    (tmp_path / "ca.pem").write_text("")
    sluice.remote.configure(
        endpoint="https://minio.example:9000", region="eu-central-1", profile="default", anonymous=True, ca_file=tmp_path / "ca.pem",
        connections=8, stall=1.5, cache=tmp_path / "cache", cache_bytes=2**40, cache_nodes=["a:80", "b:80"])
    sluice.remote.configure(cache="", cache_nodes="a:80, b:80")
    sluice.remote.configure(cache_nodes="", stall=3600)
    sluice.remote.configure()


@pytest.mark.parametrize("given, kind, said", [
    ({"endpoint": "minio.example"}, sluice.InvalidError, "endpoint is not an address"),
    ({"endpoint": "https://me:SECRET@minio.example"}, sluice.InvalidError, "endpoint is \"https://minio.example\""),
    ({"endpoint": "https://minio.example/bucket"}, sluice.InvalidError, "expected https://HOST"),
    ({"region": "eu west"}, sluice.InvalidError, "region is \"eu west\""),
    ({"profile": "x" * 128}, sluice.InvalidError, "profile is too long"),
    ({"ca_file": "/nowhere/at/all"}, sluice.InvalidError, "ca_file names a file that cannot be read"),
    ({"cache": "s3://bucket/folder"}, sluice.InvalidError, "cache is an address"),
    ({"cache_nodes": "a"}, sluice.InvalidError, "cache_nodes: "),
    ({"cache_nodes": ["a:80", 5]}, TypeError, "cache_nodes=5"),
    ({"cache_nodes": 5}, TypeError, "cache_nodes=5"),
    ({"connections": 0}, ValueError, "connections=0: expected an integer, 1 to 1024"),
    ({"connections": 1025}, ValueError, "connections=1025"),
    ({"connections": "8"}, TypeError, "connections='8'"),
    ({"stall": 0}, ValueError, "stall=0: expected seconds"),
    ({"stall": 4000}, ValueError, "stall=4000"),
    ({"stall": "x"}, TypeError, "stall='x'"),
    ({"cache_bytes": -1}, ValueError, "cache_bytes=-1"),
    ({"anonymous": "yes"}, TypeError, "anonymous='yes'"),
    ({"endpoint": 5}, TypeError, "endpoint=5"),
    ({"cache": 5}, TypeError, "cache=5"),
    ({"endpiont": "x"}, TypeError, "endpiont"),
])
def test_mistakes_are_named(given, kind, said):
    with pytest.raises(kind) as error:
        sluice.remote.configure(**given)
    assert said in str(error.value)
    assert "SECRET" not in str(error.value)


def test_variables_are_named(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://me:SECRET@minio.example/")
    with pytest.raises(sluice.InvalidError, match="AWS_ENDPOINT_URL is") as error:
        sluice.remote.configure()
    assert "SECRET" not in str(error.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    sluice.remote.configure()


def test_names():
    with pytest.raises(AttributeError, match="did you mean 'configure'"):
        sluice.remote.configura  # noqa: B018
    assert sorted(sluice.remote.__all__) == ["configure", "stats"]


class Refusal(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        type(self).paths.append((self.path, self.headers.get("Authorization"), self.headers.get("x-amz-security-token")))
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    paths = []

    def log_message(self, *_):
        pass


@pytest.fixture
def refusal():
    need_remote()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusal)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Refusal.paths = []
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_credentials_are_sent_and_never_said(refusal, monkeypatch):
    """The error names the address and the source of the credentials, and nothing secret."""
    before = sluice.remote.stats()["requests"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDSECRET")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "keySECRET")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "tokenSECRET")
    sluice.remote.configure(endpoint=refusal)
    with pytest.raises(sluice.Error) as error:
        sluice.Dataset("s3://bucket/photos.tar")
    assert "s3://bucket/photos.tar" in str(error.value) and "403" in str(error.value)
    assert "SECRET" not in str(error.value)
    assert "environment" in str(error.value)
    path, authorization, token = Refusal.paths[0]
    assert path.startswith("/bucket")
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIDSECRET/") and token == "tokenSECRET"
    assert "keySECRET" not in authorization
    after = sluice.remote.stats()
    assert after["requests"] > before and after["hosts"] >= 1
    assert all("SECRET" not in str(value) for value in after.values())

    Refusal.paths.clear()
    sluice.remote.configure(endpoint=refusal, anonymous=True)
    with pytest.raises(sluice.Error):
        sluice.Dataset("s3://bucket/photos.tar")
    assert Refusal.paths[0][1:] == (None, None)


def test_secrets_of_addresses_are_never_said(refusal):
    for query in ("X-Amz-Signature=SECRET", "sig=SECRET&x"):
        with pytest.raises(sluice.Error) as error:
            sluice.Dataset(f"{refusal}/photos.tar?{query}")
        assert f"{refusal}/photos.tar" in str(error.value)
        assert "SECRET" not in str(error.value) + str(error.value.file)
    with pytest.raises(sluice.Error) as error:
        sluice.Dataset("http://me:SECRET@127.0.0.1/photos.tar")
    assert "SECRET" not in str(error.value) + str(error.value.file)


def test_a_broken_profile_is_named(refusal, tmp_path):
    config = tmp_path / "AWS_CONFIG_FILE"
    config.write_text("[default]\naws_secret_access_key SECRET\n")
    sluice.remote.configure(endpoint=refusal)
    with pytest.raises(sluice.Error, match="line 2: expected NAME = VALUE") as error:
        sluice.Dataset("s3://bucket/photos.tar")
    assert "SECRET" not in str(error.value) and "AWS_CONFIG_FILE" in str(error.value)
    assert Refusal.paths == []
    config.write_text("")
    sluice.remote.configure(profile="nobody")
    with pytest.raises(sluice.Error, match="\"nobody\" does not exist"):
        sluice.Dataset("s3://bucket/photos.tar")


@pytest.mark.parametrize("address, said", [
    ("az://container/x", 'unknown scheme "az": expected s3://'),
    ("S3://bucket/x", "must begin with s3://"),
    (pathlib.Path("s3://bucket/x"), "with both slashes"),
    ("file:///data/x", "without file://"),
])
def test_what_is_no_address_is_told_so(address, said):
    with pytest.raises(sluice.InvalidError) as error:
        sluice.Dataset(address)
    assert said in str(error.value)


def test_a_user_in_any_address_is_not_printed():
    for address in ("s3://me:SECRET@bucket/x", "https://me:SECRET@host.invalid/x", "ftp://me:SECRET@host.invalid/x"):
        with pytest.raises(sluice.Error) as error:
            sluice.Dataset(address)
        assert address.split("me:")[0] in str(error.value) and "SECRET" not in str(error.value)


def test_stores_are_never_written_to(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = sluice.Dataset(photos)
    for write in (lambda to: sluice.pack(data, to, progress=None), lambda to: sluice.unpack(data, to, progress=None),
                  lambda to: sluice.Writer(to), lambda to: sluice.pack(data, to, map=lambda sample: sample, progress=None)):  # fmt: skip
        with pytest.raises(sluice.InvalidError, match="s3://bucket/out: object stores are read-only: write to a local folder"):
            write("s3://bucket/out")
    assert not list(tmp_path.glob("s3*"))

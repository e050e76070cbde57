# SPDX-License-Identifier: Apache-2.0
"""Fixtures for servers that tests read from: import those that a file needs.

radosgw, swift   S3 servers (S3Server), one a session, each with its own bucket
nginx            nginx(FOLDER, **environment) starts one over a folder (NginxServer)
nginx_nodes      nginx_nodes(COUNT, ORIGIN) starts cache nodes (NginxNodes)
fault_server     fault_server(FOLDER) starts tests/support/http_fault_server (FaultServer)

Each skips the test, with the reason, if its server is not installed. ctest starts radosgw and swift beside other tests
and passes the file of their addresses in SLUICE_TEST_SERVERS; without that variable they are started here."""
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "servers"


def need_remote():
    """Skips the test if ctest reports that the build has no libcurl."""
    if os.environ.get("SLUICE_TEST_WITHOUT_REMOTE"):
        pytest.skip("sluice was built without libcurl")


def start(name, folder, *arguments, **environment):
    """Returns the address that the script of a server prints; skips the test if the server is not installed."""
    need_remote()
    done = subprocess.run([SCRIPTS / name, "start", folder, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, env={**os.environ, "WATCH_PID": str(os.getpid()), **environment})
    if done.returncode == 77:
        absent = pathlib.Path(folder, "absent")  # has the reason
        pytest.skip(absent.read_text().strip() if absent.exists() else done.stdout.strip() or f"{name} gave no reason")
    assert done.returncode == 0, f"{name} does not start: {done.stdout}"
    return done.stdout.strip().splitlines()[-1]


def stop(name, folder):
    subprocess.run([SCRIPTS / name, "stop", folder], check=True, stdin=subprocess.DEVNULL)


class S3Server:
    """An S3 server with an initially empty bucket."""

    def __init__(self, address, bucket):
        boto3 = pytest.importorskip("boto3")
        from botocore.config import Config

        self.url, self.key, self.secret = address.split(" ")
        self.bucket = bucket
        self.client = boto3.client(
            "s3", endpoint_url=self.url, aws_access_key_id=self.key, aws_secret_access_key=self.secret, region_name="us-east-1",
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}, retries={"max_attempts": 2}))
        self.client.create_bucket(Bucket=bucket)

    def environment(self):
        """Returns the variables by which a program finds the server and its keys. No file of this machine is read."""
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret,
                "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}

    def put(self, key, data):
        self.client.put_object(Bucket=self.bucket, Key=key, Body=data)

    def put_folder(self, folder, prefix):
        """Uploads the files of a folder. Returns their address."""
        folder = pathlib.Path(folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())
        return f"s3://{self.bucket}/{prefix}"


def s3_server(name):
    """Returns a session's server: the one that ctest has started, or a new one."""
    need_remote()
    shared = os.environ.get("SLUICE_TEST_SERVERS")
    bucket = f"test-{os.getpid()}-{time.time_ns() % 1000000:06}"
    if shared:
        folder = pathlib.Path(shared) / name
        if (folder / "address").exists():
            yield S3Server((folder / "address").read_text().strip(), bucket)
            return
        if (folder / "absent").exists():
            pytest.skip((folder / "absent").read_text().strip())
    with tempfile.TemporaryDirectory(prefix=f"sluice-{name}-") as folder:
        folder = os.path.join(folder, "server")
        try:
            yield S3Server(start(name, folder), bucket)
        finally:
            stop(name, folder)


@pytest.fixture(scope="session")
def radosgw():
    yield from s3_server("radosgw")


@pytest.fixture(scope="session")
def swift():
    yield from s3_server("swift")


class NginxServer:
    def __init__(self, address, folder):
        self.plain, self.tls, self.ca_file = address.split(" ")
        self.folder = pathlib.Path(folder)

    def requests(self):
        """Returns [target, range or "-", status, body bytes] of each request so far."""
        found = []
        for line in (self.folder / "access.log").read_text().splitlines():
            target, bytes_range, status, sent = line.rsplit(" ", 3)
            found.append([target, bytes_range, int(status), int(sent)])
        return found


class NginxNodes:
    def __init__(self, address, folder):
        self.list = address
        self.folder = pathlib.Path(folder)

    def origin_bytes(self):
        """Returns the bytes that the nodes have read from their origin so far."""
        total = 0
        for log in self.folder.glob("*/origin.log"):
            for line in log.read_text().splitlines():
                total += sum(int(n) for n in re.findall(r"\d+", line.rsplit(" ", 1)[1]))
        return total

    def kill(self, number):
        """Kills node `number`, counted from 1, and all its connections."""
        pid = int((self.folder / str(number) / "nginx.pid").read_text())
        os.kill(pid, 15)
        for _ in range(1200):
            try:
                if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith("Z"):
                    return
            except FileNotFoundError:
                return
            time.sleep(0.1)
        raise AssertionError(f"node {number} does not end")


@pytest.fixture
def nginx():
    with tempfile.TemporaryDirectory(prefix="sluice-nginx-") as top:
        started = []

        def begin(folder, **environment):
            own = os.path.join(top, f"files{len(started)}")
            started.append(own)
            return NginxServer(start("nginx-files", own, folder, **environment), own)

        yield begin
        for own in started:
            stop("nginx-files", own)


@pytest.fixture
def nginx_nodes():
    with tempfile.TemporaryDirectory(prefix="sluice-nodes-") as top:
        started = []

        def begin(count, origin):
            own = os.path.join(top, f"nodes{len(started)}")
            started.append(own)
            return NginxNodes(start("nginx-nodes", own, count, urllib.parse.urlsplit(origin).netloc or origin), own)

        yield begin
        for own in started:
            stop("nginx-nodes", own)


class FaultServer:
    """tests/support/http_fault_server.c, which documents the commands; tests/support/http_server.h documents the rules."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen([program, *([str(folder)] if folder else [])], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), "http_fault_server does not start"

    def command(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, f"http_fault_server ended at: {line}"
        return answer

    def rules(self, *rules):
        """Replaces all rules by these."""
        self.command("clear")
        for rule in rules:
            self.command(f"rule {rule}")

    def reset(self):
        self.command("reset")

    def counts(self):
        return {name: int(value) for name, value in (word.split("=") for word in self.command("counts").split())}

    def log(self):
        """Returns each request so far: [kind, method, target, range, status, bytes, signed]."""
        lines = [self.process.stdout.readline().rstrip("\n") for _ in range(int(self.command("log")))]
        return [line.split(" ") for line in lines]

    def many(self, bucket, keys, per_folder, object_bytes):
        self.command(f"many {bucket} {keys} {per_folder} {object_bytes}")

    def put(self, path, data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            self.command(f"put {urllib.parse.quote(path)} {file.name}")

    def environment(self, **more):
        """Returns the variables for its s3:// addresses, signed by keys that it does not verify."""
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": "FAULTKEY", "AWS_SECRET_ACCESS_KEY": "faultsecret",
                "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, **more}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=600)
        assert self.process.returncode == 0, "http_fault_server failed"


def fault_program():
    need_remote()
    named = os.environ.get("SLUICE_HTTP_FAULT_SERVER")
    places = [named] if named else [ROOT / "build" / preset / "tests" / "support" / "http_fault_server" for preset in ("release", "asan")]
    for place in places:
        if os.path.exists(place):
            return place
    pytest.skip("http_fault_server is not built (SLUICE_BUILD_TESTS)")


@pytest.fixture
def fault_server():
    started = []

    def begin(folder=None):
        started.append(FaultServer(fault_program(), folder))
        return started[-1]

    yield begin
    for server in started:
        server.close()

# SPDX-License-Identifier: Apache-2.0
"""Faults between a loader and its store: batches stay right, or an error has the address and the reason, and no secret.

tests/unit/remote_faults_test.c tests each wrong answer of a server. Here, whole datasets and loaders use a
server (http_fault_server) that misbehaves according to its rules."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import textwrap
import time

import pytest
from remote_reading import epochs_of, read, read_elsewhere
from remote_servers import fault_server  # noqa: F401 a fixture

import sluice
from sluice import transforms as T

TOOL = os.environ.get("SLUICE_TOOL") or pathlib.Path(sluice.__file__).parents[2] / "bin" / "sluice"
STALL = 0.5 if not os.environ.get("SLUICE_TEST_SANITIZED") else 2.0
# Each succeeds when it is retried. Five in a row end a read.
PASSING = ("status=503 retry-after=0", "status=429 retry-after=0", "ignore-range", "truncate=100", "reset=100", "extra=5",
           "range-off=1", "garbage", "close", "gzip", "huge-header=100000")
# A consistent answer without a range that is shorter or longer than the object is another object to any reader: a photo
# is then a bad sample. Reads of byte ranges detect it.
PASSING_RANGES = ("shorten=5", "endless-body")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, photos):
    """A server's folder: a bucket with photos, and the same photos packed."""
    root = tmp_path_factory.mktemp("served")
    os.symlink(photos, root / "photos")
    (root / "bucket").mkdir()
    os.symlink(photos, root / "bucket" / "photos")
    sluice.pack(photos, root / "bucket" / "packed", progress=None)
    with tarfile.open(root / "bucket" / "x.tar", "w") as tar:
        for number in range(4):
            tar.add(photos / "class0" / f"p{number:02}.jpg", f"{number}.jpg")
    return root


@pytest.fixture
def server(fault_server, folder):
    server = fault_server(folder)
    sluice.remote.configure(anonymous=True, endpoint=server.url)
    yield server
    assert server.counts()["head"] == 0 and server.counts()["errors"] == 0
    sluice.remote.configure()


def check_error(error, server, path, *words):
    """Checks that the error has the address and the reason."""
    text = str(error)
    assert path in text and "SECRET" not in text, text
    for word in words:
        assert word in text, text


def images_of(data, **options):
    """Returns {index: pixels} of an epoch; None: it is masked."""
    options = {"batch_size": 4, "shuffle": True, "seed": 2, "last_batch": "pad", "transform": T.RandomResizedCrop(16)} | options
    found = {}
    with sluice.Loader(data, **options) as loader:
        for batch in loader:
            for index, mask, image in zip(batch["index"].tolist(), batch["mask"].tolist(), batch["image"].numpy().copy()):
                if index >= 0:  # not padding
                    found[index] = image if mask else None
    return found


# ---- temporary faults ----


def test_a_storm_of_503_slows_a_loader_and_breaks_nothing(server, folder):
    server.rules("kind=get share=0.3 seed=5 status=503 code=SlowDown retry-after=0", "kind=list count=1 status=503 retry-after=0")
    assert epochs_of(sluice.Dataset("s3://bucket/packed")) == epochs_of(sluice.Dataset(folder / "bucket" / "packed"))
    assert server.counts()["struck"] > 5


def test_all_that_passes_at_once(server, folder):
    for name, rules in (("packed", PASSING + PASSING_RANGES), ("photos", PASSING)):
        server.rules(*(f"kind=get skip=3 share=0.005 seed={seed} {rule}" for seed, rule in enumerate(rules)))
        local = sluice.Dataset(folder / "bucket" / name)
        assert epochs_of(sluice.Dataset(f"s3://bucket/{name}"), epochs=6) == epochs_of(local, epochs=6), name
    assert server.counts()["struck"] > 5


# ---- bad samples ----


@pytest.mark.parametrize("rule, word", [
    ("stall-head", ""), ("stall-body=20", ""), ("status=403 code=AccessDenied", "403"), ("status=503 retry-after=0", "503"), ("truncate=20", ""),
])
def test_a_photo_that_cannot_be_read_is_a_bad_sample(server, folder, rule, word):
    local = images_of(sluice.Dataset(folder / "bucket" / "photos"))
    sluice.remote.configure(anonymous=True, endpoint=server.url, stall=STALL)
    data = sluice.Dataset("s3://bucket/photos")
    server.rules(f"path=class1/p05[.]jpg {rule}")
    with pytest.raises(sluice.Error) as caught:
        images_of(data)
    check_error(caught.value, server, "bucket/photos/class1/p05.jpg", word)
    found = images_of(data, on_bad_sample="mask")
    bad = [index for index, image in found.items() if image is None]
    assert len(bad) == 1 and len(found) == len(local)
    assert all((found[index] == local[index]).all() for index in found if index not in bad)


def test_wrong_bytes_never_reach_a_batch(server, folder):
    """In packed shards, samples have checksums: here the store itself has damaged them."""
    local = images_of(sluice.Dataset(folder / "bucket" / "packed"))
    data = sluice.Dataset("s3://bucket/packed")
    server.rules("kind=get path=shard count=2 other-bytes")
    found = images_of(data, on_bad_sample="mask")
    assert server.counts()["struck"] > 0
    assert found.keys() == local.keys()
    assert all(image is None or (image == local[index]).all() for index, image in found.items())
    server.rules()
    found = images_of(data)
    assert all((found[index] == local[index]).all() for index in local)


def test_an_object_replaced_in_an_epoch_is_an_error_that_says_so(server, folder):
    local = images_of(sluice.Dataset(folder / "bucket" / "packed"))
    data = sluice.Dataset("s3://bucket/packed")
    server.rules("kind=get path=shard skip=2 count=1 replace")
    with pytest.raises(sluice.Error) as caught:
        for _ in range(20):  # an epoch may need one request
            images_of(data)
    check_error(caught.value, server, "s3://bucket/packed/")
    assert any(word in str(caught.value) for word in ("changed", "replaced", "another")), caught.value
    found = images_of(sluice.Dataset(folder / "bucket" / "packed"))  # the stored images are undamaged
    assert all((found[index] == local[index]).all() for index in local)


# ---- opening ----


def test_a_manifest_that_cannot_be_read_is_no_damaged_one(server):
    server.rules("kind=get path=manifest count=5 truncate=100")
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset("s3://bucket/packed")
    check_error(caught.value, server, "s3://bucket/packed/manifest.sluice", "transfer closed")
    server.rules("kind=get path=manifest truncate=100")
    server.reset()
    with pytest.raises(sluice.IOError) as caught:
        sluice.Dataset("s3://bucket/packed")
    check_error(caught.value, server, "s3://bucket/packed/manifest.sluice", "transfer closed")
    assert server.counts()["get"] == 5  # it was not read again to try other formats
    found = read(f"{server.url}/bucket/packed/")
    check_error(found["text"], server, f"{server.url}/bucket/packed/manifest.sluice", "transfer closed")


def test_a_folder_of_a_web_server_needs_no_slash_but_an_index(server, folder):
    expected = read(folder / "bucket" / "packed")
    assert read(f"{server.url}/bucket/packed") == read(f"{server.url}/bucket/packed/") == expected
    for name in ("photos", "nothing"):
        found = read(f"{server.url}/bucket/{name}")
        check_error(found["text"], server, f"{server.url}/bucket/{name}", "404", "manifest.sluice or index.json")


def test_patterns_are_not_expanded(server):
    found = read("s3://bucket/*.tar")
    check_error(found["text"], server, "s3://bucket/*.tar", "{000..099}")


CALLS = ("data[0]", "data.read(0, 'image')", "data.decode(0)", "packed.sample(0)", "data.verify(progress=None)",
         "sluice.Dataset('s3://bucket/x.tar')", "sluice.Dataset('s3://bucket/x-{00..99}.tar')", "sluice.Dataset(URL + '/bucket/x.tar')",
         "sluice.pack(data, FOLDER + '/packed', progress=None)", "sluice.unpack(packed, FOLDER + '/unpacked', progress=None)",
         "next(iter(sluice.Loader(data, batch_size=4, transform=sluice.transforms.RandomResizedCrop(16))))")


@pytest.mark.parametrize("rule", ["stall-head", "stall-body=20"])
def test_ctrl_c_ends_what_a_dead_server_holds(server, tmp_path, rule):
    """The process ends, too, although reads are still in flight."""
    program = textwrap.dedent(f"""\
        import os, signal, sys, threading
        import sluice
        URL, FOLDER = {server.url!r}, {str(tmp_path)!r}
        sluice.remote.configure(anonymous=True, endpoint=URL, stall=600)
        data, packed = sluice.Dataset("s3://bucket/photos"), sluice.Dataset("s3://bucket/packed")
        print("ready", flush=True)
        sys.stdin.read()
        for text, call in {{{", ".join(f"{call!r}: lambda: {call}" for call in CALLS)}}}.items():
            state = "interrupted"
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                call()
                state = "not held"
                timer.join()
                signal.pause()
            except KeyboardInterrupt:
                print(state, text)
        """)
    process = subprocess.Popen([sys.executable, "-X", "faulthandler", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    assert process.stdout.readline() == "ready\n"
    server.rules(rule)
    assert process.communicate(timeout=600)[0].splitlines() == [f"interrupted {call}" for call in CALLS]
    assert process.returncode == 0
    server.rules()


def test_ctrl_c_says_what_a_loader_waits_for(server):
    program = textwrap.dedent(f"""\
        import os, signal, sys, threading
        import sluice
        sluice.remote.configure(anonymous=True, endpoint={server.url!r}, stall=600)
        loader = sluice.Loader(sluice.Dataset(sys.argv[2]), batch_size=4, transform=sluice.transforms.RandomResizedCrop(16))
        print("ready", flush=True)
        sys.stdin.read()
        threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGINT)).start()
        next(iter(loader))
        """)
    signed = f"{server.url}/bucket/x.tar"
    for seconds, path, query, says in (("0.2", "s3://bucket/photos", "", False), ("2.5", "s3://bucket/photos", "", True),
                                       ("2.5", signed, "?X-Amz-Signature=SECRET", True)):
        server.rules()
        process = subprocess.Popen([sys.executable, "-c", program, seconds, path + query], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        server.rules("stall-head")
        error = process.communicate(timeout=600)[1]
        lines = [line for line in error.splitlines() if line.startswith("sluice: interrupted after a wait of ")]
        assert "KeyboardInterrupt" in error
        assert len(lines) == says, error
        assert all(path in line and "SECRET" not in line for line in lines), error
    server.rules()


# Each waits for a part of a packed dataset: its listing, its manifest, or its only shard.
COMMANDS = (("info A", "kind=list stall-head"), ("info A", "kind=get stall-body=20"), ("verify A", "kind=get skip=1 stall-body=20"),
            ("view A -o F/sheet.png", "kind=get skip=1 stall-body=20"), ("pack A F/packed", "kind=get skip=1 stall-body=20"),
            ("unpack A F/unpacked", "kind=get skip=1 stall-body=20"), ("bench A", "kind=get skip=1 stall-body=20"),
            ("cache fill A -c F/cache", "kind=list stall-head"), ("cache fill A -c F/cache", "kind=get skip=1 stall-body=20"))


@pytest.mark.skipif(bool(os.environ.get("SLUICE_TEST_SANITIZED")), reason="the calls above are the same code")
@pytest.mark.parametrize("command, rule", COMMANDS)
def test_a_signal_ends_a_command_that_a_dead_server_holds(server, tmp_path, command, rule):
    """SIGTERM, as sent by batch systems."""
    server.rules(rule)
    words = command.replace("F/", f"{tmp_path}/").replace(" A", " s3://bucket/packed").split()
    process = subprocess.Popen([TOOL, *words, "--stall", "600", "--anonymous", "--endpoint", server.url],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while server.counts()["struck"] == 0:
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    assert process.wait(timeout=600) in (130, -signal.SIGTERM)


# ---- amount of reads ----


def test_few_photos_are_not_read_many_epochs_ahead(server):
    data = sluice.Dataset("s3://bucket/photos")
    server.rules("kind=get path=p03 count=1 delay=1500")
    server.reset()
    with sluice.Loader(data, batch_size=4, prefetch_factor=2, shuffle=True, transform=T.RandomResizedCrop(16)) as loader:
        for _ in loader:
            pass
    # an epoch, two that are read ahead, the samples of the batches, and the second requests for slow ones
    assert server.counts()["get"] <= 3 * len(data) + 2 * 4 + len(data) // 4, (len(data), server.counts())


# ---- redirects ----


def test_a_redirect_is_followed_and_one_elsewhere_refused(fault_server, server, folder):
    other = fault_server(folder)
    server.rules(f"path=^/moved/x.tar redirect={other.url}/bucket/x.tar?Signature=SECRET")
    assert read(f"{server.url}/moved/x.tar") == read(folder / "bucket" / "x.tar")
    assert other.counts()["get"] > 0
    for target in ("file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x", "http://169.254.169.254/latest/SECRET",
                   "http://user:SECRET@127.0.0.1/x", "/moved/%n/SECRET"):  # fmt: skip
        server.rules(f"path=^/moved/ redirect={target}")
        server.reset()
        found = read(f"{server.url}/moved/x.tar?Signature=SECRET")
        if target.startswith("http://169"):
            continue  # this server is local itself, so it may redirect to a local address
        assert found.get("error") == "IOError", (target, found)
        check_error(found["text"], server, f"{server.url}/moved/x.tar")
        assert 0 < server.counts()["get"] < 24


# Addresses of this machine, of its network, and of other protocols. A proxy hides whether the server itself is local.
REFUSED = ("http://169.254.169.254/latest/SECRET", "http://127.0.0.1/SECRET", "http://localhost:80/SECRET", "http://[::1]/SECRET",
           "http://2130706433/SECRET", "http://10.1.2.3/SECRET", "file:///etc/hostname", "ftp://data.invalid/SECRET", "gopher://data.invalid/SECRET")


def test_a_redirect_into_this_network_is_refused(server):
    server.rules(*(f"path=^/moved/{number}/ redirect={target}" for number, target in enumerate(REFUSED)))
    addresses = {str(number): f"http://data.invalid/moved/{number}/x.tar?Signature=SECRET" for number in range(len(REFUSED))}
    proxied = {"http_proxy": server.url, "no_proxy": ""}
    found = {number: found.get("text") for number, found in read_elsewhere(addresses, proxied).items()}
    for number, address in addresses.items():
        done = subprocess.run([TOOL, "info", address], env=os.environ | proxied, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.returncode not in (0, 2), done
        word = "redirects to an address that cannot be followed" if int(number) >= 6 else "a redirect leads to an address that is not public"
        for text in (found[number], done.stderr):
            check_error(text, server, f"http://data.invalid/moved/{number}/x.tar", word)
    assert {line[2].split("?")[0] for line in server.log()} == {f"/moved/{number}/x.tar" for number in addresses}


def test_the_hub_is_asked_again_when_an_address_has_expired(server, folder):
    for number in range(4):
        path = folder / "photos" / "class1" / f"p{number:02}.jpg"
        server.put(f"/datasets/o/n/train/{number}.jpg", path.read_bytes() + bytes(5000))
        (folder / "hub" / "train").mkdir(parents=True, exist_ok=True)
        (folder / "hub" / "train" / f"{number}.jpg").write_bytes(path.read_bytes() + bytes(5000))
    expected = read(folder / "hub" / "train")
    environment = {"HF_ENDPOINT": server.url, "HF_TOKEN": "hf_SECRET"}
    server.rules("path=^/cdn/ every=3 count=2 status=403 code=AccessDenied")
    assert read_elsewhere({"x": "hf://datasets/o/n/train"}, environment)["x"] == expected
    assert server.counts()["struck"] == 2
    signed = {(line[0], line[6]) for line in server.log() if line[0] in ("tree", "resolve") or line[2].startswith("/cdn/")}
    assert signed == {("tree", "signed"), ("resolve", "signed"), ("get", "-")}, signed


# ---- credentials and clocks ----


def test_a_token_that_expires_in_a_run_is_renewed(server, folder, tmp_path):
    script = tmp_path / "keys"
    script.write_text(textwrap.dedent(f"""\
        #!/bin/sh
        echo asked >> {tmp_path}/asked
        echo '{{"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "SECRETKEY", "SessionToken": "SECRETTOKEN",
               "Expiration": "2099-01-01T00:00:00Z"}}'
        """))
    script.chmod(0o755)
    (tmp_path / "config").write_text(f"[default]\ncredential_process = {script}\n")
    environment = {"AWS_ENDPOINT_URL": server.url, "AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_REGION": "us-east-1",
                   "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    server.rules("kind=get skip=1 count=1 status=403 code=ExpiredToken")
    expected = read(folder / "bucket" / "packed")
    assert read_elsewhere({"x": "s3://bucket/packed"}, environment)["x"] == expected
    assert (tmp_path / "asked").read_text().count("asked") == 2
    server.rules("kind=get skip=1 status=403 code=ExpiredToken")
    found = read_elsewhere({"x": "s3://bucket/packed"}, environment)["x"]
    check_error(found["text"], server, "s3://bucket/packed", "ExpiredToken")


@pytest.mark.parametrize("seconds", [1200, -1200])
def test_a_clock_that_is_20_minutes_off(server, folder, seconds):
    server.rules(f"clock={seconds}")
    assert read_elsewhere({"x": "s3://bucket/packed"}, server.environment())["x"] == read(folder / "bucket" / "packed")
    assert sum(line[4] == "403" for line in server.log()) <= 4  # those that were in flight at first


# ---- connections to the server ----


def test_a_host_without_an_address(server):
    found = read("http://no-such-host.invalid/x.tar?Signature=SECRET")
    assert found["error"] == "IOError"
    check_error(found["text"], server, "http://no-such-host.invalid/x.tar", "host")
    found = read("http://127.0.0.1:1/x.tar")
    assert found["error"] == "IOError"
    check_error(found["text"], server, "http://127.0.0.1:1/x.tar", "onnect")


def test_a_proxy_of_the_environment_is_asked(server, folder):
    found = read_elsewhere({"x": "http://data.invalid/bucket/x.tar"}, {"http_proxy": server.url, "no_proxy": ""})["x"]
    assert found == read(folder / "bucket" / "x.tar")
    assert server.counts()["get"] > 0


def test_few_descriptors_are_enough(server, folder):
    program = """
        import json, numpy, resource, sys
        import remote_reading, sluice
        soft = int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
        sluice.remote.configure(anonymous=True)
        print(json.dumps(remote_reading.read(sys.argv[1])))
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), "s3://bucket/photos", "64"], text=True, capture_output=True,
                          env={**os.environ, **server.environment(), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == read(folder / "bucket" / "photos")

# SPDX-License-Identifier: Apache-2.0
"""The wheel: packed from the build's libraries, installed into an empty environment without a package index. scripts/package-check builds
one from scratch."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from remote_servers import fault_server  # noqa: F401 a fixture

ROOT = pathlib.Path(__file__).parents[2]
BARE = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}

BACKEND = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import backend; "
PROGRAM = """
import sys, sluice
loader = sluice.Loader(sys.argv[1], batch_size=4, transform=sluice.transforms.RandomResizedCrop(16))
print(sum(batch.rows for batch in loader), sluice.__file__)
maps = open("/proc/self/maps").read()
own = sluice.__file__.rsplit("/", 1)[0] + "/lib/"
assert own + "libjpeg.so" in maps and own + "libzstd.so" in maps, maps
"""
BUCKET_PROGRAM = """
import sys, sluice
loader = sluice.Loader(sys.argv[1], batch_size=4, transform=sluice.transforms.RandomResizedCrop(16))
print(sum(batch.rows for batch in loader))
print(*{line.split()[-1] for line in open("/proc/self/maps") if "libcurl" in line or "libcrypto" in line})
"""


def run(*command, code=0, env=BARE):
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, timeout=300, cwd="/")
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-c", BACKEND + f"backend.pack({os.environ['SLUICE_WHEEL']!r}, {str(folder)!r})")
    (made,) = folder.glob("*.whl")
    return made


def test_it_is_built_with_what_there_is(tmp_path):
    """scripts/quickstart installs ninja, and no make."""
    (tmp_path / "ninja").write_text("#!/bin/sh\n")
    (tmp_path / "cmake").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\nmkdir -p {tmp_path}/build/python/sluice\n')
    for name in ("ninja", "cmake"):
        (tmp_path / name).chmod(0o755)
    run(sys.executable, "-c", BACKEND + f"assert backend.build({str(tmp_path / 'build')!r}).name == 'wheel'",
        env=BARE | {"PATH": f"{tmp_path}:{BARE['PATH']}"})  # fmt: skip
    configured, built = (tmp_path / "called").read_text().splitlines()
    assert "-G Ninja" in configured and "-DCMAKE_BUILD_TYPE=Release" in configured and built.endswith("--target wheel")


def test_what_is_missing_is_said(tmp_path):
    (tmp_path / "cmake").write_text("#!/bin/sh\nexit 0\n")  # configures nothing, as without Python's headers
    (tmp_path / "cmake").chmod(0o755)
    done = subprocess.run([sys.executable, "-c", BACKEND + f"backend.build({str(tmp_path / 'build')!r})"], capture_output=True,
                          text=True, env=BARE | {"PATH": f"{tmp_path}:{BARE['PATH']}"})  # fmt: skip
    assert done.returncode != 0 and "python3-dev" in done.stderr


def test_the_tool_that_builds_is_missing(tmp_path):
    done = subprocess.run([sys.executable, "-c", BACKEND + f"backend.build({str(tmp_path / 'build')!r})"], capture_output=True,
                          text=True, env=BARE | {"PATH": str(tmp_path)})  # fmt: skip
    assert done.returncode != 0 and "cmake was not found: run scripts/quickstart" in done.stderr


def test_metadata_needs_no_build(wheel, tmp_path):
    """pip requests it first, and would otherwise build a separate wheel for it."""
    name = run(sys.executable, "-c", BACKEND + f"print(backend.prepare_metadata_for_build_wheel({str(tmp_path)!r}))", env=BARE | {"PATH": ""}).strip()
    with zipfile.ZipFile(wheel) as archive:
        for path in (tmp_path / name).iterdir():
            assert path.read_bytes() == archive.read(f"{name}/{path.name}")
    assert {path.name for path in (tmp_path / name).iterdir()} == {"METADATA", "WHEEL", "entry_points.txt"}


def test_it_is_small_and_whole(wheel):
    assert wheel.stat().st_size < 5 << 20 and "-cp311-abi3-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert archive.testzip() is None
        record = archive.read(next(name for name in names if name.endswith("RECORD"))).decode()
    assert {line.split(",")[0] for line in record.splitlines()} == names
    assert {"sluice/__init__.py", "sluice/_sluice.abi3.so", "sluice/py.typed"} <= names
    assert {"sluice/bin/sluice", "sluice/bin/libsluice_inject.so"} <= names
    roots = {name.split("/")[0] for name in names}
    assert roots == {"sluice", "_sluice_command.py", next(root for root in roots if root.endswith(".dist-info"))}
    assert not [name for name in names if "libcurl" in name or "libcrypto" in name]  # loaded at run time
    licenses = {name.rsplit("/", 1)[1] for name in names if "/licenses/" in name}
    assert "LICENSE" in licenses
    if shutil.which("dpkg-query"):  # only dpkg finds them
        libraries = {name.removeprefix("sluice/lib/") for name in names if name.startswith("sluice/lib/")}
        assert licenses == {"LICENSE", "copyright"} | {f"{name}.txt" for name in libraries}


@pytest.fixture(scope="module")
def pip(tmp_path_factory):
    """Returns the command: Python's own pip, or that of a new environment, which takes seconds to make."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    folder = tmp_path_factory.mktemp("with_pip") / "venv"
    if subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True).returncode != 0:
        pytest.skip("python3 has no venv here (python3-venv)")
    return [folder / "bin" / "python", "-m", "pip"]


@pytest.fixture(scope="module")
def installed(wheel, pip, tmp_path_factory):
    """Returns the Python of a new environment in which another environment's pip installed the wheel."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    if subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], capture_output=True).returncode != 0:
        pytest.skip("python3 has no venv here (python3-venv)")
    run(*pip, "--python", folder / "bin" / "python", "install", "--no-index", wheel)
    return folder / "bin" / "python"


def test_torch_of_the_distribution(installed):
    torch = importlib.util.find_spec("torch")
    if torch is None:
        pytest.skip("no torch")
    said = run(installed, "-c", "try: import sluice.torch\nexcept ImportError as error: print(error)")
    assert "--system-site-packages" in said
    settings = installed.parents[1] / "pyvenv.cfg"
    text = settings.read_text()
    assert "include-system-site-packages = false\n" in text
    settings.write_text(text.replace("include-system-site-packages = false\n", "include-system-site-packages = true\n"))
    said = run(installed, "-c", "import sluice.torch, torch; print(torch.__file__, sluice.__file__)").split()
    settings.write_text(text)
    assert said[0] == torch.origin and said[1].startswith(str(installed.parents[1]))


def test_it_reads_a_bucket_by_the_machines_libcurl(installed, fault_server, photos):
    server = fault_server(photos.parents[1])
    rows, libraries = run(installed, "-c", BUCKET_PROGRAM, f"s3://{photos.parent.name}/{photos.name}", env=BARE | server.environment()).splitlines()
    assert rows == "33"
    assert "libcurl" in libraries and "libcrypto" in libraries and str(installed.parents[1]) not in libraries


def test_it_installs_and_runs(installed, pip, photos, tmp_path):
    python, venv = installed, installed.parents[1]
    rows, where = run(python, "-c", PROGRAM, photos).split()
    assert rows == "33" and where.startswith(str(venv))
    assert run(python, "-m", "sluice", "--version").startswith("sluice ")
    assert "33" in run(python, "-m", "sluice", "info", photos)
    check_command(venv / "bin" / "sluice", photos, tmp_path)
    # A program without CUDA runs, and there is nothing to measure: the measuring library was found.
    said = run(python, "-m", "sluice", "idle", "--", "echo", "it ran", code=1)
    assert "it ran" in said and "did not start CUDA" in said
    run(*pip, "--python", python, "uninstall", "--yes", "sluice")
    left = [path for path in venv.rglob("*sluice*") if path.name != "__pycache__"]
    assert left == [], left


def check_command(sluice, photos, folder):
    """Checks that the command behaves like the tool: arguments, exit codes, streams and signals."""
    program = "import sys; print(sys.argv[1:]); sys.exit(9)"
    assert run(sluice, "--version").startswith("sluice ")
    assert "33" in run(sluice, "info", photos)
    odd = ["", "a b", "--json", "*", "$HOME", "\n"]
    assert str(odd) in run(sluice, "idle", "--", sys.executable, "-c", program, *odd, code=9)
    run(sluice, "info", folder / "nothing", code=1)
    run(sluice, "info", "--nonsense", code=2)
    done = subprocess.run([sluice, "bench", photos, "--size", "16", "--batch", "4", "--seconds", "300ms", "--json"], env=BARE,
                          capture_output=True, text=True, timeout=300, cwd="/")  # fmt: skip
    assert json.loads(done.stdout)["samples"] > 0
    # It is one process, so that a signal reaches the tool; SIGPIPE ends it like any other program.
    bench = subprocess.Popen([sluice, "bench", photos, "--size", "16", "--batch", "4", "--seconds", "100s", "--json"], env=BARE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")  # fmt: skip
    while "python" in pathlib.Path(f"/proc/{bench.pid}/exe").resolve().name:
        time.sleep(0.01)
    assert pathlib.Path(f"/proc/{bench.pid}/exe").resolve().name == "sluice"
    ignored = re.search(r"SigIgn:\s*(\w+)", pathlib.Path(f"/proc/{bench.pid}/status").read_text()).group(1)
    assert not int(ignored, 16) >> (signal.SIGPIPE - 1) & 1
    bench.send_signal(signal.SIGTERM)
    bench.communicate(timeout=300)
    assert bench.returncode in (130, -signal.SIGTERM)  # the latter if the signal arrives too early to be handled

# SPDX-License-Identifier: Apache-2.0
"""The wheel: made with nothing but cmake, installed into an empty environment without a package index."""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BARE = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}

PROGRAM = """
import sys, sluice
loader = sluice.Loader(sys.argv[1], batch_size=4, transform=sluice.transforms.RandomResizedCrop(16))
print(sum(batch.rows for batch in loader), sluice.__file__)
maps = open("/proc/self/maps").read()
own = sluice.__file__.rsplit("/", 1)[0] + "/lib/"
assert own + "libjpeg.so" in maps and own + "libzstd.so" in maps, maps
"""


def run(*command, code=0):
    done = subprocess.run(list(map(str, command)), env=BARE, capture_output=True, text=True, timeout=300, cwd="/")
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); "
        f"import backend; backend.build_wheel({str(folder)!r})")  # fmt: skip
    (made,) = folder.glob("*.whl")
    return made


def test_it_is_small_and_whole(wheel):
    assert wheel.stat().st_size < 3 << 20 and "-cp311-abi3-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert archive.testzip() is None
        record = archive.read(next(name for name in names if name.endswith("RECORD"))).decode()
    assert {line.split(",")[0] for line in record.splitlines()} == names
    assert {"sluice/__init__.py", "sluice/_sluice.abi3.so", "sluice/py.typed"} <= names
    assert {"sluice/bin/sluice", "sluice/bin/libsluice_inject.so"} <= names
    licenses = {name.rsplit("/", 1)[1] for name in names if "/licenses/" in name}
    assert "LICENSE" in licenses
    if shutil.which("dpkg-query"):  # elsewhere nobody knows where they are
        libraries = {name.removeprefix("sluice/lib/") for name in names if name.startswith("sluice/lib/")}
        assert licenses == {"LICENSE"} | {f"{name}.txt" for name in libraries}


def test_it_installs_and_runs(wheel, photos, tmp_path):
    if subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], capture_output=True).returncode != 0:
        pytest.skip("python3 has no venv here (python3-venv)")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-index", wheel)
    rows, where = run(python, "-c", PROGRAM, photos).split()
    assert rows == "33" and where.startswith(str(tmp_path / "venv"))
    assert run(python, "-m", "sluice", "--version").startswith("sluice ")
    assert "33" in run(python, "-m", "sluice", "info", photos)
    # A program without CUDA is run, and there is nothing to measure: the library to measure with was found.
    said = run(python, "-m", "sluice", "idle", "--", "echo", "it ran", code=1)
    assert "it ran" in said and "did not start CUDA" in said

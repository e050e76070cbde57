# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import textwrap

import numpy
import pytest

import sluice

Image = pytest.importorskip("PIL.Image")

CLASSES, PER_CLASS = 3, 11


def pytest_sessionfinish(session, exitstatus):
    """Exits with 77, which ctest reports as skipped, if every test of the file was skipped."""
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus in (0, 5) and stats.get("skipped") and not stats.get("passed"):
        session.exitstatus = 77


def make_photos(root):
    """Smooth images of different sizes, in class folders."""
    random = numpy.random.default_rng(1)
    for label in range(CLASSES):
        folder = root / f"class{label}"
        folder.mkdir(parents=True)
        for number in range(PER_CLASS):
            height, width = random.integers(40, 90, 2)
            small = random.integers(0, 255, (5, 5, 3), dtype=numpy.uint8)
            picture = Image.fromarray(small).resize((int(width), int(height)), Image.BICUBIC)
            picture.save(folder / f"p{number:02}.jpg", quality=90)


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("data") / "photos"
    make_photos(root)
    return root


@pytest.fixture
def data(photos):
    return sluice.Dataset(photos)


@pytest.fixture
def crop():
    return sluice.transforms.RandomResizedCrop(16)


@pytest.fixture
def run_python():
    """Runs a program in a separate interpreter. Returns the finished process."""

    def run(program, *arguments, timeout=300):
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program), *map(str, arguments)],
            capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip

    return run

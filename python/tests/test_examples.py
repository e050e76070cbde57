# SPDX-License-Identifier: Apache-2.0
"""The examples, run."""
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name, *arguments, code=0):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, timeout=150
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_training():
    lines = run("train_torch.py", "--pictures", 512, "--epochs", 4).splitlines()
    assert [line.split()[0] for line in lines] == ["loader", "torch", "sluice", "resident"]


def test_killed_and_continued(photos, tmp_path):
    whole = run("resume.py", photos, tmp_path / "a.pt").splitlines()[-1]
    assert whole.startswith("27 steps")
    for at in (3, 9, 14, 22):
        run("resume.py", photos, tmp_path / "b.pt", "--die-at", at, code=-9)
    lines = run("resume.py", photos, tmp_path / "b.pt").splitlines()
    assert "going on at step 20" in lines[0] and lines[-1] == whole
    assert whole != run("resume.py", photos, tmp_path / "c.pt", "--epochs", 2).splitlines()[-1]


def test_tokens():
    assert re.search(r"\d+ million tokens/s", run("tokens.py", "--steps", 150))

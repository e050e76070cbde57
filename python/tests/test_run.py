# SPDX-License-Identifier: Apache-2.0
"""Several files in one start of Python (run.py): each has its own line, and one that crashes ends only itself."""
import pathlib
import re
import subprocess
import sys

RUN = pathlib.Path(__file__).with_name("run.py")
FILES = {
    "crash": "import os\n\n\ndef test():\n    os.kill(os.getpid(), 6)\n",
    "fine": "def test():\n    pass\n",
    "wrong": "def test():\n    assert 1 == 2\n",
}


def run(folder, *names):
    for name in names:
        (folder / f"test_{name}.py").write_text(FILES[name])
    done = subprocess.run([sys.executable, RUN, folder, *(folder / f"test_{name}.py" for name in names)], capture_output=True, text=True, timeout=300)
    return done.returncode, re.findall(r"^python_(\w+): (.*) in [0-9.]+ s$", done.stdout, re.M)


def test_files_end_one_by_one(tmp_path):
    ends = [("crash", "ended by SIGABRT"), ("fine", "passed"), ("wrong", "failed with exit code 1")]
    assert run(tmp_path, "crash", "fine", "wrong") == (1, ends)
    assert run(tmp_path, "fine", "fine") == (0, [("fine", "passed")] * 2)

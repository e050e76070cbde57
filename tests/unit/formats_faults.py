#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""formats_faults.py TEST: small datasets of all formats (fuzz/mutate_files.py), for TEST to fail on purpose."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fuzz"))
for needed in ("numpy", "PIL"):
    if importlib.util.find_spec(needed) is None:
        print(f"no {needed} for /usr/bin/python3 here")
        sys.exit(77)
import mutate_files


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        paths = []
        for name in mutate_files.make_all(root):
            paths += [root / name / part for part in mutate_files.OPENED.get(name, ("",))]
        # a sanitizer that was loaded for Python's sake is in the test itself, and looks for leaks there
        own = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "ASAN_OPTIONS")}
        return subprocess.run([sys.argv[1], *map(str, paths)], env=own).returncode


if __name__ == "__main__":
    sys.exit(main())

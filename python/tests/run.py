# SPDX-License-Identifier: Apache-2.0
"""run.py PACKAGE_FOLDER TEST_FILE: pytest of one file, with the package that was built there.

run.py PACKAGE_FOLDER --stubs: mypy's stubtest, and mypy of a program that uses the package (typed.py). Exits with 77, and says why, where what it needs is not
installed.
"""
import importlib.util
import os
import subprocess
import sys


def need(*names):
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: there is no {' and no '.join(missing)} for {sys.executable}")
        sys.exit(77)


def main():
    package, what = sys.argv[1:]
    environment = os.environ | {
        "PYTHONPATH": f"{package}:{os.path.dirname(os.path.abspath(__file__))}",
        "MYPYPATH": package,
        "MYPY_CACHE_DIR": f"{package}/.mypy_cache",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if what == "--stubs":
        need("mypy", "numpy")
        here = os.path.dirname(os.path.abspath(__file__))
        settings = f"{here}/mypy.ini"
        command = ["mypy.stubtest", "--mypy-config-file", settings, "sluice._sluice"]
        options = ["--config-file", settings, "--strict", "--follow-imports=silent", f"{here}/typed.py"]
        code = subprocess.run([sys.executable, "-m", "mypy", *options], env=environment, cwd=package).returncode
        if code != 0:
            return code
    else:
        need("pytest", "numpy", "PIL", *(["torch"] if os.path.basename(what) in ("test_torch.py", "test_docs.py", "test_examples.py") else []), *(["torchvision"] if os.path.basename(what) == "test_torchvision.py" else []))
        # What a sanitizer says goes past Python: it is to be seen when the process ends with that.
        command = ["pytest", "-q", "-rs", "--capture=sys", "-p", "no:cacheprovider", what]
    return subprocess.run([sys.executable, "-m", *command], env=environment, cwd=package).returncode


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""run.py PACKAGE_FOLDER TEST_FILE...: pytest of the files, with the package that was built there.

Several files share one start of the interpreter: each runs in a fork of it, and has a line "python_NAME: passed in SECONDS s" of its
own. A file that crashes does not end the others.

run.py PACKAGE_FOLDER --stubs: mypy's stubtest, and mypy of a program that uses the package (typed.py). Exits with 77, and says why, where what it needs is not
installed.
"""
import importlib
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
TORCH = ("test_torch.py", "test_docs.py", "test_examples.py")
# What a sanitizer says goes past Python: it is to be seen when the process ends with that.
OPTIONS = ["-q", "-rs", "--capture=sys", "-p", "no:cacheprovider"]


def missing(*names):
    return [name for name in names if importlib.util.find_spec(name) is None]


def need(*names):
    absent = missing(*names)
    if absent:
        print(f"skipped: there is no {' and no '.join(absent)} for {sys.executable}")
        sys.exit(SKIPPED)


def needs_of(file):
    name = os.path.basename(file)
    return ["pytest", "numpy", "PIL", *(["torch"] if name in TORCH else []), *(["torchvision"] if name == "test_torchvision.py" else [])]


def word_of(status):
    """How a file ended, given what waitpid says."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return {0: "passed", SKIPPED: "skipped"}.get(code, f"failed with exit code {code}")


def run_forked(file):
    """Runs pytest of the file in a fork of this process. Returns how it ended."""
    absent = missing(*needs_of(file))
    if absent:
        return f"skipped, without {' and '.join(absent)}"
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = int(importlib.import_module("pytest").main([*OPTIONS, file]))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # the parent's own end is not run twice
    return word_of(os.waitpid(child, 0)[1])


def run_group(files):
    """Exit code of several files. What most of them import is imported once."""
    imported = ["pytest", "numpy", "PIL.Image"]
    if any(re.search(r"\btorch\b", pathlib.Path(file).read_text()) for file in files):
        imported.append("torch")
    for name in imported:
        if not missing(name.partition(".")[0]):
            importlib.import_module(name)
    ends = []
    for file in files:
        begin = time.monotonic()
        ends.append(run_forked(file))
        name = os.path.basename(file).removeprefix("test_").removesuffix(".py")
        print(f"python_{name}: {ends[-1]} in {time.monotonic() - begin:.2f} s", flush=True)
    if all(end.startswith("skipped") for end in ends):
        return SKIPPED
    return 0 if all(end.startswith(("passed", "skipped")) for end in ends) else 1


def main():
    package, *what = sys.argv[1:]
    environment = os.environ | {
        "PYTHONPATH": f"{package}:{HERE}",
        "MYPYPATH": package,
        "MYPY_CACHE_DIR": f"{package}/.mypy_cache",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if what[0] == "--forked":
        return run_group(what[1:])
    if what == ["--stubs"]:
        need("mypy", "numpy")
        settings = f"{HERE}/mypy.ini"
        command = ["mypy.stubtest", "--mypy-config-file", settings, "sluice._sluice"]
        options = ["--config-file", settings, "--strict", "--follow-imports=silent", f"{HERE}/typed.py"]
        code = subprocess.run([sys.executable, "-m", "mypy", *options], env=environment, cwd=package).returncode
        if code != 0:
            return code
        return subprocess.run([sys.executable, "-m", *command], env=environment, cwd=package).returncode
    if len(what) == 1:
        need(*needs_of(what[0]))
        command = ["-m", "pytest", *OPTIONS, what[0]]
    else:
        command = [__file__, package, "--forked", *what]
    os.chdir(package)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *command], environment)


sys.exit(main())

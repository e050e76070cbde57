# SPDX-License-Identifier: Apache-2.0
"""run.py PACKAGE_FOLDER [--torch] TEST_FILE...: runs pytest on the files, with the package in that folder.

Several files share one start of the interpreter: each runs in a fork of it, and prints its own line "python_NAME: passed in SECONDS s".
A file that crashes does not end the others. --torch: they also share an imported torch, and so do the programs that they start with
warm.py. No module that is imported before a fork starts a thread: OMP_NUM_THREADS is 1, for OpenBLAS and OpenMP.

run.py PACKAGE_FOLDER --stubs: runs mypy's stubtest, and mypy on a program that uses the package (typed.py). Exits with 77 and a reason if
either is not installed."""
import gc
import importlib
import importlib.util
import os
import signal
import subprocess
import sys
import time

import warm

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
TORCH = ("test_torch.py", "test_docs.py", "test_examples.py")
# A sanitizer writes past Python's capture: its report must be visible if it ends the process.
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
    """Returns how a file ended, given the result of waitpid."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return {0: "passed", SKIPPED: "skipped"}.get(code, f"failed with exit code {code}")


def run_forked(file):
    """Runs pytest on the file in a fork of this process. Returns how it ended, and its CPU seconds."""
    absent = missing(*needs_of(file))
    if absent:
        return f"skipped, without {' and '.join(absent)}", 0
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = int(importlib.import_module("pytest").main([*OPTIONS, file]))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # skips the parent's exit handlers
    _, status, used = os.wait4(child, 0)
    return word_of(status), used.ru_utime + used.ru_stime


def import_modules(*names):
    for name in names:
        if not missing(name.partition(".")[0]):
            importlib.import_module(name)


def run_group(with_torch, *files):
    """Runs several files, after importing modules that most of them need. Returns the exit code."""
    import_modules("pytest", "numpy", "PIL.Image")
    if with_torch == "--torch":
        warm.import_all()
        warm.start()
    import_modules("sluice")  # programs of warm.py start without it
    gc.freeze()  # no collection in a fork scans them
    ends, used = [], {}
    for file in files:
        begin = time.monotonic()
        name = os.path.basename(file).removeprefix("test_").removesuffix(".py")
        end, used[name] = run_forked(file)
        ends.append(end)
        print(f"python_{name}: {end} in {time.monotonic() - begin:.2f} s", flush=True)
    print("CPU seconds, without programs of warm.py:", ", ".join(f"{name} {cpu:.1f}" for name, cpu in used.items()))
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
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # each file would load the installed plug-ins, and uses none of them
    }
    if what[0] == "--forked":
        return run_group(*what[1:])
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
        with_torch = [] if what[0] == "--torch" else ["--numpy"]
        command = [__file__, package, "--forked", *with_torch, *what]
    os.chdir(package)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *command], environment)


sys.exit(main())

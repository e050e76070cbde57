#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_types.py PACKAGE_FOLDER: pyright of typed.py, the examples and the tutorials' programs, and of the package's own types.

pyright is $SLUICE_PYRIGHT or in PATH (`npm install pyright`). Exits with 77, and says why, without it. Exits with 1 after the errors.
"""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tutorials

HERE = pathlib.Path(__file__).parent
SKIPPED = 77
COMPLETE = 0.985  # the other classes have bases from frameworks
NOT_OURS = 'for class "int"'  # sum() of losses, which begins with the int 0


def find_pyright():
    """The command; exits if it is not installed."""
    found = os.environ.get("SLUICE_PYRIGHT") or shutil.which("pyright")
    if not found:
        print("skipped: pyright is not in PATH, and SLUICE_PYRIGHT is not set (npm install pyright)")
        sys.exit(SKIPPED)
    if importlib.util.find_spec("numpy") is None:
        print(f"skipped: numpy is not installed for {sys.executable}")
        sys.exit(SKIPPED)
    return found


def run_json(command, package):
    done = subprocess.run([*command, "--outputjson"], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": package})
    try:
        return json.loads(done.stdout)
    except ValueError:
        sys.exit(f"{command[0]} failed: {done.stdout}{done.stderr}")


def check_programs(pyright, package, settings, programs, python):
    """Errors of programs, {path: text}."""
    with tempfile.TemporaryDirectory(prefix="sluice-types-") as folder:
        root = pathlib.Path(folder)
        shutil.copy(HERE / settings, root / "pyrightconfig.json")
        (root / "sluice").symlink_to(pathlib.Path(package).resolve() / "sluice")
        for name, text in programs.items():
            (root / "programs" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "programs" / name).write_text(text)
        interpreter = root / "python"
        interpreter.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
        interpreter.chmod(0o755)
        found = run_json([pyright, "--pythonpath", str(interpreter), "-p", folder], package)
    if found["summary"]["filesAnalyzed"] < len(programs):
        return [f"{settings}: {found['summary']['filesAnalyzed']} of {len(programs)} programs were analyzed"]
    return [
        f"{one['file'].partition('/programs/')[2]}:{one['range']['start']['line'] + 1}: {one['message']} ({one.get('rule', '')})"
        for one in found["generalDiagnostics"] if one["severity"] == "error" and NOT_OURS not in one["message"]
    ]  # fmt: skip


def check_completeness(pyright, package):
    found = run_json([pyright, "--pythonpath", sys.executable, "--verifytypes", "sluice", "--ignoreexternal"], package)["typeCompleteness"]
    score = found["completenessScore"]
    print(f"{score:.1%} of the package's public types are known")
    if score >= COMPLETE:
        return []
    symbols = [one["name"] for one in found["symbols"] if one["isExported"] and not (one["isTypeKnown"] and not one["isTypeAmbiguous"])]
    return [f"at least {COMPLETE:.1%} are expected; not known or ambiguous: {', '.join(symbols)}"]


def main():
    package, pyright = sys.argv[1], find_pyright()
    programs = {f"examples/{file.name}": file.read_text() for file in sorted((HERE / "../../examples").resolve().glob("*.py"))}
    for page in sorted(tutorials.PAGES.glob("*.md")):
        programs |= {f"{page.stem}/{name}": text for name, text in tutorials.programs(page.name).items()}
    errors = [
        *check_programs(pyright, package, "pyright_own.json", {"typed.py": (HERE / "typed.py").read_text()}, sys.executable),
        *check_programs(pyright, package, "pyright_programs.json", programs, f"{sys.executable} -I -S"),
        *check_completeness(pyright, package),
    ]
    print("\n".join(errors) if errors else f"{len(programs) + 1} programs have no errors")
    sys.exit(1 if errors else 0)


main()

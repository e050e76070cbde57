#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""calls.py NM OBJECT...: checks that function calls between the object files of a module form no cycle.

An object calls another one if it references a function that the other one defines. Constant tables of functions (the kinds of
columns) are data, so calls through them do not count. Prints the files of each cycle, with a call of each, and exits with 1;
77 means that the objects cannot be read.
"""
import os
import subprocess
import sys


def symbols(nm, path):
    """Returns the functions that an object defines and the symbols that it needs."""
    output = subprocess.run([nm, "--format=posix", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in output.splitlines()]
    return {row[0] for row in rows if row[1] == "T"}, {row[0] for row in rows if row[1] == "U"}


def called(objects):
    """Returns, for each object, the others that it calls, each with a function."""
    owner = {name: path for path, (defined, _) in objects.items() for name in defined}
    return {path: {owner[name]: name for name in sorted(needed) if name in owner}
            for path, (_, needed) in objects.items()}


def cycles(calls):
    """Repeatedly removes files that call no remaining file or are called by none. Returns the rest."""
    left = {path: dict(others) for path, others in calls.items()}
    while True:
        above = {other for others in left.values() for other in others}
        gone = [path for path, others in left.items() if not others or path not in above]
        if not gone:
            return left
        for path in gone:
            del left[path]
        for others in left.values():
            for path in gone:
                others.pop(path, None)


def name_of(path):
    return os.path.basename(path).removesuffix(".o")


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: calls.py NM OBJECT...")
    nm, paths = sys.argv[1], sys.argv[2:]
    try:
        objects = {path: symbols(nm, path) for path in paths}
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"cannot read the objects: {error}")
        sys.exit(77)
    if not any(defined for defined, _ in objects.values()):
        sys.exit("calls.py: no object defines a function")
    left = cycles(called(objects))
    for path, others in sorted(left.items()):
        print(f"{name_of(path)} calls " + ", ".join(f"{name} of {name_of(other)}" for other, name in sorted(others.items())))
    if left:
        sys.exit("these files call each other in a cycle: move what both need to a file below them")
    print(f"calls: {len(objects)} files, no cycle")


if __name__ == "__main__":
    main()

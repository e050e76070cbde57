#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/testing.md names existing tests: testing_page_test.py CTEST BUILD PAGE"""
import json
import re
import subprocess
import sys


def main(ctest, build, page):
    listing = json.loads(subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True,
                                        stdout=subprocess.PIPE).stdout)
    tests = {test["name"] for test in listing["tests"]}
    with open(page, encoding="utf-8") as file:
        rows = [line.split("|") for line in file if line.startswith("|")]
    rows = [row for row in rows if len(row) == 6][2:]  # of Promises, without its header
    missing = 0
    for row in rows:
        names = re.findall(r"`([^`]+)`", row[3])
        if not names:
            print(f"{page}: no test: {row[1].strip()}")
            missing += 1
        for name in names:
            found = any(t.startswith(name[:-1]) for t in tests) if name.endswith("*") else name in tests
            if not found:
                print(f"{page}: there is no test {name}")
                missing += 1
    return missing > 0 or len(rows) < 20


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

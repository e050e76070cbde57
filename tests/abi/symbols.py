#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py NM INCLUDE SHARED STATIC: the library exports what its headers declare, no less and no
more, under the version of the export map, and its internals keep to the prefix sl_.
"""
import pathlib
import re
import subprocess
import sys


def declared(include):
    """Returns the functions of the public headers: (marked SLUICE_API, all)."""
    marked, everything = set(), set()
    for header in sorted(pathlib.Path(include, "sluice").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        text = re.sub(r"^\s*#.*?[^\\]$", "", text, flags=re.M | re.S)
        # Part of the including program, not of the library.
        text = re.sub(r"^static inline [^;{]*\{.*?^\}", "", text, flags=re.M | re.S)
        marked |= set(re.findall(r"SLUICE_API\b[^;(]*?\b(sluice_\w+)\s*\(", text))
        everything |= set(re.findall(r"^[\w\s*]*?\b(sluice_\w+)\s*\([^*]", text, re.M))
    return marked, everything


def symbols(nm, library, *options):
    """Returns (name, type) of the defined, external symbols."""
    output = subprocess.run([nm, "--defined-only", "--extern-only", *options, library], check=True,
                            capture_output=True, text=True).stdout
    rows = (line.split() for line in output.splitlines())
    return {(row[-1], row[-2]) for row in rows if len(row) >= 2 and not row[-1].endswith(":")}


def main():
    nm, include, shared, static = sys.argv[1:]
    findings = []
    marked, everything = declared(include)
    if len(marked) < 10:
        findings.append(f"only {len(marked)} functions found in the headers: is {include} right?")
    findings += [f"{name}: declared without SLUICE_API" for name in sorted(everything - marked)]

    exported = {name for name, kind in symbols(nm, shared, "-D") if kind != "A"}
    versioned = {name.split("@")[0] for name in exported if "@@SLUICE_" in name}
    plain = {name.split("@")[0] for name in exported}
    findings += [f"{name}: declared, not exported" for name in sorted(marked - plain)]
    findings += [f"{name}: exported, not declared" for name in sorted(plain - marked)]
    findings += [f"{name}: exported without a version" for name in sorted(plain - versioned)]

    # Ignores symbols added by the compiler: reserved names begin with an underscore.
    findings += [f"{name}: neither sl_ nor sluice_" for name, _ in sorted(symbols(nm, static))
                 if not re.match(r"(sl|sluice)_|_", name)]
    print("\n".join(findings) or f"symbols: {len(marked)} exported")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

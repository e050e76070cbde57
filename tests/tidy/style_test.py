#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of style.py must find its offence, and nothing in a tree without one."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import style

HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n"
GOOD = {
    "include/sluice/thing.h": HEAD + "/* sluice/thing.h: a thing. */\n#ifndef SLUICE_THING_H\n"
                                     "#define SLUICE_THING_H\n#include <stdint.h>\n#endif\n",
    "src/base/part.h": HEAD + "/* part: a part. */\n#ifndef SL_PART_H\n#define SL_PART_H\n#endif\n",
    "src/base/part.c": HEAD + '#include "part.h"\n/* malloc() in words is fine */\n',
    "src/base/CMakeLists.txt": "sluice_module(base SOURCES part.c)\n",
    "src/plan/next.c": HEAD + '#include "part.h"\n#include <sluice/thing.h>\n',
    "src/plan/CMakeLists.txt": "sluice_module(plan SOURCES next.c USES base)\n",
    "scripts/run": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nexit 0\n",
}
LONG_FUNCTION = "int f(void)\n{\n" + "    ;\n" * 71 + "}\n"
# rule: (file, its text); laid over the good tree
OFFENCES = {
    "blank": ("README.md", "words \n"),
    "tab": ("README.md", "\twords\n"),
    "path": ("README.md", "see /ho" + "me/someone/x\n"),
    "unfinished": ("src/base/part.c", HEAD + "/* TO" + "DO */\n"),
    "eof": ("README.md", "words"),
    "spdx": ("src/base/part.c", "int x;\n"),
    "contract": ("src/base/part.h", HEAD + "#ifndef SL_PART_H\n#define SL_PART_H\n#endif\n"),
    "guard": ("src/base/part.h", HEAD + "/* part: a part. */\n#pragma once\n"),
    "file-length": ("src/base/part.c", HEAD + "int x;\n" * 800),
    "columns": ("src/base/part.c", HEAD + "/* " + "x" * 100 + " */\n"),
    "function-length": ("src/base/part.c", HEAD + LONG_FUNCTION),
    "include": ("src/base/part.c", HEAD + '#include "next.h"\n'),
    "module": ("src/extra/part.c", HEAD),
    "foreign": ("src/plan/next.c", HEAD + "#include <jpeglib.h>\n"),
    "heap": ("src/plan/next.c", HEAD + "void *f(void)\n{\n    return malloc(1);\n}\n"),
    "atomic": ("src/plan/next.c", HEAD + "int f(void)\n{\n    return atomic_fetch_add(&x, 1);\n}\n"),
    "unlisted": ("src/plan/other.c", HEAD),
    "uses": ("src/plan/CMakeLists.txt", "sluice_module(plan SOURCES next.c USES base io)\n"),
}
SCRIPT_WITHOUT_SPDX = ("scripts/run", "#!/bin/sh\nexit 0\n")
STAGE_INCLUDES_STAGE = ("src/io/read.c", HEAD + '#include "next.h"\n')
STAGE_INCLUDES_BY_PATH = ("src/io/read.c", HEAD + '#include "../plan/next.h"\n')
TOOL_INCLUDES_INTERNALS = ("tools/sluice/main.c", HEAD + '#include "../../src/base/part.h"\n')
PUBLIC_INCLUDES_OTHER = ("include/sluice/thing.h", GOOD["include/sluice/thing.h"].replace(
    "stdint", "pthread"))


def rules_found(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        return {line.split("[")[1].split("]")[0] for line in style.check(root)}


def main():
    failures = []
    judged = 0

    def expect(rule, files):
        nonlocal judged
        judged += 1
        found = rules_found(files)
        if (rule is None and found) or (rule is not None and rule not in found):
            failures.append(f"expected {rule}, found {sorted(found)}")

    expect(None, GOOD)
    for rule, (path, text) in OFFENCES.items():
        expect(rule, {**GOOD, path: text})
    expect("spdx", {**GOOD, SCRIPT_WITHOUT_SPDX[0]: SCRIPT_WITHOUT_SPDX[1]})
    for path, text in (STAGE_INCLUDES_STAGE, STAGE_INCLUDES_BY_PATH):
        expect("include", {**GOOD, "src/plan/next.h": HEAD, path: text})
    for path, text in (PUBLIC_INCLUDES_OTHER, TOOL_INCLUDES_INTERNALS):
        expect("include", {**GOOD, path: text})
    expect("unlisted", {**GOOD, "src/CMakeLists.txt": "other.c\n", "src/plan/other.c": HEAD})
    print("\n".join(failures) or f"style_test: {judged} trees judged rightly")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each rule of style.py finds its offence, and nothing in a tree without one."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import style

HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n"
OPTIONS = 'static const struct option longs[] = {{"fill", no_argument, NULL, 1}};\n'
GOOD = {
    "include/sluice/thing.h": HEAD + "/* sluice/thing.h: a thing. */\n#ifndef SLUICE_THING_H\n"
                                     "#define SLUICE_THING_H\n#include <stdint.h>\n#endif\n",
    "src/base/part.h": HEAD + "/* part: a part. */\n#ifndef SL_PART_H\n#define SL_PART_H\n"
                              "typedef struct sl_next sl_next; /* next.c */\n#endif\n",
    "src/base/part.c": HEAD + '#include "part.h"\n/* malloc() in words is fine, as are sl_good and '
                              'sl_good_* */\nint sl_good, sl_good_too;\n',
    "src/base/CMakeLists.txt": "sluice_module(base SOURCES part.c)\n",
    "src/io/read.c": HEAD + '#include "part.h"\nlong f = 10L + 2ul + 0xe1L; /* caf\u00e9 10l */\n',
    "src/io/CMakeLists.txt": "sluice_module(io SOURCES read.c USES base)\n",
    "src/plan/next.c": HEAD + '#include "part.h"\n#include <sluice/thing.h>\n'
                              "struct sl_next {\n    int a;\n};\ntypedef struct sl_next sl_next;\n"
                              "static int next(const int *at, int n)\n{\n    if (at != NULL && !at[n] && (!*at || n)) {\n"
                              "        return *at ? n * at[0] : at == &n ? 1 : 2;\n    }\n    return !n;\n}\n",
    "src/plan/CMakeLists.txt": "sluice_module(plan SOURCES next.c USES base)\n",
    "tools/sluice/command.h": HEAD + "/* command: all. */\n#ifndef TOOL_COMMAND_H\n"
                                     "#define TOOL_COMMAND_H\n#endif\n",
    "tools/sluice/common/say.h": HEAD + "/* say: says. */\n#ifndef TOOL_SAY_H\n#define TOOL_SAY_H\n"
                                        "#endif\n",
    "tools/sluice/bench/arms.h": HEAD + "/* arms: three. */\n#ifndef TOOL_ARMS_H\n"
                                        "#define TOOL_ARMS_H\n#endif\n",
    "tools/sluice/bench/bench.c": HEAD + '#include "../command.h"\n#include "arms.h"\n'
                                         '#include "say.h"\n#include <sluice/thing.h>\n',
    "tools/sluice/bench/CMakeLists.txt": "sluice_tool_folder(bench SOURCES bench.c USES common)\n",
    "scripts/run": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nexit 0\n",
    "bench/CMakeLists.txt": "read.c\n",
    "bench/read.c": HEAD + OPTIONS + 'int f(void)\n{\n    return getopt_long(longs, "[--fill]");\n}\n',
}
LONG_FUNCTION = "int f(void)\n{\n" + "    ;\n" * 71 + "}\n"
# rule: (file, its text); laid over the good tree
OFFENCES = {
    "blank": ("README.md", "words \n"),
    "static": ("src/base/part.c", HEAD + '#include "part.h"\nstatic int next(int a)\n{\n    return a;\n}\n'),
    "base": ("src/io/read.c", HEAD),
    "type": ("src/base/part.c", HEAD + "typedef struct sl_next_of {\n    int a;\n} sl_next;\n"),
    "cell": ("docs/README.md", "| a | b |\n|---|---|\n| short | " + 101 * "x" + " |\n"),
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
    "opens": ("src/formats/tar/part.c", HEAD + "void f(void)\n{\n    x = stat(p, &facts);\n}\n"),
    "order": ("src/plan/next.c", HEAD + "/* Relaxed. */\nint e(void)\n{\n    return 1;\n}\n\nint f(void)\n{\n"
                                        "    return atomic_load_explicit(&x, memory_order_relaxed);\n}\n"),
    "atomic": ("src/plan/next.c", HEAD + "int f(void)\n{\n    return atomic_fetch_add(&x, 1);\n}\n"),
    "suffix": ("src/plan/next.c", HEAD + "long f(void)\n{\n    return 3 + 10l;\n}\n"),
    "ascii": ("src/plan/next.c", HEAD + "int f(void)\n{\n    int caf\u00e9 = 1;\n    return caf\u00e9;\n}\n"),
    "kind": ("src/columns/row.c", HEAD + "int f(void)\n{\n    return column->kind == &sl_column_mask;\n}\n"),
    "unlisted": ("src/plan/other.c", HEAD),
    "stale": ("src/plan/next.c", HEAD + "/* as sl_gone does */\n"),
    "uses": ("src/plan/CMakeLists.txt", "sluice_module(plan SOURCES next.c USES base io)\n"),
    "usage": ("bench/read.c", HEAD + OPTIONS + 'int f(void)\n{\n    return getopt_long(longs, "read");\n}\n'),
}
BENCH, IDLE = "tools/sluice/bench/bench.c", "tools/sluice/idle/idle.c"
# More offences against a rule, as files to lay over the good tree.
MORE_OFFENCES = [
    ("spdx", {"scripts/run": "#!/bin/sh\nexit 0\n"}),
    # Two headers include each other through a third one.
    ("cycle", {f"src/base/{name}.h": HEAD + f"/* {name}: x. */\n#ifndef SL_{name.upper()}_H\n#define SL_{name.upper()}_H\n"
                                            f'#include "{included}.h"\n#endif\n'
               for name, included in (("part", "piece"), ("piece", "bit"), ("bit", "part"))}),
    # A stage includes a stage, by name and by path.
    ("include", {"src/plan/next.h": HEAD, "src/io/read.c": HEAD + '#include "next.h"\n'}),
    ("include", {"src/plan/next.h": HEAD, "src/io/read.c": HEAD + '#include "../plan/next.h"\n'}),
    ("include", {"include/sluice/thing.h":
                 GOOD["include/sluice/thing.h"].replace("stdint", "pthread")}),
    # The tool includes internals; one family another; shared code includes a family.
    ("include", {BENCH: HEAD + '#include "../../../src/base/part.h"\n'}),
    ("include", {IDLE: HEAD + '#include "arms.h"\n'}),
    ("include", {IDLE: HEAD + '#include "../bench/arms.h"\n'}),
    ("include", {"tools/sluice/common/say.c": HEAD + '#include "../bench/arms.h"\n'}),
    ("include", {"tests/api/CMakeLists.txt": "x.c\n", "tests/api/x.c": HEAD + '#include "part.h"\n'}),
    ("module", {"tools/sluice/extra/extra.c": HEAD}),
    ("uses", {"tools/sluice/bench/CMakeLists.txt":
              "sluice_tool_folder(bench SOURCES bench.c USES common idle)\n"}),
    *[("null", {"src/plan/next.c": HEAD + f"static int next(const int *at, int n)\n{{\n    {code}\n}}\n"})
      for code in ("if (!at) {", "while (at) {", "if (n > 0 && at) {", "if (at || n > 0) {",
                   "return at ? *at : 0;", "n = at ? *at : 0;")],
    # Names in documents, in strings, and of nothing that begins like this.
    ("stale", {"docs/design.md": "see `sl_gone`\n"}),
    ("stale", {"src/plan/next.c": HEAD + '/* sl_gone */\nconst char *x = "sl_gone";\n'}),
    ("stale", {"src/plan/next.c": HEAD + "// all of sl_goods_*\n"}),
    # A header's word excuses no name, nor does a level of another kernel; the call in a loop does (LEVELS).
    ("static", {"src/base/part.h": GOOD["src/base/part.h"].replace("#endif", "int sl_next(int next, int (*begin)(int));\n#endif"),
                "src/base/part.c": HEAD + "TARGET static int next(int a)\n{\n    return a;\n}\n"}),
    # Types: by tag, and function types.
    ("type", {"src/base/part.c": HEAD + "enum sl_next {\n    A\n};\n"}),
    ("type", {"src/base/part.c": HEAD + "typedef int (*sl_f)(int);\n", "src/plan/next.c": HEAD + "typedef int sl_f(void);\n"}),
    # Used by a file of base that only one module uses.
    ("base", {"src/base/whole.h": GOOD["src/base/part.h"].replace("part:", "whole:").replace("PART", "WHOLE") + '#include "part.h"\n',
              "src/io/read.c": HEAD + '#include "whole.h"\n'}),
    # Another folder's list names the file.
    ("unlisted", {"src/CMakeLists.txt": "unused.c\n", "src/plan/unused.c": HEAD}),
]


FUNCTION = "static int add(int a)\n{\n    return a;\n}\n"
LEVELS = {
    "src/base/CMakeLists.txt": "sluice_module(base SOURCES part.c sum_avx2.c sum_avx512.c difference_avx2.c)\n",
    "src/base/sum_avx2.c": HEAD + FUNCTION,
    "src/base/sum_avx512.c": HEAD + "TARGET " + FUNCTION + '#include "sum_loop.h"\n',
    "src/base/difference_avx2.c": HEAD + FUNCTION + '#include "sum_loop.h"\n',
    "src/base/sum_loop.h": HEAD + "/* sum_loop: adds. */\n#ifndef SL_SUM_LOOP_H\n#define SL_SUM_LOOP_H\n"
                                  "static int twice(int a)\n{\n    return add(add(a));\n}\n#endif\n",
}
MORE_OFFENCES.append(("static", LEVELS | {"src/base/difference_avx2.c": HEAD + FUNCTION}))


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

    def expect(rule, files):
        found = rules_found(files)
        if (rule is None and found) or (rule is not None and rule not in found):
            failures.append(f"expected {rule}, found {sorted(found)}")

    expect(None, GOOD)
    expect(None, {**GOOD, **LEVELS})
    for rule, (path, text) in OFFENCES.items():
        expect(rule, {**GOOD, path: text})
    for rule, files in MORE_OFFENCES:
        expect(rule, {**GOOD, **files})
    count = 2 + len(OFFENCES) + len(MORE_OFFENCES)
    print("\n".join(failures) or f"style_test: {count} trees judged rightly")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""unity_test.py ROOT CC: checks that cmake/unity-groups separates files that cannot share a translation unit, and that the
compiler accepts its groups."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT, CC = pathlib.Path(sys.argv[1]), sys.argv[2]
HEADER = "#ifndef LANES_H\n#define LANES_H\nstatic const int lanes_h = LANES;\nenum { DEEP = 1 };\n#endif\n"
PLAIN = 'static int first(void)\n{\n    return 1;\n}\nint a_get(void);\nint a_get(void)\n{\n    return first();\n}\n'
# The contents of a file besides a.c, and whether both may share a group.
CASES = {
    "local": ("int b_get(int first);\nint b_get(int first)\n{\n    return first;\n}\n", True),
    "comment": ("/* static int first(void) */\nint b_get(void);\nint b_get(void)\n{\n    return 1;\n}\n", True),
    "function": ("static int first(void)\n{\n    return 2;\n}\nint b_get(void);\nint b_get(void)\n{\n    return first();\n}\n", False),
    "variable": ("static const int first = 1;\nint b_get(void);\nint b_get(void)\n{\n    return first;\n}\n", False),
    "table": ("static const int first[] = {1};\nint b_get(void);\nint b_get(void)\n{\n    return first[0];\n}\n", False),
    "type": ("typedef struct first {\n    int x;\n} first;\nint b_get(first *one);\nint b_get(first *one)\n{\n    return one->x;\n}\n", False),
    "constant": ("enum { other, first = 3 };\nint b_get(void);\nint b_get(void)\n{\n    return first;\n}\n", False),
    "macro": ("#define first() 3\nint b_get(void);\nint b_get(void)\n{\n    return first();\n}\n", False),
    "removed": ("#define STEP 3\nint b_get(void);\nint b_get(void)\n{\n    return STEP;\n}\n#undef STEP\n", True),
    "pragma": ('#pragma GCC optimize("O2")\nint b_get(void);\nint b_get(void)\n{\n    return 1;\n}\n', False),
    "ahead": ('#define LANES 8\n#include "lanes.h"\nint b_get(void);\nint b_get(void)\n{\n    return lanes_h;\n}\n', False),
}
# Two files, each with a function of its own, that differ in the text before it.
PAIRS = {
    "the same macro": ("#define STAGE 1\n", "#define STAGE 1\n", True),
    "another macro": ("#define STAGE 1\n", "#define STAGE 2\n", False),
    "a header's constant": ("enum { DEEP = 2 };\n", '#include "deep.h"\n', False),
    "a replaced function": ("int sl_replaced(int x);\nint sl_replaced(int x)\n{\n    return x;\n}\n", "", False),
    "a replaced table": ("extern const int sl_table[];\nconst int sl_table[] = {1};\n", "", False),
    "a call of one": ("int sl_replaced(int x);\nint call(void);\nint call(void)\n{\n    return sl_replaced(1);\n}\n", "", True),
    "a header's macro": ("#define WIDE 1\n", '#include "deep.h"\n', False),
}


def groups(tree, size, *names):
    script = tree / "cmake" / "unity-groups"
    done = subprocess.run([script, str(size), *names], cwd=tree / "src", stdout=subprocess.PIPE, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        name, group = line.split()
        found.setdefault(group, []).append(name)
    return sorted(found.values())


def compiles(tree, names):
    text = "".join(f'#include "{tree / "src" / name}"\n' for name in names)
    return subprocess.run([CC, "-std=c11", "-fsyntax-only", "-w", "-x", "c", "-"], input=text, text=True).returncode == 0


def check(tree, what, first, second, together):
    (tree / "src/a.c").write_text(first)
    (tree / "src/b.c").write_text(second)
    for names in (["a.c", "b.c"], ["b.c", "a.c"]):
        found = groups(tree, 8, *names)
        assert found == ([names] if together else []), f"{what}: {names} became {found}"
        assert not together or compiles(tree, names), f"{what}: {names} do not compile as one"


def main():
    with tempfile.TemporaryDirectory() as work:
        tree = pathlib.Path(work)
        (tree / "src").mkdir()
        (tree / "cmake").mkdir()
        (tree / "tests/unit").mkdir(parents=True)
        (tree / "tests/unit/CMakeLists.txt").write_text(
            "sluice_test(first WRAP calloc\n            sl_replaced ARGS x)\nsluice_test(second REPLACES sl_table)\n")
        shutil.copy(ROOT / "cmake/unity-groups", tree / "cmake/unity-groups")
        (tree / "src/lanes.h").write_text(HEADER)
        (tree / "src/deep.h").write_text("#ifndef DEEP_H\n#define DEEP_H\nenum { DEEP = 1 };\n#ifdef WIDE\n#endif\n#endif\n")
        for what, (second, together) in CASES.items():
            check(tree, what, PLAIN, second, together)
        for what, (first, second, together) in PAIRS.items():
            check(tree, what, first + "int a(void);\n", second + "int b(void);\n", together)
        names = [f"part_{number}.c" for number in range(5)]
        for name in names:
            (tree / "src" / name).write_text(f"int {name[:-2]}(void);\n")
        assert groups(tree, 2, *names, "lanes.h", "x.zst") == [names[:2], names[2:4]], "groups of two"
    print(f"unity-groups: {len(CASES) + len(PAIRS)} pairs")


main()

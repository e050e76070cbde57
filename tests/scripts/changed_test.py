#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""changed_test.py ROOT: checks that scripts/changed.py selects tests by the changed files, in a small tree whose builds are
described here."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
TREE = {
    "src/base/memory.c": "", "src/io/fetch.c": "", "src/decode/decoder.h": "", "src/decode/decoder.c": "", "src/jpeg/jpeg.c": "",
    "src/columns/columns.h": "#include <sluice/columns.h>\n", "src/columns/boxes.c": "", "src/loader/loader.c": "", "src/api/api.c": "",
    "src/plan/plan.c": "", "src/recipe/draws.h": "", "src/recipe/draws.c": "", "src/formats/formats.c": "", "src/formats/arrow/arrow.h": "", "src/formats/arrow/arrow.c": "", "src/formats/tar/tar.c": "",
    "include/sluice/columns.h": "",
    "tests/unit/columns_test.c": '#include "png_make.h"\n', "tests/unit/loader_feed_test.c": "/* not png_make.h */\n",
    "tests/unit/decode_test.c": '#include "photos.h"\n', "tests/unit/plan_test.c": "", "tests/unit/formats_test.c": "",
    "tests/unit/augment_mix_test.c": '#include "draws.h"\n#include "memory.h"\n', "src/base/memory.h": "",
    "tests/formats/feather_test.c": "", "tests/unit/tool_view_test.c": "", "tests/api/batches_test.c": "", "tests/formats/arrow/arrow_test.c": "", "tests/formats/tar/tar_test.c": "",
    "tests/support/png_make.h": "", "tests/support/png_make.c": "", "tests/support/photos.h": '#include "png_make.h"\n',
    "fuzz/fuzz_columns.c": '#include "columns.h"\n', "fuzz/fuzz_arrow.c": '#include "arrow.h"\n',
    "tests/cli/pack.sh": '. "$(dirname "$0")/lib.sh"\nrun 0 pack x\n', "tests/cli/view.sh": '. "$(dirname "$0")/lib.sh"\nrun 0 view x\n',
    "tests/cli/lib.sh": "#!/bin/sh\n", "tools/sluice/pack.c": "", "tools/sluice/common/say.c": "", "bench/speed.c": "",
    "python/sluice/__init__.py": "from .loader import Loader\nfrom .batch import Batch\n",
    "python/sluice/loader.py": "from ._names import name\nclass Loader: pass\ndef inner(): pass\n", "python/sluice/batch.py": "class Batch: pass\n",
    "python/sluice/_names.py": "def name(): pass\n",
    "python/tests/test_loading.py": "sluice.Loader(inner)\n", "python/tests/test_arrow.py": "import files\nsluice.Batch\n",
    "python/tests/test_pages.py": 'open("docs/guide.md")\n', "python/tests/files.py": "", "python/tests/test_feather.py": "", "python/src/module.c": "",
    "docs/guide.md": "", "docs/other.md": "", "tests/data/one/x.bin": "", "examples/first.c": "",
}
# module: (what it uses, its rows of the table of formats)
MODULES = {
    "base": ("", ""), "io": ("base", ""), "jpeg": ("base", ""), "decode": ("base jpeg", ""), "plan": ("base", ""), "recipe": ("base", ""),
    "columns": ("base decode", ""), "loader": ("base plan io columns", ""), "formats/arrow": ("base", "070:arrow 071:feather"),
    "formats/tar": ("base", "020:tars"), "formats": ("base", ""), "api": ("base plan jpeg columns loader", ""),
}
TREE |= {f"src/{name}/CMakeLists.txt": f"sluice_module({name}\n  SOURCES a.c\n  USES {uses}\n" + f"  FORMATS {rows}" * bool(rows) + ")\n"
         for name, (uses, rows) in MODULES.items()}
# name: (source folder, source or script, more words, labels)
TESTS = {
    "columns_test": ("tests/unit", "columns_test.c", [], ""), "loader_feed_test": ("tests/unit", "loader_feed_test.c", [], ""),
    "decode_test": ("tests/unit", "decode_test.c", ["@/tests/data/one"], ""), "plan_test": ("tests/unit", "plan_test.c", [], ""),
    "formats_test": ("tests/unit", "formats_test.c", [], ""), "tool_view_test": ("tests/unit", "tool_view_test.c", [], ""),
    "batches_test": ("tests/api", "batches_test.c", [], ""), "batches_test_avx2": ("tests/api", "batches_test.c", [], "one-thread;unsanitized"),
    "arrow_test": ("tests/formats", "arrow/arrow_test.c", [], "formats"), "tar_test": ("tests/formats", "tar/tar_test.c", [], "formats"),
    "augment_mix_test": ("tests/unit", "augment_mix_test.c", [], ""), "feather_test": ("tests/formats", "feather_test.c", [], "formats"),
    "fuzz_columns": ("fuzz", "fuzz_columns.c", [], "fuzz"), "fuzz_arrow": ("fuzz", "fuzz_arrow.c", [], "fuzz"),
    "cli_pack": ("tests/cli", "pack.sh", ["@/build/%/bin/sluice"], "cli"), "cli_view": ("tests/cli", "view.sh", ["@/build/%/bin/sluice"], "cli"),
    "python_loading": ("python/tests", "test_loading.py", ["@/build/%/python"], "python"),
    "python_arrow": ("python/tests", "test_arrow.py", ["@/build/%/python"], "python;unsanitized"),
    "python_feather": ("python/tests", "test_feather.py", ["@/build/%/python"], "python"),
    "python_group_1": ("python/tests", "test_loading.py", ["@/build/%/python"], "python;group"),
    "python_pages": ("python/tests", "test_pages.py", ["@/build/%/python"], "python;unsanitized"),
}
COLUMNS = {"columns_test", "fuzz_columns"}
USERS = {"loader_feed_test", "batches_test"}
# changed files: the tests under ASan, those in release
CASES = {
    "src/columns/boxes.c": (COLUMNS | USERS, set()),
    "src/jpeg/jpeg.c": ({"decode_test", "batches_test"}, set()),
    "src/plan/plan.c": ({"plan_test"} | USERS, set()),
    "src/plan/plan.c tests/unit/decode_test.c": ({"plan_test", "decode_test"} | USERS, set()),
    "src/base/memory.c": ({"columns_test", "decode_test", "plan_test", "formats_test", "arrow_test", "feather_test", "tar_test", "augment_mix_test"} | USERS, set()),
    "src/formats/arrow/arrow.c": ({"arrow_test", "feather_test", "fuzz_arrow", "python_arrow", "python_feather", "formats_test"}, set()),
    "src/recipe/draws.c": ({"augment_mix_test"}, set()),  # named like the split module
    "src/recipe/draws.c src/augment/draws.c": ({"augment_mix_test"}, set()),
    "src/columns/gone.c": (COLUMNS | USERS, set()),
    "include/sluice/columns.h": ({"columns_test", "batches_test"}, set()),
    "tests/unit/plan_test.c": ({"plan_test"}, set()),
    "tests/api/batches_test.c": ({"batches_test", "batches_test_avx2"}, set()),
    "tests/support/png_make.c": ({"columns_test", "decode_test"}, set()),
    "tests/data/one/x.bin": ({"decode_test"}, set()),
    "fuzz/fuzz_arrow.c": ({"fuzz_arrow"}, set()),
    "tests/cli/pack.sh": ({"cli_pack"}, set()),
    "tests/cli/lib.sh": ({"cli_pack", "cli_view"}, set()),
    "tools/sluice/pack.c": ({"cli_pack"}, set()),
    "tools/sluice/common/say.c": ({"cli_pack", "cli_view", "tool_view_test"}, set()),
    "python/src/module.c": ({"python_loading", "python_feather"}, set()),
    "python/sluice/loader.py": (set(), {"python_loading"}),
    "python/sluice/batch.py": (set(), {"python_arrow"}),
    "python/sluice/_names.py": (set(), {"python_loading"}),
    "python/sluice/__init__.py": (set(), {"python_loading", "python_arrow", "python_feather", "python_pages"}),
    "python/tests/files.py": (set(), {"python_arrow"}),
    "docs/guide.md": (set(), {"python_pages"}),
    "docs/guide.md tests/cli/view.sh": ({"cli_view"}, {"python_pages"}),
}
UNKNOWN = ("docs/other.md", "bench/speed.c", "cmake/Find.cmake", "python/tests/CMakeLists.txt")


def describe(tree, preset):
    """Writes the files of cmake and ninja for the tests above."""
    build = tree / "build" / preset
    units, targets = [], ["bin/sluice: C_EXECUTABLE_LINKER__sluice_tool_Debug", "python/sluice/_sluice.abi3.so: C_MODULE_LIBRARY_LINKER__sluice_python_Debug",
                          "python/CMakeFiles/install.util: CUSTOM_COMMAND", "python/all: phony"]
    for source in (path for path in TREE if path.endswith(".c")):
        target = "sluice_python" if source.startswith("python/") else source.split("/")[1] if source.startswith("src/") else pathlib.Path(source).stem
        output = f"{os.path.dirname(source)}/CMakeFiles/{target}.dir/{os.path.basename(source)}.o"
        units.append({"file": str(tree / source), "command": f"cc -o {output} -c {tree / source}"})
    for name, (folder, source, words, labels) in TESTS.items():
        inside = build / ("tests/python" if folder == "python/tests" else folder)
        inside.mkdir(parents=True, exist_ok=True)
        first = f"{folder}/{source}"
        words = [word.replace("@", str(tree)).replace("%", preset) for word in words]
        if source.endswith(".c"):
            program = f"{folder}/{pathlib.Path(source).stem}"
            targets.append(f"{program}: C_EXECUTABLE_LINKER__{os.path.basename(program)}_Debug")
            words.insert(0, str(build / program))
        else:
            words.insert(0, str(tree / first))
        file = inside / "CTestTestfile.cmake"
        head = "" if file.exists() else f"# Source directory: {tree / folder}\n"
        command = " ".join(f'"{word}"' for word in words)
        with open(file, "a", encoding="utf-8") as out:
            out.write(f'{head}add_test([=[{name}]=] {command})\n'
                      f'set_tests_properties([=[{name}]=] PROPERTIES  ENVIRONMENT "A=b;C=d" LABELS "{labels}" TIMEOUT "400")\n')
    (build / "compile_commands.json").write_text(json.dumps(units))
    (build / "targets").write_text("\n".join(targets))


def select(tree, paths, *options, action="select", error=""):
    environment = os.environ | {"PATH": f"{tree / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, tree / "scripts/changed.py", action, *options], input="\n".join(paths.split()), cwd=tree, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == bool(error) and error in done.stderr, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def tests(lines, preset):
    return {line[2] for line in lines if line[:2] == ["test", preset]}


def main():
    with tempfile.TemporaryDirectory() as work:
        tree = pathlib.Path(work)
        for path, text in TREE.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        for path in ("scripts/changed.py",):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, tree / path)
        (tree / "bin").mkdir()
        (tree / "bin/ninja").write_text('#!/bin/sh\ncat "$2/targets"\n')
        (tree / "bin/ninja").chmod(0o755)
        for preset in ("asan", "release"):
            describe(tree, preset)
        for paths, (asan, release) in CASES.items():
            lines = select(tree, paths)
            got = (tests(lines, "asan"), tests(lines, "release"))
            assert got == (asan, release), f"{paths}: {got} instead of {(asan, release)}"
            presets = select(tree, paths, action="presets")[0][0].split()
            assert presets == ["asan"] * bool(asan) + ["release"] * bool(release), (paths, presets)
        for path in UNKNOWN:
            assert ["left", f"{path}: no test is known to be about it"] in select(tree, path), path
        check_lines(tree)
    print(f"changed: {len(CASES)} changes")


def check_lines(tree):
    """Checks which targets are built, which files are formatted and linted, which are omitted, and -R."""
    lines = select(tree, "src/columns/boxes.c src/decode/decoder.h src/columns/gone.c tests/cli/lib.sh tests/cli/pack.sh bench/speed.c")
    assert {line[1] for line in lines if line[0] == "format"} == {"src/columns/boxes.c", "src/decode/decoder.h", "bench/speed.c"}
    assert {line[1] for line in lines if line[0] == "lint"} == {"src/columns/boxes.c", "src/decode/decoder.c", "bench/speed.c"}
    assert {line[1] for line in lines if line[0] == "shell"} == {"tests/cli/lib.sh"}
    targets = {line[2] for line in lines if line[0] == "target"}
    assert {"tests/unit/columns_test", "bin/sluice", "bench/CMakeFiles/speed.dir/speed.c.o"} <= targets
    assert "tests/unit/plan_test" not in targets
    assert any(line[0] == "left" and "batches_test_avx2" in line[1] for line in lines)
    lines = select(tree, "python/sluice/loader.py")
    assert {line[2] for line in lines if line[0] == "target"} == {"bin/sluice", "python/sluice/_sluice.abi3.so"}  # and nothing is installed
    select(tree, "src/columns/boxes.c", "-R", "(", error="-R: '(' is not a regular expression")
    (tree / "python/sluice/broken.py").write_text("x = 1\ndef (\n")
    select(tree, "python/sluice/broken.py", error="python/sluice/broken.py:2: not valid Python")
    lines = select(tree, "src/columns/boxes.c", "-R", "^loader|_columns")
    assert tests(lines, "asan") == {"loader_feed_test", "fuzz_columns"}
    assert "tests/unit/columns_test" not in {line[2] for line in lines if line[0] == "target"}


main()

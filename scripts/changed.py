#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""changed.py presets|select|targets: finds the tests that a change needs, for scripts/test --changed, and the targets that tests need.

Reads changed paths, one per line, from standard input.
  changed.py presets             prints the presets that `select` needs configured, in one line
  changed.py select [-R REGEX]   prints one decision per line, its parts separated by tabs:
      because TEXT               a changed file or module, and how many tests it selects
      test PRESET NAME           a test to run
      target PRESET TARGET       a target of ninja to build
      format|lint|shell FILE     a file for clang-format, clang-tidy, shellcheck
      left TEXT                  tests that are not run, and why
  changed.py targets PRESET LABELS [-R REGEX]   prints the targets of the preset's tests whose names match, a line each, except those with
                                 a label that matches LABELS. Nothing is read from standard input.

The current folder is the tree; its builds are build/asan and build/release. A module of src/ also selects the modules that have it in the
USES of their sluice_module. Other files than C sources are found by name: in the command of a test, or in the text of its scripts.
"""
import ast
import collections
import functools
import glob
import json
import os
import re
import subprocess
import sys

QUOTED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
PUBLIC = re.compile(r"^\s*#\s*include\s+<(sluice/\w+\.h)>", re.M)
STRING = r'"((?:\\.|[^"\\])*)"'
ADD_TEST = re.compile(r"^add_test\(\[=\[(.+?)\]=\] (.*)\)$", re.M)
PROPERTIES = re.compile(r"^set_tests_properties\(\[=\[(.+?)\]=\] PROPERTIES (.*)\)$", re.M)
# Folders of tests of one thing each, and that thing: a module, or a part of the tree outside src/.
FOLDERS = {"tests/api": "api", "tests/gpu": "device", "tests/cli": "tools", "tests/abi": "include", "python/tests": "python"}
SHELL = re.compile(r"#!/bin/(ba)?sh|# shellcheck shell=|# SPDX.*\n# shellcheck shell=")

MODULE = re.compile(r"^sluice_module\(([^)]*)\)", re.M)
KEYWORDS = {"SOURCES", "USES", "LIBRARIES", "FORMATS"}

Test = collections.namedtuple("Test", "name folder words labels environment")


@functools.cache
def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def without_comments(path):
    """Returns C code without comments, since names in comments are not used."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", read(path), flags=re.S) if path.endswith((".c", ".h")) else read(path)


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def preset_of(path):
    """Sanitizers find nothing in Python and documents; everything else is built with ASan."""
    if path.endswith((".py", ".pyi", ".md")) or path.startswith(("docs/", "scripts/", "tests/scripts/", "tests/tidy/", "python/sluice/")):
        return "release"
    return "asan"


class Build:
    """A configured build: its tests, as ctest sees them, and the outputs of its targets."""

    def __init__(self, preset):
        self.preset = preset
        self.folder = os.path.abspath(f"build/{preset}")
        self.tests = {}
        for path in glob.glob(f"{self.folder}/**/CTestTestfile.cmake", recursive=True):
            self.read_tests(read(path))
        lines = subprocess.run(["ninja", "-C", self.folder, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
        self.outputs = {}  # output: its target, if it is a program or library
        for line in lines.splitlines():
            output, _, rule = line.partition(": ")
            target = re.search(r"_LINKER__(\w+?)_(?:Debug|Release)$", rule)
            if rule != "phony" and (target or not output.startswith("/") and "CMakeFiles/" not in output):  # those would install and package
                self.outputs[output] = target.group(1) if target else None
        self.objects = collections.defaultdict(list)  # by source: (object, target)
        for entry in json.loads(read(f"{self.folder}/compile_commands.json") or "[]"):
            output = re.search(r" -o (\S+)", entry["command"]).group(1)
            target = re.search(r"CMakeFiles/(\w+)\.dir/", output).group(1)
            self.objects[os.path.relpath(entry["file"])].append((output, target))
        self.sources = collections.defaultdict(list)  # by target
        for source, objects in self.objects.items():
            for _, target in objects:
                self.sources[target].append(source)

    def read_tests(self, text):
        source = re.search(r"^# Source directory: (.*)$", text, re.M)
        folder = os.path.relpath(source.group(1)) if source else ""
        properties = dict(PROPERTIES.findall(text))
        for name, command in ADD_TEST.findall(text):
            said = dict(re.findall(rf"(\w+) {STRING}", properties.get(name, "")))
            environment = said.get("ENVIRONMENT", "").split(";")
            words = re.findall(STRING, command) + [word.partition("=")[2] for word in environment]
            self.tests[name] = Test(name, folder, words, set(said.get("LABELS", "").split(";")), environment)

    def built_by(self, test):
        """Returns the outputs that the test's command and environment name, and for a folder everything below it."""
        for word in test.words:
            inside = os.path.relpath(word, self.folder) if word.startswith(self.folder + "/") else None
            if inside in self.outputs:
                yield inside
            elif inside:
                yield from (output for output in self.outputs if output.startswith(inside + "/"))
                if inside == "python":
                    yield "bin/sluice"  # run by `python -m sluice`

    def programs_of(self, test):
        return {self.outputs.get(output) for output in self.built_by(test)} - {None}

    def scripts_of(self, test):
        """Returns the tree's files with source text in the test's command: scripts, or the program's sources."""
        for word in test.words:
            if word.startswith(os.getcwd() + "/") and os.path.isfile(word) and not word.startswith(os.path.abspath("build")):
                yield os.path.relpath(word)
        for target in self.programs_of(test):
            yield from (source for source in self.sources[target] if not source.startswith(("src/", "tools/")))


class Module:
    """Returns the arguments of a sluice_module in src/*/CMakeLists.txt."""

    def __init__(self, words):
        self.name, key, self.of = words[0], None, collections.defaultdict(list)
        for word in words[1:]:
            if word in KEYWORDS:
                key = word
            else:
                self.of[key].append(word)

    def uses(self):
        return set(self.of["USES"])

    def formats(self):
        """Returns the words in the names of a format's tests: its folder, and its rows of the table of formats."""
        if not self.name.startswith("formats/"):
            return set()
        return {word.rpartition(":")[2].removesuffix("s") for word in [self.name.removeprefix("formats/"), *self.of["FORMATS"]]}


def read_modules():
    found = (Module(call.split()) for path in glob.glob("src/**/CMakeLists.txt", recursive=True) for call in MODULE.findall(read(path)))
    return {module.name: module for module in found if os.path.isdir(f"src/{module.name}")}


def exported(path):
    """Returns a package file's classes and functions for users; of a module imported whole, all without underscore."""
    if not path.endswith(".py"):
        return set()
    folder = os.path.dirname(path)
    try:
        body = ast.parse(read(path)).body
    except SyntaxError as error:
        sys.exit(f"{path}:{error.lineno}: not valid Python: {error.msg}")
    names = {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0] != "_"}
    whole = rf"^\s*from \. import .*\b{re.escape(stem(path))}\b"
    return names if re.search(whole, read(f"{folder}/__init__.py"), re.M) else names & set(re.findall(r"\w+", read(f"{folder}/__init__.py")))


class Selection:
    """Returns the tests that the changed files select, and why."""

    def __init__(self, paths, builds, regex=""):
        self.paths, self.builds = paths, builds
        self.only = re.compile(regex)
        self.tests = {preset: set() for preset in builds}
        self.targets = {preset: set() for preset in builds}
        self.because, self.left = [], []
        self.slow = set()
        self.described = read_modules()
        self.modules = sorted(self.described, key=len, reverse=True)

    def module_of(self, path):
        inside = path.removeprefix("src/")
        return next((name for name in self.modules if path != inside and inside.startswith(name + "/")), None)

    def users_of(self, module):
        users = {name for name in self.modules if module in self.described[name].uses()}
        return users | ({"formats"} if module.startswith("formats/") else set())  # the table of formats has all of them

    def add(self, reason, preset, names, direct=False, but=frozenset({"tidy", "gpu", "group"})):
        """Selects tests without the labels `but`; tests that are slow under a sanitizer only if a changed file is their
        own."""
        build = self.builds[preset]
        but = but if preset == "asan" else but | {"fuzz"}
        names = {name for name in names if not but & build.tests[name].labels and self.only.search(name)}
        if preset == "asan" and not direct:
            self.slow |= {name for name in names if "unsanitized" in build.tests[name].labels}
            names -= self.slow
        self.tests[preset] |= names
        self.because.append(f"{reason}: {len(names)} test{'s' * (len(names) != 1)} ({preset})")
        return names

    def about(self, test):
        """Returns the modules that a test belongs to."""
        if test.folder == "fuzz":
            return self.fuzzed(test.name)
        if test.folder in FOLDERS:
            return {FOLDERS[test.folder]}
        if test.folder == "tests/formats":
            return self.formats_named(test.name) or self.included(test)
        if test.folder == "tests/unit":
            return {name for name in [*self.modules, "tools"] if test.name.startswith(name.removesuffix("s") + "_") or
                    test.name.startswith(name + "_")} or self.included(test)
        return set()

    def formats_named(self, name):
        """Returns the modules of the formats in the first two words of a test's name."""
        words = {word.removesuffix("s") for word in name.split("_")[:2]}
        return {module.name for module in self.described.values() if words & module.formats()}

    def with_headers(self, paths):
        headers = {header for path in paths for header in QUOTED.findall(read(path))}
        return {module for module in self.modules for header in headers if os.path.exists(f"src/{module}/{header}")}

    def included(self, test):
        """For a test named after no module (such as a split one), returns the modules whose headers it includes."""
        builds = self.builds.values()
        found = self.with_headers(path for build in builds if test.name in build.tests for path in build.scripts_of(test)
                                  if path.startswith(test.folder + "/"))  # fmt: skip
        return found - {"base"} or found

    def fuzzed(self, name):
        """A fuzz target belongs to the modules whose headers it includes; one of whole datasets to all formats."""
        headers = set(QUOTED.findall(read(f"fuzz/{name}.c")))
        found = self.with_headers([f"fuzz/{name}.c"])
        if "dataset_run.h" in headers and not any("/" in module for module in found):
            found |= {module for module in self.modules if module.startswith("formats")}
        return found - {"base"} or found

    def tests_about(self, preset, modules, but_fuzz=False):
        tests = self.builds[preset].tests.values()
        return {test.name for test in tests if self.about(test) & modules and not (but_fuzz and test.folder == "fuzz")}

    def select_modules(self):
        changed = {self.module_of(path) for path in self.paths} - {None}
        headers = {path.removeprefix("include/") for path in self.paths if path.startswith("include/")}
        if headers:
            self.add("include/", "asan", self.tests_about("asan", {"include", "api"}))
            self.targets["asan"] |= {"bin/sluice", "python/sluice/_sluice.abi3.so"}
        users = {module for name in changed for module in self.users_of(name)}
        users |= {name for name in self.modules for path in glob.glob(f"src/{name}/*.[ch]") if headers & set(PUBLIC.findall(read(path)))}
        users -= changed
        for name in sorted(changed):
            self.add(f"src/{name}", "asan", self.tests_about("asan", {name}))
            for format in sorted(self.described[name].formats()):
                self.add(f"src/{name}, {format} from Python", "asan", {test for test in self.builds["asan"].tests if
                                                                       re.match(rf"python_{re.escape(format)}s?(_|$)", test)},
                         direct=name.startswith(f"formats/{format}"))
        if users:
            self.add(f"the users of {', '.join(sorted(changed) or ['include/'])} ({', '.join(sorted(users))})", "asan",
                     self.tests_about("asan", users, but_fuzz=True))
        if changed or headers:
            self.targets["asan"].add("src/libsluice.so")
            self.left.append("the tool, Python and the examples that use the changes in src/ or include/, and users of users")

    def helped(self, build, path):
        """Returns the tests whose own files include, import or name `path`, directly or through files beside them."""
        folder, name = os.path.split(path)
        wanted, found = {path}, set()
        if path.startswith(("tests/support/", "fuzz/")) and path.endswith((".c", ".h")):
            helpers = glob.glob("tests/support/*.[ch]") + glob.glob("fuzz/*.[ch]") + glob.glob("tests/*/*.h")
            names = lambda one: re.compile(rf'"{re.escape(stem(one))}\.h"')
        elif name.endswith(".py"):
            helpers = glob.glob(f"{folder}/*.py")
            names = lambda one: re.compile(rf"^\s*(?:import|from)\b.*\b{re.escape(stem(one))}\b|\b{re.escape(os.path.basename(one))}\b", re.M)
        else:
            helpers = glob.glob(f"{folder}/*")
            names = lambda one: re.compile(rf"(?<![\w.-]){re.escape(os.path.basename(one))}\b")
        todo = [path]
        while todo:
            pattern = names(todo.pop())
            more = {one for one in helpers if one not in wanted and os.path.isfile(one) and pattern.search(without_comments(one))}
            wanted |= more
            todo += more
            found |= {test.name for test in build.tests.values()
                      if any(pattern.search(without_comments(script)) for script in build.scripts_of(test))}
        return found | {test.name for test in build.tests.values() if wanted & set(build.scripts_of(test))}

    def commanded(self, build, path):
        """Returns the tests whose command has the path, a folder around it, or a program built from it."""
        around = {os.path.abspath(path)}
        while len(around) < path.count("/"): # except the top folder, which is too general
            around.add(os.path.dirname(min(around, key=len)))
        targets = {target for _, target in build.objects.get(path, ())}
        return {test.name for test in build.tests.values() if around & set(test.words) or targets & build.programs_of(test)}

    def select_tool(self, path, build):
        """A command's tests are the scripts that mention it; common parts belong to all."""
        parts = path.split("/")
        word = {"tools/inject": "idle"}.get("/".join(parts[:2])) or (parts[2] if len(parts) > 3 else stem(path))
        tests = self.tests_about(build.preset, {"tools"})
        if word in ("common", "main", "CMakeLists"):
            return tests
        pattern = re.compile(rf"\b{re.escape(word)}\b|\"{re.escape(stem(path))}\.h\"")
        return {name for name in tests if any(pattern.search(read(script)) for script in build.scripts_of(build.tests[name]))}

    def select_package(self, path, build):
        """For a file of the Python package, returns the tests that use its exports, or those of files that import it."""
        init = "python/sluice/__init__.py"
        if path == init:
            return self.tests_about(build.preset, {"python"})
        names, todo, seen = set(), [path], {path, init}
        while todo and not names:
            names = {name for one in todo for name in exported(one)}
            stems = "|".join(re.escape(stem(one)) for one in todo)
            importers = {one for one in glob.glob("python/sluice/**/*.py", recursive=True) if
                         re.search(rf"^\s*(?:from|import)\b.*(?<!\w)({stems})\b", read(one), re.M)}
            todo = sorted(importers - seen) if path.endswith(".py") else []  # a stub has no users
            seen |= importers
        mine = {name for name in (f"python_{stem(path).strip('_')}", "python_stubs") if name in build.tests}
        pattern = re.compile(rf"\b({'|'.join(sorted(names))})\b") if names else None
        return mine | {test.name for test in build.tests.values() if pattern and test.folder == "python/tests" and
                       any(pattern.search(read(script)) for script in build.scripts_of(test) if stem(script).startswith("test_"))}

    def select_page(self, path, build):
        """For a document, returns the tests that contain its name, or that of its folder below docs."""
        names = [re.escape(os.path.basename(path))]
        if path.count("/") > 1:
            names.append(rf"docs/{re.escape(path.split('/')[1])}\b")
        pattern = re.compile(rf"(?<![\w.-])({'|'.join(names)})")
        direct = {path for scripts in ("python/tests/*.py", "tests/*/*.sh", "tests/*/*.py") for path in glob.glob(scripts)
                  if pattern.search(read(path))}
        found = {test.name for test in build.tests.values() if test.folder != "fuzz" and
                 any(pattern.search(without_comments(script)) for script in build.scripts_of(test))}
        for script in direct:
            if not stem(script).startswith("test_") and script.startswith("python/tests/"):
                found |= self.helped(build, script)
        return found

    def select_file(self, path):
        """Returns the tests that a file outside src/ and include/ selects."""
        preset = preset_of(path)
        build = self.builds[preset]
        found = self.commanded(build, path)
        if path.endswith((".md", ".svg", ".png")):
            found |= self.select_page(path, build)
        elif path.startswith("tools/"):
            found |= self.select_tool(path, build)
        elif path.startswith("python/sluice/"):
            found |= self.select_package(path, build)
        elif path.startswith("python/src/"):
            found |= self.tests_about(preset, {"python"})
        elif path.startswith("scripts/"):
            found |= {test.name for test in build.tests.values() if test.folder == "tests/scripts"}
        elif path.startswith("tests/scripts/"):
            found |= {test.name for test in build.tests.values() if test.folder == "tests/scripts" and stem(path) in " ".join(test.words)}
        elif path.startswith(("tests/", "fuzz/", "python/tests/", "docs/", "examples/")) and os.path.basename(path) != "CMakeLists.txt":
            found |= self.helped(build, path)
        self.targets[preset] |= {output for output, _ in build.objects.get(path, ())}
        direct = not path.startswith(("python/src/", "tools/", "tests/support/"))
        but = {"tidy", "gpu", "group"}
        if path.startswith("tests/tidy/"):
            but, found = {"gpu", "group"}, found - {"tidy_lint", "tidy_format"}  # of the whole tree
        if not self.add(path, preset, found, direct, but) and not self.only.pattern:
            self.because.pop()
            self.left.append(f"{path}: no test is known to be about it")

    def select(self):
        self.select_modules()
        gone = {path for path in self.paths if path.startswith("src/") and not os.path.exists(path) and self.module_of(path) is None}
        for folder in sorted({os.path.dirname(path) for path in gone}):
            self.because.append(f"{folder} is gone: the modules that have its files now are changed, too")
        for path in self.paths:
            if self.module_of(path) is None and not path.startswith("include/") and path not in gone:
                self.select_file(path)
        for preset, names in self.tests.items():
            for name in names:
                self.targets[preset] |= set(self.builds[preset].built_by(self.builds[preset].tests[name]))
        if "asan" in self.builds and self.slow - self.tests["asan"]:
            names = sorted(self.slow - self.tests["asan"])
            self.left.append(f"{len(names)} slow under a sanitizer: {', '.join(names[:4])}{' ...' * (len(names) > 4)}")


def checked_files(paths):
    for path in paths:
        if not os.path.isfile(path):
            continue
        if path.endswith((".c", ".h")) and not path.startswith("tests/abi/frozen"):
            yield "format", path
        source = path[:-2] + ".c"
        if path.endswith((".c", ".h")) and os.path.isfile(source):
            yield "lint", source
        if SHELL.match(read(path)):
            yield "shell", path


def targets_of(build, labels, regex):
    """Returns the targets of tests whose names match, except those with a matching label."""
    tests = (test for test in build.tests.values() if re.search(regex, test.name) and not any(label and re.search(labels, label) for label in test.labels))
    return sorted({output for test in tests for output in build.built_by(test)})


def main():
    if sys.argv[1:2] == ["targets"] and len(sys.argv) == 6 and sys.argv[4] == "-R":
        print(*targets_of(Build(sys.argv[2]), sys.argv[3], sys.argv[5]), sep="\n")
        return
    action, options = (sys.argv[1:] or [""])[0], sys.argv[2:]
    if action not in ("presets", "select") or (options and (options[0] != "-R" or len(options) != 2)):
        sys.exit("usage: changed.py presets|select [-R REGEX] < PATHS, or changed.py targets PRESET LABELS -R REGEX")
    paths = sorted({line for line in sys.stdin.read().splitlines() if line})
    presets = sorted({preset_of(path) for path in paths})
    if action == "presets":
        print(*presets)
        return
    regex = options[1] if options else ""
    try:
        re.compile(regex)
    except re.error as error:
        sys.exit(f"-R: '{regex}' is not a regular expression: {error}")
    selection = Selection(paths, {preset: Build(preset) for preset in presets}, regex)
    selection.select()
    lines = [("because", text) for text in selection.because]
    lines += [("test", preset, name) for preset, names in selection.tests.items() for name in sorted(names)]
    lines += [("target", preset, name) for preset, names in selection.targets.items() for name in sorted(names)]
    lines += sorted(set(checked_files(paths)))
    lines += [("left", text) for text in selection.left]
    for line in lines:
        print("\t".join(line))


if __name__ == "__main__":
    main()

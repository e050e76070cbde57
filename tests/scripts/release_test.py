#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""release_test.py ROOT: the checks of scripts/release, in a small repository that passes them and then has one fault at a time. Exit
status 77: there is no git."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = {
    "CMakeLists.txt": "project(sluice VERSION 1.2.3 LANGUAGES C)\n",
    "pyproject.toml": '[project]\nversion = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-01-31)\n\n- One change.\n\n## 1.2.2 (2026-01-01)\n\n- Another.\n",
    "include/sluice/common.h": '#define SLUICE_VERSION_MAJOR 1\n#define SLUICE_VERSION_MINOR 2\n#define SLUICE_VERSION_PATCH 3\n'
                               '/* The version at run time, "1.2.3". */\nint sluice_one(void);\n',
    "tests/abi/frozen/sluice/common.h": '#define SLUICE_VERSION_MAJOR 1\n#define SLUICE_VERSION_MINOR 2\n#define SLUICE_VERSION_PATCH 3\n'
                                        '/* Another comment. */\nint sluice_one(void);\n',
    ".gitignore": "/build/\n",
}
# (file, text, its replacement, what the script must say)
FAULTS = (
    ("CMakeLists.txt", "1.2.3", "1.2.4", "CMakeLists.txt: the version is 1.2.4, not 1.2.3"),
    ("CMakeLists.txt", "VERSION", "RELEASE", "CMakeLists.txt: no line has the version"),
    ("pyproject.toml", "1.2.3", "1.2", "pyproject.toml: the version is 1.2, not 1.2.3"),
    ("include/sluice/common.h", "PATCH 3", "PATCH 2", "SLUICE_VERSION_PATCH is 2, not 3"),
    ("include/sluice/common.h", "#define SLUICE_VERSION_MINOR 2\n", "", "SLUICE_VERSION_MINOR is missing, not 2"),
    ("include/sluice/common.h", '"1.2.3"', '"1.2.0"', "include/sluice/common.h: the version is 1.2.0, not 1.2.3"),
    ("include/sluice/common.h", "int sluice_one", "long sluice_one", "tests/abi: no frozen copy declares what include/sluice declares"),
    ("CHANGELOG.md", "## 1.2.3", "## 1.3.0", "CHANGELOG.md: no section '## 1.2.3 (YYYY-MM-DD)'"),
    ("CHANGELOG.md", "2026-01-31", "unreleased", "CHANGELOG.md: section 1.2.3 has no date"),
    ("CHANGELOG.md", "- One change.\n", "", "CHANGELOG.md: section 1.2.3 is empty"),
)


class Repository:
    def __init__(self, root, folder):
        self.folder = Path(folder)
        for path, text in FILES.items():
            self.write(path, text)
        (self.folder / "scripts").mkdir()
        shutil.copy(Path(root) / "scripts/release", self.folder / "scripts/release")
        self.environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for name in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{name}_NAME": "a", f"GIT_{name}_EMAIL": "a@localhost"}
        self.git("init", "-q")
        self.commit()

    def write(self, path, text):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.folder, *arguments], check=True, env=self.environment, stdout=subprocess.DEVNULL)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")

    def release(self, *arguments):
        done = subprocess.run([sys.executable, self.folder / "scripts/release", *arguments], env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout


def expect(what, result, status, text):
    if result[0] != status or text not in result[1]:
        print(f"{what}: exit status {result[0]}, expected {status} with {text!r}:\n{result[1]}")
        return 1
    return 0


def main(root):
    if shutil.which("git") is None:
        print("skipped: there is no git")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        one = Repository(root, folder)
        failed += expect("a sound tree", one.release("1.2.3", "--dry-run"), 0, "The checks passed for 1.2.3")
        failed += expect("a dry run builds nothing", (int((one.folder / "build").exists()), ""), 0, "")
        for version in ("1.2", "v1.2.3", "1.2.03", "", "1.2.3-rc1"):
            failed += expect(f"the version {version!r}", one.release(version, "--dry-run"), 1, "usage: scripts/release VERSION")
        for path, old, new, wanted in FAULTS:
            assert old in FILES[path]
            one.write(path, FILES[path].replace(old, new))
            one.commit()
            failed += expect(f"{path}: {new!r} for {old!r}", one.release("1.2.3", "--dry-run"), 1, wanted)
            one.write(path, FILES[path])
            one.commit()
        one.write("stray.txt", "\n")
        failed += expect("a stray file", one.release("1.2.3", "--dry-run"), 1, "the tree is not clean: ?? stray.txt")
        (one.folder / "stray.txt").unlink()
        one.git("tag", "v1.2.3")
        failed += expect("a tag", one.release("1.2.3", "--dry-run"), 1, "the tag v1.2.3 exists")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

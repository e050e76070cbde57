#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""phrases.py ROOT [--write | --list PHRASE [FOLDER]]: counts phrases that read like a translation, by folder.

tests/tidy/phrases.txt has the ceilings, one line each: COUNT FOLDER PHRASE. A count above or below its ceiling fails; if it is below,
--write lowers the ceiling. Ceilings never rise. --list prints the places of a phrase. CONTRIBUTING.md ("Prose") says what to write instead.
"""
import collections
import pathlib
import re
import subprocess
import sys

PHRASES = {
    "is no": r"(?<!there )(?<!There )\b(is|are|was|were) (no|none)\b(?! (longer|more|doubt))",
    "but for": r"\b(but|save) for\b",
    "what is": r"\b[Ww]hat (is|are|was|were|has|have)\b(?![^.]*[?])",
    "who is": r"\b[Ww]ho (is|are|was|were|has|have)\b",
    "of which": r"\bof which\b",
    "that which": r"\bthat which\b",
    "is told": r"\b(is|are|be|was|were) told\b",
    "tells": r"\btells?\b",
    "as it lies": r"\bas (it lies|they lie)\b",
    "comes to": r"\bcom(es|e|ing) to\b",
    "road": r"\b[Rr]oads?\b",
    "give out": r"\b(give|hand)(s|n|ed|ing)? out\b",
    "let go": r"\b(let|lets|letting) go\b",
    "is there": r"\b(is|are|be|was|were) (not |already |still )?there\b(?! (is|are|was|were)\b)",
    "anew": r"\banew\b",
    "whatever the number": r"\bwhatever the number\b",
    "called alike": r"\bcalled alike\b",
    "to be had": r"\b(to be had|of no use|for ever|once more)\b",
    "may are": r"\b(may|to|not|can|could|must|should|would) are\b",
}
TEXTS = (".c", ".h", ".cu", ".py", ".pyi", ".md", ".txt", ".sh", ".cmake", "")


def folder_of(path):
    """Returns the top-level folder: include, docs, python, src, tests, ...; "root" for files in the root."""
    first, _, rest = path.partition("/")
    if not rest:
        return "root"
    return first


def places(root):
    """Returns (folder, phrase, path, line number, line) of each occurrence."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    if listed.returncode != 0:
        print("skipped: this is not a git checkout:", listed.stderr.strip())
        sys.exit(77)
    names = listed.stdout.splitlines()
    compiled = {phrase: re.compile(rule) for phrase, rule in PHRASES.items()}
    for name in names:
        path = pathlib.Path(root, name)
        if path.suffix not in TEXTS or name.startswith("tests/tidy/phrases") or "/data/" in name or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for phrase, rule in compiled.items():
                for _ in rule.finditer(line):
                    yield folder_of(name), phrase, name, number, line.strip()


def main():
    if sys.argv[1:2] in ([], ["-h"], ["--help"]):
        print(__doc__)
        return 0 if sys.argv[1:] else 2
    root = sys.argv[1]
    if sys.argv[2:3] == ["--list"]:
        if sys.argv[3:4] == [] or sys.argv[3] not in PHRASES:
            print("--list: the phrases are " + ", ".join(f'"{phrase}"' for phrase in PHRASES), file=sys.stderr)
            return 2
        for folder, phrase, name, number, line in places(root):
            if phrase == sys.argv[3] and sys.argv[4:5] in ([], [folder]):
                print(f"{name}:{number}: {line}")
        return 0
    found = collections.Counter((folder, phrase) for folder, phrase, *_ in places(root))
    file = pathlib.Path(root, "tests/tidy/phrases.txt")
    ceilings = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        count, folder, phrase = line.split(" ", 2)
        ceilings[folder, phrase] = int(count)
    above = {key: count for key, count in found.items() if count > ceilings.get(key, 0)}
    below = {key: count for key, count in ceilings.items() if found[key] < count}
    if sys.argv[2:3] == ["--write"] and (not above or not ceilings):
        file.write_text("".join(f"{count} {folder} {phrase}\n" for (folder, phrase), count in sorted(found.items())))
        return 0
    for (folder, phrase), count in sorted(above.items()):
        print(f'{folder}: "{phrase}" {count} times, and not more than {ceilings.get((folder, phrase), 0)}: tests/tidy/phrases.py . --list "{phrase}" {folder}')
    for (folder, phrase), ceiling in sorted(below.items()):
        print(f'{folder}: "{phrase}" {found[folder, phrase]} times: lower its ceiling of {ceiling} by tests/tidy/phrases.py . --write')
    return 1 if above or below else 0


if __name__ == "__main__":
    sys.exit(main())

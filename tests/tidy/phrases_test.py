#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that phrases.py finds each phrase, but not in good sentences, and that ceilings hold in both directions."""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import phrases

FOUND = {
    "is no": ["this is no tar", "labels are none of the classes"],
    "but for": ["all but for one", "save for the first"],
    "what is": ["reads what is stored", "counts what has no label"],
    "who is": ["the thread who is late"],
    "of which": ["rows, of which some are bad"],
    "that which": ["that which remains"],
    "is told": ["the worker is told"],
    "tells": ["it tells how long"],
    "as it lies": ["read as they lie"],
    "comes to": ["that comes to 4 bytes"],
    "road": ["the fast road"],
    "give out": ["batches are handed out, or gives out one"],
    "let go": ["it lets go of the lock"],
    "is there": ["a file that is not there"],
    "anew": ["opened anew"],
    "whatever the number": ["whatever the number of threads"],
    "called alike": ["files called alike"],
    "to be had": ["memory to be had", "once more, for ever"],
    "may are": ["they may are open"],
}
FINE = "There is no label. It is no longer open. What is a batch? Is there a file, there are two. It comes with one. A network of roadsides."


def run(root, *arguments):
    done = subprocess.run([sys.executable, phrases.__file__, root, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout


assert set(FOUND) == set(phrases.PHRASES)
for phrase, rule in phrases.PHRASES.items():
    for text in FOUND[phrase]:
        assert re.search(rule, text), (phrase, text)
    assert not re.search(rule, FINE), (phrase, re.search(rule, FINE))
with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    subprocess.run(["git", "init", "-q", folder], check=True)
    (root / "tests/tidy").mkdir(parents=True)
    (root / "docs").mkdir()
    page = root / "docs/page.md"
    page.write_text("It tells.\nOf the rows it tells, too.\n")
    subprocess.run(["git", "-C", folder, "add", "."], check=True)
    assert run(root, "--write") == (0, "") and (root / "tests/tidy/phrases.txt").read_text() == "2 docs tells\n"
    assert run(root) == (0, "")
    page.write_text("It tells.\nIt tells.\nIt tells.\n")
    code, text = run(root)
    assert code == 1 and text.startswith('docs: "tells" 3 times, and not more than 2'), text
    assert run(root, "--write")[0] == 1 and "2 docs tells" in (root / "tests/tidy/phrases.txt").read_text()
    page.write_text("It tells.\n")
    code, text = run(root)
    assert code == 1 and "lower its ceiling of 2" in text, text
    assert run(root, "--write") == (0, "") and run(root) == (0, "")
    assert run(root, "--list", "tells", "docs") == (0, "docs/page.md:1: It tells.\n")
print("phrases: found, and ceilings hold")

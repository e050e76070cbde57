# SPDX-License-Identifier: Apache-2.0
"""The examples of the documents, to be run as they stand there."""
import pathlib
import re

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def run(page, heading, folder, monkeypatch, names=None):
    """Runs the first Python block below a heading of a page, in a folder; the names that it leaves. `names`: those that are there before."""
    text = (DOCS / page).read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    block = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
    names = dict(names or {})
    monkeypatch.chdir(folder)
    exec(compile(block, f"{page}, {heading}", "exec"), names)
    return names

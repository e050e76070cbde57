# SPDX-License-Identifier: Apache-2.0
"""The examples of the documents, run unchanged."""
import pathlib
import re

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def sections(page):
    """Yields each heading of a page and the Python blocks below it. Indented blocks are fragments, and are skipped."""
    for text in re.split(r"^## ", (DOCS / page).read_text(), flags=re.MULTILINE)[1:]:
        yield text.partition("\n")[0], re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(page, heading, folder, monkeypatch, number=0, path=None, before=""):
    """Runs a Python block below a heading of a page, in a folder. Returns the names that it defines. path: that of another dataset.
    before: lines that the page omits."""
    block, names = before + dict(sections(page))[heading][number], {}
    if path is not None:
        block, count = re.subn(r'DataLoader\("[^"]+"', f'DataLoader("{path}"', block)
        assert count == 1
    monkeypatch.chdir(folder)
    exec(compile(block, f"{page}, {heading}", "exec"), names)
    return names

# SPDX-License-Identifier: Apache-2.0
"""docs/formats.md and docs/formats/: the first example runs, sections have one shape, and links lead somewhere."""
import re

import layouts
import pages
import pytest

ROOT = pages.DOCS.parent
ENTRY = pages.DOCS / "formats.md"
PAGES = [ENTRY, *sorted((pages.DOCS / "formats").glob("*.md"))]
LINKING = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(pages.DOCS.rglob("*.md"))]


def anchors(page):
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)}


def links(page):
    """Returns each relative link of a page: the file, and the anchor."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if "://" not in target:
            yield (page.parent / path).resolve() if path else page, anchor


def test_the_first_example(tmp_path, monkeypatch):
    layouts.classes(tmp_path, "photos", 2, 3)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(re.search(r"^```python\n(.*?)^```", ENTRY.read_text(), re.MULTILINE | re.DOTALL).group(1), names)
    assert names["data"].format == "folder" and len(names["data"]) == 6


def test_a_section_for_each_format():
    """The table of paths leads to sections of one shape: what the reader reads, an example, fields, limits."""
    rows = ENTRY.read_text().partition("| you have |")[2].partition("\n\n")[0]
    targets = dict.fromkeys(re.findall(r"\(formats/([a-z]+\.md)#([\w-]+)\)", rows))
    assert len(targets) >= 20
    for name, anchor in targets:
        page = pages.DOCS / "formats" / name
        sections = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]
        (text,) = [text for text in sections if re.sub(r"[^\w\- ]", "", text.partition("\n")[0].lower()).replace(" ", "-") == anchor]
        assert "**Reads** " in text and "**Limits.** " in text, (name, anchor)
        assert "```python" in text or re.search(r"^    .*\bDataset\(", text, re.MULTILINE), (name, anchor)


@pytest.mark.parametrize("page", LINKING, ids=[str(page.relative_to(ROOT)) for page in LINKING])
def test_links(page):
    """Links from these pages, and to them."""
    for target, anchor in links(page):
        if page in PAGES or target in PAGES or "formats" in target.parts:
            assert target.exists(), target
            assert not anchor or anchor in anchors(target), (target, anchor)

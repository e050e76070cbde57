#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether site_check.py finds faults: a small site has one of each kind. Exit status 77: there is no browser."""
import sys
import tempfile
from pathlib import Path

import site_check

PAGES = {
    "index.html": "<title>sound</title><h1 id='top'>Sound</h1><a href='other.html#part'>part</a><a href='#top'>top</a>",
    "other.html": "<title>sound</title><p id='part'>Part</p><a href='index.html'>back</a>",
    "link.html": "<title>a link</title><a href='gone.html'>gone</a>",
    "fragment.html": "<title>a fragment</title><a href='other.html#gone'>gone</a>",
    "image.html": "<title>an image</title><img src='gone.png'>",
    "script.html": "<title>a script</title><script>undefinedFunction();</script>",
    "title.html": "<p>no title</p>",
}
WANTED = {
    "link.html: the link to gone.html leads nowhere",
    "fragment.html: the link to other.html#gone leads to no place of the page",
    "image.html: console:",
    "image.html: the image",
    "script.html: console:",
    "title.html: no title",
}


def main():
    reason = site_check.missing_packages()
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PAGES.items():
            Path(folder, name).write_text("<!doctype html><link rel='icon' href='data:,'>" + text)
        with site_check.served(folder) as base, site_check.browser() as driver:
            site = site_check.Site(folder, driver, base)
            site.look_at_pages()
    unnoticed = [wanted for wanted in WANTED if not any(finding.startswith(wanted) for finding in site.findings)]
    wrong = [finding for finding in site.findings if not finding.startswith(tuple(WANTED))]
    for line in (*(f"not noticed: {wanted}" for wanted in unnoticed), *(f"no fault: {finding}" for finding in wrong)):
        print(line)
    return 1 if unnoticed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())

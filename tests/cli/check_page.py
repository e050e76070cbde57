#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_page.py PAGE FIGURES: checks that a page of `sluice bench --report` is well-formed, refers
to no other location, and has the statistics that --json printed and a timeline.
"""
import html.parser
import json
import re
import sys

VOID = {"meta", "br", "hr", "img", "link", "input"}


def fail(message):
    sys.exit(f"{sys.argv[1]}: {message}")


class Page(html.parser.HTMLParser):
    """Checks that tags match, and collects scripts by their id."""

    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.current = [], {}, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for name in ("src", "href", "action", "data", "srcset"):
            if name in attrs:
                fail(f"<{tag} {name}=...> asks for something")
        if tag not in VOID:
            self.open.append(tag)
        self.current = attrs.get("id", "program") if tag == "script" else None

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            fail(f"</{tag}> at {self.getpos()} ends nothing")
        self.current = None

    def handle_data(self, data):
        if self.current is not None:
            self.scripts[self.current] = self.scripts.get(self.current, "") + data


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if re.search(r"https?:|//[a-z0-9.-]+\.[a-z]|@import|url\(|fetch\(|XMLHttpRequest", text):
        fail("it names a place outside of it")
    if not text.startswith("<!DOCTYPE html>") or not text.rstrip().endswith("</html>"):
        fail("it is not whole")
    page = Page()
    page.feed(text)
    page.close()
    if page.open:
        fail(f"not closed: {page.open}")
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = json.load(file)
    if json.loads(page.scripts["figures"]) != expected:
        fail("its figures are not those of --json")
    timeline = json.loads(page.scripts["timeline"])
    if not timeline or not all(arm["spans"] for arm in timeline):
        fail("an empty timeline")
    if not all(span[3] <= span[4] for arm in timeline for span in arm["spans"]):
        fail("a span that ends before it begins")
    print(f"{sys.argv[1]}: {len(text)} characters, {len(timeline)} timelines")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Lays out the sources of the site in one folder: the Markdown pages of the tree, the C and Python reference, and the files they link to.

Pages keep their paths, so relative links need no change. A link to a header leads to its reference page, and a link to any other
file to a page that shows it. A link to a missing file and a page that contents.txt does not place are errors.
"""
import os
import re
from pathlib import Path

import c_reference

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
CODE = re.compile(r"^(?P<fence> *(`{3,}|~{3,})).*?(?:\n *\2[`~]*[ ]*$|\Z)|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.M | re.S)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}[^\n]*)?\n)*(?: {4}[^\n]*)(?=\n|\Z)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PICTURE = re.compile(r'<picture>\s*<source[^>]*srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]+)">\s*</picture>')
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".md": "markdown", ".sh": "bash", ".txt": "text", "": "text"}
PYTHON = (
    ("sluice", "Datasets, loaders, batches, packing and measuring"),
    ("sluice.columns", "What a batch contains"),
    ("sluice.transforms", "Steps of a recipe"),
    ("sluice.transforms.presets", "Whole recipes"),
    ("sluice.remote", "Object stores"),
    ("sluice.cache", "The disk cache of remote data"),
    ("sluice.torch", "PyTorch"),
    ("sluice.lightning", "Lightning and Fabric"),
    ("sluice.accelerate", "accelerate"),
    ("sluice.transformers", "Trainer of Hugging Face"),
    ("sluice.timm", "timm"),
    ("sluice.keras", "Keras"),
    ("sluice.jax", "JAX"),
    ("sluice.torchtitan", "torchtitan"),
)

CONSTANTS = {"sluice.transformers": ("STATE_NAME",)}  # public names that automodule leaves out


class Stage:
    """The staged files and the errors found on the way."""

    def __init__(self, root, folder):
        self.root, self.folder = Path(root), Path(folder)
        self.errors = []
        self.texts = {}  # of the staged files, by path
        self.shown = set()  # files and folders that have a page below source/

    def write(self, path, text):
        self.texts[path] = text

    def copy(self, path):
        self.texts[path] = (self.root / path).read_bytes()

    def flush(self):
        """Writes what changed, so that Sphinx reads no other page again, and removes the rest."""
        for path, content in self.texts.items():
            target, data = self.folder / path, content if isinstance(content, bytes) else content.encode()
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() or target.read_bytes() != data:
                target.write_bytes(data)
        for file in self.folder.rglob("*"):
            if file.is_file() and file.relative_to(self.folder).as_posix() not in self.texts:
                file.unlink()

    # Markdown

    def is_page(self, path):
        return path in PAGES or (path.startswith("docs/") and path.endswith(".md") and (self.root / path).is_file())

    def page_of(self, target, path, line):
        """The page that shows `target`, a path from the root; None after an error."""
        if target == "README.md":
            return "index.md"
        if self.is_page(target):
            return target
        header = re.fullmatch(r"include/sluice(?:/(\w+)\.h)?", target)
        if header:
            return f"reference/c/{header.group(1) or 'index'}.rst"
        if not (self.root / target).exists():
            self.errors.append(f"{path}:{line}: the link to {target} leads nowhere")
            return None
        self.shown.add(target)
        return f"source/{target}/index.md" if (self.root / target).is_dir() else f"source/{target}.md"

    def markdown(self, path, text, at=None):
        """The text with its links to files rewritten, as the page `at`."""
        at = at or path
        masked = CODE.sub(blank, text)
        masked = INDENTED.sub(blank, masked)
        out, position = [], 0
        for match in LINK.finditer(masked):
            target, _, fragment = match.group(1).partition("#")
            if not target or re.match(r"[a-z]+:", target):
                continue
            whole = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if re.search(r"\.(png|svg)$", target) and (self.root / whole).is_file():
                self.copy(whole)
                continue
            page = self.page_of(whole, path, masked.count("\n", 0, match.start()) + 1)
            if page is None:
                continue
            link = os.path.relpath(page, os.path.dirname(at) or ".") + ("#" + fragment if fragment else "")
            out += [text[position:match.start(1)], link]
            position = match.end(1)
        text = "".join(out) + text[position:]
        return PICTURE.sub(self.figure, text)

    def figure(self, match):
        """Two images; the theme shows one of them."""
        dark, light, about = match.groups()
        for name in (dark, light):
            self.copy(name)
        return "\n\n".join(f"```{{image}} {name}\n:class: only-{theme}\n:alt: \"{about}\"\n```" for name, theme in ((light, "light"), (dark, "dark")))

    def pages(self):
        found = [path for path in PAGES if path != "README.md"]
        for file in sorted((self.root / "docs").rglob("*.md")):
            found.append(file.relative_to(self.root).as_posix())
        for path in found:
            self.write(path, self.markdown(path, (self.root / path).read_text()))
        self.write("index.md", self.markdown("README.md", (self.root / "README.md").read_text(), at="index.md"))
        return found

    # Source files

    def sources(self):
        """Pages of the files that are linked to; a folder also shows each file in it."""
        files = set()
        for path in sorted(self.shown):
            if not (self.root / path).is_dir():
                files.add(path)
                continue
            rows = []
            for entry in sorted((self.root / path).iterdir()):
                inner = f"{path}/{entry.name}"
                if not entry.is_file():
                    continue
                if not self.is_page(inner):
                    files.add(inner)
                page = inner if self.is_page(inner) else f"source/{inner}.md"
                rows.append(f"- [{entry.name}]({os.path.relpath(page, f'source/{path}')})")
            self.write(f"source/{path}/index.md", f"# {path}\n\n" + "\n".join(rows) + "\n")
        for path in sorted(files):
            text = (self.root / path).read_text()
            ticks = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
            language = LANGUAGES.get(os.path.splitext(path)[1], "text")
            self.write(f"source/{path}.md", f"# {path}\n\n{ticks}{language}\n{text}{ticks}\n")
        rows = [f"- [{path}]({path}{'/index' if (self.root / path).is_dir() else ''}.md)" for path in sorted(self.shown)]
        self.write("source/index.md", "# Source files\n\nFiles of the source tree that the pages link to.\n\n" + "\n".join(rows) + "\n")

    # Reference

    def c_pages(self, pages):
        headers = {}
        for file in sorted((self.root / "include/sluice").glob("*.h")):
            try:
                headers[file.stem] = c_reference.read(file.read_text())
            except ValueError as error:
                self.errors.append(f"include/sluice/{file.name}: {error}")
        writer = c_reference.Writer(c_reference.known_names(headers), {path.removesuffix(".md") for path in pages})
        rows = []
        for name, (head, items) in headers.items():
            self.write(f"reference/c/{name}.rst", writer.page(name, head, items))
            about = re.split(r"(?<=[.:])\s", re.sub(r"^[\w/]+\.h:\s*", "", head.replace("\n", " ")))[0]
            about = about[:1].upper() + about[1:].rstrip(":.") + "."
            rows += [f":doc:`sluice/{name}.h <{name}>`", "    " + writer.inline(about), ""]
        self.write("reference/c/index.rst", "\n".join([
            "C reference", "===========", "", "Include ``sluice/sluice.h`` for all of it, or single headers. :doc:`/docs/c` begins with a complete program.", "",
            *rows]))

    def python_pages(self):
        rows = []
        for module, about in PYTHON:
            self.write(f"reference/python/{module}.rst", "\n".join([
                module, "=" * len(module), "", f".. automodule:: {module}", "   :members:", "   :undoc-members:", "",
                *(f".. autodata:: {module}.{name}" for name in CONSTANTS.get(module, ())), ""]))
            rows += [f":doc:`{module} <{module}>`", f"    {about}", ""]
        self.write("reference/python/index.rst", "\n".join([
            "Python reference", "================", "", ":doc:`/docs/python` explains how these are used.", "", *rows]))

    # Contents

    def contents(self):
        """Appends to each page the list of the pages below it, as contents.txt arranges them."""
        lines = [line.rstrip() for line in (self.root / "docs/site/contents.txt").read_text().splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        existing = sorted(path for path in self.texts if path.endswith((".md", ".rst")))
        free = set(existing) - {line.strip() for line in lines} - {"index.md"}
        trees, caption, parent = {}, "", None
        for line in lines:
            depth, name = (len(line) - len(line.lstrip())) // 4, line.strip()
            if depth == 0:
                caption = name
                continue
            if "*" in name:
                found = sorted(path for path in free if matches(name, path))
                free -= set(found)
            else:
                found = [name]
                if name not in existing:
                    self.errors.append(f"docs/site/contents.txt: there is no page {name}")
            key = ("index.md", caption) if depth == 1 else (parent, "")
            trees.setdefault(key, []).extend(found)
            if depth == 1 and found:
                parent = found[-1]
        for path in sorted(free):
            self.errors.append(f"docs/site/contents.txt: no line places {path}")
        for (page, caption), found in trees.items():
            self.append_tree(page, caption, found)

    def append_tree(self, page, caption, found):
        if not found or page not in self.texts:
            return
        names = ["/" + re.sub(r"\.(md|rst)$", "", path) for path in found]
        options = [":hidden:"] + ([f":caption: {caption}"] if caption else [])
        if page.endswith(".md"):
            lines = ["", "```{toctree}", *options, "", *names, "```", ""]
        else:
            lines = ["", ".. toctree::", *("   " + option for option in options), "", *("   " + name for name in names), ""]
        self.texts[page] += "\n".join(lines)


def blank(match):
    return re.sub(r"[^\n]", "\0", match.group())


def matches(pattern, path):
    parts = re.split(r"(\*\*|\*)", pattern)
    expression = "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)
    return re.fullmatch(expression, path)


def stage(root, folder):
    """Lays out the sources in `folder`, and returns the errors."""
    one = Stage(root, folder)
    pages = one.pages()
    one.sources()
    one.c_pages(pages)
    one.python_pages()
    one.contents()
    one.flush()
    return one.errors

# SPDX-License-Identifier: Apache-2.0
"""Turns the docstrings of the Python package into reStructuredText, before napoleon reads their sections.

Docstrings are plain text: single backticks are code, an indented block is an example, and `name: text` lines describe arguments.
"""
import re

ENTRY = re.compile(r"(\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}[A-Za-z_]\w*)*): (.*)")
SECTION = re.compile(r"(Args|Arguments|Attributes|Example|Examples|Note|Notes|Raises|Returns|Warns|Warning|Yields|Keyword Args|See Also):$")


def escaped(text):
    """`text` with the characters escaped that reStructuredText would take for markup, outside of code."""
    pieces = re.split(r"(``[^`]+``|`[^`]+`)", text)
    for number in range(0, len(pieces), 2):
        pieces[number] = re.sub(r"_(?!\w)", r"\\_", re.sub(r"([\\*|])", r"\\\1", pieces[number])).replace("`", r"\`")
    for number in range(1, len(pieces), 2):  # a letter behind code: "`x`s"
        pieces[number] = "``" + pieces[number].strip("`") + "``" + (r"\ " if pieces[number + 1][:1].isalnum() else "")
        if pieces[number - 1][-1:].isalnum():
            pieces[number] = r"\ " + pieces[number]
    return "".join(pieces)


def blocks(lines):
    """Yields the runs of lines between empty ones."""
    run = []
    for line in [*lines, ""]:
        if line.strip():
            run.append(line)
        elif run:
            yield run
            run = []


def paragraph(lines):
    """A paragraph, or a list of arguments, each as an entry of a definition list."""
    out, text = [], []
    for line in lines:
        entry = ENTRY.match(line)
        if entry and not line.startswith(" "):
            out += flushed(text)
            names = ", ".join(f"``{name}``" for name in entry.group(1).split(", "))
            text = [names, "    " + entry.group(2)]
        elif text and text[-1].startswith("    ") and line.startswith("    "):
            text.append("    " + line.strip())
        elif text and text[-1].startswith("    "):
            out += flushed(text)
            text = [line]
        else:
            text.append(line)
    return out + flushed(text)


def flushed(text):
    if not text:
        return []
    if len(text) > 1 and text[1].startswith("    "):
        return [text[0], *escaped("\n".join(text[1:])).split("\n"), ""]
    return [*escaped("\n".join(line.strip() for line in text)).split("\n"), ""]


def section(lines):
    """A section for napoleon: its text escaped, the names of its entries and its examples unchanged."""
    if lines[0].startswith("Example"):
        return [*lines, ""]
    out = [lines[0]]
    for line in lines[1:]:
        entry = re.match(r"( +\*{0,2}[\w.]+(?: \([^)]*\))?: )(.*)", line)
        out.append(entry.group(1) + escaped(entry.group(2)) if entry else escaped(line))
    return [*out, ""]


def process(app, what, name, obj, options, lines):
    """Rewrites `lines`, the docstring of `obj`, in place: a handler of autodoc-process-docstring."""
    out, inside = [], ""  # the title of the section
    for run in blocks(list(lines)):
        if SECTION.match(run[0]):
            inside = run[0]
            out += section(run)
        elif run[0].startswith("    ") and inside:
            out += [*(line if inside.startswith("Example") else escaped(line) for line in run), ""]
        elif run[0].startswith(">>>"):
            out += [*run, ""]
        elif run[0].startswith("    "):
            out += [".. code-block:: python", "", *("   " + line for line in run), ""]
        else:
            inside = ""
            out += paragraph(run)
    # napoleon takes "text: text" in the first line of a property for its type.
    lines[:] = ["", *out] if what in ("attribute", "data", "property") else out

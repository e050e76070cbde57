# SPDX-License-Identifier: Apache-2.0
"""Writes the reference pages of the C interface from the comments of include/sluice/*.h.

The headers are laid out by clang-format, so a reader of lines is enough: a comment directly above a declaration, or behind a member,
describes it; any other comment is a paragraph of the page. A line that is neither raises an error, so no declaration is lost silently.
"""
import re

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/)
  | (?P<directive>^[ ]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<space>\s+)
  | (?P<code>[^\s])
""", re.S | re.M | re.X)
ATTRIBUTE = re.compile(r"\bSLUICE_(?:API|MUST_CHECK)\b\s*")
NAME = re.compile(r"\b(?:sluice|SLUICE)_\w+(?:\.\w+)?(?:\(\))?")
PAGE = re.compile(r"\bdocs/([\w-]+(?:/[\w-]+)?)\.md\b")
ROLES = {"function": "func", "struct": "struct", "enum": "enum", "enumerator": "enumerator", "macro": "macro", "member": "member",
         "type": "type"}


class Declaration:
    def __init__(self, kind, name, text, comment, line, parts=()):
        self.kind, self.name, self.text, self.comment, self.line, self.parts = kind, name, text, comment, line, parts
        self.more = []  # signatures of functions that share the comment


def comment_text(token):
    """The text of a comment, its stars and common indentation removed."""
    body = token[2:-2]
    lines = body.split("\n")
    starred = all(re.match(r"\s*\*(?: |$)|\s*$", line) for line in lines[1:])
    lines = [lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() if starred else line.strip() for line in lines[1:]]
    return "\n".join(lines).strip("\n").rstrip()


def statements(text):
    """Yields (kind, text, first line, last line) of comments, directives and declarations at the top level."""
    position, depth, begin, code = 0, 0, None, ""
    line_of = lambda offset: text.count("\n", 0, offset) + 1  # noqa: E731
    while position < len(text):
        match = TOKEN.match(text, position)
        position = match.end()
        kind = match.lastgroup
        if begin is None and kind in ("comment", "directive"):
            yield kind, match.group(), line_of(match.start()), line_of(match.end() - 1)
            continue
        if begin is None and kind == "space":
            continue
        if begin is None:
            begin = match.start()
        depth += {"{": 1, "}": -1}.get(match.group(), 0) if kind == "code" else 0
        code = text[begin:position]
        inline_end = match.group() == "}" and depth == 0 and code.startswith("static inline")
        if (match.group() == ";" and depth == 0) or inline_end:
            yield "code", code, line_of(begin), line_of(position - 1)
            begin = None
    if begin is not None:
        raise ValueError(f"line {line_of(begin)}: a declaration without an end")


def without_glue(text):
    """The header's text without the lines for C++ and platforms, newlines kept."""
    text = re.sub(r'#ifdef __cplusplus\n.*?#endif', lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return re.sub(r'^#if defined\(_WIN32\)\n.*?#else\n(.*?)#endif', lambda m: "\n\n\n" + m.group(1) + "\n", text, flags=re.S | re.M)


def parts_of(body, separator):
    """Returns (text, comment) of each part between separators: members of a struct, or enumerators."""
    found, before, code, depth, same_line = [], "", "", 0, False
    for match in re.finditer(r"(/\*.*?\*/)|(\s+)|(.)", body + " ", re.S):
        comment, space, letter = match.groups()
        if comment and code.strip():  # behind the last enumerator, which has no comma
            found.append((" ".join(code.split()), before))
            code, before, same_line = "", "", True
        if comment and same_line and found:
            text, about = found[-1]
            found[-1] = text, "\n\n".join(filter(None, (about, comment_text(comment))))
        elif comment:
            before = "\n\n".join(filter(None, (before, comment_text(comment))))
        elif space:
            same_line = same_line and "\n" not in space
            code += space
        elif letter == separator and depth == 0:
            found.append((" ".join(code.split()), before))
            code, before, same_line = "", "", True
        else:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            code += letter
    if code.strip():
        found.append((" ".join(code.split()), before))
    return found


def members_of(body, line):
    """One declaration for each member; those of one line share its comment."""
    members = []
    for text, comment in parts_of(body, ";"):
        first, *others = [text] if "(" in text else [name.strip() for name in text.split(",")]
        names = [first] + [re.match(r"(.*[\s*])\w+", first).group(1) + name for name in others]
        for whole in names:
            match = re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[[^\]]*\])*$", whole)
            if match is None:
                raise ValueError(f"line {line}: cannot read the member {whole!r}")
            members.append(Declaration("member", match.group(1) or match.group(2), whole, comment, line))
    return members


def read(text):
    """Returns (head comment, list of Declarations and free comments) of a header."""
    head, items, attached = "", [], None
    last_end = None
    for kind, token, first, last in statements(without_glue(text)):
        if kind == "comment":
            body = comment_text(token)
            if "SPDX" in body:
                continue
            if not head:
                head = body
                continue
            if attached:
                items.append(attached[0])
            attached = body, last
            continue
        comment = ""
        if attached and attached[1] == first - 1:
            comment, attached = attached[0], None
        elif attached:
            items.append(attached[0])
            attached = None
        if kind == "directive":
            declared = macro(token, comment, first)
        else:
            declared = declaration(token, comment, first)
        if declared is None:
            if comment:
                items.append(comment)
            continue
        previous = items[-1] if items else None
        if (not comment and declared.kind == "function" and isinstance(previous, Declaration) and previous.kind == "function" and
                last_end == first - 1):
            previous.more.append(declared)
        else:
            items.append(declared)
        last_end = last
    if attached:
        items.append(attached[0])
    return head, items


def macro(token, comment, line):
    match = re.match(r"\s*#\s*define (\w+)(\([^)]*\))?\s*(.*)", token, re.S)
    if not match or match.group(1).endswith("_H"):
        return None
    value = match.group(3)
    trailing = re.search(r"/\*(.*?)\*/", value, re.S)
    if trailing:
        comment = "\n\n".join(filter(None, (comment, comment_text(trailing.group()))))
        value = value.replace(trailing.group(), "")
    value = " ".join(value.replace("\\\n", " ").split())
    return Declaration("macro", match.group(1), value, comment, line)


def declaration(token, comment, line):
    match = re.match(r"typedef (struct|enum) (\w+) \{(.*)\} (\w+);$", token, re.S)
    if match:
        kind, _, body, name = match.groups()
        if kind == "struct":
            return Declaration(kind, name, name, comment, line, members_of(body, line))
        values = [Declaration("enumerator", text.split(" =")[0], text, about, line) for text, about in parts_of(body, ",")]
        return Declaration(kind, name, name, comment, line, values)
    if re.match(r"struct \w+;$", token):
        return None
    match = re.match(r"enum \{(.*)\};$", token, re.S)
    if match:
        values = [Declaration("enumerator", text.split(" =")[0], text, about, line) for text, about in parts_of(match.group(1), ",")]
        return Declaration("enum", "", f"@values_{line}", comment, line, values)
    match = re.match(r"typedef struct \w+ (\w+);$", token)
    if match:
        return Declaration("struct", match.group(1), match.group(1), comment or "An opaque handle.", line)
    match = re.match(r"typedef (.*\(\*(\w+)\).*);$", token, re.S)
    if match:
        return Declaration("type", match.group(2), " ".join(match.group(1).split()), comment, line)
    text = re.sub(r"\s*\{.*\}$", "", token, flags=re.S).rstrip(";")
    text = re.sub(r"^static inline ", "", " ".join(ATTRIBUTE.sub("", text).split()))
    match = re.match(r"[\w\s*]*?\b(\w+)\(", text)
    if not match:
        raise ValueError(f"line {line}: cannot read {token.splitlines()[0]!r}")
    found = Declaration("function", match.group(1), text, comment, line)
    found.checked = "SLUICE_MUST_CHECK" in token
    return found


def known_names(headers):
    """(role, target) by name, members as struct.member, of {header: (head, items)}."""
    roles = {}
    for _, items in headers.values():
        for item in items:
            if isinstance(item, str):
                continue
            for one in (item, *item.more):
                roles[one.name] = ROLES[one.kind], one.name
            for part in item.parts:
                # Sphinx, when it reads pages in parallel, finds enumerators by the name of their enum only.
                target = f"{item.text}.{part.name}"
                roles[part.name if item.kind == "enum" else target] = ROLES[part.kind], target
    return roles


class Writer:
    """Turns texts of comments into reStructuredText. `pages`: names of existing pages of docs, without the ending."""

    def __init__(self, roles, pages):
        self.roles, self.pages = roles, pages

    def reference(self, word):
        name = word.removesuffix("()")
        if name not in self.roles:
            return None if name.endswith("_") else f"``{word}``"
        role, target = self.roles[name]
        return f":c:{role}:`{name}`" if target == name else f":c:{role}:`{name} <{target}>`"

    def inline(self, text):
        out = []
        for number, piece in enumerate(re.split(r"`([^`\n]+(?:\n[^`\n]+)?)`", text)):
            if number % 2:
                piece = " ".join(piece.split())
                out.append((self.reference(piece) if NAME.fullmatch(piece) else None) or f"``{piece}``")
                continue
            position = 0
            for match in re.finditer(f"{NAME.pattern}|{PAGE.pattern}", piece):
                out.append(escaped(piece[position:match.start()]))
                position = match.end()
                if match.group(1):
                    page = f"/docs/{match.group(1)}"
                    out.append(f":doc:`{match.group()} <{page}>`" if page[1:] in self.pages else f"``{match.group()}``")
                else:
                    out.append(self.reference(match.group()) or escaped(match.group()))
            out.append(escaped(piece[position:]))
        return joined(out)

    def text(self, comment):
        lines, out, block = comment.split("\n"), [], []
        for line in lines + [""]:
            indented = line.startswith("  ")
            if block and (not line or indented != block[0].startswith("  ")) and not (line and is_item(block[0])):
                out += self.block(block)
                block = []
            if line:
                block.append(line)
            elif out and out[-1]:
                out.append("")
        return out

    def block(self, lines):
        if lines[0].startswith("  "):
            language = "c" if re.search(r"^ +[\w *]+(?:\(| = ).*[;{]$", "\n".join(lines), re.M) else "text"
            return ["", f".. code-block:: {language}", ""] + ["   " + line for line in lines] + [""]
        if is_item(lines[0]):
            return ["", *self.inline("\n".join(lines)).split("\n"), ""]
        return [*self.inline("\n".join(lines)).split("\n"), ""]

    def page(self, header, head, items):
        title = f"sluice/{header}.h"
        head = re.sub(rf"^{re.escape(title)}:\s*", "", head)
        head = head[:1].upper() + head[1:]
        out = [f".. _c-{header}:", "", title, "=" * len(title), "", *self.text(head), ""]
        for item in items:
            out += self.text(item) if isinstance(item, str) else self.declaration(item)
            out.append("")
        return "\n".join(out) + "\n"

    def declaration(self, item):
        signatures = [one.text if item.kind != "macro" else one.name for one in (item, *item.more)]
        out = [f".. c:{item.kind}:: {signatures[0]}"]
        out += [" " * len(f".. c:{item.kind}:: ") + other for other in signatures[1:]]
        body = self.text(item.comment) if item.comment else []
        if item.kind == "macro":
            body += self.value(item)
        if any(getattr(one, "checked", False) for one in (item, *item.more)):
            body += ["", "The compiler warns if a program ignores the result."]
        for part in item.parts:
            body += ["", f".. c:{part.kind}:: {part.text}", ""]
            body += ["   " + line if line else "" for line in (self.text(part.comment) if part.comment else [])]
        return out + [""] + ["   " + line if line else "" for line in body] + [""]

    def value(self, item):
        owner = item.name.removesuffix("_INIT").lower()
        if item.name.endswith("_INIT") and owner in self.roles:
            return ["", f"Initializes a :c:struct:`{owner}`: sets ``struct_size``, and each other member to its default."]
        if item.text and len(item.text) < 60:
            return ["", f"Value: ``{item.text}``"]
        return []


def is_item(line):
    return line.startswith("- ")


def escaped(text):
    text = re.sub(r"([\\*`|])", r"\\\1", text)
    return re.sub(r"_(?!\w)", r"\\_", text)


def joined(pieces):
    """Joins pieces of text and roles, with an empty separator where reStructuredText needs one between a role and a letter."""
    out = ""
    for piece in pieces:
        if not piece:
            continue
        markup = piece.startswith((":c:", ":doc:", "``"))
        if markup and out and not re.search(r"[\s'\"(\[{<\-/:]$", out):
            out += "\\ "
        elif not markup and re.search(r"`$", out) and not re.match(r"[\s'\")\]}>\-/\\:.,;!?]", piece):
            out += "\\ "
        out += piece
    return out

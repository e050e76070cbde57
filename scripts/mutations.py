# SPDX-License-Identifier: Apache-2.0
"""mutations: small faults in C code, as scripts/mutants plants them one at a time.

A mutation replaces a few bytes of one line. Comments, texts, preprocessor lines, assertions and code outside of functions stay as they are.
The choice is deterministic: it depends on the seed and on the text of the line, so an edit elsewhere changes no other mutation's rank.
"""
import bisect
import collections
import hashlib
import os
import re

Mutation = collections.namedtuple("Mutation", "id kind path line before changed span new")

HIDDEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*", re.S | re.M
)
ASSERTION = re.compile(r"\b(?:assert|_Static_assert|static_assert)\s*\(")
CALLS = r"sl_lock|sl_unlock|sl_cond_signal|sl_cond_broadcast"
PLACE = r"[\w*][\w.]*(?:(?:->|\.)\w+|\[[^\]\n=]+\])*"
WEAKER = {"seq_cst": "relaxed", "acq_rel": "relaxed", "acquire": "relaxed", "release": "relaxed"}
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "+=": "-=", "-=": "+=", "<<": ">>", ">>": "<<", "|": "&", "&": "|"}
RETURNS = {"true": "false", "false": "true", "SLUICE_OK": "SLUICE_INTERNAL", "0": "1", "1": "0"}


def plus_one(found):
    digits, suffix = re.match(r"(0[xX][0-9a-fA-F]+|\d+)(\w*)", found["n"]).groups()
    value = int(digits, 0) if digits.startswith(("0x", "0X")) else int(digits)
    # Up or down by one, depending on the column: both occur.
    down = value > 0 and (found.start() - found.string.rfind("\n", 0, found.start()) + value) % 2
    return f"{value - 1 if down else value + 1}{suffix}"


# kind: (pattern, replaced group, replacement)
KINDS = {
    "logic": (r" (?P<n>&&|\|\|)(?=\s)", lambda m: "||" if m["n"] == "&&" else "&&"),
    "negation": (r"\bif \((?P<n>[^\n]+)\) ?\{?$", lambda m: f"!({m['n']})"),
    "relation": (r" (?P<n><=|>=|==|!=|<|>) ", lambda m: RELATIONS[m["n"]]),
    "bound": (r"(?P<n>\b[\w.>-]+ <=?) (?!0\b)[\w.>-]+(?:;|\))", lambda m: re.sub(r" (<=?)$", r" + 1 \1", m["n"])),
    "arithmetic": (r"(?<=[\w)\]]) (?P<n>\+=|-=|<<|>>|[-+*/%|&]) ", lambda m: ARITHMETIC[m["n"]]),
    "constant": (r"(?<![\w.'])(?P<n>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)(?![\w.])", plus_one),
    "call": (rf"^[ ]+(?P<n>(?:{CALLS})\([^;\n]*\));$", lambda m: "(void)0"),
    "assignment": (rf"^[ ]+(?P<n>{PLACE} (?:[-+|&]?=) [^;\n]+);$", lambda m: "(void)0"),
    "return": (r"\breturn (?P<n>true|false|SLUICE_OK|0|1);", lambda m: RETURNS[m["n"]]),
    "result": (r"\breturn (?P<n>[a-z]\w*);", lambda m: m["n"] if m["n"] in RETURNS else "0"),
    "order": (r"\bmemory_order_(?P<n>seq_cst|acq_rel|acquire|release)\b", lambda m: WEAKER[m["n"]]),
}
PATTERNS = {kind: (re.compile(pattern, re.M), replace) for kind, (pattern, replace) in KINDS.items()}


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def visible(text):
    """Returns the text with everything except function code blanked, character by character."""
    text = HIDDEN.sub(lambda m: blank(m[0]), text)
    out, depth, at = list(text), 0, 0
    while at < len(text):
        found = ASSERTION.match(text, at) if depth else None
        if found:
            end, open_ = found.end(), 1
            while open_ and end < len(text):
                open_ += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            out[at:end] = blank(text[at:end])
            at = end
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0 and text[at] != "\n":
            out[at] = " "
        at += 1
    return "".join(out)


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def mutations_of(path, text):
    """Returns all mutations of a file, in its order."""
    code = visible(text)
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    seen = collections.Counter()
    for kind, (pattern, replace) in PATTERNS.items():
        for found in pattern.finditer(code):
            begin, end = found.span("n")
            new = replace(found)
            if new == found["n"]:
                continue
            line = bisect.bisect_right(starts, begin) - 1
            from_, to = starts[line], text.find("\n", end)
            before = text[from_:to]
            after = text[from_:begin] + new + text[end:to]
            seen[kind, before, after] += 1
            name = digest(path, kind, before, after, seen[kind, before, after])[:10]
            yield Mutation(name, kind, path, line + 1, before.strip(), after.strip(), (begin, end), new)


def module_of(path):
    return os.path.dirname(path).removeprefix("src/")


def ranked(paths, seed, read):
    """Returns all mutations of the files by priority: modules in turn, and in each module its kinds in turn."""
    modules = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted(paths):
        for mutation in mutations_of(path, read(path)):
            modules[module_of(path)][mutation.kind].append(mutation)
    queues = []
    for module, kinds in sorted(modules.items()):
        for found in kinds.values():
            found.sort(key=lambda m: digest(seed, m.id))
        order = sorted(kinds, key=lambda kind: digest(seed, module, kind))
        rows = max(map(len, kinds.values()))
        queues.append([kinds[kind][row] for row in range(rows) for kind in order if row < len(kinds[kind])])
    return [queue[turn] for turn in range(max(map(len, queues), default=0)) for queue in queues if turn < len(queue)]

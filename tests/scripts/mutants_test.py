#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mutants_test.py ROOT: checks that scripts/mutations.py plants the right faults in the right places, reproducibly, and that
tests/mutants/equivalent.txt is up to date."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts"))
import mutations  # noqa: E402

TEXT = """#define FOUR (4 && 5)
/* a && b */
static const int outside = 3 + 4;
static int f(int a, int b, lock *l)
{
    assert(a < 7 && b);
    sl_lock(&l->mutex);
    l->count = a + 12;
    for (int i = 0; i < b; i++) {
        say("1 && 2", '+'); // a - b
    }
    if (a > 2 && !b) {
        atomic_store_explicit(&l->flag, true, memory_order_release);
    }
    sl_unlock(&l->mutex);
    return a;
}
static bool g(void)
{
    return true;
}
"""
# kind: the changed lines
WANTED = {
    "logic": {"if (a > 2 || !b) {"},
    "negation": {"if (!(a > 2 && !b)) {"},
    "relation": {"for (int i = 0; i <= b; i++) {", "if (a >= 2 && !b) {"},
    "bound": {"for (int i = 0; i + 1 < b; i++) {"},
    "arithmetic": {"l->count = a - 12;"},
    "call": {"(void)0;"},
    "assignment": {"(void)0;"},
    "return": {"return false;"},
    "result": {"return 0;"},
    "order": {"atomic_store_explicit(&l->flag, true, memory_order_relaxed);"},
}


def check_kinds():
    found = list(mutations.mutations_of("src/x/y.c", TEXT))
    for kind in mutations.KINDS:
        lines = {mutation.changed for mutation in found if mutation.kind == kind}
        if kind == "constant":  # up or down, as the place says
            assert {re.sub(r"\d+", "#", line) for line in lines} == {"l->count = a + #;", "for (int i = #; i < b; i++) {", "if (a > # && !b) {"}, lines
        else:
            assert lines == WANTED[kind], (kind, lines)
    assert len({mutation.id for mutation in found}) == len(found)
    for mutation in found:
        begin, end = mutation.span
        changed = TEXT[:begin] + mutation.new + TEXT[end:]
        assert changed.splitlines()[mutation.line - 1].strip() == mutation.changed, mutation
        assert changed.count("\n") == TEXT.count("\n")


def check_ranks():
    files = {f"src/{name}.c": TEXT for name in ("a/x", "a/y", "b/z")}
    ranked = mutations.ranked(files, "1", files.get)
    assert [mutations.module_of(mutation.path) for mutation in ranked[:4]] == ["a", "b", "a", "b"]
    assert len({mutation.kind for mutation in ranked[:8:2]}) == 4
    assert [mutation.id for mutation in ranked] == [mutation.id for mutation in mutations.ranked(files, "1", files.get)]
    assert [mutation.id for mutation in ranked] != [mutation.id for mutation in mutations.ranked(files, "2", files.get)]
    # An edit elsewhere, which moves lines, changes no identity.
    moved = {name: "/* more */\n" + text for name, text in files.items()}
    assert [mutation.id for mutation in ranked] == [mutation.id for mutation in mutations.ranked(moved, "1", moved.get)]


def check_equivalent():
    text = (ROOT / "tests/mutants/equivalent.txt").read_text(encoding="utf-8")
    blocks = re.findall(r"^(src/\S+)\n  - (.*)\n  \+ (.*)\n  (\S.*)", text, re.M)
    assert len(blocks) == len(re.findall(r"^[^#\s]", text, re.M)), "each block is a file, two lines and a reason"
    for path, before, changed, _ in blocks:
        source = ROOT / path
        assert source.is_file(), path
        known = {(m.before, m.changed) for m in mutations.mutations_of(path, source.read_text(encoding="utf-8"))}
        assert (before, changed) in known, f"{path} has no such mutant any more: {before} -> {changed}"


check_kinds()
check_ranks()
check_equivalent()

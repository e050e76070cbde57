#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packing_texts.py [LENGTH ...] [--level RANKSxROWS]: packs texts of this machine, also with a packer that uses a buffer.

Texts: the docstrings of Python's library (/usr/lib/python3.*), in words and in bytes, and the manual pages of /usr/share/man, in bytes.
Rows have LENGTH [2048 8192] tokens, at most 32 or 1024 documents, each padded to a multiple of 1 or 16. Prints a Markdown table: padding,
documents cut, and tokens in rows and tokens with a target, relative to tokens read. The last row is packing_greedy.py's `crop`, which loses
tokens. The last token of a document has no target. Needs the sluice package in PYTHONPATH.

--level 8x4: measures the gain of level=True on 8 ranks of 4 rows instead. Opens the loaders of all ranks, one after the other, and sums the
attention cost (squared document lengths) of the most expensive rank over the steps of an epoch, relative to the mean rank.
"""
import argparse
import ast
import glob
import gzip
import sys
import tempfile

import numpy
import packing_greedy

import sluice
from sluice import columns as C


def docstrings():
    found = []
    for path in sorted(glob.glob("/usr/lib/python3.*/**/*.py", recursive=True)):
        try:
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found += [text for node in ast.walk(tree) if isinstance(node, nodes) and (text := ast.get_docstring(node))]
    return found


def manuals():
    found = []
    for path in sorted(glob.glob("/usr/share/man/man*/*.gz")):
        with gzip.open(path) as file:
            found.append(file.read())
    return found


def percent(share):
    return f"{100 * share:.2f} %"


def show(name, lengths, length):
    for cut, most, align in (("long", 32, 1), ("long", 1024, 1), ("long", 1024, 16), ("split", 1024, 1)):
        made = sluice.packed_rows(lengths, length, cut=cut, max_documents=most, align=align)
        cells = [percent(made.padding), percent(made.cut / made.documents), percent(1), percent(made.targets / made.tokens)]  # no token is lost
        print(f"| {name} | {length} | {cut}, {most} a row, align {align} | {made.rows} | {' | '.join(cells)} |")
    rows, used, cut = packing_greedy.pack(lengths, length, 1000, True)
    cells = [percent(1 - used / rows / length), percent(cut / len(lengths)), percent(used / sum(lengths)), percent((used - len(lengths)) / sum(lengths))]
    print(f"| {name} | {length} | a buffer of 1,000 that crops | {rows} | {' | '.join(cells)} |")


def cost_of_ranks(data, length, ranks, rows, level):
    """Returns the largest cost relative to the mean, summed over steps."""
    columns, costs = {"tokens": C.Packed(length=length, cut="long", max_documents=1024)}, []
    for rank in range(ranks):
        with sluice.Loader(data, batch_size=rows, shuffle=True, drop_last=True, columns=columns, rank=rank, world_size=ranks, level=level) as loader:
            costs.append([int((batch["tokens.lengths"].numpy().astype("int64") ** 2).sum()) for batch in loader])
    costs = numpy.array(costs)
    return costs.max(0).sum() / costs.mean(0).sum()


def show_level(name, lengths, length, ranks, rows):
    made = sluice.packed_rows(lengths, length, cut="long", max_documents=1024).rows
    if made < ranks * rows:
        print(f"| {name} | {length} | {ranks} x {rows} | {made} rows do not fill a step | |")
        return
    with tempfile.TemporaryDirectory() as folder:
        with sluice.Writer(f"{folder}/set", {"tokens": ("tensor", "uint8", (0,))}, zstd="off") as writer:
            for n in lengths:
                writer.add(tokens=numpy.zeros(n, "uint8"))
        plain, level = (cost_of_ranks(sluice.Dataset(f"{folder}/set"), length, ranks, rows, level) for level in (False, True))
    print(f"| {name} | {length} | {ranks} x {rows} | {plain:.3f} | {level:.3f} |")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("lengths", metavar="LENGTH", type=int, nargs="*", default=[2048, 8192])
    parser.add_argument("--level", metavar="RANKSxROWS", type=lambda text: tuple(int(number) for number in text.split("x")))
    return parser.parse_args()


def main():
    given = parse()
    texts, pages = docstrings(), manuals()
    if given.level:
        print("| tokens | row | ranks x rows | plain | level |\n|---|---|---|---|---|")
    else:
        print("| tokens | row | packed | rows | padding | documents cut | tokens in rows | trained |\n|---|---|---|---|---|---|---|---|")
    for name, lengths in (
        ("words of docstrings", [len(text.split()) for text in texts]),
        ("bytes of docstrings", [len(text.encode()) for text in texts]),
        ("bytes of manual pages", [len(page) for page in pages]),
    ):
        lengths = [length for length in lengths if length]
        ordered = sorted(lengths)
        print(f"{name}: {len(lengths)}, median {ordered[len(ordered) // 2]}, longest {ordered[-1]}, {sum(lengths)} in all", file=sys.stderr)
        for length in given.lengths:
            if given.level:
                show_level(name, lengths, length, *given.level)
            else:
                show(name, lengths, length)


if __name__ == "__main__":
    main()

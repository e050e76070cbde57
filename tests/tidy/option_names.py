#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""option_names.py ROOT: what the library's sentences call options, each front end has its own word for.

Names are marked in src (SL_OPTION), and in the tables of tools/sluice/common/option_names.c and
python/src/option_names.c there is a row for each, in order, which names something that there is. Prints one line per
finding and exits 1 when there is any.
"""
import pathlib
import re
import sys

TOOL, PYTHON = "tools/sluice/common/option_names.c", "python/src/option_names.c"
# Sentences that are no error's: a file that unpack leaves, and another program's option.
MAY_SAY_FLAGS = {"src/unpack/target.c": "--overwrite", "src/base/unpack_stream.c": "--long"}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SENTENCE = re.compile(r"\b(?:sl_error_\w+|sl_refuse\w*)\((?:[^()]|\([^()]*\))*\)", re.S)


def read(root, pattern):
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(root.glob(pattern))}


def marked(sources):
    names = set()
    for path, text in sources.items():
        if path.startswith("src/base/option_text"):
            continue
        text = re.sub(r"\\\n", "\n", text)
        names |= set(re.findall(r'SL_OPTION\(\s*"([^"]*)"\s*\)', text))
    if "%s" in names:  # the loader's ranges
        names.remove("%s")
        names |= set(re.findall(r'^        \{"(\w+)", ', sources["src/loader/config.c"], re.M))
    return names


def table(text):
    rows = re.findall(r'^    \{"([^"]*)", (NULL|"(?:[^"\\]|\\.)*")\},', text, re.M)
    return [(name, None if own == "NULL" else own[1:-1]) for name, own in rows]


def check_table(path, rows, names):
    keys = [name for name, _ in rows]
    if keys != sorted(keys):
        yield f"{path}: the rows are not in order"
    for name in sorted(names.symmetric_difference(keys)):
        yield f"{path}: {name!r} is " + ("not in the table" if name in names else "in no sentence of the library")


def check_flags(root, rows):
    known = set()
    for text in (read(root, "tools/sluice/**/*.c") | read(root, "tools/sluice/**/*.h")).values():
        known |= set(re.findall(r'\{\s*"([a-z][a-z-]*)"', text.replace("\\\n", "\n")))
    for name, own in rows:
        if own is not None and not (own.startswith("--") and own[2:].split()[0] in known):
            yield f"{TOOL}: {own!r}, for {name!r}, is no option of the tool"


def check_keywords(root, rows):
    text = "\n".join(read(root, "python/sluice/*.py").values())
    for name, own in rows:
        word = re.match(r"(?:sluice\.)?(\w+)", own or "")
        if own is None or not word:
            yield f"{PYTHON}: there is nothing for {name!r}"
        elif not re.search(rf"\b{word[1]}: |def {word[1]}\(", text):
            yield f"{PYTHON}: {own!r}, for {name!r}, is no argument of the package"


def check_sentences(sources, names):
    """Nothing names an option without a mark. The interface's own checks of structs speak to C alone."""
    members = [name for name in names if "_" in name and " " not in name]
    for path, text in sources.items():
        for literal in LITERAL.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
            flag = re.search(r"(?<![\w-])--[a-z][a-z-]+", literal)
            if flag and MAY_SAY_FLAGS.get(path) != flag[0]:
                yield f"{path}: {flag[0]} is the tool's word: mark the library's"
        if path.startswith("src/api/"):
            continue
        for sentence in SENTENCE.findall(text):
            plain = " ".join(LITERAL.findall(re.sub(r'SL_OPTION\(\s*"[^"]*"\s*\)', "", sentence)))
            for name in members:
                if re.search(rf"\b{name}\b", plain):
                    yield f"{path}: {name} stands in a sentence without a mark"


def check(root):
    sources = read(root, "src/**/*.c") | read(root, "src/**/*.h")
    names = marked(sources)
    if len(names) < 20:
        yield f"only {len(names)} names are marked in src"
    tool, python = (table((root / path).read_text(encoding="utf-8")) for path in (TOOL, PYTHON))
    yield from check_table(TOOL, tool, names)
    yield from check_table(PYTHON, python, names)
    yield from check_flags(root, tool)
    yield from check_keywords(root, python)
    yield from check_sentences(sources, names)


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1], "src").is_dir():
        sys.exit("usage: option_names.py ROOT")
    findings = list(check(pathlib.Path(sys.argv[1])))
    print("\n".join(findings) if findings else "option names: nothing to say")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

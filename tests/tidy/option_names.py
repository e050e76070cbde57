#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""option_names.py ROOT: checks that each front end has its own word for every option named in the library's messages.

Names are marked in src (SL_OPTION). Each must be in the table of options (src/options/*_table.c) or a phrase of
src/options/spelling.c, and its names in Python and the tool must exist. Prints one line per finding and exits with 1 if there
is any.

Findings in one text are cached (`of_text`): option_names_test.py checks trees that differ by a file.
"""
import functools
import pathlib
import re
import sys

TABLES = ("src/options/loader_table.c", "src/options/dataset_table.c", "src/options/remote_table.c")
PHRASES = "src/options/spelling.c"
# Texts that are not errors: a file that unpack leaves, and another program's option.
MAY_SAY_FLAGS = {"src/unpack/target.c": {"--overwrite"}, "src/base/unpack_stream.c": {"--long"},
                 "src/remote/credentials_aws.c": {"--profile", "--format"}}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"/\*.*?\*/", re.S)
MARK = re.compile(r'SL_OPTION\(\s*"[^"]*"\s*\)')
NAMED = re.compile(r"\boptions? +\\?\"?([a-z]\w*)")
SENTENCE = re.compile(r"\b(?:sl_error_\w+|sl_refuse\w*)\((?:[^()]|\([^()]*\))*\)", re.S)

of_text = functools.lru_cache(maxsize=None)


def read(root, pattern):
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(root.glob(pattern))}


@of_text
def marked_in(text):
    return frozenset(re.findall(r'SL_OPTION\(\s*"([^"]*)"\s*\)', text.replace("\\\n", "\n")))


def marked(sources):
    return set().union(*(marked_in(text) for path, text in sources.items() if not path.startswith(("src/base/option_text", "src/options/"))))


def table(text):
    """Returns (name, flag, keyword) of each row."""
    for row in re.findall(r"^    \{(.*?)\},$", text, re.M | re.S):
        name = re.match(r"(?:SL_\w+\(\s*\w+,\s*|[A-Z]+\()(\w+)", row)
        yield (name[1], *(found and found[1] for found in (re.search(rf'\.{member} = "([^"]+)"', row) for member in ("flag", "keyword"))))


def phrases(text):
    """(name, flag, keyword) of each row; None: that front end has no such option."""
    for name, spelled in re.findall(r'^    \{("[^\n{]*"),\s+\{(.*?)\}\},$', text, re.M | re.S):
        words = re.findall(LITERAL.pattern + r"|NULL", spelled)
        yield (name.strip('"'), *(word.replace('\\"', '"') or None for word in words))


def check_phrases(rows, names):
    keys = [name for name, _, _ in rows]
    if keys != sorted(keys):
        yield f"{PHRASES}: the phrases are not in order"
    for name in sorted(set(keys) - names):
        yield f"{PHRASES}: {name!r} is in no sentence of the library"


@of_text
def words_of_tool(text):
    return re.findall(r'\{\s*"([a-z][a-z-]*)"', text.replace("\\\n", "\n"))


def check_flags(root, rows, known):
    """Table rows are options of the tool; phrases may name those or the tool's own options."""
    known = {flag for _, flag, _ in known if flag}
    for text in (read(root, "tools/sluice/**/*.c") | read(root, "tools/sluice/**/*.h")).values():
        known |= {f"--{name}" for name in words_of_tool(text)}
    for name, flag, _ in rows:
        if flag and flag.split()[0] not in known:
            yield f"{PHRASES}: {flag!r}, for {name!r}, is not an option of the tool"


@of_text
def arguments_in(text):
    """Returns names with a type, and functions."""
    return {*re.findall(r"\b(\w+): ", text), *re.findall(r"def (\w+)\(", text)}


def check_keywords(root, rows):
    known = set().union(*map(arguments_in, read(root, "python/sluice/**/*.py").values()))
    for name, _, keyword in rows:
        word = re.match(r"(?:sluice\.)?(\w+)", keyword or "")
        if word and word[1] not in known:
            yield f"{keyword!r}, for {name!r}, is not an argument in the package"


def members_of(headers):
    """Returns the members of the public option structs."""
    bodies = re.findall(r"^typedef struct sluice_(?:\w*options|column) \{(.*?)^\}", "\n".join(headers.values()), re.M | re.S)
    return {name for body in bodies for name in re.findall(r"\b(\w+)(?:\[\w*\])?(?:, \w+)*;", re.sub(r"/\*.*?\*/", "", body, flags=re.S))}


@of_text
def flags_in(text):
    """Finds the tool's options, by their own words, in literals."""
    found = (re.search(r"(?<![\w-])--[a-z][a-z-]+", literal) for literal in LITERAL.findall(COMMENT.sub("", text)))
    return [flag[0] for flag in found if flag]


@of_text
def words_of_sentences(text):
    """For each call that makes an error, finds words without a mark."""
    return [frozenset(re.findall(r"\w+", " ".join(LITERAL.findall(MARK.sub("", sentence))))) for sentence in SENTENCE.findall(text)]


@of_text
def unmarked_literals(text):
    return LITERAL.findall(MARK.sub('"\\\\x"', COMMENT.sub("", text)))


@of_text
def named_as_options(*literals):
    return NAMED.findall(" ".join(literals))


def check_sentences(sources, names, members):
    """Checks that no text names an option without a mark. The interface's own checks of structs are for C only."""
    plain_words = {name for name in names | members if "_" in name and " " not in name}
    for path, text in sources.items():
        if path.startswith("src/options/"):
            continue
        text = text.replace("\\\n", "\n")
        for flag in flags_in(text):
            if flag not in MAY_SAY_FLAGS.get(path, ()):
                yield f"{path}: {flag} is the tool's word: mark the library's"
        if path.startswith("src/api/"):
            continue
        for words in words_of_sentences(text):
            for name in sorted(plain_words & words):
                yield f"{path}: {name} stands in a sentence without a mark"
        for name in named_as_options(*(literal for literal in unmarked_literals(text) if literal not in names)):
            if name in members | names:
                yield f"{path}: option {name} is named without a mark"


def check(root):
    sources = read(root, "src/**/*.c") | read(root, "src/**/*.h")
    names = marked(sources)
    if len(names) < 20:
        yield f"only {len(names)} names are marked in src"
    rows = [row for path in TABLES for row in table((root / path).read_text(encoding="utf-8"))]
    more = list(phrases((root / PHRASES).read_text(encoding="utf-8")))
    for name in sorted(names - {name for name, _, _ in rows + more} - {"%s"}):
        yield f"{name!r} is in no table of options, nor a phrase of {PHRASES}"
    yield from check_phrases(more, names)
    yield from check_flags(root, more, rows)
    yield from check_keywords(root, rows + more)
    yield from check_sentences(sources, names, members_of(read(root, "include/sluice/*.h")))


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1], "src").is_dir():
        sys.exit("usage: option_names.py ROOT")
    findings = list(check(pathlib.Path(sys.argv[1])))
    print("\n".join(findings) if findings else "option names: nothing to say")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""style.py ROOT: checks the rules of CONTRIBUTING.md that neither the compiler nor clang-tidy knows.

Prints one line per finding, `file:line: [rule] message`, and exits with 1 if there is any.
"""
import functools
import os
import re
import sys

CODE_FOLDERS = ("include", "src", "tools", "bench", "tests", "fuzz", "examples")
AUGMENT = {"augment/canvas", "augment/program", "augment/recipe"}
STAGES = ("dataset", "plan", "io", "decode", "staging")
# The diagram in docs/design.md: the modules that each module of src/ may include besides itself.
MAY_USE = {stage: {"base"} for stage in STAGES}
MAY_USE["base"] = set()
MAY_USE["jpeg"] = {"base"}
MAY_USE["shapes"] = {"base"}
MAY_USE["device"] = {"base"}
MAY_USE["decode"] = {"base", "jpeg"}
MAY_USE["staging"] = {"base", "device"}
MAY_USE["augment/program"] = {"base"}
MAY_USE["augment/canvas"] = {"base", "augment/program"}
MAY_USE["augment/recipe"] = {"base", "augment/canvas", "augment/program"}
MAY_USE["columns"] = {"base", "decode", "device", "shapes", *AUGMENT}
MAY_USE["cache"] = {"base", "io"}
MAY_USE["remote"] = {"base", "cache", "io"}
MAY_USE["dataset"] = {"base", "cache", "io"}
MAY_USE["formats"] = {"base", "cache", "dataset", "io"}
# Formats are independent of each other: each folder of src/formats.
FORMAT_MAY_USE = {"base", "cache", "dataset", "io"}
FORMATS_MAY_USE_TOO = {"annotations": {"shapes"}}
GENERATED = ("format_rows.inc", "step_rows.inc")
MAY_USE["verify"] = {"base", "dataset", "decode", "io"}
MAY_USE["pack"] = {"augment/canvas", "augment/program", "base", "dataset", "decode", "formats/shards", "io", "jpeg", "plan", "verify"}
MAY_USE["unpack"] = {"base", "dataset", "decode", "formats/tar", "io", "pack"}
MAY_USE["options"] = {"base"}
MAY_USE["loader"] = {"base", "cache", "columns", "device", "options", "remote", *AUGMENT, *STAGES}
MAY_USE["api"] = {"base", "cache", "columns", "device", "formats", "formats/arrays", "formats/shards", "jpeg", "loader", "options",
                  "pack", "remote", "unpack", "verify", *AUGMENT, *STAGES}
# The same for tools/. A family of the tool (a command and its parts) does not know other families.
TOOLS_MAY_USE = {f"tools/sluice/{family}": {"tools/sluice", "tools/sluice/common"}
                 for family in ("bench", "idle", "info", "synth", "view")}
TOOLS_MAY_USE["tools/sluice/idle"].add("tools/inject")
TOOLS_MAY_USE["tools/sluice"] = {"tools/sluice/common"}
TOOLS_MAY_USE["tools/sluice/common"] = set()
TOOLS_MAY_USE["tools/inject"] = set()
# External libraries and the places that may include their headers.
FOREIGN = {
    r"mpi\.h": ("examples/mpi_training",),
    r"jpeglib\.h|jerror\.h|jmorecfg\.h|turbojpeg\.h": ("src/jpeg/", "tools/", "bench/", "tests/", "fuzz/"),
    r"liburing\.h": ("src/io/uring", "src/io/probe", "tests/"),
    r"zstd.*\.h": ("src/base/frame.c", "src/base/unpack_stream.c", "tests/", "fuzz/"),
    r"xxhash\.h": ("src/base/checksum.c", "src/base/checksum_avx2.c", "src/base/digest.c", "tests/"),
    r"jansson\.h": ("src/dataset/json_file.h", "src/remote/credentials_text.c", "src/remote/json_answer.c", "fuzz/"),
    r"curl/.*\.h": ("src/remote/curl_calls.h",),
    r"expat\.h": ("src/formats/annotations/voc_xml.c", "src/remote/list_xml.c", "fuzz/"),
    r"yaml\.h": ("src/formats/annotations/yolo_yaml.c",),
    r"png\.h": ("src/decode/png_codec.c", "src/decode/png_write.c", "tools/", "bench/", "tests/", "fuzz/"),
    r"zlib\.h": ("src/base/crc32.c", "src/base/inflate.c", "src/base/unpack_stream.c", "src/decode/png_chunks.c", "src/decode/png_rows.h", "bench/",
                "tests/", "fuzz/"),
    r"webp/.*\.h": ("src/decode/webp_codec.c", "bench/", "tests/", "fuzz/"),
    r"brotli/.*\.h": ("src/base/unpack_brotli.c", "tests/", "fuzz/"),
    r"lz4.*\.h": ("src/base/unpack_lz4.c", "tests/", "fuzz/"),
    r"openssl/.*\.h": ("src/base/digest_crypto.c",),
    r"spng\.h": ("bench/",),
    r"cmocka\.h": ("tests/support/test.h",),
    r"cuda.*\.h": ("tests/unit/device_cuda_header_test.c",),
    r"threads\.h": (),
    # Stages do not know the loader: the options they share with it are in sluice/options.h.
    r"sluice/(loader|sluice)\.h": ("include/", "src/api/", "src/loader/", "src/options/", "tools/", "bench/", "tests/", "fuzz/",
                                 "examples/"),
}
LINES_MAX, FUNCTION_LINES_MAX, COLUMNS_MAX, CELL_MAX = 800, 70, 100, 100
MACHINE_PATH = re.compile(r"(?<![\w.}])/(home|root|Users)/\w")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
HEAP = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|"
                  r"strdup|strndup|free)\s*\(")
# A dataset's files may be FIFOs or remote objects: their store opens them (io/store.h).
OPENS = re.compile(r"(?<![\w.>])(open|openat|openat2|creat|fopen|fdopen|freopen|opendir|fdopendir|readdir|scandir|stat|lstat|"
                   r"fstat|fstatat|statx|access|faccessat|realpath|readlink|readlinkat|glob|ftw|nftw|fts_open|mmap|"
                   r"pread|preadv|posix_fadvise|sl_file_open|sl_file_read)\s*\(")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
ORDER_WORDS = re.compile(r"\b(relaxed|acq_rel|seq_cst|acquires?|releases?d?|pairs with|sequentially|order(s|ed)?)\b", re.I)
NAME = re.compile(r"\b(?:sl|sluice)_\w+")
NUMBER = re.compile(r"(?<![\w.])\.?\d(?:[eEpP][+-]|[\w.])*")
SMALL_SUFFIX = re.compile(r"(?<![uUlL])ll?[uU]?$")
# A star without a blank after it marks a pointer: clang-format puts blanks around products.
POINTER = re.compile(r"[\s(*]\*(?:const )?([a-z]\w*)\b(?!\()")
AS_TRUTH = re.compile(r"!(\w+)\b(?![\[(.]|->)|\b(?:if|while) \((\w+)\)|"
                      r"(?:&&|\|\|) (\w+)(?= &&| \|\||\))|\((\w+)(?= &&| \|\|)|"
                      r"(?:(?<![=!<>])= |return |, |\()(\w+)(?= \? )")
# struct sl_x {, } sl_x;, and the name of a function type.
TYPE = re.compile(r"\b(?:struct|union|enum)\s+(sl_\w+)\s*\{|^\}\s*(sl_\w+);|"
                  r"^typedef\s[^;{}()]*\(?\*?\b(sl_\w+)\)?\(", re.M)
STATIC = re.compile(r"^(?:[A-Z][A-Z0-9_]+ )*static\b[^;{}=]*?\b(?!sl_)([a-z]\w*)\([^;{}]*\)\n\{", re.M)
CALLED = re.compile(r"(?<![\w.>*])([a-z]\w+)\(")
INCLUDED = re.compile(r'^\s*#\s*include "(?:.*/)?([\w.]+)"', re.M)
# The same kernel at another SIMD level, or a loop over one; both transforms of JPEG share their lanes.
LEVEL = re.compile(r"(?<=jpeg_)[fi](?=dct)|_(?:scalar|avx2|avx512|neon|vector|loop|x86)$")
OPTION = re.compile(r'\{"([a-z-]+)", (?:no|required|optional)_argument')
IMPLICIT_ORDER = re.compile(r"\b(atomic_(?:load|store|exchange|fetch|compare)(?:_(?!explicit)[a-z]+)*)\s*\(")
COLUMN_KIND = re.compile(r"(?:[!=]=\s*&sl_column_\w+|&sl_column_\w+\s*[!=]=)")


class Tree:
    """The files below `root`, and the findings so far."""

    def __init__(self, root):
        self.root = root
        formats = os.path.join(root, "src", "formats")
        found = os.listdir(formats) if os.path.isdir(formats) else ()
        self.may_use = MAY_USE | {f"formats/{name}": FORMAT_MAY_USE | FORMATS_MAY_USE_TOO.get(name, set())
                                  for name in found if os.path.isdir(os.path.join(formats, name))}
        self.findings = []
        self.names = set()  # our names, in code
        self.statics = {}  # (path, line) of each static function of src/, by name
        self.types = {}  # (path, line) of each definition of a type of src/, by name
        self.called = {}  # by header of src/: functions of the files that include it
        self.included = {}  # by file of src/: names of headers
        self.headers = {}  # headers of the same folder that a header of src/ includes
        self.mentions = []  # (path, line, name) in comments and documents

    def report(self, path, line, rule, message):
        self.findings.append(f"{path}:{line}: [{rule}] {message}")

    def walk(self):
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(name for name in folders
                                if name not in (".git", "shared", "__pycache__")
                                and not re.match(r"build(-|$)", name))
            for name in sorted(files):
                yield os.path.relpath(os.path.join(folder, name), self.root)

    def read(self, path):
        with open(os.path.join(self.root, path), "rb") as file:
            data = file.read()
        return None if b"\0" in data else data.decode("utf-8", "replace")


@functools.lru_cache(maxsize=1)  # several rules use a file's code
def without_comments(text):
    """Returns the code with comments and string contents blanked; line numbers stay."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] * 2
        return "\n" * token.count("\n") or " "
    return TOKEN.sub(blank, text)


def check_text(tree, path, text):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            tree.report(path, number, "blank", "trailing white space or carriage return")
        if "\t" in line and not path.endswith((".tsv", "Makefile")):
            tree.report(path, number, "tab", "tab character")
        if MACHINE_PATH.search(line):
            tree.report(path, number, "path", "absolute path of one machine")
        if UNFINISHED.search(line) and path != "LICENSE":
            tree.report(path, number, "unfinished", "a note that something is not finished")
    if text and not text.endswith("\n"):
        tree.report(path, len(lines), "eof", "no newline at the end of the file")
    if text.endswith("\n\n"):
        tree.report(path, len(lines) - 1, "eof", "blank line at the end of the file")


def check_cells(tree, path, text):
    """Tables are read across: text longer than a line of a cell belongs below the table."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|") and max(len(cell) for cell in line.strip("|").split(" | ")) > CELL_MAX:
            tree.report(path, number, "cell", f"a table's cell has more than {CELL_MAX} characters")


def check_script_head(tree, path, text):
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in text.split("\n")[:2]):
        tree.report(path, 1, "spdx", "no SPDX line below the interpreter's")


def check_code_head(tree, path, text):
    lines = text.split("\n")
    if lines[0] != "/* SPDX-License-Identifier: Apache-2.0 */":
        tree.report(path, 1, "spdx", "the first line must be the SPDX line")
    if not path.endswith(".h"):
        return
    stem = os.path.splitext(os.path.basename(path))[0]
    comment = re.match(r"[^\n]*\n(/\*.*?\*/)", text, re.S)
    if not comment or not re.search(rf"\b{stem}(\.h)?:", comment.group(1)):
        tree.report(path, 2, "contract", f"no contract comment that begins with '{stem}:'")
    guard = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.M)
    prefix = "SLUICE_" if path.startswith("include/") else "([A-Z0-9]+_)*"
    wanted = re.compile(prefix + re.escape(stem.upper()) + "_H")
    if not guard or guard.group(1) != guard.group(2) or not wanted.fullmatch(guard.group(1)):
        tree.report(path, 1, "guard", f"include guard should be like SL_{stem.upper()}_H")


def check_lengths(tree, path, text):
    lines = text.split("\n")
    if len(lines) - 1 > LINES_MAX:
        tree.report(path, len(lines), "file-length", f"{len(lines) - 1} lines, {LINES_MAX} is the end")
    start = None
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            tree.report(path, number, "columns", f"{len(line)} columns")
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start - 1 > FUNCTION_LINES_MAX:
                tree.report(path, start, "function-length",
                            f"{number - start - 1} lines, {FUNCTION_LINES_MAX} is the end")
            start = None


def quoted_folders(tree, path):
    """Returns the folders that a quoted include of this file may come from, or None for any."""
    own = os.path.dirname(path)
    part = path.split("/")
    if part[0] == "src":
        module = own[len("src/"):]
        if module not in tree.may_use:
            tree.report(path, 1, "module", f"{own} is not in the picture of docs/design.md")
            return None
        return [own] + [f"src/{used}" for used in sorted(tree.may_use[module])]
    if own == "tests/api":  # the public interface only
        return [own, "tests/support"]
    if part[0] in ("tests", "fuzz", "bench"):
        return ([own, "tests/support", "fuzz"] + [f"src/{name}" for name in tree.may_use] +
                sorted(TOOLS_MAY_USE))
    if part[0] == "tools":
        if own not in TOOLS_MAY_USE:
            tree.report(path, 1, "module", f"{own} is not in the picture of docs/design.md")
            return None
        return [own] + sorted(TOOLS_MAY_USE[own])
    return []


def is_within(tree, name, folders):
    """True if a quoted include finds a file in one of the folders, without leaving it by ".."."""
    for folder in folders:
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.dirname(found) in folders and os.path.exists(os.path.join(tree.root, found)):
            return True
    return False


def check_includes(tree, path, text):
    code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    folders = quoted_folders(tree, path)
    for number, line in enumerate(code.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
        if not match:
            continue
        quote, name = match.groups()
        if quote == '"' and folders is not None and name not in GENERATED and not is_within(tree, name, folders):
            tree.report(path, number, "include", f'"{name}" is not in a folder that this file may use')
        if quote == "<" and path.startswith("include/") and not re.match(
                r"(sluice/\w+|stddef|stdint)\.h$", name):
            tree.report(path, number, "include", f"a public header may not include <{name}>")
        for pattern, places in FOREIGN.items():
            if quote == "<" and re.fullmatch(pattern, name) and not path.startswith(places):
                tree.report(path, number, "foreign", f"<{name}> does not belong here")


def check_tokens(tree, path, text):
    """Of the code without comments and strings."""
    code = without_comments(text)
    for match in NUMBER.finditer(code):
        if SMALL_SUFFIX.search(match[0]):
            number = code.count("\n", 0, match.start()) + 1
            tree.report(path, number, "suffix", f"{match[0]}: write L, which does not look like a 1")
    for number, line in enumerate(code.split("\n") if not code.isascii() else (), 1):
        if not line.isascii():
            tree.report(path, number, "ascii", "a letter that is not ASCII, in code")


def check_calls(tree, path, text):
    if not path.startswith("src/"):
        return
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        heap = HEAP.search(line)
        if heap and path != "src/base/memory.c":
            tree.report(path, number, "heap", f"{heap.group(1)}: use sl_malloc and its family")
        opens = OPENS.search(line) if path.startswith(("src/dataset/", "src/formats/")) else None
        if opens:
            tree.report(path, number, "opens", f"{opens.group(1)}: ask the store (src/io/store.h)")
        order = IMPLICIT_ORDER.search(line)
        if order:
            tree.report(path, number, "atomic", f"{order.group(1)} without an explicit order")
        if path.startswith("src/columns/") and COLUMN_KIND.search(line):
            tree.report(path, number, "kind", "ask for a capability of the kind (sl_column_kind), not for its address")


def check_orders(tree, path, text):
    """Checks that each memory order is explained in its function, or right before it."""
    lines = text.split("\n")
    explained = set()
    for match in TOKEN.finditer(text):
        if match[0].startswith("/") and ORDER_WORDS.search(match[0]):
            explained.add(text.count("\n", 0, match.end()))
    known = False
    for number, line in enumerate(lines):
        known = (known and line != "}") or number in explained
        if "memory_order_" in line and not known:
            tree.report(path, number + 1, "order", "say which operation this order pairs with, or why it is relaxed")


def check_truth(tree, path, text):
    """Checks that pointers are compared with NULL. Only knows those that the function declares or dereferences."""
    lines = without_comments(text).split("\n")
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
            while start > 0 and lines[start - 1].strip():
                start -= 1
        elif line == "}" and start is not None:
            pointers = set(POINTER.findall("\n".join(lines[start:number])))
            for at in range(start, number):
                for name in pointers.intersection(*[sum(AS_TRUTH.findall(lines[at]), ())]):
                    tree.report(path, at + 1, "null", f"{name} is a pointer: compare it with NULL")
            start = None


def check_usage(tree, path, text):
    """Checks that a bench's usage text names its options, and no others."""
    if not path.startswith("bench/") or "getopt_long" not in text:
        return
    taken = set(OPTION.findall(text))
    named = set(re.findall(r"--([a-z][a-z-]*)", text))
    for option in sorted(taken ^ named):
        tree.report(path, 1, "usage", f"--{option} is in the usage or among the options, not in both")


def check_listed(tree, path):
    """Finds sources missing from their CMakeLists.txt: they are never built, unnoticed."""
    stem = os.path.splitext(os.path.basename(path))[0]
    folder = os.path.dirname(path)
    while folder and not os.path.exists(os.path.join(tree.root, folder, "CMakeLists.txt")):
        folder = os.path.dirname(folder)
    lists = os.path.join(folder, "CMakeLists.txt")
    text = tree.read(lists) if os.path.exists(os.path.join(tree.root, lists)) else ""
    if not re.search(rf"(?<!\w){re.escape(stem)}(\.c)?(?!\w)", re.sub(r"#[^\n]*", "", text)):
        tree.report(path, 1, "unlisted", f"{lists} does not name this file")


def check_uses(tree, path, text):
    """Checks that a CMakeLists.txt lets a folder use exactly what the diagram allows."""
    own, beside = os.path.dirname(path), "tools/sluice"
    allowed = TOOLS_MAY_USE.get(own, set())
    if path.startswith("src/"):
        beside = "src"
        allowed = {f"src/{used}" for used in tree.may_use.get(own[len("src/"):], ())}
    code = re.sub(r"#[^\n]*", "", text)
    for call in re.findall(r"sluice_(?:module|tool_folder)\(([^)]*)\)", code):
        uses = re.search(r"\bUSES\b((?:\s+[a-z][\w/]*)*)", call)
        for used in uses.group(1).split() if uses else ():
            if f"{beside}/{used}" not in allowed:
                tree.report(path, 1, "uses", f"{own} may not use {beside}/{used}")


def mention(tree, path, text, start=0, end=None):
    for match in NAME.finditer(text, start, len(text) if end is None else end):
        tree.mentions.append((path, text.count("\n", 0, match.start()) + 1, match.group(0)))


def collect_names(tree, path, text):
    """Collects our names in code and those mentioned in text. Compiling names are declared somewhere."""
    if path.startswith("tests/abi/frozen"):
        return  # an older interface
    if path.endswith((".c", ".h", ".cu", ".cpp")):
        tree.names.update(NAME.findall(TOKEN.sub(" ", text)))
        for token in TOKEN.finditer(text):
            if token.group(0)[0] == "/":
                mention(tree, path, text, token.start(), token.end())
    elif path.endswith(("CMakeLists.txt", ".cmake")):
        tree.names.update(NAME.findall(re.sub(r"#[^\n]*", "", text)))
    elif path.endswith(".md") and path != "CHANGELOG.md":
        mention(tree, path, text)


def check_mentions(tree):
    """Checks that a name in a comment exists: `sl_x_` stands for all names that begin like this."""
    families = {name[:end] for name in tree.names for end in range(4, len(name))
                if name[end - 1] == "_"}
    for path, line, name in tree.mentions:
        if name not in tree.names and name not in families:
            tree.report(path, line, "stale", f"{name} is the name of nothing")


def collect_statics(tree, path, text):
    code = without_comments(text)
    tree.included[path] = INCLUDED.findall(text)
    if path.endswith(".h"):
        tree.called[os.path.basename(path)] = (path, set(CALLED.findall(code)))
    for match in STATIC.finditer(code):
        tree.statics.setdefault(match.group(1), []).append((path, code.count("\n", 0, match.start()) + 1))


def is_called_by_loops(tree, path, name, seen=()):
    """True if a header that this file includes calls the function: a loop over each SIMD level's definition."""
    for header in set(tree.included[path]) & set(tree.called) - set(seen):
        place, called = tree.called[header]
        if name in called or is_called_by_loops(tree, place, name, (*seen, header)):
            return True
    return False


def collect_headers(tree, path, text):
    own = os.path.dirname(path)
    names = re.findall(r'^\s*#\s*include "([^"/]+)"', text, re.M)
    tree.headers[path] = {f"{own}/{name}" for name in names if os.path.exists(os.path.join(tree.root, own, name))}


def check_header_cycles(tree):
    """Checks that the headers of a module form no include cycle, directly or indirectly."""
    left = dict(tree.headers)
    while True:
        lowest = [path for path, included in left.items() if not included & left.keys()]
        if not lowest:
            break
        for path in lowest:
            del left[path]
    for path in sorted(left):
        tree.report(path, 1, "cycle", f"is in a cycle of includes, or above one: {', '.join(sorted(left[path] & left.keys()))}")


def check_statics(tree):
    """Checks that static functions have unique names in src/, except for one kernel at several levels."""
    for name, places in sorted(tree.statics.items()):
        kernels = {LEVEL.sub("", os.path.splitext(path)[0]) for path, _ in places}
        own = [place for place in places if not is_called_by_loops(tree, place[0], name)] if len(kernels) > 1 else []
        if len({LEVEL.sub("", os.path.splitext(path)[0]) for path, _ in own}) > 1:
            tree.report(*own[-1], "static", f"{name} is also a function of {own[0][0]}")


def collect_types(tree, path, text):
    """Only checks definitions, not `typedef struct sl_x sl_x;`, which a header may repeat."""
    code = without_comments(text)
    for match in TYPE.finditer(code):
        name = match.group(1) or match.group(2) or match.group(3)
        tree.types.setdefault(name, []).append((path, code.count("\n", 0, match.start()) + 1))


def check_types(tree):
    for name, places in sorted(tree.types.items()):
        if len({path for path, _ in places}) > 1:
            tree.report(*places[-1], "type", f"{name} is also a type of {places[0][0]}")


def modules_of(tree):
    """Finds the modules that use each header of src/base, directly or through files of base."""
    users = {path[len("src/base/"):-2]: set() for path in tree.included if path.startswith("src/base/") and path.endswith(".h")}
    within = []  # (the user's stem, the used one's)
    for path, headers in tree.included.items():
        module, stem = os.path.dirname(path)[len("src/"):], LEVEL.sub("", os.path.splitext(os.path.basename(path))[0])
        for used in {header[:-2] for header in headers} & set(users):
            if module != "base":
                users[used].add(module)
            elif stem.removesuffix("_absent") in users:
                within.append((stem.removesuffix("_absent"), used))
    for _ in users:
        for stem, used in within:
            users[used] |= users[stem]
    return users


def check_base(tree):
    """Finds files that only one module uses: they belong to it. Files used only by tests may stay."""
    for stem, modules in sorted(modules_of(tree).items()):
        if len(modules) == 1:
            tree.report(f"src/base/{stem}.h", 1, "base", f"only src/{min(modules)} uses this: move it there")


def check(root):
    tree = Tree(root)
    for path in tree.walk():
        text = tree.read(path)
        if text is None:
            continue
        check_text(tree, path, text)
        collect_names(tree, path, text)
        if path.endswith(".md"):
            check_cells(tree, path, text)
        if text.startswith("#!"):
            check_script_head(tree, path, text)
        if path.startswith(("src/", "tools/")) and path.endswith("/CMakeLists.txt"):
            check_uses(tree, path, text)
        if path.split("/")[0] in CODE_FOLDERS and path.endswith((".c", ".h")):
            check_code_head(tree, path, text)
            check_lengths(tree, path, text)
            check_includes(tree, path, text)
            check_tokens(tree, path, text)
            check_calls(tree, path, text)
            check_truth(tree, path, text)
            check_usage(tree, path, text)
            if path.endswith(".c"):
                check_listed(tree, path)
        if path.startswith("src/") and path.endswith((".c", ".h")):
            collect_statics(tree, path, text)
            check_orders(tree, path, text)
            collect_types(tree, path, text)
            if path.endswith(".h"):
                collect_headers(tree, path, text)
    check_mentions(tree)
    check_statics(tree)
    check_types(tree)
    check_header_cycles(tree)
    check_base(tree)
    return tree.findings


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit("usage: style.py ROOT")
    findings = check(sys.argv[1])
    print("\n".join(findings) if findings else "style: nothing to say")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

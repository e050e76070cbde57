#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""option_names_test.py ROOT: checks that each rule of option_names.py finds its offence, and nothing in the actual tree."""
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import option_names

ROW = '    {"labels", '
OFFENCES = {
    "a phrase that no sentence has": (option_names.PHRASES, ROW, '    {"label", '),
    "phrases are in no order": (option_names.PHRASES, ROW, '    {"zzz", {"--zstd", "zstd"}},\n' + ROW),
    "no option of the tool": (option_names.PHRASES, '"--open-memory"', '"--opening-memory"'),
    "no argument of the package": (option_names.PHRASES, '"labels=', '"labelling='),
    "no argument of the package in the table": (option_names.TABLES[0], '.keyword = "io_depth"', '.keyword = "depth"'),
    "a name that no table has": ("src/formats/folder/folder.c", 'SL_OPTION("allow_empty_classes")', 'SL_OPTION("empties")'),
    "a flag in a sentence": ("src/formats/folder/folder.c", 'SL_OPTION("allow_empty_classes")', '"--allow-empty-classes"'),
    "a name without its mark": ("src/loader/config.c", 'SL_OPTION("output_count") " go together"', '"output_count go together"'),
    "a name without its mark, of no table": ("src/loader/config.c", 'SL_OPTION("output_count") " is', '"output_count is'),
    "a name of one word without its mark": ("src/loader/open_partners.c", '" SL_OPTION("classes") " has', 'classes has'),
    "names without their marks": ("src/loader/opening.c", '"options " SL_OPTION("sizes") "', '"options sizes'),
    "a row is missing": (option_names.TABLES[0], "NUMBER(resident_bytes,", "NUMBER(resident,"),
}


def main():
    root = pathlib.Path(sys.argv[1])
    findings = list(option_names.check(root))
    assert findings == [], findings
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for folder in ("include", "src", "tools", "python"):
            shutil.copytree(root / folder, work / folder, ignore=shutil.ignore_patterns("*.html", "tests", "__pycache__"))
        for what, (path, old, new) in OFFENCES.items():
            text = (work / path).read_text(encoding="utf-8")
            assert old in text, (what, old)
            (work / path).write_text(text.replace(old, new), encoding="utf-8")
            assert list(option_names.check(work)), f"not found: {what}"
            (work / path).write_text(text, encoding="utf-8")
        assert list(option_names.check(work)) == []
    print(f"option names: {len(OFFENCES)} offences are found")


if __name__ == "__main__":
    main()

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# can_fail.sh ROOT: checks that format.sh and lint.sh reject a bad file and accept a good one.
set -u
root=$1
here=$root/tests/tidy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{include,src,tools,bench,tests,fuzz,examples,build}
cp "$root/.clang-format" "$root/.clang-tidy" "$work"
cat > "$work/build/compile_commands.json" <<JSON
[
{
  "directory": "$work/build",
  "command": "cc -std=c11 -c $work/src/it.c",
  "file": "$work/src/it.c"
}
]
JSON

expect() { # expect STATUS COMMAND...
    local wanted=$1 got=0
    shift
    "$@" > "$work/output" 2>&1 || got=$?
    if [ "$got" -eq 77 ]; then cat "$work/output"; exit 77; fi
    if [ "$wanted" = fail ] && [ "$got" -ne 0 ]; then return; fi
    if [ "$wanted" = pass ] && [ "$got" -eq 0 ]; then return; fi
    echo "expected to $wanted, exit status $got: $*"
    cat "$work/output"
    exit 1
}

printf 'int it(int x);\n\nint it(int x)\n{\n    return x;\n}\n' > "$work/src/it.c"
expect pass "$here/format.sh" "$work"
expect pass "$here/lint.sh" "$work" "$work/build" 60
printf 'int it(int x);\n\nint it(int x) { return x; }\n' > "$work/src/it.c"
expect fail "$here/format.sh" "$work"
printf 'int it(int x);\n\nint it(int x)\n{\n    int y;\n    return x + y;\n}\n' > "$work/src/it.c"
expect fail "$here/lint.sh" "$work" "$work/build" 60
printf 'int _It(int x);\n\nint _It(int x)\n{\n    return x;\n}\n' > "$work/src/it.c"
expect fail "$here/lint.sh" "$work" "$work/build" 60
grep -q 'reserved-identifier' "$work/output" || { echo "a reserved name was not found"; exit 1; }
echo "format.sh and lint.sh can fail"

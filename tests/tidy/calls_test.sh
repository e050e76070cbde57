#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# calls_test.sh CC NM: checks that calls.py finds a cycle of three files, and none if one of them is called through a table.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo 'int b(void); int a(void); int a(void) { return b(); }' > a.c
echo 'int c(void); int b(void); int b(void) { return c(); }' > b.c
echo 'int a(void); int c(void); int c(void) { return a(); }' > c.c
echo 'int a(void); extern int (*const table[])(void); int (*const table[])(void) = {a};' > table.c
echo 'extern int (*const table[])(void); int c(void); int c(void) { return table[0](); }' > through.c
for file in *.c; do
    "$1" -c "$file"
done
if "$here/calls.py" "$2" a.o b.o c.o > output 2>&1; then
    echo "calls.py missed a cycle"
    exit 1
fi
grep -q 'c.* calls a of a' output
"$here/calls.py" "$2" a.o b.o through.o table.o

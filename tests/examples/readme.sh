#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# readme.sh ROOT: the first C program of README.md is examples/first.c, and that of docs/c.md examples/minimal.c, word for word.
set -eu
compare() { # compare PAGE PROGRAM
    diff <(awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$1") <(sed -n '/^#include/,$p' "$2") ||
        { echo "$1 (<) and $2 (>) differ"; exit 1; }
}
compare "$1/README.md" "$1/examples/first.c"
compare "$1/docs/c.md" "$1/examples/minimal.c"

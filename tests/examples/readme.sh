#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# readme.sh ROOT: the C program in README.md is examples/minimal.c, word for word.
set -eu
diff <(awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$1/README.md") \
    <(sed -n '/^#include/,$p' "$1/examples/minimal.c") ||
    { echo "README.md (<) and examples/minimal.c (>) differ"; exit 1; }

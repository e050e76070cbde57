#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh INCLUDE CC CXX: each public header compiles alone, twice in a row, as strict C11 and as
# C++17, and its structs have no hidden padding.
set -u
include=$1 cc=$2 cxx=$3
status=0
warnings=(-Wall -Wextra -Wpedantic -Wundef -Wpadded -Werror -pedantic-errors)
count=0
for header in "$include"/sluice/*.h; do
    name=sluice/${header##*/}
    text=$(printf '#include <%s>\n#include <%s>\n' "$name" "$name")
    "$cc" -std=c11 "${warnings[@]}" -Wstrict-prototypes -I"$include" -fsyntax-only -x c - <<< "$text" ||
        { echo "$name: not C11"; status=1; }
    "$cxx" -std=c++17 "${warnings[@]}" -Wold-style-cast -I"$include" -fsyntax-only -x c++ - <<< "$text" ||
        { echo "$name: not C++17"; status=1; }
    count=$((count + 1))
done
[ "$count" -gt 0 ] || { echo "no header in $include/sluice"; status=1; }
echo "headers: $count"
exit "$status"

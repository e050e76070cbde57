#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# every_init.sh INCLUDE CXX LIBRARY [FLAG...]: every size-tagged struct has an _INIT, and a strict C++
# program can use all of them.
set -eu
include=$1 cxx=$2 library=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# typedef struct sluice_x { <newline> uint32_t struct_size; -> SLUICE_X_INIT
wanted=$(awk '/^typedef struct sluice_[a-z_]+ \{$/ { name = $3; next }
              /^    uint32_t struct_size;/ && name { sub(/^sluice_/, "", name); print name }
              { name = "" }' "$include"/sluice/*.h | tr '[:lower:]' '[:upper:]')
count=0
for name in $wanted; do
    grep -q "define SLUICE_${name}_INIT\b" "$include"/sluice/*.h ||
        { echo "SLUICE_${name}_INIT is missing"; exit 1; }
    grep -q "SLUICE_${name}_INIT\b" "$here/every_init.cpp" ||
        { echo "SLUICE_${name}_INIT is not in every_init.cpp"; exit 1; }
    count=$((count + 1))
done
[ "$count" -ge 10 ] || { echo "only $count size-tagged structs found"; exit 1; }

"$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror "$@" -I"$include" \
    -o "$work/every_init" "$here/every_init.cpp" "$library" -Wl,-rpath,"$(dirname "$library")"
"$work/every_init"
echo "every_init: $count structs"

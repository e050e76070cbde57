#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# format.sh ROOT: checks that every C file is formatted as by clang-format 14. Exit 77: no clang-format 14.
set -eu
cd "$1"
for tool in clang-format-14 clang-format none; do
    case $("$tool" --version 2>/dev/null) in *"version 14."*) break ;; esac
done
if [ "$tool" = none ]; then
    echo "skipped: clang-format 14 is not installed (other versions format differently)"
    exit 77
fi
mapfile -t files < <(find include src tools python bench tests fuzz examples -name '*.[ch]' | sort)
"$tool" --dry-run -Werror "${files[@]}"
echo "format: ${#files[@]} files"

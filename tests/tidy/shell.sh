#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shell.sh ROOT: checks that shellcheck has no findings in any shell script. Exit 77: no shellcheck.
set -eu
cd "$1"
command -v shellcheck > /dev/null || { echo "skipped: shellcheck is not installed"; exit 77; }
mapfile -t files < <(grep -lrE --exclude-dir=.git --exclude-dir='build*' --exclude-dir=shared \
    -m 1 '^#!/bin/(ba)?sh|^# shellcheck shell=' . | sort)
[ "${#files[@]}" -gt 0 ] || { echo "no shell script found"; exit 1; }
shellcheck -x "${files[@]}"
echo "shell: ${#files[@]} scripts"

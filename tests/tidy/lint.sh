#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh ROOT BUILD SECONDS: clang-tidy 14 over every source that BUILD compiles, on all
# processors, within a time budget. Exit 77: no clang-tidy 14.
# The analyser follows LINT_NODES states of a function [10000]: 40000, for a deeper look now and then,
# take 1.7 times as long, clang's own 225000 seven times.
set -eu
root=$1 build=$2 seconds=$3
for tool in clang-tidy-14 clang-tidy none; do
    case $("$tool" --version 2>/dev/null) in *"version 14."*) break ;; esac
done
if [ "$tool" = none ]; then
    echo "skipped: clang-tidy 14 is not installed (other versions have other checks)"
    exit 77
fi
options=(--quiet)
for word in -Xclang -analyzer-config -Xclang "max-nodes=${LINT_NODES-10000}"; do
    options+=("--extra-arg=$word")
done
# Sources of the tree only (not generated ones), each once.
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\.c\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
    grep -F "$root/" | grep -vF "$build/" | sort -u)
if [ "${#files[@]}" -eq 0 ]; then
    echo "no source of $root in $build/compile_commands.json"
    exit 1
fi
status=0
lint() { # lint SECONDS COUNT OPTION...: each file whose name it reads, COUNT of them in one process
    local limit=$1 count=$2
    shift 2
    tr '\n' '\0' | timeout "$limit" xargs -0 -r -n "$count" -P "$(nproc)" "$tool" -p "$build" "${options[@]}" "$@" 2>/dev/null || status=$?
}
# The analyser takes half of the time, and tests need it least: they run under the sanitizers. Starting takes a third of the
# time of a small file, but the analyser takes va_list for uninitialized in every file of a process but the first.
tests="^$root/(tests|fuzz|bench)/"
lint "$seconds" 8 --checks=-clang-analyzer-* --extra-arg=-Wno-error < <(printf '%s\n' "${files[@]}" | grep -E "$tests")
[ "$status" -eq 124 ] || lint "$((seconds > SECONDS ? seconds - SECONDS : 1))" 1 < <(printf '%s\n' "${files[@]}" | grep -vE "$tests")
[ "$status" -ne 124 ] || echo "lint: not done within $seconds s"
[ "$status" -ne 0 ] || echo "lint: ${#files[@]} files"
exit "$status"

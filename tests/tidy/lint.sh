#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh ROOT BUILD SECONDS: runs clang-tidy 14 over every source that BUILD compiles, on all processors, within a time
# budget. Exit 77: no clang-tidy 14. The analyser follows LINT_NODES states of a function [10000]: 40000, for an occasional
# deeper check, take 1.7 times as long, clang's own 225000 seven times.
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
# Only sources of the tree (not generated ones), each once.
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\.c\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
    grep -F "$root/" | grep -vF "$build/" | sort -u)
if [ "${#files[@]}" -eq 0 ]; then
    echo "no source of $root in $build/compile_commands.json"
    exit 1
fi
status=0
lint() { # lint COUNT ARRAY OPTION...: checks the array's files, COUNT per process, while time remains
    local count=$1 left=$((seconds > SECONDS ? seconds - SECONDS : 1))
    local -n names=$2
    shift 2
    [ "${#names[@]}" -gt 0 ] && [ "$status" -ne 124 ] || return 0
    printf '%s\0' "${names[@]}" |
        timeout "$left" xargs -0 -n "$count" -P "$(nproc)" "$tool" -p "$build" "${options[@]}" "$@" 2>/dev/null || status=$?
}
# Starting and rereading the same headers takes a third of the time of a small file, so a process checks several files. Files
# with a va_list are checked alone: the analyser reports it as uninitialized in every file of a process except the first.
# Tests need the analyser least: they run under the sanitizers.
tests=() alone=() others=()
for file in "${files[@]}"; do
    if [[ $file =~ ^"$root"/(tests|fuzz|bench)/ ]]; then
        tests+=("$file")
    elif grep -qwE 'va_(list|start|copy|end|arg)' "$file"; then
        alone+=("$file")
    else
        others+=("$file")
    fi
done
lint 8 tests --checks=-clang-analyzer-* --extra-arg=-Wno-error
lint 8 others
lint 1 alone
[ "$status" -ne 124 ] || echo "lint: not done within $seconds s"
[ "$status" -ne 0 ] || echo "lint: ${#files[@]} files"
exit "$status"

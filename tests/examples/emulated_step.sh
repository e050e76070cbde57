#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# emulated_step.sh TOOL PROGRAM: examples/emulated_step.c says how busy a GPU would be, and never
# more than it can be.
set -eu
tool=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tool" synth "$work/photos" --count 40 --size-scale 0.25 > /dev/null
"$tool" pack "$work/photos" "$work/packed" > /dev/null
"$program" "$work/packed" 30 8 10 > "$work/out"
cat "$work/out"
percent=$(sed -n 's/^utilisation \([0-9.]*\) %: 10 steps of 30 ms in [0-9.]* s$/\1/p' "$work/out")
[ -n "$percent" ] || { echo "no utilisation in its output"; exit 1; }
awk -v p="$percent" 'BEGIN { exit !(p > 0 && p <= 100) }' || { echo "$percent % cannot be"; exit 1; }

code=0
"$program" "$work/packed" 0 2> "$work/message" || code=$?
[ "$code" -eq 2 ] || { echo "no step time: exit code $code"; exit 1; }
if "$program" "$work/missing" 30 2> "$work/message"; then
    echo "a missing folder causes no error"
    exit 1
fi
grep -q missing "$work/message" || { echo "the message does not name the folder"; exit 1; }

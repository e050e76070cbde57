#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# native_step.sh TOOL PROGRAM: the fog of examples/native_step.c makes images brighter, none of strength 0 changes them, and a
# function that refuses makes an error that names the step.
set -eu
tool=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tool" synth "$work/photos" --count 16 --size-scale 0.25 > /dev/null
mean() { sed -n "s/^$1: mean \([0-9.]*\)$/\1/p" <<< "$out"; }

out=$("$program" "$work/photos")
awk -v a="$(mean plain)" -v b="$(mean 'with fog')" 'BEGIN { exit !(a > 0 && b > a + 3) }' || { echo "no fog: $out"; exit 1; }
out=$("$program" "$work/photos" 0)
[ "$(mean plain)" = "$(mean 'with fog')" ] || { echo "no strength, and another mean: $out"; exit 1; }
! "$program" "$work/photos" 2 2> "$work/message" > /dev/null || { echo "a strength of 2 causes no error"; exit 1; }
grep -q 'native step "fog": its function returned 1' "$work/message" || { echo "another message:"; cat "$work/message"; exit 1; }
! "$program" "$work/missing" 2> /dev/null || { echo "a missing folder causes no error"; exit 1; }

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# minimal.sh TOOL PROGRAM FIRST: examples/minimal.c returns two epochs from a folder and from its shards, and reports a
# missing folder by name. FIRST, examples/first.c, returns one epoch, without its partial last batch.
set -eu
tool=$1 program=$2 first=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tool" synth "$work/photos" --count 130 --size-scale 0.25 > /dev/null
"$tool" pack "$work/photos" "$work/packed" > /dev/null
expected=$(printf 'epoch %d: 64 rows\n' 0 0 1 1)
for data in photos packed; do
    got=$("$program" "$work/$data")
    [ "$got" = "$expected" ] || { echo "$data: got: $got"; exit 1; }
done
if "$program" "$work/missing" 2> "$work/message"; then
    echo "a missing folder causes no error"
    exit 1
fi
grep -q missing "$work/message" || { echo "the message does not name the folder:"; cat "$work/message"; exit 1; }
for data in photos packed; do
    got=$("$first" "$work/$data" | awk '{ sum += $1 } END { print NR, sum }')
    [ "$got" = "2 128" ] || { echo "first: $data: batches and rows: $got"; exit 1; }
done
! "$first" "$work/missing" || { echo "first: a missing folder causes no error"; exit 1; }

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cuda_training.sh TOOL PROGRAM FAKE: examples/cuda_training.c says why it does nothing without a GPU,
# and trains with the fake driver FAKE: the same with streams and with graphs.
set -eu
tool=$1 program=$2 fake=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    cat "$work/out" "$work/err"
    exit 1
}

run() { # run CODE COMMAND...
    local expected=$1 code=0
    shift
    "$@" > "$work/out" 2> "$work/err" || code=$?
    [ "$code" -eq "$expected" ] || fail "$* ended with $code, not $expected"
}

"$tool" synth "$work/photos" --count 30 --classes 2 --size-scale 0.25 > /dev/null
run 2 "$program"
grep -q usage "$work/err" || fail "no usage"
mkdir "$work/none" "$work/driver"
: > "$work/none/libcuda.so.1" # found first, and no library
run 77 env LD_LIBRARY_PATH="$work/none" "$program" "$work/photos"
grep -q '^cuda:0: .*libcuda' "$work/out" || fail "it does not say why there is no GPU"
grep -q '^skipped: ' "$work/out" || fail "it does not say that it does nothing"

cp "$fake" "$work/driver/libcuda.so.1"
train=(env LD_LIBRARY_PATH="$work/driver" "$program" --epochs 2 --batch 10)
run 0 "${train[@]}" "$work/photos"
grep -q '^60 images trained$' "$work/out" || fail "not two epochs of 30 images"
grep '^class ' "$work/out" > "$work/means"
[ "$(wc -l < "$work/means")" -eq 2 ] || fail "not two classes"
converted=converted
! grep -q '^cuda:0: .*built without its CUDA kernels$' "$work/out" || converted='not converted'
grep -q "^cuda:0, slots registered, $converted on the device\$" "$work/out" || fail "no figures"
if [ "$converted" = converted ]; then
    run 0 "${train[@]}" --graph "$work/photos"
    grep '^class ' "$work/out" | diff "$work/means" - || fail "graphs compute something else"
fi
run 0 "${train[@]}" --repeat 2 "$work/photos"
grep -q '^60 images trained$' "$work/out" || fail "repeated steps count twice"
run 1 "${train[@]}" "$work/missing"
grep -q missing "$work/err" || fail "the message does not name the folder"
echo "cuda_training: with streams, $converted on the device"

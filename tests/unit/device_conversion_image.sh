#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The device code of conversions: every kernel is in the images that the library embeds, and none of
# them spills registers, keeps arrays in slow memory, or takes so many registers that a multiprocessor
# holds less than all of its threads, on any architecture that it is built for.
# Usage: device_conversion_image.sh NVCC PTXAS "75 80 ..." SOURCE INCLUDES IMAGE PTX [-gencode ...]; "" for NVCC
# where there is none.
set -euo pipefail
nvcc=$1
if [[ -z $nvcc ]]; then
    echo "skipped: the library is built without its CUDA kernels"
    exit 77
fi
ptxas=$2
read -ra archs <<< "$3"
source=$4
includes=$5
image=$6
ptx=$7
shift 7

failed=0
kernels=0
for name in sl_conversion{,_mixing}_{u8,f32,f16,bf16}_{nhwc,nchw}; do
    kernels=$((kernels + 1))
    if ! grep -q "$name" "$image"; then
        echo "not in the image: $name"
        failed=1
    fi
    if ! grep -q "^\.visible \.entry $name(" "$ptx"; then
        echo "not in the PTX: $name"
        failed=1
    fi
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$nvcc" -fatbin -O3 "$@" -Xptxas -v -I"$includes" -o "$folder/image" "$source" >"$folder/log" 2>&1
for arch in "${archs[@]}"; do
    "$ptxas" -v -arch "sm_$arch" -o "$folder/code" "$ptx" >>"$folder/log" 2>&1
done
cat "$folder/log"
compiled=$(grep -c 'Compiling entry function' "$folder/log")
clean=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$folder/log")
echo "$compiled compiled, $clean of them without spills"
if ((compiled == 0 || compiled % kernels != 0 || compiled < kernels * ${#archs[@]} || clean != compiled)); then
    failed=1
fi
# Registers of a multiprocessor are 65536, given in eights: for 1024, 1536 and 2048 threads. Those that mix,
# with two pictures in registers, may have half as many threads.
if ! sed -nE "s/.*entry function '(.*)' for 'sm_([0-9]+)'/\1 \2/p; s/.*Used ([0-9]+) registers.*/\1/p" "$folder/log" |
    paste -d ' ' - - | awk '
        { limit = $2 == 75 || $1 ~ /_mixing_/ ? 64 : $2 ~ /^(86|87|89|12.)$/ ? 40 : 32 }
        $3 > limit { print $1 " on sm_" $2 " takes " $3 " registers of " limit; bad = 1 }
        END { exit bad || NR == 0 }'; then
    failed=1
fi
if grep -i 'warning' "$folder/log"; then
    failed=1
fi
exit "$failed"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The device code of conversions: every kernel is in the image that the library embeds, and none of
# them spills registers on any architecture that it is built for.
# Usage: conversion_image.sh NVCC SOURCE INCLUDES IMAGE [-gencode ...]; "" for NVCC where there is none.
set -euo pipefail
nvcc=$1
if [[ -z $nvcc ]]; then
    echo "skipped: the library is built without its CUDA kernels"
    exit 77
fi
source=$2
includes=$3
image=$4
shift 4

failed=0
kernels=0
for dtype in u8 f32 f16 bf16; do
    for layout in nhwc nchw; do
        kernels=$((kernels + 1))
        if ! grep -q "sl_conversion_${dtype}_${layout}" "$image"; then
            echo "not in the image: sl_conversion_${dtype}_${layout}"
            failed=1
        fi
    done
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$nvcc" -fatbin -O3 "$@" -Xptxas -v -I"$includes" -o "$folder/image" "$source" >"$folder/log" 2>&1
cat "$folder/log"
compiled=$(grep -c 'Compiling entry function' "$folder/log")
clean=$(grep -c '0 bytes spill stores, 0 bytes spill loads' "$folder/log")
echo "$compiled compiled, $clean of them without spills"
if ((compiled == 0 || compiled % kernels != 0 || clean != compiled)); then
    failed=1
fi
if grep -i 'warning' "$folder/log"; then
    failed=1
fi
exit "$failed"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# device_cuda_header_test.c compiles against the headers of older toolkits, too. There is one toolkit here at
# most: of its header a copy is made that says it is of CUDA 11.8 and lacks what 11.8's does.
# Usage: device_cuda_header_old.sh SOURCE_ROOT FOLDER_OF_CUDA_H CC
set -euo pipefail
root=$1
headers=$2
cc=$3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
lacking='CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID cuEventElapsedTime_v2 cuFuncLoad
         cuStreamGetCtx_v2 cuStreamGetDevice'
script='s/^(#define CUDA_VERSION) .*/\1 11080/'
for name in $lacking; do
    script+="; s/\\b$name\\b/missing_$name/g"
done
sed -E "$script" "$headers/cuda.h" > "$folder/cuda.h"
grep -q '^#define CUDA_VERSION 11080' "$folder/cuda.h"
"$cc" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$root/include" -I"$root/src/base" -I"$root/src/device" \
    -isystem "$folder" "$root/tests/unit/device_cuda_header_test.c"

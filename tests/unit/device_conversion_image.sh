#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The device code of conversions: every kernel is in the images that the library embeds, and none of
# them spills registers, keeps arrays in slow memory, or takes so many registers that a multiprocessor
# holds less than all of its threads, on any architecture that it is built for.
# Usage: device_conversion_image.sh "75 80 ..." IMAGE PTX; beside both is what the assembler said of them, in FILE.log. No
# architectures: the library is built without.
set -euo pipefail
if [[ -z $1 ]]; then
    echo "skipped: the library is built without its CUDA kernels"
    exit 77
fi
read -ra archs <<< "$1"
image=$2
ptx=$3

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

log=$(cat "$image.log" "$ptx.log")
echo "$log"
for each in "$image" "$ptx"; do
    compiled=$(grep -c 'Compiling entry function' "$each.log" || true)
    clean=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$each.log" || true)
    echo "$each: $compiled compiled, $clean of them without spills"
    if ((compiled == 0 || compiled % kernels != 0 || clean != compiled)); then
        failed=1
    fi
done
if ((compiled != kernels * ${#archs[@]})); then # of the PTX
    failed=1
fi
# Registers of a multiprocessor are 65536, given in eights: for 1024, 1536 and 2048 threads. Those that mix,
# with two pictures in registers, may have half as many threads.
if ! sed -nE "s/.*entry function '(.*)' for 'sm_([0-9]+)'/\1 \2/p; s/.*Used ([0-9]+) registers.*/\1/p" <<< "$log" |
    paste -d ' ' - - | awk '
        { limit = $2 == 75 || $1 ~ /_mixing_/ ? 64 : $2 ~ /^(86|87|89|12.)$/ ? 40 : 32 }
        $3 > limit { print $1 " on sm_" $2 " takes " $3 " registers of " limit; bad = 1 }
        END { exit bad || NR == 0 }'; then
    failed=1
fi
if grep -i 'warning' <<< "$log"; then
    failed=1
fi
exit "$failed"

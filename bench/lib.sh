# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh: what the scripts that measure share. Sourced, never run.

# spread: numbers on standard input -> "median (min..max)"
spread() {
    sort -g | awk '{v[NR] = $1} END {printf "%.5g (%.5g..%.5g)", v[int((NR + 1) / 2)], v[1], v[NR]}'
}

# median: numbers on standard input -> the middle one
median() { sort -g | awk '{v[NR] = $1} END {printf "%.3f", v[int((NR + 1) / 2)]}'; }

# stage_ratio STAGE: a jq expression: CPU time of decode or augment per image over the full decode.
# The workers' clock runs on while they are preempted, so their times only split the CPU time.
stage_ratio() {
    printf '.decode_ratio * .stages.%s.busy_s / (.stages.decode.busy_s + .stages.augment.busy_s)' "$1"
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh: functions shared by the measurement scripts. Source it; do not run it.

# spread: numbers on standard input -> "median (min..max)"
spread() {
    sort -g | awk '{v[NR] = $1} END {printf "%.5g (%.5g..%.5g)", v[int((NR + 1) / 2)], v[1], v[NR]}'
}

# median: numbers on standard input -> their median
median() { sort -g | awk '{v[NR] = $1} END {printf "%.3f", v[int((NR + 1) / 2)]}'; }

# stage_ratio STAGE: a jq expression: CPU time of decode or augment per image, relative to the full decode.
# The workers' clock also runs while they are preempted, so their times only divide the CPU time.
stage_ratio() {
    printf '.decode_ratio * .stages.%s.busy_s / (.stages.decode.busy_s + .stages.augment.busy_s)' "$1"
}

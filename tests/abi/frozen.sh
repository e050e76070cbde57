#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# frozen.sh PROGRAM LIBRARY: a program compiled against the frozen headers works with this library, and
# with no other.
set -eu
program=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" "$work"
found=$(ldd "$program" | sed -n 's/.*libsluice[^ ]* => \([^ ]*\) .*/\1/p')
[ "$(realpath "$found")" = "$(realpath "$library")" ] || { echo "it runs with '$found'"; exit 1; }

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# segmentation_step.sh PROGRAM: the example finds the classes of masks in a folder beside the pictures, and no others.
set -eu
program=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
/usr/bin/python3 -c 'import PIL' 2> /dev/null || { echo "there is no Pillow to draw masks with"; exit 77; }
/usr/bin/python3 - "$dir" << 'PYTHON'
import pathlib
import sys

from PIL import Image, ImageDraw

root = pathlib.Path(sys.argv[1])
for name in ("images", "masks"):
    (root / name).mkdir()
for number in range(32):
    size = (160 + number, 140)
    picture, mask = Image.new("RGB", size, (40, 80, 120)), Image.new("L", size, 3)
    ImageDraw.Draw(picture).rectangle((40, 30, 110, 100), (200, 30, 30))
    ImageDraw.Draw(mask).rectangle((40, 30, 110, 100), 7)
    picture.save(root / "images" / f"{number}.jpg")
    mask.save(root / "masks" / f"{number}.png")
PYTHON
out=$("$program" "$dir" 1 8 10)
printf '%s\n' "$out"
grep -qE '^utilisation [0-9.]+ %: 10 steps of 1 ms in ' <<< "$out" || exit 1
[ "$(sed -n 's/^class \([0-9]*\):.*/\1/p' <<< "$out" | tr '\n' ' ')" = "3 7 255 " ] || { echo "other classes"; exit 1; }
"$program" "$dir/images" 0 2> /dev/null && exit 1
[ "$("$program" "$dir/nothing" 1 2>&1 > /dev/null | wc -l)" = 1 ] || { echo "no error, or several lines"; exit 1; }

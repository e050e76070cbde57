#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# recipes.sh PROGRAM ROOT: the recipes in docs/recipes.md are those of examples/recipes.c, word for
# word, and each makes images of its size.
set -eu
program=$1 root=$2
diff <(awk '/^```c$/ { inside = 1; text = ""; next } /^```$/ { if (inside && text ~ /as_imagenet/) printf "%s", text; inside = 0 }
            inside { text = text $0 "\n" }' "$root/docs/recipes.md") \
    <(sed -n '/^\/\* ---- as in/,/^\/\* ---- as in.*here/p' "$root/examples/recipes.c" | sed '1,2d;$d' | sed '$d') ||
    { echo "docs/recipes.md (<) and examples/recipes.c (>) differ"; exit 1; }
for name in a1 a2 a3 deit3 deit3-21k mae simclr dino-large dino-small vit_b_16 vit_b_32 vit_l_16 vit_l_32 evaluation \
    lsj lsj-evaluation yolo yolo-evaluation; do
    size=224
    [ $name != a3 ] || size=160
    [ $name != dino-small ] || size=96
    got=$("$program" "$root/tests/data/scenes" $name)
    [ "$got" = "2 rows of 3 x $size x $size" ] || { echo "$name: got: $got"; exit 1; }
done
if "$program" "$root/tests/data/scenes" a4 2> /dev/null; then
    echo "a4 is a recipe"
    exit 1
fi

# SPDX-License-Identifier: Apache-2.0
# Opens the page of `sluice bench --report` in a real browser: it draws everything and reports no
# error.
. "$(dirname "$0")/lib.sh"

browser=
for name in chromium chromium-browser google-chrome; do
    browser=${browser:-$(command -v $name)}
done
[ -n "$browser" ] || skip "no Chromium here"
need timeout

"$sluice" synth photos --count 40 --classes 4 --size-scale 0.3 > /dev/null || fail synth
run 0 bench photos --size 64 --batch 8 --step-ms 8 --steps 12 --repeats 2 --report steps.html
run 0 bench photos --size 64 --batch 8 --epochs 2 --report delivery.html

# look PAGE: stores the document after its script ran in `dom` and, without scripts, in `drawn`.
look() {
    timeout 300 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" \
        --enable-logging=stderr --dump-dom "file://$PWD/$1" > dom 2> log ||
        skip "the browser does not run here: $(tail -1 log)"
    sed '/<script/,$d' dom > drawn # the resulting page without the program
    if grep -q 'CONSOLE' log; then fail "$1: $(grep CONSOLE log | head -3)"; fi
    says dom 'data-drawn="yes"'
}

look steps.html
says drawn "Three ways to feed the same steps"
says drawn "recovered share"
[ "$(grep -o '<figure>' drawn | wc -l)" -eq 7 ] || fail "not four plots and three timelines"
[ "$(grep -o '<rect ' drawn | wc -l)" -gt 100 ] || fail "timelines without bars"
if grep -q 'NaN\|undefined' drawn; then fail "a plot with $(grep -o 'NaN\|undefined' drawn | head -1)"; fi
look delivery.html
says drawn "images/s"
[ "$(grep -o '<figure>' drawn | wc -l)" -eq 2 ] || fail "not a plot and a timeline"

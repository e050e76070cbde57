# SPDX-License-Identifier: Apache-2.0
# Checks the output files of a benchmark: --trace is a trace whose events are consistent, --report a
# complete page that loads nothing else.
. "$(dirname "$0")/lib.sh"
need jq
python=/usr/bin/python3
[ -x "$python" ] || skip "$python is not installed"
tests=$(dirname "$(realpath "$0")")

"$sluice" synth photos --count 40 --classes 4 --size-scale 0.3 > /dev/null || fail synth
"$sluice" pack photos '<!--<script>' > /dev/null || fail pack

run 0 bench '<!--<script>' --size 64 --batch 8 --step-ms 8 --steps 12 --repeats 2 --json \
    --trace steps.json --report steps.html
cp out steps.figures
"$python" "$tests/check_trace.py" steps.json synchronous sluice resident || fail "steps.json"
"$python" "$tests/check_page.py" steps.html steps.figures || fail "steps.html"

run 0 bench photos --size 64 --batch 8 --epochs 2 --json --trace delivery.json --report delivery.html
cp out delivery.figures
"$python" "$tests/check_trace.py" delivery.json delivery || fail "delivery.json"
"$python" "$tests/check_page.py" delivery.html delivery.figures || fail "delivery.html"

for option in --trace --report; do
    # The check comes before the run, not after it.
    refuses 1 "nowhere/file: cannot be written: No such file" \
        bench photos --size 64 --batch 8 --epochs 1 $option nowhere/file
    refuses 1 "photos: cannot be written: Is a directory" bench photos $option photos
    refuses 1 "there-is-none" bench there-is-none $option unwritten
    [ ! -e unwritten ] || fail "$option wrote a file, although the run failed"

    # A link is followed; a FIFO and a device are written to and not replaced.
    ln -s target link && : > target
    mkfifo pipe
    timeout 300 cat pipe > drained &
    run 0 bench photos --size 64 --batch 8 --epochs 1 $option pipe
    wait
    run 0 bench photos --size 64 --batch 8 --epochs 1 $option link
    [ -p pipe ] && [ -s drained ] || fail "$option: the FIFO"
    [ -L link ] && [ -s target ] || fail "$option: the link"
    rm link target pipe drained
done
# The checks themselves can fail.
jq '.traceEvents |= map(if .name == "decode" then .dur = 1e9 else . end)' steps.json > long.json
jq '.traceEvents |= map(if .ph == "X" then .dur = -1 else . end)' steps.json > negative.json
sed 's/<body>/<body><img src="https:x">/' steps.html > url.html
sed 's/<table>//' steps.html > cut.html
for file in long.json negative.json; do
    if "$python" "$tests/check_trace.py" $file synchronous sluice resident 2> /dev/null; then
        fail "$file passed"
    fi
done
if "$python" "$tests/check_page.py" url.html steps.figures 2> /dev/null; then fail "url.html passed"; fi
head -c 5000 steps.html > cut.html
if "$python" "$tests/check_page.py" cut.html steps.figures 2> /dev/null; then fail "cut.html passed"; fi

# SPDX-License-Identifier: Apache-2.0
# Checks the page of `sluice bench --report`, with its program run by node: lanes reach their end,
# no sign without a number, no ranges for a single value, and a verdict only from enough steps.
here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need node

drawn() { node "$here/run_page.js" "$@" > drawn 2> err || fail "the page's program: $(tail -n 3 err)"; }
lacks() { ! grep -qE -e "$2" "$1" || fail "$(grep -oE -e "$2" "$1" | head -n 1) in $1"; }

run 0 synth photos --count 40 --classes 4 --size-scale 0.3 --seed 3

# One repeat: no ranges, and a verdict from its steps.
run 0 bench photos --size 64 --batch 8 --step-ms 4 --steps 12 --repeats 1 --report one.html
says out "12 steps an arm counted"
lacks out '[0-9]\.\.-?[0-9]'
lacks out '-0\.0*([^0-9]|$)'
drawn one.html
says drawn "of one repeat"
lacks drawn '[0-9]\.\.-?[0-9]'
lacks drawn '-0(\.0*)?([^0-9.]|$)'
lacks drawn 'NaN|undefined'
lacks drawn 'too few steps'

# Several repeats: ranges, except where both ends are equal.
run 0 bench photos --size 64 --batch 8 --step-ms 4 --steps 4 --repeats 3 --report three.html
drawn three.html 'const small = { median: -1e-9, min: -2e-9, max: 1e-9 };
    figures.comparison.idle_points = small;
    figures.arms.sluice.host_wait_ms_p50 = { median: 2, min: 2, max: 2 };
    figures.arms.sluice.data_idle = { median: -0.00001, min: -0.5, max: 0.00001 };
    figures.last_repeat.resident.host_wait_ms = figures.last_repeat.resident.host_wait_ms.map(() => -0);'
says drawn "over 3 interleaved repeats"
says drawn "<b>0.0</b><span>idle points won"
says drawn "<td>2.000</td>"
says drawn "<td>0.00 <small>(-50.00..0.00)</small></td>"
lacks drawn '-0(\.0*)?([^0-9.]|$)'

# Too few steps: reported on the page, in the text and in JSON.
run 0 bench photos --size 64 --batch 8 --step-ms 4 --steps 4 --repeats 2 --report few.html --json
json '.verdict == "too few steps for a verdict: 8 of 10" and .verdict_steps == 8 and .verdict_steps_least == 10'
drawn few.html
run 0 bench photos --size 64 --batch 8 --step-ms 4 --steps 4 --repeats 2
says out "verdict       too few steps for a verdict: 8 of 10"
grep -o 'too few steps for a verdict: 8 of 10' few.html > /dev/null || fail "the page has a verdict"
run 0 bench photos --size 64 --batch 20 --epochs 2 --json
json '.verdict == "too few steps for a verdict: 4 of 10"'
run 0 bench photos --size 64 --batch 4 --epochs 2 --json
json '.verdict_steps == 20 and (.verdict | test("too few") | not)'

# Lanes reach their end: the work of threads and the contents of slots are drawn up to the last
# tenth. A single lane may rightly end before, since the test cannot control which thread gets a
# CPU. Nor can it control when reads happen: they come in bursts.
run 0 bench photos --size 32 --batch 40 --epochs 300 --workers 2 --report many.html
drawn many.html
node -e '
    const page = require("fs").readFileSync("many.html", "utf8");
    for (const arm of JSON.parse(page.match(/id="timeline">([^]*?)<\/script>/)[1])) {
        const ends = { 1: 0, 3: 0 };
        for (const [group, , , , end] of arm.spans) if (group in ends) ends[group] = Math.max(ends[group], end);
        if (Object.values(ends).some((end) => end < 0.9 * arm.ms)) {
            console.log(JSON.stringify([arm.ms, ends]));
            process.exit(1);
        }
    }' > lanes || fail "lanes that end before the page does: $(cat lanes)"

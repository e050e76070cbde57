# SPDX-License-Identifier: Apache-2.0
# Steps on an emulated accelerator: three arms, with plausible statistics.
. "$(dirname "$0")/lib.sh"
need jq

"$sluice" synth photos --count 40 --classes 4 --size-scale 0.3 > /dev/null || fail synth
"$sluice" pack photos packed > /dev/null || fail pack
all='[.arms.synchronous, .arms.sluice, .arms.resident] | all'

run 0 bench packed --size 64 --batch 8 --step-ms 20 --steps 12 --repeats 3 --supply --json
json '.accelerator | .emulated and .step_ms == 20 and .demand_images_per_s == 400 and .preset == null'
json '.repeats_done == 3 and (.repeats | length) == 3 and .interrupted == false'
json "$all(.steps == 12 and .au_strict.median > 0 and .au_strict.max < 1.0001)"
json "$all(to_entries | map(select(.key != \"steps\").value) | all(.min <= .median and .median <= .max))"
json "$all(.host_wait_ms_p50.median <= .host_wait_ms_p99.median)"
json "$all(.host_wait_ms_p99.median <= .host_wait_ms_max.median)"
json "$all(.data_idle.median <= .idle.median + 0.0001 and .data_idle.min >= 0)"
json "$all(.step_ms_mean.min > 19.99)"
json '.arms.resident.data_idle.median == 0 and .arms.resident.host_wait_ms_max.median == 0'
# On demand, each step waits for its whole batch.
json '.arms.synchronous.host_wait_ms_p50.max > 0.05'
json '.arms.synchronous.data_idle.median > 0'
json '.comparison.supply_images_per_s.min > 0 and .comparison.au_predicted.max <= 1'
json '.comparison | (.supply_ratio.median * 400 / .supply_images_per_s.median - 1 | fabs) < 0.001'
json '.last_repeat | [.synchronous, .sluice, .resident] | all((.step_ms | length) == 12)'
json '(.stages.decode.items > 0) and (.verdict | length > 20) and (.environment.time | test("Z$"))'
json '.gpu == null and .device == "host" and (.host_waits | add) > 0'

run 0 bench photos --size 64 --batch 8 --step-ms 2ms --steps 5 --repeats 1 --ahead 0 --prefetch 3
says out "emulated"
says out "synchronous"
says out "recovered share"
says err " steps each; Ctrl-C ends it and shows the results so far"
# The verdict is the first line and says what to do; the table follows.
[ "$(sed -n 1p out | cut -c 1-14)" = "verdict       " ] || fail "the verdict is not the first line"
grep -n -m 1 synchronous out | grep -q '^[3-5]:' || fail "the table is not at the top"
says out "bottleneck    "
if grep -q predicted out; then fail "a prediction without --supply"; fi

# The step from which the supply ratio follows.
run 0 bench packed --size 64 --batch 8 --supply-ratio 0.5 --steps 10 --repeats 1 --json
json '.accelerator.step_ms > 0 and .comparison.supply_ratio.median > 0'
json '.accelerator.au_asked == null'
run 0 bench packed --size 64 --batch 8 --step-ms 0.01 --steps 30 --repeats 1
grep -qE '^verdict       the accelerator would wait for data [0-9.]+ % of the time; .' out || fail "no advice"
# No loader can feed a step of 10 us, least of all with one worker: this is detected and not blamed
# on the accelerator.
run 0 bench packed --size 224 --batch 20 --workers 1 --step-ms 0.01 --steps 30 --repeats 1 --json
json '.arms.sluice.au_strict.median < 0.5 and .arms.sluice.data_idle.median > 0'
json '.verdict | test("accelerator-bound") | not'

# A preset sets a pace; the length of an arm is set in other ways.
run 0 bench packed --size 32 --accelerator cosmoflow-h100 --scale 0.5 --epochs 1 --repeats 1 --json
json '.accelerator.preset == "cosmoflow-h100" and .accelerator.step_ms == 7 and .batch == 1'
json '.arms.sluice.steps == 40'
run 0 bench packed --size 32 --accelerator unet3d-b200 --steps 2 --repeats 1 --json
json '.accelerator.preset == "unet3d-b200" and .accelerator.step_ms == 162 and .batch == 7'
run 0 bench packed --size 32 --accelerator retinanet-b200 --scale 0.5 --steps 2 --repeats 1 --json
json '.accelerator.step_ms == 95.1 and .batch == 24 and .accelerator.au_asked == 0.85'
run 0 bench packed --size 32 --accelerator cosmoflow-h100 --seconds 70ms --repeats 3
says out "MLPerf Storage asks     70 % of utilisation, where nothing is decoded"
says out "not an MLPerf result"
says out "repeats       1, 10 steps an arm"
if grep -q "makes it shorter" err; then fail "--seconds was given"; fi

# --seconds covers all arms and repeats, even if steps wait for data; the expected time is printed
# first.
start=$(date +%s%N)
run 0 bench packed --size 224 --batch 16 --workers 1 --step-ms 3 --seconds 2 --json
past=$((($(date +%s%N) - start) / 1000000))
said=$(sed -n 's/^sluice bench: about \([0-9.]*\) s: .*/\1/p' err)
said=${said:-60} # in minutes
# At least ten steps per arm and one repeat: on a busy machine they may take longer, which is
# reported.
least='.arms.synchronous.steps == 10 and (.repeats | length) == 1'
awk -v s="$said" 'BEGIN { exit !(s >= 1.5) }' || fail "--seconds 2: about $said s"
awk -v s="$said" 'BEGIN { exit !(s <= 3) }' || json "$least"
[ $past -lt $((10000 + 3000 * ${said%.*})) ] || json "$least"
json '.repeats_done >= 1 and .arms.sluice.steps >= 10'
grep -q "sluice bench: about .* s: [1-5] repeats\? of three arms, [0-9]* steps each" err ||
    fail "the time is not said"
steps=$(sed -n 's/^sluice bench: about .* arms, \([0-9]*\) steps each.*/\1/p' err)
json "[.arms.synchronous, .arms.sluice, .arms.resident] | all(.steps == $steps)"

# Wrong from the start: no device, or fewer images than a batch.
if ! "$sluice" devices | grep -q '^cuda:'; then
    refuses 1 "sluice devices" bench packed --device cuda:0 --step-ms 5
    run 0 bench packed --size 32 --batch 8 --device auto --step-ms 2 --steps 3 --repeats 1 --json
    json '.device == "host" and .accelerator.emulated'
fi
refuses 2 "one global batch" bench packed --batch 64 --step-ms 5
says err "--last pad"
run 0 bench packed --size 32 --batch 64 --step-ms 5 --last pad --steps 3 --repeats 1 --json
json '.arms.sluice.steps == 3 and .batch == 64'
refuses 2 "need full batches" bench packed --step-ms 5 --last short
run 0 bench packed --size 32 --batch 16 --last drop --epochs 2 --json
json '.images == 2 * 32'
run 0 bench packed --size 32 --batch 16 --last pad --epochs 2 --json
json '.images == 2 * 48'

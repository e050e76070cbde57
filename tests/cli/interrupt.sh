# SPDX-License-Identifier: Apache-2.0
# Ctrl-C: a benchmark shows its results so far; synth says how to resume. Exit code 130.
. "$(dirname "$0")/lib.sh"
need jq

# An interrupted tool does not join its threads: a thread that has just finished is not a leak.
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:report_thread_leaks=0"

# stop_once CONDITION SECONDS ARGUMENT ...: sends SIGINT SECONDS after the command CONDITION
# succeeds; the exit code must be 130.
stop_once() {
    local code=0
    : > err # from the previous run
    "$sluice" "${@:3}" > out 2> err &
    local process=$!
    wait_for "$1"
    sleep "$2"
    kill -INT $process
    wait $process || code=$?
    [ "$code" -eq 130 ] || fail "sluice ${*:3}: exit code $code instead of 130"
}
# A busy machine may take long to reach main; before that, the signal ends the tool silently.
catches() {
    [ "/proc/$process/exe" -ef "$sluice" ] &&
        (((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$process/status") >> 1) & 1))
}
stop() { stop_once catches "$@"; }                          # SECONDS
stop_after() { stop_once "grep -qF -e '$1' err" "${@:2}"; } # TEXT on stderr
stop_when() { stop_once "[ -e '$1' ]" 0 "${@:2}"; }          # FILE

run 0 synth photos --count 30 --classes 3 --size-scale 0.3
stop_after "measuring" 1 bench photos --batch 8 --size 64 --seconds 5m --json
json '.interrupted and .images > 0 and .images_per_s > 0'
for pause in 3 10 40; do # a repeat may take long on a busy machine
    stop_after "about" $pause bench photos --batch 8 --size 64 --step-ms 10 --steps 20 --repeats 1000 --json
    [ "$(jq .repeats_done out)" -eq 0 ] || break
done
json '.interrupted and .repeats_done >= 1 and .repeats_done < 1000 and (.verdict | length) > 0'
# Even in the first repeat, the results so far are shown.
for pause in 1 5 20; do # a busy machine may not have reached a step
    stop_after "about" $pause bench photos --batch 8 --size 64 --step-ms 20 --steps 2000 --json
    grep -q "nothing was measured" err || break
done
says err "steps each; --seconds 5s makes it shorter, Ctrl-C ends it" # 600 s
json '.interrupted and .repeats_done == 0 and (.repeats | length) == 1'
json '.arms.synchronous | .steps > 0 and .steps < 2000 and .step_ms_mean.median >= 20'
json '.arms.resident | .steps == 0 and .step_ms_mean.median == null'
json '.comparison.recovered.median == null and (.verdict | test("interrupted"))'
for pause in 1 5 20; do
    stop_after "about" $pause bench photos --batch 8 --size 64 --step-ms 20 --steps 2000 --report page.html
    grep -q "nothing was measured" err || break
done
says out "interrupted: "
says out "none whole"
[ -s page.html ] || fail "no report of the steps measured so far"
stop 1 synth many --count 100000
says err "--force"
[ "$(find many -name '*.tmp' | wc -l)" -eq 0 ] || fail "an unfinished file was left"

# An interrupted command reports it in JSON, too, after any findings.
mkdir -p long/0 long/class
run 0 synth large --count 1 --classes 1 --size-scale 3
photo=$(find large -name '*.JPEG')
for i in $(seq 200); do ln "$photo" long/class/$i.jpg; done
for i in $(seq 20); do ln -s class long/$i; done
echo bad > long/0/0.jpg
for pause in 1 5 20; do # a busy machine may not have reached the bad one
    stop $pause verify long --decode --workers 1 --json
    [ "$(jq '.findings | length' out)" -eq 0 ] || break
done
json '.interrupted and .exit_code == 130 and (.findings | length) == 1'
stop_when packed/pack.journal pack long packed --on-bad skip --workers 1 --json
json '.interrupted and .exit_code == 130'
says err "the same command resumes the pack"
rm -r packed
stop_when packed/pack.journal pack long packed --on-bad skip --workers 1 --overwrite
says err "the same command without --overwrite resumes the pack"
# Listing a hundred thousand images takes time: the work must not have begun by then.
for i in $(seq 500); do ln -s class long/more-$i; done
stop 0.2 pack long later --on-bad skip
# The work may begin during the interruption: the message never claims more than exists.
[ -e later/pack.journal ] || says err "before anything was packed"
find long -name 'more-*' -delete
stop 1 view long --samples 200 --draws 60 --size 91 -o sheet.png --json
json '.interrupted'
[ ! -e sheet.png ] || fail "view wrote after all"
stop 0.3 bench long --batch 8 --json
json '.interrupted and .exit_code == 130'
stop 0.3 bench long --batch 8 --step-ms 5 --json
json '.interrupted and .exit_code == 130'
stop 1 synth more --count 100000 --json
json '.interrupted'

# When its reader closes, the writer ends silently.
"$sluice" info --system --json 2> err | true
[ ! -s err ] || fail "a closed pipe causes an error message"

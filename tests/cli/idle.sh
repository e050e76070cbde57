# SPDX-License-Identifier: Apache-2.0
# Tests sluice idle end to end, over a fake CUPTI and a fake NVML: idle.sh SLUICE CUPTI NVML
# PROGRAM.
. "$(dirname "$0")/lib.sh"
need jq
export SLUICE_CUPTI=$2 SLUICE_NVML=$3
program=$4
unset CUDA_VISIBLE_DEVICES SLUICE_IDLE_DIR CUDA_INJECTION64_PATH

near() { json "$1 | . > $2 - 0.0001 and . < $2 + 0.0001"; }

# run_sampled ARGUMENT ...: runs sluice until NVML was asked at least twice in the window, for which
# a busy machine may leave no time.
run_sampled() {
    local tries
    for tries in {1..20}; do
        run 0 "$@"
        ! jq -e '.nvml.gpu_percent.samples >= 2' out > /dev/null || return 0
    done
    fail "NVML was not asked twice in the window of any of $tries runs"
}

# Statistics of a program whose steps are known (injected_program.c).
run_sampled idle --interval 20ms --json -- "$program" cuda marks steps=60 sleep=700 print=hello
says err hello
near '.devices[0].sm_idle' 0.33
near '.devices[0].compute_idle' 0.40
near '.devices[0].data_idle' 0.30
near '.devices[0].other_idle' 0.10
near '.devices[0].exposed_copy' 0.21
near '.devices[0].exposed_copy_to_device' 0.20
near '.devices[0].step_p50_s' 0.01
json '.measured and .reason == null and .run.exit_code == 0 and (.devices | length) == 1'
json '.devices[0] | .steps == 48 and .kernels == 181 and .memory_operations == 120 and .device == "0"'
json '.processes[0] | .records == 301 and .marks == 120 and .ended_with_exit and .lost == 0'
json '.processes[0] | .bytes == 301 * 32 and .setup_s > 0 and .callback_cpu_s > 0'
json '.nvml | .device == "Fake GPU 0" and .power_watts.mean == 250.5 and .sm_percent.mean == 62.5'
json '.nvml.gpu_percent | .min == 50 and .max == 70'

# The same as text; it states nothing that is unknown without marks.
run 0 idle -- "$program" cuda marks steps=60 print=hello
says out hello
says out "data-caused     30.00 %"
says out "that is what a faster loader can win"
run 0 idle --skip-seconds 0 -- "$program" cuda steps=20
says out "in 20.00 % of the time a copy"
says out "cannot be seen from the GPU alone"

# An older CUPTI uses the wall clock for timestamps; marks use another clock, and the two must be
# aligned.
export FAKE_CUPTI_FAIL=register_clock=27
run 0 idle --json -- "$program" cuda marks steps=60
json '.devices[0] | .data_idle > 0.297 and .data_idle < 0.303'

# However CUPTI responds, the program continues and the reason is reported.
refused() { # CALL=CODE TEXT
    FAKE_CUPTI_FAIL=$1 run 1 idle --json -- "$program" cuda steps=5 print=on
    says err on
    json ".measured == false and (.reason | contains(\"$2\"))"
    FAKE_CUPTI_FAIL=$1 run 4 idle -- "$program" cuda steps=5 exit=4
    says out "$2"
}
refused subscribe=39 "another profiler is at work"
refused enable_kernel=35 "only administrators"
refused enable=999 "cuptiActivityEnable(MEMCPY): CUPTI_ERROR_UNKNOWN (999)"
refused register_callbacks=15 "cuptiActivityRegisterCallbacks"
unset FAKE_CUPTI_FAIL
SLUICE_CUPTI=/nowhere/libcupti.so run 1 idle --json -- "$program" cuda steps=5
json '.reason | contains("/nowhere/libcupti.so")'
SLUICE_CUPTI=libc.so.6 run 1 idle --json -- "$program" cuda
json '.reason | contains("libc.so.6 has no cuptiSubscribe")'

# No CUDA, or no kernel; no NVML.
run 1 idle --json -- "$program" print=x
json '.processes == [] and (.reason | contains("did not start CUDA"))'
run 1 idle -- "$program" cuda
says out "no kernel of the program's own ran"
SLUICE_NVML=/nowhere/nvml.so run 0 idle --json -- "$program" cuda steps=20
json '.measured and (.nvml.reason | contains("/nowhere/nvml.so"))'
run 0 idle --json --skip-seconds 0 --window 50ms -- "$program" cuda steps=20
near '.devices[0].window_s' 0.05
run 1 idle --skip-seconds 1h -- "$program" cuda steps=20
says out "in the window"

# The tool passes on the program's exit code and termination.
run 9 idle -- "$program" cuda steps=20 exit=9
run 137 idle -- "$program" cuda steps=20 signal=9
says out "ended by signal 9"
run 138 idle --json -- "$program" signal=10
json '.run.signal == 10 and .run.exit_code == 138'
refuses 127 "No such file" idle -- ./not-there
: > plain; chmod 644 plain
refuses 126 "Permission denied" idle -- ./plain
refuses 127 "No such file" idle --compare -- ./not-there
refuses 2 "PROGRAM is missing" idle
refuses 2 "unknown option --nope" idle --nope -- true
refuses 2 "a duration" idle --window 0 -- true
SLUICE_INJECT=/nowhere/x.so refuses 1 "/nowhere/x.so" idle -- "$program" print=never

# For a program that is killed or leaves by _exit, everything written before counts.
run 137 idle --json -- "$program" cuda marks steps=60 written=301 signal=9
json '.measured and (.processes[0].ended_with_exit | not) and .processes[0].records == 301'
run 0 idle -- "$program" cuda steps=60 written=301 _exit=0
says out "ended without exit()"

# A fork is not a second process; two processes count as two, on one GPU or two. In the child,
# LeakSanitizer takes a lock that a thread of the parent may have held, and would then wait forever.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run 0 idle --json -- "$program" cuda steps=20 fork steps=20
json '(.processes | length) == 1 and .processes[0].records == 202 and .processes[0].ended_with_exit'
two="$program cuda steps=20 & CUDA_VISIBLE_DEVICES=3,0 $program cuda device=1 steps=20; wait"
run 0 idle --json -- sh -c "$two"
json '(.processes | length) == 2 and (.devices | length) == 1 and .devices[0].processes == 2'
CUDA_VISIBLE_DEVICES=1 run 0 idle --json -- sh -c "$two"
json '[.devices[].device] | sort == ["0", "1"]'
json '.nvml_device == "1" and .nvml.device == "Fake GPU 1"'

# CUDA's first device is NVML's second: the records say which one, however short the run.
export SLUICE_CUDA_DRIVER=$5
for run in '' sleep=1200; do
    run 0 idle --interval 20ms --json -- "$program" driver cuda steps=20 $run
    json '.devices[0].device == "ffff:ff:1f.7" and .nvml_device == "ffff:ff:1f.7"'
    json '.nvml.device == "Fake GPU 1" and .nvml.pci_address == "0000FFFF:FF:1F.7"'
done
two="$program driver cuda steps=20 sleep=200 & $program cuda steps=20 sleep=200; wait"
run 0 idle --interval 20ms --json -- sh -c "$two"
json '[.device_nvml[] | .device + " " + .nvml.device] | sort == ["0 Fake GPU 0", "ffff:ff:1f.7 Fake GPU 1"]'
run 0 idle --interval 20ms -- sh -c "$two"
says out "and about device"
run 0 idle --interval 20ms --device 0 --json -- "$program" driver cuda steps=20 sleep=200
json '.nvml_device == "0" and .nvml.device == "Fake GPU 0"'
json '.device_nvml[0].nvml.reason | contains("not watched")'
unset SLUICE_CUDA_DRIVER

# Many records, filling all buffers; invalid and dropped ones are counted.
run 0 idle --json --skip-seconds 0 -- "$program" cuda rows=200000
json '.processes[0] | .records == 200000 and .lost == 0 and .dropped == 0'
json '.devices[0].compute_idle | . > 0.4999 and . < 0.5001'
FAKE_CUPTI_DROPPED=5 run 0 idle --json -- "$program" cuda rows=10 odd=3
json '.processes[0] | .records == 10 and .dropped == 5 and .without_times == 3'
FAKE_CUPTI_DROPPED=5 run 0 idle -- "$program" cuda rows=10
says out "5 dropped by CUPTI"
run 0 idle -- "$program" cuda marks bad_marks steps=20
says out "6 lines of its marks file are wrong"

# A file that cannot grow: records that fit are measured, the rest is counted and named.
(
    trap '' XFSZ
    ulimit -f 100 # KiB
    run 0 idle --json -- "$program" cuda rows=5000
    # 2048, unless the flush of each second ended a block early.
    json '.processes[0] | .write_errno == 27 and .records > 0 and .records + .lost == 5000'
    json '.processes[0].records * 32 < 100 * 1024'
    ulimit -f 4
    run 1 idle -- "$program" cuda rows=5000
    says out "could not be written: File too large"
) || exit 1

# Records are kept on request and never mixed with others.
run 0 idle --records kept -- "$program" cuda steps=20
[ "$(find kept -name 'records.*' | wc -l)" -eq 1 ] || fail "the records were not kept"
refuses 1 "another run" idle --records kept -- "$program" print=never
mkdir tmp
TMPDIR=$PWD/tmp run 0 idle -- "$program" cuda marks steps=20
[ -z "$(ls tmp)" ] || fail "a temporary folder was left"

run 0 idle --compare --json -- "$program" cuda steps=20 sleep=50
json '.run_without_tracing.wall_s >= 0.05 and .run.wall_s >= 0.05 and .measured'
says err "not injected"

# A signal to the tool is passed on to the program.
stop() { # SIGNAL
    local code=0 process
    : > err # from the previous run
    set -m # a separate job, which receives SIGINT: other background jobs ignore it
    "$sluice" idle --json -- "$program" cuda steps=20 wait_term > out 2> err &
    process=$!
    set +m
    wait_for 'grep -q waiting err' # the program's handlers are installed
    kill -s "$1" $process
    wait $process || code=$?
    [ "$code" -eq 7 ] || fail "exit code $code instead of the program's 7"
    json '.measured and .run.exit_code == 7'
}
stop TERM
stop INT

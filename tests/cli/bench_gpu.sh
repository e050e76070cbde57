# SPDX-License-Identifier: Apache-2.0
# bench_gpu.sh SLUICE DRIVER NVML: steps on a GPU simulated by a fake driver. Tests that every code
# path is taken and cleaned up, not a GPU's speed.
. "$(dirname "$0")/lib.sh"
need jq
export SLUICE_CUDA_DRIVER SLUICE_NVML
SLUICE_CUDA_DRIVER=$(realpath "$2")
SLUICE_NVML=$(realpath "$3")

# The fake GPU is a thread: on a busy machine, a step takes longer than calibrated.
run_calibrated() {
    for _ in {1..20}; do
        ! "$sluice" "$@" > out 2> err || return 0
        grep -q "too short for this GPU" err || break
    done
    fail "sluice $*: $(cat err)"
}

"$sluice" synth photos --count 40 --classes 4 --size-scale 0.3 > /dev/null || fail synth
run_calibrated bench photos --size 32 --batch 8 --device cuda:0 --step-ms 20 --steps 8 --repeats 1 --supply \
    --json --trace trace.json --report page.html
json '.accelerator.emulated == false and (.accelerator.text | test("calibrated"))'
json '.device == "cuda:0" and (.accelerator.step_ms / 20 - 1 | fabs) <= 0.02'
json '[.arms.synchronous, .arms.sluice, .arms.resident] | all(.steps == 8 and .step_ms_mean.median > 0)'
json '[.arms.synchronous, .arms.sluice, .arms.resident] | all(.au_mlperf.median <= 1.0001)'
json '.stream.steps_timed > 0 and .stages.upload.items > 0'
json '.gpu != null'
says trace.json '"copy"'
says trace.json '"sluice: device slots"'
if [ -x /usr/bin/python3 ]; then
    /usr/bin/python3 "$(dirname "$0")/check_trace.py" trace.json synchronous resident || fail trace.json
fi
run 0 bench photos --size 32 --batch 8 --device cuda --device-slots 2 --dtype f16 --layout nchw \
    --epochs 2 --json
json '.device == "cuda:0" and .images == 80 and (.pinning | length) > 0'
refuses 1 "sluice devices" bench photos --device cuda:7
refuses 1 "too short for this GPU" bench photos --size 32 --batch 8 --device cuda:0 --step-ms 0.001
# On demand, every column is copied, texts of any length too.
run_calibrated bench photos --batch 8 --device cuda:0 --step-ms 20 --steps 8 --repeats 1 --json \
    --column label:number --column key:ragged,length=99
json '.arms.synchronous.steps == 8 and .arms.synchronous.samples_per_s.median > 0'

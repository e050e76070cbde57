# SPDX-License-Identifier: Apache-2.0
# Tests the rank of a process as set by the environment and options, and a benchmark run by several
# processes. No launcher is needed: the tests set the launchers' variables.
. "$(dirname "$0")/lib.sh"
need jq
for name in $(compgen -e | grep -E '^(RANK|WORLD_SIZE|LOCAL_|GROUP_|OMPI_|PMI_|PALS_|SLURM_|TORCHELASTIC_)'); do
    unset "$name"
done

run 0 info --system
says out "ranks        one process"
run 0 info --system --json
json '.ranks | .rank == 0 and .world_size == 1 and .launcher == null and .job == null'
export SLURM_JOB_ID=7 SLURM_STEP_ID=2 SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_LOCALID=1
run 0 info --system --json
json '.ranks | .rank == 1 and .world_size == 4 and .local_rank == 1 and .local_size == null'
json '.ranks | .launcher == "Slurm" and .job == "7-2"'
export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
run 0 info --system
says out "rank 0 of 2 (Open MPI: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE); Slurm's 1 of 4 ignored"
export RANK=1 WORLD_SIZE=2
run 2 info --system
says err "RANK and WORLD_SIZE (torchrun) say rank 1 of 2"
says err "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE (Open MPI) rank 0 of 2"
says out "processors"
run 2 info --system --json
json '.ranks == null and .exit_code == 2 and (.error.text | contains("disagree")) and .cpus > 0'
refuses 2 "the options are --rank and --world-size" bench photos

# Options win; all of them are checked before the dataset is opened.
refuses 2 "--rank and --world-size need each other" bench nowhere --rank 1
refuses 2 "--rank and --world-size need each other" bench nowhere --world-size 2
refuses 2 "--rank 2 of --world-size 2: ranks count from 0" bench nowhere --rank 2 --world-size 2
refuses 2 "expected a whole number" bench nowhere --rank 0 --world-size 0
refuses 2 "cannot run training steps" bench nowhere --rank 0 --world-size 2 --step-ms 5
refuses 2 "or a --yardstick" bench nowhere --rank 0 --world-size 2 --yardstick x
"$sluice" synth photos --count 40 --classes 4 --size-scale 0.3 > /dev/null || fail synth
run 0 bench photos --size 64 --batch 8 --epochs 1 --rank 0 --world-size 1 --json
json '.samples == 40'
unset RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
unset SLURM_JOB_ID SLURM_STEP_ID SLURM_PROCID SLURM_NTASKS SLURM_LOCALID

# start RANK OPTION ...: starts one of three ranks in the background.
start() {
    local rank=$1
    shift
    RANK=$rank WORLD_SIZE=3 "$sluice" bench photos --size 64 --batch 4 --epochs 2 --workers 1 \
        --rank-files . --rank-wait 60s "$@" > "out.$rank" 2> "err.$rank" &
    started[rank]=$!
}
ended() { # ended CODE RANK
    local code=0
    wait "${started[$2]}" || code=$?
    [ "$code" -eq "$1" ] || { cat "err.$2"; fail "rank $2 ended with $code instead of $1"; }
}

# Files left by a killed run.
mkdir sluice-bench-run
echo 00000000000000aa > sluice-bench-run/run
printf '00000000000000aa\n0 1 1 1 1 1 1 1\nold\nold\n' | tee sluice-bench-run/figures.1 > sluice-bench-run/figures.2
for rank in 1 2 0; do start $rank --json --trace "trace.$rank" --report "page.$rank"; done
for rank in 0 1 2; do ended 0 $rank; done
cp out.0 out
json '.world_size == 3 and .samples == 80 and (.ranks | map(.rank)) == [0, 1, 2]'
json '(.ranks | map(.samples) | sort) == [26, 26, 28] and (.ranks | map(.machine) | unique | length) == 1'
json '(.ranks | map(.samples_per_s) | add) as $sum | (.samples_per_s / $sum - 1 | fabs) < 1e-4'
json '.slowest_rank as $r | .ranks[$r].images_per_s == (.ranks | map(.images_per_s) | min)'
json '.machines == 1 and .verdict == .ranks[.slowest_rank].verdict'
for rank in 1 2; do
    [ ! -s out.$rank ] && [ ! -s err.$rank ] || fail "rank $rank has something to say"
    [ ! -e trace.$rank ] && [ ! -e page.$rank ] || fail "rank $rank writes files"
done
[ -s trace.0 ] && [ -s page.0 ] || fail "rank 0 writes no files"
[ ! -e sluice-bench-run ] || fail "its files were left"

for rank in 0 1 2; do start $rank; done
for rank in 0 1 2; do ended 0 $rank; done
[ "$(grep -c "^   [012]  " out.0)" -eq 3 ] || fail "no line for each rank"
says out.0 "the sum of 3 ranks on 1 machine (80 images"
grep -qE '^slowest rank  [012] on .*% of the fastest' out.0 || fail "the slowest rank is not named"

# A missing rank is named to the waiting ranks.
start 0 --rank-wait 500ms --json
start 1
ended 1 0
ended 1 1
says err.0 "rank 2 of 3 did not report within 0.5 s"
says err.1 "sluice bench (rank 1): rank 0 gave up"
cp out.0 out
json '.exit_code == 1'
[ ! -s out.1 ] || fail "rank 1 wrote to standard output"


# A rank whose share has a damaged image reports it, and rank 0 learns of it without a long wait.
victim=$(find photos -type f | sort | tail -n 1)
head -c 300 "$victim" > cut && mv cut "$victim"
for rank in 0 1 2; do start $rank; done
failed=()
for rank in 1 2 0; do wait "${started[rank]}" || failed+=("$rank"); done
[ "${#failed[@]}" -gt 0 ] && [ "${failed[-1]}" = 0 ] || fail "nobody failed, or rank 0 did not: ${failed[*]}"
grep -q "$victim" err.* || fail "the damaged picture is not named"
grep -q -e "$victim" -e "rank [12] failed: see its own error" err.0 || fail "rank 0 does not say what happened"

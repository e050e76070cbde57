# SPDX-License-Identifier: Apache-2.0
# Tests `sluice pack` and `sluice verify` with several processes, set by options or by launchers.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
unset RANK WORLD_SIZE LOCAL_RANK PMI_RANK PMI_SIZE SLURM_PROCID SLURM_NTASKS SLURM_ARRAY_TASK_ID JOB_COMPLETION_INDEX \
    AWS_BATCH_JOB_ARRAY_INDEX LSB_JOBINDEX SGE_TASK_ID PBS_ARRAY_INDEX PBS_ARRAYID

same() { diff -r whole parts > /dev/null || fail "$1: not the bytes of one process"; }

run 0 synth photos --count 40 --seed 3
echo "no picture" > "$(find photos -type f | sort | head -n 1)"
size=(--shard-size 1MiB --on-bad skip)
run 0 pack photos whole "${size[@]}"
says out "1 bad samples were left out: see whole/rejected.tsv"

# One after the other; the last one joins, whichever it is.
for part in 2 0 1; do
    run 0 pack photos parts --part $part/3 "${size[@]}"
    says out "part $part of 3: "
done
says out "all parts are complete and joined"
same "three parts"
run 0 pack photos parts --part 1/3 "${size[@]}" --json
json '.was_complete and .complete and .samples == 39 and .part == 1 and .parts == 3'
run 0 pack --join parts
says out "joined already"
run 0 verify parts --part 1/2 --json
json '.part == 1 and .parts == 2 and .bad == 0 and .samples <= 39'
seen=$(jq .samples out)
run 0 verify parts --part 0/2 --json
[ $((seen + $(jq .samples out))) = 39 ] || fail "the parts do not make up the whole"
printf x | dd of=parts/shard-000000.sluice bs=1 seek=5000 conv=notrunc 2> /dev/null
run 3 verify parts --part 0/2
run 0 verify parts --part 1/2
rm -r parts

# As set by a launcher. Contradicting launchers are an error.
RANK=0 WORLD_SIZE=2 run 0 pack photos parts "${size[@]}"
says out "part 0 of 2: "
refuses 1 "the pack has 2 parts, counted from 0; 1 is missing: 1" pack --join parts
run 2 info parts
RANK=1 WORLD_SIZE=2 run 0 pack photos parts "${size[@]}" --workers 3
same "two ranks"
RANK=1 WORLD_SIZE=2 run 0 pack photos again --part 0/1 "${size[@]}"
diff -r whole again > /dev/null || fail "--part 0/1 is the whole"
rm -r parts again
export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3
RANK=1 WORLD_SIZE=2 run 2 pack photos parts
says err "RANK"
says err "OMPI_COMM_WORLD_RANK"
[ ! -e parts ] || fail "a contradiction must not begin anything"
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE

# As the jobs of an array: Slurm gives their number, Kubernetes does not.
slurm() { # slurm ID ...: a job of --array=1-3
    local id=$1
    shift
    SLURM_ARRAY_TASK_ID=$id SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=3 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_STEP=1 "$@"
}
for id in 2 3 1; do
    slurm $id run 0 pack photos parts --part auto "${size[@]}"
    says out "part $((id - 1)) of 3: "
    [ ! -s err ] || fail "--part auto needs no warning: $(cat err)"
done
same "an array of three"
slurm 2 run 0 verify parts --part auto --json
json '.part == 1 and .parts == 3'
slurm 2 run 0 pack photos parts "${size[@]}"
says err "sluice pack: warning: SLURM_ARRAY_TASK_ID is set: each job of the array does all of the work; --part auto gives"
slurm 2 run 0 pack photos parts --part 0/1 "${size[@]}"
[ ! -s err ] || fail "all was asked for: $(cat err)"
rm -r parts
JOB_COMPLETION_INDEX=0 run 0 pack photos parts --part auto/2 "${size[@]}"
says out "part 0 of 2: "
rm -r parts
# A launcher's processes are the jobs and share the work; Slurm's belong to one job.
JOB_COMPLETION_INDEX=0 RANK=0 WORLD_SIZE=2 run 0 pack photos parts "${size[@]}"
says out "part 0 of 2: "
[ ! -s err ] || fail "the processes share the work: $(cat err)"
rm -r parts
SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_JOB_ID=7 slurm 2 run 0 pack photos parts "${size[@]}"
says err "does all of the work; start one process in each job and write --part auto, or write --part I/N"
rm -r parts
JOB_COMPLETION_INDEX=1 refuses 2 "JOB_COMPLETION_INDEX is set, but no variable has the number of jobs in the array: give it (--part auto/N)" \
    pack photos parts --part auto
JOB_COMPLETION_INDEX=2 refuses 2 "JOB_COMPLETION_INDEX is 2: with 2 parts it must be from 0 to 1" pack photos parts --part auto/2
slurm 2 refuses 2 "has 3 jobs, not 4" pack photos parts --part auto/4
JOB_COMPLETION_INDEX=0 slurm 2 refuses 2 "two schedulers disagree" pack photos parts --part auto
SGE_TASK_ID=1 SGE_TASK_FIRST=1 SGE_TASK_LAST=9 SGE_TASK_STEPSIZE=2 refuses 2 "number the parts yourself (--part I/N)" pack photos parts --part auto
RANK=1 WORLD_SIZE=4 slurm 2 refuses 2 "a launcher started 4 processes (torchrun)" pack photos parts --part auto
refuses 2 "this is not a job of an array" pack photos parts --part auto
[ ! -e parts ] || fail "a refusal must not begin anything"

# Invalid combinations.
for wrong in 3/3 1 /2 1/ -1/2 a/b 1/2/3 1/65536 '1 /2' '' auto auto/3 auto/ auto/0 auto/x auto/65536 autos; do
    run 2 pack photos parts --part "$wrong"
done
refuses 2 "--overwrite does not work with several processes" pack photos parts --part 0/2 --overwrite
refuses 2 "--join takes one folder" pack --join photos parts
refuses 2 "OUT is missing" pack parts
refuses 1 "not a folder with parts" pack --join parts
refuses 1 "no parts of a pack here" pack --join photos
run 0 pack photos parts --part 0/2 "${size[@]}"
refuses 1 "seed=" pack photos parts --part 1/2 "${size[@]}" --seed 1
refuses 1 "shard_bytes=" pack photos parts --part 1/2 --on-bad skip
run 0 synth others --count 41 --seed 4
refuses 1 "dataset=" pack others parts --part 1/2 "${size[@]}"
# A single process can resume parts and finish them.
run 0 pack photos parts "${size[@]}"
says out "were taken over from an interrupted run"
same "gone on by one"
rm -r parts

# A dataset grows, by one process or several.
run 0 pack photos more "${size[@]}"
run 0 pack photos more --append "${size[@]}" --seed 7
says out "verified), added"
run 0 info more --json
json '.samples == 78'
[ "$(wc -l < more/rejected.tsv)" = 3 ] || fail "both packs left one out"
run 0 pack photos parts "${size[@]}"
for part in 1 0; do
    run 0 pack photos parts --append --part $part/2 "${size[@]}" --seed 7
done
diff -r more parts > /dev/null || fail "added in parts: not the bytes of one process"
run 0 pack photos parts --append "${size[@]}" --seed 7
says out "were in parts already"
refuses 1 "no packed dataset here" pack photos none --append
refuses 2 "leave out --overwrite" pack photos parts --append --overwrite
rm -r parts more

# A full disk that later has space again.
if (ulimit -f 700) 2> /dev/null; then
    code=0
    (trap '' XFSZ; ulimit -f 700; "$sluice" pack photos parts --part 0/2 "${size[@]}") > out 2> err || code=$?
    [ "$code" = 1 ] || fail "no room: exit code $code"
    says err "the same command resumes the pack"
    for part in 0 1; do
        run 0 pack photos parts --part $part/2 "${size[@]}"
    done
    same "after a full disk"
    rm -r parts
fi

# Without a size, each process writes one shard, wherever they begin. The first pack settles where
# shards end, even if other numbers of processes resume it.
run 0 pack photos one --on-bad skip --json
json '.shards == 1 and .idle_parts == 0 and (.cut_for_parts | not)'
for order in "0 1 2 3" "3 1 0 2"; do
    for part in $order; do
        run 0 pack photos parts --part "$part/4" --on-bad skip
        [ "$part" != 0 ] || says out "shards of 256MiB would be fewer than the 4 processes"
        [ "$part" = 0 ] || ! grep -q "256MiB" out || fail "the first process speaks for all"
    done
    [ "$(find parts -name 'shard-*' | wc -l)" = 4 ] || fail "four shards are wanted"
    [ ! -d before ] || diff -r before parts > /dev/null || fail "the order of the parts makes a difference"
    rm -rf before
    mv parts before
done
run 0 verify before
says out "39 samples"
run 0 pack photos parts --part 1/4 --on-bad skip
for part in 1 0 2; do
    run 0 pack photos parts --part $part/3 --on-bad skip --json
done
json '.complete and .idle_parts == 0'
diff -r before parts > /dev/null || fail "gone on by three: where shards end was settled"
rm -r parts
run 0 pack photos parts --part 2/4 --on-bad skip
run 0 pack photos parts --on-bad skip
diff -r before parts > /dev/null || fail "gone on by one: where shards end was settled"
rm -r parts before one
run 0 pack photos parts --part 0/3 --shard-size 64MiB --on-bad skip
says out "2 of 3 processes have nothing to do, since there is only 1 shard: a smaller --shard-size makes more"
run 0 pack photos parts --part 0/3 --shard-size 64MiB --on-bad skip --json
json '.idle_parts == 2 and (.cut_for_parts | not)'
rm -r parts

# A real launcher.
if command -v mpirun > /dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpirun --oversubscribe -n 4 "$sluice" pack photos parts "${size[@]}" > out 2> err || fail "mpirun: pack"
    [ "$(grep -c 'part [0-3] of 4' out)" = 4 ] || fail "four parts should speak"
    same "mpirun"
    mpirun --oversubscribe -n 4 "$sluice" verify parts > out 2> err || fail "mpirun: verify"
    [ "$(grep -c 'all good' out)" = 4 ] || fail "four parts should be good"
    rm -r parts
    mpirun --oversubscribe -n 4 "$sluice" pack photos parts --on-bad skip > out 2> err || fail "mpirun: pack without a size"
    [ "$(grep -c 'fewer than the 4 processes' out)" = 1 ] || fail "one process should say how shards are cut"
    [ "$(find parts -name 'shard-*' | wc -l)" = 4 ] || fail "four shards are wanted"
    run 0 verify parts
else
    echo "mpirun is not installed: not tried under it"
fi

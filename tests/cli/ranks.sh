# SPDX-License-Identifier: Apache-2.0
# Which of several processes this is, as the environment says. No launcher is needed: their
# variables are set by hand.
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
says out "rank 0 of 2 (Open MPI: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE); Slurm's 1 of 4 passed over"
export RANK=1 WORLD_SIZE=2
run 2 info --system
says err "RANK and WORLD_SIZE (torchrun) say rank 1 of 2"
says err "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE (Open MPI) rank 0 of 2"
says out "processors"
run 2 info --system --json
json '.ranks == null and .exit_code == 2 and (.error.text | contains("contradict")) and .cpus > 0'

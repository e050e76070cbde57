/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/ranks.h: this process's rank, as its launcher says. docs/distributed.md is an
 * introduction.
 *
 *     sluice_ranks ranks = SLUICE_RANKS_INIT;
 *     status = sluice_ranks_find(&ranks, &error);
 *     options.rank = ranks.rank;
 *     options.world_size = ranks.world_size;
 *
 * Nothing else in the library reads a launcher's variables: a loader without rank options reads
 * whole epochs. Processes do not communicate: the same numbers give the same batches.
 */
#ifndef SLUICE_RANKS_H
#define SLUICE_RANKS_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_ranks {
    uint32_t struct_size;
    uint32_t rank;       /* 0 .. world_size - 1 */
    uint32_t world_size; /* processes; 1: alone */
    int32_t local_rank;  /* rank among those on this machine; -1: unknown */
    uint32_t local_size; /* processes on this machine; 0: unknown */
    uint32_t found;      /* 1: the numbers are a launcher's; 0: no launcher, one process */
    char launcher[16];   /* "torchrun", "Open MPI", "PMI", "PALS", "Slurm"; "": none */
    char job[104];  /* the launcher's name of this run: the same for all of its processes, safe in
                       file names; "": none */
    char text[256]; /* the result in words; never empty */
} sluice_ranks;

#define SLUICE_RANKS_INIT                                \
    {                                                    \
        sizeof(sluice_ranks), 0, 1, -1, 0, 0, "", "", "" \
    }

/*
 * Finds the rank in the environment. The first of these launchers whose variables are set counts:
 *
 *     RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE            torchrun
 *     OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE     Open MPI's mpirun
 *     PMI_RANK, PMI_SIZE                                        MPICH, Intel MPI, srun with PMI 2
 *     PALS_RANKID, with PALS_SIZE or PMI_SIZE                   HPE's PALS
 *     SLURM_PROCID, SLURM_NTASKS, in a step of several tasks    srun
 *
 * An empty variable counts as unset. Slurm's variables are last because Slurm also sets them where
 * it does not start the processes: if its step started another launcher, its numbers differ and are
 * ignored (and PMI's, if they are Slurm's numbers). Likewise ignored are those of the launcher that
 * started torchrun's agents, one per machine: their number is GROUP_WORLD_SIZE. Any other
 * difference is a contradiction.
 *
 * INVALID: two launchers contradict each other (the text has the variables and numbers of both); a
 * variable is set without the other of its pair (both are named), or is not a number; or the rank
 * is not below the number of processes. Then `*ranks` is unchanged.
 *
 * Uses getenv: no other thread may change the environment meanwhile.
 */
SLUICE_API sluice_status sluice_ranks_find(sluice_ranks *ranks,
                                           sluice_error *error) SLUICE_MUST_CHECK;

/*
 * Converts ranks of processes to ranks of data. If each model_parallel consecutive ranks hold parts
 * of one model (tensor parallelism), they need the same batches: rank becomes rank / model_parallel
 * and world_size becomes world_size / model_parallel; the rest stays. For other layouts (pipelines,
 * where Megatron-LM combines distant ranks), get the data-parallel rank from the framework.
 * INVALID, with nothing changed: model_parallel is 0, or does not divide world_size.
 */
SLUICE_API sluice_status sluice_ranks_divide(sluice_ranks *ranks, uint32_t model_parallel,
                                             sluice_error *error) SLUICE_MUST_CHECK;

/* ---- arrays of jobs ---- */

/* This process's job of an array, for work done in parts (sluice/writer.h). */
typedef struct sluice_job_array {
    uint32_t struct_size;
    uint32_t part;      /* 0 .. parts - 1 */
    uint32_t parts;     /* jobs in the array; 1: no array */
    uint32_t found;     /* 1: a scheduler's variables say that this is a job of an array */
    char scheduler[16]; /* "Slurm", "Kubernetes", "AWS Batch", "LSF", "SGE", "PBS", "Torque" */
    char variable[32];  /* the variable with the index; "": none */
} sluice_job_array;

#define SLUICE_JOB_ARRAY_INIT                     \
    {                                             \
        sizeof(sluice_job_array), 0, 1, 0, "", "" \
    }

/*
 * Finds the job in the environment:
 *
 *     SLURM_ARRAY_TASK_ID, with _MIN, _MAX, _COUNT, _STEP           Slurm
 *     JOB_COMPLETION_INDEX                                          Kubernetes' Indexed Jobs
 *     AWS_BATCH_JOB_ARRAY_INDEX, AWS_BATCH_JOB_ARRAY_SIZE           AWS Batch
 *     LSB_JOBINDEX, LSB_JOBINDEX_END, LSB_JOBINDEX_STEP             LSF
 *     SGE_TASK_ID, SGE_TASK_FIRST, SGE_TASK_LAST, SGE_TASK_STEPSIZE SGE
 *     PBS_ARRAY_INDEX                                               PBS Professional
 *     PBS_ARRAYID                                                   Torque
 *
 * Parts are numbered from 0 in the order of the indices. Slurm and SGE report the first index; it
 * is 1 for LSF and 0 for the others. `parts` is the number of jobs, which Kubernetes, PBS and
 * Torque do not report; 0: the scheduler's. OK with `found` 0: this is not a job of an array.
 *
 * INVALID: the number of jobs is missing, or differs from `parts`; the index is out of range;
 * indices have a step or gaps; two schedulers disagree; a variable is not a number. The text names
 * the variables. Then `part` is 0 and `parts` 1, but `found`, `scheduler` and `variable` are set.
 *
 * Uses getenv: no other thread may change the environment meanwhile.
 */
SLUICE_API sluice_status sluice_job_array_find(sluice_job_array *array, uint32_t parts,
                                               sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers' variables, alone, combined, incomplete and contradictory, as real launchers set
 * them. */
#include "launchers.h"

#include "error.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* `user` is a NULL-terminated list of "NAME=value". */
static const char *look_up(const void *user, const char *name)
{
    const char *const *list = user;
    const size_t length = strlen(name);
    for (; *list != NULL; list++) {
        if (strncmp(*list, name, length) == 0 && (*list)[length] == '=') {
            return *list + length + 1;
        }
    }
    return NULL;
}

static sluice_ranks find(const char *const *list)
{
    const sl_environment environment = {.get = look_up, .user = list};
    sluice_error error;
    sluice_ranks ranks;
    sl_error_clear(&error);
    if (sl_ranks_find(&environment, &ranks, &error) != SLUICE_OK) {
        fail_msg("refused: %s", error.text);
    }
    assert_int_equal(ranks.struct_size, sizeof(ranks));
    assert_true(ranks.rank < ranks.world_size);
    assert_true(ranks.text[0] != '\0');
    return ranks;
}

#define FIND(...) find((const char *const[]){__VA_ARGS__, NULL})

static void refused(const char *first, const char *second, const char *const *list)
{
    const sl_environment environment = {.get = look_up, .user = list};
    sluice_error error;
    sluice_ranks ranks = {.rank = 77};
    assert_int_equal(sl_ranks_find(&environment, &ranks, &error), SLUICE_INVALID);
    assert_int_equal(ranks.rank, 77);
    if (strstr(error.text, first) == NULL || strstr(error.text, second) == NULL) {
        fail_msg("neither %s nor %s: %s", first, second, error.text);
    }
}

/* Expects an error with both texts. */
#define REFUSED(first, second, ...) refused(first, second, (const char *const[]){__VA_ARGS__, NULL})

static void expect(const sluice_ranks *ranks, uint32_t rank, uint32_t size, const char *launcher)
{
    if (ranks->rank != rank || ranks->world_size != size ||
        strcmp(ranks->launcher, launcher) != 0) {
        fail_msg("%u of %u by \"%s\": %s", ranks->rank, ranks->world_size, ranks->launcher,
                 ranks->text);
    }
    assert_int_equal(ranks->found, launcher[0] != '\0');
}

TEST(nothing_is_one_process)
{
    const sluice_ranks ranks = FIND("PATH=/bin", "RANK=", "WORLD_SIZE=", "PMIX_RANK=3");
    expect(&ranks, 0, 1, "");
    assert_int_equal(ranks.local_rank, 0);
    assert_int_equal(ranks.local_size, 1);
    assert_string_equal(ranks.job, "");
}

TEST(each_launcher)
{
    sluice_ranks ranks = FIND("RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4",
                              "TORCHELASTIC_RUN_ID=a b/c", "MASTER_PORT=29500");
    expect(&ranks, 5, 8, "torchrun");
    assert_int_equal(ranks.local_rank, 1);
    assert_int_equal(ranks.local_size, 4);
    assert_string_equal(ranks.job, "a_b_c-29500");
    ranks = FIND("OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=0",
                 "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=657850369", "PMIX_RANK=2");
    expect(&ranks, 2, 4, "Open MPI");
    assert_int_equal(ranks.local_rank, 0);
    assert_int_equal(ranks.local_size, 2);
    assert_string_equal(ranks.job, "657850369");
    ranks = FIND("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2");
    expect(&ranks, 1, 2, "PMI");
    assert_int_equal(ranks.local_size, 2);
    ranks = FIND("PALS_RANKID=1", "PALS_SIZE=3", "PALS_LOCAL_RANKID=1");
    expect(&ranks, 1, 3, "PALS");
    assert_int_equal(ranks.local_rank, 1);
    assert_int_equal(ranks.local_size, 0);
    ranks = FIND("PALS_RANKID=1", "PMI_RANK=1", "PMI_SIZE=3", "PALS_LOCAL_RANKID=0");
    expect(&ranks, 1, 3, "PMI");
    assert_int_equal(ranks.local_rank, 0);
}

/* The variables that srun, sbatch and salloc set. */
TEST(slurm_only_in_a_step)
{
    sluice_ranks ranks =
        FIND("SLURM_JOB_ID=5", "SLURM_STEP_ID=1", "SLURM_PROCID=6", "SLURM_NTASKS=7",
             "SLURM_LOCALID=0", "SLURM_NODEID=3", "SLURM_STEP_TASKS_PER_NODE=2(x3),1");
    expect(&ranks, 6, 7, "Slurm");
    assert_int_equal(ranks.local_rank, 0);
    assert_int_equal(ranks.local_size, 1);
    assert_string_equal(ranks.job, "5-1");
    ranks = FIND("SLURM_STEP_ID=1", "SLURM_PROCID=3", "SLURM_NTASKS=7", "SLURM_LOCALID=1",
                 "SLURM_NODEID=1", "SLURM_STEP_TASKS_PER_NODE=2(x3),1");
    assert_int_equal(ranks.local_size, 2);
    ranks = FIND("SLURM_PROCID=0", "SLURM_NTASKS=4"); /* a script of sbatch */
    expect(&ranks, 0, 1, "");
    ranks = FIND("SLURM_STEP_ID=4294967290", "SLURM_PROCID=0", "SLURM_NTASKS=4"); /* salloc */
    expect(&ranks, 0, 1, "");
    ranks = FIND("SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_NTASKS=1"); /* srun --pty bash */
    expect(&ranks, 0, 1, "");
    ranks = FIND("SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_NTASKS=1", "PMI_RANK=0", "PMI_SIZE=1");
    expect(&ranks, 0, 1, "");
    ranks = FIND("SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_NTASKS=2", "PMI_RANK=1", "PMI_SIZE=2",
                 "PMI_JOBID=5.0"); /* srun --mpi=pmi2 */
    expect(&ranks, 1, 2, "Slurm");
    REFUSED("SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID=0", "SLURM_PROCID=0");
}

TEST(odd_lists_of_tasks)
{
    static const char *const odd[] = {"",        "x",  "2(",       "2(x",       "2(x)",
                                      "2(x0),3", ",2", "2(x1)3,,", "4294967299"};
    char text[64];
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        snprintf(text, sizeof(text), "SLURM_STEP_TASKS_PER_NODE=%s", odd[i]);
        const sluice_ranks ranks = FIND("SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_NTASKS=4",
                                        "SLURM_NODEID=1", "SLURM_LOCALID=0", text);
        expect(&ranks, 1, 4, "Slurm");
        assert_true(ranks.local_size <= 4);
    }
}

/* A launcher started by another one. */
TEST(nested_ones_are_no_contradiction)
{
    sluice_ranks ranks = FIND("RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "SLURM_STEP_ID=0",
                              "SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_LOCALID=0");
    expect(&ranks, 5, 8, "torchrun");
    assert_int_equal(ranks.local_rank, 1);
    assert_non_null(strstr(ranks.text, "Slurm's 1 of 2"));
    ranks = FIND("RANK=5", "WORLD_SIZE=8", "GROUP_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=x",
                 "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2");
    expect(&ranks, 5, 8, "torchrun");
    assert_non_null(strstr(ranks.text, "Open MPI's 0 of 2"));
    ranks = FIND("RANK=1", "WORLD_SIZE=4", "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_NTASKS=2",
                 "PMI_RANK=1", "PMI_SIZE=2"); /* srun --mpi=pmi2, each its own torchrun */
    expect(&ranks, 1, 4, "torchrun");
    ranks = FIND("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4", "SLURM_STEP_ID=0",
                 "SLURM_PROCID=0", "SLURM_NTASKS=1"); /* mpirun in an interactive step */
    expect(&ranks, 3, 4, "Open MPI");
}

TEST(agreement_is_fine)
{
    const sluice_ranks ranks =
        FIND("RANK=1", "WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
             "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4");
    expect(&ranks, 1, 4, "torchrun");
    assert_int_equal(ranks.local_rank, 1);
    assert_int_equal(ranks.local_size, 4);
    const sluice_ranks odd = FIND("RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=9", "LOCAL_WORLD_SIZE=9");
    assert_int_equal(odd.local_rank, -1);
    assert_int_equal(odd.local_size, 0);
}

TEST(contradictions_name_both)
{
    REFUSED("RANK and WORLD_SIZE (torchrun) say rank 0 of 2",
            "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE (Open MPI) rank 3 of 4", "RANK=0",
            "WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4");
    REFUSED("rank 0 of 4", "rank 1 of 4", "RANK=0", "WORLD_SIZE=4", "PMI_RANK=1", "PMI_SIZE=4");
    REFUSED("OMPI_COMM_WORLD_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2",
            "PMI_RANK=0", "PMI_SIZE=3", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_NTASKS=2");
    REFUSED("PMI_RANK", "PALS_RANKID", "PMI_RANK=0", "PMI_SIZE=2", "PALS_RANKID=1");
    /* The number does not match torchrun's agents, or nothing indicates agents. */
    REFUSED("0 of 8", "0 of 4", "RANK=0", "WORLD_SIZE=8", "GROUP_WORLD_SIZE=2",
            "TORCHELASTIC_RUN_ID=x", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=4");
    REFUSED("0 of 8", "0 of 2", "RANK=0", "WORLD_SIZE=8", "GROUP_WORLD_SIZE=2",
            "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2");
}

TEST(halves_name_both)
{
    REFUSED("RANK is set", "WORLD_SIZE is not", "RANK=0");
    REFUSED("WORLD_SIZE is set", "RANK is not", "WORLD_SIZE=2", "RANK=");
    REFUSED("OMPI_COMM_WORLD_SIZE is set", "OMPI_COMM_WORLD_RANK is not", "RANK=0", "WORLD_SIZE=1",
            "OMPI_COMM_WORLD_SIZE=1");
    REFUSED("PALS_RANKID is set", "PALS_SIZE is not", "PALS_RANKID=0");
}

TEST(numbers_are_checked)
{
    static const char *const wrong[] = {
        "-1",  "+1",  "0x1",        "1 ",  " 1",
        "1.0", "one", "4294967295", "1e3", "99999999999999999999999"};
    char text[64];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(text, sizeof(text), "RANK=%s", wrong[i]);
        REFUSED("RANK is", wrong[i], text, "WORLD_SIZE=4");
        snprintf(text, sizeof(text), "PMI_SIZE=%s", wrong[i]);
        REFUSED("PMI_SIZE is", wrong[i], text, "PMI_RANK=0");
    }
    REFUSED("RANK is 4", "WORLD_SIZE is 4", "RANK=4", "WORLD_SIZE=4");
    REFUSED("RANK is 0", "WORLD_SIZE is 0", "RANK=0", "WORLD_SIZE=0");
    REFUSED("SLURM_PROCID is 2", "SLURM_NTASKS is 2", "SLURM_STEP_ID=0", "SLURM_PROCID=2",
            "SLURM_NTASKS=2");
    REFUSED("RANK is", "\\x1b[2J", "RANK=\x1b[2J", "WORLD_SIZE=4");
}

TEST(long_texts_are_cut)
{
    char name[600] = "TORCHELASTIC_RUN_ID=";
    memset(name + strlen(name), '/', 500);
    const sluice_ranks ranks = FIND("RANK=0", "WORLD_SIZE=2", name, "MASTER_PORT=1");
    assert_int_equal(strlen(ranks.job), sizeof(ranks.job) - 1);
    assert_null(strchr(ranks.job, '/'));
}

TEST(groups_have_one_data_rank)
{
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t rank = i;
        uint32_t size = 8;
        assert_int_equal(sl_ranks_divide(&rank, &size, 2, NULL), SLUICE_OK);
        assert_int_equal(rank, i / 2);
        assert_int_equal(size, 4);
    }
    sluice_error error;
    uint32_t rank = 5;
    uint32_t size = 8;
    assert_int_equal(sl_ranks_divide(&rank, &size, 3, &error), SLUICE_INVALID);
    assert_string_equal(error.text, "rank 5 of 8: not divisible into groups of 3");
    assert_int_equal(sl_ranks_divide(&rank, &size, 0, &error), SLUICE_INVALID);
    assert_int_equal(sl_ranks_divide(&rank, &size, 16, &error), SLUICE_INVALID);
    assert_true(rank == 5 && size == 8);
}

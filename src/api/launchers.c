/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launchers: checks and compares the variables of each launcher. Pure except for the environment,
 * whose values are untrusted.
 *
 * Launchers that disagree are an error, never a guess. The entry points of sluice/ranks.h are at
 * the end.
 */
#include "launchers.h"

#include "api.h"
#include "error.h"
#include "minmax.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of variables; the second one is used if the first is not set. */
typedef struct launcher {
    const char *name, *rank, *size[2], *local_rank[2], *local_size[2];
} launcher;

enum { TORCHRUN, OPEN_MPI, PMI, PALS, SLURM, LAUNCHERS };

/* In order of precedence. */
static const launcher launchers[LAUNCHERS] = {
    [TORCHRUN] = {"torchrun", "RANK", {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}},
    [OPEN_MPI] = {"Open MPI",
                  "OMPI_COMM_WORLD_RANK",
                  {"OMPI_COMM_WORLD_SIZE"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
    [PMI] = {"PMI",
             "PMI_RANK",
             {"PMI_SIZE"},
             {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
             {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}},
    [PALS] = {"PALS",
              "PALS_RANKID",
              {"PALS_SIZE", "PMI_SIZE"},
              {"PALS_LOCAL_RANKID"},
              {"PALS_LOCAL_SIZE"}},
    [SLURM] = {"Slurm", "SLURM_PROCID", {"SLURM_NTASKS"}, {"SLURM_LOCALID"}, {NULL}},
};

/* Step numbers from here on are special: the shell of an allocation, a batch script, ... */
static const uint32_t slurm_first_special_step = 0xfffffff0;

/* The data of one launcher. */
typedef struct claim {
    bool there;     /* true if both of its variables are set */
    bool passed_by; /* true if it describes processes other than those that train, or Slurm agrees
                       with it */
    uint32_t rank, size;
    const char *size_name; /* the variable that was set */
} claim;

typedef struct finder {
    const sl_environment *environment;
    sluice_error *error;
    claim claims[LAUNCHERS];
} finder;

static const char *launchers_value_of(const finder *find, const char *name)
{
    const char *value = find->environment->get(find->environment->user, name);
    return value == NULL || *value == '\0' ? NULL : value;
}

/* Parses a number below UINT32_MAX. */
static bool launchers_parse(const char *text, uint32_t *number)
{
    char *end;
    errno = 0;
    const unsigned long long parsed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0 || parsed >= UINT32_MAX) {
        return false;
    }
    *number = (uint32_t)parsed;
    return true;
}

static sluice_status launchers_read_number(const finder *find, const char *name, uint32_t *number)
{
    const char *value = launchers_value_of(find, name);
    if (!launchers_parse(value, number)) {
        return sl_error_set(find->error, SLUICE_INVALID, "ranks",
                            "%s is \"%.40s\", which is not a number", name, value);
    }
    return SLUICE_OK;
}

/* Reads the first of two names that is set to a number; otherwise `*number` is unchanged. */
static void read_optional(const finder *find, const char *const names[2], uint32_t *number)
{
    for (int i = 0; i < 2 && names[i] != NULL; i++) {
        const char *value = launchers_value_of(find, names[i]);
        if (value != NULL && launchers_parse(value, number)) {
            return;
        }
    }
}

static sluice_status half(const finder *find, const char *there, const char *missing)
{
    return sl_error_set(find->error, SLUICE_INVALID, "ranks",
                        "%s is set, but %s is not: set both, or none", there, missing);
}

static sluice_status read_claim(finder *find, const launcher *of, claim *made)
{
    const bool has_rank = launchers_value_of(find, of->rank) != NULL;
    const char *size = of->size[0];
    if (launchers_value_of(find, size) == NULL && has_rank && of->size[1] != NULL &&
        launchers_value_of(find, of->size[1]) != NULL) {
        size = of->size[1];
    }
    const bool has_size = launchers_value_of(find, size) != NULL;
    if (has_rank != has_size) {
        return has_rank ? half(find, of->rank, size) : half(find, size, of->rank);
    }
    if (!has_rank) {
        return SLUICE_OK;
    }
    sluice_status status = launchers_read_number(find, of->rank, &made->rank);
    if (status >= 0) {
        status = launchers_read_number(find, size, &made->size);
    }
    if (status >= 0 && made->rank >= made->size) {
        status = sl_error_set(find->error, SLUICE_INVALID, "ranks",
                              "%s is %u, but %s is %u: ranks count from 0", of->rank, made->rank,
                              size, made->size);
    }
    made->there = status >= 0;
    made->size_name = size;
    return status;
}

/* Returns whether Slurm started this process, not only the shell or script that it comes from. */
static bool is_in_step(const finder *find)
{
    uint32_t step = UINT32_MAX;
    const char *value = launchers_value_of(find, "SLURM_STEP_ID");
    return value != NULL && launchers_parse(value, &step) && step < slurm_first_special_step;
}

static bool launchers_is_same(const claim *one, const claim *other)
{
    return one->rank == other->rank && one->size == other->size;
}

static void pass_by(finder *find)
{
    claim *slurm = &find->claims[SLURM];
    uint32_t agents = 0;
    const char *const group[2] = {"GROUP_WORLD_SIZE", NULL};
    if (launchers_value_of(find, "TORCHELASTIC_RUN_ID") != NULL && find->claims[TORCHRUN].there) {
        read_optional(find, group, &agents);
    }
    for (int i = OPEN_MPI; i < SLURM; i++) {
        claim *at = &find->claims[i];
        const bool agent = at->there && agents > 0 && at->size == agents;
        const bool slurms = at->there && i != OPEN_MPI && launchers_is_same(at, slurm);
        at->passed_by = agent || slurms;
    }
    slurm->passed_by = slurm->size == 1;
}

static sluice_status contradiction(const finder *find, int first, int second)
{
    const launcher *a = &launchers[first];
    const launcher *b = &launchers[second];
    return sl_error_set(
        find->error, SLUICE_INVALID, "ranks",
        "two launchers disagree: %s and %s (%s) say rank %u of %u, %s and %s (%s) rank %u of %u; "
        "unset one of them, or pass the rank and the number of ranks explicitly",
        a->rank, find->claims[first].size_name, a->name, find->claims[first].rank,
        find->claims[first].size, b->rank, find->claims[second].size_name, b->name,
        find->claims[second].rank, find->claims[second].size);
}

/* Chooses the first one that counts; LAUNCHERS: none. */
static sluice_status launchers_choose(finder *find, int *chosen)
{
    *chosen = LAUNCHERS;
    for (int i = 0; i < LAUNCHERS; i++) {
        const claim *at = &find->claims[i];
        if (!at->there || at->passed_by) {
            continue;
        }
        if (*chosen == LAUNCHERS) {
            *chosen = i;
        } else if (i != SLURM && !launchers_is_same(&find->claims[*chosen], at)) {
            return contradiction(find, *chosen, i);
        }
    }
    return SLUICE_OK;
}

/*
 * Returns the tasks of this step on this machine, from "2(x3),1": three machines with two, one with
 * one. 0: unknown.
 */
static uint32_t slurm_local_size(const finder *find)
{
    uint32_t node = 0;
    const char *value = launchers_value_of(find, "SLURM_NODEID");
    const char *at = launchers_value_of(find, "SLURM_STEP_TASKS_PER_NODE");
    if (value == NULL || at == NULL || !launchers_parse(value, &node)) {
        return 0;
    }
    for (uint64_t before = 0; isdigit((unsigned char)*at);) {
        char *end;
        const unsigned long tasks = strtoul(at, &end, 10);
        unsigned long machines = 1;
        if (strncmp(end, "(x", 2) == 0) {
            machines = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < before + machines) {
            return tasks < UINT32_MAX ? (uint32_t)tasks : 0;
        }
        before += sl_min_u64(machines, UINT32_MAX);
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static void fill_local(const finder *find, int chosen, sluice_ranks *ranks)
{
    uint32_t rank = UINT32_MAX;
    for (int i = 0; i < LAUNCHERS; i++) {
        const claim *at = &find->claims[i];
        if (!at->there || !launchers_is_same(at, &find->claims[chosen])) {
            continue;
        }
        if (rank == UINT32_MAX) {
            read_optional(find, launchers[i].local_rank, &rank);
        }
        if (ranks->local_size == 0) {
            read_optional(find, launchers[i].local_size, &ranks->local_size);
        }
        if (ranks->local_size == 0 && i == SLURM) {
            ranks->local_size = slurm_local_size(find);
        }
    }
    const bool fits = rank < ranks->world_size && rank <= INT32_MAX &&
                      (ranks->local_size == 0 || rank < ranks->local_size);
    ranks->local_rank = fits ? (int32_t)rank : -1;
    if (ranks->local_size > ranks->world_size) {
        ranks->local_size = 0;
    }
}

/*
 * Adds a variable's value to the job's name; keeps only letters, digits, '.', '_' and '-'
 * unchanged.
 */
static void add_to_job(const finder *find, const char *name, char *job, size_t bytes)
{
    const char *value = launchers_value_of(find, name);
    size_t length = strlen(job);
    if (value == NULL) {
        return;
    }
    if (length > 0 && length + 1 < bytes) {
        job[length++] = '-';
    }
    for (; *value != '\0' && length + 1 < bytes; value++) {
        const bool fine = isalnum((unsigned char)*value) || strchr("._-", *value) != NULL;
        job[length] = '_';
        if (fine) {
            job[length] = *value;
        }
        length++;
    }
    job[length] = '\0';
}

static void name_job(const finder *find, int chosen, char *job, size_t bytes)
{
    static const char *const names[LAUNCHERS][4] = {
        [TORCHRUN] = {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT",
                      "TORCHELASTIC_RESTART_COUNT"},
        [OPEN_MPI] = {"PMIX_NAMESPACE"},
        [PMI] = {"PMI_JOBID"},
        [PALS] = {"PALS_APID"},
        [SLURM] = {"SLURM_JOB_ID", "SLURM_STEP_ID"},
    };
    for (int i = 0; i < 4 && names[chosen][i] != NULL; i++) {
        add_to_job(find, names[chosen][i], job, bytes);
    }
}

static void launchers_add(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void launchers_add(char *text, size_t bytes, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + length, bytes - length, format, arguments);
    va_end(arguments);
}

/* Describes all claims, also ignored ones, for users. */
static void launchers_describe(const finder *find, int chosen, sluice_ranks *ranks)
{
    char *text = ranks->text;
    if (chosen < LAUNCHERS) {
        launchers_add(text, sizeof(ranks->text), "rank %u of %u (%s: %s, %s)", ranks->rank,
                      ranks->world_size, ranks->launcher, launchers[chosen].rank,
                      find->claims[chosen].size_name);
    } else {
        launchers_add(text, sizeof(ranks->text), "one process: no launcher found");
    }
    for (int i = 0; i < LAUNCHERS; i++) {
        const claim *at = &find->claims[i];
        if (at->there && i != chosen &&
            (chosen == LAUNCHERS || !launchers_is_same(at, &find->claims[chosen]))) {
            launchers_add(text, sizeof(ranks->text), "; %s's %u of %u ignored", launchers[i].name,
                          at->rank, at->size);
        }
    }
}

sluice_status sl_ranks_find(const sl_environment *environment, sluice_ranks *ranks,
                            sluice_error *error)
{
    finder find = {.environment = environment, .error = error};
    sluice_status status = SLUICE_OK;
    const int counted = is_in_step(&find) ? LAUNCHERS : SLURM;
    for (int i = 0; i < counted && status >= 0; i++) {
        status = read_claim(&find, &launchers[i], &find.claims[i]);
    }
    int chosen;
    if (status >= 0) {
        pass_by(&find);
        status = launchers_choose(&find, &chosen);
    }
    if (status < 0) {
        return status;
    }
    *ranks = (sluice_ranks){.struct_size = sizeof(*ranks), .world_size = 1, .local_size = 1};
    if (chosen < LAUNCHERS) {
        ranks->found = 1;
        ranks->rank = find.claims[chosen].rank;
        ranks->world_size = find.claims[chosen].size;
        ranks->local_size = 0;
        (void)snprintf(ranks->launcher, sizeof(ranks->launcher), "%s", launchers[chosen].name);
        fill_local(&find, chosen, ranks);
        name_job(&find, chosen, ranks->job, sizeof(ranks->job));
    }
    launchers_describe(&find, chosen, ranks);
    return SLUICE_OK;
}

sluice_status sl_ranks_divide(uint32_t *rank, uint32_t *world_size, uint32_t model_parallel,
                              sluice_error *error)
{
    if (model_parallel == 0 || *rank >= *world_size || *world_size % model_parallel != 0) {
        return sl_error_set(error, SLUICE_INVALID, "ranks",
                            "rank %u of %u: not divisible into groups of %u", *rank, *world_size,
                            model_parallel);
    }
    *rank /= model_parallel;
    *world_size /= model_parallel;
    return SLUICE_OK;
}

/* ---- public ---- */

static const char *get_variable(const void *user, const char *name)
{
    (void)user;
    return getenv(name); // NOLINT(concurrency-mt-unsafe): the header says so
}

sluice_status sluice_ranks_find(sluice_ranks *ranks, sluice_error *error)
{
    if (sl_api_lacks(error, ranks, "sluice_ranks") ||
        sl_api_is_untagged(error, ranks, "sluice_ranks")) {
        return SLUICE_INVALID;
    }
    const sl_environment environment = {.get = get_variable};
    sluice_ranks full;
    sluice_error reason;
    if (sl_ranks_find(&environment, &full, &reason) < 0) {
        return sl_api_fail(error, &reason);
    }
    return sl_api_write_struct(ranks, &full, sizeof(full));
}

sluice_status sluice_ranks_divide(sluice_ranks *ranks, uint32_t model_parallel, sluice_error *error)
{
    if (sl_api_lacks(error, ranks, "sluice_ranks") ||
        sl_api_is_untagged(error, ranks, "sluice_ranks")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    /* A newer program's struct is larger; its tail may contain anything and is not touched. */
    if (ranks->struct_size < offsetof(sluice_ranks, local_rank)) {
        sl_error_set(&reason, SLUICE_INVALID, "api", "struct_size of sluice_ranks is too small");
        return sl_api_fail(error, &reason);
    }
    return sl_ranks_divide(&ranks->rank, &ranks->world_size, model_parallel, &reason) < 0
               ? sl_api_fail(error, &reason)
               : SLUICE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_arrays: checks and compares the variables of each scheduler. Pure except for the environment.
 *
 * Schedulers that disagree, and indices that do not determine a job's part, are an error, never a
 * guess. Sources: the manuals of sbatch, bsub and qsub (SGE, PBS Professional, Torque), of
 * Kubernetes' Indexed Jobs, and of AWS Batch's job environment variables.
 */
#include "job_arrays.h"

#include "api.h"
#include "error.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE   "ranks"
#define BY_HAND "number the parts yourself (" SL_OPTION("the options part and parts") ")"

/* Names of variables; NULL: the scheduler has none. */
typedef struct scheduler {
    const char *name, *index;
    const char *count, *first, *last, *step;
    const char *outside; /* the index of a job outside any array */
    uint32_t origin;     /* the first index, if no variable has it */
} scheduler;

enum { SLURM, KUBERNETES, AWS_BATCH, LSF, SGE, PBS, TORQUE, SCHEDULERS };

static const scheduler schedulers[SCHEDULERS] = {
    [SLURM] = {.name = "Slurm",
               .index = "SLURM_ARRAY_TASK_ID",
               .count = "SLURM_ARRAY_TASK_COUNT",
               .first = "SLURM_ARRAY_TASK_MIN",
               .last = "SLURM_ARRAY_TASK_MAX",
               .step = "SLURM_ARRAY_TASK_STEP"},
    [KUBERNETES] = {.name = "Kubernetes", .index = "JOB_COMPLETION_INDEX"},
    [AWS_BATCH] = {.name = "AWS Batch",
                   .index = "AWS_BATCH_JOB_ARRAY_INDEX",
                   .count = "AWS_BATCH_JOB_ARRAY_SIZE"},
    [LSF] = {.name = "LSF",
             .index = "LSB_JOBINDEX",
             .last = "LSB_JOBINDEX_END",
             .step = "LSB_JOBINDEX_STEP",
             .outside = "0",
             .origin = 1},
    [SGE] = {.name = "SGE",
             .index = "SGE_TASK_ID",
             .first = "SGE_TASK_FIRST",
             .last = "SGE_TASK_LAST",
             .step = "SGE_TASK_STEPSIZE",
             .outside = "undefined"},
    [PBS] = {.name = "PBS", .index = "PBS_ARRAY_INDEX"},
    [TORQUE] = {.name = "Torque", .index = "PBS_ARRAYID"},
};

/* The data of one scheduler. */
typedef struct claim {
    const scheduler *of; /* NULL: none */
    uint32_t index, first;
    uint32_t count; /* 0: unknown */
} claim;

typedef struct search {
    const sl_environment *environment;
    sluice_error *error;
} search;

static const char *job_value_of(const search *find, const char *name)
{
    const char *value = name != NULL ? find->environment->get(find->environment->user, name) : NULL;
    return value == NULL || *value == '\0' ? NULL : value;
}

/* Reads a number; `*number` is unchanged if the variable is not set. */
static sluice_status job_read_number(const search *find, const char *name, uint32_t *number)
{
    const char *value = job_value_of(find, name);
    char *end;
    if (value == NULL) {
        return SLUICE_OK;
    }
    errno = 0;
    const unsigned long long parsed = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end != '\0' || errno != 0 || parsed >= UINT32_MAX) {
        return sl_error_set(find->error, SLUICE_INVALID, STAGE,
                            "%s is \"%.40s\", which is not a number", name, value);
    }
    *number = (uint32_t)parsed;
    return SLUICE_OK;
}

static bool is_in_array(const search *find, const scheduler *of)
{
    const char *value = job_value_of(find, of->index);
    return value != NULL && (of->outside == NULL || strcmp(value, of->outside) != 0);
}

static sluice_status check_step(const search *find, const scheduler *of)
{
    uint32_t step = 1;
    const sluice_status status = job_read_number(find, of->step, &step);
    return status < 0 || step == 1
               ? status
               : sl_error_set(find->error, SLUICE_INVALID, STAGE,
                              "%s is %u: submit the array without a step, or " BY_HAND, of->step,
                              step);
}

static sluice_status refuse_gaps(const search *find, const scheduler *of, uint32_t first,
                                 uint32_t last, uint32_t count)
{
    return sl_error_set(find->error, SLUICE_INVALID, STAGE,
                        "%s is %u, but the indices of the array range from %u to %u: submit it "
                        "without gaps, or " BY_HAND,
                        of->count, count, first, last);
}

/* Determines the number of jobs, directly or from their first and last index. */
static sluice_status read_count(const search *find, claim *made)
{
    const scheduler *of = made->of;
    uint32_t last = UINT32_MAX;
    sluice_status status = job_read_number(find, of->count, &made->count);
    status = status == SLUICE_OK ? job_read_number(find, of->last, &last) : status;
    if (status < 0 || last == UINT32_MAX) {
        return status;
    }
    const uint32_t between = last >= made->first ? last - made->first + 1 : 0;
    if (of->count != NULL && job_value_of(find, of->count) != NULL && made->count != between) {
        return refuse_gaps(find, of, made->first, last, made->count);
    }
    made->count = between;
    return between > 0 ? SLUICE_OK
                       : sl_error_set(find->error, SLUICE_INVALID, STAGE,
                                      "%s is %u, less than the first index %u", of->last, last,
                                      made->first);
}

static sluice_status check_range(const search *find, const claim *made, uint32_t count)
{
    const bool fits = made->index >= made->first && made->index - made->first < count;
    return fits ? SLUICE_OK
                : sl_error_set(find->error, SLUICE_INVALID, STAGE,
                               "%s is %u: with %u parts it must be from %u to %u; submit the array "
                               "with these indices, or " BY_HAND,
                               made->of->index, made->index, count, made->first,
                               made->first + count - 1);
}

static sluice_status job_read_claim(const search *find, claim *made)
{
    const scheduler *of = made->of;
    if (of->first != NULL && job_value_of(find, of->first) == NULL) {
        return sl_error_set(
            find->error, SLUICE_INVALID, STAGE,
            "%s is set and %s is not, which has the first index: set it, or " BY_HAND, of->index,
            of->first);
    }
    made->first = of->origin;
    sluice_status status = job_read_number(find, of->index, &made->index);
    status = status == SLUICE_OK ? job_read_number(find, of->first, &made->first) : status;
    status = status == SLUICE_OK ? check_step(find, of) : status;
    status = status == SLUICE_OK ? read_count(find, made) : status;
    return status == SLUICE_OK && made->count > 0 ? check_range(find, made, made->count) : status;
}

static sluice_status refuse_contradiction(const search *find, const claim *a, const claim *b)
{
    return sl_error_set(find->error, SLUICE_INVALID, STAGE,
                        "two schedulers disagree: %s (%s) is %u with first index %u, but %s (%s) "
                        "is %u with first index %u: unset one of them, or " BY_HAND,
                        a->of->index, a->of->name, a->index, a->first, b->of->index, b->of->name,
                        b->index, b->first);
}

/*
 * Joins another scheduler's claim, which must have the same part, and the same count if both have
 * one.
 */
static sluice_status join_claims(const search *find, claim *all, const claim *other)
{
    if (all->of == NULL) {
        *all = *other;
        return SLUICE_OK;
    }
    const bool same_part = all->index - all->first == other->index - other->first;
    const bool same_count = all->count == 0 || other->count == 0 || all->count == other->count;
    if (!same_part || !same_count) {
        return refuse_contradiction(find, all, other);
    }
    all->count = all->count == 0 ? other->count : all->count;
    return SLUICE_OK;
}

static sluice_status choose_parts(const search *find, const claim *all, uint32_t *parts)
{
    if (*parts == 0 && all->count == 0) {
        return sl_error_set(find->error, SLUICE_INVALID, STAGE,
                            "%s is set, but no variable has the number of jobs in the array: give "
                            "it (" SL_OPTION("the number of parts") ")",
                            all->of->index);
    }
    if (*parts != 0 && all->count != 0 && *parts != all->count) {
        return sl_error_set(
            find->error, SLUICE_INVALID, STAGE,
            "the array of %s has %u jobs, not %u: leave the number out, or " BY_HAND,
            all->of->index, all->count, *parts);
    }
    *parts = *parts == 0 ? all->count : *parts;
    return check_range(find, all, *parts);
}

sluice_status sl_job_array_find(const sl_environment *environment, uint32_t parts,
                                sluice_job_array *array, sluice_error *error)
{
    const search find = {.environment = environment, .error = error};
    claim all = {.of = NULL};
    sluice_status status = SLUICE_OK;
    *array = (sluice_job_array){.struct_size = sizeof(*array), .parts = 1};
    for (int i = 0; status == SLUICE_OK && i < SCHEDULERS; i++) {
        claim made = {.of = &schedulers[i]};
        if (!is_in_array(&find, made.of)) {
            continue;
        }
        if (array->found == 0) {
            array->found = 1;
            (void)snprintf(array->scheduler, sizeof(array->scheduler), "%s", made.of->name);
            (void)snprintf(array->variable, sizeof(array->variable), "%s", made.of->index);
        }
        status = job_read_claim(&find, &made);
        status = status == SLUICE_OK ? join_claims(&find, &all, &made) : status;
    }
    if (status == SLUICE_OK && all.of != NULL) {
        status = choose_parts(&find, &all, &parts);
    }
    if (status == SLUICE_OK && all.of != NULL) {
        array->part = all.index - all.first;
        array->parts = parts;
        assert(array->part < array->parts);
    }
    return status;
}

/* ---- public ---- */

static const char *job_get_variable(const void *user, const char *name)
{
    (void)user;
    return getenv(name); // NOLINT(concurrency-mt-unsafe): the header says so
}

sluice_status sluice_job_array_find(sluice_job_array *array, uint32_t parts, sluice_error *error)
{
    if (sl_api_lacks(error, array, "sluice_job_array") ||
        sl_api_is_untagged(error, array, "sluice_job_array")) {
        return SLUICE_INVALID;
    }
    const sl_environment environment = {.get = job_get_variable};
    sluice_job_array full;
    sluice_error reason;
    const sluice_status found = sl_job_array_find(&environment, parts, &full, &reason);
    const sluice_status written = sl_api_write_struct(array, &full, sizeof(full));
    return found < 0 ? sl_api_fail(error, &reason) : written;
}

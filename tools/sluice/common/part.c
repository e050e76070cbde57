/* SPDX-License-Identifier: Apache-2.0 */
#include "part.h"

#include "exit_code.h"
#include "report.h"

#include <sluice/ranks.h>

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 65535 };

/* Parses digits only: a sign or a blank is a mistake. */
static const char *parse_number(const char *text, unsigned long *number)
{
    char *end;
    if (*text < '0' || *text > '9') {
        return NULL;
    }
    *number = strtoul(text, &end, 10);
    return *number <= PARTS_MAX ? end : NULL;
}

static int parse(const char *given, struct part *part)
{
    unsigned long index = 0;
    unsigned long parts = 0;
    const char *rest = parse_number(given, &index);
    rest = rest != NULL && *rest == '/' ? parse_number(rest + 1, &parts) : NULL;
    if (rest == NULL || *rest != '\0' || index >= parts) {
        report("--part %s: expected auto, auto/N, or I/N, with I from 0 to N - 1 and N at most %d",
               given, PARTS_MAX);
        return TOOL_USAGE;
    }
    *part = (struct part){.part = (uint32_t)index, .parts = (uint32_t)parts};
    return TOOL_FINE;
}

/* ---- arrays of jobs ---- */

static bool is_auto(const char *given)
{
    return strcmp(given, "auto") == 0 || strncmp(given, "auto/", 5) == 0;
}

/* Rejects a launcher inside an array job: it numbers the processes of each job, and the array
 * numbers the jobs. */
static int refuse_launcher(const char *given, const char *variable)
{
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_ranks_find(&ranks, &error) < 0) {
        return report_error(&error, "--part I/N says which part this is");
    }
    if (ranks.world_size > 1) {
        report("--part %s: %s is set, and a launcher started %" PRIu32 " processes (%s): start one "
               "process in each job, or write --part I/N",
               given, variable, ranks.world_size, ranks.launcher);
        return TOOL_USAGE;
    }
    return TOOL_FINE;
}

static int refuse_no_array(const char *given)
{
    report("--part %s: this is not a job of an array: no variable of Slurm (SLURM_ARRAY_TASK_ID), "
           "Kubernetes (JOB_COMPLETION_INDEX), AWS Batch, LSF, SGE, PBS or Torque has an index; "
           "write --part I/N",
           given);
    return TOOL_USAGE;
}

static int choose_job(const char *given, struct part *part)
{
    sluice_job_array array = SLUICE_JOB_ARRAY_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    unsigned long parts = 0;
    const char *rest = given[4] == '/' ? parse_number(given + 5, &parts) : given + 4;
    if (rest == NULL || *rest != '\0' || (given[4] == '/' && parts == 0)) {
        report("--part %s: expected auto or auto/N, with N from 1 to %d", given, PARTS_MAX);
        return TOOL_USAGE;
    }
    if (sluice_job_array_find(&array, (uint32_t)parts, &error) < 0) {
        return report_error(&error, NULL);
    }
    if (array.found == 0) {
        return refuse_no_array(given);
    }
    if (array.parts > PARTS_MAX) {
        report("--part %s: the array has %" PRIu32 " jobs: at most %d can work together", given,
               array.parts, PARTS_MAX);
        return TOOL_USAGE;
    }
    *part = (struct part){.part = array.part, .parts = array.parts};
    return refuse_launcher(given, array.variable);
}

void part_note_array(const char *given)
{
    sluice_job_array array = SLUICE_JOB_ARRAY_INIT;
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    const bool known = sluice_job_array_find(&array, 0, NULL) == SLUICE_OK;
    if (given != NULL || array.found == 0 || (known && array.parts == 1)) {
        return;
    }
    /* A launcher's processes share the work, and usually they are the jobs; Slurm's are those of
     * one job. */
    if (sluice_ranks_find(&ranks, NULL) == SLUICE_OK && ranks.world_size > 1) {
        if (strncmp(array.variable, "SLURM", 5) == 0 && strcmp(ranks.launcher, "Slurm") == 0) {
            report_note("warning: %s is set: each job of the array does all of the work; start one "
                        "process in each job and write --part auto, or write --part I/N",
                        array.variable);
        }
        return;
    }
    report_note("warning: %s is set: each job of the array does all of the work; --part auto%s "
                "gives each job a part, --part 0/1 is for jobs that each do all",
                array.variable, known ? "" : "/N");
}

int part_choose(const char *given, struct part *part)
{
    *part = (struct part){.parts = 1};
    if (given != NULL) {
        return is_auto(given) ? choose_job(given, part) : parse(given, part);
    }
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_ranks_find(&ranks, &error) < 0) {
        return report_error(&error, "--part I/N says which part this is, and --part 0/1 that it is "
                                    "all");
    }
    if (ranks.world_size > PARTS_MAX) {
        report("the launcher started %u processes: at most %d can work together", ranks.world_size,
               PARTS_MAX);
        return TOOL_USAGE;
    }
    *part = (struct part){
        .part = ranks.rank, .parts = ranks.world_size, .local_size = ranks.local_size};
    return TOOL_FINE;
}

uint32_t part_workers(const struct part *part)
{
    cpu_set_t own;
    if (part->local_size < 2 || sched_getaffinity(0, sizeof own, &own) != 0) {
        return 0;
    }
    const long all = sysconf(_SC_NPROCESSORS_ONLN);
    const long share = all / (long)part->local_size > 1 ? all / (long)part->local_size : 1;
    const long bound = CPU_COUNT(&own);
    return (uint32_t)(share < bound ? share : bound);
}

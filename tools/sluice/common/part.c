/* SPDX-License-Identifier: Apache-2.0 */
#include "part.h"

#include "exit_code.h"
#include "report.h"

#include <sluice/ranks.h>

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { PARTS_MAX = 65535 };

/* Digits only: a sign or a blank is a mistake. */
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
        report("--part %s: expected I/N, with I from 0 to N - 1 and N at most %d", given,
               PARTS_MAX);
        return TOOL_USAGE;
    }
    *part = (struct part){.part = (uint32_t)index, .parts = (uint32_t)parts};
    return TOOL_FINE;
}

int part_choose(const char *given, struct part *part)
{
    *part = (struct part){.parts = 1};
    if (given != NULL) {
        return parse(given, part);
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

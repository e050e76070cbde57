/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the library's queries of the machine, which would make runs differ, and makes parts of a
 * loader smaller than options allow (ld --wrap). */
#include "limits.h"

#include "cpu.h"
#include "fetch.h"

#include <sys/mman.h>

uint32_t __wrap_sl_cpu_count(void);
uint64_t __wrap_sl_memory_available(void);
int __wrap_madvise(void *address, size_t bytes, int advice);

sluice_status __real_sl_fetch_open(sl_fetch **fetch, const sl_fetch_config *config,
                                   const sl_fetch_source *source, sluice_error *error);
sluice_status __wrap_sl_fetch_open(sl_fetch **fetch, const sl_fetch_config *config,
                                   const sl_fetch_source *source, sluice_error *error);

static sim_limits limits;

void sim_limits_set(const sim_limits *wanted)
{
    limits = *wanted;
}

sluice_status __wrap_sl_fetch_open(sl_fetch **fetch, const sl_fetch_config *config,
                                   const sl_fetch_source *source, sluice_error *error)
{
    sl_fetch_config smaller = *config;
    if (limits.arena_bytes > 0) {
        smaller.arena_bytes = limits.arena_bytes;
        smaller.arena_first_bytes = limits.arena_first_bytes;
    }
    if (limits.lookahead > 0 && limits.lookahead < smaller.lookahead) {
        smaller.lookahead = limits.lookahead;
    }
    return __real_sl_fetch_open(fetch, &smaller, source, error);
}

uint32_t __wrap_sl_cpu_count(void)
{
    return 2;
}

uint64_t __wrap_sl_memory_available(void)
{
    return (uint64_t)8 << 30;
}

/* Maps pages one by one when they are touched: the simulation uses little of a slab. */
int __wrap_madvise(void *address, size_t bytes, int advice)
{
    (void)address;
    (void)bytes;
    (void)advice;
    return 0;
}

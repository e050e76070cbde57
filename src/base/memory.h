/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: counted allocation and the byte budget.
 *
 * Purpose: every heap allocation of the library goes through here, so that "steady state allocates
 * nothing" can be asserted: sl_memory_allocations() counts them all, process-wide (relaxed atomic).
 * A budget is a plain limit that slabs and scratch are charged to; it is refused, never exceeded.
 * Threads: all functions from any thread.
 */
#ifndef SL_MEMORY_H
#define SL_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As malloc/calloc/realloc/strdup/free, counted; count x size is checked for overflow. */
void *sl_malloc(size_t bytes);
void *sl_calloc(size_t count, size_t bytes);
void *sl_realloc_array(void *memory, size_t count, size_t bytes);
char *sl_strdup(const char *text);
void sl_free(void *memory);

/* Allocations (not frees) since the process began: heap, slabs and scratch growth. */
uint64_t sl_memory_allocations(void);
void sl_memory_count_allocation(void);

typedef struct sl_budget {
    uint64_t limit; /* bytes; UINT64_MAX: none */
    _Atomic uint64_t used;
} sl_budget;

void sl_budget_init(sl_budget *budget, uint64_t limit_bytes);
/* Charges `bytes`; false when that would pass the limit (nothing is charged then). */
bool sl_budget_take(sl_budget *budget, uint64_t bytes);
void sl_budget_give(sl_budget *budget, uint64_t bytes);
uint64_t sl_budget_used(const sl_budget *budget);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: counted allocation and the byte budget.
 *
 * Purpose: every heap allocation of the library goes through here, so that "steady state allocates
 * nothing" can be asserted: sl_memory_allocations() counts them all, process-wide (relaxed atomic).
 * A budget is a plain limit that slabs and scratch are charged to; requests above it fail. A thread
 * may work under a limit: its heap allocations are then charged to it, and returned as they are
 * freed; an allocation above the limit fails. So no caller has to check the sizes that a file
 * claims. Threads: all functions from any thread.
 */
#ifndef SL_MEMORY_H
#define SL_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Like malloc/calloc/realloc/strdup/free, counted; count x size is checked for overflow. */
void *sl_malloc(size_t bytes);
void *sl_calloc(size_t count, size_t bytes);
void *sl_realloc_array(void *memory, size_t count, size_t bytes);
char *sl_strdup(const char *text);
void sl_free(void *memory);

/* Does sl_grow's work if there is not enough space. */
bool sl_grow_to(void *array, uint64_t *capacity, uint64_t needed, size_t item_bytes);
/*
 * Gives a heap array space for `needed` items of `item_bytes` each. `array` is the address of the
 * pointer to it (a `T **`; it may point to NULL while `*capacity` is 0). Grows by half, so that
 * adding n items one by one moves O(n); does nothing if there is space. Returns false, with the
 * array and `*capacity` unchanged, if memory is short or its bytes would not fit a size_t. Arrays
 * in parallel share a capacity: each except the last is grown with a copy of it.
 */
static inline bool sl_grow(void *array, uint64_t *capacity, uint64_t needed, size_t item_bytes)
{
    return needed <= *capacity || sl_grow_to(array, capacity, needed, item_bytes);
}

/* Returns the allocations (not frees) since the process began: heap, slabs and scratch growth. */
uint64_t sl_memory_allocations(void);
void sl_memory_count_allocation(void);

typedef struct sl_budget {
    uint64_t limit; /* bytes; UINT64_MAX: none */
    _Atomic uint64_t used;
} sl_budget;

void sl_budget_init(sl_budget *budget, uint64_t limit_bytes);
/* Charges `bytes`; false, with nothing charged, if that would exceed the limit. */
bool sl_budget_take(sl_budget *budget, uint64_t bytes);
void sl_budget_give(sl_budget *budget, uint64_t bytes);
uint64_t sl_budget_used(const sl_budget *budget);

/* A limit on what some threads have together at a time; memory left at the end of the work stays,
 * and is nobody's any more. */
typedef struct sl_memory_limit {
    sl_budget budget;
    atomic_bool met; /* a request was refused */
} sl_memory_limit;

void sl_memory_limit_init(sl_memory_limit *limit, uint64_t bytes);
/* Sets the limit of this thread from here on (NULL: none), and returns the one before. Threads that
 * it starts for its work take it over. */
sl_memory_limit *sl_memory_work_under(sl_memory_limit *limit);
sl_memory_limit *sl_memory_limit_of_thread(void);
/* Claims memory that a library allocates for this thread; false: not as much is left. */
bool sl_memory_claim(uint64_t bytes);
void sl_memory_give_back(uint64_t bytes);
/* Returns whether so many bytes are left now, for callers that know their need before they
 * begin. */
bool sl_memory_has_space(uint64_t bytes);

/*
 * Returns how often this thread was refused memory, here or by a library that reports it to
 * note_shortage. The resulting failures can look like damage: before code blames data for a
 * failure, it checks whether this has grown meanwhile.
 */
uint64_t sl_memory_shortages(void);
void sl_memory_note_shortage(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: counted allocation and the byte budget.
 *
 * Purpose: every heap allocation of the library goes through here, so that "steady state allocates
 * nothing" can be asserted: sl_memory_allocations() counts them all, process-wide (relaxed atomic).
 * A budget is a plain limit that slabs and scratch are charged to; it is refused, never exceeded.
 * A thread may work under a limit: what it takes of the heap is charged to it then, and given back
 * as it is freed; allocating fails where the limit would be passed. So whatever a file claims,
 * nobody has to remember to count it. Threads: all functions from any thread.
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

/* As sl_grow, where there is not enough space. */
bool sl_grow_to(void *array, uint64_t *capacity, uint64_t needed, size_t item_bytes);
/*
 * Gives a heap array space for `needed` items of `item_bytes` each. `array` is the address of the
 * pointer to it (a `T **`; it may point to NULL while `*capacity` is 0). Grows by half, so that
 * adding n items one by one moves O(n); does nothing where there is space. False, with the array
 * and `*capacity` as they were: there is no memory for it, or its bytes would not fit a size_t.
 * Arrays in parallel share a capacity: each but the last is grown with a copy of it.
 */
static inline bool sl_grow(void *array, uint64_t *capacity, uint64_t needed, size_t item_bytes)
{
    return needed <= *capacity || sl_grow_to(array, capacity, needed, item_bytes);
}

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

/* Of what some threads together have at a time; what of it is there when the work ends stays, and
 * is nobody's any more. */
typedef struct sl_memory_limit {
    sl_budget budget;
    atomic_bool met; /* something was refused */
} sl_memory_limit;

void sl_memory_limit_init(sl_memory_limit *limit, uint64_t bytes);
/* What this thread works under from here on (NULL: nothing), and did until now. Threads that it
 * starts to work with take it from it. */
sl_memory_limit *sl_memory_work_under(sl_memory_limit *limit);
sl_memory_limit *sl_memory_limit_of_thread(void);
/* Memory that somebody else takes for this thread, a library; false: there is not as much left. */
bool sl_memory_claim(uint64_t bytes);
void sl_memory_give_back(uint64_t bytes);
/* Whether so many bytes are left now, for who knows before it begins what it will take. */
bool sl_memory_has_space(uint64_t bytes);

/*
 * How often this thread was refused memory, here or by a library that says so to note_shortage.
 * What goes wrong then looks like damage to some, who only see that it did not work: whoever
 * blames data for a failure asks first whether this has grown meanwhile.
 */
uint64_t sl_memory_shortages(void);
void sl_memory_note_shortage(void);

#endif

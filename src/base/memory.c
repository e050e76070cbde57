/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's heap. Any thread: counters are relaxed atomics; a limit belongs to the threads that
 * work under it and is charged the allocator's usable size, so that a free returns exactly the
 * bytes charged.
 */
#include "memory.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Relaxed everywhere: a count that orders nothing. */
enum { CAPACITY_FIRST = 16 };

static _Atomic uint64_t allocations;

void sl_memory_count_allocation(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

uint64_t sl_memory_allocations(void)
{
    /* Relaxed: a statistic. */
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

/* ---- under a limit ---- */

static _Thread_local sl_memory_limit *own_limit;
static _Thread_local uint64_t shortages;

uint64_t sl_memory_shortages(void)
{
    return shortages;
}

void sl_memory_note_shortage(void)
{
    shortages++;
}

static void *noted(void *memory)
{
    if (memory == NULL) {
        shortages++;
    }
    return memory;
}

void sl_memory_limit_init(sl_memory_limit *limit, uint64_t bytes)
{
    sl_budget_init(&limit->budget, bytes);
    atomic_init(&limit->met, false);
}

sl_memory_limit *sl_memory_work_under(sl_memory_limit *limit)
{
    sl_memory_limit *before = own_limit;
    own_limit = limit;
    return before;
}

sl_memory_limit *sl_memory_limit_of_thread(void)
{
    return own_limit;
}

bool sl_memory_claim(uint64_t bytes)
{
    sl_memory_limit *limit = own_limit;
    if (limit == NULL || sl_budget_take(&limit->budget, bytes)) {
        return true;
    }
    /* Relaxed: read after the threads under the limit were joined. */
    atomic_store_explicit(&limit->met, true, memory_order_relaxed);
    shortages++;
    return false;
}

/* Freed memory may have been taken under no limit, or another one: never goes below zero. */
void sl_memory_give_back(uint64_t bytes)
{
    sl_memory_limit *limit = own_limit;
    if (limit == NULL) {
        return;
    }
    uint64_t used = sl_budget_used(&limit->budget);
    /* Relaxed, as in sl_budget_take. */
    while (!atomic_compare_exchange_weak_explicit(&limit->budget.used, &used,
                                                  used > bytes ? used - bytes : 0,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

bool sl_memory_has_space(uint64_t bytes)
{
    const bool has = sl_memory_claim(bytes);
    if (has) {
        sl_memory_give_back(bytes);
    }
    return has;
}

/* Charges claimed memory as its real size; NULL: it was not allocated. */
static void *charged(void *memory, size_t bytes)
{
    if (own_limit == NULL) {
        return noted(memory);
    }
    const size_t real = memory != NULL ? malloc_usable_size(memory) : 0;
    if (real > bytes) {
        /* Relaxed, as in sl_budget_take. */
        atomic_fetch_add_explicit(&own_limit->budget.used, real - bytes, memory_order_relaxed);
    } else {
        sl_memory_give_back(bytes - real);
    }
    return noted(memory);
}

/* ---- the heap ---- */

/* NULL means "no memory" and nothing else, so an empty allocation has a byte. */
static size_t at_least_one(size_t bytes)
{
    return bytes == 0 ? 1 : bytes;
}

void *sl_malloc(size_t bytes)
{
    sl_memory_count_allocation();
    return sl_memory_claim(bytes) ? charged(malloc(at_least_one(bytes)), bytes) : NULL;
}

void *sl_calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        return NULL;
    }
    sl_memory_count_allocation();
    return sl_memory_claim(total) ? charged(calloc(1, at_least_one(total)), total) : NULL;
}

/* Under a limit the old memory counts until it is freed; then only the new does. */
static void *realloc_under_limit(void *memory, size_t total)
{
    const size_t before = memory != NULL ? malloc_usable_size(memory) : 0;
    const size_t more = total > before ? total - before : 0;
    if (!sl_memory_claim(more)) {
        return NULL;
    }
    void *grown = realloc(memory, at_least_one(total));
    if (grown == NULL) {
        sl_memory_give_back(more);
        return noted(NULL);
    }
    const size_t real = malloc_usable_size(grown);
    if (real > before + more) {
        /* Relaxed, as in sl_budget_take. */
        atomic_fetch_add_explicit(&own_limit->budget.used, real - before - more,
                                  memory_order_relaxed);
    } else {
        sl_memory_give_back(before + more - real);
    }
    return grown;
}

void *sl_realloc_array(void *memory, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        return NULL;
    }
    sl_memory_count_allocation();
    return own_limit != NULL ? realloc_under_limit(memory, total)
                             : noted(realloc(memory, at_least_one(total)));
}

bool sl_grow_to(void *array, uint64_t *capacity, uint64_t needed, size_t item_bytes)
{
    uint64_t more = *capacity + *capacity / 2;
    more = more < CAPACITY_FIRST ? CAPACITY_FIRST : more;
    more = more < needed ? needed : more;
    if (more > (uint64_t)PTRDIFF_MAX / item_bytes) {
        return false;
    }
    void *items; /* whatever the pointer's type, its bytes are those of a void * */
    memcpy(&items, array, sizeof(items));
    items = sl_realloc_array(items, more, item_bytes);
    if (items == NULL) {
        return false;
    }
    memcpy(array, &items, sizeof(items));
    *capacity = more;
    return true;
}

char *sl_strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = sl_malloc(bytes);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

void sl_free(void *memory)
{
    if (own_limit != NULL && memory != NULL) {
        sl_memory_give_back(malloc_usable_size(memory));
    }
    free(memory);
}

void sl_budget_init(sl_budget *budget, uint64_t limit_bytes)
{
    budget->limit = limit_bytes;
    atomic_init(&budget->used, 0);
}

bool sl_budget_take(sl_budget *budget, uint64_t bytes)
{
    /* Relaxed: the budget guards a number, not the memory that it counts. */
    uint64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    do {
        if (bytes > budget->limit || used > budget->limit - bytes) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void sl_budget_give(sl_budget *budget, uint64_t bytes)
{
    /* Relaxed, as in sl_budget_take. */
    const uint64_t before = atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
    assert(before >= bytes);
    (void)before;
}

uint64_t sl_budget_used(const sl_budget *budget)
{
    /* Relaxed: a statistic. */
    return atomic_load_explicit(&budget->used, memory_order_relaxed);
}

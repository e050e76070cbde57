/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Relaxed everywhere: a count that orders nothing. */
static _Atomic uint64_t allocations;

void sl_memory_count_allocation(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

uint64_t sl_memory_allocations(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

/* NULL means "no memory" and nothing else, so an empty allocation has a byte. */
static size_t at_least_one(size_t bytes)
{
    return bytes == 0 ? 1 : bytes;
}

void *sl_malloc(size_t bytes)
{
    sl_memory_count_allocation();
    return malloc(at_least_one(bytes));
}

void *sl_calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        return NULL;
    }
    sl_memory_count_allocation();
    return calloc(1, at_least_one(total));
}

void *sl_realloc_array(void *memory, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        return NULL;
    }
    sl_memory_count_allocation();
    return realloc(memory, at_least_one(total));
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
    const uint64_t before = atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
    assert(before >= bytes);
    (void)before;
}

uint64_t sl_budget_used(const sl_budget *budget)
{
    return atomic_load_explicit(&budget->used, memory_order_relaxed);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "slab.h"

#include "error.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

/* Maps 2 MiB-aligned memory: one unit too much, whose both ends are unmapped. */
static uint8_t *map_aligned(size_t bytes)
{
    uint8_t *raw = mmap(NULL, bytes + SL_SLAB_ALIGN, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) {
        return NULL;
    }
    const size_t over = (uintptr_t)raw % SL_SLAB_ALIGN;
    const size_t head = over == 0 ? 0 : SL_SLAB_ALIGN - over;
    if (head > 0) {
        munmap(raw, head);
    }
    if (head < SL_SLAB_ALIGN) {
        munmap(raw + head + bytes, SL_SLAB_ALIGN - head);
    }
    return raw + head;
}

/* Returns the memory of a charged slab; NULL with errno set. */
static uint8_t *slab_make(size_t bytes, bool for_devices)
{
    sl_memory_count_allocation();
    uint8_t *base = map_aligned(bytes);
    if (base == NULL) {
        return NULL;
    }
    /* Best effort: without them the slab works, slower or with a caveat for forks. */
    (void)madvise(base, bytes, MADV_HUGEPAGE);
    if (for_devices) {
        (void)madvise(base, bytes, MADV_DONTFORK);
    }
    return base;
}

static sluice_status open_slab(sl_slab *slab, size_t bytes, sl_budget *budget, bool for_devices,
                               sluice_error *error)
{
    assert(bytes > 0);
    memset(slab, 0, sizeof(*slab));
    if (bytes > SIZE_MAX / 2) {
        return sl_error_set(error, SLUICE_NOMEM, "base", "%zu bytes exceed the address space",
                            bytes);
    }
    const size_t rounded = (bytes + SL_SLAB_ALIGN - 1) / SL_SLAB_ALIGN * SL_SLAB_ALIGN;
    if (budget != NULL && !sl_budget_take(budget, rounded)) {
        return sl_error_set(
            error, SLUICE_NOMEM, "base",
            "%zu more bytes would exceed the memory budget: %llu bytes, %llu in use", rounded,
            (unsigned long long)budget->limit, (unsigned long long)sl_budget_used(budget));
    }
    uint8_t *base = slab_make(rounded, for_devices);
    if (base == NULL) {
        const int reason = errno;
        if (budget != NULL) {
            sl_budget_give(budget, rounded);
        }
        return sl_error_file(error, SLUICE_NOMEM, "base", reason, NULL, -1,
                             "cannot allocate %zu bytes of memory", rounded);
    }
    *slab = (sl_slab){.base = base, .bytes = rounded, .budget = budget};
    return SLUICE_OK;
}

sluice_status sl_slab_open(sl_slab *slab, size_t bytes, sl_budget *budget, sluice_error *error)
{
    return open_slab(slab, bytes, budget, true, error);
}

sluice_status sl_slab_open_plain(sl_slab *slab, size_t bytes, sl_budget *budget,
                                 sluice_error *error)
{
    return open_slab(slab, bytes, budget, false, error);
}

void sl_slab_close(sl_slab *slab)
{
    if (slab->base != NULL) {
        munmap(slab->base, slab->bytes);
        if (slab->budget != NULL) {
            sl_budget_give(slab->budget, slab->bytes);
        }
    }
    sl_slab_forget(slab);
}

void sl_slab_forget(sl_slab *slab)
{
    memset(slab, 0, sizeof(*slab));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the slabs of src/base/slab.c. They are kept from loader to loader, since the kernel's
 * work of mapping them would dominate the simulation. A slab contains what an earlier loader left
 * in it. */
#include "error.h"
#include "limits.h"
#include "slab.h"
#include "world.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(address, bytes)   ((void)(address), (void)(bytes))
#    define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

enum { KEPT_MAX = 256 };

static sl_slab kept[KEPT_MAX];
static uint32_t kept_count;
static uint32_t open_count;

uint32_t sim_slabs_open(void)
{
    return open_count;
}

/* Returns a slab that was used before, or NULL. */
static uint8_t *take_kept(size_t bytes)
{
    for (uint32_t i = kept_count; i > 0; i--) {
        if (kept[i - 1].bytes == bytes) {
            uint8_t *base = kept[i - 1].base;
            kept[i - 1] = kept[--kept_count];
            ASAN_UNPOISON_MEMORY_REGION(base, bytes);
            return base;
        }
    }
    return NULL;
}

static uint8_t *map_slab(size_t bytes)
{
    uint8_t *raw = mmap(NULL, bytes + SL_SLAB_ALIGN, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        sim_fail("no memory for a slab");
    }
    return raw + (SL_SLAB_ALIGN - (uintptr_t)raw % SL_SLAB_ALIGN) % SL_SLAB_ALIGN;
}

sluice_status sl_slab_open(sl_slab *slab, size_t bytes, sl_budget *budget, sluice_error *error)
{
    const size_t rounded = (bytes + SL_SLAB_ALIGN - 1) / SL_SLAB_ALIGN * SL_SLAB_ALIGN;
    memset(slab, 0, sizeof(*slab));
    if (budget != NULL && !sl_budget_take(budget, rounded)) {
        return sl_error_set(error, SLUICE_NOMEM, "base", "%zu more bytes would exceed the budget",
                            rounded);
    }
    sl_memory_count_allocation();
    open_count++;
    uint8_t *base = take_kept(rounded);
    *slab = (sl_slab){
        .base = base != NULL ? base : map_slab(rounded), .bytes = rounded, .budget = budget};
    return SLUICE_OK;
}

sluice_status sl_slab_open_plain(sl_slab *slab, size_t bytes, sl_budget *budget,
                                 sluice_error *error)
{
    return sl_slab_open(slab, bytes, budget, error);
}

void sl_slab_close(sl_slab *slab)
{
    if (slab->base != NULL) {
        open_count--;
        if (kept_count == KEPT_MAX) {
            sim_fail("more than %d slabs", KEPT_MAX);
        }
        ASAN_POISON_MEMORY_REGION(slab->base, slab->bytes);
        kept[kept_count++] = (sl_slab){.base = slab->base, .bytes = slab->bytes};
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

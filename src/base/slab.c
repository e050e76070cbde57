/* SPDX-License-Identifier: Apache-2.0 */
#include "slab.h"

#include "error.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 5.14; by number, since older C libraries lack the name. */
#define POPULATE_WRITE 23

/* A mapping that is 2 MiB-aligned: one unit too much, of which both ends are given back. */
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

static void touch(uint8_t *base, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page) {
        *(volatile uint8_t *)(base + at) = 0;
    }
}

/* 0, or the errno of a system that has no memory. */
static int populate(uint8_t *base, size_t bytes)
{
    int result;
    do {
        result = madvise(base, bytes, POPULATE_WRITE);
    } while (result != 0 && errno == EINTR);
    if (result == 0) {
        return 0;
    }
    if (errno == ENOMEM || errno == EFAULT) {
        return errno;
    }
    touch(base, bytes); /* an older kernel */
    return 0;
}

/* The memory of a charged slab; NULL with errno set. */
static uint8_t *make(size_t bytes, int prefault)
{
    sl_memory_count_allocation();
    uint8_t *base = map_aligned(bytes);
    if (base == NULL) {
        return NULL;
    }
    /* Best effort: without them the slab works, slower or with a caveat for forks. */
    (void)madvise(base, bytes, MADV_HUGEPAGE);
    (void)madvise(base, bytes, MADV_DONTFORK);
    const int failure = prefault ? populate(base, bytes) : 0;
    if (failure != 0) {
        munmap(base, bytes);
        errno = failure;
        return NULL;
    }
    return base;
}

sluice_status sl_slab_open(sl_slab *slab, size_t bytes, int prefault, sl_budget *budget,
                           sluice_error *error)
{
    assert(bytes > 0);
    memset(slab, 0, sizeof(*slab));
    if (bytes > SIZE_MAX / 2) {
        return sl_error_set(error, SLUICE_NOMEM, "base", "%zu bytes exceed the address space",
                            bytes);
    }
    const size_t rounded = (bytes + SL_SLAB_ALIGN - 1) / SL_SLAB_ALIGN * SL_SLAB_ALIGN;
    if (budget != NULL && sl_budget_take(budget, rounded) != 0) {
        return sl_error_set(
            error, SLUICE_NOMEM, "base",
            "%zu bytes more would pass the memory budget of %llu bytes, of which %llu "
            "are in use",
            rounded, (unsigned long long)budget->limit, (unsigned long long)sl_budget_used(budget));
    }
    uint8_t *base = make(rounded, prefault);
    if (base == NULL) {
        const int reason = errno;
        if (budget != NULL) {
            sl_budget_give(budget, rounded);
        }
        return sl_error_file(error, SLUICE_NOMEM, "base", reason, NULL, -1,
                             "the system refused %zu bytes of memory", rounded);
    }
    *slab = (sl_slab){.base = base, .bytes = rounded, .budget = budget};
    return SLUICE_OK;
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

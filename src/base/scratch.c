/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include "error.h"
#include "memory.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT ((size_t)64)
#define READABLE  ((size_t)64) /* behind the last allocation, for vector loads that reach over */

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t mapped_bytes(const sl_scratch *scratch)
{
    return round_up(scratch->limit + READABLE, page_bytes());
}

sluice_status sl_scratch_open(sl_scratch *scratch, size_t limit, size_t keep, sluice_error *error)
{
    assert(limit > 0);
    memset(scratch, 0, sizeof(*scratch));
    if (limit > SIZE_MAX / 2) {
        return sl_error_set(error, SLUICE_NOMEM, "base",
                            "%zu bytes of scratch exceed the address "
                            "space",
                            limit);
    }
    sl_scratch made = {.limit = round_up(limit, ALIGNMENT)};
    made.keep = keep < made.limit ? keep : made.limit;
    sl_memory_count_allocation();
    void *base = mmap(NULL, mapped_bytes(&made), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return sl_error_file(error, SLUICE_NOMEM, "base", errno, NULL, -1,
                             "no address space for %zu bytes of scratch", limit);
    }
    made.base = base;
    *scratch = made;
    return SLUICE_OK;
}

void sl_scratch_close(sl_scratch *scratch)
{
    if (scratch->base != NULL) {
        munmap(scratch->base, mapped_bytes(scratch));
    }
    memset(scratch, 0, sizeof(*scratch));
}

/* What is above `keep` was given back at the last trim and is new memory now. */
static void grow(sl_scratch *scratch)
{
    if (scratch->used > scratch->keep) {
        sl_memory_count_allocation();
    }
    scratch->peak = scratch->used;
}

void *sl_scratch_take(sl_scratch *scratch, size_t bytes)
{
    if (bytes > scratch->limit - scratch->used) {
        return NULL;
    }
    /* limit and used are multiples of ALIGNMENT, so that rounding cannot pass the limit. */
    void *memory = scratch->base + scratch->used;
    scratch->used += round_up(bytes, ALIGNMENT);
    if (scratch->used > scratch->peak) {
        grow(scratch);
    }
    return memory;
}

size_t sl_scratch_mark(const sl_scratch *scratch)
{
    return scratch->used;
}

void sl_scratch_release(sl_scratch *scratch, size_t mark)
{
    assert(mark <= scratch->used && mark % ALIGNMENT == 0);
    scratch->used = mark;
}

void sl_scratch_reset(sl_scratch *scratch)
{
    scratch->used = 0;
    if (scratch->peak <= scratch->keep) {
        return;
    }
    const size_t from = round_up(scratch->keep, page_bytes());
    const size_t to = round_up(scratch->peak, page_bytes());
    if (from < to) {
        madvise(scratch->base + from, to - from, MADV_DONTNEED);
    }
    scratch->peak = scratch->keep;
}

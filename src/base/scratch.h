/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch: per-thread working memory, bump-allocated, reset for each picture.
 *
 * Purpose: decoders and resamplers take what they need from here, so that steady state allocates
 * nothing. It reserves address space for `limit` bytes once (no memory until touched) and gives
 * pages back to the system after an unusually large picture (more than `keep` bytes used).
 * What is taken above `keep` counts as an allocation (memory.h), what is below does not.
 * Invariants: pointers are 64-byte aligned and valid until the reset (or release to a mark) that
 * follows; at least 64 readable bytes follow each allocation.
 * Threads: one owner thread.
 */
#ifndef SL_SCRATCH_H
#define SL_SCRATCH_H

#include <sluice/common.h>

typedef struct sl_scratch {
    uint8_t *base;
    size_t limit;
    size_t used;
    size_t peak; /* since the last trim */
    size_t keep;
} sl_scratch;

/* Reserves `limit` bytes of address space. Errors: NOMEM. */
sluice_status sl_scratch_open(sl_scratch *scratch, size_t limit, size_t keep, sluice_error *error);
void sl_scratch_close(sl_scratch *scratch);
/* NULL when the limit would be passed. Contents are undefined. */
void *sl_scratch_take(sl_scratch *scratch, size_t bytes);
size_t sl_scratch_mark(const sl_scratch *scratch);
void sl_scratch_release(sl_scratch *scratch, size_t mark);
/* Releases everything and trims what is above `keep`. */
void sl_scratch_reset(sl_scratch *scratch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab: large anonymous memory for DMA and for reads.
 *
 * Purpose: one 2 MiB-aligned mapping with MADV_HUGEPAGE (best effort) and MADV_DONTFORK, charged to
 * a budget. Contiguous physical pages are worth 2x in read bandwidth on virtio disks, and a forked
 * child must never copy-on-write pages that a device writes to.
 * Invariants: base is 2 MiB-aligned, bytes a multiple of 2 MiB, contents zero at first.
 * Threads: open and close by the owner; the bytes are the owner's business.
 */
#ifndef SL_SLAB_H
#define SL_SLAB_H

#include "memory.h"

#include <sluice/common.h>

#define SL_SLAB_ALIGN ((size_t)2 << 20)

typedef struct sl_slab {
    uint8_t *base;
    size_t bytes;
    sl_budget *budget; /* charged; NULL: none */
} sl_slab;

/*
 * Maps at least `bytes` (rounded up), without touching them (populate.h). On failure the slab is
 * all zero, which sl_slab_close accepts. Errors: NOMEM.
 */
sluice_status sl_slab_open(sl_slab *slab, size_t bytes, sl_budget *budget, sluice_error *error);
/* Does the same for memory that no device writes to: a forked child keeps its contents. */
sluice_status sl_slab_open_plain(sl_slab *slab, size_t bytes, sl_budget *budget,
                                 sluice_error *error);
/* Unmaps; the slab is all zero afterwards. In a forked child the range is not mapped: call only
 * sl_slab_forget there. */
void sl_slab_close(sl_slab *slab);
/* Leaves the mapping in place forever (the kernel may still write to it) and forgets it. */
void sl_slab_forget(sl_slab *slab);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch: per-thread working memory, bump-allocated, reset for each image.
 *
 * Purpose: decoders and resamplers take their memory from here, so that steady state allocates
 * nothing. It keeps one mapping of `keep` bytes, and maps more for an unusually large image, which
 * the reset unmaps unless sl_scratch_keep allows to keep it; address space, too, is limited to what
 * an image needed. A mapping counts as an allocation (memory.h), memory taken from it does not.
 * Invariants: pointers are 64-byte aligned and valid until the next reset (or release to a mark);
 * at least 64 readable bytes follow each allocation. Whether a request exceeds the limit depends
 * only on the bytes taken since the reset, and no more than the limit is ever in memory. If the
 * system has no memory, that is a shortage (memory.h). Threads: one owner thread.
 */
#ifndef SL_SCRATCH_H
#define SL_SCRATCH_H

#include <sluice/common.h>

#include <stdbool.h>

/* Each chunk is at least half as large as all earlier ones together. */
enum { SL_SCRATCH_CHUNKS = 64 };

typedef struct sl_scratch_chunk {
    uint8_t *base;
    size_t bytes;
    size_t start; /* bytes used when it was begun */
} sl_scratch_chunk;

typedef struct sl_scratch {
    size_t limit, limit_most, keep_most;
    size_t used;    /* since the reset */
    size_t touched; /* of the first chunk, since it was mapped or its end was returned */
    uint32_t mapped, current;
    sl_scratch_chunk chunks[SL_SCRATCH_CHUNKS]; /* the first one is always kept */
} sl_scratch;

/* Opens scratch memory of at most `limit` bytes; the smaller of both is kept. Errors: NOMEM. */
sluice_status sl_scratch_open(sl_scratch *scratch, size_t limit, size_t keep, sluice_error *error);
/* Makes resets keep the mappings, as long as they are at most `most` bytes: otherwise each of
 * several equally large images would map, and clear, its pages again. */
void sl_scratch_keep(sl_scratch *scratch, size_t most);
void sl_scratch_close(sl_scratch *scratch);
/* Returns memory of undefined contents; NULL if the limit would be exceeded, or the system has no
 * more. */
void *sl_scratch_take(sl_scratch *scratch, size_t bytes);
size_t sl_scratch_mark(const sl_scratch *scratch);
void sl_scratch_release(sl_scratch *scratch, size_t mark);
/* Releases everything, and unmaps memory that is not kept. */
void sl_scratch_reset(sl_scratch *scratch);
/* Resets, and allows `bytes`, within open's limit, until it is bound again. */
void sl_scratch_bind(sl_scratch *scratch, uint64_t bytes);

#endif

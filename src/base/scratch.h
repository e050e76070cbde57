/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch: per-thread working memory, bump-allocated, reset for each picture.
 *
 * Purpose: decoders and resamplers take what they need from here, so that steady state allocates
 * nothing. It keeps one mapping of `keep` bytes, and maps more for an unusually large picture,
 * which the reset gives back unless sl_scratch_keep allows to keep it; of address space, too, there
 * is no more than a picture needed. What is mapped counts as an allocation (memory.h), what is in
 * it does not. Invariants:
 * pointers are 64-byte aligned and valid until the reset (or release to a mark) that follows; at
 * least 64 readable bytes follow each allocation. What is refused for the limit depends on what was
 * taken since the reset, and on nothing before; nor is more than the limit ever in memory. What the
 * system refuses is a shortage (memory.h). Threads: one owner thread.
 */
#ifndef SL_SCRATCH_H
#define SL_SCRATCH_H

#include <sluice/common.h>

#include <stdbool.h>

/* Each is half as large as all before it together, at least. */
enum { SL_SCRATCH_CHUNKS = 64 };

typedef struct sl_scratch_chunk {
    uint8_t *base;
    size_t bytes;
    size_t start; /* what was used when it was begun */
} sl_scratch_chunk;

typedef struct sl_scratch {
    size_t limit, limit_most, keep_most;
    size_t used;    /* since the reset */
    size_t touched; /* of the first chunk, since it was mapped, or its end given back */
    uint32_t mapped, current;
    sl_scratch_chunk chunks[SL_SCRATCH_CHUNKS]; /* the first one is always kept */
} sl_scratch;

/* At most `limit` bytes will be taken, the smaller of both is kept. Errors: NOMEM. */
sluice_status sl_scratch_open(sl_scratch *scratch, size_t limit, size_t keep, sluice_error *error);
/* From now on a reset keeps what is mapped, as long as that is at most `most` bytes: for pictures
 * one as large as the other, each of which would be mapped, and its pages cleared, anew. */
void sl_scratch_keep(sl_scratch *scratch, size_t most);
void sl_scratch_close(sl_scratch *scratch);
/* NULL when the limit would be passed, or the system has no more. Contents are undefined. */
void *sl_scratch_take(sl_scratch *scratch, size_t bytes);
size_t sl_scratch_mark(const sl_scratch *scratch);
void sl_scratch_release(sl_scratch *scratch, size_t mark);
/* Releases everything, and gives back what is not kept. */
void sl_scratch_reset(sl_scratch *scratch);
/* Resets, and lets it have `bytes`, as open's limit allows, until it is bound again. */
void sl_scratch_bind(sl_scratch *scratch, uint64_t bytes);

#endif

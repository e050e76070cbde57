/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend_parts: how one read of a remote object is cut into parts.
 *
 * Purpose: a read wants one or many byte ranges of an object, one after the other in its buffer. A
 * part is one range of the object that is fetched by one request, or from one chunk of the cache.
 * Ranges with small gaps share a part, which then has memory of its own and is copied out. Threads:
 * pure; the owner of the backend.
 */
#ifndef SL_BACKEND_PARTS_H
#define SL_BACKEND_PARTS_H

#include "backend.h"

/* A place in the ranges that a read wants. */
typedef struct sl_part_cursor {
    uint32_t piece, run; /* which range */
    uint32_t at;         /* bytes of it before the cursor */
    uint64_t to;         /* offset in the read's buffer */
} sl_part_cursor;

typedef struct sl_part_limits {
    uint64_t gap_bytes;   /* gaps up to this size are fetched, too */
    uint64_t most_bytes;  /* of a part with gaps */
    uint64_t chunk_bytes; /* no part crosses a multiple of this; 0: no limit */
} sl_part_limits;

typedef struct sl_part_range {
    sl_part_cursor from; /* the first wanted byte */
    uint64_t offset;     /* in the object */
    uint32_t bytes;      /* with gaps */
    uint32_t wanted;     /* without gaps; equal to `bytes` if there are none */
} sl_part_range;

/* True if the cursor is at the end of the read. */
bool sl_part_is_end(const sl_read *read, const sl_part_cursor *cursor);
/* Cuts the next part, and moves the cursor behind it. */
sl_part_range sl_part_next(const sl_read *read, sl_part_cursor *cursor,
                           const sl_part_limits *limits);
/* Copies the wanted bytes of a part with gaps, whose bytes are at `from`, to the read's buffer. */
void sl_part_scatter(const sl_read *read, const sl_part_range *range, const uint8_t *from);

#endif

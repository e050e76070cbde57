/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: one sample as it is stored: its bytes and its index entry.
 *
 * Purpose: checks a picture's header, packs raw pixels when asked for, sums it all up. The same for
 * the writer API and the pack pipeline, so that both give the same bytes; re-tiling comes before.
 * Ownership: image and key point to the caller's bytes or to `memory`; sl_record_close frees that.
 * Threads: pure.
 */
#ifndef SL_RECORD_H
#define SL_RECORD_H

#include "shard_format.h"

#include <stdbool.h>

/* A larger picture is refused, as by a loader with default options. */
#define SL_RECORD_PIXELS_MAX ((uint64_t)100000000)
#define SL_RECORD_IMAGE_MAX  ((uint64_t)1 << 30)

typedef struct sl_record_input {
    sl_bytes image;
    bool raw;               /* u8 RGB, width x height x 3 bytes */
    uint32_t width, height; /* raw only */
    int zstd_level;         /* 0: plain */
    int64_t label;
    const char *key;
} sl_record_input;

typedef struct sl_record {
    sl_bytes image, key;
    sl_entry entry; /* complete but for its offset */
    void *memory;
} sl_record;

/* Errors: CORRUPT, UNSUPPORTED (the picture); INVALID (sizes, key, label); NOMEM. */
sluice_status sl_record_make(sl_record *record, const sl_record_input *input, sluice_error *error);
/* A zeroed record may be closed. */
void sl_record_close(sl_record *record);

#endif

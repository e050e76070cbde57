/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: one sample as it is stored: its head and the blobs of its fields.
 *
 * Purpose: checks the values, packs as zstd frames what is to be, and sums it all up. The same for
 * the writer API and the pack pipeline, so that both give the same bytes; re-tiling comes before.
 * Ownership: blobs point to the caller's bytes or to `memory`, as does the head; sl_record_close
 * frees that. Threads: pure.
 */
#ifndef SL_RECORD_H
#define SL_RECORD_H

#include "shard_format.h"

#include <stdbool.h>

/* No frame is smaller than what is smaller than this. */
#define SL_RECORD_FRAME_MIN 64u

/* How samples are stored: the schema, and for each field the zstd level to try (0: plain). */
typedef struct sl_record_plan {
    const sl_schema *schema;
    int32_t levels[SL_FIELDS_MAX];
} sl_record_plan;

typedef struct sl_record {
    sl_bytes head;                 /* its checksum in place */
    sl_bytes blobs[SL_FIELDS_MAX]; /* by field; empty ones are none */
    uint32_t fields;
    uint64_t pictures; /* bit i: blob i is an encoded picture, which no frame makes smaller */
    uint64_t bytes;    /* of the whole */
    uint64_t checksum;
    uint32_t failed; /* after a failure: the field at fault; SL_FIELD_NONE */
    void *memory;
} sl_record;

/*
 * `values` are as they are meant, no frames; they become what is stored. Errors: CORRUPT,
 * UNSUPPORTED (a picture, sizes); INVALID (a value that is not of its field); NOMEM.
 */
sluice_status sl_record_make(sl_record *record, const sl_record_plan *plan, sl_values *values,
                             sluice_error *error);
/* Copies head and blobs, back to back, to `to` (record->bytes). */
void sl_record_copy(const sl_record *record, uint8_t *to);
/* A zeroed record may be closed. */
void sl_record_close(sl_record *record);

#endif

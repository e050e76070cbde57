/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: one sample in stored form: its head and the blobs of its fields.
 *
 * Purpose: checks the values, packs them as zstd frames if planned, and computes the checksum.
 * Shared by the writer API and packs, so that both give the same bytes; re-tiling happens before.
 * Ownership: blobs point to the caller's bytes or to `memory`, as does the head; sl_record_close
 * frees that. Threads: pure.
 */
#ifndef SL_RECORD_H
#define SL_RECORD_H

#include "shard_format.h"

#include <stdbool.h>

/* Smaller data never becomes smaller as a frame. */
#define SL_RECORD_FRAME_MIN 64u

/* How samples are stored: the schema, and for each field the zstd level to try (0: plain). */
typedef struct sl_record_plan {
    const sl_schema *schema;
    int32_t levels[SL_FIELDS_MAX];
} sl_record_plan;

typedef struct sl_record {
    sl_bytes head;                 /* with its checksum */
    sl_bytes blobs[SL_FIELDS_MAX]; /* by field; may be empty */
    uint32_t fields;
    uint64_t pictures; /* bit i: blob i is an encoded image, which frames never make smaller */
    uint64_t bytes;    /* total size */
    uint64_t checksum;
    uint32_t failed; /* after a failure: the field at fault; SL_FIELD_NONE */
    void *memory;
} sl_record;

/*
 * Makes the record of `values`, which are unpacked, without frames; they are replaced by the stored
 * ones. Errors: CORRUPT, UNSUPPORTED (an image, sizes); INVALID (a value that does not fit its
 * field); NOMEM.
 */
sluice_status sl_record_make(sl_record *record, const sl_record_plan *plan, sl_values *values,
                             sluice_error *error);
/* Copies head and blobs, back to back, to `to` (record->bytes). */
void sl_record_copy(const sl_record *record, uint8_t *to);
/* Releases `record`, which may be zeroed. */
void sl_record_close(sl_record *record);

#endif

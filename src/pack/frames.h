/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames: decides which fields are stored as zstd frames.
 *
 * Purpose: options decide most fields. The others are measured on the first samples in writing
 * order, so that neither the number of workers nor an interruption changes the result. A field that
 * frames shrink by at least a quarter gets them; otherwise it is plain, which readers can rely on.
 * Threads: one owner.
 */
#ifndef SL_FRAMES_H
#define SL_FRAMES_H

#include "record.h"

#define SL_FRAMES_LEVEL       3 /* default level */
#define SL_FRAMES_SAMPLES_MAX 64u
#define SL_FRAMES_BYTES_MAX   ((uint64_t)4 << 20)

/*
 * Sets plan->levels from the fields' compression and `zstd_level` (of sluice_writer_options), and
 * returns the set of fields to be measured, which are plain for now.
 */
uint64_t sl_frames_ask(sl_record_plan *plan, int32_t zstd_level);

typedef struct sl_frames {
    uint64_t open; /* fields to decide on */
    uint64_t samples, bytes;
    uint64_t plain[SL_FIELDS_MAX], packed[SL_FIELDS_MAX]; /* sizes in bytes */
    void *memory;                                         /* owned */
    size_t capacity;
} sl_frames;

/* Adds a record that is plain in the open fields. Errors: NOMEM. */
sluice_status sl_frames_add(sl_frames *frames, const sl_record *record, sluice_error *error);
static inline bool sl_frames_have_enough(const sl_frames *frames)
{
    return frames->samples >= SL_FRAMES_SAMPLES_MAX || frames->bytes >= SL_FRAMES_BYTES_MAX;
}
/* Returns the set of fields for which frames pay. */
uint64_t sl_frames_decide(const sl_frames *frames);
/* Returns the size of the samples so far, with frames in the fields of the set `paying`. */
uint64_t sl_frames_bytes(const sl_frames *frames, uint64_t paying);
/* Releases `frames`, which may be zeroed. */
void sl_frames_close(sl_frames *frames);

/*
 * Sets the levels of the open fields, and the decision for each field of `schema` (plan->schema):
 * NEVER or ALWAYS.
 */
void sl_frames_settle(sl_record_plan *plan, sl_schema *schema, uint64_t open, uint64_t paying);

#endif

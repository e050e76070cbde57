/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames: which fields are stored as zstd frames.
 *
 * Purpose: what was asked for settles most fields; the others are measured on the first samples, in
 * the order in which samples are written, so that neither the number of workers nor a run that was
 * interrupted can change what comes out. A field that frames make smaller by a quarter gets them;
 * one that they do not is plain, which readers can count on.
 * Threads: one owner.
 */
#ifndef SL_FRAMES_H
#define SL_FRAMES_H

#include "record.h"

#define SL_FRAMES_LEVEL       3 /* where none was asked for */
#define SL_FRAMES_SAMPLES_MAX 64u
#define SL_FRAMES_BYTES_MAX   ((uint64_t)4 << 20)

/*
 * Sets plan->levels from the fields' compression and `zstd_level` (of sluice_writer_options), and
 * gives back the set of the fields that must be measured: they are plain so far.
 */
uint64_t sl_frames_ask(sl_record_plan *plan, int32_t zstd_level);

typedef struct sl_frames {
    uint64_t open; /* the fields to decide on */
    uint64_t samples, bytes;
    uint64_t plain[SL_FIELDS_MAX], packed[SL_FIELDS_MAX]; /* bytes */
    void *memory;                                         /* owned */
    size_t capacity;
} sl_frames;

/* Takes in a record that is plain but for what was settled. Errors: NOMEM. */
sluice_status sl_frames_add(sl_frames *frames, const sl_record *record, sluice_error *error);
static inline bool sl_frames_have_enough(const sl_frames *frames)
{
    return frames->samples >= SL_FRAMES_SAMPLES_MAX || frames->bytes >= SL_FRAMES_BYTES_MAX;
}
/* The set of those for which frames pay. */
uint64_t sl_frames_decide(const sl_frames *frames);
/* What the samples so far take with frames in the fields of the set `paying`. */
uint64_t sl_frames_bytes(const sl_frames *frames, uint64_t paying);
/* A zeroed one may be closed. */
void sl_frames_close(sl_frames *frames);

/* Sets the levels of the open fields, and each field of `schema`, plan->schema, to what became of
 * it: NEVER or ALWAYS. */
void sl_frames_settle(sl_record_plan *plan, sl_schema *schema, uint64_t open, uint64_t paying);

#endif

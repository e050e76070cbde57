/* SPDX-License-Identifier: Apache-2.0 */
/* pack_state: a pack under way, and the parts of pack.c that look at what is there before it
 * begins. Private to pack*.c. */
#ifndef SL_PACK_STATE_H
#define SL_PACK_STATE_H

#include "journal.h"
#include "pack.h"
#include "pack_job.h"
#include "series.h"

typedef struct sl_pack_state {
    const sl_dataset *dataset;
    const sluice_pack_options *options;
    sl_output output;
    sl_journal journal;
    sl_series series;
    sl_prepare *prepare;
    sl_pack_job_config job; /* prepare's */
    sl_record_plan plan;
    uint64_t open; /* fields of which it is not settled how they are stored */
    uint64_t pack_id;
    sl_journal_begin begin;
    uint64_t reported_ns;
    uint64_t resumed_samples;
    uint64_t jpegs[SL_JPEG_OUTCOMES]; /* written */
    uint64_t jpeg_bytes_before, jpeg_bytes_after;
    uint64_t decoded, decoded_bytes_before, decoded_bytes_after;
    uint64_t resized, resized_bytes_before, resized_bytes_after;
} sl_pack_state;

/* The folder has a manifest: done already, when it is this pack's; else STATE. */
sluice_status sl_pack_take_finished(const sl_pack_state *p, sluice_pack_result *result,
                                    sluice_error *error);

#endif

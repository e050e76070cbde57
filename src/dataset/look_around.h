/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_around: looks at some samples while a dataset is opened.
 *
 * Purpose: formats whose files have no schema find their fields this way. The dataset already has
 * its ops, objects and info.samples. Threads: the one that opens. Memory: one sample at a time.
 */
#ifndef SL_LOOK_AROUND_H
#define SL_LOOK_AROUND_H

#include "dataset.h"

/* Looks at the stored bytes of a sample. Offsets in a refusal count from the first byte. */
typedef sl_refusal (*sl_sample_look)(void *ctx, const sl_sample *sample, sl_bytes bytes);

/* Reads one sample and looks at it. Errors: IO, CORRUPT, UNSUPPORTED (too large), NOMEM. */
sluice_status sl_look_at_sample(const sl_dataset *dataset, uint64_t index, sl_sample_look look,
                                void *ctx, sluice_error *error);
/*
 * Looks at 64 samples, evenly spread, including the first and the last. Skips bad samples, unless
 * all are bad: then returns the first one's error. An unreadable sample ends it (IO).
 */
sluice_status sl_look_around(const sl_dataset *dataset, sl_sample_look look, void *ctx,
                             sluice_error *error);

#endif

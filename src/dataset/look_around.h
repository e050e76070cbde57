/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_around: what samples hold, by some of them, while a dataset is opened.
 *
 * Purpose: formats whose files have no schema find their fields by that. The dataset has its ops,
 * objects and info.samples by now. Threads: the one that opens. Memory: one sample at a time.
 */
#ifndef SL_LOOK_AROUND_H
#define SL_LOOK_AROUND_H

#include "dataset.h"

/* Looks at the stored bytes of a sample. A refusal's offset counts from the first of them. */
typedef sl_refusal (*sl_sample_look)(void *ctx, const sl_sample *sample, sl_bytes bytes);

/* Reads one sample and looks at it. Errors: IO, CORRUPT, UNSUPPORTED (too large), NOMEM. */
sluice_status sl_look_at_sample(const sl_dataset *dataset, uint64_t index, sl_sample_look look,
                                void *ctx, sluice_error *error);
/* At 64 samples, over all of them, the first and the last included. Bad ones tell nothing, unless
 * all are: then the error is the first one's; one that cannot be read ends it (IO). */
sluice_status sl_look_around(const sl_dataset *dataset, sl_sample_look look, void *ctx,
                             sluice_error *error);

#endif

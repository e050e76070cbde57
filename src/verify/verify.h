/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: reads a whole dataset and checks everything that can be checked.
 *
 * Purpose: first every file (headers, index, metadata), then every sample (checksum, image header,
 * sizes against the index; if requested, the pixels, and the contents of frames in other fields),
 * in parallel. A finding never stops it. Threads: options.workers of its own; on_finding is called
 * under a lock, on_progress by the caller's thread.
 */
#ifndef SL_VERIFY_H
#define SL_VERIFY_H

#include "dataset.h"

/*
 * Scope of the check: everything; or only that a copy is as it was written, not that its source is
 * consistent.
 */
typedef enum sl_verify_scope { SL_VERIFY_ALL, SL_VERIFY_COPY } sl_verify_scope;

/*
 * Verifies a dataset. `options` has its full size, with workers and parts >= 1. Returns OK with
 * findings too. Errors: NOMEM, CANCELED (should_stop). A shard that cannot be opened or trusted is
 * one finding, and its samples are not checked; neither are those whose index block is damaged or
 * unreadable. Samples that were not checked are one more finding.
 */
sluice_status sl_verify(const sl_dataset *dataset, const sluice_verify_options *options,
                        sl_verify_scope scope, sluice_verify_result *result, sluice_error *error);

#endif

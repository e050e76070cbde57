/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: reads a whole dataset and checks all that can be checked.
 *
 * Purpose: first every file (headers, index, metadata), then every sample (checksum, picture
 * header, sizes against the index; when asked for the pixels, and what frames of other fields
 * hold), in parallel. A finding never stops it. Threads: options.workers of its own; on_finding is
 * called under a lock, on_progress by the caller's thread.
 */
#ifndef SL_VERIFY_H
#define SL_VERIFY_H

#include "dataset.h"

/* What is checked: all; or that a copy is as it was written, and not whether what it was made of
 * fits together. */
typedef enum sl_verify_scope { SL_VERIFY_ALL, SL_VERIFY_COPY } sl_verify_scope;

/*
 * `options` is full-size; workers, parts >= 1. OK with findings too; errors: NOMEM, CANCELED
 * (should_stop). A shard that cannot be
 * opened or trusted is one finding, and its samples are not looked at, nor those whose index block
 * was found damaged, or could not be read. That some were not is one more.
 */
sluice_status sl_verify(const sl_dataset *dataset, const sluice_verify_options *options,
                        sl_verify_scope scope, sluice_verify_result *result, sluice_error *error);

#endif

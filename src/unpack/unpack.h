/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack: a dataset in, files or tars out.
 *
 * Purpose: the sluice_unpack of unpack.h: prepare.h's threads read, check and make files of
 * samples' fields (members.h) in parallel, the calling thread names them (sample_names.h) and
 * writes them in order, into a folder that appears whole or not at all (target.h).
 * Threads: the caller's, and prepare's own.
 */
#ifndef SL_UNPACK_H
#define SL_UNPACK_H

#include "dataset.h"

#include <sluice/unpack.h>

/* `options` is full-size, its defaults filled in (workers, shard_bytes). Errors: see unpack.h of
 * the public headers. */
sluice_status sl_unpack(const sl_dataset *dataset, const char *path,
                        const sluice_unpack_options *options, sluice_unpack_result *result,
                        sluice_error *error);

#endif

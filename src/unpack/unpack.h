/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack: writes a dataset to files or tars.
 *
 * Purpose: the sluice_unpack of unpack.h. The threads of prepare.h read and check samples and make
 * files of their fields (members.h) in parallel. The calling thread names them (sample_names.h) and
 * writes them in order, into a folder that appears whole or not at all (target.h). Threads: the
 * caller's, and prepare's own.
 */
#ifndef SL_UNPACK_H
#define SL_UNPACK_H

#include "dataset.h"

#include <sluice/unpack.h>

/*
 * `options` has its full size, with defaults applied (workers, shard_bytes). Errors: as in the
 * public unpack.h.
 */
sluice_status sl_unpack(const sl_dataset *dataset, const char *path,
                        const sluice_unpack_options *options, sluice_unpack_result *result,
                        sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: writes a dataset to shards.
 *
 * Purpose: the pack of writer.h. The threads of prepare.h read and check in parallel; the calling
 * thread writes in order. Complete shards allow a later call to resume after a kill at any point.
 * Everything written is read back before the manifest appears. Several processes can each do a
 * part; the last one joins them. Threads: the caller's, and prepare's and verify's own.
 */
#ifndef SL_PACK_H
#define SL_PACK_H

#include "class_union.h"
#include "dataset.h"

#include <sluice/writer.h>

#define SL_PACK_PARTS_MAX 65535u

/*
 * `options` has its full size, with defaults applied (workers, parts); `labels` is the parsed form
 * of its labels; NULL: none. Errors: see writer.h.
 */
sluice_status sl_pack(const sl_dataset *dataset, const char *path,
                      const sluice_pack_options *options, const sl_class_request *labels,
                      sluice_pack_result *result, sluice_error *error);

/* Errors: see writer.h. */
sluice_status sl_pack_join(const char *path, sluice_pack_result *result, sluice_error *error);

#endif

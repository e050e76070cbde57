/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: a dataset in, shards out.
 *
 * Purpose: the pack of writer.h: prepare.h's threads read and check in parallel, the calling thread
 * writes in order; complete shards let a later call go on after a kill at any point; what was
 * written is read back before the manifest appears. Several processes can do a part each; the last
 * one puts them together.
 * Threads: the caller's, and prepare's and verify's own.
 */
#ifndef SL_PACK_H
#define SL_PACK_H

#include "class_union.h"
#include "dataset.h"

#include <sluice/writer.h>

#define SL_PACK_PARTS_MAX 65535u

/* `options` is full-size, its defaults filled in (workers, parts), and `labels` what its labels
 * say; NULL: nothing. Errors: see writer.h. */
sluice_status sl_pack(const sl_dataset *dataset, const char *path,
                      const sluice_pack_options *options, const sl_class_request *labels,
                      sluice_pack_result *result, sluice_error *error);

/* Errors: see writer.h. */
sluice_status sl_pack_join(const char *path, sluice_pack_result *result, sluice_error *error);

#endif

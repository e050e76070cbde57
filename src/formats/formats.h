/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats: the table of formats, and which of them a path has.
 *
 * A format is a buffer of this folder, which knows no other, and one row of the table. Threads:
 * any.
 */
#ifndef SL_FORMATS_H
#define SL_FORMATS_H

#include "dataset.h"

/* Probes the table in order and opens. `options` is full-size, not NULL. */
sluice_status sl_dataset_open(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error);
/* Row `index` of the table; NULL: there are no more. */
const sl_format *sl_format_at(uint32_t index);

#endif

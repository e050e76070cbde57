/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats: the table of formats, and the search for a path's format.
 *
 * A format is a folder beside this file, which knows no other format, and one row of the table.
 * Threads: any.
 */
#ifndef SL_FORMATS_H
#define SL_FORMATS_H

#include "dataset.h"

/*
 * Asks the formats in table order and opens the dataset. `options` has its full size and is not
 * NULL.
 */
sluice_status sl_dataset_open(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error);
/* Returns row `index` of the table; NULL: past the last row. */
const sl_format *sl_format_at(uint32_t index);

#endif

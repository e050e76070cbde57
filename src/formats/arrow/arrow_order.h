/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_order: the rows of a dataset after filter, select or shuffle, in order.
 *
 * Purpose: Hugging Face's datasets then do not write the rows again, but a table with one column of
 * row numbers, "indices". Threads: pure. Memory: 8 bytes per sample.
 */
#ifndef SL_ARROW_ORDER_H
#define SL_ARROW_ORDER_H

#include "arrow_paths.h"

#include <stdint.h>

/*
 * Sets `*order` (sl_free) to the row of each of `*samples`; NULL: each of `rows` rows once. Sets
 * files[i].first of the paths. Errors: those of reading; CORRUPT (a row out of range, not such a
 * table); NOMEM.
 */
sluice_status sl_arrow_order_read(const sl_arrow_paths *paths, uint64_t rows, uint64_t **order,
                                  uint64_t *samples, sluice_error *error);

#endif

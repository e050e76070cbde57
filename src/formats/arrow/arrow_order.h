/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_order: which rows, in which order, a dataset has that filter, select or shuffle left.
 *
 * Purpose: Hugging Face's datasets do not write rows anew then, but a table with one column of row
 * numbers, "indices". Threads: pure. Memory: 8 bytes a sample.
 */
#ifndef SL_ARROW_ORDER_H
#define SL_ARROW_ORDER_H

#include "arrow_paths.h"

#include <stdint.h>

/* `*order` (sl_free): the row of each of `*samples`; NULL: each row once, of which there are
 * `rows`. files[i].first of the paths are filled in. Errors: those of reading; CORRUPT (a row that
 * there is not, no such table); NOMEM. */
sluice_status sl_arrow_order_read(const sl_arrow_paths *paths, uint64_t rows, uint64_t **order,
                                  uint64_t *samples, sluice_error *error);

#endif

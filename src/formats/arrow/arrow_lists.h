/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_lists: measures the lists of image columns.
 *
 * Purpose: each position in a list of images is a field (docs/formats.md), up to the length of the
 * longest list. Opening reads the offsets to find it. Threads: one owner.
 */
#ifndef SL_ARROW_LISTS_H
#define SL_ARROW_LISTS_H

#include "arrow_columns.h"
#include "arrow_file.h"

/* Finds the number of elements of a column's longest list in a file. Errors: those of reading. */
sluice_status sl_arrow_lists_measure(const sl_arrow_file *file, const char *path,
                                     const sl_arrow_column *column, uint32_t *longest,
                                     sluice_error *error);

#endif

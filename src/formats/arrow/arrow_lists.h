/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_lists: how many pictures the lists of a column have.
 *
 * Purpose: each place of a list of pictures is a field (docs/formats.md): as many as the longest
 * list has. Their offsets are read for that when a dataset is opened. Threads: one owner.
 */
#ifndef SL_ARROW_LISTS_H
#define SL_ARROW_LISTS_H

#include "arrow_columns.h"
#include "arrow_file.h"

/* Elements of the longest list that a file has in a column. Errors: those of reading. */
sluice_status sl_arrow_lists_measure(const sl_arrow_file *file, const char *path,
                                     const sl_arrow_column *column, uint32_t *longest,
                                     sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizes: images, and columns with a value for each pixel of one, whose size is not that of the
 * recipe: the batch's bucket's, or each row's own.
 *
 * Purpose: rows of several sizes are padded to the batch's largest, or stand back to back. Each row
 * is made where the largest possible one fits; `finish` moves them to where they belong. Rows of a
 * bucket are made in place.
 * Units: pixel_bytes are all of a pixel's values; sizes are height, width.
 * Threads: those of the row; `finish` runs on the thread that made the slot's last row.
 */
#ifndef SL_SIZES_H
#define SL_SIZES_H

#include "row.h"

/* Once: finds the space of an IMAGE of several sizes that its request leaves open, by the sizes of
 * the field's images and its recipe. INVALID: nothing bounds them; IO, NOMEM. */
sluice_status sl_column_settle_space(sl_column *column, const sl_column_set *set,
                                     sluice_error *error);
/* Once: adds the parts of an IMAGE or MASK of several sizes in a batch; `rows` is the part of its
 * pixels, and column->pixel_bytes is known. */
sluice_status sl_column_bind_sizes(sl_column *column, sl_column_set *set, sl_part *rows,
                                   sluice_error *error);
/* Once: adds the part of a column with `channels` values [1] for each pixel of its image. */
sluice_status sl_column_bind_pixels(sl_column *column, sl_column_set *set, uint32_t channels,
                                    sluice_error *error);
/* Fills `bytes` with the value outside an image: the fill of a MASK, else 0. */
void sl_column_fill_pixels(const sl_column *column, uint8_t *to, uint64_t bytes);

/* Returns where the row's pixels begin, in a batch of that bucket. */
uint8_t *sl_column_picture_row(const sl_column *column, sl_part_view parts, const sl_row_place *at);
/* Notes the size that the row is made in. UNSUPPORTED: it does not fit. */
sluice_status sl_column_note_size(const sl_column *column, sl_part_view parts, uint32_t number,
                                  const sl_params *params, sluice_error *error);
/* Fills a row of the recipe's size, or of the batch's bucket, as fill_pixels does. */
void sl_column_fill_row(const sl_column *column, const sl_row_place *at, sl_part_view parts);
void sl_column_blank_size(const sl_column *column, sl_part_view parts, uint32_t number);
/* `blank` and `finish` of columns with a value for each pixel. */
void sl_column_blank_pixels(const sl_column *column, const sl_row_place *at, sl_part_view parts);
void sl_column_finish_sizes(const sl_column *column, uint32_t rows, sl_part_view parts,
                            uint64_t *sizes);

#endif

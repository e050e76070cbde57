/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_image: an image column for other files: its parts, and the two halves of making a row,
 * decoding and augmenting, for code that decodes for several columns at once (shared_picture.h).
 *
 * Threads: leave_bytes before rows are made; the rest by the worker that makes the row.
 */
#ifndef SL_COLUMN_IMAGE_H
#define SL_COLUMN_IMAGE_H

#include "apply.h"
#include "row.h"

/* Returns the converter that makes rows of an IMAGE. */
const sl_converter *sl_column_converter(const sl_column *column);
/* Makes workers leave bytes of an image, which a device will convert and mix, with flags and the
 * mixing in later parts (SL_IMAGE_*). Before rows are made. */
void sl_columns_leave_bytes(sl_column_set *set, sl_column *picture);

/* Finds how small the image may be decoded for a program: 0 x 0 for full size. */
void sl_column_image_least(const sl_row *row, const sl_params *params, uint32_t *width,
                           uint32_t *height);
/* Makes the row of a view that covers what its program needs. */
sluice_status sl_column_image_finish(const sl_column *column, sl_row *row, sl_part_view parts,
                                     const sl_image *view, sluice_error *error);

#endif

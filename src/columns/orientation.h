/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orientation: the orientation in which an image is decoded, and the turns that fit annotations to
 * it.
 *
 * Purpose: a dataset annotates an image as stored, or upright, or as its annotated size shows.
 * Bound once for each group; then decided for each image, between its header and its draw.
 *
 * Threads: bound by the opener; the rest by the worker that makes the row. Memory: none.
 */
#ifndef SL_ORIENTATION_H
#define SL_ORIENTATION_H

#include "group.h"

/* Once all columns are bound: finds the orientation in which images are decoded, and the columns to
 * turn. */
void sl_orientation_bind(sl_column_set *set, const sl_columns_config *config);
/* Decides the orientation of the image in the decoder, and its size then, for a lead that
 * `orients`. CORRUPT: the stored and annotated sizes do not fit, or leave it open. */
sluice_status sl_group_orient(const sl_column *lead, sl_row *row, sl_picture *picture,
                              sluice_error *error);
/* Returns the turn of the column's values; its size is that of the image as annotated. */
sl_turn sl_column_turn(const sl_column *column, const sl_row *row);
/* Finds the same for a mask of width x height, by its own size if nothing else decides it. False:
 * its image has no such size. */
bool sl_column_turn_mask(const sl_column *column, const sl_row *row, uint64_t width,
                         uint64_t height, sl_turn *turn);

#endif

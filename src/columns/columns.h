/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns: from the fields of a sample to the arrays of a batch. The entrance of this module.
 *
 * Purpose: the requests (sluice/columns.h) are bound to the fields of a dataset once, which gives
 * the parts of a batch (base/parts.h); then workers make rows.
 * Walk of one row: unpacked values -> each column makes its row, in turn: images are decoded and
 * augmented, numbers and tensors copied or cast, texts copied -> when all rows of a slot are made,
 * columns that have something to finish do so (ragged ones move their values together).
 *
 * Files, from the top down. Each includes and calls only files below it, except through the table
 * of functions of a kind (tests/tidy checks both).
 *
 *   columns       binds a set                  columns_make    makes, blanks and finishes rows
 *     shared_picture  several views of one image, decoded once
 *     group_draw      draws a group, moves its boxes          natural_columns, shared_draws
 *     column_x        one kind each; column_boxes also reads boxes for a draw (box_shapes)
 *     meeting         rows that are mixed                     watch, meaning
 *     composition     rows of several samples
 *     paste           objects over other images
 *     packed_media    the second field of packed documents
 *     sizes  lengths  rows of several sizes; of any length
 *     elements        dtypes, casts, shapes                   orientation
 *     draw_memory     the memory of a worker's draws
 *     group           who leads, who follows
 *     row             a row in the making, its values
 *     column          a kind, a column, a set                 facts
 *     boxes  cast  notices
 *
 * Threads: a set is immutable once bound; a row belongs to one worker; workers make different rows
 * of a slot at the same time. Memory: all of the row's own; kinds take scratch from the row's
 * decoder.
 */
#ifndef SL_COLUMNS_H
#define SL_COLUMNS_H

#include "column.h"
#include "column_image.h"
#include "composition.h"
#include "group_draw.h"
#include "meeting.h"
#include "notices.h"
#include "row.h"
#include "subvolume.h"

/* True if there is a kind of that number, a sluice_column_kind. */
bool sl_columns_have_kind(int64_t kind);
/* Binds requests to fields. Errors: INVALID (no such field, a name twice, a kind that does not take
 * the field, ...), NOMEM.
 */
sluice_status sl_columns_bind(sl_column_set *set, const sl_columns_config *config,
                              sluice_error *error);
/* A zeroed set may be closed. */
void sl_columns_close(sl_column_set *set);

/* Returns the bytes of a row: of all parts, of a column's parts; and the column with the most. */
uint64_t sl_columns_row_bytes(const sl_column_set *set);
uint64_t sl_column_row_bytes(const sl_column_set *set, const sl_column *column);
const sl_column *sl_columns_largest(const sl_column_set *set);
/* Returns the column of image `picture`, 0 .. pictures - 1. */
sl_column *sl_columns_picture(const sl_column_set *set, uint32_t picture);
/* Opens a worker's row, whose draws the caller has allocated, one for each group: lists of boxes
 * and canvases. NOMEM. A zeroed row may be closed. */
sluice_status sl_row_open(const sl_column_set *set, sl_row *row, sluice_error *error);
void sl_row_close(const sl_column_set *set, sl_row *row);
/* Makes row->values unpack bytes that a column wants unconverted into its part. Before they are
 * unpacked. */
void sl_columns_wish(const sl_column_set *set, sl_row *row, sl_part_view parts);
/* Makes the unpacked member's (row->member) share of row row->at.number. Members come in order. <
 * 0: the sample is bad; row->blame is the value at fault. */
sluice_status sl_columns_make(const sl_column_set *set, sl_row *row, sl_part_view parts,
                              sluice_error *error);
/* Ends a row whose members were all made: facts, and mixing. */
void sl_columns_end(const sl_column_set *set, sl_row *row, sl_part_view parts);
/* Makes a row that holds no sample. */
void sl_columns_blank(const sl_column_set *set, const sl_row_place *at, sl_part_view parts);
/* True if the set takes nothing but parts of tensors, one of each field, and some are smaller than
 * their tensor. Finds these parts, except for the seed. */
bool sl_columns_take_parts(const sl_column_set *set, sl_subvolumes *parts);
/* Finishes a batch of that bucket whose rows are all made. */
void sl_columns_finish(const sl_column_set *set, uint32_t rows, uint32_t bucket, sl_part_view parts,
                       uint64_t sizes[SL_RAGGED_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lengths: rows of any length, ragged or padded, and the boxes that their values belong to.
 *
 * Purpose: ragged rows are adjacent, with offsets; a padded row has a length, and zeros after its
 * values. A ragged row is made at row number x capacity, and its length is kept in the next row's
 * offset; `finish` sums up the lengths and moves the rows together. A column whose rows belong to
 * boxes (`owner`) has a value for each stored box, and keeps those whose boxes are kept. A row of
 * several members appends each member's values. Units: lengths are in steps along the first
 * dimension; a step has `elements`. Threads: those of the row; `finish` runs on the thread that
 * made the slot's last row.
 */
#ifndef SL_LENGTHS_H
#define SL_LENGTHS_H

#include "row.h"

/* Once: adds the parts of a column of values of any length, and finds the default of its length. */
sluice_status sl_column_bind_lengths(sl_column *column, sl_column_set *set, bool padded,
                                     sluice_error *error);
/* Once: makes two neighbouring parts of a column: adjacent rows, and their offsets. The caller
 * fills in the rest of `values`, element_bytes included. INVALID: too many parts. */
sluice_status sl_column_join_parts(const sl_column *column, sl_column_set *set, sl_part *values,
                                   sl_part *offsets, sluice_error *error);
/* `finish` of such parts; `number`: the first one's, in the column. Turns the lengths, kept in the
 * offsets, into offsets. */
void sl_column_join_rows(const sl_column *column, uint32_t number, uint32_t rows,
                         sl_part_view parts, uint64_t *sizes);
/* `blank` and `finish` of kinds with lengths, by request.padded. */
void sl_column_blank_lengths(const sl_column *column, const sl_row_place *at, sl_part_view parts);
void sl_column_finish_lengths(const sl_column *column, uint32_t rows, sl_part_view parts,
                              uint64_t *sizes);

/* Returns the number of values that earlier members gave the row; and that row `number` has. */
uint64_t sl_column_given(const sl_column *column, const sl_row *row, sl_part_view parts);
uint64_t sl_column_length(const sl_column *column, sl_part_view parts, uint32_t number);
/* Sets the length of row `number`, and zeros the rest of a padded row. */
void sl_column_set_length(const sl_column *column, sl_part_view parts, uint32_t number, bool padded,
                          uint64_t length);
/* Limits `*length` to the row's capacity, if the column truncates; else UNSUPPORTED. */
sluice_status sl_column_limit_length(const sl_column *column, uint64_t *length,
                                     sluice_error *error);

/* Returns the boxes that the rows of the column's value belong to. */
const sl_box_list *sl_column_owner(const sl_column *column, const sl_row *row);
/* Checks the number of values. CORRUPT: it differs from the number of boxes. */
sluice_status sl_column_check_owned(const sl_column *column, const sl_box_list *list,
                                    uint64_t length, sluice_error *error);
/* Writes values after those of earlier members: all, or those whose boxes are kept. `*length`:
 * stored values, then the row's. */
sluice_status sl_column_take_values(const sl_column *column, const sl_row *row, sl_part_view parts,
                                    const uint8_t *from, uint64_t *length, sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_mask: which stored elements of a document are trained, from another field.
 *
 * Purpose: the field is a tensor [any] of ints or bools, one for each stored element, 0: not
 * trained; or a tensor [any, 2] of ints, the runs [begin, end) of trained ones, in order and
 * disjoint. Owner thread: the worker that makes the row. Memory: the decoder's scratch, from
 * sl_packed_mask_open until it is reset. Units: elements. Errors: CORRUPT, with the numbers;
 * UNSUPPORTED: a number that is not an i64. They blame the field.
 */
#ifndef SL_PACKED_MASK_H
#define SL_PACKED_MASK_H

#include "row.h"

typedef struct sl_packed_mask {
    const sl_beside *field;
    const uint8_t *numbers; /* as stored */
    uint64_t runs;          /* of a field of runs */
} sl_packed_mask;

static inline bool sl_packed_mask_is_asked(const sl_column *column)
{
    return column->mask.number != SL_FIELD_NONE;
}

/* Once: checks the form of the field. INVALID: it is not that of a mask. */
sluice_status sl_packed_mask_bind(const sl_column *column, sluice_error *error);
/* Reads the mask of a document of `stored` elements, and checks all runs. */
sluice_status sl_packed_mask_open(const sl_column *column, sl_row *row, uint64_t stored,
                                  sl_packed_mask *mask, sluice_error *error);
/* Writes 1 for each of the stored elements [first, first + count) that is trained, else 0. */
sluice_status sl_packed_mask_write(const sl_packed_mask *mask, sl_row *row, uint64_t first,
                                   uint64_t count, uint8_t *to, sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of any length: bytes, texts, tensors whose first dimension varies; ragged or padded. On
 * the worker that makes the row.
 */
#include "elements.h"
#include "group.h"
#include "kinds.h"
#include "lengths.h"
#include "watch.h"

/* Binds a column whose rows may belong to boxes. */
static sluice_status column_ragged_bind(sl_column *column, sl_column_set *set, bool padded,
                                        sluice_error *error)
{
    sluice_status status =
        column->request.follows[0] != '\0' ? sl_column_follow(set, column, true, error) : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = sl_column_bind_lengths(column, set, padded, error);
    }
    if (status == SLUICE_OK && column->lead != SL_COLUMN_NONE && column->owner == SL_COLUMN_NONE) {
        return sl_column_refuse(
            column, error,
            "it can follow only a column of boxes, whose dropped boxes drop their values");
    }
    return status;
}

static sluice_status bind_ragged(sl_column *column, sl_column_set *set, sluice_error *error)
{
    return column_ragged_bind(column, set, false, error);
}

static sluice_status bind_padded(sl_column *column, sl_column_set *set, sluice_error *error)
{
    column->request.padded = true;
    return column_ragged_bind(column, set, true, error);
}

/* Writes the values; `*length` in steps. */
static sluice_status make_values(const sl_column *column, sl_row *row, sl_part_view parts,
                                 uint64_t *length, sluice_error *error)
{
    sl_bytes bytes;
    uint64_t elements = 0;
    const sluice_status status = sl_column_tensor_bytes(column, row, &elements, &bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    *length = elements / column->elements;
    sl_watch_length(column, row, *length);
    return sl_column_take_values(column, row, parts, bytes.data, length, error);
}

static sluice_status make_ragged(const sl_column *column, sl_row *row, sl_part_view parts,
                                 sluice_error *error)
{
    uint64_t length = 0;
    const sluice_status status = make_values(column, row, parts, &length, error);
    if (status == SLUICE_OK) {
        sl_column_set_length(column, parts, row->at.number, false, length);
    }
    return status;
}

static sluice_status make_padded(const sl_column *column, sl_row *row, sl_part_view parts,
                                 sluice_error *error)
{
    uint64_t length = 0;
    const sluice_status status = make_values(column, row, parts, &length, error);
    if (status == SLUICE_OK) {
        sl_column_set_length(column, parts, row->at.number, true, length);
    }
    return status;
}

const sl_column_kind sl_column_ragged = {.name = "ragged",
                                         .takes =
                                             SL_TAKES(BYTES) | SL_TAKES(TEXT) | SL_TAKES(TENSOR),
                                         .per_box = true,
                                         .bind = bind_ragged,
                                         .make = make_ragged,
                                         .blank = sl_column_blank_lengths,
                                         .finish = sl_column_finish_lengths};
const sl_column_kind sl_column_padded = {.name = "padded",
                                         .takes =
                                             SL_TAKES(BYTES) | SL_TAKES(TEXT) | SL_TAKES(TENSOR),
                                         .per_box = true,
                                         .bind = bind_padded,
                                         .make = make_padded};

/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the current sample, on the worker that makes the row. */
#include "row.h"

#include "packed_value.h"

sluice_status sl_row_blame(sl_row *row, uint32_t field, sluice_status status)
{
    if (status != SLUICE_OK && !row->blames) {
        row->blame = field != SL_FIELD_NONE ? &row->values.of[field] : NULL;
        row->blames = true;
    }
    return status;
}

sluice_status sl_row_bytes(sl_row *row, uint32_t field, sl_bytes *bytes, sluice_error *error)
{
    const sl_value *value = &row->values.of[field];
    *bytes = value->bytes;
    if (!sl_is_packed(value)) {
        return SLUICE_OK;
    }
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    return sl_packed_unpack(sl_decoder_frame(row->decoder), value, scratch->limit, scratch, bytes,
                            error);
}

sluice_status sl_column_bytes(const sl_column *column, sl_row *row, sl_bytes *bytes,
                              sluice_error *error)
{
    if (sl_is_packed(&row->values.of[column->field_number])) {
        sl_scratch_reset(sl_decoder_scratch(row->decoder));
    }
    return sl_row_bytes(row, column->field_number, bytes, error);
}

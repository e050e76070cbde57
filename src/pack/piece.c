/* SPDX-License-Identifier: Apache-2.0 */
#include "piece.h"

#include "error.h"
#include "memory.h"
#include "packed_value.h"

#define STAGE "pack"

sluice_status sl_allowance_charge(const sl_allowance *allowance, uint64_t bytes,
                                  sluice_error *error)
{
    if (allowance == NULL || allowance->charge(allowance->ctx, bytes)) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
}

sluice_status sl_piece_new(const sl_allowance *allowance, uint64_t bytes, uint8_t **piece,
                           sluice_error *error)
{
    const sluice_status status = sl_allowance_charge(allowance, bytes, error);
    if (status < 0) {
        return status;
    }
    *piece = sl_malloc(bytes > 0 ? bytes : 1);
    return *piece != NULL ? SLUICE_OK
                          : sl_no_memory(error, STAGE, "for a sample of %llu bytes",
                                         (unsigned long long)bytes);
}

static sluice_status piece_unpack(const sl_allowance *allowance, const sl_field *field,
                                  sl_value *value, uint8_t **piece, sluice_error *error)
{
    const uint64_t most = sl_type_is_media(field->type) ? SL_RECORD_IMAGE_MAX : SL_RECORD_BYTES_MAX;
    uint64_t bytes = 0;
    uint8_t *fresh = NULL;
    sluice_status status = sl_packed_size(value, most, &bytes, error);
    if (status == SLUICE_OK) {
        status = sl_piece_new(allowance, bytes, &fresh, error);
    }
    if (status == SLUICE_OK) {
        status = sl_packed_unpack_to(NULL, value, fresh, bytes, error);
    }
    if (status < 0 || fresh == NULL) {
        sl_free(fresh);
        return status;
    }
    sl_free(*piece);
    *piece = fresh;
    sl_set_unpacked(value, (sl_bytes){fresh, bytes});
    return SLUICE_OK;
}

static sluice_status piece_copy(const sl_allowance *allowance, sl_value *value, uint8_t **piece,
                                sluice_error *error)
{
    uint8_t *fresh = NULL;
    const sluice_status status = sl_piece_new(allowance, value->bytes.size, &fresh, error);
    if (status < 0 || fresh == NULL) {
        return status;
    }
    if (value->bytes.size > 0) {
        memcpy(fresh, value->bytes.data, value->bytes.size);
    }
    sl_free(*piece);
    *piece = fresh;
    value->bytes.data = fresh;
    return SLUICE_OK;
}

sluice_status sl_piece_own(const sl_allowance *allowance, const sl_field *field, sl_values *values,
                           uint32_t number, uint8_t **piece, sluice_error *error)
{
    sl_value *value = &values->of[number];
    if (sl_is_packed(value)) {
        return piece_unpack(allowance, field, value, piece, error);
    }
    return sl_values_pass(values, value->bytes.data) ? piece_copy(allowance, value, piece, error)
                                                     : SLUICE_OK;
}

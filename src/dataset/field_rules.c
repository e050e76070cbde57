/* SPDX-License-Identifier: Apache-2.0 */
#include "field_rules.h"

#include "dtype.h"

#include <string.h>

bool sl_field_name_ok(const char name[SL_FIELD_NAME_BYTES])
{
    const size_t length = strnlen(name, SL_FIELD_NAME_BYTES);
    for (size_t i = 0; i < length; i++) {
        if (name[i] <= ' ' || name[i] > '~') {
            return false;
        }
    }
    return length > 0 && length < SL_FIELD_NAME_BYTES;
}

bool sl_tensor_fits(const sl_field *field)
{
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        const uint64_t size = field->shape[i] == 0 ? 1 : field->shape[i];
        if (size > SL_RECORD_BYTES_MAX || bytes * size > SL_RECORD_BYTES_MAX) {
            return false;
        }
        bytes *= size;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "packed_value.h"

#include "error.h"

#define STAGE "unpack"

sluice_status sl_packed_refuse(const sl_value *value, sluice_error *error)
{
    return sl_error_set(error, SLUICE_CORRUPT, STAGE, "the %s is damaged", value->packing->name);
}

sluice_status sl_packed_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                             sluice_error *error)
{
    const sluice_status status = value->packing->size(value, max_bytes, size, error);
    if (status < 0 || *size <= max_bytes) {
        return status;
    }
    return sl_error_set(
        error, SLUICE_UNSUPPORTED, STAGE, "the %s unpacks to %llu bytes, above the limit of %llu",
        value->packing->name, (unsigned long long)*size, (unsigned long long)max_bytes);
}

sluice_status sl_packed_unpack_to(sl_frame *frame, const sl_value *value, void *to, uint64_t size,
                                  sluice_error *error)
{
    return value->packing->unpack_to(value, frame, NULL, to, size, error);
}

sluice_status sl_packed_unpack(sl_frame *frame, const sl_value *value, uint64_t max_bytes,
                               sl_scratch *scratch, sl_bytes *unpacked, sluice_error *error)
{
    uint64_t size = 0;
    const sluice_status status = sl_packed_size(value, max_bytes, &size, error);
    if (status < 0) {
        return status;
    }
    void *to = sl_scratch_take(scratch, size > 0 ? size : 1);
    if (to == NULL) {
        return sl_no_memory(error, STAGE, "unpacking %llu bytes", (unsigned long long)size);
    }
    *unpacked = (sl_bytes){to, size};
    return value->packing->unpack_to(value, frame, scratch, to, size, error);
}

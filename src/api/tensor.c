/* SPDX-License-Identifier: Apache-2.0 */
/* tensor: entry points of sluice/common.h for tensors. */
#include "api.h"
#include "dtype.h"

#include <stdbool.h>

/* Returns whether [first, first + count) is within the first dimension. */
static bool is_within(const sluice_tensor *tensor, int64_t first, int64_t count)
{
    return tensor->dims >= 1 && tensor->dims <= SLUICE_TENSOR_DIMS_MAX && first >= 0 &&
           count >= 0 && first <= tensor->shape[0] && count <= tensor->shape[0] - first;
}

/* Computes the distance between entries of the first dimension. False: invalid for a tensor. */
static bool entry_bytes(const sluice_tensor *tensor, uint64_t *bytes)
{
    const size_t element = sluice_dtype_bytes((sluice_dtype)tensor->dtype);
    return element > 0 && tensor->strides[0] >= 0 &&
           !__builtin_mul_overflow((uint64_t)tensor->strides[0], (uint64_t)element, bytes);
}

sluice_status sluice_tensor_slice(const sluice_tensor *tensor, int64_t first, int64_t count,
                                  sluice_tensor *slice)
{
    sluice_tensor full = SLUICE_TENSOR_INIT;
    uint64_t entry = 0;
    uint64_t skipped = 0;
    if (tensor == NULL || slice == NULL || !sl_api_is_tagged(slice) ||
        sl_api_read_struct(&full, sizeof(full), tensor, "sluice_tensor", NULL) != SLUICE_OK ||
        !is_within(&full, first, count) || !entry_bytes(&full, &entry) ||
        __builtin_mul_overflow((uint64_t)first, entry, &skipped) ||
        __builtin_mul_overflow((uint64_t)count, entry, &full.size_bytes)) {
        return SLUICE_INVALID;
    }
    if (full.data != NULL) {
        full.data = (uint8_t *)full.data + skipped;
    }
    full.shape[0] = count;
    return sl_api_write_struct(slice, &full, sizeof(full));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* batch: entry points of sluice/loader.h for one batch. */
#include "api.h"
#include "dtype.h"
#include "staging.h"

#include <string.h>

static bool batch_is_ours(const sluice_batch *batch)
{
    return sl_staging_is_ours(batch->staging);
}

/*
 * Returns the number of the part with a name or, without one, of column `column`; `*count` if it is
 * not a part that consumers see.
 */
static uint32_t find_part(const sluice_batch *batch, uint32_t column, const char *name,
                          uint32_t *count)
{
    uint32_t seen = 0;
    const sl_part *parts = sl_staging_parts(batch->staging, count);
    for (uint32_t i = 0; i < *count; i++) {
        if (sl_part_is_shown(&parts[i]) &&
            (name != NULL ? strcmp(parts[i].name, name) == 0 : seen++ == column)) {
            return i;
        }
    }
    return *count;
}

/* Returns the first dimension of an array. */
static int64_t batch_length_of(const sluice_batch *batch, const sl_part *part)
{
    switch (part->role) {
    case SL_PART_RAGGED:
        return (int64_t)batch->facts.sizes[part->ragged];
    case SL_PART_OFFSETS:
        return (int64_t)batch->facts.rows + 1;
    default:
        return batch->facts.rows;
    }
}

/*
 * Returns dimension `i` of a row: for images of the batch's own size, the first variable dimension
 * is the height, the second the width.
 */
static int64_t dimension_of(const sluice_batch *batch, const sl_part *part, uint32_t i)
{
    const bool open = part->role == SL_PART_SIZED && part->shape[i] == 0;
    if (!open) {
        return part->shape[i];
    }
    const uint64_t size = batch->facts.sizes[part->ragged];
    return i > 0 && part->shape[i - 1] == 0 ? sl_sized_width(size) : sl_sized_height(size);
}

static void batch_fill(const sluice_batch *batch, uint32_t number, sluice_tensor *tensor)
{
    uint32_t all;
    const sl_part *part = &sl_staging_parts(batch->staging, &all)[number];
    tensor->device_type = (int32_t)sl_staging_device_type(batch->staging);
    tensor->device_number = sl_staging_device_number(batch->staging);
    tensor->dtype = (int32_t)part->dtype;
    tensor->data = batch->parts[number];
    tensor->dims = part->dims + 1;
    int64_t elements = 1;
    for (uint32_t i = tensor->dims; i-- > 0;) {
        tensor->shape[i] = i > 0 ? dimension_of(batch, part, i - 1) : batch_length_of(batch, part);
        tensor->strides[i] = elements;
        elements *= tensor->shape[i];
    }
    tensor->size_bytes = (uint64_t)elements * sl_dtype_bytes(part->dtype);
}

static sluice_status get(const sluice_batch *batch, uint32_t column, const char *name,
                         sluice_tensor *tensor)
{
    if (batch == NULL || tensor == NULL || !sl_api_is_tagged(tensor)) {
        return SLUICE_INVALID;
    }
    if (!batch_is_ours(batch)) {
        return SLUICE_STATE;
    }
    uint32_t count;
    const uint32_t number = find_part(batch, column, name, &count);
    if (number == count) {
        return SLUICE_INVALID;
    }
    sluice_tensor full = SLUICE_TENSOR_INIT;
    batch_fill(batch, number, &full);
    return sl_api_write_struct(tensor, &full, sizeof(full));
}

sluice_status sluice_batch_get_column(const sluice_batch *batch, uint32_t column,
                                      sluice_tensor *tensor)
{
    return get(batch, column, NULL, tensor);
}

sluice_status sluice_batch_tensor(const sluice_batch *batch, const char *column,
                                  sluice_tensor *tensor)
{
    return column != NULL ? get(batch, 0, column, tensor) : SLUICE_INVALID;
}

uint32_t sluice_batch_columns(const sluice_batch *batch)
{
    uint32_t all = 0;
    uint32_t columns = 0;
    const sl_part *parts = batch != NULL ? sl_staging_parts(batch->staging, &all) : NULL;
    for (uint32_t i = 0; i < all; i++) {
        columns += sl_part_is_shown(&parts[i]);
    }
    return columns;
}

const char *sluice_batch_column_name(const sluice_batch *batch, uint32_t column)
{
    uint32_t all;
    if (column >= sluice_batch_columns(batch)) {
        return NULL;
    }
    return sl_staging_parts(batch->staging, &all)[find_part(batch, column, NULL, &all)].name;
}

uint32_t sluice_batch_rows(const sluice_batch *batch)
{
    return batch == NULL ? 0 : batch->facts.rows;
}

uint64_t sluice_batch_step(const sluice_batch *batch)
{
    return batch == NULL ? 0 : batch->facts.step;
}

uint64_t sluice_batch_epoch(const sluice_batch *batch)
{
    return batch == NULL ? 0 : batch->facts.epoch;
}

sluice_status sluice_batch_wait(sluice_batch *batch, struct CUstream_st *stream)
{
    if (batch == NULL) {
        return SLUICE_INVALID;
    }
    return batch_is_ours(batch) ? sl_staging_wait(batch, stream) : SLUICE_STATE;
}

sluice_status sluice_batch_retain(sluice_batch *batch)
{
    if (batch == NULL) {
        return SLUICE_INVALID;
    }
    return batch_is_ours(batch) ? sl_staging_retain(batch) : SLUICE_STATE;
}

void sluice_batch_release(sluice_batch *batch)
{
    if (batch != NULL && batch_is_ours(batch)) {
        (void)sl_staging_release(batch, false, NULL);
    }
}

sluice_status sluice_batch_release_on(sluice_batch *batch, struct CUstream_st *stream)
{
    if (batch == NULL) {
        return SLUICE_INVALID;
    }
    return batch_is_ours(batch) ? sl_staging_release(batch, true, stream) : SLUICE_STATE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry points of sluice/loader.h about one batch. */
#include "api.h"
#include "dtype.h"
#include "staging.h"

#include <string.h>

/* In the order that sluice/loader.h promises. */
enum { COLUMN_IMAGE, COLUMN_LABEL, COLUMN_INDEX, COLUMN_MASK, COLUMN_STATUS, COLUMNS };

static const char *const names[COLUMNS] = {"image", "label", "index", "mask", "status"};

static bool is_ours(const sluice_batch *batch)
{
    return sl_staging_is_ours(batch->staging);
}

static void set_shape(sluice_tensor *tensor, uint32_t dims, const int64_t *shape)
{
    int64_t elements = 1;
    tensor->dims = dims;
    for (uint32_t i = dims; i-- > 0;) {
        tensor->shape[i] = shape[i];
        tensor->strides[i] = elements;
        elements *= shape[i];
    }
    tensor->size_bytes = (uint64_t)elements * sl_dtype_bytes((sluice_dtype)tensor->dtype);
}

static void image_tensor(const sluice_batch *batch, sluice_tensor *tensor)
{
    const sl_image_format format = sl_staging_format(batch->staging);
    const int64_t rows = batch->facts.rows;
    const int64_t nhwc[] = {rows, format.height, format.width, 3};
    const int64_t nchw[] = {rows, 3, format.height, format.width};
    tensor->dtype = (int32_t)format.dtype;
    tensor->data = batch->view.images;
    set_shape(tensor, 4, format.layout == SLUICE_NCHW ? nchw : nhwc);
}

static void vector_tensor(const sluice_batch *batch, sluice_tensor *tensor, sluice_dtype dtype,
                          void *data)
{
    const int64_t rows = batch->facts.rows;
    tensor->dtype = (int32_t)dtype;
    tensor->data = data;
    set_shape(tensor, 1, &rows);
}

static void fill(const sluice_batch *batch, uint32_t column, sluice_tensor *tensor)
{
    const sl_slot_view *view = &batch->view;
    switch (column) {
    case COLUMN_IMAGE:
        image_tensor(batch, tensor);
        break;
    case COLUMN_LABEL:
        vector_tensor(batch, tensor, SLUICE_I64, view->labels);
        break;
    case COLUMN_INDEX:
        vector_tensor(batch, tensor, SLUICE_I64, view->indices);
        break;
    case COLUMN_MASK:
        vector_tensor(batch, tensor, SLUICE_U8, view->mask);
        break;
    default:
        vector_tensor(batch, tensor, SLUICE_U8, view->status);
        break;
    }
}

sluice_status sluice_batch_get_column(const sluice_batch *batch, uint32_t column,
                                      sluice_tensor *tensor)
{
    if (batch == NULL || column >= COLUMNS || tensor == NULL || !sl_api_is_tagged(tensor)) {
        return SLUICE_INVALID;
    }
    if (!is_ours(batch)) {
        return SLUICE_STATE;
    }
    sluice_tensor full = SLUICE_TENSOR_INIT;
    full.device_type = (int32_t)sl_staging_device_type(batch->staging);
    full.device_number = sl_staging_device_number(batch->staging);
    fill(batch, column, &full);
    return sl_api_write_struct(tensor, &full, sizeof(full));
}

sluice_status sluice_batch_tensor(const sluice_batch *batch, const char *column,
                                  sluice_tensor *tensor)
{
    uint32_t number = 0;
    while (column != NULL && number < COLUMNS && strcmp(names[number], column) != 0) {
        number++;
    }
    return column != NULL ? sluice_batch_get_column(batch, number, tensor) : SLUICE_INVALID;
}

uint32_t sluice_batch_columns(const sluice_batch *batch)
{
    return batch != NULL ? COLUMNS : 0;
}

const char *sluice_batch_column_name(const sluice_batch *batch, uint32_t column)
{
    return column < sluice_batch_columns(batch) ? names[column] : NULL;
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
    return is_ours(batch) ? sl_staging_wait(batch, stream) : SLUICE_STATE;
}

sluice_status sluice_batch_retain(sluice_batch *batch)
{
    if (batch == NULL) {
        return SLUICE_INVALID;
    }
    return is_ours(batch) ? sl_staging_retain(batch) : SLUICE_STATE;
}

void sluice_batch_release(sluice_batch *batch)
{
    if (batch != NULL && is_ours(batch)) {
        (void)sl_staging_release(batch, false, NULL);
    }
}

sluice_status sluice_batch_release_on(sluice_batch *batch, struct CUstream_st *stream)
{
    if (batch == NULL) {
        return SLUICE_INVALID;
    }
    return is_ours(batch) ? sl_staging_release(batch, true, stream) : SLUICE_STATE;
}

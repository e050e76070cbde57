/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry points of sluice/loader.h: check arguments, call, map. */
#include "loader.h"

#include "api.h"
#include "error.h"

#include <string.h>

sluice_status sluice_loader_open(sluice_loader **loader, sluice_dataset *dataset,
                                 const sluice_augment *recipe, const sluice_loader_options *options,
                                 sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    if (loader == NULL || dataset == NULL || recipe == NULL) {
        sl_error_set(&reason, SLUICE_INVALID, "api", "loader, dataset or recipe is NULL");
        return sl_api_fail(error, &reason);
    }
    *loader = NULL;
    sluice_loader_options full;
    sluice_status status =
        sl_api_read_struct(&full, sizeof(full), options, "sluice_loader_options", &reason);
    if (status == SLUICE_OK) {
        status = sl_loader_open(loader, sl_api_dataset(dataset), recipe, &full, NULL, &reason);
    }
    return status == SLUICE_OK ? status : sl_api_fail(error, &reason);
}

sluice_status sluice_loader_start_epoch(sluice_loader *loader, uint64_t epoch)
{
    if (loader == NULL || epoch == UINT64_MAX) {
        return SLUICE_INVALID;
    }
    return sl_loader_is_ours(loader) ? sl_loader_start_epoch(loader, epoch) : SLUICE_STATE;
}

uint64_t sluice_loader_steps(const sluice_loader *loader)
{
    if (loader == NULL) {
        return 0;
    }
    const sl_plan plan = sl_feed_plan(&loader->feed, 0, 0);
    return sl_plan_steps(&plan);
}

sluice_status sluice_loader_next(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns)
{
    if (loader == NULL || batch == NULL) {
        return SLUICE_INVALID;
    }
    *batch = NULL;
    return sl_loader_is_ours(loader) ? sl_loader_next(loader, batch, timeout_ns) : SLUICE_STATE;
}

int sluice_loader_fd(const sluice_loader *loader)
{
    return loader == NULL ? -1 : sl_staging_fd(loader->staging);
}

sluice_status sluice_loader_save(sluice_loader *loader, void *cursor, size_t *bytes)
{
    if (loader == NULL || cursor == NULL || bytes == NULL) {
        return SLUICE_INVALID;
    }
    return sl_loader_is_ours(loader) ? sl_loader_save(loader, cursor, bytes) : SLUICE_STATE;
}

sluice_status sluice_loader_restore(sluice_loader *loader, const void *cursor, size_t bytes,
                                    uint64_t *epoch)
{
    if (loader == NULL || cursor == NULL || epoch == NULL) {
        return SLUICE_INVALID;
    }
    return sl_loader_is_ours(loader) ? sl_loader_restore(loader, cursor, bytes, epoch)
                                     : SLUICE_STATE;
}

sluice_status sluice_loader_get_stats(sluice_loader *loader, sluice_loader_stats *stats)
{
    if (loader == NULL || stats == NULL) {
        return SLUICE_INVALID;
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    sluice_loader_stats full;
    memset(&full, 0, sizeof(full));
    const sluice_status status = sl_loader_get_stats(loader, &full);
    return status == SLUICE_OK ? sl_api_write_struct(stats, &full, sizeof(full)) : status;
}

sluice_status sluice_loader_get_error(sluice_loader *loader, sluice_error *error)
{
    if (loader == NULL) {
        return SLUICE_INVALID;
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    sluice_error full;
    sl_error_clear(&full);
    const sluice_status status = sl_loader_get_error(loader, &full);
    if (status != SLUICE_OK) {
        sl_error_copy_out(error, &full);
    }
    return status;
}

void sluice_loader_cancel(sluice_loader *loader)
{
    if (loader != NULL && sl_loader_is_ours(loader)) {
        sl_loader_cancel(loader);
    }
}

void sluice_loader_close(sluice_loader *loader)
{
    if (loader != NULL && sl_loader_is_ours(loader)) {
        sl_loader_close(loader);
    }
}

/* ---- batches ---- */

static bool batch_is_ours(const sluice_batch *batch)
{
    return sl_staging_is_ours(batch->staging);
}

static void set_shape(sluice_tensor *tensor, uint32_t dims, const int64_t *shape)
{
    tensor->dims = dims;
    tensor->size_bytes = sluice_dtype_bytes((sluice_dtype)tensor->dtype);
    for (uint32_t i = 0; i < dims; i++) {
        tensor->shape[i] = shape[i];
        tensor->size_bytes *= (uint64_t)shape[i];
    }
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

sluice_status sluice_batch_tensor(const sluice_batch *batch, const char *field,
                                  sluice_tensor *tensor)
{
    if (batch == NULL || field == NULL || tensor == NULL) {
        return SLUICE_INVALID;
    }
    if (!batch_is_ours(batch)) {
        return SLUICE_STATE;
    }
    sluice_tensor full = SLUICE_TENSOR_INIT;
    full.device = sl_staging_device_number(batch->staging);
    if (strcmp(field, "image") == 0) {
        image_tensor(batch, &full);
    } else if (strcmp(field, "label") == 0) {
        vector_tensor(batch, &full, SLUICE_I64, batch->view.labels);
    } else if (strcmp(field, "index") == 0) {
        vector_tensor(batch, &full, SLUICE_I64, batch->view.indices);
    } else if (strcmp(field, "mask") == 0) {
        vector_tensor(batch, &full, SLUICE_U8, batch->view.mask);
    } else if (strcmp(field, "status") == 0) {
        vector_tensor(batch, &full, SLUICE_U8, batch->view.status);
    } else {
        return SLUICE_INVALID;
    }
    return sl_api_write_struct(tensor, &full, sizeof(full));
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

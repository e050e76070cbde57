/* SPDX-License-Identifier: Apache-2.0 */
/* loader: entry points of sluice/loader.h: check arguments, call, convert results. */
#include "loader.h"

#include "api.h"
#include "error.h"

#include <string.h>

sluice_status sluice_loader_open(sluice_loader **loader, sluice_dataset *dataset,
                                 const sluice_augment *recipe, const sluice_loader_options *options,
                                 sluice_error *error)
{
    if (loader != NULL) {
        *loader = NULL;
    }
    if (sl_api_lacks(error, loader, "loader") || sl_api_lacks(error, dataset, "dataset")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sl_error_clear(&reason);
    sluice_loader_options full;
    sluice_status status =
        sl_api_read_struct(&full, sizeof(full), options, "sluice_loader_options", &reason);
    if (status == SLUICE_OK) {
        status = sl_loader_open(loader, sl_api_dataset(dataset), recipe, &full, NULL, &reason);
    }
    return status == SLUICE_OK ? status : sl_api_fail(error, &reason);
}

/* Reports invalid arguments of a call; the loader keeps the text. */
static sluice_status loader_refuse(sluice_loader *loader, const char *text)
{
    sluice_error why;
    sluice_status status = sl_error_set(&why, SLUICE_INVALID, "api", "%s", text);
    if (loader == NULL) {
        return status;
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    status = sl_loader_refuse(loader, &why);
    sl_loader_leave(loader);
    return status;
}

static const char no_epoch[] = "UINT64_MAX is not a valid epoch number";

sluice_status sluice_loader_start_epoch(sluice_loader *loader, uint64_t epoch)
{
    if (loader == NULL || epoch == UINT64_MAX) {
        return loader_refuse(loader, no_epoch);
    }
    return sl_loader_is_ours(loader) ? sl_loader_start_epoch(loader, epoch) : SLUICE_STATE;
}

sluice_status sluice_loader_start_endless(sluice_loader *loader, uint64_t epoch)
{
    if (loader == NULL || epoch == UINT64_MAX) {
        return loader_refuse(loader, no_epoch);
    }
    return sl_loader_is_ours(loader) ? sl_loader_start_endless(loader, epoch) : SLUICE_STATE;
}

uint64_t sluice_loader_steps(const sluice_loader *loader)
{
    if (loader == NULL) {
        return 0;
    }
    const sl_plan plan = sl_feed_plan(&loader->feed, 0, 0);
    return sl_plan_steps(&plan);
}

uint64_t sluice_loader_rows(const sluice_loader *loader)
{
    if (loader == NULL) {
        return 0;
    }
    const sl_plan plan = sl_feed_plan(&loader->feed, 0, 0);
    return sl_plan_rows(&plan);
}

uint64_t sluice_loader_samples(const sluice_loader *loader)
{
    return loader == NULL ? 0 : loader->order.source.count;
}

sluice_status sluice_loader_next(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns)
{
    if (loader == NULL || batch == NULL) {
        return loader_refuse(loader, "sluice_loader_next: batch is NULL");
    }
    *batch = NULL;
    return sl_loader_is_ours(loader) ? sl_loader_next(loader, batch, timeout_ns) : SLUICE_STATE;
}

int sluice_loader_fd(const sluice_loader *loader)
{
    return loader == NULL ? -1 : sl_staging_fd(loader->staging);
}

sluice_status sluice_loader_get_warning(sluice_loader *loader, uint32_t number,
                                        sluice_error *warning)
{
    sluice_error full;
    if (loader == NULL || warning == NULL || !sl_api_is_tagged(warning)) {
        return SLUICE_INVALID;
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    if (!sl_notices_get(loader->notices, number, &full)) {
        return SLUICE_END;
    }
    sl_error_copy_out(warning, &full);
    return SLUICE_OK;
}

sluice_status sluice_loader_describe(sluice_loader *loader, char *text, size_t bytes)
{
    if (loader == NULL || text == NULL || bytes == 0) {
        return loader_refuse(loader, "sluice_loader_describe: text is NULL or bytes is 0");
    }
    text[0] = '\0';
    return sl_loader_is_ours(loader) ? sl_loader_describe(loader, text, bytes) : SLUICE_STATE;
}

sluice_status sluice_loader_save(sluice_loader *loader, void *cursor, size_t *bytes)
{
    if (loader == NULL || cursor == NULL || bytes == NULL) {
        return loader_refuse(loader, "sluice_loader_save: cursor or bytes is NULL");
    }
    return sl_loader_is_ours(loader) ? sl_loader_save(loader, cursor, bytes) : SLUICE_STATE;
}

sluice_status sluice_loader_save_at(sluice_loader *loader, uint64_t epoch, uint64_t steps,
                                    void *cursor, size_t *bytes)
{
    if (loader == NULL || cursor == NULL || bytes == NULL) {
        return loader_refuse(loader, "sluice_loader_save_at: cursor or bytes is NULL");
    }
    return sl_loader_is_ours(loader) ? sl_loader_save_at(loader, epoch, steps, cursor, bytes)
                                     : SLUICE_STATE;
}

sluice_status sluice_loader_get_position(sluice_loader *loader, sluice_loader_position *position)
{
    if (loader == NULL || position == NULL || !sl_api_is_tagged(position)) {
        return loader_refuse(
            loader, "sluice_loader_get_position: position is NULL, or its struct_size is not set");
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    sluice_loader_position full = SLUICE_LOADER_POSITION_INIT;
    const sluice_status status = sl_loader_get_position(loader, &full);
    return status == SLUICE_OK ? sl_api_write_struct(position, &full, sizeof(full)) : status;
}

sluice_status sluice_loader_restore(sluice_loader *loader, const void *cursor, size_t bytes,
                                    uint64_t *epoch)
{
    const bool forgets = cursor == NULL && bytes == 0;
    if (loader == NULL || (!forgets && (cursor == NULL || epoch == NULL))) {
        return loader_refuse(loader, "sluice_loader_restore: cursor or epoch is NULL");
    }
    return sl_loader_is_ours(loader) ? sl_loader_restore(loader, cursor, bytes, epoch)
                                     : SLUICE_STATE;
}

sluice_status sluice_loader_get_stats(sluice_loader *loader, sluice_loader_stats *stats)
{
    if (loader == NULL || stats == NULL || !sl_api_is_tagged(stats)) {
        return loader_refuse(
            loader, "sluice_loader_get_stats: stats is NULL, or its struct_size is not set");
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    sluice_loader_stats full;
    memset(&full, 0, sizeof(full));
    const sluice_status status = sl_loader_get_stats(loader, &full);
    return status == SLUICE_OK ? sl_api_write_struct(stats, &full, sizeof(full)) : status;
}

sluice_status sluice_loader_get_stage(sluice_loader *loader, sluice_stage stage,
                                      sluice_stage_stats *stats)
{
    if (loader == NULL || stats == NULL || !sl_api_is_tagged(stats)) {
        return loader_refuse(
            loader, "sluice_loader_get_stage: stats is NULL, or its struct_size is not set");
    }
    if ((int)stage < SLUICE_STAGE_READ || (int)stage > SLUICE_STAGE_UPLOAD) {
        return loader_refuse(loader, "sluice_loader_get_stage: unknown stage");
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    sluice_stage_stats full = SLUICE_STAGE_STATS_INIT;
    const sluice_status status = sl_loader_get_stage(loader, stage, &full);
    return status == SLUICE_OK ? sl_api_write_struct(stats, &full, sizeof(full)) : status;
}

sluice_status sluice_loader_get_operation(sluice_loader *loader, uint32_t number,
                                          sluice_operation_stats *stats)
{
    if (loader == NULL || stats == NULL || !sl_api_is_tagged(stats)) {
        return loader_refuse(
            loader, "sluice_loader_get_operation: stats is NULL, or its struct_size is not set");
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    sluice_operation_stats full = SLUICE_OPERATION_STATS_INIT;
    const sluice_status status = sl_loader_get_operation(loader, number, &full);
    return status == SLUICE_OK ? sl_api_write_struct(stats, &full, sizeof(full)) : status;
}

sluice_status sluice_loader_get_cache(sluice_loader *loader, uint64_t epoch,
                                      sluice_loader_cache *cache)
{
    if (loader == NULL || cache == NULL || !sl_api_is_tagged(cache)) {
        return loader_refuse(
            loader, "sluice_loader_get_cache: cache is NULL, or its struct_size is not set");
    }
    if (!sl_loader_is_ours(loader)) {
        return SLUICE_STATE;
    }
    sluice_loader_cache full = SLUICE_LOADER_CACHE_INIT;
    const sluice_status status = sl_loader_get_cache(loader, epoch, &full);
    return status == SLUICE_OK ? sl_api_write_struct(cache, &full, sizeof(full)) : status;
}

sluice_status sluice_loader_get_error(sluice_loader *loader, sluice_error *error)
{
    if (loader == NULL || !sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    sluice_error full;
    sl_error_clear(&full);
    const sluice_status status =
        sl_loader_is_ours(loader)
            ? sl_loader_get_error(loader, &full)
            : sl_error_set(&full, SLUICE_STATE, "api",
                           "the loader belongs to the process that opened it, not to a fork");
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

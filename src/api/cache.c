/* SPDX-License-Identifier: Apache-2.0 */
/* cache: manages the disk cache of remote data, without a loader (sluice/remote.h). */
#include "api.h"
#include "chunk_list.h"
#include "error.h"
#include "kept_objects.h"
#include "settings.h"
#include "stop.h"

#include <stdio.h>
#include <string.h>

typedef struct cache_call {
    sluice_cache_options options;
    sl_stop stop;
    char folder[sizeof(((sl_remote_settings *)NULL)->cache)];
    int32_t (*visit)(void *user, const sluice_cache_entry *entry);
    void *user;
    const char *prefix; /* prefix of the addresses to remove */
} cache_call;

static sluice_status find_folder(cache_call *call, const char *folder, sluice_error *error)
{
    const sl_remote_settings *settings = NULL;
    const char *found = folder;
    sluice_status status = SLUICE_OK;
    if (folder == NULL) {
        status = sl_remote_settings_get(&settings, error);
        found = status == SLUICE_OK ? settings->cache : "";
    }
    const int length = snprintf(call->folder, sizeof(call->folder), "%s", found);
    sl_remote_settings_release(settings);
    if (status == SLUICE_OK && length == 0) {
        return sl_error_set(error, SLUICE_INVALID, "cache",
                            "no cache folder is set: give one, or set SLUICE_REMOTE_CACHE");
    }
    return status == SLUICE_OK && (size_t)length >= sizeof(call->folder)
               ? sl_error_set(error, SLUICE_INVALID, "cache",
                              "the path of the cache folder is too long: %d bytes, at most %zu",
                              length, sizeof(call->folder) - 1)
               : status;
}

static sluice_status read_cache_options(cache_call *call, const sluice_cache_options *options,
                                        sluice_error *error)
{
    sl_error_clear(error);
    sluice_status status = sl_api_read_struct(&call->options, sizeof(call->options), options,
                                              "sluice_cache_options", error);
    if (status == SLUICE_OK && call->options.reserved != 0) {
        status = sl_error_set(error, SLUICE_INVALID, "cache", "reserved must be 0");
    }
    return status;
}

/* Begins a call. OK: cache_end must follow. */
static sluice_status cache_begin(cache_call *call, const char *folder,
                                 const sluice_cache_options *options, sluice_error *error)
{
    sluice_status status = read_cache_options(call, options, error);
    status = status == SLUICE_OK ? find_folder(call, folder, error) : status;
    if (status == SLUICE_OK) {
        sl_stop_begin(&call->stop, call->options.should_stop, call->options.user);
    }
    return status;
}

static sluice_status cache_end(cache_call *call, sluice_status status, sluice_error *error,
                               const sluice_error *reason)
{
    sl_stop_end(&call->stop);
    return status < 0 ? sl_api_fail(error, reason) : SLUICE_OK;
}

static void cache_progress(void *ctx, uint64_t done, uint64_t all)
{
    const cache_call *call = ctx;
    if (call->options.on_progress != NULL) {
        call->options.on_progress(call->options.user, done, all);
    }
}

static sluice_status cache_visit(void *ctx, const sl_chunk_listed *object, sluice_error *error)
{
    const cache_call *call = ctx;
    const sluice_cache_entry entry = {.struct_size = sizeof(entry),
                                      .address = object->address,
                                      .object_bytes = object->object_bytes,
                                      .kept_bytes = object->bytes,
                                      .chunks = object->chunks,
                                      .used_s = object->used_s};
    return call->visit(call->user, &entry) == 0
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_CANCELED, "cache", "the listing was ended");
}

sluice_status sluice_cache_list(const char *folder, const sluice_cache_options *options,
                                int32_t (*visit)(void *user, const sluice_cache_entry *entry),
                                void *user, sluice_error *error)
{
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (visit == NULL) {
        sl_api_say_missing(error, "visit");
        return SLUICE_INVALID;
    }
    sluice_error reason;
    cache_call call = {.visit = visit, .user = user};
    sluice_status status = cache_begin(&call, folder, options, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    status = sl_chunk_list(call.folder, cache_visit, &call, &reason);
    return cache_end(&call, status, error, &reason);
}

static void cache_write_result(sluice_cache_result *result, const sl_chunk_work *work)
{
    const sluice_cache_result own = {.struct_size = sizeof(own),
                                     .chunks = work->chunks,
                                     .bytes = work->bytes,
                                     .damaged = work->damaged,
                                     .damaged_bytes = work->damaged_bytes};
    (void)sl_api_write_optional(result, &own, sizeof(own));
}

/* Verifies or empties the folder. */
static sluice_status work_on_folder(
    const char *folder, const sluice_cache_options *options,
    sluice_status (*work_on)(const cache_call *call, const sl_chunk_progress *progress,
                             sl_chunk_work *work, sluice_error *reason),
    const char *prefix, sluice_cache_result *result, sluice_error *error)
{
    if (!sl_api_can_tell(error) || sl_api_is_untagged(error, result, "sluice_cache_result")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sl_chunk_work work;
    cache_call call = {.prefix = prefix};
    sluice_status status = cache_begin(&call, folder, options, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    const sl_chunk_progress progress = {.progress = cache_progress, .ctx = &call};
    status = work_on(&call, &progress, &work, &reason);
    cache_write_result(result, &work);
    return cache_end(&call, status, error, &reason);
}

static sluice_status cache_verify_folder(const cache_call *call, const sl_chunk_progress *progress,
                                         sl_chunk_work *work, sluice_error *reason)
{
    return sl_chunk_list_verify(call->folder, progress, work, reason);
}

static sluice_status cache_empty_folder(const cache_call *call, const sl_chunk_progress *progress,
                                        sl_chunk_work *work, sluice_error *reason)
{
    return sl_chunk_list_empty(call->folder, call->prefix, progress, work, reason);
}

sluice_status sluice_cache_verify(const char *folder, const sluice_cache_options *options,
                                  sluice_cache_result *result, sluice_error *error)
{
    return work_on_folder(folder, options, cache_verify_folder, NULL, result, error);
}

sluice_status sluice_cache_empty(const char *folder, const char *prefix,
                                 const sluice_cache_options *options, sluice_cache_result *result,
                                 sluice_error *error)
{
    return work_on_folder(folder, options, cache_empty_folder, prefix, result, error);
}

/* ---- filling ---- */

/* Explains why none of a dataset's files can be kept. */
static sluice_status explain_no_objects(sluice_error *error)
{
    const sl_remote_settings *settings;
    sluice_status status = sl_remote_settings_get(&settings, error);
    if (status < 0) {
        return status;
    }
    sl_chunk_cache_stats stats;
    if (settings->cache[0] == '\0') {
        status = sl_error_set(error, SLUICE_INVALID, "cache",
                              "no cache folder is set: give one, or set SLUICE_REMOTE_CACHE");
    } else if (sl_remote_settings_cache(settings) == NULL) {
        sl_remote_settings_cache_stats(settings, &stats);
        status = sl_error_file(error, SLUICE_IO, "cache", 0, settings->cache, -1, "%s", stats.off);
    } else {
        status = sl_error_set(error, SLUICE_INVALID, "cache",
                              "no file of the dataset can be kept: all are local, or samples of "
                              "several files, or their store provides no ETag");
    }
    sl_remote_settings_release(settings);
    return status;
}

/* Reports bytes that were not kept although there is space for them. */
static sluice_status say_left(uint64_t bytes, const char *why, const char *folder,
                              sluice_error *error)
{
    const long writer = why[0] == '\0' ? sl_chunk_find_writer(folder) : 0;
    if (writer > 0) {
        return sl_error_set(error, SLUICE_IO, "cache",
                            "%llu bytes are being written by process %ld, which makes no progress: "
                            "continue or end it, and try again",
                            (unsigned long long)bytes, writer);
    }
    return sl_error_set(error, SLUICE_IO, "cache",
                        "%llu bytes could not be read from the store: %s",
                        (unsigned long long)bytes,
                        why[0] != '\0' ? why : "another process was writing them: try again");
}

/*
 * Explains why bytes were not kept although there is space for them: the store or the disk failed.
 */
static sluice_status explain_left(const sl_caching_stats *filled, const char *why,
                                  sluice_error *error)
{
    uint64_t space = 0;
    sl_chunk_cache_stats stats = {.off = ""};
    const sl_remote_settings *settings;
    if (filled->left_bytes == 0 || sl_remote_settings_get(&settings, error) < 0) {
        return SLUICE_OK;
    }
    sl_chunk_cache *cache = sl_remote_settings_cache(settings);
    if (cache != NULL) {
        sl_chunk_cache_get_stats(cache, &stats);
        space = sl_chunk_cache_space(cache);
    }
    sluice_status status = SLUICE_OK;
    if (stats.off[0] != '\0') {
        status = sl_error_set(error, SLUICE_IO, "cache", "%llu bytes were not kept: %s",
                              (unsigned long long)filled->left_bytes, stats.off);
    } else if (why[0] != '\0' || space > 2 * SL_CHUNK_BYTES) {
        status = say_left(filled->left_bytes, why, settings->cache, error);
    }
    sl_remote_settings_release(settings);
    return status;
}

static sluice_status fill_from(const sl_dataset *dataset, cache_call *call,
                               sluice_cache_result *result, sluice_error *error)
{
    sl_caching_stats filled = {0};
    const sl_caching_watch watch = {.progress = cache_progress, .ctx = call};
    char why[SL_KEPT_WHY_BYTES] = "";
    const sluice_status status =
        dataset->objects != NULL
            ? sl_kept_objects_fill(dataset->objects, &watch, &filled, why, error)
            : SLUICE_UNSUPPORTED;
    *result = (sluice_cache_result){.struct_size = sizeof(*result),
                                    .chunks = filled.chunks - filled.left,
                                    .bytes = filled.here_bytes + filled.fetched_bytes,
                                    .fetched_bytes = filled.fetched_bytes,
                                    .left_bytes = filled.left_bytes};
    if (status == SLUICE_UNSUPPORTED) {
        return explain_no_objects(error);
    }
    return status == SLUICE_OK ? explain_left(&filled, why, error) : status;
}

sluice_status sluice_cache_fill(const sluice_dataset *dataset, const sluice_cache_options *options,
                                sluice_cache_result *result, sluice_error *error)
{
    if (sl_api_lacks(error, dataset, "dataset") ||
        sl_api_is_untagged(error, result, "sluice_cache_result")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    cache_call call = {0};
    sluice_cache_result own = SLUICE_CACHE_RESULT_INIT;
    sluice_status status = read_cache_options(&call, options, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    sl_stop_begin(&call.stop, call.options.should_stop, call.options.user);
    status = fill_from(sl_api_const_dataset(dataset), &call, &own, &reason);
    (void)sl_api_write_optional(result, &own, sizeof(own));
    return cache_end(&call, status, error, &reason);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry points of sluice/writer.h. */
#include "writer.h"

#include "api.h"
#include "cpu.h"
#include "error.h"
#include "pack.h"
#include "series.h"

#include <string.h>

enum {
    KEY_BYTES_MAX = 511,
    ZSTD_LEVEL_MAX = 19,
    PACK_WORKERS_MAX = 1024,
    TILE_MCUS_MAX = 65535 /* what a JPEG can say */
};

static sluice_status check_common(uint64_t *shard_bytes, int32_t zstd_level, sluice_error *error)
{
    if (*shard_bytes == 0) {
        *shard_bytes = SL_SHARD_BYTES_DEFAULT;
    }
    if (*shard_bytes < SL_SHARD_BYTES_MIN || *shard_bytes > SL_SHARD_BYTES_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "shard_bytes is %llu and must be from 1 MiB to 1 TiB",
                            (unsigned long long)*shard_bytes);
    }
    if (zstd_level < 0 || zstd_level > ZSTD_LEVEL_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "zstd_level is %d and must be from 0 to %d", (int)zstd_level,
                            ZSTD_LEVEL_MAX);
    }
    return SLUICE_OK;
}

static sluice_status check_jpeg(uint32_t keep_bytes, int32_t metadata, uint32_t tile_mcus,
                                sluice_error *error)
{
    if (keep_bytes > 1 ||
        (metadata != SLUICE_JPEG_METADATA_KEEP && metadata != SLUICE_JPEG_METADATA_DROP) ||
        tile_mcus > TILE_MCUS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "keep_bytes must be 0 or 1, jpeg_metadata a sluice_jpeg_metadata, "
                            "tile_mcus at most %d",
                            TILE_MCUS_MAX);
    }
    return SLUICE_OK;
}

static sluice_status check_classes(const sluice_writer_options *options, sluice_error *error)
{
    if (options->class_count > 0 && !options->classes) {
        return sl_error_set(error, SLUICE_INVALID, "api", "classes is missing");
    }
    for (uint32_t i = 0; i < options->class_count; i++) {
        if (!options->classes[i]) {
            return sl_error_set(error, SLUICE_INVALID, "api", "the name of class %u is missing", i);
        }
    }
    return SLUICE_OK;
}

static sluice_status open_writer(sluice_writer **writer, const char *path,
                                 const sluice_writer_options *options, sluice_error *error)
{
    sluice_writer_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_writer_options", error);
    if (status == SLUICE_OK) {
        status = check_common(&own.shard_bytes, own.zstd_level, error);
    }
    if (status == SLUICE_OK) {
        status = check_jpeg(own.keep_bytes, own.jpeg_metadata, own.tile_mcus, error);
    }
    if (status == SLUICE_OK) {
        status = check_classes(&own, error);
    }
    if (status == SLUICE_OK && own.reserved != 0) {
        status = sl_error_set(error, SLUICE_INVALID, "api", "reserved must be 0");
    }
    return status == SLUICE_OK ? sl_writer_open(writer, path, &own, error) : status;
}

sluice_status sluice_writer_open(sluice_writer **writer, const char *path,
                                 const sluice_writer_options *options, sluice_error *error)
{
    if (writer) {
        *writer = NULL;
    }
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (!writer || !path) {
        return sl_api_missing(error, writer ? "path" : "writer");
    }
    sluice_error reason;
    sluice_status status = open_writer(writer, path, options, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

static sluice_status add(sluice_writer *writer, const sluice_writer_sample *sample,
                         sluice_error *error)
{
    sluice_writer_sample own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), sample, "sluice_writer_sample", error);
    if (status < 0) {
        return status;
    }
    if (!own.image || own.image_bytes == 0 || own.image_bytes > SL_RECORD_IMAGE_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api", "an image must have 1 byte to 1 GiB");
    }
    if (own.key && strlen(own.key) > KEY_BYTES_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api", "a key has at most %d bytes",
                            KEY_BYTES_MAX);
    }
    if ((own.raw_width == 0) != (own.raw_height == 0) || own.reserved != 0) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "raw_width and raw_height go together, and reserved must be 0");
    }
    const sl_record_input input = {.image = {own.image, own.image_bytes},
                                   .raw = own.raw_width > 0,
                                   .width = own.raw_width,
                                   .height = own.raw_height,
                                   .label = own.label,
                                   .key = own.key ? own.key : ""};
    return sl_writer_add(writer, &input, error);
}

sluice_status sluice_writer_add(sluice_writer *writer, const sluice_writer_sample *sample,
                                sluice_error *error)
{
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (!writer || !sample) {
        return sl_api_missing(error, writer ? "sample" : "writer");
    }
    sluice_error reason;
    sluice_status status = add(writer, sample, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

sluice_status sluice_writer_finish(sluice_writer *writer, sluice_error *error)
{
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (!writer) {
        return sl_api_missing(error, "writer");
    }
    sluice_error reason;
    sluice_status status = sl_writer_finish(writer, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

void sluice_writer_abort(sluice_writer *writer)
{
    sl_writer_abort(writer);
}

static sluice_status pack(const sluice_dataset *dataset, const char *path,
                          const sluice_pack_options *options, sluice_pack_result *result,
                          sluice_error *error)
{
    sluice_pack_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_pack_options", error);
    if (status == SLUICE_OK) {
        status = check_common(&own.shard_bytes, own.zstd_level, error);
    }
    if (status == SLUICE_OK) {
        status = check_jpeg(own.keep_bytes, own.jpeg_metadata, own.tile_mcus, error);
    }
    if (status < 0) {
        return status;
    }
    if (own.workers > PACK_WORKERS_MAX || own.keep_order > 1 || own.overwrite > 1 ||
        own.skip_verify > 1 ||
        (own.on_bad != SLUICE_PACK_BAD_FAIL && own.on_bad != SLUICE_PACK_BAD_SKIP)) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "workers must be at most %d, keep_order, overwrite and skip_verify 0 "
                            "or 1, on_bad a sluice_pack_on_bad",
                            PACK_WORKERS_MAX);
    }
    own.workers = own.workers > 0 ? own.workers : sl_cpu_count();
    return sl_pack(sl_api_const_dataset(dataset), path, &own, result, error);
}

sluice_status sluice_pack(const sluice_dataset *dataset, const char *path,
                          const sluice_pack_options *options, sluice_pack_result *result,
                          sluice_error *error)
{
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (!dataset || !path) {
        return sl_api_missing(error, dataset ? "path" : "dataset");
    }
    sluice_status status =
        result ? sl_api_check_result(result, "sluice_pack_result", error) : SLUICE_OK;
    if (status != SLUICE_OK) {
        return status;
    }
    sluice_error reason;
    sluice_pack_result own;
    status = pack(dataset, path, options, &own, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    return result ? sl_api_write_struct(result, &own, sizeof(own)) : SLUICE_OK;
}

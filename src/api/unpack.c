/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry points of sluice/unpack.h. */
#include "unpack.h"

#include "api.h"
#include "cpu.h"
#include "error.h"
#include "series.h"

enum { UNPACK_WORKERS_MAX = 1024, SAMPLE_BYTES_DEFAULT = 1 << 30 };

static sluice_status check(sluice_unpack_options *options, sluice_error *error)
{
    if (options->shard_bytes == 0) {
        options->shard_bytes = SL_SHARD_BYTES_DEFAULT;
    }
    if (options->shard_bytes < SL_SHARD_BYTES_MIN || options->shard_bytes > SL_SHARD_BYTES_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            SL_OPTION("shard_bytes") " is %llu and must be from 1 MiB to 1 TiB",
                            (unsigned long long)options->shard_bytes);
    }
    if (options->workers > UNPACK_WORKERS_MAX || options->overwrite > 1 || options->reserved != 0 ||
        (options->form != SLUICE_UNPACK_FOLDER && options->form != SLUICE_UNPACK_TAR) ||
        options->on_bad < SLUICE_PACK_BAD_FAIL || options->on_bad > SLUICE_PACK_BAD_SKIP_ALL ||
        options->max_sample_bytes > SL_RECORD_BYTES_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "workers must be at most %d, overwrite 0 or 1, form a "
                            "sluice_unpack_form, on_bad a sluice_pack_on_bad, reserved 0, "
                            "max_sample_bytes at most 2^31 - 1",
                            UNPACK_WORKERS_MAX);
    }
    if (options->max_sample_bytes == 0) {
        options->max_sample_bytes = SAMPLE_BYTES_DEFAULT;
    }
    options->workers = options->workers > 0 ? options->workers : sl_cpu_count();
    return SLUICE_OK;
}

static sluice_status unpack(const sluice_dataset *dataset, const char *path,
                            const sluice_unpack_options *options, sluice_unpack_result *result,
                            sluice_error *error)
{
    sluice_unpack_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_unpack_options", error);
    if (status == SLUICE_OK) {
        status = check(&own, error);
    }
    return status == SLUICE_OK ? sl_unpack(sl_api_const_dataset(dataset), path, &own, result, error)
                               : status;
}

sluice_status sluice_unpack(const sluice_dataset *dataset, const char *path,
                            const sluice_unpack_options *options, sluice_unpack_result *result,
                            sluice_error *error)
{
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (dataset == NULL || path == NULL) {
        return sl_api_missing(error, dataset != NULL ? "path" : "dataset");
    }
    sluice_status status =
        result != NULL ? sl_api_check_result(result, "sluice_unpack_result", error) : SLUICE_OK;
    if (status != SLUICE_OK) {
        return status;
    }
    sluice_error reason;
    sluice_unpack_result own;
    status = unpack(dataset, path, options, &own, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    return result != NULL ? sl_api_write_struct(result, &own, sizeof(own)) : SLUICE_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* unpack: entry points of sluice/unpack.h. */
#include "unpack.h"

#include "api.h"
#include "error.h"
#include "options.h"
#include "series.h"

enum { SAMPLE_BYTES_DEFAULT = 1 << 30 };

static sluice_status unpack_check(const sl_dataset *dataset, sluice_unpack_options *options,
                                  sluice_error *error)
{
    const sluice_status status = sl_options_check(SLUICE_OPTIONS_UNPACK, options, "api", error);
    if (status < 0) {
        return status;
    }
    if (options->reserved != 0) {
        return sl_error_set(error, SLUICE_INVALID, "api", "reserved must be 0");
    }
    if (options->shard_bytes == 0) {
        options->shard_bytes = SL_SHARD_BYTES_DEFAULT;
    }
    if (options->max_sample_bytes == 0) {
        options->max_sample_bytes = SAMPLE_BYTES_DEFAULT;
    }
    if (options->workers == 0) {
        options->workers = sl_dataset_threads(dataset);
    }
    return SLUICE_OK;
}

static sluice_status unpack_samples(const sluice_dataset *dataset, const char *path,
                                    const sluice_unpack_options *options,
                                    sluice_unpack_result *result, sluice_error *error)
{
    sluice_unpack_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_unpack_options", error);
    if (status == SLUICE_OK) {
        status = sl_api_check_output(path, error);
    }
    if (status == SLUICE_OK) {
        status = unpack_check(sl_api_const_dataset(dataset), &own, error);
    }
    return status == SLUICE_OK ? sl_unpack(sl_api_const_dataset(dataset), path, &own, result, error)
                               : status;
}

sluice_status sluice_unpack(const sluice_dataset *dataset, const char *path,
                            const sluice_unpack_options *options, sluice_unpack_result *result,
                            sluice_error *error)
{
    if (sl_api_lacks(error, dataset, "dataset") || sl_api_lacks(error, path, "path") ||
        sl_api_is_untagged(error, result, "sluice_unpack_result")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_unpack_result own;
    const sluice_status status = unpack_samples(dataset, path, options, &own, &reason);
    return status < 0 ? sl_api_fail(error, &reason)
                      : sl_api_write_optional(result, &own, sizeof(own));
}

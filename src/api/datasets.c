/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry points of sluice/datasets.h. */
#include "api.h"
#include "error.h"
#include "joined.h"

static sluice_status check_names(const char *const *names, uint32_t count, sluice_error *error)
{
    if ((names != NULL) != (count > 0) || count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "fields are 1 to %u names, and field_count says how many",
                            SL_FIELDS_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (names[i] == NULL) {
            return sl_error_set(error, SLUICE_INVALID, "api", "a field is missing (NULL)");
        }
    }
    return SLUICE_OK;
}

/* The datasets that a call was given; INVALID when one is missing. */
static sluice_status check_datasets(sluice_dataset *const *datasets, size_t count,
                                    sluice_error *error)
{
    if (count > SL_JOINED_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api", "at most %u datasets can be joined",
                            SL_JOINED_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (datasets == NULL || datasets[i] == NULL) {
            return sl_error_set(error, SLUICE_INVALID, "api", "dataset %zu is missing (NULL)",
                                i + 1);
        }
    }
    return SLUICE_OK;
}

/* The public handle is the internal object. */
static sl_dataset *const *own_datasets(sluice_dataset *const *datasets)
{
    return (sl_dataset *const *)(const void *)datasets;
}

sluice_status sluice_dataset_concat(sluice_dataset **joined, sluice_dataset *const *datasets,
                                    size_t count, const sluice_concat_options *options,
                                    sluice_error *error)
{
    sluice_error reason;
    sluice_concat_options own;
    sl_dataset *made = NULL;
    if (joined != NULL) {
        *joined = NULL;
    }
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (joined == NULL) {
        return sl_api_missing(error, "joined");
    }
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_concat_options", &reason);
    if (status == SLUICE_OK) {
        status = check_datasets(datasets, count, &reason);
    }
    if (status == SLUICE_OK) {
        status = check_names(own.fields, own.field_count, &reason);
    }
    if (status == SLUICE_OK) {
        const sl_field_names names = {own.fields, own.field_count};
        status = sl_joined_open(&made, own_datasets(datasets), (uint32_t)count, names, &reason);
    }
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    *joined = (sluice_dataset *)(void *)made;
    return SLUICE_OK;
}

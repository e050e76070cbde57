/* SPDX-License-Identifier: Apache-2.0 */
#include "document_lengths.h"

#include "error.h"
#include "field_lengths.h"
#include "memory.h"
#include "stop.h"

#define STAGE "loader"

static int32_t opening_is_stopped(void *user)
{
    sluice_error ignored;
    (void)user;
    return sl_stop_check(STAGE, &ignored) != SLUICE_OK;
}

static sluice_status read_all_lengths(const sl_dataset *dataset, uint32_t field, uint64_t *lengths,
                                      sluice_error *error)
{
    const sluice_scan_options options = {.struct_size = sizeof(options),
                                         .should_stop = opening_is_stopped};
    if (sl_field_lengths_source(dataset, field) != SLUICE_LENGTHS_NONE) {
        return sl_field_lengths_read(dataset, field, lengths, &options, error);
    }
    for (uint64_t i = 0; i < dataset->info.samples; i++) { /* all have the field's shape */
        lengths[i] = (uint64_t)dataset->fields[field].shape[0];
    }
    return SLUICE_OK;
}

static sluice_status narrow_lengths(const sl_dataset *dataset, uint32_t field, const uint64_t *wide,
                                    uint32_t *lengths, sluice_error *error)
{
    for (uint64_t i = 0; i < dataset->info.samples; i++) {
        if (wide[i] > UINT32_MAX) {
            const sluice_status status =
                sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                             "document %llu of \"%s\" has more than 2^32 - 1 elements",
                             (unsigned long long)i, dataset->fields[field].name);
            error->sample = (int64_t)i;
            return status;
        }
        lengths[i] = (uint32_t)wide[i];
    }
    return SLUICE_OK;
}

sluice_status sl_document_lengths_read(const sl_dataset *dataset, uint32_t field,
                                       uint32_t **lengths, sluice_error *error)
{
    const uint64_t samples = dataset->info.samples;
    uint64_t *wide = sl_calloc(samples, sizeof(*wide));
    uint32_t *narrow = sl_calloc(samples, sizeof(*narrow));
    sluice_status status;
    *lengths = NULL;
    if (wide != NULL && narrow != NULL) {
        status = read_all_lengths(dataset, field, wide, error);
        status = status == SLUICE_OK ? narrow_lengths(dataset, field, wide, narrow, error) : status;
    } else {
        status = sl_no_memory(error, STAGE, "for the lengths of %llu documents",
                              (unsigned long long)samples);
    }
    sl_free(wide);
    if (status == SLUICE_OK) {
        *lengths = narrow;
    } else {
        sl_free(narrow);
    }
    return status;
}

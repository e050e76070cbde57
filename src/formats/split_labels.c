/* SPDX-License-Identifier: Apache-2.0 */
#include "split_labels.h"

#include "error.h"
#include "format_table.h"
#include "formats.h"
#include "memory.h"

#include <string.h>

#define STAGE "dataset"

static const sl_format *find_format(const sl_dataset *dataset)
{
    for (size_t i = 0; i < SL_FORMATS; i++) {
        if (strcmp(sl_formats[i]->name, dataset->info.format) == 0) {
            return sl_formats[i];
        }
    }
    return NULL;
}

/* Opens another split. `*other` is NULL if it has no labels of this kind or cannot be opened. */
static sluice_status open_other_split(sl_dataset *dataset, const char *path,
                                      const sluice_dataset_options *options, sl_dataset **other,
                                      sluice_error *error)
{
    sluice_error why = SLUICE_ERROR_INIT;
    sluice_dataset_options own = *options;
    sl_dataset *opened = NULL;
    own.split = NULL;
    const sluice_status status = sl_dataset_open(&opened, &path, 1, &own, &why);
    if (status == SLUICE_IO || status == SLUICE_NOMEM) {
        if (error != NULL) {
            *error = why;
        }
        return status;
    }
    if (status < 0) {
        sl_warnings_add(
            &dataset->warnings,
            "labels are numbered without those of the split %.160s, which cannot be opened: %.256s",
            path, why.text);
    }
    const bool joins = opened != NULL && opened->info.classes > 0 &&
                       strcmp(opened->info.format, dataset->info.format) == 0;
    *other = joins ? opened : NULL;
    sl_dataset_close(joins ? NULL : opened);
    return SLUICE_OK;
}

sluice_status sl_split_labels_number(sl_dataset *dataset, const char *path,
                                     const sl_file_list *splits,
                                     const sluice_dataset_options *options, sluice_error *error)
{
    const sl_format *format = find_format(dataset);
    uint32_t count = 0;
    if (format == NULL || format->number_over == NULL || dataset->info.classes == 0) {
        return SLUICE_OK;
    }
    sl_dataset **others = (sl_dataset **)sl_calloc((size_t)splits->count + 1, sizeof(sl_dataset *));
    sluice_status status = SLUICE_OK;
    if (others == NULL) {
        return sl_no_memory(error, STAGE, "for the names of classes");
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < splits->count; i++) {
        if (strcmp(splits->files[i].path, path) != 0) {
            status =
                open_other_split(dataset, splits->files[i].path, options, &others[count], error);
            count += others[count] != NULL;
        }
    }
    if (status == SLUICE_OK) {
        status = format->number_over(dataset, others, count, error);
    }
    for (uint32_t i = 0; i < count; i++) {
        sl_dataset_close(others[i]);
    }
    sl_free((void *)others);
    return status;
}

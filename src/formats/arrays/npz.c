/* SPDX-License-Identifier: Apache-2.0 */
/* npz: opens .npz files, and decides whether files or rows are the samples. */
#include "npz.h"

#include "memory.h"
#include "store.h"

#include <string.h>

#define STAGE "dataset"

static bool npz_is_named(const char *name)
{
    return sl_ends_with(name, ".npz");
}

/* only the name identifies them: many formats are zip archives */
static const sl_file_kind npz_files = {.plural = ".npz files",
                                       .suffix = ".npz",
                                       .is_named = npz_is_named};

static bool npz_probe(sl_look *look)
{
    return sl_file_set_probe(&npz_files, look);
}

sl_source_column *sl_npz_columns(const sl_npz_file *file, bool of_rows)
{
    sl_source_column *columns = sl_calloc(file->count > 0 ? file->count : 1, sizeof(*columns));
    for (uint32_t i = 0; columns != NULL && i < file->count; i++) {
        const sl_npz_entry *entry = &file->entries[i];
        memcpy(columns[i].name, entry->name, sizeof(columns[i].name));
        columns[i].refused = entry->refused;
        if (entry->refused == NULL) {
            sl_npz_field(&columns[i].field, &entry->npy, of_rows && entry->npy.dims > 0);
        }
    }
    return columns;
}

/*
 * Looks at a single file. `*has_rows`: its rows are the samples; `fields` are then those of rows.
 */
static sluice_status npz_look(const char *path, sl_npz_file *file, sl_source_fields *fields,
                              const sluice_dataset_options *options, bool *has_rows,
                              sluice_error *error)
{
    sl_source_fields by_rows;
    *has_rows = false;
    sl_source_column *columns = sl_npz_columns(file, true);
    if (columns == NULL) {
        return sl_no_memory_file(error, STAGE, path, "looking at it");
    }
    /* requested types may fit only one way; if they fit neither, reading by samples reports it */
    if (sl_source_fields_find(&by_rows, columns, file->count, options, path, NULL) == SLUICE_OK) {
        *has_rows = sl_npz_has_rows(file, &by_rows);
        *fields = by_rows;
    }
    sl_free(columns);
    return SLUICE_OK;
}

static sluice_status open_one(sl_dataset **dataset, const char *path, sl_file_set *set,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sl_npz_file file;
    sl_source_fields fields = {.count = 0};
    bool has_rows = false;
    sluice_status status = sl_npz_file_read(&file, path, error);
    if (status < 0) {
        return status;
    }
    status = npz_look(path, &file, &fields, options, &has_rows, error);
    if (status == SLUICE_OK && has_rows) {
        status = sl_npz_open_rows(dataset, path, &file, &fields, error);
    }
    sl_npz_file_close(&file);
    if (status < 0 || has_rows) {
        return status;
    }
    return sl_npz_open_samples(
        dataset, set, "one .npz file whose arrays have different lengths: it is one sample",
        options, error);
}

static sluice_status open_npz(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sl_file_set set = {.samples = 0};
    sluice_status status = sl_file_set_list(&set, &npz_files, paths, count, error);
    if (status == SLUICE_OK && count == 1 && !sl_store_has_folder(paths[0])) {
        status = open_one(dataset, paths[0], &set, options, error);
    } else if (status == SLUICE_OK) {
        status = sl_npz_open_samples(dataset, &set, ".npz files, one sample each", options, error);
    }
    sl_file_set_close(&set);
    return status;
}

SL_FORMAT(npz) = {
    .name = "npz",
    .files = ".npz files",
    .known = ".npz",
    .takes_fields = true,
    .probe = npz_probe,
    .is_named = npz_is_named,
    .open = open_npz,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "formats.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#define STAGE "dataset"

/* The format table. A path that several rows but the last take is not to be guessed about. */
static const sl_format *const formats[] = {
    &sl_format_shards,   &sl_format_tars,    &sl_format_wids,  &sl_format_tfrecords,
    &sl_format_recordio, &sl_format_parquet, &sl_format_arrow, &sl_format_mds,
    &sl_format_litdata,  &sl_format_beton,   &sl_format_lmdb,  &sl_format_table,
    &sl_format_coco,     &sl_format_voc,     &sl_format_npz,   &sl_format_npy,
    &sl_format_megatron, &sl_format_folder};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* Which formats a folder has a file of, by the names of its files. */
static void look_at_names(const char *path, bool named[FORMATS])
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): our own stream
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        for (size_t i = 0; entry->d_name[0] != '.' && i < FORMATS; i++) {
            named[i] =
                named[i] || (formats[i]->is_named != NULL && formats[i]->is_named(entry->d_name));
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

/* Number of the format that a folder says by itself it has; FORMATS: it does not. */
static size_t find_mark(const char *folder)
{
    size_t i = 0;
    while (i < FORMATS && (formats[i]->is_marked == NULL || !formats[i]->is_marked(folder))) {
        i++;
    }
    return i;
}

/* NULL, with an error: none, or several. */
static const sl_format *find_format(const char *path, bool folder, sluice_error *error)
{
    const sl_format *found = NULL;
    bool named[FORMATS] = {false};
    const size_t marked = folder ? find_mark(path) : FORMATS;
    if (marked < FORMATS) {
        return formats[marked];
    }
    if (folder) {
        look_at_names(path, named);
    }
    for (size_t i = 0; i < FORMATS; i++) {
        const bool by_name = folder && formats[i]->is_named != NULL;
        if ((found != NULL && i + 1 == FORMATS) ||
            !(by_name ? named[i] : formats[i]->probe(path))) {
            continue;
        }
        if (found != NULL) {
            (void)sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                "holds a dataset of the format \"%s\" and one of \"%s\": name the "
                                "files of the one that is meant",
                                found->name, formats[i]->name);
            return NULL;
        }
        found = formats[i];
    }
    if (found == NULL) {
        (void)sl_error_file(
            error, SLUICE_INVALID, STAGE, 0, path, -1,
            "neither a folder of pictures, nor packed shards (*.sluice), nor of a known "
            "format: tar archives, lists of them (wids), TFRecords, RecordIO (.rec), "
            "Parquet, Arrow files, MDS, LitData, FFCV (.beton), LMDB, tables of pictures "
            "(.csv, .tsv, .jsonl, .lst), COCO annotations (.json with images, annotations or "
            "categories), Pascal VOC annotations (a folder of .xml, or a list in ImageSets), .npz, "
            ".npy, Megatron's .bin with .idx");
    }
    return found;
}

sluice_status sl_dataset_open(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    *dataset = NULL;
    if (count == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "no path was given");
    }
    struct stat status;
    if (stat(paths[0], &status) != 0) {
        return sl_error_file(error, SLUICE_IO, STAGE, errno, paths[0], -1, "cannot open");
    }
    const sl_format *format = find_format(paths[0], S_ISDIR(status.st_mode), error);
    if (format == NULL) {
        return SLUICE_INVALID;
    }
    if (options->field_count > 0 && !format->takes_fields) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[0], -1,
                             "fields cannot be chosen of the format \"%s\", which this "
                             "dataset has",
                             format->name);
    }
    return format->open(dataset, paths, count, options, error);
}

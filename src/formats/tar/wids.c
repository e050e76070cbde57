/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wids: opens lists of tar archives in JSON, as WebDataset's widsindex writes them.
 *
 * {"__kind__": "wids-shard-index-v1", "shardlist": [{"url": "train-000000.tar", "nsamples": 1000},
 * ...]}; "datasets": [{"base": "more", "shardlist": [...]}, ...] may hold further lists. The named
 * archives are opened in this order like any others. The sum of "nsamples" must match their total
 * number of samples.
 */
#include "boundary.h"
#include "dataset.h"
#include "file_list.h"
#include "file_set.h"
#include "json_file.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"
#define LIST  "shardlist"

extern const sl_format sl_format_tars;

/* Recognises a list by "__kind__" at its beginning. */
static bool wids_probe(sl_look *look)
{
    const char *head = sl_ends_with(look->path, ".json") ? sl_look_text(look) : "";
    return strstr(head, "\"wids-shard-index-v1\"") != NULL ||
           strstr(head, "\"wids_version\"") != NULL || strstr(head, "\"" LIST "\"") != NULL;
}

/* The archives of a list. */
typedef struct archives {
    const char *list; /* path of the JSON file */
    sl_file_list files;
    sl_boundary *boundary; /* the list's folder; NULL: archives may be anywhere */
    uint64_t samples;      /* number of samples according to the list */
    bool counted;          /* true if the list has a number for each archive */
} archives;

static sluice_status wids_refuse(const archives *a, sluice_status status, const char *what,
                                 const char *why, sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, a->list, -1, "%s%.300s%s%s",
                         what != NULL ? "\"" : "", what != NULL ? what : "",
                         what != NULL ? "\": " : "", why);
}

static sluice_status wids_refuse_name(const archives *a, sl_bytes name, sluice_error *error)
{
    char why[512];
    sl_boundary_explain(a->boundary, name, why, sizeof(why));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, a->list, -1, "archive %u: %s",
                         a->files.count, why);
}

/* Adds an archive. Its path is relative to `base` if given, or else to the folder of the list. */
static sluice_status wids_add(archives *a, const char *url, const char *base, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const char *slash = strrchr(a->list, '/');
    const bool is_whole = url[0] == '/';
    if (strstr(url, "://") != NULL || (base != NULL && strstr(base, "://") != NULL)) {
        return wids_refuse(a, SLUICE_UNSUPPORTED, url, "remote archives are not supported", error);
    }
    if (strchr(url, '{') != NULL) {
        return wids_refuse(a, SLUICE_UNSUPPORTED, url, "each archive must be named", error);
    }
    const int folder = is_whole || slash == NULL || (base != NULL && base[0] == '/')
                           ? 0
                           : (int)(slash - a->list + 1);
    const int length =
        snprintf(path, sizeof(path), "%.*s%s%s%s", folder, a->list,
                 base != NULL && !is_whole ? base : "", base != NULL && !is_whole ? "/" : "", url);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return wids_refuse(a, SLUICE_INVALID, NULL, "the path of an archive is too long", error);
    }
    const sl_bytes name = {(const uint8_t *)path + folder, (size_t)(length - folder)};
    return sl_boundary_has_name(a->boundary, name, 0) ? sl_file_list_add(&a->files, path, error)
                                                      : wids_refuse_name(a, name, error);
}

/* Adds the archives of an object's list, if it has one. */
static sluice_status add_list(archives *a, const json_t *object, const char *base,
                              sluice_error *error)
{
    const json_t *list = sl_json_member(object, LIST);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *shard = json_array_get(list, i);
        const char *url =
            json_is_string(shard) ? json_string_value(shard) : sl_json_text(shard, "url");
        uint64_t samples = 0;
        if (url == NULL || url[0] == '\0') {
            return wids_refuse(a, SLUICE_CORRUPT, NULL, "an archive has no \"url\"", error);
        }
        const sluice_status status = wids_add(a, url, base, error);
        if (status < 0) {
            return status;
        }
        a->counted = a->counted && sl_json_count(shard, "nsamples", &samples);
        a->samples += samples;
    }
    return SLUICE_OK;
}

/*
 * Adds an entry of "datasets": its list, whose paths are relative to its own base, if it has one.
 */
static sluice_status wids_add_part(archives *a, const json_t *part, const char *base,
                                   sluice_error *error)
{
    const char *own = sl_json_text(part, "base");
    const char *source = sl_json_text(part, "source_url");
    if (source != NULL) {
        return wids_refuse(a, SLUICE_UNSUPPORTED, source,
                           "a list that refers to another one (\"source_url\") is not supported: "
                           "copy the archives of that list into this one",
                           error);
    }
    if (!json_is_array(sl_json_member(part, LIST))) {
        return wids_refuse(a, SLUICE_CORRUPT, NULL,
                           "an entry of its \"datasets\" has no list of archives (\"" LIST "\")",
                           error);
    }
    return add_list(a, part, own != NULL ? own : base, error);
}

static sluice_status add_all(archives *a, const json_t *root, sluice_error *error)
{
    const json_t *parts = sl_json_member(root, "datasets");
    const char *base = sl_json_text(root, "base");
    a->counted = true;
    sluice_status status = add_list(a, root, base, error);
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(parts); i++) {
        status = wids_add_part(a, json_array_get(parts, i), base, error);
    }
    if (status == SLUICE_OK && a->files.count == 0) {
        return wids_refuse(a, SLUICE_UNSUPPORTED, NULL,
                           "the list of archives is missing (\"" LIST "\") or empty", error);
    }
    return status;
}

static sluice_status check_count(const archives *a, const sl_dataset *dataset, sluice_error *error)
{
    return !a->counted || a->samples == dataset->info.samples
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, a->list, -1,
                               "it lists %llu samples in its archives, which have %llu: it is out "
                               "of date, or an archive was replaced",
                               (unsigned long long)a->samples,
                               (unsigned long long)dataset->info.samples);
}

static sluice_status open_archives(sl_dataset **dataset, const archives *a,
                                   const sluice_dataset_options *options, sluice_error *error)
{
    const uint32_t count = a->files.count;
    const char **paths = (const char **)sl_calloc(count, sizeof(*paths));
    if (paths == NULL) {
        return sl_no_memory(error, STAGE, "for a list of archives");
    }
    for (uint32_t i = 0; i < count; i++) {
        paths[i] = a->files.files[i].path;
    }
    const sluice_status status = sl_format_tars.open(dataset, paths, count, options, error);
    sl_free((void *)paths);
    return status;
}

static sluice_status wids_open(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    sl_json_tree tree = {NULL, 0};
    archives a = {.list = paths[0]};
    if (count > 1) {
        return wids_refuse(&a, SLUICE_INVALID, NULL,
                           "lists of archives cannot be joined: put all archives into one list, or "
                           "join the datasets (" SL_OPTION("sluice_dataset_concat") ")",
                           error);
    }
    sluice_status status = options->allow_outside != 0
                               ? SLUICE_OK
                               : sl_boundary_open_beside(&a.boundary, a.list, error);
    status = status == SLUICE_OK ? sl_json_load(&tree, a.list, error) : status;
    status = status == SLUICE_OK ? add_all(&a, tree.root, error) : status;
    if (status == SLUICE_OK) {
        status = sl_file_list_check(&a.files, 0, a.boundary, a.list, error);
    }
    status = status == SLUICE_OK ? open_archives(dataset, &a, options, error) : status;
    if (status == SLUICE_OK) {
        status = check_count(&a, *dataset, error);
        if (status < 0) {
            sl_dataset_close(*dataset);
            *dataset = NULL;
        }
    }
    sl_file_list_close(&a.files);
    sl_boundary_close(a.boundary);
    sl_json_drop(&tree);
    return status;
}

/* named after the format that the archives have */
SL_FORMAT(wids) = {
    .name = "tar",
    .files = "lists of tar archives",
    .known = "lists of them (wids)",
    .probe = wids_probe,
    .open = wids_open,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_sources.h"

#include "error.h"
#include "splits.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { OFFER_BYTES = 384 };

const char *sl_yolo_skip_dots(const char *path)
{
    while (path[0] == '.' && path[1] == '/') {
        path += 2 + strspn(path + 2, "/");
    }
    return path;
}

bool sl_yolo_full(const sl_yolo_files *files, const char *path, char full[SL_PATH_BYTES])
{
    const bool absolute = path[0] == '/';
    const int length = snprintf(full, SL_PATH_BYTES, "%s%s%s", absolute ? "" : files->root,
                                absolute || path[0] == '\0' ? "" : "/", path);
    return length >= 0 && length < SL_PATH_BYTES;
}

/* ---- names ---- */

/* The reason begins with "line N: " if a line is given. */
sluice_status sl_yolo_check_name(const sl_yolo_files *files, const char *name, const char *list,
                                 uint64_t line, sluice_error *error)
{
    char why[512];
    char where[40] = "";
    const sl_bytes bytes = {(const uint8_t *)name, strlen(name)};
    if (sl_boundary_has_name(files->boundary, bytes, 0)) {
        return SLUICE_OK;
    }
    sl_boundary_explain(files->boundary, bytes, why, sizeof(why));
    if (line > 0) {
        (void)snprintf(where, sizeof(where), "line %llu: ", (unsigned long long)line);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, list, -1, "%s%s", where, why);
}

/*
 * Finds the end of a path that exists below the root, such as "images/train" of a path on another
 * machine. NULL: none.
 */
static const char *find_existing_end(const sl_yolo_files *files, const char *path)
{
    char full[SL_PATH_BYTES];
    sl_store_facts facts;
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += strspn(at, "/.");
        if (at[0] != '\0' && at != path && sl_yolo_full(files, at, full) &&
            sl_store_stat(full, &facts) == 0) {
            return at;
        }
    }
    return NULL;
}

/* Rejects a path outside the YAML file's folder, usually one of the machine that wrote the file. */
static sluice_status refuse_outside(const sl_yolo_files *files, const char *list, const char *name,
                                    const char *outside, sluice_error *error)
{
    char full[SL_PATH_BYTES];
    sl_store_facts facts;
    const bool is_there = strstr(outside, "://") != NULL || !sl_yolo_full(files, outside, full) ||
                          sl_store_stat(full, &facts) == 0;
    if (is_there) {
        return sl_yolo_check_name(files, outside, list, 0, error);
    }
    const char *shown = files->yaml.path == NULL || name[0] == '/' ? name : outside;
    const char *end = find_existing_end(files, outside);
    return end == NULL
               ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, list, -1,
                               "it names \"%.256s\", which does not exist: write a path relative "
                               "to the folder of this file",
                               shown)
               : sl_error_file(
                     error, SLUICE_INVALID, STAGE, 0, list, -1,
                     "it names \"%.256s\", which does not exist: write \"%.256s\", which exists",
                     shown, end);
}

/* Finds a split's folder or list relative to the root, allowing for the usual ways to write it. */
sluice_status sl_yolo_find_source(const sl_yolo_files *files, const char *list, const char *name,
                                  char found[SL_PATH_BYTES], sluice_error *error)
{
    const bool up = strncmp(name, "../", 3) == 0;
    const char *path = files->yaml.path;
    const char *below = path; /* "datasets/coco128" in "../datasets/coco128" */
    while (below != NULL && strncmp(below, "../", 3) == 0) {
        below += 3;
    }
    const char *const bases[] = {path, "", below != path ? below : NULL,
                                 path != NULL ? sl_path_name(path) : NULL};
    const char *const ends[] = {name, up ? name + 3 : NULL};
    char full[SL_PATH_BYTES];
    char outside[SL_PATH_BYTES] = "";
    sl_store_facts facts;
    for (size_t i = 0; i < 2 * sizeof(bases) / sizeof(bases[0]); i++) {
        const char *base = bases[i / 2];
        const char *end = ends[i % 2];
        if (base == NULL || end == NULL) {
            continue;
        }
        base = sl_yolo_skip_dots(base);
        base = strcmp(base, ".") == 0 ? "" : base;
        const bool alone = end[0] == '/' || base[0] == '\0';
        const int length =
            snprintf(found, SL_PATH_BYTES, "%s%s%s", alone ? "" : base,
                     alone || sl_ends_with(base, "/") ? "" : "/", sl_yolo_skip_dots(end));
        if (length < 0 || length >= SL_PATH_BYTES || !sl_yolo_full(files, found, full)) {
            continue;
        }
        if (!sl_boundary_has_name(files->boundary,
                                  (sl_bytes){(const uint8_t *)found, (size_t)length}, 0)) {
            (void)snprintf(outside, sizeof(outside), "%s", found);
        } else {
            const int failed = sl_store_stat(full, &facts);
            if (failed == 0) {
                return SLUICE_OK;
            }
            if (!sl_store_is_missing(failed)) {
                return sl_error_file(error, SLUICE_IO, STAGE, -failed, full, -1, "cannot open");
            }
        }
    }
    return outside[0] != '\0'
               ? refuse_outside(files, list, name, outside, error)
               : sl_error_file(
                     error, SLUICE_INVALID, STAGE, 0, list, -1,
                     "it names \"%.256s\", which is neither an existing folder nor a list", name);
}

/* ---- splits ---- */

/* Finds the real path of a source; false: not found. */
static bool real_source(const sl_yolo_files *files, const char *yaml, const json_t *name,
                        char real[SL_PATH_BYTES])
{
    char found[SL_PATH_BYTES];
    char full[SL_PATH_BYTES];
    return sl_yolo_find_source(files, yaml, json_string_value(name), found, NULL) == SLUICE_OK &&
           sl_yolo_full(files, found, full) && sl_store_real_path(full, real) == 0;
}

/* Returns whether two splits have the same images. */
static bool are_same_sources(const sl_yolo_files *files, const char *yaml, const json_t *a,
                             const json_t *b)
{
    char one[SL_PATH_BYTES];
    char other[SL_PATH_BYTES];
    bool same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; same && i < json_array_size(a); i++) {
        const json_t *left = json_array_get(a, i);
        const json_t *right = json_array_get(b, i);
        same = json_equal(left, right) ||
               (real_source(files, yaml, left, one) && real_source(files, yaml, right, other) &&
                strcmp(one, other) == 0);
    }
    return same;
}

/* Rejects a YAML file with several splits. */
static sluice_status refuse_splits(const sl_yolo_files *files, const char *yaml,
                                   sluice_error *error)
{
    char offers[OFFER_BYTES] = "";
    char found[SL_PATH_BYTES];
    const char *first = NULL;
    size_t used = 0;
    for (int i = 0; i < SL_YOLO_SPLITS; i++) {
        const char *name = json_string_value(json_array_get(files->yaml.splits[i], 0));
        if (name == NULL || used >= sizeof(offers) - 1) {
            continue;
        }
        const bool is_there = sl_yolo_find_source(files, yaml, name, found, NULL) == SLUICE_OK;
        first = first == NULL ? sl_yolo_splits[i] : first;
        used += (size_t)snprintf(offers + used, sizeof(offers) - used, "%s%s (%.100s)",
                                 used > 0 ? ", " : "", sl_yolo_splits[i], is_there ? found : name);
    }
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, yaml, -1,
        "it names several splits, and only one can be opened: %s: choose one, such as " SL_OPTION(
            "split") "=\"%s\"",
        offers, first);
}

/* Chooses a split by its name, or else the only one; splits with the same images count once. */
sluice_status sl_yolo_choose_split(const sl_yolo_files *files, const char *yaml, int *split,
                                   sluice_error *error)
{
    const char *names[SL_YOLO_SPLITS];
    int numbers[SL_YOLO_SPLITS];
    uint32_t count = 0;
    uint32_t chosen = 0;
    bool same = true;
    for (int i = 0; i < SL_YOLO_SPLITS; i++) {
        if (json_array_size(files->yaml.splits[i]) > 0) {
            names[count] = sl_yolo_splits[i];
            numbers[count++] = i;
        }
    }
    if (count == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, yaml, -1,
                             "it names no images: train, val and test are empty or missing");
    }
    if (files->split != NULL) {
        const sluice_status status = sl_split_choose(names, count, files->split, &chosen, error);
        if (status < 0 && error != NULL) {
            sl_error_set_path(error, yaml);
        }
        *split = numbers[chosen];
        return status;
    }
    for (uint32_t i = 1; i < count && same; i++) {
        same = are_same_sources(files, yaml, files->yaml.splits[numbers[0]],
                                files->yaml.splits[numbers[i]]);
    }
    *split = numbers[0];
    return same ? SLUICE_OK : refuse_splits(files, yaml, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_paths: decides whether a path is a file, a saved dataset, or a folder of files with the
 * same base name. Runs on the opener's thread.
 */
#include "arrow_paths.h"

#include "arrow_file.h"
#include "file_set.h"
#include "json_file.h"
#include "memory.h"
#include "name_list.h"
#include "option_text.h"
#include "splits.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* Limit on dataset_info.json: features of about 10,000 classes. */
#define INFO_BYTES_MAX ((uint64_t)64 << 20)

#define DICT "dataset_dict.json"

enum { SPLITS_MAX = 64 };

void sl_arrow_paths_close(sl_arrow_paths *paths)
{
    sl_file_list_close(&paths->files);
    sl_file_list_close(&paths->tables);
    sl_free(paths->parts);
    sl_free(paths->info);
    memset(paths, 0, sizeof(*paths));
}

/* ---- names ---- */

static bool arrow_paths_has_file(const char *folder, const char *name)
{
    char path[SL_PATH_BYTES];
    return sl_path_join(path, folder, name) && sl_store_has_file(path);
}

static bool arrow_paths_is_named(const char *name)
{
    return sl_ends_with(name, ".arrow") || sl_ends_with(name, ".arrows") ||
           sl_ends_with(name, ".feather");
}

/*
 * Returns the length of a name without its suffix and numbers: "train" in
 * "train-00000-of-00002.arrow".
 */
static size_t stem_of(const char *name)
{
    const size_t before = sl_split_before_number(name);
    if (before > 0) {
        return before;
    }
    const char *dot = strrchr(name, '.');
    size_t length = dot != NULL ? (size_t)(dot - name) : strlen(name);
    for (int i = 0; i < 2; i++) {
        while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9') {
            length--;
        }
        const char *end = name + length;
        if (i == 0 && length > 4 &&
            (memcmp(end - 4, "-of-", 4) == 0 || memcmp(end - 4, "_of_", 4) == 0)) {
            length -= 4;
            continue;
        }
        break;
    }
    while (length > 0 && strchr("-_.", name[length - 1]) != NULL) {
        length--;
    }
    return length;
}

/* ---- recognising files ---- */

static sluice_status look_at_name(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)ctx;
    (void)error;
    return entry->name[0] != '.' && arrow_paths_is_named(entry->name) ? SLUICE_END : SLUICE_OK;
}

static bool holds_one(const char *path)
{
    return sl_store_list((sl_file_name){STAGE, path}, look_at_name, NULL, NULL) == SLUICE_END;
}

bool sl_arrow_probe(sl_look *look)
{
    const char *path = look->path;
    if (sl_look_is_folder(look)) {
        return arrow_paths_has_file(path, DICT) || holds_one(path);
    }
    const sl_bytes head = sl_look_head(look, SL_LOOK_BYTES);
    return sl_look_is_file(look) &&
           (arrow_paths_is_named(sl_path_name(path)) || sl_arrow_begins(head.data, head.size));
}

/* ---- a dictionary of datasets ---- */

typedef struct split_names {
    const char *of[SPLITS_MAX];
    uint32_t count;
} split_names;

static void list_splits(const json_t *splits, split_names *names)
{
    names->count = 0;
    for (size_t i = 0; i < json_array_size(splits) && names->count < SPLITS_MAX; i++) {
        const char *name = json_string_value(json_array_get(splits, i));
        if (name != NULL && name[0] != '\0' && strchr(name, '/') == NULL &&
            strcmp(name, "..") != 0) {
            names->of[names->count++] = name;
        }
    }
}

static sluice_status refuse_dict(const char *folder, const split_names *names, sluice_error *error)
{
    sl_name_list all;
    const char *first = names->count > 0 ? names->of[0] : "train";
    sl_name_list_begin(&all);
    for (uint32_t i = 0; i < names->count; i++) {
        sl_name_list_add(&all, names->of[i]);
    }
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, folder, -1,
        "the folder contains several datasets, one per split: %s: choose one (" SL_OPTION(
            "split") " \"%.64s\"), or open its folder (%.256s/%.64s)",
        all.text, first, folder, first);
}

/* Writes the folder of the wanted split to `inner`. */
static sluice_status arrow_choose_split(const sl_arrow_paths *paths, const char *folder,
                                        char inner[SL_PATH_BYTES], sluice_error *error)
{
    sl_json_tree tree = {NULL, 0};
    char path[SL_PATH_BYTES];
    split_names names = {.count = 0};
    uint32_t number = 0;
    (void)sl_path_join(path, folder, DICT); /* the path fits: the file exists */
    sluice_status status = sl_json_load(&tree, path, error);
    if (status < 0) {
        return status;
    }
    list_splits(sl_json_member(tree.root, "splits"), &names);
    if (paths->how.split == NULL) {
        status = refuse_dict(folder, &names, error);
    } else {
        status = sl_split_choose(names.of, names.count, paths->how.split, &number, error);
        if (status < 0 && error != NULL) {
            sl_error_set_path(error, folder);
        }
    }
    if (status == SLUICE_OK && !sl_path_join(inner, folder, names.of[number])) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                               "the path of a folder in it is too long");
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < names.count; i++) {
        if (i != number) {
            sl_omit(paths->how.omissions, SL_OMITTED_THINGS, "other splits", names.of[i]);
        }
    }
    sl_json_drop(&tree);
    return status;
}

/* ---- a saved dataset ---- */

static sluice_status refuse_state(const char *path, const char *why, sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1, "%s", why);
}

/* Returns whether an entry is a whole file; before 1.2 it could name a part. */
static bool arrow_paths_is_whole(const json_t *entry)
{
    const json_t *skip = sl_json_member(entry, "skip");
    return sl_json_member(entry, "take") == NULL &&
           (skip == NULL || (json_is_integer(skip) && json_integer_value(skip) == 0));
}

/* A state.json, and the folder that must contain its files; NULL: anywhere. */
typedef struct saved {
    const char *path, *folder;
    sl_boundary *boundary;
} saved;

static sluice_status check_name(const saved *s, const char *name, sluice_error *error)
{
    if (name == NULL || name[0] == '\0') {
        return refuse_state(s->path, "it names a file that is not beside it", error);
    }
    if (s->boundary == NULL || (strchr(name, '/') == NULL && strcmp(name, "..") != 0)) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, s->path, -1,
                         "it names \"%.256s\", which is not beside it: " SL_BOUNDARY_ADVICE, name);
}

static sluice_status add_named(sl_file_list *list, const saved *s, const json_t *entries,
                               sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    const uint32_t first = list->count;
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(entries); i++) {
        char path[SL_PATH_BYTES];
        const json_t *entry = json_array_get(entries, i);
        const char *name = sl_json_text(entry, "filename");
        status = check_name(s, name, error);
        if (status < 0) {
            return status;
        }
        if (!arrow_paths_is_whole(entry)) {
            return refuse_state(s->path, "it names parts of files: save the dataset again", error);
        }
        if (!(name[0] == '/' ? snprintf(path, sizeof(path), "%s", name) < SL_PATH_BYTES
                             : sl_path_join(path, s->folder, name))) {
            return refuse_state(s->path, "the path of a file that it names is too long", error);
        }
        status = sl_file_list_add(list, path, error);
    }
    return status == SLUICE_OK ? sl_file_list_check(list, first, s->boundary, s->path, error)
                               : status;
}

/* `*is_one` false: the file belongs to another format. */
static sluice_status add_saved(sl_arrow_paths *paths, const char *folder, bool *is_one,
                               sluice_error *error)
{
    sl_json_tree tree = {NULL, 0};
    char path[SL_PATH_BYTES];
    if (!sl_path_join(path, folder, "state.json")) {
        return refuse_state(folder, "the path of a file in it is too long", error);
    }
    sluice_status status = sl_json_load(&tree, path, error);
    if (status < 0) {
        return status;
    }
    saved s = {.path = path, .folder = folder};
    const json_t *files = sl_json_member(tree.root, "_data_files");
    *is_one = json_is_array(files);
    if (*is_one && !paths->how.anywhere) {
        status = sl_boundary_open(&s.boundary, folder, "", error);
    }
    if (*is_one && status == SLUICE_OK) {
        status = add_named(&paths->files, &s, files, error);
    }
    if (*is_one && status == SLUICE_OK) {
        status =
            add_named(&paths->tables, &s, sl_json_member(tree.root, "_indices_data_files"), error);
    }
    sl_boundary_close(s.boundary);
    sl_json_drop(&tree);
    return status;
}

/* ---- a folder of files ---- */

/* A folder that is being listed. */
typedef struct lister {
    sl_arrow_paths *paths;
    const char *folder;
} lister;

static sluice_status arrow_paths_add_entry(void *ctx, const sl_store_entry *entry,
                                           sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const lister *l = ctx;
    const char *folder = l->folder;
    const char *name = entry->name;
    if (name[0] == '.') {
        return SLUICE_OK;
    }
    if (!sl_path_join(path, folder, name)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                             "the path of a file in it is too long");
    }
    if (sl_store_is_folder(entry, path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                             "the folder contains Arrow files and the folder \"%.256s\": name the "
                             "files (%.256s/*.arrow) or that folder",
                             name, folder);
    }
    if (!arrow_paths_is_named(name)) {
        return SLUICE_OK;
    }
    return sl_file_list_add(&l->paths->files, path, error);
}

/*
 * Recognises results cached by datasets' map() and filter(): cache-1f2e3d4c5b6a7988.arrow,
 * ..._00000_of_00004.arrow.
 */
static bool is_cached_result(const char *path)
{
    static const char begin[] = "cache-";
    const char *name = sl_path_name(path);
    return strncmp(name, begin, sizeof(begin) - 1) == 0 &&
           strspn(name + sizeof(begin) - 1, "0123456789abcdef") == 16;
}

/* Leaves cached results out, unless there are no other files. */
static void leave_out_cached(sl_arrow_paths *paths)
{
    sl_file_list *files = &paths->files;
    uint32_t kept = 0;
    uint32_t cached = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        cached += is_cached_result(files->files[i].path);
    }
    for (uint32_t i = 0; cached < files->count && i < files->count; i++) {
        if (is_cached_result(files->files[i].path)) {
            sl_omit(paths->how.omissions, SL_OMITTED_THINGS,
                    "cached results of datasets (cache-*.arrow)", files->files[i].path);
            sl_free(files->files[i].path);
        } else {
            files->files[kept++] = files->files[i];
        }
    }
    files->count = cached < files->count ? kept : files->count;
}

static int arrow_paths_compare_paths(const void *a, const void *b)
{
    return strcmp(((const sl_listed_file *)a)->path, ((const sl_listed_file *)b)->path);
}

/*
 * Checks that all files have the same base name, so that splits in one folder are not joined
 * silently.
 */
static sluice_status check_stems(const sl_listed_file *files, uint32_t count, const char *folder,
                                 sluice_error *error)
{
    const char *first = sl_path_name(files[0].path);
    const size_t length = stem_of(first);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = sl_path_name(files[i].path);
        if (stem_of(name) != length || memcmp(name, first, length) != 0) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                                 "the folder contains files of several datasets (\"%.128s\" and "
                                 "\"%.128s\"): name the files of one of them",
                                 first, name);
        }
    }
    return SLUICE_OK;
}

/* Appends the listed files to the earlier ones. */
static sluice_status add_all_behind(sl_arrow_paths *paths, sl_file_list before,
                                    sluice_status status, sluice_error *error)
{
    sl_file_list listed = paths->files;
    paths->files = before;
    for (uint32_t i = 0; status == SLUICE_OK && i < listed.count; i++) {
        status = sl_file_list_add(&paths->files, listed.files[i].path, error);
    }
    sl_file_list_close(&listed);
    return status;
}

static sluice_status arrow_paths_list_folder(sl_arrow_paths *paths, const char *path,
                                             sluice_error *error)
{
    const sl_file_list before = paths->files;
    lister l = {paths, path};
    paths->files = (sl_file_list){.count = 0};
    sl_file_list *files = &paths->files;
    sluice_status status =
        sl_store_list((sl_file_name){STAGE, path}, arrow_paths_add_entry, &l, error);
    if (status == SLUICE_OK && files->count == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                               "the folder contains no Arrow files");
    }
    if (status == SLUICE_OK) {
        qsort(files->files, files->count, sizeof(*files->files), arrow_paths_compare_paths);
        leave_out_cached(paths);
        status = sl_split_files(files, path, paths->how.split, paths->how.omissions, error);
    }
    if (status == SLUICE_OK && paths->how.split == NULL) {
        status = check_stems(files->files, files->count, path, error);
    }
    return add_all_behind(paths, before, status, error);
}

/* ---- all of them ---- */

static sluice_status read_info(sl_arrow_paths *paths, const char *folder, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    if (paths->info != NULL || !arrow_paths_has_file(folder, "dataset_info.json") ||
        !sl_path_join(path, folder, "dataset_info.json")) {
        return SLUICE_OK;
    }
    return sl_store_read_whole((sl_file_name){STAGE, path}, INFO_BYTES_MAX, &paths->info,
                               &paths->info_bytes, error);
}

static sluice_status refuse_split(const sl_arrow_paths *paths, const char *path, const char *why,
                                  sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         SL_OPTION("split") " \"%.64s\": %s", paths->how.split, why);
}

static sluice_status arrow_paths_add_folder(sl_arrow_paths *paths, const char *folder,
                                            sluice_error *error)
{
    bool is_saved = false;
    char inner[SL_PATH_BYTES];
    sluice_status status = SLUICE_OK;
    if (arrow_paths_has_file(folder, DICT)) {
        status = arrow_choose_split(paths, folder, inner, error);
        if (status < 0) {
            return status;
        }
        folder = inner;
        paths->how.split = NULL; /* done: a split is chosen once */
    }
    if (arrow_paths_has_file(folder, "state.json")) {
        status = add_saved(paths, folder, &is_saved, error);
    }
    if (status == SLUICE_OK && is_saved && paths->how.split != NULL) {
        return refuse_split(paths, folder, "it is a saved dataset without splits", error);
    }
    if (status == SLUICE_OK && !is_saved) {
        status = arrow_paths_list_folder(paths, folder, error);
    }
    return status == SLUICE_OK ? read_info(paths, folder, error) : status;
}

static sluice_status arrow_paths_add_path(sl_arrow_paths *paths, const char *path,
                                          sluice_error *error)
{
    sl_store_facts facts;
    sl_arrow_part *part = &paths->parts[paths->part_count];
    *part = (sl_arrow_part){.first = paths->files.count, .first_table = paths->tables.count};
    sluice_status status = sl_store_find((sl_file_name){STAGE, path}, &facts, error);
    if (status < 0) {
        return status;
    }
    const char *split = paths->how.split;
    if (facts.kind != SL_ENTRY_FOLDER && split != NULL) {
        return refuse_split(paths, path, "it is a file, not a folder of splits", error);
    }
    status = facts.kind == SL_ENTRY_FOLDER ? arrow_paths_add_folder(paths, path, error)
                                           : sl_file_list_add(&paths->files, path, error);
    paths->how.split = split;
    part->count = paths->files.count - part->first;
    part->table_count = paths->tables.count - part->first_table;
    paths->part_count++;
    return status;
}

sluice_status sl_arrow_paths_find(sl_arrow_paths *paths, const char *const *given, size_t count,
                                  const sl_arrow_how *how, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    memset(paths, 0, sizeof(*paths));
    paths->how = *how;
    paths->parts = sl_calloc(count, sizeof(*paths->parts));
    if (paths->parts == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for a dataset");
    }
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = arrow_paths_add_path(paths, given[i], error);
    }
    if (status == SLUICE_OK && paths->files.count == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, given[0], -1,
                               "it names no files: the dataset is empty");
    }
    if (status < 0) {
        sl_arrow_paths_close(paths);
    }
    return status;
}

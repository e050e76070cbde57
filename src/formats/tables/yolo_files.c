/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_files.h"

#include "error.h"
#include "memory.h"
#include "name_tree.h"
#include "pair_look.h"
#include "splits.h"
#include "text_file.h"
#include "yolo_folders.h"
#include "yolo_paths.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { LIST_BYTES_MAX = 64 << 20, NAMES_BYTES_MAX = 1 << 20, OFFER_BYTES = 384 };

/* ---- pictures ---- */

static sluice_status yolo_files_refuse(const sl_yolo_files *files, sluice_error *error,
                                       const char *why)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, files->path, -1, "%s", why);
}

static const char *skip_dots(const char *path)
{
    while (path[0] == '.' && path[1] == '/') {
        path += 2 + strspn(path + 2, "/");
    }
    return path;
}

/* `folder` may be "", and `name` absolute. */
static sluice_status yolo_add(sl_yolo_files *files, const char *folder, const char *name,
                              sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const bool absolute = name[0] == '/';
    const int length = snprintf(path, sizeof(path), "%s%s%s", absolute ? "" : folder,
                                absolute || folder[0] == '\0' ? "" : "/", skip_dots(name));
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return yolo_files_refuse(files, error, "the path of a picture is too long");
    }
    if (!sl_grow(&files->text, &files->capacity, files->used + (uint64_t)length + 1, 1) ||
        !sl_grow(&files->files, &files->file_capacity, files->count + 1, sizeof(*files->files))) {
        return sl_no_memory_file(error, STAGE, files->path, "for the names of its files");
    }
    memcpy(files->text + files->used, path, (size_t)length + 1);
    files->files[files->count++] = files->used;
    files->used += (uint64_t)length + 1;
    return SLUICE_OK;
}

static bool yolo_full(const sl_yolo_files *files, const char *path, char full[SL_PATH_BYTES])
{
    const bool absolute = path[0] == '/';
    const int length = snprintf(full, SL_PATH_BYTES, "%s%s%s", absolute ? "" : files->root,
                                absolute || path[0] == '\0' ? "" : "/", path);
    return length >= 0 && length < SL_PATH_BYTES;
}

/* ---- folders ---- */

/* Of all pictures below a folder, itself from the root. */
static sluice_status yolo_add_folder(sl_yolo_files *files, const char *folder, bool deep,
                                     sl_name_tree *tree, sluice_error *error)
{
    char full[SL_PATH_BYTES];
    if (!yolo_full(files, folder, full)) {
        return yolo_files_refuse(files, error, "the path of a folder is too long");
    }
    tree->omissions = &files->omissions;
    tree->others = "files of image folders that are not images";
    sluice_status status = sl_name_tree_open(tree, full, deep, sl_pair_is_picture, error);
    if (status == SLUICE_OK && tree->count == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, full, -1, "no picture is in it");
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < tree->count; i++) {
        status = yolo_add(files, folder, sl_name_tree_path(tree, i), error);
    }
    return status == SLUICE_OK ? sl_yolo_count_labels(files, full, deep, tree, error) : status;
}

/* Whether a list may name it: a path from the root. `at` for the error: the list, and where. */
static sluice_status yolo_check_name(const sl_yolo_files *files, const char *name, const char *list,
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

/* ---- lists ---- */

typedef struct picture_list {
    const char *path;           /* of the list */
    char folder[SL_PATH_BYTES]; /* that it is in, from the root; "": that itself */
    sl_text_file file;
} picture_list;

static sluice_status take_list_line(sl_yolo_files *files, const picture_list *l, char *line,
                                    uint64_t number, sluice_error *error)
{
    char *end = line + strlen(line);
    line += strspn(line, " \t\r");
    while (end > line && isspace((unsigned char)end[-1])) {
        *--end = '\0';
    }
    if (line[0] == '\0') {
        return SLUICE_OK;
    }
    if (!sl_pair_is_picture(line)) {
        return sl_error_file(
            error, SLUICE_CORRUPT, STAGE, 0, l->path, sl_text_file_offset(&l->file, line),
            "line %llu: \"%.256s\" is not the name of a picture", (unsigned long long)number, line);
    }
    const sluice_status status = yolo_add(files, l->folder, line, error);
    return status == SLUICE_OK
               ? yolo_check_name(files, sl_yolo_files_picture(files, files->count - 1), l->path,
                                 number, error)
               : status;
}

static sluice_status yolo_add_list(sl_yolo_files *files, picture_list *l, sluice_error *error)
{
    uint64_t number = 0;
    sluice_status status = sl_text_file_read(&l->file, l->path, LIST_BYTES_MAX, error);
    for (char *line = l->file.text; status == SLUICE_OK && line < l->file.text + l->file.size;) {
        char *next = line + strcspn(line, "\n") + 1;
        next[-1] = '\0';
        status = take_list_line(files, l, line, ++number, error);
        line = next;
    }
    sl_text_file_close(&l->file);
    return status;
}

/* The folder that a file is in. */
static void folder_of(const char *path, const char *none, char folder[SL_PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        (void)snprintf(folder, SL_PATH_BYTES, "%s", none);
    } else {
        (void)snprintf(folder, SL_PATH_BYTES, "%.*s", (int)(slash == path ? 1 : slash - path),
                       path);
    }
}

/* ---- what is said of classes ---- */

static sluice_status take_names(sl_yolo_files *files, const char *path, sluice_error *error)
{
    sl_text_file text = {.data = NULL};
    sluice_status status = sl_text_file_read(&text, path, NAMES_BYTES_MAX, error);
    files->yaml.names = json_array();
    if (status == SLUICE_OK && files->yaml.names == NULL) {
        status = sl_no_memory_file(error, STAGE, path, "for names of classes");
    }
    char *rest = NULL;
    for (char *line = status == SLUICE_OK ? strtok_r(text.text, "\r\n", &rest) : NULL;
         status == SLUICE_OK && line != NULL; line = strtok_r(NULL, "\r\n", &rest)) {
        if (json_array_size(files->yaml.names) == SL_YOLO_CLASSES_MAX ||
            json_array_append_new(files->yaml.names, json_string(line)) != 0) {
            status = sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, -1,
                                   "names of classes that are not valid UTF-8, or too many");
        }
    }
    files->yaml.rules.classes = (uint32_t)json_array_size(files->yaml.names);
    sl_text_file_close(&text);
    return status;
}

/* A YAML or a classes.txt in a folder; END: there is none. */
static sluice_status find_names_in(sl_yolo_files *files, const char *folder, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    if (sl_yolo_find_own_yaml(folder, path)) {
        return sl_yolo_yaml_read(&files->yaml, path, error);
    }
    if (!sl_path_join(path, folder, "classes.txt") || !sl_store_has_file(path)) {
        return SLUICE_END;
    }
    return take_names(files, path, error);
}

static sluice_status find_names(sl_yolo_files *files, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    char real[SL_PATH_BYTES];
    sluice_status status = find_names_in(files, files->root, error);
    if (status == SLUICE_END && files->labels[0] != '\0' && yolo_full(files, files->labels, path)) {
        status = find_names_in(files, path, error);
        files->has_list_of_classes = files->has_list_of_classes && status == SLUICE_END;
    }
    /* A split's folder, as Roboflow exports them. */
    if (status == SLUICE_END && sl_store_real_path(files->root, real) == 0 &&
        sl_split_is(sl_path_name(real)) && sl_path_join(path, files->root, "..")) {
        status = find_names_in(files, path, error);
    }
    return status == SLUICE_END ? SLUICE_OK : status;
}

/* ---- a YAML ---- */

/* Where a split's folder or list is, from the root; as whoever wrote it may have meant it. */
static sluice_status find_source(const sl_yolo_files *files, const char *list, const char *name,
                                 char found[SL_PATH_BYTES], sluice_error *error)
{
    const bool up = strncmp(name, "../", 3) == 0;
    const char *path = files->yaml.path;
    const char *below = path; /* "datasets/coco128" of "../datasets/coco128" */
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
        base = skip_dots(base);
        base = strcmp(base, ".") == 0 ? "" : base;
        const bool alone = end[0] == '/' || base[0] == '\0';
        const int length = snprintf(found, SL_PATH_BYTES, "%s%s%s", alone ? "" : base,
                                    alone || sl_ends_with(base, "/") ? "" : "/", skip_dots(end));
        if (length < 0 || length >= SL_PATH_BYTES || !yolo_full(files, found, full)) {
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
               ? yolo_check_name(files, outside, list, 0, error)
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, list, -1,
                               "it names \"%.256s\", and there is no such folder or list", name);
}

/* A source counts once: what a YAML claims is no more than what there is. */
static sluice_status note_source(sl_yolo_files *files, const char *yaml, const char *name,
                                 const char *full, sluice_error *error)
{
    bool added;
    sl_store_facts facts;
    if (sl_store_stat(full, &facts) != 0) {
        return SLUICE_OK; /* opening it says why */
    }
    if (!sl_inode_set_add(&files->sources, (sl_inode){facts.device, facts.identity.inode},
                          &added)) {
        return sl_no_memory_file(error, STAGE, yaml, "for its members");
    }
    return added ? SLUICE_OK
                 : sl_error_file(error, SLUICE_INVALID, STAGE, 0, yaml, -1,
                                 "it names \"%.256s\" twice for one split: name it once", name);
}

static sluice_status add_source(sl_yolo_files *files, const char *yaml, const char *name,
                                sluice_error *error)
{
    char found[SL_PATH_BYTES];
    char full[SL_PATH_BYTES];
    sluice_status status = find_source(files, yaml, name, found, error);
    if (status < 0) {
        return status;
    }
    size_t length = strlen(found);
    while (length > 1 && found[length - 1] == '/') {
        found[--length] = '\0';
    }
    if (!yolo_full(files, found, full)) {
        return yolo_files_refuse(files, error, "the path of a folder is too long");
    }
    status = note_source(files, yaml, name, full, error);
    if (status < 0) {
        return status;
    }
    if (sl_store_has_folder(full)) {
        sl_name_tree tree = {.count = 0};
        status = sl_boundary_check(files->boundary, yaml, full, error);
        status = status == SLUICE_OK ? yolo_add_folder(files, found, true, &tree, error) : status;
        sl_name_tree_close(&tree);
        return status;
    }
    picture_list l = {.path = full};
    folder_of(found, "", l.folder);
    status = sl_boundary_check(files->boundary, yaml, full, error);
    return status == SLUICE_OK ? yolo_add_list(files, &l, error) : status;
}

/* The real path of a source; false: it is not found. */
static bool real_source(const sl_yolo_files *files, const char *yaml, const json_t *name,
                        char real[SL_PATH_BYTES])
{
    char found[SL_PATH_BYTES];
    char full[SL_PATH_BYTES];
    return find_source(files, yaml, json_string_value(name), found, NULL) == SLUICE_OK &&
           yolo_full(files, found, full) && sl_store_real_path(full, real) == 0;
}

/* Whether two splits are the same pictures. */
static bool are_same_sources(const sl_yolo_files *files, const char *yaml, const json_t *a,
                             const json_t *b)
{
    char one[SL_PATH_BYTES];
    char other[SL_PATH_BYTES];
    bool same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; same && i < json_array_size(a); i++) {
        same = real_source(files, yaml, json_array_get(a, i), one) &&
               real_source(files, yaml, json_array_get(b, i), other) && strcmp(one, other) == 0;
    }
    return same;
}

/* Which of its splits is meant cannot be told. */
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
        const bool is_there = find_source(files, yaml, name, found, NULL) == SLUICE_OK;
        first = first == NULL ? sl_yolo_splits[i] : first;
        used += (size_t)snprintf(offers + used, sizeof(offers) - used, "%s%s (%.100s)",
                                 used > 0 ? ", " : "", sl_yolo_splits[i], is_there ? found : name);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, yaml, -1,
                         "it names several splits, and a dataset is one of them: %s: choose one, "
                         "such as " SL_OPTION("split") "=\"%s\"",
                         offers, first);
}

/* Chooses a split by its name, or the only one, which others may name, too. */
static sluice_status choose_yaml_split(const sl_yolo_files *files, const char *yaml, int *split,
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
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, yaml, -1, "it names no pictures");
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

static sluice_status open_yaml(sl_yolo_files *files, const char *path, sluice_error *error)
{
    int split = 0;
    folder_of(path, ".", files->root);
    sluice_status status =
        files->anywhere ? SLUICE_OK : sl_boundary_open_beside(&files->boundary, path, error);
    status = status == SLUICE_OK ? sl_yolo_yaml_read(&files->yaml, path, error) : status;
    status = status == SLUICE_OK ? choose_yaml_split(files, path, &split, error) : status;
    if (status < 0) {
        return status;
    }
    sl_inode_set_clear(&files->sources);
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(files->yaml.splits[split]); i++) {
        const char *name = json_string_value(json_array_get(files->yaml.splits[split], i));
        status = add_source(files, path, name, error);
    }
    return status;
}

/* ---- all of them ---- */

static sluice_status open_list(sl_yolo_files *files, sluice_error *error)
{
    picture_list l = {.path = files->path, .folder = ""};
    folder_of(files->path, ".", files->root);
    sluice_status status =
        files->anywhere ? SLUICE_OK : sl_boundary_open_beside(&files->boundary, files->path, error);
    status = status == SLUICE_OK ? yolo_add_list(files, &l, error) : status;
    return status == SLUICE_OK ? find_names(files, error) : status;
}

static sluice_status open_split(sl_yolo_files *files, sluice_error *error)
{
    bool deep;
    char path[SL_PATH_BYTES];
    char full[SL_PATH_BYTES];
    sl_name_tree tree = {.count = 0};
    sluice_status status = yolo_full(files, files->pictures, full)
                               ? sl_name_tree_open(&tree, full, true, sl_pair_is_picture, error)
                               : yolo_files_refuse(files, error, "the path is too long");
    status = status == SLUICE_OK ? sl_yolo_find_inner_split(files, &tree, path, error) : status;
    sl_name_tree_close(&tree);
    if (status < 0) {
        return status;
    }
    return sl_yolo_find_folder(files, path, &deep)
               ? yolo_add_folder(files, files->pictures, deep, &tree, error)
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                               "the pictures of the split have no labels");
}

static sluice_status open_folder(sl_yolo_files *files, bool deep, sluice_error *error)
{
    sl_name_tree tree = {.count = 0};
    sluice_status status = SLUICE_OK;
    if (files->split != NULL) {
        status = open_split(files, error);
    } else {
        status = yolo_add_folder(files, files->pictures, deep, &tree, error);
        status =
            status == SLUICE_OK && deep
                ? sl_name_tree_check_splits(&tree, files->path, files->root, files->pictures, error)
                : status;
    }
    sl_name_tree_close(&tree);
    return status == SLUICE_OK ? find_names(files, error) : status;
}

static sluice_status open_path(sl_yolo_files *files, const char *path, sluice_error *error)
{
    bool deep;
    char yaml[SL_PATH_BYTES];
    if (!sl_store_has_folder(path)) {
        if (sl_yolo_is_yaml_named(path)) {
            return open_yaml(files, path, error);
        }
        return files->split == NULL
                   ? open_list(files, error)
                   : yolo_files_refuse(files, error,
                                       "a list of pictures has no splits: open it without "
                                       "" SL_OPTION("split"));
    }
    if (sl_yolo_find_yaml(path, "data.yaml", yaml) ||
        (files->split != NULL && sl_yolo_find_own_yaml(path, yaml))) {
        return open_yaml(files, yaml, error);
    }
    if (sl_yolo_find_folder(files, path, &deep)) {
        return open_folder(files, deep, error);
    }
    return sl_yolo_find_own_yaml(path, yaml)
               ? open_yaml(files, yaml, error)
               : yolo_files_refuse(files, error, "there are no labels any more");
}

sluice_status sl_yolo_files_open(sl_yolo_files *files, sluice_error *error)
{
    char clean[SL_PATH_BYTES];
    sl_pair_search search;
    if (!sl_yolo_clean_path(files->path, clean)) {
        return yolo_files_refuse(files, error, "the path is too long");
    }
    sl_pair_search_begin(&search);
    const sluice_status status = sl_pair_search_end(&search, open_path(files, clean, error), error);
    if (files->has_list_of_classes) {
        sl_omit(&files->omissions, SL_OMITTED_THINGS, "lists of classes that are not used",
                "classes.txt");
    }
    return status == SLUICE_OK && files->count == 0
               ? yolo_files_refuse(files, error, "it lists no picture")
               : status;
}

void sl_yolo_files_close(sl_yolo_files *files)
{
    sl_boundary_close(files->boundary);
    sl_inode_set_close(&files->sources);
    sl_yolo_yaml_close(&files->yaml);
    sl_free(files->text);
    sl_free(files->files);
}

bool sl_yolo_files_label(const sl_yolo_files *files, uint64_t number, char label[SL_PATH_BYTES])
{
    char full[SL_PATH_BYTES];
    return yolo_full(files, sl_yolo_files_picture(files, number), full) &&
           sl_yolo_label_of(full, label);
}

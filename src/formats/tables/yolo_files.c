/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_files.h"

#include "error.h"
#include "memory.h"
#include "name_tree.h"
#include "pair_look.h"
#include "splits.h"
#include "yolo_paths.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { LIST_BYTES_MAX = 64 << 20, NAMES_BYTES_MAX = 1 << 20, OFFER_BYTES = 320 };

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

/* Of all pictures below a folder, itself from the root. */
static sluice_status yolo_add_folder(sl_yolo_files *files, const char *folder, bool deep,
                                     sl_name_tree *tree, sluice_error *error)
{
    char full[SL_PATH_BYTES];
    if (!yolo_full(files, folder, full)) {
        return yolo_files_refuse(files, error, "the path of a folder is too long");
    }
    sluice_status status = sl_name_tree_open(tree, full, deep, sl_pair_is_picture, error);
    if (status == SLUICE_OK && tree->count == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, full, -1, "no picture is in it");
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < tree->count; i++) {
        status = yolo_add(files, folder, sl_name_tree_path(tree, i), error);
    }
    return status;
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
    char *text;
    size_t size;
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
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, l->path, (int64_t)(line - l->text),
                             "line %llu: \"%.256s\" is not the name of a picture",
                             (unsigned long long)number, line);
    }
    const sluice_status status = yolo_add(files, l->folder, line, error);
    return status == SLUICE_OK
               ? yolo_check_name(files, sl_yolo_files_picture(files, files->count - 1), l->path,
                                 number, error)
               : status;
}

static sluice_status read_text(const char *path, uint64_t most, char **text, size_t *size,
                               sluice_error *error)
{
    uint8_t *data;
    const sluice_status status =
        sl_store_read_whole((sl_file_name){STAGE, path}, most, &data, size, error);
    if (status < 0) {
        return status;
    }
    *text = sl_realloc_array(data, *size + 1, 1);
    if (*text == NULL) {
        sl_free(data);
        return sl_no_memory_file(error, STAGE, path, "for its lines");
    }
    (*text)[*size] = '\0';
    return memchr(*text, 0, *size) == NULL
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, -1, "not a text");
}

static sluice_status yolo_add_list(sl_yolo_files *files, picture_list *l, sluice_error *error)
{
    uint64_t number = 0;
    sluice_status status = read_text(l->path, LIST_BYTES_MAX, &l->text, &l->size, error);
    for (char *line = l->text; status == SLUICE_OK && line < l->text + l->size;) {
        char *next = line + strcspn(line, "\n") + 1;
        next[-1] = '\0';
        status = take_list_line(files, l, line, ++number, error);
        line = next;
    }
    sl_free(l->text);
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
    char *text = NULL;
    size_t size;
    sluice_status status = read_text(path, NAMES_BYTES_MAX, &text, &size, error);
    files->yaml.names = json_array();
    if (status == SLUICE_OK && files->yaml.names == NULL) {
        status = sl_no_memory_file(error, STAGE, path, "for names of classes");
    }
    char *rest = NULL;
    for (char *line = status == SLUICE_OK ? strtok_r(text, "\r\n", &rest) : NULL;
         status == SLUICE_OK && line != NULL; line = strtok_r(NULL, "\r\n", &rest)) {
        if (json_array_size(files->yaml.names) == SL_YOLO_CLASSES_MAX ||
            json_array_append_new(files->yaml.names, json_string(line)) != 0) {
            status = sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, -1,
                                   "names of classes that are not valid UTF-8, or too many");
        }
    }
    files->yaml.rules.classes = (uint32_t)json_array_size(files->yaml.names);
    sl_free(text);
    return status;
}

/* A YAML or a classes.txt in a folder; END: there is none. */
static sluice_status find_names_in(sl_yolo_files *files, const char *folder, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    char real[SL_PATH_BYTES];
    char own[NAME_MAX + 8] = "";
    if (sl_store_real_path(folder, real) == 0 && strlen(sl_path_name(real)) <= NAME_MAX) {
        (void)snprintf(own, sizeof(own), "%s.yaml", sl_path_name(real));
    }
    const char *const names[] = {"data.yaml", "dataset.yaml", own};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i][0] != '\0' && sl_yolo_find_yaml(folder, names[i], path)) {
            return sl_yolo_yaml_read(&files->yaml, path, error);
        }
    }
    return sl_path_join(path, folder, "classes.txt") && sl_store_has_file(path)
               ? take_names(files, path, error)
               : SLUICE_END;
}

static sluice_status find_names(sl_yolo_files *files, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    char real[SL_PATH_BYTES];
    sluice_status status = find_names_in(files, files->root, error);
    if (status == SLUICE_END && files->labels[0] != '\0' && yolo_full(files, files->labels, path)) {
        status = find_names_in(files, path, error);
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
    const char *const bases[] = {files->yaml.path, ""};
    const char *const ends[] = {name, up ? name + 3 : NULL};
    char full[SL_PATH_BYTES];
    char outside[SL_PATH_BYTES] = "";
    sl_store_facts facts;
    for (size_t i = 0; i < 4; i++) {
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

/* Which of its splits is meant cannot be told. */
static sluice_status refuse_splits(const sl_yolo_files *files, const char *yaml,
                                   sluice_error *error)
{
    char offers[OFFER_BYTES] = "";
    char found[SL_PATH_BYTES];
    size_t used = 0;
    for (int i = 0; i < SL_YOLO_SPLITS; i++) {
        const char *name = json_string_value(json_array_get(files->yaml.splits[i], 0));
        if (name == NULL || used >= sizeof(offers) - 1) {
            continue;
        }
        const bool is_there = find_source(files, yaml, name, found, NULL) == SLUICE_OK;
        used += (size_t)snprintf(offers + used, sizeof(offers) - used, "%s%.100s",
                                 used > 0 ? ", " : "", is_there ? found : name);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, yaml, -1,
                         "it names several splits, and a dataset is one of them: open its folder "
                         "or list: %s",
                         offers);
}

static sluice_status open_yaml(sl_yolo_files *files, const char *path, sluice_error *error)
{
    int split = -1;
    folder_of(path, ".", files->root);
    sluice_status status =
        files->anywhere ? SLUICE_OK : sl_boundary_open_beside(&files->boundary, path, error);
    status = status == SLUICE_OK ? sl_yolo_yaml_read(&files->yaml, path, error) : status;
    if (status < 0) {
        return status;
    }
    for (int i = 0; i < SL_YOLO_SPLITS; i++) {
        if (json_array_size(files->yaml.splits[i]) > 0) {
            if (split >= 0) {
                return refuse_splits(files, path, error);
            }
            split = i;
        }
    }
    if (split < 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "it names no pictures");
    }
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

static sluice_status open_folder(sl_yolo_files *files, const char *path, sluice_error *error)
{
    bool deep;
    sl_name_tree tree = {.count = 0};
    if (!sl_yolo_find_folder(files, path, &deep)) {
        return yolo_files_refuse(files, error, "there are no labels any more");
    }
    sluice_status status = yolo_add_folder(files, files->pictures, deep, &tree, error);
    status =
        status == SLUICE_OK && deep
            ? sl_name_tree_check_splits(&tree, files->path, files->root, files->pictures, error)
            : status;
    sl_name_tree_close(&tree);
    return status == SLUICE_OK ? find_names(files, error) : status;
}

static sluice_status open_path(sl_yolo_files *files, const char *path, sluice_error *error)
{
    char yaml[SL_PATH_BYTES];
    if (!sl_store_has_folder(path)) {
        return sl_yolo_is_yaml_named(path) ? open_yaml(files, path, error)
                                           : open_list(files, error);
    }
    return sl_yolo_find_yaml(path, "data.yaml", yaml) ? open_yaml(files, yaml, error)
                                                      : open_folder(files, path, error);
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
    return status == SLUICE_OK && files->count == 0
               ? yolo_files_refuse(files, error, "it lists no picture")
               : status;
}

void sl_yolo_files_close(sl_yolo_files *files)
{
    sl_boundary_close(files->boundary);
    sl_yolo_yaml_close(&files->yaml);
    sl_free(files->text);
    sl_free(files->files);
}

bool sl_yolo_files_label(const sl_yolo_files *files, uint64_t number, char label[SL_PATH_BYTES])
{
    static const char from[] = "/images/";
    char full[SL_PATH_BYTES];
    const char *images = NULL;
    if (!yolo_full(files, sl_yolo_files_picture(files, number), full)) {
        return false;
    }
    for (const char *at = strstr(full, from); at != NULL; at = strstr(at + 1, from)) {
        images = at;
    }
    const size_t before = images != NULL ? (size_t)(images - full) : 0;
    const size_t after = images != NULL ? before + strlen(from) : 0;
    const int length =
        snprintf(label, SL_PATH_BYTES, "%.*s%s%.*s.txt", (int)before, full,
                 images != NULL ? "/labels/" : "", (int)(sl_pair_stem(full) - after), full + after);
    return length > 0 && length < SL_PATH_BYTES;
}

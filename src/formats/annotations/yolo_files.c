/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_files.h"

#include "beside.h"
#include "error.h"
#include "memory.h"
#include "name_tree.h"
#include "pair_look.h"
#include "splits.h"
#include "text_file.h"
#include "yolo_folders.h"
#include "yolo_look.h"
#include "yolo_paths.h"
#include "yolo_sources.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { LIST_BYTES_MAX = 64 << 20, NAMES_BYTES_MAX = 1 << 20 };

/* ---- images ---- */

static sluice_status yolo_files_refuse(const sl_yolo_files *files, sluice_error *error,
                                       const char *why)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, files->path, -1, "%s", why);
}

/* Adds an image. `folder` may be "", and `name` absolute. */
static sluice_status yolo_add(sl_yolo_files *files, const char *folder, const char *name,
                              sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const bool absolute = name[0] == '/';
    const int length = snprintf(path, sizeof(path), "%s%s%s", absolute ? "" : folder,
                                absolute || folder[0] == '\0' ? "" : "/", sl_yolo_skip_dots(name));
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return yolo_files_refuse(files, error, "the path of an image is too long");
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

/* Adds all images below a folder, which is given relative to the root. */
static sluice_status yolo_add_folder(sl_yolo_files *files, const char *folder, bool deep,
                                     sl_name_tree *tree, sluice_error *error)
{
    char full[SL_PATH_BYTES];
    if (!sl_yolo_full(files, folder, full)) {
        return yolo_files_refuse(files, error, "the path of a folder is too long");
    }
    tree->omissions = &files->omissions;
    tree->others = "files of image folders that are not images";
    tree->passes = sl_yolo_are_beside(full) ? sl_yolo_is_label_named : NULL;
    sluice_status status = sl_name_tree_open(tree, full, deep, sl_beside_is_picture, error);
    if (status == SLUICE_OK && tree->count == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, full, -1,
                             "the folder contains no images");
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < tree->count; i++) {
        status = yolo_add(files, folder, sl_name_tree_path(tree, i), error);
    }
    return status == SLUICE_OK ? sl_yolo_count_labels(files, full, deep, tree, error) : status;
}

/* ---- lists ---- */

typedef struct picture_list {
    const char *path;           /* path of the list */
    char folder[SL_PATH_BYTES]; /* folder of the list, relative to the root; "": the root */
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
    if (!sl_beside_is_picture(line)) {
        return sl_error_file(
            error, SLUICE_CORRUPT, STAGE, 0, l->path, sl_text_file_offset(&l->file, line),
            "line %llu: \"%.256s\" is not the name of an image", (unsigned long long)number, line);
    }
    const sluice_status status = yolo_add(files, l->folder, line, error);
    return status == SLUICE_OK
               ? sl_yolo_check_name(files, sl_yolo_files_picture(files, files->count - 1), l->path,
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

/* Writes the folder of a file. */
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

/* ---- classes ---- */

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
                                   "class names are not valid UTF-8, or too many");
        }
    }
    files->yaml.rules.classes = (uint32_t)json_array_size(files->yaml.names);
    sl_text_file_close(&text);
    return status;
}

/* Reads a YAML file or classes.txt of a folder; END: there is none. */
static sluice_status find_names_in(sl_yolo_files *files, const char *folder, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    if (sl_yolo_find_own_yaml(folder, false, path)) {
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
    if (status == SLUICE_END && files->labels[0] != '\0' &&
        sl_yolo_full(files, files->labels, path)) {
        status = find_names_in(files, path, error);
        files->has_list_of_classes = files->has_list_of_classes && status == SLUICE_END;
    }
    /* the folder of a split, as Roboflow exports it */
    if (status == SLUICE_END && sl_store_real_path(files->root, real) == 0 &&
        sl_split_is(sl_path_name(real)) && sl_path_join(path, files->root, "..")) {
        status = find_names_in(files, path, error);
    }
    return status == SLUICE_END ? SLUICE_OK : status;
}

/* ---- a YAML ---- */

/* Records a source. Duplicates are errors, so that a YAML file cannot claim more than exists. */
static sluice_status note_source(sl_yolo_files *files, const char *yaml, const char *name,
                                 const char *full, sluice_error *error)
{
    bool added;
    sl_store_facts facts;
    if (sl_store_stat(full, &facts) != 0) {
        return SLUICE_OK; /* opening it reports why */
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
    sluice_status status = sl_yolo_find_source(files, yaml, name, found, error);
    if (status < 0) {
        return status;
    }
    size_t length = strlen(found);
    while (length > 1 && found[length - 1] == '/') {
        found[--length] = '\0';
    }
    if (!sl_yolo_full(files, found, full)) {
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

static sluice_status open_yaml(sl_yolo_files *files, const char *path, sluice_error *error)
{
    int split = 0;
    folder_of(path, ".", files->root);
    sluice_status status =
        files->anywhere ? SLUICE_OK : sl_boundary_open_beside(&files->boundary, path, error);
    status = status == SLUICE_OK ? sl_yolo_yaml_read(&files->yaml, path, error) : status;
    status = status == SLUICE_OK ? sl_yolo_choose_split(files, path, &split, error) : status;
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

static sluice_status yolo_open_split(sl_yolo_files *files, sluice_error *error)
{
    bool deep;
    char path[SL_PATH_BYTES];
    char full[SL_PATH_BYTES];
    sl_name_tree tree = {.count = 0};
    sluice_status status = sl_yolo_full(files, files->pictures, full)
                               ? sl_name_tree_open(&tree, full, true, sl_beside_is_picture, error)
                               : yolo_files_refuse(files, error, "the path is too long");
    status = status == SLUICE_OK ? sl_yolo_find_inner_split(files, &tree, path, error) : status;
    sl_name_tree_close(&tree);
    if (status < 0) {
        return status;
    }
    return sl_yolo_find_folder(files, path, &deep)
               ? yolo_add_folder(files, files->pictures, deep, &tree, error)
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                               "the images of the split have no labels");
}

static sluice_status open_folder(sl_yolo_files *files, bool deep, sluice_error *error)
{
    sl_name_tree tree = {.count = 0};
    sluice_status status = SLUICE_OK;
    if (files->split != NULL) {
        status = yolo_open_split(files, error);
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
                   : yolo_files_refuse(
                         files, error,
                         "a list of images has no splits: open it without " SL_OPTION("split"));
    }
    if (sl_yolo_find_yaml(path, "data.yaml", yaml) ||
        (files->split != NULL && sl_yolo_find_own_yaml(path, true, yaml))) {
        return open_yaml(files, yaml, error);
    }
    if (sl_yolo_find_folder(files, path, &deep)) {
        return open_folder(files, deep, error);
    }
    return sl_yolo_find_own_yaml(path, true, yaml)
               ? open_yaml(files, yaml, error)
               : yolo_files_refuse(files, error, "the labels no longer exist");
}

sluice_status sl_yolo_files_open(sl_yolo_files *files, sluice_error *error)
{
    char clean[SL_PATH_BYTES];
    sl_pair_search search;
    if (!sl_beside_clean(files->path, clean)) {
        return yolo_files_refuse(files, error, "the path is too long");
    }
    sl_pair_search_begin(&search);
    const sluice_status status = sl_pair_search_end(&search, open_path(files, clean, error), error);
    if (files->has_list_of_classes) {
        sl_omit(&files->omissions, SL_OMITTED_THINGS, "lists of classes that are not used",
                "classes.txt");
    }
    return status == SLUICE_OK && files->count == 0
               ? yolo_files_refuse(files, error, "it lists no images")
               : status;
}

void sl_yolo_files_close(sl_yolo_files *files)
{
    sl_boundary_close(files->boundary);
    sl_inode_set_close(&files->sources);
    sl_yolo_yaml_close(&files->yaml);
    sl_omissions_close(&files->omissions);
    sl_free(files->text);
    sl_free(files->files);
}

bool sl_yolo_files_label(const sl_yolo_files *files, uint64_t number, char label[SL_PATH_BYTES])
{
    char full[SL_PATH_BYTES];
    return sl_yolo_full(files, sl_yolo_files_picture(files, number), full) &&
           sl_yolo_label_of(full, label);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_paths.h"

#include "beside.h"
#include "foreign.h"
#include "memory.h"
#include "pair_look.h"
#include "text_file.h"
#include "voc_files.h"
#include "yolo_look.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { LOOK_BYTES = 65536 };

const char *const sl_yolo_splits[SL_YOLO_SPLITS] = {"train", "val", "test"};

static bool takes_labels(const char *name)
{
    return sl_ends_with(name, ".txt");
}

static const sl_pair_kind label_files = {.picture = "",
                                         .suffixes = {""},
                                         .takes = takes_labels,
                                         .holds = sl_yolo_labels_look};

/*
 * Compares a key in upper or lower case: a misspelled one causes an error that names it, and is not
 * skipped.
 */
static bool yolo_begins_line(const char *text, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = strcasestr(text, key); at != NULL; at = strcasestr(at + 1, key)) {
        if ((at == text || at[-1] == '\n') && at[length] == ':') {
            return true;
        }
    }
    return false;
}

/* Returns whether a file named like YAML is a pointer to one, or a web page. */
static bool is_foreign_yaml(sl_look *look)
{
    char head[SL_FOREIGN_HEAD_BYTES + 1];
    const size_t bytes = sl_text_of_look(look, head, SL_FOREIGN_HEAD_BYTES);
    return sl_foreign_kind((const uint8_t *)head, bytes) != NULL;
}

/*
 * Recognises YAML by its text, so that it works without libyaml. Accepts a pointer or a downloaded
 * web page too: reading it reports what it is.
 */
static bool is_yaml(sl_look *look, bool needs_split)
{
    char *head = sl_malloc(LOOK_BYTES + 1);
    bool found = !needs_split;
    if (head == NULL) {
        return false;
    }
    if (sl_look_bytes(look) <= SL_LOOK_BYTES) {
        (void)sl_text_of_look(look, head, LOOK_BYTES);
    } else {
        (void)sl_text_look(look->path, head, LOOK_BYTES);
    }
    for (int i = 0; i < SL_YOLO_SPLITS; i++) {
        found = found || yolo_begins_line(head, sl_yolo_splits[i]);
    }
    found = found && (yolo_begins_line(head, "names") || yolo_begins_line(head, "nc"));
    sl_free(head);
    return found || is_foreign_yaml(look);
}

bool sl_yolo_is_yaml_named(const char *name)
{
    return sl_ends_with(name, ".yaml") || sl_ends_with(name, ".yml");
}

bool sl_yolo_first_picture(sl_look *look, char name[SL_PATH_BYTES])
{
    (void)sl_text_of_look(look, name, SL_PATH_BYTES - 1);
    const char *line = name + strspn(name, " \t\r\n");
    size_t length = strcspn(line, "\r\n");
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) {
        length--;
    }
    memmove(name, line, length);
    name[length] = '\0';
    return length > 0 && sl_beside_is_picture(name);
}

bool sl_yolo_list_has(const char *path, const char *name, bool label)
{
    char full[SL_PATH_BYTES];
    char beside[SL_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    const int folder = slash != NULL && name[0] != '/' ? (int)(slash - path + 1) : 0;
    const int length = snprintf(full, sizeof(full), "%.*s%s", folder, path, name);
    if (length < 0 || length >= SL_PATH_BYTES) {
        return false;
    }
    return label ? sl_yolo_label_of(full, beside) && sl_store_has_file(beside)
                 : sl_store_has_file(full);
}

/*
 * Recognises a list of images. Names with extensions may also be in VOC's lists; the existing files
 * then decide.
 */
static bool is_picture_list(sl_look *look)
{
    char name[SL_PATH_BYTES];
    return sl_yolo_first_picture(look, name) &&
           (!sl_voc_files_probe(look) || sl_yolo_list_has(look->path, name, true) ||
            !sl_voc_files_list_has(look->path, name));
}

bool sl_yolo_label_of(const char *picture, char label[SL_PATH_BYTES])
{
    static const char from[] = "/images/";
    const char *images = NULL;
    for (const char *at = strstr(picture, from); at != NULL; at = strstr(at + 1, from)) {
        images = at;
    }
    const size_t before = images != NULL ? (size_t)(images - picture) : 0;
    const size_t after = images != NULL ? before + strlen(from) : 0;
    const int length = snprintf(label, SL_PATH_BYTES, "%.*s%s%.*s.txt", (int)before, picture,
                                images != NULL ? "/labels/" : "",
                                (int)(sl_beside_stem(picture) - after), picture + after);
    return length > 0 && length < SL_PATH_BYTES;
}

static sluice_status yolo_find_json(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)ctx;
    (void)error;
    return sl_ends_with(entry->name, ".json") ? SLUICE_END : SLUICE_OK;
}

/* Returns whether the folder has annotations of other kinds, by which it is opened instead. */
static bool has_annotations(const char *path)
{
    char folder[SL_PATH_BYTES];
    sl_look look;
    sl_look_begin_folder(&look, path);
    return sl_voc_files_probe(&look) ||
           (sl_path_join(folder, path, "annotations") && sl_store_has_folder(folder) &&
            sl_store_list((sl_file_name){STAGE, folder}, yolo_find_json, NULL, NULL) == SLUICE_END);
}

static bool yolo_is_pair(const sl_yolo_files *files, bool deep)
{
    const sl_pair pair = {.root = files->root,
                          .pictures = files->pictures,
                          .others = files->labels,
                          .kind = &label_files,
                          .deep = deep,
                          .beside_json = true};
    return sl_pair_is(&pair);
}

/* Decides by names alone: unreadable labels cause an error, and do not count as missing. */
static bool is_likely_pair(const sl_yolo_files *files, bool deep)
{
    char path[SL_PATH_BYTES];
    return sl_path_join(path, files->root, files->labels) && sl_yolo_has_labels(path, deep) &&
           sl_path_join(path, files->root, files->pictures) && sl_yolo_has_pictures(path, deep) &&
           !has_annotations(files->root);
}

/* Finds the last component named images, and the folder below it. */
static bool find_images(sl_yolo_files *files, const char *path)
{
    const char *at;
    size_t end = strlen(path);
    while (end > 0) {
        const size_t bytes = sl_beside_component(path, &end, &at);
        if (bytes == strlen("images") && strncmp(at, "images", bytes) == 0) {
            const int length = snprintf(files->pictures, SL_PATH_BYTES, "%s", at);
            return length < SL_PATH_BYTES &&
                   sl_beside_swap(path, at, bytes, "labels", files->root, files->labels) &&
                   !sl_beside_has_folders(path) &&
                   (yolo_is_pair(files, false) || is_likely_pair(files, false));
        }
    }
    return false;
}

bool sl_yolo_find_folder(sl_yolo_files *files, const char *path, bool *deep)
{
    char folder[SL_PATH_BYTES];
    char real[SL_PATH_BYTES];
    (void)snprintf(files->root, SL_PATH_BYTES, "%s", path);
    (void)snprintf(files->pictures, SL_PATH_BYTES, "images");
    (void)snprintf(files->labels, SL_PATH_BYTES, "labels");
    *deep = sl_path_join(folder, path, "images") && sl_store_has_folder(folder) &&
            !has_annotations(path) && (yolo_is_pair(files, true) || is_likely_pair(files, true));
    return *deep || find_images(files, path) ||
           (path[0] != '/' && sl_store_real_path(path, real) == 0 && find_images(files, real));
}

/* Returns whether images or labels are in a folder, or in one of its splits. */
static bool has_yolo_folders(const char *folder)
{
    static const char *const names[] = {"images",       "labels",       "train/images",
                                        "train/labels", "valid/images", "valid/labels",
                                        "val/images",   "test/images"};
    char path[SL_PATH_BYTES];
    bool found = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++) {
        found = sl_path_join(path, folder, names[i]) && sl_store_has_folder(path);
    }
    return found;
}

static bool find_yaml(const char *folder, const char *name, bool needs_split,
                      char path[SL_PATH_BYTES])
{
    sl_look look;
    if (!sl_path_join(path, folder, name) || !sl_store_has_file(path)) {
        return false;
    }
    sl_look_begin(&look, path);
    return is_yaml(&look, needs_split) &&
           (!needs_split || !is_foreign_yaml(&look) || has_yolo_folders(folder));
}

bool sl_yolo_find_yaml(const char *folder, const char *name, char path[SL_PATH_BYTES])
{
    return find_yaml(folder, name, true, path);
}

bool sl_yolo_find_own_yaml(const char *folder, bool needs_split, char path[SL_PATH_BYTES])
{
    char real[SL_PATH_BYTES];
    char own[NAME_MAX + 8] = "";
    if (sl_store_real_path(folder, real) == 0 && strlen(sl_path_name(real)) <= NAME_MAX) {
        (void)snprintf(own, sizeof(own), "%s.yaml", sl_path_name(real));
    }
    const char *const names[] = {"data.yaml", "dataset.yaml", own};
    bool found = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++) {
        found = names[i][0] != '\0' && find_yaml(folder, names[i], needs_split, path);
    }
    return found;
}

bool sl_yolo_files_probe(sl_look *look)
{
    const char *path = look->path;
    char clean[SL_PATH_BYTES];
    char yaml[SL_PATH_BYTES];
    bool deep;
    sl_yolo_files *files;
    if (!sl_beside_clean(path, clean)) {
        return false;
    }
    if (!sl_look_is_folder(look)) {
        return sl_yolo_is_yaml_named(path) ? is_yaml(look, false)
                                           : sl_ends_with(path, ".txt") && is_picture_list(look);
    }
    if (sl_yolo_find_yaml(clean, "data.yaml", yaml)) {
        return true;
    }
    files = sl_calloc(1, sizeof(*files));
    const bool found = files != NULL && sl_yolo_find_folder(files, clean, &deep);
    sl_free(files);
    return found || (sl_yolo_find_own_yaml(clean, true, yaml) && !has_annotations(clean));
}

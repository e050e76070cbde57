/* SPDX-License-Identifier: Apache-2.0 */
#include "label_file.h"

#include "error.h"
#include "json_file.h"
#include "memory.h"

#define STAGE "dataset"

static sluice_status label_file_refuse(const char *path, sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "not a file of class names: expected a list of names, [\"cat\", \"dog\"], "
                         "or new names for classes, {\"kitty\": \"cat\", \"none\": null}");
}

static bool label_file_take_list(sl_label_file *file, const json_t *list)
{
    bool fine = json_array_size(list) > 0;
    for (size_t i = 0; fine && i < json_array_size(list); i++) {
        file->names[i] = json_string_value(json_array_get(list, i));
        fine = file->names[i] != NULL;
    }
    file->labels.classes = file->names;
    file->labels.class_count = (uint32_t)json_array_size(list);
    return fine;
}

static bool label_file_take_object(sl_label_file *file, json_t *object)
{
    bool fine = json_object_size(object) > 0;
    const char *key;
    json_t *value;
    uint32_t count = 0;
    json_object_foreach(object, key, value)
    {
        fine = fine && (json_is_string(value) || json_is_null(value));
        file->names[count] = key;
        file->to[count++] = json_string_value(value);
    }
    file->labels.from = file->names;
    file->labels.to = file->to;
    file->labels.rename_count = count;
    return fine;
}

sluice_status sl_label_file_read(sl_label_file *file, const char *path, sluice_error *error)
{
    *file = (sl_label_file){.tree = sl_calloc(1, sizeof(sl_json_tree))};
    if (file->tree == NULL) {
        return sl_no_memory(error, STAGE, "for names of classes");
    }
    const sluice_status status = sl_json_load(file->tree, path, error);
    if (status < 0) {
        return status;
    }
    json_t *root = file->tree->root;
    const size_t capacity = json_array_size(root) + json_object_size(root) + 1;
    if (capacity > SL_UNION_CLASSES_MAX) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                             "it names more than 2^24 classes");
    }
    file->names = (const char **)sl_calloc(capacity, sizeof(*file->names));
    file->to = (const char **)sl_calloc(capacity, sizeof(*file->to));
    if (file->names == NULL || file->to == NULL) {
        return sl_no_memory(error, STAGE, "for names of classes");
    }
    const bool fine =
        json_is_array(root) ? label_file_take_list(file, root) : label_file_take_object(file, root);
    return fine ? SLUICE_OK : label_file_refuse(path, error);
}

void sl_label_file_close(sl_label_file *file)
{
    if (file->tree != NULL) {
        sl_json_drop(file->tree);
    }
    sl_free(file->tree);
    sl_free((void *)file->names);
    sl_free((void *)file->to);
    *file = (sl_label_file){.tree = NULL};
}

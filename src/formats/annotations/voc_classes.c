/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc_classes: numbers the names of classes; reads annotations only for their names, in several
 * threads.
 */
#include "voc_classes.h"

#include "error.h"
#include "memory.h"
#include "name_table.h"
#include "open_many.h"
#include "voc_xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

enum { CLASSES_MAX = 65536 };

/* The 20 classes of VOC, sorted. */
static const char *const usual[] = {"aeroplane",   "bicycle", "bird",  "boat",      "bottle",
                                    "bus",         "car",     "cat",   "chair",     "cow",
                                    "diningtable", "dog",     "horse", "motorbike", "person",
                                    "pottedplant", "sheep",   "sofa",  "train",     "tvmonitor"};

enum { USUAL = sizeof(usual) / sizeof(usual[0]) };

static sluice_status voc_classes_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the names of classes");
}

sluice_status sl_voc_classes_open(sl_voc_classes *classes, sluice_error *error)
{
    sl_mutex_init(&classes->mutex);
    classes->names = json_object();
    return classes->names != NULL ? SLUICE_OK : voc_classes_no_memory(error);
}

void sl_voc_classes_close(sl_voc_classes *classes)
{
    sl_mutex_destroy(&classes->mutex);
    json_decref(classes->names);
    sl_free(classes->labels);
}

uint32_t sl_voc_classes_number(sl_voc_classes *classes, const char *name)
{
    uint32_t number = UINT32_MAX;
    sl_lock(&classes->mutex);
    const json_t *known = json_object_get(classes->names, name);
    if (known != NULL) {
        number = (uint32_t)json_integer_value(known);
    } else {
        const size_t next = json_object_size(classes->names);
        if (json_object_set_new(classes->names, name, json_integer((json_int_t)next)) == 0) {
            number = (uint32_t)next;
        }
    }
    sl_unlock(&classes->mutex);
    return number;
}

/* ---- annotations that are read for their names ---- */

/* The annotations of a folder, and those that are already known. */
typedef struct other_pages {
    sl_voc_classes *classes;
    sl_voc_files files;
    sl_name_table listed;
} other_pages;

static bool take_class_name(void *ctx, const sl_voc_object *object)
{
    const other_pages *others = ctx;
    return sl_voc_classes_number(others->classes, object->name) != UINT32_MAX;
}

static void note_unreadable(sl_voc_classes *classes, const char *path)
{
    sl_lock(&classes->mutex);
    if (classes->unreadable++ == 0 || strcmp(path, classes->example) < 0) {
        (void)snprintf(classes->example, sizeof(classes->example), "%s", path);
    }
    sl_unlock(&classes->mutex);
}

static sluice_status read_names(void *ctx, uint32_t number, sluice_error *error)
{
    other_pages *others = ctx;
    sl_voc_page page = {.take = take_class_name, .ctx = others};
    const char *path = others->files.list.files[number].path;
    if (sl_name_table_find(&others->listed, path) != SL_NAME_NONE) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_voc_xml_read(&page, path, error);
    if (status != SLUICE_CORRUPT && status != SLUICE_UNSUPPORTED) {
        return status;
    }
    note_unreadable(others->classes, path);
    return SLUICE_OK;
}

/* Records the names of a list, which may repeat. */
static bool know_listed(sl_name_table *listed, const sl_voc_files *files)
{
    bool fine = true;
    for (uint32_t i = 0; fine && i < files->list.count; i++) {
        const char *path = files->list.files[i].path;
        fine =
            sl_name_table_find(listed, path) != SL_NAME_NONE || sl_name_table_add(listed, path, i);
    }
    return fine;
}

sluice_status sl_voc_classes_add_others(sl_voc_classes *classes, const sl_voc_files *files,
                                        sluice_error *error)
{
    other_pages others = {.classes = classes};
    sluice_status status = sl_voc_files_list_folder(&others.files, files->folder, error);
    if (status == SLUICE_OK && !know_listed(&others.listed, files)) {
        status = voc_classes_no_memory(error);
    }
    if (status == SLUICE_OK) {
        status = sl_open_many(others.files.list.count, read_names, &others, error);
    }
    sl_name_table_close(&others.listed);
    sl_voc_files_close(&others.files);
    return status;
}

/* ---- the list ---- */

static int voc_compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool voc_is_usual(const char *name)
{
    return bsearch(&name, usual, USUAL, sizeof(usual[0]), voc_compare_names) != NULL;
}

static bool are_usual(const char *const *names, size_t count)
{
    size_t i = 0;
    while (i < count && voc_is_usual(names[i])) {
        i++;
    }
    return count > 0 && i == count;
}

/* Makes classes of the names, and numbers their labels. */
static bool label_names(sl_voc_classes *classes, const char *const *names, size_t count,
                        json_t *list)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_object_get(classes->names, names[i]);
        if (number != NULL) {
            classes->labels[json_integer_value(number)] = (int64_t)i;
        }
        if (json_array_append_new(list, json_string(names[i])) != 0) {
            return false;
        }
    }
    return true;
}

static bool list_names(const char *const *names, size_t count, json_t **list)
{
    *list = json_array();
    bool fine = *list != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        fine = json_array_append_new(*list, json_string(names[i])) == 0;
    }
    return fine;
}

sluice_status sl_voc_classes_finish(sl_voc_classes *classes, const char *path, sl_listed *own,
                                    sluice_error *error)
{
    const char *name;
    json_t *number;
    size_t count = 0;
    const size_t found = json_object_size(classes->names);
    if (found > CLASSES_MAX) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                             "its objects have %zu different names: at most 65536 are allowed",
                             found);
    }
    const char **names = sl_calloc(found + 1, sizeof(*names));
    classes->labels = sl_calloc(found + 1, sizeof(*classes->labels));
    own->classes = json_array();
    bool fine = names != NULL && classes->labels != NULL && own->classes != NULL;
    if (fine) {
        json_object_foreach(classes->names, name, number)
        {
            names[count++] = name;
        }
        qsort(names, count, sizeof(*names), voc_compare_names);
        fine = are_usual(names, count) ? label_names(classes, usual, USUAL, own->classes) &&
                                             list_names(names, count, &own->occurring)
                                       : label_names(classes, names, count, own->classes);
    }
    sl_free(names);
    return fine ? SLUICE_OK : voc_classes_no_memory(error);
}

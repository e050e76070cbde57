/* SPDX-License-Identifier: Apache-2.0 */
/* listed_classes: numbers the classes of several datasets as one sorted list. */
#include "listed_classes.h"

#include "listed.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

static sluice_status listed_classes_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the names of classes");
}

static int listed_classes_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the names that occur in a dataset as members of `all`. */
static bool listed_classes_add(json_t *all, const sl_listed *from)
{
    const json_t *names = from->occurring != NULL ? from->occurring : from->classes;
    bool fine = true;
    for (size_t i = 0; fine && i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        fine = json_object_set_new(all, name, json_null()) == 0;
    }
    return fine;
}

/*
 * Numbers the members by code point order and stores the numbers as their values. NULL: no memory.
 */
static json_t *number_sorted(json_t *all)
{
    const char *name;
    json_t *value;
    size_t count = 0;
    json_t *classes = json_array();
    const char **names = sl_calloc(json_object_size(all) + 1, sizeof(*names));
    bool fine = classes != NULL && names != NULL;
    if (fine) {
        json_object_foreach(all, name, value)
        {
            names[count++] = name;
        }
        qsort(names, count, sizeof(*names), listed_classes_compare);
    }
    for (size_t i = 0; fine && i < count; i++) {
        fine = json_array_append_new(classes, json_string(names[i])) == 0 &&
               json_object_set_new(all, names[i], json_integer((json_int_t)i)) == 0;
    }
    sl_free(names);
    if (!fine) {
        json_decref(classes);
    }
    return fine ? classes : NULL;
}

/* Replaces labels, which are 8-byte integers, one or a list per row. */
static void replace_labels(uint8_t *labels, uint64_t count, const json_t *before, const json_t *all)
{
    for (uint64_t i = 0; i < count; i++) {
        int64_t label;
        memcpy(&label, labels + i * sizeof(label), sizeof(label));
        const char *name =
            label >= 0 ? json_string_value(json_array_get(before, (size_t)label)) : NULL;
        const json_t *number = name != NULL ? json_object_get(all, name) : NULL;
        if (json_is_integer(number)) {
            label = json_integer_value(number);
            memcpy(labels + i * sizeof(label), &label, sizeof(label));
        }
    }
}

static sluice_status listed_renumber(sl_listed *own, json_t *all, sluice_error *error)
{
    json_t *classes = number_sorted(all);
    if (classes == NULL) {
        return listed_classes_no_memory(error);
    }
    if (own->labels > 0) {
        const sl_side_column *column = &own->side.of[own->labels];
        const bool is_list = column->field.type == SLUICE_FIELD_TENSOR;
        replace_labels(is_list ? column->pool : (uint8_t *)column->cells,
                       is_list ? column->pool_bytes / sizeof(int64_t) : column->entries,
                       own->classes, all);
    }
    json_decref(own->classes);
    own->classes = classes;
    sl_listed_sum(own);
    return SLUICE_OK;
}

sluice_status sl_listed_number_over(sl_dataset *dataset, sl_dataset *const *others, uint32_t count,
                                    sluice_error *error)
{
    sl_listed *own = (sl_listed *)(void *)dataset;
    bool same = true;
    for (uint32_t i = 0; i < count; i++) {
        same =
            same && json_equal(own->classes, ((const sl_listed *)(const void *)others[i])->classes);
    }
    if (same) {
        return SLUICE_OK;
    }
    json_t *all = json_object();
    bool fine = all != NULL && listed_classes_add(all, own);
    for (uint32_t i = 0; fine && i < count; i++) {
        fine = listed_classes_add(all, (const sl_listed *)(const void *)others[i]);
    }
    const sluice_status status =
        fine ? listed_renumber(own, all, error) : listed_classes_no_memory(error);
    json_decref(all);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "split_classes.h"

#include "error.h"
#include "hidden.h"
#include "memory.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* A class, and its new number. */
typedef struct split_class {
    uint64_t name;   /* arena offset */
    uint32_t before; /* its number in the list; UINT32_MAX: it was not in the list */
    bool shared;     /* true if some split has it */
} split_class;

typedef struct split_classes {
    sl_folder_list *list;
    split_class
        *classes; /* classes: `known` of them sorted by name; then the current split's own */
    uint64_t count, capacity, known;
    bool allow_empty;
    const char *split; /* state of the current split: */
    bool joins;        /* true if it has a known class */
} split_classes;

static bool split_classes_push(split_classes *all, const split_class *one)
{
    const bool fits = sl_grow(&all->classes, &all->capacity, all->count + 1, sizeof(*one));
    if (fits) {
        all->classes[all->count++] = *one;
    }
    return fits;
}

/* Returns the known class with a name. */
static split_class *split_classes_find(const split_classes *all, const char *name)
{
    uint64_t low = 0;
    uint64_t high = all->known;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const int order = strcmp(sl_folder_text(all->list, all->classes[middle].name), name);
        if (order == 0) {
            return &all->classes[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* Ends the listing at the first entry. */
static sluice_status split_classes_meet(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    bool *found = ctx;
    (void)error;
    if (sl_name_is_hidden(entry->name)) {
        return SLUICE_OK;
    }
    *found = sl_folder_is_picture(entry->name) || entry->kind == SL_ENTRY_FOLDER ||
             (entry->kind != SL_ENTRY_FILE && strchr(entry->name, '.') == NULL);
    return *found ? SLUICE_CANCELED : SLUICE_OK;
}

/* Returns whether a folder may contain an image. */
static sluice_status is_class(const char *path, bool *found, sluice_error *error)
{
    const sluice_status status =
        sl_store_list((sl_file_name){STAGE, path}, split_classes_meet, found, error);
    return *found ? SLUICE_OK : status;
}

static sluice_status split_classes_take(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    split_classes *all = ctx;
    if (sl_name_is_hidden(entry->name) || entry->kind == SL_ENTRY_FILE) {
        return SLUICE_OK;
    }
    if (!sl_path_join(path, all->split, entry->name)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, all->split, -1,
                             "the path of a folder in it is too long");
    }
    split_class *own = split_classes_find(all, entry->name);
    if (own != NULL) {
        own->shared = true;
        all->joins = true;
        return SLUICE_OK;
    }
    bool counts = all->allow_empty;
    const bool is_folder = sl_store_is_folder(entry, path);
    const sluice_status status = is_folder && !counts ? is_class(path, &counts, error) : SLUICE_OK;
    split_class found = {.before = UINT32_MAX, .shared = true};
    if (status < 0 || !is_folder || !counts) {
        return status;
    }
    return sl_folder_list_add_text(all->list, entry->name, strlen(entry->name), &found.name) &&
                   split_classes_push(all, &found)
               ? SLUICE_OK
               : sl_no_memory_file(error, STAGE, all->split, "for the class names");
}

static int split_classes_by_name(const void *a, const void *b, void *arena)
{
    const split_class *left = a;
    const split_class *right = b;
    return strcmp((const char *)arena + left->name, (const char *)arena + right->name);
}

/* Compares numbers; classes that no split has come last. */
static int split_classes_by_number(const void *a, const void *b, void *arena)
{
    const split_class *left = a;
    const split_class *right = b;
    return left->shared != right->shared ? (left->shared ? -1 : 1)
                                         : split_classes_by_name(a, b, arena);
}

static void split_classes_sort(split_classes *all, int (*order)(const void *, const void *, void *))
{
    if (all->count > 0) {
        qsort_r(all->classes, all->count, sizeof(*all->classes), order, all->list->arena);
    }
}

/*
 * Adds the classes of a split that has a known class. Any other split has images without labels, or
 * other data.
 */
static sluice_status split_classes_join(split_classes *all, const char *split, sluice_error *error)
{
    all->split = split;
    all->joins = false;
    const sluice_status status =
        sl_store_list((sl_file_name){STAGE, split}, split_classes_take, all, error);
    if (status == SLUICE_OK && all->joins) {
        split_classes_sort(all, split_classes_by_name);
        all->known = all->count;
    }
    all->count = all->known;
    return status;
}

/*
 * Joins splits until none is added: a split may share a class only with one that was added later.
 */
static sluice_status split_classes_join_all(split_classes *all, const sl_file_list *splits,
                                            sluice_error *error)
{
    bool *joined = sl_calloc((size_t)splits->count + 1, sizeof(*joined));
    bool again = true;
    sluice_status status = SLUICE_OK;
    if (joined == NULL) {
        return sl_no_memory(error, STAGE, "for the class names");
    }
    while (status == SLUICE_OK && again) {
        again = false;
        for (uint32_t i = 0; status == SLUICE_OK && i < splits->count; i++) {
            if (!joined[i]) {
                status = split_classes_join(all, splits->files[i].path, error);
                joined[i] = all->joins;
                again = again || all->joins;
            }
        }
    }
    sl_free(joined);
    return status;
}

/* Replaces the list's classes. */
static sluice_status split_classes_store(const split_classes *all, sl_seen_names *added,
                                         sluice_error *error)
{
    sl_folder_list *list = all->list;
    uint32_t *numbers = sl_calloc((size_t)list->class_count + 1, sizeof(*numbers));
    uint64_t *names = sl_calloc(all->count, sizeof(*names));
    if (numbers == NULL || names == NULL || all->count > UINT32_MAX - 1) {
        sl_free(numbers);
        sl_free(names);
        return sl_no_memory(error, STAGE, "for the class names");
    }
    for (uint32_t i = 0; i < all->count; i++) {
        names[i] = all->classes[i].name;
        if (all->classes[i].before != UINT32_MAX) {
            numbers[all->classes[i].before] = i;
        } else {
            sl_seen_names_add(added, sl_folder_text(list, names[i]));
        }
    }
    for (uint32_t i = 0; i < list->dir_count; i++) {
        list->dirs[i].label = numbers[list->dirs[i].label];
    }
    sl_free(numbers);
    sl_free(list->classes);
    list->classes = names;
    list->class_count = list->class_capacity = (uint32_t)all->count;
    return SLUICE_OK;
}

sluice_status sl_split_classes_add(sl_folder_list *list, const sl_file_list *splits,
                                   bool allow_empty, sl_seen_names *added, sluice_error *error)
{
    split_classes all = {.list = list, .allow_empty = allow_empty};
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < list->class_count; i++) {
        const split_class own = {.name = list->classes[i], .before = i};
        status = split_classes_push(&all, &own) ? SLUICE_OK
                                                : sl_no_memory(error, STAGE, "for the class names");
    }
    all.known = all.count;
    if (status == SLUICE_OK) {
        status = split_classes_join_all(&all, splits, error);
    }
    if (status == SLUICE_OK) {
        split_classes_sort(&all, split_classes_by_number);
        status = split_classes_store(&all, added, error);
    }
    sl_free(all.classes);
    return status;
}

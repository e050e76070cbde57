/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_union: merges lists of classes by name and makes one label map per dataset.
 *
 * One thread, when datasets are joined; the result is immutable.
 */
#include "class_union.h"

#include "checksum.h"
#include "error.h"
#include "memory.h"
#include "name_table.h"
#include "unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE   "dataset"
#define ASKED   UINT32_MAX /* in place of a dataset: the class was requested */
#define UNNAMED ""

typedef struct making {
    const sl_class_request *labels;
    sl_dataset *const *parts;
    uint32_t count;
    sl_name_table renames; /* numbers in labels->from */
    bool *used;            /* for each of these, whether a dataset has it */
    sl_name_table known;   /* numbers in `names` */
    char **names;          /* owned, including each name */
    uint32_t *first;       /* first dataset that has each class; ASKED */
    uint64_t capacity;
    uint32_t classes;
} making;

static sluice_status class_union_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the names of classes");
}

bool sl_share_classes(const sl_dataset *a, const sl_dataset *b)
{
    const uint32_t classes = a->info.classes;
    /* comparing the first and last name by address is enough, since names do not move */
    return classes == b->info.classes && classes > 0 &&
           sl_dataset_class_name(a, 0) == sl_dataset_class_name(b, 0) &&
           sl_dataset_class_name(a, classes - 1) == sl_dataset_class_name(b, classes - 1);
}

uint64_t sl_class_request_sum(const sl_class_request *labels)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < labels->class_count; i++) {
        sl_checksum_add(&stream, labels->classes[i], strlen(labels->classes[i]) + 1);
    }
    for (uint32_t i = 0; i < labels->rename_count; i++) {
        const char *to = labels->to[i] != NULL ? labels->to[i] : UNNAMED;
        sl_checksum_add(&stream, labels->from[i], strlen(labels->from[i]) + 1);
        sl_checksum_add(&stream, to, strlen(to) + 1);
    }
    return sl_checksum_value(&stream);
}

static const char *class_union_name_of(const sl_dataset *part, uint32_t label)
{
    const char *name = sl_dataset_class_name(part, label);
    return name != NULL ? name : UNNAMED;
}

static bool has_same_classes(const sl_dataset *a, const sl_dataset *b)
{
    bool same = a->info.classes == b->info.classes;
    for (uint32_t i = 0; same && !sl_share_classes(a, b) && i < a->info.classes; i++) {
        same = strcmp(class_union_name_of(a, i), class_union_name_of(b, i)) == 0;
    }
    return same;
}

/* Returns whether all have the same classes, so that nothing is renumbered. */
static bool are_alike(const making *m)
{
    const sl_dataset *first = NULL;
    bool same = m->labels->classes == NULL && m->labels->rename_count == 0;
    for (uint32_t i = 0; same && i < m->count; i++) {
        if (m->parts[i]->info.classes > 0) {
            same = first == NULL || has_same_classes(first, m->parts[i]);
            first = first == NULL ? m->parts[i] : first;
        }
    }
    return same;
}

/* ---- the list ---- */

static sluice_status class_union_append(making *m, const char *name, uint32_t part,
                                        sluice_error *error)
{
    if (m->classes == SL_UNION_CLASSES_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the datasets have more than 2^24 classes in total");
    }
    uint64_t capacity = m->capacity;
    const bool fits = sl_grow((void *)&m->names, &capacity, m->classes + 1U, sizeof(*m->names)) &&
                      sl_grow(&m->first, &m->capacity, m->classes + 1U, sizeof(*m->first));
    char *copy = fits ? sl_strdup(name) : NULL;
    if (copy == NULL || !sl_name_table_add(&m->known, copy, m->classes)) {
        sl_free(copy);
        return class_union_no_memory(error);
    }
    m->names[m->classes] = copy;
    m->first[m->classes++] = part;
    return SLUICE_OK;
}

/* Finds the number of a dataset's class by name, or adds it. */
static sluice_status find_or_add(making *m, const char *name, uint32_t part, int32_t *number,
                                 sluice_error *error)
{
    uint32_t found = sl_name_table_find(&m->known, name);
    if (found == SL_NAME_NONE && m->labels->classes != NULL) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "class \"%.128s\" of dataset %u is not one of the requested classes: "
                            "add it to them, or rename it",
                            name, part + 1);
    }
    if (found == SL_NAME_NONE) {
        const sluice_status status = class_union_append(m, name, part, error);
        if (status < 0) {
            return status;
        }
        found = m->classes - 1;
    }
    *number = (int32_t)found;
    return SLUICE_OK;
}

/* Finds the number that a class becomes. */
static sluice_status class_union_place(making *m, const char *name, uint32_t part, int32_t *number,
                                       sluice_error *error)
{
    const uint32_t rename = sl_name_table_find(&m->renames, name);
    if (rename != SL_NAME_NONE) {
        m->used[rename] = true;
        name = m->labels->to[rename];
    }
    if (name == NULL || *name == '\0') {
        *number = name == NULL ? SL_LABEL_NONE : SL_LABEL_NAMELESS;
        return SLUICE_OK;
    }
    return find_or_add(m, name, part, number, error);
}

/* ---- maps ---- */

static sluice_status map_named(making *m, uint32_t part, sl_label_map **made, sluice_error *error)
{
    const sl_dataset *of = m->parts[part];
    sl_label_map *map = sl_label_map_new(of->info.classes, false);
    sluice_status status = SLUICE_OK;
    *made = map;
    if (map == NULL) {
        return class_union_no_memory(error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < of->info.classes; i++) {
        status = class_union_place(m, class_union_name_of(of, i), part, &map->to[i], error);
    }
    return status;
}

/* Returns the label that a text is the number of: "7", but not "07"; -1: none. */
static int64_t class_union_number_of(const char *text)
{
    enum { DIGITS_MAX = 18 }; /* below 2^63 */
    const size_t digits = strspn(text, "0123456789");
    const bool plain = digits > 0 && digits <= DIGITS_MAX && text[digits] == '\0' &&
                       (digits == 1 || text[0] != '0');
    return plain ? strtoll(text, NULL, 10) : -1;
}

static int compare_labels(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static uint32_t count_numbers(const sl_class_request *labels)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < labels->rename_count; i++) {
        count += class_union_number_of(labels->from[i]) >= 0;
    }
    return count;
}

/* Maps the labels of a dataset without class names: those numbers that are renamed. */
static sluice_status map_numbers(making *m, uint32_t part, sl_label_map **made, sluice_error *error)
{
    const uint32_t count = count_numbers(m->labels);
    if (count == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the classes of dataset %u have no names to join them by: name its "
                            "labels by renaming \"0\", \"1\" and so on",
                            part + 1);
    }
    sl_label_map *map = sl_label_map_new(count, true);
    sluice_status status = SLUICE_OK;
    *made = map;
    if (map == NULL) {
        return class_union_no_memory(error);
    }
    for (uint32_t i = 0, at = 0; i < m->labels->rename_count; i++) {
        const int64_t number = class_union_number_of(m->labels->from[i]);
        if (number >= 0) {
            map->from[at++] = number;
        }
    }
    qsort(map->from, count, sizeof(*map->from), compare_labels);
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "%lld", (long long)map->from[i]);
        status = class_union_place(m, name, part, &map->to[i], error);
    }
    return status;
}

static sluice_status map_all(making *m, sl_label_map **maps, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < m->count; i++) {
        if (i > 0 && sl_share_classes(m->parts[i], m->parts[i - 1])) {
            maps[i] = sl_label_map_ref(maps[i - 1]);
        } else if (m->parts[i]->info.classes > 0) {
            status = map_named(m, i, &maps[i], error);
        } else {
            status = map_numbers(m, i, &maps[i], error);
        }
    }
    return status;
}

/* ---- requests ---- */

static sluice_status class_union_take_classes(making *m, sluice_error *error)
{
    const sl_class_request *labels = m->labels;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < labels->class_count; i++) {
        const char *name = labels->classes[i];
        if (*name == '\0' || sl_name_table_find(&m->known, name) != SL_NAME_NONE) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "requested class %u, \"%.128s\", is empty or listed twice", i,
                                name);
        }
        status = class_union_append(m, name, ASKED, error);
    }
    return status;
}

static sluice_status take_renames(making *m, sluice_error *error)
{
    const sl_class_request *labels = m->labels;
    m->used = sl_calloc(labels->rename_count + (size_t)1, sizeof(*m->used));
    if (m->used == NULL) {
        return class_union_no_memory(error);
    }
    for (uint32_t i = 0; i < labels->rename_count; i++) {
        const char *name = labels->from[i];
        const bool empty = labels->to[i] != NULL && *labels->to[i] == '\0';
        if (empty || *name == '\0' || sl_name_table_find(&m->renames, name) != SL_NAME_NONE) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "class \"%.128s\" is renamed twice, or a name is empty", name);
        }
        if (!sl_name_table_add(&m->renames, name, i)) {
            return class_union_no_memory(error);
        }
    }
    return SLUICE_OK;
}

/* Rejects renaming a class that no dataset has: it is a typo. */
static sluice_status check_used(const making *m, sluice_error *error)
{
    for (uint32_t i = 0; i < m->labels->rename_count; i++) {
        if (!m->used[i]) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "cannot rename class \"%.128s\": no dataset has it",
                                m->labels->from[i]);
        }
    }
    return SLUICE_OK;
}

/* ---- names that a file system might merge ---- */

typedef struct folded {
    const char *text;
    uint32_t number;
} folded;

static int class_union_compare_folded(const void *a, const void *b)
{
    const folded *left = a;
    const folded *right = b;
    const int order = strcmp(left->text, right->text);
    return order != 0 ? order : (left->number > right->number) - (left->number < right->number);
}

static sluice_status refuse_case(const making *m, uint32_t one, uint32_t other, sluice_error *error)
{
    const bool asked = m->first[one] == ASKED || m->first[other] == ASKED;
    char whose[64] = "";
    if (!asked) {
        (void)snprintf(whose, sizeof(whose), " of the datasets %u and %u", m->first[one] + 1,
                       m->first[other] + 1);
    }
    return sl_error_set(
        error, SLUICE_INVALID, STAGE,
        "the classes \"%.128s\" and \"%.128s\"%s differ only in case: rename one of them if they "
        "are the same (" SL_OPTION("allow_case_duplicates") " accepts them as two)",
        m->names[one], m->names[other], whose);
}

/*
 * Finds names that differ only in case. It is intended if one dataset has both, or if they were
 * requested.
 */
static sluice_status look_for_case(const making *m, const folded *names, sluice_error *error)
{
    for (uint32_t i = 1; i < m->classes; i++) {
        const uint32_t one = names[i - 1].number;
        const uint32_t other = names[i].number;
        if (strcmp(names[i - 1].text, names[i].text) == 0 && m->first[one] != m->first[other]) {
            return refuse_case(m, one, other, error);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_case(const making *m, sluice_error *error)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < m->classes; i++) {
        bytes += strlen(m->names[i]) + 1;
    }
    folded *names = sl_calloc(m->classes + (size_t)1, sizeof(*names));
    char *text = sl_malloc(bytes);
    sluice_status status = SLUICE_OK;
    if (names == NULL || text == NULL) {
        status = class_union_no_memory(error);
    } else {
        char *to = text;
        for (uint32_t i = 0; i < m->classes; i++) {
            names[i] = (folded){to, i};
            sl_case_fold(m->names[i], to);
            to += strlen(to) + 1;
        }
        qsort(names, m->classes, sizeof(*names), class_union_compare_folded);
        status = look_for_case(m, names, error);
    }
    sl_free(names);
    sl_free(text);
    return status;
}

/* ---- all steps ---- */

static sluice_status class_union_make(making *m, sl_label_map **maps, sluice_error *error)
{
    sluice_status status = class_union_take_classes(m, error);
    if (status == SLUICE_OK) {
        status = take_renames(m, error);
    }
    if (status == SLUICE_OK) {
        status = map_all(m, maps, error);
    }
    if (status == SLUICE_OK) {
        status = check_used(m, error);
    }
    if (status == SLUICE_OK && !m->labels->allow_case_duplicates) {
        status = check_case(m, error);
    }
    return status;
}

static void close_making(making *m)
{
    for (uint32_t i = 0; i < m->classes; i++) {
        sl_free(m->names[i]);
    }
    sl_free((void *)m->names);
    sl_free(m->first);
    sl_free(m->used);
    sl_name_table_close(&m->renames);
    sl_name_table_close(&m->known);
}

sluice_status sl_class_union_make(sl_class_union *made, sl_dataset *const *parts, uint32_t count,
                                  const sl_class_request *labels, sluice_error *error)
{
    making m = {.labels = labels, .parts = parts, .count = count};
    *made = (sl_class_union){.count = count};
    if (are_alike(&m)) {
        return SLUICE_OK;
    }
    made->maps = (sl_label_map **)sl_calloc(count, sizeof(sl_label_map *));
    if (made->maps == NULL) {
        return class_union_no_memory(error);
    }
    sluice_status status = class_union_make(&m, made->maps, error);
    if (status == SLUICE_OK) {
        made->names = sl_class_names_new(m.names, m.classes);
        status = made->names != NULL ? SLUICE_OK : class_union_no_memory(error);
    }
    if (made->names != NULL) { /* these own the names now */
        m.names = NULL;
        m.classes = 0;
    }
    close_making(&m);
    return status;
}

void sl_class_union_close(sl_class_union *made)
{
    for (uint32_t i = 0; made->maps != NULL && i < made->count; i++) {
        sl_label_map_drop(made->maps[i]);
    }
    sl_free((void *)made->maps);
    sl_class_names_drop(made->names);
    *made = (sl_class_union){.count = 0};
}

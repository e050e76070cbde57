/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_map: which numbers the labels of one dataset have in a list of classes that it shares.
 *
 * Purpose: what a label was, what it becomes, and why it becomes nothing. A map of a dataset whose
 * classes have names is an array over them; of one without names, a list of those numbers of which
 * something was said. A label of -1 (no class) stays one in any.
 * Threads: immutable once made. Ownership: counted references; NULL stands for "as they are".
 */
#ifndef SL_LABEL_MAP_H
#define SL_LABEL_MAP_H

#include "view.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a label can become, besides the number of a class. */
#define SL_LABEL_NONE     (-1) /* no class: what was asked for */
#define SL_LABEL_NAMELESS (-2) /* a class without a name, which no other dataset can have */
#define SL_LABEL_UNKNOWN  (-3) /* none of the dataset's classes, or nothing was said of it */

/* Names of classes, by number. */
typedef struct sl_class_names {
    _Atomic uint32_t references;
    uint32_t count;
    char **names; /* `count` of them, each owned */
} sl_class_names;

typedef struct sl_label_map {
    _Atomic uint32_t references;
    bool sparse; /* `from` says which labels there are; else they are 0 .. count - 1 */
    uint32_t count;
    int64_t *from; /* ascending; NULL where they are not sparse */
    int32_t *to;
} sl_label_map;

/* Space for `count` labels, each of which is SL_LABEL_UNKNOWN yet. NULL: no memory. */
sl_label_map *sl_label_map_new(uint32_t count, bool sparse);
sl_label_map *sl_label_map_ref(sl_label_map *map); /* NULL is fine */
void sl_label_map_drop(sl_label_map *map);         /* NULL is fine */

/* The number of a class, or one of the three above. */
int32_t sl_label_map_find(const sl_label_map *map, int64_t label);
/* Whether it leaves every label what it is. */
bool sl_label_map_is_identity(const sl_label_map *map);
/* The same of labels below `count`, of a map that is not sparse. NULL: no memory. */
sl_label_map *sl_label_map_first(const sl_label_map *map, uint32_t count);
/* What becomes of labels that `first` maps, and `then` once more. NULL: no memory. */
sl_label_map *sl_label_map_compose(const sl_label_map *first, const sl_label_map *then);
/* Of what it says; another for another map. */
uint64_t sl_label_map_sum(const sl_label_map *map);

/* Takes over `names`, of memory of sl_malloc, and each of them; NULL: no memory, and they are the
 * caller's still. */
sl_class_names *sl_class_names_new(char **names, uint32_t count);
sl_class_names *sl_class_names_ref(sl_class_names *names); /* NULL is fine */
void sl_class_names_drop(sl_class_names *names);           /* NULL is fine */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_map: maps the labels of one dataset to a list of classes that it shares with others.
 *
 * Purpose: maps a label to its new number, or to a reason why it has none. The map of a dataset
 * with class names is an array over its classes; without class names, it is a list of the renamed
 * numbers. A label of -1 (no class) stays -1 in any map. Threads: immutable once built. Ownership:
 * reference counted; NULL means "unchanged".
 */
#ifndef SL_LABEL_MAP_H
#define SL_LABEL_MAP_H

#include "view.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Results besides the number of a class. */
#define SL_LABEL_NONE     (-1) /* no class: as requested */
#define SL_LABEL_NAMELESS (-2) /* a class without a name, which no other dataset can have */
#define SL_LABEL_UNKNOWN  (-3) /* not a class of the dataset, or not mentioned */

/* Names of classes, by number. */
typedef struct sl_class_names {
    _Atomic uint32_t references;
    uint32_t count;
    char **names; /* `count` names, each owned */
} sl_class_names;

typedef struct sl_label_map {
    _Atomic uint32_t references;
    bool sparse; /* true if `from` has the labels; otherwise they are 0 .. count - 1 */
    uint32_t count;
    int64_t *from; /* ascending; NULL unless sparse */
    int32_t *to;
} sl_label_map;

/* Returns a map of `count` labels, which are SL_LABEL_UNKNOWN at first. NULL: no memory. */
sl_label_map *sl_label_map_new(uint32_t count, bool sparse);
sl_label_map *sl_label_map_ref(sl_label_map *map); /* NULL is a no-op */
void sl_label_map_drop(sl_label_map *map);         /* NULL is a no-op */

/* Returns the number of a class, or one of the three values above. */
int32_t sl_label_map_find(const sl_label_map *map, int64_t label);
/* Returns whether the map leaves every label unchanged. */
bool sl_label_map_is_identity(const sl_label_map *map);
/* Returns the map of labels below `count`, from a map that is not sparse. NULL: no memory. */
sl_label_map *sl_label_map_first(const sl_label_map *map, uint32_t count);
/* Returns the map that applies `first`, then `then`. NULL: no memory. */
sl_label_map *sl_label_map_compose(const sl_label_map *first, const sl_label_map *then);
/* Returns a checksum of the map's contents. */
uint64_t sl_label_map_sum(const sl_label_map *map);

/*
 * Takes over `names`, allocated with sl_malloc, and each name. NULL: no memory; the caller keeps
 * them.
 */
sl_class_names *sl_class_names_new(char **names, uint32_t count);
sl_class_names *sl_class_names_ref(sl_class_names *names); /* NULL is a no-op */
void sl_class_names_drop(sl_class_names *names);           /* NULL is a no-op */

#endif

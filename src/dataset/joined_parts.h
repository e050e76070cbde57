/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined_parts: a joined dataset, and what it is made of. Private to joined*.c.
 *
 * Purpose: joined.c finds the part of a sample, and its values; joined_open.c makes the dataset;
 * joined_objects.c makes one set of objects of those of all parts. Threads, ownership: joined.h.
 */
#ifndef SL_JOINED_PARTS_H
#define SL_JOINED_PARTS_H

#include "joined.h"

typedef struct sl_joined_part {
    sl_dataset *of;
    uint64_t first;              /* number of its first sample */
    uint32_t span;               /* its objects */
    bool reorders;               /* its fields stand in another order: */
    bool checks_labels;          /* it has no names of classes, and others have */
    sl_label_map *labels;        /* what its labels are here; owned; NULL: what they are there */
    uint8_t from[SL_FIELDS_MAX]; /* number in it of each field */
} sl_joined_part;

/* Objects that one part, or several, read from. */
typedef struct sl_joined_span {
    sl_objects *objects;
    uint32_t first; /* number of the first here */
    uint32_t part;  /* that reads from it, one that can check it if there is one */
    bool shared;    /* others do, too */
} sl_joined_span;

typedef struct sl_joined {
    sl_dataset base;
    sl_joined_part *parts;
    sl_joined_span *spans;
    uint32_t count, span_count;
    bool owns_objects;
    const sl_dataset *classes; /* the part that names them; NULL: none does */
    sl_class_names *names;     /* instead of `classes`, where labels are renumbered; owned */
    uint32_t label;            /* the field; NONE */
    sl_mix *mix;               /* base.mix; NULL */
    sl_field fields[SL_FIELDS_MAX];
} sl_joined;

static inline const sl_joined *sl_joined_of(const sl_dataset *dataset)
{
    return (const sl_joined *)(const void *)dataset;
}

extern const sl_dataset_ops sl_joined_ops;
extern const sl_check_ops sl_joined_checks;
extern const struct sl_over sl_joined_over;

/* The span that an object is in. */
const sl_joined_span *sl_joined_span_of(const sl_joined *own, uint32_t object);
/* All parts are there: finds their spans, and makes the objects. Errors: UNSUPPORTED, NOMEM. */
sluice_status sl_joined_objects(sl_joined *own, sluice_error *error);

#endif

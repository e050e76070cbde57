/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined_parts: a joined dataset and its parts. Private to joined*.c.
 *
 * Purpose: joined.c finds the part of a sample, and its values; joined_open.c makes the dataset;
 * joined_objects.c combines the objects of all parts. Threads, ownership: joined.h.
 */
#ifndef SL_JOINED_PARTS_H
#define SL_JOINED_PARTS_H

#include "joined.h"

typedef struct sl_joined_part {
    sl_dataset *of;
    uint64_t first;              /* number of its first sample */
    uint32_t span;               /* number of its objects' span */
    bool reorders;               /* true if its fields are in another order: */
    bool checks_labels;          /* true if it has no class names but others have */
    sl_label_map *labels;        /* owned map of its labels; NULL: unchanged */
    uint8_t from[SL_FIELDS_MAX]; /* number of each field in the part */
} sl_joined_part;

/* Objects that one or several parts read from. */
typedef struct sl_joined_span {
    sl_objects *objects;
    uint32_t first; /* number of the first one here */
    uint32_t part;  /* a part that reads from it, preferably one that can check it */
    bool shared;    /* true if several parts read from it */
} sl_joined_span;

typedef struct sl_joined {
    sl_dataset base;
    sl_joined_part *parts;
    sl_joined_span *spans;
    uint32_t count, span_count;
    bool owns_objects;
    const sl_dataset *classes; /* part that provides class names; NULL: none */
    sl_class_names *names;     /* used instead of `classes` if labels are renumbered; owned */
    uint32_t label;            /* the label field; NONE */
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

/* Returns the span that contains an object. */
const sl_joined_span *sl_joined_span_of(const sl_joined *own, uint32_t object);
/* Finds the spans once all parts are added, and makes the objects. Errors: UNSUPPORTED, NOMEM. */
sluice_status sl_joined_objects(sl_joined *own, sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_fields: the fields of tf.train.Examples, and values from their features.
 *
 * Purpose: Examples have no schema, so keys are found by looking at some of them, or given by the
 * user. Each key is a field, and so is each position in a list of images; docs/formats.md describes
 * types and names. A feature_list is a field whose value is the list as stored (step_list.h), or an
 * element of it. Threads: found by one, then immutable; values from any thread, without allocating.
 */
#ifndef SL_EXAMPLE_FIELDS_H
#define SL_EXAMPLE_FIELDS_H

#include "example.h"
#include "field_choice.h"

/* Prefix for the key of a feature_list if a feature has the same name. */
#define SL_EXAMPLE_LISTS "feature_lists/"

/* A key that was seen. */
typedef struct sl_example_key {
    char name[SL_CHOICE_KEY_BYTES];
    bool in_lists;        /* true if from feature_lists: the members below describe steps */
    sl_feature_kind kind; /* NONE: no list yet */
    bool mixed;           /* true if it has lists of several kinds */
    uint64_t least, most; /* number of values of a list */
    uint64_t least_bytes, most_bytes; /* sizes of the last value */
    uint64_t most_steps;
    bool all_pictures, any; /* true if all non-empty values are images; true if there is one */
    bool all_text;
} sl_example_key;

/* The keys that were seen. */
typedef struct sl_example_keys {
    uint32_t count;
    bool too_many;
    char too_long[SL_CHOICE_KEY_BYTES]; /* beginning of a key that is too long */
    sl_example_key of[SL_FIELDS_MAX];
} sl_example_keys;

typedef struct sl_example_field {
    char key[SL_CHOICE_KEY_BYTES];
    uint32_t key_bytes;
    bool in_lists;
    sl_feature_kind kind; /* kind of its list */
    uint64_t step;        /* tensors: number of elements after the first dimension */
    uint64_t width;       /* tensors of feature_lists: elements per step; 0: variable */
    uint32_t element;     /* of the feature_list; NONE: the whole list */
    bool last;            /* true if the feature_list must not have more elements */
} sl_example_field;

typedef struct sl_example_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    sl_example_field of[SL_FIELDS_MAX];
} sl_example_fields;

/* Looks at an Example. `choices`: only at their keys; NULL: at all keys. */
sl_refusal sl_example_look(sl_example_keys *keys, const sl_field_choice *choices, uint32_t count,
                           sl_bytes example);

/*
 * Returns whether a choice's key is that of a feature, or (`*element` is not NONE) of one of its
 * elements.
 */
bool sl_example_key_chosen(const char *choice, sl_bytes name, bool in_lists, uint32_t *element);
/*
 * Determines a key's field except for its name; for a list of images, that of each image. False: it
 * cannot be a field.
 */
bool sl_example_type(const sl_example_key *key, sl_field *field);

/*
 * Finds the fields from the keys seen, which it sorts. Errors: UNSUPPORTED (too many keys, several
 * kinds or equal names), INVALID (none).
 */
sluice_status sl_example_fields_find(sl_example_fields *fields, sl_example_keys *keys,
                                     sluice_error *error);
/*
 * Finds the fields from the choices. Errors: INVALID (duplicate names, unseen keys, unsuitable
 * types).
 */
sluice_status sl_example_fields_choose(sl_example_fields *fields, const sl_example_keys *keys,
                                       const sl_field_choice *choices, uint32_t count,
                                       sluice_error *error);

/* Unpacks an Example that begins `offset` bytes after the sample. */
sl_refusal sl_example_fields_unpack(const sl_example_fields *fields, sl_bytes example,
                                    uint32_t offset, sl_values *values);

#endif

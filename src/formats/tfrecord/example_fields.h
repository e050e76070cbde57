/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_fields: the fields of tf.train.Examples, and values from their features.
 *
 * Purpose: Examples have no schema: what the keys are is found by looking at some of them, or said
 * by the user. Each key is a field, and each place of a list of pictures; docs/formats.md says
 * which type it has and what it is called. A feature_list is a field whose value is that list as it
 * is stored (step_list.h), or an element of it. Threads: found by one, then immutable; values from
 * any thread, without allocating.
 */
#ifndef SL_EXAMPLE_FIELDS_H
#define SL_EXAMPLE_FIELDS_H

#include "example.h"
#include "field_choice.h"

/* Before the key of a feature_list of whose name there is a feature, too. */
#define SL_EXAMPLE_LISTS "feature_lists/"

/* A key that was seen. */
typedef struct sl_example_key {
    char name[SL_CHOICE_KEY_BYTES];
    bool in_lists;                    /* of feature_lists: what follows is of steps */
    sl_feature_kind kind;             /* NONE: no list yet */
    bool mixed;                       /* it has lists of several kinds */
    uint64_t least, most;             /* values of a list */
    uint64_t least_bytes, most_bytes; /* of the last of them */
    uint64_t most_steps;
    bool all_pictures, any; /* of those that are not empty; whether one is not */
    bool all_text;
} sl_example_key;

/* What was seen. */
typedef struct sl_example_keys {
    uint32_t count;
    bool too_many;
    char too_long[SL_CHOICE_KEY_BYTES]; /* how one begins that is */
    sl_example_key of[SL_FIELDS_MAX];
} sl_example_keys;

typedef struct sl_example_field {
    char key[SL_CHOICE_KEY_BYTES];
    uint32_t key_bytes;
    bool in_lists;
    sl_feature_kind kind; /* of its list */
    uint64_t step;        /* tensors: elements behind the first dimension */
    uint64_t width;       /* tensors of feature_lists: elements of each step; 0: any number */
    uint32_t element;     /* of the feature_list; NONE: it is all of it */
    bool last;            /* the feature_list must not have more of them */
} sl_example_field;

typedef struct sl_example_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    sl_example_field of[SL_FIELDS_MAX];
} sl_example_fields;

/* Looks at an Example. `choices`: only at their keys; NULL: at all. */
sl_refusal sl_example_look(sl_example_keys *keys, const sl_field_choice *choices, uint32_t count,
                           sl_bytes example);

/* Whether a choice's key is that of a feature, or (`*element` is not NONE) of an element of it. */
bool sl_example_key_chosen(const char *choice, sl_bytes name, bool in_lists, uint32_t *element);
/* What a key is as a field, but for its name; of a list of pictures what each is. False: nothing
 * that a field could be. */
bool sl_example_type(const sl_example_key *key, sl_field *field);

/* Of the keys that were seen, which are sorted. Errors: UNSUPPORTED (too many, of several kinds, of
 * one name), INVALID (none). */
sluice_status sl_example_fields_find(sl_example_fields *fields, sl_example_keys *keys,
                                     sluice_error *error);
/* Of the choices. Errors: INVALID (names twice, keys that were not seen, types that do not fit). */
sluice_status sl_example_fields_choose(sl_example_fields *fields, const sl_example_keys *keys,
                                       const sl_field_choice *choices, uint32_t count,
                                       sluice_error *error);

/* Takes an Example apart, which is `offset` bytes behind the sample's first. */
sl_refusal sl_example_fields_unpack(const sl_example_fields *fields, sl_bytes example,
                                    uint32_t offset, sl_values *values);

#endif

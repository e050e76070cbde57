/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_fields: the fields of tf.train.Examples, and values from their features.
 *
 * Purpose: Examples have no schema: what the keys are is found by looking at some of them, or said
 * by the user. Each key is a field; docs/formats.md says which type it has and what it is called.
 * Threads: found by one, then immutable; values from any thread, without allocating.
 */
#ifndef SL_EXAMPLE_FIELDS_H
#define SL_EXAMPLE_FIELDS_H

#include "example.h"
#include "field_choice.h"

/* A key that was seen. */
typedef struct sl_example_key {
    char name[SL_CHOICE_KEY_BYTES];
    sl_feature_kind kind;   /* NONE: no list yet */
    bool mixed;             /* it has lists of several kinds */
    uint64_t least, most;   /* values of a list */
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
    sl_feature_kind kind; /* of its list */
    uint64_t step;        /* tensors: elements behind the first dimension */
} sl_example_field;

typedef struct sl_example_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    sl_example_field of[SL_FIELDS_MAX];
} sl_example_fields;

/* Looks at an Example. `choices`: only at their keys; NULL: at all. */
sl_refusal sl_example_look(sl_example_keys *keys, const sl_field_choice *choices, uint32_t count,
                           sl_bytes example);

/* Of the keys that were seen, which are sorted. Errors: UNSUPPORTED (too many, of several kinds, of
 * one name), INVALID (none). */
sluice_status sl_example_fields_find(sl_example_fields *fields, sl_example_keys *keys,
                                     sluice_error *error);
/* Of the choices. Errors: INVALID (names twice, keys that were not seen, types that do not fit). */
sluice_status sl_example_fields_choose(sl_example_fields *fields, const sl_example_keys *keys,
                                       const sl_field_choice *choices, uint32_t count,
                                       sluice_error *error);

/* Takes an Example apart, which lies `offset` bytes behind the sample's first. */
sl_refusal sl_example_fields_unpack(const sl_example_fields *fields, sl_bytes example,
                                    uint32_t offset, sl_values *values);

#endif

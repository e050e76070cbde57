/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example: the features of a tf.train.Example, one by one.
 *
 * Purpose: the one place that knows the message (tensorflow/core/example): Example.features = 1,
 * Features.feature = 1, a map of key = 1 to Feature = 2, which is a bytes_list = 1, float_list = 2
 * or int64_list = 3. A SequenceExample's context has the same number and type as an Example's
 * features, so both are read alike; its feature_lists = 2 is stepped over. Threads: pure. No
 * allocation.
 */
#ifndef SL_EXAMPLE_H
#define SL_EXAMPLE_H

#include "error.h"
#include "wire.h"

typedef enum sl_feature_kind {
    SL_FEATURE_NONE = 0, /* a Feature without a list */
    SL_FEATURE_BYTES = 1,
    SL_FEATURE_FLOAT = 2,
    SL_FEATURE_INT64 = 3
} sl_feature_kind;

typedef struct sl_feature {
    sl_bytes key;
    sl_feature_kind kind;
    sl_bytes list; /* the message */
} sl_feature;

typedef struct sl_example {
    sl_wire message, features; /* what is left of them */
    const uint8_t *begin;
} sl_example;

typedef enum sl_example_step {
    SL_EXAMPLE_FEATURE,
    SL_EXAMPLE_END,
    SL_EXAMPLE_REFUSED /* `why` says it; its offset counts from the message's first byte */
} sl_example_step;

void sl_example_begin(sl_example *example, sl_bytes message);
sl_example_step sl_example_next(sl_example *example, sl_feature *feature, sl_refusal *why);

/* How many values there are, of any kind; of bytes the last one. False: the list is damaged. */
bool sl_example_count(const sl_feature *feature, uint64_t *count, sl_bytes *last);
/* The values of a bytes_list: `*count`, and the last of them. False: it is damaged. */
bool sl_example_bytes(sl_bytes list, uint64_t *count, sl_bytes *last);

#endif

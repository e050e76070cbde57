/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example: iterates over the features of a tf.train.Example or SequenceExample.
 *
 * Purpose: the only code that knows the messages (tensorflow/core/example): Example.features = 1,
 * Features.feature = 1, a map of key = 1 to Feature = 2 (feature.h). A SequenceExample's context
 * has the same number and type as an Example's features, so both are read alike. Its feature_lists
 * = 2, FeatureLists.feature_list = 1, is such a map too, of key = 1 to FeatureList = 2
 * (step_list.h). Threads: pure. No allocation.
 */
#ifndef SL_EXAMPLE_H
#define SL_EXAMPLE_H

#include "error.h"
#include "feature.h"
#include "wire.h"

typedef struct sl_feature {
    sl_bytes key;
    bool in_lists; /* true if it is from feature_lists: `list` is its FeatureList, without a kind */
    sl_feature_list list;
} sl_feature;

typedef struct sl_example {
    sl_wire message, features; /* unread parts */
    bool in_lists;             /* true if `features` are feature_lists */
    const uint8_t *begin;
} sl_example;

typedef enum sl_example_step {
    SL_EXAMPLE_FEATURE,
    SL_EXAMPLE_END,
    SL_EXAMPLE_REFUSED /* invalid: `why` has the reason, with an offset from the message's first
                          byte */
} sl_example_step;

void sl_example_begin(sl_example *example, sl_bytes message);
sl_example_step sl_example_next(sl_example *example, sl_feature *feature, sl_refusal *why);

#endif

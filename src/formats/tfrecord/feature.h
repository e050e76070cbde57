/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature: one Feature of a tf.train.Example, or of a step of a tf.train.SequenceExample.
 *
 * Purpose: the only code that knows the message (tensorflow/core/example): a bytes_list = 1,
 * float_list = 2 or int64_list = 3, whose values are value = 1. Threads: pure. No allocation.
 */
#ifndef SL_FEATURE_H
#define SL_FEATURE_H

#include "wire.h"

typedef enum sl_feature_kind {
    SL_FEATURE_NONE = 0, /* a Feature without a list */
    SL_FEATURE_BYTES = 1,
    SL_FEATURE_FLOAT = 2,
    SL_FEATURE_INT64 = 3
} sl_feature_kind;

typedef struct sl_feature_list {
    sl_feature_kind kind;
    sl_bytes bytes; /* the message */
} sl_feature_list;

/* Finds the list of a Feature. Returns the error, a literal, or NULL. */
const char *sl_feature_read(sl_bytes message, sl_feature_list *list);
/* Counts the values, of any kind; `*last`: the last byte value. False: the list is damaged. */
bool sl_feature_count(const sl_feature_list *list, uint64_t *count, sl_bytes *last);
/* Counts the values of a bytes_list and finds the last one. False: damaged. */
bool sl_feature_bytes(sl_bytes list, uint64_t *count, sl_bytes *last);
/* Steps to the next value. False: no more, or (`values->at` is not its end) damaged. */
bool sl_feature_next(sl_wire *values, sl_bytes *value);

#endif

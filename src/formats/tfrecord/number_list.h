/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_list: lists of numbers as protobuf stores them, and as arrays.
 *
 * Purpose: `repeated int64 value = 1` and `repeated float value = 1`, packed or not, or in pieces:
 * what a feature of a tf.train.Example is. Numbers of 64 bits take 1 to 10 bytes there, so that an
 * array of them has to be made; that of floats mostly is there as it is. Threads: pure. No
 * allocation.
 */
#ifndef SL_NUMBER_LIST_H
#define SL_NUMBER_LIST_H

#include "packed_value.h"

#include <stdbool.h>

typedef enum sl_list_kind { SL_LIST_I64, SL_LIST_F32, SL_LIST_KINDS } sl_list_kind;

typedef struct sl_list_facts {
    uint64_t count;
    sl_bytes plain; /* F32: all of them, where they are as an array; NULL: they do not */
} sl_list_facts;

/* Looks at all of a message that is a list. False: it is damaged. */
bool sl_list_look(sl_list_kind kind, sl_bytes message, sl_list_facts *facts);
/* Writes the numbers as an array, 8 or 4 bytes each, as many as sl_list_look counted: `count`.
 * False: they are not so many. */
bool sl_list_read(sl_list_kind kind, sl_bytes message, void *to, uint64_t count);

/* Values that are such a list, by its kind (packed_value.h). */
extern const sl_value_packing sl_value_packing_numbers[SL_LIST_KINDS];

#endif

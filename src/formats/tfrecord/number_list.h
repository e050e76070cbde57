/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_list: converts protobuf's lists of numbers to arrays.
 *
 * Purpose: reads `repeated int64 value = 1` and `repeated float value = 1`, packed, unpacked, or in
 * pieces: the features of a tf.train.Example. 64-bit numbers take 1 to 10 bytes, so their array has
 * to be built; floats are usually stored as an array already. Threads: pure. No allocation.
 */
#ifndef SL_NUMBER_LIST_H
#define SL_NUMBER_LIST_H

#include "packed_value.h"

#include <stdbool.h>

typedef enum sl_list_kind { SL_LIST_I64, SL_LIST_F32, SL_LIST_KINDS } sl_list_kind;

typedef struct sl_list_facts {
    uint64_t count;
    sl_bytes plain; /* F32: the array of all numbers, if stored as one; NULL: not */
} sl_list_facts;

/* Looks at a whole list message. False: damaged. */
bool sl_list_look(sl_list_kind kind, sl_bytes message, sl_list_facts *facts);
/*
 * Writes the numbers as an array of `count` elements of 8 or 4 bytes, as counted by sl_list_look.
 * False: the number differs.
 */
bool sl_list_read(sl_list_kind kind, sl_bytes message, void *to, uint64_t count);

/* Packing of values that are such a list, by kind (packed_value.h). */
extern const sl_value_packing sl_value_packing_numbers[SL_LIST_KINDS];

#endif

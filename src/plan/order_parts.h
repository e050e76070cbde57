/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_parts: which options two orders differ in, by 64 bits of each.
 *
 * Purpose: a cursor has one hash of everything that an order depends on (cursor.h), which decides
 * whether two orders are the same. If the hashes differ, these bits name the options that differ.
 *   layout   from the lowest bit on: SL_ORDER_TABLE_BITS give the table, then each part of it has
 * its bits, in the order of the table; a part   is 0 if its value is the usual one, else 1 ..
 * 2^bits - 1. Different values may have equal bits, about once in 2^bits: parts never decide that
 * orders are the same. In an exact table they decide that orders differ: any other value makes
 * another order; to add   a part is appended to its table, with the usual value that orders had
 * before. Older cursors have 0 there. Widths and places of other parts never change. 0 as a whole:
 * not known, as in older cursors. Threads: pure.
 */
#ifndef SL_ORDER_PARTS_H
#define SL_ORDER_PARTS_H

#include "name_list.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_ORDER_TABLE_BITS 4U

typedef struct sl_order_part {
    const char *name; /* in messages: "align" */
    uint32_t bits;    /* 1 .. 32 */
    uint64_t usual;
} sl_order_part;

typedef struct sl_order_table {
    uint32_t number;   /* 1 .. 15, unique per table, never changes */
    const char *what;  /* "packing" */
    const char *order; /* of samples: "packed" */
    uint32_t count;
    const sl_order_part *parts; /* their bits add up to 60 at most */
    bool exact;                 /* false: different values may give the same order */
} sl_order_table;

/* Returns the bits of an order with these part values, one for each part of the table. Never 0. */
uint64_t sl_order_parts_make(const sl_order_table *table, const uint64_t *values);
/* Returns the number of the table; 0: not known. */
uint32_t sl_order_parts_table(uint64_t parts);
/* Adds the names of the parts that differ, both of `table`. */
void sl_order_parts_differ(const sl_order_table *table, uint64_t left, uint64_t right,
                           sl_name_list *names);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fault: a store that fails on purpose. Its addresses are "fault:" and a local path.
 *
 * Purpose: a second store (src/io/store.h), over the first, that has neither links nor descriptors,
 * as one behind a network has; and which fails in the operation that it is told to. A program that
 * calls it gets its table of stores in place of the library's. Threads: operations from any; armed
 * and asked while none is under way.
 */
#ifndef SL_STORE_FAULT_H
#define SL_STORE_FAULT_H

#include <stdint.h>

#define STORE_FAULT_SCHEME "fault:"
/* Is of no kind that is tried again (retry.h), and of none that anything else here answers. */
#define STORE_FAULT_ERRNO EBADMSG

typedef enum store_fault {
    STORE_FAULT_NONE,
    STORE_FAULT_ONCE,     /* the operation fails, and no other */
    STORE_FAULT_HALF_WAY, /* a listing fails behind half of its entries, a read comes to an end:
                             another operation fails */
    STORE_FAULT_STAYS,    /* all of that address fail from then on */
    STORE_FAULT_REPLACED  /* from then on there is another file wherever one is opened or asked for,
                             as long, whose bytes are others */
} store_fault;

/* The operation `number`, from 0, counted from here on, fails so. */
void store_fault_arm(store_fault fault, uint32_t number);
/* How many there were since. */
uint32_t store_fault_count(void);
/* How many of one kind. Facts of an open handle are asked for as a stat is. */
typedef struct store_fault_counts {
    uint32_t opens, stats, lists, reads;
} store_fault_counts;
store_fault_counts store_fault_count_kinds(void);
/* How many of one address, from arming until 8,192 addresses were asked for. */
store_fault_counts store_fault_count_of(const char *path);
/* Whether one of them failed. */
int store_fault_struck(void);
/* What failed: "open fault:/tmp/x/a.tar". */
const char *store_fault_what(void);
/* Handles that are open. */
uint32_t store_fault_handles(void);

#endif

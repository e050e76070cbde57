/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fault: a store that fails on purpose. Its addresses are "fault:" and a local path.
 *
 * Purpose: a second store (src/io/store.h) on top of the first, without links or descriptors, like
 * a store behind a network, which fails in a chosen operation. A program that calls it gets its
 * table of stores in place of the library's.
 * Threads: operations from any; arm and query it while none is in progress.
 */
#ifndef SL_STORE_FAULT_H
#define SL_STORE_FAULT_H

#include <stdint.h>

#define STORE_FAULT_SCHEME "fault:"
/* An error that is never retried (retry.h) and that nothing else here returns. */
#define STORE_FAULT_ERRNO EBADMSG

typedef enum store_fault {
    STORE_FAULT_NONE,
    STORE_FAULT_ONCE,     /* only this operation fails */
    STORE_FAULT_HALF_WAY, /* half a listing, then an error; reads end early; others fail */
    STORE_FAULT_STAYS,    /* all operations on that address fail from then on */
    STORE_FAULT_REPLACED  /* files have the same sizes but other bytes from then on */
} store_fault;

/* Makes operation `number` fail, counted from 0 from now on. */
void store_fault_arm(store_fault fault, uint32_t number);
/* Returns the number of operations since then. */
uint32_t store_fault_count(void);
/* Numbers of operations by kind. Querying an open handle counts as a stat. */
typedef struct store_fault_counts {
    uint32_t opens, stats, lists, reads;
} store_fault_counts;
store_fault_counts store_fault_count_kinds(void);
/* Returns the counts of one address since arming, for the first 8,192 addresses. */
store_fault_counts store_fault_count_of(const char *path);
/* True if an operation has failed. */
int store_fault_struck(void);
/* Returns the failed operation: "open fault:/tmp/x/a.tar". */
const char *store_fault_what(void);
/* Returns the number of open handles. */
uint32_t store_fault_handles(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notices: warnings for the user of a loader's columns, each shown once.
 *
 * Purpose: messages with marked options (base/option_text.h), kept for the consumer, who reads them
 * by number. Duplicates, and notices beyond the capacity, are dropped. Workers and the opener add;
 * anyone reads.
 *
 * Lock: `mutex` guards the list. `count` is raised, with release, when an entry is complete, so
 * that a reader without news takes no lock. Memory: one block, from open to close.
 */
#ifndef SL_NOTICES_H
#define SL_NOTICES_H

#include <sluice/common.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SL_NOTICES_MAX 24U

typedef struct sl_notices {
    pthread_mutex_t mutex;
    _Atomic uint32_t count;
    sluice_error list[SL_NOTICES_MAX];
} sl_notices;

/* Opens the list; NULL: no memory. */
sl_notices *sl_notices_open(void);
void sl_notices_close(sl_notices *notices);
/* Adds a notice; `notices` NULL: nobody reads them. */
void sl_notices_add(sl_notices *notices, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns a notice by number; false: there is none. */
bool sl_notices_get(sl_notices *notices, uint32_t number, sluice_error *notice);

#endif

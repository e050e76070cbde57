/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notices: what a user of a loader's columns should read once, and that ends nothing.
 *
 * Purpose: sentences with marked options (base/option_text.h), kept for the consumer, who reads
 * them by number. A sentence that is already there, and one for which there is no space, is left
 * out. Workers and the opener add; anyone reads.
 * Lock: `mutex` guards the list. `count` is raised, with release, when an entry is complete, so
 * that a reader who finds nothing new takes no lock. Memory: one block, from open to close.
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

/* NULL: there is no memory. */
sl_notices *sl_notices_open(void);
void sl_notices_close(sl_notices *notices);
/* `notices` NULL: nobody reads them. */
void sl_notices_add(sl_notices *notices, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* False: there is none of that number. */
bool sl_notices_get(sl_notices *notices, uint32_t number, sluice_error *notice);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_list: several hashes of the same bytes, held against what an index says they are.
 *
 * Purpose: "sha1=DIGITS xxh64=DIGITS" in one pass over the bytes. Digits count without case.
 * Threads: a list belongs to its user. Ownership: sl_digest_list_close; the text is the caller's,
 * and outlives the list.
 */
#ifndef SL_DIGEST_LIST_H
#define SL_DIGEST_LIST_H

#include "digest.h"

#include <stdint.h>

typedef struct sl_digest_list {
    const char *wanted[SL_DIGEST_NAMES]; /* "NAME=DIGITS", then what comes behind */
    sl_digest *of[SL_DIGEST_NAMES];
    uint32_t count;
} sl_digest_list;

/* `list` is all zero. NULL or "": of none. What sl_digest_refused refuses must not be in it.
 * Errors: NOMEM, UNSUPPORTED (refused); the list is to be closed then, too. */
sluice_status sl_digest_list_open(sl_digest_list *list, const char *hashes, sluice_error *error);
void sl_digest_list_add(sl_digest_list *list, const void *data, size_t bytes);
/* Whether hash `number`, of list->count, is another one than is wanted; asked once for each, when
 * all was added. `name` is what it is called. */
bool sl_digest_list_differs(sl_digest_list *list, uint32_t number, char name[16]);
/* Of all zero is fine. */
void sl_digest_list_close(sl_digest_list *list);

#endif

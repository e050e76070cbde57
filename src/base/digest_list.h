/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_list: several hashes of the same bytes, compared with those in an index.
 *
 * Purpose: check "sha1=DIGITS xxh64=DIGITS" in one pass over the bytes. Digits match in any case.
 * Threads: a list belongs to its user. Ownership: sl_digest_list_close; the text is the caller's,
 * and outlives the list.
 */
#ifndef SL_DIGEST_LIST_H
#define SL_DIGEST_LIST_H

#include "digest.h"

#include <stdint.h>

typedef struct sl_digest_list {
    const char *wanted[SL_DIGEST_NAMES]; /* "NAME=DIGITS", followed by the rest */
    sl_digest *of[SL_DIGEST_NAMES];
    uint32_t count;
} sl_digest_list;

/* Opens the hashes; `list` must be zeroed. NULL or "": none. Names must be available
 * (sl_digest_refused). Errors: NOMEM, UNSUPPORTED (not available); the list must be closed then,
 * too. */
sluice_status sl_digest_list_open(sl_digest_list *list, const char *hashes, sluice_error *error);
void sl_digest_list_add(sl_digest_list *list, const void *data, size_t bytes);
/* Returns whether hash `number`, of list->count, differs from the wanted one; called once for each,
 * after everything was added. `name` receives its name. */
bool sl_digest_list_differs(sl_digest_list *list, uint32_t number, char name[16]);
/* Closes a list, also a zeroed one. */
void sl_digest_list_close(sl_digest_list *list);

#endif

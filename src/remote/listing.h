/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing: the entries of remote folders, page by page, several pages at once.
 *
 * Purpose: a store lists 1,000 keys a request. If a page can start after any key, the rest of a
 * large folder is cut into ranges of keys, which are cut again while fewer than 16 requests are in
 * flight; otherwise pages follow each other. Failed requests are retried, like reads. A listing
 * that does not advance ends with an error: a page names one that was read before, or 100
 * consecutive pages have no new name. Threads: the caller's, which parses; it checks its stop at
 * least every 50 ms.
 */
#ifndef SL_REMOTE_LISTING_H
#define SL_REMOTE_LISTING_H

#include "entries.h"
#include "provider.h"

typedef struct sl_folder_listing {
    sl_entries entries;
    sl_page_end next;    /* more: the listing is not complete yet */
    char *begins;        /* of the names that are listed, sl_malloc'd; NULL: all */
    uint64_t pages_most; /* maximum pages for `finish`, which then leaves `more` set; 0: all */
} sl_folder_listing;

/* Reads the first page of `folder`, whose key is "" or ends with a slash. `*listing` is zero at
 * first, and is closed by the caller. Returns 0 or -errno (ENOENT: the folder does not exist), with
 * a reason. */
int sl_folder_listing_begin(const sl_url *folder, sl_folder_listing *listing);
/* Reads the first page of the names of `folder` that begin with `name`. Requires pages that can
 * start after any key. */
int sl_folder_listing_find(const sl_url *folder, const char *name, sl_folder_listing *listing);
/* Reads all other pages, up to `pages_most`, and sorts the entries. */
int sl_folder_listing_finish(const sl_url *folder, sl_folder_listing *listing);
void sl_folder_listing_close(sl_folder_listing *listing);

#endif

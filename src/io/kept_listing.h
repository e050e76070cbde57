/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_listing: the entries of a folder in memory, for sl_store_list (store.h).
 *
 * Threads: one owner. Memory: at most 4 MiB.
 */
#ifndef SL_KEPT_LISTING_H
#define SL_KEPT_LISTING_H

#include "store.h"

/* Adds an entry: a visitor of the store's listing, with the kept one as `ctx`. END: there are too
 * many. */
sluice_status sl_kept_listing_add(void *ctx, const sl_store_entry *entry, sluice_error *error);
/* Shows all entries, in the order in which they were listed. Errors: the visitor's; CANCELED. */
sluice_status sl_kept_listing_show(const sl_kept_listing *listing, sl_store_visit visit, void *ctx,
                                   sluice_error *error);

#endif

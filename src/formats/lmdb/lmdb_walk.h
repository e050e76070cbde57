/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_walk: visits the entries of an LMDB file in key order.
 *
 * Purpose: the file is read page by page and never mapped, so neither its contents nor other
 * processes can crash this one. Values in pages of their own are not touched. Each page is looked
 * at once, and at most as deep as the tree's depth, whatever the file claims. All entries that the
 * tree claims must exist. A walk does not see an unfinished transaction, but one that ends
 * meanwhile may free pages: do not write to a file while it is read. Threads: one owner. Memory: a
 * page for each level, a bit for each page.
 */
#ifndef SL_LMDB_WALK_H
#define SL_LMDB_WALK_H

#include "lmdb_page.h"
#include "store.h"

typedef struct sl_lmdb {
    const char *path; /* the caller's */
    sl_handle from;
    sl_file_identity file;
    sl_lmdb_meta meta;
    sl_lmdb_tree tree; /* tree of the entries: the main one, or that of the only named database */
} sl_lmdb;

/*
 * Opens a file. Errors: IO, CORRUPT, UNSUPPORTED (several databases, several values per key,
 * another version or machine), NOMEM.
 */
sluice_status sl_lmdb_open(sl_lmdb *file, const char *path, sluice_error *error);
void sl_lmdb_close(sl_lmdb *file);

typedef struct sl_lmdb_entry {
    sl_bytes key;
    sl_bytes value;  /* NULL: in pages of its own */
    uint64_t leaf;   /* page of the key */
    uint64_t offset; /* file offset of its stored bytes: see sl_lmdb_value */
    uint64_t bytes;  /* size of these bytes */
    const sl_lmdb *file;
} sl_lmdb_entry;

/* Receives an entry, whose spans are valid during the call. */
typedef sluice_status (*sl_lmdb_visit)(void *ctx, const sl_lmdb_entry *entry, sluice_error *error);

/* Visits all entries until one fails. Errors: those of sl_lmdb_open and of `visit`. */
sluice_status sl_lmdb_walk(const sl_lmdb *file, sl_lmdb_visit visit, void *ctx,
                           sluice_error *error);

#endif

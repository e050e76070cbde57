/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_walk: the entries of an LMDB file, in the order of their keys.
 *
 * Purpose: the file is read, page by page, and never mapped: nothing that stands in it can end the
 * process, and nothing that another process does to it. Values in pages of their own are not
 * touched. A page of the file is looked at once, and as deep as its tree says, whatever else the
 * file says of how many it has; all entries that the tree says there are have to be there. Reading
 * does not see an unfinished transaction, but one that ends meanwhile may take pages away: a file
 * is not to be written while it is read. Threads: one owner. Memory: a page for each level, a bit
 * for each page.
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
    sl_lmdb_tree tree; /* of the entries: the main one, or that of the one named database */
} sl_lmdb;

/*
 * Errors: IO, CORRUPT, UNSUPPORTED (several databases, several values of a key, another version or
 * machine), NOMEM.
 */
sluice_status sl_lmdb_open(sl_lmdb *file, const char *path, sluice_error *error);
void sl_lmdb_close(sl_lmdb *file);

typedef struct sl_lmdb_entry {
    sl_bytes key;
    sl_bytes value;  /* NULL: it is in pages of its own */
    uint64_t leaf;   /* page that the key is in */
    uint64_t offset; /* of what is stored of it, in the file: see sl_lmdb_value */
    uint64_t bytes;  /* of that */
    const sl_lmdb *file;
} sl_lmdb_entry;

/* Spans of the entry hold during the call. */
typedef sluice_status (*sl_lmdb_visit)(void *ctx, const sl_lmdb_entry *entry, sluice_error *error);

/* All entries, or until one is refused. Errors: as those of open, and of `visit`. */
sluice_status sl_lmdb_walk(const sl_lmdb *file, sl_lmdb_visit visit, void *ctx,
                           sluice_error *error);

#endif

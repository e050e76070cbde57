/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known: facts from listings and answers, while datasets are opened.
 *
 * Purpose: opening looks up the same names many times, and also missing ones. While a scope is
 * open, a folder that was fully listed answers all lookups of its entries without a request (kind,
 * size, ETag, absence), and an object that was opened stays open with its first bytes. Scopes are
 * sl_store_scope_begin/end (store.h); the end of the last one forgets everything, and each fact
 * expires after 60 s.
 * Threads: any. Lock: one mutex; while one thread lists a folder, others that need it wait under
 * their stop. Memory: about 100 bytes an entry, at most 512 MiB; entries beyond that are not kept.
 */
#ifndef SL_KNOWN_H
#define SL_KNOWN_H

#include "listing.h"
#include "object.h"
#include "store.h"

typedef struct sl_known {
    sl_entry_kind kind; /* UNKNOWN: nothing is known; OTHER: known to be missing */
    uint64_t bytes;
    int64_t modified_s;
    char etag[128];
} sl_known;

/* Looks up an address; with a slash at its end, a folder. */
bool sl_known_find(const char *address, sl_known *known);
/* Writes the folder of an address, with its slash. False: it has none, or is too long. */
bool sl_known_parent(const char *address, char parent[SL_PATH_BYTES]);
/* Returns true if the first page of a folder is known, or if it is known to be a folder: then
 * listing it is better than looking up one name. */
bool sl_known_has_folder(const char *folder);
/* Lists the names in the store that begin with the address, and finds its kind. Returns 0 or
 * -errno, with a reason. */
int sl_known_ask(const char *address, sl_known *known);
void sl_known_note(const char *address, const sl_known *known);

/* Returns an object that was opened in this scope, held for the caller; NULL: none was. */
sl_object *sl_known_object(const char *address);
void sl_known_note_object(const char *address, sl_object *object);

/* Lists the names that begin with `prefix`, unless they are many more than the `names` that will be
 * looked up. Returns 0 or -errno, with a reason; names are then looked up one by one. */
int sl_known_expect(const char *prefix, uint64_t names);

/* A folder's listing, shared and immutable while it is held. */
typedef struct sl_known_folder {
    char *address; /* with a slash at its end; without it, only names with this prefix */
    sl_folder_listing listing;
    bool whole;
    bool is_ordered; /* its pages are in the order of keys */
    /* ---- private to known.c ---- */
    bool busy, kept;
    uint64_t noted_ns;
    uint64_t memory; /* counted in the limit, while the folder is kept */
    uint32_t holders;
    struct sl_known_folder *next;
} sl_known_folder;

/* Lists a folder, or returns the known listing: its first page, or the whole folder if `whole`. The
 * caller must not read a listing that is not whole. Returns 0, or -errno with a reason. Blocks,
 * under the thread's stop. */
int sl_known_list(const char *address, bool whole, sl_known_folder **out);
void sl_known_release(sl_known_folder *folder);

void sl_known_scope(bool open);

#endif

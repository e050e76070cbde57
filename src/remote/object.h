/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object: an open remote object: sl_handle.own of remote stores.
 *
 * Purpose: an object knows its size, its ETag and where it moved to, and serves blocking readers.
 * It is opened without a request if a listing or the caller knows its facts (known.h,
 * sl_open_how.known); the first answer must then fit, since another ETag or size is another object.
 * From the first answer on, each request has If-Match. Blocking readers read by windows: a small
 * read fetches at least 64 KiB, and reads in order fetch up to 8 MiB ahead, so that opening a
 * dataset takes few requests.
 * Threads: any. Lock: `mutex` guards the identity, etag, moved and the windows; it is not held
 * during a request. Memory: 64 KiB to 8 MiB of windows per object, 256 MiB in the process.
 * Ownership: counted; a read in flight keeps it.
 */
#ifndef SL_OBJECT_H
#define SL_OBJECT_H

#include "file.h"
#include "provider.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { SL_OBJECT_WINDOWS = 4 };

/* Bytes of an object that were fetched for blocking readers. */
typedef struct sl_object_window {
    uint8_t *data; /* NULL: the window is empty */
    uint64_t offset, bytes;
    uint64_t used;      /* sl_object.uses at its last use */
    uint64_t low, high; /* of its bytes, the range that was requested */
    bool kept;          /* in the opening store, as far as they were requested */
} sl_object_window;

typedef struct sl_object {
    sl_url url;
    const sl_provider *provider;
    char *printed; /* the address without secrets */
    pthread_mutex_t mutex;
    struct sl_cached_object *cached; /* by sl_object_cached (kept.h); NULL: it is not kept */
    sl_file_identity identity; /* inode, changed_ns: hashes of the ETag; all 0: not known yet */
    char etag[128];            /* as sent; "": not known yet, or none */
    char *moved;               /* sl_malloc'd target of a redirect; NULL: none */
    int64_t moved_until_s;
    bool moved_from_local; /* the redirect came from a server that is not public */
    /* If the provider redirects: one read requests the target, while others wait briefly. */
    bool asking, is_direct; /* is_direct: its last answer was not a redirect */
    uint64_t asking_since_ns;
    sl_object_window windows[SL_OBJECT_WINDOWS];
    uint64_t uses;
    uint64_t read_end; /* where the last fetch ended: a read from there on is in order */
    uint64_t ahead;    /* bytes of the next fetch in order */
    bool remembers;    /* its windows are worth keeping (opening_store.h) */
    _Atomic uint32_t holders;
} sl_object;

/* Opens an object without a request. `known`: the identity that it must have; NULL: the first
 * answer sets it. Returns 0 or -errno, with a reason (sl_store_set_reason). */
int sl_object_open(sl_object **object, const char *address, const sl_file_identity *known);
void sl_object_hold(sl_object *object);
void sl_object_release(sl_object *object); /* the last one frees it; NULL is a no-op */

/* Returns the identity of an object of this size, ETag ("": none) and time. */
sl_file_identity sl_object_identity(uint64_t bytes, const char *etag, int64_t modified_s);
/* Takes size, ETag and Last-Modified from a good answer. The first answer sets the facts that are
 * not known yet. `moved`: the answer came from the target of a redirect, where an hf object has
 * another ETag. False: the object was replaced. */
bool sl_object_learn(sl_object *object, const sl_exchange *exchange, bool moved);
/* Copies the current identity; false: it is not known yet. */
bool sl_object_facts(sl_object *object, sl_file_identity *identity);

/* Reads up to `bytes` through the windows; 0 at the end. Blocks, under the thread's stop. Returns
 * -errno with a reason. */
ssize_t sl_object_read_at(sl_object *object, void *to, size_t bytes, uint64_t offset);
/* Fetches the first 64 KiB, and with them the object's identity. 0 or -errno, with a reason. */
int sl_object_look(sl_object *object);
/* Frees windows of more than 64 KiB. */
void sl_object_trim(sl_object *object);
/* Copies bytes into a new window, under the mutex, if there is memory for it. */
void sl_object_put_window_locked(sl_object *object, const void *bytes, uint64_t offset,
                                 size_t count);
/* Frees windows of more than so many bytes. */
void sl_object_drop_windows(sl_object *object, uint64_t larger_than);

#endif

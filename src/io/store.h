/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: the places where datasets are stored, and the only way to access them.
 *
 * Purpose: formats, datasets and readers know addresses (a path, or "scheme://..."), and use the
 * store of an address. A store is one row of `sl_stores` (stores.c): local files (store_local.c),
 * and object stores (src/remote/store_remote.c). Everything that all stores share (whole reads,
 * replaced files, errors that name the address) is written once, here, over a row's few functions.
 *
 * How samples pass through it:
 *
 * - a photo of a folder: `list` names it, or the store's `stat` does, if a listing lacks the kinds
 * of entries; nothing is opened until a reader thread has SL_READ_FILE, which opens the address by
 * its row, reads it whole and closes it (pread_pool.c).
 *
 * - a member of a tar: a look (look.h) and the name identify the file; a handle walks it while the
 * dataset is opened, and records which object it was (sl_file_identity). The set of objects
 * (objects.h) opens it again, rejects a different object, and returns it pinned: by its descriptor
 * to io_uring, or without one to the pread pool, which calls the row's `read_at`.
 *
 * - a row of Parquet: the same, except for the footer and page headers, which are read by a handle
 * while the dataset is opened, and by sl_handle_open_again later.
 *
 * Promises of a store: an open object stays the same one, or `read_at` (-ESTALE) and `facts` report
 * the change. A local store resolves ".." itself; in an object store's keys it is a part of the
 * name, so paths that are joined are resolved here (sl_path_settle). Links, where they exist, are
 * followed; whether a name in a list stays inside its folder is checked by its text, and in stores
 * with links by `open` (boundary.h). A FIFO blocks nobody. Threads: any; several may read a handle
 * at once, one opens and closes it. Errors of rows: 0, or -errno. Ownership: sl_handle_close.
 */
#ifndef SL_STORE_H
#define SL_STORE_H

#include "boundary.h"
#include "file.h"

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SL_PATH_BYTES   4096
#define SL_REASON_BYTES 192U

typedef enum sl_entry_kind {
    SL_ENTRY_UNKNOWN = 0, /* listings only: a stat is needed */
    SL_ENTRY_FILE,
    SL_ENTRY_FOLDER,
    SL_ENTRY_LINK, /* listings only */
    SL_ENTRY_OTHER
} sl_entry_kind;

/* Facts about the object at an address. */
typedef struct sl_store_facts {
    sl_entry_kind kind;
    /* Tells it from another one stored there later, and has its size. A store with versions (an
     * ETag) puts a checksum of them in the place of inode and changed_ns. */
    sl_file_identity identity;
    uint64_t device; /* with identity.inode: identifies a folder, however it was reached */
} sl_store_facts;

/* An entry of a folder, during a listing: never "." or "..". */
typedef struct sl_store_entry {
    const char *name;
    sl_entry_kind kind; /* as far as the listing has it */
} sl_store_entry;

/* Any result except OK ends the listing. */
typedef sluice_status (*sl_store_visit)(void *ctx, const sl_store_entry *entry,
                                        sluice_error *error);

/* A listing in progress, passed through a row's `list`. */
typedef struct sl_listing {
    sl_store_visit visit;
    void *ctx;
    sluice_status status;
    sluice_error *error;
} sl_listing;

/* An open object. A zero-initialised one is closed. */
typedef struct sl_handle {
    const struct sl_store *store;
    sl_file_name name; /* for errors: the opener's, valid while it is open */
    int fd;            /* descriptor that the kernel reads by; -1: only `read_at` can */
    void *own;         /* the row's */
} sl_handle;

typedef struct sl_open_how {
    const sl_boundary *boundary; /* folder that must contain it (-EXDEV); NULL: anywhere */
    bool direct;                 /* O_DIRECT, if there is a descriptor (-EINVAL: refused) */
    /* Its identity when it was seen last; NULL: not known. A remote store may take that for the
     * facts, and check it with the first read (-EREMCHG: it was replaced). */
    const sl_file_identity *known;
} sl_open_how;

typedef enum sl_advice {
    SL_ADVICE_RANDOM,     /* most of it is not needed */
    SL_ADVICE_SEQUENTIAL, /* all of it, in order */
    SL_ADVICE_SOON,       /* these bytes are needed soon */
    SL_ADVICE_NEVER,      /* these bytes are not needed any more */
    SL_ADVICE_REMEMBER    /* each opening reads the bytes from here on */
} sl_advice;

typedef struct sl_store {
    /* Beginning of its addresses; "": all that no other row takes. */
    const char *scheme;
    /* a link can lead out of a folder: boundary.h checks the location of open files */
    bool has_links;
    int (*stat)(const char *path, sl_store_facts *facts);
    /* Shows each entry to sl_listing_show, until that returns false. */
    int (*list)(const char *path, sl_listing *listing);
    /* Fills in handle->fd and ->own. Anything but a regular file is opened, and reported by the
     * facts, or refused, but not as missing. */
    int (*open)(const char *path, const sl_open_how *how, sl_handle *handle, sl_store_facts *facts);
    int (*facts)(const sl_handle *handle, sl_store_facts *facts);
    /* Returns bytes read, fewer if the object has fewer; 0 at the end. */
    ssize_t (*read_at)(const sl_handle *handle, void *to, size_t bytes, uint64_t offset);
    void (*close)(sl_handle *handle);
    /* NULL: advice has no effect without a descriptor. */
    void (*advise)(const sl_handle *handle, sl_advice advice);
    /* Writes the one name that all names of an address lead to, of at most SL_PATH_BYTES with its
     * NUL. */
    int (*real_path)(const char *path, char *real);
    /* Called when a scope begins or ends (sl_store_scope_begin); the store counts them. NULL:
     * ignored. */
    void (*scope)(bool open);
    /* Finds an object's identity in this scope's listings. Returns 1; 0: no listing has it; -errno:
     * a listing failed. NULL: the store does not list identities. */
    int (*recall)(const char *path, sl_file_identity *identity);
    /* Announces about `names` requests for names that begin like this address: they may be listed
     * at once. NULL: each name costs a request. */
    void (*expect)(const char *prefix, uint64_t names);
    /* Returns true if a cache keeps objects, which needs their identities. NULL: no. */
    bool (*keeps)(void);
    /* True if objects are remote: handle->own is an sl_object (src/remote/object.h), and fetch
     * threads read them through sl_backend_remote. */
    bool remote;
    bool lists_nothing; /* its folders have no listing */
} sl_store;

/* The rows, the one with the scheme "" last. In an object file of its own: a program that links the
 * static library and defines a table of this name replaces it (tests/support/store_fault.h). */
extern const sl_store *const sl_stores[];
extern const sl_store sl_store_local, sl_store_http, sl_store_https, sl_store_s3, sl_store_gs,
    sl_store_hf;

const sl_store *sl_store_of(const char *path);

/* ---- looking up addresses ---- */

/*
 * Sets the reason, in words ("403 AccessDenied, as profile research"), why the last call of a row
 * on this thread failed, if it is not just its errno: errors have it instead of the errno's text.
 * Rows set it when they fail; "": none. It must not contain secrets.
 */
void sl_store_set_reason(const char *reason);
const char *sl_store_reason(void);

/* Begins or ends a scope while a dataset is opened, by any threads: stores may answer from results
 * of this time. Scopes nest, and count over all threads. */
void sl_store_scope_begin(void);
void sl_store_scope_end(void);
/* Announces, in a scope, `names` requests for names that begin like this address. */
void sl_store_expect(const char *prefix, uint64_t names);

/*
 * True: until the next call, reads of remote objects by this thread go to the store itself, and the
 * chunk cache drops its copies of their bytes. For bytes with a wrong checksum, which a cache may
 * have changed. Returns the earlier setting.
 */
bool sl_store_bypass_caches(bool bypass);
bool sl_store_bypasses_caches(void);

/* Returns 0, or -errno. */
int sl_store_stat(const char *path, sl_store_facts *facts);
/* Finds the facts. Errors: IO, also if nothing exists. */
sluice_status sl_store_find(sl_file_name name, sl_store_facts *facts, sluice_error *error);
/* Returns whether a file or folder exists; false if that cannot be found out, which
 * sl_store_note_doubts notes. */
bool sl_store_has(const char *path);
bool sl_store_has_file(const char *path);
bool sl_store_has_folder(const char *path);
/* Returns whether a failed sl_store_stat means that nothing exists, rather than that it is
 * unknown. */
bool sl_store_is_missing(int failed);
/* Returns whether an entry at `path` is a folder; calls stat if the listing did not have the
 * kind. */
bool sl_store_is_folder(const sl_store_entry *entry, const char *path);
/* Shows all entries to `visit`, in no order. Errors: IO, also half-way; the visitor's. */
sluice_status sl_store_list(sl_file_name folder, sl_store_visit visit, void *ctx,
                            sluice_error *error);
/* For rows. Returns false after the last entry that is wanted. */
bool sl_listing_show(sl_listing *listing, const char *name, sl_entry_kind kind);
/* Calls `real_path`. Returns 0, or -errno. */
int sl_store_real_path(const char *path, char real[SL_PATH_BYTES]);

/*
 * Notes failures to find something out. Code that distinguishes formats looks at several places and
 * treats no answer as absent: a momentary failure would turn a dataset into another one. So the
 * first failure of any call of this thread is noted in `*doubt`, which is zeroed by the caller,
 * unless the object is missing or forbidden, until the next call of this function; NULL: noted
 * nowhere. Returns the earlier one. A format that opens a dataset gets most failures as statuses,
 * and may retry: `of_has` notes only those that sl_store_has and similar functions answer with
 * "no", and those of listings without an `error`.
 */
typedef struct sl_store_doubt {
    /* only failures of sl_store_has and similar functions, which report them nowhere else */
    bool of_has;
    int sys_errno; /* EIO: it ended early */
    char path[SL_PATH_BYTES];
    char reason[SL_REASON_BYTES + 2]; /* reason of a store that gave one, after ": "; "" */
} sl_store_doubt;
sl_store_doubt *sl_store_note_doubts(sl_store_doubt *doubt);

/*
 * Sets the listing of one folder that is kept while a dataset is opened: many formats ask for it,
 * and then its files are listed again. All listings of that address by this thread are shown from
 * the kept one, until the next call; NULL: none is kept. Returns the earlier one. A listing of more
 * than 65,536 entries or 4 MiB is not kept. `*listing` is zero except for `folder`, which is the
 * caller's. Ownership: sl_kept_listing_close, once it is no longer set.
 */
typedef struct sl_kept_listing {
    const char *folder;
    char *names; /* for each entry its kind, and its name followed by a NUL */
    size_t bytes, capacity;
    uint32_t count;
    bool is_whole, is_too_large;
} sl_kept_listing;
sl_kept_listing *sl_store_keep_listing(sl_kept_listing *listing);
void sl_kept_listing_close(sl_kept_listing *listing);

/* Makes FOLDER/NAME; false: it is too long. Neither may point into `path`. */
bool sl_path_join(char path[SL_PATH_BYTES], const char *folder, const char *name);
/* Resolves ".." in a remote address in place, like join does with names; stores take it for a part
 * of keys. False: there was nothing to resolve. */
bool sl_path_settle(char *path);
/* Appends a name to a path of `*length`, with a slash unless one of them is empty. False: `bytes`
 * is too small for it. */
bool sl_path_append(char *path, size_t *length, size_t bytes, const char *name);
/* Returns the part after the last slash. */
const char *sl_path_name(const char *path);

/* ---- objects that are open ---- */

/* Opens an object for reading. Returns 0, or -errno: EISDIR, EINVAL if it is not a regular file.
 * For readers in io, which make their errors later; `facts` must not be NULL. */
int sl_handle_open_how(sl_handle *handle, const char *path, const sl_open_how *how,
                       sl_store_facts *facts);
/* Does the same for opening a dataset. Errors: IO. `*identity`, without a sample, may be NULL. On
 * failure the handle is closed. */
sluice_status sl_handle_open(sl_handle *handle, sl_file_name name, sl_file_identity *identity,
                             sluice_error *error);
/* Opens an object that was opened before. Errors: IO, also if it was replaced; a remote store
 * notices that with the first read. */
sluice_status sl_handle_open_again(sl_handle *handle, sl_file_name name,
                                   const sl_file_identity *was, sluice_error *error);
/* Closes a handle; a closed one, too. */
void sl_handle_close(sl_handle *handle);

/* An open file, and its identity at the opening. Readers that share it only read. */
typedef struct sl_open_file {
    sl_handle handle;
    sl_file_identity identity; /* without a sample */
} sl_open_file;
/*
 * Offers an open file to readers of this thread, so that a file that was looked at is not opened
 * twice: the first sl_handle_open of `file->handle.name.path` takes the handle over, with the
 * identity from its opening. Lasts until the next call; NULL: offers nothing. Returns the earlier
 * offer. Ownership: the caller closes the handle afterwards, which is closed already if a reader
 * took it.
 */
sl_open_file *sl_store_offer_file(sl_open_file *file);
/* Returns whether a file of this address is offered, and not taken over: then no request for it is
 * needed. */
bool sl_store_offers_file(const char *path);
/* Takes the offered file over, if it is of this address. Its handle has no name then. */
bool sl_store_take_file(const char *path, sl_open_file *file);
/* Opens a file. Errors: IO. Close the handle. */
sluice_status sl_open_file_open(sl_open_file *file, sl_file_name name, sluice_error *error);
/* Returns whether the handle of file `number` may stay open from one step of opening a dataset to
 * the next: at most 256 descriptors are kept that way, and none from the upper three quarters of
 * the process's limit. */
bool sl_handle_may_stay(const sl_handle *handle, uint32_t number);
/* Checks that it is still the same file. Errors: IO. */
sluice_status sl_open_file_check(const sl_open_file *file, sluice_error *error);
/* Returns 0, or -errno. */
int sl_handle_facts(const sl_handle *handle, sl_store_facts *facts);
/* Returns whether it is still the same, as far as its store can report. */
bool sl_handle_is_unchanged(const sl_handle *handle, const sl_file_identity *was);
/* Reads exactly `bytes`. Errors: IO, or CORRUPT if the object ends earlier. Transient errors are
 * retried (retry.h). */
sluice_status sl_handle_read(const sl_handle *handle, void *buffer, size_t bytes, uint64_t offset,
                             sluice_error *error);
/* Does the same, without retries. */
sluice_status sl_handle_read_once(const sl_handle *handle, void *buffer, size_t bytes,
                                  uint64_t offset, sluice_error *error);
/* Takes a checksum of up to 4 KiB each of the beginning, middle and end, never 0. Errors: IO,
 * CORRUPT (it is shorter than identity->bytes). */
sluice_status sl_handle_sample(const sl_handle *handle, sl_file_identity *identity,
                               sluice_error *error);

/* Announces which bytes will be read; `bytes` 0: to the end. A hint, without effect if there is no
 * descriptor. */
void sl_handle_advise(const sl_handle *handle, sl_advice advice, uint64_t offset, uint64_t bytes);

/* ---- objects as a whole ---- */

/* Reads the first bytes of an object, at most `most`, and returns their number. 0 if it is not a
 * file, or cannot be read: to identify an address. The file may be kept (kept_look.h). */
size_t sl_store_look(const char *path, void *head, size_t most);
/* Reads a whole object, which the caller frees (sl_free). Errors: as of open and read; UNSUPPORTED:
 * it has more than `most` bytes; NOMEM. */
sluice_status sl_store_read_whole(sl_file_name name, uint64_t most, uint8_t **data, size_t *bytes,
                                  sluice_error *error);

#endif

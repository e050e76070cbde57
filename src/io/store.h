/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: where datasets are, and the one way to what is there.
 *
 * Purpose: formats, datasets and readers know addresses (a path, or "scheme://..."), and ask the
 * store that an address belongs to. A store is one row of `sl_stores` (stores.c): the files of this
 * machine (store_local.c), and object stores (src/remote/store_remote.c). Everything that all
 * stores share (whole reads, replaced files, errors that name the address) is written once, here,
 * over a row's few functions.
 *
 * How samples come through it:
 *  - a photo of a folder: `list` names it, or the store's `stat` does, where a listing does not say
 *    what an entry is; nothing is opened until a reader thread has SL_READ_FILE, which opens the
 *    address by its row, reads it whole and closes it (pread_pool.c).
 *  - a member of a tar: a look (look.h) and the name tell what the file is; a handle walks it while
 *    the dataset is opened, and says which object it was (sl_file_identity). The set of objects
 *    (objects.h) opens it anew, refuses another one, and hands it out pinned: by its descriptor to
 *    io_uring, or where it has none to the pread pool, which asks the row's `read_at`.
 *  - a row of Parquet: the same, but for the footer and page headers, which are read by a handle
 *    while the dataset is opened, and by sl_handle_open_again later.
 *
 * What a store promises: an object that is open stays the one that it was, or `read_at` (-ESTALE)
 * and `facts` tell of the change. A local store resolves ".." itself; in an object store's keys it
 * is a part of the name, so paths that are joined are resolved here (sl_path_settle). Links, where
 * there are such things, are followed; that what a list names is inside of its folder is checked by
 * its text, and where there are links by `open` (boundary.h). A FIFO blocks nobody. Threads: any; a
 * handle is read by several at once, opened and closed by one. Errors of rows: 0, or -errno.
 * Ownership: sl_handle_close.
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
    SL_ENTRY_UNKNOWN = 0, /* listings only: it has to be asked for */
    SL_ENTRY_FILE,
    SL_ENTRY_FOLDER,
    SL_ENTRY_LINK, /* listings only */
    SL_ENTRY_OTHER
} sl_entry_kind;

/* What is at an address. */
typedef struct sl_store_facts {
    sl_entry_kind kind;
    /* What tells it from another one that is there later, and its size. A store that has versions
     * (an ETag) puts a checksum of them in the place of inode and changed_ns. */
    sl_file_identity identity;
    uint64_t device; /* with identity.inode: which folder it is, however it was reached */
} sl_store_facts;

/* An entry of a folder, while it is listed: "." and ".." are none. */
typedef struct sl_store_entry {
    const char *name;
    sl_entry_kind kind; /* as far as the listing tells */
} sl_store_entry;

/* Whatever is not OK ends the listing. */
typedef sluice_status (*sl_store_visit)(void *ctx, const sl_store_entry *entry,
                                        sluice_error *error);

/* A listing in the making, handed through a row's `list`. */
typedef struct sl_listing {
    sl_store_visit visit;
    void *ctx;
    sluice_status status;
    sluice_error *error;
} sl_listing;

/* An object that is open. A zero-initialised one is closed. */
typedef struct sl_handle {
    const struct sl_store *store;
    sl_file_name name; /* for errors: the opener's, as long as it is open */
    int fd;            /* what the kernel reads by; -1: only `read_at` can */
    void *own;         /* the row's */
} sl_handle;

typedef struct sl_open_how {
    const sl_boundary *boundary; /* what it has to be in (-EXDEV); NULL: anywhere */
    bool direct;                 /* O_DIRECT, where there is a descriptor (-EINVAL: refused) */
    /* What it was when it was seen last; NULL: not known. A store behind a network may take that
     * for the facts, and find out by the first read (-EREMCHG: it is another one). */
    const sl_file_identity *known;
} sl_open_how;

typedef enum sl_advice {
    SL_ADVICE_RANDOM,     /* most of it is not wanted */
    SL_ADVICE_SEQUENTIAL, /* all of it, in order */
    SL_ADVICE_SOON,       /* these bytes are */
    SL_ADVICE_NEVER,      /* these bytes are not, any more */
    SL_ADVICE_REMEMBER    /* what is read from here on is read by each opening */
} sl_advice;

typedef struct sl_store {
    /* How its addresses begin; "": all that no other row takes. */
    const char *scheme;
    bool has_links; /* one can lead out of a folder: boundary.h looks where what is open is */
    int (*stat)(const char *path, sl_store_facts *facts);
    /* Shows each entry to sl_listing_show, until that says false. */
    int (*list)(const char *path, sl_listing *listing);
    /* Fills in handle->fd and ->own. What is not a regular file is opened, and told by the facts,
     * or refused, not as missing.
     */
    int (*open)(const char *path, const sl_open_how *how, sl_handle *handle, sl_store_facts *facts);
    int (*facts)(const sl_handle *handle, sl_store_facts *facts);
    /* Bytes read, fewer where less is there; 0 at the end. */
    ssize_t (*read_at)(const sl_handle *handle, void *to, size_t bytes, uint64_t offset);
    void (*close)(sl_handle *handle);
    /* NULL: nothing comes of advice where there is no descriptor. */
    void (*advise)(const sl_handle *handle, sl_advice advice);
    /* The one name that all names of an address lead to, of at most SL_PATH_BYTES with its NUL. */
    int (*real_path)(const char *path, char *real);
    /* A scope began or ended (sl_store_scope_begin); the store counts them. NULL: it does not care.
     */
    void (*scope)(bool open);
    /* Finds what a listing of this scope said of an object. 1; 0: none said it; -errno: a listing
     * failed. NULL: the store does not list what objects are. */
    int (*recall)(const char *path, sl_file_identity *identity);
    /* Names that begin like this address are asked about next, about `names` of them: they may be
     * listed at once. NULL: each name costs what it costs. */
    void (*expect)(const char *prefix, uint64_t names);
    /* True if objects are kept in a cache, which has to know what they are. NULL: they are not. */
    bool (*keeps)(void);
    /* True if objects are behind a network: handle->own is an sl_object (src/remote/object.h), and
     * fetch threads read them through sl_backend_remote. */
    bool remote;
    bool lists_nothing; /* its folders have no listing */
} sl_store;

/* The rows, the one with the scheme "" last. In an object file of its own: a program that links the
 * static library and has a table of this name uses that instead (tests/support/store_fault.h). */
extern const sl_store *const sl_stores[];
extern const sl_store sl_store_local, sl_store_http, sl_store_https, sl_store_s3, sl_store_gs,
    sl_store_hf;

const sl_store *sl_store_of(const char *path);

/* ---- what is at an address ---- */

/*
 * Why the last call of a row on this thread failed, in words ("403 AccessDenied, as profile
 * research"), where it is not just its errno: errors say this instead of the errno's text. Rows set
 * it where they fail; "" : nothing to say. No secret is in it.
 */
void sl_store_set_reason(const char *reason);
const char *sl_store_reason(void);

/* While a dataset is opened, by whatever threads: stores may answer from what they were told
 * meanwhile. They nest, and count over all threads. */
void sl_store_scope_begin(void);
void sl_store_scope_end(void);
/* In a scope: `names` names that begin like this address will be asked about. */
void sl_store_expect(const char *prefix, uint64_t names);

/*
 * True: reads of remote objects by this thread go to the store itself, and what the chunk cache
 * keeps of their bytes is removed, until the next call. For bytes whose checksum does not fit: a
 * cache may have changed them. Returns what was set before.
 */
bool sl_store_bypass_caches(bool bypass);
bool sl_store_bypasses_caches(void);

/* 0, or -errno. */
int sl_store_stat(const char *path, sl_store_facts *facts);
/* Errors: IO, also where there is nothing. */
sluice_status sl_store_find(sl_file_name name, sl_store_facts *facts, sluice_error *error);
/* Whether there is anything, a file, a folder; no, where that cannot be told, which
 * sl_store_note_doubts notes. */
bool sl_store_has(const char *path);
bool sl_store_has_file(const char *path);
bool sl_store_has_folder(const char *path);
/* Of a failed sl_store_stat: there is nothing, as opposed to: it cannot be asked for. */
bool sl_store_is_missing(int failed);
/* Of an entry of a folder, at `path`; asks where the listing did not tell. */
bool sl_store_is_folder(const sl_store_entry *entry, const char *path);
/* Shows all entries to `visit`, in no order. Errors: IO, also half-way; the visitor's. */
sluice_status sl_store_list(sl_file_name folder, sl_store_visit visit, void *ctx,
                            sluice_error *error);
/* For rows: false: that was the last one. */
bool sl_listing_show(sl_listing *listing, const char *name, sl_entry_kind kind);
/* As `real_path`: 0, or -errno. */
int sl_store_real_path(const char *path, char real[SL_PATH_BYTES]);

/*
 * What could not be found out. Whoever tells formats apart looks here and there, and takes what
 * does not answer for what is not there: then a dataset would become another one for a moment's
 * failure. So the first failure of any call of this thread is noted in `*doubt`, which is all zero,
 * but for what is missing or forbidden; until this is called anew, NULL: nobody asks. Gives back
 * whose it was before. A format that opens a dataset gets most failures as statuses, and may try
 * again: `of_has` notes only those that sl_store_has and the like answer with "no", and those of
 * lists that have no `error`.
 */
typedef struct sl_store_doubt {
    bool of_has;   /* only failures of sl_store_has and the like, which tell nobody else */
    int sys_errno; /* EIO: it ended early */
    char path[SL_PATH_BYTES];
    char reason[SL_REASON_BYTES + 2]; /* of a store that gave one, behind ": "; "" */
} sl_store_doubt;
sl_store_doubt *sl_store_note_doubts(sl_store_doubt *doubt);

/*
 * The listing of one folder, kept while a dataset is opened: which format a folder has is asked of
 * many, and then its files are listed again. All listings of that address by this thread are shown
 * from the kept one, until this is called again; NULL: nothing is kept. Returns the one before.
 * One of more than 65,536 entries or 4 MiB is not kept. `*listing` is all zero but for `folder`,
 * which is the caller's. Ownership: sl_kept_listing_close, once it is set no more.
 */
typedef struct sl_kept_listing {
    const char *folder;
    char *names; /* of each entry: its kind, and its name with a NUL behind it */
    size_t bytes, capacity;
    uint32_t count;
    bool is_whole, is_too_large;
} sl_kept_listing;
sl_kept_listing *sl_store_keep_listing(sl_kept_listing *listing);
void sl_kept_listing_close(sl_kept_listing *listing);

/* FOLDER/NAME; false: it is too long. Neither may be of `path`. */
bool sl_path_join(char path[SL_PATH_BYTES], const char *folder, const char *name);
/* Resolves ".." in a remote address in place, as join does with names, whose stores take it for a
 * part of keys. False: there was nothing to resolve. */
bool sl_path_settle(char *path);
/* Appends a name to a path of `*length`, with a slash unless one of them is empty. False: there is
 * no space for it in `bytes`. */
bool sl_path_append(char *path, size_t *length, size_t bytes, const char *name);
/* What follows the last slash. */
const char *sl_path_name(const char *path);

/* ---- objects that are open ---- */

/* Opens an object for reading; 0, or -errno: EISDIR, EINVAL of what is not a regular file. For
 * readers in io, whose errors are made later; `facts` must not be NULL. */
int sl_handle_open_how(sl_handle *handle, const char *path, const sl_open_how *how,
                       sl_store_facts *facts);
/* The same for opening a dataset: IO. `*identity`, without a sample, may be NULL. A handle
 * that could not be opened is closed. */
sluice_status sl_handle_open(sl_handle *handle, sl_file_name name, sl_file_identity *identity,
                             sluice_error *error);
/* Opens what was opened before. Errors: IO, also where it is not the same any more; a store behind
 * a network notices that by the first read. */
sluice_status sl_handle_open_again(sl_handle *handle, sl_file_name name,
                                   const sl_file_identity *was, sluice_error *error);
/* One that is closed is fine. */
void sl_handle_close(sl_handle *handle);

/* A file that is open, and what it was when it was opened. Readers that share it only read. */
typedef struct sl_open_file {
    sl_handle handle;
    sl_file_identity identity; /* without a sample */
} sl_open_file;
/*
 * Offers an open file to readers of this thread, so that a file that was looked at is not opened
 * twice: the first sl_handle_open of `file->handle.name.path` takes the handle over, with the
 * identity from its opening. Lasts until the next call; NULL: offers nothing. Returns the offer
 * before. Ownership: the caller closes the handle afterwards, which is closed already if a reader
 * took it.
 */
sl_open_file *sl_store_offer_file(sl_open_file *file);
/* Whether a file of this address is offered, and not taken over: then it need not be asked for. */
bool sl_store_offers_file(const char *path);
/* Takes the offered file over, if it is of this address. Its handle has no name then. */
bool sl_store_take_file(const char *path, sl_open_file *file);
/* IO. Close the handle. */
sluice_status sl_open_file_open(sl_open_file *file, sl_file_name name, sluice_error *error);
/* Whether the handle of file `number` may stay open from one step of opening a dataset to the next:
 * no more than 256 descriptors are kept that way, and none from the upper three quarters of the
 * process's limit. */
bool sl_handle_may_stay(const sl_handle *handle, uint32_t number);
/* IO: it is not the same any more. */
sluice_status sl_open_file_check(const sl_open_file *file, sluice_error *error);
/* 0, or -errno. */
int sl_handle_facts(const sl_handle *handle, sl_store_facts *facts);
/* Whether it is still the same, as far as its store says anything about it. */
bool sl_handle_is_unchanged(const sl_handle *handle, const sl_file_identity *was);
/* Reads exactly `bytes`: IO, or CORRUPT when the object ends before. What may pass (retry.h) is
 * tried again. */
sluice_status sl_handle_read(const sl_handle *handle, void *buffer, size_t bytes, uint64_t offset,
                             sluice_error *error);
/* The same, without another try. */
sluice_status sl_handle_read_once(const sl_handle *handle, void *buffer, size_t bytes,
                                  uint64_t offset, sluice_error *error);
/* Takes a checksum of up to 4 KiB each of the beginning, middle and end, never 0. Errors: IO,
 * CORRUPT (it is shorter than identity->bytes). */
sluice_status sl_handle_sample(const sl_handle *handle, sl_file_identity *identity,
                               sluice_error *error);

/* What will be read; `bytes` 0: to the end. A hint: nothing comes of it where there is no
 * descriptor. */
void sl_handle_advise(const sl_handle *handle, sl_advice advice, uint64_t offset, uint64_t bytes);

/* ---- objects as a whole ---- */

/* The first bytes of an object, `most` at most; how many there are. 0 where it is not a file, or
 * cannot be read: to find out what an address is. The file may be kept (kept_look.h). */
size_t sl_store_look(const char *path, void *head, size_t most);
/* All of an object, which the caller frees (sl_free). Errors: as of open and read; UNSUPPORTED: it
 * has more than `most` bytes; NOMEM. */
sluice_status sl_store_read_whole(sl_file_name name, uint64_t most, uint8_t **data, size_t *bytes,
                                  sluice_error *error);

#endif

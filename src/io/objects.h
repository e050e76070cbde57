/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects: what bytes are read from, by number: files today, or what comes out of compressed ones.
 *
 * Purpose: the one set of open objects of a dataset, bounded and least recently used closed first,
 * with two faces. Whoever may block reads (sl_objects_read: index blocks at open, tools); a fetch
 * thread pins, reads by itself, and unpins. An object can be open twice, through the page cache and
 * past it (O_DIRECT). Offsets of a compressed one count in what comes out of it, which is read from
 * front to back (stream.h) and cannot be pinned.
 * Threads: any. Lock: its own mutex, not held while a file is opened, read or closed: a server that
 * does not answer holds up those that want the same object, nobody else.
 * Invariants: a pinned descriptor is never closed; open ones <= capacity, but for those on their
 * way out: a quarter of RLIMIT_NOFILE up to 256, a sixteenth of it beyond, up to 16384; an object
 * that has another size than it should have, or is not the file that its dataset was made of, or
 * that was opened under its number before, is never pinned. A pin that is never given back (its
 * read never came back) keeps its descriptor for ever. Finding, pinning and making space take the
 * same time whatever the capacity.
 */
#ifndef SL_OBJECTS_H
#define SL_OBJECTS_H

#include "boundary.h"
#include "store.h"
#include "stream.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* What blocking readers wait for a descriptor that others hold: loaders' stall_fail_ns, unless it
 * is set. */
#define SL_OBJECTS_WAIT_NS UINT64_C(120000000000)
/* Of offset, length and buffer with O_DIRECT. */
#define SL_DIRECT_ALIGN ((uint32_t)4096)
/* Samples that are files of their own, of a dataset whose files a cache keeps. */
#define SL_OBJECTS_LISTED_MOST ((uint32_t)1 << 18)
/* That an object can be. */
#define SL_OBJECT_FILES_MAX 64U

typedef struct sl_objects sl_objects;

/* What the objects are called, and how large they are. */
typedef struct sl_object_names {
    void *ctx;
    uint32_t count;
    /* INVALID when the path does not fit. */
    sluice_status (*path)(void *ctx, uint32_t object, char *path, size_t bytes);
    /* Bytes that it must have when it is opened; NULL, or 0: any. */
    uint64_t (*bytes)(void *ctx, uint32_t object);
    /* The file that it must be; NULL: any, of those bytes. */
    const sl_file_identity *(*identity)(void *ctx, uint32_t object);
    /* How it is compressed; SL_PACKING_NONE: it is read as it is. NULL: all are. */
    sl_packed (*packed)(void *ctx, uint32_t object);
    /* What it has to be in; NULL, or returns NULL: anywhere. */
    const sl_boundary *(*boundary)(void *ctx, uint32_t object);
    /* How many files it is, which are read whole (read_files.h): 1 to SL_OBJECT_FILES_MAX, or 0: it
     * is the one that `path` names, and nothing is added to its bytes. NULL: all are. */
    uint32_t (*files)(void *ctx, uint32_t object);
    /* Of those files, the first of which is `path`. There where `files` is. */
    sluice_status (*file_path)(void *ctx, uint32_t object, uint32_t file, char *path, size_t bytes);
} sl_object_names;

/* Errors: NOMEM. */
sluice_status sl_objects_open(sl_objects **objects, const sl_object_names *names,
                              sluice_error *error);
/* NULL is fine. */
void sl_objects_close(sl_objects *objects);

uint32_t sl_objects_count(const sl_objects *objects);
/* Bytes that the object must have; 0: any. */
uint64_t sl_objects_bytes(const sl_objects *objects, uint32_t object);
/* The file that the object must be; NULL: any, of those bytes. */
const sl_file_identity *sl_objects_identity(const sl_objects *objects, uint32_t object);
/* What a listing said that the object is, when the dataset was opened; NULL: nothing. Of samples
 * that are files of their own only where a cache keeps them: these may have been replaced since. */
const sl_file_identity *sl_objects_listed(const sl_objects *objects, uint32_t object);
/* How the object is compressed. */
sl_packed sl_objects_packed(const sl_objects *objects, uint32_t object);
/* What the object has to be in; NULL: anywhere. */
const sl_boundary *sl_objects_boundary(const sl_objects *objects, uint32_t object);
sluice_status sl_objects_path(const sl_objects *objects, uint32_t object, char *path, size_t bytes);
/* How many files the object is; 0: the one that its path names. */
uint32_t sl_objects_files(const sl_objects *objects, uint32_t object);
/* The path of one of its files. */
sluice_status sl_objects_file_path(const sl_objects *objects, uint32_t object, uint32_t file,
                                   char *path, size_t bytes);

/*
 * Reads exactly `bytes` of an object. Blocks; what may pass is tried again (retry.h), and a stale
 * handle opened again, but not at length where nothing could be read just before. Errors: IO (errno
 * 0: it is another file than it was), CORRUPT (it ends before, or has another size than it should
 * have), INVALID (its path is too long), UNSUPPORTED (it is outside of its boundary); of a
 * compressed one those of a stream.
 */
sluice_status sl_objects_read(sl_objects *objects, uint32_t object, uint64_t offset, void *to,
                              size_t bytes, sluice_error *error);
/*
 * Reads an object that is one sample, whole, without keeping it open; `*size` is its size. AGAIN
 * when that is more than `capacity`: nothing is read then. Blocks.
 */
sluice_status sl_objects_read_whole(sl_objects *objects, uint32_t object, void *to, size_t capacity,
                                    size_t *size, sluice_error *error);

/* The same of one that is a file, of at most `capacity` bytes: of a larger one its beginning.
 * `*size` is its size. Blocks. */
sluice_status sl_objects_read_front(sl_objects *objects, uint32_t object, void *to, size_t capacity,
                                    size_t *size, sluice_error *error);

/* For these readers: how a read ended that was good, or was tried again and failed; and whether
 * many in a row have failed, so that each more would take a second of waiting for nothing. */
void sl_objects_note_read(sl_objects *objects, bool good);
bool sl_objects_is_failing(const sl_objects *objects);
/* The compressed ones; NULL: there are none. */
struct sl_streams *sl_objects_streams(sl_objects *objects);

/*
 * Of what was read of compressed objects, whether it was right: reads them on to their ends, where
 * their checksums are. OK where nothing is compressed. Blocks. Errors: the first failure
 * (streams.h), of an object as a whole, and of no sample.
 */
sluice_status sl_objects_finish(sl_objects *objects, sluice_error *error);
/* What has failed so far, as sl_streams_failure. */
bool sl_objects_failure(sl_objects *objects, uint32_t number, uint32_t *object,
                        sluice_error *error);

/* Whether a part of what sl_objects_finish read on to its end has no checksum in its file. */
bool sl_objects_lack_checksum(sl_objects *objects);

/* An object that stays open until it is unpinned. */
typedef struct sl_pin {
    int fd; /* -1: its store has none, and it is read by the handle */
    const sl_handle *handle;
    bool direct; /* O_DIRECT: offset, length and buffer in multiples of SL_DIRECT_ALIGN */
    uint32_t entry;
} sl_pin;

typedef struct sl_pin_how {
    bool direct;      /* past the page cache, where the file system can */
    bool only_open;   /* END where it would have to be opened, or is being opened */
    uint64_t wait_ns; /* at most so long for a descriptor to become free */
} sl_pin_how;

/*
 * Opens what is not open (that may take as long as open() takes) and pins it. Without wait_ns,
 * AGAIN when all are pinned, no descriptor is to be had just now, or another thread is opening it:
 * try again after an unpin. Errors: IO, CORRUPT, INVALID as sl_objects_read; something that is no
 * regular file has errno EISDIR or EINVAL, and ETIMEDOUT says that wait_ns have passed;
 * UNSUPPORTED: it is compressed, or is outside of its boundary.
 */
sluice_status sl_objects_pin(sl_objects *objects, uint32_t object, sl_pin_how how, sl_pin *pin,
                             sluice_error *error);

/* What sl_objects_pin came to on another thread. */
typedef struct sl_opening {
    sl_pin pin; /* with OK */
    sluice_status status;
    int sys_errno; /* of its error, as `offset` */
    int64_t offset;
} sl_opening;
void sl_objects_unpin(sl_objects *objects, const sl_pin *pin);
/* How many pins there are: 0 when nobody reads. */
uint32_t sl_objects_pins(sl_objects *objects);
typedef enum sl_places {
    SL_PLACES_LOCAL = 0, /* all objects are files of this machine */
    SL_PLACES_REMOTE,    /* all are behind a network */
    SL_PLACES_OTHER,     /* all have no descriptors, and are read by threads */
    SL_PLACES_MIXED
} sl_places;
/* Where the objects are. */
sl_places sl_objects_places(const sl_objects *objects);
/* Where one object is. */
sl_places sl_objects_place(const sl_objects *objects, uint32_t object);
/* Whether the object is open through the page cache, or about to be. */
bool sl_objects_is_open(sl_objects *objects, uint32_t object);
/* Has it opened again before its next pin: its handle went stale, or (`buffered`) a read was
 * answered EINVAL, and it is opened without O_DIRECT from then on. Those that pin it now read on by
 * the old handle, which is closed behind the last of them. */
void sl_objects_reopen(sl_objects *objects, const sl_pin *pin, bool buffered);

#endif

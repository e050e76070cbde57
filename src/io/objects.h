/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects: the sources of bytes by number: files, or the contents of compressed files.
 *
 * Purpose: the only set of open objects of a dataset: bounded, closes the least recently used
 * first, and has two interfaces. Callers that may block read (sl_objects_read: index blocks at
 * open, tools); a fetch thread pins, reads by itself, and unpins. An object can be open twice,
 * through the page cache and past it (O_DIRECT). Offsets in a compressed object count unpacked
 * bytes; it is read from front to back (stream.h) and cannot be pinned.
 *
 * Threads: any. Lock: its own mutex, not held while a file is opened, read or closed: a server that
 * does not answer delays only callers that want the same object.
 *
 * Invariants: a pinned descriptor is never closed; open ones, except those being closed, are at
 * most capacity: a quarter of RLIMIT_NOFILE up to 256, a sixteenth of it beyond, up to 16384; an
 * object is never pinned if its size is not the expected one, or if it is not the file that the
 * dataset was made from, or not the one opened under its number before. A pin that is never
 * released (its read never came back) keeps its descriptor forever. Finding, pinning and making
 * space take the same time at any capacity.
 */
#ifndef SL_OBJECTS_H
#define SL_OBJECTS_H

#include "boundary.h"
#include "store.h"
#include "stream.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* How long blocking readers wait for a descriptor: loaders' default stall_fail_ns. */
#define SL_OBJECTS_WAIT_NS UINT64_C(120000000000)
/* Alignment of offset, length and buffer with O_DIRECT. */
#define SL_DIRECT_ALIGN ((uint32_t)4096)
/* Most samples that are files of their own, of a dataset whose files a cache keeps. */
#define SL_OBJECTS_LISTED_MOST ((uint32_t)1 << 18)
/* Most files of an object. */
#define SL_OBJECT_FILES_MAX 64U

typedef struct sl_objects sl_objects;

/* Names and sizes of the objects. */
typedef struct sl_object_names {
    void *ctx;
    uint32_t count;
    /* INVALID when the path does not fit. */
    sluice_status (*path)(void *ctx, uint32_t object, char *path, size_t bytes);
    /* Returns the size that it must have when opened; NULL, or 0: any. */
    uint64_t (*bytes)(void *ctx, uint32_t object);
    /* Returns the file that it must be; NULL: any, of that size. */
    const sl_file_identity *(*identity)(void *ctx, uint32_t object);
    /* Returns how it is compressed; SL_PACKING_NONE: it is read unconverted. NULL: all are. */
    sl_packed (*packed)(void *ctx, uint32_t object);
    /* Returns the boundary that must contain it; NULL, or returns NULL: none. */
    const sl_boundary *(*boundary)(void *ctx, uint32_t object);
    /* Returns the number of its files, which are read whole (read_files.h): 1 to
     * SL_OBJECT_FILES_MAX, or 0: it is the file that `path` names, with nothing added to its bytes.
     * NULL: all are. */
    uint32_t (*files)(void *ctx, uint32_t object);
    /* Writes the path of one of those files; the first file's is `path`. Set if `files` is. */
    sluice_status (*file_path)(void *ctx, uint32_t object, uint32_t file, char *path, size_t bytes);
} sl_object_names;

/* Errors: NOMEM. */
sluice_status sl_objects_open(sl_objects **objects, const sl_object_names *names,
                              sluice_error *error);
/* NULL is fine. */
void sl_objects_close(sl_objects *objects);

uint32_t sl_objects_count(const sl_objects *objects);
/* Returns the size that the object must have; 0: any. */
uint64_t sl_objects_bytes(const sl_objects *objects, uint32_t object);
/* Returns the file that the object must be; NULL: any, of that size. */
const sl_file_identity *sl_objects_identity(const sl_objects *objects, uint32_t object);
/* Returns the identity from a listing at the time the dataset was opened; NULL: none. For samples
 * that are files of their own only if a cache keeps them: they may have been replaced since. */
const sl_file_identity *sl_objects_listed(const sl_objects *objects, uint32_t object);
/* Returns how the object is compressed. */
sl_packed sl_objects_packed(const sl_objects *objects, uint32_t object);
/* Returns the boundary that must contain the object; NULL: none. */
const sl_boundary *sl_objects_boundary(const sl_objects *objects, uint32_t object);
sluice_status sl_objects_path(const sl_objects *objects, uint32_t object, char *path, size_t bytes);
/* Returns the number of files of the object; 0: the one that its path names. */
uint32_t sl_objects_files(const sl_objects *objects, uint32_t object);
/* Writes the path of one of its files. */
sluice_status sl_objects_file_path(const sl_objects *objects, uint32_t object, uint32_t file,
                                   char *path, size_t bytes);

/*
 * Reads exactly `bytes` of an object. Blocks; transient errors are retried (retry.h), and a stale
 * handle is opened again, but not for long if reads have just failed. Errors: IO (errno 0: the file
 * was replaced), CORRUPT (it ends earlier, or has another size than expected), INVALID (its path is
 * too long), UNSUPPORTED (it is outside its boundary); of a compressed object those of a stream.
 */
sluice_status sl_objects_read(sl_objects *objects, uint32_t object, uint64_t offset, void *to,
                              size_t bytes, sluice_error *error);
/*
 * Reads an object that is one sample, whole, without keeping it open; `*size` is its size. AGAIN if
 * that is more than `capacity`: nothing is read then. Blocks.
 */
sluice_status sl_objects_read_whole(sl_objects *objects, uint32_t object, void *to, size_t capacity,
                                    size_t *size, sluice_error *error);

/* Does the same for one that is a file, of at most `capacity` bytes: of a larger one its beginning.
 * `*size` is its size. Blocks. */
sluice_status sl_objects_read_front(sl_objects *objects, uint32_t object, void *to, size_t capacity,
                                    size_t *size, sluice_error *error);

/* Record whether these readers' reads succeed after retries, and return whether many in a row have
 * failed, so that each further one would wait a second for nothing. */
void sl_objects_note_read(sl_objects *objects, bool good);
bool sl_objects_is_failing(const sl_objects *objects);
/* Returns the compressed ones; NULL: there are none. */
struct sl_streams *sl_objects_streams(sl_objects *objects);

/*
 * Checks everything read of compressed objects: reads them on to their ends, where their checksums
 * are. OK if nothing is compressed. Blocks. Errors: the first failure (streams.h), of an object as
 * a whole, without a sample.
 */
sluice_status sl_objects_finish(sl_objects *objects, sluice_error *error);
/* Returns the failures so far, like sl_streams_failure. */
bool sl_objects_failure(sl_objects *objects, uint32_t number, uint32_t *object,
                        sluice_error *error);

/* Returns whether a part of an object that sl_objects_finish completed has no checksum in its
 * file. */
bool sl_objects_lack_checksum(sl_objects *objects);

/* An object that stays open until it is unpinned. */
typedef struct sl_pin {
    int fd; /* -1: its store has no descriptors, and it is read by the handle */
    const sl_handle *handle;
    bool direct; /* O_DIRECT: offset, length and buffer must be multiples of SL_DIRECT_ALIGN */
    uint32_t entry;
} sl_pin;

typedef struct sl_pin_how {
    bool direct;      /* past the page cache, if the file system can */
    bool only_open;   /* END if it would have to be opened, or is being opened */
    uint64_t wait_ns; /* longest wait for a descriptor to become free */
} sl_pin_how;

/*
 * Opens the object if needed (which may take as long as open() takes) and pins it. Without wait_ns,
 * AGAIN if all are pinned, no descriptor is available just now, or another thread is opening it:
 * try again after an unpin. Errors: IO, CORRUPT, INVALID as sl_objects_read; anything but a regular
 * file has errno EISDIR or EINVAL, and ETIMEDOUT means that wait_ns has passed; UNSUPPORTED: it is
 * compressed, or outside its boundary.
 */
sluice_status sl_objects_pin(sl_objects *objects, uint32_t object, sl_pin_how how, sl_pin *pin,
                             sluice_error *error);

/* Result of sl_objects_pin on another thread. */
typedef struct sl_opening {
    sl_pin pin; /* with OK */
    sluice_status status;
    int sys_errno; /* from its error, like `offset` */
    int64_t offset;
} sl_opening;
void sl_objects_unpin(sl_objects *objects, const sl_pin *pin);
/* Returns the number of pins; 0 if no read is in progress. */
uint32_t sl_objects_pins(sl_objects *objects);
typedef enum sl_places {
    SL_PLACES_LOCAL = 0, /* all are local files */
    SL_PLACES_REMOTE,    /* all are in remote stores */
    SL_PLACES_OTHER,     /* all lack descriptors, and threads read them */
    SL_PLACES_MIXED
} sl_places;
/* Returns where the objects are stored. */
sl_places sl_objects_places(const sl_objects *objects);
/* Returns where one object is stored. */
sl_places sl_objects_place(const sl_objects *objects, uint32_t object);
/* Returns whether the object is open through the page cache, or about to be. */
bool sl_objects_is_open(sl_objects *objects, uint32_t object);
/* Makes the next pin open it again: its handle became stale, or (`buffered`) a read was answered
 * EINVAL, and it is opened without O_DIRECT from then on. Current pins keep the old handle, which
 * is closed after the last of them. */
void sl_objects_reopen(sl_objects *objects, const sl_pin *pin, bool buffered);

#endif

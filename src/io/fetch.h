/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch: the I/O thread. Turns a sequence of wanted samples into reads and delivers their bytes.
 *
 * Purpose: look ahead in the sequence, merge neighbours in an object into one read, keep the device
 * busy to a bounded depth, retry transient errors, watch for stalled reads, and deliver each item
 * exactly once, in any order.
 *
 * Owner: one thread runs it all; other threads only call sl_fetch_credit, _insert, _release, _wake,
 * _restart, _get_stats, _resident, _memory, _present.
 *
 * Parts: inbox (requests of other threads), window (wanted items), requests (reads in the making),
 * read_buffers (their memory), retry (failed reads), resident (a copy in memory), objects (the
 * files) and backend (their readers). This header and its .c files put them together.
 *
 * A separate thread opens files (openers.h). An open is in flight like a read: it can stall, and be
 * abandoned.
 *
 * Threads that unpack read compressed objects, each object's items in the order of their requests
 * (unpackers.h). While these threads make progress, no read of a compressed object counts as
 * stalled.
 *
 * The sequence. Items have consecutive numbers 0, 1, 2, ... (`sequence`). The thread asks
 * source.next for item k in order, at most `lookahead` past the oldest undelivered one, and reads
 * it. An item is DELIVERED (source.deliver) only when its number is below the credit
 * (sl_fetch_credit). That is how back-pressure of batch slots reaches the disk: no slot, no credit,
 * buffers fill, reads stop.
 *
 * The location of an item may have to be read, too: such a lookup is an item that goes to
 * source.learn first, with the retries and the watchdog of any other read.
 *
 * Progress. Inserts are read first, then the oldest unread item, alone if need be. A reserve buffer
 * (read_buffers.h) is kept for items that are delivered as soon as they are read (inserts and items
 * below the credit) when the arena has no space: later items read early can fill the arena but
 * never starve these. Items larger than the arena use the reserve, too, and so wait for their
 * credit. With a `spread` the oldest item is also read first, although it need not be the one
 * waited for; if memory is free but fragmented, kept items are moved together for it.
 *
 * Buffers. deliver hands over bytes and a handle; they are readable (with 64 bytes after them)
 * until sl_fetch_release(handle), from any thread. A merged read is kept until its last item is
 * released.
 *
 * Errors. retry.h defines which errors are retried. EINVAL on O_DIRECT: reopened buffered. Short
 * read: the tail is requested again; 0 bytes: truncated, no retry. A read without completion is
 * counted after stall_warn_ns; after stall_fail_ns it fails its items with ETIMEDOUT, and its
 * memory is set aside until the kernel returns it; pending completions are taken first. If all
 * `depth` requests are lost that way, items fail after stall_fail_ns without being read. A file
 * that is truncated during a read can show zeros past its new end: for whole files fetch notices
 * that (ESTALE), for parts of files only the shard's checksum does.
 *
 * Cancel. sl_fetch_restart forgets the sequence: every item requested and not delivered, inserts
 * included, is delivered with CANCELED exactly once (reads in flight end behind the scenes), and
 * numbering starts again from 0. When it returns, no deliver of the old sequence will run. deliver
 * must not insert anything for a CANCELED item.
 */
#ifndef SL_FETCH_H
#define SL_FETCH_H

#include "backend.h"
#include "failure.h"
#include "histogram.h"
#include "items.h"
#include "objects.h"
#include "processors.h"
#include "resident.h"
#include "unpackers.h"

#include <sluice/options.h>

typedef struct sl_fetch sl_fetch;

/* How reads use the page cache. */
typedef enum sl_cache_mode {
    SL_CACHE_BUFFERED,
    SL_CACHE_DIRECT,
    SL_CACHE_DROP, /* through it, then drop the pages read */
    /* Through it for bytes that it has. Otherwise past it, which is quicker and costs less; but
     * with `fills`, while the storage is saturated, through it with read-ahead, so that the next
     * epoch need not wait for the storage. Whole objects: through it. */
    SL_CACHE_AUTO
} sl_cache_mode;

/* Callbacks into fetch's user. All run on the fetch thread; none may block. */
typedef struct sl_fetch_source {
    void *ctx;
    /* Returns the next item of the sequence (perhaps a lookup). OK, or END: nothing more until
     * sl_fetch_wake (called again then). After open and restart, first called after an
     * sl_fetch_wake or _credit. */
    sluice_status (*next)(void *ctx, sl_fetch_item *item);
    /*
     * Receives a lookup's bytes. OK: `item` now has the location of the item's own bytes, or of
     * another lookup. < 0: the item cannot be found; failure->status, text and offset (in the
     * object) give the reason. NULL if there are no lookups.
     */
    sluice_status (*learn)(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure);
    /* Returns the location of piece `number` of an item that has pieces. NULL if no item has
     * any. */
    sl_piece (*piece)(void *ctx, const sl_fetch_item *item, uint32_t number);
    /*
     * Called exactly once per item. status OK: `bytes` is the receiver's until released. status < 0
     * (IO, CORRUPT for a truncated file, NOMEM, CANCELED): `error` has file, offset, errno and
     * tries, and there is nothing to release.
     */
    void (*deliver)(void *ctx, const sl_fetch_item *item, sluice_status status,
                    const sl_fetch_bytes *bytes, const sluice_error *error);
    /* Called when all deliverable items were delivered; the thread may sleep next. May be NULL. */
    void (*flush)(void *ctx);
} sl_fetch_source;

typedef struct sl_fetch_config {
    sluice_io_backend backend;
    sl_objects *objects;
    bool whole_objects; /* items are whole objects: the pread pool opens and reads them */
    uint32_t pieces;    /* largest number of pieces of an item; above 0 the pread pool reads */
    bool packed;        /* some objects are compressed: `unpack_threads` read these (unpackers.h) */
    uint32_t unpack_threads, unpack_passes; /* passes: open at once, for the budget */
    /*
     * Items may be due in another order than the reading order: within sets of at most this many
     * consecutive items. A whole set may have to be in memory before one of its items is delivered,
     * so the arena must have space for it. 0: both orders are the same.
     */
    uint32_t spread;
    sl_cache_mode cache;
    bool fills;         /* with AUTO: the whole dataset fits into memory */
    uint32_t depth;     /* requests in flight, 1..512 */
    uint32_t threads;   /* of the pread pool */
    uint32_t lookahead; /* items past the oldest undelivered one, 1..65536 */
    uint32_t inserts;   /* most inserted items outstanding */
    uint64_t arena_bytes, max_sample_bytes;
    uint64_t arena_first_bytes; /* used before sl_fetch_present; 0: all */
    /* largest dataset kept in memory, by one read of the `depth` at a time; 0: none */
    uint64_t resident_bytes;
    uint64_t stall_warn_ns, stall_fail_ns;
    uint64_t merge_gap_bytes, merge_bytes; /* coalesce when the gap is at most / total at most */
    sl_budget *budget;
    const sl_processors *near;    /* processors of its thread and the pool's; NULL: any */
    struct sl_chunk_waits *waits; /* of remote reads (remote/chunk_waits.h); NULL: none wait */
    const sl_fault_config *fault; /* tests: wrap the backend; NULL: no */
} sl_fetch_config;

/* Returns the bytes that open takes from the budget, without the copy in memory: the read buffers
 * and the tables of items and requests. */
uint64_t sl_fetch_needs(const sl_fetch_config *config);
/* Starts the thread with numbering at 0 and credit 0. Errors: NOMEM, UNSUPPORTED (URING requested
 * and refused), INVALID. */
sluice_status sl_fetch_open(sl_fetch **fetch, const sl_fetch_config *config,
                            const sl_fetch_source *source, sluice_error *error);
/*
 * Cancels, drains for at most stall_fail_ns, joins. Every outstanding item is delivered with
 * CANCELED before the thread ends. Handles must be released before close: their memory is freed.
 */
void sl_fetch_close(sl_fetch *fetch);

/* Releases what the objects belong to. */
typedef struct sl_fetch_heir {
    void (*release)(void *ctx);
    void *ctx;
} sl_fetch_heir;
/*
 * Closes, but waits no longer than `patience_ns` for reads in flight. If some are still in flight,
 * its thread stays for them, without calling the source, and frees everything in the end. The
 * objects must exist until `heir` releases them: now, later, or never if one of their opens does
 * not come back. The budget is no longer used in either case.
 */
void sl_fetch_leave(sl_fetch *fetch, uint64_t patience_ns, const sl_fetch_heir *heir);

/* Allows delivery of items numbered below `limit`, which decreases only by a restart. */
void sl_fetch_credit(sl_fetch *fetch, uint64_t limit);
/* Requests an item outside the sequence (a replacement), delivered as soon as it is read. Its
 * `sequence` is SL_INSERTED. At most `inserts` may be outstanding, which the caller ensures. */
void sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item);
/* Returns whether the item's bytes are in the reserve: a caller that would hold them until other
 * items are delivered must copy them and release them at once. */
bool sl_fetch_is_reserve(const sl_fetch *fetch, uint32_t handle);
/* Releases `count` items. SL_HANDLE_NONE is ignored. */
void sl_fetch_release(sl_fetch *fetch, const uint32_t *handles, uint32_t count);
/* sl_fetch_memory: returns the memory of the read buffers. sl_fetch_present: all of it is present
 * now (populate.h); before, only the first arena_first_bytes are used. */
const sl_slab *sl_fetch_memory(const sl_fetch *fetch);
void sl_fetch_present(sl_fetch *fetch);
/* Reports that source.next has items again. */
void sl_fetch_wake(sl_fetch *fetch);
/* Cancels, waits for the cancel, and starts again: numbering at 0, credit 0, asleep until _wake or
 * _credit. Must not be called from a callback. The caller must not hold a lock that deliver or next
 * take. */
void sl_fetch_restart(sl_fetch *fetch);
/* Returns the dataset's copy in memory once it is complete, otherwise NULL. Any thread. */
const sl_resident *sl_fetch_resident(const sl_fetch *fetch);

typedef struct sl_fetch_stats {
    uint64_t bytes_wanted, bytes_read, reads, retried, stalled;
    uint64_t busy_ns;              /* time with at least one read in flight */
    uint64_t depth[SL_DEPTH_BINS]; /* reads in flight, sampled at each completion */
    uint64_t abandoned;            /* abandoned reads that have not come back so far */
    uint64_t resident_bytes;       /* bytes of the dataset that are kept in memory */
    sl_unpackers_stats unpacked;
    bool direct;
    const char *backend; /* static */
    char reason[128];    /* reason io_uring is not used, or "" */
} sl_fetch_stats;
void sl_fetch_get_stats(sl_fetch *fetch, sl_fetch_stats *stats);

/* For a watchdog (loader/watchdog.h) and a description (loader/describe.c). */
typedef struct sl_fetch_state {
    bool idle;       /* the thread waits for a signal: nothing is in flight or due for a retry */
    uint64_t rounds; /* a number that changes whenever the thread was awake */
    uint64_t asked, delivered, credit; /* items of the sequence */
    bool insert_waits;                 /* an inserted item is unread */
    uint64_t free_bytes;               /* free bytes of the read buffers */
    bool reserve_busy;
    /* Reads in flight, reads waiting for a retry, and the oldest read in flight, for a message: up
     * to two tenths of a second old. */
    uint32_t flying, waiting;
    uint32_t oldest_object;
    uint64_t oldest_ns; /* time it was sent; 0: none is in flight */
    uint64_t oldest_start, oldest_bytes;
    bool oldest_opens; /* it opens the object */
} sl_fetch_state;
/* Any thread. */
void sl_fetch_look(sl_fetch *fetch, sl_fetch_state *state);
/* Like sl_objects_path, for the objects that it reads. */
sluice_status sl_fetch_object_path(const sl_fetch *fetch, uint32_t object, char *path,
                                   size_t bytes);

#endif

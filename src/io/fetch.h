/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch: the I/O thread. Turns a sequence of wanted samples into reads and delivers their bytes.
 *
 * Purpose: look ahead in the sequence, merge neighbours in an object into one read, keep the device
 * busy to a bounded depth, retry what may be retried, watch for reads that stall, and deliver each
 * item exactly once, in any order.
 * Owner: one thread runs it all; other threads only call sl_fetch_credit, _insert, _release, _wake,
 * _restart, _get_stats, _resident, _memory, _present.
 * Parts: inbox (what others ask), window (what is wanted), requests (reads in the making),
 * read_buffers (where they go), retry (what failed), resident (a copy in memory), objects and
 * backend (what is read, and how). This head and its .c files put them together.
 *
 * Files are opened by a thread of their own (openers.h). An open is in flight like a read: it
 * stalls, and is left behind, like one.
 *
 * Compressed objects are read by threads that unpack, an object's items in the order in which they
 * were asked for (unpackers.h). While these get on with anything, no read of one counts as stalled.
 *
 * The sequence. Items have consecutive numbers 0, 1, 2, ... (`sequence`). The thread asks
 * source.next for item k in order, at most `lookahead` past the oldest undelivered one, and reads
 * it. An item is DELIVERED (source.deliver) only when its number is below the credit
 * (sl_fetch_credit): that is how back-pressure of batch slots reaches the disk: no slot, no credit,
 * buffers fill, reads stop.
 * Where an item is may have to be read, too: such a lookup is an item that goes to source.learn
 * first, with the retries and the watchdog of any other read.
 *
 * Progress. Inserts are read first, then the oldest item that is not read yet, alone if need be. A
 * reserve buffer (read_buffers.h) is kept for items that will be delivered as soon as they are
 * read, inserts and those below the credit, when the arena has no space: later items that were read
 * early can fill the arena but never starve them. Items larger than the arena use the reserve, too,
 * and so wait for their credit. With a `spread` the oldest item is read first, too, which need not
 * be one that is waited for; where memory is free, and not in one piece, what is kept moves
 * together for it.
 *
 * Buffers. deliver hands over bytes and a handle; they are readable (with 64 bytes behind them)
 * until sl_fetch_release(handle), from any thread. A merged read is kept until its last item is
 * released.
 *
 * Errors. retry.h says what is tried again. EINVAL on O_DIRECT: reopened buffered. Short read: the
 * tail is asked for again; 0 bytes: truncated, no retry. A read without completion for
 * stall_warn_ns is counted, for stall_fail_ns fails its items with ETIMEDOUT and its memory is set
 * aside until the kernel gives it back; completions that wait to be looked at are taken first. When
 * all `depth` requests are lost that way, items fail after stall_fail_ns without being read.
 * A file that is cut short in the moment of a read can show zeros behind its new end: for whole
 * files that is noticed here (ESTALE), for parts of files only by the shard's checksum.
 *
 * Cancel. sl_fetch_restart forgets the sequence: every item asked for and not delivered, inserts
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
    SL_CACHE_DROP, /* through it; what was read is dropped from it */
    /* Through it where it has the bytes. Else past it, which is quicker and costs less; but with
     * `fills`, while the storage has no time to spare, through it all the same, the kernel reading
     * ahead, so that the next epoch need not wait for the storage. Whole objects: through it. */
    SL_CACHE_AUTO
} sl_cache_mode;

/* What the fetch thread asks of its user. All called on the fetch thread; none may block. */
typedef struct sl_fetch_source {
    void *ctx;
    /* The next item of the sequence (a lookup, perhaps). OK, or END: nothing more until
     * sl_fetch_wake (asked again then). After open and restart nothing is asked before a first
     * sl_fetch_wake or _credit. */
    sluice_status (*next)(void *ctx, sl_fetch_item *item);
    /*
     * A lookup was read. OK: `item` is now where the item's own bytes are, or another lookup. < 0:
     * it cannot be found; failure->status, text and offset (in the object) say why. NULL where
     * there are no lookups.
     */
    sluice_status (*learn)(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure);
    /* Where piece `number` of an item is that has some. NULL where none has. */
    sl_piece (*piece)(void *ctx, const sl_fetch_item *item, uint32_t number);
    /*
     * Exactly once per item. status OK: `bytes` is the receiver's until released. status < 0 (IO,
     * CORRUPT for a truncated file, NOMEM, CANCELED): `error` says file, offset, errno and tries,
     * and there is nothing to release.
     */
    void (*deliver)(void *ctx, const sl_fetch_item *item, sluice_status status,
                    const sl_fetch_bytes *bytes, const sluice_error *error);
    /* All that could be delivered now was; the thread may sleep next. May be NULL. */
    void (*flush)(void *ctx);
} sl_fetch_source;

typedef struct sl_fetch_config {
    sluice_io_backend backend;
    sl_objects *objects;
    bool whole_objects; /* items are whole objects: the pread pool opens and reads them */
    uint32_t pieces;    /* that an item has, at most; above 0 the pread pool reads */
    bool packed;        /* some objects are compressed: `unpack_threads` read these (unpackers.h) */
    uint32_t unpack_threads, unpack_passes; /* passes: that are open at once, for the budget */
    /*
     * Items may be due in another order than they are asked for, which is that of reading: those of
     * a set of at most so many that follow one another, within the set. All of a set may have to be
     * in memory before one of it is delivered: the arena has to have space for it. 0: they are not.
     */
    uint32_t spread;
    sl_cache_mode cache;
    bool fills;         /* with AUTO: all of it fits into memory */
    uint32_t depth;     /* requests in flight, 1..512 */
    uint32_t threads;   /* of the pread pool */
    uint32_t lookahead; /* items past the oldest undelivered one, 1..65536 */
    uint32_t inserts;   /* most inserted items outstanding */
    uint64_t arena_bytes, max_sample_bytes;
    uint64_t arena_first_bytes; /* of it, used before sl_fetch_present; 0: all */
    uint64_t resident_bytes;    /* a dataset of at most this is kept in memory, by one read of the
                                   `depth` at a time; 0: none is */
    uint64_t stall_warn_ns, stall_fail_ns;
    uint64_t merge_gap_bytes, merge_bytes; /* coalesce when the gap is at most / total at most */
    sl_budget *budget;
    const sl_processors *near;    /* of its thread, and of the pool's; NULL: anywhere */
    struct sl_chunk_waits *waits; /* of remote reads (remote/chunk_waits.h); NULL: none wait */
    const sl_fault_config *fault; /* tests: wrap the backend; NULL: no */
} sl_fetch_config;

/* What open takes of the budget, but for the copy in memory: the read buffers and the tables of
 * items and requests. */
uint64_t sl_fetch_needs(const sl_fetch_config *config);
/* Starts the thread with numbering at 0 and credit 0. Errors: NOMEM, UNSUPPORTED (URING wanted and
 * refused), INVALID. */
sluice_status sl_fetch_open(sl_fetch **fetch, const sl_fetch_config *config,
                            const sl_fetch_source *source, sluice_error *error);
/*
 * Cancels, drains at most stall_fail_ns, joins. Every item still outstanding is delivered with
 * CANCELED before the thread ends. Handles not released yet must be released before close: their
 * memory goes away.
 */
void sl_fetch_close(sl_fetch *fetch);

/* Who gives back what the objects are part of. */
typedef struct sl_fetch_heir {
    void (*release)(void *ctx);
    void *ctx;
} sl_fetch_heir;
/*
 * As close, but waits no longer than `patience_ns` for reads in flight. Where some are on their way
 * still, its thread stays for them, without calling the source, and frees everything in the end.
 * The objects have to be there until `heir` releases them: now, or then, or never where an open of
 * theirs does not come back. The budget is not used
 * any more in either case.
 */
void sl_fetch_leave(sl_fetch *fetch, uint64_t patience_ns, const sl_fetch_heir *heir);

/* Items numbered below `limit` may be delivered. Never decreases but by restart. */
void sl_fetch_credit(sl_fetch *fetch, uint64_t limit);
/* Asks for an item outside the sequence (a replacement), delivered as soon as it is read. Its
 * `sequence` is SL_INSERTED. At most `inserts` may be outstanding: the caller sees to it. */
void sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item);
/* Whether the item's bytes are in the reserve: who will hold them until other items are delivered
 * has to copy them, and to release them at once. */
bool sl_fetch_is_reserve(const sl_fetch *fetch, uint32_t handle);
/* Of `count` items. SL_HANDLE_NONE is fine. */
void sl_fetch_release(sl_fetch *fetch, const uint32_t *handles, uint32_t count);
/* The memory of its read buffers, and that all of it is present now (populate.h). Before, only the
 * first arena_first_bytes are used. */
const sl_slab *sl_fetch_memory(const sl_fetch *fetch);
void sl_fetch_present(sl_fetch *fetch);
/* source.next has something again. */
void sl_fetch_wake(sl_fetch *fetch);
/* Cancels, waits for it, and starts again: numbering at 0, credit 0, asleep until _wake or _credit.
 * Not from a callback. The caller must not hold a lock that deliver or next take. */
void sl_fetch_restart(sl_fetch *fetch);
/* The dataset's copy in memory when all of it is there; else NULL. Any thread. */
const sl_resident *sl_fetch_resident(const sl_fetch *fetch);

typedef struct sl_fetch_stats {
    uint64_t bytes_wanted, bytes_read, reads, retried, stalled;
    uint64_t busy_ns;              /* time with at least one read in flight */
    uint64_t depth[SL_DEPTH_BINS]; /* reads in flight, sampled at each completion */
    uint64_t abandoned;            /* reads given up that have not come back so far */
    uint64_t resident_bytes;       /* of the dataset that are kept in memory */
    sl_unpackers_stats unpacked;
    bool direct;
    const char *backend; /* static */
    char reason[128];    /* why not io_uring, or "" */
} sl_fetch_stats;
void sl_fetch_get_stats(sl_fetch *fetch, sl_fetch_stats *stats);

/* For a watchdog (loader/watchdog.h) and a description (loader/describe.c). */
typedef struct sl_fetch_state {
    bool idle; /* the thread waits to be signaled: nothing is in flight or to be tried again */
    uint64_t rounds;                   /* a number that differs if it was awake meanwhile */
    uint64_t asked, delivered, credit; /* items of the sequence */
    bool insert_waits;                 /* an inserted item is not read */
    uint64_t free_bytes;               /* of the read buffers */
    bool reserve_busy;
    /* Reads in flight, to be tried again, and of those in flight the oldest, for a message: up to
     * two tenths of a second old. */
    uint32_t flying, waiting;
    uint32_t oldest_object;
    uint64_t oldest_ns; /* when it was sent; 0: none is in flight */
    uint64_t oldest_start, oldest_bytes;
    bool oldest_opens; /* the object, before it is read */
} sl_fetch_state;
/* Any thread. */
void sl_fetch_look(sl_fetch *fetch, sl_fetch_state *state);
/* As sl_objects_path, of the objects that it reads. */
sluice_status sl_fetch_object_path(const sl_fetch *fetch, uint32_t object, char *path,
                                   size_t bytes);

#endif

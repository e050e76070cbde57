/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend: the contract of everything that reads bytes from files.
 *
 * Purpose: submit reads, get each one's completion exactly once, in any order. Implementations:
 * uring.c (io_uring), pread_pool.c (threads; also whole small files, and reads in pieces),
 * unpackers.c (wraps another; what comes out of compressed files), fault.c (wraps another and
 * misbehaves by a seed).
 * Threads: open, submit, reap and close by one thread, the owner (the fetch thread); wake from any
 * thread.
 * Ownership: from submit to its completion a request's buffer belongs to the backend (to the
 * kernel, with io_uring): it must stay mapped and unread. close returns only when nothing is in
 * flight any more, or, after `drain_ns`, says how many requests it had to abandon: their memory
 * must never be freed or reused.
 */
#ifndef SL_BACKEND_H
#define SL_BACKEND_H

#include "boundary.h"
#include "items.h"
#include "slab.h"
#include "store.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef enum sl_read_kind {
    SL_READ_AT = 0,     /* pread(fd, buffer, length, offset), or what the store has for it */
    SL_READ_FILE = 1,   /* open path, read all of it (at most `length`), close; of an object that is
                           several files all of them */
    SL_READ_PIECES = 2, /* the same of each piece, one behind the other in the buffer; what of
                           pieces with gaps is not in memory, the kernel is told before */
    SL_READ_PACKED = 3, /* of a compressed object, `offset` in what comes out of it (unpackers.h) */
    SL_READ_OPEN = 4    /* reads nothing: opens `object` and pins it, `direct` or not (openers.h) */
} sl_read_kind;

/* One read. Owned by the caller, unchanged from submit to completion. */
typedef struct sl_read {
    sl_read_kind kind;
    int fd;                      /* READ_AT, READ_PIECES; -1: read by `handle`, not by io_uring */
    const sl_handle *handle;     /* what it is open as; NULL: a local file, by fd alone */
    const char *path;            /* READ_FILE; valid until completion */
    const sl_boundary *boundary; /* READ_FILE: what it has to be in; NULL: anywhere */
    uint64_t offset;
    uint32_t length; /* bytes of space in buffer */
    uint8_t *buffer;
    const sl_piece *pieces; /* READ_PIECES: `length` bytes in all */
    uint32_t piece_count;
    uint32_t object;            /* its number */
    struct sl_opening *opening; /* READ_OPEN: how it went; the backend writes to it */
    /* READ_FILE: how many files the object is, 0: the one at `path`; else they are read by their
     * paths, without O_DIRECT (read_files.h) */
    uint32_t files;
    const struct sl_objects *objects;
    /* READ_PACKED: in which pass through the object; how that goes on behind the last `last_bytes`
     * of the read. */
    uint64_t pass;
    sl_pass_end end;
    uint32_t last_bytes;
    bool drop_cache; /* READ_FILE: advise the kernel to forget the pages afterwards */
    /* READ_FILE: with O_DIRECT where that works; `length` and `buffer` are multiples of
     * SL_DIRECT_ALIGN. READ_AT: the descriptor is such a one. */
    bool direct;
} sl_read;

typedef struct sl_completion {
    sl_read *read;
    /*
     * READ_AT: bytes read (may be short; 0 at the end of the file) or -errno.
     * READ_PIECES: bytes read, all of them; or -errno, ENODATA where the file ends before.
     * READ_FILE: bytes read, all of the file; -EFBIG when it is longer than `length` (then
     * file_bytes is its size); else -errno, ESTALE when it shrank while being read, EXDEV when
     * it is outside of its boundary.
     * READ_PACKED: the good bytes, all of them or those in front of what `why` is about;
     * -ECANCELED.
     */
    int64_t result;
    uint64_t file_bytes;     /* READ_FILE: size by fstat. READ_PACKED: read from the file for it */
    const sluice_error *why; /* READ_PACKED: stays until the backend is closed; NULL: all is good */
    bool direct;             /* READ_FILE: it was read with O_DIRECT */
    uint32_t file;           /* READ_FILE: which of several failed */
    /* Why it failed, in words, instead of the errno's; stays until the backend is closed. NULL:
     * nothing to say. */
    const char *reason;
    bool final; /* it failed, and was tried as often as is worth it */
} sl_completion;

typedef struct sl_backend sl_backend;

typedef struct sl_backend_config {
    uint32_t depth;      /* most requests in flight */
    uint32_t threads;    /* pread pool */
    const sl_slab *slab; /* buffers are in it; or NULL */
    uint64_t stall_ns;   /* remote: most time without a byte, if the setting is longer; 0: any */
    struct sl_chunk_waits *waits; /* remote: chunks that reads wait for (chunk_waits.h); held until
                                     the end. NULL: none */
} sl_backend_config;

/* Who is told of requests that nobody will write to any more, whether they were read or not. */
typedef struct sl_read_ends {
    void (*ended)(void *ctx, sl_read *read);
    void *ctx;
} sl_read_ends;

typedef struct sl_backend_ops {
    const char *name;
    /* UNSUPPORTED with a reason in error->text when this machine refuses it. Creates, on the
     * calling thread, all that it needs. */
    sluice_status (*open)(sl_backend **backend, const sl_backend_config *config,
                          sluice_error *error);
    /* Takes `count` requests; never more than depth are in flight, or it is a bug. A request that
     * cannot be started completes with its error. */
    void (*submit)(sl_backend *backend, sl_read *const *reads, uint32_t count);
    /* Writes up to `capacity` completions; waits for at least one, for a wake, or `timeout_ns` (0:
     * not at all). Returns their number. */
    uint32_t (*reap)(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                     uint64_t timeout_ns);
    void (*wake)(sl_backend *backend);
    /* All pages of the slab are present: what is worth doing now, that would have made them so.
     * NULL: nothing. */
    void (*present)(sl_backend *backend);
    /* Drains and frees. Returns requests abandoned after `drain_ns` (0 is the good case): all
     * others that were not reaped are told to `ends`, which may be NULL. */
    uint32_t (*close)(sl_backend *backend, uint64_t drain_ns, const sl_read_ends *ends);
} sl_backend_ops;

struct sl_backend {
    const sl_backend_ops *ops;
};

static inline void sl_read_ended(const sl_read_ends *ends, sl_read *read)
{
    if (ends != NULL) {
        ends->ended(ends->ctx, read);
    }
}

/* What READ_AT and READ_PIECES read from. */
static inline sl_handle sl_read_handle(const sl_read *read)
{
    return read->handle != NULL ? *read->handle
                                : (sl_handle){.store = &sl_store_local, .fd = read->fd};
}

extern const sl_backend_ops sl_backend_uring, sl_backend_pread;

/*
 * Wraps `inner` (owned from then on, also on failure; of depth 2 x config->depth): reads of objects
 * of remote stores go to the network or to the files of the chunk cache, all others to `inner`.
 * Failures of remote reads are final. Errors: NOMEM; INVALID (a setting); UNSUPPORTED: the library
 * was built without libcurl.
 */
sluice_status sl_backend_remote(sl_backend **backend, sl_backend *inner,
                                const sl_backend_config *config, sluice_error *error);
/* The following are for the owner of a backend that sl_backend_remote made. */
/* Returns how many bytes between two wanted ranges cost less than another request, by what was
 * measured of the host that most bytes came from. */
uint64_t sl_backend_remote_gap(sl_backend *backend);
/* Returns a number that differs if a remote read came back meanwhile. */
uint64_t sl_backend_remote_progress(const sl_backend *backend);
/* Ends all remote reads in flight soon: they complete with ECANCELED, or as they would have. */
void sl_backend_remote_cancel(sl_backend *backend);

/*
 * Wraps `inner` (already open; owned by the wrapper from then on, also on failure). With
 * probabilities in 1/1000 of each request: short reads (at least 1 byte; only READ_AT), results
 * delivered late and reordered (half of them are read late, too: their buffer is written then),
 * transient errors (EINTR, EAGAIN), EIO once, EINVAL for O_DIRECT (READ_AT), never completing
 * (until close). `dead` is the share of 4096-byte blocks (READ_AT, by offset) and of files
 * (READ_FILE, by path) that answer EIO for ever; a read that runs into such a block is short or
 * fails, as kernels do. Deterministic in `seed` and the sequence of requests.
 * `instant`, for benches: no fault at all, but storage without a cost: each request completes whole
 * with the next reap, nothing is read, and `inner` only sleeps and is woken.
 */
typedef struct sl_fault_config {
    bool instant;
    uint64_t seed;
    uint64_t late_ns; /* late results are held this long at most; 0: 5 ms */
    uint32_t short_permille, late_permille, again_permille, eio_permille, dead_permille,
        lost_permille, einval_permille;
    uint32_t hold_first; /* so many requests from the first on are done `late_ns` after they were
                            sent; 0: never */
    uint64_t hold_at;    /* of those that begin at this byte of their file; 0: of all */
} sl_fault_config;
sluice_status sl_backend_fault(sl_backend **backend, sl_backend *inner,
                               const sl_fault_config *config, sluice_error *error);
/* Whether a read of these bytes (READ_AT), or of this file, runs into a dead place. */
bool sl_fault_is_dead(const sl_fault_config *config, const sl_read *read);

/* OK when io_uring works here: set up, a NOP and a real read; else UNSUPPORTED and why. */
sluice_status sl_uring_probe(sluice_error *error);

#endif

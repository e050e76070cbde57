/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend: the interface of all modules that read bytes from files.
 *
 * Purpose: takes reads and returns each completion exactly once, in any order. Implementations:
 * uring.c (io_uring), pread_pool.c (threads; also whole small files, and reads in pieces),
 * unpackers.c (wraps another; serves compressed files), fault.c (wraps another and injects faults
 * by a seed).
 *
 * Threads: one thread, the owner (the fetch thread), calls open, submit, reap and close; any thread
 * calls wake.
 *
 * Ownership: from submit to completion, a request's buffer belongs to the backend (to the kernel,
 * with io_uring): it must stay mapped and unread. close returns when nothing is in flight any more,
 * or, after `drain_ns`, returns the number of abandoned requests: their memory must never be freed
 * or reused.
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
    SL_READ_AT = 0, /* pread(fd, buffer, length, offset), or the store's equivalent */
    /* open path, read all of it (at most `length`), close; for an object of several files, all
     * files */
    SL_READ_FILE = 1,
    /* like READ_AT for each piece, adjacent in the buffer; pieces with gaps that are not in memory
     * are first announced to the kernel */
    SL_READ_PIECES = 2,
    SL_READ_PACKED = 3, /* of a compressed object; `offset` counts unpacked bytes (unpackers.h) */
    SL_READ_OPEN = 4    /* reads nothing: opens `object` and pins it, `direct` or not (openers.h) */
} sl_read_kind;

/* One read. Owned by the caller, unchanged from submit to completion. */
typedef struct sl_read {
    sl_read_kind kind;
    int fd;                      /* READ_AT, READ_PIECES; -1: read by `handle`, without io_uring */
    const sl_handle *handle;     /* open handle; NULL: a local file, by fd alone */
    const char *path;            /* READ_FILE; valid until completion */
    const sl_boundary *boundary; /* READ_FILE: folder that must contain it; NULL: anywhere */
    uint64_t offset;
    uint32_t length; /* bytes of space in buffer */
    uint8_t *buffer;
    const sl_piece *pieces; /* READ_PIECES: `length` bytes in all */
    uint32_t piece_count;
    uint32_t object;            /* number of the object */
    struct sl_opening *opening; /* READ_OPEN: the result, written by the backend */
    /* READ_FILE: number of files of the object, 0: the one at `path`; otherwise they are read by
     * their paths, without O_DIRECT (read_files.h) */
    uint32_t files;
    const struct sl_objects *objects;
    /* READ_PACKED: number of the pass through the object, and what follows the last `last_bytes` of
     * the read. */
    uint64_t pass;
    sl_pass_end end;
    uint32_t last_bytes;
    bool drop_cache; /* READ_FILE: advise the kernel to forget the pages afterwards */
    /* READ_FILE: with O_DIRECT where that works; `length` and `buffer` are multiples of
     * SL_DIRECT_ALIGN. READ_AT: the descriptor is open with O_DIRECT. */
    bool direct;
} sl_read;

typedef struct sl_completion {
    sl_read *read;
    /*
     * READ_AT: bytes read (may be short; 0 at the end of the file) or -errno. READ_PIECES: bytes
     * read, all of them; or -errno, ENODATA if the file ends earlier. READ_FILE: bytes read, all of
     * the file; -EFBIG if it is longer than `length` (file_bytes is then its size); otherwise
     * -errno, ESTALE if it shrank during the read, EXDEV if it is outside its boundary.
     * READ_PACKED: the good bytes, all of them or those before the failure in `why`; -ECANCELED.
     */
    int64_t result;
    /* READ_FILE: size by fstat. READ_PACKED: bytes read from the file for it */
    uint64_t file_bytes;
    /* READ_PACKED: valid until the backend is closed; NULL: all bytes are good */
    const sluice_error *why;
    bool direct; /* READ_FILE: it was read with O_DIRECT */
    /* READ_FILE: number of the file that failed, if the object has several */
    uint32_t file;
    /* Reason for the failure in words, instead of the errno's; valid until the backend is closed.
     * NULL: none. */
    const char *reason;
    bool final; /* it failed, and further retries are not worth it */
} sl_completion;

typedef struct sl_backend sl_backend;

typedef struct sl_backend_config {
    uint32_t depth;      /* most requests in flight */
    uint32_t threads;    /* pread pool */
    const sl_slab *slab; /* slab that contains the buffers; or NULL */
    uint64_t stall_ns;   /* remote: most time without a byte, if the setting is longer; 0: any */
    struct sl_chunk_waits *waits; /* remote: chunks that reads wait for (chunk_waits.h); held until
                                     the end. NULL: none */
} sl_backend_config;

/* Receives requests whose memory nothing will write to any more, read or not. */
typedef struct sl_read_ends {
    void (*ended)(void *ctx, sl_read *read);
    void *ctx;
} sl_read_ends;

typedef struct sl_backend_ops {
    const char *name;
    /* Creates, on the calling thread, everything the backend needs. Errors: UNSUPPORTED with a
     * reason in error->text if this machine does not allow it. */
    sluice_status (*open)(sl_backend **backend, const sl_backend_config *config,
                          sluice_error *error);
    /* Takes `count` requests. The caller never has more than depth in flight. A request that cannot
     * be started completes with its error. */
    void (*submit)(sl_backend *backend, sl_read *const *reads, uint32_t count);
    /* Writes up to `capacity` completions; waits for at least one, for a wake, or `timeout_ns` (0:
     * does not wait). Returns their number. */
    uint32_t (*reap)(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                     uint64_t timeout_ns);
    void (*wake)(sl_backend *backend);
    /* Called when all pages of the slab are present: does what would have made them present, and is
     * cheap now. NULL: nothing to do. */
    void (*present)(sl_backend *backend);
    /* Drains and frees. Returns the number of requests abandoned after `drain_ns` (0 is the good
     * case). Passes all other unreaped requests to `ends`, which may be NULL. */
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

/* Returns the handle that READ_AT and READ_PIECES read from. */
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
/* The functions below take a backend that sl_backend_remote made. */
/* Returns the largest gap between two wanted ranges that is cheaper to read than another request,
 * as measured on the host that most bytes came from. */
uint64_t sl_backend_remote_gap(sl_backend *backend);
/* Returns a number that differs if a remote read came back meanwhile. */
uint64_t sl_backend_remote_progress(const sl_backend *backend);
/* Ends all remote reads in flight soon: they complete with ECANCELED, or as they would have. */
void sl_backend_remote_cancel(sl_backend *backend);

/*
 * Wraps `inner` (already open; owned by the wrapper from then on, also on failure). With
 * probabilities in 1/1000 per request: short reads (at least 1 byte; only READ_AT), late and
 * reordered results (half of these reads are also executed late: their buffer is written then),
 * transient errors (EINTR, EAGAIN), one EIO, EINVAL for O_DIRECT (READ_AT), no completion (until
 * close). `dead` is the fraction of 4096-byte blocks (READ_AT, by offset) and of files (READ_FILE,
 * by path) that always answer EIO; a read that runs into such a block is short or fails, as with
 * kernels. Deterministic in `seed` and the sequence of requests. `instant`, for benches: no faults,
 * but storage without a cost: each request completes whole with the next reap, nothing is read, and
 * `inner` only sleeps and is woken.
 */
typedef struct sl_fault_config {
    bool instant;
    uint64_t seed;
    uint64_t late_ns; /* late results are held this long at most; 0: 5 ms */
    uint32_t short_permille, late_permille, again_permille, eio_permille, dead_permille,
        lost_permille, einval_permille;
    /* number of first requests that complete `late_ns` after they were sent; 0: none */
    uint32_t hold_first;
    uint64_t hold_at; /* only of requests that begin at this byte of their file; 0: of all */
} sl_fault_config;
sluice_status sl_backend_fault(sl_backend **backend, sl_backend *inner,
                               const sl_fault_config *config, sluice_error *error);
/* Returns whether a read of these bytes (READ_AT), or of this file, runs into a dead block. */
bool sl_fault_is_dead(const sl_fault_config *config, const sl_read *read);

/* Returns OK if io_uring works here: setup, a NOP and a real read; otherwise UNSUPPORTED and the
 * reason. */
sluice_status sl_uring_probe(sluice_error *error);

#endif

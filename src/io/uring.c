/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring: a backend on io_uring.
 *
 * One thread owns the ring (DEFER_TASKRUN forbids all others); others wake it through an eventfd of
 * which one read is always in flight. Requests are prepared by submit and enter the kernel with the
 * next reap, in the same system call that waits. At most `depth` + 1 are in flight and the
 * completion queue has space for twice as many, so it cannot overflow.
 */
#include "backend.h"
#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "uring_setup.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define REAP_BATCH    64U
#define PAUSE_NS      ((uint64_t)1000000) /* when the kernel has no space for a request */
#define DRAIN_TICK_NS ((uint64_t)100000000)
#define NS_PER_S      ((uint64_t)1000000000)
/* The thread that submits a read copies bytes from the page cache itself, one request after the
 * other: longer copies than this are left to kernel threads. */
#define LONG_BYTES ((size_t)4 << 20)

struct uring {
    sl_backend base;
    struct io_uring ring;
    const sl_slab *slab;
    const uint8_t *fixed; /* registered memory */
    size_t fixed_bytes;
    uint32_t depth, in_flight;
    bool wake_armed, closing;
    int event;
    uint64_t event_value;   /* destination of the read of `event` */
    _Atomic uint32_t woken; /* `event` is written and not yet read */
};

/* Returns an entry of the submission queue; there is one for each request that may be in flight. */
static struct io_uring_sqe *next_entry(struct uring *uring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
    assert(sqe != NULL);
    return sqe;
}

static void arm_wake(struct uring *uring)
{
    struct io_uring_sqe *sqe = next_entry(uring);
    io_uring_prep_read(sqe, uring->event, &uring->event_value, sizeof(uring->event_value), 0);
    io_uring_sqe_set_data(sqe, NULL);
    uring->wake_armed = true;
}

static void uring_prepare(struct uring *uring, sl_read *read)
{
    assert(read->kind == SL_READ_AT);
    struct io_uring_sqe *sqe = next_entry(uring);
    uintptr_t from = (uintptr_t)read->buffer - (uintptr_t)uring->fixed;
    size_t first = from / SL_RING_BUFFER_BYTES;
    size_t last = (from + read->length - 1) / SL_RING_BUFFER_BYTES;
    if (from < uring->fixed_bytes && read->length <= uring->fixed_bytes - from && first == last) {
        io_uring_prep_read_fixed(sqe, read->fd, read->buffer, read->length, read->offset,
                                 (int)first);
    } else {
        io_uring_prep_read(sqe, read->fd, read->buffer, read->length, read->offset);
    }
    io_uring_sqe_set_data(sqe, read);
    if (read->length >= LONG_BYTES && !read->direct) {
        io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
    }
}

static void uring_submit(sl_backend *backend, sl_read *const *reads, uint32_t count)
{
    struct uring *uring = (struct uring *)backend;
    assert(uring->in_flight + count <= uring->depth);
    for (uint32_t i = 0; i < count; i++) {
        uring_prepare(uring, reads[i]);
    }
    uring->in_flight += count;
}

/* Submits the prepared entries and waits for a completion. */
static int uring_enter(struct uring *uring, uint64_t timeout_ns)
{
    if (timeout_ns == 0) {
        return io_uring_submit_and_get_events(&uring->ring);
    }
    if (timeout_ns == UINT64_MAX) {
        return io_uring_submit_and_wait(&uring->ring, 1);
    }
    struct __kernel_timespec timeout = {.tv_sec = (long long)(timeout_ns / NS_PER_S),
                                        .tv_nsec = (long long)(timeout_ns % NS_PER_S)};
    struct io_uring_cqe *cqe = NULL;
    return io_uring_submit_and_wait_timeout(&uring->ring, &cqe, 1, &timeout, NULL);
}

/* Moves completions out of the ring. */
static uint32_t uring_take(struct uring *uring, sl_completion *completions, uint32_t capacity)
{
    struct io_uring_cqe *cqes[REAP_BATCH];
    uint32_t taken = 0;
    while (taken < capacity) {
        uint32_t wanted = sl_min_u32(capacity - taken, REAP_BATCH);
        uint32_t count = io_uring_peek_batch_cqe(&uring->ring, cqes, wanted);
        for (uint32_t i = 0; i < count; i++) {
            sl_read *read = io_uring_cqe_get_data(cqes[i]);
            if (read != NULL) {
                completions[taken++] = (sl_completion){.read = read, .result = cqes[i]->res};
                continue;
            }
            uring->wake_armed = false;
            /* seq_cst, with the exchange in uring_wake, before the caller looks at the reason it
             * was woken for: a later wake writes again. */
            atomic_store_explicit(&uring->woken, 0, memory_order_seq_cst);
        }
        io_uring_cq_advance(&uring->ring, count);
        if (count < wanted) {
            break;
        }
    }
    assert(taken <= uring->in_flight);
    uring->in_flight -= taken;
    return taken;
}

static uint32_t uring_reap(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                           uint64_t timeout_ns)
{
    struct uring *uring = (struct uring *)backend;
    if (!uring->wake_armed && !uring->closing) {
        arm_wake(uring);
    }
    int result = uring_enter(uring, timeout_ns);
    uint32_t taken = uring_take(uring, completions, capacity);
    if (result < 0 && result != -ETIME && result != -EINTR && taken == 0) {
        /* No memory for a request just now, or worse: prepared entries stay so, and the watchdog
         * watches them. Never a busy loop. */
        sl_sleep_until_ns(sl_now_ns() + PAUSE_NS);
    }
    return taken;
}

static void uring_wake(sl_backend *backend)
{
    struct uring *uring = (struct uring *)backend;
    /* Pairs with the store in uring_take: if the event is still to be read, its reader sees the
     * caller's changes afterwards. */
    if (atomic_exchange_explicit(&uring->woken, 1, memory_order_seq_cst) == 0) {
        (void)eventfd_write(uring->event, 1);
    }
}

/* Waits for reads in flight, which cannot be recalled. */
static void drain(struct uring *uring, uint64_t drain_ns, const sl_read_ends *ends)
{
    sl_completion late[REAP_BATCH];
    uint64_t deadline = sl_now_ns();
    deadline = drain_ns > UINT64_MAX - deadline ? UINT64_MAX : deadline + drain_ns;
    while (uring->in_flight > 0 || uring->wake_armed) {
        uint64_t now = sl_now_ns();
        if (now >= deadline) {
            return;
        }
        uint64_t left = sl_min_u64(deadline - now, DRAIN_TICK_NS);
        const uint32_t count = uring_reap(&uring->base, late, REAP_BATCH, left);
        for (uint32_t i = 0; i < count; i++) {
            sl_read_ended(ends, late[i].read);
        }
    }
}

static uint32_t close_uring(sl_backend *backend, uint64_t drain_ns, const sl_read_ends *ends)
{
    struct uring *uring = (struct uring *)backend;
    uring->closing = true;
    (void)eventfd_write(uring->event, 1); /* ends the read of it */
    drain(uring, drain_ns, ends);
    uint32_t abandoned = uring->in_flight;
    bool quiet = abandoned == 0 && !uring->wake_armed;
    io_uring_queue_exit(&uring->ring);
    close(uring->event);
    if (quiet) {
        sl_free(uring);
    } /* otherwise the kernel may still write to event_value */
    return abandoned;
}

static sluice_status open_uring(sl_backend **backend, const sl_backend_config *config,
                                sluice_error *error)
{
    assert(config->depth > 0);
    struct uring *uring = sl_calloc(1, sizeof(*uring));
    if (uring == NULL) {
        return sl_no_memory(error, "io", "for a ring");
    }
    uring->base.ops = &sl_backend_uring;
    uring->depth = config->depth;
    uring->event = eventfd(0, EFD_CLOEXEC);
    sluice_status status = SLUICE_OK;
    if (uring->event < 0) {
        status = sl_error_file(error, SLUICE_UNSUPPORTED, "io", errno, NULL, -1,
                               "cannot create an eventfd to wake the ring");
    } else {
        status = sl_ring_open(&uring->ring, config->depth + 1, error);
    }
    if (status < 0) {
        if (uring->event >= 0) {
            close(uring->event);
        }
        sl_free(uring);
        return status;
    }
    uring->slab = config->slab;
    *backend = &uring->base;
    return SLUICE_OK;
}

/* Registers the memory, which pins its pages and so makes all of them present. */
static void uring_present(sl_backend *backend)
{
    struct uring *uring = (struct uring *)backend;
    if (uring->slab != NULL) {
        uring->fixed = uring->slab->base;
        uring->fixed_bytes = sl_ring_register(&uring->ring, uring->slab);
    }
}

sluice_status sl_uring_probe(sluice_error *error)
{
    sl_backend *backend = NULL;
    const sl_backend_config config = {.depth = 1};
    sluice_status status = open_uring(&backend, &config, error);
    if (backend != NULL) {
        (void)close_uring(backend, NS_PER_S, NULL);
    }
    return status;
}

const sl_backend_ops sl_backend_uring = {"uring",    open_uring,    uring_submit, uring_reap,
                                         uring_wake, uring_present, close_uring};

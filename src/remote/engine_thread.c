/* SPDX-License-Identifier: Apache-2.0 */
/* engine_thread: the loop of an engine thread: waits with epoll, lets libcurl process the ready
 * sockets, and calls done and tick without its mutex. */
#include "engine_direct.h"

#include "clock.h"
#include "error.h"
#include "hosts.h"
#include "memory.h"
#include "minmax.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MS                UINT64_C(1000000)
#define STALL_DEFAULT_NS  (UINT64_C(30000) * MS)
#define LOOK_LEAST_NS     (10 * MS)
#define WINDOW_NS         (1000 * MS)
#define CONNECTIONS_KEPT  1024U
#define BUSY_NUMERATOR    7 /* of 10 */
#define BUSY_DENOMINATOR  10
#define EPOLL_EVENTS_MOST 64
#define KEPT_BLOCK_BYTES  ((size_t)4 << 20)

/* ---- libcurl's callbacks ---- */

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *argument, void *watched)
{
    (void)easy;
    sl_engine_thread *thread = argument;
    struct epoll_event event = {.data.fd = fd};
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(thread->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN) != 0 ? EPOLLIN : 0;
    event.events |= (what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0;
    if (watched != NULL && epoll_ctl(thread->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0) {
        return 0;
    }
    if (epoll_ctl(thread->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 &&
        (errno != EEXIST || epoll_ctl(thread->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0)) {
        return -1;
    }
    (void)thread->calls->multi_assign(thread->multi, fd, thread);
    return 0;
}

static int watch_timer(CURLM *multi, long timeout_ms, void *argument)
{
    (void)multi;
    sl_engine_thread *thread = argument;
    thread->curl_timer_ns = timeout_ms < 0 ? UINT64_MAX : sl_now_ns() + (uint64_t)timeout_ms * MS;
    return 0;
}

/* ---- exchanges ---- */

static void exchange_finish(sl_engine_thread *thread, sl_exchange *exchange)
{
    sl_lock(&thread->mutex);
    exchange->active = false;
    if (exchange->canceled) { /* it may be on the list */
        sl_exchange **at = &thread->canceled;
        while (*at != NULL && *at != exchange) {
            at = &(*at)->next_canceled;
        }
        if (*at != NULL) {
            *at = exchange->next_canceled;
        }
    }
    sl_unlock(&thread->mutex);
    /* Relaxed: engine_thread_for chooses by it. */
    (void)atomic_fetch_sub_explicit(&thread->load, 1, memory_order_relaxed);
    exchange->done(exchange);
}

static void transfer_unlink(sl_engine_thread *thread, sl_transfer *transfer)
{
    if (transfer->before != NULL) {
        transfer->before->next = transfer->next;
    } else {
        thread->active = transfer->next;
    }
    if (transfer->next != NULL) {
        transfer->next->before = transfer->before;
    }
    if (thread->active == NULL) {
        thread->idle_until_ns = sl_now_ns() + thread->idle_ns;
    }
}

void sl_transfer_finish(sl_transfer *transfer, CURLcode code, int failed, const char *reason)
{
    sl_engine_thread *thread = transfer->thread;
    sl_exchange *exchange = transfer->exchange;
    transfer_unlink(thread, transfer);
    if (transfer->direct == NULL) {
        (void)thread->calls->multi_remove_handle(thread->multi, transfer->easy);
    }
    exchange->transfer = NULL;
    if (failed != 0) {
        (void)snprintf(exchange->reason, sizeof(exchange->reason), "%s", reason);
        transfer->refused = failed;
    }
    sl_transfer_end(transfer, code);
    exchange_finish(thread, exchange);
}

static uint64_t transfer_stalls_ns(const sl_transfer *transfer)
{
    const uint64_t stall_ns = transfer->exchange->stall_ns;
    return transfer->byte_ns + (stall_ns != 0 ? stall_ns : STALL_DEFAULT_NS);
}

static uint64_t transfer_ends_ns(const sl_transfer *transfer)
{
    const sl_exchange *e = transfer->exchange;
    const uint64_t limit_ns = e->limit_ns != 0 ? transfer->begun_ns + e->limit_ns : UINT64_MAX;
    return sl_min_u64(transfer_stalls_ns(transfer), limit_ns);
}

/* `fresh`: not on a connection that another exchange has used. */
static void exchange_begin(sl_engine_thread *thread, sl_exchange *exchange, bool fresh)
{
    sl_transfer *transfer = sl_transfer_begin(thread, exchange, fresh);
    if (transfer == NULL) {
        exchange_finish(thread, exchange);
        return;
    }
    exchange->transfer = transfer;
    transfer->before = NULL;
    transfer->next = thread->active;
    if (transfer->next != NULL) {
        transfer->next->before = transfer;
    }
    thread->active = transfer;
    thread->idle_until_ns = UINT64_MAX;
    thread->look_ns = sl_min_u64(thread->look_ns, transfer_ends_ns(transfer));
    if (transfer->direct != NULL && transfer->direct->fd >= 0) {
        sl_direct_begin(transfer);
    } else if (thread->calls->multi_add_handle(thread->multi, transfer->easy) != CURLM_OK) {
        sl_transfer_finish(transfer, CURLE_OUT_OF_MEMORY, -ENOMEM, "libcurl has no memory");
    }
}

void sl_transfer_again(sl_transfer *transfer)
{
    sl_engine_thread *thread = transfer->thread;
    sl_exchange *exchange = transfer->exchange;
    transfer_unlink(thread, transfer);
    exchange->transfer = NULL;
    sl_transfer_free(transfer);
    exchange_begin(thread, exchange, true);
}

static void finish_ready(sl_engine_thread *thread)
{
    int left;
    for (CURLMsg *message = thread->calls->multi_info_read(thread->multi, &left); message != NULL;
         message = thread->calls->multi_info_read(thread->multi, &left)) {
        if (message->msg == CURLMSG_DONE) {
            char *private = NULL;
            const CURLcode code = message->data.result;
            (void)thread->calls->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
            sl_transfer *transfer = (sl_transfer *)(void *)private;
            if (transfer->direct != NULL) {
                sl_direct_connected(transfer, code);
            } else {
                sl_transfer_finish(transfer, code, 0, NULL);
            }
        }
    }
}

/* Ends transfers that received no byte for too long. A timer per transfer would be set again
 * with each byte. */
static void finish_stalled(sl_engine_thread *thread, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    if (now < thread->look_ns) {
        return;
    }
    thread->look_ns = UINT64_MAX;
    for (sl_transfer *t = thread->active; t != NULL;) {
        sl_transfer *following = t->next;
        const uint64_t ends_ns = transfer_ends_ns(t);
        if (ends_ns <= now) {
            char reason[SL_REASON_BYTES];
            const bool stalls = transfer_stalls_ns(t) <= now;
            (void)snprintf(reason, sizeof(reason),
                           stalls ? "the server sent nothing for %.1f s"
                                  : "the server took longer than %.1f s to answer",
                           (double)(now - (stalls ? t->byte_ns : t->begun_ns)) / 1e9);
            sl_transfer_finish(t, CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, reason);
        } else {
            next = sl_min_u64(next, ends_ns);
        }
        t = following;
    }
    next = next == UINT64_MAX ? next : sl_max_u64(next, now + LOOK_LEAST_NS);
    thread->look_ns = sl_min_u64(thread->look_ns, next);
}

/* ---- the queue, cancels and timers ---- */

static void take_new(sl_engine_thread *thread)
{
    sl_lock(&thread->mutex);
    sl_exchange *first = thread->queue_head;
    thread->queue_head = thread->queue_tail = NULL;
    sl_unlock(&thread->mutex);
    while (first != NULL) {
        sl_exchange *exchange = first;
        first = exchange->next;
        exchange_begin(thread, exchange, false);
    }
}

/* Removes an exchange from the queue, if it is in it. */
static bool unqueue_locked(sl_engine_thread *thread, const sl_exchange *exchange)
{
    sl_exchange *before = NULL;
    sl_exchange *at = thread->queue_head;
    while (at != NULL && at != exchange) {
        before = at;
        at = at->next;
    }
    if (at == NULL) {
        return false;
    }
    if (before != NULL) {
        before->next = at->next;
    } else {
        thread->queue_head = at->next;
    }
    thread->queue_tail = at->next == NULL ? before : thread->queue_tail;
    return true;
}

static void take_canceled(sl_engine_thread *thread)
{
    for (;;) {
        sl_lock(&thread->mutex);
        sl_exchange *exchange = thread->canceled;
        bool queued = false;
        if (exchange != NULL) {
            thread->canceled = exchange->next_canceled;
            queued = unqueue_locked(thread, exchange);
        }
        sl_unlock(&thread->mutex);
        if (exchange == NULL) {
            return;
        }
        if (queued) {
            exchange->failed = -ECANCELED;
            exchange_finish(thread, exchange);
        } else {
            sl_transfer_finish(exchange->transfer, CURLE_ABORTED_BY_CALLBACK, -ECANCELED,
                               "canceled");
        }
    }
}

static void timer_unlink_locked(sl_engine_thread *thread, sl_engine_timer *timer)
{
    if (timer->before != NULL) {
        timer->before->next = timer->next;
    } else {
        thread->timers_head = timer->next;
    }
    if (timer->next != NULL) {
        timer->next->before = timer->before;
    } else {
        thread->timers_tail = timer->before;
    }
    timer->set = false;
}

static void tick_due(sl_engine_thread *thread, uint64_t now)
{
    for (;;) {
        sl_lock(&thread->mutex);
        sl_engine_timer *timer = thread->timers_head;
        if (timer != NULL && timer->at_ns <= now) {
            timer_unlink_locked(thread, timer);
        } else {
            timer = NULL;
        }
        sl_unlock(&thread->mutex);
        if (timer == NULL) {
            return;
        }
        timer->tick(timer);
    }
}

void sl_engine_thread_add_timer(sl_engine_thread *thread, sl_engine_timer *timer)
{
    sl_lock(&thread->mutex);
    /* delays are similar: a new timer is nearly always the last */
    sl_engine_timer *before = thread->timers_tail;
    while (before != NULL && before->at_ns > timer->at_ns) {
        before = before->before;
    }
    timer->before = before;
    timer->next = before != NULL ? before->next : thread->timers_head;
    if (timer->next != NULL) {
        timer->next->before = timer;
    } else {
        thread->timers_tail = timer;
    }
    if (before != NULL) {
        before->next = timer;
    } else {
        thread->timers_head = timer;
        sl_engine_thread_wake_locked(thread);
    }
    timer->thread = thread;
    timer->set = true;
    sl_unlock(&thread->mutex);
}

bool sl_engine_thread_remove_timer(sl_engine_thread *thread, sl_engine_timer *timer)
{
    sl_lock(&thread->mutex);
    const bool set = timer->set;
    if (set) {
        timer_unlink_locked(thread, timer);
    }
    sl_unlock(&thread->mutex);
    return set;
}

void sl_engine_thread_add(sl_engine_thread *thread, sl_exchange *exchange)
{
    /* Relaxed: engine_thread_for chooses by it. */
    (void)atomic_fetch_add_explicit(&thread->load, 1, memory_order_relaxed);
    sl_lock(&thread->mutex);
    exchange->thread = thread;
    exchange->next = NULL;
    exchange->active = true;
    exchange->canceled = false;
    if (thread->queue_tail != NULL) {
        thread->queue_tail->next = exchange;
    } else {
        thread->queue_head = exchange;
    }
    thread->queue_tail = exchange;
    sl_engine_thread_wake_locked(thread);
    sl_unlock(&thread->mutex);
}

void sl_engine_thread_cancel(sl_engine_thread *thread, sl_exchange *exchange)
{
    sl_lock(&thread->mutex);
    if (exchange->active && !exchange->canceled) {
        exchange->canceled = true;
        exchange->next_canceled = thread->canceled;
        thread->canceled = exchange;
        sl_engine_thread_wake_locked(thread);
    }
    sl_unlock(&thread->mutex);
}

/* ---- idle connections ---- */

static CURLM *multi_open(sl_engine_thread *thread)
{
    const sl_curl_calls *c = thread->calls;
    CURLM *multi = c->multi_init();
    if (multi == NULL) {
        return NULL;
    }
    thread->resting_most = sl_min_u32(CONNECTIONS_KEPT, sl_host_connections_most());
    (void)c->multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)thread->resting_most);
    (void)c->multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    (void)c->multi_setopt(multi, CURLMOPT_SOCKETDATA, thread);
    (void)c->multi_setopt(multi, CURLMOPT_TIMERFUNCTION, watch_timer);
    if (c->multi_setopt(multi, CURLMOPT_TIMERDATA, thread) != CURLM_OK) {
        (void)c->multi_cleanup(multi);
        return NULL;
    }
    return multi;
}

/* libcurl closes old connections when it looks for one to use. Without requests, only a new
 * multi handle closes them. */
static void close_idle(sl_engine_thread *thread, uint64_t now)
{
    if (now < thread->idle_until_ns) {
        return;
    }
    thread->idle_until_ns = UINT64_MAX;
    sl_direct_close_resting(thread);
    CURLM *fresh = multi_open(thread);
    if (fresh != NULL) {
        (void)thread->calls->multi_cleanup(thread->multi);
        thread->multi = fresh;
        thread->curl_timer_ns = UINT64_MAX;
    }
}

/* ---- the loop ---- */

void sl_engine_thread_wake_locked(sl_engine_thread *thread)
{
    if (thread->sleeps) {
        const uint64_t one = 1;
        thread->sleeps = false;
        (void)!write(thread->event_fd, &one, sizeof(one));
    }
}

/* Measures whether the thread computed for most of the last second; then another one may help. */
static void measure_busy(sl_engine_thread *thread, uint64_t now)
{
    if (now - thread->window_ns < WINDOW_NS) {
        return;
    }
    const uint64_t cpu_ns = sl_thread_cpu_ns();
    const bool busy = (cpu_ns - thread->window_cpu_ns) >
                      (now - thread->window_ns) / BUSY_DENOMINATOR * BUSY_NUMERATOR;
    /* Relaxed: a hint for engine_thread_for. */
    atomic_store_explicit(&thread->busy, busy, memory_order_relaxed);
    thread->window_ns = now;
    thread->window_cpu_ns = cpu_ns;
}

/* Returns the time to the next event; -1: none. A thread that changes the values used here wakes
 * this one. */
static int thread_timeout_ms(sl_engine_thread *thread, uint64_t now)
{
    uint64_t until = sl_min_u64(thread->curl_timer_ns, thread->look_ns);
    until = sl_min_u64(until, thread->idle_until_ns);
    sl_lock(&thread->mutex);
    if (thread->timers_head != NULL) {
        until = sl_min_u64(until, thread->timers_head->at_ns);
    }
    thread->sleeps = thread->queue_head == NULL && thread->canceled == NULL && !thread->ends;
    const bool sleeps = thread->sleeps;
    sl_unlock(&thread->mutex);
    if (!sleeps || until <= now) {
        return 0;
    }
    const uint64_t ms = (until - now + MS - 1) / MS;
    return until == UINT64_MAX ? -1 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static bool thread_ends(sl_engine_thread *thread)
{
    sl_lock(&thread->mutex);
    thread->sleeps = false;
    const bool ends = thread->ends;
    sl_unlock(&thread->mutex);
    return ends;
}

/* libcurl frees its buffer of 64 KiB after each transfer. glibc's malloc returns the pages at
 * the end of a thread's heap to the system, and they are cleared again for the next transfer,
 * which takes a sixth of the CPU time of a read of 128 KiB. Once a large block was freed, malloc
 * keeps up to twice as much (mallopt would fix the limit for the whole program). */
static void keep_freed_memory(void)
{
    char *block = sl_malloc(KEPT_BLOCK_BYTES);
    if (block != NULL) {
        *(volatile char *)block = 0; /* the compiler might remove an unused pair of calls */
        sl_free(block);
    }
}

static void handle_events(sl_engine_thread *thread, const struct epoll_event *events, int count)
{
    int running;
    for (int i = 0; i < count && !thread_ends(thread); i++) {
        uint64_t read_bytes;
        if (events[i].data.fd == thread->event_fd) {
            (void)!read(thread->event_fd, &read_bytes, sizeof(read_bytes));
            continue;
        }
        const int fd = events[i].data.fd;
        if ((size_t)fd < thread->directs_count && thread->directs[fd] != NULL) {
            sl_direct_event(thread->directs[fd]);
            continue;
        }
        const uint32_t e = events[i].events;
        const int ready =
            ((e & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
            ((e & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
            ((e & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_IN | CURL_CSELECT_ERR : 0);
        (void)thread->calls->multi_socket_action(thread->multi, fd, ready, &running);
    }
}

static void engine_thread_run(void *argument)
{
    sl_engine_thread *thread = argument;
    struct epoll_event events[EPOLL_EVENTS_MOST];
    keep_freed_memory();
    thread->window_ns = sl_now_ns();
    while (!thread_ends(thread)) {
        take_new(thread);
        take_canceled(thread);
        uint64_t now = sl_now_ns();
        if (thread->curl_timer_ns <= now) {
            int running;
            thread->curl_timer_ns = UINT64_MAX;
            (void)thread->calls->multi_socket_action(thread->multi, CURL_SOCKET_TIMEOUT, 0,
                                                     &running);
        }
        finish_ready(thread);
        finish_stalled(thread, now);
        tick_due(thread, now);
        close_idle(thread, now);
        measure_busy(thread, now);
        const int count = epoll_wait(thread->epoll_fd, events, EPOLL_EVENTS_MOST,
                                     thread_timeout_ms(thread, sl_now_ns()));
        handle_events(thread, events, count);
        finish_ready(thread);
    }
    sl_lock(&thread->mutex);
    thread->has_ended = true;
    sl_cond_signal(&thread->stopped);
    sl_unlock(&thread->mutex);
    /* The process exits. OpenSSL's cleanup at a thread's end would clash with its cleanup at
     * exit. */
    for (;;) {
        (void)pause();
    }
}

void sl_engine_thread_end(sl_engine_thread *thread, uint64_t wait_ns)
{
    const uint64_t until = sl_now_ns() + wait_ns;
    sl_lock(&thread->mutex);
    thread->ends = true;
    sl_engine_thread_wake_locked(thread);
    while (!thread->has_ended && sl_cond_wait_until(&thread->stopped, &thread->mutex, until)) {
    }
    sl_unlock(&thread->mutex);
}

/* ---- opening ---- */

static bool thread_set_multi(sl_engine_thread *thread)
{
    const sl_curl_calls *c = thread->calls;
    thread->multi = multi_open(thread);
    thread->share = c->share_init();
    if (thread->multi == NULL || thread->share == NULL) {
        return false;
    }
    thread->direct_http = true;
    thread->direct_tls = c->has_tls;
    return c->share_setopt(thread->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) ==
           CURLSHE_OK;
}

static void thread_free(sl_engine_thread *thread)
{
    if (thread->multi != NULL) {
        (void)thread->calls->multi_cleanup(thread->multi);
    }
    if (thread->share != NULL) {
        (void)thread->calls->share_cleanup(thread->share);
    }
    if (thread->epoll_fd >= 0) {
        (void)close(thread->epoll_fd);
    }
    if (thread->event_fd >= 0) {
        (void)close(thread->event_fd);
    }
    sl_cond_destroy(&thread->stopped);
    sl_mutex_destroy(&thread->mutex);
    sl_free(thread);
}

sluice_status sl_engine_thread_open(sl_engine_thread **opened, const sl_curl_calls *calls,
                                    sluice_error *error)
{
    sl_engine_thread *thread = sl_calloc(1, sizeof(*thread));
    if (thread == NULL) {
        return sl_no_memory(error, "remote", "for a thread of HTTP requests");
    }
    thread->calls = calls;
    thread->curl_timer_ns = thread->look_ns = thread->idle_until_ns = UINT64_MAX;
    thread->idle_ns = sl_engine_idle_ns();
    sl_mutex_init(&thread->mutex);
    sl_cond_init(&thread->stopped);
    atomic_init(&thread->load, 0);
    atomic_init(&thread->busy, false);
    thread->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    thread->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = thread->event_fd};
    sluice_status status = SLUICE_OK;
    if (thread->epoll_fd < 0 || thread->event_fd < 0 ||
        epoll_ctl(thread->epoll_fd, EPOLL_CTL_ADD, thread->event_fd, &event) != 0) {
        status = sl_error_file(error, SLUICE_IO, "remote", errno, NULL, -1,
                               "cannot open descriptors for HTTP requests: errno %d", errno);
    } else if (!thread_set_multi(thread)) {
        status = sl_no_memory(error, "remote", "for libcurl");
    } else {
        status = sl_thread_start(&thread->thread, "sluice-http", engine_thread_run, thread, error);
    }
    if (status != SLUICE_OK) {
        thread_free(thread);
        return status;
    }
    sl_thread_detach(&thread->thread);
    *opened = thread;
    return SLUICE_OK;
}

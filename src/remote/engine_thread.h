/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_thread: one thread of the engine and its transfers.
 *
 * Purpose: types that the files of the engine share. A thread waits with epoll for its sockets, for
 * an eventfd, and for the next timer, and passes ready sockets to curl_multi_socket_action, so that
 * waiting transfers cost nothing, regardless of their number.
 * Threads: members below `mutex` are guarded by it; the others belong to the thread itself.
 */
#ifndef SL_ENGINE_THREAD_H
#define SL_ENGINE_THREAD_H

#include "curl_calls.h"
#include "engine.h"
#include "thread.h"

#include <stdatomic.h>

enum { SL_EXCHANGE_HEADERS = 12 };

#define SL_HEADER_BYTES_MOST (UINT32_C(64) << 10)

#define SL_TEXT_OF(number)       #number
#define SL_VERSION_TEXT(a, b, c) SL_TEXT_OF(a) "." SL_TEXT_OF(b) "." SL_TEXT_OF(c)
#define SL_USER_AGENT \
    "sluice/" SL_VERSION_TEXT(SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH)

struct sl_direct;

typedef struct sl_transfer {
    struct sl_engine_thread *thread;
    sl_exchange *exchange;
    struct sl_transfer *next, *before; /* of the active ones, or (next) of the spare ones */
    CURL *easy;
    struct sl_direct *direct; /* the connection of this transfer alone; NULL: libcurl's */
    /* Two more, for Content-Type and Expect, which libcurl would add. */
    struct curl_slist headers[SL_EXCHANGE_HEADERS + 2], connect_to;
    char connect_text[300];
    char range[48];
    uint64_t begun_ns, byte_ns; /* when it began; when its last byte arrived */
    uint32_t header_bytes;
    int refused; /* -errno that a callback ended it with; 0: none */
    uint64_t discarded;
    char error[CURL_ERROR_SIZE];
} sl_transfer;

typedef struct sl_engine_thread {
    const sl_curl_calls *calls;
    CURLM *multi;
    sl_thread thread;
    int epoll_fd, event_fd;
    char ca_file[1024]; /* certificates that its handles trust; "": the system's */
    CURLSH *share;      /* TLS sessions */
    sl_transfer *active, *spare;
    uint32_t spares;
    /* of engine_direct.c: resting connections, and all connections by their descriptors */
    struct sl_direct *resting_first, *resting_last;
    uint32_t resting, resting_most;
    struct sl_direct **directs;
    size_t directs_count;
    uint32_t trust; /* changes with ca_file */
    bool direct_http, direct_tls;
    uint64_t curl_timer_ns; /* UINT64_MAX: none */
    uint64_t idle_ns;       /* how long idle connections are kept */
    uint64_t idle_until_ns; /* when to close them; UINT64_MAX: some are in use, or none is left */
    uint64_t look_ns;       /* when to look for transfers that stall; UINT64_MAX: never */
    uint64_t window_ns, window_cpu_ns;

    pthread_mutex_t mutex;
    pthread_cond_t stopped;
    sl_exchange *queue_head, *queue_tail;
    sl_exchange *canceled;
    sl_engine_timer *timers_head, *timers_tail; /* by at_ns */
    bool sleeps;                                /* it waits for events: changes must wake it */
    bool ends, has_ended;

    _Atomic uint32_t load; /* exchanges it has; relaxed: only compared */
    _Atomic bool busy;     /* busy for most of the last second; relaxed: a hint */
} sl_engine_thread;

/* Starts a thread. Errors: NOMEM, IO (descriptors). */
sluice_status sl_engine_thread_open(sl_engine_thread **opened, const sl_curl_calls *calls,
                                    sluice_error *error);
void sl_engine_thread_add(sl_engine_thread *thread, sl_exchange *exchange);
void sl_engine_thread_cancel(sl_engine_thread *thread, sl_exchange *exchange);
void sl_engine_thread_add_timer(sl_engine_thread *thread, sl_engine_timer *timer);
/* Removes a timer. False: it is not set any more. */
bool sl_engine_thread_remove_timer(sl_engine_thread *thread, sl_engine_timer *timer);
/* Wakes the thread if it sleeps. Under its mutex. */
void sl_engine_thread_wake_locked(sl_engine_thread *thread);
/* For the process's exit: stops the thread within `wait_ns`, for good; its exchanges never call
 * done. */
void sl_engine_thread_end(sl_engine_thread *thread, uint64_t wait_ns);

/* ---- engine_transfer.c, on the thread ---- */

/* Returns a transfer for the exchange, ready for curl_multi_add_handle, or for sl_direct_begin
 * if it has a connection; not with `fresh`. NULL: exchange->failed and ->reason are set. */
sl_transfer *sl_transfer_begin(sl_engine_thread *thread, sl_exchange *exchange, bool fresh);
void sl_transfer_free(sl_transfer *transfer);
/* Fills in the answer; the transfer, or its connection, is spare afterwards. */
void sl_transfer_end(sl_transfer *transfer, CURLcode code);
/* Returns whether libcurl takes a proxy from the environment for the URL, no_proxy aside. */
bool sl_transfer_has_proxy(const char *url);

/* ---- engine_thread.c, on the thread ---- */

/* Ends the transfer and its exchange, whose done is called. `failed`: our own -errno, with
 * `reason`; 0: use libcurl's code. */
void sl_transfer_finish(sl_transfer *transfer, CURLcode code, int failed, const char *reason);
/* Ends the transfer, and begins its exchange again on a new connection. */
void sl_transfer_again(sl_transfer *transfer);

/* ---- engine_answer.c ---- */

/* libcurl's callbacks for the head and the body of an answer. */
size_t sl_answer_header(char *data, size_t size, size_t count, void *argument);
size_t sl_answer_body(char *data, size_t size, size_t count, void *argument);
/* Ends the transfer with an errno and a reason: the callback returns its error to libcurl. */
void sl_transfer_refuse(sl_transfer *transfer, int failed, const char *reason);
/* Clears the answer of an earlier start. */
void sl_answer_clear(sl_exchange *exchange);

/* ---- engine_address.c ---- */

/* True if the address (its text, of IPv4 or IPv6) is one of this machine, of a private network, or
 * otherwise not of a public server. */
bool sl_address_is_local(const char *address);
/* Returns the same for the host of a URL, if it is an address or "localhost". */
bool sl_address_url_is_local(const char *url);

#endif

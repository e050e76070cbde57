/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: the HTTP requests of the whole process, made by libcurl.
 *
 * Purpose: an exchange is one request and its answer, as plain data. The engine does not retry,
 * follows no redirect, and knows nothing of stores. It has threads of its own, each with a curl
 * multi handle, so that all readers share connections and none of them runs TLS. A second thread
 * starts once the first was busy for most of a second, and so on. HTTP/1.1 with keep-alive; ranges
 * are received without libcurl (engine_direct.h), which connects and checks certificates. The
 * body of a good answer goes straight into the caller's buffer; that of any other answer (a status
 * of 300 or more) into `problem`.
 * Threads: any thread calls the functions below. `done` and `tick` run on an engine thread, must
 * not block, and may call any of them except sl_engine_run.
 * Lock: one mutex a thread, for its queue of new exchanges, its timers, and cancels.
 * Ownership: an exchange, all it points to, and its buffer belong to the engine from start to done.
 * Invariants: done is called exactly once for each successful start; no byte is written behind
 * `capacity`.
 * Connections that were idle for 60 s are closed; a thread keeps at most 1,024 of them.
 * Limits: connecting ends after 10 s with ETIMEDOUT; a header block of more than 64 KiB ends the
 * exchange with EBADMSG.
 * After fork(): the child gets an engine of its own with its first request; the parent's exchanges
 * do not exist in it. At the process's exit the threads stop where they are.
 */
#ifndef SL_ENGINE_H
#define SL_ENGINE_H

#include "store.h"

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SL_PROBLEM_BYTES 1024U

typedef struct sl_exchange {
    /* ---- the request: borrowed until done ---- */
    const char *method;         /* NULL: GET, or POST when there is a body */
    const char *url;            /* "https://host[:port]/path?query", escaped */
    const char *const *headers; /* "Name: value" */
    uint32_t header_count;      /* at most 12 */
    const void *body;
    size_t body_bytes;
    const char *address; /* "HOST:PORT" to connect to instead of the URL's (a cache node); NULL: the
                            URL's */
    bool refuses_local;  /* the URL came from a redirect: an address that is not public ends the
                            exchange with EPERM */
    uint64_t first, last; /* of the Range header, inclusive */
    bool has_bytes;       /* a Range header is sent */
    uint8_t *buffer;      /* the body; a longer one ends the exchange with EFBIG */
    size_t capacity;
    uint64_t stall_ns; /* longest time without a byte; 0: 30 s */
    uint64_t limit_ns; /* longest time in all; 0: any */

    /* ---- the answer ---- */
    int status; /* of HTTP; 0: none came */
    int failed; /* 0, or -errno: ETIMEDOUT, ECONNREFUSED, ECONNRESET, EHOSTUNREACH (DNS),
                   EKEYREJECTED (certificate), EPERM, EFBIG, EBADMSG, ECANCELED, EMFILE, ENOMEM */
    size_t got; /* bytes in buffer */
    uint64_t range_first, range_last, total; /* Content-Range; total UINT64_MAX: unknown */
    bool has_range;
    bool from_local;       /* the server's address is not public */
    int64_t length;        /* Content-Length; -1: unknown */
    char etag[128];        /* as sent, with its quotes; "": none */
    char linked_etag[128]; /* X-Linked-ETag */
    uint64_t linked_size;  /* X-Linked-Size; UINT64_MAX: none */
    char content_type[64];
    char content_encoding[32];
    char region[64];              /* x-amz-bucket-region */
    char link[1024];              /* Link, rel="next" */
    char *location;               /* Location; sl_exchange_free frees it; NULL: none */
    int64_t date_s, modified_s;   /* Date, Last-Modified, seconds since 1970; 0: none */
    int64_t retry_after_s;        /* Retry-After; -1: none */
    char reason[SL_REASON_BYTES]; /* `failed` in words, without secrets; "": none */
    /* The first bytes of the body of a status of 300 or more, with a NUL behind them. */
    char problem[SL_PROBLEM_BYTES];
    size_t problem_bytes;
    uint64_t first_byte_ns, total_ns; /* since sent_at_ns */
    uint64_t sent_at_ns;              /* when the connection was ready; start, until then */

    void (*done)(struct sl_exchange *exchange);
    void *ctx;

    /* ---- the engine's: all zero before the first start ---- */
    struct sl_engine_thread *thread;
    struct sl_transfer *transfer;
    struct sl_exchange *next, *next_canceled;
    bool active, canceled;
} sl_exchange;

/* Errors: UNSUPPORTED (libcurl is missing), NOMEM; then done is not called. */
sluice_status sl_engine_start(sl_exchange *exchange, sluice_error *error);
/* Ends the exchange soon: done is called with ECANCELED, or with an earlier result. Does
 * nothing after done. The caller keeps the exchange's memory valid during the call. */
void sl_engine_cancel(sl_exchange *exchange);
/* Starts the exchange and blocks until it is done, under the thread's stop (stop.h), which ends it
 * with ECANCELED. */
sluice_status sl_engine_run(sl_exchange *exchange, sluice_error *error);
/* Frees what the answer owns; the exchange may be started again. */
void sl_exchange_free(sl_exchange *exchange);

/* A call of `tick` on an engine thread, once, for delayed tries and hedging. All zero at first. */
typedef struct sl_engine_timer {
    void (*tick)(struct sl_engine_timer *timer);
    void *ctx;
    /* ---- the engine's ---- */
    uint64_t at_ns;
    struct sl_engine_thread *thread;
    struct sl_engine_timer *next, *before;
    bool set;
} sl_engine_timer;
/* Sets a timer that is not set. Errors: as sl_engine_start. */
sluice_status sl_engine_after(sl_engine_timer *timer, uint64_t after_ns, sluice_error *error);
/* Cancels a timer. True: it will not tick. False: it has ticked, or is ticking right now. */
bool sl_engine_forget(sl_engine_timer *timer);

/* Returns the number of engine threads of this process, and its maximum (tests set it, before
 * the first start of a process; 0: as many as there are CPUs, at most 8). */
uint32_t sl_engine_threads(void);
void sl_engine_set_threads(uint32_t least, uint32_t most);
/* Sets how long a thread without requests keeps its connections (tests call it, before the first
 * start of a process; 60 s by default). */
void sl_engine_set_idle(uint64_t idle_ns);
uint64_t sl_engine_idle_ns(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts: what this process knows about each server: how fast it answers, how many requests it can
 * serve, and whether it is dead.
 *
 * Purpose, for each host:
 *  - a window: the most requests in flight. It grows by one with each good answer until the server
 *    is busy for the first time, then by one a window of good answers (AIMD), up to the limit of
 *    connections. It halves on 503, 429 and SlowDown, at most once a round trip, never below 4. Of
 *    a host that has answered within 1 ms it is at most 32, unless half of its answers take more
 *    than 100 ms: more connections there only cost their TLS handshakes.
 *  - latencies: times to the first byte in a histogram of factors of 2^(1/4) from 64 us to 2 min.
 *    Old ones fade: all counts halve when there are 4096.
 *  - the bandwidth of a connection, the clock's skew, and a budget of hedges: a twentieth of the
 *    requests, and down to a hundredth where few of them win.
 *  - for cache nodes, whether the node is dead: it gets no request for 5 s, doubling to 60 s.
 * Threads: any. Lock: one mutex for all hosts, held for some instructions. Memory: 1 KiB a host.
 * Ownership: hosts are kept until the process ends; from the 256th on, all share one. A child of
 * fork() starts with no hosts, and must not use the parent's.
 */
#ifndef SL_HOSTS_H
#define SL_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sl_host sl_host;

/* Finds a host by "host[:port]". NULL: no memory. */
sl_host *sl_host_find(const char *name);
/* Returns the most connections that the limit of open files (ulimit -n) allows: a quarter of it. */
uint32_t sl_host_connections_most(void);
/* Sets the window's limit, which is 256 at first; the limit of open files may lower it. */
void sl_host_set_most(sl_host *host, uint32_t connections);

/* Takes a slot in the window. True: the caller has a slot, until sl_host_ended. False: `call`
 * gives it one later, on a thread that calls sl_host_ended. */
typedef struct sl_host_waiter {
    void (*call)(struct sl_host_waiter *waiter);
    void *ctx;
    /* ---- the module's ---- */
    struct sl_host_waiter *next;
    bool queued;
} sl_host_waiter;
bool sl_host_enter(sl_host *host, sl_host_waiter *waiter);
/* Takes a slot regardless of the window: for requests that cannot wait. */
void sl_host_enter_now(sl_host *host);
/* Leaves the queue. False: `call` was called, or is being called, with a slot. */
bool sl_host_leave_queue(sl_host *host, sl_host_waiter *waiter);

typedef enum sl_host_end {
    SL_HOST_GOOD,
    SL_HOST_BUSY,
    SL_HOST_FAILED,
    SL_HOST_CANCELED
} sl_host_end;
typedef struct sl_host_times {
    uint64_t sent_at_ns, first_byte_ns, total_ns; /* as of sl_exchange */
    uint64_t bytes;
} sl_host_times;
/* Releases a slot, and reports how the request ended. May call waiters. */
void sl_host_ended(sl_host *host, sl_host_end end, const sl_host_times *times);

/* Returns whether a second request may be sent for one that is late. True: it has a slot in the
 * window and is charged to the budget. */
bool sl_host_may_hedge(sl_host *host);
/* Returns when a request for so many bytes is late: after the p95 to the first byte (at least twice
 * the p50, and 20 ms), and twice as long as a connection needs for the bytes. 0: unknown (fewer
 * than 50 answers). */
uint64_t sl_host_hedge_after_ns(sl_host *host, uint64_t bytes);

void sl_host_set_clock(sl_host *host, int64_t server_s);
/* Returns the server's clock minus this machine's; 0 unless it was set. */
int64_t sl_host_clock_skew_s(sl_host *host);

/* Returns true if a node should get no request. After the time is over, returns false for one
 * caller, whose request tests whether the node is alive; the others wait for its result. */
bool sl_host_is_dead(sl_host *host);
void sl_host_found_dead(sl_host *host);

/* Returns the largest gap between two wanted ranges that is cheaper to read than a second
 * request: latency times a connection's bandwidth, at most 8 MiB. */
uint64_t sl_host_gap_bytes(sl_host *host);
uint32_t sl_host_window(sl_host *host);

typedef enum sl_host_count {
    SL_HOST_RETRIED,
    SL_HOST_HEDGES_WON,
    SL_HOST_STALLED,
    SL_HOST_LISTS, /* of the requests, those for a page of a listing */
    SL_HOST_COUNTS
} sl_host_count;
/* Adds one to a counter of the statistics. Requests, hedges, busy and failed ones are counted by
 * the functions above. */
void sl_host_add(sl_host *host, sl_host_count count);

typedef struct sl_host_stats {
    char host[256];
    uint64_t requests, lists, bytes, retried, hedged, hedges_won, busy, failed, stalled;
    uint64_t p50_ns, p95_ns, p99_ns; /* 0: no answer yet */
    uint32_t window, flying;
} sl_host_stats;
/* Writes up to `capacity` entries; returns the number of hosts. */
uint32_t sl_hosts_get_stats(sl_host_stats *stats, uint32_t capacity);

#endif

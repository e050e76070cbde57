/* SPDX-License-Identifier: Apache-2.0 */
/* hosts: a table of servers under one mutex. Waiters are called without it. */
#include "hosts.h"

#include "clock.h"
#include "fork.h"
#include "memory.h"
#include "minmax.h"
#include "thread.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

#define S UINT64_C(1000000000)

#define BINS            84
#define BIN_FIRST_NS    64000.0
#define BINS_A_DOUBLING 4
#define ANSWERS_MOST    4096U
#define ANSWERS_LEAST   50U
#define QUANTILE_EVERY  16U /* answers between two updates of the p95 */

#define WINDOW_FIRST 128.0
#define WINDOW_LEAST 4.0
#define MOST_DEFAULT 256U

/* Maximum window of a host that has answered within a millisecond, unless most of its answers
 * are slow, like those from a disk: it needs few connections. Our own queues are shorter than
 * that. */
#define WINDOW_NEAR  32U
#define NEAR_NS      UINT64_C(1000000)
#define NEAR_SLOW_NS UINT64_C(100000000)
#define NEAR_EVERY   16U /* answers between two checks */

/* The rest of the process keeps three quarters of the descriptors. */
#define DESCRIPTORS_SHARE 4
#define LIMIT_HOLDS_NS    S

#define HEDGE_SHARE     0.05
#define HEDGE_SAVED     20.0 /* hedges at a time, after a calm period */
#define HEDGES_TRUSTED  10U  /* assumed wins before the first hedge */
#define HEDGES_RECENT   64U
#define HEDGE_LEAST_NS  UINT64_C(20000000) /* a loser takes its connection with it */
#define DEAD_FIRST_NS   (5 * S)
#define DEAD_MOST_NS    (60 * S)
#define TRIED_NS        (25 * S)             /* longer than connecting and waiting for an answer */
#define BODY_LEAST      (UINT64_C(64) << 10) /* shorter bodies do not measure bandwidth */
#define BODY_LATE       2.0                  /* times the usual duration of a body */
#define BANDWIDTH_SHARE 0.1                  /* weight of a new sample in the average */
#define GAP_MOST        (UINT64_C(8) << 20)

enum { HOSTS_KEPT = 256 };

struct sl_host {
    struct hosts_table *table;
    char name[256];
    double window, hedges;             /* hedges: the budget left */
    uint32_t hedges_tried, hedges_won; /* recent ones: both halve together */
    uint32_t most, flying;
    uint32_t connections; /* that `most` was computed for at set_ns */
    uint64_t set_ns;
    bool was_busy, is_near;
    uint32_t good;     /* good answers; near: counted for some of them */
    uint64_t least_ns; /* to a first byte; 0: no answer yet */
    uint64_t halved_ns;
    uint32_t bins[BINS], answers, looked_at; /* looked_at: answers at the last update of the p95 */
    uint64_t late_ns;                        /* when to hedge; 0: unknown */
    double bytes_per_ns;
    int64_t skew_s;
    uint64_t dead_until_ns, dead_for_ns;
    uint64_t tried_until_ns; /* until then, one request tests whether it is alive; 0: none */
    uint64_t requests, bytes, hedged, busy, failed, counts[SL_HOST_COUNTS];
    sl_host_waiter *first, *last;
};

typedef struct hosts_table {
    uint64_t forks;
    pthread_mutex_t mutex;
    sl_host *hosts[HOSTS_KEPT]; /* under mutex; existing ones never change */
    uint32_t count;
} hosts_table;

/* Acquire and release: the table is whole when its pointer is seen. */
static _Atomic(hosts_table *) the_hosts;

/* Returns this process's table; in a child of fork(), a thread of the parent may hold the
 * parent's mutex. */
static hosts_table *hosts_get(void)
{
    const uint64_t forks = sl_fork_count();
    /* Acquires the table that the exchange below released. */
    hosts_table *table = atomic_load_explicit(&the_hosts, memory_order_acquire);
    if (table != NULL && table->forks == forks) {
        return table;
    }
    hosts_table *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->forks = forks;
    sl_mutex_init(&made->mutex);
    /* Releases the table that was made; acquires another thread's. */
    if (!atomic_compare_exchange_strong_explicit(&the_hosts, &table, made, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        sl_mutex_destroy(&made->mutex);
        sl_free(made);
        return table;
    }
    return made;
}

static sl_host *host_find_locked(const hosts_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (strcasecmp(table->hosts[i]->name, name) == 0) {
            return table->hosts[i];
        }
    }
    return table->count == HOSTS_KEPT ? table->hosts[HOSTS_KEPT - 1] : NULL;
}

sl_host *sl_host_find(const char *name)
{
    hosts_table *table = hosts_get();
    if (table == NULL) {
        return NULL;
    }
    sl_lock(&table->mutex);
    sl_host *host = host_find_locked(table, name);
    if (host == NULL) {
        host = sl_calloc(1, sizeof(*host));
        if (host != NULL) {
            host->table = table;
            host->window = WINDOW_FIRST;
            host->most = MOST_DEFAULT;
            (void)snprintf(host->name, sizeof(host->name), "%s",
                           table->count < HOSTS_KEPT - 1 ? name : "other hosts");
            table->hosts[table->count++] = host;
        }
    }
    sl_unlock(&table->mutex);
    return host;
}

uint32_t sl_host_connections_most(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / DESCRIPTORS_SHARE > UINT32_MAX) {
        return UINT32_MAX;
    }
    return sl_max_u32((uint32_t)(limit.rlim_cur / DESCRIPTORS_SHARE), (uint32_t)WINDOW_LEAST);
}

void sl_host_set_most(sl_host *host, uint32_t connections)
{
    const uint64_t now = sl_now_ns();
    sl_lock(&host->table->mutex);
    /* runs for each request, and the limit of open files hardly ever changes */
    if (host->connections != connections || now - host->set_ns > LIMIT_HOLDS_NS) {
        host->connections = connections;
        host->set_ns = now;
        host->most = sl_min_u32(connections, sl_host_connections_most());
    }
    sl_unlock(&host->table->mutex);
}

/* ---- latencies ---- */

static uint32_t bin_of(uint64_t ns)
{
    const double doublings = log2((double)ns / BIN_FIRST_NS);
    const double bin = floor(doublings * BINS_A_DOUBLING) + 1;
    return ns == 0 || bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (uint32_t)bin;
}

/* Returns the upper end of the quantile's bin; 0: no answer yet. */
static uint64_t quantile_locked(const sl_host *host, double share)
{
    const double wanted = share * host->answers;
    double seen = 0;
    for (uint32_t i = 0; i < BINS && host->answers > 0; i++) {
        seen += host->bins[i];
        if (seen >= wanted) {
            return (uint64_t)(BIN_FIRST_NS * exp2((double)i / BINS_A_DOUBLING));
        }
    }
    return 0;
}

static void note_latency_locked(sl_host *host, const sl_host_times *times)
{
    host->bins[bin_of(times->first_byte_ns)]++;
    if (++host->answers >= ANSWERS_MOST) {
        host->answers = 0;
        for (uint32_t i = 0; i < BINS; i++) {
            host->bins[i] /= 2;
            host->answers += host->bins[i];
        }
        host->looked_at = 0;
    }
    if (times->bytes >= BODY_LEAST && times->total_ns > times->first_byte_ns) {
        const double sample =
            (double)times->bytes / (double)(times->total_ns - times->first_byte_ns);
        host->bytes_per_ns =
            host->bytes_per_ns > 0
                ? host->bytes_per_ns + (sample - host->bytes_per_ns) * BANDWIDTH_SHARE
                : sample;
    }
}

uint64_t sl_host_hedge_after_ns(sl_host *host, uint64_t bytes)
{
    sl_lock(&host->table->mutex);
    if (host->answers >= ANSWERS_LEAST &&
        (host->late_ns == 0 || host->answers >= host->looked_at + QUANTILE_EVERY)) {
        const uint64_t double_ns = 2 * quantile_locked(host, 0.5);
        host->late_ns = sl_max_u64(quantile_locked(host, 0.95), double_ns);
        host->late_ns = sl_max_u64(host->late_ns, HEDGE_LEAST_NS);
        host->looked_at = host->answers;
    }
    uint64_t after_ns = host->late_ns;
    if (after_ns != 0 && host->bytes_per_ns > 0) {
        after_ns += (uint64_t)(BODY_LATE * (double)bytes / host->bytes_per_ns);
    }
    sl_unlock(&host->table->mutex);
    return after_ns;
}

uint64_t sl_host_gap_bytes(sl_host *host)
{
    sl_lock(&host->table->mutex);
    const double bytes = (double)quantile_locked(host, 0.5) * host->bytes_per_ns;
    sl_unlock(&host->table->mutex);
    return bytes < (double)GAP_MOST ? (uint64_t)bytes : GAP_MOST;
}

/* ---- the window ---- */

static uint32_t window_locked(const sl_host *host)
{
    const uint32_t window = sl_min_u32((uint32_t)host->window, sl_max_u32(host->most, 1));
    return host->is_near ? sl_min_u32(window, WINDOW_NEAR) : window;
}

/* Returns the fraction of requests that may be hedged. Hedges do not speed up a server that is
 * slow because it, or this machine, is busy: if fewer than half of them win, fewer are sent. */
static double hedge_share_locked(const sl_host *host)
{
    const double useful =
        (2.0 * host->hedges_won + HEDGES_TRUSTED) / ((double)host->hedges_tried + HEDGES_TRUSTED);
    return HEDGE_SHARE * fmin(useful, 1);
}

static void enter_locked(sl_host *host)
{
    host->flying++;
    host->requests++;
    host->hedges = fmin(host->hedges + hedge_share_locked(host), HEDGE_SAVED);
}

bool sl_host_enter(sl_host *host, sl_host_waiter *waiter)
{
    sl_lock(&host->table->mutex);
    const bool enters = host->first == NULL && host->flying < window_locked(host);
    if (enters) {
        enter_locked(host);
    } else {
        waiter->next = NULL;
        waiter->queued = true;
        if (host->last != NULL) {
            host->last->next = waiter;
        } else {
            host->first = waiter;
        }
        host->last = waiter;
    }
    sl_unlock(&host->table->mutex);
    return enters;
}

void sl_host_enter_now(sl_host *host)
{
    sl_lock(&host->table->mutex);
    enter_locked(host);
    sl_unlock(&host->table->mutex);
}

bool sl_host_leave_queue(sl_host *host, sl_host_waiter *waiter)
{
    sl_lock(&host->table->mutex);
    const bool queued = waiter->queued;
    sl_host_waiter *before = NULL;
    for (sl_host_waiter *at = host->first; queued && at != NULL; before = at, at = at->next) {
        if (at == waiter) {
            *(before != NULL ? &before->next : &host->first) = at->next;
            host->last = host->last == at ? before : host->last;
            break;
        }
    }
    waiter->queued = false;
    sl_unlock(&host->table->mutex);
    return queued;
}

static sl_host_waiter *take_waiter_locked(sl_host *host)
{
    sl_host_waiter *waiter = host->first;
    if (waiter == NULL || host->flying >= window_locked(host)) {
        return NULL;
    }
    host->first = waiter->next;
    host->last = host->first == NULL ? NULL : host->last;
    waiter->queued = false;
    enter_locked(host);
    return waiter;
}

static void note_distance_locked(sl_host *host, const sl_host_times *times)
{
    const uint64_t ns = sl_max_u64(times->first_byte_ns, 1);
    host->least_ns = host->least_ns == 0 ? ns : sl_min_u64(host->least_ns, ns);
    if (host->good++ % NEAR_EVERY == 0) {
        host->is_near = host->least_ns < NEAR_NS && quantile_locked(host, 0.5) < NEAR_SLOW_NS;
    }
}

static void note_good_locked(sl_host *host, const sl_host_times *times)
{
    note_latency_locked(host, times);
    note_distance_locked(host, times);
    host->dead_until_ns = host->dead_for_ns = host->tried_until_ns = 0;
    /* a window that is not full was not tested */
    if (host->flying >= window_locked(host)) {
        const double more = host->was_busy ? 1 / host->window : 1;
        host->window = fmin(host->window + more, fmax(host->most, WINDOW_LEAST));
    }
}

static void note_busy_locked(sl_host *host, const sl_host_times *times)
{
    host->busy++;
    host->was_busy = true;
    /* requests sent before the last halving add no information */
    if (times->sent_at_ns >= host->halved_ns) {
        host->halved_ns = sl_now_ns();
        host->window = fmax(fmin(host->window, host->flying) / 2, WINDOW_LEAST);
    }
}

void sl_host_ended(sl_host *host, sl_host_end end, const sl_host_times *times)
{
    sl_lock(&host->table->mutex);
    if (end == SL_HOST_GOOD) {
        note_good_locked(host, times);
    } else if (end == SL_HOST_BUSY) {
        note_busy_locked(host, times);
    }
    host->failed += end == SL_HOST_FAILED ? 1 : 0;
    host->bytes += times->bytes;
    assert(host->flying > 0);
    host->flying--;
    for (sl_host_waiter *waiter = take_waiter_locked(host); waiter != NULL;
         waiter = take_waiter_locked(host)) {
        sl_unlock(&host->table->mutex);
        waiter->call(waiter);
        sl_lock(&host->table->mutex);
    }
    sl_unlock(&host->table->mutex);
}

uint32_t sl_host_window(sl_host *host)
{
    sl_lock(&host->table->mutex);
    const uint32_t window = window_locked(host);
    sl_unlock(&host->table->mutex);
    return window;
}

bool sl_host_may_hedge(sl_host *host)
{
    sl_lock(&host->table->mutex);
    const bool may = host->hedges >= 1 && host->flying < window_locked(host);
    if (may) {
        host->hedges -= 1;
        host->hedged++;
        if (++host->hedges_tried >= HEDGES_RECENT) {
            host->hedges_tried /= 2;
            host->hedges_won /= 2;
        }
        host->flying++;
        host->requests++;
    }
    sl_unlock(&host->table->mutex);
    return may;
}

/* ---- clocks, dead nodes ---- */

void sl_host_set_clock(sl_host *host, int64_t server_s)
{
    sl_lock(&host->table->mutex);
    host->skew_s = server_s - (int64_t)time(NULL);
    sl_unlock(&host->table->mutex);
}

int64_t sl_host_clock_skew_s(sl_host *host)
{
    sl_lock(&host->table->mutex);
    const int64_t skew_s = host->skew_s;
    sl_unlock(&host->table->mutex);
    return skew_s;
}

bool sl_host_is_dead(sl_host *host)
{
    const uint64_t now = sl_now_ns();
    sl_lock(&host->table->mutex);
    const bool dead = host->dead_until_ns > now || host->tried_until_ns > now;
    if (!dead && host->dead_for_ns != 0) {
        host->tried_until_ns = now + TRIED_NS;
    }
    sl_unlock(&host->table->mutex);
    return dead;
}

void sl_host_found_dead(sl_host *host)
{
    const uint64_t now = sl_now_ns();
    sl_lock(&host->table->mutex);
    host->tried_until_ns = 0;
    if (host->dead_until_ns <= now) { /* all requests in flight find out at once */
        host->dead_for_ns = host->dead_for_ns == 0
                                ? DEAD_FIRST_NS
                                : sl_min_u64(2 * host->dead_for_ns, DEAD_MOST_NS);
        host->dead_until_ns = now + host->dead_for_ns;
    }
    sl_unlock(&host->table->mutex);
}

/* ---- statistics ---- */

void sl_host_add(sl_host *host, sl_host_count count)
{
    sl_lock(&host->table->mutex);
    host->counts[count]++;
    host->hedges_won += count == SL_HOST_HEDGES_WON ? 1 : 0;
    sl_unlock(&host->table->mutex);
}

static void stats_fill_locked(sl_host_stats *stats, const sl_host *host)
{
    *stats = (sl_host_stats){.requests = host->requests,
                             .lists = host->counts[SL_HOST_LISTS],
                             .bytes = host->bytes,
                             .retried = host->counts[SL_HOST_RETRIED],
                             .hedged = host->hedged,
                             .hedges_won = host->counts[SL_HOST_HEDGES_WON],
                             .busy = host->busy,
                             .failed = host->failed,
                             .stalled = host->counts[SL_HOST_STALLED],
                             .p50_ns = quantile_locked(host, 0.5),
                             .p95_ns = quantile_locked(host, 0.95),
                             .p99_ns = quantile_locked(host, 0.99),
                             .window = window_locked(host),
                             .flying = host->flying};
    (void)snprintf(stats->host, sizeof(stats->host), "%s", host->name);
}

uint32_t sl_hosts_get_stats(sl_host_stats *stats, uint32_t capacity)
{
    hosts_table *table = hosts_get();
    if (table == NULL) {
        return 0;
    }
    sl_lock(&table->mutex);
    const uint32_t count = table->count;
    for (uint32_t i = 0; i < count && i < capacity; i++) {
        stats_fill_locked(&stats[i], table->hosts[i]);
    }
    sl_unlock(&table->mutex);
    return count;
}

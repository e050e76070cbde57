/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the knowledge about servers. */
#include "clock.h"
#include "curl_library.h"
#include "engine.h"
#include "hosts.h"
#include "test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MS UINT64_C(1000000)

static _Atomic uint64_t passed_ns; /* added to the clock */

uint64_t __real_sl_now_ns(void);
uint64_t __wrap_sl_now_ns(void);

uint64_t __wrap_sl_now_ns(void)
{
    return __real_sl_now_ns() + atomic_load(&passed_ns);
}

static void unexpected(sl_host_waiter *waiter)
{
    (void)waiter;
    fail();
}

static void end_good(sl_host *host, uint64_t first_ns, uint64_t bytes)
{
    sl_host_ended(host, SL_HOST_GOOD,
                  &(sl_host_times){.sent_at_ns = sl_now_ns(),
                                   .first_byte_ns = first_ns,
                                   .total_ns = first_ns + 1 * MS,
                                   .bytes = bytes});
}

/* Takes all slots of the window. Returns their number. */
static uint32_t fill(sl_host *host)
{
    uint32_t taken = 0;
    sl_host_waiter waiter = {.call = unexpected};
    while (sl_host_enter(host, &waiter)) {
        taken++;
    }
    assert_true(sl_host_leave_queue(host, &waiter));
    assert_false(sl_host_leave_queue(host, &waiter));
    return taken;
}

static void end_all(sl_host *host, uint32_t count, sl_host_end end)
{
    for (uint32_t i = 0; i < count; i++) {
        sl_host_ended(host, end, &(sl_host_times){.sent_at_ns = 1});
    }
}

/* No other test here needs libcurl, so this one is the first to look for it. */
TEST(libcurl_is_missing)
{
    const sl_curl_calls *calls;
    sluice_error error;
    assert_int_equal(setenv("SLUICE_LIBCURL", "/nonexistent/libcurl.so.4", 1), 0);
    assert_int_equal(sl_curl_library(&calls, &error), SLUICE_UNSUPPORTED);
    assert_null(calls);
    assert_non_null(strstr(error.text, "libcurl"));
    sl_exchange exchange = {.url = "http://127.0.0.1:1/"};
    assert_int_equal(sl_engine_start(&exchange, &error), SLUICE_UNSUPPORTED);
    assert_int_equal(sl_engine_threads(), 0);
}

TEST(names)
{
    sl_host *host = sl_host_find("names.example:80");
    assert_ptr_equal(host, sl_host_find("names.example:80"));
    assert_ptr_equal(host, sl_host_find("Names.Example:80"));
    assert_ptr_not_equal(host, sl_host_find("names.example:81"));
}

TEST(window_grows_and_halves)
{
    sl_host *host = sl_host_find("window");
    sl_host_set_most(host, 200);
    const uint32_t first = sl_host_window(host);
    assert_int_equal(fill(host), first);
    for (uint32_t i = 0; i < first; i++) {
        end_good(host, 5 * MS, 0);
    }
    /* only requests that ended while the window was full suggest that it may grow */
    assert_int_equal(sl_host_window(host), first + 1);

    for (uint32_t i = 0; i < 500; i++) { /* each ends while the window is full */
        const uint32_t taken = fill(host);
        end_good(host, 5 * MS, 0);
        end_all(host, taken - 1, SL_HOST_CANCELED);
    }
    assert_int_equal(sl_host_window(host), 200);

    uint32_t taken = fill(host);
    end_all(host, taken, SL_HOST_BUSY); /* sent together: halved once */
    assert_int_equal(sl_host_window(host), 100);
    for (uint32_t i = 0; i < 20; i++) {
        taken = fill(host);
        sl_host_ended(host, SL_HOST_BUSY, &(sl_host_times){.sent_at_ns = sl_now_ns()});
        end_all(host, taken - 1, SL_HOST_CANCELED);
    }
    assert_int_equal(sl_host_window(host), 4);

    /* after that, one more per window of good responses */
    for (uint32_t i = 0; i < 4 + 5; i++) {
        taken = fill(host);
        end_good(host, 5 * MS, 0);
        end_all(host, taken - 1, SL_HOST_CANCELED);
    }
    assert_in_range(sl_host_window(host), 5, 6);
}

/* Connections to a near host cost more than they gain, until its responses are slow. */
TEST(window_of_a_near_host_is_small)
{
    sl_host *host = sl_host_find("near");
    sl_host_set_most(host, 256);
    assert_int_equal(sl_host_window(host), 128);
    sl_host_enter_now(host);
    end_good(host, MS / 2, 0);
    assert_int_equal(sl_host_window(host), 32);
    for (uint32_t i = 0; i < 200; i++) {
        sl_host_enter_now(host);
        end_good(host, 20 * MS, 0); /* it waits for our requests */
    }
    assert_int_equal(sl_host_window(host), 32);
    for (uint32_t i = 0; i < 300; i++) {
        sl_host_enter_now(host);
        end_good(host, 200 * MS, 0); /* it waits for a disk */
    }
    assert_in_range(sl_host_window(host), 128, 256);
}

static uint32_t called;

static void count_call(sl_host_waiter *waiter)
{
    assert_int_equal(*(uint32_t *)waiter->ctx, called++);
}

TEST(waiters_are_called_in_order)
{
    sl_host *host = sl_host_find("waiters");
    enum { WAITERS = 10 };
    sl_host_waiter waiters[WAITERS];
    uint32_t numbers[WAITERS];
    const uint32_t taken = fill(host);
    for (uint32_t i = 0; i < WAITERS; i++) {
        numbers[i] = i < 3 ? i : i - 1;
        waiters[i] = (sl_host_waiter){.call = count_call, .ctx = &numbers[i]};
        assert_false(sl_host_enter(host, &waiters[i]));
    }
    assert_true(sl_host_leave_queue(host, &waiters[3]));
    end_all(host, taken, SL_HOST_CANCELED);
    assert_int_equal(called, WAITERS - 1);
    assert_false(sl_host_leave_queue(host, &waiters[0]));
    end_all(host, WAITERS - 1, SL_HOST_CANCELED);
    const uint32_t again = fill(host);
    assert_int_equal(again, taken);
    end_all(host, again, SL_HOST_CANCELED);
}

static sl_host_stats stats_of(const char *name)
{
    static sl_host_stats stats[256];
    const uint32_t count = sl_hosts_get_stats(stats, 256);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(stats[i].host, name) == 0) {
            return stats[i];
        }
    }
    fail();
    return stats[0];
}

TEST(latencies)
{
    sl_host *host = sl_host_find("latencies");
    sl_host_waiter waiter = {.call = unexpected};
    for (uint32_t i = 1; i <= 1000; i++) { /* 0.1 ms to 100 ms, evenly spaced */
        if (i == 50) {
            assert_int_equal(sl_host_hedge_after_ns(host, 1 << 20), 0);
        }
        assert_true(sl_host_enter(host, &waiter));
        end_good(host, i * (MS / 10), 1 << 20);
    }
    /* a bin spans a factor of 2^(1/4): quantiles are its upper end */
    const sl_host_stats stats = stats_of("latencies");
    assert_in_range(stats.p50_ns, 50 * MS, 60 * MS);
    assert_in_range(stats.p95_ns, 95 * MS, 113 * MS);
    assert_in_range(stats.p99_ns, 99 * MS, 118 * MS);
    assert_in_range(sl_host_hedge_after_ns(host, 0), 90 * MS, 119 * MS);
    assert_in_range(sl_host_hedge_after_ns(host, 10 << 20), 110 * MS, 139 * MS);
    assert_int_equal(stats.requests, 1000);
    assert_int_equal(stats.bytes, 1000ULL << 20);
    /* 1 MiB per ms for 50 ms, limited to 8 MiB */
    assert_int_equal(sl_host_gap_bytes(host), 8 << 20);

    sl_host *slow = sl_host_find("slow");
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(sl_host_enter(slow, &waiter));
        end_good(slow, 1 * MS, 100000);
    }
    assert_in_range(sl_host_gap_bytes(slow), 100000, 119000);
    for (uint32_t i = 0; i < 4; i++) { /* the average moves by a tenth of the difference */
        assert_true(sl_host_enter(slow, &waiter));
        end_good(slow, 1 * MS, 200000);
    }
    assert_in_range(sl_host_gap_bytes(slow), 134000, 161000);
}

/* Hedges for `requests` that are all late. Every `wins`th hedge wins (0: none). */
static uint32_t hedge_all(const char *name, uint32_t requests, uint32_t wins)
{
    sl_host *host = sl_host_find(name);
    sl_host_waiter waiter = {.call = unexpected};
    const uint64_t before = stats_of(name).hedged;
    uint32_t hedged = 0;
    for (uint32_t i = 0; i < requests; i++) {
        assert_true(sl_host_enter(host, &waiter));
        if (sl_host_may_hedge(host)) {
            hedged++;
            if (wins != 0 && hedged % wins == 0) {
                sl_host_add(host, SL_HOST_HEDGES_WON);
            }
            end_good(host, 5 * MS, 0);
        }
        end_good(host, 5 * MS, 0);
    }
    assert_int_equal(stats_of(name).hedged - before, hedged);
    return hedged;
}

/* A twentieth of the requests, regardless of how many are late. */
TEST(hedges_have_a_budget)
{
    assert_in_range(hedge_all("hedges", 2000, 1), 90, 100);
    assert_in_range(hedge_all("half of them win", 2000, 2), 80, 100);
}

TEST(hedges_that_never_win_are_few)
{
    const char *host = "late for another reason";
    (void)hedge_all(host, 2000, 0);
    assert_in_range(hedge_all(host, 2000, 0), 10, 25);
    /* once hedges win, the budget recovers */
    (void)hedge_all(host, 2000, 1);
    assert_in_range(hedge_all(host, 2000, 1), 90, 100);
}

/* Reads waiting for a node that drops packets would otherwise wait as long as its timeout. */
TEST(one_request_finds_out_whether_a_node_lives)
{
    sl_host *host = sl_host_find("node:2");
    sl_host_waiter waiter = {.call = unexpected};
    sl_host_found_dead(host);
    passed_ns += 4900 * MS;
    assert_true(sl_host_is_dead(host));
    passed_ns += 200 * MS;
    assert_false(sl_host_is_dead(host));
    assert_true(sl_host_is_dead(host));
    sl_host_found_dead(host); /* for 10 s now */
    passed_ns += 9900 * MS;
    assert_true(sl_host_is_dead(host));
    passed_ns += 200 * MS;
    assert_false(sl_host_is_dead(host));
    assert_true(sl_host_is_dead(host));
    passed_ns += 25000 * MS; /* the earlier one was canceled */
    assert_false(sl_host_is_dead(host));
    assert_true(sl_host_enter(host, &waiter));
    end_good(host, 1 * MS, 0);
    assert_false(sl_host_is_dead(host));
    assert_false(sl_host_is_dead(host));
}

TEST(dead_nodes)
{
    sl_host *host = sl_host_find("node:1");
    sl_host_waiter waiter = {.call = unexpected};
    assert_false(sl_host_is_dead(host));
    sl_host_found_dead(host);
    sl_host_found_dead(host);
    assert_true(sl_host_is_dead(host));
    assert_true(sl_host_enter(host, &waiter));
    end_good(host, 1 * MS, 0); /* it responds */
    assert_false(sl_host_is_dead(host));
}

TEST(clocks)
{
    sl_host *host = sl_host_find("clock");
    assert_int_equal(sl_host_clock_skew_s(host), 0);
    sl_host_set_clock(host, (int64_t)time(NULL) - 1200);
    assert_in_range(-sl_host_clock_skew_s(host), 1199, 1201);
}

/* A quarter of the descriptors. */
TEST(open_files)
{
    struct rlimit before;
    sl_host *host = sl_host_find("files");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit small = {.rlim_cur = 40, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
    sl_host_set_most(host, 256);
    assert_int_equal(sl_host_window(host), 10);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* From the 256th on, all share one entry. */
TEST(too_many_hosts)
{
    char name[64];
    sl_host *last = NULL;
    for (uint32_t i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "host%u", i);
        last = sl_host_find(name);
        assert_non_null(last);
    }
    assert_ptr_equal(last, sl_host_find("another"));
    assert_int_equal(sl_hosts_get_stats(NULL, 0), 256);
}

TEST_GROUP(NULL, NULL)

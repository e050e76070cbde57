/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a fetch thread that reads remote objects over a fake network (remote_rig.h). */
#include "clock.h"
#include "remote_rig.h"
#include "test.h"
#include "thread.h"

#include <errno.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define MS  ((uint64_t)1000000)

static int set_up(void **state)
{
    rig_net_start();
    return 0;
}

static int clean_up(void **state)
{
    rig_net_stop();
    return rig_objects() == 0 ? 0 : -1;
}

static void open_harness(io_harness *of)
{
    io_harness_init(of, SLUICE_IO_AUTO);
    of->scheme = RIG_SCHEME;
    of->config.depth = 64;
    of->config.cache = SL_CACHE_AUTO; /* has no effect */
    of->files = RIG_FILES;
    for (uint32_t i = 0; i < RIG_FILES; i++) {
        io_make_file(of, i, rig_sizes[i]);
    }
}

TEST(fetch_merges_neighbours_and_asks_for_no_more)
{
    static io_harness own;
    open_harness(&own);
    net_reset(RIG_LATE);
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < 600; i++) {
        const uint32_t bytes = 500 + (uint32_t)random_below(1500);
        (void)io_add(&own, 0, (uint64_t)i * 3001 + random_below(1000), bytes);
        wanted += bytes;
    }
    (void)io_add(&own, 1, rig_sizes[1] - 5, 5);
    (void)io_add(&own, 1, rig_sizes[1] - 5, 6); /* past the end */
    (void)io_add(&own, 0, rig_sizes[0] - 5001, 5001);
    io_open(&own);
    io_run_all(&own);
    io_expect(&own, SLUICE_OK, 602);
    io_expect(&own, SLUICE_CORRUPT, 1);
    const sl_fetch_stats stats = io_stats(&own);
    assert_string_equal(stats.backend, "remote");
    assert_false(stats.direct);
    assert_true(stats.reads < 200);              /* the measured gap exceeds all gaps */
    assert_true(net.bytes < 3 * wanted + 20000); /* no block is rounded up */
    io_harness_destroy(&own);
}

TEST(fetch_reads_whole_files_and_pieces)
{
    static io_harness own;
    open_harness(&own);
    net_reset(RIG_LATE);
    own.config.whole_objects = true;
    static const uint32_t files[4] = {1, 2, 4, 5};
    for (uint32_t i = 0; i < 40; i++) {
        (void)io_add(&own, files[i % 4], 0, 0);
    }
    io_open(&own);
    io_run_all(&own);
    io_expect(&own, SLUICE_OK, 40);
    io_harness_destroy(&own);
    open_harness(&own);
    own.config.pieces = own.pieces = 9;
    own.piece_span = rig_sizes[0];
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t bytes = 90 + (uint32_t)random_below(30000);
        own.items[io_add(&own, 0, random_below(rig_sizes[0] / 2), bytes)].pieces = 9;
    }
    io_open(&own);
    io_run_all(&own);
    io_expect(&own, SLUICE_OK, 100);
    io_harness_destroy(&own);
}

/* Bytes that several epochs need stay until the last epoch's delivery. The reserve must be
 * released: samples inserted meanwhile have no other memory. */
TEST(fetch_keeps_the_reserve_for_what_is_due)
{
    enum { PLACES = 33, EPOCHS = 2, ITEMS = PLACES * EPOCHS };
    static io_harness own;
    open_harness(&own);
    net_reset(RIG_LATE);
    own.config.arena_bytes = 1; /* rounded to 2 MiB: 32 places, four units each */
    own.config.merge_bytes = 0;
    own.config.lookahead = 2 * ITEMS;
    for (uint32_t i = 0; i < ITEMS; i++) {
        (void)io_add(&own, 0, (uint64_t)(i % PLACES) * 70000, 60000);
    }
    const uint32_t inserted = io_add(&own, 0, 3500000, 60000);
    own.available = ITEMS;
    own.items[inserted].tag = inserted;
    io_open(&own);
    sl_fetch_wake(own.fetch);
    io_give_credit(&own, PLACES);
    assert_true(io_wait(&own, PLACES));
    sl_fetch_insert(own.fetch, &own.items[inserted]);
    assert_true(io_wait(&own, PLACES + 1));
    io_give_credit(&own, ITEMS);
    assert_true(io_wait(&own, ITEMS + 1));
    for (uint32_t i = 0; i <= ITEMS; i++) {
        assert_int_equal(own.results[i].delivered, 1);
        assert_int_equal(own.results[i].status, SLUICE_OK);
    }
    assert_int_equal(own.wrong, 0);
    io_harness_destroy(&own);
}

/* Reads of one object that all fail with the same errno. */
static void expect_failures(int64_t failure, const char *reason, const char *text)
{
    static io_harness own;
    open_harness(&own);
    net_reset(RIG_LATE);
    net.failure = failure;
    net.reason = reason;
    for (uint32_t i = 0; i < 20; i++) {
        (void)io_add(&own, 0, i * MIB, 1000);
    }
    io_open(&own);
    io_run_all(&own);
    io_expect(&own, SLUICE_IO, 20);
    assert_int_equal(net.started, 20); /* nothing was retried */
    for (uint32_t i = 0; i < 20; i++) {
        assert_non_null(strstr(own.results[i].error.text, text));
        assert_non_null(strstr(own.results[i].error.file, RIG_SCHEME));
    }
    io_harness_destroy(&own);
}

TEST(fetch_says_why_and_does_not_try_again)
{
    expect_failures(-EACCES, "403 AccessDenied, as profile research", "403 AccessDenied");
    expect_failures(-ETIMEDOUT, "no byte for 30 s", "read failed: no byte for 30 s");
    expect_failures(-EBADMSG, "", "read failed");
    expect_failures(-EREMCHG, "another ETag", "changed since it was opened");
}

/* A restart or a close ends reads that would take long. */
TEST(fetch_ends_reads_of_nobody)
{
    static io_harness own;
    open_harness(&own);
    net_reset(RIG_STALLED);
    for (uint32_t i = 0; i < 64; i++) {
        (void)io_add(&own, 0, (uint64_t)i * 200000, 1000);
    }
    own.config.merge_bytes = 0;
    io_open(&own);
    io_give_credit(&own, own.count);
    sl_fetch_wake(own.fetch);
    for (uint32_t started = 0; started < 60; sl_sleep_until_ns(sl_now_ns() + MS)) {
        sl_lock(&net.mutex);
        started = net.started;
        sl_unlock(&net.mutex);
    }
    io_restart(&own);
    sl_lock(&net.mutex);
    net.mode = RIG_LATE;
    sl_cond_signal(&net.changed);
    sl_unlock(&net.mutex);
    io_run_all(&own);
    io_expect(&own, SLUICE_OK, 64);
    assert_true(net.canceled >= 60);
    net_reset(RIG_STALLED);
    io_restart(&own);
    io_give_credit(&own, own.count);
    sl_fetch_wake(own.fetch);
    io_harness_destroy(&own); /* closes the backend */
    assert_int_equal(own.pins_left, 0);
}

int main(void)
{
    return test_run(set_up, clean_up);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries of fetch from well-behaved storage, over both backends. */
#include "cached_pages.h"
#include "clock.h"
#include "fetch_state.h"
#include "io_harness.h"
#include "memory.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

static sluice_io_backend backend; /* the backend under test */
static io_harness h;

static uint32_t below(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 8) % bound;
}

static void pause_ms(uint64_t ms)
{
    sl_sleep_until_ns(sl_now_ns() + ms * 1000000);
}

static void add_random(uint32_t files, uint64_t file_bytes, uint32_t count, uint32_t most_bytes)
{
    uint32_t seed = count;
    for (uint32_t f = 0; f < files; f++) {
        io_make_file(&h, f, file_bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = 1 + below(&seed, most_bytes);
        io_add(&h, below(&seed, files), below(&seed, (uint32_t)file_bytes - bytes + 1), bytes);
    }
}

static void random_reads(void **state)
{
    io_harness_init(&h, backend);
    add_random(3, 1000001, 800, 30000);
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, h.count);
    sl_fetch_stats stats = io_stats(&h);
    assert_string_equal(stats.backend, backend == SLUICE_IO_URING ? "uring" : "pread");
    assert_int_equal(stats.retried + stats.stalled + stats.abandoned, 0);
    assert_false(stats.direct);
    io_harness_destroy(&h);
}

static void direct_reads(void **state)
{
    io_harness_init(&h, backend);
    h.config.cache = SL_CACHE_DIRECT;
    add_random(2, 300001, 300, 20000);
    io_add(&h, 0, 0, 300001); /* all of it: the last block is short */
    io_add(&h, 1, 300000, 1);
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, h.count);
    const bool direct = io_stats(&h).direct;
    io_harness_destroy(&h);
    if (!direct) {
        print_message("[  NOTE    ] no O_DIRECT in %s\n", h.folder);
        skip();
    }
}

/* Reads each page of two cached files, most of them several times. Returns the percentage still
 * cached afterwards; -1: this file system drops none. */
static int read_cached(sl_cache_mode cache)
{
    char path[2][128];
    cached_pages after = {0};
    io_harness_init(&h, backend);
    h.config.cache = cache;
    add_random(2, 300001, 300, 20000);
    io_add(&h, 0, 0, 300001);
    io_add(&h, 1, 0, 300001);
    bool can_go = true;
    for (uint32_t i = 0; i < 2; i++) {
        io_path(&h, i, path[i], sizeof(path[i]));
        cached_pages_fill(path[i]);
        can_go = can_go && cached_pages_can_go(path[i]);
        assert_true(cached_pages_of(path[i]).cached == cached_pages_of(path[i]).all);
    }
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, h.count);
    for (uint32_t i = 0; i < 2; i++) {
        const cached_pages one = cached_pages_of(path[i]);
        after.cached += one.cached;
        after.all += one.all;
    }
    io_harness_destroy(&h);
    return can_go ? (int)(100 * after.cached / after.all) : -1;
}

/* Checked with the kernel: a page shared by two reads may be read again by the second. */
static void dropping_reads(void **state)
{
    const int left = read_cached(SL_CACHE_DROP);
    if (left < 0) {
        print_message("[  NOTE    ] the file system of %s drops no pages\n", h.folder);
        skip();
    }
    assert_in_range(left, 0, 20);
    assert_int_equal(read_cached(SL_CACHE_BUFFERED), 100);
}

/* Reads `count` neighbours of 1000 bytes, `gap` bytes apart, in a mixed order. Returns the number
 * of reads. */
static uint64_t reads_of_neighbours(uint32_t gap, uint64_t merge_gap, uint64_t merge_bytes)
{
    io_harness_init(&h, backend);
    h.config.merge_gap_bytes = merge_gap;
    h.config.merge_bytes = merge_bytes;
    io_make_file(&h, 0, (uint64_t)64 * (1000 + gap));
    io_make_file(&h, 1, 1000);
    for (uint32_t i = 0; i < 64; i++) {
        io_add(&h, 0, (uint64_t)(i * 37 % 64) * (1000 + gap), 1000);
    }
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, 64);
    pause_ms(1); /* statistics are published after the delivery */
    sl_fetch_wake(h.fetch);
    pause_ms(20);
    sl_fetch_stats stats = io_stats(&h);
    assert_int_equal(stats.bytes_wanted, 64000);
    uint64_t reads = stats.reads;
    io_harness_destroy(&h);
    return reads;
}

static void neighbours_are_merged(void **state)
{
    assert_int_equal(reads_of_neighbours(0, 0, 64000), 1);
    assert_int_equal(reads_of_neighbours(100, 100, MIB), 1);
    assert_int_equal(reads_of_neighbours(100, 99, MIB), 64);
    assert_int_equal(reads_of_neighbours(0, 0, 0), 64);
    uint64_t limited = reads_of_neighbours(0, 0, 16000);
    assert_in_range(limited, 4, 16);
}

static void files_are_not_merged(void **state)
{
    io_harness_init(&h, backend);
    for (uint32_t f = 0; f < 8; f++) {
        io_make_file(&h, f, 1000);
        io_add(&h, f, 0, 1000);
        io_add(&h, f, 0, 1000); /* twice the same */
    }
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, 16);
    sl_fetch_wake(h.fetch);
    pause_ms(20);
    assert_int_equal(io_stats(&h).reads, 8);
    io_harness_destroy(&h);
}

static void credit_holds_back(void **state)
{
    io_harness_init(&h, backend);
    add_random(1, 500000, 100, 3000);
    io_open(&h);
    sl_fetch_wake(h.fetch);
    pause_ms(20);
    assert_false(h.delivered > 0);
    for (uint32_t credit = 1; credit <= 100; credit += 11) {
        io_give_credit(&h, credit);
        assert_true(io_wait(&h, credit));
    }
    pause_ms(10);
    io_expect(&h, SLUICE_OK, 100); /* the harness counts a delivery beyond the credit as wrong */
    io_harness_destroy(&h);
}

static void end_and_wake(void **state)
{
    io_harness_init(&h, backend);
    add_random(1, 500000, 60, 3000);
    h.available = 0;
    io_open(&h);
    io_give_credit(&h, 60);
    for (uint32_t i = 0; i < 60; i += 20) {
        pthread_mutex_lock(&h.mutex);
        h.available = i + 20;
        pthread_mutex_unlock(&h.mutex);
        sl_fetch_wake(h.fetch);
        assert_true(io_wait(&h, i + 20));
    }
    io_expect(&h, SLUICE_OK, 60);
    io_harness_destroy(&h);
}

/* The smallest arena is 2 MiB; the look-ahead needs ten times that. */
static void arena_smaller_than_lookahead(void **state)
{
    io_harness_init(&h, backend);
    h.config.arena_bytes = 1;
    add_random(2, 2000000, 300, 150000);
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    for (uint32_t credit = 7; credit < 307; credit += 7) {
        io_give_credit(&h, credit < 300 ? credit : 300);
        assert_true(io_wait(&h, credit < 300 ? credit : 300));
    }
    io_expect(&h, SLUICE_OK, 300);
    io_harness_destroy(&h);
}

static void items_larger_than_the_arena(void **state)
{
    io_harness_init(&h, backend);
    h.config.arena_bytes = 1;
    h.config.max_sample_bytes = 3 * MIB;
    io_make_file(&h, 0, 4 * MIB);
    for (uint32_t i = 0; i < 12; i++) {
        io_add(&h, 0, (uint64_t)i * 1000, i % 3 == 0 ? (uint32_t)(3 * MIB) : 100000);
    }
    uint32_t too_large = io_add(&h, 0, 0, (uint32_t)(3 * MIB + 1));
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, 12);
    assert_int_equal(h.results[too_large].status, SLUICE_UNSUPPORTED);
    assert_non_null(strstr(h.results[too_large].error.text, "3145728"));
    io_harness_destroy(&h);
}

/* The arena is full of items that lack credit for delivery; inserts must still be delivered. */
static void inserts_overtake(void **state)
{
    io_harness_init(&h, backend);
    h.config.arena_bytes = 1;
    add_random(2, 2000000, 100, 150000);
    uint32_t insert[8];
    for (uint32_t i = 0; i < 8; i++) {
        insert[i] = io_add(&h, i == 5 ? 77 : 0, (uint64_t)i * 10000, i == 3 ? 1900000 : 50000);
    }
    h.available = 100;
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    sl_fetch_wake(h.fetch);
    pause_ms(30);
    for (uint32_t i = 0; i < 8; i++) {
        sl_fetch_item item = h.items[insert[i]];
        item.tag = insert[i];
        sl_fetch_insert(h.fetch, &item);
        assert_true(io_wait(&h, i < 3 ? 0 : i - 2)); /* up to 4 outstanding */
    }
    assert_true(io_wait(&h, 8));
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(h.results[insert[i]].delivered, 1);
        assert_int_equal(h.results[insert[i]].status, i == 5 ? SLUICE_IO : SLUICE_OK);
    }
    io_give_credit(&h, 100);
    assert_true(io_wait(&h, 108));
    assert_int_equal(h.wrong, 0);
    io_harness_destroy(&h);
}

static void steady_state_allocates_nothing(void **state)
{
    io_harness_init(&h, backend);
    add_random(4, 500000, 400, 20000);
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    uint64_t before = sl_memory_allocations();
    for (uint32_t run = 0; run < 3; run++) {
        io_run_all(&h);
        io_expect(&h, SLUICE_OK, 400);
        io_restart(&h);
    }
    assert_int_equal(sl_memory_allocations(), before);
    io_harness_destroy(&h);
}

static void expect_all_once(void)
{
    for (uint32_t i = 0; i < h.count; i++) {
        assert_int_equal(h.results[i].delivered, i < h.asked ? 1 : 0);
    }
    assert_int_equal(h.wrong, 0);
}

static void restarts(bool late)
{
    uint32_t seed = 5;
    io_harness_init(&h, backend);
    h.fault = (sl_fault_config){.seed = 3, .late_permille = 300, .late_ns = 2000000};
    h.config.fault = late ? &h.fault : NULL;
    add_random(2, 500000, 200, 30000);
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    for (uint32_t i = 0; i < TEST_AMOUNT(100, 40); i++) {
        io_give_credit(&h, below(&seed, 200));
        sl_sleep_until_ns(sl_now_ns() + below(&seed, 1000000));
        sl_fetch_restart(h.fetch);
        expect_all_once();
        io_restart(&h); /* again, with nothing requested */
    }
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, 200);
    sl_arena_run all = {0, 0};
    for (uint32_t wait = 0; wait < 1000 && all.units == 0; wait++) {
        io_release_held(&h);
        pause_ms(1);
        all = sl_read_arena_take(&h.fetch->buffers.arena, h.config.arena_bytes);
    }
    assert_int_not_equal(all.units, 0); /* everything was released */
    io_harness_destroy(&h);
}

static void restart_at_random_moments(void **state)
{
    restarts(false);
}

static void restart_with_late_reads(void **state)
{
    restarts(true);
}

static void close_at_random_moments(void **state)
{
    uint32_t seed = 11;
    io_harness_init(&h, backend);
    h.fault = (sl_fault_config){.seed = 4, .late_permille = 300, .late_ns = 2000000};
    add_random(2, 500000, 200, 30000);
    h.release = IO_RELEASE_LATER;
    for (uint32_t i = 0; i < 60; i++) {
        h.config.fault = i % 2 == 0 ? &h.fault : NULL;
        io_open(&h);
        io_give_credit(&h, below(&seed, 200));
        sl_sleep_until_ns(sl_now_ns() + below(&seed, 1000000));
        io_close(&h);
        expect_all_once();
        memset(h.results, 0, sizeof(h.results));
        h.asked = 0;
        h.delivered = 0;
    }
    io_harness_destroy(&h);
}

/* Items' locations are read first, in one or two steps. */
static void looked_up(void **state)
{
    for (uint32_t lookups = 1; lookups <= 2; lookups++) {
        io_harness_init(&h, backend);
        h.fault = (sl_fault_config){
            .seed = 6, .short_permille = 200, .late_permille = 200, .again_permille = 100};
        h.config.fault = lookups == 2 ? &h.fault : NULL;
        h.lookups = lookups;
        h.lookup_bad = 10;
        io_make_file(&h, IO_LOOKUP_FILE, (uint64_t)310 * IO_LOOKUP_BYTES);
        add_random(3, 300001, 300, 20000);
        h.release = IO_RELEASE_LATER;
        io_open(&h);
        io_run_all(&h);
        io_expect(&h, SLUICE_OK, 270);
        assert_int_equal(h.results[10].status, SLUICE_CORRUPT);
        assert_string_equal(h.results[10].error.text, "not to be found");
        assert_non_null(strstr(h.results[10].error.file, "/999"));
        io_harness_destroy(&h);
    }
}

/* Items in several pieces, looked up or not; a file that ends early makes them fail. */
static void pieces(void **state)
{
    for (uint32_t lookups = 0; lookups < 2; lookups++) {
        io_harness_init(&h, backend);
        h.fault = (sl_fault_config){.seed = 7, .late_permille = 200, .again_permille = 100};
        h.config.fault = &h.fault;
        h.config.cache = lookups == 0 ? SL_CACHE_AUTO : SL_CACHE_DIRECT;
        h.config.pieces = 5;
        h.pieces = 5;
        h.piece_span = 300001;
        h.lookups = lookups;
        io_make_file(&h, IO_LOOKUP_FILE, (uint64_t)310 * IO_LOOKUP_BYTES);
        add_random(3, 200000, 300, 20000);
        for (uint32_t i = 0; i < 3; i++) {
            io_make_file(&h, i, i < 2 ? 300001 : 200);
        }
        uint32_t short_ones = 0;
        for (uint32_t i = 0; i < h.count; i++) {
            h.items[i].pieces = 5;
            short_ones += h.items[i].object == 2;
        }
        h.release = IO_RELEASE_LATER;
        io_open(&h);
        io_run_all(&h);
        io_expect(&h, SLUICE_OK, h.count - short_ones);
        assert_true(short_ones > 0);
        assert_string_equal(io_stats(&h).backend, "pread");
        io_harness_destroy(&h);
    }
}

/* A failed lookup read fails its item like any other read. */
static void lookup_is_missing(void **state)
{
    io_harness_init(&h, backend);
    h.lookups = 1;
    io_make_file(&h, IO_LOOKUP_FILE, (uint64_t)11 * IO_LOOKUP_BYTES);
    add_random(1, 300001, 20, 20000);
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, 10);
    assert_int_equal(h.results[10].status, SLUICE_CORRUPT);
    assert_non_null(strstr(h.results[10].error.text, "truncated"));
    io_harness_destroy(&h);
}

static uint64_t size_of(void *ctx, uint32_t file)
{
    (void)ctx;
    return file < 2 ? 3000001 : 0;
}

/* After a small dataset was read, in partial reads, nothing of it is read again. */
static void kept_in_memory(void **state)
{
    io_harness_init(&h, backend);
    h.fault = (sl_fault_config){.seed = 8, .short_permille = 500};
    h.config.fault = &h.fault;
    h.bytes = size_of;
    h.files = 2;
    h.config.resident_bytes = 6000002;
    add_random(2, 3000001, 500, 30000);
    h.release = IO_RELEASE_LATER;
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, 500);
    for (uint32_t i = 0; i < 1000 && sl_fetch_resident(h.fetch) == NULL; i++) {
        pause_ms(10);
    }
    const sl_resident *resident = sl_fetch_resident(h.fetch);
    assert_non_null(resident);
    for (uint32_t f = 0; f < 2; f++) {
        const uint8_t *all = sl_resident_at(resident, f, 0, 3000001);
        assert_true(io_same(f, 0, all, 3000001));
        assert_null(sl_resident_at(resident, f, 1, 3000001));
        assert_null(sl_resident_at(resident, f, UINT64_MAX, 2));
    }
    assert_null(sl_resident_at(resident, 2, 0, 1));
    io_restart(&h);
    const uint64_t reads = io_stats(&h).reads;
    io_run_all(&h);
    io_expect(&h, SLUICE_OK, 500);
    io_restart(&h);
    assert_int_equal(io_stats(&h).reads, reads);
    assert_int_equal(io_stats(&h).resident_bytes, 6000002);
    io_harness_destroy(&h);
}

/* Too large, of unknown size, over the budget, or unreadable: then there is no copy. */
static void not_kept_in_memory(void **state)
{
    for (uint32_t why = 0; why < 4; why++) {
        io_harness_init(&h, backend);
        h.fault = (sl_fault_config){.seed = 4, .dead_permille = 10};
        h.config.fault = why == 3 ? &h.fault : NULL;
        h.bytes = why == 1 ? NULL : size_of;
        h.files = 2;
        h.config.resident_bytes = why == 0 ? 6000001 : 6000002;
        sl_budget_init(&h.budget, why == 2 ? 4 * MIB + MIB : UINT64_MAX);
        add_random(2, 3000001, 100, 3000);
        h.release = IO_RELEASE_LATER;
        io_open(&h);
        io_run_all(&h);
        if (why == 3) {
            pause_ms(1500); /* a device error is retried for this long */
        }
        assert_null(sl_fetch_resident(h.fetch));
        io_harness_destroy(&h);
    }
}

static void bad_options(void **state)
{
    io_harness_init(&h, backend);
    const sl_fetch_source source = {0};
    sl_fetch_config config = h.config;
    sl_fetch *fetch = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    config.depth = 513;
    assert_int_equal(sl_fetch_open(&fetch, &config, &source, &error), SLUICE_INVALID);
    config = h.config;
    config.max_sample_bytes = 0;
    assert_int_equal(sl_fetch_open(&fetch, &config, &source, NULL), SLUICE_INVALID);
    config = h.config;
    sl_budget_init(&h.budget, MIB);
    assert_int_equal(sl_fetch_open(&fetch, &config, &source, &error), SLUICE_NOMEM);
    assert_null(fetch);
    sl_fetch_close(NULL);
    io_harness_destroy(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_reads),
        cmocka_unit_test(direct_reads),
        cmocka_unit_test(dropping_reads),
        cmocka_unit_test(neighbours_are_merged),
        cmocka_unit_test(files_are_not_merged),
        cmocka_unit_test(credit_holds_back),
        cmocka_unit_test(end_and_wake),
        cmocka_unit_test(arena_smaller_than_lookahead),
        cmocka_unit_test(items_larger_than_the_arena),
        cmocka_unit_test(inserts_overtake),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(restart_at_random_moments),
        cmocka_unit_test(restart_with_late_reads),
        cmocka_unit_test(close_at_random_moments),
        cmocka_unit_test(looked_up),
        cmocka_unit_test(pieces),
        cmocka_unit_test(lookup_is_missing),
        cmocka_unit_test(kept_in_memory),
        cmocka_unit_test(not_kept_in_memory),
        cmocka_unit_test(bad_options),
    };
    int failed = 0;
    backend = SLUICE_IO_PREAD;
    failed += cmocka_run_group_tests_name("pread", tests, NULL, NULL);
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_uring_probe(&error) != SLUICE_OK) {
        print_message("[  SKIPPED ] uring: %s\n", error.text);
        return failed;
    }
    backend = SLUICE_IO_URING;
    failed += cmocka_run_group_tests_name("uring", tests, NULL, NULL);
    return failed;
}

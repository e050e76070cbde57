/* SPDX-License-Identifier: Apache-2.0 */
/* Fetch over storage that misbehaves: the fault backend over both others. */
#include "clock.h"
#include "fetch_state.h"
#include "io_harness.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define MS  ((uint64_t)1000000)

enum { CANNOT_RUN = 77, PATIENCE = 6000 /* naps of 20 ms */ };

static sluice_io_backend backend; /* the backend under test */
static io_harness h;
static io_harness other; /* a second one, since most of the time is waiting */
static io_harness *const both[] = {&h, &other};

static uint32_t below(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 8) % bound;
}

static void set_up_one(io_harness *one, const sl_fault_config *fault, sl_cache_mode cache,
                       uint32_t count)
{
    uint32_t seed = count;
    io_harness_init(one, backend);
    one->fault = *fault;
    one->config.fault = &one->fault;
    one->config.cache = cache;
    one->release = IO_RELEASE_LATER;
    for (uint32_t f = 0; f < 2; f++) {
        io_make_file(one, f, 700001);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = 1 + below(&seed, 20000);
        io_add(one, below(&seed, 2), below(&seed, 700001 - bytes), bytes);
    }
}

static void set_up(const sl_fault_config *fault, sl_cache_mode cache, uint32_t count)
{
    set_up_one(&h, fault, cache, count);
}

/* Faults that must not be noticed: every item is delivered whole. */
static void harmless(const sl_fault_config *fault)
{
    for (int cache = SL_CACHE_BUFFERED; cache <= SL_CACHE_AUTO; cache++) {
        set_up(fault, (sl_cache_mode)cache, 200);
        h.config.fills = true;
        io_open(&h);
        io_run_all(&h);
        io_expect(&h, SLUICE_OK, 200);
        assert_true(io_stats(&h).abandoned == 0);
        const bool direct = io_stats(&h).direct || cache != SL_CACHE_DIRECT;
        io_restart(&h);
        for (uint32_t f = 0; f < 2; f++) { /* no read was misaligned and fell back for that */
            sl_pin pin;
            const sl_pin_how how = {.direct = true, .wait_ns = SL_OBJECTS_WAIT_NS};
            assert_int_equal(sl_objects_pin(h.objects, f, how, &pin, NULL), SLUICE_OK);
            assert_true(fault->einval_permille > 0 || pin.direct == direct);
            sl_objects_unpin(h.objects, &pin);
        }
        io_harness_destroy(&h);
    }
}

static void short_reads(void **state)
{
    harmless(&(sl_fault_config){.seed = 1, .short_permille = 400});
}

static void late_and_reordered(void **state)
{
    harmless(&(sl_fault_config){.seed = 2, .late_permille = 500});
}

static void interrupted(void **state)
{
    harmless(&(sl_fault_config){.seed = 3, .again_permille = 150});
}

static void errors_that_pass(void **state)
{
    harmless(&(sl_fault_config){.seed = 4, .eio_permille = 20});
}

static void direct_refused(void **state)
{
    harmless(&(sl_fault_config){.seed = 14, .einval_permille = 1000, .short_permille = 100});
}

static void everything_at_once(void **state)
{
    harmless(&(sl_fault_config){.seed = 5,
                                .short_permille = 200,
                                .late_permille = 200,
                                .again_permille = 50,
                                .eio_permille = 10});
}

/* Item `i` must fail with complete error information. */
static void expect_eio(uint32_t i)
{
    const io_result *result = &h.results[i];
    assert_int_equal(result->status, SLUICE_IO);
    assert_int_equal(result->error.sys_errno, EIO);
    assert_in_range(result->error.offset, h.items[i].offset / 4096 * 4096,
                    h.items[i].offset + h.items[i].bytes);
    assert_non_null(strstr(result->error.file, h.folder));
    assert_non_null(strstr(result->error.text, "tries: "));
}

/* Only the items over dead blocks fail, regardless of the items merged with them. */
static void dead_blocks(void **state)
{
    const sl_fault_config fault = {.seed = 6, .dead_permille = 20, .short_permille = 50};
    set_up(&fault, backend == SLUICE_IO_URING ? SL_CACHE_DIRECT : SL_CACHE_BUFFERED, 150);
    h.config.depth = 64;
    h.config.lookahead = 256; /* the dead ones are retried at the same time */
    io_open(&h);
    io_run_all(&h);
    uint32_t dead = 0;
    for (uint32_t i = 0; i < h.count; i++) {
        const sl_read read = {.offset = h.items[i].offset, .length = h.items[i].bytes};
        if (sl_fault_is_dead(&fault, &read)) {
            dead++;
            expect_eio(i);
        } else {
            assert_int_equal(h.results[i].status, SLUICE_OK);
        }
    }
    assert_in_range(dead, 1, 100);
    io_expect(&h, SLUICE_OK, h.count - dead);
    io_harness_destroy(&h);
}

static void lost_completions(void **state)
{
    const sl_fault_config fault = {.seed = 7, .lost_permille = 40};
    set_up(&fault, SL_CACHE_BUFFERED, 200);
    h.config.stall_warn_ns = 60 * MS;
    h.config.stall_fail_ns = 2000 * MS; /* more than a good read takes on a busy machine */
    h.config.merge_bytes = 0;           /* one request per item */
    h.config.depth = 32;
    io_open(&h);
    io_run_all(&h);
    uint32_t lost = 0;
    for (uint32_t i = 0; i < h.count; i++) {
        if (h.results[i].status != SLUICE_OK) {
            assert_int_equal(h.results[i].status, SLUICE_IO);
            assert_int_equal(h.results[i].error.sys_errno, ETIMEDOUT);
            assert_int_equal(h.results[i].error.offset, h.items[i].offset);
            lost++;
        }
    }
    assert_in_range(lost, 1, 31);
    io_expect(&h, SLUICE_OK, h.count - lost);
    io_restart(&h); /* statistics are up to date after it */
    assert_int_equal(io_stats(&h).abandoned, lost);
    assert_true(io_stats(&h).stalled >= lost);
    io_harness_destroy(&h);
}

/* The consumer takes longer for each item than a read may. No read is blamed for that, neither one
 * that completed meanwhile nor one that was submitted only later and takes a while. */
static void slow_deliveries_are_no_stalls(void **state)
{
    enum { ITEMS = 2 };
    /* The first completes while the second is delivered; and each is late, one after the other. */
    const sl_fault_config faults[] = {{.hold_first = 1, .late_ns = 100 * MS},
                                      {.late_permille = 1000, .late_ns = 100 * MS}};
    for (uint32_t i = 0; i < 2; i++) {
        set_up_one(both[i], &faults[i], SL_CACHE_BUFFERED, ITEMS);
        both[i]->deliver_ns = 2200 * MS;
        both[i]->config.stall_warn_ns = 2000 * MS;
        both[i]->config.stall_fail_ns = 2000 * MS;
        both[i]->config.merge_bytes = 0;            /* one request per item */
        both[i]->config.depth = i == 0 ? ITEMS : 1; /* lateness counts from submission */
        io_open(both[i]);
        io_give_credit(both[i], ITEMS);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(io_wait(both[i], ITEMS));
        io_expect(both[i], SLUICE_OK, ITEMS);
        io_restart(both[i]);
        assert_int_equal(io_stats(both[i]).abandoned, 0);
        io_harness_destroy(both[i]);
    }
}

/* No read ever completes, not even into the reserve buffer: all fail, nothing hangs. */
static void nothing_comes_back(void **state)
{
    const sl_fault_config fault = {.seed = 8, .lost_permille = 1000};
    set_up(&fault, SL_CACHE_BUFFERED, 30);
    for (uint32_t i = 0; i < 6; i++) {
        sl_fetch_item *item = &h.items[(size_t)i * 5];
        item->offset = 0; /* larger than the arena: uses the reserve */
        item->bytes = (uint32_t)(3 * MIB);
    }
    h.config.arena_bytes = 1;
    h.config.depth = 4;
    h.config.stall_warn_ns = 20 * MS;
    h.config.stall_fail_ns = 40 * MS;
    io_open(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_IO, 30);
    io_restart(&h);
    io_run_all(&h);
    io_expect(&h, SLUICE_IO, 30);
    assert_int_equal(io_stats(&h).abandoned, 4);
    uint32_t reserves = 0;
    for (uint32_t i = 0; i < 4; i++) { /* memory that may still be written is not reused */
        const sl_slab *own = &h.fetch->requests.all[i].buffer.own;
        reserves += own->base != NULL ? 1 : 0;
        assert_true(own->base == NULL || own->base != h.fetch->buffers.reserve.base);
    }
    assert_true(reserves > 0);
    io_harness_destroy(&h);
}

/* Reads that complete after the watchdog gave them up return their memory. */
static void late_after_all(void **state)
{
    const sl_fault_config fault = {.seed = 9, .late_permille = 300, .late_ns = 400 * MS};
    set_up(&fault, SL_CACHE_BUFFERED, 100);
    h.config.stall_warn_ns = 30 * MS;
    h.config.stall_fail_ns = 100 * MS;
    h.config.depth = 32;
    h.items[0].bytes = (uint32_t)(3 * MIB);
    h.config.arena_bytes = 1;
    io_open(&h);
    io_run_all(&h);
    uint32_t failed = 0;
    for (uint32_t i = 1; i < h.count; i++) {
        failed += h.results[i].status != SLUICE_OK ? 1 : 0;
    }
    assert_in_range(failed, 1, 99);
    for (uint32_t wait = 0; wait < PATIENCE; wait++) {
        sl_sleep_until_ns(sl_now_ns() + 20 * MS);
        sl_fetch_wake(h.fetch);
        if (io_stats(&h).abandoned == 0) {
            break;
        }
    }
    assert_int_equal(io_stats(&h).abandoned, 0);
    assert_int_equal(h.wrong, 0);
    io_harness_destroy(&h);
}

/* Closing does not wait for reads that never complete. */
static void close_with_lost_reads(void **state)
{
    const sl_fault_config fault = {.seed = 10, .lost_permille = 1000};
    set_up(&fault, SL_CACHE_BUFFERED, 30);
    io_open(&h);
    io_give_credit(&h, 30);
    sl_sleep_until_ns(sl_now_ns() + 20 * MS);
    uint64_t before = sl_now_ns();
    io_close(&h);
    assert_true(sl_now_ns() - before < TEST_PATIENCE_NS);
    io_expect(&h, SLUICE_CANCELED, h.asked);
    assert_int_equal(h.pins_left, 0);
    io_harness_destroy(&h);
}

/* Reads in flight or queued when everything is closed return their pins: a later reopening of the
 * file (a stale handle) does not wait for them. */
static void close_gives_pins_back(void **state)
{
    const sl_fault_config faults[] = {{.seed = 1},
                                      {.seed = 2, .late_permille = 1000, .late_ns = 5 * MS},
                                      {.seed = 3, .late_permille = 500, .short_permille = 500}};
    for (uint32_t i = 0; i < 18; i++) {
        set_up(&faults[i % 3], i % 2 == 0 ? SL_CACHE_BUFFERED : SL_CACHE_AUTO, 200);
        h.config.fills = i % 4 == 1;
        io_open(&h);
        io_give_credit(&h, 200);
        sl_sleep_until_ns(sl_now_ns() + i % 7 * MS / 4);
        io_close(&h);
        assert_int_equal(h.pins_left, 0);
        io_harness_destroy(&h);
    }
}

static uint64_t size_of(void *ctx, uint32_t file)
{
    (void)ctx;
    return file < 2 ? 700001 : 0;
}

/* The first read of the copy in memory hangs: it is given up like any other and harms no item; the
 * copy continues if the read ever completes. */
static void the_copy_hangs(void **state)
{
    for (uint32_t back = 0; back < 2; back++) {
        const sl_fault_config fault = {.hold_first = 1, .late_ns = (uint64_t)back * 3000 * MS};
        set_up(&fault, SL_CACHE_BUFFERED, 150);
        h.files = 2;
        h.bytes = size_of;
        h.config.resident_bytes = 2 * MIB;
        h.config.depth = 2;
        h.config.stall_warn_ns = 750 * MS;
        h.config.stall_fail_ns = 1500 * MS; /* more than a good read takes on a busy machine */
        io_open(&h);
        for (uint32_t i = 0; i < PATIENCE && io_stats(&h).abandoned == 0; i++) {
            sl_sleep_until_ns(sl_now_ns() + 20 * MS);
        }
        assert_int_equal(io_stats(&h).abandoned, 1);
        io_run_all(&h);
        io_expect(&h, SLUICE_OK, 150);
        io_restart(&h);
        io_run_all(&h);
        io_expect(&h, SLUICE_OK, 150);
        for (uint32_t i = 0; i < PATIENCE && back && sl_fetch_resident(h.fetch) == NULL; i++) {
            sl_sleep_until_ns(sl_now_ns() + 20 * MS);
        }
        assert_int_equal(sl_fetch_resident(h.fetch) != NULL, back);
        assert_int_equal(io_stats(&h).abandoned, 1 - back);
        io_harness_destroy(&h);
    }
}

static void whole_objects(void **state)
{
    io_harness_init(&h, SLUICE_IO_PREAD);
    h.fault = (sl_fault_config){.seed = 11,
                                .late_permille = 200,
                                .again_permille = 100,
                                .eio_permille = 10,
                                .dead_permille = 100};
    h.config.fault = &h.fault;
    h.config.whole_objects = true;
    h.config.depth = 64;
    h.config.lookahead = 256;
    h.release = IO_RELEASE_LATER;
    for (uint32_t f = 0; f < 120; f++) {
        io_make_file(&h, f, (uint64_t)(f + 1) * 1000);
        io_add(&h, f, 0, 0);
    }
    io_open(&h);
    io_run_all(&h);
    uint32_t dead = 0;
    for (uint32_t i = 0; i < h.count; i++) {
        char path[128];
        io_path(&h, i, path, sizeof(path));
        const sl_read read = {.kind = SL_READ_FILE, .path = path};
        bool expected = sl_fault_is_dead(&h.fault, &read);
        assert_int_equal(h.results[i].status, expected ? SLUICE_IO : SLUICE_OK);
        dead += expected ? 1 : 0;
    }
    io_expect(&h, SLUICE_OK, 120 - dead);
    io_harness_destroy(&h);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_reads),
        cmocka_unit_test(late_and_reordered),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(errors_that_pass),
        cmocka_unit_test(direct_refused),
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(dead_blocks),
        cmocka_unit_test(lost_completions),
        cmocka_unit_test(slow_deliveries_are_no_stalls),
        cmocka_unit_test(nothing_comes_back),
        cmocka_unit_test(late_after_all),
        cmocka_unit_test(close_with_lost_reads),
        cmocka_unit_test(close_gives_pins_back),
        cmocka_unit_test(the_copy_hangs),
    };
    const struct CMUnitTest of_files[] = {cmocka_unit_test(whole_objects)};
    const char *const wanted = count > 1 ? arguments[1] : NULL; /* NULL: all */
    int failed = 0;
    if (wanted == NULL || strcmp(wanted, "pread") == 0) {
        backend = SLUICE_IO_PREAD;
        failed += cmocka_run_group_tests_name("pread", tests, NULL, NULL);
    }
    if (wanted == NULL || strcmp(wanted, "files") == 0) {
        failed += cmocka_run_group_tests_name("pread, files", of_files, NULL, NULL);
    }
    sluice_error error = SLUICE_ERROR_INIT;
    if (wanted != NULL && strcmp(wanted, "uring") != 0) {
        return failed;
    }
    if (sl_uring_probe(&error) != SLUICE_OK) {
        print_message("[  SKIPPED ] uring: %s\n", error.text);
        return wanted == NULL ? failed : CANNOT_RUN;
    }
    backend = SLUICE_IO_URING;
    failed += cmocka_run_group_tests_name("uring", tests, NULL, NULL);
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of backends: each backend alone, and with the fault backend around it. */
#include "backend.h"
#include "cached_pages.h"
#include "clock.h"
#include "io_harness.h"
#include "test.h"
#include "uring_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB        ((uint64_t)1 << 20)
#define MS         ((uint64_t)1000000)
#define DEPTH      64U
#define FILE_BYTES (16 * MIB)

static const sl_backend_ops *ops; /* the backend under test */
static const sl_fault_config *fault;
static sl_slab slab;
static char path[128];
static int fd;
static sl_read reads[DEPTH];
static sl_completion completions[DEPTH];

static int make_file(void **state)
{
    const char *root = getenv("TMPDIR");
    (void)snprintf(path, sizeof(path), "%.100s/sluice-io-XXXXXX", root != NULL ? root : "/tmp");
    fd = mkstemp(path);
    static uint8_t block[65536];
    for (uint64_t at = 0; at < FILE_BYTES; at += sizeof(block)) {
        io_fill(0, at, block, sizeof(block));
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block)) {
            return -1;
        }
    }
    return sl_slab_open(&slab, 2 * FILE_BYTES, NULL, NULL);
}

static int remove_file(void **state)
{
    sl_slab_close(&slab);
    close(fd);
    return unlink(path);
}

static sl_backend *open_backend(void)
{
    const sl_backend_config config = {.depth = DEPTH, .threads = 4, .slab = &slab};
    sl_backend *backend = NULL;
    assert_int_equal(ops->open(&backend, &config, NULL), SLUICE_OK);
    if (fault != NULL) {
        assert_int_equal(sl_backend_fault(&backend, backend, fault, NULL), SLUICE_OK);
    }
    return backend;
}

static void submit(sl_backend *backend, uint32_t count)
{
    sl_read *list[DEPTH];
    for (uint32_t i = 0; i < count; i++) {
        list[i] = &reads[i];
    }
    backend->ops->submit(backend, list, count);
}

/* Reaps until each of `count` reads has completed; asserts that each completes once. */
static void reap_all(sl_backend *backend, uint32_t count)
{
    uint32_t seen[DEPTH] = {0};
    uint32_t done = 0;
    uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    while (done < count && sl_now_ns() < deadline) {
        sl_completion some[7];
        uint32_t got = backend->ops->reap(backend, some, 7, 100 * MS);
        for (uint32_t i = 0; i < got; i++) {
            ptrdiff_t which = some[i].read - reads;
            assert_in_range(which, 0, count - 1);
            assert_int_equal(seen[which]++, 0);
            completions[which] = some[i];
        }
        done += got;
    }
    assert_int_equal(done, count);
    assert_int_equal(backend->ops->reap(backend, completions, 0, 0), 0);
}

static void expect_bytes(uint32_t i)
{
    const size_t bytes = completions[i].result < 0 ? 0 : (size_t)completions[i].result;
    for (size_t k = 0; !io_same(0, reads[i].offset, reads[i].buffer, bytes); k++) {
        if (reads[i].buffer[k] != io_byte(0, reads[i].offset + k)) {
            fail_msg("read %u: byte %zu is wrong", i, k);
        }
    }
}

/* Buffers in the slab, at its end, across the end of the registrable part, and outside. */
static void reads_arrive_once(void **state)
{
    static uint8_t outside[20000];
    sl_backend *backend = open_backend();
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < DEPTH; i++) {
            reads[i] = (sl_read){.fd = fd,
                                 .offset = (i * 7919 + round * 104729) % (FILE_BYTES - 20000),
                                 .length = 1 + (i * 331 + round) % 20000,
                                 .buffer = slab.base + (size_t)i * 20000};
        }
        reads[0].buffer = outside;
        reads[1].buffer = slab.base + slab.bytes - reads[1].length;
        reads[2].fd = -1;
        reads[3].offset = FILE_BYTES - 10; /* short */
        reads[3].length = 4000;
        reads[4].offset = FILE_BYTES + 4096; /* nothing */
        submit(backend, DEPTH);
        reap_all(backend, DEPTH);
        for (uint32_t i = 0; i < DEPTH; i++) {
            int64_t expected = reads[i].length;
            expected = i == 2 ? -EBADF : i == 3 ? 10 : i == 4 ? 0 : expected;
            assert_int_equal(completions[i].result, expected);
            expect_bytes(i);
        }
    }
    assert_int_equal(backend->ops->close(backend, 1000 * MS, NULL), 0);
}

static void *wake_soon(void *argument)
{
    sl_backend *backend = argument;
    sl_sleep_until_ns(sl_now_ns() + 20 * MS);
    backend->ops->wake(backend);
    return NULL;
}

static void wakes_and_timeouts(void **state)
{
    pthread_t waker;
    sl_backend *backend = open_backend();
    sl_completion none[4];
    uint64_t before = sl_now_ns();
    assert_int_equal(backend->ops->reap(backend, none, 4, 0), 0);
    assert_int_equal(backend->ops->reap(backend, none, 4, 30 * MS), 0);
    assert_true(sl_now_ns() - before >= 29 * MS);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pthread_create(&waker, NULL, wake_soon, backend), 0);
        assert_int_equal(backend->ops->reap(backend, none, 4, UINT64_MAX), 0);
        assert_int_equal(pthread_join(waker, NULL), 0);
    }
    backend->ops->wake(backend);
    backend->ops->wake(backend); /* both remembered until the next reap */
    before = sl_now_ns();
    assert_int_equal(backend->ops->reap(backend, none, 4, 2 * TEST_PATIENCE_NS), 0);
    assert_true(sl_now_ns() - before < TEST_PATIENCE_NS);
    assert_int_equal(backend->ops->close(backend, 1000 * MS, NULL), 0);
}

static void fill_reads(int from)
{
    for (uint32_t i = 0; i < 32; i++) {
        reads[i] = (sl_read){.fd = from,
                             .offset = i % 16 * MIB,
                             .length = (uint32_t)MIB,
                             .buffer = slab.base + i * MIB};
    }
}

static void expect_poison(void)
{
    const bool same = memcmp(slab.base, slab.base + 1, slab.bytes - 1) == 0;
    for (size_t i = 0; i < (same ? 1 : slab.bytes); i++) {
        if (slab.base[i] != 0xa5) {
            fail_msg("byte %zu of the slab was written after close", i);
        }
    }
}

/* The kernel must be done with the memory when close returns: it is poisoned and checked. */
static void nothing_is_written_after_close(void **state)
{
    int direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    for (uint32_t round = 0; round < 2; round++) {
        sl_backend *backend = open_backend();
        fill_reads(direct >= 0 ? direct : fd);
        submit(backend, 32);
        (void)backend->ops->reap(backend, completions, 1, 0);
        assert_int_equal(backend->ops->close(backend, UINT64_MAX, NULL), 0);
        memset(slab.base, 0xa5, slab.bytes);
        sl_sleep_until_ns(sl_now_ns() + 200 * MS);
        expect_poison();
    }
    if (direct >= 0) {
        close(direct);
    }
}

static void whole_files(void **state)
{
    if (ops != &sl_backend_pread) {
        return; /* not this backend's responsibility */
    }
    sl_backend *backend = open_backend();
    for (uint32_t i = 0; i < 4; i++) {
        reads[i] = (sl_read){.kind = SL_READ_FILE,
                             .path = i == 3 ? "/" : path,
                             .length = (uint32_t)(i == 2 ? FILE_BYTES - 4096 : FILE_BYTES),
                             .direct = i == 1,
                             .drop_cache = i == 1,
                             .buffer = slab.base};
    }
    reads[1].buffer += FILE_BYTES;
    submit(backend, 4);
    reap_all(backend, 4);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(completions[i].result, FILE_BYTES);
        assert_int_equal(completions[i].file_bytes, FILE_BYTES);
        expect_bytes(i);
    }
    assert_int_equal(completions[2].result, -EFBIG);
    assert_int_equal(completions[2].file_bytes, FILE_BYTES);
    assert_int_equal(completions[3].result, -EISDIR);
    assert_int_equal(backend->ops->close(backend, 1000 * MS, NULL), 0);
}

/* Reads one whole file through the page cache; returns how many of its pages are cached
 * afterwards. */
static uint64_t read_whole(bool drops)
{
    sl_backend *backend = open_backend();
    cached_pages_fill(path);
    reads[0] = (sl_read){.kind = SL_READ_FILE,
                         .path = path,
                         .length = (uint32_t)FILE_BYTES,
                         .drop_cache = drops,
                         .buffer = slab.base};
    submit(backend, 1);
    reap_all(backend, 1);
    assert_int_equal(completions[0].result, FILE_BYTES);
    expect_bytes(0);
    assert_int_equal(backend->ops->close(backend, 1000 * MS, NULL), 0);
    return cached_pages_of(path).cached;
}

static void whole_files_that_are_dropped(void **state)
{
    if (ops != &sl_backend_pread) {
        return; /* not this backend's responsibility */
    }
    cached_pages_fill(path);
    if (!cached_pages_can_go(path)) {
        print_message("[  NOTE    ] the file system of %s drops no pages\n", path);
        skip();
    }
    assert_int_equal(read_whole(true), 0);
    /* the kernel may reclaim some of them meanwhile */
    assert_true(read_whole(false) > FILE_BYTES / (uint64_t)sysconf(_SC_PAGESIZE) / 2);
}

/* Results of 300 requests, one at a time, must be the same over every backend. */
static void faults_are_deterministic(void **state)
{
    if (fault != NULL) {
        return; /* it brings its own */
    }
    static int64_t first[300];
    static bool known;
    static const sl_fault_config all = {.seed = 99,
                                        .short_permille = 200,
                                        .late_permille = 100,
                                        .again_permille = 100,
                                        .eio_permille = 100,
                                        .dead_permille = 20,
                                        .lost_permille = 10};
    fault = &all;
    sl_backend *backend = open_backend();
    fault = NULL;
    uint32_t lost = 0;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < 300 && lost < DEPTH; i++) {
        sl_read *read = &reads[lost]; /* a lost one stays in use */
        *read = (sl_read){.fd = fd,
                          .offset = (uint64_t)i * 20000,
                          .length = 20000,
                          .buffer = slab.base + (size_t)lost * 20000};
        backend->ops->submit(backend, &read, 1);
        sl_completion one;
        uint32_t got = 0;
        /* Late reads take 5 ms of their thread, which has had its turn after as many waits here.
         * Reads known to be lost are not waited for that long. */
        const bool is_lost = known && first[i] == INT64_MIN;
        for (uint32_t turns = is_lost ? 5 : 60; got == 0 && turns > 0; turns--) {
            got = backend->ops->reap(backend, &one, 1, 10 * MS);
        }
        int64_t result = got == 1 ? one.result : INT64_MIN;
        lost += got == 0 ? 1 : 0;
        bad += result < 0 ? 1 : 0;
        if (!known) {
            first[i] = result;
        }
        assert_int_equal(result, first[i]);
    }
    known = true;
    assert_in_range(lost, 1, 20);
    assert_in_range(bad, lost + 30, 200);
    assert_int_equal(backend->ops->close(backend, 1000 * MS, NULL), 0);
}

static void kernels(void **state)
{
    static const char *const fit[] = {"5.15.90",        "5.15.167.4-microsoft-standard-WSL2",
                                      "6.1.0-18-amd64", "6.18.44",
                                      "7.0-rc1",        "10.2.3"};
    static const char *const unfit[] = {
        "4.4.0", "5.4.0-150-generic", "5.15.0-91-generic", "5.16.1", "6.0.12", "6", "", "5.10.234"};
    for (size_t i = 0; i < sizeof(fit) / sizeof(fit[0]); i++) {
        assert_true(sl_ring_kernel_fit(fit[i]));
    }
    for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++) {
        assert_false(sl_ring_kernel_fit(unfit[i]));
    }
}

/* After quick reads, one thread gets the whole queue; that must not last. */
static void no_read_waits_for_a_slow_one(void **state)
{
    enum { SLOW_BYTES = 24 << 20, QUICK_BYTES = 4096, QUICK = 20, LAPS = 5 };
    const int random_fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    assert_true(random_fd >= 0);
    sl_backend *backend = open_backend();
    for (uint32_t lap = 0; lap < LAPS; lap++) {
        for (uint32_t i = 0; i <= QUICK; i++) {
            reads[i] = (sl_read){.fd = fd,
                                 .length = QUICK_BYTES,
                                 .buffer = slab.base + SLOW_BYTES + (size_t)i * QUICK_BYTES};
        }
        submit(backend, QUICK);
        reap_all(backend, QUICK);
        reads[0].fd = random_fd;
        reads[0].length = SLOW_BYTES;
        reads[0].buffer = slab.base;
        submit(backend, QUICK + 1);
        uint32_t others = 0;
        while (others < QUICK) {
            sl_completion some[QUICK + 1];
            uint32_t got = backend->ops->reap(backend, some, QUICK + 1, 10000 * MS);
            assert_in_range(got, 1, QUICK);
            for (uint32_t i = 0; i < got; i++) {
                assert_ptr_not_equal(some[i].read, &reads[0]);
            }
            others += got;
        }
        assert_int_equal(backend->ops->reap(backend, completions, 1, 10000 * MS), 1);
        assert_ptr_equal(completions[0].read, &reads[0]);
        assert_true(completions[0].result > 0);
    }
    assert_int_equal(backend->ops->close(backend, 1000 * MS, NULL), 0);
    close(random_fd);
}

static int run(const char *name, const sl_backend_ops *with, const sl_fault_config *faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_arrive_once),
        cmocka_unit_test(wakes_and_timeouts),
        cmocka_unit_test(nothing_is_written_after_close),
        cmocka_unit_test(whole_files),
        cmocka_unit_test(whole_files_that_are_dropped),
        cmocka_unit_test(faults_are_deterministic),
    };
    ops = with;
    fault = faults;
    return cmocka_run_group_tests_name(name, tests, make_file, remove_file);
}

int main(void)
{
    const struct CMUnitTest pure[] = {cmocka_unit_test(kernels)};
    static const sl_fault_config no_faults = {.seed = 1};
    static const sl_fault_config late = {.seed = 1, .late_permille = 500};
    int failed = cmocka_run_group_tests_name("kernels", pure, NULL, NULL);
    failed += run("pread", &sl_backend_pread, NULL);
    /* uses the pool that run has just set */
    const struct CMUnitTest pool[] = {cmocka_unit_test(no_read_waits_for_a_slow_one)};
    failed += cmocka_run_group_tests_name("pread, slow", pool, make_file, remove_file);
    failed += run("fault over pread", &sl_backend_pread, &late);
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_uring_probe(&error) != SLUICE_OK) {
        print_message("[  SKIPPED ] uring: %s\n", error.text);
        return failed;
    }
    failed += run("uring", &sl_backend_uring, NULL);
    failed += run("fault over uring", &sl_backend_uring, &no_faults);
    return failed;
}

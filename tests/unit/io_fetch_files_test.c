/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, and files that are not as expected. */
#include "clock.h"
#include "io_harness.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static sluice_io_backend backend; /* the backend under test */
static io_harness h;
static char path[128];

static void begin(bool whole_files)
{
    io_harness_init(&h, backend);
    h.config.whole_objects = whole_files;
    h.release = IO_RELEASE_LATER;
}

static void finish(void)
{
    io_open(&h);
    io_run_all(&h);
}

static void expect_failed(uint32_t item, sluice_status status, int sys_errno)
{
    assert_int_equal(h.results[item].status, status);
    assert_int_equal(h.results[item].error.sys_errno, sys_errno);
    char file[128];
    io_path(&h, h.items[item].object, file, sizeof(file));
    assert_string_equal(h.results[item].error.file, file);
    assert_string_equal(h.results[item].error.stage, "io");
}

static void add_files(uint32_t count)
{
    for (uint32_t f = 0; f < count; f++) {
        io_make_file(&h, f, (uint64_t)f * f * 10);
        io_add(&h, f, 0, 0);
    }
}

static void files_of_all_sizes(void **state)
{
    for (int cache = SL_CACHE_BUFFERED; cache <= SL_CACHE_DROP; cache++) {
        begin(true);
        h.config.cache = (sl_cache_mode)cache;
        add_files(200);
        io_make_file(&h, 200, 3 * MIB); /* more than the arena: the first guess fails */
        h.config.arena_bytes = 1;
        io_add(&h, 200, 0, 0);
        io_add(&h, 199, 5000, 20000); /* and a part of one */
        finish();
        io_expect(&h, SLUICE_OK, 202);
        sl_fetch_stats stats = io_stats(&h);
        assert_string_equal(stats.backend, "pread");
        assert_true(stats.reason[0] != '\0');
        io_restart(&h);
        uint64_t wanted = 3 * MIB + 20000;
        for (uint64_t f = 0; f < 200; f++) {
            wanted += f * f * 10;
        }
        assert_int_equal(io_stats(&h).bytes_wanted, wanted);
        io_harness_destroy(&h);
    }
}

static void things_that_are_no_files(void **state)
{
    begin(true);
    add_files(3); /* the first is empty */
    io_path(&h, 10, path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    io_path(&h, 11, path, sizeof(path));
    assert_int_equal(mkfifo(path, 0600), 0);
    io_make_file(&h, 12, 5 * MIB); /* max_sample_bytes is 4 MiB */
    io_path(&h, 14, path, sizeof(path));
    assert_int_equal(symlink(path, path), 0);
    uint32_t folder = io_add(&h, 10, 0, 0);
    uint32_t fifo = io_add(&h, 11, 0, 0);
    uint32_t large = io_add(&h, 12, 0, 0);
    uint32_t missing = io_add(&h, 13, 0, 0);
    uint32_t loop = io_add(&h, 14, 0, 0);
    finish();
    io_expect(&h, SLUICE_OK, 3);
    expect_failed(folder, SLUICE_IO, EISDIR);
    expect_failed(fifo, SLUICE_IO, EINVAL);
    expect_failed(large, SLUICE_UNSUPPORTED, EFBIG);
    assert_non_null(strstr(h.results[large].error.text, "5242880"));
    assert_non_null(strstr(h.results[large].error.text, "4194304"));
    expect_failed(missing, SLUICE_IO, ENOENT);
    expect_failed(loop, SLUICE_IO, ELOOP);
    io_harness_destroy(&h);
}

static void parts_of_no_files(void **state)
{
    begin(false);
    io_make_file(&h, 0, 50000);
    io_path(&h, 10, path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    for (uint32_t i = 0; i < 20; i++) {
        io_add(&h, 0, (uint64_t)i * 2000, 2000);
    }
    uint32_t folder = io_add(&h, 10, 0, 100);
    uint32_t missing = io_add(&h, 13, 0, 100);
    uint32_t nothing = io_add(&h, 0, 100, 0);
    uint32_t nowhere = io_add(&h, 0, UINT64_MAX - 10, 100);
    finish();
    io_expect(&h, SLUICE_OK, 20);
    expect_failed(folder, SLUICE_IO, EISDIR);
    expect_failed(missing, SLUICE_IO, ENOENT);
    expect_failed(nothing, SLUICE_CORRUPT, 0);
    expect_failed(nowhere, SLUICE_CORRUPT, 0);
    io_harness_destroy(&h);
}

/* If a file is shorter than its index claims, the existing part is delivered and the rest fails. */
static void truncated_files(void **state)
{
    for (int cache = SL_CACHE_BUFFERED; cache <= SL_CACHE_DROP; cache++) {
        begin(false);
        h.config.cache = (sl_cache_mode)cache;
        io_make_file(&h, 0, 70500);
        for (uint32_t i = 0; i < 100; i++) {
            io_add(&h, 0, (uint64_t)(i * 37 % 100) * 1000, 1000); /* the first 70 are whole */
        }
        io_add(&h, 0, UINT64_C(1) << 40, 10);
        finish();
        io_expect(&h, SLUICE_OK, 70);
        io_expect(&h, SLUICE_CORRUPT, 31);
        for (uint32_t i = 0; i < 100; i++) {
            bool there = h.items[i].offset + 1000 <= 70500;
            assert_int_equal(h.results[i].status, there ? SLUICE_OK : SLUICE_CORRUPT);
            if (!there) {
                char expected[64];
                (void)snprintf(expected, sizeof(expected), "%u bytes expected, 70500 found",
                               (unsigned)h.items[i].offset + 1000);
                assert_non_null(strstr(h.results[i].error.text, expected));
            }
        }
        io_harness_destroy(&h);
    }
}

static _Atomic int cutting;

static void *cut_files(void *argument)
{
    (void)argument;
    char name[128];
    for (uint64_t bytes = 300000; bytes > 0 && atomic_load(&cutting) != 0; bytes -= 1000) {
        for (uint32_t f = 0; f < 4; f++) {
            io_path(&h, f, name, sizeof(name));
            (void)!truncate(name, (off_t)bytes);
        }
    }
    return NULL;
}

static void shrinking(bool whole)
{
    pthread_t cutter;
    begin(whole);
    /* A read concurrent with the truncation can see zeros past a new end. Fetch notices that for
     * whole files; shards' checksums do for parts. */
    h.zeros = !whole;
    for (uint32_t f = 0; f < 4; f++) {
        io_make_file(&h, f, 300000);
    }
    for (uint32_t i = 0; i < 600; i++) {
        io_add(&h, i % 4, whole ? 0 : (uint64_t)i * 400, whole ? 0 : 40000);
    }
    atomic_store(&cutting, 1);
    assert_int_equal(pthread_create(&cutter, NULL, cut_files, NULL), 0);
    finish();
    atomic_store(&cutting, 0);
    assert_int_equal(pthread_join(cutter, NULL), 0);
    assert_int_equal(h.wrong, 0);
    for (uint32_t i = 0; i < h.count; i++) {
        assert_int_equal(h.results[i].delivered, 1);
        sluice_status status = h.results[i].status;
        assert_true(status == SLUICE_OK || status == (whole ? SLUICE_IO : SLUICE_CORRUPT));
    }
    io_harness_destroy(&h);
}

/* Never a wrong byte, never a crash. */
static void files_that_shrink_while_being_read(void **state)
{
    shrinking(false);
    shrinking(true);
}

static void few_descriptors(bool whole)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    begin(whole);
    for (uint32_t f = 0; f < 30; f++) {
        io_make_file(&h, f, 3000);
    }
    for (uint32_t i = 0; i < 300; i++) {
        io_add(&h, i * 7 % 30, whole ? 0 : 100, whole ? 0 : 2000);
    }
    io_open(&h);
    int lowest = dup(0);
    struct rlimit few = {(rlim_t)lowest + 2, before.rlim_max};
    close(lowest);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    io_run_all(&h);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    io_expect(&h, SLUICE_OK, 300);
    io_harness_destroy(&h);
}

static void hardly_any_descriptors(void **state)
{
    few_descriptors(false);
    few_descriptors(true);
}

/* Becomes a user with only this process, because the kernel counts a user's locked memory over all
 * processes. */
static void be_another(void)
{
    const uid_t own = 20000 + (uid_t)getpid() % 40000;
    assert_int_equal(setresuid(own, own, 0), 0);
}

static void be_root(void)
{
    assert_int_equal(setresuid(0, 0, 0), 0);
}

/* Runs as an ordinary user who may lock hardly any memory. */
static void memory_that_may_not_be_locked(void **state)
{
    if (geteuid() != 0 || backend != SLUICE_IO_URING) {
        print_message("[  NOTE    ] root's io_uring only: the pool locks nothing\n");
        skip();
    }
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    const struct rlimit few = {65536, before.rlim_max};
    begin(false);
    io_make_file(&h, 0, 500000);
    io_path(&h, 0, path, sizeof(path));
    assert_int_equal(chmod(path, 0644) + chmod(h.folder, 0755), 0);
    for (uint32_t i = 0; i < 100; i++) {
        io_add(&h, 0, (uint64_t)i * 4000, 4000);
    }
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &few), 0);
    be_another();
    io_open(&h);
    io_run_all(&h);
    be_root();
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    io_expect(&h, SLUICE_OK, 100);
    io_harness_destroy(&h);
}

static void unreadable(void **state)
{
    if (geteuid() != 0) {
        print_message("[  NOTE    ] only root can become somebody else\n");
        skip();
    }
    begin(false);
    io_make_file(&h, 0, 5000);
    io_path(&h, 0, path, sizeof(path));
    assert_int_equal(chmod(path, 0600) + chmod(h.folder, 0755), 0);
    io_add(&h, 0, 0, 100);
    io_add(&h, 0, 100, 100);
    be_another();
    finish();
    be_root();
    io_expect(&h, SLUICE_IO, 2);
    expect_failed(0, SLUICE_IO, EACCES);
    io_harness_destroy(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_no_files),
        cmocka_unit_test(truncated_files),
        cmocka_unit_test(files_that_shrink_while_being_read),
        cmocka_unit_test(hardly_any_descriptors),
        cmocka_unit_test(memory_that_may_not_be_locked),
        cmocka_unit_test(unreadable),
    };
    const struct CMUnitTest of_files[] = {
        cmocka_unit_test(files_of_all_sizes),
        cmocka_unit_test(things_that_are_no_files),
    };
    int failed = 0;
    backend = SLUICE_IO_PREAD;
    failed += cmocka_run_group_tests_name("pread", tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("pread, files", of_files, NULL, NULL);
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_uring_probe(&error) != SLUICE_OK) {
        print_message("[  SKIPPED ] uring: %s\n", error.text);
        return failed;
    }
    backend = SLUICE_IO_URING;
    failed += cmocka_run_group_tests_name("uring", tests, NULL, NULL);
    return failed;
}

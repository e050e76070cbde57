/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage that does not answer (--wrap makes pread hang until close is over) delays neither close
 * nor later openings; the memory of its reads is freed when they return.
 */
#include "batches.h"
#include "loader_setup.h"
#include "packed.h"
#include "photo_folder.h"
#include "test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 60 };
#define MS UINT64_C(1000000)

static _Atomic int slow;     /* reads that begin now hang */
static _Atomic int released; /* hanging reads return */
static _Atomic int sleeping; /* number of hanging reads */
static _Atomic int slept;

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
ssize_t __real_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset);

ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
    if (atomic_load_explicit(&slow, memory_order_relaxed) != 0) {
        atomic_fetch_add_explicit(&sleeping, 1, memory_order_relaxed);
        const uint64_t begin = setup_now_ns();
        while (atomic_load_explicit(&released, memory_order_relaxed) == 0 &&
               setup_now_ns() - begin < TEST_PATIENCE_NS) {
            setup_sleep_ns(MS);
        }
        atomic_fetch_sub_explicit(&sleeping, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&slept, 1, memory_order_relaxed);
    }
    return __real_pread(fd, buffer, bytes, offset);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static int number_of(_Atomic int *what)
{
    return atomic_load_explicit(what, memory_order_relaxed);
}

static void wait_until_sleeping(void)
{
    while (number_of(&sleeping) == 0) {
        setup_sleep_ns(MS);
    }
}

/* Close returns although no read does. */
static void close_soon(sluice_loader *loader)
{
    sluice_loader_close(loader);
    assert_true(number_of(&sleeping) > 0);
}

/* For a dataset that is closed before its loader, and one that stays in use. */
static void close_while_reads_sleep(const char *path, uint64_t rows)
{
    sluice_loader_options options = setup_options();
    options.io_backend = SLUICE_IO_PREAD;
    options.page_cache = SLUICE_CACHE_BUFFERED;
    options.memory_bytes = UINT64_C(512) << 20;
    sluice_loader *loader = setup_loader(path, &options);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    atomic_store_explicit(&released, 0, memory_order_relaxed);
    atomic_store_explicit(&slow, 1, memory_order_relaxed);
    assert_int_equal(sluice_loader_start_epoch(loader, 5), SLUICE_OK);
    wait_until_sleeping();
    atomic_store_explicit(&slow, 0, memory_order_relaxed);
    close_soon(loader);
    batches all;
    loader = setup_loader(path, &options);
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_END);
    assert_int_equal(all.rows, rows);
    sluice_loader_close(loader);
    batches_free(&all);
    atomic_store_explicit(&released, 1, memory_order_relaxed);
    while (number_of(&sleeping) > 0) {
        setup_sleep_ns(10 * MS);
    }
    setup_sleep_ns(100 * MS); /* a sanitizer checks the memory freed meanwhile */
}

TEST(whole_files)
{
    photo_folder photos;
    photo_folder_make(&photos, 4, SAMPLES / 4);
    close_while_reads_sleep(photos.path, (uint64_t)SAMPLES / 8 * 8);
    photo_folder_remove(&photos);
}

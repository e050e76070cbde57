/* SPDX-License-Identifier: Apache-2.0 */
/* The page cache's contents, queried in every way the kernel offers. */
#include "page_cache.h"
#include "photo_folder.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, PIECE = 100000 };

static char folder[256];
static int file = -1;

static int make_file(void **state)
{
    char path[300];
    static uint8_t bytes[FILE_BYTES];
    temporary_directory(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    write_file(path, bytes, sizeof(bytes));
    file = open(path, O_RDONLY | O_CLOEXEC);
    return file < 0;
}

static int remove_file(void **state)
{
    close(file);
    remove_tree(folder);
    return 0;
}

static bool drop(void)
{
    return fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
}

static bool has(sl_page_cache *cache, uint64_t offset, uint64_t bytes)
{
    return sl_page_cache_has(cache, &(sl_cached_range){0, file, false, offset, bytes});
}

TEST(what_is_there_is_seen)
{
    static uint8_t piece[PIECE];
    for (int old = 0; old < 2; old++) {
        sl_page_cache cache;
        assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
        cache.no_cachestat = old != 0;
        assert_true(drop());
        assert_int_equal(pread(file, piece, PIECE, 0), PIECE);
        assert_true(has(&cache, 0, PIECE));
        assert_true(has(&cache, 4097, 1));
        assert_true(drop());
        const bool dropped = !has(&cache, 0, PIECE);
        if (cache.cannot_tell || !dropped) {
            print_message("this file system keeps its pages, or does not report them\n");
        } else {
            sl_page_cache_read_ahead(&(sl_cached_range){0, file, false, 0, PIECE});
            assert_int_equal(pread(file, piece, PIECE, 0), PIECE);
            assert_true(has(&cache, 0, PIECE));
        }
        assert_false(has(&cache, 2 * (uint64_t)FILE_BYTES, PIECE)); /* past the end */
        sl_page_cache_close(&cache);
    }
}

/* One page of a long range may be missing, but no more. */
TEST(a_page_may_be_missing)
{
    enum { PAGE = 4096, MISSING = 100 * PAGE };
    static uint8_t all[FILE_BYTES];
    sl_page_cache cache;
    assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
    assert_int_equal(pread(file, all, FILE_BYTES, 0), FILE_BYTES);
    assert_int_equal(fsync(file), 0);
    assert_int_equal(posix_fadvise(file, MISSING, PAGE, POSIX_FADV_DONTNEED), 0);
    const bool kept = has(&cache, MISSING, PAGE);
    if (kept || cache.no_cachestat) {
        print_message("this file system keeps its pages, or does not report each\n");
    } else {
        assert_true(has(&cache, 0, FILE_BYTES));
        assert_false(has(&cache, MISSING - PAGE, (uint64_t)10 * PAGE));
        assert_int_equal(posix_fadvise(file, MISSING, (off_t)64 * PAGE, POSIX_FADV_DONTNEED), 0);
        assert_false(has(&cache, 0, FILE_BYTES));
    }
    sl_page_cache_close(&cache);
}

/* Stable answers are queried less often; mixed ones every time. */
TEST(it_is_asked_when_in_doubt)
{
    static uint8_t piece[PIECE];
    sl_page_cache cache;
    assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
    assert_int_equal(pread(file, piece, PIECE, 0), PIECE);
    assert_false(sl_page_cache_is_warm(&cache, 0));
    for (int i = 0; i < 8; i++) {
        assert_false(sl_page_cache_is_warm(&cache, 0));
        assert_true(sl_page_cache_asks(&cache, 0));
        assert_true(has(&cache, 0, PIECE));
    }
    assert_true(sl_page_cache_is_warm(&cache, 0));
    for (int i = 0; i < 15; i++) {
        assert_false(sl_page_cache_asks(&cache, 0));
    }
    assert_true(sl_page_cache_asks(&cache, 0));
    assert_false(has(&cache, (uint64_t)1 << 40, 1)); /* past the end: never cached */
    assert_false(sl_page_cache_is_warm(&cache, 0));
    assert_true(sl_page_cache_asks(&cache, 0));
    for (int i = 0; i < 7; i++) {
        (void)has(&cache, (uint64_t)1 << 40, 1);
    }
    for (int i = 0; i < 63; i++) {
        assert_false(sl_page_cache_asks(&cache, 0));
    }
    assert_true(sl_page_cache_asks(&cache, 0));
    assert_false(sl_page_cache_asks(&cache, 1)); /* no such object */
    assert_false(sl_page_cache_is_warm(&cache, 1));
    sl_page_cache_close(&cache);
    sl_page_cache_close(&cache);
}

TEST(nobody_can_tell)
{
    sl_page_cache cache;
    assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
    assert_false(sl_page_cache_has(&cache, &(sl_cached_range){0, -1, false, 0, 1}));
    assert_true(cache.no_cachestat && cache.cannot_tell);
    assert_false(sl_page_cache_asks(&cache, 0));
    assert_false(sl_page_cache_is_warm(&cache, 0));
    sl_page_cache_close(&cache);
}

/* A descriptor that bypasses the page cache does not support the old query: the next one does. */
TEST(a_direct_descriptor_may_not_tell)
{
    sl_page_cache cache;
    assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
    assert_true(sl_page_cache_asks_direct(&cache, 0));
    assert_false(sl_page_cache_has(&cache, &(sl_cached_range){0, -1, true, 0, 1}));
    assert_true(cache.no_cachestat);
    assert_false(cache.cannot_tell);
    assert_true(sl_page_cache_asks(&cache, 0));
    assert_false(sl_page_cache_asks_direct(&cache, 0));
    sl_page_cache_close(&cache);
}

TEST_GROUP(make_file, remove_file)

/* SPDX-License-Identifier: Apache-2.0 */
/* The page cache's contents, queried in every way the kernel offers. */
#include "page_cache.h"
#include "test.h"
#include "test_folder.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, PIECE = 100000 };

static int file = -1;

static int make_file(void **state)
{
    static uint8_t bytes[FILE_BYTES];
    (void)test_folder_make(state);
    assert_int_equal(mkdir(test_path("layer"), 0755), 0);
    write_file(test_path("layer/file"), bytes, sizeof(bytes));
    file = open(test_path("layer/file"), O_RDONLY | O_CLOEXEC);
    return file < 0;
}

static int remove_file(void **state)
{
    close(file);
    while (umount2(test_path("over"), MNT_DETACH) == 0) { /* mounts of tests that failed */
    }
    return test_folder_remove(state);
}

static bool drop(void)
{
    return fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
}

static bool has_of(sl_page_cache *cache, int fd, uint64_t offset, uint64_t bytes)
{
    return sl_page_cache_has(cache, &(sl_cached_range){0, fd, false, offset, bytes});
}

static bool has(sl_page_cache *cache, uint64_t offset, uint64_t bytes)
{
    return has_of(cache, file, offset, bytes);
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
        const bool there = has(&cache, 0, PIECE);
        if (old && cache.cannot_tell) {
            print_message("this file system does not support RWF_NOWAIT\n"); /* such as tmpfs */
            sl_page_cache_close(&cache);
            continue;
        }
        assert_true(there);
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

/* Returns a descriptor of the file in an overlay over its folder; -1: mounting is not allowed, or
 * the folder's file system refuses the flags. */
static int open_in_overlay(int flags)
{
    char layers[1200];
    (void)mkdir(test_path("empty"), 0755);
    (void)mkdir(test_path("over"), 0755);
    (void)snprintf(layers, sizeof(layers), "lowerdir=%s:%s", test_path("layer"),
                   test_path("empty"));
    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("overlay", test_path("over"), "overlay", MS_RDONLY, layers) != 0) {
        return -1;
    }
    const int fd = open(test_path("over/file"), O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0) {
        assert_int_not_equal(flags, 0);
        assert_int_equal(umount(test_path("over")), 0);
    }
    return fd;
}

static void close_in_overlay(int fd)
{
    close(fd);
    assert_int_equal(umount(test_path("over")), 0);
}

/* Compares answers about the same pages. */
static void expect_same(sl_page_cache *plain, sl_page_cache *cache, int over, int page)
{
    enum { PAGE = 4096 };
    const uint64_t offset = (uint64_t)page * PAGE;
    assert_int_equal(has_of(cache, over, offset, PAGE), has(plain, offset, PAGE));
    if (!plain->no_cachestat) { /* else only the last page was looked at */
        assert_int_equal(has_of(cache, over, 0, FILE_BYTES), has(plain, 0, FILE_BYTES));
        assert_int_equal(has_of(cache, over, 0, PIECE), has(plain, 0, PIECE));
        assert_int_equal(has_of(cache, over, offset, PIECE), has(plain, offset, PIECE));
    }
    assert_false(cache->cannot_tell);
}

/* The pages belong to the layer's file, where cachestat and preadv2 do not look. */
TEST(an_overlay_has_the_pages_of_its_layer)
{
    enum { PAGE = 4096, MISSING = 100 };
    static uint8_t all[FILE_BYTES];
    const int over = open_in_overlay(0);
    if (over < 0) {
        print_message("cannot mount an overlay\n");
        skip();
    }
    for (int old = 0; old < 2; old++) {
        sl_page_cache plain;
        sl_page_cache cache;
        assert_int_equal(sl_page_cache_open(&plain, 1, NULL), SLUICE_OK);
        assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
        cache.no_cachestat = old != 0;
        assert_int_equal(pread(file, all, FILE_BYTES, 0), FILE_BYTES);
        assert_true(has_of(&cache, over, 0, FILE_BYTES));
        assert_true(has_of(&cache, over, 4097, 1));
        assert_int_equal(fsync(file), 0);
        for (int pages = 1; pages <= 64; pages *= 64) {
            assert_int_equal(posix_fadvise(file, (off_t)MISSING * PAGE, (off_t)pages * PAGE,
                                           POSIX_FADV_DONTNEED),
                             0);
            expect_same(&plain, &cache, over, MISSING);
        }
        assert_true(drop());
        expect_same(&plain, &cache, over, 0);
        assert_false(has_of(&cache, over, 2 * (uint64_t)FILE_BYTES, PIECE)); /* past the end */
        sl_page_cache_close(&plain);
        sl_page_cache_close(&cache);
    }
    close_in_overlay(over);
}

/* A likely miss is asked about by the descriptor that will read it. */
TEST(a_direct_descriptor_of_an_overlay_tells)
{
    static uint8_t piece[PIECE];
    sl_page_cache cache;
    const int over = open_in_overlay(O_DIRECT);
    if (over < 0) {
        print_message("cannot mount an overlay, or not read it with O_DIRECT\n");
        skip();
    }
    assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
    assert_int_equal(pread(file, piece, PIECE, 0), PIECE);
    const bool there = sl_page_cache_has(&cache, &(sl_cached_range){0, over, true, 0, PIECE});
    assert_true(there || cache.no_cachestat);
    assert_false(cache.cannot_tell);
    sl_page_cache_close(&cache);
    close_in_overlay(over);
}

/* The kernel calls all pages of foreign files cached: that is not believed. */
TEST(an_overlay_of_foreign_files_cannot_tell)
{
    enum { NOBODY = 65534 };
    static uint8_t piece[PIECE];
    sl_page_cache cache;
    const int over = geteuid() == 0 ? open_in_overlay(0) : -1;
    if (over < 0) {
        print_message("cannot mount an overlay of foreign files\n");
        skip();
    }
    assert_int_equal(sl_page_cache_open(&cache, 1, NULL), SLUICE_OK);
    assert_int_equal(pread(file, piece, PIECE, 0), PIECE);
    assert_int_equal(seteuid(NOBODY), 0);
    const bool there = sl_page_cache_has(&cache, &(sl_cached_range){0, over, false, 0, PIECE});
    assert_int_equal(seteuid(0), 0);
    assert_false(there);
    assert_true(cache.cannot_tell);
    sl_page_cache_close(&cache);
    close_in_overlay(over);
}

TEST_GROUP(make_file, remove_file)

/* SPDX-License-Identifier: Apache-2.0 */
/* The chunk cache on disk: any process finds written chunks, quotas hold, and evicted chunks stay
 * readable for their current readers. */
#include "chunk_list.h"
#include "chunk_rig.h"
#include "chunk_state.h"
#include "error.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CACHE_TEST(name) TEST_WITH(name, test_folder_make, test_folder_remove)
#define PLENTY           (UINT64_C(1) << 30)
#define SMALL_COST       (UINT64_C(4096) * 25) /* CHUNK_RIG_SMALL and its tail */

static sl_chunk_cache_stats stats_of(sl_chunk_cache *cache)
{
    sl_chunk_cache_stats stats;
    sl_chunk_cache_get_stats(cache, &stats);
    return stats;
}

/* Runs in a child, which must return true. */
static void in_child(bool (*run)(void *ctx), void *ctx)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(run(ctx) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

CACHE_TEST(a_chunk_is_found_as_it_was_written)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    const uint64_t bytes = SL_CHUNK_BYTES + 12345;
    sl_cached_object *object = chunk_rig_object(cache, 7, bytes);
    assert_int_equal(sl_cached_object_chunks(object), 2);
    assert_string_equal(sl_cached_object_address(object), "s3://b/7");
    for (uint64_t chunk = 0; chunk < 2; chunk++) {
        assert_int_equal(sl_chunk_look(object, chunk), SL_CHUNK_ABSENT);
        assert_int_equal(chunk_rig_check(object, 7, chunk), SL_CHUNK_ABSENT);
        assert_int_equal(chunk_rig_keep(object, 7, chunk), SLUICE_OK);
        assert_int_equal(chunk_rig_keep(object, 7, chunk), SLUICE_END);
        assert_int_equal(sl_chunk_look(object, chunk), SL_CHUNK_HERE);
        assert_int_equal(chunk_rig_check(object, 7, chunk), SL_CHUNK_HERE);
    }
    assert_int_equal(chunk_rig_check(object, 7, 2), SL_CHUNK_ABSENT);
    const sl_chunk_cache_stats stats = stats_of(cache);
    assert_int_equal(stats.written_bytes, bytes);
    assert_int_equal(stats.kept_bytes, SL_CHUNK_BYTES + UINT64_C(4096) * 5);
    assert_int_equal(stats.damaged, 0);
    assert_string_equal(stats.off, "");
    assert_int_equal(chunk_rig_count(SL_CHUNK_PART), 0);
    sl_chunk_cache_close(cache); /* the object still uses it */
    assert_int_equal(chunk_rig_check(object, 7, 1), SL_CHUNK_HERE);
    sl_cached_object_close(object);

    cache = chunk_rig_open(PLENTY); /* another instance finds and verifies it */
    object = chunk_rig_object(cache, 7, bytes);
    assert_int_equal(chunk_rig_check(object, 7, 0), SL_CHUNK_HERE);
    assert_int_equal(stats_of(cache).kept_bytes, stats.kept_bytes);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(chunks_are_of_one_address_etag_and_size)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 1, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_keep(object, 1, 0), SLUICE_OK);
    sl_cached_object *others[] = {
        sl_cached_object_open(cache, "s3://b/1", "\"other\"", CHUNK_RIG_SMALL),
        sl_cached_object_open(cache, "s3://b/11", "\"etag\"", CHUNK_RIG_SMALL),
        sl_cached_object_open(cache, "s3://b/1", "\"etag\"", CHUNK_RIG_SMALL + 1),
    };
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(others[i]);
        assert_int_equal(chunk_rig_check(others[i], 1, 0), SL_CHUNK_ABSENT);
        sl_cached_object_close(others[i]);
    }
    sl_cached_object *same = chunk_rig_object(cache, 1, CHUNK_RIG_SMALL);
    assert_ptr_equal(same, object);
    sl_cached_object_close(same);
    char long_text[SL_CHUNK_ADDRESS_MAX + 2];
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    assert_null(sl_cached_object_open(cache, long_text, "", 1));
    assert_null(sl_cached_object_open(cache, "s3://b/1", long_text, 1));
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

/* Two names with one hash cannot be made at will; a chunk under another chunk's name has the same
 * effect. */
CACHE_TEST(a_file_under_another_name_is_not_served)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *one = chunk_rig_object(cache, 1, CHUNK_RIG_SMALL);
    sl_cached_object *two = chunk_rig_object(cache, 2, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_keep(one, 1, 0), SLUICE_OK);
    assert_int_equal(link(chunk_rig_file(one, 0, ""), chunk_rig_file(two, 0, "")), 0);
    assert_int_equal(chunk_rig_check(two, 2, 0), SL_CHUNK_ABSENT);
    assert_int_equal(chunk_rig_keep(two, 2, 0), SLUICE_END);
    assert_int_equal(access(chunk_rig_file(two, 0, ""), F_OK), 0);
    assert_int_equal(chunk_rig_check(one, 1, 0), SL_CHUNK_HERE);
    sl_cached_object_close(one);
    sl_cached_object_close(two);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(a_chunk_that_is_removed_stays_readable)
{
    sl_chunk_use use;
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 3, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_keep(object, 3, 0), SLUICE_OK);
    assert_int_equal(sl_chunk_find(object, 0, &use), SL_CHUNK_HERE);
    assert_true(sl_chunk_remove(object, 0));
    assert_false(sl_chunk_remove(object, 0));
    assert_int_equal(stats_of(cache).kept_bytes, 0);
    assert_int_equal(chunk_rig_check(object, 3, 0), SL_CHUNK_ABSENT);
    uint8_t found[CHUNK_RIG_SMALL];
    uint8_t *expected = chunk_rig_bytes(3, 0, sizeof(found));
    assert_int_equal(pread(use.fd, found, sizeof(found), 0), sizeof(found));
    assert_memory_equal(found, expected, sizeof(found));
    sl_free(expected);
    const int fd = use.fd;
    sl_chunk_done(object, &use);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* otherwise its blocks would stay allocated */
    assert_int_equal(chunk_rig_keep(object, 3, 0), SLUICE_OK);
    assert_int_equal(chunk_rig_check(object, 3, 0), SL_CHUNK_HERE);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

/* Another process removes chunks that this process has open but does not use. */
CACHE_TEST(descriptors_of_removed_chunks_are_closed)
{
    enum { COUNT = 24 };
    int fds[COUNT];
    sl_chunk_use use;
    sl_cached_object *objects[COUNT];
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    chunk_rig_fill(cache, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        objects[i] = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        assert_int_equal(sl_chunk_find(objects[i], 0, &use), SL_CHUNK_HERE);
        fds[i] = use.fd;
        sl_chunk_done(objects[i], &use);
        assert_int_equal(unlink(chunk_rig_file(objects[i], 0, "")), 0);
    }
    /* Each time it opens a chunk, the cache checks some others. */
    sl_cached_object *other = chunk_rig_object(cache, COUNT, 100);
    assert_int_equal(chunk_rig_keep(other, COUNT, 0), SLUICE_OK);
    for (unsigned i = 0; i < 2 * SL_CHUNK_ENTRIES_MAX; i++) {
        assert_int_equal(chunk_rig_check(other, COUNT, 0), SL_CHUNK_HERE);
        sl_lock(&cache->mutex);
        sl_chunk_left left;
        sl_chunk_table_forget(&cache->table, sl_chunk_table_find(&cache->table, other, 0), &left);
        const int old = sl_chunk_cache_settle(&left);
        sl_unlock(&cache->mutex);
        (void)close(old);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        struct stat facts;
        assert_true(fstat(fds[i], &facts) != 0 || facts.st_nlink > 0);
        sl_cached_object_close(objects[i]);
    }
    sl_cached_object_close(other);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(descriptors_are_limited)
{
    enum { COUNT = 40, LIMIT = 64 };
    struct rlimit before;
    struct rlimit low;
    sl_cached_object *objects[COUNT];
    sl_chunk_use uses[COUNT];
    unsigned open_now = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    chunk_rig_fill(cache, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        objects[i] = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        assert_int_equal(chunk_rig_check(objects[i], i, 0), SL_CHUNK_HERE); /* one at a time */
    }
    for (unsigned i = 0; i < COUNT; i++) {
        if (sl_chunk_find(objects[i], 0, &uses[open_now]) == SL_CHUNK_HERE) {
            open_now++;
        }
    }
    assert_int_equal(open_now, LIMIT / 4);
    for (unsigned i = 0; i < open_now; i++) {
        sl_chunk_done(objects[i], &uses[i]);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(chunk_rig_check(objects[i], i, 0), SL_CHUNK_HERE);
        sl_cached_object_close(objects[i]);
    }
    sl_chunk_cache_close(cache);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

CACHE_TEST(a_lack_of_descriptors_passes)
{
    struct rlimit before;
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit low = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    const sluice_status status = chunk_rig_keep(object, 0, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, SLUICE_IO);
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_END); /* not at once */
    assert_non_null(strstr(stats_of(cache).off, "Too many open files"));
    assert_true(cache->off_until_ns != UINT64_MAX);
    cache->off_until_ns = 1;
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_OK);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

/* ---- chunks that verifying cannot read ---- */

static void lower_limit(void *ctx, uint64_t done, uint64_t all)
{
    const struct rlimit *low = ctx;
    (void)done;
    (void)all;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, low), 0);
}

static void remove_all(void *ctx, uint64_t done, uint64_t all)
{
    sl_cached_object **objects = ctx;
    (void)done;
    (void)all;
    for (unsigned i = 0; objects[i] != NULL; i++) {
        (void)sl_chunk_remove(objects[i], 0);
    }
}

CACHE_TEST(a_chunk_that_cannot_be_read_is_not_called_good)
{
    struct rlimit before;
    struct rlimit low;
    sl_chunk_work work;
    sl_cached_object *objects[4] = {NULL};
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_chunk_progress lowering = {.progress = lower_limit, .ctx = &low};
    const sl_chunk_progress removing = {.progress = remove_all, .ctx = objects};
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    chunk_rig_fill(cache, 3);
    for (unsigned i = 0; i < 3; i++) {
        objects[i] = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    const sluice_status status = sl_chunk_list_verify(chunk_rig_folder(), &lowering, &work, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, SLUICE_IO);
    assert_int_equal(error.sys_errno, EMFILE);
    assert_int_equal(work.chunks, 1);
    /* A chunk that another process removes is not a failure. */
    assert_int_equal(sl_chunk_list_verify(chunk_rig_folder(), &removing, &work, &error), SLUICE_OK);
    assert_int_equal(work.chunks, 1);
    assert_int_equal(work.damaged, 0);
    for (unsigned i = 0; i < 3; i++) {
        sl_cached_object_close(objects[i]);
    }
    sl_chunk_cache_close(cache);
}

/* ---- quotas ---- */

CACHE_TEST(a_quota_is_kept)
{
    sl_chunk_cache *cache = chunk_rig_open(5 * SMALL_COST);
    assert_int_equal(sl_chunk_cache_space(cache), 5 * SMALL_COST);
    chunk_rig_fill(cache, 5);
    assert_int_equal(sl_chunk_cache_space(cache), 0);
    sl_cached_object *object = chunk_rig_object(cache, 5, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_keep(object, 5, 0), SLUICE_END);
    sl_cached_object *first = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    assert_true(sl_chunk_remove(first, 0));
    assert_int_equal(sl_chunk_cache_space(cache), SMALL_COST);
    assert_int_equal(chunk_rig_keep(object, 5, 0), SLUICE_OK);
    assert_string_equal(stats_of(cache).off, "");
    sl_cached_object_close(object);
    sl_cached_object_close(first);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(a_quota_may_be_smaller_than_a_chunk)
{
    sl_chunk_cache *cache = chunk_rig_open(1000);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_END);
    assert_int_equal(sl_chunk_cache_make_space(cache, SMALL_COST), 1000);
    assert_int_equal(chunk_rig_check(object, 0, 0), SL_CHUNK_ABSENT);
    assert_int_equal(chunk_rig_count(""), 0);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(without_a_quota_it_takes_what_is_free)
{
    sl_chunk_cache *cache = chunk_rig_open(0);
    const sl_chunk_cache_stats stats = stats_of(cache);
    assert_true(stats.most_bytes > 0);
    assert_int_equal(sl_chunk_cache_space(cache), stats.most_bytes);
    sl_chunk_cache_close(cache);
}

static void use_at(const sl_cached_object *object, time_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_nsec = UTIME_OMIT}};
    assert_int_equal(utimensat(AT_FDCWD, chunk_rig_file(object, 0, ""), times, 0), 0);
}

CACHE_TEST(space_is_made_of_what_was_used_least_recently)
{
    enum { COUNT = 6 };
    const time_t used[COUNT] = {500, 300, 4000000000, 100, 400, 200};
    sl_chunk_cache *cache = chunk_rig_open(COUNT * SMALL_COST);
    chunk_rig_fill(cache, COUNT);
    sl_cached_object *open_one = NULL;
    for (unsigned i = 0; i < COUNT; i++) {
        sl_cached_object *object = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        use_at(object, used[i]);
        if (i == 5) {
            open_one = object; /* and is kept */
        } else {
            sl_cached_object_close(object);
        }
    }
    assert_int_equal(sl_chunk_cache_make_space(cache, 2 * SMALL_COST), 2 * SMALL_COST);
    assert_int_equal(stats_of(cache).removed, 2);
    for (unsigned i = 0; i < COUNT; i++) {
        sl_cached_object *object = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        assert_int_equal(sl_chunk_look(object, 0),
                         i == 3 || i == 1 ? SL_CHUNK_ABSENT : SL_CHUNK_HERE);
        sl_cached_object_close(object);
    }
    /* More than can be removed: the open object's chunk stays. */
    assert_int_equal(sl_chunk_cache_make_space(cache, COUNT * SMALL_COST), 5 * SMALL_COST);
    assert_int_equal(chunk_rig_check(open_one, 5, 0), SL_CHUNK_HERE);
    sl_cached_object_close(open_one);
    sl_chunk_cache_close(cache);
}

/* A use renews a chunk, even if its time is in the future, as after a clock was set back. */
CACHE_TEST(a_use_is_noted)
{
    const time_t times[] = {1000, 4000000000};
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_OK);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
    for (unsigned i = 0; i < 2; i++) {
        struct stat facts;
        cache = chunk_rig_open(PLENTY);
        object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
        use_at(object, times[i]);
        assert_int_equal(chunk_rig_check(object, 0, 0), SL_CHUNK_HERE);
        assert_int_equal(stat(chunk_rig_file(object, 0, ""), &facts), 0);
        const time_t now = time(NULL);
        assert_true(facts.st_atim.tv_sec >= now - 60 && facts.st_atim.tv_sec <= now + 60);
        sl_cached_object_close(object);
        sl_chunk_cache_close(cache);
    }
}

static bool has_smaller_quota(void *ctx)
{
    (void)ctx;
    sl_chunk_cache *cache = chunk_rig_open(2 * SMALL_COST);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    sl_cached_object *new_one = chunk_rig_object(cache, 9, CHUNK_RIG_SMALL);
    const bool good = chunk_rig_check(object, 0, 0) == SL_CHUNK_HERE &&
                      sl_chunk_cache_space(cache) == 0 &&
                      chunk_rig_keep(new_one, 9, 0) == SLUICE_END &&
                      sl_chunk_cache_make_space(cache, SMALL_COST) == 0;
    sl_cached_object_close(object);
    sl_cached_object_close(new_one);
    sl_chunk_cache_close(cache);
    return good;
}

CACHE_TEST(a_job_with_a_smaller_quota_leaves_the_other_alone)
{
    sl_chunk_cache *cache = chunk_rig_open(8 * SMALL_COST);
    chunk_rig_fill(cache, 4);
    in_child(has_smaller_quota, NULL);
    assert_int_equal(chunk_rig_count(""), 4);
    sl_chunk_cache_close(cache);
    /* As the only user, it reduces the cache. */
    cache = chunk_rig_open(2 * SMALL_COST);
    assert_int_equal(sl_chunk_cache_make_space(cache, SMALL_COST), SMALL_COST);
    assert_int_equal(chunk_rig_count(""), 1);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(the_count_is_repaired)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    chunk_rig_fill(cache, 3);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    /* A file removed while the cache is open: noticed when it is due for removal. */
    assert_int_equal(unlink(chunk_rig_file(object, 0, "")), 0);
    assert_int_equal(stats_of(cache).kept_bytes, 3 * SMALL_COST);
    assert_false(sl_chunk_remove(object, 0));
    assert_int_equal(sl_chunk_cache_space(cache), PLENTY - 2 * SMALL_COST);
    /* A file removed while the cache is closed. */
    const char *gone = chunk_rig_file(object, 0, "");
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
    const struct timespec tick = {.tv_nsec = 20000000}; /* folder times have coarse ticks */
    (void)nanosleep(&tick, NULL);
    write_file(gone, "x", 1);
    cache = chunk_rig_open(PLENTY);
    assert_int_equal(stats_of(cache).kept_bytes, 2 * SMALL_COST + 4096);
    sl_chunk_cache_close(cache);
    /* The ledger contains garbage or is empty. */
    for (uint32_t bytes = 0; bytes <= 64; bytes += 32) {
        char garbage[64];
        memset(garbage, 'g', sizeof(garbage));
        assert_int_equal(truncate(test_path("cache/chunks-1/ledger"), 0), 0);
        write_file(test_path("cache/chunks-1/ledger"), garbage, bytes);
        cache = chunk_rig_open(PLENTY);
        assert_int_equal(stats_of(cache).kept_bytes, 2 * SMALL_COST + 4096);
        sl_chunk_cache_close(cache);
    }
}

CACHE_TEST(reads_are_counted)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    sl_chunk_note(object, 10, true);
    sl_chunk_note(object, 20, false);
    sl_chunk_note(object, 30, true);
    const sl_chunk_cache_stats stats = stats_of(cache);
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.hit_bytes, 40);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.miss_bytes, 20);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(bytes_of_the_wrong_count_are_refused)
{
    sl_chunk_part *part;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    assert_int_equal(sl_chunk_begin(object, 0, &part, &error), SLUICE_OK);
    assert_int_equal(sl_chunk_keep(part, "abc", 3, &error), SLUICE_INVALID);
    assert_int_equal(chunk_rig_count(SL_CHUNK_PART), 0);
    assert_int_equal(stats_of(cache).kept_bytes, 0);
    sl_cached_object *empty = chunk_rig_object(cache, 1, 0);
    assert_int_equal(sl_cached_object_chunks(empty), 0);
    assert_int_equal(chunk_rig_check(empty, 1, 0), SL_CHUNK_ABSENT);
    assert_int_equal(chunk_rig_keep(empty, 1, 0), SLUICE_END);
    /* A size claimed by a server uses no memory. */
    sl_cached_object *huge = chunk_rig_object(cache, 2, UINT64_MAX);
    assert_int_equal(chunk_rig_check(huge, 2, UINT64_MAX / SL_CHUNK_BYTES), SL_CHUNK_ABSENT);
    sl_cached_object_close(huge);
    sl_cached_object_close(empty);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

/* ---- several at once ---- */

CACHE_TEST(a_chunk_has_one_writer)
{
    sl_chunk_part *part;
    sl_chunk_part *second;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    assert_int_equal(sl_chunk_begin(object, 0, &part, &error), SLUICE_OK);
    assert_int_equal(chunk_rig_check(object, 0, 0), SL_CHUNK_COMING);
    assert_int_equal(sl_chunk_look(object, 0), SL_CHUNK_COMING);
    assert_int_equal(sl_chunk_begin(object, 0, &second, &error), SLUICE_AGAIN);
    assert_int_equal(stats_of(cache).waits, 1);
    assert_int_equal(sl_chunk_cache_space(cache), PLENTY - SMALL_COST);
    sl_chunk_drop(part);
    assert_int_equal(sl_chunk_cache_space(cache), PLENTY);
    assert_int_equal(sl_chunk_look(object, 0), SL_CHUNK_ABSENT);
    assert_int_equal(chunk_rig_count(SL_CHUNK_PART), 0);
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_OK);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

typedef struct crowd {
    sl_chunk_cache *cache;
    _Atomic unsigned kept, bad;
} crowd;

enum { CROWD_OBJECTS = 24, CROWD_ROUNDS = 12 };

/* Reads, writes and removes the same few chunks as the others. */
static void crowd_run(void *argument)
{
    crowd *c = argument;
    for (unsigned i = 0; i < CROWD_OBJECTS * CROWD_ROUNDS; i++) {
        sl_chunk_use use;
        uint8_t found[8];
        const unsigned number = i * 7 % CROWD_OBJECTS;
        char address[32];
        (void)snprintf(address, sizeof(address), "s3://b/%u", number);
        sl_cached_object *object = sl_cached_object_open(c->cache, address, "\"etag\"", 5000);
        sl_chunk_part *part;
        if (sl_chunk_begin(object, 0, &part, NULL) == SLUICE_OK) {
            uint8_t *bytes = chunk_rig_bytes(number, 0, 5000);
            c->kept += sl_chunk_keep(part, bytes, 5000, NULL) == SLUICE_OK;
            sl_free(bytes);
        }
        if (sl_chunk_find(object, 0, &use) == SL_CHUNK_HERE) {
            uint8_t *bytes = chunk_rig_bytes(number, 0, sizeof(found));
            c->bad += pread(use.fd, found, sizeof(found), 0) != sizeof(found) ||
                      memcmp(found, bytes, sizeof(found)) != 0;
            sl_free(bytes);
            sl_chunk_done(object, &use);
        }
        if (i % 5 == 0) {
            (void)sl_chunk_remove(object, 0);
        }
        sl_cached_object_close(object);
    }
}

CACHE_TEST(threads_share_a_cache)
{
    enum { THREADS = 4 };
    sl_thread threads[THREADS] = {{0}};
    crowd c = {.cache = chunk_rig_open(UINT64_C(16) * 8192)};
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(sl_thread_start(&threads[i], "crowd", crowd_run, &c, NULL), SLUICE_OK);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        sl_thread_join(&threads[i]);
    }
    assert_true(c.kept > 0);
    assert_int_equal(c.bad, 0);
    const sl_chunk_cache_stats stats = stats_of(c.cache);
    assert_int_equal(stats.damaged, 0);
    assert_int_equal(stats.kept_bytes, (uint64_t)chunk_rig_count("") * 8192);
    assert_true(stats.kept_bytes <= stats.most_bytes);
    assert_int_equal(chunk_rig_count(SL_CHUNK_PART), 0);
    sl_chunk_cache_close(c.cache);
}

/* Meanwhile the table of objects grows twice. */
CACHE_TEST(objects_are_found_as_they_become_many)
{
    enum { MANY = 200 };
    static sl_cached_object *objects[MANY];
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    for (unsigned i = 0; i < MANY; i++) {
        objects[i] = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        for (unsigned k = 0; k <= i; k++) {
            assert_ptr_equal(sl_chunk_cache_object(cache, objects[k]->hash), objects[k]);
        }
    }
    for (unsigned i = 0; i < MANY; i++) {
        sl_cached_object_close(objects[i]);
    }
    sl_chunk_cache_close(cache);
}

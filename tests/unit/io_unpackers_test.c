/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetch over compressed files made by zlib: items due in a different order than read, in a buffer
 * with space for one set of them; cancels and damage in the middle; each byte is unpacked once.
 */
#include "clock.h"
#include "fetch.h"
#include "file.h"
#include "memory.h"
#include "read_arena.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ZLIB_CONST
#include <zlib.h>

#include "photo_folder.h"
#include "test.h"

#define UNIT     ((uint32_t)SL_ARENA_UNIT)
#define MERGED   40000
#define WAIT_NS  ((uint64_t)60000000000)
#define MIB      ((uint64_t)1 << 20)
#define FAILED   ((uint8_t)2)
#define CANCELED ((uint8_t)3)

enum { FILES = 5, FILE_BYTES = 5 << 18, ITEMS_MAX = 4000, SPREAD = 200, LOOKAHEAD = 500 };

static char folder[256];
static uint8_t data[FILES][FILE_BYTES];
static bool written[FILES]; /* packed by write_all and unchanged */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    sl_fetch *fetch;
    sl_objects *objects;
    sl_file_identity identities[FILES];
    bool plain[FILES];
    sl_fetch_item items[ITEMS_MAX];
    uint32_t count;
    /* guarded by mutex */
    uint32_t asked, delivered;
    uint64_t credit; /* credit given */
    uint8_t results[ITEMS_MAX + 3];
    sluice_error error; /* the last error */
    uint32_t handles[ITEMS_MAX + 3], held;
    bool holds; /* handles are released by the waiting thread */
} t;

TEST_OWN_MEMORY static uint32_t below(uint32_t *seed, uint32_t bound)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % bound;
}

/* ---- files ---- */

static void path_of_file(uint32_t number, char *path, size_t bytes)
{
    assert_true((size_t)snprintf(path, bytes, "%s/%u", folder, number) < bytes);
}

static void write_gzip(uint32_t number, int level, size_t flip_at)
{
    static uint8_t packed[FILE_BYTES + 65536];
    char path[300];
    struct stat found;
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = data[number];
    z.avail_in = FILE_BYTES;
    z.next_out = packed;
    z.avail_out = sizeof(packed);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    if (flip_at > 0)
        packed[flip_at] ^= 4;
    path_of_file(number, path, sizeof(path));
    write_file(path, packed, (uint32_t)z.total_out);
    assert_int_equal(deflateEnd(&z), Z_OK);
    assert_int_equal(stat(path, &found), 0);
    t.identities[number] = sl_file_identity_of(&found);
    t.plain[number] = false;
    written[number] = false;
}

static void write_plain(uint32_t number)
{
    char path[300];
    struct stat found;
    path_of_file(number, path, sizeof(path));
    write_file(path, data[number], FILE_BYTES);
    assert_int_equal(stat(path, &found), 0);
    t.identities[number] = sl_file_identity_of(&found);
    t.plain[number] = true;
    written[number] = false;
}

static sluice_status object_path(void *ctx, uint32_t object, char *path, size_t bytes)
{
    (void)ctx;
    path_of_file(object, path, bytes);
    return SLUICE_OK;
}

static sl_packed object_packed(void *ctx, uint32_t object)
{
    (void)ctx;
    return (sl_packed){.packing = t.plain[object] ? SL_PACKING_NONE : SL_PACKING_GZIP,
                       .file = t.identities[object]};
}

TEST_OWN_MEMORY static int set_up(void **state)
{
    uint32_t seed = 5;
    temporary_directory(folder, sizeof(folder));
    for (uint32_t f = 0; f < FILES; f++) {
        for (uint32_t i = 0; i < FILE_BYTES; i++)
            data[f][i] = (uint8_t)below(&seed, i / 4096 % 2 == 0 ? 256 : 3);
    }
    sl_mutex_init(&t.mutex);
    sl_cond_init(&t.changed);
    return 0;
}

static int tear_down(void **state)
{
    remove_tree(folder);
    sl_cond_destroy(&t.changed);
    sl_mutex_destroy(&t.mutex);
    return 0;
}

/* ---- the source ---- */

static sluice_status next(void *ctx, sl_fetch_item *item)
{
    (void)ctx;
    sl_lock(&t.mutex);
    const bool there = t.asked < t.count;
    if (there) {
        *item = t.items[t.asked];
        item->tag = t.asked++;
    }
    sl_unlock(&t.mutex);
    return there ? SLUICE_OK : SLUICE_END;
}

static uint8_t result_of(const sl_fetch_item *item, sluice_status status,
                         const sl_fetch_bytes *bytes)
{
    if (status == SLUICE_CANCELED)
        return CANCELED;
    if (status != SLUICE_OK)
        return FAILED;
    const uint8_t *right = data[item->object] + item->offset;
    return bytes->bytes.size == item->bytes && memcmp(bytes->bytes.data, right, item->bytes) == 0;
}

static void deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                    const sl_fetch_bytes *bytes, const sluice_error *error)
{
    (void)ctx;
    uint32_t release = SL_HANDLE_NONE;
    const uint8_t result = result_of(item, status, bytes);
    sl_lock(&t.mutex);
    assert_int_equal(t.results[item->tag], 0);
    assert_true(status == SLUICE_CANCELED || item->due < t.credit);
    t.results[item->tag] = result == 0 ? 9 : result;
    t.delivered++;
    if (status == SLUICE_OK && t.holds) {
        t.handles[t.held++] = bytes->handle;
    } else if (status == SLUICE_OK) {
        release = bytes->handle;
    } else if (status != SLUICE_CANCELED) {
        t.error = *error;
    }
    sl_cond_signal(&t.changed);
    sl_unlock(&t.mutex);
    if (release != SL_HANDLE_NONE)
        sl_fetch_release(t.fetch, &release, 1);
}

/* Items of 1 .. most bytes from front to back through all files in parallel; sets that fit into
 * `units` are mixed. */
static void make_items(uint32_t most, uint32_t units, uint32_t *seed)
{
    uint64_t at[FILES] = {0};
    uint32_t used = 0;
    uint32_t first = 0;
    t.count = 0;
    for (uint32_t left = FILES; left > 0 && t.count < ITEMS_MAX;) {
        const uint32_t f = below(seed, FILES);
        const uint32_t bytes = below(seed, 3) > 0 ? 1 + below(seed, most) : 1 + below(seed, 2000);
        if (at[f] == FILE_BYTES)
            continue;
        const uint64_t rest = FILE_BYTES - at[f];
        const bool last = rest <= bytes;
        t.items[t.count] = (sl_fetch_item){.object = f,
                                           .offset = at[f],
                                           .bytes = (uint32_t)(last ? rest : bytes),
                                           .due = t.count,
                                           .pass = 100 + f,
                                           .end = last ? SL_PASS_FINISHES : SL_PASS_GOES_ON};
        const uint32_t own = (t.items[t.count].bytes + 64 + UNIT - 1) / UNIT;
        if (used + own > units || t.count - first == SPREAD) {
            first = t.count;
            used = 0;
        }
        used += own;
        const uint32_t other = first + below(seed, t.count - first + 1);
        t.items[t.count].due = t.items[other].due;
        t.items[other].due = t.count++;
        at[f] = last ? FILE_BYTES : at[f] + bytes;
        left -= last;
        if (!last && below(seed, 4) == 0 && at[f] + 5000 < FILE_BYTES)
            at[f] += below(seed, 5000); /* not requested */
    }
}

/* ---- runs ---- */

static void begin(void)
{
    t.asked = t.delivered = t.held = 0;
    t.credit = 0;
    memset(t.results, 0, sizeof(t.results));
}

static void open_fetch_merging(uint64_t arena, uint32_t threads, uint32_t depth, uint64_t merged)
{
    const sl_object_names names = {.count = FILES, .path = object_path, .packed = object_packed};
    const sl_fetch_config config = {.objects = NULL,
                                    .packed = true,
                                    .unpack_threads = threads,
                                    .unpack_passes = FILES,
                                    .spread = SPREAD,
                                    .cache = SL_CACHE_BUFFERED,
                                    .depth = depth,
                                    .threads = 2,
                                    .lookahead = LOOKAHEAD,
                                    .inserts = 4,
                                    .arena_bytes = arena,
                                    .max_sample_bytes = MIB,
                                    .stall_warn_ns = WAIT_NS,
                                    .stall_fail_ns = WAIT_NS,
                                    .merge_gap_bytes = 100,
                                    .merge_bytes = merged};
    const sl_fetch_source source = {.next = next, .deliver = deliver};
    sl_fetch_config own = config;
    begin();
    assert_int_equal(sl_objects_open(&t.objects, &names, NULL), SLUICE_OK);
    own.objects = t.objects;
    assert_int_equal(sl_fetch_open(&t.fetch, &own, &source, NULL), SLUICE_OK);
}

static void open_fetch(uint64_t arena, uint32_t threads, uint32_t depth)
{
    open_fetch_merging(arena, threads, depth, MERGED);
}

static void close_fetch(void)
{
    sl_fetch_release(t.fetch, t.handles, t.held);
    sl_fetch_close(t.fetch);
    sl_objects_close(t.objects);
}

static void give_credit(uint64_t credit)
{
    sl_lock(&t.mutex);
    t.credit = credit;
    sl_unlock(&t.mutex);
    sl_fetch_credit(t.fetch, credit);
}

/* Releases the item held for longest; needs the mutex. */
static void release_one_locked(void)
{
    const uint32_t handle = t.handles[0];
    t.held--;
    memmove(t.handles, t.handles + 1, t.held * sizeof(*t.handles));
    sl_unlock(&t.mutex);
    sl_sleep_until_ns(sl_now_ns() + 300000); /* meanwhile the thread has nothing to do */
    sl_fetch_release(t.fetch, &handle, 1);
    sl_lock(&t.mutex);
}

/* Waits until `count` items were delivered. */
static bool wait_for(uint32_t count)
{
    const uint64_t deadline = sl_now_ns() + WAIT_NS;
    bool in_time = true;
    sl_lock(&t.mutex);
    while (in_time && t.delivered < count) {
        if (t.held > 0) {
            release_one_locked();
        } else {
            in_time = sl_cond_wait_until(&t.changed, &t.mutex, deadline);
        }
    }
    sl_unlock(&t.mutex);
    return in_time;
}

/* Takes steps of `step` rows, one after the other or a few at once. */
static void run_all(uint32_t step)
{
    for (uint32_t credit = step; credit < t.count + step; credit += step) {
        const uint32_t now = credit < t.count ? credit : t.count;
        give_credit(now);
        assert_true(wait_for(now));
    }
}

static uint32_t count_results(uint8_t result)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < t.count; i++)
        found += t.results[i] == result;
    return found;
}

static sl_fetch_stats stats_of(void)
{
    sl_fetch_stats stats;
    sl_fetch_wake(t.fetch);
    sl_sleep_until_ns(sl_now_ns() + 20000000);
    sl_fetch_get_stats(t.fetch, &stats);
    return stats;
}

/* Packs the files whose packed form was changed since the last call. */
static void write_all(void)
{
    for (uint32_t f = 0; f < FILES; f++) {
        if (!written[f])
            write_gzip(f, 1, 0);
        written[f] = true;
    }
}

/* ---- tests ---- */

TEST(each_byte_comes_out_once)
{
    uint32_t seed = 1;
    write_all();
    for (uint32_t round = 0; round < 3; round++) {
        make_items(round == 0 ? 15000 : 100000, 300, &seed);
        open_fetch(16 * MIB, 1 + 2 * round, round == 1 ? 2 : 32);
        run_all(17);
        const sl_fetch_stats stats = stats_of();
        assert_int_equal(count_results(1), t.count);
        assert_int_equal(stats.unpacked.bytes, (uint64_t)FILES * FILE_BYTES);
        assert_int_equal(stats.unpacked.restarts, 0);
        assert_true(stats.unpacked.ns > 0 && stats.bytes_read < stats.unpacked.bytes);
        assert_string_equal(stats.backend, "unpack");
        close_fetch();
    }
}

/* Sets of up to all of the 128 units: unless kept items are moved, some would never fit. */
TEST(a_buffer_of_one_set)
{
    uint32_t seed = 2;
    write_all();
    for (uint32_t round = 0; round < 8; round++) {
        make_items(round % 2 == 0 ? 900000 : 200000, 128, &seed);
        open_fetch_merging(1, 3, 8, 0);
        t.holds = round >= 3;
        run_all(round >= 5 ? t.count : 5); /* at once: only releases wake the thread */
        assert_int_equal(count_results(1), t.count);
        assert_int_equal(stats_of().unpacked.restarts, 0);
        close_fetch();
        t.holds = false;
    }
}

TEST(beside_plain_files)
{
    uint32_t seed = 3;
    write_all();
    write_plain(1);
    write_plain(3);
    make_items(50000, 300, &seed);
    open_fetch(16 * MIB, 2, 16);
    run_all(29);
    assert_int_equal(count_results(1), t.count);
    assert_int_equal(stats_of().unpacked.bytes, (uint64_t)(FILES - 2) * FILE_BYTES);
    assert_string_not_equal(stats_of().backend, "unpack");
    close_fetch();
}

TEST(cancels)
{
    uint32_t seed = 4;
    write_all();
    make_items(60000, 110, &seed);
    open_fetch(1, 3, 16);
    for (uint32_t round = 0; round < TEST_AMOUNT(40, 15); round++) {
        const uint32_t some = below(&seed, 60);
        give_credit(some);
        if (round % 3 > 0)
            assert_true(wait_for(some / 2));
        sl_fetch_restart(t.fetch);
        sl_lock(&t.mutex);
        assert_int_equal(t.delivered, t.asked);
        begin();
        sl_unlock(&t.mutex);
        sl_fetch_wake(t.fetch);
    }
    run_all(11);
    assert_int_equal(count_results(1), t.count);
    close_fetch();
    open_fetch(1, 3, 16); /* and closed with everything in flight */
    give_credit(50);
    close_fetch();
    assert_int_equal(t.delivered, t.asked);
}

/* Items before the damage are right; after it, all of the file fails, and nothing else. */
TEST(damage)
{
    uint32_t seed = 6;
    write_all();
    for (uint32_t round = 0; round < 4; round++) {
        if (round < 3) {
            write_gzip(2, 9, 500000 + round * 1234); /* data that hardly compress */
        } else {
            write_gzip(2, 0, 1000000); /* stored: only the checksum reveals damage */
        }
        make_items(50000, 300, &seed);
        open_fetch(16 * MIB, 1 + round, 16);
        run_all(23);
        uint32_t failed = 0;
        for (uint32_t i = 0; i < t.count; i++) {
            const bool own = t.items[i].object == 2;
            const bool fails = t.results[i] == FAILED;
            assert_true(own || t.results[i] == 1);
            assert_true(!own || failed == 0 || fails); /* in reading order */
            failed += own && fails;
            assert_true(!own || t.items[i].end == SL_PASS_GOES_ON || fails);
        }
        assert_true(failed > 0 && (round < 3 || failed == 1));
        assert_int_equal(t.error.status, SLUICE_CORRUPT);
        assert_non_null(strstr(t.error.file, "/2"));
        assert_int_equal(stats_of().unpacked.restarts, 0);
        close_fetch();
    }
}

TEST(another_file)
{
    uint32_t seed = 7;
    write_all();
    make_items(50000, 300, &seed);
    open_fetch(16 * MIB, 2, 16);
    const sl_file_identity was = t.identities[4];
    write_gzip(4, 9, 0);
    t.identities[4] = was;
    run_all(23);
    assert_int_equal(t.error.status, SLUICE_IO);
    assert_non_null(strstr(t.error.text, "changed since it was opened"));
    for (uint32_t i = 0; i < t.count; i++)
        assert_int_equal(t.results[i], t.items[i].object == 4 ? FAILED : 1);
    close_fetch();
}

/* An item requested out of order gets its own pass from the front. */
TEST(inserted)
{
    uint32_t seed = 8;
    write_all();
    make_items(50000, 300, &seed);
    const uint32_t count = t.count;
    open_fetch(16 * MIB, 2, 16);
    give_credit(40);
    assert_true(wait_for(40));
    for (uint32_t i = 0; i < 3; i++) {
        sl_fetch_insert(t.fetch, &(sl_fetch_item){.tag = count + i,
                                                  .object = i,
                                                  .offset = 1000,
                                                  .bytes = 5000,
                                                  .pass = ((uint64_t)1 << 63) + i,
                                                  .end = SL_PASS_CLOSES});
    }
    assert_true(wait_for(43));
    give_credit(count);
    assert_true(wait_for(count + 3));
    for (uint32_t i = 0; i < count + 3; i++)
        assert_int_equal(t.results[i], 1);
    assert_int_equal(stats_of().unpacked.restarts, 0);
    close_fetch();
}

TEST_GROUP(set_up, tear_down)

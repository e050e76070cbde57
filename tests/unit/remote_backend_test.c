/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the backend of remote objects over a fake network and cache (remote_rig.h). */
#include "chunk_waits.h"
#include "clock.h"
#include "memory.h"
#include "remote_rig.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define MS  ((uint64_t)1000000)

enum { DEPTH = 32 };

static io_harness h;
static sl_handle handles[RIG_FILES];
static sl_objects *samples; /* of files 1 and 4, and of 1, 2 and 5 */
static uint8_t *memory;
static sl_read reads[DEPTH];
static sl_completion completions[DEPTH];
static sl_chunk_waits *waits; /* shared by backends, with their stall limit */
static uint64_t stall_ns;

static uint32_t sample_files(void *ctx, uint32_t object)
{
    return object == 0 ? 2 : 3;
}

static sluice_status sample_path(void *ctx, uint32_t object, uint32_t file, char *path,
                                 size_t bytes)
{
    static const uint32_t numbers[2][3] = {{1, 4, 0}, {1, 2, 5}};
    rig_path(&h, numbers[object][file], path, bytes);
    return SLUICE_OK;
}

static sluice_status first_path(void *ctx, uint32_t object, char *path, size_t bytes)
{
    return sample_path(ctx, object, 0, path, bytes);
}

static int set_up(void **state)
{
    io_harness_init(&h, SLUICE_IO_PREAD);
    const sl_object_names names = {
        .count = 2, .path = first_path, .files = sample_files, .file_path = sample_path};
    assert_int_equal(sl_objects_open(&samples, &names, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < RIG_FILES; i++) {
        char path[160];
        sl_store_facts facts;
        io_make_file(&h, i, rig_sizes[i]);
        rig_path(&h, i, path, sizeof(path));
        handles[i] = (sl_handle){.store = &rig_row, .fd = -1};
        assert_int_equal(rig_row.open(path, &(sl_open_how){.direct = false}, &handles[i], &facts),
                         0);
    }
    memory = sl_malloc(DEPTH * MIB);
    rig_net_start();
    return 0;
}

static int clean_up(void **state)
{
    rig_net_stop();
    for (uint32_t i = 0; i < RIG_FILES; i++) {
        rig_row.close(&handles[i]);
    }
    assert_int_equal(rig_objects(), 0);
    sl_objects_close(samples);
    sl_free(memory);
    io_harness_destroy(&h);
    return 0;
}

static sl_backend *open_remote(void)
{
    sl_backend_config config = {
        .depth = 2 * DEPTH, .threads = 2, .waits = waits, .stall_ns = stall_ns};
    sl_backend *backend = NULL;
    assert_int_equal(sl_backend_pread.open(&backend, &config, NULL), SLUICE_OK);
    config.depth = DEPTH;
    assert_int_equal(sl_backend_remote(&backend, backend, &config, NULL), SLUICE_OK);
    return backend;
}

static void close_remote(sl_backend *backend)
{
    assert_int_equal(backend->ops->close(backend, TEST_PATIENCE_NS, NULL), 0);
}

static void submit_reads(sl_backend *backend, uint32_t count)
{
    sl_read *list[DEPTH];
    for (uint32_t i = 0; i < count; i++) {
        list[i] = &reads[i];
    }
    backend->ops->submit(backend, list, count);
}

/* Reaps until each of `count` reads has completed exactly once. */
static void reap_reads(sl_backend *backend, uint32_t count)
{
    uint32_t seen[DEPTH] = {0};
    const uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    for (uint32_t done = 0; done < count;) {
        sl_completion some[5];
        const uint32_t got = backend->ops->reap(backend, some, 5, 100 * MS);
        assert_true(sl_now_ns() < deadline);
        for (uint32_t i = 0; i < got; i++) {
            const ptrdiff_t which = some[i].read - reads;
            assert_in_range(which, 0, count - 1);
            assert_int_equal(seen[which]++, 0);
            completions[which] = some[i];
        }
        done += got;
    }
    assert_int_equal(backend->ops->reap(backend, completions, 0, 0), 0);
}

static int64_t bytes_there(uint32_t file, uint64_t offset, uint64_t length)
{
    const uint64_t left = offset < rig_sizes[file] ? rig_sizes[file] - offset : 0;
    return (int64_t)(left < length ? left : length);
}

static void ranges_arrive_once(rig_mode mode)
{
    net_reset(mode);
    sl_backend *backend = open_remote();
    char local[128];
    io_path(&h, 0, local, sizeof(local));
    const int fd = open(local, O_RDONLY | O_CLOEXEC);
    uint32_t files[DEPTH];
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < DEPTH; i++) {
            files[i] = (uint32_t)random_below(RIG_FILES);
            const bool is_local = random_below(4) == 0;
            files[i] = is_local ? 0 : files[i];
            reads[i] = (sl_read){.fd = is_local ? fd : -1,
                                 .handle = is_local ? NULL : &handles[files[i]],
                                 .offset = random_below(rig_sizes[files[i]] + 1000),
                                 .length = (uint32_t)random_below(200000),
                                 .buffer = memory + i * MIB};
        }
        submit_reads(backend, DEPTH);
        reap_reads(backend, DEPTH);
        for (uint32_t i = 0; i < DEPTH; i++) {
            const int64_t there = bytes_there(files[i], reads[i].offset, reads[i].length);
            assert_int_equal(completions[i].result, there);
            assert_true(
                io_same(files[i], reads[i].offset, reads[i].buffer, (size_t)completions[i].result));
            assert_false(completions[i].final);
        }
    }
    close(fd);
    close_remote(backend);
}

TEST(ranges_that_end_late)
{
    ranges_arrive_once(RIG_LATE);
}

TEST(ranges_that_end_before_start_returns)
{
    ranges_arrive_once(RIG_AT_ONCE);
}

/* Compares pieces of many runs, with gaps from one byte to more than is worth reading, with the
 * file's bytes. */
static uint32_t make_pieces(sl_piece *pieces, uint32_t count, uint64_t end)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t each = 1 + (uint32_t)random_below(900);
        const uint32_t runs = 1 + (uint32_t)random_below(60);
        const uint32_t gap = (uint32_t)random_below(random_below(8) == 0 ? 150000 : 3000);
        pieces[i] = (sl_piece){.bytes = each, .count = runs, .stride = each + gap};
        pieces[i].offset = random_below(end - (uint64_t)runs * (each + gap));
        bytes += (uint32_t)sl_piece_bytes(&pieces[i]);
    }
    return bytes;
}

static void expect_pieces(uint32_t file, const sl_read *read)
{
    const uint8_t *at = read->buffer;
    for (uint32_t i = 0; i < read->piece_count; i++) {
        const sl_piece *piece = &read->pieces[i];
        for (uint32_t run = 0; run < piece->count; run++, at += piece->bytes) {
            assert_true(
                io_same(file, piece->offset + (uint64_t)run * piece->stride, at, piece->bytes));
        }
    }
}

TEST(pieces_share_requests_across_small_gaps)
{
    enum { PIECES = 7 };
    static sl_piece pieces[DEPTH][PIECES];
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    uint32_t runs = 0;
    for (uint32_t round = 0; round < 8; round++) {
        assert_int_equal(sl_backend_remote_gap(backend), rig_gap_bytes);
        for (uint32_t i = 0; i < DEPTH; i++) {
            reads[i] = (sl_read){.kind = SL_READ_PIECES,
                                 .fd = -1,
                                 .handle = &handles[0],
                                 .pieces = pieces[i],
                                 .piece_count = PIECES,
                                 .buffer = memory + i * MIB};
            reads[i].length = make_pieces(pieces[i], PIECES, rig_sizes[0]);
            for (uint32_t k = 0; k < PIECES; k++) {
                runs += pieces[i][k].count;
            }
        }
        submit_reads(backend, DEPTH);
        reap_reads(backend, DEPTH);
        for (uint32_t i = 0; i < DEPTH; i++) {
            assert_int_equal(completions[i].result, reads[i].length);
            expect_pieces(0, &reads[i]);
        }
    }
    assert_true(net.started < runs / 4);
    close_remote(backend);
}

TEST(pieces_behind_the_end_are_missing)
{
    const sl_piece pieces[2] = {{.offset = 0, .bytes = 10, .count = 3, .stride = 100},
                                {.offset = rig_sizes[1] - 5, .bytes = 10, .count = 1}};
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    reads[0] = (sl_read){.kind = SL_READ_PIECES,
                         .fd = -1,
                         .handle = &handles[1],
                         .pieces = pieces,
                         .piece_count = 2,
                         .length = 40,
                         .buffer = memory};
    submit_reads(backend, 1);
    reap_reads(backend, 1);
    assert_int_equal(completions[0].result, -ENODATA);
    assert_false(completions[0].final);
    close_remote(backend);
}

static sl_read whole_read(const char *path, uint32_t length, uint8_t *buffer)
{
    return (sl_read){
        .kind = SL_READ_FILE, .fd = -1, .path = path, .length = length, .buffer = buffer};
}

static void whole_remote_files(rig_mode mode)
{
    static char paths[8][160];
    static const uint32_t files[6] = {1, 2, 3, 5, 0, 77};
    net_reset(mode);
    sl_backend *backend = open_remote();
    for (uint32_t i = 0; i < 6; i++) {
        rig_path(&h, files[i], paths[i], sizeof(paths[i]));
        reads[i] = whole_read(paths[i], (uint32_t)MIB, memory + i * MIB);
    }
    (void)snprintf(paths[6], sizeof(paths[6]), RIG_SCHEME "/refused");
    reads[6] = whole_read(paths[6], (uint32_t)MIB, memory + 6 * MIB);
    io_path(&h, 4, paths[7], sizeof(paths[7])); /* a local path */
    reads[7] = whole_read(paths[7], (uint32_t)MIB, memory + 7 * MIB);
    submit_reads(backend, 8);
    reap_reads(backend, 8);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(completions[i].result, rig_sizes[files[i]]);
        assert_int_equal(completions[i].file_bytes, rig_sizes[files[i]]);
        assert_true(io_same(files[i], 0, reads[i].buffer, (size_t)rig_sizes[files[i]]));
    }
    assert_int_equal(completions[4].result, -EFBIG);
    assert_int_equal(completions[4].file_bytes, rig_sizes[0]);
    assert_false(completions[4].final);
    assert_int_equal(completions[5].result, -ENOENT);
    assert_string_equal(completions[5].reason, "404 NoSuchKey");
    assert_true(completions[5].final);
    assert_int_equal(completions[6].result, -EINVAL);
    assert_string_equal(completions[6].reason, "the address is not one");
    assert_int_equal(completions[7].result, rig_sizes[4]);
    assert_true(io_same(4, 0, reads[7].buffer, (size_t)rig_sizes[4]));
    close_remote(backend);
}

TEST(whole_files_of_both_kinds)
{
    whole_remote_files(RIG_LATE);
    whole_remote_files(RIG_AT_ONCE);
}

TEST(samples_of_several_files)
{
    char paths[2][160];
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    for (uint32_t i = 0; i < 2; i++) {
        (void)first_path(NULL, i, paths[i], sizeof(paths[i]));
        reads[i] = whole_read(paths[i], (uint32_t)MIB, memory + i * MIB);
        reads[i].objects = samples;
        reads[i].object = i;
        reads[i].files = sample_files(NULL, i);
        reads[i + 2] = reads[i]; /* too little space for the first and the last */
        reads[i + 2].length = i == 0 ? 1000 : 150000;
        reads[i + 2].buffer += 2 * MIB;
    }
    submit_reads(backend, 4);
    reap_reads(backend, 4);
    const uint64_t all[2] = {rig_sizes[1] + rig_sizes[4] + 16,
                             rig_sizes[1] + rig_sizes[2] + rig_sizes[5] + 24};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(completions[i].file_bytes, all[i % 2]);
        assert_int_equal(completions[i].result, i < 2 ? (int64_t)all[i % 2] : -EFBIG);
    }
    const uint8_t *last = reads[1].buffer + rig_sizes[1] + rig_sizes[2];
    uint64_t stored[3];
    memcpy(stored, last + rig_sizes[5], sizeof(stored));
    assert_true(io_same(1, 0, reads[1].buffer, (size_t)rig_sizes[1]));
    assert_true(io_same(5, 0, last, (size_t)rig_sizes[5]));
    assert_true(stored[0] == rig_sizes[1] && stored[1] == rig_sizes[2] &&
                stored[2] == rig_sizes[5]);
    close_remote(backend);
}

TEST(claimed_sizes_do_not_overflow)
{
    char path[160];
    net_reset(RIG_AT_ONCE);
    sl_backend *backend = open_remote();
    (void)first_path(NULL, 1, path, sizeof(path));
    memset(memory, 0xa5, MIB);
    reads[0] = whole_read(path, (uint32_t)MIB / 2, memory + MIB / 2);
    reads[0].objects = samples;
    reads[0].object = 1;
    reads[0].files = sample_files(NULL, 1);
    net.claimed = INT64_MAX;
    net.claims = 2; /* the sum overflows: 24 bytes plus two of these are 22 */
    submit_reads(backend, 1);
    reap_reads(backend, 1);
    assert_int_equal(completions[0].result, -EFBIG);
    assert_true(completions[0].file_bytes > (uint64_t)1 << 40);
    for (uint32_t i = 0; i < MIB / 2; i++) {
        assert_int_equal(memory[i], 0xa5);
    }
    close_remote(backend);
}

TEST(failures_are_final_and_say_why)
{
    static char reasons[400][32];
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    const char *kept = NULL;
    for (uint32_t i = 0; i < 400; i++) { /* more than the kept number */
        (void)snprintf(reasons[i], sizeof(reasons[i]), "reason %u", i / 2);
        net.failure = -ETIMEDOUT;
        net.reason = reasons[i];
        reads[0] = (sl_read){.fd = -1, .handle = &handles[0], .length = 100, .buffer = memory};
        submit_reads(backend, 1);
        reap_reads(backend, 1);
        assert_int_equal(completions[0].result, -ETIMEDOUT);
        assert_true(completions[0].final);
        kept = i == 0 ? completions[0].reason : kept;
        if (completions[0].reason != NULL) {
            assert_string_equal(completions[0].reason, reasons[i]);
        }
    }
    assert_string_equal(kept, "reason 0");
    close_remote(backend);
}

static uint32_t ended;

static void count_end(void *ctx, sl_read *read)
{
    assert_in_range(read - reads, 0, DEPTH - 1);
    ended++;
}

/* Includes reads with parts that have not begun. */
TEST(close_ends_what_stalls)
{
    static const sl_piece many = {.offset = 0, .bytes = 10, .count = 100, .stride = 200000};
    net_reset(RIG_STALLED);
    sl_backend *backend = open_remote();
    for (uint32_t i = 0; i < DEPTH; i++) {
        reads[i] = (sl_read){.kind = SL_READ_PIECES,
                             .fd = -1,
                             .handle = &handles[0],
                             .pieces = &many,
                             .piece_count = 1,
                             .length = 1000,
                             .buffer = memory + i * MIB};
    }
    submit_reads(backend, DEPTH);
    assert_int_equal(backend->ops->reap(backend, completions, DEPTH, 5 * MS), 0);
    const uint64_t begin = sl_now_ns();
    ended = 0;
    const sl_read_ends ends = {count_end, NULL};
    assert_int_equal(backend->ops->close(backend, UINT64_MAX, &ends), 0);
    assert_int_equal(ended, DEPTH);
    assert_true(net.canceled > 0 && net.canceled == net.started);
    assert_true(sl_now_ns() - begin < TEST_PATIENCE_NS);
}

TEST(cancel_ends_what_is_on_its_way)
{
    net_reset(RIG_STALLED);
    sl_backend *backend = open_remote();
    for (uint32_t i = 0; i < DEPTH; i++) {
        reads[i] =
            (sl_read){.fd = -1, .handle = &handles[0], .length = 1000, .buffer = memory + i * MIB};
    }
    submit_reads(backend, DEPTH);
    const uint64_t before = sl_backend_remote_progress(backend);
    sl_backend_remote_cancel(backend);
    reap_reads(backend, DEPTH);
    assert_int_not_equal(sl_backend_remote_progress(backend), before);
    for (uint32_t i = 0; i < DEPTH; i++) {
        assert_int_equal(completions[i].result, -ECANCELED);
    }
    close_remote(backend);
}

static void *wake_later(void *argument)
{
    sl_backend *backend = argument;
    sl_sleep_until_ns(sl_now_ns() + 5 * MS);
    backend->ops->wake(backend);
    return NULL;
}

TEST(it_sleeps_and_is_woken)
{
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    const uint64_t before = sl_now_ns();
    assert_int_equal(backend->ops->reap(backend, completions, 4, 20 * MS), 0);
    assert_true(sl_now_ns() - before >= 19 * MS);
    pthread_t waker;
    assert_int_equal(pthread_create(&waker, NULL, wake_later, backend), 0);
    assert_int_equal(backend->ops->reap(backend, completions, 4, UINT64_MAX), 0);
    assert_int_equal(pthread_join(waker, NULL), 0);
    close_remote(backend);
}

/* ---- the cache ---- */

static void fill_chunks(const sl_chunk_state *states)
{
    memset(&cache, 0, sizeof(cache));
    static uint8_t block[MIB];
    for (uint32_t i = 0; i < RIG_CHUNKS; i++) {
        char path[128];
        cache.states[i] = states[i];
        (void)snprintf(path, sizeof(path), "%s/chunk%u", h.folder, i);
        cache.fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        const uint64_t begin = i * SL_CHUNK_BYTES;
        for (uint64_t at = 0; at < SL_CHUNK_BYTES && begin + at < rig_sizes[0]; at += MIB) {
            io_fill(0, begin + at, block, MIB);
            assert_int_equal(pwrite(cache.fds[i], block, MIB, (off_t)at), MIB);
        }
        memset(block, 0xee, sizeof(block)); /* the file's tail, which is not in the object */
        const uint64_t end =
            rig_sizes[0] - begin < SL_CHUNK_BYTES ? rig_sizes[0] - begin : SL_CHUNK_BYTES;
        assert_int_equal(pwrite(cache.fds[i], block, MIB, (off_t)end), MIB);
    }
    ((sl_object *)handles[0].own)->cached = &rig_cached_object;
}

static void close_chunks(void)
{
    ((sl_object *)handles[0].own)->cached = NULL;
    for (uint32_t i = 0; i < RIG_CHUNKS; i++) {
        close(cache.fds[i]);
    }
    assert_int_equal(cache.used, cache.done);
}

/* Reads throughout the cached object, across chunk boundaries and past its end. */
static void read_cached(sl_backend *backend)
{
    for (uint32_t i = 0; i < DEPTH; i++) {
        const uint64_t offset = i % 4 == 0 ? (i / 4 % 2 + 1) * SL_CHUNK_BYTES - 70000
                                           : random_below(rig_sizes[0] - 400000);
        reads[i] = (sl_read){.fd = -1,
                             .handle = &handles[0],
                             .offset = i == 5 ? rig_sizes[0] - 100 : offset,
                             .length = 70001 + (uint32_t)random_below(300000),
                             .buffer = memory + i * MIB};
    }
    submit_reads(backend, DEPTH);
    reap_reads(backend, DEPTH);
    for (uint32_t i = 0; i < DEPTH; i++) {
        const int64_t there = bytes_there(0, reads[i].offset, reads[i].length);
        assert_int_equal(completions[i].result, there);
        assert_true(io_same(0, reads[i].offset, reads[i].buffer, (size_t)there));
    }
}

TEST(chunks_that_are_here_cost_no_request)
{
    static const sl_chunk_state all[RIG_CHUNKS] = {SL_CHUNK_HERE, SL_CHUNK_HERE, SL_CHUNK_HERE,
                                                   SL_CHUNK_HERE};
    fill_chunks(all);
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    read_cached(backend);
    assert_int_equal(net.started, 1); /* past the end of the object */
    assert_true(cache.hits > 0);
    close_remote(backend);
    close_chunks();
}

TEST(chunks_in_all_states)
{
    static const sl_chunk_state some[RIG_CHUNKS] = {SL_CHUNK_HERE, SL_CHUNK_ABSENT, SL_CHUNK_COMING,
                                                    SL_CHUNK_ABSENT};
    fill_chunks(some);
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    read_cached(backend);
    assert_true(net.started > 0 && cache.hits > 0 && cache.misses > 0);
    assert_int_equal(cache.states[2], SL_CHUNK_HERE); /* the read waited for it */
    close_remote(backend);
    close_chunks();
}

/* The disk has fewer bytes than it should, or fails. */
TEST(chunks_that_cannot_be_read_are_fetched)
{
    static const sl_chunk_state all[RIG_CHUNKS] = {SL_CHUNK_HERE, SL_CHUNK_HERE, SL_CHUNK_HERE,
                                                   SL_CHUNK_HERE};
    fill_chunks(all);
    assert_int_equal(ftruncate(cache.fds[0], 100), 0);
    const int real = cache.fds[1];
    cache.fds[1] = open(h.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    read_cached(backend);
    assert_true(net.started > 1);
    close_remote(backend);
    close_chunks();
    close(real);
}

/* The chunk's writer was stopped: one read waits for it, the others do not. */
TEST(a_chunk_that_never_comes_is_waited_for_once)
{
    static const sl_chunk_state none[RIG_CHUNKS] = {SL_CHUNK_COMING, SL_CHUNK_COMING,
                                                    SL_CHUNK_COMING, SL_CHUNK_COMING};
    fill_chunks(none);
    net_reset(RIG_LATE);
    waits = sl_chunk_waits_open(NULL);
    stall_ns = 400 * MS;
    sl_backend *backend = open_remote();
    uint32_t looks[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        reads[0] = (sl_read){.fd = -1, .handle = &handles[0], .length = 100, .buffer = memory};
        const uint32_t before = cache.looks;
        submit_reads(backend, 1);
        reap_reads(backend, 1);
        assert_int_equal(completions[0].result, 100);
        assert_true(io_same(0, 0, memory, 100));
        looks[i] = cache.looks - before;
    }
    assert_int_equal(net.started, 2);
    assert_true(looks[0] > 1);
    assert_int_equal(looks[1], 1);
    close_remote(backend);
    sl_chunk_waits_release(waits);
    waits = NULL;
    stall_ns = 0;
    close_chunks();
}

TEST(close_while_a_chunk_is_coming)
{
    static const sl_chunk_state none[RIG_CHUNKS] = {SL_CHUNK_COMING, SL_CHUNK_COMING,
                                                    SL_CHUNK_COMING, SL_CHUNK_COMING};
    fill_chunks(none);
    net_reset(RIG_LATE);
    sl_backend *backend = open_remote();
    reads[0] = (sl_read){.fd = -1, .handle = &handles[0], .length = 100, .buffer = memory};
    submit_reads(backend, 1);
    ended = 0;
    const sl_read_ends ends = {count_end, NULL};
    assert_int_equal(backend->ops->close(backend, UINT64_MAX, &ends), 0);
    assert_int_equal(ended, 1);
    close_chunks();
}

int main(void)
{
    return test_run(set_up, clean_up);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams over files made by zlib and libzstd. Any reads give the bytes that were packed, and reads
 * in order unpack once. Damage, an early end or a changed file is an error from there on, but not
 * before.
 */
#include "file.h"
#include "memory.h"
#include "objects.h"
#include "stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include "photo_folder.h"
#include "test.h"

/* Three chunks and a bit. */
#define DATA_BYTES (3 * SL_STREAM_CHUNK_BYTES + 4321)
#define ROOM_BYTES (DATA_BYTES + (64 << 10))

static char folder[64];
static uint8_t data[DATA_BYTES], packed_data[ROOM_BYTES], got_data[DATA_BYTES + 100];

typedef struct random_state {
    uint64_t state;
} random_state;

static uint64_t draw(random_state *r, uint64_t below)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (r->state >> 33) % below;
}

static size_t add_member(const uint8_t *from, size_t bytes, size_t at)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = from;
    z.avail_in = (uInt)bytes;
    z.next_out = packed_data + at;
    z.avail_out = (uInt)(ROOM_BYTES - at);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    const size_t made = z.total_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return at + made;
}

static size_t add_frame(const uint8_t *from, size_t bytes, size_t at)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    assert_non_null(context);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const size_t made = ZSTD_compress2(context, packed_data + at, ROOM_BYTES - at, from, bytes);
    assert_false(ZSTD_isError(made));
    (void)ZSTD_freeCCtx(context);
    return at + made;
}

/* Packs three members or frames, the second one empty. */
static size_t pack_data(sl_packing packing)
{
    size_t (*add)(const uint8_t *, size_t, size_t) =
        packing == SL_PACKING_GZIP ? add_member : add_frame;
    size_t at = add(data, DATA_BYTES / 3, 0);
    at = add(data, 0, at);
    return add(data + DATA_BYTES / 3, DATA_BYTES - DATA_BYTES / 3, at);
}

static const char *path_of(uint32_t number)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%u", folder, number);
    return path;
}

static sl_packed facts_of(uint32_t number, sl_packing packing)
{
    struct stat facts;
    assert_int_equal(stat(path_of(number), &facts), 0);
    return (sl_packed){.packing = packing, .file = sl_file_identity_of(&facts)};
}

static void write_packed(uint32_t number, size_t bytes)
{
    write_file(path_of(number), packed_data, (uint32_t)bytes);
}

static sl_stream *open_stream(uint32_t number, sl_packing packing, uint32_t chunks)
{
    sl_stream *stream = NULL;
    const sl_packed packed = facts_of(number, packing);
    assert_int_equal(sl_stream_open(&stream, path_of(number), &packed, chunks, NULL), SLUICE_OK);
    return stream;
}

static int set_up(void **state)
{
    random_state r = {1};
    const char *root = getenv("TMPDIR");
    (void)snprintf(folder, sizeof(folder), "%.40s/sluice-st-XXXXXX", root != NULL ? root : "/tmp");
    for (size_t i = 0; i < DATA_BYTES; i++)
        data[i] = (uint8_t)(i / 5000 % 3 == 0 ? draw(&r, 256) : draw(&r, 3));
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    remove_tree(folder);
    return 0;
}

static const sl_packing packings[] = {SL_PACKING_GZIP, SL_PACKING_ZSTD};

static void check_read(sl_stream *stream, uint64_t offset, size_t bytes)
{
    size_t got = SIZE_MAX;
    const size_t there = offset < DATA_BYTES ? (size_t)(DATA_BYTES - offset) : 0;
    const size_t expected = bytes < there ? bytes : there;
    assert_int_equal(sl_stream_read_some(stream, offset, got_data, bytes, &got, NULL), SLUICE_OK);
    assert_int_equal(got, expected);
    assert_memory_equal(got_data, data + (offset < DATA_BYTES ? offset : 0), got);
}

TEST(reads_anywhere)
{
    for (int p = 0; p < 2; p++) {
        write_packed(0, pack_data(packings[p]));
        for (uint32_t chunks = 1; chunks < 6; chunks++) {
            random_state r = {chunks};
            sl_stream *stream = open_stream(0, packings[p], chunks);
            for (int i = 0; i < 16; i++)
                check_read(stream, draw(&r, DATA_BYTES + 50), draw(&r, i % 2 ? 2000 : DATA_BYTES));
            check_read(stream, 0, DATA_BYTES + 100);
            check_read(stream, UINT64_MAX - 5, 100);
            check_read(stream, INT64_MAX, 100);
            assert_int_equal(sl_stream_bytes(stream), DATA_BYTES);
            assert_true((sl_stream_restarts(stream) == 0) == (chunks >= 4));
            sl_stream_close(stream);
        }
    }
}

/* Reads forwards, and back by up to the window. */
TEST(reads_in_order_unpack_once)
{
    for (int p = 0; p < 2; p++) {
        random_state r = {7};
        write_packed(0, pack_data(packings[p]));
        sl_stream *stream = open_stream(0, packings[p], 2);
        for (uint64_t at = 0; at < DATA_BYTES;) {
            const size_t bytes = (size_t)draw(&r, 30000);
            check_read(stream, at, bytes);
            const uint64_t front = at + bytes;
            const uint64_t kept = SL_STREAM_CHUNK_BYTES;
            check_read(stream, front > kept ? front - kept : 0, 100);
            at = front + draw(&r, 50000);
        }
        assert_int_equal(sl_stream_restarts(stream), 0);
        sl_stream_close(stream);
    }
}

/* Everything packed before the damage can be read, repeatedly; nothing after it. */
static void check_broken(uint32_t number, sl_packing packing, const char *why)
{
    sluice_error error = SLUICE_ERROR_INIT;
    size_t got = 0;
    sl_stream *stream = open_stream(number, packing, 2);
    const uint64_t file_bytes = facts_of(number, packing).file.bytes;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(sl_stream_read_some(stream, 0, got_data, sizeof(got_data), &got, &error),
                         SLUICE_CORRUPT);
        assert_int_equal(error.status, SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, why));
        assert_string_equal(error.file, path_of(number));
        assert_in_range(error.offset, 0, file_bytes);
        assert_in_range(got, 0, DATA_BYTES);
        assert_memory_equal(got_data, data, got);
        const uint64_t restarts = sl_stream_restarts(stream);
        assert_int_equal(sl_stream_read(stream, got, got_data, 1, &error), SLUICE_CORRUPT);
        assert_int_equal(sl_stream_read(stream, DATA_BYTES, got_data, 1, &error), SLUICE_CORRUPT);
        assert_int_equal(sl_stream_restarts(stream), restarts);
    }
    sl_stream_close(stream);
}

TEST(cut_short)
{
    for (int p = 0; p < 2; p++) {
        random_state r = {3};
        const size_t whole = pack_data(packings[p]);
        for (int i = 0; i < 30; i++) {
            write_packed(0, i < 12 ? whole - 1 - (size_t)i : 100 + (size_t)draw(&r, whole / 4));
            check_broken(0, packings[p], "truncated");
        }
    }
}

TEST(checksums)
{
    for (int p = 0; p < 2; p++) {
        const size_t whole = pack_data(packings[p]);
        packed_data[whole - 6] ^= packings[p] == SL_PACKING_GZIP; /* the last CRC-32 */
        packed_data[whole - 2] ^= packings[p] == SL_PACKING_ZSTD; /* the last checksum */
        write_packed(0, whole);
        check_broken(0, packings[p], "checksum of a ");
    }
}

/* A failing read has begun to write where the next chunk would be, which is the first one's
 * memory. */
TEST(what_fails_spoils_nothing)
{
    /* A window of 1 KiB, 100 bytes of 'Z', a block of an invalid type. */
    static const uint8_t bad[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x22, 3, 0, 'Z', 7, 0, 0};
    enum { WHOLE = 2 * SL_STREAM_CHUNK_BYTES };
    const size_t at = add_frame(data, WHOLE, 0);
    memcpy(packed_data + at, bad, sizeof(bad));
    write_packed(9, at + sizeof(bad));
    sl_stream *stream = open_stream(9, SL_PACKING_ZSTD, 2);
    size_t got = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_stream_read(stream, WHOLE - 10, got_data, 10, &error), SLUICE_OK);
    assert_int_equal(sl_stream_read_some(stream, WHOLE, got_data, 10, &got, &error),
                     SLUICE_CORRUPT);
    assert_int_equal(sl_stream_read(stream, 0, got_data, WHOLE, &error), SLUICE_OK);
    assert_memory_equal(got_data, data, WHOLE);
    sl_stream_close(stream);
}

TEST(changed_meanwhile)
{
    for (int p = 0; p < 2; p++) {
        sluice_error error = SLUICE_ERROR_INIT;
        const size_t whole = pack_data(packings[p]);
        for (int how = 0; how < 3; how++) {
            write_packed(0, whole);
            sl_stream *stream = open_stream(0, packings[p], 2);
            const sl_packed packed = facts_of(0, packings[p]);
            check_read(stream, 0, 1000);
            const struct timespec times[2] = {{100, 0}, {100, how == 0}};
            if (how == 1)
                assert_int_equal(truncate(path_of(0), (off_t)whole - 1), 0);
            if (how == 2)
                write_packed(0, whole + 1);
            if (how == 0)
                assert_int_equal(utimensat(AT_FDCWD, path_of(0), times, 0), 0);
            assert_int_equal(sl_stream_read(stream, DATA_BYTES - 10, got_data, 10, &error),
                             SLUICE_IO);
            assert_non_null(strstr(error.text, "changed"));
            sl_stream_close(stream);
            assert_int_equal(sl_stream_open(&stream, path_of(0), &packed, 2, &error), SLUICE_IO);
            assert_null(stream);
        }
    }
}

/* 256 MiB of zeros in 260 kB: skipped with no more memory than anything else. */
TEST(zeros_are_passed_over)
{
    static uint8_t zeros[1 << 20];
    size_t at = 0;
    for (int i = 0; i < 64; i++)
        at = add_member(zeros, sizeof(zeros), at);
    for (int i = 0; i < 4; i++) {
        FILE *file = fopen(path_of(0), i == 0 ? "wb" : "ab");
        assert_int_equal(fwrite(packed_data, 1, at, file), at);
        assert_int_equal(fclose(file), 0);
    }
    const uint64_t before = sl_memory_allocations();
    sl_stream *stream = open_stream(0, SL_PACKING_GZIP, 4);
    const uint64_t size = UINT64_C(64) * 4 * sizeof(zeros);
    size_t got = 0;
    assert_int_equal(sl_stream_read_some(stream, size - 1, got_data, 9, &got, NULL), SLUICE_OK);
    assert_int_equal(got, 1);
    assert_int_equal(sl_stream_bytes(stream), size);
    assert_in_range(sl_memory_allocations() - before, 5, 20);
    sl_stream_close(stream);
}

/* ---- as objects ---- */

enum { FILES = 5 };

static sluice_status name_of(void *ctx, uint32_t object, char *path, size_t bytes)
{
    (void)ctx;
    (void)snprintf(path, bytes, "%s", path_of(object));
    return SLUICE_OK;
}

/* The last one is not compressed. */
static sl_packed packed_of(void *ctx, uint32_t object)
{
    const sl_packed *all = ctx;
    return all[object];
}

TEST(among_objects)
{
    sl_packed all[FILES + 1] = {{0}};
    for (uint32_t i = 0; i < FILES; i++) {
        write_packed(i, pack_data(packings[i % 2]));
        all[i] = facts_of(i, packings[i % 2]);
    }
    write_file(path_of(FILES), data, DATA_BYTES);
    const sl_object_names names = {
        .ctx = all, .count = FILES + 1, .path = name_of, .packed = packed_of};
    sl_objects *objects = NULL;
    sl_pin pin;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_objects_open(&objects, &names, NULL), SLUICE_OK);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i <= FILES; i++) {
            assert_int_equal(sl_objects_read(objects, i, 5000 - round, got_data, 300000, &error),
                             SLUICE_OK);
            assert_memory_equal(got_data, data + 5000 - round, 300000);
        }
    }
    const sl_pin_how how = {.wait_ns = SL_OBJECTS_WAIT_NS};
    assert_int_equal(sl_objects_packed(objects, 1).packing, SL_PACKING_ZSTD);
    assert_int_equal(sl_objects_pin(objects, 1, how, &pin, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "front to back"));
    assert_int_equal(sl_objects_pin(objects, FILES, how, &pin, &error), SLUICE_OK);
    sl_objects_unpin(objects, &pin);
    sl_objects_close(objects);
}

/* The index's size is compared with the output, and no more than that is unpacked. */
TEST(as_many_bytes_as_told)
{
    sluice_error error;
    size_t got;
    for (size_t p = 0; p < 2; p++) {
        write_packed(0, pack_data(packings[p]));
        for (int off = -1; off <= 1; off++) {
            sl_packed packed = facts_of(0, packings[p]);
            sl_stream *stream = NULL;
            packed.bytes = DATA_BYTES + (uint64_t)off;
            assert_int_equal(sl_stream_open(&stream, path_of(0), &packed, 4, NULL), SLUICE_OK);
            const sluice_status status = sl_stream_finish(stream, &error);
            assert_int_equal(status, off == 0 ? SLUICE_OK : SLUICE_CORRUPT);
            assert_true(off == 0 || strstr(error.text, "its index") != NULL);
            assert_true(off == 0 || strcmp(error.file, path_of(0)) == 0);
            sl_stream_close(stream);
        }
        sl_packed packed = facts_of(0, packings[p]);
        sl_stream *stream = NULL;
        packed.bytes = 1000;
        assert_int_equal(sl_stream_open(&stream, path_of(0), &packed, 4, NULL), SLUICE_OK);
        assert_int_equal(sl_stream_read_some(stream, 0, got_data, 1000, &got, &error), SLUICE_OK);
        assert_int_equal(sl_stream_finish(stream, &error), SLUICE_CORRUPT);
        assert_in_range(sl_stream_bytes(stream), 1001, 1000 + SL_STREAM_CHUNK_BYTES);
        sl_stream_close(stream);
    }
}

TEST_GROUP(set_up, tear_down)

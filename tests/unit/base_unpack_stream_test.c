/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip and zstd data made by hand from their specifications (RFC 1952 and 8878), unpacked in pieces
 * of all sizes: the output does not depend on the pieces, and damage is never accepted as data.
 */
#include "test.h"
#include "unpack_brotli.h"
#include "unpack_stream.h"

#include <string.h>

#define BYTES(text)                               \
    (sl_bytes)                                    \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }

#define HELLO_GZIP "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0"
/* With an extra field, a name, a comment; no time. */
#define HELLO_LONG_HEAD                                                         \
    "\x1f\x8b\x08\x1c\0\0\0\0\0\x03\x04\0abcdname\0comment\0\x01\x05\0\xfa\xff" \
    "hello\x86\xa6\x10\x36\x05\0\0\0"
#define EMPTY_GZIP "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\0\0\xff\xff\0\0\0\0\0\0\0\0"
/* One segment, its size, one raw block, which is the last. */
#define HELLO_ZSTD "\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello"
/* The same with a checksum: the lower half of its XXH64. */
#define SUMMED_ZSTD "\x28\xb5\x2f\xfd\x24\x05\x29\0\0hello\xa3\x6d\x9f\x88"
#define SKIP_ZSTD   "\x5a\x2a\x4d\x18\x03\0\0\0abc"

enum { OUT_BYTES = 64 };

typedef struct result {
    sluice_status status;
    sluice_error error;
    uint8_t out[OUT_BYTES];
    size_t size;
    bool lacks_checksum;
} result;

static sluice_status run_pieces(sl_unpack_stream *stream, sl_bytes packed, size_t in,
                                size_t capacity, result *r)
{
    size_t given = 0;
    for (;;) {
        const size_t left = packed.size - given;
        const size_t space = OUT_BYTES - r->size;
        sl_unpack_step step = {.in = {packed.data + given, left < in ? left : in},
                               .to = r->out + r->size,
                               .capacity = space < capacity ? space : capacity};
        const sl_unpack_step before = step;
        const sluice_status status = sl_unpack_stream_run(stream, &step, &r->error);
        const size_t taken = before.in.size - step.in.size;
        assert_ptr_equal(step.in.data, before.in.data + taken);
        assert_ptr_equal(step.to, before.to + (before.capacity - step.capacity));
        given += taken;
        r->size += before.capacity - step.capacity;
        if (status < 0 || (taken == 0 && step.capacity == before.capacity && before.capacity > 0 &&
                           given == packed.size)) {
            return status < 0 ? status : sl_unpack_stream_end(stream, &r->error);
        }
    }
}

/* Unpacks pieces of `in` bytes with space for `capacity` at a time. */
static result unpack_as(sl_packing packing, sl_bytes packed, size_t in, size_t capacity)
{
    result r = {.status = SLUICE_OK, .error = SLUICE_ERROR_INIT};
    sl_unpack_stream *stream = NULL;
    assert_int_not_equal(packing, SL_PACKING_NONE);
    assert_int_equal(sl_unpack_stream_open(&stream, packing, &r.error), SLUICE_OK);
    r.status = run_pieces(stream, packed, in, capacity, &r);
    r.lacks_checksum = sl_unpack_stream_lacks_checksum(stream);
    sl_unpack_stream_close(stream);
    assert_true(r.status == SLUICE_OK || (r.error.status == r.status && r.error.text[0] != '\0'));
    return r;
}

static result unpack(sl_bytes packed, size_t in, size_t capacity)
{
    return unpack_as(sl_packing_of(packed), packed, in, capacity);
}

static void check(sl_bytes packed, const char *text)
{
    for (size_t in = 1; in <= packed.size; in++) {
        for (size_t capacity = 1; capacity < 12; capacity++) {
            const result r = unpack(packed, in, capacity);
            assert_int_equal(r.status, SLUICE_OK);
            assert_int_equal(r.size, strlen(text));
            assert_memory_equal(r.out, text, r.size);
        }
    }
}

static void check_refused(sl_bytes packed, sluice_status status, const char *why)
{
    for (size_t in = 1; in <= packed.size; in++) {
        const result r = unpack(packed, in, 5);
        assert_int_equal(r.status, status);
        assert_non_null(strstr(r.error.text, why));
    }
}

TEST(test_packings)
{
    assert_int_equal(sl_packing_of(BYTES(HELLO_GZIP)), SL_PACKING_GZIP);
    assert_int_equal(sl_packing_of(BYTES(HELLO_ZSTD)), SL_PACKING_ZSTD);
    assert_int_equal(sl_packing_of(BYTES(SKIP_ZSTD)), SL_PACKING_ZSTD);
    assert_int_equal(sl_packing_of(BYTES("\x1f")), SL_PACKING_NONE);
    assert_int_equal(sl_packing_of(BYTES("\x28\xb5\x2f")), SL_PACKING_NONE);
    assert_int_equal(sl_packing_of(BYTES("BZh9")), SL_PACKING_NONE);
    assert_int_equal(sl_packing_of((sl_bytes){NULL, 0}), SL_PACKING_NONE);
}

/* In any pieces, and at any position among other frames. */
TEST(test_frames_without_a_checksum)
{
    static const struct kind {
        sl_bytes packed;
        bool lacks;
    } kinds[] = {
        {{(const uint8_t *)HELLO_GZIP, sizeof(HELLO_GZIP) - 1}, false},
        {{(const uint8_t *)HELLO_ZSTD, sizeof(HELLO_ZSTD) - 1}, true},
        {{(const uint8_t *)SUMMED_ZSTD, sizeof(SUMMED_ZSTD) - 1}, false},
        {{(const uint8_t *)SKIP_ZSTD SUMMED_ZSTD SKIP_ZSTD SUMMED_ZSTD,
          sizeof(SKIP_ZSTD SUMMED_ZSTD SKIP_ZSTD SUMMED_ZSTD) - 1},
         false},
        {{(const uint8_t *)SUMMED_ZSTD SKIP_ZSTD HELLO_ZSTD SUMMED_ZSTD,
          sizeof(SUMMED_ZSTD SKIP_ZSTD HELLO_ZSTD SUMMED_ZSTD) - 1},
         true},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (size_t in = 1; in <= kinds[i].packed.size; in++) {
            const result r = unpack(kinds[i].packed, in, 5);
            assert_int_equal(r.status, SLUICE_OK);
            assert_true(r.lacks_checksum == kinds[i].lacks);
        }
    }
    check(BYTES(SUMMED_ZSTD HELLO_ZSTD), "hellohello");
    check_refused(BYTES("\x28\xb5\x2f\xfd\x24\x05\x29\0\0hellO\xa3\x6d\x9f\x88"), SLUICE_CORRUPT,
                  "the checksum of a zstd frame is wrong");
}

TEST(test_gzip)
{
    check(BYTES(HELLO_GZIP), "hello");
    check(BYTES(HELLO_LONG_HEAD), "hello");
    check(BYTES(EMPTY_GZIP), "");
    check(BYTES(HELLO_GZIP HELLO_LONG_HEAD EMPTY_GZIP HELLO_GZIP), "hellohellohello");
    check(BYTES(HELLO_GZIP "\0"), "hello");
    check(BYTES(HELLO_GZIP HELLO_GZIP "\0\0\0\0\0\0\0"), "hellohello");
}

TEST(test_gzip_with_something_behind)
{
    check_refused(BYTES(HELLO_GZIP "x"), SLUICE_CORRUPT, "after the last gzip member");
    check_refused(BYTES(HELLO_GZIP "\0x"), SLUICE_CORRUPT, "after the last gzip member");
    check_refused(BYTES(HELLO_GZIP "\0\0" HELLO_GZIP), SLUICE_CORRUPT, "after the last");
    check_refused(BYTES(HELLO_GZIP "\x1f\x8c more"), SLUICE_CORRUPT, "damaged here");
    check_refused(BYTES(HELLO_GZIP "\x1f"), SLUICE_CORRUPT, "inside a member");
}

TEST(test_zstd)
{
    check(BYTES(HELLO_ZSTD), "hello");
    check(BYTES(HELLO_ZSTD HELLO_ZSTD), "hellohello");
    check(BYTES(SKIP_ZSTD HELLO_ZSTD SKIP_ZSTD SKIP_ZSTD HELLO_ZSTD SKIP_ZSTD), "hellohello");
    check_refused(BYTES(HELLO_ZSTD "behind it"), SLUICE_CORRUPT, "damaged here");
    check_refused(BYTES(HELLO_ZSTD "\0\0\0\0"), SLUICE_CORRUPT, "damaged here");
}

/* A window of 2^28 bytes, and one of 2^27. */
TEST(test_windows)
{
    check_refused(BYTES("\x28\xb5\x2f\xfd\0\x90\x29\0\0hello"), SLUICE_UNSUPPORTED, "128 MiB");
    const result r = unpack(BYTES("\x28\xb5\x2f\xfd\0\x88\x29\0\0hello"), 100, OUT_BYTES);
    assert_int_equal(r.status, SLUICE_OK);
    assert_int_equal(r.size, 5);
}

static void check_cut(sl_bytes packed, size_t least, const size_t *ends, size_t end_count)
{
    for (size_t size = least; size < packed.size; size++) {
        bool may_end = false;
        for (size_t i = 0; i < end_count; i++)
            may_end = may_end || ends[i] == size;
        const result r = unpack((sl_bytes){packed.data, size}, 3, 4);
        assert_int_equal(r.status, may_end ? SLUICE_OK : SLUICE_CORRUPT);
    }
}

TEST(test_cut_anywhere)
{
    const size_t one_gzip = sizeof(HELLO_GZIP) - 1;
    const size_t two_gzips = one_gzip + sizeof(HELLO_LONG_HEAD) - 1;
    const size_t gzips[] = {one_gzip, two_gzips, two_gzips + 1};
    check_cut(BYTES(HELLO_GZIP HELLO_LONG_HEAD "\0\0"), 2, gzips, 3);
    const size_t zstds[] = {11, 25};
    check_cut(BYTES(SKIP_ZSTD HELLO_ZSTD HELLO_ZSTD), 4, zstds, 2);
}

/* Any flipped bit gives the same output or an error. */
TEST(test_gzip_flipped)
{
    uint8_t bytes[] = HELLO_LONG_HEAD;
    const size_t size = sizeof(bytes) - 1;
    for (size_t bit = 16; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        const result r = unpack((sl_bytes){bytes, size}, 7, 3);
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_true(r.status == SLUICE_CORRUPT ||
                    (r.status == SLUICE_OK && r.size == 5 && memcmp(r.out, "hello", 5) == 0));
    }
}

/* A good frame, then a damaged one of zstd 0.5: libzstd counts bytes that it has not written. */
TEST(test_only_what_was_written_comes_out)
{
    static const uint8_t packed[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0x00, 0x10, 0x0e, 0x00, 0xc4, 0x02, 0x00, 0x12, 0x87, 0x0f,
        0x0d, 0xc0, 0x25, 0x07, 0x64, 0x57, 0x44, 0x44, 0xb6, 0xaa, 0xaa, 0x4e, 0xdc, 0x02, 0x40,
        0x30, 0x77, 0x49, 0x92, 0xf5, 0x27, 0xe8, 0x43, 0x85, 0x42, 0x69, 0x78, 0x2d, 0x81, 0x1e,
        0x7e, 0xdf, 0x39, 0x66, 0x10, 0x97, 0xdb, 0x36, 0x76, 0xd2, 0xcd, 0xcb, 0x49, 0x92, 0xc6,
        0x7e, 0x56, 0x99, 0x65, 0x39, 0x42, 0xa3, 0x45, 0xbc, 0x1a, 0x8d, 0xea, 0x94, 0x98, 0x53,
        0x44, 0x04, 0x05, 0x00, 0xfc, 0x2f, 0x6e, 0x17, 0x44, 0x41, 0xc0, 0x3b, 0x22, 0x6a, 0xb0,
        0x3b, 0x22, 0x6a, 0xb0, 0x3b, 0x22, 0xea, 0xdf, 0xa7, 0x13, 0x02, 0x00, 0x10, 0x00, 0x02,
        0x00, 0x10, 0x00, 0x02, 0x00, 0x10, 0x00, 0x02, 0x00, 0x10, 0x00, 0x02, 0x00, 0x10, 0x00,
        0x02, 0x00, 0x10, 0x00, 0x03, 0x80, 0x00, 0x00, 0x25, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01,
        0x00, 0x00, 0x28, 0xb5, 0x2f, 0xfd, 0xa8, 0xc6, 0x7e, 0x56, 0x99, 0x65, 0x39, 0x42, 0xa3,
        0x45, 0xbc, 0x1a, 0x8d, 0xea, 0x94, 0x00, 0x02, 0x00, 0x10, 0x00, 0x03, 0x40, 0x08, 0x00};
    enum { ROOM = 1 << 20, GOOD = 921600 };
    static uint8_t out[ROOM];
    memset(out, 0xa5, sizeof(out));
    sl_unpack_stream *stream;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_unpack_stream_open(&stream, SL_PACKING_ZSTD, &error), SLUICE_OK);
    sl_unpack_step step = {.in = {packed, sizeof(packed)}, .to = out, .capacity = ROOM};
    assert_true(sl_unpack_stream_run(stream, &step, &error) < 0);
    assert_in_range(ROOM - step.capacity, 0, GOOD);
    sl_unpack_stream_close(stream);
}

/* One of each format that only a name identifies; truncated or extended data fail. */
static void check_one(sl_packing packing, sl_bytes packed)
{
    for (size_t in = 1; in <= packed.size; in++) {
        for (size_t capacity = 1; capacity < 12; capacity++) {
            const result r = unpack_as(packing, packed, in, capacity);
            assert_int_equal(r.status, SLUICE_OK);
            assert_int_equal(r.size, 5);
            assert_memory_equal(r.out, "hello", r.size);
            assert_true(r.lacks_checksum);
        }
        const result cut = unpack_as(packing, (sl_bytes){packed.data, packed.size - 1}, in, 5);
        assert_int_equal(cut.status, SLUICE_CORRUPT);
        assert_non_null(strstr(cut.error.text, "truncated"));
    }
    uint8_t longer[32] = {0};
    memcpy(longer, packed.data, packed.size);
    assert_int_equal(unpack_as(packing, (sl_bytes){longer, packed.size + 1}, 32, 32).status,
                     SLUICE_CORRUPT);
}

TEST(test_brotli_and_snappy)
{
    check_one(SL_PACKING_SNAPPY, BYTES("\x05\x10hello"));
    const result more = unpack_as(SL_PACKING_SNAPPY, BYTES("\x04\x10hello"), 32, 32);
    assert_int_equal(more.status, SLUICE_CORRUPT);
    assert_string_equal(more.error.text, "the snappy data are damaged here: the snappy block "
                                         "unpacks to more bytes than its header says");
    if (sl_brotli_is_there()) {
        check_one(SL_PACKING_BROTLI, BYTES("\x40\0\x10hello\x03"));
        const result r = unpack_as(SL_PACKING_BROTLI, BYTES("\x40\0\x10hello\x02"), 3, 5);
        assert_int_equal(r.status, SLUICE_CORRUPT);
    } else {
        sl_unpack_stream *stream;
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sl_unpack_stream_open(&stream, SL_PACKING_BROTLI, &error),
                         SLUICE_UNSUPPORTED);
        assert_non_null(strstr(error.text, "libbrotlidec"));
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests Snappy: blocks compressed by google/snappy 1.1.9 (snappy_compress), each kind of element,
 * and damaged blocks. */
#include "snappy.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = (1 << 24) + 77 };

#define BYTES(text) ((sl_bytes){(const uint8_t *)(text), sizeof(text) - 1})

/* Unpacks into memory of exactly that size, so that a sanitizer detects an extra byte. */
static bool unpack(sl_bytes packed, uint8_t **to, size_t size)
{
    uint8_t *copy = malloc(packed.size + 1);
    *to = malloc(size + 1);
    if (copy == NULL || *to == NULL) {
        abort();
    }
    uint8_t *tail = copy + 1; /* ends where its memory does */
    uint8_t *capacity = *to + 1;
    memcpy(tail, packed.data, packed.size);
    const bool good = sl_snappy_unpack((sl_bytes){tail, packed.size}, capacity, size);
    memmove(*to, capacity, size);
    free(copy);
    return good;
}

static void expect(sl_bytes packed, const void *wanted, size_t size)
{
    uint8_t *got;
    assert_true(unpack(packed, &got, size));
    assert_memory_equal(got, wanted, size);
    free(got);
    for (size_t other = size > 0 ? size - 1 : 1; other <= size + 1; other += 2) {
        assert_false(unpack(packed, &got, other)); /* a size that is one off */
        free(got);
    }
    for (size_t bytes = 0; bytes < packed.size; bytes++) { /* cut short anywhere */
        assert_false(unpack((sl_bytes){packed.data, bytes}, &got, size));
        free(got);
    }
}

static void expect_refused(sl_bytes packed, size_t size)
{
    uint8_t *got;
    assert_false(unpack(packed, &got, size));
    free(got);
}

TEST(blocks_of_the_library)
{
    static const char text[] =
        "the quick brown fox jumps over the lazy dog; the quick brown fox sleeps, the lazy dog "
        "jumps over it. the quick brown fox jumps over the lazy dog; the quick brown fox sleeps, "
        "the lazy dog jumps over it. ";
    char repeated[1200];
    memset(repeated, 'a', 1000);
    expect(BYTES("\0"), "", 0);
    expect(BYTES("\xe8\x07\x00\x61\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00\xfe"
                 "\x01\x00\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00"
                 "\xfe\x01\x00\xfe\x01\x00\xfe\x01\x00\x9a\x01\x00"),
           repeated, 1000);
    for (size_t i = 0; i < sizeof(repeated); i++) {
        repeated[i] = "abc"[i % 3];
    }
    expect(BYTES("\xb0\x09\x08\x61\x62\x63\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03"
                 "\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe"
                 "\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00\xfe\x03\x00"
                 "\xb2\x03\x00"),
           repeated, 1200);
    expect(BYTES("\xca\x01\x78\x74\x68\x65\x20\x71\x75\x69\x63\x6b\x20\x62\x72\x6f\x77\x6e\x20\x66"
                 "\x6f\x78\x20\x6a\x75\x6d\x70\x73\x20\x6f\x76\x65\x72\x20\x01\x1f\x20\x6c\x61\x7a"
                 "\x79\x20\x64\x6f\x67\x3b\x05\x0e\x3e\x2d\x00\x18\x73\x6c\x65\x65\x70\x73\x2c\x05"
                 "\x1c\x11\x2a\x2e\x42\x00\x08\x69\x74\x2e\x05\x1c\x3e\x38\x00\xfe\x65\x00\x42\x65"
                 "\x00"),
           text, sizeof(text) - 1);
}

/* In order: "abcd", then a copy of each kind. */
TEST(elements)
{
    expect(BYTES("\x04\x0c"
                 "abcd"),
           "abcd", 4);
    expect(BYTES("\x08\x0c"
                 "abcd\x01\x04"), /* 4 bytes, 4 back */
           "abcdabcd", 8);
    expect(BYTES("\x0f\x0c"
                 "abcd\x1d\x02"), /* 11 bytes, 2 back: into what it writes */
           "abcdcdcdcdcdcdc", 15);
    expect(BYTES("\x05\x0c"
                 "abcd\x02\x04\x00"), /* 1 byte, 4 back */
           "abcda", 5);
    expect(BYTES("\x07\x0c"
                 "abcd\x0b\x01\x00\x00\x00"), /* 3 bytes, 1 back, as 4 bytes */
           "abcdddd", 7);
    expect(BYTES("\x06\x0c"
                 "abcd\x04"
                 "ef"),
           "abcdef", 6);
}

/* The upper bits of a distance are in the tag, the second byte or the fourth byte. */
TEST(far_copies)
{
    static const struct {
        uint8_t element[5];
        uint8_t bytes;
        uint32_t distance, copied;
    } copies[] = {
        {{0xe1, 0xff}, 2, 2047, 4},
        {{0xfe, 0xff, 0xff}, 3, 65535, 64},
        {{0xff, 0x00, 0x00, 0x01, 0x00}, 5, 65536, 64},
        {{0xff, 0x00, 0x00, 0x00, 0x01}, 5, 1 << 24, 64},
    };
    uint8_t *block = malloc(LARGE + 100);
    uint8_t *got;
    assert_non_null(block);
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
        const uint32_t distance = copies[i].distance;
        const uint32_t size = distance + copies[i].copied;
        size_t at = 0;
        for (uint32_t left = size; left > 0; left >>= 7) {
            block[at++] = (uint8_t)((left & 0x7f) | (left >= 0x80 ? 0x80 : 0));
        }
        block[at++] = 63 << 2; /* one literal, its length in 4 bytes */
        for (int byte = 0; byte < 4; byte++) {
            block[at++] = (uint8_t)((distance - 1) >> (8 * byte));
        }
        for (uint32_t k = 0; k < distance; k++) {
            block[at++] = (uint8_t)(k * 2654435761U >> 24);
        }
        memcpy(block + at, copies[i].element, copies[i].bytes);
        const sl_bytes packed = {block, at + copies[i].bytes};
        assert_true(unpack(packed, &got, size));
        assert_memory_equal(got, block + at - distance, distance);
        assert_memory_equal(got + distance, got, copies[i].copied);
        free(got);
    }
    free(block);
}

/* Literal lengths in the tag and in the 1 to 4 bytes after it, even where fewer would do. */
TEST(literals)
{
    static const uint32_t lengths[] = {1, 59, 60, 61, 256, 257, 65536, 65537};
    uint8_t *block = malloc(70000);
    uint8_t *got;
    assert_non_null(block);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint32_t width = 0; width <= 4; width++) {
            const uint32_t last = lengths[i] - 1;
            if (width == 0 ? last >= 60 : (uint64_t)last >> (8 * width) != 0) {
                continue;
            }
            size_t at = 0;
            for (uint32_t left = lengths[i]; left > 0; left >>= 7) {
                block[at++] = (uint8_t)((left & 0x7f) | (left >= 0x80 ? 0x80 : 0));
            }
            block[at++] = (uint8_t)(width == 0 ? last << 2 : (59 + width) << 2);
            for (uint32_t byte = 0; byte < width; byte++) {
                block[at++] = (uint8_t)(last >> (8 * byte));
            }
            memset(block + at, (int)('a' + width), lengths[i]);
            assert_true(unpack((sl_bytes){block, at + lengths[i]}, &got, lengths[i]));
            assert_memory_equal(got, block + at, lengths[i]);
            free(got);
            expect_refused((sl_bytes){block, at + lengths[i] - 1}, lengths[i]);
            expect_refused((sl_bytes){block, at + lengths[i] + 1}, lengths[i]);
        }
    }
    free(block);
}

TEST(what_is_damaged)
{
    expect_refused(BYTES(""), 0);
    expect_refused(BYTES("\x80"), 0);                     /* a size that does not end */
    expect_refused(BYTES("\x80\x80\x80\x80\x80\x00"), 0); /* nor within 5 bytes */
    expect_refused(BYTES("\xff\xff\xff\xff\x1f"), 0);     /* above 2^32 - 1 */
    expect_refused(BYTES("\x08\x0c"
                         "abcd\x01\x00"), /* 0 back */
                   8);
    expect_refused(BYTES("\x08\x0c"
                         "abcd\x0e\x00\x00"),
                   8);
    expect_refused(BYTES("\x08\x0c"
                         "abcd\x0f\x00\x00\x00\x00"),
                   8);
    expect_refused(BYTES("\x08\x0c"
                         "abcd\x01\x05"), /* before the beginning */
                   8);
    expect_refused(BYTES("\x04\x01\x01"), 4);
    expect_refused(BYTES("\x08\x0c"
                         "abcd\x0f\xff\xff\xff\xff"),
                   8);
    expect_refused(BYTES("\x06\x0c"
                         "abcd\x01\x04"), /* a copy beyond the size */
                   6);
    expect_refused(BYTES("\x03\x0c"
                         "abcd"), /* a literal beyond it */
                   3);
    expect_refused(BYTES("\x04\xfc\xff\xff\xff\xff"
                         "abcd"), /* 2^32 bytes */
                   4);
    expect_refused(BYTES("\x04\x10"
                         "abcd"), /* longer than the rest */
                   4);
}

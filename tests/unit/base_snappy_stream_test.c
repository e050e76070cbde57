/* SPDX-License-Identifier: Apache-2.0 */
/* Snappy blocks piece by piece: any pieces give the same output as the whole, and damaged data
 * fail. */
#include "snappy.h"
#include "snappy_stream.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 65536, LARGE = 300000 };

#define BYTES(text) ((sl_bytes){(const uint8_t *)(text), sizeof(text) - 1})

/* Unpacks pieces of `in` bytes with space for `capacity` at a time; returns how much came out and
 * why not all. */
static sl_refusal run(sl_bytes packed, size_t in, size_t capacity, uint8_t *to, size_t most,
                      size_t *came)
{
    sl_refusal why = sl_accept();
    sl_snappy_stream *stream = sl_snappy_stream_open();
    assert_non_null(stream);
    size_t given = 0;
    size_t progress = 1;
    *came = 0;
    while (why.text == NULL && (progress > 0 || given < packed.size)) {
        const size_t left = packed.size - given;
        const size_t space = most - *came;
        sl_unpack_step step = {.in = {packed.data + given, left < in ? left : in}};
        step.to = to + *came;
        step.capacity = space < capacity ? space : capacity;
        const sl_unpack_step before = step;
        why = sl_snappy_stream_run(stream, &step);
        progress = before.in.size - step.in.size + before.capacity - step.capacity;
        given += before.in.size - step.in.size;
        *came += before.capacity - step.capacity;
        if (progress == 0 && why.text == NULL) {
            break;
        }
    }
    if (why.text == NULL && !sl_snappy_stream_ended(stream)) {
        why = sl_refuse("truncated", 0);
    }
    sl_snappy_stream_close(stream);
    return why;
}

static void check(sl_bytes packed, const void *wanted, size_t size)
{
    static const size_t pieces[] = {1, 2, 3, 7, 100, 65535, LARGE};
    uint8_t *out = malloc(size + 1);
    uint8_t *at_once = malloc(size + 1);
    assert_non_null(out);
    assert_non_null(at_once);
    size_t came;
    assert_true(sl_snappy_unpack(packed, at_once, size));
    assert_memory_equal(at_once, wanted, size);
    for (size_t i = 0; i < 7; i++) {
        for (size_t k = 0; k < 7; k++) {
            assert_null(run(packed, pieces[i], pieces[k], out, size + 1, &came).text);
            assert_int_equal(came, size);
            assert_memory_equal(out, wanted, size);
        }
    }
    free(out);
    free(at_once);
}

static void refused(sl_bytes packed, sluice_status status, const char *why)
{
    static uint8_t out[2 * WINDOW];
    size_t came;
    const sl_refusal found = run(packed, 3, 5, out, sizeof(out), &came);
    assert_non_null(found.text);
    assert_int_equal(found.status, status);
    assert_non_null(strstr(found.text, why));
}

TEST(small_blocks)
{
    check(BYTES("\0"), "", 0);
    check(BYTES("\x05\x10hello"), "hello", 5);
    check(BYTES("\x0c\x04"
                "ab\x19\x02"),
          "abababababab", 12); /* a copy into itself */
    check(BYTES("\x0a\x08"
                "abc\x1a\x03\0"),
          "abcabcabca", 10);
    check(BYTES("\x0a\x08"
                "abc\x1b\x03\0\0\0"),
          "abcabcabca", 10);
    check(BYTES("\x06\xf0\x05"
                "abcdef"),
          "abcdef", 6); /* lengths of 1 to 4 bytes */
    check(BYTES("\x06\xf4\x05\0"
                "abcdef"),
          "abcdef", 6);
    check(BYTES("\x06\xf8\x05\0\0"
                "abcdef"),
          "abcdef", 6);
    check(BYTES("\x06\xfc\x05\0\0\0"
                "abcdef"),
          "abcdef", 6);
}

TEST(what_is_damaged)
{
    refused(BYTES(""), SLUICE_CORRUPT, "truncated");
    refused(BYTES("\x80"), SLUICE_CORRUPT, "truncated");
    refused(BYTES("\x05\x10hell"), SLUICE_CORRUPT, "truncated");
    refused(BYTES("\x06\x10hello"), SLUICE_CORRUPT, "truncated");
    refused(BYTES("\xff\xff\xff\xff\x1f\x10hello"), SLUICE_CORRUPT,
            "header of the snappy block is invalid");
    refused(BYTES("\x80\x80\x80\x80\x80\x80"), SLUICE_CORRUPT,
            "header of the snappy block is invalid");
    refused(BYTES("\x04\x10hello"), SLUICE_CORRUPT, "unpacks to more bytes");
    refused(BYTES("\x05\x10hello\x10hello"), SLUICE_CORRUPT, "continues after its end");
    refused(BYTES("\x08\x04"
                  "ab\x09\x03"),
            SLUICE_CORRUPT, "from before its beginning");
    refused(BYTES("\x08\x04"
                  "ab\x09\0"),
            SLUICE_CORRUPT, "from before its beginning");
}

static size_t put_size(uint8_t *to, uint32_t size)
{
    size_t at = 0;
    for (; size >= 0x80; size >>= 7) {
        to[at++] = (uint8_t)(size | 0x80);
    }
    to[at++] = (uint8_t)size;
    return at;
}

/* Makes a literal of `bytes`, then copies of 60 from `distance` before. */
static size_t make_far(uint8_t *to, size_t bytes, uint32_t distance, unsigned copies)
{
    size_t at = put_size(to, (uint32_t)(bytes + 60UL * copies));
    to[at++] = 62 << 2; /* a length of 3 bytes */
    for (int i = 0; i < 3; i++) {
        to[at++] = (uint8_t)((bytes - 1) >> 8 * i);
    }
    for (size_t i = 0; i < bytes; i++) {
        to[at++] = (uint8_t)(i * i / 77 + i / 1000);
    }
    for (unsigned i = 0; i < copies; i++) {
        to[at++] = 59 << 2 | 3;
        for (int k = 0; k < 4; k++) {
            to[at++] = (uint8_t)(distance >> 8 * k);
        }
    }
    return at;
}

TEST(as_far_as_the_window)
{
    static uint8_t packed[LARGE + 40000];
    static uint8_t wanted[LARGE + 60 * 3000];
    static const uint32_t distances[] = {1, 59, 60, 61, 4096, WINDOW - 1, WINDOW};
    for (size_t i = 0; i < 7; i += TEST_AMOUNT(1, 3)) {
        const size_t size = make_far(packed, LARGE, distances[i], 3000);
        memcpy(wanted, packed + 7, LARGE);
        for (size_t k = LARGE; k < sizeof(wanted); k++) {
            wanted[k] = wanted[k - distances[i]];
        }
        check((sl_bytes){packed, size}, wanted, sizeof(wanted));
    }
    const size_t size = make_far(packed, WINDOW + 10, WINDOW + 1, 1);
    refused((sl_bytes){packed, size}, SLUICE_UNSUPPORTED, "64 KiB");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the cursor's bytes: round trip, every flipped bit, every length and other versions; and the
 * note behind the cursor, with the names of its parts. */
#include "cursor.h"
#include "order_parts.h"
#include "test.h"

#include <sluice/loader.h>

#include <stdbool.h>
#include <string.h>

static const sl_cursor sample = {
    .fingerprint = 0x1122334455667788,
    .samples = 1281167,
    .seed = UINT64_MAX,
    .epoch = 89,
    .position = 1000000,
    .shuffle = SLUICE_SHUFFLE_BLOCK,
    .block = 64,
    .window = 16,
};

static size_t save(const sl_cursor *cursor, uint8_t buffer[SLUICE_CURSOR_BYTES])
{
    size_t bytes = SLUICE_CURSOR_BYTES;
    assert_int_equal(sl_cursor_write(cursor, buffer, &bytes), SLUICE_OK);
    assert_true(bytes <= SLUICE_CURSOR_BYTES);
    return bytes;
}

/* The contract's checksum, implemented again. */
static void seal(uint8_t *buffer, size_t bytes)
{
    uint64_t hash = 14695981039346656037U;
    for (size_t i = 0; i < bytes - 8; i++) {
        hash ^= buffer[i];
        hash *= 1099511628211U;
    }
    for (size_t i = 0; i < 8; i++) {
        buffer[bytes - 8 + i] = (uint8_t)(hash >> (8 * i));
    }
}

TEST(a_cursor_comes_back)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    const size_t bytes = save(&sample, buffer);
    sl_cursor got;
    memset(&got, 0, sizeof(got));
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_OK);
    assert_true(got.fingerprint == sample.fingerprint && got.samples == sample.samples);
    assert_true(got.seed == sample.seed && got.epoch == sample.epoch);
    assert_true(got.position == sample.position);
    assert_int_equal(got.shuffle, sample.shuffle);
    assert_int_equal(got.block, sample.block);
    assert_int_equal(got.window, sample.window);
    /* A caller who kept the whole field but not its length. */
    assert_int_equal(sl_cursor_read(&got, buffer, sizeof(buffer)), SLUICE_OK);
}

TEST(the_bytes_are_as_described)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    const size_t bytes = save(&sample, buffer);
    static const uint8_t expected[] = {
        'S',  'L',  'U',  'C',  'U',  'R',  'S',  '1',               /* magic */
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,              /* fingerprint */
        0x8f, 0x8c, 0x13, 0,    0,    0,    0,    0,                 /* samples */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,              /* seed */
        89,   0,    0,    0,    0,    0,    0,    0,                 /* epoch */
        0x40, 0x42, 0x0f, 0,    0,    0,    0,    0,                 /* position */
        1,    0,    0,    0,    64,   0,    0,    0,    16, 0, 0, 0, /* order */
    };
    assert_int_equal(bytes, sizeof(expected) + 8);
    assert_memory_equal(buffer, expected, sizeof(expected));
    uint8_t sealed[SLUICE_CURSOR_BYTES];
    memcpy(sealed, buffer, sizeof(sealed));
    seal(sealed, bytes);
    assert_memory_equal(buffer, sealed, bytes);
}

TEST(every_flipped_bit_is_refused)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    const size_t bytes = save(&sample, buffer);
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        sl_cursor got = {.epoch = 7};
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        const sluice_status status = sl_cursor_read(&got, buffer, bytes);
        const bool other_version =
            bit / 8 == 7 && buffer[7] != '3' && buffer[7] != '5'; /* existing versions */
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_int_equal(status, other_version ? SLUICE_UNSUPPORTED : SLUICE_CORRUPT);
        assert_true(got.epoch == 7);
    }
    for (size_t at = 0; at < bytes; at++) {
        for (unsigned value = 0; value < 256; value++) {
            const uint8_t before = buffer[at];
            sl_cursor got;
            buffer[at] = (uint8_t)value;
            assert_true((sl_cursor_read(&got, buffer, bytes) == SLUICE_OK) == (value == before));
            buffer[at] = before;
        }
    }
}

TEST(short_buffers_are_refused)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    const size_t bytes = save(&sample, buffer);
    for (size_t length = 0; length < bytes; length++) {
        sl_cursor got;
        assert_int_equal(sl_cursor_read(&got, buffer, length), SLUICE_CORRUPT);
        uint8_t capacity[SLUICE_CURSOR_BYTES];
        memset(capacity, 0xcc, sizeof(capacity));
        size_t given = length;
        assert_int_equal(sl_cursor_write(&sample, capacity, &given), SLUICE_INVALID);
        for (size_t i = 0; i < sizeof(capacity); i++) {
            assert_int_equal(capacity[i], 0xcc);
        }
    }
}

TEST(other_versions_are_told_apart)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    const size_t bytes = save(&sample, buffer);
    buffer[7] = '8';
    seal(buffer, bytes);
    sl_cursor got;
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_UNSUPPORTED);
    assert_int_equal(sl_cursor_read(&got, buffer, 8), SLUICE_UNSUPPORTED);
}

/* Correctly sealed, but impossible. */
TEST(impossible_figures_are_refused)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    const size_t bytes = save(&sample, buffer);
    sl_cursor got;
    buffer[42] = 0x14; /* position 1,327,680 of 1,281,167 */
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
    buffer[42] = 0x0f;
    buffer[48] = 4; /* no such shuffle */
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
    buffer[48] = 3; /* this shuffle has a version of its own */
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
    buffer[48] = 1;
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_OK);
}

TEST(a_cursor_by_shards)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    sl_cursor given = sample;
    sl_cursor got;
    given.shuffle = SLUICE_SHUFFLE_SHARDS;
    given.window_bytes = (uint64_t)5 << 40;
    given.world = 0x12345678;
    given.batch = 65536;
    memset(&got, 0, sizeof(got));
    const size_t bytes = save(&given, buffer);
    assert_int_equal(bytes, 84);
    assert_int_equal(buffer[7], '2');
    assert_int_equal(sl_cursor_read(&got, buffer, sizeof(buffer)), SLUICE_OK);
    assert_memory_equal(&got, &given, sizeof(got));
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_int_not_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_OK);
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    for (size_t length = 0; length < bytes; length++) {
        size_t capacity = length;
        assert_int_equal(sl_cursor_read(&got, buffer, length), SLUICE_CORRUPT);
        assert_int_equal(sl_cursor_write(&given, buffer, &capacity), SLUICE_INVALID);
    }
    buffer[48] = SLUICE_SHUFFLE_NONE;
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
}

TEST(a_cursor_with_buckets)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    sl_cursor given = sample;
    sl_cursor got;
    given.shuffle = SLUICE_SHUFFLE_FULL;
    given.buckets = 0x8877665544332211;
    given.global = (uint64_t)1 << 36;
    memset(&got, 0, sizeof(got));
    const size_t bytes = save(&given, buffer);
    assert_int_equal(bytes, 84);
    assert_int_equal(buffer[7], '3');
    assert_int_equal(sl_cursor_read(&got, buffer, sizeof(buffer)), SLUICE_OK);
    assert_memory_equal(&got, &given, sizeof(got));
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_int_not_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_OK);
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    for (size_t length = 0; length < bytes; length++) {
        size_t capacity = length;
        assert_int_equal(sl_cursor_read(&got, buffer, length), SLUICE_CORRUPT);
        assert_int_equal(sl_cursor_write(&given, buffer, &capacity), SLUICE_INVALID);
    }
    memset(buffer + 68, 0, 8); /* a global batch is never 0 */
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
}

TEST(a_cursor_with_episodes)
{
    uint8_t buffer[SLUICE_CURSOR_BYTES];
    sl_cursor given = sample;
    sl_cursor got;
    given.shuffle = SLUICE_SHUFFLE_FULL;
    given.order = 0x8877665544332211;
    memset(&got, 0, sizeof(got));
    const size_t bytes = save(&given, buffer);
    assert_int_equal(bytes, 76);
    assert_int_equal(buffer[7], '4');
    assert_int_equal(sl_cursor_read(&got, buffer, sizeof(buffer)), SLUICE_OK);
    assert_true(got.order == given.order && got.position == given.position);
    assert_true(got.global == 0 && got.buckets == 0);
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_int_not_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_OK);
        buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    for (size_t length = 0; length < bytes; length++) {
        size_t capacity = length;
        assert_int_equal(sl_cursor_read(&got, buffer, length), SLUICE_CORRUPT);
        assert_int_equal(sl_cursor_write(&given, buffer, &capacity), SLUICE_INVALID);
    }
    buffer[48] = SLUICE_SHUFFLE_BLOCK; /* this order has no blocks */
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
    buffer[48] = SLUICE_SHUFFLE_FULL;
    memset(buffer + 60, 0, 8); /* a hash is never 0 */
    seal(buffer, bytes);
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
}

/* Each order that rows of several samples can have. */
TEST(a_cursor_with_rows)
{
    for (int order = 0; order < 3; order++) {
        uint8_t buffer[SLUICE_CURSOR_BYTES];
        uint8_t before[SLUICE_CURSOR_BYTES];
        sl_cursor given = sample;
        sl_cursor got;
        given.shuffle = SLUICE_SHUFFLE_FULL;
        given.global = order == 1 ? 64 : 0;
        given.buckets = order == 1 ? 0x8877665544332211 : 0;
        given.order = order == 2 ? 0x1122334455667789 : 0;
        const size_t without = save(&given, before);
        given.rows = 0xfedcba9876543211;
        const size_t bytes = save(&given, buffer);
        assert_int_equal(bytes, without + 8);
        assert_int_equal(buffer[7], "567"[order]);
        assert_memory_equal(buffer + 8, before + 8, without - 16);
        memset(&got, 0, sizeof(got));
        assert_int_equal(sl_cursor_read(&got, buffer, sizeof(buffer)), SLUICE_OK);
        assert_true(got.rows == given.rows && got.order == given.order);
        assert_true(got.global == given.global && got.buckets == given.buckets);
        assert_int_equal(sl_cursor_read(&got, before, without), SLUICE_OK);
        assert_true(got.rows == 0 && got.position == given.position);
        for (size_t bit = 0; bit < bytes * 8; bit++) {
            buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
            assert_int_not_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_OK);
            buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        }
        memset(buffer + bytes - 16, 0, 8); /* no hash is 0 */
        seal(buffer, bytes);
        assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_CORRUPT);
    }
}

/* The contract's checksum of a note covers its cursor's checksum and the parts. */
static uint32_t note_sum(const uint8_t *cursor, size_t end)
{
    uint64_t hash = 14695981039346656037U;
    for (size_t at = end - 8; at <= end; at += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8; i++) {
            word |= (uint64_t)cursor[at + i] << (8 * i);
        }
        hash = (hash ^ word) * 1099511628211U;
    }
    return (uint32_t)(hash >> 32);
}

static void expect_parts(const uint8_t *buffer, size_t bytes, uint64_t parts)
{
    sl_cursor got;
    assert_int_equal(sl_cursor_read(&got, buffer, bytes), SLUICE_OK);
    assert_true(got.parts == parts && got.position == sample.position);
}

/* The note follows a cursor that is complete without it, as older ones are. */
TEST(a_note_of_parts)
{
    for (int rows = 0; rows < 2; rows++) {
        uint8_t before[SLUICE_CURSOR_BYTES];
        uint8_t buffer[SLUICE_CURSOR_BYTES];
        sl_cursor given = sample;
        given.shuffle = SLUICE_SHUFFLE_FULL;
        given.order = 0x1122334455667789;
        given.rows = rows == 1 ? 0xfedcba9876543211 : 0;
        const size_t end = save(&given, before);
        given.parts = 0x0102030405060701;
        assert_int_equal(save(&given, buffer), end + 12);
        assert_memory_equal(buffer, before, end);
        for (uint8_t i = 0; i < 8; i++) {
            assert_int_equal(buffer[end + i], given.parts >> (8 * i) & 0xff);
        }
        const uint32_t sum = note_sum(buffer, end);
        for (uint8_t i = 0; i < 4; i++) {
            assert_int_equal(buffer[end + 8 + i], sum >> (8 * i) & 0xff);
        }
        expect_parts(buffer, sizeof(buffer), given.parts);
        expect_parts(buffer, end + 12, given.parts);
        for (size_t length = end; length < end + 12; length++) {
            expect_parts(buffer, length, 0);
            uint8_t less[SLUICE_CURSOR_BYTES];
            size_t capacity = length;
            assert_int_equal(sl_cursor_write(&given, less, &capacity), SLUICE_OK);
            assert_int_equal(capacity, end);
            assert_memory_equal(less, before, end);
        }
        for (size_t bit = end * 8; bit < (end + 12) * 8; bit++) { /* skipped */
            buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
            expect_parts(buffer, end + 12, 0);
            buffer[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        }
        given.epoch++; /* another cursor in the same field */
        given.parts = 0;
        size_t capacity = sizeof(buffer);
        assert_int_equal(sl_cursor_write(&given, buffer, &capacity), SLUICE_OK);
        expect_parts(buffer, sizeof(buffer), 0);
    }
}

static const sl_order_part parts[] = {{.name = "length", .bits = 10},
                                      {.name = "cut", .bits = 2},
                                      {.name = "align", .bits = 7, .usual = 1}};
static const sl_order_table table = {.number = 9,
                                     .what = "rows",
                                     .order = "in rows",
                                     .count = 3,
                                     .parts = parts};

static void expect_names(const uint64_t *left, const uint64_t *right, const char *names)
{
    sl_name_list list;
    sl_name_list_begin(&list);
    sl_order_parts_differ(&table, sl_order_parts_make(&table, left),
                          sl_order_parts_make(&table, right), &list);
    assert_string_equal(list.text, names);
}

TEST(parts_name_what_differs)
{
    const uint64_t own[] = {2048, 0, 1};
    assert_int_equal(sl_order_parts_table(sl_order_parts_make(&table, own)), 9);
    expect_names(own, own, "none");
    expect_names(own, (uint64_t[]){4096, 0, 1}, "length");
    expect_names(own, (uint64_t[]){2049, 0, 1}, "length");
    expect_names(own, (uint64_t[]){2048, 0, 16}, "align");
    expect_names(own, (uint64_t[]){UINT64_MAX, 2, 0}, "length, cut, align");
    for (uint64_t cut = 0; cut < 4; cut++) {
        expect_names((uint64_t[]){1, cut, 1}, (uint64_t[]){1, (cut + 1) % 4, 1}, "cut");
    }
    /* A part with its usual value is 0, as if the table lacked that part. */
    assert_true(sl_order_parts_make(&table, (uint64_t[]){0, 0, 1}) == 9);
    for (uint64_t value = 0; value < 1000; value++) { /* others never are, however far apart */
        const uint64_t far = value * 0x9E3779B97F4A7C15U + 1;
        assert_true(sl_order_parts_make(&table, (uint64_t[]){far, 0, 1}) != 9);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restart intervals: found wherever they are, and nothing accepted that is not exactly as the
 * header demands.
 */
#include "jpeg_tiles.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES_MAX = 1 << 16, GUARD = 1 << 16, INTERVALS_MAX = 64, SCRATCH = 1 << 20 };

static uint8_t *guarded_end; /* BYTES_MAX bytes are before it, no access behind it */
static sl_scratch scratch;

static int setup(void **state)
{
    uint8_t *block =
        mmap(NULL, BYTES_MAX + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mprotect(block + BYTES_MAX, GUARD, PROT_NONE) != 0) {
        return -1;
    }
    guarded_end = block + BYTES_MAX;
    return sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL) == SLUICE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    sl_scratch_close(&scratch);
    return munmap(guarded_end - BYTES_MAX, BYTES_MAX + GUARD);
}

/* Bytes as they are made, with what is known of them. */
typedef struct made {
    uint8_t bytes[BYTES_MAX];
    size_t size;
    sl_jpeg_span spans[INTERVALS_MAX];
    uint32_t count;
} made;

static void put(made *out, int byte)
{
    assert_true(out->size < BYTES_MAX);
    out->bytes[out->size++] = (uint8_t)byte;
}

/* `bytes` of data, more or less, some of it FF, which is followed by 00. */
static void put_interval(made *out, uint32_t bytes, uint32_t one_in, sl_random *random)
{
    sl_jpeg_span *span = &out->spans[out->count++];
    span->begin = (uint32_t)out->size;
    for (uint32_t i = 0; i < bytes; i++) {
        const int value =
            sl_random_below(random, one_in) == 0 ? 0xFF : (int)sl_random_below(random, 255);
        put(out, value);
        if (value == 0xFF) {
            put(out, 0);
        }
    }
    span->end = (uint32_t)out->size;
}

static void put_marker(made *out, int marker)
{
    put(out, 0xFF);
    put(out, marker);
}

static bool find(const made *out, uint32_t count, uint32_t start, sl_jpeg_tiles *tiles)
{
    uint8_t *bytes = guarded_end - out->size;
    memcpy(bytes, out->bytes, out->size);
    sl_scratch_reset(&scratch);
    *tiles = (sl_jpeg_tiles){.mcus_across = count * 2 - 1, .mcus_down = 1, .interval = 2};
    return sl_jpeg_tiles_find(tiles, (sl_bytes){bytes, out->size}, start, &scratch);
}

TEST(every_interval_is_found)
{
    static made bytes;
    for (uint32_t run = 0; run < 3000; run++) {
        sl_random random = sl_random_for(9, run, 0, 0);
        const uint32_t count = 1 + sl_random_below(&random, INTERVALS_MAX);
        const uint32_t longest = 1 + sl_random_below(&random, run % 3 == 0 ? 300 : 20);
        const uint32_t start = sl_random_below(&random, 100);
        bytes.size = 0;
        bytes.count = 0;
        while (bytes.size < start) {
            put(&bytes, run % 2 == 0 ? 0xFF : 0xD9); /* nothing before the start counts */
        }
        for (uint32_t i = 0; i < count; i++) {
            put_interval(&bytes, 1 + sl_random_below(&random, longest), 1 + run % 40, &random);
            put_marker(&bytes, i + 1 < count ? 0xD0 + (int)(i % 8) : 0xD9);
        }
        for (uint32_t i = run % 4 * 30; i > 0; i--) {
            put(&bytes, (int)sl_random_below(&random, 256)); /* nor does what follows the end */
        }
        sl_jpeg_tiles tiles;
        assert_true(find(&bytes, count, start, &tiles));
        assert_int_equal(tiles.count, count);
        assert_memory_equal(tiles.spans, bytes.spans, count * sizeof(*tiles.spans));
        if (count > 1) {
            assert_false(find(&bytes, count - 1, start, &tiles));
        }
        assert_false(find(&bytes, count + 1, start, &tiles));
    }
}

/* Three intervals of 70 bytes, from byte 10 on: markers at 80, 152 and 224. */
static void make_regular(made *out)
{
    out->size = 0;
    for (int i = 0; i < 226; i++) {
        put(out, i < 10 ? 0 : 1 + i % 200);
    }
    const int ends[3] = {80, 152, 224};
    const int markers[3] = {0xD0, 0xD1, 0xD9};
    for (int i = 0; i < 3; i++) {
        out->bytes[ends[i]] = 0xFF;
        out->bytes[ends[i] + 1] = (uint8_t)markers[i];
    }
}

/* A byte in its place, or two. */
static void expect_irregular(size_t at, int first, int second)
{
    static made bytes;
    sl_jpeg_tiles tiles;
    make_regular(&bytes);
    assert_true(find(&bytes, 3, 10, &tiles));
    bytes.bytes[at] = (uint8_t)first;
    bytes.bytes[at + 1] = (uint8_t)second;
    assert_false(find(&bytes, 3, 10, &tiles));
}

TEST(whatever_is_irregular_is_not_accepted)
{
    expect_irregular(79, 0xFF, 0xFF);  /* a fill byte in front of a marker */
    expect_irregular(100, 0xFF, 0xFF); /* and in the data */
    expect_irregular(100, 0xFF, 0xD1); /* too many */
    expect_irregular(100, 0xFF, 0xD9); /* an end too early */
    expect_irregular(100, 0xFF, 0xDA); /* another scan */
    expect_irregular(100, 0xFF, 0x01);
    expect_irregular(80, 0xFF, 0xD1); /* out of sequence */
    expect_irregular(152, 0xFF, 0xD0);
    expect_irregular(152, 0xFF, 0xD2);
    expect_irregular(152, 0x55, 0xD1); /* too few */
    expect_irregular(152, 0xFF, 0x00);
    expect_irregular(224, 0x55, 0xD9); /* no end */
    expect_irregular(224, 0xFF, 0x00);
    expect_irregular(224, 0xFF, 0xDC);
    expect_irregular(224, 0xFF, 0xD2);
    expect_irregular(10, 0xFF, 0xD0); /* an interval of no bytes */
    expect_irregular(82, 0xFF, 0xD1);
}

/* Markers in sequence, but the first or the last interval has no bytes. */
TEST(an_interval_has_bytes)
{
    static const size_t places[2][2] = {{10, 80}, {154, 224}};
    static made bytes;
    sl_jpeg_tiles tiles;
    for (int i = 0; i < 2; i++) {
        const size_t to = places[i][0];
        const size_t from = places[i][1];
        for (size_t shift = 0; shift <= 1; shift++) {
            make_regular(&bytes);
            memmove(bytes.bytes + to + shift, bytes.bytes + from, 2);
            memset(bytes.bytes + from, 0x55, i == 0 ? 2 : 0);
            assert_int_equal(find(&bytes, 3, 10, &tiles), shift);
        }
    }
}

TEST(every_length_but_the_whole_is_refused)
{
    static made bytes;
    sl_jpeg_tiles tiles;
    make_regular(&bytes);
    const size_t whole = bytes.size;
    for (bytes.size = 10; bytes.size < whole; bytes.size++) {
        assert_false(find(&bytes, 3, 10, &tiles));
    }
    assert_true(find(&bytes, 3, 10, &tiles));
    assert_false(find(&bytes, 3, (uint32_t)whole, &tiles));
    assert_false(find(&bytes, 3, 224, &tiles));
}

/* A header may promise billions of intervals. */
TEST(huge_counts_cost_nothing)
{
    uint8_t bytes[100] = {0};
    sl_jpeg_tiles tiles = {.mcus_across = 8188, .mcus_down = 8188, .interval = 1};
    sl_scratch_reset(&scratch);
    assert_false(sl_jpeg_tiles_find(&tiles, (sl_bytes){bytes, sizeof(bytes)}, 0, &scratch));
    tiles = (sl_jpeg_tiles){.mcus_across = UINT32_MAX, .mcus_down = UINT32_MAX, .interval = 1};
    assert_false(sl_jpeg_tiles_find(&tiles, (sl_bytes){bytes, sizeof(bytes)}, 0, &scratch));
    assert_int_equal(scratch.used, 0);
}

TEST_GROUP(setup, teardown)

/* Of each interval: from its first MCU to the last one that is wanted. */
static uint64_t count_read(const sl_jpeg_tiles *tiles, const uint32_t columns[2],
                           const uint32_t rows[2])
{
    const uint32_t mcus = tiles->mcus_across * tiles->mcus_down;
    uint64_t read = 0;
    for (uint32_t begin = 0; begin < mcus; begin += tiles->interval) {
        uint32_t end = begin;
        for (uint32_t i = begin; i < begin + tiles->interval && i < mcus; i++) {
            const uint32_t column = i % tiles->mcus_across;
            const uint32_t row = i / tiles->mcus_across;
            if (column >= columns[0] && column < columns[1] && row >= rows[0] && row < rows[1]) {
                end = i + 1;
            }
        }
        read += end - begin;
    }
    return read;
}

TEST(what_is_read_for_a_part)
{
    enum { ACROSS = 12, DOWN = 7, MCUS = ACROSS * DOWN };
    const uint32_t intervals[] = {1, 2, 3, 4, 6, ACROSS, MCUS};
    for (uint32_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
        const sl_jpeg_tiles tiles = {
            .mcus_across = ACROSS, .mcus_down = DOWN, .interval = intervals[i]};
        for (uint32_t n = 0; n < MCUS; n++) {
            const uint32_t left = n % ACROSS;
            const uint32_t top = n / ACROSS;
            const uint32_t columns[] = {left, left + 1 + n % (ACROSS - left)};
            const uint32_t rows[] = {top, top + 1 + n % (DOWN - top)};
            const uint64_t read =
                sl_jpeg_tiles_read(&tiles, columns[0], columns[1], rows[0], rows[1]);
            const uint64_t counted = count_read(&tiles, columns, rows);
            if (intervals[i] != ACROSS) {
                assert_int_equal(read, counted);
            } else { /* but for what is behind the part in each row */
                assert_in_range(read, counted, counted + MCUS);
            }
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests opening a packing: several threads, stops, its bytes, no allocation once opened, invalid
 * arguments, and what changes the hash. plan_packing_test covers the rows themselves. */
#include "memory.h"
#include "packing.h"
#include "plan_packing_lengths.h"
#include "stop.h"
#include "test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST = 20000 };

static uint32_t lengths[MOST];

/* ---- threads, stops, memory ---- */

typedef struct reader {
    const sl_packed_rows *packing;
    const uint64_t *expected; /* for each row */
    uint64_t seed;
    uint32_t wrong;
} reader;

static uint64_t row_hash(const sl_packed_rows *packing, uint64_t row)
{
    sl_packed_piece pieces[32];
    const uint32_t count = sl_packing_pieces(packing, row, 0, UINT32_MAX, pieces);
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        hash = hash * 31 + pieces[i].document;
        hash = hash * 31 + pieces[i].first;
        hash = hash * 31 + pieces[i].count;
    }
    return hash;
}

static void *read_rows(void *argument)
{
    reader *r = argument;
    const uint64_t rows = sl_packing_facts_of(r->packing)->rows;
    for (uint32_t i = 0; i < 3000; i++) {
        r->seed = r->seed * 6364136223846793005U + 1442695040888963407U;
        const uint64_t row = (r->seed >> 33) % rows;
        r->wrong += row_hash(r->packing, row) != r->expected[row];
    }
    return NULL;
}

/* 100 windows; 32 are kept. */
TEST(threads_get_the_same_rows)
{
    static uint64_t expected[MOST];
    const sl_packing_shape shape = {64, 32, 1, 1, 40, SL_PACKING_CUT_LONG};
    const sl_packing_source source = {
        .lengths = sl_packing_lengths_of_array(lengths, 4000), .seed = 5, .shuffled = true};
    sl_packed_rows *packing;
    packing_lengths_fill(lengths, 4000, &shape, HUGE_ONES);
    assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
    for (uint64_t row = 0; row < sl_packing_facts_of(packing)->rows; row++) {
        expected[row] = row_hash(packing, row);
    }
    const uint64_t allocations = sl_memory_allocations();
    pthread_t threads[3];
    reader readers[3];
    for (uint32_t i = 0; i < 3; i++) {
        readers[i] = (reader){packing, expected, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_rows, &readers[i]), 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    assert_int_equal(sl_memory_allocations(), allocations);
    sl_packing_close(packing);
}

/* More than one job of 64 windows: several threads count them, with the same result. */
TEST(many_windows_are_counted_by_threads)
{
    const sl_packing_shape shape = {64, 32, 1, 1, 10, SL_PACKING_CUT_LONG};
    const sl_packing_source source = {
        .lengths = sl_packing_lengths_of_array(lengths, 20000), .seed = 5, .shuffled = true};
    sl_packed_rows *packing;
    uint64_t tokens = 0;
    packing_lengths_fill(lengths, 20000, &shape, HUGE_ONES);
    for (uint32_t i = 0; i < 20000; i++) {
        tokens += lengths[i];
    }
    sl_packing_facts first = {.rows = 0};
    for (uint32_t round = 0; round < 3; round++) {
        assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
        const sl_packing_facts *facts = sl_packing_facts_of(packing);
        assert_int_equal(facts->tokens, tokens);
        assert_int_equal(facts->windows, 2000);
        if (round > 0) {
            assert_memory_equal(facts, &first, sizeof(first));
        }
        first = *facts;
        sl_packing_close(packing);
    }
}

static uint64_t bytes_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Sanitizers have their own allocator, which mallinfo2 does not know. */
TEST(its_bytes_are_those_that_malloc_counts)
{
    for (uint32_t cut = SL_PACKING_CUT_NONE; cut <= SL_PACKING_CUT_SPLIT; cut++) {
        const sl_packing_shape shape = {1U << 16, 32, 1, 1, 500, (sl_packing_cut)cut};
        const sl_packing_source source = {
            .lengths = sl_packing_lengths_of_array(lengths, MOST), .seed = 5, .shuffled = true};
        sl_packed_rows *packing;
        packing_lengths_fill(lengths, MOST, &shape, SMALL);
        const uint64_t before = bytes_in_use();
        assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
        const uint64_t grown = bytes_in_use() - before;
        const uint64_t bytes = sl_packing_bytes(packing);
        assert_true(bytes > 32 * (uint64_t)500 * 20);
        assert_true(grown == 0 || (bytes < grown && bytes > grown - grown / 16));
        sl_packing_close(packing);
    }
}

/* A mix may have many small sources. */
TEST(few_documents_take_few_bytes)
{
    for (uint32_t cut = SL_PACKING_CUT_NONE; cut <= SL_PACKING_CUT_SPLIT; cut++) {
        const sl_packing_shape shape = {64, 32, 1, 1, SL_PACKING_WINDOW_MAX, (sl_packing_cut)cut};
        const sl_packing_source source = {
            .lengths = sl_packing_lengths_of_array(lengths, 10), .seed = 5, .shuffled = true};
        sl_packed_rows *packing;
        packing_lengths_fill(lengths, 10, &shape, EQUAL);
        const uint64_t before = bytes_in_use();
        assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
        assert_true(sl_packing_bytes(packing) < 4096);
        assert_true(bytes_in_use() - before < 16384);
        assert_true(row_hash(packing, sl_packing_facts_of(packing)->rows - 1) != 0);
        sl_packing_close(packing);
    }
}

static atomic_bool stop_flag;
static uint32_t windows_asked;

static void stopping_lengths(const void *ctx, const uint64_t *documents, uint32_t count,
                             uint64_t *out)
{
    (void)ctx;
    (void)documents;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = 1;
    }
    windows_asked++;
    if (windows_asked == 3) {
        atomic_store(&stop_flag, true);
    }
}

/* Of the 64 windows of one thread, none is begun after the stop. */
TEST(a_stop_ends_opening)
{
    const sl_packing_shape shape = {64, 32, 1, 1, 100, SL_PACKING_CUT_NONE};
    const sl_packing_source source = {.lengths = {6400, stopping_lengths, NULL}, .shuffled = true};
    sl_packed_rows *packing;
    sluice_error error = SLUICE_ERROR_INIT;
    const _Atomic bool *before = sl_stop_work_under(&stop_flag);
    assert_int_equal(sl_packing_open(&packing, &shape, &source, &error), SLUICE_CANCELED);
    (void)sl_stop_work_under(before);
    assert_null(packing);
    assert_int_equal(windows_asked, 3);
}

/* ---- refused ---- */

static void refuse(const sl_packing_shape *shape, uint64_t documents, const char *words)
{
    sl_packed_rows *packing;
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_packing_source source = {.lengths = sl_packing_lengths_of_array(lengths, documents),
                                      .shuffled = true};
    assert_int_equal(sl_packing_open(&packing, shape, &source, &error), SLUICE_INVALID);
    assert_null(packing);
    if (strstr(error.text, words) == NULL) {
        print_message("%s\nlacks: %s\n", error.text, words);
        fail();
    }
}

TEST(shapes_out_of_range_are_refused)
{
    const sl_packing_shape good = {64, 4, 8, 2, 100, SL_PACKING_CUT_NONE};
    sl_packing_shape bad = good;
    lengths[0] = lengths[1] = lengths[2] = lengths[3] = 3;
    bad.length = 0;
    refuse(&bad, 4, "length is 0: expected 1 to 16777216");
    bad.length = 100;
    refuse(&bad, 4, "length 100 is not a multiple of align 8: 96 and 104 are");
    bad = good;
    bad.align = 0;
    refuse(&bad, 4, "align is 0");
    bad = good;
    bad.max_documents = 1;
    refuse(&bad, 4, "max_documents is 1: expected 2 to 65536");
    bad = good;
    bad.unit = 0;
    refuse(&bad, 4, "unit is 0");
    bad = good;
    bad.window = 1;
    refuse(&bad, 4, "window is 1: expected 2 to 65536");
    refuse(&good, 3, "3 documents are not a multiple of unit 2");
    refuse(&good, 0, "the dataset has no documents");
    bad = good;
    bad.length = 5;
    refuse(&bad, 4, "length 5 is not a multiple of align 8: 8 and 16 are");
    bad = good;
    bad.cut = SL_PACKING_CUT_SPLIT;
    refuse(&bad, 4, "units of 2 documents would not stay together");
}

TEST(documents_that_do_not_fit_are_refused)
{
    sl_packing_shape shape = {64, 4, 8, 1, 100, SL_PACKING_CUT_NONE};
    for (uint32_t i = 0; i < 6; i++) {
        lengths[i] = 10 * (i + 1);
    }
    lengths[3] = 70;
    refuse(&shape, 6, "the longest document, 3, has 70 elements, but a row has 64: cut=\"long\"");
    shape.unit = 2;
    shape.cut = SL_PACKING_CUT_LONG;
    refuse(&shape, 6, "documents 4 to 5 stay together (unit 2) and have 120 elements");
    lengths[5] = 0;
    refuse(&shape, 6, "some of documents 4 to 5, which stay together (unit 2), are empty");
    memset(lengths, 0, 6 * sizeof(*lengths));
    refuse(&shape, 6, "all 6 documents are empty");
}

static void lying_lengths(const void *ctx, const uint64_t *documents, uint32_t count, uint64_t *out)
{
    (void)ctx;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = documents[i] == 2 ? UINT64_MAX : 4;
    }
}

TEST(lengths_that_lie_are_refused)
{
    for (int cut = SL_PACKING_CUT_NONE; cut <= SL_PACKING_CUT_SPLIT; cut++) {
        const sl_packing_shape shape = {64, 4, 8, 1, 100, (sl_packing_cut)cut};
        const sl_packing_source source = {.lengths = {4, lying_lengths, NULL}};
        sl_packed_rows *packing;
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sl_packing_open(&packing, &shape, &source, &error), SLUICE_INVALID);
        assert_non_null(strstr(error.text, "document 2 claims more than 2^40"));
    }
}

/* The values that a cursor compares. */
TEST(the_hash_shows_what_rows_depend_on)
{
    const sl_packing_shape shape = {64, 4, 8, 1, 10, SL_PACKING_CUT_LONG};
    sl_packing_shape shapes[6] = {shape, shape, shape, shape, shape, shape};
    uint64_t hashes[8];
    shapes[1].length = 128;
    shapes[2].max_documents = 5;
    shapes[3].align = 4;
    shapes[4].window = 11;
    shapes[5].cut = SL_PACKING_CUT_SPLIT;
    for (uint32_t i = 0; i < 100; i++) {
        lengths[i] = 1 + i % 30;
    }
    for (uint32_t i = 0; i < 8; i++) {
        const sl_packing_source source = {
            .lengths = sl_packing_lengths_of_array(lengths, 100), .seed = i == 6, .shuffled = true};
        sl_packed_rows *packing;
        lengths[0] += i == 7;
        assert_int_equal(sl_packing_open(&packing, &shapes[i < 6 ? i : 0], &source, NULL),
                         SLUICE_OK);
        hashes[i] = sl_packing_facts_of(packing)->hash;
        assert_int_not_equal(hashes[i], 0);
        for (uint32_t k = 0; k < i; k++) {
            assert_int_not_equal(hashes[i], hashes[k]);
        }
        sl_packing_close(packing);
    }
}
static uint64_t hash_of_lengths(void)
{
    const sl_packing_shape shape = {4096, 32, 1, 1, 100, SL_PACKING_CUT_NONE};
    const sl_packing_source source = {
        .lengths = sl_packing_lengths_of_array(lengths, 100), .seed = 5, .shuffled = true};
    sl_packed_rows *packing;
    assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
    const uint64_t hash = sl_packing_facts_of(packing)->lengths_hash;
    sl_packing_close(packing);
    return hash;
}

TEST(exchanged_lengths_have_another_hash)
{
    for (uint32_t i = 0; i < 100; i++) {
        lengths[i] = 1 + i;
    }
    const uint64_t hash = hash_of_lengths();
    for (uint32_t i = 0; i < 100; i += 7) {
        for (uint32_t k = i + 1; k < 100; k++) {
            lengths[i] = 1 + k;
            lengths[k] = 1 + i;
            assert_true(hash_of_lengths() != hash);
            lengths[i] = 1 + i;
            lengths[k] = 1 + k;
        }
    }
    assert_true(hash_of_lengths() == hash);
}

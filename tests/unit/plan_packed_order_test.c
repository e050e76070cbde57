/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the order of packed rows: each once per epoch, within its group of windows, from any
 * position, for any thread and epoch; unshuffled rows in their order. For a mix of packings: the
 * shares of rows, and each row of a source once before any comes again. */
#include "memory.h"
#include "mixing.h"
#include "packed_mix.h"
#include "packed_order.h"
#include "packing.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS = 5000, WINDOW = 20, MOST_ROWS = 20000 };

static uint32_t lengths[DOCUMENTS];

static sl_packed_rows *open_rows(uint32_t documents, bool shuffled)
{
    const sl_packing_shape shape = {64, 8, 1, 1, WINDOW, SL_PACKING_CUT_LONG};
    const sl_packing_source source = {.lengths = sl_packing_lengths_of_array(lengths, documents),
                                      .shuffled = shuffled};
    sl_packed_rows *packing;
    uint32_t state = 99;
    for (uint32_t i = 0; i < documents; i++) {
        state = state * 1664525U + 1013904223U;
        lengths[i] = (state >> 8) % 90;
        lengths[i] = i / 100 % 3 == 1 ? 0 : lengths[i]; /* some windows have no row */
    }
    assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
    return packing;
}

static sl_order order_of(const sl_packed_rows *packing, uint64_t seed, uint64_t epoch)
{
    const sl_order_source source = {.kind = &sl_packed_order,
                                    .set = packing,
                                    .shuffle = SLUICE_SHUFFLE_FULL,
                                    .count = sl_packing_facts_of(packing)->rows};
    return sl_order_of(&source, seed, epoch);
}

/* Returns the window of a row: rows are numbered window by window, and unshuffled windows are runs
 * of documents. */
static uint32_t window_of(const sl_packed_rows *packing, uint64_t row)
{
    sl_packed_piece pieces[8];
    (void)sl_packing_pieces(packing, row, 0, UINT32_MAX, pieces);
    return (uint32_t)(pieces[0].document / WINDOW);
}

TEST(every_row_once_and_from_any_position)
{
    static uint64_t rows[MOST_ROWS];
    static uint64_t part[MOST_ROWS];
    static uint8_t found[MOST_ROWS];
    sl_packed_rows *packing = open_rows(DOCUMENTS, true);
    const uint64_t count = sl_packing_facts_of(packing)->rows;
    assert_true(count > 500 && count <= MOST_ROWS);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        const sl_order order = order_of(packing, 7, epoch);
        memset(found, 0, count);
        sl_order_samples(&order, 0, (uint32_t)count, rows);
        for (uint64_t i = 0; i < count; i++) {
            assert_true(rows[i] < count);
            assert_int_equal(found[rows[i]]++, 0);
        }
        for (uint64_t first = 0; first < count; first += 37) {
            const uint32_t left = (uint32_t)(count - first < 300 ? count - first : 300);
            sl_order_samples(&order, first, left, part);
            assert_memory_equal(part, &rows[first], left * sizeof(*part));
            assert_int_equal(sl_order_sample(&order, first), rows[first]);
        }
    }
    sl_packing_close(packing);
}

/* Tables of more epochs than are kept are created and dropped. */
TEST(epochs_and_seeds_differ_and_repeat)
{
    static uint64_t rows[12][MOST_ROWS];
    sl_packed_rows *packing = open_rows(DOCUMENTS, true);
    const uint32_t count = (uint32_t)sl_packing_facts_of(packing)->rows;
    const uint64_t allocations = sl_memory_allocations();
    for (uint64_t i = 0; i < 24; i++) {
        const sl_order order = order_of(packing, i % 12 / 6, i % 6);
        static uint64_t again[MOST_ROWS];
        sl_order_samples(&order, 0, count, i < 12 ? rows[i] : again);
        if (i >= 12) {
            assert_memory_equal(again, rows[i - 12], count * sizeof(*again));
        }
        for (uint64_t k = 0; k < i && i < 12; k++) {
            assert_memory_not_equal(rows[i], rows[k], count * sizeof(**rows));
        }
    }
    assert_int_equal(sl_memory_allocations(), allocations);
    sl_packing_close(packing);
}

/* Packed unshuffled, so that a row's documents identify its window. */
TEST(unshuffled_rows_are_in_their_order)
{
    sl_packed_rows *packing = open_rows(DOCUMENTS, false);
    const uint64_t count = sl_packing_facts_of(packing)->rows;
    const sl_order order = order_of(packing, 3, 2);
    uint32_t window = 0;
    assert_int_equal(order.count, count);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(sl_order_sample(&order, i), i);
        const uint32_t own = window_of(packing, i);
        assert_true(own >= window);
        window = own;
    }
    sl_packing_close(packing);
}

/* The rows of a group of windows come together and mixed: a run as long as the group has rows of at
 * most 16 windows. The row number identifies the window, since each window's numbers are
 * consecutive. */
TEST(rows_stay_in_their_group_of_windows)
{
    static uint64_t rows[MOST_ROWS];
    const sl_packing_shape shape = {64, 1, 1, 1, WINDOW, SL_PACKING_CUT_NONE};
    const sl_packing_source source = {.lengths = sl_packing_lengths_of_array(lengths, 4000),
                                      .shuffled = true};
    sl_packed_rows *packing;
    uint32_t in_order = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        lengths[i] = 1; /* one row each, so a window has as many rows as documents */
    }
    assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
    const sl_order order = order_of(packing, 1, 1);
    sl_order_samples(&order, 0, 4000, rows);
    for (uint32_t first = 0; first < 4000; first += WINDOW * SL_PACKING_GROUP) {
        uint8_t windows[4000 / WINDOW] = {0};
        uint32_t different = 0;
        const uint32_t end =
            first + WINDOW * SL_PACKING_GROUP < 4000 ? first + WINDOW * SL_PACKING_GROUP : 4000;
        for (uint32_t i = first; i < end; i++) {
            different += windows[rows[i] / WINDOW]++ == 0;
            in_order += i > first && rows[i] == rows[i - 1] + 1;
        }
        assert_int_equal(different, (end - first) / WINDOW);
    }
    assert_true(in_order < 100); /* 12 expected */
    sl_packing_close(packing);
}

/* Returns the cost of a document in rows of `length`: whole pieces and the remainder. */
static uint64_t cut_cost(uint64_t elements, uint64_t length)
{
    return elements / length * length * length + elements % length * (elements % length);
}

static uint64_t cost_of_all(sl_packing_cut cut, uint32_t documents)
{
    static uint64_t costs[MOST_ROWS];
    const sl_packing_shape shape = {256, 200, 1, 1, 500, cut};
    const sl_packing_source source = {.lengths = sl_packing_lengths_of_array(lengths, documents),
                                      .shuffled = cut != SL_PACKING_CUT_SPLIT};
    sl_packed_rows *packing;
    uint64_t sum = 0;
    assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
    const sl_order order = order_of(packing, 1, 2);
    assert_true(sl_packing_facts_of(packing)->most_pieces > 64); /* read together */
    order.kind->costs(&order, 0, (uint32_t)order.count, costs);
    for (uint64_t i = 0; i < order.count; i++) {
        uint64_t again;
        order.kind->costs(&order, i, 1, &again);
        assert_int_equal(again, costs[i]);
        sum += costs[i];
    }
    sl_packing_close(packing);
    return sum;
}

/* The rows together cost as much as the documents, wherever the documents are. */
TEST(a_row_costs_the_squares_of_its_pieces)
{
    enum { FEW = 3000 };
    uint64_t none = 0;
    uint64_t longs = 0;
    uint64_t split = 0;
    uint64_t at = 0; /* in SPLIT's row */
    for (uint32_t i = 0; i < FEW; i++) {
        lengths[i] = i / 1000 == 1 ? 1 : (i * 7919U) % 57;
        none += (uint64_t)lengths[i] * lengths[i];
        at = i % 500 == 0 ? 0 : at; /* windows begin with a row */
        for (uint64_t left = lengths[i]; left > 0;) {
            const uint64_t piece = left < 256 - at ? left : 256 - at;
            split += piece * piece;
            at = (at + piece) % 256;
            left -= piece;
        }
    }
    assert_int_equal(cost_of_all(SL_PACKING_CUT_NONE, FEW), none);
    lengths[5] = 3000;
    lengths[6] = 256;
    for (uint32_t i = 0; i < FEW; i++) {
        longs += cut_cost(lengths[i], 256);
    }
    assert_int_equal(cost_of_all(SL_PACKING_CUT_LONG, FEW), longs);
    lengths[5] = (5 * 7919U) % 57;
    lengths[6] = (6 * 7919U) % 57;
    assert_int_equal(cost_of_all(SL_PACKING_CUT_SPLIT, FEW), split);
}

typedef struct asker {
    const sl_packed_rows *packing;
    uint64_t epoch;
    uint64_t rows[MOST_ROWS];
} asker;

static void *ask_rows(void *argument)
{
    asker *a = argument;
    const uint64_t count = sl_packing_facts_of(a->packing)->rows;
    for (uint64_t i = 0; i < count; i++) {
        const sl_order order = order_of(a->packing, 7, a->epoch + i % 6);
        a->rows[i] = sl_order_sample(&order, i);
    }
    return NULL;
}

/* Each thread works through six epochs; four are kept. */
TEST(threads_get_the_same_order)
{
    static asker askers[2];
    static asker alone;
    pthread_t threads[2];
    sl_packed_rows *packing = open_rows(1000, true);
    for (uint32_t i = 0; i < 2; i++) {
        askers[i].packing = packing;
        assert_int_equal(pthread_create(&threads[i], NULL, ask_rows, &askers[i]), 0);
    }
    alone.packing = packing;
    (void)ask_rows(&alone);
    for (uint32_t i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_memory_equal(askers[i].rows, alone.rows, sizeof(alone.rows));
    }
    sl_packing_close(packing);
}

/* ---- a mix of packings ---- */

enum { SOURCES = 3, MIX_EPOCHS = 4 };

static const uint32_t source_documents[SOURCES] = {900, 60, 300};
static const double shares[SOURCES] = {5, 3, 2};

typedef struct packed_sources {
    sl_packed_rows *packings[SOURCES];
    uint64_t sizes[SOURCES]; /* rows */
    sl_mix *mix;
    sl_packed_mix set;
} packed_sources;

static void open_sources(packed_sources *s, bool shuffled)
{
    const sl_packing_shape shape = {64, 8, 1, 1, WINDOW, SL_PACKING_CUT_LONG};
    uint32_t first = 0;
    for (uint32_t i = 0; i < SOURCES; i++) {
        const sl_packing_source source = {
            .lengths = sl_packing_lengths_of_array(lengths + first, source_documents[i]),
            .seed = sl_packed_mix_seed(7, i),
            .shuffled = shuffled};
        for (uint32_t k = 0; k < source_documents[i]; k++) {
            lengths[first + k] = 1 + (first + k) * 37 % 89;
        }
        assert_int_equal(sl_packing_open(&s->packings[i], &shape, &source, NULL), SLUICE_OK);
        s->sizes[i] = sl_packing_facts_of(s->packings[i])->rows;
        first += source_documents[i];
    }
    const uint64_t epoch = 0;
    const sl_mix_weights weights = {SOURCES, 1, shares, &epoch, s->sizes, 0};
    assert_int_equal(sl_mix_make(&s->mix, &weights, NULL), SLUICE_OK);
    s->set = (sl_packed_mix){s->mix, s->packings};
}

static void close_sources(packed_sources *s)
{
    for (uint32_t i = 0; i < SOURCES; i++) {
        sl_packing_close(s->packings[i]);
    }
    sl_mix_close(s->mix);
}

static sl_order mixed_order_of(const packed_sources *s, uint64_t epoch)
{
    const sl_order_source source = {
        .kind = &sl_packed_mix_order, .set = &s->set, .shuffle = SLUICE_SHUFFLE_FULL};
    return sl_order_of(&source, 7, epoch);
}

static uint32_t source_of(const packed_sources *s, uint64_t row)
{
    uint32_t source = 0;
    while (row >= s->sizes[source]) {
        row -= s->sizes[source++];
    }
    return source;
}

/* Each round contains all rows of the source once; the rounds' orders differ. */
static void expect_rounds(const uint64_t *rows, uint64_t count, uint64_t size, uint64_t first)
{
    static uint8_t found[MOST_ROWS];
    assert_true(count > size);
    for (uint64_t i = 0; i < count; i++) {
        if (i % size == 0) {
            memset(found, 0, size);
        }
        assert_in_range(rows[i], first, first + size - 1);
        assert_int_equal(found[rows[i] - first]++, 0);
    }
    assert_memory_not_equal(rows, rows + size,
                            (count < 2 * size ? count - size : size) * sizeof(*rows));
}

TEST(a_mix_has_shares_of_rows)
{
    static uint64_t rows[MOST_ROWS];
    static uint64_t own[SOURCES][MOST_ROWS];
    uint64_t counts[SOURCES] = {0};
    uint64_t all = 0;
    packed_sources s;
    open_sources(&s, true);
    for (uint64_t epoch = 0; epoch < MIX_EPOCHS; epoch++) {
        const sl_order order = mixed_order_of(&s, epoch);
        assert_int_equal(order.count, s.sizes[0] + s.sizes[1] + s.sizes[2]);
        sl_order_samples(&order, 0, (uint32_t)order.count, rows);
        for (uint64_t i = 0; i < order.count; i++) {
            const uint32_t source = source_of(&s, rows[i]);
            assert_int_equal(sl_packed_mix_source(s.mix, rows[i]), source);
            own[source][counts[source]++] = rows[i];
            all++;
            for (uint32_t k = 0; k < SOURCES; k++) {
                assert_true(fabs((double)counts[k] - (double)all * shares[k] / 10) < 1);
            }
        }
    }
    for (uint32_t i = 0; i < SOURCES; i++) {
        expect_rounds(own[i], counts[i], s.sizes[i], s.mix->first[i]);
    }
    assert_true(counts[1] > 5 * s.sizes[1]); /* several rounds per epoch */
    close_sources(&s);
}

TEST(a_mix_is_found_from_any_position)
{
    static uint64_t rows[MOST_ROWS];
    static uint64_t part[MOST_ROWS];
    packed_sources s;
    open_sources(&s, true);
    const uint64_t allocations = sl_memory_allocations();
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        const sl_order order = mixed_order_of(&s, epoch);
        sl_order_samples(&order, 0, (uint32_t)order.count, rows);
        for (uint64_t first = 0; first < order.count; first += 23) {
            const uint32_t left = (uint32_t)(order.count - first < 150 ? order.count - first : 150);
            sl_order_samples(&order, first, left, part);
            assert_memory_equal(part, &rows[first], left * sizeof(*part));
        }
        for (uint64_t i = 0; i < order.count; i++) {
            const uint32_t source = source_of(&s, rows[i]);
            assert_int_equal(
                sl_packed_mix_order.members(&order, i),
                sl_packing_pieces(s.packings[source], rows[i] - s.mix->first[source], 0, 0, NULL));
        }
    }
    assert_int_equal(sl_memory_allocations(), allocations);
    close_sources(&s);
}

TEST(an_unshuffled_mix_has_each_source_in_its_order)
{
    static uint64_t rows[MOST_ROWS];
    uint64_t counts[SOURCES] = {0};
    packed_sources s;
    open_sources(&s, false);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        const sl_order order = mixed_order_of(&s, epoch);
        sl_order_samples(&order, 0, (uint32_t)order.count, rows);
        for (uint64_t i = 0; i < order.count; i++) {
            const uint32_t source = source_of(&s, rows[i]);
            assert_int_equal(rows[i] - s.mix->first[source], counts[source]++ % s.sizes[source]);
        }
    }
    close_sources(&s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing: rows of all modes against brute force, every element once, what is refused, figures of a
 * lognormal distribution, several threads, stops, and no allocation once opened.
 */
#include "memory.h"
#include "packing.h"
#include "plan_packing_model.h"
#include "stop.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 17, MOST_PIECES = 65536 };

static uint32_t lengths[MOST];
static uint64_t random_state = 1;

static uint32_t draw(uint32_t bound)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((random_state >> 33) % bound);
}

static double draw_unit(void)
{
    return ((double)draw(1U << 30) + 0.5) / (1U << 30);
}

static uint32_t draw_lognormal(double mean, double deviation)
{
    const double normal = sqrt(-2 * log(draw_unit())) * cos(6.283185307179586 * draw_unit());
    return (uint32_t)exp(mean + deviation * normal);
}

typedef enum kind_of_lengths {
    LOGNORMAL,
    SMALL,
    EQUAL,
    TWO,
    SPARSE,
    HUGE_ONES,
    KINDS
} kind_of_lengths;

static uint32_t draw_length(kind_of_lengths kind, uint32_t row)
{
    switch (kind) {
    case LOGNORMAL:
        return draw_lognormal(log(row) - 1.7, 1.2);
    case SMALL:
        return draw(6);
    case EQUAL:
        return row / 3 + 1;
    case TWO:
        return draw(2) == 0 ? row - 1 : 2;
    case SPARSE:
        return draw(5) == 0 ? draw(row) + 1 : 0;
    default:
        return draw(40) == 0 ? draw(9 * row) : draw(row) + 1;
    }
}

/* ---- a source that notes the order of windows ---- */

typedef struct spy {
    uint32_t asked; /* documents so far */
    uint64_t documents[MOST];
} spy;

static spy seen;

static void spy_lengths(const void *ctx, const uint64_t *documents, uint32_t count, uint64_t *out)
{
    (void)ctx;
    for (uint32_t i = 0; i < count; i++) {
        if (seen.asked < MOST) {
            seen.documents[seen.asked++] = documents[i];
        }
        out[i] = lengths[documents[i]];
    }
}

static sluice_status open_spied(sl_packed_rows **packing, const sl_packing_shape *shape,
                                uint64_t documents, bool shuffled, sluice_error *error)
{
    const sl_packing_source source = {
        .lengths = {documents, spy_lengths, NULL}, .seed = 17, .shuffled = shuffled};
    seen.asked = 0;
    return sl_packing_open(packing, shape, &source, error);
}

/* ---- against the model ---- */

/* Each document once, those of a unit side by side; in their order, unless shuffled. */
static void check_windows(const sl_packing_shape *shape, uint32_t documents, bool shuffled)
{
    static uint8_t found[MOST];
    memset(found, 0, documents);
    assert_int_equal(seen.asked, documents);
    for (uint32_t i = 0; i < documents; i++) {
        assert_true(seen.documents[i] < documents);
        assert_int_equal(found[seen.documents[i]]++, 0);
        assert_true(shuffled || seen.documents[i] == i);
        assert_int_equal(seen.documents[i] % shape->unit, i % shape->unit);
        assert_true(i % shape->unit == 0 || seen.documents[i] == seen.documents[i - 1] + 1);
    }
}

/* What is in rows, added up by the test. */
typedef struct sums {
    uint64_t rows, pieces, tokens, padding, aligned, closed;
    uint32_t most;
} sums;

static uint64_t next_element[MOST];

static void check_row(const sl_packed_rows *packing, uint64_t row, const packing_model *model,
                      uint32_t *at, sums *all)
{
    static sl_packed_piece pieces[MOST_PIECES];
    const sl_packing_shape *shape = sl_packing_shape_of(packing);
    const uint32_t count = sl_packing_pieces(packing, row, 0, UINT32_MAX, pieces);
    uint64_t fill = 0;
    assert_in_range(count, 1, shape->max_documents);
    const uint32_t own = model->piece[*at].row;
    for (uint32_t i = 0; i < count; i++, (*at)++) {
        assert_true(*at < model->pieces && model->piece[*at].row == own);
        assert_int_equal(pieces[i].document, model->piece[*at].document);
        assert_int_equal(pieces[i].first, model->piece[*at].first);
        assert_int_equal(pieces[i].count, model->piece[*at].count);
        assert_int_equal(pieces[i].first, next_element[pieces[i].document]);
        next_element[pieces[i].document] += pieces[i].count;
        all->tokens += pieces[i].count;
        fill += ((uint64_t)pieces[i].count + shape->align - 1) / shape->align * shape->align;
    }
    assert_true(*at == model->pieces || model->piece[*at].row == own + 1);
    assert_true(fill <= shape->length);
    all->aligned += fill;
    all->padding += shape->length - fill;
    all->pieces += count;
    all->rows++;
    all->most = count > all->most ? count : all->most;
}

static void check_facts(const sl_packed_rows *packing, uint32_t documents, const sums *all)
{
    const sl_packing_facts *facts = sl_packing_facts_of(packing);
    uint64_t empty = 0;
    uint64_t longest = 0;
    for (uint32_t i = 0; i < documents; i++) {
        assert_int_equal(next_element[i], lengths[i]);
        empty += lengths[i] == 0;
        longest = lengths[i] > lengths[longest] ? i : longest;
    }
    assert_int_equal(facts->documents, documents);
    assert_int_equal(facts->rows, all->rows);
    assert_int_equal(facts->pieces, all->pieces);
    assert_int_equal(facts->tokens, all->tokens);
    assert_int_equal(facts->align_padding, all->aligned - all->tokens);
    assert_int_equal(facts->end_padding, all->padding);
    assert_int_equal(facts->closed, all->closed);
    assert_int_equal(facts->most_pieces, all->most);
    assert_int_equal(facts->empty, empty);
    assert_int_equal(facts->longest, lengths[longest]);
    assert_int_equal(facts->longest_document, longest);
}

static void check_packing(const sl_packing_shape *shape, uint32_t documents, bool shuffled)
{
    static packing_model model;
    static uint64_t window_lengths[MOST];
    sl_packed_rows *packing;
    assert_int_equal(open_spied(&packing, shape, documents, shuffled, NULL), SLUICE_OK);
    check_windows(shape, documents, shuffled);
    const uint32_t window = shape->window / shape->unit * shape->unit;
    const uint32_t asked = seen.asked;
    memset(next_element, 0, documents * sizeof(*next_element));
    sums all = {.rows = 0};
    uint64_t cut = 0;
    for (uint32_t first = 0; first < asked; first += window) {
        const uint32_t count = asked - first < window ? asked - first : window;
        for (uint32_t i = 0; i < count; i++) {
            window_lengths[i] = lengths[seen.documents[first + i]];
        }
        packing_model_make(&model, shape, &seen.documents[first], window_lengths, count);
        all.closed += model.closed;
        uint32_t at = 0;
        for (uint32_t row = 0; row < model.rows; row++) {
            check_row(packing, all.rows, &model, &at, &all);
        }
        assert_int_equal(at, model.pieces);
        for (uint32_t i = 0; i < model.pieces; i++) {
            cut += model.piece[i].first == 0 &&
                   model.piece[i].count < lengths[model.piece[i].document];
        }
    }
    assert_int_equal(sl_packing_facts_of(packing)->cut, cut);
    check_facts(packing, documents, &all);
    sl_packing_close(packing);
}

/* Of a unit all documents are empty, or none; those that must fit do. */
static void fill_lengths(const sl_packing_shape *shape, kind_of_lengths kind, uint32_t documents)
{
    const uint64_t space = shape->length / shape->unit / shape->align * shape->align;
    const bool whole = shape->cut == SL_PACKING_CUT_SPLIT ||
                       (shape->cut == SL_PACKING_CUT_LONG && shape->unit == 1);
    for (uint32_t i = 0; i < documents; i++) {
        lengths[i] = draw_length(kind, (uint32_t)shape->length);
        if (!whole && lengths[i] > space) {
            lengths[i] = (uint32_t)space;
        }
        if (i % shape->unit > 0) {
            const bool empty = lengths[i - i % shape->unit] == 0;
            lengths[i] = empty ? 0 : lengths[i] > 0 ? lengths[i] : 1;
        }
    }
    for (uint32_t i = 0; i < shape->unit; i++) { /* at least one is not empty */
        lengths[i] = 1;
    }
}

TEST(rows_are_those_of_brute_force)
{
    static const uint32_t aligns[] = {1, 8, 16, 32, 3};
    static const uint32_t windows[] = {3, 7, 64, 300, 5000};
    static const uint32_t most[] = {1, 2, 5, 32, 65536};
    static const uint32_t rows[] = {4, 12, 129};
    for (uint32_t round = 0; round < TEST_AMOUNT(900, 150); round++) {
        const uint32_t align = aligns[draw(5)];
        const sl_packing_cut cut = (sl_packing_cut)draw(3);
        const uint32_t unit = cut == SL_PACKING_CUT_SPLIT ? 1 : 1 + (draw(3) == 0) * draw(3);
        const uint32_t pieces = most[draw(5)];
        const sl_packing_shape shape = {.length = (uint64_t)align * rows[draw(3)],
                                        .max_documents = pieces < unit ? unit : pieces,
                                        .align = align,
                                        .unit = unit,
                                        .window = windows[draw(5)],
                                        .cut = cut};
        /* At most 64 windows, which one thread counts, so that the spy sees them in their order. */
        const uint32_t most_entries = shape.window / unit * 64;
        const uint32_t entries = 1 + draw(draw(3) == 0 ? 900 : 90);
        const uint32_t documents = unit * (entries < most_entries ? entries : most_entries);
        fill_lengths(&shape, (kind_of_lengths)draw(KINDS), documents);
        check_packing(&shape, documents, draw(2) == 0);
    }
}

/* Trees of several levels, and the second digit of the sort. */
TEST(long_rows_are_those_of_brute_force)
{
    const sl_packing_shape shape = {.length = 300000,
                                    .max_documents = 100,
                                    .align = 1,
                                    .unit = 1,
                                    .window = 256,
                                    .cut = SL_PACKING_CUT_LONG};
    fill_lengths(&shape, LOGNORMAL, 512);
    check_packing(&shape, 512, true);
    fill_lengths(&shape, HUGE_ONES, 512);
    check_packing(&shape, 512, false);
}

static void long_lengths(const void *ctx, const uint64_t *documents, uint32_t count, uint64_t *out)
{
    (void)ctx;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = documents[i] == 0 ? SL_PACKING_DOCUMENT_MAX : 5;
    }
}

/* The plan does not grow with a document's length. */
TEST(one_document_of_a_trillion_elements)
{
    sl_packed_piece pieces[4];
    for (int cut = SL_PACKING_CUT_LONG; cut <= SL_PACKING_CUT_SPLIT; cut++) {
        const sl_packing_shape shape = {2048, 4, 8, 1, 8192, (sl_packing_cut)cut};
        const sl_packing_source source = {.lengths = {2, long_lengths, NULL}};
        sl_packed_rows *packing;
        assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
        const sl_packing_facts *facts = sl_packing_facts_of(packing);
        assert_int_equal(facts->rows, (UINT64_C(1) << 29) + 1);
        assert_int_equal(facts->pieces, (UINT64_C(1) << 29) + 1);
        assert_int_equal(facts->tokens, (UINT64_C(1) << 40) + 5);
        assert_int_equal(sl_packing_pieces(packing, 100000000, 0, UINT32_MAX, pieces), 1);
        assert_int_equal(pieces[0].first, UINT64_C(204800000000));
        assert_int_equal(pieces[0].count, 2048);
        assert_int_equal(sl_packing_pieces(packing, facts->rows - 1, 0, UINT32_MAX, pieces), 1);
        assert_int_equal(pieces[0].document, 1);
        sl_packing_close(packing);
    }
}

/* ---- figures ---- */

static double padding_of(uint32_t documents, uint32_t window, uint32_t align, uint32_t most,
                         double *closed)
{
    const sl_packing_shape shape = {.length = 2048,
                                    .max_documents = most,
                                    .align = align,
                                    .unit = 1,
                                    .window = window,
                                    .cut = SL_PACKING_CUT_LONG};
    const sl_packing_source source = {
        .lengths = sl_packing_lengths_of_array(lengths, documents), .seed = 3, .shuffled = true};
    sl_packed_rows *packing;
    assert_int_equal(sl_packing_open(&packing, &shape, &source, NULL), SLUICE_OK);
    const sl_packing_facts *facts = sl_packing_facts_of(packing);
    const double padding =
        (double)(facts->align_padding + facts->end_padding) / (double)(facts->rows * shape.length);
    *closed = (double)facts->closed / (double)facts->rows;
    /* Half of align - 1 for each piece, and 0.3 % */
    const double bar = (double)facts->pieces * (align - 1) / 2 / (double)facts->tokens;
    assert_true(padding <= bar + 0.003);
    sl_packing_close(packing);
    return padding;
}

/* Lognormal (5.9, 1.2), rows of 2,048: what was simulated apart from this code. */
TEST_UNSANITIZED(padding_of_a_lognormal_is_as_simulated)
{
    double closed;
    for (uint32_t i = 0; i < MOST; i++) {
        lengths[i] = draw_lognormal(5.9, 1.2);
    }
    assert_true(padding_of(MOST, 65536, 1, 65536, &closed) < 0.0005);
    assert_true(fabs(padding_of(MOST, 65536, 8, 65536, &closed) - 0.0047) < 0.0005);
    assert_true(fabs(padding_of(MOST, 65536, 16, 65536, &closed) - 0.0099) < 0.0005);
    assert_true(fabs(padding_of(MOST, 65536, 32, 65536, &closed) - 0.0203) < 0.0010);
    assert_true(fabs(padding_of(MOST, 1000, 1, 65536, &closed) - 0.0021) < 0.0006);
    assert_true(fabs(padding_of(MOST, 8192, 16, 32, &closed) - 0.0110) < 0.0008);
    assert_true(fabs(closed - 0.004) < 0.002);
    assert_true(padding_of(MOST, 8192, 1, 32, &closed) < 0.003);
}

/* ---- threads, stops, memory ---- */

typedef struct reader {
    const sl_packed_rows *packing;
    const uint64_t *expected; /* of each row */
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

/* 100 windows, of which 32 are kept. */
TEST(threads_get_the_same_rows)
{
    static uint64_t expected[MOST];
    const sl_packing_shape shape = {64, 32, 1, 1, 40, SL_PACKING_CUT_LONG};
    const sl_packing_source source = {
        .lengths = sl_packing_lengths_of_array(lengths, 4000), .seed = 5, .shuffled = true};
    sl_packed_rows *packing;
    fill_lengths(&shape, HUGE_ONES, 4000);
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

/* More than one job of 64 windows: counted by several threads, and the same. */
TEST(many_windows_are_counted_by_threads)
{
    const sl_packing_shape shape = {64, 32, 1, 1, 10, SL_PACKING_CUT_LONG};
    const sl_packing_source source = {
        .lengths = sl_packing_lengths_of_array(lengths, 20000), .seed = 5, .shuffled = true};
    sl_packed_rows *packing;
    uint64_t tokens = 0;
    fill_lengths(&shape, HUGE_ONES, 20000);
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

/* Of 64 windows, which are one thread's, none is begun after the stop. */
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
    assert_int_equal(open_spied(&packing, shape, documents, true, &error), SLUICE_INVALID);
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
    refuse(&good, 0, "there are no documents");
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
    refuse(&shape, 6, "the longest document, 3, has 70 elements, and a row has 64: cut=\"long\"");
    shape.unit = 2;
    shape.cut = SL_PACKING_CUT_LONG;
    refuse(&shape, 6, "documents 4 to 5 stay together (unit 2) and have 120 elements");
    lengths[5] = 0;
    refuse(&shape, 6, "documents 4 to 5, which stay together (unit 2), some are empty");
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

/* What a cursor compares. */
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

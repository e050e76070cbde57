/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packing: rows of all modes against brute force, each element once, and statistics of a
 * lognormal distribution. plan_packing_open_test covers the rest of opening. */
#include "packing.h"
#include "plan_packing_lengths.h"
#include "plan_packing_model.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { MOST = 1 << 17, MOST_PIECES = 65536 };

static uint32_t lengths[MOST];

/* ---- a source that notes the order of windows ---- */

typedef struct spy {
    uint32_t asked; /* documents requested so far */
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

/* Each document comes once, those of a unit side by side; in order, unless shuffled. */
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

/* The contents of the rows, added up by the test. */
typedef struct sums {
    uint64_t rows, pieces, tokens, padding, aligned, closed;
    uint32_t most;
} sums;

static uint64_t next_element[MOST];

/* Part of a row has its pieces, and nothing is written past them. */
static void check_parts(const sl_packed_rows *packing, uint64_t row, uint32_t count,
                        const sl_packed_piece *pieces)
{
    for (uint32_t first = 0; first < count; first++) {
        for (uint32_t asked = 0; asked <= 2; asked++) {
            sl_packed_piece part[3];
            memset(part, 0xff, sizeof(part));
            assert_int_equal(sl_packing_pieces(packing, row, first, asked, part), count);
            for (uint32_t i = 0; i < 3; i++) {
                const bool is_there = i < asked && first + i < count;
                assert_int_equal(part[i].document,
                                 is_there ? pieces[first + i].document : UINT64_MAX);
                assert_int_equal(part[i].first, is_there ? pieces[first + i].first : UINT64_MAX);
                assert_int_equal(part[i].count, is_there ? pieces[first + i].count : UINT32_MAX);
            }
        }
    }
}

static void check_row(const sl_packed_rows *packing, uint64_t row, const packing_model *model,
                      uint32_t *at, sums *all)
{
    static sl_packed_piece pieces[MOST_PIECES];
    const sl_packing_shape *shape = sl_packing_shape_of(packing);
    const uint32_t count = sl_packing_pieces(packing, row, 0, UINT32_MAX, pieces);
    uint64_t fill = 0;
    assert_in_range(count, 1, shape->max_documents);
    if (row % 16 == 0) {
        check_parts(packing, row, count, pieces);
    }
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

TEST(rows_are_those_of_brute_force)
{
    static const uint32_t aligns[] = {1, 8, 16, 32, 3};
    static const uint32_t windows[] = {3, 7, 64, 300, 5000};
    static const uint32_t most[] = {1, 2, 5, 32, 65536};
    static const uint32_t rows[] = {4, 12, 129};
    for (uint32_t round = 0; round < TEST_AMOUNT(900, 150); round++) {
        const uint32_t align = aligns[packing_draw(5)];
        const sl_packing_cut cut = (sl_packing_cut)packing_draw(3);
        const uint32_t unit =
            cut == SL_PACKING_CUT_SPLIT ? 1 : 1 + (packing_draw(3) == 0) * packing_draw(3);
        const uint32_t pieces = most[packing_draw(5)];
        const sl_packing_shape shape = {.length = (uint64_t)align * rows[packing_draw(3)],
                                        .max_documents = pieces < unit ? unit : pieces,
                                        .align = align,
                                        .unit = unit,
                                        .window = windows[packing_draw(5)],
                                        .cut = cut};
        /* At most 64 windows, which one thread counts, so that the spy sees them in order. */
        const uint32_t most_entries = shape.window / unit * 64;
        const uint32_t entries = 1 + packing_draw(packing_draw(3) == 0 ? 900 : 90);
        const uint32_t documents = unit * (entries < most_entries ? entries : most_entries);
        packing_lengths_fill(lengths, documents, &shape, (packing_lengths_kind)packing_draw(KINDS));
        check_packing(&shape, documents, packing_draw(2) == 0);
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
    packing_lengths_fill(lengths, 512, &shape, LOGNORMAL);
    check_packing(&shape, 512, true);
    packing_lengths_fill(lengths, 512, &shape, HUGE_ONES);
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
    /* Half of align - 1 for each piece, plus 0.3 %. */
    const double bar = (double)facts->pieces * (align - 1) / 2 / (double)facts->tokens;
    assert_true(padding <= bar + 0.003);
    sl_packing_close(packing);
    return padding;
}

/* Lognormal (5.9, 1.2), rows of 2,048: compared with a simulation independent of this code. */
TEST_UNSANITIZED(padding_of_a_lognormal_is_as_simulated)
{
    double closed;
    for (uint32_t i = 0; i < MOST; i++) {
        lengths[i] = packing_draw_lognormal(5.9, 1.2);
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

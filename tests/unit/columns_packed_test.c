/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of packed sequences, compared with rows that the test writes element by element: pieces of
 * any length, whole documents or parts, aligned or not; and errors.
 */
#include "columns_rig.h"
#include "error.h"
#include "test.h"

#include <sluice/describe.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, LENGTH = 48, MOST = 8, PAD = 7, IGNORE = -1, BOS = 50001, EOS = 50002 };

static const sl_field fields[] = {
    {.name = "tokens", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U16, .dims = 1},
    {.name = "wide", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U64, .dims = 1},
    {.name = "table", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U16, .dims = 2},
    {.name = "text", .type = SLUICE_FIELD_TEXT},
    {.name = "label", .type = SLUICE_FIELD_INT},
    {.name = "mask", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I16, .dims = 1},
    {.name = "runs", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U32, .dims = 2, .shape = {0, 2}},
    {.name = "weights", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 1},
    {.name = "triples",
     .type = SLUICE_FIELD_TENSOR,
     .dtype = SLUICE_I32,
     .dims = 2,
     .shape = {0, 3}}};
enum { MASK = 5, RUNS = 6 };
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

typedef columns_rig rig;

static int setup(void **state)
{
    *state = columns_rig_open(fields, FIELDS, ROWS);
    return 0;
}

static sluice_column packed(uint32_t align, int32_t dtype)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_PACKED;
    column.field = "tokens";
    column.length = LENGTH;
    column.max_documents = MOST;
    column.align = align;
    column.dtype = dtype;
    column.pad = PAD;
    return column;
}

static void add(rig *r, const sluice_column *column)
{
    assert_int_equal(sluice_columns_add(r->asked, column), SLUICE_OK);
}

/* ---- pieces, and the row that they should be ---- */

typedef struct piece {
    uint64_t length, first, count; /* length of the document in rows, and of the piece in it */
    bool alone;                    /* only the piece was read, and the element after it */
    uint32_t ids;                  /* ids before the document and after it */
    uint32_t mask;                 /* MASK, RUNS; 0: no mask */
} piece;

/* True if a stored element is trained; runs have several elements. */
static bool is_trained(uint32_t number, uint64_t at)
{
    return (at / (1 + number % 3)) % 3 != number % 2;
}

static uint64_t stored_of(const piece *p)
{
    return p->length - (p->ids & SLUICE_ID_BOS) - (p->ids & SLUICE_ID_EOS) / SLUICE_ID_EOS;
}

/* Returns stored element `at` of the document of piece number `piece` in row `row`. */
static uint16_t token(uint32_t row, uint32_t number, uint64_t at)
{
    return (uint16_t)(10000 * row + 1000 * number + at);
}

/* Returns its element `at` as it appears in the row. */
static int64_t element_of(const piece *p, uint32_t row, uint32_t number, uint64_t at)
{
    const uint64_t before = p->ids & SLUICE_ID_BOS;
    if (at < before) {
        return BOS;
    }
    return at - before < stored_of(p) ? token(row, number, at - before) : EOS;
}

/* True if element `at` of the document in the row is a target. */
static bool is_target(const piece *p, uint32_t number, uint64_t at)
{
    const uint64_t before = p->ids & SLUICE_ID_BOS;
    const uint64_t last = stored_of(p) - 1;
    const uint64_t stored = at < before ? 0 : at - before;
    return p->mask == 0 || is_trained(number, stored < last ? stored : last);
}

typedef struct wanted {
    int64_t loss_mask[LENGTH];
    int64_t tokens[LENGTH], targets[LENGTH], positions[LENGTH], documents[LENGTH];
    int64_t lengths[MOST], starts[MOST + 1], aligned[MOST + 1];
    int64_t count, longest, samples[MOST];
} wanted;

/* Returns the sample of a piece. */
static uint64_t sample_of(uint32_t row, uint32_t number)
{
    return (UINT64_C(1) << 40) + 100ULL * row + number;
}

static void want_padding(wanted *w, uint64_t from, uint64_t to, uint32_t pieces)
{
    for (uint64_t i = from; i < to; i++) {
        w->tokens[i] = PAD;
        w->targets[i] = IGNORE;
        w->loss_mask[i] = 0;
        w->positions[i] = (int64_t)(i - from);
        w->documents[i] = pieces;
    }
}

static wanted row_of(uint32_t row, const piece *pieces, uint32_t count, uint32_t align)
{
    wanted w = {.count = count};
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const piece *p = &pieces[i];
        const uint64_t next = at + (p->count + align - 1) / align * align;
        for (uint64_t k = 0; k < p->count; k++) {
            const uint64_t next_one = p->first + k + 1;
            w.tokens[at + k] = element_of(p, row, i, p->first + k);
            w.loss_mask[at + k] = next_one < p->length && is_target(p, i, next_one);
            w.targets[at + k] = w.loss_mask[at + k] != 0 ? element_of(p, row, i, next_one) : IGNORE;
            w.positions[at + k] = (int64_t)k;
            w.documents[at + k] = i;
        }
        want_padding(&w, at + p->count, next, count);
        w.lengths[i] = (int64_t)p->count;
        w.samples[i] = (int64_t)sample_of(row, i);
        w.longest = w.lengths[i] > w.longest ? w.lengths[i] : w.longest;
        w.starts[i + 1] = w.starts[i] + w.lengths[i];
        w.aligned[i + 1] = (int64_t)next;
        at = next;
    }
    for (uint32_t i = count; i < MOST; i++) {
        w.samples[i] = -1;
        w.starts[i + 1] = w.starts[count];
        w.aligned[i + 1] = w.aligned[count];
    }
    want_padding(&w, at, LENGTH, count);
    return w;
}

static int64_t number_at(const rig *r, const char *name, uint64_t at)
{
    const uint32_t part = part_named(r, name);
    switch (r->set.parts[part].dtype) {
    case SLUICE_I64:
        return ((int64_t *)(void *)r->parts[part])[at];
    case SLUICE_U8:
        return r->parts[part][at];
    default:
        assert_int_equal(r->set.parts[part].dtype, SLUICE_I32);
        return ((int32_t *)(void *)r->parts[part])[at];
    }
}

static void expect(const rig *r, const char *name, uint32_t row, const int64_t *numbers,
                   uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (number_at(r, name, row * count + i) != numbers[i]) {
            fail_msg("%s[%u][%llu] is %lld, not %lld", name, row, (unsigned long long)i,
                     (long long)number_at(r, name, row * count + i), (long long)numbers[i]);
        }
    }
}

static void expect_row(const rig *r, uint32_t row, const wanted *w)
{
    expect(r, "tokens", row, w->tokens, LENGTH);
    expect(r, "tokens.targets", row, w->targets, LENGTH);
    expect(r, "tokens.loss_mask", row, w->loss_mask, LENGTH);
    expect(r, "tokens.positions", row, w->positions, LENGTH);
    expect(r, "tokens.documents", row, w->documents, LENGTH);
    expect(r, "tokens.lengths", row, w->lengths, MOST);
    expect(r, "tokens.cu_seqlens", row, w->starts, MOST + 1);
    expect(r, "tokens.cu_seqlens_padded", row, w->aligned, MOST + 1);
    expect(r, "tokens.count", row, &w->count, 1);
    expect(r, "tokens.max_seqlen", row, &w->longest, 1);
    expect(r, "tokens.samples", row, w->samples, MOST);
}

/* Sets the mask of the piece's document in one form. The bytes stay valid until the next call. */
static void set_mask(rig *r, uint32_t number, const piece *p)
{
    static int16_t numbers[256];
    static uint32_t runs[128][2];
    const uint64_t stored = stored_of(p);
    uint64_t count = 0;
    bool before = false;
    assert_true(stored <= 256);
    for (uint64_t i = 0; i < stored; i++) {
        const bool trained = is_trained(number, i);
        numbers[i] = (int16_t)(trained ? (i % 2 == 0 ? -3 : 1) : 0);
        if (trained && !before) {
            runs[count][0] = (uint32_t)i;
            count++;
        }
        if (trained) {
            runs[count - 1][1] = (uint32_t)i + 1;
        }
        before = trained;
    }
    set_bytes(r, MASK, numbers, 2 * stored);
    value(r, MASK)->shape[0] = stored;
    set_bytes(r, RUNS, runs, 8 * count);
    value(r, RUNS)->shape[0] = count;
    value(r, RUNS)->shape[1] = 2;
}

/* Makes the row from the bytes that unpacking a piece gives. */
static sluice_status make_piece(rig *r, uint32_t row, uint32_t number, uint32_t count,
                                const piece *p, sluice_error *error)
{
    uint16_t stored[256];
    const uint64_t before = p->ids & SLUICE_ID_BOS;
    const uint64_t stored_count = stored_of(p);
    uint64_t begin = 0;
    uint64_t end = stored_count;
    if (p->alone) { /* at least one element */
        begin = p->first < before ? 0 : p->first - before;
        begin = begin < stored_count ? begin : stored_count - 1;
        end = p->first + p->count + 1 - before;
        end = end < stored_count ? end : stored_count;
    }
    for (uint64_t i = begin; i < end; i++) {
        stored[i - begin] = token(row, number, i);
    }
    /* Exactly these bytes, so that a sanitizer sees a read past the end. */
    uint8_t *bytes = malloc(2 * (end - begin));
    assert_non_null(bytes);
    memcpy(bytes, stored, 2 * (end - begin));
    set_bytes(r, 0, bytes, 2 * (end - begin));
    value(r, 0)->shape[0] = end - begin;
    set_mask(r, number, p);
    r->row->values.piece = (sl_document_piece){.document = sample_of(row, number),
                                               .first = p->first,
                                               .count = p->count,
                                               .length = p->length,
                                               .stored = stored_count,
                                               .from = begin,
                                               .before = (uint32_t)before};
    r->row->at = (sl_row_place){.index = row, .number = row};
    r->row->members = count;
    r->row->member = number;
    const sluice_status status = sl_columns_make(&r->set, r->row, r->parts, error);
    free(bytes);
    return status;
}

static void make_row(rig *r, uint32_t row, const piece *pieces, uint32_t count)
{
    sluice_error error;
    sl_error_clear(&error);
    for (uint32_t i = 0; i < count; i++) {
        if (make_piece(r, row, i, count, &pieces[i], &error) != SLUICE_OK) {
            fail_msg("%s", error.text);
        }
    }
    sl_columns_end(&r->set, r->row, r->parts);
}

static uint32_t below(uint32_t *seed, uint32_t bound)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % bound;
}

/* Draws as many as fit, or fewer; some of them fill the row. */
static uint32_t draw_pieces(uint32_t *seed, uint32_t align, const piece *like, piece *pieces)
{
    const uint32_t most = 1 + below(seed, MOST);
    uint64_t space = LENGTH;
    uint32_t count = 0;
    while (count < most && space > 0) {
        piece *p = &pieces[count];
        p->count = 1 + below(seed, below(seed, 4) == 0 ? (uint32_t)space : 9);
        if ((p->count + align - 1) / align * align > space) {
            p->count = space;
        }
        p->first = below(seed, 2) == 0 ? 0 : below(seed, 30);
        p->length = p->first + p->count + (below(seed, 2) == 0 ? 0 : below(seed, 5));
        p->length += p->length < 3 ? 3 : 0; /* at least one is stored */
        p->ids = like->ids;
        p->mask = like->mask;
        p->alone = like->mask == 0 && below(seed, 2) == 0;
        space -= (p->count + align - 1) / align * align;
        count++;
    }
    return count;
}

static void make_many(rig *r, uint32_t align, const piece *like, uint32_t seed)
{
    must_bind(r);
    assert_int_equal(r->set.members, MOST);
    assert_int_equal(r->set.packed.length, LENGTH);
    for (uint32_t round = 0; round < 300; round++) {
        const uint32_t row = round % ROWS;
        piece pieces[MOST];
        const uint32_t count = draw_pieces(&seed, align, like, pieces);
        const wanted w = row_of(row, pieces, count, align);
        make_row(r, row, pieces, count);
        expect_row(r, row, &w);
    }
}

static const piece plain;

TEST_WITH(rows_of_i64, setup, columns_rig_close)
{
    const sluice_column column = packed(0, 0);
    add(*state, &column);
    make_many(*state, 1, &plain, 1);
}

TEST_WITH(rows_of_i32, setup, columns_rig_close)
{
    const sluice_column column = packed(1, SLUICE_I32);
    add(*state, &column);
    make_many(*state, 1, &plain, 2);
}

TEST_WITH(aligned_rows, setup, columns_rig_close)
{
    const sluice_column column = packed(8, SLUICE_I32);
    add(*state, &column);
    make_many(*state, 8, &plain, 3);
}

static void with_ids(sluice_column *column, uint32_t ids)
{
    column->ids = ids;
    column->bos = (ids & SLUICE_ID_BOS) != 0 ? BOS : 0;
    column->eos = (ids & SLUICE_ID_EOS) != 0 ? EOS : 0;
}

TEST(rows_with_ids)
{
    for (uint32_t ids = 1; ids <= (SLUICE_ID_BOS | SLUICE_ID_EOS); ids++) {
        for (uint32_t align = 1; align <= 4; align += 3) {
            rig *r = columns_rig_open(fields, FIELDS, ROWS);
            void *own = r;
            sluice_column column = packed(align, 0);
            const piece like = {.ids = ids};
            with_ids(&column, ids);
            add(r, &column);
            make_many(r, align, &like, 4 + ids + align);
            columns_rig_close(&own);
        }
    }
}

/* Without ids, and with both. */
TEST(rows_with_a_mask)
{
    for (uint32_t mask = MASK; mask <= RUNS; mask++) {
        for (uint32_t ids = 0; ids <= (SLUICE_ID_BOS | SLUICE_ID_EOS); ids += 3) {
            rig *r = columns_rig_open(fields, FIELDS, ROWS);
            void *own = r;
            sluice_column column = packed(4, SLUICE_I32);
            const piece like = {.ids = ids, .mask = mask};
            with_ids(&column, ids);
            column.mask = fields[mask].name;
            add(r, &column);
            make_many(r, 4, &like, 20 + ids + mask);
            assert_true(r->set.packed.whole);
            assert_int_equal(r->set.wanted, UINT64_C(1) | UINT64_C(1) << mask);
            columns_rig_close(&own);
        }
    }
}

TEST_WITH(a_row_without_a_sample, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_column column = packed(4, 0);
    const wanted w = row_of(0, NULL, 0, 4);
    add(r, &column);
    must_bind(r);
    blank(r, 1);
    expect_row(r, 1, &w);
}

/* ---- bad documents ---- */

TEST_WITH(documents_that_are_not_as_planned, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_column column = packed(1, 0);
    sluice_error error;
    const piece good = {40, 0, 40, .alone = true, .ids = 0};
    const piece long_one = {9, 0, 9, .alone = true}; /* after 40 of 48 elements */
    add(r, &column);
    must_bind(r);
    sl_error_clear(&error);
    assert_int_equal(make_piece(r, 0, 0, 2, &good, &error), SLUICE_OK);
    assert_int_equal(make_piece(r, 0, 1, 2, &long_one, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "does not have the planned elements"));
    /* Fewer elements than the piece has. */
    const piece cut_off = {12, 8, 6, .alone = false};
    assert_int_equal(make_piece(r, 0, 0, 1, &cut_off, &error), SLUICE_CORRUPT);
}

/* Expects an error for a mask that is wrong in a document of ten elements, and the field it
 * names. */
static void expect_bad_mask(uint32_t mask, const void *numbers, uint64_t items, const char *words)
{
    rig *r = columns_rig_open(fields, FIELDS, ROWS);
    void *own = r;
    sluice_column column = packed(1, 0);
    uint16_t tokens[10] = {0};
    sluice_error error;
    sl_error_clear(&error);
    column.mask = fields[mask].name;
    add(r, &column);
    must_bind(r);
    set_bytes(r, 0, tokens, sizeof(tokens));
    value(r, 0)->shape[0] = 10;
    set_bytes(r, mask, numbers, items * (mask == MASK ? 2 : 8));
    value(r, mask)->shape[0] = items;
    value(r, mask)->shape[1] = 2;
    value(r, mask)->present = numbers != NULL;
    r->row->values.piece = (sl_document_piece){.count = 4, .length = 10, .stored = 10};
    r->row->members = 1;
    assert_int_equal(sl_columns_make(&r->set, r->row, r->parts, &error), SLUICE_CORRUPT);
    if (strstr(error.text, words) == NULL) {
        fail_msg("%s", error.text);
    }
    assert_ptr_equal(r->row->blame, numbers == NULL ? NULL : value(r, mask));
    columns_rig_close(&own);
}

TEST(bad_masks)
{
    static const int16_t numbers[11] = {0};
    static const uint32_t backwards[][2] = {{0, 2}, {5, 4}};
    static const uint32_t out_of_order[][2] = {{3, 6}, {5, 8}};
    static const uint32_t outside[][2] = {{0, 1}, {9, 11}};
    static const uint32_t far[][2] = {{UINT32_MAX, UINT32_MAX}};
    expect_bad_mask(MASK, numbers, 9, "\"mask\" has length 9, but \"tokens\" has 10");
    expect_bad_mask(MASK, numbers, 11, "\"mask\" has length 11, but \"tokens\" has 10");
    expect_bad_mask(MASK, NULL, 0, "the sample has no \"mask\"");
    expect_bad_mask(RUNS, backwards, 2, "run 1 of \"runs\" is [5, 4): it ends before 5");
    expect_bad_mask(RUNS, out_of_order, 2,
                    "run 1 of \"runs\" is [5, 8): the previous run ends at 6");
    expect_bad_mask(RUNS, outside, 2, "run 1 of \"runs\" is [9, 11): the document's length is 10");
    expect_bad_mask(RUNS, far, 1, "run 0 of \"runs\" is [4294967295, 4294967295): the document's");
}

/* If a document already contains the id where the id would be written, the sample is bad. */
static void expect_twice(uint32_t id, const piece *p, bool refused)
{
    rig *r = columns_rig_open(fields, FIELDS, ROWS);
    void *state = r;
    sluice_column column = packed(1, 0);
    const bool begins = id == SLUICE_ID_BOS;
    sluice_error error;
    column.ids = id;
    column.bos = begins ? token(0, 0, 0) : 0;
    column.eos = begins ? 0 : token(0, 0, stored_of(p) - 1);
    add(r, &column);
    must_bind(r);
    sl_error_clear(&error);
    assert_int_equal(make_piece(r, 0, 0, 1, p, &error), refused ? SLUICE_UNSUPPORTED : SLUICE_OK);
    if (refused) {
        assert_non_null(strstr(error.text, begins ? "\"tokens\" already begins with bos, 0: leave"
                                                  : "\"tokens\" already ends with eos, 9: leave"));
    }
    columns_rig_close(&state);
}

TEST(documents_that_have_the_id)
{
    for (int alone = 0; alone < 2; alone++) {
        const struct {
            uint64_t first, count;
            bool begins, ends;
        } pieces[] = {{0, 11, true, true},  {0, 1, true, false}, {0, 10, true, false},
                      {1, 9, false, false}, {5, 6, false, true}, {10, 1, false, true}};
        for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
            piece p = {11, pieces[i].first, pieces[i].count, .alone = alone == 1};
            p.ids = SLUICE_ID_BOS;
            expect_twice(SLUICE_ID_BOS, &p, pieces[i].begins);
            p.ids = SLUICE_ID_EOS;
            expect_twice(SLUICE_ID_EOS, &p, pieces[i].ends);
        }
    }
}

TEST_WITH(tokens_beyond_the_dtype, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_error error;
    sluice_column column = packed(1, 0);
    column.field = "wide";
    const uint64_t tokens[2] = {1, UINT64_MAX};
    add(r, &column);
    must_bind(r);
    for (uint64_t count = 1; count <= 2; count++) { /* the last target is one too */
        sl_error_clear(&error);
        set_bytes(r, 1, tokens, sizeof(tokens));
        r->row->values.piece = (sl_document_piece){.count = count, .length = 2, .stored = 2};
        r->row->members = 1;
        r->row->member = 0;
        assert_int_equal(sl_columns_make(&r->set, r->row, r->parts, &error), SLUICE_UNSUPPORTED);
        assert_non_null(strstr(error.text, "a number that i64 cannot represent"));
    }
}

/* ---- errors ---- */

static void expect_not_added(const sluice_column *column, const char *words)
{
    sluice_columns *columns = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, column), SLUICE_INVALID);
    assert_int_equal(sluice_columns_get_error(columns, &error), SLUICE_INVALID);
    if (strstr(error.text, words) == NULL) {
        fail_msg("%s", error.text);
    }
    sluice_columns_destroy(columns);
}

TEST(fim_needs_all_of_it)
{
    sluice_column column = packed(1, 0);
    column.fim_spm = 0.5;
    expect_not_added(&column, "need a fim_rate above 0");
    column.fim_rate = 0.5;
    expect_not_added(&column, "fim_rate needs fim_prefix, fim_middle and fim_suffix");
    column.ids = SLUICE_ID_FIM_PREFIX | SLUICE_ID_FIM_MIDDLE | SLUICE_ID_FIM_SUFFIX;
    column.fim_middle = 1;
    expect_not_added(&column, "must differ from each other"); /* prefix and suffix are 0 */
    column.fim_suffix = 2;
    column.ids |= SLUICE_ID_EOS;
    column.eos = 2;
    expect_not_added(&column, "from bos and from eos");
    column.eos = 3;
    column.fim_rate = 1.5;
    expect_not_added(&column, "fim_rate");
    column.fim_rate = 0;
    column.fim_spm = 0;
    expect_not_added(&column, "need a fim_rate above 0");
}

static void expect_refused(sluice_column column, const char *words)
{
    rig *r = columns_rig_open(fields, FIELDS, ROWS);
    void *state = r;
    add(r, &column);
    refuses(r, words);
    columns_rig_close(&state);
}

TEST(requests_that_do_not_bind)
{
    sluice_column column = packed(7, 0);
    expect_refused(column, "length 48 is not a multiple of align 7: choose length 49");
    column = packed(1, SLUICE_U16);
    expect_refused(column, "i32 or i64");
    column = packed(1, 0);
    column.field = "table";
    expect_refused(column, "only one-dimensional tensors");
    column.field = "text";
    expect_refused(column, "cannot be used by a column of kind packed");
    column = packed(1, SLUICE_I32);
    column.pad = INT64_C(1) << 32;
    expect_refused(column, "pad and ignore_index must fit");
    column = packed(1, 0);
    column.length = (UINT64_C(1) << 24) + 1;
    expect_refused(column, "from 1 to 2^24 elements");
    column = packed(1, 0);
    column.unit = MOST + 1;
    expect_refused(column, "max_documents must be at least unit");
    column = packed(1, SLUICE_I32);
    column.ids = SLUICE_ID_EOS;
    column.eos = INT64_C(1) << 31;
    expect_refused(column, "eos is 2147483648, which does not fit its dtype");
    column = packed(1, 0);
    for (int i = 0; i < 4; i++) {
        static const char *const masks[] = {"weights", "triples", "text", "label"};
        column.mask = masks[i];
        expect_refused(column, "must be a tensor of ints or bools with one per token");
    }
    column.mask = "none";
    expect_refused(column, "the dataset has no field \"none\"");
    column = packed(1, 0);
    column.ids = SLUICE_ID_EOS;
    column.eos = IGNORE;
    expect_refused(column, "eos is -1, the same as the loader's ignore_index");
}

TEST_WITH(beside_other_columns, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_column column = packed(1, 0);
    add(r, &column);
    assert_int_equal(sluice_columns_number(r->asked, "label", SLUICE_I64), SLUICE_OK);
    refuses(r, "column \"label\": it cannot be used with packed sequences");
}

TEST_WITH(twice, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = packed(1, 0);
    add(r, &column);
    column.name = "again";
    add(r, &column);
    refuses(r, "a loader can have only one column of packed sequences");
}

TEST_WITH(a_length_is_needed, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = packed(1, 0);
    column.length = 0;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_INVALID);
    column.length = LENGTH;
    column.max_documents = SLUICE_PACKED_DOCUMENTS_MAX + 1;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_INVALID);
    column.max_documents = 0;
    column.missing = SLUICE_MISSING_BLANK;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_INVALID);
}

TEST_WITH(ids_and_their_bits, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = packed(1, 0);
    sluice_column number = SLUICE_COLUMN_INIT;
    column.eos = 5; /* without setting its bit */
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_INVALID);
    column.ids = SLUICE_ID_BOS;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_INVALID);
    column.ids = UINT32_C(1) << 31;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_INVALID);
    number.kind = SLUICE_COLUMN_NUMBER;
    number.field = "label";
    number.ids = SLUICE_ID_EOS;
    assert_int_equal(sluice_columns_add(r->asked, &number), SLUICE_INVALID);
    /* Setting an option sets its bit. */
    column = packed(1, 0);
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_COLUMN, &column, "eos", "0", NULL),
                     SLUICE_OK);
    assert_int_equal(column.ids, SLUICE_ID_EOS);
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_COLUMN, &column, "bos", "7", NULL),
                     SLUICE_OK);
    assert_int_equal(column.ids, SLUICE_ID_EOS | SLUICE_ID_BOS);
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_COLUMN, &column, "fim_suffix", "0", NULL),
                     SLUICE_OK);
    assert_int_equal(column.ids, SLUICE_ID_EOS | SLUICE_ID_BOS | SLUICE_ID_FIM_SUFFIX);
    column.struct_size = offsetof(sluice_column, ids);
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_COLUMN, &column, "bos", "7", NULL),
                     SLUICE_UNSUPPORTED);
}

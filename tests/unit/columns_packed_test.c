/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of packed sequences, held against rows that the test writes element by element: pieces of
 * any length, alone or inside their document, aligned or not, and what is refused.
 */
#include "columns_rig.h"
#include "error.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, LENGTH = 48, MOST = 8, PAD = 7, IGNORE = -1 };

static const sl_field fields[] = {
    {.name = "tokens", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U16, .dims = 1},
    {.name = "wide", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U64, .dims = 1},
    {.name = "table", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U16, .dims = 2},
    {.name = "text", .type = SLUICE_FIELD_TEXT},
    {.name = "label", .type = SLUICE_FIELD_INT}};
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
    uint64_t length, first, count; /* of the document, and of the piece in it */
    bool alone;                    /* only the piece was read, and the element behind it */
} piece;

/* Element `at` of the document of piece number `piece` in row `row`. */
static uint16_t token(uint32_t row, uint32_t number, uint64_t at)
{
    return (uint16_t)(10000 * row + 1000 * number + at);
}

typedef struct wanted {
    int64_t tokens[LENGTH], targets[LENGTH], positions[LENGTH], documents[LENGTH];
    int64_t lengths[MOST], starts[MOST + 1], aligned[MOST + 1];
    int64_t count, longest;
} wanted;

static void want_padding(wanted *w, uint64_t from, uint64_t to, uint32_t pieces)
{
    for (uint64_t i = from; i < to; i++) {
        w->tokens[i] = PAD;
        w->targets[i] = IGNORE;
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
            const bool ends = p->first + k + 1 == p->length;
            w.tokens[at + k] = token(row, i, p->first + k);
            w.targets[at + k] = ends ? IGNORE : token(row, i, p->first + k + 1);
            w.positions[at + k] = (int64_t)k;
            w.documents[at + k] = i;
        }
        want_padding(&w, at + p->count, next, count);
        w.lengths[i] = (int64_t)p->count;
        w.longest = w.lengths[i] > w.longest ? w.lengths[i] : w.longest;
        w.starts[i + 1] = w.starts[i] + w.lengths[i];
        w.aligned[i + 1] = (int64_t)next;
        at = next;
    }
    for (uint32_t i = count; i < MOST; i++) {
        w.starts[i + 1] = w.starts[count];
        w.aligned[i + 1] = w.aligned[count];
    }
    want_padding(&w, at, LENGTH, count);
    return w;
}

static int64_t number_at(const rig *r, const char *name, uint64_t at)
{
    const uint32_t part = part_named(r, name);
    return r->set.parts[part].dtype == SLUICE_I64 ? ((int64_t *)(void *)r->parts[part])[at]
                                                  : ((int32_t *)(void *)r->parts[part])[at];
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
    expect(r, "tokens.positions", row, w->positions, LENGTH);
    expect(r, "tokens.documents", row, w->documents, LENGTH);
    expect(r, "tokens.lengths", row, w->lengths, MOST);
    expect(r, "tokens.cu_seqlens", row, w->starts, MOST + 1);
    expect(r, "tokens.cu_seqlens_padded", row, w->aligned, MOST + 1);
    expect(r, "tokens.count", row, &w->count, 1);
    expect(r, "tokens.max_seqlen", row, &w->longest, 1);
}

/* The bytes that unpacking a piece gives. */
static sluice_status make_piece(rig *r, uint32_t row, uint32_t number, uint32_t count,
                                const piece *p, sluice_error *error)
{
    uint16_t stored[256];
    const uint64_t begin = p->alone ? p->first : 0;
    const uint64_t behind = p->first + p->count < p->length;
    const uint64_t end = p->alone ? p->first + p->count + behind : p->length;
    for (uint64_t i = begin; i < end; i++) {
        stored[i - begin] = token(row, number, i);
    }
    /* Just these bytes, so that a sanitizer sees a read behind them. */
    uint8_t *bytes = malloc(2 * (end - begin));
    assert_non_null(bytes);
    memcpy(bytes, stored, 2 * (end - begin));
    set_bytes(r, 0, bytes, 2 * (end - begin));
    value(r, 0)->shape[0] = p->count;
    value(r, 0)->first = p->first - begin;
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

/* As many as fit, or fewer; some of them fill the row. */
static uint32_t draw_pieces(uint32_t *seed, uint32_t align, piece *pieces)
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
        p->alone = below(seed, 2) == 0;
        space -= (p->count + align - 1) / align * align;
        count++;
    }
    return count;
}

static void make_many(rig *r, uint32_t align, uint32_t seed)
{
    must_bind(r);
    assert_int_equal(r->set.members, MOST);
    assert_int_equal(r->set.packed.length, LENGTH);
    for (uint32_t round = 0; round < 300; round++) {
        const uint32_t row = round % ROWS;
        piece pieces[MOST];
        const uint32_t count = draw_pieces(&seed, align, pieces);
        const wanted w = row_of(row, pieces, count, align);
        make_row(r, row, pieces, count);
        expect_row(r, row, &w);
    }
}

TEST_WITH(rows_of_i64, setup, columns_rig_close)
{
    const sluice_column column = packed(0, 0);
    add(*state, &column);
    make_many(*state, 1, 1);
}

TEST_WITH(rows_of_i32, setup, columns_rig_close)
{
    const sluice_column column = packed(1, SLUICE_I32);
    add(*state, &column);
    make_many(*state, 1, 2);
}

TEST_WITH(aligned_rows, setup, columns_rig_close)
{
    const sluice_column column = packed(8, SLUICE_I32);
    add(*state, &column);
    make_many(*state, 8, 3);
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
    const piece good = {40, 0, 40, .alone = true};
    const piece long_one = {9, 0, 9, .alone = true}; /* behind 40 of 48 elements */
    add(r, &column);
    must_bind(r);
    sl_error_clear(&error);
    assert_int_equal(make_piece(r, 0, 0, 2, &good, &error), SLUICE_OK);
    assert_int_equal(make_piece(r, 0, 1, 2, &long_one, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "does not have the elements that were planned"));
    /* Fewer elements than the piece has. */
    const piece cut_off = {12, 8, 6, .alone = false};
    assert_int_equal(make_piece(r, 0, 0, 1, &cut_off, &error), SLUICE_CORRUPT);
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
    for (uint64_t count = 1; count <= 2; count++) { /* the last target is one, too */
        sl_error_clear(&error);
        set_bytes(r, 1, tokens, sizeof(tokens));
        value(r, 1)->shape[0] = count;
        r->row->members = 1;
        r->row->member = 0;
        assert_int_equal(sl_columns_make(&r->set, r->row, r->parts, &error), SLUICE_UNSUPPORTED);
        assert_non_null(strstr(error.text, "a number that does not fit i64"));
    }
}

/* ---- what is refused ---- */

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
    expect_refused(column, "only tensors of one dimension");
    column.field = "text";
    expect_refused(column, "cannot be used by a column of kind packed");
    column = packed(1, SLUICE_I32);
    column.pad = INT64_C(1) << 32;
    expect_refused(column, "pad and ignore_index must fit");
    column = packed(1, 0);
    column.length = (UINT64_C(1) << 24) + 1;
    expect_refused(column, "1 to 2^24 elements");
    column = packed(1, 0);
    column.unit = MOST + 1;
    expect_refused(column, "max_documents must be at least unit");
}

TEST_WITH(beside_other_columns, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_column column = packed(1, 0);
    add(r, &column);
    assert_int_equal(sluice_columns_number(r->asked, "label", SLUICE_I64), SLUICE_OK);
    refuses(r, "column \"label\": beside packed sequences there are no other columns");
}

TEST_WITH(twice, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = packed(1, 0);
    add(r, &column);
    column.name = "again";
    add(r, &column);
    refuses(r, "a loader has one column of packed sequences");
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

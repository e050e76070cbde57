/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second field of packed rows, such as image patches: compared with numbers that identify the
 * patch and its document; and errors. columns_packed_test covers tokens.
 */
#include "columns_rig.h"
#include "error.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, LENGTH = 48, MOST = 8 };

static const sl_field fields[] = {
    {.name = "tokens", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U16, .dims = 1},
    {.name = "text", .type = SLUICE_FIELD_TEXT},
    {.name = "patches",
     .type = SLUICE_FIELD_TENSOR,
     .dtype = SLUICE_F32,
     .dims = 3,
     .shape = {0, 1, 2}},
    {.name = "open", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 2, .shape = {2, 0}},
    {.name = "flags", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_BOOL, .dims = 1}};
enum { FIELDS = sizeof(fields) / sizeof(*fields), PATCHES = 2, FLAGS = 4 };
enum { PATCH = 2 /* elements */ };

typedef columns_rig rig;

static int setup(void **state)
{
    *state = columns_rig_open(fields, FIELDS, ROWS);
    return 0;
}

static sluice_column with_media(const char *field, uint64_t per_token, uint64_t media_length)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_PACKED;
    column.field = "tokens";
    column.length = LENGTH;
    column.max_documents = MOST;
    column.media = field;
    column.per_token = per_token;
    column.media_length = media_length;
    return column;
}

static void add(rig *r, const sluice_column *column)
{
    assert_int_equal(sluice_columns_add(r->asked, column), SLUICE_OK);
}

/* ---- rows ---- */

/* Makes a member of one token; the test has set its media. */
static sluice_status make_member(rig *r, uint32_t row, uint32_t number, uint32_t count,
                                 sluice_error *error)
{
    static const uint16_t token = 5;
    set_bytes(r, 0, &token, sizeof(token));
    value(r, 0)->shape[0] = 1;
    r->row->values.piece = (sl_document_piece){.count = 1, .length = 1, .stored = 1};
    r->row->at = (sl_row_place){.index = row, .number = row};
    r->row->members = count;
    r->row->member = number;
    return sl_columns_make(&r->set, r->row, r->parts, error);
}

/* Returns element `at` of the patches of a piece. */
static float patch(uint32_t row, uint32_t number, uint64_t at)
{
    return (float)(1000 * row + 100 * number + at);
}

/* Makes a member of one token and `patches` patches; UINT64_MAX: without the field. */
static sluice_status make_patches(rig *r, uint32_t row, uint32_t number, uint32_t count,
                                  uint64_t patches, sluice_error *error)
{
    const size_t bytes = patches == UINT64_MAX ? 0 : patches * PATCH * sizeof(float);
    float *stored = malloc(bytes + 1);
    assert_non_null(stored);
    for (uint64_t i = 0; i < bytes / sizeof(float); i++) {
        stored[i] = patch(row, number, i);
    }
    *value(r, PATCHES) = (sl_value){.present = false};
    if (patches != UINT64_MAX) {
        set_bytes(r, PATCHES, stored, bytes);
        memcpy(value(r, PATCHES)->shape, (uint64_t[3]){patches, 1, 2}, sizeof(uint64_t[3]));
    }
    const sluice_status status = make_member(r, row, number, count, error);
    free(stored);
    return status;
}

TEST_WITH(patches_of_rows, setup, columns_rig_close)
{
    /* Patches of each document of each row; row 1 has no sample. */
    static const uint64_t patches[ROWS][MOST] = {{3, 0, UINT64_MAX, 2}, {0}, {0, 11, 1}};
    static const uint32_t counts[ROWS] = {4, 0, 3};
    rig *r = *state;
    const sluice_column column = with_media("patches", 0, 12);
    sluice_error error;
    sl_error_clear(&error);
    add(r, &column);
    must_bind(r);
    blank(r, 1);
    for (uint32_t row = 0; row < ROWS; row++) {
        for (uint32_t i = 0; i < counts[row]; i++) {
            assert_int_equal(make_patches(r, row, i, counts[row], patches[row][i], &error), 0);
        }
    }
    sl_columns_finish(&r->set, ROWS, 0, r->parts, r->sizes);
    const float *made = array(r, "tokens.media");
    const int32_t *lengths = array(r, "tokens.media_lengths");
    const int64_t *offsets = array(r, "tokens.media_offsets");
    int64_t total = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        assert_int_equal(offsets[row], total);
        for (uint32_t i = 0; i < MOST; i++) {
            const uint64_t n = patches[row][i] == UINT64_MAX ? 0 : patches[row][i];
            assert_int_equal(lengths[row * MOST + i], n);
            for (uint64_t k = 0; k < n * PATCH; k++) {
                assert_true(made[total * PATCH + (int64_t)k] == patch(row, i, k));
            }
            total += (int64_t)n;
        }
    }
    assert_int_equal(offsets[ROWS], total);
    assert_int_equal(r->sizes[r->set.parts[part_named(r, "tokens.media")].ragged], total);
}

TEST_WITH(patches_that_do_not_do, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_column column = with_media("patches", 4, 12);
    sluice_error error;
    const float numbers[6] = {0};
    add(r, &column);
    must_bind(r);
    sl_error_clear(&error);
    assert_int_equal(make_patches(r, 0, 0, 2, 7, &error), SLUICE_OK);
    assert_int_equal(make_patches(r, 0, 1, 2, 6, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "no space for 6 of \"patches\" after the 7 of its earlier "
                                       "documents: it holds 12: give media_length more"));
    assert_ptr_equal(r->row->blame, value(r, PATCHES));
    assert_int_equal(make_patches(r, 0, 1, 2, 5, &error), SLUICE_OK); /* full */
    const uint64_t shapes[][3] = {{2, 1, 3}, {2, 2, 2}, {4, 1, 2}, {UINT64_MAX / 2, 1, 2}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        sl_error_clear(&error);
        set_bytes(r, PATCHES, numbers, sizeof(numbers)); /* of [3, 1, 2] */
        memcpy(value(r, PATCHES)->shape, shapes[i], sizeof(*shapes));
        assert_int_equal(make_member(r, 0, 0, 1, &error), SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, i < 2 ? "does not match its field"
                                                 : "has 24 bytes, which does not match its shape"));
    }
}

TEST_WITH(bools_as_media, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_column column = with_media("flags", 0, 0);
    sluice_error error;
    const uint8_t flags[3] = {1, 0, 2};
    add(r, &column);
    must_bind(r);
    assert_int_equal(r->set.parts[part_named(r, "tokens.media")].row_bytes, LENGTH);
    for (uint64_t count = 2; count <= 3; count++) {
        sl_error_clear(&error);
        set_bytes(r, FLAGS, flags, count);
        value(r, FLAGS)->shape[0] = count;
        assert_int_equal(make_member(r, 0, 0, 1, &error),
                         count == 2 ? SLUICE_OK : SLUICE_UNSUPPORTED);
    }
}

/* ---- errors ---- */

static void expect_refused(sluice_column column, const char *words)
{
    rig *r = columns_rig_open(fields, FIELDS, ROWS);
    void *state = r;
    add(r, &column);
    refuses(r, words);
    columns_rig_close(&state);
}

TEST(media_that_do_not_bind)
{
    expect_refused(with_media("none", 0, 0), "the dataset has no field \"none\"");
    expect_refused(with_media("tokens", 0, 0), "media must be another field than the tokens");
    expect_refused(with_media("text", 0, 0),
                   "media \"text\" must be a tensor with at least one dimension");
    expect_refused(with_media("open", 0, 0), "only the first dimension of media \"open\" may");
    expect_refused(with_media(NULL, 4, 0), "need media, the field that they are about");
    expect_refused(with_media(NULL, 0, 4), "need media, the field that they are about");
    sluice_column column = with_media("patches", 1 << 20, 0);
    column.length = 1 << 24;
    expect_refused(column, "media_length must be at most 2147483647");
    column = with_media("patches", 4, 0);
    column.cut = SLUICE_CUT_LONG;
    expect_refused(column, "media goes with cut none only");
}

TEST_WITH(requests_that_are_not_added, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_column nameless = with_media("", 0, 0);
    const sluice_column large = with_media("patches", (UINT64_C(1) << 20) + 1, 0);
    sluice_column other = with_media("patches", 0, 0);
    other.kind = SLUICE_COLUMN_RAGGED;
    other.max_documents = 0;
    assert_int_equal(sluice_columns_add(r->asked, &nameless), SLUICE_INVALID);
    assert_int_equal(sluice_columns_add(r->asked, &large), SLUICE_INVALID);
    assert_int_equal(sluice_columns_add(r->asked, &other), SLUICE_INVALID);
}

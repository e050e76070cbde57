/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests which rows the slots of a Parquet column make: lists, lists of lists, nulls in any place.
 * Rows are written as JSON; the test computes their levels by the rules of the format.
 */
#include "parquet_side.h"
#include "parquet_values.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = 64, ITEMS_MAX = 6 };

typedef struct row {
    const char *json;
    const char *refusal; /* a word of the message; NULL: valid */
    int32_t items[ITEMS_MAX];
    uint32_t count;
    bool absent;
} row;

static sl_parquet_slot slots[SLOTS_MAX];
static uint32_t slot_count;

sluice_status __wrap_sl_parquet_decode(const sl_parquet_leaf *leaf, const sl_parquet_chunk *chunk,
                                       const sl_handle *from, const sl_parquet_sink *sink,
                                       sluice_error *error);

sluice_status __wrap_sl_parquet_decode(const sl_parquet_leaf *leaf, const sl_parquet_chunk *chunk,
                                       const sl_handle *from, const sl_parquet_sink *sink,
                                       sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < slot_count; i++) {
        status = sink->take(sink->ctx, &slots[i], error);
    }
    return status;
}

static void add_slot(uint32_t def, uint32_t rep, int64_t integer)
{
    assert_true(slot_count < SLOTS_MAX);
    slots[slot_count++] = (sl_parquet_slot){.def = def, .rep = rep, .integer = integer};
}

/* Adds the slots of a value that is in `depth` lists, and returns the text after it. A list adds
 * two levels of definition: one if it is not null, one if it is not empty. A number that is not
 * null adds one. */
static const char *add_value(const char *json, uint32_t depth, uint32_t depth_max, uint32_t rep)
{
    if (strncmp(json, "null", 4) == 0) {
        add_slot(2 * depth, rep, 0);
        return json + 4;
    }
    if (depth == depth_max) {
        char *end;
        add_slot(2 * depth + 1, rep, strtol(json, &end, 10));
        return end;
    }
    assert_int_equal(*json++, '[');
    if (*json == ']') {
        add_slot(2 * depth + 1, rep, 0);
        return json + 1;
    }
    for (;; rep = depth + 1) {
        json = add_value(json, depth + 1, depth_max, rep);
        if (*json++ == ']') {
            return json;
        }
    }
}

/* Reads all rows as one row group of a column of `depth` lists. */
static void check_rows(const row *rows, uint32_t count, uint32_t depth)
{
    uint64_t wanted = count;
    sl_parquet_leaf leaf = {.name = "a",
                            .type = SL_PARQUET_INT32,
                            .max_def = (uint8_t)(2 * depth + 1),
                            .max_rep = (uint8_t)depth,
                            .item_def = (uint8_t)(2 * depth),
                            .outer_def = 2};
    sl_parquet_chunk chunk = {.values = 0};
    const sl_parquet parquet = {.leaf_count = 1,
                                .group_count = 1,
                                .leaves = &leaf,
                                .group_rows = &wanted,
                                .chunks = &chunk};
    const sl_parquet_place place = {.parquet = &parquet};
    const sl_field field = {.name = "a",
                            .type = SLUICE_FIELD_TENSOR,
                            .dtype = SLUICE_I32,
                            .dims = depth,
                            .shape = {0, depth == 2 ? 2 : 0}};
    sl_side_columns columns = {0};
    slot_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(*add_value(rows[i].json, 0, depth, 0), '\0');
    }
    assert_int_equal(sl_side_columns_open(&columns, &field, 1, NULL), SLUICE_OK);
    assert_int_equal(sl_parquet_side_read(&place, 0, &columns, 0, NULL), SLUICE_OK);
    assert_int_equal(columns.of[0].rows, count);
    for (uint32_t i = 0; i < count; i++) {
        sl_value value = {0};
        const sl_refusal why = sl_side_columns_get(&columns, 0, i, &value);
        if ((why.text == NULL) != (rows[i].refusal == NULL) ||
            (why.text != NULL && strstr(why.text, rows[i].refusal) == NULL)) {
            fail_msg("%s: %s", rows[i].json, why.text != NULL ? why.text : "not refused");
        }
        if (why.text == NULL) {
            assert_int_equal(value.present, !rows[i].absent);
            assert_int_equal(value.bytes.size, rows[i].count * sizeof(int32_t));
            assert_true(value.bytes.size == 0 ||
                        memcmp(value.bytes.data, rows[i].items, value.bytes.size) == 0);
        }
    }
    sl_side_columns_close(&columns);
}

TEST(lists)
{
    static const row rows[] = {
        {"[1,2]", NULL, {1, 2}, 2, false}, {"null", NULL, {0}, 0, true},
        {"[]", NULL, {0}, 0, false},       {"[3]", NULL, {3}, 1, false},
        {"[null]", "null", {0}, 0, false}, {"[4,null]", "null", {0}, 0, false},
        {"[5]", NULL, {5}, 1, false},
    };
    check_rows(rows, sizeof(rows) / sizeof(*rows), 1);
}

/* Lists in a list have two elements each. */
TEST(lists_of_lists)
{
    static const row rows[] = {
        {"[[1,2],[3,4]]", NULL, {1, 2, 3, 4}, 4, false},
        {"null", NULL, {0}, 0, true},
        {"[]", NULL, {0}, 0, false},
        {"[[5,6]]", NULL, {5, 6}, 2, false},
        {"[null]", "null", {0}, 0, false},
        {"[[1,2],null]", "null", {0}, 0, false},
        {"[null,[1,2]]", "null", {0}, 0, false},
        {"[[1,null]]", "null", {0}, 0, false},
        {"[[7,8]]", NULL, {7, 8}, 2, false},
        {"[[]]", "length", {0}, 0, false},
        {"[[1]]", "length", {0}, 0, false},
        {"[[1,2],[3]]", "length", {0}, 0, false},
        {"[[1],[2,3]]", "length", {0}, 0, false},
        {"[[1,2,3]]", "length", {0}, 0, false},
        {"[[9,10]]", NULL, {9, 10}, 2, false},
    };
    check_rows(rows, sizeof(rows) / sizeof(*rows), 2);
}

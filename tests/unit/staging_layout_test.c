/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the positions of parts with plain arithmetic. */
#include "error.h"
#include "layout.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

typedef struct span {
    size_t from, to;
} span;

enum { TEXT, IMAGE, KEPT, OFFSETS, LABEL, BLOB, FLAGS, PARTS };

/* Makes parts, two of them ragged: these follow the fixed-length parts, and host-only parts come
 * last. */
static void make_parts(sl_part parts[PARTS], uint64_t image_bytes)
{
    memset(parts, 0, PARTS * sizeof(*parts));
    parts[TEXT] = (sl_part){.role = SL_PART_RAGGED, .row_bytes = 100};
    parts[IMAGE] = (sl_part){.row_bytes = image_bytes};
    parts[KEPT] = (sl_part){.role = SL_PART_LOCAL, .row_bytes = 11};
    parts[OFFSETS] = (sl_part){.role = SL_PART_OFFSETS, .row_bytes = 8};
    parts[LABEL] = (sl_part){.row_bytes = 8};
    parts[BLOB] = (sl_part){.role = SL_PART_RAGGED, .row_bytes = 7};
    parts[FLAGS] = (sl_part){.role = SL_PART_HIDDEN, .row_bytes = 0};
}

static void check_layout(uint64_t image_bytes, uint32_t rows)
{
    sl_layout layout;
    sl_part parts[PARTS];
    make_parts(parts, image_bytes);
    assert_int_equal(sl_layout_make(&layout, parts, PARTS, rows, 3, NULL), SLUICE_OK);
    const size_t *at = layout.offset;
    const span spans[] = {
        {at[IMAGE], at[IMAGE] + image_bytes * rows},
        {at[OFFSETS], at[OFFSETS] + 8 * ((size_t)rows + 1)},
        {at[LABEL], at[LABEL] + 8 * (size_t)rows},
        {at[FLAGS], at[FLAGS]},
        {at[TEXT], at[TEXT] + 100 * (size_t)rows},
        {at[BLOB], at[BLOB] + 7 * (size_t)rows},
        {at[KEPT], at[KEPT] + 11 * (size_t)rows},
    };
    assert_int_equal(layout.fixed, at[FLAGS]);
    size_t end = 0;
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        assert_int_equal(spans[i].from % 256, 0);
        assert_true(spans[i].from >= end && spans[i].from - end < 256);
        end = spans[i].to;
    }
    assert_int_equal(layout.sent, at[BLOB] + 7 * (size_t)rows);
    assert_int_equal(layout.bytes, end);
    assert_true(layout.stride >= end && layout.stride - end < 4096);
    assert_int_equal(layout.stride % 4096, 0);
}

TEST(parts_follow_each_other_aligned)
{
    const uint64_t sizes[] = {1, 3, 255, 256, 257, 150528, 602112};
    const uint32_t rows[] = {1, 2, 31, 32, 33, 255, 256, 65536};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
            check_layout(sizes[i], rows[j]);
        }
    }
}

TEST(what_cannot_be_addressed_is_refused)
{
    sl_layout layout;
    sluice_error error = SLUICE_ERROR_INIT;
    static const struct {
        uint64_t bytes;
        uint32_t rows, slots;
        sluice_status status;
    } cases[] = {
        {UINT64_MAX, 2, 1, SLUICE_NOMEM},
        {UINT64_MAX, 1, 1, SLUICE_NOMEM},
        {UINT64_MAX / 4, 1, 64, SLUICE_NOMEM},
        {UINT64_C(1) << 40, 65536, 64, SLUICE_OK},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        sl_part parts[PARTS];
        make_parts(parts, cases[i].bytes);
        sl_error_clear(&error);
        assert_int_equal(
            sl_layout_make(&layout, parts, PARTS, cases[i].rows, cases[i].slots, &error),
            cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        parts[TEXT].row_bytes = cases[i].bytes; /* the ragged part, too */
        parts[IMAGE].row_bytes = 1;
        assert_int_equal(sl_layout_make(&layout, parts, PARTS, cases[i].rows, cases[i].slots, NULL),
                         cases[i].status);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Where fields lie, against plain arithmetic. */
#include "layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct span {
    size_t from, to;
} span;

static void check_layout(uint64_t image_bytes, uint32_t rows)
{
    sl_layout layout;
    assert_int_equal(sl_layout_make(&layout, image_bytes, rows, 3, NULL), SLUICE_OK);
    const span spans[] = {
        {layout.images, layout.images + image_bytes * rows},
        {layout.labels, layout.labels + 8 * (size_t)rows},
        {layout.indices, layout.indices + 8 * (size_t)rows},
        {layout.status, layout.status + rows},
        {layout.mask, layout.mask + rows},
        {layout.flags, layout.flags + rows},
    };
    size_t end = 0;
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        assert_int_equal(spans[i].from % 256, 0);
        assert_true(spans[i].from >= end && spans[i].from - end < 256);
        end = spans[i].to;
    }
    assert_int_equal(layout.bytes, end);
    assert_true(layout.stride >= end && layout.stride - end < 4096);
    assert_int_equal(layout.stride % 4096, 0);
}

static void fields_follow_each_other_aligned(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 3, 255, 256, 257, 150528, 602112};
    const uint32_t rows[] = {1, 2, 31, 32, 33, 255, 256, 65536};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
            check_layout(sizes[i], rows[j]);
        }
    }
}

static void a_view_points_to_the_fields(void **state)
{
    (void)state;
    sl_layout layout;
    assert_int_equal(sl_layout_make(&layout, 12, 5, 2, NULL), SLUICE_OK);
    uint8_t *base = aligned_alloc(256, layout.stride);
    assert_non_null(base);
    memset(base, 0, layout.stride);
    const sl_slot_view view = sl_layout_view(&layout, base);
    memset(view.images, 1, (size_t)12 * 5);
    for (int i = 0; i < 5; i++) {
        view.labels[i] = -1;
        view.indices[i] = -1;
        view.status[i] = 1;
        view.mask[i] = 1;
        view.flags[i] = 1;
    }
    size_t written = 0;
    for (size_t i = 0; i < layout.stride; i++) {
        written += base[i] != 0;
        assert_true(i < layout.bytes || base[i] == 0);
    }
    assert_int_equal(written, 12 * 5 + 8 * 5 + 8 * 5 + 5 + 5 + 5); /* nothing twice */
    free(base);
}

static void what_cannot_be_addressed_is_refused(void **state)
{
    (void)state;
    sl_layout layout;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_layout_make(&layout, UINT64_MAX, 2, 1, &error), SLUICE_NOMEM);
    assert_int_equal(error.status, SLUICE_NOMEM);
    assert_int_equal(sl_layout_make(&layout, UINT64_MAX, 1, 1, NULL), SLUICE_NOMEM);
    assert_int_equal(sl_layout_make(&layout, UINT64_MAX / 4, 1, 64, NULL), SLUICE_NOMEM);
    assert_int_equal(sl_layout_make(&layout, UINT64_C(1) << 40, 65536, 64, NULL), SLUICE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_follow_each_other_aligned),
        cmocka_unit_test(a_view_points_to_the_fields),
        cmocka_unit_test(what_cannot_be_addressed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

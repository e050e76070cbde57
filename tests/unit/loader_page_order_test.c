/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in page order, compared with qsort. */
#include "page_order.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 3000U

static uint64_t state = 88172645463325252U;

static uint64_t chance(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *first, const void *second)
{
    const sl_paged_row *a = first;
    const sl_paged_row *b = second;
    int result = compare_numbers(a->object, b->object);
    result = result != 0 ? result : compare_numbers(a->offset, b->offset);
    result = result != 0 ? result : compare_numbers(a->sample, b->sample);
    return result != 0 ? result : compare_numbers(a->number, b->number);
}

static void as_qsort_does(void **unused)
{
    (void)unused;
    static sl_paged_row rows[ROWS_MAX];
    static sl_paged_row expected[ROWS_MAX];
    for (uint32_t round = 0; round < 300; round++) {
        const uint32_t count = round < 20 ? round : (uint32_t)chance(ROWS_MAX);
        const uint64_t pages = 1 + chance(round % 3 == 0 ? 3 : 500);
        for (uint32_t i = 0; i < count; i++) {
            rows[i] = (sl_paged_row){.offset = chance(pages) << 33,
                                     .sample = chance(1000),
                                     .object = (uint32_t)chance(3) * (UINT32_MAX / 2),
                                     .number = i};
        }
        memcpy(expected, rows, count * sizeof(*rows));
        qsort(expected, count, sizeof(*expected), compare);
        sl_page_order_sort(rows, count);
        assert_memory_equal(rows, expected, count * sizeof(*rows));
    }
}

static void of_one_page(void **unused)
{
    (void)unused;
    const sl_paged_row row = {.offset = 1, .sample = 2, .object = 3, .number = 4};
    const sl_paged_row same = {.offset = 1, .sample = 7, .object = 3, .number = 8};
    const sl_paged_row other_place = {.offset = 2, .sample = 2, .object = 3, .number = 4};
    const sl_paged_row other_object = {.offset = 1, .sample = 2, .object = 4, .number = 4};
    assert_true(sl_page_order_same(&row, &same));
    assert_false(sl_page_order_same(&row, &other_place));
    assert_false(sl_page_order_same(&row, &other_object));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_qsort_does),
        cmocka_unit_test(of_one_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

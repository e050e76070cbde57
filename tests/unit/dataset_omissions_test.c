/* SPDX-License-Identifier: Apache-2.0 */
/* Omissions while opening are counted by reason; images or large numbers cause a warning. */
#include "memory.h"
#include "omissions.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void reasons_are_counted(void **state)
{
    (void)state;
    sl_omissions list = {.reasons = 0};
    sl_omit(&list, SL_OMITTED_THINGS, "hidden files", ".a");
    sl_omit(&list, SL_OMITTED_IMAGES, "images that no list names", NULL);
    sl_omit(&list, SL_OMITTED_THINGS, "hidden files", ".b");
    sl_omit_many(&list, SL_OMITTED_THINGS, "rows", "x", 0);
    assert_int_equal(list.reasons, 2);
    assert_int_equal(list.of[0].count, 2);
    assert_string_equal(list.of[0].example, ".a");
    assert_true(list.of[1].images);
    sl_omissions other = {.reasons = 0};
    sl_omit_many(&other, SL_OMITTED_IMAGES, "images that no list names", "b.jpg", 7);
    sl_omissions_join(&list, &other);
    assert_int_equal(list.of[1].count, 8);
    assert_string_equal(list.of[1].example, "b.jpg");
    sl_omissions_close(&other);
    sl_omissions_close(&list);
    assert_int_equal(list.reasons, 0);
}

static void warnings_are_of_images_and_of_many(void **state)
{
    (void)state;
    sl_warnings warnings = {.count = 0};
    sl_omissions list = {.reasons = 0};
    sl_omit_many(&list, SL_OMITTED_THINGS, "few", NULL, 10);
    sl_omissions_warn(&list, 100, &warnings);
    assert_int_equal(warnings.count, 0);
    sl_omit_many(&list, SL_OMITTED_THINGS, "many", "a\nb", 11);
    sl_omit(&list, SL_OMITTED_IMAGES, "images", NULL);
    sl_omissions_warn(&list, 100, &warnings);
    sl_omissions_warn(&list, 100, &warnings); /* each one once */
    assert_int_equal(warnings.count, 2);
    assert_string_equal(warnings.text[0], "11 left out: many, the first a\\x0ab");
    assert_string_equal(warnings.text[1], "1 left out: images");
    sl_warnings_close(&warnings);
    sl_omissions_close(&list);
}

/* Omissions are still counted without memory. */
static void a_shortage_is_told(void **state)
{
    (void)state;
    sl_memory_limit limit;
    sl_memory_limit_init(&limit, 1);
    sl_memory_limit *before = sl_memory_work_under(&limit);
    sl_omissions list = {.reasons = 0};
    sl_omit_many(&list, SL_OMITTED_THINGS, "rows", NULL, 3);
    (void)sl_memory_work_under(before);
    sl_omissions all = {.reasons = 0};
    sl_omissions_join(&all, &list);
    sl_warnings warnings = {.count = 0};
    sl_omissions_warn(&all, 100, &warnings);
    assert_int_equal(list.reasons, 0);
    assert_int_equal(warnings.count, 1);
    assert_memory_equal(warnings.text[0], "3 left out", 10);
    sl_warnings_close(&warnings);
}

/* More reasons than slots, and longer texts than there is capacity for. */
static void nothing_is_lost_at_the_limits(void **state)
{
    (void)state;
    sl_omissions list = {.reasons = 0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 3 * SL_OMISSIONS_MAX; i++) {
        char reason[300];
        snprintf(reason, sizeof(reason), "%u %0200d", i, 0);
        sl_omit(&list, SL_OMITTED_THINGS, reason, NULL);
        sl_omit(&list, SL_OMITTED_THINGS, reason, NULL);
    }
    for (uint32_t i = 0; i < list.reasons; i++) {
        sum += list.of[i].count;
    }
    assert_int_equal(list.reasons, SL_OMISSIONS_MAX);
    assert_int_equal(sum, 6 * SL_OMISSIONS_MAX);
    char path[1000];
    memset(path, 'p', sizeof(path));
    snprintf(path + 990, 10, "/end.jpg");
    sl_omissions one = {.reasons = 0};
    sl_omit(&one, SL_OMITTED_THINGS, "r", path);
    assert_int_equal(strlen(one.of[0].example), 255);
    assert_memory_equal(one.of[0].example, "...", 3);
    assert_string_equal(one.of[0].example + 247, "/end.jpg");
    sl_omissions_close(&one);
    sl_omissions_close(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_are_counted),
        cmocka_unit_test(warnings_are_of_images_and_of_many),
        cmocka_unit_test(a_shortage_is_told),
        cmocka_unit_test(nothing_is_lost_at_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

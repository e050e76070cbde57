/* SPDX-License-Identifier: Apache-2.0 */
/* Names and their numbers, against a linear search. */
#include "name_table.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 3000 };

static char names[NAMES][16];

TEST(empty)
{
    sl_name_table table = {.capacity = 0};
    assert_int_equal(sl_name_table_find(&table, "a"), SL_NAME_NONE);
    sl_name_table_close(&table);
    assert_true(sl_name_table_add(&table, "", 7));
    assert_int_equal(sl_name_table_find(&table, ""), 7);
    assert_int_equal(sl_name_table_find(&table, "a"), SL_NAME_NONE);
    sl_name_table_close(&table);
}

/* Names that differ only in their last letters, also as the table grows. */
TEST(many)
{
    sl_name_table table = {.capacity = 0};
    for (uint32_t i = 0; i < NAMES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "array_%u", i * 7919 % 100003);
        assert_int_equal(sl_name_table_find(&table, names[i]), SL_NAME_NONE);
        assert_true(sl_name_table_add(&table, names[i], i));
        assert_int_equal(sl_name_table_find(&table, names[i / 2]), i / 2);
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        char copy[sizeof(names[i])];
        memcpy(copy, names[i], sizeof(copy));
        assert_int_equal(sl_name_table_find(&table, copy), i);
        copy[strlen(copy) - 1] = 'x';
        assert_int_equal(sl_name_table_find(&table, copy), SL_NAME_NONE);
    }
    assert_int_equal(table.count, NAMES);
    assert_true(table.capacity <= 4 * NAMES);
    sl_name_table_close(&table);
}

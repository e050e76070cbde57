/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a message: all, or as many as fit and the number of the others. */
#include "name_list.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_BYTES = 24 }; /* reserved for the number of the others */

static void few(void **state)
{
    const sl_field fields[] = {{.name = "image"}, {.name = "label"}, {.name = "key"}};
    sl_name_list list;
    assert_string_equal(sl_name_list_fields(&list, fields, 0), "none");
    assert_string_equal(sl_name_list_fields(&list, fields, 1), "image");
    assert_string_equal(sl_name_list_fields(&list, fields, 3), "image, label, key");
}

/* Each name length reaches the end of the space at a different place. */
static void many(void **state)
{
    for (size_t length = 1; length < 300; length++) {
        char name[300] = "";
        memset(name, 'n', length);
        sl_name_list list;
        sl_name_list_begin(&list);
        for (uint32_t count = 1; count < 400; count++) {
            sl_name_list_add(&list, name);
            assert_true(strlen(list.text) < sizeof(list.text));
            assert_int_equal(list.names + list.left_out, count);
            assert_int_equal(strspn(list.text, "n"), list.names > 0 ? length : 0);
        }
        const char *end = strstr(list.text, " and ");
        assert_true(list.left_out > 0);
        /* as many as fit, separated by commas */
        assert_int_equal(list.names, (sizeof(list.text) - MORE_BYTES + 1) / (length + 2));
        if (list.names == 0) {
            assert_string_equal(list.text, "399");
        } else {
            assert_non_null(end);
            assert_int_equal(strtol(end + strlen(" and "), NULL, 10), list.left_out);
            assert_int_equal(end - list.text, list.names * (length + 2) - 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few), cmocka_unit_test(many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Values of lists that may name an image: which are the same name, and which are none. */
#include "list_values.h"
#include "test.h"

#include <string.h>

static sl_list_value value_of(const char *text)
{
    return sl_list_value_of(text, strlen(text));
}

TEST(names_are_known_in_any_spelling)
{
    static const char *const same[][2] = {
        {"photos/cat.jpg", "cat"},
        {"a\\b\\cat.png", "cat"},
        {"a/CAT.JPG", "cat"},
        {"cat.jpg#0", "cat.jpg#4"},
        {"a/cat.jpg#12", "cat"},
        {"007", "7"},
        {"7.0", "7"},
        {"a/007.jpg", "007"},
        {"000", "0"},
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        assert_true(value_of(same[i][0]).hash != 0);
        assert_true(value_of(same[i][0]).hash == value_of(same[i][1]).hash);
    }
}

TEST(other_names_are_told_apart)
{
    static const char *const others[][2] = {{"a/cat.jpg", "a/dog.jpg"},
                                            {"cat.txt", "cat"},
                                            {"cat#1a", "cat"},
                                            {"7.5", "7"},
                                            {"70", "7"},
                                            {"0", "7"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_true(value_of(others[i][0]).hash != value_of(others[i][1]).hash);
    }
}

TEST(texts_that_name_nothing)
{
    char text[300];
    memset(text, 'x', sizeof(text));
    assert_true(sl_list_value_of(text, 0).hash == 0);
    assert_true(value_of("folder/").hash == 0);
    assert_true(sl_list_value_of(text, 255).hash != 0);
    assert_true(sl_list_value_of(text, 256).hash == 0);
    text[0] = '/'; /* the last part counts */
    assert_true(sl_list_value_of(text, 256).hash == sl_list_value_of(text + 1, 255).hash);
}

TEST(what_is_said_of_a_value)
{
    sl_list_value value = value_of("a/7.jpg");
    assert_true(value.has_folder && value.is_picture && !value.is_number);
    assert_string_equal(value.text, "a/7.jpg");
    value = value_of("7");
    assert_true(!value.has_folder && !value.is_picture && value.is_number);
    value = value_of(".jpg");
    assert_true(!value.is_picture);
    char text[SL_LIST_TEXT + 1];
    memset(text, 'x', sizeof(text));
    value = sl_list_value_of(text, SL_LIST_TEXT);
    assert_int_equal(strlen(value.text), SL_LIST_TEXT - 1);
}

int main(void)
{
    return test_run(NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Values of lists that may name images: which values are the same name, and how they are
 * grouped. */
#include "list_values.h"
#include "test.h"

#include <stdio.h>
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

/* ---- groups of values ---- */

static sl_list_values values;

static void read_text(const char *name, const char *text)
{
    memset(&values, 0, sizeof(values));
    sl_list_values_read(&values, name, text, strlen(text));
}

/* Checks the values of group `number`; `expected` ends with NULL. */
static void expect_group(uint32_t number, const char *name, const char *const *expected)
{
    uint32_t count = 0;
    assert_in_range(number, 0, values.count - 1);
    const sl_list_group *group = &values.groups[number];
    assert_string_equal(group->name, name);
    assert_string_equal(group->first, expected[0]);
    for (; expected[count] != NULL; count++) {
        assert_true(count < group->count);
        assert_string_equal(group->values[count].text, expected[count]);
    }
    assert_int_equal(group->count, count);
    assert_int_equal(group->total, count);
}

#define EXPECT_GROUP(number, name, ...) \
    expect_group(number, name, (const char *const[]){__VA_ARGS__, NULL})

TEST(columns_of_lines)
{
    read_text("a.csv", "# a note\nid, label\r\n\n0,\"cat, or dog\"\n1,dog\n");
    assert_true(values.is_data && !values.is_keyed);
    assert_int_equal(values.lines, 3);
    assert_int_equal(values.count, 2);
    EXPECT_GROUP(0, "id", "id", "0", "1");
    EXPECT_GROUP(1, "label", "label", "cat, or dog", "dog");
    read_text("a.txt", "0.jpg  cat\n1.jpg dog\n");
    assert_true(!values.is_data && !values.is_keyed);
    assert_int_equal(values.count, 2);
    EXPECT_GROUP(0, "0.jpg", "0.jpg", "1.jpg");
    EXPECT_GROUP(1, "cat", "cat", "dog");
    read_text("a.txt", "a,b;c;d\n1,2;3;4"); /* the first line has more semicolons */
    assert_int_equal(values.count, 3);
    EXPECT_GROUP(0, "a,b", "a,b", "1,2");
    EXPECT_GROUP(2, "d", "d", "4");
}

TEST(keys_of_json)
{
    enum { LEVELS = 100 }; /* more than are kept */
    char deep[2 * LEVELS + 4] = "";
    read_text("a.json", " {\"id\": 7, \"of\": [\"a\", \"b\"]}");
    assert_true(values.is_data && values.is_keyed);
    assert_int_equal(values.count, 3);
    EXPECT_GROUP(0, "", "id", "of");
    EXPECT_GROUP(1, "id", "7");
    EXPECT_GROUP(2, "of", "a", "b");
    read_text("a.json", "[[\"a\", 1], [\"b\", 2]]"); /* pairs: a group for each position */
    assert_int_equal(values.count, 2);
    EXPECT_GROUP(0, "", "a", "b");
    EXPECT_GROUP(1, "", "1", "2");
    memset(deep, ']', sizeof(deep) - 1);
    memset(deep, '[', LEVELS);
    deep[LEVELS] = '1';
    deep[LEVELS + 1] = ',';
    deep[LEVELS + 2] = '2';
    read_text("a.json", deep);
    assert_int_equal(values.count, 2);
    EXPECT_GROUP(0, "", "1");
    EXPECT_GROUP(1, "", "2");
}

TEST(words_of_xml)
{
    read_text("a.xml", "<image id='7'>\n<image id='8'>");
    assert_true(values.is_data && !values.is_keyed);
    assert_int_equal(values.count, 4);
    EXPECT_GROUP(0, "", "image");
    EXPECT_GROUP(1, "image", "id", "id");
    EXPECT_GROUP(2, "id", "7", "8");
    EXPECT_GROUP(3, "7", "image");
}

TEST(checksums_are_marked)
{
    read_text("md5.txt", "0123456789abcdef0123456789ABCDEF a.jpg\n");
    assert_true(values.groups[0].has_digests && !values.groups[1].has_digests);
    read_text("md5.txt", "0123456789abcdef0123456789ABCDE a.jpg\n");
    assert_false(values.groups[0].has_digests);
}

/* Values beyond the capacity are still counted; groups beyond it are counted as dropped.
 */
TEST(room_for_values_and_groups)
{
    char text[4096] = "";
    size_t at = 0;
    for (unsigned i = 0; i <= SL_LIST_VALUES; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%u\n", i);
    }
    read_text("a.txt", text);
    assert_int_equal(values.count, 1);
    assert_int_equal(values.groups[0].total, SL_LIST_VALUES + 1);
    assert_int_equal(values.groups[0].count, SL_LIST_VALUES);
    assert_string_equal(values.groups[0].values[SL_LIST_VALUES - 1].text, "31");
    assert_int_equal(values.dropped, 0);
    at = 0;
    for (unsigned i = 0; i <= SL_LIST_GROUPS; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%u,", i);
    }
    text[at - 1] = '\0';
    read_text("a.csv", text);
    assert_int_equal(values.count, SL_LIST_GROUPS);
    assert_int_equal(values.dropped, 1);
    EXPECT_GROUP(SL_LIST_GROUPS - 1, "39", "39");
}

int main(void)
{
    return test_run(NULL, NULL);
}

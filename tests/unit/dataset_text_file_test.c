/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are read whole: byte order marks and encodings. */
#include "photo_folder.h"
#include "test.h"
#include "test_folder.h"
#include "text_file.h"

#include <string.h>

static const struct {
    const char *bytes;
    uint32_t size;
    const char *encoding; /* NULL: the text is accepted */
    const char *text;     /* NULL: the text is rejected */
} files[] = {
    {"", 0, NULL, ""},
    {"a", 1, NULL, "a"},
    {"\xef\xbb\xbf", 3, NULL, ""},
    {"\xef\xbb\xbf"
     "a",
     4, NULL, "a"},
    {"\xef\xbb"
     "a",
     3, NULL,
     "\xef\xbb"
     "a"},
    {"a\0b", 3, NULL, NULL},
    {"\xff\xfe", 2, "UTF-16", NULL},
    {"\xfe\xff", 2, "UTF-16", NULL},
    {"\xff\xfe"
     "a\0",
     4, "UTF-16", NULL},
    {"a\0b\0", 4, "UTF-16", NULL},
    {"\0a\0b", 4, "UTF-16", NULL},
    {"\xff\xfe\0\0", 4, "UTF-32", NULL},
    {"\0\0\xfe\xff", 4, "UTF-32", NULL},
    {"a\0\0\0", 4, "UTF-32", NULL},
    {"\0\0\0a", 4, "UTF-32", NULL},
};

TEST(marks_are_skipped_and_encodings_named)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        sl_text_file file = {.data = NULL};
        sluice_error error = SLUICE_ERROR_INIT;
        const char *path = test_path("text");
        write_file(path, files[i].bytes, files[i].size);
        const sluice_status status = sl_text_file_read(&file, path, 100, &error);
        const char *encoding = sl_text_encoding(files[i].bytes, files[i].size);
        if (files[i].text != NULL) {
            assert_int_equal(status, SLUICE_OK);
            assert_string_equal(file.text, files[i].text);
            assert_int_equal(file.size, strlen(files[i].text));
            assert_int_equal(sl_text_file_offset(&file, file.text),
                             sl_text_mark(files[i].bytes, files[i].size));
        }
        assert_true((encoding == NULL) == (files[i].encoding == NULL));
        if (files[i].encoding != NULL) {
            assert_string_equal(encoding, files[i].encoding);
            assert_int_equal(status, SLUICE_UNSUPPORTED);
            assert_non_null(strstr(error.text, files[i].encoding));
            assert_non_null(strstr(error.text, "save the file as UTF-8"));
        } else if (files[i].text == NULL) {
            assert_int_equal(status, SLUICE_CORRUPT);
            assert_int_equal(error.offset, 1);
        }
        sl_text_file_close(&file);
    }
}

/* A text can be recognised in any encoding. */
TEST(a_look_sees_letters)
{
    static const char wide[] = {'\xff', '\xfe', 'a', 0, 'b', 0};
    static const char marked[] = {'\xef', '\xbb', '\xbf', 'a', 'b'};
    char head[8];
    write_file(test_path("wide"), wide, sizeof(wide));
    write_file(test_path("marked"), marked, sizeof(marked));
    assert_int_equal(sl_text_look(test_path("marked"), head, sizeof(head) - 1), 2);
    assert_string_equal(head, "ab");
    assert_int_equal(sl_text_look(test_path("wide"), head, sizeof(head) - 1), 2);
    assert_string_equal(head, "ab");
    assert_int_equal(sl_text_look(test_path("none"), head, sizeof(head) - 1), 0);
    assert_string_equal(head, "");
}

TEST(too_large_ones_are_refused)
{
    sl_text_file file = {.data = NULL};
    sluice_error error = SLUICE_ERROR_INIT;
    write_file(test_path("large"), "12345", 5);
    assert_int_equal(sl_text_file_read(&file, test_path("large"), 4, &error), SLUICE_UNSUPPORTED);
    assert_int_equal(sl_text_file_read(&file, test_path("none"), 4, &error), SLUICE_IO);
    sl_text_file_close(&file);
}

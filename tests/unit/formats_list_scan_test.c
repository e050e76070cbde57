/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests which texts beside ten images, 00.jpg to 09.jpg, count as lists of their names and which as
 * labels. Most texts repeat one line with the number of each image in it.
 */
#include "list_scan.h"
#include "test_folder.h"

#include <stdio.h>
#include <string.h>

enum { IMAGES = 10, TEXT_BYTES = 4096 };

static int make_images(void **state)
{
    const int status = test_folder_make(state);
    for (unsigned i = 0; i < IMAGES; i++) {
        write_file(test_path("%02u.jpg", i), "x", 1);
    }
    return status;
}

TEST_GROUP(make_images, test_folder_remove)

static sl_mentions scan(const char *name, const void *text, size_t bytes)
{
    const sl_list_images images = {.root = test_folder(),
                                   .folders = {""},
                                   .folder_count = 1,
                                   .count = IMAGES,
                                   .extension = ".jpg"};
    write_file(test_path("%s", name), text, (uint32_t)bytes);
    return sl_list_scan(test_path("%s", name), &images);
}

static sl_mentions scan_text(const char *name, const char *text)
{
    return scan(name, text, strlen(text));
}

/* Appends "BEFORE number AFTER", without the spaces, for each number from `first` to `last`. */
static void add_lines(char text[TEXT_BYTES], const char *before, unsigned first, unsigned last,
                      const char *after)
{
    size_t at = strlen(text);
    for (unsigned i = first; i <= last; i++) {
        at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%s%02u%s", before, i, after);
        assert_true(at < TEXT_BYTES);
    }
}

static sl_mentions scan_lines(const char *name, const char *before, unsigned count,
                              const char *after)
{
    char text[TEXT_BYTES] = "";
    add_lines(text, before, 0, count - 1, after);
    return scan_text(name, text);
}

TEST(file_names_alone_or_with_labels)
{
    static const struct {
        const char *name, *before, *after;
        sl_mentions mentions;
    } lists[] = {
        {"val.txt", "", ".jpg\n", SL_MENTIONS_NAMES},
        {"val.txt", "a/b/", ".jpg\n", SL_MENTIONS_NAMES},
        {"md5.txt", "0123456789abcdef0123456789ABCDEF  ", ".jpg\n", SL_MENTIONS_NAMES},
        {"md5.txt", "0123456789abcdef0123456789ABCDE  ", ".jpg\n", SL_MENTIONS_UNREADABLE},
        {"val.txt", "", ".jpg 1\n", SL_MENTIONS_UNREADABLE},
        {"val.txt", "1 ", ".jpg\n", SL_MENTIONS_UNREADABLE},
        {"val.xml", "<image file='", ".jpg'/>", SL_MENTIONS_UNREADABLE},
        {"classes.txt", "", ".jpg 1\n", SL_MENTIONS_UNREADABLE},
        {"val.txt", "/", ".jpg 1\n", SL_MENTIONS_NONE}, /* an absolute path */
        {"val.txt", "1", ".jpg 1\n", SL_MENTIONS_NONE}, /* 100.jpg does not exist */
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const sl_mentions found =
            scan_lines(lists[i].name, lists[i].before, IMAGES, lists[i].after);
        if (found != lists[i].mentions) {
            fail_msg("list %zu: %d, expected %d", i, (int)found, (int)lists[i].mentions);
        }
    }
}

/* A list must name half of the images, and at least half of its names must exist. */
TEST(half_of_the_names_must_exist)
{
    char text[TEXT_BYTES] = "";
    assert_int_equal(scan_lines("val.txt", "", 4, ".jpg\n"), SL_MENTIONS_NONE);
    assert_int_equal(scan_lines("val.txt", "", 5, ".jpg\n"), SL_MENTIONS_NAMES);
    add_lines(text, "", 0, 4, ".jpg\n");
    add_lines(text, "", 90, 94, ".jpg\n");
    assert_int_equal(scan_text("val.txt", text), SL_MENTIONS_NAMES);
    add_lines(text, "", 95, 95, ".jpg\n");
    assert_int_equal(scan_text("val.txt", text), SL_MENTIONS_NONE);
}

TEST(a_repeated_name_counts_once)
{
    char text[TEXT_BYTES] = "";
    for (unsigned i = 0; i < IMAGES; i++) {
        add_lines(text, "", 0, 3, ".jpg 1\n");
    }
    assert_int_equal(scan_text("val.txt", text), SL_MENTIONS_NONE);
    add_lines(text, "", 4, 4, ".jpg 1\n");
    assert_int_equal(scan_text("val.txt", text), SL_MENTIONS_UNREADABLE);
}

/* A list of labels has at least one other word for every two names. */
TEST(a_few_other_words_are_not_labels)
{
    char text[TEXT_BYTES] = "a b c d\n";
    add_lines(text, "", 0, IMAGES - 1, ".jpg\n");
    assert_int_equal(scan_text("val.txt", text), SL_MENTIONS_NAMES);
    add_lines(text, "", 9, 9, "\n");
    assert_int_equal(scan_text("val.txt", text), SL_MENTIONS_UNREADABLE);
}

/* Only the first word of a line may be a name without its extension: "cat 00" does not name
 * 00.jpg. */
TEST(names_without_extension)
{
    static const struct {
        const char *name, *before, *after;
        unsigned count;
        sl_mentions mentions;
    } lists[] = {
        {"val.txt", "", " cat\n", IMAGES, SL_MENTIONS_UNREADABLE},
        {"val.csv", "\"", "\",\"cat\"\n", IMAGES, SL_MENTIONS_UNREADABLE},
        {"val.txt", "\n ", " cat 00\r", IMAGES, SL_MENTIONS_UNREADABLE},
        {"val.txt", "", " cat\n", 5, SL_MENTIONS_UNREADABLE},
        {"val.txt", "", " cat\n", 4, SL_MENTIONS_NONE},
        {"val.txt", "", "\n", IMAGES, SL_MENTIONS_NONE}, /* without labels */
        {"val.txt", "cat ", "\n", 9, SL_MENTIONS_NONE},
        {"val.txt", "1", " cat\n", 9, SL_MENTIONS_NONE},
        {"classes.txt", "", " cat\n", IMAGES, SL_MENTIONS_NONE},
        {"classes.txt", "", "\n", IMAGES, SL_MENTIONS_NONE},
        {"val.json", "{\"", "\": 1}\n", IMAGES, SL_MENTIONS_NONE},
        {"val.xml", "<a>", "</a>\n", IMAGES, SL_MENTIONS_NONE},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const sl_mentions found =
            scan_lines(lists[i].name, lists[i].before, lists[i].count, lists[i].after);
        if (found != lists[i].mentions) {
            fail_msg("list %zu: %d, expected %d", i, (int)found, (int)lists[i].mentions);
        }
    }
}

TEST(as_many_lines_as_images)
{
    assert_int_equal(scan_lines("labels.txt", "cat ", IMAGES, "\n"), SL_MENTIONS_LINES);
    assert_int_equal(scan_lines("labels.txt", "\r\ncat ", IMAGES, ""), SL_MENTIONS_LINES);
    assert_int_equal(scan_lines("labels.txt", "cat ", IMAGES - 1, "\n"), SL_MENTIONS_NONE);
    assert_int_equal(scan_lines("labels.txt", "cat ", IMAGES + 1, "\n"), SL_MENTIONS_NONE);
    assert_int_equal(scan_lines("classes.txt", "cat ", IMAGES, "\n"), SL_MENTIONS_NONE);
}

TEST(utf_16_is_read)
{
    char text[TEXT_BYTES] = "";
    uint8_t wide[2 * TEXT_BYTES] = {0xff, 0xfe};
    add_lines(text, "", 0, IMAGES - 1, ".jpg cat\n");
    const size_t bytes = strlen(text);
    for (size_t i = 0; i < bytes; i++) {
        wide[2 + 2 * i] = (uint8_t)text[i];
    }
    assert_int_equal(scan("val.txt", wide, 2 + 2 * bytes), SL_MENTIONS_UNREADABLE);
}

TEST(files_that_are_not_texts)
{
    static const uint8_t gzip[20] = {0x1f, 0x8b, 8};
    assert_int_equal(scan("labels.pkl", "x", 1), SL_MENTIONS_CLOSED);
    assert_int_equal(scan("table.csv.gz", gzip, sizeof(gzip)), SL_MENTIONS_CLOSED);
    assert_int_equal(scan("labels.txt", gzip, sizeof(gzip)), SL_MENTIONS_CLOSED);
    assert_int_equal(scan("classes.txt", gzip, sizeof(gzip)), SL_MENTIONS_NONE);
    assert_int_equal(scan("labels.txt", "", 0), SL_MENTIONS_NONE);
}

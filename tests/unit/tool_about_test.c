/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the tool's reports of left-out files, warnings and meanings, as text and as JSON. */
#include "dataset.h"
#include "dataset_checks.h"
#include "photo_folder.h"
#include "test.h"

#include "../../tools/sluice/common/about.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static photo_folder folder;
static sluice_dataset *dataset;
static char said[4096];

static int set_up(void **state)
{
    (void)state;
    photo_folder_make(&folder, 1, 2);
    dataset = dataset_opened(folder.path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sluice_dataset_close(dataset);
    photo_folder_remove(&folder);
    return 0;
}

static sl_dataset *inside(void)
{
    return (sl_dataset *)(void *)dataset;
}

/* Runs `print` with the stream in a file, and stores the text in `said`. */
static void listen_to(FILE *stream, void (*print)(void))
{
    char path[300];
    snprintf(path, sizeof(path), "%s/said", folder.path);
    fflush(stream);
    const int before = dup(fileno(stream));
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(before >= 0 && file >= 0 && dup2(file, fileno(stream)) >= 0);
    print();
    fflush(stream);
    (void)dup2(before, fileno(stream));
    const ssize_t bytes = pread(file, said, sizeof(said) - 1, 0);
    said[bytes > 0 ? bytes : 0] = '\0';
    close(before);
    close(file);
}

static void print_left_out(void)
{
    about_print_left_out(dataset);
}

static void warn(void)
{
    about_warn(dataset, "a path");
}

static void write_json(void)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    about_write_left_out(&json, dataset);
    about_write_warnings(&json, dataset);
    json_close_object(&json);
}

TEST_WITH(nothing_is_said_of_nothing, set_up, tear_down)
{
    listen_to(stdout, print_left_out);
    assert_string_equal(said, "");
    listen_to(stderr, warn);
    assert_string_equal(said, "");
    listen_to(stdout, write_json);
    assert_non_null(strstr(said, "\"left_out\": []"));
    assert_non_null(strstr(said, "\"warnings\": []"));
}

TEST_WITH(what_was_left_out_is_said, set_up, tear_down)
{
    sl_omit_many(&inside()->omissions, SL_OMITTED_THINGS, "hidden files", ".a\nb", 3);
    sl_omit(&inside()->omissions, SL_OMITTED_IMAGES, "links", NULL);
    sl_warnings_add(&inside()->warnings, "3 of them are lost: write " SL_OPTION("split"));
    sl_warnings_add(&inside()->warnings, "more");
    listen_to(stdout, print_left_out);
    assert_string_equal(said, "left out     3 hidden files, the first .a\\x0ab\n"
                              "             1 links\n");
    listen_to(stderr, warn);
    assert_string_equal(said, "sluice: warning: a path: 3 of them are lost: write split\n"
                              "sluice: warning: a path: more\n");
    listen_to(stdout, write_json);
    assert_non_null(strstr(said, "\"reason\": \"hidden files\""));
    assert_non_null(strstr(said, "\"count\": 3"));
    assert_non_null(strstr(said, "\"images\": true"));
    assert_non_null(strstr(said, "\"example\": null"));
    assert_non_null(strstr(said, "\"more\""));
}

static sluice_field shown;

static void write_meaning(void)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    about_write_meaning(&json, &shown);
    json_close_object(&json);
}

TEST_WITH(meanings_are_words, set_up, tear_down)
{
    shown = (sluice_field)SLUICE_FIELD_INIT;
    listen_to(stdout, write_meaning);
    assert_null(strstr(said, "meaning"));
    shown.role = SLUICE_ROLE_BOXES;
    shown.box_format = SLUICE_BOX_CXCYWH;
    shown.coordinates = SLUICE_COORDINATES_RELATIVE;
    shown.orientation = SLUICE_ORIENTATION_BY_SIZE;
    shown.per_box = 1;
    snprintf(shown.of, sizeof(shown.of), "image");
    listen_to(stdout, write_meaning);
    static const char *const words[] = {"\"role\": \"boxes\"",
                                        "\"box_format\": \"cxcywh\"",
                                        "\"coordinates\": \"relative\"",
                                        "\"orientation\": \"by_size\"",
                                        "\"per_box\": true",
                                        "\"of\": \"image\""};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_non_null(strstr(said, words[i]));
    }
    char text[100] = "x";
    sluice_field_get_meaning(&shown, text, 0);
    assert_string_equal(text, "x");
    sluice_field_get_meaning(&shown, text, 6);
    assert_string_equal(text, "boxes");
    shown.role = 99;
    sluice_field_get_meaning(&shown, text, sizeof(text));
    assert_string_equal(text, "");
    sluice_field_get_meaning(NULL, text, sizeof(text));
    assert_string_equal(text, "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests COCO annotations through the public interface: the parts that are used and those that are
 * skipped, a file cut at every byte, and a window that ends at every byte of a file in turn.
 * python/tests/test_coco.py reads files written by Python's json. */
#include "dataset_checks.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512, ROOM = 4096, WINDOW = 1 << 20, DEEP = 2048 };

static sluice_dataset *open_text(const char *name, const char *text, size_t bytes,
                                 sluice_error *error)
{
    sluice_dataset *dataset = NULL;
    const char *path = test_path("%s", name);
    write_file(path, text, (uint32_t)bytes);
    (void)!sluice_dataset_open(&dataset, &path, 1, NULL, error);
    return dataset;
}

static const char annotations[] =
    "{\"info\": {\"images\": [1, \"]}\\\"\"], \"x\": null, \"e\": {}}, \"annotations\" : [\r\n"
    "{\"segmentation\": [[1.5, 2], [\"\\\\\", {\"bbox\": 3}]], \"image_id\": 7, \"bbox\":"
    "\t[1, 2.5, 3e0, -4], \"id\": 1, \"category_id\": 3, \"area\": 0.5, \"iscrowd\": 1},"
    "{\"image_id\":9,\"b\\u0062ox\":[5,6,7,8],\"area\":2,\"category_id\":1,\"counts\":\"a\\\\\"},"
    "{\"bbox\": [9, 9, 9, 9], \"image_id\": 7, \"category_id\": 1, \"area\": 1 }],\n"
    "\"im\\u0061ges\":[{\"file_name\":\"a\\u0062\",\"id\":9},{\"id\":7,\"file_name\":\"ab\","
    "\"date\":\"2013\"}],\"categories\":[{\"id\":1,\"name\":\"dog\"},"
    "{\"id\":3,\"name\":\"cat\"}]}";

static void check(const sluice_dataset *dataset)
{
    const float first[] = {5, 6, 7, 8};
    const float second[] = {1, 2.5F, 3, -4, 9, 9, 9, 9};
    const float areas[] = {0.5F, 1};
    const int64_t labels[] = {3, 1};
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_non_null(dataset);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "coco");
    assert_int_equal(info.samples, 2);
    dataset_expect_bytes(dataset, 0, "boxes", first, sizeof(first));
    dataset_expect_bytes(dataset, 1, "boxes", second, sizeof(second));
    dataset_expect_bytes(dataset, 1, "area", areas, sizeof(areas));
    dataset_expect_bytes(dataset, 1, "labels", labels, sizeof(labels));
    dataset_expect_bytes(dataset, 1, "iscrowd", "\1\0", 2);
    dataset_expect_bytes(dataset, 0, "image", "jpeg", 4);
    assert_string_equal(sluice_dataset_class_name(dataset, 1), "dog");
}

TEST(what_is_wanted_is_read)
{
    const size_t bytes = sizeof(annotations) - 1;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = open_text("a.json", annotations, bytes, &error);
    if (dataset == NULL)
        fail_msg("%s", error.text);
    check(dataset);
    sluice_dataset_close(dataset);
    dataset = open_text("index.json", annotations, bytes, &error); /* name of MDS, LitData */
    check(dataset);
    sluice_dataset_close(dataset);
    assert_int_equal(unlink(test_path("index.json")), 0);
}

TEST(it_is_cut_short)
{
    const size_t bytes = sizeof(annotations) - 1;
    const size_t known = (size_t)(strstr(annotations, "\"annotations\" :") - annotations) + 15;
    for (size_t cut = 0; cut < bytes; cut++) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_null(open_text("a.json", annotations, cut, &error));
        assert_int_equal(error.status, cut < known ? SLUICE_INVALID : SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, cut < known ? "COCO annotations" : "not valid JSON"));
    }
}

/* Every position at which a window's end can cut it. */
TEST(it_crosses_the_window)
{
    const size_t bytes = sizeof(annotations) - 1;
    char *large = malloc(WINDOW + 2 * ROOM);
    assert_non_null(large);
    for (size_t shift = 1; shift < bytes; shift += TEST_AMOUNT(shift < 340 ? 1 : 3, 7)) {
        const size_t blanks = WINDOW - shift;
        sluice_error error = SLUICE_ERROR_INIT;
        memset(large, ' ', blanks);
        memcpy(large + blanks, annotations, bytes);
        sluice_dataset *dataset = open_text("a.json", large, blanks + bytes, &error);
        if (dataset == NULL)
            fail_msg("%zu: %s", shift, error.text);
        check(dataset);
        sluice_dataset_close(dataset);
    }
    free(large);
}

/* ---- shapes ---- */

static const char shapes[] =
    "{\"annotations\":[{\"segmentation\" : [[1.50, 2, 3,-4e0 ,5,6],\r\n[ ]], \"image_id\": 7,"
    "\"bbox\":[1,2,3,4]}, {\"bbox\":[1,2,3,4],\"image_id\":7,\"segmentation\":\t{\"counts\":"
    "\"\\\\R\\u003B\" , \"size\" :[162, 70]}},{\"image_id\":9,\"bbox\":[1,2,3,4]},{\"image_id\":9,"
    "\"bbox\":[1,2,3,4], \"segmentation\": "
    "null},{\"image_id\":9,\"bbox\":[1,2,3,4],\"segmentation\""
    ":{\"size\":[2,3],\"counts\":[1, 2,3]}}],\"images\":[{\"id\":7,\"file_name\":\"ab\"},{\"id\":9,"
    "\"file_name\":\"ab\"},{\"id\":10,\"file_name\":\"ab\"}]}";

static sluice_dataset *open_shapes(const char *text, size_t bytes, sluice_error *error)
{
    static const char *const fields[] = {"image=image", "s=segmentation"};
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sluice_dataset *dataset = NULL;
    const char *path = test_path("a.json");
    options.fields = fields;
    options.field_count = 2;
    write_file(path, text, (uint32_t)bytes);
    (void)!sluice_dataset_open(&dataset, &path, 1, &options, error);
    return dataset;
}

static void check_shapes(const char *text, size_t bytes)
{
    static const char first[] = "[[[1.50,2,3,-4e0,5,6],[]],{\"counts\":\"\\\\R\\u003B\",\"size\":"
                                "[162,70]}]";
    static const char second[] = "[null,null,{\"size\":[2,3],\"counts\":[1,2,3]}]";
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = open_shapes(text, bytes, &error);
    if (dataset == NULL)
        fail_msg("%s", error.text);
    dataset_expect_bytes(dataset, 0, "s", first, sizeof(first) - 1);
    dataset_expect_bytes(dataset, 1, "s", second, sizeof(second) - 1);
    dataset_expect_bytes(dataset, 2, "s", "[]", 2);
    sluice_dataset_close(dataset);
}

TEST(shapes_are_kept_as_they_are_written)
{
    check_shapes(shapes, sizeof(shapes) - 1);
}

TEST(shapes_may_be_at_a_windows_end)
{
    const size_t bytes = sizeof(shapes) - 1;
    char *large = malloc(WINDOW + bytes);
    assert_non_null(large);
    for (size_t shift = 1; shift < bytes; shift += 29) {
        memset(large, ' ', WINDOW - shift);
        memcpy(large + WINDOW - shift, shapes, bytes);
        check_shapes(large, WINDOW - shift + bytes);
    }
    free(large);
}

TEST(shapes_are_cut_short)
{
    for (size_t cut = 0; cut < sizeof(shapes) - 1; cut++) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_null(open_shapes(shapes, cut, &error));
        assert_true(error.text[0] != '\0');
    }
}

TEST(bad_shapes_are_refused)
{
    static const char *const cases[][2] = {
        {"[[1,2,3]]", "element 1 of \"annotations\": a polygon has an odd number"},
        {"[1,2,3,4]", "its polygons are not a list of lists of numbers"},
        {"[[1,\"2\"]]", "expected a number"},
        {"5", "neither polygons nor a mask"},
        {"\"x\"", "neither polygons nor a mask"},
        {"{\"size\":[2,3],\"counts\":[1,2,4]}", "different numbers of pixels"},
        {"[],\"segmentation\":[]", "occurs twice"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[ROOM];
        sluice_error error = SLUICE_ERROR_INIT;
        const int bytes = snprintf(
            text, sizeof(text),
            "{\"images\":[{\"id\":1,\"file_name\":\"ab\"}],\"annotations\":[{\"image_id\":1,"
            "\"segmentation\":[]},{\"image_id\":1,\"segmentation\":%s}]}",
            cases[i][0]);
        assert_null(open_shapes(text, (size_t)bytes, &error));
        if (error.status != SLUICE_CORRUPT || strstr(error.text, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], error.text);
    }
}

/* No annotation has shapes: there is no such field. */
TEST(shapes_are_a_field_if_there_are_any)
{
    static const char none[] = "{\"images\":[{\"id\":1,\"file_name\":\"ab\"}],\"annotations\":["
                               "{\"image_id\":1,\"segmentation\":null}]}";
    sluice_error error = SLUICE_ERROR_INIT;
    assert_null(open_shapes(none, sizeof(none) - 1, &error));
    assert_int_equal(error.status, SLUICE_INVALID);
    assert_non_null(strstr(error.text, "segmentation"));
}

/* ---- bad ones ---- */

#define IMAGES "\"images\":[{\"id\":1,\"file_name\":\"ab\"}]"

static const struct {
    const char *text;
    sluice_status status;
    const char *words;
} bad[] = {
    {"{" IMAGES "," IMAGES "}", SLUICE_CORRUPT, "one of its lists occurs twice"},
    {"{" IMAGES "}]", SLUICE_CORRUPT, "unexpected data after"},
    {"{" IMAGES ",}", SLUICE_CORRUPT, "a member has no name"},
    {"{" IMAGES ",\"a\"}", SLUICE_CORRUPT, "a member has no value"},
    {"{" IMAGES ",\"a\":}", SLUICE_CORRUPT, "a value is missing"},
    {"{" IMAGES ",\"a\":x}", SLUICE_CORRUPT, "a value is missing"},
    {"{" IMAGES ",\"a\":[1}]}", SLUICE_CORRUPT, "closes what it did not open"},
    {"{\"images\":[{\"id\":1,\"file_name\":\"a\"},]}", SLUICE_CORRUPT, "element 1 of \"images\""},
    {"{\"images\":[{\"id\":1,\"file_name\":\"a\"},3]}", SLUICE_CORRUPT, "not an object"},
    {"{\"images\":[{\"id\":1,\"id\":1,\"file_name\":\"a\"}]}", SLUICE_CORRUPT, "duplicate"},
    {"{\"images\":[{\"id\":1,\"i\\u0064\":1,\"file_name\":\"a\"}]}", SLUICE_CORRUPT, "duplicate"},
    {"{\"images\":[{\"id\":1 2,\"file_name\":\"a\"}]}", SLUICE_CORRUPT, "has no end"},
    {"{\"images\":[{\"id\":01,\"file_name\":\"a\"}]}", SLUICE_CORRUPT, "not valid JSON: element 0"},
    {"{\"images\":[{\"id\":1,\"file_name\":\"\xff\"}]}", SLUICE_CORRUPT, "decode byte"},
    {"{\"images\":{}}", SLUICE_CORRUPT, "one of its lists is not a list"},
    {"{\"images\":[]}", SLUICE_INVALID, "no \"images\" list"},
    {"{\"categories\":[]}", SLUICE_INVALID, "no \"images\" list"},
    {"{\"a\":{\"images\":[]}}", SLUICE_INVALID, "COCO annotations (.json with images"},
    {"[\"images\"]", SLUICE_INVALID, "unknown format"},
    {"\"images\"", SLUICE_INVALID, "unknown format"},
    {"{\"a\":1}", SLUICE_INVALID, "unknown format"},
    {"{}", SLUICE_INVALID, "unknown format"},
    {"", SLUICE_INVALID, "unknown format"},
};

static void expect_refusal(const char *text, sluice_status status, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_null(open_text("a.json", text, strlen(text), &error));
    if (error.status != status || strstr(error.text, words) == NULL)
        fail_msg("not \"%s\" but %s", words, error.text);
}

TEST(bad_ones_are_refused)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_refusal(bad[i].text, bad[i].status, bad[i].words);
}

/* Skipped values may be deep, but not without limit. */
TEST(depth_has_a_limit)
{
    for (size_t depth = DEEP; depth <= DEEP + 1; depth++) {
        char text[3 * DEEP];
        size_t used = (size_t)sprintf(text, "{" IMAGES ",\"a\":");
        memset(text + used, '[', depth);
        memset(text + used + depth, ']', depth);
        used += 2 * depth;
        (void)sprintf(text + used, "}");
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_dataset *dataset = open_text("a.json", text, strlen(text), &error);
        assert_true(depth == DEEP ? dataset != NULL : strstr(error.text, "too deep") != NULL);
        sluice_dataset_close(dataset);
    }
}

TEST(what_is_wanted_has_a_limit)
{
    enum { MOST = 16 << 20 };
    static const char head[] = "{\"images\":[{\"id\":1,\"file_name\":\"";
    char *text = malloc(3 * (size_t)MOST);
    assert_non_null(text);
    memset(text, 'a', 3 * (size_t)MOST - 1);
    text[3 * (size_t)MOST - 1] = '\0';
    memcpy(text, head, sizeof(head) - 1);
    expect_refusal(text, SLUICE_UNSUPPORTED, "exceed 16 MiB");
    free(text);
}

/* Of one split's annotation files, those of instances are opened; the others are counted. */
TEST(a_split_has_instances)
{
    const char *path;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_left_out left_out = SLUICE_LEFT_OUT_INIT;
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    options.split = "train";
    assert_int_equal(mkdir(test_path("coco"), 0700), 0);
    assert_int_equal(mkdir(test_path("coco/annotations"), 0700), 0);
    assert_int_equal(mkdir(test_path("coco/train2017"), 0700), 0);
    write_file(test_path("coco/train2017/ab"), "jpeg", 4);
    write_file(test_path("coco/annotations/captions_train2017.json"), "{" IMAGES "}",
               sizeof("{" IMAGES "}") - 1);
    write_file(test_path("coco/annotations/instances_train2017.json"), "{" IMAGES "}",
               sizeof("{" IMAGES "}") - 1);
    path = test_path("coco");
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, &options, &error), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_left_out(dataset, 0, &left_out), SLUICE_OK);
    assert_int_equal(left_out.count, 1);
    assert_string_equal(left_out.reason,
                        "annotation files of the split beside instances_train2017.json");
    sluice_dataset_close(dataset);
}

int main(void)
{
    test_folder_make(NULL);
    write_file(test_path("ab"), "jpeg", 4);
    write_file(test_path("a"), "jpeg", 4);
    const int failed = test_run(NULL, NULL);
    test_folder_remove(NULL);
    return failed;
}

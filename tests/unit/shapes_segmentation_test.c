/* SPDX-License-Identifier: Apache-2.0 */
/* Tests texts of shapes: how they are parsed, numbers against strtod, and invalid texts. */
#include "polygon_cases.h"
#include "segmentation.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sl_scratch scratch;
static sl_instances found;

static int open_scratch(void **state)
{
    (void)state;
    return sl_scratch_open(&scratch, 1 << 24, 1 << 16, NULL);
}

static int close_scratch(void **state)
{
    (void)state;
    sl_scratch_close(&scratch);
    return 0;
}

/* Parses a copy that ends with its text, so that sanitizers detect an overread byte. */
static sluice_status read_bytes(const char *text, size_t bytes, sluice_error *error)
{
    uint8_t *copy = malloc(bytes + (bytes == 0));
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    sl_scratch_reset(&scratch);
    const sluice_status status =
        sl_segmentation_read((sl_bytes){copy, bytes}, &scratch, NULL, &found, error);
    free(copy);
    return status;
}

static void read_good(const char *text)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (read_bytes(text, strlen(text), &error) != SLUICE_OK)
        fail_msg("%s", error.text);
}

TEST_WITH(polygons_masks_and_nothing, open_scratch, close_scratch)
{
    read_good(
        " [ [ [1, 2.5,-3,4e1 ,0,0],[]], null,[],\n"
        "{\"size\":[2,3],\"counts\":[1,2,3]}, {\"counts\":\"1\\u0032\\u0033\",\"size\":[3 ,2]} ,"
        "[[5,6]]] ");
    static const double points[] = {1, 2.5, -3, 40, 0, 0};
    assert_int_equal(found.count, 6);
    assert_int_equal(found.of[0].polygons, 2);
    assert_int_equal(found.polygons[0].count, 3);
    assert_memory_equal(found.polygons[0].points, points, sizeof(points));
    assert_int_equal(found.polygons[1].count, 0);
    for (int i = 1; i < 3; i++)
        assert_true(found.of[i].polygons == 0 && found.of[i].runs.width == 0);
    for (uint32_t i = 3; i < 5; i++) {
        const sl_run_lengths *runs = &found.of[i].runs;
        static const uint32_t ends[] = {1, 3, 6};
        assert_int_equal(found.of[i].polygons, 0);
        assert_int_equal(runs->width, 6 - i);
        assert_int_equal(runs->height, i - 1);
        assert_int_equal(runs->count, 3);
        assert_memory_equal(runs->ends, ends, sizeof(ends));
    }
    assert_int_equal(found.of[5].first, 2);
    assert_true(found.polygons[2].points[0] == 5 && found.polygons[2].points[1] == 6);
    read_good("[]");
    assert_int_equal(found.count, 0);
}

/* Escapes the backslash, '0' + 44 in run lengths, as JSON does. */
TEST_WITH(backslashes_are_escaped, open_scratch, close_scratch)
{
    read_good("[{\"counts\":\"\\\\10\\u005C1\",\"size\":[44,2]}]");
    const sl_run_lengths *runs = &found.of[0].runs;
    static const uint32_t ends[] = {44, 44, 88};
    assert_int_equal(runs->count, 3);
    assert_memory_equal(runs->ends, ends, sizeof(ends));
}

/* The nearest 64-bit number, as strtod finds it. */
TEST_WITH(numbers_are_exact, open_scratch, close_scratch)
{
    uint64_t random = 3;
    for (int i = 0; i < 20000; i++) {
        char text[96];
        const double number =
            (double)(int64_t)split_mix(&random) / 9e18 * (split_mix(&random) % 2 == 0 ? 1000 : 1e6);
        const int bytes = snprintf(text, sizeof(text), "[[[");
        (void)snprintf(text + bytes, sizeof(text) - (size_t)bytes, i % 2 == 0 ? "%.*f" : "%.*g",
                       i / 2 % 19, number);
        const double wanted = strtod(text + bytes, NULL);
        strncat(text, ",0]]]", sizeof(text) - strlen(text) - 1);
        read_good(text);
        assert_memory_equal(found.polygons[0].points, &wanted, sizeof(wanted));
    }
    read_good("[[[0.1,123456789012345e-10,-0,1E-400,0.000000000000001,"
              "0.00000000000000000000000000001]]]");
    static const double wanted[] = {.1, 12345.6789012345, -0.0, 0, 1e-15, 1e-29};
    assert_memory_equal(found.polygons[0].points, wanted, sizeof(wanted));
}

static const struct {
    const char *text, *words;
} bad[] = {
    {"", "annotation 0: expected a JSON array"},
    {"{}", "expected a JSON array"},
    {"[", "neither polygons nor a mask"},
    {"[[]", "the array is not closed"},
    {"[[]]x", "after the array"},
    {"[[],]", "annotation 1: its segmentation is neither"},
    {"[nul]", "neither polygons"},
    {"[nullx]", "the array is not closed"},
    {"[1]", "neither polygons"},
    {"[[1,2,3,4]]", "its polygons are not a list of lists of numbers"},
    {"[[[1]]]", "odd number"},
    {"[[[1,2,3]]]", "odd number"},
    {"[[[1,2,]]]", "expected a number"},
    {"[[[1,2]", "list of its polygons is not closed"},
    {"[[[1,2", "not a list of numbers"},
    {"[[[1,\"2\"]]]", "expected a number"},
    {"[[[1,null]]]", "expected a number"},
    {"[[[1,NaN]]]", "expected a number"},
    {"[[[1,Infinity]]]", "expected a number"},
    {"[[[1,01]]]", "expected a number"},
    {"[[[1,+1]]]", "expected a number"},
    {"[[[1,.5]]]", "expected a number"},
    {"[[[1,5.]]]", "expected a number"},
    {"[[[1,-]]]", "expected a number"},
    {"[[[1,1e]]]", "expected a number"},
    {"[[[1,1e+]]]", "expected a number"},
    {"[[[1,0x1]]]", "not a list of numbers"},
    {"[[[1,1e300]]]", "more than 2^20"},
    {"[[[1,1e999]]]", "more than 2^20"},
    {"[[[1048576.5,1]]]", "more than 2^20"},
    {"[[[-1048577,1]]]", "more than 2^20"},
    {"[{}]", "size and counts"},
    {"[{\"size\":[1,1]}]", "size and counts"},
    {"[{\"counts\":[1]}]", "size and counts"},
    {"[{\"size\":[1,1],\"size\":[1,1]}]", "size and counts"},
    {"[{\"size\":[1,1],\"counts\":[1],\"a\":1}]", "size and counts"},
    {"[{\"size\":[1,1],\"counts\":[1]]", "size and counts"},
    {"[{\"size\":[1],\"counts\":[1]}]", "[height, width]"},
    {"[{\"size\":1,\"counts\":[1]}]", "[height, width]"},
    {"[{\"size\":[1,1],\"counts\":1}]", "neither a text nor a list"},
    {"[{\"size\":[1,1],\"counts\":[2]}]", "different numbers of pixels"},
    {"[{\"size\":[1,1],\"counts\":[]}]", "different numbers of pixels"},
    {"[{\"size\":[1,1],\"counts\":[-1,2]}]", "no whole number|negative"},
    {"[{\"size\":[1,1],\"counts\":[1}]", "run lengths is not closed"},
    {"[{\"size\":[1,1],\"counts\":\"1", "text of its mask is not closed"},
    {"[{\"size\":[1,1],\"counts\":\"1\\\"}]", "character"},
    {"[{\"size\":[1,1],\"counts\":\"\\u00\"}]", "character"},
    {"[{\"size\":[1,1],\"counts\":\"\\n\"}]", "character"},
    {"[{\"size\":[1,1],\"counts\":\"\\", "character"},
    {"[{\"size\":[99999,99999],\"counts\":[1]}]", "2^32 - 1"},
};

static bool has_one_of(const char *text, const char *words)
{
    char one[64];
    for (const char *at = words; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        (void)snprintf(one, sizeof(one), "%.*s", (int)strcspn(at, "|"), at);
        if (strstr(text, one) != NULL)
            return true;
    }
    return false;
}

TEST_WITH(bad_ones_are_refused, open_scratch, close_scratch)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        const size_t bytes = strlen(bad[i].text);
        assert_int_equal(read_bytes(bad[i].text, bytes, &error), SLUICE_CORRUPT);
        if (!has_one_of(error.text, bad[i].words) || strstr(error.text, "annotation ") == NULL)
            fail_msg("%s: %s", bad[i].text, error.text);
        assert_true(error.offset >= 0 && (size_t)error.offset <= bytes);
    }
    assert_int_equal(read_bytes("[]\0", 3, NULL), SLUICE_CORRUPT);
}

/* Every proper prefix of a text is invalid. */
TEST_WITH(texts_that_end_early_are_refused, open_scratch, close_scratch)
{
    static const char text[] = "[[[1.5,2,3e1,-4]],null,{\"size\":[2,3],\"counts\":[1,2,3]},"
                               "{\"size\":[2,3],\"counts\":\"1\\u0032\\\\\"}]";
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        assert_int_equal(read_bytes(text, i, NULL), SLUICE_CORRUPT);
}

TEST(one_annotation_is_checked)
{
    static const char *const good[] = {"[]", " null ", "[[1,2,3,4,5,6]]",
                                       "{\"size\":[1,1],\"counts\":[1]}"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_null(sl_segmentation_check((sl_bytes){(const uint8_t *)good[i], strlen(good[i])}));
    static const char *const wrong[] = {"", "1", "[],", "[[1]]", "[]]", "{}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const sl_bytes text = {(const uint8_t *)wrong[i], strlen(wrong[i])};
        assert_non_null(sl_segmentation_check(text));
    }
    assert_non_null(sl_segmentation_check((sl_bytes){(const uint8_t *)"[]\0", 3}));
}

TEST(too_little_memory_is_said)
{
    enum { BYTES = 1 << 16 };
    static char text[BYTES];
    sl_scratch little;
    sl_instances none;
    size_t bytes = (size_t)sprintf(text, "[[[1,2");
    while (bytes + 8 < BYTES)
        bytes += (size_t)sprintf(text + bytes, ",1,2");
    bytes += (size_t)sprintf(text + bytes, "]]]");
    assert_int_equal(sl_scratch_open(&little, BYTES, BYTES, NULL), SLUICE_OK);
    assert_int_equal(
        sl_segmentation_read((sl_bytes){(const uint8_t *)text, bytes}, &little, NULL, &none, NULL),
        SLUICE_NOMEM);
    sl_scratch_close(&little);
}

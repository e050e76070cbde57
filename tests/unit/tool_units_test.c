/* SPDX-License-Identifier: Apache-2.0 */
/* Tests numbers with units, and the JSON writer. */
#include "test.h"

#include "../../tools/sluice/common/json.h"
#include "../../tools/sluice/common/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(test_bytes)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"17", 17},
        {"17B", 17},
        {"64MiB", 64 << 20},
        {"64M", 64 << 20},
        {"64m", 64 << 20},
        {"256K", 256 << 10},
        {"5kB", 5000},
        {"10MB", 10000000},
        {"3GiB", UINT64_C(3) << 30},
        {"2TB", UINT64_C(2000000000000)},
        {"16777215TiB", UINT64_C(16777215) << 40},
        {"18446744073709551615", UINT64_MAX},
    };
    static const char *const bad[] = {
        "",      " 1",  "-1",  "+1",   "1.5M", "M",           "1 M",
        "1MiBs", "1Mx", "1iB", "1PiB", "0x10", "16777216TiB", "18446744073709551616"};
    uint64_t value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(units_parse_bytes(good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (units_parse_bytes(bad[i], &value)) {
            fail_msg("taken for a size: %s", bad[i]);
        }
    }
}

TEST(test_reals)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},       {"7", 7},      {"0.5", 0.5},   {".5", 0.5},
                {"5.", 5},      {"1e3", 1000}, {"1E+3", 1000}, {".25e1", 2.5},
                {"5.e-1", 0.5}, {"00.5", 0.5}, {"1e-3", 1e-3}, {"0.0", 0}};
    static const char *const bad[] = {"",     ".",    "..5",  "-.5",   "+.5", " .5",
                                      ".5 ",  "0x10", "0x.8", ".e1",   "inf", "nan",
                                      ".5.5", "1e",   "1e+",  "1e999", "5,0", ".5f"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!units_parse_real(good[i].text, &value) || value != good[i].value) {
            fail_msg("not taken for a number: %s", good[i].text);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (units_parse_real(bad[i], &value)) {
            fail_msg("taken for a number: %s", bad[i]);
        }
    }
}

TEST(test_durations)
{
    double seconds;
    assert_true(units_parse_duration("10s", 1, &seconds) && seconds == 10);
    assert_true(units_parse_duration("10", 1, &seconds) && seconds == 10);
    assert_true(units_parse_duration("250", 1e-3, &seconds) && fabs(seconds - 0.25) < 1e-12);
    assert_true(units_parse_duration("250ms", 1e-3, &seconds) && fabs(seconds - 0.25) < 1e-12);
    assert_true(units_parse_duration("1.5m", 1, &seconds) && seconds == 90);
    assert_true(units_parse_duration("2h", 1, &seconds) && seconds == 7200);
    assert_true(units_parse_duration("5us", 1, &seconds) && fabs(seconds - 5e-6) < 1e-12);
    assert_true(units_parse_duration(".5s", 1, &seconds) && seconds == 0.5);
    assert_true(units_parse_duration("5.s", 1, &seconds) && seconds == 5);
    assert_true(units_parse_duration("1e3ms", 1, &seconds) && seconds == 1);
    assert_false(units_parse_duration("", 1, &seconds));
    assert_false(units_parse_duration("-1s", 1, &seconds));
    assert_false(units_parse_duration("inf", 1, &seconds));
    assert_false(units_parse_duration("nan", 1, &seconds));
    assert_false(units_parse_duration("5d", 1, &seconds));
    assert_false(units_parse_duration("5 s", 1, &seconds));
}

static void expect_bytes(uint64_t bytes, const char *expected)
{
    char text[32];
    units_format_bytes(text, sizeof text, bytes);
    assert_string_equal(text, expected);
}

TEST(test_formats)
{
    char text[32];
    expect_bytes(0, "0 B");
    expect_bytes(1023, "1023 B");
    expect_bytes(1024, "1 KiB");
    expect_bytes(1536, "1.5 KiB");
    expect_bytes(UINT64_C(256) << 20, "256 MiB");
    expect_bytes(UINT64_MAX, "16 EiB");
    units_format_duration(text, sizeof text, 0.85);
    assert_string_equal(text, "850 ms");
    units_format_duration(text, sizeof text, 245);
    assert_string_equal(text, "4:05");
    units_format_duration(text, sizeof text, 7390);
    assert_string_equal(text, "2:03:10");
    units_format_duration(text, sizeof text, 1e30);
    assert_true(strlen(text) < sizeof text);
}

TEST(test_json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct json json;
    json_begin(&json, stream);
    json_open_object(&json, NULL);
    json_text(&json, "q\"\\\n", "\x01 \xc3\xa9 \xff \xed\xa0\x80 \xc0\xaf");
    json_open_array(&json, "empty");
    json_close_array(&json);
    json_open_row(&json, "row");
    json_unsigned(&json, NULL, 1);
    json_unsigned(&json, NULL, 2);
    json_close_array(&json);
    json_open_row(&json, "none");
    json_close_array(&json);
    json_open_array(&json, "numbers");
    json_unsigned(&json, NULL, UINT64_MAX);
    json_signed(&json, NULL, INT64_MIN);
    json_real(&json, NULL, 0.25);
    json_real(&json, NULL, -1.5e-20);
    json_real(&json, NULL, NAN);
    json_real(&json, NULL, INFINITY);
    json_close_array(&json);
    json_bool(&json, "yes", true);
    json_text(&json, "none", NULL);
    json_close_object(&json);
    fclose(stream);
    assert_string_equal(text,
                        "{\n"
                        "  \"q\\\"\\\\\\u000a\": \"\\u0001 \xc3\xa9 \\ufffd \\ufffd\\ufffd\\ufffd "
                        "\\ufffd\\ufffd\",\n"
                        "  \"empty\": [],\n"
                        "  \"row\": [1, 2],\n"
                        "  \"none\": [],\n"
                        "  \"numbers\": [\n"
                        "    18446744073709551615,\n"
                        "    -9223372036854775808,\n"
                        "    0.25,\n"
                        "    -1.5e-20,\n"
                        "    null,\n"
                        "    null\n"
                        "  ],\n"
                        "  \"yes\": true,\n"
                        "  \"none\": null\n"
                        "}\n");
    free(text);
}

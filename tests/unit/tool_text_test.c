/* SPDX-License-Identifier: Apache-2.0 */
/* Tests terminal-safe text and progress lines. */
#include "test.h"

#include "../../tools/sluice/common/progress.h"
#include "../../tools/sluice/common/safe_text.h"

#include <string.h>

TEST(test_safe)
{
    static const struct {
        const char *text, *safe;
    } pairs[] = {
        {"", ""},
        {"plain ~", "plain ~"},
        {"\x1b[2J\n\t\x7f", "\\x1b[2J\\x0a\\x09\\x7f"},
        {"\xc3\xbc \xe6\x97\xa5 \xf0\x9f\x98\x80", "\xc3\xbc \xe6\x97\xa5 \xf0\x9f\x98\x80"},
        {"\xc2\x9b\xc2\xa0", "\\xc2\\x9b\xc2\xa0"},            /* 8-bit CSI */
        {"\x9b\xff", "\\x9b\\xff"},                            /* not UTF-8 */
        {"\xc0\x9b\xe0\x80\x9b", "\\xc0\\x9b\\xe0\\x80\\x9b"}, /* overlong */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                   /* a surrogate */
        {"a\xe6\x97", "a\\xe6\\x97"},                          /* truncated */
    };
    char safe[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_string_equal(safe_text(safe, sizeof safe, pairs[i].text), pairs[i].safe);
    }
    assert_string_equal(safe_text(safe, 6, "ab\x1b"), "ab"); /* never part of an escape */
    assert_string_equal(safe_text(safe, 7, "ab\x1b"), "ab\\x1b");
    assert_string_equal(safe_text(safe, 3, "a\xc3\xbc"), "a");
}

static const char *described(double elapsed, uint64_t first, uint64_t done, uint64_t total)
{
    static char text[160];
    const struct progress progress = {.unit = "samples", .first = first};
    progress_describe(&progress, elapsed, done, total, text, sizeof text);
    return text;
}

TEST(test_progress)
{
    /* One slow first sample among many does not predict the rest. */
    assert_string_equal(described(0.5, 0, 1, 3000), "  0% 1/3000 samples");
    assert_string_equal(described(2, 0, 4, 3000), "  0% 4/3000 samples, 2/s");
    assert_string_equal(described(2, 0, 1000, 3000), " 33% 1000/3000 samples, 500/s, 4.0 s left");
    assert_string_equal(described(6, 0, 60, 3000), "  2% 60/3000 samples, 10/s, 4:54 left");
    /* An earlier run's work does not count towards the rate. */
    assert_string_equal(described(0, 2000, 2000, 3000), " 67% 2000/3000 samples");
    assert_string_equal(described(2, 2000, 2200, 3000),
                        " 73% 2200/3000 samples, 100/s, 8.0 s left");
    char text[64];
    const struct progress timed = {.unit = NULL};
    progress_describe(&timed, 3, 3400, 9600, text, sizeof text);
    assert_string_equal(text, " 35% 3/10 s");
}

TEST(test_bar)
{
    char line[256];
    progress_bar(1, 2, " 50% 1/2 x", 80, line, sizeof line);
    assert_string_equal(line, "[###############...............]  50% 1/2 x");
    for (int columns = 1; columns < 80; columns++) {
        progress_bar(1, 2, " 50% 1/2 samples, 500/s, 4.0 s left", columns, line, sizeof line);
        assert_true(strlen(line) < (size_t)(columns > 1 ? columns : 2));
    }
    progress_bar(1, 2, " 50% 1/2 x", 14, line, sizeof line);
    assert_string_equal(line, " 50% 1/2 x");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the suggestion for a mistyped word: distances against their definition, and common typing
 * errors. */
#include "test.h"

#include "../../tools/sluice/common/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Follows the definition, from the last letters of both. */
static unsigned defined(const char *a, size_t i, const char *b, size_t k)
{
    if (i == 0 || k == 0) {
        return (unsigned)(i + k);
    }
    unsigned steps = least(defined(a, i - 1, b, k), defined(a, i, b, k - 1)) + 1;
    steps = least(steps, defined(a, i - 1, b, k - 1) + (a[i - 1] != b[k - 1]));
    if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
        steps = least(steps, defined(a, i - 2, b, k - 2) + 1);
    }
    return steps;
}

/* All words of up to four letters from an alphabet of three. */
static void test_steps(void **state)
{
    enum { WORDS = 1 + 3 + 9 + 27 + 81 };
    char words[WORDS][5] = {""};
    size_t count = 1;
    for (size_t from = 0; strlen(words[from]) < 4; from++) {
        for (size_t i = 0; i < 3; i++) {
            const size_t length = strlen(words[from]);
            memcpy(words[count], words[from], length);
            words[count++][length] = "abc"[i];
        }
    }
    assert_int_equal(count, WORDS);
    for (size_t i = 0; i < WORDS; i++) {
        for (size_t k = 0; k < WORDS; k++) {
            assert_int_equal(nearest_steps(words[i], words[k]),
                             defined(words[i], strlen(words[i]), words[k], strlen(words[k])));
        }
    }
}

static void test_words(void **state)
{
    static const char *const words[] = {
        "pack", "size", "batch",  "device", "device-slots", "shuffle", "workers", "nhwc",
        "nchw", "f16",  "on-bad", "u8",     "max-sample",   "full",    "shuffle", NULL};
    static const struct {
        const char *typed, *meant;
    } cases[] = {
        {"pakc", "pack"},
        {"pac", "pack"},
        {"packk", "pack"},
        {"shufle", "shuffle"},
        {"shuffel", "shuffle"},
        {"fp16", "f16"},
        {"nhcw", "nhwc"},
        {"batch-size", "batch"},
        {"num-workers", "workers"},
        {"max-samples", "max-sample"},
        {"onbad", "on-bad"},
        {"pull", "full"},
        {"nonsense", NULL},
        {"", NULL},
        {"u9", NULL},
        {"x", NULL},
        {"kcap", NULL},
        {"device-slot", "device-slots"},
        {"abcdefghijklmnopqrstuvwxyz-batch-size", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        char expected[64] = "";
        if (cases[i].meant != NULL) {
            (void)snprintf(expected, sizeof expected, "; did you mean %s?", cases[i].meant);
        }
        assert_string_equal(nearest_of(cases[i].typed, words, text, sizeof text), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

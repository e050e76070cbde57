/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the trees of the fast parser with those of jansson. */
#include "json_flat.h"
#include "philox.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static json_t *by_jansson(const char *text, size_t bytes)
{
    return json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
}

static json_t *by_flat(const char *text, size_t bytes)
{
    return sl_json_flat_parse((sl_bytes){(const uint8_t *)text, bytes});
}

/* Compares the bits of numbers, too: json_equal compares reals by value. */
static bool has_same_bits(const json_t *a, const json_t *b)
{
    char of_a[8192];
    char of_b[8192];
    const size_t bytes = json_dumpb(a, of_a, sizeof(of_a), JSON_REAL_PRECISION(17));
    return json_dumpb(b, of_b, sizeof(of_b), JSON_REAL_PRECISION(17)) == bytes &&
           bytes < sizeof(of_a) && memcmp(of_a, of_b, bytes) == 0;
}

/* True if the fast parser accepted the text. */
static bool takes(const char *text, size_t bytes)
{
    json_t *flat = by_flat(text, bytes);
    json_t *whole = flat != NULL ? by_jansson(text, bytes) : NULL;
    const bool taken = flat != NULL;
    if (taken && (whole == NULL || !json_equal(flat, whole) || !has_same_bits(flat, whole)))
        fail_msg("another tree of %.*s", (int)bytes, text);
    json_decref(flat);
    json_decref(whole);
    return taken;
}

static const char *const usual[] = {
    "{}",
    "{\"area\":54652.9556,\"iscrowd\":0,\"bbox\":[116.95, 305.86, 285.3, 266.03],\"id\":86}",
    "{\"file_name\":\"000000000009.jpg\",\"width\":640,\"height\":480,\"id\":9}",
    "{\"a\":[],\"b\":[ 0 , -0.0 ],\"c\":-7,\"d\":true,\"e\":false,\"f\":null,\"g\":\"\"}",
    "{\"a\":999999999999999999,\"b\":-999999999999999999,\"c\":0.00000000000001}",
    "{ \"a\" : 1 , \"b\" : \"x\" }",
};

TEST(usual_elements_are_taken)
{
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (!takes(usual[i], strlen(usual[i])))
            fail_msg("left to jansson: %s", usual[i]);
    }
}

/* Texts that jansson rejects, or reads by rules of its own. */
static const char *const others[] = {
    "",
    "{",
    "[]",
    "{\"a\":01}",
    "{\"a\":-}",
    "{\"a\":.5}",
    "{\"a\":5.}",
    "{\"a\":1e3}",
    "{\"a\":1.5e3}",
    "{\"a\":1E3}",
    "{\"a\":+1}",
    "{\"a\":NaN}",
    "{\"a\":1 2}",
    "{\"a\":truth}",
    "{\"a\":[1,]}",
    "{\"a\":[,1]}",
    "{\"a\":[1}",
    "{\"a\":1,}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1}}",
    "{\"a\":{}}",
    "{\"a\":[[1]]}",
    "{\"a\":[\"x\"]}",
    "{\"a\":\"\\n\"}",
    "{\"a\":\"\xc3\xa4\"}",
    "{\"\\u0061\":1}",
    "{\"a\":\"\t\"}",
    "{\"a\":1000000000000000000}",
    "{\"a\":0.1234567890123456}",
    "{\"a\":99999999999999999999999999999999999999.5}",
    "{\"a\":1.99999999999999999999999999999999999999}",
};

TEST(other_elements_are_left)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (takes(others[i], strlen(others[i])))
            fail_msg("taken: %s", others[i]);
    }
}

TEST(numbers_are_rounded_alike)
{
    sl_random random = sl_random_for(1, 0, 0, 0);
    for (int i = 0; i < TEST_AMOUNT(200000, 5000); i++) {
        char text[80];
        const unsigned long long digits =
            ((unsigned long long)sl_random_u32(&random) << 32 | sl_random_u32(&random)) %
            1000000000000000ULL;
        const int places = (int)sl_random_below(&random, 15);
        char number[24];
        (void)snprintf(number, sizeof(number), "%015llu", digits);
        const char *whole = number;
        while (whole[0] == '0' && whole + 1 < number + 15 - places)
            whole++;
        const int before = (int)(number + 15 - places - whole);
        const int length = snprintf(text, sizeof(text), "{\"a\":-%.*s%s%s}", before, whole,
                                    places > 0 ? "." : "", number + 15 - places);
        if (!takes(text, (size_t)length))
            fail_msg("left to jansson: %s", text);
    }
}

/* Replaces bytes of typical elements: any accepted text is parsed as by jansson. */
TEST(damaged_elements_are_read_alike)
{
    static const char bytes[] = "{}[]\",:. \\-+eE0123456789tfn\x01\x7f\x80";
    sl_random random = sl_random_for(2, 0, 0, 0);
    for (int i = 0; i < TEST_AMOUNT(200000, 5000); i++) {
        char text[256];
        const char *from = usual[sl_random_below(&random, sizeof(usual) / sizeof(usual[0]))];
        const size_t size = strlen(from);
        (void)snprintf(text, sizeof(text), "%s", from);
        for (uint32_t k = 1 + sl_random_below(&random, 3); k > 0; k--) {
            text[sl_random_below(&random, (uint32_t)size)] =
                bytes[sl_random_below(&random, sizeof(bytes))];
        }
        (void)takes(text, size);
    }
}

TEST(long_texts_are_left)
{
    char text[SL_JSON_FLAT_BYTES_MAX + 2]; /* and its terminator */
    for (size_t size = SL_JSON_FLAT_BYTES_MAX; size <= SL_JSON_FLAT_BYTES_MAX + 1; size++) {
        const int length = (int)size - 8;
        (void)snprintf(text, sizeof(text), "{\"a\":\"%0*d\"}", length, 0);
        assert_int_equal(takes(text, size), size == SL_JSON_FLAT_BYTES_MAX);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests lists of steps, written by hand from the messages' specification. */
#include "step_list.h"

#include "error.h"
#include "packed_value.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define LIST(text) ((sl_bytes){(const uint8_t *)(text), sizeof(text) - 1})

/* Steps: a Feature = 1 with an int64_list = 3, float_list = 2 or bytes_list = 1. */
#define PACKED_1_300 "\x0a\x07\x1a\x05\x0a\x03\x01\xac\x02"
#define LOOSE_5      "\x0a\x04\x1a\x02\x08\x05"
#define EMPTY_INTS   "\x0a\x02\x1a\x00"
#define NO_LIST      "\x0a\x00"
#define FLOAT_ONE    "\x0a\x07\x12\x05\x0d\x00\x00\x80\x3f"
#define TEXT_A       "\x0a\x05\x0a\x03\x0a\x01\x61"
#define TEXT_ESCAPES "\x0a\x08\x0a\x06\x0a\x04\"\\\n\x1f"
#define TEXTS_AB     "\x0a\x08\x0a\x06\x0a\x01\x61\x0a\x01\x62"
#define UNKNOWN      "\x10\x05\x1a\x01x"

/* Reads exactly as many bytes as promised, so that a sanitizer detects an extra one. */
static void expect(sl_steps_kind kind, sl_bytes list, const void *meant, size_t bytes)
{
    sl_step_facts facts;
    assert_null(sl_steps_look(kind, list, &facts));
    assert_int_equal(facts.bytes, bytes);
    uint8_t *to = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(to);
    assert_true(sl_steps_read(kind, list, to, bytes));
    assert_true(bytes == 0 || memcmp(to, meant, bytes) == 0);
    assert_true(bytes == 0 || !sl_steps_read(kind, list, to, bytes - 1));
    free(to);
}

static void refuse(sl_steps_kind kind, sl_bytes list, const char *words)
{
    sl_step_facts facts;
    uint8_t to[256];
    const char *why = sl_steps_look(kind, list, &facts);
    assert_non_null(why);
    assert_non_null(strstr(why, words));
    assert_false(sl_steps_read(kind, list, to, sizeof(to)));
}

TEST(numbers)
{
    const int64_t integers[] = {1, 300, 5};
    const float one = 1;
    sl_step_facts facts;
    expect(SL_STEPS_I64, LIST(PACKED_1_300 UNKNOWN LOOSE_5), integers, sizeof(integers));
    expect(SL_STEPS_I64, LIST(""), NULL, 0);
    expect(SL_STEPS_I64, LIST(NO_LIST EMPTY_INTS), NULL, 0);
    expect(SL_STEPS_F32, LIST(FLOAT_ONE EMPTY_INTS), &one, sizeof(one));
    assert_null(sl_steps_look(SL_STEPS_I64, LIST(PACKED_1_300 LOOSE_5 NO_LIST), &facts));
    assert_int_equal(facts.steps, 3);
    assert_int_equal(facts.least, 0);
    assert_int_equal(facts.most, 2);
    refuse(SL_STEPS_I64, LIST(LOOSE_5 FLOAT_ONE), "a different type");
    refuse(SL_STEPS_F32, LIST(TEXT_A), "a different type");
}

TEST(bytes_and_texts)
{
    static const char escaped[] = "[\"a\",null,\"\\\"\\\\\\u000a\\u001f\",null]";
    expect(SL_STEPS_BYTES, LIST(TEXT_A NO_LIST TEXTS_AB), "aab", 3);
    expect(SL_STEPS_TEXT, LIST(TEXT_A NO_LIST TEXT_ESCAPES EMPTY_INTS), escaped,
           sizeof(escaped) - 1);
    expect(SL_STEPS_TEXT, LIST(""), "[]", 2);
    expect(SL_STEPS_TEXT, LIST(UNKNOWN), "[]", 2);
    refuse(SL_STEPS_TEXT, LIST(TEXTS_AB), "several texts");
    refuse(SL_STEPS_TEXT, LIST(LOOSE_5), "a different type");
}

TEST(cut_short_anywhere)
{
    static const char whole[] = PACKED_1_300 LOOSE_5 LOOSE_5;
    const size_t ends[] = {0, 9, 15, 21};
    for (size_t size = 0, end = 0; size < sizeof(whole); size++) {
        uint8_t *copy = malloc(size > 0 ? size : 1);
        sl_step_facts facts;
        assert_non_null(copy);
        memcpy(copy, whole, size);
        const bool good = sl_steps_look(SL_STEPS_I64, (sl_bytes){copy, size}, &facts) == NULL;
        assert_int_equal(good, size == ends[end]);
        end += good;
        free(copy);
    }
}

TEST(damaged)
{
    refuse(SL_STEPS_I64, LIST("\x08\x01"), "damaged");             /* a step that is a number */
    refuse(SL_STEPS_I64, LIST(LOOSE_5 "\x0a\x7f"), "damaged");     /* longer than the rest */
    refuse(SL_STEPS_I64, LIST("\x0a\x02\x1a\x7f"), "tf.train");    /* its list is longer */
    refuse(SL_STEPS_I64, LIST("\x0a\x04\x1a\x02\x0a\x7f"), "dam"); /* its values are longer */
    refuse(SL_STEPS_I64, LIST("\x0a\x04\x1a\x00\x12\x00"), "two lists");
    refuse(SL_STEPS_F32,
           LIST("\x0a\x07\x12\x05\x0a\x03"
                "abc"),
           "damaged");
    refuse(SL_STEPS_BYTES, LIST("\x0a\x04\x0a\x02\x08\x01"), "damaged");
}

TEST(as_a_value)
{
    sluice_error error = SLUICE_ERROR_INIT;
    uint64_t size = 0;
    uint8_t to[24];
    sl_value value = {.present = true,
                      .packing = &sl_value_packing_steps[SL_STEPS_I64],
                      .bytes = LIST(PACKED_1_300 LOOSE_5)};
    assert_true(sl_is_packed(&value));
    assert_int_equal(sl_packed_size(&value, 24, &size, NULL), SLUICE_OK);
    assert_int_equal(size, 24);
    assert_int_equal(sl_packed_unpack_to(NULL, &value, to, size, NULL), SLUICE_OK);
    assert_int_equal(sl_packed_size(&value, 23, &size, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "list of steps unpacks to 24 bytes"));
    value.bytes.size--;
    assert_int_equal(sl_packed_size(&value, 24, &size, &error), SLUICE_CORRUPT);
    assert_int_equal(sl_packed_unpack_to(NULL, &value, to, 24, &error), SLUICE_CORRUPT);
}

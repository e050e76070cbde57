/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's encoding: the examples of its documentation, and lists of numbers read in different
 * pieces. */
#include "number_list.h"
#include "philox.h"
#include "test.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define BYTES(...) \
    ((sl_bytes){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

static bool next(sl_bytes message, sl_wire_field *field)
{
    sl_wire wire = sl_wire_of(message);
    const bool there = sl_wire_next(&wire, field);
    assert_true(there || wire.at == message.data);
    return there && sl_wire_ended(&wire);
}

TEST(documented_messages)
{
    sl_wire_field field;
    assert_true(next(BYTES(0x08, 0x96, 0x01), &field));
    assert_int_equal(field.number, 1);
    assert_int_equal(field.varint, 150);
    assert_true(next(BYTES(0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'), &field));
    assert_int_equal(field.number, 2);
    assert_int_equal(field.bytes.size, 7);
    assert_memory_equal(field.bytes.data, "testing", 7);
    assert_true(next(BYTES(0x0d, 0, 0, 0x80, 0x3f), &field));
    assert_int_equal(field.bytes.size, 4);
    assert_true(next(BYTES(0x09, 1, 2, 3, 4, 5, 6, 7, 8), &field));
    assert_int_equal(field.bytes.size, 8);
    assert_false(next((sl_bytes){NULL, 0}, &field));
}

TEST(what_is_damaged)
{
    sl_wire_field field;
    const sl_bytes wrong[] = {
        BYTES(0x08),                                          /* no value */
        BYTES(0x08, 0x96),                                    /* which does not end */
        BYTES(0x80),                                          /* nor does the tag */
        BYTES(0x00, 0x01),                                    /* field 0 */
        BYTES(0x07, 0x01),                                    /* type 7 */
        BYTES(0x0b, 0x0c),                                    /* a group */
        BYTES(0x0c),                                          /* its end */
        BYTES(0x0e, 0x00),                                    /* type 6 */
        BYTES(0x12, 0x08, 't', 'e', 's', 't', 'i', 'n', 'g'), /* longer than there is */
        BYTES(0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), /* 2^64 - 1 */
        BYTES(0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01), /* 2^63 */
        BYTES(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80,
              0x00),                                     /* 11 bytes */
        BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00), /* a number above 2^29 */
        BYTES(0x0d, 0, 0, 0x80),                         /* cut short */
        BYTES(0x09, 1, 2, 3, 4, 5, 6, 7),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(next(wrong[i], &field));
    }
}

TEST(varints)
{
    const struct {
        sl_bytes bytes;
        uint64_t value;
    } known[] = {
        {BYTES(0), 0},
        {BYTES(0x7f), 127},
        {BYTES(0x80, 0x01), 128},
        {BYTES(0x80, 0x80, 0x00), 0}, /* longer than need be */
        {BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), UINT64_MAX},
        {BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01), UINT64_C(1) << 63},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        sl_wire wire = sl_wire_of(known[i].bytes);
        uint64_t value;
        assert_true(sl_wire_varint(&wire, &value));
        assert_true(value == known[i].value && sl_wire_ended(&wire));
    }
}

/* ---- lists ---- */

enum { MOST = 300 };

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t bytes = 0;
    for (; value >= 0x80; value >>= 7) {
        to[bytes++] = (uint8_t)(value | 0x80);
    }
    to[bytes++] = (uint8_t)value;
    return bytes;
}

static size_t put_number(uint8_t *to, sl_list_kind kind, uint64_t number)
{
    if (kind == SL_LIST_I64) {
        return put_varint(to, number);
    }
    const uint32_t bits = (uint32_t)number;
    memcpy(to, &bits, sizeof(bits));
    return sizeof(bits);
}

/* Writes numbers in a message: some packed, some each in its own field, with other fields
 * between. */
static size_t put_list(uint8_t *to, sl_list_kind kind, const uint64_t *numbers, uint32_t count,
                       sl_random *random)
{
    size_t at = 0;
    for (uint32_t i = 0; i < count;) {
        const uint32_t run = sl_random_below(random, count - i + 1);
        uint8_t packed[MOST * 10];
        size_t bytes = 0;
        for (uint32_t k = 0; k < run; k++) {
            bytes += put_number(packed + bytes, kind, numbers[i++]);
        }
        to[at++] = 0x0a;
        at += put_varint(to + at, bytes);
        memcpy(to + at, packed, bytes);
        at += bytes;
        to[at++] = 0x10; /* an unknown field */
        to[at++] = 0x01;
        if (i < count) {
            to[at++] = kind == SL_LIST_I64 ? 0x08 : 0x0d;
            at += put_number(to + at, kind, numbers[i++]);
        }
    }
    return at;
}

TEST(lists_in_any_pieces)
{
    static uint64_t numbers[MOST];
    static uint8_t message[MOST * 30];
    static uint8_t found[MOST * 8];
    sl_random random = sl_random_for(7, 0, 0, 0);
    for (int round = 0; round < 2000; round++) {
        const sl_list_kind kind = round % 2 == 0 ? SL_LIST_I64 : SL_LIST_F32;
        const uint32_t count = sl_random_below(&random, round < 1000 ? 6 : MOST);
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t high = sl_random_u32(&random);
            numbers[i] = (high << 32 | sl_random_u32(&random)) >> sl_random_below(&random, 64);
        }
        const sl_bytes list = {message, put_list(message, kind, numbers, count, &random)};
        sl_list_facts facts;
        assert_true(sl_list_look(kind, list, &facts));
        assert_int_equal(facts.count, count);
        assert_true(sl_list_read(kind, list, found, count));
        assert_false(sl_list_read(kind, list, found, count + 1));
        assert_true(count == 0 || !sl_list_read(kind, list, found, count - 1));
        for (uint32_t i = 0; i < count; i++) {
            const size_t bytes = kind == SL_LIST_I64 ? 8 : 4;
            assert_memory_equal(found + i * bytes, &numbers[i], bytes);
        }
        if (facts.plain.data != NULL) {
            assert_memory_equal(found, facts.plain.data, (size_t)count * 4);
        }
    }
}

TEST(lists_that_are_damaged)
{
    sl_list_facts facts;
    assert_false(sl_list_look(SL_LIST_F32, BYTES(0x0a, 0x03, 0, 0, 0), &facts));
    assert_false(sl_list_look(SL_LIST_F32, BYTES(0x08, 0x03), &facts));
    assert_false(sl_list_look(SL_LIST_F32, BYTES(0x09, 1, 2, 3, 4, 5, 6, 7, 8), &facts));
    assert_false(sl_list_look(SL_LIST_I64, BYTES(0x0d, 0, 0, 0, 0), &facts));
    assert_false(sl_list_look(SL_LIST_I64, BYTES(0x0a, 0x01, 0x80), &facts));
    assert_false(sl_list_look(SL_LIST_I64, BYTES(0x0a, 0x02, 0x01), &facts));
    assert_false(sl_list_look(
        SL_LIST_I64,
        BYTES(0x0a, 0x0b, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00),
        &facts));
    assert_true(sl_list_look(SL_LIST_I64, (sl_bytes){NULL, 0}, &facts) && facts.count == 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "number_list.h"

#include "little_endian.h"
#include "wire.h"

#include <string.h>

enum { VALUES = 1 }; /* number of their field */

/* ---- looking ---- */

/* Counts varints: each ends with a byte without a mark and has at most 10 bytes. */
static bool count_varints(sl_bytes packed, uint64_t *count)
{
    uint64_t ends = 0;
    uint32_t run = 0;
    bool good = true;
    for (size_t i = 0; i < packed.size; i++) {
        const uint32_t goes_on = packed.data[i] >> 7;
        run = (run + 1) * goes_on;
        good &= run < 10;
        ends += goes_on ^ 1;
    }
    *count += ends;
    return good && run == 0;
}

static bool count_floats(sl_bytes packed, sl_list_facts *facts)
{
    facts->plain = facts->count == 0 ? packed : (sl_bytes){NULL, 0};
    facts->count += packed.size / 4;
    return packed.size % 4 == 0;
}

bool sl_list_look(sl_list_kind kind, sl_bytes message, sl_list_facts *facts)
{
    sl_wire wire = sl_wire_of(message);
    sl_wire_field field;
    bool good = true;
    *facts = (sl_list_facts){.count = 0};
    while (good && sl_wire_next(&wire, &field)) {
        if (field.number != VALUES) {
            continue;
        }
        if (kind == SL_LIST_F32) {
            good = (field.type == SL_WIRE_BYTES || field.type == SL_WIRE_FIXED32) &&
                   (field.bytes.size == 0 || count_floats(field.bytes, facts));
        } else if (field.type == SL_WIRE_BYTES) {
            good = count_varints(field.bytes, &facts->count);
        } else {
            good = field.type == SL_WIRE_VARINT;
            facts->count++;
        }
    }
    return good && sl_wire_ended(&wire);
}

/* ---- reading ---- */

static bool read_varints(sl_bytes packed, uint8_t **to, uint64_t *left)
{
    sl_wire wire = sl_wire_of(packed);
    while (!sl_wire_ended(&wire)) {
        uint64_t value;
        if (*left == 0 || !sl_wire_varint(&wire, &value)) {
            return false;
        }
        memcpy(*to, &value, sizeof(value));
        *to += sizeof(value);
        --*left;
    }
    return true;
}

static bool read_floats(sl_bytes packed, uint8_t **to, uint64_t *left)
{
    if (packed.size / 4 > *left) {
        return false;
    }
    *left -= packed.size / 4;
    for (size_t at = 0; at + 4 <= packed.size; at += 4, *to += 4) {
        const uint32_t bits = sl_load32(packed.data + at);
        memcpy(*to, &bits, sizeof(bits));
    }
    return true;
}

bool sl_list_read(sl_list_kind kind, sl_bytes message, void *to, uint64_t count)
{
    sl_wire wire = sl_wire_of(message);
    sl_wire_field field;
    uint8_t *at = to;
    bool good = true;
    while (good && sl_wire_next(&wire, &field)) {
        if (field.number != VALUES) {
            continue;
        }
        if (kind == SL_LIST_F32) {
            good = field.type != SL_WIRE_VARINT && read_floats(field.bytes, &at, &count);
        } else if (field.type == SL_WIRE_BYTES) {
            good = read_varints(field.bytes, &at, &count);
        } else {
            good = field.type == SL_WIRE_VARINT && count > 0;
            if (good) {
                memcpy(at, &field.varint, sizeof(field.varint));
                at += sizeof(field.varint);
                count--;
            }
        }
    }
    return good && count == 0 && sl_wire_ended(&wire);
}

/* ---- as values ---- */

static sl_list_kind numbers_kind(const sl_value *value)
{
    return (sl_list_kind)(value->packing - sl_value_packing_numbers);
}

static uint64_t numbers_element(const sl_value *value)
{
    return numbers_kind(value) == SL_LIST_I64 ? 8 : 4;
}

static sluice_status numbers_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                                  sluice_error *error)
{
    sl_list_facts facts;
    (void)max_bytes;
    if (!sl_list_look(numbers_kind(value), value->bytes, &facts)) {
        return sl_packed_refuse(value, error);
    }
    *size =
        facts.count *
        numbers_element(value); /* there are at most as many numbers as bytes: cannot overflow */
    return SLUICE_OK;
}

static sluice_status numbers_unpack_to(const sl_value *value, sl_frame *frame, sl_scratch *scratch,
                                       void *to, uint64_t size, sluice_error *error)
{
    (void)frame;
    (void)scratch;
    return sl_list_read(numbers_kind(value), value->bytes, to, size / numbers_element(value))
               ? SLUICE_OK
               : sl_packed_refuse(value, error);
}

#define NUMBERS                                                                         \
    {                                                                                   \
        .name = "list of numbers", .size = numbers_size, .unpack_to = numbers_unpack_to \
    }
const sl_value_packing sl_value_packing_numbers[SL_LIST_KINDS] =
    {[SL_LIST_I64] = NUMBERS, [SL_LIST_F32] = NUMBERS};

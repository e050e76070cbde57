/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift: a cursor over the compact protocol. Pure.
 *
 * Once `bad` is set, nothing moves. Nested structures are skipped with a depth limit, so that no
 * input can recurse endlessly.
 */
#include "thrift.h"

static void thrift_fail(sl_thrift *thrift)
{
    thrift->bad = true;
    thrift->at = thrift->end;
}

static uint8_t read_byte(sl_thrift *thrift)
{
    if (thrift->at == thrift->end) {
        thrift_fail(thrift);
        return 0;
    }
    return *thrift->at++;
}

static uint64_t thrift_read_varint(sl_thrift *thrift)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = read_byte(thrift);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return thrift->bad ? 0 : value;
        }
    }
    thrift_fail(thrift);
    return 0;
}

static int64_t thrift_read_integer(sl_thrift *thrift)
{
    const uint64_t value = thrift_read_varint(thrift); /* zigzag */
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static sl_bytes read_binary(sl_thrift *thrift)
{
    const uint64_t size = thrift_read_varint(thrift);
    if (size > (uint64_t)(thrift->end - thrift->at)) {
        thrift_fail(thrift);
        return (sl_bytes){thrift->end, 0};
    }
    const sl_bytes bytes = {thrift->at, (size_t)size};
    thrift->at += size;
    return bytes;
}

void sl_thrift_begin(sl_thrift *thrift, sl_bytes bytes)
{
    *thrift = (sl_thrift){.at = bytes.data, .end = bytes.data + bytes.size};
}

bool sl_thrift_next(sl_thrift *thrift, sl_thrift_field *field)
{
    const uint8_t head = read_byte(thrift);
    field->type = head & 0x0f;
    if (thrift->bad || head == SL_THRIFT_STOP) {
        return false;
    }
    const int64_t id = head >> 4 != 0 ? field->id + (head >> 4) : thrift_read_integer(thrift);
    if (id < INT16_MIN || id > INT16_MAX || field->type > SL_THRIFT_STRUCT ||
        field->type == SL_THRIFT_STOP) {
        thrift_fail(thrift);
    }
    field->id = (int32_t)id;
    return !thrift->bad;
}

/* ---- passing over ---- */

/* A value to be skipped; the innermost is last. Keys and values of a map alternate. */
typedef struct level {
    uint8_t type;  /* STRUCT: fields up to the end; else the type of elements */
    uint8_t other; /* for maps: type of the values */
    uint64_t left; /* elements left */
    sl_thrift_field field;
} level;

static level list_level(sl_thrift *thrift)
{
    const uint8_t head = read_byte(thrift);
    const uint64_t count = head >> 4 == 15 ? thrift_read_varint(thrift) : head >> 4;
    const uint8_t type = head & 0x0f;
    if (count > (uint64_t)(thrift->end - thrift->at)) { /* each takes at least a byte */
        thrift_fail(thrift);
    }
    return (level){.type = type, .other = type, .left = count};
}

static level map_level(sl_thrift *thrift)
{
    const uint64_t count = thrift_read_varint(thrift);
    const uint8_t types = count > 0 ? read_byte(thrift) : 0;
    if (count > (uint64_t)(thrift->end - thrift->at)) { /* each takes at least a byte */
        thrift_fail(thrift);
    }
    return (level){.type = types >> 4, .other = types & 0x0f, .left = 2 * count};
}

/* Skips a value, or adds a level for it. False: `bad`. */
static bool thrift_enter(sl_thrift *thrift, uint8_t type, bool is_element, level *levels,
                         uint32_t *depth)
{
    level next = {.type = SL_THRIFT_STOP};
    switch (type) {
    case SL_THRIFT_TRUE:
    case SL_THRIFT_FALSE:
        if (is_element) {
            (void)read_byte(thrift);
        }
        break;
    case SL_THRIFT_I8:
        (void)read_byte(thrift);
        break;
    case SL_THRIFT_I16:
    case SL_THRIFT_I32:
    case SL_THRIFT_I64:
        (void)thrift_read_varint(thrift);
        break;
    case SL_THRIFT_DOUBLE:
        if (thrift->end - thrift->at < 8) {
            thrift_fail(thrift);
        } else {
            thrift->at += 8;
        }
        break;
    case SL_THRIFT_BINARY:
        (void)read_binary(thrift);
        break;
    case SL_THRIFT_LIST:
    case SL_THRIFT_SET:
        next = list_level(thrift);
        break;
    case SL_THRIFT_MAP:
        next = map_level(thrift);
        break;
    case SL_THRIFT_STRUCT:
        next = (level){.type = SL_THRIFT_STRUCT, .left = UINT64_MAX};
        break;
    default:
        thrift_fail(thrift);
    }
    if (next.type != SL_THRIFT_STOP || next.left > 0) {
        if (*depth == SL_THRIFT_DEPTH) {
            thrift_fail(thrift);
        } else {
            levels[(*depth)++] = next;
        }
    }
    return !thrift->bad;
}

void sl_thrift_skip(sl_thrift *thrift, const sl_thrift_field *field)
{
    level levels[SL_THRIFT_DEPTH];
    uint32_t depth = 0;
    if (!thrift_enter(thrift, field->type, false, levels, &depth)) {
        return;
    }
    while (depth > 0 && !thrift->bad) {
        level *top = &levels[depth - 1];
        if (top->left == UINT64_MAX) {
            if (!sl_thrift_next(thrift, &top->field)) {
                depth--;
                continue;
            }
            (void)thrift_enter(thrift, top->field.type, false, levels, &depth);
        } else if (top->left == 0) {
            depth--;
        } else {
            const uint8_t type = top->left % 2 == 0 ? top->type : top->other;
            top->left--;
            (void)thrift_enter(thrift, type, true, levels, &depth);
        }
    }
}

/* ---- values ---- */

int64_t sl_thrift_integer(sl_thrift *thrift, const sl_thrift_field *field)
{
    if (field->type == SL_THRIFT_I8) {
        return (int8_t)read_byte(thrift);
    }
    if (field->type < SL_THRIFT_I16 || field->type > SL_THRIFT_I64) {
        thrift_fail(thrift);
        return 0;
    }
    return thrift_read_integer(thrift);
}

bool sl_thrift_bool(sl_thrift *thrift, const sl_thrift_field *field)
{
    if (field->type != SL_THRIFT_TRUE && field->type != SL_THRIFT_FALSE) {
        thrift_fail(thrift);
    }
    return field->type == SL_THRIFT_TRUE;
}

sl_bytes sl_thrift_binary(sl_thrift *thrift, const sl_thrift_field *field)
{
    if (field->type != SL_THRIFT_BINARY) {
        thrift_fail(thrift);
    }
    return read_binary(thrift);
}

uint32_t sl_thrift_list(sl_thrift *thrift, const sl_thrift_field *field, sl_thrift_type type)
{
    if (field->type != SL_THRIFT_LIST) {
        thrift_fail(thrift);
    }
    const level list = list_level(thrift);
    if (list.left > UINT32_MAX || (list.left > 0 && list.type != type)) {
        thrift_fail(thrift);
    }
    return thrift->bad ? 0 : (uint32_t)list.left;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_list: measures the steps of a feature_list and writes them out; pure, on any thread.
 *
 * Passes over a list twice: to count, then to write into memory of that size. Texts are counted by
 * the function that writes them (`to` NULL), so that the two cannot differ.
 */
#include "step_list.h"

#include "minmax.h"

#include <string.h>

enum { STEP = 1 };

static const char damaged[] = "its feature_list is damaged";
static const char none[] = "null";
enum { NONE_BYTES = sizeof(none) - 1 };

/* The size of one step in the output. */
typedef struct step_size {
    uint64_t count, bytes;
} step_size;

bool sl_step_next(sl_wire *steps, sl_feature_list *step, const char **why)
{
    sl_wire_field field;
    *why = NULL;
    while (sl_wire_next(steps, &field)) {
        if (field.number != STEP) {
            continue;
        }
        *why = field.type == SL_WIRE_BYTES ? sl_feature_read(field.bytes, step) : damaged;
        return *why == NULL;
    }
    *why = sl_wire_ended(steps) ? NULL : damaged;
    return false;
}

/* ---- texts ---- */

/* Writes a JSON string; returns its size. `to` NULL: only counts. */
static size_t step_list_put_text(uint8_t *to, sl_bytes text)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < text.size + 2; i++) {
        const bool quote = i == 0 || i == text.size + 1;
        const uint8_t sign = quote ? '"' : text.data[i - 1];
        const bool escaped = !quote && (sign == '"' || sign == '\\');
        const uint8_t control[] = {
            '\\', 'u', '0', '0', (uint8_t)digits[sign >> 4], (uint8_t)digits[sign & 15]};
        const uint8_t plain[] = {'\\', sign};
        const uint8_t *from = sign < ' ' ? control : escaped ? plain : plain + 1;
        const size_t bytes = sign < ' ' ? sizeof(control) : escaped ? 2 : 1;
        if (to != NULL) {
            memcpy(to + at, from, bytes);
        }
        at += bytes;
    }
    return at;
}

/* ---- looking ---- */

static bool is_numbers(sl_steps_kind kind)
{
    return kind == SL_STEPS_I64 || kind == SL_STEPS_F32;
}

static sl_feature_kind kind_of_steps(sl_steps_kind kind)
{
    return kind == SL_STEPS_I64   ? SL_FEATURE_INT64
           : kind == SL_STEPS_F32 ? SL_FEATURE_FLOAT
                                  : SL_FEATURE_BYTES;
}

static const char *measure_bytes(sl_bytes list, step_size *size)
{
    sl_wire values = sl_wire_of(list);
    sl_bytes value;
    while (sl_feature_next(&values, &value)) {
        size->bytes += value.size;
    }
    size->count = size->bytes;
    return sl_wire_ended(&values) ? NULL : damaged;
}

static const char *steps_measure(sl_steps_kind kind, const sl_feature_list *step, step_size *size)
{
    uint64_t count = 0;
    sl_bytes last = {NULL, 0};
    if (step->kind != SL_FEATURE_NONE && !sl_feature_count(step, &count, &last)) {
        return damaged;
    }
    *size = (step_size){.count = 0, .bytes = kind == SL_STEPS_TEXT ? NONE_BYTES : 0};
    if (count == 0) {
        return NULL;
    }
    if (step->kind != kind_of_steps(kind)) {
        return "its values have a different type from the samples read at opening";
    }
    if (is_numbers(kind)) {
        *size = (step_size){count, count * (kind == SL_STEPS_I64 ? 8 : 4)};
        return NULL;
    }
    if (kind == SL_STEPS_BYTES) {
        return measure_bytes(step->bytes, size);
    }
    *size = (step_size){1, step_list_put_text(NULL, last)};
    return count == 1 ? NULL : "a step of it has several texts";
}

/* The size counted for a step is at most a multiple of its bytes, so that nothing overflows. */
const char *sl_steps_look(sl_steps_kind kind, sl_bytes list, sl_step_facts *facts)
{
    sl_wire steps = sl_wire_of(list);
    sl_feature_list step;
    const char *why;
    *facts = (sl_step_facts){.least = UINT64_MAX};
    while (sl_step_next(&steps, &step, &why)) {
        step_size size;
        why = steps_measure(kind, &step, &size);
        if (why != NULL) {
            return why;
        }
        facts->steps++;
        facts->least = sl_min_u64(size.count, facts->least);
        facts->most = sl_max_u64(size.count, facts->most);
        facts->bytes += size.bytes;
    }
    if (kind == SL_STEPS_TEXT) {
        facts->bytes += 2 + (facts->steps > 0 ? facts->steps - 1 : 0);
    }
    return why;
}

/* ---- reading ---- */

static bool step_list_read_bytes(sl_bytes list, uint8_t *to)
{
    sl_wire values = sl_wire_of(list);
    sl_bytes value;
    while (sl_feature_next(&values, &value)) {
        if (value.size > 0) {
            memcpy(to, value.data, value.size);
        }
        to += value.size;
    }
    return sl_wire_ended(&values);
}

/* Reads a step of `size`, for which there is space. */
static bool read_step(sl_steps_kind kind, const sl_feature_list *step, uint8_t *to, step_size size)
{
    if (kind == SL_STEPS_TEXT) {
        uint64_t count;
        sl_bytes text;
        if (size.count == 0) {
            memcpy(to, none, NONE_BYTES);
            return true;
        }
        return sl_feature_bytes(step->bytes, &count, &text) &&
               step_list_put_text(to, text) == size.bytes;
    }
    if (size.count == 0) {
        return true;
    }
    if (kind == SL_STEPS_BYTES) {
        return step_list_read_bytes(step->bytes, to);
    }
    return sl_list_read(kind == SL_STEPS_I64 ? SL_LIST_I64 : SL_LIST_F32, step->bytes, to,
                        size.count);
}

bool sl_steps_read(sl_steps_kind kind, sl_bytes list, void *to, uint64_t bytes)
{
    const bool text = kind == SL_STEPS_TEXT;
    sl_wire steps = sl_wire_of(list);
    sl_feature_list step;
    const char *why;
    uint8_t *begin = to;
    uint8_t *at = begin;
    uint64_t left = bytes;
    while (sl_step_next(&steps, &step, &why)) {
        step_size size;
        if (steps_measure(kind, &step, &size) != NULL || left < size.bytes + text) {
            return false;
        }
        if (text) {
            *at = at == begin ? '[' : ',';
            at++;
            left--;
        }
        if (!read_step(kind, &step, at, size)) {
            return false;
        }
        at += size.bytes;
        left -= size.bytes;
    }
    const char *end = !text ? "" : at == begin ? "[]" : "]";
    if (why != NULL || left != strlen(end)) {
        return false;
    }
    if (left > 0) {
        memcpy(at, end, left); /* an empty list that is not text may have no memory */
    }
    return true;
}

/* ---- as values ---- */

static sl_steps_kind steps_kind(const sl_value *value)
{
    return (sl_steps_kind)(value->packing - sl_value_packing_steps);
}

static sluice_status steps_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                                sluice_error *error)
{
    sl_step_facts facts;
    (void)max_bytes;
    if (sl_steps_look(steps_kind(value), value->bytes, &facts) != NULL) {
        return sl_packed_refuse(value, error);
    }
    *size = facts.bytes;
    return SLUICE_OK;
}

static sluice_status steps_unpack_to(const sl_value *value, sl_frame *frame, sl_scratch *scratch,
                                     void *to, uint64_t size, sluice_error *error)
{
    (void)frame;
    (void)scratch;
    return sl_steps_read(steps_kind(value), value->bytes, to, size)
               ? SLUICE_OK
               : sl_packed_refuse(value, error);
}

#define STEPS                                                                     \
    {                                                                             \
        .name = "list of steps", .size = steps_size, .unpack_to = steps_unpack_to \
    }
const sl_value_packing sl_value_packing_steps[SL_STEPS_KINDS] = {[SL_STEPS_I64] = STEPS,
                                                                 [SL_STEPS_F32] = STEPS,
                                                                 [SL_STEPS_BYTES] = STEPS,
                                                                 [SL_STEPS_TEXT] = STEPS};

/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include "number_list.h"

enum { FEATURES = 1, ENTRY = 1, KEY = 1, VALUE = 2, LIST_VALUE = 1 };

static const char damaged[] = "its record is no tf.train.Example";

void sl_example_begin(sl_example *example, sl_bytes message)
{
    example->message = sl_wire_of(message);
    example->features = (sl_wire){message.data, message.data};
    example->begin = message.data;
}

static sl_example_step refuse(const sl_example *example, const uint8_t *at, const char *text,
                              sl_refusal *why)
{
    *why = sl_refuse(text, (size_t)(at - example->begin));
    return SL_EXAMPLE_REFUSED;
}

/* Which list it is: one at most. */
static const char *read_feature(sl_bytes message, sl_feature *feature)
{
    sl_wire wire = sl_wire_of(message);
    sl_wire_field field;
    feature->kind = SL_FEATURE_NONE;
    while (sl_wire_next(&wire, &field)) {
        if (field.number < SL_FEATURE_BYTES || field.number > SL_FEATURE_INT64) {
            continue;
        }
        if (field.type != SL_WIRE_BYTES) {
            return damaged;
        }
        if (feature->kind != SL_FEATURE_NONE) {
            return "a feature of its tf.train.Example has two lists";
        }
        feature->kind = (sl_feature_kind)field.number;
        feature->list = field.bytes;
    }
    return sl_wire_ended(&wire) ? NULL : damaged;
}

/* An entry of the map; a key or value that is left out is an empty one. */
static const char *read_entry(sl_bytes message, sl_feature *feature)
{
    sl_wire wire = sl_wire_of(message);
    sl_wire_field field;
    sl_bytes value = {message.data, 0};
    *feature = (sl_feature){.key = value, .kind = SL_FEATURE_NONE};
    while (sl_wire_next(&wire, &field)) {
        if (field.number != KEY && field.number != VALUE) {
            continue;
        }
        if (field.type != SL_WIRE_BYTES) {
            return damaged;
        }
        *(field.number == KEY ? &feature->key : &value) = field.bytes;
    }
    return sl_wire_ended(&wire) ? read_feature(value, feature) : damaged;
}

/* The next Features message there is, into `features`; false at the end, or where it is damaged. */
static bool next_features(sl_example *example)
{
    sl_wire_field field;
    for (;;) {
        const sl_wire before = example->message;
        if (!sl_wire_next(&example->message, &field)) {
            return false;
        }
        if (field.number == FEATURES && field.type == SL_WIRE_BYTES) {
            example->features = sl_wire_of(field.bytes);
            return true;
        }
        if (field.number == FEATURES) {
            example->message = before;
            return false;
        }
    }
}

sl_example_step sl_example_next(sl_example *example, sl_feature *feature, sl_refusal *why)
{
    sl_wire_field field;
    for (;;) {
        const uint8_t *at = example->features.at;
        if (sl_wire_next(&example->features, &field)) {
            if (field.number != ENTRY) {
                continue;
            }
            const char *text =
                field.type == SL_WIRE_BYTES ? read_entry(field.bytes, feature) : damaged;
            return text == NULL ? SL_EXAMPLE_FEATURE : refuse(example, at, text, why);
        }
        if (!sl_wire_ended(&example->features)) {
            return refuse(example, at, damaged, why);
        }
        if (!next_features(example)) {
            return sl_wire_ended(&example->message)
                       ? SL_EXAMPLE_END
                       : refuse(example, example->message.at, damaged, why);
        }
    }
}

bool sl_example_bytes(sl_bytes list, uint64_t *count, sl_bytes *last)
{
    sl_wire wire = sl_wire_of(list);
    sl_wire_field field;
    *count = 0;
    *last = (sl_bytes){list.data, 0};
    while (sl_wire_next(&wire, &field)) {
        if (field.number != LIST_VALUE) {
            continue;
        }
        if (field.type != SL_WIRE_BYTES) {
            return false;
        }
        *last = field.bytes;
        ++*count;
    }
    return sl_wire_ended(&wire);
}

bool sl_example_count(const sl_feature *feature, uint64_t *count, sl_bytes *last)
{
    if (feature->kind == SL_FEATURE_BYTES) {
        return sl_example_bytes(feature->list, count, last);
    }
    sl_list_facts facts;
    const bool good = sl_list_look(feature->kind == SL_FEATURE_FLOAT ? SL_LIST_F32 : SL_LIST_I64,
                                   feature->list, &facts);
    *count = facts.count;
    return good;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

enum { FEATURES = 1, FEATURE_LISTS = 2, ENTRY = 1, KEY = 1, VALUE = 2 };

static const char damaged[] = "not a valid tf.train.Example";

void sl_example_begin(sl_example *example, sl_bytes message)
{
    example->message = sl_wire_of(message);
    example->features = (sl_wire){message.data, message.data};
    example->begin = message.data;
    example->in_lists = false;
}

static sl_example_step example_refuse(const sl_example *example, const uint8_t *at,
                                      const char *text, sl_refusal *why)
{
    *why = sl_refuse(text, (size_t)(at - example->begin));
    return SL_EXAMPLE_REFUSED;
}

/* Reads an entry of the map; a missing key or value is empty. */
static const char *example_read_entry(sl_bytes message, bool of_lists, sl_feature *feature)
{
    sl_wire wire = sl_wire_of(message);
    sl_wire_field field;
    sl_bytes value = {message.data, 0};
    *feature = (sl_feature){.key = value, .in_lists = of_lists};
    while (sl_wire_next(&wire, &field)) {
        if (field.number != KEY && field.number != VALUE) {
            continue;
        }
        if (field.type != SL_WIRE_BYTES) {
            return damaged;
        }
        *(field.number == KEY ? &feature->key : &value) = field.bytes;
    }
    if (!sl_wire_ended(&wire)) {
        return damaged;
    }
    feature->list.bytes = value;
    return of_lists ? NULL : sl_feature_read(value, &feature->list);
}

/*
 * Finds the next Features or FeatureLists and stores it in `features`; false: the end, or damaged.
 */
static bool next_features(sl_example *example)
{
    sl_wire_field field;
    for (;;) {
        const sl_wire before = example->message;
        if (!sl_wire_next(&example->message, &field)) {
            return false;
        }
        if (field.number != FEATURES && field.number != FEATURE_LISTS) {
            continue;
        }
        if (field.type != SL_WIRE_BYTES) {
            example->message = before;
            return false;
        }
        example->features = sl_wire_of(field.bytes);
        example->in_lists = field.number == FEATURE_LISTS;
        return true;
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
            const char *text = field.type == SL_WIRE_BYTES
                                   ? example_read_entry(field.bytes, example->in_lists, feature)
                                   : damaged;
            return text == NULL ? SL_EXAMPLE_FEATURE : example_refuse(example, at, text, why);
        }
        if (!sl_wire_ended(&example->features)) {
            return example_refuse(example, at, damaged, why);
        }
        if (!next_features(example)) {
            return sl_wire_ended(&example->message)
                       ? SL_EXAMPLE_END
                       : example_refuse(example, example->message.at, damaged, why);
        }
    }
}

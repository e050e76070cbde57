/* SPDX-License-Identifier: Apache-2.0 */
#include "feature.h"

#include "number_list.h"

enum { LIST_VALUE = 1 };

static const char damaged[] = "not a valid tf.train.Example";

const char *sl_feature_read(sl_bytes message, sl_feature_list *list)
{
    sl_wire wire = sl_wire_of(message);
    sl_wire_field field;
    *list = (sl_feature_list){.kind = SL_FEATURE_NONE, .bytes = {message.data, 0}};
    while (sl_wire_next(&wire, &field)) {
        if (field.number < SL_FEATURE_BYTES || field.number > SL_FEATURE_INT64) {
            continue;
        }
        if (field.type != SL_WIRE_BYTES) {
            return damaged;
        }
        if (list->kind != SL_FEATURE_NONE) {
            return "a feature of its tf.train.Example has two lists";
        }
        *list = (sl_feature_list){(sl_feature_kind)field.number, field.bytes};
    }
    return sl_wire_ended(&wire) ? NULL : damaged;
}

bool sl_feature_next(sl_wire *values, sl_bytes *value)
{
    sl_wire_field field;
    for (;;) {
        const sl_wire before = *values;
        if (!sl_wire_next(values, &field)) {
            return false;
        }
        if (field.number == LIST_VALUE) {
            *value = field.bytes;
            *values = field.type == SL_WIRE_BYTES ? *values : before;
            return field.type == SL_WIRE_BYTES;
        }
    }
}

bool sl_feature_bytes(sl_bytes list, uint64_t *count, sl_bytes *last)
{
    sl_wire values = sl_wire_of(list);
    *count = 0;
    *last = (sl_bytes){list.data, 0};
    while (sl_feature_next(&values, last)) {
        ++*count;
    }
    return sl_wire_ended(&values);
}

bool sl_feature_count(const sl_feature_list *list, uint64_t *count, sl_bytes *last)
{
    *last = (sl_bytes){list->bytes.data, 0};
    if (list->kind == SL_FEATURE_BYTES) {
        return sl_feature_bytes(list->bytes, count, last);
    }
    sl_list_facts facts;
    const bool good = sl_list_look(list->kind == SL_FEATURE_FLOAT ? SL_LIST_F32 : SL_LIST_I64,
                                   list->bytes, &facts);
    *count = facts.count;
    return good;
}

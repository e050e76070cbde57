/* SPDX-License-Identifier: Apache-2.0 */
/* Values from the features of a tf.train.Example. */
#include "dtype.h"
#include "example_fields.h"
#include "number_list.h"

#include <string.h>

/* An Example while it is taken apart. */
typedef struct parts {
    const sl_example_fields *fields;
    sl_bytes example;
    uint32_t offset;
    sl_values *values;
} parts;

static const char several[] =
    "it has several values, where the samples that were looked at have one: choose a type for it "
    "(the option fields)";
static const char damaged[] = "its list of values is damaged";

static const char *take_bytes(const sl_feature *feature, sl_value *value)
{
    uint64_t count;
    if (!sl_example_bytes(feature->list, &count, &value->bytes)) {
        return damaged;
    }
    value->present = count == 1;
    return count <= 1 ? NULL : several;
}

static const char *take_number(const sl_feature *feature, sl_list_kind kind, sl_value *value)
{
    sl_list_facts facts;
    union {
        int64_t integer;
        float number;
    } read = {.integer = 0};
    if (!sl_list_look(kind, feature->list, &facts)) {
        return damaged;
    }
    if (facts.count != 1) {
        return facts.count == 0 ? NULL : several;
    }
    if (!sl_list_read(kind, feature->list, &read, 1)) {
        return damaged;
    }
    value->present = true;
    if (kind == SL_LIST_I64) {
        value->integer = read.integer;
    } else {
        value->number = (double)read.number;
    }
    return NULL;
}

/* Where its elements lie, or what they are made of; `*count` of them. */
static const char *take_elements(const sl_feature *feature, const sl_field *field, sl_value *value,
                                 uint64_t *count)
{
    sl_list_facts facts;
    if (feature->kind == SL_FEATURE_BYTES) {
        const size_t element = sl_dtype_bytes(field->dtype);
        const char *why = take_bytes(feature, value);
        *count = value->bytes.size / element;
        return why == NULL && value->bytes.size % element != 0 ? "its bytes are no whole elements"
                                                               : why;
    }
    const sl_list_kind kind = feature->kind == SL_FEATURE_FLOAT ? SL_LIST_F32 : SL_LIST_I64;
    if (!sl_list_look(kind, feature->list, &facts)) {
        return damaged;
    }
    *count = facts.count;
    value->present = true;
    value->bytes = facts.plain.data != NULL ? facts.plain : feature->list;
    value->list = facts.plain.data != NULL ? SL_LIST_NONE : (uint8_t)kind;
    return NULL;
}

static const char *take_tensor(const sl_feature *feature, const sl_field *field, uint64_t step,
                               sl_value *value)
{
    uint64_t count = 0;
    const char *why = take_elements(feature, field, value, &count);
    if (why != NULL || !value->present) {
        return why;
    }
    memcpy(value->shape, field->shape, sizeof(value->shape));
    if (field->shape[0] == 0) {
        value->shape[0] = count / step;
        return count % step == 0 ? NULL : "its values are no whole rows of its shape";
    }
    return count == field->shape[0] * step ? NULL
                                           : "it has another number of values than its shape";
}

/* An empty list of another kind is one of the right kind. */
static bool is_empty(const sl_feature *feature)
{
    uint64_t count;
    sl_bytes last;
    return sl_example_count(feature, &count, &last) && count == 0;
}

static sl_refusal take(const parts *p, uint32_t number, const sl_feature *given)
{
    const sl_field *field = &p->fields->fields[number];
    const sl_example_field *of = &p->fields->of[number];
    sl_value *value = &p->values->of[number];
    const char *why = NULL;
    const sl_feature empty = {.kind = of->kind, .list = {given->list.data, 0}};
    const sl_feature *feature = given->kind != of->kind && is_empty(given) ? &empty : given;
    *value = (sl_value){.present = false}; /* of a key that is there twice the last one counts */
    if (given->kind == SL_FEATURE_NONE) {
        return sl_accept();
    }
    if (feature->kind != of->kind) {
        why = "its values are of another kind than in the samples that were looked at";
    } else if (field->type == SLUICE_FIELD_TENSOR) {
        why = take_tensor(feature, field, of->step, value);
    } else if (field->type == SLUICE_FIELD_INT) {
        why = take_number(feature, SL_LIST_I64, value);
    } else if (field->type == SLUICE_FIELD_FLOAT) {
        why = take_number(feature, SL_LIST_F32, value);
    } else {
        why = take_bytes(feature, value);
    }
    if (value->present && value->bytes.data != NULL) {
        value->offset = p->offset + (uint32_t)(value->bytes.data - p->example.data);
    }
    if (why == NULL) {
        return sl_accept();
    }
    sl_refusal refusal = sl_refuse(why, p->offset + (size_t)(feature->list.data - p->example.data));
    refusal.field = field->name;
    return refusal;
}

static sl_refusal take_feature(const parts *p, const sl_feature *feature)
{
    for (uint32_t i = 0; i < p->fields->count; i++) {
        const sl_example_field *of = &p->fields->of[i];
        if (of->key_bytes == feature->key.size && sl_values_want(p->values, i) &&
            memcmp(of->key, feature->key.data, of->key_bytes) == 0) {
            const sl_refusal refusal = take(p, i, feature);
            if (refusal.text != NULL) {
                return refusal;
            }
        }
    }
    return sl_accept();
}

sl_refusal sl_example_fields_unpack(const sl_example_fields *fields, sl_bytes example,
                                    uint32_t offset, sl_values *values)
{
    const parts p = {fields, example, offset, values};
    sl_example walk;
    sl_feature feature;
    sl_refusal why;
    for (uint32_t i = 0; i < fields->count; i++) {
        values->of[i] = (sl_value){.present = false};
    }
    sl_example_begin(&walk, example);
    for (;;) {
        switch (sl_example_next(&walk, &feature, &why)) {
        case SL_EXAMPLE_REFUSED:
            why.offset += offset;
            return why;
        case SL_EXAMPLE_END:
            return sl_accept();
        case SL_EXAMPLE_FEATURE:
            why = take_feature(&p, &feature);
            if (why.text != NULL) {
                return why;
            }
        }
    }
}

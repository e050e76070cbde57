/* SPDX-License-Identifier: Apache-2.0 */
/* example_values: reads values from the features of a tf.train.Example or SequenceExample. */
#include "dtype.h"
#include "example_fields.h"
#include "example_steps.h"
#include "number_list.h"

#include <string.h>

/* State of unpacking an Example. */
typedef struct parts {
    const sl_example_fields *fields;
    sl_bytes example;
    uint32_t offset;
    sl_values *values;
} parts;

static const char several[] = "it has several values, but the samples read at opening have one: "
                              "choose a type for it (" SL_OPTION("the option fields") ")";
static const char damaged[] = "its list of values is damaged";

static const char *example_values_take_bytes(const sl_feature_list *list, sl_value *value)
{
    uint64_t count;
    if (!sl_feature_bytes(list->bytes, &count, &value->bytes)) {
        return damaged;
    }
    value->present = count == 1;
    return count <= 1 ? NULL : several;
}

static const char *example_take_number(const sl_feature_list *list, sl_list_kind kind,
                                       sl_value *value)
{
    sl_list_facts facts;
    union {
        int64_t integer;
        float number;
    } read = {.integer = 0};
    if (!sl_list_look(kind, list->bytes, &facts)) {
        return damaged;
    }
    if (facts.count != 1) {
        return facts.count == 0 ? NULL : several;
    }
    if (!sl_list_read(kind, list->bytes, &read, 1)) {
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

/* Finds its elements, or the data that they are made from, and their number `*count`. */
static const char *example_values_take_elements(const sl_feature_list *list, const sl_field *field,
                                                sl_value *value, uint64_t *count)
{
    sl_list_facts facts;
    if (list->kind == SL_FEATURE_BYTES) {
        const size_t element = sl_dtype_bytes(field->dtype);
        const char *why = example_values_take_bytes(list, value);
        *count = value->bytes.size / element;
        return why == NULL && value->bytes.size % element != 0
                   ? "its size is not a multiple of the element size"
                   : why;
    }
    const sl_list_kind kind = list->kind == SL_FEATURE_FLOAT ? SL_LIST_F32 : SL_LIST_I64;
    if (!sl_list_look(kind, list->bytes, &facts)) {
        return damaged;
    }
    *count = facts.count;
    value->present = true;
    value->bytes = facts.plain.data != NULL ? facts.plain : list->bytes;
    value->packing = facts.plain.data != NULL ? NULL : &sl_value_packing_numbers[kind];
    return NULL;
}

static const char *take_tensor(const sl_feature_list *list, const sl_field *field, uint64_t step,
                               sl_value *value)
{
    uint64_t count = 0;
    const char *why = example_values_take_elements(list, field, value, &count);
    if (why != NULL || !value->present) {
        return why;
    }
    memcpy(value->shape, field->shape, sizeof(value->shape));
    if (field->shape[0] == 0) {
        value->shape[0] = count / step;
        return count % step == 0 ? NULL : "the number of its values does not match its shape";
    }
    return count == field->shape[0] * step ? NULL
                                           : "the number of its values does not match its shape";
}

/* Returns whether a list is empty; its kind is then ignored. */
static bool is_empty(const sl_feature_list *list)
{
    uint64_t count;
    sl_bytes last;
    return sl_feature_count(list, &count, &last) && count == 0;
}

/* Makes a field's value from a list that is present. */
static const char *example_values_take_list(const sl_field *field, const sl_example_field *of,
                                            const sl_feature_list *given, sl_value *value)
{
    const sl_feature_list empty = {.kind = of->kind, .bytes = {given->bytes.data, 0}};
    const sl_feature_list *list = given->kind != of->kind && is_empty(given) ? &empty : given;
    if (list->kind != of->kind) {
        return "its values have a different type from the samples read at opening";
    }
    switch (field->type) {
    case SLUICE_FIELD_TENSOR:
        return take_tensor(list, field, of->step, value);
    case SLUICE_FIELD_INT:
        return example_take_number(list, SL_LIST_I64, value);
    case SLUICE_FIELD_FLOAT:
        return example_take_number(list, SL_LIST_F32, value);
    default:
        return example_values_take_bytes(list, value);
    }
}

static const char *take_feature(const sl_field *field, const sl_example_field *of,
                                const sl_feature_list *given, sl_value *value)
{
    sl_feature_list list = *given;
    if (of->in_lists && of->element == SL_FIELD_NONE) {
        return sl_example_steps_take(field, of, given->bytes, value);
    }
    const char *why = of->in_lists ? sl_example_steps_find(of, given->bytes, &list) : NULL;
    return why != NULL || list.kind == SL_FEATURE_NONE
               ? why
               : example_values_take_list(field, of, &list, value);
}

static sl_refusal example_take(const parts *p, uint32_t number, const sl_feature_list *list)
{
    const sl_field *field = &p->fields->fields[number];
    sl_value *value = &p->values->of[number];
    *value = (sl_value){.present = false}; /* the last of duplicate keys counts */
    const char *why = take_feature(field, &p->fields->of[number], list, value);
    if (value->present && value->bytes.data != NULL) {
        value->offset = p->offset + (uint32_t)(value->bytes.data - p->example.data);
    }
    if (why == NULL) {
        return sl_accept();
    }
    sl_refusal refusal = sl_refuse(why, p->offset + (size_t)(list->bytes.data - p->example.data));
    refusal.field = field->name;
    return refusal;
}

static sl_refusal example_values_take_entry(const parts *p, const sl_feature *feature)
{
    for (uint32_t i = 0; i < p->fields->count; i++) {
        const sl_example_field *of = &p->fields->of[i];
        if (of->in_lists == feature->in_lists && of->key_bytes == feature->key.size &&
            sl_values_want(p->values, i) &&
            memcmp(of->key, feature->key.data, of->key_bytes) == 0) {
            const sl_refusal refusal = example_take(p, i, &feature->list);
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
            why = example_values_take_entry(&p, &feature);
            if (why.text != NULL) {
                return why;
            }
        }
    }
}

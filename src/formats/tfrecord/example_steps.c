/* SPDX-License-Identifier: Apache-2.0 */
#include "example_steps.h"

#include "dtype.h"
#include "step_list.h"
#include "unicode.h"

#include <string.h>

static sl_steps_kind list_kind(const sl_field *field, const sl_example_field *of)
{
    if (field->type == SLUICE_FIELD_TEXT) {
        return SL_STEPS_TEXT;
    }
    return of->kind == SL_FEATURE_INT64   ? SL_STEPS_I64
           : of->kind == SL_FEATURE_FLOAT ? SL_STEPS_F32
                                          : SL_STEPS_BYTES;
}

/* Checks a list whose steps sl_steps_look accepts as texts. */
static const char *check_texts(sl_bytes list)
{
    sl_wire steps = sl_wire_of(list);
    sl_feature_list step;
    const char *why;
    while (sl_step_next(&steps, &step, &why)) {
        uint64_t count;
        sl_bytes text;
        if (step.kind == SL_FEATURE_BYTES && sl_feature_bytes(step.bytes, &count, &text) &&
            !sl_is_utf8(text)) {
            return "the text of a step is not valid UTF-8";
        }
    }
    return why;
}

static const char *set_shape(const sl_field *field, const sl_example_field *of,
                             const sl_step_facts *facts, sl_value *value)
{
    const size_t element = sl_dtype_bytes(field->dtype);
    const uint64_t unit = of->kind == SL_FEATURE_BYTES ? element : 1; /* in units of widths */
    const uint64_t count = facts->bytes / element;
    if (facts->steps > 0 && of->width > 0 &&
        (facts->least != of->width * unit || facts->most != of->width * unit)) {
        return "the number of values in a step does not match its shape";
    }
    if (facts->bytes % element != 0) {
        return "its size is not a multiple of the element size";
    }
    memcpy(value->shape, field->shape, sizeof(value->shape));
    value->shape[0] = field->shape[0] == 0 ? count / of->step : field->shape[0];
    return count == value->shape[0] * of->step
               ? NULL
               : "the number of its values does not match its shape";
}

const char *sl_example_steps_take(const sl_field *field, const sl_example_field *of, sl_bytes list,
                                  sl_value *value)
{
    const sl_steps_kind kind = list_kind(field, of);
    sl_step_facts facts;
    const char *why = sl_steps_look(kind, list, &facts);
    if (why == NULL) {
        why = kind == SL_STEPS_TEXT ? check_texts(list) : set_shape(field, of, &facts, value);
    }
    value->present = true;
    value->bytes = list;
    value->packing = &sl_value_packing_steps[kind];
    return why;
}

const char *sl_example_steps_find(const sl_example_field *of, sl_bytes list, sl_feature_list *found)
{
    sl_wire steps = sl_wire_of(list);
    sl_feature_list step;
    const char *why;
    *found = (sl_feature_list){.kind = SL_FEATURE_NONE, .bytes = list};
    for (uint32_t i = 0; i <= of->element; i++) {
        if (!sl_step_next(&steps, &step, &why)) {
            return why;
        }
    }
    *found = step;
    return of->last && sl_step_next(&steps, &step, &why)
               ? "it has more steps than the samples read at opening: choose the fields to read "
                 "(" SL_OPTION("the option fields") ")"
               : NULL;
}

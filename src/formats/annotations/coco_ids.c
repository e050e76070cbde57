/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_ids.h"

#include <math.h>

/* Whole numbers up to this are exact in binary64. */
#define EXACT 9007199254740992.0

void sl_coco_ids_close(sl_coco_ids *ids)
{
    json_decref(ids->texts);
    *ids = (sl_coco_ids){.texts = NULL};
}

bool sl_coco_whole(const json_t *value, int64_t *number)
{
    if (json_is_integer(value)) {
        *number = json_integer_value(value);
        return true;
    }
    const double real = json_real_value(value);
    if (!json_is_real(value) || real != floor(real) || fabs(real) > EXACT) {
        return false;
    }
    *number = (int64_t)real;
    return true;
}

static sl_coco_id_kind coco_ids_number(sl_coco_ids *ids, const json_t *text, int64_t *number)
{
    if (ids->texts == NULL) {
        ids->texts = json_object();
    }
    const json_t *known = json_object_get(ids->texts, json_string_value(text));
    if (known != NULL) {
        *number = json_integer_value(known);
        return SL_COCO_ID_FINE;
    }
    *number = (int64_t)json_object_size(ids->texts);
    return json_object_set_new(ids->texts, json_string_value(text), json_integer(*number)) == 0
               ? SL_COCO_ID_FINE
               : SL_COCO_ID_NO_MEMORY;
}

sl_coco_id_kind sl_coco_ids_take(sl_coco_ids *ids, const json_t *value, int64_t *number)
{
    if (json_is_string(value)) {
        ids->has_texts = true;
        return ids->has_numbers ? SL_COCO_ID_MIXED : coco_ids_number(ids, value, number);
    }
    if (!sl_coco_whole(value, number)) {
        return SL_COCO_ID_WRONG;
    }
    ids->has_numbers = true;
    return ids->has_texts ? SL_COCO_ID_MIXED : SL_COCO_ID_FINE;
}

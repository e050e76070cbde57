/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of steps, from the rows that steps_*.c define and CMakeLists.txt lists. Constant.
 */
#include "steps.h"

#include <math.h>
#include <string.h>

/* step_rows.inc has a line for each step, in the order of CMakeLists.txt. */
#define SL_STEP_ROW(row) extern const sl_step_kind row;
#include "step_rows.inc"
#undef SL_STEP_ROW

const sl_step_kind *const sl_step_kinds[] = {
#define SL_STEP_ROW(row) &(row),
#include "step_rows.inc"
#undef SL_STEP_ROW
};

const uint32_t sl_step_kind_count = sizeof(sl_step_kinds) / sizeof(sl_step_kinds[0]);

const sl_step_kind *sl_step_find(const char *name)
{
    for (uint32_t i = 0; i < sl_step_kind_count; i++) {
        if (strcmp(sl_step_kinds[i]->name, name) == 0) {
            return sl_step_kinds[i];
        }
    }
    return NULL;
}

uint32_t sl_step_argument_count(const sl_step_kind *kind)
{
    uint32_t count = 0;
    while (count < SL_STEP_ARGUMENTS_MAX && kind->arguments[count].name != NULL) {
        count++;
    }
    return count;
}

uint32_t sl_step_number_count(const sl_step_kind *kind)
{
    const uint32_t count = sl_step_argument_count(kind);
    const bool has_list = count > 0 && kind->arguments[count - 1].list_most > 0;
    return has_list ? count - 1 + kind->arguments[count - 1].list_most : count;
}

const sl_argument *sl_step_argument_at(const sl_step_kind *kind, uint32_t place)
{
    const uint32_t count = sl_step_argument_count(kind);
    if (place >= sl_step_number_count(kind)) {
        return NULL;
    }
    return &kind->arguments[place < count ? place : count - 1];
}

double sl_step_preset(const sl_step_kind *kind, uint32_t place, uint32_t given)
{
    const sl_argument *argument = sl_step_argument_at(kind, place);
    if (argument == NULL || argument->presets == NULL) {
        return argument != NULL ? argument->preset : 0;
    }
    const uint32_t first = (uint32_t)(argument - kind->arguments);
    const bool is_preset = given <= first && place - first < argument->preset_count;
    return is_preset ? argument->presets[place - first] : (double)NAN;
}

bool sl_step_gives_size(const sl_step_kind *kind)
{
    double least[SL_STEP_ARGUMENTS_MAX];
    uint32_t size[2] = {0, 0};
    for (uint32_t i = 0; i < SL_STEP_ARGUMENTS_MAX; i++) {
        least[i] = kind->arguments[i].least;
    }
    if (kind->size != NULL) {
        kind->size(least, &size[0], &size[1]);
    }
    return size[0] > 0;
}

const char *sl_step_stage_name(sl_step_stage stage)
{
    static const char *const names[SL_STAGES] = {"geometry", "flip",  "color",     "filter",
                                                 "policy",   "group", "normalize", "batch"};
    return names[stage];
}

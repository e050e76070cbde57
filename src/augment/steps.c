/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of steps, from the rows that steps_*.c define and CMakeLists.txt lists. Constant.
 */
#include "steps.h"

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

const char *sl_step_stage_name(sl_step_stage stage)
{
    static const char *const names[SL_STAGES] = {"geometry", "flip",  "color",     "filter",
                                                 "policy",   "group", "normalize", "batch"};
    return names[stage];
}

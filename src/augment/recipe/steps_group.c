/* SPDX-License-Identifier: Apache-2.0 */
/* steps_group: groups of steps. recipe_draw.c draws which of their steps are done. Pure. */
#include "step_row.h"

SL_STEP(sequence) = {.name = "sequence",
                     .text = "the steps in it, as one",
                     .stage = SL_STAGE_GROUP,
                     .group = SL_GROUP_SEQUENCE};

SL_STEP(shared) = {
    .name = "shared",
    .text = "the steps in it, which draw alike in all columns that have such a group, by a key",
    .stage = SL_STAGE_GROUP,
    .group = SL_GROUP_SEQUENCE,
    .shares = true,
    .arguments = {{SL_ARG_WHOLE("key", 0, 255, 0)}}};

SL_STEP(random_apply) = {.name = "random_apply",
                         .text = "the steps in it, or none of them",
                         .stage = SL_STAGE_GROUP,
                         .group = SL_GROUP_APPLY,
                         .stream = 28,
                         .arguments = {{SL_ARG_PROBABILITY(0.5)}}};

SL_STEP(random_choice) = {
    .name = "random_choice",
    .text = "one of the steps in it",
    .stage = SL_STAGE_GROUP,
    .group = SL_GROUP_CHOICE,
    .stream = 29,
    .arguments = {{"weights", SL_NUMBER_REAL, false, 0, 1e9, 1, NULL, SL_STEP_ARGUMENTS_MAX}}};

SL_STEP(random_order) = {.name = "random_order",
                         .text = "the steps in it, in a random order",
                         .stage = SL_STAGE_GROUP,
                         .group = SL_GROUP_ORDER,
                         .stream = 30};

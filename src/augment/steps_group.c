/* SPDX-License-Identifier: Apache-2.0 */
/* steps_group: groups of steps. recipe_draw.c draws which of their steps are done. Pure. */
#include "step_row.h"

#define WEIGHT(name) name, SL_NUMBER_REAL, false, 0, 1e9, 1

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

SL_STEP(random_choice) = {.name = "random_choice",
                          .text = "one of the steps in it",
                          .stage = SL_STAGE_GROUP,
                          .group = SL_GROUP_CHOICE,
                          .stream = 29,
                          .arguments = {{WEIGHT("weight_1")},
                                        {WEIGHT("weight_2")},
                                        {WEIGHT("weight_3")},
                                        {WEIGHT("weight_4")},
                                        {WEIGHT("weight_5")},
                                        {WEIGHT("weight_6")},
                                        {WEIGHT("weight_7")},
                                        {WEIGHT("weight_8")},
                                        {WEIGHT("weight_9")},
                                        {WEIGHT("weight_10")},
                                        {WEIGHT("weight_11")},
                                        {WEIGHT("weight_12")},
                                        {WEIGHT("weight_13")},
                                        {WEIGHT("weight_14")},
                                        {WEIGHT("weight_15")},
                                        {WEIGHT("weight_16")}}};

SL_STEP(random_order) = {.name = "random_order",
                         .text = "the steps in it, in a random order",
                         .stage = SL_STAGE_GROUP,
                         .group = SL_GROUP_ORDER,
                         .stream = 30};

/* SPDX-License-Identifier: Apache-2.0 */
#include "rig_parts.h"

rig_part_list rig_parts(uint64_t image_bytes)
{
    const rig_part_list list = {{
        [RIG_IMAGE] =
            {.name = "image", .dims = 1, .shape = {(int64_t)image_bytes}, .row_bytes = image_bytes},
        [RIG_LABEL] = {.name = "label", .dtype = SLUICE_I64, .row_bytes = 8},
        [RIG_INDEX] = {.name = "index", .dtype = SLUICE_I64, .row_bytes = 8},
        [RIG_STATUS] = {.name = "status", .row_bytes = 1},
        [RIG_MASK] = {.name = "mask", .row_bytes = 1},
        [RIG_FLAGS] = {.name = "flags", .role = SL_PART_HIDDEN, .row_bytes = 1},
    }};
    return list;
}

rig_view rig_view_of(sl_part_view parts)
{
    const rig_view view = {.images = parts[RIG_IMAGE],
                           .labels = (int64_t *)(void *)parts[RIG_LABEL],
                           .indices = (int64_t *)(void *)parts[RIG_INDEX],
                           .status = parts[RIG_STATUS],
                           .mask = parts[RIG_MASK],
                           .flags = parts[RIG_FLAGS]};
    return view;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rig_parts: the parts of a batch in tests of staging: images and the arrays beside them. */
#ifndef RIG_PARTS_H
#define RIG_PARTS_H

#include "parts.h"

enum { RIG_IMAGE, RIG_LABEL, RIG_INDEX, RIG_STATUS, RIG_MASK, RIG_FLAGS, RIG_PARTS };

typedef struct rig_part_list {
    sl_part of[RIG_PARTS];
} rig_part_list;

/* Returns the parts for images of `image_bytes`, in writing order. */
rig_part_list rig_parts(uint64_t image_bytes);

/* The arrays by name. */
typedef struct rig_view {
    uint8_t *images;
    int64_t *labels, *indices;
    uint8_t *status, *mask, *flags;
} rig_view;

rig_view rig_view_of(sl_part_view parts);

#endif

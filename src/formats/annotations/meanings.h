/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meanings: the meanings of fields of annotated images, for the field tables of their readers.
 *
 * Purpose: one spelling of what COCO, VOC and YOLO have in common. Threads: pure.
 */
#ifndef SL_MEANINGS_H
#define SL_MEANINGS_H

#include "value.h"

/* Initialisers of an sl_meaning. */
#define SL_MEANS_IMAGE(way)                     \
    {                                           \
        .orientation = SLUICE_ORIENTATION_##way \
    }
#define SL_MEANS_BOXES(format, counts, way)                                                 \
    {                                                                                       \
        .role = SLUICE_ROLE_BOXES, .box_format = SLUICE_BOX_##format,                       \
        .coordinates = SLUICE_COORDINATES_##counts, .orientation = SLUICE_ORIENTATION_##way \
    }
#define SL_MEANS_POINTS(counts, way)                                            \
    {                                                                           \
        .role = SLUICE_ROLE_POINTS, .coordinates = SLUICE_COORDINATES_##counts, \
        .orientation = SLUICE_ORIENTATION_##way, .per_box = true                \
    }
#define SL_MEANS_SHAPES(way)                                                                 \
    {                                                                                        \
        .role = SLUICE_ROLE_SHAPES, .orientation = SLUICE_ORIENTATION_##way, .per_box = true \
    }
/* A mask of the image, whose own size determines its orientation. */
#define SL_MEANS_MASK                                                       \
    {                                                                       \
        .role = SLUICE_ROLE_MASK, .orientation = SLUICE_ORIENTATION_BY_SIZE \
    }
#define SL_MEANS_PER_BOX \
    {                    \
        .per_box = true  \
    }
#define SL_MEANS_WIDTH            \
    {                             \
        .role = SLUICE_ROLE_WIDTH \
    }
#define SL_MEANS_HEIGHT            \
    {                              \
        .role = SLUICE_ROLE_HEIGHT \
    }

#endif

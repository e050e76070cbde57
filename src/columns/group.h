/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group: geometry groups: their leads, their followers and their draws.
 *
 * Purpose: in `bind` an image column begins a group, and columns that follow its geometry join it.
 * For each row a group has one draw (group_draw.h); in `make` its columns read that draw: its trail
 * moves places, its key draws the program for labels.
 * Threads: bound by the opener; a draw belongs to a worker's row. Memory: none.
 */
#ifndef SL_GROUP_H
#define SL_GROUP_H

#include "row.h"

/* Orientation of a group's image (orientation.h). */
typedef struct sl_image_frame {
    sl_turn stored;               /* its EXIF orientation, and its size as stored */
    bool upright;                 /* it is decoded upright */
    sluice_orientation annotated; /* according to its annotated size: STORED or UPRIGHT */
} sl_image_frame;

/* The draw of a group, and its key. */
typedef struct sl_group_draw {
    sl_draw_key key;
    sl_params params;
    sl_params *labels;       /* the program for labels; NULL: no column uses it */
    uint32_t members, tiles; /* of the row, in its epoch; of each layer (composition.h) */
    bool missing;            /* the draw does not use the current member */
    uint32_t attempt;        /* number of earlier draws of the row because of this group */
    sl_image_frame frame;
} sl_group_draw;

/* Begins a group that the column leads. Its kind can `open`. */
void sl_column_lead(sl_column_set *set, sl_column *column);
/* Joins the group of the image that the column follows; or of the boxes, which then own its rows
 * (if `owned`). INVALID: no such column comes before it. */
sluice_status sl_column_follow(sl_column_set *set, sl_column *column, bool owned,
                               sluice_error *error);

#endif

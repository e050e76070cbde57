/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paste: pastes objects of partners' images over the row's own image (copy_paste).
 *
 * Purpose: finds the pixels of the second layer, and the visible rest of the first layer's objects.
 * The objects are those of the group's boxes, which have shapes. For each row: the shapes of kept
 * objects of its own images are copied, since their texts end with their members; of partners'
 * objects some are chosen, and the shapes of kept ones are drawn, at the images' positions in the
 * output and where layers meet; with the last member the row's own objects are drawn where those
 * cover them. An object with nothing left is removed together with its values; for others the box
 * is that of the remaining pixels, no larger than before.
 *
 * Invariants: own objects are in the order of their boxes, and all before the partners'. Only kept
 * objects are pasted. Owner: a worker's row, one for each group that pastes. Memory: a byte for
 * each pixel of the output and of a layer, both from the start; copies of shapes, depending on the
 * samples.
 */
#ifndef SL_PASTE_H
#define SL_PASTE_H

#include "group.h"
#include "shape_store.h"

/* Fates of an object of the row's own images. */
enum { SL_OBJECT_WHOLE, SL_OBJECT_CUT, SL_OBJECT_GONE };

struct sl_paste {
    sl_shape_store shapes; /* of own objects */
    uint8_t *picture_of;   /* of each: number of its image in the layer */
    sl_trail *trails;      /* of these images */
    uint8_t *over;         /* pixels of the output that are partners', 1, else 0 */
    uint8_t *over_layer;   /* the same where layers meet */
    double bounds[4];      /* bounding box of all such pixels of the output */
    bool any;              /* true if there are any */
    bool moves;            /* the two may differ */
    uint8_t *fates, *gone; /* of own objects, SL_OBJECT_*; whether each is GONE */
};

/* Once all columns are bound, for the image that leads a group: checks it. INVALID: a column cannot
 * follow it, or there are no shapes. */
sluice_status sl_paste_bind(sl_column_set *set, sl_column *lead, sluice_error *error);
/* Opens a worker's row. NOMEM. A zeroed one may be closed. */
sluice_status sl_paste_open(const sl_column *lead, sl_paste *paste, sluice_error *error);
void sl_paste_close(sl_paste *paste);
uint64_t sl_paste_bytes(const sl_column *lead);

/* Returns how a member's objects are chosen; false: all of them are. */
bool sl_paste_choice(const sl_group_draw *draw, sl_box_choice *choice);
/* Begins a row. */
void sl_paste_begin(sl_paste *paste);
/* Takes the objects of a member that is drawn and whose boxes are moved, while its shapes are in
 * scratch. The member is missing if nothing of it is pasted. */
sluice_status sl_paste_member(const sl_column *lead, sl_row *row, sluice_error *error);
/* Returns the pixels of partners, where layers meet; after the last member. */
const uint8_t *sl_paste_layer(const sl_paste *paste);
/* Ends a row whose columns are made of all members. Takes the decoder's scratch. */
sluice_status sl_paste_end(const sl_column *lead, sl_row *row, sl_part_view parts,
                           sluice_error *error);

#endif

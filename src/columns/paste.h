/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paste: objects of partners' pictures, over the row's own picture (copy_paste).
 *
 * Purpose: which pixels are the second layer's, and what is left of the objects of the first. The
 * objects are those of the group's boxes, which have shapes. Walk of a row: of its own pictures the
 * shapes of objects that are kept are copied, since their texts go with their members; of partners'
 * a part of the objects is chosen, and the shapes of those that are kept are drawn, in the places
 * that the pictures have in the output and where layers meet; with the last member the row's own
 * objects are drawn where those cover them. One of which nothing is left is gone, and so are the
 * values that belong to it; of another the box is that of its pixels that are left, no larger than
 * it was.
 * Invariants: own objects are in the order of their boxes, and all before the partners'. Nothing is
 * pasted that is not kept. Owner: a worker's row, one for each group that pastes. Memory: a byte
 * for each pixel of the output and of a layer, both from the start; copies of shapes, by what the
 * samples have.
 */
#ifndef SL_PASTE_H
#define SL_PASTE_H

#include "group.h"
#include "shape_store.h"

/* Of an object of the row's own pictures. */
enum { SL_OBJECT_WHOLE, SL_OBJECT_CUT, SL_OBJECT_GONE };

struct sl_paste {
    sl_shape_store shapes; /* of own objects */
    uint8_t *picture_of;   /* of each: which of the layer's pictures it is in */
    sl_trail *trails;      /* of these */
    uint8_t *over;         /* pixels of the output that are partners', 1, else 0 */
    uint8_t *over_layer;   /* the same where layers meet */
    double bounds[4];      /* all such pixels of the output are in it */
    bool any;              /* there are some */
    bool moves;            /* the two may differ */
    uint8_t *fates, *gone; /* of own objects, SL_OBJECT_*; whether it is GONE */
};

/* Once all columns are bound, of the picture that leads a group: INVALID, where what follows it
 * cannot, or there are no shapes. */
sluice_status sl_paste_bind(sl_column_set *set, sl_column *lead, sluice_error *error);
/* Of a worker's row. NOMEM. A zeroed one may be closed. */
sluice_status sl_paste_open(const sl_column *lead, sl_paste *paste, sluice_error *error);
void sl_paste_close(sl_paste *paste);
uint64_t sl_paste_bytes(const sl_column *lead);

/* How a member's objects are chosen; false: all of them are. */
bool sl_paste_choice(const sl_group_draw *draw, sl_box_choice *choice);
/* Begins a row. */
void sl_paste_begin(sl_paste *paste);
/* Takes the objects of a member that is drawn and whose boxes are moved, while its shapes are in
 * scratch. The member is missing if nothing of it is pasted. */
sluice_status sl_paste_member(const sl_column *lead, sl_row *row, sluice_error *error);
/* Pixels that are partners', where layers meet; once all members were there. */
const uint8_t *sl_paste_layer(const sl_paste *paste);
/* All columns are made of all members. Takes the decoder's scratch. */
sluice_status sl_paste_end(const sl_column *lead, sl_row *row, sl_part_view parts,
                           sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composition: the only module that combines several samples into one row.
 *
 * Purpose: maps each member of a row to its tile and layer, or reports it as missing; owns the
 * canvases of tiles and layers, and the pasted objects (paste.h); and calls a column back in the
 * right order. A column of pixels only knows how to draw one tile, how to join two layers and how
 * to finish (sl_composer).
 * Words: a group's row has `members`, its own sample first. They belong to one or two layers, and
 * each layer to one image or to `tiles` that share a canvas. A member is missing if the draw does
 * not use it: its mosaic does not happen, or nothing of a partner is pasted. A group whose recipe
 * has no step of several samples has one member, one tile and one layer.
 * Walk of a row: begin -> for each member: its group is drawn, `member` -> each column is made ->
 * end, which removes boxes and values covered by pasted objects.
 * Threads: bound by the opener; the rest by the worker that makes the row. Memory: in the worker's
 * row, from open to close; a canvas grows only after a step without a size of its own.
 */
#ifndef SL_COMPOSITION_H
#define SL_COMPOSITION_H

#include "group.h"

/* Buffers in which the members of a column's row are combined. */
typedef struct sl_canvas {
    uint8_t *tiles, *layer; /* a layer's tiles; both layers joined */
    size_t tiles_bytes, layer_bytes;
} sl_canvas;

/* A layer whose members were all drawn. */
typedef struct sl_layer_join {
    uint8_t *tiles;      /* their canvas, which is overwritten; NULL: it is one image */
    uint8_t *pixels;     /* both layers joined; NULL: there is one layer */
    const uint8_t *over; /* pixels of the output that it covers, 1, else 0; NULL: no objects */
    const uint8_t *over_layer; /* the same for the joined layers */
} sl_layer_join;

/* A column's functions to make its row from members. `ctx`: the caller's, for the current
 * member. */
typedef struct sl_composer {
    /* Returns the bytes of a canvas of tiles. NULL: the column draws tiles in place. */
    size_t (*canvas_bytes)(const void *ctx);
    /* Fills the canvas of a layer, before its first tile. */
    void (*begin)(void *ctx, uint8_t *canvas);
    /* Draws the member, to the canvas of its layer; NULL: it is not a tile. Not called for a
     * missing one. */
    sluice_status (*draw)(void *ctx, uint8_t *canvas, sluice_error *error);
    /* Joins a layer with the ones before it. Not called for an invisible layer. NULL: nothing to
     * do. */
    sluice_status (*join)(void *ctx, const sl_layer_join *joint, sluice_error *error);
    /* Makes the row, after its last member, from `pixels`: the joined layers, else the canvas of
     * tiles; NULL: the image drawn last. NULL: nothing to do. */
    sluice_status (*finish)(void *ctx, uint8_t *pixels, sluice_error *error);
} sl_composer;

/* Once all columns are bound: prepares the groups whose recipes paste objects. INVALID: one cannot
 * paste. */
sluice_status sl_composition_bind(sl_column_set *set, sluice_error *error);
/* Returns the bytes that a worker's row needs for it. */
uint64_t sl_composition_bytes(const sl_column_set *set);
/* Allocates them. NOMEM: it must be closed even then. */
sluice_status sl_composition_open(const sl_column_set *set, sl_row *row, sluice_error *error);
void sl_composition_close(const sl_column_set *set, sl_row *row);
/* Returns the most members of any row in that epoch. */
uint32_t sl_columns_members(const sl_column_set *set, uint64_t epoch);

/* Begins a row, before its first member. Rows of one member each stay as open left them. */
void sl_composition_begin(const sl_column_set *set, sl_row *row);
/* Names the member in the group's draw: its tile and its layer. */
void sl_composition_place(const sl_column *lead, sl_row *row);
/* Records the member's draw, once its boxes are moved. */
sluice_status sl_composition_member(const sl_column *lead, sl_row *row, sluice_error *error);
/* Ends groups that had their last member, when all columns are made from it. Only if
 * row->pastes. */
sluice_status sl_composition_end(const sl_column_set *set, sl_row *row, sl_part_view parts,
                                 sluice_error *error);

/* True if the column uses the current member. */
bool sl_composition_wants(const sl_column *column, const sl_row *row);
/* True if the draw does not use the current member, so that nothing of it may be appended. */
bool sl_composition_lacks(const sl_column *column, const sl_row *row);
/* True if the current member is the first, or the last, of its group's row. */
bool sl_composition_is_first(const sl_column *column, const sl_row *row);
bool sl_composition_is_last(const sl_column *column, const sl_row *row);
/* Returns the boxes of the member's objects if only kept objects are visible; else NULL. */
const sl_box_list *sl_composition_objects(const sl_column *column, const sl_row *row);

/* Makes a column from the current member. NOMEM, and the errors of the composer. */
sluice_status sl_composition_make(const sl_column *column, sl_row *row, const sl_composer *composer,
                                  void *ctx, sluice_error *error);

#endif

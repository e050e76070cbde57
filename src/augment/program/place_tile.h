/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_tile: a tile that nothing turns or shears is a box.
 *
 * Its edges are rounded to pixels of the canvas, so that neighbours have one edge, and still do;
 * what belongs to the picture follows these edges.
 */
#ifndef SL_PLACE_TILE_H
#define SL_PLACE_TILE_H

#include "geometry.h"

/* Of the geometry that is open, whose warp is a tile's place and what came behind. False, with
 * nothing changed: it is turned or sheared. */
bool sl_place_tile(sl_drawing *drawing, sl_geometry *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_tile: a tile that is not rotated or sheared becomes a box.
 *
 * Its edges are rounded to pixels of the canvas, so that neighbours still share one edge; the trail
 * follows these edges.
 */
#ifndef SL_PLACE_TILE_H
#define SL_PLACE_TILE_H

#include "geometry.h"

/* Places the tile of the open geometry, whose warp is its place and the later steps. False, with
 * nothing changed: it is rotated or sheared. */
bool sl_place_tile(sl_drawing *drawing, sl_geometry *g);

#endif

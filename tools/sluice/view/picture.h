/* SPDX-License-Identifier: Apache-2.0 */
/* picture: the sheet as one image: a title, then the tiles of each row between its caption and
 * its values. Draws of a row that do not fit side by side continue on another line. Main thread. */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include "view_job.h"

/* Lays out the sheet once everything is drawn, and draws it. `rgb` is NULL on failure: reported.
 * The caller frees it. */
struct overlay picture_draw(struct view *view);
/* Returns the position of a row's whole image in it, with --source. */
struct layout_box picture_source_place(const struct view *view, uint32_t row);
/* Returns the position of a tile in it. */
struct layout_box picture_place(const struct view *view, struct sheet_place at);

#endif

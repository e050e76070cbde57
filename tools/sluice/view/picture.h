/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture: the sheet as one picture: under a title the tiles of each row between its caption and
 * its values. Draws of a row that do not fit side by side go on in another line. Main thread.
 */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include "view_job.h"

/* Lays out the sheet, once all is drawn, and draws it. `rgb` is NULL if that failed: reported. The
 * caller frees it. */
struct overlay picture_draw(struct view *view);
/* The place of a row's whole picture in it, with --source. */
struct layout_box picture_source_place(const struct view *view, uint32_t row);
/* The place of a tile in it. */
struct layout_box picture_place(const struct view *view, struct sheet_place at);

#endif

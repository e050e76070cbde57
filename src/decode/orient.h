/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orient: turns images upright, as an EXIF orientation (1..8) says.
 *
 * "Stored" is the image as it is in the file, "upright" as it should be shown. Orientations 5..8
 * exchange width and height.
 *
 * Threads: pure.
 */
#ifndef SL_ORIENT_H
#define SL_ORIENT_H

#include "scratch.h"
#include "view.h"

#include <stdbool.h>

/* Returns whether width and height are exchanged. */
bool sl_orient_transposes(uint32_t orientation);

/* Returns the stored rectangle whose pixels are those of `upright` in an image of stored size w x
 * h. */
sl_rect sl_orient_to_stored(uint32_t orientation, sl_rect upright, uint32_t stored_width,
                            uint32_t stored_height);

/*
 * Returns whether an image scaled down by `denominator` can be turned: pixels of the scaled image
 * are counted from its left and upper edge, so a side that is mirrored must be a multiple of it.
 */
bool sl_orient_scales(uint32_t orientation, uint32_t stored_width, uint32_t stored_height,
                      uint32_t denominator);

/*
 * Makes the upright rectangle `need` from a view of the stored image that covers it. `*view`
 * becomes a view of exactly `need`, in scratch. If the view is scaled down (sl_orient_scales), the
 * left and upper edge of `need` are multiples of the denominator. NOMEM.
 */
sluice_status sl_orient_turn(uint32_t orientation, sl_rect need, sl_image *view,
                             sl_scratch *scratch, sluice_error *error);

#endif

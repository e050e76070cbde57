/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orient: turns pictures upright, as an EXIF orientation (1..8) says.
 *
 * "Stored" is the picture as the file has it, "upright" as it is to be seen. Orientations 5..8
 * exchange width and height. Threads: pure.
 */
#ifndef SL_ORIENT_H
#define SL_ORIENT_H

#include "scratch.h"
#include "view.h"

#include <stdbool.h>

/* True when width and height are exchanged. */
bool sl_orient_transposes(uint32_t orientation);

/* The stored rectangle whose pixels are those of `upright` in a picture of stored size w x h. */
sl_rect sl_orient_to_stored(uint32_t orientation, sl_rect upright, uint32_t stored_width,
                            uint32_t stored_height);

/*
 * Whether a picture scaled down by `denominator` can be turned: pixels of the scaled picture are
 * counted from its left and upper edge, so a side that is mirrored must be a multiple of it.
 */
bool sl_orient_scales(uint32_t orientation, uint32_t stored_width, uint32_t stored_height,
                      uint32_t denominator);

/*
 * Makes the upright rectangle `need` from a view of the stored picture that covers it. `*view`
 * becomes a view of exactly `need`, in scratch. Of a view that is scaled down (sl_orient_scales)
 * the left and upper edge of `need` are multiples of the denominator. NOMEM.
 */
sluice_status sl_orient_turn(uint32_t orientation, sl_rect need, sl_image *view,
                             sl_scratch *scratch, sluice_error *error);

#endif

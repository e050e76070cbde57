/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_round_trip: what is left of a canvas that was saved as a JPEG and read again.
 *
 * Purpose: JPEG's artefacts as an augmentation. The result equals, bit for bit, that of
 * libjpeg-turbo writing a baseline JPEG of that quality with 4:2:0 and its usual tables, and
 * reading it again with fancy upsampling (both with the accurate transform): what Pillow's
 * save(quality=...) and open do. Entropy coding loses nothing, so it is left out, and libjpeg with
 * it: colours, downsampling, forward transform and quantization (jpeg_ycc, jpeg_fdct) and the
 * decoder's second half (jpeg_idct, jpeg_rows).
 * Threads: pure; about 2 bytes a pixel of the caller's scratch, which is left as it was.
 */
#ifndef SL_JPEG_ROUND_TRIP_H
#define SL_JPEG_ROUND_TRIP_H

#include "scratch.h"
#include "view.h"

#include <sluice/common.h>

/*
 * All of `in` (RGB), whatever it is a part of, to as large a canvas at `out`, without gaps: apart
 * from `in`, or the very same. `quality`: 1..100, libjpeg's scale. NOMEM.
 */
sluice_status sl_jpeg_round_trip(const sl_image *in, int quality, uint8_t *out, sl_scratch *scratch,
                                 sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_round_trip: a canvas as it is after saving it as a JPEG and reading it again.
 *
 * Purpose: JPEG's artefacts as an augmentation. The result equals, bit for bit, that of
 * libjpeg-turbo writing a baseline JPEG of that quality with 4:2:0 and its usual tables, and
 * reading it again with fancy upsampling (both with the accurate transform), like Pillow's
 * save(quality=...) and open. Entropy coding is lossless, so it is left out, and libjpeg with
 * it: colours, downsampling, forward transform and quantization (jpeg_ycc, jpeg_fdct) and the
 * decoder's second half (jpeg_idct, jpeg_rows).
 * Threads: pure; about 2 bytes a pixel of the caller's scratch, which is restored.
 */
#ifndef SL_JPEG_ROUND_TRIP_H
#define SL_JPEG_ROUND_TRIP_H

#include "scratch.h"
#include "view.h"

#include <sluice/common.h>

/*
 * Converts all of `in` (RGB), which may be part of a larger image, to a canvas of the same size at
 * `out`, without gaps; `out` is separate from `in`, or equal to it. `quality`: 1..100, libjpeg's
 * scale. NOMEM.
 */
sluice_status sl_jpeg_round_trip(const sl_image *in, int quality, uint8_t *out, sl_scratch *scratch,
                                 sluice_error *error);

#endif

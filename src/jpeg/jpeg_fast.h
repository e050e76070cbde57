/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_fast: decodes sequential Huffman images with our own kernels.
 *
 * Purpose: the code path for most photos (jpeg_frame.h). The result equals libjpeg-turbo's (ISLOW
 * transform, fancy upsampling) bit for bit. Only the restart intervals under the region are read
 * (jpeg_tiles.h).
 * One sample: jpeg_tiles -> jpeg_lanes (intervals to planes of samples, through jpeg_huffman and
 * jpeg_idct) -> jpeg_rows (planes to rows of RGB).
 * This code path returns any damaged image without an error: libjpeg judges it and sets the error.
 * So exactly the images that libjpeg accepts are accepted. Threads: one owner per sl_jpeg_fast. It
 * keeps Huffman tables for later images (jpeg_table_cache.h); images live in scratch.
 */
#ifndef SL_JPEG_FAST_H
#define SL_JPEG_FAST_H

#include "jpeg_frame.h"
#include "scratch.h"
#include "view.h"

#include <sluice/common.h>

typedef struct sl_jpeg_fast sl_jpeg_fast;

/* Errors: NOMEM. */
sluice_status sl_jpeg_fast_open(sl_jpeg_fast **fast, sluice_error *error);
void sl_jpeg_fast_close(sl_jpeg_fast *fast);

typedef struct sl_jpeg_job {
    const sl_jpeg_frame *frame; /* of the picture in `bytes` */
    sl_bytes bytes;
    uint32_t denominator; /* 1, 2, 4 or 8: the image is scaled like libjpeg does */
    sl_rect wanted;       /* the part of the scaled image that the view must cover, not empty */
} sl_jpeg_job;

/* Decodes. False: not done, and nothing is known about the image. */
bool sl_jpeg_fast_decode(sl_jpeg_fast *fast, const sl_jpeg_job *job, sl_scratch *scratch,
                         sl_image *view);

#endif

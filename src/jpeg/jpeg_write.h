/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_write: encodes pixels as a JPEG.
 *
 * Purpose: baseline coding by libjpeg, colours as YCbCr with 4:2:0 (libjpeg's default), grey if all
 * pixels are grey. The EXIF orientation of the source image is copied, and its ICC profile if it
 * still describes the colours. Threads: pure. Memory: the result; libjpeg takes all memory from the
 * caller's scratch.
 */
#ifndef SL_JPEG_WRITE_H
#define SL_JPEG_WRITE_H

#include "scratch.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_jpeg_picture {
    const uint8_t *rgb; /* width x height x 3, rows without gaps */
    uint32_t width, height;
    uint32_t quality;     /* 1..100, libjpeg's scale */
    uint32_t orientation; /* 1..8 */
    bool optimise;        /* optimised Huffman tables */
    sl_bytes profile_of;  /* a JPEG whose ICC profile is copied, if it has one; size 0: none */
} sl_jpeg_picture;

/* Writes the file, which the caller frees (sl_free). Errors: NOMEM, UNSUPPORTED. */
sluice_status sl_jpeg_write(const sl_jpeg_picture *picture, sl_scratch *scratch, uint8_t **jpeg,
                            size_t *bytes, sluice_error *error);

#endif

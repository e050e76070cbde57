/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_frame: the header of the usual kind of JPEG, read without libjpeg.
 *
 * Purpose: of a picture of 1 kB libjpeg's header is a quarter of the decode. This one takes what
 * our kernels decode (jpeg_fast.h): 8-bit sequential Huffman coding in one interleaved scan, grey
 * or YCbCr with 4:4:4, 4:2:2, 4:4:0 or 4:2:0 sampling. Tables are not copied: a frame points into
 * the picture's bytes.
 * Invariants: what is taken libjpeg takes as well, without an error or a warning that counts, and
 * understands the same by it. Everything else, be it another kind, damage or only rare, is left to
 * libjpeg, which judges and words it. Whether Huffman codes are any good is not looked at here.
 * Threads: pure. The bytes must outlive the frame.
 */
#ifndef SL_JPEG_FRAME_H
#define SL_JPEG_FRAME_H

#include "jpeg_huffman_tables.h"
#include "jpeg_tiles.h"
#include "view.h"

#include <stdbool.h>

#define SL_JPEG_FRAME_COMPONENTS 3

typedef struct sl_jpeg_frame_component {
    const uint8_t *quantizers; /* 64 in zigzag order */
    bool wide;                 /* they have two bytes each, the higher first */
    sl_huffman_code dc, ac;
} sl_jpeg_frame_component;

typedef struct sl_jpeg_frame {
    uint32_t width, height;
    uint32_t component_count; /* 1: grey; 3: YCbCr */
    uint32_t across, down;    /* blocks of luma in an MCU, 1 or 2 each; the others have one block */
    uint32_t interval;        /* MCUs between restart markers; 0: there are none */
    uint32_t scan;            /* where the entropy-coded data begins */
    bool has_app1;            /* a segment that may be EXIF */
    bool has_more;            /* a segment that says nothing about the pixels, or more than that */
    sl_jpeg_frame_component components[SL_JPEG_FRAME_COMPONENTS];
} sl_jpeg_frame;

/* False: for libjpeg. */
bool sl_jpeg_frame_read(sl_jpeg_frame *frame, sl_bytes jpeg);

/* Fills in mcus_across, mcus_down and interval. */
sl_jpeg_tiles sl_jpeg_frame_tiles(const sl_jpeg_frame *frame);

#endif

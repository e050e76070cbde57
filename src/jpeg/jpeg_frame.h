/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_frame: reads the header of the usual kind of JPEG without libjpeg.
 *
 * Purpose: for an image of 1 kB, libjpeg's header takes a quarter of the decoding time. This parser
 * accepts the images that our kernels decode (jpeg_fast.h): 8-bit sequential Huffman coding in one
 * interleaved scan, grey or YCbCr with 4:4:4, 4:2:2, 4:4:0 or 4:2:0 sampling. Tables are not
 * copied: a frame points into the image's bytes. Invariants: libjpeg also accepts every accepted
 * image, without an error or a relevant warning, and interprets it in the same way. Other kinds,
 * damage and rare cases are left to libjpeg, which judges them and sets the error. Huffman codes
 * are not validated here. Threads: pure. The bytes must outlive the frame.
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
    bool wide;                 /* two bytes each, the higher first */
    sl_huffman_code dc, ac;
} sl_jpeg_frame_component;

typedef struct sl_jpeg_frame {
    uint32_t width, height;
    uint32_t component_count; /* 1: grey; 3: YCbCr */
    uint32_t across, down;    /* blocks of luma in an MCU, 1 or 2 each; the others have one block */
    uint32_t interval;        /* MCUs between restart markers; 0: none */
    uint32_t scan;            /* where the entropy-coded data begins */
    bool has_app1;            /* a segment that may be EXIF */
    bool has_more;            /* a segment with metadata, or with more than the pixels need */
    sl_jpeg_frame_component components[SL_JPEG_FRAME_COMPONENTS];
} sl_jpeg_frame;

/* Reads a frame. False: for libjpeg. */
bool sl_jpeg_frame_read(sl_jpeg_frame *frame, sl_bytes jpeg);

/* Returns tiles with mcus_across, mcus_down and interval filled in. */
sl_jpeg_tiles sl_jpeg_frame_tiles(const sl_jpeg_frame *frame);

#endif

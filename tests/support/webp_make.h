/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_make: WebP files for tests, made by libwebp and assembled chunk by chunk. Everything aborts
 * on failure. Threads: pure.
 */
#ifndef SL_WEBP_MAKE_H
#define SL_WEBP_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: lossy, without alpha, only the image. */
typedef struct webp_options {
    bool lossless;
    bool alpha;
    bool simple_filter; /* filter for block edges, lossy */
    int quality;        /* 0: 75 */
    int orientation;    /* 1..8: an EXIF chunk */
    bool animated;      /* as declared in the header */
} webp_options;

typedef struct webp_file {
    uint8_t *data;
    size_t size;
} webp_file;

/* Encodes the image that pattern_fill (jpeg_make.h) makes from `seed`. */
webp_file webp_make(uint32_t width, uint32_t height, uint32_t seed, const webp_options *options);
void webp_free(webp_file *file);

#endif

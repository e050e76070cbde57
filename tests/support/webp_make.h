/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_make: WebP files for tests, made by libwebp and put together chunk by chunk. Everything
 * aborts on failure. Threads: pure.
 */
#ifndef SL_WEBP_MAKE_H
#define SL_WEBP_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: lossy, without alpha, nothing but the picture. */
typedef struct webp_options {
    bool lossless;
    bool alpha;
    bool simple_filter; /* of blocks' edges, lossy */
    int quality;        /* 0: 75 */
    int orientation;    /* 1..8: an EXIF chunk */
    bool animated;      /* says the header */
} webp_options;

typedef struct webp_file {
    uint8_t *data;
    size_t size;
} webp_file;

/* Encodes pattern_fill's picture of `seed` (jpeg_make.h). */
webp_file webp_make(uint32_t width, uint32_t height, uint32_t seed, const webp_options *options);
void webp_free(webp_file *file);

#endif

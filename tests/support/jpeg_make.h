/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_make: JPEG files for tests, made in memory with libjpeg. Everything aborts on failure.
 * Threads: pure.
 */
#ifndef SL_JPEG_MAKE_H
#define SL_JPEG_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum jpeg_colour {
    JPEG_YCBCR = 0, /* from RGB pixels, 3 channels */
    JPEG_GREY,      /* 1 channel */
    JPEG_RGB,       /* 3 channels, unconverted */
    JPEG_CMYK,      /* 4 channels, unconverted (Adobe: 255 means no ink) */
    JPEG_YCCK       /* from the 4 channels of JPEG_CMYK */
} jpeg_colour;

/* All zero: YCbCr 4:2:0, quality 90, baseline, no restart markers, no EXIF. */
typedef struct jpeg_options {
    jpeg_colour colour;
    int quality;          /* 1..100; 0: 90 */
    int h_factor;         /* sampling of the first component, 1..4; the others have 1; 0: 2 for */
    int v_factor;         /* YCbCr and YCCK, 1 for the others */
    bool progressive;     /* libjpeg's usual ten scans */
    bool separate_scans;  /* sequential, one scan per component */
    bool arithmetic;      /* where libjpeg can: ask jpeg_can_arithmetic */
    bool own_tables;      /* Huffman tables optimized for the image */
    int restart_interval; /* in MCUs; 0: none */
    int orientation;      /* 1..8: adds an EXIF segment with it; 0: no segment */
    bool exif_big_endian;
    bool exif_long; /* stored as a LONG, as some phones do, not a SHORT */
} jpeg_options;

typedef struct jpeg_file {
    uint8_t *data;
    size_t size;
} jpeg_file;

/* Number of channels of the pixels that `options` takes (NULL: all zero). */
uint32_t jpeg_channels(const jpeg_options *options);
/* Encodes width x height interleaved pixels without padding between rows. */
jpeg_file jpeg_make(const uint8_t *pixels, uint32_t width, uint32_t height,
                    const jpeg_options *options);
/* Encodes the image that pattern_fill makes from `seed`. */
jpeg_file jpeg_make_pattern(uint32_t width, uint32_t height, uint32_t seed,
                            const jpeg_options *options);
void jpeg_free(jpeg_file *file);
bool jpeg_can_arithmetic(void);

/* Draws smooth colours, some edges and a little noise, all from `seed`. */
void pattern_fill(uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels,
                  uint32_t seed);

/*
 * Decodes with libjpeg alone and its defaults: grey to 1 channel (`*channels`), CMYK and YCCK to 4,
 * the others to RGB. The caller frees the pixels. `warnings` (may be NULL) counts libjpeg's
 * warnings, except those about the JFIF version. NULL if libjpeg gives up.
 */
uint8_t *jpeg_plain_decode(const uint8_t *data, size_t size, uint32_t *width, uint32_t *height,
                           uint32_t *channels, long *warnings);
/* Does the same, scaled down by `denominator`: 1, 2, 4 or 8. */
uint8_t *jpeg_scaled_decode(const uint8_t *data, size_t size, uint32_t denominator, uint32_t *width,
                            uint32_t *height, uint32_t *channels, long *warnings);

#endif

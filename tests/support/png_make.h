/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_make: PNG files for tests, of every kind that the format has, put together chunk by chunk.
 * Everything aborts on failure. Threads: pure.
 */
#ifndef SL_PNG_MAKE_H
#define SL_PNG_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: RGB of 8 bits, not interlaced, in one IDAT chunk. */
typedef struct png_options {
    int colour;           /* 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGBA; */
    bool is_grey;         /* since 0 stands for RGB here */
    uint32_t depth;       /* 1, 2, 4, 8, 16; 0: 8 */
    bool interlaced;      /* Adam7 */
    uint32_t colours;     /* of the palette; 0: as many as the depth has */
    uint32_t excess;      /* added to the number of the last pixel: beyond the palette */
    bool transparent;     /* a tRNS chunk */
    int orientation;      /* 1..8: an eXIf chunk; */
    bool orientation_end; /* behind the picture data */
    uint32_t data_bytes;  /* in an IDAT chunk; 0: all of them */
    int filter;           /* 1..5: filter 0..4 for all rows; 0: they take turns */
} png_options;

typedef struct png_file {
    uint8_t *data;
    size_t size, capacity;
} png_file;

/* Noise on slopes, all from `seed`. */
png_file png_make(uint32_t width, uint32_t height, uint32_t seed, const png_options *options);
/* A signature and an IHDR, whatever they say, for more to be added. */
png_file png_make_begin(uint32_t width, uint32_t height, uint32_t depth, uint32_t colour,
                        bool interlaced);
void png_make_chunk(png_file *file, const char *type, const void *content, size_t size);
/* Adds an IDAT chunk of `size` bytes, deflated. */
void png_make_data(png_file *file, const void *content, size_t size);
void png_make_free(png_file *file);

/* Where the first chunk of this type begins; 0: there is none. */
size_t png_make_find(const uint8_t *data, size_t size, const char *type);
/* Makes the checksums right of all chunks, as far as there are any. */
void png_make_seal(uint8_t *data, size_t size);

#endif

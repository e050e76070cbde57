/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_make: builds PNG files of every kind for tests, chunk by chunk. Everything aborts on failure.
 * Threads: pure.
 */
#ifndef SL_PNG_MAKE_H
#define SL_PNG_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: 8-bit RGB, not interlaced, one IDAT chunk. */
typedef struct png_options {
    int colour;           /* 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGBA; */
    bool is_grey;         /* separate, since colour 0 stands for RGB here */
    uint32_t depth;       /* 1, 2, 4, 8, 16; 0: 8 */
    bool interlaced;      /* Adam7 */
    uint32_t colours;     /* palette entries; 0: as many as the depth allows */
    uint32_t excess;      /* added to the last pixel's index, to exceed the palette */
    bool transparent;     /* a tRNS chunk */
    int orientation;      /* 1..8: adds an eXIf chunk; */
    bool orientation_end; /* after the image data */
    uint32_t data_bytes;  /* bytes per IDAT chunk; 0: all in one */
    int filter;           /* 1..5: filter 0..4 for all rows; 0: alternating */
} png_options;

typedef struct png_file {
    uint8_t *data;
    size_t size, capacity;
} png_file;

/* Draws noise on gradients, all from `seed`. */
png_file png_make(uint32_t width, uint32_t height, uint32_t seed, const png_options *options);
/* Writes a signature and an IHDR with any values, for chunks to be added. */
png_file png_make_begin(uint32_t width, uint32_t height, uint32_t depth, uint32_t colour,
                        bool interlaced);
void png_make_chunk(png_file *file, const char *type, const void *content, size_t size);
/* Adds an IDAT chunk of `size` bytes, deflated. */
void png_make_data(png_file *file, const void *content, size_t size);
void png_make_free(png_file *file);

/* Returns the offset of the first chunk of this type; 0: none. */
size_t png_make_find(const uint8_t *data, size_t size, const char *type);
/* Corrects the checksums of all complete chunks. */
void png_make_seal(uint8_t *data, size_t size);

#endif

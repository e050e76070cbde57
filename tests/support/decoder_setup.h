/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder_setup: a decoder for tests that decodes whole images, parts of them and damaged ones.
 *
 * Functions fail the running test unless they return a status.
 * Ownership: decoder_close closes what decoder_open returned; the caller frees pixels. Threads: the
 * test's.
 */
#ifndef SL_DECODER_SETUP_H
#define SL_DECODER_SETUP_H

#include "decoder.h"
#include "philox.h"

#include <stdatomic.h>

typedef struct decoder_setup {
    sl_decoder *decoder;
    uint8_t codec; /* codec of all files; 0: detected for each */
    atomic_bool stop;
} decoder_setup;

/* Opens a decoder for images of up to 100 million pixels, with scratch_bytes of memory (0: no
 * limit). */
decoder_setup *decoder_open(uint8_t codec, sluice_exif exif, uint64_t scratch_bytes);
void decoder_close(decoder_setup *f);

/* Opens the image; the file's bytes must stay valid until another image is opened. */
sl_picture decoder_picture(const decoder_setup *f, const uint8_t *data, size_t size);
/* Returns all pixels, 3 bytes each; the caller frees them. */
uint8_t *decoder_whole(const decoder_setup *f, const uint8_t *data, size_t size,
                       sl_picture *picture);
/* Draws a rectangle within the image. */
sl_rect decoder_draw(sl_random *random, sl_picture picture);
/* Decodes `need` of the open image and expects the pixels of `whole`. */
void decoder_part(const decoder_setup *f, sl_rect need, const uint8_t *whole);

/* Decodes rows [0, rows) (0: all) of a copy of exactly that size, for the sanitizer. */
sluice_status decoder_try(const decoder_setup *f, const uint8_t *data, size_t size, uint32_t rows,
                          sluice_error *error);
/* Decodes all rows; expects this status with these words and an offset within the file. */
void decoder_expect(const decoder_setup *f, const uint8_t *data, size_t size,
                    sluice_status expected, const char *words);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder_setup: a decoder for tests, and what each of them asks of it: a whole picture, parts of
 * it, and what is said of a damaged one.
 *
 * Functions fail the running test unless they give a status back. Ownership: decoder_open's is
 * closed by decoder_close; pixels are freed by the caller. Threads: the test's.
 */
#ifndef SL_DECODER_SETUP_H
#define SL_DECODER_SETUP_H

#include "decoder.h"
#include "philox.h"

#include <stdatomic.h>

typedef struct decoder_setup {
    sl_decoder *decoder;
    uint8_t codec; /* of all files; 0: each tells its own */
    atomic_bool stop;
} decoder_setup;

/* Of pictures of up to 100 million pixels, in scratch_bytes of memory (0: no limit). */
decoder_setup *decoder_open(uint8_t codec, sluice_exif exif, uint64_t scratch_bytes);
void decoder_close(decoder_setup *f);

/* Opens the picture; the file's bytes are used until another one is opened. */
sl_picture decoder_picture(const decoder_setup *f, const uint8_t *data, size_t size);
/* All pixels, 3 bytes each; free() them. */
uint8_t *decoder_whole(const decoder_setup *f, const uint8_t *data, size_t size,
                       sl_picture *picture);
/* A rectangle within the picture. */
sl_rect decoder_draw(sl_random *random, sl_picture picture);
/* Decodes `need` of the open picture: it shows what `whole` does. */
void decoder_part(const decoder_setup *f, sl_rect need, const uint8_t *whole);

/* Rows [0, rows) (0: all) of a copy of just that size, for the sanitizer. */
sluice_status decoder_try(const decoder_setup *f, const uint8_t *data, size_t size, uint32_t rows,
                          sluice_error *error);
/* All rows: this status, with these words, at an offset within the file. */
void decoder_expect(const decoder_setup *f, const uint8_t *data, size_t size,
                    sluice_status expected, const char *words);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_rows: the rows of a PNG, unpacked by zlib in groups of up to 64 KiB, and unfiltered.
 *
 * Purpose: libpng asks zlib for one row at a time, so that zlib's slow loop unpacks a good part of
 * it. libpng also filters pixel by pixel, which a label map, flat for most of a row, does not need
 * (png_rows.c). Used for PNGs that are not interlaced, with pixels of one or two bytes
 * (sl_png_rows_takes): label maps, depth, palettes, grey; and for larger pixels in rows above 256
 * KiB, where libpng cannot limit the data after the last row. libpng filters other pixels with
 * vectors, and decodes all other PNGs. Each chunk's checksum is checked before its first byte is
 * unpacked. Filters: those of the PNG specification (W3C, 2003), section 9.
 *
 * Threads: one owner.
 *
 * Memory: from the source's scratch: two rows, 64 KiB, and zlib's 40 KiB.
 */
#ifndef SL_PNG_ROWS_H
#define SL_PNG_ROWS_H

#include "png_chunks.h"

#define ZLIB_CONST /* makes zlib's input pointer const */
#include <zlib.h>

typedef struct sl_png_rows {
    const sl_png *png;
    const sl_codec_source *source;
    z_stream z;
    sl_bytes piece; /* what zlib has not read yet of the current chunk */
    sl_bytes rest;  /* chunks after the current one */
    size_t row_bytes, pixel_bytes;
    uint32_t left;            /* requested rows that are not unpacked yet */
    uint32_t at_a_time, at;   /* rows in the buffer, and the number of the next one */
    uint32_t filled;          /* of them */
    uint8_t *buffer, *before; /* rows with their filters; the row before them */
} sl_png_rows;

bool sl_png_rows_takes(const sl_png *png);
/* Opens the first `wanted` rows. Errors: NOMEM. */
sluice_status sl_png_rows_open(sl_png_rows *rows, const sl_png *png, const sl_codec_source *source,
                               uint32_t wanted, sluice_error *error);
/* Returns the next row, as stored (16 bits: the high byte first), valid until the next call.
 * Errors: CORRUPT, CANCELED, NOMEM. */
sluice_status sl_png_rows_next(sl_png_rows *rows, const uint8_t **row, sluice_error *error);
/* The most bytes that a stream may contain after the last row of the image. */
enum { SL_PNG_EXTRA_BYTES = 8 << 10 };
#define SL_PNG_EXTRA_TEXT "the PNG has extra image data: more than 8 KiB after the last row"

/* After the last row: checks that the stream ends properly, with the right checksum, and at most
 * SL_PNG_EXTRA_BYTES more. Bytes after the stream do no harm. Errors: as above. */
sluice_status sl_png_rows_end(sl_png_rows *rows, sluice_error *error);

#endif

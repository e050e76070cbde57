/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_rows: the rows of a PNG, unpacked by zlib as many at a time as 64 KiB hold, and unfiltered.
 *
 * Purpose: libpng asks zlib for a row at a time, of which a good part is unpacked by its slow loop,
 * and goes from pixel to pixel through its filters, which a label map, flat for most of a row, need
 * not (png_rows.c). For PNGs that are not interlaced, of pixels of one or two bytes
 * (sl_png_rows_takes): label maps, depth, palettes, grey; and of larger pixels in rows above
 * 256 KiB, where libpng cannot limit what lies behind the last row. Other pixels libpng filters by
 * vectors, and has the others, too. Each chunk's checksum is looked at before its first byte is
 * unpacked. Filters: those of the PNG specification (W3C, 2003), section 9. Threads: one owner.
 * Memory: of the source's scratch: two rows, 64 KiB, and zlib's 40 KiB.
 */
#ifndef SL_PNG_ROWS_H
#define SL_PNG_ROWS_H

#include "png_chunks.h"

#define ZLIB_CONST /* bytes in are not written */
#include <zlib.h>

typedef struct sl_png_rows {
    const sl_png *png;
    const sl_codec_source *source;
    z_stream z;
    sl_bytes piece; /* of the chunk at hand, what zlib does not have yet */
    sl_bytes rest;  /* chunks behind the one at hand */
    size_t row_bytes, pixel_bytes;
    uint32_t left;            /* rows that are not unpacked yet, of those that are wanted */
    uint32_t at_a_time, at;   /* rows of the buffer, and which one is next */
    uint32_t filled;          /* of them */
    uint8_t *buffer, *before; /* rows with their filters; the row before those */
} sl_png_rows;

bool sl_png_rows_takes(const sl_png *png);
/* Of the first `wanted` rows. Errors: NOMEM. */
sluice_status sl_png_rows_open(sl_png_rows *rows, const sl_png *png, const sl_codec_source *source,
                               uint32_t wanted, sluice_error *error);
/* The next one, as stored (16 bits: the high byte first), until the next call. Errors: CORRUPT,
 * CANCELED, NOMEM. */
sluice_status sl_png_rows_next(sl_png_rows *rows, const uint8_t **row, sluice_error *error);
/* Most bytes that a stream may have behind the last row of the picture. */
enum { SL_PNG_EXTRA_BYTES = 8 << 10 };
#define SL_PNG_EXTRA_TEXT "the PNG has extra image data: more than 8 KiB after the last row"

/* Behind the last row: whether the stream ends as it should, with the right checksum, and with
 * SL_PNG_EXTRA_BYTES more at most. Bytes behind the stream do no harm. Errors: as above. */
sluice_status sl_png_rows_end(sl_png_rows *rows, sluice_error *error);

#endif

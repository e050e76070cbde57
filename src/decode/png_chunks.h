/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_chunks: what a PNG says before its pixels are decoded, and where they are.
 *
 * Purpose: one walk from the signature to IEND, which must be there. Each chunk's checksum is
 * looked at, but those of picture data (IDAT, which the decoder does) and of an animation's further
 * frames (fdAT, which nobody reads). Text, profiles and the like are passed over: nothing is
 * unpacked and no memory is taken, whatever they claim.
 * Threads: pure.
 */
#ifndef SL_PNG_CHUNKS_H
#define SL_PNG_CHUNKS_H

#include "codec.h"

/* Kinds of colour, as IHDR has them. */
enum {
    SL_PNG_GREY = 0,
    SL_PNG_RGB = 2,
    SL_PNG_PALETTE = 3,
    SL_PNG_GREY_ALPHA = 4,
    SL_PNG_RGBA = 6
};

/* Signature and IHDR; a chunk's length, type and checksum. */
#define SL_PNG_HEAD_BYTES  33U
#define SL_PNG_CHUNK_BYTES 12U

typedef struct sl_png {
    sl_picture size;
    uint8_t depth; /* bits of a sample: 1, 2, 4, 8, 16 */
    uint8_t colour;
    bool interlaced;
    uint32_t orientation;    /* of eXIf, 1..8 */
    sl_bytes palette;        /* the chunk, whole; of SL_PNG_PALETTE only */
    uint32_t palette_colors; /* in it, 1..256 */
    sl_bytes data;           /* the IDAT chunks, whole, one behind the other */
} sl_png;

bool sl_png_probe(sl_bytes bytes);
/* Errors: CORRUPT, UNSUPPORTED (too many pixels, a chunk that must be understood), CANCELED. */
sluice_status sl_png_read(sl_png *png, const sl_codec_source *source, sluice_error *error);
/* Checks the first chunk in `whole`, which has all of it; `offset` is where it is in the
 * file. Errors: CORRUPT, CANCELED. */
sluice_status sl_png_check_sum(sl_bytes whole, size_t offset, const _Atomic bool *stop,
                               sluice_error *error);

/* Checks those chunks that sl_png_read leaves out, of bytes that it found right: all checksums are
 * known to be right then. Errors: CORRUPT. */
sluice_status sl_png_check_sums(sl_bytes bytes, sluice_error *error);

/* Bits of a pixel as stored, and bytes of a row (without the byte that names its filter). */
uint32_t sl_png_pixel_bits(const sl_png *png);
uint64_t sl_png_row_bytes(const sl_png *png);

static inline uint32_t sl_png_load32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_chunks: what a PNG says before its pixels are decoded, and where they are.
 *
 * Purpose: one walk from the signature to IEND, which is required. Checks each chunk's checksum,
 * except those of image data (IDAT, which the decoder checks) and of an animation's further frames
 * (fdAT, which are not used). Text, profiles and the like are skipped: nothing is unpacked and no
 * memory is taken, whatever they claim.
 *
 * Threads: pure.
 */
#ifndef SL_PNG_CHUNKS_H
#define SL_PNG_CHUNKS_H

#include "codec.h"

/* Colour types, as in IHDR. */
enum {
    SL_PNG_GREY = 0,
    SL_PNG_RGB = 2,
    SL_PNG_PALETTE = 3,
    SL_PNG_GREY_ALPHA = 4,
    SL_PNG_RGBA = 6
};

/* Sizes of the signature and IHDR; and of a chunk's length, type and checksum. */
#define SL_PNG_HEAD_BYTES  33U
#define SL_PNG_CHUNK_BYTES 12U

typedef struct sl_png {
    sl_picture size;
    uint8_t depth; /* bits per sample: 1, 2, 4, 8, 16 */
    uint8_t colour;
    bool interlaced;
    uint32_t orientation;    /* of eXIf, 1..8 */
    sl_bytes palette;        /* the complete chunk; of SL_PNG_PALETTE only */
    uint32_t palette_colors; /* number of its colours, 1..256 */
    sl_bytes data;           /* the complete IDAT chunks, one after the other */
} sl_png;

bool sl_png_probe(sl_bytes bytes);
/* Errors: CORRUPT, UNSUPPORTED (too many pixels, a chunk that must be understood), CANCELED. */
sluice_status sl_png_read(sl_png *png, const sl_codec_source *source, sluice_error *error);
/* Checks the checksum of the first chunk in `whole`, which contains all of it; `offset` is its
 * place in the file. Errors: CORRUPT, CANCELED. */
sluice_status sl_png_check_sum(sl_bytes whole, size_t offset, const _Atomic bool *stop,
                               sluice_error *error);

/* Checks the checksums that sl_png_read leaves out, in bytes that it accepted: all checksums are
 * then known to be right. Errors: CORRUPT. */
sluice_status sl_png_check_sums(sl_bytes bytes, sluice_error *error);

/* Bits of a pixel as stored, and bytes of a row (without its filter byte). */
uint32_t sl_png_pixel_bits(const sl_png *png);
uint64_t sl_png_row_bytes(const sl_png *png);

static inline uint32_t sl_png_load32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

#endif

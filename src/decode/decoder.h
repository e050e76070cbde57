/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder: encoded bytes in, out either 8-bit RGB pixels or values as they are stored. One decoder
 * per worker thread.
 *
 * Purpose: find the codec by its number or the first bytes (codecs.h), read its header (for the
 * crop to be drawn), then decode at least the rectangle asked for.
 * Colour contract (out: RGB, 3 channels): grey is replicated; YCbCr of any sampling through
 * libjpeg's default (fancy) upsampling and ISLOW transform; RGB as stored; CMYK and YCCK as Pillow
 * converts them (inverted Adobe convention). Of PNG and WebP: alpha and transparent colours are
 * left out, gamma and profiles, too; of 16 bits the upper 8 count. That is Pillow's convert("RGB"),
 * except for grey of 16 bits, which Pillow cuts off at 255 (png_pixels.h). Strictness: a JPEG that
 * ends early, has a broken entropy stream or lost restart markers within what is read is CORRUPT,
 * never grey filling; harmless junk between markers is accepted, junk in front of a restart marker
 * is not (the interval was read wrong). Rows below the rectangle are not read; of a picture whose
 * restart intervals form a grid only those under the rectangle are. Pictures of several scans
 * (progressive) are read to their end marker, which must be there; so must that of arithmetic-coded
 * ones, where libjpeg takes missing bytes for zeros. A PNG has to be whole, from the signature to
 * the end chunk; the checksums of what is read must be right, and colours that the palette lacks
 * are CORRUPT. A WebP must be whole, too; it has no checksums. Of an APNG the picture for other
 * readers is taken, an animated WebP is UNSUPPORTED. Orientation: with exif = APPLY, header sizes,
 * rectangle and pixels are those of the upright picture, else those as stored, unless the caller
 * decides for each picture (sl_decoder_turn). Limits: width*height > max_pixels is
 * UNSUPPORTED, decided before any pixel memory is taken; so are more than 500 scans, or more of
 * them than jpeg/jpeg_scans.h allows for so few bytes. All memory comes from the decoder's scratch,
 * which each open_picture resets (libwebp's is counted there, see webp_codec.c): NOMEM where a
 * picture needs more than scratch_bytes. Long decodes end with CANCELED soon after `stop` is set.
 * Threads: one owner thread per decoder.
 */
#ifndef SL_DECODER_H
#define SL_DECODER_H

#include "codec.h"
#include "frame.h"
#include "scratch.h"
#include "turn.h"
#include "value.h"
#include "view.h"

#include <sluice/common.h>
#include <sluice/options.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct sl_decoder sl_decoder;

typedef struct sl_decoder_config {
    uint64_t max_pixels;
    uint64_t max_unpacked_bytes; /* of what is packed (packed_value.h) */
    sluice_exif exif;
    size_t keep_bytes;        /* of scratch between pictures, where they need it; 0: 32 MiB */
    uint64_t scratch_bytes;   /* at most so much memory; 0: as much as the largest picture needs */
    const _Atomic bool *stop; /* set: nobody waits for the picture at hand. NULL: never */
} sl_decoder_config;

sluice_status sl_decoder_open(sl_decoder **decoder, const sl_decoder_config *config,
                              sluice_error *error);
void sl_decoder_close(sl_decoder *decoder);

/*
 * Resets the scratch, unpacks the value's bytes if they are packed, and reads the header: the size,
 * upright when exif is applied. Of the value only `bytes`, `codec`, `packing` and its facts,
 * `width` and `height` matter; the bytes must stay until the decode. Errors: CORRUPT (not a
 * picture, broken header, empty), UNSUPPORTED (no codec, limits), NOMEM.
 */
sluice_status sl_decoder_open_picture(sl_decoder *decoder, const sl_value *value,
                                      sl_picture *picture, sluice_error *error);
/*
 * As open_picture, to take values as they are stored (codec.h): what all of them are, never turned
 * upright. Pixels of the same picture can be decoded, too, if its codec has them. Errors besides:
 * UNSUPPORTED (a codec that has nothing but pixels).
 */
sluice_status sl_decoder_open_values(sl_decoder *decoder, const sl_value *value,
                                     sl_decoded_form *form, sluice_error *error);
/* The EXIF orientation of the picture opened last, 1..8, applied or not. */
uint32_t sl_decoder_orientation(const sl_decoder *decoder);
/* Whether it is applied: the size that open_picture gave is that of the upright picture. */
bool sl_decoder_is_upright(const sl_decoder *decoder);
/* The same with its size as stored. */
sl_turn sl_decoder_stored(const sl_decoder *decoder);
/*
 * Whether the picture, of a field of that orientation, is to be turned: `exif` decides, or the
 * field; BY_SIZE the size that was annotated, width x height, 0 x 0 where nobody knows it. What
 * could be either way up is not turned. CORRUPT: the size fits neither way up.
 */
sluice_status sl_decoder_turns(const sl_decoder *decoder, sluice_exif exif,
                               sluice_orientation orientation, const int64_t annotated[2],
                               bool *turns, sluice_error *error);
/* Decides the orientation again, before the first decode of the picture; fills in its size. */
void sl_decoder_turn(sl_decoder *decoder, bool upright, sl_picture *picture);
/*
 * Decodes so that the view covers `need` (inside the picture). When the result will be made smaller
 * anyway the picture is scaled down by 2, 4 or 8, but never so far that `need` becomes smaller than
 * out_width x out_height (0: it is not scaled). A view that is scaled down covers the pixels that
 * are on `need`, which is what a filter takes in the scaled picture: the pixels whose centres are
 * under it. The view is valid until the next open_picture. May be called again for the same
 * picture, as long as scratch memory lasts. Errors: CORRUPT, UNSUPPORTED, NOMEM; error->offset
 * counts from the beginning of the (unpacked) bytes.
 */
sluice_status sl_decoder_decode(sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                uint32_t out_height, sl_image *view, sluice_error *error);

/* The denominator, 1, 2, 4 or 8, by which decode would scale the picture down. */
uint32_t sl_decoder_denominator(const sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                uint32_t out_height);
/* As decode, scaled down by that: one that sl_decoder_denominator gave of the same picture. */
sluice_status sl_decoder_decode_scaled(sl_decoder *decoder, sl_rect need, uint32_t denominator,
                                       sl_image *view, sluice_error *error);
/* About how much work decode_scaled is, to be compared with that of other rectangles of the same
 * picture and denominator. Before the first decode. */
uint64_t sl_decoder_work(const sl_decoder *decoder, sl_rect need, uint32_t denominator);

/* Steps [first, first + count) of what was opened last, by either call, without gaps: of a codec
 * that has values. Valid, and errors, as of decode. */
sluice_status sl_decoder_values(sl_decoder *decoder, uint64_t first, uint64_t count,
                                const uint8_t **values, sluice_error *error);

/*
 * From the next open_picture on, does without `roads` (an or of SL_ROAD_*; 0: takes all). For tests
 * and for comparing: the pixels are the same.
 */
void sl_decoder_avoid(sl_decoder *decoder, uint32_t roads);

/* Lets it have so much scratch, scratch_bytes at most, until the next call. */
void sl_decoder_bind(sl_decoder *decoder, uint64_t bytes);

/* Its context for zstd frames. */
sl_frame *sl_decoder_frame(sl_decoder *decoder);
/* Scratch of the decoder, for what happens to the view next; valid until the next open_picture. */
sl_scratch *sl_decoder_scratch(sl_decoder *decoder);
/* config.stop, for what else takes long. */
const _Atomic bool *sl_decoder_stop(const sl_decoder *decoder);

/* jpeg_round_trip.h, for augment, which knows no codec. */
sluice_status sl_decoder_jpeg_artefacts(const sl_image *in, int quality, uint8_t *out,
                                        sl_scratch *scratch, sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder: decodes bytes to 8-bit RGB pixels, or to values as stored. One decoder per worker
 * thread.
 *
 * Purpose: finds the codec by its number or the first bytes (codecs.h), reads the header (so that
 * the crop can be drawn), then decodes at least the requested rectangle.
 *
 * Colour contract (output: RGB, 3 channels): grey is replicated; YCbCr of any sampling goes through
 * libjpeg's default (fancy) upsampling and ISLOW transform; RGB as stored; CMYK and YCCK as Pillow
 * converts them (inverted Adobe convention). For PNG and WebP, alpha, transparent colours, gamma
 * and profiles are dropped; the upper 8 of 16 bits are used. That is Pillow's convert("RGB"),
 * except for 16-bit grey, which Pillow clips at 255 (png_pixels.h).
 *
 * Strictness: a JPEG that ends early, or has a broken entropy stream or lost restart markers within
 * the part that is read, is CORRUPT, never filled with grey; harmless junk between markers is
 * accepted, junk before a restart marker is not (the interval was read wrong). Rows below the
 * rectangle are not read; if an image's restart intervals form a grid, only those that intersect
 * the rectangle are. Images of several scans (progressive) are read to their end marker, which is
 * required; it is also required of arithmetic-coded ones, where libjpeg takes missing bytes for
 * zeros. A PNG must be complete, from the signature to the end chunk; the checksums of the chunks
 * that are read must be right, and colours that the palette lacks are CORRUPT. A WebP must be
 * complete, too; it has no checksums. For an APNG, the default image is decoded; an animated WebP
 * is UNSUPPORTED.
 *
 * Orientation: with exif = APPLY, header sizes, rectangle and pixels are those of the upright
 * image, else those as stored, unless the caller decides for each image (sl_decoder_turn).
 *
 * Limits: width*height > max_pixels is UNSUPPORTED, decided before any pixel memory is taken; so
 * are more than 500 scans, or more than jpeg/jpeg_scans.h allows for so few bytes. All memory comes
 * from the decoder's scratch, which each open_picture resets (libwebp's is counted there, see
 * webp_codec.c): NOMEM if an image needs more than scratch_bytes. Long decodes end with CANCELED
 * soon after `stop` is set.
 *
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
    uint64_t max_unpacked_bytes; /* limit on the unpacked size of packed bytes (packed_value.h) */
    sluice_exif exif;
    size_t keep_bytes;        /* scratch kept between images, if they need it; 0: 32 MiB */
    uint64_t scratch_bytes;   /* limit on scratch; 0: what the largest image needs */
    const _Atomic bool *stop; /* set: the current image is no longer needed. NULL: never */
} sl_decoder_config;

sluice_status sl_decoder_open(sl_decoder **decoder, const sl_decoder_config *config,
                              sluice_error *error);
void sl_decoder_close(sl_decoder *decoder);

/*
 * Resets the scratch, unpacks the value's bytes if they are packed, and reads the header: the size,
 * upright when exif is applied. Uses only `bytes`, `codec`, `packing` and its facts, `width` and
 * `height` of the value; the bytes must stay valid until the decode. Errors: CORRUPT (not an image,
 * broken header, empty), UNSUPPORTED (no codec, limits), NOMEM.
 */
sluice_status sl_decoder_open_picture(sl_decoder *decoder, const sl_value *value,
                                      sl_picture *picture, sluice_error *error);
/*
 * Works as open_picture, but to read values as stored (codec.h): returns their form; they are never
 * rotated. Pixels of the same image can be decoded as well, if its codec has them. Further error:
 * UNSUPPORTED (a codec that has only pixels).
 */
sluice_status sl_decoder_open_values(sl_decoder *decoder, const sl_value *value,
                                     sl_decoded_form *form, sluice_error *error);
/* Returns the EXIF orientation of the image opened last, 1..8, applied or not. */
uint32_t sl_decoder_orientation(const sl_decoder *decoder);
/* Returns whether it is applied: the size from open_picture is then that of the upright image. */
bool sl_decoder_is_upright(const sl_decoder *decoder);
/* Returns the same, with the size as stored. */
sl_turn sl_decoder_stored(const sl_decoder *decoder);
/*
 * Decides whether to apply the EXIF orientation to the image of a field with that rule: by `exif`,
 * or by the field; with BY_SIZE, by the annotated size, width x height (0 x 0: unknown). An image
 * whose size fits both ways is not rotated. CORRUPT: the size fits neither way up.
 */
sluice_status sl_decoder_turns(const sl_decoder *decoder, sluice_exif exif,
                               sluice_orientation orientation, const int64_t annotated[2],
                               bool *turns, sluice_error *error);
/* Sets the orientation again, before the image's first decode, and fills in its size. */
void sl_decoder_turn(sl_decoder *decoder, bool upright, sl_picture *picture);
/*
 * Decodes so that the view covers `need` (inside the image). If the result will be scaled down
 * anyway, the image is decoded scaled down by 2, 4 or 8, but never so far that `need` becomes
 * smaller than out_width x out_height (0: it is not scaled). A scaled view covers the pixels whose
 * centres are within `need`, which are those that a filter reads in the scaled image. The view is
 * valid until the next open_picture. May be called again for the same image, as long as scratch
 * memory lasts. Errors: CORRUPT, UNSUPPORTED, NOMEM; error->offset counts from the beginning of the
 * (unpacked) bytes.
 */
sluice_status sl_decoder_decode(sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                uint32_t out_height, sl_image *view, sluice_error *error);

/* Returns the denominator, 1, 2, 4 or 8, by which decode would scale the image down. */
uint32_t sl_decoder_denominator(const sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                uint32_t out_height);
/* Works as decode, scaled down by `denominator`, which sl_decoder_denominator returned for this
 * image. */
sluice_status sl_decoder_decode_scaled(sl_decoder *decoder, sl_rect need, uint32_t denominator,
                                       sl_image *view, sluice_error *error);
/* Returns an estimate of the work of decode_scaled, to compare with other rectangles of the same
 * image and denominator. Must be called before the first decode. */
uint64_t sl_decoder_work(const sl_decoder *decoder, sl_rect need, uint32_t denominator);

/* Reads steps [first, first + count) of the values opened last, by either open function, without
 * gaps; the codec must have values. Validity and errors as of decode. */
sluice_status sl_decoder_values(sl_decoder *decoder, uint64_t first, uint64_t count,
                                const uint8_t **values, sluice_error *error);

/*
 * From the next open_picture on, does without the optional methods in `paths` (an or of SL_PATH_*;
 * 0: allows all). For tests and comparisons: the pixels are the same.
 */
void sl_decoder_avoid(sl_decoder *decoder, uint32_t paths);

/* Limits the scratch to so many bytes, at most scratch_bytes, until the next call. */
void sl_decoder_bind(sl_decoder *decoder, uint64_t bytes);

/* Returns its context for zstd frames. */
sl_frame *sl_decoder_frame(sl_decoder *decoder);
/* Returns the decoder's scratch, for further processing of the view; valid until the next
 * open_picture. */
sl_scratch *sl_decoder_scratch(sl_decoder *decoder);
/* config.stop, for other long work. */
const _Atomic bool *sl_decoder_stop(const sl_decoder *decoder);

/* jpeg_round_trip.h, for augment, which knows no codec. */
sluice_status sl_decoder_jpeg_artefacts(const sl_image *in, int quality, uint8_t *out,
                                        sl_scratch *scratch, sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: the contract of one media format's decoder: a row in the table of decode/codecs.c.
 *
 * A row has what a codec takes and how it decodes; its name and signatures are in the table of
 * media, by its number. It is here, below both modules, because jpeg fills one in and decode has
 * the table. Datasets pass numbers on as stored (value.h); only the table of codecs knows which of
 * them can be decoded.
 *
 * Owner thread and memory: those of the decoder that the state belongs to. A codec keeps nothing
 * between images except the state made by `open`: image N never depends on image N-1.
 *
 * Seam: `pixels` may return less than the whole image and may scale it down, as long as the view
 * covers `need`; a codec that can decode a region alone does it here.
 */
#ifndef SL_CODEC_H
#define SL_CODEC_H

#include "dtype.h"
#include "scratch.h"
#include "view.h"

#include <sluice/common.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct sl_picture {
    uint32_t width, height; /* pixels */
} sl_picture;

/* Optional code paths of JPEG decoding: they only save time. */
enum {
    SL_PATH_KERNELS = 1,  /* our own instead of libjpeg's */
    SL_PATH_INTERVALS = 2 /* the restart intervals under a rectangle, as a JPEG of their own */
};

/* The codec's input: set up by the decoder, the same for header and decode. */
typedef struct sl_codec_source {
    sl_bytes bytes;
    sl_scratch *scratch;
    uint64_t max_pixels;
    uint32_t avoid;           /* an or of SL_PATH_*: code paths to avoid */
    const _Atomic bool *stop; /* set: nobody waits for the image; CANCELED then. NULL: never */
    sl_picture claimed;       /* the size according to the owner of the bytes; 0: not known */
} sl_codec_source;

/*
 * Decoded values other than pixels for augmentation: an array, row-major, without gaps. The first
 * dimension is counted in STEPS, the last one is that of channels: rows of an image (height x width
 * x channels), samples of audio (time x channels), frames of a video (time x height x width x
 * channels).
 */
enum { SL_DECODED_DIMS_MAX = 4 };
typedef struct sl_decoded_form {
    sluice_dtype dtype; /* images: u8 (also of fewer bits) or u16 */
    uint32_t dims;      /* 0: the codec gives no values */
    uint64_t shape[SL_DECODED_DIMS_MAX];
} sl_decoded_form;

/* Returns the bytes of one step. */
static inline uint64_t sl_decoded_step_bytes(const sl_decoded_form *form)
{
    uint64_t bytes = sl_dtype_bytes(form->dtype);
    for (uint32_t i = 1; i < form->dims; i++) {
        bytes *= form->shape[i];
    }
    return bytes;
}

/* Facts from the header. */
typedef struct sl_codec_info {
    sl_picture stored;      /* of codecs with `pixels` */
    uint32_t orientation;   /* EXIF, 1..8; 1 when there is none */
    sl_decoded_form values; /* of codecs with `values`: all of them, never rotated upright */
} sl_codec_info;

/* The pixels to decode, in stored orientation. */
typedef struct sl_codec_request {
    /* inside the image; its edges are multiples of the denominator, or the image's right and
     * lower edge */
    sl_rect need;
    uint32_t denominator; /* 1, 2, 4 or 8: the view may be scaled down by at most as much */
} sl_codec_request;

typedef struct sl_codec {
    uint8_t number;           /* of its row in the table of media (media.h) */
    uint32_t denominator_max; /* how far `pixels` can scale down: 1 (not at all), 2, 4 or 8 */
    /* Returns the most scratch that header, pixels and values take for an image of at most so many
     * pixels; NULL: none. */
    uint64_t (*scratch_bytes)(uint64_t max_pixels);
    /* Returns the size of the usual kind of image, if that needs no state: opening one can take
     * longer than a small image. False: use `header`. NULL: always. */
    bool (*peek)(const sl_codec_source *source, sl_picture *picture);
    /* Per-decoder state; both NULL for codecs without any. close: NULL is a no-op. */
    sluice_status (*open)(void **state, sluice_error *error);
    void (*close)(void *state);
    sluice_status (*header)(void *state, const sl_codec_source *source, sl_codec_info *info,
                            sluice_error *error);
    /*
     * Decodes, after header of the same source; one of these or both, NULL: not supported. Pixels
     * are the input of augmentation: 8-bit RGB, a region, which may be scaled down.
     */
    sluice_status (*pixels)(void *state, const sl_codec_source *source,
                            const sl_codec_request *request, sl_image *view, sluice_error *error);
    /*
     * Returns about how much work `pixels` is, in any unit, to find out whether two requests of one
     * denominator cost less as one: after header, before the first `pixels`. NULL: rows from the
     * top are read.
     */
    uint64_t (*work)(const void *state, const sl_codec_source *source,
                     const sl_codec_request *request);
    /*
     * Decodes values as stored: steps [first, first + count) of those in the header, in the
     * source's scratch. For an image: grey or channels without scaling, numbers of a palette's
     * colours; two bytes are in the machine's order.
     */
    sluice_status (*values)(void *state, const sl_codec_source *source, uint64_t first,
                            uint64_t count, const uint8_t **values, sluice_error *error);
    /* Checks the checksums that `header` did not, without decoding, of bytes that it accepted.
     * Pure. Errors: CORRUPT, with an offset. NULL: there are none. */
    sluice_status (*check_sums)(sl_bytes bytes, sluice_error *error);
} sl_codec;

/* Checks that an image is within the source's limit: for `header`. Errors: UNSUPPORTED. */
sluice_status sl_codec_check_pixels(const sl_codec_source *source, sl_picture picture,
                                    sluice_error *error);
/*
 * Reads the size of an image of this codec, as stored, without a decoder: for writers and checks.
 * The source's scratch does not count. Any thread. Errors: those of `header`.
 */
sluice_status sl_codec_size(const sl_codec *codec, const sl_codec_source *source,
                            sl_picture *picture, sluice_error *error);

#endif

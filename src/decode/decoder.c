/* SPDX-License-Identifier: Apache-2.0 */
#include "decoder.h"

#include "error.h"
#include "frame.h"
#include "jpeg_codec.h"
#include "memory.h"
#include "orient.h"
#include "signature.h"

#include <assert.h>

static const sl_codec *const codecs[] = {&sl_codec_jpeg};
enum { CODECS = sizeof(codecs) / sizeof(codecs[0]) };

/*
 * Scratch, all of it address space until touched. Per pixel: 8 bytes of coefficients (four
 * components of a progressive picture), 3 of RGB, 3 turned upright. Besides: coefficients that pad
 * a narrow picture to whole MCUs, libjpeg's row buffers, and what the augmentation takes.
 */
#define PIXELS_MAX         ((uint64_t)65535 * 65535) /* of any JPEG */
#define BYTES_PER_PIXEL    14
#define PADDING_BYTES      ((uint64_t)128 << 20)
#define AUGMENT_BYTES      ((uint64_t)1 << 30)
#define SCRATCH_KEEP_BYTES ((size_t)32 << 20)

enum { DENOMINATOR_MAX = 8 }; /* 1/8: a pixel of each block */

struct sl_decoder {
    sl_decoder_config config;
    sl_scratch scratch;
    sl_frame *frame;
    void *states[CODECS];
    uint32_t avoid; /* SL_ROAD_* */
    /* of the picture opened last */
    const sl_codec *codec; /* NULL: raw pixels, or none is open */
    void *state;
    sl_codec_source source;
    sl_codec_info info;
    bool opened;
    bool decoded; /* the codec wants its header step again */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t scratch_bytes(const sl_decoder_config *config)
{
    return smaller(config->max_pixels, PIXELS_MAX) * BYTES_PER_PIXEL + PADDING_BYTES +
           AUGMENT_BYTES + smaller(config->max_unpacked_bytes, UINT64_C(1) << 40);
}

sluice_status sl_decoder_open(sl_decoder **decoder, const sl_decoder_config *config,
                              sluice_error *error)
{
    *decoder = NULL;
    sl_decoder *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "decode", "no memory for a decoder");
    }
    made->config = *config;
    sluice_status status =
        sl_scratch_open(&made->scratch, scratch_bytes(config), SCRATCH_KEEP_BYTES, error);
    if (status == SLUICE_OK) {
        status = sl_frame_open(&made->frame, error);
    }
    for (size_t i = 0; i < CODECS && status == SLUICE_OK; i++) {
        status = codecs[i]->open(&made->states[i], error);
    }
    if (status != SLUICE_OK) {
        sl_decoder_close(made);
        return status;
    }
    *decoder = made;
    return SLUICE_OK;
}

void sl_decoder_close(sl_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    for (size_t i = 0; i < CODECS; i++) {
        codecs[i]->close(decoder->states[i]);
    }
    sl_frame_close(decoder->frame);
    sl_scratch_close(&decoder->scratch);
    sl_free(decoder);
}

void sl_decoder_avoid(sl_decoder *decoder, uint32_t roads)
{
    decoder->avoid = roads;
}

sl_frame *sl_decoder_frame(sl_decoder *decoder)
{
    return decoder->frame;
}

sl_scratch *sl_decoder_scratch(sl_decoder *decoder)
{
    return &decoder->scratch;
}

/* Index of the codec that takes `bytes`. */
static sluice_status find_codec(sl_bytes bytes, size_t *index, sluice_error *error)
{
    if (bytes.size == 0) {
        return sl_error_file(error, SLUICE_CORRUPT, "decode", 0, NULL, 0, "empty");
    }
    for (size_t i = 0; i < CODECS; i++) {
        if (codecs[i]->probe(bytes)) {
            *index = i;
            return SLUICE_OK;
        }
    }
    const char *name = sl_signature_name(bytes);
    if (name != NULL) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, "decode", 0, NULL, 0,
                             "%s data: there is no codec for it here", name);
    }
    return sl_error_file(error, SLUICE_CORRUPT, "decode", 0, NULL, 0,
                         "not a picture: it begins with the bytes %02x %02x", bytes.data[0],
                         bytes.size > 1 ? bytes.data[1] : 0U);
}

static sluice_status check_raw(const sl_decoder *decoder, const sl_stored_image *stored,
                               sl_bytes bytes, sluice_error *error)
{
    uint64_t pixels = (uint64_t)stored->width * stored->height;
    if (pixels > decoder->config.max_pixels) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "decode",
                            "a picture of %u x %u pixels is above the limit of %llu pixels",
                            stored->width, stored->height,
                            (unsigned long long)decoder->config.max_pixels);
    }
    if (pixels == 0 || bytes.size % 3 != 0 || bytes.size / 3 != pixels) {
        return sl_error_set(error, SLUICE_CORRUPT, "decode",
                            "%zu bytes are not the raw pixels of a picture of %u x %u", bytes.size,
                            stored->width, stored->height);
    }
    return SLUICE_OK;
}

/* The header step of the codec, or the check of raw pixels. */
static sluice_status read_header(sl_decoder *decoder, const sl_stored_image *stored,
                                 sluice_error *error)
{
    if (stored->raw) {
        decoder->codec = NULL;
        decoder->info = (sl_codec_info){{stored->width, stored->height}, 1};
        return check_raw(decoder, stored, decoder->source.bytes, error);
    }
    size_t index = 0;
    sluice_status status = find_codec(decoder->source.bytes, &index, error);
    if (status != SLUICE_OK) {
        return status;
    }
    decoder->codec = codecs[index];
    decoder->state = decoder->states[index];
    return decoder->codec->header(decoder->state, &decoder->source, &decoder->info, error);
}

sluice_status sl_decoder_open_picture(sl_decoder *decoder, const sl_stored_image *stored,
                                      sl_picture *picture, sluice_error *error)
{
    decoder->opened = false;
    decoder->decoded = false;
    sl_scratch_reset(&decoder->scratch);
    decoder->source = (sl_codec_source){.bytes = stored->bytes,
                                        .scratch = &decoder->scratch,
                                        .max_pixels = decoder->config.max_pixels,
                                        .avoid = decoder->avoid};
    if (stored->zstd) {
        sluice_status status =
            sl_frame_unpack(decoder->frame, stored->bytes, decoder->config.max_unpacked_bytes,
                            &decoder->scratch, &decoder->source.bytes, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    sluice_status status = read_header(decoder, stored, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (decoder->config.exif != SLUICE_EXIF_APPLY) {
        decoder->info.orientation = 1;
    }
    *picture = decoder->info.stored;
    if (sl_orient_transposes(decoder->info.orientation)) {
        *picture = (sl_picture){decoder->info.stored.height, decoder->info.stored.width};
    }
    decoder->opened = true;
    return SLUICE_OK;
}

static void view_raw(const sl_decoder *decoder, sl_image *view)
{
    uint32_t width = decoder->info.stored.width;
    uint32_t height = decoder->info.stored.height;
    *view = (sl_image){.pixels = decoder->source.bytes.data,
                       .width = width,
                       .height = height,
                       .channels = 3,
                       .stride_bytes = (size_t)width * 3,
                       .picture_width = width,
                       .picture_height = height,
                       .denominator = 1};
}

/* How far the picture may be scaled down so that `need` is not smaller than out. */
static uint32_t choose_denominator(const sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                   uint32_t out_height)
{
    const sl_codec_info *info = &decoder->info;
    uint32_t chosen = 1;
    if (out_width == 0 || out_height == 0) {
        return chosen;
    }
    for (uint32_t d = 2; d <= DENOMINATOR_MAX; d *= 2) {
        if (need.width / d >= out_width && need.height / d >= out_height &&
            sl_orient_scales(info->orientation, info->stored.width, info->stored.height, d)) {
            chosen = d;
        }
    }
    return chosen;
}

/* Widens one side to whole pixels of the picture scaled down by d. */
static void cover_scaled(uint32_t *start, uint32_t *size, uint32_t limit, uint32_t d)
{
    const uint32_t end = (*start + *size + d - 1) / d * d;
    *start = *start / d * d;
    *size = (end < limit ? end : limit) - *start;
}

sluice_status sl_decoder_decode(sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                uint32_t out_height, sl_image *view, sluice_error *error)
{
    assert(decoder->opened);
    assert(need.width > 0 && need.height > 0);
    if (decoder->codec == NULL) {
        view_raw(decoder, view);
        return SLUICE_OK;
    }
    const uint32_t orientation = decoder->info.orientation;
    const sl_picture stored = decoder->info.stored;
    const bool transposes = sl_orient_transposes(orientation);
    const uint32_t denominator = choose_denominator(decoder, need, out_width, out_height);
    if (denominator > 1) {
        const uint32_t width = transposes ? stored.height : stored.width;
        const uint32_t height = transposes ? stored.width : stored.height;
        cover_scaled(&need.x, &need.width, width, denominator);
        cover_scaled(&need.y, &need.height, height, denominator);
    }
    sl_codec_request request = {
        .need = sl_orient_to_stored(orientation, need, stored.width, stored.height),
        .denominator = denominator};
    assert(request.need.x < stored.width && request.need.width <= stored.width - request.need.x);
    assert(request.need.y < stored.height && request.need.height <= stored.height - request.need.y);
    sluice_status status = SLUICE_OK;
    if (decoder->decoded) {
        sl_codec_info again;
        status = decoder->codec->header(decoder->state, &decoder->source, &again, error);
    }
    decoder->decoded = true;
    if (status == SLUICE_OK) {
        status = decoder->codec->decode(decoder->state, &decoder->source, &request, view, error);
    }
    if (status == SLUICE_OK && orientation != 1) {
        status = sl_orient_turn(orientation, need, view, &decoder->scratch, error);
    }
    return status;
}

sluice_status sl_picture_probe(sl_bytes bytes, uint64_t max_pixels, sl_picture *picture,
                               sluice_error *error)
{
    size_t index = 0;
    sluice_status status = find_codec(bytes, &index, error);
    return status == SLUICE_OK ? sl_codec_size(codecs[index], bytes, max_pixels, picture, error)
                               : status;
}

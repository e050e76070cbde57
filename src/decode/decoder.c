/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder: finds the codec of an image, sets up its source and turns its result upright. It owns
 * one state per codec, made when it is opened, and the scratch that all of them use, which each
 * open_picture resets. One owner thread, except for the stop flag.
 */
#include "decoder.h"

#include "codecs.h"
#include "error.h"
#include "frame.h"
#include "jpeg_round_trip.h"
#include "memory.h"
#include "minmax.h"
#include "name_list.h"
#include "orient.h"
#include "packed_value.h"

#include <assert.h>

/*
 * The most scratch that an image can need: what a codec takes, 3 bytes of RGB per pixel to turn it
 * upright, an unpacked frame, and what augmentation takes.
 */
#define TURNED_PIXELS_MAX  ((uint64_t)65535 * 65535) /* a larger image is not turned: NOMEM */
#define TURNED_PIXEL_BYTES 3
#define UNPACKED_BYTES_MAX (UINT64_C(1) << 40)
#define AUGMENT_BYTES      ((uint64_t)1 << 30)
#define SCRATCH_KEEP_BYTES ((size_t)32 << 20)

struct sl_decoder {
    sl_decoder_config config;
    sl_scratch scratch;
    sl_frame *frame;
    void *states[SL_CODECS_MAX]; /* by row */
    uint32_t avoid;              /* SL_PATH_* */
    /* of the image opened last */
    const sl_codec *codec;
    void *state;
    sl_codec_source source;
    sl_codec_info info;
    uint32_t orientation; /* as stored, whether or not it is applied */
    bool opened;
    bool decoded; /* the codec wants its header step again */
};

static uint64_t decoder_scratch_bytes(const sl_decoder_config *config)
{
    uint64_t most = 0;
    if (config->scratch_bytes != 0) {
        return config->scratch_bytes;
    }
    for (size_t i = 0; sl_codecs[i] != NULL; i++) {
        const uint64_t bytes = sl_codecs[i]->scratch_bytes != NULL
                                   ? sl_codecs[i]->scratch_bytes(config->max_pixels)
                                   : 0;
        most = sl_max_u64(bytes, most);
    }
    return most + sl_min_u64(config->max_pixels, TURNED_PIXELS_MAX) * TURNED_PIXEL_BYTES +
           sl_min_u64(config->max_unpacked_bytes, UNPACKED_BYTES_MAX) + AUGMENT_BYTES;
}

sluice_status sl_decoder_open(sl_decoder **decoder, const sl_decoder_config *config,
                              sluice_error *error)
{
    *decoder = NULL;
    sl_decoder *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "decode", "for a decoder");
    }
    made->config = *config;
    sluice_status status =
        sl_scratch_open(&made->scratch, decoder_scratch_bytes(config), SCRATCH_KEEP_BYTES, error);
    if (status == SLUICE_OK) {
        sl_scratch_keep(&made->scratch, config->keep_bytes);
        status = sl_frame_open(&made->frame, error);
    }
    for (size_t i = 0; sl_codecs[i] != NULL && status == SLUICE_OK; i++) {
        if (sl_codecs[i]->open != NULL) {
            status = sl_codecs[i]->open(&made->states[i], error);
        }
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
    for (size_t i = 0; sl_codecs[i] != NULL; i++) {
        if (sl_codecs[i]->close != NULL) {
            sl_codecs[i]->close(decoder->states[i]);
        }
    }
    sl_frame_close(decoder->frame);
    sl_scratch_close(&decoder->scratch);
    sl_free(decoder);
}

void sl_decoder_bind(sl_decoder *decoder, uint64_t bytes)
{
    sl_scratch_bind(&decoder->scratch, bytes);
}

void sl_decoder_avoid(sl_decoder *decoder, uint32_t paths)
{
    decoder->avoid = paths;
}

sl_frame *sl_decoder_frame(sl_decoder *decoder)
{
    return decoder->frame;
}

const _Atomic bool *sl_decoder_stop(const sl_decoder *decoder)
{
    return decoder->config.stop;
}

sl_scratch *sl_decoder_scratch(sl_decoder *decoder)
{
    return &decoder->scratch;
}

/* Runs the codec's header step. */
static sluice_status decoder_read_header(sl_decoder *decoder, uint8_t number, sluice_error *error)
{
    uint32_t row = 0;
    const sluice_status status = sl_codec_find(number, decoder->source.bytes, &row, error);
    if (status != SLUICE_OK) {
        return status;
    }
    decoder->codec = sl_codecs[row];
    decoder->state = decoder->states[row];
    return decoder->codec->header(decoder->state, &decoder->source, &decoder->info, error);
}

/* Does everything that open_picture and open_values have in common. */
static sluice_status open_value(sl_decoder *decoder, const sl_value *value, sluice_error *error)
{
    decoder->opened = false;
    decoder->decoded = false;
    sl_scratch_reset(&decoder->scratch);
    decoder->source = (sl_codec_source){.bytes = value->bytes,
                                        .scratch = &decoder->scratch,
                                        .max_pixels = decoder->config.max_pixels,
                                        .avoid = decoder->avoid,
                                        .stop = decoder->config.stop,
                                        .claimed = {value->width, value->height}};
    if (sl_is_packed(value)) {
        sluice_status status =
            sl_packed_unpack(decoder->frame, value, decoder->config.max_unpacked_bytes,
                             &decoder->scratch, &decoder->source.bytes, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    const sluice_status status = decoder_read_header(decoder, value->codec, error);
    if (status != SLUICE_OK) {
        return status;
    }
    decoder->orientation = decoder->info.orientation;
    if (decoder->config.exif != SLUICE_EXIF_APPLY) {
        decoder->info.orientation = 1;
    }
    decoder->opened = true;
    return SLUICE_OK;
}

/* Returns the size of the decoded image. */
static sl_picture decoded_size(const sl_decoder *decoder)
{
    const sl_picture stored = decoder->info.stored;
    return sl_orient_transposes(decoder->info.orientation)
               ? (sl_picture){stored.height, stored.width}
               : stored;
}

sluice_status sl_decoder_open_picture(sl_decoder *decoder, const sl_value *value,
                                      sl_picture *picture, sluice_error *error)
{
    const sluice_status status = open_value(decoder, value, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (decoder->codec->pixels == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "decode",
                            "it is stored as %s, which has no pixels",
                            sl_codec_name(decoder->codec));
    }
    *picture = decoded_size(decoder);
    return SLUICE_OK;
}

bool sl_decoder_is_upright(const sl_decoder *decoder)
{
    assert(decoder->opened);
    return decoder->info.orientation == decoder->orientation;
}

sl_turn sl_decoder_stored(const sl_decoder *decoder)
{
    assert(decoder->opened);
    return (sl_turn){decoder->orientation, decoder->info.stored.width, decoder->info.stored.height};
}

sluice_status sl_decoder_turns(const sl_decoder *decoder, sluice_exif exif,
                               sluice_orientation orientation, const int64_t annotated[2],
                               bool *turns, sluice_error *error)
{
    const sl_turn stored = sl_decoder_stored(decoder);
    if (exif != SLUICE_EXIF_AUTO) {
        *turns = exif == SLUICE_EXIF_APPLY;
        return SLUICE_OK;
    }
    *turns = orientation == SLUICE_ORIENTATION_UPRIGHT;
    if (orientation != SLUICE_ORIENTATION_BY_SIZE || annotated[0] <= 0 || annotated[1] <= 0) {
        return SLUICE_OK;
    }
    const sluice_orientation found = sl_turn_by_size(&stored, annotated[0], annotated[1]);
    *turns = found == SLUICE_ORIENTATION_UPRIGHT;
    return found == SLUICE_ORIENTATION_BY_SIZE ? sl_turn_refuse(&stored, annotated, error)
                                               : SLUICE_OK;
}

void sl_decoder_turn(sl_decoder *decoder, bool upright, sl_picture *picture)
{
    assert(decoder->opened && !decoder->decoded);
    decoder->info.orientation = upright ? decoder->orientation : 1;
    *picture = decoded_size(decoder);
}

/* Names the codecs that have stored values. */
static sluice_status without_values(const sl_codec *codec, sluice_error *error)
{
    sl_name_list known;
    sl_name_list_begin(&known);
    for (uint32_t i = 0; sl_codecs[i] != NULL; i++) {
        if (sl_codecs[i]->values != NULL) {
            sl_name_list_add(&known, sl_codec_name(sl_codecs[i]));
        }
    }
    return sl_error_set(
        error, SLUICE_UNSUPPORTED, "decode",
        "the image is stored as %s, which gives pixels only; values as stored can be read from: %s",
        sl_codec_name(codec), known.text);
}

sluice_status sl_decoder_open_values(sl_decoder *decoder, const sl_value *value,
                                     sl_decoded_form *form, sluice_error *error)
{
    const sluice_status status = open_value(decoder, value, error);
    if (status != SLUICE_OK) {
        return status;
    }
    *form = decoder->info.values;
    return decoder->codec->values != NULL ? SLUICE_OK : without_values(decoder->codec, error);
}

uint32_t sl_decoder_orientation(const sl_decoder *decoder)
{
    assert(decoder->opened);
    return decoder->orientation;
}

uint32_t sl_decoder_denominator(const sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                uint32_t out_height)
{
    const sl_codec_info *info = &decoder->info;
    uint32_t chosen = 1;
    if (out_width == 0 || out_height == 0) {
        return chosen;
    }
    for (uint32_t d = 2; d <= decoder->codec->denominator_max; d *= 2) {
        if (need.width / d >= out_width && need.height / d >= out_height &&
            sl_orient_scales(info->orientation, info->stored.width, info->stored.height, d)) {
            chosen = d;
        }
    }
    return chosen;
}

/* Widens one side to whole pixels of the image scaled down by d. */
static void cover_scaled(uint32_t *start, uint32_t *size, uint32_t limit, uint32_t d)
{
    const uint32_t end = (*start + *size + d - 1) / d * d;
    *start = *start / d * d;
    *size = sl_min_u32(end, limit) - *start;
}

/* Brings the codec back to where its header step leaves it. */
static sluice_status rewind_codec(sl_decoder *decoder, sluice_error *error)
{
    sl_codec_info again;
    const bool decoded = decoder->decoded;
    decoder->decoded = true;
    return decoded ? decoder->codec->header(decoder->state, &decoder->source, &again, error)
                   : SLUICE_OK;
}

/* Widens `need` to whole pixels of the image scaled down, and returns the request for it as
 * stored. */
static sl_codec_request request_of(const sl_decoder *decoder, sl_rect *need, uint32_t denominator)
{
    const sl_picture stored = decoder->info.stored;
    const bool transposes = sl_orient_transposes(decoder->info.orientation);
    assert(decoder->opened);
    assert(need->width > 0 && need->height > 0);
    if (denominator > 1) {
        const uint32_t width = transposes ? stored.height : stored.width;
        const uint32_t height = transposes ? stored.width : stored.height;
        cover_scaled(&need->x, &need->width, width, denominator);
        cover_scaled(&need->y, &need->height, height, denominator);
    }
    const sl_rect part =
        sl_orient_to_stored(decoder->info.orientation, *need, stored.width, stored.height);
    assert(part.x < stored.width && part.width <= stored.width - part.x);
    assert(part.y < stored.height && part.height <= stored.height - part.y);
    return (sl_codec_request){.need = part, .denominator = denominator};
}

sluice_status sl_decoder_decode_scaled(sl_decoder *decoder, sl_rect need, uint32_t denominator,
                                       sl_image *view, sluice_error *error)
{
    const uint32_t orientation = decoder->info.orientation;
    const sl_codec_request request = request_of(decoder, &need, denominator);
    sluice_status status = rewind_codec(decoder, error);
    if (status == SLUICE_OK) {
        status = decoder->codec->pixels(decoder->state, &decoder->source, &request, view, error);
    }
    if (status == SLUICE_OK && orientation != 1) {
        status = sl_orient_turn(orientation, need, view, &decoder->scratch, error);
    }
    return status;
}

sluice_status sl_decoder_decode(sl_decoder *decoder, sl_rect need, uint32_t out_width,
                                uint32_t out_height, sl_image *view, sluice_error *error)
{
    const uint32_t denominator = sl_decoder_denominator(decoder, need, out_width, out_height);
    return sl_decoder_decode_scaled(decoder, need, denominator, view, error);
}

uint64_t sl_decoder_work(const sl_decoder *decoder, sl_rect need, uint32_t denominator)
{
    const sl_codec_request request = request_of(decoder, &need, denominator);
    const uint64_t pixels = (uint64_t)need.width * need.height;
    assert(!decoder->decoded);
    const uint64_t turning = decoder->info.orientation != 1 ? pixels : 0;
    const uint64_t work = decoder->codec->work != NULL
                              ? decoder->codec->work(decoder->state, &decoder->source, &request)
                              : pixels + (uint64_t)decoder->info.stored.width *
                                             (request.need.y + request.need.height);
    return work + turning;
}

sluice_status sl_decoder_values(sl_decoder *decoder, uint64_t first, uint64_t count,
                                const uint8_t **values, sluice_error *error)
{
    assert(decoder->opened && decoder->codec->values != NULL);
    assert(count > 0 && first < decoder->info.values.shape[0]);
    assert(count <= decoder->info.values.shape[0] - first);
    const sluice_status status = rewind_codec(decoder, error);
    return status == SLUICE_OK ? decoder->codec->values(decoder->state, &decoder->source, first,
                                                        count, values, error)
                               : status;
}

sluice_status sl_decoder_jpeg_artefacts(const sl_image *in, int quality, uint8_t *out,
                                        sl_scratch *scratch, sluice_error *error)
{
    return sl_jpeg_round_trip(in, quality, out, scratch, error);
}

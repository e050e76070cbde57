/* SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"

#include "error.h"

#define HEADER_SCRATCH_BYTES ((size_t)4 << 20)

sluice_status sl_codec_check_pixels(const sl_codec_source *source, sl_picture picture,
                                    sluice_error *error)
{
    if ((uint64_t)picture.width * picture.height <= source->max_pixels) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_UNSUPPORTED, "decode",
                        "an image of %u x %u pixels is above the limit of %llu pixels",
                        picture.width, picture.height, (unsigned long long)source->max_pixels);
}

static sluice_status ask_header(const sl_codec *codec, const sl_codec_source *source,
                                sl_picture *picture, sluice_error *error)
{
    void *state = NULL;
    sl_codec_info info;
    sluice_status status = codec->open != NULL ? codec->open(&state, error) : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = codec->header(state, source, &info, error);
    }
    if (status == SLUICE_OK) {
        *picture = info.stored;
    }
    if (codec->close != NULL) {
        codec->close(state);
    }
    return status;
}

sluice_status sl_codec_size(const sl_codec *codec, const sl_codec_source *source,
                            sl_picture *picture, sluice_error *error)
{
    if (codec->peek != NULL && codec->peek(source, picture) &&
        (uint64_t)picture->width * picture->height <= source->max_pixels) {
        return SLUICE_OK;
    }
    sl_scratch scratch;
    sl_codec_source own = *source;
    own.scratch = &scratch;
    sluice_status status =
        sl_scratch_open(&scratch, HEADER_SCRATCH_BYTES, HEADER_SCRATCH_BYTES, error);
    if (status != SLUICE_OK) {
        return status;
    }
    status = ask_header(codec, &own, picture, error);
    sl_scratch_close(&scratch);
    return status;
}

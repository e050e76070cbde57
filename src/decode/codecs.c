/* SPDX-License-Identifier: Apache-2.0 */
#include "codecs.h"

#include "error.h"
#include "jpeg_codec.h"
#include "png_codec.h"
#include "raw_codec.h"
#include "signature.h"
#include "value.h"
#include "webp_codec.h"

#define STAGE "decode"

const sl_codec *const sl_codecs[SL_CODECS_MAX + 1] = {
    &sl_codec_jpeg,
    &sl_codec_raw,
    &sl_codec_png,
    &sl_codec_webp,
};

static sluice_status refuse(uint8_t number, sl_bytes bytes, sluice_error *error)
{
    if (number != SL_CODEC_BY_BYTES) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the picture has codec %u, which this library does not know", number);
    }
    const char *name = sl_signature_name(bytes);
    if (name != NULL) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, NULL, 0,
                             "%s data: there is no codec for it here", name);
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, 0,
                         "not a picture: it begins with the bytes %02x %02x", bytes.data[0],
                         bytes.size > 1 ? bytes.data[1] : 0U);
}

static bool takes(const sl_codec *codec, uint8_t number, sl_bytes bytes)
{
    return number == SL_CODEC_BY_BYTES ? codec->probe != NULL && codec->probe(bytes)
                                       : codec->number == number;
}

sluice_status sl_codec_find(uint8_t number, sl_bytes bytes, uint32_t *row, sluice_error *error)
{
    if (bytes.size == 0) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, 0, "the picture is empty");
    }
    for (uint32_t i = 0; sl_codecs[i] != NULL; i++) {
        if (takes(sl_codecs[i], number, bytes)) {
            *row = i;
            return SLUICE_OK;
        }
    }
    return refuse(number, bytes, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "codecs.h"

#include "error.h"
#include "foreign.h"
#include "jpeg_codec.h"
#include "media.h"
#include "value.h"

#define STAGE "decode"

const sl_codec *const sl_codecs[SL_CODECS_MAX + 1] = {
    &sl_codec_jpeg,
    &sl_codec_raw,
    &sl_codec_png,
    &sl_codec_webp,
};

static sluice_status codec_unknown(uint8_t number, sluice_error *error)
{
    const sl_media *kind = sl_media_of_codec(number);
    return kind != NULL
               ? sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                              "%s data cannot be decoded: this build has no codec for them",
                              kind->name)
               : sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                              "the image has codec %u, which this library does not know", number);
}

/* Reports bytes that no codec accepts. */
static sluice_status bytes_unknown(const sl_media *kind, sl_bytes bytes, sluice_error *error)
{
    const size_t head = bytes.size < SL_FOREIGN_HEAD_BYTES ? bytes.size : SL_FOREIGN_HEAD_BYTES;
    const char *foreign = sl_foreign_or_known_kind(bytes.data, head);
    if (kind != NULL && (kind->traits & SL_MEDIA_PICTURE) != 0) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, NULL, 0,
                             "%s data cannot be decoded: convert the image to JPEG, PNG or WebP",
                             kind->name);
    }
    if (foreign != NULL) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, 0, "not an image: it is %s",
                             foreign);
    }
    if (kind != NULL) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, 0,
                             "not an image: it is %s (%s)", sl_media_class_words(kind), kind->name);
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, 0,
                         "not an image: it begins with the bytes %02x %02x", bytes.data[0],
                         bytes.size > 1 ? bytes.data[1] : 0U);
}

sluice_status sl_codec_find(uint8_t number, sl_bytes bytes, uint32_t *row, sluice_error *error)
{
    const sl_media *kind = NULL;
    if (bytes.size == 0) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, 0, "the image is empty");
    }
    const bool by_bytes = number == SL_CODEC_BY_BYTES;
    if (by_bytes) {
        kind = sl_media_of_bytes(bytes);
        number = kind != NULL ? kind->codec : SL_CODEC_BY_BYTES;
    }
    for (uint32_t i = 0; sl_codecs[i] != NULL; i++) {
        if (sl_codecs[i]->number == number) {
            *row = i;
            return SLUICE_OK;
        }
    }
    return by_bytes ? bytes_unknown(kind, bytes, error) : codec_unknown(number, error);
}

const char *sl_codec_name(const sl_codec *codec)
{
    return sl_media_of_codec(codec->number)->name;
}

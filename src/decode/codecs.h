/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codecs: the table of picture codecs, and which row takes a picture.
 *
 * Purpose: the only place that knows which codecs there are. Threads: pure.
 */
#ifndef SL_CODECS_H
#define SL_CODECS_H

#include "codec.h"

#define SL_CODECS_MAX 15

/* NULL behind the last. Each has a row in the table of media (media.h), by its number. */
extern const sl_codec *const sl_codecs[SL_CODECS_MAX + 1];

/*
 * The row of the codec with this number; with SL_CODEC_BY_BYTES (value.h) that of the kind of media
 * that the bytes are. Errors: CORRUPT (empty, not a picture), UNSUPPORTED (there is no codec for
 * it).
 */
sluice_status sl_codec_find(uint8_t number, sl_bytes bytes, uint32_t *row, sluice_error *error);
/* "JPEG": as the table of media has it. */
const char *sl_codec_name(const sl_codec *codec);

#endif

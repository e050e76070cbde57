/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_chunks: what a WebP file says before its pixels are decoded, and where they are.
 *
 * Purpose: one walk over the RIFF container. Animations are refused: taking the first frame for the
 * image would be a silent guess. The container has no checksums; its completeness is checked.
 *
 * Threads: pure.
 */
#ifndef SL_WEBP_CHUNKS_H
#define SL_WEBP_CHUNKS_H

#include "codec.h"

typedef struct sl_webp {
    sl_picture size;
    uint32_t orientation; /* of EXIF, 1..8 */
    bool lossless;
    sl_bytes data; /* the complete chunk VP8 or VP8L */
} sl_webp;

bool sl_webp_probe(sl_bytes bytes);
/* Errors: CORRUPT, UNSUPPORTED (an animation, too many pixels). */
sluice_status sl_webp_read(sl_webp *webp, const sl_codec_source *source, sluice_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"

#define HEADER_SCRATCH_BYTES ((size_t)4 << 20)

sluice_status sl_codec_size(const sl_codec *codec, sl_bytes bytes, uint64_t max_pixels,
                            sl_picture *picture, sluice_error *error)
{
    sl_scratch scratch;
    void *state = NULL;
    sl_codec_info info;
    sluice_status status =
        sl_scratch_open(&scratch, HEADER_SCRATCH_BYTES, HEADER_SCRATCH_BYTES, error);
    if (status != SLUICE_OK) {
        return status;
    }
    status = codec->open(&state, error);
    if (status == SLUICE_OK) {
        const sl_codec_source source = {
            .bytes = bytes, .scratch = &scratch, .max_pixels = max_pixels};
        status = codec->header(state, &source, &info, error);
    }
    if (status == SLUICE_OK) {
        *picture = info.stored;
    }
    codec->close(state);
    sl_scratch_close(&scratch);
    return status;
}

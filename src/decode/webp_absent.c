/* SPDX-License-Identifier: Apache-2.0 */
/* The WebP row of a build without libwebp. */
#include "codecs.h"
#include "error.h"
#include "webp_chunks.h"

static sluice_status webp_absent_header(void *state, const sl_codec_source *source,
                                        sl_codec_info *info, sluice_error *error)
{
    (void)state;
    sl_webp webp;
    *info = (sl_codec_info){.orientation = 1};
    const sluice_status status = sl_webp_read(&webp, source, error);
    return status != SLUICE_OK ? status
                               : sl_error_file(error, SLUICE_UNSUPPORTED, "decode", 0, NULL, 0,
                                               "WebP data: this library was built without libwebp");
}

/* Never called: it comes after the header. */
static sluice_status webp_absent_pixels(void *state, const sl_codec_source *source,
                                        const sl_codec_request *request, sl_image *view,
                                        sluice_error *error)
{
    (void)request;
    (void)view;
    sl_codec_info info;
    return webp_absent_header(state, source, &info, error);
}

const sl_codec sl_codec_webp = {
    .number = 4,
    .denominator_max = 1,
    .header = webp_absent_header,
    .pixels = webp_absent_pixels,
};

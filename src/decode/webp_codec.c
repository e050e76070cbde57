/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_codec: WebP as a codec (base/codec.h), lossy and lossless, through libwebp.
 *
 * Alpha is dropped and not decoded; nor is what follows the rectangle. libwebp's upsampling treats
 * the edge of a crop like the edge of the image, so a lossy image is decoded with a margin, and the
 * rectangle equals that of a full decode bit for bit.
 *
 * Memory: pixels are in scratch. libwebp takes its working memory from the heap and gives it back
 * at the end of each image; it cannot be given an allocator. Instead, as much scratch as such an
 * image takes is reserved, and not touched, so that scratch_bytes bounds both together. The
 * exception is a lossless image made to do harm: libwebp makes sets of Huffman tables of up to 20
 * kB each for only 20 bits of the file, at most 65536 of them (usual images: some tens).
 *
 * Without libwebp (SLUICE_WEBP) WebP images are UNSUPPORTED.
 *
 * Threads: pure.
 */
#include "codecs.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "webp_chunks.h"

#include <webp/decode.h>

#define STAGE "decode"

enum {
    SIDE_MAX = 16383,
    MARGIN = 2, /* pixels that upsampling reads next to a crop, which begins at even coordinates */
    /* A larger image is decoded in pieces; `stop` is checked between them. */
    LONG_PIXELS = 1 << 21,
    PIECES = 64,
    PIECE_BYTES_MIN = 1 << 14
};

/*
 * The most that libwebp takes from the heap: for each column the current rows; of a lossless image
 * 4 bytes of each pixel, a quarter of that for each of three transforms, and tables.
 */
#define COLUMN_BYTES   ((uint64_t)128)
#define LOSSLESS_BYTES ((uint64_t)7)
#define FIXED_BYTES    ((uint64_t)4 << 20)

static uint64_t heap_bytes(uint64_t width, uint64_t pixels, bool lossless)
{
    return FIXED_BYTES + width * COLUMN_BYTES + (lossless ? pixels * LOSSLESS_BYTES : 0);
}

static uint64_t webp_scratch_bytes(uint64_t max_pixels)
{
    const uint64_t most = (uint64_t)SIDE_MAX * SIDE_MAX;
    const uint64_t pixels = sl_min_u64(max_pixels, most);
    return pixels * 3 + heap_bytes(SIDE_MAX, pixels, true) + 4096;
}

static sluice_status webp_open(void **state, sluice_error *error)
{
    *state = sl_calloc(1, sizeof(sl_webp));
    return *state != NULL ? SLUICE_OK : sl_no_memory(error, STAGE, "for a WebP decoder");
}

static sluice_status webp_header(void *state, const sl_codec_source *source, sl_codec_info *info,
                                 sluice_error *error)
{
    sl_webp *webp = state;
    const sluice_status status = sl_webp_read(webp, source, error);
    *info = (sl_codec_info){.stored = webp->size, .orientation = webp->orientation};
    return status;
}

/* Widens one side of `need` by what upsampling also reads. */
static void webp_codec_widen(uint32_t *start, uint32_t *size, uint32_t limit)
{
    const uint32_t end = (*start + *size + MARGIN + 1) & ~1U;
    *start = *start > MARGIN ? (*start - MARGIN) & ~1U : 0;
    *size = sl_min_u32(end, limit) - *start;
}

static bool webp_codec_is_stopped(const sl_codec_source *source)
{
    /* relaxed: a thread that sees it late only works a little longer */
    return source->stop != NULL && atomic_load_explicit(source->stop, memory_order_relaxed);
}

/* Returns VP8_STATUS_USER_ABORT once `stop` is set. */
static VP8StatusCode decode_in_pieces(sl_bytes data, const sl_codec_source *source,
                                      WebPDecoderConfig *config)
{
    VP8StatusCode status = VP8_STATUS_SUSPENDED;
    const size_t share = data.size / PIECES;
    const size_t piece = sl_max_size(share, PIECE_BYTES_MIN);
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, config);
    if (decoder == NULL) {
        return VP8_STATUS_OUT_OF_MEMORY;
    }
    for (size_t given = 0; given < data.size && status == VP8_STATUS_SUSPENDED;) {
        given = data.size - given > piece ? given + piece : data.size;
        status = webp_codec_is_stopped(source) ? VP8_STATUS_USER_ABORT
                                               : WebPIUpdate(decoder, data.data, given);
    }
    WebPIDelete(decoder);
    return status;
}

static VP8StatusCode webp_codec_run(const sl_webp *webp, const sl_codec_source *source,
                                    WebPDecoderConfig *config)
{
    if ((uint64_t)webp->size.width * webp->size.height > LONG_PIXELS) {
        return decode_in_pieces(webp->data, source, config);
    }
    return webp_codec_is_stopped(source) ? VP8_STATUS_USER_ABORT
                                         : WebPDecode(webp->data.data, webp->data.size, config);
}

static sluice_status webp_codec_describe(VP8StatusCode code, int64_t offset, sluice_error *error)
{
    switch (code) {
    case VP8_STATUS_OK:
        return SLUICE_OK;
    case VP8_STATUS_OUT_OF_MEMORY:
        sl_memory_note_shortage();
        return sl_no_memory(error, STAGE, "for libwebp");
    case VP8_STATUS_USER_ABORT:
        return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, NULL, offset,
                             "libwebp does not support this kind of WebP");
    case VP8_STATUS_BITSTREAM_ERROR:
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, offset,
                             "the WebP's image data are damaged or end early");
    default:
        return sl_error_set(error, SLUICE_INTERNAL, STAGE, "libwebp failed (%d)", (int)code);
    }
}

/* Returns NULL if the pixels and what libwebp takes exceed the scratch limit. */
static uint8_t *webp_codec_take_pixels(const sl_webp *webp, sl_rect part, sl_scratch *scratch)
{
    const uint64_t pixels = (uint64_t)webp->size.width * webp->size.height;
    uint8_t *memory = sl_scratch_take(scratch, (size_t)part.width * part.height * 3);
    const size_t mark = sl_scratch_mark(scratch);
    if (memory == NULL ||
        sl_scratch_take(scratch, heap_bytes(webp->size.width, pixels, webp->lossless)) == NULL) {
        return NULL;
    }
    sl_scratch_release(scratch, mark);
    return memory;
}

static sluice_status webp_pixels(void *state, const sl_codec_source *source,
                                 const sl_codec_request *request, sl_image *view,
                                 sluice_error *error)
{
    const sl_webp *webp = state;
    WebPDecoderConfig config;
    sl_rect part = request->need;
    if (!webp->lossless) {
        webp_codec_widen(&part.x, &part.width, webp->size.width);
        webp_codec_widen(&part.y, &part.height, webp->size.height);
    }
    uint8_t *pixels = webp_codec_take_pixels(webp, part, source->scratch);
    if (pixels == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE,
                            "not enough scratch memory to decode the image");
    }
    if (!WebPInitDecoderConfig(&config)) {
        return sl_error_set(error, SLUICE_INTERNAL, STAGE,
                            "libwebp has another version than the one it was built for");
    }
    config.options.use_cropping = 1;
    config.options.crop_left = (int)part.x;
    config.options.crop_top = (int)part.y;
    config.options.crop_width = (int)part.width;
    config.options.crop_height = (int)part.height;
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = (int)(part.width * 3);
    config.output.u.RGBA.size = (size_t)part.width * part.height * 3;
    *view = sl_codec_view(pixels, part, webp->size);
    return webp_codec_describe(webp_codec_run(webp, source, &config),
                               webp->data.data - source->bytes.data, error);
}

const sl_codec sl_codec_webp = {
    .number = 4,
    .denominator_max = 1,
    .scratch_bytes = webp_scratch_bytes,
    .open = webp_open,
    .close = sl_free,
    .header = webp_header,
    .pixels = webp_pixels,
};

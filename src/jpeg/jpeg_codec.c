/* SPDX-License-Identifier: Apache-2.0 */
/* The JPEG codec: our kernels, and libjpeg-turbo on our memory, one decompressor per decoder for
 * its whole life. Every call into libjpeg runs inside sl_jpeg_guard. */
#include "jpeg_codec.h"

#include "error.h"
#include "exif.h"
#include "jpeg_ending.h"
#include "jpeg_error.h"
#include "jpeg_fast.h"
#include "jpeg_memory.h"
#include "jpeg_region.h"
#include "jpeg_scanlines.h"
#include "jpeg_scans.h"
#include "jpeg_source.h"
#include "jpeg_tiles.h"
#include "memory.h"
#include "minmax.h"

#include <jerror.h>

typedef struct jpeg_state {
    struct jpeg_decompress_struct cinfo;
    sl_jpeg_errors errors;
    sl_jpeg_source source;
    sl_jpeg_memory memory;
    struct jpeg_progress_mgr progress;
    sl_jpeg_fast *fast;
    sl_jpeg_scans scans;
    sl_jpeg_frame frame; /* of the current image, */
    bool framed;         /* if our kernels decode it */
    bool at_header;      /* cinfo has read only the header of the image */
} jpeg_state;

static jpeg_state *jpeg_codec_state_of(j_common_ptr cinfo)
{
    return (jpeg_state *)cinfo->client_data;
}

/*
 * Returns the scratch memory. Per pixel: 8 bytes of coefficients (four components of a progressive
 * image), 3 of RGB. In addition: coefficients that pad a narrow image to whole MCUs, and libjpeg's
 * row buffers.
 */
static uint64_t jpeg_scratch_bytes(uint64_t max_pixels)
{
    const uint64_t most = (uint64_t)JPEG_MAX_DIMENSION * JPEG_MAX_DIMENSION;
    return sl_min_u64(max_pixels, most) * 11 + ((uint64_t)128 << 20);
}

static bool jpeg_peek(const sl_codec_source *source, sl_picture *picture)
{
    sl_jpeg_frame frame;
    if (!sl_jpeg_frame_read(&frame, source->bytes)) {
        return false;
    }
    *picture = (sl_picture){frame.width, frame.height};
    return true;
}

/* Called by libjpeg between the rows and blocks of work. */
static void watch_scans(j_common_ptr common)
{
    j_decompress_ptr cinfo = (j_decompress_ptr)common;
    sl_jpeg_scans_check(&jpeg_codec_state_of(common)->scans, cinfo);
    if (jpeg_has_multiple_scans(cinfo)) {
        sl_jpeg_ending_check(cinfo);
    }
}

static void jpeg_codec_create_work(void *argument)
{
    jpeg_state *jpeg = argument;
    jpeg_create_decompress(&jpeg->cinfo);
    jpeg->cinfo.client_data = jpeg;
    jpeg->progress.progress_monitor = watch_scans;
    jpeg->cinfo.progress = &jpeg->progress;
    sl_jpeg_memory_install(&jpeg->memory, &jpeg->cinfo);
}

static sluice_status jpeg_open(void **state, sluice_error *error)
{
    jpeg_state *jpeg = sl_calloc(1, sizeof(*jpeg));
    if (jpeg == NULL) {
        return sl_no_memory(error, "decode", "for a JPEG decoder");
    }
    sluice_status status = sl_jpeg_fast_open(&jpeg->fast, error);
    if (status != SLUICE_OK) {
        sl_free(jpeg);
        return status;
    }
    sl_jpeg_errors_init(&jpeg->errors, &jpeg->cinfo);
    status = sl_jpeg_guard(&jpeg->errors, jpeg_codec_create_work, jpeg, error);
    if (status != SLUICE_OK) {
        jpeg_destroy_decompress(&jpeg->cinfo);
        sl_jpeg_fast_close(jpeg->fast);
        sl_free(jpeg);
        return status;
    }
    *state = jpeg;
    return SLUICE_OK;
}

static void jpeg_close(void *state)
{
    jpeg_state *jpeg = state;
    if (jpeg == NULL) {
        return;
    }
    sl_jpeg_memory_remove(&jpeg->memory, &jpeg->cinfo);
    jpeg_destroy_decompress(&jpeg->cinfo);
    sl_jpeg_fast_close(jpeg->fast);
    sl_free(jpeg);
}

static void jpeg_codec_header_work(void *argument)
{
    jpeg_state *jpeg = argument;
    j_decompress_ptr cinfo = &jpeg->cinfo;
    (void)jpeg_read_header(cinfo, TRUE);
    if (cinfo->data_precision != 8) {
        ERREXIT1(cinfo, JERR_BAD_PRECISION, cinfo->data_precision);
    }
    if (cinfo->jpeg_color_space == JCS_UNKNOWN) {
        ERREXIT(cinfo, JERR_CONVERSION_NOTIMPL);
    }
}

static sluice_status jpeg_codec_read_header(jpeg_state *jpeg, const sl_codec_source *source,
                                            sluice_error *error)
{
    j_decompress_ptr cinfo = &jpeg->cinfo;
    jpeg_abort_decompress(cinfo);
    sl_jpeg_memory_reset(&jpeg->memory, cinfo, source->scratch);
    sl_jpeg_source_begin(&jpeg->source, cinfo, source->bytes);
    sl_jpeg_scans_begin(&jpeg->scans, source->max_pixels, source->bytes.size, source->stop);
    sluice_status status = sl_jpeg_guard(&jpeg->errors, jpeg_codec_header_work, jpeg, error);
    jpeg->at_header = status == SLUICE_OK;
    return status;
}

static sluice_status jpeg_header(void *state, const sl_codec_source *source, sl_codec_info *info,
                                 sluice_error *error)
{
    jpeg_state *jpeg = state;
    jpeg->at_header = false;
    jpeg->framed =
        (source->avoid & SL_PATH_KERNELS) == 0 && sl_jpeg_frame_read(&jpeg->frame, source->bytes);
    if (jpeg->framed) {
        info->stored = (sl_picture){jpeg->frame.width, jpeg->frame.height};
    } else {
        sluice_status status = jpeg_codec_read_header(jpeg, source, error);
        if (status != SLUICE_OK) {
            return status;
        }
        info->stored = (sl_picture){jpeg->cinfo.image_width, jpeg->cinfo.image_height};
    }
    const bool may_turn = !jpeg->framed || jpeg->frame.has_app1;
    info->orientation = may_turn ? sl_exif_orientation(source->bytes) : 1;
    return sl_codec_check_pixels(source, info->stored, error);
}

/* Turns a view of the part of the image at x and y into a view of the whole. */
static void jpeg_codec_place(sl_image *view, sl_rect part, const sl_picture *picture)
{
    const uint32_t denominator = view->denominator;
    view->origin_x += part.x / denominator;
    view->origin_y += part.y / denominator;
    view->picture_width = (picture->width + denominator - 1) / denominator;
    view->picture_height = (picture->height + denominator - 1) / denominator;
}

typedef struct region_call {
    jpeg_state *jpeg;
    sl_jpeg_cut cut;
    J_COLOR_SPACE colour_space;
} region_call;

static void region_work(void *argument)
{
    region_call *call = argument;
    j_decompress_ptr cinfo = &call->jpeg->cinfo;
    (void)jpeg_read_header(cinfo, TRUE);
    cinfo->jpeg_color_space = call->colour_space;
    call->jpeg->source.past_end = SL_JPEG_PAST_END_MARKER;
    sl_jpeg_scanlines_work(&call->cut);
}

/* Returns whether the last interval has unread data: libjpeg only detects that when it continues
 * with the next one. Up to 8 bytes in its bit buffer stay hidden. */
static bool has_rest(const jpeg_state *jpeg, const sl_jpeg_region *region,
                     const sl_jpeg_tiles *tiles)
{
    const size_t read = region->bytes.size - jpeg->source.pub.bytes_in_buffer;
    return read < sl_jpeg_region_end(region, tiles, jpeg->cinfo.input_iMCU_row);
}

/* Decodes the intervals under the rectangle as a separate JPEG. False: not done. */
static bool decode_region(jpeg_state *jpeg, const sl_codec_source *source,
                          const sl_codec_request *request, sl_image *view)
{
    j_decompress_ptr cinfo = &jpeg->cinfo;
    const int64_t start = sl_jpeg_source_offset(&jpeg->source);
    if ((source->avoid & SL_PATH_INTERVALS) != 0 || !sl_jpeg_region_takes(cinfo) ||
        start > UINT32_MAX) {
        return false;
    }
    sl_jpeg_tiles tiles = sl_jpeg_tiles_of(cinfo);
    if (!sl_jpeg_tiles_find(&tiles, source->bytes, (uint32_t)start, source->scratch)) {
        return false;
    }
    const sl_picture picture = {cinfo->image_width, cinfo->image_height};
    const sl_rect all = {0, 0, picture.width, picture.height};
    const sl_rect need = sl_jpeg_with_margin(cinfo, request->need, request->denominator, all);
    sl_jpeg_region region;
    if (!sl_jpeg_region_make(&region, cinfo, source->bytes, &tiles, need, source->scratch)) {
        return false;
    }
    region_call call = {.jpeg = jpeg,
                        .cut = {.cinfo = cinfo,
                                .scratch = source->scratch,
                                .need = request->need,
                                .denominator = request->denominator},
                        .colour_space = cinfo->jpeg_color_space};
    call.cut.need.x -= region.part.x;
    call.cut.need.y -= region.part.y;
    jpeg->at_header = false;
    jpeg_abort_decompress(cinfo);
    sl_jpeg_source_begin(&jpeg->source, cinfo, region.bytes);
    if (sl_jpeg_guard(&jpeg->errors, region_work, &call, NULL) != SLUICE_OK ||
        has_rest(jpeg, &region, &tiles)) {
        return false;
    }
    *view = call.cut.view;
    jpeg_codec_place(view, region.part, &picture);
    return true;
}

/* Decodes with our own kernels. False: not done. */
static bool decode_fast(jpeg_state *jpeg, const sl_codec_source *source,
                        const sl_codec_request *request, sl_image *view)
{
    const uint32_t denominator = request->denominator;
    const sl_rect *need = &request->need;
    const sl_jpeg_job job = {.frame = &jpeg->frame,
                             .bytes = source->bytes,
                             .denominator = denominator,
                             .wanted = {need->x / denominator, need->y / denominator,
                                        (need->width + denominator - 1) / denominator,
                                        (need->height + denominator - 1) / denominator}};
    return sl_jpeg_fast_decode(jpeg->fast, &job, source->scratch, view);
}

/* Decodes any image, and judges those that the other code paths gave up. */
static sluice_status decode_scanlines(jpeg_state *jpeg, const sl_codec_source *source,
                                      const sl_codec_request *request, sl_image *view,
                                      sluice_error *error)
{
    if (!jpeg->at_header) {
        sluice_status status = jpeg_codec_read_header(jpeg, source, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    jpeg->at_header = false;
    /*
     * Rows below the rectangle are not read, so damage there goes unnoticed on purpose. Bytes after
     * the end of the data matter if all of the data is needed (several scans), or if libjpeg would
     * silently read missing bytes as zeros (arithmetic coding).
     */
    jpeg->source.past_end =
        sl_jpeg_is_plain(&jpeg->cinfo) ? SL_JPEG_PAST_END_MARKER : SL_JPEG_PAST_END_LAST_SCAN;
    sl_jpeg_cut cut = {.cinfo = &jpeg->cinfo,
                       .scratch = source->scratch,
                       .need = request->need,
                       .denominator = request->denominator};
    sluice_status status = sl_jpeg_guard(&jpeg->errors, sl_jpeg_scanlines_work, &cut, error);
    *view = cut.view;
    return status;
}

/* Chooses the code path: each one passes images that it cannot decode or judge to the next. */
static sluice_status jpeg_pixels(void *state, const sl_codec_source *source,
                                 const sl_codec_request *request, sl_image *view,
                                 sluice_error *error)
{
    jpeg_state *jpeg = state;
    const size_t mark = sl_scratch_mark(source->scratch);
    /* Images that our kernels reject are damaged: only the code path that reads all rows can
     * judge that. */
    if (jpeg->framed ? decode_fast(jpeg, source, request, view)
                     : decode_region(jpeg, source, request, view)) {
        return SLUICE_OK;
    }
    sl_scratch_release(source->scratch, mark);
    return decode_scanlines(jpeg, source, request, view, error);
}

/* Per pixel, entropy decoding takes about twice as long as transforming and converting, and
 * scaling does not reduce it. */
enum { READING_WORK = 2 };

/* Returns the pixels to read. Until libjpeg knows its kind, an image is read from the top; with
 * several scans, whole. */
static uint64_t read_pixels(const jpeg_state *jpeg, const sl_rect *need)
{
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    if (!jpeg->framed) {
        const bool whole = cinfo->progressive_mode || cinfo->arith_code ||
                           cinfo->comps_in_scan < cinfo->num_components;
        return (uint64_t)cinfo->image_width *
               (whole ? cinfo->image_height : need->y + need->height);
    }
    const sl_jpeg_tiles tiles = sl_jpeg_frame_tiles(&jpeg->frame);
    const uint32_t width = DCTSIZE * jpeg->frame.across;
    const uint32_t height = DCTSIZE * jpeg->frame.down;
    const uint32_t right = (need->x + need->width + width - 1) / width;
    const uint32_t bottom = (need->y + need->height + height - 1) / height;
    return sl_jpeg_tiles_read(&tiles, need->x / width, right, need->y / height, bottom) * width *
           height;
}

static uint64_t jpeg_work(const void *state, const sl_codec_source *source,
                          const sl_codec_request *request)
{
    const sl_rect *need = &request->need;
    const uint64_t denominator = request->denominator;
    const uint64_t made = (uint64_t)need->width * need->height / (denominator * denominator);
    (void)source;
    return read_pixels(state, need) * READING_WORK + made;
}

const sl_codec sl_codec_jpeg = {
    .number = 1,
    .denominator_max = 8, /* 1/8: one pixel of each block */
    .scratch_bytes = jpeg_scratch_bytes,
    .peek = jpeg_peek,
    .open = jpeg_open,
    .close = jpeg_close,
    .header = jpeg_header,
    .pixels = jpeg_pixels,
    .work = jpeg_work,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JPEG codec: libjpeg-turbo on memory of ours, one decompressor per decoder for its whole life.
 * Every call into libjpeg runs inside sl_jpeg_guard.
 */
#include "codec.h"
#include "colour.h"
#include "error.h"
#include "exif.h"
#include "jpeg_error.h"
#include "jpeg_memory.h"
#include "jpeg_source.h"
#include "memory.h"

#include <assert.h>
#include <string.h>

#include <jerror.h>

/*
 * Progressive pictures are read whole, once per scan, and a scan may have no bytes to speak of: a
 * small file could keep a worker busy for minutes. Encoders write about ten scans.
 */
enum {
    SCANS_MAX = 500,
    /* scans x pixels stay below this many pictures of the largest size allowed */
    SCAN_WORK_MAX = 64
};

enum { ROWS_PER_CALL = 16, ROW_ALIGN = 64 };

typedef struct jpeg_state {
    struct jpeg_decompress_struct cinfo;
    sl_jpeg_errors errors;
    sl_jpeg_source source;
    sl_jpeg_memory memory;
    struct jpeg_progress_mgr progress;
    uint64_t max_pixels;
} jpeg_state;

static jpeg_state *state_of(j_common_ptr cinfo)
{
    return (jpeg_state *)cinfo->client_data;
}

static int jpeg_probe(sl_bytes bytes)
{
    return bytes.size >= 2 && bytes.data[0] == 0xFF && bytes.data[1] == 0xD8;
}

/* libjpeg calls this between the rows and blocks of work. */
static void watch_scans(j_common_ptr common)
{
    j_decompress_ptr cinfo = (j_decompress_ptr)common;
    uint64_t scans = cinfo->input_scan_number > 0 ? (uint64_t)cinfo->input_scan_number : 0;
    uint64_t pixels = (uint64_t)cinfo->image_width * cinfo->image_height;
    if (scans > SCANS_MAX || scans * pixels / SCAN_WORK_MAX > state_of(common)->max_pixels) {
        sl_jpeg_fail(cinfo, SLUICE_UNSUPPORTED, "more scans than a picture of this size may have");
    }
}

static void create_work(void *argument)
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
        return sl_error_set(error, SLUICE_NOMEM, "decode", "no memory for a JPEG decoder");
    }
    sl_jpeg_errors_init(&jpeg->errors, &jpeg->cinfo);
    sluice_status status = sl_jpeg_guard(&jpeg->errors, create_work, jpeg, error);
    if (status != SLUICE_OK) {
        jpeg_destroy_decompress(&jpeg->cinfo);
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
    sl_free(jpeg);
}

static void header_work(void *argument)
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

static sluice_status jpeg_header(void *state, const sl_codec_source *source, sl_codec_info *info,
                                 sluice_error *error)
{
    jpeg_state *jpeg = state;
    j_decompress_ptr cinfo = &jpeg->cinfo;
    jpeg_abort_decompress(cinfo);
    sl_jpeg_memory_reset(&jpeg->memory, cinfo, source->scratch);
    sl_jpeg_source_begin(&jpeg->source, cinfo, source->bytes);
    jpeg->max_pixels = source->max_pixels;
    sluice_status status = sl_jpeg_guard(&jpeg->errors, header_work, jpeg, error);
    if (status != SLUICE_OK) {
        return status;
    }
    uint64_t pixels = (uint64_t)cinfo->image_width * cinfo->image_height;
    if (pixels > source->max_pixels) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "decode",
                            "a picture of %u x %u pixels is above the limit of %llu pixels",
                            cinfo->image_width, cinfo->image_height,
                            (unsigned long long)source->max_pixels);
    }
    info->stored = (sl_picture){cinfo->image_width, cinfo->image_height};
    info->orientation = sl_exif_orientation(source->bytes);
    return SLUICE_OK;
}

/* Where rows go: those above the rectangle are overwritten by the next ones. */
typedef struct row_sink {
    jpeg_state *jpeg;
    uint8_t *pixels; /* row `top`, RGB */
    size_t stride;
    uint32_t top, bottom;
    uint8_t *spare; /* rows that are not wanted, or CMYK rows */
    size_t spare_stride;
} row_sink;

static bool is_cmyk(j_decompress_ptr cinfo)
{
    return cinfo->jpeg_color_space == JCS_CMYK || cinfo->jpeg_color_space == JCS_YCCK;
}

/* Reads the next rows, at most to the bottom; returns how many. */
static JDIMENSION read_rows(const row_sink *sink)
{
    j_decompress_ptr cinfo = &sink->jpeg->cinfo;
    JSAMPROW rows[ROWS_PER_CALL];
    uint32_t first = cinfo->output_scanline;
    JDIMENSION count = 0;
    for (; count < ROWS_PER_CALL && first + count < sink->bottom; count++) {
        if (cinfo->out_color_space == JCS_CMYK) {
            rows[count] = sink->spare + count * sink->spare_stride;
        } else if (first + count < sink->top) {
            rows[count] = sink->spare;
        } else {
            rows[count] = sink->pixels + (first + count - sink->top) * sink->stride;
        }
    }
    JDIMENSION read = jpeg_read_scanlines(cinfo, rows, count);
    for (JDIMENSION i = 0; cinfo->out_color_space == JCS_CMYK && i < read; i++) {
        if (first + i >= sink->top) {
            sl_rgb_from_inverted_cmyk(rows[i],
                                      sink->pixels + (first + i - sink->top) * sink->stride,
                                      cinfo->output_width);
        }
    }
    return read;
}

/*
 * Rows below `bottom` are not read, so damage there goes unnoticed on purpose. What comes after the
 * end of the data matters where all of it is needed (several scans) or where libjpeg would take
 * missing bytes for zeros without a word (arithmetic coding).
 */
static void decode_work(void *argument)
{
    row_sink *sink = argument;
    jpeg_state *jpeg = sink->jpeg;
    j_decompress_ptr cinfo = &jpeg->cinfo;
    cinfo->out_color_space = is_cmyk(cinfo) ? JCS_CMYK : JCS_RGB;
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->do_fancy_upsampling = TRUE;
    jpeg->source.strict = jpeg_has_multiple_scans(cinfo) || cinfo->arith_code;
    (void)jpeg_start_decompress(cinfo);
    size_t channels = (size_t)cinfo->output_components;
    sink->spare_stride =
        ((size_t)cinfo->output_width * channels + ROW_ALIGN) / ROW_ALIGN * ROW_ALIGN;
    size_t spare_rows = cinfo->out_color_space == JCS_CMYK ? ROWS_PER_CALL : 1;
    sink->spare = sl_scratch_take(jpeg->memory.scratch, sink->spare_stride * spare_rows);
    if (sink->spare == NULL) {
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    }
    while (cinfo->output_scanline < sink->bottom) {
        if (read_rows(sink) == 0) {
            sl_jpeg_fail(cinfo, SLUICE_INTERNAL, "libjpeg gave no row");
        }
    }
    jpeg_abort_decompress(cinfo);
}

static sluice_status jpeg_decode(void *state, const sl_codec_source *source,
                                 const sl_codec_request *request, sl_image *view,
                                 sluice_error *error)
{
    jpeg_state *jpeg = state;
    const sl_rect *need = &request->need;
    uint32_t width = jpeg->cinfo.image_width;
    uint32_t height = jpeg->cinfo.image_height;
    size_t stride = ((size_t)width * 3 + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    row_sink sink = {.jpeg = jpeg, .stride = stride, .top = need->y};
    sink.bottom = need->y + need->height;
    sink.pixels = sl_scratch_take(source->scratch, stride * need->height);
    if (sink.pixels == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "decode", "no scratch memory for %u x %u pixels",
                            width, need->height);
    }
    sluice_status status = sl_jpeg_guard(&jpeg->errors, decode_work, &sink, error);
    if (status == SLUICE_OK) {
        *view = (sl_image){.pixels = sink.pixels,
                           .width = width,
                           .height = need->height,
                           .channels = 3,
                           .stride_bytes = stride,
                           .origin_y = need->y,
                           .picture_width = width,
                           .picture_height = height,
                           .denominator = 1};
    }
    return status;
}

const sl_codec sl_codec_jpeg = {
    .name = "JPEG",
    .probe = jpeg_probe,
    .open = jpeg_open,
    .close = jpeg_close,
    .header = jpeg_header,
    .decode = jpeg_decode,
};

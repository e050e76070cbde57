/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_scanlines: sets libjpeg up for a rectangle with its margins, skips rows above it and reads
 * no further than needed; and converts CMYK to RGB. Runs below sl_jpeg_guard, on the decompressor's
 * thread.
 */
#include "jpeg_scanlines.h"

#include "jpeg_error.h"
#include "minmax.h"

#include <jerror.h>

enum { ROWS_PER_CALL = 16, ROW_ALIGN = 64 };

/* In (scaled) pixels. Fancy upsampling makes a pixel from its chroma sample and that sample's
 * nearer neighbour. libjpeg upsamples components narrower than three samples plainly. */
enum { MARGIN = 1, LEAST = 8 };

bool sl_jpeg_is_plain(j_decompress_ptr cinfo)
{
    return !jpeg_has_multiple_scans(cinfo) && !cinfo->arith_code;
}

static void find_subsampled(j_decompress_ptr cinfo, bool *across, bool *down)
{
    *across = false;
    *down = false;
    for (int i = 0; i < cinfo->num_components; i++) {
        *across |= cinfo->comp_info[i].h_samp_factor != cinfo->max_h_samp_factor;
        *down |= cinfo->comp_info[i].v_samp_factor != cinfo->max_v_samp_factor;
    }
}

/* Widens [*start, *start + *size) by `margin` on each side, and to at least `least`. */
static void jpeg_scanlines_widen(uint32_t *start, uint32_t *size, uint32_t limit, uint32_t margin,
                                 uint32_t least)
{
    uint32_t end = *start + *size;
    end += sl_min_u32(margin, limit - end);
    *start -= sl_min_u32(margin, *start);
    if (end - *start < least) {
        end += sl_min_u32(least - (end - *start), limit - end);
    }
    if (end - *start < least) {
        *start -= sl_min_u32(least - (end - *start), *start);
    }
    *size = end - *start;
}

sl_rect sl_jpeg_with_margin(j_decompress_ptr cinfo, sl_rect need, uint32_t denominator,
                            sl_rect picture)
{
    const uint32_t margin = MARGIN * denominator;
    const uint32_t least = LEAST * denominator;
    sl_rect rect = need;
    bool across;
    bool down;
    find_subsampled(cinfo, &across, &down);
    if (across) {
        jpeg_scanlines_widen(&rect.x, &rect.width, picture.width, margin, least);
    }
    if (down) {
        jpeg_scanlines_widen(&rect.y, &rect.height, picture.height, margin, least);
    }
    return rect;
}

/* Destination of rows. All in pixels of the output, which is scaled down. */
typedef struct row_sink {
    j_decompress_ptr cinfo;
    uint8_t *pixels; /* row `top`, RGB */
    size_t stride;
    uint32_t top, bottom;
    uint8_t *spare; /* unwanted rows, or CMYK rows */
    size_t spare_stride;
} row_sink;

/* Reads the next rows, at most to the bottom; returns how many. */
static JDIMENSION jpeg_scanlines_read_rows(const row_sink *sink)
{
    j_decompress_ptr cinfo = sink->cinfo;
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

static void *jpeg_scanlines_take(const sl_jpeg_cut *cut, size_t bytes)
{
    void *memory = sl_scratch_take(cut->scratch, bytes);
    if (memory == NULL) {
        ERREXIT1(cut->cinfo, JERR_OUT_OF_MEMORY, 0);
    }
    return memory;
}

static size_t jpeg_scanlines_row_bytes(uint32_t pixels, int channels)
{
    return ((size_t)pixels * (size_t)channels + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
}

static void jpeg_scanlines_start(const sl_jpeg_cut *cut)
{
    j_decompress_ptr cinfo = cut->cinfo;
    const bool cmyk = cinfo->jpeg_color_space == JCS_CMYK || cinfo->jpeg_color_space == JCS_YCCK;
    cinfo->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->do_fancy_upsampling = TRUE;
    cinfo->scale_num = 1;
    cinfo->scale_denom = cut->denominator;
    (void)jpeg_start_decompress(cinfo);
}

/* Makes libjpeg keep only the rows and columns of `keep` (scaled pixels); returns the first
 * column. With factors above 2, libjpeg treats the chroma of a scaled image as narrower than it
 * is. */
static uint32_t jpeg_scanlines_leave_out(j_decompress_ptr cinfo, sl_rect keep, uint32_t denominator)
{
    const bool across =
        denominator == 1 || (cinfo->max_h_samp_factor <= 2 && cinfo->max_v_samp_factor <= 2);
    JDIMENSION x = keep.x;
    JDIMENSION width = keep.width;
    if (across) {
        jpeg_crop_scanline(cinfo, &x, &width);
    }
    if (keep.y > 0) {
        (void)jpeg_skip_scanlines(cinfo, keep.y);
    }
    return across ? x : 0;
}

static sl_rect jpeg_scanlines_scaled(sl_rect rect, uint32_t denominator)
{
    const uint32_t right = rect.x + rect.width;
    const uint32_t bottom = rect.y + rect.height;
    return (sl_rect){rect.x / denominator, rect.y / denominator,
                     (right + denominator - 1) / denominator - rect.x / denominator,
                     (bottom + denominator - 1) / denominator - rect.y / denominator};
}

static void read_view(sl_jpeg_cut *cut, uint32_t x)
{
    j_decompress_ptr cinfo = cut->cinfo;
    const sl_rect need = jpeg_scanlines_scaled(cut->need, cut->denominator);
    const size_t stride = jpeg_scanlines_row_bytes(cinfo->output_width, 3);
    const size_t spare_rows = cinfo->out_color_space == JCS_CMYK ? ROWS_PER_CALL : 1;
    row_sink sink = {.cinfo = cinfo,
                     .pixels = jpeg_scanlines_take(cut, stride * need.height),
                     .stride = stride,
                     .top = need.y,
                     .bottom = need.y + need.height,
                     .spare_stride =
                         jpeg_scanlines_row_bytes(cinfo->output_width, cinfo->output_components)};
    sink.spare = jpeg_scanlines_take(cut, sink.spare_stride * spare_rows);
    while (cinfo->output_scanline < sink.bottom) {
        if (jpeg_scanlines_read_rows(&sink) == 0) {
            sl_jpeg_fail(cinfo, SLUICE_INTERNAL, "libjpeg returned no row");
        }
    }
    cut->view = (sl_image){.pixels = sink.pixels,
                           .width = cinfo->output_width,
                           .height = need.height,
                           .channels = 3,
                           .stride_bytes = stride,
                           .origin_x = x,
                           .origin_y = need.y,
                           .denominator = cut->denominator};
}

void sl_jpeg_scanlines_work(void *argument)
{
    sl_jpeg_cut *cut = argument;
    j_decompress_ptr cinfo = cut->cinfo;
    jpeg_scanlines_start(cut);
    const uint32_t width = cinfo->output_width;
    const uint32_t height = cinfo->output_height;
    uint32_t x = 0;
    if (sl_jpeg_is_plain(cinfo)) {
        const sl_rect picture = {0, 0, cinfo->image_width, cinfo->image_height};
        const sl_rect keep = sl_jpeg_with_margin(cinfo, cut->need, cut->denominator, picture);
        x = jpeg_scanlines_leave_out(cinfo, jpeg_scanlines_scaled(keep, cut->denominator),
                                     cut->denominator);
    }
    read_view(cut, x);
    cut->view.picture_width = width;
    cut->view.picture_height = height;
    jpeg_abort_decompress(cinfo);
}

/* Returns a * b / 255, rounded, for a and b of 0..255. */
static uint32_t multiply_255(uint32_t a, uint32_t b)
{
    uint32_t product = a * b + 128;
    return ((product >> 8) + product) >> 8;
}

void sl_rgb_from_inverted_cmyk(const uint8_t *cmyk, uint8_t *rgb, size_t pixels)
{
    for (size_t i = 0; i < pixels; i++) {
        uint32_t no_black = cmyk[i * 4 + 3];
        for (size_t c = 0; c < 3; c++) {
            uint32_t ink = 255U - cmyk[i * 4 + c];
            rgb[i * 3 + c] = (uint8_t)(no_black - multiply_255(ink, no_black));
        }
    }
}

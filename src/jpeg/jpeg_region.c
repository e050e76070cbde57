/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_region: writes a header of the region's size and copies the intervals under it, with
 * renumbered markers, into scratch. Pure. Called with a header that libjpeg has read. */
#include "jpeg_region.h"

#include "jpeg_scanlines.h"
#include "minmax.h"

#include <assert.h>
#include <string.h>

enum {
    MARK = 0xFF,
    RESTARTS = 8,
    SOF1 = 0xC1,
    SOI = 0xD8,
    SOS = 0xDA,
    DRI = 0xDD,
    COMPONENTS_MAX = 4,
    HEADER_BYTES = 2 + (10 + 3 * COMPONENTS_MAX) + 6 + (8 + 2 * COMPONENTS_MAX),
    MARKER_BYTES = 2
};

/* Returns whether a component is alone in its scan; then its MCUs have one block, regardless of
 * its factors. */
static bool is_alone(j_decompress_ptr cinfo)
{
    return cinfo->num_components == 1;
}

static uint32_t mcu_width(j_decompress_ptr cinfo)
{
    return DCTSIZE * (is_alone(cinfo) ? 1U : (uint32_t)cinfo->max_h_samp_factor);
}

static uint32_t mcu_height(j_decompress_ptr cinfo)
{
    return DCTSIZE * (is_alone(cinfo) ? 1U : (uint32_t)cinfo->max_v_samp_factor);
}

static uint32_t jpeg_region_divide_up(uint32_t value, uint32_t unit)
{
    return value / unit + (value % unit != 0);
}

sl_jpeg_tiles sl_jpeg_tiles_of(j_decompress_ptr cinfo)
{
    sl_jpeg_tiles tiles = {
        .mcus_across = jpeg_region_divide_up(cinfo->image_width, mcu_width(cinfo)),
        .mcus_down = jpeg_region_divide_up(cinfo->image_height, mcu_height(cinfo)),
        .interval = cinfo->restart_interval};
    if (tiles.interval == 0) {
        tiles.interval = tiles.mcus_across * tiles.mcus_down;
    }
    return tiles;
}

bool sl_jpeg_region_takes(j_decompress_ptr cinfo)
{
    if (!sl_jpeg_is_plain(cinfo) || cinfo->num_components > COMPONENTS_MAX ||
        cinfo->restart_interval == 0 || cinfo->Ss != 0 || cinfo->Se != DCTSIZE2 - 1 ||
        cinfo->Ah != 0 || cinfo->Al != 0) {
        return false;
    }
    const sl_jpeg_tiles tiles = sl_jpeg_tiles_of(cinfo);
    return tiles.interval % tiles.mcus_across == 0 || tiles.mcus_across % tiles.interval == 0;
}

/* A tile of the grid is as large as an interval. All members are in tiles, except the sizes of a
 * tile, in pixels. */
typedef struct grid {
    uint32_t across;
    uint32_t tile_width, tile_height;
    uint32_t left, right, top, bottom; /* those of the region */
} grid;

static grid grid_under(j_decompress_ptr cinfo, const sl_jpeg_tiles *tiles, sl_rect need)
{
    const bool rows = tiles->interval % tiles->mcus_across == 0;
    const uint32_t mcus_wide = rows ? tiles->mcus_across : tiles->interval;
    const uint32_t mcus_high = rows ? tiles->interval / tiles->mcus_across : 1;
    grid made = {.across = tiles->mcus_across / mcus_wide,
                 .tile_width = mcus_wide * mcu_width(cinfo),
                 .tile_height = mcus_high * mcu_height(cinfo)};
    made.left = need.x / made.tile_width;
    made.right = jpeg_region_divide_up(need.x + need.width, made.tile_width);
    made.top = need.y / made.tile_height;
    made.bottom = jpeg_region_divide_up(need.y + need.height, made.tile_height);
    return made;
}

static uint8_t *put16(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
    return out + 2;
}

static uint8_t *put_marker(uint8_t *out, int marker)
{
    out[0] = MARK;
    out[1] = (uint8_t)marker;
    return out + 2;
}

static uint8_t *put_frame(uint8_t *out, j_decompress_ptr cinfo, sl_rect part)
{
    const uint32_t components = (uint32_t)cinfo->num_components;
    out = put_marker(out, SOF1);
    out = put16(out, 8 + 3 * components);
    *out++ = (uint8_t)cinfo->data_precision;
    out = put16(out, part.height);
    out = put16(out, part.width);
    *out++ = (uint8_t)components;
    for (uint32_t i = 0; i < components; i++) {
        const jpeg_component_info *component = &cinfo->comp_info[i];
        const int factors = component->h_samp_factor * 16 + component->v_samp_factor;
        *out++ = (uint8_t)(i + 1);
        *out++ = (uint8_t)factors;
        *out++ = (uint8_t)component->quant_tbl_no;
    }
    return out;
}

static uint8_t *put_header(uint8_t *out, j_decompress_ptr cinfo, sl_rect part)
{
    const uint32_t components = (uint32_t)cinfo->comps_in_scan;
    out = put_marker(out, SOI);
    out = put_frame(out, cinfo, part);
    out = put_marker(out, DRI);
    out = put16(out, 4);
    out = put16(out, cinfo->restart_interval);
    out = put_marker(out, SOS);
    out = put16(out, 6 + 2 * components);
    *out++ = (uint8_t)components;
    for (uint32_t i = 0; i < components; i++) {
        const jpeg_component_info *component = cinfo->cur_comp_info[i];
        *out++ = (uint8_t)(component->component_index + 1);
        *out++ = (uint8_t)(component->dc_tbl_no * 16 + component->ac_tbl_no);
    }
    *out++ = 0; /* first coefficient */
    *out++ = DCTSIZE2 - 1;
    *out++ = 0; /* none of their bits is in another scan */
    return out;
}

static size_t interval_bytes(const sl_jpeg_tiles *tiles, const grid *under)
{
    size_t bytes = 0;
    for (uint32_t row = under->top; row < under->bottom; row++) {
        for (uint32_t column = under->left; column < under->right; column++) {
            const sl_jpeg_span *span = &tiles->spans[(size_t)row * under->across + column];
            bytes += span->end - span->begin + MARKER_BYTES;
        }
    }
    return bytes;
}

static uint8_t *put_intervals(uint8_t *out, sl_bytes picture, const sl_jpeg_tiles *tiles,
                              const grid *under)
{
    int restart = 0;
    for (uint32_t row = under->top; row < under->bottom; row++) {
        for (uint32_t column = under->left; column < under->right; column++) {
            const sl_jpeg_span *span = &tiles->spans[(size_t)row * under->across + column];
            const size_t bytes = span->end - span->begin;
            memcpy(out, picture.data + span->begin, bytes);
            out = put_marker(out + bytes, JPEG_RST0 + restart);
            restart = (restart + 1) % RESTARTS;
        }
    }
    return put_marker(out - MARKER_BYTES, JPEG_EOI); /* instead of the last restart marker */
}

bool sl_jpeg_region_make(sl_jpeg_region *region, j_decompress_ptr cinfo, sl_bytes picture,
                         const sl_jpeg_tiles *tiles, sl_rect need, sl_scratch *scratch)
{
    const grid under = grid_under(cinfo, tiles, need);
    if ((size_t)(under.right - under.left) * (under.bottom - under.top) == tiles->count) {
        return false;
    }
    const uint32_t left = under.left * under.tile_width;
    const uint32_t top = under.top * under.tile_height;
    const uint32_t right = sl_min_u32(under.right * under.tile_width, cinfo->image_width);
    /* only the needed part of the last row of tiles */
    const uint32_t bottom = sl_min_u32(
        jpeg_region_divide_up(need.y + need.height, mcu_height(cinfo)) * mcu_height(cinfo),
        cinfo->image_height);
    region->part = (sl_rect){left, top, right - left, bottom - top};
    uint8_t *made = sl_scratch_take(scratch, HEADER_BYTES + interval_bytes(tiles, &under));
    if (made == NULL) {
        return false;
    }
    uint8_t *end = put_header(made, cinfo, region->part);
    assert(end <= made + HEADER_BYTES);
    region->header_bytes = (size_t)(end - made);
    end = put_intervals(end, picture, tiles, &under);
    region->bytes = (sl_bytes){made, (size_t)(end - made)};
    region->first = under.top * under.across + under.left;
    region->rows = under.bottom - under.top;
    region->across = under.right - under.left;
    region->stride = under.across;
    region->mcus_high = under.tile_height / mcu_height(cinfo);
    region->mcus_down = tiles->mcus_down - under.top * region->mcus_high;
    return true;
}

size_t sl_jpeg_region_end(const sl_jpeg_region *region, const sl_jpeg_tiles *tiles,
                          uint32_t mcu_rows)
{
    const uint32_t rows = jpeg_region_divide_up(mcu_rows, region->mcus_high);
    const bool ends = mcu_rows % region->mcus_high == 0 || mcu_rows == region->mcus_down;
    if (mcu_rows == 0 || !ends || rows > region->rows) {
        return 0;
    }
    size_t end = region->header_bytes;
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t column = 0; column < region->across; column++) {
            const sl_jpeg_span *span =
                &tiles->spans[region->first + (size_t)row * region->stride + column];
            end += span->end - span->begin + MARKER_BYTES;
        }
    }
    return end - MARKER_BYTES;
}

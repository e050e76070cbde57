/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_fast: chooses the MCUs that a region needs, lets jpeg_lanes decode them to planes in
 * scratch, and makes rows of RGB from those. One owner thread, whose tables are kept between
 * images. False means that another code path must decode the image: no error is set here.
 */
#include "jpeg_fast.h"

#include "error.h"
#include "jpeg_lanes.h"
#include "jpeg_rows.h"
#include "jpeg_table_cache.h"
#include "jpeg_zigzag.h"
#include "memory.h"
#include "minmax.h"

#include <assert.h>

enum {
    COMPONENTS_MAX = SL_JPEG_FRAME_COMPONENTS,
    BLOCK_SIDE = 8,
    ROW_ALIGN = 64,
    ROOM_ASIDE = 64 /* of a plane: kernels read (and RGB rows: write) up to 63 bytes past a row */
};

struct sl_jpeg_fast {
    sl_simd simd;
    sl_jpeg_table_cache *tables;
};

sluice_status sl_jpeg_fast_open(sl_jpeg_fast **fast, sluice_error *error)
{
    sl_jpeg_fast *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "decode", "for a JPEG decoder");
    }
    made->simd = sl_simd_best();
    sluice_status status = sl_jpeg_table_cache_open(&made->tables, made->simd, error);
    if (status < 0) {
        sl_free(made);
        return status;
    }
    *fast = made;
    return SLUICE_OK;
}

void sl_jpeg_fast_close(sl_jpeg_fast *fast)
{
    if (fast != NULL) {
        sl_jpeg_table_cache_close(fast->tables);
        sl_free(fast);
    }
}

/* --- the region --- */

static uint32_t round_up_div(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

/* Sets the chroma samples on each axis, in the scaled image. */
static void chroma_size(const sl_jpeg_frame *frame, uint32_t size, uint32_t *width,
                        uint32_t *height)
{
    *width = round_up_div((uint64_t)frame->width * size, (uint64_t)frame->across * BLOCK_SIDE);
    *height = round_up_div((uint64_t)frame->height * size, (uint64_t)frame->down * BLOCK_SIDE);
}

/* Samples [begin, end) of one axis. */
typedef struct range {
    uint32_t begin, end;
} range;

/* Returns the chroma samples that `pixels` need: those that cover them, and the nearer neighbour
 * of each: on the left for a left (even) pixel, on the right for a right one. */
static range chroma_range(range pixels, bool halved, uint32_t size)
{
    if (!halved) {
        return pixels;
    }
    const uint32_t first = pixels.begin / 2;
    const uint32_t last = (pixels.end - 1) / 2;
    const bool before = pixels.begin % 2 == 0 && first > 0;
    const bool behind = (pixels.end - 1) % 2 == 1 && last + 1 < size;
    return (range){before ? first - 1 : first, behind ? last + 2 : last + 1};
}

static void jpeg_fast_widen(range *mcus, range samples, uint32_t per_mcu)
{
    const uint32_t begin = samples.begin / per_mcu;
    const uint32_t end = (samples.end - 1) / per_mcu + 1;
    mcus->begin = sl_min_u32(begin, mcus->begin);
    mcus->end = sl_max_u32(end, mcus->end);
}

/* All data about an image on this code path. */
typedef struct picture {
    const sl_jpeg_job *job;
    sl_rect wanted;
    bool halved_across, halved_down; /* chroma, after scaling */
    sl_jpeg_area area;
    uint32_t chroma_width, chroma_height; /* scaled */
    alignas(64) uint16_t quantizers[COMPONENTS_MAX][SL_JPEG_BLOCK];
} picture;

/* Reorders from zigzag to natural order. */
static void set_quantizers(uint16_t quantizers[SL_JPEG_BLOCK],
                           const sl_jpeg_frame_component *component)
{
    const uint8_t *from = component->quantizers;
    for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
        const uint32_t value = component->wide ? from[2 * i] * 256U + from[2 * i + 1] : from[i];
        quantizers[sl_jpeg_natural_order[i]] = (uint16_t)value;
    }
}

/* Returns the quantizers of component `c`: an earlier component's if they are equal. */
static const uint16_t *quantizers_for(picture *p, uint32_t c)
{
    const sl_jpeg_frame_component *components = p->job->frame->components;
    for (uint32_t i = 0; i < c; i++) {
        if (components[i].quantizers == components[c].quantizers) {
            return p->quantizers[i];
        }
    }
    set_quantizers(p->quantizers[c], &components[c]);
    return p->quantizers[c];
}

/* Returns the tables of component `c`: an earlier component's if the codes are equal. */
static const sl_huffman_tables *tables_for(sl_jpeg_fast *fast, const picture *p, uint32_t c)
{
    const sl_jpeg_frame_component *components = p->job->frame->components;
    for (uint32_t i = 0; i < c; i++) {
        if (components[i].dc.bits == components[c].dc.bits &&
            components[i].ac.bits == components[c].ac.bits) {
            return p->area.planes[i].tables;
        }
    }
    return sl_jpeg_table_cache_get(fast->tables, &components[c].dc, &components[c].ac);
}

static bool describe_planes(sl_jpeg_fast *fast, picture *p)
{
    const sl_jpeg_frame *frame = p->job->frame;
    sl_jpeg_area *area = &p->area;
    *area = (sl_jpeg_area){.simd = fast->simd, .stop = sl_jpeg_table_cache_stop(fast->tables)};
    area->components = frame->component_count;
    if (area->components == 0 || area->components > COMPONENTS_MAX) {
        return false;
    }
    for (uint32_t c = 0; c < area->components; c++) {
        sl_jpeg_plane *plane = &area->planes[c];
        plane->quantizers = quantizers_for(p, c);
        plane->across = c == 0 ? frame->across : 1;
        plane->down = c == 0 ? frame->down : 1;
        plane->tables = tables_for(fast, p, c);
        if (plane->tables == NULL) {
            return false;
        }
    }
    return true;
}

/* Chooses how chroma is upsampled, and the transforms for that. */
static void choose_transforms(picture *p, sl_simd simd)
{
    sl_jpeg_plane *planes = p->area.planes;
    const bool colour = p->area.components > 1;
    const uint32_t size = BLOCK_SIDE / p->job->denominator;
    p->halved_across = colour && planes[0].across == 2;
    p->halved_down = colour && planes[0].down == 2;
    /* scaled 4:2:0: libjpeg uses larger transforms for chroma, and no upsampling */
    const bool larger = p->halved_across && p->halved_down && size < BLOCK_SIDE;
    if (larger) {
        p->halved_across = false;
        p->halved_down = false;
    }
    for (uint32_t c = 0; c < p->area.components; c++) {
        planes[c].size = c > 0 && larger ? 2 * size : size;
        planes[c].idct = sl_jpeg_idct_for(simd, planes[c].size);
    }
}

/* Chooses like jdsample.c: samples are repeated if there is nothing to interpolate. */
static sl_jpeg_sampling choose_upsampling(const picture *p)
{
    if (p->area.components == 1) {
        return SL_JPEG_GREY;
    }
    const bool smooth = p->job->denominator < BLOCK_SIDE;
    if (p->halved_across) {
        if (!smooth || p->chroma_width <= 2) {
            return SL_JPEG_422_PLAIN;
        }
        return p->halved_down ? SL_JPEG_420 : SL_JPEG_422;
    }
    return p->halved_down && smooth ? SL_JPEG_440 : SL_JPEG_444;
}

/* Begins rows with halved chroma at an even pixel. An extra pixel on the left costs nothing,
 * unless it is in the previous MCU. */
static void begin_even(picture *p)
{
    const sl_jpeg_plane *luma = &p->area.planes[0];
    sl_rect *wanted = &p->wanted;
    if (p->halved_across && wanted->x % 2 == 1 && wanted->x % (luma->across * luma->size) != 1) {
        wanted->x--;
        wanted->width++;
    }
}

/* Chooses the MCUs that the wanted pixels need. */
static void choose_mcus(picture *p)
{
    const sl_rect *wanted = &p->wanted;
    sl_jpeg_area *area = &p->area;
    const range x = {wanted->x, wanted->x + wanted->width};
    const range y = {wanted->y, wanted->y + wanted->height};
    range across = {UINT32_MAX, 0};
    range down = {UINT32_MAX, 0};
    const sl_jpeg_plane *luma = &area->planes[0];
    jpeg_fast_widen(&across, x, luma->across * luma->size);
    jpeg_fast_widen(&down, y, luma->down * luma->size);
    p->chroma_width = 0;
    p->chroma_height = 0;
    if (area->components > 1) {
        const sl_jpeg_plane *chroma = &area->planes[1];
        chroma_size(p->job->frame, chroma->size, &p->chroma_width, &p->chroma_height);
        jpeg_fast_widen(&across, chroma_range(x, p->halved_across, p->chroma_width), chroma->size);
        jpeg_fast_widen(&down, chroma_range(y, p->halved_down, p->chroma_height), chroma->size);
    }
    area->left = across.begin;
    area->right = across.end;
    area->top = down.begin;
    area->bottom = down.end;
}

static bool take_planes(picture *p, sl_scratch *scratch)
{
    sl_jpeg_area *area = &p->area;
    for (uint32_t c = 0; c < area->components; c++) {
        sl_jpeg_plane *plane = &area->planes[c];
        const size_t width = (size_t)(area->right - area->left) * plane->across * plane->size;
        const size_t height = (size_t)(area->bottom - area->top) * plane->down * plane->size;
        plane->stride = (width + ROOM_ASIDE + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
        uint8_t *memory = sl_scratch_take(scratch, ROOM_ASIDE + plane->stride * height);
        if (memory == NULL) {
            return false;
        }
        plane->samples = memory + ROOM_ASIDE;
    }
    return true;
}

/* --- rows --- */

/* A component's rows, as if they began at column 0 of the image. */
typedef struct plane_rows {
    const uint8_t *samples;
    size_t stride;
    size_t outside; /* bytes before the samples, if all of the image were in memory */
} plane_rows;

static plane_rows jpeg_fast_rows_of(const sl_jpeg_area *area, const sl_jpeg_plane *plane)
{
    const size_t top = (size_t)area->top * plane->down * plane->size;
    const size_t left = (size_t)area->left * plane->across * plane->size;
    return (plane_rows){plane->samples, plane->stride, top * plane->stride + left};
}

static const uint8_t *row_at(const plane_rows *rows, uint32_t y)
{
    return rows->samples + y * rows->stride - rows->outside;
}

static void chroma_rows(const picture *p, const plane_rows planes[3], uint32_t y, sl_jpeg_row *row)
{
    uint32_t near = y;
    uint32_t far = y;
    if (p->halved_down) {
        near = y / 2;
        row->lower = (uint8_t)(y % 2);
        if (row->lower) {
            far = near + 1 < p->chroma_height ? near + 1 : near;
        } else {
            far = near > 0 ? near - 1 : near;
        }
    }
    row->cb = row_at(&planes[1], near);
    row->cr = row_at(&planes[2], near);
    row->cb_far = row_at(&planes[1], far);
    row->cr_far = row_at(&planes[2], far);
}

static bool make_rows(const picture *p, sl_simd simd, sl_scratch *scratch, sl_image *view)
{
    const sl_rect *wanted = &p->wanted;
    const uint32_t denominator = p->job->denominator;
    const size_t stride = ((size_t)wanted->width * 3 + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    uint8_t *pixels = sl_scratch_take(scratch, stride * wanted->height + ROOM_ASIDE);
    if (pixels == NULL) {
        return false;
    }
    const sl_jpeg_row_maker make = sl_jpeg_row_for(simd, choose_upsampling(p));
    plane_rows planes[COMPONENTS_MAX] = {{NULL, 0, 0}};
    for (uint32_t c = 0; c < p->area.components; c++) {
        planes[c] = jpeg_fast_rows_of(&p->area, &p->area.planes[c]);
    }
    sl_jpeg_row row = {.begin = wanted->x,
                       .end = wanted->x + wanted->width,
                       .rgb = pixels,
                       .chroma_width = p->chroma_width};
    for (uint32_t y = wanted->y; y < wanted->y + wanted->height; y++, row.rgb += stride) {
        row.luma = row_at(&planes[0], y);
        if (p->area.components > 1) {
            chroma_rows(p, planes, y, &row);
        }
        make(&row);
    }
    *view = (sl_image){.pixels = pixels,
                       .width = wanted->width,
                       .height = wanted->height,
                       .channels = 3,
                       .stride_bytes = stride,
                       .origin_x = wanted->x,
                       .origin_y = wanted->y,
                       .picture_width = round_up_div(p->job->frame->width, denominator),
                       .picture_height = round_up_div(p->job->frame->height, denominator),
                       .denominator = denominator};
    return true;
}

bool sl_jpeg_fast_decode(sl_jpeg_fast *fast, const sl_jpeg_job *job, sl_scratch *scratch,
                         sl_image *view)
{
    picture p;
    p.job = job;
    p.wanted = job->wanted;
    sl_jpeg_tiles tiles = sl_jpeg_frame_tiles(job->frame);
    assert(job->wanted.width > 0 && job->wanted.height > 0);
    if (!sl_jpeg_tiles_find(&tiles, job->bytes, job->frame->scan, scratch) ||
        !describe_planes(fast, &p)) {
        return false;
    }
    choose_transforms(&p, fast->simd);
    begin_even(&p);
    choose_mcus(&p);
    return take_planes(&p, scratch) && sl_jpeg_lanes_run(&p.area, &tiles, job->bytes, scratch) &&
           make_rows(&p, fast->simd, scratch, view);
}

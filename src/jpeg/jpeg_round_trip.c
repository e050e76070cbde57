/* SPDX-License-Identifier: Apache-2.0 */
/* Makes planes of samples from the canvas, transforms, quantizes and reverses them in place, a
 * row of blocks at a time, and makes rows again. */
#include "jpeg_round_trip.h"

#include "error.h"
#include "jpeg_fdct.h"
#include "jpeg_rows.h"
#include "jpeg_ycc.h"
#include "minmax.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
    SIDE = 8,
    PLANES = 3,
    ROW_ALIGN = 64,
    BESIDE = 64,    /* of a plane: kernels read (and RGB rows: write) up to 63 bytes past a row */
    FANCY_WIDTH = 3 /* narrower chroma is repeated, not interpolated (jdsample.c) */
};

/* ITU-R T.81, tables K.1 and K.2, row by row. */
static const uint8_t standard_quantizers[2][SL_JPEG_BLOCK] = {
    {16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,
     14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,
     18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,
     49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99},
    {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99,
     99, 99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
     99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};

typedef struct trip_plane {
    uint32_t width, height; /* samples of the image */
    uint32_t blocks_across, blocks_down;
    size_t stride;
    uint8_t *samples;
    const sl_jpeg_divisors *divisors;
} trip_plane;

typedef struct round_trip {
    const sl_image *in;
    uint8_t *out;
    uint32_t width, height;
    sl_simd simd;
    sl_jpeg_divisors divisors[2];
    trip_plane planes[PLANES];
    uint8_t *wide[2][2];   /* chroma of two rows, of full width: Cb, Cr */
    int16_t *coefficients; /* of a row of blocks */
    uint8_t *last;         /* a row of RGB with writable memory after it */
} round_trip;

/* Sets quantizers like libjpeg's jpeg_set_quality, for a baseline JPEG. */
static void trip_set_quality(round_trip *trip, uint32_t quality)
{
    const uint32_t percent = quality < 50 ? 5000 / quality : 200 - quality * 2;
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
            const uint32_t scaled = (standard_quantizers[t][i] * percent + 50) / 100;
            trip->divisors[t].quantizers[i] =
                (uint16_t)sl_min_u32(sl_max_u32(scaled, 1), UINT8_MAX);
        }
        sl_jpeg_divisors_prepare(&trip->divisors[t]);
    }
}

/* ---- memory ---- */

static size_t trip_row_bytes(uint32_t samples)
{
    return ((size_t)samples + BESIDE + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
}

static bool trip_take_plane(round_trip *trip, uint32_t number, sl_scratch *scratch)
{
    trip_plane *plane = &trip->planes[number];
    const uint32_t part = number == 0 ? 1 : 2;
    plane->width = (trip->width + part - 1) / part;
    plane->height = (trip->height + part - 1) / part;
    plane->blocks_across = (plane->width + SIDE - 1) / SIDE;
    plane->blocks_down = (plane->height + SIDE - 1) / SIDE;
    plane->divisors = &trip->divisors[number == 0 ? 0 : 1];
    plane->stride = trip_row_bytes(plane->blocks_across * SIDE);
    uint8_t *memory = sl_scratch_take(scratch, BESIDE + plane->stride * plane->blocks_down * SIDE);
    plane->samples = memory == NULL ? NULL : memory + BESIDE;
    return memory != NULL;
}

static bool trip_take(round_trip *trip, sl_scratch *scratch)
{
    bool taken = true;
    for (uint32_t p = 0; p < PLANES; p++) {
        taken = trip_take_plane(trip, p, scratch) && taken;
    }
    const uint32_t blocks = trip->planes[0].blocks_across;
    const uint32_t wide = trip->planes[1].blocks_across * SIDE * 2;
    for (uint32_t i = 0; i < 4; i++) {
        trip->wide[i / 2][i % 2] = sl_scratch_take(scratch, trip_row_bytes(wide));
        taken = taken && trip->wide[i / 2][i % 2] != NULL;
    }
    trip->coefficients = sl_scratch_take(scratch, (size_t)blocks * SL_JPEG_BLOCK * sizeof(int16_t));
    trip->last = sl_scratch_take(scratch, (size_t)trip->width * 3 + BESIDE);
    return taken && trip->coefficients != NULL && trip->last != NULL;
}

/* ---- from rows to planes ---- */

/* Repeats the last of `width` samples, up to `end`. */
static void trip_extend(uint8_t *row, uint32_t width, uint32_t end)
{
    memset(row + width, row[width - 1], end - width);
}

static void trip_extend_down(const trip_plane *plane)
{
    const uint8_t *last = plane->samples + (plane->height - 1) * plane->stride;
    for (uint32_t y = plane->height; y < plane->blocks_down * SIDE; y++) {
        memcpy(plane->samples + y * plane->stride, last, (size_t)plane->blocks_across * SIDE);
    }
}

static void trip_convert(const round_trip *trip, const sl_jpeg_ycc *kernels, uint32_t y)
{
    const trip_plane *luma = &trip->planes[0];
    const uint32_t wide = trip->planes[1].blocks_across * SIDE * 2;
    const sl_ycc_row row = {luma->samples + y * luma->stride, trip->wide[0][y % 2],
                            trip->wide[1][y % 2]};
    kernels->convert(trip->in->pixels + y * trip->in->stride_bytes, trip->width, &row);
    trip_extend(row.luma, trip->width, luma->blocks_across * SIDE);
    trip_extend(row.cb, trip->width, wide);
    trip_extend(row.cr, trip->width, wide);
}

/* Makes the planes. An odd height repeats the image's last row; chroma repeats its own last row. */
static void trip_make_planes(const round_trip *trip)
{
    const sl_jpeg_ycc *kernels = sl_jpeg_ycc_for(trip->simd);
    for (uint32_t y = 0; y < trip->height; y += 2) {
        const uint32_t second = y + 1 < trip->height ? 1 : 0;
        trip_convert(trip, kernels, y);
        if (second == 1) {
            trip_convert(trip, kernels, y + 1);
        }
        for (uint32_t c = 0; c < 2; c++) {
            const trip_plane *plane = &trip->planes[1 + c];
            kernels->halve(trip->wide[c][0], trip->wide[c][second],
                           (size_t)plane->blocks_across * SIDE,
                           plane->samples + y / 2 * plane->stride);
        }
    }
    for (uint32_t p = 0; p < PLANES; p++) {
        trip_extend_down(&trip->planes[p]);
    }
}

/* ---- there and back ---- */

static void trip_transform(const round_trip *trip, const trip_plane *plane)
{
    const sl_jpeg_fdct forward = sl_jpeg_fdct_for(trip->simd);
    const sl_jpeg_idct backward = sl_jpeg_idct_for(trip->simd, SIDE);
    for (uint32_t b = 0; b < plane->blocks_down; b++) {
        const sl_jpeg_blocks blocks = {.coefficients = trip->coefficients,
                                       .pitch = SL_JPEG_BLOCK,
                                       .count = plane->blocks_across,
                                       .quantizers = plane->divisors->quantizers,
                                       .samples = plane->samples + (size_t)b * SIDE * plane->stride,
                                       .stride = plane->stride};
        forward(blocks.samples, plane->stride, blocks.count, plane->divisors, trip->coefficients);
        backward(&blocks);
    }
}

/* ---- from planes to rows ---- */

static sl_jpeg_row trip_row(const round_trip *trip, uint32_t y)
{
    const trip_plane *luma = &trip->planes[0];
    const trip_plane *cb = &trip->planes[1];
    const trip_plane *cr = &trip->planes[2];
    const uint32_t near = y / 2;
    const bool lower = y % 2 == 1;
    uint32_t far = near;
    if (lower && near + 1 < cb->height) {
        far = near + 1;
    } else if (!lower && near > 0) {
        far = near - 1;
    }
    return (sl_jpeg_row){.luma = luma->samples + y * luma->stride,
                         .cb = cb->samples + near * cb->stride,
                         .cb_far = cb->samples + far * cb->stride,
                         .cr = cr->samples + near * cr->stride,
                         .cr_far = cr->samples + far * cr->stride,
                         .end = trip->width,
                         .chroma_width = cb->width,
                         .lower = lower};
}

/* Makes the rows. A row may overwrite memory after it: later rows, or, near the end, memory of
 * ours. */
static void trip_make_rows(const round_trip *trip)
{
    const size_t bytes = (size_t)trip->width * 3;
    const bool fancy = trip->planes[1].width >= FANCY_WIDTH;
    const sl_jpeg_row_maker make =
        sl_jpeg_row_for(trip->simd, fancy ? SL_JPEG_420 : SL_JPEG_422_PLAIN);
    for (uint32_t y = 0; y < trip->height; y++) {
        const bool near_end = (trip->height - 1 - y) * bytes < BESIDE;
        sl_jpeg_row row = trip_row(trip, y);
        row.rgb = near_end ? trip->last : trip->out + y * bytes;
        make(&row);
        if (near_end) {
            memcpy(trip->out + y * bytes, trip->last, bytes);
        }
    }
}

sluice_status sl_jpeg_round_trip(const sl_image *in, int quality, uint8_t *out, sl_scratch *scratch,
                                 sluice_error *error)
{
    assert(in->width > 0 && in->height > 0 && in->channels == PLANES);
    assert(quality >= 1 && quality <= 100);
    assert(in->pixels != out || in->stride_bytes == (size_t)in->width * 3);
    round_trip trip = {.in = in, .width = in->width, .height = in->height, .simd = sl_simd_best()};
    trip.out = out;
    const size_t mark = sl_scratch_mark(scratch);
    if (!trip_take(&trip, scratch)) {
        sl_scratch_release(scratch, mark);
        return sl_no_memory(error, "jpeg", "for JPEG compression artefacts");
    }
    trip_set_quality(&trip, (uint32_t)quality);
    trip_make_planes(&trip);
    for (uint32_t p = 0; p < PLANES; p++) {
        trip_transform(&trip, &trip.planes[p]);
    }
    trip_make_rows(&trip);
    sl_scratch_release(scratch, mark);
    return SLUICE_OK;
}

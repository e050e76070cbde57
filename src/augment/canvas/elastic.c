/* SPDX-License-Identifier: Apache-2.0 */
/* elastic: a field of blurred noise, and pixels moved by it. Pure. */
#include "elastic.h"

#include "error.h"
#include "philox.h"
#include "portable_math.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- the field ---- */

/* Mirrored at 0 and at size - 1, as often as it takes. */
static uint32_t reflect_index(int64_t i, uint32_t size)
{
    const int64_t period = size > 1 ? 2 * ((int64_t)size - 1) : 1;
    i = (i < 0 ? -i : i) % period;
    return (uint32_t)(i < (int64_t)size ? i : period - i);
}

/* Computes a gaussian, normalised to a sum of 1 over both sides. */
static void elastic_weights(double sigma, uint32_t reach, float *weights)
{
    double sum = 1.0;
    for (uint32_t j = 1; j <= reach; j++) {
        const double x = j / sigma;
        sum += 2.0 * sl_exp(-0.5 * x * x);
    }
    for (uint32_t j = 0; j <= reach; j++) {
        const double x = j > 0 ? j / sigma : 0.0;
        weights[j] = (float)(sl_exp(-0.5 * x * x) / sum);
    }
}

bool sl_elastic_axis_open(sl_elastic_axis *field, const sl_elastic *elastic, uint32_t axis,
                          uint32_t width, uint32_t height, sl_scratch *scratch)
{
    assert(axis < 2 && width > 0 && height > 0);
    const uint32_t reach = (uint32_t)(8.0 * elastic->sigma[axis] + 1.0) / 2;
    const size_t taps = 2 * (size_t)reach + 1;
    const double sides[2] = {width, height};
    *field = (sl_elastic_axis){
        .key = elastic->key,
        .axis = axis,
        .width = width,
        .height = height,
        .reach = reach,
        .scale = (float)(elastic->alpha[axis] / sides[1 - axis] * sides[axis] / 2.0),
        .across = sl_scratch_take(scratch, (reach + 1) * sizeof(float)),
        .down = sl_scratch_take(scratch, (reach + 1) * sizeof(float)),
        .noise = sl_scratch_take(scratch, (width + 2 * (size_t)reach) * sizeof(float)),
        .rows = sl_scratch_take(scratch, taps * width * sizeof(float)),
        .held = sl_scratch_take(scratch, taps * sizeof(*field->held)),
    };
    if (field->across == NULL || field->down == NULL || field->noise == NULL ||
        field->rows == NULL || field->held == NULL) {
        return false;
    }
    elastic_weights(elastic->sigma[0], reach, field->across);
    elastic_weights(elastic->sigma[1], reach, field->down);
    for (size_t i = 0; i < taps; i++) {
        field->held[i] = -1;
    }
    return true;
}

/* Makes row `y` of the noise, and its mirrored ends. */
static void make_noise(const sl_elastic_axis *field, uint32_t y)
{
    float *row = field->noise + field->reach;
    const uint32_t width = field->width;
    for (uint32_t x = 0; x < width; x += 4) {
        const sl_philox_block block = sl_philox(field->key, (uint64_t)y << 32 | x / 4, field->axis);
        for (uint32_t k = 0; k < 4 && x + k < width; k++) {
            row[x + k] = (float)(block.v[k] >> 8) * 0x1p-23F - 1.0F;
        }
    }
    for (int64_t j = 1; j <= (int64_t)field->reach; j++) {
        row[-j] = row[reflect_index(-j, width)];
        row[(int64_t)width - 1 + j] = row[reflect_index((int64_t)width - 1 + j, width)];
    }
}

/* Adds `weight` times the sum of two rows. */
static void add_tap_pair(float weight, const float *left, const float *right, uint32_t count,
                         float *restrict sums)
{
    for (uint32_t i = 0; i < count; i++) {
        sums[i] += weight * (left[i] + right[i]);
    }
}

static void begin_sums(float weight, const float *from, uint32_t count, float *sums)
{
    for (uint32_t i = 0; i < count; i++) {
        sums[i] = weight * from[i];
    }
}

/* Returns the row of the canvas at `y`, or mirrored, blurred across. */
static const float *row_across(sl_elastic_axis *field, int64_t y)
{
    const uint32_t number = reflect_index(y, field->height);
    const size_t slot = number % (2 * (size_t)field->reach | 1);
    float *row = field->rows + slot * field->width;
    if (field->held[slot] != (int64_t)number) {
        const float *noise = field->noise + field->reach;
        make_noise(field, number);
        begin_sums(field->across[0], noise, field->width, row);
        for (uint32_t j = 1; j <= field->reach; j++) {
            add_tap_pair(field->across[j], noise - j, noise + j, field->width, row);
        }
        field->held[slot] = number;
    }
    return row;
}

void sl_elastic_axis_row(sl_elastic_axis *field, uint32_t y, float *out)
{
    begin_sums(field->down[0], row_across(field, y), field->width, out);
    for (int64_t j = 1; j <= (int64_t)field->reach; j++) {
        const float *above = row_across(field, y - j);
        add_tap_pair(field->down[j], above, row_across(field, y + j), field->width, out);
    }
    for (uint32_t x = 0; x < field->width; x++) {
        out[x] *= field->scale;
    }
}

/* ---- pixels ---- */

/* One row of the output. */
typedef struct elastic_line {
    const sl_image *in;
    const uint8_t *fill;
    uint32_t y;
    const float *dx, *dy;
} elastic_line;

/* Returns NULL outside. */
static const uint8_t *elastic_pixel(const sl_image *in, int64_t x, int64_t y)
{
    const bool inside = x >= 0 && x < (int64_t)in->width && y >= 0 && y < (int64_t)in->height;
    return inside ? in->pixels + (size_t)y * in->stride_bytes + (size_t)x * 3 : NULL;
}

static void line_nearest(const elastic_line *line, uint8_t *out)
{
    for (uint32_t x = 0; x < line->in->width; x++) {
        const float across = (float)x + line->dx[x];
        const float down = (float)line->y + line->dy[x];
        const uint8_t *pixel =
            elastic_pixel(line->in, (int64_t)floorf(across + 0.5F), (int64_t)floorf(down + 0.5F));
        memcpy(out, pixel != NULL ? pixel : line->fill, 3);
        out += 3;
    }
}

/* Blends four neighbours; those outside are NULL and have no weight. */
static void elastic_blend(const uint8_t *const pixels[4], const float weights[4],
                          const uint8_t *fill, uint8_t *out)
{
    float inside = 0.0F;
    float sums[3] = {0.0F, 0.0F, 0.0F};
    for (int k = 0; k < 4; k++) {
        for (int c = 0; c < 3 && pixels[k] != NULL; c++) {
            sums[c] += weights[k] * (float)pixels[k][c];
        }
        inside += pixels[k] != NULL ? weights[k] : 0.0F;
    }
    for (int c = 0; c < 3; c++) {
        const float value = (sums[c] - (float)fill[c]) * inside + (float)fill[c];
        out[c] = (uint8_t)(value + 0.5F);
    }
}

static void line_bilinear(const elastic_line *line, uint8_t *out)
{
    for (uint32_t x = 0; x < line->in->width; x++) {
        const float across = (float)x + line->dx[x];
        const float down = (float)line->y + line->dy[x];
        const float left = floorf(across);
        const float top = floorf(down);
        const float right = across - left;
        const float below = down - top;
        const int64_t column = (int64_t)left;
        const int64_t row = (int64_t)top;
        const uint8_t *const pixels[4] = {
            elastic_pixel(line->in, column, row), elastic_pixel(line->in, column + 1, row),
            elastic_pixel(line->in, column, row + 1), elastic_pixel(line->in, column + 1, row + 1)};
        const float weights[4] = {(1.0F - right) * (1.0F - below), right * (1.0F - below),
                                  (1.0F - right) * below, right * below};
        elastic_blend(pixels, weights, line->fill, out);
        out += 3;
    }
}

sluice_status sl_elastic_apply(const sl_image *in, const sl_elastic *elastic, uint8_t *out,
                               sl_scratch *scratch, sluice_error *error)
{
    const size_t mark = sl_scratch_mark(scratch);
    sl_elastic_axis fields[2];
    float *moved = sl_scratch_take(scratch, 2 * (size_t)in->width * sizeof(*moved));
    bool opened = moved != NULL;
    for (uint32_t axis = 0; axis < 2 && opened; axis++) {
        opened = sl_elastic_axis_open(&fields[axis], elastic, axis, in->width, in->height, scratch);
    }
    if (!opened) {
        sl_scratch_release(scratch, mark);
        return sl_no_memory(error, "augment", "to move pixels elastically");
    }
    elastic_line line = {.in = in, .fill = elastic->fill, .dx = moved, .dy = moved + in->width};
    for (line.y = 0; line.y < in->height; line.y++) {
        sl_elastic_axis_row(&fields[0], line.y, moved);
        sl_elastic_axis_row(&fields[1], line.y, moved + in->width);
        if (elastic->nearest) {
            line_nearest(&line, out);
        } else {
            line_bilinear(&line, out);
        }
        out += (size_t)in->width * 3;
    }
    sl_scratch_release(scratch, mark);
    return SLUICE_OK;
}

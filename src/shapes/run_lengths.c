/* SPDX-License-Identifier: Apache-2.0 */
/* Reads runs, then draws them. Pure. */
#include "run_lengths.h"

#include "minmax.h"

#include <math.h>
#include <string.h>

#define MASK_PIXELS_MAX UINT32_MAX

/* 5 bits each: all differences of 32 bits. */
enum { GROUP_BITS = 5, GROUPS_MAX = 7, SIGN_FIRST = 48, SIGN_LAST = 111, MORE = 32, NEGATIVE = 16 };

/* ---- reading ---- */

static const char *add_run(sl_run_reader *reader, int64_t length)
{
    if (length < 0) {
        return "a run of its mask has a negative length";
    }
    reader->end += (uint64_t)length;
    if (reader->end > MASK_PIXELS_MAX) {
        return "the runs of its mask have more than 2^32 - 1 pixels";
    }
    if (reader->ends != NULL) {
        reader->ends[reader->count] = (uint32_t)reader->end;
    }
    reader->count++;
    reader->last[0] = reader->last[1];
    reader->last[1] = reader->last[2];
    reader->last[2] = length;
    return NULL;
}

const char *sl_run_reader_add(sl_run_reader *reader, double length)
{
    if (!(length <= MASK_PIXELS_MAX) || length != floor(length)) {
        return "a run of its mask has a length that is no whole number of 32 bits";
    }
    return add_run(reader, length < 0 ? -1 : (int64_t)length);
}

const char *sl_run_reader_add_sign(sl_run_reader *reader, uint8_t sign)
{
    if (sign < SIGN_FIRST || sign > SIGN_LAST) {
        return "the text of its mask has a character that no run lengths have";
    }
    if (reader->groups == GROUPS_MAX) {
        return "the text of its mask has a number of more than 32 bits";
    }
    const uint32_t bits = (uint32_t)sign - SIGN_FIRST;
    const int64_t unit = INT64_C(1) << GROUP_BITS * reader->groups++;
    reader->value += (int64_t)(bits % MORE) * unit;
    if ((bits & MORE) != 0) {
        return NULL;
    }
    int64_t length = reader->value - ((bits & NEGATIVE) != 0 ? unit * MORE : 0);
    length += reader->count > 2 ? reader->last[1] : 0;
    reader->value = 0;
    reader->groups = 0;
    return add_run(reader, length);
}

const char *sl_run_reader_check(const sl_run_reader *reader, double width, double height)
{
    if (reader->groups > 0) {
        return "the text of its mask ends inside of a number";
    }
    if (!(width >= 1 && height >= 1 && width * height <= MASK_PIXELS_MAX) ||
        width != floor(width) || height != floor(height)) {
        return "the size of its mask is not two whole numbers of 2^32 - 1 pixels at most";
    }
    return (double)reader->end == width * height
               ? NULL
               : "the runs of its mask are not as many pixels as its size says";
}

/* ---- what they are ---- */

/* Behind the last pixel of the run before, which is where this one begins. */
static uint32_t begin_of(const sl_run_lengths *runs, uint32_t run)
{
    return run > 0 ? runs->ends[run - 1] : 0;
}

uint64_t sl_run_lengths_area(const sl_run_lengths *runs)
{
    uint64_t area = 0;
    for (uint32_t i = 1; i < runs->count; i += 2) {
        area += runs->ends[i] - begin_of(runs, i);
    }
    return area;
}

sl_rect sl_run_lengths_box(const sl_run_lengths *runs)
{
    const uint32_t height = runs->height;
    uint32_t left = UINT32_MAX;
    uint32_t right = 0;
    uint32_t top = UINT32_MAX;
    uint32_t bottom = 0;
    for (uint32_t i = 1; i < runs->count; i += 2) {
        const uint32_t first = begin_of(runs, i);
        const uint32_t last = runs->ends[i] - 1;
        if (runs->ends[i] == first) {
            continue;
        }
        const bool columns = first / height != last / height;
        left = sl_min_u32(left, first / height);
        right = sl_max_u32(right, last / height + 1);
        top = sl_min_u32(top, columns ? 0 : first % height);
        bottom = sl_max_u32(bottom, columns ? height : last % height + 1);
    }
    return right == 0 ? (sl_rect){0, 0, 0, 0} : (sl_rect){left, top, right - left, bottom - top};
}

/* ---- drawing ---- */

void sl_run_lengths_fill(const sl_run_lengths *runs, const sl_mask *mask)
{
    const uint32_t height = runs->height;
    for (uint32_t i = 1; i < runs->count; i += 2) {
        uint32_t y = begin_of(runs, i) % height;
        uint8_t *pixel = mask->pixels + begin_of(runs, i) / height;
        for (uint32_t at = begin_of(runs, i); at < runs->ends[i]; at++) {
            pixel[y * mask->stride_bytes] = mask->value;
            if (++y == height) {
                y = 0;
                pixel++;
            }
        }
    }
}

/* The run that a pixel is in. */
static uint32_t run_lengths_find(const sl_run_lengths *runs, uint32_t pixel)
{
    uint32_t low = 0;
    uint32_t high = runs->count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (runs->ends[middle] > pixel) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The same, which mostly is `near`, or the one behind it. */
static uint32_t run_near(const sl_run_lengths *runs, uint32_t pixel, uint32_t near)
{
    if (pixel < begin_of(runs, near)) {
        return run_lengths_find(runs, pixel);
    }
    near += pixel >= runs->ends[near];
    return pixel < runs->ends[near] ? near : run_lengths_find(runs, pixel);
}

void sl_run_lengths_sample(const sl_run_lengths *runs, const double inverse[9], const sl_mask *mask)
{
    const double *m = inverse;
    uint32_t run = 0;
    for (uint32_t x = 0; x < mask->width; x++) {
        for (uint32_t y = 0; y < mask->height; y++) {
            const double px = x + .5;
            const double py = y + .5;
            const double depth = m[6] * px + m[7] * py + m[8];
            const double u = (m[0] * px + m[1] * py + m[2]) / depth;
            const double v = (m[3] * px + m[4] * py + m[5]) / depth;
            if (!(depth > 0 && u >= 0 && u < runs->width && v >= 0 && v < runs->height)) {
                continue;
            }
            run = run_near(runs, (uint32_t)u * runs->height + (uint32_t)v, run);
            if (run % 2 == 1) {
                mask->pixels[y * mask->stride_bytes + x] = mask->value;
            }
        }
    }
}

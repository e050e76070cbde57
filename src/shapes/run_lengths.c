/* SPDX-License-Identifier: Apache-2.0 */
/* Reads runs, then draws them. Pure. */
#include "run_lengths.h"

#include "matrix.h"
#include "minmax.h"

#include <math.h>
#include <string.h>

#define MASK_PIXELS_MAX UINT32_MAX

/* 5 bits each: enough for all differences of 32 bits. */
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
        return "the length of a run of its mask is not a whole number of 32 bits";
    }
    return add_run(reader, length < 0 ? -1 : (int64_t)length);
}

const char *sl_run_reader_add_sign(sl_run_reader *reader, uint8_t sign)
{
    if (sign < SIGN_FIRST || sign > SIGN_LAST) {
        return "the text of its mask has a character that run lengths cannot have";
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
        return "the text of its mask ends inside a number";
    }
    if (!(width >= 1 && height >= 1 && width * height <= MASK_PIXELS_MAX) ||
        width != floor(width) || height != floor(height)) {
        return "the size of its mask is not two whole numbers of at most 2^32 - 1 pixels in all";
    }
    return (double)reader->end == width * height
               ? NULL
               : "the runs of its mask and its size have different numbers of pixels";
}

/* ---- properties ---- */

/* Returns the place after the last pixel of the previous run, where this one begins. */
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

/* Returns the run that contains a pixel. */
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

/* Does the same; the run is mostly `near`, or the next one. */
static uint32_t run_near(const sl_run_lengths *runs, uint32_t pixel, uint32_t near)
{
    if (pixel < begin_of(runs, near)) {
        return run_lengths_find(runs, pixel);
    }
    near += pixel >= runs->ends[near];
    return pixel < runs->ends[near] ? near : run_lengths_find(runs, pixel);
}

/* ---- sampling: the part of the mask that the box of the covered pixels is moved to ---- */

/* In the mask's coordinates, with a margin, so that rounding never decides which pixels are
 * checked. */
enum { MARGIN_PIXELS = 1 };
#define RELATIVE_MARGIN 1e-9

/* Conditions that hold for all places in the box: line * (x, y, 1) >= 0, up to rounding. */
enum { BOX_LINES = 5 };
typedef struct moved_box {
    double lines[BOX_LINES][3];
    uint32_t left, right; /* columns of the mask that it may be in */
} moved_box;

static uint32_t index_within(double at, uint32_t size)
{
    return !(at > 0) ? 0 : at < size ? (uint32_t)at : size;
}

/* Finds the columns between the box's corners, if all of them are in front of the camera. */
static void find_columns(const sl_rect *box, const double inverse[9], uint32_t width,
                         moved_box *moved)
{
    double m[9];
    double least = INFINITY;
    double most = -INFINITY;
    bool fine = sl_matrix_invert(inverse, m);
    for (uint32_t i = 0; i < 4; i++) {
        const double x = (double)box->x + (i % 2 != 0 ? box->width : 0);
        const double y = (double)box->y + (i / 2 != 0 ? box->height : 0);
        const double w = m[6] * x + m[7] * y + m[8];
        const double at = (m[0] * x + m[1] * y + m[2]) / w;
        fine = fine && w > RELATIVE_MARGIN * (fabs(m[6] * x) + fabs(m[7] * y) + fabs(m[8]));
        least = fmin(least, at - RELATIVE_MARGIN * fabs(at));
        most = fmax(most, at + RELATIVE_MARGIN * fabs(at));
    }
    moved->left = fine ? index_within(floor(least) - MARGIN_PIXELS, width) : 0;
    moved->right = fine ? index_within(ceil(most) + MARGIN_PIXELS, width) : width;
}

/* u' >= left w', u' < right w', and so on, and w' > 0, of (u', v', w') = inverse * (x, y, 1). */
static void find_lines_of_box(const sl_rect *box, const double inverse[9], moved_box *moved)
{
    const double ends[2][2] = {{box->x, (double)box->x + box->width},
                               {box->y, (double)box->y + box->height}};
    for (size_t i = 0; i < 3; i++) {
        const double w = inverse[6 + i];
        for (size_t axis = 0; axis < 2; axis++) {
            moved->lines[2 * axis][i] = inverse[3 * axis + i] - ends[axis][0] * w;
            moved->lines[2 * axis + 1][i] = ends[axis][1] * w - inverse[3 * axis + i];
        }
        moved->lines[BOX_LINES - 1][i] = w;
    }
}

/* Finds the rows of a column of the mask that may be in the box. */
static void find_rows(const moved_box *moved, const double size[3], double x, uint32_t height,
                      uint32_t rows[2])
{
    double from = 0;
    double to = height;
    for (size_t i = 0; i < BOX_LINES; i++) {
        const double *line = moved->lines[i];
        const double slope = line[1];
        const double away = line[0] * x + line[2];
        const double slack = RELATIVE_MARGIN * (size[0] * x + size[1] * height + size[2]);
        if (slope > 0) {
            from = fmax(from, (-slack - away) / slope);
        } else if (slope < 0) {
            to = fmin(to, (slack + away) / -slope);
        } else if (away < -slack) {
            to = 0;
        }
    }
    rows[0] = index_within(floor(from) - MARGIN_PIXELS, height);
    rows[1] = index_within(ceil(to) + MARGIN_PIXELS, height);
}

/* Finds how large the terms of all lines may be: their rounding is a fraction of that. */
static void find_term_sizes(const sl_run_lengths *runs, const double inverse[9], double size[3])
{
    for (size_t i = 0; i < 3; i++) {
        size[i] = fabs(inverse[i]) + fabs(inverse[3 + i]) +
                  fabs(inverse[6 + i]) * (1.0 + runs->width + runs->height);
    }
}

/* Samples rows [from, to) of a column of the mask. The current run is kept in `*near`. */
static void sample_column(const sl_run_lengths *runs, const double inverse[9], const sl_mask *mask,
                          uint32_t x, const uint32_t rows[2], uint32_t *near)
{
    const double *m = inverse;
    const double px = x + .5;
    const bool divides = m[6] != 0 || m[7] != 0 || m[8] != 1;
    uint8_t *pixel = mask->pixels + (size_t)rows[0] * mask->stride_bytes + x;
    uint32_t run = *near;
    for (uint32_t y = rows[0]; y < rows[1]; y++, pixel += mask->stride_bytes) {
        const double py = y + .5;
        double u = m[0] * px + m[1] * py + m[2];
        double v = m[3] * px + m[4] * py + m[5];
        if (divides) {
            const double depth = m[6] * px + m[7] * py + m[8];
            u = depth > 0 ? u / depth : -1;
            v /= depth;
        }
        if (!(u >= 0 && u < runs->width && v >= 0 && v < runs->height)) {
            continue;
        }
        run = run_near(runs, (uint32_t)u * runs->height + (uint32_t)v, run);
        if (run % 2 == 1) {
            *pixel = mask->value;
        }
    }
    *near = run;
}

static void note_column(sl_rect *drawn, uint32_t x, const uint32_t rows[2])
{
    const uint32_t bottom = sl_max_u32(drawn->y + drawn->height, rows[1]);
    const bool first = drawn->width == 0;
    drawn->x = first ? x : drawn->x;
    drawn->y = first ? rows[0] : sl_min_u32(drawn->y, rows[0]);
    drawn->width = x + 1 - drawn->x;
    drawn->height = (first ? rows[1] : bottom) - drawn->y;
}

sluice_status sl_run_lengths_sample(const sl_run_lengths *runs, const double inverse[9],
                                    const sl_mask *mask, sluice_error *error)
{
    moved_box moved;
    double size[3];
    sl_rect drawn = {0, 0, 0, 0};
    uint32_t near = 0;
    sluice_status status = SLUICE_OK;
    const sl_rect box = sl_run_lengths_box(runs);
    if (box.width > 0) {
        find_columns(&box, inverse, mask->width, &moved);
        find_lines_of_box(&box, inverse, &moved);
        find_term_sizes(runs, inverse, size);
        for (uint32_t x = moved.left; x < moved.right && status == SLUICE_OK; x++) {
            uint32_t rows[2];
            find_rows(&moved, size, x + .5, mask->height, rows);
            status = sl_work_take(mask->work, rows[1] > rows[0] ? 4 + rows[1] - rows[0] : 4, error);
            if (rows[1] > rows[0] && status == SLUICE_OK) {
                sample_column(runs, inverse, mask, x, rows, &near);
                note_column(&drawn, x, rows);
            }
        }
    }
    if (mask->drawn != NULL) {
        *mask->drawn = drawn;
    }
    return status;
}

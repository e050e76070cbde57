/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides each row of the output into the runs of pixels that show the input, made by kernels, and
 * those that are filled. For affine maps and frames there is at most one run, whose ends are solved
 * for; perspectives are checked pixel by pixel.
 */
#include "warp.h"

#include "error.h"
#include "warp_kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Output columns [begin, end). */
typedef struct span {
    uint32_t begin, end;
} span;

/* How pixel coordinates are computed (see warp.h). */
typedef enum method { METHOD_POINTS, METHOD_COLUMNS, METHOD_WALK, METHOD_SUMS } method;

typedef struct warping {
    const sl_warp *warp;
    const sl_warp_kernels *kernels;
    sl_warp_source source;
    method method;
    sl_interpolation interpolation;
    double *xs, *ys;
    uint8_t *inside;
    int32_t *columns; /* METHOD_COLUMNS: of the image, for the output's `shown` */
    span shown;
    sl_warp_walk walk; /* METHOD_WALK: of the next row's first pixel; its steps along a row */
    int64_t down_x, down_y;
    double next_x, next_y; /* METHOD_COLUMNS, METHOD_SUMS: of the next row's first pixel */
    bool direct;           /* METHOD_POINTS: by a kernel without coordinates */
    bool masked;           /* some map divides: `inside` is used */
} warping;

static bool is_affine(const double m[9])
{
    return m[6] == 0 && m[7] == 0 && m[8] == 1;
}

/* ---- rows in doubles ---- */

static sl_warp_line line_of(const double m[9], uint32_t row)
{
    sl_warp_line line = {.divide = !is_affine(m)};
    for (size_t i = 0; i < 3; i++) {
        line.factor[i] = m[3 * i];
        line.row[i] = m[3 * i + 1] * (row + 0.5);
        line.offset[i] = m[3 * i + 2];
    }
    return line;
}

static double point_at(const sl_warp_line *line, int axis, uint32_t column)
{
    return (line->factor[axis] * (column + 0.5) + line->row[axis]) + line->offset[axis];
}

static bool point_is_in(const sl_warp_line *line, int axis, double size, uint32_t column)
{
    const double at = point_at(line, axis, column);
    return at >= 0 && at < size;
}

/* Converts a real number to a column of the rest of the row. */
static uint32_t column_in(span s, double column)
{
    return column > s.begin ? (uint32_t)fmin(column, s.end) : s.begin;
}

/*
 * Narrows the span to where one coordinate of an affine map is in [0, size). Rounded coordinates
 * are monotonic, so there is one run; its ends are near those of the unrounded map, and are
 * searched from there.
 */
static void warp_narrow(span *s, const sl_warp_line *line, int axis, double size)
{
    const double factor = line->factor[axis];
    const double constant = line->row[axis] + line->offset[axis];
    const double far = fabs(factor) * s->end + fabs(line->row[axis]) + fabs(line->offset[axis]);
    span found = *s;
    if (factor == 0) {
        s->end = point_is_in(line, axis, size, s->begin) ? s->end : s->begin;
        return;
    }
    if (far < 0x1p31 && fabs(factor) > 0x1p-20) {
        const double a = (0 - constant) / factor - 0.5;
        const double b = (size - constant) / factor - 0.5;
        found.begin = column_in(*s, ceil(fmin(a, b)));
        found.end = column_in(*s, ceil(fmax(a, b)));
        while (found.begin > s->begin && point_is_in(line, axis, size, found.begin - 1)) {
            found.begin--;
        }
        while (found.end < s->end && point_is_in(line, axis, size, found.end)) {
            found.end++;
        }
    }
    while (found.begin < found.end && !point_is_in(line, axis, size, found.begin)) {
        found.begin++;
    }
    while (found.begin < found.end && !point_is_in(line, axis, size, found.end - 1)) {
        found.end--;
    }
    *s = found;
}

/* ---- fixed point ---- */

static int64_t to_fixed(double value)
{
    return (int64_t)floor(value * 65536.0 + 0.5);
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    const int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static uint32_t fixed_column_in(span s, int64_t column)
{
    return (uint32_t)(column < s.begin ? s.begin : column > s.end ? s.end : column);
}

/* Narrows the span to where start + step * column is in [0, size), in 16.16. */
static void narrow_fixed(span *s, int64_t start, int64_t step, int32_t size)
{
    const int64_t most = (int64_t)size * 65536 - 1;
    if (step == 0) {
        s->end = start >= 0 && start <= most ? s->end : s->begin;
        return;
    }
    const int64_t first = step > 0 ? -floor_divide(start, step) : -floor_divide(start - most, step);
    const int64_t last = step > 0 ? floor_divide(most - start, step) : floor_divide(-start, step);
    const uint32_t begin = fixed_column_in(*s, first);
    const uint32_t end = fixed_column_in(*s, last + 1);
    *s = (span){begin, end > begin ? end : begin};
}

/* Returns whether a corner of the output is within the range of 16.16. */
static bool fixed_reaches(const double m[9], uint32_t x, uint32_t y)
{
    return fabs(x * m[0] + y * m[1] + m[2]) < 32768.0 && fabs(x * m[3] + y * m[4] + m[5]) < 32768.0;
}

/* ---- the nearest pixel of affine maps ---- */

/* Tabulates columns whose running sum is in the image: a run, as a sum of equal steps is
 * monotonic. */
static void tabulate(warping *w)
{
    const double step = w->warp->matrix[0];
    double x = w->warp->matrix[2] + step * 0.5;
    w->shown = (span){0};
    for (uint32_t i = 0; i < w->warp->width; i++) {
        if (x >= 0 && x < w->source.picture_width) {
            w->columns[i] = (int32_t)x;
            w->shown.begin = w->shown.end == 0 ? i : w->shown.begin;
            w->shown.end = i + 1;
        }
        x += step;
    }
}

static void begin_nearest(warping *w)
{
    const double *m = w->warp->matrix;
    const uint32_t width = w->warp->width;
    const uint32_t height = w->warp->height;
    w->method = METHOD_SUMS;
    w->next_x = m[2] + m[1] * 0.5 + m[0] * 0.5;
    w->next_y = m[5] + m[4] * 0.5 + m[3] * 0.5;
    if (m[1] == 0 && m[3] == 0) {
        w->method = METHOD_COLUMNS;
        w->next_y = m[5] + m[4] * 0.5;
        tabulate(w);
    } else if (fixed_reaches(m, 0, 0) && fixed_reaches(m, width, height) &&
               fixed_reaches(m, 0, height) && fixed_reaches(m, width, 0)) {
        w->method = METHOD_WALK;
        w->walk = (sl_warp_walk){.x = to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5),
                                 .y = to_fixed(m[5] + m[3] * 0.5 + m[4] * 0.5),
                                 .step_x = to_fixed(m[0]),
                                 .step_y = to_fixed(m[3])};
        w->down_x = to_fixed(m[1]);
        w->down_y = to_fixed(m[4]);
    }
}

static void pick_columns(const warping *w, span s, uint8_t *out)
{
    const sl_warp_source *source = &w->source;
    const int32_t y = (int32_t)w->next_y - source->origin_y;
    const uint8_t *row = source->pixels + (size_t)y * source->stride_bytes;
    const int32_t *columns = w->columns;
    const uint32_t steps = s.end - 1 - s.begin;
    if (w->warp->matrix[0] == 1 && columns[s.end - 1] - columns[s.begin] == (int32_t)steps) {
        memcpy(out, row + (size_t)(columns[s.begin] - source->origin_x) * 3,
               (size_t)(s.end - s.begin) * 3);
        return;
    }
    for (uint32_t i = s.begin; i < s.end; i++) {
        memcpy(out, row + (size_t)(columns[i] - source->origin_x) * 3, 3);
        out += 3;
    }
}

/* ---- a row ---- */

/* Narrows to the shown part of the image, if that is a run known without checking each pixel;
 * otherwise finds coordinates. */
static void show(warping *w, uint32_t row, span *s)
{
    const sl_warp_source *source = &w->source;
    const double *m = w->warp->matrix;
    const sl_warp_line line = line_of(m, row);
    span shown = {0};
    switch (w->method) {
    case METHOD_COLUMNS:
        shown = w->next_y >= 0 && w->next_y < source->picture_height ? w->shown : (span){0};
        s->begin = s->begin > shown.begin ? s->begin : shown.begin;
        s->end = s->end < shown.end ? s->end : shown.end;
        s->end = s->end > s->begin ? s->end : s->begin;
        break;
    case METHOD_WALK:
        narrow_fixed(s, w->walk.x, w->walk.step_x, source->picture_width);
        narrow_fixed(s, w->walk.y, w->walk.step_y, source->picture_height);
        break;
    case METHOD_SUMS:
        w->xs[0] = w->next_x;
        w->ys[0] = w->next_y;
        for (uint32_t i = 1; i < s->end; i++) {
            w->xs[i] = w->xs[i - 1] + m[0];
            w->ys[i] = w->ys[i - 1] + m[3];
        }
        break;
    default:
        if (!line.divide) {
            warp_narrow(s, &line, 0, source->picture_width);
            warp_narrow(s, &line, 1, source->picture_height);
        }
        break;
    }
}

/* Narrows to the range of affine frames; for others clears the pixels outside. */
static void cut_at_frames(const warping *w, uint32_t row, span *s)
{
    for (uint32_t i = 0; i < w->warp->frame_count; i++) {
        const sl_warp_frame *frame = &w->warp->frames[i];
        const sl_warp_line line = line_of(frame->matrix, row);
        if (line.divide) {
            const uint32_t count = s->end - s->begin;
            w->kernels->locate(&line, s->begin, count, w->xs, w->ys);
            w->kernels->screen(w->xs, w->ys, count, frame->width, frame->height,
                               w->inside + s->begin);
        } else {
            warp_narrow(s, &line, 0, frame->width);
            warp_narrow(s, &line, 1, frame->height);
        }
    }
}

/* Finds coordinates of the span's pixels, and (for a perspective, or for sums) which are inside. */
static void locate_span(const warping *w, uint32_t row, span s)
{
    const uint32_t count = s.end - s.begin;
    if (w->method == METHOD_POINTS && !w->direct) {
        const sl_warp_line line = line_of(w->warp->matrix, row);
        w->kernels->locate(&line, s.begin, count, w->xs + s.begin, w->ys + s.begin);
    }
    if (w->method == METHOD_SUMS || !is_affine(w->warp->matrix)) {
        w->kernels->screen(w->xs + s.begin, w->ys + s.begin, count, w->source.picture_width,
                           w->source.picture_height, w->inside + s.begin);
    }
}

static void warp_run(const warping *w, uint32_t row, span s, uint8_t *out)
{
    const uint32_t count = s.end - s.begin;
    const sl_warp_walk *walk = &w->walk;
    const sl_interpolation interpolation = w->interpolation;
    if (w->direct) {
        const sl_warp_line line = line_of(w->warp->matrix, row);
        w->kernels->affine[interpolation](&w->source, &line, s.begin, count, out);
        return;
    }
    switch (w->method) {
    case METHOD_COLUMNS:
        pick_columns(w, s, out);
        break;
    case METHOD_WALK:
        w->kernels->walk(&w->source,
                         &(sl_warp_walk){.x = walk->x + walk->step_x * s.begin,
                                         .y = walk->y + walk->step_y * s.begin,
                                         .step_x = walk->step_x,
                                         .step_y = walk->step_y},
                         count, out);
        break;
    default:
        w->kernels->sample[interpolation](&w->source, w->xs + s.begin, w->ys + s.begin, count, out);
        break;
    }
}

static void warp_fill(const uint8_t fill[3], uint32_t count, uint8_t *out)
{
    if (fill[0] == fill[1] && fill[1] == fill[2]) {
        memset(out, fill[0], (size_t)count * 3);
        return;
    }
    uint8_t four[12];
    for (size_t i = 0; i < sizeof(four); i++) {
        four[i] = fill[i % 3];
    }
    for (; count >= 4; count -= 4) {
        memcpy(out, four, sizeof(four));
        out += sizeof(four);
    }
    memcpy(out, four, (size_t)count * 3);
}

/* Finds the next run of pixels inside, from s->end on. */
static bool next_run(const warping *w, span *s, uint32_t end)
{
    s->begin = s->end;
    while (s->begin < end && w->masked && w->inside[s->begin] == 0) {
        s->begin++;
    }
    s->end = w->masked ? s->begin : end;
    while (s->end < end && w->inside[s->end] != 0) {
        s->end++;
    }
    return s->begin < s->end;
}

static void warp_row(warping *w, uint32_t row, uint8_t *out)
{
    const uint8_t *fill = w->warp->fill;
    span all = {0, w->warp->width};
    if (w->masked) {
        memset(w->inside, 1, w->warp->width);
    }
    cut_at_frames(w, row, &all);
    show(w, row, &all);
    locate_span(w, row, all);
    span run = {0, all.begin};
    uint32_t done = 0;
    while (next_run(w, &run, all.end)) {
        if (!w->warp->keeps) {
            warp_fill(fill, run.begin - done, out + (size_t)done * 3);
        }
        warp_run(w, row, run, out + (size_t)run.begin * 3);
        done = run.end;
    }
    if (!w->warp->keeps) {
        warp_fill(fill, w->warp->width - done, out + (size_t)done * 3);
    }
    w->walk.x += w->down_x;
    w->walk.y += w->down_y;
    w->next_x += w->warp->matrix[1];
    w->next_y += w->warp->matrix[4];
}

/* ---- an image ---- */

/* Returns whether the middles of output pixels are those of input pixels: then each interpolation
 * gives these, and the nearest are found at less cost. */
static bool shows_middles(const double m[9])
{
    static const int factors[] = {0, 1, 3, 4};
    for (int i = 0; i < 4; i++) {
        const double factor = m[factors[i]];
        if (!(fabs(factor) < 0x1p14) || factor != floor(factor)) {
            return false;
        }
    }
    const double x = m[2] + (m[0] + m[1] - 1) * 0.5;
    const double y = m[5] + (m[3] + m[4] - 1) * 0.5;
    return is_affine(m) && fabs(m[2]) < 0x1p20 && fabs(m[5]) < 0x1p20 && x == floor(x) &&
           y == floor(y);
}

static bool any_divides(const sl_warp *warp)
{
    bool divides = !is_affine(warp->matrix);
    for (uint32_t i = 0; i < warp->frame_count; i++) {
        divides = divides || !is_affine(warp->frames[i].matrix);
    }
    return divides;
}

static sl_warp_source warp_source_of(const sl_image *in)
{
    return (sl_warp_source){.pixels = in->pixels,
                            .stride_bytes = in->stride_bytes,
                            .origin_x = (int32_t)in->origin_x,
                            .origin_y = (int32_t)in->origin_y,
                            .width = (int32_t)in->width,
                            .height = (int32_t)in->height,
                            .picture_width = (int32_t)in->picture_width,
                            .picture_height = (int32_t)in->picture_height};
}

/* Kernels may write past rows, up to the next multiple of their lanes. */
static bool warp_take_rows(warping *w, sl_scratch *scratch)
{
    const size_t padded = (size_t)w->warp->width + 8;
    w->xs = sl_scratch_take(scratch, padded * sizeof(*w->xs));
    w->ys = sl_scratch_take(scratch, padded * sizeof(*w->ys));
    w->columns = sl_scratch_take(scratch, padded * sizeof(*w->columns));
    w->inside = sl_scratch_take(scratch, padded);
    return w->xs != NULL && w->ys != NULL && w->columns != NULL && w->inside != NULL;
}

sluice_status sl_warp_apply(sl_simd simd, const sl_warp *warp, const sl_image *in, uint8_t *out,
                            sl_scratch *scratch, sluice_error *error)
{
    assert(in->channels == 3 && in->denominator == 1 && warp->frame_count <= SL_WARP_FRAMES);
    assert(warp->interpolation <= SL_BICUBIC && warp->width > 0 && warp->height > 0);
    const size_t mark = sl_scratch_mark(scratch);
    warping w = {.warp = warp,
                 .kernels = sl_warp_kernels_for(simd),
                 .source = warp_source_of(in),
                 .interpolation = shows_middles(warp->matrix) ? SL_NEAREST : warp->interpolation,
                 .masked = any_divides(warp)};
    if (!warp_take_rows(&w, scratch)) {
        sl_scratch_release(scratch, mark);
        return sl_error_set(error, SLUICE_NOMEM, "augment",
                            "no scratch memory to warp to %u x %u pixels", warp->width,
                            warp->height);
    }
    if (w.interpolation == SL_NEAREST && is_affine(warp->matrix)) {
        begin_nearest(&w);
        w.masked = w.masked || w.method == METHOD_SUMS;
    }
    w.direct = w.method == METHOD_POINTS && is_affine(warp->matrix) &&
               w.kernels->affine[w.interpolation] != NULL;
    for (uint32_t row = 0; row < warp->height; row++) {
        warp_row(&w, row, out + (size_t)row * warp->width * 3);
    }
    sl_scratch_release(scratch, mark);
    return SLUICE_OK;
}

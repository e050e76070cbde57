/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of several sizes in one batch, and masks of them: padded to the largest, or back to back.
 * Each row is made where the largest possible one has space; `finish`, on the thread that made the
 * last one, moves them to their places.
 */
#include "sizes.h"

#include "dtype.h"
#include "elements.h"
#include "error.h"
#include "minmax.h"
#include "option_text.h"

#include <assert.h>
#include <string.h>

enum { SIDE_MOST = 65535 };

static bool is_ragged(const sl_column *column)
{
    return column->request.sizes == SLUICE_SIZES_RAGGED;
}

/* ---- once ---- */

static sluice_status add_offsets(sl_column *column, sl_column_set *set, sluice_error *error)
{
    sl_part *offsets = sl_column_add_part(set, column, ".offsets", error);
    if (offsets == NULL) {
        return SLUICE_INVALID;
    }
    offsets->role = SL_PART_OFFSETS;
    offsets->dtype = SLUICE_I64;
    offsets->row_bytes = sizeof(int64_t);
    return SLUICE_OK;
}

/* Returns the number of planes, each with a value for each pixel; 1: a pixel's values are
 * together. */
static uint32_t planes_of(const sl_column *column)
{
    return sl_column_is_image(column) && column->request.layout == SLUICE_NCHW ? 3 : 1;
}

static void set_rows_part(const sl_column *column, sl_column_set *set, sl_part *rows)
{
    const uint32_t planes = planes_of(column);
    const uint32_t channels = column->pixel_bytes / (uint32_t)sl_dtype_bytes(rows->dtype);
    rows->ragged = set->ragged_count++;
    if (is_ragged(column)) {
        rows->role = SL_PART_RAGGED;
        rows->dims = planes == 1 && channels > 1 ? 1 : 0;
        rows->shape[0] = channels;
        rows->element_bytes = column->pixel_bytes / planes;
    } else {
        rows->role = SL_PART_SIZED;
        rows->shape[planes > 1 ? 1 : 0] = 0;
        rows->shape[planes > 1 ? 2 : 1] = 0;
        rows->element_bytes = column->pixel_bytes;
    }
}

sluice_status sl_column_bind_sizes(sl_column *column, sl_column_set *set, sl_part *rows,
                                   sluice_error *error)
{
    set_rows_part(column, set, rows);
    column->sizes_part = column->part_count;
    sl_part *sizes = sl_column_add_part(set, column, ".sizes", error);
    if (sizes == NULL) {
        return SLUICE_INVALID;
    }
    sizes->dtype = SLUICE_I32;
    sizes->dims = 1;
    sizes->shape[0] = 2;
    sizes->row_bytes = 2 * sizeof(int32_t);
    return is_ragged(column) ? add_offsets(column, set, error) : SLUICE_OK;
}

/* Rounds a side, up to the largest that a request may name. */
static uint32_t side_of(double side)
{
    return side < SIDE_MOST ? (uint32_t)side : SIDE_MOST;
}

/* Images that cannot fit in any space do not count: they will be bad samples. */
static void take_bounds(sl_column_request *request, const sl_bounds *bounds)
{
    for (uint64_t i = 0; i < bounds->count; i++) {
        const sl_bound *of = &bounds->of[i];
        if (of->least_width <= SIDE_MOST && of->least_height <= SIDE_MOST) {
            request->max_width = sl_max_u32(request->max_width, side_of(of->width));
            request->max_height = sl_max_u32(request->max_height, side_of(of->height));
        }
    }
}

static sluice_status refuse_any_size(const sl_column *column, const sl_step_kind *open,
                                     sluice_error *error)
{
    return sl_error_set(
        error, SLUICE_INVALID, "columns",
        "column \"%s\" needs " SL_OPTION(
            "max_width and max_height") ", the largest image of a "
                                        "batch: %s%s%s; space that images do not use takes no "
                                        "memory, so choose it generously",
        column->request.name,
        open != NULL ? "the result of the step "
                     : "the dataset does not say how large its images are",
        open != NULL ? open->name : "", open != NULL ? " has no bound" : "");
}

/* Returns false if images of any size get sizes from the recipe, or a step leaves them open. */
static bool depends_on_images(const sluice_augment *recipe)
{
    const sl_step_kind *open = NULL;
    sl_bounds bounds = {.is_any = true};
    bool depends = sl_recipe_largest(recipe, &bounds, &open, NULL) != SLUICE_OK ||
                   (bounds.is_any && open == NULL);
    for (uint64_t i = 0; i < bounds.count; i++) {
        const sl_bound *of = &bounds.of[i];
        depends = depends || of->width > of->least_width || of->height > of->least_height;
    }
    sl_bounds_close(&bounds);
    return depends;
}

sluice_status sl_column_settle_space(sl_column *column, const sl_column_set *set,
                                     sluice_error *error)
{
    sl_column_request *request = &column->request;
    sl_bounds bounds = {.is_any = set->image_sizes == NULL};
    const sl_step_kind *open = NULL;
    sluice_status status = SLUICE_OK;
    if (request->max_width > 0) {
        return SLUICE_OK;
    }
    if (set->image_sizes != NULL && depends_on_images(&request->recipe)) {
        status =
            set->image_sizes->find(set->image_sizes->ctx, column->field_number, &bounds, error);
    } else {
        bounds.is_any = true;
    }
    if (status == SLUICE_OK) {
        status = sl_recipe_largest(&request->recipe, &bounds, &open, error);
    }
    take_bounds(request, &bounds);
    sl_bounds_close(&bounds);
    return status == SLUICE_OK && request->max_width == 0 ? refuse_any_size(column, open, error)
                                                          : status;
}

/* Binds an image whose size is that of the batch's bucket. */
static void bind_pixels_of_bucket(sl_column *column, sl_column_set *set, sl_part *part)
{
    column->sized = true;
    part->role = SL_PART_SIZED;
    part->ragged = set->ragged_count++;
    part->shape[0] = part->shape[1] = 0;
    part->element_bytes = column->pixel_bytes;
}

sluice_status sl_column_bind_pixels(sl_column *column, sl_column_set *set, uint32_t channels,
                                    sluice_error *error)
{
    const sl_column *lead = &set->columns[column->lead];
    sl_column_request *request = &column->request;
    const bool varies = sl_column_varies(lead);
    const sluice_augment *recipe = &lead->request.recipe;
    if (sl_recipe_is_layered(recipe) && !sl_recipe_pastes(recipe)) {
        return sl_column_refuse(column, error,
                                "the recipe of its image blends two images (mixup_partner), but "
                                "two labels of a pixel cannot be blended; use instance masks");
    }
    if (column->members > 1 && request->may_miss) {
        return sl_column_refuse(
            column, error, "its image's recipe combines several samples: none of them may lack it");
    }
    column->made_bytes = (uint32_t)sl_dtype_bytes((sluice_dtype)request->dtype);
    column->pixel_bytes = channels * column->made_bytes;
    request->sizes = lead->request.sizes;
    request->max_width = lead->request.max_width;
    request->max_height = lead->request.max_height;
    request->dims = channels > 1 ? 3 : 2;
    request->shape[0] = lead->height;
    request->shape[1] = lead->width;
    request->shape[2] = channels;
    if ((varies || lead->sized) && set->ragged_count == SL_RAGGED_MAX) {
        return sl_column_refuse(column, error,
                                "a batch can have at most 16 ragged columns and columns of buckets "
                                "or of variable-size images");
    }
    sluice_status status =
        sl_column_capacity(column, request->shape, request->dims, &column->elements, error);
    if (status == SLUICE_OK) {
        status = sl_column_add_asked(set, column, error);
    }
    sl_part *part = &set->parts[column->first_part];
    if (status == SLUICE_OK && varies) {
        status = sl_column_bind_sizes(column, set, part, error);
    } else if (status == SLUICE_OK && lead->sized) {
        bind_pixels_of_bucket(column, set, part);
    }
    return status;
}

/* ---- each row ---- */

static int32_t *size_of(const sl_column *column, sl_part_view parts, uint32_t number)
{
    return sl_column_row(column, parts, column->sizes_part, number);
}

/* Returns the bytes of a row's pixels as made. */
static uint64_t made_bytes(const sl_column *column, const int32_t *size)
{
    return (uint64_t)size[0] * (uint64_t)size[1] * column->pixel_bytes;
}

sluice_status sl_column_note_size(const sl_column *column, sl_part_view parts, uint32_t number,
                                  const sl_params *params, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    const uint64_t pixels = (uint64_t)params->width * params->height;
    const bool fits =
        is_ragged(column)
            ? pixels <= (uint64_t)request->max_width * request->max_height
            : params->width <= request->max_width && params->height <= request->max_height;
    if (!fits) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "columns",
            "the image becomes %u x %u (width x height), but column \"%s\" has space for %u x "
            "%u%s: choose larger " SL_OPTION("max_width and max_height"),
            params->width, params->height, request->name, request->max_width, request->max_height,
            is_ragged(column) ? " pixels" : "");
    }
    size_of(column, parts, number)[0] = (int32_t)params->height;
    size_of(column, parts, number)[1] = (int32_t)params->width;
    return SLUICE_OK;
}

void sl_column_blank_size(const sl_column *column, sl_part_view parts, uint32_t number)
{
    memset(size_of(column, parts, number), 0, 2 * sizeof(int32_t));
}

void sl_column_fill_pixels(const sl_column *column, uint8_t *to, uint64_t bytes)
{
    static const uint8_t zero[8];
    const bool zeros = memcmp(column->fill, zero, sizeof(zero)) == 0;
    if (zeros || column->made_bytes == 1) {
        memset(to, zeros ? 0 : column->fill[0], bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes; i += column->made_bytes) {
        memcpy(to + i, column->fill, column->made_bytes);
    }
}

void sl_column_fill_row(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    const sl_part *part = &column->set->parts[column->first_part];
    uint64_t bytes = part->row_bytes;
    if (column->sized) {
        const sluice_size *size = &column->set->buckets[at->bucket];
        bytes = sl_sized_row(part, sl_sized(size->height, size->width));
    }
    sl_column_fill_pixels(column, sl_column_picture_row(column, parts, at), bytes);
}

void sl_column_blank_pixels(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    const uint32_t number = at->number;
    if (sl_column_varies(column)) { /* its image may be missing */
        const int32_t *size = size_of(&column->set->columns[column->lead], parts, number);
        memcpy(size_of(column, parts, number), size, 2 * sizeof(*size));
        sl_column_fill_pixels(column, sl_column_row(column, parts, 0, number),
                              made_bytes(column, size));
        return;
    }
    sl_column_fill_row(column, at, parts);
}

/* ---- when all are made ---- */

static void move_down(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    assert(to <= from);
    if (to != from && bytes > 0) {
        memmove(to, from, bytes);
    }
}

static void join_rows(const sl_column *column, uint32_t rows, sl_part_view parts, uint64_t *sizes)
{
    const sl_part *part = &column->set->parts[column->first_part];
    int64_t *offsets = sl_column_row(column, parts, column->sizes_part + 1, 0);
    uint8_t *to = parts[column->first_part];
    offsets[0] = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const uint64_t bytes = made_bytes(column, size_of(column, parts, i));
        move_down(to, sl_column_row(column, parts, 0, i), bytes);
        offsets[i + 1] = offsets[i] + (int64_t)(bytes / part->element_bytes);
        to += bytes;
    }
    sizes[part->ragged] = (uint64_t)offsets[rows];
}

/* Lines of one plane (or of all channels in one). */
typedef struct raster {
    uint64_t line, lines;
} raster;

/*
 * Spreads the planes of an image in place: from their own size to the batch's, filled right and
 * below. From the end on, so that nothing is overwritten before it was moved: a line's new place is
 * never before its old one.
 */
static void spread_out(const sl_column *column, uint8_t *at, raster own, raster whole)
{
    for (uint32_t p = planes_of(column); p-- > 0;) {
        uint8_t *to = at + p * whole.lines * whole.line;
        const uint8_t *from = at + p * own.lines * own.line;
        sl_column_fill_pixels(column, to + own.lines * whole.line,
                              (whole.lines - own.lines) * whole.line);
        for (uint64_t y = own.lines; y-- > 0;) {
            memmove(to + y * whole.line, from + y * own.line, own.line);
            sl_column_fill_pixels(column, to + y * whole.line + own.line, whole.line - own.line);
        }
    }
}

static void pad_rows(const sl_column *column, uint32_t rows, sl_part_view parts, uint64_t *sizes)
{
    const sl_part *part = &column->set->parts[column->first_part];
    const uint64_t pixel = column->pixel_bytes / planes_of(column);
    uint32_t height = 0;
    uint32_t width = 0;
    for (uint32_t i = 0; i < rows; i++) {
        height = sl_max_u32(height, (uint32_t)size_of(column, parts, i)[0]);
        width = sl_max_u32(width, (uint32_t)size_of(column, parts, i)[1]);
    }
    const uint64_t row_bytes = sl_sized_row(part, sl_sized(height, width));
    for (uint32_t i = 0; i < rows; i++) {
        const int32_t *size = size_of(column, parts, i);
        const raster own = {(uint64_t)size[1] * pixel, (uint64_t)size[0]};
        uint8_t *to = parts[column->first_part] + i * row_bytes;
        move_down(to, sl_column_row(column, parts, 0, i), made_bytes(column, size));
        if (own.lines != height || (uint32_t)size[1] != width) {
            spread_out(column, to, own, (raster){width * pixel, height});
        }
    }
    sizes[part->ragged] = sl_sized(height, width);
}

void sl_column_finish_sizes(const sl_column *column, uint32_t rows, sl_part_view parts,
                            uint64_t *sizes)
{
    switch (column->request.sizes) {
    case SLUICE_SIZES_PADDED:
        pad_rows(column, rows, parts, sizes);
        break;
    case SLUICE_SIZES_RAGGED:
        join_rows(column, rows, parts, sizes);
        break;
    case SLUICE_SIZES_ONE:
        break;
    }
}

uint8_t *sl_column_picture_row(const sl_column *column, sl_part_view parts, const sl_row_place *at)
{
    if (!column->sized) {
        return sl_column_row(column, parts, SL_IMAGE_ROWS, at->number);
    }
    const sluice_size *size = &column->set->buckets[at->bucket];
    const sl_part *part = &column->set->parts[column->first_part];
    return parts[column->first_part] +
           at->number * sl_sized_row(part, sl_sized(size->height, size->width));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of classes: a MASK of a text of shapes and a tensor of their classes. Shapes are drawn by
 * number to a plane of bytes, as many at a time as a byte can distinguish, crowds first; then the
 * plane's pixels get their elements. On the worker that makes the row; memory is its decoder's
 * scratch, which no image needs any more.
 */
#include "composition.h"
#include "dtype.h"
#include "elements.h"
#include "error.h"
#include "kinds.h"
#include "lengths.h"
#include "names.h"
#include "orientation.h"
#include "segmentation.h"
#include "sizes.h"

#include <math.h>
#include <string.h>

#define STAGE "columns"
/* No real image has as many; the row's work limits large ones. */
#define SHAPES_MAX 65536U

enum { AT_A_TIME = UINT8_MAX };
/* Pixels counted in the time of reading one. */
enum { COUNTED_A_UNIT = 8 };

/* ---- once ---- */

static sluice_status check_beside(const sl_column *column, sluice_error *error)
{
    if (column->labels.number == SL_FIELD_NONE) {
        return sl_column_refuse(
            column, error,
            "a mask of shapes needs the class of each shape (" SL_OPTION("labels") ")");
    }
    if (!sl_beside_is_ints(&column->labels)) {
        return sl_column_refuse(column, error, "labels must be a tensor [any] of ints");
    }
    return column->crowds.number == SL_FIELD_NONE || sl_beside_is_ints(&column->crowds)
               ? SLUICE_OK
               : sl_column_refuse(column, error, "crowds must be a tensor [any] of ints");
}

static sluice_status check_number(const sl_column *column, const char *name, double number,
                                  sluice_error *error)
{
    uint8_t element[8];
    const sluice_dtype dtype = (sluice_dtype)column->request.dtype;
    return isfinite(number) && sl_column_element(dtype, number, element)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, STAGE, "column \"%s\": %s %g does not fit %s",
                              column->request.name, name, number, sl_dtype_name(dtype));
}

static sluice_status check_map(sl_column *column, sluice_error *error)
{
    sl_column_request *request = &column->request;
    request->dtype = request->dtype == 0 ? SLUICE_U8 : request->dtype;
    if (request->channels > 1 || request->interpolation != SLUICE_COLUMN_NEAREST) {
        return sl_column_refuse(column, error,
                                "a mask of shapes must have one channel and no interpolation");
    }
    sluice_status status = check_beside(column, error);
    if (status == SLUICE_OK) {
        status = check_number(column, "fill", request->fill, error);
    }
    if (status == SLUICE_OK) {
        status = check_number(column, "background", request->background, error);
    }
    if (status == SLUICE_OK) {
        status = check_number(column, "ignore", request->ignore, error);
    }
    return status;
}

static sluice_status column_class_map_bind(sl_column *column, sl_column_set *set,
                                           sluice_error *error)
{
    sl_column_request *request = &column->request;
    sluice_status status = sl_column_follow(set, column, false, error);
    if (status == SLUICE_OK) {
        status = check_map(column, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    (void)sl_column_element((sluice_dtype)request->dtype, request->fill, column->fill);
    return sl_column_bind_pixels(column, set, 1, error);
}

/* ---- stored shapes ---- */

/* Shapes of a sample, in scratch. */
typedef struct class_shapes {
    sl_instances instances;
    const int64_t *labels; /* for each */
    const int64_t *crowds; /* NULL: there are none */
} class_shapes;

static sluice_status class_map_no_memory(const sl_column *column, sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the map of \"%s\"", column->request.name);
}

static sluice_status read_class_shapes(const sl_column *column, sl_row *row, class_shapes *shapes,
                                       sluice_error *error)
{
    const sl_turn turn = sl_column_turn(column, row);
    sl_instances *instances = &shapes->instances;
    sl_bytes text;
    sluice_status status = sl_row_bytes(row, column->field_number, &text, error);
    if (status == SLUICE_OK) {
        status = sl_segmentation_read(text, sl_decoder_scratch(row->decoder), &row->work, instances,
                                      error);
    }
    if (status == SLUICE_OK) {
        status = sl_instances_check(instances, turn.width, turn.height, error);
        sl_instances_turn(instances, &turn);
    }
    if (status == SLUICE_OK && instances->count > SHAPES_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "\"%s\" has too many shapes: %u, a map of classes holds at most %u",
                            column->field.name, instances->count, SHAPES_MAX);
    }
    if (status == SLUICE_OK) {
        status =
            sl_row_ints(row, &column->labels, instances->count, "shapes", &shapes->labels, error);
    }
    if (status == SLUICE_OK && column->crowds.number != SL_FIELD_NONE) {
        status =
            sl_row_ints(row, &column->crowds, instances->count, "shapes", &shapes->crowds, error);
    }
    return status;
}

/* ---- drawing ---- */

typedef struct class_map {
    const sl_column *column;
    sl_row *row;
    const sl_trail *trail;
    sl_scratch *scratch;
    sl_work *work; /* the row's */
    uint32_t width, height;
    bool keeps;                /* pixels outside the image belong to other members */
    const sl_box_list *pasted; /* only kept objects of this list are drawn; NULL: all */
    uint8_t *out;              /* elements, row by row */
    uint8_t *plane;            /* numbers of shapes since the last flush, from 1; 0: none */
    uint8_t *one;              /* one shape, to find overlaps */
    uint8_t *covered;          /* number of shapes over each pixel, at most 2 */
    uint32_t count;            /* number of shapes in the plane */
    uint8_t elements[AT_A_TIME + 1][8];
} class_map;

static void put_elements(const class_map *map, uint8_t *to, const uint8_t element[8],
                         uint32_t count)
{
    const size_t bytes = map->column->made_bytes;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + i * bytes, element, bytes);
    }
}

/* Draws the elements without any shape. */
static void draw_ground(const class_map *map)
{
    const sl_column_request *request = &map->column->request;
    const size_t bytes = map->column->made_bytes;
    uint8_t ground[8];
    (void)sl_column_element((sluice_dtype)request->dtype, request->background, ground);
    for (uint32_t y = 0; y < map->height; y++) {
        uint8_t *row = map->out + (size_t)y * map->width * bytes;
        uint32_t from;
        uint32_t to;
        sl_trail_row(map->trail, y + 0.5, map->width, &from, &to);
        put_elements(map, row + from * bytes, ground, to - from);
        if (!map->keeps) {
            put_elements(map, row, map->column->fill, from);
            put_elements(map, row + to * bytes, map->column->fill, map->width - to);
        }
    }
}

/* Gives pixels of a plane with `least` or more their elements, inside the image. */
static void draw_elements(const class_map *map, const uint8_t *plane, uint8_t (*elements)[8],
                          uint8_t least)
{
    const size_t bytes = map->column->made_bytes;
    for (uint32_t y = 0; y < map->height; y++) {
        const uint8_t *row = plane + (size_t)y * map->width;
        uint8_t *out = map->out + (size_t)y * map->width * bytes;
        uint32_t from;
        uint32_t to;
        sl_trail_row(map->trail, y + 0.5, map->width, &from, &to);
        for (uint32_t x = from; x < to; x++) {
            if (row[x] >= least) {
                memcpy(out + x * bytes, elements[row[x]], bytes);
            }
        }
    }
}

static void flush_plane(class_map *map)
{
    if (map->count > 0) {
        draw_elements(map, map->plane, map->elements, 1);
        memset(map->plane, 0, (size_t)map->width * map->height);
    }
    map->count = 0;
}

static sluice_status rasterise(const class_map *map, const sl_instances *instances, uint32_t number,
                               const sl_mask *mask, sluice_error *error)
{
    return sl_instances_rasterise(instances, number, map->trail->matrix, mask, map->scratch, error);
}

static sl_mask mask_of(const class_map *map, uint8_t *plane, uint8_t value)
{
    return (sl_mask){.pixels = plane,
                     .stride_bytes = map->width,
                     .width = map->width,
                     .height = map->height,
                     .value = value,
                     .work = map->work};
}

/* Counts the shapes over each pixel. `one` is empty before, and after. */
static sluice_status count_covered(const class_map *map, const sl_instances *instances,
                                   uint32_t number, sluice_error *error)
{
    sl_rect drawn = {0, 0, 0, 0};
    sl_mask mask = mask_of(map, map->one, 1);
    mask.drawn = &drawn;
    sluice_status status = rasterise(map, instances, number, &mask, error);
    if (status == SLUICE_OK) {
        status =
            sl_work_take(map->work, (uint64_t)drawn.width * drawn.height / COUNTED_A_UNIT, error);
    }
    for (uint32_t y = drawn.y; y < drawn.y + drawn.height && status == SLUICE_OK; y++) {
        uint8_t *one = map->one + (size_t)y * map->width + drawn.x;
        uint8_t *covered = map->covered + (size_t)y * map->width + drawn.x;
        for (uint32_t x = 0; x < drawn.width; x++) {
            const uint8_t sum = (uint8_t)(covered[x] + one[x]);
            covered[x] = sum > 2 ? 2 : sum;
            one[x] = 0;
        }
    }
    return status;
}

static sluice_status draw_class_shape(class_map *map, const sl_instances *instances,
                                      uint32_t number, double value, sluice_error *error)
{
    const sluice_dtype dtype = (sluice_dtype)map->column->request.dtype;
    if (map->count == AT_A_TIME) {
        flush_plane(map);
    }
    map->count++;
    const sl_mask mask = mask_of(map, map->plane, (uint8_t)map->count);
    return sl_column_element(dtype, value, map->elements[map->count])
               ? rasterise(map, instances, number, &mask, error)
               : sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                              "label %.17g of \"%s\" does not fit %s", value,
                              map->column->labels.field.name, sl_dtype_name(dtype));
}

/* Draws crowds, or all others. */
static sluice_status draw_class_shapes(class_map *map, const class_shapes *shapes, bool crowds,
                                       sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < shapes->instances.count && status == SLUICE_OK; i++) {
        const bool crowd = shapes->crowds != NULL && shapes->crowds[i] != 0;
        const sl_box_list *pasted = map->pasted;
        if (crowd != crowds || (pasted != NULL && (i >= pasted->count || pasted->kept[i] == 0))) {
            continue;
        }
        status = draw_class_shape(map, &shapes->instances, i,
                                  crowd ? map->column->request.ignore : (double)shapes->labels[i],
                                  error);
        if (status == SLUICE_OK && map->covered != NULL && !crowd) {
            status = count_covered(map, &shapes->instances, i, error);
        }
    }
    return status;
}

static sluice_status take_class_planes(class_map *map, sluice_error *error)
{
    const size_t pixels = (size_t)map->width * map->height;
    const bool looks = map->column->request.overlap == SLUICE_OVERLAP_IGNORE;
    map->plane = sl_scratch_take(map->scratch, pixels);
    map->one = looks ? sl_scratch_take(map->scratch, pixels) : NULL;
    map->covered = looks ? sl_scratch_take(map->scratch, pixels) : NULL;
    if (map->plane == NULL || (looks && (map->one == NULL || map->covered == NULL))) {
        return class_map_no_memory(map->column, error);
    }
    memset(map->plane, 0, pixels);
    if (looks) {
        memset(map->one, 0, pixels);
        memset(map->covered, 0, pixels);
    }
    return SLUICE_OK;
}

static sluice_status draw_map(class_map *map, const class_shapes *shapes, sluice_error *error)
{
    const sl_column_request *request = &map->column->request;
    sluice_status status = draw_class_shapes(map, shapes, true, error);
    if (status == SLUICE_OK) {
        status = draw_class_shapes(map, shapes, false, error);
    }
    flush_plane(map);
    if (status == SLUICE_OK && map->covered != NULL) {
        (void)sl_column_element((sluice_dtype)request->dtype, request->ignore, map->elements[2]);
        draw_elements(map, map->covered, map->elements, 2);
    }
    return status;
}

/* Draws the member in place: tiles cover no pixel of each other. */
// NOLINTNEXTLINE(readability-non-const-parameter): as sl_composer has it
static sluice_status draw_member_map(void *ctx, uint8_t *canvas, sluice_error *error)
{
    class_map *map = ctx;
    class_shapes shapes = {.instances = {.count = 0}};
    (void)canvas;
    sl_scratch_reset(map->scratch);
    sluice_status status = read_class_shapes(map->column, map->row, &shapes, error);
    if (status == SLUICE_OK) {
        status = take_class_planes(map, error);
    }
    if (status == SLUICE_OK && map->pasted != NULL) {
        status = sl_column_check_owned(map->column, map->pasted, shapes.instances.count, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (map->pasted == NULL) {
        draw_ground(map);
    }
    return map->trail->folded ? SLUICE_OK : draw_map(map, &shapes, error);
}

static const sl_composer class_map_composer = {.draw = draw_member_map};

static sluice_status column_class_map_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                           sluice_error *error)
{
    const sl_params *params = &row->draws[column->group].params;
    class_map map = {.column = column,
                     .row = row,
                     .trail = &params->trail,
                     .scratch = sl_decoder_scratch(row->decoder),
                     .work = &row->work,
                     .width = params->width,
                     .height = params->height,
                     .keeps = !sl_composition_is_first(column, row),
                     .pasted = sl_composition_objects(column, row),
                     .out = sl_column_picture_row(column, parts, &row->at)};
    const sluice_status status =
        sl_column_varies(column) ? sl_column_note_size(column, parts, row->at.number, params, error)
                                 : SLUICE_OK;
    return status == SLUICE_OK ? sl_composition_make(column, row, &class_map_composer, &map, error)
                               : status;
}

const sl_column_kind sl_column_class_map = {.name = "mask",
                                            .takes = SL_TAKES(TEXT),
                                            .composes = true,
                                            .by_matrix = true,
                                            .annotated = true,
                                            .bind = column_class_map_bind,
                                            .make = column_class_map_make,
                                            .blank = sl_column_blank_pixels,
                                            .finish = sl_column_finish_sizes};

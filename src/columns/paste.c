/* SPDX-License-Identifier: Apache-2.0 */
/* On the worker that makes the row. */
#include "paste.h"

#include "error.h"
#include "lengths.h"
#include "memory.h"

#include <math.h>
#include <string.h>

#define STAGE "columns"

/* Most distance of a shape's pixels from its box, which is rounded to them. */
enum { MARGIN = 1 };

/* ---- once ---- */

static bool is_of_lead(const sl_column *column, const sl_column *lead)
{
    return column != lead && column->group == lead->group;
}

static sluice_status check_follower(const sl_column *column, sluice_error *error)
{
    if (column->request.may_miss && !column->kind->boxes) {
        return sl_column_refuse(
            column, error, "its image's recipe pastes objects (copy_paste): no sample may lack it");
    }
    return column->kind->cover != NULL && column->owner == SL_COLUMN_NONE
               ? sl_column_refuse(
                     column, error,
                     "its image's recipe pastes objects (copy_paste): it must follow their boxes")
               : SLUICE_OK;
}

sluice_status sl_paste_bind(sl_column_set *set, sl_column *lead, sluice_error *error)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        const sluice_status status =
            is_of_lead(column, lead) ? check_follower(column, error) : SLUICE_OK;
        if (status != SLUICE_OK) {
            return status;
        }
        if (!is_of_lead(column, lead) || !column->kind->boxes) {
            continue;
        }
        if (lead->objects != SL_COLUMN_NONE) {
            return sl_column_refuse(column, error,
                                    "its image's recipe pastes objects (copy_paste) by one column "
                                    "of boxes, but there are two");
        }
        lead->objects = i;
    }
    if (lead->objects == SL_COLUMN_NONE ||
        set->columns[lead->objects].shapes.number == SL_FIELD_NONE) {
        return sl_column_refuse(lead, error,
                                "copy_paste uses the shapes of objects: add a column of boxes that "
                                "follows it, with " SL_OPTION("shapes"));
    }
    return SLUICE_OK;
}

static size_t output_pixels(const sl_column *lead)
{
    return (size_t)lead->request.recipe.width * lead->request.recipe.height;
}

static const sl_column *objects_of(const sl_column *lead)
{
    return &lead->set->columns[lead->objects];
}

uint64_t sl_paste_bytes(const sl_column *lead)
{
    return output_pixels(lead) + sl_recipe_layer(&lead->request.recipe);
}

sluice_status sl_paste_open(const sl_column *lead, sl_paste *paste, sluice_error *error)
{
    const uint64_t most = objects_of(lead)->request.length;
    paste->trails = sl_calloc(sl_recipe_tiles(&lead->request.recipe, 0), sizeof(*paste->trails));
    paste->over = sl_calloc(output_pixels(lead), 1);
    paste->over_layer = sl_calloc(sl_recipe_layer(&lead->request.recipe), 1);
    paste->picture_of = sl_calloc(most, 1);
    paste->fates = sl_calloc(most, 1);
    paste->gone = sl_calloc(most, 1);
    return paste->trails != NULL && paste->over != NULL && paste->over_layer != NULL &&
                   paste->picture_of != NULL && paste->fates != NULL && paste->gone != NULL
               ? SLUICE_OK
               : sl_no_memory(error, STAGE, "for pasted objects");
}

void sl_paste_close(sl_paste *paste)
{
    sl_shape_store_close(&paste->shapes);
    sl_free(paste->trails);
    sl_free(paste->over);
    sl_free(paste->over_layer);
    sl_free(paste->picture_of);
    sl_free(paste->fates);
    sl_free(paste->gone);
    *paste = (sl_paste){.any = false};
}

/* ---- each member ---- */

bool sl_paste_choice(const sl_group_draw *draw, sl_box_choice *choice)
{
    *choice = (sl_box_choice){.key = draw->params.paste_key,
                              .stream = draw->key.member,
                              .chance = draw->params.paste_chance};
    return draw->params.pastes && draw->params.layer > 0;
}

static sluice_status keep_own(const sl_group_draw *draw, const sl_box_list *list, sl_paste *paste,
                              sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    paste->trails[draw->key.member] = draw->params.trail;
    for (uint32_t i = 0; i < list->count && status == SLUICE_OK; i++) {
        if (list->kept[i] == 0) {
            continue;
        }
        paste->picture_of[paste->shapes.shape_count] = (uint8_t)draw->key.member;
        status = list->shapes != NULL ? sl_shape_store_add(&paste->shapes, list->shapes, i, error)
                                      : sl_shape_store_add_none(&paste->shapes, error);
    }
    return status;
}

/* Returns whether the geometry after the layers moves anything. */
static bool moves_behind(const sl_params *params)
{
    bool moves = false;
    for (uint32_t i = params->layer_operations; i < params->operation_count; i++) {
        const sl_operation_number number = params->operations[i].kind->number;
        moves = moves || number == SL_OPERATION_GEOMETRY || number == SL_OPERATION_PAD;
    }
    return moves;
}

/* Lines [first, end) of a plane that are not empty. */
typedef struct paste_lines {
    uint32_t first, end;
} paste_lines;

static uint32_t line_within(double y, uint32_t height)
{
    return !(y > 0) ? 0 : y < height ? (uint32_t)y : height;
}

/* Returns the lines with a margin. */
static paste_lines lines_of(double top, double bottom, uint32_t height)
{
    return (paste_lines){line_within(floor(top) - MARGIN, height),
                         line_within(ceil(bottom) + MARGIN, height)};
}

/* Of `count` pixels, 8 at most. */
enum { AT_A_TIME = sizeof(uint64_t) };
static uint64_t eight_of(const uint8_t *pixels, uint32_t count)
{
    uint64_t eight = 0;
    memcpy(&eight, pixels, count);
    return eight;
}

/* A plane of pixels, and the position of the current image in it. */
typedef struct paste_plane {
    uint8_t *pixels;
    uint32_t width, height;
    const sl_trail *trail;
} paste_plane;

static sl_mask empty_mask(const paste_plane *plane, uint8_t *pixels, const paste_lines *lines,
                          sl_work *work)
{
    memset(pixels + (size_t)lines->first * plane->width, 0,
           (size_t)(lines->end - lines->first) * plane->width);
    return (sl_mask){.pixels = pixels,
                     .stride_bytes = plane->width,
                     .width = plane->width,
                     .height = plane->height,
                     .value = 1,
                     .work = work};
}

/* Draws the kept objects by way of `drawn`, since other images' objects are in the plane
 * already. */
static sluice_status draw_pasted(const sl_box_list *list, const paste_plane *plane,
                                 const paste_lines *lines, uint8_t *drawn, sluice_error *error)
{
    const sl_mask mask = empty_mask(plane, drawn, lines, list->work);
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < list->count && status == SLUICE_OK; i++) {
        if (list->kept[i] != 0) {
            status = sl_instances_rasterise(list->shapes, i, plane->trail->matrix, &mask,
                                            list->scratch, error);
        }
    }
    for (uint32_t y = lines->first; y < lines->end; y++) {
        const size_t line = (size_t)y * plane->width;
        uint32_t from;
        uint32_t to;
        sl_trail_row(plane->trail, y + 0.5, plane->width, &from, &to);
        for (uint32_t x = from; x < to; x += AT_A_TIME) {
            const uint32_t count = to - x < AT_A_TIME ? to - x : AT_A_TIME;
            const uint64_t both =
                eight_of(plane->pixels + line + x, count) | eight_of(drawn + line + x, count);
            memcpy(plane->pixels + line + x, &both, count);
        }
    }
    return status;
}

/* Returns the lines of all the member's kept objects. */
static paste_lines lines_of_kept(const sl_box_list *list, uint32_t height)
{
    double top = INFINITY;
    double bottom = -INFINITY;
    for (uint32_t i = list->before; i < list->kept_count; i++) {
        top = fmin(top, list->whole[i][1]);
        bottom = fmax(bottom, list->whole[i][3]);
    }
    return lines_of(top, bottom, height);
}

static void widen_bounds(sl_paste *paste, const sl_box_list *list)
{
    for (uint32_t i = list->before; i < list->kept_count; i++) {
        for (size_t k = 0; k < 2; k++) {
            const double low = list->whole[i][k] - MARGIN;
            const double high = list->whole[i][k + 2] + MARGIN;
            paste->bounds[k] = paste->any ? fmin(paste->bounds[k], low) : low;
            paste->bounds[k + 2] = paste->any ? fmax(paste->bounds[k + 2], high) : high;
        }
        paste->any = true;
    }
}

static sluice_status draw_partner(const sl_column *lead, const sl_params *params,
                                  const sl_box_list *list, sl_paste *paste, sluice_error *error)
{
    const paste_plane output = {paste->over, params->width, params->height, &params->trail};
    const paste_plane layer = {paste->over_layer, params->layer_width, params->layer_height,
                               &params->layer_trail};
    const size_t pixels = output_pixels(lead);
    const size_t layer_pixels = (size_t)params->layer_width * params->layer_height;
    const size_t mark = sl_scratch_mark(list->scratch);
    uint8_t *drawn = sl_scratch_take(list->scratch, pixels > layer_pixels ? pixels : layer_pixels);
    if (drawn == NULL) {
        return sl_no_memory(error, STAGE, "for pasted objects");
    }
    if (!paste->any) {
        memset(paste->over, 0, pixels);
        paste->moves = moves_behind(params);
        if (paste->moves) {
            memset(paste->over_layer, 0, layer_pixels);
        }
    }
    widen_bounds(paste, list);
    const paste_lines lines = lines_of_kept(list, params->height);
    const paste_lines all = {0, params->layer_height};
    sluice_status status = draw_pasted(list, &output, &lines, drawn, error);
    if (status == SLUICE_OK && paste->moves) {
        status = draw_pasted(list, &layer, &all, drawn, error);
    }
    sl_scratch_release(list->scratch, mark);
    return status;
}

void sl_paste_begin(sl_paste *paste)
{
    sl_shape_store_clear(&paste->shapes);
    paste->any = false;
}

sluice_status sl_paste_member(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sl_group_draw *draw = &row->draws[lead->group];
    sl_paste *paste = &row->pastes[lead->group];
    const sl_box_list *list = &row->boxes[objects_of(lead)->box_list];
    if (draw->params.layer == 0) {
        return keep_own(draw, list, paste, error);
    }
    /* or there is no capacity for any: the column reports that */
    if (list->kept_count == list->before) {
        draw->missing = !list->overflows || objects_of(lead)->request.truncates;
        return SLUICE_OK;
    }
    return draw_partner(lead, &draw->params, list, paste, error);
}

const uint8_t *sl_paste_layer(const sl_paste *paste)
{
    return paste->moves ? paste->over_layer : paste->over;
}

/* ---- the end of a row ---- */

static bool comes_near(const double box[4], const double bounds[4])
{
    return box[0] < bounds[2] && box[1] < bounds[3] && box[2] > bounds[0] && box[3] > bounds[1];
}

/* Checks pixels [from, to) of a line, 1 or 0 each: whether some of the object's are covered, and
 * the range of the others. */
static bool find_left_in_line(const uint8_t *object, const uint8_t *over, uint32_t from,
                              uint32_t to, paste_lines *left)
{
    uint64_t covered = 0;
    uint32_t first = to;
    uint32_t end = from;
    for (uint32_t x = from; x < to; x += AT_A_TIME) {
        const uint32_t count = to - x < AT_A_TIME ? to - x : AT_A_TIME;
        const uint64_t own = eight_of(object + x, count);
        const uint64_t others = eight_of(over + x, count);
        covered |= own & others;
        if ((own & ~others) != 0) {
            first = first == to ? x : first;
            end = x + count;
        }
    }
    while (first < end && (object[first] & ~over[first]) == 0) {
        first++;
    }
    while (first < end && (object[end - 1] & ~over[end - 1]) == 0) {
        end--;
    }
    *left = (paste_lines){first, end};
    return covered != 0;
}

/* Finds the rest of an object that is drawn to `lines`: the box of its pixels. Returns whether any
 * is covered. */
static bool find_left(const sl_paste *paste, const paste_plane *plane, const paste_lines *lines,
                      double left[4])
{
    bool covered = false;
    left[0] = left[1] = INFINITY;
    left[2] = left[3] = -INFINITY;
    for (uint32_t y = lines->first; y < lines->end; y++) {
        const size_t line = (size_t)y * plane->width;
        paste_lines some;
        uint32_t from;
        uint32_t to;
        sl_trail_row(plane->trail, y + 0.5, plane->width, &from, &to);
        if (from >= to) {
            continue;
        }
        covered |= find_left_in_line(plane->pixels + line, paste->over + line, from, to, &some);
        if (some.first < some.end) {
            left[0] = fmin(left[0], some.first);
            left[1] = fmin(left[1], y);
            left[2] = fmax(left[2], some.end);
            left[3] = y + 1.0;
        }
    }
    return covered;
}

static sluice_status judge_object(const sl_column *lead, sl_row *row, const sl_instances *shapes,
                                  uint32_t number, const paste_plane *plane, sluice_error *error)
{
    sl_paste *paste = &row->pastes[lead->group];
    const sl_column *objects = objects_of(lead);
    sl_box_list *list = &row->boxes[objects->box_list];
    const double *whole = list->whole[number];
    const paste_lines lines = lines_of(whole[1], whole[3], plane->height);
    const sl_mask mask = empty_mask(plane, plane->pixels, &lines, &row->work);
    const uint64_t pixels = (uint64_t)plane->width * (lines.end - lines.first);
    double left[4];
    sluice_status status = sl_work_take(&row->work, pixels / AT_A_TIME, error);
    if (status == SLUICE_OK) {
        status = sl_instances_rasterise(shapes, number, plane->trail->matrix, &mask,
                                        sl_decoder_scratch(row->decoder), error);
    }
    if (status == SLUICE_OK && find_left(paste, plane, &lines, left)) {
        const bool kept = sl_boxes_cut(list, &objects->request.boxes, number, left);
        paste->fates[number] = kept ? SL_OBJECT_CUT : SL_OBJECT_GONE;
        paste->gone[number] = !kept;
    }
    return status;
}

static sluice_status judge_own(const sl_column *lead, sl_row *row, sluice_error *error)
{
    const sl_params *params = &row->draws[lead->group].params;
    sl_paste *paste = &row->pastes[lead->group];
    const sl_box_list *list = &row->boxes[objects_of(lead)->box_list];
    const sl_instances shapes = sl_shape_store_all(&paste->shapes);
    paste_plane plane = {.width = params->width, .height = params->height};
    plane.pixels = sl_scratch_take(sl_decoder_scratch(row->decoder), output_pixels(lead));
    if (plane.pixels == NULL) {
        return sl_no_memory(error, STAGE, "for pasted objects");
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < shapes.count && status == SLUICE_OK; i++) {
        paste->fates[i] = SL_OBJECT_WHOLE;
        paste->gone[i] = 0;
        if (comes_near(list->whole[i], paste->bounds)) {
            plane.trail = &paste->trails[paste->picture_of[i]];
            status = judge_object(lead, row, &shapes, i, &plane, error);
        }
    }
    return status;
}

/* Drops values of a row that belong to removed objects. */
static void drop_values(const sl_column *column, const sl_paste *paste, uint32_t number,
                        sl_part_view parts)
{
    const size_t step = column->elements * column->made_bytes;
    uint8_t *values = sl_column_row(column, parts, 0, number);
    const uint64_t count = sl_column_length(column, parts, number);
    uint64_t to = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i < paste->shapes.shape_count && paste->gone[i] != 0) {
            continue;
        }
        if (to != i) {
            memcpy(values + to * step, values + i * step, step);
        }
        to++;
    }
    if (to != count) {
        sl_column_set_length(column, parts, number, column->request.padded, to);
    }
}

sluice_status sl_paste_end(const sl_column *lead, sl_row *row, sl_part_view parts,
                           sluice_error *error)
{
    const sl_paste *paste = &row->pastes[lead->group];
    const sl_column *objects = objects_of(lead);
    if (!paste->any) {
        return SLUICE_OK;
    }
    sl_scratch_reset(sl_decoder_scratch(row->decoder));
    const sluice_status status = judge_own(lead, row, error);
    if (status != SLUICE_OK) {
        return status;
    }
    for (uint32_t i = 0; i < lead->set->count; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (column->owner != lead->objects) {
            continue;
        }
        if (column->kind->cover != NULL) {
            column->kind->cover(column, row, parts, paste);
        }
        drop_values(column, paste, row->at.number, parts);
    }
    sl_boxes_drop(&row->boxes[objects->box_list], paste->gone, (uint32_t)paste->shapes.shape_count);
    return objects->kind->make(objects, row, parts, error);
}

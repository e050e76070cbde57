/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_picture: finds the columns that share an image, joins their rectangles, and makes them. On
 * a worker, in its decoder's scratch, which each rectangle restores.
 */
#include "shared_picture.h"

#include "clock.h"
#include "column_image.h"
#include "group_draw.h"
#include "minmax.h"
#include "orientation.h"

void sl_shared_bind(sl_column_set *set)
{
    uint64_t seen = 0; /* fields */
    for (uint32_t i = 0; i < set->count; i++) {
        sl_column *first = &set->columns[i];
        const uint64_t field = UINT64_C(1) << first->field_number;
        if (!sl_column_is_image(first) || first->members > 1 || first->member > 0 ||
            (seen & field) != 0) {
            continue;
        }
        seen |= field;
        for (uint32_t k = i + 1; k < set->count; k++) {
            const sl_column *other = &set->columns[k];
            if (sl_column_is_image(other) && other->members == 1 && other->member == 0 &&
                other->field_number == first->field_number) {
                first->views |= UINT64_C(1) << i | UINT64_C(1) << k;
            }
        }
    }
}

/* Columns of one decode. */
typedef struct shared_part {
    sl_rect need;
    uint32_t denominator;
    uint64_t columns; /* bits; 0: joined with another */
    uint64_t work;
} shared_part;

typedef struct shared_plan {
    uint32_t count;
    shared_part parts[SL_COLUMNS_MAX];
} shared_plan;

static sl_rect union_of(const sl_rect *a, const sl_rect *b)
{
    const uint32_t x = sl_min_u32(a->x, b->x);
    const uint32_t y = sl_min_u32(a->y, b->y);
    const uint32_t right = sl_max_u32(a->x + a->width, b->x + b->width);
    const uint32_t bottom = sl_max_u32(a->y + a->height, b->y + b->height);
    return (sl_rect){x, y, right - x, bottom - y};
}

/* Joins two parts if one decode for both costs less; `a` is the result. */
static bool join(const sl_decoder *decoder, shared_part *a, shared_part *b)
{
    if (a->columns == 0 || b->columns == 0 || a->denominator != b->denominator) {
        return false;
    }
    const sl_rect both = union_of(&a->need, &b->need);
    const uint64_t work = sl_decoder_work(decoder, both, a->denominator);
    if (work > a->work + b->work) {
        return false;
    }
    *a = (shared_part){both, a->denominator, a->columns | b->columns, work};
    b->columns = 0;
    return true;
}

/* Joins `part` with all others that pay; it has grown then, and may take more. */
static bool join_any(const sl_decoder *decoder, shared_plan *plan, shared_part *part)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        if (&plan->parts[i] != part && join(decoder, part, &plan->parts[i])) {
            return true;
        }
    }
    return false;
}

/* Draws each column, in order, as it would be alone. */
static void plan_parts(const sl_column *first, uint64_t columns, sl_row *row,
                       const sl_picture *picture, shared_plan *plan)
{
    plan->count = 0;
    for (uint64_t left = columns; left != 0; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        const sl_column *column = &first->set->columns[number];
        const sl_params *params = &row->draws[column->group].params;
        uint32_t width;
        uint32_t height;
        if (sl_group_plan(column, row, picture, NULL) != SLUICE_OK) {
            continue;
        }
        sl_column_image_least(row, params, &width, &height);
        shared_part *part = &plan->parts[plan->count++];
        *part = (shared_part){.need = params->need, .columns = UINT64_C(1) << number};
        part->denominator = sl_decoder_denominator(row->decoder, part->need, width, height);
        part->work = sl_decoder_work(row->decoder, part->need, part->denominator);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        while (join_any(row->decoder, plan, &plan->parts[i])) {
        }
    }
}

static void add_decode_time(sl_row *row)
{
    row->decode_ns += row->timed ? sl_now_ns() - row->opened_ns : 0;
}

/* Makes a part. Returns the columns that were made. */
static uint64_t make_part(const sl_column_set *set, const shared_part *part, sl_row *row,
                          sl_part_view parts)
{
    sl_image view;
    uint64_t made = 0;
    const sluice_status status =
        sl_decoder_decode_scaled(row->decoder, part->need, part->denominator, &view, NULL);
    add_decode_time(row);
    for (uint64_t left = status == SLUICE_OK ? part->columns : 0; left != 0; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        if (sl_column_image_finish(&set->columns[number], row, parts, &view, NULL) == SLUICE_OK) {
            made |= UINT64_C(1) << number;
        }
    }
    row->opened_ns = row->timed ? sl_now_ns() : 0;
    return made;
}

/* Reads the boxes that their draws use, before the image is opened. Returns the sharing columns
 * that succeeded. */
static uint64_t read_sharing_groups(const sl_column *first, sl_row *row)
{
    uint64_t read = 0;
    for (uint64_t left = first->views; left != 0; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        if (sl_group_read(&first->set->columns[number], row, NULL) == SLUICE_OK) {
            read |= UINT64_C(1) << number;
        }
    }
    return read;
}

/* Orients the image, which is the same for all of them. Returns the columns that can use it. */
static uint64_t orient_groups(const sl_column *first, uint64_t columns, sl_row *row,
                              sl_picture *picture)
{
    for (uint64_t left = columns; left != 0; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        const sl_column *column = &first->set->columns[number];
        if (column->orients && sl_group_orient(column, row, picture, NULL) != SLUICE_OK) {
            columns &= ~(UINT64_C(1) << number);
        }
    }
    return columns;
}

uint64_t sl_shared_make(const sl_column *first, sl_row *row, sl_part_view parts)
{
    const sl_value *value = &row->values.of[first->field_number];
    sl_picture picture;
    shared_plan plan;
    uint64_t made = 0;
    uint64_t columns = value->present ? read_sharing_groups(first, row) : 0;
    row->opened_ns = row->timed ? sl_now_ns() : 0;
    if (columns == 0 || sl_decoder_open_picture(row->decoder, value, &picture, NULL) < 0) {
        return 0;
    }
    columns = orient_groups(first, columns, row, &picture);
    plan_parts(first, columns, row, &picture, &plan);
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    const size_t mark = sl_scratch_mark(scratch);
    for (uint32_t i = 0; i < plan.count; i++) {
        if (plan.parts[i].columns != 0) {
            made |= make_part(first->set, &plan.parts[i], row, parts);
            sl_scratch_release(scratch, mark);
        }
    }
    return made;
}

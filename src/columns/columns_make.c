/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: the work for each row regardless of its columns' kinds: order, blank rows, facts, and the
 * end of a batch when all its rows are made. Workers, each row by one of them, over a set that no
 * longer changes.
 */
#include "columns.h"

#include "clock.h"
#include "error.h"
#include "facts.h"
#include "lengths.h"
#include "memory.h"
#include "shared_picture.h"
#include "sizes.h"

#include <string.h>

static void blank_column(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    const uint32_t number = at->number;
    if (column->kind->blank != NULL) {
        column->kind->blank(column, at, parts);
        return;
    }
    for (uint32_t i = 0; i < column->part_count; i++) {
        memset(sl_column_row(column, parts, i, number), 0,
               column->set->parts[column->first_part + i].row_bytes);
    }
}

void sl_columns_wish(const sl_column_set *set, sl_row *row, sl_part_view parts)
{
    if (set->copied == SL_COLUMN_NONE) {
        row->values.copy.to = NULL;
        return;
    }
    const sl_column *column = &set->columns[set->copied];
    row->values.copy = (sl_copy_wish){.field = column->field_number,
                                      .to = sl_column_row(column, parts, 0, row->at.number),
                                      .bytes = (size_t)set->parts[column->first_part].row_bytes};
}

/* Returns whether the image that it follows is missing, as it may: then nothing can follow it. */
static bool lacks_lead(const sl_column *column, const sl_row *row)
{
    return column->lead != SL_COLUMN_NONE &&
           !row->values.of[column->set->columns[column->lead].field_number].present;
}

/* Values that a sample lacks would leave no gap between those of the row's other samples: the next
 * sample's values would follow its boxes. */
static sluice_status check_lacking(const sl_column *column, const sl_row *row, sluice_error *error)
{
    const bool follows_boxes = column->members > 1 && column->owner != SL_COLUMN_NONE;
    if (!follows_boxes ||
        (sl_composition_is_first(column, row) && sl_composition_is_last(column, row))) {
        return SLUICE_OK;
    }
    const uint64_t boxes =
        sl_composition_lacks(column, row) ? 0 : sl_column_owner(column, row)->stored;
    if (boxes == 0) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_CORRUPT, "columns",
                        "the sample has %llu boxes, but no \"%s\", in a row of several samples",
                        (unsigned long long)boxes, column->field.name);
}

static sluice_status make_column(const sl_column *column, sl_row *row, sl_part_view parts,
                                 sluice_error *error)
{
    const sl_value *value = &row->values.of[column->field_number];
    if (value->present && !lacks_lead(column, row)) {
        sluice_status status = column->leads ? sl_group_make(column, row, error) : SLUICE_OK;
        if (status == SLUICE_OK && (column->kind->composes || !sl_composition_lacks(column, row))) {
            status = column->kind->make(column, row, parts, error);
        }
        return sl_row_blame(row, column->field_number, status);
    }
    if (column->request.may_miss || lacks_lead(column, row)) {
        if (row->member == column->member) {
            blank_column(column, &row->at, parts);
        }
        row->absent |= column->mixer != NULL ? UINT64_C(1) << column->mixer->number : 0;
        return sl_row_blame(row, SL_FIELD_NONE, check_lacking(column, row, error));
    }
    return sl_row_blame(row, SL_FIELD_NONE,
                        sl_error_set(error, SLUICE_CORRUPT, "columns", "the sample has no \"%s\"",
                                     column->field.name));
}

/* Reports the finished row. The later of two partners to finish mixes both rows. */
static void meet(const sl_column_set *set, sl_row *row, sl_part_view parts)
{
    const uint64_t start = sl_now_ns();
    sl_meeting_tell(set, &row->at, row->absent, parts);
    row->profile.ns[SL_OPERATION_MIXING] += sl_now_ns() - start;
}

static void begin_attempts(const sl_column_set *set, sl_row *row)
{
    for (uint32_t i = 0; set->redraws && i < set->groups && row->attempt == 0; i++) {
        row->draws[i].attempt = 0;
    }
}

static void forget_blame(sl_row *row)
{
    row->blame = NULL;
    row->blames = false;
}

sluice_status sl_columns_make(const sl_column_set *set, sl_row *row, sl_part_view parts,
                              sluice_error *error)
{
    uint64_t made = 0;
    forget_blame(row);
    if (row->member == 0) {
        row->absent = 0;
        begin_attempts(set, row);
        if (set->members > 1) {
            sl_composition_begin(set, row);
        }
        row->work = (sl_work){.left = SL_WORK_LEAST, .stop = sl_decoder_stop(row->decoder)};
    }
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[set->order[i]];
        if (set->members > 1 && !sl_composition_wants(column, row)) {
            continue;
        }
        if (column->views != 0 && !set->apart) {
            made |= sl_shared_make(column, row, parts);
            forget_blame(row); /* errors there are ignored: the column is made again */
        }
        if ((made >> set->order[i] & 1) != 0) {
            continue;
        }
        const sluice_status status = make_column(column, row, parts, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return row->pastes != NULL ? sl_composition_end(set, row, parts, error) : SLUICE_OK;
}

void sl_columns_end(const sl_column_set *set, sl_row *row, sl_part_view parts)
{
    sl_facts_write(set, &row->at, !row->at.again, parts);
    if (set->mixers > 0) {
        meet(set, row, parts);
    }
}

void sl_columns_blank(const sl_column_set *set, const sl_row_place *at, sl_part_view parts)
{
    for (uint32_t i = 0; i < set->count; i++) {
        blank_column(&set->columns[i], at, parts);
    }
    sl_facts_write(set, at, false, parts);
    if (at->meeting != NULL) {
        sl_meeting_tell(set, at, UINT64_MAX, parts);
    }
}

void sl_columns_finish(const sl_column_set *set, uint32_t rows, uint32_t bucket, sl_part_view parts,
                       uint64_t sizes[SL_RAGGED_MAX])
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->columns[i].sized) {
            const sluice_size *size = &set->buckets[bucket];
            sizes[set->parts[set->columns[i].first_part].ragged] =
                sl_sized(size->height, size->width);
        }
        if (set->columns[i].kind->finish != NULL) {
            set->columns[i].kind->finish(&set->columns[i], rows, parts, sizes);
        }
    }
}

sluice_status sl_row_open(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    row->columns = set;
    row->boxes = set->box_lists > 0 ? sl_calloc(set->box_lists, sizeof(*row->boxes)) : NULL;
    if (set->box_lists > 0 && row->boxes == NULL) {
        return sl_no_memory(error, "columns", "for rows");
    }
    sluice_status status = sl_composition_open(set, row, error);
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (column->kind->boxes) {
            status = sl_boxes_open(&row->boxes[column->box_list], column->request.length, error);
        }
    }
    if (status != SLUICE_OK) {
        sl_row_close(set, row);
    }
    return status;
}

void sl_row_close(const sl_column_set *set, sl_row *row)
{
    for (uint32_t i = 0; row->boxes != NULL && i < set->box_lists; i++) {
        sl_boxes_close(&row->boxes[i]);
    }
    sl_composition_close(set, row);
    sl_free(row->boxes);
    row->boxes = NULL;
}

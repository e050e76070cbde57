/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: what is done for each whatever the kinds of its columns: their order, blank ones, facts,
 * and what a batch still needs when all its rows are made. Workers, each row by one of
 * them, over a set that no longer changes.
 */
#include "columns.h"

#include "clock.h"
#include "error.h"
#include "facts.h"
#include "kinds.h"
#include "lengths.h"
#include "memory.h"
#include "paste.h"
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

/* Whether the picture that it follows is missing, as it may: then nothing can follow it. */
static bool lacks_lead(const sl_column *column, const sl_row *row)
{
    return column->lead != SL_COLUMN_NONE &&
           !row->values.of[column->set->columns[column->lead].field_number].present;
}

/* Whether it is made of the member at hand; of what was drawn there is one. */
static bool is_of_member(const sl_column *column, const sl_row *row)
{
    const sl_column *lead =
        column->lead != SL_COLUMN_NONE ? &column->set->columns[column->lead] : column;
    return column->kind == &sl_column_geometry ? row->member == column->member
                                               : sl_group_has_member(lead, row);
}

/* A partner that is no part of the picture after all has nothing that follows it; but a mask, as a
 * picture, has an end with the last of them. */
static bool is_absent(const sl_column *column, const sl_row *row)
{
    return column->several && !column->leads && column->kind != &sl_column_mask &&
           row->draws[column->group].params.absent;
}

/* Values that a sample lacks have no place between those of the other samples of a row: the next
 * sample's values would follow its boxes. */
static sluice_status check_lacking(const sl_column *column, const sl_row *row, sluice_error *error)
{
    const bool follows_boxes = column->several && column->owner != SL_COLUMN_NONE;
    if (!follows_boxes || (row->member == column->member && sl_group_is_last(column, row))) {
        return SLUICE_OK;
    }
    const uint64_t boxes = is_absent(column, row) ? 0 : sl_column_owner(column, row)->stored;
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
    row->blame = value;
    if (value->present && !lacks_lead(column, row)) {
        sluice_status status = column->leads ? sl_group_make(column, row, error) : SLUICE_OK;
        if (status == SLUICE_OK && !is_absent(column, row)) {
            status = column->kind->make(column, row, parts, error);
        }
        return status;
    }
    row->blame = NULL;
    if (column->request.may_miss || lacks_lead(column, row)) {
        if (row->member == column->member) {
            blank_column(column, &row->at, parts);
        }
        row->absent |= column->mixes ? UINT64_C(1) << column->mixer : 0;
        return check_lacking(column, row, error);
    }
    return sl_error_set(error, SLUICE_CORRUPT, "columns", "the sample has no \"%s\"",
                        column->field.name);
}

/* The row is made: its partner may be, too. Taken of every row: of two it is the later one that
 * mixes both. */
static void meet(const sl_column_set *set, sl_row *row, sl_part_view parts)
{
    const uint64_t start = sl_now_ns();
    sl_meeting_tell(set, &row->at, row->absent, parts);
    row->profile.ns[SL_OPERATION_MIXING] += sl_now_ns() - start;
}

/* Of groups that had their last member. */
static sluice_status end_pastes(const sl_column_set *set, sl_row *row, sl_part_view parts,
                                sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->count && row->pastes != NULL && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (column->pastes && sl_group_is_last(column, row)) {
            status = sl_paste_end(column, row, parts, error);
        }
    }
    return status;
}

static void begin_attempts(const sl_column_set *set, sl_row *row)
{
    for (uint32_t i = 0; set->redraws && i < set->groups && row->attempt == 0; i++) {
        row->draws[i].attempt = 0;
    }
}

sluice_status sl_columns_make(const sl_column_set *set, sl_row *row, sl_part_view parts,
                              sluice_error *error)
{
    uint64_t made = 0;
    if (row->member == 0) {
        row->absent = 0;
        begin_attempts(set, row);
        row->work = (sl_work){.left = SL_WORK_LEAST, .stop = sl_decoder_stop(row->decoder)};
    }
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[set->order[i]];
        if (set->members > 1 && !is_of_member(column, row)) {
            continue;
        }
        if (column->views != 0 && !set->apart) {
            made |= sl_shared_make(column, row, parts);
        }
        if ((made >> set->order[i] & 1) != 0) {
            continue;
        }
        const sluice_status status = make_column(column, row, parts, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return end_pastes(set, row, parts, error);
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

static sluice_status open_pastes(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (!column->pastes) {
            continue;
        }
        if (row->pastes == NULL) {
            row->pastes = sl_calloc(set->groups, sizeof(*row->pastes));
        }
        status = row->pastes != NULL ? sl_paste_open(column, &row->pastes[column->group], error)
                                     : sl_no_memory(error, "columns", "for rows");
    }
    return status;
}

sluice_status sl_row_open(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    row->columns = set;
    row->boxes = set->box_lists > 0 ? sl_calloc(set->box_lists, sizeof(*row->boxes)) : NULL;
    if (set->box_lists > 0 && row->boxes == NULL) {
        return sl_no_memory(error, "columns", "for rows");
    }
    sluice_status status = sl_canvases_open(set, row, error);
    if (status == SLUICE_OK) {
        status = open_pastes(set, row, error);
    }
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (column->kind == &sl_column_boxes) {
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
    sl_canvases_close(set, row);
    for (uint32_t i = 0; row->pastes != NULL && i < set->groups; i++) {
        sl_paste_close(&row->pastes[i]);
    }
    sl_free(row->pastes);
    sl_free(row->boxes);
    row->pastes = NULL;
    row->boxes = NULL;
}

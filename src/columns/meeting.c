/* SPDX-License-Identifier: Apache-2.0 */
/* One byte per pair or row records which sides are ready; workers set its bits with atomic OR. */
#include "meeting.h"

#include "conversion.h"
#include "mix_rows.h"
#include "row.h"

#include <assert.h>
#include <string.h>

/* Bits of one side; the other's are two further up. */
enum { HERE = 1, ABSENT = 2, SIDE_BITS = 2 };

void sl_meeting_begin(sl_meeting *meeting, const sl_mixing_batch *batch, uint32_t mixers)
{
    meeting->batch = *batch;
    for (uint32_t mixer = 0; mixer < mixers; mixer++) {
        for (uint32_t row = 0; row < batch->rows; row++) {
            /* Relaxed: rows are handed to workers under a lock. */
            atomic_store_explicit(&meeting->met[(size_t)mixer * meeting->capacity + row], 0,
                                  memory_order_relaxed);
        }
    }
}

/* ---- values of a row ---- */

void sl_meeting_note(const sl_column *column, sl_part_view parts, uint32_t row,
                     const sl_mixing_row *how)
{
    const int64_t partner = how->partner;
    memcpy(sl_column_row(column, parts, SL_IMAGE_MIXED_WITH, row), &partner, sizeof(partner));
    memcpy(sl_column_row(column, parts, SL_IMAGE_WEIGHT, row), &how->weight, sizeof(how->weight));
    if (column->mixer->later) {
        const sl_conversion_mixing device = {.partner = how->partner,
                                             .weight = how->weight,
                                             .left = how->left,
                                             .top = how->top,
                                             .right = how->right,
                                             .bottom = how->bottom};
        memcpy(sl_column_row(column, parts, SL_IMAGE_MIXING, row), &device, sizeof(device));
    }
}

static void write_labels(const sl_column *column, sl_part_view parts, uint32_t row,
                         const sl_mixing_row *how)
{
    const sl_column_set *set = column->set;
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->columns[i].follows == (uint32_t)(column - set->columns)) {
            set->columns[i].kind->mix(&set->columns[i], parts, row, how);
        }
    }
}

/* ---- a pair ---- */

typedef struct guest {
    uint32_t row;
    bool absent;
    bool leaves; /* a row, now */
} guest;

static sl_mix_side meeting_side_of(const sl_column *column, sl_part_view parts, const guest *g,
                                   const sl_mixing_row *how)
{
    sl_mix_side side = {.how = *how};
    if (!g->absent) {
        side.samples = sl_column_left(column, parts, g->row);
        side.row = g->leaves ? sl_column_row(column, parts, SL_IMAGE_ROWS, g->row) : NULL;
    }
    return side;
}

/* Mixes when both are ready; or the one without a partner, twice. */
static void meeting_settle(const sl_column *column, const sl_meeting *meeting, sl_part_view parts,
                           const guest guests[2])
{
    const bool mixes = guests[0].row != guests[1].row && !guests[0].absent && !guests[1].absent;
    sl_mixing_batch batch = meeting->batch;
    sl_mix_side sides[2];
    batch.group = column->group;
    for (int i = 0; i < 2; i++) {
        const guest *g = &guests[i];
        const sl_mixing_row how = mixes && g->leaves
                                      ? sl_mixing_draw(&column->mixer->mixing, &batch, g->row)
                                      : sl_mixing_none(g->row);
        if (g->leaves) {
            sl_meeting_note(column, parts, g->row, &how);
            write_labels(column, parts, g->row, &how);
        }
        if (!column->mixer->later) {
            sides[i] = meeting_side_of(column, parts, g, &how);
        }
    }
    if (column->mixer->later) {
        return;
    }
    if (guests[0].row == guests[1].row) {
        sides[1] = (sl_mix_side){.samples = NULL};
    }
    sl_mix_rows(column->mixer->converter, &sides[0], &sides[1]);
}

/* Records at `unit` that its side `side` is ready. Returns whether both are. */
static bool arrive(const sl_column *column, sl_meeting *meeting, uint32_t unit, uint32_t side,
                   guest guests[2])
{
    _Atomic uint8_t *met = &meeting->met[(size_t)column->mixer->number * meeting->capacity + unit];
    const uint32_t own = HERE | (guests[side].absent ? ABSENT : 0U);
    /* Releases the writes to the row; acquires those to the other, if that is ready. */
    const uint32_t before =
        atomic_fetch_or_explicit(met, (uint8_t)(own << (SIDE_BITS * side)), memory_order_acq_rel);
    const uint32_t other = before >> (SIDE_BITS * (1 - side));
    assert((before >> (SIDE_BITS * side) & HERE) == 0);
    guests[1 - side].absent = (other & ABSENT) != 0;
    return (other & HERE) != 0;
}

static void tell_pair(const sl_column *column, sl_meeting *meeting, sl_part_view parts, guest own)
{
    const uint32_t partner =
        sl_mixing_partner_of(&column->mixer->mixing, meeting->batch.rows, own.row);
    const uint32_t side = own.row > partner;
    guest guests[2] = {{.row = partner, .leaves = true}, {.row = partner, .leaves = true}};
    own.leaves = true;
    guests[side] = own;
    if (arrive(column, meeting, side == 0 ? own.row : partner, side, guests)) {
        meeting_settle(column, meeting, parts, guests);
    }
}

/* Reports row `row`: its sides are that and its partner. */
static void tell_row(const sl_column *column, sl_meeting *meeting, sl_part_view parts, uint32_t row,
                     const guest *own)
{
    const uint32_t partner = sl_mixing_partner_of(&column->mixer->mixing, meeting->batch.rows, row);
    guest guests[2] = {{.row = row}, {.row = partner}};
    const uint32_t side = own->row == row ? 0 : 1;
    guests[side].absent = own->absent;
    guests[0].leaves = true;
    if (arrive(column, meeting, row, side, guests)) {
        meeting_settle(column, meeting, parts, guests);
    }
}

static void tell_column(const sl_column *column, sl_meeting *meeting, sl_part_view parts,
                        const guest *own)
{
    const uint32_t rows = meeting->batch.rows;
    const uint32_t partner = sl_mixing_partner_of(&column->mixer->mixing, rows, own->row);
    if (partner == own->row) {
        const guest alone = {.row = own->row, .absent = own->absent, .leaves = true};
        meeting_settle(column, meeting, parts, (guest[2]){alone, alone});
    } else if (column->mixer->mixing.partner == SL_PARTNER_REVERSED) {
        tell_pair(column, meeting, parts, *own);
    } else {
        tell_row(column, meeting, parts, own->row, own);
        tell_row(column, meeting, parts, sl_mixing_user_of(&column->mixer->mixing, rows, own->row),
                 own);
    }
}

void sl_meeting_tell(const sl_column_set *set, const sl_row_place *place, uint64_t absent,
                     sl_part_view parts)
{
    for (uint32_t i = 0; i < set->count && set->mixers > 0; i++) {
        const sl_column *column = &set->columns[i];
        if (column->mixer != NULL) {
            const guest own = {.row = place->number,
                               .absent = (absent >> column->mixer->number & 1) != 0};
            tell_column(column, place->meeting, parts, &own);
        }
    }
}

uint8_t *sl_column_left(const sl_column *column, sl_part_view parts, uint32_t row)
{
    if (column->part_count > SL_IMAGE_KEPT) {
        return sl_column_row(column, parts, SL_IMAGE_KEPT, row);
    }
    const size_t bytes = column->set->parts[column->first_part].row_bytes;
    return (uint8_t *)sl_column_row(column, parts, SL_IMAGE_ROWS, row) + bytes -
           column->mixer->left_bytes;
}

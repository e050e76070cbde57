/* SPDX-License-Identifier: Apache-2.0 */
/* Binds a group once, then decides for each image. */
#include "orientation.h"

#include "error.h"

#include <assert.h>

/* ---- once ---- */

static sluice_orientation decoded_as(const sl_column_set *set, const sl_column *lead)
{
    switch (set->exif) {
    case SLUICE_EXIF_APPLY:
        return SLUICE_ORIENTATION_UPRIGHT;
    case SLUICE_EXIF_IGNORE:
        return SLUICE_ORIENTATION_STORED;
    default:
        return lead->field.meaning.orientation;
    }
}

static bool goes_by_own_size(const sl_column *column)
{
    return column->kind->own_size && column->request.orientation == SLUICE_ORIENTATION_AUTO &&
           column->field.meaning.orientation == SLUICE_ORIENTATION_BY_SIZE;
}

/* Returns the orientation of annotations: the request's, the field's, the image's; for a mask that
 * is an image or a tensor its own size's. */
static sluice_orientation annotated_as(const sl_column *column, const sl_column *lead)
{
    const sluice_orientation own = column->field.meaning.orientation;
    if (column->request.orientation != SLUICE_ORIENTATION_AUTO) {
        return column->request.orientation;
    }
    if (column->kind->own_size) {
        return own == SLUICE_ORIENTATION_BY_SIZE ? SLUICE_ORIENTATION_AUTO : own;
    }
    return own != SLUICE_ORIENTATION_AUTO ? own : lead->field.meaning.orientation;
}

static void want_sizes(sl_column_set *set, const sl_column *lead)
{
    const uint64_t fields = UINT64_C(1) << lead->width_field | UINT64_C(1) << lead->height_field;
    set->wanted |= fields;
    for (uint32_t i = lead->member; i < lead->member + lead->members; i++) {
        set->wanted_of[i] |= fields;
    }
}

static bool is_led_by(const sl_column *column, const sl_column *lead)
{
    return column != lead && column->group == lead->group &&
           (column->kind->annotated || column->kind->own_size);
}

/* Without annotated sizes everything is as decoded, which is as stored. */
static void go_without_sizes(sl_column_set *set, sl_column *lead)
{
    sl_notices_add(
        set->notices,
        "the annotated width and height of \"%s\" decide its orientation, and the dataset "
        "has no fields of them; images are decoded as stored unless " SL_OPTION(
            "exif") " says apply",
        lead->field.name);
    if (lead->orientation == SLUICE_ORIENTATION_BY_SIZE) {
        lead->orientation = SLUICE_ORIENTATION_STORED;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        if (is_led_by(&set->columns[i], lead) &&
            set->columns[i].orientation == SLUICE_ORIENTATION_BY_SIZE) {
            set->columns[i].orientation = SLUICE_ORIENTATION_AUTO;
        }
    }
    lead->dependent = false;
}

static void bind_lead(sl_column_set *set, const sl_columns_config *config, sl_column *lead)
{
    lead->orientation = decoded_as(set, lead);
    lead->orients = lead->orientation != SLUICE_ORIENTATION_AUTO;
    for (uint32_t i = 0; i < set->count; i++) {
        sl_column *column = &set->columns[i];
        if (is_led_by(column, lead)) {
            lead->orients = true;
            column->orientation = annotated_as(column, lead);
            column->by_own_size = goes_by_own_size(column);
            lead->dependent |= column->orientation == SLUICE_ORIENTATION_BY_SIZE;
            lead->by_own_size |= column->by_own_size;
        }
    }
    if (lead->orientation != SLUICE_ORIENTATION_BY_SIZE && !lead->dependent) {
        return;
    }
    lead->width_field =
        sl_field_of_role(config->fields, config->field_count, lead->field.name, SLUICE_ROLE_WIDTH);
    lead->height_field =
        sl_field_of_role(config->fields, config->field_count, lead->field.name, SLUICE_ROLE_HEIGHT);
    lead->by_size = lead->width_field != SL_FIELD_NONE && lead->height_field != SL_FIELD_NONE;
    if (lead->by_size) {
        want_sizes(set, lead);
    } else {
        go_without_sizes(set, lead);
    }
}

void sl_orientation_bind(sl_column_set *set, const sl_columns_config *config)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->columns[i].leads) {
            bind_lead(set, config, &set->columns[i]);
        }
    }
}

/* ---- each image ---- */

static sl_picture size_when(const sl_turn *stored, bool upright)
{
    return upright && stored->orientation >= 5 ? (sl_picture){stored->height, stored->width}
                                               : (sl_picture){stored->width, stored->height};
}

/* Refuses an image whose annotations might be in either orientation. */
static sluice_status refuse_ambiguous(const sl_column *lead, const sl_turn *stored, const char *why,
                                      sluice_error *error)
{
    const sl_column_set *set = lead->set;
    const sl_column *column = lead;
    for (uint32_t i = 0; i < set->count; i++) {
        if (is_led_by(&set->columns[i], lead) &&
            set->columns[i].orientation == SLUICE_ORIENTATION_BY_SIZE) {
            column = &set->columns[i];
            break;
        }
    }
    return sl_error_set(
        error, SLUICE_CORRUPT, "columns",
        "\"%s\" is %u x %u and has the EXIF orientation %u, and %s which way up it was annotated: "
        "give column \"%s\", and other columns with its coordinates, " SL_OPTION(
            "orientation") " upright or stored",
        lead->field.name, stored->width, stored->height, stored->orientation, why,
        column->request.name);
}

/* Checks masks that have one size in either orientation. Masks that the sample lacks do not
 * matter. */
static sluice_status check_own_sizes(const sl_column *lead, const sl_row *row,
                                     const sl_turn *stored, sluice_error *error)
{
    const sl_column_set *set = lead->set;
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        if (is_led_by(column, lead) && column->by_own_size &&
            row->values.of[column->field_number].present) {
            return sl_error_set(
                error, SLUICE_CORRUPT, "columns",
                "\"%s\" is %u x %u and has the EXIF orientation %u, and the size of \"%s\" does "
                "not show which way up it was drawn: give column \"%s\" " SL_OPTION(
                    "orientation") " upright or stored",
                lead->field.name, stored->width, stored->height, stored->orientation,
                column->field.name, column->request.name);
        }
    }
    return SLUICE_OK;
}

static bool is_side(const sl_value *value)
{
    return value->present && value->integer > 0;
}

static sluice_status find_annotated(const sl_column *lead, const sl_row *row, sl_image_frame *frame,
                                    sluice_error *error)
{
    const sl_value *width = &row->values.of[lead->width_field];
    const sl_value *height = &row->values.of[lead->height_field];
    const sl_turn *stored = &frame->stored;
    if (!is_side(width) || !is_side(height)) {
        return lead->dependent && !sl_turn_is_none(stored)
                   ? refuse_ambiguous(lead, stored, "no annotated size shows", error)
                   : SLUICE_OK;
    }
    const sluice_orientation found = sl_turn_by_size(stored, width->integer, height->integer);
    if (found == SLUICE_ORIENTATION_BY_SIZE) {
        return sl_turn_refuse(stored, (const int64_t[2]){width->integer, height->integer}, error);
    }
    if (found == SLUICE_ORIENTATION_AUTO) {
        return lead->dependent
                   ? refuse_ambiguous(lead, stored, "its annotated size does not show", error)
                   : SLUICE_OK;
    }
    frame->annotated = found;
    return SLUICE_OK;
}

sluice_status sl_group_orient(const sl_column *lead, sl_row *row, sl_picture *picture,
                              sluice_error *error)
{
    assert(lead->orients);
    sl_image_frame *frame = &row->draws[lead->group].frame;
    *frame = (sl_image_frame){.stored = sl_decoder_stored(row->decoder),
                              .annotated = SLUICE_ORIENTATION_STORED};
    frame->upright = !sl_turn_is_none(&frame->stored) && sl_decoder_is_upright(row->decoder);
    sluice_status status = lead->by_size ? find_annotated(lead, row, frame, error) : SLUICE_OK;
    if (status == SLUICE_OK && lead->by_own_size && sl_turn_keeps_size(&frame->stored)) {
        status = check_own_sizes(lead, row, &frame->stored, error);
    }
    if (status != SLUICE_OK || sl_turn_is_none(&frame->stored) ||
        lead->orientation == SLUICE_ORIENTATION_AUTO) {
        return status;
    }
    const bool upright = lead->orientation == SLUICE_ORIENTATION_BY_SIZE
                             ? frame->annotated == SLUICE_ORIENTATION_UPRIGHT
                             : lead->orientation == SLUICE_ORIENTATION_UPRIGHT;
    if (upright != frame->upright) {
        sl_decoder_turn(row->decoder, upright, picture);
        frame->upright = upright;
    }
    return SLUICE_OK;
}

/* ---- columns that follow it ---- */

/* Returns the turn from that orientation of the image to the decoded one. */
static sl_turn turn_from(const sl_image_frame *frame, bool upright)
{
    const sl_picture size = size_when(&frame->stored, upright);
    const uint32_t turned =
        upright ? sl_turn_inverse(frame->stored.orientation) : frame->stored.orientation;
    return (sl_turn){upright == frame->upright ? 1 : turned, size.width, size.height};
}

sl_turn sl_column_turn(const sl_column *column, const sl_row *row)
{
    const sl_image_frame *frame = &row->draws[column->group].frame;
    const sluice_orientation orientation =
        column->orientation == SLUICE_ORIENTATION_BY_SIZE ? frame->annotated : column->orientation;
    if (sl_turn_is_none(&frame->stored) || orientation == SLUICE_ORIENTATION_AUTO) {
        return turn_from(frame, frame->upright);
    }
    return turn_from(frame, orientation == SLUICE_ORIENTATION_UPRIGHT);
}

bool sl_column_turn_mask(const sl_column *column, const sl_row *row, uint64_t width,
                         uint64_t height, sl_turn *turn)
{
    const sl_image_frame *frame = &row->draws[column->group].frame;
    *turn = sl_column_turn(column, row);
    if (width == turn->width && height == turn->height) {
        return true;
    }
    if (column->orientation != SLUICE_ORIENTATION_AUTO) {
        return false;
    }
    *turn = turn_from(frame, !frame->upright);
    return !sl_turn_is_none(turn) && width == turn->width && height == turn->height;
}

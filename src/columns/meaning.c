/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes a column's request by the meaning of its field (sl_meaning): formats and units of boxes
 * and points, and the boxes that something belongs to. The opener's thread.
 */
#include "meaning.h"

#include "error.h"

#include <string.h>

static const char *const coordinate_words[] = {"auto", "fractions of the image size", "pixels",
                                               "pixel indices"};
static const char *const orientation_words[] = {"auto", "stored", "upright", "by size"};

static void note_contradiction(const sl_column_set *set, const sl_column *column,
                               const char *option, const char *asked, const char *known)
{
    sl_notices_add(set->notices,
                   "column \"%s\": %s says %s, but the dataset says %s for \"%s\"; the loader "
                   "follows %s: leave it out to follow the dataset",
                   column->request.name, option, asked, known, column->field.name, option);
}

/* ---- boxes and points ---- */

/* Boxes of unknown format in a dataset are not guessed; other fields of four numbers have a
 * documented default. */
static sluice_status take_box_format(const sl_column_set *set, sl_column *column,
                                     sluice_error *error)
{
    sl_box_rule *rule = &column->request.boxes;
    const sluice_box_format known = column->field.meaning.box_format;
    if (rule->format != SLUICE_BOX_AUTO && known != SLUICE_BOX_AUTO && rule->format != known) {
        note_contradiction(set, column, SL_OPTION("box_format"), sl_box_format_word(rule->format),
                           sl_box_format_word(known));
    }
    if (rule->format == SLUICE_BOX_AUTO && known == SLUICE_BOX_AUTO &&
        column->field.meaning.role == SLUICE_ROLE_BOXES) {
        return sl_column_refuse(column, error,
                                "the dataset has boxes there and does not say in which format: "
                                "write " SL_OPTION("box_format") " xywh (left, top, width, height: "
                                                                 "COCO), xyxy (corners) or cxcywh");
    }
    if (rule->format == SLUICE_BOX_AUTO) {
        rule->format = known != SLUICE_BOX_AUTO ? known : SLUICE_BOX_XYXY;
    }
    if (rule->out_format == SLUICE_BOX_AUTO) {
        rule->out_format = SLUICE_BOX_XYXY;
    }
    return SLUICE_OK;
}

static sluice_status take_coordinates(const sl_column_set *set, sl_column *column,
                                      sluice_error *error)
{
    sl_column_request *request = &column->request;
    const sluice_coordinates known = column->field.meaning.coordinates;
    if (request->coordinates != SLUICE_COORDINATES_AUTO && known != SLUICE_COORDINATES_AUTO &&
        request->coordinates != known) {
        note_contradiction(set, column, SL_OPTION("relative"),
                           coordinate_words[request->coordinates], coordinate_words[known]);
    }
    if (request->coordinates == SLUICE_COORDINATES_AUTO) {
        request->coordinates = known != SLUICE_COORDINATES_AUTO ? known : SLUICE_COORDINATES_PIXELS;
    }
    request->boxes.relative = request->coordinates == SLUICE_COORDINATES_RELATIVE;
    if (column->kind->boxes && request->coordinates == SLUICE_COORDINATES_INDICES) {
        return sl_column_refuse(
            column, error, "boxes must be in fractions or continuous pixels, not in pixel indices");
    }
    return SLUICE_OK;
}

/* BY_SIZE leaves the decision to the sample: only an argument can decide when the size does not. */
static void check_orientation(const sl_column_set *set, const sl_column *column)
{
    const sluice_orientation asked = column->request.orientation;
    const sluice_orientation known = column->field.meaning.orientation;
    const bool certain = known == SLUICE_ORIENTATION_STORED || known == SLUICE_ORIENTATION_UPRIGHT;
    if (asked != SLUICE_ORIENTATION_AUTO && certain && asked != known) {
        note_contradiction(set, column, SL_OPTION("orientation"), orientation_words[asked],
                           orientation_words[known]);
    }
}

/* ---- what belongs to boxes ---- */

/* Returns whether the field has an element for each box, and the column one for each of those. */
static bool can_belong(const sl_column *column)
{
    const sl_column_kind *kind = column->kind;
    const bool elements = column->field.type == SLUICE_FIELD_TENSOR || kind->objects;
    return kind->per_box && elements && column->field.meaning.per_box;
}

static bool is_boxes_of(const sl_column *boxes, const sl_column *column)
{
    const char *of = column->field.meaning.of;
    return boxes->kind->boxes && boxes->member == column->request.partner &&
           (of[0] == '\0' || strcmp(boxes->field.name, of) == 0);
}

/* Returns whether boxes are requested after the column. */
static bool boxes_come_later(const sl_columns_config *config, const sl_column_set *set,
                             const sl_column *column)
{
    const char *of = column->field.meaning.of;
    for (uint32_t i = set->count + 1; config->asked != NULL && i < config->asked->count; i++) {
        const sl_column_request *request = &config->asked->requests[i];
        if (request->kind == SLUICE_COLUMN_BOXES && column->request.partner == 0 &&
            (of[0] == '\0' || strcmp(request->field, of) == 0)) {
            return true;
        }
    }
    return false;
}

/* Makes it follow the column of its field's boxes, unless a column to follow was given, or there is
 * none. */
static sluice_status follow_boxes(sl_column_set *set, const sl_columns_config *config,
                                  sl_column *column, sluice_error *error)
{
    uint32_t found = SL_COLUMN_NONE;
    if (column->request.follows[0] != '\0' || !can_belong(column)) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        if (!is_boxes_of(&set->columns[i], column)) {
            continue;
        }
        if (found != SL_COLUMN_NONE) {
            return sl_column_refuse(
                column, error,
                "it has an element for each box, but there are several columns of boxes: choose "
                "the one it follows (" SL_OPTION("follows") ")");
        }
        found = i;
    }
    if (found == SL_COLUMN_NONE) {
        return boxes_come_later(config, set, column)
                   ? sl_column_refuse(column, error,
                                      "it has an element for each box: put the column of boxes "
                                      "before it")
                   : SLUICE_OK;
    }
    memcpy(column->request.follows, set->columns[found].request.name,
           sizeof(column->request.follows));
    column->request.partner = 0; /* like the boxes, which are of that partner */
    return SLUICE_OK;
}

sluice_status sl_column_take_meaning(sl_column_set *set, const sl_columns_config *config,
                                     sl_column *column, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (column->kind->boxes) {
        status = take_box_format(set, column, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (column->kind->places) {
        status = take_coordinates(set, column, error);
    }
    check_orientation(set, column);
    return status == SLUICE_OK ? follow_boxes(set, config, column, error) : status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that reads a draw's tiles, layers and missing members. */
#include "composition.h"

#include "apply.h"
#include "error.h"
#include "memory.h"
#include "paste.h"

#define STAGE "columns"

/* ---- once ---- */

static bool composition_pastes(const sl_column *column)
{
    return column->leads && column->objects != SL_COLUMN_NONE;
}

sluice_status sl_composition_bind(sl_column_set *set, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        sl_column *column = &set->columns[i];
        if (column->leads && sl_recipe_pastes(&column->request.recipe)) {
            status = sl_paste_bind(set, column, error);
        }
    }
    return status;
}

uint32_t sl_columns_members(const sl_column_set *set, uint64_t epoch)
{
    uint32_t members = 1;
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        const bool leads = column->leads && column->members > 1;
        const uint32_t end =
            column->member + (leads ? sl_recipe_members(&column->request.recipe, epoch) : 1);
        members = end > members ? end : members;
    }
    return members;
}

/* ---- memory ---- */

static uint64_t canvas_bytes(const sl_column *column)
{
    const sluice_augment *recipe = &sl_column_lead_of(column)->request.recipe;
    const bool tiled = column->members > 1 && sl_recipe_tiles(recipe, 0) > 1;
    return tiled ? (uint64_t)column->canvas_passes * 3 * sl_recipe_canvas(recipe) : 0;
}

static uint64_t layer_bytes(const sl_column *column)
{
    return column->leads ? 3 * sl_recipe_layer(&column->request.recipe) : 0;
}

static uint64_t composition_canvas_bytes(const sl_column_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        bytes += canvas_bytes(&set->columns[i]) + layer_bytes(&set->columns[i]);
    }
    return bytes;
}

uint64_t sl_composition_bytes(const sl_column_set *set)
{
    uint64_t bytes = composition_canvas_bytes(set);
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        bytes += composition_pastes(column) ? sl_paste_bytes(column) : 0;
    }
    return bytes;
}

static uint8_t *canvas_of(uint8_t **pixels, size_t *had, size_t bytes, sluice_error *error)
{
    if (*had < bytes) { /* on first use; later only after a step without a fixed size */
        sl_free(*pixels);
        *pixels = sl_calloc(bytes, 1);
        *had = *pixels != NULL ? bytes : 0;
    }
    if (*pixels == NULL) {
        (void)sl_no_memory(error, STAGE, "for a canvas of several pictures");
    }
    return *pixels;
}

static uint8_t *tiles_of(const sl_column *column, sl_row *row, size_t bytes, sluice_error *error)
{
    sl_canvas *canvas = &row->canvases[column - column->set->columns];
    return canvas_of(&canvas->tiles, &canvas->tiles_bytes, bytes, error);
}

static uint8_t *layer_of(const sl_column *column, sl_row *row, size_t bytes, sluice_error *error)
{
    sl_canvas *canvas = &row->canvases[column - column->set->columns];
    return canvas_of(&canvas->layer, &canvas->layer_bytes, bytes, error);
}

static sluice_status open_canvases(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    if (composition_canvas_bytes(set) == 0 && set->members == 1) {
        return SLUICE_OK;
    }
    row->canvases = sl_calloc(set->count, sizeof(*row->canvases));
    if (row->canvases == NULL) {
        return sl_no_memory(error, STAGE, "for rows");
    }
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        const uint64_t bytes = canvas_bytes(column);
        const uint64_t layer = layer_bytes(column);
        if ((bytes > 0 && tiles_of(column, row, bytes, error) == NULL) ||
            (layer > 0 && layer_of(column, row, layer, error) == NULL)) {
            return SLUICE_NOMEM;
        }
    }
    return SLUICE_OK;
}

static sluice_status open_paste(const sl_column *lead, sl_row *row, sluice_error *error)
{
    if (row->pastes == NULL) {
        row->pastes = sl_calloc(lead->set->groups, sizeof(*row->pastes));
    }
    return row->pastes != NULL ? sl_paste_open(lead, &row->pastes[lead->group], error)
                               : sl_no_memory(error, STAGE, "for rows");
}

sluice_status sl_composition_open(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    sluice_status status = open_canvases(set, row, error);
    for (uint32_t i = 0; i < set->groups; i++) {
        row->draws[i].members = row->draws[i].tiles = 1;
    }
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (composition_pastes(column)) {
            status = open_paste(column, row, error);
        }
    }
    return status;
}

void sl_composition_close(const sl_column_set *set, sl_row *row)
{
    for (uint32_t i = 0; row->canvases != NULL && i < set->count; i++) {
        sl_free(row->canvases[i].tiles);
        sl_free(row->canvases[i].layer);
    }
    for (uint32_t i = 0; row->pastes != NULL && i < set->groups; i++) {
        sl_paste_close(&row->pastes[i]);
    }
    sl_free(row->canvases);
    sl_free(row->pastes);
    row->canvases = NULL;
    row->pastes = NULL;
}

/* ---- each row ---- */

void sl_composition_begin(const sl_column_set *set, sl_row *row)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        if (!column->leads) {
            continue;
        }
        sl_group_draw *draw = &row->draws[column->group];
        const sluice_augment *recipe = &column->request.recipe;
        draw->members = column->members > 1 ? sl_recipe_members(recipe, row->epoch) : 1;
        draw->tiles = column->members > 1 ? sl_recipe_tiles(recipe, row->epoch) : 1;
    }
}

/* Returns its number among the members of its group. */
static uint32_t member_number(const sl_column *column, const sl_row *row)
{
    return row->member - column->member;
}

void sl_composition_place(const sl_column *lead, sl_row *row)
{
    sl_group_draw *draw = &row->draws[lead->group];
    draw->key.member = member_number(lead, row) % draw->tiles;
    draw->key.layer = member_number(lead, row) / draw->tiles;
}

sluice_status sl_composition_member(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sl_group_draw *draw = &row->draws[lead->group];
    draw->missing = draw->params.absent;
    if (!composition_pastes(lead)) {
        return SLUICE_OK;
    }
    if (sl_composition_is_first(lead, row)) {
        sl_paste_begin(&row->pastes[lead->group]);
    }
    return draw->params.pastes && !draw->missing ? sl_paste_member(lead, row, error) : SLUICE_OK;
}

sluice_status sl_composition_end(const sl_column_set *set, sl_row *row, sl_part_view parts,
                                 sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (composition_pastes(column) && sl_composition_is_last(column, row)) {
            status = sl_row_blame(row, set->columns[column->objects].field_number,
                                  sl_paste_end(column, row, parts, error));
        }
    }
    return status;
}

/* ---- each column ---- */

bool sl_composition_wants(const sl_column *column, const sl_row *row)
{
    if (column->kind->packs) {
        return true;
    }
    if (column->group == SL_GROUP_NONE || column->kind->of_first) {
        return row->member == column->member;
    }
    return row->member >= column->member &&
           member_number(column, row) < row->draws[column->group].members;
}

bool sl_composition_lacks(const sl_column *column, const sl_row *row)
{
    return column->members > 1 && row->draws[column->group].missing;
}

bool sl_composition_is_first(const sl_column *column, const sl_row *row)
{
    return row->member == column->member;
}

bool sl_composition_is_last(const sl_column *column, const sl_row *row)
{
    return member_number(column, row) + 1 == row->draws[column->group].members;
}

const sl_box_list *sl_composition_objects(const sl_column *column, const sl_row *row)
{
    const sl_params *params = &row->draws[column->group].params;
    const sl_column *lead = sl_column_lead_of(column);
    return params->pastes && params->layer > 0
               ? &row->boxes[column->set->columns[lead->objects].box_list]
               : NULL;
}

/* Returns whether anything of the member's layer is visible. */
static bool layer_counts(const sl_column *column, const sl_row *row)
{
    const sl_params *params = &row->draws[column->group].params;
    return params->layer == 0 ||
           (params->pastes ? row->pastes[column->group].any : params->share < 1);
}

/* Finds the canvas in which the column's layers meet; NULL: there is one layer, or the column joins
 * them in its row. */
static sluice_status find_meeting(const sl_column *column, sl_row *row, uint8_t **pixels,
                                  sluice_error *error)
{
    const sl_params *params = &row->draws[column->group].params;
    *pixels = NULL;
    if (!params->layered || !column->leads) {
        return SLUICE_OK;
    }
    *pixels = layer_of(column, row, sl_layer_bytes(params), error);
    return *pixels != NULL ? SLUICE_OK : SLUICE_NOMEM;
}

/* Joins a layer whose members were all drawn. */
static sluice_status join_layer(const sl_column *column, const sl_row *row,
                                const sl_composer *composer, void *ctx, sl_layer_join *joint,
                                sluice_error *error)
{
    if (composer->join == NULL || !layer_counts(column, row)) {
        return SLUICE_OK;
    }
    if (sl_composition_objects(column, row) != NULL) {
        const sl_paste *paste = &row->pastes[column->group];
        joint->over = paste->over;
        joint->over_layer = sl_paste_layer(paste);
    }
    return composer->join(ctx, joint, error);
}

static sluice_status draw_member(const sl_column *column, sl_row *row, const sl_composer *composer,
                                 void *ctx, uint8_t **canvas, sluice_error *error)
{
    const sl_group_draw *draw = &row->draws[column->group];
    *canvas = NULL;
    if (draw->params.geometries[0].warp.keeps && composer->canvas_bytes != NULL) {
        *canvas = tiles_of(column, row, composer->canvas_bytes(ctx), error);
        if (*canvas == NULL) {
            return SLUICE_NOMEM;
        }
        if (member_number(column, row) % draw->tiles == 0) {
            composer->begin(ctx, *canvas);
        }
    }
    return draw->missing ? SLUICE_OK : composer->draw(ctx, *canvas, error);
}

sluice_status sl_composition_make(const sl_column *column, sl_row *row, const sl_composer *composer,
                                  void *ctx, sluice_error *error)
{
    const sl_group_draw *draw = &row->draws[column->group];
    sl_layer_join joint = {.tiles = NULL};
    if (column->members == 1) {
        const sluice_status drawn = composer->draw(ctx, NULL, error);
        return drawn == SLUICE_OK && composer->finish != NULL ? composer->finish(ctx, NULL, error)
                                                              : drawn;
    }
    sluice_status status = draw_member(column, row, composer, ctx, &joint.tiles, error);
    if (status == SLUICE_OK && (member_number(column, row) + 1) % draw->tiles == 0) {
        status = find_meeting(column, row, &joint.pixels, error);
        if (status == SLUICE_OK) {
            status = join_layer(column, row, composer, ctx, &joint, error);
        }
    }
    if (status != SLUICE_OK || composer->finish == NULL || !sl_composition_is_last(column, row)) {
        return status;
    }
    return composer->finish(ctx, joint.pixels != NULL ? joint.pixels : joint.tiles, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* On the worker that makes the row; canvases are its own. */
#include "composition.h"

#include "error.h"
#include "kinds.h"
#include "labels.h"
#include "memory.h"
#include "paste.h"

static uint32_t group_members(const sl_column *lead, const sl_row *row)
{
    return lead->several ? sl_recipe_members(&lead->request.recipe, row->epoch) : 1;
}

bool sl_group_has_member(const sl_column *lead, const sl_row *row)
{
    return row->member >= lead->member && row->member - lead->member < group_members(lead, row);
}

bool sl_group_is_last(const sl_column *column, const sl_row *row)
{
    const sl_column *lead = column->leads ? column : &column->set->columns[column->lead];
    return row->member - lead->member + 1 == group_members(lead, row);
}

uint32_t sl_group_tile(const sl_column *lead, const sl_row *row, uint32_t *tiles)
{
    *tiles = lead->several ? sl_recipe_tiles(&lead->request.recipe, row->epoch) : 1;
    return (row->member - lead->member) % *tiles;
}

const sl_box_list *sl_group_pasted(const sl_column *column, const sl_row *row)
{
    const sl_params *params = &row->draws[column->group].params;
    const sl_column *lead = column->leads ? column : &column->set->columns[column->lead];
    return params->pastes && params->layer > 0
               ? &row->boxes[column->set->columns[lead->objects].box_list]
               : NULL;
}

static uint8_t *canvas_of(uint8_t **pixels, size_t *had, size_t bytes, sluice_error *error)
{
    if (*had < bytes) { /* at first; then only behind a step of no size of its own */
        sl_free(*pixels);
        *pixels = sl_calloc(bytes, 1);
        *had = *pixels != NULL ? bytes : 0;
    }
    if (*pixels == NULL) {
        (void)sl_no_memory(error, "columns", "for a canvas of several pictures");
    }
    return *pixels;
}

uint8_t *sl_row_canvas(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error)
{
    sl_canvas *canvas = &row->canvases[column - column->set->columns];
    return canvas_of(&canvas->pixels, &canvas->bytes, bytes, error);
}

uint8_t *sl_row_layer(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error)
{
    sl_canvas *canvas = &row->canvases[column - column->set->columns];
    return canvas_of(&canvas->layer, &canvas->layer_bytes, bytes, error);
}

/* Of a picture or a mask of several tiles, else 0. */
static uint64_t canvas_bytes(const sl_column *column)
{
    const sl_column *lead =
        column->lead != SL_COLUMN_NONE ? &column->set->columns[column->lead] : column;
    if (!column->several || sl_recipe_tiles(&lead->request.recipe, 0) == 1 ||
        (column->kind != &sl_column_image && column->kind != &sl_column_mask)) {
        return 0;
    }
    const uint64_t passes =
        column->leads ? 1 : sl_labels_passes(column->request.channels * column->made_bytes);
    return passes * 3 * sl_recipe_canvas(&lead->request.recipe);
}

static uint64_t layer_bytes(const sl_column *column)
{
    return column->leads ? 3 * sl_recipe_layer(&column->request.recipe) : 0;
}

uint64_t sl_columns_canvas_bytes(const sl_column_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        bytes += canvas_bytes(&set->columns[i]) + layer_bytes(&set->columns[i]);
        bytes += set->columns[i].pastes ? sl_paste_bytes(&set->columns[i]) : 0;
    }
    return bytes;
}

sluice_status sl_canvases_open(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    if (sl_columns_canvas_bytes(set) == 0) {
        return SLUICE_OK;
    }
    row->canvases = sl_calloc(set->count, sizeof(*row->canvases));
    if (row->canvases == NULL) {
        return sl_no_memory(error, "columns", "for rows");
    }
    for (uint32_t i = 0; i < set->count; i++) {
        const uint64_t bytes = canvas_bytes(&set->columns[i]);
        const uint64_t layer = layer_bytes(&set->columns[i]);
        if ((bytes > 0 && sl_row_canvas(row, &set->columns[i], bytes, error) == NULL) ||
            (layer > 0 && sl_row_layer(row, &set->columns[i], layer, error) == NULL)) {
            return SLUICE_NOMEM;
        }
    }
    return SLUICE_OK;
}

void sl_canvases_close(const sl_column_set *set, sl_row *row)
{
    for (uint32_t i = 0; row->canvases != NULL && i < set->count; i++) {
        sl_free(row->canvases[i].pixels);
        sl_free(row->canvases[i].layer);
    }
    sl_free(row->canvases);
    row->canvases = NULL;
}

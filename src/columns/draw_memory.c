/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the sizes and addresses of a worker's draws. Called when a loader opens. */
#include "draw_memory.h"

enum { DRAW_ALIGNMENT = 64 };

static size_t aligned_bytes(size_t bytes)
{
    return (bytes + DRAW_ALIGNMENT - 1) / DRAW_ALIGNMENT * DRAW_ALIGNMENT;
}

static size_t program_memory(const sl_column *lead)
{
    return aligned_bytes(sl_params_bytes(sl_recipe_operations(&lead->request.recipe)));
}

static size_t labels_memory(const sl_column *lead)
{
    return lead->labelled ? aligned_bytes(sizeof(sl_params)) + program_memory(lead) : 0;
}

size_t sl_draw_memory_bytes(const sl_column_set *set)
{
    size_t bytes = aligned_bytes(set->groups * sizeof(sl_group_draw));
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *lead = &set->columns[i];
        bytes += lead->leads ? program_memory(lead) + labels_memory(lead) : 0;
    }
    return bytes;
}

/* Lays a program for labels out, its sl_params first. */
static sl_params *place_labels(const sl_column *lead, uint8_t *memory)
{
    sl_params *labels = (void *)memory;
    sl_params_place(labels, sl_recipe_operations(&lead->request.recipe),
                    memory + aligned_bytes(sizeof(sl_params)));
    return labels;
}

void sl_draw_memory_place(const sl_column_set *set, sl_row *row, void *memory)
{
    row->draws = NULL;
    if (set->groups == 0) {
        return; /* memory is NULL, which allows no offset */
    }
    uint8_t *programs = (uint8_t *)memory + aligned_bytes(set->groups * sizeof(sl_group_draw));
    sl_group_draw *draws = memory;
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *lead = &set->columns[i];
        if (!lead->leads) {
            continue;
        }
        sl_group_draw *draw = &draws[lead->group];
        sl_params_place(&draw->params, sl_recipe_operations(&lead->request.recipe), programs);
        draw->labels = lead->labelled ? place_labels(lead, programs + program_memory(lead)) : NULL;
        programs += program_memory(lead) + labels_memory(lead);
    }
    row->draws = draws;
}

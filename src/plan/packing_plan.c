/* SPDX-License-Identifier: Apache-2.0 */
#include "packing_plan.h"

#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "minmax.h"
#include "packing_modes.h"

#include <assert.h>
#include <stddef.h>

#define STAGE "plan"

sluice_status sl_packing_planner_open(sl_packing_planner *planner, const sl_packing_shape *shape,
                                      sluice_error *error)
{
    const size_t entries = shape->window / shape->unit;
    *planner = (sl_packing_planner){.drawn = sl_calloc(entries, sizeof(*planner->drawn))};
    bool good = planner->drawn != NULL;
    if (shape->cut != SL_PACKING_CUT_SPLIT) {
        uint32_t **const arrays[] = {&planner->needs, &planner->rows, &planner->sorted,
                                     &planner->swapped, &planner->numbers};
        for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
            *arrays[i] = sl_calloc(entries, sizeof(**arrays[i]));
            good = good && *arrays[i] != NULL;
        }
        good = sl_packing_fit_open(&planner->fit, (uint32_t)(shape->length / shape->align),
                                   (uint32_t)entries, NULL) == SLUICE_OK &&
               good;
    }
    return good ? SLUICE_OK
                : sl_no_memory(error, STAGE, "for packing a window of %u documents", shape->window);
}

void sl_packing_planner_close(sl_packing_planner *planner)
{
    sl_free(planner->needs);
    sl_free(planner->rows);
    sl_free(planner->sorted);
    sl_free(planner->swapped);
    sl_free(planner->numbers);
    sl_free(planner->drawn);
    sl_packing_fit_close(&planner->fit);
    *planner = (sl_packing_planner){.needs = NULL};
}

sluice_status sl_packing_plan_open(sl_packing_plan *plan, const sl_packing_shape *shape,
                                   sluice_error *error)
{
    const size_t places = (size_t)shape->window / shape->unit * shape->unit;
    const bool split = shape->cut == SL_PACKING_CUT_SPLIT;
    const bool begins = shape->cut != SL_PACKING_CUT_NONE;
    *plan = (sl_packing_plan){
        .documents = sl_calloc(places, sizeof(*plan->documents)),
        .lengths = sl_calloc(places, sizeof(*plan->lengths)),
        .begins = begins ? sl_calloc(places + 1, sizeof(*plan->begins)) : NULL,
        .fills = split ? sl_calloc(places, sizeof(*plan->fills)) : NULL,
        .firsts = split ? NULL : sl_calloc(places + 1, sizeof(*plan->firsts)),
        .members = split ? NULL : sl_calloc(places, sizeof(*plan->members)),
    };
    const bool good = plan->documents != NULL && plan->lengths != NULL &&
                      (!begins || plan->begins != NULL) && (!split || plan->fills != NULL) &&
                      (split || (plan->firsts != NULL && plan->members != NULL));
    return good ? SLUICE_OK
                : sl_no_memory(error, STAGE, "for the rows of a window of %u documents",
                               shape->window);
}

void sl_packing_plan_close(sl_packing_plan *plan)
{
    sl_free(plan->documents);
    sl_free(plan->lengths);
    sl_free(plan->begins);
    sl_free(plan->fills);
    sl_free(plan->firsts);
    sl_free(plan->members);
    *plan = (sl_packing_plan){.rows = 0};
}

uint64_t sl_packing_planner_bytes(const sl_packing_shape *shape)
{
    const uint64_t entries = shape->window / shape->unit;
    const uint32_t space = (uint32_t)(shape->length / shape->align);
    return entries * sizeof(uint64_t) +
           (shape->cut == SL_PACKING_CUT_SPLIT
                ? 0
                : 5 * entries * sizeof(uint32_t) + sl_packing_fit_bytes(space, (uint32_t)entries));
}

uint64_t sl_packing_plan_bytes(const sl_packing_shape *shape)
{
    const uint64_t places = shape->window;
    const uint64_t begins = shape->cut == SL_PACKING_CUT_NONE ? 0 : places * sizeof(uint64_t);
    const uint64_t rows = (shape->cut == SL_PACKING_CUT_SPLIT ? 1 : 2) * places * sizeof(uint32_t);
    return 2 * places * sizeof(uint64_t) + begins + rows;
}

sl_packing_count sl_packing_count_begin(void)
{
    return (sl_packing_count){.torn = UINT64_MAX};
}

/* Collects the window's documents, in its order, and their lengths. */
static void gather_window(sl_packing_plan *plan, sl_packing_planner *planner,
                          const sl_packing_windows *windows, uint64_t window)
{
    const uint32_t unit = windows->shape.unit;
    const uint64_t first = window * windows->each;
    plan->entries = (uint32_t)sl_min_u64(windows->each, windows->entries - first);
    if (windows->shuffled) {
        uint64_t *drawn = unit == 1 ? plan->documents : planner->drawn;
        sl_permutation_apply_run(&windows->order, first, plan->entries, drawn);
    }
    for (uint32_t i = 0; i < plan->entries && (unit > 1 || !windows->shuffled); i++) {
        const uint64_t entry = windows->shuffled ? planner->drawn[i] : first + i;
        for (uint32_t k = 0; k < unit; k++) {
            plan->documents[(size_t)i * unit + k] = entry * unit + k;
        }
    }
    windows->lengths.of(windows->lengths.ctx, plan->documents, plan->entries * unit, plan->lengths);
}

/* Hashes a document with its length, so that the sum changes if two documents exchange lengths. */
static uint64_t length_hash(uint64_t document, uint64_t length)
{
    const uint64_t both = sl_fnv1a(document * UINT64_C(0x9E3779B97F4A7C15), length);
    const uint64_t mixed = (both ^ both >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return mixed ^ mixed >> 29;
}

static void count_document(sl_packing_facts *facts, uint64_t document, uint64_t length)
{
    if (length > facts->longest ||
        (length == facts->longest && length > 0 && document < facts->longest_document)) {
        facts->longest = length;
        facts->longest_document = document;
    }
    facts->tokens += length;
    facts->empty += length == 0;
    facts->lengths_hash += length_hash(document, length);
}

/* Counts lengths, and records invalid ones. */
static void count_lengths(const sl_packing_plan *plan, const sl_packing_shape *shape,
                          sl_packing_count *count)
{
    for (uint32_t i = 0; i < plan->entries; i++) {
        const size_t place = (size_t)i * shape->unit;
        uint64_t aligned = 0;
        uint32_t empty = 0;
        for (size_t k = place; k < place + shape->unit; k++) {
            /* keeps sums from overflowing; a longer document fails */
            const uint64_t length = sl_min_u64(plan->lengths[k], SL_PACKING_DOCUMENT_MAX + 1);
            count_document(&count->facts, plan->documents[k], length);
            aligned += sl_packing_aligned(shape, length);
            empty += length == 0;
        }
        if (empty > 0 && empty < shape->unit) {
            count->torn = sl_min_u64(count->torn, plan->documents[place]);
        }
        if (aligned > count->widest ||
            (aligned == count->widest && plan->documents[place] < count->widest_document)) {
            count->widest = aligned;
            count->widest_document = plan->documents[place];
        }
        count->aligned += aligned;
    }
}

void sl_packing_plan_make(sl_packing_plan *plan, sl_packing_planner *planner,
                          const sl_packing_windows *windows, uint64_t window,
                          sl_packing_count *count)
{
    sl_packing_facts unused = {.rows = 0};
    sl_packing_facts *facts = count != NULL ? &count->facts : &unused;
    assert(window < windows->windows);
    gather_window(plan, planner, windows, window);
    if (count != NULL) {
        count_lengths(plan, &windows->shape, count);
    }
    if (facts->longest > SL_PACKING_DOCUMENT_MAX) {
        plan->rows = 0; /* opening fails: its rows are never read */
    } else if (windows->shape.cut == SL_PACKING_CUT_SPLIT) {
        sl_packing_split_make(plan, &windows->shape, facts);
    } else if (count != NULL) {
        sl_packing_fitted_count(plan, planner, &windows->shape, facts);
    } else {
        sl_packing_fitted_make(plan, planner, &windows->shape, facts);
    }
    facts->rows += plan->rows;
}

uint32_t sl_packing_plan_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                uint64_t row, uint32_t first, uint32_t count,
                                sl_packed_piece *pieces)
{
    assert(row < plan->rows);
    return shape->cut == SL_PACKING_CUT_SPLIT
               ? sl_packing_split_pieces(plan, shape, row, first, count, pieces)
               : sl_packing_fitted_pieces(plan, shape, row, first, count, pieces);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a recipe's group "shared" against the columns that follow the image. Its steps draw the
 * same in all columns with the key, so neither boxes nor redraws that only one of them has may
 * change a draw. Runs once, when all columns are bound.
 */
#include "shared_draws.h"

#include "error.h"

#include <math.h>

#define STAGE "columns"

/* ---- boxes that are drawn again ---- */

/* Returns the last step that gives the recipe its size; NULL: none does. */
static const sl_recipe_step *step_of_size(const sluice_augment *recipe)
{
    const sl_recipe_step *last = NULL;
    for (uint32_t i = 0; i < recipe->count; i++) {
        last = recipe->steps[i].kind->size != NULL ? &recipe->steps[i] : last;
    }
    return last;
}

/* Returns a step that drops boxes and that no new draw changes. */
static const sl_recipe_step *find_fixed_cut(const sluice_augment *recipe)
{
    const sl_recipe_step *sized = step_of_size(recipe);
    const sl_recipe_step *fixed = NULL;
    bool others = false;
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        if (!step->kind->cuts) {
            continue;
        }
        if (step->shared != 0 && step == sized) {
            return step;
        }
        fixed = step->shared != 0 ? step : fixed;
        others = others || step->shared == 0;
    }
    return others ? NULL : fixed;
}

static sluice_status check_redraw(const sl_column_set *set, const sl_column *boxes,
                                  sluice_error *error)
{
    const sl_recipe_step *fixed = find_fixed_cut(&set->columns[boxes->lead].request.recipe);
    return fixed == NULL
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, STAGE,
                              "column \"%s\": " SL_OPTION(
                                  "at_least_one") " draws the recipe of \"%s\" again, but not its "
                                                  "%s, which is in a "
                                                  "shared group: take that step out of the group, "
                                                  "or leave " SL_OPTION("at_least_one") " out",
                              boxes->request.name, set->columns[boxes->lead].request.name,
                              fixed->kind->name);
}

/* ---- steps that use boxes ---- */

/* Returns the number of the last step that uses boxes in a group of that key; count: there is
 * none. */
static uint32_t find_look(const sluice_augment *recipe, uint32_t shared)
{
    uint32_t found = recipe->count;
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        found = step->kind->looks && step->shared == shared ? i : found;
    }
    return found;
}

static const sl_column *boxes_of(const sl_column_set *set, const sl_column *lead)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        if (column->kind->boxes && column->group == lead->group) {
            return column;
        }
    }
    return NULL;
}

/* Returns whether two columns read the same boxes, even if they keep different ones. */
static bool are_same_boxes(const sl_column *a, const sl_column *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    const sl_column_request *one = &a->request;
    const sl_column_request *other = &b->request;
    return a->field_number == b->field_number && a->member == b->member &&
           a->crowds.number == b->crowds.number && one->boxes.format == other->boxes.format &&
           one->boxes.relative == other->boxes.relative && one->length == other->length &&
           one->truncates == other->truncates;
}

/* Returns whether the step moves boxes; for a group, whether its draw decides on steps that do. */
static bool moves_boxes(const sl_recipe_step *step)
{
    const sl_step_stage stage = step->kind->stage;
    bool moves = stage == SL_STAGE_GEOMETRY || stage == SL_STAGE_FLIP || stage == SL_STAGE_POLICY;
    for (uint32_t i = 1; i <= step->inside && step->kind->stream != 0; i++) {
        moves = moves || step[i].kind->stage == SL_STAGE_GEOMETRY ||
                step[i].kind->stage == SL_STAGE_FLIP || step[i].kind->stage == SL_STAGE_POLICY;
    }
    return moves;
}

/* Returns the next step from `*at` on, and before `end`, that may move boxes; NULL: there is
 * none. */
static const sl_recipe_step *next_move(const sluice_augment *recipe, uint32_t *at, uint32_t end)
{
    while (*at < end && !moves_boxes(&recipe->steps[*at])) {
        ++*at;
    }
    return *at < end ? &recipe->steps[(*at)++] : NULL;
}

static bool have_same_arguments(const sl_recipe_step *a, const sl_recipe_step *b)
{
    bool same = true;
    for (uint32_t i = 0; i < SL_STEP_ARGUMENTS_MAX; i++) {
        const bool both_end = isnan(a->arguments[i]) && isnan(b->arguments[i]); /* lists */
        same = same && (both_end || a->arguments[i] == b->arguments[i]);
    }
    return same;
}

/* Returns whether boxes are moved the same in both before the step that uses them: by the group, or
 * by steps without a draw. */
static bool are_moved_alike(const sluice_augment *a, uint32_t end_of_a, const sluice_augment *b,
                            uint32_t end_of_b)
{
    const uint32_t key = a->steps[end_of_a].shared;
    uint32_t at[2] = {0, 0};
    for (;;) {
        const sl_recipe_step *one = next_move(a, &at[0], end_of_a);
        const sl_recipe_step *other = next_move(b, &at[1], end_of_b);
        if (one == NULL || other == NULL) {
            return one == other;
        }
        const bool drawn = one->kind->stream != 0;
        if (one->kind != other->kind || one->shared != other->shared ||
            (drawn && one->shared != key) || !have_same_arguments(one, other)) {
            return false;
        }
    }
}

/* Checks steps that share a key. */
static sluice_status check_look(const sl_column_set *set, const sl_column *a, const sl_column *b,
                                uint32_t shared, sluice_error *error)
{
    const sluice_augment *one = &a->request.recipe;
    const sluice_augment *other = &b->request.recipe;
    const uint32_t of_a = find_look(one, shared);
    const uint32_t of_b = find_look(other, shared);
    if (of_a == one->count || of_b == other->count) {
        return SLUICE_OK;
    }
    const char *name = other->steps[of_b].kind->name;
    if (!are_same_boxes(boxes_of(set, a), boxes_of(set, b))) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "column \"%s\": it shares its %s with \"%s\", which uses other boxes: let boxes of the "
            "same field follow both, or take that step out of the shared group",
            b->request.name, name, a->request.name);
    }
    return are_moved_alike(one, of_a, other, of_b)
               ? SLUICE_OK
               : sl_error_set(
                     error, SLUICE_INVALID, STAGE,
                     "column \"%s\": it shares its %s with \"%s\", but other steps move the boxes "
                     "before it: put these steps after the shared group, or in it",
                     b->request.name, name, a->request.name);
}

static sluice_status check_looks(const sl_column_set *set, const sl_column *lead,
                                 sluice_error *error)
{
    const sluice_augment *recipe = &lead->request.recipe;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        const bool looks = step->kind->looks && step->shared != 0;
        for (const sl_column *other = set->columns; looks && other < lead; other++) {
            if (other->leads && status == SLUICE_OK) {
                status = check_look(set, other, lead, step->shared, error);
            }
        }
    }
    return status;
}

sluice_status sl_shared_draws_check(const sl_column_set *set, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (column->leads) {
            status = check_looks(set, column, error);
        } else if (column->kind->boxes && column->request.boxes.at_least_one) {
            status = check_redraw(set, column, error);
        }
    }
    return status;
}

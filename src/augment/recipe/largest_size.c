/* SPDX-License-Identifier: Apache-2.0 */
/* largest_size: a list is sorted, and duplicates are removed, whenever it is full. */
#include "largest_size.h"

#include "error.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>

/* No larger image can be drawn, so larger sides do not matter. */
#define SIDE_MOST 2147483647.0
/* Most different bounds of a list, 192 MiB: each optional step can double them. */
#define BOUNDS_MOST (UINT64_C(1) << 22)

enum { FIRST_CAPACITY = 64 };

/* ---- lists ---- */

static int compare_bounds(const void *a, const void *b)
{
    const sl_bound *one = a;
    const sl_bound *two = b;
    const double x[] = {one->width,        one->height, one->least_width,
                        one->least_height, one->wide,   one->tall};
    const double y[] = {two->width,        two->height, two->least_width,
                        two->least_height, two->wide,   two->tall};
    size_t i = 0;
    while (i < sizeof(x) / sizeof(x[0]) - 1 && x[i] == y[i]) {
        i++;
    }
    return (x[i] > y[i]) - (x[i] < y[i]);
}

static void drop_doubles(sl_bounds *bounds)
{
    uint64_t kept = 0;
    if (bounds->count > 1) {
        qsort(bounds->of, bounds->count, sizeof(*bounds->of), compare_bounds);
    }
    for (uint64_t i = 0; i < bounds->count; i++) {
        if (kept == 0 || compare_bounds(&bounds->of[kept - 1], &bounds->of[i]) != 0) {
            bounds->of[kept++] = bounds->of[i];
        }
    }
    bounds->count = kept;
}

sluice_status sl_bounds_add(sl_bounds *bounds, sl_bound bound, sluice_error *error)
{
    if (bounds->count == bounds->capacity) {
        drop_doubles(bounds);
        const uint64_t needed =
            2 * bounds->count > FIRST_CAPACITY ? 2 * bounds->count : FIRST_CAPACITY;
        if (!sl_grow(&bounds->of, &bounds->capacity, needed, sizeof(*bounds->of))) {
            return sl_no_memory(error, "augment", "for the sizes of images");
        }
    }
    bound.width = fmin(bound.width, SIDE_MOST);
    bound.height = fmin(bound.height, SIDE_MOST);
    bounds->of[bounds->count++] = bound;
    return SLUICE_OK;
}

void sl_bounds_close(sl_bounds *bounds)
{
    sl_free(bounds->of);
    *bounds = (sl_bounds){.count = 0};
}

static void make_any(sl_bounds *bounds)
{
    sl_bounds_close(bounds);
    bounds->is_any = true;
}

/* Adds all of `other`. */
static sluice_status join_bounds(sl_bounds *bounds, const sl_bounds *other, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (bounds->is_any || other->is_any) {
        make_any(bounds);
    }
    for (uint64_t i = 0; i < other->count && !bounds->is_any && status == SLUICE_OK; i++) {
        status = sl_bounds_add(bounds, other->of[i], error);
    }
    return status;
}

/* ---- steps ---- */

typedef struct bounds_walk {
    const sl_recipe_step *steps;
    const sl_step_kind *open; /* as for sl_recipe_largest */
    sluice_error *error;
} bounds_walk;

/* Counts a group's steps that change sizes, those in an inner group together. */
static uint32_t changing_steps(const bounds_walk *walk, uint32_t group)
{
    const sl_recipe_step *steps = walk->steps;
    uint32_t changing = 0;
    for (uint32_t i = group + 1; i <= group + steps[group].inside; i += 1 + steps[i].inside) {
        bool changes = false;
        for (uint32_t k = i; k <= i + steps[i].inside; k++) {
            changes = changes || steps[k].kind->size != NULL;
        }
        changing += changes;
    }
    return changing;
}

/* Applies the step's function to one bound after the other. */
static sluice_status largest_of_each(bounds_walk *walk, const sl_recipe_step *step,
                                     sl_bounds *bounds)
{
    sl_bound to[SL_STEP_BOUNDS];
    sl_bounds made = {.count = 0};
    sluice_status status = SLUICE_OK;
    const uint64_t rounds = bounds->is_any ? 1 : bounds->count;
    for (uint64_t i = 0; i < rounds && status == SLUICE_OK; i++) {
        const uint32_t count =
            step->kind->largest(step->arguments, bounds->is_any ? NULL : &bounds->of[i], to);
        made.is_any = count == 0;
        for (uint32_t k = 0; k < count && status == SLUICE_OK; k++) {
            status = sl_bounds_add(&made, to[k], walk->error);
        }
    }
    sl_bounds_close(bounds);
    *bounds = made;
    return status;
}

static sluice_status plain_step(bounds_walk *walk, const sl_recipe_step *step, sl_bounds *bounds)
{
    uint32_t width = 0;
    uint32_t height = 0;
    if (step->kind->largest != NULL) {
        return largest_of_each(walk, step, bounds);
    }
    if (step->kind->size == NULL) {
        return SLUICE_OK;
    }
    step->kind->size(step->arguments, &width, &height);
    if (width == 0 || width == SL_SIZE_OF_BATCH) {
        walk->open = step->kind;
        make_any(bounds);
        return SLUICE_OK;
    }
    sl_bounds_close(bounds);
    return sl_bounds_add(bounds, sl_bound_of_size(width, height), walk->error);
}

static sluice_status walk_steps(bounds_walk *walk, uint32_t begin, uint32_t end, sl_bounds *bounds);

/* Replaces a list by the union of the steps at `begin`, each applied to it. */
static sluice_status walk_choice(bounds_walk *walk, uint32_t begin, uint32_t end, sl_bounds *bounds)
{
    sl_bounds whole = {.count = 0};
    sluice_status status = SLUICE_OK;
    for (uint32_t i = begin; i < end && status == SLUICE_OK; i += 1 + walk->steps[i].inside) {
        sl_bounds own = {.is_any = bounds->is_any};
        status = join_bounds(&own, bounds, walk->error);
        if (status == SLUICE_OK) {
            status = walk_steps(walk, i, i + 1 + walk->steps[i].inside, &own);
        }
        if (status == SLUICE_OK) {
            status = join_bounds(&whole, &own, walk->error);
        }
        sl_bounds_close(&own);
    }
    sl_bounds_close(bounds);
    *bounds = whole;
    return status;
}

/* Applies steps that may be skipped. */
static sluice_status walk_apply(bounds_walk *walk, uint32_t begin, uint32_t end, sl_bounds *bounds)
{
    sl_bounds made = {.is_any = bounds->is_any};
    sluice_status status = join_bounds(&made, bounds, walk->error);
    if (status == SLUICE_OK) {
        status = walk_steps(walk, begin, end, &made);
    }
    if (status == SLUICE_OK) {
        status = join_bounds(bounds, &made, walk->error);
    }
    sl_bounds_close(&made);
    return status;
}

static sluice_status walk_step(bounds_walk *walk, uint32_t at, sl_bounds *bounds)
{
    const sl_recipe_step *step = &walk->steps[at];
    const uint32_t end = at + 1 + step->inside;
    switch (step->kind->group) {
    case SL_GROUP_SEQUENCE:
        return walk_steps(walk, at + 1, end, bounds);
    case SL_GROUP_APPLY:
        return walk_apply(walk, at + 1, end, bounds);
    case SL_GROUP_CHOICE:
        return walk_choice(walk, at + 1, end, bounds);
    case SL_GROUP_ORDER:
        if (changing_steps(walk, at) <= 1) {
            return walk_steps(walk, at + 1, end, bounds);
        }
        walk->open = step->kind;
        make_any(bounds);
        return SLUICE_OK;
    case SL_GROUP_NO:
        break;
    }
    return plain_step(walk, step, bounds);
}

static sluice_status walk_steps(bounds_walk *walk, uint32_t begin, uint32_t end, sl_bounds *bounds)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t at = begin; at < end && status == SLUICE_OK && walk->open == NULL;
         at += 1 + walk->steps[at].inside) {
        status = walk_step(walk, at, bounds);
        drop_doubles(bounds);
        if (bounds->count > BOUNDS_MOST) {
            walk->open = walk->steps[at].kind;
        }
    }
    return status;
}

sluice_status sl_recipe_largest(const sluice_augment *recipe, sl_bounds *bounds,
                                const sl_step_kind **open, sluice_error *error)
{
    bounds_walk walk = {.steps = recipe->steps, .error = error};
    const sluice_status status = walk_steps(&walk, 0, recipe->count, bounds);
    if (walk.open != NULL) {
        make_any(bounds);
    }
    *open = walk.open;
    return status;
}
